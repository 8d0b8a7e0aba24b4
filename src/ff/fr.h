/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The scalar field Fr of BLS12-381.
 *
 *  cuzk_fr holds a value below r in Montgomery form (R = 2^256), four 64-bit limbs, least significant first; every function
 *  takes and gives fully reduced values. "Canonical" means the plain integer below r. Arguments may overlap in any way.
 *  Source: the curve's definition; docs/internals/fields.md.
 */
#ifndef CUZK_FF_FR_H
#define CUZK_FF_FR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"
#include "ff/ops.h"

typedef struct {
  uint64_t l[4];
} cuzk_fr;

extern const cuzk_fr cuzk_fr_zero;      /* 0 */
extern const cuzk_fr cuzk_fr_one;       /* 1 */
extern const cuzk_fr cuzk_fr_generator; /* 7, the multiplicative generator and coset shift */
extern const cuzk_fr cuzk_fr_root_2_32; /* 7^((r-1)/2^32), a primitive 2^32-th root of unity */
extern const uint64_t cuzk_fr_modulus[4];

/** True for values below the modulus: every cuzk_fr is, between calls. */
static inline bool cuzk_fr_is_reduced(const cuzk_fr *a) {
  for (int i = 3; i >= 0; i--)
    if (a->l[i] != cuzk_fr_modulus[i]) return a->l[i] < cuzk_fr_modulus[i];
  return false;
}

/** *r = a + b */
static inline void cuzk_fr_add(cuzk_fr *r, const cuzk_fr *a, const cuzk_fr *b) {
  CUZK_FF_CHECK(cuzk_fr_is_reduced(a) && cuzk_fr_is_reduced(b));
  cuzk_ff_ops.fr_add(r->l, a->l, b->l);
  CUZK_FF_CHECK(cuzk_fr_is_reduced(r));
}
/** *r = a - b */
static inline void cuzk_fr_sub(cuzk_fr *r, const cuzk_fr *a, const cuzk_fr *b) {
  CUZK_FF_CHECK(cuzk_fr_is_reduced(a) && cuzk_fr_is_reduced(b));
  cuzk_ff_ops.fr_sub(r->l, a->l, b->l);
  CUZK_FF_CHECK(cuzk_fr_is_reduced(r));
}
/** *r = a b; constant time, as sum, difference and square are. */
static inline void cuzk_fr_mul(cuzk_fr *r, const cuzk_fr *a, const cuzk_fr *b) {
  CUZK_FF_CHECK(cuzk_fr_is_reduced(a) && cuzk_fr_is_reduced(b));
  cuzk_ff_ops.fr_mul(r->l, a->l, b->l);
  CUZK_FF_CHECK(cuzk_fr_is_reduced(r));
}
/** *r = a^2 */
static inline void cuzk_fr_sqr(cuzk_fr *r, const cuzk_fr *a) {
  CUZK_FF_CHECK(cuzk_fr_is_reduced(a));
  cuzk_ff_ops.fr_sqr(r->l, a->l);
  CUZK_FF_CHECK(cuzk_fr_is_reduced(r));
}
/** *r = a[0] b[0] + a[1] b[stride] + ... of n products (0 gives 0), one reduction for many; a and b do not overlap r. */
void cuzk_fr_dot(cuzk_fr *r, const cuzk_fr *a, const cuzk_fr *b, size_t stride, size_t n);
/** *r = -a */
static inline void cuzk_fr_neg(cuzk_fr *r, const cuzk_fr *a) { cuzk_fr_sub(r, &cuzk_fr_zero, a); }
/** *r = 2 a */
static inline void cuzk_fr_dbl(cuzk_fr *r, const cuzk_fr *a) { cuzk_fr_add(r, a, a); }
/** *r = 1/a; 0 for a = 0. Variable time. */
void cuzk_fr_inv_var(cuzk_fr *r, const cuzk_fr *a);
/** Replaces each of a[n] by its inverse with one inversion; zeros stay zero. scratch[n]. */
void cuzk_fr_inv_batch(cuzk_fr *a, cuzk_fr *scratch, size_t n);
/** *r = a^e, e given as n_limbs 64-bit words, least significant first. Variable time. */
void cuzk_fr_pow_var(cuzk_fr *r, const cuzk_fr *a, const uint64_t *e, size_t n_limbs);
/** *r = v */
void cuzk_fr_from_u64(cuzk_fr *r, uint64_t v);

/** Is *a 0? */
static inline bool cuzk_fr_is_zero(const cuzk_fr *a) { return (a->l[0] | a->l[1] | a->l[2] | a->l[3]) == 0; }
/** Are *a and *b equal? */
static inline bool cuzk_fr_eq(const cuzk_fr *a, const cuzk_fr *b) {
  return ((a->l[0] ^ b->l[0]) | (a->l[1] ^ b->l[1]) | (a->l[2] ^ b->l[2]) | (a->l[3] ^ b->l[3])) == 0;
}
/** Is *a 1? */
static inline bool cuzk_fr_is_one(const cuzk_fr *a) { return cuzk_fr_eq(a, &cuzk_fr_one); }

/** Plain integer, least significant limb first. */
void cuzk_fr_to_canon(uint64_t out[4], const cuzk_fr *a);
/** Montgomery form of a plain integer. False, *r untouched, if it is not below the modulus. */
bool cuzk_fr_from_canon(cuzk_fr *r, const uint64_t a[4]);
/** 32 bytes, little-endian, canonical. */
void cuzk_fr_to_le(uint8_t out[32], const cuzk_fr *a);
/** False, *r untouched, if the integer is not below the modulus: a decoder never reduces. */
bool cuzk_fr_from_le(cuzk_fr *r, const uint8_t in[32]);
/** A 512-bit little-endian integer reduced modulo r (for uniformly random values). */
void cuzk_fr_from_le64_reduce(cuzk_fr *r, const uint8_t in[64]);
/** Uniformly random value from the operating system. Errors: E_IO. */
enum cuzk_status cuzk_fr_random(cuzk_fr *r);
#endif
