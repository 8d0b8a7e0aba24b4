/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The base field Fp of BLS12-381: as fr.h, six limbs, R = 2^384. Bytes of Fp are big-endian (the point formats are).
 *  Sums, differences and products are calls through the kernel table (ff/ops.h). Source: docs/internals/fields.md. */
#ifndef CUZK_FF_FP_H
#define CUZK_FF_FP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ff/ops.h"

typedef struct {
  uint64_t l[6];
} cuzk_fp;

extern const cuzk_fp cuzk_fp_zero, cuzk_fp_one;
extern const uint64_t cuzk_fp_modulus[6];

/** True for values below the modulus: every cuzk_fp is, between calls. */
static inline bool cuzk_fp_is_reduced(const cuzk_fp *a) {
  for (int i = 5; i >= 0; i--)
    if (a->l[i] != cuzk_fp_modulus[i]) return a->l[i] < cuzk_fp_modulus[i];
  return false;
}

/** *r = a + b */
static inline void cuzk_fp_add(cuzk_fp *r, const cuzk_fp *a, const cuzk_fp *b) {
  CUZK_FF_CHECK(cuzk_fp_is_reduced(a) && cuzk_fp_is_reduced(b));
  cuzk_ff_ops.fp_add(r->l, a->l, b->l);
  CUZK_FF_CHECK(cuzk_fp_is_reduced(r));
}
/** *r = a - b */
static inline void cuzk_fp_sub(cuzk_fp *r, const cuzk_fp *a, const cuzk_fp *b) {
  CUZK_FF_CHECK(cuzk_fp_is_reduced(a) && cuzk_fp_is_reduced(b));
  cuzk_ff_ops.fp_sub(r->l, a->l, b->l);
  CUZK_FF_CHECK(cuzk_fp_is_reduced(r));
}
/** *r = a b; constant time, as sum, difference and square are. */
static inline void cuzk_fp_mul(cuzk_fp *r, const cuzk_fp *a, const cuzk_fp *b) {
  CUZK_FF_CHECK(cuzk_fp_is_reduced(a) && cuzk_fp_is_reduced(b));
  cuzk_ff_ops.fp_mul(r->l, a->l, b->l);
  CUZK_FF_CHECK(cuzk_fp_is_reduced(r));
}
/** *r = a^2 */
static inline void cuzk_fp_sqr(cuzk_fp *r, const cuzk_fp *a) {
  CUZK_FF_CHECK(cuzk_fp_is_reduced(a));
  cuzk_ff_ops.fp_sqr(r->l, a->l);
  CUZK_FF_CHECK(cuzk_fp_is_reduced(r));
}
/** *r = -a */
static inline void cuzk_fp_neg(cuzk_fp *r, const cuzk_fp *a) { cuzk_fp_sub(r, &cuzk_fp_zero, a); }
/** *r = 2 a */
static inline void cuzk_fp_dbl(cuzk_fp *r, const cuzk_fp *a) { cuzk_fp_add(r, a, a); }
/** *r = 1/a; 0 for a = 0. Variable time. */
void cuzk_fp_inv_var(cuzk_fp *r, const cuzk_fp *a);
/** Replaces each of a[n] by its inverse with one inversion; zeros stay zero. scratch[n]. */
void cuzk_fp_inv_batch(cuzk_fp *a, cuzk_fp *scratch, size_t n);
/** *r = a^e, e given as n_limbs 64-bit words, least significant first. Variable time. */
void cuzk_fp_pow_var(cuzk_fp *r, const cuzk_fp *a, const uint64_t *e, size_t n_limbs);
/** False, *r untouched, if a is not a square; otherwise one of the two roots. */
bool cuzk_fp_sqrt_var(cuzk_fp *r, const cuzk_fp *a);
/** *r = a^((p-3)/4): times a a candidate for the root, and 1/root where a is a square. */
void cuzk_fp_pow_p_minus_3_over_4(cuzk_fp *r, const cuzk_fp *a);
/** *r = v */
void cuzk_fp_from_u64(cuzk_fp *r, uint64_t v);
/** True if the canonical value is above (p-1)/2. */
bool cuzk_fp_is_larger(const cuzk_fp *a);

/** Is *a 0? */
static inline bool cuzk_fp_is_zero(const cuzk_fp *a) {
  return (a->l[0] | a->l[1] | a->l[2] | a->l[3] | a->l[4] | a->l[5]) == 0;
}
/** Are *a and *b equal? */
static inline bool cuzk_fp_eq(const cuzk_fp *a, const cuzk_fp *b) {
  return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) | (a->l[3] ^ b->l[3]) |
          (a->l[4] ^ b->l[4]) | (a->l[5] ^ b->l[5])) == 0;
}

/** Plain integer, least significant limb first. */
void cuzk_fp_to_canon(uint64_t out[6], const cuzk_fp *a);
/** Montgomery form of a plain integer. False, *r untouched, if it is not below the modulus. */
bool cuzk_fp_from_canon(cuzk_fp *r, const uint64_t a[6]);
/** 48 bytes, big-endian, canonical. */
void cuzk_fp_to_be(uint8_t out[48], const cuzk_fp *a);
/** False, *r untouched, if the integer is not below the modulus. Flag bits are the caller's to mask. */
bool cuzk_fp_from_be(cuzk_fp *r, const uint8_t in[48]);
#endif
