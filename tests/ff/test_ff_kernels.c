/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every entry of the kernel table that this machine can run against the portable reference: exact limbs, outputs that are an input,
 * words beside the output, and what a function must leave alone by the calling convention. */
#include "base/cpu.h"
#include "ff/fp.h"
#include "ff/fr.h"
#include "ff/ops.h"
#include "testing.h"

#define GUARD UINT64_C(0xa5a5a5a55a5a5a5a)

typedef void kernel(void);

#if defined(__x86_64__)
int checked_call(kernel *fn, void *r, const void *a, const void *b);
#else
typedef void kernel3(uint64_t *r, const uint64_t *a, const uint64_t *b);
static int checked_call(kernel *fn, void *r, const void *a, const void *b) {
  ((kernel3 *)fn)(r, a, b);
  return 0;
}
#endif

struct field {
  const char *name;
  int limbs; /* of one coordinate */
  int coordinates;
  const uint64_t *modulus;
};

/* One coordinate, biased: 0, 1, the largest values, values around the half, limbs of zeros or ones. */
static void draw(uint64_t *x, int n, const uint64_t *modulus) {
  switch (test_rand() % 8) {
    case 0: memset(x, 0, 8 * (size_t)n); x[0] = test_rand() % 3; return;
    case 1: memcpy(x, modulus, 8 * (size_t)n); x[0] -= 1 + test_rand() % 3; break;
    case 2:
      for (int i = 0; i < n; i++) x[i] = (modulus[i] >> 1) | (i + 1 < n ? modulus[i + 1] << 63 : 0);
      x[0] += test_rand() % 3;
      break;
    default:
      for (int i = 0; i < n; i++) x[i] = test_rand_limb();
  }
  for (;;) { /* below the modulus: shrink the top limb until it is */
    for (int i = n - 1; i >= 0; i--) {
      if (x[i] < modulus[i]) return;
      if (x[i] > modulus[i]) break;
      if (i == 0) break;
    }
    x[n - 1] = x[n - 1] > modulus[n - 1] ? x[n - 1] % (modulus[n - 1] + 1) : x[n - 1] - 1;
  }
}

static void draw_all(uint64_t *x, const struct field *f) {
  for (int c = 0; c < f->coordinates; c++) draw(x + c * f->limbs, f->limbs, f->modulus);
}

/* arity 2: (r, a, b); arity 1: (r, a) */
static void compare(const char *op, const struct field *f, int arity, kernel *ref, kernel *fn) {
  const size_t n = (size_t)(f->limbs * f->coordinates), bytes = 8 * n;
  uint64_t a[12], b[12], want[12], a0[12], b0[12], buf[16];
  for (int i = 0; i < 20000; i++) {
    draw_all(a, f);
    draw_all(b, f);
    if (i % 16 == 0) memcpy(b, a, bytes);
    memcpy(a0, a, bytes);
    memcpy(b0, b, bytes);
    (void)checked_call(ref, want, a, b);
    for (int mode = 0; mode < 3; mode++) {
      uint64_t *r = buf + 2;
      for (int k = 0; k < 16; k++) buf[k] = GUARD;
      const uint64_t *pa = a, *pb = b;
      if (mode == 1) {
        memcpy(r, a, bytes);
        pa = r;
      } else if (mode == 2) {
        if (arity == 1) continue;
        memcpy(r, b, bytes);
        pb = r;
      }
      const int damaged = checked_call(fn, r, pa, pb);
      if (damaged) fail_msg("%s_%s: registers damaged: %x", f->name, op, (unsigned)damaged);
      if (memcmp(r, want, bytes) != 0) fail_msg("%s_%s: differs from the reference, aliasing %d, round %d", f->name, op, mode, i);
      for (size_t k = 0; k < 16; k++)
        if ((k < 2 || k >= 2 + n) && buf[k] != GUARD) fail_msg("%s_%s: wrote word %d", f->name, op, (int)k - 2);
      if (memcmp(a, a0, bytes) != 0 || memcmp(b, b0, bytes) != 0) fail_msg("%s_%s: wrote an input", f->name, op);
    }
  }
}

#define COMPARE(field, op, arity) compare(#op, &field, arity, (kernel *)ref.op, (kernel *)o.op)

static void table_against_reference(unsigned cpu) {
  const struct field fp = {"fp", 6, 1, cuzk_fp_modulus}, fp2 = {"fp2", 6, 2, cuzk_fp_modulus}, fr = {"fr", 4, 1, cuzk_fr_modulus};
  struct cuzk_ff_ops ref, o;
  cuzk_ff_ops_init_portable(&ref);
  cuzk_ff_ops_init(&o, cpu);
  COMPARE(fp, fp_add, 2);
  COMPARE(fp, fp_sub, 2);
  COMPARE(fp, fp_mul, 2);
  COMPARE(fp, fp_sqr, 1);
  COMPARE(fp2, fp2_mul, 2);
  COMPARE(fp2, fp2_sqr, 1);
  COMPARE(fr, fr_add, 2);
  COMPARE(fr, fr_sub, 2);
  COMPARE(fr, fr_mul, 2);
  COMPARE(fr, fr_sqr, 1);
}

static void baseline_kernels_equal_the_reference(void **state) {
  (void)state;
  table_against_reference(0);
}

static void mulx_kernels_equal_the_reference(void **state) {
  (void)state;
  if (!(cuzk_cpu_features() & CUZK_CPU_BMI2_ADX)) skip();
  table_against_reference(CUZK_CPU_BMI2_ADX);
}

/* The reduction of wide random values relies on it: the right factor of an Fr product may be any 256-bit integer. */
static void fr_product_takes_an_unreduced_right_factor(void **state) {
  (void)state;
  struct cuzk_ff_ops ref, o;
  cuzk_ff_ops_init_portable(&ref);
  cuzk_ff_ops_init(&o, cuzk_cpu_features());
  for (int i = 0; i < 20000; i++) {
    uint64_t a[4], b[4], x[4], y[4];
    draw(a, 4, cuzk_fr_modulus);
    for (int k = 0; k < 4; k++) b[k] = i % 3 == 0 ? UINT64_MAX : test_rand_limb();
    ref.fr_mul(x, a, b);
    o.fr_mul(y, a, b);
    assert_memory_equal(x, y, 32);
    assert_true(cuzk_fr_is_reduced((const cuzk_fr *)x));
  }
}

/* Numbers of terms, distances, and values up to the largest sum there is. */
static void dots_equal_sums_of_products(void **state) {
  (void)state;
  enum { MAX_N = 2 * CUZK_FR_DOT_MAX + 3, MAX_STRIDE = 3 };
  struct cuzk_ff_ops ref, o;
  cuzk_ff_ops_init_portable(&ref);
  cuzk_ff_ops_init(&o, cuzk_cpu_features());
  static uint64_t a[MAX_N][4], b[MAX_N * MAX_STRIDE][4];
  const uint64_t top[4] = {cuzk_fr_modulus[0] - 1, cuzk_fr_modulus[1], cuzk_fr_modulus[2], cuzk_fr_modulus[3]};
  for (int i = 0; i < 5000; i++) {
    const size_t n = test_rand() % (MAX_N + 1), stride = 1 + test_rand() % MAX_STRIDE;
    uint64_t x[6] = {1, 0, 0, 0, 0, 1}, y[4], want[4] = {0}, p[4];
    for (size_t k = 0; k < MAX_N; k++) draw(a[k], 4, cuzk_fr_modulus);
    for (size_t k = 0; k < MAX_N * MAX_STRIDE; k++) draw(b[k], 4, cuzk_fr_modulus);
    if (i % 4 == 0) {
      for (size_t k = 0; k < MAX_N; k++) memcpy(a[k], top, sizeof top);
      for (size_t k = 0; k < MAX_N * MAX_STRIDE; k++) memcpy(b[k], top, sizeof top);
    }
    for (size_t k = 0; k < n; k++) {
      ref.fr_mul(p, a[k], b[k * stride]);
      ref.fr_add(want, want, p);
    }
    cuzk_fr r;
    cuzk_fr_dot(&r, (const cuzk_fr *)a, (const cuzk_fr *)b, stride, n);
    assert_memory_equal(&r, want, 32);
    if (n == 0 || n > CUZK_FR_DOT_MAX) continue;
    o.fr_dot(x + 1, a[0], b[0], 32 * stride, n);
    ref.fr_dot(y, a[0], b[0], 32 * stride, n);
    assert_memory_equal(x + 1, want, 32);
    assert_memory_equal(y, want, 32);
    assert_true(x[0] == 1 && x[5] == 1);
  }
}

static void the_mask_switches_kernels_off(void **state) {
  (void)state;
  struct cuzk_ff_ops none, all;
  cuzk_ff_ops_init(&none, 0);
  cuzk_ff_ops_init(&all, CUZK_CPU_BMI2_ADX);
#if defined(__x86_64__)
  assert_true(none.fp_mul != all.fp_mul && none.fr_mul != all.fr_mul && none.fp2_mul != all.fp2_mul);
#endif
  struct cuzk_ff_ops mine;
  cuzk_ff_ops_init(&mine, cuzk_cpu_features());
  assert_true(mine.fp_mul == cuzk_ff_ops.fp_mul && mine.fr_mul == cuzk_ff_ops.fr_mul);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(baseline_kernels_equal_the_reference),
      cmocka_unit_test(mulx_kernels_equal_the_reference),
      cmocka_unit_test(fr_product_takes_an_unreduced_right_factor),
      cmocka_unit_test(dots_equal_sums_of_products),
      cmocka_unit_test(the_mask_switches_kernels_off),
  };
  return cmocka_run_group_tests_name("ff kernels", tests, NULL, NULL);
}
