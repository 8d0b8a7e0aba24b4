/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The kernels of Fp and Fr behind one table of function pointers: portable C at first, replaced by faster code where the processor
 *  allows it before main runs. fp.h and fr.h wrap them; other layers call those.
 *
 *  Outputs may be the same array as an input. */
#ifndef CUZK_FF_OPS_H
#define CUZK_FF_OPS_H
#include <stddef.h>
#include <stdint.h>

/* Invariants of the inline wrappers, executed in VERIFY builds. */
#ifdef CUZK_BUILD_VERIFY
#include "base/fail.h"
#define CUZK_FF_CHECK(cond) CUZK_VERIFY(cond)
#else
#define CUZK_FF_CHECK(cond) ((void)0)
#endif

#define CUZK_FR_DOT_MAX ((size_t)15)

struct cuzk_ff_ops {
  void (*fp_add)(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
  void (*fp_sub)(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
  /** Montgomery product, a b/2^384 mod p. */
  void (*fp_mul)(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
  void (*fp_sqr)(uint64_t r[6], const uint64_t a[6]);
  /** Product and square in Fp2, coordinates c0 c1 one after the other. */
  void (*fp2_mul)(uint64_t r[12], const uint64_t a[12], const uint64_t b[12]);
  void (*fp2_sqr)(uint64_t r[12], const uint64_t a[12]);
  void (*fr_add)(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
  void (*fr_sub)(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
  /** As fp_mul; b may be any 256-bit value. */
  void (*fr_mul)(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
  void (*fr_sqr)(uint64_t r[4], const uint64_t a[4]);
  /** Sum of n Montgomery products, 1 to CUZK_FR_DOT_MAX, of elements 4 limbs (a) and stride bytes (b) apart. */
  void (*fr_dot)(uint64_t r[4], const uint64_t *a, const uint64_t *b, size_t stride, size_t n);
};

/** Written once, before main; constant afterwards. */
extern struct cuzk_ff_ops cuzk_ff_ops __attribute__((visibility("hidden")));

/** The table for a machine with the given feature bits (base/cpu.h); 0 gives what every machine of this kind can run. */
void cuzk_ff_ops_init(struct cuzk_ff_ops *o, unsigned cpu);
/** The portable reference. */
void cuzk_ff_ops_init_portable(struct cuzk_ff_ops *o);
#endif
