/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Multiples of one point, over one group; included once per group, never linked. */

#define CHUNK ((size_t)512)

struct FIX_STRUCT {
  unsigned c, n_windows;
  FIX_AFFINE *t; /* t[w * 2^c + d] = d 2^(wc) base */
};

enum cuzk_status FIX_PUBLIC(create)(struct FIX_STRUCT **out, const FIX_AFFINE *base, size_t n_expected,
                                    struct cuzk_pool *pool) {
  (void)pool;
  enum cuzk_status st = CUZK_E_NOMEM;
  *out = NULL;
  const unsigned c = n_expected < 256 ? 4 : 8, n_windows = 256 / c;
  const size_t n = (size_t)n_windows << c;
  FIX_JAC *j = cuzk_malloc_array(n, sizeof *j), b;
  struct FIX_STRUCT *f = cuzk_calloc(1, sizeof *f);
  if (!j || !f) goto out;
  f->t = cuzk_malloc_array(n, sizeof *f->t);
  if (!f->t) goto out;
  f->c = c;
  f->n_windows = n_windows;
  FIX_G(from_affine)(&b, base);
  for (size_t i = 0; i < n; i++) {
    if (i % ((size_t)1 << c) == 0) {
      if (i) FIX_G(add)(&b, &b, &j[i - 1]); /* b + (2^c - 1) b */
      j[i] = FIX_G(identity);
    } else {
      FIX_G(add)(&j[i], &j[i - 1], &b);
    }
  }
  st = FIX_G(to_affine_batch)(f->t, j, n);
out:
  if (st == CUZK_OK) {
    *out = f;
  } else {
    FIX_PUBLIC(destroy)(&f);
  }
  cuzk_free(j);
  return st;
}

void FIX_PUBLIC(destroy)(struct FIX_STRUCT **t) {
  if (!*t) return;
  cuzk_free((*t)->t);
  cuzk_free(*t);
  *t = NULL;
}

struct FIX_FN(job) {
  const struct FIX_STRUCT *f;
  FIX_AFFINE *out;
  const cuzk_fr *s;
  size_t n;
  FIX_JAC *scratch; /* CHUNK a worker */
  _Atomic bool failed;
};

static void FIX_FN(chunk)(void *arg, size_t task, unsigned worker) {
  struct FIX_FN(job) *b = arg;
  const size_t first = task * CHUNK, n = b->n - first < CHUNK ? b->n - first : CHUNK;
  FIX_JAC *j = b->scratch + worker * CHUNK;
  for (size_t i = 0; i < n; i++) {
    uint64_t k[4];
    cuzk_fr_to_canon(k, &b->s[first + i]);
    j[i] = FIX_G(identity);
    for (unsigned w = 0; w < b->f->n_windows; w++) {
      const unsigned bit = w * b->f->c;
      const size_t d = (k[bit / 64] >> (bit % 64)) & (((size_t)1 << b->f->c) - 1);
      if (d) FIX_G(add_affine)(&j[i], &j[i], &b->f->t[((size_t)w << b->f->c) + d]);
    }
  }
  if (FIX_G(to_affine_batch)(b->out + first, j, n) != CUZK_OK) atomic_store(&b->failed, true);
}

enum cuzk_status FIX_PUBLIC(mul)(const struct FIX_STRUCT *t, FIX_AFFINE *out, const cuzk_fr *s, size_t n,
                                 struct cuzk_pool *pool) {
  struct FIX_FN(job) b = {.f = t, .out = out, .s = s, .n = n};
  if (n == 0) return CUZK_OK;
  b.scratch = cuzk_malloc_array(cuzk_pool_workers(pool) * CHUNK, sizeof *b.scratch);
  if (!b.scratch) return CUZK_E_NOMEM;
  cuzk_pool_run(pool, FIX_FN(chunk), &b, (n + CHUNK - 1) / CHUNK);
  cuzk_free(b.scratch);
  return atomic_load(&b.failed) ? CUZK_E_NOMEM : CUZK_OK;
}
#undef CHUNK
