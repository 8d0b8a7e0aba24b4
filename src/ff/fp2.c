/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/fp2.h"

const cuzk_fp2 cuzk_fp2_zero = {{{0}}, {{0}}};
const cuzk_fp2 cuzk_fp2_one = {{{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u,
                                 0x5c071a97a256ec6du, 0x15f65ec3fa80e493u}},
                               {{0}}};
static const cuzk_fp half = {{0x1804000000015554u, 0x855000053ab00001u, 0x633cb57c253c276fu, 0x6e22d1ec31ebb502u,
                              0xd3916126f2d14ca2u, 0x17fbb8571a006596u}}; /* 1/2 */

void cuzk_fp2_mul_fp(cuzk_fp2 *r, const cuzk_fp2 *a, const cuzk_fp *b) {
  const cuzk_fp k = *b;
  cuzk_fp_mul(&r->c0, &a->c0, &k);
  cuzk_fp_mul(&r->c1, &a->c1, &k);
}

void cuzk_fp2_mul_xi(cuzk_fp2 *r, const cuzk_fp2 *a) {
  cuzk_fp t;
  cuzk_fp_sub(&t, &a->c0, &a->c1);
  cuzk_fp_add(&r->c1, &a->c0, &a->c1);
  r->c0 = t;
}

void cuzk_fp2_conj(cuzk_fp2 *r, const cuzk_fp2 *a) {
  r->c0 = a->c0;
  cuzk_fp_neg(&r->c1, &a->c1);
}

void cuzk_fp2_inv_var(cuzk_fp2 *r, const cuzk_fp2 *a) {
  cuzk_fp s, t;
  cuzk_fp_sqr(&s, &a->c0);
  cuzk_fp_sqr(&t, &a->c1);
  cuzk_fp_add(&s, &s, &t);
  cuzk_fp_inv_var(&s, &s);
  cuzk_fp_mul(&r->c0, &a->c0, &s);
  cuzk_fp_neg(&s, &s);
  cuzk_fp_mul(&r->c1, &a->c1, &s);
}

#define FIELD cuzk_fp2
#define FIELD_FN(name) cuzk_fp2_##name
#include "ff/field_tmpl.h"

/* For a = a0 + a1 u let n = a0^2 + a1^2, which is a square exactly when a is, s = sqrt(n) and t = (a0 + s)/2. With
 * w = t^((p-3)/4) the value (w t)^2 is t or -t. If t: x0 = w t, x1 = a1/(2 x0) = a1 w/2. If -t: x1 = w t and x0 = -a1 w/2,
 * because x0^2 = a0 + x1^2 = (a0 - s)/2. No inversion, two exponentiations. */
bool cuzk_fp2_sqrt_var(cuzk_fp2 *r, const cuzk_fp2 *a) {
  cuzk_fp n, t, w, x;
  if (cuzk_fp_is_zero(&a->c1)) {
    if (cuzk_fp_sqrt_var(&x, &a->c0)) {
      r->c0 = x;
      r->c1 = cuzk_fp_zero;
      return true;
    }
    cuzk_fp_neg(&t, &a->c0); /* -1 is no square: one of the two roots exists */
    if (!cuzk_fp_sqrt_var(&x, &t)) return false;
    r->c0 = cuzk_fp_zero;
    r->c1 = x;
    return true;
  }
  cuzk_fp_sqr(&n, &a->c0);
  cuzk_fp_sqr(&t, &a->c1);
  cuzk_fp_add(&n, &n, &t);
  if (!cuzk_fp_sqrt_var(&n, &n)) return false;
  cuzk_fp_add(&t, &a->c0, &n);
  cuzk_fp_mul(&t, &t, &half); /* not 0: a1 is not 0 */
  cuzk_fp_pow_p_minus_3_over_4(&w, &t);
  cuzk_fp_mul(&x, &w, &t);
  cuzk_fp_mul(&w, &w, &a->c1);
  cuzk_fp_mul(&w, &w, &half);
  cuzk_fp_sqr(&n, &x);
  if (cuzk_fp_eq(&n, &t)) {
    r->c0 = x;
    r->c1 = w;
  } else {
    cuzk_fp_neg(&r->c0, &w);
    r->c1 = x;
  }
  return true;
}

bool cuzk_fp2_is_larger(const cuzk_fp2 *a) {
  return cuzk_fp_is_zero(&a->c1) ? cuzk_fp_is_larger(&a->c0) : cuzk_fp_is_larger(&a->c1);
}
