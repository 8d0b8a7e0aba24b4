/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** PoRep, SnapDeals, WindowPoSt and WinningPoSt of 2 KiB sectors at once in one engine, on the CPU, with a journal. The engine verifies
 *  each before it is handed out. */
#include <cuzk/cuzk.h>

#include "../prover/fixture.h"

static void fill_porep(struct fixture_request *r) { fixture_porep(r, "s2k/porep-11.c1.json", 1001, 11); }

static void all_kinds_at_once(void **state) {
  static const char *const circuits[] = {"porep-2kib", "update-2kib", "window-2kib", "winning-2kib"};
  void (*const fill[])(struct fixture_request *) = {fill_porep, fixture_update, fixture_window, fixture_winning};
  struct libcuzk *e;
  struct libcuzk_error error = {0};
  char *job[4], folder[100];
  struct cuzk_pool *pool;
  (void)state;
  assert_int_equal(cuzk_pool_create(&pool, 0), CUZK_OK);
  for (size_t i = 0; i < 4; i++) cuzk_free(fixture_params(circuits[i], pool));
  cuzk_pool_destroy(&pool);
  (void)snprintf(folder, sizeof folder, "%s/state", fixture_folder());
  const struct libcuzk_options o = {
      .size = sizeof o, .param_dir = fixture_folder(), .state_dir = folder, .devices = "cpu", .memory_bytes = UINT64_C(6) << 30};
  if (libcuzk_open(&e, &o, &error) != CUZK_OK) fail_msg("open: %s", error.text);
  for (size_t i = 0; i < 4; i++) {
    struct fixture_request r;
    struct libcuzk_bytes list[8];
    fill[i](&r);
    for (size_t k = 0; k < r.rq.f.n_vanilla_proofs; k++) list[k] = (struct libcuzk_bytes){r.list[k].data, r.list[k].n};
    const struct libcuzk_request q = {.size = sizeof q,
                                      .kind = r.rq.f.kind,
                                      .registered_proof = r.rq.f.registered_proof,
                                      .vanilla_proof = {r.rq.f.vanilla_proof.data, r.rq.f.vanilla_proof.n},
                                      .vanilla_proofs = list,
                                      .n_vanilla_proofs = r.rq.f.n_vanilla_proofs,
                                      .sector_number = r.rq.f.sector_number,
                                      .miner_id = r.rq.f.miner_id,
                                      .randomness = {r.rq.f.randomness.data, r.rq.f.randomness.n},
                                      .comm_r_old = {r.rq.f.comm_r_old.data, r.rq.f.comm_r_old.n},
                                      .comm_r_new = {r.rq.f.comm_r_new.data, r.rq.f.comm_r_new.n},
                                      .comm_d_new = {r.rq.f.comm_d_new.data, r.rq.f.comm_d_new.n}};
    if (libcuzk_submit(e, &q, &job[i], &error) != CUZK_OK) fail_msg("%s: %s", circuits[i], error.text);
    fixture_clear(&r);
  }
  for (size_t i = 0; i < 4; i++) {
    struct libcuzk_result result = {.size = sizeof result};
    assert_int_equal(libcuzk_await(e, job[i], UINT64_MAX, &result, &error), CUZK_OK);
    if (result.state != LIBCUZK_COMPLETED) fail_msg("%s: %s", circuits[i], result.error);
    assert_int_equal(result.proof_bytes, 192);
    libcuzk_free(result.proof);
    libcuzk_free(result.error);
    libcuzk_free(job[i]);
  }
  libcuzk_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_kinds_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
