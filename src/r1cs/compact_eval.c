/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A z, B z, C z straight from the templates. Most variables are bits and most coefficients signed powers of two: such terms are
 * added up as plain integers, in a machine word or in lanes of 32 bits, and become a field element once a combination. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "r1cs/compact_format.h"

#define TASK_ROWS 65536u
#define N_SMALL 1024 /* integers from -N_SMALL to N_SMALL are looked up */

struct job {
  const struct cuzk_compact *c;
  struct cuzk_compact_eval *e;
  const struct cuzk_progress *progress;
  cuzk_fr *small; /* 2 N_SMALL + 1 */
  cuzk_fr two256; /* 2^256; its bytes are also what makes the Montgomery form of an integer */
  cuzk_var *ext;  /* stack_ext a worker */
  size_t n_ext;
  _Atomic uint64_t bad_row, done;
  atomic_bool cancelled;
};

/* Value of a combination: an integer, or an element. */
struct value {
  bool is_int;
  int64_t n; /* below 2^57 */
  cuzk_fr f;
};

struct place {
  const struct job *j;
  const struct cuzk_r1cs_tmpl *t;
  uint32_t aux, input;
  const cuzk_var *ext;
};

static void from_int(const struct job *j, cuzk_fr *out, int64_t n) {
  if (n >= -N_SMALL && n <= N_SMALL) {
    *out = j->small[n + N_SMALL];
    return;
  }
  cuzk_fr_from_u64(out, n < 0 ? -(uint64_t)n : (uint64_t)n);
  if (n < 0) cuzk_fr_neg(out, out);
}

/* *out = n + sum 2^(32 k) lane[k] */
static void from_lanes(const struct job *j, cuzk_fr *out, const int64_t lane[8], int64_t n) {
  uint64_t x[4] = {0};
  cuzk_fr top;
  int64_t carry = n;
  for (int k = 0; k < 8; k++) {
    carry += lane[k];
    x[k / 2] |= ((uint64_t)carry & 0xffffffffu) << (32 * (k % 2));
    carry = carry >= 0 ? carry >> 32 : -((-carry + 0xffffffff) >> 32);
  }
  cuzk_ff_ops.fr_mul(out->l, j->two256.l, x);
  if (!carry) return;
  from_int(j, &top, carry);
  cuzk_fr_mul(&top, &top, &j->two256);
  cuzk_fr_add(out, out, &top);
}

/* A variable's value: 0, 1, or *f. */
enum { ZERO, ONE, ELEMENT };
static inline __attribute__((always_inline)) int look_up(const struct place *p, bool packed, cuzk_var v, const cuzk_fr **f) {
  v = cuzk_r1cs_resolve(v, p->aux, p->input, p->ext);
  if (v == CUZK_VAR_ONE) return ONE;
  if (packed) {
    const struct cuzk_packed *z = p->j->e->p;
    if (v & CUZK_VAR_AUX) {
      const uint32_t i = v - CUZK_VAR_AUX;
      if (!cuzk_packed_is_field(z, i)) return (int)cuzk_packed_bit(z, i);
      *f = cuzk_packed_field(z, i);
    } else {
      *f = &z->inputs[v];
    }
    return ELEMENT;
  }
  const struct cuzk_assignment *z = p->j->e->z;
  *f = v & CUZK_VAR_AUX ? &z->aux[v - CUZK_VAR_AUX] : &z->inputs[v];
  if (cuzk_fr_is_zero(*f)) return ZERO;
  return cuzk_fr_is_one(*f) ? ONE : ELEMENT;
}

static void add_element(const struct place *p, cuzk_fr *sum, const cuzk_fr *f, cuzk_coeff number) {
  const struct cuzk_r1cs_class *k = &p->j->c->classes[number];
  cuzk_fr m;
  if (k->shift < 0) {
    cuzk_fr_mul(&m, f, &p->j->c->coeffs->value[number]);
    cuzk_fr_add(sum, sum, &m);
    return;
  }
  m = *f;
  for (int i = 0; i < k->shift; i++) cuzk_fr_dbl(&m, &m);
  if (k->negative)
    cuzk_fr_sub(sum, sum, &m);
  else
    cuzk_fr_add(sum, sum, &m);
}

static inline __attribute__((always_inline)) void combine(const struct place *p, bool packed, struct value *out,
                                                          const struct cuzk_term *t, uint32_t n) {
  const struct cuzk_r1cs_class *const classes = p->j->c->classes;
  int64_t whole = 0, lane[8];
  bool lanes = false, elements = false;
  for (uint32_t i = 0; i < n; i++) {
    const cuzk_fr *f = NULL;
    const int what = look_up(p, packed, t[i].var, &f);
    if (what == ZERO) continue;
    const struct cuzk_r1cs_class *k = &classes[t[i].coeff];
    if (what == ONE && k->kind == CUZK_R1CS_SMALL && i < 65536) {
      whole += k->v;
    } else if (what == ONE && k->kind == CUZK_R1CS_LANE && i < 65536) {
      if (!lanes) memset(lane, 0, sizeof lane);
      lanes = true;
      lane[k->lane] += k->v;
    } else {
      if (!elements) out->f = cuzk_fr_zero;
      elements = true;
      if (what == ONE)
        cuzk_fr_add(&out->f, &out->f, &p->j->c->coeffs->value[t[i].coeff]);
      else
        add_element(p, &out->f, f, t[i].coeff);
    }
  }
  out->is_int = !lanes && !elements;
  out->n = whole;
  if (out->is_int) return;
  cuzk_fr x;
  if (lanes)
    from_lanes(p->j, elements ? &x : &out->f, lane, whole);
  else if (whole)
    from_int(p->j, &x, whole);
  if (elements && (lanes || whole)) cuzk_fr_add(&out->f, &out->f, &x);
}

static const cuzk_fr *element(const struct job *j, struct value *v) {
  if (v->is_int) from_int(j, &v->f, v->n);
  v->is_int = false;
  return &v->f;
}

static bool holds(const struct job *j, struct value v[3]) {
  static const int64_t most = INT64_C(1) << 31;
  if (v[0].is_int && v[1].is_int && v[2].is_int && v[0].n < most && v[0].n > -most && v[1].n < most && v[1].n > -most)
    return v[0].n * v[1].n == v[2].n;
  cuzk_fr p;
  for (int k = 0; k < 2; k++)
    if (v[k].is_int && v[k].n == 1) return cuzk_fr_eq(element(j, &v[1 - k]), element(j, &v[2]));
  cuzk_fr_mul(&p, element(j, &v[0]), element(j, &v[1]));
  return cuzk_fr_eq(&p, element(j, &v[2]));
}

/* Own rows first .. first + n - 1 of the template, which are rows of the circuit from row on. */
static inline __attribute__((always_inline)) void run_rows(struct job *j, const struct place *p, bool packed, uint32_t first, uint32_t n,
                                                           uint64_t row) {
  const struct cuzk_compact_eval *e = j->e;
  const uint32_t *end = p->t->ends + 3 * (size_t)first;
  uint32_t at = first ? end[-1] : 0;
  for (uint32_t i = 0; i < n; i++, row++) {
    struct value v[3];
    for (int k = 0; k < 3; k++, end++) {
      combine(p, packed, &v[k], p->t->terms + at, *end - at);
      at = *end;
      if (!e->abc[k]) continue;
      if (v[k].is_int)
        from_int(j, &e->abc[k][row], v[k].n);
      else
        e->abc[k][row] = v[k].f;
    }
    if (!e->check || holds(j, v)) continue;
    uint64_t bad = atomic_load(&j->bad_row);
    while (row < bad && !atomic_compare_exchange_weak(&j->bad_row, &bad, row)) {}
  }
}

static void run_flat(struct job *j, const struct place *p, uint32_t first, uint32_t n, uint64_t row) {
  run_rows(j, p, false, first, n, row);
}
static void run_packed(struct job *j, const struct place *p, uint32_t first, uint32_t n, uint64_t row) {
  run_rows(j, p, true, first, n, row);
}

/* Rows lo .. hi - 1 of the template, whose first is row base of the circuit. ext: room for the externals of what it uses. */
static void run_range(struct job *j, const struct place *p, uint64_t lo, uint64_t hi, uint64_t base, cuzk_var *ext) {
  for (uint32_t i = cuzk_r1cs_item_of(p->t, lo); i < p->t->r->n_items; i++) {
    const struct cuzk_r1cs_item *x = &p->t->items[i];
    if (x->row >= hi) break;
    const uint64_t from = lo > x->row ? lo - x->row : 0;
    if (x->child == CUZK_R1CS_OWN) {
      const uint64_t to = hi - x->row < x->n ? hi - x->row : x->n;
      (j->e->p ? run_packed : run_flat)(j, p, x->first + (uint32_t)from, (uint32_t)(to - from), base + x->row + from);
      continue;
    }
    const struct place q = {j, &j->c->t[x->child], p->aux + x->aux, p->input + x->input, ext};
    const uint64_t to = hi - x->row < q.t->r->n_rows ? hi - x->row : q.t->r->n_rows;
    for (uint32_t k = 0; k < x->n; k++) ext[k] = cuzk_r1cs_resolve(p->t->binds[x->first + k], p->aux, p->input, p->ext);
    run_range(j, &q, from, to, base + x->row, ext + x->n);
  }
}

static void task(void *arg, size_t number, unsigned worker) {
  struct job *j = arg;
  const struct place root = {j, &j->c->t[j->c->n - 1], 0, 1, NULL};
  const uint64_t total = j->c->h->n_rows, lo = number * (uint64_t)TASK_ROWS, hi = total - lo < TASK_ROWS ? total : lo + TASK_ROWS;
  if (atomic_load(&j->cancelled)) return;
  run_range(j, &root, lo, hi, 0, j->ext + worker * j->n_ext);
  const uint64_t done = atomic_fetch_add(&j->done, hi - lo) + hi - lo;
  /* reports come from the caller's thread alone */
  if (worker == 0 && !cuzk_progress(j->progress, "evaluate", done, total, "constraints")) atomic_store(&j->cancelled, true);
}

static enum cuzk_status check_values(const struct cuzk_compact *c, const struct cuzk_compact_eval *e, struct cuzk_detail *d) {
  if (!e->z == !e->p) return cuzk_fail(d, CUZK_E_ARG, "values of %s: one form of the two is needed", c->h->name);
  const uint32_t n_inputs = e->z ? e->z->n_inputs : e->p->n_inputs, n_aux = e->z ? e->z->n_aux : e->p->n_aux;
  if (n_inputs != c->h->n_inputs || n_aux != c->h->n_aux)
    return cuzk_fail(d, CUZK_E_ARG, "values of %s: %u inputs and %u private ones, the circuit has %u and %u", c->h->name, n_inputs,
                     n_aux, c->h->n_inputs, c->h->n_aux);
  return CUZK_OK;
}

enum cuzk_status cuzk_compact_evaluate(const struct cuzk_compact *c, struct cuzk_compact_eval *e, struct cuzk_pool *pool,
                                       const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct job j = {.c = c, .e = e, .progress = progress, .two256 = cuzk_fr_one};
  const unsigned workers = pool ? cuzk_pool_workers(pool) : 1;
  e->bad_row = UINT64_MAX;
  e->region[0] = 0;
  enum cuzk_status st = check_values(c, e, d);
  if (st != CUZK_OK) return st;
  j.n_ext = ((size_t)c->t[c->n - 1].stack_ext + 16) & ~(size_t)15; /* workers' parts lie in different cache lines */
  j.small = cuzk_malloc_array(2 * N_SMALL + 1, sizeof *j.small);
  j.ext = cuzk_malloc_array(j.n_ext * workers, sizeof *j.ext);
  if (j.small && j.ext) {
    j.small[N_SMALL] = cuzk_fr_zero;
    for (int i = 1; i <= N_SMALL; i++) {
      cuzk_fr_add(&j.small[N_SMALL + i], &j.small[N_SMALL + i - 1], &cuzk_fr_one);
      cuzk_fr_sub(&j.small[N_SMALL - i], &j.small[N_SMALL - i + 1], &cuzk_fr_one);
    }
    for (int i = 0; i < 256; i++) cuzk_fr_dbl(&j.two256, &j.two256);
    atomic_init(&j.bad_row, UINT64_MAX);
    cuzk_pool_run(pool, task, &j, (size_t)((c->h->n_rows + TASK_ROWS - 1) / TASK_ROWS));
    e->bad_row = atomic_load(&j.bad_row);
    if (atomic_load(&j.cancelled))
      st = CUZK_E_CANCELLED;
    else if (e->bad_row != UINT64_MAX)
      st = cuzk_compact_region(c, e->bad_row, e->region, sizeof e->region, d);
  } else {
    st = CUZK_E_NOMEM;
  }
  cuzk_free(j.small);
  cuzk_free(j.ext);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "values of the rows of %s", c->h->name);
}
