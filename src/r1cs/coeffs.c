/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "r1cs/coeffs.h"

#include <string.h>

#include "base/alloc.h"

const cuzk_fr *cuzk_coeff_value(const struct cuzk_coeffs *t, cuzk_coeff c) { return &t->value[c]; }
const uint8_t *cuzk_coeff_le(const struct cuzk_coeffs *t, cuzk_coeff c) { return t->le[c]; }

static uint32_t hash_value(const cuzk_fr *v) {
  uint64_t h = v->l[0] ^ (v->l[1] * 0x9e3779b97f4a7c15u) ^ (v->l[2] << 21) ^ (v->l[3] >> 7);
  h *= 0xd6e8feb86659fd93u;
  return (uint32_t)(h >> 32);
}

static uint32_t find_slot(const struct cuzk_coeffs *t, const cuzk_fr *v) {
  uint32_t i = hash_value(v) & (t->n_slots - 1);
  while (t->slots[i] && !cuzk_fr_eq(&t->value[t->slots[i] - 1], v)) i = (i + 1) & (t->n_slots - 1);
  return i;
}

/* Room for one more value. */
static enum cuzk_status grow(struct cuzk_coeffs *t) {
  if (t->n == t->cap) {
    const uint32_t cap = t->cap ? 2 * t->cap : 2048;
    cuzk_fr *value = cuzk_realloc_array(t->value, cap, sizeof *value);
    if (!value) return CUZK_E_NOMEM;
    t->value = value;
    uint8_t(*le)[32] = cuzk_realloc_array(t->le, cap, sizeof *le);
    if (!le) return CUZK_E_NOMEM;
    t->le = le;
    t->cap = cap;
  }
  if (2 * (t->n + 1) > t->n_slots) {
    const uint32_t old_n = t->n_slots;
    uint32_t *old = t->slots, *slots = cuzk_calloc(old_n ? 2 * old_n : 4096, sizeof *slots);
    if (!slots) return CUZK_E_NOMEM;
    t->slots = slots;
    t->n_slots = old_n ? 2 * old_n : 4096;
    for (uint32_t i = 0; i < old_n; i++)
      if (old[i]) t->slots[find_slot(t, &t->value[old[i] - 1])] = old[i];
    cuzk_free(old);
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_coeffs_intern(struct cuzk_coeffs *t, cuzk_coeff *out, const cuzk_fr *v) {
  uint32_t i = t->n_slots ? find_slot(t, v) : 0;
  if (!t->n_slots || !t->slots[i]) {
    const enum cuzk_status st = grow(t);
    if (st != CUZK_OK) return st;
    i = find_slot(t, v);
    t->value[t->n] = *v;
    cuzk_fr_to_le(t->le[t->n], v);
    t->slots[i] = ++t->n;
  }
  *out = t->slots[i] - 1;
  return CUZK_OK;
}

enum cuzk_status cuzk_coeffs_add(struct cuzk_coeffs *t, cuzk_coeff *out, cuzk_coeff a, cuzk_coeff b) {
  if (a == CUZK_COEFF_ZERO || b == CUZK_COEFF_ZERO) {
    *out = a | b;
    return CUZK_OK;
  }
  const uint32_t slot = (a * 0x9e3779b1u ^ b * 0x85ebca6bu) >> 8 & (CUZK_COEFFS_MEMO - 1);
  if (t->memo[slot].a != a || t->memo[slot].b != b) {
    cuzk_fr s;
    cuzk_coeff sum;
    cuzk_fr_add(&s, &t->value[a], &t->value[b]);
    const enum cuzk_status st = cuzk_coeffs_intern(t, &sum, &s);
    if (st != CUZK_OK) return st;
    t->memo[slot].a = a;
    t->memo[slot].b = b;
    t->memo[slot].sum = sum;
  }
  *out = t->memo[slot].sum;
  return CUZK_OK;
}

void cuzk_coeffs_destroy(struct cuzk_coeffs **t) {
  if (!t || !*t) return;
  cuzk_free((*t)->value);
  cuzk_free((*t)->le);
  cuzk_free((*t)->slots);
  cuzk_free((*t)->memo);
  cuzk_free(*t);
  *t = NULL;
}

enum cuzk_status cuzk_coeffs_create(struct cuzk_coeffs **out) {
  struct cuzk_coeffs *t = cuzk_calloc(1, sizeof *t);
  *out = NULL;
  if (!t) return CUZK_E_NOMEM;
  cuzk_coeff c;
  cuzk_fr p = cuzk_fr_one, m;
  enum cuzk_status st = CUZK_E_NOMEM;
  t->memo = cuzk_calloc(CUZK_COEFFS_MEMO, sizeof *t->memo);
  if (t->memo) st = cuzk_coeffs_intern(t, &c, &cuzk_fr_zero);
  for (int k = 0; k < 255 && st == CUZK_OK; k++) {
    cuzk_fr_neg(&m, &p);
    st = cuzk_coeffs_intern(t, &c, &p);
    if (st == CUZK_OK) st = cuzk_coeffs_intern(t, &c, &m);
    cuzk_fr_dbl(&p, &p);
  }
  if (st != CUZK_OK) cuzk_coeffs_destroy(&t);
  *out = t;
  return st;
}
