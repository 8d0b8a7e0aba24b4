/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Fp6 = Fp2[v]/(v^3 - xi), xi = 1 + u. Arguments may overlap in any way. Source: formats specification, section 1.4. */
#ifndef CUZK_FF_FP6_H
#define CUZK_FF_FP6_H
#include "ff/fp2.h"

typedef struct {
  cuzk_fp2 c0, c1, c2; /* c0 + c1 v + c2 v^2 */
} cuzk_fp6;

extern const cuzk_fp6 cuzk_fp6_zero, cuzk_fp6_one;

void cuzk_fp6_add(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp6 *b);
void cuzk_fp6_sub(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp6 *b);
void cuzk_fp6_neg(cuzk_fp6 *r, const cuzk_fp6 *a);
void cuzk_fp6_mul(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp6 *b);
void cuzk_fp6_sqr(cuzk_fp6 *r, const cuzk_fp6 *a);
/** *r = a (b0 + b1 v) */
void cuzk_fp6_mul_01(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp2 *b0, const cuzk_fp2 *b1);
/** *r = a b1 v */
void cuzk_fp6_mul_1(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp2 *b1);
/** *r = a v */
void cuzk_fp6_mul_v(cuzk_fp6 *r, const cuzk_fp6 *a);
/** *r = 1/a; 0 for a = 0. Variable time. */
void cuzk_fp6_inv_var(cuzk_fp6 *r, const cuzk_fp6 *a);
static inline bool cuzk_fp6_is_zero(const cuzk_fp6 *a) {
  return cuzk_fp2_is_zero(&a->c0) && cuzk_fp2_is_zero(&a->c1) && cuzk_fp2_is_zero(&a->c2);
}
static inline bool cuzk_fp6_eq(const cuzk_fp6 *a, const cuzk_fp6 *b) {
  return cuzk_fp2_eq(&a->c0, &b->c0) && cuzk_fp2_eq(&a->c1, &b->c1) && cuzk_fp2_eq(&a->c2, &b->c2);
}
#endif
