/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Eight Fr elements side by side with AVX-512 F and DQ, for processors without IFMA. Include only in sources compiled with
 *  -mavx512f -mavx512dq; same functions as frv_ifma.h and frv_scalar.h.
 *
 *  fv holds eight values as nine limbs of 29 bits, one in each 64-bit place: 32-bit products leave room for the 18 terms of a
 *  column (18 2^58 < 2^63) without a carry in between. A value is any integer in [0, 32 r); 2^261 / r = 70.6. Limbs are
 *    normal:  each in [0, 2^29), the top one below 2^32: what multiplication and stores need, and what all functions but
 *             fv_add and fv_sub_bound give;
 *    loose:   signed 64-bit numbers whose weighted sum is the value, at most 2^61 in size.
 *  fv_mul(a, b) = a b / 2^261 (FV_TWIST = 5 bits more than memory's Montgomery form). Bounds: docs/internals/ntt.md. */
#ifndef CUZK_FF_VEC_FRV_AVX512_H
#define CUZK_FF_VEC_FRV_AVX512_H
#include <immintrin.h>

#include "ff/fr.h"

#define FV_NAME avx512
#define FV_LANES 8
#define FV_LIMBS 9
#define FV_BITS 29
#define FV_TWIST 5

typedef struct {
  __m512i l[9];
} fv;

typedef struct {
  uint64_t l[9];
} fv_const;

static const uint64_t fv_modulus[9] = {0x1u,        0x1ffffff8u, 0x1f96ffbfu, 0x1b4805ffu, 0x1d80553bu,
                                       0xc0404d0u,  0x1520cce7u, 0xa6533afu,  0x73eda7u};
static const uint64_t fv_modulus_2[9] = {0x2u,        0x1ffffff0u, 0x1f2dff7fu, 0x16900bffu, 0x1b00aa77u,
                                         0x180809a1u, 0xa4199ceu,  0x14ca675fu, 0xe7db4eu};
static const uint64_t fv_modulus_4[9] = {0x4u,        0x1fffffe0u, 0x1e5bfeffu, 0xd2017ffu, 0x160154efu,
                                         0x10101343u, 0x1483339du, 0x994cebeu,  0x1cfb69du};
static const uint64_t fv_modulus_8[9] = {0x8u,      0x1fffffc0u, 0x1cb7fdffu, 0x1a402fffu, 0xc02a9deu,
                                         0x202687u, 0x906673bu,  0x13299d7du, 0x39f6d3au};
#define FV_MASK 0x1fffffffu     /* 2^29 - 1 */
#define FV_QUOTIENT 0x8d54253bu /* floor(2^286 / r) */

static inline __m512i fv_set(uint64_t x) { return _mm512_set1_epi64((long long)x); }

static inline void fv_bcast(fv *r, const fv_const *c) {
  for (int k = 0; k < 9; k++) r->l[k] = fv_set(c->l[k]);
}

static inline void fv_norm(fv *r, const fv *a) {
  const __m512i mask = fv_set(FV_MASK);
  __m512i c = _mm512_setzero_si512();
  for (int k = 0; k < 8; k++) {
    const __m512i t = _mm512_add_epi64(a->l[k], c);
    r->l[k] = _mm512_and_si512(t, mask);
    c = _mm512_srai_epi64(t, 29);
  }
  r->l[8] = _mm512_add_epi64(a->l[8], c);
}

/* Keeps each product next to its addition: left alone, gcc 12 forms all products of a row first and spills them (docs/internals/ntt.md). */
#define FV_PIN(x) __asm__("" : "+v"(x))

/* a and b normal; a b / 2^261 + [0, r), normal. Below 2 r for a < 32 r and b < 1.1 r. Not inlined: 350 instructions that want all
 * registers, in a dozen places. */
static __attribute__((noinline)) void fv_mul(fv *r, const fv *a, const fv *b) {
  const __m512i mask = fv_set(FV_MASK), zero = _mm512_setzero_si512();
  __m512i t[9];
  for (int k = 0; k < 9; k++) t[k] = zero;
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 9
#endif
  for (int i = 0; i < 9; i++) {
    const __m512i bi = b->l[i];
    for (int k = 0; k < 9; k++) {
      t[k] = _mm512_add_epi64(t[k], _mm512_mul_epu32(a->l[k], bi));
      FV_PIN(t[k]);
    }
    /* r = 1 mod 2^29: the multiplier is -t[0], and t[0] plus it is t[0] rounded up to a multiple of 2^29. */
    const __m512i m = _mm512_and_si512(_mm512_sub_epi64(zero, t[0]), mask);
    const __m512i carry = _mm512_srli_epi64(_mm512_add_epi64(t[0], mask), 29);
    for (int k = 1; k < 9; k++) {
      t[k - 1] = _mm512_add_epi64(t[k], _mm512_mul_epu32(m, fv_set(fv_modulus[k])));
      FV_PIN(t[k - 1]);
    }
    t[0] = _mm512_add_epi64(t[0], carry);
    t[8] = zero;
  }
  __m512i c = zero;
  for (int k = 0; k < 8; k++) {
    const __m512i s = _mm512_add_epi64(t[k], c);
    r->l[k] = _mm512_and_si512(s, mask);
    c = _mm512_srli_epi64(s, 29);
  }
  r->l[8] = c; /* the last row's shift left t[8] empty */
}

static inline void fv_add(fv *r, const fv *a, const fv *b) {
  for (int k = 0; k < 9; k++) r->l[k] = _mm512_add_epi64(a->l[k], b->l[k]);
}

/* a - b + bound, where bound is a multiple of r not below b. */
static inline void fv_sub_bound(fv *r, const fv *a, const fv *b, const uint64_t bound[9]) {
  for (int k = 0; k < 9; k++)
    r->l[k] = _mm512_add_epi64(_mm512_sub_epi64(a->l[k], b->l[k]), fv_set(bound[k]));
}

/* Any value below 32 r, loose, to the same residue below 1.001 r, normal. */
static inline void fv_reduce(fv *r, const fv *a) {
  fv t;
  fv_norm(&t, a);
  /* floor(a / r), or one less when a / r is within 2^-22 above an integer */
  const __m512i q = _mm512_srli_epi64(_mm512_mul_epu32(t.l[8], fv_set(FV_QUOTIENT)), 54);
  for (int k = 0; k < 9; k++) t.l[k] = _mm512_sub_epi64(t.l[k], _mm512_mul_epu32(q, fv_set(fv_modulus[k])));
  fv_norm(r, &t);
}

/* Any value below 2 r, normal, to the least one of its residue. */
static inline void fv_reduce_once(fv *r, const fv *a) {
  const __m512i mask = fv_set(FV_MASK);
  fv t;
  __m512i c = _mm512_setzero_si512();
  for (int k = 0; k < 9; k++) {
    const __m512i s = _mm512_add_epi64(_mm512_sub_epi64(a->l[k], fv_set(fv_modulus[k])), c);
    c = _mm512_srai_epi64(s, 29);
    t.l[k] = k < 8 ? _mm512_and_si512(s, mask) : s;
  }
  const __mmask8 keep = _mm512_movepi64_mask(t.l[8]);
  for (int k = 0; k < 9; k++) r->l[k] = _mm512_mask_mov_epi64(t.l[k], keep, a->l[k]);
}

/* Four words of 64 bits a lane to limbs and back. */
static inline void fv_split(fv *r, const __m512i w[4]) {
  const __m512i mask = fv_set(FV_MASK);
#define FV_ONE(w0, s) _mm512_and_si512(_mm512_srli_epi64(w0, s), mask)
#define FV_TWO(w0, s, w1) _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(w0, s), _mm512_slli_epi64(w1, 64 - (s))), mask)
  r->l[0] = _mm512_and_si512(w[0], mask);
  r->l[1] = FV_ONE(w[0], 29);
  r->l[2] = FV_TWO(w[0], 58, w[1]);
  r->l[3] = FV_ONE(w[1], 23);
  r->l[4] = FV_TWO(w[1], 52, w[2]);
  r->l[5] = FV_ONE(w[2], 17);
  r->l[6] = FV_TWO(w[2], 46, w[3]);
  r->l[7] = FV_ONE(w[3], 11);
  r->l[8] = _mm512_srli_epi64(w[3], 40);
#undef FV_ONE
#undef FV_TWO
}

static inline __m512i fv_or3(__m512i a, __m512i b, __m512i c) { return _mm512_ternarylogic_epi64(a, b, c, 0xfe); }

static inline void fv_join(__m512i w[4], const fv *a) {
  w[0] = fv_or3(a->l[0], _mm512_slli_epi64(a->l[1], 29), _mm512_slli_epi64(a->l[2], 58));
  w[1] = fv_or3(_mm512_srli_epi64(a->l[2], 6), _mm512_slli_epi64(a->l[3], 23), _mm512_slli_epi64(a->l[4], 52));
  w[2] = fv_or3(_mm512_srli_epi64(a->l[4], 12), _mm512_slli_epi64(a->l[5], 17), _mm512_slli_epi64(a->l[6], 46));
  w[3] = fv_or3(_mm512_srli_epi64(a->l[6], 18), _mm512_slli_epi64(a->l[7], 11), _mm512_slli_epi64(a->l[8], 40));
}

static inline void fv_const_split(fv_const *r, const uint64_t w[4]) {
  for (int k = 0; k < 9; k++) {
    const int bit = 29 * k, i = bit / 64, s = bit % 64;
    uint64_t x = w[i] >> s;
    if (s > 64 - 29 && i < 3) x |= w[i + 1] << (64 - s);
    r->l[k] = x & FV_MASK;
  }
}

#include "ff/vec/frv_avx512_mem.h"
#endif
