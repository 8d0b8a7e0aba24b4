/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Eight elements of Fp side by side in AVX-512 registers; included once per source file, never linked.
 *
 *  Define FPV_IFMA before inclusion for 8 limbs of 52 bits (AVX-512 IFMA); without it 14 limbs of 28 bits are used (AVX-512 F, DQ).
 *  Limb i of all eight lanes is the vector l[i]; both shapes put 364 bits below the top limb, which has 17 bits of p.
 *
 *  Montgomery products divide by R' = 2^416 or 2^392. There is so much room above p that no product subtracts p at its end:
 *    loose   limbs in [0, 2^BITS), value in [0, 1.03 p). Everything stored in memory is loose.
 *    wide    limbs in [0, 2^BITS), value below 6 p. Operands of products: the values' product must stay below 70 p^2, a sum of
 *            two products in total; then the result is loose (70 p^2 / R' < 0.028 p).
 *    raw     limbs any signed 64-bit numbers far from overflow, value between the bounds that the function states.
 *  docs/internals/msm.md derives the bounds. Zero as the all-zero vector is kept exactly by products. */
#ifndef CUZK_FF_VEC_FPV_TMPL_H
#define CUZK_FF_VEC_FPV_TMPL_H
#include <immintrin.h>
#include <stdint.h>

#include "ff/fp.h"

#ifdef FPV_IFMA
#define FPV_N 8
#define FPV_BITS 52
#define FPV_INV 0x3fffcfffcfffdu /* -1/p mod 2^52 */
static const int64_t fpv_p[FPV_N] = {0xeffffffffaaab, 0xfeb153ffffb9f, 0x6b0f6241eabff, 0x12bf6730d2a0f,
                                     0x764774b84f385, 0x1ba7b6434bacd, 0x1ea397fe69a4b, 0x1a011};
/* x is stored as 2^384 x (as cuzk_fp), y as 2^368 y: see batch_vec_tmpl.h. 2^400 takes y there, 2^432 back. */
static const int64_t fpv_y_in[FPV_N] = {0x50003480e6299, 0xb2699eb128563, 0x6697c988670de, 0xfe970983e84ef,
                                        0x1e3e8a053a4e6, 0x5c20d323ecf27, 0x47f12866eb638, 0x156da};
static const int64_t fpv_y_out[FPV_N] = {0xca8e9fde36676, 0xec2e0c7cea48a, 0xba1f6b37f3e81, 0xcfd26547e4c7f,
                                         0x4d4221fc8e41c, 0x3db64c9a162, 0xac25996deeb0a, 0x7173};
/* 2^448: turns the cuzk_fp inverse of the number v into 2^832 / v. */
static const cuzk_fp fpv_inv_scale = {{0x42b7fde37dba9366u, 0x7784894e27525bc3u, 0xb2b91b9dc1f5b1e9u, 0x206f497dfcafb872u,
                                       0x594137cc89a9b0bbu, 0x0411cd9d20d7e399u}};
#else
#define FPV_N 14
#define FPV_BITS 28
#define FPV_INV 0xffcfffdu /* -1/p mod 2^28 */
static const int64_t fpv_p[FPV_N] = {0xfffaaab, 0xfefffff, 0x3ffffb9, 0xfffeb15, 0x6241eab, 0xa0f6b0f, 0xf6730d2,
                                     0xf38512b, 0x4774b84, 0x4bacd76, 0xba7b643, 0xe69a4b1, 0x1ea397f, 0x1a011};
/* y is stored as 2^380 y: 2^388 takes it there, 2^396 back. */
static const int64_t fpv_y_in[FPV_N] = {0x0345521, 0x9d00000, 0xc002aee, 0x00cd3f7, 0xbd93084, 0x48b5790, 0xdb70ed3,
                                        0xa763809, 0x2d6af76, 0x96ffe76, 0xa2538ba, 0x935ff00, 0x35abc8f, 0x0d580};
static const int64_t fpv_y_out[FPV_N] = {0x480cb7f, 0x8300003, 0x42b126f, 0xcdeabe0, 0x4b4d1fc, 0x573c7de, 0x540d780,
                                         0xc66805c, 0xda3d19e, 0x46752a6, 0xe667627, 0x5efb9af, 0xfe12320, 0x09772};
/* 2^400: turns the cuzk_fp inverse of the number v into 2^784 / v. */
static const cuzk_fp fpv_inv_scale = {{0x56350003480e6299u, 0x8670deb2699eb128u, 0x0983e84ef6697c98u, 0xe3e8a053a4e6fe97u,
                                       0x385c20d323ecf271u, 0x156da47f12866eb6u}};
#endif
#define FPV_MASK ((INT64_C(1) << FPV_BITS) - 1)
#define FPV_INLINE static inline __attribute__((always_inline, unused))
#define FPV_UNROLL _Pragma("GCC unroll 16")

typedef struct {
  __m512i l[FPV_N];
} fpv;

FPV_INLINE __m512i fpv_bcast(int64_t v) { return _mm512_set1_epi64(v); }

FPV_INLINE fpv fpv_const(const int64_t *c) {
  fpv r;
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) r.l[i] = fpv_bcast(c[i]);
  return r;
}

FPV_INLINE fpv fpv_small(int64_t v) {
  fpv r;
  r.l[0] = fpv_bcast(v);
  FPV_UNROLL
  for (int i = 1; i < FPV_N; i++) r.l[i] = _mm512_setzero_si512();
  return r;
}

/* Limbs into [0, 2^BITS), the top one keeps what is left. raw, value >= 0 for a nonnegative top limb. */
FPV_INLINE fpv fpv_carry(fpv v) {
  const __m512i mask = fpv_bcast(FPV_MASK);
  FPV_UNROLL
  for (int i = 0; i + 1 < FPV_N; i++) {
    v.l[i + 1] = _mm512_add_epi64(v.l[i + 1], _mm512_srai_epi64(v.l[i], FPV_BITS));
    v.l[i] = _mm512_and_si512(v.l[i], mask);
  }
  return v;
}

/* Raw value in (-2.9 p, 4 p) to loose: adds (3 - q) p with q from the top limb, which the lower limbs can move by two at most;
 * q never exceeds the true quotient, so the result is not negative, and stays below p (1 + 10^-3). */
FPV_INLINE fpv fpv_reduce(fpv v) {
  const __m512i t = _mm512_add_epi64(_mm512_add_epi64(v.l[FPV_N - 1], _mm512_srai_epi64(v.l[FPV_N - 2], FPV_BITS)),
                                     fpv_bcast(3 * 0x1a011 - 3));
  const __m512i q = _mm512_srli_epi64(_mm512_mul_epu32(t, fpv_bcast(40323)), 32); /* 40323 = 2^32 / (p / 2^364 + 1) */
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    const int64_t p = fpv_p[i];
    const __m512i multiples = _mm512_setr_epi64(3 * p, 2 * p, p, 0, -p, -2 * p, -3 * p, -4 * p);
    v.l[i] = _mm512_add_epi64(v.l[i], _mm512_permutexvar_epi64(q, multiples));
  }
  return fpv_carry(v);
}

FPV_INLINE fpv fpv_raw_add(fpv a, fpv b) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_add_epi64(a.l[i], b.l[i]);
  return a;
}

FPV_INLINE fpv fpv_raw_sub(fpv a, fpv b) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_sub_epi64(a.l[i], b.l[i]);
  return a;
}

/* Negates the lanes of m. */
FPV_INLINE fpv fpv_raw_neg(fpv a, __mmask8 m) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_mask_sub_epi64(a.l[i], m, _mm512_setzero_si512(), a.l[i]);
  return a;
}

/* Raw plus k p, carried: wide if the value is then in [0, 6 p). */
FPV_INLINE fpv fpv_wide(fpv a, int64_t k) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_add_epi64(a.l[i], fpv_bcast(k * fpv_p[i]));
  return fpv_carry(a);
}

FPV_INLINE fpv fpv_blend(__mmask8 m, fpv a, fpv b) { /* lanes of m from b */
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_mask_mov_epi64(a.l[i], m, b.l[i]);
  return a;
}

/* Lanes whose limbs are all zero. */
FPV_INLINE __mmask8 fpv_all_zero(fpv a) {
  __m512i t = a.l[0];
  FPV_UNROLL
  for (int i = 1; i < FPV_N; i++) t = _mm512_or_si512(t, a.l[i]);
  return _mm512_testn_epi64_mask(t, t);
}

FPV_INLINE __mmask8 fpv_low_is(fpv a, int64_t v) { return _mm512_cmpeq_epi64_mask(a.l[0], fpv_bcast(v & FPV_MASK)); }

#ifdef FPV_IFMA
typedef struct {
  __m512i l[2 * FPV_N];
} fpv_acc;

FPV_INLINE fpv_acc fpv_acc_zero(void) {
  fpv_acc c;
  FPV_UNROLL
  for (int i = 0; i < 2 * FPV_N; i++) c.l[i] = _mm512_setzero_si512();
  return c;
}

FPV_INLINE fpv_acc fpv_acc_mul(fpv_acc c, fpv a, fpv b) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    FPV_UNROLL
    for (int j = 0; j < FPV_N; j++) {
      c.l[i + j] = _mm512_madd52lo_epu64(c.l[i + j], a.l[j], b.l[i]);
      c.l[i + j + 1] = _mm512_madd52hi_epu64(c.l[i + j + 1], a.l[j], b.l[i]);
    }
  }
  return c;
}

/* Products of distinct limbs once, doubled, then the squares. */
FPV_INLINE fpv_acc fpv_acc_sqr(fpv a) {
  fpv_acc c = fpv_acc_zero();
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    FPV_UNROLL
    for (int j = i + 1; j < FPV_N; j++) {
      c.l[i + j] = _mm512_madd52lo_epu64(c.l[i + j], a.l[j], a.l[i]);
      c.l[i + j + 1] = _mm512_madd52hi_epu64(c.l[i + j + 1], a.l[j], a.l[i]);
    }
  }
  FPV_UNROLL
  for (int i = 1; i < 2 * FPV_N; i++) c.l[i] = _mm512_add_epi64(c.l[i], c.l[i]);
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    c.l[2 * i] = _mm512_madd52lo_epu64(c.l[2 * i], a.l[i], a.l[i]);
    c.l[2 * i + 1] = _mm512_madd52hi_epu64(c.l[2 * i + 1], a.l[i], a.l[i]);
  }
  return c;
}

FPV_INLINE fpv_acc fpv_acc_add(fpv_acc a, fpv_acc b) {
  FPV_UNROLL
  for (int i = 0; i < 2 * FPV_N; i++) a.l[i] = _mm512_add_epi64(a.l[i], b.l[i]);
  return a;
}

FPV_INLINE fpv fpv_redc(fpv_acc c) {
  const __m512i inv = fpv_bcast((int64_t)FPV_INV), zero = _mm512_setzero_si512();
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    const __m512i m = _mm512_madd52lo_epu64(zero, c.l[i], inv);
    FPV_UNROLL
    for (int j = 0; j < FPV_N; j++) {
      c.l[i + j] = _mm512_madd52lo_epu64(c.l[i + j], m, fpv_bcast(fpv_p[j]));
      c.l[i + j + 1] = _mm512_madd52hi_epu64(c.l[i + j + 1], m, fpv_bcast(fpv_p[j]));
    }
    c.l[i + 1] = _mm512_add_epi64(c.l[i + 1], _mm512_srli_epi64(c.l[i], FPV_BITS));
  }
  fpv r;
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) r.l[i] = c.l[FPV_N + i];
  return fpv_carry(r);
}

FPV_INLINE fpv fpv_mul(fpv a, fpv b) { return fpv_redc(fpv_acc_mul(fpv_acc_zero(), a, b)); }
FPV_INLINE fpv fpv_sqr(fpv a) { return fpv_redc(fpv_acc_sqr(a)); }
/* a b + c d */
FPV_INLINE fpv fpv_mul2(fpv a, fpv b, fpv c, fpv d) { return fpv_redc(fpv_acc_mul(fpv_acc_mul(fpv_acc_zero(), a, b), c, d)); }
/* a^2 + b^2 */
FPV_INLINE fpv fpv_sqr2(fpv a, fpv b) { return fpv_redc(fpv_acc_add(fpv_acc_sqr(a), fpv_acc_sqr(b))); }
#else
/* Row by row with the reduction interleaved: 14 accumulators, each a sum of at most 42 products of 56 bits. The functions are not
 * inlined: a product fills the registers by itself, and what compilers spill around it costs more than the call (3.9 against 2.8 s
 * of processor time for a sum of 2^20 points, gcc 12, Zen 5, November 2026). */
FPV_INLINE void fpv_row(fpv *t, const fpv *a, __m512i b) {
  FPV_UNROLL
  for (int j = 0; j < FPV_N; j++) t->l[j] = _mm512_add_epi64(t->l[j], _mm512_mul_epu32(a->l[j], b));
}

FPV_INLINE void fpv_row_reduce(fpv *t) {
  const __m512i m = _mm512_and_si512(_mm512_mul_epu32(t->l[0], fpv_bcast((int64_t)FPV_INV)), fpv_bcast(FPV_MASK));
  const __m512i low = _mm512_add_epi64(t->l[0], _mm512_mul_epu32(m, fpv_bcast(fpv_p[0])));
  FPV_UNROLL
  for (int j = 1; j < FPV_N; j++) t->l[j - 1] = _mm512_add_epi64(t->l[j], _mm512_mul_epu32(m, fpv_bcast(fpv_p[j])));
  t->l[0] = _mm512_add_epi64(t->l[0], _mm512_srli_epi64(low, FPV_BITS));
  t->l[FPV_N - 1] = _mm512_setzero_si512();
}

static __attribute__((noinline, unused)) void fpv_mul_to(fpv *r, const fpv *a, const fpv *b) {
  fpv t = fpv_small(0);
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    fpv_row(&t, a, b->l[i]);
    fpv_row_reduce(&t);
  }
  *r = fpv_carry(t);
}

static __attribute__((noinline, unused)) void fpv_mul2_to(fpv *r, const fpv *a, const fpv *b, const fpv *c, const fpv *d) {
  fpv t = fpv_small(0);
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    fpv_row(&t, a, b->l[i]);
    fpv_row(&t, c, d->l[i]);
    fpv_row_reduce(&t);
  }
  *r = fpv_carry(t);
}

FPV_INLINE fpv fpv_mul(fpv a, fpv b) {
  fpv r;
  fpv_mul_to(&r, &a, &b);
  return r;
}
FPV_INLINE fpv fpv_sqr(fpv a) { return fpv_mul(a, a); }
FPV_INLINE fpv fpv_mul2(fpv a, fpv b, fpv c, fpv d) {
  fpv r;
  fpv_mul2_to(&r, &a, &b, &c, &d);
  return r;
}
FPV_INLINE fpv fpv_sqr2(fpv a, fpv b) { return fpv_mul2(a, a, b, b); }
#endif

/* Loose to canonical: the value below p. */
FPV_INLINE fpv fpv_canon(fpv a) {
  const fpv d = fpv_wide(a, -1);
  return fpv_blend(_mm512_cmplt_epi64_mask(d.l[FPV_N - 1], _mm512_setzero_si512()), d, a);
}

FPV_INLINE void fpv_transpose(__m512i r[8]) {
  __m512i t[8];
  FPV_UNROLL
  for (int i = 0; i < 4; i++) {
    t[2 * i] = _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1]);
  }
  FPV_UNROLL
  for (int i = 0; i < 2; i++) {
    const __m512i a = _mm512_shuffle_i64x2(t[i], t[i + 2], 0x88), b = _mm512_shuffle_i64x2(t[i + 4], t[i + 6], 0x88);
    const __m512i c = _mm512_shuffle_i64x2(t[i], t[i + 2], 0xdd), d = _mm512_shuffle_i64x2(t[i + 4], t[i + 6], 0xdd);
    r[i] = _mm512_shuffle_i64x2(a, b, 0x88);
    r[i + 4] = _mm512_shuffle_i64x2(a, b, 0xdd);
    r[i + 2] = _mm512_shuffle_i64x2(c, d, 0x88);
    r[i + 6] = _mm512_shuffle_i64x2(c, d, 0xdd);
  }
}

/* Elements in memory are eight 64-bit words, 64-byte aligned: one limb a word, or two of 28 bits (low, high half). */
FPV_INLINE fpv fpv_load(const uint64_t *const at[8]) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_load_si512(at[i]);
  fpv_transpose(r);
  fpv v;
#ifdef FPV_IFMA
  FPV_UNROLL
  for (int i = 0; i < 8; i++) v.l[i] = r[i];
#else
  FPV_UNROLL
  for (int i = 0; i < 7; i++) {
    v.l[2 * i] = _mm512_and_si512(r[i], fpv_bcast(0xffffffff));
    v.l[2 * i + 1] = _mm512_srli_epi64(r[i], 32);
  }
#endif
  return v;
}

FPV_INLINE void fpv_store(uint64_t *const at[8], fpv v) {
  __m512i r[8];
#ifdef FPV_IFMA
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = v.l[i];
#else
  FPV_UNROLL
  for (int i = 0; i < 7; i++) r[i] = _mm512_or_si512(v.l[2 * i], _mm512_slli_epi64(v.l[2 * i + 1], 32));
  r[7] = _mm512_setzero_si512();
#endif
  fpv_transpose(r);
  FPV_UNROLL
  for (int i = 0; i < 8; i++) _mm512_store_si512(at[i], r[i]);
}

/* Eight elements as cuzk_fp (six words of 64 bits, any alignment) to limbs: the same number. */
FPV_INLINE fpv fpv_load_fp(const cuzk_fp *const at[8]) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_maskz_loadu_epi64(0x3f, at[i]->l);
  fpv_transpose(r);
  fpv v;
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    const int bit = FPV_BITS * i, j = bit / 64, s = bit % 64;
    __m512i t = _mm512_srli_epi64(r[j], (unsigned)s);
    if (s + FPV_BITS > 64 && j + 1 < 6) t = _mm512_or_si512(t, _mm512_slli_epi64(r[j + 1], (unsigned)(64 - s)));
    v.l[i] = _mm512_and_si512(t, fpv_bcast(FPV_MASK));
  }
  return v;
}

/* Canonical limbs to cuzk_fp. */
FPV_INLINE void fpv_store_fp(cuzk_fp *const at[8], fpv v) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_setzero_si512();
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) {
    const int bit = FPV_BITS * i, j = bit / 64, s = bit % 64;
    r[j] = _mm512_or_si512(r[j], _mm512_slli_epi64(v.l[i], (unsigned)s));
    if (s + FPV_BITS > 64 && j + 1 < 6) r[j + 1] = _mm512_or_si512(r[j + 1], _mm512_srli_epi64(v.l[i], (unsigned)(64 - s)));
  }
  fpv_transpose(r);
  FPV_UNROLL
  for (int i = 0; i < 8; i++) _mm512_mask_storeu_epi64(at[i]->l, 0x3f, r[i]);
}
#endif
