/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The templates of the fields at sizes that can be enumerated: one limb, a small prime, all pairs. */
#include "testing.h"

#define P 251
#define R_MOD_P 69 /* 2^64 mod 251 */
static const uint64_t modulus[1] = {P};
#define MONT_N 1
#define MONT_FN(x) toy_##x
#define MONT_MODULUS modulus
#define MONT_INV 0xd734041465fdf5cdu
#include "ff/mont_tmpl.h"

#define BIG UINT64_C(9223372036854775783) /* 2^63 - 25, the largest prime that leaves a bit free */
static const uint64_t big_modulus[1] = {BIG};
#undef MONT_FN
#undef MONT_MODULUS
#undef MONT_INV
#define MONT_FN(x) big_##x
#define MONT_MODULUS big_modulus
#define MONT_INV 0x0f5c28f5c28f5c29u
#include "ff/mont_tmpl.h"

static const int64_t modulus_62[2] = {P, 0};
#define INV_N 2
#define INV_LIMBS 1
#define INV_FN(name) toy_##name
#define INV_MODULUS modulus_62
#define INV_MODINV ((0 - UINT64_C(0xd734041465fdf5cd)) & (UINT64_MAX >> 2))
#include "ff/inv_tmpl.h"

static void the_constants_are_what_they_claim(void **state) {
  (void)state;
  assert_true((uint64_t)P * UINT64_C(0xd734041465fdf5cd) == UINT64_MAX);
  assert_true(BIG * UINT64_C(0x0f5c28f5c28f5c29) == UINT64_MAX);
  assert_int_equal((UINT64_MAX % P + 1) % P, R_MOD_P);
}

static void all_pairs_of_a_small_prime(void **state) {
  (void)state;
  for (uint64_t a = 0; a < P; a++) {
    for (uint64_t b = 0; b < P; b++) {
      uint64_t r;
      toy_add(&r, &a, &b);
      assert_int_equal(r, (a + b) % P);
      toy_sub(&r, &a, &b);
      assert_int_equal(r, (a + P - b) % P);
      toy_mul(&r, &a, &b);
      assert_true(r < P);
      assert_int_equal(r * R_MOD_P % P, a * b % P);
      uint64_t x = a;
      toy_mul(&x, &x, &b);
      assert_int_equal(x, r);
      x = b;
      toy_mul(&x, &a, &x);
      assert_int_equal(x, r);
    }
    assert_true(toy_below_modulus(&a));
  }
  const uint64_t p = P, above = P + 1;
  assert_false(toy_below_modulus(&p));
  assert_false(toy_below_modulus(&above));
}

static uint64_t mul_mod_big(uint64_t a, uint64_t b) { return (uint64_t)((cuzk_u128)a * b % BIG); }

static void a_prime_of_63_bits_at_its_edges(void **state) {
  (void)state;
  const uint64_t r_mod = (UINT64_MAX % BIG + 1) % BIG;
  for (int i = 0; i < 200000; i++) {
    uint64_t a = test_rand_limb() % BIG, b = test_rand_limb() % BIG, r;
    if (i % 7 == 0) a = BIG - 1 - (uint64_t)(i % 3);
    if (i % 5 == 0) b = BIG - 1 - (uint64_t)(i % 2);
    big_mul(&r, &a, &b);
    assert_true(big_below_modulus(&r));
    assert_true(mul_mod_big(r, r_mod) == mul_mod_big(a, b));
    big_add(&r, &a, &b);
    assert_true(r == (uint64_t)(((cuzk_u128)a + b) % BIG));
    big_sub(&r, &a, &b);
    assert_true(r == (uint64_t)(((cuzk_u128)a + BIG - b) % BIG));
  }
}

static void every_inverse_of_a_small_prime(void **state) {
  (void)state;
  for (uint64_t a = 0; a < P; a++) {
    uint64_t r = 77;
    toy_inverse(&r, &a);
    if (a == 0) {
      assert_int_equal(r, 0);
    } else {
      assert_true(r < P);
      assert_int_equal(r * a % P, 1);
    }
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_constants_are_what_they_claim),
      cmocka_unit_test(all_pairs_of_a_small_prime),
      cmocka_unit_test(a_prime_of_63_bits_at_its_edges),
      cmocka_unit_test(every_inverse_of_a_small_prime),
  };
  return cmocka_run_group_tests_name("ff toy", tests, NULL, NULL);
}
