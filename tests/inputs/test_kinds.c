/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "base/file.h"
#include "hash/poseidon.h"
#include "inputs/kinds.h"

#define SECTORS CUZK_TEST_DATA "/fixtures/sectors/"

static struct cuzk_detail d;

static void rows_name_each_kind_once(void **state) {
  (void)state;
  static const char *const expected[][4] = {{"porep", "porep", "porep-c2", "porep_c2"},
                                            {"update", "snap", "snap-update", "snap_update"},
                                            {"window", "window-post", "window-post", "window_post"},
                                            {"winning", "winning-post", "winning-post", "winning_post"}};
  const struct cuzk_proof_kind *k;
  size_t n = 0;
  for (; (k = cuzk_proof_kind_at(n)); n++) {
    char name[64], id[200];
    assert_string_equal(k->circuit_prefix, expected[n][0]);
    assert_string_equal(k->command, expected[n][1]);
    assert_string_equal(k->rpc_name, expected[n][2]);
    assert_string_equal(k->metric_label, expected[n][3]);
    assert_int_equal(k->rpc_number, n + 1);
    assert_ptr_equal(cuzk_proof_kind_of(k->kind), k);
    assert_ptr_equal(cuzk_proof_kind_find(k->command), k);
    /* the prefix is that of the circuits' names, at every size */
    for (size_t i = 0; cuzk_circuit_at(i); i++) {
      const struct cuzk_circuit *c = cuzk_circuit_at(i);
      if (c->kind != k->kind) continue;
      (void)snprintf(name, sizeof name, "%s-", k->circuit_prefix);
      assert_memory_equal(c->name, name, strlen(name));
      k->parameter_id(id, c);
      assert_true(strlen(id) > 64);
    }
  }
  assert_int_equal(n, 4);
  assert_null(cuzk_proof_kind_of(CUZK_KIND_GADGET));
  assert_null(cuzk_proof_kind_find("winning"));
}

/* Opens a set, checks it, derives the last partition's public inputs; files: META, then records. */
static enum cuzk_status run(const char *command, const char *const *files, unsigned want_partitions) {
  struct cuzk_statement s = {0};
  struct cuzk_blobs b = {0};
  struct cuzk_inputs *in = NULL;
  cuzk_fr u[200];
  const struct cuzk_proof_kind *kind = cuzk_proof_kind_find(command);
  struct cuzk_input_source from = {.statement = &s, .vanilla = &b};
  enum cuzk_status st;
  if (kind->takes_c1) {
    from = (struct cuzk_input_source){.c1_path = files[0]};
  } else {
    CUZK_TRY(cuzk_statement_load(&s, &b, files[0], &d));
    for (size_t i = 1; files[i]; i++) CUZK_TRY(cuzk_blobs_add_file(&b, files[i], &d));
  }
  CUZK_TRY(cuzk_inputs_open(&in, kind, &from, &d));
  assert_int_equal(in->n_partitions, want_partitions);
  assert_true(in->circuit->n_inputs <= 200);
  CUZK_TRY(cuzk_inputs_check(in, NULL, &d));
  CUZK_TRY(cuzk_inputs_public(u, in, want_partitions - 1, &d));
  assert_non_null(cuzk_inputs_witness(in, want_partitions - 1));
  assert_null(cuzk_inputs_witness(in, want_partitions));
  assert_int_equal(cuzk_inputs_public(u, in, want_partitions, &d), CUZK_E_ARG);
out:
  cuzk_inputs_close(&in);
  cuzk_statement_clear(&s);
  cuzk_blobs_clear(&b);
  return st;
}

static const struct {
  const char *command;
  unsigned partitions;
  const char *files[5];
} sets[] = {
    {"window-post", 2,
     {SECTORS "x2k/window3.meta.json", SECTORS "x2k/window3-1048576.vanilla.bin", SECTORS "x2k/window3-7.vanilla.bin",
      SECTORS "x2k/window3-1099511627776.vanilla.bin", NULL}},
    {"winning-post", 1, {SECTORS "s2k/winning.meta.json", SECTORS "s2k/winning-10.vanilla.bin", NULL}},
    {"snap", 2, {SECTORS "s16k/update.meta.json", SECTORS "s16k/update.p0.vanilla.bin", SECTORS "s16k/update.p1.vanilla.bin", NULL}},
    {"porep", 1, {CUZK_TEST_DATA "/../../fuzz/corpus/c1_json/bincode-2kib", NULL}},
};

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    enum cuzk_status st = run(sets[i].command, sets[i].files, sets[i].partitions);
    if (st != CUZK_OK) fail_msg("%s: %s", sets[i].command, d.text);
    cuzk_poseidon_release();
    const int64_t live = cuzk_alloc_live();
    for (uint64_t k = 1;; k++) {
      d.text[0] = 0;
      cuzk_alloc_fail_at(k);
      st = run(sets[i].command, sets[i].files, sets[i].partitions);
      const uint64_t tried = cuzk_alloc_count();
      cuzk_alloc_fail_at(0);
      cuzk_poseidon_release();
      assert_int_equal(cuzk_alloc_live(), live);
      if (tried < k) break;
      if (st != CUZK_E_NOMEM) fail_msg("%s, allocation %llu: %s", sets[i].command, (unsigned long long)k, cuzk_status_name(st));
      assert_true(d.text[0]);
    }
    assert_int_equal(st, CUZK_OK);
  }
}

static void without_records_there_is_no_witness(void **state) {
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    struct cuzk_statement s = {0};
    struct cuzk_blobs b = {0};
    struct cuzk_inputs *in;
    const struct cuzk_input_source from = {.statement = &s};
    cuzk_fr u[200];
    assert_int_equal(cuzk_statement_load(&s, &b, sets[i].files[0], &d), CUZK_OK);
    assert_int_equal(cuzk_inputs_open(&in, cuzk_proof_kind_find(sets[i].command), &from, &d), CUZK_OK);
    assert_int_equal(in->n_partitions, sets[i].partitions);
    assert_null(cuzk_inputs_witness(in, 0));
    assert_int_equal(cuzk_inputs_check(in, NULL, &d), CUZK_E_ARG);
    assert_int_equal(cuzk_inputs_public(u, in, 0, &d), CUZK_OK);
    cuzk_inputs_close(&in);
    assert_null(in);
    cuzk_statement_clear(&s);
    cuzk_blobs_clear(&b);
  }
}

static void sources_that_are_missing(void **state) {
  (void)state;
  struct cuzk_inputs *in;
  const struct cuzk_input_source nothing = {0};
  for (size_t i = 0; cuzk_proof_kind_at(i); i++) {
    assert_int_equal(cuzk_inputs_open(&in, cuzk_proof_kind_at(i), &nothing, &d), CUZK_E_ARG);
    assert_null(in);
  }
}

/* The first thing that is wrong is reported, whoever finds what first. */
static void checks_on_a_pool(void **state) {
  (void)state;
  struct cuzk_pool *pool;
  assert_int_equal(cuzk_pool_create(&pool, 3), CUZK_OK);
  for (size_t i = 0; i < 3; i++) {
    for (int wrong = 0; wrong < 2; wrong++) {
      struct cuzk_statement s = {0};
      struct cuzk_blobs b = {0};
      struct cuzk_inputs *in;
      const struct cuzk_input_source from = {.statement = &s, .vanilla = &b};
      assert_int_equal(cuzk_statement_load(&s, &b, sets[i].files[0], &d), CUZK_OK);
      for (size_t k = 1; sets[i].files[k]; k++) assert_int_equal(cuzk_blobs_add_file(&b, sets[i].files[k], &d), CUZK_OK);
      if (wrong) {
        s.randomness[0] ^= 1;
        s.commitments.comm_r_new[0] ^= 1;
        s.n_challenges = 0;
      }
      assert_int_equal(cuzk_inputs_open(&in, cuzk_proof_kind_find(sets[i].command), &from, &d), CUZK_OK);
      struct cuzk_detail alone = {{0}}, together = {{0}};
      const enum cuzk_status want = wrong ? CUZK_E_MISMATCH : CUZK_OK;
      assert_int_equal(cuzk_inputs_check(in, NULL, &alone), want);
      assert_int_equal(cuzk_inputs_check(in, pool, &together), want);
      assert_string_equal(together.text, alone.text);
      cuzk_inputs_close(&in);
      cuzk_statement_clear(&s);
      cuzk_blobs_clear(&b);
    }
  }
  cuzk_pool_destroy(&pool);
}

/* A record of sector 91 begins with '[': it is no list of base64. */
static void records_that_begin_like_json(void **state) {
  (void)state;
  struct cuzk_file f;
  struct cuzk_blobs b = {0};
  assert_int_equal(cuzk_file_read(&f, sets[1].files[1], (size_t)1 << 30, &d), CUZK_OK);
  f.data[0] = '[';
  assert_int_equal(cuzk_blobs_add(&b, f.data, f.n, "record", &d), CUZK_OK);
  assert_int_equal(b.n, 1);
  assert_int_equal(b.blob[0].n, f.n);
  assert_memory_equal(b.blob[0].data, f.data, f.n);
  assert_int_equal(cuzk_blobs_add(&b, (const uint8_t *)"[\"AAEC\", \"\\u0041w==\"]", 21, "list", &d), CUZK_OK);
  assert_int_equal(b.n, 3);
  assert_int_equal(b.blob[1].n, 3);
  assert_int_equal(b.blob[2].n, 1);
  assert_int_equal(b.blob[2].data[0], 3);
  assert_string_equal(b.blob[2].name, "list: vanilla proof 1");
  cuzk_blobs_clear(&b);
  cuzk_file_clear(&f);
}

static int teardown(void **state) {
  (void)state;
  cuzk_poseidon_release();
  return 0;
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_name_each_kind_once),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(without_records_there_is_no_witness),
      cmocka_unit_test(sources_that_are_missing),
      cmocka_unit_test(checks_on_a_pool),
      cmocka_unit_test(records_that_begin_like_json),
  };
  return cmocka_run_group_tests(tests, NULL, teardown);
}
