/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Values of all variables for the bundled sectors against the reference's records. */
#include "witness_fixture.h"

#include "base/alloc.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include "packed_check.h"

static struct cuzk_pool *pool;

static void hash_values(char out[65], const cuzk_fr *const *x, unsigned n_arrays, uint64_t from, uint64_t to) {
  struct cuzk_sha256 s;
  uint8_t d[32];
  cuzk_sha256_init(&s);
  for (uint64_t i = from; i < to; i++)
    for (unsigned k = 0; k < n_arrays; k++) {
      cuzk_fr_to_le(d, &x[k][i]);
      cuzk_sha256_update(&s, d, 32);
    }
  cuzk_sha256_final(&s, d);
  hex32(out, d);
}

/* The row and region of a wrong bit, and values of another circuit. */
static void check_wrong_bit(const struct cuzk_circuit *c, struct cuzk_packed *z) {
  struct cuzk_value_digests v;
  uint32_t j = z->n_aux / 2;
  while (cuzk_packed_is_field(z, j)) j++;
  z->bits[j / 64] ^= (uint64_t)1 << (j % 64);
  assert_int_equal(cuzk_circuit_value_digests(&v, c, z, pool, NULL, NULL), CUZK_OK);
  assert_true(v.bad_row < v.n_rows && v.region[0]);
  cuzk_circuit_value_digests_clear(&v);
  z->n_aux--;
  struct cuzk_detail d = {""};
  assert_int_equal(cuzk_circuit_value_digests(&v, c, z, pool, NULL, &d), CUZK_E_ARG);
  z->n_aux++;
}

/* The same by way of packed values. */
static void check_digests(const struct cuzk_circuit *c, const void *witness, const json_t *r) {
  char hex[65];
  struct cuzk_packed z;
  struct cuzk_value_digests v;
  assert_int_equal(cuzk_circuit_assign_packed(c, witness, &z, pool, NULL, NULL), CUZK_OK);
  assert_int_equal(cuzk_circuit_value_digests(&v, c, &z, pool, NULL, NULL), CUZK_OK);
  hex32(hex, v.aux_sha256);
  assert_string_equal(hex, fixture_text(r, "aux_sha256"));
  hex32(hex, v.abc_sha256);
  assert_string_equal(hex, fixture_text(r, "abc_eval_sha256"));
  assert_int_equal(v.zeros, fixture_number(r, "aux_zeros"));
  assert_int_equal(v.ones, fixture_number(r, "aux_ones"));
  const json_t *blocks = json_object_get(r, "aux_block_sha256");
  assert_int_equal(v.n_blocks, json_array_size(blocks));
  for (size_t i = 0; i < v.n_blocks; i++) {
    hex32(hex, v.blocks + 32 * i);
    assert_string_equal(hex, json_string_value(json_array_get(blocks, i)));
  }
  assert_int_equal(v.n_rows, fixture_number(r, "num_constraints"));
  assert_true(v.bad_row == UINT64_MAX);
  cuzk_circuit_value_digests_clear(&v);
  if (c->kind == CUZK_KIND_WINDOW) check_wrong_bit(c, &z);
  cuzk_packed_clear(&z);
}

static void check(const char *record, const void *witness) {
  char path[200], hex[65], region[512];
  struct cuzk_assignment a;
  cuzk_fr *abc[3];
  uint64_t bad;
  snprintf(path, sizeof path, "sectors/%s.witness.json", record);
  json_t *r = fixture_load(path);
  const struct cuzk_circuit *c = cuzk_circuit_find(fixture_text(r, "circuit"));
  assert_non_null(c);
  const uint64_t n = fixture_number(r, "num_constraints");
  for (int k = 0; k < 3; k++) assert_non_null(abc[k] = cuzk_malloc_array(n, sizeof(cuzk_fr)));
  struct cuzk_detail d = {""};
  if (cuzk_circuit_assign(c, witness, &a, abc, true, &bad, region, NULL, &d) != CUZK_OK) fail_msg("%s: %s", record, d.text);
  if (bad != UINT64_MAX) fail_msg("%s: row %llu in %s does not hold", record, (unsigned long long)bad, region);
  const json_t *in = json_object_get(r, "public_inputs_le");
  assert_int_equal(a.n_inputs, json_array_size(in) + 1);
  for (uint32_t i = 1; i < a.n_inputs; i++) {
    cuzk_fr want;
    fr_of_hex(&want, json_string_value(json_array_get(in, i - 1)));
    if (!cuzk_fr_eq(&want, &a.inputs[i])) fail_msg("%s: public input %u differs", record, i);
  }
  const cuzk_fr *const aux = a.aux;
  const json_t *blocks = json_object_get(r, "aux_block_sha256");
  const uint64_t block = fixture_number(r, "aux_block");
  for (size_t i = 0; i < json_array_size(blocks); i++) {
    const uint64_t to = (i + 1) * block < a.n_aux ? (i + 1) * block : a.n_aux;
    hash_values(hex, &aux, 1, i * block, to);
    if (!strcmp(hex, json_string_value(json_array_get(blocks, i)))) continue;
    char where[1000];
    assert_int_equal(cuzk_circuit_regions(c, true, i * block, block, where, sizeof where, NULL), CUZK_OK);
    fail_msg("%s: block %zu of values differs: %s", record, i, where);
  }
  hash_values(hex, &aux, 1, 0, a.n_aux);
  assert_string_equal(hex, fixture_text(r, "aux_sha256"));
  hash_values(hex, (const cuzk_fr *const *)abc, 3, 0, n);
  assert_string_equal(hex, fixture_text(r, "abc_eval_sha256"));
  struct cuzk_assignment only;
  assert_int_equal(cuzk_circuit_assign(c, witness, &only, NULL, false, NULL, NULL, NULL, NULL), CUZK_OK);
  assert_memory_equal(only.aux, a.aux, a.n_aux * sizeof(cuzk_fr));
  cuzk_assignment_clear(&only);
  packed_check(c, witness, &a, pool);
  if (c->kind != CUZK_KIND_POREP || c->sector_bytes == 2048) check_digests(c, witness, r);
  cuzk_assignment_clear(&a);
  for (int k = 0; k < 3; k++) cuzk_free(abc[k]);
  json_decref(r);
  arena_clear();
}

static void porep_sectors(void **state) {
  (void)state;
  check("s2k/porep-10.p0", read_porep("sectors/s2k/porep-10.c1.json", 0));
  check("s2k/porep-13.p1", read_porep("sectors/s2k/porep-13.c1.json", 1));
  check("s16k/porep-10.p0", read_porep("sectors/s16k/porep-10.c1.json", 0));
  check("s32k/porep-11.p0", read_porep("sectors/s32k/porep-11.c1.json", 0));
}

static void window_sectors(void **state) {
  (void)state;
  static const struct {
    const char *record, *first, *second;
  } sets[] = {{"s2k/window.p0", "s2k/window-10.vanilla.bin", "s2k/window-11.vanilla.bin"},
              {"s16k/window.p0", "s16k/window-10.vanilla.bin", "s16k/window-11.vanilla.bin"},
              {"s32k/window.p0", "s32k/window-10.vanilla.bin", "s32k/window-11.vanilla.bin"},
              {"x2k/window1.p0", "x2k/window1-1048576.vanilla.bin", "x2k/window1-1048576.vanilla.bin"}};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    struct cuzk_post_sector s[2] = {read_post(sets[i].first), read_post(sets[i].second)};
    const struct cuzk_post_partition p = {2, s};
    check(sets[i].record, &p);
  }
}

static void winning_sectors(void **state) {
  (void)state;
  static const char *const folders[] = {"s2k", "s16k", "s32k"};
  for (int i = 0; i < 3; i++) {
    char path[100], record[100];
    snprintf(path, sizeof path, "%s/winning-10.vanilla.bin", folders[i]);
    snprintf(record, sizeof record, "%s/winning.p0", folders[i]);
    const struct cuzk_post_sector real = read_post(path);
    struct cuzk_post_sector s[66];
    assert_int_equal(real.n_challenges, 66);
    for (unsigned k = 0; k < 66; k++) {
      s[k] = real;
      s[k].n_challenges = 1;
      s[k].challenges = &real.challenges[k];
    }
    const struct cuzk_post_partition p = {66, s};
    check(record, &p);
  }
}

static void updated_sectors(void **state) {
  (void)state;
  static const char *const names[] = {"s2k/update.p0", "s16k/update.p1"};
  for (int i = 0; i < 2; i++) {
    char path[100], record[100];
    snprintf(path, sizeof path, "%s.vanilla.bin", names[i]);
    snprintf(record, sizeof record, "sectors/%s.witness.json", names[i]);
    json_t *r = fixture_load(record);
    const struct cuzk_update_partition *u = read_update(path, r);
    json_decref(r);
    check(names[i], u);
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(porep_sectors), cmocka_unit_test(window_sectors),
                                     cmocka_unit_test(winning_sectors), cmocka_unit_test(updated_sectors)};
  assert_int_equal(cuzk_pool_create(&pool, 3), CUZK_OK);
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_pool_destroy(&pool);
  cuzk_poseidon_release();
  return rc;
}
