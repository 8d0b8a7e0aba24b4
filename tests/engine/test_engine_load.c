/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 10,000 small jobs on the real clock: memory and descriptors stay flat, and a job starts soon after it is handed in. A day of sectors with
 * cancellations on the virtual clock. */
#include <dirent.h>
#include <unistd.h>

#include "engine_testing.h"

#define JOBS 10000u
#define WARM 2000u
#define RING 4096u

static uint64_t rss(void) {
  unsigned long long size = 0, pages = 0;
  FILE *f = fopen("/proc/self/statm", "re");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%llu %llu", &size, &pages), 2);
  (void)fclose(f);
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static unsigned descriptors(void) {
  unsigned n = 0;
  DIR *d = opendir("/proc/self/fd");
  assert_non_null(d);
  while (readdir(d)) n++;
  (void)closedir(d);
  return n;
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void test_ten_thousand_small_jobs(void **state) {
  (void)state;
  static uint64_t submitted[JOBS], latency[JOBS];
  struct bench b;
  bench_init(&b, true);
  b.o.synth_threads = 2;
  b.o.t.result_max = 256;
  /* A short memory of events, full after the first jobs. */
  struct cuzk_recorder_options ro = {.clock = b.clock, .fd = -1, .ring = RING, .n_gpus = 1, .workers_per_gpu = 2, .version = "test"};
  assert_int_equal(cuzk_recorder_create(&b.recorder, &ro, NULL), CUZK_OK);
  b.o.recorder = b.recorder;
  bench_start(&b);
  static struct cuzk_event_record events[RING];
  unsigned n = 0;
  uint64_t rss0 = 0, seen = 0;
  int64_t live0 = 0;
  unsigned fd0 = 0;
  for (unsigned i = 0; i < JOBS; i++) {
    char id[16];
    snprintf(id, sizeof id, "w%u", i);
    submitted[i] = cuzk_clock_now(b.clock);
    /* Requests repeat, so that the fake prover's table of calls stays small; their names do not. */
    struct ticket t = bench_submit(&b, WINNING, i % 64, id);
    bench_complete(&b, &t);
    if (i % 100 == 99) {
      uint64_t first;
      size_t got = cuzk_recorder_read(b.recorder, seen, events, RING, &first);
      assert_true(first <= seen + 1);
      for (size_t k = 0; k < got; k++) {
        seen = events[k].seq;
        if (events[k].event == CUZK_EV_SYNTH_START && n < JOBS) latency[n++] = events[k].t_ns - submitted[atoi(events[k].job + 1)];
      }
    }
    if (i == WARM) {
      bench_baseline(&b);
      rss0 = rss();
      fd0 = descriptors();
      live0 = cuzk_alloc_live();
    }
  }
  bench_baseline(&b);
  /* Results beyond result_max may still be on their way out. */
  for (unsigned i = 0; i < 1000 && cuzk_alloc_live() > live0 + 20; i++) bench_sleep(&b, CUZK_MS);
  assert_in_range(cuzk_alloc_live(), 0, live0 + 20);
  assert_int_equal(descriptors(), fd0);
#ifdef __SANITIZE_ADDRESS__ /* its quarantine of freed blocks grows */
  (void)rss0;
#else
  assert_in_range(rss(), 0, rss0 + 4 * MIB);
#endif
  assert_int_equal(n, JOBS);
  qsort(latency, n, sizeof *latency, by_value);
  printf("# submission to start: median %.3f ms, 99 %% %.3f ms\n", (double)latency[n / 2] / 1e6, (double)latency[n * 99 / 100] / 1e6);
  assert_true(latency[n / 2] < 5 * CUZK_MS);
  bench_end(&b);
}

static void ignore(void *user, const struct cuzk_job_result *r) {
  (void)r;
  atomic_fetch_add((atomic_uint *)user, 1);
}

static void test_a_day_with_cancellations(void **state) {
  (void)state;
  struct bench b;
  atomic_uint told = 0;
  bench_init(&b, false);
  struct cuzk_recorder_options ro = {.clock = b.clock, .fd = -1, .ring = RING, .n_gpus = 1, .workers_per_gpu = 2, .version = "test"};
  assert_int_equal(cuzk_recorder_create(&b.recorder, &ro, NULL), CUZK_OK);
  b.o.recorder = b.recorder;
  b.o.memory_total = 12 * GIB; /* two circuits do not fit at once */
  bench_start(&b);
  int64_t live = 0;
  unsigned fds = 0;
  for (unsigned minute = 0; minute < 24 * 60; minute++) {
    uint64_t r = test_rand();
    struct ticket t = bench_submit(&b, r % 4 == 0 ? SNAP : r % 4 == 1 ? WINNING : POREP, minute % 50, r % 3 ? "" : "again");
    assert_int_equal(cuzk_engine_watch(b.e, NULL, t.job_id, CUZK_NEVER, ignore, &told), CUZK_OK);
    bench_sleep(&b, (r >> 8) % 40 * CUZK_SECOND);
    bool was;
    if ((r >> 16) % 3 == 0) (void)cuzk_engine_cancel(b.e, t.job_id, &was);
    ticket_clear(&t);
    bench_sleep(&b, 20 * CUZK_SECOND);
    if (minute % 240 == 239) { /* once in four hours all is quiet, and all results are forgotten */
      bench_baseline(&b);
      bench_sleep(&b, 601 * CUZK_SECOND);
      if (!live) {
        live = cuzk_alloc_live();
        fds = descriptors();
      }
      assert_in_range(cuzk_alloc_live(), live - 4, live + 4); /* one circuit's parameters more or less */
      assert_int_equal(descriptors(), fds);
    }
  }
  assert_int_equal(atomic_load(&told), 24 * 60);
  bench_end(&b);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ten_thousand_small_jobs), cmocka_unit_test(test_a_day_with_cancellations)};
  return cmocka_run_group_tests_name("engine_load", tests, NULL, NULL);
}
