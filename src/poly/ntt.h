/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Number-theoretic transforms over Fr on a thread pool. Domain of size 2^log2_n: omega = cuzk_fr_root_2_32 squared
 *  32 - log2_n times; the coset is 7 <omega>. Vectors hold 2^log2_n Montgomery elements; log2_n in 0..31. */
#ifndef CUZK_POLY_NTT_H
#define CUZK_POLY_NTT_H
#include "base/pool.h"
#include "cuzk/status.h"
#include "ff/fr.h"

struct cuzk_domain;

/** Precomputes what transforms of this size need (twiddles; a small fraction of the vector's size). Errors: E_ARG, E_NOMEM. */
enum cuzk_status cuzk_domain_create(struct cuzk_domain **out, unsigned log2_n, struct cuzk_pool *pool);
/** *d becomes NULL; NULL is accepted. */
void cuzk_domain_destroy(struct cuzk_domain **d);
/** log2 of the size that it was made for. */
unsigned cuzk_domain_log2(const struct cuzk_domain *d);
/** The root of unity of that order, Montgomery. */
void cuzk_domain_omega(cuzk_fr *r, const struct cuzk_domain *d);

/** In place, natural order in and out. forward: values at omega^i; inverse: coefficients (1/n included); coset variants:
 *  values at 7 omega^i, and back. Errors: E_NOMEM. */
enum cuzk_status cuzk_ntt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool);
enum cuzk_status cuzk_intt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool);
enum cuzk_status cuzk_coset_ntt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool);
enum cuzk_status cuzk_coset_intt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool);

/** Coefficients of H = (A B - C)/(X^n - 1) in natural order, into a. a, b, c hold the row values (zero-padded) and are
 *  all overwritten. *top_is_zero tells whether the coefficient of X^(n-1) is zero, as it is for a satisfied system. */
enum cuzk_status cuzk_h_poly(cuzk_fr *a, cuzk_fr *b, cuzk_fr *c, bool *top_is_zero, const struct cuzk_domain *d,
                             struct cuzk_pool *pool);
#endif
