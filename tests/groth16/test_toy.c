/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The templates of setup, prover and verifier over the toy engine, against schoolbook algebra. */
#include "small_system.h"
#include "toy_engine.h"

/* after the engine */
#include "groth16/prove_tmpl.h"
#include "groth16/setup_tmpl.h"
#include "groth16/verify_tmpl.h"

/* ---- Random systems with an assignment ---- */
#define MAX_M SMALL_MAX_ROWS

static uint32_t mod_p(int v) { return v < 0 ? tsub(0, (uint32_t)-v) : (uint32_t)v % TOY_P; }
static unsigned below(unsigned n) { return (unsigned)(test_rand() % n); }

struct world {
  struct small_system sys;
  struct cuzk_system system;
  struct cuzk_shape shape;
  struct toy_toxic toxic;
  toy_fr inputs[8], aux[64];
  struct toy_assignment z;
  struct toy_params params;
  uint8_t *bytes;
  size_t n_bytes, cap_bytes;
  toy_fr *abc[3];
  uint32_t m;
};

static uint32_t value_of(const struct world *w, cuzk_var v) {
  return v & CUZK_VAR_AUX ? w->aux[v - CUZK_VAR_AUX].v : w->inputs[v].v;
}

static uint32_t eval_lc(const struct world *w, const struct small_lc *lc) {
  uint32_t r = 0;
  for (unsigned k = 0; k < lc->n; k++) r = tadd(r, tmul(mod_p(lc->t[k].coeff), value_of(w, lc->t[k].var)));
  return r;
}

static void add_term(struct small_lc *lc, cuzk_var var, int coeff) {
  assert_true(lc->n < SMALL_MAX_TERMS);
  lc->t[lc->n++] = (struct small_term){var, coeff};
}

/* A random variable among ONE and the first n_known private variables. Small coefficients, sometimes a zero one. */
static void random_lc(struct small_lc *lc, uint32_t n_known, unsigned n_terms) {
  for (unsigned i = 0; i < n_terms; i++) {
    const unsigned pick = below(n_known + 1);
    add_term(lc, pick == n_known ? CUZK_VAR_ONE : CUZK_VAR_AUX + pick, (int)below(9) - 4);
  }
}

/* n_free private variables have random values, every other variable is the product of two random combinations of those before
 * it; inputs likewise at the end. Every variable stands in some C or, the free ones, in the A of a row of their own. */
static void random_world(struct world *w, uint32_t n_inputs, uint32_t n_free, uint32_t n_derived) {
  memset(w, 0, sizeof *w);
  struct small_system *s = &w->sys;
  s->n_inputs = n_inputs;
  s->n_aux = n_free + n_derived;
  w->inputs[0].v = 1;
  for (uint32_t j = 0; j < n_free; j++) {
    w->aux[j].v = below(3) ? below(TOY_P) : below(2);
    struct small_lc *row = s->row[s->n_rows++];
    add_term(&row[0], CUZK_VAR_AUX + j, 1 + (int)below(5)); /* (c w_j) * 0 = 0: true for every value */
  }
  for (uint32_t j = n_free; j < s->n_aux + n_inputs - 1; j++) {
    struct small_lc *row = s->row[s->n_rows++];
    const bool input = j >= s->n_aux;
    const uint32_t known = input ? s->n_aux : j;
    random_lc(&row[0], known, 1 + below(3));
    random_lc(&row[1], known, 1 + below(3));
    random_lc(&row[2], known, below(3));
    const uint32_t v = tsub(tmul(eval_lc(w, &row[0]), eval_lc(w, &row[1])), eval_lc(w, &row[2]));
    /* a b - c = v, so a b = c + v with the new variable's coefficient 1 */
    if (input) {
      w->inputs[j - s->n_aux + 1].v = v;
      add_term(&row[2], j - s->n_aux + 1, 1);
    } else {
      w->aux[j].v = v;
      add_term(&row[2], CUZK_VAR_AUX + j, 1);
    }
  }
  w->system = small_as_system(s);
  assert_int_equal(cuzk_shape_of(&w->shape, &w->system, NULL), CUZK_OK);
  w->z = (struct toy_assignment){w->inputs, w->aux, s->n_inputs, s->n_aux};
  w->m = 1u << cuzk_shape_log2_domain(&w->shape);
  assert_true(w->m <= MAX_M);
  for (int k = 0; k < 3; k++) assert_non_null(w->abc[k] = cuzk_calloc(w->m, sizeof *w->abc[k]));
}

static void clear_world(struct world *w) {
  cuzk_shape_clear(&w->shape);
  for (int k = 0; k < 3; k++) cuzk_free(w->abc[k]);
  cuzk_free(w->params.vk.ic);
  cuzk_free(w->bytes);
}

static void fill_abc(struct world *w) {
  for (int k = 0; k < 3; k++) {
    memset(w->abc[k], 0, w->m * sizeof *w->abc[k]);
    for (uint32_t i = 0; i < w->sys.n_rows; i++) w->abc[k][i].v = eval_lc(w, &w->sys.row[i][k]);
  }
}

/* ---- A sink into memory, and the reader of what it holds ---- */

static enum cuzk_status memory_write(void *user, const void *p, size_t n, struct cuzk_detail *d) {
  struct world *w = user;
  if (w->n_bytes + n > w->cap_bytes) {
    uint8_t *grown = cuzk_realloc_array(w->bytes, 2 * (w->n_bytes + n), 1);
    if (!grown) return cuzk_fail(d, CUZK_E_NOMEM, "sink");
    w->bytes = grown;
    w->cap_bytes = 2 * (w->n_bytes + n);
  }
  memcpy(w->bytes + w->n_bytes, p, n);
  w->n_bytes += n;
  return CUZK_OK;
}

static void parse(struct world *w) {
  const uint8_t *b = w->bytes;
  struct toy_params *p = &w->params;
  size_t at = 3 * E_G1_BYTES + 3 * E_G2_BYTES;
  cuzk_free(p->vk.ic);
  *p = (struct toy_params){.bytes = b};
  p->vk.alpha_g1.v = cuzk_load_be32(b);
  p->vk.beta_g1.v = cuzk_load_be32(b + 4);
  p->vk.beta_g2.v = cuzk_load_be32(b + 12);
  p->vk.gamma_g2.v = cuzk_load_be32(b + 20);
  p->vk.delta_g1.v = cuzk_load_be32(b + 24);
  p->vk.delta_g2.v = cuzk_load_be32(b + 32);
  p->vk.n_ic = cuzk_load_be32(b + at);
  at += 4;
  assert_non_null(p->vk.ic = cuzk_malloc_array(p->vk.n_ic, sizeof *p->vk.ic));
  for (uint32_t i = 0; i < p->vk.n_ic; i++, at += E_G1_BYTES) p->vk.ic[i].v = cuzk_load_be32(b + at);
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    p->section[s].offset = at;
    p->section[s].count = cuzk_load_be32(b + at);
    at += 4 + p->section[s].count * (s == CUZK_SECTION_B_G2 ? E_G2_BYTES : E_G1_BYTES);
  }
  assert_int_equal(at, w->n_bytes);
}

static uint32_t nonzero(void) { return 1 + below(TOY_P - 1); }

/* In a field of 16 bits a polynomial that is not zero may vanish at tau by chance; such toxic waste is drawn again. */
static void setup_world(struct world *w) {
  const struct cuzk_setup_sink sink = {memory_write, w};
  for (int attempt = 0; attempt < 50; attempt++) {
    w->toxic = (struct toy_toxic){{nonzero()}, {nonzero()}, {nonzero()}, {nonzero()}, {nonzero()}};
    if (tpow(w->toxic.tau.v, w->m) == 1) continue;
    w->n_bytes = 0;
    const enum cuzk_status st = setup_run(&sink, &w->system, &w->toxic, NULL, NULL, NULL);
    if (st == CUZK_E_UNSAT) continue;
    assert_int_equal(st, CUZK_OK);
    parse(w);
    if (toy_params_match(&w->params, &w->shape, NULL) == CUZK_OK) return;
  }
  fail_msg("no toxic waste without accidental zeros in 50 attempts");
}

/* ---- Schoolbook polynomials: coefficient vectors ---- */

/* Interpolates values at omega^i by solving with Lagrange's product formula. */
static void interpolate(uint32_t *out, const uint32_t *v, uint32_t m) {
  const uint32_t omega = toy_omega((unsigned)__builtin_ctz(m));
  memset(out, 0, m * sizeof *out);
  for (uint32_t i = 0; i < m; i++) {
    uint32_t num[MAX_M + 1] = {1}, deg = 0, den = 1;
    const uint32_t xi = tpow(omega, i);
    for (uint32_t k = 0; k < m; k++) {
      if (k == i) continue;
      const uint32_t xk = tpow(omega, k);
      deg++;
      num[deg] = 0;
      for (uint32_t e = deg; e > 0; e--) num[e] = tsub(num[e - 1], tmul(xk, num[e]));
      num[0] = tsub(0, tmul(xk, num[0]));
      den = tmul(den, tsub(xi, xk));
    }
    const uint32_t f = tmul(v[i], tinv(den));
    for (uint32_t e = 0; e < m; e++) out[e] = tadd(out[e], tmul(f, num[e]));
  }
}

static uint32_t at(const uint32_t *c, uint32_t n, uint32_t x) {
  uint32_t r = 0;
  for (uint32_t j = n; j-- > 0;) r = tadd(tmul(r, x), c[j]);
  return r;
}

/* Value at tau of the polynomial that has variable var's coefficients of one side as its values. */
static uint32_t column_at_tau(const struct world *w, cuzk_var var, int side) {
  uint32_t v[MAX_M] = {0}, c[MAX_M];
  for (uint32_t i = 0; i < w->sys.n_rows; i++) {
    const struct small_lc *lc = &w->sys.row[i][side];
    for (unsigned k = 0; k < lc->n; k++)
      if (lc->t[k].var == var) v[i] = tadd(v[i], mod_p(lc->t[k].coeff));
  }
  if (side == 0 && !(var & CUZK_VAR_AUX)) v[w->sys.n_rows + var] = 1;
  interpolate(c, v, w->m);
  return at(c, w->m, w->toxic.tau.v);
}

static cuzk_var nth_var(const struct world *w, uint32_t i) {
  return i < w->sys.n_inputs ? i : CUZK_VAR_AUX + (i - w->sys.n_inputs);
}

/* ---- Tests ---- */

static void the_toy_field_has_the_roots_that_it_claims(void **state) {
  (void)state;
  static const unsigned prime_factors[] = {2, 3, 7};
  for (int i = 0; i < 3; i++) assert_int_not_equal(tpow(TOY_MULTIPLICATIVE, (TOY_P - 1) / prime_factors[i]), 1);
  assert_int_equal(tpow(TOY_MULTIPLICATIVE, TOY_P - 1), 1);
  for (unsigned e = 0; e <= 10; e++) {
    assert_int_equal(tpow(toy_omega(e), UINT64_C(1) << e), 1);
    if (e) assert_int_not_equal(tpow(toy_omega(e), UINT64_C(1) << (e - 1)), 1);
  }
}

static void every_point_of_the_setup_is_the_schoolbook_one(void **state) {
  (void)state;
  for (int round = 0; round < 12; round++) {
    struct world w;
    random_world(&w, 1 + below(4), 1 + below(3), below(9));
    setup_world(&w);
    const struct toy_toxic *t = &w.toxic;
    const struct toy_vk *vk = &w.params.vk;
    assert_int_equal(vk->alpha_g1.v, tmul(TOY_G1, t->alpha.v));
    assert_int_equal(vk->beta_g1.v, tmul(TOY_G1, t->beta.v));
    assert_int_equal(vk->beta_g2.v, tmul(TOY_G2, t->beta.v));
    assert_int_equal(vk->gamma_g2.v, tmul(TOY_G2, t->gamma.v));
    assert_int_equal(vk->delta_g1.v, tmul(TOY_G1, t->delta.v));
    assert_int_equal(vk->delta_g2.v, tmul(TOY_G2, t->delta.v));
    assert_int_equal(w.params.section[CUZK_SECTION_H].count, w.m - 1);
    const uint32_t h0 = tmul(tsub(tpow(t->tau.v, w.m), 1), tinv(t->delta.v));
    for (uint32_t i = 0; i < w.m - 1; i++) {
      toy_g1_affine p;
      assert_int_equal(toy_params_fetch_g1(&w.params, CUZK_SECTION_H, &p, i, 1, false, NULL), CUZK_OK);
      assert_int_equal(p.v, tmul(TOY_G1, tmul(h0, tpow(t->tau.v, i))));
    }
    uint32_t n_a = 0, n_b = 0;
    for (uint32_t i = 0; i < w.sys.n_inputs + w.sys.n_aux; i++) {
      const cuzk_var var = nth_var(&w, i);
      const uint32_t a = column_at_tau(&w, var, 0), b = column_at_tau(&w, var, 1), c = column_at_tau(&w, var, 2);
      const uint32_t sum = tadd(tadd(tmul(t->beta.v, a), tmul(t->alpha.v, b)), c);
      toy_g1_affine p;
      toy_g2_affine q;
      if (i < w.sys.n_inputs) {
        assert_int_equal(vk->ic[i].v, tmul(TOY_G1, tmul(sum, tinv(t->gamma.v))));
      } else {
        assert_int_equal(toy_params_fetch_g1(&w.params, CUZK_SECTION_L, &p, i - w.sys.n_inputs, 1, false, NULL), CUZK_OK);
        assert_int_equal(p.v, tmul(TOY_G1, tmul(sum, tinv(t->delta.v))));
      }
      if (a) {
        assert_int_equal(toy_params_fetch_g1(&w.params, CUZK_SECTION_A, &p, n_a++, 1, false, NULL), CUZK_OK);
        assert_int_equal(p.v, tmul(TOY_G1, a));
      }
      if (b) {
        assert_int_equal(toy_params_fetch_g1(&w.params, CUZK_SECTION_B_G1, &p, n_b, 1, false, NULL), CUZK_OK);
        assert_int_equal(p.v, tmul(TOY_G1, b));
        assert_int_equal(toy_params_fetch_g2(&w.params, &q, n_b++, 1, false, NULL), CUZK_OK);
        assert_int_equal(q.v, tmul(TOY_G2, b));
      }
    }
    assert_int_equal(n_a, w.params.section[CUZK_SECTION_A].count);
    assert_int_equal(n_b, w.params.section[CUZK_SECTION_B_G1].count);
    assert_int_equal(n_b, w.params.section[CUZK_SECTION_B_G2].count);
    clear_world(&w);
  }
}

/* The quotient of A B - C by X^m - 1, by long division; false if there is a remainder. */
static bool divide(uint32_t *h, const struct world *w) {
  uint32_t v[MAX_M], c[3][MAX_M], prod[2 * MAX_M] = {0};
  for (int side = 0; side < 3; side++) {
    memset(v, 0, sizeof v);
    for (uint32_t i = 0; i < w->sys.n_rows; i++) v[i] = eval_lc(w, &w->sys.row[i][side]);
    if (side == 0)
      for (uint32_t j = 0; j < w->sys.n_inputs; j++) v[w->sys.n_rows + j] = w->inputs[j].v;
    interpolate(c[side], v, w->m);
  }
  for (uint32_t i = 0; i < w->m; i++)
    for (uint32_t j = 0; j < w->m; j++) prod[i + j] = tadd(prod[i + j], tmul(c[0][i], c[1][j]));
  for (uint32_t i = 0; i < w->m; i++) prod[i] = tsub(prod[i], c[2][i]);
  memset(h, 0, w->m * sizeof *h);
  for (uint32_t e = 2 * w->m - 1; e >= w->m; e--) {
    h[e - w->m] = prod[e];
    prod[e - w->m] = tadd(prod[e - w->m], prod[e]);
    prod[e] = 0;
  }
  for (uint32_t i = 0; i < w->m; i++)
    if (prod[i]) return false;
  return true;
}

static void h_is_the_quotient_that_long_division_gives(void **state) {
  (void)state;
  for (int round = 0; round < 30; round++) {
    struct world w;
    uint32_t want[MAX_M];
    random_world(&w, 1 + below(4), 1 + below(3), below(12));
    setup_world(&w);
    assert_true(divide(want, &w));
    fill_abc(&w);
    struct toy_proof proof;
    const toy_fr r = {below(TOY_P)}, s = {below(TOY_P)};
    assert_int_equal(toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, NULL), CUZK_OK);
    for (uint32_t i = 0; i < w.m; i++) assert_int_equal(w.abc[0][i].v, want[i]);
    clear_world(&w);
  }
}

static void the_proof_has_the_discrete_logarithms_of_the_equations(void **state) {
  (void)state;
  for (int round = 0; round < 30; round++) {
    struct world w;
    uint32_t h[MAX_M];
    random_world(&w, 1 + below(4), 1 + below(3), below(12));
    setup_world(&w);
    assert_true(divide(h, &w));
    const struct toy_toxic *t = &w.toxic;
    uint32_t a = 0, b = 0, l = 0;
    for (uint32_t i = 0; i < w.sys.n_inputs + w.sys.n_aux; i++) {
      const cuzk_var var = nth_var(&w, i);
      const uint32_t z = value_of(&w, var);
      const uint32_t aj = column_at_tau(&w, var, 0), bj = column_at_tau(&w, var, 1), cj = column_at_tau(&w, var, 2);
      a = tadd(a, tmul(z, aj));
      b = tadd(b, tmul(z, bj));
      if (i >= w.sys.n_inputs) l = tadd(l, tmul(z, tadd(tadd(tmul(t->beta.v, aj), tmul(t->alpha.v, bj)), cj)));
    }
    const uint32_t ht = tmul(at(h, w.m, t->tau.v), tsub(tpow(t->tau.v, w.m), 1));
    static const uint32_t edge[] = {0, 1, TOY_P - 1};
    for (int k = 0; k < 12; k++) {
      const toy_fr r = {k < 9 ? edge[k % 3] : below(TOY_P)}, s = {k < 9 ? edge[k / 3] : below(TOY_P)};
      struct toy_proof proof;
      fill_abc(&w);
      assert_int_equal(toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, NULL), CUZK_OK);
      const uint32_t pa = tadd(tadd(t->alpha.v, a), tmul(r.v, t->delta.v));
      const uint32_t pb = tadd(tadd(t->beta.v, b), tmul(s.v, t->delta.v));
      uint32_t pc = tmul(tadd(l, ht), tinv(t->delta.v));
      pc = tadd(pc, tadd(tmul(s.v, pa), tmul(r.v, pb)));
      pc = tsub(pc, tmul(tmul(r.v, s.v), t->delta.v));
      assert_int_equal(proof.a.v, tmul(TOY_G1, pa));
      assert_int_equal(proof.b.v, tmul(TOY_G2, pb));
      assert_int_equal(proof.c.v, tmul(TOY_G1, pc));
    }
    clear_world(&w);
  }
}

static void a_proof_holds_for_its_inputs_and_no_others(void **state) {
  (void)state;
  struct world w;
  random_world(&w, 3, 2, 6);
  setup_world(&w);
  fill_abc(&w);
  struct toy_proof proof;
  struct toy_pvk *pvk;
  const toy_fr r = {below(TOY_P)}, s = {below(TOY_P)};
  bool ok;
  assert_int_equal(toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, NULL), CUZK_OK);
  assert_int_equal(toy_pvk_create(&pvk, &w.params.vk), CUZK_OK);
  /* Every value of one input: exactly one is accepted. */
  unsigned accepted = 0;
  for (uint32_t v = 0; v < TOY_P; v++) {
    const toy_fr u[2] = {{v}, w.inputs[2]};
    assert_int_equal(toy_groth16_verify(&ok, pvk, &proof, u, 2, NULL), CUZK_OK);
    accepted += ok;
    if (ok) assert_int_equal(v, w.inputs[1].v);
  }
  assert_int_equal(accepted, 1);
  /* Every value of C: exactly one is accepted. */
  accepted = 0;
  for (uint32_t v = 0; v < TOY_P; v++) {
    struct toy_proof q = proof;
    q.c.v = v;
    assert_int_equal(toy_groth16_verify(&ok, pvk, &q, w.inputs + 1, 2, NULL), CUZK_OK);
    accepted += ok;
  }
  assert_int_equal(accepted, 1);
  assert_int_equal(toy_groth16_verify(&ok, pvk, &proof, w.inputs + 1, 1, NULL), CUZK_E_MISMATCH);
  assert_false(ok);
  assert_int_equal(toy_groth16_verify(&ok, pvk, &proof, w.inputs, 3, NULL), CUZK_E_MISMATCH);
  toy_pvk_destroy(&pvk);
  clear_world(&w);
}

static void a_batch_is_good_only_if_each_proof_is(void **state) {
  (void)state;
  struct world w;
  struct cuzk_pool *pool;
  assert_int_equal(cuzk_pool_create(&pool, 3), CUZK_OK);
  random_world(&w, 3, 2, 6);
  setup_world(&w);
  enum { K = 7 };
  struct toy_proof proofs[K];
  toy_fr u[K][2];
  struct toy_pvk *pvk;
  bool ok;
  assert_int_equal(toy_pvk_create(&pvk, &w.params.vk), CUZK_OK);
  for (int j = 0; j < K; j++) {
    const toy_fr r = {below(TOY_P)}, s = {below(TOY_P)};
    fill_abc(&w);
    assert_int_equal(toy_groth16_prove(&proofs[j], &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, NULL), CUZK_OK);
    u[j][0] = w.inputs[1];
    u[j][1] = w.inputs[2];
  }
  for (size_t k = 0; k <= K; k++) {
    assert_int_equal(toy_groth16_verify_batch(&ok, pvk, proofs, k, u[0], 2, pool, NULL), CUZK_OK);
    assert_true(ok);
    assert_int_equal(toy_groth16_verify_batch(&ok, pvk, proofs, k, u[0], 2, NULL, NULL), CUZK_OK);
    assert_true(ok);
  }
  /* One bad proof, or one bad input, is missed with probability 1/64513 a try: twice in a row does not happen. */
  for (int j = 0; j < K; j++) {
    bool again = true;
    struct toy_proof saved = proofs[j];
    proofs[j].c.v = tadd(proofs[j].c.v, 1);
    assert_int_equal(toy_groth16_verify_batch(&ok, pvk, proofs, K, u[0], 2, pool, NULL), CUZK_OK);
    assert_int_equal(toy_groth16_verify_batch(&again, pvk, proofs, K, u[0], 2, pool, NULL), CUZK_OK);
    assert_false(ok && again);
    proofs[j] = saved;
    u[j][1].v = tadd(u[j][1].v, 1);
    assert_int_equal(toy_groth16_verify_batch(&ok, pvk, proofs, K, u[0], 2, pool, NULL), CUZK_OK);
    assert_int_equal(toy_groth16_verify_batch(&again, pvk, proofs, K, u[0], 2, pool, NULL), CUZK_OK);
    assert_false(ok && again);
    u[j][1].v = tsub(u[j][1].v, 1);
  }
  assert_int_equal(toy_groth16_verify_batch(&ok, pvk, proofs, K, u[0], 3, pool, NULL), CUZK_E_MISMATCH);
  toy_pvk_destroy(&pvk);
  clear_world(&w);
  cuzk_pool_destroy(&pool);
}

static void a_changed_private_value_is_refused_before_a_proof_exists(void **state) {
  (void)state;
  struct world w;
  random_world(&w, 2, 2, 8);
  setup_world(&w);
  unsigned refused = 0, tried = 0;
  for (uint32_t j = 0; j < w.sys.n_aux; j++) {
    const toy_fr saved = w.aux[j], r = {5}, s = {6};
    w.aux[j].v = tadd(w.aux[j].v, 1 + below(TOY_P - 1));
    bool satisfied = true;
    for (uint32_t i = 0; i < w.sys.n_rows; i++)
      if (tmul(eval_lc(&w, &w.sys.row[i][0]), eval_lc(&w, &w.sys.row[i][1])) != eval_lc(&w, &w.sys.row[i][2])) satisfied = false;
    struct toy_proof proof = {{7}, {7}, {7}};
    fill_abc(&w);
    const enum cuzk_status st =
        toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, NULL);
    assert_int_equal(st, satisfied ? CUZK_OK : CUZK_E_UNSAT);
    if (!satisfied) {
      assert_int_equal(proof.a.v, 7);
      refused++;
    }
    tried++;
    w.aux[j] = saved;
  }
  assert_true(refused > 0 && refused <= tried);
  clear_world(&w);
}

static void contradicting_arguments_are_told_apart(void **state) {
  (void)state;
  struct world w;
  random_world(&w, 3, 2, 5);
  setup_world(&w);
  struct toy_proof proof;
  const toy_fr r = {1}, s = {2};
  struct cuzk_detail d;
#define PROVE() toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, &d)
  for (int sec = 0; sec < CUZK_N_SECTIONS; sec++) {
    fill_abc(&w);
    w.params.section[sec].count++;
    assert_int_equal(PROVE(), CUZK_E_MISMATCH);
    assert_non_null(strstr(d.text, cuzk_section_names[sec]));
    w.params.section[sec].count--;
  }
  w.params.vk.n_ic--;
  assert_int_equal(PROVE(), CUZK_E_MISMATCH);
  assert_non_null(strstr(d.text, "ic has"));
  w.params.vk.n_ic++;
  w.z.n_aux--;
  assert_int_equal(PROVE(), CUZK_E_MISMATCH);
  w.z.n_aux++;
  w.inputs[0].v = 2;
  assert_int_equal(PROVE(), CUZK_E_MISMATCH);
  w.inputs[0].v = 1;
  const toy_g1_affine d1 = w.params.vk.delta_g1;
  w.params.vk.delta_g1.v = 0;
  assert_int_equal(PROVE(), CUZK_E_INFINITY);
  w.params.vk.delta_g1 = d1;
  const toy_g2_affine d2 = w.params.vk.delta_g2;
  w.params.vk.delta_g2.v = 0;
  assert_int_equal(PROVE(), CUZK_E_INFINITY);
  w.params.vk.delta_g2 = d2;
  fill_abc(&w);
  assert_int_equal(PROVE(), CUZK_OK);
  clear_world(&w);
}

/* Zero toxic values, tau in the domain, a variable that no row has. */
static void the_setup_refuses_what_gives_no_key(void **state) {
  (void)state;
  struct world w;
  struct cuzk_detail d;
  random_world(&w, 2, 2, 4);
  setup_world(&w);
  const struct cuzk_setup_sink sink = {memory_write, &w};
  toy_fr *const v[5] = {&w.toxic.alpha, &w.toxic.beta, &w.toxic.gamma, &w.toxic.delta, &w.toxic.tau};
  for (int i = 0; i < 5; i++) {
    const toy_fr saved = *v[i];
    v[i]->v = 0;
    w.n_bytes = 0;
    assert_int_equal(setup_run(&sink, &w.system, &w.toxic, NULL, NULL, &d), CUZK_E_ARG);
    assert_int_equal(w.n_bytes, 0);
    *v[i] = saved;
  }
  for (uint32_t i = 0; i < w.m; i++) {
    w.toxic.tau.v = tpow(toy_omega((unsigned)__builtin_ctz(w.m)), i);
    assert_int_equal(setup_run(&sink, &w.system, &w.toxic, NULL, NULL, &d), CUZK_E_ARG);
    assert_non_null(strstr(d.text, "tau"));
  }
  setup_world(&w);
  w.sys.n_aux++;
  assert_int_equal(setup_run(&sink, &w.system, &w.toxic, NULL, NULL, &d), CUZK_E_UNSAT);
  assert_non_null(strstr(d.text, "private variable 6"));
  clear_world(&w);
}

static bool stop_at(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  (void)stage;
  (void)unit;
  if (total > 0 && done > total) return false;
  return (*(unsigned *)user)-- > 1;
}

static void every_report_can_cancel(void **state) {
  (void)state;
  struct world w;
  random_world(&w, 2, 2, 4);
  setup_world(&w);
  const struct cuzk_setup_sink sink = {memory_write, &w};
  const toy_fr r = {1}, s = {2};
  struct toy_proof proof;
  for (int which = 0; which < 2; which++) {
    unsigned n = 1;
    for (;; n++) {
      unsigned left = n;
      const struct cuzk_progress progress = {stop_at, &left};
      fill_abc(&w);
      w.n_bytes = 0;
      const enum cuzk_status st =
          which ? toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, &progress, NULL, NULL)
                : setup_run(&sink, &w.system, &w.toxic, NULL, &progress, NULL);
      if (st == CUZK_OK) break;
      assert_int_equal(st, CUZK_E_CANCELLED);
    }
    assert_true(n > 5);
  }
  clear_world(&w);
}

static void every_failed_allocation_is_survived(void **state) {
  (void)state;
  struct world w;
  random_world(&w, 2, 2, 4);
  setup_world(&w);
  const struct cuzk_setup_sink sink = {memory_write, &w};
  const int64_t live = cuzk_alloc_live();
  const toy_fr r = {1}, s = {2};
  for (int which = 0; which < 3; which++) {
    for (uint64_t n = 1;; n++) {
      struct toy_proof proof;
      struct toy_pvk *pvk = NULL;
      bool ok = false;
      enum cuzk_status st;
      fill_abc(&w);
      w.n_bytes = 0;
      cuzk_alloc_fail_at(n);
      if (which == 0) {
        st = setup_run(&sink, &w.system, &w.toxic, NULL, NULL, NULL);
      } else if (which == 1) {
        st = toy_groth16_prove(&proof, &w.params, &w.shape, &w.z, w.abc, &r, &s, NULL, NULL, NULL, NULL);
      } else {
        const struct toy_proof two[2] = {{{1}, {1}, {1}}, {{1}, {1}, {1}}};
        const toy_fr u[2] = {{1}, {1}};
        st = toy_pvk_create(&pvk, &w.params.vk);
        if (st == CUZK_OK) st = toy_groth16_verify_batch(&ok, pvk, two, 2, u, 1, NULL, NULL);
        toy_pvk_destroy(&pvk);
      }
      const uint64_t tried = cuzk_alloc_count();
      cuzk_alloc_fail_at(0);
      assert_int_equal(cuzk_alloc_live(), live);
      if (st == CUZK_OK) {
        assert_true(tried < n);
        break;
      }
      assert_int_equal(st, CUZK_E_NOMEM);
    }
  }
  clear_world(&w);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_toy_field_has_the_roots_that_it_claims),
      cmocka_unit_test(every_point_of_the_setup_is_the_schoolbook_one),
      cmocka_unit_test(h_is_the_quotient_that_long_division_gives),
      cmocka_unit_test(the_proof_has_the_discrete_logarithms_of_the_equations),
      cmocka_unit_test(a_proof_holds_for_its_inputs_and_no_others),
      cmocka_unit_test(a_batch_is_good_only_if_each_proof_is),
      cmocka_unit_test(a_changed_private_value_is_refused_before_a_proof_exists),
      cmocka_unit_test(contradicting_arguments_are_told_apart),
      cmocka_unit_test(the_setup_refuses_what_gives_no_key),
      cmocka_unit_test(every_report_can_cancel),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests_name("toy Groth16", tests, NULL, NULL);
}
