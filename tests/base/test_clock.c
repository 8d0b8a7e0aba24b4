/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "testing.h"

/* Work that takes real time, so that a clock that runs ahead has the chance to be seen. */
static void dawdle(unsigned us) {
  struct timespec t = {.tv_nsec = (long)us * 1000};
  (void)nanosleep(&t, NULL);
}

static struct cuzk_clock *new_virtual(void) {
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_virtual(&c), CUZK_OK);
  cuzk_clock_enter(c);
  return c;
}

static void end(struct cuzk_clock *c) {
  cuzk_clock_leave(c);
  cuzk_clock_destroy(&c);
  assert_null(c);
}

static uint64_t real_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- days pass at once ---- */
struct sleeper {
  struct cuzk_clock *c;
  uint64_t step;
  unsigned steps;
  bool exact;
};
static void *sleeper(void *v) {
  struct sleeper *s = v;
  s->exact = true;
  uint64_t start = cuzk_clock_now(s->c);
  for (unsigned i = 1; i <= s->steps; i++) {
    cuzk_clock_sleep_until(s->c, start + i * s->step);
    s->exact = s->exact && cuzk_clock_now(s->c) == start + i * s->step;
  }
  return NULL;
}
static void days_pass_in_milliseconds(void **state) {
  (void)state;
  struct cuzk_clock *c = new_virtual();
  uint64_t began = real_ms();
  enum { N = 20 };
  struct sleeper s[N];
  pthread_t t[N];
  for (unsigned i = 0; i < N; i++) {
    s[i] = (struct sleeper){.c = c, .step = (1000 + i) * CUZK_SECOND, .steps = 100};
    assert_int_equal(cuzk_clock_thread(c, &t[i], "sleeper", sleeper, &s[i]), CUZK_OK);
  }
  for (unsigned i = 0; i < N; i++) {
    cuzk_clock_join(c, t[i]);
    assert_true(s[i].exact);
  }
  assert_int_equal(cuzk_clock_now(c), 100 * 1019 * CUZK_SECOND);
  assert_true(real_ms() - began < 20000);
  assert_true(cuzk_clock_is_virtual(c));
  assert_int_equal(cuzk_clock_epoch_ms(c), UINT64_C(1767225600000));
  end(c);
}

/* ---- the woken run before time passes ---- */
struct relay {
  struct cuzk_clock *c;
  pthread_mutex_t m;
  struct cuzk_cond cond;
  unsigned turn, n, rounds;
  uint64_t wrong; /* moments at which a turn came late */
  uint64_t expect;
  _Atomic bool stop;
};
struct runner {
  struct relay *r;
  unsigned i;
};
static void *runner(void *v) {
  struct runner *a = v;
  struct relay *r = a->r;
  (void)pthread_mutex_lock(&r->m);
  while (r->turn < r->n * r->rounds) {
    while (r->turn % r->n != a->i && r->turn < r->n * r->rounds) (void)cuzk_cond_wait(&r->cond, &r->m, CUZK_NEVER);
    if (r->turn >= r->n * r->rounds) break;
    if (cuzk_clock_now(r->c) != r->expect) r->wrong++;
    (void)pthread_mutex_unlock(&r->m);
    dawdle(20);
    (void)pthread_mutex_lock(&r->m);
    r->turn++;
    cuzk_cond_broadcast(&r->cond);
  }
  (void)pthread_mutex_unlock(&r->m);
  return NULL;
}
static void *ticker(void *v) {
  struct relay *r = v;
  while (!atomic_load(&r->stop)) cuzk_clock_sleep_until(r->c, cuzk_clock_now(r->c) + 1);
  return NULL;
}
static void time_stands_still_while_a_woken_thread_has_not_run(void **state) {
  (void)state;
  struct cuzk_clock *c = new_virtual();
  struct relay r = {.c = c, .n = 8, .rounds = 40};
  (void)pthread_mutex_init(&r.m, NULL);
  assert_int_equal(cuzk_cond_init(&r.cond, c), CUZK_OK);
  struct runner a[8];
  pthread_t t[8], tick;
  for (unsigned i = 0; i < 8; i++) {
    a[i] = (struct runner){&r, i};
    assert_int_equal(cuzk_clock_thread(c, &t[i], "runner", runner, &a[i]), CUZK_OK);
  }
  /* The ticker would let time pass at every chance. */
  assert_int_equal(cuzk_clock_thread(c, &tick, "ticker", ticker, &r), CUZK_OK);
  for (unsigned i = 0; i < 8; i++) cuzk_clock_join(c, t[i]);
  atomic_store(&r.stop, true);
  cuzk_clock_join(c, tick);
  assert_int_equal(r.turn, 320);
  assert_int_equal(r.wrong, 0);
  /* The runners ended before the ticker's first step was over; a join's end is a wake-up, too. */
  assert_true(cuzk_clock_now(c) <= 1);
  cuzk_cond_clear(&r.cond);
  (void)pthread_mutex_destroy(&r.m);
  end(c);
}

/* ---- waits with a limit ---- */
struct waiter {
  struct cuzk_clock *c;
  pthread_mutex_t m;
  struct cuzk_cond cond;
  bool flag, got;
  uint64_t until, at;
};
static void *limited(void *v) {
  struct waiter *w = v;
  (void)pthread_mutex_lock(&w->m);
  w->got = true;
  while (!w->flag && w->got) w->got = cuzk_cond_wait(&w->cond, &w->m, w->until);
  w->at = cuzk_clock_now(w->c);
  (void)pthread_mutex_unlock(&w->m);
  return NULL;
}
static void a_wait_ends_by_signal_or_at_its_moment(void **state) {
  (void)state;
  struct cuzk_clock *c = new_virtual();
  struct waiter w = {.c = c, .until = 7 * CUZK_SECOND};
  (void)pthread_mutex_init(&w.m, NULL);
  assert_int_equal(cuzk_cond_init(&w.cond, c), CUZK_OK);
  pthread_t t;
  assert_int_equal(cuzk_clock_thread(c, &t, "a name longer than fifteen", limited, &w), CUZK_OK);
  cuzk_clock_join(c, t);
  assert_false(w.got);
  assert_int_equal(w.at, 7 * CUZK_SECOND);

  w.until = 100 * CUZK_SECOND;
  assert_int_equal(cuzk_clock_thread(c, &t, "limited", limited, &w), CUZK_OK);
  cuzk_clock_sleep_until(c, 9 * CUZK_SECOND);
  (void)pthread_mutex_lock(&w.m);
  w.flag = true;
  (void)pthread_mutex_unlock(&w.m);
  cuzk_cond_signal(&w.cond);
  cuzk_clock_join(c, t);
  assert_true(w.got);
  assert_int_equal(w.at, 9 * CUZK_SECOND);

  /* A moment that is past ends the wait at once; signals nobody waits for are lost. */
  cuzk_cond_signal(&w.cond);
  cuzk_cond_broadcast(&w.cond);
  (void)pthread_mutex_lock(&w.m);
  assert_false(cuzk_cond_wait(&w.cond, &w.m, 9 * CUZK_SECOND));
  assert_false(cuzk_cond_wait(&w.cond, &w.m, 0));
  (void)pthread_mutex_unlock(&w.m);
  cuzk_clock_sleep_until(c, 3);
  assert_int_equal(cuzk_clock_now(c), 9 * CUZK_SECOND);
  cuzk_cond_clear(&w.cond);
  (void)pthread_mutex_destroy(&w.m);
  end(c);
}

/* ---- order ---- */
struct ordered {
  struct cuzk_clock *c;
  pthread_mutex_t *m;
  unsigned *next;
  unsigned place;
  uint64_t start, until;
};
static void *ordered(void *v) {
  struct ordered *o = v;
  cuzk_clock_sleep_until(o->c, o->start);
  cuzk_clock_sleep_until(o->c, o->until);
  dawdle(50);
  (void)pthread_mutex_lock(o->m);
  o->place = (*o->next)++;
  (void)pthread_mutex_unlock(o->m);
  return NULL;
}
static void equal_moments_come_in_the_order_of_the_waits(void **state) {
  (void)state;
  for (unsigned round = 0; round < 10; round++) {
    struct cuzk_clock *c = new_virtual();
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    unsigned next = 0;
    struct ordered o[16];
    pthread_t t[16];
    for (unsigned i = 0; i < 16; i++) {
      o[i] = (struct ordered){.c = c, .m = &m, .next = &next, .start = (i * 7 + 3) % 16 + 1, .until = 1000};
      assert_int_equal(cuzk_clock_thread(c, &t[i], "ordered", ordered, &o[i]), CUZK_OK);
    }
    for (unsigned i = 0; i < 16; i++) cuzk_clock_join(c, t[i]);
    for (unsigned i = 0; i < 16; i++) assert_int_equal(o[i].place, o[i].start - 1);
    end(c);
  }
}

/* ---- outside ---- */
static void *blocking(void *v) {
  struct sleeper *s = v;
  cuzk_clock_block(s->c);
  while (cuzk_clock_now(s->c) < s->step) dawdle(10);
  cuzk_clock_unblock(s->c);
  uint64_t now = cuzk_clock_now(s->c);
  dawdle(2000);
  s->exact = cuzk_clock_now(s->c) == now;
  return NULL;
}
static void a_blocked_thread_does_not_hold_time_up(void **state) {
  (void)state;
  struct cuzk_clock *c = new_virtual();
  struct sleeper b = {.c = c, .step = 50}, s = {.c = c, .step = 1, .steps = 50};
  pthread_t t, u;
  assert_int_equal(cuzk_clock_thread(c, &t, "blocking", blocking, &b), CUZK_OK);
  assert_int_equal(cuzk_clock_thread(c, &u, "sleeper", sleeper, &s), CUZK_OK);
  cuzk_clock_join(c, u);
  cuzk_clock_join(c, t);
  assert_true(b.exact);
  end(c);
}

static void a_thread_outside_may_sleep_and_wait(void **state) {
  (void)state;
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_virtual(&c), CUZK_OK);
  cuzk_clock_sleep_until(c, CUZK_SECOND);
  assert_int_equal(cuzk_clock_now(c), CUZK_SECOND);
  struct waiter w = {.c = c, .until = 2 * CUZK_SECOND};
  (void)pthread_mutex_init(&w.m, NULL);
  assert_int_equal(cuzk_cond_init(&w.cond, c), CUZK_OK);
  assert_null(limited(&w));
  assert_false(w.got);
  pthread_t t;
  struct sleeper s = {.c = c, .step = CUZK_SECOND, .steps = 3};
  assert_int_equal(pthread_create(&t, NULL, sleeper, &s), 0);
  cuzk_clock_join(c, t); /* not one of the clock's own */
  assert_int_equal(cuzk_clock_now(c), 5 * CUZK_SECOND);
  cuzk_cond_clear(&w.cond);
  (void)pthread_mutex_destroy(&w.m);
  cuzk_clock_leave(c); /* nothing */
  cuzk_clock_destroy(&c);
  cuzk_clock_destroy(&c);
}

/* ---- stuck ---- */
struct stuck {
  struct waiter w;
  unsigned calls;
};
static void free_them(void *v) {
  struct stuck *s = v;
  s->calls++;
  (void)pthread_mutex_lock(&s->w.m);
  s->w.flag = true;
  cuzk_cond_broadcast(&s->w.cond);
  (void)pthread_mutex_unlock(&s->w.m);
}
static void waiting_without_end_is_noticed(void **state) {
  (void)state;
  struct cuzk_clock *c = new_virtual();
  struct stuck s = {.w = {.c = c, .until = CUZK_NEVER}};
  (void)pthread_mutex_init(&s.w.m, NULL);
  assert_int_equal(cuzk_cond_init(&s.w.cond, c), CUZK_OK);
  cuzk_clock_on_stuck(c, free_them, &s);
  pthread_t t[4];
  for (unsigned i = 0; i < 4; i++) assert_int_equal(cuzk_clock_thread(c, &t[i], "waiter", limited, &s.w), CUZK_OK);
  /* While one thread runs, waits with a limit or is outside, nobody is stuck. */
  dawdle(2000);
  cuzk_clock_sleep_until(c, 5);
  cuzk_clock_block(c);
  dawdle(2000);
  cuzk_clock_unblock(c);
  (void)pthread_mutex_lock(&s.w.m);
  assert_int_equal(s.calls, 0);
  (void)pthread_mutex_unlock(&s.w.m);
  for (unsigned i = 0; i < 4; i++) cuzk_clock_join(c, t[i]);
  assert_int_equal(s.calls, 1);
  assert_int_equal(s.w.at, 5);
  cuzk_cond_clear(&s.w.cond);
  cuzk_cond_clear(&s.w.cond);
  (void)pthread_mutex_destroy(&s.w.m);
  end(c);
}

/* ---- a queue under load, on both clocks ---- */
struct queue {
  struct cuzk_clock *c;
  pthread_mutex_t m;
  struct cuzk_cond not_empty, not_full;
  unsigned fill, made, taken, n;
};
static void *producer(void *v) {
  struct queue *q = v;
  for (;;) {
    cuzk_clock_sleep_until(q->c, cuzk_clock_now(q->c) + 3000);
    (void)pthread_mutex_lock(&q->m);
    while (q->fill == 4) (void)cuzk_cond_wait(&q->not_full, &q->m, CUZK_NEVER);
    bool more = q->made < q->n;
    if (more) {
      q->made++;
      q->fill++;
      cuzk_cond_signal(&q->not_empty);
    }
    (void)pthread_mutex_unlock(&q->m);
    if (!more) return NULL;
  }
}
static void *consumer(void *v) {
  struct queue *q = v;
  (void)pthread_mutex_lock(&q->m);
  while (q->taken < q->n) {
    if (q->fill == 0) {
      (void)cuzk_cond_wait(&q->not_empty, &q->m, cuzk_clock_now(q->c) + 5000);
      continue;
    }
    q->fill--;
    q->taken++;
    cuzk_cond_signal(&q->not_full);
    (void)pthread_mutex_unlock(&q->m);
    cuzk_clock_sleep_until(q->c, cuzk_clock_now(q->c) + 2000);
    (void)pthread_mutex_lock(&q->m);
  }
  cuzk_cond_broadcast(&q->not_empty);
  cuzk_cond_broadcast(&q->not_full);
  (void)pthread_mutex_unlock(&q->m);
  return NULL;
}
static void run_queue(struct cuzk_clock *c, unsigned n) {
  struct queue q = {.c = c, .n = n};
  (void)pthread_mutex_init(&q.m, NULL);
  assert_int_equal(cuzk_cond_init(&q.not_empty, c), CUZK_OK);
  assert_int_equal(cuzk_cond_init(&q.not_full, c), CUZK_OK);
  pthread_t t[8];
  for (unsigned i = 0; i < 8; i++) assert_int_equal(cuzk_clock_thread(c, &t[i], "queue", i % 2 ? producer : consumer, &q), CUZK_OK);
  for (unsigned i = 0; i < 8; i++) cuzk_clock_join(c, t[i]);
  assert_int_equal(q.made, n);
  assert_int_equal(q.taken, n);
  cuzk_cond_clear(&q.not_empty);
  cuzk_cond_clear(&q.not_full);
  (void)pthread_mutex_destroy(&q.m);
}
static void a_queue_works_on_the_virtual_clock(void **state) {
  (void)state;
  struct cuzk_clock *c = new_virtual();
  run_queue(c, 5000);
  end(c);
}
static void a_queue_works_on_the_real_clock(void **state) {
  (void)state;
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_real(&c), CUZK_OK);
  cuzk_clock_enter(c);
  run_queue(c, 500);
  cuzk_clock_block(c);
  cuzk_clock_unblock(c);
  end(c);
}

static void the_real_clock_follows_time(void **state) {
  (void)state;
  struct cuzk_clock *c;
  assert_int_equal(cuzk_clock_real(&c), CUZK_OK);
  assert_false(cuzk_clock_is_virtual(c));
  /* time() may lag a tick behind the clock */
  assert_true(cuzk_clock_epoch_ms(c) / 1000 <= (uint64_t)time(NULL) + 1);
  uint64_t t0 = cuzk_clock_now(c);
  assert_true(t0 < 60 * CUZK_SECOND);
  cuzk_clock_sleep_until(c, t0 + 20 * CUZK_MS);
  assert_true(cuzk_clock_now(c) >= t0 + 20 * CUZK_MS);
  struct waiter w = {.c = c, .until = cuzk_clock_now(c) + 20 * CUZK_MS};
  (void)pthread_mutex_init(&w.m, NULL);
  assert_int_equal(cuzk_cond_init(&w.cond, c), CUZK_OK);
  assert_null(limited(&w));
  assert_false(w.got);
  assert_true(w.at >= w.until);
  w.until = CUZK_NEVER - 1; /* further than a timespec reaches */
  pthread_t t;
  assert_int_equal(cuzk_clock_thread(c, &t, "limited", limited, &w), CUZK_OK);
  dawdle(1000);
  (void)pthread_mutex_lock(&w.m);
  w.flag = true;
  cuzk_cond_broadcast(&w.cond);
  (void)pthread_mutex_unlock(&w.m);
  cuzk_clock_join(c, t);
  assert_true(w.got);
  cuzk_cond_clear(&w.cond);
  (void)pthread_mutex_destroy(&w.m);
  cuzk_clock_destroy(&c);
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  struct cuzk_clock *c;
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_clock_virtual(&c), CUZK_E_NOMEM);
  assert_null(c);
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_clock_real(&c), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(0);
  c = new_virtual();
  pthread_t t;
  struct sleeper s = {.c = c, .step = 1, .steps = 1};
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_clock_thread(c, &t, "sleeper", sleeper, &s), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(0);
  cuzk_clock_sleep_until(c, 10); /* the thread that never was does not count */
  end(c);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(days_pass_in_milliseconds),
      cmocka_unit_test(time_stands_still_while_a_woken_thread_has_not_run),
      cmocka_unit_test(a_wait_ends_by_signal_or_at_its_moment),
      cmocka_unit_test(equal_moments_come_in_the_order_of_the_waits),
      cmocka_unit_test(a_blocked_thread_does_not_hold_time_up),
      cmocka_unit_test(a_thread_outside_may_sleep_and_wait),
      cmocka_unit_test(waiting_without_end_is_noticed),
      cmocka_unit_test(a_queue_works_on_the_virtual_clock),
      cmocka_unit_test(a_queue_works_on_the_real_clock),
      cmocka_unit_test(the_real_clock_follows_time),
      cmocka_unit_test(failed_allocations_are_reported),
  };
  int64_t live = cuzk_alloc_live();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed || cuzk_alloc_live() != live;
}
