/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Loads and stores of fv, common to the two AVX-512 forms: transposing between elements in memory (four words each, one after the
 *  other) and words side by side. Included by frv_ifma.h and frv_avx512.h only.
 *
 *  Lane order: fv_load_adjacent puts element e into lane position 0 2 1 3 4 6 5 7 of e, which costs four shuffles less than the
 *  plain order. Nothing but the loads and stores here depends on it, and these agree. */
#ifndef CUZK_FF_VEC_FRV_AVX512_MEM_H
#define CUZK_FF_VEC_FRV_AVX512_MEM_H

/* 8 elements from p; values up to 2^256 - 1 are accepted. */
static inline void fv_load_adjacent(fv *r, const cuzk_fr *p) {
  const __m512i z0 = _mm512_loadu_si512(p), z1 = _mm512_loadu_si512(p + 2), z2 = _mm512_loadu_si512(p + 4),
                z3 = _mm512_loadu_si512(p + 6);
  const __m512i lo01 = _mm512_unpacklo_epi64(z0, z1), hi01 = _mm512_unpackhi_epi64(z0, z1);
  const __m512i lo23 = _mm512_unpacklo_epi64(z2, z3), hi23 = _mm512_unpackhi_epi64(z2, z3);
  const __m512i w[4] = {_mm512_shuffle_i64x2(lo01, lo23, 0x88), _mm512_shuffle_i64x2(hi01, hi23, 0x88),
                        _mm512_shuffle_i64x2(lo01, lo23, 0xdd), _mm512_shuffle_i64x2(hi01, hi23, 0xdd)};
  fv_split(r, w);
}

/* 8 elements to p; a normal and below 2^256. */
static inline void fv_store_adjacent(cuzk_fr *p, const fv *a) {
  __m512i w[4];
  fv_join(w, a);
  const __m512i lo = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), hi = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __m512i s0 = _mm512_unpacklo_epi64(w[0], w[1]), s1 = _mm512_unpackhi_epi64(w[0], w[1]);
  const __m512i s2 = _mm512_unpacklo_epi64(w[2], w[3]), s3 = _mm512_unpackhi_epi64(w[2], w[3]);
  _mm512_storeu_si512(p, _mm512_permutex2var_epi64(s0, lo, s2));
  _mm512_storeu_si512(p + 2, _mm512_permutex2var_epi64(s1, lo, s3));
  _mm512_storeu_si512(p + 4, _mm512_permutex2var_epi64(s0, hi, s2));
  _mm512_storeu_si512(p + 6, _mm512_permutex2var_epi64(s1, hi, s3));
}

/* r[i][j] to r[j][i]. */
static inline void fv_transpose(__m512i r[8]) {
  __m512i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi64(r[i], r[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi64(r[i], r[i + 1]);
  }
  for (int h = 0; h < 8; h += 4) {
    for (int j = 0; j < 2; j++) {
      b[h + j] = _mm512_shuffle_i64x2(a[h + j], a[h + 2 + j], 0x88);     /* words j, j + 4 */
      b[h + 2 + j] = _mm512_shuffle_i64x2(a[h + j], a[h + 2 + j], 0xdd); /* words j + 2, j + 6 */
    }
  }
  for (int j = 0; j < 4; j++) {
    r[j] = _mm512_shuffle_i64x2(b[j], b[4 + j], 0x88);
    r[4 + j] = _mm512_shuffle_i64x2(b[j], b[4 + j], 0xdd);
  }
}

/* Lane of row i in the order above. */
#define FV_ROW_AT(i) ((const unsigned char[8]){0, 2, 1, 3, 4, 6, 5, 7}[i])

/* Elements i and i + 1 of each of the 8 rows to r[0] and r[1], the lane of row k being that of element k in fv_load_adjacent. */
static inline void fv_load_rows(fv r[2], const cuzk_fr *const row[8], size_t i) {
  __m512i t[8];
  for (int k = 0; k < 8; k++) t[k] = _mm512_loadu_si512(row[FV_ROW_AT(k)] + i);
  fv_transpose(t);
  fv_split(&r[0], t);
  fv_split(&r[1], t + 4);
}

static inline void fv_store_rows(cuzk_fr *const row[8], size_t i, const fv a[2]) {
  __m512i t[8];
  fv_join(t, &a[0]);
  fv_join(t + 4, &a[1]);
  fv_transpose(t);
  for (int k = 0; k < 8; k++) _mm512_storeu_si512(row[FV_ROW_AT(k)] + i, t[k]);
}
#endif
