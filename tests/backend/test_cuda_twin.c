/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The device's field and curve arithmetic, compiled for the host, against src/ff bit for bit; curve formulas against a plain
 * affine addition written out here over src/ff. */
#include "backend/cuda/finish.h"
#include "cuda_twin.h"
#include "ec/g1.h"
#include "ff/fp2.h"
#include "ff/fr.h"
#include "testing.h"

#define ROUNDS 2000

static void sample(uint64_t *out, int limbs, const uint64_t *modulus) {
  switch (test_rand() % 10) {
    case 0: /* just below the modulus */
      memcpy(out, modulus, 8 * (size_t)limbs);
      out[0] -= 1 + test_rand() % 3 % (out[0] ? out[0] : 1);
      if (modulus[0] == 0) out[0] = 0;
      return;
    case 1: /* tiny */
      memset(out, 0, 8 * (size_t)limbs);
      out[0] = test_rand() % 3;
      return;
    default:
      for (int i = 0; i < limbs; i++) out[i] = test_rand_limb();
      out[limbs - 1] %= modulus[limbs - 1];
  }
}
static void sample_fr(cuzk_fr *r) { sample(r->l, 4, cuzk_fr_modulus); }
static void sample_fp(cuzk_fp *r) { sample(r->l, 6, cuzk_fp_modulus); }

static void reference(const char *name, void *r, const void *a, const void *b) {
  if (!strcmp(name, "fr_add")) cuzk_fr_add(r, a, b);
  else if (!strcmp(name, "fr_sub")) cuzk_fr_sub(r, a, b);
  else if (!strcmp(name, "fr_mul")) cuzk_fr_mul(r, a, b);
  else if (!strcmp(name, "fr_sqr")) cuzk_fr_sqr(r, a);
  else if (!strcmp(name, "fr_neg")) cuzk_fr_neg(r, a);
  else if (!strcmp(name, "fr_dbl")) cuzk_fr_dbl(r, a);
  else if (!strcmp(name, "fp_add")) cuzk_fp_add(r, a, b);
  else if (!strcmp(name, "fp_sub")) cuzk_fp_sub(r, a, b);
  else if (!strcmp(name, "fp_mul")) cuzk_fp_mul(r, a, b);
  else if (!strcmp(name, "fp_sqr")) cuzk_fp_sqr(r, a);
  else if (!strcmp(name, "fp_neg")) cuzk_fp_neg(r, a);
  else if (!strcmp(name, "fp_dbl")) cuzk_fp_dbl(r, a);
  else if (!strcmp(name, "fp_inv")) cuzk_fp_inv_var(r, a);
  else if (!strncmp(name, "fp2_", 4)) {
    /* Schoolbook over Fp, so that nothing but src/ff/fp is needed. */
    const cuzk_fp2 *x = a, *y = b;
    cuzk_fp2 z;
    cuzk_fp t, u;
    if (!strcmp(name, "fp2_add")) {
      cuzk_fp_add(&z.c0, &x->c0, &y->c0);
      cuzk_fp_add(&z.c1, &x->c1, &y->c1);
    } else if (!strcmp(name, "fp2_sub")) {
      cuzk_fp_sub(&z.c0, &x->c0, &y->c0);
      cuzk_fp_sub(&z.c1, &x->c1, &y->c1);
    } else if (!strcmp(name, "fp2_neg")) {
      cuzk_fp_neg(&z.c0, &x->c0);
      cuzk_fp_neg(&z.c1, &x->c1);
    } else if (!strcmp(name, "fp2_inv")) {
      cuzk_fp_mul(&t, &x->c0, &x->c0);
      cuzk_fp_mul(&u, &x->c1, &x->c1);
      cuzk_fp_add(&t, &t, &u);
      cuzk_fp_inv_var(&t, &t);
      cuzk_fp_mul(&z.c0, &x->c0, &t);
      cuzk_fp_mul(&z.c1, &x->c1, &t);
      cuzk_fp_neg(&z.c1, &z.c1);
    } else {
      if (!strcmp(name, "fp2_sqr")) y = x;
      cuzk_fp_mul(&t, &x->c0, &y->c0);
      cuzk_fp_mul(&u, &x->c1, &y->c1);
      cuzk_fp_sub(&z.c0, &t, &u);
      cuzk_fp_mul(&t, &x->c0, &y->c1);
      cuzk_fp_mul(&u, &x->c1, &y->c0);
      cuzk_fp_add(&z.c1, &t, &u);
    }
    memcpy(r, &z, sizeof z);
  } else {
    fail_msg("no reference for %s", name);
  }
}

static void test_fields(void **state) {
  (void)state;
  for (const struct twin_binary *op = twin_binaries; op->name; op++) {
    const int rounds = strstr(op->name, "inv") ? ROUNDS / 10 : ROUNDS;
    for (int i = 0; i < rounds; i++) {
      cuzk_fp2 a = {{{0}}, {{0}}}, b = a, want = a, got = a;
      const size_t size = op->name[1] == 'r' ? sizeof(cuzk_fr) : op->name[2] == '2' ? sizeof(cuzk_fp2) : sizeof(cuzk_fp);
      if (op->name[1] == 'r') {
        sample_fr((cuzk_fr *)&a);
        sample_fr((cuzk_fr *)&b);
      } else {
        sample_fp(&a.c0);
        sample_fp(&a.c1);
        sample_fp(&b.c0);
        sample_fp(&b.c1);
      }
      if (i % 16 == 0) b = a;
      reference(op->name, &want, &a, &b);
      op->fn(&got, &a, &b);
      if (memcmp(&want, &got, size) != 0) fail_msg("%s differs in round %d", op->name, i);
    }
  }
}

/* a mod r of a value below 2r. */
static void fold(cuzk_fr *r, const uint64_t a[4]) {
  uint8_t wide[64] = {0};
  uint64_t one_r[4];
  /* from_le64_reduce gives the Montgomery form of a; to_canon takes it back */
  memcpy(wide, a, 32);
  cuzk_fr t;
  cuzk_fr_from_le64_reduce(&t, wide);
  cuzk_fr_to_canon(one_r, &t);
  memcpy(r, one_r, 32);
}

static void test_loose_fr(void **state) {
  (void)state;
  static const uint64_t two_r[4] = {0xfffffffe00000002u, 0xa77b4805fffcb7fdu, 0x6673b0101343b00au, 0xe7db4ea6533afa90u};
  for (int i = 0; i < ROUNDS; i++) {
    cuzk_fr a, x, y, want;
    uint64_t b[4], c[4], got[4];
    sample_fr(&a);
    for (int j = 0; j < 4; j++) b[j] = i % 3 ? test_rand_limb() : UINT64_MAX;
    fold(&x, b);
    cuzk_fr_mul(&want, &a, &x);
    twin_fr_mul_any(got, a.l, b);
    assert_memory_equal(got, want.l, 32);
    sample(b, 4, two_r);
    sample(c, 4, two_r);
    fold(&x, b);
    fold(&y, c);
    cuzk_fr_add(&want, &x, &y);
    twin_fr_add_loose(got, b, c);
    assert_memory_equal(got, want.l, 32);
    cuzk_fr_sub(&want, &x, &y);
    twin_fr_sub_loose(got, b, c);
    assert_memory_equal(got, want.l, 32);
  }
}

static bool below(const uint64_t *a, const uint64_t *b, int n) {
  for (int i = n - 1; i >= 0; i--)
    if (a[i] != b[i]) return a[i] < b[i];
  return false;
}

/* A value below 2p to one below p, limb by limb: the library's own functions take reduced values only. */
static void canon(cuzk_fp *a) {
  if (below(a->l, cuzk_fp_modulus, 6)) return;
  uint64_t borrow = 0;
  for (int i = 0; i < 6; i++) {
    const uint64_t m = cuzk_fp_modulus[i], t = a->l[i] - m, u = t - borrow;
    borrow = (a->l[i] < m) | (t < borrow);
    a->l[i] = u;
  }
}

static void test_loose_fp(void **state) {
  (void)state;
  static const uint64_t two_p[6] = {0x73fdffffffff5556u, 0x3d57fffd62a7ffffu, 0xce61a541ed61ec48u,
                                    0xc8ee9709e70a257eu, 0x96374f6c869759aeu, 0x340223d472ffcd34u};
  for (int i = 0; i < ROUNDS; i++) {
    uint64_t a[6], b[6], got[6], sq[6];
    cuzk_fp x, y, want;
    sample(a, 6, two_p);
    sample(b, 6, two_p);
    memcpy(x.l, a, 48);
    memcpy(y.l, b, 48);
    canon(&x);
    canon(&y);
    twin_fp_mul_loose(got, a, b);
    assert_true(below(got, two_p, 6));
    twin_fp_sqr_loose(sq, a);
    assert_true(below(sq, two_p, 6));
    cuzk_fp_mul(&want, &x, &y);
    cuzk_fp g;
    memcpy(g.l, got, 48);
    canon(&g);
    assert_memory_equal(&g, &want, 48);
    cuzk_fp_sqr(&want, &x);
    memcpy(g.l, sq, 48);
    canon(&g);
    assert_memory_equal(&g, &want, 48);
  }
}

/* --- curve ------------------------------------------------------------------------------------------------------------ */

struct aff {
  cuzk_fp x, y;
};

/* Textbook affine addition. */
static void aff_add(struct aff *r, const struct aff *p, const struct aff *q) {
  const bool p0 = cuzk_fp_is_zero(&p->x) && cuzk_fp_is_zero(&p->y), q0 = cuzk_fp_is_zero(&q->x) && cuzk_fp_is_zero(&q->y);
  if (p0 || q0) {
    *r = p0 ? *q : *p;
    return;
  }
  cuzk_fp num, den, t;
  if (cuzk_fp_eq(&p->x, &q->x)) {
    if (!cuzk_fp_eq(&p->y, &q->y)) {
      memset(r, 0, sizeof *r);
      return;
    }
    cuzk_fp_sqr(&t, &p->x);
    cuzk_fp_dbl(&num, &t);
    cuzk_fp_add(&num, &num, &t);
    cuzk_fp_dbl(&den, &p->y);
  } else {
    cuzk_fp_sub(&num, &q->y, &p->y);
    cuzk_fp_sub(&den, &q->x, &p->x);
  }
  cuzk_fp_inv_var(&den, &den);
  cuzk_fp_mul(&num, &num, &den);
  struct aff o;
  cuzk_fp_sqr(&o.x, &num);
  cuzk_fp_sub(&o.x, &o.x, &p->x);
  cuzk_fp_sub(&o.x, &o.x, &q->x);
  cuzk_fp_sub(&t, &p->x, &o.x);
  cuzk_fp_mul(&t, &t, &num);
  cuzk_fp_sub(&o.y, &t, &p->y);
  *r = o;
}

/* Some point of the curve; 2 and 3 give points with x = 0 (order three). */
static void some_point(struct aff *r, uint64_t seed) {
  cuzk_fp four, t;
  cuzk_fp_from_u64(&four, 4);
  cuzk_fp_from_u64(&r->x, seed);
  for (;;) {
    cuzk_fp_sqr(&t, &r->x);
    cuzk_fp_mul(&t, &t, &r->x);
    cuzk_fp_add(&t, &t, &four);
    if (cuzk_fp_sqrt_var(&r->y, &t)) break;
    cuzk_fp_add(&r->x, &r->x, &cuzk_fp_one);
  }
}

struct xyzz {
  cuzk_fp x, y, zz, zzz;
};
static void to_xyzz(struct xyzz *r, const struct aff *p) {
  memset(r, 0, sizeof *r);
  if (cuzk_fp_is_zero(&p->x) && cuzk_fp_is_zero(&p->y)) return;
  cuzk_fp z;
  cuzk_fp_from_u64(&z, test_rand() | 1);
  cuzk_fp_sqr(&r->zz, &z);
  cuzk_fp_mul(&r->zzz, &r->zz, &z);
  cuzk_fp_mul(&r->x, &p->x, &r->zz);
  cuzk_fp_mul(&r->y, &p->y, &r->zzz);
}
static void from_xyzz(struct aff *r, const struct xyzz *p) {
  memset(r, 0, sizeof *r);
  if (cuzk_fp_is_zero(&p->zz)) return;
  cuzk_fp t;
  cuzk_fp_inv_var(&t, &p->zz);
  cuzk_fp_mul(&r->x, &p->x, &t);
  cuzk_fp_inv_var(&t, &p->zzz);
  cuzk_fp_mul(&r->y, &p->y, &t);
}

static void test_g1(void **state) {
  (void)state;
  for (int i = 0; i < 400; i++) {
    struct aff p, q, want, got;
    some_point(&p, i < 8 ? 0 : test_rand());
    some_point(&q, test_rand());
    switch (i % 8) {
      case 0: q = p; break;
      case 1: q = p; cuzk_fp_neg(&q.y, &p.y); break;
      case 2: memset(&q, 0, sizeof q); break;
      case 3: memset(&p, 0, sizeof p); break;
      case 4: memset(&p, 0, sizeof p); memset(&q, 0, sizeof q); break;
      default: break;
    }
    aff_add(&want, &p, &q);
    twin_g1_pair_add(&got, &p, &q);
    assert_memory_equal(&got, &want, sizeof want);
    struct xyzz a, b, c;
    to_xyzz(&a, &p);
    to_xyzz(&b, &q);
    twin_g1_xyzz_add_affine(&c, &a, &q);
    from_xyzz(&got, &c);
    assert_memory_equal(&got, &want, sizeof want);
    twin_g1_xyzz_add(&c, &a, &b);
    from_xyzz(&got, &c);
    assert_memory_equal(&got, &want, sizeof want);
    const uint32_t k = (uint32_t)(test_rand() % 40);
    memset(&want, 0, sizeof want);
    for (uint32_t j = 0; j < k; j++) aff_add(&want, &want, &p);
    twin_g1_xyzz_mul_small(&c, &a, k);
    from_xyzz(&got, &c);
    assert_memory_equal(&got, &want, sizeof want);
  }
}

/* The host's last step: shifted points, some at the same bit, some absent. */
static void test_finish(void **state) {
  (void)state;
  for (int i = 0; i < 40; i++) {
    struct xyzz v[6];
    uint32_t at[6];
    cuzk_g1 want = cuzk_g1_identity;
    for (int j = 0; j < 6; j++) {
      struct aff p;
      cuzk_g1_affine a;
      cuzk_g1 t;
      some_point(&p, test_rand());
      if (test_rand() % 5 == 0) memset(&p, 0, sizeof p);
      at[j] = test_rand() % 4 == 0 ? 255 : (uint32_t)(test_rand() % 256);
      if (i == 0) at[j] = 0;
      to_xyzz(&v[j], &p);
      memcpy(&a, &p, sizeof a);
      cuzk_g1_from_affine(&t, &a);
      for (uint32_t k = 0; k < at[j]; k++) cuzk_g1_dbl(&t, &t);
      cuzk_g1_add(&want, &want, &t);
    }
    cuzk_g1_affine w, got;
    cuzk_g1_to_affine(&w, &want);
    cuzk_cuda_finish_g1(&got, v, at, 6);
    assert_memory_equal(&got, &w, sizeof w);
  }
}

/* Digits must add up to the scalar: sum of +-d 2^offset, evaluated in Fr. */
static void test_digits(void **state) {
  (void)state;
  for (uint32_t count = 11; count <= 40; count++)
    for (int i = 0; i < 200; i++) {
      cuzk_fr s, sum = cuzk_fr_zero;
      uint32_t digit[40], bits[40], offset[40], total = 0;
      sample_fr(&s);
      if (i == 0) s = cuzk_fr_zero;
      if (i == 1) s = cuzk_fr_one;
      if (i == 2) cuzk_fr_neg(&s, &cuzk_fr_one);
      assert_int_equal(twin_digits(digit, bits, offset, s.l, count), 0);
      for (uint32_t w = 0; w < count; w++) {
        assert_int_equal(offset[w], total);
        total += bits[w];
        const uint32_t mag = digit[w] & 0x7fffffffu;
        assert_true(mag <= 1u << (bits[w] - 1));
        uint64_t e[4] = {0};
        cuzk_fr t, two;
        e[0] = offset[w];
        cuzk_fr_from_u64(&two, 2);
        cuzk_fr_pow_var(&t, &two, e, 1);
        cuzk_fr_from_u64(&two, mag);
        cuzk_fr_mul(&t, &t, &two);
        if (digit[w] >> 31) cuzk_fr_neg(&t, &t);
        cuzk_fr_add(&sum, &sum, &t);
      }
      assert_int_equal(total, 255);
      assert_memory_equal(&sum, &s, sizeof s);
    }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields), cmocka_unit_test(test_loose_fr),
                                     cmocka_unit_test(test_loose_fp), cmocka_unit_test(test_g1),
                                     cmocka_unit_test(test_finish),     cmocka_unit_test(test_digits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
