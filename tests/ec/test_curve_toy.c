/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The curve template over F_61, y^2 = x^3 + 4: 75 points, two of order 3 at x = 0 as on the real curve. Every pair of points in several
 * coordinates, every scalar, against the chord-and-tangent rule on integers. */
#include "base/alloc.h"
#include "cuzk/status.h"
#include "ff/fr.h"
#include "testing.h"

#define P 61
#define B 4
#define ORDER 75
static const uint64_t modulus[1] = {P};
#define MONT_N 1
#define MONT_FN(x) mont_##x
#define MONT_MODULUS modulus
#define MONT_INV 0xb04325c53ef368ebu
#include "ff/mont_tmpl.h"

typedef struct {
  uint64_t l;
} fe;

static const fe toy_zero = {0}, toy_one = {16 /* 2^64 mod 61 */};
static void toy_add(fe *r, const fe *a, const fe *b) { mont_add(&r->l, &a->l, &b->l); }
static void toy_sub(fe *r, const fe *a, const fe *b) { mont_sub(&r->l, &a->l, &b->l); }
static void toy_neg(fe *r, const fe *a) { mont_sub(&r->l, &toy_zero.l, &a->l); }
static void toy_dbl(fe *r, const fe *a) { mont_add(&r->l, &a->l, &a->l); }
static void toy_mul(fe *r, const fe *a, const fe *b) { mont_mul(&r->l, &a->l, &b->l); }
static void toy_sqr(fe *r, const fe *a) { mont_mul(&r->l, &a->l, &a->l); }
static bool toy_is_zero(const fe *a) { return a->l == 0; }
static bool toy_eq(const fe *a, const fe *b) { return a->l == b->l; }
static fe from_int(unsigned v) { return (fe){v * toy_one.l % P}; }
static unsigned to_int(const fe *a) {
  const uint64_t one = 1;
  uint64_t r;
  mont_mul(&r, &a->l, &one);
  return (unsigned)r;
}
static unsigned inv_int(unsigned a) {
  for (unsigned b = 1; b < P; b++)
    if (a * b % P == 1) return b;
  return 0;
}
static void toy_inv_var(fe *r, const fe *a) { *r = from_int(inv_int(to_int(a))); }

typedef struct {
  fe x, y;
} toy_affine;
typedef struct {
  fe x, y, z;
} toy_point;
static bool toy_affine_is_identity(const toy_affine *p) { return p->x.l == 0 && p->y.l == 0; }
static const fe curve_b = {B * 16 % P};
static void mul_3b(fe *r, const fe *a) { *r = (fe){a->l * 3 * B % P}; }

#define EC_API static
#define EC_FE fe
#define EC_F(op) toy_##op
#define EC_AFFINE toy_affine
#define EC_POINT toy_point
#define EC_FN(name) ec_##name
static bool ec_affine_is_identity(const toy_affine *p) { return toy_affine_is_identity(p); }
#define EC_B (&curve_b)
#define EC_MUL_3B(r, a) mul_3b(r, a)
#include "ec/curve_tmpl.h"

/* The reference: integers; the identity is inf. */
struct point {
  bool inf;
  unsigned x, y;
};
static struct point all[ORDER];
static unsigned n_all;

static struct point ref_add(struct point a, struct point b) {
  unsigned l;
  if (a.inf) return b;
  if (b.inf) return a;
  if (a.x == b.x) {
    if ((a.y + b.y) % P == 0) return (struct point){true, 0, 0};
    l = 3 * a.x * a.x % P * inv_int(2 * a.y % P) % P;
  } else {
    l = (b.y + P - a.y) % P * inv_int((b.x + P - a.x) % P) % P;
  }
  struct point r = {false, (l * l + 2 * P - a.x - b.x) % P, 0};
  r.y = (l * ((a.x + P - r.x) % P) + P - a.y) % P;
  return r;
}

static bool same(struct point a, struct point b) { return a.inf == b.inf && (a.inf || (a.x == b.x && a.y == b.y)); }

static toy_affine affine(struct point p) {
  if (p.inf) return (toy_affine){toy_zero, toy_zero};
  return (toy_affine){from_int(p.x), from_int(p.y)};
}

/* Jacobian coordinates with Z = z; the identity with some X and Y. */
static toy_point jacobian(struct point p, unsigned z) {
  toy_point r;
  if (p.inf) return (toy_point){from_int(z), from_int(z * z), toy_zero};
  r.x = from_int(p.x * z % P * z % P);
  r.y = from_int(p.y * z % P * z % P * z % P);
  r.z = from_int(z);
  return r;
}

static struct point back(const toy_point *p) {
  toy_affine a;
  ec_to_affine(&a, p);
  if (toy_affine_is_identity(&a)) return (struct point){true, 0, 0};
  return (struct point){false, to_int(&a.x), to_int(&a.y)};
}

static int list_points(void **state) {
  (void)state;
  n_all = 0;
  all[n_all++] = (struct point){true, 0, 0};
  for (unsigned x = 0; x < P; x++)
    for (unsigned y = 0; y < P; y++)
      if (y * y % P == (x * x % P * x + B) % P) {
        if (n_all == ORDER) return 1;
        all[n_all++] = (struct point){false, x, y};
      }
  return n_all == ORDER ? 0 : 1;
}

static void every_pair_adds_as_on_integers(void **state) {
  (void)state;
  static const unsigned zs[] = {1, 2, 17, 60};
  for (unsigned i = 0; i < ORDER; i++) {
    for (unsigned j = 0; j < ORDER; j++) {
      const struct point want = ref_add(all[i], all[j]);
      const toy_affine qa = affine(all[j]);
      for (unsigned s = 0; s < 4; s++) {
        toy_point p = jacobian(all[i], zs[s]), r;
        ec_add_affine(&r, &p, &qa);
        assert_true(same(back(&r), want));
        r = p;
        ec_add_affine(&r, &r, &qa);
        assert_true(same(back(&r), want));
        for (unsigned t = 0; t < 4; t++) {
          const toy_point q = jacobian(all[j], zs[t]);
          ec_add(&r, &p, &q);
          assert_true(same(back(&r), want));
          r = p;
          ec_add(&r, &r, &q);
          assert_true(same(back(&r), want));
          r = q;
          ec_add(&r, &p, &r);
          assert_true(same(back(&r), want));
          assert_int_equal(ec_eq(&p, &q), i == j);
          /* the complete formulas, homogeneous: (XZ : Y : Z^3) */
          toy_point ph = p, qh = q;
          toy_mul(&ph.x, &p.x, &p.z);
          toy_sqr(&ph.z, &p.z), toy_mul(&ph.z, &ph.z, &p.z);
          toy_mul(&qh.x, &q.x, &q.z);
          toy_sqr(&qh.z, &q.z), toy_mul(&qh.z, &qh.z, &q.z);
          ec_complete_add(&r, &ph, &qh);
          assert_int_equal(toy_is_zero(&r.z), want.inf);
          if (!want.inf) {
            const unsigned zi = inv_int(to_int(&r.z));
            assert_int_equal(to_int(&r.x) * zi % P, want.x);
            assert_int_equal(to_int(&r.y) * zi % P, want.y);
          }
        }
      }
    }
  }
}

static void every_point_doubles_negates_and_converts(void **state) {
  (void)state;
  toy_point many[ORDER];
  toy_affine out[ORDER];
  for (unsigned i = 0; i < ORDER; i++) {
    for (unsigned z = 1; z < P; z++) {
      toy_point p = jacobian(all[i], z), r;
      ec_dbl(&r, &p);
      assert_true(same(back(&r), ref_add(all[i], all[i])));
      r = p;
      ec_dbl(&r, &r);
      assert_true(same(back(&r), ref_add(all[i], all[i])));
      ec_neg(&r, &p);
      assert_true(ref_add(back(&r), all[i]).inf);
      assert_true(same(back(&p), all[i]));
    }
    toy_affine a = affine(all[i]), b;
    toy_point p;
    assert_true(ec_affine_on_curve(&a));
    ec_affine_neg(&b, &a);
    ec_from_affine(&p, &b);
    assert_true(ref_add(back(&p), all[i]).inf);
    assert_true(ec_affine_eq(&a, &a));
    assert_int_equal(ec_affine_eq(&a, &b), all[i].inf);
    many[i] = jacobian(all[i], 1 + i % 60);
  }
  for (size_t n = 0; n <= ORDER; n += 25) {
    assert_int_equal(ec_to_affine_batch(out, many, n), CUZK_OK);
    for (size_t i = 0; i < n; i++) {
      const toy_affine a = affine(all[i]);
      assert_true(ec_affine_eq(&out[i], &a));
    }
  }
  /* every pair that is no point */
  for (unsigned x = 0; x < P; x++)
    for (unsigned y = 0; y < P; y++) {
      const toy_affine a = {from_int(x), from_int(y)};
      const bool on = (x == 0 && y == 0) || y * y % P == (x * x % P * x + B) % P;
      assert_int_equal(ec_affine_on_curve(&a), on);
    }
}

static void every_scalar_multiplies(void **state) {
  (void)state;
  for (unsigned i = 0; i < ORDER; i++) {
    struct point want = {true, 0, 0};
    const toy_point p = jacobian(all[i], 1 + i % 60);
    for (uint64_t k = 0; k < 2 * ORDER + 1; k++) {
      toy_point r;
      cuzk_fr s;
      const uint64_t limbs[2] = {k, 0};
      ec_mul_limbs_var(&r, &p, limbs, 2);
      assert_true(same(back(&r), want));
      if (k < ORDER + 1 || i % 10 == 0) {
        cuzk_fr_from_u64(&s, k);
        ec_mul_ct(&r, &p, &s);
        assert_true(same(back(&r), want));
        r = p;
        ec_mul_var(&r, &r, &s);
        assert_true(same(back(&r), want));
      }
      want = ref_add(want, all[i]);
    }
  }
}

/* Scalars of full length: the point at index 1 times k mod 75, k taken modulo 75 limb by limb. */
static void long_scalars_multiply(void **state) {
  (void)state;
  for (int round = 0; round < 300; round++) {
    const struct point base = all[1 + test_rand() % (ORDER - 1)];
    const toy_point p = jacobian(base, 3);
    cuzk_fr s;
    uint64_t e[4];
    toy_point r;
    for (int i = 0; i < 4; i++) e[i] = test_rand_limb();
    e[3] &= UINT64_C(0x3fffffffffffffff);
    if (round == 0) cuzk_fr_neg(&s, &cuzk_fr_one), cuzk_fr_to_canon(e, &s);
    assert_true(cuzk_fr_from_canon(&s, e));
    unsigned k = 0;
    for (int i = 3; i >= 0; i--) k = (unsigned)(((cuzk_u128)k << 64 | e[i]) % ORDER);
    struct point want = {true, 0, 0};
    for (unsigned i = 0; i < k; i++) want = ref_add(want, base);
    ec_mul_var(&r, &p, &s);
    assert_true(same(back(&r), want));
    ec_mul_ct(&r, &p, &s);
    assert_true(same(back(&r), want));
    r = p;
    ec_mul_ct(&r, &r, &s);
    assert_true(same(back(&r), want));
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_adds_as_on_integers),
      cmocka_unit_test(every_point_doubles_negates_and_converts),
      cmocka_unit_test(every_scalar_multiplies),
      cmocka_unit_test(long_scalars_multiply),
  };
  return cmocka_run_group_tests_name("curve toy", tests, list_points, NULL);
}
