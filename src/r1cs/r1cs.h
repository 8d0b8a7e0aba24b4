/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Data of rank-1 constraint systems as the prover, the setup and the digests see them.
 *
 *  Row i says <A_i, z> <B_i, z> = <C_i, z>. Variables: public input i is number i (input 0 is ONE), private variable j is
 *  CUZK_VAR_AUX + j. "Rows" never include the rows x_i * 0 = 0 that Groth16 appends for inputs.
 *  Source: circuits specification 1; formats specification 3.1, 3.3. */
#ifndef CUZK_R1CS_R1CS_H
#define CUZK_R1CS_R1CS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"
#include "ff/fr.h"

typedef uint32_t cuzk_var;
#define CUZK_VAR_ONE ((cuzk_var)0)
#define CUZK_VAR_AUX ((cuzk_var)0x80000000u)

/** Coefficients are numbers of a table that belongs to the run: 0 is zero, 1 + 2k is 2^k and 2 + 2k is -2^k for k = 0..254,
 *  others are numbered as they come up. */
typedef uint32_t cuzk_coeff;
#define CUZK_COEFF_ZERO ((cuzk_coeff)0)
#define CUZK_COEFF_ONE ((cuzk_coeff)1)
#define CUZK_COEFF_MINUS_ONE ((cuzk_coeff)2)
#define CUZK_COEFF_POW2(k) ((cuzk_coeff)(1 + 2 * (k)))
#define CUZK_COEFF_MINUS_POW2(k) ((cuzk_coeff)(2 + 2 * (k)))
#define CUZK_COEFF_FIXED 511u /* first number that is not a signed power of two */

struct cuzk_coeffs; /* src/r1cs/coeffs.h */
/** Value of a coefficient, Montgomery; valid until the table grows. */
const cuzk_fr *cuzk_coeff_value(const struct cuzk_coeffs *t, cuzk_coeff c);
/** Its 32 bytes, little-endian canonical; valid until the table grows. */
const uint8_t *cuzk_coeff_le(const struct cuzk_coeffs *t, cuzk_coeff c);

struct cuzk_term {
  cuzk_var var;
  cuzk_coeff coeff;
};

/** One row: for A, B, C (0, 1, 2) the terms, at most one a variable, ascending by variable number, no zero coefficient. */
struct cuzk_row {
  const struct cuzk_term *t[3];
  uint32_t n[3];
};

/** Receives rows in order. row is valid during the call. Anything but CUZK_OK stops the walk and is its result. */
typedef enum cuzk_status cuzk_row_fn(void *user, uint64_t index, const struct cuzk_row *row,
                                     const struct cuzk_coeffs *coeffs);

/** A constraint system that can be walked any number of times with the same rows. */
struct cuzk_system {
  const char *name;
  enum cuzk_status (*walk)(const struct cuzk_system *s, cuzk_row_fn *fn, void *user, uint32_t *n_inputs,
                           uint32_t *n_aux, uint64_t *n_rows, struct cuzk_detail *d);
  const void *impl;
};

/** Counts and density maps. Bit j of a map is bit j % 64 of word j / 64. Maps as in formats specification 3.3. */
struct cuzk_shape {
  uint32_t n_inputs, n_aux; /* n_inputs counts ONE */
  uint64_t n_rows;
  uint64_t nnz[3];
  uint64_t zero_terms_dropped;
  uint64_t *a_aux, *b_input, *b_aux;
  uint32_t n_a_aux, n_b_input, n_b_aux; /* set bits */
};
/** Frees the maps and clears s. Accepts an empty (all-zero) shape. */
void cuzk_shape_clear(struct cuzk_shape *s);
/** Walks the system once. Errors: E_NOMEM and those of the walk. */
enum cuzk_status cuzk_shape_of(struct cuzk_shape *out, const struct cuzk_system *s, struct cuzk_detail *d);
/** Smallest log2 of a domain that holds n_rows + n_inputs rows. */
unsigned cuzk_shape_log2_domain(const struct cuzk_shape *s);

/** Values of all variables, Montgomery. inputs[0] is 1. */
struct cuzk_assignment {
  cuzk_fr *inputs, *aux;
  uint32_t n_inputs, n_aux;
  size_t aux_bytes; /* size given to cuzk_big_alloc for aux */
};
/** Frees both arrays and empties *a; the empty assignment is accepted. */
void cuzk_assignment_clear(struct cuzk_assignment *a);
#endif
