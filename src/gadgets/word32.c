/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/word32.h"

struct cuzk_word32 cuzk_word32_of(const struct cuzk_word *w) {
  struct cuzk_word32 r = {0, 0, 0, w->b[0].var};
  for (unsigned i = 0; i < 32; i++) {
    const struct cuzk_bool b = w->b[i];
    r.value |= (uint32_t)b.value << i;
    r.konst |= (uint32_t)(b.kind == CUZK_BOOL_CONST) << i;
    r.neg |= (uint32_t)(b.kind == CUZK_BOOL_NOT) << i;
  }
  return r;
}

struct cuzk_word32 cuzk_word32_from_be(const struct cuzk_bool bits[32]) {
  struct cuzk_word32 r = {0, 0, 0, CUZK_VAR_ONE};
  for (unsigned i = 0; i < 32; i++) {
    const struct cuzk_bool b = bits[i];
    r.value = r.value << 1 | b.value;
    r.konst = r.konst << 1 | (b.kind == CUZK_BOOL_CONST);
    r.neg = r.neg << 1 | (b.kind == CUZK_BOOL_NOT);
  }
  return r;
}

struct cuzk_word cuzk_word32_booleans(const struct cuzk_word32 *w) {
  struct cuzk_word r;
  for (unsigned i = 0; i < 32; i++) {
    const bool konst = (w->konst >> i) & 1, neg = (w->neg >> i) & 1;
    r.b[i].var = konst || w->first == CUZK_VAR_ONE ? CUZK_VAR_ONE : w->first + i;
    r.b[i].kind = konst ? CUZK_BOOL_CONST : neg ? CUZK_BOOL_NOT : CUZK_BOOL_IS;
    r.b[i].value = (w->value >> i) & 1;
  }
  return r;
}

/* The bits of v where mask has ones, next to each other. */
static uint32_t gather(uint32_t v, uint32_t mask, unsigned *n) {
  uint32_t r = 0;
  unsigned k = 0;
  for (; mask; mask &= mask - 1) r |= (v >> __builtin_ctz(mask) & 1) << k++;
  *n = k;
  return r;
}

struct cuzk_word32 cuzk_word32_xor(struct cuzk_cs *cs, const struct cuzk_word32 *a, const struct cuzk_word32 *b) {
  const uint32_t konst = a->konst & b->konst, both = ~(a->konst | b->konst);
  /* A constant operand passes the other one on, negated where it is true. */
  const uint32_t neg = (a->neg ^ b->neg ^ (a->value & a->konst) ^ (b->value & b->konst)) & ~konst;
  const uint32_t bits = a->value ^ a->neg ^ b->value ^ b->neg;
  if (both == UINT32_MAX) {
    (void)cuzk_cs_alloc_bits(cs, bits, 32);
    cs->n_rows += 32;
  } else if (both) {
    unsigned n = 0;
    if (both & (both + 1)) {
      const uint32_t v = gather(bits, both, &n);
      (void)cuzk_cs_alloc_bits(cs, v, n);
    } else {
      while (both >> n) n++;
      (void)cuzk_cs_alloc_bits(cs, bits & both, n);
    }
    cs->n_rows += n;
  }
  return (struct cuzk_word32){a->value ^ b->value, konst, neg, CUZK_VAR_ONE};
}

struct cuzk_word32 cuzk_word32_ch(struct cuzk_cs *cs, const struct cuzk_word32 *a, const struct cuzk_word32 *b,
                                  const struct cuzk_word32 *c) {
  if (a->konst | b->konst | c->konst) {
    const struct cuzk_word x = cuzk_word32_booleans(a), y = cuzk_word32_booleans(b), z = cuzk_word32_booleans(c);
    const struct cuzk_word r = cuzk_word_ch(cs, &x, &y, &z);
    return cuzk_word32_of(&r);
  }
  const uint32_t v = (a->value & b->value) | (~a->value & c->value);
  const cuzk_var first = cuzk_cs_alloc_bits(cs, v, 32);
  cs->n_rows += 32;
  return (struct cuzk_word32){v, 0, 0, first};
}

/* The bits of v at even places. */
static uint64_t spread(uint32_t v) {
  uint64_t x = v;
  x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
  x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
  x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  x = (x | x << 2) & UINT64_C(0x3333333333333333);
  return (x | x << 1) & UINT64_C(0x5555555555555555);
}

struct cuzk_word32 cuzk_word32_maj(struct cuzk_cs *cs, const struct cuzk_word32 *a, const struct cuzk_word32 *b,
                                   const struct cuzk_word32 *c) {
  if (a->konst | b->konst | c->konst) {
    const struct cuzk_word x = cuzk_word32_booleans(a), y = cuzk_word32_booleans(b), z = cuzk_word32_booleans(c);
    const struct cuzk_word r = cuzk_word_maj(cs, &x, &y, &z);
    return cuzk_word32_of(&r);
  }
  const uint32_t t = b->value & c->value, v = t | (a->value & (b->value | c->value));
  (void)cuzk_cs_alloc_bits(cs, spread(v) | spread(t) << 1, 64);
  cs->n_rows += 64;
  return (struct cuzk_word32){v, 0, 0, CUZK_VAR_ONE};
}

struct cuzk_word32 cuzk_word32_addmany(struct cuzk_multieq *me, const struct cuzk_word32 *const *ops, unsigned n) {
  struct cuzk_cs *cs = me->cs;
  uint64_t total = 0;
  uint32_t konst = UINT32_MAX;
  for (unsigned k = 0; k < n; k++) {
    total += ops[k]->value;
    konst &= ops[k]->konst;
  }
  if (konst == UINT32_MAX) return cuzk_word32_const((uint32_t)total);
  const unsigned width = cuzk_multieq_width(n);
  const cuzk_var first = cuzk_cs_alloc_bits(cs, total, width);
  cs->n_rows += width;
  cuzk_multieq_make_room(me, width);
  me->used += width;
  return (struct cuzk_word32){(uint32_t)total, 0, 0, first};
}
