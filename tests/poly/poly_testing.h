/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Field values for the tests of src/poly. */
#ifndef CUZK_TESTS_POLY_TESTING_H
#define CUZK_TESTS_POLY_TESTING_H
#include "base/alloc.h"
#include "ff/fr.h"
#include "poly/ntt.h"
#include "testing.h"

/* Any reduced value, often with extreme limbs: 0, 1, -1 and neighbours of the modulus among them. */
static inline void rand_fr(cuzk_fr *r) {
  uint64_t c[4];
  switch (test_rand() % 16) {
    case 0: *r = cuzk_fr_zero; return;
    case 1: *r = cuzk_fr_one; return;
    case 2: cuzk_fr_neg(r, &cuzk_fr_one); return;
    case 3: /* the largest representation, r - 1 */
      memcpy(r->l, cuzk_fr_modulus, 32);
      r->l[0] -= 1;
      return;
    default:
      for (;;) {
        for (int i = 0; i < 4; i++) c[i] = test_rand_limb();
        c[3] &= UINT64_MAX >> 1;
        if (cuzk_fr_from_canon(r, c)) break;
      }
      if (test_rand() & 1) return;
      memcpy(r->l, c, 32); /* extreme limbs in the representation itself */
  }
}

static inline void uniform_fr(cuzk_fr *r) {
  uint8_t b[64];
  for (size_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)test_rand();
  cuzk_fr_from_le64_reduce(r, b);
}

static inline cuzk_fr *rand_vec(size_t n) {
  cuzk_fr *v = malloc(n * sizeof *v);
  if (!v) abort();
  for (size_t i = 0; i < n; i++) rand_fr(&v[i]);
  return v;
}

static inline cuzk_fr *copy_vec(const cuzk_fr *v, size_t n) {
  cuzk_fr *w = malloc(n * sizeof *w);
  if (!w) abort();
  memcpy(w, v, n * sizeof *w);
  return w;
}

/* Big-endian hexadecimal integer, as the specifications print them. */
static inline cuzk_fr hex_fr(const char *hex) {
  uint8_t le[32] = {0};
  const size_t len = strlen(hex);
  assert_int_equal(len, 64);
  for (size_t i = 0; i < 32; i++) {
    unsigned v;
    assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
    le[31 - i] = (uint8_t)v;
  }
  cuzk_fr r;
  assert_true(cuzk_fr_from_le(&r, le));
  return r;
}

static inline void assert_fr_equal(const cuzk_fr *a, const cuzk_fr *b) { assert_memory_equal(a, b, sizeof *a); }

/* Value at x of the polynomial with n coefficients. */
static inline void eval(cuzk_fr *r, const cuzk_fr *coeffs, size_t n, const cuzk_fr *x) {
  cuzk_fr acc = cuzk_fr_zero;
  for (size_t i = n; i-- > 0;) {
    cuzk_fr_mul(&acc, &acc, x);
    cuzk_fr_add(&acc, &acc, &coeffs[i]);
  }
  *r = acc;
}
#endif
