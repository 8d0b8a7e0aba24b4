/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Small circuits of one gadget each, whose values are part of their definition: number i is (i + 3)^17 7^i, message byte i is
 *  7 i + 3 modulo 256. They exist to compare gadgets, row by row and value by value, with records of the reference. */
#include "circuits/create_label.h"
#include "circuits/synthesis.h"
#include "gadgets/poseidon.h"
#include "gadgets/select.h"
#include "gadgets/sha256.h"

static uint8_t message_byte(unsigned i) { return (uint8_t)(7 * i + 3); }

static cuzk_var number(struct cuzk_cs *cs, unsigned i) {
  cuzk_fr x, b, seven;
  cuzk_fr_from_u64(&b, i + 3);
  cuzk_fr_from_u64(&seven, 7);
  x = b;
  for (int k = 0; k < 16; k++) cuzk_fr_mul(&x, &x, &b);
  for (unsigned k = 0; k < i; k++) cuzk_fr_mul(&x, &x, &seven);
  return cuzk_num_alloc(cs, &x);
}

/* Bits of a byte, least significant first. */
static void byte_bits(struct cuzk_cs *cs, struct cuzk_bool *out, uint8_t v) {
  for (int i = 0; i < 8; i++) out[i] = cuzk_bit_alloc(cs, (v >> i) & 1);
}

static void message_bits(struct cuzk_cs *cs, struct cuzk_bool *out, unsigned n_bytes) {
  for (unsigned i = 0; i < n_bytes; i++) byte_bits(cs, out + 8 * i, message_byte(i));
}

static void bits_8(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool b[8];
  byte_bits(cs, b, 0xb5);
}

static void boolean_ops(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool v[8];
  byte_bits(cs, v, 1);
  const struct cuzk_bool a = v[0], b = v[1];
  const struct cuzk_bool c1 = cuzk_bool_and(cs, a, b), c2 = cuzk_bool_xor(cs, a, b);
  (void)cuzk_bool_and(cs, cuzk_bool_not(a), b);
  (void)cuzk_bool_and(cs, a, cuzk_bool_not(b));
  (void)cuzk_bool_and(cs, cuzk_bool_not(a), cuzk_bool_not(b));
  (void)cuzk_bool_xor(cs, c1, cuzk_bool_not(c2));
  (void)cuzk_bool_xor(cs, c1, cuzk_bool_const(true));
  (void)cuzk_bool_and(cs, c1, cuzk_bool_const(false));
  cuzk_bool_enforce_equal(cs, a, cuzk_bool_not(b));
}

static void num_ops(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  const cuzk_var a = number(cs, 1), b = number(cs, 2);
  (void)cuzk_num_mul(cs, a, b);
  (void)cuzk_num_square(cs, a);
  const cuzk_var s = cuzk_num_add(cs, a, b), d = cuzk_num_sub(cs, s, b);
  cuzk_num_equal(cs, a, d);
  const cuzk_var e = cuzk_num_add(cs, a, b), f = cuzk_num_sub(cs, e, a);
  cuzk_num_equal(cs, f, b);
  (void)cuzk_num_inputize(cs, a);
}

static void num_to_bits(struct cuzk_cs *cs, unsigned strict) {
  struct cuzk_bool bits[CUZK_FR_BITS];
  const cuzk_var a = number(cs, 5);
  if (strict)
    cuzk_num_to_bits_strict(cs, bits, a);
  else
    cuzk_num_to_bits(cs, bits, a);
}

static void conditionally_reverse(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool c[8];
  cuzk_var out[2];
  const cuzk_var a = number(cs, 1), b = number(cs, 2);
  byte_bits(cs, c, 1);
  cuzk_num_conditionally_reverse(cs, out, a, b, c[0]);
}

static void pack_bits(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool b[38 * 8];
  message_bits(cs, b, 8);
  (void)cuzk_pack_bits(cs, b, 64);
  message_bits(cs, b, 38);
  cuzk_pack_into_inputs(cs, b, 300);
}

static void xor_bytes(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool key[256], data[512], out[512];
  message_bits(cs, key, 32);
  message_bits(cs, data, 64);
  cuzk_xor_bits(cs, out, key, data, 512);
}

static void uint32_xor_rotr(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  const struct cuzk_word a = cuzk_word_alloc(cs, 0x12345678), b = cuzk_word_alloc(cs, 0x9abcdef0);
  const struct cuzk_word c = cuzk_word_xor(cs, &a, &b), x = cuzk_word_rotr(&a, 7), y = cuzk_word_shr(&b, 3);
  const struct cuzk_word z = cuzk_word_xor(cs, &x, &y);
  (void)cuzk_word_xor(cs, &z, &c);
}

static void uint64_pack(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool b[64];
  for (int i = 0; i < 64; i++) b[i] = cuzk_bit_alloc(cs, (UINT64_C(0x0123456789abcdef) >> i) & 1);
  cuzk_pack_into_inputs(cs, b, 64);
}

static void sha256_n(struct cuzk_cs *cs, unsigned n) {
  struct cuzk_bool m[64 * 8], digest[256];
  for (unsigned i = 0; i < n; i++)
    for (unsigned k = 0; k < 8; k++) m[8 * i + k] = cuzk_bit_alloc(cs, (message_byte(i) >> (7 - k)) & 1);
  cuzk_sha256_gadget(cs, digest, m, 8 * n);
}

static void sha256_mixed_constants(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool m[512], digest[256];
  message_bits(cs, m, 32);
  for (int i = 256; i < 512; i++) m[i] = cuzk_bool_const(false);
  cuzk_sha256_gadget(cs, digest, m, 512);
}

static void poseidon_md(struct cuzk_cs *cs, unsigned arity) {
  cuzk_var x[11];
  for (unsigned i = 0; i < arity; i++) x[i] = number(cs, i);
  (void)cuzk_poseidon_gadget(cs, x, arity, CUZK_POSEIDON_MERKLE);
}

static void poseidon_hash2(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  const cuzk_var a = number(cs, 1), b = number(cs, 2);
  (void)cuzk_hash2(cs, a, b, "hash2");
}

static void sha256_hash2(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  const cuzk_var a = number(cs, 1), b = number(cs, 2);
  (void)cuzk_sha256_node(cs, a, b, "%u_num_into_bits", "%u_num_into_bits");
}

static void insert_n(struct cuzk_cs *cs, unsigned n) {
  const cuzk_var x = number(cs, 9);
  cuzk_var e[7], out[8];
  struct cuzk_bool bits[8];
  for (unsigned i = 0; i + 1 < n; i++) e[i] = number(cs, i);
  byte_bits(cs, bits, 1);
  cuzk_insert(cs, out, e, x, bits, n);
}

static void select_8(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  cuzk_var x[8];
  struct cuzk_bool bits[8];
  for (unsigned i = 0; i < 8; i++) x[i] = number(cs, i);
  byte_bits(cs, bits, 5);
  (void)cuzk_select(cs, x, bits, 3);
}

static void create_label(struct cuzk_cs *cs, unsigned n) {
  (void)n;
  struct cuzk_bool id[256], parents[37][256], node[64];
  const struct cuzk_bool *p[37];
  message_bits(cs, id, 32);
  for (unsigned k = 0; k < 37; k++) {
    for (unsigned i = 0; i < 32; i++) byte_bits(cs, parents[k] + 8 * i, (uint8_t)(message_byte(i) + k));
    p[k] = parents[k];
  }
  for (int i = 0; i < 64; i++) node[i] = cuzk_bit_alloc(cs, ((((uint64_t)1 << 32) + 5) >> i) & 1);
  (void)cuzk_create_label(cs, id, p, 37, 1, node);
}

struct gadget {
  const char *name;
  void (*synthesize)(struct cuzk_cs *cs, unsigned n);
  unsigned n;
};
static const struct gadget gadgets[] = {
    {"bits-8", bits_8, 0},
    {"boolean-ops", boolean_ops, 0},
    {"num-ops", num_ops, 0},
    {"num-to-bits", num_to_bits, 0},
    {"num-to-bits-strict", num_to_bits, 1},
    {"conditionally-reverse", conditionally_reverse, 0},
    {"pack-bits", pack_bits, 0},
    {"xor-bytes", xor_bytes, 0},
    {"uint32-xor-rotr", uint32_xor_rotr, 0},
    {"uint64-pack", uint64_pack, 0},
    {"sha256-0", sha256_n, 0},
    {"sha256-32", sha256_n, 32},
    {"sha256-55", sha256_n, 55},
    {"sha256-64", sha256_n, 64},
    {"sha256-mixed-constants", sha256_mixed_constants, 0},
    {"poseidon-md-2", poseidon_md, 2},
    {"poseidon-md-4", poseidon_md, 4},
    {"poseidon-md-8", poseidon_md, 8},
    {"poseidon-md-11", poseidon_md, 11},
    {"poseidon-hash2", poseidon_hash2, 0},
    {"sha256-hash2", sha256_hash2, 0},
    {"insert-2", insert_n, 2},
    {"insert-4", insert_n, 4},
    {"insert-8", insert_n, 8},
    {"select-8", select_8, 0},
    {"create-label", create_label, 0},
};

size_t cuzk_gadget_count(void) { return sizeof gadgets / sizeof *gadgets; }
const char *cuzk_gadget_name(size_t i) { return gadgets[i].name; }
const void *cuzk_gadget_at(size_t i) { return &gadgets[i]; }

void cuzk_gadget_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness) {
  const struct gadget *g = c->gadget;
  (void)witness;
  g->synthesize(cs, g->n);
}
