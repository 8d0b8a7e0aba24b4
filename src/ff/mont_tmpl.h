/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Portable Montgomery arithmetic over MONT_N 64-bit limbs; included once per field, never linked.
 *
 *  Before inclusion define: MONT_N (limbs), MONT_FN(name) (name of a static function), MONT_MODULUS (const uint64_t[MONT_N]),
 *  MONT_INV (-modulus^-1 mod 2^64). The modulus must leave at least one bit of its top limb free. Values are below the modulus.
 *  Source: Montgomery product by operand scanning with interleaved reduction. */
#ifndef CUZK_FF_MONT_TMPL_U128
#define CUZK_FF_MONT_TMPL_U128
#include <stdbool.h>
#include <stdint.h>
__extension__ typedef unsigned __int128 cuzk_u128;
#endif

/* r = a - modulus if a >= modulus, else a; carry is the word above a. */
static inline void MONT_FN(reduce_once)(uint64_t *r, const uint64_t *a, uint64_t carry) {
  uint64_t d[MONT_N], borrow = 0;
  for (int i = 0; i < MONT_N; i++) {
    cuzk_u128 t = (cuzk_u128)a[i] - MONT_MODULUS[i] - borrow;
    d[i] = (uint64_t)t;
    borrow = (uint64_t)(t >> 64) & 1;
  }
  const uint64_t keep = 0 - (uint64_t)(borrow > carry);
  for (int i = 0; i < MONT_N; i++) r[i] = (a[i] & keep) | (d[i] & ~keep);
}

static inline void MONT_FN(add)(uint64_t *r, const uint64_t *a, const uint64_t *b) {
  uint64_t t[MONT_N], c = 0;
  for (int i = 0; i < MONT_N; i++) {
    cuzk_u128 s = (cuzk_u128)a[i] + b[i] + c;
    t[i] = (uint64_t)s;
    c = (uint64_t)(s >> 64);
  }
  MONT_FN(reduce_once)(r, t, c);
}

static inline void MONT_FN(sub)(uint64_t *r, const uint64_t *a, const uint64_t *b) {
  uint64_t t[MONT_N], borrow = 0;
  for (int i = 0; i < MONT_N; i++) {
    cuzk_u128 s = (cuzk_u128)a[i] - b[i] - borrow;
    t[i] = (uint64_t)s;
    borrow = (uint64_t)(s >> 64) & 1;
  }
  const uint64_t mask = 0 - borrow;
  uint64_t c = 0;
  for (int i = 0; i < MONT_N; i++) {
    cuzk_u128 s = (cuzk_u128)t[i] + (MONT_MODULUS[i] & mask) + c;
    r[i] = (uint64_t)s;
    c = (uint64_t)(s >> 64);
  }
}

static inline void MONT_FN(mul)(uint64_t *r, const uint64_t *a, const uint64_t *b) {
  uint64_t t[MONT_N + 1] = {0};
  for (int i = 0; i < MONT_N; i++) {
    cuzk_u128 s = 0;
    for (int j = 0; j < MONT_N; j++) {
      s += (cuzk_u128)a[j] * b[i] + t[j];
      t[j] = (uint64_t)s;
      s >>= 64;
    }
    s += t[MONT_N];
    const uint64_t hi = (uint64_t)s;
    const uint64_t m = t[0] * MONT_INV;
    s = ((cuzk_u128)m * MONT_MODULUS[0] + t[0]) >> 64;
    for (int j = 1; j < MONT_N; j++) {
      s += (cuzk_u128)m * MONT_MODULUS[j] + t[j];
      t[j - 1] = (uint64_t)s;
      s >>= 64;
    }
    s += hi;
    t[MONT_N - 1] = (uint64_t)s;
    t[MONT_N] = (uint64_t)(s >> 64);
  }
  MONT_FN(reduce_once)(r, t, t[MONT_N]);
}

static inline bool MONT_FN(below_modulus)(const uint64_t *a) {
  for (int i = MONT_N - 1; i >= 0; i--)
    if (a[i] != MONT_MODULUS[i]) return a[i] < MONT_MODULUS[i];
  return false;
}
