/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "hash/chacha.h"

#include "base/bytes.h"

static inline uint32_t rol(uint32_t x, unsigned n) { return (x << n) | (x >> (32 - n)); }

static inline void quarter(uint32_t x[16], int a, int b, int c, int d) {
  x[a] += x[b];
  x[d] = rol(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = rol(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = rol(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = rol(x[b] ^ x[c], 7);
}

void cuzk_chacha_block(uint8_t out[64], const uint8_t key[32], const uint32_t w12_15[4], unsigned rounds) {
  uint32_t in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
  for (int i = 0; i < 8; i++) in[4 + i] = cuzk_load_le32(key + 4 * i);
  for (int i = 0; i < 4; i++) in[12 + i] = w12_15[i];
  memcpy(x, in, sizeof x);
  for (unsigned r = 0; r < rounds; r += 2) {
    for (int i = 0; i < 4; i++) quarter(x, i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; i++) quarter(x, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (int i = 0; i < 16; i++) cuzk_store_le32(out + 4 * i, x[i] + in[i]);
}
