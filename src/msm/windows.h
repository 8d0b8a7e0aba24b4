/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Signed digits of scalars. Windows of c bits cover 255 bits or 256; the top one may be narrower than the others. */
#ifndef CUZK_MSM_WINDOWS_H
#define CUZK_MSM_WINDOWS_H
#include <string.h>

#include "ff/fr.h"

#define CUZK_WINDOW_BITS_MIN 4u  /* fewer do not leave room for the offset below */
#define CUZK_WINDOW_BITS_MAX 16u /* a digit plus half a window fits 16 bits */
#define CUZK_WINDOWS_MAX 64u

struct cuzk_windows {
  unsigned c;
  unsigned n;
  unsigned top_bits;
  uint64_t offset[4]; /* half a window at every window */
};

static inline unsigned cuzk_windows_count(unsigned c) { return (255 + c - 1) / c; }

static inline void cuzk_windows_init(struct cuzk_windows *w, unsigned c) {
  memset(w, 0, sizeof *w);
  w->c = c;
  w->n = cuzk_windows_count(c);
  const unsigned below = c * (w->n - 1);
  w->top_bits = 256 - below < c ? 256 - below : c;
  for (unsigned i = 0; i < w->n; i++) {
    const unsigned bit = i * c + (i + 1 < w->n ? c : w->top_bits) - 1;
    w->offset[bit / 64] |= (uint64_t)1 << (bit % 64);
  }
}

/** Half of window i: what cuzk_windows_digit has too much. Signed digits are between minus this and this less one. */
static inline int cuzk_windows_half(const struct cuzk_windows *w, unsigned i) {
  return 1 << ((i + 1 < w->n ? w->c : w->top_bits) - 1);
}

/** The scalar, by the representative of least magnitude, plus the offset. A scalar above r/2 becomes itself minus r, negative;
 *  the offset makes it positive again and every window's digit the signed one plus half the window, so that no carry runs from
 *  window to window. In units of 2^254 the offset is 1 / (1 - 2^-c) (255 bits) or twice that (256), and the scalar lies within
 *  +-0.906: the sum stays inside for c >= 4. half_order is (r - 1) / 2. */
static inline void cuzk_windows_value(uint64_t v[4], const struct cuzk_windows *w, const cuzk_fr *s) {
  static const uint64_t half_order[4] = {0x7fffffff80000000u, 0xa9ded2017fff2dffu, 0x199cec0404d0ec02u, 0x39f6d3a994cebea4u};
  uint64_t borrow = 0, carry = 0;
  cuzk_fr_to_canon(v, s);
  bool above = false;
  for (int i = 3; i >= 0; i--) {
    if (v[i] != half_order[i]) {
      above = v[i] > half_order[i];
      break;
    }
  }
  const uint64_t mask = 0 - (uint64_t)above;
  for (int i = 0; i < 4; i++) {
    const uint64_t m = cuzk_fr_modulus[i] & mask, t = v[i] - m, u = t - borrow;
    borrow = (v[i] < m) | (t < borrow);
    v[i] = u;
  }
  for (int i = 0; i < 4; i++) {
    const uint64_t t = v[i] + w->offset[i], u = t + carry;
    carry = (t < v[i]) | (u < t);
    v[i] = u;
  }
}

/** Window i of such a value: the signed digit plus half the window. */
static inline unsigned cuzk_windows_digit(const uint64_t v[4], const struct cuzk_windows *w, unsigned i) {
  const unsigned bit = i * w->c, k = bit / 64, shift = bit % 64;
  uint64_t t = v[k] >> shift;
  if (shift + w->c > 64 && k < 3) t |= v[k + 1] << (64 - shift);
  return (unsigned)(t & (((uint64_t)1 << w->c) - 1));
}
#endif
