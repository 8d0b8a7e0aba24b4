/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The textbook transform over primes so small that every input can be tried. The program's fast transform is compared with the
 *  same textbook code over Fr elsewhere (test_ntt_kern). */
#include "testing.h"

struct toy {
  unsigned v;
};
static unsigned prime;

static void toy_add(struct toy *r, const struct toy *a, const struct toy *b) { r->v = (a->v + b->v) % prime; }
static void toy_sub(struct toy *r, const struct toy *a, const struct toy *b) { r->v = (a->v + prime - b->v) % prime; }
static void toy_mul(struct toy *r, const struct toy *a, const struct toy *b) { r->v = a->v * b->v % prime; }

#define PLAIN_T struct toy
#define PLAIN_FN(x) toy_##x
#define PLAIN_ADD toy_add
#define PLAIN_SUB toy_sub
#define PLAIN_MUL toy_mul
#include "poly/ntt_plain_tmpl.h"

static unsigned power(unsigned b, unsigned e) {
  unsigned r = 1;
  for (; e; e--) r = r * b % prime;
  return r;
}
static unsigned inverse(unsigned b) { return power(b, prime - 2); }

/* generator: of the multiplicative group of the prime p. */
static struct toy_domain toy_make(unsigned p, unsigned generator, unsigned log2_n) {
  prime = p;
  struct toy_domain d = {.log2_n = log2_n};
  const unsigned n = 1u << log2_n;
  assert_int_equal((p - 1) % n, 0);
  d.one.v = 1;
  d.shift.v = generator;
  d.i_shift.v = inverse(generator);
  d.n_inv.v = inverse(n % p);
  d.z_inv.v = inverse((power(generator, n) + p - 1) % p);
  for (unsigned s = 0; s < log2_n; s++) {
    d.roots[s].v = power(generator, (p - 1) >> (s + 1));
    d.i_roots[s].v = inverse(d.roots[s].v);
  }
  return d;
}

static unsigned value(const struct toy *coeffs, unsigned n, unsigned x) {
  unsigned acc = 0;
  for (unsigned i = n; i-- > 0;) acc = (acc * x + coeffs[i].v) % prime;
  return acc;
}

/* The next vector in counting order; false after the last. */
static bool next(struct toy *v, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    if (++v[i].v < prime) return true;
    v[i].v = 0;
  }
  return false;
}

static void check(const struct toy *v, const struct toy_domain *d) {
  const unsigned n = 1u << d->log2_n, omega = d->log2_n ? d->roots[d->log2_n - 1].v : 1;
  struct toy f[64], c[64];
  memcpy(f, v, n * sizeof *f);
  memcpy(c, v, n * sizeof *c);
  toy_ntt(f, d);
  toy_coset_ntt(c, d);
  unsigned x = 1;
  for (unsigned i = 0; i < n; i++) {
    if (f[i].v != value(v, n, x)) fail_msg("p %u n %u: value %u", prime, n, i);
    if (c[i].v != value(v, n, x * d->shift.v % prime)) fail_msg("p %u n %u: coset value %u", prime, n, i);
    x = x * omega % prime;
  }
  toy_intt(f, d);
  toy_coset_intt(c, d);
  if (memcmp(f, v, n * sizeof *f) != 0 || memcmp(c, v, n * sizeof *c) != 0) fail_msg("p %u n %u: no round trip", prime, n);
}

static void every_vector_transforms_as_defined(void **state) {
  (void)state;
  static const struct {
    unsigned p, generator, log2_n;
  } world[] = {{3, 2, 0}, {5, 2, 0}, {5, 2, 1}, {17, 3, 1}, {97, 5, 1}, {5, 2, 2}, {13, 2, 2}, {17, 3, 2}};
  for (size_t k = 0; k < sizeof world / sizeof *world; k++) {
    const struct toy_domain d = toy_make(world[k].p, world[k].generator, world[k].log2_n);
    struct toy v[4] = {{0}};
    do check(v, &d);
    while (next(v, 1u << d.log2_n));
  }
}

/* 257 = 2^8 + 1 and 97 = 3 2^5 + 1 have longer domains: every scaled unit vector (so, by linearity, everything) and random ones. */
static void every_unit_vector_of_longer_domains(void **state) {
  (void)state;
  for (unsigned log2_n = 3; log2_n <= 6; log2_n++) {
    for (int which = 0; which < 2; which++) {
      if (which && log2_n > 5) continue;
      const struct toy_domain d = which ? toy_make(97, 5, log2_n) : toy_make(257, 3, log2_n);
      const unsigned n = 1u << log2_n;
      struct toy v[64] = {{0}};
      for (unsigned i = 0; i < n; i++) {
        for (unsigned x = 1; x < prime; x += 5) {
          v[i].v = x;
          check(v, &d);
        }
        v[i].v = 0;
      }
      for (int round = 0; round < 50; round++) {
        for (unsigned i = 0; i < n; i++) v[i].v = (unsigned)(test_rand() % prime);
        check(v, &d);
      }
    }
  }
}

/* All of a tiny QAP: every A, B and C of two rows over F_5, and a, b of two rows over F_17 with every wrong c of one row. H times
 * X^n - 1 equals A B - C exactly when every row holds, and then the top coefficient vanishes. */
static bool check_h(const struct toy *a, const struct toy *b, const struct toy *c, const struct toy_domain *d) {
  const unsigned n = 1u << d->log2_n;
  struct toy ha[4], hb[4], hc[4], pa[4], pb[4], pc[4];
  memcpy(ha, a, n * sizeof *a);
  memcpy(hb, b, n * sizeof *a);
  memcpy(hc, c, n * sizeof *a);
  memcpy(pa, a, n * sizeof *a);
  memcpy(pb, b, n * sizeof *a);
  memcpy(pc, c, n * sizeof *a);
  toy_intt(pa, d);
  toy_intt(pb, d);
  toy_intt(pc, d);
  unsigned diff[8] = {0};
  for (unsigned i = 0; i < n; i++)
    for (unsigned j = 0; j < n; j++) diff[i + j] = (diff[i + j] + pa[i].v * pb[j].v) % prime;
  for (unsigned i = 0; i < n; i++) diff[i] = (diff[i] + prime - pc[i].v) % prime;
  toy_h_poly(ha, hb, hc, d);
  for (unsigned i = 0; i < n; i++) {
    diff[n + i] = (diff[n + i] + prime - ha[i].v) % prime;
    diff[i] = (diff[i] + ha[i].v) % prime;
  }
  bool divides = true, satisfied = true;
  for (unsigned i = 0; i < 2 * n; i++) divides = divides && diff[i] == 0;
  for (unsigned i = 0; i < n; i++) satisfied = satisfied && a[i].v * b[i].v % prime == c[i].v;
  if (divides != satisfied) fail_msg("p %u: divides %d satisfied %d", prime, divides, satisfied);
  if (satisfied && ha[n - 1].v != 0) fail_msg("p %u: top coefficient %u", prime, ha[n - 1].v);
  return satisfied;
}

static void h_divides_exactly_for_satisfied_systems(void **state) {
  (void)state;
  struct toy_domain d = toy_make(5, 2, 1);
  struct toy v[6] = {{0}};
  unsigned n_satisfied = 0, n_all = 0;
  do {
    n_satisfied += check_h(v, v + 2, v + 4, &d);
    n_all++;
  } while (next(v, 6));
  assert_int_equal(n_all, 15625);
  assert_int_equal(n_satisfied, 625); /* C is determined by A and B */

  d = toy_make(17, 3, 1);
  struct toy w[4] = {{0}};
  do {
    struct toy c[2];
    for (int i = 0; i < 2; i++) toy_mul(&c[i], &w[i], &w[2 + i]);
    assert_true(check_h(w, w + 2, c, &d));
    for (unsigned x = 1; x < 17; x += 4) {
      const struct toy wrong[2] = {{(c[0].v + x) % 17}, c[1]};
      assert_false(check_h(w, w + 2, wrong, &d));
    }
  } while (next(w, 4));
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_vector_transforms_as_defined),
      cmocka_unit_test(every_unit_vector_of_longer_domains),
      cmocka_unit_test(h_divides_exactly_for_satisfied_systems),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
