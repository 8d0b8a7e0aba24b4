/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The generator of synthetic sectors: values drawn by what they stand for, so that no order of drawing matters. Private to synth/. */
#ifndef CUZK_SYNTH_DRAW_H
#define CUZK_SYNTH_DRAW_H
#include "circuits/circuit.h"
#include "ff/fr.h"
#include "synth/synth.h"

/* What a value stands for; a and b of the functions say which one. Part of the definition: never renumber. */
enum synth_what {
  SYNTH_TICKET = 1,     /* bytes */
  SYNTH_SEED = 2,       /* bytes: the interactive seed */
  SYNTH_RANDOMNESS = 3, /* of proofs of spacetime */
  SYNTH_DATA = 4,       /* b: entry of the data */
  SYNTH_REPLICA = 5,    /* b: leaf, or entry of the old replica */
  SYNTH_LABEL = 6,      /* a: layer, b: node */
  SYNTH_TREE_C = 7,     /* a: level, b: index */
  SYNTH_TREE_R = 8,     /* a: level, b: index */
  SYNTH_COMM_C = 9,
};

struct synth_draw {
  uint8_t key[32];
};

/** key = SHA-256("cuzk synthetic sector 1", kind (one byte: 'p', 'w', 'n', 'u' for PoRep, winning, window, update), then sector size,
 *  seed, miner, sector number and API version, u64 LE each). */
void synth_draw_init(struct synth_draw *g, enum cuzk_kind kind, const struct cuzk_synth *o, uint64_t sector_number, unsigned api);
/** SHA-256(key, u32 LE what, u32 LE a, u64 LE b). */
void synth_draw_bytes(uint8_t out[32], const struct synth_draw *g, enum synth_what what, uint32_t a, uint64_t b);
/** The same with the two top bits cleared: below 2^254, hence canonical. */
void synth_draw_element(cuzk_fr *r, const struct synth_draw *g, enum synth_what what, uint32_t a, uint64_t b);
#endif
