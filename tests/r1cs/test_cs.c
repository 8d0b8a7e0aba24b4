/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include "base/alloc.h"
#include "r1cs/cs.h"

static void fixed_numbers_are_signed_powers_of_two(void **state) {
  (void)state;
  struct cuzk_coeffs *t;
  assert_int_equal(cuzk_coeffs_create(&t), CUZK_OK);
  assert_int_equal(t->n, CUZK_COEFF_FIXED);
  assert_true(cuzk_fr_is_zero(cuzk_coeff_value(t, CUZK_COEFF_ZERO)));
  cuzk_fr p = cuzk_fr_one, m;
  for (unsigned k = 0; k < 255; k++) {
    uint8_t le[32];
    cuzk_fr_neg(&m, &p);
    assert_true(cuzk_fr_eq(cuzk_coeff_value(t, CUZK_COEFF_POW2(k)), &p));
    assert_true(cuzk_fr_eq(cuzk_coeff_value(t, CUZK_COEFF_MINUS_POW2(k)), &m));
    cuzk_fr_to_le(le, &m);
    assert_memory_equal(cuzk_coeff_le(t, CUZK_COEFF_MINUS_POW2(k)), le, 32);
    cuzk_coeff c;
    assert_int_equal(cuzk_coeffs_intern(t, &c, &m), CUZK_OK);
    assert_int_equal(c, CUZK_COEFF_MINUS_POW2(k));
    assert_int_equal(cuzk_coeffs_add(t, &c, CUZK_COEFF_POW2(k), CUZK_COEFF_MINUS_POW2(k)), CUZK_OK);
    assert_int_equal(c, CUZK_COEFF_ZERO);
    cuzk_fr_dbl(&p, &p);
  }
  cuzk_coeffs_destroy(&t);
}

static void interning_is_by_value(void **state) {
  (void)state;
  struct cuzk_coeffs *t;
  assert_int_equal(cuzk_coeffs_create(&t), CUZK_OK);
  cuzk_coeff number[5000];
  cuzk_fr v;
  for (unsigned i = 0; i < 5000; i++) {
    cuzk_fr_from_u64(&v, 1000003u * i + 7);
    assert_int_equal(cuzk_coeffs_intern(t, &number[i], &v), CUZK_OK);
    if (i) assert_int_not_equal(number[i], number[i - 1]);
  }
  const uint32_t n = t->n;
  for (unsigned i = 0; i < 5000; i++) {
    cuzk_coeff c;
    cuzk_fr_from_u64(&v, 1000003u * i + 7);
    assert_int_equal(cuzk_coeffs_intern(t, &c, &v), CUZK_OK);
    assert_int_equal(c, number[i]);
    const unsigned k = (unsigned)(test_rand() % 5000);
    cuzk_fr s;
    for (int twice = 0; twice < 2; twice++) {
      assert_int_equal(cuzk_coeffs_add(t, &c, number[i], number[k]), CUZK_OK);
      cuzk_fr_add(&s, cuzk_coeff_value(t, number[i]), cuzk_coeff_value(t, number[k]));
      assert_true(cuzk_fr_eq(cuzk_coeff_value(t, c), &s));
    }
  }
  assert_true(t->n >= n);
  cuzk_coeffs_destroy(&t);
}

#define VARS 40
struct dense_row {
  cuzk_fr want[3][VARS];
  bool asked;
};

static enum cuzk_status compare_dense(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  struct dense_row *d = user;
  (void)index;
  for (int k = 0; k < 3; k++) {
    uint32_t at = 0;
    for (unsigned v = 0; v < VARS; v++) {
      const cuzk_var var = v < 4 ? v : CUZK_VAR_AUX + 77777 * v;
      if (cuzk_fr_is_zero(&d->want[k][v])) continue;
      if (at >= row->n[k] || row->t[k][at].var != var || !cuzk_fr_eq(cuzk_coeff_value(coeffs, row->t[k][at].coeff), &d->want[k][v]))
        return CUZK_E_MISMATCH;
      at++;
    }
    if (at != row->n[k]) return CUZK_E_MISMATCH;
  }
  d->asked = true;
  return CUZK_OK;
}

static void rows_arrive_sorted_merged_and_without_zeros(void **state) {
  (void)state;
  struct dense_row d;
  struct cuzk_cs cs;
  assert_int_equal(cuzk_cs_init_rows(&cs, compare_dense, &d), CUZK_OK);
  for (int n = 0; n < 300; n++) {
    memset(&d, 0, sizeof d);
    for (unsigned k = 0; k < 3; k++) {
      const unsigned terms = (unsigned)(test_rand() % (n % 3 ? 12 : 200));
      for (unsigned i = 0; i < terms; i++) {
        const unsigned v = (unsigned)(test_rand() % VARS);
        const cuzk_coeff c = (cuzk_coeff)(test_rand() % 7); /* zero among them */
        cuzk_fr_add(&d.want[k][v], &d.want[k][v], cuzk_coeff_value(cs.coeffs, c));
        cuzk_cs_term(&cs, k, v < 4 ? v : CUZK_VAR_AUX + 77777 * v, c);
      }
    }
    cuzk_cs_enforce(&cs);
    assert_int_equal(cs.st, CUZK_OK);
    assert_true(d.asked);
  }
  assert_int_equal(cs.n_rows, 300);
  cuzk_cs_clear(&cs);
}

/* x in, (x - 1) x = 0, x 1 = y, and a term that cancels. */
static enum cuzk_status walk_small(const struct cuzk_system *s, cuzk_row_fn *fn, void *user, uint32_t *n_inputs, uint32_t *n_aux,
                                   uint64_t *n_rows, struct cuzk_detail *d) {
  struct cuzk_cs cs;
  (void)s;
  (void)d;
  enum cuzk_status st = cuzk_cs_init_rows(&cs, fn, user);
  if (st == CUZK_OK) {
    const cuzk_var x = cuzk_cs_alloc(&cs, NULL), i = cuzk_cs_alloc_input(&cs, NULL), y = cuzk_cs_alloc(&cs, NULL);
    cuzk_cs_term(&cs, 0, x, CUZK_COEFF_ONE);
    cuzk_cs_term(&cs, 0, CUZK_VAR_ONE, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(&cs, 1, x, CUZK_COEFF_ONE);
    cuzk_cs_enforce(&cs);
    cuzk_cs_term(&cs, 0, i, CUZK_COEFF_ONE);
    cuzk_cs_term(&cs, 0, y, CUZK_COEFF_ONE);
    cuzk_cs_term(&cs, 0, y, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(&cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(&cs, 2, y, CUZK_COEFF_ONE);
    cuzk_cs_enforce(&cs);
    st = cs.st;
  }
  *n_inputs = cs.n_inputs;
  *n_aux = cs.n_aux;
  *n_rows = cs.n_rows;
  cuzk_cs_clear(&cs);
  return st;
}
static const struct cuzk_system small = {"small", walk_small, NULL};

static void shape_of_a_small_system(void **state) {
  (void)state;
  struct cuzk_shape s;
  assert_int_equal(cuzk_shape_of(&s, &small, NULL), CUZK_OK);
  assert_int_equal(s.n_inputs, 2);
  assert_int_equal(s.n_aux, 2);
  assert_int_equal(s.n_rows, 2);
  assert_int_equal(s.nnz[0], 3);
  assert_int_equal(s.nnz[1], 2);
  assert_int_equal(s.nnz[2], 1);
  assert_int_equal(s.zero_terms_dropped, 1);
  assert_int_equal(s.n_a_aux, 1);
  assert_int_equal(s.n_b_aux, 1);
  assert_int_equal(s.n_b_input, 1);
  assert_int_equal(s.a_aux[0], 1);
  assert_int_equal(s.b_aux[0], 1);
  assert_int_equal(s.b_input[0], 1);
  assert_int_equal(cuzk_shape_log2_domain(&s), 2);
  cuzk_shape_clear(&s);
  cuzk_shape_clear(&s);
}

static enum cuzk_status stop_at_once(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  (void)row;
  (void)coeffs;
  ++*(int *)user;
  return index == 0 ? CUZK_E_CANCELLED : CUZK_OK;
}

static void a_row_function_can_stop_the_walk(void **state) {
  (void)state;
  int calls = 0;
  uint32_t a, b;
  uint64_t c;
  assert_int_equal(small.walk(&small, stop_at_once, &calls, &a, &b, &c, NULL), CUZK_E_CANCELLED);
  assert_int_equal(calls, 1);
}

static void failed_allocations_leave_nothing(void **state) {
  (void)state;
  const int64_t live = cuzk_alloc_live();
  for (uint64_t n = 1;; n++) {
    struct cuzk_shape s;
    cuzk_alloc_fail_at(n);
    const enum cuzk_status st = cuzk_shape_of(&s, &small, NULL);
    const uint64_t tried = cuzk_alloc_count();
    cuzk_alloc_fail_at(0);
    assert_int_equal(st, tried < n ? CUZK_OK : CUZK_E_NOMEM);
    cuzk_shape_clear(&s);
    assert_int_equal(cuzk_alloc_live(), live);
    if (st == CUZK_OK) break;
  }
}

static void evaluation_stores_and_checks_rows(void **state) {
  (void)state;
  cuzk_fr in[1], aux[3], a[2], b[2], *abc[3] = {a, b, NULL}, v;
  struct cuzk_cs cs;
  char region[512];
  assert_int_equal(cuzk_cs_init_eval(&cs, in, 1, aux, 3, abc, 2, true, region), CUZK_OK);
  cuzk_fr_from_u64(&v, 6);
  const cuzk_var x = cuzk_cs_alloc(&cs, &v);
  cuzk_fr_from_u64(&v, 36);
  const cuzk_var y = cuzk_cs_alloc(&cs, &v);
  cuzk_cs_term(&cs, 0, x, CUZK_COEFF_ONE);
  cuzk_cs_term(&cs, 1, x, CUZK_COEFF_POW2(3));
  cuzk_cs_term(&cs, 2, y, CUZK_COEFF_POW2(3));
  cuzk_cs_enforce(&cs);
  assert_true(cs.bad_row == UINT64_MAX);
  assert_true(cuzk_fr_eq(&a[0], &aux[0]));
  cuzk_fr_from_u64(&v, 48);
  assert_true(cuzk_fr_eq(&b[0], &v));
  cuzk_cs_push(&cs, "outer %u", 7);
  cuzk_cs_push2(&cs, "inner (%u, %u)", 1, 22);
  cuzk_cs_term(&cs, 2, y, CUZK_COEFF_MINUS_ONE);
  cuzk_cs_enforce(&cs);
  cuzk_cs_pop(&cs);
  cuzk_cs_pop(&cs);
  assert_int_equal(cs.bad_row, 1);
  assert_string_equal(region, "outer 7/inner (1, 22)");
  assert_int_equal(cs.st, CUZK_OK);
  cuzk_cs_enforce(&cs); /* one more than there is room for */
  assert_int_equal(cs.st, CUZK_E_INTERNAL);
  cuzk_cs_clear(&cs);
}

static void too_many_variables_are_an_error(void **state) {
  (void)state;
  cuzk_fr in[1], aux[1];
  struct cuzk_cs cs;
  cuzk_cs_init_values(&cs, in, 1, aux, 1);
  (void)cuzk_cs_alloc(&cs, &cuzk_fr_one);
  assert_int_equal(cs.st, CUZK_OK);
  (void)cuzk_cs_alloc(&cs, &cuzk_fr_one);
  assert_int_equal(cs.st, CUZK_E_INTERNAL);
  assert_false(cuzk_cs_has_values(&cs));
  cuzk_cs_clear(&cs);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fixed_numbers_are_signed_powers_of_two),
      cmocka_unit_test(interning_is_by_value),
      cmocka_unit_test(rows_arrive_sorted_merged_and_without_zeros),
      cmocka_unit_test(shape_of_a_small_system),
      cmocka_unit_test(a_row_function_can_stop_the_walk),
      cmocka_unit_test(failed_allocations_leave_nothing),
      cmocka_unit_test(evaluation_stores_and_checks_rows),
      cmocka_unit_test(too_many_variables_are_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
