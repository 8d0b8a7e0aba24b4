/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "synth/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

/* Groups of a patterned level, and leaves after which a group repeats. 2^10 groups are the regions of equal rho of sector updates. */
enum { GROUPS = 1 << 10, PERIOD = 64, PLAIN_NODES = 4096 };

static int compare(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

size_t synth_sort_unique(uint64_t *index, size_t n) {
  size_t m = 0;
  qsort(index, n, sizeof *index, compare);
  for (size_t i = 0; i < n; i++) {
    if (!m || index[m - 1] != index[i]) index[m++] = index[i];
  }
  return m;
}

size_t synth_find(const uint64_t *index, size_t n, uint64_t key) {
  size_t lo = 0, hi = n;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (index[mid] < key) lo = mid + 1;
    else hi = mid;
  }
  return lo < n && index[lo] == key ? lo : n;
}

/* Steps and sizes of the levels; nothing is kept yet. */
static enum cuzk_status shape(struct synth_tree *t, const struct cuzk_circuit *c, bool sha, struct cuzk_detail *d) {
  const unsigned log2_nodes = (unsigned)__builtin_ctzll(c->nodes);
  const unsigned arity[3] = {sha ? 2 : c->base_arity, c->sub_arity, c->top_arity};
  const unsigned steps[3] = {sha ? log2_nodes : c->base_steps, sha ? 0 : c->sub_steps, sha ? 0 : c->top_steps};
  uint64_t n_nodes = c->nodes;
  memset(t, 0, sizeof *t);
  t->sha = sha;
  for (unsigned part = 0; part < 3; part++) {
    t->part_steps[part] = steps[part];
    if (steps[part]) t->n_parts = part + 1;
    for (unsigned i = 0; i < steps[part]; i++) {
      t->level[t->n_steps].n_nodes = n_nodes;
      t->level[t->n_steps++].arity = arity[part];
      n_nodes /= arity[part];
    }
  }
  t->level[t->n_steps].n_nodes = n_nodes;
  CUZK_VERIFY(n_nodes == 1);
  const enum cuzk_status st = cuzk_tree_hashes_get(&t->hashes, c);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "Poseidon constants: %s", cuzk_status_text(st));
}

/* Memory of all levels from their n. */
static enum cuzk_status allocate(struct synth_tree *t, bool sparse, struct cuzk_detail *d) {
  const size_t each = sizeof(cuzk_fr) + (sparse ? sizeof(uint64_t) : 0);
  size_t n = 0;
  for (unsigned l = 0; l <= t->n_steps; l++) n += t->level[l].n;
  t->block = cuzk_malloc_array(n, each);
  if (!t->block) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu tree nodes", n);
  cuzk_fr *value = t->block;
  uint64_t *index = (uint64_t *)(value + n);
  for (unsigned l = 0; l <= t->n_steps; l++) {
    t->level[l].value = value;
    value += t->level[l].n;
    if (!sparse) continue;
    t->level[l].index = index;
    index += t->level[l].n;
  }
  return CUZK_OK;
}

static uint64_t place(const struct synth_level *l, size_t i) {
  if (l->index) return l->index[i];
  return i / l->n_period * (l->n_nodes / l->n_groups) + i % l->n_period;
}

uint64_t synth_tree_place(const struct synth_tree *t, size_t i) { return place(&t->level[0], i); }

void synth_tree_node(cuzk_fr *r, const struct synth_tree *t, unsigned level, uint64_t index) {
  const struct synth_level *l = &t->level[level];
  if (!l->index) {
    *r = l->value[(size_t)(index / (l->n_nodes / l->n_groups)) * l->n_period + (size_t)(index % l->n_period)];
    return;
  }
  const size_t i = synth_find(l->index, l->n, index);
  if (i < l->n) *r = l->value[i];
  else synth_draw_element(r, &t->draw, t->what, level, index);
}

/* A level while it is computed from the one below. */
struct growth {
  struct synth_tree *t;
  unsigned level;
};
enum { TASK_NODES = 16 };

static void grow_task(void *arg, size_t task, unsigned worker) {
  const struct growth *g = arg;
  struct synth_tree *t = g->t;
  struct synth_level *up = &t->level[g->level];
  const unsigned arity = t->level[g->level - 1].arity;
  (void)worker;
  for (size_t i = task * TASK_NODES; i < up->n && i < (task + 1) * TASK_NODES; i++) {
    cuzk_fr x[8];
    const uint64_t at = place(up, i);
    for (unsigned q = 0; q < arity; q++) synth_tree_node(&x[q], t, g->level - 1, at * arity + q);
    if (!t->sha) {
      cuzk_poseidon_hash(&up->value[i], t->hashes.by_arity[arity], x);
      continue;
    }
    uint8_t left[32], right[32];
    cuzk_fr_to_le(left, &x[0]);
    cuzk_fr_to_le(right, &x[1]);
    cuzk_tree_d_node(left, left, right);
    (void)cuzk_fr_from_le(&up->value[i], left); /* below 2^254 */
  }
}

void synth_tree_grow(struct synth_tree *t, struct cuzk_pool *pool) {
  for (unsigned l = 1; l <= t->n_steps; l++) {
    struct growth g = {t, l};
    cuzk_pool_run(pool, grow_task, &g, (t->level[l].n + TASK_NODES - 1) / TASK_NODES);
  }
}

enum cuzk_status synth_tree_sparse(struct synth_tree *t, const struct cuzk_circuit *c, const struct synth_draw *g, enum synth_what what,
                                   const uint64_t *index, const cuzk_fr *values, size_t n, struct cuzk_pool *pool, struct cuzk_detail *d) {
  enum cuzk_status st = shape(t, c, false, d);
  if (st != CUZK_OK) return st;
  t->draw = *g;
  t->what = what;
  /* Upper bounds first: a level has no more kept nodes than the leaves, nor than nodes at all. */
  for (unsigned l = 0; l <= t->n_steps; l++) t->level[l].n = n < t->level[l].n_nodes ? n : (size_t)t->level[l].n_nodes;
  st = allocate(t, true, d);
  if (st != CUZK_OK) return st;
  memcpy(t->level[0].index, index, n * sizeof *index);
  memcpy(t->level[0].value, values, n * sizeof *values);
  for (unsigned l = 1; l <= t->n_steps; l++) {
    const struct synth_level *below = &t->level[l - 1];
    struct synth_level *up = &t->level[l];
    up->n = 0;
    for (size_t i = 0; i < below->n; i++) {
      const uint64_t at = below->index[i] / below->arity;
      if (!up->n || up->index[up->n - 1] != at) up->index[up->n++] = at;
    }
  }
  synth_tree_grow(t, pool);
  return CUZK_OK;
}

enum cuzk_status synth_tree_pattern(struct synth_tree *t, const struct cuzk_circuit *c, bool sha, struct cuzk_detail *d) {
  enum cuzk_status st = shape(t, c, sha, d);
  if (st != CUZK_OK) return st;
  uint64_t below = 1; /* leaves below a node of the level */
  for (unsigned l = 0; l <= t->n_steps; l++) {
    struct synth_level *v = &t->level[l];
    const bool plain = v->n_nodes <= PLAIN_NODES;
    v->n_groups = plain ? 1 : GROUPS;
    v->n_period = plain ? (size_t)v->n_nodes : below < PERIOD ? (size_t)(PERIOD / below) : 1;
    v->n = v->n_groups * v->n_period;
    CUZK_VERIFY(v->n_period <= v->n_nodes / v->n_groups);
    below *= v->arity;
  }
  return allocate(t, false, d);
}

void synth_tree_clear(struct synth_tree *t) {
  cuzk_free(t->block);
  memset(t, 0, sizeof *t);
}
