/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Merkle trees of which only a part is kept. Private to synth/.
 *
 *  Sparse trees are made over a few given leaves: their ancestors are computed, every node that has no given leaf below it is drawn.
 *  Patterned trees repeat themselves: the leaves of a level are n_groups groups of equal size, and each group repeats its first
 *  n_period nodes; so every node is known, whichever a challenge asks for. */
#ifndef CUZK_SYNTH_TREE_H
#define CUZK_SYNTH_TREE_H
#include <stdbool.h>

#include "circuits/circuit.h"
#include "inputs/merkle_path.h"
#include "synth/draw.h"

enum { SYNTH_MAX_LEVELS = 33 }; /* 2^32 leaves of a binary tree, and the root */

struct synth_level {
  uint64_t n_nodes;
  unsigned arity;       /* of the step to the level above; 0 for the root */
  size_t n;             /* nodes that are kept */
  uint64_t *index;      /* sparse: their places, increasing; NULL in patterned trees */
  size_t n_groups, n_period; /* patterned: n = n_groups n_period */
  cuzk_fr *value;
};

struct synth_tree {
  bool sha;                      /* tree D: truncated SHA-256; else Poseidon */
  unsigned n_steps, n_parts, part_steps[3];
  struct synth_level level[SYNTH_MAX_LEVELS]; /* 0: leaves; n_steps: the root */
  struct cuzk_tree_hashes hashes;
  struct synth_draw draw;        /* sparse trees: how and as what unknown nodes are drawn */
  enum synth_what what;
  void *block;                   /* all memory */
};

/** A sparse tree C or R of a circuit's shape over values at places index[n], increasing, without repetition. Borrows nothing.
 *  Levels are spread over pool. Errors: E_NOMEM; *t is empty then. */
enum cuzk_status synth_tree_sparse(struct synth_tree *t, const struct cuzk_circuit *c, const struct synth_draw *g, enum synth_what what,
                                   const uint64_t *index, const cuzk_fr *values, size_t n, struct cuzk_pool *pool, struct cuzk_detail *d);

/** A patterned tree (D: sha; or R) of a circuit's shape, whose leaves are still to be filled: level[0].value[i] for the leaf at
 *  synth_tree_place(t, i), all i below level[0].n; then synth_tree_grow. Within a group of nodes / 2^10 leaves the leaves repeat each 64;
 *  trees of up to 4096 leaves repeat nothing. Errors: E_NOMEM; *t is empty then. */
enum cuzk_status synth_tree_pattern(struct synth_tree *t, const struct cuzk_circuit *c, bool sha, struct cuzk_detail *d);
/** Where in its tree the kept leaf number i is (the first of those equal to it). */
uint64_t synth_tree_place(const struct synth_tree *t, size_t i);
/** Computes the levels above the leaves of a patterned tree. */
void synth_tree_grow(struct synth_tree *t, struct cuzk_pool *pool);

/** The node of a level at a place. */
void synth_tree_node(cuzk_fr *r, const struct synth_tree *t, unsigned level, uint64_t index);
static inline const cuzk_fr *synth_tree_root(const struct synth_tree *t) { return t->level[t->n_steps].value; }
/** Safe on an empty ({0}) tree. */
void synth_tree_clear(struct synth_tree *t);

/** Sorts n places and removes repetitions; returns how many remain. */
size_t synth_sort_unique(uint64_t *index, size_t n);
/** Place of key in index[n] (increasing); n if it is not there. */
size_t synth_find(const uint64_t *index, size_t n, uint64_t key);
#endif
