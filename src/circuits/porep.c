/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The circuit of Stacked-DRG proofs of replication. Source: circuits specification 4; docs/circuits/porep.md. */
#include "base/fail.h"
#include "circuits/create_label.h"
#include "circuits/synthesis.h"
#include "gadgets/poseidon.h"
#include "gadgets/sha256.h"

#define N_DRG 6
#define N_EXP 8
#define N_PARENTS (N_DRG + N_EXP)
#define MAX_LAYERS 11

cuzk_var cuzk_create_label(struct cuzk_cs *cs, const struct cuzk_bool id[256], const struct cuzk_bool *const *parents,
                           unsigned n_parents, uint32_t layer, const struct cuzk_bool node[64]) {
  struct cuzk_sha256_gadget s;
  struct cuzk_bool head[256], digest[256];
  for (int i = 0; i < 32; i++) head[i] = cuzk_bool_const((layer >> (31 - i)) & 1);
  for (int i = 0; i < 64; i++) head[32 + i] = node[63 - i];
  for (int i = 96; i < 256; i++) head[i] = cuzk_bool_const(false);
  cuzk_cs_push(cs, "hash", 0);
  cuzk_sha256_gadget_init(&s, cs);
  cuzk_sha256_gadget_update(&s, id, 256);
  cuzk_sha256_gadget_update(&s, head, 256);
  for (unsigned k = 0; k < 37; k++) cuzk_sha256_gadget_update(&s, parents[k % n_parents], 256);
  cuzk_sha256_gadget_final(&s, digest);
  cuzk_cs_pop(cs);
  return cuzk_num_from_sha_bits(cs, digest);
}

struct porep {
  struct cuzk_cs *cs;
  const struct cuzk_circuit *c;
  struct cuzk_tree_shape tree_d, tree_r;
  struct cuzk_bool id[256];
  cuzk_var comm_d, comm_r_last, comm_c;
  const struct cuzk_porep_challenge *challenges; /* NULL: blank */
};

static cuzk_var column_hash(const struct porep *p, const cuzk_var *rows, const char *region, unsigned i) {
  cuzk_cs_push(p->cs, region, i);
  const cuzk_var h = cuzk_poseidon_gadget(p->cs, rows, p->c->layers, CUZK_POSEIDON_MERKLE);
  cuzk_cs_pop(p->cs);
  return h;
}

static void inclusion(const struct porep *p, const struct cuzk_tree_shape *t, cuzk_var leaf, const struct cuzk_merkle_path *path,
                      cuzk_var root, const char *region, unsigned i) {
  cuzk_cs_push(p->cs, region, i);
  cuzk_por(p->cs, t, leaf, path ? path->index : NULL, path ? path->siblings : NULL, root);
  cuzk_cs_pop(p->cs);
}

static void parent_column(const struct porep *p, cuzk_var *rows, const struct cuzk_porep_column *col, const char *hash_region,
                          const char *path_region, unsigned i) {
  for (unsigned l = 0; l < p->c->layers; l++) rows[l] = cuzk_num_alloc(p->cs, col ? &col->rows[l] : NULL);
  const cuzk_var h = column_hash(p, rows, hash_region, i);
  inclusion(p, &p->tree_r, h, col ? &col->path : NULL, p->comm_c, path_region, i);
}

/* Labels of all layers. columns: rows of the six DRG parents, then of the eight expander parents. */
static void labels(const struct porep *p, cuzk_var *label, cuzk_var columns[N_PARENTS][MAX_LAYERS], const struct cuzk_bool node[64]) {
  struct cuzk_cs *cs = p->cs;
  struct cuzk_bool bits[N_PARENTS][256];
  const struct cuzk_bool *parents[N_PARENTS];
  for (unsigned l = 1; l <= p->c->layers; l++) {
    const unsigned n = l > 1 ? N_PARENTS : N_DRG;
    cuzk_cs_push(cs, "labeling_%u", l);
    for (unsigned i = 0; i < n; i++) {
      /* Expander parents are of the layer before. */
      cuzk_cs_push(cs, i < N_DRG ? "drg_parent_%u_bits" : "exp_parent_%u_bits", i);
      cuzk_num_to_sha_bits(cs, bits[i], columns[i][i < N_DRG ? l - 1 : l - 2]);
      cuzk_cs_pop(cs);
      parents[i] = bits[i];
    }
    cuzk_cs_push(cs, "create_label", 0);
    label[l - 1] = cuzk_create_label(cs, p->id, parents, n, l, node);
    cuzk_cs_pop(cs);
    cuzk_cs_pop(cs);
  }
}

static void challenge(struct cuzk_cs *cs, const void *arg, unsigned number) {
  struct porep own = *(const struct porep *)arg;
  const struct porep *const p = &own;
  const struct cuzk_porep_challenge *const w = own.challenges ? &own.challenges[number] : NULL;
  own.cs = cs;
  cuzk_cs_push(cs, "challenge_%u", number);
  cuzk_var columns[N_PARENTS][MAX_LAYERS], label[MAX_LAYERS];
  struct cuzk_bool node[64];
  const cuzk_var leaf = cuzk_num_alloc(cs, w ? &w->data_leaf : NULL);
  inclusion(p, &p->tree_d, leaf, w ? &w->comm_d_path : NULL, p->comm_d, "comm_d_inclusion", 0);
  for (unsigned i = 0; i < N_DRG; i++)
    parent_column(p, columns[i], w ? &w->drg_parents[i] : NULL, "drg_parent_%u_constraint", "drg_parent_%u_inclusion", i);
  for (unsigned i = 0; i < N_EXP; i++)
    parent_column(p, columns[N_DRG + i], w ? &w->exp_parents[i] : NULL, "exp_parent_%u_constraint", "exp_parent_%u_inclusion", i);
  cuzk_cs_push(cs, "challenge", 0);
  for (unsigned i = 0; i < 64; i++) node[i] = cuzk_bit_alloc(cs, w && (w->challenge >> i) & 1);
  cuzk_cs_pop(cs);
  cuzk_pack_into_inputs(cs, node, 64);
  labels(p, label, columns, node);
  cuzk_cs_push(cs, "encode_node", 0);
  const cuzk_var encoded = cuzk_num_add(cs, label[p->c->layers - 1], leaf);
  cuzk_cs_pop(cs);
  inclusion(p, &p->tree_r, encoded, w ? &w->comm_r_last_path : NULL, p->comm_r_last, "comm_r_last_data_inclusion", 0);
  const cuzk_var h = column_hash(p, label, "c_x_column_hash", 0);
  inclusion(p, &p->tree_r, h, w ? &w->comm_c_path : NULL, p->comm_c, "c_x_inclusion", 0);
  cuzk_cs_pop(cs);
}

void cuzk_porep_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness) {
  const struct cuzk_porep_partition *w = witness;
  struct porep p = {.cs = cs, .c = c, .tree_d = cuzk_tree_d(c), .tree_r = cuzk_tree_r(c)};
  p.challenges = w ? w->challenges : NULL;
  const cuzk_var id = cuzk_num_alloc(cs, w ? &w->replica_id : NULL);
  (void)cuzk_num_inputize(cs, id);
  cuzk_cs_push(cs, "replica_id_bits", 0);
  cuzk_num_to_sha_bits(cs, p.id, id);
  cuzk_cs_pop(cs);
  p.comm_d = cuzk_num_alloc(cs, w ? &w->comm_d : NULL);
  (void)cuzk_num_inputize(cs, p.comm_d);
  const cuzk_var comm_r = cuzk_num_alloc(cs, w ? &w->comm_r : NULL);
  (void)cuzk_num_inputize(cs, comm_r);
  p.comm_r_last = cuzk_num_alloc(cs, w ? &w->comm_r_last : NULL);
  p.comm_c = cuzk_num_alloc(cs, w ? &w->comm_c : NULL);
  const cuzk_var h = cuzk_hash2(cs, p.comm_c, p.comm_r_last, "H_comm_c_comm_r_last");
  cuzk_cs_push(cs, "enforce comm_r = H(comm_c || comm_r_last)", 0);
  cuzk_num_equal(cs, comm_r, h);
  cuzk_cs_pop(cs);
  cuzk_cs_parts(cs, c->challenges, challenge, &p);
}

enum cuzk_status cuzk_porep_check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d) {
  const struct cuzk_porep_partition *w = witness;
  const struct cuzk_tree_shape tree_d = cuzk_tree_d(c), tree_r = cuzk_tree_r(c);
  if (w->n_challenges != c->challenges)
    return cuzk_fail(d, CUZK_E_ARG, "%u challenges, the circuit has %u", w->n_challenges, c->challenges);
  for (unsigned i = 0; i < w->n_challenges; i++) {
    const struct cuzk_porep_challenge *x = &w->challenges[i];
    enum cuzk_status st = cuzk_path_check(&x->comm_d_path, &tree_d, "comm_d path of challenge", i, d);
    if (st == CUZK_OK) st = cuzk_path_check(&x->comm_r_last_path, &tree_r, "comm_r_last path of challenge", i, d);
    if (st == CUZK_OK) st = cuzk_path_check(&x->comm_c_path, &tree_r, "comm_c path of challenge", i, d);
    for (unsigned k = 0; k < N_DRG && st == CUZK_OK; k++)
      st = cuzk_path_check(&x->drg_parents[k].path, &tree_r, "DRG parent's path of challenge", i, d);
    for (unsigned k = 0; k < N_EXP && st == CUZK_OK; k++)
      st = cuzk_path_check(&x->exp_parents[k].path, &tree_r, "expander parent's path of challenge", i, d);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}
