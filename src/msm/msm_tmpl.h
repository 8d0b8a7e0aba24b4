/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Multi-scalar multiplication over one group; included once per group, never linked. Before inclusion define MSM_G(name)
 * (functions of the group), MSM_FN(name) (statics), MSM_AFFINE, MSM_JAC, MSM_BASES (struct tag), MSM_PUBLIC(suffix),
 * MSM_OPS (function that picks the batch table), MSM_BLOCK (bases a block). */

/* *r = total of the affine point table entry, identity included. */
static void MSM_FN(take)(MSM_AFFINE *r, const struct cuzk_batch_ops *ops, const void *table, size_t index) {
  const uint32_t i = (uint32_t)index;
  ops->store(r, table, &i, 1);
}

struct MSM_FN(job) {
  const struct cuzk_batch_ops *ops;
  const struct MSM_BASES *src; /* or NULL: memory */
  const MSM_AFFINE *memory;
  const cuzk_fr *s;
  const struct cuzk_msm_packed *packed; /* or NULL: s */
  const uint64_t *density;
  size_t n_scalars;
  struct cuzk_pool *pool;
  struct worker *workers;
  struct plan plan;
  struct block block;
  _Atomic int status; /* first failure of a task */
  struct cuzk_detail *detail;
  pthread_mutex_t lock; /* guards detail */
};

/* What place() has found in a chunk so far. */
struct MSM_FN(found) {
  struct MSM_FN(job) *m;
  struct worker *w;
  size_t at; /* of the chunk's first general scalar within the block */
  size_t n_general, n_ones;
};

static inline __attribute__((always_inline)) void MSM_FN(take_scalar)(struct MSM_FN(found) *f, const cuzk_fr *s, uint32_t base) {
  switch (scalar_kind(s)) {
    case SCALAR_ZERO: break;
    case SCALAR_GENERAL:
      put_digits(&f->m->plan, &f->m->block, f->at + f->n_general, s);
      f->w->general[f->n_general++] = base;
      break;
    case SCALAR_ONE:
      f->w->ones[f->n_ones++] = base;
      break;
    case SCALAR_MINUS_ONE:
      f->w->ones[f->n_ones++] = base | CUZK_BATCH_NEG;
      break;
  }
}

static void MSM_FN(place_packed)(struct MSM_FN(found) *f, const struct chunk *c) {
  const struct MSM_FN(job) *m = f->m;
  const struct cuzk_msm_packed *p = m->packed;
  uint32_t base = 0; /* of the word's first scalar, within the chunk */
  for (size_t word = c->first / 64; 64 * word < c->first + c->count; word++) {
    const uint64_t wanted = density_word(m->density, m->n_scalars, word);
    for (uint64_t left = wanted & p->bits[word]; left; left &= left - 1)
      f->w->ones[f->n_ones++] = base + (uint32_t)__builtin_popcountll(wanted & ((left & -left) - 1));
    for (uint64_t left = wanted & p->is_field[word]; left; left &= left - 1)
      MSM_FN(take_scalar)(f, packed_field(p, word, (unsigned)__builtin_ctzll(left)),
                          base + (uint32_t)__builtin_popcountll(wanted & ((left & -left) - 1)));
    base += (uint32_t)__builtin_popcountll(wanted);
  }
}

static void MSM_FN(place)(void *arg, size_t task, unsigned worker) {
  struct MSM_FN(job) *m = arg;
  struct block *b = &m->block;
  struct worker *w = &m->workers[worker];
  const struct chunk *c = &b->chunks[task];
  if (atomic_load_explicit(&m->status, memory_order_relaxed) != CUZK_OK) return;
  const MSM_AFFINE *p = m->memory ? m->memory + c->base : w->fetched;
  if (!m->memory && c->n_bases) {
    struct cuzk_detail d = {{0}};
    const enum cuzk_status st = m->src->fetch(m->src->user, w->fetched, c->base, c->n_bases, &d);
    if (st != CUZK_OK) {
      (void)pthread_mutex_lock(&m->lock);
      if (atomic_load(&m->status) == CUZK_OK) {
        if (m->detail) *m->detail = d;
        atomic_store(&m->status, (int)st);
      }
      (void)pthread_mutex_unlock(&m->lock);
      return;
    }
  }
  struct MSM_FN(found) f = {.m = m, .w = w, .at = c->general};
  if (m->packed) {
    MSM_FN(place_packed)(&f, c);
  } else {
    uint32_t k = 0; /* base within the chunk */
    for (size_t j = c->first; j < c->first + c->count; j++) {
      if (m->density && !((m->density[j / 64] >> (j % 64)) & 1)) continue;
      MSM_FN(take_scalar)(&f, &m->s[j], k++);
    }
  }
  if (f.n_general) m->ops->load(b->table + c->general * m->ops->point_bytes, p, w->general, f.n_general);
  push_ones(w, p, w->ones, f.n_ones);
}

/* Total of one window from its row and column sums: sum over (row * 2^k + column + 1) * bucket. */
static void MSM_FN(window_total)(MSM_JAC *r, const struct cuzk_batch_ops *ops, const char *rows, size_t row_stride,
                                 size_t rows_a_range, size_t n_rows, const char *columns, size_t n_columns, unsigned k) {
  MSM_JAC run = MSM_G(identity), sum = MSM_G(identity);
  MSM_AFFINE p;
  for (size_t i = n_rows; i-- > 1;) {
    MSM_FN(take)(&p, ops, rows + i / rows_a_range * row_stride, i % rows_a_range);
    MSM_G(add_affine)(&run, &run, &p);
    MSM_G(add)(&sum, &sum, &run);
  }
  for (unsigned i = 0; i < k; i++) MSM_G(dbl)(&sum, &sum);
  run = MSM_G(identity);
  for (size_t i = n_columns; i-- > 0;) {
    MSM_FN(take)(&p, ops, columns, i);
    MSM_G(add_affine)(&run, &run, &p);
    MSM_G(add)(&sum, &sum, &run);
  }
  *r = sum;
}

struct MSM_FN(totals) {
  struct MSM_FN(job) *m;
  MSM_JAC *window; /* n_windows */
};

static void MSM_FN(finish)(void *arg, size_t task, unsigned worker) {
  struct MSM_FN(totals) *t = arg;
  const struct MSM_FN(job) *m = t->m;
  const struct plan *p = &m->plan;
  const size_t bytes = m->ops->point_bytes, n_rows_a_range = p->n_rows / p->n_ranges, per_range = n_rows_a_range + p->n_columns;
  struct worker *w = &m->workers[worker];
  const char *sums = m->block.range_sums + task * p->n_ranges * per_range * bytes;
  const char *columns = sums + n_rows_a_range * bytes;
  if (p->n_ranges > 1) {
    size_t n = 0;
    for (size_t c = 0; c < p->n_columns; c++) {
      w->start[c] = (uint32_t)n;
      for (size_t r = 0; r < p->n_ranges; r++) w->refs[n++] = (uint32_t)(r * per_range + n_rows_a_range + c);
    }
    w->start[p->n_columns] = (uint32_t)n;
    cuzk_sums_run(&w->sums, w->buckets, sums, w->refs, w->start, p->n_columns);
    columns = w->buckets;
  }
  MSM_FN(window_total)(&t->window[task], m->ops, sums, per_range * bytes, n_rows_a_range, p->n_rows, columns, p->n_columns,
                       p->log2_columns);
}

/* Adds the block's sum to *acc. */
static enum cuzk_status MSM_FN(run_block)(struct MSM_FN(job) *m, MSM_JAC *acc) {
  enum cuzk_status st = CUZK_OK;
  struct block *b = &m->block;
  const unsigned n_workers = cuzk_pool_workers(m->pool);
  MSM_JAC window[CUZK_WINDOWS_MAX];
  struct count_task ct = {b, m->s, m->packed, m->density, m->n_scalars};
  cuzk_pool_run(m->pool, count_chunk, &ct, b->n_chunks);
  sum_counts(b);
  plan_make(&m->plan, b->n_general, n_workers);
  CUZK_TRY(block_alloc(b, &m->plan, m->ops->point_bytes));
  cuzk_pool_run(m->pool, MSM_FN(place), m, b->n_chunks);
  CUZK_TRY((enum cuzk_status)atomic_load(&m->status));
  if (b->n_general) {
    for (size_t w = 0; w < m->plan.n_windows; w += m->plan.n_sorted) {
      const size_t left = m->plan.n_windows - w, n = left < m->plan.n_sorted ? left : m->plan.n_sorted;
      struct sum_task t = {&m->plan, b, m->workers, w};
      cuzk_pool_run(m->pool, sort_window, &t, n);
      cuzk_pool_run(m->pool, sum_range, &t, n * m->plan.n_ranges);
    }
    struct MSM_FN(totals) f = {m, window};
    cuzk_pool_run(m->pool, MSM_FN(finish), &f, m->plan.n_windows);
    MSM_JAC total = window[m->plan.n_windows - 1];
    for (size_t i = m->plan.n_windows - 1; i-- > 0;) {
      for (unsigned k = 0; k < m->plan.w.c; k++) MSM_G(dbl)(&total, &total);
      MSM_G(add)(&total, &total, &window[i]);
    }
    MSM_G(add)(acc, acc, &total);
  }
out:
  return st;
}

static enum cuzk_status MSM_FN(run)(MSM_JAC *out, const struct MSM_BASES *src, const MSM_AFFINE *memory, size_t n_bases,
                                    const cuzk_fr *s, const struct cuzk_msm_packed *packed, size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool,
                                    const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  *out = MSM_G(identity);
  const size_t set = density ? count_set(density, n_scalars) : n_scalars;
  if (set != n_bases) return cuzk_fail(d, CUZK_E_ARG, "%zu bases for %zu scalars", n_bases, set);
  if (n_bases == 0) return CUZK_OK;
  const unsigned n_workers = cuzk_pool_workers(pool);
  struct MSM_FN(job) m = {.ops = MSM_OPS(),
                          .src = src,
                          .memory = memory,
                          .s = s,
                          .packed = packed,
                          .density = density,
                          .n_scalars = n_scalars,
                          .pool = pool,
                          .detail = d};
  MSM_JAC acc = MSM_G(identity);
  (void)pthread_mutex_init(&m.lock, NULL);
  m.workers = workers_create(m.ops, n_workers, memory ? 0 : sizeof(MSM_AFFINE));
  m.block.chunks = cuzk_malloc_array(MSM_BLOCK / CHUNK * 4, sizeof *m.block.chunks);
  if (!m.workers || !m.block.chunks) CUZK_TRY(CUZK_E_NOMEM);
  size_t scalar = 0, base = 0;
  while (scalar < n_scalars) {
    cut_block(&m.block, &scalar, &base, n_scalars, density, MSM_BLOCK);
    CUZK_TRY(MSM_FN(run_block)(&m, &acc));
    if (!cuzk_progress(progress, stage, base, n_bases, "points")) CUZK_TRY(CUZK_E_CANCELLED);
  }
  cuzk_pool_run(pool, finish_ones, m.workers, n_workers);
  for (unsigned i = 0; i < n_workers; i++) {
    MSM_AFFINE p;
    MSM_FN(take)(&p, m.ops, m.workers[i].buckets, 0);
    MSM_G(add_affine)(&acc, &acc, &p);
  }
  *out = acc;
out:
  if (st == CUZK_E_NOMEM) (void)cuzk_fail(d, st, "no memory for a sum of %zu points", n_bases);
  block_free(&m.block);
  cuzk_free(m.block.chunks);
  workers_destroy(m.workers, n_workers);
  (void)pthread_mutex_destroy(&m.lock);
  return st;
}

enum cuzk_status MSM_PUBLIC(_stream)(MSM_JAC *out, const struct MSM_BASES *src, size_t n_bases, const cuzk_fr *s,
                                     size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool,
                                     const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d) {
  return MSM_FN(run)(out, src, NULL, n_bases, s, NULL, n_scalars, density, pool, progress, stage, d);
}

enum cuzk_status MSM_PUBLIC(_stream_packed)(MSM_JAC *out, const struct MSM_BASES *src, size_t n_bases, const struct cuzk_msm_packed *s,
                                            size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool,
                                            const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d) {
  return MSM_FN(run)(out, src, NULL, n_bases, NULL, s, n_scalars, density, pool, progress, stage, d);
}

enum cuzk_status MSM_PUBLIC(_dense)(MSM_JAC *out, const MSM_AFFINE *p, size_t n_bases, const cuzk_fr *s, size_t n_scalars,
                                    const uint64_t *density, struct cuzk_pool *pool) {
  return MSM_FN(run)(out, NULL, p, n_bases, s, NULL, n_scalars, density, pool, NULL, NULL, NULL);
}

enum cuzk_status MSM_PUBLIC()(MSM_JAC *out, const MSM_AFFINE *p, const cuzk_fr *s, size_t n, struct cuzk_pool *pool) {
  return MSM_FN(run)(out, NULL, p, n, s, NULL, n, NULL, pool, NULL, NULL, NULL);
}
