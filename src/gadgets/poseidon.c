/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/poseidon.h"

#include <string.h>

#include "base/alloc.h"

#define MAX_T 37

/* The rows of one hash. Variables of its terms: 0 is ONE, 1 + i is x[i], CUZK_VAR_AUX + j the j-th new variable. Row i is the one
 * that defines new variable i. */
struct template {
  unsigned n_rows;
  uint32_t *end;           /* 3 n_rows: where A, B, C of each row end in terms */
  struct cuzk_term *terms; /* of all rows */
  uint32_t n_terms, cap_terms;
};

static void template_destroy(void *p) {
  struct template *t = p;
  cuzk_free(t->end);
  cuzk_free(t->terms);
  cuzk_free(t);
}

/* While a template is derived: state elements as dense combinations over ONE (place 0) and the new variables (place 1 + j). */
struct deriver {
  struct cuzk_cs *cs;
  const struct cuzk_poseidon *p;
  struct template *t;
  cuzk_fr *e, *next; /* t rows of width places */
  unsigned width;
  uint32_t n_ends, n_vars;
};

static void put(struct deriver *d, cuzk_var v, cuzk_coeff c) {
  struct template *t = d->t;
  if (t->n_terms == t->cap_terms) {
    const uint32_t cap = t->cap_terms ? 2 * t->cap_terms : 4096;
    struct cuzk_term *p = cuzk_realloc_array(t->terms, cap, sizeof *p);
    if (!p) {
      cuzk_cs_fail(d->cs, CUZK_E_NOMEM);
      return;
    }
    t->terms = p;
    t->cap_terms = cap;
  }
  t->terms[t->n_terms++] = (struct cuzk_term){v, c};
}

static void put_value(struct deriver *d, cuzk_var v, const cuzk_fr *c) { put(d, v, cuzk_cs_coeff(d->cs, c)); }
static void end_list(struct deriver *d) { d->t->end[d->n_ends++] = d->t->n_terms; }
static void put_one(struct deriver *d, cuzk_var v) {
  put(d, v, CUZK_COEFF_ONE);
  end_list(d);
}

/* {v + c} with the constant left out where there is none */
static void put_plus(struct deriver *d, cuzk_var v, const cuzk_fr *c, bool negated) {
  cuzk_fr k;
  if (c) {
    k = *c;
    if (negated) cuzk_fr_neg(&k, &k);
    put_value(d, CUZK_VAR_ONE, &k);
  }
  put_one(d, v);
}

/* Rows of l2 = (v + pre)^2, l4 = l2^2, l5 = l4 (v + pre) + post; the number of l5's variable. */
static uint32_t put_quintic(struct deriver *d, cuzk_var v, const cuzk_fr *pre, const cuzk_fr *post) {
  const cuzk_var l2 = CUZK_VAR_AUX + d->n_vars, l4 = l2 + 1, l5 = l2 + 2;
  put_plus(d, v, pre, false);
  put_plus(d, v, pre, false);
  put_one(d, l2);
  put_one(d, l2);
  put_one(d, l2);
  put_one(d, l4);
  put_plus(d, v, pre, false);
  put_one(d, l4);
  put_plus(d, l5, post, true);
  d->n_vars += 3;
  return d->n_vars - 1;
}

/* Row of a new variable that equals element i. */
static cuzk_var put_materialised(struct deriver *d, unsigned i) {
  const cuzk_fr *e = d->e + (size_t)i * d->width;
  for (unsigned k = 0; k <= d->n_vars; k++)
    if (!cuzk_fr_is_zero(&e[k])) put_value(d, k ? CUZK_VAR_AUX + k - 1 : CUZK_VAR_ONE, &e[k]);
  end_list(d);
  put_one(d, CUZK_VAR_ONE);
  put_one(d, CUZK_VAR_AUX + d->n_vars);
  return CUZK_VAR_AUX + d->n_vars++;
}

static void set_var(struct deriver *d, unsigned i, uint32_t var) {
  cuzk_fr *e = d->e + (size_t)i * d->width;
  memset(e, 0, d->width * sizeof *e);
  e[1 + var] = cuzk_fr_one;
}

/* to += k from */
static void axpy(struct deriver *d, cuzk_fr *to, const cuzk_fr *k, const cuzk_fr *from) {
  for (unsigned i = 0; i <= d->n_vars; i++) {
    if (cuzk_fr_is_zero(&from[i])) continue;
    cuzk_fr m;
    cuzk_fr_mul(&m, k, &from[i]);
    cuzk_fr_add(&to[i], &to[i], &m);
  }
}

static void dense(struct deriver *d, const cuzk_fr *m) {
  const unsigned t = d->p->t;
  memset(d->next, 0, (size_t)t * d->width * sizeof *d->next);
  for (unsigned j = 0; j < t; j++)
    for (unsigned i = 0; i < t; i++) axpy(d, d->next + (size_t)j * d->width, &m[i * t + j], d->e + (size_t)i * d->width);
  cuzk_fr *const x = d->e;
  d->e = d->next;
  d->next = x;
}

static void sparse(struct deriver *d, const cuzk_fr *s) {
  const unsigned t = d->p->t;
  cuzk_fr *const e = d->e, *const first = d->next;
  memset(first, 0, d->width * sizeof *first);
  for (unsigned i = 0; i < t; i++) axpy(d, first, &s[i], e + (size_t)i * d->width);
  for (unsigned j = 1; j < t; j++) axpy(d, e + (size_t)j * d->width, &s[t + j - 1], e);
  memcpy(e, first, d->width * sizeof *e);
}

static void derive(struct deriver *d) {
  const struct cuzk_poseidon *p = d->p;
  const unsigned t = p->t, half = p->n_full / 2;
  const cuzk_fr *c = p->crc + t;
  cuzk_fr k, q;
  cuzk_fr_add(&k, &p->tag, &p->crc[0]);
  cuzk_fr_sqr(&q, &k);
  cuzk_fr_sqr(&q, &q);
  cuzk_fr_mul(&k, &k, &q);
  cuzk_fr_add(&d->e[0], &k, &c[0]);
  for (unsigned i = 1; i < t; i++) set_var(d, i, put_quintic(d, i, &p->crc[i], &c[i]));
  c += t;
  dense(d, p->mds);
  for (unsigned round = 1; round < half; round++, c += t) {
    for (unsigned i = 0; i < t; i++) set_var(d, i, put_quintic(d, put_materialised(d, i), NULL, &c[i]));
    dense(d, round + 1 < half ? p->mds : p->pre_sparse);
  }
  for (unsigned round = 0; round < p->n_partial; round++, c++) {
    set_var(d, 0, put_quintic(d, put_materialised(d, 0), NULL, c));
    sparse(d, p->sparse + (size_t)round * (t + p->arity));
  }
  for (unsigned round = 0; round < half; round++, c += t) {
    const bool last = round + 1 == half;
    for (unsigned i = 0; i < t; i++) set_var(d, i, put_quintic(d, put_materialised(d, i), NULL, last ? NULL : &c[i]));
    dense(d, p->mds);
  }
  (void)put_materialised(d, 1);
}

static unsigned n_rows_of(const struct cuzk_poseidon *p) { return 31 * p->t + 4 * p->n_partial - 2; }

/* NULL after an error, which is noted. */
static const struct template *get_template(struct cuzk_cs *cs, const struct cuzk_poseidon *p, unsigned slot) {
  if (cs->slot[slot].p) return cs->slot[slot].p;
  struct template *t = cuzk_calloc(1, sizeof *t);
  struct deriver d = {cs, p, t, NULL, NULL, n_rows_of(p) + 1, 0, 0};
  cuzk_fr *e = cuzk_calloc(2 * (size_t)p->t * d.width, sizeof *e);
  if (t) t->end = cuzk_malloc_array(3 * (size_t)n_rows_of(p), sizeof *t->end);
  if (!e || !t || !t->end) {
    cuzk_cs_fail(cs, CUZK_E_NOMEM);
  } else {
    t->n_rows = n_rows_of(p);
    d.e = e;
    d.next = e + (size_t)p->t * d.width;
    derive(&d);
  }
  cuzk_free(e);
  if (cs->st != CUZK_OK) {
    if (t) template_destroy(t);
    return NULL;
  }
  cs->slot[slot] = (struct cuzk_cs_slot){t, template_destroy};
  return t;
}

/* x^5 + c, the powers on the way written to v. */
static cuzk_fr *quintic(cuzk_fr *v, cuzk_fr *x, const cuzk_fr *c) {
  cuzk_fr_sqr(&v[0], x);
  cuzk_fr_sqr(&v[1], &v[0]);
  cuzk_fr_mul(&v[2], &v[1], x);
  if (c) cuzk_fr_add(&v[2], &v[2], c);
  *x = v[2];
  return v + 3;
}

static void dense_values(cuzk_fr *s, const cuzk_fr *m, unsigned t) {
  cuzk_fr u[MAX_T];
  for (unsigned j = 0; j < t; j++) cuzk_fr_dot(&u[j], s, &m[j], t, t);
  memcpy(s, u, t * sizeof *s);
}

/* Values of all new variables, in order. */
static void compute(cuzk_fr *v, const struct cuzk_poseidon *p, const cuzk_fr *in) {
  const unsigned t = p->t, half = p->n_full / 2;
  const cuzk_fr *c = p->crc + t, *sp = p->sparse;
  cuzk_fr s[MAX_T], skipped[3], x;
  cuzk_fr_add(&s[0], &p->tag, &p->crc[0]);
  (void)quintic(skipped, &s[0], &c[0]);
  for (unsigned i = 1; i < t; i++) {
    cuzk_fr_add(&s[i], &in[i - 1], &p->crc[i]);
    v = quintic(v, &s[i], &c[i]);
  }
  c += t;
  dense_values(s, p->mds, t);
  for (unsigned round = 1; round < half; round++, c += t) {
    for (unsigned i = 0; i < t; i++) {
      *v++ = s[i];
      v = quintic(v, &s[i], &c[i]);
    }
    dense_values(s, round + 1 < half ? p->mds : p->pre_sparse, t);
  }
  for (unsigned round = 0; round < p->n_partial; round++, c++, sp += t + p->arity) {
    *v++ = s[0];
    v = quintic(v, &s[0], c);
    cuzk_fr first;
    cuzk_fr_dot(&first, sp, s, 1, t);
    for (unsigned j = 1; j < t; j++) {
      cuzk_fr_mul(&x, &sp[t + j - 1], &s[0]);
      cuzk_fr_add(&s[j], &s[j], &x);
    }
    s[0] = first;
  }
  for (unsigned round = 0; round < half; round++, c += t) {
    const bool last = round + 1 == half;
    for (unsigned i = 0; i < t; i++) {
      *v++ = s[i];
      v = quintic(v, &s[i], last ? NULL : &c[i]);
    }
    dense_values(s, p->mds, t);
  }
  *v = s[1];
}

/* Opens and closes the regions of rounds: row is about to be emitted. */
static void mark_round(struct cuzk_cs *cs, const struct cuzk_poseidon *p, unsigned row, bool *open) {
  const unsigned t = p->t, first = 3 * (t - 1), half = p->n_full / 2;
  const unsigned partial = first + (half - 1) * 4 * t, final = partial + 4 * p->n_partial, end = final + half * 4 * t;
  const char *name = NULL;
  unsigned i = 0;
  if (row == 0) {
    name = "first round";
  } else if (row >= first && row < partial) {
    if ((row - first) % (4 * t)) return;
    name = "initial full round %u";
    i = 1 + (row - first) / (4 * t);
  } else if (row >= partial && row < final) {
    if ((row - partial) % 4) return;
    name = "partial round %u";
    i = (row - partial) / 4;
  } else if (row >= final && row < end) {
    if ((row - final) % (4 * t)) return;
    i = (row - final) / (4 * t);
    name = i + 1 < half ? "final full round %u" : "terminal full round";
  } else if (row != end) {
    return;
  }
  if (*open) cuzk_cs_pop(cs);
  *open = name != NULL;
  if (name) cuzk_cs_push(cs, name, i);
}

cuzk_var cuzk_poseidon_gadget(struct cuzk_cs *cs, const cuzk_var *x, unsigned arity, enum cuzk_poseidon_use use) {
  const struct cuzk_poseidon *p;
  const struct template *t = NULL;
  const enum cuzk_status st = cuzk_poseidon_get(&p, arity, use);
  if (st != CUZK_OK) {
    cuzk_cs_fail(cs, st);
    return CUZK_VAR_ONE;
  }
  static const uint8_t slots[12] = {[2] = 0, [4] = 1, [8] = 2, [11] = 3};
  const unsigned n = n_rows_of(p);
  const unsigned slot = use == CUZK_POSEIDON_GEN_RAND ? 4 : arity < 12 ? slots[arity] : arity == 16 ? 5 : arity == 24 ? 6 : 7;
  if (cs->lcs && cs->st == CUZK_OK) t = get_template(cs, p, slot);
  cuzk_fr in[MAX_T];
  if (cuzk_cs_has_values(cs))
    for (unsigned i = 0; i < arity; i++) in[i] = *cuzk_cs_value(cs, x[i]);
  if (!cs->lcs && !cs->region_fn) {
    cuzk_fr *to;
    const cuzk_var first = cuzk_cs_alloc_run(cs, n, &to);
    cs->n_rows += n;
    if (to && cs->st == CUZK_OK) compute(to, p, in);
    return first + n - 1;
  }
  cuzk_fr v[31 * MAX_T + 4 * 60 - 2];
  if (cuzk_cs_has_values(cs))
    compute(v, p, in);
  else if (cs->values)
    memset(v, 0, n * sizeof *v);
  const cuzk_var base = CUZK_VAR_AUX + cs->n_aux;
  uint32_t at = 0;
  bool open = false;
  for (unsigned row = 0; row < n; row++) {
    mark_round(cs, p, row, &open);
    (void)cuzk_cs_alloc(cs, &v[row]);
    for (unsigned k = 0; k < 3 && t; k++)
      for (; at < t->end[3 * row + k]; at++) {
        const cuzk_var u = t->terms[at].var;
        cuzk_cs_term(cs, k, u & CUZK_VAR_AUX ? base + (u - CUZK_VAR_AUX) : u ? x[u - 1] : CUZK_VAR_ONE, t->terms[at].coeff);
      }
    cuzk_cs_enforce(cs);
  }
  return base + n - 1;
}
