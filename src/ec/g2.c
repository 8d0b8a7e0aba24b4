/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ec/g2.h"

#include <string.h>

#include "base/alloc.h"
#include "ec/twist.h"

const cuzk_g2_affine cuzk_g2_generator = {
    {{{0xf5f28fa202940a10u, 0xb3f5fb2687b4961au, 0xa1a893b53e2ae580u, 0x9894999d1a3caee9u, 0x6f67b7631863366bu,
       0x058191924350bcd7u}},
     {{0xa5a9c0759e23f606u, 0xaaa0c59dbccd60c3u, 0x3bb17e18e2867806u, 0x1b1ab6cc8541b367u, 0xc2b6ed0ef2158547u,
       0x11922a097360edf3u}}},
    {{{0x4c730af860494c4au, 0x597cfa1f5e369c5au, 0xe7e6856caa0a635au, 0xbbefb5e96e0d495fu, 0x07d3a975f0ef25a2u,
       0x0083fd8e7e80dae5u}},
     {{0xadc0fc92df64b05du, 0x18aa270a2b1461dcu, 0x86adac6a3be4eba0u, 0x79495c4ec93da33au, 0xe7175850a43ccaedu,
       0x0b2bc2a163de1bf2u}}}};
#define FP_ONE {{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u, 0x5c071a97a256ec6du, 0x15f65ec3fa80e493u}}
const cuzk_g2 cuzk_g2_identity = {{FP_ONE, {{0}}}, {FP_ONE, {{0}}}, {{{0}}, {{0}}}};

/* 4 + 4u */
static const cuzk_fp2 curve_b = {{{0xaa270000000cfff3u, 0x53cc0032fc34000au, 0x478fe97a6b0a807fu, 0xb1d37ebee6ba24d7u,
                                   0x8ec9733bbf78ab2fu, 0x09d645513d83de7eu}},
                                 {{0xaa270000000cfff3u, 0x53cc0032fc34000au, 0x478fe97a6b0a807fu, 0xb1d37ebee6ba24d7u,
                                   0x8ec9733bbf78ab2fu, 0x09d645513d83de7eu}}};
/* psi(x, y) = (k_x conj(x), k_y conj(y)); k_x = u psi_x1, k_y = psi_y0 + u psi_y1 */
static const cuzk_fp psi_x1 = {{0x890dc9e4867545c3u, 0x2af322533285a5d5u, 0x50880866309b7e2cu, 0xa20d1b8c7e881024u,
                                0x14e4f04fe2db9068u, 0x14e56d3f1564853au}};
static const cuzk_fp2 psi_y = {{{0x3e2f585da55c9ad1u, 0x4294213d86c18183u, 0x382844c88b623732u, 0x92ad2afd19103e18u,
                                 0x1d794e4fac7cf0b9u, 0x0bd592fc7d825ec8u}},
                               {{0x7bcfa7a25aa30fdau, 0xdc17dec12a927e7cu, 0x2f088dd86b4ebef1u, 0xd1ca2087da74d4a7u,
                                 0x2da2596696cebc1du, 0x0e2b7eedbbfd87d2u}}};

/* c1 comes first. */
static void fp2_to_be(uint8_t out[96], const cuzk_fp2 *a) {
  cuzk_fp_to_be(out, &a->c1);
  cuzk_fp_to_be(out + 48, &a->c0);
}
static bool fp2_from_be(cuzk_fp2 *r, const uint8_t in[96]) {
  return cuzk_fp_from_be(&r->c1, in) && cuzk_fp_from_be(&r->c0, in + 48);
}

#define EC_API
#define EC_FE cuzk_fp2
#define EC_F(op) cuzk_fp2_##op
#define EC_AFFINE cuzk_g2_affine
#define EC_POINT cuzk_g2
#define EC_FN(name) cuzk_g2_##name
#define EC_B (&curve_b)
#define EC_MUL_3B(r, a) cuzk_twist_mul_3b(r, a)
#include "ec/curve_tmpl.h"

#define EC_FE_BYTES 96
#define EC_FE_TO_BYTES(out, a) fp2_to_be(out, a)
#define EC_FE_FROM_BYTES(r, in) fp2_from_be(r, in)
#define EC_X_ZERO_REFUSED 0
#include "ec/encode_tmpl.h"

/* Formats specification 1.6: psi(Q) == [z] Q, necessary and sufficient; z is negative. */
bool cuzk_g2_affine_in_subgroup(const cuzk_g2_affine *q) {
  if (cuzk_g2_affine_is_identity(q)) return true;
  cuzk_g2 e, t;
  cuzk_g2_from_affine(&t, q);
  for (int i = 62; i >= 0; i--) {
    cuzk_g2_dbl(&t, &t);
    if ((0xd201000000010000u >> i) & 1) cuzk_g2_add_affine(&t, &t, q);
  }
  cuzk_g2_neg(&t, &t);
  /* u psi_x1 (x0 - u x1) = psi_x1 x1 + u psi_x1 x0 */
  cuzk_fp_mul(&e.x.c0, &psi_x1, &q->x.c1);
  cuzk_fp_mul(&e.x.c1, &psi_x1, &q->x.c0);
  cuzk_fp2_conj(&e.y, &q->y);
  cuzk_fp2_mul(&e.y, &e.y, &psi_y);
  e.z = cuzk_fp2_one;
  return cuzk_g2_eq(&t, &e);
}
