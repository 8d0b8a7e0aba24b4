/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/bincode.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/fail.h"

enum cuzk_status bincode_fail(struct bincode *b, enum cuzk_status s, const char *fmt, ...) {
  if (b->st != CUZK_OK) return b->st;
  char what[300];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return b->st = cuzk_fail(b->d, s, "%.120s: byte %zu: %s", b->name, b->at, what);
}

struct tree_shape tree_shape_r(const struct cuzk_circuit *c) {
  return (struct tree_shape){{c->base_arity, c->sub_arity, c->top_arity}, {c->base_steps, c->sub_steps, c->top_steps}};
}

struct tree_shape tree_shape_d(const struct cuzk_circuit *c) {
  return (struct tree_shape){{2, 0, 0}, {(unsigned)__builtin_ctzll(c->nodes), 0, 0}};
}

size_t tree_shape_siblings(const struct tree_shape *t) {
  size_t n = 0;
  for (unsigned i = 0; i < 3; i++) n += t->steps[i] ? (size_t)t->steps[i] * (t->arity[i] - 1) : 0;
  return n;
}

size_t tree_shape_bytes(const struct tree_shape *t) {
  size_t n = 4 + 64;
  for (unsigned i = 0; i < 3; i++) n += t->steps[i] ? 8 + (size_t)t->steps[i] * (16 + 32 * (t->arity[i] - 1)) : 0;
  return n;
}

/* The next n bytes, or NULL. */
static const uint8_t *take(struct bincode *b, size_t n) {
  if (b->st != CUZK_OK) return NULL;
  if (n > b->n - b->at) {
    (void)bincode_fail(b, CUZK_E_FORMAT, "expected %zu more bytes, found %zu", n, b->n - b->at);
    return NULL;
  }
  const uint8_t *p = b->p + b->at;
  b->at += n;
  return p;
}

uint64_t bincode_u64(struct bincode *b) {
  const uint8_t *p = take(b, 8);
  return p ? cuzk_load_le64(p) : 0;
}

uint32_t bincode_u32(struct bincode *b) {
  const uint8_t *p = take(b, 4);
  return p ? cuzk_load_le32(p) : 0;
}

void bincode_expect(struct bincode *b, unsigned bytes, uint64_t value, const char *what) {
  const uint8_t *p = take(b, bytes);
  if (!p) return;
  const uint64_t v = bytes == 4 ? cuzk_load_le32(p) : cuzk_load_le64(p);
  if (v == value) return;
  b->at -= bytes;
  (void)bincode_fail(b, CUZK_E_FORMAT, "%s: expected %llu, found %llu", what, (unsigned long long)value, (unsigned long long)v);
}

void bincode_element(struct bincode *b, cuzk_fr *r, const char *what) {
  const uint8_t *p = take(b, 32);
  if (!p || cuzk_fr_from_le(r, p)) return;
  b->at -= 32;
  (void)bincode_fail(b, CUZK_E_FORMAT, "%s is not a canonical field element (not below the group order)", what);
}

/* Levels first .. first + n - 1 of p. */
static void path(struct bincode *b, struct cuzk_merkle_path *p, unsigned arity, unsigned n) {
  bincode_expect(b, 8, n, "number of path levels");
  for (unsigned i = 0; i < n && b->st == CUZK_OK; i++) {
    bincode_expect(b, 8, arity - 1, "number of siblings");
    for (unsigned s = 0; s + 1 < arity; s++) bincode_element(b, b->next_sibling++, "sibling");
    const uint64_t index = bincode_u64(b);
    if (b->st == CUZK_OK && index >= arity) {
      b->at -= 8;
      (void)bincode_fail(b, CUZK_E_FORMAT, "index: expected 0 to %u, found %llu", arity - 1, (unsigned long long)index);
      return;
    }
    p->arity[p->n_steps] = (uint8_t)arity;
    p->index[p->n_steps++] = (uint8_t)index;
  }
}

void bincode_proof(struct bincode *b, struct cuzk_merkle_path *p, cuzk_fr *root, cuzk_fr *leaf, const struct tree_shape *t) {
  const unsigned variant = t->steps[2] ? 2 : t->steps[1] ? 1 : 0;
  p->n_steps = 0;
  p->siblings = b->next_sibling;
  bincode_expect(b, 4, variant, "kind of Merkle proof (0 single, 1 sub, 2 top)");
  if (variant) {
    for (unsigned i = 0; i <= variant; i++) path(b, p, t->arity[i], t->steps[i]);
  }
  bincode_element(b, root, "root");
  bincode_element(b, leaf, "leaf");
  if (!variant) path(b, p, t->arity[0], t->steps[0]);
}

enum cuzk_status bincode_end(struct bincode *b) {
  if (b->st == CUZK_OK && b->at != b->n) (void)bincode_fail(b, CUZK_E_FORMAT, "expected the end, found %zu more bytes", b->n - b->at);
  return b->st;
}
