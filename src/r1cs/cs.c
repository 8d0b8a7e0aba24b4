/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "r1cs/cs.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

void cuzk_cs_fail(struct cuzk_cs *cs, enum cuzk_status st) {
  if (cs->st == CUZK_OK) cs->st = st;
}

void cuzk_cs_init_count(struct cuzk_cs *cs) {
  memset(cs, 0, sizeof *cs);
  cs->n_inputs = 1;
  cs->bad_row = UINT64_MAX;
  cs->seam[0] = cs->seam[1] = UINT32_MAX;
}

void cuzk_cs_init_map(struct cuzk_cs *cs, uint64_t *map, uint32_t cap_aux, struct cuzk_cs_mark *marks, uint32_t cap_marks) {
  cuzk_cs_init_count(cs);
  cs->map = map;
  cs->cap_aux = cap_aux;
  cs->marks = marks;
  cs->cap_marks = cap_marks;
}

enum cuzk_status cuzk_cs_init_rows(struct cuzk_cs *cs, cuzk_row_fn *fn, void *user) {
  cuzk_cs_init_count(cs);
  cs->lcs = true;
  cs->row_fn = fn;
  cs->row_user = user;
  return cuzk_coeffs_create(&cs->coeffs);
}

void cuzk_cs_init_values(struct cuzk_cs *cs, cuzk_fr *inputs, uint32_t cap_inputs, cuzk_fr *aux, uint32_t cap_aux) {
  cuzk_cs_init_count(cs);
  cs->values = true;
  cs->inputs = inputs;
  cs->cap_inputs = cap_inputs;
  cs->aux = aux;
  cs->cap_aux = cap_aux;
  if (cap_inputs)
    inputs[0] = cuzk_fr_one;
  else
    cs->st = CUZK_E_INTERNAL;
}

/* Private values are p's, borrowed. */
static void use_packed(struct cuzk_cs *cs, const struct cuzk_packed *p) {
  cs->bits = p->bits;
  cs->fields = p->fields;
  cs->is_field = p->is_field;
  cs->rank = p->rank;
}

void cuzk_cs_init_packed(struct cuzk_cs *cs, const struct cuzk_packed *p, struct cuzk_cs_mark *marks, uint32_t n_marks,
                         struct cuzk_pool *pool, const struct cuzk_progress *progress) {
  cuzk_cs_init_values(cs, p->inputs, p->n_inputs, NULL, p->n_aux);
  cs->cap_fields = p->n_fields;
  use_packed(cs, p);
  cs->marks = marks;
  cs->cap_marks = n_marks;
  cs->pool = pool;
  cs->progress = progress;
}

enum cuzk_status cuzk_cs_init_eval(struct cuzk_cs *cs, cuzk_fr *inputs, uint32_t cap_inputs, cuzk_fr *aux, uint32_t cap_aux,
                                   cuzk_fr *const abc[3], uint64_t cap_rows, bool check, char *region) {
  cuzk_cs_init_values(cs, inputs, cap_inputs, aux, cap_aux);
  cs->lcs = true;
  for (int k = 0; k < 3; k++) cs->abc[k] = abc ? abc[k] : NULL;
  cs->cap_rows = cap_rows;
  cs->check = check;
  cs->bad_region = region;
  return cuzk_coeffs_create(&cs->coeffs);
}

void cuzk_cs_clear(struct cuzk_cs *cs) {
  struct cuzk_lc *const lists[6] = {&cs->row[0], &cs->row[1], &cs->row[2], &cs->lhs, &cs->rhs, &cs->scratch};
  for (int i = 0; i < 6; i++) cuzk_free(lists[i]->t);
  for (int i = 0; i < CUZK_CS_SLOTS; i++)
    if (cs->slot[i].p) cs->slot[i].destroy(cs->slot[i].p);
  cuzk_coeffs_destroy(&cs->coeffs);
  memset(cs, 0, sizeof *cs);
}

const cuzk_fr *cuzk_cs_packed_value(const struct cuzk_cs *cs, uint32_t j) {
  const uint32_t w = j / 64;
  const uint64_t field = cs->is_field[w] >> (j % 64);
  if (field & 1) return &cs->fields[cs->rank[w] + (uint32_t)__builtin_popcountll(cs->is_field[w] ^ (field << (j % 64)))];
  return (__atomic_load_n(&cs->bits[w], __ATOMIC_RELAXED) >> (j % 64)) & 1 ? &cuzk_fr_one : &cuzk_fr_zero;
}

void cuzk_cs_map_fields(struct cuzk_cs *cs, uint32_t first, uint32_t n) {
  if (n > cs->cap_aux || first > cs->cap_aux - n) {
    cuzk_cs_fail(cs, CUZK_E_INTERNAL);
    return;
  }
  while (n) {
    const unsigned s = first % 64, k = n < 64 - s ? n : 64 - s;
    cs->map[first / 64] |= (UINT64_MAX >> (64 - k)) << s;
    first += k;
    n -= k;
  }
}

/* Parts on several threads: each has a sink of its own that begins and ends at known marks. */
struct parts {
  const struct cuzk_cs *cs;
  const struct cuzk_cs_mark *mark;
  unsigned n;
  cuzk_part_fn *fn;
  const void *arg;
  atomic_int st;
  atomic_uint_fast64_t rows;
};

static struct cuzk_cs_mark mark_of(const struct cuzk_cs *cs) {
  return (struct cuzk_cs_mark){cs->n_inputs, cs->n_aux, cs->n_fields, cs->n_rows};
}

static void go_to(struct cuzk_cs *cs, const struct cuzk_cs_mark *m) {
  cs->n_inputs = m->n_inputs;
  cs->n_aux = m->n_aux;
  cs->n_fields = m->n_fields;
  cs->n_rows = m->n_rows;
}

static bool at_mark(const struct cuzk_cs *cs, const struct cuzk_cs_mark *m) {
  return cs->n_inputs == m->n_inputs && cs->n_aux == m->n_aux && cs->n_fields == m->n_fields && cs->n_rows == m->n_rows;
}

static void run_part(void *arg, size_t i, unsigned worker) {
  struct parts *x = arg;
  const struct cuzk_cs_mark *first = &x->mark[i], *end = first + 1;
  if (atomic_load(&x->st) != CUZK_OK) return;
  struct cuzk_cs cs = *x->cs;
  go_to(&cs, first);
  cs.cap_inputs = end->n_inputs;
  cs.cap_aux = end->n_aux;
  cs.cap_fields = end->n_fields;
  cs.seam[0] = first->n_aux / 64;
  cs.seam[1] = end->n_aux / 64;
  cs.marks = NULL;
  x->fn(&cs, x->arg, (unsigned)i);
  if (cs.st == CUZK_OK && !at_mark(&cs, end)) cs.st = CUZK_E_INTERNAL;
  const uint64_t rows = atomic_fetch_add(&x->rows, end->n_rows - first->n_rows) + end->n_rows - first->n_rows;
  const uint64_t total = x->mark[x->n].n_rows - x->mark[0].n_rows;
  if (cs.st == CUZK_OK && worker == 0 && !cuzk_progress(cs.progress, "witness", rows, total, "constraints"))
    cs.st = CUZK_E_CANCELLED;
  int none = CUZK_OK;
  if (cs.st != CUZK_OK) (void)atomic_compare_exchange_strong(&x->st, &none, (int)cs.st);
}

void cuzk_cs_parts(struct cuzk_cs *cs, unsigned n, cuzk_part_fn *fn, const void *arg) {
  const uint32_t at = cs->n_marks;
  cs->n_marks += n + 1;
  if (cs->marks && cs->n_marks > cs->cap_marks) cuzk_cs_fail(cs, CUZK_E_INTERNAL);
  if (cs->marks && !cs->map && cs->st == CUZK_OK) {
    if (!at_mark(cs, &cs->marks[at])) {
      cuzk_cs_fail(cs, CUZK_E_INTERNAL);
      return;
    }
    struct parts x = {.cs = cs, .mark = cs->marks + at, .n = n, .fn = fn, .arg = arg};
    atomic_init(&x.st, CUZK_OK);
    atomic_init(&x.rows, 0);
    cuzk_pool_run(cs->pool, run_part, &x, n);
    go_to(cs, &cs->marks[at + n]);
    cuzk_cs_fail(cs, (enum cuzk_status)atomic_load(&x.st));
    return;
  }
  for (unsigned i = 0; i < n && cs->st == CUZK_OK; i++) {
    if (cs->map) cs->marks[at + i] = mark_of(cs);
    fn(cs, arg, i);
  }
  if (cs->map && cs->st == CUZK_OK) cs->marks[at + n] = mark_of(cs);
}

enum cuzk_status cuzk_cs_init_given(struct cuzk_cs *cs, const struct cuzk_packed *p, cuzk_eval_fn *fn, void *user, bool check,
                                    char *region) {
  cuzk_cs_init_count(cs);
  cs->lcs = cs->given = true;
  cs->inputs = p->inputs;
  use_packed(cs, p);
  cs->eval_fn = fn;
  cs->eval_user = user;
  cs->check = check;
  cs->bad_region = region;
  return cuzk_coeffs_create(&cs->coeffs);
}

static bool reserve(struct cuzk_cs *cs, struct cuzk_lc *l, uint32_t cap) {
  if (l->cap >= cap) return true;
  struct cuzk_term *t = cuzk_realloc_array(l->t, cap, sizeof *t);
  if (!t) {
    cuzk_cs_fail(cs, CUZK_E_NOMEM);
    return false;
  }
  l->t = t;
  l->cap = cap;
  return true;
}

bool cuzk_lc_grow(struct cuzk_cs *cs, struct cuzk_lc *l) {
  return cs->st == CUZK_OK && reserve(cs, l, l->cap ? 2 * l->cap : 512);
}

cuzk_coeff cuzk_cs_coeff(struct cuzk_cs *cs, const cuzk_fr *v) {
  cuzk_coeff c = CUZK_COEFF_ZERO;
  if (cs->st == CUZK_OK) {
    const enum cuzk_status st = cuzk_coeffs_intern(cs->coeffs, &c, v);
    if (st != CUZK_OK) cuzk_cs_fail(cs, st);
  }
  return c;
}

static void sort_few(struct cuzk_term *t, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    const struct cuzk_term x = t[i];
    uint32_t j = i;
    for (; j && t[j - 1].var > x.var; j--) t[j] = t[j - 1];
    t[j] = x;
  }
}

/* Stable radix sort by variable, a byte at a time, bytes in which all agree left out. */
static bool sort_many(struct cuzk_cs *cs, struct cuzk_lc *l) {
  uint32_t count[4][256] = {{0}};
  if (!reserve(cs, &cs->scratch, l->cap)) return false;
  for (uint32_t i = 0; i < l->n; i++)
    for (int b = 0; b < 4; b++) count[b][(l->t[i].var >> (8 * b)) & 255]++;
  struct cuzk_term *from = l->t, *to = cs->scratch.t;
  for (int b = 0; b < 4; b++) {
    if (count[b][(from[0].var >> (8 * b)) & 255] == l->n) continue;
    uint32_t at = 0;
    for (int i = 0; i < 256; i++) {
      const uint32_t k = count[b][i];
      count[b][i] = at;
      at += k;
    }
    for (uint32_t i = 0; i < l->n; i++) to[count[b][(from[i].var >> (8 * b)) & 255]++] = from[i];
    struct cuzk_term *const x = from;
    from = to;
    to = x;
  }
  if (from != l->t) memcpy(l->t, from, l->n * sizeof *from);
  return true;
}

/* Ascending, merged, without zeros. */
static void canonicalise(struct cuzk_cs *cs, struct cuzk_lc *l) {
  uint32_t i = 0, n = 0;
  for (; i < l->n; i++)
    if (l->t[i].coeff == CUZK_COEFF_ZERO || (i && l->t[i].var <= l->t[i - 1].var)) break;
  if (i == l->n) return;
  if (l->n <= 16)
    sort_few(l->t, l->n);
  else if (!sort_many(cs, l))
    return;
  for (i = 0; i < l->n;) {
    struct cuzk_term x = l->t[i++];
    for (; i < l->n && l->t[i].var == x.var; i++) {
      const enum cuzk_status st = cuzk_coeffs_add(cs->coeffs, &x.coeff, x.coeff, l->t[i].coeff);
      if (st != CUZK_OK) {
        cuzk_cs_fail(cs, st);
        return;
      }
    }
    if (x.coeff == CUZK_COEFF_ZERO)
      cs->coeffs->zero_terms_dropped++;
    else
      l->t[n++] = x;
  }
  l->n = n;
}

static void evaluate(const struct cuzk_cs *cs, cuzk_fr *out, const struct cuzk_lc *l) {
  cuzk_fr sum = cuzk_fr_zero, m;
  for (uint32_t i = 0; i < l->n; i++) {
    const cuzk_coeff c = l->t[i].coeff;
    if (cs->given && l->t[i].var & CUZK_VAR_AUX) { /* most terms are bits: their coefficient counts or not */
      const uint32_t j = l->t[i].var - CUZK_VAR_AUX, w = j / 64, s = j % 64;
      if (!(cs->is_field[w] >> s & 1)) {
        if (cs->bits[w] >> s & 1) cuzk_fr_add(&sum, &sum, &cs->coeffs->value[c]);
        continue;
      }
    }
    const cuzk_fr *v = cuzk_cs_value(cs, l->t[i].var);
    if (cuzk_fr_is_zero(v)) continue;
    if (c == CUZK_COEFF_ONE) {
      cuzk_fr_add(&sum, &sum, v);
    } else if (c == CUZK_COEFF_MINUS_ONE) {
      cuzk_fr_sub(&sum, &sum, v);
    } else if (cuzk_fr_is_one(v)) {
      cuzk_fr_add(&sum, &sum, &cs->coeffs->value[c]);
    } else {
      cuzk_fr_mul(&m, v, &cs->coeffs->value[c]);
      cuzk_fr_add(&sum, &sum, &m);
    }
  }
  *out = sum;
}

static void emit_eval(struct cuzk_cs *cs, const struct cuzk_lc *const l[3]) {
  cuzk_fr x[3], p;
  const uint64_t i = cs->n_rows++;
  for (int k = 0; k < 3; k++) {
    evaluate(cs, &x[k], l[k]);
    if (!cs->abc[k]) continue;
    if (i < cs->cap_rows)
      cs->abc[k][i] = x[k];
    else
      cuzk_cs_fail(cs, CUZK_E_INTERNAL);
  }
  if (cs->eval_fn) {
    const enum cuzk_status st = cs->eval_fn(cs->eval_user, i, x);
    if (st != CUZK_OK) cuzk_cs_fail(cs, st);
  }
  if (!cs->check || cs->bad_row != UINT64_MAX) return;
  cuzk_fr_mul(&p, &x[0], &x[1]);
  if (cuzk_fr_eq(&p, &x[2])) return;
  cs->bad_row = i;
  if (cs->bad_region) cuzk_cs_region_path(cs, cs->depth, cs->bad_region, 512);
}

void cuzk_cs_emit(struct cuzk_cs *cs, struct cuzk_lc *a, struct cuzk_lc *b, struct cuzk_lc *c) {
  if (cs->st != CUZK_OK) return;
  if (cs->values || cs->given) {
    const struct cuzk_lc *const l[3] = {a, b, c};
    emit_eval(cs, l);
    return;
  }
  if (!cs->raw) {
    canonicalise(cs, a);
    canonicalise(cs, b);
    canonicalise(cs, c);
    if (cs->st != CUZK_OK) return;
  }
  const struct cuzk_row row = {{a->t, b->t, c->t}, {a->n, b->n, c->n}};
  const enum cuzk_status st = cs->row_fn(cs->row_user, cs->n_rows++, &row, cs->coeffs);
  if (st != CUZK_OK) cuzk_cs_fail(cs, st);
}

void cuzk_cs_region_path(const struct cuzk_cs *cs, unsigned depth, char *out, size_t out_bytes) {
  size_t n = 0;
  out[0] = 0;
  for (unsigned k = 0; k < depth && k < CUZK_CS_DEPTH; k++) {
    const struct cuzk_region *r = &cs->stack[k];
    const unsigned arg[2] = {r->i, r->j};
    unsigned used = 0;
    if (k && n + 1 < out_bytes) out[n++] = '/';
    for (const char *f = r->fmt; *f && n + 1 < out_bytes; f++) {
      if (f[0] == '%' && f[1] == 'u' && used < 2) {
        char text[12];
        const int len = snprintf(text, sizeof text, "%u", arg[used++]);
        for (int i = 0; i < len && n + 1 < out_bytes; i++) out[n++] = text[i];
        f++;
      } else {
        out[n++] = *f;
      }
    }
  }
  out[n] = 0;
}
