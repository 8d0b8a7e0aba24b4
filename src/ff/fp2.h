/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Fp2 = Fp[u]/(u^2 + 1). Arguments may overlap in any way. */
#ifndef CUZK_FF_FP2_H
#define CUZK_FF_FP2_H
#include "ff/fp.h"

typedef struct {
  cuzk_fp c0, c1; /* c0 + c1 u */
} cuzk_fp2;

extern const cuzk_fp2 cuzk_fp2_zero, cuzk_fp2_one;

/** Are both coordinates below p? */
static inline bool cuzk_fp2_is_reduced(const cuzk_fp2 *a) { return cuzk_fp_is_reduced(&a->c0) && cuzk_fp_is_reduced(&a->c1); }

/** *r = a + b */
static inline void cuzk_fp2_add(cuzk_fp2 *r, const cuzk_fp2 *a, const cuzk_fp2 *b) {
  cuzk_fp_add(&r->c0, &a->c0, &b->c0);
  cuzk_fp_add(&r->c1, &a->c1, &b->c1);
}
/** *r = a - b */
static inline void cuzk_fp2_sub(cuzk_fp2 *r, const cuzk_fp2 *a, const cuzk_fp2 *b) {
  cuzk_fp_sub(&r->c0, &a->c0, &b->c0);
  cuzk_fp_sub(&r->c1, &a->c1, &b->c1);
}
/** *r = -a */
static inline void cuzk_fp2_neg(cuzk_fp2 *r, const cuzk_fp2 *a) {
  cuzk_fp_neg(&r->c0, &a->c0);
  cuzk_fp_neg(&r->c1, &a->c1);
}
/** *r = 2 a */
static inline void cuzk_fp2_dbl(cuzk_fp2 *r, const cuzk_fp2 *a) {
  cuzk_fp_dbl(&r->c0, &a->c0);
  cuzk_fp_dbl(&r->c1, &a->c1);
}
/** *r = a b */
static inline void cuzk_fp2_mul(cuzk_fp2 *r, const cuzk_fp2 *a, const cuzk_fp2 *b) {
  CUZK_FF_CHECK(cuzk_fp2_is_reduced(a) && cuzk_fp2_is_reduced(b));
  cuzk_ff_ops.fp2_mul(r->c0.l, a->c0.l, b->c0.l);
  CUZK_FF_CHECK(cuzk_fp2_is_reduced(r));
}
/** *r = a^2 */
static inline void cuzk_fp2_sqr(cuzk_fp2 *r, const cuzk_fp2 *a) {
  CUZK_FF_CHECK(cuzk_fp2_is_reduced(a));
  cuzk_ff_ops.fp2_sqr(r->c0.l, a->c0.l);
  CUZK_FF_CHECK(cuzk_fp2_is_reduced(r));
}
/** *r = a b, b in Fp */
void cuzk_fp2_mul_fp(cuzk_fp2 *r, const cuzk_fp2 *a, const cuzk_fp *b);
/** *r = a (1 + u), the non-residue xi of the tower. */
void cuzk_fp2_mul_xi(cuzk_fp2 *r, const cuzk_fp2 *a);
/** *r = c0 - c1 u */
void cuzk_fp2_conj(cuzk_fp2 *r, const cuzk_fp2 *a);
/** *r = 1/a; 0 for a = 0. Variable time. */
void cuzk_fp2_inv_var(cuzk_fp2 *r, const cuzk_fp2 *a);
/** As cuzk_fp_inv_batch. */
void cuzk_fp2_inv_batch(cuzk_fp2 *a, cuzk_fp2 *scratch, size_t n);
/** False, *r untouched, if a is not a square; otherwise one of the two roots. */
bool cuzk_fp2_sqrt_var(cuzk_fp2 *r, const cuzk_fp2 *a);
/** Is a the larger of a and -a? Judged by c1 unless it is zero, then by c0. */
bool cuzk_fp2_is_larger(const cuzk_fp2 *a);
static inline bool cuzk_fp2_is_zero(const cuzk_fp2 *a) { return cuzk_fp_is_zero(&a->c0) && cuzk_fp_is_zero(&a->c1); }
static inline bool cuzk_fp2_eq(const cuzk_fp2 *a, const cuzk_fp2 *b) {
  return cuzk_fp_eq(&a->c0, &b->c0) && cuzk_fp_eq(&a->c1, &b->c1);
}
#endif
