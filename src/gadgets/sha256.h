/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** SHA-256 in circuits. Source: circuits specification 2.9. */
#ifndef CUZK_GADGETS_SHA256_H
#define CUZK_GADGETS_SHA256_H
#include "gadgets/num.h"
#include "gadgets/uint32.h"

/** A message of booleans fed in pieces: each byte most significant bit first. */
struct cuzk_sha256_gadget {
  struct cuzk_cs *cs;
  struct cuzk_word h[8];
  struct cuzk_bool block[512];
  uint64_t n_bits; /* fed so far */
};

void cuzk_sha256_gadget_init(struct cuzk_sha256_gadget *s, struct cuzk_cs *cs);
/** A block is hashed, and its rows appear, as soon as it is full. */
void cuzk_sha256_gadget_update(struct cuzk_sha256_gadget *s, const struct cuzk_bool *bits, size_t n);
/** The fed length must be whole bytes. */
void cuzk_sha256_gadget_final(struct cuzk_sha256_gadget *s, struct cuzk_bool digest[256]);
/** One-shot. */
void cuzk_sha256_gadget(struct cuzk_cs *cs, struct cuzk_bool digest[256], const struct cuzk_bool *bits, size_t n);

/** Node of the binary SHA-256 tree over numbers; left_region and right_region name the decompositions. */
cuzk_var cuzk_sha256_node(struct cuzk_cs *cs, cuzk_var left, cuzk_var right, const char *left_region, const char *right_region);
#endif
