/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** gRPC over HTTP/2: unary calls on TCP (h2c, TLS, mutual TLS) and unix sockets (engine specification 2.1). Knows no protobuf and no service;
 *  gives whole messages to methods and sends whole answers.
 *
 *  Threads  one loop thread owns all sockets. Method functions and call callbacks run on it and must not block. cuzk_rpc_reply may be
 *           called from any thread. */
#ifndef CUZK_RPC_SERVER_H
#define CUZK_RPC_SERVER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

enum cuzk_grpc_code {
  CUZK_GRPC_OK = 0, CUZK_GRPC_CANCELLED = 1, CUZK_GRPC_UNKNOWN = 2, CUZK_GRPC_INVALID_ARGUMENT = 3, CUZK_GRPC_DEADLINE_EXCEEDED = 4,
  CUZK_GRPC_NOT_FOUND = 5, CUZK_GRPC_ALREADY_EXISTS = 6, CUZK_GRPC_PERMISSION_DENIED = 7, CUZK_GRPC_RESOURCE_EXHAUSTED = 8,
  CUZK_GRPC_FAILED_PRECONDITION = 9, CUZK_GRPC_ABORTED = 10, CUZK_GRPC_OUT_OF_RANGE = 11, CUZK_GRPC_UNIMPLEMENTED = 12,
  CUZK_GRPC_INTERNAL = 13, CUZK_GRPC_UNAVAILABLE = 14, CUZK_GRPC_DATA_LOSS = 15, CUZK_GRPC_UNAUTHENTICATED = 16
};
/** "NOT_FOUND"; "UNKNOWN" outside the table. */
const char *cuzk_grpc_code_name(int code);
enum cuzk_grpc_code cuzk_grpc_code_of(enum cuzk_status s);

struct cuzk_rpc_server;
struct cuzk_rpc_call;
typedef void cuzk_rpc_method_fn(void *user, struct cuzk_rpc_call *call);
struct cuzk_rpc_method {
  const char *path; /* "/cuzk.v1.ProvingEngine/Prove" */
  cuzk_rpc_method_fn *fn;
  bool streaming;   /* server reflection and health watch: several messages each way */
};

struct cuzk_rpc_listen {
  const char *address; /* "unix:///path", "host:port", "[v6]:port"; port 0: any */
  const char *tls_cert, *tls_key, *tls_client_ca; /* files, NULL or "": none; TCP only */
  unsigned socket_mode;     /* of a unix socket; 0: 0660 */
  const char *socket_group; /* NULL: unchanged */
  bool need_token;          /* TCP only: the server's token must be presented */
};
struct cuzk_rpc_options {
  const struct cuzk_rpc_method *methods; /* copied */
  size_t n_methods;
  void *user;                  /* first argument of methods */
  const char *token;           /* bearer token; copied */
  uint64_t max_message_bytes;  /* 0: 256 MiB */
  unsigned max_streams, max_connections; /* a connection, in all; 0: 128, 1024 */
  uint64_t max_buffered_bytes; /* of unfinished messages over all connections; 0: 4 times max_message_bytes */
  uint64_t max_response_bytes; /* of one answer, else RESOURCE_EXHAUSTED; 0: 16 MiB */
  uint64_t header_timeout_ms, idle_timeout_ms; /* a connection that does not speak / has no streams; 0: 10 s, none */
  uint64_t stall_timeout_ms; /* an upload, an answer or a socket that does not move on is given up; 0: 60 s */
};
enum cuzk_status cuzk_rpc_server_create(struct cuzk_rpc_server **out, const struct cuzk_rpc_options *o, struct cuzk_detail *d);
/** Binds and listens before it returns. A unix path: parent folder made, lock file taken, a live daemon on it is E_IO ("in use"), only a
 *  stale socket is replaced. Errors: E_ARG (address), E_IO, E_FORMAT (certificates), E_UNSUPPORTED. */
enum cuzk_status cuzk_rpc_server_listen(struct cuzk_rpc_server *s, const struct cuzk_rpc_listen *l, struct cuzk_detail *d);
/** The address as bound ("127.0.0.1:40123"), i-th listen. */
const char *cuzk_rpc_server_address(const struct cuzk_rpc_server *s, size_t i);
/** Starts the loop thread. */
enum cuzk_status cuzk_rpc_server_start(struct cuzk_rpc_server *s, struct cuzk_detail *d);
/** Connections without calls get GOAWAY, others when their calls are over; new ones are taken, so that views and waiting work to the end
 *  (methods refuse what must not begin). Any thread. */
void cuzk_rpc_server_drain(struct cuzk_rpc_server *s);
/** Stops the loop (open calls are cancelled, their on_end called), removes sockets and lock files. *s becomes NULL. */
void cuzk_rpc_server_destroy(struct cuzk_rpc_server **s);
/** Runs fn(user) on the loop thread soon. Any thread. Errors: E_NOMEM. */
enum cuzk_status cuzk_rpc_server_post(struct cuzk_rpc_server *s, void (*fn)(void *user), void *user);
struct cuzk_rpc_stats {
  uint64_t connections, connections_total, streams, calls_total, bytes_in, bytes_out, buffered_bytes, protocol_errors;
};
void cuzk_rpc_server_stats(struct cuzk_rpc_server *s, struct cuzk_rpc_stats *out);

/** --- one call; alive from its method until on_end has returned --- */
const char *cuzk_rpc_call_path(const struct cuzk_rpc_call *c);
/** "unix" or "addr:port". */
const char *cuzk_rpc_call_peer(const struct cuzk_rpc_call *c);
/** The request message, without gRPC prefix. */
const uint8_t *cuzk_rpc_call_message(const struct cuzk_rpc_call *c, size_t *n);
/** The message's memory becomes the caller's (cuzk_free). */
uint8_t *cuzk_rpc_call_take(struct cuzk_rpc_call *c, size_t *n);
/** Milliseconds left of grpc-timeout, UINT64_MAX if none was given. On expiry the transport answers DEADLINE_EXCEEDED itself. */
uint64_t cuzk_rpc_call_remaining_ms(const struct cuzk_rpc_call *c);
/** fn is called once on the loop thread when the stream is over: delivered tells whether the whole answer went out to the socket
 *  (false: reset, deadline, connection lost). After it c is gone. To be set inside the method. */
void cuzk_rpc_call_on_end(struct cuzk_rpc_call *c, void (*fn)(void *user, bool delivered), void *user);
/** A handle for other threads: valid, though perhaps dead, until released. */
struct cuzk_rpc_handle;
struct cuzk_rpc_handle *cuzk_rpc_call_handle(struct cuzk_rpc_call *c); /* NULL: out of memory */
void cuzk_rpc_handle_release(struct cuzk_rpc_handle **h);
/** Answers: body[n] (copied) if code is OK, else message (may be NULL). retry_after_ms > 0 adds that metadata. Any thread; a call that is over
 *  or answered is left alone. */
void cuzk_rpc_reply(struct cuzk_rpc_handle *h, enum cuzk_grpc_code code, const char *message, const uint8_t *body, size_t n,
                    uint64_t retry_after_ms);
/** Streaming methods: fn is called for each further message, and once more, with message NULL, when the client has ended its side; sends one
 *  message / ends. Loop thread. */
void cuzk_rpc_call_on_message(struct cuzk_rpc_call *c, cuzk_rpc_method_fn *fn);
void cuzk_rpc_call_send(struct cuzk_rpc_call *c, const uint8_t *body, size_t n);
void cuzk_rpc_call_finish(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message);
#endif
