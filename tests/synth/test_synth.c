/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "synth_files.h"

#include "base/alloc.h"
#include "base/pool.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

/* ---- PoRep ---- */

static void porep_outputs_pass_every_check(void **state) {
  (void)state;
  static const unsigned apis[] = {0, 0x0100, 0x0101};
  for (size_t s = 0; s < 5; s++) {
    for (size_t i = 0; i < 3; i++) {
      for (uint64_t seed = 0; seed < (all_sizes[s] <= 4096 ? 8 : 1); seed++) { /* in small graphs nodes are parents of each other */
        struct cuzk_synth o = plain(all_sizes[s], seed);
        struct cuzk_c1 *c;
        char *text;
        size_t n;
        o.api_major_minor = apis[i];
        o.miner = 127 + seed;
        o.sector_number = UINT64_C(1) << (4 * seed);
        ok(cuzk_synth_porep(&text, &n, &o, NULL, &d));
        ok(cuzk_c1_read(&c, (const uint8_t *)text, n, "synthetic", &d));
        assert_int_equal(c->type.sector_bytes, all_sizes[s]);
        assert_int_equal(c->type.api_major_minor, apis[i] ? apis[i] : 0x0101);
        assert_int_equal(c->type.feature, CUZK_POREP_INTERACTIVE);
        ok(cuzk_c1_check(c, NULL, &d));
        ok(cuzk_c1_check_identity(c, o.miner, o.sector_number, &d));
        cuzk_c1_free(&c);
        cuzk_free(text);
      }
    }
  }
}

/* Digest of everything that a run writes, names included. */
static enum cuzk_status digest_file(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *detail) {
  (void)detail;
  cuzk_sha256_update(user, name, strlen(name));
  cuzk_sha256_update(user, p, n);
  return CUZK_OK;
}

static void digest_run(uint8_t out[32], enum cuzk_kind kind, const struct cuzk_synth *o, struct cuzk_pool *pool) {
  struct cuzk_sha256 s;
  cuzk_sha256_init(&s);
  if (kind == CUZK_KIND_POREP) {
    char *text;
    size_t n;
    ok(cuzk_synth_porep(&text, &n, o, pool, &d));
    cuzk_sha256_update(&s, text, n);
    cuzk_free(text);
  } else if (kind == CUZK_KIND_UPDATE) {
    ok(cuzk_synth_update(o, pool, digest_file, &s, &d));
  } else {
    ok(cuzk_synth_post(kind, o, pool, digest_file, &s, &d));
  }
  cuzk_sha256_final(&s, out);
}

static void the_same_options_give_the_same_bytes(void **state) {
  (void)state;
  static const enum cuzk_kind kinds[] = {CUZK_KIND_POREP, CUZK_KIND_WINNING, CUZK_KIND_WINDOW, CUZK_KIND_UPDATE};
  /* Of 2 KiB, seed 1: benchmarks and records of measurements name a sector by its options. */
  static const char *const known[] = {
      "537ea4f426cd6c1537aaf3b89b3be85b71754261192c595b99829138cc4da281",
      "b936f9301c70c0dffe9b97e202a5fff17e52165e7368ccee2a088296f23f0148",
      "3b30742fe7e8514629cd963425db9e9d1ad0875b032c285ee3a4400e6d3689e6",
      "17ed5de727224c4e72f587b28a0bdd3ec9ca9b43c7020fcbe57a447628828db8",
  };
  struct cuzk_pool *pool;
  ok(cuzk_pool_create(&pool, 3));
  for (int i = 0; i < 4; i++) {
    const enum cuzk_kind kind = kinds[i];
    uint8_t first[32], again[32];
    char hex[65];
    struct cuzk_synth o = plain(UINT64_C(2) << 10, 1);
    digest_run(first, kind, &o, NULL);
    for (int b = 0; b < 32; b++) (void)snprintf(hex + 2 * b, 3, "%02x", first[b]);
    assert_string_equal(hex, known[i]);
    o.seed = 2;
    digest_run(again, kind, &o, NULL);
    assert_memory_not_equal(first, again, 32);
    o.seed = 1;
    o.miner++;
    digest_run(again, kind, &o, NULL);
    assert_memory_not_equal(first, again, 32);
    /* A size whose levels are shared among the workers. */
    o = plain(UINT64_C(8) << 20, 1);
    o.n_sectors = kind == CUZK_KIND_WINDOW ? 5 : 0;
    digest_run(first, kind, &o, NULL);
    digest_run(again, kind, &o, pool);
    assert_memory_equal(first, again, 32);
  }
  cuzk_pool_destroy(&pool);
}

/* ---- the other kinds ---- */

static void post_sets_pass_every_check(void **state) {
  (void)state;
  static const unsigned apis[] = {0, 0x0100, 0x0101, 0x0102};
  for (size_t s = 0; s < 5; s++) {
    for (size_t i = 0; i < 4; i++) {
      struct cuzk_synth o = plain(all_sizes[s], 3);
      struct files f = {0};
      o.sector_number = 1000;
      o.n_sectors = 5;
      o.api_major_minor = apis[i];
      ok(generate(CUZK_KIND_WINDOW, &o, NULL, &f));
      assert_int_equal(f.records.n, 5);
      assert_string_equal(f.first, "window-1000.vanilla.bin");
      assert_string_equal(f.last, "window-1004.vanilla.bin");
      assert_int_equal(f.meta.api_major_minor, apis[i] ? apis[i] : 0x0102);
      struct cuzk_inputs *in = open_files(CUZK_KIND_WINDOW, &f);
      assert_int_equal(in->circuit->sector_bytes, all_sizes[s]);
      assert_int_equal(in->n_partitions, 3);
      ok(cuzk_inputs_check(in, NULL, &d));
      cuzk_inputs_close(&in);
      files_clear(&f);
    }
    struct cuzk_synth o = plain(all_sizes[s], 3);
    struct files f = {0};
    ok(generate(CUZK_KIND_WINNING, &o, NULL, &f));
    assert_int_equal(f.records.n, 1);
    assert_string_equal(f.first, "winning-1.vanilla.bin");
    struct cuzk_inputs *in = open_files(CUZK_KIND_WINNING, &f);
    assert_int_equal(in->n_partitions, 1);
    ok(cuzk_inputs_check(in, NULL, &d));
    cuzk_inputs_close(&in);
    files_clear(&f);
  }
}

static void updates_pass_every_check(void **state) {
  (void)state;
  for (size_t s = 0; s < 5; s++) {
    for (uint64_t seed = 0; seed < 3; seed++) {
      struct cuzk_synth o = plain(all_sizes[s], seed);
      struct files f = {0};
      ok(generate(CUZK_KIND_UPDATE, &o, NULL, &f));
      assert_string_equal(f.first, "update.p0.vanilla.bin");
      struct cuzk_inputs *in = open_files(CUZK_KIND_UPDATE, &f);
      assert_int_equal(in->circuit->sector_bytes, all_sizes[s]);
      assert_int_equal(in->n_partitions, in->circuit->partitions);
      assert_int_equal(f.records.n, in->n_partitions);
      ok(cuzk_inputs_check(in, NULL, &d));
      cuzk_inputs_close(&in);
      files_clear(&f);
    }
  }
}

/* Regions differ from each other, and so do leaves within one: a circuit that mixed them up would be found out. */
static void update_data_differs_from_place_to_place(void **state) {
  (void)state;
  const struct cuzk_synth o = plain(UINT64_C(8) << 20, 1);
  struct files f = {0};
  ok(generate(CUZK_KIND_UPDATE, &o, NULL, &f));
  struct cuzk_update_vanilla *v;
  ok(cuzk_update_vanilla_read(&v, cuzk_circuit_of(CUZK_KIND_UPDATE, o.sector_bytes), 1, &f.meta.commitments, f.records.blob[1].data,
                              f.records.blob[1].n, "p1", &d));
  for (unsigned i = 0; i < v->partition.n_apex_leaves; i += 2) {
    for (unsigned j = 0; j < i; j += 2) assert_false(cuzk_fr_eq(&v->partition.apex_leaves[i], &v->partition.apex_leaves[j]));
  }
  for (unsigned i = 1; i < v->partition.n_challenges; i++) {
    assert_false(cuzk_fr_eq(&v->partition.challenges[i].leaf_d_new, &v->partition.challenges[0].leaf_d_new));
    assert_false(cuzk_fr_eq(&v->partition.challenges[i].leaf_r_old, &v->partition.challenges[0].leaf_r_old));
  }
  cuzk_update_vanilla_free(&v);
  files_clear(&f);
}

static void one_partition_of_an_update(void **state) {
  (void)state;
  struct cuzk_synth o = plain(UINT64_C(8) << 20, 1);
  struct files all = {0}, one = {0};
  ok(generate(CUZK_KIND_UPDATE, &o, NULL, &all));
  o.partition = 2;
  ok(generate(CUZK_KIND_UPDATE, &o, NULL, &one));
  assert_int_equal(one.records.n, 1);
  assert_string_equal(one.first, "update.p2.vanilla.bin");
  assert_int_equal(one.records.blob[0].n, all.records.blob[2].n);
  assert_memory_equal(one.records.blob[0].data, all.records.blob[2].data, one.records.blob[0].n);
  files_clear(&all);
  files_clear(&one);
}

/* ---- failures ---- */

static enum cuzk_status refuse(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *detail) {
  unsigned *left = user;
  (void)name, (void)p, (void)n, (void)detail;
  return (*left)-- ? CUZK_OK : CUZK_E_NOSPC;
}

static void what_does_not_exist_is_refused(void **state) {
  (void)state;
  struct cuzk_synth o = plain(3000, 1);
  char *text;
  size_t n;
  unsigned left = 0;
  assert_int_equal(cuzk_synth_porep(&text, &n, &o, NULL, &d), CUZK_E_ARG);
  assert_null(text);
  assert_non_null(strstr(d.text, "3000"));
  assert_int_equal(cuzk_synth_post(CUZK_KIND_WINDOW, &o, NULL, refuse, &left, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_synth_update(&o, NULL, refuse, &left, &d), CUZK_E_ARG);
  o.sector_bytes = 2048;
  assert_int_equal(cuzk_synth_post(CUZK_KIND_POREP, &o, NULL, refuse, &left, &d), CUZK_E_ARG);
  o.api_major_minor = 0x0102; /* synthetic and non-interactive: their challenges follow from comm_r */
  assert_int_equal(cuzk_synth_porep(&text, &n, &o, NULL, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_synth_post(CUZK_KIND_WINNING, &o, NULL, refuse, &left, &d), CUZK_E_ARG);
  o.api_major_minor = 0x0103;
  assert_int_equal(cuzk_synth_post(CUZK_KIND_WINDOW, &o, NULL, refuse, &left, &d), CUZK_E_ARG);
  o.api_major_minor = 0;
  o.n_sectors = 2;
  assert_int_equal(cuzk_synth_post(CUZK_KIND_WINNING, &o, NULL, refuse, &left, &d), CUZK_E_ARG);
  o.sector_number = INT64_MAX;
  assert_int_equal(cuzk_synth_post(CUZK_KIND_WINDOW, &o, NULL, refuse, &left, &d), CUZK_E_ARG);
  o = plain(2048, 1);
  o.partition = 1;
  assert_int_equal(cuzk_synth_update(&o, NULL, refuse, &left, &d), CUZK_E_ARG);
}

static void a_file_that_cannot_be_written_ends_the_run(void **state) {
  (void)state;
  struct cuzk_synth o = plain(2048, 1);
  o.n_sectors = 3;
  for (unsigned i = 0; i < 4; i++) {
    unsigned left = i;
    assert_int_equal(cuzk_synth_post(CUZK_KIND_WINDOW, &o, NULL, refuse, &left, &d), CUZK_E_NOSPC);
  }
  for (unsigned i = 0; i < 2; i++) {
    unsigned left = i;
    assert_int_equal(cuzk_synth_update(&o, NULL, refuse, &left, &d), CUZK_E_NOSPC);
  }
}

/* One run with the n-th allocation failing; true if it got through. */
static bool run_failing_at(enum cuzk_kind kind, uint64_t nth) {
  struct cuzk_synth o = plain(2048, 1);
  struct cuzk_sha256 s;
  char *text = NULL;
  size_t n;
  cuzk_sha256_init(&s);
  const int64_t live = cuzk_alloc_live();
  cuzk_alloc_fail_at(nth);
  const enum cuzk_status st = kind == CUZK_KIND_POREP    ? cuzk_synth_porep(&text, &n, &o, NULL, &d)
                              : kind == CUZK_KIND_UPDATE ? cuzk_synth_update(&o, NULL, digest_file, &s, &d)
                                                         : cuzk_synth_post(kind, &o, NULL, digest_file, &s, &d);
  cuzk_alloc_fail_at(0);
  if (st != CUZK_OK) {
    assert_int_equal(st, CUZK_E_NOMEM);
    assert_null(text);
  }
  cuzk_free(text);
  assert_true(cuzk_alloc_live() == live);
  return st == CUZK_OK;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const enum cuzk_kind kinds[] = {CUZK_KIND_POREP, CUZK_KIND_WINNING, CUZK_KIND_WINDOW, CUZK_KIND_UPDATE};
  for (int i = 0; i < 4; i++) {
    assert_true(run_failing_at(kinds[i], 0)); /* constants that stay are built now */
    uint64_t n = 1;
    while (!run_failing_at(kinds[i], n)) n++;
    assert_true(n > 3);
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(porep_outputs_pass_every_check),
      cmocka_unit_test(the_same_options_give_the_same_bytes),
      cmocka_unit_test(post_sets_pass_every_check),
      cmocka_unit_test(updates_pass_every_check),
      cmocka_unit_test(update_data_differs_from_place_to_place),
      cmocka_unit_test(one_partition_of_an_update),
      cmocka_unit_test(what_does_not_exist_is_refused),
      cmocka_unit_test(a_file_that_cannot_be_written_ends_the_run),
      cmocka_unit_test(every_allocation_may_fail),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return failed;
}
