/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Sums over packed scalars against the same scalars flat: lengths around words and chunks, densities, zeros and ones among the field
 *  elements. */
#include "msm/msm.h"
#include "testing.h"

#define N_MAX 9000u

static cuzk_g1_affine p1[N_MAX];
static cuzk_g2_affine p2[N_MAX];
static cuzk_fr flat[N_MAX], fields[N_MAX];
static uint64_t bits[N_MAX / 64 + 1], is_field[N_MAX / 64 + 1], density[N_MAX / 64 + 1];
static uint32_t rank[N_MAX / 64 + 1];

static enum cuzk_status fetch_g1(void *user, cuzk_g1_affine *dst, size_t first, size_t count, struct cuzk_detail *d) {
  (void)user;
  (void)d;
  memcpy(dst, p1 + first, count * sizeof *dst);
  return CUZK_OK;
}
static enum cuzk_status fetch_g2(void *user, cuzk_g2_affine *dst, size_t first, size_t count, struct cuzk_detail *d) {
  (void)user;
  (void)d;
  memcpy(dst, p2 + first, count * sizeof *dst);
  return CUZK_OK;
}

static int make_points(void **state) {
  cuzk_g1 a;
  cuzk_g2 b;
  (void)state;
  cuzk_g1_from_affine(&a, &cuzk_g1_generator);
  cuzk_g2_from_affine(&b, &cuzk_g2_generator);
  for (size_t i = 0; i < N_MAX; i++) {
    cuzk_g1_to_affine(&p1[i], &a);
    cuzk_g2_to_affine(&p2[i], &b);
    cuzk_g1_add_affine(&a, &a, &cuzk_g1_generator);
    cuzk_g2_add_affine(&b, &b, &cuzk_g2_generator);
  }
  return 0;
}

/* n scalars of which one in `one_in` is a field element; returns how many the density map has. */
static size_t draw(size_t n, unsigned one_in, bool dense) {
  size_t n_fields = 0, n_bases = 0;
  memset(bits, 0, sizeof bits);
  memset(is_field, 0, sizeof is_field);
  memset(density, 0xff, sizeof density); /* what lies behind the last scalar does not count */
  for (size_t j = 0; j < n; j++) {
    const uint64_t bit = UINT64_C(1) << (j % 64);
    if (j % 64 == 0) rank[j / 64] = (uint32_t)n_fields;
    if (one_in && test_rand() % one_in == 0) {
      is_field[j / 64] |= bit;
      const unsigned what = (unsigned)(test_rand() % 8);
      cuzk_fr *f = &fields[n_fields++];
      cuzk_fr_from_u64(f, what < 2 ? what : test_rand());
      if (what == 2) cuzk_fr_neg(f, &cuzk_fr_one);
      if (what > 4) cuzk_fr_mul(f, f, f);
      flat[j] = *f;
    } else {
      const bool one = test_rand() % 2;
      if (one) bits[j / 64] |= bit;
      flat[j] = one ? cuzk_fr_one : cuzk_fr_zero;
    }
    if (dense && test_rand() % 3 == 0) density[j / 64] &= ~bit;
    n_bases += (density[j / 64] & bit) != 0;
  }
  return n_bases;
}

static void packed_sums_are_flat_sums(void **state) {
  static const size_t lengths[] = {0, 1, 63, 64, 65, 4095, 4096, 4097, N_MAX};
  static const unsigned parts[] = {0, 1, 2, 70};
  const struct cuzk_bases_g1 b1 = {fetch_g1, NULL};
  const struct cuzk_bases_g2 b2 = {fetch_g2, NULL};
  const struct cuzk_msm_packed s = {bits, is_field, rank, fields};
  struct cuzk_pool *pool;
  (void)state;
  assert_int_equal(cuzk_pool_create(&pool, 2), CUZK_OK);
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (size_t k = 0; k < 8; k++) {
      const size_t n = lengths[i], n_bases = draw(n, parts[k / 2], k % 2);
      const uint64_t *map = k % 2 ? density : NULL;
      cuzk_g1 a, b;
      cuzk_g2 x, y;
      cuzk_g1_affine aa, ba;
      cuzk_g2_affine xa, ya;
      assert_int_equal(cuzk_msm_g1_stream(&a, &b1, n_bases, flat, n, map, pool, NULL, "", NULL), CUZK_OK);
      assert_int_equal(cuzk_msm_g1_stream_packed(&b, &b1, n_bases, &s, n, map, pool, NULL, "", NULL), CUZK_OK);
      cuzk_g1_to_affine(&aa, &a);
      cuzk_g1_to_affine(&ba, &b);
      assert_memory_equal(&aa, &ba, sizeof aa);
      assert_int_equal(cuzk_msm_g2_stream(&x, &b2, n_bases, flat, n, map, pool, NULL, "", NULL), CUZK_OK);
      assert_int_equal(cuzk_msm_g2_stream_packed(&y, &b2, n_bases, &s, n, map, pool, NULL, "", NULL), CUZK_OK);
      cuzk_g2_to_affine(&xa, &x);
      cuzk_g2_to_affine(&ya, &y);
      assert_memory_equal(&xa, &ya, sizeof xa);
      if (n == 0) continue;
      assert_int_equal(cuzk_msm_g1_stream_packed(&b, &b1, n_bases + 1, &s, n, map, pool, NULL, "", NULL), CUZK_E_ARG);
    }
  }
  cuzk_pool_destroy(&pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup(packed_sums_are_flat_sums, make_points)};
  test_seed();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
