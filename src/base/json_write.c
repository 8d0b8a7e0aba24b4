/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/json_write.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/hex.h"

enum { FILE_BUFFER = 65536 };

void cuzk_json_out_init(struct cuzk_json_out *o, FILE *file) { *o = (struct cuzk_json_out){.file = file}; }

static void spill(struct cuzk_json_out *o) {
  errno = 0;
  if (o->n && fwrite(o->buf, 1, o->n, o->file) != o->n) {
    o->st = errno == ENOSPC || errno == EDQUOT ? CUZK_E_NOSPC : CUZK_E_IO;
  }
  o->n = 0;
}

static void put(struct cuzk_json_out *o, const char *s, size_t n) {
  if (o->st != CUZK_OK) return;
  if (o->file && o->n && o->n + n > FILE_BUFFER) spill(o);
  if (o->cap - o->n < n + 1) {
    size_t cap = o->cap ? o->cap : 256;
    while (cap - o->n < n + 1) {
      if (cap > SIZE_MAX / 2) {
        o->st = CUZK_E_NOMEM;
        return;
      }
      cap *= 2;
    }
    char *p = cuzk_realloc_array(o->buf, cap, 1);
    if (!p) {
      o->st = CUZK_E_NOMEM;
      return;
    }
    o->buf = p;
    o->cap = cap;
  }
  memcpy(o->buf + o->n, s, n);
  o->n += n;
}

static void misuse(struct cuzk_json_out *o) {
  if (o->st == CUZK_OK) o->st = CUZK_E_ARG;
}

/* What stands before a value: a comma, unless it is first or follows its name. */
static void before_value(struct cuzk_json_out *o) {
  if (o->after_key) {
    o->after_key = false;
    return;
  }
  if (!o->depth) {
    if (o->not_first & 1) misuse(o); /* bit 0 without depth: the document's one value was written */
    o->not_first |= 1;
    return;
  }
  const uint64_t bit = (uint64_t)1 << (o->depth - 1);
  if (o->in_object & bit) {
    misuse(o);
    return;
  }
  if (o->not_first & bit) put(o, ",", 1);
  o->not_first |= bit;
}

static void open_level(struct cuzk_json_out *o, bool object) {
  before_value(o);
  if (o->depth == 64) {
    misuse(o);
    return;
  }
  const uint64_t bit = (uint64_t)1 << o->depth++;
  o->in_object = object ? o->in_object | bit : o->in_object & ~bit;
  o->not_first &= ~bit;
  put(o, object ? "{" : "[", 1);
}

static void close_level(struct cuzk_json_out *o, bool object) {
  if (!o->depth || o->after_key || (o->in_object >> (o->depth - 1) & 1) != (uint64_t)object) {
    misuse(o);
    return;
  }
  o->depth--;
  put(o, object ? "}" : "]", 1);
  if (!o->depth) o->not_first |= 1;
}

void cuzk_json_out_object(struct cuzk_json_out *o) { open_level(o, true); }
void cuzk_json_out_object_end(struct cuzk_json_out *o) { close_level(o, true); }
void cuzk_json_out_array(struct cuzk_json_out *o) { open_level(o, false); }
void cuzk_json_out_array_end(struct cuzk_json_out *o) { close_level(o, false); }

/* Length of the well-formed UTF-8 sequence at s[n], 0 if there is none (RFC 3629). */
static size_t utf8_length(const uint8_t *s, size_t n) {
  const uint8_t c = s[0];
  const size_t len = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (!len || len > n) return 0;
  for (size_t i = 1; i < len; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
  }
  if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) || (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f)) {
    return 0;
  }
  return len;
}

static void put_string(struct cuzk_json_out *o, const char *text, size_t n) {
  const uint8_t *s = (const uint8_t *)text;
  put(o, "\"", 1);
  for (size_t i = 0; i < n;) {
    const uint8_t c = s[i];
    if (c == '"' || c == '\\') {
      const char e[2] = {'\\', (char)c};
      put(o, e, 2);
      i++;
    } else if (c < 0x20 || c == 0x7f) {
      char e[8];
      (void)snprintf(e, sizeof e, "\\u%04x", c);
      put(o, e, 6);
      i++;
    } else {
      size_t len = utf8_length(s + i, n - i);
      if (len) {
        put(o, text + i, len);
        i += len;
      } else {
        put(o, "\\ufffd", 6);
        i++;
      }
    }
  }
  put(o, "\"", 1);
}

void cuzk_json_out_key(struct cuzk_json_out *o, const char *name) {
  if (!o->depth || o->after_key || !(o->in_object >> (o->depth - 1) & 1)) {
    misuse(o);
    return;
  }
  const uint64_t bit = (uint64_t)1 << (o->depth - 1);
  if (o->not_first & bit) put(o, ",", 1);
  o->not_first |= bit;
  put_string(o, name, strlen(name));
  put(o, ":", 1);
  o->after_key = true;
}

void cuzk_json_out_string_n(struct cuzk_json_out *o, const char *s, size_t n) {
  before_value(o);
  put_string(o, s, n);
}

void cuzk_json_out_string(struct cuzk_json_out *o, const char *s) { cuzk_json_out_string_n(o, s, strlen(s)); }

static void put_word(struct cuzk_json_out *o, const char *s) {
  before_value(o);
  put(o, s, strlen(s));
}

void cuzk_json_out_u64(struct cuzk_json_out *o, uint64_t v) {
  char s[24];
  (void)snprintf(s, sizeof s, "%llu", (unsigned long long)v);
  put_word(o, s);
}

void cuzk_json_out_i64(struct cuzk_json_out *o, int64_t v) {
  char s[24];
  (void)snprintf(s, sizeof s, "%lld", (long long)v);
  put_word(o, s);
}

void cuzk_json_out_double(struct cuzk_json_out *o, double v) {
  if (!isfinite(v)) {
    cuzk_json_out_null(o);
    return;
  }
  char s[40];
  (void)snprintf(s, sizeof s, "%.9g", v);
  for (char *p = s; *p; p++) {
    if (*p == ',') *p = '.'; /* a front end may have set a locale */
  }
  put_word(o, s);
}

void cuzk_json_out_bool(struct cuzk_json_out *o, bool v) { put_word(o, v ? "true" : "false"); }
void cuzk_json_out_null(struct cuzk_json_out *o) { put_word(o, "null"); }

void cuzk_json_out_hex(struct cuzk_json_out *o, const void *p, size_t n) {
  const uint8_t *s = p;
  before_value(o);
  put(o, "\"", 1);
  while (n) {
    char text[129];
    const size_t k = n < 64 ? n : 64;
    cuzk_hex_encode(text, s, k);
    put(o, text, 2 * k);
    s += k;
    n -= k;
  }
  put(o, "\"", 1);
}

void cuzk_json_out_bytes(struct cuzk_json_out *o, const uint8_t *p, size_t n) {
  cuzk_json_out_array(o);
  for (size_t i = 0; i < n; i++) cuzk_json_out_u64(o, p[i]);
  cuzk_json_out_array_end(o);
}

void cuzk_json_out_member_string(struct cuzk_json_out *o, const char *name, const char *s) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_string(o, s);
}

void cuzk_json_out_member_u64(struct cuzk_json_out *o, const char *name, uint64_t v) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_u64(o, v);
}

void cuzk_json_out_member_bool(struct cuzk_json_out *o, const char *name, bool v) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_bool(o, v);
}

void cuzk_json_out_member_double(struct cuzk_json_out *o, const char *name, double v) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_double(o, v);
}

void cuzk_json_out_member_hex(struct cuzk_json_out *o, const char *name, const void *p, size_t n) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_hex(o, p, n);
}

void cuzk_json_out_abandon(struct cuzk_json_out *o) {
  cuzk_free(o->buf);
  *o = (struct cuzk_json_out){0};
}

enum cuzk_status cuzk_json_out_finish(struct cuzk_json_out *o, char **text, size_t *n, struct cuzk_detail *d) {
  if (text) *text = NULL;
  if (n) *n = 0;
  if (o->depth || o->after_key || !(o->not_first & 1)) misuse(o);
  if (o->file) put(o, "\n", 1);
  if (o->file && o->st == CUZK_OK) {
    spill(o);
    errno = 0;
    if (o->st == CUZK_OK && fflush(o->file) != 0) o->st = errno == ENOSPC || errno == EDQUOT ? CUZK_E_NOSPC : CUZK_E_IO;
  }
  const enum cuzk_status st = o->st;
  switch (st) {
    case CUZK_OK: break;
    case CUZK_E_NOMEM: (void)cuzk_fail(d, st, "no memory for JSON output"); break;
    case CUZK_E_ARG: (void)cuzk_fail(d, st, "JSON output with unbalanced containers or names"); break;
    default: (void)cuzk_fail(d, st, "cannot write JSON output"); break;
  }
  if (st == CUZK_OK && !o->file && text) {
    o->buf[o->n] = 0; /* put keeps a byte free */
    *text = o->buf;
    if (n) *n = o->n;
    o->buf = NULL;
  }
  cuzk_json_out_abandon(o);
  return st;
}
