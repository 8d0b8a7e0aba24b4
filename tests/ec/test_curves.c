/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ec/g1.h"
#include "ec/g2.h"
#include "testing.h"

static void draw_fr(cuzk_fr *x) {
  uint64_t a[4];
  do {
    for (int i = 0; i < 4; i++) a[i] = test_rand_limb();
    a[3] &= UINT64_C(0x7fffffffffffffff);
  } while (!cuzk_fr_from_canon(x, a));
}

/* Some point of the curve, hardly ever of the subgroup. */
static void draw_g1(cuzk_g1_affine *p) {
  uint8_t b[48];
  do {
    for (int i = 0; i < 48; i++) b[i] = (uint8_t)test_rand();
    b[0] = (uint8_t)(0x80 | (b[0] & 0x2f)); /* below 2^380, either root */
  } while (cuzk_g1_decompress(p, b) != CUZK_OK);
}
static void draw_g2(cuzk_g2_affine *p) {
  uint8_t b[96];
  do {
    for (int i = 0; i < 96; i++) b[i] = (uint8_t)test_rand();
    b[0] = (uint8_t)(0x80 | (b[0] & 0x2f));
    b[48] &= 0x0f;
  } while (cuzk_g2_decompress(p, b) != CUZK_OK);
}

/* (z - 1)^2/3 and (z^8 - 4z^7 + 5z^6 - 4z^4 + 6z^3 - 4z^2 - 4z + 13)/9 */
static const uint64_t h1[] = {0x8c00aaab0000aaab, 0x396c8c005555e156};
static const uint64_t h2[] = {0xcf1c38e31c7238e5, 0x1616ec6e786f0c70, 0x21537e293a6691ae, 0xa628f1cb4d9e82ef,
                              0xa68a205b2e5a7ddf, 0xcd91de4547085aba, 0x091d50792876a202, 0x05d543a95414e7f1};

#define GROUP_LAWS(G, COFACTOR)                                                                                            \
  static void G##_obeys_the_group_laws(void **state) {                                                                     \
    (void)state;                                                                                                           \
    for (int i = 0; i < 40; i++) {                                                                                         \
      cuzk_##G##_affine pa, qa, t;                                                                                         \
      cuzk_##G p, q, s, x, y, o = cuzk_##G##_identity;                                                                     \
      draw_##G(&pa);                                                                                                       \
      draw_##G(&qa);                                                                                                       \
      cuzk_##G##_from_affine(&p, &pa);                                                                                     \
      cuzk_##G##_from_affine(&q, &qa);                                                                                     \
      cuzk_##G##_dbl(&s, &p); /* another Z */                                                                              \
      cuzk_##G##_add(&s, &s, &q);                                                                                          \
      cuzk_##G##_add(&x, &p, &q);                                                                                          \
      cuzk_##G##_add(&y, &q, &p);                                                                                          \
      assert_true(cuzk_##G##_eq(&x, &y));                                                                                  \
      cuzk_##G##_add(&x, &x, &s); /* (p + q) + s = p + (q + s) */                                                          \
      cuzk_##G##_add(&y, &q, &s);                                                                                          \
      cuzk_##G##_add(&y, &p, &y);                                                                                          \
      assert_true(cuzk_##G##_eq(&x, &y));                                                                                  \
      cuzk_##G##_add_affine(&x, &s, &qa);                                                                                  \
      cuzk_##G##_add(&y, &s, &q);                                                                                          \
      assert_true(cuzk_##G##_eq(&x, &y));                                                                                  \
      cuzk_##G##_to_affine(&t, &x);                                                                                        \
      assert_true(cuzk_##G##_affine_on_curve(&t));                                                                         \
      cuzk_##G##_from_affine(&y, &t);                                                                                      \
      assert_true(cuzk_##G##_eq(&x, &y));                                                                                  \
      /* equal, opposite, identity */                                                                                      \
      cuzk_##G##_add(&x, &s, &s);                                                                                          \
      cuzk_##G##_dbl(&y, &s);                                                                                              \
      assert_true(cuzk_##G##_eq(&x, &y));                                                                                  \
      cuzk_##G##_add_affine(&x, &p, &pa);                                                                                  \
      cuzk_##G##_dbl(&y, &p);                                                                                              \
      assert_true(cuzk_##G##_eq(&x, &y));                                                                                  \
      cuzk_##G##_neg(&x, &s);                                                                                              \
      cuzk_##G##_add(&x, &x, &s);                                                                                          \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      cuzk_##G##_affine_neg(&t, &pa);                                                                                      \
      cuzk_##G##_add_affine(&x, &p, &t);                                                                                   \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      cuzk_##G##_add(&x, &o, &s);                                                                                          \
      assert_true(cuzk_##G##_eq(&x, &s));                                                                                  \
      cuzk_##G##_add(&x, &s, &o);                                                                                          \
      assert_true(cuzk_##G##_eq(&x, &s));                                                                                  \
      cuzk_##G##_add_affine(&x, &o, &pa);                                                                                  \
      assert_true(cuzk_##G##_eq(&x, &p));                                                                                  \
      cuzk_##G##_to_affine(&t, &o);                                                                                        \
      assert_true(cuzk_##G##_affine_is_identity(&t));                                                                      \
      cuzk_##G##_add_affine(&x, &s, &t);                                                                                   \
      assert_true(cuzk_##G##_eq(&x, &s));                                                                                  \
      cuzk_##G##_dbl(&x, &o);                                                                                              \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      assert_true(cuzk_##G##_eq(&x, &o));                                                                                  \
      assert_false(cuzk_##G##_eq(&x, &s));                                                                                 \
      assert_false(cuzk_##G##_eq(&s, &x));                                                                                 \
      memset(&x, 0, sizeof x); /* any X, Y with Z = 0 is the identity */                                                   \
      cuzk_##G##_add(&y, &x, &s);                                                                                          \
      assert_true(cuzk_##G##_eq(&y, &s));                                                                                  \
      pa.y = pa.x;                                                                                                         \
      assert_false(cuzk_##G##_affine_on_curve(&pa));                                                                       \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_scalars_distribute(void **state) {                                                                       \
    (void)state;                                                                                                           \
    for (int i = 0; i < 12; i++) {                                                                                         \
      cuzk_fr k, l, m;                                                                                                     \
      cuzk_##G p, x, y, z;                                                                                                 \
      uint64_t e[4];                                                                                                       \
      cuzk_##G##_from_affine(&p, &cuzk_##G##_generator);                                                                   \
      draw_fr(&k);                                                                                                         \
      draw_fr(&l);                                                                                                         \
      if (i == 0) k = cuzk_fr_zero;                                                                                        \
      if (i == 1) k = cuzk_fr_one;                                                                                         \
      if (i == 2) cuzk_fr_neg(&k, &cuzk_fr_one);                                                                           \
      cuzk_fr_add(&m, &k, &l);                                                                                             \
      cuzk_##G##_mul_var(&x, &p, &k);                                                                                      \
      cuzk_##G##_mul_var(&y, &p, &l);                                                                                      \
      cuzk_##G##_add(&x, &x, &y);                                                                                          \
      cuzk_##G##_mul_var(&z, &p, &m);                                                                                      \
      assert_true(cuzk_##G##_eq(&x, &z));                                                                                  \
      cuzk_fr_mul(&m, &k, &l); /* k (l p) = (k l) p; the point has another Z now */                                        \
      cuzk_##G##_mul_ct(&x, &y, &k);                                                                                       \
      cuzk_##G##_mul_var(&z, &p, &m);                                                                                      \
      assert_true(cuzk_##G##_eq(&x, &z));                                                                                  \
      z = y;                                                                                                               \
      cuzk_##G##_mul_ct(&z, &z, &k);                                                                                       \
      assert_true(cuzk_##G##_eq(&x, &z));                                                                                  \
      cuzk_fr_to_canon(e, &k);                                                                                             \
      cuzk_##G##_mul_limbs_var(&z, &y, e, 4);                                                                              \
      assert_true(cuzk_##G##_eq(&x, &z));                                                                                  \
      cuzk_##G##_mul_var(&x, &cuzk_##G##_identity, &k);                                                                    \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      cuzk_##G##_mul_ct(&x, &cuzk_##G##_identity, &k);                                                                     \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      memset(&z, 0, sizeof z);                                                                                             \
      cuzk_##G##_mul_ct(&x, &z, &k);                                                                                       \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      cuzk_##G##_mul_limbs_var(&x, &p, NULL, 0);                                                                           \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_small_scalars_count(void **state) {                                                                      \
    (void)state;                                                                                                           \
    cuzk_##G p, sum = cuzk_##G##_identity, x;                                                                              \
    cuzk_##G##_from_affine(&p, &cuzk_##G##_generator);                                                                     \
    for (uint64_t i = 0; i < 70; i++) {                                                                                    \
      cuzk_fr k;                                                                                                           \
      cuzk_fr_from_u64(&k, i);                                                                                             \
      cuzk_##G##_mul_limbs_var(&x, &p, &i, 1);                                                                             \
      assert_true(cuzk_##G##_eq(&x, &sum));                                                                                \
      cuzk_##G##_mul_ct(&x, &p, &k);                                                                                       \
      assert_true(cuzk_##G##_eq(&x, &sum));                                                                                \
      cuzk_##G##_add(&sum, &sum, &p);                                                                                      \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_subgroup_test_is_exact_on_samples(void **state) {                                                        \
    (void)state;                                                                                                           \
    cuzk_##G x;                                                                                                            \
    cuzk_##G##_affine p, q, o;                                                                                             \
    assert_true(cuzk_##G##_affine_on_curve(&cuzk_##G##_generator));                                                        \
    assert_true(cuzk_##G##_affine_in_subgroup(&cuzk_##G##_generator));                                                     \
    cuzk_##G##_to_affine(&o, &cuzk_##G##_identity);                                                                        \
    assert_true(cuzk_##G##_affine_on_curve(&o));                                                                           \
    assert_true(cuzk_##G##_affine_in_subgroup(&o));                                                                        \
    for (int i = 0; i < 25; i++) {                                                                                         \
      draw_##G(&p);                                                                                                        \
      cuzk_##G##_from_affine(&x, &p);                                                                                      \
      cuzk_##G##_mul_limbs_var(&x, &x, cuzk_fr_modulus, 4);                                                                \
      assert_int_equal(cuzk_##G##_affine_in_subgroup(&p), cuzk_##G##_is_identity(&x));                                     \
      cuzk_##G##_to_affine(&q, &x); /* order divides the cofactor */                                                       \
      assert_int_equal(cuzk_##G##_affine_in_subgroup(&q), cuzk_##G##_is_identity(&x));                                     \
      cuzk_##G##_mul_limbs_var(&x, &x, COFACTOR, sizeof COFACTOR / 8);                                                     \
      assert_true(cuzk_##G##_is_identity(&x));                                                                             \
      cuzk_##G##_from_affine(&x, &p);                                                                                      \
      cuzk_##G##_mul_limbs_var(&x, &x, COFACTOR, sizeof COFACTOR / 8);                                                     \
      cuzk_##G##_to_affine(&q, &x);                                                                                        \
      assert_true(cuzk_##G##_affine_in_subgroup(&q));                                                                      \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_batch_normalisation_equals_single_ones(void **state) {                                                   \
    (void)state;                                                                                                           \
    cuzk_##G p[24];                                                                                                        \
    cuzk_##G##_affine a[24], t;                                                                                            \
    cuzk_##G##_from_affine(&p[0], &cuzk_##G##_generator);                                                                  \
    for (int i = 1; i < 24; i++) cuzk_##G##_dbl(&p[i], &p[i - 1]);                                                         \
    p[0] = cuzk_##G##_identity;                                                                                            \
    p[7] = p[8] = cuzk_##G##_identity;                                                                                     \
    memset(&p[23], 0, sizeof p[23]);                                                                                       \
    for (size_t n = 0; n <= 24; n += 3) {                                                                                  \
      assert_int_equal(cuzk_##G##_to_affine_batch(a, p, n), CUZK_OK);                                                      \
      for (size_t i = 0; i < n; i++) {                                                                                     \
        cuzk_##G##_to_affine(&t, &p[i]);                                                                                   \
        assert_true(cuzk_##G##_affine_eq(&t, &a[i]));                                                                      \
      }                                                                                                                    \
    }                                                                                                                      \
  }

GROUP_LAWS(g1, h1)
GROUP_LAWS(g2, h2)

static void g1_endomorphism_multiplies_by_lambda(void **state) {
  (void)state;
  /* formats specification 1.6: (beta x, y) = [z^2 - 1](x, y) */
  static const uint8_t beta_be[48] = {0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x99, 0xec, 0x02, 0x40, 0x86, 0x63, 0xd4, 0xde, 0x85,
                                      0xaa, 0x0d, 0x85, 0x7d, 0x89, 0x75, 0x9a, 0xd4, 0x89, 0x7d, 0x29, 0x65, 0x0f, 0xb8, 0x5f, 0x9b,
                                      0x40, 0x94, 0x27, 0xeb, 0x4f, 0x49, 0xff, 0xfd, 0x8b, 0xfd, 0x00, 0x00, 0x00, 0x00, 0xaa, 0xac};
  static const uint64_t lambda[2] = {0x00000000ffffffff, 0xac45a4010001a402};
  cuzk_fp beta;
  cuzk_g1 p, x, y;
  assert_true(cuzk_fp_from_be(&beta, beta_be));
  cuzk_g1_from_affine(&p, &cuzk_g1_generator);
  cuzk_g1_mul_limbs_var(&x, &p, lambda, 2);
  y = p;
  cuzk_fp_mul(&y.x, &y.x, &beta);
  assert_true(cuzk_g1_eq(&x, &y));
}

static void g1_points_with_x_zero_have_order_three(void **state) {
  (void)state;
  cuzk_g1_affine p = {cuzk_fp_zero, cuzk_fp_zero};
  cuzk_g1 j, d;
  cuzk_fp_from_u64(&p.y, 2);
  for (int s = 0; s < 2; s++) {
    assert_true(cuzk_g1_affine_on_curve(&p));
    assert_false(cuzk_g1_affine_in_subgroup(&p));
    cuzk_g1_from_affine(&j, &p);
    cuzk_g1_dbl(&d, &j);
    cuzk_g1_neg(&d, &d);
    assert_true(cuzk_g1_eq(&d, &j));
    const uint64_t three = 3;
    cuzk_g1_mul_limbs_var(&d, &j, &three, 1);
    assert_true(cuzk_g1_is_identity(&d));
    cuzk_fr k;
    cuzk_fr_from_u64(&k, 3);
    cuzk_g1_mul_ct(&d, &j, &k);
    assert_true(cuzk_g1_is_identity(&d));
    /* neither point plus the generator is in the subgroup */
    cuzk_g1_add_affine(&d, &j, &cuzk_g1_generator);
    cuzk_g1_affine a;
    cuzk_g1_to_affine(&a, &d);
    assert_true(cuzk_g1_affine_on_curve(&a));
    assert_false(cuzk_g1_affine_in_subgroup(&a));
    cuzk_g1_affine_neg(&p, &p);
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(g1_obeys_the_group_laws),
      cmocka_unit_test(g2_obeys_the_group_laws),
      cmocka_unit_test(g1_scalars_distribute),
      cmocka_unit_test(g2_scalars_distribute),
      cmocka_unit_test(g1_small_scalars_count),
      cmocka_unit_test(g2_small_scalars_count),
      cmocka_unit_test(g1_subgroup_test_is_exact_on_samples),
      cmocka_unit_test(g2_subgroup_test_is_exact_on_samples),
      cmocka_unit_test(g1_batch_normalisation_equals_single_ones),
      cmocka_unit_test(g2_batch_normalisation_equals_single_ones),
      cmocka_unit_test(g1_endomorphism_multiplies_by_lambda),
      cmocka_unit_test(g1_points_with_x_zero_have_order_three),
  };
  return cmocka_run_group_tests_name("curves", tests, NULL, NULL);
}
