/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From the files that the sealing stack wrote to values of the circuit: what the readers decode satisfies the circuits, and the private
 * values are those of the fixtures' records, byte for byte. */
#include "testing.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"
#include "inputs/c1.h"
#include "inputs/vanilla.h"

#define SECTORS CUZK_TEST_DATA "/fixtures/sectors/"

static struct cuzk_detail d;

static void ok(enum cuzk_status st) {
  if (st != CUZK_OK) fail_msg("%s: %s", cuzk_status_name(st), d.text);
}

/* Two hexadecimal members of a JSON file (32 bytes each). */
static void read_hex_members(const char *path, const char *const *names, unsigned n, uint8_t (*out)[32]) {
  struct cuzk_file f;
  struct cuzk_json *j;
  ok(cuzk_file_read(&f, path, (size_t)1 << 30, &d));
  ok(cuzk_json_open(&j, f.data, f.n, f.n, path, &d));
  ok(cuzk_json_object(j, names, n, (1u << n) - 1));
  for (int k;;) {
    ok(cuzk_json_member(j, &k));
    if (k < 0) break;
    ok(cuzk_json_hex(j, out[k], 32));
  }
  cuzk_json_close(&j);
  cuzk_file_clear(&f);
}

/* Assigns, checks every row, and compares with the record. */
static void assert_record(const struct cuzk_circuit *c, const void *witness, const cuzk_fr *inputs, const char *record) {
  struct cuzk_assignment a = {0};
  uint64_t bad_row = 0;
  char region[512] = "", path[512];
  ok(cuzk_circuit_assign(c, witness, &a, NULL, true, &bad_row, region, NULL, &d));
  if (bad_row != UINT64_MAX) fail_msg("%s: row %llu (%s) does not hold", record, (unsigned long long)bad_row, region);
  assert_int_equal(a.n_inputs, c->n_inputs);
  assert_memory_equal(a.inputs + 1, inputs, (c->n_inputs - 1) * sizeof *inputs);
  struct cuzk_sha256 s;
  uint8_t got[32], want[1][32];
  cuzk_sha256_init(&s);
  for (uint32_t i = 0; i < a.n_aux; i++) {
    uint8_t le[32];
    cuzk_fr_to_le(le, &a.aux[i]);
    cuzk_sha256_update(&s, le, 32);
  }
  cuzk_sha256_final(&s, got);
  cuzk_assignment_clear(&a);
  static const char *const names[] = {"aux_sha256"};
  (void)snprintf(path, sizeof path, SECTORS "%s.witness.json", record);
  read_hex_members(path, names, 1, want);
  assert_memory_equal(got, want[0], 32);
}

static void porep(void **state) {
  (void)state;
  static const struct { const char *c1, *record; unsigned partition; } cases[] = {
      {"s2k/porep-10.curio.json", "s2k/porep-10.p0", 0}, {"s2k/porep-12.c1.json", "s2k/porep-12.p0", 0},
      {"s2k/porep-13.c1.json", "s2k/porep-13.p1", 1},    {"x2k/porep-1048576.c1.json", "x2k/porep-1048576.p0", 0},
      {"s32k/porep-11.c1.json", "s32k/porep-11.p0", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct cuzk_c1 *c;
    cuzk_fr inputs[64];
    char path[512];
    (void)snprintf(path, sizeof path, SECTORS "%s", cases[i].c1);
    ok(cuzk_c1_load(&c, path, &d));
    ok(cuzk_c1_public_inputs(inputs, c, cases[i].partition, &d));
    assert_record(c->circuit, &c->partitions[cases[i].partition], inputs, cases[i].record);
    cuzk_c1_free(&c);
  }
}

static void spacetime(void **state) {
  (void)state;
  static const struct { const char *meta, *files[2], *record; enum cuzk_kind kind; unsigned api; uint64_t first; } cases[] = {
      {"s2k/winning", {"s2k/winning-10", NULL}, "s2k/winning.p0", CUZK_KIND_WINNING, 0x0100, 0},
      {"s2k/window", {"s2k/window-10", "s2k/window-11"}, "s2k/window.p0", CUZK_KIND_WINDOW, 0x0102, 0},
      {"x2k/window1", {"x2k/window1-1048576", NULL}, "x2k/window1.p0", CUZK_KIND_WINDOW, 0x0102, 0},
      {"x2k/window3old", {"x2k/window3old-1099511627776", NULL}, "x2k/window3old.p1", CUZK_KIND_WINDOW, 0x0100, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static const char *const names[] = {"randomness"};
    const struct cuzk_circuit *c = cuzk_circuit_of(cases[i].kind, 2048);
    struct cuzk_post_vanilla *v[2] = {NULL, NULL};
    struct cuzk_post_partition *p;
    cuzk_fr comm_r[2], inputs[160];
    uint64_t ids[2];
    uint8_t randomness[1][32];
    char path[512];
    size_t n = 0;
    (void)snprintf(path, sizeof path, SECTORS "%s.meta.json", cases[i].meta);
    read_hex_members(path, names, 1, randomness);
    for (; n < 2 && cases[i].files[n]; n++) {
      struct cuzk_file f;
      (void)snprintf(path, sizeof path, SECTORS "%s.vanilla.bin", cases[i].files[n]);
      ok(cuzk_file_read(&f, path, (size_t)1 << 30, &d));
      ok(cuzk_post_vanilla_read(&v[n], c, f.data, f.n, path, &d));
      cuzk_file_clear(&f);
      ok(cuzk_post_vanilla_check(v[n], randomness[0], cases[i].api, cases[i].first + n, &d));
      comm_r[n] = v[n]->comm_r;
      ids[n] = v[n]->sector_id;
    }
    ok(cuzk_post_partition_create(&p, c, (const struct cuzk_post_vanilla *const *)v, n, &d));
    ok(cuzk_post_public_inputs(inputs, c, comm_r, ids, n, randomness[0], cases[i].api, cases[i].first, &d));
    assert_record(c, p, inputs, cases[i].record);
    cuzk_post_partition_destroy(&p);
    for (size_t s = 0; s < n; s++) cuzk_post_vanilla_free(&v[s]);
  }
}

static void update(void **state) {
  (void)state;
  static const char *const names[] = {"comm_r_old", "comm_d_new", "comm_r_new"};
  static const struct { const char *set, *circuit; unsigned k; } cases[] = {{"s2k", "update-2kib", 0}, {"s16k", "update-16kib", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct cuzk_update_commitments comm;
    struct cuzk_update_vanilla *v;
    struct cuzk_file f;
    cuzk_fr inputs[4];
    uint8_t b[3][32];
    char path[512];
    const struct cuzk_circuit *c = cuzk_circuit_find(cases[i].circuit);
    (void)snprintf(path, sizeof path, SECTORS "%s/update.meta.json", cases[i].set);
    read_hex_members(path, names, 3, b);
    memcpy(comm.comm_r_old, b[0], 32);
    memcpy(comm.comm_d_new, b[1], 32);
    memcpy(comm.comm_r_new, b[2], 32);
    (void)snprintf(path, sizeof path, SECTORS "%s/update.p%u.vanilla.bin", cases[i].set, cases[i].k);
    ok(cuzk_file_read(&f, path, (size_t)1 << 30, &d));
    ok(cuzk_update_vanilla_read(&v, c, cases[i].k, &comm, f.data, f.n, path, &d));
    ok(cuzk_update_public_inputs(inputs, c, cases[i].k, &comm, &d));
    (void)snprintf(path, sizeof path, "%s/update.p%u", cases[i].set, cases[i].k);
    assert_record(c, &v->partition, inputs, path);
    cuzk_update_vanilla_free(&v);
    cuzk_file_clear(&f);
  }
}

static int teardown(void **state) {
  (void)state;
  cuzk_poseidon_release();
  return 0;
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(porep),
      cmocka_unit_test(spacetime),
      cmocka_unit_test(update),
  };
  return cmocka_run_group_tests(tests, NULL, teardown);
}
