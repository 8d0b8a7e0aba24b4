/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/sha256.h"

#include <string.h>

#include "hash/sha256.h"

/* rotr(x, p) ^ rotr(x, q) ^ last, last being a rotation or shift of x. */
static struct cuzk_word sigma(struct cuzk_cs *cs, const struct cuzk_word *x, unsigned p, unsigned q, const struct cuzk_word *last) {
  const struct cuzk_word a = cuzk_word_rotr(x, p), b = cuzk_word_rotr(x, q), t = cuzk_word_xor(cs, &a, &b);
  return cuzk_word_xor(cs, &t, last);
}

/* A sum whose rows are put off until its value is needed, with room for one more operand. */
struct pending {
  const struct cuzk_word *op[9];
  unsigned n; /* 1: the word itself */
};

static struct cuzk_word force(struct cuzk_multieq *me, struct pending *p, const struct cuzk_word *extra) {
  if (p->n == 1) return *p->op[0];
  if (extra) p->op[p->n++] = extra;
  return cuzk_word_addmany(me, p->op, p->n);
}

static void compress(struct cuzk_sha256_gadget *s) {
  struct cuzk_cs *cs = s->cs;
  struct cuzk_multieq me;
  struct cuzk_word w[64], key[64];
  /* A and E of round i - 3 stand at place i: b, c, d and f, g, h are the three before. */
  struct cuzk_word a[67], e[67];
  struct cuzk_word s0[2], s1[2], ch[2], mj[2]; /* by the round's parity: sums refer to them one round longer */
  struct cuzk_word *const h = s->h;
  cuzk_multieq_open(&me, cs);
  for (int i = 0; i < 16; i++) w[i] = cuzk_word_from_be(s->block + 32 * i);
  for (unsigned i = 16; i < 64; i++) {
    cuzk_cs_push(cs, "w extension %u", i);
    const struct cuzk_word u = cuzk_word_shr(&w[i - 15], 3), v = cuzk_word_shr(&w[i - 2], 10);
    const struct cuzk_word g0 = sigma(cs, &w[i - 15], 7, 18, &u);
    const struct cuzk_word g1 = sigma(cs, &w[i - 2], 17, 19, &v);
    const struct cuzk_word *const ops[4] = {&w[i - 16], &g0, &w[i - 7], &g1};
    w[i] = cuzk_word_addmany(&me, ops, 4);
    cuzk_cs_pop(cs);
  }
  for (int i = 0; i < 3; i++) {
    a[i] = h[3 - i];
    e[i] = h[7 - i];
  }
  struct pending next_a = {{&h[0]}, 1}, next_e = {{&h[4]}, 1};
  for (unsigned i = 0; i < 64; i++) {
    const unsigned now = i & 1;
    cuzk_cs_push(cs, "compression round %u", i);
    key[i] = cuzk_word_const(cuzk_sha256_k[i]);
    e[i + 3] = force(&me, &next_e, NULL);
    struct cuzk_word last = cuzk_word_rotr(&e[i + 3], 25);
    s1[now] = sigma(cs, &e[i + 3], 6, 11, &last);
    ch[now] = cuzk_word_ch(cs, &e[i + 3], &e[i + 2], &e[i + 1]);
    a[i + 3] = force(&me, &next_a, NULL);
    last = cuzk_word_rotr(&a[i + 3], 22);
    s0[now] = sigma(cs, &a[i + 3], 2, 13, &last);
    mj[now] = cuzk_word_maj(cs, &a[i + 3], &a[i + 2], &a[i + 1]);
    next_e = (struct pending){{&e[i], &s1[now], &ch[now], &key[i], &w[i], &a[i]}, 6};
    next_a = (struct pending){{&e[i], &s1[now], &ch[now], &key[i], &w[i], &s0[now], &mj[now]}, 7};
    cuzk_cs_pop(cs);
  }
  struct cuzk_word out[8];
  for (unsigned i = 0; i < 8; i++) {
    cuzk_cs_push(cs, i % 4 ? "new h%u" : "deferred h%u computation", i);
    if (i % 4) {
      const struct cuzk_word *const ops[2] = {&h[i], i < 4 ? &a[66 - (i - 1)] : &e[66 - (i - 5)]};
      out[i] = cuzk_word_addmany(&me, ops, 2);
    } else {
      out[i] = force(&me, i ? &next_e : &next_a, &h[i]);
    }
    cuzk_cs_pop(cs);
  }
  cuzk_multieq_close(&me);
  memcpy(s->h, out, sizeof out);
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
    compress(s);
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
