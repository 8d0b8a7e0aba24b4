/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Key generation of the CUDA device over the host twin of its kernels: the bytes must be those of the host's setup, however small the
 * device's memory is; blocks and ranges are made small enough that there are many. */
#include <unistd.h>

#include "base/file.h"
#include "base/pool.h"
#include "cuda_setup_twin.h"
#include "device/cuda_setup.h"
#include "msm/fixed_base.h"
#include "poly/lagrange.h"
#include "r1cs/cs.h"
#include "testing.h"

bool twin_lagrange(void *out, const void *tau, unsigned log2_n) {
  struct cuzk_domain *d;
  if (cuzk_domain_create(&d, log2_n, NULL) != CUZK_OK) return false;
  const bool ok = cuzk_lagrange_at(out, tau, d, NULL) == CUZK_OK;
  cuzk_domain_destroy(&d);
  return ok;
}
void twin_multiples_g1(void *points, const void *scalars, size_t n) {
  struct cuzk_fixed_g1 *t;
  if (cuzk_fixed_g1_create(&t, &cuzk_g1_generator, n, NULL) != CUZK_OK) abort();
  if (cuzk_fixed_g1_mul(t, points, scalars, n, NULL) != CUZK_OK) abort();
  cuzk_fixed_g1_destroy(&t);
}
void twin_multiples_g2(void *points, const void *scalars, size_t n) {
  struct cuzk_fixed_g2 *t;
  if (cuzk_fixed_g2_create(&t, &cuzk_g2_generator, n, NULL) != CUZK_OK) abort();
  if (cuzk_fixed_g2_mul(t, points, scalars, n, NULL) != CUZK_OK) abort();
  cuzk_fixed_g2_destroy(&t);
}

/* ---- A circuit ---- */

struct shape {
  unsigned inputs, steps, bits;
  bool loose; /* a variable that no row names */
};

/* Regions that are alike and use older variables, long sums with powers of two and other coefficients, inputs between. */
static void synthesize(void *user, struct cuzk_cs *cs) {
  const struct shape *s = user;
  cuzk_fr v = cuzk_fr_one, odd;
  cuzk_fr_from_u64(&odd, 12345);
  cuzk_var last = cuzk_cs_alloc(cs, &v);
  if (s->loose) (void)cuzk_cs_alloc(cs, &v);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, last, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 2, CUZK_VAR_ONE, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  for (unsigned i = 1; i < s->inputs; i++) last = cuzk_cs_alloc_input(cs, &v);
  for (unsigned k = 0; k < s->steps; k++) {
    cuzk_cs_push(cs, "step %u", k);
    const cuzk_var bits = cuzk_cs_alloc_bits(cs, 0, s->bits), sum = cuzk_cs_alloc(cs, &v);
    for (unsigned i = 0; i < s->bits; i++) {
      if (cs->lcs) {
        cuzk_cs_term(cs, 0, CUZK_VAR_ONE, CUZK_COEFF_ONE);
        cuzk_cs_term(cs, 0, bits + i, CUZK_COEFF_MINUS_ONE);
        cuzk_cs_term(cs, 1, bits + i, CUZK_COEFF_ONE);
      }
      cuzk_cs_enforce(cs);
    }
    if (cs->lcs) {
      for (unsigned i = 0; i < s->bits; i++) cuzk_cs_term(cs, 0, bits + i, i % 2 ? CUZK_COEFF_MINUS_POW2(i) : CUZK_COEFF_POW2(i));
      cuzk_cs_term(cs, 0, last, cuzk_cs_coeff(cs, &odd));
      cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_POW2(3));
      cuzk_cs_term(cs, 2, sum, CUZK_COEFF_ONE);
      cuzk_cs_term(cs, 2, k % s->inputs, CUZK_COEFF_MINUS_ONE);
    }
    cuzk_cs_enforce(cs);
    last = sum;
    cuzk_cs_pop(cs);
  }
}

static void make_circuit(struct cuzk_compact **c, struct shape s) {
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_compact_build(c, "test", synthesize, &s, 0, NULL, &d), CUZK_OK);
}

static void make_toxic(struct cuzk_toxic *t) {
  cuzk_fr *const v[5] = {&t->alpha, &t->beta, &t->gamma, &t->delta, &t->tau};
  for (int i = 0; i < 5; i++) {
    uint8_t wide[64];
    for (int k = 0; k < 64; k++) wide[k] = (uint8_t)test_rand();
    cuzk_fr_from_le64_reduce(v[i], wide);
  }
}

static void make_path(char path[64], const char *what) { (void)snprintf(path, 64, "cuda-setup-%ld-%s.params", (long)getpid(), what); }

static struct cuzk_cuda_setup_times times;

static enum cuzk_status make(void *user, const struct cuzk_setup_sink *sink, struct cuzk_detail *d) {
  return cuzk_cuda_setup_run(user, sink, &times, d);
}

static void compare(const struct cuzk_compact *c, const struct cuzk_toxic *t, uint64_t memory, bool many_ranges) {
  struct cuzk_detail d = {{0}};
  const struct cuzk_system system = cuzk_compact_system(c);
  struct cuzk_cuda_setup s = {.circuit = c, .toxic = t};
  char host[64], device[64];
  uint8_t sha_host[32], sha_device[32];
  struct cuzk_file a = {0}, b = {0};
  struct cuzk_pool *pool;
  make_path(host, "host");
  make_path(device, "device");
  twin_setup_memory = memory;
  assert_int_equal(cuzk_pool_create(&pool, 2), CUZK_OK);
  assert_int_equal(cuzk_params_generate(host, &system, t, sha_host, pool, NULL, &d), CUZK_OK);
  if (cuzk_params_generate_by(device, make, &s, sha_device, pool, &d) != CUZK_OK) fail_msg("%s", d.text);
  if (many_ranges)
    assert_true(times.ranges > 2);
  else
    assert_int_equal(times.ranges, 1);
  assert_int_equal(cuzk_file_read(&a, host, 1 << 28, &d), CUZK_OK);
  assert_int_equal(cuzk_file_read(&b, device, 1 << 28, &d), CUZK_OK);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.data, b.data, a.n);
  assert_memory_equal(sha_host, sha_device, 32);
  cuzk_file_clear(&a);
  cuzk_file_clear(&b);
  (void)unlink(host);
  (void)unlink(device);
  cuzk_pool_destroy(&pool);
}

static void test_equal(void **state) {
  (void)state;
  static const struct shape shapes[] = {{1, 1, 1, false}, {3, 9, 20, false}, {40, 30, 31, false}, {2, 12, 64, false}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    struct cuzk_compact *c;
    struct cuzk_toxic t;
    make_circuit(&c, shapes[i]);
    make_toxic(&t);
    compare(c, &t, 0, false);
    cuzk_compact_destroy(&c);
  }
}

static void test_little_memory(void **state) {
  (void)state;
  struct cuzk_compact *c;
  struct cuzk_toxic t;
  make_circuit(&c, (struct shape){40, 30, 31, false});
  make_toxic(&t);
  compare(c, &t, 110000, true); /* inputs fill more than a range */
  cuzk_compact_destroy(&c);
}

static enum cuzk_status full(void *user, const void *p, size_t n, struct cuzk_detail *d) {
  size_t *left = user;
  (void)p;
  if (n > *left) {
    (void)snprintf(d->text, sizeof d->text, "the disk is full");
    return CUZK_E_NOSPC;
  }
  *left -= n;
  return CUZK_OK;
}

static bool cancel(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  unsigned *left = user;
  assert_true(done <= total);
  (void)stage;
  (void)unit;
  return (*left)-- > 0;
}

static void test_failures(void **state) {
  (void)state;
  struct cuzk_compact *c, *loose;
  struct cuzk_toxic t, bad;
  struct cuzk_detail d = {{0}}, want = {{0}};
  make_circuit(&c, (struct shape){3, 9, 20, false});
  make_circuit(&loose, (struct shape){3, 9, 20, true});
  make_toxic(&t);
  twin_setup_memory = 0;
  for (size_t room = 0; room < 60000; room += 9000) { /* the sink fails at the head, in each section, on the last piece */
    size_t left = room;
    const struct cuzk_setup_sink sink = {full, &left};
    const struct cuzk_cuda_setup s = {.circuit = c, .toxic = &t};
    assert_int_equal(cuzk_cuda_setup_run(&s, &sink, NULL, &d), CUZK_E_NOSPC);
    assert_string_equal(d.text, "the disk is full");
  }
  size_t plenty = SIZE_MAX;
  const struct cuzk_setup_sink sink = {full, &plenty};
  for (unsigned stop = 0; stop < 8; stop += 3) {
    unsigned left = stop;
    const struct cuzk_progress progress = {cancel, &left};
    const struct cuzk_cuda_setup s = {.circuit = c, .toxic = &t, .progress = &progress};
    assert_int_equal(cuzk_cuda_setup_run(&s, &sink, NULL, &d), CUZK_E_CANCELLED);
  }
  /* What the host's setup refuses, in its words. */
  for (int k = 0; k < 3; k++) {
    const struct cuzk_compact *circuit = k == 2 ? loose : c;
    const struct cuzk_system system = cuzk_compact_system(circuit);
    char path[64];
    make_path(path, "refused");
    bad = t;
    if (k == 0) bad.delta = cuzk_fr_zero;
    if (k == 1) bad.tau = cuzk_fr_one;
    const struct cuzk_cuda_setup s = {.circuit = circuit, .toxic = &bad};
    const enum cuzk_status st = cuzk_params_generate(path, &system, &bad, NULL, NULL, NULL, &want);
    assert_int_equal(st, k == 2 ? CUZK_E_UNSAT : CUZK_E_ARG);
    d.text[0] = 0;
    assert_int_equal(cuzk_cuda_setup_run(&s, &sink, NULL, &d), st);
    if (k != 1) assert_string_equal(d.text, want.text); /* the domain is the kernels' to check */
  }
  /* Memory that does not hold the least range. */
  twin_setup_memory = 20000;
  const struct cuzk_cuda_setup s = {.circuit = c, .toxic = &t};
  assert_int_equal(cuzk_cuda_setup_run(&s, &sink, NULL, &d), CUZK_E_NOMEM);
  twin_setup_memory = 0;
  const struct cuzk_cuda_setup other = {.circuit = c, .toxic = &t, .device = 1};
  assert_int_equal(cuzk_cuda_setup_run(&other, &sink, NULL, &d), CUZK_E_ARG);
  cuzk_compact_destroy(&c);
  cuzk_compact_destroy(&loose);
}

static void test_limbs(void **state) {
  (void)state;
  for (int round = 0; round < 2000; round++) {
    unsigned long long w[8];
    cuzk_fr want = cuzk_fr_zero, got, base = cuzk_fr_one, two_32, x;
    cuzk_fr_from_u64(&two_32, (uint64_t)1 << 32);
    for (int i = 0; i < 8; i++) {
      w[i] = test_rand_limb() >> 1; /* sums of fewer than 2^31 limbs */
      cuzk_fr_from_u64(&x, w[i]);
      cuzk_fr_mul(&x, &x, &base);
      cuzk_fr_add(&want, &want, &x);
      cuzk_fr_mul(&base, &base, &two_32);
    }
    /* The sums are of Montgomery forms, so the result is one: the integer that it stands for, as it lies in memory. */
    twin_fold_limbs(got.l, w);
    uint64_t canonical[4];
    cuzk_fr_to_canon(canonical, &want);
    assert_memory_equal(got.l, canonical, 32);
  }
}

static void test_encoding(void **state) {
  (void)state;
  cuzk_g1 p;
  cuzk_g2 q;
  cuzk_g1_from_affine(&p, &cuzk_g1_generator);
  cuzk_g2_from_affine(&q, &cuzk_g2_generator);
  for (int i = 0; i < 50; i++) {
    cuzk_g1_affine a = {0};
    cuzk_g2_affine b = {0};
    uint8_t want1[96], got1[96], want2[192], got2[192];
    if (i) {
      cuzk_g1_to_affine(&a, &p);
      cuzk_g2_to_affine(&b, &q);
      if (i % 2) cuzk_g1_affine_neg(&a, &a);
    }
    cuzk_g1_encode(want1, &a);
    cuzk_g2_encode(want2, &b);
    twin_encode_g1(got1, &a);
    twin_encode_g2(got2, &b);
    assert_memory_equal(want1, got1, 96);
    assert_memory_equal(want2, got2, 192);
    cuzk_g1_dbl(&p, &p);
    cuzk_g2_dbl(&q, &q);
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_limbs), cmocka_unit_test(test_encoding), cmocka_unit_test(test_equal),
                                     cmocka_unit_test(test_little_memory), cmocka_unit_test(test_failures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
