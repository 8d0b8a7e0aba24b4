/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/fail.h"

/* 2026-01-01T00:00:00Z: virtual runs log the same wall time every time. */
#define VIRTUAL_EPOCH_MS UINT64_C(1767225600000)

/* One wait on a virtual clock; lives on the waiting thread's stack. Everything is under the clock's lock. */
struct cuzk_waiter {
  struct cuzk_waiter *prev, *next;             /* in the condition */
  struct cuzk_waiter *timer_prev, *timer_next; /* in the clock, by moment and then by the order of the waits */
  struct cuzk_cond *cond;                      /* NULL: a sleep, a join */
  uint64_t until;
  bool woken, came; /* came: by the time */
  pthread_cond_t wake;
};

/* A thread of cuzk_clock_thread on a virtual clock, from its start until it is joined. */
struct member {
  struct member *next;
  struct cuzk_clock *clock;
  pthread_t thread; /* set by the creator under the lock, before anybody may join */
  void *(*fn)(void *);
  void *arg;
  bool ended;
  struct cuzk_waiter *joiner;
};

struct cuzk_clock {
  bool is_virtual;
  uint64_t epoch_ms;
  uint64_t start_ns; /* real: CLOCK_MONOTONIC at creation */
  /* virtual */
  pthread_mutex_t lock; /* guards what follows; taken with any mutex of a caller held, never the other way round */
  _Atomic uint64_t now; /* written under the lock */
  unsigned members;     /* threads that take part */
  unsigned running;     /* of those, not waiting; and woken threads that have not come back from their wait */
  unsigned outside;     /* between block and unblock */
  struct cuzk_waiter *first, *last; /* timed waits */
  struct member *threads;
  void (*on_stuck)(void *user);
  void *stuck_user;
};

/* The virtual clock in which the thread takes part, and whether it is between block and unblock. */
static _Thread_local struct cuzk_clock *mine;
static _Thread_local bool blocked;

static uint64_t monotonic_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * CUZK_SECOND + (uint64_t)t.tv_nsec;
}

static enum cuzk_status make(struct cuzk_clock **out, bool is_virtual) {
  *out = NULL;
  struct cuzk_clock *c = cuzk_calloc(1, sizeof *c);
  if (!c) return CUZK_E_NOMEM;
  if (pthread_mutex_init(&c->lock, NULL) != 0) {
    cuzk_free(c);
    return CUZK_E_NOMEM;
  }
  c->is_virtual = is_virtual;
  if (is_virtual) {
    c->epoch_ms = VIRTUAL_EPOCH_MS;
  } else {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    c->epoch_ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    c->start_ns = monotonic_ns();
  }
  *out = c;
  return CUZK_OK;
}

enum cuzk_status cuzk_clock_real(struct cuzk_clock **out) { return make(out, false); }

enum cuzk_status cuzk_clock_virtual(struct cuzk_clock **out) { return make(out, true); }

void cuzk_clock_destroy(struct cuzk_clock **cp) {
  struct cuzk_clock *c = *cp;
  if (!c) return;
  *cp = NULL;
  if (mine == c) mine = NULL;
  CUZK_VERIFY(!c->first);
  while (c->threads) {
    struct member *t = c->threads;
    c->threads = t->next;
    cuzk_free(t);
  }
  (void)pthread_mutex_destroy(&c->lock);
  cuzk_free(c);
}

uint64_t cuzk_clock_now(struct cuzk_clock *c) {
  return c->is_virtual ? atomic_load_explicit(&c->now, memory_order_acquire) : monotonic_ns() - c->start_ns;
}

uint64_t cuzk_clock_epoch_ms(const struct cuzk_clock *c) { return c->epoch_ms; }

bool cuzk_clock_is_virtual(const struct cuzk_clock *c) { return c->is_virtual; }

void cuzk_clock_on_stuck(struct cuzk_clock *c, void (*fn)(void *user), void *user) {
  (void)pthread_mutex_lock(&c->lock);
  c->on_stuck = fn;
  c->stuck_user = user;
  (void)pthread_mutex_unlock(&c->lock);
}

/* ---- virtual: all static functions below want the lock held ---- */

static void timer_insert(struct cuzk_clock *c, struct cuzk_waiter *w) {
  /* Later waits mostly end later, so the place is looked for from the end; equal moments keep the order of the waits. */
  struct cuzk_waiter *before = c->last;
  while (before && before->until > w->until) before = before->timer_prev;
  w->timer_prev = before;
  w->timer_next = before ? before->timer_next : c->first;
  if (w->timer_next) w->timer_next->timer_prev = w;
  else c->last = w;
  if (before) before->timer_next = w;
  else c->first = w;
}

static void timer_remove(struct cuzk_clock *c, struct cuzk_waiter *w) {
  if (w->timer_prev) w->timer_prev->timer_next = w->timer_next;
  else c->first = w->timer_next;
  if (w->timer_next) w->timer_next->timer_prev = w->timer_prev;
  else c->last = w->timer_prev;
}

static void cond_insert(struct cuzk_cond *k, struct cuzk_waiter *w) {
  w->prev = k->last;
  if (k->last) k->last->next = w;
  else k->first = w;
  k->last = w;
}

static void cond_remove(struct cuzk_cond *k, struct cuzk_waiter *w) {
  if (w->prev) w->prev->next = w->next;
  else k->first = w->next;
  if (w->next) w->next->prev = w->prev;
  else k->last = w->prev;
}

/* The waker counts the woken as running: time cannot pass before it has run. */
static void wake(struct cuzk_clock *c, struct cuzk_waiter *w, bool came) {
  if (w->until != CUZK_NEVER) timer_remove(c, w);
  if (w->cond) cond_remove(w->cond, w);
  w->woken = true;
  w->came = came;
  c->running++;
  (void)pthread_cond_signal(&w->wake);
}

/* One thread less runs: lets time pass if it was the last. May let go of the lock for a while (stuck hook). */
static void one_less(struct cuzk_clock *c) {
  CUZK_VERIFY(c->running > 0);
  if (--c->running > 0) return;
  if (c->first) {
    uint64_t to = c->first->until;
    if (to > atomic_load_explicit(&c->now, memory_order_relaxed)) atomic_store_explicit(&c->now, to, memory_order_release);
    wake(c, c->first, true);
    return;
  }
  if (c->members == 0 || c->outside > 0) return;
  void (*fn)(void *) = c->on_stuck;
  if (!fn) {
    CUZK_VERIFY(!"every thread of a virtual clock waits without end");
    return;
  }
  c->on_stuck = NULL;
  void *user = c->stuck_user;
  (void)pthread_mutex_unlock(&c->lock);
  fn(user);
  (void)pthread_mutex_lock(&c->lock);
}

/* w is in its lists; the caller no longer counts as running once it is here, and does again when it returns. */
static void wait_for(struct cuzk_clock *c, struct cuzk_waiter *w) {
  /* A thread that does not take part counts only while it comes back, so it joins for the moment of leaving. */
  if (mine != c) c->running++;
  one_less(c);
  while (!w->woken) (void)pthread_cond_wait(&w->wake, &c->lock);
}

/* ---- threads ---- */

void cuzk_clock_enter(struct cuzk_clock *c) {
  if (!c->is_virtual) return;
  CUZK_VERIFY(!mine);
  (void)pthread_mutex_lock(&c->lock);
  c->members++;
  c->running++;
  (void)pthread_mutex_unlock(&c->lock);
  mine = c;
  blocked = false;
}

void cuzk_clock_leave(struct cuzk_clock *c) {
  if (mine != c) return;
  CUZK_VERIFY(!blocked);
  mine = NULL;
  (void)pthread_mutex_lock(&c->lock);
  c->members--;
  one_less(c);
  (void)pthread_mutex_unlock(&c->lock);
}

void cuzk_clock_block(struct cuzk_clock *c) {
  if (mine != c) return;
  CUZK_VERIFY(!blocked);
  blocked = true;
  (void)pthread_mutex_lock(&c->lock);
  c->outside++;
  one_less(c);
  (void)pthread_mutex_unlock(&c->lock);
}

void cuzk_clock_unblock(struct cuzk_clock *c) {
  if (mine != c) return;
  CUZK_VERIFY(blocked);
  blocked = false;
  (void)pthread_mutex_lock(&c->lock);
  c->outside--;
  c->running++;
  (void)pthread_mutex_unlock(&c->lock);
}

static void *member_main(void *v) {
  struct member *t = v;
  struct cuzk_clock *c = t->clock;
  mine = c;
  void *result = t->fn(t->arg);
  mine = NULL;
  (void)pthread_mutex_lock(&c->lock);
  t->ended = true;
  if (t->joiner) wake(c, t->joiner, false);
  c->members--;
  one_less(c);
  (void)pthread_mutex_unlock(&c->lock);
  return result;
}

enum cuzk_status cuzk_clock_thread(struct cuzk_clock *c, pthread_t *out, const char *name, void *(*fn)(void *), void *arg) {
  char short_name[16] = {0};
  (void)strncpy(short_name, name, sizeof short_name - 1);
  if (!c->is_virtual) {
    if (pthread_create(out, NULL, fn, arg) != 0) return CUZK_E_NOMEM;
    (void)pthread_setname_np(*out, short_name);
    return CUZK_OK;
  }
  struct member *t = cuzk_calloc(1, sizeof *t);
  if (!t) return CUZK_E_NOMEM;
  *t = (struct member){.clock = c, .fn = fn, .arg = arg};
  (void)pthread_mutex_lock(&c->lock);
  c->members++;
  c->running++;
  bool ok = pthread_create(&t->thread, NULL, member_main, t) == 0;
  if (ok) {
    *out = t->thread;
    t->next = c->threads;
    c->threads = t;
  } else {
    c->members--;
    one_less(c);
  }
  (void)pthread_mutex_unlock(&c->lock);
  if (!ok) {
    cuzk_free(t);
    return CUZK_E_NOMEM;
  }
  (void)pthread_setname_np(*out, short_name);
  return CUZK_OK;
}

void cuzk_clock_join(struct cuzk_clock *c, pthread_t thread) {
  if (!c->is_virtual) {
    (void)pthread_join(thread, NULL);
    return;
  }
  (void)pthread_mutex_lock(&c->lock);
  struct member **at = &c->threads;
  while (*at && !pthread_equal((*at)->thread, thread)) at = &(*at)->next;
  struct member *t = *at;
  if (t) *at = t->next; /* its handle may be used again as soon as it is joined */
  if (t && !t->ended) {
    struct cuzk_waiter w = {.until = CUZK_NEVER};
    (void)pthread_cond_init(&w.wake, NULL);
    t->joiner = &w;
    wait_for(c, &w);
    if (mine != c) one_less(c);
    (void)pthread_mutex_unlock(&c->lock);
    (void)pthread_cond_destroy(&w.wake);
  } else {
    (void)pthread_mutex_unlock(&c->lock);
  }
  if (t) {
    /* Past its last use of the clock: no wait in the clock's sense. */
    (void)pthread_join(thread, NULL);
    cuzk_free(t);
  } else {
    cuzk_clock_block(c);
    (void)pthread_join(thread, NULL);
    cuzk_clock_unblock(c);
  }
}

/* ---- waiting ---- */

static struct timespec real_time(const struct cuzk_clock *c, uint64_t until) {
  uint64_t t = until > INT64_MAX - c->start_ns ? (uint64_t)INT64_MAX : until + c->start_ns;
  return (struct timespec){.tv_sec = (time_t)(t / CUZK_SECOND), .tv_nsec = (long)(t % CUZK_SECOND)};
}

void cuzk_clock_sleep_until(struct cuzk_clock *c, uint64_t until) {
  if (!c->is_virtual) {
    struct timespec t = real_time(c, until);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
    return;
  }
  struct cuzk_waiter w = {.until = until};
  (void)pthread_mutex_lock(&c->lock);
  if (until <= atomic_load_explicit(&c->now, memory_order_relaxed)) {
    (void)pthread_mutex_unlock(&c->lock);
    return;
  }
  (void)pthread_cond_init(&w.wake, NULL);
  if (until != CUZK_NEVER) timer_insert(c, &w);
  wait_for(c, &w);
  if (mine != c) one_less(c);
  (void)pthread_mutex_unlock(&c->lock);
  (void)pthread_cond_destroy(&w.wake);
}

enum cuzk_status cuzk_cond_init(struct cuzk_cond *k, struct cuzk_clock *clock) {
  *k = (struct cuzk_cond){0};
  if (!clock->is_virtual) {
    pthread_condattr_t a;
    if (pthread_condattr_init(&a) != 0) return CUZK_E_NOMEM;
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    int err = pthread_cond_init(&k->cond, &a);
    (void)pthread_condattr_destroy(&a);
    if (err != 0) return CUZK_E_NOMEM;
  }
  k->clock = clock;
  return CUZK_OK;
}

void cuzk_cond_clear(struct cuzk_cond *k) {
  if (!k->clock) return;
  CUZK_VERIFY(!k->first);
  if (!k->clock->is_virtual) (void)pthread_cond_destroy(&k->cond);
  *k = (struct cuzk_cond){0};
}

bool cuzk_cond_wait(struct cuzk_cond *k, pthread_mutex_t *m, uint64_t until) {
  struct cuzk_clock *c = k->clock;
  if (!c->is_virtual) {
    if (until == CUZK_NEVER) {
      (void)pthread_cond_wait(&k->cond, m);
      return true;
    }
    struct timespec t = real_time(c, until);
    return pthread_cond_timedwait(&k->cond, m, &t) != ETIMEDOUT;
  }
  CUZK_VERIFY(mine != c || !blocked);
  struct cuzk_waiter w = {.until = until, .cond = k};
  (void)pthread_mutex_lock(&c->lock);
  if (until <= atomic_load_explicit(&c->now, memory_order_relaxed)) {
    (void)pthread_mutex_unlock(&c->lock);
    (void)pthread_mutex_unlock(m); /* others get their turn, as with a wait of no length */
    (void)pthread_mutex_lock(m);
    return false;
  }
  (void)pthread_cond_init(&w.wake, NULL);
  cond_insert(k, &w);
  if (until != CUZK_NEVER) timer_insert(c, &w);
  (void)pthread_mutex_unlock(m);
  wait_for(c, &w);
  (void)pthread_mutex_unlock(&c->lock);
  (void)pthread_cond_destroy(&w.wake);
  (void)pthread_mutex_lock(m);
  if (mine != c) {
    (void)pthread_mutex_lock(&c->lock);
    one_less(c);
    (void)pthread_mutex_unlock(&c->lock);
  }
  return !w.came;
}

static void wake_waiters(struct cuzk_cond *k, bool all) {
  struct cuzk_clock *c = k->clock;
  (void)pthread_mutex_lock(&c->lock);
  while (k->first) {
    wake(c, k->first, false);
    if (!all) break;
  }
  (void)pthread_mutex_unlock(&c->lock);
}

void cuzk_cond_signal(struct cuzk_cond *k) {
  if (k->clock->is_virtual) wake_waiters(k, false);
  else (void)pthread_cond_signal(&k->cond);
}

void cuzk_cond_broadcast(struct cuzk_cond *k) {
  if (k->clock->is_virtual) wake_waiters(k, true);
  else (void)pthread_cond_broadcast(&k->cond);
}
