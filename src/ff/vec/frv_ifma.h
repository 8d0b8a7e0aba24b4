/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Eight Fr elements side by side with AVX-512 IFMA. Include only in sources compiled with -mavx512ifma; same functions as
 *  frv_avx512.h and frv_scalar.h, so that one kernel source serves all three.
 *
 *  fv holds eight values as five limbs of 52 bits: l[k] has limb k of every lane. A value is any integer in [0, 32 r) that stands
 *  for its residue; 2^260 / r = 35.3. Its limbs are
 *    normal:  each in [0, 2^52), what multiplication, stores and fv_reduce's callers need, and what loads, fv_norm and the
 *             reductions give;
 *    loose:   signed 64-bit numbers whose weighted sum is the value, at most 2^61 in size; sums and differences give these.
 *  fv_mul gives loose limbs in [0, 2^57). fv_add and fv_sub accept loose operands: 2^61 leaves room for 16 of them in a row.
 *
 *  Products are Montgomery's with 2^260 while memory holds Montgomery form with 2^256: fv_mul(a, b) = a b / 2^260. A constant
 *  kept as c 2^260 (FV_TWIST = 4 more bits than memory's form) therefore multiplies memory's form exactly.
 *  Derivation of the bounds: docs/internals/ntt.md. */
#ifndef CUZK_FF_VEC_FRV_IFMA_H
#define CUZK_FF_VEC_FRV_IFMA_H
#include <immintrin.h>

#include "ff/fr.h"

#define FV_NAME ifma
#define FV_LANES 8
#define FV_LIMBS 5
#define FV_BITS 52
#define FV_TWIST 4

typedef struct {
  __m512i l[5];
} fv;

/* One constant for all lanes, normal limbs, below r. */
typedef struct {
  uint64_t l[5];
} fv_const;

static const uint64_t fv_modulus[5] = {0xfffff00000001u, 0x2fffe5bfefffu, 0x9a1d80553bda4u, 0x7d483339d8080u, 0x73eda753299du};
static const uint64_t fv_modulus_2[5] = {0xffffe00000002u, 0x5fffcb7fdfffu, 0x343b00aa77b48u, 0xfa906673b0101u,
                                         0xe7db4ea6533au};
static const uint64_t fv_modulus_4[5] = {0xffffc00000004u, 0xbfff96ffbfffu, 0x68760154ef690u, 0xf520cce760202u,
                                         0x1cfb69d4ca675u};
static const uint64_t fv_modulus_8[5] = {0xffff800000008u, 0x17fff2dff7fffu, 0xd0ec02a9ded20u, 0xea4199cec0404u,
                                         0x39f6d3a994cebu};
/* 2^260 - r */
static const uint64_t fv_minus_modulus[5] = {0xffffffffu, 0xfd0001a401000u, 0x65e27faac425bu, 0x82b7ccc627f7fu, 0xf8c1258acd662u};
#define FV_MASK 0xfffffffffffffu      /* 2^52 - 1 */
#define FV_NEG_INV 0xffffeffffffffu   /* -1/r mod 2^52 */
#define FV_QUOTIENT 0x2355094edfedu   /* floor(2^300 / r) */

static inline __m512i fv_set(uint64_t x) { return _mm512_set1_epi64((long long)x); }

static inline void fv_bcast(fv *r, const fv_const *c) {
  for (int k = 0; k < 5; k++) r->l[k] = fv_set(c->l[k]);
}

/* Carries run from limb 0 up; the top limb keeps what is left (non-negative, since the value is). */
static inline void fv_norm(fv *r, const fv *a) {
  const __m512i mask = fv_set(FV_MASK);
  __m512i c = _mm512_setzero_si512();
  for (int k = 0; k < 4; k++) {
    const __m512i t = _mm512_add_epi64(a->l[k], c);
    r->l[k] = _mm512_and_si512(t, mask);
    c = _mm512_srai_epi64(t, 52);
  }
  r->l[4] = _mm512_add_epi64(a->l[4], c);
}

/* a and b normal; the result a b / 2^260 + [0, r), loose. Below 2 r if a b < 2^260 r, for instance a < 32 r and b < 1.1 r. */
static inline void fv_mul(fv *r, const fv *a, const fv *b) {
  const __m512i mask = fv_set(FV_MASK), neg_inv = fv_set(FV_NEG_INV), zero = _mm512_setzero_si512();
  __m512i t0 = zero, t1 = zero, t2 = zero, t3 = zero, t4 = zero, t5;
#define FV_ROW(i)                                                                                                       \
  do {                                                                                                                  \
    const __m512i bi = b->l[i];                                                                                         \
    t0 = _mm512_madd52lo_epu64(t0, a->l[0], bi);                                                                        \
    const __m512i m = _mm512_madd52lo_epu64(zero, t0, neg_inv);                                                         \
    t1 = _mm512_madd52hi_epu64(t1, a->l[0], bi);                                                                        \
    t1 = _mm512_madd52lo_epu64(t1, a->l[1], bi);                                                                        \
    t2 = _mm512_madd52hi_epu64(t2, a->l[1], bi);                                                                        \
    t2 = _mm512_madd52lo_epu64(t2, a->l[2], bi);                                                                        \
    t3 = _mm512_madd52hi_epu64(t3, a->l[2], bi);                                                                        \
    t3 = _mm512_madd52lo_epu64(t3, a->l[3], bi);                                                                        \
    t4 = _mm512_madd52hi_epu64(t4, a->l[3], bi);                                                                        \
    t4 = _mm512_madd52lo_epu64(t4, a->l[4], bi);                                                                        \
    t5 = _mm512_madd52hi_epu64(zero, a->l[4], bi);                                                                      \
    /* t0 + lo(m r[0]) is a multiple of 2^52: its carry is t0 / 2^52 rounded up. */                                     \
    t1 = _mm512_add_epi64(t1, _mm512_srli_epi64(_mm512_add_epi64(t0, mask), 52));                                       \
    t1 = _mm512_madd52hi_epu64(t1, m, fv_set(fv_modulus[0]));                                                           \
    t0 = _mm512_madd52lo_epu64(t1, m, fv_set(fv_modulus[1]));                                                           \
    t2 = _mm512_madd52hi_epu64(t2, m, fv_set(fv_modulus[1]));                                                           \
    t1 = _mm512_madd52lo_epu64(t2, m, fv_set(fv_modulus[2]));                                                           \
    t3 = _mm512_madd52hi_epu64(t3, m, fv_set(fv_modulus[2]));                                                           \
    t2 = _mm512_madd52lo_epu64(t3, m, fv_set(fv_modulus[3]));                                                           \
    t4 = _mm512_madd52hi_epu64(t4, m, fv_set(fv_modulus[3]));                                                           \
    t3 = _mm512_madd52lo_epu64(t4, m, fv_set(fv_modulus[4]));                                                           \
    t4 = _mm512_madd52hi_epu64(t5, m, fv_set(fv_modulus[4]));                                                           \
  } while (0)
  FV_ROW(0);
  FV_ROW(1);
  FV_ROW(2);
  FV_ROW(3);
  FV_ROW(4);
#undef FV_ROW
  r->l[0] = t0;
  r->l[1] = t1;
  r->l[2] = t2;
  r->l[3] = t3;
  r->l[4] = t4;
}

static inline void fv_add(fv *r, const fv *a, const fv *b) {
  for (int k = 0; k < 5; k++) r->l[k] = _mm512_add_epi64(a->l[k], b->l[k]);
}

/* a - b + bound, where bound is a multiple of r not below b. */
static inline void fv_sub_bound(fv *r, const fv *a, const fv *b, const uint64_t bound[5]) {
  for (int k = 0; k < 5; k++)
    r->l[k] = _mm512_add_epi64(_mm512_sub_epi64(a->l[k], b->l[k]), fv_set(bound[k]));
}

/* Any value below 32 r, loose, to the same residue below 1.001 r, normal. */
static inline void fv_reduce(fv *r, const fv *a) {
  const __m512i mask = fv_set(FV_MASK), zero = _mm512_setzero_si512();
  fv t;
  fv_norm(&t, a);
  /* q = floor(a / r), or one less when a / r is within 2^-46 above an integer; then a - q r = a + q (2^260 - r) mod 2^260. */
  const __m512i q = _mm512_srli_epi64(_mm512_madd52hi_epu64(zero, t.l[4], fv_set(FV_QUOTIENT)), 40);
  __m512i c = zero;
  for (int k = 0; k < 5; k++) {
    __m512i s = _mm512_madd52lo_epu64(_mm512_add_epi64(t.l[k], c), q, fv_set(fv_minus_modulus[k]));
    if (k > 0) s = _mm512_madd52hi_epu64(s, q, fv_set(fv_minus_modulus[k - 1]));
    c = _mm512_srli_epi64(s, 52);
    r->l[k] = _mm512_and_si512(s, mask);
  }
}

/* Any value below 2 r, normal, to the least one of its residue. */
static inline void fv_reduce_once(fv *r, const fv *a) {
  const __m512i mask = fv_set(FV_MASK);
  fv t;
  __m512i c = _mm512_setzero_si512();
  for (int k = 0; k < 5; k++) {
    const __m512i s = _mm512_add_epi64(_mm512_sub_epi64(a->l[k], fv_set(fv_modulus[k])), c);
    c = _mm512_srai_epi64(s, 52);
    t.l[k] = k < 4 ? _mm512_and_si512(s, mask) : s;
  }
  const __mmask8 keep = _mm512_movepi64_mask(t.l[4]);
  for (int k = 0; k < 5; k++) r->l[k] = _mm512_mask_mov_epi64(t.l[k], keep, a->l[k]);
}

/* Four words of 64 bits a lane to limbs and back. */
static inline void fv_split(fv *r, const __m512i w[4]) {
  const __m512i mask = fv_set(FV_MASK);
  r->l[0] = _mm512_and_si512(w[0], mask);
  r->l[1] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[0], 52), _mm512_slli_epi64(w[1], 12)), mask);
  r->l[2] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[1], 40), _mm512_slli_epi64(w[2], 24)), mask);
  r->l[3] = _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w[2], 28), _mm512_slli_epi64(w[3], 36)), mask);
  r->l[4] = _mm512_srli_epi64(w[3], 16);
}

static inline void fv_join(__m512i w[4], const fv *a) {
  w[0] = _mm512_or_si512(a->l[0], _mm512_slli_epi64(a->l[1], 52));
  w[1] = _mm512_or_si512(_mm512_srli_epi64(a->l[1], 12), _mm512_slli_epi64(a->l[2], 40));
  w[2] = _mm512_or_si512(_mm512_srli_epi64(a->l[2], 24), _mm512_slli_epi64(a->l[3], 28));
  w[3] = _mm512_or_si512(_mm512_srli_epi64(a->l[3], 36), _mm512_slli_epi64(a->l[4], 16));
}

static inline void fv_const_split(fv_const *r, const uint64_t w[4]) {
  r->l[0] = w[0] & FV_MASK;
  r->l[1] = (w[0] >> 52 | w[1] << 12) & FV_MASK;
  r->l[2] = (w[1] >> 40 | w[2] << 24) & FV_MASK;
  r->l[3] = (w[2] >> 28 | w[3] << 36) & FV_MASK;
  r->l[4] = w[3] >> 16;
}

#include "ff/vec/frv_avx512_mem.h"
#endif
