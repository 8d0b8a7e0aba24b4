/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sockets, threads and time around the sessions: libevent moves the bytes. */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "rpc/address.h"
#include "rpc/session.h"
#include "rpc/tls.h"

#define OUT_HIGH (256 << 10) /* bytes that may wait in a connection's output */
#define DRAIN_IDLE_MS 1000    /* while draining, a connection without calls is kept so long */
#define FLUSH_ROUNDS 200     /* of a millisecond and a bit, for the last answers */

struct listener {
  struct listener *next;
  struct cuzk_rpc_server *server;
  struct rpc_address address;
  struct evconnlistener *ev;
  SSL_CTX *tls;
  int fd, lock_fd;
  bool need_token;
  char bound[300];
};

struct connection {
  struct connection *next, *prev;
  struct cuzk_rpc_server *server;
  struct rpc_session *session;
  struct bufferevent *be;
  uint64_t opened_ms, partial_ms, idle_ms; /* partial: bytes came, but no whole frame since; idle: without streams since */
  uint64_t sent, sent_ms;                  /* bytes that had left, and when that last changed */
  bool handshake;                          /* of TLS, not done */
  bool closing;
};

struct cuzk_rpc_server {
  struct rpc_shared shared;
  struct event_base *base;
  struct event *wake, *tick, *resume;
  struct listener *listeners, **last_listener;
  struct connection *connections;
  unsigned n_connections, max_connections;
  uint64_t header_timeout_ms, idle_timeout_ms;
  pthread_t thread;
  bool started, draining, stop;
};

static void count_connection(struct cuzk_rpc_server *s, int by) {
  s->n_connections += (unsigned)by;
  (void)pthread_mutex_lock(&s->shared.core->lock);
  s->shared.stats.connections = s->n_connections;
  if (by > 0) s->shared.stats.connections_total++;
  (void)pthread_mutex_unlock(&s->shared.core->lock);
}

static void connection_free(struct connection *c) {
  struct cuzk_rpc_server *s = c->server;
  if (c->prev) c->prev->next = c->next;
  else s->connections = c->next;
  if (c->next) c->next->prev = c->prev;
  rpc_session_destroy(&c->session);
  SSL *ssl = bufferevent_openssl_get_ssl(c->be);
  if (ssl) (void)SSL_shutdown(ssl);
  bufferevent_free(c->be);
  cuzk_free(c);
  count_connection(s, -1);
}

/* Moves what the session has to say into the socket's buffer. False: the connection is gone. */
static bool pump(struct connection *c) {
  struct evbuffer *out = bufferevent_get_output(c->be);
  const bool failed = c->session->failed;
  uint64_t added = 0;
  while (evbuffer_get_length(out) < OUT_HIGH) {
    size_t n;
    const uint8_t *data = rpc_session_output(c->session, &n);
    if (!data) break;
    if (evbuffer_add(out, data, n)) {
      connection_free(c);
      return false;
    }
    added += n;
  }
  if (added) {
    (void)pthread_mutex_lock(&c->server->shared.core->lock);
    c->server->shared.stats.bytes_out += added;
    (void)pthread_mutex_unlock(&c->server->shared.core->lock);
  }
  rpc_session_sent(c->session, c->session->queued - evbuffer_get_length(out));
  if ((failed || rpc_session_finished(c->session)) && !evbuffer_get_length(out)) {
    connection_free(c);
    return false;
  }
  return true;
}

static void on_read(struct bufferevent *be, void *user) {
  struct connection *c = user;
  struct evbuffer *in = bufferevent_get_input(be);
  const uint64_t before = c->session->n_frames, now = cuzk_rpc_now_ms();
  const bool had_partial = c->partial_ms != 0;
  size_t n;
  while ((n = evbuffer_get_contiguous_space(in)) > 0) {
    const uint8_t *p = evbuffer_pullup(in, (ev_ssize_t)n);
    const bool ok = p && rpc_session_input(c->session, p, n);
    (void)evbuffer_drain(in, n);
    if (!ok) break;
  }
  if (c->session->n_frames != before) c->partial_ms = 0; /* counted, as several reads fall into a millisecond */
  else if (!had_partial) c->partial_ms = now;
  (void)pump(c);
}

static void on_write(struct bufferevent *be, void *user) {
  (void)be;
  (void)pump(user);
}

static void on_event(struct bufferevent *be, short what, void *user) {
  struct connection *c = user;
  if (what & BEV_EVENT_CONNECTED) { /* TLS stands */
    c->handshake = false;
    const SSL *ssl = bufferevent_openssl_get_ssl(be);
    if (!ssl || rpc_tls_is_h2(ssl)) {
      (void)pump(c);
      return;
    }
  }
  connection_free(c);
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *sa, int len, void *user) {
  (void)ev;
  struct listener *l = user;
  struct cuzk_rpc_server *s = l->server;
  char peer[64];
  const uint64_t now = cuzk_rpc_now_ms();
  if (s->n_connections >= s->max_connections) {
    (void)close(fd);
    return;
  }
  rpc_address_name(peer, sizeof peer, sa, (socklen_t)len);
  if (!l->address.unix_path) {
    const int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  }
  struct connection *c = cuzk_calloc(1, sizeof *c);
  if (!c || rpc_session_create(&c->session, &s->shared, peer, l->need_token) != CUZK_OK) {
    cuzk_free(c);
    (void)close(fd);
    return;
  }
  c->server = s;
  c->opened_ms = c->idle_ms = c->sent_ms = now;
  if (l->tls) {
    SSL *ssl = SSL_new(l->tls);
    c->be = ssl ? bufferevent_openssl_socket_new(s->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE) : NULL;
    if (!c->be) SSL_free(ssl);
    c->handshake = true;
  } else {
    c->be = bufferevent_socket_new(s->base, fd, BEV_OPT_CLOSE_ON_FREE);
  }
  if (!c->be) {
    rpc_session_destroy(&c->session);
    cuzk_free(c);
    (void)close(fd);
    return;
  }
  if (l->tls) bufferevent_openssl_set_allow_dirty_shutdown(c->be, 1);
  c->next = s->connections;
  if (c->next) c->next->prev = c;
  s->connections = c;
  count_connection(s, 1);
  bufferevent_setcb(c->be, on_read, on_write, on_event, c);
  bufferevent_setwatermark(c->be, EV_WRITE, OUT_HIGH / 2, 0);
  bufferevent_setwatermark(c->be, EV_READ, 0, 1 << 20);
  (void)bufferevent_enable(c->be, EV_READ | EV_WRITE);
  if (!c->handshake) (void)pump(c);
}

/* Out of descriptors: listening again soon, not spinning. */
static void on_accept_error(struct evconnlistener *ev, void *user) {
  struct listener *l = user;
  const struct timeval soon = {.tv_usec = 100000};
  (void)evconnlistener_disable(ev);
  (void)event_add(l->server->resume, &soon);
}

static void on_resume(evutil_socket_t fd, short what, void *user) {
  (void)fd;
  (void)what;
  struct cuzk_rpc_server *s = user;
  for (struct listener *l = s->listeners; l; l = l->next)
    if (l->ev) (void)evconnlistener_enable(l->ev);
}

static void arm_tick(struct cuzk_rpc_server *s, uint64_t ms) {
  const struct timeval t = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
  (void)event_add(s->tick, &t);
}

static void on_tick(evutil_socket_t fd, short what, void *user) {
  (void)fd;
  (void)what;
  struct cuzk_rpc_server *s = user;
  const uint64_t now = cuzk_rpc_now_ms();
  uint64_t next = 1000;
  for (struct connection *c = s->connections, *after; c; c = after) {
    after = c->next;
    bool alive = true;
    const uint64_t t = rpc_session_tick(c->session, now, &alive);
    if (t < next) next = t;
    if (!c->session->n_calls) {
      if (!c->idle_ms) c->idle_ms = now;
    } else {
      c->idle_ms = 0;
    }
    const bool silent = (c->handshake || !c->session->n_frames) && now - c->opened_ms > s->header_timeout_ms;
    const bool dawdling = c->partial_ms && now - c->partial_ms > s->header_timeout_ms;
    const size_t waits = evbuffer_get_length(bufferevent_get_output(c->be));
    const uint64_t sent = c->session->queued - waits;
    if (!waits || sent != c->sent) {
      c->sent = sent;
      c->sent_ms = now;
    }
    const bool stuck = now - c->sent_ms > s->shared.stall_ms;
    const bool idle = s->idle_timeout_ms && c->idle_ms && now - c->idle_ms > s->idle_timeout_ms;
    if (silent || dawdling || stuck || !alive) {
      connection_free(c);
      continue;
    }
    const bool leaves = s->draining && c->idle_ms && now - c->idle_ms >= DRAIN_IDLE_MS;
    if (idle || leaves) rpc_session_drain(c->session);
    (void)pump(c);
  }
  arm_tick(s, next ? next : 1);
}

static void on_wake(evutil_socket_t fd, short what, void *user) {
  (void)what;
  struct cuzk_rpc_server *s = user;
  uint64_t n;
  const ssize_t r = read(fd, &n, sizeof n);
  (void)r;
  rpc_core_run(s->shared.core);
  if (s->stop) (void)event_base_loopbreak(s->base);
  uint64_t next = 1000;
  const uint64_t now = cuzk_rpc_now_ms();
  for (struct connection *c = s->connections, *after; c; c = after) {
    after = c->next;
    bool alive = true;
    const uint64_t t = rpc_session_tick(c->session, now, &alive);
    if (t < next) next = t;
    (void)pump(c);
  }
}

static void *loop(void *arg) {
  struct cuzk_rpc_server *s = arg;
  sigset_t pipe_only;
  (void)sigemptyset(&pipe_only);
  (void)sigaddset(&pipe_only, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
  (void)pthread_setname_np(pthread_self(), "cuzk-rpc");
  arm_tick(s, 100);
  (void)event_base_loop(s->base, EVLOOP_NO_EXIT_ON_EMPTY);
  return NULL;
}

static void server_free(struct cuzk_rpc_server *s) {
  for (struct listener *l = s->listeners, *next; l; l = next) {
    next = l->next;
    if (l->ev) evconnlistener_free(l->ev);
    else if (l->fd >= 0) (void)close(l->fd);
    rpc_address_unlisten(&l->address, l->lock_fd);
    SSL_CTX_free(l->tls);
    cuzk_free(l);
  }
  if (s->wake) event_free(s->wake);
  if (s->tick) event_free(s->tick);
  if (s->resume) event_free(s->resume);
  if (s->base) event_base_free(s->base);
  for (size_t i = 0; i < s->shared.n_methods; i++) cuzk_free((char *)(uintptr_t)s->shared.methods[i].path);
  cuzk_free(s->shared.methods);
  if (s->shared.token) cuzk_secret_clear(s->shared.token, strlen(s->shared.token));
  cuzk_free(s->shared.token);
  struct rpc_core *core = s->shared.core;
  if (core) {
    const int fd = core->wake_fd;
    (void)pthread_mutex_lock(&core->lock);
    core->wake_fd = -1;
    (void)pthread_mutex_unlock(&core->lock);
    if (fd >= 0) (void)close(fd);
    rpc_core_unref(core);
  }
  cuzk_free(s);
}

enum cuzk_status cuzk_rpc_server_create(struct cuzk_rpc_server **out, const struct cuzk_rpc_options *o, struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_rpc_server *s = cuzk_calloc(1, sizeof *s);
  if (!s) goto nomem;
  s->last_listener = &s->listeners;
  s->shared.core = rpc_core_create();
  if (!s->shared.core) goto nomem;
  s->shared.methods = cuzk_calloc(o->n_methods + 1, sizeof *s->shared.methods);
  if (!s->shared.methods) goto nomem;
  for (; s->shared.n_methods < o->n_methods; s->shared.n_methods++) {
    struct cuzk_rpc_method *m = &s->shared.methods[s->shared.n_methods];
    *m = o->methods[s->shared.n_methods];
    if (!(m->path = cuzk_strdup(m->path))) goto nomem;
  }
  if (o->token && !(s->shared.token = cuzk_strdup(o->token))) goto nomem;
  s->shared.user = o->user;
  s->shared.max_message = o->max_message_bytes ? o->max_message_bytes : UINT64_C(256) << 20;
  s->shared.max_buffered = o->max_buffered_bytes ? o->max_buffered_bytes : 4 * s->shared.max_message;
  s->shared.max_streams = o->max_streams ? o->max_streams : 128;
  s->max_connections = o->max_connections ? o->max_connections : 1024;
  s->shared.max_response = o->max_response_bytes ? o->max_response_bytes : UINT64_C(16) << 20;
  s->shared.stall_ms = o->stall_timeout_ms ? o->stall_timeout_ms : 60000;
  s->header_timeout_ms = o->header_timeout_ms ? o->header_timeout_ms : 10000;
  s->idle_timeout_ms = o->idle_timeout_ms;
  if (evthread_use_pthreads()) goto nomem;
  s->base = event_base_new();
  s->shared.core->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (!s->base || s->shared.core->wake_fd < 0) goto nomem;
  s->wake = event_new(s->base, s->shared.core->wake_fd, EV_READ | EV_PERSIST, on_wake, s);
  s->tick = event_new(s->base, -1, 0, on_tick, s);
  s->resume = event_new(s->base, -1, 0, on_resume, s);
  if (!s->wake || !s->tick || !s->resume || event_add(s->wake, NULL)) goto nomem;
  *out = s;
  return CUZK_OK;
nomem:
  if (s) server_free(s);
  return cuzk_fail(d, CUZK_E_NOMEM, "no memory or descriptors for the gRPC server");
}

enum cuzk_status cuzk_rpc_server_listen(struct cuzk_rpc_server *s, const struct cuzk_rpc_listen *lp, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  struct listener *l = cuzk_calloc(1, sizeof *l);
  if (!l) return cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory to listen", lp->address);
  l->fd = l->lock_fd = -1;
  l->server = s;
  CUZK_TRY(rpc_address_parse(&l->address, lp->address, d));
  if (lp->tls_cert && lp->tls_cert[0]) {
    if (l->address.unix_path) {
      st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: TLS is for TCP addresses", lp->address);
      goto out;
    }
    CUZK_TRY(rpc_tls_server(&l->tls, lp->tls_cert, lp->tls_key && lp->tls_key[0] ? lp->tls_key : lp->tls_cert, lp->tls_client_ca, d));
  }
  if (lp->need_token && !s->shared.token) {
    st = cuzk_fail(d, CUZK_E_ARG, "%s: a token is to be asked for, but the server has none", lp->address);
    goto out;
  }
  l->need_token = lp->need_token && !l->address.unix_path;
  CUZK_TRY(rpc_address_listen(&l->fd, &l->lock_fd, l->bound, &l->address, lp, d));
  l->ev = evconnlistener_new(s->base, on_accept, l, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | (s->started ? 0 : LEV_OPT_DISABLED), 0, l->fd);
  if (!l->ev) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory to listen", lp->address);
    goto out;
  }
  evconnlistener_set_error_cb(l->ev, on_accept_error);
  *s->last_listener = l;
  s->last_listener = &l->next;
  return CUZK_OK;
out:
  if (l->fd >= 0) (void)close(l->fd);
  rpc_address_unlisten(&l->address, l->lock_fd);
  SSL_CTX_free(l->tls);
  cuzk_free(l);
  return st;
}

const char *cuzk_rpc_server_address(const struct cuzk_rpc_server *s, size_t i) {
  for (const struct listener *l = s->listeners; l; l = l->next)
    if (!i--) return l->bound;
  return NULL;
}

enum cuzk_status cuzk_rpc_server_start(struct cuzk_rpc_server *s, struct cuzk_detail *d) {
  for (struct listener *l = s->listeners; l; l = l->next) (void)evconnlistener_enable(l->ev);
  if (pthread_create(&s->thread, NULL, loop, s)) return cuzk_fail(d, CUZK_E_NOMEM, "the gRPC server's thread cannot be started");
  s->started = true;
  return CUZK_OK;
}

static void drain_run(void *user) {
  struct cuzk_rpc_server *s = user;
  s->draining = true;
  for (struct connection *c = s->connections; c; c = c->next)
    if (!c->session->n_calls) rpc_session_drain(c->session);
}

void cuzk_rpc_server_drain(struct cuzk_rpc_server *s) { (void)rpc_core_post(s->shared.core, drain_run, s); }

static void stop_run(void *user) { ((struct cuzk_rpc_server *)user)->stop = true; }

/* Answers given at the last moment still go out, as far as the sockets take them; nothing is read any more. */
static void flush(struct cuzk_rpc_server *s) {
  for (struct listener *l = s->listeners; l; l = l->next) (void)evconnlistener_disable(l->ev);
  (void)event_del(s->wake);
  (void)event_del(s->tick);
  (void)event_del(s->resume);
  for (struct connection *c = s->connections, *next; c; c = next) {
    next = c->next;
    (void)bufferevent_disable(c->be, EV_READ);
    (void)pump(c);
  }
  for (unsigned i = 0; i < FLUSH_ROUNDS && s->connections; i++) {
    size_t waits = 0;
    for (struct connection *c = s->connections; c; c = c->next) waits += evbuffer_get_length(bufferevent_get_output(c->be));
    if (!waits) break;
    (void)event_base_loop(s->base, EVLOOP_NONBLOCK);
    (void)usleep(1000);
  }
}

void cuzk_rpc_server_destroy(struct cuzk_rpc_server **sp) {
  struct cuzk_rpc_server *s = *sp;
  if (!s) return;
  *sp = NULL;
  if (s->started) {
    while (rpc_core_post(s->shared.core, stop_run, s) == CUZK_E_NOMEM) (void)usleep(1000);
    (void)pthread_join(s->thread, NULL);
  }
  (void)pthread_mutex_lock(&s->shared.core->lock);
  s->shared.core->alive = false;
  (void)pthread_mutex_unlock(&s->shared.core->lock);
  rpc_core_run(s->shared.core); /* what was posted before */
  flush(s);
  while (s->connections) connection_free(s->connections);
  server_free(s);
}

enum cuzk_status cuzk_rpc_server_post(struct cuzk_rpc_server *s, void (*fn)(void *user), void *user) {
  return rpc_core_post(s->shared.core, fn, user);
}

void cuzk_rpc_server_stats(struct cuzk_rpc_server *s, struct cuzk_rpc_stats *out) {
  (void)pthread_mutex_lock(&s->shared.core->lock);
  *out = s->shared.stats;
  (void)pthread_mutex_unlock(&s->shared.core->lock);
}
