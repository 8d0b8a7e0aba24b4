/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Proofs that the reference stack made, under its verifying keys: each is accepted, and nothing near it is. */
#include <jansson.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "groth16/prove.h"
#include "testing.h"

#define FIXTURES CUZK_TEST_DATA "/fixtures/"
#define MAX_INPUTS 256

static const struct {
  const char *vk, *proof;
} cases[] = {
    {"porep-2kib", "s2k/porep-10.p0"},       {"porep-2kib", "s2k/porep-11.p0"},      {"porep-2kib", "s2k/porep-12.p0"},
    {"porep-2kib", "s2k/porep-13.p0"},       {"update-2kib", "s2k/update.p0"},       {"window-2kib", "s2k/window.p0"},
    {"winning-2kib", "s2k/winning.p0"},      {"window-2kib", "x2k/window1.p0"},      {"window-2kib", "x2k/window3.p0"},
    {"window-2kib", "x2k/window3.p1"},       {"window-2kib", "x2k/window3old.p0"},   {"window-2kib", "x2k/window3old.p1"},
};
#define N_CASES (sizeof cases / sizeof cases[0])

static struct cuzk_pool *pool;

struct fixture {
  uint8_t bytes[CUZK_PROOF_BYTES];
  struct cuzk_proof proof;
  struct cuzk_vk vk;
  struct cuzk_pvk *pvk;
  cuzk_fr u[MAX_INPUTS];
  size_t n;
};

static void unhex(uint8_t *out, size_t n, const char *hex) {
  assert_non_null(hex);
  assert_int_equal(strlen(hex), 2 * n);
  for (size_t i = 0; i < n; i++) {
    unsigned v;
    assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
    out[i] = (uint8_t)v;
  }
}

static void load(struct fixture *f, size_t which) {
  char path[400];
  struct cuzk_detail d = {{0}};
  (void)snprintf(path, sizeof path, FIXTURES "params/%s.vk", cases[which].vk);
  assert_int_equal(cuzk_vk_load(&f->vk, path, &d), CUZK_OK);
  assert_int_equal(cuzk_pvk_create(&f->pvk, &f->vk), CUZK_OK);
  (void)snprintf(path, sizeof path, FIXTURES "sectors/%s.proof.json", cases[which].proof);
  json_t *j = json_load_file(path, 0, NULL);
  assert_non_null(j);
  unhex(f->bytes, sizeof f->bytes, json_string_value(json_object_get(j, "proof")));
  const json_t *inputs = json_object_get(j, "public_inputs_le");
  f->n = json_array_size(inputs);
  assert_in_range(f->n, 1, MAX_INPUTS);
  for (size_t i = 0; i < f->n; i++) {
    uint8_t le[32];
    unhex(le, 32, json_string_value(json_array_get(inputs, i)));
    assert_true(cuzk_fr_from_le(&f->u[i], le));
  }
  json_decref(j);
  assert_int_equal(cuzk_proof_read(&f->proof, f->bytes, &d), CUZK_OK);
}

static void unload(struct fixture *f) {
  cuzk_pvk_destroy(&f->pvk);
  cuzk_vk_clear(&f->vk);
}

static void every_fixture_proof_verifies(void **state) {
  (void)state;
  for (size_t i = 0; i < N_CASES; i++) {
    static struct fixture f;
    bool ok = false;
    uint8_t again[CUZK_PROOF_BYTES];
    load(&f, i);
    assert_int_equal(cuzk_groth16_verify(&ok, f.pvk, &f.proof, f.u, f.n, NULL), CUZK_OK);
    if (!ok) print_error("%s\n", cases[i].proof);
    assert_true(ok);
    cuzk_proof_write(again, &f.proof);
    assert_memory_equal(again, f.bytes, sizeof again);
    unload(&f);
  }
}

static void no_other_public_input_is_accepted(void **state) {
  (void)state;
  for (size_t i = 0; i < N_CASES; i++) {
    static struct fixture f;
    load(&f, i);
    /* every input of the short ones, a sample of the long ones */
    for (size_t k = 0; k < f.n; k += f.n > 8 ? 1 + (size_t)(test_rand() % (f.n / 4)) : 1) {
      bool ok = true;
      const cuzk_fr saved = f.u[k];
      cuzk_fr_add(&f.u[k], &f.u[k], &cuzk_fr_one);
      assert_int_equal(cuzk_groth16_verify(&ok, f.pvk, &f.proof, f.u, f.n, NULL), CUZK_OK);
      assert_false(ok);
      f.u[k] = saved;
    }
    unload(&f);
  }
}

static void a_wrong_number_of_inputs_is_an_error(void **state) {
  (void)state;
  static struct fixture f;
  struct cuzk_detail d = {{0}};
  bool ok = true;
  load(&f, 0);
  assert_int_equal(cuzk_groth16_verify(&ok, f.pvk, &f.proof, f.u, f.n - 1, &d), CUZK_E_MISMATCH);
  assert_false(ok);
  assert_non_null(strstr(d.text, "38 public inputs given, the key expects 39"));
  assert_int_equal(cuzk_groth16_verify(&ok, f.pvk, &f.proof, f.u, f.n + 1, &d), CUZK_E_MISMATCH);
  assert_int_equal(cuzk_groth16_verify(&ok, f.pvk, &f.proof, f.u, 0, &d), CUZK_E_MISMATCH);
  unload(&f);
}

static void no_flipped_bit_is_accepted(void **state) {
  (void)state;
  static struct fixture f;
  unsigned decoded = 0, seen[4] = {0};
  load(&f, 0);
  for (unsigned bit = 0; bit < 8 * CUZK_PROOF_BYTES; bit++) {
    struct cuzk_proof p;
    struct cuzk_detail d = {{0}};
    bool ok = true;
    f.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    const enum cuzk_status st = cuzk_proof_read(&p, f.bytes, &d);
    if (st == CUZK_OK) {
      decoded++;
      assert_int_equal(cuzk_groth16_verify(&ok, f.pvk, &p, f.u, f.n, NULL), CUZK_OK);
      assert_false(ok);
    } else {
      assert_true(st == CUZK_E_FORMAT || st == CUZK_E_NOT_CURVE || st == CUZK_E_NOT_GROUP);
      seen[CUZK_E_FORMAT - st]++;
      const char which[] = {'p', 'o', 'i', 'n', 't', ' ', "ABC"[bit < 8 * 48 ? 0 : bit < 8 * 144 ? 1 : 2], 0};
      assert_non_null(strstr(d.text, which));
    }
    f.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
  assert_int_equal(decoded, 3); /* the three sign bits */
  assert_true(seen[0] > 0 && seen[1] > 400 && seen[2] > 400);
  unload(&f);
}

static void proofs_are_verified_in_batches(void **state) {
  (void)state;
  static const size_t porep[] = {0, 1, 2, 3}, window[] = {5, 7, 8, 9, 10, 11};
  static const struct {
    const size_t *which;
    size_t k;
  } batches[] = {{porep, 4}, {window, 6}};
  for (size_t b = 0; b < 2; b++) {
    static struct fixture f[6];
    static cuzk_fr u[6 * MAX_INPUTS];
    struct cuzk_proof p[6];
    const size_t k = batches[b].k;
    bool ok;
    for (size_t j = 0; j < k; j++) {
      load(&f[j], batches[b].which[j]);
      assert_int_equal(f[j].n, f[0].n);
      p[j] = f[j].proof;
      memcpy(u + j * f[0].n, f[j].u, f[0].n * sizeof *u);
    }
    for (size_t n = 0; n <= k; n++) {
      ok = false;
      assert_int_equal(cuzk_groth16_verify_batch(&ok, f[0].pvk, p, n, u, f[0].n, n % 2 ? pool : NULL, NULL), CUZK_OK);
      assert_true(ok);
    }
    for (size_t j = 0; j < k; j++) {
      const struct cuzk_proof saved = p[j];
      cuzk_g1_affine_neg(&p[j].c, &p[j].c);
      ok = true;
      assert_int_equal(cuzk_groth16_verify_batch(&ok, f[0].pvk, p, k, u, f[0].n, pool, NULL), CUZK_OK);
      assert_false(ok);
      p[j] = saved;
      const size_t i = j * f[0].n + (size_t)(test_rand() % f[0].n);
      cuzk_fr_add(&u[i], &u[i], &cuzk_fr_one);
      ok = true;
      assert_int_equal(cuzk_groth16_verify_batch(&ok, f[0].pvk, p, k, u, f[0].n, pool, NULL), CUZK_OK);
      assert_false(ok);
      cuzk_fr_sub(&u[i], &u[i], &cuzk_fr_one);
    }
    for (size_t j = 0; j < k; j++) unload(&f[j]);
  }
}

static int group_setup(void **state) {
  (void)state;
  return cuzk_pool_create(&pool, 3) == CUZK_OK ? 0 : 1;
}

static int group_teardown(void **state) {
  (void)state;
  cuzk_pool_destroy(&pool);
  return 0;
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_fixture_proof_verifies),
      cmocka_unit_test(no_other_public_input_is_accepted),
      cmocka_unit_test(a_wrong_number_of_inputs_is_an_error),
      cmocka_unit_test(no_flipped_bit_is_accepted),
      cmocka_unit_test(proofs_are_verified_in_batches),
  };
  return cmocka_run_group_tests_name("fixture proofs", tests, group_setup, group_teardown);
}
