/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Digests of blank circuits against the reference's. With names of circuits as arguments, those only (the production sizes take
 * a minute each and are not in the default list). */
#include "fixture.h"

#include "base/alloc.h"
#include "hash/poseidon.h"

static const char *const defaults[] = {
    "porep-2kib",  "porep-4kib",   "porep-16kib",   "porep-32kib",   "porep-8mib",   "porep-512mib", "winning-2kib",   "winning-4kib",
    "winning-16kib", "winning-32kib", "winning-8mib", "winning-512mib", "winning-32gib", "winning-64gib", "window-2kib", "window-4kib",
    "window-16kib", "window-32kib", "window-8mib",  "window-512mib", "update-2kib",  "update-4kib",  "update-16kib",   "update-32kib",
};
static const char *const *names = defaults;
static size_t n_names = sizeof defaults / sizeof *defaults;

static void digests_equal_the_records(void **state) {
  (void)state;
  struct cuzk_pool *pool = NULL;
  assert_int_equal(cuzk_pool_create(&pool, 2), CUZK_OK);
  for (size_t i = 0; i < n_names; i++) {
    char path[100], id[200];
    snprintf(path, sizeof path, "circuits/%s.json", names[i]);
    json_t *r = fixture_load(path);
    const struct cuzk_circuit *c = cuzk_circuit_find(names[i]);
    assert_non_null(c);
    struct cuzk_circuit_digest x;
    assert_int_equal(cuzk_circuit_digest(&x, c, pool, NULL, NULL), CUZK_OK);
    fixture_check_digest(c, &x, r);
    cuzk_circuit_parameter_id(id, c);
    assert_string_equal(id, fixture_text(r, "parameter_id"));
    cuzk_circuit_digest_clear(&x);
    json_decref(r);
  }
  cuzk_pool_destroy(&pool);
}

int main(int argc, char **argv) {
  test_seed();
  if (argc > 1) {
    names = (const char *const *)(argv + 1);
    n_names = (size_t)argc - 1;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(digests_equal_the_records)};
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return rc;
}
