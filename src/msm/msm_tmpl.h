/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Multi-scalar multiplication over one group; included once per group, never linked. Before inclusion define MSM_G(name)
 * (functions of the group), MSM_FN(name) (statics), MSM_AFFINE, MSM_JAC, MSM_BASES (struct tag), MSM_PUBLIC(suffix). */

#define BLOCK ((size_t)1 << 18)

struct MSM_FN(work) {
  const MSM_AFFINE *p;
  uint64_t (*k)[4]; /* canonical scalars of the block */
  size_t n;
  unsigned c, n_windows;
  MSM_JAC *sums;    /* one a window */
  MSM_JAC *buckets; /* 2^(c-1) a worker */
};

static int MSM_FN(digit)(const uint64_t k[4], unsigned c, unsigned w) {
  /* Signed digit of window w: the plain one plus the carry of the bits below, minus 2^c when it is above 2^(c-1). The carry into
   * window w is bit w*c-1 except that a digit of exactly 2^(c-1) before carries too, so it is found by walking up. */
  unsigned carry = 0;
  int d = 0;
  for (unsigned i = 0; i <= w; i++) {
    const unsigned b = i * c;
    uint64_t v = b < 256 ? k[b / 64] >> (b % 64) : 0;
    if (b % 64 + c > 64 && b / 64 + 1 < 4) v |= k[b / 64 + 1] << (64 - b % 64);
    v = (v & ((1u << c) - 1)) + carry;
    carry = v > (1u << (c - 1));
    d = (int)v - (carry ? 1 << c : 0);
  }
  return d;
}

static void MSM_FN(window)(void *arg, size_t w, unsigned worker) {
  struct MSM_FN(work) *m = arg;
  const size_t nb = (size_t)1 << (m->c - 1);
  MSM_JAC *b = m->buckets + nb * worker;
  for (size_t i = 0; i < nb; i++) b[i] = MSM_G(identity);
  for (size_t i = 0; i < m->n; i++) {
    const int d = MSM_FN(digit)(m->k[i], m->c, (unsigned)w);
    if (d > 0) MSM_G(add_affine)(&b[d - 1], &b[d - 1], &m->p[i]);
    if (d < 0) {
      MSM_AFFINE q;
      MSM_G(affine_neg)(&q, &m->p[i]);
      MSM_G(add_affine)(&b[-d - 1], &b[-d - 1], &q);
    }
  }
  MSM_JAC run = MSM_G(identity), sum = MSM_G(identity);
  for (size_t i = nb; i-- > 0;) {
    MSM_G(add)(&run, &run, &b[i]);
    MSM_G(add)(&sum, &sum, &run);
  }
  m->sums[w] = sum;
}

enum cuzk_status MSM_PUBLIC(_stream)(MSM_JAC *out, const struct MSM_BASES *src, size_t n_bases, const cuzk_fr *s,
                                     size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool,
                                     const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  const size_t cap = n_bases < BLOCK ? n_bases : BLOCK;
  struct MSM_FN(work) m = {.c = cap < 64 ? 4 : cap < 4096 ? 8 : 12};
  m.n_windows = 256 / m.c + 1;
  MSM_AFFINE *p = NULL;
  MSM_JAC acc = MSM_G(identity);
  *out = MSM_G(identity);
  size_t set = n_scalars;
  if (density) {
    set = 0;
    for (size_t j = 0; j < n_scalars; j++) set += (density[j / 64] >> (j % 64)) & 1;
  }
  if (set != n_bases) return cuzk_fail(d, CUZK_E_ARG, "%zu bases for %zu scalars", n_bases, set);
  if (n_bases == 0) return CUZK_OK;
  p = cuzk_malloc_array(cap, sizeof *p);
  m.k = cuzk_malloc_array(cap, sizeof *m.k);
  m.sums = cuzk_malloc_array(m.n_windows, sizeof *m.sums);
  m.buckets = cuzk_malloc_array((size_t)cuzk_pool_workers(pool) << (m.c - 1), sizeof *m.buckets);
  if (!p || !m.k || !m.sums || !m.buckets) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a sum of %zu points", n_bases);
    goto out;
  }
  m.p = p;
  size_t j = 0;
  for (size_t first = 0; first < n_bases; first += m.n) {
    m.n = n_bases - first < cap ? n_bases - first : cap;
    CUZK_TRY(src->fetch(src->user, p, first, m.n, d));
    for (size_t i = 0; i < m.n; j++)
      if (!density || ((density[j / 64] >> (j % 64)) & 1)) cuzk_fr_to_canon(m.k[i++], &s[j]);
    cuzk_pool_run(pool, MSM_FN(window), &m, m.n_windows);
    MSM_JAC t = MSM_G(identity);
    for (unsigned w = m.n_windows; w-- > 0;) {
      for (unsigned i = 0; i < m.c; i++) MSM_G(dbl)(&t, &t);
      MSM_G(add)(&t, &t, &m.sums[w]);
    }
    MSM_G(add)(&acc, &acc, &t);
    if (!cuzk_progress(progress, stage, first + m.n, n_bases, "points")) CUZK_TRY(CUZK_E_CANCELLED);
  }
  *out = acc;
out:
  cuzk_free(p);
  cuzk_free(m.k);
  cuzk_free(m.sums);
  cuzk_free(m.buckets);
  return st;
}

static enum cuzk_status MSM_FN(fetch_memory)(void *user, MSM_AFFINE *dst, size_t first, size_t count, struct cuzk_detail *d) {
  (void)d;
  memcpy(dst, (const MSM_AFFINE *)user + first, count * sizeof *dst);
  return CUZK_OK;
}

enum cuzk_status MSM_PUBLIC(_dense)(MSM_JAC *out, const MSM_AFFINE *p, size_t n_bases, const cuzk_fr *s, size_t n_scalars,
                                    const uint64_t *density, struct cuzk_pool *pool) {
  union {
    const MSM_AFFINE *c;
    void *v;
  } u = {p};
  const struct MSM_BASES src = {MSM_FN(fetch_memory), u.v};
  return MSM_PUBLIC(_stream)(out, &src, n_bases, s, n_scalars, density, pool, NULL, NULL, NULL);
}

enum cuzk_status MSM_PUBLIC()(MSM_JAC *out, const MSM_AFFINE *p, const cuzk_fr *s, size_t n, struct cuzk_pool *pool) {
  return MSM_PUBLIC(_dense)(out, p, n, s, n, NULL, pool);
}
#undef BLOCK
