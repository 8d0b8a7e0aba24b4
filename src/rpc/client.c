/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One connection and one thread that owns it; callers wait on their call's condition. */
#include "rpc/client.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "rpc/address.h"
#include "rpc/grpc.h"
#include "rpc/tls.h"

#define WINDOW (8 << 20)

struct call {
  struct call *next;
  const char *path;
  const uint8_t *body;
  size_t n, sent;           /* of prefix and body */
  uint8_t prefix[CUZK_GRPC_PREFIX];
  uint64_t timeout_ms, deadline_ms;
  int32_t id;               /* 0: not yet submitted */
  struct cuzk_grpc_reader reader;
  struct cuzk_rpc_answer answer;
  bool have_code, bad_http, done, wants_cancel;
};

struct cuzk_rpc_client {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  nghttp2_session *h2;
  int fd, wake_fd;
  SSL_CTX *tls;
  SSL *ssl;
  uint64_t max_message;
  char authority[300];
  char *token;
  struct call *calls;
  bool stop, dead;
  char why[200]; /* dead */
  const uint8_t *out; /* bytes of h2 not yet written */
  size_t n_out;
  bool ssl_wants_write;
};

static void die(struct cuzk_rpc_client *c, const char *why) {
  if (c->dead) return;
  c->dead = true;
  (void)snprintf(c->why, sizeof c->why, "%s", why);
}

static void finish(struct call *k, enum cuzk_grpc_code code, const char *message) {
  if (k->done) return;
  k->done = true;
  k->answer.code = code;
  if (message) {
    cuzk_free(k->answer.message);
    k->answer.message = cuzk_strdup(message);
  }
}

static ssize_t read_body(nghttp2_session *h2, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *user) {
  (void)h2;
  (void)id;
  (void)user;
  struct call *k = source->ptr;
  size_t n = 0;
  while (n < length && k->sent < CUZK_GRPC_PREFIX) buf[n++] = k->prefix[k->sent++];
  const size_t left = CUZK_GRPC_PREFIX + k->n - k->sent, take = left < length - n ? left : length - n;
  if (take) memcpy(buf + n, k->body + (k->sent - CUZK_GRPC_PREFIX), take);
  k->sent += take;
  n += take;
  if (k->sent == CUZK_GRPC_PREFIX + k->n) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)n;
}

static bool is(const uint8_t *s, size_t n, const char *t) { return n == strlen(t) && !memcmp(s, t, n); }

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
                     uint8_t flags, void *user) {
  (void)flags;
  (void)user;
  struct call *k = nghttp2_session_get_stream_user_data(h2, frame->hd.stream_id);
  if (!k || frame->hd.type != NGHTTP2_HEADERS) return 0;
  if (is(name, n_name, ":status")) {
    k->bad_http = !is(value, n_value, "200");
  } else if (is(name, n_name, "grpc-status") && n_value && n_value < 4) {
    char text[4] = {0};
    memcpy(text, value, n_value);
    k->answer.code = (enum cuzk_grpc_code)strtol(text, NULL, 10);
    k->have_code = true;
  } else if (is(name, n_name, "grpc-message") && !k->answer.message) {
    char *m = cuzk_malloc(n_value + 1);
    if (!m) return 0;
    memcpy(m, value, n_value);
    m[cuzk_grpc_decode_message(m, n_value)] = 0;
    k->answer.message = m;
  }
  return 0;
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user) {
  (void)flags;
  struct cuzk_rpc_client *c = user;
  struct call *k = nghttp2_session_get_stream_user_data(h2, id);
  while (k && !k->done && n) {
    size_t used = 0;
    const enum cuzk_grpc_feed f = k->reader.complete ? CUZK_FEED_COMPRESSED : cuzk_grpc_read(&k->reader, data, n, &used, c->max_message, NULL, NULL);
    data += used;
    n -= used;
    if (f == CUZK_FEED_MORE || f == CUZK_FEED_MESSAGE) continue;
    finish(k, f == CUZK_FEED_COMPRESSED ? CUZK_GRPC_INTERNAL : CUZK_GRPC_RESOURCE_EXHAUSTED,
           f == CUZK_FEED_COMPRESSED ? "the answer is not one plain message" : "the answer is larger than this client takes");
    (void)nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  return 0;
}

static int on_close(nghttp2_session *h2, int32_t id, uint32_t error, void *user) {
  (void)user;
  struct call *k = nghttp2_session_get_stream_user_data(h2, id);
  char text[96];
  if (!k) return 0;
  (void)nghttp2_session_set_stream_user_data(h2, id, NULL);
  if (k->done) return 0;
  if (k->have_code) {
    if (k->answer.code == CUZK_GRPC_OK && !k->reader.complete) {
      finish(k, CUZK_GRPC_INTERNAL, "the answer has no message");
    } else {
      k->answer.body = k->reader.buf;
      k->answer.n = k->reader.n;
      k->reader.buf = NULL;
      finish(k, k->answer.code, NULL);
    }
  } else if (k->bad_http) {
    finish(k, CUZK_GRPC_UNAVAILABLE, "the server does not speak gRPC here");
  } else {
    (void)snprintf(text, sizeof text, "the stream was closed (%s)", nghttp2_http2_strerror(error));
    finish(k, error == NGHTTP2_CANCEL ? CUZK_GRPC_CANCELLED : CUZK_GRPC_UNAVAILABLE, text);
  }
  return 0;
}

#define NV(n, v) \
  (nghttp2_nv) { (uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, strlen(v), NGHTTP2_NV_FLAG_NONE }

static void submit(struct cuzk_rpc_client *c, struct call *k) {
  char timeout[12], bearer[4200];
  nghttp2_nv nv[12];
  size_t n = 0;
  nv[n++] = NV(":method", "POST");
  nv[n++] = NV(":scheme", c->ssl ? "https" : "http");
  nv[n++] = NV(":path", k->path);
  nv[n++] = NV(":authority", c->authority);
  nv[n++] = NV("te", "trailers");
  nv[n++] = NV("content-type", "application/grpc");
  nv[n++] = NV("user-agent", "cuzk");
  if (k->timeout_ms) {
    cuzk_grpc_format_timeout(timeout, k->timeout_ms);
    nv[n++] = NV("grpc-timeout", timeout);
  }
  if (c->token) {
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", c->token);
    nv[n++] = NV("authorization", bearer);
  }
  nghttp2_data_provider source = {.source.ptr = k, .read_callback = read_body};
  k->id = nghttp2_submit_request(c->h2, NULL, nv, n, &source, k);
  if (k->id < 0) {
    k->id = -1;
    finish(k, CUZK_GRPC_UNAVAILABLE, "the connection takes no more calls");
  }
}

/* ---- bytes ---- */

static void send_some(struct cuzk_rpc_client *c) {
  for (;;) {
    if (!c->n_out) {
      const ssize_t n = nghttp2_session_mem_send(c->h2, &c->out);
      if (n < 0) die(c, nghttp2_strerror((int)n));
      if (n <= 0) return;
      c->n_out = (size_t)n;
    }
    if (c->ssl) {
      const int n = SSL_write(c->ssl, c->out, c->n_out > 1 << 20 ? 1 << 20 : (int)c->n_out);
      if (n <= 0) {
        const int e = SSL_get_error(c->ssl, n);
        c->ssl_wants_write = e == SSL_ERROR_WANT_WRITE;
        if (e != SSL_ERROR_WANT_WRITE && e != SSL_ERROR_WANT_READ) die(c, "the TLS connection broke");
        return;
      }
      c->out += n;
      c->n_out -= (size_t)n;
    } else {
      const ssize_t n = send(c->fd, c->out, c->n_out, MSG_NOSIGNAL);
      if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) die(c, strerror(errno));
        return;
      }
      c->out += n;
      c->n_out -= (size_t)n;
    }
  }
}

static void receive_some(struct cuzk_rpc_client *c) {
  uint8_t buf[65536];
  for (int i = 0; i < 64 && !c->dead; i++) {
    ssize_t n;
    if (c->ssl) {
      n = SSL_read(c->ssl, buf, sizeof buf);
      if (n <= 0) {
        const int e = SSL_get_error(c->ssl, (int)n);
        if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) return;
        die(c, "the server closed the connection");
        return;
      }
    } else {
      n = recv(c->fd, buf, sizeof buf, 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) {
        die(c, n ? strerror(errno) : "the server closed the connection");
        return;
      }
    }
    const ssize_t used = nghttp2_session_mem_recv(c->h2, buf, (size_t)n);
    if (used < 0) die(c, nghttp2_strerror((int)used));
  }
}

static void *loop(void *arg) {
  struct cuzk_rpc_client *c = arg;
  (void)pthread_mutex_lock(&c->lock);
  while (!c->stop && !c->dead) {
    const uint64_t now = cuzk_rpc_now_ms();
    for (struct call *k = c->calls; k; k = k->next) {
      if (k->done) continue;
      if (!k->id && !k->wants_cancel) submit(c, k);
      const bool late = k->deadline_ms <= now;
      if (!late && !k->wants_cancel) continue;
      finish(k, late ? CUZK_GRPC_DEADLINE_EXCEEDED : CUZK_GRPC_CANCELLED, late ? "the deadline has passed" : "cancelled");
      if (k->id > 0) {
        (void)nghttp2_session_set_stream_user_data(c->h2, k->id, NULL);
        (void)nghttp2_submit_rst_stream(c->h2, NGHTTP2_FLAG_NONE, k->id, NGHTTP2_CANCEL);
      }
    }
    send_some(c);
    if (!nghttp2_session_want_read(c->h2) && !nghttp2_session_want_write(c->h2) && !c->n_out) die(c, "the server ended the connection");
    (void)pthread_cond_broadcast(&c->changed);
    struct pollfd p[2] = {{.fd = c->fd, .events = POLLIN}, {.fd = c->wake_fd, .events = POLLIN}};
    if (c->n_out && (!c->ssl || c->ssl_wants_write)) p[0].events |= POLLOUT;
    const bool waiting = c->ssl && SSL_pending(c->ssl) > 0;
    (void)pthread_mutex_unlock(&c->lock);
    (void)poll(p, 2, waiting ? 0 : 100);
    (void)pthread_mutex_lock(&c->lock);
    if (p[1].revents) {
      uint64_t x;
      const ssize_t r = read(c->wake_fd, &x, sizeof x);
      (void)r;
    }
    if (!c->dead) receive_some(c);
    (void)pthread_cond_broadcast(&c->changed);
  }
  if (c->stop) die(c, "the client was closed");
  for (struct call *k = c->calls; k; k = k->next) {
    char text[256];
    (void)snprintf(text, sizeof text, "connection lost: %s", c->why);
    finish(k, CUZK_GRPC_UNAVAILABLE, text);
  }
  (void)pthread_cond_broadcast(&c->changed);
  (void)pthread_mutex_unlock(&c->lock);
  return NULL;
}

/* ---- opening ---- */

static enum cuzk_status handshake(struct cuzk_rpc_client *c, const struct rpc_address *a, uint64_t timeout_ms, struct cuzk_detail *d) {
  const uint64_t until = cuzk_rpc_now_ms() + timeout_ms;
  c->ssl = SSL_new(c->tls);
  if (!c->ssl || !SSL_set_fd(c->ssl, c->fd)) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for TLS");
  (void)SSL_set_tlsext_host_name(c->ssl, a->host);
  X509_VERIFY_PARAM *vp = SSL_get0_param(c->ssl);
  if (!X509_VERIFY_PARAM_set1_ip_asc(vp, a->host)) (void)SSL_set1_host(c->ssl, a->host);
  for (;;) {
    const int rc = SSL_connect(c->ssl);
    if (rc == 1) break;
    const int e = SSL_get_error(c->ssl, rc);
    const uint64_t now = cuzk_rpc_now_ms();
    struct pollfd p = {.fd = c->fd, .events = e == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN};
    if ((e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE) || now >= until || poll(&p, 1, (int)(until - now)) < 0) {
      const long verify = SSL_get_verify_result(c->ssl);
      char text[160];
      ERR_error_string_n(ERR_get_error(), text, sizeof text);
      ERR_clear_error();
      return cuzk_fail(d, CUZK_E_IO, "%s:%s: TLS: %s", a->host, a->port, verify != X509_V_OK ? X509_verify_cert_error_string(verify) : text);
    }
  }
  return rpc_tls_is_h2(c->ssl) ? CUZK_OK : cuzk_fail(d, CUZK_E_IO, "%s:%s: the server does not offer HTTP/2", a->host, a->port);
}

static void client_free(struct cuzk_rpc_client *c) {
  if (c->h2) nghttp2_session_del(c->h2);
  if (c->ssl) (void)SSL_shutdown(c->ssl);
  SSL_free(c->ssl);
  SSL_CTX_free(c->tls);
  if (c->fd >= 0) (void)close(c->fd);
  if (c->wake_fd >= 0) (void)close(c->wake_fd);
  if (c->token) cuzk_secret_clear(c->token, strlen(c->token));
  cuzk_free(c->token);
  (void)pthread_cond_destroy(&c->changed);
  (void)pthread_mutex_destroy(&c->lock);
  cuzk_free(c);
}

static enum cuzk_status session_new(struct cuzk_rpc_client *c) {
  nghttp2_session_callbacks *cb = NULL;
  if (nghttp2_session_callbacks_new(&cb)) return CUZK_E_NOMEM;
  nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
  const int rc = nghttp2_session_client_new(&c->h2, cb, c);
  nghttp2_session_callbacks_del(cb);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}, {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
  if (rc || nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, settings, 2) ||
      nghttp2_session_set_local_window_size(c->h2, NGHTTP2_FLAG_NONE, 0, 2 * WINDOW))
    return CUZK_E_NOMEM;
  return CUZK_OK;
}

/* The thread must not get SIGPIPE from a TLS write; everything else is the process's. */
static int start_thread(struct cuzk_rpc_client *c) {
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const int rc = pthread_create(&c->thread, NULL, loop, c);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return rc;
}

enum cuzk_status cuzk_rpc_client_open(struct cuzk_rpc_client **out, const struct cuzk_rpc_client_options *o, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  struct rpc_address a;
  pthread_condattr_t attr;
  *out = NULL;
  st = rpc_address_parse(&a, o->address, d);
  if (st != CUZK_OK) return st;
  if (o->token && strlen(o->token) > 4096) return cuzk_fail(d, CUZK_E_ARG, "the token is longer than 4096 bytes");
  struct cuzk_rpc_client *c = cuzk_calloc(1, sizeof *c);
  if (!c) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a connection");
  c->fd = c->wake_fd = -1;
  (void)pthread_mutex_init(&c->lock, NULL);
  (void)pthread_condattr_init(&attr);
  (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&c->changed, &attr);
  (void)pthread_condattr_destroy(&attr);
  c->max_message = o->max_message_bytes ? o->max_message_bytes : UINT64_C(256) << 20;
  (void)snprintf(c->authority, sizeof c->authority, strchr(a.host, ':') ? "[%s]:%s" : "%s:%s", a.host, a.port);
  if (a.unix_path) (void)snprintf(c->authority, sizeof c->authority, "localhost");
  const uint64_t timeout = o->connect_timeout_ms ? o->connect_timeout_ms : 10000;
  if ((o->token && !(c->token = cuzk_strdup(o->token))) || (c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory or descriptor for a connection");
    goto out;
  }
  CUZK_TRY(rpc_address_connect(&c->fd, &a, timeout, d));
  if (a.tls || (o->ca && o->ca[0])) {
    if (a.unix_path) {
      st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: TLS is for TCP addresses", o->address);
      goto out;
    }
    CUZK_TRY(rpc_tls_client(&c->tls, o->ca, o->cert, o->key, d));
    CUZK_TRY(handshake(c, &a, timeout, d));
  }
  if (session_new(c) != CUZK_OK || start_thread(c)) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory or thread for a connection");
    goto out;
  }
  *out = c;
  return CUZK_OK;
out:
  client_free(c);
  return st;
}

static void wake(struct cuzk_rpc_client *c) {
  const uint64_t one = 1;
  const ssize_t w = write(c->wake_fd, &one, sizeof one);
  (void)w;
}

void cuzk_rpc_client_close(struct cuzk_rpc_client **cp) {
  struct cuzk_rpc_client *c = *cp;
  if (!c) return;
  *cp = NULL;
  (void)pthread_mutex_lock(&c->lock);
  c->stop = true;
  (void)pthread_mutex_unlock(&c->lock);
  wake(c);
  (void)pthread_join(c->thread, NULL);
  (void)pthread_mutex_lock(&c->lock);
  while (c->calls) (void)pthread_cond_wait(&c->changed, &c->lock); /* their callers are on their way out */
  (void)pthread_mutex_unlock(&c->lock);
  client_free(c);
}

void cuzk_rpc_answer_clear(struct cuzk_rpc_answer *a) {
  cuzk_free(a->message);
  cuzk_free(a->body);
  memset(a, 0, sizeof *a);
}

enum cuzk_status cuzk_rpc_client_call(struct cuzk_rpc_client *c, const char *path, const uint8_t *body, size_t n, uint64_t timeout_ms,
                                      const atomic_bool *cancel, struct cuzk_rpc_answer *out, struct cuzk_detail *d) {
  struct call k = {.path = path, .body = body, .n = n, .timeout_ms = timeout_ms, .deadline_ms = UINT64_MAX};
  memset(out, 0, sizeof *out);
  if (n > UINT32_MAX) return cuzk_fail(d, CUZK_E_ARG, "a message has at most 4 GiB");
  if (timeout_ms) k.deadline_ms = cuzk_rpc_now_ms() + timeout_ms;
  cuzk_grpc_write_prefix(k.prefix, n);
  (void)pthread_mutex_lock(&c->lock);
  if (c->dead || c->stop) {
    char text[256];
    (void)snprintf(text, sizeof text, "connection lost: %s", c->why);
    finish(&k, CUZK_GRPC_UNAVAILABLE, text);
  } else {
    k.next = c->calls;
    c->calls = &k;
    wake(c);
    while (!k.done) {
      struct timespec t;
      (void)clock_gettime(CLOCK_MONOTONIC, &t);
      t.tv_nsec += 100000000;
      if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
      }
      (void)pthread_cond_timedwait(&c->changed, &c->lock, &t);
      if (cancel && atomic_load(cancel) && !k.wants_cancel) {
        k.wants_cancel = true;
        wake(c);
      }
    }
    if (k.id > 0 && nghttp2_session_get_stream_user_data(c->h2, k.id) == &k)
      (void)nghttp2_session_set_stream_user_data(c->h2, k.id, NULL);
    for (struct call **link = &c->calls; *link; link = &(*link)->next) {
      if (*link != &k) continue;
      *link = k.next;
      break;
    }
    (void)pthread_cond_broadcast(&c->changed);
  }
  (void)pthread_mutex_unlock(&c->lock);
  cuzk_grpc_reader_reset(&k.reader);
  *out = k.answer;
  return CUZK_OK;
}
