/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Packed values on several threads, when they fail and when they are cancelled. Every bundled sector and gadget is compared in
 * test_witness_records and test_gadget_fixtures. */
#include "testing.h"

#include "hash/poseidon.h"
#include "made_witness.h"
#include "packed_check.h"

static struct made_witness m;
static struct cuzk_pool *pool;

static const struct cuzk_circuit *made(const char *name) {
  const struct cuzk_circuit *c = cuzk_circuit_find(name);
  assert_non_null(c);
  assert_true(made_fill(&m, c, test_rand()));
  return c;
}

/* Nothing holds for such values, so cases come up that no real witness has. */
static void made_up_values_of_every_kind(void **state) {
  (void)state;
  static const char *const names[] = {"porep-2kib", "window-2kib", "winning-2kib", "update-2kib"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct cuzk_circuit *c = made(names[i]);
    struct cuzk_assignment a;
    assert_int_equal(cuzk_circuit_assign(c, &m.u, &a, NULL, false, NULL, NULL, NULL, NULL), CUZK_OK);
    packed_check(c, &m.u, &a, pool);
    packed_check(c, &m.u, &a, NULL);
    cuzk_assignment_clear(&a);
    made_clear(&m);
  }
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  const struct cuzk_circuit *c = made("winning-2kib");
  struct cuzk_packed p;
  cuzk_poseidon_release();
  const int64_t live = cuzk_alloc_live();
  uint64_t n = 0;
  enum cuzk_status st;
  do {
    struct cuzk_detail d = {""};
    cuzk_alloc_fail_at(++n);
    st = cuzk_circuit_assign_packed(c, &m.u, &p, pool, NULL, &d);
    cuzk_alloc_fail_at(0);
    if (st == CUZK_OK) break;
    assert_int_equal(st, CUZK_E_NOMEM);
    assert_true(strlen(d.text) > 0);
    assert_null(p.bits);
    cuzk_poseidon_release();
    assert_int_equal(cuzk_alloc_live(), live);
  } while (n < 1000);
  assert_int_equal(st, CUZK_OK);
  assert_true(n > 6);
  cuzk_packed_clear(&p);
  cuzk_packed_clear(&p);
  cuzk_poseidon_release();
  assert_int_equal(cuzk_alloc_live(), live);
  made_clear(&m);
}

static bool stop(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  (void)unit;
  assert_string_equal(stage, "witness");
  assert_true(done <= total);
  (*(unsigned *)user)++;
  return false;
}

static void cancelled_and_misfit_witnesses(void **state) {
  (void)state;
  const struct cuzk_circuit *c = made("window-2kib");
  struct cuzk_packed p;
  unsigned calls = 0;
  struct cuzk_detail d = {""};
  const struct cuzk_progress progress = {stop, &calls};
  assert_int_equal(cuzk_circuit_assign_packed(c, &m.u, &p, NULL, &progress, &d), CUZK_E_CANCELLED);
  assert_int_equal(calls, 1);
  assert_int_equal(cuzk_circuit_assign_packed(c, NULL, &p, pool, NULL, &d), CUZK_E_ARG);
  m.u.post.n_sectors--;
  assert_int_equal(cuzk_circuit_assign_packed(c, &m.u, &p, pool, NULL, &d), CUZK_E_ARG);
  assert_null(p.inputs);
  made_clear(&m);
}

int main(void) {
  test_seed();
  assert_int_equal(cuzk_pool_create(&pool, 4), CUZK_OK);
  const struct CMUnitTest tests[] = {cmocka_unit_test(made_up_values_of_every_kind), cmocka_unit_test(each_allocation_may_fail),
                                     cmocka_unit_test(cancelled_and_misfit_witnesses)};
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  cuzk_poseidon_release();
  return rc;
}
