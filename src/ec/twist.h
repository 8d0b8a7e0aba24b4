/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The twist's constant, for the sources of this folder: E': y^2 = x^3 + b', b' = 4 (1 + u). */
#ifndef CUZK_EC_TWIST_H
#define CUZK_EC_TWIST_H
#include "ff/fp2.h"

/** *r = 3 b' *a = 12 (1 + u) *a. r and a may overlap. */
static inline void cuzk_twist_mul_3b(cuzk_fp2 *r, const cuzk_fp2 *a) {
  cuzk_fp2 t;
  cuzk_fp2_mul_xi(&t, a);
  cuzk_fp2_dbl(&t, &t);
  cuzk_fp2_dbl(&t, &t);
  cuzk_fp2_dbl(r, &t);
  cuzk_fp2_add(r, r, &t);
}

#endif
