/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include "inputs/c1.h"
#include "inputs/c1_parts.h"
#include "inputs/merkle_path.h"
#include "inputs/porep_challenges.h"
#include "inputs/porep_graph.h"

/* ---- derived values ---- */

void cuzk_prover_id(uint8_t out[32], uint64_t miner) {
  memset(out, 0, 32);
  for (unsigned i = 0;; i++) {
    out[i] = miner & 0x7f;
    miner >>= 7;
    if (!miner) return;
    out[i] |= 0x80;
  }
}

void cuzk_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector_number, const uint8_t ticket[32],
                     const uint8_t comm_d[32], const uint8_t porep_id[32]) {
  uint8_t number[8];
  struct cuzk_sha256 s;
  cuzk_store_be64(number, sector_number);
  cuzk_sha256_init(&s);
  cuzk_sha256_update(&s, prover_id, 32);
  cuzk_sha256_update(&s, number, sizeof number);
  cuzk_sha256_update(&s, ticket, 32);
  cuzk_sha256_update(&s, comm_d, 32);
  cuzk_sha256_update(&s, porep_id, 32);
  cuzk_sha256_final(&s, out);
  out[31] &= 0x3f;
}

enum cuzk_status cuzk_c1_check_identity(const struct cuzk_c1 *c, uint64_t miner, uint64_t sector_number, struct cuzk_detail *d) {
  uint8_t prover[32], id[32];
  /* 0 in a wrapper can mean that nobody filled it in. */
  if (c->wrapped && c->sector_num && c->sector_num != sector_number) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "SectorNum of the wrapper is %llu, the sector asked for %llu", (unsigned long long)c->sector_num,
                     (unsigned long long)sector_number);
  }
  cuzk_prover_id(prover, miner);
  cuzk_replica_id(id, prover, sector_number, c->ticket, c->comm_d, c->porep_id);
  if (memcmp(id, c->replica_id, 32) != 0) {
    return cuzk_fail(d, CUZK_E_MISMATCH,
                     "replica_id does not belong to miner %llu and sector %llu (with this ticket, comm_d and registered proof)",
                     (unsigned long long)miner, (unsigned long long)sector_number);
  }
  return CUZK_OK;
}

static void derive_challenges(uint64_t *out, const struct cuzk_c1 *c, uint64_t first, size_t n) {
  cuzk_porep_challenges(out, c->type.feature, c->circuit->nodes, c->replica_id, c->comm_r, c->seed, 0, first, n);
}

enum cuzk_status cuzk_c1_public_inputs(cuzk_fr *out, const struct cuzk_c1 *c, unsigned partition, struct cuzk_detail *d) {
  if (partition >= c->n_partitions) {
    return cuzk_fail(d, CUZK_E_ARG, "partition %u of %u (counted from 0)", partition, c->n_partitions);
  }
  struct cuzk_porep_graph g;
  const unsigned n = c->circuit->challenges;
  cuzk_porep_graph_init(&g, c->circuit->nodes, c->porep_id, c->type.api_major_minor);
  *out++ = c->partitions[partition].replica_id;
  *out++ = c->partitions[partition].comm_d;
  *out++ = c->partitions[partition].comm_r;
  for (unsigned i = 0; i < n; i++) {
    uint64_t challenge, parents[CUZK_POREP_PARENTS];
    derive_challenges(&challenge, c, (uint64_t)partition * n + i, 1);
    cuzk_porep_graph_parents(parents, &g, challenge);
    cuzk_fr_from_u64(out++, challenge);
    for (unsigned p = 0; p < CUZK_POREP_PARENTS; p++) cuzk_fr_from_u64(out++, parents[p]);
    for (unsigned t = 0; t < 3; t++) cuzk_fr_from_u64(out++, challenge);
  }
  return CUZK_OK;
}

/* ---- checks ---- */

struct check {
  const struct cuzk_c1 *c;
  struct cuzk_porep_graph graph;
  struct cuzk_tree_hashes tree;
  const struct cuzk_poseidon *column;  /* arity = layers */
  _Atomic size_t first_bad;            /* smallest failing task, SIZE_MAX if none */
};

/* Where a check is, for messages. */
struct place {
  unsigned partition, challenge;
  struct cuzk_detail *d;
};

static enum cuzk_status __attribute__((format(printf, 2, 3))) wrong(const struct place *at, const char *fmt, ...) {
  if (!at->d) return CUZK_E_MISMATCH;
  char text[400];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return cuzk_fail(at->d, CUZK_E_MISMATCH, "partition %u, challenge %u: %s", at->partition, at->challenge, text);
}

/* Name of parent p in the document. */
static const char *parent_name(char out[32], unsigned p) {
  const bool drg = p < CUZK_POREP_DRG_PARENTS;
  (void)snprintf(out, 32, "%s_parents[%u]", drg ? "drg" : "exp", drg ? p : p - CUZK_POREP_DRG_PARENTS);
  return out;
}

/* The parents that label of layer l + 1 hashes: six at the first layer, fourteen above (the expander's of the layer below). */
static unsigned label_inputs(const cuzk_fr *out[CUZK_POREP_PARENTS], const struct cuzk_porep_challenge *ch, unsigned l) {
  for (unsigned i = 0; i < CUZK_POREP_DRG_PARENTS; i++) out[i] = &ch->drg_parents[i].rows[l];
  if (l == 0) return CUZK_POREP_DRG_PARENTS;
  for (unsigned i = 0; i < CUZK_POREP_EXP_PARENTS; i++) out[CUZK_POREP_DRG_PARENTS + i] = &ch->exp_parents[i].rows[l - 1];
  return CUZK_POREP_PARENTS;
}

static enum cuzk_status check_position(const struct place *at, const char *what, uint64_t found, uint64_t expected, const char *source) {
  if (found == expected) return CUZK_OK;
  return wrong(at, "%s is of node %llu, expected %llu (%s)", what, (unsigned long long)found, (unsigned long long)expected, source);
}

static enum cuzk_status check_places(const struct check *k, const struct cuzk_porep_challenge *ch, const struct c1_challenge *x,
                                     const struct place *at) {
  enum cuzk_status st;
  uint64_t expected, parents[CUZK_POREP_PARENTS];
  char name[32], what[80];
  derive_challenges(&expected, k->c, (uint64_t)at->partition * k->c->circuit->challenges + at->challenge, 1);
  CUZK_TRY(check_position(at, "labeling_proofs", ch->challenge, expected,
                          k->c->type.feature == CUZK_POREP_NON_INTERACTIVE ? "drawn from replica id and comm_r"
                                                                           : "drawn from replica id and seed"));
  CUZK_TRY(check_position(at, "path of comm_d_proofs", cuzk_path_position(&ch->comm_d_path), expected, "the challenge"));
  CUZK_TRY(check_position(at, "path of comm_r_last_proof", cuzk_path_position(&ch->comm_r_last_path), expected, "the challenge"));
  CUZK_TRY(check_position(at, "path of c_x.inclusion_proof", cuzk_path_position(&ch->comm_c_path), expected, "the challenge"));
  CUZK_TRY(check_position(at, "column of c_x", x->c_x_index, expected, "the challenge"));
  cuzk_porep_graph_parents(parents, &k->graph, expected);
  for (unsigned p = 0; p < CUZK_POREP_PARENTS; p++) {
    const struct cuzk_porep_column *col =
        p < CUZK_POREP_DRG_PARENTS ? &ch->drg_parents[p] : &ch->exp_parents[p - CUZK_POREP_DRG_PARENTS];
    (void)snprintf(what, sizeof what, "path of %s", parent_name(name, p));
    CUZK_TRY(check_position(at, what, cuzk_path_position(&col->path), parents[p], "the graph's parent"));
    (void)snprintf(what, sizeof what, "column of %s", name);
    CUZK_TRY(check_position(at, what, x->parent_index[p], parents[p], "the graph's parent"));
  }
  st = CUZK_OK;
out:
  return st;
}

static enum cuzk_status check_parents(const struct check *k, const struct cuzk_porep_challenge *ch, const struct c1_challenge *x,
                                      const cuzk_fr *comm_c, const struct place *at) {
  char name[32];
  for (unsigned p = 0; p < CUZK_POREP_PARENTS; p++) {
    const struct cuzk_porep_column *col =
        p < CUZK_POREP_DRG_PARENTS ? &ch->drg_parents[p] : &ch->exp_parents[p - CUZK_POREP_DRG_PARENTS];
    cuzk_fr h;
    cuzk_poseidon_hash(&h, k->column, col->rows);
    if (!cuzk_fr_eq(&h, &x->parents[p].leaf)) {
      return wrong(at, "leaf of %s is not the hash of its column", parent_name(name, p));
    }
    if (!cuzk_fr_eq(&x->parents[p].root, comm_c)) return wrong(at, "root of %s is not comm_c", parent_name(name, p));
    cuzk_path_root_poseidon(&h, &k->tree, &x->parents[p].leaf, &col->path);
    if (!cuzk_fr_eq(&h, comm_c)) return wrong(at, "path of %s does not lead to comm_c", parent_name(name, p));
  }
  return CUZK_OK;
}

/* Labels of the challenged node, and everything that repeats their parents. */
static enum cuzk_status check_labels(cuzk_fr *labels, const struct check *k, const struct cuzk_porep_challenge *ch,
                                     const struct c1_challenge *x, const struct place *at) {
  const unsigned layers = k->c->circuit->layers;
  for (unsigned l = 0; l < layers; l++) {
    const cuzk_fr *in[CUZK_POREP_PARENTS];
    const unsigned n = label_inputs(in, ch, l);
    const cuzk_fr *said = x->label_parents + (size_t)l * C1_LABEL_PARENTS;
    for (unsigned i = 0; i < C1_LABEL_PARENTS; i++) {
      if (!cuzk_fr_eq(&said[i], in[i % n])) {
        return wrong(at, "labeling_proofs[%u].parents[%u] is not in the parent's column", l, i);
      }
      if (l + 1 == layers && !cuzk_fr_eq(&x->encode_parents[i], in[i % n])) {
        return wrong(at, "encoding_proof.parents[%u] is not in the parent's column", i);
      }
    }
    cuzk_porep_label(&labels[l], k->c->replica_id, l + 1, ch->challenge, in, n);
    if (!cuzk_fr_eq(&labels[l], &x->c_x_rows[l])) {
      return wrong(at, "c_x.column.rows[%u] is not the label that its parents give", l);
    }
  }
  return CUZK_OK;
}

enum { MAX_LAYERS = 11 };

static enum cuzk_status check_challenge(const struct check *k, size_t task, struct cuzk_detail *d) {
  const struct cuzk_c1 *c = k->c;
  const unsigned n = c->circuit->challenges;
  const struct place at = {(unsigned)(task / n), (unsigned)(task % n), d};
  const struct cuzk_porep_partition *part = &c->partitions[at.partition];
  const struct cuzk_porep_challenge *ch = &part->challenges[at.challenge];
  const struct c1_challenge *x = &((const struct c1_arena *)c->arena)->extra[task];
  enum cuzk_status st;
  cuzk_fr labels[MAX_LAYERS], h;
  uint8_t root[32], said[32];
  CUZK_TRY(check_places(k, ch, x, &at));

  cuzk_path_root_sha256(root, &ch->data_leaf, &ch->comm_d_path, ch->comm_d_path.n_steps);
  cuzk_fr_to_le(said, &x->d.root);
  if (memcmp(said, c->comm_d, 32) != 0) return wrong(&at, "root of comm_d_proofs is not comm_d");
  if (memcmp(root, said, 32) != 0) return wrong(&at, "path of comm_d_proofs does not lead to comm_d");

  CUZK_TRY(check_parents(k, ch, x, &part->comm_c, &at));
  CUZK_TRY(check_labels(labels, k, ch, x, &at));

  cuzk_fr_add(&h, &labels[c->circuit->layers - 1], &ch->data_leaf);
  if (!cuzk_fr_eq(&h, &x->r.leaf)) return wrong(&at, "leaf of comm_r_last_proof is not the encoded node (last label plus data)");
  cuzk_path_root_poseidon(&h, &k->tree, &x->r.leaf, &ch->comm_r_last_path);
  if (!cuzk_fr_eq(&h, &part->comm_r_last)) return wrong(&at, "path of comm_r_last_proof does not lead to comm_r_last");

  cuzk_poseidon_hash(&h, k->column, labels);
  if (!cuzk_fr_eq(&h, &x->c_x.leaf)) return wrong(&at, "leaf of c_x.inclusion_proof is not the hash of the labels");
  cuzk_path_root_poseidon(&h, &k->tree, &x->c_x.leaf, &ch->comm_c_path);
  if (!cuzk_fr_eq(&h, &part->comm_c)) return wrong(&at, "path of c_x.inclusion_proof does not lead to comm_c");
  st = CUZK_OK;
out:
  return st;
}

static void check_task(void *arg, size_t task, unsigned worker) {
  struct check *k = arg;
  (void)worker;
  size_t first = atomic_load_explicit(&k->first_bad, memory_order_relaxed);
  if (task > first || check_challenge(k, task, NULL) == CUZK_OK) return;
  while (task < first && !atomic_compare_exchange_weak(&k->first_bad, &first, task)) {
  }
}

enum cuzk_status cuzk_c1_check(const struct cuzk_c1 *c, struct cuzk_pool *pool, struct cuzk_detail *d) {
  const struct cuzk_circuit *ci = c->circuit;
  struct check k = {.c = c, .first_bad = SIZE_MAX};
  enum cuzk_status st;
  /* 0 and 0 can mean that nobody filled them in */
  if (c->has_miner && (c->miner || c->sector_num)) {
    st = cuzk_c1_check_identity(c, c->miner, c->sector_num, d);
    if (st != CUZK_OK) return st;
  }
  if (ci->layers > MAX_LAYERS) return cuzk_fail(d, CUZK_E_INTERNAL, "circuit %s with %u layers", ci->name, ci->layers);
  cuzk_porep_graph_init(&k.graph, ci->nodes, c->porep_id, c->type.api_major_minor);
  CUZK_TRY(cuzk_poseidon_get(&k.column, ci->layers, CUZK_POSEIDON_MERKLE));
  CUZK_TRY(cuzk_tree_hashes_get(&k.tree, ci));

  for (unsigned p = 0; p < c->n_partitions; p++) {
    const struct cuzk_porep_partition *part = &c->partitions[p];
    const cuzk_fr both[2] = {part->comm_c, part->comm_r_last};
    cuzk_fr h;
    cuzk_poseidon_hash(&h, k.tree.by_arity[2], both);
    if (!cuzk_fr_eq(&h, &part->comm_r)) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u: comm_r is not the hash of the roots comm_c and comm_r_last", p);
    }
  }
  cuzk_pool_run(pool, check_task, &k, (size_t)c->n_partitions * ci->challenges);
  const size_t bad = atomic_load(&k.first_bad);
  st = bad == SIZE_MAX ? CUZK_OK : check_challenge(&k, bad, d);
  return st;
out:
  return cuzk_fail(d, st, "Poseidon constants: %s", cuzk_status_text(st));
}
