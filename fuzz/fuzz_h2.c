/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* HTTP/2 frames and gRPC framing as a stranger may send them. The first byte chooses: bit 0, the connection preface and SETTINGS are put before;
 * bit 1, a token is asked for; bits 4 to 7, in pieces of how many bytes the rest arrives. */
#include <stdlib.h>

#include "base/alloc.h"
#include "rpc/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static unsigned open_calls;

static void over(void *user, bool delivered) {
  (void)user;
  (void)delivered;
  open_calls--;
}

static void echo(void *user, struct cuzk_rpc_call *c) {
  size_t n;
  const uint8_t *m = cuzk_rpc_call_message(c, &n);
  (void)user;
  open_calls++;
  cuzk_rpc_call_on_end(c, over, NULL);
  struct cuzk_rpc_handle *h = cuzk_rpc_call_handle(c);
  if (!h) return;
  cuzk_rpc_reply(h, n && m[0] & 1 ? CUZK_GRPC_NOT_FOUND : CUZK_GRPC_OK, "odd", m, n, 0);
  cuzk_rpc_handle_release(&h);
}

static void more(void *user, struct cuzk_rpc_call *c) {
  size_t n;
  const uint8_t *m = cuzk_rpc_call_message(c, &n);
  (void)user;
  if (m && n != 3) cuzk_rpc_call_send(c, m, n);
  else cuzk_rpc_call_finish(c, m ? CUZK_GRPC_ABORTED : CUZK_GRPC_OK, "three");
}

static void each(void *user, struct cuzk_rpc_call *c) {
  open_calls++;
  cuzk_rpc_call_on_end(c, over, NULL);
  cuzk_rpc_call_on_message(c, more);
  more(user, c);
}

static void drain(struct rpc_session *s) {
  size_t k;
  while (rpc_session_output(s, &k)) continue;
  rpc_session_sent(s, s->queued);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const uint8_t begin[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
  static struct cuzk_rpc_method methods[] = {{"/t.T/Echo", echo, false}, {"/t.T/Each", each, true}};
  static char token[] = "secret";
  if (!n) return 0;
  const int64_t live = cuzk_alloc_live();
  struct rpc_shared shared = {.core = rpc_core_create(), .methods = methods, .n_methods = 2, .token = token, .max_message = 5000, .max_response = 4000,
                              .max_buffered = 8000, .stall_ms = 1000, .max_streams = 4};
  struct rpc_session *s;
  if (!shared.core) abort();
  if (rpc_session_create(&s, &shared, "fuzz", data[0] & 2) != CUZK_OK) abort();
  bool good = !(data[0] & 1) || rpc_session_input(s, begin, sizeof begin);
  const size_t piece = data[0] >> 4 ? data[0] >> 4 : n;
  for (size_t at = 1; good && at < n; at += piece) {
    good = rpc_session_input(s, data + at, piece < n - at ? piece : n - at);
    rpc_core_run(shared.core);
    drain(s);
    if (shared.buffered > shared.max_buffered || s->n_calls > shared.max_streams + 1) abort();
  }
  bool alive;
  (void)rpc_session_tick(s, cuzk_rpc_now_ms() + 2000, &alive);
  drain(s);
  if (n % 2) rpc_session_drain(s);
  drain(s);
  rpc_session_destroy(&s);
  rpc_core_run(shared.core);
  if (open_calls || shared.buffered || shared.stats.streams) abort(); /* each call has had its end */
  rpc_core_unref(shared.core);
  if (cuzk_alloc_live() != live) abort();
  return 0;
}
