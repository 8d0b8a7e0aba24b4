/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/file.h"
#include "groth16/engine_bls12.h"
#include "groth16/setup_tmpl.h"
#include "hash/sha256.h"

enum cuzk_status cuzk_toxic_random(struct cuzk_toxic *t) {
  cuzk_fr *const v[5] = {&t->alpha, &t->beta, &t->gamma, &t->delta, &t->tau};
  for (int i = 0; i < 5; i++) {
    do {
      const enum cuzk_status st = cuzk_fr_random(v[i]);
      if (st != CUZK_OK) {
        cuzk_secret_clear(t, sizeof *t);
        return st;
      }
    } while (cuzk_fr_is_zero(v[i]));
  }
  return CUZK_OK;
}

struct file_sink {
  struct cuzk_outfile *file;
  struct cuzk_sha256 *sha; /* NULL: not wanted */
};

static enum cuzk_status file_write(void *user, const void *p, size_t n, struct cuzk_detail *d) {
  const struct file_sink *f = user;
  if (f->sha) cuzk_sha256_update(f->sha, p, n);
  return cuzk_outfile_write(f->file, p, n, d);
}

enum cuzk_status cuzk_params_generate(const char *path, const struct cuzk_system *system, const struct cuzk_toxic *t,
                                      uint8_t sha256[32], struct cuzk_pool *pool, const struct cuzk_progress *progress,
                                      struct cuzk_detail *d) {
  struct cuzk_sha256 sha;
  struct file_sink f = {NULL, sha256 ? &sha : NULL};
  enum cuzk_status st = cuzk_outfile_open(&f.file, path, d);
  if (st != CUZK_OK) return st;
  cuzk_sha256_init(&sha);
  const struct cuzk_setup_sink sink = {file_write, &f};
  st = setup_run(&sink, system, t, pool, progress, d);
  if (st == CUZK_OK) st = cuzk_outfile_commit(&f.file, d);
  if (st == CUZK_OK && sha256) cuzk_sha256_final(&sha, sha256);
  cuzk_outfile_abort(&f.file);
  return st;
}
