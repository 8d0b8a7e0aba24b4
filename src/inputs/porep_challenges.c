/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/porep_challenges.h"

#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "hash/blake2b.h"
#include "hash/chacha.h"
#include "hash/sha256.h"

/* 1 + (x mod (nodes - 1)), x 256 bits little-endian: node 0 is never challenged. */
static uint64_t to_node(const uint8_t x[32], uint64_t nodes) {
  CUZK_VERIFY(nodes >= 2 && nodes <= UINT64_C(1) << 32);
  uint64_t rem = 0;
  for (int i = 7; i >= 0; i--) rem = (rem << 32 | cuzk_load_le32(x + 4 * i)) % (nodes - 1);
  return rem + 1;
}

uint64_t cuzk_porep_synthetic_count(uint64_t nodes) { return nodes < UINT64_C(1) << 18 ? nodes : UINT64_C(1) << 18; }

static void stream_key(uint8_t key[32], const char *tag, const uint8_t a[32], const uint8_t b[32]) {
  struct cuzk_blake2b s;
  uint8_t both[64];
  memcpy(both, a, 32);
  memcpy(both + 32, b, 32);
  cuzk_blake2b_init(&s, 32, tag, strlen(tag));
  cuzk_blake2b_update(&s, both, sizeof both);
  cuzk_blake2b_final(&s, key);
}

/* Block of the ChaCha20 stream with nonce "synth-porep" and one zero byte. */
static void stream_block(uint8_t out[64], const uint8_t key[32], uint32_t block) {
  static const uint8_t nonce[12] = {'s', 'y', 'n', 't', 'h', '-', 'p', 'o', 'r', 'e', 'p', 0};
  const uint32_t w[4] = {block, cuzk_load_le32(nonce), cuzk_load_le32(nonce + 4), cuzk_load_le32(nonce + 8)};
  cuzk_chacha_block(out, key, w, 20);
}

static uint64_t synthetic(uint64_t nodes, const uint8_t key[32], uint64_t m) {
  uint8_t block[64];
  stream_block(block, key, (uint32_t)(m / 2));
  return to_node(block + 32 * (m % 2), nodes);
}

uint64_t cuzk_porep_synthetic_challenge(uint64_t nodes, const uint8_t replica_id[32], const uint8_t comm_r[32], uint64_t m) {
  uint8_t key[32];
  stream_key(key, "filecoin.io|PoRep|1|Synthetic|1|Generation", replica_id, comm_r);
  return synthetic(nodes, key, m);
}

void cuzk_porep_challenges(uint64_t *out, enum cuzk_porep_feature feature, uint64_t nodes, const uint8_t replica_id[32],
                           const uint8_t comm_r[32], const uint8_t seed[32], uint64_t n_synthetic, uint64_t first, size_t n) {
  if (feature == CUZK_POREP_SYNTHETIC) {
    uint8_t key_set[32], key_pick[32], block[64];
    if (!n_synthetic) n_synthetic = cuzk_porep_synthetic_count(nodes);
    stream_key(key_set, "filecoin.io|PoRep|1|Synthetic|1|Generation", replica_id, comm_r);
    stream_key(key_pick, "filecoin.io|PoRep|1|Synthetic|1|Selection", replica_id, seed);
    for (size_t i = 0; i < n; i++) {
      const uint64_t j = first + i;
      if (i == 0 || j % 16 == 0) stream_block(block, key_pick, (uint32_t)(j / 16));
      out[i] = synthetic(nodes, key_set, cuzk_load_le32(block + 4 * (j % 16)) % n_synthetic);
    }
    return;
  }
  struct cuzk_sha256 prefix;
  cuzk_sha256_init(&prefix);
  if (feature == CUZK_POREP_NON_INTERACTIVE) {
    static const char tag[] = "filecoin.io|PoRep|1|NonInteractive|1";
    cuzk_sha256_update(&prefix, tag, sizeof tag - 1);
  }
  cuzk_sha256_update(&prefix, replica_id, 32);
  cuzk_sha256_update(&prefix, feature == CUZK_POREP_NON_INTERACTIVE ? comm_r : seed, 32);
  for (size_t i = 0; i < n; i++) {
    struct cuzk_sha256 s = prefix;
    uint8_t number[4], h[32];
    cuzk_store_le32(number, (uint32_t)(first + i));
    cuzk_sha256_update(&s, number, sizeof number);
    cuzk_sha256_final(&s, h);
    out[i] = to_node(h, nodes);
  }
}
