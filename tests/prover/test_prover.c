/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The real prover through the engine's interface: WinningPoSt and WindowPoSt of 2 KiB sectors from request to verified proofs, and what
 *  may go wrong on the way. */
#include "fixture.h"
#include "prover/internal.h"

static struct cuzk_prover_real *real;
static struct cuzk_prover prover;
static struct cuzk_detail d;

static void open_prover(const char *circuit_dir) {
  const char *const devices[] = {"cpu"};
  const struct cuzk_prover_real_options o = {
      .param_dir = fixture_folder(), .circuit_dir = circuit_dir, .devices = devices, .n_devices = 1, .synth_threads = 2, .device_threads = 2};
  assert_int_equal(cuzk_prover_real_create(&real, &o, &d), CUZK_OK);
  prover = cuzk_prover_real_ops(real);
}

static int setup(void **state) {
  (void)state;
  cuzk_free(fixture_params("window-2kib", NULL));
  cuzk_free(fixture_params("winning-2kib", NULL));
  open_prover(NULL);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  cuzk_prover_real_destroy(&real);
  return 0;
}

#define OK(expr)                                                                              \
  do {                                                                                        \
    const enum cuzk_status st_ = (expr);                                                      \
    if (st_ != CUZK_OK) fail_msg("%s: %s: %s", #expr, cuzk_status_name(st_), d.text);         \
  } while (0)

struct job {
  struct cuzk_plan plan;
  void *inputs, *srs;
};

static void job_open(struct job *j, struct fixture_request *r) {
  OK(prover.ops->admit(prover.self, &r->rq, &j->plan, &d));
  OK(prover.ops->open(prover.self, &r->rq, &j->plan, &j->inputs, NULL, &d));
  fixture_clear(r); /* nothing of it is needed any more */
  OK(prover.ops->srs_load(prover.self, j->plan.circuit_id, &j->srs, NULL, &d));
}

static void job_close(struct job *j) {
  prover.ops->close(prover.self, j->inputs);
  prover.ops->srs_unload(prover.self, j->srs);
}

static void prove(const struct job *j, unsigned partition, uint8_t proof[CUZK_PROOF_LEN]) {
  void *work, *pending;
  struct cuzk_kernel_times t;
  OK(prover.ops->synth(prover.self, j->inputs, j->srs, partition, &work, NULL, &d));
  OK(prover.ops->start(prover.self, work, 0, &pending, &d));
  OK(prover.ops->kernels(prover.self, pending, &t, &d));
  OK(prover.ops->finish(prover.self, pending, proof, &d));
}

static void proofs_hold(void **state) {
  void (*const fill[])(struct fixture_request *) = {fixture_window, fixture_winning};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct fixture_request r;
    struct job j;
    uint8_t a[CUZK_PROOF_LEN], b[CUZK_PROOF_LEN];
    bool ok = false;
    fill[i](&r);
    job_open(&j, &r);
    prove(&j, 0, a);
    prove(&j, 0, b);
    assert_memory_not_equal(a, b, sizeof a); /* other blinding values */
    OK(prover.ops->verify(prover.self, j.inputs, j.srs, a, 1, &ok, &d));
    assert_true(ok);
    ok = false;
    OK(prover.ops->verify(prover.self, j.inputs, j.srs, b, 1, &ok, &d));
    assert_true(ok);
    /* A of one and the rest of the other: points as they should be, but no proof */
    memcpy(a, b, 48);
    OK(prover.ops->verify(prover.self, j.inputs, j.srs, a, 1, &ok, &d));
    assert_false(ok);
    a[0] ^= 0x20;
    ok = true;
    OK(prover.ops->verify(prover.self, j.inputs, j.srs, a, 1, &ok, &d));
    assert_false(ok);
    memset(a, 0, sizeof a);
    ok = true;
    OK(prover.ops->verify(prover.self, j.inputs, j.srs, a, 1, &ok, &d)); /* no points at all */
    assert_false(ok);
    assert_int_equal(prover.ops->verify(prover.self, j.inputs, j.srs, a, 2, (bool[2]){0}, &d), CUZK_E_INTERNAL);
    job_close(&j);
  }
  cuzk_prover_real_destroy(&real); /* which keeps the compact circuits */
  open_prover(NULL);               /* and reads them from the folder next time */
  struct fixture_request r;
  struct job j;
  uint8_t a[CUZK_PROOF_LEN];
  bool ok = false;
  fixture_window(&r);
  job_open(&j, &r);
  assert_non_null(real->compact[cuzk_prover_row_find("wpost-2k") - cuzk_prover_rows].file.data);
  prove(&j, 0, a);
  OK(prover.ops->verify(prover.self, j.inputs, j.srs, a, 1, &ok, &d));
  assert_true(ok);
  job_close(&j);
}

static void open_bad_inputs(void) {
  struct fixture_request r;
  struct cuzk_plan plan;
  void *inputs;
  const atomic_bool stop = true;
  fixture_window(&r);
  r.randomness[0] ^= 1;
  OK(prover.ops->admit(prover.self, &r.rq, &plan, &d));
  assert_int_equal(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d), CUZK_E_MISMATCH);
  assert_null(inputs);
  r.randomness[0] ^= 1;
  r.payload[1].data[200] ^= 1;
  assert_int_equal(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d), CUZK_E_MISMATCH);
  r.payload[1].data[200] ^= 1;
  plan.n_partitions = 2;
  assert_int_equal(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d), CUZK_E_MISMATCH);
  plan.n_partitions = 1;
  assert_int_equal(prover.ops->open(prover.self, &r.rq, &plan, &inputs, &stop, &d), CUZK_E_CANCELLED);
  fixture_clear(&r);
  /* another miner's sector */
  fixture_porep(&r, "s2k/porep-10.curio.json", 1002, 10);
  (void)memset(&plan, 0, sizeof plan);
  (void)snprintf(plan.circuit_id, sizeof plan.circuit_id, "porep-2k");
  plan.n_partitions = 1;
  assert_int_equal(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d), CUZK_E_MISMATCH);
  r.rq.f.miner_id = 1001;
  OK(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d));
  prover.ops->close(prover.self, inputs);
  fixture_clear(&r);
  fixture_update(&r);
  (void)snprintf(plan.circuit_id, sizeof plan.circuit_id, "snap-2k");
  OK(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d));
  prover.ops->close(prover.self, inputs);
  r.comm_r_old[3] ^= 4;
  assert_int_equal(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d), CUZK_E_MISMATCH);
  fixture_clear(&r);
}

static void bad_inputs_are_found(void **state) {
  (void)state;
  open_bad_inputs(); /* makes hash constants that stay */
  const int64_t live = cuzk_alloc_live();
  open_bad_inputs();
  assert_int_equal(cuzk_alloc_live(), live);
}

static void works_are_dropped(void **state) {
  struct fixture_request r;
  struct job window, winning;
  void *work, *pending;
  struct cuzk_kernel_times t;
  uint8_t proof[CUZK_PROOF_LEN];
  const atomic_bool stop = true;
  (void)state;
  fixture_window(&r);
  job_open(&window, &r);
  fixture_winning(&r);
  job_open(&winning, &r);
  const int64_t live = cuzk_alloc_live();
  assert_int_equal(prover.ops->synth(prover.self, window.inputs, winning.srs, 0, &work, NULL, &d), CUZK_E_INTERNAL);
  assert_int_equal(prover.ops->synth(prover.self, window.inputs, window.srs, 1, &work, NULL, &d), CUZK_E_ARG);
  assert_int_equal(prover.ops->synth(prover.self, window.inputs, window.srs, 0, &work, &stop, &d), CUZK_E_CANCELLED);
  OK(prover.ops->synth(prover.self, window.inputs, window.srs, 0, &work, NULL, &d));
  prover.ops->drop(prover.self, work);
  assert_int_equal(cuzk_alloc_live(), live);
  OK(prover.ops->synth(prover.self, window.inputs, window.srs, 0, &work, NULL, &d));
  OK(prover.ops->start(prover.self, work, 0, &pending, &d));
  assert_int_equal(prover.ops->device_reset(prover.self, 0, &d), CUZK_E_DEVICE); /* in use */
  prover.ops->abort(prover.self, pending);
  OK(prover.ops->synth(prover.self, window.inputs, window.srs, 0, &work, NULL, &d));
  OK(prover.ops->start(prover.self, work, 0, &pending, &d));
  assert_int_equal(prover.ops->finish(prover.self, pending, proof, &d), CUZK_E_INTERNAL); /* without kernels */
  OK(prover.ops->device_reset(prover.self, 0, &d));
  assert_int_equal(cuzk_alloc_live(), live); /* the key went with the reset ... */
  prove(&window, 0, proof);                  /* ... and comes back */
  job_close(&window);
  job_close(&winning);
  /* interrupted for good */
  fixture_window(&r);
  job_open(&window, &r);
  cuzk_prover_real_interrupt(real);
  OK(prover.ops->synth(prover.self, window.inputs, window.srs, 0, &work, NULL, &d));
  OK(prover.ops->start(prover.self, work, 0, &pending, &d));
  assert_int_equal(prover.ops->kernels(prover.self, pending, &t, &d), CUZK_E_CANCELLED);
  prover.ops->abort(prover.self, pending);
  job_close(&window);
  cuzk_prover_real_destroy(&real);
  open_prover("");
}

static void parameters_of_another_circuit(void **state) {
  char id[200], *window, *winning, *kept;
  void *srs;
  (void)state;
  window = fixture_params("window-2kib", NULL);
  winning = fixture_params("winning-2kib", NULL);
  cuzk_circuit_parameter_id(id, cuzk_circuit_find("window-2kib"));
  assert_int_equal(cuzk_params_file_path(&kept, fixture_folder(), id, "kept"), CUZK_OK);
  assert_int_equal(rename(window, kept), 0);
  assert_int_equal(symlink(winning, window), 0);
  assert_int_equal(prover.ops->srs_load(prover.self, "wpost-2k", &srs, NULL, &d), CUZK_E_MISMATCH);
  assert_null(srs);
  assert_int_equal(unlink(window), 0);
  assert_int_equal(prover.ops->srs_load(prover.self, "wpost-2k", &srs, NULL, &d), CUZK_E_NOENT);
  assert_int_equal(rename(kept, window), 0);
  cuzk_free(window);
  cuzk_free(winning);
  cuzk_free(kept);
}

static void no_memory(void **state) {
  unsigned failed = 0;
  (void)state;
  const int64_t live = cuzk_alloc_live();
  for (uint64_t n = 1;; n += n < 20 ? 1 : 1 + n / 3) {
    struct fixture_request r;
    struct cuzk_plan plan;
    struct cuzk_kernel_times t;
    void *inputs = NULL, *srs = NULL, *work = NULL, *pending = NULL;
    uint8_t proof[CUZK_PROOF_LEN];
    bool ok = false;
    fixture_window(&r);
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = prover.ops->admit(prover.self, &r.rq, &plan, &d);
    if (st == CUZK_OK) st = prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d);
    if (st == CUZK_OK) st = prover.ops->srs_load(prover.self, plan.circuit_id, &srs, NULL, &d);
    if (st == CUZK_OK) st = prover.ops->synth(prover.self, inputs, srs, 0, &work, NULL, &d);
    if (st == CUZK_OK) {
      st = prover.ops->start(prover.self, work, 0, &pending, &d);
      if (st == CUZK_OK) st = prover.ops->kernels(prover.self, pending, &t, &d);
      if (st == CUZK_OK)
        st = prover.ops->finish(prover.self, pending, proof, &d);
      else
        prover.ops->abort(prover.self, pending);
    }
    if (st == CUZK_OK) st = prover.ops->verify(prover.self, inputs, srs, proof, 1, &ok, &d);
    cuzk_alloc_fail_at(0);
    prover.ops->close(prover.self, inputs);
    prover.ops->srs_unload(prover.self, srs);
    fixture_clear(&r);
    if (cuzk_alloc_live() != live) fail_msg("allocation %llu: %lld blocks", (unsigned long long)n, (long long)(cuzk_alloc_live() - live));
    if (st == CUZK_OK) {
      assert_true(ok);
      break;
    }
    if (st != CUZK_E_NOMEM) fail_msg("allocation %llu: %s: %s", (unsigned long long)n, cuzk_status_name(st), d.text);
    failed++;
  }
  assert_true(failed > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_inputs_are_found), cmocka_unit_test(proofs_hold),      cmocka_unit_test(works_are_dropped),
      cmocka_unit_test(parameters_of_another_circuit), cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
