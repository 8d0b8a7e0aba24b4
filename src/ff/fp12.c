/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/fp12.h"

#define FP_ONE                                                                                                             \
  {{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u, 0x5c071a97a256ec6du,               \
    0x15f65ec3fa80e493u}}
#define FP2_ZERO {{{0}}, {{0}}}
const cuzk_fp12 cuzk_fp12_zero = {{FP2_ZERO, FP2_ZERO, FP2_ZERO}, {FP2_ZERO, FP2_ZERO, FP2_ZERO}};
const cuzk_fp12 cuzk_fp12_one = {{{FP_ONE, {{0}}}, FP2_ZERO, FP2_ZERO}, {FP2_ZERO, FP2_ZERO, FP2_ZERO}};

/* gamma[i - 1] = xi^(i (p - 1)/6) */
static const cuzk_fp2 gamma[5] = {
    {{{0x07089552b319d465u, 0xc6695f92b50a8313u, 0x97e83cccd117228fu, 0xa35baecab2dc29eeu,
       0x1ce393ea5daace4du, 0x08f2220fb0fb66ebu}},
     {{0xb2f66aad4ce5d646u, 0x5842a06bfc497cecu, 0xcf4895d42599d394u, 0xc11b9cba40a8e8d0u,
       0x2e3813cbe5a0de89u, 0x110eefda88847fafu}}},
    {{{0x0000000000000000u, 0x0000000000000000u, 0x0000000000000000u, 0x0000000000000000u,
       0x0000000000000000u, 0x0000000000000000u}},
     {{0xcd03c9e48671f071u, 0x5dab22461fcda5d2u, 0x587042afd3851b95u, 0x8eb60ebe01bacb9eu,
       0x03f97d6e83d050d2u, 0x18f0206554638741u}}},
    {{{0x7bcfa7a25aa30fdau, 0xdc17dec12a927e7cu, 0x2f088dd86b4ebef1u, 0xd1ca2087da74d4a7u,
       0x2da2596696cebc1du, 0x0e2b7eedbbfd87d2u}},
     {{0x7bcfa7a25aa30fdau, 0xdc17dec12a927e7cu, 0x2f088dd86b4ebef1u, 0xd1ca2087da74d4a7u,
       0x2da2596696cebc1du, 0x0e2b7eedbbfd87d2u}}},
    {{{0x890dc9e4867545c3u, 0x2af322533285a5d5u, 0x50880866309b7e2cu, 0xa20d1b8c7e881024u,
       0x14e4f04fe2db9068u, 0x14e56d3f1564853au}},
     {{0x0000000000000000u, 0x0000000000000000u, 0x0000000000000000u, 0x0000000000000000u,
       0x0000000000000000u, 0x0000000000000000u}}},
    {{{0x82d83cf50dbce43fu, 0xa2813e53df9d018fu, 0xc6f0caa53c65e181u, 0x7525cf528d50fe95u,
       0x4a85ed50f4798a6bu, 0x171da0fd6cf8eebdu}},
     {{0x3726c30af242c66cu, 0x7c2ac1aad1b6fe70u, 0xa04007fbba4b14a2u, 0xef517c3266341429u,
       0x0095ba654ed2226bu, 0x02e370eccc86f7ddu}}}};

void cuzk_fp12_add(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b) {
  cuzk_fp6_add(&r->c0, &a->c0, &b->c0);
  cuzk_fp6_add(&r->c1, &a->c1, &b->c1);
}

void cuzk_fp12_sub(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b) {
  cuzk_fp6_sub(&r->c0, &a->c0, &b->c0);
  cuzk_fp6_sub(&r->c1, &a->c1, &b->c1);
}

void cuzk_fp12_mul(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b) {
  cuzk_fp6 s, t, u, v;
  cuzk_fp6_add(&s, &a->c0, &a->c1);
  cuzk_fp6_add(&t, &b->c0, &b->c1);
  cuzk_fp6_mul(&s, &s, &t);
  cuzk_fp6_mul(&u, &a->c0, &b->c0);
  cuzk_fp6_mul(&v, &a->c1, &b->c1);
  cuzk_fp6_sub(&s, &s, &u);
  cuzk_fp6_sub(&r->c1, &s, &v);
  cuzk_fp6_mul_v(&v, &v);
  cuzk_fp6_add(&r->c0, &u, &v);
}

/* (a0 + a1 w)^2 = (a0 + a1)(a0 + v a1) - m - v m + 2 m w with m = a0 a1 */
void cuzk_fp12_sqr(cuzk_fp12 *r, const cuzk_fp12 *a) {
  cuzk_fp6 s, t, m;
  cuzk_fp6_mul(&m, &a->c0, &a->c1);
  cuzk_fp6_add(&s, &a->c0, &a->c1);
  cuzk_fp6_mul_v(&t, &a->c1);
  cuzk_fp6_add(&t, &t, &a->c0);
  cuzk_fp6_mul(&s, &s, &t);
  cuzk_fp6_sub(&s, &s, &m);
  cuzk_fp6_mul_v(&t, &m);
  cuzk_fp6_sub(&r->c0, &s, &t);
  cuzk_fp6_add(&r->c1, &m, &m);
}

void cuzk_fp12_mul_line(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp2 *l0, const cuzk_fp2 *l2, const cuzk_fp2 *l3) {
  cuzk_fp6 s, t, u;
  cuzk_fp2 k;
  cuzk_fp6_mul_01(&t, &a->c0, l0, l2);
  cuzk_fp6_mul_1(&u, &a->c1, l3);
  cuzk_fp2_add(&k, l2, l3);
  cuzk_fp6_add(&s, &a->c0, &a->c1);
  cuzk_fp6_mul_01(&s, &s, l0, &k);
  cuzk_fp6_sub(&s, &s, &t);
  cuzk_fp6_sub(&r->c1, &s, &u);
  cuzk_fp6_mul_v(&u, &u);
  cuzk_fp6_add(&r->c0, &t, &u);
}

/* (a + b y)^2 = (a^2 + xi b^2) + ((a + b)^2 - a^2 - b^2) y, y^2 = xi */
static void fp4_sqr(cuzk_fp2 *r0, cuzk_fp2 *r1, const cuzk_fp2 *a, const cuzk_fp2 *b) {
  cuzk_fp2 s, t, u;
  cuzk_fp2_sqr(&s, a);
  cuzk_fp2_sqr(&t, b);
  cuzk_fp2_add(&u, a, b);
  cuzk_fp2_sqr(&u, &u);
  cuzk_fp2_sub(&u, &u, &s);
  cuzk_fp2_sub(r1, &u, &t);
  cuzk_fp2_mul_xi(&t, &t);
  cuzk_fp2_add(r0, &s, &t);
}

/* *r = 3 t - 2 z */
static void three_minus_two(cuzk_fp2 *r, const cuzk_fp2 *t, const cuzk_fp2 *z) {
  cuzk_fp2 s;
  cuzk_fp2_sub(&s, t, z);
  cuzk_fp2_dbl(&s, &s);
  cuzk_fp2_add(r, &s, t);
}

/* *r = 3 t + 2 z */
static void three_plus_two(cuzk_fp2 *r, const cuzk_fp2 *t, const cuzk_fp2 *z) {
  cuzk_fp2 s;
  cuzk_fp2_add(&s, t, z);
  cuzk_fp2_dbl(&s, &s);
  cuzk_fp2_add(r, &s, t);
}

/* Granger and Scott, "Faster squaring in the cyclotomic subgroup of sixth degree extensions" (2010): with y = w^3 the element
 * is A + B w + C w^2 over Fp4, and its square needs A^2, B^2, C^2 only. */
void cuzk_fp12_sqr_cyclotomic(cuzk_fp12 *r, const cuzk_fp12 *a) {
  cuzk_fp2 a0, a1, b0, b1, d0, d1;
  fp4_sqr(&a0, &a1, &a->c0.c0, &a->c1.c1);
  fp4_sqr(&b0, &b1, &a->c1.c0, &a->c0.c2);
  fp4_sqr(&d0, &d1, &a->c0.c1, &a->c1.c2);
  cuzk_fp2_mul_xi(&d1, &d1);
  three_minus_two(&r->c0.c0, &a0, &a->c0.c0);
  three_plus_two(&r->c1.c1, &a1, &a->c1.c1);
  three_minus_two(&r->c0.c1, &b0, &a->c0.c1);
  three_plus_two(&r->c1.c2, &b1, &a->c1.c2);
  three_minus_two(&r->c0.c2, &d0, &a->c0.c2);
  three_plus_two(&r->c1.c0, &d1, &a->c1.c0);
}

void cuzk_fp12_conj(cuzk_fp12 *r, const cuzk_fp12 *a) {
  r->c0 = a->c0;
  cuzk_fp6_neg(&r->c1, &a->c1);
}

void cuzk_fp12_frobenius(cuzk_fp12 *r, const cuzk_fp12 *a) {
  cuzk_fp12 t;
  cuzk_fp2_conj(&t.c0.c0, &a->c0.c0);
  cuzk_fp2_conj(&t.c1.c0, &a->c1.c0);
  cuzk_fp2_conj(&t.c0.c1, &a->c0.c1);
  cuzk_fp2_conj(&t.c1.c1, &a->c1.c1);
  cuzk_fp2_conj(&t.c0.c2, &a->c0.c2);
  cuzk_fp2_conj(&t.c1.c2, &a->c1.c2);
  r->c0.c0 = t.c0.c0;
  cuzk_fp2_mul(&r->c1.c0, &t.c1.c0, &gamma[0]);
  cuzk_fp2_mul(&r->c0.c1, &t.c0.c1, &gamma[1]);
  cuzk_fp2_mul(&r->c1.c1, &t.c1.c1, &gamma[2]);
  cuzk_fp2_mul(&r->c0.c2, &t.c0.c2, &gamma[3]);
  cuzk_fp2_mul(&r->c1.c2, &t.c1.c2, &gamma[4]);
}

/* 1/(a0 + a1 w) = (a0 - a1 w)/(a0^2 - v a1^2) */
void cuzk_fp12_inv_var(cuzk_fp12 *r, const cuzk_fp12 *a) {
  cuzk_fp6 s, t;
  cuzk_fp6_sqr(&s, &a->c0);
  cuzk_fp6_sqr(&t, &a->c1);
  cuzk_fp6_mul_v(&t, &t);
  cuzk_fp6_sub(&s, &s, &t);
  cuzk_fp6_inv_var(&s, &s);
  cuzk_fp6_mul(&r->c0, &a->c0, &s);
  cuzk_fp6_neg(&s, &s);
  cuzk_fp6_mul(&r->c1, &a->c1, &s);
}

void cuzk_fp12_pow_var(cuzk_fp12 *r, const cuzk_fp12 *a, const uint64_t *e, size_t n_limbs) {
  cuzk_fp12 acc = cuzk_fp12_one;
  const cuzk_fp12 base = *a;
  for (size_t i = n_limbs * 64; i-- > 0;) {
    cuzk_fp12_sqr(&acc, &acc);
    if ((e[i / 64] >> (i % 64)) & 1) cuzk_fp12_mul(&acc, &acc, &base);
  }
  *r = acc;
}
