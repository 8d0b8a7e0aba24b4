/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "fixture.h"

#include "base/alloc.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include "packed_check.h"

static void digest_values(char out[65], const cuzk_fr *const *x, unsigned n_arrays, uint64_t n) {
  struct cuzk_sha256 s;
  uint8_t d[32];
  cuzk_sha256_init(&s);
  for (uint64_t i = 0; i < n; i++)
    for (unsigned k = 0; k < n_arrays; k++) {
      cuzk_fr_to_le(d, &x[k][i]);
      cuzk_sha256_update(&s, d, 32);
    }
  cuzk_sha256_final(&s, d);
  hex32(out, d);
}

/* Coefficient or value as the dumps write it: hex without leading zeros. */
static void show_value(char out[80], const cuzk_fr *v) {
  char hex[65];
  uint8_t le[32], be[32];
  cuzk_fr_to_le(le, v);
  for (int i = 0; i < 32; i++) be[i] = le[31 - i];
  hex32(hex, be);
  const char *p = hex;
  while (*p == '0') p++;
  if (*p)
    snprintf(out, 80, "0x%s", p);
  else
    snprintf(out, 80, "0");
}

static void show_term(char *out, size_t n, const struct cuzk_term *t, const struct cuzk_coeffs *coeffs) {
  char var[16], plus[80], minus[80];
  snprintf(var, sizeof var, "%c%u", t->var & CUZK_VAR_AUX ? 'w' : 'x', t->var & ~CUZK_VAR_AUX);
  const cuzk_fr *c = cuzk_coeff_value(coeffs, t->coeff);
  cuzk_fr neg;
  cuzk_fr_neg(&neg, c);
  show_value(plus, c);
  show_value(minus, &neg);
  if (cuzk_fr_is_one(c))
    snprintf(out, n, "%s", var);
  else if (cuzk_fr_is_one(&neg))
    snprintf(out, n, "-%s", var);
  else if (strlen(minus) < strlen(plus))
    snprintf(out, n, "-%s*%s", minus, var);
  else
    snprintf(out, n, "%s*%s", plus, var);
}

struct dump {
  FILE *f;
  const char *name;
  char *line;
  size_t cap;
};

static void next_line(struct dump *d) {
  const ssize_t n = getline(&d->line, &d->cap, d->f);
  if (n <= 0) fail_msg("%s: the dump ends early", d->name);
  if (d->line[n - 1] == '\n') d->line[n - 1] = 0;
}

static enum cuzk_status compare_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  struct dump *d = user;
  static char text[200000];
  size_t n = 0;
  for (int k = 0; k < 3; k++) {
    n += (size_t)snprintf(text + n, sizeof text - n, "%s(", k == 1 ? " * " : k == 2 ? " = " : "");
    if (!row->n[k]) n += (size_t)snprintf(text + n, sizeof text - n, "0");
    for (uint32_t i = 0; i < row->n[k]; i++) {
      char term[200];
      show_term(term, sizeof term, &row->t[k][i], coeffs);
      n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? " " : "", term);
    }
    n += (size_t)snprintf(text + n, sizeof text - n, ")");
  }
  next_line(d);
  if (!strcmp(text, d->line)) return CUZK_OK;
  print_error("%s: row %llu differs\nours   %.600s\nrecord %.600s\n", d->name, (unsigned long long)index, text, d->line);
  return CUZK_E_MISMATCH;
}

static void check_dump(const struct cuzk_circuit *c, const struct cuzk_assignment *a) {
  char path[512], value[80], want[120];
  struct dump d = {.name = c->name};
  snprintf(path, sizeof path, "%s/fixtures/gadgets/%s.txt", CUZK_TEST_DATA, c->name);
  d.f = fopen(path, "r");
  assert_non_null(d.f);
  do next_line(&d);
  while (d.line[0] == '#');
  assert_string_equal(d.line, "[constraints]");
  const struct cuzk_system s = cuzk_circuit_system(c);
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  assert_int_equal(s.walk(&s, compare_row, &d, &n_inputs, &n_aux, &n_rows, NULL), CUZK_OK);
  next_line(&d);
  assert_string_equal(d.line, "[witness]");
  for (uint32_t i = 0; i < n_inputs + n_aux; i++) {
    const bool aux = i >= n_inputs;
    show_value(value, aux ? &a->aux[i - n_inputs] : &a->inputs[i]);
    snprintf(want, sizeof want, "%c%u %s", aux ? 'w' : 'x', aux ? i - n_inputs : i, value);
    next_line(&d);
    assert_string_equal(d.line, want);
  }
  free(d.line);
  fclose(d.f);
}

static void check_values(const struct cuzk_circuit *c, const json_t *r) {
  const uint64_t n = fixture_number(r, "num_constraints");
  struct cuzk_assignment a, only;
  cuzk_fr *abc[3];
  char hex[65], region[512];
  uint64_t bad;
  for (int k = 0; k < 3; k++) abc[k] = cuzk_malloc_array(n + 1, sizeof(cuzk_fr));
  assert_int_equal(cuzk_circuit_assign(c, NULL, &a, abc, true, &bad, region, NULL, NULL), CUZK_OK);
  if (bad != UINT64_MAX) fail_msg("%s: row %llu in %s does not hold", c->name, (unsigned long long)bad, region);
  assert_int_equal(a.n_aux, fixture_number(r, "num_aux"));
  if (json_is_true(json_object_get(r, "dump"))) check_dump(c, &a);
  const cuzk_fr *const aux = a.aux;
  digest_values(hex, &aux, 1, a.n_aux);
  assert_string_equal(hex, fixture_text(r, "aux_sha256"));
  digest_values(hex, (const cuzk_fr *const *)abc, 3, n);
  assert_string_equal(hex, fixture_text(r, "abc_eval_sha256"));
  assert_int_equal(cuzk_circuit_assign(c, NULL, &only, NULL, false, NULL, NULL, NULL, NULL), CUZK_OK);
  assert_int_equal(only.n_inputs, a.n_inputs);
  assert_memory_equal(only.inputs, a.inputs, a.n_inputs * sizeof(cuzk_fr));
  if (a.n_aux) assert_memory_equal(only.aux, a.aux, a.n_aux * sizeof(cuzk_fr));
  cuzk_assignment_clear(&only);
  packed_check(c, NULL, &a, NULL);
  cuzk_assignment_clear(&a);
  for (int k = 0; k < 3; k++) cuzk_free(abc[k]);
}

static void every_gadget_equals_its_record(void **state) {
  (void)state;
  json_t *all = fixture_load("gadgets/index.json"), *r;
  size_t i;
  assert_true(json_array_size(all) >= 26);
  json_array_foreach(all, i, r) {
    const struct cuzk_circuit *c = cuzk_circuit_find(fixture_text(r, "circuit"));
    if (!c) fail_msg("no circuit %s", fixture_text(r, "circuit"));
    check_values(c, r);
    struct cuzk_circuit_digest x;
    assert_int_equal(cuzk_circuit_digest(&x, c, NULL, NULL, NULL), CUZK_OK);
    fixture_check_digest(c, &x, r);
    cuzk_circuit_digest_clear(&x);
  }
  json_decref(all);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_gadget_equals_its_record)};
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return rc;
}
