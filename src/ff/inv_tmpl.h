/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Inversion modulo an odd prime by division steps on the low bits; variable time; included once per field, never linked.
 *
 *  Before inclusion define: INV_N (signed limbs of 62 bits; at least six bits more than the modulus needs), INV_LIMBS (64-bit
 *  limbs of the argument), INV_FN(name), INV_MODULUS (const int64_t[INV_N], limbs of 62 bits), INV_MODINV (modulus^-1 mod 2^62).
 *  f and g start as modulus and a; 62 steps at a time are gathered in a 2 x 2 matrix by looking at 64 low bits only, then applied
 *  to f, g and, modulo the modulus, to the cofactors d, e with f = d a and g = e a. When g is 0, f is 1 or -1.
 *  Source: Bernstein and Yang, "Fast constant-time gcd computation and modular inversion" (2019). */
#ifndef CUZK_FF_INV_TMPL_COMMON
#define CUZK_FF_INV_TMPL_COMMON
#include <stdbool.h>
#include <stdint.h>
__extension__ typedef __int128 inv_i128;

#define INV_MASK62 (UINT64_MAX >> 2)

struct inv_matrix {
  int64_t u, v, q, r; /* 2^62 (f', g') = (u f + v g, q f + r g) */
};

/* 62 division steps; eta is minus the paper's delta. Zeros at the end of g are taken at once, and while eta >= 0 up to
 * six steps by one multiple of f. */
static inline int64_t inv_steps(struct inv_matrix *m, int64_t eta, uint64_t f, uint64_t g) {
  uint64_t u = 1, v = 0, q = 0, r = 1, t;
  int left = 62;
  for (;;) {
    const int zeros = __builtin_ctzll(g | (UINT64_MAX << left));
    g >>= zeros;
    u <<= zeros;
    v <<= zeros;
    eta -= zeros;
    left -= zeros;
    if (left == 0) break;
    if (eta < 0) {
      eta = -eta;
      t = f, f = g, g = 0 - t;
      t = u, u = q, q = 0 - t;
      t = v, v = r, r = 0 - t;
    }
    const int limit = eta + 1 > left ? left : (int)eta + 1;
    /* f (2 - f^2) is 1/f modulo 2^6, so w f + g vanishes there. */
    const uint64_t w = (f * g * (f * f - 2)) & (UINT64_MAX >> (64 - limit)) & 63;
    g += f * w;
    q += u * w;
    r += v * w;
  }
  *m = (struct inv_matrix){(int64_t)u, (int64_t)v, (int64_t)q, (int64_t)r};
  return eta;
}
#endif

/* *r = a^-1 (plain integers below the modulus, INV_LIMBS words); 0 for 0. */
static void INV_FN(inverse)(uint64_t *r, const uint64_t *a) {
  int64_t f[INV_N], g[INV_N], d[INV_N] = {0}, e[INV_N] = {1}, eta = -1;
  uint64_t any = 0;
  for (int i = 0; i < INV_N; i++) {
    const int bit = 62 * i, w = bit / 64, s = bit % 64;
    uint64_t x = w < INV_LIMBS ? a[w] >> s : 0;
    if (s > 2 && w + 1 < INV_LIMBS) x |= a[w + 1] << (64 - s);
    g[i] = (int64_t)(x & INV_MASK62);
    f[i] = INV_MODULUS[i];
    any |= x;
  }
  if (any == 0) {
    for (int i = 0; i < INV_LIMBS; i++) r[i] = 0;
    return;
  }
  int len = INV_N;
  for (;;) {
    struct inv_matrix m;
    eta = inv_steps(&m, eta, (uint64_t)f[0] | ((uint64_t)f[1] << 62), (uint64_t)g[0] | ((uint64_t)g[1] << 62));

    /* d and e: a multiple of the modulus between -2^61 and 2^61 times it makes the sums divisible by 2^62. Each round adds at
     * most half of the modulus to the larger of them, and there are fewer than twenty rounds: five spare bits suffice. */
    const uint64_t sd = (uint64_t)m.u * (uint64_t)d[0] + (uint64_t)m.v * (uint64_t)e[0];
    const uint64_t se = (uint64_t)m.q * (uint64_t)d[0] + (uint64_t)m.r * (uint64_t)e[0];
    const int64_t kd = (int64_t)((0 - sd * (uint64_t)INV_MODINV) << 2) >> 2;
    const int64_t ke = (int64_t)((0 - se * (uint64_t)INV_MODINV) << 2) >> 2;
    inv_i128 cd = 0, ce = 0;
    for (int i = 0; i < INV_N; i++) {
      const int64_t di = d[i], ei = e[i];
      cd += (inv_i128)m.u * di + (inv_i128)m.v * ei + (inv_i128)kd * INV_MODULUS[i];
      ce += (inv_i128)m.q * di + (inv_i128)m.r * ei + (inv_i128)ke * INV_MODULUS[i];
      if (i > 0) {
        d[i - 1] = (int64_t)((uint64_t)cd & INV_MASK62);
        e[i - 1] = (int64_t)((uint64_t)ce & INV_MASK62);
      }
      cd >>= 62;
      ce >>= 62;
    }
    d[INV_N - 1] = (int64_t)cd;
    e[INV_N - 1] = (int64_t)ce;

    inv_i128 cf = 0, cg = 0;
    for (int i = 0; i < len; i++) {
      const int64_t fi = f[i], gi = g[i];
      cf += (inv_i128)m.u * fi + (inv_i128)m.v * gi;
      cg += (inv_i128)m.q * fi + (inv_i128)m.r * gi;
      if (i > 0) {
        f[i - 1] = (int64_t)((uint64_t)cf & INV_MASK62);
        g[i - 1] = (int64_t)((uint64_t)cg & INV_MASK62);
      }
      cf >>= 62;
      cg >>= 62;
    }
    f[len - 1] = (int64_t)cf;
    g[len - 1] = (int64_t)cg;
    int64_t nonzero = 0;
    for (int i = 0; i < len; i++) nonzero |= g[i];
    if (nonzero == 0) break;
    /* A top limb that is only sign moves into the two free bits of the one below. */
    while (len > 2 && (f[len - 1] == 0 || f[len - 1] == -1) && (g[len - 1] == 0 || g[len - 1] == -1)) {
      f[len - 2] = (int64_t)((uint64_t)f[len - 2] | ((uint64_t)f[len - 1] << 62));
      g[len - 2] = (int64_t)((uint64_t)g[len - 2] | ((uint64_t)g[len - 1] << 62));
      len--;
    }
  }

  /* The inverse is d or -d, up to a few multiples of the modulus. */
  const bool negative = f[len - 1] < 0;
  inv_i128 c = 0;
  for (int i = 0; i < INV_N; i++) {
    c += negative ? -(inv_i128)d[i] : (inv_i128)d[i];
    d[i] = i < INV_N - 1 ? (int64_t)((uint64_t)c & INV_MASK62) : (int64_t)c;
    c >>= 62;
  }
  for (;;) {
    int64_t s[INV_N], borrow = 0;
    const bool add = d[INV_N - 1] < 0;
    for (int i = 0; i < INV_N; i++) {
      borrow += add ? d[i] + INV_MODULUS[i] : d[i] - INV_MODULUS[i];
      s[i] = i < INV_N - 1 ? (int64_t)((uint64_t)borrow & INV_MASK62) : borrow;
      borrow >>= 62;
    }
    if (!add && s[INV_N - 1] < 0) break;
    for (int i = 0; i < INV_N; i++) d[i] = s[i];
  }
  for (int w = 0; w < INV_LIMBS; w++) {
    const int bit = 64 * w, i = bit / 62, s = bit % 62;
    uint64_t x = (uint64_t)d[i] >> s;
    if (i + 1 < INV_N) x |= (uint64_t)d[i + 1] << (62 - s);
    if (s > 60 && i + 2 < INV_N) x |= (uint64_t)d[i + 2] << (124 - s);
    r[w] = x;
  }
}
