/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The server's HTTP/2 session against a client in memory: what it answers, what it refuses, and what it survives. */
#include "base/alloc.h"
#include "rpc/session.h"
#include "testing.h"

static unsigned ended, delivered;
static struct cuzk_rpc_handle *held; /* of the last call of Hold */

static void on_end(void *user, bool was_delivered) {
  (void)user;
  ended++;
  delivered += was_delivered;
}

static void echo(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  size_t n;
  const uint8_t *m = cuzk_rpc_call_message(c, &n);
  cuzk_rpc_call_on_end(c, on_end, NULL);
  struct cuzk_rpc_handle *h = cuzk_rpc_call_handle(c);
  if (!h) return;
  cuzk_rpc_reply(h, CUZK_GRPC_OK, NULL, m, n, 0);
  cuzk_rpc_handle_release(&h);
}
static void hold(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  cuzk_rpc_call_on_end(c, on_end, NULL);
  cuzk_rpc_handle_release(&held);
  held = cuzk_rpc_call_handle(c);
}
static void each(void *user, struct cuzk_rpc_call *c) {
  size_t n;
  const uint8_t *m = cuzk_rpc_call_message(c, &n);
  (void)user;
  cuzk_rpc_call_on_message(c, each);
  if (m) cuzk_rpc_call_send(c, m, n);
  else cuzk_rpc_call_finish(c, CUZK_GRPC_OK, NULL);
}
static struct cuzk_rpc_method methods[] = {{"/t.T/Echo", echo, false}, {"/t.T/Hold", hold, false}, {"/t.T/Each", each, true}};

#define STREAMS 16
struct stream {
  uint8_t body[70000];
  size_t n, at, got;
  bool more; /* the body does not end yet */
  int id, http, code;
  char message[400], retry[24], accepts[24];
  bool closed;
  uint32_t error;
};
struct world {
  struct rpc_shared shared;
  struct rpc_session *session;
  nghttp2_session *client;
  struct stream stream[STREAMS];
  unsigned n_streams;
  uint64_t out;      /* bytes that the server has said */
  bool deaf, goaway; /* deaf: what the server says is left where it is */
};

static struct stream *find(struct world *w, int id) {
  for (unsigned i = 0; i < w->n_streams; i++)
    if (w->stream[i].id == id) return &w->stream[i];
  return NULL;
}
static int on_header(nghttp2_session *h2, const nghttp2_frame *f, const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
                     uint8_t flags, void *user) {
  struct stream *s = find(user, f->hd.stream_id);
  (void)h2;
  (void)flags;
  if (!s) return 0;
#define IS(text) (n_name == sizeof text - 1 && !memcmp(name, text, n_name))
  char v[400] = "";
  memcpy(v, value, n_value < sizeof v - 1 ? n_value : sizeof v - 1);
  if (IS(":status")) s->http = atoi(v);
  if (IS("grpc-status")) s->code = atoi(v);
  if (IS("grpc-message")) memcpy(s->message, v, sizeof v);
  if (IS("retry-after-ms")) memcpy(s->retry, v, sizeof s->retry);
  if (IS("grpc-accept-encoding")) memcpy(s->accepts, v, sizeof s->accepts);
  return 0;
}
static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user) {
  struct stream *s = find(user, id);
  (void)h2;
  (void)flags;
  (void)data;
  if (s) s->got += n;
  return 0;
}
static int on_close(nghttp2_session *h2, int32_t id, uint32_t error, void *user) {
  struct stream *s = find(user, id);
  (void)h2;
  if (s) s->closed = true;
  if (s) s->error = error;
  return 0;
}
static int on_frame(nghttp2_session *h2, const nghttp2_frame *f, void *user) {
  (void)h2;
  if (f->hd.type == NGHTTP2_GOAWAY) ((struct world *)user)->goaway = true;
  return 0;
}
static ssize_t give(nghttp2_session *h2, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *user) {
  struct stream *s = source->ptr;
  (void)h2;
  (void)id;
  (void)user;
  size_t n = s->n - s->at < length ? s->n - s->at : length;
  memcpy(buf, s->body + s->at, n);
  s->at += n;
  if (s->at == s->n && !s->more) *flags |= NGHTTP2_DATA_FLAG_EOF;
  else if (!n) return NGHTTP2_ERR_DEFERRED;
  return (ssize_t)n;
}

static void open_world(struct world *w, bool token) {
  memset(w, 0, sizeof *w);
  static char secret[] = "secret";
  w->shared = (struct rpc_shared){.core = rpc_core_create(), .methods = methods, .n_methods = 3, .token = token ? secret : NULL,
                                  .max_message = 60000, .max_response = 50000, .max_buffered = 100000, .stall_ms = 60000, .max_streams = 8};
  assert_non_null(w->shared.core);
  assert_int_equal(rpc_session_create(&w->session, &w->shared, "test", token), CUZK_OK);
  nghttp2_session_callbacks *cb;
  assert_int_equal(nghttp2_session_callbacks_new(&cb), 0);
  nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
  nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
  assert_int_equal(nghttp2_session_client_new(&w->client, cb, w), 0);
  nghttp2_session_callbacks_del(cb);
  assert_int_equal(nghttp2_submit_settings(w->client, 0, NULL, 0), 0);
  ended = delivered = 0;
}
static void close_world(struct world *w) {
  rpc_session_destroy(&w->session);
  rpc_core_run(w->shared.core);
  cuzk_rpc_handle_release(&held);
  assert_int_equal(w->shared.buffered, 0);
  assert_int_equal(w->shared.stats.streams, 0);
  rpc_core_unref(w->shared.core);
  nghttp2_session_del(w->client);
}

/* Bytes to and fro until both are silent. False: the server has had enough. */
static bool talk(struct world *w) {
  bool good = true;
  for (bool more = true; more && good;) {
    more = false;
    const uint8_t *p;
    for (ssize_t k; good && (k = nghttp2_session_mem_send(w->client, &p)) > 0; more = true) good = rpc_session_input(w->session, p, (size_t)k);
    rpc_core_run(w->shared.core);
    size_t n;
    while (!w->deaf && (p = rpc_session_output(w->session, &n))) {
      w->out += n;
      (void)nghttp2_session_mem_recv(w->client, p, n);
      more = true;
    }
    rpc_session_sent(w->session, w->out);
  }
  return good;
}

#define H(n, v) {(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, strlen(v), 0}
static struct stream *begin(struct world *w, const char *method, const char *path, const char *type, const char *name, const char *value,
                            const void *body, size_t n, bool more) {
  assert_true(w->n_streams < STREAMS);
  struct stream *s = &w->stream[w->n_streams++];
  nghttp2_nv nv[8] = {H(":method", method), H(":scheme", "http"), H(":path", path), H(":authority", "t")};
  size_t k = 4;
  if (type) nv[k++] = (nghttp2_nv)H("content-type", type);
  if (name) nv[k++] = (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value), 0};
  *s = (struct stream){.n = n, .code = -1, .more = more};
  memcpy(s->body, body, n);
  nghttp2_data_provider give_body = {.source.ptr = s, .read_callback = give};
  s->id = nghttp2_submit_request(w->client, NULL, nv, k, &give_body, NULL);
  assert_true(s->id > 0);
  return s;
}
#define GRPC "application/grpc"
static const char one[] = {0, 0, 0, 0, 1, 'x'};

/* A call of its own session; returns its stream's end. */
static void refuses(const char *method, const char *path, const char *type, const char *name, const char *value, const void *body, size_t n,
                    int http, int code, const char *message) {
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  struct stream *s = begin(w, method, path, type, name, value, body, n, false);
  assert_true(talk(w));
  if (s->http != http || s->code != code || !s->closed || !strstr(s->message, message))
    fail_msg("%s %s %s: HTTP %d, status %d '%s', expected %d, %d '%s'", method, path, name ? name : "", s->http, s->code, s->message, http, code, message);
  if (code == CUZK_GRPC_UNIMPLEMENTED && strstr(message, "compressed")) assert_string_equal(s->accepts, "identity");
  close_world(w);
  free(w);
}

static void answers(void **state) {
  (void)state;
  char big[17000];
  memset(big, 'b', sizeof big);
  big[sizeof big - 1] = 0;
  char long_path[300];
  memset(long_path, '/', sizeof long_path);
  long_path[sizeof long_path - 1] = 0;
#define CALL(name, value, body, code, message) refuses("POST", "/t.T/Echo", GRPC, name, value, body, sizeof body, 200, CUZK_GRPC_##code, message)
  CALL(NULL, NULL, one, OK, "");
  CALL("grpc-encoding", "identity", one, OK, "");
  CALL("grpc-encoding", "gzip", one, UNIMPLEMENTED, "compressed");
  CALL("grpc-timeout", "soon", one, OK, "");
  CALL("grpc-timeout", "123456789m", one, OK, "");
  CALL("x-big", big, one, RESOURCE_EXHAUSTED, "16 KiB");
  CALL(NULL, NULL, ((const char[]){1, 0, 0, 0, 1, 'x'}), UNIMPLEMENTED, "compressed");
  CALL(NULL, NULL, ((const char[]){0, 0, 0, 0, 1, 'x', 0, 0, 0, 0, 0}), INTERNAL, "one message");
  CALL(NULL, NULL, ((const char[]){0, 0, 0, 0, 2, 'x'}), INTERNAL, "inside the message");
  CALL(NULL, NULL, ((const char[]){0, 0, 0}), INTERNAL, "inside the message");
  CALL(NULL, NULL, ((const char[]){0, (char)0xff, (char)0xff, (char)0xff, (char)0xff, 'x'}), RESOURCE_EXHAUSTED, "4294967295 bytes");
  refuses("POST", "/t.T/Echo", GRPC, NULL, NULL, "", 0, 200, CUZK_GRPC_INTERNAL, "no message");
  refuses("POST", "/t.T/Each", GRPC, NULL, NULL, "", 0, 200, CUZK_GRPC_INTERNAL, "without a message");
  refuses("POST", "/t.T/Each", GRPC, NULL, NULL, ((const char[]){0, 0, 0, 0, 1, 'x', 0}), 7, 200, CUZK_GRPC_INTERNAL, "inside a message");
  refuses("POST", "/t.T/Nothing", GRPC, NULL, NULL, one, sizeof one, 200, CUZK_GRPC_UNIMPLEMENTED, "/t.T/Nothing");
  refuses("POST", long_path, GRPC, NULL, NULL, one, sizeof one, 200, CUZK_GRPC_UNIMPLEMENTED, "127 bytes");
  refuses("POST", "/t.T/Echo", "application/grpc+proto", NULL, NULL, one, sizeof one, 200, CUZK_GRPC_OK, "");
  refuses("POST", "/t.T/Echo", "application/grpcx", NULL, NULL, one, sizeof one, 415, -1, "");
  refuses("POST", "/t.T/Echo", "text/plain", NULL, NULL, one, sizeof one, 415, -1, "");
  refuses("POST", "/t.T/Echo", NULL, NULL, NULL, one, sizeof one, 415, -1, "");
  refuses("GET", "/t.T/Echo", GRPC, NULL, NULL, "", 0, 405, -1, "");
  static uint8_t large[5 + 50001];
  cuzk_grpc_write_prefix(large, 50000);
  refuses("POST", "/t.T/Echo", GRPC, NULL, NULL, large, 5 + 50000, 200, CUZK_GRPC_OK, "");
  cuzk_grpc_write_prefix(large, 50001);
  refuses("POST", "/t.T/Echo", GRPC, NULL, NULL, large, 5 + 50001, 200, CUZK_GRPC_RESOURCE_EXHAUSTED, "the answer has 50001 bytes");
}

static void token(void **state) {
  (void)state;
  static const struct {
    const char *value;
    int code;
  } t[] = {{NULL, CUZK_GRPC_UNAUTHENTICATED}, {"Bearer secret", CUZK_GRPC_OK},         {"Bearer secre", CUZK_GRPC_PERMISSION_DENIED},
           {"Bearer secrett", 7},             {"bearer", CUZK_GRPC_PERMISSION_DENIED}, {"Bearer", CUZK_GRPC_PERMISSION_DENIED},
           {"", CUZK_GRPC_PERMISSION_DENIED}, {"Basic secret", 7}};
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, true);
  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
    struct stream *s = begin(w, "POST", "/t.T/Echo", GRPC, t[i].value ? "authorization" : NULL, t[i].value, one, sizeof one, false);
    assert_true(talk(w));
    assert_int_equal(s->code, t[i].code);
  }
  close_world(w);
  free(w);
}

static void limits(void **state) {
  (void)state;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  /* A message that is announced takes a page; what has come counts, over all calls. */
  static uint8_t part[55005];
  cuzk_grpc_write_prefix(part, 60000);
  struct stream *a = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, part, 5, true);
  assert_true(talk(w));
  assert_int_equal(w->shared.buffered, 4096);
  struct stream *b = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, part, sizeof part, true);
  assert_true(talk(w));
  assert_in_range(w->shared.buffered, 55000, 4096 + 60000);
  struct stream *c = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, part, sizeof part, true);
  assert_true(talk(w));
  assert_int_equal(c->code, CUZK_GRPC_RESOURCE_EXHAUSTED);
  assert_string_equal(c->retry, "1000");
  assert_false(a->closed || b->closed);
  assert_true(nghttp2_submit_rst_stream(w->client, 0, b->id, NGHTTP2_CANCEL) == 0 && talk(w));
  assert_int_equal(w->shared.buffered, 4096);
  /* Streams at the same time: a is one of 8. */
  for (unsigned i = 0; i < 7; i++) (void)begin(w, "POST", "/t.T/Hold", GRPC, NULL, NULL, one, sizeof one, false);
  assert_true(talk(w));
  assert_int_equal(w->shared.stats.streams, 8);
  struct stream *ninth = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, one, sizeof one, false);
  assert_true(talk(w));
  assert_int_equal(w->shared.stats.streams, 8);
  assert_int_equal(ninth->code, -1); /* the client keeps it back, as told */
  close_world(w);
  assert_int_equal(ended, 7);
  assert_int_equal(delivered, 0);
  free(w);
}

static void time_passes(void **state) {
  (void)state;
  bool alive;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  const uint64_t now = cuzk_rpc_now_ms();
  struct stream *due = begin(w, "POST", "/t.T/Hold", GRPC, "grpc-timeout", "5S", one, sizeof one, false);
  struct stream *stalled = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, one, 5, true);
  struct stream *waits = begin(w, "POST", "/t.T/Hold", GRPC, NULL, NULL, one, sizeof one, false);
  assert_true(talk(w));
  assert_in_range(rpc_session_tick(w->session, now, &alive), 1, 1000);
  assert_true(talk(w) && !due->closed);
  (void)rpc_session_tick(w->session, now + 10000, &alive);
  assert_true(talk(w) && alive);
  assert_int_equal(due->code, CUZK_GRPC_DEADLINE_EXCEEDED);
  assert_true(ended == 1 && delivered == 0);
  assert_false(stalled->closed);
  (void)rpc_session_tick(w->session, now + 70000, &alive);
  assert_true(talk(w));
  assert_int_equal(stalled->code, CUZK_GRPC_CANCELLED);
  assert_false(waits->closed); /* a proof may take hours */
  cuzk_rpc_reply(held, CUZK_GRPC_ABORTED, "a \xe2\x82\xac 100 %", NULL, 0, 250);
  assert_true(talk(w));
  assert_int_equal(waits->code, CUZK_GRPC_ABORTED);
  assert_string_equal(waits->message, "a %E2%82%AC 100 %25");
  assert_string_equal(waits->retry, "250");
  assert_int_equal(delivered, 1);
  close_world(w);
  free(w);
}

/* A client that does not take its answer: its window is full. The answer is given up, the connection lives on. */
static void shut_window(void **state) {
  (void)state;
  bool alive;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  const nghttp2_settings_entry shut = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
  assert_int_equal(nghttp2_submit_settings(w->client, 0, &shut, 1), 0);
  assert_true(talk(w));
  struct stream *s = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, one, sizeof one, false);
  assert_true(talk(w));
  assert_true(s->http == 200 && s->got == 0 && !s->closed);
  (void)rpc_session_tick(w->session, cuzk_rpc_now_ms() + 30000, &alive);
  assert_true(talk(w) && !s->closed);
  (void)rpc_session_tick(w->session, cuzk_rpc_now_ms() + 61000, &alive);
  assert_true(talk(w) && s->closed && alive);
  assert_int_equal(s->error, NGHTTP2_CANCEL);
  assert_true(ended == 1 && delivered == 0);
  close_world(w);
  free(w);
}

static void draining(void **state) {
  (void)state;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  struct stream *s = begin(w, "POST", "/t.T/Hold", GRPC, NULL, NULL, one, sizeof one, false);
  assert_true(talk(w));
  rpc_session_drain(w->session);
  assert_true(talk(w));
  assert_true(w->goaway);
  assert_false(rpc_session_finished(w->session));
  cuzk_rpc_reply(held, CUZK_GRPC_OK, NULL, (const uint8_t *)"done", 4, 0);
  assert_true(talk(w));
  assert_true(s->code == CUZK_GRPC_OK && s->got == 9 && delivered == 1);
  assert_true(rpc_session_finished(w->session));
  close_world(w);
  free(w);
}

static void replies_to_the_dead(void **state) {
  (void)state;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  (void)begin(w, "POST", "/t.T/Hold", GRPC, NULL, NULL, one, sizeof one, false);
  assert_true(talk(w));
  cuzk_rpc_reply(held, CUZK_GRPC_OK, NULL, (const uint8_t *)"late", 4, 0); /* posted, and not yet run */
  rpc_session_destroy(&w->session);
  assert_true(ended == 1 && delivered == 0);
  rpc_core_run(w->shared.core);
  cuzk_rpc_reply(held, CUZK_GRPC_OK, NULL, (const uint8_t *)"later", 5, 0);
  w->shared.core->alive = false;
  cuzk_rpc_reply(held, CUZK_GRPC_OK, NULL, (const uint8_t *)"too late", 8, 0);
  close_world(w);
  free(w);
}

/* ---- bytes that no honest client sends ---- */

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* Sends the preface, SETTINGS and then a frame again and again, reading nothing: how often until the server gives up? */
static unsigned flood(const void *first, size_t n_first, const void *frame, size_t n, unsigned most, bool reads) {
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  unsigned i = 0;
  bool good = rpc_session_input(w->session, (const uint8_t *)preface, 24) && rpc_session_input(w->session, (const uint8_t *)"\0\0\0\4\0\0\0\0\0", 9);
  if (n_first) good = good && rpc_session_input(w->session, first, n_first);
  for (; good && i < most; i++) {
    good = rpc_session_input(w->session, frame, n);
    size_t k;
    if (reads)
      while (rpc_session_output(w->session, &k)) continue;
    if (!nghttp2_session_want_read(w->session->h2)) break;
  }
  close_world(w);
  free(w);
  return i;
}

static void floods(void **state) {
  (void)state;
  static const uint8_t ping[17] = {0, 0, 8, 6}, settings[9] = {0, 0, 0, 4};
  assert_true(flood(NULL, 0, ping, sizeof ping, 100000, false) < 1000);
  assert_true(flood(NULL, 0, settings, sizeof settings, 100000, false) < 1100);
  /* Headers that never end. */
  static const uint8_t headers[10] = {0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82};
  static uint8_t continuation[9 + 1024] = {0, 4, 0, 9, 0, 0, 0, 0, 1};
  memset(continuation + 9, 0x82, 1024);
  assert_true(flood(headers, sizeof headers, continuation, sizeof continuation, 10000, true) < 200);
  static const uint8_t empty[9] = {0, 0, 0, 9, 0, 0, 0, 0, 1};
  (void)flood(headers, sizeof headers, empty, sizeof empty, 10000, true); /* takes no memory; the header timeout ends it */
}

/* Streams that are opened and reset at once. */
static void rapid_reset(void **state) {
  (void)state;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  unsigned i = 0;
  for (; i < 5000; i++) {
    w->n_streams = 0;
    struct stream *s = begin(w, "POST", "/t.T/Hold", GRPC, NULL, NULL, one, sizeof one, true);
    if (!talk(w)) break;
    assert_int_equal(nghttp2_submit_rst_stream(w->client, 0, s->id, NGHTTP2_CANCEL), 0);
    if (!talk(w)) break;
  }
  assert_in_range(i, 200, 2000);
  close_world(w);
  free(w);
}

static void garbage(void **state) {
  (void)state;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  assert_false(rpc_session_input(w->session, (const uint8_t *)"GET / HTTP/1.1\r\n\r\n", 18));
  assert_int_equal(w->shared.stats.protocol_errors, 1);
  assert_false(rpc_session_input(w->session, (const uint8_t *)preface, 24)); /* and nothing more after that */
  close_world(w);
  for (unsigned round = 0; round < 300; round++) {
    uint8_t bytes[512];
    size_t k;
    open_world(w, false);
    (void)rpc_session_input(w->session, (const uint8_t *)preface, 24);
    (void)rpc_session_input(w->session, (const uint8_t *)"\0\0\0\4\0\0\0\0\0", 9);
    for (unsigned f = 0; f < 20; f++) {
      const size_t n = test_rand() % 200;
      for (size_t i = 0; i < n + 9; i++) bytes[i] = (uint8_t)test_rand();
      bytes[0] = bytes[1] = 0;
      bytes[2] = (uint8_t)n;
      bytes[3] %= 11;
      bytes[5] = bytes[6] = bytes[7] = 0;
      bytes[8] %= 6;
      if (!rpc_session_input(w->session, bytes, n + 9)) break;
      rpc_core_run(w->shared.core);
      while (rpc_session_output(w->session, &k)) continue;
    }
    close_world(w);
  }
  free(w);
}

/* Every allocation of a session and a call fails once: nothing leaks, nothing crashes, the next call works. */
static void no_memory(void **state) {
  (void)state;
  struct world *w = malloc(sizeof *w);
  assert_non_null(w);
  open_world(w, false);
  close_world(w);
  const uint64_t live = cuzk_alloc_live();
  unsigned refused = 0, n = 1;
  for (;; n++) {
    assert_true(n < 200);
    open_world(w, false);
    rpc_session_destroy(&w->session);
    cuzk_alloc_fail_at(n);
    if (rpc_session_create(&w->session, &w->shared, "test", false) != CUZK_OK) {
      cuzk_alloc_fail_at(0);
      assert_null(w->session);
      close_world(w);
      refused++;
      continue;
    }
    struct stream *s = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, one, sizeof one, false);
    assert_true(talk(w));
    const bool over = cuzk_alloc_count() < n;
    cuzk_alloc_fail_at(0);
    if (s->code != CUZK_GRPC_OK) refused++;
    struct stream *next = begin(w, "POST", "/t.T/Echo", GRPC, NULL, NULL, one, sizeof one, false);
    assert_true(talk(w));
    assert_int_equal(next->code, CUZK_GRPC_OK);
    close_world(w);
    assert_int_equal(cuzk_alloc_live(), live);
    if (over) break;
  }
  assert_true(refused >= 4);
  free(w);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers),     cmocka_unit_test(token),    cmocka_unit_test(limits),
      cmocka_unit_test(time_passes), cmocka_unit_test(shut_window), cmocka_unit_test(draining),
      cmocka_unit_test(replies_to_the_dead), cmocka_unit_test(floods), cmocka_unit_test(rapid_reset),
      cmocka_unit_test(garbage),     cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
