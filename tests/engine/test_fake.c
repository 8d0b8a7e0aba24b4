/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "engine/fake.h"
#include "testing.h"

struct world {
  struct cuzk_clock *c;
  struct cuzk_fake *f;
  const struct cuzk_prover_ops *ops;
  struct cuzk_request *rq;
  struct cuzk_plan plan;
  enum cuzk_fake_stage at;
  enum cuzk_fake_fault fault;
};
static enum cuzk_fake_fault fault_of(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  const struct world *w = user;
  (void)partition;
  (void)device;
  assert_true(rq || stage == CUZK_FAKE_LOAD);
  return stage == w->at ? w->fault : CUZK_FAKE_OK;
}
static void begin(struct world *w, uint64_t seed) {
  *w = (struct world){.fault = CUZK_FAKE_OK};
  assert_int_equal(cuzk_clock_virtual(&w->c), CUZK_OK);
  cuzk_clock_enter(w->c);
  struct cuzk_fake_options o = {.clock = w->c, .n_devices = 2, .seed = seed, .fault = fault_of, .user = w, .failing_resets = 1};
  cuzk_fake_reference_times(&o);
  o.kind[1].no_srs_file = true;
  o.kind[2].n_partitions = 0;
  assert_int_equal(cuzk_fake_create(&w->f, &o), CUZK_OK);
  w->ops = cuzk_fake_prover(w->f).ops;
  struct cuzk_request_fields f = {.kind = 1, .sector_number = 5, .vanilla_proof = {(const uint8_t *)"x", 1}};
  assert_int_equal(cuzk_request_create(&w->rq, &f), CUZK_OK);
  assert_int_equal(w->ops->admit(w->f, w->rq, &w->plan, NULL), CUZK_OK);
}
static void end(struct world *w) {
  unsigned alive[4];
  cuzk_fake_alive(w->f, alive);
  for (unsigned i = 0; i < 4; i++) assert_int_equal(alive[i], 0);
  cuzk_request_unref(&w->rq);
  cuzk_fake_destroy(&w->f);
  assert_null(w->f);
  cuzk_fake_destroy(&w->f);
  cuzk_clock_leave(w->c);
  cuzk_clock_destroy(&w->c);
}
/* The whole way of one partition; the first failure ends it. took[]: how long each stage was. */
static enum cuzk_status prove(struct world *w, unsigned partition, unsigned device, uint8_t proof[CUZK_PROOF_LEN], uint64_t took[CUZK_FAKE_STAGES],
                              bool *ok) {
  const struct cuzk_prover_ops *ops = w->ops;
  void *in = NULL, *srs = NULL, *work = NULL, *pending = NULL;
  uint64_t t = cuzk_clock_now(w->c);
#define LAP(stage) (took[stage] = cuzk_clock_now(w->c) - t, t = cuzk_clock_now(w->c))
  enum cuzk_status st = ops->open(w->f, w->rq, &w->plan, &in, NULL, NULL);
  LAP(CUZK_FAKE_OPEN);
  if (st == CUZK_OK) st = ops->srs_load(w->f, w->plan.circuit_id, &srs, NULL, NULL);
  LAP(CUZK_FAKE_LOAD);
  if (st == CUZK_OK) st = ops->synth(w->f, in, srs, partition, &work, NULL, NULL);
  LAP(CUZK_FAKE_SYNTH);
  if (st == CUZK_OK) st = ops->start(w->f, work, device, &pending, NULL);
  LAP(CUZK_FAKE_START);
  struct cuzk_kernel_times times;
  if (st == CUZK_OK) {
    st = ops->kernels(w->f, pending, &times, NULL);
    if (st != CUZK_OK) ops->abort(w->f, pending);
  }
  LAP(CUZK_FAKE_KERNELS);
  if (st == CUZK_OK) {
    assert_int_equal(times.h_ms + times.badd_ms + times.tail_ms, took[CUZK_FAKE_KERNELS] / CUZK_MS);
    st = ops->finish(w->f, pending, proof, NULL);
  }
  LAP(CUZK_FAKE_FINISH);
  if (st == CUZK_OK && partition == 0) st = ops->verify(w->f, in, srs, proof, 1, ok, NULL);
  ops->srs_unload(w->f, srs);
  ops->close(w->f, in);
  return st;
}

static void a_partition_takes_its_time_and_gives_its_proof(void **state) {
  (void)state;
  uint8_t first[CUZK_PROOF_LEN], again[CUZK_PROOF_LEN], want[CUZK_PROOF_LEN];
  uint64_t took[2][CUZK_FAKE_STAGES] = {{0}}, other[CUZK_FAKE_STAGES];
  bool ok = false;
  for (unsigned run = 0; run < 2; run++) {
    struct world w;
    begin(&w, 7);
    assert_string_equal(w.plan.circuit_id, "porep-32g");
    assert_int_equal(w.plan.n_partitions, 10);
    assert_int_equal(prove(&w, 0, run, run ? again : first, took[run], &ok), CUZK_OK);
    assert_true(ok);
    assert_true(took[run][CUZK_FAKE_SYNTH] >= 29 * CUZK_SECOND && took[run][CUZK_FAKE_SYNTH] <= 36 * CUZK_SECOND);
    assert_int_equal(took[run][CUZK_FAKE_START], 1300 * CUZK_MS);
    assert_int_equal(took[run][CUZK_FAKE_KERNELS], 3500 * CUZK_MS);
    assert_int_equal(took[run][CUZK_FAKE_FINISH], 700 * CUZK_MS);
    assert_int_equal(cuzk_fake_busy_ns(w.f, run), 3500 * CUZK_MS);
    assert_int_equal(cuzk_fake_busy_ns(w.f, 1 - run), 0);
    assert_int_equal(cuzk_fake_calls(w.f, CUZK_FAKE_SYNTH, w.rq, 0), 1);
    assert_int_equal(cuzk_fake_calls(w.f, CUZK_FAKE_SYNTH, w.rq, 1), 0);
    assert_int_equal(cuzk_fake_calls(w.f, CUZK_FAKE_LOAD, NULL, 0), 1);
    cuzk_fake_proof(want, w.rq, 0);
    assert_memory_equal(run ? again : first, want, CUZK_PROOF_LEN);
    /* Other partitions, other attempts: other times and proofs. */
    uint8_t proof[CUZK_PROOF_LEN];
    assert_int_equal(prove(&w, 1, 0, proof, other, &ok), CUZK_OK);
    assert_memory_not_equal(proof, first, CUZK_PROOF_LEN);
    assert_int_not_equal(other[CUZK_FAKE_SYNTH], took[run][CUZK_FAKE_SYNTH]);
    assert_int_equal(prove(&w, 0, 0, proof, other, &ok), CUZK_OK);
    assert_memory_equal(proof, first, CUZK_PROOF_LEN);
    assert_int_not_equal(other[CUZK_FAKE_SYNTH], took[run][CUZK_FAKE_SYNTH]);
    assert_int_equal(cuzk_fake_misuses(w.f), 0);
    end(&w);
  }
  assert_memory_equal(took[0], took[1], sizeof took[0]);
}

static void faults_come_as_programmed(void **state) {
  (void)state;
  static const struct {
    enum cuzk_fake_stage at;
    enum cuzk_fake_fault fault;
    enum cuzk_status st;
  } cases[] = {
      {CUZK_FAKE_OPEN, CUZK_FAKE_ERROR, CUZK_E_INTERNAL}, {CUZK_FAKE_OPEN, CUZK_FAKE_BAD_INPUT, CUZK_E_FORMAT},
      {CUZK_FAKE_LOAD, CUZK_FAKE_ERROR, CUZK_E_IO},       {CUZK_FAKE_LOAD, CUZK_FAKE_OOM, CUZK_E_NOMEM},
      {CUZK_FAKE_SYNTH, CUZK_FAKE_BAD_INPUT, CUZK_E_UNSAT}, {CUZK_FAKE_SYNTH, CUZK_FAKE_LOST, CUZK_E_INTERNAL},
      {CUZK_FAKE_START, CUZK_FAKE_ERROR, CUZK_E_DEVICE},  {CUZK_FAKE_START, CUZK_FAKE_OOM, CUZK_E_NOMEM},
      {CUZK_FAKE_KERNELS, CUZK_FAKE_ERROR, CUZK_E_DEVICE}, {CUZK_FAKE_FINISH, CUZK_FAKE_OOM, CUZK_E_NOMEM},
      {CUZK_FAKE_VERIFY, CUZK_FAKE_ERROR, CUZK_E_INTERNAL}, {CUZK_FAKE_START, CUZK_FAKE_BAD_INPUT, CUZK_E_INTERNAL},
  };
  struct world w;
  begin(&w, 1);
  uint8_t proof[CUZK_PROOF_LEN];
  uint64_t took[CUZK_FAKE_STAGES];
  bool ok;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    w.at = cases[i].at;
    w.fault = cases[i].fault;
    assert_int_equal(prove(&w, 0, 0, proof, took, &ok), cases[i].st);
  }
  static const enum cuzk_fake_stage bad[] = {CUZK_FAKE_SYNTH, CUZK_FAKE_START, CUZK_FAKE_KERNELS, CUZK_FAKE_FINISH, CUZK_FAKE_VERIFY};
  w.fault = CUZK_FAKE_BAD_PROOF;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    w.at = bad[i];
    ok = true;
    assert_int_equal(prove(&w, 0, 0, proof, took, &ok), CUZK_OK);
    assert_false(ok);
  }
  /* A lost device stays lost until a reset works. */
  struct cuzk_device_info info;
  w.at = CUZK_FAKE_KERNELS;
  w.fault = CUZK_FAKE_LOST;
  assert_int_equal(prove(&w, 0, 1, proof, took, &ok), CUZK_E_DEVICE);
  w.fault = CUZK_FAKE_OK;
  assert_int_equal(prove(&w, 0, 1, proof, took, &ok), CUZK_E_DEVICE);
  assert_int_equal(prove(&w, 0, 0, proof, took, &ok), CUZK_OK);
  w.ops->device_info(w.f, 1, &info);
  assert_true(info.lost);
  assert_int_equal(w.ops->device_reset(w.f, 1, NULL), CUZK_E_DEVICE); /* as programmed */
  assert_int_equal(w.ops->device_reset(w.f, 1, NULL), CUZK_OK);
  assert_int_equal(w.ops->device_reset(w.f, 2, NULL), CUZK_E_ARG);
  w.ops->device_info(w.f, 1, &info);
  assert_false(info.lost);
  assert_int_equal(prove(&w, 0, 1, proof, took, &ok), CUZK_OK);
  /* What admission refuses. */
  struct cuzk_plan plan;
  for (unsigned kind = 0; kind <= 5; kind++) {
    struct cuzk_request_fields f = {.kind = kind};
    struct cuzk_request *rq;
    assert_int_equal(cuzk_request_create(&rq, &f), CUZK_OK);
    static const enum cuzk_status want[] = {CUZK_E_ARG, CUZK_OK, CUZK_E_NOENT, CUZK_E_UNSUPPORTED, CUZK_OK, CUZK_E_ARG};
    assert_int_equal(w.ops->admit(w.f, rq, &plan, NULL), want[kind]);
    cuzk_request_unref(&rq);
  }
  end(&w);
}

/* ---- hangs ---- */
struct hang {
  struct world *w;
  const atomic_bool *stop;
  enum cuzk_status st;
  uint64_t at;
};
static void *hanging_open(void *v) {
  struct hang *h = v;
  void *in;
  h->st = h->w->ops->open(h->w->f, h->w->rq, &h->w->plan, &in, h->stop, NULL);
  h->at = cuzk_clock_now(h->w->c);
  return NULL;
}
static void *hanging_kernels(void *v) {
  struct hang *h = v;
  uint8_t proof[CUZK_PROOF_LEN];
  uint64_t took[CUZK_FAKE_STAGES];
  bool ok;
  h->st = prove(h->w, 0, 0, proof, took, &ok);
  h->at = cuzk_clock_now(h->w->c);
  return NULL;
}
static void hangs_end_by_stop_reset_or_release(void **state) {
  (void)state;
  struct world w;
  begin(&w, 1);
  atomic_bool stop = false;
  pthread_t t;
  struct hang h = {.w = &w, .stop = &stop};
  w.fault = CUZK_FAKE_HANG;
  w.at = CUZK_FAKE_OPEN;
  assert_int_equal(cuzk_clock_thread(w.c, &t, "hang", hanging_open, &h), CUZK_OK);
  cuzk_clock_sleep_until(w.c, 1000 * CUZK_SECOND + 1);
  atomic_store(&stop, true);
  cuzk_clock_join(w.c, t);
  assert_int_equal(h.st, CUZK_E_CANCELLED);
  assert_true(h.at <= 1002 * CUZK_SECOND);
  w.at = CUZK_FAKE_KERNELS;
  assert_int_equal(w.ops->device_reset(w.f, 0, NULL), CUZK_E_DEVICE);
  for (unsigned by_reset = 0; by_reset < 2; by_reset++) {
    uint64_t until = cuzk_clock_now(w.c) + 500 * CUZK_SECOND;
    assert_int_equal(cuzk_clock_thread(w.c, &t, "hang", hanging_kernels, &h), CUZK_OK);
    cuzk_clock_sleep_until(w.c, until);
    if (by_reset) cuzk_fake_release(w.f);
    else assert_int_equal(w.ops->device_reset(w.f, 0, NULL), CUZK_OK);
    cuzk_clock_join(w.c, t);
    assert_int_equal(h.st, CUZK_E_DEVICE);
    assert_int_equal(h.at, until);
  }
  end(&w);
}

static void objects_are_counted(void **state) {
  (void)state;
  struct world w;
  begin(&w, 1);
  void *in, *srs, *work[2], *pending[2];
  struct cuzk_kernel_times times;
  assert_int_equal(w.ops->open(w.f, w.rq, &w.plan, &in, NULL, NULL), CUZK_OK);
  assert_int_equal(w.ops->srs_load(w.f, "porep-32g", &srs, NULL, NULL), CUZK_OK);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(w.ops->synth(w.f, in, srs, i, &work[i], NULL, NULL), CUZK_OK);
    assert_int_equal(w.ops->start(w.f, work[i], 0, &pending[i], NULL), CUZK_OK);
  }
  assert_int_equal(w.ops->synth(w.f, in, srs, 10, &work[0], NULL, NULL), CUZK_E_INTERNAL);
  unsigned alive[4];
  cuzk_fake_alive(w.f, alive);
  assert_true(alive[0] == 1 && alive[1] == 1 && alive[2] == 0 && alive[3] == 2);
  assert_int_equal(w.ops->kernels(w.f, pending[0], &times, NULL), CUZK_OK);
  assert_int_equal(cuzk_fake_misuses(w.f), 0);
  w.ops->abort(w.f, pending[0]);
  w.ops->abort(w.f, pending[1]);
  w.ops->srs_unload(w.f, srs);
  w.ops->close(w.f, in);
  assert_int_equal(cuzk_fake_misuses(w.f), 0);
  end(&w);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_partition_takes_its_time_and_gives_its_proof),
      cmocka_unit_test(faults_come_as_programmed),
      cmocka_unit_test(hangs_end_by_stop_reset_or_release),
      cmocka_unit_test(objects_are_counted),
  };
  int64_t live = cuzk_alloc_live();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return failed || cuzk_alloc_live() != live;
}
