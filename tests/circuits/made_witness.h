/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Witnesses of the right shape for any circuit, of random values that satisfy nothing: to measure and compare ways of assigning. */
#ifndef CUZK_TESTS_CIRCUITS_MADE_WITNESS_H
#define CUZK_TESTS_CIRCUITS_MADE_WITNESS_H
#include <stdlib.h>

#include "circuits/porep_witness.h"
#include "circuits/post_witness.h"
#include "circuits/synthesis.h"
#include "circuits/update_witness.h"

#define MADE_VALUES 1024

struct made_witness {
  uint64_t state;
  cuzk_fr value[MADE_VALUES];
  void *lists[2]; /* challenges, sectors */
  union {
    struct cuzk_porep_partition porep;
    struct cuzk_post_partition post;
    struct cuzk_update_partition update;
  } u;
};

static inline uint64_t made_random(struct made_witness *m) {
  m->state ^= m->state << 13;
  m->state ^= m->state >> 7;
  m->state ^= m->state << 17;
  return m->state;
}

static inline const cuzk_fr *made_values(struct made_witness *m, unsigned n) { return &m->value[made_random(m) % (MADE_VALUES - n)]; }
static inline cuzk_fr made_value(struct made_witness *m) { return *made_values(m, 1); }

static inline struct cuzk_merkle_path made_path(struct made_witness *m, const struct cuzk_tree_shape *t) {
  struct cuzk_merkle_path p = {.n_steps = (uint8_t)cuzk_tree_steps(t), .siblings = made_values(m, cuzk_tree_siblings(t))};
  for (unsigned k = 0; k < p.n_steps; k++) {
    p.arity[k] = (uint8_t)cuzk_tree_arity(t, k);
    p.index[k] = (uint8_t)(made_random(m) % p.arity[k]);
  }
  return p;
}

static inline struct cuzk_porep_column made_column(struct made_witness *m, const struct cuzk_circuit *c, const struct cuzk_tree_shape *t) {
  return (struct cuzk_porep_column){made_values(m, c->layers), made_path(m, t)};
}

static inline bool made_porep(struct made_witness *m, const struct cuzk_circuit *c) {
  const struct cuzk_tree_shape tree_d = cuzk_tree_d(c), tree_r = cuzk_tree_r(c);
  struct cuzk_porep_challenge *x = m->lists[0] = calloc(c->challenges, sizeof *x);
  m->u.porep = (struct cuzk_porep_partition){made_value(m), made_value(m), made_value(m), made_value(m), made_value(m), c->challenges, x};
  for (unsigned i = 0; i < c->challenges && x; i++) {
    x[i].challenge = made_random(m) % c->nodes;
    x[i].data_leaf = made_value(m);
    x[i].comm_d_path = made_path(m, &tree_d);
    for (int k = 0; k < 6; k++) x[i].drg_parents[k] = made_column(m, c, &tree_r);
    for (int k = 0; k < 8; k++) x[i].exp_parents[k] = made_column(m, c, &tree_r);
    x[i].comm_r_last_path = made_path(m, &tree_r);
    x[i].comm_c_path = made_path(m, &tree_r);
  }
  return x != NULL;
}

static inline bool made_post(struct made_witness *m, const struct cuzk_circuit *c) {
  const struct cuzk_tree_shape tree_r = cuzk_tree_r(c);
  struct cuzk_post_challenge *x = m->lists[0] = calloc((size_t)c->sectors * c->challenges, sizeof *x);
  struct cuzk_post_sector *s = m->lists[1] = calloc(c->sectors, sizeof *s);
  m->u.post = (struct cuzk_post_partition){c->sectors, s};
  for (unsigned i = 0; i < c->sectors && x && s; i++) {
    s[i] = (struct cuzk_post_sector){made_value(m), made_value(m), made_value(m), c->challenges, x + (size_t)i * c->challenges};
    for (unsigned k = 0; k < c->challenges; k++)
      x[(size_t)i * c->challenges + k] = (struct cuzk_post_challenge){made_value(m), made_path(m, &tree_r)};
  }
  return x && s;
}

static inline bool made_update(struct made_witness *m, const struct cuzk_circuit *c) {
  const struct cuzk_tree_shape tree_d = cuzk_tree_d(c), tree_r = cuzk_tree_r(c);
  struct cuzk_update_challenge *x = m->lists[0] = calloc(c->challenges, sizeof *x);
  const unsigned n_apex = c->sector_bytes <= 8192 ? 8 : 128;
  m->u.update = (struct cuzk_update_partition){c->partitions - 1, made_value(m), made_value(m), made_value(m), made_value(m),
                                               made_value(m), made_value(m), n_apex, made_values(m, n_apex), c->challenges, x};
  for (unsigned i = 0; i < c->challenges && x; i++)
    x[i] = (struct cuzk_update_challenge){made_value(m), made_value(m), made_path(m, &tree_r), made_path(m, &tree_d), made_path(m, &tree_r)};
  return x != NULL;
}

static inline void made_clear(struct made_witness *m) {
  for (int i = 0; i < 2; i++) free(m->lists[i]);
  m->lists[0] = m->lists[1] = NULL;
}

/** False: out of memory. made_clear in any case. The witness is &m->u. */
static inline bool made_fill(struct made_witness *m, const struct cuzk_circuit *c, uint64_t seed) {
  m->lists[0] = m->lists[1] = NULL;
  m->state = seed * 2 + 1;
  for (unsigned i = 0; i < MADE_VALUES; i++) {
    uint64_t wide[8];
    for (int k = 0; k < 8; k++) wide[k] = made_random(m);
    cuzk_fr_from_le64_reduce(&m->value[i], (const uint8_t *)wide);
  }
  switch (c->kind) {
    case CUZK_KIND_POREP: return made_porep(m, c);
    case CUZK_KIND_WINNING:
    case CUZK_KIND_WINDOW: return made_post(m, c);
    case CUZK_KIND_UPDATE: return made_update(m, c);
    case CUZK_KIND_GADGET: break;
  }
  return true;
}
#endif
