/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/uint32.h"

#include <string.h>

struct cuzk_word cuzk_word_const(uint32_t v) {
  struct cuzk_word w;
  for (int i = 0; i < 32; i++) w.b[i] = cuzk_bool_const((v >> i) & 1);
  return w;
}

struct cuzk_word cuzk_word_alloc(struct cuzk_cs *cs, uint32_t v) {
  struct cuzk_word w;
  for (int i = 0; i < 32; i++) w.b[i] = cuzk_bit_alloc(cs, (v >> i) & 1);
  return w;
}

struct cuzk_word cuzk_word_from_be(const struct cuzk_bool bits[32]) {
  struct cuzk_word w;
  for (int i = 0; i < 32; i++) w.b[i] = bits[31 - i];
  return w;
}

void cuzk_word_to_be(struct cuzk_bool bits[32], const struct cuzk_word *w) {
  for (int i = 0; i < 32; i++) bits[i] = w->b[31 - i];
}

struct cuzk_word cuzk_word_rotr(const struct cuzk_word *w, unsigned n) {
  struct cuzk_word r;
  for (unsigned i = 0; i < 32; i++) r.b[i] = w->b[(i + n) % 32];
  return r;
}

struct cuzk_word cuzk_word_shr(const struct cuzk_word *w, unsigned n) {
  struct cuzk_word r;
  for (unsigned i = 0; i < 32; i++) r.b[i] = i + n < 32 ? w->b[i + n] : cuzk_bool_const(false);
  return r;
}

struct cuzk_word cuzk_word_xor(struct cuzk_cs *cs, const struct cuzk_word *a, const struct cuzk_word *b) {
  struct cuzk_word r;
  for (int i = 0; i < 32; i++) r.b[i] = cuzk_bool_xor(cs, a->b[i], b->b[i]);
  return r;
}

struct cuzk_word cuzk_word_ch(struct cuzk_cs *cs, const struct cuzk_word *a, const struct cuzk_word *b, const struct cuzk_word *c) {
  struct cuzk_word r;
  for (int i = 0; i < 32; i++) r.b[i] = cuzk_bool_ch(cs, a->b[i], b->b[i], c->b[i]);
  return r;
}

struct cuzk_word cuzk_word_maj(struct cuzk_cs *cs, const struct cuzk_word *a, const struct cuzk_word *b, const struct cuzk_word *c) {
  struct cuzk_word r;
  for (int i = 0; i < 32; i++) r.b[i] = cuzk_bool_maj(cs, a->b[i], b->b[i], c->b[i]);
  return r;
}

void cuzk_multieq_open(struct cuzk_multieq *me, struct cuzk_cs *cs) {
  memset(me, 0, sizeof *me);
  me->cs = cs;
  cs->lhs.n = cs->rhs.n = 0;
}

static void flush(struct cuzk_multieq *me) {
  struct cuzk_cs *cs = me->cs;
  if (cs->lcs) {
    if (me->one[0] | me->one[1] | me->one[2] | me->one[3]) {
      cuzk_fr v = cuzk_fr_zero;
      (void)cuzk_fr_from_canon(&v, me->one);
      cuzk_lc_put(cs, &cs->lhs, CUZK_VAR_ONE, cuzk_cs_coeff(cs, &v));
    }
    cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_emit(cs, &cs->lhs, &cs->row[1], &cs->rhs);
    cs->row[1].n = cs->lhs.n = cs->rhs.n = 0;
    memset(me->one, 0, sizeof me->one);
  } else {
    cs->n_rows++;
  }
  me->used = 0;
}

void cuzk_multieq_close(struct cuzk_multieq *me) {
  if (me->used) flush(me);
}

unsigned cuzk_multieq_width(unsigned n) {
  unsigned width = 32;
  while ((n * UINT64_C(0xffffffff)) >> width) width++;
  return width;
}

void cuzk_multieq_make_room(struct cuzk_multieq *me, unsigned width) {
  if (me->used + width >= 254) flush(me);
}

/* one += v 2^shift; v below 2^36, the result below 2^254. */
static void add_shifted(uint64_t one[4], uint64_t v, unsigned shift) {
  unsigned i = shift / 64;
  const unsigned s = shift % 64;
  const uint64_t part[2] = {v << s, s ? v >> (64 - s) : 0};
  uint64_t carry = 0;
  for (unsigned k = 0; i < 4; i++, k++) {
    const uint64_t x = k < 2 ? part[k] : 0, sum = one[i] + x;
    const uint64_t c = sum < x;
    one[i] = sum + carry;
    carry = c + (one[i] < sum);
  }
}

struct cuzk_word cuzk_word_addmany(struct cuzk_multieq *me, const struct cuzk_word *const *ops, unsigned n) {
  struct cuzk_cs *cs = me->cs;
  uint64_t total = 0;
  bool constant = true;
  for (unsigned k = 0; k < n; k++)
    for (int i = 0; i < 32; i++) {
      total += (uint64_t)ops[k]->b[i].value << i;
      constant &= ops[k]->b[i].kind == CUZK_BOOL_CONST;
    }
  if (constant) return cuzk_word_const((uint32_t)total);
  const unsigned width = cuzk_multieq_width(n);
  struct cuzk_bool x[36];
  for (unsigned i = 0; i < width; i++) x[i] = cuzk_bit_alloc(cs, (total >> i) & 1);
  cuzk_multieq_make_room(me, width);
  if (cs->lcs) {
    const unsigned at = me->used;
    uint64_t one = 0;
    for (unsigned k = 0; k < n; k++)
      for (unsigned i = 0; i < 32; i++) {
        const struct cuzk_bool b = ops[k]->b[i];
        if (b.kind == CUZK_BOOL_IS) {
          cuzk_lc_put(cs, &cs->lhs, b.var, CUZK_COEFF_POW2(at + i));
          continue;
        }
        if (b.kind == CUZK_BOOL_NOT) cuzk_lc_put(cs, &cs->lhs, b.var, CUZK_COEFF_MINUS_POW2(at + i));
        one += (uint64_t)(b.kind == CUZK_BOOL_NOT || b.value) << i;
      }
    add_shifted(me->one, one, at);
    for (unsigned i = 0; i < width; i++) cuzk_lc_put(cs, &cs->rhs, x[i].var, CUZK_COEFF_POW2(at + i));
  }
  me->used += width;
  struct cuzk_word r;
  memcpy(r.b, x, sizeof r.b);
  return r;
}
