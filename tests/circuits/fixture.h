/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Reading the reference's records of circuits (tests/data/fixtures/README.md), for tests. */
#ifndef CUZK_TESTS_CIRCUITS_FIXTURE_H
#define CUZK_TESTS_CIRCUITS_FIXTURE_H
#include "testing.h"

#include <jansson.h>

#include "circuits/circuit.h"

static inline json_t *fixture_load(const char *path) {
  char full[512];
  json_error_t e;
  snprintf(full, sizeof full, "%s/fixtures/%s", CUZK_TEST_DATA, path);
  json_t *j = json_load_file(full, 0, &e);
  if (!j) fail_msg("%s: %s", full, e.text);
  return j;
}

static inline uint64_t fixture_number(const json_t *r, const char *key) {
  const json_t *v = json_object_get(r, key);
  if (!json_is_integer(v)) fail_msg("no number %s", key);
  return (uint64_t)json_integer_value(v);
}

static inline const char *fixture_text(const json_t *r, const char *key) {
  const json_t *v = json_object_get(r, key);
  if (!json_is_string(v)) fail_msg("no text %s", key);
  return json_string_value(v);
}

static inline void hex32(char out[65], const uint8_t d[32]) {
  for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", d[i]);
}

/** Counts, densities and digests against a record; names the first differing block with its regions. */
static inline void fixture_check_digest(const struct cuzk_circuit *c, const struct cuzk_circuit_digest *x, const json_t *r) {
  char hex[65];
  const json_t *blocks = json_object_get(r, "block_digests");
  assert_string_equal(c->name, fixture_text(r, "circuit"));
  assert_int_equal(x->shape.n_inputs, fixture_number(r, "num_inputs"));
  assert_int_equal(c->n_inputs, x->shape.n_inputs);
  assert_int_equal(x->shape.n_aux, fixture_number(r, "num_aux"));
  assert_int_equal(x->shape.n_rows, fixture_number(r, "num_constraints"));
  for (size_t i = 0; i < x->n_blocks && i < json_array_size(blocks); i++) {
    hex32(hex, x->block_digests + 32 * i);
    if (!strcmp(hex, json_string_value(json_array_get(blocks, i)))) continue;
    char where[1000];
    assert_int_equal(cuzk_circuit_regions(c, false, i * CUZK_DIGEST_BLOCK_ROWS, CUZK_DIGEST_BLOCK_ROWS, where, sizeof where, NULL),
                     CUZK_OK);
    fail_msg("%s: block %zu differs: %s", c->name, i, where);
  }
  assert_int_equal(x->n_blocks, json_array_size(blocks));
  hex32(hex, x->digest);
  assert_string_equal(hex, fixture_text(r, "digest"));
  assert_int_equal(x->shape.nnz[0], fixture_number(r, "nnz_a"));
  assert_int_equal(x->shape.nnz[1], fixture_number(r, "nnz_b"));
  assert_int_equal(x->shape.nnz[2], fixture_number(r, "nnz_c"));
  assert_int_equal(x->shape.n_a_aux, fixture_number(r, "a_aux_density"));
  assert_int_equal(x->shape.n_b_aux, fixture_number(r, "b_aux_density"));
  assert_int_equal(x->shape.n_b_input, fixture_number(r, "b_input_density"));
  assert_int_equal(x->shape.zero_terms_dropped, fixture_number(r, "zero_terms_dropped"));
}
#endif
