/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "hash/poseidon.h"
#include "inputs/vanilla.h"

#define FIXTURES CUZK_TEST_DATA "/fixtures/"
#define SECTORS FIXTURES "sectors/"

static struct cuzk_detail d;

static void load(struct cuzk_file *f, const char *path) {
  if (cuzk_file_read(f, path, (size_t)1 << 30, &d) != CUZK_OK) fail_msg("%s", d.text);
}

static void ok(enum cuzk_status st) {
  if (st != CUZK_OK) fail_msg("%s: %s", cuzk_status_name(st), d.text);
}

/* What the meta files of PoSt and updates say; only what a kind has is filled. */
struct meta {
  uint64_t sector_size, partitions, miner, n_sectors, per_partition, per_sector, sector_number, h;
  unsigned api;
  uint8_t randomness[32], prover_id[32];
  uint64_t ids[4];
  cuzk_fr comm_r[4];
  uint64_t challenges[4][66];
  struct cuzk_update_commitments comm;
};

static void read_sectors(struct meta *m, struct cuzk_json *j) {
  static const char *const names[] = {"comm_r", "sector_number"};
  ok(cuzk_json_array(j));
  for (bool more;;) {
    ok(cuzk_json_element(j, &more));
    if (!more) return;
    ok(cuzk_json_object(j, names, 2, 3));
    for (int k;;) {
      uint8_t b[32];
      ok(cuzk_json_member(j, &k));
      if (k < 0) break;
      if (k == 0) {
        ok(cuzk_json_hex(j, b, 32));
        assert_true(cuzk_fr_from_le(&m->comm_r[m->n_sectors], b));
      } else {
        ok(cuzk_json_u64(j, UINT64_MAX, &m->ids[m->n_sectors]));
      }
    }
    m->n_sectors++;
  }
}

static void read_challenges(struct meta *m, struct cuzk_json *j) {
  ok(cuzk_json_array(j));
  for (size_t s = 0;; s++) {
    bool more;
    ok(cuzk_json_element(j, &more));
    if (!more) return;
    ok(cuzk_json_array(j));
    for (size_t i = 0;; i++) {
      ok(cuzk_json_element(j, &more));
      if (!more) break;
      ok(cuzk_json_u64(j, UINT64_MAX, &m->challenges[s][i]));
    }
  }
}

static void read_meta(struct meta *m, const char *path) {
  static const char *const names[] = {"sector_size", "partitions", "miner_id", "sectors_per_partition", "challenges_per_sector", "sector_number", "h",
                                      "api_version", "randomness", "prover_id", "comm_r_old", "comm_d_new", "comm_r_new", "sectors", "challenges"};
  struct cuzk_file f;
  struct cuzk_json *j;
  memset(m, 0, sizeof *m);
  load(&f, path);
  ok(cuzk_json_open(&j, f.data, f.n, f.n, path, &d));
  ok(cuzk_json_object(j, names, 15, 0));
  uint64_t *const numbers[] = {&m->sector_size, &m->partitions, &m->miner, &m->per_partition, &m->per_sector, &m->sector_number, &m->h};
  uint8_t *const bytes[] = {m->randomness, m->prover_id, m->comm.comm_r_old, m->comm.comm_d_new, m->comm.comm_r_new};
  for (int k;;) {
    char api[16];
    ok(cuzk_json_member(j, &k));
    if (k < 0) break;
    if (k < 7) {
      ok(cuzk_json_u64(j, UINT64_MAX, numbers[k]));
    } else if (k == 7) {
      ok(cuzk_json_string(j, api, sizeof api));
      m->api = strstr(api, "1_0") || strstr(api, "1.0") ? 0x0100 : 0x0102;
    } else if (k < 13) {
      ok(cuzk_json_hex(j, bytes[k - 8], 32));
    } else if (k == 13) {
      read_sectors(m, j);
    } else {
      read_challenges(m, j);
    }
  }
  ok(cuzk_json_end(j));
  cuzk_json_close(&j);
  cuzk_file_clear(&f);
}

/* Public inputs of a witness record, and the name of its circuit. */
static size_t read_record(cuzk_fr *out, size_t cap, char circuit[40], const char *path) {
  static const char *const names[] = {"public_inputs_le", "circuit"};
  struct cuzk_file f;
  struct cuzk_json *j;
  size_t n = 0;
  load(&f, path);
  ok(cuzk_json_open(&j, f.data, f.n, f.n, path, &d));
  ok(cuzk_json_object(j, names, 2, 3));
  for (int k;;) {
    ok(cuzk_json_member(j, &k));
    if (k < 0) break;
    if (k == 1) {
      ok(cuzk_json_string(j, circuit, 40));
      continue;
    }
    ok(cuzk_json_array(j));
    for (bool more;; n++) {
      uint8_t b[32];
      ok(cuzk_json_element(j, &more));
      if (!more) break;
      assert_true(n < cap);
      ok(cuzk_json_hex(j, b, 32));
      assert_true(cuzk_fr_from_le(&out[n], b));
    }
  }
  cuzk_json_close(&j);
  cuzk_file_clear(&f);
  return n;
}

/* Position of a path, for comparing what the circuit would pack with the derived input. */
static uint64_t position(const struct cuzk_merkle_path *p) {
  uint64_t at = 0, weight = 1;
  for (unsigned i = 0; i < p->n_steps; i++, weight *= p->arity[i - 1]) at += p->index[i] * weight;
  return at;
}

static void bundled_post_sets(void **state) {
  (void)state;
  static const char *const cases[] = {"s2k/winning", "s2k/window", "s16k/winning", "s16k/window", "s32k/winning", "s32k/window",
                                      "x2k/window1", "x2k/window3", "x2k/window3old"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[512], name[40];
    struct meta m;
    struct cuzk_post_vanilla *v[4] = {NULL};
    const bool winning = strstr(cases[i], "winning") != NULL;
    (void)snprintf(path, sizeof path, SECTORS "%s.meta.json", cases[i]);
    read_meta(&m, path);
    const struct cuzk_circuit *c = cuzk_circuit_of(winning ? CUZK_KIND_WINNING : CUZK_KIND_WINDOW, m.sector_size);
    assert_non_null(c);
    for (size_t s = 0; s < m.n_sectors; s++) {
      struct cuzk_file f;
      (void)snprintf(path, sizeof path, SECTORS "%s-%llu.vanilla.bin", cases[i], (unsigned long long)m.ids[s]);
      load(&f, path);
      assert_int_equal(f.n, cuzk_post_vanilla_bytes(c));
      ok(cuzk_post_vanilla_read(&v[s], c, f.data, f.n, path, &d));
      cuzk_file_clear(&f);
      assert_int_equal(v[s]->sector_id, m.ids[s]);
      assert_true(cuzk_fr_eq(&v[s]->comm_r, &m.comm_r[s]));
      assert_int_equal(v[s]->n_challenges, m.per_sector);
      ok(cuzk_post_vanilla_check(v[s], m.randomness, m.api, s, &d));
      for (unsigned q = 0; q < v[s]->n_challenges; q++) {
        assert_int_equal(position(&v[s]->challenges[q].path), m.challenges[s][q]);
        assert_int_equal(cuzk_post_leaf(c->nodes, m.randomness, m.ids[s], cuzk_post_challenge_index(m.api, s, (unsigned)m.per_sector, q)),
                         m.challenges[s][q]);
      }
    }
    for (size_t p = 0; p < m.partitions; p++) {
      const size_t first = p * m.per_partition, n = m.n_sectors - first < m.per_partition ? m.n_sectors - first : m.per_partition;
      cuzk_fr want[160], got[160];
      (void)snprintf(path, sizeof path, SECTORS "%s.p%zu.witness.json", cases[i], p);
      assert_int_equal(read_record(want, 160, name, path), c->n_inputs - 1);
      assert_string_equal(name, c->name);
      ok(cuzk_post_public_inputs(got, c, m.comm_r + first, m.ids + first, n, m.randomness, m.api, first, &d));
      assert_memory_equal(got, want, (c->n_inputs - 1) * sizeof *got);
      /* The witness packs to the same inputs. */
      struct cuzk_post_partition *part;
      ok(cuzk_post_partition_create(&part, c, (const struct cuzk_post_vanilla *const *)v + first, n, &d));
      assert_int_equal(part->n_sectors, c->sectors);
      size_t at = 0;
      for (unsigned s = 0; s < part->n_sectors; s++) {
        assert_true(cuzk_fr_eq(&part->sectors[s].comm_r, &want[at++]));
        assert_int_equal(part->sectors[s].n_challenges, c->challenges);
        for (unsigned q = 0; q < c->challenges; q++) {
          cuzk_fr x;
          cuzk_fr_from_u64(&x, position(&part->sectors[s].challenges[q].path));
          assert_true(cuzk_fr_eq(&x, &want[at++]));
        }
      }
      cuzk_post_partition_destroy(&part);
      assert_null(part);
      assert_int_equal(cuzk_post_partition_create(&part, c, (const struct cuzk_post_vanilla *const *)v, 0, &d), CUZK_E_ARG);
      assert_int_equal(cuzk_post_partition_create(&part, c, (const struct cuzk_post_vanilla *const *)v, (winning ? 1 : c->sectors) + 1, &d), CUZK_E_ARG);
    }
    for (size_t s = 0; s < m.n_sectors; s++) cuzk_post_vanilla_free(&v[s]);
  }
}

/* Formats specification, A.3. */
static void post_leaves(void **state) {
  (void)state;
  uint8_t randomness[32];
  memset(randomness, 7, 32);
  const uint64_t want[3] = {646663697, 449394868, 447511474};
  for (uint64_t i = 0; i < 3; i++) assert_int_equal(cuzk_post_leaf(UINT64_C(1) << 30, randomness, 42, i), want[i]);
}

/* Sizes of the specification's tables: formats specification 5.5, 5.6. */
static void record_lengths(void **state) {
  (void)state;
  static const struct { const char *size; size_t window, winning, update; } table[] = {
      {"2kib", 5680, 36816, 15064},     {"4kib", 6240, 40512, 16664},     {"16kib", 8160, 53184, 25304},    {"32kib", 8720, 56880, 26904},
      {"8mib", 15280, 100176, 43864}, {"512mib", 20080, 131856, 453064}, {"32gib", 24960, 164064, 561768}, {"64gib", 25520, 167760, 575528}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    char name[40];
    (void)snprintf(name, sizeof name, "window-%s", table[i].size);
    assert_int_equal(cuzk_post_vanilla_bytes(cuzk_circuit_find(name)), table[i].window);
    (void)snprintf(name, sizeof name, "winning-%s", table[i].size);
    assert_int_equal(cuzk_post_vanilla_bytes(cuzk_circuit_find(name)), table[i].winning);
    (void)snprintf(name, sizeof name, "update-%s", table[i].size);
    assert_int_equal(cuzk_update_vanilla_bytes(cuzk_circuit_find(name)), table[i].update);
  }
}

/* Any byte of a record that is changed is noticed by reading or checking. */
static void changed_post_records_are_noticed(void **state) {
  (void)state;
  struct meta m;
  struct cuzk_file f;
  struct cuzk_post_vanilla *v;
  read_meta(&m, SECTORS "s32k/window.meta.json");
  load(&f, SECTORS "s32k/window-10.vanilla.bin");
  const struct cuzk_circuit *c = cuzk_circuit_find("window-32kib");
  unsigned formats = 0, mismatches = 0;
  for (size_t at = 0; at < f.n; at += 1 + test_rand() % 23) {
    const uint8_t old = f.data[at];
    do f.data[at] = (uint8_t)test_rand();
    while (f.data[at] == old);
    enum cuzk_status st = cuzk_post_vanilla_read(&v, c, f.data, f.n, "record", &d);
    formats += st == CUZK_E_FORMAT;
    if (st == CUZK_OK) st = cuzk_post_vanilla_check(v, m.randomness, m.api, 0, &d);
    mismatches += st == CUZK_E_MISMATCH;
    if (st != CUZK_E_FORMAT && st != CUZK_E_MISMATCH) fail_msg("byte %zu: %s", at, cuzk_status_name(st));
    cuzk_post_vanilla_free(&v);
    f.data[at] = old;
  }
  assert_true(formats > 10 && mismatches > 10);
  for (size_t n = 0; n < f.n; n += 1 + test_rand() % 97) {
    assert_int_equal(cuzk_post_vanilla_read(&v, c, f.data, n, "record", &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "a vanilla proof for window-32kib has 8720 bytes"));
  }
  assert_int_equal(cuzk_post_vanilla_read(&v, cuzk_circuit_find("update-32kib"), f.data, f.n, "record", &d), CUZK_E_ARG);
  assert_int_equal(cuzk_post_vanilla_read(&v, cuzk_circuit_find("window-16kib"), f.data, f.n, "record", &d), CUZK_E_FORMAT);
  ok(cuzk_post_vanilla_read(&v, c, f.data, f.n, "record", &d));
  memset(m.randomness, 0xff, 32);
  assert_int_equal(cuzk_post_vanilla_check(v, m.randomness, m.api, 0, &d), CUZK_E_FORMAT);
  cuzk_post_vanilla_free(&v);
  cuzk_file_clear(&f);
}

static void bundled_updates(void **state) {
  (void)state;
  static const char *const sets[] = {"s2k", "s16k", "s32k"};
  for (size_t i = 0; i < 3; i++) {
    char path[512], name[40];
    struct meta m;
    (void)snprintf(path, sizeof path, SECTORS "%s/update.meta.json", sets[i]);
    read_meta(&m, path);
    const struct cuzk_circuit *c = cuzk_circuit_of(CUZK_KIND_UPDATE, m.sector_size);
    assert_int_equal(c->partitions, m.partitions);
    for (unsigned k = 0; k < m.partitions; k++) {
      struct cuzk_file f;
      struct cuzk_update_vanilla *v;
      cuzk_fr want[4], got[4];
      (void)snprintf(path, sizeof path, SECTORS "%s/update.p%u.vanilla.bin", sets[i], k);
      load(&f, path);
      ok(cuzk_update_vanilla_read(&v, c, k, &m.comm, f.data, f.n, path, &d));
      ok(cuzk_update_vanilla_check(v, &d));
      (void)snprintf(path, sizeof path, SECTORS "%s/update.p%u.witness.json", sets[i], k);
      assert_int_equal(read_record(want, 4, name, path), 4);
      assert_string_equal(name, c->name);
      ok(cuzk_update_public_inputs(got, c, k, &m.comm, &d));
      assert_memory_equal(got, want, sizeof got);
      cuzk_fr select;
      cuzk_fr_from_u64(&select, v->partition.k_and_h_select);
      assert_true(cuzk_fr_eq(&select, &want[0]));
      cuzk_update_vanilla_free(&v);
      if (m.partitions > 1) {
        /* Another partition's record. */
        ok(cuzk_update_vanilla_read(&v, c, 1 - k, &m.comm, f.data, f.n, path, &d));
        assert_int_equal(cuzk_update_vanilla_check(v, &d), CUZK_E_MISMATCH);
        cuzk_update_vanilla_free(&v);
      }
      cuzk_file_clear(&f);
    }
    assert_int_equal(cuzk_update_public_inputs((cuzk_fr[4]){{{0}}}, c, c->partitions, &m.comm, &d), CUZK_E_ARG);
    memset(m.comm.comm_d_new, 0xff, 32);
    assert_int_equal(cuzk_update_public_inputs((cuzk_fr[4]){{{0}}}, c, 0, &m.comm, &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "comm_d_new is not a canonical"));
  }
}

static void changed_updates_are_noticed(void **state) {
  (void)state;
  struct meta m;
  struct cuzk_file f;
  struct cuzk_update_vanilla *v;
  read_meta(&m, SECTORS "s16k/update.meta.json");
  load(&f, SECTORS "s16k/update.p1.vanilla.bin");
  const struct cuzk_circuit *c = cuzk_circuit_find("update-16kib");
  unsigned formats = 0, mismatches = 0;
  for (size_t at = 0; at < f.n; at += 1 + test_rand() % 151) {
    const uint8_t old = f.data[at];
    do f.data[at] = (uint8_t)test_rand();
    while (f.data[at] == old);
    enum cuzk_status st = cuzk_update_vanilla_read(&v, c, 1, &m.comm, f.data, f.n, "record", &d);
    formats += st == CUZK_E_FORMAT;
    if (st == CUZK_OK) st = cuzk_update_vanilla_check(v, &d);
    mismatches += st == CUZK_E_MISMATCH;
    if (st != CUZK_E_FORMAT && st != CUZK_E_MISMATCH) fail_msg("byte %zu: %s", at, cuzk_status_name(st));
    cuzk_update_vanilla_free(&v);
    f.data[at] = old;
  }
  assert_true(formats > 5 && mismatches > 10);
  uint8_t *const comm[3] = {m.comm.comm_r_old, m.comm.comm_d_new, m.comm.comm_r_new};
  for (int i = 0; i < 3; i++) {
    comm[i][0] ^= 1;
    enum cuzk_status st = cuzk_update_vanilla_read(&v, c, 1, &m.comm, f.data, f.n, "record", &d);
    if (st == CUZK_OK) st = cuzk_update_vanilla_check(v, &d);
    assert_int_equal(st, CUZK_E_MISMATCH);
    cuzk_update_vanilla_free(&v);
    comm[i][0] ^= 1;
  }
  cuzk_file_clear(&f);
}

/* vectors/update-challenges.json: several digests a partition. */
static void update_challenge_vectors(void **state) {
  (void)state;
  static const char *const names[] = {"sector_size", "partition", "challenges"};
  struct cuzk_file f;
  struct cuzk_json *j;
  cuzk_fr comm_r_new;
  unsigned n_vectors = 0;
  cuzk_fr_from_u64(&comm_r_new, 12345);
  load(&f, FIXTURES "vectors/update-challenges.json");
  ok(cuzk_json_open(&j, f.data, f.n, f.n, "vectors", &d));
  ok(cuzk_json_array(j));
  for (bool more;; n_vectors++) {
    char size[16] = "", name[32];
    uint64_t k = 0;
    static uint64_t want[128], got[128];
    size_t n = 0;
    ok(cuzk_json_element(j, &more));
    if (!more) break;
    ok(cuzk_json_object(j, names, 3, 7));
    for (int member;;) {
      ok(cuzk_json_member(j, &member));
      if (member < 0) break;
      if (member == 0) {
        ok(cuzk_json_string(j, size, sizeof size));
      } else if (member == 1) {
        ok(cuzk_json_u64(j, UINT32_MAX, &k));
      } else {
        ok(cuzk_json_array(j));
        for (;; n++) {
          ok(cuzk_json_element(j, &more));
          if (!more) break;
          assert_true(n < 128);
          ok(cuzk_json_u64(j, UINT64_MAX, &want[n]));
        }
      }
    }
    (void)snprintf(name, sizeof name, "update-%s", size);
    const struct cuzk_circuit *c = cuzk_circuit_find(name);
    assert_non_null(c);
    assert_int_equal(n, c->challenges);
    ok(cuzk_update_challenges(got, c, &comm_r_new, (unsigned)k));
    assert_memory_equal(got, want, n * sizeof *got);
  }
  assert_int_equal(n_vectors, 9);
  cuzk_json_close(&j);
  cuzk_file_clear(&f);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  struct meta m;
  struct cuzk_file f, g;
  read_meta(&m, SECTORS "s2k/update.meta.json");
  load(&f, SECTORS "s2k/update.p0.vanilla.bin");
  load(&g, SECTORS "s2k/winning-10.vanilla.bin");
  struct meta w;
  read_meta(&w, SECTORS "s2k/winning.meta.json");
  const struct cuzk_circuit *cu = cuzk_circuit_find("update-2kib"), *cw = cuzk_circuit_find("winning-2kib");
  for (uint64_t k = 1;; k++) {
    cuzk_poseidon_release();
    const int64_t live = cuzk_alloc_live();
    struct cuzk_update_vanilla *u = NULL;
    struct cuzk_post_vanilla *v = NULL;
    struct cuzk_post_partition *p = NULL;
    cuzk_alloc_fail_at(k);
    enum cuzk_status st = cuzk_update_vanilla_read(&u, cu, 0, &m.comm, f.data, f.n, "record", &d);
    if (st == CUZK_OK) st = cuzk_update_vanilla_check(u, &d);
    if (st == CUZK_OK) st = cuzk_post_vanilla_read(&v, cw, g.data, g.n, "record", &d);
    if (st == CUZK_OK) st = cuzk_post_vanilla_check(v, w.randomness, w.api, 0, &d);
    if (st == CUZK_OK) st = cuzk_post_partition_create(&p, cw, (const struct cuzk_post_vanilla *const *)&v, 1, &d);
    const bool reached = cuzk_alloc_count() >= k;
    cuzk_alloc_fail_at(0);
    cuzk_post_partition_destroy(&p);
    cuzk_post_vanilla_free(&v);
    cuzk_update_vanilla_free(&u);
    cuzk_poseidon_release();
    assert_int_equal(cuzk_alloc_live(), live);
    assert_int_equal(st, reached ? CUZK_E_NOMEM : CUZK_OK);
    if (!reached) break;
  }
  cuzk_file_clear(&f);
  cuzk_file_clear(&g);
}

static int teardown(void **state) {
  (void)state;
  cuzk_poseidon_release();
  return 0;
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bundled_post_sets),
      cmocka_unit_test(post_leaves),
      cmocka_unit_test(record_lengths),
      cmocka_unit_test(changed_post_records_are_noticed),
      cmocka_unit_test(bundled_updates),
      cmocka_unit_test(changed_updates_are_noticed),
      cmocka_unit_test(update_challenge_vectors),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, teardown);
}
