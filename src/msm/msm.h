/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Multi-scalar multiplication on the CPU: *out = s[0] p[0] + ... + s[n-1] p[n-1], on a thread pool.
 *
 *  Bases are affine, Montgomery, on the curve (identity allowed, subgroup not needed for correctness). Scalars are Montgomery
 *  cuzk_fr as the prover holds them; zeros and ones are found and treated apart (ones go to a pairwise sum, zeros cost one
 *  look), so a vector of mostly bits is cheap. Results do not depend on the number of threads or on the code path chosen.
 *  Source: signed-digit Pippenger with batch-affine bucket sums; docs/internals/msm.md. */
#ifndef CUZK_MSM_MSM_H
#define CUZK_MSM_MSM_H
#include "base/pool.h"
#include "base/progress.h"
#include "cuzk/status.h"
#include "ec/g1.h"
#include "ec/g2.h"

/** Errors: E_NOMEM, E_CANCELLED; *out is the identity on error. n = 0 gives the identity. Memory: at most about 0.5 GiB and
 *  16 MiB a thread (G2: 32) beside the arguments, whatever n; less for fewer points (230 bytes a point, G2: 350). */
enum cuzk_status cuzk_msm_g1(cuzk_g1 *out, const cuzk_g1_affine *p, const cuzk_fr *s, size_t n, struct cuzk_pool *pool);
enum cuzk_status cuzk_msm_g2(cuzk_g2 *out, const cuzk_g2_affine *p, const cuzk_fr *s, size_t n, struct cuzk_pool *pool);

/** The same with scalars picked by a bit map: base k belongs to the k-th set bit of density (bit j of word j/64 stands for
 *  s[j], n_scalars bits; NULL: all set). n_bases must equal the number of set bits. Errors: as above, E_ARG if not. */
enum cuzk_status cuzk_msm_g1_dense(cuzk_g1 *out, const cuzk_g1_affine *p, size_t n_bases, const cuzk_fr *s,
                                   size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool);
enum cuzk_status cuzk_msm_g2_dense(cuzk_g2 *out, const cuzk_g2_affine *p, size_t n_bases, const cuzk_fr *s,
                                   size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool);

/** Where bases come from when they are not in memory as cuzk_g1_affine: fetch(user, dst, first, count) writes bases
 *  first .. first+count-1; called from pool threads, concurrently, each base once or more. Errors are passed on. */
struct cuzk_bases_g1 {
  enum cuzk_status (*fetch)(void *user, cuzk_g1_affine *dst, size_t first, size_t count, struct cuzk_detail *d);
  void *user;
};
struct cuzk_bases_g2 {
  enum cuzk_status (*fetch)(void *user, cuzk_g2_affine *dst, size_t first, size_t count, struct cuzk_detail *d);
  void *user;
};
/** MSM over such a source, as cuzk_msm_g1_dense. Works through the bases in blocks so that memory stays bounded (about
 *  1 GiB for any n). progress may be NULL (unit "points"). */
enum cuzk_status cuzk_msm_g1_stream(cuzk_g1 *out, const struct cuzk_bases_g1 *src, size_t n_bases, const cuzk_fr *s,
                                    size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool,
                                    const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d);
enum cuzk_status cuzk_msm_g2_stream(cuzk_g2 *out, const struct cuzk_bases_g2 *src, size_t n_bases, const cuzk_fr *s,
                                    size_t n_scalars, const uint64_t *density, struct cuzk_pool *pool,
                                    const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d);

/** Scalars of which most are bits, kept as bits: scalar j is bit j % 64 of word j / 64 of bits, unless that bit of is_field is set; then it
 *  is the next of fields, rank[w] counting those before word w. Bits are 0 where is_field is 1. */
struct cuzk_msm_packed {
  const uint64_t *bits, *is_field;
  const uint32_t *rank;
  const cuzk_fr *fields;
};
/** As cuzk_msm_g1_stream. */
enum cuzk_status cuzk_msm_g1_stream_packed(cuzk_g1 *out, const struct cuzk_bases_g1 *src, size_t n_bases,
                                           const struct cuzk_msm_packed *s, size_t n_scalars, const uint64_t *density,
                                           struct cuzk_pool *pool, const struct cuzk_progress *progress, const char *stage,
                                           struct cuzk_detail *d);
enum cuzk_status cuzk_msm_g2_stream_packed(cuzk_g2 *out, const struct cuzk_bases_g2 *src, size_t n_bases,
                                           const struct cuzk_msm_packed *s, size_t n_scalars, const uint64_t *density,
                                           struct cuzk_pool *pool, const struct cuzk_progress *progress, const char *stage,
                                           struct cuzk_detail *d);
#endif
