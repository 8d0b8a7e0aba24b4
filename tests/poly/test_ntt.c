/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "poly/ntt.h"

#include "poly_testing.h"

static struct cuzk_pool *pool;

static struct cuzk_domain *domain(unsigned log2_n) {
  struct cuzk_domain *d;
  assert_int_equal(cuzk_domain_create(&d, log2_n, pool), CUZK_OK);
  assert_int_equal(cuzk_domain_log2(d), log2_n);
  return d;
}

static void check_values_of_the_specification_hold(void **state) {
  (void)state;
  static const struct {
    unsigned log2_n;
    const char *omega, *n_inv, *z_inv;
  } row[] = { /* formats specification 1.3 */
      {3, "345766f603fa66e78c0625cd70d77ce2b38b21c28713b7007228fd3397743f7a",
       "656ff268c469cd9f2cd29d07086d9d04a945ef829ffe907f1fffffff20000001",
       "3ce5890b394cd44e72e6e42da37dad502cf4696a5d4d467f0a405c94d7c53cbc"},
      {15, "3291357ee558b50d483405417a0cbe39c8d5f51db3f32699fbd047e11279bb6e",
       "73ecbf77daf72a0d38a971945991c4c1a3b2fc87b7f85c024801ffff00020001",
       "64150f49166b27fa777c16e937469c1a0a0d6198b34017d325a87f5a4c21a098"},
      {19, "520e587a724a6955df625e80d0adef90ad8e16e84419c750194e8c62ecb38d9d",
       "73ed98d574b318148390d1a0cea0d6d118bcf98b4b7dfbff34801fff00002001",
       "5625fb6fc3d2a64f263eb6487b62896473f7d50dc052d2272d6adecf8baa57e8"},
  };
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    struct cuzk_domain *d = domain(row[k].log2_n);
    const size_t n = (size_t)1 << row[k].log2_n;
    const cuzk_fr omega = hex_fr(row[k].omega), n_inv = hex_fr(row[k].n_inv), z_inv = hex_fr(row[k].z_inv);
    cuzk_fr w;
    cuzk_domain_omega(&w, d);
    assert_fr_equal(&w, &omega);
    cuzk_fr *v = calloc(n, sizeof *v), *b = calloc(n, sizeof *v), *c = calloc(n, sizeof *v);
    assert_true(v && b && c);
    /* X takes the value omega at omega. */
    v[1] = cuzk_fr_one;
    assert_int_equal(cuzk_ntt(v, d, pool), CUZK_OK);
    assert_fr_equal(&v[0], &cuzk_fr_one);
    assert_fr_equal(&v[1], &omega);
    assert_fr_equal(&v[n / 2 + 1], (cuzk_fr_neg(&w, &omega), &w));
    /* The polynomial that is 1 at omega^0 only has every coefficient 1/n. */
    memset(v, 0, n * sizeof *v);
    v[0] = cuzk_fr_one;
    assert_int_equal(cuzk_intt(v, d, pool), CUZK_OK);
    for (size_t i = 0; i < n; i++) assert_fr_equal(&v[i], &n_inv);
    /* A = B = X^(n/2), C = 1: A B - C = X^n - 1 has H = 1; with C = 0 nothing divides, and A B modulo X^n - 7^n is the constant
     * 7^n, so that the answer is 7^n/(7^n - 1) = 1 + 1/(7^n - 1). */
    for (int unsat = 0; unsat <= 1; unsat++) {
      memset(v, 0, n * sizeof *v);
      memset(b, 0, n * sizeof *v);
      v[n / 2] = b[n / 2] = cuzk_fr_one;
      assert_int_equal(cuzk_ntt(v, d, pool), CUZK_OK);
      assert_int_equal(cuzk_ntt(b, d, pool), CUZK_OK);
      for (size_t i = 0; i < n; i++) c[i] = unsat ? cuzk_fr_zero : cuzk_fr_one;
      bool top_is_zero = false;
      assert_int_equal(cuzk_h_poly(v, b, c, &top_is_zero, d, pool), CUZK_OK);
      assert_true(top_is_zero);
      cuzk_fr want = cuzk_fr_one;
      if (unsat) cuzk_fr_add(&want, &want, &z_inv);
      assert_fr_equal(&v[0], &want);
      for (size_t i = 1; i < n; i++) assert_true(cuzk_fr_is_zero(&v[i]));
    }
    free(v);
    free(b);
    free(c);
    cuzk_domain_destroy(&d);
    assert_null(d);
  }
}

static void omega_of_large_domains_is_the_specifications(void **state) {
  (void)state;
  const cuzk_fr w22 = hex_fr("0abe6a5e5abcaa32f2d38f10fbb8d1bbe08fec7c86389beec6e7a6ffb08e3363");
  const cuzk_fr w27 = hex_fr("23397a9300f8f98bece8ea224f31d25db94f1101b1d7a628e2d0a7869f0319ed");
  cuzk_fr w;
  struct cuzk_domain *d = domain(22);
  cuzk_domain_omega(&w, d);
  assert_fr_equal(&w, &w22);
  cuzk_domain_destroy(&d);
  d = domain(27);
  cuzk_domain_omega(&w, d);
  assert_fr_equal(&w, &w27);
  cuzk_domain_destroy(&d);
  d = domain(31);
  cuzk_domain_omega(&w, d);
  cuzk_fr_sqr(&w, &w);
  for (int i = 0; i < 3; i++) cuzk_fr_sqr(&w, &w);
  assert_fr_equal(&w, &w27);
  cuzk_domain_destroy(&d);
  assert_int_equal(cuzk_domain_create(&d, 32, pool), CUZK_E_ARG);
  assert_null(d);
  cuzk_domain_destroy(&d);
}

static void transforms_equal_the_definition_2_0_to_2_6(void **state) {
  (void)state;
  for (unsigned log2_n = 0; log2_n <= 6; log2_n++) {
    struct cuzk_domain *d = domain(log2_n);
    const size_t n = (size_t)1 << log2_n;
    cuzk_fr omega;
    cuzk_domain_omega(&omega, d);
    for (int round = 0; round < 8; round++) {
      cuzk_fr *coeffs = rand_vec(n), *v = copy_vec(coeffs, n), *c = copy_vec(coeffs, n);
      assert_int_equal(cuzk_ntt(v, d, pool), CUZK_OK);
      assert_int_equal(cuzk_coset_ntt(c, d, pool), CUZK_OK);
      cuzk_fr x = cuzk_fr_one, want, shifted;
      for (size_t i = 0; i < n; i++) {
        eval(&want, coeffs, n, &x);
        assert_fr_equal(&v[i], &want);
        cuzk_fr_mul(&shifted, &x, &cuzk_fr_generator);
        eval(&want, coeffs, n, &shifted);
        assert_fr_equal(&c[i], &want);
        cuzk_fr_mul(&x, &x, &omega);
      }
      assert_fr_equal(&x, &cuzk_fr_one);
      assert_int_equal(cuzk_intt(v, d, pool), CUZK_OK);
      assert_memory_equal(v, coeffs, n * sizeof *v);
      assert_int_equal(cuzk_coset_intt(c, d, pool), CUZK_OK);
      assert_memory_equal(c, coeffs, n * sizeof *v);
      free(coeffs);
      free(v);
      free(c);
    }
    cuzk_domain_destroy(&d);
  }
}

/* Every size up to 2^15: a few values by Horner's rule, round trips in both orders, the coset through a scaled vector. */
static void larger_transforms_agree_with_horner_and_round_trip(void **state) {
  (void)state;
  for (unsigned log2_n = 7; log2_n <= 15; log2_n++) {
    struct cuzk_domain *d = domain(log2_n);
    const size_t n = (size_t)1 << log2_n;
    cuzk_fr *coeffs = rand_vec(n), *v = copy_vec(coeffs, n), *c = copy_vec(coeffs, n), omega, x, want;
    cuzk_domain_omega(&omega, d);
    assert_int_equal(cuzk_ntt(v, d, pool), CUZK_OK);
    assert_int_equal(cuzk_coset_ntt(c, d, pool), CUZK_OK);
    for (int k = 0; k < 12; k++) {
      const uint64_t i = k == 0 ? 0 : k == 1 ? n - 1 : test_rand() % n;
      cuzk_fr_pow_var(&x, &omega, &i, 1);
      eval(&want, coeffs, n, &x);
      assert_fr_equal(&v[i], &want);
      cuzk_fr_mul(&x, &x, &cuzk_fr_generator);
      eval(&want, coeffs, n, &x);
      assert_fr_equal(&c[i], &want);
    }
    assert_int_equal(cuzk_intt(v, d, pool), CUZK_OK);
    assert_memory_equal(v, coeffs, n * sizeof *v);
    assert_int_equal(cuzk_coset_intt(c, d, pool), CUZK_OK);
    assert_memory_equal(c, coeffs, n * sizeof *v);
    assert_int_equal(cuzk_coset_intt(c, d, pool), CUZK_OK);
    assert_int_equal(cuzk_coset_ntt(c, d, pool), CUZK_OK);
    assert_memory_equal(c, coeffs, n * sizeof *v);
    free(coeffs);
    free(v);
    free(c);
    cuzk_domain_destroy(&d);
  }
}

static void transform_is_linear(void **state) {
  (void)state;
  for (unsigned log2_n = 4; log2_n <= 12; log2_n += 4) {
    struct cuzk_domain *d = domain(log2_n);
    const size_t n = (size_t)1 << log2_n;
    cuzk_fr *a = rand_vec(n), *b = rand_vec(n), *s = malloc(n * sizeof *s), k, t;
    assert_non_null(s);
    rand_fr(&k);
    for (size_t i = 0; i < n; i++) cuzk_fr_add(&s[i], (cuzk_fr_mul(&t, &k, &a[i]), &t), &b[i]);
    assert_int_equal(cuzk_ntt(a, d, pool), CUZK_OK);
    assert_int_equal(cuzk_ntt(b, d, pool), CUZK_OK);
    assert_int_equal(cuzk_ntt(s, d, pool), CUZK_OK);
    for (size_t i = 0; i < n; i++) {
      cuzk_fr_add(&t, (cuzk_fr_mul(&t, &k, &a[i]), &t), &b[i]);
      assert_fr_equal(&s[i], &t);
    }
    free(a);
    free(b);
    free(s);
    cuzk_domain_destroy(&d);
  }
}

static void pointwise_product_is_cyclic_convolution(void **state) {
  (void)state;
  for (unsigned log2_n = 0; log2_n <= 8; log2_n++) {
    struct cuzk_domain *d = domain(log2_n);
    const size_t n = (size_t)1 << log2_n;
    cuzk_fr *a = rand_vec(n), *b = rand_vec(n), *want = calloc(n, sizeof *want), t;
    assert_non_null(want);
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < n; j++) {
        cuzk_fr_mul(&t, &a[i], &b[j]);
        cuzk_fr_add(&want[(i + j) % n], &want[(i + j) % n], &t);
      }
    }
    assert_int_equal(cuzk_ntt(a, d, pool), CUZK_OK);
    assert_int_equal(cuzk_ntt(b, d, pool), CUZK_OK);
    for (size_t i = 0; i < n; i++) cuzk_fr_mul(&a[i], &a[i], &b[i]);
    assert_int_equal(cuzk_intt(a, d, pool), CUZK_OK);
    assert_memory_equal(a, want, n * sizeof *a);
    free(a);
    free(b);
    free(want);
    cuzk_domain_destroy(&d);
  }
}

/* Toy key of formats specification A.1: witness, rows and the coefficients of H. */
static void h_equals_the_toy_vector(void **state) {
  (void)state;
  static const uint64_t row_a[8] = {3, 3 + 12, 105, 0, 1, 7, 832, 0};
  static const uint64_t row_b[8] = {4, 7, 5 + 3, 1, 0, 0, 0, 0};
  static const uint64_t row_c[8] = {12, 105, 840, 0, 0, 0, 0, 0};
  static const char *const want[8] = {"5e3117f391cff5caa99eff8687d37f84540a15426ffeaabf2fffffff2fffff4d",
                                      "62b05456808e3f8ceaf339a18af6ab3be042d71629ef3b08df6f2a6507155ac6",
                                      "00921358e69575f35f341b34f126634dafd5ee5191eb7bd111a7655f90eb47af",
                                      "2d829a83181d8a2c23245a99e6cf3af51b8f633e0fcfdc54709b124fb0fe7a57",
                                      "1ad89b1ae01c3064c16ac3c72648f9fb6c1fde303c7839d7121ef32673f48b04",
                                      "57bedb6872444cbc80cb585f87e921e90e9c77e9ce895d73e660890075478330",
                                      "5f4d1b9cc8f23300db4b793c95c093465581769847c642c3850d3553de26f59a",
                                      "0000000000000000000000000000000000000000000000000000000000000000"};
  cuzk_fr a[8], b[8], c[8];
  for (int i = 0; i < 8; i++) {
    cuzk_fr_from_u64(&a[i], row_a[i]);
    cuzk_fr_from_u64(&b[i], row_b[i]);
    cuzk_fr_from_u64(&c[i], row_c[i]);
  }
  /* row 3: (w1 - w2) * 1 = x2 - w4, both -8 */
  cuzk_fr eight;
  cuzk_fr_from_u64(&eight, 8);
  cuzk_fr_neg(&a[3], &eight);
  cuzk_fr_neg(&c[3], &eight);
  struct cuzk_domain *d = domain(3);
  bool top_is_zero = false;
  assert_int_equal(cuzk_h_poly(a, b, c, &top_is_zero, d, pool), CUZK_OK);
  assert_true(top_is_zero);
  for (int i = 0; i < 8; i++) {
    const cuzk_fr h = hex_fr(want[i]);
    assert_fr_equal(&a[i], &h);
  }
  cuzk_domain_destroy(&d);
}

/* Divides num (2 n coefficients) by X^n - 1: quotient into q[n]; true if nothing remains. */
static bool divide(cuzk_fr *q, cuzk_fr *num, size_t n) {
  for (size_t i = 2 * n; i-- > n;) {
    q[i - n] = num[i];
    cuzk_fr_add(&num[i - n], &num[i - n], &num[i]);
  }
  for (size_t i = 0; i < n; i++)
    if (!cuzk_fr_is_zero(&num[i])) return false;
  return true;
}

static void h_equals_polynomial_division(void **state) {
  (void)state;
  for (unsigned log2_n = 0; log2_n <= 7; log2_n++) {
    struct cuzk_domain *d = domain(log2_n);
    const size_t n = (size_t)1 << log2_n;
    for (int round = 0; round < 6; round++) {
      cuzk_fr *a = rand_vec(n), *b = rand_vec(n), *c = malloc(n * sizeof *c);
      cuzk_fr *num = calloc(2 * n, sizeof *num), *q = malloc(n * sizeof *q), t;
      assert_true(c && num && q);
      for (size_t i = 0; i < n; i++) cuzk_fr_mul(&c[i], &a[i], &b[i]);
      cuzk_fr *pa = copy_vec(a, n), *pb = copy_vec(b, n), *pc = copy_vec(c, n);
      assert_int_equal(cuzk_intt(pa, d, pool), CUZK_OK);
      assert_int_equal(cuzk_intt(pb, d, pool), CUZK_OK);
      assert_int_equal(cuzk_intt(pc, d, pool), CUZK_OK);
      for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
          cuzk_fr_mul(&t, &pa[i], &pb[j]);
          cuzk_fr_add(&num[i + j], &num[i + j], &t);
        }
      }
      for (size_t i = 0; i < n; i++) cuzk_fr_sub(&num[i], &num[i], &pc[i]);
      assert_true(divide(q, num, n));
      bool top_is_zero = false;
      assert_int_equal(cuzk_h_poly(a, b, c, &top_is_zero, d, pool), CUZK_OK);
      assert_true(top_is_zero);
      assert_memory_equal(a, q, n * sizeof *a);
      assert_true(cuzk_fr_is_zero(&a[n - 1]));
      free(a);
      free(b);
      free(c);
      free(num);
      free(q);
      free(pa);
      free(pb);
      free(pc);
    }
    cuzk_domain_destroy(&d);
  }
}

/* A(x) B(x) - C(x) = H(x) (x^n - 1) at a random x, for sizes where division by hand is too slow; one wrong row shows. */
static void h_satisfies_its_equation_2_8_to_2_14(void **state) {
  (void)state;
  for (unsigned log2_n = 8; log2_n <= 14; log2_n++) {
    struct cuzk_domain *d = domain(log2_n);
    const size_t n = (size_t)1 << log2_n;
    for (int wrong_row = 0; wrong_row <= 1; wrong_row++) {
      cuzk_fr *a = rand_vec(n), *b = rand_vec(n), *c = malloc(n * sizeof *c);
      assert_non_null(c);
      for (size_t i = 0; i < n; i++) cuzk_fr_mul(&c[i], &a[i], &b[i]);
      if (wrong_row) cuzk_fr_add(&c[n / 3], &c[n / 3], &cuzk_fr_one);
      cuzk_fr *pa = copy_vec(a, n), *pb = copy_vec(b, n), *pc = copy_vec(c, n);
      assert_int_equal(cuzk_intt(pa, d, pool), CUZK_OK);
      assert_int_equal(cuzk_intt(pb, d, pool), CUZK_OK);
      assert_int_equal(cuzk_intt(pc, d, pool), CUZK_OK);
      bool top_is_zero = wrong_row;
      assert_int_equal(cuzk_h_poly(a, b, c, &top_is_zero, d, pool), CUZK_OK);
      assert_int_equal(top_is_zero, !wrong_row);
      assert_int_equal(cuzk_fr_is_zero(&a[n - 1]), !wrong_row);
      cuzk_fr x, va, vb, vc, vh, z;
      uniform_fr(&x); /* on the coset, H is right for a wrong row too */
      eval(&va, pa, n, &x);
      eval(&vb, pb, n, &x);
      eval(&vc, pc, n, &x);
      eval(&vh, a, n, &x);
      z = x;
      for (unsigned s = 0; s < log2_n; s++) cuzk_fr_sqr(&z, &z);
      cuzk_fr_sub(&z, &z, &cuzk_fr_one);
      cuzk_fr_mul(&vh, &vh, &z);
      cuzk_fr_mul(&va, &va, &vb);
      cuzk_fr_sub(&va, &va, &vc);
      if (!wrong_row) assert_fr_equal(&va, &vh);
      else assert_false(cuzk_fr_eq(&va, &vh));
      free(a);
      free(b);
      free(c);
      free(pa);
      free(pb);
      free(pc);
    }
    cuzk_domain_destroy(&d);
  }
}

/* The answer may depend on neither the number of workers nor the absence of a pool. */
static void any_number_of_workers_gives_the_same_answer(void **state) {
  (void)state;
  const unsigned log2_n = 12;
  const size_t n = (size_t)1 << log2_n;
  struct cuzk_domain *d = domain(log2_n);
  cuzk_fr *a = rand_vec(n), *b = rand_vec(n), *c = rand_vec(n);
  cuzk_fr *wa = copy_vec(a, n), *wb = copy_vec(b, n), *wc = copy_vec(c, n), *wn = copy_vec(a, n);
  bool top;
  assert_int_equal(cuzk_h_poly(wa, wb, wc, &top, d, NULL), CUZK_OK);
  assert_int_equal(cuzk_coset_ntt(wn, d, NULL), CUZK_OK);
  for (unsigned workers = 1; workers <= 5; workers++) {
    struct cuzk_pool *p;
    assert_int_equal(cuzk_pool_create(&p, workers), CUZK_OK);
    cuzk_fr *va = copy_vec(a, n), *vb = copy_vec(b, n), *vc = copy_vec(c, n), *vn = copy_vec(a, n);
    assert_int_equal(cuzk_h_poly(va, vb, vc, &top, d, p), CUZK_OK);
    assert_int_equal(cuzk_coset_ntt(vn, d, p), CUZK_OK);
    assert_memory_equal(va, wa, n * sizeof *va);
    assert_memory_equal(vn, wn, n * sizeof *vn);
    free(va);
    free(vb);
    free(vc);
    free(vn);
    cuzk_pool_destroy(&p);
  }
  free(a);
  free(b);
  free(c);
  free(wa);
  free(wb);
  free(wc);
  free(wn);
  cuzk_domain_destroy(&d);
}

static enum cuzk_status everything(unsigned log2_n) {
  const size_t n = (size_t)1 << log2_n;
  struct cuzk_domain *d = NULL;
  cuzk_fr *a = rand_vec(n), *b = rand_vec(n), *c = rand_vec(n);
  bool top;
  enum cuzk_status st = cuzk_domain_create(&d, log2_n, pool);
  if (st == CUZK_OK) st = cuzk_ntt(a, d, pool);
  if (st == CUZK_OK) st = cuzk_intt(a, d, pool);
  if (st == CUZK_OK) st = cuzk_coset_ntt(b, d, pool);
  if (st == CUZK_OK) st = cuzk_coset_intt(b, d, pool);
  if (st == CUZK_OK) st = cuzk_h_poly(a, b, c, &top, d, pool);
  cuzk_domain_destroy(&d);
  free(a);
  free(b);
  free(c);
  return st;
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state) {
  (void)state;
  static const unsigned sizes[] = {0, 3, 11};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const int64_t live = cuzk_alloc_live();
    cuzk_alloc_fail_at(0);
    assert_int_equal(everything(sizes[k]), CUZK_OK);
    const uint64_t n = cuzk_alloc_count();
    assert_true(n >= 1);
    for (uint64_t i = 1; i <= n; i++) {
      cuzk_alloc_fail_at(i);
      assert_int_equal(everything(sizes[k]), CUZK_E_NOMEM);
      cuzk_alloc_fail_at(0);
      assert_int_equal(cuzk_alloc_live(), live);
    }
  }
}

int main(void) {
  test_seed();
  if (cuzk_pool_create(&pool, 0) != CUZK_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(check_values_of_the_specification_hold),
      cmocka_unit_test(omega_of_large_domains_is_the_specifications),
      cmocka_unit_test(transforms_equal_the_definition_2_0_to_2_6),
      cmocka_unit_test(larger_transforms_agree_with_horner_and_round_trip),
      cmocka_unit_test(transform_is_linear),
      cmocka_unit_test(pointwise_product_is_cyclic_convolution),
      cmocka_unit_test(h_equals_the_toy_vector),
      cmocka_unit_test(h_equals_polynomial_division),
      cmocka_unit_test(h_satisfies_its_equation_2_8_to_2_14),
      cmocka_unit_test(any_number_of_workers_gives_the_same_answer),
      cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  return failed;
}
