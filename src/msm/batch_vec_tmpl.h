/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Batch additions eight pairs at a time over fpv_tmpl.h; included once per group and variant, never linked. Before inclusion
 * define VEC_D (1: G1, 2: G2), VEC_TABLE, VEC_NAME, and FPV_IFMA or not.
 *
 * A point is x then y, VEC_D elements each of 64 bytes. x is stored in the scale of cuzk_fp, 2^384 x; the vectors' products divide
 * by R' = 2^r, so a slope kept as 2^s with s = (384 + r)/2 squares into the scale of x, and y, product of a slope and an x, is
 * kept as 2^(s + 384 - r): going in, x needs no product and y one. An inverse of a denominator d must then carry 2^(2r) / d,
 * which the running products keep by themselves once their total's inverse does. */
#include <string.h>

#include "ff/fp.h"
#include "ff/vec/fpv_tmpl.h"
#include "msm/batch.h"

/* Groups of eight pairs between two inversions: with their points and scratch they stay in the second-level cache. */
#ifdef FPV_IFMA
#define GROUPS ((size_t)256)
#else
#define GROUPS ((size_t)128)
#endif
#define AHEAD ((size_t)3)    /* groups whose points are prefetched before their turn */
#define LOAD_AHEAD ((size_t)6) /* the same for points of the caller, which come from far memory */
#define POINT_WORDS ((size_t)(16 * VEC_D))

typedef struct {
  fpv c[VEC_D];
} fe; /* operands of products */
typedef struct {
  fpw c[VEC_D];
} fw; /* as in memory */

enum kind { NORMAL, DOUBLE, ZERO, FIRST, SECOND }; /* what the sum is: by the formula, 2a, identity, a, b */

struct scratch {
  fpv prefix[GROUPS + 1]; /* products of the denominators before each */
  fpv den[GROUPS]; /* x1 - x2 (G1), its norm (G2), substitutes included */
  uint8_t special[GROUPS];
  uint8_t kind[GROUPS * 8];
};

FPV_INLINE void addresses(const uint64_t *at[8], const void *src, const uint32_t *ref, size_t g, size_t n, __mmask8 *neg) {
  unsigned m = 0;
  for (size_t l = 0; l < 8; l++) {
    const size_t i = 8 * g + l < n ? 8 * g + l : n - 1;
    at[l] = (const uint64_t *)src + (size_t)(ref[i] & CUZK_BATCH_INDEX) * POINT_WORDS;
    m |= (ref[i] >> 31) << l;
  }
  *neg = (__mmask8)m;
}

FPV_INLINE void prefetch(const void *src, const uint32_t *ref, size_t g, size_t n, size_t first_line, size_t n_lines) {
  if (8 * g + 8 > n) return;
  for (size_t l = 0; l < 8; l++) {
    const char *p = (const char *)src + (size_t)(ref[8 * g + l] & CUZK_BATCH_INDEX) * (POINT_WORDS * 8);
    for (size_t k = first_line; k < first_line + n_lines; k++) __builtin_prefetch(p + 64 * k);
  }
}

FPV_INLINE fw load_x(const uint64_t *const at[8]) {
  fw r;
  for (int d = 0; d < VEC_D; d++) {
    const uint64_t *p[8];
    for (int l = 0; l < 8; l++) p[l] = at[l] + 8 * d;
    r.c[d] = fpw_load(p);
  }
  return r;
}

/* Raw: loose or its opposite. */
FPV_INLINE fw load_y(const uint64_t *const at[8], __mmask8 neg) {
  fw r;
  for (int d = 0; d < VEC_D; d++) {
    const uint64_t *p[8];
    for (int l = 0; l < 8; l++) p[l] = at[l] + 8 * (VEC_D + d);
    r.c[d] = fpw_load(p);
    if (neg) r.c[d] = fpw_neg(r.c[d], neg);
  }
  return r;
}

FPV_INLINE void store_point(uint64_t *const at[8], const fw *x, const fw *y) {
  for (int d = 0; d < VEC_D; d++) {
    uint64_t *p[8], *q[8];
    for (int l = 0; l < 8; l++) {
      p[l] = at[l] + 8 * d;
      q[l] = at[l] + 8 * (VEC_D + d);
    }
    fpw_store(p, x->c[d]);
    fpw_store(q, y->c[d]);
  }
}

#if VEC_D == 1
FPV_INLINE fe fe_mul(fe a, fe b) {
  fpv_mul_to(&a.c[0], &a.c[0], &b.c[0]);
  return a;
}
FPV_INLINE fe fe_sqr(fe a) { return (fe){{fpv_sqr(a.c[0])}}; }
#else
/* (a0 b0 - a1 b1, a0 b1 + a1 b0), each one reduction. */
FPV_INLINE fe fe_mul(fe a, fe b) {
  const fpv minus_a1 = fpv_minus(a.c[1]);
  return (fe){{fpv_mul2(a.c[0], b.c[0], minus_a1, b.c[1]), fpv_mul2(a.c[0], b.c[1], a.c[1], b.c[0])}};
}
/* ((a0 + a1)(a0 - a1), 2 a0 a1); a loose. */
FPV_INLINE fe fe_sqr(fe a) {
  const fpw a0 = fpv_words(a.c[0]), a1 = fpv_words(a.c[1]);
  const fpv sum = fpv_wide(fpw_add(a0, a1), 0), diff = fpv_wide(fpw_sub(a0, a1), 2);
  return (fe){{fpv_mul(sum, diff), fpv_mul(fpv_wide(fpw_add(a0, a0), 0), a.c[1])}};
}
#endif

FPV_INLINE fe fw_wide(fw a, int k) {
  fe r;
  for (int d = 0; d < VEC_D; d++) r.c[d] = fpv_wide(a.c[d], k);
  return r;
}

FPV_INLINE fw fw_add(fw a, fw b) {
  for (int d = 0; d < VEC_D; d++) a.c[d] = fpw_add(a.c[d], b.c[d]);
  return a;
}

FPV_INLINE fw fw_sub(fw a, fw b) {
  for (int d = 0; d < VEC_D; d++) a.c[d] = fpw_sub(a.c[d], b.c[d]);
  return a;
}

FPV_INLINE fe from_words(fw a) {
  fe r;
  for (int d = 0; d < VEC_D; d++) r.c[d] = fpv_from_words(a.c[d]);
  return r;
}

FPV_INLINE fw to_words(fe a) {
  fw r;
  for (int d = 0; d < VEC_D; d++) r.c[d] = fpv_words(a.c[d]);
  return r;
}

FPV_INLINE fe fe_blend(__mmask8 m, fe a, fe b) {
  for (int d = 0; d < VEC_D; d++) a.c[d] = fpv_blend(m, a.c[d], b.c[d]);
  return a;
}

FPV_INLINE fw fw_blend(__mmask8 m, fw a, fw b) {
  for (int d = 0; d < VEC_D; d++) a.c[d] = fpw_blend(m, a.c[d], b.c[d]);
  return a;
}

FPV_INLINE fw fw_zero(void) {
  fw r;
  for (int d = 0; d < VEC_D; d++) r.c[d] = fpw_zero();
  return r;
}

FPV_INLINE fw fw_reduce(fw a) {
  for (int d = 0; d < VEC_D; d++) a.c[d] = fpw_reduce(a.c[d]);
  return a;
}

FPV_INLINE __mmask8 fw_all_zero(fw a) {
  __mmask8 m = fpw_all_zero(a.c[0]);
  for (int d = 1; d < VEC_D; d++) m &= fpw_all_zero(a.c[d]);
  return m;
}

static bool same_number(const uint64_t *a, const uint64_t *b) {
  uint64_t s[6], t[6];
  for (int d = 0; d < VEC_D; d++) {
    fpw_canonical(s, a + 8 * d);
    fpw_canonical(t, b + 8 * d);
    if (memcmp(s, t, sizeof s) != 0) return false;
  }
  return true;
}

static bool is_identity(const uint64_t *a) {
  uint64_t t = 0;
  for (size_t i = 0; i < POINT_WORDS; i++) t |= a[i] << 1; /* words may be doubles, hence minus zero; none uses all 64 bits */
  return t == 0;
}

static enum kind classify(const uint64_t *a, const uint64_t *b, bool signs_differ) {
  const bool za = is_identity(a), zb = is_identity(b);
  if (za || zb) return za && zb ? ZERO : za ? SECOND : FIRST;
  if (!same_number(a, b)) return NORMAL;
  return same_number(a + 8 * VEC_D, b + 8 * VEC_D) != signs_differ ? DOUBLE : ZERO;
}

/* Lanes of group g that are of kind k. */
FPV_INLINE __mmask8 lanes_of(const struct scratch *s, size_t g, enum kind k) {
  unsigned m = 0;
  for (unsigned l = 0; l < 8; l++) m |= (unsigned)(s->kind[8 * g + l] == k) << l;
  return (__mmask8)m;
}

FPV_INLINE fpv norm_or_self(fe dx) {
#if VEC_D == 1
  return dx.c[0];
#else
  return fpv_sqr2(dx.c[0], dx.c[1]);
#endif
}

/* Doubled lanes divide by 2 y1, and those without a division by 1. */
static __attribute__((noinline)) fpv substitute(struct scratch *s, size_t g, fpv den, const uint64_t *const pa[8],
                                                const uint64_t *const pb[8], __mmask8 na, __mmask8 nb, __mmask8 suspect) {
  unsigned any = 0;
  for (unsigned l = 0; l < 8; l++) {
    const enum kind k = suspect >> l & 1 ? classify(pa[l], pb[l], ((na ^ nb) >> l & 1) != 0) : NORMAL;
    s->kind[8 * g + l] = (uint8_t)k;
    any |= (unsigned)(k != NORMAL) << l;
  }
  s->special[g] = (uint8_t)any;
  const __mmask8 dbl = lanes_of(s, g, DOUBLE);
  if (dbl) {
    const fw y = load_y(pa, na);
    den = fpv_blend(dbl, den, norm_or_self(fw_wide(fw_add(y, y), 3)));
  }
  return fpv_blend((__mmask8)(any & ~dbl), den, fpv_small(1));
}

/* The eight lanes' inverses in the scale that the way back needs. */
static fpv invert(const fpv *total) {
  uint64_t words[8][8] __attribute__((aligned(64)));
  uint64_t *out[8];
  cuzk_fp v[8], t[8];
  const cuzk_fp *in[8];
  for (int l = 0; l < 8; l++) {
    out[l] = words[l];
    in[l] = &v[l];
  }
  fpw_store(out, fpv_words(*total));
  for (int l = 0; l < 8; l++) fpw_canonical(v[l].l, words[l]);
  cuzk_fp_inv_batch(v, t, 8);
  for (int l = 0; l < 8; l++) cuzk_fp_mul(&v[l], &v[l], &fpv_inv_scale);
  return fpv_from_words(fpw_load_fp(in));
}

static void add_block(void *dst, const uint32_t *to, const void *src, const uint32_t *a, const uint32_t *b, size_t n,
                      struct scratch *s) {
  const size_t n_groups = (n + 7) / 8;
  fpv run;
  s->prefix[0] = fpv_small(1);
  const uint64_t *pa[8], *pb[8];
  __mmask8 na, nb;
  for (size_t g = 0; g < AHEAD; g++) {
    prefetch(src, a, g, n, 0, VEC_D);
    prefetch(src, b, g, n, 0, VEC_D);
  }
  for (size_t g = 0; g < n_groups; g++) {
    prefetch(src, a, g + AHEAD, n, 0, VEC_D);
    prefetch(src, b, g + AHEAD, n, 0, VEC_D);
    addresses(pa, src, a, g, n, &na);
    addresses(pb, src, b, g, n, &nb);
    const fw x1 = load_x(pa), x2 = load_x(pb);
    fpv den = norm_or_self(fw_wide(fw_sub(x1, x2), 2));
    /* The low limb alone: suspects are looked at exactly, everything exceptional is among them. */
    __mmask8 suspect = fpw_low_is_zero(x1.c[0]) | fpw_low_is_zero(x2.c[0]);
#if VEC_D == 1
    suspect |= fpv_diff_suspect(den);
#else
    suspect |= fpv_loose_suspect(den);
#endif
    s->special[g] = 0;
    if (__builtin_expect(suspect, 0)) den = substitute(s, g, den, pa, pb, na, nb, suspect);
    s->den[g] = den;
    fpv_mul_to(&s->prefix[g + 1], &s->prefix[g], &s->den[g]);
  }
  run = invert(&s->prefix[n_groups]);
  for (size_t g = n_groups; g-- > 0;) {
    if (g >= AHEAD) {
      prefetch(src, a, g - AHEAD, n, 0, 2 * VEC_D);
      prefetch(src, b, g - AHEAD, n, 0, 2 * VEC_D);
    }
    addresses(pa, src, a, g, n, &na);
    addresses(pb, src, b, g, n, &nb);
    fpv inv;
    fpv_mul_to(&inv, &run, &s->prefix[g]);
    fpv_mul_to(&run, &run, &s->den[g]);
    const fw x1 = load_x(pa), x2 = load_x(pb), y1 = load_y(pa, na), y2 = load_y(pb, nb);
    fe num = fw_wide(fw_sub(y1, y2), 3);
    const __mmask8 dbl = __builtin_expect(s->special[g], 0) ? lanes_of(s, g, DOUBLE) : 0;
    if (dbl) {
      const fw t = to_words(fe_sqr(from_words(x1)));
      num = fe_blend(dbl, num, fw_wide(fw_add(fw_add(t, t), t), 0));
    }
#if VEC_D == 1
    fe slope;
    fpv_mul_to(&slope.c[0], &num.c[0], &inv);
#else
    fe den = fw_wide(fw_sub(x1, x2), 2);
    if (dbl) den = fe_blend(dbl, den, fw_wide(fw_add(y1, y1), 3));
    const fpv minus_d1 = fpv_minus(den.c[1]);
    const fe slope = fe_mul((fe){{fpv_mul(den.c[0], inv), fpv_mul(minus_d1, inv)}}, num);
#endif
    fw x3 = fw_reduce(fw_sub(fw_sub(to_words(fe_sqr(slope)), x1), x2));
    fw y3 = fw_reduce(fw_sub(to_words(fe_mul(slope, fw_wide(fw_sub(x1, x3), 2))), y1));
    if (__builtin_expect(s->special[g], 0)) {
      const __mmask8 first = lanes_of(s, g, FIRST), second = lanes_of(s, g, SECOND), none = lanes_of(s, g, ZERO);
      x3 = fw_blend(none, fw_blend(second, fw_blend(first, x3, x1), x2), fw_zero());
      y3 = fw_blend(none, fw_blend(second, fw_blend(first, y3, fw_reduce(y1)), fw_reduce(y2)), fw_zero());
    }
    uint64_t *out[8];
    for (size_t l = 0; l < 8; l++) {
      const size_t i = 8 * g + l < n ? 8 * g + l : n - 1;
      out[l] = (uint64_t *)dst + (size_t)to[i] * POINT_WORDS;
    }
    store_point(out, &x3, &y3);
  }
}

static void vec_add(void *dst, const uint32_t *to, const void *src, const uint32_t *a, const uint32_t *b, size_t n,
                    void *scratch) {
  for (size_t i = 0; i < n; i += 8 * GROUPS)
    add_block(dst, to + i, src, a + i, b + i, n - i < 8 * GROUPS ? n - i : 8 * GROUPS, scratch);
}

static void vec_copy(void *dst, const uint32_t *to, const void *src, const uint32_t *from, size_t n) {
  for (size_t g = 0; 8 * g < n; g++) {
    const uint64_t *at[8];
    uint64_t *out[8];
    __mmask8 neg;
    addresses(at, src, from, g, n, &neg);
    prefetch(src, from, g + AHEAD, n, 0, 2 * VEC_D);
    for (size_t l = 0; l < 8; l++) {
      const size_t i = 8 * g + l < n ? 8 * g + l : n - 1;
      out[l] = (uint64_t *)dst + (size_t)to[i] * POINT_WORDS;
    }
    const fw x = load_x(at), plain = load_y(at, 0);
    const __mmask8 zero = fw_all_zero(x) & fw_all_zero(plain);
    const fw y = fw_blend(zero, fw_reduce(load_y(at, neg)), plain);
    store_point(out, &x, &y);
  }
}

static void vec_load(void *dst, const void *src, const uint32_t *index, size_t n) {
  const fpv scale = fpv_const(fpv_y_in);
  for (size_t g = 0; 8 * g < n; g++) {
    const cuzk_fp *at[8], *p[8];
    uint64_t *out[8];
    fw c[2];
    for (size_t l = 0; l < 8; l++) {
      const size_t i = 8 * g + l < n ? 8 * g + l : n - 1, ahead = i + 8 * LOAD_AHEAD < n ? i + 8 * LOAD_AHEAD : n - 1;
      const char *next = (const char *)src + (size_t)index[ahead] * (96 * VEC_D);
      for (int k = 0; k < 96 * VEC_D; k += 64) __builtin_prefetch(next + k);
      __builtin_prefetch(next + 96 * VEC_D - 1);
      at[l] = (const cuzk_fp *)src + (size_t)index[i] * (2 * VEC_D);
      out[l] = (uint64_t *)dst + i * POINT_WORDS;
    }
    for (int k = 0; k < 2; k++) {
      for (int d = 0; d < VEC_D; d++) {
        for (int l = 0; l < 8; l++) p[l] = at[l] + k * VEC_D + d;
        c[k].c[d] = fpw_load_fp(p);
        if (k) c[k].c[d] = fpv_words(fpv_mul(fpv_from_words(c[k].c[d]), scale));
      }
    }
    store_point(out, &c[0], &c[1]);
  }
}

static void vec_store(void *dst, const void *src, const uint32_t *index, size_t n) {
  const fpv scale = fpv_const(fpv_y_out);
  for (size_t g = 0; 8 * g < n; g++) {
    const uint64_t *at[8];
    cuzk_fp *out[8], *p[8];
    for (size_t l = 0; l < 8; l++) {
      const size_t i = 8 * g + l < n ? 8 * g + l : n - 1;
      at[l] = (const uint64_t *)src + (size_t)index[i] * POINT_WORDS;
      out[l] = (cuzk_fp *)dst + i * (2 * VEC_D);
    }
    const fw c[2] = {load_x(at), load_y(at, 0)};
    for (int k = 0; k < 2; k++) {
      for (int d = 0; d < VEC_D; d++) {
        for (int l = 0; l < 8; l++) p[l] = out[l] + k * VEC_D + d;
        fpw_store_fp(p, k ? fpv_words(fpv_mul(fpv_from_words(c[k].c[d]), scale)) : c[k].c[d]);
      }
    }
  }
}

const struct cuzk_batch_ops VEC_TABLE = {
    VEC_NAME, POINT_WORDS * 8, 96 * VEC_D, sizeof(struct scratch), vec_load, vec_store, vec_copy, vec_add};
