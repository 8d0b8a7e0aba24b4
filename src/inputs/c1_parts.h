/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The part of a decoded C1 that no circuit reads: what the reader keeps for cuzk_c1_check. Private to inputs/c1*.c. */
#ifndef CUZK_INPUTS_C1_PARTS_H
#define CUZK_INPUTS_C1_PARTS_H
#include "inputs/c1.h"
#include "inputs/porep_graph.h"

enum { C1_LABEL_PARENTS = CUZK_POREP_LABEL_PARENTS };

struct c1_ends {
  cuzk_fr root, leaf;
};

struct c1_challenge {
  struct c1_ends d, r, c_x, parents[CUZK_POREP_PARENTS];
  uint32_t c_x_index, parent_index[CUZK_POREP_PARENTS]; /* column.index */
  const cuzk_fr *c_x_rows;       /* layers */
  const cuzk_fr *label_parents;  /* layers times C1_LABEL_PARENTS */
  const cuzk_fr *encode_parents; /* C1_LABEL_PARENTS */
};

/** Start of the memory that cuzk_c1.arena points to. */
struct c1_arena {
  size_t n_bytes, used;
  struct c1_challenge *extra; /* partitions times challenges */
};
#endif
