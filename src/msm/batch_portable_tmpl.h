/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One group of batch_portable.c; never linked. */

struct PORT_FN(scratch) {
  PORT_FE prefix[PAIRS];
  PORT_FE den[PAIRS];
  uint8_t kind[PAIRS]; /* 0: slope dy/dx, 1: double, 2: no division */
};

static inline PORT_AFFINE PORT_FN(get)(const void *src, uint32_t ref) {
  PORT_AFFINE p = ((const PORT_AFFINE *)src)[ref & CUZK_BATCH_INDEX];
  if (ref & CUZK_BATCH_NEG) PORT_F(neg)(&p.y, &p.y); /* -0 is 0: the identity stays */
  return p;
}

static inline void PORT_FN(prefetch)(const void *src, uint32_t ref) {
  const char *p = (const char *)&((const PORT_AFFINE *)src)[ref & CUZK_BATCH_INDEX];
  for (size_t k = 0; k < sizeof(PORT_AFFINE); k += 64) __builtin_prefetch(p + k);
  __builtin_prefetch(p + sizeof(PORT_AFFINE) - 1);
}

static void PORT_FN(add_block)(PORT_AFFINE *dst, const uint32_t *to, const void *src, const uint32_t *a, const uint32_t *b,
                               size_t n, struct PORT_FN(scratch) *s) {
  PORT_FE run = PORT_F(one), t;
  for (size_t i = 0; i < n; i++) {
    const PORT_AFFINE p = PORT_FN(get)(src, a[i]), q = PORT_FN(get)(src, b[i]);
    if (i + AHEAD < n) {
      PORT_FN(prefetch)(src, a[i + AHEAD]);
      PORT_FN(prefetch)(src, b[i + AHEAD]);
    }
    s->prefix[i] = run;
    s->kind[i] = 0;
    PORT_F(sub)(&s->den[i], &p.x, &q.x);
    if (PORT_F(is_zero)(&s->den[i]) && !PORT_G(is_identity)(&p) && PORT_F(eq)(&p.y, &q.y)) {
      s->kind[i] = 1;
      PORT_F(dbl)(&s->den[i], &p.y);
    } else if (PORT_F(is_zero)(&s->den[i]) || PORT_G(is_identity)(&p) || PORT_G(is_identity)(&q)) {
      s->kind[i] = 2;
      continue;
    }
    PORT_F(mul)(&run, &run, &s->den[i]);
  }
  PORT_F(inv_var)(&run, &run);
  for (size_t i = n; i-- > 0;) {
    if (i >= AHEAD) {
      PORT_FN(prefetch)(src, a[i - AHEAD]);
      PORT_FN(prefetch)(src, b[i - AHEAD]);
    }
    const PORT_AFFINE p = PORT_FN(get)(src, a[i]), q = PORT_FN(get)(src, b[i]);
    PORT_AFFINE *r = &dst[to[i]];
    if (s->kind[i] == 2) {
      if (PORT_G(is_identity)(&p)) {
        *r = q;
      } else if (PORT_G(is_identity)(&q)) {
        *r = p;
      } else {
        memset(r, 0, sizeof *r);
      }
      continue;
    }
    PORT_FE slope, num, x;
    PORT_F(mul)(&slope, &run, &s->prefix[i]);
    PORT_F(mul)(&run, &run, &s->den[i]);
    if (s->kind[i] == 0) {
      PORT_F(sub)(&num, &p.y, &q.y);
    } else {
      PORT_F(sqr)(&t, &p.x);
      PORT_F(dbl)(&num, &t);
      PORT_F(add)(&num, &num, &t);
    }
    PORT_F(mul)(&slope, &slope, &num);
    PORT_F(sqr)(&x, &slope);
    PORT_F(sub)(&x, &x, &p.x);
    PORT_F(sub)(&x, &x, &q.x);
    PORT_F(sub)(&t, &p.x, &x);
    PORT_F(mul)(&t, &t, &slope);
    PORT_F(sub)(&r->y, &t, &p.y);
    r->x = x;
  }
}

static void PORT_FN(add)(void *dst, const uint32_t *to, const void *src, const uint32_t *a, const uint32_t *b, size_t n,
                         void *scratch) {
  for (size_t i = 0; i < n; i += PAIRS)
    PORT_FN(add_block)(dst, to + i, src, a + i, b + i, n - i < PAIRS ? n - i : PAIRS, scratch);
}

static void PORT_FN(copy)(void *dst, const uint32_t *to, const void *src, const uint32_t *from, size_t n) {
  for (size_t i = 0; i < n; i++) ((PORT_AFFINE *)dst)[to[i]] = PORT_FN(get)(src, from[i]);
}

static void PORT_FN(move)(void *dst, const void *src, const uint32_t *index, size_t n) {
  for (size_t i = 0; i < n; i++) ((PORT_AFFINE *)dst)[i] = ((const PORT_AFFINE *)src)[index[i]];
}

const struct cuzk_batch_ops PORT_TABLE = {"portable",
                                          sizeof(PORT_AFFINE),
                                          sizeof(PORT_AFFINE),
                                          sizeof(struct PORT_FN(scratch)),
                                          PORT_FN(move),
                                          PORT_FN(move),
                                          PORT_FN(copy),
                                          PORT_FN(add)};
