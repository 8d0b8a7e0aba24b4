/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The synthesis functions behind the registry, one per kind. Private to src/circuits. */
#ifndef CUZK_CIRCUITS_SYNTHESIS_H
#define CUZK_CIRCUITS_SYNTHESIS_H
#include "circuits/circuit.h"
#include "circuits/porep_witness.h"
#include "gadgets/merkle.h"
#include "r1cs/cs.h"

/** Synthesises c into cs. witness: of the circuit's kind; NULL where the sink has no values, and for gadgets. */
void cuzk_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness);
void cuzk_porep_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness);
void cuzk_post_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness);
void cuzk_update_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness);
void cuzk_gadget_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness);

/** Whether a witness has the circuit's shape. Errors: E_ARG with the place in d. */
enum cuzk_status cuzk_porep_check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d);
enum cuzk_status cuzk_post_check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d);
enum cuzk_status cuzk_update_check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d);
/** A path against a shape; name and i say what it is in d. */
enum cuzk_status cuzk_path_check(const struct cuzk_merkle_path *p, const struct cuzk_tree_shape *t, const char *name, unsigned i,
                                 struct cuzk_detail *d);

/** Shape of the circuit's Poseidon trees (C, R) and of its binary tree D. */
struct cuzk_tree_shape cuzk_tree_r(const struct cuzk_circuit *c);
struct cuzk_tree_shape cuzk_tree_d(const struct cuzk_circuit *c);
/** hash2(a, b) of Poseidon with a region name. */
cuzk_var cuzk_hash2(struct cuzk_cs *cs, cuzk_var a, cuzk_var b, const char *region);

/** Gadget circuits: number, name, and the row of the registry at gadget. */
size_t cuzk_gadget_count(void);
const char *cuzk_gadget_name(size_t i);
const void *cuzk_gadget_at(size_t i);
#endif
