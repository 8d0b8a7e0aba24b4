/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The circuit, toxic waste and blinding values of the formats specification, Appendix A.1, and a folder to work in. */
#ifndef CUZK_TESTS_GROTH16_TOY_KEY_H
#define CUZK_TESTS_GROTH16_TOY_KEY_H
#include <dirent.h>
#include <unistd.h>

#include "base/alloc.h"
#include "groth16/params.h"
#include "groth16/prove.h"
#include "hash/sha256.h"
#include "small_system.h"

#define TOY_VK_BYTES 1156
#define TOY_PARAMS_BYTES 4152
#define TOY_M 8

#define X(i) ((cuzk_var)(i))
#define W(i) (CUZK_VAR_AUX + (i))
static const struct small_system toy_circuit = {
    .n_inputs = 3,
    .n_aux = 5,
    .n_rows = 4,
    .row = {
        {{{{W(0), 1}}, 1}, {{{W(1), 1}}, 1}, {{{W(2), 1}}, 1}},
        {{{{X(0), 3}, {W(2), 1}}, 2}, {{{X(1), 1}}, 1}, {{{W(3), 1}}, 1}},
        {{{{W(3), 1}, {W(4), 0}}, 2}, {{{X(0), 5}, {W(0), 1}}, 2}, {{{W(4), 1}}, 1}},
        {{{{W(1), 1}, {W(2), -1}}, 2}, {{{X(0), 1}}, 1}, {{{X(2), 1}, {W(4), -1}}, 2}},
    }};
#undef X
#undef W

struct toy_key {
  struct cuzk_system system;
  struct cuzk_shape shape;
  struct cuzk_toxic toxic;
  cuzk_fr r, s;
  cuzk_fr inputs[3], aux[5], row_values[3][TOY_M];
  cuzk_fr *abc[3];
  struct cuzk_assignment z;
  char dir[64], params[128], vk[128];
};

/* Little-endian SHA-256 of "toy-" and the name, modulo r. */
static void toy_scalar(cuzk_fr *out, const char *name) {
  uint8_t b[64] = {0};
  struct cuzk_sha256 h;
  cuzk_sha256_init(&h);
  cuzk_sha256_update(&h, "toy-", 4);
  cuzk_sha256_update(&h, name, strlen(name));
  cuzk_sha256_final(&h, b);
  cuzk_fr_from_le64_reduce(out, b);
}

static void toy_fill_rows(struct toy_key *k) {
  memset(k->row_values, 0, sizeof k->row_values);
  for (uint32_t i = 0; i < toy_circuit.n_rows; i++)
    for (int side = 0; side < 3; side++)
      for (unsigned t = 0; t < toy_circuit.row[i][side].n; t++) {
        const struct small_term *term = &toy_circuit.row[i][side].t[t];
        cuzk_fr c;
        cuzk_fr_from_u64(&c, (uint64_t)abs(term->coeff));
        if (term->coeff < 0) cuzk_fr_neg(&c, &c);
        cuzk_fr_mul(&c, &c, term->var & CUZK_VAR_AUX ? &k->aux[term->var - CUZK_VAR_AUX] : &k->inputs[term->var]);
        cuzk_fr_add(&k->row_values[side][i], &k->row_values[side][i], &c);
      }
}

static void toy_key_init(struct toy_key *k) {
  static const uint64_t inputs[3] = {1, 7, 832}, aux[5] = {3, 4, 12, 105, 840};
  memset(k, 0, sizeof *k);
  k->system = small_as_system(&toy_circuit);
  assert_int_equal(cuzk_shape_of(&k->shape, &k->system, NULL), CUZK_OK);
  toy_scalar(&k->toxic.alpha, "alpha");
  toy_scalar(&k->toxic.beta, "beta");
  toy_scalar(&k->toxic.gamma, "gamma");
  toy_scalar(&k->toxic.delta, "delta");
  toy_scalar(&k->toxic.tau, "tau");
  toy_scalar(&k->r, "r");
  toy_scalar(&k->s, "s");
  for (int i = 0; i < 3; i++) cuzk_fr_from_u64(&k->inputs[i], inputs[i]);
  for (int i = 0; i < 5; i++) cuzk_fr_from_u64(&k->aux[i], aux[i]);
  for (int i = 0; i < 3; i++) k->abc[i] = k->row_values[i];
  k->z = (struct cuzk_assignment){.inputs = k->inputs, .aux = k->aux, .n_inputs = 3, .n_aux = 5};
  toy_fill_rows(k);
  const char *tmp = getenv("TMPDIR");
  (void)snprintf(k->dir, sizeof k->dir, "%s/cuzk-test-XXXXXX", tmp && strlen(tmp) < 32 ? tmp : "/tmp");
  assert_non_null(mkdtemp(k->dir));
  (void)snprintf(k->params, sizeof k->params, "%s/toy.params", k->dir);
  (void)snprintf(k->vk, sizeof k->vk, "%s/toy.vk", k->dir);
}

/* Number of entries of the working folder. */
static unsigned toy_dir_entries(const struct toy_key *k) {
  unsigned n = 0;
  DIR *dir = opendir(k->dir);
  assert_non_null(dir);
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) n += e->d_name[0] != '.';
  (void)closedir(dir);
  return n;
}

static void toy_key_clear(struct toy_key *k) {
  char path[400];
  DIR *dir = opendir(k->dir);
  if (dir) {
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
      (void)snprintf(path, sizeof path, "%s/%s", k->dir, e->d_name);
      if (e->d_name[0] != '.') (void)unlink(path);
    }
    (void)closedir(dir);
  }
  (void)rmdir(k->dir);
  cuzk_shape_clear(&k->shape);
}

static size_t read_all(const char *path, uint8_t *out, size_t cap) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  const size_t n = fread(out, 1, cap, f);
  (void)fclose(f);
  return n;
}

static inline void write_all(const char *path, const void *p, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(p, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

/* Text compared as hex of bytes. */
static inline void assert_hex(const uint8_t *b, size_t n, const char *hex) {
  char have[2 * 600 + 1] = "";
  assert_true(n <= 600);
  for (size_t i = 0; i < n; i++) (void)snprintf(have + 2 * i, 3, "%02x", b[i]);
  assert_string_equal(have, hex);
}
#endif
