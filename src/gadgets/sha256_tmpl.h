/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The compression function over words of one representation; included once for each. WORD is the type and W(op) its operation, SUFFIX
 * the end of the functions' names. */

/* rotr(x, p) ^ rotr(x, q) ^ last, last being a rotation or shift of x. */
static WORD T(sigma)(struct cuzk_cs *cs, const WORD *x, unsigned p, unsigned q, const WORD *last) {
  const WORD a = W(rotr)(x, p), b = W(rotr)(x, q), t = W(xor)(cs, &a, &b);
  return W(xor)(cs, &t, last);
}

/* A sum whose rows are put off until its value is needed, with room for one more operand. */
struct T(pending) {
  const WORD *op[9];
  unsigned n; /* 1: the word itself */
};

static WORD T(force)(struct cuzk_multieq *me, struct T(pending) *p, const WORD *extra) {
  if (p->n == 1) return *p->op[0];
  if (extra) p->op[p->n++] = extra;
  return W(addmany)(me, p->op, p->n);
}

/* h: the chaining value, replaced by the next. */
static void T(compress)(struct cuzk_cs *cs, WORD h[8], const struct cuzk_bool block[512]) {
  struct cuzk_multieq me;
  WORD w[64], key[64];
  /* A and E of round i - 3 stand at place i: b, c, d and f, g, h are the three before. */
  WORD a[67], e[67];
  WORD s0[2], s1[2], ch[2], mj[2]; /* by the round's parity: sums refer to them one round longer */
  cuzk_multieq_open(&me, cs);
  for (int i = 0; i < 16; i++) w[i] = W(from_be)(block + 32 * i);
  for (unsigned i = 16; i < 64; i++) {
    cuzk_cs_push(cs, "w extension %u", i);
    const WORD u = W(shr)(&w[i - 15], 3), v = W(shr)(&w[i - 2], 10);
    const WORD g0 = T(sigma)(cs, &w[i - 15], 7, 18, &u);
    const WORD g1 = T(sigma)(cs, &w[i - 2], 17, 19, &v);
    const WORD *const ops[4] = {&w[i - 16], &g0, &w[i - 7], &g1};
    w[i] = W(addmany)(&me, ops, 4);
    cuzk_cs_pop(cs);
  }
  for (int i = 0; i < 3; i++) {
    a[i] = h[3 - i];
    e[i] = h[7 - i];
  }
  struct T(pending) next_a = {{&h[0]}, 1}, next_e = {{&h[4]}, 1};
  for (unsigned i = 0; i < 64; i++) {
    const unsigned now = i & 1;
    cuzk_cs_push(cs, "compression round %u", i);
    key[i] = W(const)(cuzk_sha256_k[i]);
    e[i + 3] = T(force)(&me, &next_e, NULL);
    WORD last = W(rotr)(&e[i + 3], 25);
    s1[now] = T(sigma)(cs, &e[i + 3], 6, 11, &last);
    ch[now] = W(ch)(cs, &e[i + 3], &e[i + 2], &e[i + 1]);
    a[i + 3] = T(force)(&me, &next_a, NULL);
    last = W(rotr)(&a[i + 3], 22);
    s0[now] = T(sigma)(cs, &a[i + 3], 2, 13, &last);
    mj[now] = W(maj)(cs, &a[i + 3], &a[i + 2], &a[i + 1]);
    next_e = (struct T(pending)){{&e[i], &s1[now], &ch[now], &key[i], &w[i], &a[i]}, 6};
    next_a = (struct T(pending)){{&e[i], &s1[now], &ch[now], &key[i], &w[i], &s0[now], &mj[now]}, 7};
    cuzk_cs_pop(cs);
  }
  WORD out[8];
  for (unsigned i = 0; i < 8; i++) {
    cuzk_cs_push(cs, i % 4 ? "new h%u" : "deferred h%u computation", i);
    if (i % 4) {
      const WORD *const ops[2] = {&h[i], i < 4 ? &a[66 - (i - 1)] : &e[66 - (i - 5)]};
      out[i] = W(addmany)(&me, ops, 2);
    } else {
      out[i] = T(force)(&me, i ? &next_e : &next_a, &h[i]);
    }
    cuzk_cs_pop(cs);
  }
  cuzk_multieq_close(&me);
  memcpy(h, out, sizeof out);
}
