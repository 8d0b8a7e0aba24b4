/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Unreduced Fp2 values for lazy reduction: two double-width Fp values (ff/ops.h), summed before one Montgomery reduction per
 *  coordinate. Used by the extension fields only. Outputs may be an input. */
#ifndef CUZK_FF_FP2_WIDE_H
#define CUZK_FF_FP2_WIDE_H
#include "ff/fp2.h"

struct fp2_wide {
  uint64_t c0[12], c1[12];
};

/* r = a + b without reduction: below 2 p, six limbs. */
static inline void fp_add_unreduced(uint64_t r[6], const cuzk_fp *a, const cuzk_fp *b) {
  unsigned char carry = 0;
  for (int i = 0; i < 6; i++) {
    const uint64_t s = a->l[i] + carry;
    carry = s < carry;
    r[i] = s + b->l[i];
    carry |= r[i] < s;
  }
}

static inline void fp2_wide_add(struct fp2_wide *r, const struct fp2_wide *a, const struct fp2_wide *b) {
  cuzk_ff_ops.fp_wide_add(r->c0, a->c0, b->c0);
  cuzk_ff_ops.fp_wide_add(r->c1, a->c1, b->c1);
}

static inline void fp2_wide_sub(struct fp2_wide *r, const struct fp2_wide *a, const struct fp2_wide *b) {
  cuzk_ff_ops.fp_wide_sub(r->c0, a->c0, b->c0);
  cuzk_ff_ops.fp_wide_sub(r->c1, a->c1, b->c1);
}

static inline void fp2_wide_mul_xi(struct fp2_wide *r, const struct fp2_wide *a) {
  uint64_t t[12];
  cuzk_ff_ops.fp_wide_sub(t, a->c0, a->c1);
  cuzk_ff_ops.fp_wide_add(r->c1, a->c0, a->c1);
  for (int i = 0; i < 12; i++) r->c0[i] = t[i];
}

/* Three products: a0 b1 + a1 b0 = (a0 + a1)(b0 + b1) - a0 b0 - a1 b1 as integers, below 2 p^2 and so below Q. */
static inline void fp2_wide_mul(struct fp2_wide *r, const cuzk_fp2 *a, const cuzk_fp2 *b) {
  uint64_t s[6], t[6], y[12];
  fp_add_unreduced(s, &a->c0, &a->c1);
  fp_add_unreduced(t, &b->c0, &b->c1);
  cuzk_ff_ops.fp_mul_wide(r->c1, s, t);
  cuzk_ff_ops.fp_mul_wide(r->c0, a->c0.l, b->c0.l);
  cuzk_ff_ops.fp_mul_wide(y, a->c1.l, b->c1.l);
  cuzk_ff_ops.fp_wide_sub(r->c1, r->c1, r->c0);
  cuzk_ff_ops.fp_wide_sub(r->c1, r->c1, y);
  cuzk_ff_ops.fp_wide_sub(r->c0, r->c0, y);
}

static inline void fp2_wide_redc(cuzk_fp2 *r, const struct fp2_wide *a) {
  cuzk_ff_ops.fp_redc(r->c0.l, a->c0);
  cuzk_ff_ops.fp_redc(r->c1.l, a->c1);
  CUZK_VERIFY(cuzk_fp_is_reduced(&r->c0) && cuzk_fp_is_reduced(&r->c1));
}
#endif
