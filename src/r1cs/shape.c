/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "r1cs/shape.h"

/* Sets bit j of a growing map. */
static enum cuzk_status set_bit(struct cuzk_bits *b, uint32_t j) {
  const size_t w = j / 64;
  if (w >= b->n_words) {
    size_t n = b->n_words ? 2 * b->n_words : 64;
    if (n <= w) n = w + 1;
    uint64_t *p = cuzk_realloc_array(b->w, n, sizeof *p);
    if (!p) return CUZK_E_NOMEM;
    memset(p + b->n_words, 0, (n - b->n_words) * sizeof *p);
    b->w = p;
    b->n_words = n;
  }
  b->w[w] |= UINT64_C(1) << (j % 64);
  return CUZK_OK;
}

enum cuzk_status cuzk_shape_row(struct cuzk_shape_builder *s, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  enum cuzk_status st = CUZK_OK;
  s->n_rows++;
  for (int k = 0; k < 3; k++) s->nnz[k] += row->n[k];
  s->zero_terms_dropped = coeffs->zero_terms_dropped;
  for (uint32_t i = 0; i < row->n[0] && st == CUZK_OK; i++) {
    const cuzk_var v = row->t[0][i].var;
    if (v & CUZK_VAR_AUX) st = set_bit(&s->a_aux, v - CUZK_VAR_AUX);
  }
  for (uint32_t i = 0; i < row->n[1] && st == CUZK_OK; i++) {
    const cuzk_var v = row->t[1][i].var;
    st = v & CUZK_VAR_AUX ? set_bit(&s->b_aux, v - CUZK_VAR_AUX) : set_bit(&s->b_input, v);
  }
  return st;
}

/* The map cut or padded to n bits, and its count; b is emptied. */
static enum cuzk_status take_map(uint64_t **out, uint32_t *n_set, struct cuzk_bits *b, uint32_t n) {
  const size_t words = ((size_t)n + 63) / 64;
  uint64_t *p = cuzk_realloc_array(b->w, words ? words : 1, sizeof *p);
  if (!p) return CUZK_E_NOMEM;
  if (words > b->n_words) memset(p + b->n_words, 0, (words - b->n_words) * sizeof *p);
  b->w = NULL;
  b->n_words = 0;
  *out = p;
  *n_set = 0;
  for (size_t i = 0; i < words; i++) *n_set += (uint32_t)__builtin_popcountll(p[i]);
  return CUZK_OK;
}

enum cuzk_status cuzk_shape_finish(struct cuzk_shape *out, struct cuzk_shape_builder *s, uint32_t n_inputs, uint32_t n_aux) {
  memset(out, 0, sizeof *out);
  out->n_inputs = n_inputs;
  out->n_aux = n_aux;
  out->n_rows = s->n_rows;
  memcpy(out->nnz, s->nnz, sizeof out->nnz);
  out->zero_terms_dropped = s->zero_terms_dropped;
  enum cuzk_status st = take_map(&out->a_aux, &out->n_a_aux, &s->a_aux, n_aux);
  if (st == CUZK_OK) st = take_map(&out->b_aux, &out->n_b_aux, &s->b_aux, n_aux);
  if (st == CUZK_OK) st = take_map(&out->b_input, &out->n_b_input, &s->b_input, n_inputs);
  if (st != CUZK_OK) cuzk_shape_clear(out);
  cuzk_shape_builder_clear(s);
  return st;
}

void cuzk_shape_builder_clear(struct cuzk_shape_builder *s) {
  cuzk_free(s->a_aux.w);
  cuzk_free(s->b_aux.w);
  cuzk_free(s->b_input.w);
  memset(s, 0, sizeof *s);
}

void cuzk_shape_clear(struct cuzk_shape *s) {
  cuzk_free(s->a_aux);
  cuzk_free(s->b_aux);
  cuzk_free(s->b_input);
  memset(s, 0, sizeof *s);
}

static enum cuzk_status shape_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  (void)index;
  return cuzk_shape_row(user, row, coeffs);
}

enum cuzk_status cuzk_shape_of(struct cuzk_shape *out, const struct cuzk_system *s, struct cuzk_detail *d) {
  struct cuzk_shape_builder b = {0};
  uint32_t n_inputs = 0, n_aux = 0;
  uint64_t n_rows = 0;
  memset(out, 0, sizeof *out);
  enum cuzk_status st = s->walk(s, shape_row, &b, &n_inputs, &n_aux, &n_rows, d);
  if (st == CUZK_OK) st = cuzk_shape_finish(out, &b, n_inputs, n_aux);
  cuzk_shape_builder_clear(&b);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "shape of %s", s->name);
}

unsigned cuzk_shape_log2_domain(const struct cuzk_shape *s) {
  unsigned k = 0;
  while ((UINT64_C(1) << k) < s->n_rows + s->n_inputs) k++;
  return k;
}

void cuzk_assignment_clear(struct cuzk_assignment *a) {
  cuzk_free(a->inputs);
  cuzk_big_free(a->aux, a->aux_bytes);
  memset(a, 0, sizeof *a);
}
