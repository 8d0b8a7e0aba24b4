/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Order of work: classes, age, types, the fast lane; how busy the reference's times keep a device. */
#include "engine_testing.h"

/* The time of an event of a job's partition. */
static uint64_t at(struct bench *b, enum cuzk_event ev, const char *job, int partition) {
  const struct cuzk_event_record *r = bench_event(b, ev, job, partition);
  if (!r) fail_msg("no event %s of %s", cuzk_event_name(ev), job);
  return r->t_ns;
}

static struct ticket submit(struct bench *b, unsigned kind, unsigned n, const char *id, unsigned priority) {
  struct ticket t;
  assert_int_equal(bench_try(b, &t, kind, n, id, priority, false, NULL), CUZK_OK);
  return t;
}

static void test_classes_and_seq_up_to_the_device(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.synth_threads = 1;
  b.o.workers_per_device = 1;
  b.o.sort_by_type = false;
  bench_start(&b);
  struct ticket t[6];
  static const unsigned prio[6] = {2, 1, 2, 3, 1, 3}; /* normal, low, normal, high, low, high */
  char id[6][8];
  /* The first one starts at once; the others come while it is loading. */
  for (unsigned i = 0; i < 6; i++) {
    snprintf(id[i], sizeof id[i], "j%u", i);
    t[i] = submit(&b, WINDOW, i, id[i], prio[i]);
    bench_sleep(&b, CUZK_SECOND);
  }
  /* Among those that wait: of 1 low, 2 normal, 3 high, 4 low and 5 high, this many come before. */
  static const unsigned position[6] = {0, 1, 1, 0, 4, 1};
  for (unsigned i = 1; i < 6; i++) assert_int_equal(t[i].position, position[i]);
  for (unsigned i = 0; i < 6; i++) bench_complete(&b, &t[i]);
  bench_events(&b);
  static const unsigned order[5] = {3, 5, 2, 1, 4};
  static const enum cuzk_event evs[2] = {CUZK_EV_SYNTH_START, CUZK_EV_KERNEL_START};
  for (unsigned k = 0; k < 2; k++)
    for (unsigned i = 1; i < 5; i++) assert_true(at(&b, evs[k], id[order[i - 1]], -1) < at(&b, evs[k], id[order[i]], -1));
  bench_end(&b);
}

static void test_age_moves_a_job_up_once(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.synth_threads = 1;
  b.o.t.age_limit_ns = 100 * CUZK_SECOND;
  bench_start(&b);
  struct ticket low = submit(&b, WINDOW, 0, "busy", 2);
  struct ticket old = submit(&b, WINDOW, 1, "old", 1);
  struct ticket t[40];
  /* A normal job a second: without age the low one would be the last. */
  for (unsigned i = 0; i < 40; i++) {
    char id[8];
    snprintf(id, sizeof id, "n%u", i);
    t[i] = submit(&b, WINDOW, 10 + i, id, 2);
    bench_sleep(&b, 5 * CUZK_SECOND);
  }
  struct ticket high = submit(&b, WINDOW, 2, "high", 3);
  bench_complete(&b, &low);
  bench_complete(&b, &old);
  bench_complete(&b, &high);
  for (unsigned i = 0; i < 40; i++) bench_complete(&b, &t[i]);
  bench_events(&b);
  /* Older than all normal jobs, so first among them as soon as it is of age. */
  uint64_t start = at(&b, CUZK_EV_SYNTH_START, "old", -1);
  assert_in_range(start, 100 * CUZK_SECOND, 125 * CUZK_SECOND);
  bench_end(&b);
}

static void test_a_raised_job_passes(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.synth_threads = 1;
  bench_start(&b);
  struct ticket t[3];
  t[0] = submit(&b, POREP, 0, "a", 2);
  t[1] = submit(&b, POREP, 1, "b", 2);
  t[2] = submit(&b, POREP, 2, "c", 2);
  bench_sleep(&b, 20 * CUZK_SECOND);
  struct ticket again = submit(&b, POREP, 2, "c", 3);
  assert_true(again.attached);
  ticket_clear(&again);
  for (unsigned i = 0; i < 3; i++) bench_complete(&b, &t[i]);
  bench_events(&b);
  assert_true(at(&b, CUZK_EV_SYNTH_START, "c", 9) < at(&b, CUZK_EV_SYNTH_START, "a", 9));
  assert_true(at(&b, CUZK_EV_SYNTH_START, "c", 9) < at(&b, CUZK_EV_SYNTH_START, "b", 0));
  bench_end(&b);
}

static void test_sort_by_type_overtakes_so_often(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.synth_threads = 1;
  b.o.prep_threads = 1;
  b.f.n_devices = 1;
  bench_start(&b);
  struct ticket first = submit(&b, POREP, 0, "first", 2);
  bench_sleep(&b, 10 * CUZK_SECOND); /* its parameters are resident now, its partitions in the queue */
  struct ticket snap = submit(&b, SNAP, 1, "snap", 2);
  struct ticket t[4];
  char id[4][8];
  for (unsigned i = 0; i < 4; i++) {
    snprintf(id[i], sizeof id[i], "p%u", i);
    t[i] = submit(&b, POREP, 10 + i, id[i], 2);
  }
  bench_complete(&b, &first);
  bench_complete(&b, &snap);
  for (unsigned i = 0; i < 4; i++) bench_complete(&b, &t[i]);
  bench_events(&b);
  uint64_t s = at(&b, CUZK_EV_SYNTH_START, "snap", 0);
  unsigned before = 0;
  for (unsigned i = 0; i < 4; i++) before += at(&b, CUZK_EV_SYNTH_START, id[i], 0) < s;
  assert_in_range(before, 0, 2);
  bench_end(&b);
}

static void test_200_single_partition_jobs_at_once(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  static struct ticket t[200];
  for (unsigned i = 0; i < 200; i++) t[i] = bench_submit(&b, i % 2 ? WINDOW : WINNING, i, "");
  for (unsigned i = 0; i < 200; i++) bench_complete(&b, &t[i]);
  bench_end(&b);
}

static void test_critical_under_twenty_poreps(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  cuzk_fake_reference_times(&b.f);
  b.o.synth_threads = 20;
  b.o.memory_total = 1000 * GIB;
  bench_start(&b);
  struct cuzk_detail d;
  bool already;
  uint64_t ms;
  assert_int_equal(cuzk_engine_preload(b.e, "winning-32g", CUZK_NEVER, NULL, &already, &ms, NULL, &d), CUZK_OK);
  struct ticket t[20];
  for (unsigned i = 0; i < 20; i++) t[i] = bench_submit(&b, POREP, i, "");
  bench_sleep(&b, 200 * CUZK_SECOND);
  for (unsigned i = 0; i < 20; i++) {
    bench_sleep(&b, 13 * CUZK_SECOND + i * 217 * CUZK_MS);
    struct ticket w = bench_submit(&b, WINNING, 100 + i, "");
    struct cuzk_job_result r = bench_await(&b, w.job_id);
    assert_proof(&b, &r, w.rq);
    /* Its own work, and what is left of the kernels of one partition. */
    assert_in_range(r.times.total_ms, 0, 5000);
    cuzk_job_result_clear(&r);
    ticket_clear(&w);
  }
  for (unsigned i = 0; i < 20; i++) bench_complete(&b, &t[i]);
  bench_end(&b);
}

static void test_a_thousand_wait_and_critical_ones_come(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.t.max_queued_jobs = 2000;
  b.o.t.result_max = 3000;
  bench_start(&b);
  static struct ticket t[1000];
  for (unsigned i = 0; i < 1000; i++) t[i] = bench_submit(&b, WINDOW, i, "");
  bench_sleep(&b, 60 * CUZK_SECOND);
  for (unsigned i = 0; i < 50; i++) {
    char id[8];
    snprintf(id, sizeof id, "w%u", i);
    struct ticket w = bench_submit(&b, WINNING, 5000 + i, id);
    bench_complete(&b, &w);
    bench_sleep(&b, CUZK_SECOND + i * 37 * CUZK_MS);
  }
  for (unsigned i = 0; i < 1000; i++) bench_complete(&b, &t[i]);
  bench_events(&b);
  for (unsigned i = 0; i < 50; i++) {
    char id[8];
    snprintf(id, sizeof id, "w%u", i);
    /* Ready at GPU_QUEUE; its own preparation takes 0.1 s, a device section 2 s. */
    uint64_t ready = at(&b, CUZK_EV_GPU_QUEUE, id, 0);
    assert_in_range(at(&b, CUZK_EV_GPU_PICKUP, id, 0) - ready, 0, 2 * CUZK_SECOND);
    assert_in_range(at(&b, CUZK_EV_KERNEL_START, id, 0) - ready, 0, 2100 * CUZK_MS);
    if (i > 0) /* the parameters are there: synthesis begins at once */
      assert_in_range(at(&b, CUZK_EV_SYNTH_START, id, 0) - at(&b, CUZK_EV_JOB_SUBMIT, id, -1), 0, 200 * CUZK_MS);
  }
  bench_end(&b);
}

/* One budget for PoRep and Snap in turns: parameters of one have to go for the other's. */
static void test_alternating_circuits_in_a_small_budget(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.memory_total = 60 * GIB;
  b.o.t.result_ttl_ns = 24 * 3600 * CUZK_SECOND;
  b.o.critical_slice = 0;
  b.f.kind[POREP - 1].srs_bytes = 44 * GIB;
  b.f.kind[SNAP - 1].srs_bytes = 33 * GIB;
  b.f.kind[POREP - 1].partition_bytes[CUZK_MEM_ABC] = 11 * GIB;
  b.f.kind[POREP - 1].partition_bytes[CUZK_MEM_AUX] = 4 * GIB;
  b.f.kind[SNAP - 1].partition_bytes[CUZK_MEM_ABC] = 8 * GIB;
  b.f.kind[SNAP - 1].partition_bytes[CUZK_MEM_AUX] = 2 * GIB;
  bench_start(&b);
  struct ticket t[12];
  for (unsigned i = 0; i < 12; i++) t[i] = submit(&b, i % 2 ? SNAP : POREP, i, "", i == 7 ? 3 : 2);
  for (unsigned i = 0; i < 12; i++) bench_complete(&b, &t[i]);
  bench_end(&b);
}

/* Both preparing threads wait for memory for worse jobs: a better one does not wait behind them. */
static void test_a_better_job_is_prepared_first(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.memory_total = 60 * GIB;
  b.o.critical_slice = 0;
  b.o.synth_threads = 1;
  b.o.t.result_ttl_ns = 24 * 3600 * CUZK_SECOND;
  b.f.kind[POREP - 1].srs_bytes = 44 * GIB;
  b.f.kind[SNAP - 1].srs_bytes = 33 * GIB;
  b.f.kind[WINDOW - 1].srs_bytes = 50 * GIB;
  bench_start(&b);
  struct ticket first = submit(&b, POREP, 0, "first", 2);
  bench_sleep(&b, 8 * CUZK_SECOND);
  struct ticket snap = submit(&b, SNAP, 1, "snap", 2);
  struct ticket window = submit(&b, WINDOW, 2, "window", 1);
  bench_sleep(&b, 2 * CUZK_SECOND);
  struct ticket high = submit(&b, POREP, 3, "high", 3);
  bench_complete(&b, &first);
  bench_complete(&b, &high);
  bench_complete(&b, &snap);
  bench_complete(&b, &window);
  bench_events(&b);
  assert_in_range(at(&b, CUZK_EV_JOB_PREP, "high", -1), 10 * CUZK_SECOND, 12 * CUZK_SECOND);
  assert_true(at(&b, CUZK_EV_SYNTH_START, "high", 9) < at(&b, CUZK_EV_SYNTH_START, "first", 9));
  assert_true(at(&b, CUZK_EV_SYNTH_START, "snap", 0) < at(&b, CUZK_EV_SYNTH_START, "window", 0));
  bench_end(&b);
}

static void test_affinity(void **state) {
  (void)state;
  static const char *const lists[2] = {"porep-32g snap-32g", "wpost-32g porep-32g"};
  struct bench b;
  bench_init(&b, false);
  b.f.n_devices = 2;
  b.o.affinity = lists;
  bench_start(&b);
  struct ticket t[3], no;
  enum cuzk_refusal why;
  assert_int_equal(bench_try(&b, &no, WINNING, 9, "", 0, false, &why), CUZK_E_UNSUPPORTED);
  assert_int_equal(why, CUZK_REFUSED_PRECONDITION);
  t[0] = submit(&b, POREP, 0, "porep", 2);
  t[1] = submit(&b, SNAP, 1, "snap", 2);
  t[2] = submit(&b, WINDOW, 2, "window", 2);
  for (unsigned i = 0; i < 3; i++) bench_complete(&b, &t[i]);
  bench_events(&b);
  bool porep_on[2] = {false, false};
  for (size_t i = 0; i < b.n_events; i++) {
    const struct cuzk_event_record *r = &b.events[i];
    if (r->event != CUZK_EV_KERNEL_START) continue;
    if (strcmp(r->job, "snap") == 0) assert_int_equal(r->gpu, 0);
    if (strcmp(r->job, "window") == 0) assert_int_equal(r->gpu, 1);
    if (strcmp(r->job, "porep") == 0) porep_on[r->gpu] = true;
  }
  assert_true(porep_on[0] && porep_on[1]);
  bench_end(&b);
}

static void test_without_split_the_worker_finishes(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.split_prove = false;
  b.o.workers_per_device = 1;
  bench_start(&b);
  struct ticket t = submit(&b, POREP, 0, "p", 2);
  bench_complete(&b, &t);
  bench_events(&b);
  /* One after the other: 1 s before, 2 s kernels, 0.5 s after. */
  uint64_t last = 0;
  for (size_t i = 0; i < b.n_events; i++) {
    const struct cuzk_event_record *r = &b.events[i];
    if (r->event != CUZK_EV_KERNEL_START) continue;
    if (last) assert_true(r->t_ns - last >= 3500 * CUZK_MS);
    last = r->t_ns;
  }
  bench_end(&b);
}

/* Share of device time in kernels between two moments. */
static double busy(struct bench *b, uint64_t from, uint64_t to) {
  uint64_t sum = 0, start = 0;
  for (size_t i = 0; i < b->n_events; i++) {
    const struct cuzk_event_record *r = &b->events[i];
    if (r->event == CUZK_EV_KERNEL_START) start = r->t_ns;
    if (r->event != CUZK_EV_KERNEL_END) continue;
    uint64_t s = start > from ? start : from;
    uint64_t e = r->t_ns < to ? r->t_ns : to;
    if (e > s) sum += e - s;
  }
  return (double)sum / (double)(to - from);
}

/* Five sectors, three at once, as the published run. The share of kernels from the first device call to the last one, and between the tenth and
 * the fortieth of the fifty. */
static double published_run(bool whole, unsigned workers, bool real, double *steady) {
  struct bench b;
  bench_init(&b, real);
  cuzk_fake_reference_times(&b.f);
  for (unsigned i = 0; real && i < CUZK_FAKE_STAGES; i++) { /* a tenth, in real time */
    b.f.kind[0].stage_ns[i] /= 10;
    b.f.kind[0].stage_spread_ns[i] /= 10;
  }
  b.o.synth_threads = 20;
  b.o.memory_total = 1000 * GIB;
  b.o.workers_per_device = workers;
  b.o.lock_whole_call = whole;
  bench_start(&b);
  struct ticket t[5];
  for (unsigned i = 0; i < 3; i++) t[i] = bench_submit(&b, POREP, i, "");
  for (unsigned i = 0; i < 5; i++) {
    bench_complete(&b, &t[i]);
    if (i + 3 < 5) t[i + 3] = bench_submit(&b, POREP, i + 3, "");
  }
  bench_baseline(&b);
  bench_events(&b);
  uint64_t call[50], last = 0;
  unsigned n = 0;
  for (size_t i = 0; i < b.n_events; i++) {
    if (b.events[i].event == CUZK_EV_KERNEL_START && n < 50) call[n++] = b.events[i].t_ns;
    if (b.events[i].event == CUZK_EV_KERNEL_END) last = b.events[i].t_ns;
  }
  assert_int_equal(n, 50);
  uint64_t first = call[0];
  *steady = busy(&b, call[10], call[40]);
  double share = busy(&b, first, last);
  bench_end(&b);
  return share;
}

static void device_use(bool real) {
  double steady1, steady2;
  double one = published_run(true, 1, real, &steady1);
  double two = published_run(false, 2, real, &steady2);
  printf("# one worker, lock over the whole call: %.1f %% (steady %.1f %%); two interlocked workers: %.1f %% (steady %.1f %%)\n", 100 * one,
         100 * steady1, 100 * two, 100 * steady2);
  assert_true(steady1 >= 0.63 && steady1 <= 0.64);
  assert_true(two >= 0.98);
}

static void test_device_use_at_the_reference_times(void **state) {
  (void)state;
  device_use(false);
}

static void test_device_use_in_real_time(void **state) {
  (void)state;
  device_use(true);
}

/* --real: the last test only, at a tenth of the reference's times on the real clock (45 s; docs/benchmarks/engine.md). */
int main(int argc, char **argv) {
  test_seed();
  if (argc > 1 && strcmp(argv[1], "--real") == 0) {
    const struct CMUnitTest real[] = {cmocka_unit_test(test_device_use_in_real_time)};
    return cmocka_run_group_tests_name("engine_real", real, NULL, NULL);
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_classes_and_seq_up_to_the_device),
      cmocka_unit_test(test_age_moves_a_job_up_once),
      cmocka_unit_test(test_a_raised_job_passes),
      cmocka_unit_test(test_sort_by_type_overtakes_so_often),
      cmocka_unit_test(test_200_single_partition_jobs_at_once),
      cmocka_unit_test(test_critical_under_twenty_poreps),
      cmocka_unit_test(test_a_thousand_wait_and_critical_ones_come),
      cmocka_unit_test(test_alternating_circuits_in_a_small_budget),
      cmocka_unit_test(test_a_better_job_is_prepared_first),
      cmocka_unit_test(test_affinity),
      cmocka_unit_test(test_without_split_the_worker_finishes),
      cmocka_unit_test(test_device_use_at_the_reference_times),
  };
  return cmocka_run_group_tests_name("engine_sched", tests, NULL, NULL);
}
