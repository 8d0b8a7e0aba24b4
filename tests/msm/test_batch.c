/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every batch table of this machine against the complete formulas of ec/, exceptional pairs in every lane included. */
#include "base/alloc.h"
#include "base/cpu.h"
#include "ec/g1.h"
#include "ec/g2.h"
#include "msm/batch.h"
#include "msm/sums.h"
#include "testing.h"

#define POINTS 5000
#define PAIRS 4500

static void *aligned(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  assert_non_null(p);
  memset(p, 0xa5, bytes);
  return p;
}

#define B_G(x) cuzk_g1_##x
#define B_FN(x) g1_##x
#define B_AFFINE cuzk_g1_affine
#define B_JAC cuzk_g1
#include "test_batch_tmpl.h"
#undef B_G
#undef B_FN
#undef B_AFFINE
#undef B_JAC

#define B_G(x) cuzk_g2_##x
#define B_FN(x) g2_##x
#define B_AFFINE cuzk_g2_affine
#define B_JAC cuzk_g2
#include "test_batch_tmpl.h"

static void portable_g1(void **state) {
  (void)state;
  g1_check(&cuzk_batch_g1_portable);
}
static void portable_g2(void **state) {
  (void)state;
  g2_check(&cuzk_batch_g2_portable);
}

#if defined(__x86_64__)
static void need(unsigned features) {
  if ((cuzk_cpu_features() & features) != features) skip();
}
static void ifma_g1(void **state) {
  (void)state;
  need(CUZK_CPU_AVX512IFMA);
  g1_check(&cuzk_batch_g1_ifma);
}
static void ifma_g2(void **state) {
  (void)state;
  need(CUZK_CPU_AVX512IFMA);
  g2_check(&cuzk_batch_g2_ifma);
}
static void avx512_g1(void **state) {
  (void)state;
  need(CUZK_CPU_AVX512F);
  g1_check(&cuzk_batch_g1_avx512);
}
static void avx512_g2(void **state) {
  (void)state;
  need(CUZK_CPU_AVX512F);
  g2_check(&cuzk_batch_g2_avx512);
}
#endif

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(portable_g1), cmocka_unit_test(portable_g2),
#if defined(__x86_64__)
      cmocka_unit_test(ifma_g1),     cmocka_unit_test(ifma_g2),     cmocka_unit_test(avx512_g1), cmocka_unit_test(avx512_g2),
#endif
  };
  return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
