/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The kernels of ntt_kern.h over one form of vectorised Fr; include that form (ff/vec/frv_*.h) first. Never linked.
 *
 *  Two stages run at a time on four vectors: 4 products for 4 loads and 4 stores. Values in comments are bounds in units of r. */
#include "poly/ntt_kern.h"

#define KERN_PASTE2(name) cuzk_ntt_kern_##name
#define KERN_PASTE(name) KERN_PASTE2(name)
#define KERN_STR2(a) #a
#define KERN_STR(a) KERN_STR2(a)

static void k_constants(void *out, const cuzk_fr *w, size_t n) {
  fv_const *c = out;
  for (size_t i = 0; i < n; i++) fv_const_split(&c[i], w[i].l);
}

static void k_factors(void *gv, unsigned k, const cuzk_fr *w) {
  fv *g = gv;
  fv_load_adjacent(&g[k - 1], w);
  for (unsigned j = k - 1; j > 0; j--) {
    fv t;
    fv_mul(&t, &g[j], &g[j]);
    fv_norm(&g[j - 1], &t);
  }
}

static void k_load_columns(void *tile, const cuzk_fr *src, size_t stride, size_t n) {
  fv *t = tile;
  for (size_t i = 0; i < n; i++) fv_load_adjacent(&t[i], src + i * stride);
}

static void k_load_rows(void *tile, const cuzk_fr *const *row, size_t n) {
  fv *t = tile;
  for (size_t i = 0; i < n; i += 2) fv_load_rows(t + i, row, i);
}

/* Twiddle T(j, t') with 2^j + t' = i. */
static inline void twiddle(fv *t, const fv_const *table, size_t i, const fv *g) {
  fv_bcast(t, &table[i]);
  if (g) {
    fv p;
    fv_mul(&p, t, g);
    fv_norm(t, &p);
  }
}

static inline void mul_loose(fv *r, const fv *a, const fv *b) {
  fv t;
  fv_norm(&t, a);
  fv_mul(r, &t, b);
}

/* Stages j and j + 1 on the four vectors x[0], x[h], x[2h], x[3h], h = 2^j; w1 = T(j, t'), w2 = T(j+1, t'), w3 = T(j+1, t'+h).
 * Each stage adds at most 2 to a bound. */
static inline void dit4(fv *x, size_t h, const fv *w1, const fv *w2, const fv *w3) {
  fv p, q, y0, y1, y2, y3;
  mul_loose(&p, &x[h], w1);
  mul_loose(&q, &x[3 * h], w1);
  fv_add(&y0, &x[0], &p);
  fv_sub_bound(&y1, &x[0], &p, fv_modulus_2);
  fv_add(&y2, &x[2 * h], &q);
  fv_sub_bound(&y3, &x[2 * h], &q, fv_modulus_2);
  mul_loose(&p, &y2, w2);
  mul_loose(&q, &y3, w3);
  fv_add(&x[0], &y0, &p);
  fv_sub_bound(&x[2 * h], &y0, &p, fv_modulus_2);
  fv_add(&x[h], &y1, &q);
  fv_sub_bound(&x[3 * h], &y1, &q, fv_modulus_2);
}

/* The same for j = 0 where w1 = w2 = 1: from values below 3 to values below 6 + 8. */
static inline void dit4_start(fv *x, const fv *w3) {
  fv q, y0, y1, y2, y3;
  fv_add(&y0, &x[0], &x[1]);
  fv_sub_bound(&y1, &x[0], &x[1], fv_modulus_4);
  fv_add(&y2, &x[2], &x[3]);
  fv_sub_bound(&y3, &x[2], &x[3], fv_modulus_4);
  mul_loose(&q, &y3, w3);
  fv_add(&x[0], &y0, &y2);
  fv_sub_bound(&x[2], &y0, &y2, fv_modulus_8);
  fv_add(&x[1], &y1, &q);
  fv_sub_bound(&x[3], &y1, &q, fv_modulus_2);
}

static void k_dit(void *tile, unsigned k, const void *constants, const void *factors, bool plain_start) {
  fv *x = tile;
  const fv_const *table = constants;
  const fv *g = factors;
  const size_t n = (size_t)1 << k;
  fv w1, w2, w3;
  unsigned j = 0;
  if (k & 1) {
    twiddle(&w1, table, 1, g);
    for (size_t i = 0; i < n; i += 2) {
      fv p;
      mul_loose(&p, &x[i + 1], &w1);
      fv_sub_bound(&x[i + 1], &x[i], &p, fv_modulus_2);
      fv_add(&x[i], &x[i], &p);
    }
    j = 1;
  } else if (plain_start) {
    twiddle(&w3, table, 3, NULL);
    for (size_t i = 0; i < n; i += 4) dit4_start(&x[i], &w3);
    j = 2;
  }
  for (; j < k; j += 2) {
    const size_t h = (size_t)1 << j;
    for (size_t t = 0; t < h; t++) {
      twiddle(&w1, table, h + t, g ? &g[j] : NULL);
      twiddle(&w2, table, 2 * h + t, g ? &g[j + 1] : NULL);
      twiddle(&w3, table, 3 * h + t, g ? &g[j + 1] : NULL);
      for (size_t i = t; i < n; i += 4 * h) dit4(&x[i], h, &w1, &w2, &w3);
    }
  }
}

/* Stages j + 1 and j, twiddles as in dit4; values below 4 in and out. */
static inline void dif4(fv *x, size_t h, const fv *w1, const fv *w2, const fv *w3) {
  fv d, y0, y1, y2, y3;
  fv_add(&y0, &x[0], &x[2 * h]);
  fv_sub_bound(&d, &x[0], &x[2 * h], fv_modulus_4);
  mul_loose(&y2, &d, w2);
  fv_add(&y1, &x[h], &x[3 * h]);
  fv_sub_bound(&d, &x[h], &x[3 * h], fv_modulus_4);
  mul_loose(&y3, &d, w3);
  fv_add(&d, &y0, &y1); /* below 16: the only sum that no product brings down */
  fv_reduce(&x[0], &d);
  fv_sub_bound(&d, &y0, &y1, fv_modulus_8);
  mul_loose(&x[h], &d, w1);
  fv_add(&x[2 * h], &y2, &y3);
  fv_sub_bound(&d, &y2, &y3, fv_modulus_2);
  mul_loose(&x[3 * h], &d, w1);
}

/* The same for j = 0 where w1 = w2 = 1; values below 4 in, below 16 out. */
static inline void dif4_end(fv *x, const fv *w3) {
  fv d, y0, y1, y2, y3;
  fv_add(&y0, &x[0], &x[2]);
  fv_sub_bound(&y2, &x[0], &x[2], fv_modulus_4);
  fv_add(&y1, &x[1], &x[3]);
  fv_sub_bound(&d, &x[1], &x[3], fv_modulus_4);
  mul_loose(&y3, &d, w3);
  fv_add(&x[0], &y0, &y1);
  fv_sub_bound(&x[1], &y0, &y1, fv_modulus_8);
  fv_add(&x[2], &y2, &y3);
  fv_sub_bound(&x[3], &y2, &y3, fv_modulus_2);
}

static void k_dif(void *tile, unsigned k, const void *constants, const void *factors, bool plain_start) {
  fv *x = tile;
  const fv_const *table = constants;
  const fv *g = factors;
  const size_t n = (size_t)1 << k;
  const unsigned last = k & 1 ? 1 : plain_start ? 2 : 0; /* stages below are done after the loop */
  fv w1, w2, w3;
  for (unsigned j = k; j > last;) {
    j -= 2;
    const size_t h = (size_t)1 << j;
    for (size_t t = 0; t < h; t++) {
      twiddle(&w1, table, h + t, g ? &g[j] : NULL);
      twiddle(&w2, table, 2 * h + t, g ? &g[j + 1] : NULL);
      twiddle(&w3, table, 3 * h + t, g ? &g[j + 1] : NULL);
      for (size_t i = t; i < n; i += 4 * h) dif4(&x[i], h, &w1, &w2, &w3);
    }
  }
  if (last == 1) {
    twiddle(&w1, table, 1, g);
    for (size_t i = 0; i < n; i += 2) {
      fv d;
      fv_sub_bound(&d, &x[i], &x[i + 1], fv_modulus_4);
      fv_add(&x[i], &x[i], &x[i + 1]);
      mul_loose(&x[i + 1], &d, &w1);
    }
  } else if (last == 2) {
    twiddle(&w3, table, 3, NULL);
    for (size_t i = 0; i < n; i += 4) dif4_end(&x[i], &w3);
  }
}

static void k_reduce(void *tile, size_t n) {
  fv *x = tile;
  for (size_t i = 0; i < n; i++) fv_reduce(&x[i], &x[i]);
}

static void k_mul_tile(void *tile, const void *other, size_t n) {
  fv *x = tile;
  const fv *y = other;
  for (size_t i = 0; i < n; i++) {
    fv r;
    fv_reduce(&r, &y[i]);
    mul_loose(&x[i], &x[i], &r);
  }
}

static void k_combine(void *tile, const void *k1, const void *other, const void *k2, size_t n) {
  fv *x = tile, f1, f2;
  const fv *y = other;
  fv_bcast(&f1, k1);
  fv_bcast(&f2, k2);
  for (size_t i = 0; i < n; i++) {
    fv p, q;
    mul_loose(&p, &x[i], &f1);
    mul_loose(&q, &y[i], &f2);
    fv_add(&x[i], &p, &q);
  }
}

static void k_scale(void *tile, const void *k1, size_t n) {
  fv *x = tile, f;
  fv_bcast(&f, k1);
  for (size_t i = 0; i < n; i++) mul_loose(&x[i], &x[i], &f);
}

static inline void finish(fv *r, const fv *a, bool canonical) {
  fv_reduce(r, a);
  if (canonical) fv_reduce_once(r, r);
}

static void k_store_columns(cuzk_fr *dst, size_t stride, const void *tile, size_t n, bool canonical) {
  const fv *x = tile;
  for (size_t i = 0; i < n; i++) {
    fv t;
    finish(&t, &x[i], canonical);
    fv_store_adjacent(dst + i * stride, &t);
  }
}

static void k_store_rows(cuzk_fr *const *row, const void *tile, size_t n, bool canonical) {
  const fv *x = tile;
  for (size_t i = 0; i < n; i += 2) {
    fv t[2];
    finish(&t[0], &x[i], canonical);
    finish(&t[1], &x[i + 1], canonical);
    fv_store_rows(row, i, t);
  }
}

static void k_store_columns_reversed(cuzk_fr *dst, size_t stride, const void *tile, unsigned log2_n) {
  const fv *x = tile;
  const size_t n = (size_t)1 << log2_n;
  for (size_t i = 0, j = 0; i < n; i++) { /* j: i reversed */
    fv t;
    finish(&t, &x[i], true);
    fv_store_adjacent(dst + j * stride, &t);
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
  }
}

const struct cuzk_ntt_kern KERN_PASTE(FV_NAME) = {
    .name = KERN_STR(FV_NAME),
    .n_lanes = FV_LANES,
    .log2_lanes = FV_LANES == 8 ? 3 : 2,
    .twist = FV_TWIST,
    .vec_bytes = sizeof(fv),
    .const_bytes = sizeof(fv_const),
    .constants = k_constants,
    .factors = k_factors,
    .load_columns = k_load_columns,
    .load_rows = k_load_rows,
    .dit = k_dit,
    .dif = k_dif,
    .reduce = k_reduce,
    .mul_tile = k_mul_tile,
    .combine = k_combine,
    .scale = k_scale,
    .store_columns = k_store_columns,
    .store_rows = k_store_rows,
    .store_columns_reversed = k_store_columns_reversed,
};
