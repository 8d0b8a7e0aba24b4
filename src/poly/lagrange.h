/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Powers and Lagrange coefficients in bulk: what a Groth16 setup needs of a domain. */
#ifndef CUZK_POLY_LAGRANGE_H
#define CUZK_POLY_LAGRANGE_H
#include "poly/ntt.h"

/** out[i] = first * base^i for 0 <= i < n.
 *
 *  Shape   out[n], n >= 0.
 *  Alias   first and base may lie inside out.
 *  Time    about n products, over the pool. */
void cuzk_powers(cuzk_fr *out, const cuzk_fr *base, const cuzk_fr *first, size_t n, struct cuzk_pool *pool);

/** out[i] = L_i(tau), the value at tau of the polynomial of degree below n that is 1 at omega^i and 0 on the rest of the
 *  domain: omega^i (tau^n - 1) / (n (tau - omega^i)), for 0 <= i < n = 2^cuzk_domain_log2(d), natural order.
 *
 *  Alias   tau may lie inside out.
 *  Errors  E_ARG if tau lies in the domain (tau^n = 1: no toxic waste may do that); E_NOMEM; out is then unspecified.
 *  Time    variable; about 5 n products, over the pool, with one inversion in every block of 1024.
 *  Memory  64 KiB for each worker. */
enum cuzk_status cuzk_lagrange_at(cuzk_fr *out, const cuzk_fr *tau, const struct cuzk_domain *d, struct cuzk_pool *pool);
#endif
