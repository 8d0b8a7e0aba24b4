/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Curve arithmetic of the device for y^2 = x^3 + b, as templates over the coordinate field F (Fp for G1, Fp2 for G2); host twin
 *  as in field.cuh.
 *
 *  Affine: (x, y), the identity is (0, 0); same bytes as cuzk_g1_affine and cuzk_g2_affine. Xyzz: x = X/ZZ, y = Y/ZZZ with
 *  ZZ^3 = ZZZ^2, the identity has ZZ = 0; coordinates canonical. All functions are complete: neither curve has points of
 *  order two, so a doubling never meets y = 0 outside the identity.
 *  Source: explicit-formulas database, short Weierstrass curves, XYZZ coordinates. */
#ifndef CUZK_BACKEND_CUDA_CURVE_CUH
#define CUZK_BACKEND_CUDA_CURVE_CUH
#include "backend/cuda/field.cuh"

namespace cuzk_gpu {

template <class F>
struct Affine {
  F x, y;
};
template <class F>
struct Xyzz {
  F x, y, zz, zzz;
};

template <class F>
CUZK_HD bool is_identity(const Affine<F> &p) {
  return is_zero(p.x) && is_zero(p.y);
}
template <class F>
CUZK_HD bool is_identity(const Xyzz<F> &p) {
  return is_zero(p.zz);
}
template <class F>
CUZK_HD void set_identity(Affine<F> &r) {
  set_zero(r.x);
  set_zero(r.y);
}
template <class F>
CUZK_HD void set_identity(Xyzz<F> &r) {
  set_zero(r.x);
  set_zero(r.y);
  set_zero(r.zz);
  set_zero(r.zzz);
}

/* XYZZ formulas are used where few threads run; for the large products of Fp2 they call instead of inlining. */
CUZK_HD void mul_far(Fp &r, const Fp &a, const Fp &b) { mul(r, a, b); }
CUZK_HD void sqr_far(Fp &r, const Fp &a) { sqr(r, a); }
CUZK_HD_CALL void mul_far(Fp2 &r, const Fp2 &a, const Fp2 &b) { mul(r, a, b); }
CUZK_HD void sqr_far(Fp2 &r, const Fp2 &a) { mul_far(r, a, a); }

template <class F>
CUZK_HD void dbl_point(Xyzz<F> &r, const Xyzz<F> &p) {
  F u, v, w, s, m, t;
  dbl(u, p.y);
  sqr_far(v, u);
  mul_far(w, u, v);
  mul_far(s, p.x, v);
  sqr_far(t, p.x);
  dbl(m, t);
  add(m, m, t);
  sqr_far(t, m);
  sub(t, t, s);
  mul_far(u, w, p.y);
  mul_far(r.zzz, w, p.zzz);
  mul_far(r.zz, v, p.zz);
  sub(t, t, s);
  sub(s, s, t);
  mul_far(m, m, s);
  r.x = t;
  sub(r.y, m, u);
}

template <class F>
CUZK_HD_CALL void add_point(Xyzz<F> &r, const Xyzz<F> &p, const Xyzz<F> &q) {
  if (is_identity(q)) {
    r = p;
    return;
  }
  if (is_identity(p)) {
    r = q;
    return;
  }
  F u1, s1, h, k;
  mul_far(u1, p.x, q.zz);
  mul_far(h, q.x, p.zz);
  mul_far(s1, p.y, q.zzz);
  mul_far(k, q.y, p.zzz);
  sub(h, h, u1);
  sub(k, k, s1);
  if (is_zero(h)) {
    if (is_zero(k))
      dbl_point(r, p);
    else
      set_identity(r);
    return;
  }
  F hh, hhh, v, t;
  sqr_far(hh, h);
  mul_far(hhh, h, hh);
  mul_far(v, u1, hh);
  mul_far(t, p.zz, q.zz);
  mul_far(r.zz, t, hh);
  mul_far(t, p.zzz, q.zzz);
  mul_far(r.zzz, t, hhh);
  sqr_far(t, k);
  sub(t, t, hhh);
  sub(t, t, v);
  sub(t, t, v);
  mul_far(s1, s1, hhh);
  sub(v, v, t);
  mul_far(k, k, v);
  r.x = t;
  sub(r.y, k, s1);
}

template <class F>
CUZK_HD_CALL void add_affine(Xyzz<F> &r, const Xyzz<F> &p, const Affine<F> &q) {
  if (is_identity(q)) {
    r = p;
    return;
  }
  if (is_identity(p)) {
    r.x = q.x;
    r.y = q.y;
    set_one(r.zz);
    set_one(r.zzz);
    return;
  }
  F h, k;
  mul_far(h, q.x, p.zz);
  mul_far(k, q.y, p.zzz);
  sub(h, h, p.x);
  sub(k, k, p.y);
  if (is_zero(h)) {
    if (is_zero(k))
      dbl_point(r, p);
    else
      set_identity(r);
    return;
  }
  F hh, hhh, v, t;
  sqr_far(hh, h);
  mul_far(hhh, h, hh);
  mul_far(v, p.x, hh);
  mul_far(r.zz, p.zz, hh);
  mul_far(r.zzz, p.zzz, hhh);
  sqr_far(t, k);
  sub(t, t, hhh);
  sub(t, t, v);
  sub(t, t, v);
  mul_far(hhh, p.y, hhh);
  sub(v, v, t);
  mul_far(k, k, v);
  r.x = t;
  sub(r.y, k, hhh);
}

/* How a pair of affine points is added when many pairs share one inversion. */
enum PairKind : uint32_t {
  PAIR_ADD = 0,    /* x2 != x1 */
  PAIR_DOUBLE = 1, /* equal points */
  PAIR_FIRST = 2,  /* the second is the identity */
  PAIR_SECOND = 3, /* the first is the identity */
  PAIR_CANCEL = 4  /* opposite points */
};

/** What the pair's inverse is needed of, never zero: x2 - x1, 2 y for a doubling, one where nothing is inverted. */
template <class F>
CUZK_HD PairKind pair_denominator(F &d, const Affine<F> &p, const Affine<F> &q) {
  sub(d, q.x, p.x);
  const bool same = is_zero(d);
  if (!same && !is_zero(p.x) && !is_zero(q.x)) return PAIR_ADD;
  PairKind kind = PAIR_ADD;
  if (is_identity(q))
    kind = PAIR_FIRST;
  else if (is_identity(p))
    kind = PAIR_SECOND;
  else if (same)
    kind = eq(p.y, q.y) ? PAIR_DOUBLE : PAIR_CANCEL;
  if (kind == PAIR_DOUBLE)
    dbl(d, p.y);
  else if (kind != PAIR_ADD)
    set_one(d);
  return kind;
}

/** r = p + q for x1 != x2, neither the identity, given inv = 1/(x2 - x1) (loose) and num = y2 - y1. */
template <class F>
CUZK_HD void pair_finish_add(Affine<F> &r, const Affine<F> &p, const F &qx, const F &num, const F &inv) {
  F lambda, t, u;
  mul_loose(lambda, num, inv);
  sqr(t, lambda);
  sub(t, t, p.x);
  sub(r.x, t, qx);
  sub(t, p.x, r.x);
  mul(u, lambda, t);
  sub(r.y, u, p.y);
}

/** r = p + q given inv = 1/denominator (loose). */
template <class F>
CUZK_HD void pair_finish(Affine<F> &r, const Affine<F> &p, const Affine<F> &q, const F &inv, PairKind kind) {
  switch (kind) {
    case PAIR_ADD: {
      F num;
      sub(num, q.y, p.y);
      pair_finish_add(r, p, q.x, num, inv);
      break;
    }
    case PAIR_DOUBLE: {
      F num, lambda, t, x3;
      sqr(t, p.x);
      dbl(num, t);
      add(num, num, t);
      mul_loose(lambda, num, inv);
      sqr(t, lambda);
      sub(t, t, p.x);
      sub(x3, t, p.x);
      sub(t, p.x, x3);
      mul(num, lambda, t);
      sub(r.y, num, p.y);
      r.x = x3;
      break;
    }
    case PAIR_FIRST: r = p; break;
    case PAIR_SECOND: r = q; break;
    default: set_identity(r);
  }
}

/** r = k p for a small k. */
template <class F>
CUZK_HD_CALL void mul_small(Xyzz<F> &r, const Xyzz<F> &p, uint32_t k) {
  Xyzz<F> acc;
  set_identity(acc);
  for (int i = 31; i >= 0; i--) {
    if (!is_identity(acc)) {
      Xyzz<F> t = acc;
      dbl_point(acc, t);
    }
    if ((k >> i) & 1) {
      Xyzz<F> t = acc;
      add_point(acc, t, p);
    }
  }
  r = acc;
}

/* --- signed digits ---------------------------------------------------------------------------------------------------- */

/** Windows of a scalar of 255 bits: the first `wide` windows have `bits` bits, the others one less; bits * wide +
 *  (bits - 1) * (count - wide) = 255. */
struct Windows {
  uint32_t count, bits, wide;
};
CUZK_HD uint32_t window_bits(const Windows &w, uint32_t i) { return i < w.wide ? w.bits : w.bits - 1; }
CUZK_HD uint32_t window_offset(const Windows &w, uint32_t i) {
  return i < w.wide ? i * w.bits : w.wide * w.bits + (i - w.wide) * (w.bits - 1);
}

/** Plain scalar s below r to |s| <= (r-1)/2 and a sign: s = +-|s| modulo r. */
CUZK_HD bool signed_scalar(Fr &a) {
  Fr n;
  n.l[0] = cc_sub_cc(FrParams::m(0), a.l[0]);
  CUZK_UNROLL
  for (int i = 1; i < 7; i++) n.l[i] = cc_subc_cc(FrParams::m(i), a.l[i]);
  n.l[7] = cc_subc(FrParams::m(7), a.l[7]);
  /* negate if r - s < s */
  uint32_t t = cc_sub_cc(n.l[0], a.l[0]);
  CUZK_UNROLL
  for (int i = 1; i < 8; i++) t = cc_subc_cc(n.l[i], a.l[i]);
  const uint32_t less = cc_subc(0, 0);
  (void)t;
  CUZK_UNROLL
  for (int i = 0; i < 8; i++) a.l[i] = less ? n.l[i] : a.l[i];
  return less != 0;
}

/* Bits [at, at + 32) of a, zero above. */
CUZK_HD uint32_t scalar_bits(const Fr &a, uint32_t at) {
  const uint32_t k = at / 32, s = at % 32;
  uint32_t lo = 0, hi = 0;
  CUZK_UNROLL
  for (uint32_t i = 0; i < 8; i++) {
    lo = i == k ? a.l[i] : lo;
    hi = i == k + 1 ? a.l[i] : hi;
  }
  return (uint32_t)((((uint64_t)hi << 32) | lo) >> s);
}

/** Splits 255 bits into `count` windows of nearly equal width. */
CUZK_HD Windows make_windows(uint32_t count) {
  Windows w;
  w.count = count;
  w.bits = (255 + count - 1) / count;
  w.wide = 255 - (w.bits - 1) * count;
  return w;
}

/** The digit of window i of |s| given the carry from window i-1, in (-2^(c-1), 2^(c-1)]: magnitude, sign in bit 31. neg flips
 *  the sign. The top window of a value below 2^254 never carries out. */
CUZK_HD uint32_t signed_digit(const Fr &a, const Windows &w, uint32_t i, bool neg_scalar, uint32_t &carry) {
  const uint32_t c = window_bits(w, i), half = 1u << (c - 1);
  uint32_t d = (scalar_bits(a, window_offset(w, i)) & (2 * half - 1)) + carry;
  carry = d > half;
  bool negative = neg_scalar;
  if (carry) {
    d = 2 * half - d;
    negative = !negative;
  }
  return d == 0 ? 0 : d | (negative ? 0x80000000u : 0u);
}

}  // namespace cuzk_gpu
#endif
