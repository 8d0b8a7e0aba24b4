/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Every kernel that this processor runs (CUZK_CPU_MASK narrows it) against the textbook transform, bit by bit. */
#include "poly/ntt_kern.h"

#include "base/cpu.h"
#include "poly_testing.h"

const char *frv_check_scalar(unsigned n_trials);
const char *frv_check_avx2(unsigned n_trials);
const char *frv_check_avx512(unsigned n_trials);
const char *frv_check_ifma(unsigned n_trials);

static struct cuzk_pool *pool;

static void vectors_of_fr_equal_the_scalar_lane_by_lane(void **state) {
  (void)state;
  const char *wrong = frv_check_scalar(200);
  if (wrong) fail_msg("scalar: %s", wrong);
#ifdef CUZK_POLY_X86
  if (cuzk_cpu_features() & CUZK_CPU_AVX2) {
    wrong = frv_check_avx2(3000);
    if (wrong) fail_msg("avx2: %s", wrong);
  }
  if (cuzk_cpu_features() & CUZK_CPU_AVX512F) {
    wrong = frv_check_avx512(3000);
    if (wrong) fail_msg("avx512: %s", wrong);
  }
  if (cuzk_cpu_features() & CUZK_CPU_AVX512IFMA) {
    wrong = frv_check_ifma(3000);
    if (wrong) fail_msg("ifma: %s", wrong);
  }
#endif
}

/* Vectors that drive the lazy forms to their bounds, beside random ones. */
static void fill(cuzk_fr *v, size_t n, int kind) {
  cuzk_fr top; /* r - 1, the largest representation */
  memcpy(top.l, cuzk_fr_modulus, 32);
  top.l[0] -= 1;
  for (size_t i = 0; i < n; i++) {
    switch (kind) {
      case 0: v[i] = top; break;
      case 1: v[i] = i & 1 ? top : cuzk_fr_zero; break;
      case 2: v[i] = i < n / 2 ? top : cuzk_fr_zero; break;
      case 3: v[i] = cuzk_fr_zero; break;
      default: rand_fr(&v[i]);
    }
  }
}
#define N_KINDS 5

typedef enum cuzk_status transform_fn(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *p);

static void every_kernel_equals_the_textbook_2_8_to_2_13(void **state) {
  (void)state;
  static const struct {
    const char *name;
    transform_fn *fn;
  } op[] = {{"ntt", cuzk_ntt}, {"intt", cuzk_intt}, {"coset_ntt", cuzk_coset_ntt}, {"coset_intt", cuzk_coset_intt}};
  const struct cuzk_ntt_kern *kern[4];
  const size_t n_kern = cuzk_ntt_kern_list(kern);
  for (unsigned log2_n = 8; log2_n <= 13; log2_n++) {
    const size_t n = (size_t)1 << log2_n;
    struct cuzk_domain *plain, *fast;
    assert_int_equal(cuzk_domain_create_with(&plain, log2_n, NULL, 4), CUZK_OK);
    for (int kind = 0; kind < N_KINDS; kind++) {
      cuzk_fr *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *in), *abc = malloc(3 * n * sizeof *in);
      cuzk_fr *want_abc = malloc(3 * n * sizeof *in), *want[4];
      assert_true(in && out && abc && want_abc);
      fill(in, n, kind);
      for (int o = 0; o < 4; o++) {
        want[o] = copy_vec(in, n);
        assert_int_equal(op[o].fn(want[o], plain, pool), CUZK_OK);
      }
      fill(want_abc, 3 * n, kind);
      cuzk_fr *saved = copy_vec(want_abc, 3 * n);
      bool want_top, top;
      assert_int_equal(cuzk_h_poly(want_abc, want_abc + n, want_abc + 2 * n, &want_top, plain, pool), CUZK_OK);
      for (size_t k = 0; k < n_kern; k++) {
        for (unsigned max_k = 4; max_k <= CUZK_NTT_MAX_K; max_k++) {
          assert_int_equal(cuzk_domain_create_with(&fast, log2_n, kern[k], max_k), CUZK_OK);
          for (int o = 0; o < 4; o++) {
            memcpy(out, in, n * sizeof *in);
            assert_int_equal(op[o].fn(out, fast, pool), CUZK_OK);
            if (memcmp(out, want[o], n * sizeof *in) != 0)
              fail_msg("%s_%s_2^%u_max%u_kind%d differs", op[o].name, kern[k]->name, log2_n, max_k, kind);
          }
          memcpy(abc, saved, 3 * n * sizeof *in);
          assert_int_equal(cuzk_h_poly(abc, abc + n, abc + 2 * n, &top, fast, pool), CUZK_OK);
          if (top != want_top || memcmp(abc, want_abc, n * sizeof *in) != 0)
            fail_msg("h_poly_%s_2^%u_max%u_kind%d differs", kern[k]->name, log2_n, max_k, kind);
          cuzk_domain_destroy(&fast);
        }
      }
      for (int o = 0; o < 4; o++) free(want[o]);
      free(in);
      free(out);
      free(abc);
      free(want_abc);
      free(saved);
    }
    cuzk_domain_destroy(&plain);
  }
}

/* Whole passes of every length, tile by tile, on values at the upper end of what loads give (memory holds up to 2^256 - 1). */
static void tiles_of_1_to_11_stages_equal_the_scalar_kernel(void **state) {
  (void)state;
  const struct cuzk_ntt_kern *kern[4];
  const size_t n_kern = cuzk_ntt_kern_list(kern);
  cuzk_fr reduced_top, two256; /* 2^256 - 1 as it lies in memory, reduced */
  uint8_t ones[64] = {0};
  memset(ones, 0xff, 32);
  cuzk_fr_from_le64_reduce(&two256, ones);
  uint64_t canon[4];
  cuzk_fr_to_canon(canon, &two256);
  memcpy(reduced_top.l, canon, 32);
  for (size_t q = 0; q + 1 < n_kern; q++) {
    const struct cuzk_ntt_kern *fast = kern[q], *ref = kern[n_kern - 1];
    for (unsigned k = 1; k <= CUZK_NTT_MAX_K; k++) {
      for (int mode = 0; mode < 6; mode++) {
        const bool inverse = mode & 1, plain_start = mode < 2, with_factors = mode >= 4;
        const size_t n = (size_t)1 << k;
        const unsigned lanes = fast->n_lanes;
        cuzk_fr *w = rand_vec(n), *tw = malloc(n * sizeof *w), *raw = malloc(n * lanes * sizeof *w), f[8], twist;
        cuzk_fr *got = malloc(n * lanes * sizeof *w), *want = malloc(n * lanes * sizeof *w);
        assert_true(tw && raw && got && want);
        if (plain_start) w[1] = cuzk_fr_one;
        if (plain_start && k > 1) w[2] = cuzk_fr_one;
        for (unsigned l = 0; l < 8; l++) rand_fr(&f[l]);
        for (size_t i = 0; i < n * lanes; i++) {
          if (test_rand() & 1) {
            memset(&raw[i], 0xff, sizeof *raw);
            want[i] = reduced_top;
          } else {
            rand_fr(&raw[i]);
            want[i] = raw[i];
          }
        }
        const struct cuzk_ntt_kern *which[2] = {fast, ref};
        for (int side = 0; side < 2; side++) {
          const struct cuzk_ntt_kern *kk = which[side];
          cuzk_fr_from_u64(&twist, UINT64_C(1) << kk->twist);
          for (size_t i = 0; i < n; i++) cuzk_fr_mul(&tw[i], &w[i], &twist);
          void *table = malloc(n * kk->const_bytes), *tile = NULL, *g = NULL;
          assert_non_null(table);
          assert_int_equal(posix_memalign(&tile, 64, n * kk->vec_bytes), 0);
          assert_int_equal(posix_memalign(&g, 64, k * kk->vec_bytes), 0);
          kk->constants(table, tw, n);
          for (unsigned from = 0; from < lanes; from += kk->n_lanes) {
            cuzk_fr fl[8];
            for (unsigned l = 0; l < kk->n_lanes; l++) cuzk_fr_mul(&fl[l], &f[from + l], &twist);
            kk->factors(g, k, fl);
            kk->load_columns(tile, (side ? want : raw) + from, lanes, n);
            (inverse ? kk->dif : kk->dit)(tile, k, table, with_factors ? g : NULL, plain_start);
            kk->store_columns((side ? want : got) + from, lanes, tile, n, true);
          }
          free(table);
          free(tile);
          free(g);
        }
        if (memcmp(got, want, n * lanes * sizeof *got) != 0) fail_msg("%s_k%u_mode%d differs", fast->name, k, mode);
        free(w);
        free(tw);
        free(raw);
        free(got);
        free(want);
      }
    }
  }
}

static void bad_parameters_are_refused(void **state) {
  (void)state;
  struct cuzk_domain *d;
  assert_int_equal(cuzk_domain_create_with(&d, 10, cuzk_ntt_kern_best(), 3), CUZK_E_ARG);
  assert_null(d);
  assert_int_equal(cuzk_domain_create_with(&d, 10, cuzk_ntt_kern_best(), CUZK_NTT_MAX_K + 1), CUZK_E_ARG);
  assert_null(d);
  assert_int_equal(cuzk_domain_create_with(&d, 32, cuzk_ntt_kern_best(), 8), CUZK_E_ARG);
  assert_null(d);
}

int main(void) {
  test_seed();
  if (cuzk_pool_create(&pool, 0) != CUZK_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_of_fr_equal_the_scalar_lane_by_lane),
      cmocka_unit_test(tiles_of_1_to_11_stages_equal_the_scalar_kernel),
      cmocka_unit_test(every_kernel_equals_the_textbook_2_8_to_2_13),
      cmocka_unit_test(bad_parameters_are_refused),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  return failed;
}
