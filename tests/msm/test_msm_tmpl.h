/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tests of one group. Bases are multiples of the generator with known factors, so the expected sum is one multiple of it. */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "msm/fixed_base.h"
#include "msm/msm.h"
#include "test_msm.h"

static struct cuzk_pool *pool;

struct input {
  size_t n;
  T_AFFINE *p;
  cuzk_fr *factor; /* p[i] = factor[i] G */
  cuzk_fr *s;
};

static void random_fr(cuzk_fr *r) {
  uint8_t b[64];
  for (int i = 0; i < 8; i++) {
    const uint64_t v = test_rand();
    memcpy(b + 8 * i, &v, 8);
  }
  cuzk_fr_from_le64_reduce(r, b);
}

static void input_make(struct input *in, size_t n) {
  in->n = n;
  in->p = malloc((n + 1) * sizeof *in->p);
  in->factor = malloc((n + 1) * sizeof *in->factor);
  in->s = malloc((n + 1) * sizeof *in->s);
  T_JAC *j = malloc((n + 1) * sizeof *j);
  assert_true(in->p && in->factor && in->s && j);
  cuzk_fr a, step;
  T_JAC p, q, g;
  T_AFFINE q_affine;
  random_fr(&a);
  random_fr(&step);
  T_G(from_affine)(&g, &T_G(generator));
  T_G(mul_var)(&p, &g, &a);
  T_G(mul_var)(&q, &g, &step);
  T_G(to_affine)(&q_affine, &q);
  for (size_t i = 0; i < n; i++) {
    in->factor[i] = a;
    j[i] = p;
    cuzk_fr_add(&a, &a, &step);
    T_G(add_affine)(&p, &p, &q_affine);
    random_fr(&in->s[i]);
  }
  if (n) assert_int_equal(T_G(to_affine_batch)(in->p, j, n), CUZK_OK);
  free(j);
}

static void input_free(struct input *in) {
  free(in->p);
  free(in->factor);
  free(in->s);
}

static void expected(T_JAC *r, const struct input *in) {
  cuzk_fr sum = cuzk_fr_zero, t;
  for (size_t i = 0; i < in->n; i++) {
    cuzk_fr_mul(&t, &in->factor[i], &in->s[i]);
    cuzk_fr_add(&sum, &sum, &t);
  }
  T_JAC g;
  T_G(from_affine)(&g, &T_G(generator));
  T_G(mul_var)(r, &g, &sum);
}

static void check(const struct input *in) {
  T_JAC e, r;
  expected(&e, in);
  assert_int_equal(T_MSM()(&r, in->p, in->s, in->n, pool), CUZK_OK);
  assert_true(T_G(eq)(&e, &r));
}

static void set_point(struct input *in, size_t to, size_t from, bool negate) {
  in->p[to] = in->p[from];
  in->factor[to] = in->factor[from];
  if (negate) {
    T_G(affine_neg)(&in->p[to], &in->p[to]);
    cuzk_fr_neg(&in->factor[to], &in->factor[to]);
  }
}

static void set_identity(struct input *in, size_t i) {
  memset(&in->p[i], 0, sizeof in->p[i]);
  in->factor[i] = cuzk_fr_zero;
}

static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 31, 64, 100, 257, 1000, 4100};
#define N_SIZES (sizeof sizes / sizeof *sizes)

static void random_scalars(void **state) {
  (void)state;
  for (size_t k = 0; k < N_SIZES; k++) {
    struct input in;
    input_make(&in, sizes[k]);
    check(&in);
    input_free(&in);
  }
}

static void many_random_scalars(void **state) {
  (void)state;
  struct input in;
  input_make(&in, T_LARGE);
  check(&in);
  /* ones and minus ones through several levels of their sums, on more than one worker and on one */
  for (size_t i = 0; i < in.n; i++) {
    in.s[i] = cuzk_fr_one;
    if (test_rand() % 4 == 0) cuzk_fr_neg(&in.s[i], &in.s[i]);
  }
  check(&in);
  T_JAC e, r;
  expected(&e, &in);
  assert_int_equal(T_MSM()(&r, in.p, in.s, in.n, NULL), CUZK_OK);
  assert_true(T_G(eq)(&e, &r));
  input_free(&in);
}

static void identities_among_the_bases(void **state) {
  (void)state;
  for (size_t k = 0; k < N_SIZES; k++) {
    struct input in;
    input_make(&in, sizes[k]);
    for (size_t i = 0; i < in.n; i += 1 + test_rand() % 3) set_identity(&in, i);
    check(&in);
    for (size_t i = 0; i < in.n; i++) in.s[i] = cuzk_fr_one;
    check(&in);
    for (size_t i = 0; i < in.n; i++) set_identity(&in, i);
    check(&in);
    input_free(&in);
  }
}

static void equal_and_opposite_bases(void **state) {
  (void)state;
  for (size_t k = 0; k < N_SIZES; k++) {
    struct input in;
    input_make(&in, sizes[k]);
    for (size_t i = 1; i < in.n; i++)
      if (test_rand() % 2) set_point(&in, i, test_rand() % i, test_rand() % 2);
    check(&in);
    for (size_t i = 0; i < in.n; i++) cuzk_fr_from_u64(&in.s[i], 1 + test_rand() % 3);
    check(&in);
    for (size_t i = 0; i < in.n; i++) in.s[i] = cuzk_fr_one;
    check(&in);
    for (size_t i = 1; i < in.n; i++) set_point(&in, i, 0, false); /* one base everywhere */
    check(&in);
    for (size_t i = 0; i < in.n; i++) random_fr(&in.s[i]);
    check(&in);
    for (size_t i = 0; i < in.n; i++) in.s[i] = in.s[0];
    check(&in);
    for (size_t i = 1; i < in.n; i += 2) set_point(&in, i, 0, true); /* cancels in pairs */
    check(&in);
    input_free(&in);
  }
}

static void special_scalars(void **state) {
  (void)state;
  for (size_t k = 0; k < N_SIZES; k++) {
    struct input in;
    input_make(&in, sizes[k]);
    cuzk_fr v[24];
    size_t n = 0;
    v[n++] = cuzk_fr_zero;
    v[n++] = cuzk_fr_one;
    cuzk_fr_neg(&v[n++], &cuzk_fr_one);
    cuzk_fr_from_u64(&v[n++], 2);
    cuzk_fr_neg(&v[n], &v[n - 1]);
    n++;
    /* the two neighbours of r/2, where the sign changes, and powers of two near digit boundaries */
    cuzk_fr half, two;
    cuzk_fr_from_u64(&two, 2);
    cuzk_fr_inv_var(&half, &two);
    v[n++] = half;
    cuzk_fr_sub(&v[n++], &half, &cuzk_fr_one);
    for (unsigned b = 3; b < 254; b += 29) {
      uint64_t e = b;
      cuzk_fr_pow_var(&v[n], &two, &e, 1);
      n++;
    }
    for (unsigned b = 15; n < 24; b += 32) {
      uint64_t e = b;
      cuzk_fr_pow_var(&v[n], &two, &e, 1);
      if (b & 32) cuzk_fr_sub(&v[n], &v[n], &cuzk_fr_one);
      n++;
    }
    for (size_t j = 0; j < n; j++) {
      if (in.n > 300 && j % 3) continue;
      for (size_t i = 0; i < in.n; i++) in.s[i] = v[j];
      check(&in);
    }
    for (size_t i = 0; i < in.n; i++) in.s[i] = v[test_rand() % n];
    check(&in);
    for (size_t i = 0; i < in.n; i++) cuzk_fr_from_u64(&in.s[i], test_rand() % 70000);
    check(&in);
    for (size_t i = 0; i < in.n; i++) cuzk_fr_neg(&in.s[i], &in.s[i]);
    check(&in);
    for (size_t i = 0; i < in.n; i++) in.s[i] = v[test_rand() % 2];
    check(&in);
    for (size_t i = 0; i < in.n; i++) {
      uint64_t limbs[4];
      do {
        for (int l = 0; l < 4; l++) limbs[l] = test_rand_limb();
        limbs[3] &= 0x7fffffffffffffffu;
      } while (!cuzk_fr_from_canon(&in.s[i], limbs));
    }
    check(&in);
    input_free(&in);
  }
}

static enum cuzk_status fetch(void *user, T_AFFINE *dst, size_t first, size_t count, struct cuzk_detail *d) {
  const struct input *in = user;
  if (first + count > in->n) return cuzk_fail(d, CUZK_E_INTERNAL, "fetch past the end");
  memcpy(dst, in->p + first, count * sizeof *dst);
  return CUZK_OK;
}

static enum cuzk_status fetch_fails(void *user, T_AFFINE *dst, size_t first, size_t count, struct cuzk_detail *d) {
  (void)user;
  (void)dst;
  (void)first;
  (void)count;
  return cuzk_fail(d, CUZK_E_IO, "the disk is gone");
}

static bool cancel(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  (void)user;
  (void)stage;
  (void)unit;
  return done < total;
}

static void density_and_streams(void **state) {
  (void)state;
  for (size_t k = 0; k < N_SIZES; k++) {
    struct input in;
    input_make(&in, sizes[k]);
    /* spread the scalars out over a longer vector whose other places must not matter */
    const size_t longest = 3 * in.n + 200;
    uint64_t *map = calloc(longest / 64 + 1, 8);
    cuzk_fr *s = malloc(longest * sizeof *s);
    assert_true(map && s);
    size_t j = test_rand() % 70, n_scalars = 0;
    for (size_t i = 0; i < longest; i++) random_fr(&s[i]);
    for (size_t i = 0; i < in.n; i++) {
      map[j / 64] |= (uint64_t)1 << (j % 64);
      if (test_rand() % 2) in.s[i] = cuzk_fr_one;
      s[j] = in.s[i];
      n_scalars = j + 1;
      j += 1 + test_rand() % 3;
    }
    n_scalars += test_rand() % 100;
    assert_true(n_scalars <= longest);
    T_JAC e, r;
    struct cuzk_detail d = {{0}};
    struct T_BASES src = {fetch, &in};
    expected(&e, &in);
    assert_int_equal(T_MSM(_dense)(&r, in.p, in.n, s, n_scalars, map, pool), CUZK_OK);
    assert_true(T_G(eq)(&e, &r));
    assert_int_equal(T_MSM(_stream)(&r, &src, in.n, s, n_scalars, map, pool, NULL, "t", &d), CUZK_OK);
    assert_true(T_G(eq)(&e, &r));
    assert_int_equal(T_MSM(_stream)(&r, &src, in.n, in.s, in.n, NULL, pool, NULL, "t", &d), CUZK_OK);
    assert_true(T_G(eq)(&e, &r));
    assert_int_equal(T_MSM(_dense)(&r, in.p, in.n + 1, s, n_scalars, map, pool), CUZK_E_ARG);
    assert_true(T_G(is_identity)(&r));
    if (in.n) {
      src.fetch = fetch_fails;
      r = e;
      assert_int_equal(T_MSM(_stream)(&r, &src, in.n, in.s, in.n, NULL, pool, NULL, "t", &d), CUZK_E_IO);
      assert_true(T_G(is_identity)(&r));
      assert_string_equal(d.text, "the disk is gone");
      src.fetch = fetch;
      const struct cuzk_progress stop = {cancel, NULL};
      r = e;
      assert_int_equal(T_MSM(_stream)(&r, &src, in.n, in.s, in.n, NULL, pool, &stop, "t", &d), CUZK_E_CANCELLED);
      assert_true(T_G(is_identity)(&r));
    }
    free(map);
    free(s);
    input_free(&in);
  }
}

static void every_failed_allocation_is_survived(void **state) {
  (void)state;
  const int64_t live = cuzk_alloc_live();
  struct input in;
  input_make(&in, 600);
  for (size_t i = 0; i < 100; i++) in.s[i] = cuzk_fr_one;
  T_JAC e, r;
  expected(&e, &in);
  struct T_BASES src = {fetch, &in};
  for (int streamed = 0; streamed < 2; streamed++) {
    for (uint64_t n = 1;; n++) {
      r = e;
      cuzk_alloc_fail_at(n);
      enum cuzk_status st = streamed ? T_MSM(_stream)(&r, &src, in.n, in.s, in.n, NULL, pool, NULL, "t", NULL)
                                     : T_MSM()(&r, in.p, in.s, in.n, pool);
      const uint64_t tried = cuzk_alloc_count();
      cuzk_alloc_fail_at(0);
      assert_int_equal(cuzk_alloc_live(), live);
      if (st == CUZK_OK) {
        assert_true(tried < n);
        assert_true(T_G(eq)(&e, &r));
        break;
      }
      assert_int_equal(st, CUZK_E_NOMEM);
      assert_true(T_G(is_identity)(&r));
    }
  }
  input_free(&in);
}

static void fixed_base_multiples(void **state) {
  (void)state;
  struct input in;
  input_make(&in, 700);
  in.s[0] = cuzk_fr_zero;
  in.s[1] = cuzk_fr_one;
  cuzk_fr_neg(&in.s[2], &cuzk_fr_one);
  for (size_t i = 3; i < 40; i++) cuzk_fr_from_u64(&in.s[i], test_rand() % 300);
  for (size_t i = 40; i < 60; i++) in.s[i] = cuzk_fr_zero;
  static const size_t hints[] = {0, 1, 300, 5000, 100000};
  for (size_t h = 0; h < 5; h++) {
    struct T_FIXED *t = NULL;
    const size_t n = h == 2 ? in.n : 70;
    T_AFFINE *out = malloc(n * sizeof *out);
    assert_non_null(out);
    memset(out, 0xff, n * sizeof *out);
    const T_AFFINE *base = h % 2 ? &in.p[5] : &T_G(generator);
    assert_int_equal(T_FIX(create)(&t, base, hints[h], pool), CUZK_OK);
    assert_int_equal(T_FIX(mul)(t, out, in.s, n, pool), CUZK_OK);
    for (size_t i = 0; i < n; i++) {
      T_JAC b, e;
      T_AFFINE a;
      T_G(from_affine)(&b, base);
      T_G(mul_var)(&e, &b, &in.s[i]);
      T_G(to_affine)(&a, &e);
      assert_true(T_G(affine_eq)(&a, &out[i]));
    }
    assert_int_equal(T_FIX(mul)(t, out, in.s, 0, pool), CUZK_OK);
    T_FIX(destroy)(&t);
    assert_null(t);
    T_FIX(destroy)(&t);
    free(out);
  }
  /* the identity as a base */
  struct T_FIXED *t = NULL;
  T_AFFINE zero, out[20];
  memset(&zero, 0, sizeof zero);
  assert_int_equal(T_FIX(create)(&t, &zero, 20, pool), CUZK_OK);
  assert_int_equal(T_FIX(mul)(t, out, in.s + 60, 20, pool), CUZK_OK);
  for (size_t i = 0; i < 20; i++) assert_true(T_G(affine_is_identity)(&out[i]));
  T_FIX(destroy)(&t);
  input_free(&in);
}

static void fixed_base_survives_every_failed_allocation(void **state) {
  (void)state;
  const int64_t live = cuzk_alloc_live();
  cuzk_fr s[40];
  T_AFFINE out[40];
  for (int i = 0; i < 40; i++) random_fr(&s[i]);
  for (uint64_t n = 1;; n++) {
    struct T_FIXED *t = NULL;
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = T_FIX(create)(&t, &T_G(generator), 40, pool);
    if (st == CUZK_OK) st = T_FIX(mul)(t, out, s, 40, pool);
    const uint64_t tried = cuzk_alloc_count();
    cuzk_alloc_fail_at(0);
    T_FIX(destroy)(&t);
    assert_int_equal(cuzk_alloc_live(), live);
    if (st == CUZK_OK) {
      assert_true(tried < n);
      break;
    }
    assert_int_equal(st, CUZK_E_NOMEM);
  }
}

int T_MAIN(void) {
  test_rng_state = test_msm_seed;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_scalars),
      cmocka_unit_test(many_random_scalars),
      cmocka_unit_test(identities_among_the_bases),
      cmocka_unit_test(equal_and_opposite_bases),
      cmocka_unit_test(special_scalars),
      cmocka_unit_test(density_and_streams),
      cmocka_unit_test(every_failed_allocation_is_survived),
      cmocka_unit_test(fixed_base_multiples),
      cmocka_unit_test(fixed_base_survives_every_failed_allocation),
  };
  if (cuzk_pool_create(&pool, 3) != CUZK_OK) return 1;
  const int failed = cmocka_run_group_tests_name(T_NAME, tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  return failed;
}
