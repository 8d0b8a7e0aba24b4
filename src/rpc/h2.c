/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "rpc/session.h"

#define HEADER_LIST_MAX 16384
#define STREAM_WINDOW (1 << 20)
#define LARGE_WINDOW (8 << 20)
#define CONNECTION_WINDOW (16 << 20)
#define CONTROL_BURST 4000u

struct chunk {
  struct chunk *next;
  size_t n, at;
  uint8_t data[];
};
struct cuzk_rpc_handle {
  struct cuzk_mail mail; /* of the reply; holds a reference while under way */
  atomic_uint refs;
  atomic_bool replied;
  struct cuzk_rpc_call *call; /* loop thread; NULL: over */
  struct cuzk_mailbox *mailbox;
  enum cuzk_grpc_code code;
  char *message;
  struct chunk *body;
  uint64_t retry_after_ms;
};
struct cuzk_rpc_call {
  struct cuzk_rpc_call *next, **link; /* in the session */
  struct cuzk_rpc_session *s;
  int32_t id;
  const struct cuzk_rpc_method *method;
  char *path;
  size_t header_bytes;
  bool is_post, is_grpc, wrong_token, has_token, has_deadline;
  bool dispatched, half_closed, headers_sent, finished, end_sent, closed;
  uint64_t deadline, moved;
  struct cuzk_rpc_inbox in;
  uint8_t *message;
  size_t n_message;
  struct chunk *first, *last;
  size_t queued;
  enum cuzk_grpc_code code;
  char *text;
  uint64_t retry_after_ms, end_at;
  void (*on_end)(void *user, bool delivered);
  void *on_end_user;
  cuzk_rpc_method_fn *on_message;
  struct cuzk_rpc_handle *handle;
};
struct cuzk_rpc_session {
  struct cuzk_rpc_core *core;
  nghttp2_session *h2;
  char *peer;
  bool need_token, failed, draining;
  void (*wake)(void *io);
  void *io;
  uint64_t now, produced, written, header_since;
  unsigned control;
  uint64_t control_since;
  struct cuzk_rpc_call *calls;
};

static void *mem_malloc(size_t n, void *u) { (void)u; return cuzk_malloc(n); }
static void mem_free(void *p, void *u) { (void)u; cuzk_free(p); }
static void *mem_calloc(size_t n, size_t size, void *u) { (void)u; return cuzk_calloc(n, size); }
static void *mem_realloc(void *p, size_t n, void *u) { (void)u; return cuzk_realloc_array(p, n, 1); }
static nghttp2_mem memory = {NULL, mem_malloc, mem_free, mem_calloc, mem_realloc};

/* --- the end of calls --- */

static void end_call(struct cuzk_rpc_call *c, bool delivered) {
  if (c->on_end) c->on_end(c->on_end_user, delivered);
  if (c->handle) {
    c->handle->call = NULL;
    cuzk_rpc_handle_release(&c->handle);
  }
  *c->link = c->next;
  if (c->next) c->next->link = c->link;
  while (c->first) {
    struct chunk *k = c->first;
    c->first = k->next;
    cuzk_free(k);
  }
  cuzk_rpc_inbox_clear(&c->in);
  cuzk_free(c->message);
  cuzk_free(c->path);
  cuzk_free(c->text);
  atomic_fetch_sub(&c->s->core->streams, 1);
  cuzk_free(c);
}

static void settle(struct cuzk_rpc_session *s) {
  for (struct cuzk_rpc_call *c = s->calls, *next; c; c = next) {
    next = c->next;
    if (!c->closed) continue;
    if (!c->end_sent) end_call(c, false);
    else if (s->written >= c->end_at) end_call(c, true);
  }
}

/* --- answers --- */

static nghttp2_nv field(const char *name, const char *value, size_t n) {
  return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), n, NGHTTP2_NV_FLAG_NONE};
}

static size_t status_fields(struct cuzk_rpc_call *c, nghttp2_nv *nv, char *code, char *retry, char *text) {
  size_t n = 0, k = 0;
  if (c->code >= 10) code[k++] = '1';
  code[k++] = (char)('0' + c->code % 10);
  nv[n++] = field("grpc-status", code, k);
  if (c->text) nv[n++] = field("grpc-message", text, cuzk_grpc_percent_encode(text, c->text, strlen(c->text)));
  if (c->retry_after_ms) {
    cuzk_grpc_timeout_write(retry, c->retry_after_ms > 99999999 ? 99999999 : c->retry_after_ms);
    nv[n++] = field("retry-after-ms", retry, strlen(retry) - 1);
  }
  return n;
}

static ssize_t read_body(nghttp2_session *h2, int32_t id, uint8_t *buf, size_t room, uint32_t *flags, nghttp2_data_source *source, void *user) {
  struct cuzk_rpc_call *c = source->ptr;
  (void)user;
  size_t n = 0;
  while (c->first && n < room) {
    struct chunk *k = c->first;
    size_t part = k->n - k->at < room - n ? k->n - k->at : room - n;
    memcpy(buf + n, k->data + k->at, part);
    n += part;
    k->at += part;
    if (k->at < k->n) break;
    c->first = k->next;
    if (!c->first) c->last = NULL;
    cuzk_free(k);
  }
  c->queued -= n;
  c->moved = c->s->now;
  if (c->first || !c->finished) return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
  nghttp2_nv nv[3];
  char code[2], retry[16], text[3 * 1024 + 1];
  *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
  if (nghttp2_submit_trailer(h2, id, nv, status_fields(c, nv, code, retry, text)) != 0) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  return (ssize_t)n;
}

/* http: 200 unless the request is no gRPC at all. */
static void respond(struct cuzk_rpc_call *c, const char *http) {
  nghttp2_nv nv[6];
  char code[2], retry[16], text[3 * 1024 + 1];
  size_t n = 0;
  nghttp2_data_provider body = {.source.ptr = c, .read_callback = read_body};
  nv[n++] = field(":status", http, 3);
  nv[n++] = field("content-type", "application/grpc", 16);
  nv[n++] = field("grpc-accept-encoding", "identity", 8);
  bool only = c->finished && !c->first;
  if (only) n += status_fields(c, nv + n, code, retry, text);
  c->headers_sent = true;
  if (nghttp2_submit_response(c->s->h2, c->id, nv, n, only ? NULL : &body) != 0)
    (void)nghttp2_submit_rst_stream(c->s->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
}

static void finish(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message, const char *http) {
  if (c->finished || c->closed) return;
  c->finished = true;
  c->code = code;
  c->moved = c->s->now;
  if (message) {
    size_t n = strnlen(message, 1024);
    c->text = cuzk_malloc(n + 1);
    if (c->text) {
      memcpy(c->text, message, n);
      c->text[n] = 0;
    }
  }
  cuzk_rpc_inbox_clear(&c->in);
  if (!c->headers_sent) respond(c, http);
  else (void)nghttp2_session_resume_data(c->s->h2, c->id);
  c->s->wake(c->s->io);
}

static void enqueue(struct cuzk_rpc_call *c, struct chunk *k) {
  k->next = NULL;
  if (c->last) c->last->next = k;
  else c->first = k;
  c->last = k;
  c->queued += k->n;
}

static struct chunk *chunk_of(const uint8_t *body, size_t n) {
  struct chunk *k = n <= UINT32_MAX ? cuzk_malloc(sizeof *k + CUZK_GRPC_PREFIX + n) : NULL;
  if (!k) return NULL;
  k->next = NULL;
  k->n = n + CUZK_GRPC_PREFIX;
  k->at = 0;
  cuzk_grpc_prefix_write(k->data, n);
  if (n) memcpy(k->data + CUZK_GRPC_PREFIX, body, n);
  return k;
}

void cuzk_rpc_call_send(struct cuzk_rpc_call *c, const uint8_t *body, size_t n) {
  if (c->finished || c->closed) return;
  struct chunk *k = chunk_of(body, n);
  if (!k) {
    finish(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the answer", "200");
    return;
  }
  enqueue(c, k);
  if (!c->headers_sent) respond(c, "200");
  else (void)nghttp2_session_resume_data(c->s->h2, c->id);
  c->s->wake(c->s->io);
}

void cuzk_rpc_call_finish(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message) { finish(c, code, message, "200"); }

static void run_reply(struct cuzk_mail *m, bool alive) {
  struct cuzk_rpc_handle *h = (struct cuzk_rpc_handle *)(void *)m;
  struct cuzk_rpc_call *c = h->call;
  if (alive && c && !c->finished && !c->closed) {
    c->retry_after_ms = h->retry_after_ms;
    if (h->code == CUZK_GRPC_OK && h->body) {
      enqueue(c, h->body);
      h->body = NULL;
    }
    finish(c, h->code, h->message, "200");
  }
  cuzk_rpc_handle_release(&h);
}

struct cuzk_rpc_handle *cuzk_rpc_call_handle(struct cuzk_rpc_call *c) {
  if (!c->handle) {
    struct cuzk_rpc_handle *h = cuzk_calloc(1, sizeof *h);
    if (!h) return NULL;
    atomic_init(&h->refs, 1);
    h->mail.run = run_reply;
    h->call = c;
    h->mailbox = c->s->core->mailbox;
    cuzk_mailbox_ref(h->mailbox);
    c->handle = h;
  }
  atomic_fetch_add(&c->handle->refs, 1);
  return c->handle;
}

void cuzk_rpc_handle_release(struct cuzk_rpc_handle **ph) {
  struct cuzk_rpc_handle *h = *ph;
  *ph = NULL;
  if (!h || atomic_fetch_sub(&h->refs, 1) != 1) return;
  cuzk_mailbox_unref(&h->mailbox);
  cuzk_free(h->message);
  cuzk_free(h->body);
  cuzk_free(h);
}

void cuzk_rpc_reply(struct cuzk_rpc_handle *h, enum cuzk_grpc_code code, const char *message, const uint8_t *body, size_t n,
                    uint64_t retry_after_ms) {
  if (atomic_exchange(&h->replied, true)) return;
  h->code = code;
  h->retry_after_ms = retry_after_ms;
  if (code == CUZK_GRPC_OK) {
    h->body = chunk_of(body, n);
    if (!h->body) h->code = CUZK_GRPC_RESOURCE_EXHAUSTED;
  } else if (message) {
    h->message = cuzk_strdup(message);
  }
  atomic_fetch_add(&h->refs, 1);
  cuzk_mailbox_send(h->mailbox, &h->mail);
}

const char *cuzk_rpc_call_path(const struct cuzk_rpc_call *c) { return c->path; }
const char *cuzk_rpc_call_peer(const struct cuzk_rpc_call *c) { return c->s->peer; }
const uint8_t *cuzk_rpc_call_message(const struct cuzk_rpc_call *c, size_t *n) {
  *n = c->n_message;
  return c->message;
}
uint8_t *cuzk_rpc_call_take(struct cuzk_rpc_call *c, size_t *n) {
  uint8_t *p = c->message;
  *n = c->n_message;
  c->message = NULL;
  c->n_message = 0;
  return p;
}
uint64_t cuzk_rpc_call_remaining_ms(const struct cuzk_rpc_call *c) {
  uint64_t now = c->s->now;
  if (!c->has_deadline) return UINT64_MAX;
  return c->deadline > now ? c->deadline - now : 0;
}
void cuzk_rpc_call_on_end(struct cuzk_rpc_call *c, void (*fn)(void *user, bool delivered), void *user) {
  c->on_end = fn;
  c->on_end_user = user;
}
void cuzk_rpc_call_on_message(struct cuzk_rpc_call *c, cuzk_rpc_method_fn *fn) { c->on_message = fn; }

/* --- requests --- */

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *user) {
  struct cuzk_rpc_session *s = user;
  s->header_since = s->now;
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  struct cuzk_rpc_call *c = cuzk_calloc(1, sizeof *c);
  if (!c) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  c->s = s;
  c->id = frame->hd.stream_id;
  c->in.budget = &s->core->budget;
  c->in.max = s->core->o.max_message_bytes;
  c->moved = s->now;
  c->next = s->calls;
  c->link = &s->calls;
  if (c->next) c->next->link = &c->next;
  s->calls = c;
  atomic_fetch_add(&s->core->streams, 1);
  return nghttp2_session_set_stream_user_data(h2, c->id, c) == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Digests are compared, so that neither content nor length of the token shows in the time. */
static bool same_token(const char *want, const uint8_t *got, size_t n) {
  unsigned char a[SHA256_DIGEST_LENGTH], b[SHA256_DIGEST_LENGTH];
  (void)SHA256((const unsigned char *)want, strlen(want), a);
  (void)SHA256(got, n, b);
  return CRYPTO_memcmp(a, b, sizeof a) == 0;
}

static bool is(const uint8_t *p, size_t n, const char *text) { return n == strlen(text) && memcmp(p, text, n) == 0; }

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
                     uint8_t flags, void *user) {
  struct cuzk_rpc_session *s = user;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
  (void)flags;
  if (!c) return 0;
  c->header_bytes += n_name + n_value + 32;
  if (c->header_bytes > HEADER_LIST_MAX || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  if (is(name, n_name, ":method")) {
    c->is_post = is(value, n_value, "POST");
  } else if (is(name, n_name, ":path")) {
    c->path = cuzk_malloc(n_value + 1);
    if (!c->path) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    memcpy(c->path, value, n_value);
    c->path[n_value] = 0;
  } else if (is(name, n_name, "content-type")) {
    c->is_grpc = cuzk_grpc_content_type((const char *)value, n_value);
  } else if (is(name, n_name, "grpc-timeout")) {
    uint64_t ms;
    if (cuzk_grpc_timeout_parse(&ms, (const char *)value, n_value)) {
      c->has_deadline = true;
      c->deadline = s->now + ms;
    }
  } else if (s->need_token && is(name, n_name, "authorization")) {
    c->has_token = true;
    c->wrong_token = n_value < 7 || memcmp(value, "Bearer ", 7) != 0 || !same_token(s->core->o.token, value + 7, n_value - 7);
  }
  return 0;
}

static void check_headers(struct cuzk_rpc_call *c) {
  const struct cuzk_rpc_options *o = &c->s->core->o;
  atomic_fetch_add(&c->s->core->calls_total, 1);
  if (c->header_bytes > HEADER_LIST_MAX) {
    finish(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "the headers exceed 16384 bytes", "431");
  } else if (!c->is_post) {
    finish(c, CUZK_GRPC_INTERNAL, "the method must be POST", "405");
  } else if (!c->is_grpc) {
    finish(c, CUZK_GRPC_INVALID_ARGUMENT, "the content-type must be application/grpc", "415");
  } else if (c->s->need_token && !c->has_token) {
    finish(c, CUZK_GRPC_UNAUTHENTICATED, "a bearer token is required", "200");
  } else if (c->s->need_token && c->wrong_token) {
    finish(c, CUZK_GRPC_PERMISSION_DENIED, "the bearer token is not the right one", "200");
  } else {
    for (size_t i = 0; i < o->n_methods && !c->method; i++)
      if (strcmp(o->methods[i].path, c->path) == 0) c->method = &o->methods[i];
    if (!c->method) finish(c, CUZK_GRPC_UNIMPLEMENTED, "unknown method", "200");
    else if (c->has_deadline && c->deadline <= c->s->now) finish(c, CUZK_GRPC_DEADLINE_EXCEEDED, "the deadline is over", "200");
  }
}

static void dispatch(struct cuzk_rpc_call *c) {
  c->dispatched = true;
  c->method->fn(c->s->core->o.user, c);
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *user) {
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, id);
  (void)flags;
  (void)user;
  if (c) c->moved = c->s->now;
  while (n && c && !c->finished && !c->closed) {
    size_t used;
    bool fresh = c->in.n_prefix < CUZK_GRPC_PREFIX;
    if (c->message && !c->method->streaming) {
      finish(c, CUZK_GRPC_INTERNAL, "more than one message in a unary request", "200");
      break;
    }
    enum cuzk_rpc_feed e = cuzk_rpc_inbox_feed(&c->in, p, n, &used);
    p += used;
    n -= used;
    if (fresh && e == CUZK_FEED_MORE && c->in.len > STREAM_WINDOW)
      (void)nghttp2_session_set_local_window_size(h2, NGHTTP2_FLAG_NONE, id, LARGE_WINDOW);
    switch (e) {
      case CUZK_FEED_MORE: break;
      case CUZK_FEED_MESSAGE:
        cuzk_free(c->message);
        c->message = cuzk_rpc_inbox_take(&c->in, &c->n_message);
        if (!c->method->streaming) break;
        if (!c->dispatched) dispatch(c);
        else if (c->on_message) c->on_message(c->s->core->o.user, c);
        break;
      case CUZK_FEED_TOO_BIG: finish(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "the message is larger than the server's limit", "200"); break;
      case CUZK_FEED_FLAG: finish(c, CUZK_GRPC_INTERNAL, "malformed message prefix", "200"); break;
      case CUZK_FEED_COMPRESSED: finish(c, CUZK_GRPC_UNIMPLEMENTED, "compressed messages are not supported", "200"); break;
      case CUZK_FEED_BUDGET: finish(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "too many unfinished messages", "200"); break;
      case CUZK_FEED_NOMEM: finish(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the message", "200"); break;
    }
  }
  return 0;
}

static void on_half_close(struct cuzk_rpc_call *c) {
  c->half_closed = true;
  if (c->finished || c->closed) return;
  if (!cuzk_rpc_inbox_empty(&c->in)) {
    finish(c, CUZK_GRPC_INTERNAL, "the request ends inside a message", "200");
  } else if (!c->dispatched && !c->message) {
    finish(c, CUZK_GRPC_INTERNAL, "the request has no message", "200");
  } else if (!c->dispatched) {
    dispatch(c);
  } else if (c->on_message) {
    cuzk_free(c->message);
    c->message = NULL;
    c->n_message = 0;
    c->on_message(c->s->core->o.user, c);
  }
}

/* Frames that cost the sender nothing: a bucket that refills with time. */
static bool too_many_controls(struct cuzk_rpc_session *s) {
  if (s->now - s->control_since >= 1000) {
    s->control_since = s->now;
    s->control = 0;
  }
  return ++s->control > CONTROL_BURST;
}

static int on_frame_recv(nghttp2_session *h2, const nghttp2_frame *frame, void *user) {
  struct cuzk_rpc_session *s = user;
  struct cuzk_rpc_call *c = frame->hd.stream_id ? nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id) : NULL;
  bool empty = frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 && !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
  if (frame->hd.type == NGHTTP2_HEADERS) {
    s->header_since = UINT64_MAX;
    if (c && frame->headers.cat == NGHTTP2_HCAT_REQUEST) check_headers(c);
  } else if ((frame->hd.type != NGHTTP2_DATA || empty) && frame->hd.type != NGHTTP2_WINDOW_UPDATE && too_many_controls(s)) {
    (void)nghttp2_session_terminate_session(h2, NGHTTP2_ENHANCE_YOUR_CALM);
    atomic_fetch_add(&s->core->protocol_errors, 1);
    s->control = 0;
    s->failed = true;
  }
  if (frame->hd.type == NGHTTP2_SETTINGS && s->header_since != UINT64_MAX) s->header_since = UINT64_MAX;
  if (c && (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) on_half_close(c);
  return 0;
}

static int on_frame_send(nghttp2_session *h2, const nghttp2_frame *frame, void *user) {
  struct cuzk_rpc_session *s = user;
  if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
  if (!c) return 0;
  c->end_sent = true;
  c->end_at = s->produced;
  /* the rest of a request that was refused is not wanted */
  if (!c->half_closed) (void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_NO_ERROR);
  return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error, void *user) {
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, id);
  (void)error;
  (void)user;
  if (c) c->closed = true;
  return 0;
}

static int on_invalid_frame(nghttp2_session *h2, const nghttp2_frame *frame, int error, void *user) {
  struct cuzk_rpc_session *s = user;
  (void)h2;
  (void)frame;
  (void)error;
  atomic_fetch_add(&s->core->protocol_errors, 1);
  return 0;
}

enum cuzk_status cuzk_rpc_session_create(struct cuzk_rpc_session **out, struct cuzk_rpc_core *core, const char *peer, bool need_token,
                                         void (*wake)(void *io), void *io, uint64_t now_ms) {
  nghttp2_session_callbacks *cb = NULL;
  nghttp2_option *option = NULL;
  struct cuzk_rpc_session *s = cuzk_calloc(1, sizeof *s);
  *out = NULL;
  if (!s) return CUZK_E_NOMEM;
  *s = (struct cuzk_rpc_session){.core = core, .need_token = need_token, .wake = wake, .io = io, .now = now_ms, .header_since = now_ms,
                                 .control_since = now_ms, .peer = cuzk_strdup(peer)};
  if (!s->peer || nghttp2_session_callbacks_new(&cb) != 0 || nghttp2_option_new(&option) != 0) goto fail;
  nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
  nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
  nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
  nghttp2_option_set_stream_reset_rate_limit(option, 1000, 100);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, core->o.max_streams},
                                       {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
                                       {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_MAX}};
  if (nghttp2_session_server_new3(&s->h2, cb, s, option, &memory) != 0 ||
      nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, 3) != 0 ||
      nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) != 0)
    goto fail;
  nghttp2_session_callbacks_del(cb);
  nghttp2_option_del(option);
  *out = s;
  return CUZK_OK;
fail:
  nghttp2_session_callbacks_del(cb);
  nghttp2_option_del(option);
  cuzk_rpc_session_destroy(&s);
  return CUZK_E_NOMEM;
}

void cuzk_rpc_session_destroy(struct cuzk_rpc_session **ps) {
  struct cuzk_rpc_session *s = *ps;
  *ps = NULL;
  if (!s) return;
  for (struct cuzk_rpc_call *c = s->calls; c; c = c->next) c->closed = true;
  while (s->calls) end_call(s->calls, s->calls->end_sent && s->written >= s->calls->end_at);
  nghttp2_session_del(s->h2);
  cuzk_free(s->peer);
  cuzk_free(s);
}

bool cuzk_rpc_session_input(struct cuzk_rpc_session *s, const uint8_t *p, size_t n, uint64_t now_ms) {
  s->now = now_ms;
  ssize_t k = nghttp2_session_mem_recv(s->h2, p, n);
  if (k < 0) {
    atomic_fetch_add(&s->core->protocol_errors, 1);
    s->failed = true;
  }
  settle(s);
  return !s->failed;
}

ssize_t cuzk_rpc_session_output(struct cuzk_rpc_session *s, const uint8_t **p) {
  ssize_t k = nghttp2_session_mem_send(s->h2, p);
  if (k > 0) s->produced += (uint64_t)k;
  return k < 0 ? -1 : k;
}

void cuzk_rpc_session_written(struct cuzk_rpc_session *s, size_t n) {
  s->written += n;
  settle(s);
}

uint64_t cuzk_rpc_session_tick(struct cuzk_rpc_session *s, uint64_t now_ms) {
  uint64_t next = UINT64_MAX;
  s->now = now_ms;
  if (s->header_since != UINT64_MAX) {
    next = s->header_since + s->core->o.header_timeout_ms;
    if (next <= now_ms) s->failed = true;
  }
  for (struct cuzk_rpc_call *c = s->calls; c; c = c->next) {
    if (c->closed) continue;
    if (!c->finished && c->has_deadline) {
      if (c->deadline <= now_ms) finish(c, CUZK_GRPC_DEADLINE_EXCEEDED, "the deadline is over", "200");
      else if (c->deadline < next) next = c->deadline;
    }
    bool waits_for_peer = c->finished || (!c->dispatched && !c->half_closed);
    uint64_t stall = c->moved + s->core->stall_ms;
    if (!waits_for_peer) continue;
    if (stall <= now_ms) (void)nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
    else if (stall < next) next = stall;
  }
  return next;
}

void cuzk_rpc_session_drain(struct cuzk_rpc_session *s) {
  if (s->draining) return;
  s->draining = true;
  (void)nghttp2_submit_goaway(s->h2, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(s->h2), NGHTTP2_NO_ERROR, NULL, 0);
  s->wake(s->io);
}

bool cuzk_rpc_session_over(const struct cuzk_rpc_session *s) {
  return s->failed || (s->draining && !s->calls) || (!nghttp2_session_want_read(s->h2) && !nghttp2_session_want_write(s->h2));
}
