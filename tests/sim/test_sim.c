/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Predictions of a recorded run against runs that were really made with the other settings, on the fake device. Two interlocked workers
 * beside one. */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine_testing.h"
#include "sim/sim.h"
#include "timeline/print.h"

struct setting {
  const char *name;
  unsigned devices, workers, synth;
  uint64_t memory;
  double kernels, synthesis; /* times as long */
};
#define JOBS 12u

static enum cuzk_status take_run(void *user, struct cuzk_tl_run *run) {
  struct cuzk_tl_run *out = user;
  cuzk_tl_run_clear(out);
  *out = *run;
  memset(run, 0, sizeof *run);
  return CUZK_OK;
}

/* Twelve sectors, one every 25 seconds, with the reference's stage times and spread, through the engine. */
static void measure(struct cuzk_sim_result *out, const struct setting *s) {
  struct bench b;
  memset(out, 0, sizeof *out);
  bench_init(&b, false);
  cuzk_fake_reference_times(&b.f);
  b.f.n_devices = s->devices;
  struct cuzk_fake_kind *k = &b.f.kind[POREP - 1];
  k->stage_ns[CUZK_FAKE_KERNELS] = (uint64_t)((double)k->stage_ns[CUZK_FAKE_KERNELS] * s->kernels);
  k->stage_spread_ns[CUZK_FAKE_KERNELS] = (uint64_t)((double)k->stage_spread_ns[CUZK_FAKE_KERNELS] * s->kernels);
  k->stage_ns[CUZK_FAKE_SYNTH] = (uint64_t)((double)k->stage_ns[CUZK_FAKE_SYNTH] * s->synthesis);
  k->stage_spread_ns[CUZK_FAKE_SYNTH] = (uint64_t)((double)k->stage_spread_ns[CUZK_FAKE_SYNTH] * s->synthesis);
  const int fd = memfd_create("log", MFD_CLOEXEC);
  assert_true(fd >= 0);
  struct cuzk_recorder_options ro = {.clock = b.clock, .fd = fd, .ring = 64, .n_gpus = s->devices, .workers_per_gpu = s->workers, .version = "test"};
  assert_int_equal(cuzk_recorder_create(&b.recorder, &ro, NULL), CUZK_OK);
  b.o.recorder = b.recorder;
  b.o.workers_per_device = s->workers;
  b.o.synth_threads = s->synth;
  b.o.memory_total = s->memory;
  b.o.t.result_ttl_ns = 24 * 3600 * CUZK_SECOND; /* asked for when all are done */
  bench_start(&b);
  struct ticket t[JOBS];
  for (unsigned i = 0; i < JOBS; i++) {
    t[i] = bench_submit(&b, POREP, i, "");
    bench_sleep(&b, 25 * CUZK_SECOND);
  }
  for (unsigned i = 0; i < JOBS; i++) bench_complete(&b, &t[i]);
  bench_end(&b);
  const off_t n = lseek(fd, 0, SEEK_END);
  char *text = malloc((size_t)n);
  assert_non_null(text);
  assert_int_equal(pread(fd, text, (size_t)n, 0), n);
  struct cuzk_tl_reader *reader;
  assert_int_equal(cuzk_tl_reader_create(&reader, take_run, &out->run), CUZK_OK);
  assert_int_equal(cuzk_tl_reader_feed(reader, text, (size_t)n), CUZK_OK);
  assert_int_equal(cuzk_tl_reader_finish(reader), CUZK_OK);
  cuzk_tl_reader_destroy(&reader);
  free(text);
  (void)close(fd);
  struct cuzk_tl_options o;
  cuzk_tl_defaults(&o);
  assert_int_equal(cuzk_tl_analyse(&out->report, &out->run, &o, NULL), CUZK_OK);
  assert_int_equal(out->report.n_jobs, JOBS);
  assert_int_equal(out->report.busy + out->report.idle, out->report.window);
}

static const struct setting recorded = {"recorded", 1, 1, 10, 400 * GIB, 1, 1};

static void near(const char *setting, const char *what, double predicted, double measured) {
  if (fabs(predicted / measured - 1) > 0.05) fail_msg("%s: %s %.2f predicted, %.2f measured", setting, what, predicted, measured);
}

static void test_predictions(void **state) {
  (void)state;
  static const struct setting settings[] = {
      {"two workers", 1, 2, 10, 400 * GIB, 1, 1},
      {"two devices", 2, 2, 20, 400 * GIB, 1, 1},
      {"half the pool", 1, 1, 5, 400 * GIB, 1, 1},
      {"little memory", 1, 2, 10, 100 * GIB, 1, 1},
      {"fast kernels", 1, 2, 16, 400 * GIB, 0.4, 1},
      {"slow synthesis", 1, 1, 10, 400 * GIB, 1, 1.5},
  };
  struct cuzk_sim_result record, measured, predicted;
  measure(&record, &recorded);
  double least = INFINITY, most = 0;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    const struct setting *s = &settings[i];
    struct cuzk_sim_options o;
    struct cuzk_detail d;
    measure(&measured, s);
    cuzk_sim_defaults(&o, &record.run);
    o.n_devices = s->devices;
    o.workers_per_device = s->workers;
    o.synth_threads = s->synth;
    o.memory_total = s->memory;
    o.scale[CUZK_FAKE_KERNELS] = s->kernels;
    o.scale[CUZK_FAKE_SYNTH] = s->synthesis;
    const int64_t live = cuzk_alloc_live();
    assert_int_equal(cuzk_sim(&predicted, &record.run, &o, &d), CUZK_OK);
    const double rate = measured.report.proofs_per_hour;
    printf("# %s: %.2f proofs an hour predicted, %.2f measured; median latency %.1f s, %.1f s\n", s->name, predicted.report.proofs_per_hour, rate,
           (double)predicted.report.latency.median / 1e3, (double)measured.report.latency.median / 1e3);
    near(s->name, "proofs an hour", predicted.report.proofs_per_hour, rate);
    near(s->name, "median latency", (double)predicted.report.latency.median, (double)measured.report.latency.median);
    if (rate < least) least = rate;
    if (rate > most) most = rate;
    cuzk_sim_result_clear(&predicted);
    assert_int_equal(cuzk_alloc_live(), live);
    cuzk_sim_result_clear(&measured);
  }
  assert_true(most > 1.2 * least); /* settings that matter */
  cuzk_sim_result_clear(&record);
}

/* What the record says of its own settings; its replay gives the record. */
static void test_replay(void **state) {
  (void)state;
  struct cuzk_sim_result record, again;
  struct cuzk_sim_options o;
  struct cuzk_detail d;
  measure(&record, &recorded);
  cuzk_sim_defaults(&o, &record.run);
  assert_int_equal(o.n_devices, 1);
  assert_int_equal(o.workers_per_device, 1);
  assert_int_equal(o.synth_threads, 10);
  assert_int_equal(cuzk_sim(&again, &record.run, &o, &d), CUZK_OK);
  near("replay", "proofs an hour", again.report.proofs_per_hour, record.report.proofs_per_hour);
  near("replay", "busy time", (double)again.report.busy, (double)record.report.busy);
  assert_int_equal(again.report.n_intervals, record.report.n_intervals);
  cuzk_sim_result_clear(&again);
  /* one at a time: each as fast as it can be, and the whole takes longer */
  o.concurrency = 1;
  assert_int_equal(cuzk_sim(&again, &record.run, &o, &d), CUZK_OK);
  assert_true(again.report.latency.median < record.report.latency.median);
  assert_int_equal(again.report.n_jobs, JOBS);
  cuzk_sim_result_clear(&again);
  /* nothing to replay */
  struct cuzk_tl_run none = {0};
  assert_int_equal(cuzk_sim(&again, &none, &o, &d), CUZK_E_ARG);
  o.n_devices = 1;
  o.memory_total = 0;
  assert_int_equal(cuzk_sim(&again, &record.run, &o, &d), CUZK_E_ARG);
  cuzk_sim_result_clear(&record);
}

/* Two workers that take turns for the kernels only, beside one worker: the calls overlap, and what was the host's part of a call between
 * kernels is gone. compare names it. */
static void test_interlocked(void **state) {
  (void)state;
  static const struct setting busy1 = {"one", 1, 1, 20, 400 * GIB, 1, 1}, busy2 = {"two", 1, 2, 20, 400 * GIB, 1, 1};
  struct cuzk_sim_result one, two;
  measure(&one, &busy1);
  measure(&two, &busy2);
  assert_int_equal(one.report.basis, CUZK_TL_KERNEL);
  assert_true(two.report.window < one.report.window);
  assert_true(cuzk_tl_efficiency_without(&two.report, 0) > cuzk_tl_efficiency_without(&one.report, 0));
  assert_int_equal(two.report.n_workers, 2);
  assert_int_equal(two.report.n_devices, 1);
  assert_true(two.report.cls[CUZK_TL_DISPATCH].ms < one.report.cls[CUZK_TL_DISPATCH].ms);
  const struct cuzk_tl_side a = {"one", &one.report, &one.run}, b = {"two", &two.report, &two.run};
  char why[640];
  (void)cuzk_tl_compare_why(why, sizeof why, &a, &b);
  printf("# %s\n", why);
  assert_non_null(strstr(why, "mostly by dispatch_overhead"));
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  assert_non_null(f);
  cuzk_tl_compare_text(f, &a, &b);
  assert_int_equal(fclose(f), 0);
  assert_non_null(strstr(text, "dispatch_overhead"));
  assert_non_null(strstr(text, why));
  free(text);
  cuzk_sim_result_clear(&one);
  cuzk_sim_result_clear(&two);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_predictions), cmocka_unit_test(test_replay), cmocka_unit_test(test_interlocked)};
  return cmocka_run_group_tests_name("sim", tests, NULL, NULL);
}
