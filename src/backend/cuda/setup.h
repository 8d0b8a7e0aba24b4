/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What key generation needs of a device beside the transforms of cuda_backend.h: powers, Lagrange coefficients, the columns of a circuit
 *  at tau, and multiples of the generators as parameter files hold them. src/device/cuda_setup.c makes parameters of it.
 *
 *  Statuses, details and threads as in cuda_backend.h; pointers called "device" are to memory of cuzk_cuda_alloc. Everything is asynchronous
 *  unless it says that it waits. Source: formats specification 2.2, 3.2. */
#ifndef CUZK_BACKEND_CUDA_SETUP_H
#define CUZK_BACKEND_CUDA_SETUP_H
#include "backend/cuda/partition.h"

#ifdef __cplusplus
extern "C" {
#endif

/** out[i] (device) = first base^i, i < n, as cuzk_powers. n < 2^32. */
enum cuzk_status cuzk_cuda_powers(struct cuzk_cuda *c, void *out, const cuzk_fr *first, const cuzk_fr *base, size_t n, struct cuzk_detail *d);
/** out[i] (device, 2^log2_n) = L_i(tau) in natural order, as cuzk_lagrange_at: the inverse transform of the powers of tau. Builds the tables of
 *  that transform. Errors: E_ARG if tau lies in the domain; E_NOMEM. */
enum cuzk_status cuzk_cuda_lagrange(struct cuzk_cuda *c, void *out, const cuzk_fr *tau, unsigned log2_n, struct cuzk_detail *d);

/** Scratch of cuzk_cuda_columns for n variables. */
uint64_t cuzk_cuda_columns_bytes(size_t n);
/** out[j - first] (device) = value at tau of variable j's polynomial of side 0, 1, 2 (A, B, C), first <= j < first + n; public inputs are the
 *  variables from 0, then come the private ones. lagrange (device): of a domain that holds the rows and those that bind the inputs, which are
 *  counted in A. scratch (device): columns_bytes(n). */
enum cuzk_status cuzk_cuda_columns(struct cuzk_cuda *c, const struct cuzk_cuda_rows *r, void *out, void *scratch, const void *lagrange, int side,
                                   size_t first, size_t n, struct cuzk_detail *d);

/** Toxic waste as the columns need it. */
struct cuzk_cuda_weights {
  cuzk_fr alpha, beta, inv_gamma, inv_delta;
};
struct cuzk_cuda_combined {
  uint64_t n_a, n_b;   /* elements of a and b that are not zero */
  uint64_t first_zero; /* least variable whose combination is zero, 2^64 - 1: none */
};
/** cc[j] := (beta a[j] + alpha b[j] + cc[j]) times inv_gamma for public inputs, inv_delta for private variables, j < n, the first of
 *  all being variable `first`. Waits. */
enum cuzk_status cuzk_cuda_combine(struct cuzk_cuda *c, struct cuzk_cuda_combined *out, const void *a, const void *b, void *cc, size_t first,
                                   size_t n, uint32_t n_inputs, const struct cuzk_cuda_weights *w, struct cuzk_detail *d);
/** out (device): the elements of v[n] (device) that are not zero, in order; *kept: how many. out and v do not overlap. Waits. */
enum cuzk_status cuzk_cuda_drop_zeros(struct cuzk_cuda *c, void *out, const void *v, size_t n, size_t *kept, struct cuzk_detail *d);

/** Multiples of a generator: 16 windows, 2^15 + 1 points each (50 MB in G1, 101 MB in G2). */
struct cuzk_cuda_fixed;
enum cuzk_status cuzk_cuda_fixed_create(struct cuzk_cuda *c, struct cuzk_cuda_fixed **out, bool g2, struct cuzk_detail *d);
/** *f becomes NULL; NULL is accepted. */
void cuzk_cuda_fixed_destroy(struct cuzk_cuda *c, struct cuzk_cuda_fixed **f);
/** Work area that n multiples at a time take. */
uint64_t cuzk_cuda_fixed_work_bytes(const struct cuzk_cuda *c, bool g2, size_t n);
/** out (device, 96 n or 192 n bytes): s[i] (device) times the generator in the file's form. n <= 2^24. */
enum cuzk_status cuzk_cuda_fixed_mul(struct cuzk_cuda *c, const struct cuzk_cuda_fixed *f, void *out, const void *s, size_t n,
                                     struct cuzk_detail *d);

/** Overwrites n bytes of device memory with zeros; p NULL: the work area. */
enum cuzk_status cuzk_cuda_wipe(struct cuzk_cuda *c, void *p, size_t n, struct cuzk_detail *d);

#ifdef __cplusplus
}
#endif
#endif
