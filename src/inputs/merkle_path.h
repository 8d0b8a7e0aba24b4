/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Merkle paths recomputed outside a circuit (circuits specification 7.2). */
#ifndef CUZK_INPUTS_MERKLE_PATH_H
#define CUZK_INPUTS_MERKLE_PATH_H
#include "circuits/circuit.h"
#include "circuits/porep_witness.h"
#include "hash/poseidon.h"

/** Hashes of a tree's nodes by arity; NULL where the tree has no such level. */
struct cuzk_tree_hashes {
  const struct cuzk_poseidon *by_arity[9];
};

/** Constants for arity 2 and the levels of tree C / R of a circuit's shape. Errors: E_NOMEM. */
enum cuzk_status cuzk_tree_hashes_get(struct cuzk_tree_hashes *out, const struct cuzk_circuit *c);
/** Position of the leaf that a path starts from. */
uint64_t cuzk_path_position(const struct cuzk_merkle_path *p);
/** Root that a path of tree C or R leads to. root may be leaf. */
void cuzk_path_root_poseidon(cuzk_fr *root, const struct cuzk_tree_hashes *h, const cuzk_fr *leaf, const struct cuzk_merkle_path *p);
/** What the first n_steps levels of a path of tree D lead to, as bytes. */
void cuzk_path_root_sha256(uint8_t root[32], const cuzk_fr *leaf, const struct cuzk_merkle_path *p, unsigned n_steps);
/** Node of tree D over two nodes; out may be left or right. */
void cuzk_tree_d_node(uint8_t out[32], const uint8_t left[32], const uint8_t right[32]);
#endif
