/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Groth16 proofs: 192 bytes, A compressed (48), B (96), C (48). */
#ifndef CUZK_GROTH16_PROOF_H
#define CUZK_GROTH16_PROOF_H
#include "cuzk/status.h"
#include "ec/g1.h"
#include "ec/g2.h"

#define CUZK_PROOF_BYTES 192

struct cuzk_proof {
  cuzk_g1_affine a;
  cuzk_g2_affine b;
  cuzk_g1_affine c;
};

/** A, B, C compressed: 48, 96 and 48 bytes (formats specification 2.3). */
void cuzk_proof_write(uint8_t out[CUZK_PROOF_BYTES], const struct cuzk_proof *p);
/** Strict: encoding, curve, subgroup, identity rejected for A, B and C; the detail says which point and why.
 *  Errors: E_FORMAT, E_NOT_CURVE, E_NOT_GROUP, E_INFINITY. */
enum cuzk_status cuzk_proof_read(struct cuzk_proof *p, const uint8_t in[CUZK_PROOF_BYTES], struct cuzk_detail *d);
#endif
