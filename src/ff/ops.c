/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/ops.h"

#include <stdbool.h>

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

/* Q = p 2^382, from its limb 5 on. */
static const uint64_t q_high[7] = {0xc000000000000000u, 0xee7fbfffffffeaaau, 0x07aaffffac54ffffu, 0xd9cc34a83dac3d89u,
                                   0xd91dd2e13ce144afu, 0x92c6e9ed90d2eb35u, 0x0680447a8e5ff9a6u};

static void fp_sqr_c(uint64_t r[6], const uint64_t a[6]) { fp_mul_c(r, a, a); }
static void fp_sqr_wide_c(uint64_t r[12], const uint64_t a[6]) { fp_mul_wide_c(r, a, a); }
static void fr_sqr_c(uint64_t r[4], const uint64_t a[4]) { fr_mul_c(r, a, a); }

static void fp_wide_add_c(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]) {
  uint64_t d[7], c = 0, borrow = 0;
  for (int i = 0; i < 12; i++) {
    const cuzk_u128 s = (cuzk_u128)a[i] + b[i] + c;
    r[i] = (uint64_t)s;
    c = (uint64_t)(s >> 64);
  }
  for (int i = 0; i < 7; i++) {
    const cuzk_u128 t = (cuzk_u128)r[5 + i] - q_high[i] - borrow;
    d[i] = (uint64_t)t;
    borrow = (uint64_t)(t >> 64) & 1;
  }
  const uint64_t keep = 0 - borrow;
  for (int i = 0; i < 7; i++) r[5 + i] = (r[5 + i] & keep) | (d[i] & ~keep);
}

static void fp_wide_sub_c(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]) {
  uint64_t c = 0, borrow = 0;
  for (int i = 0; i < 12; i++) {
    const cuzk_u128 t = (cuzk_u128)a[i] - b[i] - borrow;
    r[i] = (uint64_t)t;
    borrow = (uint64_t)(t >> 64) & 1;
  }
  const uint64_t mask = 0 - borrow;
  for (int i = 0; i < 7; i++) {
    const cuzk_u128 s = (cuzk_u128)r[5 + i] + (q_high[i] & mask) + c;
    r[5 + i] = (uint64_t)s;
    c = (uint64_t)(s >> 64);
  }
}

#define PORTABLE                                                                                                           \
  {                                                                                                                        \
    .fp_add = fp_add_c, .fp_sub = fp_sub_c, .fp_mul = fp_mul_c, .fp_sqr = fp_sqr_c, .fp_mul_wide = fp_mul_wide_c,          \
    .fp_sqr_wide = fp_sqr_wide_c, .fp_wide_add = fp_wide_add_c, .fp_wide_sub = fp_wide_sub_c, .fp_redc = fp_redc_c,        \
    .fr_add = fr_add_c, .fr_sub = fr_sub_c, .fr_mul = fr_mul_c, .fr_sqr = fr_sqr_c,                                        \
  }

struct cuzk_ff_ops cuzk_ff_ops = PORTABLE;

void cuzk_ff_ops_init_portable(struct cuzk_ff_ops *o) { *o = (struct cuzk_ff_ops)PORTABLE; }

#if defined(__x86_64__)
void cuzk_fp_add_x64(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fp_sub_x64(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fp_wide_add_x64(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]);
void cuzk_fp_wide_sub_x64(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]);
void cuzk_fr_add_x64(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void cuzk_fr_sub_x64(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void cuzk_fp_mul_mulx(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fp_sqr_mulx(uint64_t r[6], const uint64_t a[6]);
void cuzk_fp_mul_wide_mulx(uint64_t r[12], const uint64_t a[6], const uint64_t b[6]);
void cuzk_fp_sqr_wide_mulx(uint64_t r[12], const uint64_t a[6]);
void cuzk_fp_redc_mulx(uint64_t r[6], const uint64_t t[12]);
void cuzk_fr_mul_mulx(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void cuzk_fr_sqr_mulx(uint64_t r[4], const uint64_t a[4]);
#endif

void cuzk_ff_ops_init(struct cuzk_ff_ops *o, unsigned cpu) {
  cuzk_ff_ops_init_portable(o);
#if defined(__x86_64__)
  o->fp_add = cuzk_fp_add_x64;
  o->fp_sub = cuzk_fp_sub_x64;
  o->fp_wide_add = cuzk_fp_wide_add_x64;
  o->fp_wide_sub = cuzk_fp_wide_sub_x64;
  o->fr_add = cuzk_fr_add_x64;
  o->fr_sub = cuzk_fr_sub_x64;
  if (!(cpu & CUZK_CPU_BMI2_ADX)) return;
  o->fp_mul = cuzk_fp_mul_mulx;
  o->fp_sqr = cuzk_fp_sqr_mulx;
  o->fp_mul_wide = cuzk_fp_mul_wide_mulx;
  o->fp_sqr_wide = cuzk_fp_sqr_wide_mulx;
  o->fp_redc = cuzk_fp_redc_mulx;
  o->fr_mul = cuzk_fr_mul_mulx;
  o->fr_sqr = cuzk_fr_sqr_mulx;
#else
  (void)cpu;
#endif
}

/* Runs before main and so before any thread: readers need no synchronisation. Constructors that run still earlier find the portable
 * table, which gives the same values. */
__attribute__((constructor)) static void choose(void) { cuzk_ff_ops_init(&cuzk_ff_ops, cuzk_cpu_features()); }
