/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The steps are drawn in docs/internals/msm.md. A call works through blocks of bases; a block through
 *   count    chunks of scalars: how many are zero, one (or minus one), general
 *   place    chunks again: digits of the general scalars, points into the table of the batch kernels
 *   ones     slices of the points with scalar one: plain sums
 *   sort     windows: references to points by bucket (counting sort)
 *   range    runs of buckets of one window: bucket sums, then the sums of their rows and columns
 *   finish   windows: one total each
 * Only the first two and the last look at the group's types; the others work on the kernels' opaque points. */
#include "msm/msm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "msm/batch.h"
#include "msm/sums.h"
#include "msm/windows.h"

#define CHUNK ((size_t)4096)         /* scalars; a multiple of 64 */
#define RANGE_BUCKETS ((size_t)4096) /* at most, of a task of the bucket stage */
#define RANGE_POINTS ((size_t)1 << 16) /* about, the same */
#define ONE_SLICE ((size_t)1 << 15)

struct plan {
  struct cuzk_windows w;
  unsigned n_windows; /* w.n */
  unsigned log2_columns;
  size_t n_buckets;    /* 2^(c-1), bucket i is for digits i + 1 and -(i + 1) */
  size_t n_columns, n_rows; /* bucket = row * n_columns + column */
  size_t n_ranges;     /* a window; divides n_rows */
};

struct chunk {
  size_t first, count; /* scalars */
  size_t base, n_bases;
  size_t general, ones; /* counts, then places within the block */
};

struct block {
  struct chunk *chunks;
  size_t n_chunks;
  size_t n_general, n_ones, n_one_slices;
  char *memory; /* holds what follows */
  size_t memory_bytes;
  char *table;         /* n_general + n_ones points */
  char *range_sums;    /* [window][range][rows of the range, then columns] */
  char *one_sums;      /* n_one_slices */
  uint16_t *digits;    /* [window][n_general] */
  uint32_t *sorted;    /* [window][n_general] references by bucket */
  uint32_t *start;     /* [window][n_buckets + 1] where each bucket's begin */
  uint32_t *one_refs;  /* n_ones */
};

struct worker {
  struct cuzk_sums sums;
  char *memory;
  size_t memory_bytes;
  void *fetched;     /* CHUNK bases of a stream */
  char *buckets;     /* RANGE_BUCKETS points */
  uint32_t *general, *ones; /* CHUNK */
  uint32_t *refs;    /* 2 RANGE_BUCKETS */
  uint32_t *start;   /* 2 RANGE_BUCKETS + 1 */
};

enum scalar_kind { SCALAR_ZERO, SCALAR_ONE, SCALAR_MINUS_ONE, SCALAR_GENERAL };

static cuzk_fr minus_one; /* written once */
static pthread_once_t constants_once = PTHREAD_ONCE_INIT;

static void constants_init(void) { cuzk_fr_neg(&minus_one, &cuzk_fr_one); }

static inline enum scalar_kind scalar_kind(const cuzk_fr *s) {
  if (cuzk_fr_is_zero(s)) return SCALAR_ZERO;
  if (cuzk_fr_is_one(s)) return SCALAR_ONE;
  if (cuzk_fr_eq(s, &minus_one)) return SCALAR_MINUS_ONE;
  return SCALAR_GENERAL;
}

static size_t align_up(size_t n) { return (n + 63) & ~(size_t)63; }

static uint64_t density_word(const uint64_t *density, size_t n_scalars, size_t word) {
  const uint64_t v = density[word];
  return n_scalars - 64 * word >= 64 ? v : v & (((uint64_t)1 << (n_scalars % 64)) - 1);
}

static size_t count_set(const uint64_t *density, size_t n_scalars) {
  size_t n = 0;
  for (size_t w = 0; 64 * w < n_scalars; w++) n += (size_t)__builtin_popcountll(density_word(density, n_scalars, w));
  return n;
}

/* The next block: whole chunks with at most max_bases bases together, and at most four times as many scalars. */
static void cut_block(struct block *b, size_t *scalar, size_t *base, size_t n_scalars, const uint64_t *density,
                      size_t max_bases) {
  const size_t first_base = *base;
  b->n_chunks = 0;
  while (*scalar < n_scalars && b->n_chunks < max_bases / CHUNK * 4) {
    const size_t count = n_scalars - *scalar < CHUNK ? n_scalars - *scalar : CHUNK;
    size_t n = count;
    if (density) {
      n = 0;
      for (size_t w = *scalar / 64; 64 * w < *scalar + count; w++)
        n += (size_t)__builtin_popcountll(density_word(density, n_scalars, w));
    }
    if (*base + n - first_base > max_bases) break;
    b->chunks[b->n_chunks++] = (struct chunk){*scalar, count, *base, n, 0, 0};
    *scalar += count;
    *base += n;
  }
}

struct count_task {
  struct block *b;
  const cuzk_fr *s;
  const uint64_t *density;
};

static void count_chunk(void *arg, size_t task, unsigned worker) {
  (void)worker;
  const struct count_task *t = arg;
  struct chunk *c = &t->b->chunks[task];
  for (size_t j = c->first; j < c->first + c->count; j++) {
    if (t->density && !((t->density[j / 64] >> (j % 64)) & 1)) continue;
    const enum scalar_kind k = scalar_kind(&t->s[j]);
    c->general += k == SCALAR_GENERAL;
    c->ones += k == SCALAR_ONE || k == SCALAR_MINUS_ONE;
  }
}

static void sum_counts(struct block *b) {
  b->n_general = b->n_ones = 0;
  for (size_t i = 0; i < b->n_chunks; i++) {
    struct chunk *c = &b->chunks[i];
    const size_t general = c->general, ones = c->ones;
    c->general = b->n_general;
    c->ones = b->n_ones;
    b->n_general += general;
    b->n_ones += ones;
  }
  b->n_one_slices = (b->n_ones + ONE_SLICE - 1) / ONE_SLICE;
}

static void plan_make(struct plan *p, size_t n, unsigned n_workers) {
  /* Additions: one a window and point; about two a bucket; the rows' and columns' running sums cost some ten times as much. */
  uint64_t best = UINT64_MAX;
  unsigned c = 0;
  for (unsigned k = CUZK_WINDOW_BITS_MIN; k <= CUZK_WINDOW_BITS_MAX; k++) {
    const uint64_t cost = cuzk_windows_count(k) * ((uint64_t)n + (UINT64_C(2) << (k - 1)) + (UINT64_C(40) << (k / 2)));
    if (cost < best) {
      best = cost;
      c = k;
    }
  }
  cuzk_windows_init(&p->w, c);
  p->n_windows = p->w.n;
  p->n_buckets = (size_t)1 << (c - 1);
  p->log2_columns = (c - 1) / 2;
  p->n_columns = (size_t)1 << p->log2_columns;
  p->n_rows = p->n_buckets >> p->log2_columns;
  p->n_ranges = 1;
  while (p->n_ranges < p->n_rows && p->n_columns * p->n_ranges < 2 * RANGE_BUCKETS && /* finish's references */
         (p->n_buckets / p->n_ranges > RANGE_BUCKETS || n / p->n_ranges > RANGE_POINTS ||
          (p->n_windows * p->n_ranges < 4 * (size_t)n_workers && n / p->n_ranges > 1024)))
    p->n_ranges *= 2;
}

static inline void put_digits(const struct plan *p, const struct block *b, size_t at, const cuzk_fr *s) {
  uint64_t v[4];
  cuzk_windows_value(v, &p->w, s);
  for (unsigned i = 0; i < p->w.n; i++) b->digits[i * b->n_general + at] = (uint16_t)cuzk_windows_digit(v, &p->w, i);
}

static enum cuzk_status block_alloc(struct block *b, const struct plan *p, size_t point_bytes) {
  const size_t windows = b->n_general ? p->n_windows : 0, n_points = b->n_general + b->n_ones;
  const size_t per_range = p->n_rows / p->n_ranges + p->n_columns;
  const size_t sizes[7] = {align_up(n_points * point_bytes),
                           align_up(windows * p->n_ranges * per_range * point_bytes),
                           align_up(b->n_one_slices * point_bytes),
                           align_up(windows * b->n_general * sizeof *b->digits),
                           align_up(windows * b->n_general * sizeof *b->sorted),
                           align_up(windows * (p->n_buckets + 1) * sizeof *b->start),
                           align_up(b->n_ones * sizeof *b->one_refs)};
  size_t total = 0;
  for (int i = 0; i < 7; i++) total += sizes[i];
  b->memory = NULL;
  b->memory_bytes = total;
  if (total == 0) return CUZK_OK;
  char *at = b->memory = cuzk_big_alloc(total);
  if (!at) return CUZK_E_NOMEM;
  b->table = at;
  b->range_sums = (at += sizes[0]);
  b->one_sums = (at += sizes[1]);
  b->digits = (uint16_t *)(void *)(at += sizes[2]);
  b->sorted = (uint32_t *)(void *)(at += sizes[3]);
  b->start = (uint32_t *)(void *)(at += sizes[4]);
  b->one_refs = (uint32_t *)(void *)(at += sizes[5]);
  return CUZK_OK;
}

static void block_free(struct block *b) {
  cuzk_big_free(b->memory, b->memory_bytes);
  b->memory = NULL;
}

static void workers_destroy(struct worker *w, unsigned n) {
  if (!w) return;
  for (unsigned i = 0; i < n; i++) {
    cuzk_sums_clear(&w[i].sums);
    cuzk_big_free(w[i].memory, w[i].memory_bytes);
  }
  cuzk_free(w);
}

/* fetch_bytes: of one fetched base, 0 if bases are in memory. NULL: no memory. */
static struct worker *workers_create(const struct cuzk_batch_ops *ops, unsigned n, size_t fetch_bytes) {
  (void)pthread_once(&constants_once, constants_init);
  struct worker *w = cuzk_calloc(n, sizeof *w);
  if (!w) return NULL;
  const size_t fetched = align_up(CHUNK * fetch_bytes), buckets = RANGE_BUCKETS * ops->point_bytes;
  const size_t lists = (2 * CHUNK + 4 * RANGE_BUCKETS + 1) * sizeof(uint32_t);
  for (unsigned i = 0; i < n; i++) {
    if (cuzk_sums_init(&w[i].sums, ops) != CUZK_OK) goto failed;
    char *p = cuzk_big_alloc(fetched + buckets + lists);
    if (!p) goto failed;
    w[i].memory = p;
    w[i].memory_bytes = fetched + buckets + lists;
    w[i].fetched = p;
    w[i].buckets = p + fetched;
    w[i].general = (uint32_t *)(void *)(p + fetched + buckets);
    w[i].ones = w[i].general + CHUNK;
    w[i].refs = w[i].ones + CHUNK;
    w[i].start = w[i].refs + 2 * RANGE_BUCKETS;
  }
  return w;
failed:
  workers_destroy(w, n);
  return NULL;
}

struct sum_task {
  const struct plan *p;
  const struct block *b;
  struct worker *workers;
};

static void sum_ones(void *arg, size_t task, unsigned worker) {
  const struct sum_task *t = arg;
  struct worker *w = &t->workers[worker];
  const struct block *b = t->b;
  const size_t first = task * ONE_SLICE, n = b->n_ones - first < ONE_SLICE ? b->n_ones - first : ONE_SLICE;
  const uint32_t start[2] = {0, (uint32_t)n};
  cuzk_sums_run(&w->sums, b->one_sums + task * w->sums.ops->point_bytes, b->table, b->one_refs + first, start, 1);
}

static void sort_window(void *arg, size_t task, unsigned worker) {
  (void)worker;
  const struct sum_task *t = arg;
  const struct plan *p = t->p;
  const size_t n = t->b->n_general;
  const uint16_t *digits = t->b->digits + task * n;
  uint32_t *sorted = t->b->sorted + task * n, *start = t->b->start + task * (p->n_buckets + 1);
  const int half = cuzk_windows_half(&p->w, (unsigned)task);
  memset(start, 0, (p->n_buckets + 1) * sizeof *start);
  for (size_t i = 0; i < n; i++) {
    const int d = digits[i] - half;
    start[d < 0 ? -d : d]++; /* bucket b is counted one place up; zeros land in place 0 */
  }
  uint32_t total = start[0] = 0;
  for (size_t i = 1; i <= p->n_buckets; i++) { /* place i: where bucket i - 1 begins */
    const uint32_t count = start[i];
    start[i] = total;
    total += count;
  }
  for (size_t i = 0; i < n; i++) {
    const int d = digits[i] - half;
    if (d == 0) continue;
    sorted[start[d < 0 ? -d : d]++] = (uint32_t)i | (d < 0 ? CUZK_BATCH_NEG : 0);
  }
  /* Each place has moved to the end of its bucket, which is the beginning of the next: start[i] is where bucket i begins. */
}

static void sum_range(void *arg, size_t task, unsigned worker) {
  const struct sum_task *t = arg;
  const struct plan *p = t->p;
  const struct block *b = t->b;
  struct worker *w = &t->workers[worker];
  const size_t bytes = w->sums.ops->point_bytes;
  const size_t window = task / p->n_ranges, range = task % p->n_ranges;
  const size_t n_buckets = p->n_buckets / p->n_ranges, n_rows = p->n_rows / p->n_ranges;
  const uint32_t *start = b->start + window * (p->n_buckets + 1) + range * n_buckets;
  cuzk_sums_run(&w->sums, w->buckets, b->table, b->sorted + window * b->n_general, start, n_buckets);
  size_t n = 0, seg = 0;
  for (size_t r = 0; r < n_rows; r++) {
    w->start[seg++] = (uint32_t)n;
    for (size_t i = r * p->n_columns; i < (r + 1) * p->n_columns; i++)
      if (start[i] != start[i + 1]) w->refs[n++] = (uint32_t)i;
  }
  for (size_t c = 0; c < p->n_columns; c++) {
    w->start[seg++] = (uint32_t)n;
    for (size_t i = c; i < n_buckets; i += p->n_columns)
      if (start[i] != start[i + 1]) w->refs[n++] = (uint32_t)i;
  }
  w->start[seg] = (uint32_t)n;
  cuzk_sums_run(&w->sums, b->range_sums + (window * p->n_ranges + range) * (n_rows + p->n_columns) * bytes, w->buckets, w->refs,
                w->start, seg);
}

#define MSM_G(x) cuzk_g1_##x
#define MSM_FN(x) g1_##x
#define MSM_AFFINE cuzk_g1_affine
#define MSM_JAC cuzk_g1
#define MSM_BASES cuzk_bases_g1
#define MSM_PUBLIC(x) cuzk_msm_g1##x
#define MSM_OPS cuzk_batch_g1
#define MSM_BLOCK ((size_t)1 << 21)
#include "msm/msm_tmpl.h"
#undef MSM_G
#undef MSM_FN
#undef MSM_AFFINE
#undef MSM_JAC
#undef MSM_BASES
#undef MSM_PUBLIC
#undef MSM_OPS
#undef MSM_BLOCK

#define MSM_G(x) cuzk_g2_##x
#define MSM_FN(x) g2_##x
#define MSM_AFFINE cuzk_g2_affine
#define MSM_JAC cuzk_g2
#define MSM_BASES cuzk_bases_g2
#define MSM_PUBLIC(x) cuzk_msm_g2##x
#define MSM_OPS cuzk_batch_g2
#define MSM_BLOCK ((size_t)1 << 20)
#include "msm/msm_tmpl.h"
