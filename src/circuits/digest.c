/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One task walks the circuit and writes rows into block buffers, the others hash full blocks. The walker never waits: with no free
 * buffer it hashes a block itself, so any number of threads will do, one included. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "circuits/circuit.h"
#include "hash/sha256.h"
#include "r1cs/cs.h"
#include "r1cs/shape.h"

#define MAX_HASHERS 6
#define MAX_BUFFERS (MAX_HASHERS + 2)

struct block {
  uint8_t *p;
  size_t n, cap;
  size_t index;
};

struct digester {
  const struct cuzk_system *system;
  const struct cuzk_progress *progress;
  struct cuzk_detail *detail;
  /* the walker's */
  struct block *cur;
  uint32_t rows_in_block;
  uint64_t total_rows;
  struct cuzk_shape_builder shape;
  uint32_t n_inputs, n_aux;
  enum cuzk_status st;
  size_t n_blocks;
  /* under lock */
  pthread_mutex_t lock;
  pthread_cond_t filled;
  struct block *queue[MAX_BUFFERS], *spare[MAX_BUFFERS];
  unsigned n_queue, n_spare;
  bool done;
  uint8_t (*digests)[32];
  size_t cap_digests;
  struct block blocks[MAX_BUFFERS];
};

/* Takes the oldest full block; with lock held, and n_queue > 0. */
static struct block *pop_queue(struct digester *g) {
  struct block *b = g->queue[0];
  g->n_queue--;
  memmove(g->queue, g->queue + 1, g->n_queue * sizeof *g->queue);
  return b;
}

/* Called and returns with lock held. */
static void hash_block(struct digester *g, struct block *b) {
  uint8_t d[32];
  pthread_mutex_unlock(&g->lock);
  cuzk_sha256(d, b->p, b->n);
  pthread_mutex_lock(&g->lock);
  memcpy(g->digests[b->index], d, 32);
}

/* The current block is full (or the last); afterwards there is an empty current block. */
static enum cuzk_status submit(struct digester *g) {
  enum cuzk_status st = CUZK_OK;
  pthread_mutex_lock(&g->lock);
  if (g->n_blocks == g->cap_digests) {
    const size_t cap = g->cap_digests ? 2 * g->cap_digests : 64;
    uint8_t(*p)[32] = cuzk_realloc_array(g->digests, cap, sizeof *p);
    if (p) {
      g->digests = p;
      g->cap_digests = cap;
    } else {
      st = CUZK_E_NOMEM;
    }
  }
  if (st == CUZK_OK) {
    g->cur->index = g->n_blocks++;
    g->queue[g->n_queue++] = g->cur;
    pthread_cond_signal(&g->filled);
    if (g->n_spare) {
      g->cur = g->spare[--g->n_spare];
    } else {
      g->cur = pop_queue(g);
      hash_block(g, g->cur);
    }
    g->cur->n = 0;
    g->rows_in_block = 0;
  }
  pthread_mutex_unlock(&g->lock);
  return st;
}

static enum cuzk_status reserve(struct block *b, size_t more) {
  if (b->n + more <= b->cap) return CUZK_OK;
  size_t cap = b->cap ? b->cap : (size_t)1 << 20;
  while (cap < b->n + more) cap += cap / 2;
  uint8_t *p = cuzk_realloc_array(b->p, cap, 1);
  if (!p) return CUZK_E_NOMEM;
  b->p = p;
  b->cap = cap;
  return CUZK_OK;
}

static enum cuzk_status put_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  struct digester *g = user;
  enum cuzk_status st = cuzk_shape_row(&g->shape, row, coeffs);
  if (st == CUZK_OK) st = reserve(g->cur, 12 + 36 * ((size_t)row->n[0] + row->n[1] + row->n[2]));
  if (st != CUZK_OK) return st;
  uint8_t *p = g->cur->p + g->cur->n;
  for (int k = 0; k < 3; k++) {
    cuzk_store_le32(p, row->n[k]);
    p += 4;
    for (uint32_t i = 0; i < row->n[k]; i++, p += 36) {
      cuzk_store_le32(p, row->t[k][i].var);
      memcpy(p + 4, coeffs->le[row->t[k][i].coeff], 32);
    }
  }
  g->cur->n = (size_t)(p - g->cur->p);
  if (++g->rows_in_block < CUZK_DIGEST_BLOCK_ROWS) return CUZK_OK;
  if (!cuzk_progress(g->progress, "digest", index + 1 < g->total_rows ? index + 1 : g->total_rows, g->total_rows, "constraints"))
    return CUZK_E_CANCELLED;
  return submit(g);
}

static void walk_task(struct digester *g) {
  uint64_t n_rows = 0;
  g->st = g->system->walk(g->system, put_row, g, &g->n_inputs, &g->n_aux, &n_rows, g->detail);
  if (g->st == CUZK_OK && (g->rows_in_block || !g->n_blocks)) g->st = submit(g);
  pthread_mutex_lock(&g->lock);
  g->done = true;
  pthread_cond_broadcast(&g->filled);
  while (g->n_queue) hash_block(g, pop_queue(g));
  pthread_mutex_unlock(&g->lock);
}

static void hash_task(struct digester *g) {
  pthread_mutex_lock(&g->lock);
  for (;;) {
    while (!g->n_queue && !g->done) pthread_cond_wait(&g->filled, &g->lock);
    if (!g->n_queue) break;
    struct block *b = pop_queue(g);
    hash_block(g, b);
    g->spare[g->n_spare++] = b;
  }
  pthread_mutex_unlock(&g->lock);
}

static void task(void *arg, size_t i, unsigned worker) {
  (void)worker;
  if (i)
    hash_task(arg);
  else
    walk_task(arg);
}

enum cuzk_status cuzk_system_digest(struct cuzk_circuit_digest *out, const struct cuzk_system *s, uint64_t n_rows,
                                    struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct digester *g = cuzk_calloc(1, sizeof *g);
  memset(out, 0, sizeof *out);
  if (!g) return cuzk_fail(d, CUZK_E_NOMEM, "digest of %s", s->name);
  size_t hashers = pool ? cuzk_pool_workers(pool) - 1 : 0;
  if (hashers > MAX_HASHERS) hashers = MAX_HASHERS;
  g->system = s;
  g->progress = progress;
  g->detail = d;
  g->total_rows = n_rows;
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->filled, NULL);
  g->cur = &g->blocks[0];
  for (size_t i = 1; i < hashers + 2; i++) g->spare[g->n_spare++] = &g->blocks[i];
  cuzk_pool_run(pool, task, g, 1 + hashers);
  enum cuzk_status st = g->st;
  if (st == CUZK_OK) st = cuzk_shape_finish(&out->shape, &g->shape, g->n_inputs, g->n_aux);
  if (st == CUZK_OK) {
    cuzk_sha256(out->digest, g->digests, 32 * g->n_blocks);
    out->block_digests = (uint8_t *)g->digests;
    out->n_blocks = g->n_blocks;
    g->digests = NULL;
  }
  for (size_t i = 0; i < MAX_BUFFERS; i++) cuzk_free(g->blocks[i].p);
  cuzk_free(g->digests);
  cuzk_shape_builder_clear(&g->shape);
  pthread_cond_destroy(&g->filled);
  pthread_mutex_destroy(&g->lock);
  cuzk_free(g);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "digest of %s", s->name);
}

enum cuzk_status cuzk_circuit_digest(struct cuzk_circuit_digest *out, const struct cuzk_circuit *c, struct cuzk_pool *pool,
                                     const struct cuzk_progress *progress, struct cuzk_detail *d) {
  const struct cuzk_system s = cuzk_circuit_system(c);
  uint32_t inputs, aux;
  uint64_t n_rows = 0;
  memset(out, 0, sizeof *out);
  if (progress) {
    const enum cuzk_status st = cuzk_circuit_count(c, &inputs, &aux, &n_rows, d);
    if (st != CUZK_OK) return st;
  }
  return cuzk_system_digest(out, &s, n_rows, pool, progress, d);
}

void cuzk_circuit_digest_clear(struct cuzk_circuit_digest *x) {
  cuzk_shape_clear(&x->shape);
  cuzk_free(x->block_digests);
  memset(x, 0, sizeof *x);
}
