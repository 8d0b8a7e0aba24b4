/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The extension fields against schoolbook arithmetic: Fp2 by its definition over Fp, Fp12 as polynomials in w over Fp2, w^6 = 1 + u. */
#include "ff/fp12.h"
#include "testing.h"

static void draw_fp(cuzk_fp *x) {
  uint64_t a[6];
  do {
    for (int i = 0; i < 6; i++) a[i] = test_rand_limb();
    a[5] &= UINT64_C(0x1fffffffffffffff);
  } while (!cuzk_fp_from_canon(x, a));
  switch (test_rand() % 12) {
    case 0: *x = cuzk_fp_zero; break;
    case 1: *x = cuzk_fp_one; break;
    case 2: cuzk_fp_neg(x, &cuzk_fp_one); break;
    default: break;
  }
}

static void draw_fp2(cuzk_fp2 *x) {
  draw_fp(&x->c0);
  draw_fp(&x->c1);
}

static void draw_fp12(cuzk_fp12 *x) {
  draw_fp2(&x->c0.c0);
  draw_fp2(&x->c0.c1);
  draw_fp2(&x->c0.c2);
  draw_fp2(&x->c1.c0);
  draw_fp2(&x->c1.c1);
  draw_fp2(&x->c1.c2);
}

static void plain_fp2_mul(cuzk_fp2 *r, const cuzk_fp2 *a, const cuzk_fp2 *b) {
  cuzk_fp2 t;
  cuzk_fp s;
  cuzk_fp_mul(&t.c0, &a->c0, &b->c0);
  cuzk_fp_mul(&s, &a->c1, &b->c1);
  cuzk_fp_sub(&t.c0, &t.c0, &s);
  cuzk_fp_mul(&t.c1, &a->c0, &b->c1);
  cuzk_fp_mul(&s, &a->c1, &b->c0);
  cuzk_fp_add(&t.c1, &t.c1, &s);
  *r = t;
}

static void to_poly(cuzk_fp2 c[6], const cuzk_fp12 *a) {
  c[0] = a->c0.c0, c[1] = a->c1.c0, c[2] = a->c0.c1, c[3] = a->c1.c1, c[4] = a->c0.c2, c[5] = a->c1.c2;
}

static void from_poly(cuzk_fp12 *r, const cuzk_fp2 c[6]) {
  r->c0.c0 = c[0], r->c1.c0 = c[1], r->c0.c1 = c[2], r->c1.c1 = c[3], r->c0.c2 = c[4], r->c1.c2 = c[5];
}

static void plain_fp12_mul(cuzk_fp12 *r, const cuzk_fp12 *a, const cuzk_fp12 *b) {
  const cuzk_fp2 xi = {cuzk_fp_one, cuzk_fp_one};
  cuzk_fp2 x[6], y[6], z[6], t;
  to_poly(x, a);
  to_poly(y, b);
  for (int i = 0; i < 6; i++) z[i] = cuzk_fp2_zero;
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 6; j++) {
      plain_fp2_mul(&t, &x[i], &y[j]);
      if (i + j >= 6) plain_fp2_mul(&t, &t, &xi);
      cuzk_fp2_add(&z[(i + j) % 6], &z[(i + j) % 6], &t);
    }
  }
  from_poly(r, z);
}

static void fp2_equals_its_definition(void **state) {
  (void)state;
  const cuzk_fp2 xi = {cuzk_fp_one, cuzk_fp_one};
  for (int i = 0; i < 3000; i++) {
    cuzk_fp2 a, b, x, y;
    draw_fp2(&a);
    draw_fp2(&b);
    plain_fp2_mul(&y, &a, &b);
    cuzk_fp2_mul(&x, &a, &b);
    assert_true(cuzk_fp2_eq(&x, &y));
    x = a;
    cuzk_fp2_mul(&x, &x, &b);
    assert_true(cuzk_fp2_eq(&x, &y));
    x = b;
    cuzk_fp2_mul(&x, &a, &x);
    assert_true(cuzk_fp2_eq(&x, &y));
    plain_fp2_mul(&y, &a, &a);
    x = a;
    cuzk_fp2_sqr(&x, &x);
    assert_true(cuzk_fp2_eq(&x, &y));
    x = a;
    cuzk_fp2_mul(&x, &x, &x);
    assert_true(cuzk_fp2_eq(&x, &y));
    plain_fp2_mul(&y, &a, &xi);
    x = a;
    cuzk_fp2_mul_xi(&x, &x);
    assert_true(cuzk_fp2_eq(&x, &y));
    y = (cuzk_fp2){b.c1, cuzk_fp_zero};
    plain_fp2_mul(&y, &b, &y);
    x = b;
    cuzk_fp2_mul_fp(&x, &x, &x.c1);
    assert_true(cuzk_fp2_eq(&x, &y));
    cuzk_fp2_conj(&x, &a); /* a conj(a) = c0^2 + c1^2 */
    cuzk_fp2_mul(&x, &x, &a);
    assert_true(cuzk_fp_is_zero(&x.c1));
    cuzk_fp2_inv_var(&x, &a);
    cuzk_fp2_mul(&y, &x, &a);
    if (cuzk_fp2_is_zero(&a)) assert_true(cuzk_fp2_is_zero(&x));
    else assert_true(cuzk_fp2_eq(&y, &cuzk_fp2_one));
  }
}

static void fp2_square_roots_exist_for_squares_only(void **state) {
  (void)state;
  const cuzk_fp2 xi = {cuzk_fp_one, cuzk_fp_one}; /* no square: its norm 2 is none in Fp */
  for (int i = 0; i < 300; i++) {
    cuzk_fp2 a, s, r, untouched = {{{1, 2}}, {{3}}};
    draw_fp2(&a);
    if (i % 4 == 0) a.c1 = cuzk_fp_zero;
    if (i % 4 == 1) a.c0 = cuzk_fp_zero;
    cuzk_fp2_sqr(&s, &a);
    assert_true(cuzk_fp2_sqrt_var(&r, &s));
    cuzk_fp2_sqr(&r, &r);
    assert_true(cuzk_fp2_eq(&r, &s));
    if (cuzk_fp2_is_zero(&a)) continue;
    cuzk_fp2_mul(&s, &s, &xi);
    r = untouched;
    assert_false(cuzk_fp2_sqrt_var(&r, &s));
    assert_true(cuzk_fp2_eq(&r, &untouched));
  }
}

static void fp2_larger_looks_at_c1_first(void **state) {
  (void)state;
  cuzk_fp2 a = {cuzk_fp_one, cuzk_fp_zero};
  assert_false(cuzk_fp2_is_larger(&a));
  cuzk_fp_neg(&a.c0, &a.c0);
  assert_true(cuzk_fp2_is_larger(&a));
  a.c1 = cuzk_fp_one;
  assert_false(cuzk_fp2_is_larger(&a));
  cuzk_fp_neg(&a.c1, &a.c1);
  a.c0 = cuzk_fp_one;
  assert_true(cuzk_fp2_is_larger(&a));
  assert_false(cuzk_fp2_is_larger(&cuzk_fp2_zero));
}

static void fp2_batch_inversion_equals_single_ones(void **state) {
  (void)state;
  cuzk_fp2 a[20], b[20], s[20], x;
  for (int i = 0; i < 20; i++) {
    draw_fp2(&a[i]);
    if (i % 5 == 0) a[i] = cuzk_fp2_zero;
    b[i] = a[i];
  }
  cuzk_fp2_inv_batch(b, s, 20);
  for (int i = 0; i < 20; i++) {
    cuzk_fp2_inv_var(&x, &a[i]);
    assert_true(cuzk_fp2_eq(&x, &b[i]));
  }
}

static void fp12_equals_polynomials_in_w(void **state) {
  (void)state;
  for (int i = 0; i < 500; i++) {
    cuzk_fp12 a, b, x, y;
    draw_fp12(&a);
    draw_fp12(&b);
    plain_fp12_mul(&y, &a, &b);
    cuzk_fp12_mul(&x, &a, &b);
    assert_true(cuzk_fp12_eq(&x, &y));
    x = a;
    cuzk_fp12_mul(&x, &x, &b);
    assert_true(cuzk_fp12_eq(&x, &y));
    x = b;
    cuzk_fp12_mul(&x, &a, &x);
    assert_true(cuzk_fp12_eq(&x, &y));
    plain_fp12_mul(&y, &a, &a);
    x = a;
    cuzk_fp12_sqr(&x, &x);
    assert_true(cuzk_fp12_eq(&x, &y));
    cuzk_fp12_inv_var(&x, &a);
    cuzk_fp12_mul(&x, &x, &a);
    assert_true(cuzk_fp12_is_one(&x));
    /* a line: w^0, w^2, w^3 */
    cuzk_fp2 l[6] = {b.c0.c0, cuzk_fp2_zero, b.c0.c1, b.c1.c1, cuzk_fp2_zero, cuzk_fp2_zero};
    from_poly(&y, l);
    plain_fp12_mul(&y, &a, &y);
    x = a;
    cuzk_fp12_mul_line(&x, &x, &l[0], &l[2], &l[3]);
    assert_true(cuzk_fp12_eq(&x, &y));
  }
  cuzk_fp12 x;
  cuzk_fp12_inv_var(&x, &cuzk_fp12_zero);
  assert_true(cuzk_fp12_eq(&x, &cuzk_fp12_zero));
}

static void fp6_parts_agree(void **state) {
  (void)state;
  for (int i = 0; i < 500; i++) {
    cuzk_fp12 d;
    cuzk_fp6 a, b, x, y;
    draw_fp12(&d);
    a = d.c0, b = d.c1;
    cuzk_fp6_mul(&y, &a, &a);
    x = a;
    cuzk_fp6_sqr(&x, &x);
    assert_true(cuzk_fp6_eq(&x, &y));
    b.c2 = cuzk_fp2_zero;
    cuzk_fp6_mul(&y, &a, &b);
    x = a;
    cuzk_fp6_mul_01(&x, &x, &b.c0, &b.c1);
    assert_true(cuzk_fp6_eq(&x, &y));
    b.c0 = cuzk_fp2_zero;
    cuzk_fp6_mul(&y, &a, &b);
    x = a;
    cuzk_fp6_mul_1(&x, &x, &b.c1);
    assert_true(cuzk_fp6_eq(&x, &y));
    b.c1 = cuzk_fp2_one;
    cuzk_fp6_mul(&y, &a, &b);
    cuzk_fp6_mul_v(&x, &a);
    assert_true(cuzk_fp6_eq(&x, &y));
    cuzk_fp6_inv_var(&x, &a);
    cuzk_fp6_mul(&x, &x, &a);
    assert_true(cuzk_fp6_eq(&x, &cuzk_fp6_one));
    cuzk_fp6_neg(&x, &a);
    cuzk_fp6_add(&x, &x, &a);
    assert_true(cuzk_fp6_is_zero(&x));
  }
}

static void frobenius_is_the_power_p(void **state) {
  (void)state;
  cuzk_fp12 a, x, y;
  draw_fp12(&a);
  cuzk_fp12_pow_var(&y, &a, cuzk_fp_modulus, 6);
  cuzk_fp12_frobenius(&x, &a);
  assert_true(cuzk_fp12_eq(&x, &y));
  for (int i = 1; i < 6; i++) cuzk_fp12_frobenius(&x, &x);
  cuzk_fp12_conj(&y, &a);
  assert_true(cuzk_fp12_eq(&x, &y));
  for (int i = 6; i < 12; i++) cuzk_fp12_frobenius(&x, &x);
  assert_true(cuzk_fp12_eq(&x, &a));
}

static void cyclotomic_square_equals_the_general_one(void **state) {
  (void)state;
  for (int i = 0; i < 50; i++) {
    cuzk_fp12 a, x, y;
    draw_fp12(&a);
    cuzk_fp12_inv_var(&x, &a); /* a^((p^6 - 1)(p^2 + 1)) */
    cuzk_fp12_conj(&y, &a);
    cuzk_fp12_mul(&a, &x, &y);
    cuzk_fp12_frobenius(&x, &a);
    cuzk_fp12_frobenius(&x, &x);
    cuzk_fp12_mul(&a, &a, &x);
    cuzk_fp12_sqr(&y, &a);
    cuzk_fp12_sqr_cyclotomic(&x, &a);
    assert_true(cuzk_fp12_eq(&x, &y));
    cuzk_fp12_sqr_cyclotomic(&a, &a);
    assert_true(cuzk_fp12_eq(&a, &y));
    cuzk_fp12_conj(&x, &a);
    cuzk_fp12_mul(&x, &x, &a);
    assert_true(cuzk_fp12_is_one(&x));
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fp2_equals_its_definition),
      cmocka_unit_test(fp2_square_roots_exist_for_squares_only),
      cmocka_unit_test(fp2_larger_looks_at_c1_first),
      cmocka_unit_test(fp2_batch_inversion_equals_single_ones),
      cmocka_unit_test(fp12_equals_polynomials_in_w),
      cmocka_unit_test(fp6_parts_agree),
      cmocka_unit_test(frobenius_is_the_power_p),
      cmocka_unit_test(cyclotomic_square_equals_the_general_one),
  };
  return cmocka_run_group_tests_name("tower", tests, NULL, NULL);
}
