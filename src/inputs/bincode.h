/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A checked cursor over bincode 1 (fixed-width little-endian integers, u64 counts), and the parts that vanilla proofs share
 *  (formats specification 5.3). The first failure sticks; later calls do nothing. Private to inputs/. */
#ifndef CUZK_INPUTS_BINCODE_H
#define CUZK_INPUTS_BINCODE_H
#include "circuits/circuit.h"
#include "circuits/porep_witness.h"
#include "cuzk/status.h"

struct bincode {
  const uint8_t *p;
  size_t n, at;
  const char *name;
  struct cuzk_detail *d;
  enum cuzk_status st;
  cuzk_fr *next_sibling; /* where the next path's siblings go */
};

/** Levels of a Merkle tree's three parts; 0 steps where a part is absent. */
struct tree_shape {
  unsigned arity[3], steps[3];
};
struct tree_shape tree_shape_r(const struct cuzk_circuit *c);
struct tree_shape tree_shape_d(const struct cuzk_circuit *c);
/** Siblings of one path, and bytes of one Merkle proof. */
size_t tree_shape_siblings(const struct tree_shape *t);
size_t tree_shape_bytes(const struct tree_shape *t);

uint64_t bincode_u64(struct bincode *b);
uint32_t bincode_u32(struct bincode *b);
/** A count or tag that must have one value. */
void bincode_expect(struct bincode *b, unsigned bytes, uint64_t value, const char *what);
void bincode_element(struct bincode *b, cuzk_fr *r, const char *what);
void bincode_proof(struct bincode *b, struct cuzk_merkle_path *p, cuzk_fr *root, cuzk_fr *leaf, const struct tree_shape *t);
/** Nothing may follow. */
enum cuzk_status bincode_end(struct bincode *b);
enum cuzk_status bincode_fail(struct bincode *b, enum cuzk_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#endif
