/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Life of jobs: completion, identity, waiters, cancellation, orphans, retention, limits, drain. */
#include "engine_testing.h"

static void test_every_kind_completes(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  struct ticket t[4];
  for (unsigned k = 0; k < 4; k++) t[k] = bench_submit(&b, k + 1, k, "");
  for (unsigned k = 0; k < 4; k++) {
    assert_int_equal(strlen(t[k].job_id), 36);
    bench_complete(&b, &t[k]);
  }
  bench_end(&b);
}

static void test_events_of_a_job_come_in_order(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "porep-1000-7");
  struct cuzk_job_result r = bench_await(&b, t.job_id);
  assert_proof(&b, &r, t.rq);
  /* 10 partitions, 8 at a time: 10 s synthesis each, 2 s of device each, 5 s of parameters. */
  assert_int_equal(r.times.srs_load_ms, 5000);
  assert_int_equal(r.times.queue_wait_ms, 100);
  assert_int_equal(r.times.synthesis_ms, 100000);
  assert_int_equal(r.times.gpu_compute_ms, 20000);
  assert_in_range(r.times.total_ms, 36000, 45000);
  cuzk_job_result_clear(&r);
  bench_events(&b);
  static const enum cuzk_event job[] = {CUZK_EV_JOB_SUBMIT, CUZK_EV_JOB_PREP, CUZK_EV_VERIFY_START, CUZK_EV_VERIFY_END, CUZK_EV_JOB_DONE};
  uint64_t seq = 0;
  for (size_t i = 0; i < sizeof job / sizeof *job; i++) {
    const struct cuzk_event_record *ev = bench_event(&b, job[i], "porep-1000-7", -1);
    assert_non_null(ev);
    assert_true(ev->seq > seq);
    assert_int_equal(bench_count(&b, job[i], NULL), 1);
    seq = ev->seq;
  }
  static const enum cuzk_event part[] = {CUZK_EV_SYNTH_START,  CUZK_EV_SYNTH_END,  CUZK_EV_GPU_QUEUE, CUZK_EV_GPU_PICKUP, CUZK_EV_GPU_START,
                                         CUZK_EV_KERNEL_START, CUZK_EV_KERNEL_END, CUZK_EV_FIN_START, CUZK_EV_GPU_END};
  uint64_t at[9];
  for (int p = 0; p < 10; p++) {
    seq = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
      const struct cuzk_event_record *ev = bench_event(&b, part[i], "porep-1000-7", p);
      assert_non_null(ev);
      assert_true(ev->seq > seq);
      seq = ev->seq;
      at[i] = ev->t_ns;
    }
    assert_int_equal(at[6] - at[5], 2 * CUZK_SECOND);
  }
  /* No two kernels of a device at a time. */
  uint64_t free_ns = 0;
  for (size_t i = 0; i < b.n_events; i++) {
    const struct cuzk_event_record *ev = &b.events[i];
    if (ev->event == CUZK_EV_KERNEL_START) assert_true(ev->t_ns >= free_ns);
    if (ev->event == CUZK_EV_KERNEL_END) free_ns = ev->t_ns;
  }
  ticket_clear(&t);
  bench_end(&b);
}

static void test_one_id_two_payloads(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  struct ticket t1 = bench_submit(&b, WINDOW, 1, "wdpost-1000-0-[1 2 3]");
  struct ticket t2 = bench_submit(&b, WINDOW, 2, "wdpost-1000-0-[1 2 3]");
  struct ticket t3 = bench_submit(&b, WINDOW, 3, "wdpost-1000-0-[1 2 3]");
  assert_string_equal(t1.job_id, "wdpost-1000-0-[1 2 3]");
  assert_int_equal(strlen(t2.job_id), strlen(t1.job_id) + 9);
  char hex[9];
  snprintf(hex, sizeof hex, "%02x%02x%02x%02x", t2.rq->digest[0], t2.rq->digest[1], t2.rq->digest[2], t2.rq->digest[3]);
  assert_string_equal(t2.job_id + strlen(t1.job_id) + 1, hex);
  assert_string_not_equal(t3.job_id, t2.job_id);
  bench_complete(&b, &t2);
  bench_complete(&b, &t3);
  bench_complete(&b, &t1);
  bench_end(&b);
}

static void test_a_second_call_attaches(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  struct ticket t1 = bench_submit(&b, POREP, 1, "p");
  struct ticket t2 = bench_submit(&b, POREP, 1, "p");
  assert_false(t1.attached);
  assert_true(t2.attached);
  assert_string_equal(t1.job_id, t2.job_id);
  assert_int_equal(t2.gpu, -1);
  bench_sleep(&b, 18 * CUZK_SECOND); /* on the device now */
  struct ticket t3 = bench_submit(&b, POREP, 1, "p");
  assert_true(t3.attached);
  assert_int_equal(t3.gpu, 0);
  ticket_clear(&t2);
  bench_complete(&b, &t1);
  /* Nobody has been given it yet: the result is for who asks. */
  struct ticket t4 = bench_submit(&b, POREP, 1, "p");
  assert_true(t4.attached);
  assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, t4.rq, 0), 1);
  bench_complete(&b, &t4);
  cuzk_engine_delivered(b.e, "p");
  /* Delivered: who asks again did not accept it. */
  struct ticket t5 = bench_submit(&b, POREP, 1, "p");
  assert_false(t5.attached);
  assert_string_not_equal(t5.job_id, "p");
  assert_memory_equal(t5.job_id, "p~", 2);
  struct cuzk_request *rq = cuzk_request_ref(t5.rq);
  bench_complete(&b, &t5);
  assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, rq, 0), 2);
  cuzk_request_unref(&rq);
  ticket_clear(&t3);
  bench_end(&b);
}

static enum cuzk_fake_fault open_fails_once(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  (void)rq;
  (void)partition;
  (void)device;
  return stage == CUZK_FAKE_OPEN && atomic_fetch_add((atomic_int *)user, 1) == 0 ? CUZK_FAKE_BAD_INPUT : CUZK_FAKE_OK;
}

static void test_after_a_failure_a_new_run(void **state) {
  (void)state;
  struct bench b;
  atomic_int n = 0;
  bench_init(&b, false);
  b.f.fault = open_fails_once;
  b.f.user = &n;
  bench_start(&b);
  struct ticket t = bench_submit(&b, WINDOW, 1, "w");
  bench_fails(&b, &t, "bad_input: ");
  struct ticket t2 = bench_submit(&b, WINDOW, 1, "w");
  assert_false(t2.attached);
  bench_complete(&b, &t2);
  bench_end(&b);
}

static void test_limits_and_refusals(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.t.max_queued_jobs = 2;
  b.o.synth_threads = 1;
  b.f.kind[SNAP - 1].no_srs_file = true;
  b.f.kind[WINNING - 1].srs_bytes = 1000 * GIB;
  bench_start(&b);
  struct ticket t[4];
  enum cuzk_refusal why;
  for (unsigned i = 0; i < 2; i++) t[i] = bench_submit(&b, POREP, i, "");
  assert_int_equal(bench_try(&b, &t[2], POREP, 2, "", 0, false, &why), CUZK_E_NOSPC);
  assert_int_equal(why, CUZK_REFUSED_FULL);
  bench_sleep(&b, 7 * CUZK_SECOND); /* the first has started */
  t[2] = bench_submit(&b, POREP, 2, "");
  assert_int_equal(t[2].position, 1);
  assert_int_equal(bench_try(&b, &t[3], SNAP, 3, "", 0, false, &why), CUZK_E_NOENT);
  assert_int_equal(why, CUZK_REFUSED_PRECONDITION);
  assert_int_equal(bench_try(&b, &t[3], WINNING, 3, "", 0, false, &why), CUZK_E_UNSUPPORTED);
  assert_int_equal(why, CUZK_REFUSED_PRECONDITION);
  assert_int_equal(bench_try(&b, &t[3], 9, 3, "", 0, false, &why), CUZK_E_ARG);
  assert_int_equal(why, CUZK_REFUSED_BAD);
  assert_int_equal(bench_try(&b, &t[3], POREP, 3, "", 5, false, &why), CUZK_E_ARG);
  assert_int_equal(why, CUZK_REFUSED_BAD);
  struct cuzk_engine_tunables tune = b.o.t;
  tune.max_queued_jobs = 10;
  tune.max_queued_bytes = 3 * t[0].rq->n_bytes + 1;
  cuzk_engine_tune(b.e, &tune);
  assert_int_equal(bench_try(&b, &t[3], POREP, 3, "", 0, false, &why), CUZK_E_NOSPC);
  assert_int_equal(why, CUZK_REFUSED_FULL);
  for (unsigned i = 0; i < 3; i++) bench_complete(&b, &t[i]);
  bench_end(&b);
}

static void test_cancel_at_every_moment(void **state) {
  (void)state;
  /* Every half second of a PoRep's life, alone and behind another one. */
  for (unsigned step = 0; step < 100; step += 3) {
    struct bench b;
    bench_init(&b, false);
    b.o.synth_threads = 3;
    bench_start(&b);
    struct ticket other = bench_submit(&b, WINDOW, 1, "other");
    struct ticket t = bench_submit(&b, POREP, 1, "p");
    bench_sleep(&b, step * CUZK_SECOND / 2 + 1);
    bool running, again;
    assert_int_equal(cuzk_engine_cancel(b.e, "p", &running), CUZK_OK);
    assert_int_equal(cuzk_engine_cancel(b.e, "p", &again), CUZK_OK);
    assert_false(again);
    struct cuzk_job_result r = bench_await(&b, "p");
    if (step == 0) assert_false(running);
    if (r.state == CUZK_JOB_COMPLETED) {
      assert_proof(&b, &r, t.rq);
      assert_false(running);
    } else {
      assert_int_equal(r.state, CUZK_JOB_CANCELLED);
      assert_null(r.proof);
      assert_false(r.draining);
    }
    cuzk_job_result_clear(&r);
    ticket_clear(&t);
    bench_complete(&b, &other);
    assert_int_equal(cuzk_engine_cancel(b.e, "nobody", &running), CUZK_E_NOENT);
    bench_end(&b);
  }
}

static void count_call(void *user, const struct cuzk_job_result *r) {
  (void)r;
  atomic_fetch_add((atomic_int *)user, 1);
}

static void test_waits_that_end_first(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  struct cuzk_job_result r;
  uint64_t now = cuzk_clock_now(b.clock);
  assert_int_equal(cuzk_engine_await(b.e, &r, "p", now + 7 * CUZK_SECOND), CUZK_OK);
  assert_int_equal(r.state, CUZK_JOB_RUNNING);
  assert_int_equal(r.times.total_ms, 7000);
  assert_int_equal(cuzk_clock_now(b.clock), now + 7 * CUZK_SECOND);
  cuzk_job_result_clear(&r);
  assert_int_equal(cuzk_engine_await(b.e, &r, "p", now), CUZK_OK);
  assert_int_equal(r.state, CUZK_JOB_RUNNING);
  cuzk_job_result_clear(&r);
  assert_int_equal(cuzk_engine_await(b.e, &r, "q", CUZK_NEVER), CUZK_E_NOENT);
  atomic_int calls[3] = {0, 0, 0};
  struct cuzk_watch *w[3];
  for (unsigned i = 0; i < 3; i++) assert_int_equal(cuzk_engine_watch(b.e, &w[i], "p", i == 1 ? now + 9 * CUZK_SECOND : CUZK_NEVER, count_call, &calls[i]), CUZK_OK);
  assert_true(cuzk_engine_unwatch(b.e, &w[0]));
  assert_null(w[0]);
  bench_complete(&b, &t);
  bench_baseline(&b);
  assert_int_equal(calls[0], 0);
  assert_int_equal(calls[1], 1);
  assert_int_equal(calls[2], 1);
  assert_false(cuzk_engine_unwatch(b.e, &w[1]));
  assert_false(cuzk_engine_unwatch(b.e, &w[2]));
  /* At once for a job that has ended. */
  assert_int_equal(cuzk_engine_watch(b.e, &w[0], "p", CUZK_NEVER, count_call, &calls[0]), CUZK_OK);
  assert_int_equal(calls[0], 1);
  assert_false(cuzk_engine_unwatch(b.e, &w[0]));
  assert_false(cuzk_engine_unwatch(b.e, &w[0]));
  bench_end(&b);
}

static void test_orphans(void **state) {
  (void)state;
  /* policy, started when its waiter goes, dropped? */
  static const struct {
    enum cuzk_orphan_policy policy;
    bool started, dropped;
  } rows[] = {{CUZK_ORPHAN_KEEP, false, false},       {CUZK_ORPHAN_KEEP, true, false}, {CUZK_ORPHAN_DROP_QUEUED, false, true},
              {CUZK_ORPHAN_DROP_QUEUED, true, false}, {CUZK_ORPHAN_DROP, false, true}, {CUZK_ORPHAN_DROP, true, true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct bench b;
    bench_init(&b, false);
    b.o.synth_threads = 1;
    b.o.t.orphan_policy = rows[i].policy;
    b.o.t.orphan_grace_ns = 20 * CUZK_SECOND;
    bench_start(&b);
    struct ticket first = {0}, t, mine;
    if (!rows[i].started) first = bench_submit(&b, POREP, 1, "first"); /* 100 s of synthesis before it */
    assert_int_equal(bench_try(&b, &t, POREP, 2, "t", 0, true, NULL), CUZK_OK);
    /* This one was not made by a caller that waits. */
    mine = bench_submit(&b, WINDOW, 3, "mine");
    atomic_int calls = 0;
    struct cuzk_watch *w;
    assert_int_equal(cuzk_engine_watch(b.e, &w, "t", CUZK_NEVER, count_call, &calls), CUZK_OK);
    bench_sleep(&b, 30 * CUZK_SECOND);
    assert_true(cuzk_engine_unwatch(b.e, &w));
    bench_sleep(&b, 19 * CUZK_SECOND);
    struct cuzk_job_result r;
    assert_int_equal(cuzk_engine_await(b.e, &r, "t", 0), CUZK_OK);
    assert_true(r.state < CUZK_JOB_COMPLETED);
    cuzk_job_result_clear(&r);
    bench_sleep(&b, 25 * CUZK_SECOND);
    assert_int_equal(cuzk_engine_await(b.e, &r, "t", rows[i].dropped ? 0 : CUZK_NEVER), CUZK_OK);
    assert_int_equal(r.state, rows[i].dropped ? CUZK_JOB_CANCELLED : CUZK_JOB_COMPLETED);
    cuzk_job_result_clear(&r);
    ticket_clear(&t);
    if (first.rq) bench_complete(&b, &first);
    bench_complete(&b, &mine);
    bench_end(&b);
  }
}

static void test_retention(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.t.result_ttl_ns = 60 * CUZK_SECOND;
  b.o.t.result_max = 3;
  bench_start(&b);
  for (unsigned i = 0; i < 5; i++) {
    char id[8];
    snprintf(id, sizeof id, "w%u", i);
    struct ticket t = bench_submit(&b, WINNING, i, id);
    bench_complete(&b, &t);
  }
  bench_sleep(&b, CUZK_SECOND);
  struct cuzk_job_result r;
  assert_int_equal(cuzk_engine_await(b.e, &r, "w1", 0), CUZK_E_NOENT);
  assert_int_equal(cuzk_engine_await(b.e, &r, "w2", 0), CUZK_OK);
  cuzk_job_result_clear(&r);
  bench_sleep(&b, 61 * CUZK_SECOND);
  assert_int_equal(cuzk_engine_await(b.e, &r, "w4", 0), CUZK_E_NOENT);
  bench_end(&b);
}

static void test_drain(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  b.o.synth_threads = 2;
  bench_start(&b);
  struct ticket run = bench_submit(&b, POREP, 1, "run");
  struct ticket wait = bench_submit(&b, POREP, 2, "wait");
  bench_sleep(&b, 10 * CUZK_SECOND);
  cuzk_engine_drain(b.e);
  cuzk_engine_drain(b.e);
  enum cuzk_refusal why;
  struct ticket t;
  assert_int_not_equal(bench_try(&b, &t, POREP, 3, "", 0, false, &why), CUZK_OK);
  assert_int_equal(why, CUZK_REFUSED_DRAINING);
  struct cuzk_job_result r = bench_await(&b, "wait");
  assert_int_equal(r.state, CUZK_JOB_CANCELLED);
  assert_true(r.draining);
  cuzk_job_result_clear(&r);
  assert_false(cuzk_engine_wait_idle(b.e, cuzk_clock_now(b.clock) + CUZK_SECOND));
  bench_complete(&b, &run);
  ticket_clear(&wait);
  bench_end(&b);

  bench_init(&b, false);
  bench_start(&b);
  run = bench_submit(&b, POREP, 1, "run");
  bench_sleep(&b, 20 * CUZK_SECOND);
  cuzk_engine_drain(b.e);
  cuzk_engine_stop_running(b.e);
  r = bench_await(&b, "run");
  assert_int_equal(r.state, CUZK_JOB_CANCELLED);
  assert_true(r.draining);
  cuzk_job_result_clear(&r);
  ticket_clear(&run);
  bench_end(&b);
}

static void test_views_and_dump(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "porep-\xc3\xa9,\n");
  bench_sleep(&b, 17 * CUZK_SECOND);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_int_equal(v.n_jobs, 1);
  assert_int_equal(v.n_gpus, 1);
  assert_int_equal(v.n_workers, 3);
  assert_int_equal(v.kind[0].in_progress, 1);
  assert_int_equal(v.job[0].n_partitions, 10);
  assert_string_equal(v.job[0].circuit_id, "porep-32g");
  assert_string_equal(v.gpu[0].job_id, "porep-\xc3\xa9,\n");
  unsigned on = 0;
  for (unsigned i = 0; i < 10; i++) on += v.job[0].part[i].state == CUZK_PART_GPU;
  assert_int_equal(on, 2);
  assert_true(v.budget.used > 4 * GIB);
  assert_true(v.job[0].part[0].synth_ms >= 10000);
  cuzk_engine_view_clear(&v);
  char *text = NULL;
  assert_int_equal(cuzk_engine_dump(b.e, &text), CUZK_OK);
  assert_non_null(strstr(text, "porep-\xc3\xa9%2C%0A"));
  cuzk_free(text);
  bench_complete(&b, &t);
  assert_int_equal(cuzk_engine_metrics_text(b.e, &text), CUZK_OK);
  static const char *const names[] = {"cuzk_proofs_completed_total 1\n", "cuzk_gpu_busy_seconds_total{gpu=\"0\"} 20",
                                      "cuzk_partition_synth_seconds_count{circuit=\"porep-32g\"} 10", "cuzk_job_seconds_count{kind=\"porep_c2\"} 1",
                                      "cuzk_gpu_idle_seconds_total{gpu=\"0\",reason=\"no_demand\"}", "cuzk_memory_budget_bytes",
                                      "cuzk_srs_loads_total{circuit=\"porep-32g\"} 1"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strstr(text, names[i])) fail_msg("no '%s' in:\n%s", names[i], text);
  cuzk_free(text);
  bench_end(&b);
}

static void test_preload_and_evict(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  bool already, was;
  uint64_t ms, freed;
  enum cuzk_refusal why;
  struct cuzk_detail d;
  assert_int_equal(cuzk_engine_preload(b.e, "porep-32g", CUZK_NEVER, NULL, &already, &ms, &why, &d), CUZK_OK);
  assert_false(already);
  assert_int_equal(ms, 5000);
  assert_int_equal(cuzk_engine_preload(b.e, "porep-32g", CUZK_NEVER, NULL, &already, &ms, &why, &d), CUZK_OK);
  assert_true(already);
  assert_int_equal(cuzk_engine_preload(b.e, "nothing", CUZK_NEVER, NULL, &already, &ms, &why, &d), CUZK_E_ARG);
  assert_int_equal(why, CUZK_REFUSED_BAD);
  struct ticket t = bench_submit(&b, POREP, 1, "");
  bench_sleep(&b, CUZK_SECOND);
  assert_int_equal(cuzk_engine_evict(b.e, "porep-32g", &was, &freed, &d), CUZK_E_MISMATCH);
  struct cuzk_job_result r = bench_await(&b, t.job_id);
  assert_int_equal(r.times.srs_load_ms, 0);
  cuzk_job_result_clear(&r);
  ticket_clear(&t);
  bench_baseline(&b);
  assert_int_equal(cuzk_engine_evict(b.e, "porep-32g", &was, &freed, &d), CUZK_OK);
  assert_true(was);
  assert_int_equal(freed, 4 * GIB);
  cuzk_engine_drain(b.e);
  assert_int_not_equal(cuzk_engine_preload(b.e, "porep-32g", CUZK_NEVER, NULL, &already, &ms, &why, &d), CUZK_OK);
  assert_int_equal(why, CUZK_REFUSED_DRAINING);
  bench_end(&b);
}

static void test_no_memory_for_an_engine(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b); /* once, for its options */
  cuzk_engine_destroy(&b.e);
  int64_t live = cuzk_alloc_live();
  static const char *const affinity[1] = {"any"};
  b.o.affinity = affinity;
  bool made = false;
  unsigned n = 1;
  for (; !made && n < 2000; n++) {
    struct cuzk_detail d;
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = cuzk_engine_create(&b.e, &b.o, &d);
    made = st == CUZK_OK && cuzk_alloc_count() < n;
    cuzk_alloc_fail_at(0);
    if (st != CUZK_OK) assert_int_equal(st, CUZK_E_NOMEM);
    cuzk_engine_destroy(&b.e);
    assert_null(b.e);
    if (st != CUZK_OK) assert_int_equal(cuzk_alloc_live(), live);
  }
  assert_true(made);
  assert_true(n > 20);
  bench_end(&b);
}

static void test_no_memory_on_a_jobs_way(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, false);
  bench_start(&b);
  unsigned failed = 0, completed = 0;
  for (unsigned n = 1; n < 60; n++) {
    struct cuzk_request *rq = bench_request(WINDOW, n);
    struct cuzk_submitted s;
    struct cuzk_detail d;
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = cuzk_engine_submit(b.e, &(struct cuzk_submit){.request_id = "w", .request = rq}, &s, NULL, &d);
    if (st == CUZK_OK) {
      bench_sleep(&b, 60 * CUZK_SECOND); /* whoever is struck, the job ends, and the engine lives */
      cuzk_alloc_fail_at(0);
      struct cuzk_job_result r = bench_await(&b, s.job_id);
      if (r.state == CUZK_JOB_FAILED) failed++;
      else assert_int_equal(r.state, CUZK_JOB_COMPLETED);
      completed += r.state == CUZK_JOB_COMPLETED;
      cuzk_job_result_clear(&r);
      cuzk_free(s.job_id);
    } else {
      assert_int_equal(st, CUZK_E_NOMEM);
    }
    cuzk_alloc_fail_at(0);
    cuzk_request_unref(&rq);
    bench_baseline(&b);
  }
  assert_true(failed > 0);
  assert_true(completed > 0);
  bench_end(&b);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind_completes),   cmocka_unit_test(test_events_of_a_job_come_in_order),
      cmocka_unit_test(test_one_id_two_payloads),    cmocka_unit_test(test_a_second_call_attaches),
      cmocka_unit_test(test_after_a_failure_a_new_run), cmocka_unit_test(test_limits_and_refusals),
      cmocka_unit_test(test_cancel_at_every_moment), cmocka_unit_test(test_waits_that_end_first),
      cmocka_unit_test(test_orphans),                cmocka_unit_test(test_retention),
      cmocka_unit_test(test_drain),                  cmocka_unit_test(test_views_and_dump),
      cmocka_unit_test(test_preload_and_evict),      cmocka_unit_test(test_no_memory_for_an_engine),
      cmocka_unit_test(test_no_memory_on_a_jobs_way),
  };
  return cmocka_run_group_tests_name("engine_jobs", tests, NULL, NULL);
}
