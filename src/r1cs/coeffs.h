/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Table of the coefficients that occur in a run, each value stored once (numbers: r1cs.h).
 *
 *  Not thread-safe: one thread owns a table. Numbers of equal values are equal, so comparing numbers compares values. */
#ifndef CUZK_R1CS_COEFFS_H
#define CUZK_R1CS_COEFFS_H
#include "r1cs/r1cs.h"

#define CUZK_COEFFS_MEMO 8192u /* a power of two */

struct cuzk_coeffs {
  cuzk_fr *value;      /* n of cap */
  uint8_t (*le)[32];   /* n of cap */
  uint32_t n, cap;
  uint32_t *slots;     /* open addressing by value: number + 1, 0 is free */
  uint32_t n_slots;    /* a power of two, at most half full */
  struct {
    cuzk_coeff a, b, sum;
  } *memo;             /* recent sums, by a and b; a = CUZK_COEFF_ZERO is unused */
  uint64_t zero_terms_dropped; /* counted by whoever canonicalises */
};

/** A table with the fixed numbers. Errors: E_NOMEM; *out NULL then. */
enum cuzk_status cuzk_coeffs_create(struct cuzk_coeffs **out);
/** NULL is accepted; *t becomes NULL. */
void cuzk_coeffs_destroy(struct cuzk_coeffs **t);
/** Number of a value. Errors: E_NOMEM; *out untouched then, the table stays valid. */
enum cuzk_status cuzk_coeffs_intern(struct cuzk_coeffs *t, cuzk_coeff *out, const cuzk_fr *v);
/** Number of the sum of two coefficients. Errors: as intern. */
enum cuzk_status cuzk_coeffs_add(struct cuzk_coeffs *t, cuzk_coeff *out, cuzk_coeff a, cuzk_coeff b);
#endif
