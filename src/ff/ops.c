/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/ops.h"

#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "ff/fp.h"
#include "ff/fr.h"

#define MONT_N 6
#define MONT_FN(x) fp_##x##_c
#define MONT_MODULUS cuzk_fp_modulus
#define MONT_INV 0x89f3fffcfffcfffdu
#include "ff/mont_tmpl.h"
#undef MONT_N
#undef MONT_FN
#undef MONT_MODULUS
#undef MONT_INV
#define MONT_N 4
#define MONT_FN(x) fr_##x##_c
#define MONT_MODULUS cuzk_fr_modulus
#define MONT_INV 0xfffffffeffffffffu
#include "ff/mont_tmpl.h"

static void fp_sqr_c(uint64_t r[6], const uint64_t a[6]) { fp_mul_c(r, a, a); }
static void fr_dot_c(uint64_t r[4], const uint64_t *a, const uint64_t *b, size_t stride, size_t n) {
  uint64_t sum[4], x[4];
  fr_mul_c(sum, a, b);
  for (size_t i = 1; i < n; i++) {
    fr_mul_c(x, a + 4 * i, b + i * (stride / 8));
    fr_add_c(sum, sum, x);
  }
  memcpy(r, sum, sizeof sum);
}
static void fr_sqr_c(uint64_t r[4], const uint64_t a[4]) { fr_mul_c(r, a, a); }

/* Karatsuba: a0 b1 + a1 b0 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1 */
static void fp2_mul_c(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]) {
  uint64_t s[6], t[6], u[6], v[6];
  fp_add_c(s, a, a + 6);
  fp_add_c(t, b, b + 6);
  fp_mul_c(s, s, t);
  fp_mul_c(u, a, b);
  fp_mul_c(v, a + 6, b + 6);
  fp_sub_c(r, u, v);
  fp_sub_c(s, s, u);
  fp_sub_c(r + 6, s, v);
}

static void fp2_sqr_c(uint64_t r[12], const uint64_t a[12]) {
  uint64_t s[6], d[6], t[6];
  fp_add_c(s, a, a + 6);
  fp_sub_c(d, a, a + 6);
  fp_mul_c(t, a, a + 6);
  fp_mul_c(r, s, d);
  fp_add_c(r + 6, t, t);
}

#define PORTABLE                                                                                                           \
  {                                                                                                                        \
    .fp_add = fp_add_c, .fp_sub = fp_sub_c, .fp_mul = fp_mul_c, .fp_sqr = fp_sqr_c, .fp2_mul = fp2_mul_c,                  \
    .fp2_sqr = fp2_sqr_c, .fr_add = fr_add_c, .fr_sub = fr_sub_c, .fr_mul = fr_mul_c, .fr_sqr = fr_sqr_c,                  \
    .fr_dot = fr_dot_c,                                                                                                    \
  }

struct cuzk_ff_ops cuzk_ff_ops = PORTABLE;

void cuzk_ff_ops_init_portable(struct cuzk_ff_ops *o) { *o = (struct cuzk_ff_ops)PORTABLE; }

#if defined(__x86_64__)
void cuzk_fp_add_x64(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fp_sub_x64(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fr_add_x64(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void cuzk_fr_sub_x64(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void cuzk_fp_mul_mulx(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fp_sqr_mulx(uint64_t r[6], const uint64_t a[6]);
void cuzk_fp2_mul_mulx(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]);
void cuzk_fp2_sqr_mulx(uint64_t r[12], const uint64_t a[12]);
void cuzk_fr_mul_mulx(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void cuzk_fr_sqr_mulx(uint64_t r[4], const uint64_t a[4]);
void cuzk_fr_dot_mulx(uint64_t r[4], const uint64_t *a, const uint64_t *b, size_t stride, size_t n);
#endif

void cuzk_ff_ops_init(struct cuzk_ff_ops *o, unsigned cpu) {
  cuzk_ff_ops_init_portable(o);
#if defined(__x86_64__)
  o->fp_add = cuzk_fp_add_x64;
  o->fp_sub = cuzk_fp_sub_x64;
  o->fr_add = cuzk_fr_add_x64;
  o->fr_sub = cuzk_fr_sub_x64;
  if (!(cpu & CUZK_CPU_BMI2_ADX)) return;
  o->fp_mul = cuzk_fp_mul_mulx;
  o->fp_sqr = cuzk_fp_sqr_mulx;
  o->fp2_mul = cuzk_fp2_mul_mulx;
  o->fp2_sqr = cuzk_fp2_sqr_mulx;
  o->fr_mul = cuzk_fr_mul_mulx;
  o->fr_sqr = cuzk_fr_sqr_mulx;
  o->fr_dot = cuzk_fr_dot_mulx;
#else
  (void)cpu;
#endif
}

/* Runs before main and so before any thread: readers need no synchronisation. Constructors that run still earlier find the portable
 * table, which gives the same values. */
__attribute__((constructor)) static void choose(void) { cuzk_ff_ops_init(&cuzk_ff_ops, cuzk_cpu_features()); }
