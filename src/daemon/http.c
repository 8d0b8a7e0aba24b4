/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "daemon/http_request.h"
#include "daemon/status_json.h"

#define FEED_BYTES (256u << 10) /* a stream's unsent output is not filled beyond */
#define FEED_EVENTS 64          /* read from the recorder at a time */
#define HEARTBEAT_S 15
#define LINGER_S 1

enum state { HEAD, ANSWER, STREAM, LINGER };
struct conn {
  struct conn *next, **back;
  struct cuzk_http *h;
  struct bufferevent *b;
  struct event *deadline;
  enum state state;
  uint64_t seq; /* STREAM: of the last event sent */
};

struct asset {
  struct asset *next;
  char *path, *type, *etag;
  const void *bytes;
  size_t n;
};

struct cuzk_http {
  struct cuzk_http_options o; /* strings are ours */
  char *version, address[80];
  pthread_mutex_t lock; /* guards cors */
  char *cors;           /* NULL: none */
  struct cuzk_engine *engine;
  struct asset *assets;
  struct event_base *base;
  struct event *accepts, *wakes, *heart;
  int listener, wake_fd;
  pthread_t thread;
  bool running;
  atomic_bool stop, woken;
  atomic_uint n_streams;
  struct conn *conns;
  unsigned n_conns;
};

/* ---- connections ---- */

static void conn_free(struct conn *c) {
  *c->back = c->next;
  if (c->next) c->next->back = c->back;
  c->h->n_conns--;
  if (c->state == STREAM) (void)atomic_fetch_sub(&c->h->n_streams, 1);
  if (c->deadline) event_free(c->deadline);
  if (c->b) bufferevent_free(c->b);
  cuzk_free(c);
}

static void set_deadline(struct conn *c, uint64_t ms) {
  struct timeval t = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
  (void)event_add(c->deadline, &t);
}

/* All is sent. What the client may still be sending is read for a moment, since closing over it would take the answer back. */
static void linger(struct conn *c) {
  c->state = LINGER;
  (void)shutdown(bufferevent_getfd(c->b), SHUT_WR);
  set_deadline(c, LINGER_S * 1000);
}

static void answering(struct conn *c) {
  c->state = ANSWER;
  (void)event_del(c->deadline);
}

/* ---- answers ---- */

static const char *reason(int code) {
  switch (code) {
    case 200: return "OK";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

static void put_cors(struct cuzk_http *h, struct evbuffer *out) {
  (void)pthread_mutex_lock(&h->lock);
  if (h->cors) {
    (void)evbuffer_add_printf(out, "Access-Control-Allow-Origin: %s\r\n", h->cors);
    if (strcmp(h->cors, "*") != 0) (void)evbuffer_add_printf(out, "Vary: Origin\r\n");
  }
  (void)pthread_mutex_unlock(&h->lock);
}

/* Status line and headers; more: further header lines. */
static void put_head(struct conn *c, int code, const char *type, const char *more) {
  struct evbuffer *out = bufferevent_get_output(c->b);
  (void)evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n", code, reason(code));
  if (type) (void)evbuffer_add_printf(out, "Content-Type: %s\r\n", type);
  put_cors(c->h, out);
  if (more) (void)evbuffer_add_printf(out, "%s", more);
}

static void respond(struct conn *c, int code, const char *type, const char *more, const void *body, size_t n, bool head_only) {
  answering(c);
  put_head(c, code, type, more);
  struct evbuffer *out = bufferevent_get_output(c->b);
  if (code != 204 && code != 304) (void)evbuffer_add_printf(out, "Content-Length: %zu\r\n", n);
  (void)evbuffer_add_printf(out, "\r\n");
  if (!head_only && n) (void)evbuffer_add(out, body, n);
}

static void respond_text(struct conn *c, int code, const char *more, bool head_only) {
  char text[64];
  int n = snprintf(text, sizeof text, "%d %s\n", code, reason(code));
  respond(c, code, "text/plain; charset=utf-8", more, text, (size_t)n, head_only);
}

static enum cuzk_status status_text(struct cuzk_http *h, char **text, size_t *n) {
  struct cuzk_engine_view v;
  enum cuzk_status st = cuzk_engine_view(h->engine, &v);
  if (st != CUZK_OK) return st;
  st = cuzk_status_json(text, n, &v, h->o.kinds, h->version, cuzk_clock_now(h->o.clock));
  cuzk_engine_view_clear(&v);
  return st;
}

#define NO_STORE "Cache-Control: no-store\r\n"

static void serve_status(struct conn *c, const struct cuzk_http_request *r) {
  static const char failed[] = "{\"error\":\"out of memory\"}";
  char *text;
  size_t n;
  if (status_text(c->h, &text, &n) != CUZK_OK) {
    respond(c, 500, "application/json", NO_STORE, failed, sizeof failed - 1, r->method == CUZK_HTTP_HEAD);
    return;
  }
  respond(c, 200, "application/json", NO_STORE, text, n, r->method == CUZK_HTTP_HEAD);
  cuzk_free(text);
}

static void serve_metrics(struct conn *c, const struct cuzk_http_request *r) {
  char *text;
  if (cuzk_engine_metrics_text(c->h->engine, &text) != CUZK_OK) {
    respond_text(c, 500, NO_STORE, r->method == CUZK_HTTP_HEAD);
    return;
  }
  respond(c, 200, "text/plain; version=0.0.4; charset=utf-8", NO_STORE, text, strlen(text), r->method == CUZK_HTTP_HEAD);
  cuzk_free(text);
}

static void serve_health(struct conn *c, const struct cuzk_http_request *r) {
  struct cuzk_engine_view v;
  bool head = r->method == CUZK_HTTP_HEAD;
  if (cuzk_engine_view(c->h->engine, &v) != CUZK_OK) {
    respond_text(c, 500, NO_STORE, head);
    return;
  }
  bool draining = v.draining;
  cuzk_engine_view_clear(&v);
  if (draining) respond(c, 503, "text/plain; charset=utf-8", NO_STORE, "draining\n", 9, head);
  else respond(c, 200, "text/plain; charset=utf-8", NO_STORE, "ok\n", 3, head);
}

/* Pages run only what is served here and talk to nobody else, whatever text they show. */
#define ASSET_POLICY                                                                                                                      \
  "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " \
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'\r\nReferrer-Policy: no-referrer\r\n"

static void serve_asset(struct conn *c, const struct asset *a, const struct cuzk_http_request *r) {
  char more[768];
  (void)snprintf(more, sizeof more, "Cache-Control: no-cache\r\n" ASSET_POLICY "%s%.200s%s", a->etag ? "ETag: " : "", a->etag ? a->etag : "",
                 a->etag ? "\r\n" : "");
  if (a->etag && cuzk_http_etag_matches(r->if_none_match, a->etag)) respond(c, 304, NULL, more, NULL, 0, true);
  else respond(c, 200, a->type, more, a->bytes, a->n, r->method == CUZK_HTTP_HEAD);
}

/* ---- the stream of events ---- */

static bool put_snapshot(struct conn *c) {
  char *text;
  size_t n;
  /* The number first: an event that is in the snapshot already may follow it, but none is left out. */
  c->seq = cuzk_recorder_last(c->h->o.recorder);
  if (status_text(c->h, &text, &n) != CUZK_OK) return false;
  struct evbuffer *out = bufferevent_get_output(c->b);
  (void)evbuffer_add_printf(out, "id: %" PRIu64 "\nevent: snapshot\ndata: ", c->seq);
  (void)evbuffer_add(out, text, n);
  (void)evbuffer_add(out, "\n\n", 2);
  cuzk_free(text);
  return true;
}

static bool put_lost(struct conn *c, uint64_t first) {
  (void)evbuffer_add_printf(bufferevent_get_output(c->b), "event: lost\ndata: {\"after\":%" PRIu64 ",\"oldest\":%" PRIu64 "}\n\n", c->seq,
                            first);
  return put_snapshot(c);
}

static bool put_event(struct evbuffer *out, const struct cuzk_event_record *r) {
  char *text;
  size_t n;
  if (cuzk_event_json(&text, &n, r) != CUZK_OK) return false;
  (void)evbuffer_add_printf(out, "id: %" PRIu64 "\nevent: timeline\ndata: ", r->seq);
  (void)evbuffer_add(out, text, n);
  (void)evbuffer_add(out, "\n\n", 2);
  cuzk_free(text);
  return true;
}

/* Sends what the recorder has for this stream, up to its share of memory. False: to be closed. */
static bool feed(struct conn *c) {
  struct evbuffer *out = bufferevent_get_output(c->b);
  struct cuzk_event_record r[FEED_EVENTS];
  while (evbuffer_get_length(out) < FEED_BYTES) {
    uint64_t first;
    size_t n = cuzk_recorder_read(c->h->o.recorder, c->seq, r, FEED_EVENTS, &first);
    if (c->seq + 1 < first) return put_lost(c, first);
    if (n == 0) return true;
    for (size_t i = 0; i < n; i++) {
      if (!put_event(out, &r[i])) return false;
      c->seq = r[i].seq;
    }
  }
  return true;
}

static void serve_events(struct conn *c, const struct cuzk_http_request *r) {
  struct cuzk_http *h = c->h;
  if (atomic_load(&h->n_streams) >= (h->o.max_connections + 1) / 2) {
    respond_text(c, 503, "Retry-After: 5\r\n", false);
    return;
  }
  answering(c);
  put_head(c, 200, "text/event-stream", NO_STORE "X-Accel-Buffering: no\r\n");
  (void)evbuffer_add_printf(bufferevent_get_output(c->b), "\r\nretry: 2000\n\n");
  c->state = STREAM;
  (void)atomic_fetch_add(&h->n_streams, 1);
  bool ok;
  /* A number from beyond the last event is of an earlier run. */
  if (r->has_last_event_id && r->last_event_id <= cuzk_recorder_last(h->o.recorder)) {
    c->seq = r->last_event_id;
    ok = true;
  } else {
    ok = put_snapshot(c);
  }
  if (!ok || !feed(c)) conn_free(c);
}

/* ---- requests ---- */

static bool is(struct cuzk_slice s, const char *text) { return s.n == strlen(text) && memcmp(s.data, text, s.n) == 0; }

typedef void serve_fn(struct conn *c, const struct cuzk_http_request *r);

static void route(struct conn *c, const struct cuzk_http_request *r) {
  static const struct {
    const char *path;
    serve_fn *serve;
    bool head;
  } routes[] = {{"/status", serve_status, true}, {"/metrics", serve_metrics, true}, {"/healthz", serve_health, true}, {"/events", serve_events, false}};
  if (r->method == CUZK_HTTP_OPTIONS) {
    respond(c, 204, NULL,
            "Allow: GET, HEAD, OPTIONS\r\nAccess-Control-Allow-Methods: GET, HEAD, OPTIONS\r\n"
            "Access-Control-Allow-Headers: Last-Event-ID, If-None-Match\r\nAccess-Control-Max-Age: 600\r\n",
            NULL, 0, true);
    return;
  }
  serve_fn *serve = NULL;
  bool head = true;
  for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
    if (!is(r->path, routes[i].path) || (routes[i].serve == serve_events && !c->h->o.recorder)) continue;
    serve = routes[i].serve;
    head = routes[i].head;
  }
  const struct asset *a = NULL;
  if (!serve)
    for (a = c->h->assets; a && !is(r->path, a->path);) a = a->next;
  if (!serve && !a) {
    respond_text(c, 404, NULL, r->method == CUZK_HTTP_HEAD);
  } else if (r->method == CUZK_HTTP_OTHER || (r->method == CUZK_HTTP_HEAD && !head)) {
    respond_text(c, 405, head ? "Allow: GET, HEAD, OPTIONS\r\n" : "Allow: GET, OPTIONS\r\n", r->method == CUZK_HTTP_HEAD);
  } else if (serve) {
    serve(c, r);
  } else {
    serve_asset(c, a, r);
  }
}

static void on_read(struct bufferevent *b, void *arg) {
  struct conn *c = arg;
  struct evbuffer *in = bufferevent_get_input(b);
  if (c->state != HEAD) { /* bodies and what follows are not for us */
    (void)evbuffer_drain(in, evbuffer_get_length(in));
    return;
  }
  size_t n = evbuffer_get_length(in);
  if (n > CUZK_HTTP_MAX_HEAD) n = CUZK_HTTP_MAX_HEAD;
  const uint8_t *data = evbuffer_pullup(in, (ev_ssize_t)n);
  if (!data) return;
  struct cuzk_http_request r;
  int code = cuzk_http_parse(&r, data, n);
  if (code == 0) return;
  if (code == 200) route(c, &r);
  else respond_text(c, code, NULL, false);
}

/* Output is below its low-water mark. */
static void on_written(struct bufferevent *b, void *arg) {
  struct conn *c = arg;
  if (c->state == STREAM) {
    if (!feed(c)) conn_free(c);
  } else if (c->state == ANSWER && evbuffer_get_length(bufferevent_get_output(b)) == 0) {
    linger(c);
  }
}

static void on_gone(struct bufferevent *b, short what, void *arg) {
  (void)b;
  struct conn *c = arg;
  /* A client may end its side and still read the answer; its stream of events it then does not want any more. */
  if ((what & BEV_EVENT_EOF) && c->state == ANSWER) return;
  conn_free(c);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg) {
  (void)fd;
  (void)what;
  struct conn *c = arg;
  if (c->state == HEAD) respond_text(c, 408, NULL, false);
  else conn_free(c);
}

/* ---- the loop ---- */

static void conn_create(struct cuzk_http *h, int fd) {
  struct conn *c = cuzk_calloc(1, sizeof *c);
  if (!c) {
    (void)close(fd);
    return;
  }
  c->h = h;
  c->next = h->conns;
  c->back = &h->conns;
  if (c->next) c->next->back = &c->next;
  h->conns = c;
  h->n_conns++;
  c->b = bufferevent_socket_new(h->base, fd, BEV_OPT_CLOSE_ON_FREE);
  if (!c->b) (void)close(fd);
  c->deadline = evtimer_new(h->base, on_deadline, c);
  if (!c->b || !c->deadline) {
    conn_free(c);
    return;
  }
  struct timeval t = {.tv_sec = (time_t)(h->o.write_timeout_ms / 1000), .tv_usec = (suseconds_t)(h->o.write_timeout_ms % 1000 * 1000)};
  (void)bufferevent_set_timeouts(c->b, NULL, &t);
  bufferevent_setwatermark(c->b, EV_READ, 0, CUZK_HTTP_MAX_HEAD + 1);
  bufferevent_setcb(c->b, on_read, on_written, on_gone, c);
  set_deadline(c, h->o.head_timeout_ms);
  (void)bufferevent_enable(c->b, EV_READ | EV_WRITE);
  if (h->n_conns > h->o.max_connections) respond_text(c, 503, "Retry-After: 1\r\n", false);
}

static void on_accept(evutil_socket_t fd, short what, void *arg) {
  (void)what;
  struct cuzk_http *h = arg;
  for (unsigned i = 0; i < 16; i++) {
    int s = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (s < 0) return;
    /* Beyond the limit a few are told so; a flood is not even answered. */
    if (h->n_conns >= h->o.max_connections + 8) (void)close(s);
    else conn_create(h, s);
  }
}

static void feed_all(struct cuzk_http *h) {
  for (struct conn *c = h->conns, *next; c; c = next) {
    next = c->next;
    if (c->state == STREAM && !feed(c)) conn_free(c);
  }
}

static void on_wake(evutil_socket_t fd, short what, void *arg) {
  (void)what;
  struct cuzk_http *h = arg;
  uint64_t n;
  while (read((int)fd, &n, sizeof n) > 0) {
  }
  atomic_store(&h->woken, false);
  if (atomic_load(&h->stop)) {
    (void)event_base_loopbreak(h->base);
    return;
  }
  feed_all(h);
}

/* Shows proxies and clients that the stream lives, and us that the client does. */
static void on_heart(evutil_socket_t fd, short what, void *arg) {
  (void)fd;
  (void)what;
  struct cuzk_http *h = arg;
  for (struct conn *c = h->conns; c; c = c->next) {
    if (c->state == STREAM && evbuffer_get_length(bufferevent_get_output(c->b)) == 0)
      (void)evbuffer_add(bufferevent_get_output(c->b), ":\n\n", 3);
  }
}

static void *loop_main(void *arg) {
  struct cuzk_http *h = arg;
  (void)event_base_dispatch(h->base);
  return NULL;
}

static void wake(struct cuzk_http *h) {
  uint64_t one = 1;
  if (atomic_exchange(&h->woken, true)) return;
  while (write(h->wake_fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void cuzk_http_on_event(void *http) {
  struct cuzk_http *h = http;
  if (atomic_load(&h->n_streams) > 0) wake(h);
}

/* ---- life ---- */

/* host and port of "host:port", "[v6]:port", ":port". */
static enum cuzk_status split(const char *address, char *host, size_t n_host, char *port, size_t n_port, struct cuzk_detail *d) {
  const char *colon = strrchr(address, ':');
  const char *from = address, *to = colon;
  if (colon && *address == '[' && colon > address + 1 && colon[-1] == ']') {
    from = address + 1;
    to = colon - 1;
  } else if (colon && memchr(address, ':', (size_t)(colon - address))) {
    colon = NULL; /* a bare IPv6 address */
  }
  if (!colon || !colon[1] || (size_t)(to - from) >= n_host || strlen(colon + 1) >= n_port || strspn(colon + 1, "0123456789") != strlen(colon + 1))
    return cuzk_fail(d, CUZK_E_ARG, "status address '%s': expected host:port, [v6]:port or :port", address);
  memcpy(host, from, (size_t)(to - from));
  host[to - from] = 0;
  if (!*host) (void)snprintf(host, n_host, "127.0.0.1");
  (void)snprintf(port, n_port, "%s", colon + 1);
  return CUZK_OK;
}

static enum cuzk_status listen_on(struct cuzk_http *h, const char *address, struct cuzk_detail *d) {
  char host[256], port[8];
  enum cuzk_status st = split(address, host, sizeof host, port, sizeof port, d);
  if (st != CUZK_OK) return st;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
  int e = getaddrinfo(host, port, &hints, &found);
  if (e != 0) return cuzk_fail(d, e == EAI_MEMORY ? CUZK_E_NOMEM : CUZK_E_ARG, "status address '%s': %s", address, gai_strerror(e));
  h->listener = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int on = 1;
  if (h->listener < 0 || setsockopt(h->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(h->listener, found->ai_addr, found->ai_addrlen) != 0 || listen(h->listener, 128) != 0)
    st = cuzk_fail_errno(d, errno, "status address '%s': cannot listen", address);
  freeaddrinfo(found);
  if (st != CUZK_OK) return st == CUZK_E_NOENT ? CUZK_E_IO : st;
  struct sockaddr_storage bound;
  socklen_t n = sizeof bound;
  char name[INET6_ADDRSTRLEN], number[8];
  if (getsockname(h->listener, (struct sockaddr *)&bound, &n) != 0 ||
      getnameinfo((struct sockaddr *)&bound, n, name, sizeof name, number, sizeof number, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return cuzk_fail(d, CUZK_E_IO, "status address '%s': cannot tell where it listens", address);
  (void)snprintf(h->address, sizeof h->address, bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", name, number);
  return CUZK_OK;
}

enum cuzk_status cuzk_http_create(struct cuzk_http **out, const struct cuzk_http_options *o, struct cuzk_detail *d) {
  *out = NULL;
  enum cuzk_status st;
  struct cuzk_http *h = cuzk_calloc(1, sizeof *h);
  if (!h) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the status endpoint");
  h->o = *o;
  h->listener = h->wake_fd = -1;
  (void)pthread_mutex_init(&h->lock, NULL);
  if (!h->o.max_connections) h->o.max_connections = 64;
  if (!h->o.head_timeout_ms) h->o.head_timeout_ms = 5000;
  if (!h->o.write_timeout_ms) h->o.write_timeout_ms = 30000;
  CUZK_TRY(cuzk_http_set_cors(h, o->cors_origin));
  h->version = cuzk_strdup(o->version ? o->version : "");
  h->base = event_base_new();
  h->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (!h->version || !h->base || h->wake_fd < 0) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for the status endpoint");
    goto out;
  }
  CUZK_TRY(listen_on(h, o->address, d));
  h->accepts = event_new(h->base, h->listener, EV_READ | EV_PERSIST, on_accept, h);
  h->wakes = event_new(h->base, h->wake_fd, EV_READ | EV_PERSIST, on_wake, h);
  h->heart = event_new(h->base, -1, EV_PERSIST, on_heart, h);
  const struct timeval beat = {.tv_sec = HEARTBEAT_S};
  if (!h->accepts || !h->wakes || !h->heart || event_add(h->accepts, NULL) != 0 || event_add(h->wakes, NULL) != 0 ||
      event_add(h->heart, &beat) != 0) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for the status endpoint");
    goto out;
  }
  *out = h;
  return CUZK_OK;
out:
  cuzk_http_destroy(&h);
  return st;
}

const char *cuzk_http_address(const struct cuzk_http *h) { return h->address; }

enum cuzk_status cuzk_http_set_cors(struct cuzk_http *h, const char *origin) {
  char *copy = NULL;
  if (origin && *origin) {
    copy = cuzk_strdup(origin);
    if (!copy) return CUZK_E_NOMEM;
    for (char *p = copy; *p; p++)
      if ((unsigned char)*p < 0x20) *p = ' '; /* no header of one's own making */
  }
  (void)pthread_mutex_lock(&h->lock);
  char *old = h->cors;
  h->cors = copy;
  (void)pthread_mutex_unlock(&h->lock);
  cuzk_free(old);
  return CUZK_OK;
}

static void asset_free(struct asset *a) {
  if (!a) return;
  cuzk_free(a->path);
  cuzk_free(a->type);
  cuzk_free(a->etag);
  cuzk_free(a);
}

enum cuzk_status cuzk_http_add(struct cuzk_http *h, const char *path, const char *type, const void *bytes, size_t n, const char *etag) {
  if (*path != '/') return CUZK_E_ARG;
  for (const struct asset *a = h->assets; a; a = a->next)
    if (strcmp(a->path, path) == 0) return CUZK_E_ARG;
  struct asset *a = cuzk_calloc(1, sizeof *a);
  if (!a) return CUZK_E_NOMEM;
  a->path = cuzk_strdup(path);
  a->type = cuzk_strdup(type);
  a->etag = etag ? cuzk_strdup(etag) : NULL;
  if (!a->path || !a->type || (etag && !a->etag)) {
    asset_free(a);
    return CUZK_E_NOMEM;
  }
  a->bytes = bytes;
  a->n = n;
  a->next = h->assets;
  h->assets = a;
  return CUZK_OK;
}

enum cuzk_status cuzk_http_start(struct cuzk_http *h, struct cuzk_engine *engine) {
  h->engine = engine;
  if (pthread_create(&h->thread, NULL, loop_main, h) != 0) return CUZK_E_NOMEM;
  h->running = true;
  return CUZK_OK;
}

void cuzk_http_stop(struct cuzk_http *h) {
  if (h->running) {
    atomic_store(&h->stop, true);
    atomic_store(&h->woken, false); /* one more message, whatever else is on its way */
    wake(h);
    (void)pthread_join(h->thread, NULL);
    h->running = false;
  }
  while (h->conns) conn_free(h->conns);
}

void cuzk_http_destroy(struct cuzk_http **hp) {
  struct cuzk_http *h = *hp;
  if (!h) return;
  *hp = NULL;
  cuzk_http_stop(h);
  if (h->accepts) event_free(h->accepts);
  if (h->wakes) event_free(h->wakes);
  if (h->heart) event_free(h->heart);
  if (h->base) event_base_free(h->base);
  if (h->listener >= 0) (void)close(h->listener);
  if (h->wake_fd >= 0) (void)close(h->wake_fd);
  while (h->assets) {
    struct asset *a = h->assets;
    h->assets = a->next;
    asset_free(a);
  }
  cuzk_free(h->cors);
  cuzk_free(h->version);
  (void)pthread_mutex_destroy(&h->lock);
  cuzk_free(h);
}
