/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Checks one form of vectorised Fr lane by lane against cuzk_fr; include that form first. Defines FRV_CHECK_NAME, which runs the
 *  trials and returns NULL, or the name of the function that was wrong. */
#include "testing.h"

#ifdef FV_LIMBS
/* An integer of up to 320 bits, and lanes of a vector as such. */
struct wide {
  uint64_t w[5];
};

static void wide_add(struct wide *r, uint64_t x, unsigned shift) {
  uint64_t part[2] = {x << (shift % 64), shift % 64 ? x >> (64 - shift % 64) : 0};
  uint64_t carry = 0;
  for (unsigned i = shift / 64, k = 0; i < 5; i++, k++) {
    const uint64_t add = k < 2 ? part[k] : 0;
    const uint64_t s = r->w[i] + add, t = s + carry;
    carry = (s < add) | (t < s);
    r->w[i] = t;
  }
}

static void lane_get(struct wide *r, const fv *a, unsigned lane) {
  uint64_t l[FV_LIMBS][FV_LANES];
  memcpy(l, a, sizeof l);
  *r = (struct wide){{0}};
  for (unsigned k = 0; k < FV_LIMBS; k++) wide_add(r, l[k][lane], FV_BITS * k);
}

static void lane_set(fv *a, unsigned lane, const struct wide *v) {
  uint64_t l[FV_LIMBS][FV_LANES];
  memcpy(l, a, sizeof l);
  for (unsigned k = 0; k < FV_LIMBS; k++) {
    const unsigned bit = FV_BITS * k, i = bit / 64, s = bit % 64;
    uint64_t x = v->w[i] >> s;
    if (s && i < 4) x |= v->w[i + 1] << (64 - s);
    l[k][lane] = k + 1 < FV_LIMBS ? x & ((UINT64_C(1) << FV_BITS) - 1) : x;
  }
  memcpy(a, l, sizeof l);
}

/* The same value with limbs pushed out of range in both directions. */
static void loosen(fv *a) {
  uint64_t l[FV_LIMBS][FV_LANES];
  memcpy(l, a, sizeof l);
  for (unsigned lane = 0; lane < FV_LANES; lane++) {
    for (unsigned k = 0; k + 1 < FV_LIMBS; k++) {
      const int64_t c = (int64_t)(test_rand() % 61) - 30;
      l[k][lane] += (uint64_t)c << FV_BITS;
      l[k + 1][lane] -= (uint64_t)c;
    }
  }
  memcpy(a, l, sizeof l);
}

static bool lane_is_normal(const fv *a, unsigned lane) {
  uint64_t l[FV_LIMBS][FV_LANES];
  memcpy(l, a, sizeof l);
  for (unsigned k = 0; k < FV_LIMBS; k++)
    if (l[k][lane] >> FV_BITS) return false;
  return true;
}

/* Takes r off until what is left is below it; how many times, or 1000 if that is more than 40. */
static unsigned lane_residue(cuzk_fr *r, const fv *a, unsigned lane) {
  struct wide v;
  lane_get(&v, a, lane);
  for (unsigned n = 0; n <= 40; n++) {
    if (v.w[4] == 0) {
      int i = 3;
      while (i > 0 && v.w[i] == cuzk_fr_modulus[i]) i--;
      if (v.w[i] < cuzk_fr_modulus[i]) {
        memcpy(r->l, v.w, 32);
        return n;
      }
    }
    uint64_t borrow = 0;
    for (int i = 0; i < 5; i++) {
      const uint64_t m = i < 4 ? cuzk_fr_modulus[i] : 0, t = v.w[i] - m, u = t - borrow;
      borrow = (v.w[i] < m) | (t < borrow);
      v.w[i] = u;
    }
  }
  return 1000;
}
#else
static unsigned lane_residue(cuzk_fr *r, const fv *a, unsigned lane) {
  *r = a->e[lane];
  return 0;
}
static bool lane_is_normal(const fv *a, unsigned lane) {
  (void)a;
  (void)lane;
  return true;
}
static void loosen(fv *a) { (void)a; }
#endif

static void check_rand_fr(cuzk_fr *r) {
  const unsigned kind = (unsigned)(test_rand() % 8);
  memcpy(r->l, cuzk_fr_modulus, 32);
  if (kind == 0) {
    *r = cuzk_fr_zero;
  } else if (kind == 1) {
    r->l[0] -= 1;
  } else {
    do
      for (int i = 0; i < 4; i++) r->l[i] = test_rand_limb() >> (i == 3);
    while (r->l[3] >= cuzk_fr_modulus[3]);
  }
}

/* Random residues, each with a random multiple of r below n on top; lane order as in the vector itself. */
static void check_rand_fv(fv *a, cuzk_fr x[FV_LANES], unsigned n) {
  memset(a, 0, sizeof *a);
  for (unsigned lane = 0; lane < FV_LANES; lane++) {
    check_rand_fr(&x[lane]);
#ifdef FV_LIMBS
    struct wide v = {{0}};
    memcpy(v.w, x[lane].l, 32);
    const unsigned m = (unsigned)(test_rand() % 4 ? test_rand() % n : n - 1);
    for (unsigned k = 0; k < m; k++)
      for (unsigned i = 0; i < 4; i++) wide_add(&v, cuzk_fr_modulus[i], 64 * i);
    lane_set(a, lane, &v);
#else
    (void)n;
    a->e[lane] = x[lane];
#endif
  }
}

/* All lanes of a have residue want[lane], are below bound r and, if so asked, have normal limbs. */
static bool check_lanes(const fv *a, const cuzk_fr want[FV_LANES], unsigned bound, bool normal) {
  for (unsigned lane = 0; lane < FV_LANES; lane++) {
    cuzk_fr got;
    if (lane_residue(&got, a, lane) >= bound || !cuzk_fr_eq(&got, &want[lane])) return false;
    if (normal && !lane_is_normal(a, lane)) return false;
  }
  return true;
}

/* Below 1.001 r: one r too many is left only where the rest is tiny. */
static bool nearly_reduced(const fv *a) {
  for (unsigned lane = 0; lane < FV_LANES; lane++) {
    cuzk_fr x;
    if (lane_residue(&x, a, lane) != 0 && x.l[3] > cuzk_fr_modulus[3] / 1024) return false;
  }
  return true;
}

#define CHECK(what, cond) \
  if (!(cond)) return what

const char *FRV_CHECK_NAME(unsigned n_trials);
const char *FRV_CHECK_NAME(unsigned n_trials) {
  cuzk_fr untwist; /* 2^-FV_TWIST */
  cuzk_fr_from_u64(&untwist, UINT64_C(1) << FV_TWIST);
  cuzk_fr_inv_var(&untwist, &untwist);
  for (unsigned trial = 0; trial < n_trials; trial++) {
    fv a, b, r, t;
    cuzk_fr x[FV_LANES], y[FV_LANES], z[FV_LANES];

    /* Any value below 32 r times any below 1.001 r; here the second factor is reduced. */
    check_rand_fv(&a, x, 32);
    check_rand_fv(&b, y, 1);
    for (unsigned l = 0; l < FV_LANES; l++) {
      cuzk_fr_mul(&z[l], &x[l], &y[l]);
      cuzk_fr_mul(&z[l], &z[l], &untwist);
    }
    fv_mul(&r, &a, &b);
    fv_norm(&t, &r);
    CHECK("fv_mul", check_lanes(&t, z, 2, true));
    r = a;
    fv_mul(&r, &r, &b); /* in place */
    fv_norm(&t, &r);
    CHECK("fv_mul in place", check_lanes(&t, z, 2, true));

    r = a;
    loosen(&r);
    fv_norm(&t, &r);
    CHECK("fv_norm", check_lanes(&t, x, 32, true));
    fv_reduce(&t, &r);
    CHECK("fv_reduce", check_lanes(&t, x, 2, true) && nearly_reduced(&t));
    fv_reduce_once(&r, &t);
    CHECK("fv_reduce_once", check_lanes(&r, x, 1, true));
    check_rand_fv(&t, x, 2);
    fv_reduce_once(&r, &t);
    CHECK("fv_reduce_once below 2 r", check_lanes(&r, x, 1, true));

    /* Long chains of loose sums, as a vector that no product touches takes in a pass. */
    check_rand_fv(&a, x, 2);
    for (unsigned k = 0; k < 7; k++) {
      check_rand_fv(&b, y, 2);
      loosen(&b);
      fv_add(&a, &a, &b);
      for (unsigned l = 0; l < FV_LANES; l++) cuzk_fr_add(&x[l], &x[l], &y[l]);
    }
    fv_norm(&t, &a);
    CHECK("fv_add", check_lanes(&t, x, 16, true));
    static const struct {
      const char *what;
      unsigned n;
    } bounds[3] = {{"fv_sub_bound 2", 2}, {"fv_sub_bound 4", 4}, {"fv_sub_bound 8", 8}};
    const uint64_t *const limbs[3] = {fv_modulus_2, fv_modulus_4, fv_modulus_8};
    for (unsigned k = 0; k < 3; k++) {
      check_rand_fv(&a, x, 16);
      check_rand_fv(&b, y, bounds[k].n);
      loosen(&a);
      loosen(&b);
      fv_sub_bound(&r, &a, &b, limbs[k]);
      for (unsigned l = 0; l < FV_LANES; l++) cuzk_fr_sub(&z[l], &x[l], &y[l]);
      fv_norm(&t, &r);
      CHECK(bounds[k].what, check_lanes(&t, z, 16 + bounds[k].n, true));
      fv_reduce(&t, &r);
      CHECK("fv_reduce of a difference", check_lanes(&t, z, 2, true) && nearly_reduced(&t));
    }

    /* Memory: any 256-bit pattern comes back, in place and order, through every pair of load and store. */
    cuzk_fr in[2 * FV_LANES], out[2 * FV_LANES + 2];
    for (unsigned l = 0; l < 2 * FV_LANES; l++)
      for (int i = 0; i < 4; i++) in[l].l[i] = test_rand_limb();
    memset(out, 0x5a, sizeof out);
    fv_load_adjacent(&a, in + 1);
    fv_store_adjacent(out + 1, &a);
    CHECK("fv_store_adjacent", memcmp(out + 1, in + 1, FV_LANES * sizeof *in) == 0);
    CHECK("fv_store_adjacent guard", out[0].l[3] == 0x5a5a5a5a5a5a5a5a && out[FV_LANES + 1].l[0] == 0x5a5a5a5a5a5a5a5a);
    const cuzk_fr *row[FV_LANES];
    cuzk_fr *out_row[FV_LANES];
    for (unsigned l = 0; l < FV_LANES; l++) {
      row[l] = in + 2 * l;
      out_row[l] = out + 2 * l;
    }
    fv pair[2];
    fv_load_rows(pair, row, 0);
    fv_store_rows(out_row, 0, pair);
    CHECK("fv_store_rows", memcmp(out, in, sizeof in) == 0);
    for (unsigned e = 0; e < 2; e++) {
      fv_store_adjacent(out, &pair[e]);
      for (unsigned l = 0; l < FV_LANES; l++) CHECK("fv_load_rows order", cuzk_fr_eq(&out[l], &in[2 * l + e]));
    }

    fv_const c;
    check_rand_fr(&x[0]);
    fv_const_split(&c, x[0].l);
    fv_bcast(&a, &c);
    for (unsigned l = 1; l < FV_LANES; l++) x[l] = x[0];
    CHECK("fv_bcast", check_lanes(&a, x, 1, true));
  }
  return NULL;
}
