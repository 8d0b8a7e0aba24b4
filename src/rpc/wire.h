/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** gRPC's own formats over HTTP/2: messages with their 5-byte prefix, grpc-timeout, grpc-message. No sockets, no HTTP/2. */
#ifndef CUZK_RPC_WIRE_H
#define CUZK_RPC_WIRE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUZK_GRPC_PREFIX 5

/** Bytes of unfinished messages, shared between connections. */
struct cuzk_rpc_budget {
  _Atomic uint64_t used;
  uint64_t limit;
};

/** A message being received. Memory grows with the data that has arrived, at most twice of it, never beyond the announced size;
 *  it is charged to the budget until the message is taken or cleared. Zeroed: empty. */
struct cuzk_rpc_inbox {
  struct cuzk_rpc_budget *budget; /* NULL: not counted */
  uint64_t max;                   /* of a message */
  uint8_t prefix[CUZK_GRPC_PREFIX];
  unsigned n_prefix;
  bool compressed;
  size_t len, have, room;
  uint8_t *data;
};
enum cuzk_rpc_feed {
  CUZK_FEED_MORE,     /* all bytes used, message incomplete */
  CUZK_FEED_MESSAGE,  /* a message is complete: data[len]; take or drop it before feeding on */
  CUZK_FEED_TOO_BIG,  /* the prefix announces more than max; len tells how much */
  CUZK_FEED_FLAG,     /* the first byte is neither 0 nor 1 */
  CUZK_FEED_COMPRESSED,
  CUZK_FEED_BUDGET,   /* the budget is used up */
  CUZK_FEED_NOMEM
};
/** Takes bytes up to the end of one message. *used: how many. Errors leave the inbox useless but clearable. */
enum cuzk_rpc_feed cuzk_rpc_inbox_feed(struct cuzk_rpc_inbox *in, const uint8_t *p, size_t n, size_t *used);
/** True between messages: nothing of a next one has arrived. */
bool cuzk_rpc_inbox_empty(const struct cuzk_rpc_inbox *in);
/** The complete message becomes the caller's (cuzk_free; never NULL) and is charged no longer; ready for the next one. */
uint8_t *cuzk_rpc_inbox_take(struct cuzk_rpc_inbox *in, size_t *n);
/** Frees what is there. */
void cuzk_rpc_inbox_clear(struct cuzk_rpc_inbox *in);

void cuzk_grpc_prefix_write(uint8_t out[CUZK_GRPC_PREFIX], size_t n);

/** grpc-timeout: 1 to 8 digits and one of H M S m u n. Milliseconds, rounded up; false if it does not parse. */
bool cuzk_grpc_timeout_parse(uint64_t *ms, const char *text, size_t n);
/** The same way back, rounded up where 8 digits do not hold it. out[16]. */
void cuzk_grpc_timeout_write(char out[16], uint64_t ms);

/** grpc-message: bytes outside 0x20..0x7e and '%' become %XX. out[3 * n + 1]. Returns its length. */
size_t cuzk_grpc_percent_encode(char *out, const char *text, size_t n);
/** Never fails: what is no valid escape is kept as it is. out[n + 1]. Returns its length. */
size_t cuzk_grpc_percent_decode(char *out, const char *text, size_t n);

/** application/grpc, application/grpc+proto, either with ";parameters". */
bool cuzk_grpc_content_type(const char *text, size_t n);
#endif
