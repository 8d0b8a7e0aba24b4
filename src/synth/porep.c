/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Challenges of an interactive PoRep follow from replica id and seed, and the replica id from comm_d, but not from comm_r: so the data
 * comes first, then the challenges, then labels just for the nodes that the challenges show, and the roots at last. */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "inputs/c1.h"
#include "inputs/porep_challenges.h"
#include "inputs/porep_graph.h"
#include "inputs/seal.h"
#include "synth/draw.h"
#include "synth/tree.h"
#include "synth/write.h"

/* A challenge, in the order of the document. */
struct challenge {
  uint64_t node;
  size_t column;                      /* place among the nodes shown */
  size_t parent[CUZK_POREP_PARENTS];
};

struct porep {
  const struct cuzk_circuit *circuit;
  const struct cuzk_seal_type *type;
  struct synth_draw draw;
  uint8_t ticket[32], seed[32], comm_d[32], replica_id[32];
  struct synth_tree d, c, r;
  const struct cuzk_poseidon *column_hash;
  size_t n_challenges, n_nodes;
  struct challenge *challenges;
  uint64_t *nodes; /* shown nodes: challenged ones and their parents; increasing */
  bool *challenged;
  cuzk_fr *rows;   /* n_nodes times layers */
  cuzk_fr *hashes; /* n_nodes */
};

static enum cuzk_status find_type(struct porep *p, const struct cuzk_synth *o, struct cuzk_detail *d) {
  const unsigned api = o->api_major_minor ? o->api_major_minor : 0x0101;
  p->circuit = cuzk_circuit_of(CUZK_KIND_POREP, o->sector_bytes);
  for (size_t i = 0; p->circuit && (p->type = cuzk_seal_type_at(i)) != NULL; i++) {
    const struct cuzk_seal_type *t = p->type;
    if (t->sector_bytes == o->sector_bytes && t->api_major_minor == api && t->feature == CUZK_POREP_INTERACTIVE) return CUZK_OK;
  }
  return cuzk_fail(d, CUZK_E_ARG, "no interactive PoRep of sectors of %llu bytes and API %u.%u", (unsigned long long)o->sector_bytes,
                   api >> 8, api & 0xff);
}

/* Data, and the ids that stand on it. */
static enum cuzk_status make_data(struct porep *p, const struct cuzk_synth *o, struct cuzk_pool *pool, struct cuzk_detail *d) {
  uint8_t prover[32], porep_id[32];
  enum cuzk_status st = synth_tree_pattern(&p->d, p->circuit, true, d);
  if (st != CUZK_OK) return st;
  for (size_t i = 0; i < p->d.level[0].n; i++) synth_draw_element(&p->d.level[0].value[i], &p->draw, SYNTH_DATA, 0, i);
  synth_tree_grow(&p->d, pool);
  cuzk_fr_to_le(p->comm_d, synth_tree_root(&p->d));
  synth_draw_bytes(p->ticket, &p->draw, SYNTH_TICKET, 0, 0);
  synth_draw_bytes(p->seed, &p->draw, SYNTH_SEED, 0, 0);
  cuzk_prover_id(prover, o->miner);
  cuzk_porep_id(porep_id, p->type);
  cuzk_replica_id(p->replica_id, prover, o->sector_number, p->ticket, p->comm_d, porep_id);
  return CUZK_OK;
}

/* The nodes that the challenges show. */
static enum cuzk_status choose_nodes(struct porep *p, struct cuzk_detail *d) {
  const size_t n = (size_t)p->type->n_partitions * p->circuit->challenges;
  uint8_t porep_id[32];
  struct cuzk_porep_graph graph;
  cuzk_porep_id(porep_id, p->type);
  cuzk_porep_graph_init(&graph, p->circuit->nodes, porep_id, p->type->api_major_minor);
  p->n_challenges = n;
  p->challenges = cuzk_malloc_array(n, sizeof *p->challenges);
  p->nodes = cuzk_malloc_array(n * (1 + CUZK_POREP_PARENTS), sizeof *p->nodes);
  if (!p->challenges || !p->nodes) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu challenges", n);
  size_t m = 0;
  for (size_t i = 0; i < n; i++) {
    struct challenge *ch = &p->challenges[i];
    cuzk_porep_challenges(&ch->node, CUZK_POREP_INTERACTIVE, p->circuit->nodes, p->replica_id, NULL, p->seed, 0, i, 1);
    p->nodes[m++] = ch->node;
    cuzk_porep_graph_parents(p->nodes + m, &graph, ch->node);
    m += CUZK_POREP_PARENTS;
  }
  p->n_nodes = synth_sort_unique(p->nodes, m);
  p->challenged = cuzk_calloc(p->n_nodes, sizeof *p->challenged);
  p->rows = cuzk_malloc_array(p->n_nodes * p->circuit->layers, sizeof *p->rows);
  p->hashes = cuzk_malloc_array(p->n_nodes, sizeof *p->hashes);
  if (!p->challenged || !p->rows || !p->hashes) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu columns", p->n_nodes);
  for (size_t i = 0; i < n; i++) {
    struct challenge *ch = &p->challenges[i];
    uint64_t parents[CUZK_POREP_PARENTS];
    cuzk_porep_graph_parents(parents, &graph, ch->node);
    ch->column = synth_find(p->nodes, p->n_nodes, ch->node);
    p->challenged[ch->column] = true;
    for (unsigned q = 0; q < CUZK_POREP_PARENTS; q++) ch->parent[q] = synth_find(p->nodes, p->n_nodes, parents[q]);
  }
  return CUZK_OK;
}

static cuzk_fr *label_of(const struct porep *p, size_t column, unsigned layer) {
  return &p->rows[column * p->circuit->layers + (layer - 1)];
}

/* The labels that a label of this layer hashes: six in layer 1, fourteen above. */
static unsigned label_parents(const cuzk_fr *out[CUZK_POREP_PARENTS], const struct porep *p, const struct challenge *ch, unsigned layer) {
  const unsigned n = layer == 1 ? CUZK_POREP_DRG_PARENTS : CUZK_POREP_PARENTS;
  for (unsigned q = 0; q < n; q++) out[q] = label_of(p, ch->parent[q], q < CUZK_POREP_DRG_PARENTS ? layer : layer - 1);
  return n;
}

static enum cuzk_status make_labels(struct porep *p, struct cuzk_detail *d) {
  /* A challenge for each challenged column: several may ask for the same node. */
  const struct challenge **of = cuzk_calloc(p->n_nodes, sizeof *of);
  if (!of) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu columns", p->n_nodes);
  for (size_t i = 0; i < p->n_challenges; i++) of[p->challenges[i].column] = &p->challenges[i];
  /* Layer by layer, nodes upwards: DRG parents lie below in the same layer, expander parents anywhere in the one before. */
  for (unsigned layer = 1; layer <= p->circuit->layers; layer++) {
    for (size_t i = 0; i < p->n_nodes; i++) {
      cuzk_fr *label = label_of(p, i, layer);
      if (of[i]) {
        const cuzk_fr *parents[CUZK_POREP_PARENTS];
        const unsigned n = label_parents(parents, p, of[i], layer);
        cuzk_porep_label(label, p->replica_id, layer, p->nodes[i], parents, n);
      } else {
        synth_draw_element(label, &p->draw, SYNTH_LABEL, layer, p->nodes[i]);
      }
    }
  }
  cuzk_free(of);
  return CUZK_OK;
}

enum { TASK_COLUMNS = 16 };

static void hash_columns(void *arg, size_t task, unsigned worker) {
  const struct porep *p = arg;
  (void)worker;
  for (size_t i = task * TASK_COLUMNS; i < p->n_nodes && i < (task + 1) * TASK_COLUMNS; i++) {
    cuzk_poseidon_hash(&p->hashes[i], p->column_hash, label_of(p, i, 1));
  }
}

/* Trees C and R. */
static enum cuzk_status make_trees(struct porep *p, struct cuzk_pool *pool, struct cuzk_detail *d) {
  enum cuzk_status st = cuzk_poseidon_get(&p->column_hash, p->circuit->layers, CUZK_POSEIDON_MERKLE);
  if (st != CUZK_OK) return cuzk_fail(d, st, "Poseidon constants: %s", cuzk_status_text(st));
  cuzk_pool_run(pool, hash_columns, p, (p->n_nodes + TASK_COLUMNS - 1) / TASK_COLUMNS);
  st = synth_tree_sparse(&p->c, p->circuit, &p->draw, SYNTH_TREE_C, p->nodes, p->hashes, p->n_nodes, pool, d);
  if (st != CUZK_OK) return st;
  /* Tree R is only seen at challenged nodes. Tree C has copied the hashes: their place is free. */
  uint64_t *index = cuzk_malloc_array(p->n_nodes, sizeof *index);
  if (!index) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu leaves", p->n_nodes);
  size_t n = 0;
  for (size_t i = 0; i < p->n_nodes; i++) {
    if (!p->challenged[i]) continue;
    cuzk_fr data;
    synth_tree_node(&data, &p->d, 0, p->nodes[i]);
    cuzk_fr_add(&p->hashes[n], label_of(p, i, p->circuit->layers), &data);
    index[n++] = p->nodes[i];
  }
  st = synth_tree_sparse(&p->r, p->circuit, &p->draw, SYNTH_TREE_R, index, p->hashes, n, pool, d);
  cuzk_free(index);
  return st;
}

/* ---- the document ---- */

static void write_column(struct cuzk_json_out *o, const struct porep *p, size_t column) {
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "column");
  cuzk_json_out_object(o);
  cuzk_json_out_member_u64(o, "index", p->nodes[column]);
  cuzk_json_out_key(o, "rows");
  cuzk_json_out_array(o);
  for (unsigned l = 1; l <= p->circuit->layers; l++) synth_json_element(o, label_of(p, column, l));
  cuzk_json_out_array_end(o);
  cuzk_json_out_key(o, "_h");
  cuzk_json_out_null(o);
  cuzk_json_out_object_end(o);
  cuzk_json_out_key(o, "inclusion_proof");
  synth_json_proof(o, &p->c, p->nodes[column]);
  cuzk_json_out_object_end(o);
}

static void write_columns(struct cuzk_json_out *o, const char *name, const struct porep *p, const size_t *column, unsigned n) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_array(o);
  for (unsigned i = 0; i < n; i++) write_column(o, p, column[i]);
  cuzk_json_out_array_end(o);
}

/* A labelling proof, or the encoding proof. */
static void write_labels(struct cuzk_json_out *o, const struct porep *p, const struct challenge *ch, unsigned layer) {
  const cuzk_fr *parents[CUZK_POREP_PARENTS];
  const unsigned n = label_parents(parents, p, ch, layer);
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "parents");
  cuzk_json_out_array(o);
  for (unsigned i = 0; i < CUZK_POREP_LABEL_PARENTS; i++) synth_json_element(o, parents[i % n]);
  cuzk_json_out_array_end(o);
  cuzk_json_out_member_u64(o, "layer_index", layer);
  cuzk_json_out_member_u64(o, "node", ch->node);
  cuzk_json_out_object_end(o);
}

static void write_challenge(struct cuzk_json_out *o, const struct porep *p, const struct challenge *ch) {
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "comm_d_proofs");
  synth_json_proof(o, &p->d, ch->node);
  cuzk_json_out_key(o, "comm_r_last_proof");
  synth_json_proof(o, &p->r, ch->node);
  cuzk_json_out_key(o, "replica_column_proofs");
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "c_x");
  write_column(o, p, ch->column);
  write_columns(o, "drg_parents", p, ch->parent, CUZK_POREP_DRG_PARENTS);
  write_columns(o, "exp_parents", p, ch->parent + CUZK_POREP_DRG_PARENTS, CUZK_POREP_EXP_PARENTS);
  cuzk_json_out_object_end(o);
  cuzk_json_out_key(o, "labeling_proofs");
  cuzk_json_out_array(o);
  for (unsigned l = 1; l <= p->circuit->layers; l++) write_labels(o, p, ch, l);
  cuzk_json_out_array_end(o);
  cuzk_json_out_key(o, "encoding_proof");
  write_labels(o, p, ch, p->circuit->layers);
  cuzk_json_out_object_end(o);
}

static void member_bytes(struct cuzk_json_out *o, const char *name, const uint8_t b[32]) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_bytes(o, b, 32);
}

static void write_document(struct cuzk_json_out *o, const struct porep *p, const uint8_t comm_r[32]) {
  cuzk_json_out_object(o);
  cuzk_json_out_member_string(o, "registered_proof", p->type->name);
  cuzk_json_out_key(o, "vanilla_proofs");
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, p->type->map_key);
  cuzk_json_out_array(o);
  const unsigned n = p->circuit->challenges;
  for (unsigned k = 0; k < p->type->n_partitions && o->st == CUZK_OK; k++) {
    cuzk_json_out_array(o);
    for (unsigned i = 0; i < n; i++) write_challenge(o, p, &p->challenges[(size_t)k * n + i]);
    cuzk_json_out_array_end(o);
  }
  cuzk_json_out_array_end(o);
  cuzk_json_out_object_end(o);
  member_bytes(o, "comm_r", comm_r);
  member_bytes(o, "comm_d", p->comm_d);
  member_bytes(o, "replica_id", p->replica_id);
  member_bytes(o, "seed", p->seed);
  member_bytes(o, "ticket", p->ticket);
  cuzk_json_out_object_end(o);
}

enum cuzk_status cuzk_synth_porep(char **text, size_t *n, const struct cuzk_synth *o, struct cuzk_pool *pool, struct cuzk_detail *d) {
  struct porep p = {0};
  struct cuzk_json_out out;
  cuzk_fr comm_r;
  uint8_t comm_r_le[32];
  enum cuzk_status st;
  *text = NULL;
  *n = 0;
  CUZK_TRY(find_type(&p, o, d));
  synth_draw_init(&p.draw, CUZK_KIND_POREP, o, o->sector_number, p.type->api_major_minor);
  CUZK_TRY(make_data(&p, o, pool, d));
  CUZK_TRY(choose_nodes(&p, d));
  CUZK_TRY(make_labels(&p, d));
  CUZK_TRY(make_trees(&p, pool, d));
  const cuzk_fr both[2] = {*synth_tree_root(&p.c), *synth_tree_root(&p.r)};
  cuzk_poseidon_hash(&comm_r, p.c.hashes.by_arity[2], both);
  cuzk_fr_to_le(comm_r_le, &comm_r);
  cuzk_json_out_init(&out, NULL);
  write_document(&out, &p, comm_r_le);
  st = cuzk_json_out_finish(&out, text, n, d);
out:
  synth_tree_clear(&p.d);
  synth_tree_clear(&p.c);
  synth_tree_clear(&p.r);
  cuzk_free(p.challenges);
  cuzk_free(p.nodes);
  cuzk_free(p.challenged);
  cuzk_free(p.rows);
  cuzk_free(p.hashes);
  return st;
}
