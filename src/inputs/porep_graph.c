/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/porep_graph.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fail.h"
#include "hash/blake2b.h"
#include "hash/chacha.h"
#include "hash/sha256.h"

enum { SAMPLED = 5 }; /* DRG parents drawn at random; the sixth is the predecessor */

static void tagged_hash(uint8_t out[32], const char *tag, const uint8_t porep_id[32]) {
  struct cuzk_sha256 s;
  cuzk_sha256_init(&s);
  cuzk_sha256_update(&s, tag, strlen(tag));
  cuzk_sha256_update(&s, porep_id, 32);
  cuzk_sha256_final(&s, out);
}

void cuzk_porep_graph_init(struct cuzk_porep_graph *g, uint64_t nodes, const uint8_t porep_id[32], unsigned api_major_minor) {
  uint8_t h[32];
  CUZK_VERIFY(nodes >= 2 && nodes <= UINT64_C(1) << 32 && (nodes & (nodes - 1)) == 0);
  g->nodes = nodes;
  g->api_major_minor = api_major_minor;
  tagged_hash(h, "Filecoin_DRSample", porep_id);
  memcpy(g->drg_seed, h, sizeof g->drg_seed);
  tagged_hash(h, "Filecoin_Feistel", porep_id);
  for (int i = 0; i < 3; i++) g->keys[i] = cuzk_load_le64(h + 8 * i);
  g->half_bits = 1;
  while (UINT64_C(1) << 2 * g->half_bits < CUZK_POREP_EXP_PARENTS * nodes) g->half_bits++;
}

/* 64-bit words of the keystream of one node: ChaCha8, 64-bit block counter, nonce 0. */
struct stream {
  uint8_t key[32];
  uint8_t block[64];
  uint64_t next_block;
  unsigned used;
};

static uint64_t stream_next(struct stream *s) {
  if (s->used == sizeof s->block) {
    const uint32_t w[4] = {(uint32_t)s->next_block, (uint32_t)(s->next_block >> 32), 0, 0};
    cuzk_chacha_block(s->block, s->key, w, 8);
    s->next_block++;
    s->used = 0;
  }
  const uint64_t v = cuzk_load_le64(s->block + s->used);
  s->used += 8;
  return v;
}

/* ceil(log2(x)), x >= 1. The reference computes it in double precision, which is exact for the x < 2^35 that occur here: an x just
 * above a power of two differs from it by a relative 2^-35 at least. */
static unsigned ceil_log2(uint64_t x) {
  unsigned n = 0;
  while (UINT64_C(1) << n < x) n++;
  return n;
}

static void drg_parents(uint64_t out[6], const struct cuzk_porep_graph *g, uint64_t v) {
  if (v < 2) {
    memset(out, 0, 6 * sizeof *out);
    return;
  }
  struct stream s = {.used = sizeof s.block};
  memcpy(s.key, g->drg_seed, sizeof g->drg_seed);
  cuzk_store_le32(s.key + 28, (uint32_t)v);
  const bool old_order = g->api_major_minor < 0x0101;
  uint64_t *sampled = old_order ? out : out + 1;
  out[old_order ? SAMPLED : 0] = v - 1;
  /* The graph is sampled over SAMPLED copies of each node ("metagraph") and folded back. */
  const uint64_t mv = SAMPLED * v;
  const unsigned n_buckets = ceil_log2(mv);
  for (int i = 0; i < SAMPLED; i++) {
    const unsigned bucket = (unsigned)(stream_next(&s) % n_buckets) + 1;
    const uint64_t reach = UINT64_C(1) << bucket;
    const uint64_t largest = mv < reach ? mv : reach;
    const uint64_t smallest = largest / 2 > 2 ? largest / 2 : 2;
    const uint64_t distance = smallest + stream_next(&s) % (largest - smallest + 1);
    const uint64_t u = (mv - distance) / SAMPLED;
    sampled[i] = u == v ? v - 1 : u;
  }
}

/* A three-round Feistel permutation of 2 half_bits bits. */
static uint64_t feistel(const struct cuzk_porep_graph *g, uint64_t x) {
  const uint64_t mask = (UINT64_C(1) << g->half_bits) - 1;
  uint64_t left = x >> g->half_bits & mask, right = x & mask;
  for (int i = 0; i < 3; i++) {
    uint8_t in[16], h[64];
    cuzk_store_be64(in, right);
    cuzk_store_be64(in + 8, g->keys[i]);
    cuzk_blake2b(h, 64, NULL, 0, in, sizeof in);
    const uint64_t t = left ^ (cuzk_load_be64(h) & mask);
    left = right;
    right = t;
  }
  return left << g->half_bits | right;
}

void cuzk_porep_graph_parents(uint64_t out[CUZK_POREP_PARENTS], const struct cuzk_porep_graph *g, uint64_t node) {
  CUZK_VERIFY(node < g->nodes);
  drg_parents(out, g, node);
  const uint64_t n = CUZK_POREP_EXP_PARENTS * g->nodes;
  for (unsigned i = 0; i < CUZK_POREP_EXP_PARENTS; i++) {
    uint64_t x = feistel(g, CUZK_POREP_EXP_PARENTS * node + i);
    while (x >= n) x = feistel(g, x); /* the permutation's domain can be larger: walk its cycle back into range */
    if (g->api_major_minor < 0x0101) x = (uint32_t)x;
    out[CUZK_POREP_DRG_PARENTS + i] = x / CUZK_POREP_EXP_PARENTS;
  }
}

void cuzk_porep_label(cuzk_fr *label, const uint8_t replica_id[32], unsigned layer, uint64_t node, const cuzk_fr *const *parents, unsigned n) {
  uint8_t m[64 + 32 * CUZK_POREP_LABEL_PARENTS] = {0}, h[32];
  memcpy(m, replica_id, 32);
  cuzk_store_be32(m + 32, layer);
  cuzk_store_be64(m + 36, node);
  uint8_t *to = m + 64;
  for (unsigned i = 0; i < n; i++) cuzk_fr_to_le(to + 32 * i, parents[i]);
  for (unsigned i = n; i < CUZK_POREP_LABEL_PARENTS; i++) memcpy(to + 32 * i, to + 32 * (i - n), 32);
  cuzk_sha256(h, m, sizeof m);
  h[31] &= 0x3f; /* below 2^254, hence canonical */
  (void)cuzk_fr_from_le(label, h);
}
