/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "r1cs/compact_flat.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "r1cs/coeffs.h"
#include "r1cs/compact_format.h"

_Static_assert(CUZK_FLAT_INPUT == CUZK_R1CS_INPUT, "variables of templates are taken as they are");

struct flattener {
  const struct cuzk_compact *c;
  struct cuzk_flat *f;
  uint32_t *own; /* number of each template's first own row */
  uint64_t n_runs, n_uses, n_ext;
  bool count; /* first time: counts only */
};

struct place {
  const struct cuzk_r1cs_tmpl *t;
  uint32_t aux, input;
  const cuzk_var *ext;
};

static bool has_own(const struct cuzk_r1cs_tmpl *t) { return t->r->own_rows != 0; }

/* What the use at p, whose first row is row of the circuit, adds. stack: room for the bindings of what it uses. */
static void flatten(struct flattener *x, const struct place *p, uint64_t row, cuzk_var *stack) {
  const uint64_t use = x->n_uses;
  if (has_own(p->t)) {
    if (!x->count) {
      x->f->uses[use] = (struct cuzk_flat_use){p->aux, p->input, (uint32_t)x->n_ext};
      for (uint32_t k = 0; k < p->t->r->n_ext; k++) x->f->ext[x->n_ext + k] = p->ext[k];
    }
    x->n_uses++;
    x->n_ext += p->t->r->n_ext;
  }
  for (uint32_t i = 0; i < p->t->r->n_items; i++) {
    const struct cuzk_r1cs_item *item = &p->t->items[i];
    if (item->child == CUZK_R1CS_OWN) {
      if (!x->count)
        x->f->runs[x->n_runs] = (struct cuzk_flat_run){(uint32_t)(row + item->row), x->own[p->t - x->c->t] + item->first, (uint32_t)use};
      x->n_runs++;
      continue;
    }
    const struct place q = {&x->c->t[item->child], p->aux + item->aux, p->input + item->input, stack};
    if (!x->count)
      for (uint32_t k = 0; k < item->n; k++) stack[k] = cuzk_r1cs_resolve(p->t->binds[item->first + k], p->aux, p->input, p->ext);
    flatten(x, &q, row + item->row, stack + item->n);
  }
}

enum cuzk_status cuzk_compact_flatten(struct cuzk_flat *out, const struct cuzk_compact *c, struct cuzk_detail *d) {
  const struct cuzk_r1cs_tmpl *root = &c->t[c->n - 1];
  struct flattener x = {.c = c, .f = out, .count = true};
  const struct place top = {root, 0, 1, NULL};
  cuzk_var *stack = NULL;
  enum cuzk_status st;
  uint64_t n_own = 0, n_terms = 0;
  *out = (struct cuzk_flat){0};
  if (c->h->n_rows >> 31) {
    st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: %llu rows; 2^31 is the limit", c->h->name, (unsigned long long)c->h->n_rows);
    goto out;
  }
  st = CUZK_E_NOMEM;
  x.own = cuzk_malloc_array(c->n, sizeof *x.own);
  stack = cuzk_malloc_array((size_t)root->stack_ext + 1, sizeof *stack);
  if (!x.own || !stack) goto out;
  for (uint32_t i = 0; i < c->n; i++) {
    x.own[i] = (uint32_t)n_own;
    n_own += c->t[i].r->own_rows;
    n_terms += c->t[i].r->n_terms;
  }
  /* pointers are formed while counting, but nothing behind them is touched */
  flatten(&x, &top, 0, stack);
  if ((x.n_runs | x.n_uses | x.n_ext | n_terms | 3 * n_own) >> 32) {
    st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: %llu bindings in all its templates' uses; 2^32 is the limit", c->h->name,
                   (unsigned long long)x.n_ext);
    goto out;
  }
  out->n_rows = (uint32_t)c->h->n_rows;
  out->n_inputs = c->h->n_inputs;
  out->n_aux = c->h->n_aux;
  out->n_runs = (uint32_t)x.n_runs;
  out->n_uses = (uint32_t)x.n_uses;
  out->n_ext = (uint32_t)x.n_ext;
  out->n_own = (uint32_t)n_own;
  out->n_terms = (uint32_t)n_terms;
  out->n_coeffs = c->coeffs->n;
  out->coeffs = c->coeffs->value;
  out->terms = c->t[0].terms;
  out->runs = cuzk_malloc_array((size_t)x.n_runs + 1, sizeof *out->runs);
  out->uses = cuzk_malloc_array((size_t)x.n_uses + 1, sizeof *out->uses);
  out->ext = cuzk_malloc_array((size_t)x.n_ext + 1, sizeof *out->ext);
  out->bound = cuzk_malloc_array(3 * (size_t)n_own + 1, sizeof *out->bound);
  if (!out->runs || !out->uses || !out->ext || !out->bound) goto out;
  x.count = false;
  x.n_runs = x.n_uses = x.n_ext = 0;
  flatten(&x, &top, 0, stack);
  uint32_t *b = out->bound;
  uint32_t base = 0;
  *b++ = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    for (uint32_t k = 0; k < 3 * c->t[i].r->own_rows; k++) *b++ = base + c->t[i].ends[k];
    base += c->t[i].r->n_terms;
  }
  st = CUZK_OK;
out:
  cuzk_free(x.own);
  cuzk_free(stack);
  if (st == CUZK_OK) return st;
  cuzk_flat_clear(out);
  return st == CUZK_E_NOMEM ? cuzk_fail(d, st, "%s: no memory for its rows without templates", c->h->name) : st;
}

void cuzk_flat_clear(struct cuzk_flat *f) {
  cuzk_free(f->runs);
  cuzk_free(f->uses);
  cuzk_free(f->ext);
  cuzk_free(f->bound);
  *f = (struct cuzk_flat){0};
}
