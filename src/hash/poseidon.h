/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Poseidon over Fr as Filecoin uses it: x^5, standard strength, arities 2, 4, 8, 11 (also 16, 24, 36). Constants are
 *  derived (Grain LFSR, Cauchy matrix, sparse factoring), not pasted. Source: circuits specification, section 3. */
#ifndef CUZK_HASH_POSEIDON_H
#define CUZK_HASH_POSEIDON_H
#include "cuzk/status.h"
#include "ff/fr.h"

struct cuzk_poseidon {
  unsigned arity, t, n_full, n_partial; /* t = arity + 1 */
  cuzk_fr tag;                          /* state element 0 */
  cuzk_fr *round_keys;                  /* (n_full + n_partial) t, uncompressed */
  cuzk_fr *crc;                         /* compressed: n_full t + n_partial */
  cuzk_fr *mds;                         /* t x t, row by row */
  cuzk_fr *pre_sparse;                  /* t x t, row by row: P of section 3.6 */
  cuzk_fr *sparse;                      /* n_partial times (w_hat: t, v_rest: arity), in execution order */
};

/** Tag of Merkle nodes, columns and comm_r: 2^arity - 1; and of gen_rand: 2^40 (arity 2). */
enum cuzk_poseidon_use { CUZK_POSEIDON_MERKLE, CUZK_POSEIDON_GEN_RAND };

/** Shared constants for an arity and use; built on first need, live until the process ends (cuzk_poseidon_release for leak
 *  checkers). Thread-safe. Errors: E_ARG (arity), E_NOMEM. */
enum cuzk_status cuzk_poseidon_get(const struct cuzk_poseidon **out, unsigned arity, enum cuzk_poseidon_use use);
/** Frees all shared constants; pointers from cuzk_poseidon_get end with it. Only while no other thread uses them. */
void cuzk_poseidon_release(void);
/** *r = digest of x[arity]. */
void cuzk_poseidon_hash(cuzk_fr *r, const struct cuzk_poseidon *p, const cuzk_fr *x);
#endif
