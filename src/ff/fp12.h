/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Fp12 = Fp6[w]/(w^2 - v). Over Fp2 the powers w^0 .. w^5 carry c0.c0, c1.c0, c0.c1, c1.c1, c0.c2, c1.c2.
 *  Arguments may overlap in any way. Source: formats specification, section 1.4. */
#ifndef CUZK_FF_FP12_H
#define CUZK_FF_FP12_H
#include "ff/fp6.h"

typedef struct {
  cuzk_fp6 c0, c1; /* c0 + c1 w */
} cuzk_fp12;

extern const cuzk_fp12 cuzk_fp12_zero, cuzk_fp12_one;

void cuzk_fp12_add(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b);
void cuzk_fp12_sub(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b);
void cuzk_fp12_mul(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b);
void cuzk_fp12_sqr(cuzk_fp12 *r, const cuzk_fp12 *a);
/** *r = a (l0 + l2 w^2 + l3 w^3), the form of a line. */
void cuzk_fp12_mul_line(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp2 *l0, const cuzk_fp2 *l2, const cuzk_fp2 *l3);
/** The square of an element whose order divides p^4 - p^2 + 1 (any result of the easy part of the final exponentiation). */
void cuzk_fp12_sqr_cyclotomic(cuzk_fp12 *r, const cuzk_fp12 *a);
/** *r = a^(p^6): 1/a for elements as above. */
void cuzk_fp12_conj(cuzk_fp12 *r, const cuzk_fp12 *a);
/** *r = a^p */
void cuzk_fp12_frobenius(cuzk_fp12 *r, const cuzk_fp12 *a);
/** *r = 1/a; 0 for a = 0. Variable time. */
void cuzk_fp12_inv_var(cuzk_fp12 *r, const cuzk_fp12 *a);
/** *r = a^e, n_limbs words, least significant first. Variable time. */
void cuzk_fp12_pow_var(cuzk_fp12 *r, const cuzk_fp12 *a, const uint64_t *e, size_t n_limbs);
static inline bool cuzk_fp12_eq(const cuzk_fp12 *a, const cuzk_fp12 *b) {
  return cuzk_fp6_eq(&a->c0, &b->c0) && cuzk_fp6_eq(&a->c1, &b->c1);
}
static inline bool cuzk_fp12_is_one(const cuzk_fp12 *a) { return cuzk_fp12_eq(a, &cuzk_fp12_one); }
#endif
