/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/merkle.h"

#include "gadgets/poseidon.h"
#include "gadgets/select.h"
#include "gadgets/sha256.h"

unsigned cuzk_tree_steps(const struct cuzk_tree_shape *t) { return t->base_steps + t->sub_steps + t->top_steps; }

unsigned cuzk_tree_arity(const struct cuzk_tree_shape *t, unsigned k) {
  if (k < t->base_steps) return t->base_arity;
  return k < t->base_steps + t->sub_steps ? t->sub_arity : t->top_arity;
}

unsigned cuzk_tree_siblings(const struct cuzk_tree_shape *t) {
  unsigned n = 0;
  for (unsigned k = 0; k < cuzk_tree_steps(t); k++) n += cuzk_tree_arity(t, k) - 1;
  return n;
}

static unsigned log2_of(unsigned arity) { return arity == 8 ? 3 : arity == 4 ? 2 : 1; }

static cuzk_var hash_node(struct cuzk_cs *cs, enum cuzk_tree_hash hash, const cuzk_var *x, unsigned arity) {
  if (hash == CUZK_TREE_POSEIDON) return cuzk_poseidon_gadget(cs, x, arity, CUZK_POSEIDON_MERKLE);
  return cuzk_sha256_node(cs, x[0], x[1], "%u_num_into_bits", "%u_num_into_bits");
}

void cuzk_por(struct cuzk_cs *cs, const struct cuzk_tree_shape *t, cuzk_var leaf, const uint8_t *index, const cuzk_fr *siblings,
              cuzk_var root) {
  struct cuzk_bool all[64];
  unsigned n_bits = 0;
  cuzk_var cur = leaf;
  const unsigned steps = cuzk_tree_steps(t);
  for (unsigned k = 0; k < steps; k++) {
    const unsigned arity = cuzk_tree_arity(t, k), m = log2_of(arity);
    const unsigned first = k < t->base_steps ? 0 : k < t->base_steps + t->sub_steps ? t->base_steps : t->base_steps + t->sub_steps;
    cuzk_var sib[7], in[8];
    if (k == first) cuzk_cs_push(cs, k < t->base_steps ? "base" : k < t->base_steps + t->sub_steps ? "sub" : "top", 0);
    cuzk_cs_push(cs, "merkle tree hash %u", k - first);
    struct cuzk_bool *const bits = all + n_bits;
    for (unsigned i = 0; i < m; i++) bits[i] = cuzk_bit_alloc(cs, index && (index[k] >> i) & 1);
    n_bits += m;
    for (unsigned i = 0; i + 1 < arity; i++) sib[i] = cuzk_num_alloc(cs, siblings ? siblings++ : NULL);
    cuzk_insert(cs, in, sib, cur, bits, arity);
    cuzk_cs_push(cs, "computation of commitment hash", 0);
    cur = hash_node(cs, t->hash, in, arity);
    cuzk_cs_pop(cs);
    cuzk_cs_pop(cs);
    if (k + 1 == t->base_steps || k + 1 == t->base_steps + t->sub_steps || k + 1 == steps) cuzk_cs_pop(cs);
  }
  cuzk_pack_into_inputs(cs, all, n_bits);
  cuzk_num_equal(cs, cur, root);
}

void cuzk_por_no_input(struct cuzk_cs *cs, const struct cuzk_tree_shape *t, cuzk_var leaf, const struct cuzk_bool *bits,
                       const cuzk_var *siblings, cuzk_var root) {
  cuzk_var cur = leaf;
  for (unsigned k = 0; k < cuzk_tree_steps(t); k++) {
    const unsigned arity = cuzk_tree_arity(t, k);
    cuzk_var in[8];
    cuzk_insert(cs, in, siblings, cur, bits, arity);
    cuzk_cs_push(cs, "merkle proof hash (height=%u)", k);
    cur = hash_node(cs, t->hash, in, arity);
    cuzk_cs_pop(cs);
    bits += log2_of(arity);
    siblings += arity - 1;
  }
  cuzk_num_equal(cs, cur, root);
}
