/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "circuits/circuit.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "circuits/synthesis.h"
#include "gadgets/poseidon.h"

struct cuzk_tree_shape cuzk_tree_r(const struct cuzk_circuit *c) {
  return (struct cuzk_tree_shape){CUZK_TREE_POSEIDON, c->base_arity, c->sub_arity,  c->top_arity,
                                  c->base_steps,      c->sub_steps,  c->top_steps};
}

struct cuzk_tree_shape cuzk_tree_d(const struct cuzk_circuit *c) {
  unsigned steps = 0;
  while ((UINT64_C(1) << steps) < c->nodes) steps++;
  return (struct cuzk_tree_shape){CUZK_TREE_SHA256, 2, 0, 0, steps, 0, 0};
}

cuzk_var cuzk_hash2(struct cuzk_cs *cs, cuzk_var a, cuzk_var b, const char *region) {
  const cuzk_var x[2] = {a, b};
  cuzk_cs_push(cs, region, 0);
  const cuzk_var h = cuzk_poseidon_gadget(cs, x, 2, CUZK_POSEIDON_MERKLE);
  cuzk_cs_pop(cs);
  return h;
}

enum cuzk_status cuzk_path_check(const struct cuzk_merkle_path *p, const struct cuzk_tree_shape *t, const char *name, unsigned i,
                                 struct cuzk_detail *d) {
  const unsigned steps = cuzk_tree_steps(t);
  if (p->n_steps != steps) return cuzk_fail(d, CUZK_E_ARG, "%s %u: %u steps, the circuit has %u", name, i, p->n_steps, steps);
  for (unsigned k = 0; k < steps; k++) {
    const unsigned arity = cuzk_tree_arity(t, k);
    if (p->arity[k] != arity)
      return cuzk_fail(d, CUZK_E_ARG, "%s %u, step %u: arity %u, the circuit has %u", name, i, k, p->arity[k], arity);
    if (p->index[k] >= arity) return cuzk_fail(d, CUZK_E_ARG, "%s %u, step %u: index %u of %u", name, i, k, p->index[k], arity);
  }
  return CUZK_OK;
}

void cuzk_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness) {
  switch (c->kind) {
    case CUZK_KIND_POREP: cuzk_porep_synthesize(cs, c, witness); break;
    case CUZK_KIND_WINNING:
    case CUZK_KIND_WINDOW: cuzk_post_synthesize(cs, c, witness); break;
    case CUZK_KIND_UPDATE: cuzk_update_synthesize(cs, c, witness); break;
    case CUZK_KIND_GADGET: cuzk_gadget_synthesize(cs, c, witness); break;
  }
}

static enum cuzk_status walk(const struct cuzk_system *s, cuzk_row_fn *fn, void *user, uint32_t *n_inputs, uint32_t *n_aux,
                             uint64_t *n_rows, struct cuzk_detail *d) {
  struct cuzk_cs cs;
  enum cuzk_status st = cuzk_cs_init_rows(&cs, fn, user);
  if (st == CUZK_OK) {
    cuzk_synthesize(&cs, s->impl, NULL);
    st = cs.st;
  }
  *n_inputs = cs.n_inputs;
  *n_aux = cs.n_aux;
  *n_rows = cs.n_rows;
  cuzk_cs_clear(&cs);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "rows of %s", s->name);
}

struct cuzk_system cuzk_circuit_system(const struct cuzk_circuit *c) { return (struct cuzk_system){c->name, walk, c}; }

enum cuzk_status cuzk_circuit_count(const struct cuzk_circuit *c, uint32_t *n_inputs, uint32_t *n_aux, uint64_t *n_rows,
                                    struct cuzk_detail *d) {
  struct cuzk_cs cs;
  cuzk_cs_init_count(&cs);
  cuzk_synthesize(&cs, c, NULL);
  const enum cuzk_status st = cs.st;
  *n_inputs = cs.n_inputs;
  *n_aux = cs.n_aux;
  *n_rows = cs.n_rows;
  cuzk_cs_clear(&cs);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "counts of %s", c->name);
}

/* Reports progress as regions end. */
struct reporter {
  struct cuzk_cs *cs;
  const struct cuzk_progress *progress;
  uint64_t total, next;
};

static void report_region(void *user, const struct cuzk_cs *cs, unsigned depth) {
  struct reporter *r = user;
  (void)depth;
  if (cs->n_rows < r->next) return;
  r->next = cs->n_rows + r->total / 100;
  if (!cuzk_progress(r->progress, "witness", cs->n_rows < r->total ? cs->n_rows : r->total, r->total, "constraints"))
    cuzk_cs_fail(r->cs, CUZK_E_CANCELLED);
}

/* Synthesis that reports rows as regions end. */
static enum cuzk_status synthesize_reported(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness,
                                            const struct cuzk_progress *progress, uint64_t n_rows) {
  struct reporter r = {cs, progress, n_rows, 0};
  if (progress) {
    cs->region_fn = report_region;
    cs->region_user = &r;
  }
  cuzk_synthesize(cs, c, witness);
  cs->region_fn = NULL; /* r ends here */
  return cs->st;
}

static enum cuzk_status check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d) {
  if (c->kind == CUZK_KIND_GADGET) return CUZK_OK;
  if (!witness) return cuzk_fail(d, CUZK_E_ARG, "%s: no witness", c->name);
  switch (c->kind) {
    case CUZK_KIND_POREP: return cuzk_porep_check_witness(c, witness, d);
    case CUZK_KIND_UPDATE: return cuzk_update_check_witness(c, witness, d);
    default: return cuzk_post_check_witness(c, witness, d);
  }
}

enum cuzk_status cuzk_circuit_assign(const struct cuzk_circuit *c, const void *witness, struct cuzk_assignment *out,
                                     cuzk_fr *abc[3], bool check, uint64_t *bad_row, char region[512],
                                     const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_cs cs;
  memset(out, 0, sizeof *out);
  if (bad_row) *bad_row = UINT64_MAX;
  if (region) region[0] = 0;
  enum cuzk_status st = check_witness(c, witness, d);
  if (st != CUZK_OK) return st;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  st = cuzk_circuit_count(c, &n_inputs, &n_aux, &n_rows, d);
  if (st == CUZK_OK) {
    out->n_inputs = n_inputs;
    out->n_aux = n_aux;
    out->aux_bytes = (size_t)n_aux * sizeof(cuzk_fr);
    out->inputs = cuzk_malloc_array(n_inputs, sizeof(cuzk_fr));
    out->aux = cuzk_big_alloc(out->aux_bytes);
    if (!out->inputs || (!out->aux && n_aux)) st = CUZK_E_NOMEM;
  }
  if (st == CUZK_OK) {
    if (abc || check)
      st = cuzk_cs_init_eval(&cs, out->inputs, n_inputs, out->aux, n_aux, abc, n_rows, check, region);
    else
      cuzk_cs_init_values(&cs, out->inputs, n_inputs, out->aux, n_aux);
    if (st == CUZK_OK) {
      st = synthesize_reported(&cs, c, witness, progress, n_rows);
      if (st == CUZK_OK && (cs.n_inputs != n_inputs || cs.n_aux != n_aux || cs.n_rows != n_rows)) st = CUZK_E_INTERNAL;
      if (bad_row) *bad_row = cs.bad_row;
    }
    cuzk_cs_clear(&cs);
  }
  if (st == CUZK_OK) return st;
  cuzk_assignment_clear(out);
  return cuzk_fail(d, st, "witness of %s", c->name);
}

/* Everything of out but the values, and the marks that the parts of the circuit begin at. */
static enum cuzk_status lay_out(const struct cuzk_circuit *c, struct cuzk_packed *out, struct cuzk_cs_mark **marks, uint32_t *n_marks) {
  struct cuzk_cs cs;
  cuzk_cs_init_count(&cs);
  cuzk_synthesize(&cs, c, NULL);
  enum cuzk_status st = cs.st;
  const uint32_t n_inputs = cs.n_inputs, n_aux = cs.n_aux;
  *n_marks = cs.n_marks;
  cuzk_cs_clear(&cs);
  if (st != CUZK_OK) return st;
  st = cuzk_packed_reserve(out, n_inputs, n_aux);
  if (st != CUZK_OK) return st;
  *marks = cuzk_malloc_array(*n_marks, sizeof **marks);
  if (!*marks) return CUZK_E_NOMEM;
  cuzk_cs_init_map(&cs, out->is_field, n_aux, *marks, *n_marks);
  cuzk_synthesize(&cs, c, NULL);
  st = cs.st;
  cuzk_cs_clear(&cs);
  return st == CUZK_OK ? cuzk_packed_reserve_fields(out) : st;
}

enum cuzk_status cuzk_circuit_assign_packed(const struct cuzk_circuit *c, const void *witness, struct cuzk_packed *out,
                                            struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_cs_mark *marks = NULL;
  uint32_t n_marks = 0;
  memset(out, 0, sizeof *out);
  enum cuzk_status st = check_witness(c, witness, d);
  if (st != CUZK_OK) return st;
  st = lay_out(c, out, &marks, &n_marks);
  if (st == CUZK_OK) {
    struct cuzk_cs cs;
    cuzk_cs_init_packed(&cs, out, marks, n_marks, pool, progress);
    cuzk_synthesize(&cs, c, witness);
    st = cs.st;
    if (st == CUZK_OK && (cs.n_inputs != out->n_inputs || cs.n_aux != out->n_aux || cs.n_fields != out->n_fields)) st = CUZK_E_INTERNAL;
    cuzk_cs_clear(&cs);
  }
  cuzk_free(marks);
  if (st == CUZK_OK) return st;
  cuzk_packed_clear(out);
  return cuzk_fail(d, st, "witness of %s", c->name);
}

enum cuzk_status cuzk_circuit_eval(const struct cuzk_circuit *c, const struct cuzk_packed *z, cuzk_eval_fn *fn, void *user,
                                   uint64_t *bad_row, char region[512], const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_cs cs;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  *bad_row = UINT64_MAX;
  if (region) region[0] = 0;
  enum cuzk_status st = cuzk_circuit_count(c, &n_inputs, &n_aux, &n_rows, d);
  if (st != CUZK_OK) return st;
  if (z->n_inputs != n_inputs || z->n_aux != n_aux)
    return cuzk_fail(d, CUZK_E_ARG, "%u public and %u private values, %s has %u and %u", z->n_inputs, z->n_aux, c->name, n_inputs, n_aux);
  st = cuzk_cs_init_given(&cs, z, fn, user, true, region);
  if (st == CUZK_OK) {
    st = synthesize_reported(&cs, c, NULL, progress, n_rows);
    *bad_row = cs.bad_row;
  }
  cuzk_cs_clear(&cs);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "rows of %s", c->name);
}

/* Collects regions that touch a range of rows or private variables. */
#define MAX_A_DEPTH 24
struct found {
  unsigned depth;
  uint64_t first;
  bool all; /* contains the whole range */
  char path[208];
};
struct collector {
  struct cuzk_cs *cs;
  bool by_aux, past;
  uint64_t first, end;
  struct found *f;
  size_t n;
  unsigned at_depth[CUZK_CS_DEPTH];
};

static void collect(void *user, const struct cuzk_cs *cs, unsigned depth) {
  struct collector *c = user;
  const struct cuzk_region *r = &cs->stack[depth];
  const uint64_t first = c->by_aux ? r->aux : r->row, end = c->by_aux ? cs->n_aux : cs->n_rows;
  if (first < c->end && end > c->first && first < end && c->at_depth[depth] < MAX_A_DEPTH) {
    struct found *f = &c->f[c->n++];
    c->at_depth[depth]++;
    f->depth = depth;
    f->first = first;
    f->all = first <= c->first && end >= c->end;
    cuzk_cs_region_path(cs, depth + 1, f->path, sizeof f->path);
  }
  /* Nothing that begins from here on can touch the range: the circuit's loops may end. */
  if (end >= c->end && !c->past) {
    c->past = true;
    cuzk_cs_fail(c->cs, CUZK_E_CANCELLED);
  }
}

static int by_depth(const void *a, const void *b) {
  const struct found *x = a, *y = b;
  if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
  return x->first < y->first ? -1 : x->first > y->first;
}

enum cuzk_status cuzk_circuit_regions(const struct cuzk_circuit *c, bool by_aux, uint64_t first, uint64_t n, char *out,
                                      size_t out_bytes, struct cuzk_detail *d) {
  struct cuzk_cs cs;
  struct collector x = {&cs, by_aux, false, first, first + (n ? n : 1), NULL, 0, {0}};
  if (!out_bytes) return cuzk_fail(d, CUZK_E_ARG, "no room for regions");
  out[0] = 0;
  x.f = cuzk_malloc_array(CUZK_CS_DEPTH * MAX_A_DEPTH, sizeof *x.f);
  if (!x.f) return cuzk_fail(d, CUZK_E_NOMEM, "regions of %s", c->name);
  cuzk_cs_init_count(&cs);
  cs.region_fn = collect;
  cs.region_user = &x;
  cuzk_synthesize(&cs, c, NULL);
  const enum cuzk_status st = x.past ? CUZK_OK : cs.st;
  cuzk_cs_clear(&cs);
  qsort(x.f, x.n, sizeof *x.f, by_depth);
  size_t start = 0, len = 0;
  for (size_t i = 0; i < x.n; i++)
    if (x.f[i].all) start = i; /* whatever contains this one contains the range as well */
  for (size_t i = start; i < x.n; i++) {
    const size_t k = strlen(x.f[i].path), sep = i > start ? 2 : 0;
    const bool last = i + 1 == x.n;
    if (len + sep + k + (last ? 1 : 6) > out_bytes) {
      if (len + sep + 4 <= out_bytes) memcpy(out + len, sep ? ", ..." : "...", sep + 4);
      break;
    }
    memcpy(out + len, ", ", sep);
    memcpy(out + len + sep, x.f[i].path, k + 1);
    len += sep + k;
  }
  cuzk_free(x.f);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "regions of %s", c->name);
}
