/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ec/g1.h"

#include <string.h>

#include "base/alloc.h"

const cuzk_g1_affine cuzk_g1_generator = {
    {{0x5cb38790fd530c16u, 0x7817fc679976fff5u, 0x154f95c7143ba1c1u, 0xf0ae6acdf3d0e747u, 0xedce6ecc21dbf440u,
      0x120177419e0bfb75u}},
    {{0xbaac93d50ce72271u, 0x8c22631a7918fd8eu, 0xdd595f13570725ceu, 0x51ac582950405194u, 0x0e1c8c3fad0059c0u,
      0x0bbc3efc5008a26au}}};
#define FP_ONE {{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u, 0x5c071a97a256ec6du, 0x15f65ec3fa80e493u}}
const cuzk_g1 cuzk_g1_identity = {FP_ONE, FP_ONE, {{0}}};

static const cuzk_fp curve_b = {{0xaa270000000cfff3u, 0x53cc0032fc34000au, 0x478fe97a6b0a807fu, 0xb1d37ebee6ba24d7u,
                                 0x8ec9733bbf78ab2fu, 0x09d645513d83de7eu}}; /* 4 */
static const cuzk_fp beta_squared = {{0x30f1361b798a64e8u, 0xf3b8ddab7ece5a2au, 0x16a8ca3ac61577f7u, 0xc26a2ff874fd029bu,
                                      0x3636b76660701c6eu, 0x051ba4ab241b6160u}}; /* a cube root of unity */

/* *r = 12 *a */
static void mul_3b(cuzk_fp *r, const cuzk_fp *a) {
  cuzk_fp t;
  cuzk_fp_dbl(&t, a);
  cuzk_fp_dbl(&t, &t);
  cuzk_fp_dbl(r, &t);
  cuzk_fp_add(r, r, &t);
}

#define EC_API
#define EC_FE cuzk_fp
#define EC_F(op) cuzk_fp_##op
#define EC_AFFINE cuzk_g1_affine
#define EC_POINT cuzk_g1
#define EC_FN(name) cuzk_g1_##name
#define EC_B (&curve_b)
#define EC_MUL_3B(r, a) mul_3b(r, a)
#include "ec/curve_tmpl.h"

#define EC_FE_BYTES 48
#define EC_FE_TO_BYTES(out, a) cuzk_fp_to_be(out, a)
#define EC_FE_FROM_BYTES(r, in) cuzk_fp_from_be(r, in)
#define EC_X_ZERO_REFUSED 1
#include "ec/encode_tmpl.h"

/* *r = |z| p by the bits of 0xd201000000010000 from the second-highest down. */
static void mul_z(cuzk_g1 *r, const cuzk_g1 *p) {
  const cuzk_g1 base = *p;
  cuzk_g1 t = *p;
  for (int i = 62; i >= 0; i--) {
    cuzk_g1_dbl(&t, &t);
    if ((0xd201000000010000u >> i) & 1) cuzk_g1_add(&t, &t, &base);
  }
  *r = t;
}

/* Formats specification 1.6: (beta^2 x, y) == -[z^2] P, necessary and sufficient. */
bool cuzk_g1_affine_in_subgroup(const cuzk_g1_affine *p) {
  if (cuzk_g1_affine_is_identity(p)) return true;
  cuzk_g1 t, e;
  cuzk_g1_from_affine(&t, p);
  e = t;
  cuzk_fp_mul(&e.x, &p->x, &beta_squared);
  mul_z(&t, &t);
  mul_z(&t, &t);
  cuzk_g1_neg(&t, &t);
  return cuzk_g1_eq(&t, &e);
}
