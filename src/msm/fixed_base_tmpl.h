/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Multiples of one point, over one group; included once per group, never linked. */

struct FIX_STRUCT {
  struct table t;
};

enum cuzk_status FIX_PUBLIC(create)(struct FIX_STRUCT **out, const FIX_AFFINE *base, size_t n_expected,
                                    struct cuzk_pool *pool) {
  *out = NULL;
  struct FIX_STRUCT *f = cuzk_calloc(1, sizeof *f);
  if (!f) return CUZK_E_NOMEM;
  f->t.ops = FIX_OPS();
  table_choose(&f->t, n_expected);
  FIX_JAC j[CUZK_WINDOWS_MAX];
  FIX_AFFINE first[CUZK_WINDOWS_MAX];
  FIX_G(from_affine)(&j[0], base);
  for (unsigned i = 1; i < f->t.w.n; i++) {
    j[i] = j[i - 1];
    for (unsigned k = 0; k < f->t.w.c; k++) FIX_G(dbl)(&j[i], &j[i]);
  }
  enum cuzk_status st = FIX_G(to_affine_batch)(first, j, f->t.w.n);
  if (st == CUZK_OK) st = table_fill(&f->t, first, pool);
  if (st == CUZK_OK) {
    *out = f;
  } else {
    FIX_PUBLIC(destroy)(&f);
  }
  return st;
}

void FIX_PUBLIC(destroy)(struct FIX_STRUCT **t) {
  if (!*t) return;
  cuzk_big_free((*t)->t.points, (*t)->t.bytes);
  cuzk_free(*t);
  *t = NULL;
}

enum cuzk_status FIX_PUBLIC(mul)(const struct FIX_STRUCT *t, FIX_AFFINE *out, const cuzk_fr *s, size_t n,
                                 struct cuzk_pool *pool) {
  return multiply(&t->t, out, s, n, pool);
}
