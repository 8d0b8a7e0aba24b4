/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Poseidon in circuits, in the form with compressed constants and sparse matrices whose rows the published parameters have.
 *  Source: circuits specification 3.7. */
#ifndef CUZK_GADGETS_POSEIDON_H
#define CUZK_GADGETS_POSEIDON_H
#include "hash/poseidon.h"
#include "r1cs/cs.h"

/** Digest of arity numbers: 31 (arity + 1) + 4 n_partial - 2 private variables and as many rows. The rows of each arity and use
 *  are derived once a sink and replayed. Arities and uses: hash/poseidon.h; others make the sink fail with E_ARG. */
cuzk_var cuzk_poseidon_gadget(struct cuzk_cs *cs, const cuzk_var *x, unsigned arity, enum cuzk_poseidon_use use);
#endif
