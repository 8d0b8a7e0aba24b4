/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Synthetic sectors at every size pass all checks, and those of the tree shapes that there are satisfy their circuits. */
#include "synth_files.h"

#include "base/alloc.h"
#include "base/pool.h"

static struct cuzk_pool *pool;

static void assert_satisfied(const struct cuzk_circuit *c, const void *witness, const cuzk_fr *inputs) {
  struct cuzk_assignment a = {0};
  uint64_t bad_row = 0;
  char region[512] = "";
  ok(cuzk_circuit_assign(c, witness, &a, NULL, true, &bad_row, region, NULL, &d));
  if (bad_row != UINT64_MAX) fail_msg("%s: row %llu (%s) does not hold", c->name, (unsigned long long)bad_row, region);
  assert_memory_equal(a.inputs + 1, inputs, (c->n_inputs - 1) * sizeof *inputs);
  cuzk_assignment_clear(&a);
}

static void porep_of(uint64_t sector_bytes, bool satisfied) {
  const struct cuzk_synth o = plain(sector_bytes, 5);
  struct cuzk_c1 *c1;
  char *text;
  size_t n;
  ok(cuzk_synth_porep(&text, &n, &o, pool, &d));
  ok(cuzk_c1_read(&c1, (const uint8_t *)text, n, "synthetic", &d));
  cuzk_free(text);
  ok(cuzk_c1_check(c1, pool, &d));
  ok(cuzk_c1_check_identity(c1, o.miner, o.sector_number, &d));
  if (satisfied) {
    cuzk_fr inputs[64];
    assert_true(c1->circuit->n_inputs <= 64);
    ok(cuzk_c1_public_inputs(inputs, c1, 0, &d));
    assert_satisfied(c1->circuit, &c1->partitions[0], inputs);
  }
  cuzk_c1_free(&c1);
}

static void other_of(enum cuzk_kind kind, uint64_t sector_bytes, unsigned n_sectors, bool satisfied) {
  struct cuzk_synth o = plain(sector_bytes, 6);
  o.n_sectors = n_sectors;
  struct files f = {0};
  ok(generate(kind, &o, pool, &f));
  struct cuzk_inputs *in = open_files(kind, &f);
  ok(cuzk_inputs_check(in, pool, &d));
  for (unsigned k = 0; satisfied && k < in->n_partitions; k++) {
    cuzk_fr *inputs = cuzk_malloc_array(in->circuit->n_inputs, sizeof *inputs);
    assert_non_null(inputs);
    ok(cuzk_inputs_public(inputs, in, k, &d));
    assert_satisfied(in->circuit, cuzk_inputs_witness(in, k), inputs);
    cuzk_free(inputs);
  }
  cuzk_inputs_close(&in);
  files_clear(&f);
}

static void small_shapes_satisfy_their_circuits(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const uint64_t size = all_sizes[i];
    porep_of(size, true);
    other_of(CUZK_KIND_WINNING, size, 0, true);
    other_of(CUZK_KIND_WINDOW, size, 3, true); /* two partitions, the second padded */
    other_of(CUZK_KIND_UPDATE, size, 0, true);
  }
}

static void eight_mebibytes_satisfy_their_circuits(void **state) {
  (void)state;
  const uint64_t size = UINT64_C(8) << 20;
  porep_of(size, true);
  other_of(CUZK_KIND_WINNING, size, 0, true);
  other_of(CUZK_KIND_WINDOW, size, 0, true);
}

static void large_sectors_pass_the_checks(void **state) {
  (void)state;
  for (size_t i = 5; i < 8; i++) {
    const uint64_t size = all_sizes[i];
    porep_of(size, false);
    other_of(CUZK_KIND_WINNING, size, 0, true);
    other_of(CUZK_KIND_WINDOW, size, 70, false);
    other_of(CUZK_KIND_UPDATE, size, 0, false);
  }
}

int main(void) {
  test_seed();
  if (cuzk_pool_create(&pool, 0) != CUZK_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_shapes_satisfy_their_circuits),
      cmocka_unit_test(eight_mebibytes_satisfy_their_circuits),
      cmocka_unit_test(large_sectors_pass_the_checks),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  return failed;
}
