/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/fr.h"

#include <string.h>

#include "base/bytes.h"
#include "base/random.h"

const uint64_t cuzk_fr_modulus[4] = {0xffffffff00000001u, 0x53bda402fffe5bfeu, 0x3339d80809a1d805u, 0x73eda753299d7d48u};
const cuzk_fr cuzk_fr_zero = {{0}};
const cuzk_fr cuzk_fr_one = {{0x00000001fffffffeu, 0x5884b7fa00034802u, 0x998c4fefecbc4ff5u, 0x1824b159acc5056fu}};
const cuzk_fr cuzk_fr_generator = {{0x0000000efffffff1u, 0x17e363d300189c0fu, 0xff9c57876f8457b0u, 0x351332208fc5a8c4u}};
const cuzk_fr cuzk_fr_root_2_32 = {{0xb9b58d8c5f0e466au, 0x5b1b4c801819d7ecu, 0x0af53ae352a31e64u, 0x5bf3adda19e9b27bu}};
static const cuzk_fr r_squared = {{0xc999e990f3f29c6du, 0x2b6cedcb87925c23u, 0x05d314967254398fu, 0x0748d9d99f59ff11u}};
static const cuzk_fr r_cubed = {{0xc62c1807439b73afu, 0x1b3e0d188cf06990u, 0x73d13c71c7b5f418u, 0x6e2a5bb9c8db33e9u}};

static const int64_t modulus_62[5] = {0x3fffffff00000001, 0x0ef6900bfff96ffb, 0x339d80809a1d8055, 0x3b69d4ca675f520c,
    0x0000000000000073};
#define INV_N 5
#define INV_LIMBS 4
#define INV_FN(name) fr_##name
#define INV_MODULUS modulus_62
#define INV_MODINV 0x0000000100000001
#include "ff/inv_tmpl.h"

/* a stands for a/R: its plain inverse times R^3, in Montgomery form, is 1/a. */
void cuzk_fr_inv_var(cuzk_fr *r, const cuzk_fr *a) {
  cuzk_fr t;
  fr_inverse(t.l, a->l);
  cuzk_fr_mul(r, &t, &r_cubed);
}

#define FIELD cuzk_fr
#define FIELD_FN(name) cuzk_fr_##name
#define FIELD_POW
#include "ff/field_tmpl.h"

void cuzk_fr_dot(cuzk_fr *r, const cuzk_fr *a, const cuzk_fr *b, size_t stride, size_t n) {
  *r = cuzk_fr_zero;
  for (size_t at = 0; at < n; at += CUZK_FR_DOT_MAX) {
    cuzk_fr x;
    const size_t k = n - at < CUZK_FR_DOT_MAX ? n - at : CUZK_FR_DOT_MAX;
    cuzk_ff_ops.fr_dot(x.l, a[at].l, b[at * stride].l, stride * sizeof *b, k);
    if (at)
      cuzk_fr_add(r, r, &x);
    else
      *r = x;
  }
}

void cuzk_fr_to_canon(uint64_t out[4], const cuzk_fr *a) {
  static const uint64_t one[4] = {1};
  cuzk_ff_ops.fr_mul(out, a->l, one);
}

bool cuzk_fr_from_canon(cuzk_fr *r, const uint64_t a[4]) {
  cuzk_fr t;
  memcpy(t.l, a, sizeof t.l);
  if (!cuzk_fr_is_reduced(&t)) return false;
  cuzk_ff_ops.fr_mul(r->l, a, r_squared.l);
  return true;
}

void cuzk_fr_from_u64(cuzk_fr *r, uint64_t v) {
  const uint64_t a[4] = {v};
  cuzk_ff_ops.fr_mul(r->l, a, r_squared.l);
}

void cuzk_fr_to_le(uint8_t out[32], const cuzk_fr *a) {
  uint64_t c[4];
  cuzk_fr_to_canon(c, a);
  memcpy(out, c, 32);
}

bool cuzk_fr_from_le(cuzk_fr *r, const uint8_t in[32]) {
  uint64_t c[4];
  memcpy(c, in, 32);
  return cuzk_fr_from_canon(r, c);
}

void cuzk_fr_from_le64_reduce(cuzk_fr *r, const uint8_t in[64]) {
  uint64_t lo[4], hi[4];
  memcpy(lo, in, 32);
  memcpy(hi, in + 32, 32);
  /* lo and hi may exceed the modulus: the product accepts any 256-bit right operand with a reduced left one. */
  cuzk_fr x, y;
  cuzk_ff_ops.fr_mul(x.l, r_squared.l, lo);
  cuzk_ff_ops.fr_mul(y.l, r_cubed.l, hi);
  cuzk_ff_ops.fr_add(r->l, x.l, y.l);
}

enum cuzk_status cuzk_fr_random(cuzk_fr *r) {
  uint8_t b[64];
  enum cuzk_status st = cuzk_random_bytes(b, sizeof b);
  if (st == CUZK_OK) cuzk_fr_from_le64_reduce(r, b);
  return st;
}
