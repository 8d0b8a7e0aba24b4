/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/c1.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"
#include "inputs/bincode.h"
#include "inputs/c1_parts.h"

/* ---- values ---- */

static enum cuzk_status read_element(cuzk_fr *r, struct cuzk_json *j) {
  uint8_t b[32];
  enum cuzk_status st = cuzk_json_bytes(j, b, 32);
  if (st != CUZK_OK) return st;
  return cuzk_fr_from_le(r, b) ? CUZK_OK : cuzk_json_fail(j, CUZK_E_FORMAT, "not a canonical field element (not below the group order)");
}

static enum cuzk_status read_elements(cuzk_fr *r, size_t n, const char *what, struct cuzk_json *j) {
  enum cuzk_status st = cuzk_json_array_of(j, n, what);
  for (size_t i = 0; st == CUZK_OK; i++) {
    bool more;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    st = read_element(&r[i], j);
  }
  return st;
}

/* One level: { "hashes": [...], "index": n }. */
static enum cuzk_status read_level(cuzk_fr *siblings, uint8_t *index, unsigned arity, struct cuzk_json *j) {
  static const char *const names[] = {"hashes", "index"};
  enum cuzk_status st = cuzk_json_object(j, names, 2, 3);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    if (m == 0) {
      st = read_elements(siblings, arity - 1, "siblings", j);
    } else {
      uint64_t v = 0;
      st = cuzk_json_u64(j, arity - 1, &v);
      *index = (uint8_t)v;
    }
  }
  return st;
}

/* { "path": [ levels ] }: levels first .. first + n - 1 of p. */
static enum cuzk_status read_path(struct cuzk_merkle_path *p, cuzk_fr *siblings, unsigned first, unsigned n, struct cuzk_json *j) {
  static const char *const names[] = {"path"};
  for (unsigned i = 0; i < first; i++) siblings += p->arity[i] - 1;
  enum cuzk_status st = cuzk_json_object(j, names, 1, 1);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    st = cuzk_json_array_of(j, n, "path levels");
    for (unsigned i = first; st == CUZK_OK; i++) {
      bool more;
      st = cuzk_json_element(j, &more);
      if (st != CUZK_OK || !more) break;
      st = read_level(siblings, &p->index[i], p->arity[i], j);
      siblings += p->arity[i] - 1;
    }
  }
  return st;
}

static const char *const variants[] = {"Single", "Sub", "Top"};

/* The inside of a variant. */
static enum cuzk_status read_proof_data(struct cuzk_merkle_path *p, struct c1_ends *ends, cuzk_fr *siblings, const struct tree_shape *t,
                                        unsigned variant, struct cuzk_json *j) {
  static const char *const single[] = {"root", "leaf", "path"};
  static const char *const compound[] = {"root", "leaf", "base_proof", "sub_proof", "top_proof"};
  const unsigned n_names = variant == 0 ? 3 : 3 + variant;
  enum cuzk_status st = cuzk_json_object(j, variant == 0 ? single : compound, n_names, (1u << n_names) - 1);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    if (m < 2) {
      st = read_element(m == 0 ? &ends->root : &ends->leaf, j);
    } else {
      const unsigned part = (unsigned)m - 2;
      unsigned first = 0;
      for (unsigned i = 0; i < part; i++) first += t->steps[i];
      st = read_path(p, siblings, first, t->steps[part], j);
    }
  }
  return st;
}

/* { "data": { "Single" | "Sub" | "Top": {...} } } of a tree of shape t. */
static enum cuzk_status read_proof(struct cuzk_merkle_path *p, struct c1_ends *ends, const struct tree_shape *t, struct c1_arena *a,
                                   struct cuzk_json *j) {
  static const char *const outer[] = {"data"};
  const unsigned want = t->steps[2] ? 2 : t->steps[1] ? 1 : 0;
  for (unsigned part = 0; part < 3; part++)
    for (unsigned i = 0; i < t->steps[part]; i++) p->arity[p->n_steps++] = (uint8_t)t->arity[part];
  cuzk_fr *siblings = c1_cut(a, tree_shape_siblings(t), sizeof *siblings);
  p->siblings = siblings;
  enum cuzk_status st = cuzk_json_object(j, outer, 1, 1);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    st = cuzk_json_object(j, variants, 3, (uint64_t)1 << want);
    while (st == CUZK_OK) {
      st = cuzk_json_member(j, &m);
      if (st != CUZK_OK || m < 0) break;
      if ((unsigned)m != want) {
        return cuzk_json_fail(j, CUZK_E_FORMAT, "expected a Merkle proof of kind %s, found %s", variants[want], variants[m]);
      }
      st = read_proof_data(p, ends, siblings, t, want, j);
    }
  }
  return st;
}

/* { "index", "rows", "_h" } */
static enum cuzk_status read_column(cuzk_fr *rows, uint32_t *index, unsigned layers, struct cuzk_json *j) {
  static const char *const names[] = {"index", "rows", "_h"};
  enum cuzk_status st = cuzk_json_object(j, names, 3, 3);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    if (m == 0) {
      uint64_t v = 0;
      st = cuzk_json_u64(j, UINT32_MAX, &v);
      *index = (uint32_t)v;
    } else if (m == 1) {
      st = read_elements(rows, layers, "rows", j);
    } else {
      st = cuzk_json_null(j);
    }
  }
  return st;
}

static enum cuzk_status read_column_proof(const cuzk_fr **rows, struct cuzk_merkle_path *path, struct c1_ends *ends, uint32_t *index,
                                          const struct cuzk_c1 *c, struct cuzk_json *j) {
  static const char *const names[] = {"column", "inclusion_proof"};
  const struct tree_shape t = tree_shape_r(c->circuit);
  cuzk_fr *out = c1_cut(c->arena, c->circuit->layers, sizeof *out);
  *rows = out;
  enum cuzk_status st = cuzk_json_object(j, names, 2, 3);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    st = m == 0 ? read_column(out, index, c->circuit->layers, j) : read_proof(path, ends, &t, c->arena, j);
  }
  return st;
}

static enum cuzk_status read_parents(struct cuzk_porep_column *columns, struct c1_ends *ends, uint32_t *index, unsigned n,
                                     const char *what, const struct cuzk_c1 *c, struct cuzk_json *j) {
  enum cuzk_status st = cuzk_json_array_of(j, n, what);
  for (unsigned i = 0; st == CUZK_OK; i++) {
    bool more;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    st = read_column_proof(&columns[i].rows, &columns[i].path, &ends[i], &index[i], c, j);
  }
  return st;
}

static enum cuzk_status read_columns(struct cuzk_porep_challenge *ch, struct c1_challenge *x, const struct cuzk_c1 *c, struct cuzk_json *j) {
  static const char *const names[] = {"c_x", "drg_parents", "exp_parents"};
  enum cuzk_status st = cuzk_json_object(j, names, 3, 7);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    if (m == 0) {
      st = read_column_proof(&x->c_x_rows, &ch->comm_c_path, &x->c_x, &x->c_x_index, c, j);
    } else if (m == 1) {
      st = read_parents(ch->drg_parents, x->parents, x->parent_index, CUZK_POREP_DRG_PARENTS, "DRG parents", c, j);
    } else {
      st = read_parents(ch->exp_parents, x->parents + CUZK_POREP_DRG_PARENTS, x->parent_index + CUZK_POREP_DRG_PARENTS,
                        CUZK_POREP_EXP_PARENTS, "expander parents", c, j);
    }
  }
  return st;
}

/* { "parents", "layer_index", "node" }: a labelling proof, or the encoding proof, of the given layer. */
static enum cuzk_status read_labeling(cuzk_fr *parents, uint64_t *node, unsigned layer, uint64_t nodes, struct cuzk_json *j) {
  static const char *const names[] = {"parents", "layer_index", "node"};
  enum cuzk_status st = cuzk_json_object(j, names, 3, 7);
  while (st == CUZK_OK) {
    int m;
    uint64_t v = 0;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    if (m == 0) {
      st = read_elements(parents, C1_LABEL_PARENTS, "parents", j);
    } else if (m == 1) {
      st = cuzk_json_u64(j, UINT32_MAX, &v);
      if (st == CUZK_OK && v != layer) st = cuzk_json_fail(j, CUZK_E_MISMATCH, "expected layer %u, found %llu", layer, (unsigned long long)v);
    } else {
      st = cuzk_json_u64(j, nodes - 1, node);
    }
  }
  return st;
}

static enum cuzk_status read_challenge(struct cuzk_porep_challenge *ch, struct c1_challenge *x, const struct cuzk_c1 *c,
                                       struct cuzk_json *j) {
  static const char *const names[] = {"comm_d_proofs", "comm_r_last_proof", "replica_column_proofs", "labeling_proofs", "encoding_proof"};
  const struct cuzk_circuit *k = c->circuit;
  const struct tree_shape shape_d = tree_shape_d(k), shape_r = tree_shape_r(k);
  cuzk_fr *label_parents = c1_cut(c->arena, (size_t)k->layers * C1_LABEL_PARENTS, sizeof *label_parents);
  cuzk_fr *encode_parents = c1_cut(c->arena, C1_LABEL_PARENTS, sizeof *encode_parents);
  x->label_parents = label_parents;
  x->encode_parents = encode_parents;
  uint64_t label_node = 0, encode_node = 0;
  enum cuzk_status st = cuzk_json_object(j, names, 5, 31);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    switch (m) {
      case 0: st = read_proof(&ch->comm_d_path, &x->d, &shape_d, c->arena, j); break;
      case 1: st = read_proof(&ch->comm_r_last_path, &x->r, &shape_r, c->arena, j); break;
      case 2: st = read_columns(ch, x, c, j); break;
      case 3:
        st = cuzk_json_array_of(j, k->layers, "labelling proofs (one a layer)");
        for (unsigned l = 0; st == CUZK_OK; l++) {
          bool more;
          uint64_t node = 0;
          st = cuzk_json_element(j, &more);
          if (st != CUZK_OK || !more) break;
          st = read_labeling(label_parents + (size_t)l * C1_LABEL_PARENTS, &node, l + 1, k->nodes, j);
          if (st != CUZK_OK) break;
          if (l == 0) label_node = node;
          if (node != label_node) {
            st = cuzk_json_fail(j, CUZK_E_MISMATCH, "labels node %llu, the first layer's proof node %llu", (unsigned long long)node,
                                (unsigned long long)label_node);
          }
        }
        break;
      default: st = read_labeling(encode_parents, &encode_node, k->layers, k->nodes, j); break;
    }
  }
  if (st != CUZK_OK) return st;
  ch->challenge = label_node;
  ch->data_leaf = x->d.leaf;
  if (encode_node != label_node) {
    return cuzk_json_fail(j, CUZK_E_MISMATCH, "encoding_proof is of node %llu, labeling_proofs of node %llu",
                          (unsigned long long)encode_node, (unsigned long long)label_node);
  }
  return CUZK_OK;
}

static enum cuzk_status read_partition(struct cuzk_c1 *c, unsigned k, struct cuzk_json *j) {
  struct cuzk_porep_partition *p = &c->partitions[k];
  struct c1_challenge *extra = ((struct c1_arena *)c->arena)->extra + (size_t)k * p->n_challenges;
  /* The circuit's view is const; this is where it is written. */
  struct cuzk_porep_challenge *challenges = (struct cuzk_porep_challenge *)(uintptr_t)p->challenges;
  enum cuzk_status st = cuzk_json_array_of(j, p->n_challenges, "challenges of a partition");
  for (unsigned i = 0; st == CUZK_OK; i++) {
    bool more;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    st = read_challenge(&challenges[i], &extra[i], c, j);
    if (st != CUZK_OK) break;
    const char *wrong = c1_take_roots(p, &extra[i], i);
    if (wrong) st = cuzk_json_fail(j, CUZK_E_MISMATCH, "root of %s differs from that of the partition's first challenge", wrong);
  }
  return st;
}

/* { "StackedDrg<size>V1": [ partitions ] } */
static enum cuzk_status read_vanilla_proofs(struct cuzk_c1 *c, struct cuzk_json *j) {
  enum cuzk_status st = cuzk_json_object(j, NULL, 0, 0);
  unsigned n_keys = 0;
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    if (n_keys++) return cuzk_json_fail(j, CUZK_E_FORMAT, "expected one size, found a second member");
    char key[80];
    st = cuzk_json_key(j, key, sizeof key);
    if (st != CUZK_OK) break;
    if (strcmp(key, c->type.map_key) != 0) {
      return cuzk_json_fail(j, CUZK_E_MISMATCH, "the proofs are filed under another name than %s, which registered_proof %s asks for",
                            c->type.map_key, c->type.name);
    }
    st = cuzk_json_array_of(j, c->n_partitions, "partitions");
    for (unsigned k = 0; st == CUZK_OK; k++) {
      bool more;
      st = cuzk_json_element(j, &more);
      if (st != CUZK_OK || !more) break;
      st = read_partition(c, k, j);
    }
  }
  if (st == CUZK_OK && !n_keys) st = cuzk_json_fail(j, CUZK_E_FORMAT, "expected the size's member %s, found none", c->type.map_key);
  return st;
}

/* ---- the document ---- */

enum {
  M_REGISTERED_PROOF,
  M_VANILLA_PROOFS,
  M_COMM_R,
  M_COMM_D,
  M_REPLICA_ID,
  M_SEED,
  M_TICKET,
  N_BARE,
  M_SECTOR_NUM = N_BARE,
  M_PHASE1_OUT,
  M_SECTOR_SIZE,
  N_WRAPPER,
  M_SECTOR_ID = N_WRAPPER,
  M_POREP,
  N_SHARED,
  M_SNAP = N_SHARED,
  N_ALL
};
static const char *const top_names[N_ALL] = {"registered_proof", "vanilla_proofs", "comm_r", "comm_d",      "replica_id",
                                             "seed",             "ticket",         "SectorNum", "Phase1Out", "SectorSize",
                                             "SectorID",         "PoRep",          "Snap"};

static enum cuzk_status set_type(struct cuzk_c1 *c, struct cuzk_json *j) {
  char name[80];
  enum cuzk_status st = cuzk_json_string(j, name, sizeof name);
  if (st != CUZK_OK) return st;
  const struct cuzk_seal_type *t = cuzk_seal_type_find(name);
  if (!t) return cuzk_json_fail(j, CUZK_E_UNSUPPORTED, "no such seal proof: %s", name);
  if (c->circuit) return cuzk_json_fail(j, CUZK_E_FORMAT, "a second registered proof in the document");
  st = c1_set_type(c, t);
  if (st == CUZK_E_UNSUPPORTED) return cuzk_json_fail(j, st, "no PoRep circuit for sectors of %s", t->size_name);
  return st == CUZK_OK ? st : cuzk_json_fail(j, st, "no memory for %u partitions of %s", t->n_partitions, t->size_name);
}

/* A commitment or id: canonical, and not all zero where zero is refused. */
static enum cuzk_status read_id(uint8_t out[32], bool canonical, bool nonzero, struct cuzk_json *j) {
  enum cuzk_status st = cuzk_json_bytes(j, out, 32);
  if (st != CUZK_OK) return st;
  const char *wrong = c1_id_problem(out, canonical, nonzero);
  return wrong ? cuzk_json_fail(j, CUZK_E_FORMAT, "%s", wrong) : CUZK_OK;
}

/* Where a wrapper's payload is. */
struct payload {
  size_t at, n;  /* within the document, if it needs no unescaping */
  char *copy;    /* otherwise; owned */
};

static enum cuzk_status read_wrapper_member(struct cuzk_c1 *c, struct payload *w, int m, struct cuzk_json *j, const uint8_t *data) {
  if (m == M_SECTOR_NUM) return cuzk_json_u64(j, INT64_MAX, &c->sector_num);
  if (m == M_SECTOR_SIZE) return cuzk_json_u64(j, INT64_MAX, &c->sector_size);
  const uint8_t *p;
  enum cuzk_status st = cuzk_json_string_view(j, &p, &w->n);
  if (st != CUZK_OK) return st;
  if (!p) return cuzk_json_string_dup(j, &w->copy, &w->n);
  w->at = (size_t)(p - data);
  return CUZK_OK;
}

static enum cuzk_status require(uint64_t seen, int first, int end, struct cuzk_json *j) {
  for (int m = first; m < end; m++) {
    if (!(seen >> m & 1)) return cuzk_json_fail(j, CUZK_E_FORMAT, "member \"%s\" is missing", top_names[m]);
  }
  return CUZK_OK;
}

/* { "Miner", "Number" } */
static enum cuzk_status read_sector_id(struct cuzk_c1 *c, struct cuzk_json *j) {
  static const char *const names[] = {"Miner", "Number"};
  enum cuzk_status st = cuzk_json_object(j, names, 2, 3);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    st = cuzk_json_u64(j, INT64_MAX, m == 0 ? &c->miner : &c->sector_num);
  }
  c->has_miner = true;
  return st;
}

static enum cuzk_status read_members(struct cuzk_c1 *c, struct payload *w, uint64_t *seen, bool may_wrap, struct cuzk_json *j,
                                     const uint8_t *data);

/* The document inside a proof sharing request. */
static enum cuzk_status read_shared(struct cuzk_c1 *c, struct cuzk_json *j, const uint8_t *data) {
  uint64_t seen;
  if (cuzk_json_peek(j) == CUZK_JSON_NULL) return cuzk_json_fail(j, CUZK_E_FORMAT, "null: the request is not for a PoRep proof");
  enum cuzk_status st = read_members(c, NULL, &seen, false, j, data);
  return st == CUZK_OK ? require(seen, 0, N_BARE, j) : st;
}

/* Reads the members of an object; *seen tells which there were. may_wrap: it may hold the document rather than be it. */
static enum cuzk_status read_members(struct cuzk_c1 *c, struct payload *w, uint64_t *seen, bool may_wrap, struct cuzk_json *j,
                                     const uint8_t *data) {
  struct cuzk_json_mark proofs = {0, 0};
  bool waiting = false; /* vanilla_proofs came before registered_proof, which tells their shape */
  *seen = 0;
  enum cuzk_status st = cuzk_json_object(j, top_names, may_wrap ? N_ALL : N_BARE, 0);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    *seen = cuzk_json_seen(j);
    switch (m) {
      case M_REGISTERED_PROOF:
        st = set_type(c, j);
        if (st == CUZK_OK && waiting) {
          const struct cuzk_json_mark here = cuzk_json_here(j);
          cuzk_json_seek(j, proofs);
          st = read_vanilla_proofs(c, j);
          cuzk_json_seek(j, here);
        }
        break;
      case M_VANILLA_PROOFS:
        if (c->circuit) {
          st = read_vanilla_proofs(c, j);
        } else {
          proofs = cuzk_json_here(j);
          waiting = true;
          st = cuzk_json_skip(j);
        }
        break;
      case M_COMM_R: st = read_id(c->comm_r, true, true, j); break;
      case M_COMM_D: st = read_id(c->comm_d, true, true, j); break;
      case M_REPLICA_ID: st = read_id(c->replica_id, true, false, j); break;
      case M_SEED: st = read_id(c->seed, false, true, j); break;
      case M_TICKET: st = read_id(c->ticket, false, false, j); break;
      case M_SECTOR_ID: st = read_sector_id(c, j); break;
      case M_POREP: st = read_shared(c, j, data); break;
      case M_SNAP: st = cuzk_json_skip(j); break;
      default: st = read_wrapper_member(c, w, m, j, data); break;
    }
  }
  return st;
}

/* Reads data[n], bare or wrapped. writable: data may be overwritten (for decoding in place), else NULL. */
static enum cuzk_status read_document(struct cuzk_c1 *c, const uint8_t *data, uint8_t *writable, size_t n, const char *name, bool may_wrap,
                                      struct cuzk_detail *d) {
  struct cuzk_json *j = NULL;
  struct payload w = {0, 0, NULL};
  uint8_t *decoded = NULL;
  size_t n_decoded_max = 0;
  uint64_t seen;
  enum cuzk_status st = cuzk_json_open(&j, data, n, CUZK_C1_MAX_BYTES, name, d);
  if (st != CUZK_OK) return st;
  CUZK_TRY(read_members(c, &w, &seen, may_wrap, j, data));
  CUZK_TRY(cuzk_json_end(j));
  const uint64_t bare = seen & ((1u << N_BARE) - 1), shared = seen >> N_WRAPPER;
  if (seen == bare) {
    st = require(seen, 0, N_BARE, j);
    goto out;
  }
  if (bare) {
    st = cuzk_json_fail(j, CUZK_E_FORMAT, "has members of a phase-1 output (such as \"%s\") beside those of its wrapper",
                        top_names[__builtin_ctzll(seen)]);
    goto out;
  }
  c->wrapped = true;
  if (shared) {
    if (seen & ((1u << N_WRAPPER) - 1)) {
      st = cuzk_json_fail(j, CUZK_E_FORMAT, "has members of two kinds of wrappers (\"%s\" and \"%s\")", top_names[__builtin_ctzll(seen)],
                          top_names[N_WRAPPER + __builtin_ctzll(shared)]);
      goto out;
    }
    st = require(seen, M_SECTOR_ID, N_SHARED, j);
    goto out;
  }
  CUZK_TRY(require(seen, N_BARE, N_WRAPPER, j));
  cuzk_json_close(&j); /* its memory is a multiple of the text's */

  const uint8_t *text = w.copy ? (const uint8_t *)w.copy : data + w.at;
  uint8_t *to = w.copy ? (uint8_t *)w.copy : writable ? writable + w.at : NULL;
  if (!to) {
    n_decoded_max = cuzk_base64_decoded_max(w.n);
    decoded = to = n_decoded_max ? cuzk_big_alloc(n_decoded_max) : NULL;
    if (n_decoded_max && !decoded) {
      st = cuzk_fail(d, CUZK_E_NOMEM, "%.120s: no memory for %zu decoded bytes of Phase1Out", name, n_decoded_max);
      goto out;
    }
  }
  size_t n_inner = 0, bad = 0;
  const enum cuzk_base64_error e = cuzk_base64_decode(to, &n_inner, text, w.n, &bad);
  if (e == CUZK_BASE64_LENGTH) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: Phase1Out: %s (%zu characters)", name, cuzk_base64_error_text(e), w.n);
    goto out;
  }
  if (e != CUZK_BASE64_OK) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: Phase1Out: %s at character %zu", name, cuzk_base64_error_text(e), bad);
    goto out;
  }
  char inner_name[200];
  (void)snprintf(inner_name, sizeof inner_name, "%.100s: Phase1Out", name);
  CUZK_TRY(read_document(c, to, NULL, n_inner, inner_name, false, d));
  if (c->sector_size && c->sector_size != c->type.sector_bytes) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: SectorSize is %llu bytes, but Phase1Out is of %s (%llu bytes)", name,
                   (unsigned long long)c->sector_size, c->type.name, (unsigned long long)c->type.sector_bytes);
  }
out:
  cuzk_json_close(&j);
  cuzk_free(w.copy);
  cuzk_big_free(decoded, n_decoded_max);
  return st;
}

static enum cuzk_status read_c1(struct cuzk_c1 **out, const uint8_t *data, uint8_t *writable, size_t n, const char *name,
                                struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_c1 *c = cuzk_calloc(1, sizeof *c);
  if (!c) return cuzk_fail(d, CUZK_E_NOMEM, "%.120s: no memory for a phase-1 output", name);
  enum cuzk_status st = c1_is_bincode(data, n) ? c1_read_bincode(c, data, n, name, d) : read_document(c, data, writable, n, name, true, d);
  if (st != CUZK_OK) {
    cuzk_c1_free(&c);
    return st;
  }
  for (unsigned k = 0; k < c->n_partitions; k++) {
    struct cuzk_porep_partition *p = &c->partitions[k];
    /* Canonical: checked when they were read. */
    (void)cuzk_fr_from_le(&p->replica_id, c->replica_id);
    (void)cuzk_fr_from_le(&p->comm_d, c->comm_d);
    (void)cuzk_fr_from_le(&p->comm_r, c->comm_r);
  }
  *out = c;
  return CUZK_OK;
}

enum cuzk_status cuzk_c1_read(struct cuzk_c1 **out, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d) {
  return read_c1(out, data, NULL, n, name, d);
}

enum cuzk_status cuzk_c1_load(struct cuzk_c1 **out, const char *path, struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_file f;
  enum cuzk_status st = cuzk_file_read(&f, path, CUZK_C1_MAX_BYTES, d);
  if (st != CUZK_OK) return st;
  st = read_c1(out, f.data, f.data, f.n, path, d);
  cuzk_file_clear(&f);
  return st;
}

void cuzk_c1_free(struct cuzk_c1 **c) {
  if (!*c) return;
  struct c1_arena *a = (*c)->arena;
  if (a) cuzk_big_free(a, a->n_bytes);
  cuzk_free(*c);
  *c = NULL;
}
