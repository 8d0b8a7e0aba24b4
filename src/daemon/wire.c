/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/wire.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"

#define MAX_NESTING 64

static bool varint(struct cuzk_wire *w, uint64_t *out) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (w->at == w->n) return false;
    uint8_t b = w->data[w->at++];
    if (shift == 63 && b > 1) return false;
    v |= (uint64_t)(b & 0x7f) << shift;
    if (b < 0x80) {
      *out = v;
      return true;
    }
  }
  return false;
}

/* The field at the cursor; a group's begin or end is given as it is. */
static bool one(struct cuzk_wire *w, struct cuzk_wire_field *f) {
  uint64_t tag, n;
  if (!varint(w, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
  *f = (struct cuzk_wire_field){.number = (uint32_t)(tag >> 3), .type = (enum cuzk_wire_type)(tag & 7)};
  switch (f->type) {
    case CUZK_WIRE_VARINT: return varint(w, &f->value);
    case CUZK_WIRE_FIXED64:
      if (w->n - w->at < 8) return false;
      f->value = cuzk_load_le64(w->data + w->at);
      w->at += 8;
      return true;
    case CUZK_WIRE_FIXED32:
      if (w->n - w->at < 4) return false;
      f->value = cuzk_load_le32(w->data + w->at);
      w->at += 4;
      return true;
    case CUZK_WIRE_BYTES:
      if (!varint(w, &n) || n > w->n - w->at) return false;
      f->bytes = (struct cuzk_slice){w->data + w->at, (size_t)n};
      w->at += (size_t)n;
      return true;
    case CUZK_WIRE_GROUP:
    case CUZK_WIRE_END: return true;
  }
  return false;
}

/* What follows the begin of a group up to its end. */
static bool skip_group(struct cuzk_wire *w, uint32_t number) {
  uint32_t open[MAX_NESTING];
  unsigned depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    struct cuzk_wire_field f;
    if (!one(w, &f)) return false;
    if (f.type == CUZK_WIRE_END) {
      if (open[--depth] != f.number) return false;
    } else if (f.type == CUZK_WIRE_GROUP) {
      if (depth == MAX_NESTING) return false;
      open[depth++] = f.number;
    }
  }
  return true;
}

bool cuzk_wire_next(struct cuzk_wire *w, struct cuzk_wire_field *f) {
  if (w->bad || w->at == w->n) return false;
  if (!one(w, f) || f->type == CUZK_WIRE_END || (f->type == CUZK_WIRE_GROUP && !skip_group(w, f->number))) {
    w->bad = true;
    return false;
  }
  return true;
}

bool cuzk_utf8_valid(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n;) {
    uint8_t c = p[i];
    if (c < 0x80) {
      i++;
      continue;
    }
    size_t k = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || n - i < k) return false;
    for (size_t j = 1; j < k; j++) {
      if ((p[i + j] & 0xc0) != 0x80) return false;
    }
    uint8_t next = p[i + 1];
    if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) || (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f)) return false;
    i += k;
  }
  return true;
}

/* ---- writing ---- */

uint8_t *cuzk_wire_reserve(struct cuzk_wire_out *o, size_t n) {
  if (o->failed) return NULL;
  if (o->cap - o->n < n) {
    size_t cap;
    if (__builtin_add_overflow(o->n, n, &cap) || __builtin_add_overflow(cap, cap / 2 + 64, &cap)) cap = SIZE_MAX;
    uint8_t *p = cuzk_realloc_array(o->data, cap, 1);
    if (!p) {
      o->failed = true;
      return NULL;
    }
    o->data = p;
    o->cap = cap;
  }
  return o->data + o->n;
}

static void put_raw(struct cuzk_wire_out *o, uint64_t v) {
  uint8_t *p = cuzk_wire_reserve(o, 10);
  if (!p) return;
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) p[n++] = (uint8_t)(v | 0x80);
  p[n++] = (uint8_t)v;
  o->n += n;
}

void cuzk_wire_put_varint(struct cuzk_wire_out *o, uint32_t number, uint64_t value) {
  put_raw(o, (uint64_t)number << 3 | CUZK_WIRE_VARINT);
  put_raw(o, value);
}

void cuzk_wire_put_bytes(struct cuzk_wire_out *o, uint32_t number, const void *p, size_t n) {
  put_raw(o, (uint64_t)number << 3 | CUZK_WIRE_BYTES);
  put_raw(o, n);
  uint8_t *to = cuzk_wire_reserve(o, n);
  if (!to) return;
  if (n) memcpy(to, p, n);
  o->n += n;
}

void cuzk_wire_out_clear(struct cuzk_wire_out *o) {
  cuzk_free(o->data);
  *o = (struct cuzk_wire_out){0};
}
