/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Words of 32 booleans in three integers, for sinks that take no linear combinations: what an operation allocates is written 32
 *  bits at a time. Each allocates the same variables, in the same order, with the same values and as many rows as its namesake of
 *  uint32.h; rare mixtures of constants go through that. Source: circuits specification 2.2, 2.7, 2.8; docs/internals/r1cs.md. */
#ifndef CUZK_GADGETS_WORD32_H
#define CUZK_GADGETS_WORD32_H
#include "gadgets/uint32.h"

/** Bit i of each field describes boolean i: value is its value, konst is set for constants, neg for negated bits. */
struct cuzk_word32 {
  uint32_t value, konst, neg;
  cuzk_var first; /* sums: boolean i is variable first + i */
};

static inline struct cuzk_word32 cuzk_word32_const(uint32_t v) { return (struct cuzk_word32){v, UINT32_MAX, 0, CUZK_VAR_ONE}; }
/** From booleans, least significant first. */
struct cuzk_word32 cuzk_word32_of(const struct cuzk_word *w);
/** From 32 booleans, most significant first. */
struct cuzk_word32 cuzk_word32_from_be(const struct cuzk_bool bits[32]);
/** The booleans of a constant or a sum; others have CUZK_VAR_ONE for their variables. */
struct cuzk_word cuzk_word32_booleans(const struct cuzk_word32 *w);

static inline struct cuzk_word32 cuzk_word32_rotr(const struct cuzk_word32 *w, unsigned n) {
  const unsigned m = 32 - n;
  return (struct cuzk_word32){w->value >> n | w->value << m, w->konst >> n | w->konst << m, w->neg >> n | w->neg << m, CUZK_VAR_ONE};
}

static inline struct cuzk_word32 cuzk_word32_shr(const struct cuzk_word32 *w, unsigned n) {
  return (struct cuzk_word32){w->value >> n, w->konst >> n | ~(UINT32_MAX >> n), w->neg >> n, CUZK_VAR_ONE};
}

struct cuzk_word32 cuzk_word32_xor(struct cuzk_cs *cs, const struct cuzk_word32 *a, const struct cuzk_word32 *b);
struct cuzk_word32 cuzk_word32_ch(struct cuzk_cs *cs, const struct cuzk_word32 *a, const struct cuzk_word32 *b,
                                  const struct cuzk_word32 *c);
struct cuzk_word32 cuzk_word32_maj(struct cuzk_cs *cs, const struct cuzk_word32 *a, const struct cuzk_word32 *b,
                                   const struct cuzk_word32 *c);
struct cuzk_word32 cuzk_word32_addmany(struct cuzk_multieq *me, const struct cuzk_word32 *const *ops, unsigned n);
#endif
