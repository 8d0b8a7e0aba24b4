/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Small pieces of gRPC over HTTP/2 that server and client share: status texts, grpc-timeout, the 5-byte prefix.
 *  Source  engine specification 2.1. */
#ifndef CUZK_RPC_GRPC_H
#define CUZK_RPC_GRPC_H
#include "rpc/server.h"

#define CUZK_GRPC_PREFIX 5

/** Percent-encodes a status message into out[n] (cut to fit, never inside an escape); returns its length. */
size_t cuzk_grpc_encode_message(char *out, size_t n, const char *text);
/** Decodes in place, what is no escape stays; returns the new length. */
size_t cuzk_grpc_decode_message(char *s, size_t n);
/** "100m" -> milliseconds, rounded up; UINT64_MAX if it does not parse. */
uint64_t cuzk_grpc_parse_timeout(const char *s, size_t n);
/** Milliseconds as at most 8 digits and a unit. */
void cuzk_grpc_format_timeout(char out[12], uint64_t ms);

/** A message being received: the prefix first, then so many bytes. Memory grows as bytes arrive, never at a stranger's word. */
struct cuzk_grpc_reader {
  uint8_t prefix[CUZK_GRPC_PREFIX];
  unsigned n_prefix;
  uint8_t *buf;
  size_t n, cap, need;
  bool complete; /* a whole message is in buf */
};
enum cuzk_grpc_feed { CUZK_FEED_MORE, CUZK_FEED_MESSAGE, CUZK_FEED_TOO_LARGE, CUZK_FEED_COMPRESSED, CUZK_FEED_NO_MEMORY };
/** Takes bytes until a message is complete; *used tells how many. grow(user, more) must agree to each growth of the buffer (NULL: always). */
enum cuzk_grpc_feed cuzk_grpc_read(struct cuzk_grpc_reader *r, const uint8_t *data, size_t n, size_t *used, uint64_t max_bytes,
                                   bool (*grow)(void *user, size_t more), void *user);
/** Ready for the next message; frees the buffer. */
void cuzk_grpc_reader_reset(struct cuzk_grpc_reader *r);
void cuzk_grpc_write_prefix(uint8_t out[CUZK_GRPC_PREFIX], size_t n);

/** Monotonic milliseconds. */
uint64_t cuzk_rpc_now_ms(void);
#endif
