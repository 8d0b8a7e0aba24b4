/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "hash/poseidon.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

#define MAX_T 37

static const struct {
  unsigned arity, n_partial;
} rounds[] = {{2, 55}, {4, 56}, {8, 57}, {11, 57}, {16, 59}, {24, 59}, {36, 60}};
#define N_ARITIES (sizeof rounds / sizeof *rounds)

static struct cuzk_poseidon *cache[N_ARITIES][2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The Grain LFSR as a ring of 80 bits that starts at `at`. */
struct grain {
  uint8_t s[80];
  unsigned at;
};

static unsigned grain_step(struct grain *g) {
  static const uint8_t taps[6] = {62, 51, 38, 23, 13, 0};
  unsigned n = 0;
  for (int i = 0; i < 6; i++) n ^= g->s[(g->at + taps[i]) % 80];
  g->s[g->at] = (uint8_t)n;
  g->at = (g->at + 1) % 80;
  return n;
}

static void grain_init(struct grain *g, unsigned t, unsigned n_full, unsigned n_partial) {
  const struct {
    unsigned width, value;
  } f[7] = {{2, 1}, {4, 1}, {12, 255}, {12, t}, {10, n_full}, {10, n_partial}, {30, 0x3fffffff}};
  unsigned n = 0;
  for (int i = 0; i < 7; i++)
    for (unsigned b = f[i].width; b--;) g->s[n++] = (f[i].value >> b) & 1;
  g->at = 0;
  for (int i = 0; i < 160; i++) (void)grain_step(g);
}

static void grain_fr(struct grain *g, cuzk_fr *out) {
  uint64_t v[4];
  do {
    memset(v, 0, sizeof v);
    for (int b = 254; b >= 0; b--) {
      unsigned bit;
      for (;;) {
        const unsigned keep = grain_step(g);
        bit = grain_step(g);
        if (keep) break;
      }
      v[b / 64] |= (uint64_t)bit << (b % 64);
    }
  } while (!cuzk_fr_from_canon(out, v));
}

/* r = m x, m n by n row by row; r and x distinct. */
static void mat_vec(cuzk_fr *r, const cuzk_fr *m, const cuzk_fr *x, unsigned n) {
  for (unsigned i = 0; i < n; i++) cuzk_fr_dot(&r[i], x, &m[i * n], 1, n);
}

/* r = x m (row vector); r and x distinct. */
static void vec_mat(cuzk_fr *r, const cuzk_fr *x, const cuzk_fr *m, unsigned n) {
  for (unsigned j = 0; j < n; j++) cuzk_fr_dot(&r[j], x, &m[j], n, n);
}

/* inv = m^-1 by Gauss-Jordan; m is destroyed. Minors of Cauchy matrices are regular, so a pivot is always found. */
static void mat_inv(cuzk_fr *inv, cuzk_fr *m, unsigned n) {
  for (unsigned i = 0; i < n * n; i++) inv[i] = i % (n + 1) ? cuzk_fr_zero : cuzk_fr_one;
  for (unsigned c = 0; c < n; c++) {
    unsigned p = c;
    while (p + 1 < n && cuzk_fr_is_zero(&m[p * n + c])) p++;
    for (unsigned j = 0; p != c && j < n; j++) {
      const cuzk_fr a = m[p * n + j], b = inv[p * n + j];
      m[p * n + j] = m[c * n + j];
      inv[p * n + j] = inv[c * n + j];
      m[c * n + j] = a;
      inv[c * n + j] = b;
    }
    cuzk_fr k;
    cuzk_fr_inv_var(&k, &m[c * n + c]);
    for (unsigned j = 0; j < n; j++) {
      cuzk_fr_mul(&m[c * n + j], &m[c * n + j], &k);
      cuzk_fr_mul(&inv[c * n + j], &inv[c * n + j], &k);
    }
    for (unsigned i = 0; i < n; i++) {
      if (i == c || cuzk_fr_is_zero(&m[i * n + c])) continue;
      k = m[i * n + c];
      for (unsigned j = 0; j < n; j++) {
        cuzk_fr x;
        cuzk_fr_mul(&x, &k, &m[c * n + j]);
        cuzk_fr_sub(&m[i * n + j], &m[i * n + j], &x);
        cuzk_fr_mul(&x, &k, &inv[c * n + j]);
        cuzk_fr_sub(&inv[i * n + j], &inv[i * n + j], &x);
      }
    }
  }
}

static void add_vec(cuzk_fr *r, const cuzk_fr *a, const cuzk_fr *b, unsigned n) {
  for (unsigned i = 0; i < n; i++) cuzk_fr_add(&r[i], &a[i], &b[i]);
}

static void derive_mds(struct cuzk_poseidon *p) {
  const unsigned t = p->t;
  cuzk_fr inv[2 * MAX_T], scratch[2 * MAX_T];
  for (unsigned s = 0; s < 2 * t - 1; s++) cuzk_fr_from_u64(&inv[s], s + t);
  cuzk_fr_inv_batch(inv, scratch, 2 * t - 1);
  for (unsigned i = 0; i < t; i++)
    for (unsigned j = 0; j < t; j++) p->mds[i * t + j] = inv[i + j];
}

/* Round keys moved behind the linear layers; m_inv is the inverse of the MDS matrix. */
static void derive_crc(struct cuzk_poseidon *p, const cuzk_fr *m_inv) {
  const unsigned t = p->t, half = p->n_full / 2, n_partial = p->n_partial;
  const cuzk_fr *rk = p->round_keys;
  cuzk_fr acc[MAX_T], v[MAX_T], *out = p->crc, *partial;
  memcpy(out, rk, t * sizeof *rk);
  out += t;
  for (unsigned i = 1; i < half; i++, out += t) mat_vec(out, m_inv, rk + i * t, t);
  partial = out + t;
  memcpy(acc, rk + (half + n_partial) * t, sizeof(cuzk_fr) * t);
  for (unsigned i = 0; i < n_partial; i++) {
    mat_vec(v, m_inv, acc, t);
    partial[n_partial - 1 - i] = v[0];
    v[0] = cuzk_fr_zero;
    add_vec(acc, rk + (half + n_partial - 1 - i) * t, v, t);
  }
  mat_vec(out, m_inv, acc, t);
  out = partial + n_partial;
  for (unsigned i = 1; i < half; i++, out += t) mat_vec(out, m_inv, rk + (half + n_partial + i) * t, t);
}

/* minor, minor_inv, power, scratch: arity x arity; minor is the MDS matrix without row and column 0. */
static void derive_sparse(struct cuzk_poseidon *p, cuzk_fr *minor, cuzk_fr *minor_inv, cuzk_fr *power, cuzk_fr *scratch) {
  const unsigned t = p->t, n = p->arity;
  cuzk_fr w[MAX_T], v[MAX_T], x[MAX_T];
  for (unsigned i = 0; i < n; i++) {
    v[i] = p->mds[i + 1];
    w[i] = p->mds[(i + 1) * t];
    for (unsigned j = 0; j < n; j++) minor[i * n + j] = p->mds[(i + 1) * t + j + 1];
  }
  memcpy(scratch, minor, sizeof(cuzk_fr) * n * n);
  mat_inv(minor_inv, scratch, n);
  for (unsigned k = 0; k < p->n_partial; k++) {
    cuzk_fr *out = p->sparse + (p->n_partial - 1 - k) * (t + n);
    mat_vec(x, minor_inv, w, n);
    memcpy(w, x, sizeof(cuzk_fr) * n);
    out[0] = p->mds[0];
    memcpy(out + 1, w, sizeof(cuzk_fr) * n);
    memcpy(out + t, v, sizeof(cuzk_fr) * n);
    vec_mat(x, v, minor, n);
    memcpy(v, x, sizeof(cuzk_fr) * n);
  }
  memcpy(power, minor, sizeof(cuzk_fr) * n * n);
  for (unsigned k = 0; k < p->n_partial; k++) {
    for (unsigned i = 0; i < n; i++) vec_mat(scratch + i * n, power + i * n, minor, n);
    memcpy(power, scratch, sizeof(cuzk_fr) * n * n);
  }
  p->pre_sparse[0] = p->mds[0];
  for (unsigned i = 0; i < n; i++) {
    p->pre_sparse[i + 1] = v[i];
    p->pre_sparse[(i + 1) * t] = p->mds[(i + 1) * t];
    memcpy(&p->pre_sparse[(i + 1) * t + 1], &power[i * n], sizeof(cuzk_fr) * n);
  }
}

static void destroy(struct cuzk_poseidon *p) {
  if (!p) return;
  cuzk_free(p->round_keys);
  cuzk_free(p->crc);
  cuzk_free(p->mds);
  cuzk_free(p->pre_sparse);
  cuzk_free(p->sparse);
  cuzk_free(p);
}

static enum cuzk_status build(struct cuzk_poseidon **out, unsigned arity, unsigned n_partial, enum cuzk_poseidon_use use) {
  struct cuzk_poseidon *p = cuzk_calloc(1, sizeof *p);
  if (!p) return CUZK_E_NOMEM;
  const unsigned t = arity + 1;
  p->arity = arity;
  p->t = t;
  p->n_full = 8;
  p->n_partial = n_partial;
  cuzk_fr_from_u64(&p->tag, use == CUZK_POSEIDON_MERKLE ? (UINT64_C(1) << arity) - 1 : UINT64_C(1) << 40);
  const unsigned n_keys = (p->n_full + n_partial) * t;
  cuzk_fr *tmp = cuzk_malloc_array(4 * t * t, sizeof *tmp);
  p->round_keys = cuzk_malloc_array(n_keys, sizeof(cuzk_fr));
  p->crc = cuzk_malloc_array(p->n_full * t + n_partial, sizeof(cuzk_fr));
  p->mds = cuzk_malloc_array(t * t, sizeof(cuzk_fr));
  p->pre_sparse = cuzk_malloc_array(t * t, sizeof(cuzk_fr));
  p->sparse = cuzk_malloc_array((size_t)n_partial * (t + arity), sizeof(cuzk_fr));
  if (!tmp || !p->round_keys || !p->crc || !p->mds || !p->pre_sparse || !p->sparse) {
    cuzk_free(tmp);
    destroy(p);
    return CUZK_E_NOMEM;
  }
  struct grain g;
  grain_init(&g, t, p->n_full, n_partial);
  for (unsigned i = 0; i < n_keys; i++) grain_fr(&g, &p->round_keys[i]);
  derive_mds(p);
  memcpy(tmp, p->mds, sizeof(cuzk_fr) * t * t);
  mat_inv(tmp + t * t, tmp, t);
  derive_crc(p, tmp + t * t);
  derive_sparse(p, tmp, tmp + t * t, tmp + 2 * t * t, tmp + 3 * t * t);
  cuzk_free(tmp);
  *out = p;
  return CUZK_OK;
}

enum cuzk_status cuzk_poseidon_get(const struct cuzk_poseidon **out, unsigned arity, enum cuzk_poseidon_use use) {
  unsigned i = 0;
  enum cuzk_status st = CUZK_OK;
  while (i < N_ARITIES && rounds[i].arity != arity) i++;
  if (i == N_ARITIES || (use == CUZK_POSEIDON_GEN_RAND && arity != 2)) return CUZK_E_ARG;
  struct cuzk_poseidon **slot = &cache[i][use == CUZK_POSEIDON_GEN_RAND];
  pthread_mutex_lock(&lock);
  if (!*slot) st = build(slot, arity, rounds[i].n_partial, use);
  if (st == CUZK_OK) *out = *slot;
  pthread_mutex_unlock(&lock);
  return st;
}

void cuzk_poseidon_release(void) {
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < N_ARITIES; i++)
    for (int u = 0; u < 2; u++) {
      destroy(cache[i][u]);
      cache[i][u] = NULL;
    }
  pthread_mutex_unlock(&lock);
}

static inline void pow5_add(cuzk_fr *x, const cuzk_fr *c) {
  cuzk_fr y;
  cuzk_fr_sqr(&y, x);
  cuzk_fr_sqr(&y, &y);
  cuzk_fr_mul(x, x, &y);
  if (c) cuzk_fr_add(x, x, c);
}

void cuzk_poseidon_hash(cuzk_fr *r, const struct cuzk_poseidon *p, const cuzk_fr *x) {
  const unsigned t = p->t, half = p->n_full / 2;
  const cuzk_fr *c = p->crc;
  cuzk_fr s[MAX_T], u[MAX_T];
  cuzk_fr_add(&s[0], &p->tag, &c[0]);
  for (unsigned i = 1; i < t; i++) cuzk_fr_add(&s[i], &x[i - 1], &c[i]);
  c += t;
  for (unsigned round = 0; round < half; round++, c += t) {
    for (unsigned i = 0; i < t; i++) pow5_add(&s[i], &c[i]);
    vec_mat(u, s, round + 1 < half ? p->mds : p->pre_sparse, t);
    memcpy(s, u, sizeof(cuzk_fr) * t);
  }
  const cuzk_fr *sp = p->sparse;
  for (unsigned round = 0; round < p->n_partial; round++, c++, sp += t + p->arity) {
    cuzk_fr m, first;
    pow5_add(&s[0], c);
    cuzk_fr_dot(&first, sp, s, 1, t);
    for (unsigned j = 1; j < t; j++) {
      cuzk_fr_mul(&m, &sp[t + j - 1], &s[0]);
      cuzk_fr_add(&s[j], &s[j], &m);
    }
    s[0] = first;
  }
  for (unsigned round = 0; round < half; round++) {
    const bool last = round + 1 == half;
    for (unsigned i = 0; i < t; i++) pow5_add(&s[i], last ? NULL : &c[i]);
    if (last) break;
    c += t;
    vec_mat(u, s, p->mds, t);
    memcpy(s, u, sizeof(cuzk_fr) * t);
  }
  cuzk_fr_dot(r, s, p->mds + 1, t, t);
}
