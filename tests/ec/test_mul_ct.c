/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Multiplication by a secret: whatever the scalar, the same field operations run on the same addresses in the same order. The kernel
 * table is replaced by one that records each call. (What a kernel does inside is free of branches by construction.) */
#include "ec/g1.h"
#include "ec/g2.h"
#include "ff/ops.h"
#include "testing.h"

static struct cuzk_ff_ops real;
static uint64_t trace, calls;

static void record(uint64_t op, const void *r, const void *a, const void *b) {
  const uint64_t w[4] = {op, (uint64_t)(uintptr_t)r, (uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b};
  for (int i = 0; i < 4; i++) trace = (trace ^ w[i]) * UINT64_C(0x100000001b3) + 0x9e3779b9u;
  calls++;
}

#define TRACED2(op, id)                                                       \
  static void t_##op(uint64_t *r, const uint64_t *a, const uint64_t *b) {     \
    record(id, r, a, b);                                                      \
    real.op(r, a, b);                                                         \
  }
#define TRACED1(op, id)                                                       \
  static void t_##op(uint64_t *r, const uint64_t *a) {                        \
    record(id, r, a, NULL);                                                   \
    real.op(r, a);                                                            \
  }
TRACED2(fp_add, 1)
TRACED2(fp_sub, 2)
TRACED2(fp_mul, 3)
TRACED1(fp_sqr, 4)
TRACED2(fp2_mul, 5)
TRACED1(fp2_sqr, 6)
TRACED2(fr_add, 7)
TRACED2(fr_sub, 8)
TRACED2(fr_mul, 9)
TRACED1(fr_sqr, 10)

static int start_tracing(void **state) {
  (void)state;
  real = cuzk_ff_ops;
  cuzk_ff_ops = (struct cuzk_ff_ops){.fp_add = t_fp_add, .fp_sub = t_fp_sub, .fp_mul = t_fp_mul, .fp_sqr = t_fp_sqr,
                                     .fp2_mul = t_fp2_mul, .fp2_sqr = t_fp2_sqr, .fr_add = t_fr_add, .fr_sub = t_fr_sub,
                                     .fr_mul = t_fr_mul, .fr_sqr = t_fr_sqr};
  return 0;
}

static int stop_tracing(void **state) {
  (void)state;
  cuzk_ff_ops = real;
  return 0;
}

static void scalar(cuzk_fr *k, int i) {
  switch (i) {
    case 0: *k = cuzk_fr_zero; break;
    case 1: *k = cuzk_fr_one; break;
    case 2: cuzk_fr_neg(k, &cuzk_fr_one); break;
    case 3: cuzk_fr_from_u64(k, UINT64_MAX); break;
    default: {
      uint8_t b[64];
      for (int j = 0; j < 64; j++) b[j] = (uint8_t)test_rand();
      cuzk_fr_from_le64_reduce(k, b);
    }
  }
}

#define SAME_TRACE(G)                                                         \
  static void G##_operations_do_not_depend_on_the_scalar(void **state) {      \
    (void)state;                                                              \
    cuzk_##G p, r;                                                            \
    cuzk_fr k;                                                                \
    uint64_t want = 0, n = 0;                                                 \
    cuzk_##G##_from_affine(&p, &cuzk_##G##_generator);                        \
    for (int i = 0; i < 12; i++) {                                            \
      scalar(&k, i);                                                          \
      trace = calls = 0;                                                      \
      cuzk_##G##_mul_ct(&r, &p, &k);                                          \
      if (i == 0) want = trace, n = calls;                                    \
      assert_true(calls > 1000);                                              \
      assert_int_equal(calls, n);                                             \
      assert_true(trace == want);                                             \
    }                                                                         \
    /* the recorder does notice: the variable-time function differs */        \
    trace = calls = 0;                                                        \
    scalar(&k, 0);                                                            \
    cuzk_##G##_mul_var(&r, &p, &k);                                           \
    want = trace;                                                             \
    trace = calls = 0;                                                        \
    scalar(&k, 9);                                                            \
    cuzk_##G##_mul_var(&r, &p, &k);                                           \
    assert_true(trace != want);                                               \
  }

SAME_TRACE(g1)
SAME_TRACE(g2)

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(g1_operations_do_not_depend_on_the_scalar),
      cmocka_unit_test(g2_operations_do_not_depend_on_the_scalar),
  };
  return cmocka_run_group_tests_name("mul ct", tests, start_tracing, stop_tracing);
}
