/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a partition needs of the device beside transforms and sums, as host code: rows of flat circuits against the templates' own
 * evaluation, points of parameter files against the host's decoder. */
#include "testing.h"

#include "base/alloc.h"
#include "circuits/circuit.h"
#include "cuda_twin.h"
#include "ec/g1.h"
#include "ec/g2.h"
#include "r1cs/compact_flat.h"

static struct twin_rows rows_of(const struct cuzk_flat *f, const struct cuzk_packed *z) {
  return (struct twin_rows){f->runs,   f->uses, f->ext,      f->bound, f->terms,  f->coeffs,  f->n_rows,
                            f->n_runs, z->inputs, z->bits, z->is_field, z->rank, z->fields, z->n_inputs};
}

/* Every row, or about a hundred thousand of them. */
static void compare_rows(const struct cuzk_compact *k, const struct cuzk_flat *f, const struct cuzk_packed *z) {
  cuzk_fr *want[3], got[3], *to[3] = {&got[0], &got[1], &got[2]};
  struct cuzk_compact_eval e = {.p = z, .check = true};
  for (int m = 0; m < 3; m++) e.abc[m] = want[m] = cuzk_malloc_array(f->n_rows, sizeof(cuzk_fr));
  assert_int_equal(cuzk_compact_evaluate(k, &e, NULL, NULL, NULL), CUZK_OK);
  const struct twin_rows t = rows_of(f, z);
  const uint32_t step = f->n_rows / 100000 + 1;
  uint64_t bad = UINT64_MAX;
  for (uint32_t row = 0; row < f->n_rows; row += step) {
    const int holds = twin_row((void **)to, &t, row, row % 7 == 3 ? 32 : 1);
    for (int m = 0; m < 3; m++)
      if (memcmp(&got[m], &want[m][row], sizeof got[m]) != 0) fail_msg("row %u, combination %d", row, m);
    if (!holds && bad == UINT64_MAX) bad = row;
  }
  if (step == 1) assert_int_equal(bad, e.bad_row);
  for (int m = 0; m < 3; m++) cuzk_free(want[m]);
}

static void check_circuit(const char *name) {
  struct cuzk_compact *k;
  struct cuzk_flat f;
  struct cuzk_packed z;
  struct cuzk_detail d = {{0}};
  struct cuzk_compact_info info;
  const struct cuzk_circuit *c = cuzk_circuit_find(name);
  assert_non_null(c);
  if (cuzk_circuit_compile(&k, c, NULL, NULL, &d) != CUZK_OK) fail_msg("%s: %s", name, d.text);
  cuzk_compact_info(&info, k);
  assert_int_equal(cuzk_compact_flatten(&f, k, &d), CUZK_OK);
  assert_int_equal(f.n_rows, info.n_rows);
  for (uint32_t i = 0; i < f.n_runs; i++) assert_true(f.runs[i].row < f.n_rows && (i == 0 ? f.runs[i].row == 0 : f.runs[i].row > f.runs[i - 1].row));
  assert_int_equal(cuzk_circuit_assign_packed(c, NULL, &z, NULL, NULL, &d), CUZK_OK);
  compare_rows(k, &f, &z);
  /* values that do not hold, elements where bits were */
  for (int round = 0; round < 3; round++) {
    for (uint32_t j = (uint32_t)round; j < z.n_aux; j += 61)
      if (!cuzk_packed_is_field(&z, j)) z.bits[j / 64] ^= UINT64_C(1) << (j % 64);
    for (uint32_t j = 0; j < z.n_fields; j++) cuzk_fr_mul(&z.fields[j], &z.fields[j], &z.fields[j]);
    compare_rows(k, &f, &z);
  }
  cuzk_packed_clear(&z);
  cuzk_flat_clear(&f);
  cuzk_compact_destroy(&k);
}

static void rows_of_gadgets(void **state) {
  (void)state;
  unsigned n = 0;
  for (size_t i = 0; cuzk_circuit_at(i); i++) {
    const struct cuzk_circuit *c = cuzk_circuit_at(i);
    if (c->kind != CUZK_KIND_GADGET) continue;
    check_circuit(c->name);
    n++;
  }
  assert_true(n > 5);
}

/* A blank witness of a circuit with many templates: its values are drawn. */
static void rows_of_porep(void **state) {
  (void)state;
  struct cuzk_compact *k;
  struct cuzk_flat f;
  struct cuzk_packed z;
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_circuit_compile(&k, cuzk_circuit_find("porep-2kib"), NULL, NULL, &d), CUZK_OK);
  assert_int_equal(cuzk_compact_flatten(&f, k, &d), CUZK_OK);
  assert_int_equal(cuzk_packed_reserve(&z, f.n_inputs, f.n_aux), CUZK_OK);
  const size_t words = ((size_t)f.n_aux + 63) / 64;
  for (size_t w = 0; w < words; w++) {
    z.is_field[w] = test_rand() & test_rand() & test_rand();
    z.bits[w] = test_rand() & ~z.is_field[w];
  }
  z.is_field[words - 1] &= (UINT64_C(1) << (f.n_aux % 64)) - 1;
  z.bits[words - 1] &= (UINT64_C(1) << (f.n_aux % 64)) - 1;
  z.inputs[0] = cuzk_fr_one;
  assert_int_equal(cuzk_packed_reserve_fields(&z), CUZK_OK);
  cuzk_fr x = cuzk_fr_one;
  for (int i = 0; i < 99; i++) cuzk_fr_add(&x, &x, &x);
  for (uint32_t j = 0; j < z.n_fields; j++) {
    cuzk_fr_add(&x, &x, &cuzk_fr_one);
    cuzk_fr_mul(&x, &x, &x);
    z.fields[j] = x;
  }
  for (uint32_t j = 1; j < z.n_inputs; j++) z.inputs[j] = z.fields[j];
  compare_rows(k, &f, &z);
  cuzk_packed_clear(&z);
  cuzk_flat_clear(&f);
  cuzk_compact_destroy(&k);
}

static void flattening_may_fail(void **state) {
  (void)state;
  struct cuzk_compact *k;
  struct cuzk_flat f;
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_circuit_compile(&k, cuzk_circuit_find("sha256-32"), NULL, NULL, &d), CUZK_OK);
  const int64_t live = cuzk_alloc_live();
  for (uint64_t n = 1;; n++) {
    cuzk_alloc_fail_at(n);
    const enum cuzk_status st = cuzk_compact_flatten(&f, k, &d);
    cuzk_alloc_fail_at(0);
    if (st == CUZK_OK) {
      assert_true(n > 4);
      break;
    }
    assert_int_equal(st, CUZK_E_NOMEM);
    assert_null(f.runs);
    assert_int_equal(cuzk_alloc_live(), live);
  }
  cuzk_flat_clear(&f);
  assert_int_equal(cuzk_alloc_live(), live);
  cuzk_compact_destroy(&k);
}

static void g1_points(void **state) {
  (void)state;
  cuzk_g1 p;
  cuzk_g1_affine a, b, got;
  uint8_t bytes[96], bad[96];
  cuzk_g1_from_affine(&p, &cuzk_g1_generator);
  for (int i = 0; i < 50; i++) {
    cuzk_g1_to_affine(&a, &p);
    cuzk_g1_encode(bytes, &a);
    assert_true(twin_g1_decode(&got, bytes));
    assert_memory_equal(&got, &a, sizeof a);
    /* each bit changed: refused or not as on the host */
    for (int bit = i; bit < 768; bit += 50) {
      memcpy(bad, bytes, sizeof bad);
      bad[bit / 8] ^= (uint8_t)(1u << (bit % 8));
      const bool good = cuzk_g1_decode(&b, bad) == CUZK_OK && !cuzk_g1_affine_is_identity(&b);
      assert_int_equal(twin_g1_decode(&got, bad) != 0, good);
    }
    cuzk_g1_dbl(&p, &p);
    cuzk_g1_add_affine(&p, &p, &cuzk_g1_generator);
  }
  memset(bytes, 0, sizeof bytes);
  assert_false(twin_g1_decode(&got, bytes)); /* (0, 0) */
  bytes[0] = 0x40;
  assert_false(twin_g1_decode(&got, bytes)); /* the identity */
  memset(bytes, 0, sizeof bytes);
  bytes[95] = 2;
  assert_false(twin_g1_decode(&got, bytes)); /* order three */
  memset(bytes, 0xff, sizeof bytes);
  assert_false(twin_g1_decode(&got, bytes));
}

static void g2_points(void **state) {
  (void)state;
  cuzk_g2 p;
  cuzk_g2_affine a, b, got;
  uint8_t bytes[192], bad[192];
  cuzk_g2_from_affine(&p, &cuzk_g2_generator);
  for (int i = 0; i < 30; i++) {
    cuzk_g2_to_affine(&a, &p);
    cuzk_g2_encode(bytes, &a);
    assert_true(twin_g2_decode(&got, bytes));
    assert_memory_equal(&got, &a, sizeof a);
    for (int bit = i; bit < 1536; bit += 60) {
      memcpy(bad, bytes, sizeof bad);
      bad[bit / 8] ^= (uint8_t)(1u << (bit % 8));
      const bool good = cuzk_g2_decode(&b, bad) == CUZK_OK && !cuzk_g2_affine_is_identity(&b);
      assert_int_equal(twin_g2_decode(&got, bad) != 0, good);
    }
    cuzk_g2_dbl(&p, &p);
    cuzk_g2_add_affine(&p, &p, &cuzk_g2_generator);
  }
  memset(bytes, 0, sizeof bytes);
  bytes[0] = 0x40;
  assert_false(twin_g2_decode(&got, bytes));
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_gadgets), cmocka_unit_test(rows_of_porep), cmocka_unit_test(flattening_may_fail),
                                     cmocka_unit_test(g1_points), cmocka_unit_test(g2_points)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
