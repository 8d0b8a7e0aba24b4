/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "groth16/proof.h"

#include "base/fail.h"
#include "groth16/point_error.h"

void cuzk_proof_write(uint8_t out[CUZK_PROOF_BYTES], const struct cuzk_proof *p) {
  cuzk_g1_compress(out, &p->a);
  cuzk_g2_compress(out + 48, &p->b);
  cuzk_g1_compress(out + 144, &p->c);
}

static enum cuzk_status read_g1(cuzk_g1_affine *p, const uint8_t in[48], char which, struct cuzk_detail *d) {
  enum cuzk_status st = cuzk_g1_decompress(p, in);
  if (st == CUZK_OK && cuzk_g1_affine_is_identity(p)) st = CUZK_E_INFINITY;
  if (st == CUZK_OK && !cuzk_g1_affine_in_subgroup(p)) st = CUZK_E_NOT_GROUP;
  return st == CUZK_OK ? st : cuzk_fail(d, st, "proof: point %c: %s", which, cuzk_point_error(st));
}

enum cuzk_status cuzk_proof_read(struct cuzk_proof *p, const uint8_t in[CUZK_PROOF_BYTES], struct cuzk_detail *d) {
  struct cuzk_proof q;
  enum cuzk_status st = read_g1(&q.a, in, 'A', d);
  if (st != CUZK_OK) return st;
  st = cuzk_g2_decompress(&q.b, in + 48);
  if (st == CUZK_OK && cuzk_g2_affine_is_identity(&q.b)) st = CUZK_E_INFINITY;
  if (st == CUZK_OK && !cuzk_g2_affine_in_subgroup(&q.b)) st = CUZK_E_NOT_GROUP;
  if (st != CUZK_OK) return cuzk_fail(d, st, "proof: point B: %s", cuzk_point_error(st));
  st = read_g1(&q.c, in + 144, 'C', d);
  if (st == CUZK_OK) *p = q;
  return st;
}
