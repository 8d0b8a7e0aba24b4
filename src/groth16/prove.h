/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Groth16 prover and verifier, bellperson's equations (formats specification 3.4 to 3.7). */
#ifndef CUZK_GROTH16_PROVE_H
#define CUZK_GROTH16_PROVE_H
#include "groth16/params.h"
#include "groth16/proof.h"
#include "r1cs/packed.h"
#include "r1cs/r1cs.h"

/** Wall time of each part of a proof, seconds. */
struct cuzk_prove_times {
  double h_poly, msm_h, msm_l, msm_a, msm_b_g1, msm_b_g2, finish, verify;
};

/** The values of all variables, borrowed: private ones flat (aux) or packed; one of the two is set. */
struct cuzk_witness {
  const cuzk_fr *inputs, *aux;
  const struct cuzk_packed *packed;
  uint32_t n_inputs, n_aux;
};

/** What of a proof does not depend on the blinding values. Secret: with the proof known, they tell r delta and s delta. */
struct cuzk_proof_sums {
  cuzk_g1 h_l, a, b_g1; /* H and L sections' together */
  cuzk_g2 b_g2;
};

/** The parts of a proof that take time: h polynomial and five sums. abc hold the row values (n_rows each, arrays of at least
 *  2^log2_domain elements with the rest zero except that the prover writes the extra input rows itself); they are overwritten. times may
 *  be NULL; finish and verify stay 0. Errors: E_MISMATCH (params for another circuit), E_UNSAT (top coefficient of H not zero), E_INFINITY
 *  (delta is the identity), E_FORMAT / E_NOT_CURVE (a bad point met in the file), E_NOMEM, E_CANCELLED. *out is cleared on failure. */
enum cuzk_status cuzk_groth16_sums(struct cuzk_proof_sums *out, const struct cuzk_params *params, const struct cuzk_shape *shape,
                                   const struct cuzk_witness *z, cuzk_fr *abc[3], struct cuzk_pool *pool,
                                   const struct cuzk_progress *progress, struct cuzk_prove_times *times, struct cuzk_detail *d);
/** The proof from the sums and the blinding values, in constant time. Not verified. */
void cuzk_groth16_assemble(struct cuzk_proof *out, const struct cuzk_vk *vk, const struct cuzk_proof_sums *sums, const cuzk_fr *r,
                           const cuzk_fr *s);
/** What a reader of the proof will do to it, done first: its bytes decode, its points are in their groups, the equation holds for public
 *  inputs u[n] (ONE not included). Errors: E_UNSAT (does not verify), E_FORMAT, E_NOT_CURVE, E_NOT_GROUP, E_INFINITY, E_MISMATCH, E_NOMEM,
 *  E_CANCELLED. */
enum cuzk_status cuzk_groth16_check(const struct cuzk_vk *vk, const struct cuzk_proof *proof, const cuzk_fr *u, size_t n,
                                    const struct cuzk_progress *progress, struct cuzk_detail *d);

/** Makes one proof by sums, assemble and check: what is handed out verifies. abc hold the row values (n_rows each, arrays of at least 2^log2_domain elements with the rest zero except
 *  that the prover writes the extra input rows itself); they are overwritten. r, s: blinding values. The proof is verified against
 *  params->vk and the assignment's inputs before it is handed out. times may be NULL.
 *  Errors: E_MISMATCH (params for another circuit), E_UNSAT (top coefficient of H not zero, or the finished proof does not
 *  verify), E_INFINITY (delta is the identity), E_FORMAT / E_NOT_CURVE (a bad point met in the file), E_NOMEM, E_CANCELLED. */
enum cuzk_status cuzk_groth16_prove(struct cuzk_proof *out, const struct cuzk_params *params, const struct cuzk_shape *shape,
                                    const struct cuzk_assignment *z, cuzk_fr *abc[3], const cuzk_fr *r, const cuzk_fr *s,
                                    struct cuzk_pool *pool, const struct cuzk_progress *progress,
                                    struct cuzk_prove_times *times, struct cuzk_detail *d);

/** A verifying key with e(alpha, beta) and other fixed parts computed once. */
struct cuzk_pvk;
/** Copies what it needs of vk. Errors: E_NOMEM. */
enum cuzk_status cuzk_pvk_create(struct cuzk_pvk **out, const struct cuzk_vk *vk);
/** *p becomes NULL; NULL is accepted. */
void cuzk_pvk_destroy(struct cuzk_pvk **p);
/** *ok = does the proof hold for public inputs u[n] (ONE not included)? Errors: E_MISMATCH if n + 1 is not the length of ic. */
enum cuzk_status cuzk_groth16_verify(bool *ok, const struct cuzk_pvk *pvk, const struct cuzk_proof *p, const cuzk_fr *u,
                                     size_t n, struct cuzk_detail *d);
/** The same for k proofs at once with random 128-bit weights; u holds k rows of n inputs. k = 0 gives true. A false answer
 *  does not say which proof is bad. Errors: as above, E_NOMEM, E_IO (no randomness). */
enum cuzk_status cuzk_groth16_verify_batch(bool *ok, const struct cuzk_pvk *pvk, const struct cuzk_proof *p, size_t k,
                                           const cuzk_fr *u, size_t n, struct cuzk_pool *pool, struct cuzk_detail *d);
#endif
