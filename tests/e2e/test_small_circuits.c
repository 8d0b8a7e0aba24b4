/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Gadgets all the way: parameters, witness, proof, verification, as the program does it; and once more for each allocation on
 * that way, with that allocation failing. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "circuits/circuit.h"
#include "groth16/prove.h"
#include "testing.h"

static struct cuzk_pool *pool;
static char path[] = "/tmp/cuzk-small-XXXXXX";

static void fixed_toxic(struct cuzk_toxic *t) {
  cuzk_fr_from_u64(&t->alpha, 11);
  cuzk_fr_from_u64(&t->beta, 12);
  cuzk_fr_from_u64(&t->gamma, 13);
  cuzk_fr_from_u64(&t->delta, 14);
  cuzk_fr_from_u64(&t->tau, 1234567);
}

/* Everything between a circuit's name and the verifier's answer. */
static enum cuzk_status run(const struct cuzk_circuit *c, bool *ok, bool *other, struct cuzk_detail *d) {
  struct cuzk_toxic toxic;
  struct cuzk_shape shape = {0};
  struct cuzk_params *params = NULL;
  struct cuzk_assignment z = {0};
  struct cuzk_pvk *pvk = NULL;
  struct cuzk_proof proof;
  cuzk_fr *abc[3] = {NULL, NULL, NULL}, r, s;
  size_t bytes = 0;
  uint64_t bad_row = 0;
  char region[512];
  const struct cuzk_system system = cuzk_circuit_system(c);
  enum cuzk_status st;
  *ok = *other = false;
  fixed_toxic(&toxic);
  cuzk_fr_from_u64(&r, 77);
  cuzk_fr_from_u64(&s, 78);
  CUZK_TRY(cuzk_params_generate(path, &system, &toxic, NULL, pool, NULL, d));
  CUZK_TRY(cuzk_params_open(&params, path, d));
  CUZK_TRY(cuzk_shape_of(&shape, &system, d));
  CUZK_TRY(cuzk_params_match(params, &shape, d));
  CUZK_TRY(cuzk_params_check(params, true, pool, NULL, d));
  bytes = sizeof(cuzk_fr) << cuzk_shape_log2_domain(&shape);
  for (int i = 0; i < 3; i++) {
    abc[i] = cuzk_big_alloc(bytes);
    if (!abc[i]) {
      st = cuzk_fail(d, CUZK_E_NOMEM, "rows");
      goto out;
    }
  }
  CUZK_TRY(cuzk_circuit_assign(c, NULL, &z, abc, true, &bad_row, region, NULL, d));
  if (bad_row != UINT64_MAX) {
    st = cuzk_fail(d, CUZK_E_UNSAT, "row %llu in %s", (unsigned long long)bad_row, region);
    goto out;
  }
  CUZK_TRY(cuzk_groth16_prove(&proof, params, &shape, &z, abc, &r, &s, pool, NULL, NULL, d));
  CUZK_TRY(cuzk_pvk_create(&pvk, &params->vk));
  CUZK_TRY(cuzk_groth16_verify_batch(ok, pvk, &proof, 1, z.inputs + 1, z.n_inputs - 1, pool, d));
  cuzk_g1_affine_neg(&proof.a, &proof.a);
  CUZK_TRY(cuzk_groth16_verify(other, pvk, &proof, z.inputs + 1, z.n_inputs - 1, d));
out:
  for (int i = 0; i < 3; i++)
    if (abc[i]) cuzk_big_free(abc[i], bytes);
  cuzk_pvk_destroy(&pvk);
  cuzk_assignment_clear(&z);
  cuzk_params_close(&params);
  cuzk_shape_clear(&shape);
  return st;
}

static void proves(const char *name) {
  struct cuzk_detail d = {{0}};
  bool ok, other;
  const struct cuzk_circuit *c = cuzk_circuit_find(name);
  assert_non_null(c);
  const enum cuzk_status st = run(c, &ok, &other, &d);
  if (st != CUZK_OK) printf("%s: %s: %s\n", name, cuzk_status_name(st), d.text);
  assert_int_equal(st, CUZK_OK);
  assert_true(ok);
  assert_false(other);
}

static void test_gadgets_prove(void **state) {
  (void)state;
  proves("bits-8");
  proves("boolean-ops");
  proves("num-ops");
  proves("conditionally-reverse");
  proves("insert-8");
  proves("poseidon-hash2");
  proves("poseidon-md-8");
}

static void test_every_allocation_failing(void **state) {
  (void)state;
  static const char *const names[] = {"bits-8", "num-ops"};
  for (size_t i = 0; i < 2; i++) {
    const struct cuzk_circuit *c = cuzk_circuit_find(names[i]);
    bool ok, other;
    struct cuzk_detail d;
    /* tables that are made once and kept are made before anything is counted */
    assert_int_equal(run(c, &ok, &other, NULL), CUZK_OK);
    cuzk_alloc_fail_at(0);
    const int64_t live = cuzk_alloc_live();
    assert_int_equal(run(c, &ok, &other, NULL), CUZK_OK);
    const uint64_t n = cuzk_alloc_count();
    assert_true(n > 10);
    assert_int_equal(cuzk_alloc_live(), live);
    for (uint64_t k = 1; k <= n; k++) {
      d.text[0] = 0;
      cuzk_alloc_fail_at(k);
      const enum cuzk_status st = run(c, &ok, &other, &d);
      const uint64_t tried = cuzk_alloc_count();
      cuzk_alloc_fail_at(0);
      /* with several threads a few allocations more or less may be needed: then the k-th was never asked for */
      if (st == CUZK_OK) {
        assert_true(tried < k);
        assert_true(ok);
      } else {
        assert_int_equal(st, CUZK_E_NOMEM);
      }
      assert_false(other);
      assert_int_equal(cuzk_alloc_live(), live);
    }
  }
}

int main(void) {
  test_seed();
  const int fd = mkstemp(path);
  if (fd < 0 || close(fd) != 0) return 1;
  if (cuzk_pool_create(&pool, 2) != CUZK_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gadgets_prove),
      cmocka_unit_test(test_every_allocation_failing),
  };
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  (void)unlink(path);
  return rc;
}
