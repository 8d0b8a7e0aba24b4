/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/num.h"

static inline void one(struct cuzk_cs *cs, unsigned k, cuzk_var v) { cuzk_cs_term(cs, k, v, CUZK_COEFF_ONE); }

/* a * 1 = b */
void cuzk_num_equal(struct cuzk_cs *cs, cuzk_var a, cuzk_var b) {
  if (cs->lcs) {
    one(cs, 0, a);
    one(cs, 1, CUZK_VAR_ONE);
    one(cs, 2, b);
  }
  cuzk_cs_enforce(cs);
}

cuzk_var cuzk_num_alloc(struct cuzk_cs *cs, const cuzk_fr *v) { return cuzk_cs_alloc(cs, v ? v : &cuzk_fr_zero); }

cuzk_var cuzk_num_inputize(struct cuzk_cs *cs, cuzk_var x) {
  const cuzk_fr v = cuzk_cs_has_values(cs) ? *cuzk_cs_value(cs, x) : cuzk_fr_zero;
  const cuzk_var i = cuzk_cs_alloc_input(cs, &v);
  cuzk_num_equal(cs, i, x);
  return i;
}

cuzk_var cuzk_num_mul(struct cuzk_cs *cs, cuzk_var a, cuzk_var b) {
  cuzk_fr v = cuzk_fr_zero;
  if (cuzk_cs_has_values(cs)) cuzk_fr_mul(&v, cuzk_cs_value(cs, a), cuzk_cs_value(cs, b));
  const cuzk_var x = cuzk_cs_alloc(cs, &v);
  if (cs->lcs) {
    one(cs, 0, a);
    one(cs, 1, b);
    one(cs, 2, x);
  }
  cuzk_cs_enforce(cs);
  return x;
}

cuzk_var cuzk_num_square(struct cuzk_cs *cs, cuzk_var a) { return cuzk_num_mul(cs, a, a); }

/* (a + b) * 1 = s */
static void sum(struct cuzk_cs *cs, cuzk_var a, cuzk_var b, cuzk_var s) {
  if (cs->lcs) {
    one(cs, 0, a);
    one(cs, 0, b);
    one(cs, 1, CUZK_VAR_ONE);
    one(cs, 2, s);
  }
  cuzk_cs_enforce(cs);
}

cuzk_var cuzk_num_add(struct cuzk_cs *cs, cuzk_var a, cuzk_var b) {
  cuzk_fr v = cuzk_fr_zero;
  if (cuzk_cs_has_values(cs)) cuzk_fr_add(&v, cuzk_cs_value(cs, a), cuzk_cs_value(cs, b));
  const cuzk_var s = cuzk_cs_alloc(cs, &v);
  sum(cs, a, b, s);
  return s;
}

cuzk_var cuzk_num_sub(struct cuzk_cs *cs, cuzk_var a, cuzk_var b) {
  cuzk_fr v = cuzk_fr_zero;
  if (cuzk_cs_has_values(cs)) cuzk_fr_sub(&v, cuzk_cs_value(cs, a), cuzk_cs_value(cs, b));
  const cuzk_var x = cuzk_cs_alloc(cs, &v);
  sum(cs, x, b, a);
  return x;
}

void cuzk_num_conditionally_reverse(struct cuzk_cs *cs, cuzk_var out[2], cuzk_var a, cuzk_var b, struct cuzk_bool cond) {
  const cuzk_var x[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    const cuzk_fr v = cuzk_cs_has_values(cs) ? *cuzk_cs_value(cs, x[cond.value ? 1 - i : i]) : cuzk_fr_zero;
    out[i] = cuzk_cs_alloc(cs, &v);
    if (cs->lcs) {
      one(cs, 0, x[i]);
      cuzk_cs_term(cs, 0, x[1 - i], CUZK_COEFF_MINUS_ONE);
      cuzk_bool_view(cs, 1, cond, 0, false);
      one(cs, 2, x[i]);
      cuzk_cs_term(cs, 2, out[i], CUZK_COEFF_MINUS_ONE);
    }
    cuzk_cs_enforce(cs);
  }
}

static void canonical(const struct cuzk_cs *cs, uint64_t v[4], cuzk_var x) {
  v[0] = v[1] = v[2] = v[3] = 0;
  if (cuzk_cs_has_values(cs)) cuzk_fr_to_canon(v, cuzk_cs_value(cs, x));
}

void cuzk_num_field_bits(struct cuzk_cs *cs, struct cuzk_bool *bits, unsigned n, cuzk_var x) {
  uint64_t v[4];
  canonical(cs, v, x);
  if (cs->lcs) {
    for (unsigned i = 0; i < n; i++) bits[i] = cuzk_bit_alloc(cs, (v[i / 64] >> (i % 64)) & 1);
    return;
  }
  cs->n_rows += n;
  for (unsigned at = 0; at < n; at += 64) {
    const unsigned k = n - at < 64 ? n - at : 64;
    const uint64_t w = v[at / 64] & (UINT64_MAX >> (64 - k));
    const cuzk_var first = cuzk_cs_alloc_bits(cs, w, k);
    for (unsigned i = 0; i < k; i++) bits[at + i] = (struct cuzk_bool){first + i, CUZK_BOOL_IS, (w >> i) & 1};
  }
}

/* 0 * 0 = sum 2^i bits[i] - x */
static void enforce_unpacked(struct cuzk_cs *cs, const struct cuzk_bool bits[CUZK_FR_BITS], cuzk_var x) {
  if (cs->lcs) {
    cuzk_cs_term(cs, 2, x, CUZK_COEFF_MINUS_ONE);
    for (unsigned i = 0; i < CUZK_FR_BITS; i++) cuzk_cs_term(cs, 2, bits[i].var, CUZK_COEFF_POW2(i));
  }
  cuzk_cs_enforce(cs);
}

void cuzk_num_to_bits(struct cuzk_cs *cs, struct cuzk_bool bits[CUZK_FR_BITS], cuzk_var x) {
  cuzk_num_field_bits(cs, bits, CUZK_FR_BITS, x);
  enforce_unpacked(cs, bits, x);
}

void cuzk_num_to_bits_strict(struct cuzk_cs *cs, struct cuzk_bool bits[CUZK_FR_BITS], cuzk_var x) {
  struct cuzk_bool run[CUZK_FR_BITS + 1], last = cuzk_bool_const(false);
  unsigned n_run = 0;
  bool have_last = false;
  uint64_t v[4];
  canonical(cs, v, x);
  for (int i = CUZK_FR_BITS - 1; i >= 0; i--) {
    const bool bit = (v[i / 64] >> (i % 64)) & 1;
    /* The largest value is r - 1, whose lowest bit is 0, unlike that of r. */
    if (i && (cuzk_fr_modulus[i / 64] >> (i % 64)) & 1) {
      bits[i] = run[n_run++] = cuzk_bit_alloc(cs, bit);
      continue;
    }
    if (n_run) {
      if (have_last) run[n_run++] = last;
      last = run[0];
      for (unsigned j = 1; j < n_run; j++) last = cuzk_bit_and(cs, last, run[j]);
      have_last = true;
      n_run = 0;
    }
    bits[i] = cuzk_bit_alloc_unless(cs, bit, last);
  }
  enforce_unpacked(cs, bits, x);
}

void cuzk_num_enforce_sum_of_bits(struct cuzk_cs *cs, const struct cuzk_bool *bits, unsigned n, cuzk_var x) {
  if (cs->lcs) {
    for (unsigned i = 0; i < n; i++) cuzk_bool_view(cs, 0, bits[i], i, false);
    one(cs, 1, CUZK_VAR_ONE);
    one(cs, 2, x);
  }
  cuzk_cs_enforce(cs);
}

static void packed_value(const struct cuzk_cs *cs, cuzk_fr *out, const struct cuzk_bool *bits, unsigned n) {
  uint64_t v[4] = {0};
  *out = cuzk_fr_zero;
  if (!cs->values) return;
  for (unsigned i = 0; i < n; i++) v[i / 64] |= (uint64_t)bits[i].value << (i % 64);
  (void)cuzk_fr_from_canon(out, v); /* 254 bits are below the modulus */
}

cuzk_var cuzk_pack_bits(struct cuzk_cs *cs, const struct cuzk_bool *bits, size_t n) {
  const unsigned take = n < CUZK_FR_CAPACITY ? (unsigned)n : CUZK_FR_CAPACITY;
  cuzk_fr v;
  packed_value(cs, &v, bits, take);
  const cuzk_var x = cuzk_cs_alloc(cs, &v);
  cuzk_num_enforce_sum_of_bits(cs, bits, take, x);
  return x;
}

void cuzk_pack_into_inputs(struct cuzk_cs *cs, const struct cuzk_bool *bits, size_t n) {
  for (size_t at = 0; at < n; at += CUZK_FR_CAPACITY) {
    const unsigned take = n - at < CUZK_FR_CAPACITY ? (unsigned)(n - at) : CUZK_FR_CAPACITY;
    cuzk_fr v;
    packed_value(cs, &v, bits + at, take);
    const cuzk_var x = cuzk_cs_alloc_input(cs, &v);
    cuzk_num_enforce_sum_of_bits(cs, bits + at, take, x);
  }
}

void cuzk_byte_reverse(struct cuzk_bool *out, const struct cuzk_bool *bits, size_t n) {
  for (size_t i = 0; i < (n + 7) / 8 * 8; i++) {
    const size_t from = i / 8 * 8 + 7 - i % 8;
    out[i] = from < n ? bits[from] : cuzk_bool_const(false);
  }
}

void cuzk_num_to_sha_bits(struct cuzk_cs *cs, struct cuzk_bool bits[256], cuzk_var x) {
  struct cuzk_bool le[CUZK_FR_BITS];
  cuzk_num_to_bits(cs, le, x);
  cuzk_byte_reverse(bits, le, CUZK_FR_BITS);
}

cuzk_var cuzk_num_from_sha_bits(struct cuzk_cs *cs, const struct cuzk_bool digest[256]) {
  struct cuzk_bool le[256];
  cuzk_byte_reverse(le, digest, 256);
  return cuzk_pack_bits(cs, le, CUZK_FR_CAPACITY);
}
