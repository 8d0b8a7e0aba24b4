/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/fp.h"
#include "ff/fr.h"
#include "testing.h"

static void draw_fp(cuzk_fp *x) {
  uint64_t a[6];
  do {
    for (int i = 0; i < 6; i++) a[i] = test_rand_limb();
    a[5] &= UINT64_C(0x1fffffffffffffff);
  } while (!cuzk_fp_from_canon(x, a));
  switch (test_rand() % 16) {
    case 0: *x = cuzk_fp_zero; break;
    case 1: *x = cuzk_fp_one; break;
    case 2: cuzk_fp_neg(x, &cuzk_fp_one); break;
    default: break;
  }
}

static void draw_fr(cuzk_fr *x) {
  uint64_t a[4];
  do {
    for (int i = 0; i < 4; i++) a[i] = test_rand_limb();
    a[3] &= UINT64_C(0x7fffffffffffffff);
  } while (!cuzk_fr_from_canon(x, a));
  switch (test_rand() % 16) {
    case 0: *x = cuzk_fr_zero; break;
    case 1: *x = cuzk_fr_one; break;
    case 2: cuzk_fr_neg(x, &cuzk_fr_one); break;
    default: break;
  }
}

#define FIELD_LAWS(T)                                                                                                      \
  static void T##_obeys_the_field_laws(void **state) {                                                                     \
    (void)state;                                                                                                           \
    for (int i = 0; i < 3000; i++) {                                                                                       \
      cuzk_##T a, b, c, x, y, z;                                                                                           \
      draw_##T(&a);                                                                                                        \
      draw_##T(&b);                                                                                                        \
      draw_##T(&c);                                                                                                        \
      cuzk_##T##_add(&x, &a, &b);                                                                                          \
      cuzk_##T##_add(&y, &b, &a);                                                                                          \
      assert_true(cuzk_##T##_eq(&x, &y));                                                                                  \
      cuzk_##T##_sub(&y, &x, &b);                                                                                          \
      assert_true(cuzk_##T##_eq(&y, &a));                                                                                  \
      cuzk_##T##_mul(&x, &x, &c); /* (a + b) c = a c + b c */                                                              \
      cuzk_##T##_mul(&y, &a, &c);                                                                                          \
      cuzk_##T##_mul(&z, &c, &b);                                                                                          \
      cuzk_##T##_add(&y, &y, &z);                                                                                          \
      assert_true(cuzk_##T##_eq(&x, &y));                                                                                  \
      cuzk_##T##_mul(&x, &a, &b);                                                                                          \
      cuzk_##T##_mul(&x, &x, &c);                                                                                          \
      cuzk_##T##_mul(&y, &b, &c);                                                                                          \
      cuzk_##T##_mul(&y, &a, &y);                                                                                          \
      assert_true(cuzk_##T##_eq(&x, &y));                                                                                  \
      cuzk_##T##_sqr(&x, &a);                                                                                              \
      cuzk_##T##_mul(&y, &a, &a);                                                                                          \
      assert_true(cuzk_##T##_eq(&x, &y));                                                                                  \
      cuzk_##T##_dbl(&x, &a);                                                                                              \
      cuzk_##T##_add(&y, &a, &a);                                                                                          \
      assert_true(cuzk_##T##_eq(&x, &y));                                                                                  \
      cuzk_##T##_neg(&x, &a);                                                                                              \
      cuzk_##T##_add(&x, &x, &a);                                                                                          \
      assert_true(cuzk_##T##_is_zero(&x));                                                                                 \
      cuzk_##T##_mul(&x, &a, &cuzk_##T##_one);                                                                             \
      assert_true(cuzk_##T##_eq(&x, &a));                                                                                  \
      cuzk_##T##_inv_var(&x, &a);                                                                                          \
      assert_true(cuzk_##T##_is_reduced(&x));                                                                              \
      cuzk_##T##_mul(&y, &x, &a);                                                                                          \
      if (cuzk_##T##_is_zero(&a)) assert_true(cuzk_##T##_is_zero(&x));                                                     \
      else assert_true(cuzk_##T##_eq(&y, &cuzk_##T##_one));                                                                \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void T##_batch_inversion_equals_single_ones(void **state) {                                                       \
    (void)state;                                                                                                           \
    cuzk_##T a[33], b[33], s[33], x;                                                                                       \
    for (size_t n = 0; n <= 33; n++) {                                                                                     \
      for (size_t i = 0; i < n; i++) {                                                                                     \
        draw_##T(&a[i]);                                                                                                   \
        b[i] = a[i];                                                                                                       \
      }                                                                                                                    \
      cuzk_##T##_inv_batch(b, s, n);                                                                                       \
      for (size_t i = 0; i < n; i++) {                                                                                     \
        cuzk_##T##_inv_var(&x, &a[i]);                                                                                     \
        assert_true(cuzk_##T##_eq(&x, &b[i]));                                                                             \
      }                                                                                                                    \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void T##_powers_equal_repeated_products(void **state) {                                                           \
    (void)state;                                                                                                           \
    cuzk_##T a, x, y = cuzk_##T##_one;                                                                                     \
    draw_##T(&a);                                                                                                          \
    for (uint64_t e = 0; e < 300; e++) {                                                                                   \
      const uint64_t two[2] = {e, 0};                                                                                      \
      cuzk_##T##_pow_var(&x, &a, two, 1 + e % 2);                                                                          \
      assert_true(cuzk_##T##_eq(&x, &y));                                                                                  \
      cuzk_##T##_mul(&y, &y, &a);                                                                                          \
    }                                                                                                                      \
    cuzk_##T##_pow_var(&x, &a, NULL, 0);                                                                                   \
    assert_true(cuzk_##T##_eq(&x, &cuzk_##T##_one));                                                                       \
    for (int i = 0; i < 20; i++) { /* a^p = a */                                                                           \
      draw_##T(&a);                                                                                                        \
      x = a;                                                                                                               \
      cuzk_##T##_pow_var(&x, &x, cuzk_##T##_modulus, sizeof cuzk_##T##_modulus / 8);                                       \
      assert_true(cuzk_##T##_eq(&x, &a));                                                                                  \
    }                                                                                                                      \
  }

FIELD_LAWS(fp)
FIELD_LAWS(fr)

static void inverses_of_small_and_large_values(void **state) {
  (void)state;
  for (uint64_t i = 1; i < 2000; i++) {
    cuzk_fp a, x;
    cuzk_fr b, y;
    cuzk_fp_from_u64(&a, i);
    cuzk_fr_from_u64(&b, i);
    for (int s = 0; s < 2; s++) {
      cuzk_fp_inv_var(&x, &a);
      cuzk_fp_mul(&x, &x, &a);
      assert_true(cuzk_fp_eq(&x, &cuzk_fp_one));
      cuzk_fr_inv_var(&y, &b);
      cuzk_fr_mul(&y, &y, &b);
      assert_true(cuzk_fr_eq(&y, &cuzk_fr_one));
      cuzk_fp_neg(&a, &a);
      cuzk_fr_neg(&b, &b);
    }
    /* The same as limbs: what the division steps see. */
    a = cuzk_fp_zero;
    b = cuzk_fr_zero;
    a.l[i % 6] = i;
    b.l[i % 3] = i;
    cuzk_fp_inv_var(&x, &a);
    cuzk_fp_mul(&x, &x, &a);
    assert_true(cuzk_fp_eq(&x, &cuzk_fp_one));
    cuzk_fr_inv_var(&y, &b);
    cuzk_fr_mul(&y, &y, &b);
    assert_true(cuzk_fr_eq(&y, &cuzk_fr_one));
  }
}

static void square_roots_exist_for_squares_only(void **state) {
  (void)state;
  int squares = 0;
  for (int i = 0; i < 300; i++) {
    cuzk_fp a, s, r, untouched = {{1, 2, 3, 4, 5, 6}};
    draw_fp(&a);
    cuzk_fp_sqr(&s, &a);
    assert_true(cuzk_fp_sqrt_var(&r, &s));
    cuzk_fp_sqr(&r, &r);
    assert_true(cuzk_fp_eq(&r, &s));
    cuzk_fp_neg(&s, &s); /* -1 is no square */
    r = untouched;
    if (cuzk_fp_is_zero(&s)) continue;
    assert_false(cuzk_fp_sqrt_var(&r, &s));
    assert_true(cuzk_fp_eq(&r, &untouched));
    squares++;
  }
  assert_true(squares > 200);
}

static void decoding_refuses_what_is_not_below_the_modulus(void **state) {
  (void)state;
  uint8_t b[48], c[48];
  cuzk_fp x, untouched = {{9, 8, 7, 6, 5, 4}};
  cuzk_fr y, fr_untouched = {{9, 8, 7, 6}};
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 8; j++) b[8 * i + j] = (uint8_t)(cuzk_fp_modulus[5 - i] >> (8 * (7 - j)));
  x = untouched;
  assert_false(cuzk_fp_from_be(&x, b));
  assert_true(cuzk_fp_eq(&x, &untouched));
  assert_false(cuzk_fp_from_canon(&x, cuzk_fp_modulus));
  b[47] -= 1;
  assert_true(cuzk_fp_from_be(&x, b));
  cuzk_fp_to_be(c, &x);
  assert_memory_equal(b, c, 48);
  cuzk_fp_add(&x, &x, &cuzk_fp_one);
  assert_true(cuzk_fp_is_zero(&x));
  b[47] += 2;
  assert_false(cuzk_fp_from_be(&x, b));
  memset(b, 0xff, 48);
  assert_false(cuzk_fp_from_be(&x, b));

  memcpy(b, cuzk_fr_modulus, 32);
  y = fr_untouched;
  assert_false(cuzk_fr_from_le(&y, b));
  assert_true(cuzk_fr_eq(&y, &fr_untouched));
  b[0] = 0; /* the low byte of r is 1 */
  assert_true(cuzk_fr_from_le(&y, b));
  cuzk_fr_to_le(c, &y);
  assert_memory_equal(b, c, 32);
  cuzk_fr_add(&y, &y, &cuzk_fr_one);
  assert_true(cuzk_fr_is_zero(&y));
  b[0] = 2;
  assert_false(cuzk_fr_from_le(&y, b));
  memset(b, 0xff, 32);
  assert_false(cuzk_fr_from_le(&y, b));
}

static void encodings_round_trip(void **state) {
  (void)state;
  for (int i = 0; i < 2000; i++) {
    cuzk_fp a, x;
    cuzk_fr b, y;
    uint8_t buf[48];
    uint64_t c[6];
    draw_fp(&a);
    draw_fr(&b);
    cuzk_fp_to_be(buf, &a);
    assert_true(cuzk_fp_from_be(&x, buf));
    assert_true(cuzk_fp_eq(&x, &a));
    cuzk_fp_to_canon(c, &a);
    assert_true(cuzk_fp_from_canon(&x, c));
    assert_true(cuzk_fp_eq(&x, &a));
    cuzk_fr_to_le(buf, &b);
    assert_true(cuzk_fr_from_le(&y, buf));
    assert_true(cuzk_fr_eq(&y, &b));
    /* exactly one of a and -a is the larger one */
    if (!cuzk_fp_is_zero(&a)) {
      cuzk_fp_neg(&x, &a);
      assert_true(cuzk_fp_is_larger(&a) != cuzk_fp_is_larger(&x));
    }
  }
  cuzk_fp h, two;
  cuzk_fp_from_u64(&two, 2);
  cuzk_fp_inv_var(&h, &two); /* (p + 1)/2: the smallest of the larger ones */
  assert_true(cuzk_fp_is_larger(&h));
  cuzk_fp_sub(&h, &h, &cuzk_fp_one);
  assert_false(cuzk_fp_is_larger(&h));
  assert_false(cuzk_fp_is_larger(&cuzk_fp_zero));
}

static void wide_values_are_reduced(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    uint8_t b[64];
    cuzk_fr want = cuzk_fr_zero, got, k256, d;
    for (int j = 0; j < 8; j++) {
      const uint64_t l = i == 0 ? UINT64_MAX : test_rand_limb();
      memcpy(b + 8 * j, &l, 8);
    }
    cuzk_fr_from_u64(&k256, 256);
    for (int j = 63; j >= 0; j--) { /* Horner, a byte at a time */
      cuzk_fr_mul(&want, &want, &k256);
      cuzk_fr_from_u64(&d, b[j]);
      cuzk_fr_add(&want, &want, &d);
    }
    cuzk_fr_from_le64_reduce(&got, b);
    assert_true(cuzk_fr_eq(&got, &want));
  }
}

/* Formats specification, section 1.3. */
static void roots_of_unity_have_the_published_values(void **state) {
  (void)state;
  static const struct {
    int e;
    uint64_t omega[4];
  } v[] = {{3, {0x7228fd3397743f7a, 0xb38b21c28713b700, 0x8c0625cd70d77ce2, 0x345766f603fa66e7}},
           {15, {0xfbd047e11279bb6e, 0xc8d5f51db3f32699, 0x483405417a0cbe39, 0x3291357ee558b50d}},
           {27, {0xe2d0a7869f0319ed, 0xb94f1101b1d7a628, 0xece8ea224f31d25d, 0x23397a9300f8f98b}}};
  cuzk_fr x, y;
  uint64_t c[4];
  cuzk_fr_from_u64(&x, 7);
  assert_true(cuzk_fr_eq(&x, &cuzk_fr_generator));
  static const uint64_t t[4] = {0xfffe5bfeffffffff, 0x09a1d80553bda402, 0x299d7d483339d808, 0x73eda753};
  cuzk_fr_pow_var(&y, &x, t, 4);
  assert_true(cuzk_fr_eq(&y, &cuzk_fr_root_2_32));
  for (size_t k = 0; k < sizeof v / sizeof v[0]; k++) {
    x = cuzk_fr_root_2_32;
    for (int i = v[k].e; i < 32; i++) cuzk_fr_sqr(&x, &x);
    cuzk_fr_to_canon(c, &x);
    assert_memory_equal(c, v[k].omega, 32);
  }
  x = cuzk_fr_root_2_32;
  for (int i = 0; i < 31; i++) cuzk_fr_sqr(&x, &x);
  cuzk_fr_neg(&x, &x);
  assert_true(cuzk_fr_is_one(&x));
}

static void random_values_differ_and_are_reduced(void **state) {
  (void)state;
  cuzk_fr a, b;
  assert_int_equal(cuzk_fr_random(&a), CUZK_OK);
  assert_int_equal(cuzk_fr_random(&b), CUZK_OK);
  assert_true(cuzk_fr_is_reduced(&a) && cuzk_fr_is_reduced(&b));
  assert_false(cuzk_fr_eq(&a, &b));
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fp_obeys_the_field_laws),
      cmocka_unit_test(fr_obeys_the_field_laws),
      cmocka_unit_test(fp_batch_inversion_equals_single_ones),
      cmocka_unit_test(fr_batch_inversion_equals_single_ones),
      cmocka_unit_test(fp_powers_equal_repeated_products),
      cmocka_unit_test(fr_powers_equal_repeated_products),
      cmocka_unit_test(inverses_of_small_and_large_values),
      cmocka_unit_test(square_roots_exist_for_squares_only),
      cmocka_unit_test(decoding_refuses_what_is_not_below_the_modulus),
      cmocka_unit_test(encodings_round_trip),
      cmocka_unit_test(wide_values_are_reduced),
      cmocka_unit_test(roots_of_unity_have_the_published_values),
      cmocka_unit_test(random_values_differ_and_are_reduced),
  };
  return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
