/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/sha256.h"

#include <string.h>

#include "gadgets/word32.h"
#include "hash/sha256.h"

#define WORD struct cuzk_word
#define W(op) cuzk_word_##op
#define T(name) name
#include "gadgets/sha256_tmpl.h"
#undef WORD
#undef W
#undef T
#define WORD struct cuzk_word32
#define W(op) cuzk_word32_##op
#define T(name) name##_packed
#include "gadgets/sha256_tmpl.h"
#undef WORD
#undef W
#undef T

static void next_block(struct cuzk_sha256_gadget *s) {
  if (s->cs->lcs) {
    compress(s->cs, s->h, s->block);
    return;
  }
  struct cuzk_word32 h[8];
  for (int i = 0; i < 8; i++) h[i] = cuzk_word32_of(&s->h[i]);
  compress_packed(s->cs, h, s->block);
  for (int i = 0; i < 8; i++) s->h[i] = cuzk_word32_booleans(&h[i]);
}

void cuzk_sha256_gadget_init(struct cuzk_sha256_gadget *s, struct cuzk_cs *cs) {
  s->cs = cs;
  s->n_bits = 0;
  for (int i = 0; i < 8; i++) s->h[i] = cuzk_word_const(cuzk_sha256_iv[i]);
}

void cuzk_sha256_gadget_update(struct cuzk_sha256_gadget *s, const struct cuzk_bool *bits, size_t n) {
  while (n) {
    const size_t have = s->n_bits % 512, take = n < 512 - have ? n : 512 - have;
    memcpy(s->block + have, bits, take * sizeof *bits);
    s->n_bits += take;
    bits += take;
    n -= take;
    if (have + take < 512) return;
    cuzk_cs_push(s->cs, "block %u", (unsigned)(s->n_bits / 512 - 1));
    next_block(s);
    cuzk_cs_pop(s->cs);
  }
}

void cuzk_sha256_gadget_final(struct cuzk_sha256_gadget *s, struct cuzk_bool digest[256]) {
  const uint64_t n_bits = s->n_bits;
  struct cuzk_bool pad[512 + 64];
  const size_t n = 512 - (n_bits + 64) % 512; /* 1 to 512, since the length is whole bytes */
  pad[0] = cuzk_bool_const(true);
  for (size_t i = 1; i < n; i++) pad[i] = cuzk_bool_const(false);
  for (size_t i = 0; i < 64; i++) pad[n + i] = cuzk_bool_const((n_bits >> (63 - i)) & 1);
  cuzk_sha256_gadget_update(s, pad, n + 64);
  for (int i = 0; i < 8; i++) cuzk_word_to_be(digest + 32 * i, &s->h[i]);
}

void cuzk_sha256_gadget(struct cuzk_cs *cs, struct cuzk_bool digest[256], const struct cuzk_bool *bits, size_t n) {
  struct cuzk_sha256_gadget s;
  cuzk_sha256_gadget_init(&s, cs);
  cuzk_sha256_gadget_update(&s, bits, n);
  cuzk_sha256_gadget_final(&s, digest);
}

cuzk_var cuzk_sha256_node(struct cuzk_cs *cs, cuzk_var left, cuzk_var right, const char *left_region, const char *right_region) {
  struct cuzk_bool m[512], digest[256];
  cuzk_cs_push(cs, left_region, 0);
  cuzk_num_to_sha_bits(cs, m, left);
  cuzk_cs_pop(cs);
  cuzk_cs_push(cs, right_region, 1);
  cuzk_num_to_sha_bits(cs, m + 256, right);
  cuzk_cs_pop(cs);
  cuzk_cs_push(cs, "hash", 0);
  cuzk_sha256_gadget(cs, digest, m, 512);
  cuzk_cs_pop(cs);
  return cuzk_num_from_sha_bits(cs, digest);
}
