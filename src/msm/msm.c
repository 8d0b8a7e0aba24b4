/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The steps are drawn in docs/internals/msm.md. A call works through blocks of bases; a block through
 *   count    chunks of scalars: how many are zero, one (or minus one), general
 *   place    chunks again: digits of the general scalars, their points into the table of the batch kernels; points with scalar
 *            one or minus one are summed at once, each worker for itself
 *   sort     windows, some at a time: references to points by bucket (counting sort)
 *   range    runs of buckets of these windows: bucket sums, then the sums of their rows and columns
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
#define SORTED_WINDOWS ((size_t)4)   /* sorted at a time, at least */
#define RANGE_BUCKETS ((size_t)4096) /* at most, of a task of the bucket stage */
#define RANGE_POINTS ((size_t)1 << 16) /* about, the same */
#define LEVEL_POINTS ((size_t)4096)    /* of a level of the sums of ones: stays in the second-level cache */
#define LEVELS ((size_t)24)            /* enough for 2^35 points a worker */

struct plan {
  struct cuzk_windows w;
  unsigned n_windows; /* w.n */
  unsigned log2_columns;
  size_t n_buckets;    /* 2^(c-1), bucket i is for digits i + 1 and -(i + 1) */
  size_t n_columns, n_rows; /* bucket = row * n_columns + column */
  size_t n_ranges;     /* a window; divides n_rows */
  size_t n_sorted;     /* windows that are sorted and summed at a time: enough to keep all workers busy */
};

struct chunk {
  size_t first, count; /* scalars */
  size_t base, n_bases;
  size_t general; /* count of general scalars, then their place within the block */
};

struct block {
  struct chunk *chunks;
  size_t n_chunks;
  size_t n_general;
  char *memory; /* holds what follows; the next block takes it over, since the kernel clears every page of a new one */
  size_t memory_bytes;
  char *table;         /* n_general points */
  char *range_sums;    /* [window][range][rows of the range, then columns] */
  uint16_t *digits;    /* [window][n_general] */
  uint32_t *sorted;    /* [n_sorted][n_general] references by bucket */
  uint32_t *start;     /* [n_sorted][n_buckets + 1] where each bucket's begin */
};

struct worker {
  struct cuzk_sums sums;
  char *memory;
  size_t memory_bytes;
  void *fetched;     /* CHUNK bases of a stream */
  char *buckets;     /* RANGE_BUCKETS points */
  uint32_t *general, *ones; /* CHUNK each */
  /* Points with scalar one, met so far: level 0 takes them as they come, a full level goes into the next one as half as many sums
   * of pairs. Lasts for the whole call. */
  char *levels;             /* LEVELS * LEVEL_POINTS points */
  uint32_t *signs;          /* references to level 0 */
  size_t n_level[LEVELS];
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

/* NULL: all. */
static uint64_t density_word(const uint64_t *density, size_t n_scalars, size_t word) {
  const uint64_t v = density ? density[word] : UINT64_MAX;
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
    b->chunks[b->n_chunks++] = (struct chunk){*scalar, count, *base, n, 0};
    *scalar += count;
    *base += n;
  }
}

/* Field elements among packed scalars: the first of word w is fields[rank[w]]. */
static inline const cuzk_fr *packed_field(const struct cuzk_msm_packed *p, size_t word, unsigned bit) {
  const uint64_t below = p->is_field[word] & (((uint64_t)1 << bit) - 1);
  return &p->fields[p->rank[word] + (uint32_t)__builtin_popcountll(below)];
}

struct count_task {
  struct block *b;
  const cuzk_fr *s;
  const struct cuzk_msm_packed *packed; /* or NULL: s */
  const uint64_t *density;
  size_t n_scalars;
};

static void count_chunk(void *arg, size_t task, unsigned worker) {
  (void)worker;
  const struct count_task *t = arg;
  struct chunk *c = &t->b->chunks[task];
  if (t->packed) {
    for (size_t w = c->first / 64; 64 * w < c->first + c->count; w++) {
      uint64_t left = density_word(t->density, t->n_scalars, w) & t->packed->is_field[w];
      for (; left; left &= left - 1)
        c->general += scalar_kind(packed_field(t->packed, w, (unsigned)__builtin_ctzll(left))) == SCALAR_GENERAL;
    }
    return;
  }
  for (size_t j = c->first; j < c->first + c->count; j++) {
    if (t->density && !((t->density[j / 64] >> (j % 64)) & 1)) continue;
    const enum scalar_kind k = scalar_kind(&t->s[j]);
    c->general += k == SCALAR_GENERAL;
  }
}

static void sum_counts(struct block *b) {
  b->n_general = 0;
  for (size_t i = 0; i < b->n_chunks; i++) {
    const size_t n = b->chunks[i].general;
    b->chunks[i].general = b->n_general;
    b->n_general += n;
  }
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
  p->n_sorted = 2 * (size_t)n_workers < SORTED_WINDOWS ? SORTED_WINDOWS : 2 * (size_t)n_workers;
  if (p->n_sorted > p->n_windows) p->n_sorted = p->n_windows;
}

static inline void put_digits(const struct plan *p, const struct block *b, size_t at, const cuzk_fr *s) {
  uint64_t v[4];
  cuzk_windows_value(v, &p->w, s);
  for (unsigned i = 0; i < p->w.n; i++) b->digits[i * b->n_general + at] = (uint16_t)cuzk_windows_digit(v, &p->w, i);
}

static void block_free(struct block *b) {
  cuzk_big_free(b->memory, b->memory_bytes);
  b->memory = NULL;
  b->memory_bytes = 0;
}

static enum cuzk_status block_alloc(struct block *b, const struct plan *p, size_t point_bytes) {
  const size_t per_range = p->n_rows / p->n_ranges + p->n_columns;
  const size_t sizes[5] = {align_up(b->n_general * point_bytes),
                           align_up(p->n_windows * p->n_ranges * per_range * point_bytes),
                           align_up(p->n_windows * b->n_general * sizeof *b->digits),
                           align_up(p->n_sorted * b->n_general * sizeof *b->sorted),
                           align_up(p->n_sorted * (p->n_buckets + 1) * sizeof *b->start)};
  size_t total = 0;
  for (int i = 0; i < 5; i++) total += sizes[i];
  if (b->n_general == 0) return CUZK_OK;
  if (total > b->memory_bytes) {
    block_free(b);
    b->memory = cuzk_big_alloc(total);
    if (!b->memory) return CUZK_E_NOMEM;
    b->memory_bytes = total;
  }
  char *at = b->memory;
  b->table = at;
  b->range_sums = (at += sizes[0]);
  b->digits = (uint16_t *)(void *)(at += sizes[1]);
  b->sorted = (uint32_t *)(void *)(at += sizes[2]);
  b->start = (uint32_t *)(void *)(at += sizes[3]);
  return CUZK_OK;
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
  const size_t levels = LEVELS * LEVEL_POINTS * ops->point_bytes; /* touched only as they fill */
  const size_t lists = (2 * CHUNK + 4 * RANGE_BUCKETS + 1 + LEVEL_POINTS) * sizeof(uint32_t);
  const size_t bytes = fetched + buckets + levels + lists;
  for (unsigned i = 0; i < n; i++) {
    if (cuzk_sums_init(&w[i].sums, ops) != CUZK_OK) goto failed;
    char *p = cuzk_big_alloc(bytes);
    if (!p) goto failed;
    w[i].memory = p;
    w[i].memory_bytes = bytes;
    w[i].fetched = p;
    w[i].buckets = p + fetched;
    w[i].levels = p + fetched + buckets;
    w[i].general = (uint32_t *)(void *)(p + fetched + buckets + levels);
    w[i].ones = w[i].general + CHUNK;
    w[i].refs = w[i].ones + CHUNK;
    w[i].start = w[i].refs + 2 * RANGE_BUCKETS;
    w[i].signs = w[i].start + 2 * RANGE_BUCKETS + 1;
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
  size_t first; /* window of task 0 */
};

/* Level k is full: its first half plus its second goes to the end of level k + 1. */
static void push_level(struct worker *w, size_t k) {
  struct cuzk_sums *s = &w->sums;
  const size_t bytes = s->ops->point_bytes, half = LEVEL_POINTS / 2;
  for (size_t i = 0; i < half; i++) {
    s->a[i] = k ? (uint32_t)i : w->signs[i];
    s->b[i] = k ? (uint32_t)(i + half) : w->signs[i + half];
    s->to[i] = (uint32_t)(LEVEL_POINTS + w->n_level[k + 1] + i);
  }
  char *level = w->levels + k * LEVEL_POINTS * bytes;
  s->ops->add(level, s->to, level, s->a, s->b, half, s->scratch);
  w->n_level[k] = 0;
  w->n_level[k + 1] += half;
}

/* Takes the points index[i] of p (group's affine type), the opposite where the index is marked. */
static void push_ones(struct worker *w, const void *p, uint32_t *index, size_t n) {
  const struct cuzk_batch_ops *ops = w->sums.ops;
  for (size_t done = 0; done < n;) {
    const size_t at = w->n_level[0], m = n - done < LEVEL_POINTS - at ? n - done : LEVEL_POINTS - at;
    for (size_t i = 0; i < m; i++) {
      w->signs[at + i] = (uint32_t)(at + i) | (index[done + i] & CUZK_BATCH_NEG);
      index[done + i] &= CUZK_BATCH_INDEX;
    }
    ops->load(w->levels + at * ops->point_bytes, p, index + done, m);
    done += m;
    w->n_level[0] += m;
    for (size_t k = 0; k + 1 < LEVELS && w->n_level[k] == LEVEL_POINTS; k++) push_level(w, k);
  }
}

/* Everything left in the levels of one worker, into its bucket 0. */
static void finish_ones(void *arg, size_t task, unsigned worker) {
  (void)worker;
  struct worker *w = (struct worker *)arg + task;
  const size_t bytes = w->sums.ops->point_bytes;
  char *total = w->buckets; /* one a level, then their sum */
  uint32_t *refs = w->refs;
  for (size_t k = 0; k < LEVELS; k++) {
    for (size_t i = 0; i < w->n_level[k]; i++) refs[i] = k ? (uint32_t)i : w->signs[i];
    const uint32_t start[2] = {0, (uint32_t)w->n_level[k]};
    cuzk_sums_run(&w->sums, total + (k + 1) * bytes, w->levels + k * LEVEL_POINTS * bytes, refs, start, 1);
  }
  for (uint32_t k = 0; k < LEVELS; k++) refs[k] = k + 1;
  const uint32_t start[2] = {0, (uint32_t)LEVELS};
  cuzk_sums_run(&w->sums, w->levels, total, refs, start, 1);
  memcpy(total, w->levels, bytes);
}

static void sort_window(void *arg, size_t task, unsigned worker) {
  (void)worker;
  const struct sum_task *t = arg;
  const struct plan *p = t->p;
  const size_t n = t->b->n_general;
  const size_t window = t->first + task;
  const uint16_t *digits = t->b->digits + window * n;
  uint32_t *sorted = t->b->sorted + task * n, *start = t->b->start + task * (p->n_buckets + 1);
  const int half = cuzk_windows_half(&p->w, (unsigned)window);
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
  const size_t place = task / p->n_ranges, range = task % p->n_ranges, window = t->first + place;
  const size_t n_buckets = p->n_buckets / p->n_ranges, n_rows = p->n_rows / p->n_ranges;
  const uint32_t *start = b->start + place * (p->n_buckets + 1) + range * n_buckets;
  cuzk_sums_run(&w->sums, w->buckets, b->table, b->sorted + place * b->n_general, start, n_buckets);
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
