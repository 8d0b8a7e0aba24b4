/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/select.h"

cuzk_var cuzk_pick(struct cuzk_cs *cs, struct cuzk_bool cond, cuzk_var a, cuzk_var b) {
  const cuzk_fr v = cuzk_cs_has_values(cs) ? *cuzk_cs_value(cs, cond.value ? a : b) : cuzk_fr_zero;
  const cuzk_var x = cuzk_cs_alloc(cs, &v);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, b, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 0, a, CUZK_COEFF_MINUS_ONE);
    cuzk_bool_view(cs, 1, cond, 0, false);
    cuzk_cs_term(cs, 2, b, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 2, x, CUZK_COEFF_MINUS_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

cuzk_var cuzk_select(struct cuzk_cs *cs, cuzk_var *from, const struct cuzk_bool *bits, unsigned n_bits) {
  for (unsigned k = n_bits; k--;)
    for (size_t j = 0, half = (size_t)1 << k; j < half; j++) from[j] = cuzk_pick(cs, bits[k], from[half + j], from[j]);
  return from[0];
}

/* The lists are the reference's optimised ones for each size; true and false branches differ between them. */
static void insert_4(struct cuzk_cs *cs, cuzk_var *out, const cuzk_var *s, cuzk_var x, const struct cuzk_bool *bit) {
  const cuzk_var b = s[0], c = s[1], d = s[2];
  cuzk_var t = cuzk_pick(cs, bit[0], b, x);
  out[0] = cuzk_pick(cs, bit[1], b, t);
  t = cuzk_pick(cs, bit[0], x, b);
  out[1] = cuzk_pick(cs, bit[1], c, t);
  t = cuzk_pick(cs, bit[0], d, x);
  out[2] = cuzk_pick(cs, bit[1], t, c);
  t = cuzk_pick(cs, bit[0], x, d);
  out[3] = cuzk_pick(cs, bit[1], t, d);
}

static void insert_8(struct cuzk_cs *cs, cuzk_var *out, const cuzk_var *s, cuzk_var x, const struct cuzk_bool *bit) {
  const cuzk_var b = s[0], c = s[1], d = s[2], e = s[3], f = s[4], g = s[5], h = s[6];
  const struct cuzk_bool nor = cuzk_bit_nor(cs, bit[0], bit[1]), and = cuzk_bit_and(cs, bit[0], bit[1]);
  cuzk_var t = cuzk_pick(cs, nor, x, b), u;
  out[0] = cuzk_pick(cs, bit[2], b, t);
  t = cuzk_pick(cs, bit[0], x, b);
  u = cuzk_pick(cs, bit[1], c, t);
  out[1] = cuzk_pick(cs, bit[2], c, u);
  t = cuzk_pick(cs, bit[0], d, x);
  u = cuzk_pick(cs, bit[1], t, c);
  out[2] = cuzk_pick(cs, bit[2], d, u);
  t = cuzk_pick(cs, and, x, d);
  out[3] = cuzk_pick(cs, bit[2], e, t);
  t = cuzk_pick(cs, nor, x, f);
  out[4] = cuzk_pick(cs, bit[2], t, e);
  t = cuzk_pick(cs, bit[0], x, f);
  u = cuzk_pick(cs, bit[1], g, t);
  out[5] = cuzk_pick(cs, bit[2], u, f);
  t = cuzk_pick(cs, bit[0], h, x);
  u = cuzk_pick(cs, bit[1], t, g);
  out[6] = cuzk_pick(cs, bit[2], u, g);
  t = cuzk_pick(cs, and, x, h);
  out[7] = cuzk_pick(cs, bit[2], t, h);
}

void cuzk_insert(struct cuzk_cs *cs, cuzk_var *out, const cuzk_var *elements, cuzk_var x, const struct cuzk_bool *bits, unsigned n) {
  if (n == 8) {
    insert_8(cs, out, elements, x, bits);
  } else if (n == 4) {
    insert_4(cs, out, elements, x, bits);
  } else {
    out[0] = cuzk_pick(cs, bits[0], elements[0], x);
    out[1] = cuzk_pick(cs, bits[0], x, elements[0]);
  }
}

void cuzk_xor_bits(struct cuzk_cs *cs, struct cuzk_bool *out, const struct cuzk_bool key[256], const struct cuzk_bool *in, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = cuzk_bool_xor(cs, in[i], key[i % 256]);
}
