/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Synthetic sectors at every size pass all checks, and those of the tree shapes that there are satisfy their circuits. */
#include "synth_files.h"

#include "base/alloc.h"
#include "base/pool.h"

static struct cuzk_pool *pool;

static void assert_satisfied(const struct cuzk_circuit *c, const void *witness, const cuzk_fr *inputs) {
  struct cuzk_packed z = {0};
  uint64_t bad_row = 0;
  char region[512] = "";
  ok(cuzk_circuit_assign_packed(c, witness, &z, pool, NULL, &d));
  ok(cuzk_circuit_eval(c, &z, NULL, NULL, &bad_row, region, NULL, &d));
  if (bad_row != UINT64_MAX) fail_msg("%s: row %llu (%s) does not hold", c->name, (unsigned long long)bad_row, region);
  assert_int_equal(z.n_inputs, c->n_inputs);
  assert_memory_equal(z.inputs + 1, inputs, (c->n_inputs - 1) * sizeof *inputs);
  cuzk_packed_clear(&z);
}

enum { NONE = -1, ALL = -2 }; /* of the partitions whose circuits are evaluated */

static void porep_of(uint64_t sector_bytes, int partition) {
  const struct cuzk_synth o = plain(sector_bytes, 5);
  struct cuzk_c1 *c1;
  char *text;
  size_t n;
  ok(cuzk_synth_porep(&text, &n, &o, pool, &d));
  ok(cuzk_c1_read(&c1, (const uint8_t *)text, n, "synthetic", &d));
  cuzk_free(text);
  ok(cuzk_c1_check(c1, pool, &d));
  ok(cuzk_c1_check_identity(c1, o.miner, o.sector_number, &d));
  if (partition >= 0) {
    cuzk_fr *inputs = cuzk_malloc_array(c1->circuit->n_inputs, sizeof *inputs);
    assert_non_null(inputs);
    ok(cuzk_c1_public_inputs(inputs, c1, (unsigned)partition, &d));
    assert_satisfied(c1->circuit, &c1->partitions[partition], inputs);
    cuzk_free(inputs);
  }
  cuzk_c1_free(&c1);
}

static void other_of(enum cuzk_kind kind, uint64_t sector_bytes, unsigned n_sectors, int partition) {
  struct cuzk_synth o = plain(sector_bytes, 6);
  o.n_sectors = n_sectors;
  struct files f = {0};
  ok(generate(kind, &o, pool, &f));
  struct cuzk_inputs *in = open_files(kind, &f);
  ok(cuzk_inputs_check(in, pool, &d));
  for (unsigned k = 0; k < in->n_partitions; k++) {
    if (partition != ALL && partition != (int)k) continue;
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
    porep_of(size, 0);
    other_of(CUZK_KIND_WINNING, size, 0, ALL);
    other_of(CUZK_KIND_WINDOW, size, 3, ALL); /* two partitions, the second padded */
    other_of(CUZK_KIND_UPDATE, size, 0, ALL);
  }
}

static void eight_mebibytes_satisfy_their_circuits(void **state) {
  (void)state;
  const uint64_t size = UINT64_C(8) << 20;
  porep_of(size, 0);
  other_of(CUZK_KIND_WINNING, size, 0, ALL);
  other_of(CUZK_KIND_WINDOW, size, 0, ALL);
}

static void large_sectors_pass_the_checks_and_satisfy_circuits(void **state) {
  (void)state;
  for (size_t i = 5; i < 8; i++) {
    const uint64_t size = all_sizes[i];
    porep_of(size, size == UINT64_C(32) << 30 ? 9 : NONE);
    other_of(CUZK_KIND_WINNING, size, 0, ALL);
    other_of(CUZK_KIND_WINDOW, size, 70, NONE);
    other_of(CUZK_KIND_UPDATE, size, 0, size == UINT64_C(64) << 30 ? 15 : NONE);
  }
}

int main(void) {
  test_seed();
  if (cuzk_pool_create(&pool, 0) != CUZK_OK) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_shapes_satisfy_their_circuits),
      cmocka_unit_test(eight_mebibytes_satisfy_their_circuits),
      cmocka_unit_test(large_sectors_pass_the_checks_and_satisfy_circuits),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  return failed;
}
