/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "poly/lagrange.h"

#include "poly_testing.h"

static struct cuzk_pool *pool;

static void powers_are_powers(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 2, 1023, 1024, 1025, 5000};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const size_t n = sizes[k];
    cuzk_fr *out = rand_vec(n + 1), base, first, x;
    const cuzk_fr guard = out[n];
    rand_fr(&base);
    rand_fr(&first);
    cuzk_powers(out, &base, &first, n, pool);
    x = first;
    for (size_t i = 0; i < n; i++) {
      assert_fr_equal(&out[i], &x);
      cuzk_fr_mul(&x, &x, &base);
    }
    assert_fr_equal(&out[n], &guard);
    free(out);
  }
}

/* sum f(omega^i) L_i(tau) = f(tau), and each L_i is the transform's own interpolation of a unit vector. */
static void coefficients_interpolate(void **state) {
  (void)state;
  for (unsigned log2_n = 0; log2_n <= 12; log2_n++) {
    const size_t n = (size_t)1 << log2_n;
    struct cuzk_domain *d;
    assert_int_equal(cuzk_domain_create(&d, log2_n, pool), CUZK_OK);
    cuzk_fr *f = rand_vec(n), *l = malloc(n * sizeof *l), *v = copy_vec(f, n), tau, want, sum = cuzk_fr_zero, t;
    assert_non_null(l);
    do rand_fr(&tau);
    while (cuzk_fr_is_one(&tau) || (cuzk_fr_neg(&t, &tau), cuzk_fr_is_one(&t))); /* the biased values in the domain */
    assert_int_equal(cuzk_lagrange_at(l, &tau, d, pool), CUZK_OK);
    assert_int_equal(cuzk_ntt(v, d, pool), CUZK_OK);
    for (size_t i = 0; i < n; i++) cuzk_fr_add(&sum, &sum, (cuzk_fr_mul(&t, &v[i], &l[i]), &t));
    eval(&want, f, n, &tau);
    assert_fr_equal(&sum, &want);
    const size_t unit = test_rand() % n;
    memset(v, 0, n * sizeof *v);
    v[unit] = cuzk_fr_one;
    assert_int_equal(cuzk_intt(v, d, pool), CUZK_OK);
    eval(&want, v, n, &tau);
    assert_fr_equal(&l[unit], &want);
    free(f);
    free(l);
    free(v);
    cuzk_domain_destroy(&d);
  }
}

static void tau_in_the_domain_is_refused(void **state) {
  (void)state;
  struct cuzk_domain *d;
  assert_int_equal(cuzk_domain_create(&d, 5, pool), CUZK_OK);
  cuzk_fr out[32], tau = cuzk_fr_one, omega;
  cuzk_domain_omega(&omega, d);
  for (int i = 0; i < 32; i++) {
    assert_int_equal(cuzk_lagrange_at(out, &tau, d, pool), CUZK_E_ARG);
    cuzk_fr_mul(&tau, &tau, &omega);
  }
  cuzk_domain_destroy(&d);
}

static void failed_allocation_is_reported(void **state) {
  (void)state;
  struct cuzk_domain *d;
  assert_int_equal(cuzk_domain_create(&d, 5, pool), CUZK_OK);
  cuzk_fr out[32];
  const int64_t live = cuzk_alloc_live();
  cuzk_alloc_fail_at(0);
  assert_int_equal(cuzk_lagrange_at(out, &cuzk_fr_generator, d, pool), CUZK_OK);
  const uint64_t n = cuzk_alloc_count();
  assert_true(n >= 1);
  for (uint64_t i = 1; i <= n; i++) {
    cuzk_alloc_fail_at(i);
    assert_int_equal(cuzk_lagrange_at(out, &cuzk_fr_generator, d, pool), CUZK_E_NOMEM);
    cuzk_alloc_fail_at(0);
    assert_int_equal(cuzk_alloc_live(), live);
  }
  cuzk_domain_destroy(&d);
}

int main(void) {
  test_seed();
  if (cuzk_pool_create(&pool, 0) != CUZK_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(powers_are_powers),
      cmocka_unit_test(coefficients_interpolate),
      cmocka_unit_test(tau_in_the_domain_is_refused),
      cmocka_unit_test(failed_allocation_is_reported),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  return failed;
}
