/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Challenges, parents and ids against the check values of the specifications. */
#include "testing.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "ff/fr.h"
#include "hash/sha256.h"
#include "inputs/c1.h"
#include "inputs/porep_challenges.h"
#include "inputs/porep_graph.h"

static void assert_hex(const uint8_t *p, size_t n, const char *expected) {
  char s[129];
  cuzk_hex_encode(s, p, n);
  assert_string_equal(s, expected);
}

/* SHA-256 over all nodes of the 14 parents as u32 LE: circuits specification, Appendix A. */
static void parents_of_a_whole_sector(void **state) {
  (void)state;
  static const struct { const char *type, *digest; } cases[] = {
      {"StackedDrg2KiBV1", "3da49221e2ed55371b86d0bf3d6526fcf128af61bed904f966428db1b531750d"},
      {"StackedDrg2KiBV1_1", "840057702eea7652cf97e04306c30fe57174714d90de156a25eddd6075c25b97"}};
  for (size_t i = 0; i < 2; i++) {
    const struct cuzk_seal_type *t = cuzk_seal_type_find(cases[i].type);
    assert_non_null(t);
    uint8_t porep_id[32], digest[32];
    struct cuzk_porep_graph g;
    struct cuzk_sha256 s;
    cuzk_porep_id(porep_id, t);
    cuzk_porep_graph_init(&g, t->sector_bytes / 32, porep_id, t->api_major_minor);
    cuzk_sha256_init(&s);
    for (uint64_t v = 0; v < g.nodes; v++) {
      uint64_t parents[14];
      cuzk_porep_graph_parents(parents, &g, v);
      for (int p = 0; p < 14; p++) {
        uint8_t le[4];
        cuzk_store_le32(le, (uint32_t)parents[p]);
        cuzk_sha256_update(&s, le, 4);
      }
    }
    cuzk_sha256_final(&s, digest);
    assert_hex(digest, 32, cases[i].digest);
  }
}

/* Laws that hold at every size: DRG parents precede their node, the expander is a permutation of edges. */
static void parents_obey_the_graph(void **state) {
  (void)state;
  const uint64_t sizes[] = {UINT64_C(1) << 6, UINT64_C(1) << 9, UINT64_C(1) << 10, UINT64_C(1) << 18, UINT64_C(1) << 30, UINT64_C(1) << 31};
  uint8_t porep_id[32];
  for (size_t i = 0; i < 32; i++) porep_id[i] = (uint8_t)test_rand();
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct cuzk_porep_graph old, new;
    cuzk_porep_graph_init(&old, sizes[s], porep_id, 0x0100);
    cuzk_porep_graph_init(&new, sizes[s], porep_id, 0x0102);
    const size_t rounds = sizes[s] <= 1024 ? sizes[s] : 2000;
    static uint8_t degree[1024];
    memset(degree, 0, sizeof degree);
    for (size_t r = 0; r < rounds; r++) {
      const uint64_t v = sizes[s] <= 1024 ? r : test_rand() % sizes[s];
      uint64_t a[14], b[14];
      cuzk_porep_graph_parents(a, &old, v);
      cuzk_porep_graph_parents(b, &new, v);
      for (int p = 0; p < 6; p++) assert_true(v < 2 ? b[p] == 0 : b[p] < v);
      for (int p = 0; p < 14; p++) assert_true(b[p] < sizes[s]);
      if (v >= 2) {
        assert_int_equal(b[0], v - 1);
        assert_int_equal(a[5], v - 1);
        assert_memory_equal(a, b + 1, 5 * sizeof *a);
      }
      for (int p = 6; p < 14; p++) {
        /* The older derivation drops bits that only sectors of more than 2^29 nodes have. */
        if (sizes[s] <= UINT64_C(1) << 29) assert_int_equal(a[p], b[p]);
        assert_int_equal(a[p], b[p] & ((UINT64_C(1) << 29) - 1));
        if (sizes[s] <= 1024) degree[b[p]]++;
      }
    }
    if (sizes[s] <= 1024) {
      for (size_t v = 0; v < sizes[s]; v++) assert_int_equal(degree[v], 8);
    }
  }
}

/* Formats specification, A.3. */
static void derivations(void **state) {
  (void)state;
  uint8_t prover[32], porep_id[32], id[32], ticket[32], seed[32], comm_d[32], comm_r[32] = {101};
  const struct cuzk_seal_type *t = cuzk_seal_type_find("StackedDrg32GiBV1_1");
  assert_non_null(t);
  assert_int_equal(t->number, 8);
  memset(ticket, 1, 32);
  memset(seed, 2, 32);
  memset(comm_d, 3, 32);
  cuzk_porep_id(porep_id, t);
  cuzk_prover_id(prover, 1000);
  assert_hex(prover, 32, "e807000000000000000000000000000000000000000000000000000000000000");
  cuzk_replica_id(id, prover, 42, ticket, comm_d, porep_id);
  assert_hex(id, 32, "68cf6d19ea19c51a6e0f332a090e0cf5ff940d7eca247b7f044071ce68552d04");

  const uint64_t nodes = UINT64_C(1) << 30;
  uint64_t c[180];
  cuzk_porep_challenges(c, CUZK_POREP_INTERACTIVE, nodes, id, comm_r, seed, 0, 0, 180);
  const uint64_t interactive[4] = {846027605, 238244876, 746027536, 833213490};
  assert_memory_equal(c, interactive, sizeof interactive);
  assert_int_equal(c[9 * 18 + 17], 502168895);
  uint64_t one;
  cuzk_porep_challenges(&one, CUZK_POREP_INTERACTIVE, nodes, id, comm_r, seed, 0, 179, 1);
  assert_int_equal(one, 502168895);
  cuzk_porep_challenges(c, CUZK_POREP_NON_INTERACTIVE, nodes, id, comm_r, seed, 0, 0, 3);
  const uint64_t ni[3] = {932079939, 900356540, 746438240};
  assert_memory_equal(c, ni, sizeof ni);
}

static void synthetic_challenges(void **state) {
  (void)state;
  const uint64_t set[21] = {178, 297, 869, 211, 875, 477, 94, 781, 124, 332, 856, 801, 176, 692, 429, 691, 290, 204, 986, 210, 973};
  const uint64_t chosen[10] = {176, 781, 801, 986, 290, 211, 692, 856, 986, 332};
  const uint8_t replica_id[32] = {55}, comm_r[32] = {101};
  uint8_t seed[32];
  memset(seed, 1, 32);
  for (uint64_t m = 0; m < 21; m++) assert_int_equal(cuzk_porep_synthetic_challenge(1024, replica_id, comm_r, m), set[m]);
  uint64_t c[40], d[40];
  cuzk_porep_challenges(c, CUZK_POREP_SYNTHETIC, 1024, replica_id, comm_r, seed, 21, 0, 10);
  assert_memory_equal(c, chosen, sizeof chosen);
  /* The same in pieces that start anywhere. */
  cuzk_porep_challenges(c, CUZK_POREP_SYNTHETIC, 1024, replica_id, comm_r, seed, 0, 0, 40);
  for (size_t first = 0; first < 40; first++) {
    cuzk_porep_challenges(d, CUZK_POREP_SYNTHETIC, 1024, replica_id, comm_r, seed, 0, first, 40 - first);
    assert_memory_equal(d, c + first, (40 - first) * sizeof *c);
  }
  assert_int_equal(cuzk_porep_synthetic_count(64), 64);
  assert_int_equal(cuzk_porep_synthetic_count(UINT64_C(1) << 31), 1 << 18);
}

static void miners(void **state) {
  (void)state;
  uint8_t id[32];
  static const struct { uint64_t miner; const char *hex; } cases[] = {{0, "00"}, {127, "7f"}, {128, "8001"}, {1001, "e907"}, {300003, "e3a712"},
      {UINT64_MAX, "ffffffffffffffffff01"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[65];
    memset(expected, '0', 64);
    expected[64] = 0;
    memcpy(expected, cases[i].hex, strlen(cases[i].hex));
    cuzk_prover_id(id, cases[i].miner);
    assert_hex(id, 32, expected);
  }
}

static void seal_types(void **state) {
  (void)state;
  size_t n = 0;
  int numbers = 0;
  for (const struct cuzk_seal_type *t; (t = cuzk_seal_type_at(n)); n++) {
    assert_ptr_equal(cuzk_seal_type_find(t->name), t);
    assert_non_null(strstr(t->name, t->size_name));
    assert_true(strncmp(t->name, t->map_key, strlen(t->map_key)) == 0);
    const bool large = t->sector_bytes >= UINT64_C(32) << 30;
    assert_int_equal(t->n_partitions, t->feature == CUZK_POREP_NON_INTERACTIVE ? (large ? 126 : 13) : large ? 10 : 1);
    if (t->number >= 0) {
      assert_int_equal(t->number, t->porep_number);
      numbers |= 1 << t->number;
    }
  }
  assert_int_equal(n, 32);
  assert_int_equal(numbers, 0xfffff);
  assert_null(cuzk_seal_type_find("StackedDrg2KiB"));
  assert_null(cuzk_seal_type_find(""));
  assert_int_equal(cuzk_seal_type_find("StackedDrg64GiBV1_2_Feat_NonInteractivePoRep")->number, 19);
  assert_int_equal(cuzk_seal_type_find("StackedDrg8MiBV1_1_Feat_SyntheticPoRep")->number, 11);
  assert_int_equal(cuzk_seal_type_find("StackedDrg16KiBV1_1")->number, -1);
  assert_int_equal(cuzk_seal_type_find("StackedDrg16KiBV1_1")->porep_number, 5);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parents_of_a_whole_sector),
      cmocka_unit_test(parents_obey_the_graph),
      cmocka_unit_test(derivations),
      cmocka_unit_test(synthetic_challenges),
      cmocka_unit_test(miners),
      cmocka_unit_test(seal_types),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
