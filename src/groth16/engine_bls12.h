/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The engine that the product runs on: BLS12-381 as the lower layers implement it.
 *
 *  setup_tmpl.h, prove_tmpl.h and verify_tmpl.h hold the algebra of Groth16 and name everything below it as E(name): the types
 *  E(fr), E(g1), E(g1_affine), E(g2), E(g2_affine), E(gt), E(fp12) and the functions on them, with the meaning that the headers
 *  of ff, ec, poly and msm give to the same name after cuzk_. Here E(name) is cuzk_name. The tests include the same templates
 *  over a 16-bit field in which G1 = G2 = Gt, where everything can be recomputed by schoolbook methods. */
#ifndef CUZK_GROTH16_ENGINE_BLS12_H
#define CUZK_GROTH16_ENGINE_BLS12_H

#include "ec/g1.h"
#include "ec/g2.h"
#include "ec/pairing.h"
#include "ff/fr.h"
#include "groth16/params.h"
#include "groth16/params_internal.h"
#include "groth16/proof.h"
#include "groth16/prove.h"
#include "msm/fixed_base.h"
#include "msm/msm.h"
#include "poly/lagrange.h"
#include "poly/ntt.h"

#define E(name) cuzk_##name
#define E_G1_BYTES CUZK_G1_UNCOMPRESSED_BYTES
#define E_G2_BYTES CUZK_G2_UNCOMPRESSED_BYTES
#define E_PROOF_BYTES CUZK_PROOF_BYTES

/* Sums over the private values, flat or packed. */
static inline enum cuzk_status cuzk_aux_sum_g1(cuzk_g1 *out, const struct cuzk_bases_g1 *bases, size_t n_bases,
                                               const struct cuzk_witness *z, const uint64_t *density, struct cuzk_pool *pool,
                                               const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d) {
  if (!z->packed) return cuzk_msm_g1_stream(out, bases, n_bases, z->aux, z->n_aux, density, pool, progress, stage, d);
  const struct cuzk_msm_packed p = {z->packed->bits, z->packed->is_field, z->packed->rank, z->packed->fields};
  return cuzk_msm_g1_stream_packed(out, bases, n_bases, &p, z->n_aux, density, pool, progress, stage, d);
}
static inline enum cuzk_status cuzk_aux_sum_g2(cuzk_g2 *out, const struct cuzk_bases_g2 *bases, size_t n_bases,
                                               const struct cuzk_witness *z, const uint64_t *density, struct cuzk_pool *pool,
                                               const struct cuzk_progress *progress, const char *stage, struct cuzk_detail *d) {
  if (!z->packed) return cuzk_msm_g2_stream(out, bases, n_bases, z->aux, z->n_aux, density, pool, progress, stage, d);
  const struct cuzk_msm_packed p = {z->packed->bits, z->packed->is_field, z->packed->rank, z->packed->fields};
  return cuzk_msm_g2_stream_packed(out, bases, n_bases, &p, z->n_aux, density, pool, progress, stage, d);
}
#endif
