/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** SHA-256 (FIPS 180-4): streaming, one-shot, and the bare compression; SHA extensions used where the CPU has them. */
#ifndef CUZK_HASH_SHA256_H
#define CUZK_HASH_SHA256_H
#include <stddef.h>
#include <stdint.h>

struct cuzk_sha256 {
  uint32_t h[8];
  uint64_t n_bytes; /* fed so far */
  uint8_t buf[64];
};
extern const uint32_t cuzk_sha256_k[64];
extern const uint32_t cuzk_sha256_iv[8];

/** A fresh state (FIPS 180-4). */
void cuzk_sha256_init(struct cuzk_sha256 *s);
/** Feeds n bytes; n = 0 is allowed. */
void cuzk_sha256_update(struct cuzk_sha256 *s, const void *p, size_t n);
/** Writes the digest; after that the state only takes another init. */
void cuzk_sha256_final(struct cuzk_sha256 *s, uint8_t out[32]);
/** All at once: the digest of p[n]. */
void cuzk_sha256(uint8_t out[32], const void *p, size_t n);
/** h is updated with n_blocks 64-byte blocks. */
void cuzk_sha256_compress(uint32_t h[8], const uint8_t *blocks, size_t n_blocks);
#endif
