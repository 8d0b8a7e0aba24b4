/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Merkle inclusion. Source: circuits specification 2.11. */
#ifndef CUZK_GADGETS_MERKLE_H
#define CUZK_GADGETS_MERKLE_H
#include "gadgets/num.h"

enum cuzk_tree_hash { CUZK_TREE_SHA256, CUZK_TREE_POSEIDON };

/** A path from the leaf upward: steps of arity base, then of sub, then of top. Arities are 2, 4 or 8 (0 with no steps);
 *  binary throughout for SHA-256. At most 40 steps and 62 index bits. */
struct cuzk_tree_shape {
  enum cuzk_tree_hash hash;
  unsigned base_arity, sub_arity, top_arity;
  unsigned base_steps, sub_steps, top_steps;
};
unsigned cuzk_tree_steps(const struct cuzk_tree_shape *t);
/** Arity of step k. */
unsigned cuzk_tree_arity(const struct cuzk_tree_shape *t, unsigned k);
/** Siblings of a whole path. */
unsigned cuzk_tree_siblings(const struct cuzk_tree_shape *t);

/** Inclusion of a leaf under a root, with the leaf's index as a public input. index[k] and siblings (left to right, step by step,
 *  the own node left out) may be NULL where the sink has no values. */
void cuzk_por(struct cuzk_cs *cs, const struct cuzk_tree_shape *t, cuzk_var leaf, const uint8_t *index, const cuzk_fr *siblings,
              cuzk_var root);
/** Inclusion with everything allocated before: bits of the index, least significant first, and siblings as for por. */
void cuzk_por_no_input(struct cuzk_cs *cs, const struct cuzk_tree_shape *t, cuzk_var leaf, const struct cuzk_bool *bits,
                       const cuzk_var *siblings, cuzk_var root);
#endif
