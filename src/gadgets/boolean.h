/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Booleans of circuits: constants, private bits and negated private bits. Operations fold constants and negations before they
 *  allocate anything; operand order matters, since the rows are not symmetric. Source: circuits specification 2.1, 2.2. */
#ifndef CUZK_GADGETS_BOOLEAN_H
#define CUZK_GADGETS_BOOLEAN_H
#include "r1cs/cs.h"

enum { CUZK_BOOL_CONST, CUZK_BOOL_IS, CUZK_BOOL_NOT };

/** var is the bit (IS, NOT); value is that of the boolean itself: of constants always, of others where the sink has values. */
struct cuzk_bool {
  cuzk_var var;
  uint8_t kind;
  bool value;
};

static inline struct cuzk_bool cuzk_bool_const(bool v) { return (struct cuzk_bool){0, CUZK_BOOL_CONST, v}; }
static inline struct cuzk_bool cuzk_bool_not(struct cuzk_bool b) {
  if (b.kind != CUZK_BOOL_CONST) b.kind = b.kind == CUZK_BOOL_IS ? CUZK_BOOL_NOT : CUZK_BOOL_IS;
  b.value = !b.value;
  return b;
}

/** A new private bit with its row (1 - x) x = 0. */
struct cuzk_bool cuzk_bit_alloc(struct cuzk_cs *cs, bool v);
/** A new private bit that must be 0 where m (kind IS) is 1: (1 - m - x) x = 0. */
struct cuzk_bool cuzk_bit_alloc_unless(struct cuzk_cs *cs, bool v, struct cuzk_bool m);
/** a xor b, a and b, not a and not b, of bits of kind IS: one variable and one row each. */
struct cuzk_bool cuzk_bit_xor(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b);
struct cuzk_bool cuzk_bit_and(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b);
struct cuzk_bool cuzk_bit_nor(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b);

struct cuzk_bool cuzk_bool_xor(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b);
struct cuzk_bool cuzk_bool_and(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b);
/** (a and b) xor (not a and c). */
struct cuzk_bool cuzk_bool_ch(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b, struct cuzk_bool c);
/** Majority. */
struct cuzk_bool cuzk_bool_maj(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b, struct cuzk_bool c);
/** Row 0 * 0 = a - b; a constant pair that differs makes the row unsatisfiable. No circuit uses it. */
void cuzk_bool_enforce_equal(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b);

/** Adds 2^shift b (negated: -2^shift b) to list k of the row under construction. Only with lcs. */
static inline void cuzk_bool_view(struct cuzk_cs *cs, unsigned k, struct cuzk_bool b, unsigned shift, bool negated) {
  const cuzk_coeff plus = negated ? CUZK_COEFF_MINUS_POW2(shift) : CUZK_COEFF_POW2(shift);
  const cuzk_coeff minus = negated ? CUZK_COEFF_POW2(shift) : CUZK_COEFF_MINUS_POW2(shift);
  if (b.kind == CUZK_BOOL_NOT || (b.kind == CUZK_BOOL_CONST && b.value)) cuzk_cs_term(cs, k, CUZK_VAR_ONE, plus);
  if (b.kind != CUZK_BOOL_CONST) cuzk_cs_term(cs, k, b.var, b.kind == CUZK_BOOL_IS ? plus : minus);
}
#endif
