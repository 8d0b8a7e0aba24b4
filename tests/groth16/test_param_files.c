/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Key, parameter and proof bytes that must be refused, each with its own reason; file names and digests; full disks. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "base/pool.h"
#include "groth16/param_files.h"
#include "groth16/params_internal.h"
#include "toy_key.h"

static struct toy_key key;
static uint8_t good[TOY_PARAMS_BYTES];
static struct cuzk_detail d;

/* Offsets of the section counts in the toy file. */
static const size_t count_at[CUZK_N_SECTIONS] = {1156, 1832, 2316, 2992, 3380};

/* The same bytes in a block of exactly n, so that a sanitizer sees any read past the end. */
static enum cuzk_status parse(const uint8_t *bytes, size_t n, struct cuzk_params *p) {
  uint8_t *copy = malloc(n ? n : 1);
  assert_non_null(copy);
  memcpy(copy, bytes, n);
  d.text[0] = 0;
  const enum cuzk_status st = cuzk_params_parse(p, copy, n, "F", &d);
  if (st == CUZK_OK) cuzk_vk_clear(&p->vk);
  free(copy);
  return st;
}

static void assert_refused(const uint8_t *bytes, size_t n, enum cuzk_status want, const char *word) {
  struct cuzk_params p;
  assert_int_equal(parse(bytes, n, &p), want);
  if (!strstr(d.text, word)) print_error("detail \"%s\" lacks \"%s\"\n", d.text, word);
  assert_non_null(strstr(d.text, word));
  assert_int_equal(strncmp(d.text, "F: ", 3), 0);
}

static void a_file_cut_short_anywhere_is_refused(void **state) {
  (void)state;
  for (size_t n = 0; n < TOY_VK_BYTES; n += n < 870 ? 1 : 13) assert_refused(good, n, CUZK_E_FORMAT, n ? "left" : "empty");
  /* Behind the key every length; the sections are found without decoding points. */
  for (size_t n = TOY_VK_BYTES; n < TOY_PARAMS_BYTES; n++) {
    struct cuzk_params p = {.map = good, .n_bytes = n};
    assert_int_equal(cuzk_params_find_sections(&p, TOY_VK_BYTES, "F", &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "left"));
  }
  for (int s = 0; s < CUZK_N_SECTIONS; s++)
    for (int delta = -1; delta <= 5; delta++) {
      char word[32];
      /* cut inside the count, or behind it; a cut before it falls into the section before */
      (void)snprintf(word, sizeof word, "%s", delta < 0 ? (s ? cuzk_section_names[s - 1] : "ic") : cuzk_section_names[s]);
      assert_refused(good, count_at[s] + (size_t)delta, CUZK_E_FORMAT, word);
    }
  struct cuzk_params p;
  assert_int_equal(parse(good, TOY_PARAMS_BYTES, &p), CUZK_OK);
}

static void a_file_cut_inside_the_last_g2_section_is_refused(void **state) {
  (void)state;
  /* The length that a reader who takes 96 bytes for a G2 point would accept. */
  assert_refused(good, 3384 + 4 * 96, CUZK_E_FORMAT, "b_g2");
  assert_refused(good, TOY_PARAMS_BYTES - 1, CUZK_E_FORMAT, "b_g2");
}

static void bytes_after_the_end_are_refused(void **state) {
  (void)state;
  uint8_t longer[TOY_PARAMS_BYTES + 1] = {0};
  memcpy(longer, good, sizeof good);
  assert_refused(longer, sizeof longer, CUZK_E_FORMAT, "1 bytes follow b_g2");
}

static void wrong_counts_are_refused(void **state) {
  (void)state;
  static const uint32_t huge[] = {0xffffffffu, 0x80000000u, 0x02aaaaabu /* 96 times it overflows 32 bits */};
  uint8_t bad[TOY_PARAMS_BYTES];
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
      memcpy(bad, good, sizeof bad);
      cuzk_store_be32(bad + count_at[s], huge[i]);
      assert_refused(bad, sizeof bad, CUZK_E_FORMAT, cuzk_section_names[s]);
    }
    for (int delta = -1; delta <= 1; delta += 2) {
      memcpy(bad, good, sizeof bad);
      cuzk_store_be32(bad + count_at[s], cuzk_load_be32(good + count_at[s]) + (uint32_t)delta);
      struct cuzk_params p;
      assert_int_equal(parse(bad, sizeof bad, &p), CUZK_E_FORMAT);
    }
  }
  memcpy(bad, good, sizeof bad);
  cuzk_store_be32(bad + 864, 0xffffffffu);
  assert_refused(bad, sizeof bad, CUZK_E_FORMAT, "ic at offset 864");
  cuzk_store_be32(bad + 864, 0);
  assert_refused(bad, sizeof bad, CUZK_E_FORMAT, "ic at offset 864 has no points");
}

static void counts_that_do_not_belong_together_are_refused(void **state) {
  (void)state;
  /* A key and five sections of 1, 0, 0, 1, 2 points: lengths right, b_g1 and b_g2 of different size. */
  uint8_t bad[TOY_VK_BYTES + 20 + 96 + 96 + 2 * 192];
  size_t at = TOY_VK_BYTES;
  memset(bad, 0, sizeof bad);
  memcpy(bad, good, TOY_VK_BYTES);
  cuzk_store_be32(bad + at, 1);
  cuzk_store_be32(bad + at + 108, 1);
  cuzk_store_be32(bad + at + 208, 2);
  assert_refused(bad, sizeof bad, CUZK_E_FORMAT, "as many as b_g1 has");
  /* h of 2 points fits no domain. */
  uint8_t two[TOY_VK_BYTES + 20 + 2 * 96];
  memset(two, 0, sizeof two);
  memcpy(two, good, TOY_VK_BYTES);
  cuzk_store_be32(two + TOY_VK_BYTES, 2);
  assert_refused(two, sizeof two, CUZK_E_FORMAT, "power of two");
}

static void a_web_page_is_named_as_such(void **state) {
  (void)state;
  static const char *const pages[] = {"<!DOCTYPE html><html>...", "<html><body>404</body></html>", "  \r\n\t<HTML>",
                                      "\xef\xbb\xbf<?xml version=\"1.0\"?>"};
  for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
    assert_refused((const uint8_t *)pages[i], strlen(pages[i]), CUZK_E_FORMAT, "page");
}

/* A point on the curve but outside the subgroup: the first x whose point is one. */
static void stray_g1(cuzk_g1_affine *p) {
  uint8_t b[48] = {0x80};
  for (b[47] = 1; b[47] < 255; b[47]++)
    if (cuzk_g1_decompress(p, b) == CUZK_OK && !cuzk_g1_affine_in_subgroup(p)) return;
  fail_msg("no stray point");
}
static void stray_g2(cuzk_g2_affine *p) {
  uint8_t b[96] = {0x80};
  for (b[95] = 1; b[95] < 255; b[95]++)
    if (cuzk_g2_decompress(p, b) == CUZK_OK && !cuzk_g2_affine_in_subgroup(p)) return;
  fail_msg("no stray point");
}

/* The four ways in which a point is bad, written over bytes. */
enum fault { STRAY, OFF_CURVE, INFINITE, NOT_CANONICAL, N_FAULTS };
static const enum cuzk_status fault_status[N_FAULTS] = {CUZK_E_NOT_GROUP, CUZK_E_NOT_CURVE, CUZK_E_INFINITY, CUZK_E_FORMAT};
static const char *const fault_word[N_FAULTS] = {"outside the subgroup", "not on the curve", "at infinity", "canonical"};

static void spoil(uint8_t *at, bool g2, enum fault f) {
  const size_t n = g2 ? 192 : 96;
  cuzk_g1_affine p;
  cuzk_g2_affine q;
  switch (f) {
    case STRAY:
      if (g2) stray_g2(&q), cuzk_g2_encode(at, &q);
      else stray_g1(&p), cuzk_g1_encode(at, &p);
      break;
    case OFF_CURVE: at[n - 1] ^= 1; break;
    case INFINITE: memset(at, 0, n), at[0] = 0x40; break;
    default: at[0] |= 0x1f; /* x not below p */
  }
}

static void bad_points_of_the_key_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t at;
    bool g2, infinity_ok;
  } points[] = {{"alpha_g1", 0, false, true},  {"beta_g1", 96, false, true},  {"beta_g2", 192, true, true},
                {"gamma_g2", 384, true, true}, {"delta_g1", 576, false, true}, {"delta_g2", 672, true, true},
                {"ic[0]", 868, false, false},  {"ic[2]", 1060, false, false}};
  for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
    for (int f = 0; f < N_FAULTS; f++) {
      uint8_t bad[TOY_PARAMS_BYTES];
      char where[64];
      memcpy(bad, good, sizeof bad);
      spoil(bad + points[i].at, points[i].g2, (enum fault)f);
      if (f == INFINITE && points[i].infinity_ok) {
        struct cuzk_params p;
        assert_int_equal(parse(bad, sizeof bad, &p), CUZK_OK);
        continue;
      }
      (void)snprintf(where, sizeof where, "%s at offset %zu", points[i].name, points[i].at);
      assert_refused(bad, sizeof bad, fault_status[f], where);
      assert_non_null(strstr(d.text, fault_word[f]));
    }
}

static void bad_points_of_the_sections_are_found(void **state) {
  (void)state;
  for (int s = 0; s < CUZK_N_SECTIONS; s++)
    for (int f = 0; f < N_FAULTS; f++) {
      uint8_t bad[TOY_PARAMS_BYTES];
      struct cuzk_params *p = NULL;
      const bool g2 = s == CUZK_SECTION_B_G2;
      const size_t index = 3, at = count_at[s] + 4 + index * (g2 ? 192 : 96);
      char where[64];
      memcpy(bad, good, sizeof bad);
      spoil(bad + at, g2, (enum fault)f);
      write_all(key.params, bad, sizeof bad);
      assert_int_equal(cuzk_params_open(&p, key.params, &d), CUZK_OK); /* sections are not decoded on opening */
      assert_int_equal(cuzk_params_check(p, true, NULL, NULL, &d), fault_status[f]);
      (void)snprintf(where, sizeof where, "%s[%zu] at offset %zu", cuzk_section_names[s], index, at);
      assert_non_null(strstr(d.text, where));
      assert_non_null(strstr(d.text, fault_word[f]));
      assert_non_null(strstr(d.text, key.params));
      assert_int_equal(cuzk_params_check(p, false, NULL, NULL, &d), f == STRAY ? CUZK_OK : fault_status[f]);
      /* The prover meets it: on the way in, or, a stray point, in its own proof. */
      struct cuzk_proof proof;
      toy_fill_rows(&key);
      const enum cuzk_status st =
          cuzk_groth16_prove(&proof, p, &key.shape, &key.z, key.abc, &key.r, &key.s, NULL, NULL, NULL, &d);
      if (f == STRAY)
        assert_true(st == CUZK_E_NOT_GROUP || st == CUZK_E_UNSAT);
      else
        assert_int_equal(st, fault_status[f]);
      cuzk_params_close(&p);
    }
}

static void a_key_without_delta_proves_nothing(void **state) {
  (void)state;
  for (int g2 = 0; g2 < 2; g2++) {
    uint8_t bad[TOY_PARAMS_BYTES];
    struct cuzk_params *p = NULL;
    struct cuzk_proof proof;
    memcpy(bad, good, sizeof bad);
    spoil(bad + (g2 ? 672 : 576), g2, INFINITE);
    write_all(key.params, bad, sizeof bad);
    assert_int_equal(cuzk_params_open(&p, key.params, &d), CUZK_OK);
    toy_fill_rows(&key);
    assert_int_equal(cuzk_groth16_prove(&proof, p, &key.shape, &key.z, key.abc, &key.r, &key.s, NULL, NULL, NULL, &d),
                     CUZK_E_INFINITY);
    assert_non_null(strstr(d.text, "delta"));
    cuzk_params_close(&p);
  }
}

static void the_file_of_another_circuit_is_refused(void **state) {
  (void)state;
  struct cuzk_params *p = NULL;
  struct cuzk_shape shape = key.shape;
  write_all(key.params, good, sizeof good);
  assert_int_equal(cuzk_params_open(&p, key.params, &d), CUZK_OK);
  assert_int_equal(cuzk_params_match(p, &shape, &d), CUZK_OK);
#define OTHER(field, by, word)                                \
  shape.field += by;                                          \
  assert_int_equal(cuzk_params_match(p, &shape, &d), CUZK_E_MISMATCH); \
  assert_non_null(strstr(d.text, word));                      \
  shape.field -= by
  OTHER(n_inputs, 1, "ic has 3 points, this circuit needs 4");
  OTHER(n_rows, 2, "h has 7 points, this circuit needs 15");
  OTHER(n_aux, 1, "l has 5 points, this circuit needs 6");
  OTHER(n_a_aux, 1, "a has 7 points, this circuit needs 8");
  OTHER(n_b_aux, 1, "b_g1 has 4 points, this circuit needs 5");
  OTHER(n_b_input, 1, "b_g1 has 4 points, this circuit needs 5");
  shape.n_rows = UINT64_C(1) << 31;
  assert_int_equal(cuzk_params_match(p, &shape, &d), CUZK_E_UNSUPPORTED);
  cuzk_g1_affine g1[2];
  cuzk_g2_affine g2[2];
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_A, g1, 6, 2, false, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_A, g1, SIZE_MAX, 2, false, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_B_G2, g1, 0, 1, false, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_params_fetch_g2(p, g2, 3, 2, false, &d), CUZK_E_ARG);
  cuzk_params_close(&p);
}

static void files_that_cannot_be_opened_are_told_apart(void **state) {
  (void)state;
  struct cuzk_params *p = NULL;
  struct cuzk_vk vk;
  char path[160];
  (void)snprintf(path, sizeof path, "%s/absent", key.dir);
  assert_int_equal(cuzk_params_open(&p, path, &d), CUZK_E_NOENT);
  assert_non_null(strstr(d.text, path));
  assert_int_equal(cuzk_vk_load(&vk, path, &d), CUZK_E_NOENT);
  assert_int_equal(cuzk_params_open(&p, key.dir, &d), CUZK_E_FORMAT);
  write_all(path, "", 0);
  assert_int_equal(cuzk_params_open(&p, path, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "empty"));
  assert_null(p);
  assert_int_equal(unlink(path), 0);
}

static void a_vk_file_has_nothing_behind_the_key(void **state) {
  (void)state;
  struct cuzk_vk vk;
  write_all(key.vk, good, TOY_VK_BYTES);
  assert_int_equal(cuzk_vk_load(&vk, key.vk, &d), CUZK_OK);
  cuzk_vk_clear(&vk);
  write_all(key.vk, good, TOY_VK_BYTES + 1);
  assert_int_equal(cuzk_vk_load(&vk, key.vk, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "1 bytes follow the verifying key"));
  write_all(key.vk, good, TOY_PARAMS_BYTES - 1);
  assert_int_equal(cuzk_vk_load(&vk, key.vk, &d), CUZK_E_FORMAT);
  assert_null(vk.ic);
  write_all(key.vk, good, TOY_PARAMS_BYTES);
  assert_int_equal(cuzk_vk_load(&vk, key.vk, &d), CUZK_OK);
  cuzk_vk_clear(&vk);
}

static void fixture_keys_are_read_and_written_back_unchanged(void **state) {
  (void)state;
  static const char *const names[] = {"porep-2kib", "update-2kib", "window-2kib", "winning-2kib"};
  static uint8_t a[16384], b[16384];
  for (size_t i = 0; i < 4; i++) {
    char path[400];
    struct cuzk_vk vk;
    (void)snprintf(path, sizeof path, "%s/fixtures/params/%s.vk", CUZK_TEST_DATA, names[i]);
    assert_int_equal(cuzk_vk_load(&vk, path, &d), CUZK_OK);
    const size_t n = read_all(path, a, sizeof a);
    assert_int_equal(n, 868 + 96 * vk.n_ic);
    assert_int_equal(cuzk_vk_save(&vk, key.vk, &d), CUZK_OK);
    assert_int_equal(read_all(key.vk, b, sizeof b), n);
    assert_memory_equal(a, b, n);
    cuzk_vk_clear(&vk);
  }
}

static void names_and_folders_follow_the_environment(void **state) {
  (void)state;
  char *path;
  assert_int_equal(unsetenv("FIL_PROOFS_PARAMETER_CACHE"), 0);
  assert_int_equal(cuzk_params_file_path(&path, NULL, "x-1", "params"), CUZK_OK);
  assert_string_equal(path, "/var/tmp/filecoin-proof-parameters/v28-x-1.params");
  cuzk_free(path);
  assert_int_equal(setenv("FIL_PROOFS_PARAMETER_CACHE", "/data/p", 1), 0);
  assert_int_equal(cuzk_params_file_path(&path, NULL, "x-1", "vk"), CUZK_OK);
  assert_string_equal(path, "/data/p/v28-x-1.vk");
  cuzk_free(path);
  assert_int_equal(cuzk_params_file_path(&path, "here/", "x-1", "meta"), CUZK_OK);
  assert_string_equal(path, "here/v28-x-1.meta");
  cuzk_free(path);
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_params_file_path(&path, NULL, "x", "vk"), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(0);
  assert_int_equal(unsetenv("FIL_PROOFS_PARAMETER_CACHE"), 0);
}

static void published_digests_are_found_by_name(void **state) {
  (void)state;
#define POREP32 "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820"
  assert_string_equal(cuzk_published_digest(POREP32 ".params"), "6a388072a518cf46ebd661f5cc46900a");
  assert_string_equal(cuzk_published_digest("/some/where/" POREP32 ".vk"), "0c7b4aac1c40fdb7eb82bc355b41addf");
  assert_null(cuzk_published_digest(POREP32 ".meta"));
  assert_null(cuzk_published_digest(POREP32));
  assert_null(cuzk_published_digest("v27" POREP32));
  assert_null(cuzk_published_digest("toy.params"));
  char path[400];
  write_all(key.params, good, sizeof good);
  assert_int_equal(cuzk_file_check_published(key.params, NULL, &d), CUZK_E_UNSUPPORTED);
  (void)snprintf(path, sizeof path, "%s/" POREP32 ".params", key.dir);
  write_all(path, good, sizeof good);
  assert_int_equal(cuzk_file_check_published(path, NULL, &d), CUZK_E_MISMATCH);
  assert_non_null(strstr(d.text, "65c2326dec233ab8204c39c509681e93"));
  assert_int_equal(unlink(path), 0);
}

static void the_meta_file_is_compact_json(void **state) {
  (void)state;
  char path[160], text[64] = "";
  (void)snprintf(path, sizeof path, "%s/toy.meta", key.dir);
  assert_int_equal(cuzk_meta_save(path, UINT64_C(34359738368), &d), CUZK_OK);
  (void)read_all(path, (uint8_t *)text, sizeof text - 1);
  assert_string_equal(text, "{\"sector_size\":34359738368}");
  assert_int_equal(unlink(path), 0);
}

static void proof_points_must_be_finite_and_in_their_groups(void **state) {
  (void)state;
  uint8_t proof_bytes[CUZK_PROOF_BYTES];
  struct cuzk_proof proof = {cuzk_g1_generator, cuzk_g2_generator, cuzk_g1_generator}, back;
  static const size_t at[3] = {0, 48, 144}, n[3] = {48, 96, 48};
  cuzk_proof_write(proof_bytes, &proof);
  assert_int_equal(cuzk_proof_read(&back, proof_bytes, &d), CUZK_OK);
  assert_memory_equal(&back, &proof, sizeof proof);
  for (int i = 0; i < 3; i++) {
    uint8_t bad[CUZK_PROOF_BYTES];
    cuzk_g1_affine p;
    cuzk_g2_affine q;
    char where[16];
    (void)snprintf(where, sizeof where, "point %c", "ABC"[i]);
    memcpy(bad, proof_bytes, sizeof bad);
    memset(bad + at[i], 0, n[i]);
    bad[at[i]] = 0xc0;
    assert_int_equal(cuzk_proof_read(&back, bad, &d), CUZK_E_INFINITY);
    assert_non_null(strstr(d.text, where));
    bad[at[i] + 1] = 1; /* infinity with other bytes */
    assert_int_equal(cuzk_proof_read(&back, bad, &d), CUZK_E_FORMAT);
    memcpy(bad, proof_bytes, sizeof bad);
    if (i == 1) stray_g2(&q), cuzk_g2_compress(bad + at[i], &q);
    else stray_g1(&p), cuzk_g1_compress(bad + at[i], &p);
    assert_int_equal(cuzk_proof_read(&back, bad, &d), CUZK_E_NOT_GROUP);
    assert_non_null(strstr(d.text, where));
    memcpy(bad, proof_bytes, sizeof bad);
    bad[at[i]] &= 0x7f; /* not compressed */
    assert_int_equal(cuzk_proof_read(&back, bad, &d), CUZK_E_FORMAT);
    memcpy(bad, proof_bytes, sizeof bad);
    bad[at[i]] |= 0x1f; /* x not below p */
    assert_int_equal(cuzk_proof_read(&back, bad, &d), CUZK_E_FORMAT);
    unsigned off_curve = 0;
    for (int k = 0; k < 16; k++) {
      memcpy(bad, proof_bytes, sizeof bad);
      bad[at[i] + n[i] - 1] ^= (uint8_t)(k + 1);
      off_curve += cuzk_proof_read(&back, bad, &d) == CUZK_E_NOT_CURVE;
    }
    assert_true(off_curve > 2 && off_curve < 14); /* about half of all x have no point */
    assert_memory_equal(&back, &proof, sizeof proof);
  }
}

static void a_full_disk_leaves_nothing_behind(void **state) {
  (void)state;
  struct cuzk_vk vk;
  assert_int_equal(cuzk_params_generate("/dev/full", &key.system, &key.toxic, NULL, NULL, NULL, &d), CUZK_E_NOSPC);
  assert_non_null(strstr(d.text, "/dev/full"));
  write_all(key.vk, good, TOY_VK_BYTES);
  assert_int_equal(cuzk_vk_load(&vk, key.vk, &d), CUZK_OK);
  assert_int_equal(cuzk_vk_save(&vk, "/dev/full", &d), CUZK_E_NOSPC);
  struct stat sb;
  assert_int_equal(stat("/dev/full", &sb), 0);
  assert_true(S_ISCHR(sb.st_mode));
  /* A limit on the size of files stands for the disk that fills up under a temporary file. */
  assert_int_equal(unlink(key.vk), 0);
  const unsigned before = toy_dir_entries(&key);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const struct rlimit limit = {2000, 2000};
    (void)signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    const enum cuzk_status st = cuzk_params_generate(key.vk, &key.system, &key.toxic, NULL, NULL, NULL, NULL);
    _exit(st == CUZK_E_IO || st == CUZK_E_NOSPC ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(toy_dir_entries(&key), before);
  cuzk_vk_clear(&vk);
}

static bool put(const char *path, const char *fmt, unsigned id) {
  char text[64];
  FILE *f = fopen(path, "w");
  if (!f) return false;
  (void)snprintf(text, sizeof text, fmt, id);
  const bool written = fputs(text, f) >= 0;
  return fclose(f) == 0 && written;
}

/* A file system of one page over dir, for this process alone. */
static bool mount_small(const char *dir) {
  const unsigned uid = (unsigned)getuid(), gid = (unsigned)getgid();
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny", 0) &&
         put("/proc/self/uid_map", "0 %u 1", uid) && put("/proc/self/gid_map", "0 %u 1", gid) &&
         mount("none", dir, "tmpfs", 0, "size=4096") == 0;
}

/* The same on a real full file system, where the system lets a test mount one. */
static void a_full_file_system_leaves_nothing_behind(void **state) {
  (void)state;
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (!mount_small(key.dir)) _exit(77);
    const enum cuzk_status st = cuzk_params_generate(key.params, &key.system, &key.toxic, NULL, NULL, NULL, NULL);
    _exit(st == CUZK_E_NOSPC && toy_dir_entries(&key) == 0 ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) skip();
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void an_unconstrained_variable_leaves_no_file(void **state) {
  (void)state;
  struct small_system more = toy_circuit;
  const struct cuzk_system system = small_as_system(&more);
  more.n_aux++;
  const unsigned before = toy_dir_entries(&key);
  assert_int_equal(cuzk_params_generate(key.vk, &system, &key.toxic, NULL, NULL, NULL, &d), CUZK_E_UNSAT);
  assert_non_null(strstr(d.text, "private variable 5"));
  assert_int_equal(toy_dir_entries(&key), before);
}

static bool never(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  (void)stage, (void)unit;
  return done < total ? true : (*(unsigned *)user += 1, false);
}

static void a_cancelled_setup_check_or_digest_stops(void **state) {
  (void)state;
  unsigned asked = 0;
  const struct cuzk_progress progress = {never, &asked};
  struct cuzk_params *p = NULL;
  char digest[CUZK_DIGEST_CHARS];
  const unsigned before = toy_dir_entries(&key);
  assert_int_equal(cuzk_params_generate(key.vk, &key.system, &key.toxic, NULL, NULL, &progress, &d), CUZK_E_CANCELLED);
  assert_int_equal(toy_dir_entries(&key), before);
  write_all(key.params, good, sizeof good);
  assert_int_equal(cuzk_params_open(&p, key.params, &d), CUZK_OK);
  assert_int_equal(cuzk_params_check(p, false, NULL, &progress, &d), CUZK_E_CANCELLED);
  assert_int_equal(cuzk_file_digest(digest, key.params, &progress, &d), CUZK_E_CANCELLED);
  assert_int_equal(asked, 3);
  cuzk_params_close(&p);
}

static int group_setup(void **state) {
  (void)state;
  toy_key_init(&key);
  if (cuzk_params_generate(key.params, &key.system, &key.toxic, NULL, NULL, NULL, &d) != CUZK_OK) return 1;
  return read_all(key.params, good, sizeof good) == sizeof good ? 0 : 1;
}

static int group_teardown(void **state) {
  (void)state;
  toy_key_clear(&key);
  return 0;
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_file_cut_short_anywhere_is_refused),
      cmocka_unit_test(a_file_cut_inside_the_last_g2_section_is_refused),
      cmocka_unit_test(bytes_after_the_end_are_refused),
      cmocka_unit_test(wrong_counts_are_refused),
      cmocka_unit_test(counts_that_do_not_belong_together_are_refused),
      cmocka_unit_test(a_web_page_is_named_as_such),
      cmocka_unit_test(bad_points_of_the_key_are_refused),
      cmocka_unit_test(bad_points_of_the_sections_are_found),
      cmocka_unit_test(a_key_without_delta_proves_nothing),
      cmocka_unit_test(the_file_of_another_circuit_is_refused),
      cmocka_unit_test(files_that_cannot_be_opened_are_told_apart),
      cmocka_unit_test(a_vk_file_has_nothing_behind_the_key),
      cmocka_unit_test(fixture_keys_are_read_and_written_back_unchanged),
      cmocka_unit_test(names_and_folders_follow_the_environment),
      cmocka_unit_test(published_digests_are_found_by_name),
      cmocka_unit_test(the_meta_file_is_compact_json),
      cmocka_unit_test(proof_points_must_be_finite_and_in_their_groups),
      cmocka_unit_test(a_full_disk_leaves_nothing_behind),
      cmocka_unit_test(a_full_file_system_leaves_nothing_behind),
      cmocka_unit_test(an_unconstrained_variable_leaves_no_file),
      cmocka_unit_test(a_cancelled_setup_check_or_digest_stops),
  };
  return cmocka_run_group_tests_name("parameter files", tests, group_setup, group_teardown);
}
