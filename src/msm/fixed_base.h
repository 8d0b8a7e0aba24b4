/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Many multiples of one point, for parameter generation: table of windows, batch-affine additions, affine results. */
#ifndef CUZK_MSM_FIXED_BASE_H
#define CUZK_MSM_FIXED_BASE_H
#include "base/pool.h"
#include "cuzk/status.h"
#include "ec/g1.h"
#include "ec/g2.h"

struct cuzk_fixed_g1;
struct cuzk_fixed_g2;

/** Builds the tables for about n_expected multiplications (decides the window). Errors: E_NOMEM. */
enum cuzk_status cuzk_fixed_g1_create(struct cuzk_fixed_g1 **out, const cuzk_g1_affine *base, size_t n_expected,
                                      struct cuzk_pool *pool);
enum cuzk_status cuzk_fixed_g2_create(struct cuzk_fixed_g2 **out, const cuzk_g2_affine *base, size_t n_expected,
                                      struct cuzk_pool *pool);
/** *t becomes NULL; NULL is accepted. */
void cuzk_fixed_g1_destroy(struct cuzk_fixed_g1 **t);
void cuzk_fixed_g2_destroy(struct cuzk_fixed_g2 **t);
/** out[i] = s[i] base, affine (identity where s[i] is zero). Errors: E_NOMEM. */
enum cuzk_status cuzk_fixed_g1_mul(const struct cuzk_fixed_g1 *t, cuzk_g1_affine *out, const cuzk_fr *s, size_t n,
                                   struct cuzk_pool *pool);
enum cuzk_status cuzk_fixed_g2_mul(const struct cuzk_fixed_g2 *t, cuzk_g2_affine *out, const cuzk_fr *s, size_t n,
                                   struct cuzk_pool *pool);
#endif
