/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "circuits/synthesis.h"
#include "r1cs/compact.h"

static void synthesize(void *user, struct cuzk_cs *cs) { cuzk_synthesize(cs, user, NULL); }

enum cuzk_status cuzk_circuit_compile(struct cuzk_compact **out, const struct cuzk_circuit *c, struct cuzk_pool *pool,
                                      const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_circuit_digest x;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows = 0;
  *out = NULL;
  enum cuzk_status st = CUZK_OK;
  if (progress) st = cuzk_circuit_count(c, &n_inputs, &n_aux, &n_rows, d);
  if (st == CUZK_OK) st = cuzk_compact_build(out, c->name, synthesize, (void *)(uintptr_t)c, n_rows, progress, d);
  if (st != CUZK_OK) return st;
  const struct cuzk_system s = cuzk_compact_system(*out);
  st = cuzk_system_digest(&x, &s, n_rows, pool, progress, d);
  if (st == CUZK_OK) {
    cuzk_compact_seal(*out, x.digest);
    cuzk_circuit_digest_clear(&x);
    return st;
  }
  cuzk_compact_destroy(out);
  return st;
}
