/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fpv_tmpl.h with AVX-512 IFMA; included by it, never alone. Limb i of all eight lanes is the vector l[i], the top one has 17 bits of
 * p. Operands and the form in memory are the same.
 *
 * Montgomery products divide by R' = 2^416, R'/p = 2^35. There is so much room above p that no product subtracts p at its end:
 *   loose   limbs in [0, 2^52), value in [0, 1.03 p).
 *   wide    limbs in [0, 2^52), value below 6 p.
 *   raw     limbs any signed 64-bit numbers far from overflow, value between the bounds that the function states. */
#define FPV_N 8
#define FPV_BITS 52
#define FPV_R_BITS 416
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
#define FPV_MASK ((INT64_C(1) << FPV_BITS) - 1)

typedef struct {
  __m512i l[FPV_N];
} fpv;
typedef fpv fpw;

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
FPV_INLINE fpw fpw_reduce(fpw v) {
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

FPV_INLINE fpw fpw_add(fpw a, fpw b) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_add_epi64(a.l[i], b.l[i]);
  return a;
}

FPV_INLINE fpw fpw_sub(fpw a, fpw b) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_sub_epi64(a.l[i], b.l[i]);
  return a;
}

/* Negates the lanes of m. */
FPV_INLINE fpw fpw_neg(fpw a, __mmask8 m) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_mask_sub_epi64(a.l[i], m, _mm512_setzero_si512(), a.l[i]);
  return a;
}

/* Raw plus k p, carried: wide if the value is then in [0, 6 p). */
FPV_INLINE fpv fpv_wide(fpw a, int64_t k) {
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
FPV_INLINE __mmask8 fpw_all_zero(fpw a) {
  __m512i t = a.l[0];
  FPV_UNROLL
  for (int i = 1; i < FPV_N; i++) t = _mm512_or_si512(t, a.l[i]);
  return _mm512_testn_epi64_mask(t, t);
}

FPV_INLINE __mmask8 fpv_low_is(fpv a, int64_t v) { return _mm512_cmpeq_epi64_mask(a.l[0], fpv_bcast(v & FPV_MASK)); }

FPV_INLINE fpw fpw_zero(void) { return fpv_small(0); }
FPV_INLINE fpw fpw_blend(__mmask8 m, fpw a, fpw b) { return fpv_blend(m, a, b); }
FPV_INLINE __mmask8 fpw_low_is_zero(fpw a) { return fpv_low_is(a, 0); }
FPV_INLINE fpv fpv_from_words(fpw a) { return a; }
FPV_INLINE fpw fpv_words(fpv a) { return a; }
FPV_INLINE fpv fpv_minus(fpv a) { return fpv_wide(fpw_neg(a, 0xff), 6); }
/* a, a difference of loose values plus 2 p: in (0.97 p, 3.03 p) */
FPV_INLINE __mmask8 fpv_diff_suspect(fpv a) {
  return fpv_low_is(a, fpv_p[0]) | fpv_low_is(a, 2 * fpv_p[0]) | fpv_low_is(a, 3 * fpv_p[0]);
}
FPV_INLINE __mmask8 fpv_loose_suspect(fpv a) { return fpv_low_is(a, 0) | fpv_low_is(a, fpv_p[0]); }

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
FPV_INLINE void fpv_mul_to(fpv *r, const fpv *a, const fpv *b) { *r = fpv_mul(*a, *b); }
FPV_INLINE fpv fpv_sqr(fpv a) { return fpv_redc(fpv_acc_sqr(a)); }
/* a b + c d */
FPV_INLINE fpv fpv_mul2(fpv a, fpv b, fpv c, fpv d) { return fpv_redc(fpv_acc_mul(fpv_acc_mul(fpv_acc_zero(), a, b), c, d)); }
/* a^2 + b^2 */
FPV_INLINE fpv fpv_sqr2(fpv a, fpv b) { return fpv_redc(fpv_acc_add(fpv_acc_sqr(a), fpv_acc_sqr(b))); }

FPV_INLINE fpw fpw_load(const uint64_t *const at[8]) {
  fpw v;
  fpv_load_rows(v.l, at);
  return v;
}

FPV_INLINE void fpw_store(uint64_t *const at[8], fpw v) { fpv_store_rows(at, v.l); }

/* The number of one loose element in memory, below p. */
static inline void fpw_canonical(uint64_t out[6], const uint64_t w[8]) {
  uint64_t t[7] = {0};
  for (unsigned i = 0; i < FPV_N; i++) {
    const unsigned j = i * FPV_BITS / 64, b = i * FPV_BITS % 64;
    t[j] |= w[i] << b;
    if (b + FPV_BITS > 64) t[j + 1] |= w[i] >> (64 - b);
  }
  fpv_subtract_once(out, t);
}

/* Eight elements as cuzk_fp to words: the same number. */
FPV_INLINE fpw fpw_load_fp(const cuzk_fp *const at[8]) {
  fpw v;
  fpv_split(v.l, at, FPV_BITS);
  return v;
}

/* Loose to cuzk_fp, reduced. */
FPV_INLINE void fpw_store_fp(cuzk_fp *const at[8], fpw a) {
  const fpv d = fpv_wide(a, -1);
  fpv_join(at, fpv_blend(_mm512_cmplt_epi64_mask(d.l[FPV_N - 1], _mm512_setzero_si512()), d, a).l, FPV_BITS);
}
