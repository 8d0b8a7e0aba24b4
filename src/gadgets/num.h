/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Numbers of circuits. A number is simply a variable; its value lives in the sink.
 *  Source: circuits specification 2.3 to 2.6. */
#ifndef CUZK_GADGETS_NUM_H
#define CUZK_GADGETS_NUM_H
#include "gadgets/boolean.h"

#define CUZK_FR_BITS 255
#define CUZK_FR_CAPACITY 254

/** A new private number. v is read where the sink has values; NULL stands for zero. No row. */
cuzk_var cuzk_num_alloc(struct cuzk_cs *cs, const cuzk_fr *v);
/** A public input equal to x: i * 1 = x. */
cuzk_var cuzk_num_inputize(struct cuzk_cs *cs, cuzk_var x);
/** a * b = x and a * a = x. */
cuzk_var cuzk_num_mul(struct cuzk_cs *cs, cuzk_var a, cuzk_var b);
cuzk_var cuzk_num_square(struct cuzk_cs *cs, cuzk_var a);
/** a * 1 = b. */
void cuzk_num_equal(struct cuzk_cs *cs, cuzk_var a, cuzk_var b);
/** s = a + b by (a + b) * 1 = s. Also the encoding of a replica node: key + value. */
cuzk_var cuzk_num_add(struct cuzk_cs *cs, cuzk_var a, cuzk_var b);
/** d = a - b by (d + b) * 1 = a. */
cuzk_var cuzk_num_sub(struct cuzk_cs *cs, cuzk_var a, cuzk_var b);
/** (a, b), or (b, a) where cond holds: two numbers, two rows. No circuit uses it. */
void cuzk_num_conditionally_reverse(struct cuzk_cs *cs, cuzk_var out[2], cuzk_var a, cuzk_var b, struct cuzk_bool cond);

/** n bits of x's canonical value, least significant first, 1 to 255, each with its row and nothing that ties them to x. */
void cuzk_num_field_bits(struct cuzk_cs *cs, struct cuzk_bool *bits, unsigned n, cuzk_var x);
/** 255 bits and the row 0 * 0 = sum 2^i bits[i] - x. */
void cuzk_num_to_bits(struct cuzk_cs *cs, struct cuzk_bool bits[CUZK_FR_BITS], cuzk_var x);
/** As to_bits, with rows that admit the canonical decomposition only. No circuit uses it. */
void cuzk_num_to_bits_strict(struct cuzk_cs *cs, struct cuzk_bool bits[CUZK_FR_BITS], cuzk_var x);
/** Row (sum 2^i bits[i]) * 1 = x. */
void cuzk_num_enforce_sum_of_bits(struct cuzk_cs *cs, const struct cuzk_bool *bits, unsigned n, cuzk_var x);

/** A new number, sum 2^i bits[i] of the first 254 bits at most. */
cuzk_var cuzk_pack_bits(struct cuzk_cs *cs, const struct cuzk_bool *bits, size_t n);
/** Public inputs, one for each 254 bits. */
void cuzk_pack_into_inputs(struct cuzk_cs *cs, const struct cuzk_bool *bits, size_t n);
/** Pads n bits with constant zeros to whole bytes and reverses each byte. out holds n rounded up to 8; out and bits distinct. */
void cuzk_byte_reverse(struct cuzk_bool *out, const struct cuzk_bool *bits, size_t n);
/** 256 bits of a number in the order in which SHA-256 reads its 32 little-endian bytes. */
void cuzk_num_to_sha_bits(struct cuzk_cs *cs, struct cuzk_bool bits[256], cuzk_var x);
/** The number of a 256-bit SHA-256 digest whose two top bits are dropped. */
cuzk_var cuzk_num_from_sha_bits(struct cuzk_cs *cs, const struct cuzk_bool digest[256]);
#endif
