/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A shape gathered row by row, for walks that do something else with the rows at the same time. */
#ifndef CUZK_R1CS_SHAPE_H
#define CUZK_R1CS_SHAPE_H
#include "r1cs/coeffs.h"
#include "r1cs/r1cs.h"

struct cuzk_bits {
  uint64_t *w;
  size_t n_words;
};
struct cuzk_shape_builder {
  uint64_t n_rows, nnz[3], zero_terms_dropped;
  struct cuzk_bits a_aux, b_input, b_aux;
};

/** Takes a row into account. Start from an all-zero builder. Errors: E_NOMEM. */
enum cuzk_status cuzk_shape_row(struct cuzk_shape_builder *s, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs);
/** The shape of the rows so far; s is emptied. Errors: E_NOMEM; *out all zero then. */
enum cuzk_status cuzk_shape_finish(struct cuzk_shape *out, struct cuzk_shape_builder *s, uint32_t n_inputs, uint32_t n_aux);
void cuzk_shape_builder_clear(struct cuzk_shape_builder *s);
#endif
