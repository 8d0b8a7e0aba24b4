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
  struct cuzk_pool *pool;
};

#define SINK_PARALLEL ((size_t)1 << 20)

struct file_piece {
  const struct file_sink *f;
  const void *p;
  size_t n;
  struct cuzk_detail *d;
  enum cuzk_status st;
};

static void file_piece_task(void *arg, size_t task, unsigned worker) {
  struct file_piece *x = arg;
  (void)worker;
  if (task == 0)
    x->st = cuzk_outfile_write(x->f->file, x->p, x->n, x->d);
  else
    cuzk_sha256_update(x->f->sha, x->p, x->n);
}

static enum cuzk_status file_write(void *user, const void *p, size_t n, struct cuzk_detail *d) {
  const struct file_sink *f = user;
  struct file_piece x = {f, p, n, d, CUZK_OK};
  cuzk_pool_run(n < SINK_PARALLEL ? NULL : f->pool, file_piece_task, &x, f->sha ? 2 : 1);
  return x.st;
}

enum cuzk_status cuzk_params_generate_by(const char *path, cuzk_params_maker_fn *make, void *user, uint8_t sha256[32], struct cuzk_pool *pool,
                                         struct cuzk_detail *d) {
  struct cuzk_sha256 sha;
  struct file_sink f = {NULL, sha256 ? &sha : NULL, pool};
  enum cuzk_status st = cuzk_outfile_open(&f.file, path, d);
  if (st != CUZK_OK) return st;
  cuzk_sha256_init(&sha);
  const struct cuzk_setup_sink sink = {file_write, &f};
  st = make(user, &sink, d);
  if (st == CUZK_OK) st = cuzk_outfile_commit(&f.file, d);
  if (st == CUZK_OK && sha256) cuzk_sha256_final(&sha, sha256);
  cuzk_outfile_abort(&f.file);
  return st;
}

struct host_setup {
  const struct cuzk_system *system;
  const struct cuzk_toxic *toxic;
  struct cuzk_pool *pool;
  const struct cuzk_progress *progress;
};

static enum cuzk_status host_make(void *user, const struct cuzk_setup_sink *sink, struct cuzk_detail *d) {
  const struct host_setup *s = user;
  return setup_run(sink, s->system, s->toxic, s->pool, s->progress, d);
}

enum cuzk_status cuzk_params_generate(const char *path, const struct cuzk_system *system, const struct cuzk_toxic *t,
                                      uint8_t sha256[32], struct cuzk_pool *pool, const struct cuzk_progress *progress,
                                      struct cuzk_detail *d) {
  struct host_setup s = {system, t, pool, progress};
  return cuzk_params_generate_by(path, host_make, &s, sha256, pool, d);
}
