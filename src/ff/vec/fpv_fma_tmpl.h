/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fpv_tmpl.h with fused multiplications and additions of doubles; included by it, never alone.
 *
 * An operand has 16 signed limbs of 25 bits, limb i of all eight lanes in l[i], kept as doubles with integer values; a word in memory
 * is a double too, two limbs: w[i] = l[2i] + 2^25 l[2i+1]. A fused operation adds a product of two limbs to a sum without an error as
 * long as the sum stays within 2^53, so a limb product is one instruction, where integers without IFMA take two for 28 bits.
 * Everything is exact: the only roundings are fpv_round's and the quotient's of fpw_reduce, which name their direction, so the
 * caller's rounding mode does not matter.
 *
 * Montgomery products divide by R' = 2^400, R'/p = 2^19.3.
 *   loose   limbs at most 2^24 + 16 in size, words 2^49 + 2^30; value within +-0.51 p.
 *   wide    limbs at most 2^24 + 16, value within +-6 p.
 *   raw     words at most 2^52 in size, value within +-4 p.
 * Zero is all zeros, of either sign. */
#define FPV_N 16
#define FPV_BITS 25
#define FPV_R_BITS 400
static const double fpv_p[FPV_N] = {-21845,   -8388608, -4480,    -2741632, -1392640, -7884511, -11893797, -8466846,
                                    15959315, 3909058,  15414745, 16173161, -5983814, -3408075, 280489,    52};
static const double fpv_p_words[8] = {-281474976732501, -91993904517504, -264560289595392, -284100220255269,
                                      131166236804371,  542681246414297, -114356026822214, 1745110953};
/* With k = -196611 = -1/p mod 2^25 (the one of least size): q = (k p + 1) / 2^25, 15 limbs. */
#define FPV_K (-196611.0)
static const double fpv_q[FPV_N - 1] = {-8388480, 8451201,  16613530, 4193984,  396413,   9447654,  6202645,  -1232238,
                                        369009,   -5044996, -2144781, -1935196, 16616279, 16283398, -10225416};
/* y is stored as 2^376 y: 2^392 takes it there, 2^408 back. */
static const int64_t fpv_y_in[FPV_N] = {-12059464, 2,        11290230, -3300352, -13762354, 4744081,  8261256,  -4165939,
                                        14290804,  14175649, 10874562, 12268002, 13270097,  -1585143, -2188952, 11};
static const int64_t fpv_y_out[FPV_N] = {11070991, -8281081,  2357749,  -5321051, 9546552,  -15874551, 13708375,  9366869,
                                         3166243,  -14251384, 12523271, 16600754, 13059417, -15721176, -16061419, -2};
/* 2^416: turns the cuzk_fp inverse of the number v into 2^800 / v. */
static const cuzk_fp fpv_inv_scale = {{0x44f6480ea8e9b9afu, 0xa96f7d65766c8fe4u, 0xe82efd4228b540feu, 0x6723e5f0ade53b2eu,
                                       0x25ff6eb6fdd4230au, 0x14c8ee06ef23c24au}};

typedef struct {
  __m512d l[FPV_N];
} fpv;
typedef struct {
  __m512d w[8];
} fpw;

FPV_INLINE __m512d fpv_set(double v) { return _mm512_set1_pd(v); }

#define FPV_NEAREST (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* The multiple of 2^bits nearest to t, below 2^(bits + 51) in size: t minus it is at most 2^(bits - 1). bits is constant. */
FPV_INLINE __m512d fpv_round(__m512d t, int bits) {
  const __m512d big = fpv_set(0x1.8p52 * (double)(INT64_C(1) << bits));
  return _mm512_sub_pd(_mm512_add_round_pd(t, big, FPV_NEAREST), big);
}

/* t[0] to its lowest limb, the rest of it to t[1]. */
FPV_INLINE void fpv_carry_step(__m512d *t) {
  const __m512d c = fpv_round(t[0], FPV_BITS);
  t[0] = _mm512_sub_pd(t[0], c);
  t[1] = _mm512_fmadd_pd(c, fpv_set(0x1p-25), t[1]);
}

FPV_INLINE fpv fpv_const(const int64_t *c) {
  fpv r;
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) r.l[i] = fpv_set((double)c[i]);
  return r;
}

FPV_INLINE fpv fpv_small(int v) {
  fpv r;
  r.l[0] = fpv_set(v);
  FPV_UNROLL
  for (int i = 1; i < FPV_N; i++) r.l[i] = _mm512_setzero_pd();
  return r;
}

FPV_INLINE fpw fpw_zero(void) {
  fpw r;
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r.w[i] = _mm512_setzero_pd();
  return r;
}

FPV_INLINE fpw fpw_add(fpw a, fpw b) {
  FPV_UNROLL
  for (int i = 0; i < 8; i++) a.w[i] = _mm512_add_pd(a.w[i], b.w[i]);
  return a;
}

FPV_INLINE fpw fpw_sub(fpw a, fpw b) {
  FPV_UNROLL
  for (int i = 0; i < 8; i++) a.w[i] = _mm512_sub_pd(a.w[i], b.w[i]);
  return a;
}

FPV_INLINE fpw fpw_neg(fpw a, __mmask8 m) {
  FPV_UNROLL
  for (int i = 0; i < 8; i++) a.w[i] = _mm512_mask_sub_pd(a.w[i], m, _mm512_setzero_pd(), a.w[i]);
  return a;
}

FPV_INLINE fpw fpw_blend(__mmask8 m, fpw a, fpw b) {
  FPV_UNROLL
  for (int i = 0; i < 8; i++) a.w[i] = _mm512_mask_mov_pd(a.w[i], m, b.w[i]);
  return a;
}

FPV_INLINE fpv fpv_blend(__mmask8 m, fpv a, fpv b) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_mask_mov_pd(a.l[i], m, b.l[i]);
  return a;
}

FPV_INLINE fpv fpv_minus(fpv a) {
  FPV_UNROLL
  for (int i = 0; i < FPV_N; i++) a.l[i] = _mm512_sub_pd(_mm512_setzero_pd(), a.l[i]);
  return a;
}

/* The multiple of p is taken from the top word, p's being 2^30.7: the words below move it by less than 2^3, so what is left is at
 * most 0.5 p and 2^-27 p. It may have words of 2^52; carries of 2^3 go one word up, all at once. */
FPV_INLINE fpw fpw_reduce(fpw a) {
  const __m512d big = fpv_set(0x1.8p52);
  const __m512d q = _mm512_sub_pd(_mm512_fmadd_round_pd(a.w[7], fpv_set(0x1.3b06ba5e7993dp-31), big, FPV_NEAREST), big);
  FPV_UNROLL
  for (int i = 0; i < 8; i++) a.w[i] = _mm512_fnmadd_pd(q, fpv_set(fpv_p_words[i]), a.w[i]);
  fpw r;
  __m512d c = _mm512_setzero_pd();
  FPV_UNROLL
  for (int i = 0; i < 7; i++) {
    const __m512d next = fpv_round(a.w[i], 50);
    r.w[i] = _mm512_fmadd_pd(c, fpv_set(0x1p-50), _mm512_sub_pd(a.w[i], next));
    c = next;
  }
  r.w[7] = _mm512_fmadd_pd(c, fpv_set(0x1p-50), a.w[7]);
  return r;
}

/* Each word into three parts: its lower limb, its upper one, and what goes to the next word, at most 2^3. */
FPV_INLINE fpv fpv_wide(fpw a, int k) {
  (void)k;
  fpv r;
  __m512d carry = _mm512_setzero_pd();
  FPV_UNROLL
  for (int i = 0; i < 8; i++) {
    const __m512d high = fpv_round(a.w[i], FPV_BITS), upper = _mm512_mul_pd(high, fpv_set(0x1p-25));
    r.l[2 * i] = _mm512_fmadd_pd(carry, fpv_set(0x1p-25), _mm512_sub_pd(a.w[i], high));
    if (i < 7) {
      carry = fpv_round(upper, FPV_BITS);
      r.l[2 * i + 1] = _mm512_sub_pd(upper, carry);
    } else {
      r.l[2 * i + 1] = upper;
    }
  }
  return r;
}

FPV_INLINE fpv fpv_from_words(fpw a) {
  fpv r;
  FPV_UNROLL
  for (int i = 0; i < 8; i++) {
    const __m512d high = fpv_round(a.w[i], FPV_BITS);
    r.l[2 * i] = _mm512_sub_pd(a.w[i], high);
    r.l[2 * i + 1] = _mm512_mul_pd(high, fpv_set(0x1p-25));
  }
  return r;
}

FPV_INLINE fpw fpv_words(fpv a) {
  fpw r;
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r.w[i] = _mm512_fmadd_pd(a.l[2 * i + 1], fpv_set(0x1p25), a.l[2 * i]);
  return r;
}

FPV_INLINE __mmask8 fpw_low_is_zero(fpw a) { return _mm512_cmp_pd_mask(a.w[0], _mm512_setzero_pd(), _CMP_EQ_OQ); }

FPV_INLINE __mmask8 fpw_all_zero(fpw a) {
  __mmask8 m = fpw_low_is_zero(a);
  FPV_UNROLL
  for (int i = 1; i < 8; i++) m &= _mm512_cmp_pd_mask(a.w[i], _mm512_setzero_pd(), _CMP_EQ_OQ);
  return m;
}

FPV_INLINE __mmask8 fpv_low_is(fpv a, double v) { return _mm512_cmp_pd_mask(a.l[0], fpv_set(v), _CMP_EQ_OQ); }
/* x1 - x2 is within +-1.02 p, and its lowest limb is the number modulo 2^25 of least size. */
FPV_INLINE __mmask8 fpv_diff_suspect(fpv a) { return fpv_low_is(a, 0) | fpv_low_is(a, fpv_p[0]) | fpv_low_is(a, -fpv_p[0]); }
FPV_INLINE __mmask8 fpv_loose_suspect(fpv a) { return fpv_low_is(a, 0); }

/* Products by rows, in sums t of one limb column each: t[j] is column i + j once row i is added and rows below i are reduced.
 *
 * A row of the reduction takes the lowest limb m of t[0] and adds m k p = 2^25 m q - m: the limb cancels, the rest is 15 products
 * one column up, and no product is needed to find a multiplier. After 15 such rows the multiples of k p amount to 2^16.6 p, and the
 * last row, an ordinary one with m k mod 2^25 times p, divides that too: |result| < |a b| / R' + (0.5 + 0.003) p.
 *
 * Sizes, in units of 2^48: a column has at most 15 limb products of 1 (a top limb is below 2^9), the sum of two products 30; 6.42 from
 * rows of the reduction, 2^24 sum |q[i]|; carries below 2^-19. The limit is 32. Sums of two products are therefore carried half-way:
 * after row 7 no column has more than 16 + 6.42, and columns 11 to 17 are carried; these then get at most 16 + 6.42 more. Other
 * columns have at most 22 + 6.42 altogether: columns 10 and 18 have 11 pairs of limbs below the top one.
 *
 * The functions are not inlined: a product fills the registers by itself. */
FPV_INLINE void fpv_row(__m512d *t, const fpv *a, const fpv *b, int i) {
  FPV_UNROLL
  for (int j = 0; j < FPV_N; j++) t[j] = _mm512_fmadd_pd(a->l[j], b->l[i], t[j]);
}

/* Row i of a square: limbs above i twice, those below are in earlier rows. */
FPV_INLINE void fpv_row_sqr(__m512d *t, const fpv *a, int i) {
  const __m512d twice = _mm512_add_pd(a->l[i], a->l[i]);
  t[i] = _mm512_fmadd_pd(a->l[i], a->l[i], t[i]);
  FPV_UNROLL
  for (int j = i + 1; j < FPV_N; j++) t[j] = _mm512_fmadd_pd(a->l[j], twice, t[j]);
}

FPV_INLINE void fpv_row_reduce(__m512d *t) {
  fpv_carry_step(t);
  const __m512d m = t[0];
  FPV_UNROLL
  for (int j = 0; j + 1 < FPV_N; j++) t[j] = _mm512_fmadd_pd(m, fpv_set(fpv_q[j]), t[j + 1]);
  t[FPV_N - 1] = _mm512_setzero_pd();
}

/* The last row of the reduction, then carries: four runs of four limbs at once, then from the first limb of each, which got the carry of
 * the run before, to its second. */
FPV_INLINE void fpv_finish(fpv *r, __m512d *t) {
  __m512d m = _mm512_sub_pd(t[0], fpv_round(t[0], FPV_BITS));
  m = _mm512_mul_pd(m, fpv_set(FPV_K));
  m = _mm512_sub_pd(m, fpv_round(m, FPV_BITS));
  FPV_UNROLL
  for (int j = 0; j < FPV_N; j++) t[j] = _mm512_fmadd_pd(m, fpv_set(fpv_p[j]), t[j]);
  t[1] = _mm512_fmadd_pd(t[0], fpv_set(0x1p-25), t[1]);
  t[FPV_N] = _mm512_setzero_pd();
  FPV_UNROLL
  for (int k = 0; k < 4; k++) {
    FPV_UNROLL
    for (int g = 0; g < 4; g++)
      if (4 * g + k + 1 < FPV_N) fpv_carry_step(t + 1 + 4 * g + k);
  }
  FPV_UNROLL
  for (int g = 1; g < 4; g++) fpv_carry_step(t + 1 + 4 * g);
  FPV_UNROLL
  for (int j = 0; j < FPV_N; j++) r->l[j] = t[j + 1];
}

#define FPV_PRODUCT(name, params, row)                                  \
  static __attribute__((noinline, unused)) void name params {           \
    __m512d t[FPV_N + 1];                                               \
    FPV_UNROLL                                                          \
    for (int j = 0; j < FPV_N; j++) t[j] = _mm512_setzero_pd();         \
    FPV_UNROLL                                                          \
    for (int i = 0; i < FPV_N; i++) {                                   \
      row;                                                              \
      if (i + 1 < FPV_N) fpv_row_reduce(t);                             \
    }                                                                   \
    fpv_finish(r, t);                                                   \
  }

/* After row 7 is reduced t[0] is column 8. */
FPV_INLINE void fpv_relieve(__m512d *t, int i) {
  if (i != 8) return;
  FPV_UNROLL
  for (int j = 9; j >= 3; j--) fpv_carry_step(t + j); /* downwards: independent of each other */
}

FPV_PRODUCT(fpv_mul_to, (fpv *r, const fpv *a, const fpv *b), fpv_row(t, a, b, i))
FPV_PRODUCT(fpv_sqr_to, (fpv *r, const fpv *a), fpv_row_sqr(t, a, i))
FPV_PRODUCT(fpv_mul2_to, (fpv *r, const fpv *a, const fpv *b, const fpv *c, const fpv *d),
            (fpv_relieve(t, i), fpv_row(t, a, b, i), fpv_row(t, c, d, i)))
FPV_PRODUCT(fpv_sqr2_to, (fpv *r, const fpv *a, const fpv *b), (fpv_relieve(t, i), fpv_row_sqr(t, a, i), fpv_row_sqr(t, b, i)))
#undef FPV_PRODUCT

FPV_INLINE fpv fpv_mul(fpv a, fpv b) {
  fpv r;
  fpv_mul_to(&r, &a, &b);
  return r;
}
FPV_INLINE fpv fpv_sqr(fpv a) {
  fpv r;
  fpv_sqr_to(&r, &a);
  return r;
}
FPV_INLINE fpv fpv_mul2(fpv a, fpv b, fpv c, fpv d) {
  fpv r;
  fpv_mul2_to(&r, &a, &b, &c, &d);
  return r;
}
FPV_INLINE fpv fpv_sqr2(fpv a, fpv b) {
  fpv r;
  fpv_sqr2_to(&r, &a, &b);
  return r;
}

FPV_INLINE fpw fpw_load(const uint64_t *const at[8]) {
  __m512i r[8];
  fpv_load_rows(r, at);
  fpw v;
  FPV_UNROLL
  for (int i = 0; i < 8; i++) v.w[i] = _mm512_castsi512_pd(r[i]);
  return v;
}

FPV_INLINE void fpw_store(uint64_t *const at[8], fpw v) {
  __m512i r[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r[i] = _mm512_castpd_si512(v.w[i]);
  fpv_store_rows(at, r);
}

/* The number of one loose element in memory, in [0, p). */
static inline void fpw_canonical(uint64_t out[6], const uint64_t w[8]) {
  uint64_t t[7] = {0}, carry = 0; /* the seventh takes shifts beyond the sixth and is not read */
  int64_t up = 0;
  for (unsigned i = 0; i < 8; i++) {
    const unsigned j = 50 * i / 64, b = 50 * i % 64;
    double d;
    memcpy(&d, &w[i], sizeof d);
    const int64_t v = (int64_t)d + up;
    const uint64_t limb = i < 7 ? (uint64_t)v & ((UINT64_C(1) << 50) - 1) : (uint64_t)v;
    up = v >> 50;
    t[j] |= limb << b;
    if (b + 50 > 64) t[j + 1] |= limb >> (64 - b);
  }
  if (t[5] >> 63) { /* negative */
    for (int i = 0; i < 6; i++) {
      const uint64_t s = t[i] + cuzk_fp_modulus[i], u = s + carry;
      carry = (s < t[i]) | (u < s);
      t[i] = u;
    }
  }
  fpv_subtract_once(out, t);
}

/* Eight elements as cuzk_fp, to loose words: the same numbers modulo p. */
FPV_INLINE fpw fpw_load_fp(const cuzk_fp *const at[8]) {
  __m512i v[8];
  fpv_split(v, at, 50);
  fpw r;
  FPV_UNROLL
  for (int i = 0; i < 8; i++) r.w[i] = _mm512_cvtepi64_pd(v[i]);
  return fpw_reduce(r);
}

FPV_INLINE void fpv_carry_words(__m512i v[8]) {
  FPV_UNROLL
  for (int i = 0; i < 7; i++) {
    v[i + 1] = _mm512_add_epi64(v[i + 1], _mm512_srai_epi64(v[i], 50));
    v[i] = _mm512_and_si512(v[i], fpv_bcast((INT64_C(1) << 50) - 1));
  }
}

/* Loose to cuzk_fp, reduced. */
FPV_INLINE void fpw_store_fp(cuzk_fp *const at[8], fpw a) {
  __m512i v[8];
  FPV_UNROLL
  for (int i = 0; i < 8; i++) v[i] = _mm512_cvtpd_epi64(a.w[i]);
  fpv_carry_words(v);
  const __mmask8 negative = _mm512_cmplt_epi64_mask(v[7], _mm512_setzero_si512());
  FPV_UNROLL
  for (int i = 0; i < 8; i++) v[i] = _mm512_mask_add_epi64(v[i], negative, v[i], fpv_bcast((int64_t)fpv_p_words[i]));
  fpv_carry_words(v);
  fpv_join(at, v, 50);
}
