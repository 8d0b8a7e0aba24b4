/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Choice among numbers, and insertion into a list of siblings. Source: circuits specification 2.6 (xor), 2.10. */
#ifndef CUZK_GADGETS_SELECT_H
#define CUZK_GADGETS_SELECT_H
#include "gadgets/num.h"

/** a where cond holds, else b: (b - a) cond = b - x. */
cuzk_var cuzk_pick(struct cuzk_cs *cs, struct cuzk_bool cond, cuzk_var a, cuzk_var b);
/** Element number sum 2^i bits[i] of 2^n_bits; from is overwritten. */
cuzk_var cuzk_select(struct cuzk_cs *cs, cuzk_var *from, const struct cuzk_bool *bits, unsigned n_bits);
/** out[n]: elements[n-1] with x inserted at index sum 2^i bits[i]. n is 2, 4 or 8; the bits are of kind IS. */
void cuzk_insert(struct cuzk_cs *cs, cuzk_var *out, const cuzk_var *elements, cuzk_var x, const struct cuzk_bool *bits, unsigned n);
/** out[i] = in[i] xor key[i mod 256]. No circuit uses it. */
void cuzk_xor_bits(struct cuzk_cs *cs, struct cuzk_bool *out, const struct cuzk_bool key[256], const struct cuzk_bool *in, size_t n);
#endif
