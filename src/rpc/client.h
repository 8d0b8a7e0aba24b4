/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Unary gRPC calls from the command line's side: blocking, one connection, several threads may call at once. */
#ifndef CUZK_RPC_CLIENT_H
#define CUZK_RPC_CLIENT_H
#include <stdatomic.h>

#include "rpc/server.h"

struct cuzk_rpc_client;
struct cuzk_rpc_client_options {
  const char *address; /* "unix:///path", "host:port", "http://host:port", "https://host:port" */
  const char *token, *ca, *cert, *key; /* NULL: none. ca or https: TLS */
  uint64_t connect_timeout_ms;         /* 0: 10 s */
  uint64_t max_message_bytes;          /* of answers; 0: 256 MiB */
};
/** Connects. Errors: E_ARG (address), E_IO (refused, timeout: the detail says what was tried), E_FORMAT (certificates). */
enum cuzk_status cuzk_rpc_client_open(struct cuzk_rpc_client **out, const struct cuzk_rpc_client_options *o, struct cuzk_detail *d);
/** Calls in flight end with UNAVAILABLE. *c becomes NULL; NULL is accepted. */
void cuzk_rpc_client_close(struct cuzk_rpc_client **c);
struct cuzk_rpc_answer {
  enum cuzk_grpc_code code;
  char *message; /* of the status; NULL */
  uint8_t *body;
  size_t n;
};
void cuzk_rpc_answer_clear(struct cuzk_rpc_answer *a);
/** One call. timeout_ms 0: none, else it is sent as grpc-timeout and kept here, too. cancel: checked every 100 ms; the stream is reset
 *  and the code is CANCELLED. Errors: E_NOMEM; everything else is a code (connection lost: UNAVAILABLE). */
enum cuzk_status cuzk_rpc_client_call(struct cuzk_rpc_client *c, const char *path, const uint8_t *body, size_t n, uint64_t timeout_ms,
                                      const atomic_bool *cancel, struct cuzk_rpc_answer *out, struct cuzk_detail *d);
#endif
