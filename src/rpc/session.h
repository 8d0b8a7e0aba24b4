/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The server's side of one HTTP/2 connection, without sockets: bytes in, bytes out. server.c moves the bytes; the fuzzer feeds them
 *  from memory. All on one thread. */
#ifndef CUZK_RPC_SESSION_H
#define CUZK_RPC_SESSION_H
#include <nghttp2/nghttp2.h>
#include <pthread.h>

#include "rpc/grpc.h"

/** What outlives the server: replies from other threads find here whether it still runs. */
struct rpc_core {
  pthread_mutex_t lock;
  unsigned refs;
  bool alive;
  struct rpc_post *first, **last; /* functions for the loop thread */
  int wake_fd;                    /* eventfd; -1 without a loop */
};
struct rpc_core *rpc_core_create(void);
struct rpc_core *rpc_core_ref(struct rpc_core *c);
void rpc_core_unref(struct rpc_core *c);
/** Errors: E_NOMEM; E_CANCELLED if the server is gone (fn will not be called). */
enum cuzk_status rpc_core_post(struct rpc_core *c, void (*fn)(void *user), void *user);
/** Runs what was posted; loop thread. */
void rpc_core_run(struct rpc_core *c);

/** What all sessions of a server share. */
struct rpc_shared {
  struct rpc_core *core;
  struct cuzk_rpc_method *methods;
  size_t n_methods;
  void *user;
  char *token;
  uint64_t max_message, max_response, max_buffered, buffered;
  uint64_t stall_ms;
  unsigned max_streams;
  struct cuzk_rpc_stats stats; /* written by the loop thread under core->lock */
};

struct rpc_session {
  struct rpc_shared *shared;
  nghttp2_session *h2;
  struct cuzk_rpc_call *calls; /* open streams */
  struct cuzk_rpc_call *ended; /* answered, but perhaps not yet out of the socket's buffer */
  unsigned n_calls;
  bool need_token, draining;
  char peer[64];
  uint64_t queued;        /* bytes handed out by rpc_session_output so far */
  uint64_t n_frames;      /* whole frames, and pieces of messages, that have come */
  unsigned resets;        /* of the current second's allowance */
  uint64_t resets_ms;
  bool failed;
};
/** Errors: E_NOMEM. */
enum cuzk_status rpc_session_create(struct rpc_session **out, struct rpc_shared *shared, const char *peer, bool need_token);
/** Ends all calls (not delivered). */
void rpc_session_destroy(struct rpc_session **s);
/** Takes bytes from the peer. False: the connection is to be closed once what output() gives is written. */
bool rpc_session_input(struct rpc_session *s, const uint8_t *data, size_t n);
/** The next bytes to send, NULL if there are none now; valid until the next call. */
const uint8_t *rpc_session_output(struct rpc_session *s, size_t *n);
/** So many of the bytes from output() have left for the peer. */
void rpc_session_sent(struct rpc_session *s, uint64_t total);
/** Nothing more is to be read or written. */
bool rpc_session_finished(struct rpc_session *s);
void rpc_session_drain(struct rpc_session *s);
/** Deadlines, stalled uploads; returns ms until the next deadline at most. False in *alive: close. */
uint64_t rpc_session_tick(struct rpc_session *s, uint64_t now_ms, bool *alive);

struct out_piece {
  struct out_piece *next;
  size_t n, at;
  uint8_t data[];
};
struct cuzk_rpc_call {
  struct rpc_session *session;
  struct cuzk_rpc_call *next;
  int32_t id;
  const struct cuzk_rpc_method *method;
  struct cuzk_rpc_handle *handle;
  char path[128];
  uint64_t deadline_ms, progress_ms; /* UINT64_MAX: none; when bytes last came, or went once it is answered */
  size_t header_bytes, trickle; /* trickle: bytes since progress_ms */
  bool grpc, post, compressed, wrong_token, has_token, long_path, too_many_headers; /* what the headers said */
  bool dispatched, input_ended, responded, headers_only, finished, closed;
  bool stalled;      /* reset because its answer was not taken */
  bool by_transport; /* the answer is not the method's: a deadline */
  struct cuzk_grpc_reader reader;
  size_t charged; /* of shared->buffered */
  cuzk_rpc_method_fn *on_message;
  void (*on_end)(void *user, bool delivered);
  void *on_end_user;
  struct out_piece *out, **out_last;
  enum cuzk_grpc_code code;
  char *message;
  uint64_t retry_after_ms;
  uint64_t mark; /* of session->queued when the stream closed */
  bool complete; /* the whole answer was written into the output */
};
struct cuzk_rpc_handle {
  struct rpc_core *core;
  struct cuzk_rpc_call *call; /* NULL when it is over; loop thread */
  unsigned refs;              /* under core->lock */
};
/** Answers immediately; loop thread. */
void rpc_call_answer(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message, const uint8_t *body, size_t n, uint64_t retry_after_ms);
/** Gives back the memory that a message was charged with. */
void rpc_call_uncharge(struct cuzk_rpc_call *c);
/** Appends bytes to the answer. False: no memory. */
bool rpc_call_append(struct cuzk_rpc_call *c, const uint8_t *body, size_t n);
#endif
