/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/fp.h"

#include <string.h>

#include "base/bytes.h"

const uint64_t cuzk_fp_modulus[6] = {0xb9feffffffffaaabu, 0x1eabfffeb153ffffu, 0x6730d2a0f6b0f624u,
    0x64774b84f38512bfu, 0x4b1ba7b6434bacd7u, 0x1a0111ea397fe69au};
const cuzk_fp cuzk_fp_zero = {{0}};
const cuzk_fp cuzk_fp_one = {{0x760900000002fffdu, 0xebf4000bc40c0002u, 0x5f48985753c758bau, 0x77ce585370525745u,
    0x5c071a97a256ec6du, 0x15f65ec3fa80e493u}};
static const cuzk_fp r_cubed = {{0xed48ac6bd94ca1e0u, 0x315f831e03a7adf8u, 0x9a53352a615e29ddu, 0x34c04e5e921e1761u,
    0x2512d43565724728u, 0x0aa6346091755d4du}};
static const cuzk_fp r_squared = {{0xf4df1f341c341746u, 0x0a76e6a609d104f1u, 0x8de5476c4c95b6d5u,
    0x67eb88a9939d83c0u, 0x9a793e85b519952du, 0x11988fe592cae3aau}};
static const uint64_t sqrt_exponent[6] = {0xee7fbfffffffeaaau, 0x07aaffffac54ffffu, 0xd9cc34a83dac3d89u,
    0xd91dd2e13ce144afu, 0x92c6e9ed90d2eb35u, 0x0680447a8e5ff9a6u}; /* (p - 3) / 4 */
static const uint64_t half_modulus[6] = {0xdcff7fffffffd555u, 0x0f55ffff58a9ffffu, 0xb39869507b587b12u,
    0xb23ba5c279c2895fu, 0x258dd3db21a5d66bu, 0x0d0088f51cbff34du};  /* (p - 1) / 2 */

static const int64_t modulus_62[7] = {0x39feffffffffaaab, 0x3aaffffac54ffffe, 0x330d2a0f6b0f6241, 0x1dd2e13ce144afd9,
    0x1ba7b6434bacd764, 0x0447a8e5ff9a692c, 0x00000000000001a0};
#define INV_N 7
#define INV_LIMBS 6
#define INV_FN(name) fp_##name
#define INV_MODULUS modulus_62
#define INV_MODINV 0x360c000300030003
#include "ff/inv_tmpl.h"

/* a stands for a/R: its plain inverse times R^3, in Montgomery form, is 1/a. */
void cuzk_fp_inv_var(cuzk_fp *r, const cuzk_fp *a) {
  cuzk_fp t;
  fp_inverse(t.l, a->l);
  cuzk_fp_mul(r, &t, &r_cubed);
}

#define FIELD cuzk_fp
#define FIELD_FN(name) cuzk_fp_##name
#define FIELD_POW
#include "ff/field_tmpl.h"

void cuzk_fp_to_canon(uint64_t out[6], const cuzk_fp *a) {
  static const uint64_t one[6] = {1};
  cuzk_ff_ops.fp_mul(out, a->l, one);
}

bool cuzk_fp_from_canon(cuzk_fp *r, const uint64_t a[6]) {
  cuzk_fp t;
  memcpy(t.l, a, sizeof t.l);
  if (!cuzk_fp_is_reduced(&t)) return false;
  cuzk_ff_ops.fp_mul(r->l, a, r_squared.l);
  return true;
}

void cuzk_fp_from_u64(cuzk_fp *r, uint64_t v) {
  const uint64_t a[6] = {v};
  cuzk_ff_ops.fp_mul(r->l, a, r_squared.l);
}

void cuzk_fp_pow_p_minus_3_over_4(cuzk_fp *r, const cuzk_fp *a) { cuzk_fp_pow_var(r, a, sqrt_exponent, 6); }

bool cuzk_fp_sqrt_var(cuzk_fp *r, const cuzk_fp *a) {
  cuzk_fp s, t;
  cuzk_fp_pow_p_minus_3_over_4(&s, a);
  cuzk_fp_mul(&s, &s, a);
  cuzk_fp_sqr(&t, &s);
  if (!cuzk_fp_eq(&t, a)) return false;
  *r = s;
  return true;
}

bool cuzk_fp_is_larger(const cuzk_fp *a) {
  uint64_t c[6];
  cuzk_fp_to_canon(c, a);
  for (int i = 5; i >= 0; i--)
    if (c[i] != half_modulus[i]) return c[i] > half_modulus[i];
  return false;
}

void cuzk_fp_to_be(uint8_t out[48], const cuzk_fp *a) {
  uint64_t c[6];
  cuzk_fp_to_canon(c, a);
  for (int i = 0; i < 6; i++) cuzk_store_be64(out + 8 * i, c[5 - i]);
}

bool cuzk_fp_from_be(cuzk_fp *r, const uint8_t in[48]) {
  uint64_t c[6];
  for (int i = 0; i < 6; i++) c[5 - i] = cuzk_load_be64(in + 8 * i);
  return cuzk_fp_from_canon(r, c);
}
