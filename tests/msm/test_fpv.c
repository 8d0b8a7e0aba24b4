/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Each vector variant of Fp against the scalar reference, lane by lane, on inputs biased to extreme limbs. */
#include "base/cpu.h"
#include "ff/vec/fpv.h"
#include "testing.h"

static void biased(cuzk_fp *r) {
  uint64_t l[6];
  if (test_rand() % 8 == 0) { /* around p */
    memcpy(l, cuzk_fp_modulus, sizeof l);
    l[0] -= 1 + test_rand() % 3;
    memcpy(r->l, l, sizeof l);
    return;
  }
  const bool chunks = test_rand() % 2; /* limbs of 25 bits around half their range, where signed ones are largest */
  for (;;) {
    for (int i = 0; i < 6; i++) l[i] = chunks ? 0 : test_rand_limb();
    const uint64_t near_half = 0xffffff + test_rand() % 3;
    for (unsigned bit = 0; chunks && bit < 375; bit += 25) {
      const uint64_t v = test_rand() % 8 ? near_half : test_rand() & 0x1ffffff;
      l[bit / 64] |= v << (bit % 64);
      if (bit % 64 > 39) l[bit / 64 + 1] |= v >> (64 - bit % 64);
    }
    if (chunks) l[5] = (l[5] & ~(UINT64_C(0x3f) << 55)) | (test_rand() % 52) << 55;
    if (test_rand() % 2) l[5] %= 0x1a0111ea397fe69au;
    cuzk_fp t;
    if (cuzk_fp_from_canon(&t, l)) {
      memcpy(r->l, l, sizeof l);
      return;
    }
  }
}

#if defined(__x86_64__)
/* The number 2^384 / R' = 2^(384 - r_bits) in the form that turns a product of cuzk_fp into one of the vectors. */
static void scale_of(cuzk_fp *r, unsigned r_bits) {
  cuzk_fp two;
  cuzk_fp_from_u64(&two, 2);
  const uint64_t e = r_bits - 384;
  cuzk_fp_pow_var(r, &two, &e, 1);
  cuzk_fp_inv_var(r, r);
}

static void check_table(const struct cuzk_fpv_table *t) {
  if ((cuzk_cpu_features() & t->features) != t->features) skip();
  cuzk_fp scale;
  scale_of(&scale, t->r_bits);
  for (int round = 0; round < 4000; round++) {
    cuzk_fp a[8], b[8], c[8], d[8], r[8], e, f;
    for (int i = 0; i < 8; i++) {
      biased(&a[i]);
      biased(&b[i]);
      biased(&c[i]);
      biased(&d[i]);
    }
    t->mul(r, a, b);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_mul(&e, &a[i], &b[i]);
      cuzk_fp_mul(&e, &e, &scale);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    t->sqr(r, a);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_sqr(&e, &a[i]);
      cuzk_fp_mul(&e, &e, &scale);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    t->mul2(r, a, b, c, d);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_mul(&e, &a[i], &b[i]);
      cuzk_fp_mul(&f, &c[i], &d[i]);
      cuzk_fp_add(&e, &e, &f);
      cuzk_fp_mul(&e, &e, &scale);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    t->sqr2(r, a, b);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_sqr(&e, &a[i]);
      cuzk_fp_sqr(&f, &b[i]);
      cuzk_fp_add(&e, &e, &f);
      cuzk_fp_mul(&e, &e, &scale);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    t->sub2(r, a, b, c);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_sub(&e, &a[i], &b[i]);
      cuzk_fp_sub(&e, &e, &c[i]);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    const int k = 1 + round % 6;
    t->wide(r, a, b, k);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_mul(&e, &a[i], &b[i]);
      cuzk_fp_neg(&e, &e);
      cuzk_fp_mul(&e, &e, &scale);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    t->minus(r, a, b);
    for (int i = 0; i < 8; i++) {
      cuzk_fp_mul(&e, &a[i], &b[i]);
      cuzk_fp_neg(&e, &e);
      cuzk_fp_mul(&e, &e, &scale);
      assert_true(cuzk_fp_eq(&e, &r[i]));
    }
    t->copy(r, a);
    assert_memory_equal(r, a, sizeof a);
    t->canonical(r, a);
    assert_memory_equal(r, a, sizeof a);
  }
}

static void ifma_equals_the_reference(void **state) {
  (void)state;
  check_table(&cuzk_fpv_ifma);
}
static void avx512_equals_the_reference(void **state) {
  (void)state;
  check_table(&cuzk_fpv_avx512);
}
#endif

static void inputs_are_below_the_modulus(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    cuzk_fp a, t;
    biased(&a);
    assert_true(cuzk_fp_from_canon(&t, a.l));
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_are_below_the_modulus),
#if defined(__x86_64__)
      cmocka_unit_test(ifma_equals_the_reference),
      cmocka_unit_test(avx512_equals_the_reference),
#endif
  };
  return cmocka_run_group_tests_name("fpv", tests, NULL, NULL);
}
