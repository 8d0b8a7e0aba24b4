/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/budget.h"
#include "testing.h"

#define GIB (UINT64_C(1) << 30)
#define ROOM(m, n) ((const uint64_t[CUZK_N_MEM]){[CUZK_MEM_##m] = (n)})

static struct cuzk_key key(unsigned cls, uint64_t seq, unsigned partition) { return (struct cuzk_key){.cls = cls, .seq = seq, .partition = partition}; }

struct world {
  struct cuzk_clock *c;
  struct cuzk_budget *b;
};
static struct world begin(bool is_virtual, uint64_t total, uint64_t slice) {
  struct world w;
  assert_int_equal(is_virtual ? cuzk_clock_virtual(&w.c) : cuzk_clock_real(&w.c), CUZK_OK);
  cuzk_clock_enter(w.c);
  struct cuzk_budget_options o = {.clock = w.c, .total = total, .critical_slice = slice};
  assert_int_equal(cuzk_budget_create(&w.b, &o), CUZK_OK);
  return w;
}
static uint64_t used(struct cuzk_budget *b) {
  struct cuzk_budget_view v;
  cuzk_budget_view(b, &v);
  uint64_t sum = 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++) sum += v.by_class[m];
  assert_int_equal(sum, v.used);
  assert_true(v.used <= v.total);
  return v.used;
}
static unsigned waiting(struct cuzk_budget *b) {
  struct cuzk_budget_view v;
  cuzk_budget_view(b, &v);
  return v.n_waiters;
}
static void end(struct world *w) {
  assert_int_equal(used(w->b), 0);
  cuzk_budget_destroy(&w->b);
  assert_null(w->b);
  cuzk_budget_destroy(&w->b);
  cuzk_clock_leave(w->c);
  cuzk_clock_destroy(&w->c);
}
/* Everything that happens at this moment of the virtual clock has happened. */
static void settle(struct world *w) { cuzk_clock_sleep_until(w->c, cuzk_clock_now(w->c) + 1); }

/* A thread that acquires, remembers when it got it, holds it for a while and gives it back. */
struct asker {
  struct cuzk_clock *c;
  struct cuzk_budget *b;
  struct cuzk_key key;
  uint64_t bytes[CUZK_N_MEM], until, hold;
  struct cuzk_budget_floor own;
  bool srs, pass;
  const atomic_bool *cancel;
  pthread_t t;
  enum cuzk_status st;
  uint64_t at, waited;
  _Atomic unsigned told;
  struct cuzk_reservation *r;
  struct cuzk_detail d;
  atomic_bool got;
};
static void on_wait(void *user) { atomic_fetch_add(&((struct asker *)user)->told, 1); }
static void *ask(void *v) {
  struct asker *a = v;
  if (a->pass) a->st = cuzk_budget_pass(a->b, &a->key, a->until, a->cancel, &a->d);
  else if (a->srs)
    a->st = cuzk_budget_acquire_srs(a->b, &a->r, a->bytes[CUZK_MEM_SRS], &a->own, &a->key, a->until, a->cancel, on_wait, a, &a->waited, &a->d);
  else a->st = cuzk_budget_acquire(a->b, &a->r, a->bytes, &a->key, a->until, a->cancel, on_wait, a, &a->waited, &a->d);
  a->at = cuzk_clock_now(a->c);
  atomic_store(&a->got, a->st == CUZK_OK);
  if (a->hold) {
    cuzk_clock_sleep_until(a->c, a->at + a->hold);
    cuzk_reservation_free(&a->r);
  }
  return NULL;
}
static void start(struct world *w, struct asker *a) {
  a->c = w->c;
  a->b = w->b;
  if (a->until == 0) a->until = CUZK_NEVER;
  assert_int_equal(cuzk_clock_thread(w->c, &a->t, "asker", ask, a), CUZK_OK);
}

static void memory_is_given_back_in_phases(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  struct cuzk_key k = key(2, 1, 0);
  uint64_t bytes[CUZK_N_MEM] = {[CUZK_MEM_ABC] = 60, [CUZK_MEM_AUX] = 20, [CUZK_MEM_PROVER] = 10}, waited = 9;
  struct cuzk_reservation *r, *s;
  assert_int_equal(cuzk_budget_acquire(w.b, &r, bytes, &k, CUZK_NEVER, NULL, NULL, NULL, &waited, NULL), CUZK_OK);
  assert_int_equal(waited, 0);
  assert_int_equal(cuzk_reservation_bytes(r), 90);
  assert_int_equal(cuzk_budget_try(w.b, &s, ROOM(ABC, 11), &k), CUZK_OK);
  assert_null(s);
  assert_int_equal(cuzk_budget_try(w.b, &s, ROOM(ABC, 10), &k), CUZK_OK);
  assert_non_null(s);
  cuzk_reservation_free(&s);
  cuzk_reservation_move(r, CUZK_MEM_ABC, CUZK_MEM_POOL_IDLE);
  struct cuzk_budget_view v;
  cuzk_budget_view(w.b, &v);
  assert_int_equal(v.by_class[CUZK_MEM_POOL_IDLE], 60);
  assert_int_equal(v.by_class[CUZK_MEM_ABC], 0);
  assert_int_equal(v.used, 90);
  cuzk_reservation_release(r, CUZK_MEM_ABC);
  assert_int_equal(used(w.b), 90);
  cuzk_reservation_release(r, CUZK_MEM_POOL_IDLE);
  assert_int_equal(used(w.b), 30);
  cuzk_reservation_release(r, CUZK_MEM_AUX);
  cuzk_reservation_free(&r);
  assert_null(r);
  cuzk_reservation_free(&r);
  cuzk_reservation_release(NULL, CUZK_MEM_AUX);
  cuzk_reservation_move(NULL, CUZK_MEM_AUX, CUZK_MEM_ABC);
  assert_int_equal(cuzk_reservation_bytes(NULL), 0);
  /* Nothing needs no room. */
  assert_int_equal(cuzk_budget_acquire(w.b, &r, ROOM(ABC, 0), &k, 0, NULL, NULL, NULL, NULL, NULL), CUZK_OK);
  cuzk_reservation_free(&r);
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 0), &k), CUZK_OK);
  cuzk_reservation_free(&r);
  end(&w);
}

static void the_impossible_is_refused_at_once(void **state) {
  (void)state;
  struct world w = begin(true, 100, 20);
  struct cuzk_reservation *r;
  struct cuzk_detail d = {{0}};
  struct cuzk_key normal = key(2, 1, 0), critical = key(0, 2, 0);
  assert_true(cuzk_budget_possible(w.b, ROOM(ABC, 80)));
  assert_false(cuzk_budget_possible(w.b, ROOM(ABC, 81)));
  assert_false(cuzk_budget_possible(w.b, (const uint64_t[CUZK_N_MEM]){UINT64_MAX, UINT64_MAX, 2}));
  assert_int_equal(cuzk_budget_acquire(w.b, &r, ROOM(ABC, 81), &normal, CUZK_NEVER, NULL, NULL, NULL, NULL, &d), CUZK_E_UNSUPPORTED);
  assert_null(r);
  assert_non_null(strstr(d.text, "81 bytes"));
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 81), &normal), CUZK_E_UNSUPPORTED);
  assert_int_equal(cuzk_budget_acquire(w.b, &r, ROOM(ABC, 101), &critical, CUZK_NEVER, NULL, NULL, NULL, NULL, &d), CUZK_E_UNSUPPORTED);
  assert_int_equal(cuzk_budget_acquire(w.b, &r, ROOM(ABC, 100), &critical, CUZK_NEVER, NULL, NULL, NULL, NULL, &d), CUZK_OK);
  cuzk_reservation_free(&r);
  /* Parameters that leave no room for a partition of theirs. */
  struct cuzk_budget_floor own = {.inputs = 1, .partition = 30};
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &r, 50, &own, &normal, CUZK_NEVER, NULL, NULL, NULL, NULL, &d), CUZK_E_UNSUPPORTED);
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &r, 49, &own, &normal, CUZK_NEVER, NULL, NULL, NULL, NULL, &d), CUZK_OK);
  cuzk_reservation_free(&r);
  end(&w);
}

static void waiters_are_served_in_the_order_of_their_keys(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  enum { N = 40 };
  static struct asker a[N];
  memset(a, 0, sizeof a);
  struct asker first = {.key = key(3, 999, 0), .bytes = {[CUZK_MEM_ABC] = 100}, .hold = CUZK_SECOND};
  start(&w, &first);
  settle(&w);
  for (unsigned i = 0; i < N; i++) {
    /* distinct keys in scattered order, sizes from one to all */
    a[i].key = key(1 + test_rand() % 3, test_rand() % 5, i);
    a[i].bytes[CUZK_MEM_ABC] = 1 + test_rand() % 100;
    a[i].hold = CUZK_SECOND + test_rand() % CUZK_SECOND;
    start(&w, &a[i]);
  }
  settle(&w);
  struct cuzk_budget_view v;
  cuzk_budget_view(w.b, &v);
  assert_int_equal(v.n_waiters, N);
  for (unsigned i = 0; i + 1 < 16; i++) assert_true(cuzk_key_cmp(&v.waiter[i].key, &v.waiter[i + 1].key) < 0);
  cuzk_clock_join(w.c, first.t);
  for (unsigned i = 0; i < N; i++) cuzk_clock_join(w.c, a[i].t);
  for (unsigned i = 0; i < N; i++) {
    assert_int_equal(a[i].st, CUZK_OK);
    assert_int_equal(a[i].told, 1);
    assert_true(a[i].waited > 0);
    for (unsigned k = 0; k < N; k++)
      if (cuzk_key_cmp(&a[i].key, &a[k].key) < 0) assert_true(a[i].at <= a[k].at);
  }
  assert_int_equal(first.told, 0);
  cuzk_budget_view(w.b, &v);
  assert_true(v.wait_ns_total > 0);
  end(&w);
}

static void a_better_key_may_be_given_later(void **state) {
  (void)state;
  struct world w = begin(true, 10, 0);
  struct asker holder = {.key = key(2, 1, 0), .bytes = {[CUZK_MEM_ABC] = 10}, .hold = CUZK_SECOND};
  struct asker x = {.key = key(2, 2, 0), .bytes = {[CUZK_MEM_ABC] = 10}, .hold = CUZK_SECOND};
  struct asker y = {.key = key(2, 3, 0), .bytes = {[CUZK_MEM_ABC] = 10}, .hold = CUZK_SECOND};
  start(&w, &holder);
  settle(&w);
  start(&w, &x);
  start(&w, &y);
  settle(&w);
  struct cuzk_reservation *r;
  struct cuzk_key k = key(2, 2, 5);
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(AUX, 1), &k), CUZK_OK);
  assert_null(r);
  cuzk_budget_raise(w.b, 3, 1);
  cuzk_budget_raise(w.b, 3, 2); /* not back */
  cuzk_clock_join(w.c, holder.t);
  cuzk_clock_join(w.c, x.t);
  cuzk_clock_join(w.c, y.t);
  assert_true(y.at < x.at);
  end(&w);
}

static void critical_waiters_have_their_slice(void **state) {
  (void)state;
  struct world w = begin(true, 100, 10);
  struct cuzk_key normal = key(2, 1, 0), critical = key(0, 9, 0);
  struct cuzk_reservation *r, *s, *t;
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 85), &normal), CUZK_OK);
  assert_non_null(r);
  assert_int_equal(cuzk_budget_try(w.b, &s, ROOM(ABC, 6), &normal), CUZK_OK);
  assert_null(s); /* 9 bytes too many of the slice */
  struct asker head = {.key = key(1, 3, 0), .bytes = {[CUZK_MEM_ABC] = 6}, .hold = 1};
  start(&w, &head);
  settle(&w);
  assert_int_equal(waiting(w.b), 1);
  /* CRITICAL passes the waiter and takes from the slice; what it took does not make the others' share smaller. */
  assert_int_equal(cuzk_budget_try(w.b, &s, ROOM(AUX, 10), &critical), CUZK_OK);
  assert_non_null(s);
  assert_int_equal(cuzk_budget_try(w.b, &t, ROOM(AUX, 6), &critical), CUZK_OK);
  assert_null(t);
  assert_int_equal(waiting(w.b), 1);
  cuzk_reservation_free(&r);
  cuzk_clock_join(w.c, head.t);
  /* With the slice in use, 90 are still there for the others. */
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 90), &normal), CUZK_OK);
  assert_non_null(r);
  cuzk_reservation_free(&s);
  assert_int_equal(cuzk_budget_try(w.b, &t, ROOM(ABC, 1), &normal), CUZK_OK);
  assert_null(t);
  cuzk_reservation_free(&r);
  /* Parameters loaded for a CRITICAL job do not use the slice up. */
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(SRS, 50), &critical), CUZK_OK);
  assert_int_equal(cuzk_budget_try(w.b, &s, ROOM(ABC, 41), &normal), CUZK_OK);
  assert_null(s);
  assert_int_equal(cuzk_budget_try(w.b, &s, ROOM(ABC, 40), &normal), CUZK_OK);
  assert_non_null(s);
  cuzk_reservation_free(&r);
  cuzk_reservation_free(&s);
  end(&w);
}

static void waits_end_by_cancel_and_deadline(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  struct cuzk_key k = key(2, 1, 0);
  struct cuzk_reservation *r;
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 60), &k), CUZK_OK);
  atomic_bool cancel = false;
  struct asker late = {.key = key(2, 2, 0), .bytes = {[CUZK_MEM_ABC] = 50}, .until = 5 * CUZK_SECOND};
  struct asker gone = {.key = key(2, 3, 0), .bytes = {[CUZK_MEM_ABC] = 40}, .cancel = &cancel};
  struct asker small = {.key = key(2, 4, 0), .bytes = {[CUZK_MEM_ABC] = 40}, .hold = 1};
  start(&w, &late);
  settle(&w);
  start(&w, &gone);
  settle(&w);
  start(&w, &small);
  settle(&w);
  assert_int_equal(waiting(w.b), 3); /* nobody passes the first, though two would fit */
  atomic_store(&cancel, true);
  cuzk_budget_kick(w.b);
  cuzk_clock_join(w.c, gone.t);
  assert_int_equal(gone.st, CUZK_E_CANCELLED);
  assert_null(gone.r);
  assert_true(gone.at < 10);
  cuzk_clock_join(w.c, late.t);
  assert_int_equal(late.st, CUZK_E_NOMEM);
  assert_int_equal(late.at, 5 * CUZK_SECOND);
  assert_int_equal(late.waited, 5 * CUZK_SECOND);
  assert_non_null(strstr(late.d.text, "50 bytes wanted"));
  assert_non_null(strstr(late.d.text, "40 of 100 free"));
  /* The end of that wait lets the next one go. */
  cuzk_clock_join(w.c, small.t);
  assert_int_equal(small.st, CUZK_OK);
  assert_int_equal(small.at, 5 * CUZK_SECOND);
  cuzk_reservation_free(&r);
  end(&w);
}

/* ---- eviction ---- */
struct evictable {
  struct cuzk_clock *c;
  struct cuzk_reservation *r;
  uint64_t of_age;
};
struct evictor {
  struct evictable e[3];
  unsigned calls, inside, freed_idle;
  uint64_t needs[64];
  bool idle;
};
static uint64_t evict(void *user, uint64_t need, bool idle, uint64_t *again) {
  struct evictor *v = user;
  assert_int_equal(v->inside, 0);
  v->inside++;
  v->idle = idle;
  if (v->calls < 64) v->needs[v->calls] = need;
  v->calls++;
  uint64_t freed = 0;
  *again = CUZK_NEVER;
  for (unsigned i = 0; i < 3 && freed < need; i++) {
    struct evictable *e = &v->e[i];
    if (!e->r) continue;
    if (!idle && cuzk_clock_now(e->c) < e->of_age) {
      if (e->of_age < *again) *again = e->of_age;
      continue;
    }
    freed += cuzk_reservation_bytes(e->r);
    if (idle) v->freed_idle++;
    cuzk_reservation_free(&e->r);
  }
  v->inside--;
  return freed;
}

static void eviction_goes_on_age_alone(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  struct evictor v = {0};
  struct cuzk_key k = key(2, 1, 0);
  static const uint64_t ages[] = {300 * CUZK_SECOND, 200 * CUZK_SECOND, 400 * CUZK_SECOND};
  for (unsigned i = 0; i < 3; i++) {
    v.e[i] = (struct evictable){.c = w.c, .of_age = ages[i]};
    assert_int_equal(cuzk_budget_try(w.b, &v.e[i].r, ROOM(SRS, 30), &k), CUZK_OK);
    assert_non_null(v.e[i].r);
  }
  cuzk_budget_set_evictor(w.b, evict, &v);
  cuzk_budget_set_running(w.b, 1);
  /* Nothing is ever released: time alone has to wake the waiter, twice. */
  struct asker a = {.key = key(2, 2, 0), .bytes = {[CUZK_MEM_ABC] = 70}, .hold = 1};
  start(&w, &a);
  cuzk_clock_join(w.c, a.t);
  assert_int_equal(a.st, CUZK_OK);
  assert_int_equal(a.at, 300 * CUZK_SECOND);
  assert_int_equal(a.told, 1);
  assert_int_equal(v.needs[0], 60);
  assert_null(v.e[0].r);
  assert_null(v.e[1].r);
  assert_non_null(v.e[2].r); /* no more than needed */
  assert_false(v.idle);
  /* Ages do not count when nothing runs. */
  struct asker b = {.key = key(2, 3, 0), .bytes = {[CUZK_MEM_ABC] = 80}, .hold = 1};
  uint64_t began = cuzk_clock_now(w.c);
  start(&w, &b);
  cuzk_clock_sleep_until(w.c, began + 10 * CUZK_SECOND);
  assert_false(atomic_load(&b.got));
  cuzk_budget_set_running(w.b, 0);
  cuzk_clock_join(w.c, b.t);
  assert_int_equal(b.at, began + 10 * CUZK_SECOND);
  assert_true(v.idle);
  assert_int_equal(v.freed_idle, 1);
  end(&w);
}

static uint64_t evict_nothing(void *user, uint64_t need, bool idle, uint64_t *again) {
  (void)idle;
  struct evictor *v = user;
  v->calls++;
  *again = CUZK_NEVER;
  return need; /* says so only */
}
static void an_evictor_that_lies_does_not_spin(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  struct evictor v = {0};
  struct cuzk_key k = key(2, 1, 0);
  struct cuzk_reservation *r;
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 60), &k), CUZK_OK);
  cuzk_budget_set_evictor(w.b, evict_nothing, &v);
  struct asker a = {.key = key(2, 2, 0), .bytes = {[CUZK_MEM_ABC] = 50}, .until = CUZK_SECOND};
  struct asker b = {.key = key(2, 3, 0), .bytes = {[CUZK_MEM_ABC] = 50}, .until = CUZK_SECOND};
  start(&w, &a);
  start(&w, &b);
  cuzk_clock_join(w.c, a.t);
  cuzk_clock_join(w.c, b.t);
  assert_int_equal(a.st, CUZK_E_NOMEM);
  assert_true(v.calls >= 1 && v.calls <= 10);
  cuzk_reservation_free(&r);
  end(&w);
}

/* ---- parameters, inputs and partitions ---- */
static void who_waits_for_parameters_in_use_does_not_stop_their_jobs(void **state) {
  (void)state;
  struct world w = begin(true, 60, 0);
  struct cuzk_key k = key(2, 1, 0);
  struct cuzk_reservation *srs, *p[2], *q;
  struct cuzk_budget_floor f = {.inputs = 1, .partition = 10};
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &srs, 33, &f, &k, CUZK_NEVER, NULL, NULL, NULL, NULL, NULL), CUZK_OK);
  for (unsigned i = 0; i < 2; i++) assert_int_equal(cuzk_budget_try(w.b, &p[i], ROOM(ABC, 10), &k), CUZK_OK);
  /* A HIGH job wants other parameters: not before the NORMAL job has ended. */
  struct asker high = {.key = key(1, 5, 0), .bytes = {[CUZK_MEM_SRS] = 44}, .own = {.inputs = 1, .partition = 15}, .srs = true};
  start(&w, &high);
  settle(&w);
  assert_false(atomic_load(&high.got));
  /* Partitions of the NORMAL one go on, in their order. */
  struct asker n3 = {.key = key(2, 1, 3), .bytes = {[CUZK_MEM_ABC] = 10}}, n4 = {.key = key(2, 1, 4), .bytes = {[CUZK_MEM_ABC] = 10}};
  start(&w, &n4);
  start(&w, &n3);
  settle(&w);
  assert_false(atomic_load(&n3.got) || atomic_load(&n4.got));
  cuzk_reservation_free(&p[0]);
  settle(&w);
  assert_true(atomic_load(&n3.got));
  assert_false(atomic_load(&n4.got));
  cuzk_reservation_free(&p[1]);
  settle(&w);
  assert_true(atomic_load(&n4.got));
  /* But nobody new comes to the parameters that are to go. */
  struct asker newcomer = {.key = key(2, 6, 0), .pass = true}, urgent = {.key = key(0, 7, 0), .pass = true};
  start(&w, &newcomer);
  start(&w, &urgent);
  settle(&w);
  assert_false(atomic_load(&newcomer.got));
  assert_true(atomic_load(&urgent.got));
  cuzk_reservation_free(&n3.r);
  cuzk_reservation_free(&n4.r);
  settle(&w);
  assert_false(atomic_load(&high.got));
  cuzk_reservation_set_use(srs, false, &f);
  cuzk_reservation_free(&srs);
  settle(&w);
  assert_true(atomic_load(&high.got));
  assert_true(atomic_load(&newcomer.got));
  /* Inputs leave room for a partition: 60 - 44 - 15. */
  assert_int_equal(cuzk_budget_try(w.b, &q, ROOM(INPUTS, 2), &k), CUZK_OK);
  assert_null(q);
  assert_int_equal(cuzk_budget_try(w.b, &q, ROOM(INPUTS, 1), &k), CUZK_OK);
  assert_non_null(q);
  cuzk_reservation_free(&q);
  cuzk_clock_join(w.c, high.t);
  cuzk_clock_join(w.c, n3.t);
  cuzk_clock_join(w.c, n4.t);
  cuzk_clock_join(w.c, newcomer.t);
  cuzk_clock_join(w.c, urgent.t);
  cuzk_reservation_free(&high.r);
  end(&w);
}

static void parameters_leave_room_for_partitions_of_those_in_use(void **state) {
  (void)state;
  struct world w = begin(true, 90, 0);
  struct cuzk_key k = key(2, 1, 0);
  struct cuzk_reservation *big, *small;
  struct cuzk_budget_floor f = {.inputs = 1, .partition = 20}, g = {.inputs = 2, .partition = 5};
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &big, 44, &f, &k, 0, NULL, NULL, NULL, NULL, NULL), CUZK_OK);
  /* 44 + 25 leave room for the small circuit's partitions, but not for the big one's: both jobs would wait for ever. */
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &small, 25, &g, &k, 0, NULL, NULL, NULL, NULL, NULL), CUZK_E_NOMEM);
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &small, 24, &g, &k, 0, NULL, NULL, NULL, NULL, NULL), CUZK_OK);
  cuzk_reservation_free(&small);
  /* Nobody uses the big one. */
  cuzk_reservation_set_use(big, false, &f);
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &small, 39, &g, &k, 0, NULL, NULL, NULL, NULL, NULL), CUZK_OK);
  cuzk_reservation_free(&small);
  assert_int_equal(cuzk_budget_acquire_srs(w.b, &small, 40, &g, &k, 0, NULL, NULL, NULL, NULL, NULL), CUZK_E_NOMEM);
  cuzk_reservation_free(&big);
  end(&w);
}

static void parameters_wait_for_partitions_that_run(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  struct cuzk_key k = key(2, 1, 0);
  struct cuzk_reservation *p;
  assert_int_equal(cuzk_budget_try(w.b, &p, ROOM(ABC, 60), &k), CUZK_OK);
  struct asker srs = {.key = key(2, 2, 0), .bytes = {[CUZK_MEM_SRS] = 50}, .own = {.partition = 20}, .srs = true};
  struct asker part = {.key = key(2, 3, 0), .bytes = {[CUZK_MEM_ABC] = 20}};
  start(&w, &srs);
  settle(&w);
  start(&w, &part);
  settle(&w);
  /* The memory will come back, so it is kept for the first. */
  assert_false(atomic_load(&part.got));
  cuzk_reservation_free(&p);
  cuzk_clock_join(w.c, srs.t);
  cuzk_clock_join(w.c, part.t);
  assert_int_equal(srs.st, CUZK_OK);
  cuzk_reservation_free(&srs.r);
  cuzk_reservation_free(&part.r);
  end(&w);
}

/* ---- many threads, many operations ---- */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif
enum { THREADS = 4, HELD = 8, PHASES = 10, OPS = 1000000 / THREADS / PHASES };
struct load {
  struct world *w;
  pthread_barrier_t *barrier;
  uint64_t seed;
  struct cuzk_reservation *held[HELD];
  uint64_t bytes[HELD]; /* what the thread believes */
  unsigned granted, refused, bad;
  atomic_bool cancel;
};
static uint64_t draw(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}
static void *loader(void *v) {
  struct load *l = v;
  struct cuzk_budget *b = l->w->b;
  for (unsigned phase = 0; phase < PHASES; phase++) {
    for (unsigned i = 0; i < OPS; i++) {
      uint64_t x = draw(&l->seed);
      unsigned slot = x % HELD, m = (x >> 8) % CUZK_N_MEM, m2 = (x >> 16) % CUZK_N_MEM;
      struct cuzk_reservation **r = &l->held[slot];
      struct cuzk_key k = key((x >> 24) % 4, (x >> 32) % 16, i);
      if (!*r) {
        uint64_t bytes[CUZK_N_MEM] = {0};
        bytes[m] = (x >> 40) % 2000;
        bytes[m2] += (x >> 50) % 500;
        enum cuzk_status st;
        if (x >> 62) {
          st = cuzk_budget_try(b, r, bytes, &k);
        } else {
          /* Short waits, so that every order of events comes by and nobody waits for ever. */
          uint64_t until = (x >> 58) % 16 == 0 ? cuzk_clock_now(l->w->c) + 200000 : 0;
          st = cuzk_budget_acquire(b, r, bytes, &k, until, &l->cancel, NULL, NULL, NULL, NULL);
          if ((st == CUZK_OK) != (*r != NULL)) l->bad++;
        }
        if (st != CUZK_OK && st != CUZK_E_NOMEM && st != CUZK_E_UNSUPPORTED) l->bad++;
        l->bytes[slot] = *r ? bytes[m] + (m == m2 ? 0 : bytes[m2]) : 0;
        if (*r) l->granted++;
        else l->refused++;
      } else if ((x >> 40) % 4 == 0) {
        cuzk_reservation_move(*r, (enum cuzk_mem)m, (enum cuzk_mem)m2);
      } else if ((x >> 40) % 4 == 1) {
        cuzk_reservation_release(*r, (enum cuzk_mem)m);
        uint64_t left = cuzk_reservation_bytes(*r);
        if (left > l->bytes[slot]) l->bad++;
        l->bytes[slot] = left;
      } else {
        if (cuzk_reservation_bytes(*r) != l->bytes[slot]) l->bad++;
        cuzk_reservation_free(r);
        l->bytes[slot] = 0;
      }
      if (x % 1000 == 0) {
        struct cuzk_budget_view view;
        cuzk_budget_view(b, &view);
        uint64_t sum = 0;
        for (unsigned c = 0; c < CUZK_N_MEM; c++) sum += view.by_class[c];
        if (sum != view.used || view.used > view.total) l->bad++;
        cuzk_budget_kick(b);
        cuzk_budget_raise(b, x % 16, 1);
        cuzk_budget_set_running(b, x % 3);
        struct cuzk_budget_floor f = {.inputs = x % 7, .partition = x % 1000};
        if (!*r) {
          enum cuzk_status st = cuzk_budget_acquire_srs(b, r, x % 500, &f, &k, 0, NULL, NULL, NULL, NULL, NULL);
          if (st == CUZK_OK) cuzk_reservation_set_use(*r, x & 1, &f);
          l->bytes[slot] = st == CUZK_OK ? x % 500 : 0;
        }
      }
    }
    (void)pthread_barrier_wait(l->barrier); /* all rest: the test compares */
    (void)pthread_barrier_wait(l->barrier);
  }
  for (unsigned i = 0; i < HELD; i++) cuzk_reservation_free(&l->held[i]);
  return NULL;
}
static void a_million_operations_keep_the_sum(void **state) {
  (void)state;
  struct world w = begin(false, 10000, 500);
  pthread_barrier_t barrier;
  assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
  static struct load l[THREADS];
  pthread_t t[THREADS];
  memset(l, 0, sizeof l);
  for (unsigned i = 0; i < THREADS; i++) {
    l[i].w = &w;
    l[i].barrier = &barrier;
    l[i].seed = test_rand() | 1;
    assert_int_equal(cuzk_clock_thread(w.c, &t[i], "load", loader, &l[i]), CUZK_OK);
  }
  unsigned wrong = 0;
  for (unsigned phase = 0; phase < PHASES; phase++) {
    (void)pthread_barrier_wait(&barrier);
    uint64_t sum = 0;
    for (unsigned i = 0; i < THREADS; i++)
      for (unsigned k = 0; k < HELD; k++) sum += l[i].bytes[k];
    struct cuzk_budget_view v;
    cuzk_budget_view(w.b, &v);
    if (v.used != sum || v.n_waiters != 0) wrong++;
    (void)pthread_barrier_wait(&barrier);
  }
  for (unsigned i = 0; i < THREADS; i++) cuzk_clock_join(w.c, t[i]);
  assert_int_equal(wrong, 0);
  for (unsigned i = 0; i < THREADS; i++) {
    assert_int_equal(l[i].bad, 0);
    assert_true(l[i].granted > 1000 && l[i].refused > 1000);
  }
  (void)pthread_barrier_destroy(&barrier);
  end(&w);
}

/* Waiters that only releases wake, on both clocks: a lost wake-up would leave one for ever. */
struct churn {
  struct world *w;
  uint64_t seed;
  unsigned n;
  unsigned failed;
};
static void *churn(void *v) {
  struct churn *a = v;
  for (unsigned i = 0; i < a->n; i++) {
    uint64_t x = draw(&a->seed);
    uint64_t bytes[CUZK_N_MEM] = {[CUZK_MEM_ABC] = 1 + x % 100, [CUZK_MEM_AUX] = (x >> 8) % 20};
    struct cuzk_key k = key((x >> 16) % 4, i, (unsigned)(x >> 32));
    struct cuzk_reservation *r;
    if (cuzk_budget_acquire(a->w->b, &r, bytes, &k, CUZK_NEVER, NULL, NULL, NULL, NULL, NULL) != CUZK_OK) a->failed++;
    if (cuzk_clock_is_virtual(a->w->c)) cuzk_clock_sleep_until(a->w->c, cuzk_clock_now(a->w->c) + (x >> 40) % 1000);
    cuzk_reservation_release(r, CUZK_MEM_ABC);
    cuzk_reservation_free(&r);
  }
  return NULL;
}
static void no_wake_up_is_lost(void **state) {
  (void)state;
  for (unsigned is_virtual = 0; is_virtual < 2; is_virtual++) {
    struct world w = begin(is_virtual, 130, 5);
    struct churn a[8];
    pthread_t t[8];
    for (unsigned i = 0; i < 8; i++) {
      a[i] = (struct churn){.w = &w, .seed = test_rand() | 1, .n = SANITIZED ? 500 : 3000};
      assert_int_equal(cuzk_clock_thread(w.c, &t[i], "churn", churn, &a[i]), CUZK_OK);
    }
    for (unsigned i = 0; i < 8; i++) {
      cuzk_clock_join(w.c, t[i]);
      assert_int_equal(a[i].failed, 0);
    }
    end(&w);
  }
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  struct world w = begin(true, 100, 0);
  struct cuzk_budget *b;
  struct cuzk_budget_options o = {.clock = w.c, .total = 100};
  struct cuzk_key k = key(2, 1, 0);
  struct cuzk_reservation *r;
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_budget_create(&b, &o), CUZK_E_NOMEM);
  assert_null(b);
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_budget_acquire(w.b, &r, ROOM(ABC, 1), &k, CUZK_NEVER, NULL, NULL, NULL, NULL, NULL), CUZK_E_NOMEM);
  assert_null(r);
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_budget_acquire(w.b, &r, ROOM(ABC, 0), &k, CUZK_NEVER, NULL, NULL, NULL, NULL, NULL), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_budget_try(w.b, &r, ROOM(ABC, 1), &k), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(0);
  end(&w);
}

/* ---- detection ---- */
static char root[64];
static void put(const char *path, const char *text) {
  char whole[512];
  (void)snprintf(whole, sizeof whole, "%s%s", root, path);
  for (char *p = whole + strlen(root) + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    (void)mkdir(whole, 0755);
    *p = '/';
  }
  FILE *f = fopen(whole, "w");
  assert_non_null(f);
  (void)fputs(text, f);
  (void)fclose(f);
}
static void remove_root(void) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r '%s'", root);
  assert_int_equal(system(command), 0);
}
static void new_root(void) {
  (void)snprintf(root, sizeof root, "/tmp/cuzk-memory-XXXXXX");
  assert_non_null(mkdtemp(root));
}
static uint64_t detect(void) {
  uint64_t n = 1;
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_memory_detect(&n, root, &d), CUZK_OK);
  return n;
}
static void memory_is_detected(void **state) {
  (void)state;
  new_root();
  uint64_t n = 1;
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_memory_detect(&n, root, &d), CUZK_E_IO);
  assert_int_equal(n, 0);
  assert_non_null(strstr(d.text, "/proc/meminfo"));
  put("/proc/meminfo", "MemFree: 5 kB\n");
  assert_int_equal(cuzk_memory_detect(&n, root, &d), CUZK_E_IO);
  put("/proc/meminfo", "MemTotal:       none kB\n");
  assert_int_equal(cuzk_memory_detect(&n, root, &d), CUZK_E_IO);
  put("/proc/meminfo", "MemTotal:       131072000 kB\nMemFree: 5 kB\n");
  assert_int_equal(detect(), UINT64_C(131072000) << 10);
  /* version 2: the least of all levels */
  put("/proc/self/cgroup", "0::/a/b/c\n");
  assert_int_equal(detect(), UINT64_C(131072000) << 10);
  put("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  put("/sys/fs/cgroup/a/b/memory.max", "68719476736\n");
  put("/sys/fs/cgroup/a/memory.max", "99999999999999999999999999\n");
  assert_int_equal(detect(), 64 * GIB);
  put("/sys/fs/cgroup/a/memory.max", "34359738368\n");
  assert_int_equal(detect(), 32 * GIB);
  put("/sys/fs/cgroup/a/b/c/memory.max", "1073741824\n");
  assert_int_equal(detect(), GIB);
  /* a container with a group of its own: "/", or a path that is not there */
  put("/sys/fs/cgroup/memory.max", "2147483648\n");
  put("/proc/self/cgroup", "0::/\n");
  assert_int_equal(detect(), 2 * GIB);
  put("/proc/self/cgroup", "0::/../../elsewhere\n");
  assert_int_equal(detect(), 2 * GIB);
  put("/proc/self/cgroup", "0::/docker/0123");
  assert_int_equal(detect(), 2 * GIB);
  /* a limit is enough where there is no MemTotal */
  put("/proc/meminfo", "\n");
  assert_int_equal(detect(), 2 * GIB);
  remove_root();

  /* version 1, and both at once */
  new_root();
  put("/proc/meminfo", "MemTotal:       131072000 kB\n");
  put("/proc/self/cgroup", "12:pids:/x\n11:cpu,memory,cpuacct:/user/job\n10:memoryless:/y\n0::/z\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/y/memory.limit_in_bytes", "5\n");
  assert_int_equal(detect(), UINT64_C(131072000) << 10);
  put("/sys/fs/cgroup/memory/user/memory.limit_in_bytes", "8589934592\n");
  assert_int_equal(detect(), 8 * GIB);
  put("/sys/fs/cgroup/unified/z/memory.max", "4294967296\n");
  assert_int_equal(detect(), 4 * GIB);
  put("/sys/fs/cgroup/memory/user/job/memory.limit_in_bytes", "1073741824\n");
  assert_int_equal(detect(), GIB);
  remove_root();

  root[0] = 0;
  assert_true(detect() > 0); /* this machine */
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_given_back_in_phases),
      cmocka_unit_test(the_impossible_is_refused_at_once),
      cmocka_unit_test(waiters_are_served_in_the_order_of_their_keys),
      cmocka_unit_test(a_better_key_may_be_given_later),
      cmocka_unit_test(critical_waiters_have_their_slice),
      cmocka_unit_test(waits_end_by_cancel_and_deadline),
      cmocka_unit_test(eviction_goes_on_age_alone),
      cmocka_unit_test(an_evictor_that_lies_does_not_spin),
      cmocka_unit_test(who_waits_for_parameters_in_use_does_not_stop_their_jobs),
      cmocka_unit_test(parameters_leave_room_for_partitions_of_those_in_use),
      cmocka_unit_test(parameters_wait_for_partitions_that_run),
      cmocka_unit_test(a_million_operations_keep_the_sum),
      cmocka_unit_test(no_wake_up_is_lost),
      cmocka_unit_test(failed_allocations_are_reported),
      cmocka_unit_test(memory_is_detected),
  };
  int64_t live = cuzk_alloc_live();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed || cuzk_alloc_live() != live;
}
