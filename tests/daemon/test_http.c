/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The HTTP endpoint over an engine with the fake prover: limits, every member of /status, the stream of events. */
#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "daemon/http.h"
#include "daemon/http_request.h"
#include "daemon/status_json.h"
#include "engine/engine_testing.h"

struct world {
  struct bench b;
  struct cuzk_http *http;
  int port;
};

static void sleep_ms(unsigned ms) {
  struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
  (void)nanosleep(&t, NULL);
}

static void world_start(struct world *w, size_t ring, unsigned max_connections) {
  bench_init(&w->b, true);
  w->b.f.kind[0].n_partitions = 2;
  w->b.f.kind[0].stage_ns[CUZK_FAKE_SYNTH] = 20 * CUZK_MS;
  w->b.f.kind[0].stage_ns[CUZK_FAKE_KERNELS] = 20 * CUZK_MS;
  struct cuzk_detail d = {{0}};
  struct cuzk_recorder_options ro = {.clock = w->b.clock, .fd = -1, .ring = ring, .n_gpus = 1, .workers_per_gpu = 2, .version = "test"};
  assert_int_equal(cuzk_recorder_create(&w->b.recorder, &ro, &d), CUZK_OK);
  w->b.o.recorder = w->b.recorder;
  struct cuzk_fake *names;
  assert_int_equal(cuzk_fake_create(&names, &w->b.f), CUZK_OK);
  const struct cuzk_kind_names *kinds = cuzk_fake_prover(names).ops->kinds;
  cuzk_fake_destroy(&names);
  struct cuzk_http_options o = {.address = ":0",
                                .cors_origin = "*",
                                .version = "1.2.3",
                                .clock = w->b.clock,
                                .recorder = w->b.recorder,
                                .kinds = kinds,
                                .max_connections = max_connections,
                                .head_timeout_ms = 300};
  assert_int_equal(cuzk_http_create(&w->http, &o, &d), CUZK_OK);
  assert_memory_equal(cuzk_http_address(w->http), "127.0.0.1:", 10);
  w->port = atoi(strrchr(cuzk_http_address(w->http), ':') + 1);
  cuzk_recorder_on_event(w->b.recorder, cuzk_http_on_event, w->http);
  bench_start(&w->b);
  assert_int_equal(cuzk_http_add(w->http, "/", "text/html", "<p>hello</p>", 12, "\"abc\""), CUZK_OK);
  assert_int_equal(cuzk_http_add(w->http, "/", "text/html", "x", 1, NULL), CUZK_E_ARG);
  assert_int_equal(cuzk_http_add(w->http, "app.js", "text/html", "x", 1, NULL), CUZK_E_ARG);
  assert_int_equal(cuzk_http_start(w->http, w->b.e), CUZK_OK);
}

static void world_end(struct world *w) {
  cuzk_http_stop(w->http);
  bench_baseline(&w->b);
  cuzk_engine_destroy(&w->b.e);
  cuzk_http_destroy(&w->http);
  bench_end(&w->b);
}

/* ---- a client ---- */

static int dial(const struct world *w) {
  int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(s >= 0);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(connect(s, (struct sockaddr *)&a, sizeof a), 0);
  return s;
}

static void say(int s, const char *text, size_t n) {
  while (n > 0) {
    ssize_t k = send(s, text, n, MSG_NOSIGNAL);
    if (k <= 0) return;
    text += k;
    n -= (size_t)k;
  }
}

/* Everything up to the end of the connection, at most 10 s; to be freed. */
static char *hear(int s) {
  size_t n = 0, cap = 1 << 16;
  char *text = malloc(cap + 1);
  assert_non_null(text);
  for (;;) {
    struct pollfd p = {.fd = s, .events = POLLIN};
    if (poll(&p, 1, 10000) != 1) fail_msg("no answer");
    if (n == cap) {
      text = realloc(text, 2 * cap + 1);
      assert_non_null(text);
      cap *= 2;
    }
    ssize_t k = recv(s, text + n, cap - n, 0);
    if (k <= 0) break;
    n += (size_t)k;
  }
  text[n] = 0;
  (void)close(s);
  return text;
}

static char *ask(const struct world *w, const char *request) {
  int s = dial(w);
  say(s, request, strlen(request));
  return hear(s);
}

static int code_of(const char *text) {
  int code = 0;
  if (sscanf(text, "HTTP/1.1 %d ", &code) != 1) fail_msg("no status line: '%.100s'", text);
  return code;
}

static void expect(const struct world *w, const char *request, int code, const char *has, bool body) {
  char *t = ask(w, request);
  if (code_of(t) != code) fail_msg("%.60s: %.100s", request, t);
  if (!strstr(t, "\r\nAccess-Control-Allow-Origin: *\r\n")) fail_msg("no CORS: %s", t);
  if (!strstr(t, "\r\nConnection: close\r\n")) fail_msg("not closed: %s", t);
  if (has && !strstr(t, has)) fail_msg("%s: no '%s' in: %s", request, has, t);
  char *blank = strstr(t, "\r\n\r\n");
  assert_non_null(blank);
  if ((blank[4] != 0) != body) fail_msg("%s: body: '%s'", request, blank + 4);
  char *length = strstr(t, "Content-Length: ");
  if (body) {
    assert_non_null(length);
    assert_int_equal(strtoul(length + 16, NULL, 10), strlen(blank + 4));
  }
  free(t);
}

/* ---- heads ---- */

static int parse(const char *text, struct cuzk_http_request *r) { return cuzk_http_parse(r, (const uint8_t *)text, strlen(text)); }

static void heads_are_read(void **state) {
  (void)state;
  struct cuzk_http_request r;
  const char *whole = "GET /events?x=1&after=17 HTTP/1.1\r\nHost: a\r\nLAST-event-id:  42 \r\nIf-None-Match: \"a\", W/\"b\"\r\n\r\nrest";
  assert_int_equal(parse(whole, &r), 200);
  assert_int_equal(r.method, CUZK_HTTP_GET);
  assert_int_equal(r.path.n, 7);
  assert_int_equal(r.query.n, 12);
  assert_true(r.has_last_event_id);
  assert_int_equal(r.last_event_id, 42);
  assert_int_equal(r.n_head, strlen(whole) - 4);
  assert_true(cuzk_http_etag_matches(r.if_none_match, "\"a\""));
  assert_true(cuzk_http_etag_matches(r.if_none_match, "\"b\""));
  assert_false(cuzk_http_etag_matches(r.if_none_match, "\"c\""));
  for (size_t n = 0; n < strlen(whole) - 4; n++) assert_int_equal(cuzk_http_parse(&r, (const uint8_t *)whole, n), 0);
  assert_int_equal(parse("GET /events?after=17 HTTP/1.0\n\n", &r), 200);
  assert_true(r.has_last_event_id && r.last_event_id == 17);
  assert_int_equal(parse("HEAD / HTTP/1.1\r\n\r\n", &r), 200);
  assert_int_equal(r.method, CUZK_HTTP_HEAD);
  assert_int_equal(parse("BREW / HTTP/1.1\r\n\r\n", &r), 200);
  assert_int_equal(r.method, CUZK_HTTP_OTHER);
  assert_int_equal(parse("OPTIONS * HTTP/1.1\r\n\r\n", &r), 200);
  static const char *const bad[] = {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET  HTTP/1.1\r\n\r\n", "GET / HTTP\r\n\r\n", "GET x HTTP/1.1\r\n\r\n",
                                    "G\tT / HTTP/1.1\r\n\r\n", "GET /\x80 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nnocolon\r\n\r\n",
                                    "GET / HTTP/1.1\r\n: x\r\n\r\n", "GET / HTTP/1.1\r\na b: x\r\n\r\n", "GET / HTTP/1.1\r\na: \x01\r\n\r\n",
                                    " / HTTP/1.1\r\n\r\n"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    if (parse(bad[i], &r) != 400) fail_msg("'%s' is not refused", bad[i]);
  assert_int_equal(parse("GET / HTTP/2.0\r\n\r\n", &r), 505);
}

static void routes_and_limits(void **state) {
  (void)state;
  struct world w = {0};
  world_start(&w, 0, 8);
  expect(&w, "GET /status HTTP/1.1\r\n\r\n", 200, "Content-Type: application/json\r\n", true);
  expect(&w, "HEAD /status HTTP/1.1\r\n\r\n", 200, "Content-Length: ", false);
  expect(&w, "GET /status?x HTTP/1.0\r\n\r\n", 200, NULL, true);
  expect(&w, "POST /status HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405, "\r\nAllow: GET, HEAD, OPTIONS\r\n", true);
  expect(&w, "HEAD /events HTTP/1.1\r\n\r\n", 405, "\r\nAllow: GET, OPTIONS\r\n", false);
  expect(&w, "OPTIONS * HTTP/1.1\r\n\r\n", 204, "Access-Control-Allow-Methods: GET", false);
  expect(&w, "OPTIONS /status HTTP/1.1\r\n\r\n", 204, NULL, false);
  expect(&w, "GET /statusx HTTP/1.1\r\n\r\n", 404, "404 Not Found", true);
  expect(&w, "GET /metrics HTTP/1.1\r\n\r\n", 200, "text/plain; version=0.0.4", true);
  expect(&w, "GET /metrics HTTP/1.1\r\n\r\n", 200, "# TYPE cuzk_uptime_seconds gauge\n", true);
  expect(&w, "GET / HTTP/1.1\r\n\r\n", 200, "ETag: \"abc\"\r\n", true);
  expect(&w, "GET / HTTP/1.1\r\nIf-None-Match: \"abc\"\r\n\r\n", 304, "ETag: \"abc\"\r\n", false);
  expect(&w, "nonsense\r\n\r\n", 400, NULL, true);
  expect(&w, "GET / HTTP/3.0\r\n\r\n", 505, NULL, true);
  expect(&w, "GET /status HTTP/1.1\r\nHost: slow\r\n", 408, NULL, true);
  static char big[CUZK_HTTP_MAX_HEAD + 2000];
  int n = snprintf(big, sizeof big, "GET /status HTTP/1.1\r\nX: ");
  memset(big + n, 'a', sizeof big - (size_t)n - 5);
  memcpy(big + sizeof big - 5, "\r\n\r\n", 5);
  expect(&w, big, 431, NULL, true);
  big[CUZK_HTTP_MAX_HEAD - 4] = 0; /* a head of just the limit */
  memcpy(big + CUZK_HTTP_MAX_HEAD - 4, "\r\n\r\n", 5);
  expect(&w, big, 200, NULL, true);

  int held[8];
  for (unsigned i = 0; i < 8; i++) {
    held[i] = dial(&w);
    say(held[i], "GET /events HTTP/1.1\r\n", 22); /* not finished */
  }
  expect(&w, "GET /status HTTP/1.1\r\n\r\n", 503, NULL, true);
  for (unsigned i = 0; i < 8; i++) (void)close(held[i]);
  sleep_ms(100);
  expect(&w, "GET /healthz HTTP/1.1\r\n\r\n", 200, "ok\n", true);
  cuzk_engine_drain(w.b.e);
  expect(&w, "GET /healthz HTTP/1.1\r\n\r\n", 503, "draining\n", true);

  assert_int_equal(cuzk_http_set_cors(w.http, "http://a\r\nEvil: 1"), CUZK_OK);
  char *t = ask(&w, "GET /status HTTP/1.1\r\n\r\n");
  assert_null(strstr(t, "\nEvil"));
  free(t);
  assert_int_equal(cuzk_http_set_cors(w.http, ""), CUZK_OK);
  t = ask(&w, "GET /status HTTP/1.1\r\n\r\n");
  assert_null(strstr(t, "Access-Control"));
  free(t);
  world_end(&w);
}

static void addresses(void **state) {
  (void)state;
  static const char *const bad[] = {"", "9821", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "::1:80", "no.such.host.invalid:1"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct cuzk_http *h;
    struct cuzk_detail d = {{0}};
    struct cuzk_http_options o = {.address = bad[i]};
    assert_int_equal(cuzk_http_create(&h, &o, &d), CUZK_E_ARG);
    assert_null(h);
    assert_true(d.text[0] != 0);
  }
  struct cuzk_http *a, *b;
  struct cuzk_detail d = {{0}};
  struct cuzk_http_options o = {.address = "127.0.0.1:0"};
  assert_int_equal(cuzk_http_create(&a, &o, &d), CUZK_OK);
  o.address = cuzk_http_address(a);
  assert_int_equal(cuzk_http_create(&b, &o, &d), CUZK_E_IO);
  cuzk_http_destroy(&a);
}

/* ---- /status ---- */

/* name:type pairs; types as jansson's, ? allows null. Exactly these members, in any order. */
static void assert_members(json_t *o, const char *schema) {
  assert_true(json_is_object(o));
  unsigned n = 0;
  char copy[1024], *save = NULL;
  (void)snprintf(copy, sizeof copy, "%s", schema);
  for (char *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save), n++) {
    char *type = strchr(p, ':');
    *type++ = 0;
    json_t *v = json_object_get(o, p);
    if (!v) fail_msg("no member %s", p);
    bool null = json_is_null(v) && type[1] == '?';
    bool ok = null || (*type == 'f' && json_is_number(v)) || (*type == 'i' && json_is_integer(v) && json_integer_value(v) >= 0) ||
              (*type == 's' && json_is_string(v)) || (*type == 'b' && json_is_boolean(v)) || (*type == 'o' && json_is_object(v)) ||
              (*type == 'a' && json_is_array(v));
    if (!ok) fail_msg("member %s is not of type %s", p, type);
  }
  assert_int_equal(json_object_size(o), n);
}

static json_t *status_of(const struct world *w) {
  char *t = ask(w, "GET /status HTTP/1.1\r\n\r\n");
  json_error_t e;
  json_t *j = json_loads(strstr(t, "\r\n\r\n") + 4, 0, &e);
  if (!j) fail_msg("%s: %s", e.text, t);
  free(t);
  return j;
}

static void assert_schema(json_t *j) {
  assert_members(j, "uptime_secs:f memory:o synthesis:o pipelines:a gpu_workers:a allocations:o counters:o buffers:o gpus:a gpu_queue_depth:i "
                    "budget_waiters:a draining:b version:s journal:o");
  json_t *memory = json_object_get(j, "memory");
  assert_members(memory, "total_bytes:i used_bytes:i available_bytes:i by_class:o");
  assert_members(json_object_get(memory, "by_class"), "srs:i pce:i inputs:i abc:i aux:i prover:i pool_idle:i scratch:i");
  assert_members(json_object_get(j, "synthesis"), "max_concurrent:i active:i");
  size_t i, k;
  json_t *v, *p;
  json_array_foreach(json_object_get(j, "pipelines"), i, v) {
    assert_members(v, "job_id:s proof_kind:s started_secs_ago:f total_partitions:i partitions_done:i partitions:a state:s circuit_id:s "
                      "priority:i age_secs:f ended_secs_ago:f? error:s?");
    json_array_foreach(json_object_get(v, "partitions"), k, p) {
      assert_members(p, "index:i state:s synth_ms:i? gpu_ms:i? phase:s");
      assert_int_equal(json_integer_value(json_object_get(p, "index")), k);
    }
  }
  json_array_foreach(json_object_get(j, "gpu_workers"), i, v)
    assert_members(v, "worker_id:i gpu_ordinal:i state:s current_job:s? current_partition:i? busy_secs:f? phase:s");
  json_t *allocations = json_object_get(j, "allocations");
  assert_members(allocations, "srs:a pce:a");
  json_array_foreach(json_object_get(allocations, "srs"), i, v)
    assert_members(v, "circuit_id:s bytes:i last_used_secs_ago:f evictable:b refs:i loading:b");
  assert_members(json_object_get(j, "counters"), "total_completed:i total_failed:i completed_by_kind:o failed_by_kind:o queue_depth:i "
                                                 "total_cancelled:i cancelled_by_kind:o");
  assert_members(json_object_get(j, "buffers"), "synth_in_flight:i provers_in_flight:i aux_in_flight:i shells_in_flight:i pending_handles:i");
  json_array_foreach(json_object_get(j, "gpus"), i, v)
    assert_members(v, "ordinal:i name:s uuid:s pci:s memory_total_bytes:i memory_free_bytes:i current_job:s? current_kind:s? busy_secs:f "
                      "quarantined:b lost:b errors:i");
  json_array_foreach(json_object_get(j, "budget_waiters"), i, v) assert_members(v, "class:i order:i partition:i bytes:i waiting_secs:f");
  assert_members(json_object_get(j, "journal"), "enabled:b healthy:b bytes:i jobs:i");
}

static void status_has_every_member(void **state) {
  (void)state;
  struct world w = {0};
  world_start(&w, 0, 0);
  json_t *j = status_of(&w);
  assert_schema(j);
  assert_int_equal(json_array_size(json_object_get(j, "pipelines")), 0);
  assert_true(json_array_size(json_object_get(j, "gpu_workers")) >= 2);
  assert_string_equal(json_string_value(json_object_get(j, "version")), "1.2.3");
  json_decref(j);
  struct ticket a = bench_submit(&w.b, POREP, 1, "porep \"1\", \xc3\xa4");
  bench_complete(&w.b, &a);
  j = status_of(&w);
  assert_schema(j);
  json_t *job = json_array_get(json_object_get(j, "pipelines"), 0);
  assert_string_equal(json_string_value(json_object_get(job, "job_id")), "porep \"1\", \xc3\xa4");
  assert_string_equal(json_string_value(json_object_get(job, "proof_kind")), "porep-c2");
  assert_int_equal(json_integer_value(json_object_get(job, "partitions_done")), 2);
  json_t *part = json_array_get(json_object_get(job, "partitions"), 1);
  assert_string_equal(json_string_value(json_object_get(part, "state")), "done");
  assert_true(json_integer_value(json_object_get(part, "synth_ms")) >= 20);
  assert_true(json_integer_value(json_object_get(part, "gpu_ms")) >= 20);
  json_t *counters = json_object_get(j, "counters");
  assert_int_equal(json_integer_value(json_object_get(counters, "total_completed")), 1);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(counters, "completed_by_kind"), "porep-c2")), 1);
  assert_int_equal(json_object_size(json_object_get(counters, "failed_by_kind")), 0);
  json_t *srs = json_array_get(json_object_get(json_object_get(j, "allocations"), "srs"), 0);
  assert_string_equal(json_string_value(json_object_get(srs, "circuit_id")), "porep-32g");
  assert_int_equal(json_integer_value(json_object_get(srs, "bytes")), 4 * GIB);
  json_decref(j);
  world_end(&w);
}

/* ---- /events ---- */

struct stream {
  int s;
  char buf[1 << 20];
  size_t n, at;
};

/* The next event's name and id, its data to be freed; comments and retry lines are passed over. */
static char *next_event(struct stream *st, char name[32], uint64_t *id) {
  for (;;) {
    char *from = st->buf + st->at, *end = memmem(from, st->n - st->at, "\n\n", 2);
    if (end) {
      char *data = NULL;
      name[0] = 0;
      for (char *line = from; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        if (strncmp(line, "id: ", 4) == 0) *id = strtoull(line + 4, NULL, 10);
        if (strncmp(line, "event: ", 7) == 0) (void)snprintf(name, 32, "%.*s", (int)(stop - line - 7), line + 7);
        if (strncmp(line, "data: ", 6) == 0) data = strndup(line + 6, (size_t)(stop - line - 6));
        line = stop + 1;
      }
      st->at = (size_t)(end - st->buf) + 2;
      if (data) return data;
      continue;
    }
    memmove(st->buf, st->buf + st->at, st->n - st->at);
    st->n -= st->at;
    st->at = 0;
    struct pollfd p = {.fd = st->s, .events = POLLIN};
    if (poll(&p, 1, 10000) != 1) fail_msg("no event");
    ssize_t k = recv(st->s, st->buf + st->n, sizeof st->buf - st->n, 0);
    if (k <= 0) fail_msg("the stream ended");
    st->n += (size_t)k;
  }
}

static struct stream *stream_open(const struct world *w, const char *more) {
  struct stream *st = calloc(1, sizeof *st);
  assert_non_null(st);
  st->s = dial(w);
  char request[256];
  int n = snprintf(request, sizeof request, "GET /events HTTP/1.1\r\n%s\r\n", more);
  say(st->s, request, (size_t)n);
  return st;
}

static void stream_close(struct stream *st) {
  (void)close(st->s);
  free(st);
}

/* Reads timeline events up to number last; each follows the one before. */
static void read_on(struct stream *st, uint64_t after, uint64_t last) {
  char name[32];
  uint64_t id = 0;
  while (after < last) {
    char *data = next_event(st, name, &id);
    if (strcmp(name, "timeline") != 0) fail_msg("%s: %.200s", name, data);
    assert_int_equal(id, after + 1);
    json_t *j = json_loads(data, 0, NULL);
    assert_non_null(j);
    assert_int_equal(json_integer_value(json_object_get(j, "seq")), id);
    json_decref(j);
    free(data);
    after = id;
  }
}

static void events_resume_without_loss(void **state) {
  (void)state;
  struct world w = {0};
  world_start(&w, 0, 0);
  struct stream *st = stream_open(&w, "");
  char name[32];
  uint64_t id = 0;
  char *data = next_event(st, name, &id);
  assert_string_equal(name, "snapshot");
  json_t *j = json_loads(data, 0, NULL);
  assert_schema(j);
  json_decref(j);
  free(data);
  assert_int_equal(id, cuzk_recorder_last(w.b.recorder));
  struct ticket a = bench_submit(&w.b, POREP, 1, "a, %");
  data = next_event(st, name, &id);
  j = json_loads(data, 0, NULL);
  assert_members(j, "seq:i t_us:i event:s job:s? partition:i? worker:i? gpu:i? details:s");
  assert_string_equal(json_string_value(json_object_get(j, "event")), "JOB_SUBMIT");
  assert_string_equal(json_string_value(json_object_get(j, "job")), "a, %");
  json_decref(j);
  free(data);
  bench_complete(&w.b, &a);
  uint64_t last = cuzk_recorder_last(w.b.recorder);
  read_on(st, id, last);
  stream_close(st);
  /* While nobody listens, the next job runs. */
  struct ticket b = bench_submit(&w.b, POREP, 2, "b");
  bench_complete(&w.b, &b);
  uint64_t newest = cuzk_recorder_last(w.b.recorder);
  assert_true(newest > last);
  char more[64];
  (void)snprintf(more, sizeof more, "Last-Event-ID: %llu\r\n", (unsigned long long)last);
  st = stream_open(&w, more);
  read_on(st, last, newest);
  stream_close(st);
  st = stream_open(&w, "Last-Event-ID: 0\r\n");
  read_on(st, 0, newest);
  stream_close(st);
  /* A number of an earlier run that lasted longer. */
  (void)snprintf(more, sizeof more, "Last-Event-ID: %llu\r\n", (unsigned long long)newest + 100);
  st = stream_open(&w, more);
  free(next_event(st, name, &id));
  assert_string_equal(name, "snapshot");
  stream_close(st);
  world_end(&w);
}

static void lost_events_are_told(void **state) {
  (void)state;
  struct world w = {0};
  world_start(&w, 64, 0);
  for (unsigned i = 0; i < 500; i++) cuzk_record(w.b.recorder, CUZK_EV_JOB_PREP, "x", NULL);
  struct stream *st = stream_open(&w, "Last-Event-ID: 1\r\n");
  char name[32];
  uint64_t id = 0;
  char *data = next_event(st, name, &id);
  assert_string_equal(name, "lost");
  assert_non_null(strstr(data, "\"after\":1,"));
  free(data);
  free(next_event(st, name, &id));
  assert_string_equal(name, "snapshot");
  assert_int_equal(id, cuzk_recorder_last(w.b.recorder));
  cuzk_record(w.b.recorder, CUZK_EV_JOB_PREP, "y", NULL);
  read_on(st, id, id + 1);
  stream_close(st);
  world_end(&w);
}

/* One that does not read is neither waited for nor fed without bound; one that reads beside it gets everything. */
static void slow_readers_hold_up_nobody(void **state) {
  (void)state;
  struct world w = {0};
  world_start(&w, 1 << 16, 0);
  struct stream *slow = stream_open(&w, ""), *quick = stream_open(&w, "");
  char name[32];
  uint64_t id = 0;
  free(next_event(quick, name, &id));
  assert_string_equal(name, "snapshot");
  uint64_t begun = cuzk_clock_now(w.b.clock);
  char filler[150];
  memset(filler, 'f', sizeof filler - 1);
  filler[sizeof filler - 1] = 0;
  for (unsigned i = 0; i < 40000; i++) cuzk_record(w.b.recorder, CUZK_EV_JOB_PREP, "x", "v=%s", filler);
  assert_true(cuzk_clock_now(w.b.clock) - begun < 20 * CUZK_SECOND);
  read_on(quick, id, cuzk_recorder_last(w.b.recorder));
  expect(&w, "GET /healthz HTTP/1.1\r\n\r\n", 200, NULL, true);
  stream_close(slow);
  stream_close(quick);
  world_end(&w);
}

int main(void) {
  test_seed();
  (void)signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heads_are_read),           cmocka_unit_test(routes_and_limits),
      cmocka_unit_test(addresses),                cmocka_unit_test(status_has_every_member),
      cmocka_unit_test(events_resume_without_loss), cmocka_unit_test(lost_events_are_told),
      cmocka_unit_test(slow_readers_hold_up_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
