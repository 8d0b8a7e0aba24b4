/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "hash/sha256.h"

#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"

const uint32_t cuzk_sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
const uint32_t cuzk_sha256_iv[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static inline uint32_t ror(uint32_t x, unsigned n) { return (x >> n) | (x << (32 - n)); }

/* One round; the eight state words change roles instead of places, so eight rounds bring them back. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                              \
  do {                                                                                                                \
    const uint32_t t1 = h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + (g ^ (e & (f ^ g))) + cuzk_sha256_k[i] + w[i];    \
    d += t1;                                                                                                          \
    h = t1 + (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) | (c & (a | b)));                                       \
  } while (0)

static void compress_c(uint32_t st[8], const uint8_t *p, size_t n_blocks) {
  for (; n_blocks; n_blocks--, p += 64) {
    uint32_t w[64];
    uint32_t a = st[0], b = st[1], c = st[2], d = st[3], e = st[4], f = st[5], g = st[6], h = st[7];
    for (int i = 0; i < 16; i++) w[i] = cuzk_load_be32(p + 4 * i);
    for (int i = 16; i < 64; i++) {
      const uint32_t x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + (ror(x, 7) ^ ror(x, 18) ^ (x >> 3)) + w[i - 7] + (ror(y, 17) ^ ror(y, 19) ^ (y >> 10));
    }
    for (int i = 0; i < 64; i += 8) {
      ROUND(a, b, c, d, e, f, g, h, i);
      ROUND(h, a, b, c, d, e, f, g, i + 1);
      ROUND(g, h, a, b, c, d, e, f, i + 2);
      ROUND(f, g, h, a, b, c, d, e, i + 3);
      ROUND(e, f, g, h, a, b, c, d, i + 4);
      ROUND(d, e, f, g, h, a, b, c, i + 5);
      ROUND(c, d, e, f, g, h, a, b, i + 6);
      ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    st[0] += a;
    st[1] += b;
    st[2] += c;
    st[3] += d;
    st[4] += e;
    st[5] += f;
    st[6] += g;
    st[7] += h;
  }
}
#undef ROUND

#if defined(__x86_64__)
#include <immintrin.h>

/* The instructions keep the state as the pairs (A B E F) and (C D G H), high lane first. */
__attribute__((target("sha,ssse3,sse4.1"))) static void compress_ni(uint32_t h[8], const uint8_t *p, size_t n_blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)h), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(h + 4)), 0x1b);
  __m128i s0 = _mm_alignr_epi8(badc, hgfe, 8), s1 = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; n_blocks; n_blocks--, p += 64) {
    const __m128i in0 = s0, in1 = s1;
    __m128i w[4];
    for (int i = 0; i < 4; i++)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)), swap);
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 16
#endif
    for (int i = 0; i < 16; i++) {
      __m128i m;
      if (i >= 4) {
        m = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
        w[i & 3] = _mm_sha256msg2_epu32(m, w[(i + 3) & 3]);
      }
      m = _mm_add_epi32(w[i & 3], _mm_loadu_si128((const __m128i *)(const void *)(cuzk_sha256_k + 4 * i)));
      s1 = _mm_sha256rnds2_epu32(s1, s0, m);
      s0 = _mm_sha256rnds2_epu32(s0, s1, _mm_shuffle_epi32(m, 0x0e));
    }
    s0 = _mm_add_epi32(s0, in0);
    s1 = _mm_add_epi32(s1, in1);
  }
  const __m128i abef = _mm_shuffle_epi32(s0, 0x1b), ghcd = _mm_shuffle_epi32(s1, 0xb1);
  _mm_storeu_si128((__m128i *)(void *)h, _mm_blend_epi16(abef, ghcd, 0xf0));
  _mm_storeu_si128((__m128i *)(void *)(h + 4), _mm_alignr_epi8(ghcd, abef, 8));
}
#endif

void cuzk_sha256_compress(uint32_t h[8], const uint8_t *blocks, size_t n_blocks) {
#if defined(__x86_64__)
  if (cuzk_cpu_features() & CUZK_CPU_SHA_NI) {
    compress_ni(h, blocks, n_blocks);
    return;
  }
#endif
  compress_c(h, blocks, n_blocks);
}

void cuzk_sha256_init(struct cuzk_sha256 *s) {
  memcpy(s->h, cuzk_sha256_iv, sizeof s->h);
  s->n_bytes = 0;
}

void cuzk_sha256_update(struct cuzk_sha256 *s, const void *p, size_t n) {
  const uint8_t *q = p;
  const size_t have = s->n_bytes % 64;
  if (!n) return;
  s->n_bytes += n;
  if (have) {
    const size_t take = n < 64 - have ? n : 64 - have;
    memcpy(s->buf + have, q, take);
    q += take;
    n -= take;
    if (have + take < 64) return;
    cuzk_sha256_compress(s->h, s->buf, 1);
  }
  if (n >= 64) {
    cuzk_sha256_compress(s->h, q, n / 64);
    q += n / 64 * 64;
    n %= 64;
  }
  if (n) memcpy(s->buf, q, n);
}

void cuzk_sha256_final(struct cuzk_sha256 *s, uint8_t out[32]) {
  const size_t have = s->n_bytes % 64;
  uint8_t end[128] = {0};
  const size_t n = have < 56 ? 64 : 128;
  memcpy(end, s->buf, have);
  end[have] = 0x80;
  cuzk_store_be64(end + n - 8, s->n_bytes * 8);
  cuzk_sha256_compress(s->h, end, n / 64);
  for (int i = 0; i < 8; i++) cuzk_store_be32(out + 4 * i, s->h[i]);
}

void cuzk_sha256(uint8_t out[32], const void *p, size_t n) {
  struct cuzk_sha256 s;
  cuzk_sha256_init(&s);
  cuzk_sha256_update(&s, p, n);
  cuzk_sha256_final(&s, out);
}
