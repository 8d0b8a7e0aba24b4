/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The vector arithmetic of Fp through memory, eight elements a call: what the tests compare with ff/fp.h lane by lane. The hot
 *  loops include fpv_tmpl.h instead. Call a table only if cuzk_cpu_features() has its bits. */
#ifndef CUZK_FF_VEC_FPV_H
#define CUZK_FF_VEC_FPV_H
#include "ff/fp.h"

struct cuzk_fpv_table {
  unsigned r_bits; /* R' = 2^r_bits */
  unsigned features;
  void (*mul)(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]);  /* a b / R' mod p */
  void (*sqr)(cuzk_fp r[8], const cuzk_fp a[8]);                      /* a a / R' mod p */
  void (*mul2)(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], const cuzk_fp c[8], const cuzk_fp d[8]); /* (a b + c d) / R' */
  void (*sqr2)(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]); /* (a a + b b) / R' mod p */
  /* a - b - c, through fpv_reduce */
  void (*sub2)(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], const cuzk_fp c[8]);
  /* (k p - a) b / R', 1 <= k <= 6: a wide operand */
  void (*wide)(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], int k);
  void (*minus)(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]); /* -a b / R', through fpv_minus */
  /* through the form in memory and back */
  void (*copy)(cuzk_fp r[8], const cuzk_fp a[8]);
  /* through the form in memory and fpw_canonical */
  void (*canonical)(cuzk_fp r[8], const cuzk_fp a[8]);
};

#if defined(__x86_64__)
extern const struct cuzk_fpv_table cuzk_fpv_ifma, cuzk_fpv_avx512;
#endif
#endif
