/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "poly/ntt.h"

#include "base/alloc.h"
#include "poly/ntt_plain.h"

struct cuzk_domain {
  struct plain_domain p;
};

static void plain_init(struct plain_domain *p, unsigned log2_n) {
  p->log2_n = log2_n;
  p->one = cuzk_fr_one;
  p->shift = cuzk_fr_generator;
  cuzk_fr_inv_var(&p->i_shift, &p->shift);
  p->roots[31] = cuzk_fr_root_2_32;
  cuzk_fr_inv_var(&p->i_roots[31], &p->roots[31]);
  for (int s = 30; s >= 0; s--) {
    cuzk_fr_sqr(&p->roots[s], &p->roots[s + 1]);
    cuzk_fr_sqr(&p->i_roots[s], &p->i_roots[s + 1]);
  }
  cuzk_fr z = p->shift;
  for (unsigned s = 0; s < log2_n; s++) cuzk_fr_sqr(&z, &z);
  cuzk_fr_sub(&z, &z, &cuzk_fr_one);
  cuzk_fr_inv_var(&p->z_inv, &z);
  cuzk_fr_from_u64(&p->n_inv, (uint64_t)1 << log2_n);
  cuzk_fr_inv_var(&p->n_inv, &p->n_inv);
}

enum cuzk_status cuzk_domain_create(struct cuzk_domain **out, unsigned log2_n, struct cuzk_pool *pool) {
  (void)pool;
  *out = NULL;
  if (log2_n > 31) return CUZK_E_ARG;
  struct cuzk_domain *d = cuzk_calloc(1, sizeof *d);
  if (!d) return CUZK_E_NOMEM;
  plain_init(&d->p, log2_n);
  *out = d;
  return CUZK_OK;
}

void cuzk_domain_destroy(struct cuzk_domain **d) {
  cuzk_free(*d);
  *d = NULL;
}

unsigned cuzk_domain_log2(const struct cuzk_domain *d) { return d->p.log2_n; }

void cuzk_domain_omega(cuzk_fr *r, const struct cuzk_domain *d) {
  *r = d->p.log2_n ? d->p.roots[d->p.log2_n - 1] : cuzk_fr_one;
}

enum cuzk_status cuzk_ntt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  (void)pool;
  plain_ntt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_intt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  (void)pool;
  plain_intt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_coset_ntt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  (void)pool;
  plain_coset_ntt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_coset_intt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  (void)pool;
  plain_coset_intt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_h_poly(cuzk_fr *a, cuzk_fr *b, cuzk_fr *c, bool *top_is_zero, const struct cuzk_domain *d,
                             struct cuzk_pool *pool) {
  (void)pool;
  plain_h_poly(a, b, c, &d->p);
  *top_is_zero = cuzk_fr_is_zero(&a[((size_t)1 << d->p.log2_n) - 1]);
  return CUZK_OK;
}
