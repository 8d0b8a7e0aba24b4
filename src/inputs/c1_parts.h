/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The part of a decoded C1 that no circuit reads: what the reader keeps for cuzk_c1_check, and what the readers
 *  of JSON and bincode share. Private to inputs/c1*.c. */
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

/** Sets the type of a document that has none yet, and gets the memory for its partitions. Errors: E_UNSUPPORTED (no circuit of that
 *  size), E_NOMEM. */
enum cuzk_status c1_set_type(struct cuzk_c1 *c, const struct cuzk_seal_type *t);
/** The next n * size bytes of the memory, 32-byte aligned: its size follows from the circuit's shape. */
void *c1_cut(struct c1_arena *a, size_t n, size_t size);
/** Takes the roots comm_r_last and comm_c from a partition's first challenge and compares those of the others: NULL, or the proof whose
 *  root differs. */
const char *c1_take_roots(struct cuzk_porep_partition *p, const struct c1_challenge *x, unsigned challenge);
/** What is wrong with a commitment or id; NULL if nothing is. */
const char *c1_id_problem(const uint8_t id[32], bool canonical, bool nonzero);

/** Does data begin like bincode, a small u64? JSON has no zero bytes. */
bool c1_is_bincode(const uint8_t *data, size_t n);
/** Reads a phase-1 output in bincode (formats specification 5.3), whose length tells the size and whose contents tell the version of the
 *  registered proof. Errors: as cuzk_c1_read. */
enum cuzk_status c1_read_bincode(struct cuzk_c1 *c, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d);
#endif
