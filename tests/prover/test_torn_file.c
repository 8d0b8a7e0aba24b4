/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A parameter file loses its second half while it is mapped: the proof fails, the process lives, and the file put right serves again.
 *  No cmocka test: that library takes SIGBUS for itself while a test runs. */
#include <signal.h>

#include "fixture.h"
#include "prover/internal.h"

static struct cuzk_prover prover;
static struct cuzk_detail d;

#define CHECK(cond)                                                          \
  do {                                                                       \
    if (!(cond)) {                                                           \
      print_error("%s:%d: %s (%s)\n", __FILE__, __LINE__, #cond, d.text);    \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

static enum cuzk_status kernels(void *inputs, void *srs, void **pending) {
  void *work;
  struct cuzk_kernel_times t;
  CHECK(prover.ops->synth(prover.self, inputs, srs, 0, &work, NULL, &d) == CUZK_OK);
  CHECK(prover.ops->start(prover.self, work, 0, pending, &d) == CUZK_OK);
  return prover.ops->kernels(prover.self, *pending, &t, &d);
}

static volatile sig_atomic_t others;
static void other(int sig) {
  (void)sig;
  others = 1;
}

int main(void) {
  struct cuzk_prover_real *real;
  struct fixture_request r;
  struct cuzk_plan plan;
  struct cuzk_file whole;
  void *inputs, *srs, *pending;
  uint8_t proof[CUZK_PROOF_LEN];
  bool ok = false;
  const char *const devices[] = {"cpu"};
  (void)signal(SIGBUS, other);
  char *path = fixture_params("window-2kib", NULL);
  const struct cuzk_prover_real_options o = {
      .param_dir = fixture_folder(), .circuit_dir = "", .devices = devices, .n_devices = 1, .synth_threads = 2, .device_threads = 2};
  CHECK(cuzk_prover_real_create(&real, &o, &d) == CUZK_OK);
  prover = cuzk_prover_real_ops(real);
  CHECK(cuzk_file_read(&whole, path, UINT64_C(1) << 32, &d) == CUZK_OK);
  fixture_window(&r);
  CHECK(prover.ops->admit(prover.self, &r.rq, &plan, &d) == CUZK_OK);
  CHECK(prover.ops->open(prover.self, &r.rq, &plan, &inputs, NULL, &d) == CUZK_OK);
  CHECK(prover.ops->srs_load(prover.self, "wpost-2k", &srs, NULL, &d) == CUZK_OK);
  CHECK(truncate(path, (off_t)(whole.n / 2)) == 0);
  CHECK(kernels(inputs, srs, &pending) == CUZK_E_IO);
  CHECK(strstr(d.text, "cut short"));
  prover.ops->abort(prover.self, pending);
  prover.ops->srs_unload(prover.self, srs);
  CHECK(prover.ops->srs_load(prover.self, "wpost-2k", &srs, NULL, &d) == CUZK_E_FORMAT);
  CHECK(cuzk_file_write(path, whole.data, whole.n, &d) == CUZK_OK);
  CHECK(prover.ops->srs_load(prover.self, "wpost-2k", &srs, NULL, &d) == CUZK_OK);
  CHECK(kernels(inputs, srs, &pending) == CUZK_OK);
  CHECK(prover.ops->finish(prover.self, pending, proof, &d) == CUZK_OK);
  CHECK(prover.ops->verify(prover.self, inputs, srs, proof, 1, &ok, &d) == CUZK_OK && ok);
  /* what is not ours goes where it went before */
  CHECK(!others);
  CHECK(raise(SIGBUS) == 0);
  CHECK(others);
  prover.ops->close(prover.self, inputs);
  prover.ops->srs_unload(prover.self, srs);
  fixture_clear(&r);
  cuzk_file_clear(&whole);
  cuzk_free(path);
  cuzk_prover_real_destroy(&real);
  return 0;
}
