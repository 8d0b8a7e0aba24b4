/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/fp6.h"

#define FP_ONE                                                                                                             \
  {{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u, 0x5c071a97a256ec6du,               \
    0x15f65ec3fa80e493u}}
const cuzk_fp6 cuzk_fp6_zero = {{{{0}}, {{0}}}, {{{0}}, {{0}}}, {{{0}}, {{0}}}};
const cuzk_fp6 cuzk_fp6_one = {{FP_ONE, {{0}}}, {{{0}}, {{0}}}, {{{0}}, {{0}}}};

void cuzk_fp6_add(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp6 *b) {
  cuzk_fp2_add(&r->c0, &a->c0, &b->c0);
  cuzk_fp2_add(&r->c1, &a->c1, &b->c1);
  cuzk_fp2_add(&r->c2, &a->c2, &b->c2);
}

void cuzk_fp6_sub(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp6 *b) {
  cuzk_fp2_sub(&r->c0, &a->c0, &b->c0);
  cuzk_fp2_sub(&r->c1, &a->c1, &b->c1);
  cuzk_fp2_sub(&r->c2, &a->c2, &b->c2);
}

void cuzk_fp6_neg(cuzk_fp6 *r, const cuzk_fp6 *a) { cuzk_fp6_sub(r, &cuzk_fp6_zero, a); }

/* Karatsuba over Fp2: six products. */
void cuzk_fp6_mul(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp6 *b) {
  cuzk_fp2 v0, v1, v2, s, t, k0, k1;
  cuzk_fp2_mul(&v0, &a->c0, &b->c0);
  cuzk_fp2_mul(&v1, &a->c1, &b->c1);
  cuzk_fp2_mul(&v2, &a->c2, &b->c2);
  /* c0 = v0 + xi ((a1 + a2)(b1 + b2) - v1 - v2) */
  cuzk_fp2_add(&s, &a->c1, &a->c2);
  cuzk_fp2_add(&t, &b->c1, &b->c2);
  cuzk_fp2_mul(&k0, &s, &t);
  cuzk_fp2_sub(&k0, &k0, &v1);
  cuzk_fp2_sub(&k0, &k0, &v2);
  cuzk_fp2_mul_xi(&k0, &k0);
  /* c1 = (a0 + a1)(b0 + b1) - v0 - v1 + xi v2 */
  cuzk_fp2_add(&s, &a->c0, &a->c1);
  cuzk_fp2_add(&t, &b->c0, &b->c1);
  cuzk_fp2_mul(&k1, &s, &t);
  cuzk_fp2_sub(&k1, &k1, &v0);
  cuzk_fp2_sub(&k1, &k1, &v1);
  /* c2 = (a0 + a2)(b0 + b2) - v0 - v2 + v1 */
  cuzk_fp2_add(&s, &a->c0, &a->c2);
  cuzk_fp2_add(&t, &b->c0, &b->c2);
  cuzk_fp2_mul(&s, &s, &t);
  cuzk_fp2_sub(&s, &s, &v0);
  cuzk_fp2_sub(&s, &s, &v2);
  cuzk_fp2_add(&r->c2, &s, &v1);
  cuzk_fp2_add(&r->c0, &v0, &k0);
  cuzk_fp2_mul_xi(&t, &v2);
  cuzk_fp2_add(&r->c1, &k1, &t);
}

/* Chung and Hasan's SQR2: two products and three squares. */
void cuzk_fp6_sqr(cuzk_fp6 *r, const cuzk_fp6 *a) {
  cuzk_fp2 s0, s1, s2, s3, s4, t;
  cuzk_fp2_sqr(&s0, &a->c0);
  cuzk_fp2_mul(&s1, &a->c0, &a->c1);
  cuzk_fp2_dbl(&s1, &s1);
  cuzk_fp2_sub(&t, &a->c0, &a->c1);
  cuzk_fp2_add(&t, &t, &a->c2);
  cuzk_fp2_sqr(&s2, &t);
  cuzk_fp2_mul(&s3, &a->c1, &a->c2);
  cuzk_fp2_dbl(&s3, &s3);
  cuzk_fp2_sqr(&s4, &a->c2);
  cuzk_fp2_mul_xi(&t, &s3);
  cuzk_fp2_add(&r->c0, &s0, &t);
  cuzk_fp2_add(&s2, &s2, &s1);
  cuzk_fp2_add(&s2, &s2, &s3);
  cuzk_fp2_sub(&s2, &s2, &s0);
  cuzk_fp2_sub(&r->c2, &s2, &s4);
  cuzk_fp2_mul_xi(&t, &s4);
  cuzk_fp2_add(&r->c1, &s1, &t);
}

void cuzk_fp6_mul_01(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp2 *b0, const cuzk_fp2 *b1) {
  cuzk_fp2 v0, v1, s, t, k;
  cuzk_fp2_mul(&v0, &a->c0, b0);
  cuzk_fp2_mul(&v1, &a->c1, b1);
  /* c1 = (a0 + a1)(b0 + b1) - v0 - v1 */
  cuzk_fp2_add(&s, &a->c0, &a->c1);
  cuzk_fp2_add(&t, b0, b1);
  cuzk_fp2_mul(&k, &s, &t);
  cuzk_fp2_sub(&k, &k, &v0);
  cuzk_fp2_sub(&k, &k, &v1);
  cuzk_fp2_mul(&s, &a->c2, b1);
  cuzk_fp2_mul(&t, &a->c2, b0);
  cuzk_fp2_add(&r->c2, &t, &v1);
  cuzk_fp2_mul_xi(&s, &s);
  cuzk_fp2_add(&r->c0, &s, &v0);
  r->c1 = k;
}

void cuzk_fp6_mul_1(cuzk_fp6 *r, const cuzk_fp6 *a, const cuzk_fp2 *b1) {
  const cuzk_fp2 b = *b1;
  cuzk_fp2 t;
  cuzk_fp2_mul(&t, &a->c2, &b);
  cuzk_fp2_mul(&r->c2, &a->c1, &b);
  cuzk_fp2_mul(&r->c1, &a->c0, &b);
  cuzk_fp2_mul_xi(&r->c0, &t);
}

void cuzk_fp6_mul_v(cuzk_fp6 *r, const cuzk_fp6 *a) {
  const cuzk_fp2 t = a->c2;
  r->c2 = a->c1;
  r->c1 = a->c0;
  cuzk_fp2_mul_xi(&r->c0, &t);
}

/* 1/a = (t0, t1, t2)/n with t0 = a0^2 - xi a1 a2, t1 = xi a2^2 - a0 a1, t2 = a1^2 - a0 a2, n = a0 t0 + xi (a2 t1 + a1 t2). */
void cuzk_fp6_inv_var(cuzk_fp6 *r, const cuzk_fp6 *a) {
  cuzk_fp2 t0, t1, t2, n, s;
  cuzk_fp2_sqr(&t0, &a->c0);
  cuzk_fp2_mul(&s, &a->c1, &a->c2);
  cuzk_fp2_mul_xi(&s, &s);
  cuzk_fp2_sub(&t0, &t0, &s);
  cuzk_fp2_sqr(&t1, &a->c2);
  cuzk_fp2_mul_xi(&t1, &t1);
  cuzk_fp2_mul(&s, &a->c0, &a->c1);
  cuzk_fp2_sub(&t1, &t1, &s);
  cuzk_fp2_sqr(&t2, &a->c1);
  cuzk_fp2_mul(&s, &a->c0, &a->c2);
  cuzk_fp2_sub(&t2, &t2, &s);
  cuzk_fp2_mul(&n, &a->c2, &t1);
  cuzk_fp2_mul(&s, &a->c1, &t2);
  cuzk_fp2_add(&n, &n, &s);
  cuzk_fp2_mul_xi(&n, &n);
  cuzk_fp2_mul(&s, &a->c0, &t0);
  cuzk_fp2_add(&n, &n, &s);
  cuzk_fp2_inv_var(&n, &n);
  cuzk_fp2_mul(&r->c0, &t0, &n);
  cuzk_fp2_mul(&r->c1, &t1, &n);
  cuzk_fp2_mul(&r->c2, &t2, &n);
}
