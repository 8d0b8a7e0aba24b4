/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Points as parameter files hold them (formats specification 2.2), to affine ones; host twin as in field.cuh. */
#ifndef CUZK_BACKEND_CUDA_POINTS_CUH
#define CUZK_BACKEND_CUDA_POINTS_CUH
#include "backend/cuda/curve.cuh"

namespace cuzk_gpu {

CUZK_HD uint32_t swapped(uint32_t v) {
#if defined(__CUDA_ARCH__)
  return __byte_perm(v, 0, 0x0123);
#else
  return __builtin_bswap32(v);
#endif
}

/* 2^768 and 4 2^384 modulo p. */
CUZK_HD void set_fp_r2(Fp &r) {
  constexpr uint32_t v[12] = {0x1c341746u, 0xf4df1f34u, 0x09d104f1u, 0x0a76e6a6u, 0x4c95b6d5u, 0x8de5476cu,
                               0x939d83c0u, 0x67eb88a9u, 0xb519952du, 0x9a793e85u, 0x92cae3aau, 0x11988fe5u};
  CUZK_UNROLL
  for (int i = 0; i < 12; i++) r.l[i] = v[i];
}
CUZK_HD void set_fp_four(Fp &r) {
  constexpr uint32_t v[12] = {0x000cfff3u, 0xaa270000u, 0xfc34000au, 0x53cc0032u, 0x6b0a807fu, 0x478fe97au,
                               0xe6ba24d7u, 0xb1d37ebeu, 0xbf78ab2fu, 0x8ec9733bu, 0x3d83de7eu, 0x09d64551u};
  CUZK_UNROLL
  for (int i = 0; i < 12; i++) r.l[i] = v[i];
}

/** Twelve big-endian words to Montgomery form; false for a value not below p, which flag bits make it, too. */
CUZK_HD bool decode_coordinate(Fp &r, const uint32_t *w) {
  Fp a, r2;
  CUZK_UNROLL
  for (int i = 0; i < 12; i++) a.l[i] = swapped(w[11 - i]);
  uint32_t t = cc_sub_cc(a.l[0], FpParams::m(0));
  CUZK_UNROLL
  for (int i = 1; i < 12; i++) t = cc_subc_cc(a.l[i], FpParams::m(i));
  (void)t;
  const bool below = cc_subc(0, 0) != 0;
  if (!below) set_zero(a);
  set_fp_r2(r2);
  mul(r, r2, a);
  return below;
}
CUZK_HD bool decode_element(Fp &r, const uint32_t *w) { return decode_coordinate(r, w); }
CUZK_HD bool decode_element(Fp2 &r, const uint32_t *w) { /* the coefficient of u first */
  const bool one = decode_coordinate(r.c1, w), zero = decode_coordinate(r.c0, w + 12);
  return one && zero;
}
CUZK_HD void set_curve_b(Fp &r) { set_fp_four(r); }
CUZK_HD void set_curve_b(Fp2 &r) {
  set_fp_four(r.c0);
  set_fp_four(r.c1);
}
/* x = 0 is a point of order three in G1, and no point at all on the twist. */
CUZK_HD bool refused_x(const Fp &x) { return is_zero(x); }
CUZK_HD bool refused_x(const Fp2 &) { return false; }

/** Canonical, on the curve, not the identity, not refused. w: 24 or 48 words. */
template <class F>
CUZK_HD bool decode_point(Affine<F> &r, const uint32_t *w) {
  const bool x = decode_element(r.x, w), y = decode_element(r.y, w + sizeof(F) / 4);
  F s, t, b;
  sqr_far(s, r.x);
  mul_far(t, s, r.x);
  set_curve_b(b);
  add(t, t, b);
  sqr_far(s, r.y);
  return x && y && eq(s, t) && !refused_x(r.x);
}

}  // namespace cuzk_gpu
#endif
