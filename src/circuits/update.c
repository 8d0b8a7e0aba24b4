/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The circuit of sector updates (SnapDeals). Source: circuits specification 6; docs/circuits/snap.md. */
#include "base/fail.h"
#include "circuits/synthesis.h"
#include "circuits/update_witness.h"
#include "gadgets/poseidon.h"
#include "gadgets/select.h"
#include "gadgets/sha256.h"

#define MAX_APEX 128
#define MAX_CHALLENGES 86
#define N_HS 6

/* Numbers that follow from the size: circuits specification 6.1. */
struct sizes {
  unsigned cb, pb, ab;          /* bits of a challenge, of the partition, of an apex leaf's index */
  unsigned st;                  /* height of the apex leaves in tree D */
  unsigned bpc, cpd, dpp;       /* random bits of a challenge, challenges of a digest, digests of a partition */
  unsigned hs[N_HS];
};

static unsigned log2_of(uint64_t x) {
  unsigned k = 0;
  while (x >> (k + 1)) k++;
  return k;
}

static struct sizes sizes_of(const struct cuzk_circuit *c) {
  struct sizes s;
  s.cb = log2_of(c->nodes);
  s.pb = log2_of(c->partitions);
  s.ab = c->sector_bytes <= 8192 ? 3 : 7;
  s.st = s.cb - s.pb - s.ab;
  s.bpc = s.cb - s.pb;
  s.cpd = CUZK_FR_CAPACITY / s.bpc;
  s.dpp = (c->challenges + s.cpd - 1) / s.cpd;
  for (unsigned i = 0; i < N_HS; i++) s.hs[i] = c->sector_bytes > 32768 ? 7 + i : 1;
  return s;
}

struct update {
  struct cuzk_cs *cs;
  const struct cuzk_circuit *c;
  struct sizes z;
  struct cuzk_tree_shape tree_r;
  struct cuzk_bool part[8], sel[N_HS];
  cuzk_var phi, root_r_old, root_r_new, apex[MAX_APEX];
  struct cuzk_bool gen[MAX_CHALLENGES][32]; /* bpc bits each */
  const struct cuzk_update_challenge *challenges; /* NULL: blank */
};

static cuzk_var gen_rand(struct cuzk_cs *cs, cuzk_var a, cuzk_var b, const char *region, unsigned i) {
  const cuzk_var x[2] = {a, b};
  cuzk_cs_push(cs, region, i);
  const cuzk_var h = cuzk_poseidon_gadget(cs, x, 2, CUZK_POSEIDON_GEN_RAND);
  cuzk_cs_pop(cs);
  return h;
}

static struct cuzk_tree_shape binary(unsigned steps) { return (struct cuzk_tree_shape){CUZK_TREE_SHA256, 2, 0, 0, steps, 0, 0}; }

static void apex_por(const struct update *u, const cuzk_var *partition_path, cuzk_var comm_d) {
  struct cuzk_cs *cs = u->cs;
  cuzk_var row[MAX_APEX];
  const struct cuzk_tree_shape top = binary(u->z.pb);
  cuzk_cs_push(cs, "apex_gadget", 0);
  for (unsigned i = 0; i < 1u << u->z.ab; i++) row[i] = u->apex[i];
  for (unsigned k = 0; k < u->z.ab; k++)
    for (unsigned i = 0; i < 1u << (u->z.ab - 1 - k); i++) {
      cuzk_cs_push2(cs, "apex_tree generation hash (tree_row=%u, siblings=%u)", k, i);
      row[i] = cuzk_sha256_node(cs, row[2 * i], row[2 * i + 1], "a_bits", "b_bits");
      cuzk_cs_pop(cs);
    }
  cuzk_cs_push(cs, "partition-tree por", 0);
  cuzk_por_no_input(cs, &top, row[0], u->part, partition_path, comm_d);
  cuzk_cs_pop(cs);
  cuzk_cs_pop(cs);
}

static void gen_challenge_bits(struct update *u, cuzk_var comm_r_new, cuzk_var partition, uint64_t k) {
  struct cuzk_cs *cs = u->cs;
  const struct sizes *z = &u->z;
  unsigned n = 0;
  cuzk_cs_push(cs, "gen_challenge_bits", 0);
  for (unsigned j = 0; j < z->dpp; j++) {
    cuzk_fr v;
    cuzk_fr_from_u64(&v, k * z->dpp + j);
    const cuzk_var di = cuzk_num_alloc(cs, &v);
    if (cs->lcs) {
      cuzk_fr f;
      cuzk_fr_from_u64(&f, j);
      cuzk_cs_term(cs, 0, CUZK_VAR_ONE, cuzk_cs_coeff(cs, &f)); /* a zero coefficient where j is 0 */
      cuzk_fr_from_u64(&f, z->dpp);
      cuzk_cs_term(cs, 0, partition, cuzk_cs_coeff(cs, &f));
      cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
      cuzk_cs_term(cs, 2, di, CUZK_COEFF_ONE);
    }
    cuzk_cs_enforce(cs);
    const cuzk_var dg = gen_rand(cs, comm_r_new, di, "digest_%u", j);
    struct cuzk_bool b[CUZK_FR_BITS];
    cuzk_cs_push(cs, "digest_%u_bits", j);
    cuzk_num_field_bits(cs, b, CUZK_FR_BITS, dg);
    cuzk_num_enforce_sum_of_bits(cs, b, CUZK_FR_BITS, dg);
    cuzk_cs_pop(cs);
    for (unsigned q = 0; q < z->cpd && n < u->c->challenges; q++, n++)
      for (unsigned i = 0; i < z->bpc; i++) u->gen[n][i] = b[q * z->bpc + i];
  }
  cuzk_cs_pop(cs);
}

/* The number of the top h bits of a challenge, h as chosen. */
static cuzk_var high_bits(struct cuzk_cs *cs, const struct update *u, const struct cuzk_bool *c) {
  cuzk_var z[N_HS];
  cuzk_fr sum = cuzk_fr_zero;
  for (unsigned q = 0; q < N_HS; q++) {
    const cuzk_var x = cuzk_pack_bits(cs, c + u->z.cb - u->z.hs[q], u->z.hs[q]);
    z[q] = cuzk_num_mul(cs, x, u->sel[q].var);
    if (cuzk_cs_has_values(cs)) cuzk_fr_add(&sum, &sum, cuzk_cs_value(cs, z[q]));
  }
  const cuzk_var y = cuzk_num_alloc(cs, &sum);
  if (cs->lcs) {
    for (unsigned q = 0; q < N_HS; q++) cuzk_cs_term(cs, 0, z[q], CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 2, y, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return y;
}

static void alloc_siblings(struct cuzk_cs *cs, cuzk_var *out, const cuzk_fr *siblings, unsigned n) {
  for (unsigned i = 0; i < n; i++) out[i] = cuzk_num_alloc(cs, siblings ? &siblings[i] : NULL);
}

static void challenge(struct cuzk_cs *cs, const void *arg, unsigned ci) {
  const struct update *const u = arg;
  const struct cuzk_update_challenge *const w = u->challenges ? &u->challenges[ci] : NULL;
  const struct sizes *z = &u->z;
  struct cuzk_bool c[40];
  cuzk_var siblings[7 * 40];
  for (unsigned i = 0; i < z->bpc; i++) c[i] = u->gen[ci][i];
  for (unsigned i = 0; i < z->pb; i++) c[z->bpc + i] = u->part[i];
  cuzk_cs_push(cs, "get_challenge_high_bits (c_index=%u)", ci);
  const cuzk_var high = high_bits(cs, u, c);
  cuzk_cs_pop(cs);
  const cuzk_var rho = gen_rand(cs, u->phi, high, "rho (c_index=%u)", ci);
  const cuzk_var leaf_old = cuzk_num_alloc(cs, w ? &w->leaf_r_old : NULL);
  const cuzk_var leaf_d = cuzk_num_alloc(cs, w ? &w->leaf_d_new : NULL);
  cuzk_cs_push(cs, "calc label_r_new (c_index=%u)", ci);
  const cuzk_var leaf_new = cuzk_num_add(cs, leaf_old, cuzk_num_mul(cs, leaf_d, rho));
  cuzk_cs_pop(cs);
  alloc_siblings(cs, siblings, w ? w->path_r_old.siblings : NULL, cuzk_tree_siblings(&u->tree_r));
  cuzk_cs_push(cs, "por tree_r_old (c_index=%u)", ci);
  cuzk_por_no_input(cs, &u->tree_r, leaf_old, c, siblings, u->root_r_old);
  cuzk_cs_pop(cs);
  alloc_siblings(cs, siblings, w ? w->path_r_new.siblings : NULL, cuzk_tree_siblings(&u->tree_r));
  cuzk_cs_push(cs, "por tree_r_new (c_index=%u)", ci);
  cuzk_por_no_input(cs, &u->tree_r, leaf_new, c, siblings, u->root_r_new);
  cuzk_cs_pop(cs);
  cuzk_var from[MAX_APEX];
  for (unsigned i = 0; i < 1u << z->ab; i++) from[i] = u->apex[i];
  cuzk_cs_push(cs, "select_apex_leaf (c_index=%u)", ci);
  const cuzk_var apex = cuzk_select(cs, from, c + z->st, z->ab);
  cuzk_cs_pop(cs);
  const struct cuzk_tree_shape bottom = binary(z->st);
  alloc_siblings(cs, siblings, w ? w->path_d_new.siblings : NULL, z->st);
  cuzk_cs_push(cs, "por to_apex_leaf (c_index=%u)", ci);
  cuzk_por_no_input(cs, &bottom, leaf_d, c, siblings, apex);
  cuzk_cs_pop(cs);
}

/* x = hash2(comm_c, root) and x = comm_r. */
static void check_comm_r(struct cuzk_cs *cs, cuzk_var comm_c, cuzk_var root, cuzk_var comm_r, const char *region) {
  cuzk_num_equal(cs, cuzk_hash2(cs, comm_c, root, region), comm_r);
}

void cuzk_update_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness) {
  const struct cuzk_update_partition *w = witness;
  struct update u = {.cs = cs, .c = c, .z = sizes_of(c), .tree_r = cuzk_tree_r(c)};
  const struct sizes *z = &u.z;
  const uint64_t kh_value = w ? w->k_and_h_select : 0;
  struct cuzk_bool kb[8 + N_HS];
  cuzk_fr v;
  cuzk_fr_from_u64(&v, kh_value);
  const cuzk_var kh = cuzk_num_alloc(cs, &v);
  (void)cuzk_num_inputize(cs, kh);
  for (unsigned i = 0; i < z->pb + N_HS; i++) kb[i] = cuzk_bit_alloc(cs, (kh_value >> i) & 1);
  cuzk_num_enforce_sum_of_bits(cs, kb, z->pb + N_HS, kh);
  for (unsigned i = 0; i < z->pb; i++) u.part[i] = kb[i];
  for (unsigned i = 0; i < N_HS; i++) u.sel[i] = kb[z->pb + i];
  const cuzk_var partition = cuzk_pack_bits(cs, u.part, z->pb);
  const cuzk_var comm_r_old = cuzk_num_alloc(cs, w ? &w->comm_r_old : NULL);
  (void)cuzk_num_inputize(cs, comm_r_old);
  const cuzk_var comm_d_new = cuzk_num_alloc(cs, w ? &w->comm_d_new : NULL);
  (void)cuzk_num_inputize(cs, comm_d_new);
  const cuzk_var comm_r_new = cuzk_num_alloc(cs, w ? &w->comm_r_new : NULL);
  (void)cuzk_num_inputize(cs, comm_r_new);
  u.phi = gen_rand(cs, comm_d_new, comm_r_old, "phi", 0);
  const cuzk_var comm_c = cuzk_num_alloc(cs, w ? &w->comm_c : NULL);
  u.root_r_old = cuzk_num_alloc(cs, w ? &w->root_r_old : NULL);
  u.root_r_new = cuzk_num_alloc(cs, w ? &w->root_r_new : NULL);
  cuzk_var partition_path[8];
  alloc_siblings(cs, u.apex, w ? w->apex_leaves : NULL, 1u << z->ab);
  alloc_siblings(cs, partition_path, w ? w->challenges[0].path_d_new.siblings + (z->cb - z->pb) : NULL, z->pb);
  check_comm_r(cs, comm_c, u.root_r_old, comm_r_old, "comm_r_old_calc");
  check_comm_r(cs, comm_c, u.root_r_new, comm_r_new, "comm_r_new_calc");
  apex_por(&u, partition_path, comm_d_new);
  gen_challenge_bits(&u, comm_r_new, partition, kh_value & (c->partitions - 1));
  u.challenges = w ? w->challenges : NULL;
  cuzk_cs_parts(cs, c->challenges, challenge, &u);
}

enum cuzk_status cuzk_update_check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d) {
  const struct cuzk_update_partition *w = witness;
  const struct sizes z = sizes_of(c);
  const struct cuzk_tree_shape tree_r = cuzk_tree_r(c), tree_d = cuzk_tree_d(c);
  if (w->k_and_h_select >> (z.pb + N_HS))
    return cuzk_fail(d, CUZK_E_ARG, "k_and_h_select %llu, the circuit has %u bits", (unsigned long long)w->k_and_h_select, z.pb + N_HS);
  if (w->n_apex_leaves != 1u << z.ab)
    return cuzk_fail(d, CUZK_E_ARG, "%u apex leaves, the circuit has %u", w->n_apex_leaves, 1u << z.ab);
  if (w->n_challenges != c->challenges)
    return cuzk_fail(d, CUZK_E_ARG, "%u challenges, the circuit has %u", w->n_challenges, c->challenges);
  for (unsigned i = 0; i < w->n_challenges; i++) {
    enum cuzk_status st = cuzk_path_check(&w->challenges[i].path_r_old, &tree_r, "old tree R path of challenge", i, d);
    if (st == CUZK_OK) st = cuzk_path_check(&w->challenges[i].path_r_new, &tree_r, "new tree R path of challenge", i, d);
    if (st == CUZK_OK) st = cuzk_path_check(&w->challenges[i].path_d_new, &tree_d, "new tree D path of challenge", i, d);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}
