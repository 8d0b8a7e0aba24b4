/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The values of all variables with bits kept as bits: a 32 GiB PoRep partition is about 60 MB instead of 4.2 GB.
 *
 *  Which private variables are bits is a property of the circuit (those that its gadgets allocate as bits), the same for every
 *  witness. Variable j is bit j % 64 of word j / 64. Where is_field has a 1, the value is the next of fields; elsewhere it is
 *  the bit in bits (which is 0 at field positions).
 *  Source: performance notes 9; docs/internals/r1cs.md. */
#ifndef CUZK_R1CS_PACKED_H
#define CUZK_R1CS_PACKED_H
#include "r1cs/r1cs.h"

struct cuzk_packed {
  uint32_t n_inputs, n_aux, n_fields; /* n_inputs counts ONE */
  cuzk_fr *inputs;                    /* Montgomery; inputs[0] is 1 */
  uint64_t *bits, *is_field;          /* (n_aux + 63) / 64 words */
  uint32_t *rank;                     /* set bits of is_field before word w, one a word */
  cuzk_fr *fields;                    /* n_fields, Montgomery, ascending by variable */
};

/** Memory for n_inputs and n_aux values but for the fields: inputs, bits and is_field are zero. Errors: E_NOMEM; p is empty then. */
enum cuzk_status cuzk_packed_reserve(struct cuzk_packed *p, uint32_t n_inputs, uint32_t n_aux);
/** With is_field complete: rank, n_fields and memory for fields. Errors: E_NOMEM; p is to be cleared then, too. */
enum cuzk_status cuzk_packed_reserve_fields(struct cuzk_packed *p);
/** Frees what p owns and clears it. Accepts an empty (all-zero) p. */
void cuzk_packed_clear(struct cuzk_packed *p);

/** Is private variable j a field element? */
static inline bool cuzk_packed_is_field(const struct cuzk_packed *p, uint32_t j) {
  return (p->is_field[j / 64] >> (j % 64)) & 1;
}
/** Value of a bit variable: 0 or 1. */
static inline unsigned cuzk_packed_bit(const struct cuzk_packed *p, uint32_t j) { return (unsigned)(p->bits[j / 64] >> (j % 64)) & 1; }
/** Value of a field variable. */
static inline const cuzk_fr *cuzk_packed_field(const struct cuzk_packed *p, uint32_t j) {
  const uint64_t below = p->is_field[j / 64] & (((uint64_t)1 << (j % 64)) - 1);
  return &p->fields[p->rank[j / 64] + (uint32_t)__builtin_popcountll(below)];
}
/** Value of any variable, input or private. */
static inline const cuzk_fr *cuzk_packed_value(const struct cuzk_packed *p, cuzk_var v) {
  if (!(v & CUZK_VAR_AUX)) return &p->inputs[v];
  const uint32_t j = v - CUZK_VAR_AUX;
  if (cuzk_packed_is_field(p, j)) return cuzk_packed_field(p, j);
  return cuzk_packed_bit(p, j) ? &cuzk_fr_one : &cuzk_fr_zero;
}
/** Expands count private variables from first on into out, Montgomery. */
void cuzk_packed_expand(cuzk_fr *out, const struct cuzk_packed *p, uint32_t first, uint32_t count);
#endif
