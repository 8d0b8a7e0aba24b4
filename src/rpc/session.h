/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The server's side of one HTTP/2 connection, without any I/O: bytes in, bytes out, time given. One thread. */
#ifndef CUZK_RPC_SESSION_H
#define CUZK_RPC_SESSION_H
#include <sys/types.h>

#include "rpc/mailbox.h"
#include "rpc/server.h"
#include "rpc/wire.h"

/** What all connections of a server share. */
struct cuzk_rpc_core {
  struct cuzk_rpc_options o; /* limits filled in; methods and token are borrowed */
  uint64_t stall_ms;         /* a request or answer that does not move for so long is ended */
  struct cuzk_rpc_budget budget;
  struct cuzk_mailbox *mailbox; /* of replies from other threads */
  _Atomic uint64_t connections, connections_total, streams, calls_total, bytes_in, bytes_out, protocol_errors;
};
struct cuzk_rpc_session;
/** wake(io): output may have appeared outside of input. peer is copied. Errors: E_NOMEM. */
enum cuzk_status cuzk_rpc_session_create(struct cuzk_rpc_session **out, struct cuzk_rpc_core *core, const char *peer, bool need_token,
                                         void (*wake)(void *io), void *io, uint64_t now_ms);
/** Ends every call as not delivered. */
void cuzk_rpc_session_destroy(struct cuzk_rpc_session **s);
/** False: the connection must be closed, after what output there is has been written. */
bool cuzk_rpc_session_input(struct cuzk_rpc_session *s, const uint8_t *p, size_t n, uint64_t now_ms);
/** The next bytes to write, valid until the next call of this session; 0: nothing now; -1: close. */
ssize_t cuzk_rpc_session_output(struct cuzk_rpc_session *s, const uint8_t **p);
/** So many more bytes went out to the socket. */
void cuzk_rpc_session_written(struct cuzk_rpc_session *s, size_t n);
/** Deadlines. Returns the moment of the next one, UINT64_MAX: none. */
uint64_t cuzk_rpc_session_tick(struct cuzk_rpc_session *s, uint64_t now_ms);
void cuzk_rpc_session_drain(struct cuzk_rpc_session *s);
/** Nothing more to come: close. */
bool cuzk_rpc_session_over(const struct cuzk_rpc_session *s);
#endif
