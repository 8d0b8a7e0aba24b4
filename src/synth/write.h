/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Merkle proofs out of trees, as JSON and as bincode (formats specification 5.2, 5.3). Private to synth/. */
#ifndef CUZK_SYNTH_WRITE_H
#define CUZK_SYNTH_WRITE_H
#include "base/json_write.h"
#include "synth/tree.h"

/** An element as an array of 32 integers. */
void synth_json_element(struct cuzk_json_out *o, const cuzk_fr *a);
/** { "data": { ... } } of the leaf at a place. */
void synth_json_proof(struct cuzk_json_out *o, const struct synth_tree *t, uint64_t leaf);

/** A buffer of known size being filled. */
struct synth_bytes {
  uint8_t *p;
  size_t n, at;
};
void synth_put_u64(struct synth_bytes *b, uint64_t v);
void synth_put_element(struct synth_bytes *b, const cuzk_fr *a);
void synth_put_proof(struct synth_bytes *b, const struct synth_tree *t, uint64_t leaf);
#endif
