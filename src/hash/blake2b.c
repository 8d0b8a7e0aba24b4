/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "hash/blake2b.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

static const uint64_t iv[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                               0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static inline uint64_t ror(uint64_t x, unsigned n) { return (x >> n) | (x << (64 - n)); }

static inline void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = ror(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = ror(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = ror(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = ror(v[b] ^ v[c], 63);
}

static void compress(struct cuzk_blake2b *s, const uint8_t *p, uint64_t n, bool last) {
  uint64_t m[16], v[16];
  s->t[0] += n;
  s->t[1] += s->t[0] < n;
  for (int i = 0; i < 16; i++) m[i] = cuzk_load_le64(p + 8 * i);
  for (int i = 0; i < 8; i++) {
    v[i] = s->h[i];
    v[8 + i] = iv[i];
  }
  v[12] ^= s->t[0];
  v[13] ^= s->t[1];
  if (last) v[14] = ~v[14];
  for (int r = 0; r < 12; r++) {
    const uint8_t *g = sigma[r % 10];
    for (int i = 0; i < 4; i++) mix(v, i, 4 + i, 8 + i, 12 + i, m[g[2 * i]], m[g[2 * i + 1]]);
    for (int i = 0; i < 4; i++)
      mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[g[8 + 2 * i]], m[g[9 + 2 * i]]);
  }
  for (int i = 0; i < 8; i++) s->h[i] ^= v[i] ^ v[8 + i];
}

void cuzk_blake2b_init(struct cuzk_blake2b *s, size_t out_bytes, const void *key, size_t key_bytes) {
  memset(s, 0, sizeof *s);
  memcpy(s->h, iv, sizeof s->h);
  s->out_bytes = (uint8_t)out_bytes;
  s->h[0] ^= UINT64_C(0x01010000) ^ ((uint64_t)key_bytes << 8) ^ out_bytes;
  if (key_bytes) {
    memcpy(s->buf, key, key_bytes);
    s->n_buf = sizeof s->buf;
  }
}

/* A full buffer is kept until more arrives: the last block is compressed with a flag. */
void cuzk_blake2b_update(struct cuzk_blake2b *s, const void *p, size_t n) {
  const uint8_t *q = p;
  while (n) {
    if (s->n_buf == sizeof s->buf) {
      compress(s, s->buf, sizeof s->buf, false);
      s->n_buf = 0;
    }
    const size_t room = sizeof s->buf - s->n_buf, take = n < room ? n : room;
    memcpy(s->buf + s->n_buf, q, take);
    s->n_buf += take;
    q += take;
    n -= take;
  }
}

void cuzk_blake2b_final(struct cuzk_blake2b *s, uint8_t *out) {
  memset(s->buf + s->n_buf, 0, sizeof s->buf - s->n_buf);
  compress(s, s->buf, s->n_buf, true);
  memcpy(out, s->h, s->out_bytes);
}

void cuzk_blake2b(uint8_t *out, size_t out_bytes, const void *key, size_t key_bytes, const void *p, size_t n) {
  struct cuzk_blake2b s;
  cuzk_blake2b_init(&s, out_bytes, key, key_bytes);
  cuzk_blake2b_update(&s, p, n);
  cuzk_blake2b_final(&s, out);
}
