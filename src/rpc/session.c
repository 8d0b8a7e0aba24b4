/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/session.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define WINDOW (8 << 20)       /* of a stream, and of a connection */
#define HEADER_LIST 16384      /* bytes of a header list, as HTTP/2 counts them */
#define TRICKLE 16384          /* an upload must bring that much within the stall time */
#define RESETS_PER_SECOND 200  /* a peer that opens and resets faster is sent away */

static void call_free(struct cuzk_rpc_call *c) {
  rpc_call_uncharge(c);
  cuzk_grpc_reader_reset(&c->reader);
  for (struct out_piece *p = c->out, *next; p; p = next) {
    next = p->next;
    cuzk_free(p);
  }
  cuzk_free(c->message);
  cuzk_free(c);
}

/* The end of a call for whoever watched it. */
static void call_end(struct cuzk_rpc_call *c, bool delivered) {
  if (c->handle) {
    c->handle->call = NULL;
    cuzk_rpc_handle_release(&c->handle);
  }
  if (c->on_end) c->on_end(c->on_end_user, delivered && !c->by_transport);
  call_free(c);
}

static void unlink_call(struct cuzk_rpc_call **list, struct cuzk_rpc_call *c) {
  while (*list && *list != c) list = &(*list)->next;
  if (*list) *list = c->next;
}

static void stat_add(struct rpc_shared *s, uint64_t *which, int64_t n) {
  (void)pthread_mutex_lock(&s->core->lock);
  *which += (uint64_t)n;
  (void)pthread_mutex_unlock(&s->core->lock);
}

/* ---- answers ---- */

#define NV(n, v, vlen) \
  (nghttp2_nv) { (uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, (vlen), NGHTTP2_NV_FLAG_NONE }

static size_t status_headers(const struct cuzk_rpc_call *c, nghttp2_nv *nv, char code[12], char *message, size_t n_message, char retry[24]) {
  size_t n = 0;
  (void)snprintf(code, 12, "%d", (int)c->code);
  nv[n++] = NV("grpc-status", code, strlen(code));
  if (c->message && c->code != CUZK_GRPC_OK) {
    const size_t len = cuzk_grpc_encode_message(message, n_message, c->message);
    nv[n++] = NV("grpc-message", message, len);
  }
  if (c->retry_after_ms) {
    (void)snprintf(retry, 24, "%llu", (unsigned long long)c->retry_after_ms);
    nv[n++] = NV("retry-after-ms", retry, strlen(retry));
  }
  if (c->code == CUZK_GRPC_UNIMPLEMENTED && c->compressed) nv[n++] = NV("grpc-accept-encoding", "identity", 8);
  return n;
}

static ssize_t read_out(nghttp2_session *h2, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *user) {
  (void)user;
  struct cuzk_rpc_call *c = source->ptr;
  size_t n = 0;
  while (c->out && n < length) {
    struct out_piece *p = c->out;
    size_t take = p->n - p->at;
    if (take > length - n) take = length - n;
    memcpy(buf + n, p->data + p->at, take);
    p->at += take;
    n += take;
    if (p->at < p->n) break;
    c->out = p->next;
    if (!c->out) c->out_last = &c->out;
    cuzk_free(p);
  }
  if (n) c->progress_ms = cuzk_rpc_now_ms();
  if (!c->out && c->finished) {
    nghttp2_nv nv[4];
    char code[12], message[1600], retry[24];
    const size_t k = status_headers(c, nv, code, message, sizeof message, retry);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (nghttp2_submit_trailer(h2, id, nv, k)) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return (ssize_t)n;
  }
  return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
}

/* Headers (and trailers in one, if nothing else comes). */
static void respond(struct cuzk_rpc_call *c, const char *http_status, bool trailers_only) {
  nghttp2_nv nv[8];
  char code[12], message[1600], retry[24];
  size_t n = 0;
  nghttp2_session *h2 = c->session->h2;
  nv[n++] = NV(":status", http_status, 3);
  nv[n++] = NV("content-type", "application/grpc", 16);
  c->responded = true;
  int rc;
  if (trailers_only) {
    c->finished = true;
    n += status_headers(c, nv + n, code, message, sizeof message, retry);
    rc = nghttp2_submit_response(h2, c->id, nv, n, NULL);
  } else {
    nghttp2_data_provider source = {.source.ptr = c, .read_callback = read_out};
    rc = nghttp2_submit_response(h2, c->id, nv, n, &source);
  }
  if (rc) (void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
}

static void set_status(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message, uint64_t retry_after_ms) {
  c->code = code;
  c->retry_after_ms = retry_after_ms;
  cuzk_free(c->message);
  c->message = message ? cuzk_strdup(message) : NULL;
}

void rpc_call_answer(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message, const uint8_t *body, size_t n,
                     uint64_t retry_after_ms) {
  if (c->finished || c->closed) return;
  char text[96];
  if (code == CUZK_GRPC_OK && n > c->session->shared->max_response) {
    code = CUZK_GRPC_RESOURCE_EXHAUSTED;
    message = text;
    (void)snprintf(text, sizeof text, "the answer has %zu bytes, the limit is %llu", n, (unsigned long long)c->session->shared->max_response);
  }
  if (code == CUZK_GRPC_OK && !rpc_call_append(c, body, n)) {
    code = CUZK_GRPC_RESOURCE_EXHAUSTED;
    message = "no memory for the answer";
  }
  set_status(c, code, message, retry_after_ms);
  c->deadline_ms = UINT64_MAX;
  c->progress_ms = cuzk_rpc_now_ms();
  if (!c->input_ended) { /* the rest of the request is of no interest */
    cuzk_grpc_reader_reset(&c->reader);
    rpc_call_uncharge(c);
  }
  if (!c->responded) {
    c->finished = code == CUZK_GRPC_OK;
    respond(c, "200", code != CUZK_GRPC_OK);
  } else {
    c->finished = true;
    (void)nghttp2_session_resume_data(c->session->h2, c->id);
  }
}

void cuzk_rpc_call_send(struct cuzk_rpc_call *c, const uint8_t *body, size_t n) {
  if (c->finished || c->closed) return;
  if (n > c->session->shared->max_response || !rpc_call_append(c, body, n)) {
    rpc_call_answer(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the answer, or it is too large", NULL, 0, 0);
    return;
  }
  if (!c->responded) respond(c, "200", false);
  else (void)nghttp2_session_resume_data(c->session->h2, c->id);
}

void cuzk_rpc_call_finish(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message) {
  if (c->finished || c->closed) return;
  if (!c->responded && code != CUZK_GRPC_OK) {
    rpc_call_answer(c, code, message, NULL, 0, 0);
    return;
  }
  set_status(c, code, message, 0);
  c->deadline_ms = UINT64_MAX;
  c->progress_ms = cuzk_rpc_now_ms();
  c->finished = true;
  if (!c->responded) respond(c, "200", false);
  else (void)nghttp2_session_resume_data(c->session->h2, c->id);
}

static void refuse(struct cuzk_rpc_call *c, enum cuzk_grpc_code code, const char *message) { rpc_call_answer(c, code, message, NULL, 0, 0); }

/* ---- requests ---- */

static bool same_secret(const char *a, size_t n, const char *b) {
  const size_t m = strlen(b);
  unsigned diff = n != m;
  for (size_t i = 0; i < n; i++) diff |= (unsigned)(uint8_t)a[i] ^ (unsigned)(uint8_t)b[m ? i % m : 0];
  return !diff;
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *user) {
  struct rpc_session *s = user;
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  struct cuzk_rpc_call *c = cuzk_calloc(1, sizeof *c);
  if (!c) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  c->session = s;
  c->id = frame->hd.stream_id;
  c->deadline_ms = UINT64_MAX;
  c->out_last = &c->out;
  c->progress_ms = cuzk_rpc_now_ms();
  c->next = s->calls;
  s->calls = c;
  s->n_calls++;
  (void)nghttp2_session_set_stream_user_data(h2, c->id, c);
  (void)pthread_mutex_lock(&s->shared->core->lock);
  s->shared->stats.streams++;
  s->shared->stats.calls_total++;
  (void)pthread_mutex_unlock(&s->shared->core->lock);
  return 0;
}

static bool is(const uint8_t *s, size_t n, const char *t) { return n == strlen(t) && !memcmp(s, t, n); }

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
                     uint8_t flags, void *user) {
  (void)flags;
  struct rpc_session *s = user;
  if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
  if (!c) return 0;
  c->header_bytes += n_name + n_value + 32;
  if (c->header_bytes > HEADER_LIST) {
    c->too_many_headers = true;
    return 0;
  }
  if (is(name, n_name, ":path")) {
    if (n_value >= sizeof c->path) c->long_path = true;
    else {
      memcpy(c->path, value, n_value);
      c->path[n_value] = 0;
    }
  } else if (is(name, n_name, ":method")) {
    c->post = is(value, n_value, "POST");
  } else if (is(name, n_name, "content-type")) {
    static const char type[] = "application/grpc";
    const size_t n = sizeof type - 1;
    c->grpc = n_value >= n && !memcmp(value, type, n) && (n_value == n || value[n] == '+' || value[n] == ';');
  } else if (is(name, n_name, "grpc-timeout")) {
    const uint64_t ms = cuzk_grpc_parse_timeout((const char *)value, n_value);
    if (ms != UINT64_MAX) c->deadline_ms = cuzk_rpc_now_ms() + ms;
  } else if (is(name, n_name, "grpc-encoding")) {
    c->compressed = !is(value, n_value, "identity");
  } else if (is(name, n_name, "authorization") && s->shared->token) {
    static const char scheme[] = "Bearer ";
    const size_t n = sizeof scheme - 1;
    c->has_token = true;
    c->wrong_token = n_value < n || memcmp(value, scheme, n) || !same_secret((const char *)value + n, n_value - n, s->shared->token);
  }
  return 0;
}

static void not_grpc(struct cuzk_rpc_call *c, const char *status) {
  nghttp2_nv nv[] = {NV(":status", status, 3)};
  c->finished = c->responded = true;
  c->code = CUZK_GRPC_INTERNAL;
  if (nghttp2_submit_response(c->session->h2, c->id, nv, 1, NULL))
    (void)nghttp2_submit_rst_stream(c->session->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_INTERNAL_ERROR);
}

static void headers_done(struct cuzk_rpc_call *c) {
  const struct rpc_shared *sh = c->session->shared;
  if (c->too_many_headers) refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "the request's headers are larger than 16 KiB");
  else if (!c->post) not_grpc(c, "405");
  else if (!c->grpc) not_grpc(c, "415");
  else if (c->session->need_token && !c->has_token) refuse(c, CUZK_GRPC_UNAUTHENTICATED, "a bearer token is needed in the authorization metadata");
  else if (c->session->need_token && c->wrong_token) refuse(c, CUZK_GRPC_PERMISSION_DENIED, "the bearer token is not the right one");
  else if (c->compressed) refuse(c, CUZK_GRPC_UNIMPLEMENTED, "messages must not be compressed");
  if (c->finished) return;
  for (size_t i = 0; i < sh->n_methods && !c->long_path; i++)
    if (!strcmp(sh->methods[i].path, c->path)) c->method = &sh->methods[i];
  if (!c->method) {
    char text[192];
    (void)snprintf(text, sizeof text, "unknown method %s", c->long_path ? "(a path longer than 127 bytes)" : c->path);
    refuse(c, CUZK_GRPC_UNIMPLEMENTED, text);
  }
}

static void dispatch(struct cuzk_rpc_call *c) {
  c->dispatched = true;
  c->method->fn(c->session->shared->user, c);
}

static bool may_grow(void *user, size_t more) {
  struct cuzk_rpc_call *c = user;
  struct rpc_shared *s = c->session->shared;
  if (more > s->max_buffered - s->buffered) return false;
  s->buffered += more;
  c->charged += more;
  (void)pthread_mutex_lock(&s->core->lock);
  s->stats.buffered_bytes = s->buffered;
  (void)pthread_mutex_unlock(&s->core->lock);
  return true;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user) {
  (void)flags;
  struct rpc_session *s = user;
  s->n_frames++;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, id);
  if (!c || c->closed) return 0;
  c->trickle += n;
  if (c->trickle >= TRICKLE) {
    c->trickle = 0;
    c->progress_ms = cuzk_rpc_now_ms();
  }
  while (n && !c->finished && c->method) {
    size_t used = 0;
    if (c->reader.complete && !c->method->streaming) {
      refuse(c, CUZK_GRPC_INTERNAL, "a unary call has one message");
      return 0;
    }
    const enum cuzk_grpc_feed f = cuzk_grpc_read(&c->reader, data, n, &used, c->session->shared->max_message, may_grow, c);
    data += used;
    n -= used;
    char text[128];
    switch (f) {
      case CUZK_FEED_TOO_LARGE:
        (void)snprintf(text, sizeof text, "the message has %zu bytes, the limit is %llu", c->reader.need,
                       (unsigned long long)c->session->shared->max_message);
        refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, text);
        return 0;
      case CUZK_FEED_COMPRESSED:
        c->compressed = true;
        refuse(c, CUZK_GRPC_UNIMPLEMENTED, "messages must not be compressed");
        return 0;
      case CUZK_FEED_NO_MEMORY:
        rpc_call_answer(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "too much is being received at the same time; try again later", NULL, 0, 1000);
        return 0;
      case CUZK_FEED_MESSAGE:
        if (c->method->streaming) {
          if (!c->dispatched) dispatch(c);
          else if (c->on_message) c->on_message(c->session->shared->user, c);
          cuzk_grpc_reader_reset(&c->reader);
          rpc_call_uncharge(c);
        }
        break;
      case CUZK_FEED_MORE: break;
    }
  }
  return 0;
}

static void end_of_input(struct cuzk_rpc_call *c) {
  c->input_ended = true;
  if (c->finished || !c->method) return;
  if (c->method->streaming) {
    if (!c->dispatched) refuse(c, CUZK_GRPC_INTERNAL, "the stream ended without a message");
    else if (c->reader.n_prefix) refuse(c, CUZK_GRPC_INTERNAL, "the stream ended inside a message");
    else if (c->on_message) c->on_message(c->session->shared->user, c); /* no message: the end */
    return;
  }
  if (!c->reader.complete)
    refuse(c, CUZK_GRPC_INTERNAL, c->reader.n_prefix ? "the stream ended inside the message" : "the call has no message");
  else dispatch(c);
}

static int on_frame(nghttp2_session *h2, const nghttp2_frame *frame, void *user) {
  struct rpc_session *s = user;
  s->n_frames++;
  if (frame->hd.type == NGHTTP2_RST_STREAM) {
    const uint64_t now = cuzk_rpc_now_ms();
    if (now - s->resets_ms >= 1000) {
      s->resets_ms = now;
      s->resets = 0;
    }
    if (++s->resets > RESETS_PER_SECOND) {
      s->failed = true;
      (void)nghttp2_session_terminate_session(h2, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    return 0;
  }
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
  if (!c || c->closed) return 0;
  if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) headers_done(c);
  if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) end_of_input(c);
  return 0;
}

static int on_frame_sent(nghttp2_session *h2, const nghttp2_frame *frame, void *user) {
  (void)user;
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
  if (!c) return 0;
  c->complete = true;
  if (!c->input_ended) (void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_NO_ERROR);
  return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t error, void *user) {
  (void)error;
  struct rpc_session *s = user;
  struct cuzk_rpc_call *c = nghttp2_session_get_stream_user_data(h2, id);
  if (!c) return 0;
  (void)nghttp2_session_set_stream_user_data(h2, id, NULL);
  unlink_call(&s->calls, c);
  s->n_calls--;
  stat_add(s->shared, &s->shared->stats.streams, -1);
  c->closed = true;
  if (c->complete) { /* delivered once the bytes have left */
    c->mark = UINT64_MAX;
    c->next = s->ended;
    s->ended = c;
  } else {
    call_end(c, false);
  }
  return 0;
}

static int on_invalid_frame(nghttp2_session *h2, const nghttp2_frame *frame, int code, void *user) {
  (void)h2;
  (void)frame;
  (void)code;
  struct rpc_session *s = user;
  stat_add(s->shared, &s->shared->stats.protocol_errors, 1);
  return 0;
}

/* ---- the session ---- */

enum cuzk_status rpc_session_create(struct rpc_session **out, struct rpc_shared *shared, const char *peer, bool need_token) {
  *out = NULL;
  struct rpc_session *s = cuzk_calloc(1, sizeof *s);
  nghttp2_session_callbacks *cb = NULL;
  nghttp2_option *opt = NULL;
  if (!s) return CUZK_E_NOMEM;
  s->shared = shared;
  s->need_token = need_token;
  (void)snprintf(s->peer, sizeof s->peer, "%s", peer);
  if (nghttp2_session_callbacks_new(&cb) || nghttp2_option_new(&opt)) goto nomem;
  nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
  nghttp2_option_set_max_outbound_ack(opt, 256);
  nghttp2_option_set_max_settings(opt, 32);
  if (nghttp2_session_server_new2(&s->h2, cb, s, opt)) goto nomem;
  nghttp2_session_callbacks_del(cb);
  nghttp2_option_del(opt);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, shared->max_streams},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
                                             {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST},
                                             {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 18}};
  if (nghttp2_submit_settings(s->h2, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof settings[0]) ||
      nghttp2_session_set_local_window_size(s->h2, NGHTTP2_FLAG_NONE, 0, 2 * WINDOW)) {
    nghttp2_session_del(s->h2);
    cuzk_free(s);
    return CUZK_E_NOMEM;
  }
  *out = s;
  return CUZK_OK;
nomem:
  if (cb) nghttp2_session_callbacks_del(cb);
  if (opt) nghttp2_option_del(opt);
  cuzk_free(s);
  return CUZK_E_NOMEM;
}

void rpc_session_destroy(struct rpc_session **sp) {
  struct rpc_session *s = *sp;
  if (!s) return;
  *sp = NULL;
  nghttp2_session_del(s->h2); /* closes no stream by callback */
  for (struct cuzk_rpc_call *c = s->calls, *next; c; c = next) {
    next = c->next;
    c->closed = true;
    stat_add(s->shared, &s->shared->stats.streams, -1);
    call_end(c, false);
  }
  for (struct cuzk_rpc_call *c = s->ended, *next; c; c = next) {
    next = c->next;
    call_end(c, false);
  }
  cuzk_free(s);
}

bool rpc_session_input(struct rpc_session *s, const uint8_t *data, size_t n) {
  if (s->failed) return false;
  stat_add(s->shared, &s->shared->stats.bytes_in, (int64_t)n);
  const ssize_t used = nghttp2_session_mem_recv(s->h2, data, n);
  if (used < 0) {
    stat_add(s->shared, &s->shared->stats.protocol_errors, 1);
    s->failed = true;
  }
  return !s->failed;
}

const uint8_t *rpc_session_output(struct rpc_session *s, size_t *n) {
  const uint8_t *data = NULL;
  const ssize_t k = nghttp2_session_mem_send(s->h2, &data);
  if (k < 0) s->failed = true;
  if (k <= 0) data = NULL;
  *n = k > 0 ? (size_t)k : 0;
  s->queued += *n;
  /* a call that ended while these bytes were made is out when they are */
  for (struct cuzk_rpc_call *c = s->ended; c; c = c->next)
    if (c->mark == UINT64_MAX) c->mark = s->queued;
  return data;
}

void rpc_session_sent(struct rpc_session *s, uint64_t total) {
  for (struct cuzk_rpc_call **link = &s->ended; *link;) {
    struct cuzk_rpc_call *c = *link;
    if (c->mark > total) {
      link = &c->next;
      continue;
    }
    *link = c->next;
    call_end(c, true);
    link = &s->ended; /* the callback may have changed the list */
  }
}

bool rpc_session_finished(struct rpc_session *s) {
  if (s->failed) return !nghttp2_session_want_write(s->h2);
  if (s->draining && !s->n_calls && !nghttp2_session_want_write(s->h2)) return true;
  return !nghttp2_session_want_read(s->h2) && !nghttp2_session_want_write(s->h2);
}

void rpc_session_drain(struct rpc_session *s) {
  if (s->draining) return;
  s->draining = true;
  (void)nghttp2_submit_goaway(s->h2, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(s->h2), NGHTTP2_NO_ERROR, NULL, 0);
}

uint64_t rpc_session_tick(struct rpc_session *s, uint64_t now, bool *alive) {
  uint64_t next = 1000;
  for (struct cuzk_rpc_call *c = s->calls, *after; c; c = after) {
    after = c->next;
    if (c->finished) { /* the peer keeps its window shut: what is kept for it is given up */
      if (!c->stalled && now > c->progress_ms && now - c->progress_ms > s->shared->stall_ms) {
        c->stalled = true;
        (void)nghttp2_submit_rst_stream(s->h2, NGHTTP2_FLAG_NONE, c->id, NGHTTP2_CANCEL);
      }
      continue;
    }
    if (c->deadline_ms <= now) {
      c->by_transport = true;
      rpc_call_answer(c, CUZK_GRPC_DEADLINE_EXCEEDED, "the call's deadline has passed", NULL, 0, 0);
      continue;
    }
    if (!c->input_ended && !c->dispatched && now > c->progress_ms && now - c->progress_ms > s->shared->stall_ms) {
      refuse(c, CUZK_GRPC_CANCELLED, "nothing more of the request came for too long");
      continue;
    }
    if (c->deadline_ms != UINT64_MAX && c->deadline_ms - now < next) next = c->deadline_ms - now;
  }
  *alive = !s->failed || nghttp2_session_want_write(s->h2);
  return next;
}
