/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Optimal ate pairing e: G1 x G2 -> Gt, with the exponent 3 (p^12 - 1)/r of the formats specification, section 1.7. */
#ifndef CUZK_EC_PAIRING_H
#define CUZK_EC_PAIRING_H
#include "ec/g1.h"
#include "ec/g2.h"
#include "ff/fp12.h"

typedef cuzk_fp12 cuzk_gt;

/** Product of the Miller loops of n pairs (pairs with an identity count as 1), one shared squaring chain; not yet
 *  exponentiated. n = 0 gives 1. */
void cuzk_miller_loop(cuzk_fp12 *r, const cuzk_g1_affine *p, const cuzk_g2_affine *q, size_t n);
void cuzk_final_exp(cuzk_gt *r, const cuzk_fp12 *f);
/** *r = product of e(p[i], q[i]). */
void cuzk_pairing_product(cuzk_gt *r, const cuzk_g1_affine *p, const cuzk_g2_affine *q, size_t n);
/** *r = a^k for a in Gt, k a 64-bit-limb integer. Variable time. */
void cuzk_gt_pow_var(cuzk_gt *r, const cuzk_gt *a, const uint64_t *e, size_t n_limbs);
/** 1/a for a in Gt (conjugation). */
void cuzk_gt_inv(cuzk_gt *r, const cuzk_gt *a);
bool cuzk_gt_eq(const cuzk_gt *a, const cuzk_gt *b);
/** Torus compression of section 1.7: 288 bytes, little-endian coefficients. a not 1. */
void cuzk_gt_compress(uint8_t out[288], const cuzk_gt *a);
#endif
