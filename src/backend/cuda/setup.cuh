/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Steps of key generation on one element each; host twin as in field.cuh. */
#ifndef CUZK_BACKEND_CUDA_SETUP_CUH
#define CUZK_BACKEND_CUDA_SETUP_CUH
#include "backend/cuda/points.cuh"
#include "backend/cuda/rows.cuh"

namespace cuzk_gpu {

/* --- columns ---------------------------------------------------------------------------------------------------------- */

/** Place of a variable of the circuit: public inputs first. */
CUZK_HD uint32_t place_of(uint32_t variable, uint32_t n_inputs) {
  return variable & VAR_AUX ? variable - VAR_AUX + n_inputs : variable;
}

/** What a term adds to its variable's column: the row's Lagrange coefficient times the term's. */
CUZK_HD void column_share(Fr &x, const Fr &lagrange, const Rows &r, uint32_t coeff) {
  if (coeff == 1) {
    x = lagrange;
  } else if (coeff == 2) {
    neg(x, lagrange);
  } else {
    Fr k;
    load_element(k, r.coeffs + coeff);
    mul_row_element(x, lagrange, k);
  }
}

/** A sum of fewer than 2^31 elements is kept as eight sums of limbs, so that any thread adds to it at any time without carries; this makes
 *  an element of it. */
CUZK_HD void fold_limbs(Fr &r, const unsigned long long w[8]) {
  unsigned long long carry = 0;
  Fr low, high, r2;
  CUZK_UNROLL
  for (int i = 0; i < 8; i++) {
    carry += w[i];
    low.l[i] = (uint32_t)carry;
    carry >>= 32;
  }
  reduce(low, low); /* 2^256 < 3 r */
  reduce(low, low);
  set_zero(high);
  high.l[0] = (uint32_t)carry;
  high.l[1] = (uint32_t)(carry >> 32);
  set_fr_r2(r2);
  mul_row_element(high, r2, high);
  add(r, low, high);
}

/* --- multiples of a fixed point --------------------------------------------------------------------------------------- */

constexpr uint32_t FIXED_WINDOWS = 16, FIXED_BITS = 16;
constexpr uint32_t FIXED_STRIDE = (1u << (FIXED_BITS - 1)) + 1; /* entries of a window: 0 to 2^15 times 2^(16 i) */

/** Where the table has the parts of s times the point; a sign in bit 31. */
CUZK_HD void fixed_places(uint32_t v[FIXED_WINDOWS], const Fr &s) {
  const Windows w = make_windows(FIXED_WINDOWS);
  Fr a;
  from_mont(a, s);
  const bool negative = signed_scalar(a);
  uint32_t carry = 0;
  CUZK_UNROLL
  for (uint32_t i = 0; i < FIXED_WINDOWS; i++) {
    const uint32_t digit = signed_digit(a, w, i, negative, carry);
    v[i] = ((digit & 0x7fffffffu) + i * FIXED_STRIDE) | (digit & 0x80000000u);
  }
}

/* --- points as a parameter file holds them ---------------------------------------------------------------------------- */

/** Montgomery form to twelve big-endian words. */
CUZK_HD void encode_coordinate(uint32_t *w, const Fp &a) {
  Fp x;
  from_mont(x, a);
  CUZK_UNROLL
  for (int i = 0; i < 12; i++) w[i] = swapped(x.l[11 - i]);
}
CUZK_HD void encode_element(uint32_t *w, const Fp &a) { encode_coordinate(w, a); }
CUZK_HD void encode_element(uint32_t *w, const Fp2 &a) { /* the coefficient of u first */
  encode_coordinate(w, a.c1);
  encode_coordinate(w + 12, a.c0);
}
/** w: 24 or 48 words. */
template <class F>
CUZK_HD void encode_point(uint32_t *w, const Affine<F> &p) {
  encode_element(w, p.x);
  encode_element(w + sizeof(F) / 4, p.y);
  if (is_identity(p)) w[0] |= 0x40; /* first byte */
}

}  // namespace cuzk_gpu
#endif
