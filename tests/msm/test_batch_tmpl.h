/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One group of test_batch.c. */

struct B_FN(set) {
  B_AFFINE p[POINTS];
  uint32_t iota[POINTS];
};

static void B_FN(add_reference)(B_AFFINE *r, const B_AFFINE *p, uint32_t a, uint32_t b) {
  B_AFFINE x = p[a & CUZK_BATCH_INDEX], y = p[b & CUZK_BATCH_INDEX];
  B_JAC t;
  if (a & CUZK_BATCH_NEG) B_G(affine_neg)(&x, &x);
  if (b & CUZK_BATCH_NEG) B_G(affine_neg)(&y, &y);
  B_G(from_affine)(&t, &x);
  B_G(add_affine)(&t, &t, &y);
  B_G(to_affine)(r, &t);
}

static uint32_t B_FN(reference)(size_t i) { return (uint32_t)i | (test_rand() % 2 ? CUZK_BATCH_NEG : 0); }

static void B_FN(check)(const struct cuzk_batch_ops *ops) {
  struct B_FN(set) *set = malloc(sizeof *set);
  B_JAC *jac = malloc(POINTS * sizeof *jac);
  B_AFFINE *got = malloc(POINTS * sizeof *got);
  uint32_t *a = malloc(PAIRS * 4), *b = malloc(PAIRS * 4), *to = malloc(PAIRS * 4);
  assert_true(set && jac && got && a && b && to);
  assert_int_equal(ops->affine_bytes, sizeof(B_AFFINE));
  B_G(from_affine)(&jac[0], &B_G(generator));
  for (size_t i = 1; i < POINTS; i++) B_G(add_affine)(&jac[i], &jac[i - 1], &B_G(generator));
  assert_int_equal(B_G(to_affine_batch)(set->p, jac, POINTS), CUZK_OK);
  for (size_t i = 0; i < POINTS; i++) {
    set->iota[i] = (uint32_t)i;
    if (i % 97 == 50) memset(&set->p[i], 0, sizeof set->p[i]);
    if (i % 11 == 3) set->p[i] = set->p[i - 1];
    if (i % 13 == 3) B_G(affine_neg)(&set->p[i], &set->p[i - 1]);
  }
  char *table = aligned(POINTS * ops->point_bytes), *out = aligned(POINTS * ops->point_bytes);
  void *scratch = aligned(ops->scratch_bytes);

  /* into the table's form and back, any count */
  for (size_t n = 0; n < 20; n++) {
    memset(got, 0x5a, POINTS * sizeof *got);
    ops->load(table, set->p, set->iota + 40, n);
    ops->store(got, table, set->iota, n);
    assert_memory_equal(got, set->p + 40, n * sizeof *got);
    for (size_t i = 0; i < sizeof *got; i++) assert_int_equal(((const uint8_t *)&got[n])[i], 0x5a);
  }
  ops->load(table, set->p, set->iota, POINTS);

  /* copies with sign */
  for (size_t i = 0; i < 100; i++) a[i] = B_FN(reference)(i);
  ops->copy(out, set->iota, table, a, 100);
  ops->store(got, out, set->iota, 100);
  for (size_t i = 0; i < 100; i++) {
    B_AFFINE e = set->p[i];
    if (a[i] & CUZK_BATCH_NEG) B_G(affine_neg)(&e, &e);
    assert_memory_equal(&e, &got[i], sizeof e);
  }

  /* sums: all counts near the width, then several inversions' worth; few points, so that equal and opposite pairs abound */
  static const size_t counts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 600, PAIRS};
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    const size_t n = counts[k], range = k % 2 ? 60 : POINTS;
    for (size_t i = 0; i < n; i++) {
      a[i] = B_FN(reference)(test_rand() % range);
      b[i] = test_rand() % 8 == 0 ? a[i] ^ (test_rand() % 2 ? CUZK_BATCH_NEG : 0) : B_FN(reference)(test_rand() % range);
      to[i] = (uint32_t)(n - 1 - i);
    }
    ops->add(out, to, table, a, b, n, scratch);
    ops->store(got, out, set->iota, n);
    const size_t step = n > 1000 ? 7 : 1;
    for (size_t i = 0; i < n; i += step) {
      B_AFFINE e;
      B_FN(add_reference)(&e, set->p, a[i], b[i]);
      assert_memory_equal(&e, &got[n - 1 - i], sizeof e);
    }
  }

  /* long chains in place: representatives of repeated sums stay within their bounds */
  memcpy(out, table, 64 * ops->point_bytes);
  B_AFFINE chain[64];
  memcpy(chain, set->p, sizeof chain);
  for (int round = 0; round < 40; round++) {
    for (uint32_t i = 0; i < 32; i++) {
      a[i] = 2 * i + (uint32_t)(round & 1);
      b[i] = (2 * i + (uint32_t)(test_rand() % 64)) % 64;
      if (b[i] % 2 == a[i] % 2) b[i] ^= 1; /* never one that is written */
      to[i] = a[i];
    }
    B_AFFINE next[64];
    memcpy(next, chain, sizeof next);
    for (size_t i = 0; i < 32; i++) B_FN(add_reference)(&next[a[i]], chain, a[i], b[i]);
    memcpy(chain, next, sizeof chain);
    ops->add(out, to, out, a, b, 32, scratch);
  }
  ops->store(got, out, set->iota, 64);
  assert_memory_equal(got, chain, sizeof chain);

  /* segments: empty ones, single ones, one that spans several rounds */
  struct cuzk_sums s;
  assert_int_equal(cuzk_sums_init(&s, ops), CUZK_OK);
  enum { SEGMENTS = 9, LONG = 3 * (int)CUZK_SUMS_SLOTS + 77 };
  static const uint32_t lengths[SEGMENTS] = {0, 1, 5, 0, LONG, 2, 3, 0, 1};
  uint32_t start[SEGMENTS + 1] = {0};
  for (size_t i = 0; i < SEGMENTS; i++) start[i + 1] = start[i] + lengths[i];
  uint32_t *refs = malloc(start[SEGMENTS] * sizeof *refs);
  assert_non_null(refs);
  int64_t *weight = calloc(SEGMENTS * POINTS, sizeof *weight);
  assert_non_null(weight);
  for (size_t g = 0; g < SEGMENTS; g++) {
    for (uint32_t i = start[g]; i < start[g + 1]; i++) {
      const size_t p = test_rand() % 40;
      refs[i] = B_FN(reference)(p);
      weight[g * POINTS + p] += refs[i] & CUZK_BATCH_NEG ? -1 : 1;
    }
  }
  cuzk_sums_run(&s, out, table, refs, start, SEGMENTS);
  ops->store(got, out, set->iota, SEGMENTS);
  for (size_t g = 0; g < SEGMENTS; g++) {
    B_JAC e = B_G(identity), t;
    for (size_t p = 0; p < 40; p++) {
      const int64_t w = weight[g * POINTS + p];
      const uint64_t k = (uint64_t)(w < 0 ? -w : w);
      B_G(from_affine)(&t, &set->p[p]);
      B_G(mul_limbs_var)(&t, &t, &k, 1);
      if (w < 0) B_G(neg)(&t, &t);
      B_G(add)(&e, &e, &t);
    }
    B_AFFINE want;
    B_G(to_affine)(&want, &e);
    assert_memory_equal(&want, &got[g], sizeof want);
  }
  cuzk_sums_clear(&s);
  free(weight);
  free(refs);
  free(table);
  free(out);
  free(scratch);
  free(a);
  free(b);
  free(to);
  free(got);
  free(jac);
  free(set);
}
