/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "testing.h"

struct work {
  struct cuzk_pool *pool;
  _Atomic unsigned hits[1000];
  _Atomic unsigned nested;
  _Atomic bool worker_out_of_range;
  unsigned n_workers;
};

static void hit(void *v, size_t i, unsigned worker) {
  struct work *w = v;
  atomic_fetch_add(&w->hits[i], 1);
  if (worker >= w->n_workers) atomic_store(&w->worker_out_of_range, true);
}

static void count_nested(void *v, size_t i, unsigned worker) {
  (void)i;
  (void)worker;
  atomic_fetch_add(&((struct work *)v)->nested, 1);
}

static void nest(void *v, size_t i, unsigned worker) {
  struct work *w = v;
  (void)i;
  (void)worker;
  cuzk_pool_run(w->pool, count_nested, w, 7);
}

static void every_task_runs_exactly_once(void **state) {
  (void)state;
  for (unsigned n = 1; n <= 5; n++) {
    struct work *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->n_workers = n;
    assert_int_equal(cuzk_pool_create(&w->pool, n), CUZK_OK);
    for (int round = 0; round < 50; round++) cuzk_pool_run(w->pool, hit, w, 1000);
    for (int i = 0; i < 1000; i++) assert_int_equal(w->hits[i], 50);
    assert_false(w->worker_out_of_range);
    cuzk_pool_destroy(&w->pool);
    assert_null(w->pool);
    free(w);
  }
}

static void a_loop_inside_a_task_runs_on_its_own_thread(void **state) {
  (void)state;
  struct work *w = calloc(1, sizeof *w);
  assert_non_null(w);
  assert_int_equal(cuzk_pool_create(&w->pool, 3), CUZK_OK);
  cuzk_pool_run(w->pool, nest, w, 100);
  assert_int_equal(w->nested, 700);
  cuzk_pool_destroy(&w->pool);
  free(w);
}

struct rival {
  struct work *w;
  _Atomic unsigned done;
};

static void count_done(void *v, size_t i, unsigned worker) {
  struct rival *r = v;
  (void)i;
  if (worker >= r->w->n_workers) atomic_store(&r->w->worker_out_of_range, true);
  atomic_fetch_add(&r->done, 1);
}

static void *compete(void *v) {
  struct rival *r = v;
  for (unsigned round = 1; round <= 300; round++) {
    cuzk_pool_run(r->w->pool, count_done, r, 20);
    if (atomic_load(&r->done) != 20 * round) return v; /* a loop came back before its tasks were done */
  }
  return NULL;
}

static void loops_of_two_threads_do_not_mix(void **state) {
  (void)state;
  struct work *w = calloc(1, sizeof *w);
  assert_non_null(w);
  w->n_workers = 3;
  assert_int_equal(cuzk_pool_create(&w->pool, 3), CUZK_OK);
  struct rival a = {.w = w}, b = {.w = w};
  pthread_t t;
  void *late;
  assert_int_equal(pthread_create(&t, NULL, compete, &a), 0);
  assert_null(compete(&b));
  assert_int_equal(pthread_join(t, &late), 0);
  assert_null(late);
  assert_int_equal(a.done, 6000);
  assert_int_equal(b.done, 6000);
  assert_false(w->worker_out_of_range);
  cuzk_pool_destroy(&w->pool);
  free(w);
}

static void creation_survives_every_failed_allocation(void **state) {
  (void)state;
  int64_t live = cuzk_alloc_live();
  struct cuzk_pool *p = NULL;
  for (uint64_t n = 1;; n++) {
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = cuzk_pool_create(&p, 4);
    uint64_t tried = cuzk_alloc_count();
    cuzk_alloc_fail_at(0);
    if (st == CUZK_OK) {
      assert_true(tried < n);
      break;
    }
    assert_int_equal(st, CUZK_E_NOMEM);
    assert_null(p);
    assert_int_equal(cuzk_alloc_live(), live);
  }
  cuzk_pool_destroy(&p);
  assert_int_equal(cuzk_alloc_live(), live);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_task_runs_exactly_once),
      cmocka_unit_test(a_loop_inside_a_task_runs_on_its_own_thread),
      cmocka_unit_test(loops_of_two_threads_do_not_mix),
      cmocka_unit_test(creation_survives_every_failed_allocation),
  };
  return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
