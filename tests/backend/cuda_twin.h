/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The device arithmetic compiled for the host, behind C functions. Loose results are reduced before they are returned;
 *  twin_*_loose_* take the operands as they are, to reach the edges of the allowed ranges. */
#ifndef CUZK_TESTS_CUDA_TWIN_H
#define CUZK_TESTS_CUDA_TWIN_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

struct twin_binary {
  const char *name;
  void (*fn)(void *r, const void *a, const void *b);
};
/** Operations of two canonical operands: fr_add, fr_sub, fr_mul, fp_add, fp_sub, fp_mul, fp_sqr (b unused), ... */
extern const struct twin_binary twin_binaries[];

/** r = a b / R reduced; a canonical Fr, b any 256-bit integer. */
void twin_fr_mul_any(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
/** loose add and sub of operands below 2r, reduced at the end. */
void twin_fr_add_loose(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
void twin_fr_sub_loose(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]);
/** operands below 2p; the unreduced result, which must be below 2p. */
void twin_fp_mul_loose(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]);
void twin_fp_sqr_loose(uint64_t r[6], const uint64_t a[6]);

/** p + q through the shared-inversion formulas, and through XYZZ coordinates (r[4]: X, Y, ZZ, ZZZ). */
void twin_g1_pair_add(void *r, const void *p, const void *q);
void twin_g2_pair_add(void *r, const void *p, const void *q);
void twin_g1_xyzz_add_affine(void *r, const void *p, const void *q);
void twin_g1_xyzz_add(void *r, const void *p, const void *q);
void twin_g2_xyzz_add(void *r, const void *p, const void *q);
void twin_g1_xyzz_mul_small(void *r, const void *p, uint32_t k);

/** Signed digits of a Montgomery scalar: digits[count], the window of bits[i] bits at offset[i]. Digit words are as on the
 *  device: magnitude, sign in bit 31, 0 for none. Returns the carry out of the top window (must be 0). */
uint32_t twin_digits(uint32_t *digits, uint32_t *bits, uint32_t *offset, const uint64_t scalar[4], uint32_t count);

/** Point from a parameter file's bytes (96 or 192) as decode_kernel does it; 0: refused. */
int twin_g1_decode(void *r, const void *bytes);
int twin_g2_decode(void *r, const void *bytes);

/** A circuit and a packed witness as rows_kernel sees them, by plain pointers (r1cs/compact_flat.h, r1cs/packed.h). */
struct twin_rows {
  const void *runs, *uses, *ext, *bound, *terms, *coeffs;
  uint32_t n_rows, n_runs;
  const void *inputs, *bits, *is_field, *rank, *fields;
  uint32_t n_inputs;
};
/** Values of a row; lanes > 1: as that many threads of a warp share the terms. Returns whether the row holds. */
int twin_row(void *abc[3], const struct twin_rows *t, uint32_t row, uint32_t lanes);
#ifdef __cplusplus
}
#endif
#endif
