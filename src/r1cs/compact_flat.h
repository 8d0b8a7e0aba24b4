/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A compact circuit without its tree: for evaluators that take any row without descending from the root, such as a device's.
 *
 *  Rows of the circuit fall into runs of rows that a template owns; a run names the use it belongs to, which says what the template's
 *  variables stand for. Rows and terms of a template are there once. 32 GiB PoRep: half a million runs, 160 MB with all bindings.
 *
 *  Own rows are numbered through all templates. Row k's combination m (0, 1, 2: A, B, C) has the terms bound[3k + m] up to
 *  bound[3k + m + 1]. A term's variable v stands for v + aux if it has CUZK_VAR_AUX, for v - CUZK_FLAT_INPUT + input if it has
 *  CUZK_FLAT_INPUT, for ONE if it is 0, else for ext[v - 1 + use's ext]. Source: docs/formats/r1cs.md. */
#ifndef CUZK_R1CS_COMPACT_FLAT_H
#define CUZK_R1CS_COMPACT_FLAT_H
#include "r1cs/compact.h"

#define CUZK_FLAT_INPUT ((cuzk_var)0x40000000u)

/** Rows row, row + 1, ... up to the next run's are own rows first, first + 1, ... */
struct cuzk_flat_run {
  uint32_t row, first, use;
};
struct cuzk_flat_use {
  uint32_t aux, input, ext;
};
struct cuzk_flat {
  uint32_t n_rows, n_inputs, n_aux;
  uint32_t n_runs, n_uses, n_ext, n_own, n_terms, n_coeffs;
  struct cuzk_flat_run *runs; /* ascending by row; without gaps */
  struct cuzk_flat_use *uses;
  cuzk_var *ext;              /* variables of the circuit */
  uint32_t *bound;            /* 3 n_own + 1 */
  const struct cuzk_term *terms; /* borrowed of the circuit, as coeffs */
  const cuzk_fr *coeffs;      /* Montgomery, by number */
};

/** Memory: the arrays, and room for one path of bindings. Errors: E_NOMEM, E_UNSUPPORTED (2^31 rows or more, or 2^32 bindings);
 *  *out all zero then. */
enum cuzk_status cuzk_compact_flatten(struct cuzk_flat *out, const struct cuzk_compact *c, struct cuzk_detail *d);
/** Frees what f owns and empties it. Accepts an empty (all-zero) f. */
void cuzk_flat_clear(struct cuzk_flat *f);
#endif
