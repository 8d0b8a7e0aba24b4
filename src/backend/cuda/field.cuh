/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Prime-field arithmetic of the device, in 32-bit limbs, and its host twin.
 *
 *  Values are in Montgomery form with R = 2^384 (Fp) and 2^256 (Fr), least significant limb first: in memory they are the
 *  same bytes as cuzk_fp and cuzk_fr, so nothing is converted at the boundary. "Canonical" below means in [0, m), m being the
 *  modulus; "loose" means in [0, 2m).
 *
 *  The whole file is written over a dozen one-instruction primitives (cc_*). On the device each is one PTX instruction and
 *  the carry lives in the condition code; on the host each works on a variable that stands for it. A chain of primitives may
 *  therefore hold nothing between its first and last step that could touch the carry. ptxas joins the lo/hi pairs of a chain
 *  to 32x32+64-bit multiply-adds.
 *
 *  Product: operand scanning with two accumulators, one for the products that start at even limbs and one for those that
 *  start at odd limbs, so that neighbouring 64-bit products of one accumulator do not overlap and a row is one carry chain.
 *  Dropping the lowest limb after a row's reduction swaps the roles of the two. Source: Emmart, Luitjens, Weems, Woolley,
 *  "Optimizing modular multiplication for NVIDIA's Maxwell GPUs" (ARITH 2016). Inversion: Bernstein and Yang, "Fast
 *  constant-time gcd computation and modular inversion" (2019), 30 steps a batch. */
#ifndef CUZK_BACKEND_CUDA_FIELD_CUH
#define CUZK_BACKEND_CUDA_FIELD_CUH
#include <stdint.h>

#if defined(__CUDACC__)
#define CUZK_HD __host__ __device__ __forceinline__
#define CUZK_HD_CALL inline __host__ __device__ __noinline__
#define CUZK_UNROLL _Pragma("unroll")
#define CUZK_UNROLL_BY(n) CUZK_PRAGMA(unroll n)
#define CUZK_PRAGMA(x) _Pragma(#x)
#else
#define CUZK_HD inline
#define CUZK_HD_CALL inline
#define CUZK_UNROLL
#define CUZK_UNROLL_BY(n)
#endif

namespace cuzk_gpu {

#if !defined(__CUDA_ARCH__)
/* Stands for the carry (after cc_add*, cc_mad*) or borrow (after cc_sub*) flag. */
static thread_local uint32_t host_cc;
static inline uint32_t host_carry_add(uint32_t a, uint32_t b, uint32_t c, bool set) {
  const uint64_t s = (uint64_t)a + b + c;
  if (set) host_cc = (uint32_t)(s >> 32);
  return (uint32_t)s;
}
static inline uint32_t host_borrow_sub(uint32_t a, uint32_t b, uint32_t c, bool set) {
  const uint64_t s = (uint64_t)a - b - c;
  if (set) host_cc = (uint32_t)(s >> 63);
  return (uint32_t)s;
}
#define CUZK_CC_OP(name, asm_name, host_expr)                     \
  static inline uint32_t name(uint32_t a, uint32_t b) { return host_expr; }
#define CUZK_CC_MAD(name, asm_name, host_expr)                    \
  static inline uint32_t name(uint32_t a, uint32_t b, uint32_t c) { \
    const uint64_t p = (uint64_t)a * b;                           \
    return host_expr;                                             \
  }
#else
#define CUZK_CC_OP(name, asm_name, host_expr)                                          \
  static __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b) {            \
    uint32_t r;                                                                        \
    asm volatile(asm_name " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));                  \
    return r;                                                                          \
  }
#define CUZK_CC_MAD(name, asm_name, host_expr)                                         \
  static __device__ __forceinline__ uint32_t name(uint32_t a, uint32_t b, uint32_t c) { \
    uint32_t r;                                                                        \
    asm volatile(asm_name " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));      \
    return r;                                                                          \
  }
#endif
/* The suffix _cc sets the flag; the letter c after the operation uses it. */
CUZK_CC_OP(cc_add_cc, "add.cc.u32", host_carry_add(a, b, 0, true))
CUZK_CC_OP(cc_addc_cc, "addc.cc.u32", host_carry_add(a, b, host_cc, true))
CUZK_CC_OP(cc_addc, "addc.u32", host_carry_add(a, b, host_cc, false))
CUZK_CC_OP(cc_sub_cc, "sub.cc.u32", host_borrow_sub(a, b, 0, true))
CUZK_CC_OP(cc_subc_cc, "subc.cc.u32", host_borrow_sub(a, b, host_cc, true))
CUZK_CC_OP(cc_subc, "subc.u32", host_borrow_sub(a, b, host_cc, false))
CUZK_CC_MAD(cc_mad_lo_cc, "mad.lo.cc.u32", host_carry_add((uint32_t)p, c, 0, true))
CUZK_CC_MAD(cc_madc_lo_cc, "madc.lo.cc.u32", host_carry_add((uint32_t)p, c, host_cc, true))
CUZK_CC_MAD(cc_madc_hi_cc, "madc.hi.cc.u32", host_carry_add((uint32_t)(p >> 32), c, host_cc, true))
CUZK_CC_MAD(cc_madc_hi, "madc.hi.u32", host_carry_add((uint32_t)(p >> 32), c, host_cc, false))
#undef CUZK_CC_OP
#undef CUZK_CC_MAD

/* Field parameters. m: modulus; m2: twice it; inv: -1/m mod 2^32; one: R mod m; shape: how a reduction row is made, 0 for any
 * modulus, 1 where m is 1 mod 2^32 (one product less), 2 where the second limb is all ones too (two products less, but more
 * additions). */
struct FpParams {
  static constexpr int N = 12;
  static constexpr int shape = 0;
  static constexpr uint32_t inv = 0xfffcfffdu;
  CUZK_HD static constexpr uint32_t m(int i) {
    constexpr uint32_t v[12] = {0xffffaaabu, 0xb9feffffu, 0xb153ffffu, 0x1eabfffeu, 0xf6b0f624u, 0x6730d2a0u,
                                0xf38512bfu, 0x64774b84u, 0x434bacd7u, 0x4b1ba7b6u, 0x397fe69au, 0x1a0111eau};
    return v[i];
  }
  CUZK_HD static constexpr uint32_t m2(int i) {
    constexpr uint32_t v[12] = {0xffff5556u, 0x73fdffffu, 0x62a7ffffu, 0x3d57fffdu, 0xed61ec48u, 0xce61a541u,
                                0xe70a257eu, 0xc8ee9709u, 0x869759aeu, 0x96374f6cu, 0x72ffcd34u, 0x340223d4u};
    return v[i];
  }
  CUZK_HD static constexpr uint32_t one(int i) {
    constexpr uint32_t v[12] = {0x0002fffdu, 0x76090000u, 0xc40c0002u, 0xebf4000bu, 0x53c758bau, 0x5f489857u,
                                0x70525745u, 0x77ce5853u, 0xa256ec6du, 0x5c071a97u, 0xfa80e493u, 0x15f65ec3u};
    return v[i];
  }
};

struct FrParams {
  static constexpr int N = 8;
  static constexpr int shape = 2;
  static constexpr uint32_t inv = 0xffffffffu;
  CUZK_HD static constexpr uint32_t m(int i) {
    constexpr uint32_t v[8] = {0x00000001u, 0xffffffffu, 0xfffe5bfeu, 0x53bda402u,
                               0x09a1d805u, 0x3339d808u, 0x299d7d48u, 0x73eda753u};
    return v[i];
  }
  CUZK_HD static constexpr uint32_t m2(int i) {
    constexpr uint32_t v[8] = {0x00000002u, 0xfffffffeu, 0xfffcb7fdu, 0xa77b4805u,
                               0x1343b00au, 0x6673b010u, 0x533afa90u, 0xe7db4ea6u};
    return v[i];
  }
  CUZK_HD static constexpr uint32_t one(int i) {
    constexpr uint32_t v[8] = {0xfffffffeu, 0x00000001u, 0x00034802u, 0x5884b7fau,
                               0xecbc4ff5u, 0x998c4fefu, 0xacc5056fu, 0x1824b159u};
    return v[i];
  }
};

template <class P>
struct alignas(16) Mont {
  static constexpr int N = P::N;
  typedef P Params;
  uint32_t l[P::N];
};
typedef Mont<FpParams> Fp;
typedef Mont<FrParams> Fr;

template <class P>
CUZK_HD void set_zero(Mont<P> &r) {
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) r.l[i] = 0;
}
template <class P>
CUZK_HD void set_one(Mont<P> &r) {
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) r.l[i] = P::one(i);
}
template <class P>
CUZK_HD bool is_zero(const Mont<P> &a) {
  uint32_t t = 0;
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) t |= a.l[i];
  return t == 0;
}
template <class P>
CUZK_HD bool eq(const Mont<P> &a, const Mont<P> &b) {
  uint32_t t = 0;
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) t |= a.l[i] ^ b.l[i];
  return t == 0;
}

/* r = a - k if a >= k, else a; k = m or 2m. */
template <class P, bool TWICE>
CUZK_HD void cond_sub(Mont<P> &r, const Mont<P> &a) {
  uint32_t t[P::N];
  t[0] = cc_sub_cc(a.l[0], TWICE ? P::m2(0) : P::m(0));
  CUZK_UNROLL
  for (int i = 1; i < P::N; i++) t[i] = cc_subc_cc(a.l[i], TWICE ? P::m2(i) : P::m(i));
  const uint32_t borrow = cc_subc(0, 0);
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) r.l[i] = borrow ? a.l[i] : t[i];
}

/* Loose to canonical. */
template <class P>
CUZK_HD void reduce(Mont<P> &r, const Mont<P> &a) {
  cond_sub<P, false>(r, a);
}

/* Canonical operands, canonical result. Twice either modulus fits the limbs. */
template <class P>
CUZK_HD void add(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  Mont<P> s;
  s.l[0] = cc_add_cc(a.l[0], b.l[0]);
  CUZK_UNROLL
  for (int i = 1; i < P::N - 1; i++) s.l[i] = cc_addc_cc(a.l[i], b.l[i]);
  s.l[P::N - 1] = cc_addc(a.l[P::N - 1], b.l[P::N - 1]);
  cond_sub<P, false>(r, s);
}

/* r = t + k if mask is all ones, t if it is zero; k = m or 2m. */
template <class P, bool TWICE>
CUZK_HD void add_masked(Mont<P> &r, const uint32_t *t, uint32_t mask) {
#if defined(__CUDA_ARCH__)
#define CUZK_K(i) "n"(TWICE ? P::m2(i) : P::m(i))
  /* Predicated additions: half the instructions of masking the constant first. */
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) r.l[i] = t[i];
  if (P::N == 8) {
    asm volatile(
        "{\n\t.reg .pred q;\n\tsetp.ne.u32 q, %8, 0;\n\t"
        "@q add.cc.u32 %0, %0, %9;\n\t@q addc.cc.u32 %1, %1, %10;\n\t@q addc.cc.u32 %2, %2, %11;\n\t"
        "@q addc.cc.u32 %3, %3, %12;\n\t@q addc.cc.u32 %4, %4, %13;\n\t@q addc.cc.u32 %5, %5, %14;\n\t"
        "@q addc.cc.u32 %6, %6, %15;\n\t@q addc.u32 %7, %7, %16;\n\t}"
        : "+r"(r.l[0]), "+r"(r.l[1]), "+r"(r.l[2]), "+r"(r.l[3]), "+r"(r.l[4]), "+r"(r.l[5]), "+r"(r.l[6]), "+r"(r.l[7])
        : "r"(mask), CUZK_K(0), CUZK_K(1), CUZK_K(2), CUZK_K(3), CUZK_K(4), CUZK_K(5), CUZK_K(6), CUZK_K(7));
  } else {
    constexpr int N = P::N, T = N - 4;
    asm volatile(
        "{\n\t.reg .pred q;\n\tsetp.ne.u32 q, %12, 0;\n\t"
        "@q add.cc.u32 %0, %0, %13;\n\t@q addc.cc.u32 %1, %1, %14;\n\t@q addc.cc.u32 %2, %2, %15;\n\t"
        "@q addc.cc.u32 %3, %3, %16;\n\t@q addc.cc.u32 %4, %4, %17;\n\t@q addc.cc.u32 %5, %5, %18;\n\t"
        "@q addc.cc.u32 %6, %6, %19;\n\t@q addc.cc.u32 %7, %7, %20;\n\t@q addc.cc.u32 %8, %8, %21;\n\t"
        "@q addc.cc.u32 %9, %9, %22;\n\t@q addc.cc.u32 %10, %10, %23;\n\t@q addc.u32 %11, %11, %24;\n\t}"
        : "+r"(r.l[0]), "+r"(r.l[1]), "+r"(r.l[2]), "+r"(r.l[3]), "+r"(r.l[4]), "+r"(r.l[5]), "+r"(r.l[6]), "+r"(r.l[7]),
          "+r"(r.l[T]), "+r"(r.l[T + 1]), "+r"(r.l[T + 2]), "+r"(r.l[T + 3])
        : "r"(mask), CUZK_K(0), CUZK_K(1), CUZK_K(2), CUZK_K(3), CUZK_K(4), CUZK_K(5), CUZK_K(6), CUZK_K(7), CUZK_K(T),
          CUZK_K(T + 1), CUZK_K(T + 2), CUZK_K(T + 3));
  }
#undef CUZK_K
#else
  r.l[0] = cc_add_cc(t[0], mask & (TWICE ? P::m2(0) : P::m(0)));
  for (int i = 1; i < P::N; i++) r.l[i] = cc_addc_cc(t[i], mask & (TWICE ? P::m2(i) : P::m(i)));
#endif
}

/* r = a - b, plus k if that is negative; k = m (canonical operands and result) or 2m (loose ones). */
template <class P, bool TWICE>
CUZK_HD void sub_mod(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  uint32_t t[P::N];
  t[0] = cc_sub_cc(a.l[0], b.l[0]);
  CUZK_UNROLL
  for (int i = 1; i < P::N; i++) t[i] = cc_subc_cc(a.l[i], b.l[i]);
  add_masked<P, TWICE>(r, t, cc_subc(0, 0));
}
template <class P>
CUZK_HD void sub(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  sub_mod<P, false>(r, a, b);
}
/* Loose operands, loose result. */
template <class P>
CUZK_HD void sub_loose(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  sub_mod<P, true>(r, a, b);
}
/* Loose operands, loose result. The sum of two may exceed 2^256 in Fr. */
template <class P>
CUZK_HD void add_loose(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  uint32_t s[P::N], t[P::N];
  s[0] = cc_add_cc(a.l[0], b.l[0]);
  CUZK_UNROLL
  for (int i = 1; i < P::N; i++) s[i] = cc_addc_cc(a.l[i], b.l[i]);
  const uint32_t carry = cc_addc(0, 0);
  t[0] = cc_sub_cc(s[0], P::m2(0));
  CUZK_UNROLL
  for (int i = 1; i < P::N; i++) t[i] = cc_subc_cc(s[i], P::m2(i));
  const uint32_t borrow = cc_subc(carry, 0) >> 31;
  CUZK_UNROLL
  for (int i = 0; i < P::N; i++) r.l[i] = borrow ? s[i] : t[i];
}
/* Canonical. */
template <class P>
CUZK_HD void neg(Mont<P> &r, const Mont<P> &a) {
  Mont<P> z;
  set_zero(z);
  sub(r, z, a);
}
template <class P>
CUZK_HD void dbl(Mont<P> &r, const Mont<P> &a) {
  add(r, a, a);
}

/* -a, by a product whose factor the compiler cannot see: told that the multiplier of a row is a negation, it moves the sign into
 * the low products alone, which then no longer join with the high ones to one instruction. */
#if defined(__CUDACC__)
static __constant__ uint32_t minus_one = 0xffffffffu;
#endif
CUZK_HD uint32_t negated(uint32_t a) {
#if defined(__CUDA_ARCH__)
  return a * minus_one;
#else
  return 0u - a;
#endif
}

/* One reduction row: adds the multiple of m that clears e[0]. e holds the even products, o the odd ones (one limb up). */
template <class P>
CUZK_HD void redc_row(uint32_t *e, uint32_t *o) {
  constexpr int N = P::N;
  if (P::shape == 2) {
    /* The multiplier is q = -e0. Of its products, q m[0] only makes a carry out of e[0], [e0 != 0], and q m[1] = q 2^32 - q is
     * (e0, q - [e0 != 0]); all of them start at o[0]. */
    const uint32_t e0 = e[0], q = negated(e0);
    const uint32_t h = e0 ? ~e0 : 0;
    cc_add_cc(e0, 0xffffffffu);
    o[0] = cc_addc_cc(o[0], e0);
    o[1] = cc_addc_cc(o[1], h);
  CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
      o[j] = cc_madc_lo_cc(q, P::m(j + 1), o[j]);
      o[j + 1] = cc_madc_hi_cc(q, P::m(j + 1), o[j + 1]);
    }
    e[0] = 0;
    e[2] = cc_mad_lo_cc(q, P::m(2), e[2]);
    e[3] = cc_madc_hi_cc(q, P::m(2), e[3]);
  CUZK_UNROLL
    for (int j = 4; j < N; j += 2) {
      e[j] = cc_madc_lo_cc(q, P::m(j), e[j]);
      e[j + 1] = cc_madc_hi_cc(q, P::m(j), e[j + 1]);
    }
  } else if (P::shape == 1) {
    const uint32_t q = negated(e[0]);
    o[0] = cc_mad_lo_cc(q, P::m(1), o[0]);
    o[1] = cc_madc_hi_cc(q, P::m(1), o[1]);
  CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
      o[j] = cc_madc_lo_cc(q, P::m(j + 1), o[j]);
      o[j + 1] = cc_madc_hi_cc(q, P::m(j + 1), o[j + 1]);
    }
    e[0] = cc_add_cc(e[0], q);
    e[1] = cc_addc_cc(e[1], 0);
  CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
      e[j] = cc_madc_lo_cc(q, P::m(j), e[j]);
      e[j + 1] = cc_madc_hi_cc(q, P::m(j), e[j + 1]);
    }
  } else {
    const uint32_t q = P::inv == 0xffffffffu ? negated(e[0]) : e[0] * P::inv;
    o[0] = cc_mad_lo_cc(q, P::m(1), o[0]);
    o[1] = cc_madc_hi_cc(q, P::m(1), o[1]);
  CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
      o[j] = cc_madc_lo_cc(q, P::m(j + 1), o[j]);
      o[j + 1] = cc_madc_hi_cc(q, P::m(j + 1), o[j + 1]);
    }
    e[0] = cc_mad_lo_cc(q, P::m(0), e[0]);
    e[1] = cc_madc_hi_cc(q, P::m(0), e[1]);
  CUZK_UNROLL
    for (int j = 2; j < N; j += 2) {
      e[j] = cc_madc_lo_cc(q, P::m(j), e[j]);
      e[j + 1] = cc_madc_hi_cc(q, P::m(j), e[j + 1]);
    }
  }
  o[N - 1] = cc_addc(o[N - 1], 0);
}

/* Moves on by one limb, as mul_row, with no product to add, and reduces. */
template <class P>
CUZK_HD void redc_next_row(uint32_t *e, uint32_t *o) {
  constexpr int N = P::N;
  const uint32_t q = (e[0] + o[1]) * P::inv;
  e[0] = cc_add_cc(e[0], o[1]);
  CUZK_UNROLL
  for (int j = 0; j < N - 2; j += 2) {
    o[j] = cc_madc_lo_cc(q, P::m(j + 1), o[j + 2]);
    o[j + 1] = cc_madc_hi_cc(q, P::m(j + 1), o[j + 3]);
  }
  o[N - 2] = cc_madc_lo_cc(q, P::m(N - 1), 0);
  o[N - 1] = cc_madc_hi(q, P::m(N - 1), 0);
  e[0] = cc_mad_lo_cc(q, P::m(0), e[0]);
  e[1] = cc_madc_hi_cc(q, P::m(0), e[1]);
  CUZK_UNROLL
  for (int j = 2; j < N; j += 2) {
    e[j] = cc_madc_lo_cc(q, P::m(j), e[j]);
    e[j + 1] = cc_madc_hi_cc(q, P::m(j), e[j + 1]);
  }
  o[N - 1] = cc_addc(o[N - 1], 0);
}

/* Moves on by one limb: e (the former odd accumulator) takes over what is left of o[1], o is shifted down by two limbs, and
 * the row a * b is added to both. */
template <class P>
CUZK_HD void mul_row(uint32_t *e, uint32_t *o, const uint32_t *a, uint32_t b) {
  constexpr int N = P::N;
  e[0] = cc_add_cc(e[0], o[1]);
  CUZK_UNROLL
  for (int j = 0; j < N - 2; j += 2) {
    o[j] = cc_madc_lo_cc(a[j + 1], b, o[j + 2]);
    o[j + 1] = cc_madc_hi_cc(a[j + 1], b, o[j + 3]);
  }
  o[N - 2] = cc_madc_lo_cc(a[N - 1], b, 0);
  o[N - 1] = cc_madc_hi(a[N - 1], b, 0);
  e[0] = cc_mad_lo_cc(a[0], b, e[0]);
  e[1] = cc_madc_hi_cc(a[0], b, e[1]);
  CUZK_UNROLL
  for (int j = 2; j < N; j += 2) {
    e[j] = cc_madc_lo_cc(a[j], b, e[j]);
    e[j + 1] = cc_madc_hi_cc(a[j], b, e[j + 1]);
  }
  o[N - 1] = cc_addc(o[N - 1], 0);
}

/** r = a b / R, loose. Fp: operands below 2.9 m. Fr: a canonical, b any 256-bit integer (the result is below a + m). */
template <class P>
CUZK_HD void mul_loose(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  constexpr int N = P::N;
  uint32_t e[N], o[N];
  CUZK_UNROLL
  for (int j = 0; j < N; j += 2) {
    const uint64_t p = (uint64_t)a.l[j + 1] * b.l[0], q = (uint64_t)a.l[j] * b.l[0];
    o[j] = (uint32_t)p;
    o[j + 1] = (uint32_t)(p >> 32);
    e[j] = (uint32_t)q;
    e[j + 1] = (uint32_t)(q >> 32);
  }
  redc_row<P>(e, o);
  CUZK_UNROLL
  for (int i = 1; i < N - 1; i += 2) {
    mul_row<P>(o, e, a.l, b.l[i]);
    redc_row<P>(o, e);
    mul_row<P>(e, o, a.l, b.l[i + 1]);
    redc_row<P>(e, o);
  }
  mul_row<P>(o, e, a.l, b.l[N - 1]);
  redc_row<P>(o, e);
  /* The result is e + (o >> 32). */
  r.l[0] = cc_add_cc(e[0], o[1]);
  CUZK_UNROLL
  for (int j = 1; j < N - 1; j++) r.l[j] = cc_addc_cc(e[j], o[j + 1]);
  r.l[N - 1] = cc_addc(e[N - 1], 0);
}
/** r = a b / R, canonical; operands canonical, or as mul_loose allows. */
template <class P>
CUZK_HD void mul(Mont<P> &r, const Mont<P> &a, const Mont<P> &b) {
  Mont<P> t;
  mul_loose(t, a, b);
  cond_sub<P, false>(r, t);
}

/** r = a a / R, loose: the products of different limbs once and doubled, the squares, then the reduction rows. */
CUZK_HD void sqr_loose(Fp &r, const Fp &a) {
  constexpr int N = 12;
  /* w: products a[i] a[j], i < j, with i + j even; v: those with i + j odd, one limb up. */
  uint32_t w[2 * N], v[2 * N];
  CUZK_UNROLL
  for (int i = 0; i < 2 * N; i++) w[i] = v[i] = 0;
  /* Row i, odd sums: j = i+1, i+3, ... at limb i+j, kept in v[i+j-1 ..]. */
  CUZK_UNROLL
  for (int i = 0; i < N - 1; i++) {
    v[2 * i] = cc_mad_lo_cc(a.l[i], a.l[i + 1], v[2 * i]);
    v[2 * i + 1] = cc_madc_hi_cc(a.l[i], a.l[i + 1], v[2 * i + 1]);
  CUZK_UNROLL
    for (int j = i + 3; j < N; j += 2) {
      v[i + j - 1] = cc_madc_lo_cc(a.l[i], a.l[j], v[i + j - 1]);
      v[i + j] = cc_madc_hi_cc(a.l[i], a.l[j], v[i + j]);
    }
    const int top = ((N - i) & 1) ? N - 2 : N - 1; /* largest j of the row */
    if (i + top + 1 < 2 * N) v[i + top + 1] = cc_addc(v[i + top + 1], 0);
  }
  CUZK_UNROLL
  for (int i = 0; i < N - 2; i++) {
    w[2 * i + 2] = cc_mad_lo_cc(a.l[i], a.l[i + 2], w[2 * i + 2]);
    w[2 * i + 3] = cc_madc_hi_cc(a.l[i], a.l[i + 2], w[2 * i + 3]);
  CUZK_UNROLL
    for (int j = i + 4; j < N; j += 2) {
      w[i + j] = cc_madc_lo_cc(a.l[i], a.l[j], w[i + j]);
      w[i + j + 1] = cc_madc_hi_cc(a.l[i], a.l[j], w[i + j + 1]);
    }
    const int top = ((N - i) & 1) ? N - 1 : N - 2;
    w[i + top + 2] = cc_addc(w[i + top + 2], 0);
  }
  /* t = 2 (w + (v << 32)) + squares. */
  uint32_t t[2 * N];
  t[0] = w[0];
  t[1] = cc_add_cc(w[1], v[0]);
  CUZK_UNROLL
  for (int i = 2; i < 2 * N - 1; i++) t[i] = cc_addc_cc(w[i], v[i - 1]);
  t[2 * N - 1] = cc_addc(w[2 * N - 1], v[2 * N - 2]);
  t[0] = cc_add_cc(t[0], t[0]);
  CUZK_UNROLL
  for (int i = 1; i < 2 * N - 1; i++) t[i] = cc_addc_cc(t[i], t[i]);
  t[2 * N - 1] = cc_addc(t[2 * N - 1], t[2 * N - 1]);
  t[0] = cc_mad_lo_cc(a.l[0], a.l[0], t[0]);
  t[1] = cc_madc_hi_cc(a.l[0], a.l[0], t[1]);
  CUZK_UNROLL
  for (int i = 1; i < N; i++) {
    t[2 * i] = cc_madc_lo_cc(a.l[i], a.l[i], t[2 * i]);
    t[2 * i + 1] = i == N - 1 ? cc_madc_hi(a.l[i], a.l[i], t[2 * i + 1]) : cc_madc_hi_cc(a.l[i], a.l[i], t[2 * i + 1]);
  }
  /* Reduction: the low half goes through the rows, the high half is added at the end. */
  uint32_t e[N], o[N];
  CUZK_UNROLL
  for (int i = 0; i < N; i++) {
    e[i] = t[i];
    o[i] = 0;
  }
  redc_row<FpParams>(e, o);
  CUZK_UNROLL
  for (int i = 1; i < N - 1; i += 2) {
    redc_next_row<FpParams>(o, e);
    redc_next_row<FpParams>(e, o);
  }
  redc_next_row<FpParams>(o, e);
  r.l[0] = cc_add_cc(e[0], o[1]);
  CUZK_UNROLL
  for (int j = 1; j < N - 1; j++) r.l[j] = cc_addc_cc(e[j], o[j + 1]);
  r.l[N - 1] = cc_addc(e[N - 1], 0);
  r.l[0] = cc_add_cc(r.l[0], t[N]);
  CUZK_UNROLL
  for (int j = 1; j < N - 1; j++) r.l[j] = cc_addc_cc(r.l[j], t[N + j]);
  r.l[N - 1] = cc_addc(r.l[N - 1], t[2 * N - 1]);
}
CUZK_HD void sqr_loose(Fr &r, const Fr &a) { mul_loose(r, a, a); }
template <class P>
CUZK_HD void sqr(Mont<P> &r, const Mont<P> &a) {
  Mont<P> t;
  sqr_loose(t, a);
  cond_sub<P, false>(r, t);
}

/** Plain integer of a Montgomery value (canonical in and out). */
template <class P>
CUZK_HD void from_mont(Mont<P> &r, const Mont<P> &a) {
  Mont<P> u;
  set_zero(u);
  u.l[0] = 1;
  mul(r, a, u);
}

/* --- inversion in Fp -------------------------------------------------------------------------------------------------- */

/* 30-bit limbs, the top one signed. */
struct FpInv {
  static constexpr int L = 13;
  static constexpr uint32_t p_inv30 = 0x00030003u; /* 1/p mod 2^30 */
  static constexpr uint32_t mask = 0x3fffffffu;
  CUZK_HD static constexpr int32_t p(int i) {
    constexpr int32_t v[13] = {0x3fffaaab, 0x27fbffff, 0x153ffffb, 0x2affffac, 0x30f6241e, 0x034a83da, 0x112bf673,
                               0x12e13ce1, 0x2cd76477, 0x1ed90d2e, 0x29a4b1ba, 0x3a8e5ff9, 0x001a0111};
    return v[i];
  }
  CUZK_HD static constexpr uint32_t r3(int i) {
    constexpr uint32_t v[12] = {0xd94ca1e0u, 0xed48ac6bu, 0x03a7adf8u, 0x315f831eu, 0x615e29ddu, 0x9a53352au,
                                0x921e1761u, 0x34c04e5eu, 0x65724728u, 0x2512d435u, 0x91755d4du, 0x0aa63460u};
    return v[i];
  }
};

/** r = 1/a in Montgomery form, canonical; 0 for 0. a canonical. Variable time (ends when the gcd is found). */
CUZK_HD_CALL void inv_var(Fp &r, const Fp &a) {
  constexpr int L = FpInv::L;
  int32_t f[L], g[L], d[L], e[L];
  CUZK_UNROLL
  for (int i = 0; i < L; i++) {
    f[i] = FpInv::p(i);
    d[i] = 0;
    e[i] = i == 0;
    const int bit = 30 * i, k = bit / 32, s = bit % 32;
    uint64_t w = a.l[k];
    if (k + 1 < 12) w |= (uint64_t)a.l[k + 1] << 32;
    g[i] = (int32_t)((uint32_t)(w >> s) & FpInv::mask);
  }
  int32_t delta = 1;
  /* 1101 steps always suffice for operands of 381 bits. */
  CUZK_UNROLL_BY(1)
  for (int batch = 0; batch < 37; batch++) {
    /* 30 division steps on the low words; (u v; q s) is the transition matrix times 2^30. */
    uint32_t u = 1, v = 0, q = 0, s = 1;
    uint32_t f0 = (uint32_t)f[0] | (uint32_t)f[1] << 30, g0 = (uint32_t)g[0] | (uint32_t)g[1] << 30;
  CUZK_UNROLL_BY(6)
    for (int i = 0; i < 30; i++) {
      const uint32_t odd = 0u - (g0 & 1u);
      const uint32_t swap = odd & (uint32_t)((-delta) >> 31); /* delta > 0 and g odd */
      g0 += ((f0 ^ swap) - swap) & odd;
      q += ((u ^ swap) - swap) & odd;
      s += ((v ^ swap) - swap) & odd;
      f0 += g0 & swap;
      u += q & swap;
      v += s & swap;
      delta = (int32_t)(((uint32_t)delta ^ swap) - swap) + 1;
      g0 >>= 1;
      u <<= 1;
      v <<= 1;
    }
    const int32_t mu = (int32_t)u, mv = (int32_t)v, mq = (int32_t)q, ms = (int32_t)s;
    /* (d, e) := matrix (d, e) / 2^30 modulo p, kept in (-2p, p). */
    {
      const int32_t sd = d[L - 1] >> 31, se = e[L - 1] >> 31;
      int32_t md = (mu & sd) + (mv & se), me = (mq & sd) + (ms & se);
      int64_t cd = (int64_t)mu * d[0] + (int64_t)mv * e[0];
      int64_t ce = (int64_t)mq * d[0] + (int64_t)ms * e[0];
      md -= (int32_t)((FpInv::p_inv30 * (uint32_t)cd + (uint32_t)md) & FpInv::mask);
      me -= (int32_t)((FpInv::p_inv30 * (uint32_t)ce + (uint32_t)me) & FpInv::mask);
      cd += (int64_t)FpInv::p(0) * md;
      ce += (int64_t)FpInv::p(0) * me;
      cd >>= 30;
      ce >>= 30;
  CUZK_UNROLL
      for (int i = 1; i < L; i++) {
        cd += (int64_t)mu * d[i] + (int64_t)mv * e[i] + (int64_t)FpInv::p(i) * md;
        ce += (int64_t)mq * d[i] + (int64_t)ms * e[i] + (int64_t)FpInv::p(i) * me;
        d[i - 1] = (int32_t)((uint32_t)cd & FpInv::mask);
        e[i - 1] = (int32_t)((uint32_t)ce & FpInv::mask);
        cd >>= 30;
        ce >>= 30;
      }
      d[L - 1] = (int32_t)cd;
      e[L - 1] = (int32_t)ce;
    }
    int32_t left = 0;
    {
      int64_t cf = (int64_t)mu * f[0] + (int64_t)mv * g[0];
      int64_t cg = (int64_t)mq * f[0] + (int64_t)ms * g[0];
      cf >>= 30;
      cg >>= 30;
  CUZK_UNROLL
      for (int i = 1; i < L; i++) {
        cf += (int64_t)mu * f[i] + (int64_t)mv * g[i];
        cg += (int64_t)mq * f[i] + (int64_t)ms * g[i];
        f[i - 1] = (int32_t)((uint32_t)cf & FpInv::mask);
        g[i - 1] = (int32_t)((uint32_t)cg & FpInv::mask);
        left |= g[i - 1];
        cf >>= 30;
        cg >>= 30;
      }
      f[L - 1] = (int32_t)cf;
      g[L - 1] = (int32_t)cg;
      left |= g[L - 1];
    }
    if (left == 0) break;
  }
  /* f is now +-1 (or p for a = 0, with d = 0); the inverse is d times its sign. */
  const int32_t flip = f[L - 1] >> 31;
  int32_t c = 0, add_p = d[L - 1] >> 31;
  CUZK_UNROLL
  for (int i = 0; i < L; i++) {
    c += (((d[i] + (FpInv::p(i) & add_p)) ^ flip) - flip);
    d[i] = i == L - 1 ? c : (int32_t)((uint32_t)c & FpInv::mask);
    c >>= 30;
  }
  c = 0;
  add_p = d[L - 1] >> 31;
  CUZK_UNROLL
  for (int i = 0; i < L; i++) {
    c += d[i] + (FpInv::p(i) & add_p);
    d[i] = i == L - 1 ? c : (int32_t)((uint32_t)c & FpInv::mask);
    c >>= 30;
  }
  Fp x, r3;
  CUZK_UNROLL
  for (int i = 0; i < 12; i++) {
    const int k = (32 * i) / 30, s = (32 * i) % 30;
    const uint64_t w = (uint64_t)(uint32_t)d[k] | (uint64_t)(uint32_t)d[k + 1] << 30;
    x.l[i] = (uint32_t)(w >> s);
    r3.l[i] = FpInv::r3(i);
  }
  mul(r, x, r3); /* x = 1/(aR); times R^3/R */
}

/* --- Fp2 = Fp[u]/(u^2 + 1) -------------------------------------------------------------------------------------------- */

struct Fp2 {
  Fp c0, c1;
};
CUZK_HD void set_zero(Fp2 &r) {
  set_zero(r.c0);
  set_zero(r.c1);
}
CUZK_HD void set_one(Fp2 &r) {
  set_one(r.c0);
  set_zero(r.c1);
}
CUZK_HD bool is_zero(const Fp2 &a) { return is_zero(a.c0) && is_zero(a.c1); }
CUZK_HD bool eq(const Fp2 &a, const Fp2 &b) { return eq(a.c0, b.c0) && eq(a.c1, b.c1); }
CUZK_HD void add(Fp2 &r, const Fp2 &a, const Fp2 &b) {
  add(r.c0, a.c0, b.c0);
  add(r.c1, a.c1, b.c1);
}
CUZK_HD void sub(Fp2 &r, const Fp2 &a, const Fp2 &b) {
  sub(r.c0, a.c0, b.c0);
  sub(r.c1, a.c1, b.c1);
}
CUZK_HD void neg(Fp2 &r, const Fp2 &a) {
  neg(r.c0, a.c0);
  neg(r.c1, a.c1);
}
CUZK_HD void dbl(Fp2 &r, const Fp2 &a) { add(r, a, a); }
CUZK_HD void reduce(Fp2 &r, const Fp2 &a) { r = a; }
/** Canonical operands and result: three products (Karatsuba). */
CUZK_HD void mul(Fp2 &r, const Fp2 &a, const Fp2 &b) {
  Fp s, t, u, v;
  add(s, a.c0, a.c1);
  add(t, b.c0, b.c1);
  mul(s, s, t);
  mul(u, a.c0, b.c0);
  mul(v, a.c1, b.c1);
  sub(s, s, u);
  sub(r.c1, s, v);
  sub(r.c0, u, v);
}
CUZK_HD void sqr(Fp2 &r, const Fp2 &a) {
  Fp s, t, u;
  add(s, a.c0, a.c1);
  sub(t, a.c0, a.c1);
  mul(u, a.c0, a.c1);
  mul(r.c0, s, t);
  add(r.c1, u, u);
}
/* Fp2 keeps all values canonical; the loose forms exist so that curve code serves both fields. */
CUZK_HD void mul_loose(Fp2 &r, const Fp2 &a, const Fp2 &b) { mul(r, a, b); }
CUZK_HD void sqr_loose(Fp2 &r, const Fp2 &a) { sqr(r, a); }
CUZK_HD void inv_var(Fp2 &r, const Fp2 &a) {
  Fp s, t;
  sqr(s, a.c0);
  sqr(t, a.c1);
  add(s, s, t);
  inv_var(s, s);
  mul(r.c0, a.c0, s);
  neg(t, a.c1);
  mul(r.c1, t, s);
}

}  // namespace cuzk_gpu
#endif
