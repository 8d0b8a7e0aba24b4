/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Many threads on one journal, and two journals on one folder. With CUZK_TEST_LATENCY it also prints what an admission takes. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "store/helper.h"

enum { N_THREADS = 8, N_JOBS = 12 };
struct worker {
  struct cuzk_journal *j;
  unsigned number;
  unsigned failed;
};

static void *work(void *arg) {
  struct worker *k = arg;
  struct cuzk_detail d = {{0}};
  uint8_t p[PROOF];
  char id[32];
  for (unsigned i = 0; i < N_JOBS; i++) {
    (void)snprintf(id, sizeof id, "job-%u-%u", k->number, i);
    /* every payload is that of one job of each thread: they come and go under each other's hands */
    enum cuzk_status st = admit_job(k->j, id, i, 3000, &d);
    if (st == CUZK_OK) st = k->j->ops->update(k->j->self, id, 3, 2, &d);
    make_proof(p, i, 1);
    if (st == CUZK_OK) st = k->j->ops->partition_done(k->j->self, id, 1, p, PROOF, &d);
    if (st == CUZK_OK && i % 3) st = k->j->ops->end(k->j->self, id, CUZK_END_COMPLETED, p, PROOF, NULL, &d);
    if (st == CUZK_OK && i % 3 == 2) st = k->j->ops->forget(k->j->self, id, &d);
    if (st == CUZK_OK) st = k->j->ops->renew(k->j->self, &d);
    uint64_t bytes, jobs;
    bool healthy;
    k->j->ops->stats(k->j->self, &bytes, &jobs, &healthy);
    if (st != CUZK_OK) {
      print_error("%s: %s\n", id, d.text);
      k->failed++;
    }
  }
  return NULL;
}

static void threads_do_not_disturb_each_other(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "threads");
  struct cuzk_journal a = must_open(dir), b = must_open(dir);
  struct worker w[N_THREADS];
  pthread_t t[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) {
    w[i] = (struct worker){i % 2 ? &b : &a, i, 0};
    assert_int_equal(pthread_create(&t[i], NULL, work, &w[i]), 0);
  }
  unsigned failed = 0;
  for (unsigned i = 0; i < N_THREADS; i++) {
    (void)pthread_join(t[i], NULL);
    failed += w[i].failed;
  }
  assert_int_equal(failed, 0);
  uint64_t bytes, jobs[2];
  bool healthy;
  a.ops->stats(a.self, &bytes, &jobs[0], &healthy);
  b.ops->stats(b.self, &bytes, &jobs[1], &healthy);
  assert_true(healthy);
  assert_int_equal(jobs[0] + jobs[1], N_THREADS * N_JOBS * 2 / 3);
  assert_int_equal(count_files(dir, "payloads"), N_JOBS / 3);
  cuzk_store_close(&a);
  struct takings got = must_claim(&b);
  assert_int_equal(got.n, N_THREADS / 2 * N_JOBS * 2 / 3);
  drop_takings(&got);
  cuzk_store_close(&b);
  b = must_open(dir);
  got = must_claim(&b);
  assert_int_equal(got.n, N_THREADS * N_JOBS * 2 / 3);
  for (size_t i = 0; i < got.n; i++) assert_true(got.job[i].end == CUZK_END_COMPLETED || (got.job[i].has_request && got.job[i].has[1]));
  drop_takings(&got);
  cuzk_store_close(&b);
  remove_tree(dir);
}

/* One payload that all jobs share, admitted and ended as fast as it goes: whoever admits finds it gone again and again. */
static void *churn(void *arg) {
  struct worker *k = arg;
  struct cuzk_detail d = {{0}};
  uint8_t p[PROOF];
  char id[32];
  make_proof(p, 0, 0);
  for (unsigned i = 0; i < 60; i++) {
    (void)snprintf(id, sizeof id, "churn-%u-%u", k->number, i);
    enum cuzk_status st = admit_job(k->j, id, 0, 300, &d);
    if (st == CUZK_OK) st = k->j->ops->end(k->j->self, id, CUZK_END_COMPLETED, p, PROOF, NULL, &d);
    if (st != CUZK_OK) {
      print_error("%s: %s\n", id, d.text);
      k->failed++;
    }
  }
  return NULL;
}

static void a_payload_that_comes_and_goes_is_admitted(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "churn");
  struct cuzk_journal a = must_open(dir), b = must_open(dir);
  struct worker w[N_THREADS];
  pthread_t t[N_THREADS];
  unsigned failed = 0;
  for (unsigned i = 0; i < N_THREADS; i++) {
    w[i] = (struct worker){i % 2 ? &b : &a, i, 0};
    assert_int_equal(pthread_create(&t[i], NULL, churn, &w[i]), 0);
  }
  for (unsigned i = 0; i < N_THREADS; i++) {
    (void)pthread_join(t[i], NULL);
    failed += w[i].failed;
  }
  assert_int_equal(failed, 0);
  assert_int_equal(count_files(dir, "payloads"), 0);
  cuzk_store_close(&a);
  cuzk_store_close(&b);
  remove_tree(dir);
}

static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void an_admission_is_quick(void **state) {
  (void)state;
  static const struct {
    size_t bytes;
    unsigned n;
  } sizes[] = {{2048, 200}, {50000000, 10}};
  if (!getenv("CUZK_TEST_LATENCY")) skip();
  char dir[64], id[32];
  new_folder(dir, "latency");
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d;
  for (unsigned k = 0; k < 2; k++) {
    double took[200], part[200], ended[200];
    uint8_t p[PROOF] = {1};
    for (unsigned i = 0; i < sizes[k].n; i++) {
      struct cuzk_request *r = make_request(i, sizes[k].bytes);
      (void)snprintf(id, sizeof id, "%zu-%u", sizes[k].bytes, i);
      struct cuzk_journal_job job = {.job_id = id, .request_id = id, .request = r, .priority = 2, .n_partitions = 1};
      const double t0 = seconds();
      assert_int_equal(j.ops->admit(j.self, &job, &d), CUZK_OK);
      const double t1 = seconds();
      assert_int_equal(j.ops->partition_done(j.self, id, 0, p, PROOF, &d), CUZK_OK);
      const double t2 = seconds();
      assert_int_equal(j.ops->end(j.self, id, CUZK_END_COMPLETED, p, PROOF, NULL, &d), CUZK_OK);
      took[i] = t1 - t0;
      part[i] = t2 - t1;
      ended[i] = seconds() - t2;
      cuzk_request_unref(&r);
    }
    qsort(took, sizes[k].n, sizeof *took, by_value);
    qsort(part, sizes[k].n, sizeof *part, by_value);
    qsort(ended, sizes[k].n, sizeof *ended, by_value);
    print_message("# %zu bytes, %u times: admit median %.2f ms (max %.2f), partition_done %.2f ms, end %.2f ms\n", sizes[k].bytes, sizes[k].n,
                  took[sizes[k].n / 2] * 1e3, took[sizes[k].n - 1] * 1e3, part[sizes[k].n / 2] * 1e3, ended[sizes[k].n / 2] * 1e3);
  }
  cuzk_store_close(&j);
  remove_tree(dir);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_disturb_each_other),
                                     cmocka_unit_test(a_payload_that_comes_and_goes_is_admitted), cmocka_unit_test(an_admission_is_quick)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
