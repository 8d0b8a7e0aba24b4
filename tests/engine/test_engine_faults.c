/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What goes wrong in the stages: one answer, everything given back, retries, quarantine, watchdog, self-check. */
#include "engine_testing.h"

/* Faults of one stage: the first n calls for a partition (-1: any) on a device (-1: any). */
struct plan {
  enum cuzk_fake_stage stage;
  enum cuzk_fake_fault fault;
  int partition, device;
  unsigned kind; /* 0: any */
  atomic_int left;
};

static enum cuzk_fake_fault planned(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  struct plan *p = user;
  if (stage != p->stage || (p->kind && rq && rq->f.kind != p->kind) || (p->partition >= 0 && stage != CUZK_FAKE_OPEN && stage != CUZK_FAKE_LOAD && partition != (unsigned)p->partition) ||
      (p->device >= 0 && device != p->device))
    return CUZK_FAKE_OK;
  return atomic_fetch_sub(&p->left, 1) > 0 ? p->fault : CUZK_FAKE_OK;
}

static void start(struct bench *b, struct plan *p, unsigned devices) {
  bench_init(b, false);
  b->f.n_devices = devices;
  b->f.fault = planned;
  b->f.user = p;
}

static void test_a_failure_at_each_stage_gives_one_answer(void **state) {
  (void)state;
  static const struct {
    enum cuzk_fake_stage stage;
    enum cuzk_fake_fault fault;
    const char *token;
    bool of_partition;
  } rows[] = {
      {CUZK_FAKE_OPEN, CUZK_FAKE_BAD_INPUT, "bad_input: ", false},     {CUZK_FAKE_OPEN, CUZK_FAKE_OOM, "out_of_memory: ", false},
      {CUZK_FAKE_LOAD, CUZK_FAKE_ERROR, "srs_load: ", false},          {CUZK_FAKE_SYNTH, CUZK_FAKE_BAD_INPUT, "synthesis: ", true},
      {CUZK_FAKE_SYNTH, CUZK_FAKE_ERROR, "internal: ", true},          {CUZK_FAKE_SYNTH, CUZK_FAKE_OOM, "out_of_memory: ", true},
      {CUZK_FAKE_START, CUZK_FAKE_ERROR, "gpu: ", true},               {CUZK_FAKE_START, CUZK_FAKE_OOM, "gpu_oom: ", true},
      {CUZK_FAKE_KERNELS, CUZK_FAKE_ERROR, "gpu: ", true},             {CUZK_FAKE_KERNELS, CUZK_FAKE_OOM, "gpu_oom: ", true},
      {CUZK_FAKE_FINISH, CUZK_FAKE_ERROR, "gpu: ", true},              {CUZK_FAKE_FINISH, CUZK_FAKE_BAD_PROOF, "self_check: partitions 4 invalid", false},
      {CUZK_FAKE_VERIFY, CUZK_FAKE_ERROR, "self_check: ", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct plan p = {.stage = rows[i].stage, .fault = rows[i].fault, .partition = 4, .device = -1};
    struct bench b;
    atomic_init(&p.left, 100);
    start(&b, &p, 1);
    b.o.quarantine_errors = 0;
    bench_start(&b);
    struct ticket t = bench_submit(&b, POREP, 1, "p");
    struct ticket t2 = bench_submit(&b, POREP, 1, "p");
    char text[40];
    struct cuzk_job_result r = bench_await(&b, "p");
    assert_int_equal(r.state, CUZK_JOB_FAILED);
    (void)snprintf(text, sizeof text, "%spartition 4: ", rows[i].token);
    if (rows[i].of_partition && strncmp(r.error, text, strlen(text)) != 0) fail_msg("row %zu: %s", i, r.error);
    cuzk_job_result_clear(&r);
    ticket_clear(&t2);
    bench_fails(&b, &t, rows[i].token);
    bench_baseline(&b);
    bench_events(&b);
    assert_int_equal(bench_count(&b, CUZK_EV_JOB_FAIL, "p"), 1);
    assert_int_equal(bench_count(&b, CUZK_EV_JOB_DONE, "p"), 0);
    struct cuzk_engine_view v;
    assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
    assert_int_equal(v.kind[0].failed, 1);
    assert_int_equal(v.n_jobs, 1);
    assert_int_equal(v.job[0].state, CUZK_JOB_FAILED);
    for (unsigned k = 0; k < 10; k++) assert_true(v.job[0].part[k].state != CUZK_PART_GPU && v.job[0].part[k].state != CUZK_PART_SYNTH);
    cuzk_engine_view_clear(&v);
    /* And the engine goes on. */
    atomic_store(&p.left, 0);
    t = bench_submit(&b, POREP, 2, "");
    bench_complete(&b, &t);
    bench_end(&b);
  }
}

static void test_retry_prefers_another_device(void **state) {
  (void)state;
  static const enum cuzk_fake_stage stages[] = {CUZK_FAKE_START, CUZK_FAKE_KERNELS, CUZK_FAKE_FINISH};
  for (unsigned i = 0; i < 3; i++) {
    struct plan p = {.stage = stages[i], .fault = CUZK_FAKE_ERROR, .partition = 3, .device = -1};
    struct bench b;
    atomic_init(&p.left, 1);
    start(&b, &p, 2);
    bench_start(&b);
    struct ticket t = bench_submit(&b, POREP, 1, "p");
    struct cuzk_request *rq = cuzk_request_ref(t.rq);
    bench_complete(&b, &t);
    assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, rq, 3), 2);
    assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, rq, 2), 1);
    cuzk_request_unref(&rq);
    bench_events(&b);
    const struct cuzk_event_record *fail = bench_event(&b, CUZK_EV_PART_FAIL, "p", 3);
    assert_non_null(fail);
    assert_non_null(bench_event(&b, CUZK_EV_PART_RETRY, "p", 3));
    int last = -1;
    for (size_t k = 0; k < b.n_events; k++)
      if (b.events[k].event == CUZK_EV_GPU_START && b.events[k].partition == 3) last = b.events[k].gpu;
    assert_int_equal(last, 1 - fail->gpu);
    bench_end(&b);
  }
}

static void test_out_of_device_memory_is_tried_alone(void **state) {
  (void)state;
  struct plan p = {.stage = CUZK_FAKE_KERNELS, .fault = CUZK_FAKE_OOM, .partition = 2, .device = -1, .kind = POREP};
  struct bench b;
  atomic_init(&p.left, 1);
  start(&b, &p, 1);
  b.o.retry_on_error = 0;
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  struct ticket other = bench_submit(&b, SNAP, 2, "other");
  bench_complete(&b, &t);
  bench_complete(&b, &other);
  bench_events(&b);
  /* Between pick-up and end of the second attempt nobody else is on the device. */
  const struct cuzk_event_record *retry = bench_event(&b, CUZK_EV_PART_RETRY, "p", 2);
  assert_non_null(retry);
  unsigned on = 0, picks = 0;
  bool alone = false;
  for (size_t i = 0; i < b.n_events; i++) {
    const struct cuzk_event_record *r = &b.events[i];
    bool mine = strcmp(r->job, "p") == 0 && r->partition == 2;
    if (r->event == CUZK_EV_GPU_PICKUP) {
      assert_false(alone);
      on++;
      alone = mine && r->seq > retry->seq;
      if (alone) {
        picks++;
        assert_int_equal(on, 1);
      }
    }
    if (r->event == CUZK_EV_GPU_END) {
      on--;
      alone = false;
    }
  }
  assert_int_equal(picks, 1);
  bench_end(&b);
}

static void test_quarantine_and_return(void **state) {
  (void)state;
  struct plan p = {.stage = CUZK_FAKE_KERNELS, .fault = CUZK_FAKE_ERROR, .partition = -1, .device = 0};
  struct bench b;
  atomic_init(&p.left, 3);
  start(&b, &p, 2);
  b.o.quarantine_errors = 3;
  b.o.quarantine_ns = 600 * CUZK_SECOND;
  b.f.failing_resets = 1;
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  bench_complete(&b, &t);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_true(v.gpu[0].quarantined);
  assert_false(v.gpu[1].quarantined);
  assert_int_equal(v.gpu[0].errors, 3);
  cuzk_engine_view_clear(&v);
  bench_events(&b);
  const struct cuzk_event_record *out = bench_event(&b, CUZK_EV_GPU_QUARANTINE, NULL, -1);
  assert_non_null(out);
  for (size_t i = 0; i < b.n_events; i++)
    if (b.events[i].seq > out->seq && b.events[i].event == CUZK_EV_GPU_PICKUP) assert_int_equal(b.events[i].gpu, 1);
  uint64_t out_ns = out->t_ns;
  bench_sleep(&b, 1300 * CUZK_SECOND); /* the first reset fails */
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_false(v.gpu[0].quarantined);
  cuzk_engine_view_clear(&v);
  bench_events(&b);
  const struct cuzk_event_record *back = bench_event(&b, CUZK_EV_GPU_BACK, NULL, -1);
  assert_non_null(back);
  assert_int_equal(back->t_ns - out_ns, 1200 * CUZK_SECOND);
  bench_end(&b);
}

static void test_no_device_left(void **state) {
  (void)state;
  struct plan p = {.stage = CUZK_FAKE_KERNELS, .fault = CUZK_FAKE_LOST, .partition = -1, .device = 0};
  struct bench b;
  atomic_init(&p.left, 1);
  start(&b, &p, 1);
  b.o.quarantine_ns = 100 * CUZK_SECOND;
  b.o.retry_on_error = 2;
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  bench_sleep(&b, 25 * CUZK_SECOND);
  struct ticket t2;
  enum cuzk_refusal why;
  assert_int_equal(bench_try(&b, &t2, POREP, 2, "", 0, false, &why), CUZK_E_DEVICE);
  assert_int_equal(why, CUZK_REFUSED_NO_DEVICE);
  bench_complete(&b, &t); /* it waits, and goes on when the device is back */
  t2 = bench_submit(&b, POREP, 2, "");
  bench_complete(&b, &t2);
  bench_end(&b);
}

static void test_a_hang_is_noticed(void **state) {
  (void)state;
  static const enum cuzk_fake_stage stages[] = {CUZK_FAKE_SYNTH, CUZK_FAKE_START, CUZK_FAKE_KERNELS};
  for (unsigned i = 0; i < 3; i++) {
    struct plan p = {.stage = stages[i], .fault = CUZK_FAKE_HANG, .partition = 1, .device = -1};
    struct bench b;
    atomic_init(&p.left, 1);
    start(&b, &p, 1);
    b.o.stage_timeout_ns = 300 * CUZK_SECOND;
    bench_start(&b);
    struct ticket t = bench_submit(&b, POREP, 1, "p");
    struct ticket t2 = bench_submit(&b, POREP, 2, "q");
    bench_fails(&b, &t, i == 0 ? "internal: partition 1: synthesis" : "gpu: partition 1: ");
    assert_in_range(cuzk_clock_now(b.clock), 300 * CUZK_SECOND, 330 * CUZK_SECOND);
    bench_complete(&b, &t2);
    bench_sleep(&b, CUZK_SECOND); /* the device is back */
    t = bench_submit(&b, POREP, 3, "");
    bench_complete(&b, &t);
    bench_end(&b);
  }
}

static void test_a_bad_proof_is_made_again(void **state) {
  (void)state;
  struct plan p = {.stage = CUZK_FAKE_KERNELS, .fault = CUZK_FAKE_BAD_PROOF, .partition = 6, .device = -1};
  struct bench b;
  atomic_init(&p.left, 1);
  start(&b, &p, 2);
  bench_start(&b);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  struct cuzk_request *rq = cuzk_request_ref(t.rq);
  bench_complete(&b, &t);
  for (unsigned i = 0; i < 10; i++) assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, rq, i), i == 6 ? 2 : 1);
  cuzk_request_unref(&rq);
  bench_events(&b);
  assert_int_equal(bench_count(&b, CUZK_EV_VERIFY_END, "p"), 2);
  int gpu[2] = {-1, -1};
  unsigned n = 0;
  for (size_t i = 0; i < b.n_events; i++)
    if (b.events[i].event == CUZK_EV_KERNEL_START && b.events[i].partition == 6 && n < 2) gpu[n++] = b.events[i].gpu;
  assert_int_equal(n, 2);
  assert_int_not_equal(gpu[0], gpu[1]);
  bench_end(&b);
}

static void test_self_check_can_be_left_out(void **state) {
  (void)state;
  struct plan p = {.stage = CUZK_FAKE_KERNELS, .fault = CUZK_FAKE_BAD_PROOF, .partition = 0, .device = -1};
  struct bench b;
  atomic_init(&p.left, 1);
  start(&b, &p, 1);
  b.o.self_check = CUZK_CHECK_POREP;
  bench_start(&b);
  struct ticket t = bench_submit(&b, WINDOW, 1, "w");
  struct cuzk_job_result r = bench_await(&b, "w");
  assert_int_equal(r.state, CUZK_JOB_COMPLETED);
  cuzk_job_result_clear(&r);
  ticket_clear(&t);
  atomic_store(&p.left, 1);
  t = bench_submit(&b, POREP, 1, "p");
  bench_complete(&b, &t);
  bench_end(&b);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_failure_at_each_stage_gives_one_answer),
      cmocka_unit_test(test_retry_prefers_another_device),
      cmocka_unit_test(test_out_of_device_memory_is_tried_alone),
      cmocka_unit_test(test_quarantine_and_return),
      cmocka_unit_test(test_no_device_left),
      cmocka_unit_test(test_a_hang_is_noticed),
      cmocka_unit_test(test_a_bad_proof_is_made_again),
      cmocka_unit_test(test_self_check_can_be_left_out),
  };
  return cmocka_run_group_tests_name("engine_faults", tests, NULL, NULL);
}
