/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One call as methods and other threads see it; and what reaches the loop from other threads. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "rpc/session.h"

struct rpc_post {
  struct rpc_post *next;
  void (*fn)(void *user);
  void *user;
};

struct rpc_core *rpc_core_create(void) {
  struct rpc_core *c = cuzk_calloc(1, sizeof *c);
  if (!c) return NULL;
  if (pthread_mutex_init(&c->lock, NULL)) {
    cuzk_free(c);
    return NULL;
  }
  c->refs = 1;
  c->alive = true;
  c->last = &c->first;
  c->wake_fd = -1;
  return c;
}

struct rpc_core *rpc_core_ref(struct rpc_core *c) {
  (void)pthread_mutex_lock(&c->lock);
  c->refs++;
  (void)pthread_mutex_unlock(&c->lock);
  return c;
}

void rpc_core_unref(struct rpc_core *c) {
  (void)pthread_mutex_lock(&c->lock);
  const bool last = !--c->refs;
  (void)pthread_mutex_unlock(&c->lock);
  if (!last) return;
  (void)pthread_mutex_destroy(&c->lock);
  cuzk_free(c);
}

enum cuzk_status rpc_core_post(struct rpc_core *c, void (*fn)(void *user), void *user) {
  struct rpc_post *p = cuzk_malloc(sizeof *p);
  if (!p) return CUZK_E_NOMEM;
  *p = (struct rpc_post){.fn = fn, .user = user};
  (void)pthread_mutex_lock(&c->lock);
  const bool alive = c->alive;
  if (alive) {
    *c->last = p;
    c->last = &p->next;
    if (c->wake_fd >= 0) {
      const uint64_t one = 1;
      const ssize_t w = write(c->wake_fd, &one, sizeof one);
      (void)w; /* a full counter wakes as well */
    }
  }
  (void)pthread_mutex_unlock(&c->lock);
  if (alive) return CUZK_OK;
  cuzk_free(p);
  return CUZK_E_CANCELLED;
}

void rpc_core_run(struct rpc_core *c) {
  (void)pthread_mutex_lock(&c->lock);
  struct rpc_post *p = c->first;
  c->first = NULL;
  c->last = &c->first;
  (void)pthread_mutex_unlock(&c->lock);
  while (p) {
    struct rpc_post *next = p->next;
    p->fn(p->user);
    cuzk_free(p);
    p = next;
  }
}

const char *cuzk_rpc_call_path(const struct cuzk_rpc_call *c) { return c->path; }
const char *cuzk_rpc_call_peer(const struct cuzk_rpc_call *c) { return c->session->peer; }

const uint8_t *cuzk_rpc_call_message(const struct cuzk_rpc_call *c, size_t *n) {
  *n = c->reader.n;
  return c->reader.buf;
}

void rpc_call_uncharge(struct cuzk_rpc_call *c) {
  struct rpc_shared *s = c->session->shared;
  s->buffered -= c->charged;
  c->charged = 0;
  (void)pthread_mutex_lock(&s->core->lock);
  s->stats.buffered_bytes = s->buffered;
  (void)pthread_mutex_unlock(&s->core->lock);
}

uint8_t *cuzk_rpc_call_take(struct cuzk_rpc_call *c, size_t *n) {
  uint8_t *p = c->reader.buf;
  *n = c->reader.n;
  c->reader.buf = NULL;
  c->reader.n = c->reader.cap = 0;
  rpc_call_uncharge(c);
  return p;
}

uint64_t cuzk_rpc_call_remaining_ms(const struct cuzk_rpc_call *c) {
  if (c->deadline_ms == UINT64_MAX) return UINT64_MAX;
  const uint64_t now = cuzk_rpc_now_ms();
  return c->deadline_ms > now ? c->deadline_ms - now : 0;
}

void cuzk_rpc_call_on_end(struct cuzk_rpc_call *c, void (*fn)(void *user, bool delivered), void *user) {
  c->on_end = fn;
  c->on_end_user = user;
}

struct cuzk_rpc_handle *cuzk_rpc_call_handle(struct cuzk_rpc_call *c) {
  if (!c->handle) {
    struct cuzk_rpc_handle *h = cuzk_calloc(1, sizeof *h);
    if (!h) return NULL;
    h->core = rpc_core_ref(c->session->shared->core);
    h->call = c;
    h->refs = 1; /* the call's own */
    c->handle = h;
  }
  (void)pthread_mutex_lock(&c->handle->core->lock);
  c->handle->refs++;
  (void)pthread_mutex_unlock(&c->handle->core->lock);
  return c->handle;
}

void cuzk_rpc_handle_release(struct cuzk_rpc_handle **hp) {
  struct cuzk_rpc_handle *h = *hp;
  if (!h) return;
  *hp = NULL;
  (void)pthread_mutex_lock(&h->core->lock);
  const bool last = !--h->refs;
  (void)pthread_mutex_unlock(&h->core->lock);
  if (!last) return;
  rpc_core_unref(h->core);
  cuzk_free(h);
}

struct reply {
  struct cuzk_rpc_handle *handle; /* one reference */
  enum cuzk_grpc_code code;
  char *message;
  uint8_t *body;
  size_t n;
  uint64_t retry_after_ms;
  bool broken; /* a part could not be copied */
};

static void reply_free(struct reply *r) {
  cuzk_rpc_handle_release(&r->handle);
  cuzk_free(r->message);
  cuzk_free(r->body);
  cuzk_free(r);
}

static void reply_run(void *user) {
  struct reply *r = user;
  if (r->handle->call) {
    if (r->broken) rpc_call_answer(r->handle->call, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the answer", NULL, 0, 0);
    else rpc_call_answer(r->handle->call, r->code, r->message, r->body, r->n, r->retry_after_ms);
  }
  reply_free(r);
}

void cuzk_rpc_reply(struct cuzk_rpc_handle *h, enum cuzk_grpc_code code, const char *message, const uint8_t *body, size_t n,
                    uint64_t retry_after_ms) {
  struct reply *r = cuzk_calloc(1, sizeof *r);
  if (!r) return; /* the caller's deadline ends the call */
  r->code = code;
  r->retry_after_ms = retry_after_ms;
  r->handle = h;
  (void)pthread_mutex_lock(&h->core->lock);
  h->refs++;
  (void)pthread_mutex_unlock(&h->core->lock);
  if (message && !(r->message = cuzk_strdup(message))) r->broken = code == CUZK_GRPC_OK;
  if (n && code == CUZK_GRPC_OK) {
    r->body = cuzk_malloc(n);
    if (r->body) memcpy(r->body, body, n);
    else r->broken = true;
    r->n = n;
  }
  if (rpc_core_post(h->core, reply_run, r) != CUZK_OK) reply_free(r);
}

void cuzk_rpc_call_on_message(struct cuzk_rpc_call *c, cuzk_rpc_method_fn *fn) { c->on_message = fn; }

bool rpc_call_append(struct cuzk_rpc_call *c, const uint8_t *body, size_t n) {
  struct out_piece *p = cuzk_malloc(sizeof *p + CUZK_GRPC_PREFIX + n);
  if (!p) return false;
  p->next = NULL;
  p->at = 0;
  p->n = CUZK_GRPC_PREFIX + n;
  cuzk_grpc_write_prefix(p->data, n);
  if (n) memcpy(p->data + CUZK_GRPC_PREFIX, body, n);
  *c->out_last = p;
  c->out_last = &p->next;
  return true;
}
