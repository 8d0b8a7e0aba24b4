/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/merkle_path.h"

#include <string.h>

#include "hash/sha256.h"

enum cuzk_status cuzk_tree_hashes_get(struct cuzk_tree_hashes *out, const struct cuzk_circuit *c) {
  const unsigned arities[] = {2, c->base_arity, c->sub_steps ? c->sub_arity : 2, c->top_steps ? c->top_arity : 2};
  memset(out, 0, sizeof *out);
  for (unsigned i = 0; i < sizeof arities / sizeof *arities; i++) {
    enum cuzk_status st = cuzk_poseidon_get(&out->by_arity[arities[i]], arities[i], CUZK_POSEIDON_MERKLE);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

uint64_t cuzk_path_position(const struct cuzk_merkle_path *p) {
  uint64_t at = 0, weight = 1;
  for (unsigned i = 0; i < p->n_steps; i++) {
    at += p->index[i] * weight;
    weight *= p->arity[i];
  }
  return at;
}

void cuzk_path_root_poseidon(cuzk_fr *root, const struct cuzk_tree_hashes *h, const cuzk_fr *leaf, const struct cuzk_merkle_path *p) {
  cuzk_fr node = *leaf;
  const cuzk_fr *siblings = p->siblings;
  for (unsigned i = 0; i < p->n_steps; i++) {
    cuzk_fr x[8];
    for (unsigned q = 0; q < p->arity[i]; q++) x[q] = q == p->index[i] ? node : *siblings++;
    cuzk_poseidon_hash(&node, h->by_arity[p->arity[i]], x);
  }
  *root = node;
}

void cuzk_tree_d_node(uint8_t out[32], const uint8_t left[32], const uint8_t right[32]) {
  uint8_t pair[64];
  memcpy(pair, left, 32);
  memcpy(pair + 32, right, 32);
  cuzk_sha256(out, pair, 64);
  out[31] &= 0x3f;
}

void cuzk_path_root_sha256(uint8_t root[32], const cuzk_fr *leaf, const struct cuzk_merkle_path *p, unsigned n_steps) {
  cuzk_fr_to_le(root, leaf);
  for (unsigned i = 0; i < n_steps; i++) {
    uint8_t sibling[32];
    cuzk_fr_to_le(sibling, &p->siblings[i]);
    cuzk_tree_d_node(root, p->index[i] ? sibling : root, p->index[i] ? root : sibling);
  }
}
