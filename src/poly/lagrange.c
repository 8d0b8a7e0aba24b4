/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "poly/lagrange.h"

#include "base/alloc.h"

/* Elements of a task: the start of its own power run costs about 64 products, the one inversion about 400. */
#define BLOCK ((size_t)1024)

static void pow_size(cuzk_fr *r, const cuzk_fr *base, size_t e) {
  const uint64_t word = e;
  cuzk_fr_pow_var(r, base, &word, 1);
}

struct powers {
  cuzk_fr *out;
  cuzk_fr base, first;
  size_t n;
};

static void powers_task(void *v, size_t task, unsigned worker) {
  const struct powers *p = v;
  (void)worker;
  const size_t from = task * BLOCK, to = p->n - from < BLOCK ? p->n : from + BLOCK;
  cuzk_fr x;
  pow_size(&x, &p->base, from);
  cuzk_fr_mul(&x, &x, &p->first);
  for (size_t i = from; i < to; i++) {
    p->out[i] = x;
    cuzk_fr_mul(&x, &x, &p->base);
  }
}

void cuzk_powers(cuzk_fr *out, const cuzk_fr *base, const cuzk_fr *first, size_t n, struct cuzk_pool *pool) {
  struct powers p = {out, *base, *first, n};
  cuzk_pool_run(pool, powers_task, &p, (n + BLOCK - 1) / BLOCK);
}

struct lagrange {
  cuzk_fr *out;
  cuzk_fr *scratch; /* 2 BLOCK elements a worker */
  cuzk_fr tau, omega;
  cuzk_fr factor; /* (tau^n - 1) / n */
  size_t n;
};

static void lagrange_task(void *v, size_t task, unsigned worker) {
  const struct lagrange *l = v;
  cuzk_fr *diff = l->scratch + 2 * BLOCK * worker, *tmp = diff + BLOCK;
  const size_t from = task * BLOCK, len = l->n - from < BLOCK ? l->n - from : BLOCK;
  cuzk_fr w;
  pow_size(&w, &l->omega, from);
  for (size_t i = 0; i < len; i++) {
    cuzk_fr_mul(&l->out[from + i], &w, &l->factor);
    cuzk_fr_sub(&diff[i], &l->tau, &w);
    cuzk_fr_mul(&w, &w, &l->omega);
  }
  cuzk_fr_inv_batch(diff, tmp, len);
  for (size_t i = 0; i < len; i++) cuzk_fr_mul(&l->out[from + i], &l->out[from + i], &diff[i]);
}

enum cuzk_status cuzk_lagrange_at(cuzk_fr *out, const cuzk_fr *tau, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  const unsigned log2_n = cuzk_domain_log2(d);
  struct lagrange l = {.out = out, .tau = *tau, .n = (size_t)1 << log2_n};
  cuzk_domain_omega(&l.omega, d);
  cuzk_fr z = *tau, n;
  for (unsigned s = 0; s < log2_n; s++) cuzk_fr_sqr(&z, &z);
  cuzk_fr_sub(&z, &z, &cuzk_fr_one);
  if (cuzk_fr_is_zero(&z)) return CUZK_E_ARG;
  cuzk_fr_from_u64(&n, l.n);
  cuzk_fr_inv_var(&n, &n);
  cuzk_fr_mul(&l.factor, &z, &n);
  l.scratch = cuzk_malloc_array(2 * BLOCK * cuzk_pool_workers(pool), sizeof *l.scratch);
  if (!l.scratch) return CUZK_E_NOMEM;
  cuzk_pool_run(pool, lagrange_task, &l, (l.n + BLOCK - 1) / BLOCK);
  /* tau is a setup's secret, and the differences tell it. */
  cuzk_secret_clear(l.scratch, 2 * BLOCK * cuzk_pool_workers(pool) * sizeof *l.scratch);
  cuzk_free(l.scratch);
  cuzk_secret_clear(&l, sizeof l);
  return CUZK_OK;
}
