/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The device interface on the host's cores: the reference's WindowPoSt proof from its blinding values, byte for byte, and every way in
 *  which a work ends early. */
#include "device/device.h"

#include "../prover/fixture.h"
#include "groth16/prove.h"
#include "inputs/kinds.h"

static struct cuzk_pool *pool;
static struct cuzk_params *params;
static struct cuzk_compact *circuit;
static struct cuzk_shape shape;
static struct cuzk_inputs *inputs;
static cuzk_fr r, s;
static uint8_t want[CUZK_PROOF_BYTES];

static int setup(void **state) {
  struct cuzk_detail d = {{0}};
  struct cuzk_statement statement = {0};
  struct cuzk_blobs blobs = {0};
  (void)state;
  assert_int_equal(cuzk_pool_create(&pool, 3), CUZK_OK);
  char *path = fixture_params("window-2kib", pool);
  assert_int_equal(cuzk_params_open(&params, path, &d), CUZK_OK);
  cuzk_free(path);
  assert_int_equal(cuzk_circuit_compile(&circuit, cuzk_circuit_find("window-2kib"), pool, NULL, &d), CUZK_OK);
  assert_int_equal(cuzk_compact_shape(&shape, circuit, &d), CUZK_OK);
  assert_int_equal(cuzk_statement_load(&statement, &blobs, FIXTURES "sectors/s2k/window.meta.json", &d), CUZK_OK);
  assert_int_equal(cuzk_blobs_add_file(&blobs, FIXTURES "sectors/s2k/window-10.vanilla.bin", &d), CUZK_OK);
  assert_int_equal(cuzk_blobs_add_file(&blobs, FIXTURES "sectors/s2k/window-11.vanilla.bin", &d), CUZK_OK);
  const struct cuzk_input_source from = {.statement = &statement, .vanilla = &blobs};
  assert_int_equal(cuzk_inputs_open(&inputs, cuzk_proof_kind_of(CUZK_KIND_WINDOW), &from, &d), CUZK_OK);
  cuzk_statement_clear(&statement);
  cuzk_blobs_clear(&blobs);
  json_t *j = fixture_json("sectors/s2k/window.p0.proof");
  fixture_fr(&r, j, "r_le");
  fixture_fr(&s, j, "s_le");
  fixture_unhex(want, sizeof want, j, "proof");
  json_decref(j);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  cuzk_inputs_close(&inputs);
  cuzk_shape_clear(&shape);
  cuzk_compact_destroy(&circuit);
  cuzk_params_close(&params);
  cuzk_pool_destroy(&pool);
  return 0;
}

static void witness(struct cuzk_packed *z) {
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_circuit_assign_packed(inputs->circuit, cuzk_inputs_witness(inputs, 0), z, pool, NULL, &d), CUZK_OK);
}

static void a_proof_of_the_reference(void **state) {
  const struct cuzk_device_ops *ops = &cuzk_device_cpu;
  struct cuzk_detail d = {{0}};
  struct cuzk_device *dev;
  struct cuzk_device_key *key;
  struct cuzk_proof proof;
  struct cuzk_work_times t;
  uint8_t bytes[CUZK_PROOF_BYTES];
  uint64_t peak, after;
  (void)state;
  assert_int_equal(ops->open(&dev, 0, pool, 0, &d), CUZK_OK);
  assert_int_equal(ops->key_create(&key, dev, params, circuit, &shape, NULL, &d), CUZK_OK);
  assert_int_equal(ops->key_tier(key), CUZK_KEY_MAPPED);
  assert_int_equal(ops->key_bytes(key), 0);
  ops->work_bytes(&shape, &peak, &after);
  assert_true(peak >= 96 * (UINT64_C(1) << cuzk_shape_log2_domain(&shape)) && after < peak);
  /* two works of one key, finished in another order */
  struct cuzk_device_work *w[2];
  for (int i = 0; i < 2; i++) {
    struct cuzk_packed z;
    witness(&z);
    assert_int_equal(ops->start(&w[i], key, &z, &d), CUZK_OK);
    assert_int_equal(z.n_aux, 0);
    assert_null(z.bits);
  }
  for (int i = 0; i < 2; i++) {
    const atomic_bool go = false;
    assert_int_equal(ops->kernels(w[i], i ? &go : NULL, &d), CUZK_OK);
  }
  for (int i = 2; i-- > 0;) {
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(ops->finish(&w[i], &r, &s, &proof, &t, &d), CUZK_OK);
    assert_null(w[i]);
    cuzk_proof_write(bytes, &proof);
    assert_memory_equal(bytes, want, sizeof want);
    assert_true(t.rows > 0 && t.transforms > 0 && t.h > 0 && t.l > 0 && t.a > 0 && t.b_g1 > 0 && t.b_g2 > 0 && t.finish > 0);
  }
  ops->key_destroy(&key);
  ops->close(&dev);
  assert_null(key);
  assert_null(dev);
}

static void works_end_early(void **state) {
  const struct cuzk_device_ops *ops = &cuzk_device_cpu;
  struct cuzk_detail d = {{0}};
  struct cuzk_device *dev;
  struct cuzk_device_key *key;
  struct cuzk_device_work *w = NULL;
  struct cuzk_packed z;
  struct cuzk_proof proof;
  const int64_t live = cuzk_alloc_live();
  (void)state;
  assert_int_equal(ops->open(&dev, 0, pool, 0, &d), CUZK_OK);
  assert_int_equal(ops->key_create(&key, dev, params, circuit, &shape, NULL, &d), CUZK_OK);

  const atomic_bool stop = true;
  witness(&z);
  assert_int_equal(ops->start(&w, key, &z, &d), CUZK_OK);
  assert_int_equal(ops->kernels(w, &stop, &d), CUZK_E_CANCELLED);
  ops->abort(&w);
  assert_null(w);
  ops->abort(&w);

  witness(&z);
  assert_int_equal(ops->start(&w, key, &z, &d), CUZK_OK);
  assert_int_equal(ops->finish(&w, &r, &s, &proof, NULL, &d), CUZK_E_INTERNAL); /* no kernels ran */
  assert_null(w);

  witness(&z);
  cuzk_fr_add(&z.fields[z.n_fields / 2], &z.fields[z.n_fields / 2], &cuzk_fr_one);
  assert_int_equal(ops->start(&w, key, &z, &d), CUZK_OK);
  assert_int_equal(ops->kernels(w, NULL, &d), CUZK_E_UNSAT);
  assert_non_null(strstr(d.text, "constraint "));
  ops->abort(&w);

  witness(&z);
  z.n_inputs--;
  assert_int_equal(ops->start(&w, key, &z, &d), CUZK_E_MISMATCH);
  assert_null(w);
  assert_null(z.bits);

  ops->key_destroy(&key);
  struct cuzk_shape other = shape;
  other.n_aux++;
  assert_int_equal(ops->key_create(&key, dev, params, circuit, &other, NULL, &d), CUZK_E_MISMATCH);
  assert_null(key);
  ops->close(&dev);
  assert_int_equal(ops->open(&dev, 1, pool, 0, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_alloc_live(), live);
}

/* The n-th allocation fails, for n from the first on, then for a sample. */
static void no_memory(void **state) {
  const struct cuzk_device_ops *ops = &cuzk_device_cpu;
  const int64_t live = cuzk_alloc_live();
  unsigned failed = 0;
  (void)state;
  for (uint64_t n = 1;; n += n < 30 ? 1 : 1 + n / 2) {
    struct cuzk_device *dev = NULL;
    struct cuzk_device_key *key = NULL;
    struct cuzk_device_work *w = NULL;
    struct cuzk_proof proof;
    struct cuzk_packed z;
    witness(&z);
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = ops->open(&dev, 0, NULL, 0, NULL);
    if (st == CUZK_OK) st = ops->key_create(&key, dev, params, circuit, &shape, NULL, NULL);
    if (st == CUZK_OK)
      st = ops->start(&w, key, &z, NULL);
    else
      cuzk_packed_clear(&z);
    if (st == CUZK_OK) st = ops->kernels(w, NULL, NULL);
    if (st == CUZK_OK) st = ops->finish(&w, &r, &s, &proof, NULL, NULL);
    cuzk_alloc_fail_at(0);
    ops->abort(&w);
    if (key) ops->key_destroy(&key);
    if (dev) ops->close(&dev);
    assert_int_equal(cuzk_alloc_live(), live);
    if (st == CUZK_OK) break;
    assert_int_equal(st, CUZK_E_NOMEM);
    failed++;
  }
  assert_true(failed > 10);
}

static void devices_are_found(void **state) {
  const struct cuzk_device_ops *ops;
  unsigned index = 9;
  struct cuzk_detail d = {{0}};
  struct cuzk_device_desc desc;
  (void)state;
  assert_int_equal(cuzk_device_find(&ops, &index, "cpu", &d), CUZK_OK);
  assert_ptr_equal(ops, &cuzk_device_cpu);
  assert_int_equal(index, 0);
  assert_int_equal(cuzk_device_find(&ops, &index, "cpu:0", &d), CUZK_OK);
  assert_int_equal(cuzk_device_find(&ops, &index, "auto", &d), CUZK_OK);
  assert_ptr_equal(ops->count, cuzk_device_backend_at(0)->count() ? cuzk_device_backend_at(0)->count : cuzk_device_cpu.count);
  static const char *const none[] = {"", "cpu:1", "cpu:", "cpu:x", "cpux", "gpu", "cuda:99", "cpu:00x", "cpu:-1"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_int_equal(cuzk_device_find(&ops, &index, none[i], &d), CUZK_E_ARG);
    assert_null(ops);
    assert_non_null(strstr(d.text, "there is: "));
    assert_non_null(strstr(d.text, "cpu"));
  }
  assert_int_equal(cuzk_device_cpu.describe(0, &desc, &d), CUZK_OK);
  assert_string_equal(desc.backend, "cpu");
  assert_true(desc.name[0] && desc.memory_total > 0 && desc.memory_free <= desc.memory_total);
  assert_int_equal(cuzk_device_cpu.describe(1, &desc, &d), CUZK_E_ARG);
  size_t n = 0;
  while (cuzk_device_backend_at(n)) n++;
  assert_true(n >= 1);
  assert_ptr_equal(cuzk_device_backend_at(n - 1), &cuzk_device_cpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_are_found),
      cmocka_unit_test(a_proof_of_the_reference),
      cmocka_unit_test(works_end_early),
      cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
