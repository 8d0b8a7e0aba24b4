/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The phase-1 output as a file of bincode, which names no registered proof (formats specification 5.3). */
#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "inputs/bincode.h"
#include "inputs/c1_parts.h"
#include "inputs/porep_challenges.h"

enum { COLUMN_PROOFS = 1 + CUZK_POREP_PARENTS, LABELING_BYTES = 8 + 32 * C1_LABEL_PARENTS + 4 + 8 };

bool c1_is_bincode(const uint8_t *data, size_t n) { return n >= 8 && cuzk_load_le64(data) <= UINT16_MAX; }

static size_t document_bytes(const struct cuzk_circuit *k, unsigned n_partitions) {
  const struct tree_shape d = tree_shape_d(k), r = tree_shape_r(k);
  const size_t column = 4 + 8 + 32 * (size_t)k->layers + tree_shape_bytes(&r);
  const size_t challenge = tree_shape_bytes(&d) + tree_shape_bytes(&r) + COLUMN_PROOFS * column + 3 * 8 +
                           (k->layers + (size_t)1) * LABELING_BYTES;
  return 8 + n_partitions * (8 + k->challenges * challenge) + 5 * 32;
}

static void read_bytes(struct bincode *b, uint8_t out[32], bool canonical, bool nonzero, const char *what) {
  for (unsigned i = 0; i < 4; i++) cuzk_store_le64(out + 8 * i, bincode_u64(b));
  const char *wrong = b->st == CUZK_OK ? c1_id_problem(out, canonical, nonzero) : NULL;
  if (wrong) (void)bincode_fail(b, CUZK_E_FORMAT, "%s: %s", what, wrong);
}

static void read_column(struct bincode *b, const struct cuzk_c1 *c, const cuzk_fr **rows, struct cuzk_merkle_path *path,
                        struct c1_ends *ends, uint32_t *index) {
  const struct tree_shape r = tree_shape_r(c->circuit);
  cuzk_fr *out = c1_cut(c->arena, c->circuit->layers, sizeof *out);
  *rows = out;
  *index = bincode_u32(b);
  bincode_expect(b, 8, c->circuit->layers, "number of rows");
  for (unsigned l = 0; l < c->circuit->layers; l++) bincode_element(b, &out[l], "row");
  bincode_proof(b, path, &ends->root, &ends->leaf, &r);
}

static uint64_t read_labeling(struct bincode *b, cuzk_fr *parents, unsigned layer, uint64_t nodes) {
  bincode_expect(b, 8, C1_LABEL_PARENTS, "number of parents");
  for (unsigned i = 0; i < C1_LABEL_PARENTS; i++) bincode_element(b, &parents[i], "parent");
  bincode_expect(b, 4, layer, "layer");
  const uint64_t node = bincode_u64(b);
  if (b->st == CUZK_OK && node >= nodes) {
    (void)bincode_fail(b, CUZK_E_FORMAT, "node: expected less than %llu, found %llu", (unsigned long long)nodes, (unsigned long long)node);
  }
  return node;
}

static void read_challenge(struct bincode *b, const struct cuzk_c1 *c, struct cuzk_porep_challenge *ch, struct c1_challenge *x) {
  const struct cuzk_circuit *k = c->circuit;
  const struct tree_shape d = tree_shape_d(k), r = tree_shape_r(k);
  const size_t siblings = tree_shape_siblings(&d) + (1 + COLUMN_PROOFS) * tree_shape_siblings(&r);
  cuzk_fr *labels = c1_cut(c->arena, (size_t)k->layers * C1_LABEL_PARENTS, sizeof *labels);
  cuzk_fr *encode = c1_cut(c->arena, C1_LABEL_PARENTS, sizeof *encode);
  b->next_sibling = c1_cut(c->arena, siblings, sizeof(cuzk_fr));
  x->label_parents = labels;
  x->encode_parents = encode;
  bincode_proof(b, &ch->comm_d_path, &x->d.root, &x->d.leaf, &d);
  bincode_proof(b, &ch->comm_r_last_path, &x->r.root, &x->r.leaf, &r);
  read_column(b, c, &x->c_x_rows, &ch->comm_c_path, &x->c_x, &x->c_x_index);
  bincode_expect(b, 8, CUZK_POREP_DRG_PARENTS, "number of DRG parents");
  for (unsigned i = 0; i < CUZK_POREP_DRG_PARENTS; i++) {
    read_column(b, c, &ch->drg_parents[i].rows, &ch->drg_parents[i].path, &x->parents[i], &x->parent_index[i]);
  }
  bincode_expect(b, 8, CUZK_POREP_EXP_PARENTS, "number of expander parents");
  for (unsigned i = 0; i < CUZK_POREP_EXP_PARENTS; i++) {
    const unsigned p = CUZK_POREP_DRG_PARENTS + i;
    read_column(b, c, &ch->exp_parents[i].rows, &ch->exp_parents[i].path, &x->parents[p], &x->parent_index[p]);
  }
  bincode_expect(b, 8, k->layers, "number of labelling proofs (one a layer)");
  ch->data_leaf = x->d.leaf;
  for (unsigned l = 0; l <= k->layers; l++) {
    /* the encoding proof has the form of one more, of the last layer */
    const bool label = l < k->layers;
    const uint64_t node = read_labeling(b, label ? labels + (size_t)l * C1_LABEL_PARENTS : encode, label ? l + 1 : k->layers, k->nodes);
    if (l == 0) ch->challenge = node;
    if (b->st == CUZK_OK && node != ch->challenge) {
      (void)bincode_fail(b, CUZK_E_MISMATCH, "%s proof is of node %llu, that of the first layer of node %llu", label ? "labelling" : "encoding",
                         (unsigned long long)node, (unsigned long long)ch->challenge);
    }
  }
}

/* Challenges and parents follow from the registered proof: the first challenge shows which one it is. */
static bool is_type(const struct cuzk_c1 *c, const struct cuzk_seal_type *t) {
  const struct c1_challenge *x = ((const struct c1_arena *)c->arena)->extra;
  uint8_t porep_id[32];
  uint64_t challenge, parents[CUZK_POREP_PARENTS];
  struct cuzk_porep_graph g;
  cuzk_porep_challenges(&challenge, t->feature, c->circuit->nodes, c->replica_id, c->comm_r, c->seed, 0, 0, 1);
  if (challenge != c->partitions[0].challenges[0].challenge) return false;
  cuzk_porep_id(porep_id, t);
  cuzk_porep_graph_init(&g, c->circuit->nodes, porep_id, t->api_major_minor);
  cuzk_porep_graph_parents(parents, &g, challenge);
  for (unsigned i = 0; i < CUZK_POREP_PARENTS; i++) {
    if (parents[i] != x->parent_index[i]) return false;
  }
  return true;
}

enum cuzk_status c1_read_bincode(struct cuzk_c1 *c, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d) {
  struct bincode b = {.p = data, .n = n, .name = name, .d = d};
  const struct cuzk_seal_type *t = NULL, *found = NULL;
  const uint64_t n_partitions = bincode_u64(&b);
  for (size_t i = 0; (t = cuzk_seal_type_at(i)); i++) {
    const struct cuzk_circuit *k = cuzk_circuit_of(CUZK_KIND_POREP, t->sector_bytes);
    if (!k || t->n_partitions != n_partitions || document_bytes(k, t->n_partitions) != n) continue;
    /* version 1.1 where nothing tells more */
    if (!found || t->api_major_minor == 0x0101) found = t;
  }
  if (!found) {
    return cuzk_fail(d, CUZK_E_FORMAT, "%.120s: bincode of %zu bytes and %llu partitions is no phase-1 output of any sector size", name, n,
                     (unsigned long long)n_partitions);
  }
  enum cuzk_status st = c1_set_type(c, found);
  if (st != CUZK_OK) return cuzk_fail(d, st, "%.120s: no memory for %u partitions of %s", name, found->n_partitions, found->size_name);

  for (unsigned k = 0; k < c->n_partitions && b.st == CUZK_OK; k++) {
    struct cuzk_porep_partition *p = &c->partitions[k];
    struct c1_challenge *extra = ((struct c1_arena *)c->arena)->extra + (size_t)k * p->n_challenges;
    /* The circuit's view is const; this is where it is written. */
    struct cuzk_porep_challenge *challenges = (struct cuzk_porep_challenge *)(uintptr_t)p->challenges;
    bincode_expect(&b, 8, p->n_challenges, "number of challenges");
    for (unsigned i = 0; i < p->n_challenges && b.st == CUZK_OK; i++) {
      read_challenge(&b, c, &challenges[i], &extra[i]);
      const char *wrong = b.st == CUZK_OK ? c1_take_roots(p, &extra[i], i) : NULL;
      if (wrong) {
        (void)bincode_fail(&b, CUZK_E_MISMATCH, "partition %u, challenge %u: root of %s differs from that of the partition's first challenge",
                           k, i, wrong);
      }
    }
  }
  read_bytes(&b, c->comm_r, true, true, "comm_r");
  read_bytes(&b, c->comm_d, true, true, "comm_d");
  read_bytes(&b, c->replica_id, true, false, "replica_id");
  read_bytes(&b, c->seed, false, true, "seed");
  read_bytes(&b, c->ticket, false, false, "ticket");
  st = bincode_end(&b);
  if (st != CUZK_OK || is_type(c, found)) return st;
  for (size_t i = 0; (t = cuzk_seal_type_at(i)); i++) {
    if (t->sector_bytes != found->sector_bytes || t->n_partitions != n_partitions || !is_type(c, t)) continue;
    c->type = *t;
    cuzk_porep_id(c->porep_id, t);
    break;
  }
  return CUZK_OK;
}
