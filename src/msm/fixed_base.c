/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "msm/fixed_base.h"

#include <string.h>

#include "base/alloc.h"
#include "msm/batch.h"
#include "msm/sums.h"
#include "msm/windows.h"

/* The table is read at random: beyond this many entries the last bit of window costs more in cache than it saves. */
#define TABLE_POINTS ((size_t)1 << 19)

struct table {
  const struct cuzk_batch_ops *ops;
  struct cuzk_windows w;
  size_t half;    /* entries a window, 2^(c-1): entry i is (i + 1) 2^(wc) base */
  void *points;   /* w.n * half */
  size_t bytes;
};

struct fixed_worker {
  struct cuzk_sums sums;
  char *memory;
  size_t memory_bytes;
  char *results;   /* chunk points */
  uint32_t *refs;  /* chunk * w.n */
  uint32_t *start; /* chunk + 1 */
  uint32_t *iota;  /* chunk */
};

struct fixed_job {
  const struct table *t;
  struct fixed_worker *workers;
  size_t chunk; /* scalars a task: as many as one round of sums takes */
  char *out;
  const cuzk_fr *s;
  size_t n;
};

static void table_choose(struct table *t, size_t n) {
  uint64_t best = UINT64_MAX;
  unsigned c = 0;
  for (unsigned k = CUZK_WINDOW_BITS_MIN; k <= CUZK_WINDOW_BITS_MAX; k++) {
    const uint64_t entries = (uint64_t)cuzk_windows_count(k) << (k - 1);
    const uint64_t cost = entries + (uint64_t)cuzk_windows_count(k) * n;
    if (cost < best && entries <= TABLE_POINTS) {
      best = cost;
      c = k;
    }
  }
  cuzk_windows_init(&t->w, c);
  t->half = (size_t)1 << (c - 1);
}

static void fixed_workers_destroy(struct fixed_worker *w, unsigned n) {
  if (!w) return;
  for (unsigned i = 0; i < n; i++) {
    cuzk_sums_clear(&w[i].sums);
    cuzk_big_free(w[i].memory, w[i].memory_bytes);
  }
  cuzk_free(w);
}

/* chunk 0: only the sums' lists are needed. NULL: no memory. */
static struct fixed_worker *fixed_workers_create(const struct table *t, unsigned n, size_t chunk) {
  struct fixed_worker *w = cuzk_calloc(n, sizeof *w);
  if (!w) return NULL;
  const size_t results = chunk * t->ops->point_bytes, lists = chunk * (t->w.n + 2) + 1;
  for (unsigned i = 0; i < n; i++) {
    if (cuzk_sums_init(&w[i].sums, t->ops) != CUZK_OK) goto failed;
    if (!chunk) continue;
    char *p = cuzk_big_alloc(results + lists * sizeof(uint32_t));
    if (!p) goto failed;
    w[i].memory = p;
    w[i].memory_bytes = results + lists * sizeof(uint32_t);
    w[i].results = p;
    w[i].refs = (uint32_t *)(void *)(p + results);
    w[i].start = w[i].refs + chunk * t->w.n;
    w[i].iota = w[i].start + chunk + 1;
    for (size_t k = 0; k < chunk; k++) w[i].iota[k] = (uint32_t)k;
  }
  return w;
failed:
  fixed_workers_destroy(w, n);
  return NULL;
}

/* Entries of one window from its first: the second half of every power of two is the half before plus its last entry. */
static void fill_window(void *arg, size_t task, unsigned worker) {
  const struct fixed_job *j = arg;
  struct cuzk_sums *s = &j->workers[worker].sums;
  const struct table *t = j->t;
  const uint32_t first = (uint32_t)(task * t->half);
  for (uint32_t k = 1; k < t->half; k *= 2) {
    for (uint32_t i = 0; i < k; i++) {
      s->a[i] = first + k - 1;
      s->b[i] = first + i;
      s->to[i] = first + k + i;
    }
    t->ops->add(t->points, s->to, t->points, s->a, s->b, k, s->scratch);
  }
}

static void multiply_chunk(void *arg, size_t task, unsigned worker) {
  const struct fixed_job *j = arg;
  const struct table *t = j->t;
  struct fixed_worker *w = &j->workers[worker];
  const size_t first = task * j->chunk, n = j->n - first < j->chunk ? j->n - first : j->chunk;
  size_t n_refs = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t v[4];
    w->start[i] = (uint32_t)n_refs;
    if (cuzk_fr_is_zero(&j->s[first + i])) continue;
    cuzk_windows_value(v, &t->w, &j->s[first + i]);
    for (unsigned k = 0; k < t->w.n; k++) {
      const int d = (int)cuzk_windows_digit(v, &t->w, k) - cuzk_windows_half(&t->w, k);
      if (d == 0) continue;
      w->refs[n_refs++] = (uint32_t)(k * t->half + (size_t)(d < 0 ? -d : d) - 1) | (d < 0 ? CUZK_BATCH_NEG : 0);
    }
  }
  w->start[n] = (uint32_t)n_refs;
  cuzk_sums_run(&w->sums, w->results, t->points, w->refs, w->start, n);
  t->ops->store(j->out + first * t->ops->affine_bytes, w->results, w->iota, n);
}

static enum cuzk_status multiply(const struct table *t, void *out, const cuzk_fr *s, size_t n, struct cuzk_pool *pool) {
  if (n == 0) return CUZK_OK;
  const unsigned n_workers = cuzk_pool_workers(pool);
  struct fixed_job j = {.t = t, .chunk = CUZK_SUMS_SLOTS / ((t->w.n + 1) / 2), .out = out, .s = s, .n = n};
  const size_t share = n / n_workers + 1;
  if (share < j.chunk) j.chunk = share;
  j.workers = fixed_workers_create(t, n_workers, j.chunk);
  if (!j.workers) return CUZK_E_NOMEM;
  cuzk_pool_run(pool, multiply_chunk, &j, (n + j.chunk - 1) / j.chunk);
  fixed_workers_destroy(j.workers, n_workers);
  return CUZK_OK;
}

/* Loads first[w] = 2^(wc) base (affine) and fills the table. */
static enum cuzk_status table_fill(struct table *t, const void *first, struct cuzk_pool *pool) {
  const unsigned n_workers = cuzk_pool_workers(pool);
  t->bytes = t->w.n * t->half * t->ops->point_bytes;
  t->points = cuzk_big_alloc(t->bytes);
  if (!t->points) return CUZK_E_NOMEM;
  struct fixed_job j = {.t = t, .workers = fixed_workers_create(t, n_workers, 0)};
  if (!j.workers) return CUZK_E_NOMEM;
  for (uint32_t i = 0; i < t->w.n; i++)
    t->ops->load((char *)t->points + i * t->half * t->ops->point_bytes, first, &i, 1);
  cuzk_pool_run(pool, fill_window, &j, t->w.n);
  fixed_workers_destroy(j.workers, n_workers);
  return CUZK_OK;
}

#define FIX_G(x) cuzk_g1_##x
#define FIX_OPS cuzk_batch_g1
#define FIX_AFFINE cuzk_g1_affine
#define FIX_JAC cuzk_g1
#define FIX_STRUCT cuzk_fixed_g1
#define FIX_PUBLIC(x) cuzk_fixed_g1_##x
#include "msm/fixed_base_tmpl.h"
#undef FIX_G
#undef FIX_OPS
#undef FIX_AFFINE
#undef FIX_JAC
#undef FIX_STRUCT
#undef FIX_PUBLIC

#define FIX_G(x) cuzk_g2_##x
#define FIX_OPS cuzk_batch_g2
#define FIX_AFFINE cuzk_g2_affine
#define FIX_JAC cuzk_g2
#define FIX_STRUCT cuzk_fixed_g2
#define FIX_PUBLIC(x) cuzk_fixed_g2_##x
#include "msm/fixed_base_tmpl.h"
