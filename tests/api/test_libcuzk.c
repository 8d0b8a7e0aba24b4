/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** libcuzk as its users have it: PoSt of 2 KiB sectors proved by the whole engine on the CPU, with and without a state folder; what is refused. */
#include <cuzk/cuzk.h>

#include "../prover/fixture.h"

static struct libcuzk_error error;

static int setup(void **state) {
  (void)state;
  cuzk_free(fixture_params("window-2kib", NULL));
  cuzk_free(fixture_params("winning-2kib", NULL));
  return 0;
}

static struct libcuzk *open_engine(const char *state_dir) {
  struct libcuzk *e;
  const struct libcuzk_options o = {.size = sizeof o,
                                    .param_dir = fixture_folder(),
                                    .state_dir = state_dir,
                                    .devices = "cpu",
                                    .memory_bytes = UINT64_C(4) << 30,
                                    .threads = 2,
                                    .partitions_at_once = 2};
  if (libcuzk_open(&e, &o, &error) != CUZK_OK) fail_msg("open: %s", error.text);
  return e;
}

/* The request of a fixture, as the public struct has it. */
static struct libcuzk_request request_of(const struct fixture_request *r, struct libcuzk_bytes list[8], const char *id) {
  for (size_t i = 0; i < r->rq.f.n_vanilla_proofs; i++) list[i] = (struct libcuzk_bytes){r->list[i].data, r->list[i].n};
  return (struct libcuzk_request){.size = sizeof(struct libcuzk_request),
                                  .request_id = id,
                                  .kind = r->rq.f.kind,
                                  .registered_proof = r->rq.f.registered_proof,
                                  .vanilla_proofs = list,
                                  .n_vanilla_proofs = r->rq.f.n_vanilla_proofs,
                                  .miner_id = r->rq.f.miner_id,
                                  .randomness = {r->randomness, 32}};
}

static void prove(struct libcuzk *e, void (*fill)(struct fixture_request *), const char *id) {
  struct fixture_request r;
  struct libcuzk_bytes list[8];
  struct libcuzk_result result = {.size = sizeof result};
  char *job;
  fill(&r);
  const struct libcuzk_request q = request_of(&r, list, id);
  if (libcuzk_submit(e, &q, &job, &error) != CUZK_OK) fail_msg("submit: %s", error.text);
  if (id[0]) assert_memory_equal(job, id, strlen(id)); /* the end of an earlier run may still have the name: then "first~..." */
  fixture_clear(&r);
  assert_int_equal(libcuzk_await(e, job, UINT64_MAX, &result, &error), CUZK_OK);
  if (result.state != LIBCUZK_COMPLETED) fail_msg("%s", result.error);
  assert_int_equal(result.proof_bytes, 192);
  libcuzk_free(result.proof);
  libcuzk_free(result.error);
  libcuzk_free(job);
}

static void proofs(void **state) {
  char folder[100], *text;
  (void)state;
  (void)snprintf(folder, sizeof folder, "%s/state", fixture_folder());
  const char *const folders[] = {NULL, folder, folder};
  for (size_t i = 0; i < 3; i++) {
    struct libcuzk *e = open_engine(folders[i]);
    assert_int_equal(libcuzk_preload(e, "winning-2k", UINT64_MAX, &error), CUZK_OK);
    prove(e, fixture_window, "first");
    prove(e, fixture_winning, "");
    assert_int_equal(libcuzk_status_json(e, &text, &error), CUZK_OK);
    assert_non_null(strstr(text, "\"memory\""));
    libcuzk_free(text);
    assert_int_equal(libcuzk_metrics(e, &text, &error), CUZK_OK);
    assert_non_null(strstr(text, "window_post"));
    libcuzk_free(text);
    libcuzk_close(&e);
    assert_null(e);
  }
}

static void refusals(void **state) {
  struct fixture_request r;
  struct libcuzk_bytes list[8];
  struct libcuzk *e = NULL;
  char *job = NULL;
  (void)state;
  struct {
    struct libcuzk_options o;
    char newer[8];
  } large = {.o = {.size = sizeof large}};
  assert_string_equal(libcuzk_version(), "0.1.0");
  large.newer[3] = 1;
  assert_int_equal(libcuzk_open(&e, &large.o, &error), CUZK_E_ARG);
  assert_null(e);
  large.o.size = 0;
  assert_int_equal(libcuzk_open(&e, &large.o, NULL), CUZK_E_ARG);
  large.o = (struct libcuzk_options){.size = sizeof large.o, .devices = "cpu, cuda:99"};
  assert_int_equal(libcuzk_open(&e, &large.o, &error), CUZK_E_ARG);
  assert_non_null(strstr(error.text, "no device \"cuda:99\""));
  e = open_engine(NULL);
  fixture_window(&r);
  struct libcuzk_request q = request_of(&r, list, "x");
  q.priority = 5;
  assert_int_equal(libcuzk_submit(e, &q, &job, &error), CUZK_E_ARG);
  q.priority = 0;
  q.kind = 9;
  assert_int_equal(libcuzk_submit(e, &q, &job, &error), CUZK_E_ARG);
  assert_int_equal(error.status, CUZK_E_ARG);
  q.kind = LIBCUZK_WINDOW_POST;
  q.registered_proof = 13;
  assert_int_equal(libcuzk_submit(e, &q, &job, &error), CUZK_E_FORMAT);
  assert_null(job);
  /* taken, and found to be wrong when it is opened */
  struct libcuzk_result result = {.size = sizeof result};
  q.registered_proof = 10;
  r.randomness[0] ^= 1;
  assert_int_equal(libcuzk_submit(e, &q, &job, &error), CUZK_OK);
  assert_int_equal(libcuzk_await(e, job, UINT64_MAX, &result, &error), CUZK_OK);
  assert_int_equal(result.state, LIBCUZK_FAILED);
  assert_memory_equal(result.error, "bad_input: ", 11);
  assert_null(result.proof);
  libcuzk_free(result.error);
  libcuzk_free(job);
  fixture_clear(&r);
  assert_int_equal(libcuzk_await(e, "nobody", 0, &result, &error), CUZK_E_NOENT);
  assert_int_equal(libcuzk_cancel(e, "nobody", &error), CUZK_E_NOENT);
  assert_int_equal(libcuzk_preload(e, "porep-3k", 0, &error), CUZK_E_ARG);
  assert_int_equal(libcuzk_evict(e, "porep-3k", &error), CUZK_E_ARG);
  assert_int_equal(libcuzk_preload(e, "porep-2k", 1000, &error), CUZK_E_NOENT);
  libcuzk_close(&e);
  libcuzk_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(proofs), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, setup, NULL);
}
