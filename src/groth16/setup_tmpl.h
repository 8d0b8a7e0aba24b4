/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Key generation over an engine (engine_bls12.h says what that is); included, never linked.
 *
 *  Source: formats specification 3.1, 3.2, 4.1, 4.2; docs/internals/groth16.md draws the passes. */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"

/* Points made, encoded and written at a time; variables or points of one task. */
#define SETUP_BLOCK ((size_t)1 << 17)
#define SETUP_TASK ((size_t)4096)
/* What a G2 point counts for in the progress, a G1 point being 1: about its cost. */
#define SETUP_G2_WEIGHT 3u

struct setup {
  const struct cuzk_system *system;
  struct cuzk_pool *pool;
  const struct cuzk_progress *progress;
  struct cuzk_detail *d;
  const struct cuzk_setup_sink *sink;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  size_t n_vars, m;
  unsigned log2_m;

  E(fr) * lagrange; /* m: value at tau of the polynomial that is 1 on row i; only while rows are walked */
  /* n_vars each, inputs first: A_j(tau), B_j(tau), C_j(tau). The third becomes (beta A_j + alpha B_j + C_j) / gamma or delta. */
  E(fr) * u[3];

  E(fr) alpha, beta, inv_gamma, inv_delta;
  _Atomic uint32_t n_a, n_b;    /* variables with A_j, B_j not zero */
  _Atomic size_t unconstrained; /* first variable whose ic or l point would be the identity; SIZE_MAX: none */

  E(fr) * s; /* scalars, points and bytes of a block */
  E(g1_affine) * g1;
  E(g2_affine) * g2;
  uint8_t *bytes;
  uint64_t done, total; /* progress, in G1 points */
  E(fr) h_first, tau;   /* scalar of the block's first h point */
};

/* ---- Counting and accumulating rows ---- */

static enum cuzk_status setup_count_row(void *user, uint64_t index, const struct cuzk_row *row,
                                        const struct cuzk_coeffs *coeffs) {
  const struct setup *s = user;
  (void)row;
  (void)coeffs;
  /* The number of rows is not known yet: the report only asks whether to go on. */
  if ((index & 0xffff) == 0 && !cuzk_progress(s->progress, "counting rows", 0, 1, "passes")) return CUZK_E_CANCELLED;
  return CUZK_OK;
}

static enum cuzk_status setup_add_row(void *user, uint64_t index, const struct cuzk_row *row,
                                      const struct cuzk_coeffs *coeffs) {
  struct setup *s = user;
  if (index >= s->n_rows) return cuzk_fail(s->d, CUZK_E_INTERNAL, "%s: more rows in the second walk", s->system->name);
  if ((index & 0xffff) == 0 && !cuzk_progress(s->progress, "rows", index, s->n_rows, "rows")) return CUZK_E_CANCELLED;
  const E(fr) *at_row = &s->lagrange[index];
  for (int side = 0; side < 3; side++) {
    const struct cuzk_term *t = row->t[side];
    for (uint32_t k = 0; k < row->n[side]; k++) {
      const bool aux = (t[k].var & CUZK_VAR_AUX) != 0;
      const uint32_t j = t[k].var & ~CUZK_VAR_AUX;
      if (j >= (aux ? s->n_aux : s->n_inputs))
        return cuzk_fail(s->d, CUZK_E_INTERNAL, "%s: row %llu names a variable that does not exist", s->system->name,
                         (unsigned long long)index);
      E(fr) *u = &s->u[side][aux ? s->n_inputs + (size_t)j : j];
      if (t[k].coeff == CUZK_COEFF_ONE) {
        E(fr_add)(u, u, at_row);
      } else if (t[k].coeff == CUZK_COEFF_MINUS_ONE) {
        E(fr_sub)(u, u, at_row);
      } else {
        E(fr) v;
        E(fr_mul)(&v, E(coeff_value)(coeffs, t[k].coeff), at_row);
        E(fr_add)(u, u, &v);
      }
    }
  }
  return CUZK_OK;
}

/* ---- Scalars ---- */

static void setup_combine_task(void *arg, size_t task, unsigned worker) {
  struct setup *s = arg;
  (void)worker;
  const size_t first = task * SETUP_TASK, end = first + SETUP_TASK < s->n_vars ? first + SETUP_TASK : s->n_vars;
  uint32_t n_a = 0, n_b = 0;
  for (size_t j = first; j < end; j++) {
    const E(fr) *a = &s->u[0][j], *b = &s->u[1][j];
    E(fr) *l = &s->u[2][j], x, y;
    n_a += !E(fr_is_zero)(a);
    n_b += !E(fr_is_zero)(b);
    E(fr_mul)(&x, &s->beta, a);
    E(fr_mul)(&y, &s->alpha, b);
    E(fr_add)(l, l, &x);
    E(fr_add)(l, l, &y);
    E(fr_mul)(l, l, j < s->n_inputs ? &s->inv_gamma : &s->inv_delta);
    if (E(fr_is_zero)(l)) {
      size_t seen = atomic_load(&s->unconstrained);
      while (j < seen && !atomic_compare_exchange_weak(&s->unconstrained, &seen, j)) {}
    }
  }
  atomic_fetch_add(&s->n_a, n_a);
  atomic_fetch_add(&s->n_b, n_b);
}

/* ---- Points ---- */

struct setup_encode {
  const struct setup *s;
  size_t n;
  bool g2;
};

static void setup_encode_task(void *arg, size_t task, unsigned worker) {
  const struct setup_encode *e = arg;
  (void)worker;
  const size_t first = task * SETUP_TASK, end = first + SETUP_TASK < e->n ? first + SETUP_TASK : e->n;
  for (size_t i = first; i < end; i++) {
    if (e->g2)
      E(g2_encode)(e->s->bytes + i * E_G2_BYTES, &e->s->g2[i]);
    else
      E(g1_encode)(e->s->bytes + i * E_G1_BYTES, &e->s->g1[i]);
  }
}

/* Multiplies the block's n scalars with a generator and writes the points. One of t1, t2 is NULL. */
static enum cuzk_status setup_write_block(struct setup *s, size_t n, const struct E(fixed_g1) * t1,
                                          const struct E(fixed_g2) * t2) {
  if (n == 0) return CUZK_OK;
  enum cuzk_status st = t2 ? E(fixed_g2_mul)(t2, s->g2, s->s, n, s->pool) : E(fixed_g1_mul)(t1, s->g1, s->s, n, s->pool);
  if (st != CUZK_OK) return cuzk_fail(s->d, st, "no memory to multiply a block of points");
  struct setup_encode e = {s, n, t2 != NULL};
  cuzk_pool_run(s->pool, setup_encode_task, &e, (n + SETUP_TASK - 1) / SETUP_TASK);
  st = s->sink->write(s->sink->user, s->bytes, n * (t2 ? E_G2_BYTES : E_G1_BYTES), s->d);
  if (st != CUZK_OK) return st;
  s->done += t2 ? n * (uint64_t)SETUP_G2_WEIGHT : n;
  if (!cuzk_progress(s->progress, "points", s->done, s->total, "points"))
    return cuzk_fail(s->d, CUZK_E_CANCELLED, "the setup was cancelled");
  return CUZK_OK;
}

static enum cuzk_status setup_write_count(struct setup *s, uint32_t count) {
  uint8_t be[4];
  cuzk_store_be32(be, count);
  return s->sink->write(s->sink->user, be, sizeof be, s->d);
}

/* A section whose scalars are v[n]; zeros are left out if asked. count: how many are written. */
static enum cuzk_status setup_write_section(struct setup *s, const E(fr) * v, size_t n, bool drop_zeros, uint32_t count,
                                            const struct E(fixed_g1) * t1, const struct E(fixed_g2) * t2) {
  enum cuzk_status st = setup_write_count(s, count);
  size_t k = 0;
  for (size_t j = 0; j < n && st == CUZK_OK; j++) {
    if (!drop_zeros || !E(fr_is_zero)(&v[j])) s->s[k++] = v[j];
    if (k == SETUP_BLOCK || j + 1 == n) {
      st = setup_write_block(s, k, t1, t2);
      k = 0;
    }
  }
  return st;
}

/* h_i = tau^i (tau^m - 1) / delta. */
static enum cuzk_status setup_write_h(struct setup *s, const struct E(fixed_g1) * t1) {
  enum cuzk_status st = setup_write_count(s, (uint32_t)(s->m - 1));
  for (size_t i = 0; i < s->m - 1 && st == CUZK_OK;) {
    const size_t left = s->m - 1 - i, n = left < SETUP_BLOCK ? left : SETUP_BLOCK;
    E(powers)(s->s, &s->tau, &s->h_first, n, s->pool);
    E(fr_mul)(&s->h_first, &s->s[n - 1], &s->tau);
    st = setup_write_block(s, n, t1, NULL);
    i += n;
  }
  return st;
}

static enum cuzk_status setup_write_all(struct setup *s, const struct E(toxic) * t, const struct E(fixed_g1) * t1,
                                        const struct E(fixed_g2) * t2) {
  enum cuzk_status st;
  E(fr) k1[3] = {t->alpha, t->beta, t->delta}, k2[3] = {t->beta, t->gamma, t->delta};
  E(g1_affine) p1[3];
  E(g2_affine) p2[3];
  uint8_t head[3 * E_G1_BYTES + 3 * E_G2_BYTES], *at = head;
  st = E(fixed_g1_mul)(t1, p1, k1, 3, s->pool);
  if (st == CUZK_OK) st = E(fixed_g2_mul)(t2, p2, k2, 3, s->pool);
  cuzk_secret_clear(k1, sizeof k1);
  cuzk_secret_clear(k2, sizeof k2);
  if (st != CUZK_OK) return cuzk_fail(s->d, st, "no memory to multiply a block of points");
  E(g1_encode)(at, &p1[0]), at += E_G1_BYTES;
  E(g1_encode)(at, &p1[1]), at += E_G1_BYTES;
  E(g2_encode)(at, &p2[0]), at += E_G2_BYTES;
  E(g2_encode)(at, &p2[1]), at += E_G2_BYTES;
  E(g1_encode)(at, &p1[2]), at += E_G1_BYTES;
  E(g2_encode)(at, &p2[2]);
  if ((st = s->sink->write(s->sink->user, head, sizeof head, s->d)) != CUZK_OK) return st;
  if ((st = setup_write_section(s, s->u[2], s->n_inputs, false, s->n_inputs, t1, NULL)) != CUZK_OK) return st;
  if ((st = setup_write_h(s, t1)) != CUZK_OK) return st;
  if ((st = setup_write_section(s, s->u[2] + s->n_inputs, s->n_aux, false, s->n_aux, t1, NULL)) != CUZK_OK) return st;
  if ((st = setup_write_section(s, s->u[0], s->n_vars, true, s->n_a, t1, NULL)) != CUZK_OK) return st;
  if ((st = setup_write_section(s, s->u[1], s->n_vars, true, s->n_b, t1, NULL)) != CUZK_OK) return st;
  return setup_write_section(s, s->u[1], s->n_vars, true, s->n_b, NULL, t2);
}

/* ---- The passes ---- */

static enum cuzk_status setup_evaluate(struct setup *s, const struct E(toxic) * t) {
  struct E(domain) *domain = NULL;
  const size_t lagrange_bytes = s->m * sizeof(E(fr));
  uint32_t n_inputs = 0, n_aux = 0;
  uint64_t n_rows = 0;
  enum cuzk_status st = E(domain_create)(&domain, s->log2_m, s->pool);
  if (st != CUZK_OK) {
    (void)cuzk_fail(s->d, st, "no memory for a domain of 2^%u rows", s->log2_m);
    goto out;
  }
  s->lagrange = cuzk_big_alloc(lagrange_bytes);
  for (int side = 0; side < 3; side++) s->u[side] = cuzk_big_alloc(s->n_vars * sizeof(E(fr)));
  if (!s->lagrange || !s->u[0] || !s->u[1] || !s->u[2]) {
    st = cuzk_fail(s->d, CUZK_E_NOMEM, "no memory for %zu rows and %zu variables", s->m, s->n_vars);
    goto out;
  }
  st = E(lagrange_at)(s->lagrange, &t->tau, domain, s->pool);
  if (st != CUZK_OK) {
    (void)cuzk_fail(s->d, st, "%s", st == CUZK_E_ARG ? "toxic waste: tau lies in the circuit's domain" : "no memory");
    goto out;
  }
  CUZK_TRY(s->system->walk(s->system, setup_add_row, s, &n_inputs, &n_aux, &n_rows, s->d));
  if (n_inputs != s->n_inputs || n_aux != s->n_aux || n_rows != s->n_rows) {
    st = cuzk_fail(s->d, CUZK_E_INTERNAL, "%s: two walks gave different systems", s->system->name);
    goto out;
  }
  /* The rows x_j * 0 = 0 that make the inputs' A polynomials independent. */
  for (size_t j = 0; j < s->n_inputs; j++) E(fr_add)(&s->u[0][j], &s->u[0][j], &s->lagrange[s->n_rows + j]);
out:
  cuzk_big_free(s->lagrange, lagrange_bytes);
  s->lagrange = NULL;
  E(domain_destroy)(&domain);
  return st;
}

static enum cuzk_status setup_check_toxic(const struct E(toxic) * t, struct cuzk_detail *d) {
  const struct {
    const char *name;
    const E(fr) * v;
  } c[] = {{"alpha", &t->alpha}, {"beta", &t->beta}, {"gamma", &t->gamma}, {"delta", &t->delta}, {"tau", &t->tau}};
  for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
    if (E(fr_is_zero)(c[i].v)) return cuzk_fail(d, CUZK_E_ARG, "toxic waste: %s is zero", c[i].name);
  return CUZK_OK;
}

/** Writes the parameters of the system to the sink, bytes as the formats specification 4.2 has them. */
static enum cuzk_status setup_run(const struct cuzk_setup_sink *sink, const struct cuzk_system *system,
                                  const struct E(toxic) * t, struct cuzk_pool *pool, const struct cuzk_progress *progress,
                                  struct cuzk_detail *d) {
  enum cuzk_status st = setup_check_toxic(t, d);
  if (st != CUZK_OK) return st;
  struct setup s = {.system = system, .pool = pool, .progress = progress, .d = d, .sink = sink, .tau = t->tau,
                    .alpha = t->alpha, .beta = t->beta, .unconstrained = SIZE_MAX};
  struct E(fixed_g1) *t1 = NULL;
  struct E(fixed_g2) *t2 = NULL;
  size_t block = 0;
  E(fr_inv_var)(&s.inv_gamma, &t->gamma);
  E(fr_inv_var)(&s.inv_delta, &t->delta);

  CUZK_TRY(system->walk(system, setup_count_row, &s, &s.n_inputs, &s.n_aux, &s.n_rows, d));
  if (s.n_inputs == 0) {
    st = cuzk_fail(d, CUZK_E_ARG, "%s: a system has the constant as its input 0, this one has no input", system->name);
    goto out;
  }
  const uint64_t n = s.n_rows + s.n_inputs;
  s.log2_m = cuzk_log2_rows(n);
  if (s.log2_m > CUZK_MAX_LOG2_DOMAIN || n < s.n_rows) {
    st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: %llu rows with those of the inputs; 2^31 is the limit", system->name,
                   (unsigned long long)n);
    goto out;
  }
  s.m = (size_t)1 << s.log2_m;
  s.n_vars = (size_t)s.n_inputs + s.n_aux;

  CUZK_TRY(setup_evaluate(&s, t));
  cuzk_pool_run(pool, setup_combine_task, &s, (s.n_vars + SETUP_TASK - 1) / SETUP_TASK);
  const size_t bad = s.unconstrained;
  if (bad != SIZE_MAX) {
    const bool aux = bad >= s.n_inputs;
    st = cuzk_fail(d, CUZK_E_UNSAT, "%s: no row constrains %s variable %zu", system->name, aux ? "private" : "public",
                   aux ? bad - s.n_inputs : bad);
    goto out;
  }
  /* h_first = (tau^m - 1) / delta */
  s.h_first = t->tau;
  for (unsigned i = 0; i < s.log2_m; i++) E(fr_mul)(&s.h_first, &s.h_first, &s.h_first);
  E(fr_sub)(&s.h_first, &s.h_first, &E(fr_one));
  E(fr_mul)(&s.h_first, &s.h_first, &s.inv_delta);

  const uint64_t n_g1 = s.n_inputs + (s.m - 1) + (uint64_t)s.n_aux + s.n_a + s.n_b;
  s.total = n_g1 + (uint64_t)s.n_b * SETUP_G2_WEIGHT;

  block = s.m > s.n_vars ? s.m : s.n_vars;
  if (block > SETUP_BLOCK) block = SETUP_BLOCK;
  s.s = cuzk_malloc_array(block, sizeof *s.s);
  s.g1 = cuzk_malloc_array(block, sizeof *s.g1);
  s.g2 = cuzk_malloc_array(block, sizeof *s.g2);
  s.bytes = cuzk_malloc_array(block, E_G1_BYTES > E_G2_BYTES ? E_G1_BYTES : E_G2_BYTES);
  if (!s.s || !s.g1 || !s.g2 || !s.bytes) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for blocks of %zu points", block);
    goto out;
  }
  if ((st = E(fixed_g1_create)(&t1, &E(g1_generator), (size_t)n_g1 + 3, pool)) != CUZK_OK ||
      (st = E(fixed_g2_create)(&t2, &E(g2_generator), (size_t)s.n_b + 3, pool)) != CUZK_OK) {
    (void)cuzk_fail(d, st, "no memory for the generators' tables");
    goto out;
  }
  st = setup_write_all(&s, t, t1, t2);
out:
  if (st == CUZK_E_CANCELLED) (void)cuzk_fail(d, st, "%s: the setup was cancelled", system->name);
  E(fixed_g1_destroy)(&t1);
  E(fixed_g2_destroy)(&t2);
  if (s.s) cuzk_secret_clear(s.s, block * sizeof *s.s);
  cuzk_free(s.s);
  cuzk_free(s.g1);
  cuzk_free(s.g2);
  cuzk_free(s.bytes);
  for (int side = 0; side < 3; side++) cuzk_big_free(s.u[side], s.n_vars * sizeof(E(fr)));
  cuzk_secret_clear(&s, sizeof s);
  return st;
}
