/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Digests of the values of a circuit. Task 0 evaluates the rows and hashes the results, which are one stream; task 1 hashes all
 * private values, the others a block of them each. */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "circuits/circuit.h"
#include "hash/sha256.h"

#define BUFFER 128 /* values a turn */

struct hasher {
  struct cuzk_sha256 h;
  uint8_t buf[BUFFER * 32];
  unsigned n;
};

static void put(struct hasher *h, const cuzk_fr *v) {
  uint8_t *to = h->buf + 32 * h->n;
  if (cuzk_fr_is_zero(v) || cuzk_fr_is_one(v)) {
    memset(to, 0, 32);
    to[0] = (uint8_t)(v->l[0] != 0);
  } else {
    cuzk_fr_to_le(to, v);
  }
  if (++h->n < BUFFER) return;
  cuzk_sha256_update(&h->h, h->buf, sizeof h->buf);
  h->n = 0;
}

static void end(struct hasher *h, uint8_t out[32]) {
  cuzk_sha256_update(&h->h, h->buf, 32 * h->n);
  cuzk_sha256_final(&h->h, out);
}

struct digester {
  struct cuzk_value_digests *out;
  const struct cuzk_circuit *c;
  const struct cuzk_packed *z;
  const struct cuzk_progress *progress;
  struct cuzk_detail *detail;
  struct hasher rows;
  enum cuzk_status st;
};

static enum cuzk_status put_row(void *user, uint64_t index, const cuzk_fr abc[3]) {
  struct digester *g = user;
  (void)index;
  for (int k = 0; k < 3; k++) put(&g->rows, &abc[k]);
  g->out->n_rows++;
  return CUZK_OK;
}

static void eval_rows(struct digester *g) {
  cuzk_sha256_init(&g->rows.h);
  g->st = cuzk_circuit_eval(g->c, g->z, put_row, g, &g->out->bad_row, g->out->region, g->progress, g->detail);
  end(&g->rows, g->out->abc_sha256);
}

/* Private values first .. first + n - 1; counted where asked. */
static void hash_values(const struct digester *g, uint32_t first, uint32_t n, uint8_t digest[32], bool count) {
  struct hasher h = {.n = 0};
  cuzk_fr v[BUFFER];
  cuzk_sha256_init(&h.h);
  while (n) {
    const uint32_t k = n < BUFFER ? n : BUFFER;
    cuzk_packed_expand(v, g->z, first, k);
    for (uint32_t i = 0; i < k; i++) {
      if (count) {
        g->out->zeros += cuzk_fr_is_zero(&v[i]);
        g->out->ones += cuzk_fr_is_one(&v[i]);
      }
      put(&h, &v[i]);
    }
    first += k;
    n -= k;
  }
  end(&h, digest);
}

static void task(void *arg, size_t i, unsigned worker) {
  struct digester *g = arg;
  (void)worker;
  if (i == 0) {
    eval_rows(g);
  } else if (i == 1) {
    hash_values(g, 0, g->z->n_aux, g->out->aux_sha256, true);
  } else {
    const uint32_t first = (uint32_t)(i - 2) * CUZK_DIGEST_BLOCK_ROWS, left = g->z->n_aux - first;
    hash_values(g, first, left < CUZK_DIGEST_BLOCK_ROWS ? left : CUZK_DIGEST_BLOCK_ROWS, g->out->blocks + 32 * (i - 2), false);
  }
}

enum cuzk_status cuzk_circuit_value_digests(struct cuzk_value_digests *out, const struct cuzk_circuit *c, const struct cuzk_packed *z,
                                            struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_detail *d) {
  memset(out, 0, sizeof *out);
  struct digester g = {.out = out, .c = c, .z = z, .progress = progress, .detail = d};
  out->n_blocks = ((size_t)z->n_aux + CUZK_DIGEST_BLOCK_ROWS - 1) / CUZK_DIGEST_BLOCK_ROWS;
  out->blocks = cuzk_calloc(out->n_blocks + 1, 32);
  if (!out->blocks) return cuzk_fail(d, CUZK_E_NOMEM, "digests of the values of %s", c->name);
  cuzk_pool_run(pool, task, &g, 2 + out->n_blocks);
  if (g.st != CUZK_OK) cuzk_circuit_value_digests_clear(out);
  return g.st;
}

void cuzk_circuit_value_digests_clear(struct cuzk_value_digests *x) {
  cuzk_free(x->blocks);
  memset(x, 0, sizeof *x);
}
