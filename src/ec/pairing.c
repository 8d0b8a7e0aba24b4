/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ec/pairing.h"

#include <string.h>

#include "ec/twist.h"

#define Z_ABS 0xd201000000010000u /* the absolute value of the curve's parameter z, which is negative */

/* A multiple of Q on the twist, homogeneous: x = X/Z, y = Y/Z. */
struct twist_point {
  cuzk_fp2 x, y, z;
};

/* Line through a point of the twist evaluated at P, scaled by a factor of Fp2: l0 + l2 w^2 + l3 w^3 up to the coordinates
 * of P, which l2 and l3 still have to be multiplied by (l2 by -x_P, l3 by y_P). */
struct line {
  cuzk_fp2 l0, l2, l3;
};

/* *r = *a/2: the sum a + p or a, shifted. */
static void fp_half(cuzk_fp *r, const cuzk_fp *a) {
  const uint64_t mask = 0 - (a->l[0] & 1);
  uint64_t t[6], carry = 0;
  for (int i = 0; i < 6; i++) {
    const uint64_t s = a->l[i] + carry, m = cuzk_fp_modulus[i] & mask;
    carry = s < carry;
    t[i] = s + m;
    carry |= t[i] < m;
  }
  for (int i = 0; i < 5; i++) r->l[i] = (t[i] >> 1) | (t[i + 1] << 63);
  r->l[5] = t[5] >> 1;
}

/* T = 2 T and the tangent, times 2 Y Z: the slope is 3 X^2/(2 Y Z), and the constant term 3 X^3/Z - 2 Y^2 is B - E with B = Y^2,
 * E = 3 b' Z^2 by the equation of the curve. Source: Costello, Lange, Naehrig (2010). */
static void double_step(struct line *l, struct twist_point *t) {
  cuzk_fp2 a, b, c, e, f, g, h, j;
  cuzk_fp2_mul(&a, &t->x, &t->y);
  fp_half(&a.c0, &a.c0);
  fp_half(&a.c1, &a.c1);
  cuzk_fp2_sqr(&b, &t->y);
  cuzk_fp2_sqr(&c, &t->z);
  cuzk_twist_mul_3b(&e, &c);
  cuzk_fp2_dbl(&f, &e);
  cuzk_fp2_add(&f, &f, &e);
  cuzk_fp2_add(&h, &t->y, &t->z);
  cuzk_fp2_sqr(&h, &h);
  cuzk_fp2_sub(&h, &h, &b);
  cuzk_fp2_sub(&h, &h, &c); /* 2 Y Z */
  cuzk_fp2_sqr(&j, &t->x);
  cuzk_fp2_sub(&l->l0, &b, &e);
  cuzk_fp2_dbl(&l->l2, &j);
  cuzk_fp2_add(&l->l2, &l->l2, &j);
  l->l3 = h;
  cuzk_fp2_sub(&g, &b, &f);
  cuzk_fp2_mul(&t->x, &a, &g);
  cuzk_fp2_add(&g, &b, &f);
  fp_half(&g.c0, &g.c0);
  fp_half(&g.c1, &g.c1);
  cuzk_fp2_sqr(&g, &g);
  cuzk_fp2_sqr(&e, &e);
  cuzk_fp2_sub(&g, &g, &e);
  cuzk_fp2_dbl(&e, &e);
  cuzk_fp2_sub(&t->y, &g, &e);
  cuzk_fp2_mul(&t->z, &b, &h);
}

/* T = T + Q and the line through both, times X - x_Q Z. */
static void add_step(struct line *l, struct twist_point *t, const cuzk_g2_affine *q) {
  cuzk_fp2 theta, lambda, c, d, e, g, h;
  cuzk_fp2_mul(&c, &q->y, &t->z);
  cuzk_fp2_sub(&theta, &t->y, &c);
  cuzk_fp2_mul(&c, &q->x, &t->z);
  cuzk_fp2_sub(&lambda, &t->x, &c);
  cuzk_fp2_mul(&c, &theta, &q->x);
  cuzk_fp2_mul(&d, &lambda, &q->y);
  cuzk_fp2_sub(&l->l0, &c, &d);
  l->l2 = theta;
  l->l3 = lambda;
  cuzk_fp2_sqr(&c, &theta);
  cuzk_fp2_sqr(&d, &lambda);
  cuzk_fp2_mul(&e, &lambda, &d);
  cuzk_fp2_mul(&c, &c, &t->z);
  cuzk_fp2_mul(&g, &t->x, &d);
  cuzk_fp2_add(&h, &e, &c);
  cuzk_fp2_sub(&h, &h, &g);
  cuzk_fp2_sub(&h, &h, &g);
  cuzk_fp2_mul(&t->x, &lambda, &h);
  cuzk_fp2_sub(&g, &g, &h);
  cuzk_fp2_mul(&g, &g, &theta);
  cuzk_fp2_mul(&c, &e, &t->y);
  cuzk_fp2_sub(&t->y, &g, &c);
  cuzk_fp2_mul(&t->z, &t->z, &e);
}

static void multiply_line(cuzk_fp12 *f, struct line *l, const cuzk_fp *minus_x, const cuzk_fp *y) {
  cuzk_fp2_mul_fp(&l->l2, &l->l2, minus_x);
  cuzk_fp2_mul_fp(&l->l3, &l->l3, y);
  cuzk_fp12_mul_line(f, f, &l->l0, &l->l2, &l->l3);
}

/* As many pairs share a squaring chain as fit on the stack comfortably. */
#define CHAIN_PAIRS 16

/* Up to CHAIN_PAIRS pairs without identities. */
static void miller_chain(cuzk_fp12 *r, const cuzk_g1_affine *const *p, const cuzk_g2_affine *const *q, size_t n) {
  struct twist_point t[CHAIN_PAIRS];
  cuzk_fp minus_x[CHAIN_PAIRS];
  cuzk_fp12 f = cuzk_fp12_one;
  struct line l;
  for (size_t i = 0; i < n; i++) {
    t[i] = (struct twist_point){q[i]->x, q[i]->y, cuzk_fp2_one};
    cuzk_fp_neg(&minus_x[i], &p[i]->x);
  }
  for (int bit = 62; bit >= 0; bit--) {
    if (bit != 62) cuzk_fp12_sqr(&f, &f);
    for (size_t i = 0; i < n; i++) {
      double_step(&l, &t[i]);
      multiply_line(&f, &l, &minus_x[i], &p[i]->y);
    }
    if ((Z_ABS >> bit) & 1) {
      for (size_t i = 0; i < n; i++) {
        add_step(&l, &t[i], q[i]);
        multiply_line(&f, &l, &minus_x[i], &p[i]->y);
      }
    }
  }
  *r = f;
}

void cuzk_miller_loop(cuzk_fp12 *r, const cuzk_g1_affine *p, const cuzk_g2_affine *q, size_t n) {
  const cuzk_g1_affine *ps[CHAIN_PAIRS];
  const cuzk_g2_affine *qs[CHAIN_PAIRS];
  cuzk_fp12 acc = cuzk_fp12_one, f;
  size_t used = 0;
  for (size_t i = 0; i < n; i++) {
    if (!cuzk_g1_affine_is_identity(&p[i]) && !cuzk_g2_affine_is_identity(&q[i])) {
      ps[used] = &p[i];
      qs[used++] = &q[i];
    }
    if (used == CHAIN_PAIRS || (i + 1 == n && used > 0)) {
      miller_chain(&f, ps, qs, used);
      cuzk_fp12_mul(&acc, &acc, &f);
      used = 0;
    }
  }
  cuzk_fp12_conj(r, &acc); /* z is negative */
}

/* *r = a^z for a of the cyclotomic subgroup */
static void pow_z(cuzk_fp12 *r, const cuzk_fp12 *a) {
  cuzk_fp12 t = *a;
  for (int bit = 62; bit >= 0; bit--) {
    cuzk_fp12_sqr_cyclotomic(&t, &t);
    if ((Z_ABS >> bit) & 1) cuzk_fp12_mul(&t, &t, a);
  }
  cuzk_fp12_conj(r, &t);
}

/* (p^6 - 1)(p^2 + 1), then 3 (p^4 - p^2 + 1)/r = (z - 1)^2 (z + p)(z^2 + p^2 - 1) + 3.
 * Source of the second: Hayashida, Hayasaka, Teruya (2020). */
void cuzk_final_exp(cuzk_gt *r, const cuzk_fp12 *f) {
  cuzk_fp12 a, t, u, v;
  cuzk_fp12_inv_var(&t, f);
  cuzk_fp12_conj(&a, f);
  cuzk_fp12_mul(&a, &a, &t);
  cuzk_fp12_frobenius(&t, &a);
  cuzk_fp12_frobenius(&t, &t);
  cuzk_fp12_mul(&a, &a, &t);

  t = a;
  for (int i = 0; i < 2; i++) { /* t = t^(z - 1), twice */
    pow_z(&u, &t);
    cuzk_fp12_conj(&t, &t);
    cuzk_fp12_mul(&t, &t, &u);
  }
  pow_z(&u, &t);
  cuzk_fp12_frobenius(&t, &t);
  cuzk_fp12_mul(&t, &t, &u); /* ^(z + p) */
  pow_z(&u, &t);
  pow_z(&u, &u);
  cuzk_fp12_frobenius(&v, &t);
  cuzk_fp12_frobenius(&v, &v);
  cuzk_fp12_mul(&u, &u, &v);
  cuzk_fp12_conj(&t, &t);
  cuzk_fp12_mul(&t, &t, &u); /* ^(z^2 + p^2 - 1) */
  cuzk_fp12_sqr_cyclotomic(&u, &a);
  cuzk_fp12_mul(&u, &u, &a);
  cuzk_fp12_mul(r, &t, &u);
}

void cuzk_pairing_product(cuzk_gt *r, const cuzk_g1_affine *p, const cuzk_g2_affine *q, size_t n) {
  cuzk_fp12 f;
  cuzk_miller_loop(&f, p, q, n);
  cuzk_final_exp(r, &f);
}

void cuzk_gt_pow_var(cuzk_gt *r, const cuzk_gt *a, const uint64_t *e, size_t n_limbs) {
  cuzk_fp12 tab[15], acc = cuzk_fp12_one; /* tab[i] = a^(i + 1) */
  while (n_limbs > 0 && e[n_limbs - 1] == 0) n_limbs--;
  if (n_limbs > 0) {
    tab[0] = *a;
    for (int i = 1; i < 15; i++) {
      if (i % 2 == 1) cuzk_fp12_sqr_cyclotomic(&tab[i], &tab[i / 2]);
      else cuzk_fp12_mul(&tab[i], &tab[i - 1], &tab[0]);
    }
  }
  for (size_t w = n_limbs * 16; w-- > 0;) {
    for (int i = 0; i < 4; i++) cuzk_fp12_sqr_cyclotomic(&acc, &acc);
    const unsigned d = (unsigned)(e[w / 16] >> (4 * (w % 16))) & 15u;
    if (d > 0) cuzk_fp12_mul(&acc, &acc, &tab[d - 1]);
  }
  *r = acc;
}

void cuzk_gt_inv(cuzk_gt *r, const cuzk_gt *a) { cuzk_fp12_conj(r, a); }

bool cuzk_gt_eq(const cuzk_gt *a, const cuzk_gt *b) { return cuzk_fp12_eq(a, b); }

void cuzk_gt_compress(uint8_t out[288], const cuzk_gt *a) {
  cuzk_fp6 s, t;
  uint64_t c[6];
  cuzk_fp6_add(&s, &a->c0, &cuzk_fp6_one);
  cuzk_fp6_inv_var(&t, &a->c1);
  cuzk_fp6_mul(&s, &s, &t);
  const cuzk_fp *const coeff[6] = {&s.c0.c0, &s.c0.c1, &s.c1.c0, &s.c1.c1, &s.c2.c0, &s.c2.c1};
  for (int i = 0; i < 6; i++) {
    cuzk_fp_to_canon(c, coeff[i]);
    memcpy(out + 48 * i, c, 48);
  }
}
