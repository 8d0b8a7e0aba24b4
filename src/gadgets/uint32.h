/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** 32-bit words of booleans, and the multi-equality that batches their sums. Source: circuits specification 2.7, 2.8. */
#ifndef CUZK_GADGETS_UINT32_H
#define CUZK_GADGETS_UINT32_H
#include "gadgets/boolean.h"

struct cuzk_word {
  struct cuzk_bool b[32]; /* least significant first */
};

/** Equalities "sum of operands = sum of result bits", as many in one row as fit into 254 bits. The terms are kept in the sink,
 *  so one may be open at a time. */
struct cuzk_multieq {
  struct cuzk_cs *cs;
  unsigned used;   /* bits of the open row that are taken */
  uint64_t one[4]; /* coefficient of ONE on its left side, below 2^254 */
};

struct cuzk_word cuzk_word_const(uint32_t v);
/** 32 new bits, least significant first. */
struct cuzk_word cuzk_word_alloc(struct cuzk_cs *cs, uint32_t v);
/** 32 booleans, most significant first, to a word and back. */
struct cuzk_word cuzk_word_from_be(const struct cuzk_bool bits[32]);
void cuzk_word_to_be(struct cuzk_bool bits[32], const struct cuzk_word *w);
struct cuzk_word cuzk_word_rotr(const struct cuzk_word *w, unsigned n);
struct cuzk_word cuzk_word_shr(const struct cuzk_word *w, unsigned n);
struct cuzk_word cuzk_word_xor(struct cuzk_cs *cs, const struct cuzk_word *a, const struct cuzk_word *b);
struct cuzk_word cuzk_word_ch(struct cuzk_cs *cs, const struct cuzk_word *a, const struct cuzk_word *b, const struct cuzk_word *c);
struct cuzk_word cuzk_word_maj(struct cuzk_cs *cs, const struct cuzk_word *a, const struct cuzk_word *b, const struct cuzk_word *c);

void cuzk_multieq_open(struct cuzk_multieq *me, struct cuzk_cs *cs);
/** Emits what is left. */
void cuzk_multieq_close(struct cuzk_multieq *me);
/** Bits of a sum of n words, 2 to 10. */
unsigned cuzk_multieq_width(unsigned n);
/** Emits the open row unless a sum of that many bits still fits. */
void cuzk_multieq_make_room(struct cuzk_multieq *me, unsigned width);
/** Sum of n words, 2 to 10, modulo 2^32. */
struct cuzk_word cuzk_word_addmany(struct cuzk_multieq *me, const struct cuzk_word *const *ops, unsigned n);
#endif
