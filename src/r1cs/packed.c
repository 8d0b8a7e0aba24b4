/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "r1cs/packed.h"

#include <string.h>

#include "base/alloc.h"

static size_t n_words(const struct cuzk_packed *p) { return ((size_t)p->n_aux + 63) / 64; }

enum cuzk_status cuzk_packed_reserve(struct cuzk_packed *p, uint32_t n_inputs, uint32_t n_aux) {
  memset(p, 0, sizeof *p);
  p->n_inputs = n_inputs;
  p->n_aux = n_aux;
  const size_t n = n_words(p);
  p->inputs = cuzk_calloc(n_inputs, sizeof *p->inputs);
  p->rank = cuzk_malloc_array(n, sizeof *p->rank);
  p->bits = cuzk_big_alloc(n * sizeof *p->bits);
  p->is_field = cuzk_big_alloc(n * sizeof *p->is_field);
  if (p->inputs && p->rank && (!n || (p->bits && p->is_field))) return CUZK_OK;
  cuzk_packed_clear(p);
  return CUZK_E_NOMEM;
}

enum cuzk_status cuzk_packed_reserve_fields(struct cuzk_packed *p) {
  uint32_t n = 0;
  for (size_t w = 0; w < n_words(p); w++) {
    p->rank[w] = n;
    n += (uint32_t)__builtin_popcountll(p->is_field[w]);
  }
  p->n_fields = n;
  p->fields = cuzk_big_alloc(n * sizeof *p->fields);
  return p->fields || !n ? CUZK_OK : CUZK_E_NOMEM;
}

void cuzk_packed_clear(struct cuzk_packed *p) {
  cuzk_free(p->inputs);
  cuzk_free(p->rank);
  cuzk_big_free(p->bits, n_words(p) * sizeof *p->bits);
  cuzk_big_free(p->is_field, n_words(p) * sizeof *p->is_field);
  cuzk_big_free(p->fields, p->n_fields * sizeof *p->fields);
  memset(p, 0, sizeof *p);
}

void cuzk_packed_expand(cuzk_fr *out, const struct cuzk_packed *p, uint32_t first, uint32_t count) {
  if (!count) return;
  const uint32_t end = first + count;
  const uint64_t below = p->is_field[first / 64] & (((uint64_t)1 << (first % 64)) - 1);
  const cuzk_fr *f = p->fields + p->rank[first / 64] + (uint32_t)__builtin_popcountll(below);
  for (uint32_t j = first; j < end;) {
    const uint32_t w = j / 64, to = (w + 1) * 64 < end ? (w + 1) * 64 : end;
    uint64_t field = p->is_field[w] >> (j % 64), bit = p->bits[w] >> (j % 64);
    for (; j < to; j++, field >>= 1, bit >>= 1) *out++ = field & 1 ? *f++ : bit & 1 ? cuzk_fr_one : cuzk_fr_zero;
  }
}
