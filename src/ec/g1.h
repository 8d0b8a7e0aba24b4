/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** G1: points of E: y^2 = x^3 + 4 over Fp, coordinates in Montgomery form.
 *
 *  An affine point is (x, y); the identity is (0, 0), which is not on the curve. A g1 is Jacobian: (X/Z^2, Y/Z^3), identity
 *  when Z = 0. Unless a name says otherwise every function is complete: identity, equal and opposite points included.
 *  Arguments may overlap. Nothing here checks membership except where said. */
#ifndef CUZK_EC_G1_H
#define CUZK_EC_G1_H
#include "cuzk/status.h"
#include "ff/fr.h"
#include "ff/fp.h"

typedef struct {
  cuzk_fp x, y;
} cuzk_g1_affine;

typedef struct {
  cuzk_fp x, y, z;
} cuzk_g1;

extern const cuzk_g1_affine cuzk_g1_generator;
extern const cuzk_g1 cuzk_g1_identity;

static inline bool cuzk_g1_affine_is_identity(const cuzk_g1_affine *p) {
  return cuzk_fp_is_zero(&p->x) && cuzk_fp_is_zero(&p->y);
}
static inline bool cuzk_g1_is_identity(const cuzk_g1 *p) { return cuzk_fp_is_zero(&p->z); }

/** Z becomes 1, or 0 for the identity. */
void cuzk_g1_from_affine(cuzk_g1 *r, const cuzk_g1_affine *p);
/** One inversion. Variable time. */
void cuzk_g1_to_affine(cuzk_g1_affine *r, const cuzk_g1 *p);
/** Normalises n points with one inversion. r and p must not overlap. Takes no memory and always gives CUZK_OK. */
enum cuzk_status cuzk_g1_to_affine_batch(cuzk_g1_affine *r, const cuzk_g1 *p, size_t n);
/** *r = p + q; 11 products and 5 squares. */
void cuzk_g1_add(cuzk_g1 *r, const cuzk_g1 *p, const cuzk_g1 *q);
/** *r = p + q; 7 products and 4 squares. */
void cuzk_g1_add_affine(cuzk_g1 *r, const cuzk_g1 *p, const cuzk_g1_affine *q);
/** *r = 2 p; 2 products and 5 squares. */
void cuzk_g1_dbl(cuzk_g1 *r, const cuzk_g1 *p);
/** *r = -p */
void cuzk_g1_neg(cuzk_g1 *r, const cuzk_g1 *p);
/** *r = -p */
void cuzk_g1_affine_neg(cuzk_g1_affine *r, const cuzk_g1_affine *p);
/** *r = k p. Variable time. */
void cuzk_g1_mul_var(cuzk_g1 *r, const cuzk_g1 *p, const cuzk_fr *k);
/** *r = k p with a fixed sequence of field operations and memory accesses, for secret k (blinding values). The coordinates of the
 *  result still depend on k: what is made of them afterwards is the caller's concern. */
void cuzk_g1_mul_ct(cuzk_g1 *r, const cuzk_g1 *p, const cuzk_fr *k);
/** *r = e p, e plain, n_limbs words, least significant first. Variable time. */
void cuzk_g1_mul_limbs_var(cuzk_g1 *r, const cuzk_g1 *p, const uint64_t *e, size_t n_limbs);
/** Are p and q the same point? */
bool cuzk_g1_eq(const cuzk_g1 *p, const cuzk_g1 *q);
/** Are p and q the same point? */
bool cuzk_g1_affine_eq(const cuzk_g1_affine *p, const cuzk_g1_affine *q);
/** True for points that satisfy the curve equation, and for the identity. */
bool cuzk_g1_affine_on_curve(const cuzk_g1_affine *p);
/** For a point on the curve: is it in the subgroup of order r? (endomorphism test, exact) */
bool cuzk_g1_affine_in_subgroup(const cuzk_g1_affine *p);

#define CUZK_G1_UNCOMPRESSED_BYTES 96
#define CUZK_G1_COMPRESSED_BYTES 48

/** Encodings of the formats specification, section 2.2: big-endian, flags in the top bits of byte 0. */
void cuzk_g1_encode(uint8_t out[96], const cuzk_g1_affine *p);
void cuzk_g1_compress(uint8_t out[48], const cuzk_g1_affine *p);
/** Strict decoding: flags, padding of infinity, coordinates below p, curve equation. Not the subgroup. Infinity decodes to
 *  the identity with CUZK_OK: callers that forbid it test for it.
 *  Errors: E_FORMAT (flags, padding, coordinate not below p), E_NOT_CURVE, E_NOT_GROUP (x = 0: points of order 3,
 *  which the reference refuses too). *r untouched on error. */
enum cuzk_status cuzk_g1_decode(cuzk_g1_affine *r, const uint8_t in[96]);
enum cuzk_status cuzk_g1_decompress(cuzk_g1_affine *r, const uint8_t in[48]);
/** Decodes n consecutive uncompressed points. On error *bad is the index of the first bad one and r[*bad ..] is untouched. */
enum cuzk_status cuzk_g1_decode_batch(cuzk_g1_affine *r, const uint8_t *in, size_t n, size_t *bad);
#endif
