/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "engine/fake.h"
#include "engine/residency.h"
#include "testing.h"

#define GIB (UINT64_C(1) << 30)

struct world {
  struct cuzk_clock *c;
  struct cuzk_budget *b;
  struct cuzk_recorder *rec;
  struct cuzk_fake *f;
  struct cuzk_prover p;
  struct cuzk_residency *r;
  _Atomic unsigned failing; /* so many loads fail */
  enum cuzk_fake_fault fault;
};
static enum cuzk_fake_fault fault_of(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  struct world *w = user;
  (void)rq;
  (void)partition;
  (void)device;
  if (stage != CUZK_FAKE_LOAD || atomic_load(&w->failing) == 0) return CUZK_FAKE_OK;
  atomic_fetch_sub(&w->failing, 1);
  return w->fault;
}
static void begin(struct world *w, uint64_t total, uint64_t min_idle) {
  *w = (struct world){.fault = CUZK_FAKE_ERROR};
  assert_int_equal(cuzk_clock_virtual(&w->c), CUZK_OK);
  cuzk_clock_enter(w->c);
  struct cuzk_budget_options bo = {.clock = w->c, .total = total};
  assert_int_equal(cuzk_budget_create(&w->b, &bo), CUZK_OK);
  struct cuzk_recorder_options ro = {.clock = w->c, .fd = -1, .ring = 4096};
  assert_int_equal(cuzk_recorder_create(&w->rec, &ro, NULL), CUZK_OK);
  struct cuzk_fake_options fo = {.clock = w->c, .n_devices = 1, .seed = 1, .fault = fault_of, .user = w};
  cuzk_fake_reference_times(&fo);
  fo.kind[3].no_srs_file = true;
  assert_int_equal(cuzk_fake_create(&w->f, &fo), CUZK_OK);
  w->p = cuzk_fake_prover(w->f);
  struct cuzk_residency_options o = {.clock = w->c, .budget = w->b, .recorder = w->rec, .prover = w->p, .min_idle_ns = min_idle};
  assert_int_equal(cuzk_residency_create(&w->r, &o), CUZK_OK);
}
static uint64_t used(struct world *w) {
  struct cuzk_budget_view v;
  cuzk_budget_view(w->b, &v);
  assert_int_equal(v.used, v.by_class[CUZK_MEM_SRS] + v.by_class[CUZK_MEM_ABC]);
  return v.used;
}
static unsigned alive(struct world *w) {
  unsigned n[4];
  cuzk_fake_alive(w->f, n);
  return n[1];
}
static unsigned events(struct world *w, enum cuzk_event e) {
  static struct cuzk_event_record rec[4096];
  uint64_t first;
  size_t n = cuzk_recorder_read(w->rec, 0, rec, 4096, &first);
  unsigned found = 0;
  for (size_t i = 0; i < n; i++) found += rec[i].event == e;
  return found;
}
static void end(struct world *w) {
  cuzk_residency_destroy(&w->r);
  assert_null(w->r);
  cuzk_residency_destroy(&w->r);
  assert_int_equal(used(w), 0);
  assert_int_equal(alive(w), 0);
  assert_int_equal(cuzk_fake_misuses(w->f), 0);
  cuzk_fake_destroy(&w->f);
  cuzk_budget_destroy(&w->b);
  cuzk_recorder_destroy(&w->rec);
  cuzk_clock_leave(w->c);
  cuzk_clock_destroy(&w->c);
}

struct user {
  struct world *w;
  const char *id;
  struct cuzk_key key;
  uint64_t begin, until, hold;
  const atomic_bool *cancel;
  pthread_t t;
  enum cuzk_status st;
  uint64_t took, at;
  void *handle;
  struct cuzk_detail d;
};
static void *use(void *v) {
  struct user *u = v;
  struct world *w = u->w;
  struct cuzk_srs_ref *ref = NULL;
  cuzk_clock_sleep_until(w->c, u->begin);
  u->st = cuzk_residency_get(w->r, &ref, u->id, "job", &u->key, u->until ? u->until : CUZK_NEVER, u->cancel, &u->took, &u->d);
  u->at = cuzk_clock_now(w->c);
  if (u->st != CUZK_OK) return NULL;
  u->handle = cuzk_srs_ref_handle(ref);
  cuzk_clock_sleep_until(w->c, u->at + u->hold);
  cuzk_residency_put(&ref);
  return NULL;
}
static void start(struct world *w, struct user *u) {
  u->w = w;
  assert_int_equal(cuzk_clock_thread(w->c, &u->t, "user", use, u), CUZK_OK);
}

static void fifty_callers_cause_one_load(void **state) {
  (void)state;
  struct world w;
  begin(&w, 100 * GIB, 0);
  static struct user u[50];
  memset(u, 0, sizeof u);
  for (unsigned i = 0; i < 50; i++) {
    u[i] = (struct user){.id = "porep-32g", .key = {2, i + 1, 0}, .begin = i * 100 * CUZK_MS, .hold = 60 * CUZK_SECOND};
    start(&w, &u[i]);
  }
  cuzk_clock_sleep_until(w.c, 14 * CUZK_SECOND);
  struct cuzk_srs_view v[8];
  assert_int_equal(cuzk_residency_view(w.r, v, 8), 3); /* one has no file */
  assert_string_equal(v[0].circuit_id, "porep-32g");
  assert_true(v[0].loading && !v[0].loaded);
  assert_int_equal(used(&w), 44 * GIB);
  for (unsigned i = 0; i < 50; i++) {
    cuzk_clock_join(w.c, u[i].t);
    assert_int_equal(u[i].st, CUZK_OK);
    assert_int_equal(u[i].at, 15 * CUZK_SECOND);
    assert_int_equal(u[i].took, 15 * CUZK_SECOND - i * 100 * CUZK_MS);
    assert_non_null(u[i].handle);
    assert_ptr_equal(u[i].handle, u[0].handle);
  }
  assert_int_equal(cuzk_fake_calls(w.f, CUZK_FAKE_LOAD, NULL, 0), 1);
  assert_int_equal(events(&w, CUZK_EV_SRS_LOAD), 1);
  assert_int_equal(events(&w, CUZK_EV_SRS_READY), 1);
  assert_int_equal(events(&w, CUZK_EV_BUDGET_WAIT), 0);
  assert_true(cuzk_residency_has(w.r, "porep-32g"));
  assert_int_equal(cuzk_residency_view(w.r, v, 1), 3);
  assert_true(v[0].loaded && v[0].evictable && v[0].refs == 0);
  assert_int_equal(v[0].bytes, 44 * GIB);
  /* again: at once */
  struct user again = {.id = "porep-32g", .key = {2, 99, 0}};
  start(&w, &again);
  cuzk_clock_join(w.c, again.t);
  assert_int_equal(again.took, 0);
  struct cuzk_residency_counts n;
  cuzk_residency_counts(w.r, "porep-32g", &n);
  assert_true(n.loads == 1 && n.evictions == 0);
  end(&w);
}

static void a_failed_load_wakes_all_and_is_forgotten(void **state) {
  (void)state;
  struct world w;
  begin(&w, 100 * GIB, 0);
  atomic_store(&w.failing, 1);
  struct user u[5];
  for (unsigned i = 0; i < 5; i++) {
    u[i] = (struct user){.id = "snap-32g", .key = {2, i + 1, 0}};
    start(&w, &u[i]);
  }
  for (unsigned i = 0; i < 5; i++) {
    cuzk_clock_join(w.c, u[i].t);
    assert_int_equal(u[i].st, CUZK_E_IO);
    assert_non_null(strstr(u[i].d.text, "as programmed"));
  }
  assert_int_equal(used(&w), 0);
  assert_false(cuzk_residency_has(w.r, "snap-32g"));
  struct user again = {.id = "snap-32g", .key = {2, 9, 0}};
  start(&w, &again);
  cuzk_clock_join(w.c, again.t);
  assert_int_equal(again.st, CUZK_OK);
  assert_int_equal(cuzk_fake_calls(w.f, CUZK_FAKE_LOAD, NULL, 1), 2);

  struct user unknown = {.id = "nothing-1k"}, missing = {.id = "winning-32g"}, big = {.id = "wpost-32g", .key = {2, 3, 0}};
  start(&w, &unknown);
  start(&w, &missing);
  cuzk_clock_join(w.c, unknown.t);
  cuzk_clock_join(w.c, missing.t);
  assert_int_equal(unknown.st, CUZK_E_ARG);
  assert_int_equal(missing.st, CUZK_E_NOENT);
  cuzk_residency_need(w.r, "wpost-32g", GIB, 43 * GIB); /* 57 + 44 > 100 */
  cuzk_residency_need(w.r, "nothing-1k", 1, 1);
  start(&w, &big);
  cuzk_clock_join(w.c, big.t);
  assert_int_equal(big.st, CUZK_E_UNSUPPORTED);
  end(&w);
}

static void what_is_in_use_is_not_evicted(void **state) {
  (void)state;
  struct world w;
  begin(&w, 100 * GIB, 300 * CUZK_SECOND);
  struct user u = {.id = "porep-32g", .key = {2, 1, 0}, .hold = 100 * CUZK_SECOND};
  start(&w, &u);
  bool was;
  uint64_t freed;
  struct cuzk_detail d = {""};
  for (unsigned i = 0; i < 2; i++) { /* while loading, and loaded */
    cuzk_clock_sleep_until(w.c, (10 + i * 40) * CUZK_SECOND);
    assert_int_equal(cuzk_residency_evict(w.r, "porep-32g", &was, &freed, &d), CUZK_E_MISMATCH);
    assert_non_null(strstr(d.text, "in use by 1"));
    assert_false(was);
  }
  cuzk_clock_join(w.c, u.t);
  assert_int_equal(cuzk_residency_evict(w.r, "porep-32g", &was, &freed, &d), CUZK_OK);
  assert_true(was);
  assert_int_equal(freed, 44 * GIB);
  assert_int_equal(used(&w), 0);
  assert_int_equal(events(&w, CUZK_EV_SRS_EVICT), 1);
  assert_int_equal(cuzk_residency_evict(w.r, "porep-32g", &was, &freed, &d), CUZK_OK);
  assert_false(was);
  assert_int_equal(cuzk_residency_evict(w.r, "nothing-1k", &was, &freed, &d), CUZK_E_ARG);
  end(&w);
}

static void the_oldest_leaves_first_and_only_as_much_as_needed(void **state) {
  (void)state;
  struct world w;
  begin(&w, 140 * GIB, 300 * CUZK_SECOND);
  cuzk_budget_set_running(w.b, 1);
  /* 33 + 57 + 44 GiB; the first used is not the first loaded */
  struct user a = {.id = "snap-32g", .key = {2, 1, 0}, .hold = 200 * CUZK_SECOND}, b = {.id = "wpost-32g", .key = {2, 2, 0}, .hold = 10 * CUZK_SECOND},
              c = {.id = "porep-32g", .key = {2, 3, 0}, .hold = 400 * CUZK_SECOND};
  start(&w, &a);
  start(&w, &b);
  start(&w, &c);
  cuzk_clock_join(w.c, a.t);
  cuzk_clock_join(w.c, b.t);
  uint64_t bytes[CUZK_N_MEM] = {[CUZK_MEM_ABC] = 20 * GIB};
  struct cuzk_key k = {2, 4, 0};
  struct cuzk_reservation *r;
  uint64_t waited;
  /* The wait ends by age alone: wpost was put back 10 s after its load. */
  assert_int_equal(cuzk_budget_acquire(w.b, &r, bytes, &k, CUZK_NEVER, NULL, NULL, NULL, &waited, NULL), CUZK_OK);
  assert_int_equal(cuzk_clock_now(w.c), b.at + 310 * CUZK_SECOND);
  assert_false(cuzk_residency_has(w.r, "wpost-32g"));
  assert_true(cuzk_residency_has(w.r, "snap-32g"));
  assert_true(cuzk_residency_has(w.r, "porep-32g"));
  cuzk_reservation_free(&r);
  cuzk_clock_join(w.c, c.t);
  /* When nothing runs, ages do not count. */
  bytes[CUZK_MEM_ABC] = 100 * GIB;
  cuzk_budget_set_running(w.b, 0);
  uint64_t now = cuzk_clock_now(w.c);
  assert_int_equal(cuzk_budget_acquire(w.b, &r, bytes, &k, CUZK_NEVER, NULL, NULL, NULL, &waited, NULL), CUZK_OK);
  assert_int_equal(cuzk_clock_now(w.c), now);
  cuzk_reservation_free(&r);
  end(&w);
}

/* Two circuits that do not fit together: 60 GiB, parameters of 44 and 33, partitions of 12. */
struct job {
  struct world *w;
  unsigned i;
  bool failed;
  pthread_t t;
};
static void *job(void *v) {
  struct job *j = v;
  struct world *w = j->w;
  const char *id = j->i % 2 ? "snap-32g" : "porep-32g";
  for (unsigned round = 0; round < 5; round++) {
    struct cuzk_srs_ref *ref;
    struct cuzk_key k = {2 - (j->i == 3), 1 + j->i + 8 * round, 0};
    if (cuzk_residency_get(w->r, &ref, id, "job", &k, CUZK_NEVER, NULL, NULL, NULL) != CUZK_OK) {
      j->failed = true;
      return NULL;
    }
    for (k.partition = 0; k.partition < 4; k.partition++) {
      uint64_t bytes[CUZK_N_MEM] = {[CUZK_MEM_ABC] = 12 * GIB};
      struct cuzk_reservation *r;
      if (cuzk_budget_acquire(w->b, &r, bytes, &k, CUZK_NEVER, NULL, NULL, NULL, NULL, NULL) != CUZK_OK) j->failed = true;
      cuzk_clock_sleep_until(w->c, cuzk_clock_now(w->c) + 10 * CUZK_SECOND);
      cuzk_reservation_free(&r);
    }
    cuzk_residency_put(&ref);
  }
  return NULL;
}
static void two_circuits_alternate_in_little_memory(void **state) {
  (void)state;
  for (unsigned n = 2; n <= 8; n += 3) {
    struct world w;
    begin(&w, 60 * GIB, 300 * CUZK_SECOND);
    cuzk_residency_need(w.r, "porep-32g", 0, 12 * GIB);
    cuzk_residency_need(w.r, "snap-32g", 0, 12 * GIB);
    struct job j[8];
    for (unsigned i = 0; i < n; i++) {
      j[i] = (struct job){.w = &w, .i = i};
      assert_int_equal(cuzk_clock_thread(w.c, &j[i].t, "job", job, &j[i]), CUZK_OK);
    }
    /* A virtual clock on which everybody waits aborts: a deadlock is seen at once. */
    for (unsigned i = 0; i < n; i++) {
      cuzk_clock_join(w.c, j[i].t);
      assert_false(j[i].failed);
    }
    struct cuzk_residency_counts all;
    cuzk_residency_counts(w.r, NULL, &all);
    assert_true(all.loads >= 2 && all.evictions == all.loads - 1);
    end(&w);
  }
}

static void who_gives_up_hands_over(void **state) {
  (void)state;
  struct world w;
  begin(&w, 60 * GIB, 0);
  struct cuzk_reservation *r;
  struct cuzk_key k = {2, 1, 0};
  uint64_t bytes[CUZK_N_MEM] = {[CUZK_MEM_ABC] = 30 * GIB};
  assert_int_equal(cuzk_budget_try(w.b, &r, bytes, &k), CUZK_OK);
  /* The loader waits for memory until its deadline; the second takes over, the third gives up. */
  struct user a = {.id = "porep-32g", .key = {2, 2, 0}, .until = 10 * CUZK_SECOND}, b = {.id = "porep-32g", .key = {1, 3, 0}, .begin = CUZK_SECOND},
              c = {.id = "porep-32g", .key = {2, 4, 0}, .begin = CUZK_SECOND, .until = 5 * CUZK_SECOND};
  start(&w, &a);
  start(&w, &b);
  start(&w, &c);
  cuzk_clock_sleep_until(w.c, 2 * CUZK_SECOND);
  struct cuzk_budget_view v;
  cuzk_budget_view(w.b, &v);
  assert_int_equal(v.n_waiters, 1);
  assert_int_equal(v.waiter[0].key.cls, 1); /* the better class of the second counts */
  cuzk_clock_join(w.c, c.t);
  assert_int_equal(c.st, CUZK_E_NOMEM);
  assert_int_equal(c.at, 5 * CUZK_SECOND);
  cuzk_clock_join(w.c, a.t);
  assert_int_equal(a.st, CUZK_E_NOMEM);
  assert_int_equal(a.at, 10 * CUZK_SECOND);
  cuzk_clock_sleep_until(w.c, 20 * CUZK_SECOND);
  cuzk_reservation_free(&r);
  cuzk_clock_join(w.c, b.t);
  assert_int_equal(b.st, CUZK_OK);
  assert_int_equal(b.at, 35 * CUZK_SECOND);
  end(&w);
}

static void a_load_stops_when_nobody_wants_it(void **state) {
  (void)state;
  struct world w;
  begin(&w, 100 * GIB, 0);
  atomic_bool ca = false, cb = false;
  struct user a = {.id = "porep-32g", .key = {2, 2, 0}, .cancel = &ca}, b = {.id = "porep-32g", .key = {2, 3, 0}, .cancel = &cb, .begin = CUZK_SECOND};
  start(&w, &a);
  start(&w, &b);
  cuzk_clock_sleep_until(w.c, 2 * CUZK_SECOND);
  atomic_store(&ca, true);
  cuzk_residency_kick(w.r);
  cuzk_clock_join(w.c, b.t); /* the load goes on for the second */
  cuzk_clock_join(w.c, a.t);
  assert_int_equal(a.st, CUZK_E_CANCELLED);
  assert_int_equal(b.st, CUZK_OK);
  assert_int_equal(b.at, 15 * CUZK_SECOND);
  struct cuzk_srs_view v[4];
  assert_true(cuzk_residency_view(w.r, v, 4) == 3 && v[0].refs == 0);
  bool was;
  uint64_t freed;
  assert_int_equal(cuzk_residency_evict(w.r, "porep-32g", &was, &freed, NULL), CUZK_OK);
  atomic_store(&ca, false);
  struct user c = {.id = "porep-32g", .key = {2, 4, 0}, .cancel = &ca}, d = {.id = "porep-32g", .key = {2, 5, 0}, .cancel = &ca};
  uint64_t now = cuzk_clock_now(w.c);
  start(&w, &c);
  start(&w, &d);
  cuzk_clock_sleep_until(w.c, now + 2 * CUZK_SECOND + 1);
  atomic_store(&ca, true);
  cuzk_residency_kick(w.r);
  cuzk_clock_join(w.c, c.t);
  cuzk_clock_join(w.c, d.t);
  assert_int_equal(c.st, CUZK_E_CANCELLED);
  assert_int_equal(d.st, CUZK_E_CANCELLED);
  assert_true(c.at < now + 5 * CUZK_SECOND && d.at < now + 5 * CUZK_SECOND);
  assert_int_equal(used(&w), 0);
  end(&w);
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  struct world w;
  begin(&w, 100 * GIB, 0);
  struct cuzk_key k = {2, 1, 0};
  struct cuzk_srs_ref *ref;
  /* reference, reservation, the fake's table and handle */
  uint64_t n = 1;
  for (;; n++) {
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = cuzk_residency_get(w.r, &ref, "porep-32g", NULL, &k, CUZK_NEVER, NULL, NULL, NULL);
    cuzk_alloc_fail_at(0);
    if (st == CUZK_OK) break;
    assert_int_equal(st, CUZK_E_NOMEM);
    assert_null(ref);
    assert_int_equal(used(&w), 0);
  }
  assert_true(n > 3);
  cuzk_residency_put(&ref);
  cuzk_residency_put(&ref);
  struct cuzk_residency *r;
  struct cuzk_residency_options o = {.clock = w.c, .budget = w.b, .prover = w.p};
  for (unsigned i = 1; i <= 2; i++) {
    cuzk_alloc_fail_at(i);
    assert_int_equal(cuzk_residency_create(&r, &o), CUZK_E_NOMEM);
    cuzk_alloc_fail_at(0);
    assert_null(r);
  }
  end(&w);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fifty_callers_cause_one_load),
      cmocka_unit_test(a_failed_load_wakes_all_and_is_forgotten),
      cmocka_unit_test(what_is_in_use_is_not_evicted),
      cmocka_unit_test(the_oldest_leaves_first_and_only_as_much_as_needed),
      cmocka_unit_test(two_circuits_alternate_in_little_memory),
      cmocka_unit_test(who_gives_up_hands_over),
      cmocka_unit_test(a_load_stops_when_nobody_wants_it),
      cmocka_unit_test(failed_allocations_are_reported),
  };
  int64_t live = cuzk_alloc_live();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed || cuzk_alloc_live() != live;
}
