/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Eight elements of Fp side by side in AVX-512 registers; included once per source file, never linked.
 *
 *  Define FPV_IFMA before inclusion for integers of 52 bits (AVX-512 IFMA, fpv_ifma_tmpl.h); without it limbs are doubles
 *  (AVX-512 F and DQ, fpv_fma_tmpl.h). Both give the same functions over two types:
 *    fpv   operands and results of products
 *    fpw   the form in memory, eight words an element, in which sums and differences are taken too
 *  and three kinds of values, whose exact bounds the two files state:
 *    loose   results of products and of fpw_reduce: about p in size. Everything stored in memory is loose.
 *    wide    operands of products, up to 6 p. The operands' product must stay below 70 p^2, for a sum of two products in total.
 *    raw     sums and differences of a few loose values, not carried.
 *  Products are Montgomery's, dividing by R'; they keep zero as a vector of zeros.
 *
 *    fpv_mul, fpv_sqr                 a b / R', a a / R'; wide to loose
 *    fpv_mul_to                       the same in memory, without copies; the result may be an operand
 *    fpv_mul2, fpv_sqr2               (a b + c d) / R', (a a + b b) / R'; wide to loose
 *    fpv_minus(a)                     -a for loose a or a wide one up to 5.1 p: wide
 *    fpv_wide(a, k)                   raw a to wide; k p is added where values cannot be negative: a + k p must be in [0, 6 p)
 *    fpv_from_words, fpv_words        loose from one type to the other
 *    fpw_add, fpw_sub, fpw_neg        raw; fpw_neg negates the lanes of a mask
 *    fpw_reduce                       raw in (-2.9 p, 4 p) to loose
 *    fpv_blend, fpw_blend             lanes of the mask from the second
 *    fpv_diff_suspect(fpv_wide(x1 - x2, 2)), fpv_loose_suspect   every lane that is zero modulo p, and few others
 *    fpw_low_is_zero, fpw_all_zero    lanes whose lowest word, or all of whose words, are zero
 *    fpw_load, fpw_store              eight elements in memory, each 64-byte aligned
 *    fpw_canonical                    one element in memory to its number below p
 *    fpw_load_fp, fpw_store_fp        eight cuzk_fp, the same numbers
 *
 *  docs/internals/msm.md derives the bounds. */
#ifndef CUZK_FF_VEC_FPV_TMPL_H
#define CUZK_FF_VEC_FPV_TMPL_H
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "ff/fp.h"

#define FPV_INLINE static inline __attribute__((always_inline, unused))
#define FPV_UNROLL _Pragma("GCC unroll 16")

FPV_INLINE __m512i fpv_bcast(int64_t v) { return _mm512_set1_epi64(v); }

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

/* Eight words at each place, to one vector a word and back. */
FPV_INLINE void fpv_load_rows(__m512i r[8], const uint64_t *const at[8]) {
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_load_si512(at[i]);
  fpv_transpose(r);
}

FPV_INLINE void fpv_store_rows(uint64_t *const at[8], const __m512i v[8]) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = v[i];
  fpv_transpose(r);
  FPV_UNROLL
  for (int i = 0; i < 8; i++) _mm512_store_si512(at[i], r[i]);
}

/* Eight elements as cuzk_fp (six words of 64 bits, any alignment) to eight words of `bits` bits, and back. */
FPV_INLINE void fpv_split(__m512i v[8], const cuzk_fp *const at[8], int bits) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_maskz_loadu_epi64(0x3f, at[i]->l);
  fpv_transpose(r);
  FPV_UNROLL
  for (int i = 0; i < 8; i++) {
    const int bit = bits * i, j = bit / 64, s = bit % 64;
    __m512i t = _mm512_srli_epi64(r[j], (unsigned)s);
    if (s + bits > 64 && j + 1 < 6) t = _mm512_or_si512(t, _mm512_slli_epi64(r[j + 1], (unsigned)(64 - s)));
    v[i] = _mm512_and_si512(t, fpv_bcast((INT64_C(1) << bits) - 1));
  }
}

FPV_INLINE void fpv_join(cuzk_fp *const at[8], const __m512i v[8], int bits) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_setzero_si512();
  FPV_UNROLL
  for (int i = 0; i < 8; i++) {
    const int bit = bits * i, j = bit / 64, s = bit % 64;
    r[j] = _mm512_or_si512(r[j], _mm512_slli_epi64(v[i], (unsigned)s));
    if (s + bits > 64 && j + 1 < 6) r[j + 1] = _mm512_or_si512(r[j + 1], _mm512_srli_epi64(v[i], (unsigned)(64 - s)));
  }
  fpv_transpose(r);
  FPV_UNROLL
  for (int i = 0; i < 8; i++) _mm512_mask_storeu_epi64(at[i]->l, 0x3f, r[i]);
}

/* out = t or t - p, the one in [0, p); t below 2 p. */
static inline void fpv_subtract_once(uint64_t out[6], const uint64_t t[6]) {
  uint64_t s[6], borrow = 0;
  for (int i = 0; i < 6; i++) {
    const uint64_t d = t[i] - cuzk_fp_modulus[i], e = d - borrow;
    borrow = (t[i] < cuzk_fp_modulus[i]) | (d < borrow);
    s[i] = e;
  }
  memcpy(out, borrow ? t : s, 48);
}

#ifdef FPV_IFMA
#include "ff/vec/fpv_ifma_tmpl.h"
#else
#include "ff/vec/fpv_fma_tmpl.h"
#endif
#endif
