/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ec/pairing.h"
#include "hash/sha256.h"
#include "testing.h"

static void multiple_g1(cuzk_g1_affine *p, uint64_t n) {
  cuzk_g1 j;
  cuzk_g1_from_affine(&j, &cuzk_g1_generator);
  cuzk_g1_mul_limbs_var(&j, &j, &n, 1);
  cuzk_g1_to_affine(p, &j);
}
static void multiple_g2(cuzk_g2_affine *p, uint64_t n) {
  cuzk_g2 j;
  cuzk_g2_from_affine(&j, &cuzk_g2_generator);
  cuzk_g2_mul_limbs_var(&j, &j, &n, 1);
  cuzk_g2_to_affine(p, &j);
}

static void hex(char *out, const uint8_t *b, size_t n) {
  for (size_t i = 0; i < n; i++) (void)sprintf(out + 2 * i, "%02x", b[i]);
}

/* Formats specification, end of section 1.7. */
static void generators_pair_to_the_published_value(void **state) {
  (void)state;
  cuzk_gt e;
  uint8_t b[288], h[32];
  char text[97];
  cuzk_pairing_product(&e, &cuzk_g1_generator, &cuzk_g2_generator, 1);
  cuzk_fp_to_be(b, &e.c0.c0.c0);
  hex(text, b, 48);
  assert_string_equal(text, "1250ebd871fc0a92a7b2d83168d0d727272d441befa15c503dd8e90ce98db3e7b6d194f60839c508a84305aaca1789b6");
  cuzk_fp_to_be(b, &e.c0.c0.c1);
  hex(text, b, 48);
  assert_string_equal(text, "089a1c5b46e5110b86750ec6a532348868a84045483c92b7af5af689452eafabf1a8943e50439f1d59882a98eaa0170f");
  cuzk_gt_compress(b, &e);
  cuzk_sha256(h, b, 288);
  hex(text, h, 32);
  assert_string_equal(text, "2276128cd9326ecb99f8bb25ea892beed11ca9e3323e9d5aca77d51c66f026ae");
}

static void the_pairing_is_bilinear(void **state) {
  (void)state;
  cuzk_gt base, x, y;
  cuzk_pairing_product(&base, &cuzk_g1_generator, &cuzk_g2_generator, 1);
  assert_false(cuzk_gt_eq(&base, &cuzk_fp12_one));
  cuzk_gt_pow_var(&x, &base, cuzk_fr_modulus, 4);
  assert_true(cuzk_gt_eq(&x, &cuzk_fp12_one));
  for (int i = 0; i < 6; i++) {
    cuzk_g1_affine p;
    cuzk_g2_affine q;
    const uint64_t a = test_rand() >> 1, b = test_rand();
    multiple_g1(&p, a);
    multiple_g2(&q, b);
    cuzk_pairing_product(&x, &p, &q, 1);
    cuzk_gt_pow_var(&y, &base, &a, 1);
    cuzk_gt_pow_var(&y, &y, &b, 1);
    assert_true(cuzk_gt_eq(&x, &y));
    cuzk_g1_affine_neg(&p, &p);
    cuzk_pairing_product(&y, &p, &q, 1);
    cuzk_gt_inv(&x, &x);
    assert_true(cuzk_gt_eq(&x, &y));
  }
}

/* e(a_i G1, b_i G2) multiplied up to e(G1, G2)^(sum a_i b_i), across the length of one shared chain. */
static void products_of_any_length(void **state) {
  (void)state;
  enum { MAX = 35 };
  static cuzk_g1_affine p[MAX];
  static cuzk_g2_affine q[MAX];
  uint64_t sums[MAX + 1] = {0};
  cuzk_gt base, x, y;
  cuzk_pairing_product(&base, &cuzk_g1_generator, &cuzk_g2_generator, 1);
  for (uint64_t i = 0; i < MAX; i++) {
    const uint64_t a = i % 7 == 3 ? 0 : test_rand() % 1000, b = i % 11 == 5 ? 0 : test_rand() % 1000; /* identities among them */
    multiple_g1(&p[i], a);
    multiple_g2(&q[i], b);
    sums[i + 1] = sums[i] + a * b;
  }
  static const size_t lengths[] = {0, 1, 2, 3, 4, 8, 15, 16, 17, 18, 19, 20, 34, 35};
  for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
    cuzk_pairing_product(&x, p, q, lengths[k]);
    cuzk_gt_pow_var(&y, &base, &sums[lengths[k]], 1);
    assert_true(cuzk_gt_eq(&x, &y));
  }
}

static void identities_count_as_one(void **state) {
  (void)state;
  cuzk_g1_affine p[2] = {cuzk_g1_generator, cuzk_g1_generator};
  cuzk_g2_affine q[2] = {cuzk_g2_generator, cuzk_g2_generator};
  cuzk_gt x, base;
  cuzk_pairing_product(&base, p, q, 1);
  memset(&p[1], 0, sizeof p[1]);
  cuzk_pairing_product(&x, p, q, 2);
  assert_true(cuzk_gt_eq(&x, &base));
  cuzk_pairing_product(&x, p + 1, q + 1, 1);
  assert_true(cuzk_gt_eq(&x, &cuzk_fp12_one));
  p[1] = cuzk_g1_generator;
  memset(&q[1], 0, sizeof q[1]);
  cuzk_pairing_product(&x, p, q, 2);
  assert_true(cuzk_gt_eq(&x, &base));
  cuzk_pairing_product(&x, NULL, NULL, 0);
  assert_true(cuzk_gt_eq(&x, &cuzk_fp12_one));
}

/* The exponent of the final exponentiation: (p^6 - 1)(p^2 + 1) and then three times (p^4 - p^2 + 1)/r, by plain powers. */
static void final_exponentiation_is_the_stated_power(void **state) {
  (void)state;
  cuzk_fp12 f, want, t;
  cuzk_gt got;
  cuzk_miller_loop(&f, &cuzk_g1_generator, &cuzk_g2_generator, 1);
  cuzk_fp12_inv_var(&want, &f);
  cuzk_fp12_conj(&t, &f);
  cuzk_fp12_mul(&f, &t, &want);
  cuzk_fp12_pow_var(&t, &f, cuzk_fp_modulus, 6);
  cuzk_fp12_pow_var(&t, &t, cuzk_fp_modulus, 6);
  cuzk_fp12_mul(&f, &f, &t);
  static const uint64_t e[] = { /* 3 (p^4 - p^2 + 1)/r */
      0xaf444bdcaaab2f6b, 0xefcb3800a61a66d5, 0xb116bba59a18123a, 0x554e727d129be6a3, 0x8a65dbc1cc35fe5a,
      0x6574220c23e5b6cc, 0x8c72178bc76a791c, 0xb415c7da454d4863, 0x37d47f639b68a630, 0x6a6a2b0ab1c47526,
      0x6c9ae9625394f594, 0x6163cbf00bf566e4, 0x877c5e22f2639411, 0xb0f5836ba82b62de, 0xe3ae662e47a24ea0,
      0x8d69012b6d183f47, 0xbcf13296f7a83fce, 0x7b69b9acc2cc45ea, 0x4237aa494c159cdc, 0x002e3941b8817705};
  cuzk_fp12_pow_var(&want, &f, e, sizeof e / 8);
  cuzk_miller_loop(&f, &cuzk_g1_generator, &cuzk_g2_generator, 1);
  cuzk_final_exp(&got, &f);
  assert_true(cuzk_gt_eq(&got, &want));
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generators_pair_to_the_published_value),
      cmocka_unit_test(the_pairing_is_bilinear),
      cmocka_unit_test(products_of_any_length),
      cmocka_unit_test(identities_count_as_one),
      cmocka_unit_test(final_exponentiation_is_the_stated_power),
  };
  return cmocka_run_group_tests_name("pairing", tests, NULL, NULL);
}
