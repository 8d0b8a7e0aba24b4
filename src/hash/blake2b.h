/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** BLAKE2b (RFC 7693), keyed and unkeyed, 1 to 64 bytes of output. */
#ifndef CUZK_HASH_BLAKE2B_H
#define CUZK_HASH_BLAKE2B_H
#include <stddef.h>
#include <stdint.h>

struct cuzk_blake2b {
  uint64_t h[8];
  uint64_t t[2];
  uint8_t buf[128];
  size_t n_buf;
  uint8_t out_bytes;
};
/** out_bytes 1..64; key_bytes 0..64. */
void cuzk_blake2b_init(struct cuzk_blake2b *s, size_t out_bytes, const void *key, size_t key_bytes);
/** Feeds n bytes; n = 0 is allowed. */
void cuzk_blake2b_update(struct cuzk_blake2b *s, const void *p, size_t n);
/** Writes the out_bytes of init; after that the state only takes another init. */
void cuzk_blake2b_final(struct cuzk_blake2b *s, uint8_t *out);
/** All at once: the out_bytes of BLAKE2b over p[n]. */
void cuzk_blake2b(uint8_t *out, size_t out_bytes, const void *key, size_t key_bytes, const void *p, size_t n);
#endif
