/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compact circuits against the rows they stand for: expansions and shapes against the records, values against the direct
 * evaluation, and files that are damaged in every way. With names of circuits as arguments, their expansions only. */
#include "witness_fixture.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include "r1cs/compact.h"

static struct cuzk_pool *pool;

static struct cuzk_compact *compile(const char *name) {
  struct cuzk_compact *k;
  struct cuzk_detail d = {{0}};
  const struct cuzk_circuit *c = cuzk_circuit_find(name);
  assert_non_null(c);
  if (cuzk_circuit_compile(&k, c, pool, NULL, &d) != CUZK_OK) fail_msg("%s: %s", name, d.text);
  return k;
}

static void assert_maps_equal(const struct cuzk_shape *a, const struct cuzk_shape *b) {
  assert_int_equal(a->n_a_aux, b->n_a_aux);
  assert_int_equal(a->n_b_aux, b->n_b_aux);
  assert_int_equal(a->n_b_input, b->n_b_input);
  const size_t words = ((size_t)a->n_aux + 63) / 64;
  assert_memory_equal(a->a_aux, b->a_aux, 8 * words);
  assert_memory_equal(a->b_aux, b->b_aux, 8 * words);
  assert_memory_equal(a->b_input, b->b_input, 8 * (((size_t)a->n_inputs + 63) / 64));
}

static const char *const expanded[] = {"winning-32gib", "window-2kib", "update-16kib"};
static const char *const *names = expanded;
static size_t n_names = sizeof expanded / sizeof *expanded;

static void check_expansion(const char *name, const json_t *r) {
  char hex[65];
  struct cuzk_compact_info info;
  struct cuzk_shape s, direct;
  struct cuzk_compact *k = compile(name);
  const struct cuzk_system system = cuzk_circuit_system(cuzk_circuit_find(name));
  cuzk_compact_info(&info, k);
  assert_string_equal(info.name, name);
  hex32(hex, info.digest);
  assert_string_equal(hex, fixture_text(r, "digest"));
  assert_int_equal(cuzk_compact_shape(&s, k, NULL), CUZK_OK);
  assert_int_equal(cuzk_shape_of(&direct, &system, NULL), CUZK_OK);
  assert_maps_equal(&s, &direct);
  cuzk_shape_clear(&direct);
  assert_int_equal(s.n_inputs, fixture_number(r, "num_inputs"));
  assert_int_equal(s.n_aux, fixture_number(r, "num_aux"));
  assert_int_equal(s.n_rows, fixture_number(r, "num_constraints"));
  assert_int_equal(s.nnz[0], fixture_number(r, "nnz_a"));
  assert_int_equal(s.nnz[1], fixture_number(r, "nnz_b"));
  assert_int_equal(s.nnz[2], fixture_number(r, "nnz_c"));
  assert_int_equal(s.zero_terms_dropped, fixture_number(r, "zero_terms_dropped"));
  assert_int_equal(info.n_rows, s.n_rows);
  assert_int_equal(info.n_aux, s.n_aux);
  assert_int_equal(info.n_inputs, s.n_inputs);
  assert_memory_equal(info.nnz, s.nnz, sizeof info.nnz);
  assert_int_equal(info.zero_terms_dropped, s.zero_terms_dropped);
  assert_int_equal(info.n_a_aux, s.n_a_aux);
  assert_int_equal(info.n_b_aux, s.n_b_aux);
  assert_int_equal(info.n_b_input, s.n_b_input);
  if (info.n_rows > 1000000) assert_true(info.stored_rows * 20 < info.n_rows);
  cuzk_shape_clear(&s);
  cuzk_compact_destroy(&k);
}

static void expansions_equal_the_records(void **state) {
  (void)state;
  for (size_t i = 0; i < n_names; i++) {
    char path[100];
    snprintf(path, sizeof path, "circuits/%s.json", names[i]);
    json_t *r = fixture_load(path);
    check_expansion(names[i], r);
    json_decref(r);
  }
}

static void gadgets_expand_to_the_records(void **state) {
  (void)state;
  json_t *list = fixture_load("gadgets/index.json"), *r;
  size_t i;
  assert_true(json_array_size(list) > 20);
  json_array_foreach(list, i, r) check_expansion(fixture_text(r, "circuit"), r);
  json_decref(list);
}

/* ---- values ---- */

/* Every private value that is not 0 or 1 is a field element, and some that are. */
static void pack(struct cuzk_packed *p, const struct cuzk_assignment *z) {
  assert_int_equal(cuzk_packed_reserve(p, z->n_inputs, z->n_aux), CUZK_OK);
  memcpy(p->inputs, z->inputs, z->n_inputs * sizeof *p->inputs);
  for (uint32_t j = 0; j < z->n_aux; j++) {
    const bool one = cuzk_fr_is_one(&z->aux[j]), bit = (one || cuzk_fr_is_zero(&z->aux[j])) && j % 1001;
    if (bit)
      p->bits[j / 64] |= (uint64_t)one << (j % 64);
    else
      p->is_field[j / 64] |= UINT64_C(1) << (j % 64);
  }
  assert_int_equal(cuzk_packed_reserve_fields(p), CUZK_OK);
  for (uint32_t j = 0, n = 0; j < z->n_aux; j++)
    if (cuzk_packed_is_field(p, j)) p->fields[n++] = z->aux[j];
}

/* First row that does not hold, the slow way. */
struct finder {
  const struct cuzk_assignment *z;
  uint64_t row;
};
static enum cuzk_status find_bad(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  struct finder *f = user;
  cuzk_fr x[3], p;
  for (int k = 0; k < 3; k++) {
    x[k] = cuzk_fr_zero;
    for (uint32_t i = 0; i < row->n[k]; i++) {
      const cuzk_var v = row->t[k][i].var;
      cuzk_fr_mul(&p, cuzk_coeff_value(coeffs, row->t[k][i].coeff),
                  v & CUZK_VAR_AUX ? &f->z->aux[v - CUZK_VAR_AUX] : &f->z->inputs[v]);
      cuzk_fr_add(&x[k], &x[k], &p);
    }
  }
  cuzk_fr_mul(&p, &x[0], &x[1]);
  if (cuzk_fr_eq(&p, &x[2])) return CUZK_OK;
  f->row = index;
  return CUZK_E_UNSAT;
}

static void check_flip(const struct cuzk_circuit *c, const struct cuzk_compact *k, struct cuzk_assignment *z, uint32_t j) {
  struct finder f = {z, UINT64_MAX};
  struct cuzk_compact_eval e = {.z = z, .check = true};
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  char where[2048];
  const cuzk_fr was = z->aux[j];
  cuzk_fr_sub(&z->aux[j], &cuzk_fr_one, &was);
  const struct cuzk_system s = cuzk_circuit_system(c);
  const enum cuzk_status st = s.walk(&s, find_bad, &f, &n_inputs, &n_aux, &n_rows, NULL);
  assert_int_equal(st, f.row == UINT64_MAX ? CUZK_OK : CUZK_E_UNSAT);
  assert_int_equal(cuzk_compact_evaluate(k, &e, pool, NULL, NULL), CUZK_OK);
  assert_true(e.bad_row == f.row);
  struct cuzk_packed p = {0};
  struct cuzk_compact_eval packed = {.p = &p, .check = true};
  pack(&p, z);
  assert_int_equal(cuzk_compact_evaluate(k, &packed, pool, NULL, NULL), CUZK_OK);
  assert_true(packed.bad_row == f.row);
  assert_string_equal(packed.region, e.region);
  cuzk_packed_clear(&p);
  if (f.row != UINT64_MAX) {
    /* the innermost region of the row comes first */
    assert_int_equal(cuzk_circuit_regions(c, false, f.row, 1, where, sizeof where, NULL), CUZK_OK);
    const size_t n = strlen(e.region);
    if (strncmp(where, e.region, n) || (where[n] && strncmp(where + n, ", ", 2))) fail_msg("%s instead of %s", e.region, where);
  }
  z->aux[j] = was;
}

static void check_values(const char *name, const void *witness, unsigned flips) {
  const struct cuzk_circuit *c = cuzk_circuit_find(name);
  struct cuzk_compact *k = compile(name);
  struct cuzk_assignment z;
  struct cuzk_packed p = {0};
  struct cuzk_compact_info info;
  cuzk_compact_info(&info, k);
  cuzk_fr *want[3], *got[3];
  for (int i = 0; i < 3; i++) {
    want[i] = cuzk_malloc_array(info.n_rows, sizeof(cuzk_fr));
    got[i] = cuzk_malloc_array(info.n_rows, sizeof(cuzk_fr));
  }
  assert_int_equal(cuzk_circuit_assign(c, witness, &z, want, false, NULL, NULL, NULL, NULL), CUZK_OK);
  pack(&p, &z);
  for (int form = 0; form < 2; form++) {
    struct cuzk_compact_eval e = {.check = true, .abc = {got[0], got[1], got[2]}, .bad_row = 1};
    if (form)
      e.p = &p;
    else
      e.z = &z;
    for (int i = 0; i < 3; i++) memset(got[i], 0xff, info.n_rows * sizeof(cuzk_fr));
    assert_int_equal(cuzk_compact_evaluate(k, &e, pool, NULL, NULL), CUZK_OK);
    assert_true(e.bad_row == UINT64_MAX);
    assert_string_equal(e.region, "");
    for (int i = 0; i < 3; i++) assert_memory_equal(got[i], want[i], info.n_rows * sizeof(cuzk_fr));
  }
  cuzk_packed_clear(&p);
  for (unsigned i = 0; i < flips && z.n_aux; i++) check_flip(c, k, &z, (uint32_t)(test_rand() % z.n_aux));
  z.n_aux--;
  struct cuzk_compact_eval e = {.z = &z};
  assert_int_equal(cuzk_compact_evaluate(k, &e, pool, NULL, NULL), CUZK_E_ARG);
  z.n_aux++;
  e.z = NULL;
  assert_int_equal(cuzk_compact_evaluate(k, &e, pool, NULL, NULL), CUZK_E_ARG);
  for (int i = 0; i < 3; i++) {
    cuzk_free(want[i]);
    cuzk_free(got[i]);
  }
  cuzk_assignment_clear(&z);
  cuzk_compact_destroy(&k);
}

static void values_of_gadgets(void **state) {
  (void)state;
  const struct cuzk_circuit *c;
  for (size_t i = 0; (c = cuzk_circuit_at(i)); i++)
    if (c->kind == CUZK_KIND_GADGET) check_values(c->name, NULL, 4);
}

static void values_of_porep(void **state) {
  (void)state;
  check_values("porep-2kib", read_porep("sectors/s2k/porep-10.c1.json", 0), 1);
  arena_clear();
}

static void values_of_post(void **state) {
  (void)state;
  struct cuzk_post_sector two[2] = {read_post("s2k/window-10.vanilla.bin"), read_post("s2k/window-11.vanilla.bin")};
  const struct cuzk_post_partition window = {2, two};
  check_values("window-2kib", &window, 3);
  const struct cuzk_post_sector real = read_post("s2k/winning-10.vanilla.bin");
  struct cuzk_post_sector s[66];
  for (unsigned k = 0; k < 66; k++) {
    s[k] = real;
    s[k].n_challenges = 1;
    s[k].challenges = &real.challenges[k];
  }
  const struct cuzk_post_partition winning = {66, s};
  check_values("winning-2kib", &winning, 3);
  arena_clear();
}

static void values_of_update(void **state) {
  (void)state;
  json_t *r = fixture_load("sectors/s2k/update.p0.witness.json");
  check_values("update-2kib", read_update("s2k/update.p0.vanilla.bin", r), 1);
  json_decref(r);
  arena_clear();
}

/* ---- files ---- */

static void files_come_back(void **state) {
  (void)state;
  char path[] = "/tmp/cuzk-r1cs-XXXXXX";
  struct cuzk_compact *k = compile("winning-2kib"), *f;
  struct cuzk_compact_info a, b;
  struct cuzk_compact_template t;
  struct cuzk_detail d = {{0}};
  char region[64];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(cuzk_compact_write(k, path, NULL), CUZK_OK);
  assert_int_equal(cuzk_compact_open(&f, path, &d), CUZK_OK);
  cuzk_compact_info(&a, k);
  cuzk_compact_info(&b, f);
  assert_string_equal(a.name, b.name);
  assert_memory_equal(a.digest, b.digest, 32);
  assert_int_equal(a.image_bytes, b.image_bytes);
  assert_int_equal(a.n_templates, b.n_templates);
  assert_int_equal(cuzk_compact_template(&t, f, b.n_templates - 1), CUZK_OK);
  assert_int_equal(t.times, 1);
  assert_int_equal(t.n_rows, b.n_rows);
  assert_string_equal(t.region, "");
  /* a row is in the template's own rows of one use: rows times uses make up all */
  uint64_t rows = 0;
  for (uint32_t i = 0; i < b.n_templates; i++) {
    assert_int_equal(cuzk_compact_template(&t, f, i), CUZK_OK);
    rows += t.times * t.own_rows;
    if (i + 1 < b.n_templates) assert_int_equal(strncmp(t.region, "outer namespace", 15), 0);
  }
  assert_int_equal(rows, b.n_rows);
  assert_int_equal(cuzk_compact_template(&t, f, b.n_templates), CUZK_E_ARG);
  assert_int_equal(cuzk_compact_region(f, 0, region, sizeof region, NULL), CUZK_OK);
  assert_string_equal(region, "outer namespace/sector_0");
  assert_int_equal(cuzk_compact_region(f, 0, region, 9, NULL), CUZK_OK);
  assert_string_equal(region, "outer na");
  assert_int_equal(cuzk_compact_region(f, b.n_rows, region, sizeof region, NULL), CUZK_E_ARG);
  cuzk_compact_destroy(&f);
  cuzk_compact_destroy(&k);
  unlink(path);
  assert_int_equal(cuzk_compact_open(&f, path, &d), CUZK_E_NOENT);
  assert_null(f);
}

static uint8_t *image_of(const char *name, size_t *n) {
  char path[] = "/tmp/cuzk-r1cs-XXXXXX";
  struct cuzk_compact *k = compile(name);
  struct cuzk_file file = {0};
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(cuzk_compact_write(k, path, NULL), CUZK_OK);
  assert_int_equal(cuzk_file_read(&file, path, 1 << 30, NULL), CUZK_OK);
  uint8_t *p = malloc(file.n);
  memcpy(p, file.data, file.n);
  *n = file.n;
  cuzk_file_clear(&file);
  unlink(path);
  cuzk_compact_destroy(&k);
  return p;
}

static enum cuzk_status drop_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  (void)coeffs;
  (void)row;
  (void)user;
  return index < 2000 ? CUZK_OK : CUZK_E_CANCELLED;
}

/* Whatever is accepted can be used. */
static enum cuzk_status use(const uint8_t *p, size_t n) {
  struct cuzk_compact *k;
  struct cuzk_detail d = {{0}};
  struct cuzk_compact_info info;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  const enum cuzk_status st = cuzk_compact_parse(&k, p, n, "damaged", &d);
  if (st != CUZK_OK) {
    assert_null(k);
    assert_true(st == CUZK_E_FORMAT || st == CUZK_E_UNSUPPORTED);
    assert_true(d.text[0] != 0);
    return st;
  }
  const struct cuzk_system s = cuzk_compact_system(k);
  (void)s.walk(&s, drop_row, NULL, &n_inputs, &n_aux, &n_rows, NULL);
  cuzk_compact_info(&info, k);
  cuzk_compact_destroy(&k);
  return st;
}

static void seal(uint8_t *p, size_t n) { cuzk_sha256(p + n - 32, p, n - 32); }

static void damaged_files_are_refused(void **state) {
  (void)state;
  size_t n;
  uint8_t *p = image_of("poseidon-hash2", &n);
  assert_int_equal(use(p, n), CUZK_OK);
  /* cut at each section, and beside it */
  for (int s = 0; s < 8; s++) {
    const size_t at = (size_t)cuzk_load_le64(p + 160 + 16 * s);
    for (size_t cut = at - 1; cut <= at + 1; cut++) {
      uint8_t *q = malloc(cut);
      memcpy(q, p, cut);
      assert_int_equal(use(q, cut), CUZK_E_FORMAT);
      if (cut >= 288 + 32) { /* a length and checksum that fit do not help */
        cuzk_store_le64(q + 16, cut);
        seal(q, cut);
        assert_int_equal(use(q, cut), CUZK_E_FORMAT);
      }
      free(q);
    }
  }
  unsigned accepted = 0, refused = 0;
  for (size_t i = 0; i < n; i += i < 288 ? 1 : 11) {
    const uint8_t was = p[i];
    p[i] ^= (uint8_t)(1u << (test_rand() % 8));
    assert_int_not_equal(use(p, n), CUZK_OK);
    if (i < n - 32) { /* as somebody would who means it */
      uint8_t sum[32];
      memcpy(sum, p + n - 32, 32);
      seal(p, n);
      if (use(p, n) == CUZK_OK)
        accepted++;
      else
        refused++;
      memcpy(p + n - 32, sum, 32);
    }
    p[i] = was;
  }
  /* coefficients, names and digests may be others, structure may not */
  assert_true(refused > 200 && accepted > 200);
  free(p);
}

static void externals_bound_twice_are_refused(void **state) {
  (void)state;
  size_t n;
  uint8_t *p = image_of("sha256-32", &n);
  const size_t at = (size_t)cuzk_load_le64(p + 160 + 16 * 6), bytes = (size_t)cuzk_load_le64(p + 168 + 16 * 6);
  unsigned twice = 0;
  for (size_t i = at; i + 8 <= at + bytes && !twice; i += 4) {
    const uint32_t was = cuzk_load_le32(p + i);
    struct cuzk_compact *k;
    cuzk_store_le32(p + i, cuzk_load_le32(p + i + 4));
    seal(p, n);
    if (cuzk_compact_parse(&k, p, n, "bound", NULL) == CUZK_OK) {
      struct cuzk_shape s;
      const struct cuzk_system system = cuzk_compact_system(k);
      struct cuzk_detail d = {{0}};
      if (cuzk_shape_of(&s, &system, &d) == CUZK_E_FORMAT) twice++;
      cuzk_shape_clear(&s);
      cuzk_compact_destroy(&k);
    }
    cuzk_store_le32(p + i, was);
  }
  assert_true(twice);
  free(p);
}

static void each_allocation_may_fail(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("sha256-32");
  struct cuzk_assignment z;
  size_t n;
  uint8_t *p = image_of("sha256-32", &n);
  assert_int_equal(cuzk_circuit_assign(c, NULL, &z, NULL, false, NULL, NULL, NULL, NULL), CUZK_OK);
  for (int what = 0; what < 2; what++) {
    for (uint64_t at = 1;; at++) {
      const int64_t live = cuzk_alloc_live();
      struct cuzk_compact *k = NULL;
      struct cuzk_shape s = {0};
      struct cuzk_compact_template t;
      struct cuzk_compact_eval e = {.z = &z, .check = true};
      cuzk_alloc_fail_at(at);
      enum cuzk_status st = what ? cuzk_compact_parse(&k, p, n, "image", NULL) : cuzk_circuit_compile(&k, c, NULL, NULL, NULL);
      if (st == CUZK_OK) st = cuzk_compact_shape(&s, k, NULL);
      if (st == CUZK_OK) st = cuzk_compact_template(&t, k, 0);
      if (st == CUZK_OK) st = cuzk_compact_evaluate(k, &e, NULL, NULL, NULL);
      const uint64_t count = cuzk_alloc_count();
      cuzk_alloc_fail_at(0);
      cuzk_shape_clear(&s);
      cuzk_compact_destroy(&k);
      assert_int_equal(cuzk_alloc_live(), live);
      if (st == CUZK_OK) {
        assert_true(count < at);
        break;
      }
      assert_int_equal(st, CUZK_E_NOMEM);
    }
  }
  cuzk_assignment_clear(&z);
  free(p);
}

static bool refuse(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  unsigned *left = user;
  (void)stage;
  (void)unit;
  assert_true(done <= total);
  return *left && --*left;
}

static void work_can_be_cancelled(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("winning-2kib");
  struct cuzk_compact *k;
  unsigned left = 3;
  struct cuzk_progress progress = {refuse, &left};
  assert_int_equal(cuzk_circuit_compile(&k, c, NULL, &progress, NULL), CUZK_E_CANCELLED);
  assert_null(k);
  k = compile("winning-2kib");
  struct cuzk_compact_info info;
  cuzk_compact_info(&info, k);
  struct cuzk_assignment z = {.n_inputs = info.n_inputs, .n_aux = info.n_aux};
  z.inputs = cuzk_calloc(z.n_inputs, sizeof(cuzk_fr));
  z.aux = cuzk_calloc(z.n_aux, sizeof(cuzk_fr));
  struct cuzk_compact_eval e = {.z = &z};
  left = 2;
  assert_int_equal(cuzk_compact_evaluate(k, &e, NULL, &progress, NULL), CUZK_E_CANCELLED);
  cuzk_free(z.inputs);
  cuzk_free(z.aux);
  cuzk_compact_destroy(&k);
}

int main(int argc, char **argv) {
  test_seed();
  if (cuzk_pool_create(&pool, 2) != CUZK_OK) return 1;
  const struct CMUnitTest all[] = {
      cmocka_unit_test(expansions_equal_the_records), cmocka_unit_test(gadgets_expand_to_the_records),
      cmocka_unit_test(values_of_gadgets),            cmocka_unit_test(values_of_porep),
      cmocka_unit_test(values_of_post),               cmocka_unit_test(values_of_update),
      cmocka_unit_test(files_come_back),              cmocka_unit_test(damaged_files_are_refused),
      cmocka_unit_test(externals_bound_twice_are_refused), cmocka_unit_test(each_allocation_may_fail),
      cmocka_unit_test(work_can_be_cancelled),
  };
  const struct CMUnitTest named[] = {cmocka_unit_test(expansions_equal_the_records)};
  if (argc > 1) {
    names = (const char *const *)(argv + 1);
    n_names = (size_t)argc - 1;
  }
  const int rc = argc > 1 ? cmocka_run_group_tests(named, NULL, NULL) : cmocka_run_group_tests(all, NULL, NULL);
  cuzk_pool_destroy(&pool);
  cuzk_poseidon_release();
  return rc;
}
