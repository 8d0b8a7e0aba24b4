/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/hex.h"
#include "base/json_index.h"

struct frame {
  bool object;
  bool first;               /* nothing read yet */
  size_t count;             /* elements or members begun */
  size_t key;               /* token of the member's name */
  const char *const *names; /* objects */
  unsigned n_names;
  uint64_t seen, required;
  size_t want;              /* arrays: exact number of elements, SIZE_MAX if free */
  const char *what;
};

struct cuzk_json {
  const uint8_t *p;
  size_t n;
  void *index;
  const uint32_t *tokens;
  size_t n_tokens;
  size_t k;    /* the cursor: a token number */
  size_t last; /* first token of the value at the cursor or just read, for messages */
  unsigned depth;
  struct cuzk_detail *d;
  char name[200];
  struct frame frames[CUZK_JSON_MAX_DEPTH];
};

static inline size_t token_at(const struct cuzk_json *j, size_t k) { return k < j->n_tokens ? j->tokens[k] : j->n; }
/* 0 at the end of the document: no token begins with it, since a NUL outside strings is a word that fails every test. */
static inline uint8_t char_at(const struct cuzk_json *j, size_t k) { return k < j->n_tokens ? j->p[j->tokens[k]] : 0; }

static inline bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Token k from its first character up to the white space before the next token. */
static inline size_t token_bytes(const struct cuzk_json *j, size_t k) {
  size_t at = token_at(j, k), end = token_at(j, k + 1);
  while (end > at && is_space(j->p[end - 1])) end--;
  return end - at;
}

/* ---- messages ---- */

struct text {
  char *p;
  size_t n, cap;
};

static void put(struct text *t, const char *s, size_t n) {
  for (size_t i = 0; i < n && t->n + 1 < t->cap; i++) {
    /* Messages stay printable ASCII whatever the document holds. */
    t->p[t->n++] = s[i] >= 0x20 && s[i] < 0x7f ? s[i] : '?';
  }
  t->p[t->n] = 0;
}

static void put_path(struct text *t, const struct cuzk_json *j) {
  const size_t start = t->n;
  for (unsigned i = 0; i < j->depth; i++) {
    const struct frame *f = &j->frames[i];
    if (!f->count) continue;
    if (f->object) {
      if (t->n > start) put(t, ".", 1);
      size_t n = token_bytes(j, f->key);
      const char *s = (const char *)j->p + token_at(j, f->key);
      if (n < 2) continue;
      put(t, s + 1, n - 2 < 40 ? n - 2 : 40);
      if (n - 2 > 40) put(t, "...", 3);
    } else {
      char num[32];
      int n = snprintf(num, sizeof num, "[%zu]", f->count - 1);
      put(t, num, (size_t)n);
    }
  }
  if (t->n == start) put(t, "document", 8);
}

static enum cuzk_status fail_v(struct cuzk_json *j, enum cuzk_status s, size_t at, const char *fmt, va_list ap) {
  if (!j->d) return s;
  char path[220], what[240];
  struct text t = {path, 0, sizeof path};
  put_path(&t, j);
  (void)vsnprintf(what, sizeof what, fmt, ap);
  return cuzk_fail(j->d, s, "%.120s: %s (byte %zu): %s", j->name, path, at, what);
}

static enum cuzk_status __attribute__((format(printf, 3, 4))) bad(struct cuzk_json *j, size_t at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  enum cuzk_status s = fail_v(j, CUZK_E_FORMAT, at, fmt, ap);
  va_end(ap);
  return s;
}

enum cuzk_status cuzk_json_fail(struct cuzk_json *j, enum cuzk_status s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  (void)fail_v(j, s, token_at(j, j->last), fmt, ap);
  va_end(ap);
  return s;
}

/* "expected X, found Y" for the token at k. */
static enum cuzk_status unexpected(struct cuzk_json *j, size_t k, const char *expected) {
  const size_t at = token_at(j, k);
  if (k >= j->n_tokens) return bad(j, at, "expected %s, found the end of the document", expected);
  const uint8_t c = j->p[at];
  switch (c) {
    case '{': return bad(j, at, "expected %s, found an object", expected);
    case '[': return bad(j, at, "expected %s, found an array", expected);
    case '"': return bad(j, at, "expected %s, found a string", expected);
    case '}':
    case ']':
    case ',':
    case ':': return bad(j, at, "expected %s, found '%c'", expected, c);
    default: break;
  }
  char word[36];
  struct text t = {word, 0, sizeof word};
  size_t n = token_bytes(j, k);
  put(&t, (const char *)j->p + at, n < 24 ? n : 24);
  if (n > 24) put(&t, "...", 3);
  return bad(j, at, "expected %s, found %s", expected, word);
}

/* ---- opening ---- */

/* Cold: position of the first byte that is not part of well-formed UTF-8 (RFC 3629), or n. */
static size_t utf8_error_at(const uint8_t *p, size_t n) {
  size_t i = 0;
  while (i < n) {
    const uint8_t c = p[i];
    size_t extra = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
    if (extra == 9 || extra > n - i - 1) return i;
    for (size_t e = 1; e <= extra; e++) {
      if ((p[i + e] & 0xc0) != 0x80) return i;
    }
    if ((c == 0xe0 && p[i + 1] < 0xa0) || (c == 0xed && p[i + 1] > 0x9f) || (c == 0xf0 && p[i + 1] < 0x90) ||
        (c == 0xf4 && p[i + 1] > 0x8f)) {
      return i;
    }
    i += extra + 1;
  }
  return n;
}

/* Cold: position of the first control character inside a string, or of the opening quote of a string that does not end. */
static size_t string_error_at(const uint8_t *p, size_t n) {
  size_t open = 0;
  bool inside = false;
  for (size_t i = 0; i < n; i++) {
    if (!inside) {
      if (p[i] == '"') {
        inside = true;
        open = i;
      }
    } else if (p[i] < 0x20) {
      return i;
    } else if (p[i] == '\\') {
      i++;
    } else if (p[i] == '"') {
      inside = false;
    }
  }
  return inside ? open : n;
}

enum cuzk_status cuzk_json_open(struct cuzk_json **out, const uint8_t *data, size_t n, size_t max_bytes, const char *name,
                                struct cuzk_detail *d) {
  *out = NULL;
  if (max_bytes > CUZK_JSON_MAX_BYTES) max_bytes = CUZK_JSON_MAX_BYTES;
  if (n > max_bytes) return cuzk_fail(d, CUZK_E_FORMAT, "%.120s: %zu bytes, at most %zu expected", name, n, max_bytes);
  struct cuzk_json *j = cuzk_calloc(1, sizeof *j);
  if (!j) return cuzk_fail(d, CUZK_E_NOMEM, "%.120s: no memory for the JSON reader", name);
  j->p = data;
  j->n = n;
  j->d = d;
  (void)snprintf(j->name, sizeof j->name, "%s", name);
  enum cuzk_status st = CUZK_OK;
  switch (cuzk_json_index(&j->index, &j->tokens, &j->n_tokens, data, n)) {
    case CUZK_JSON_INDEX_OK: break;
    case CUZK_JSON_INDEX_NOMEM: st = cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory for the positions of JSON tokens", j->name); break;
    case CUZK_JSON_INDEX_EMPTY: st = cuzk_fail(d, CUZK_E_FORMAT, "%s: expected a JSON document, found nothing", j->name); break;
    case CUZK_JSON_INDEX_UTF8:
      st = cuzk_fail(d, CUZK_E_FORMAT, "%s: byte %zu is not UTF-8", j->name, utf8_error_at(data, n));
      break;
    case CUZK_JSON_INDEX_UNCLOSED:
      st = cuzk_fail(d, CUZK_E_FORMAT, "%s: string that begins at byte %zu does not end", j->name, string_error_at(data, n));
      break;
    case CUZK_JSON_INDEX_CONTROL:
      st = cuzk_fail(d, CUZK_E_FORMAT, "%s: control character inside a string at byte %zu", j->name, string_error_at(data, n));
      break;
    case CUZK_JSON_INDEX_OTHER: st = cuzk_fail(d, CUZK_E_FORMAT, "%s: not a JSON document", j->name); break;
  }
  if (st != CUZK_OK) {
    cuzk_json_close(&j);
    return st;
  }
  *out = j;
  return CUZK_OK;
}

void cuzk_json_close(struct cuzk_json **j) {
  if (!*j) return;
  cuzk_json_index_free((*j)->index);
  cuzk_free(*j);
  *j = NULL;
}

/* ---- scalars ---- */

static int hex_value(uint8_t c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int32_t hex4(const uint8_t *s, const uint8_t *end) {
  if (end - s < 4) return -1;
  int32_t v = 0;
  for (int i = 0; i < 4; i++) {
    int h = hex_value(s[i]);
    if (h < 0) return -1;
    v = v << 4 | h;
  }
  return v;
}

static unsigned utf8_put(uint8_t *o, uint32_t c) {
  if (c < 0x80) {
    o[0] = (uint8_t)c;
    return 1;
  }
  if (c < 0x800) {
    o[0] = (uint8_t)(0xc0 | c >> 6);
    o[1] = (uint8_t)(0x80 | (c & 63));
    return 2;
  }
  if (c < 0x10000) {
    o[0] = (uint8_t)(0xe0 | c >> 12);
    o[1] = (uint8_t)(0x80 | (c >> 6 & 63));
    o[2] = (uint8_t)(0x80 | (c & 63));
    return 3;
  }
  o[0] = (uint8_t)(0xf0 | c >> 18);
  o[1] = (uint8_t)(0x80 | (c >> 12 & 63));
  o[2] = (uint8_t)(0x80 | (c >> 6 & 63));
  o[3] = (uint8_t)(0x80 | (c & 63));
  return 4;
}

/* Reads one escape at s (after the backslash); returns the number of characters taken and the bytes meant, or 0. */
static unsigned unescape_one(const uint8_t *s, const uint8_t *end, uint8_t o[4], unsigned *n_o) {
  *n_o = 1;
  if (s >= end) return 0;
  switch (*s) {
    case '"':
    case '\\':
    case '/': o[0] = *s; return 1;
    case 'b': o[0] = '\b'; return 1;
    case 'f': o[0] = '\f'; return 1;
    case 'n': o[0] = '\n'; return 1;
    case 'r': o[0] = '\r'; return 1;
    case 't': o[0] = '\t'; return 1;
    case 'u': break;
    default: return 0;
  }
  int32_t c = hex4(s + 1, end);
  if (c < 0 || (c >= 0xdc00 && c < 0xe000)) return 0;
  if (c < 0xd800 || c >= 0xe000) {
    *n_o = utf8_put(o, (uint32_t)c);
    return 5;
  }
  if (end - s < 11 || s[5] != '\\' || s[6] != 'u') return 0;
  int32_t low = hex4(s + 7, end);
  if (low < 0xdc00 || low >= 0xe000) return 0;
  *n_o = utf8_put(o, 0x10000u + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
  return 11;
}

/* Body of the string token k: *s .. *s + *n, still escaped. */
static enum cuzk_status string_body(struct cuzk_json *j, size_t k, const uint8_t **s, size_t *n, bool *escaped) {
  const size_t at = token_at(j, k);
  *s = NULL;
  *n = 0;
  *escaped = false;
  if (char_at(j, k) != '"') return unexpected(j, k, "a string");
  const size_t bytes = token_bytes(j, k);
  if (bytes < 2 || j->p[at + bytes - 1] != '"') return bad(j, at, "string is not followed by ',', ':', a bracket or the end");
  *s = j->p + at + 1;
  *n = bytes - 2;
  *escaped = *n && memchr(*s, '\\', *n) != NULL;
  if (!*escaped && *n && memchr(*s, '"', *n)) return bad(j, at, "string is not followed by ',', ':', a bracket or the end");
  return CUZK_OK;
}

/* Unescapes s[n] into out (NULL: only checks), which holds n bytes at least: no escape grows. */
static enum cuzk_status unescape(struct cuzk_json *j, const uint8_t *s, size_t n, uint8_t *out, size_t *n_out) {
  const uint8_t *const end = s + n;
  size_t o = 0;
  *n_out = 0;
  while (s < end) {
    if (*s == '"') return bad(j, (size_t)(s - j->p), "quote inside a string");
    if (*s != '\\') {
      if (out) out[o] = *s;
      o++;
      s++;
      continue;
    }
    uint8_t b[4] = {0};
    unsigned n_b, took = unescape_one(s + 1, end, b, &n_b);
    if (!took) return bad(j, (size_t)(s - j->p), "invalid escape in a string");
    if (out) memcpy(out + o, b, n_b);
    o += n_b;
    s += 1 + took;
  }
  *n_out = o;
  return CUZK_OK;
}

static enum cuzk_status check_string(struct cuzk_json *j, size_t k) {
  const uint8_t *s;
  size_t n, n_out;
  bool escaped;
  enum cuzk_status st = string_body(j, k, &s, &n, &escaped);
  return st == CUZK_OK && escaped ? unescape(j, s, n, NULL, &n_out) : st;
}

/* Is s[n] a number of the grammar? */
static bool number_ok(const uint8_t *s, size_t n) {
  size_t i = 0;
  if (i < n && s[i] == '-') i++;
  if (i >= n) return false;
  if (s[i] == '0') {
    i++;
  } else {
    size_t from = i;
    while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    if (i == from) return false;
  }
  if (i < n && s[i] == '.') {
    size_t from = ++i;
    while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    if (i == from) return false;
  }
  if (i < n && (s[i] == 'e' || s[i] == 'E')) {
    i++;
    if (i < n && (s[i] == '+' || s[i] == '-')) i++;
    size_t from = i;
    while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    if (i == from) return false;
  }
  return i == n;
}

static bool word_is(const struct cuzk_json *j, size_t k, const char *word) {
  size_t n = strlen(word);
  return token_bytes(j, k) == n && memcmp(j->p + token_at(j, k), word, n) == 0;
}

/* Checks the string, number or literal at token k. */
static enum cuzk_status check_scalar(struct cuzk_json *j, size_t k) {
  switch (char_at(j, k)) {
    case '"': return check_string(j, k);
    case 't': return word_is(j, k, "true") ? CUZK_OK : unexpected(j, k, "a value");
    case 'f': return word_is(j, k, "false") ? CUZK_OK : unexpected(j, k, "a value");
    case 'n': return word_is(j, k, "null") ? CUZK_OK : unexpected(j, k, "a value");
    default:
      if (k < j->n_tokens && number_ok(j->p + token_at(j, k), token_bytes(j, k))) return CUZK_OK;
      return unexpected(j, k, "a value");
  }
}

enum cuzk_json_type cuzk_json_peek(const struct cuzk_json *j) {
  switch (char_at(j, j->k)) {
    case '{': return CUZK_JSON_OBJECT;
    case '[': return CUZK_JSON_ARRAY;
    case '"': return CUZK_JSON_STRING;
    case 't':
    case 'f': return CUZK_JSON_BOOL;
    case 'n': return CUZK_JSON_NULL;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return CUZK_JSON_NUMBER;
    default: return CUZK_JSON_NONE;
  }
}

enum cuzk_status cuzk_json_u64(struct cuzk_json *j, uint64_t max, uint64_t *out) {
  j->last = j->k;
  const uint8_t *s = j->p + token_at(j, j->k);
  const size_t n = token_bytes(j, j->k);
  uint64_t v = 0;
  bool ok = n > 0 && n <= 20 && (s[0] != '0' || n == 1);
  for (size_t i = 0; ok && i < n; i++) {
    ok = s[i] >= '0' && s[i] <= '9' && !__builtin_mul_overflow(v, (uint64_t)10, &v) &&
         !__builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v);
  }
  if (!ok || v > max) {
    char expected[64];
    (void)snprintf(expected, sizeof expected, "an integer from 0 to %llu", (unsigned long long)max);
    return unexpected(j, j->k, expected);
  }
  *out = v;
  j->k++;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_bool(struct cuzk_json *j, bool *out) {
  j->last = j->k;
  if (word_is(j, j->k, "true")) {
    *out = true;
  } else if (word_is(j, j->k, "false")) {
    *out = false;
  } else {
    return unexpected(j, j->k, "true or false");
  }
  j->k++;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_null(struct cuzk_json *j) {
  j->last = j->k;
  if (!word_is(j, j->k, "null")) return unexpected(j, j->k, "null");
  j->k++;
  return CUZK_OK;
}

/* The usual form, without white space: [1,2,...]. Such text has exactly 2n + 1 tokens, so none has to be looked at. */
static bool bytes_compact(const uint8_t *s, const uint8_t *end, uint8_t *out, size_t n) {
  if ((size_t)(end - s - 1) / 4 < n || *s++ != '[') return false; /* longest form: 4n + 1 characters */
  for (size_t i = 0; i < n; i++) {
    unsigned v = (unsigned)*s++ - '0';
    if (v > 9) return false;
    unsigned e = (unsigned)*s - '0';
    if (e <= 9) {
      if (v == 0) return false;
      v = v * 10 + e;
      e = (unsigned)*++s - '0';
      if (e <= 9) {
        v = v * 10 + e;
        s++;
      }
    }
    if (v > 255 || *s++ != (i + 1 < n ? ',' : ']')) return false;
    out[i] = (uint8_t)v;
  }
  return true;
}

enum cuzk_status cuzk_json_bytes(struct cuzk_json *j, uint8_t *out, size_t n) {
  j->last = j->k;
  if (j->k < j->n_tokens && bytes_compact(j->p + j->tokens[j->k], j->p + j->n, out, n)) {
    j->k += 2 * n + 1;
    return CUZK_OK;
  }
  enum cuzk_status st = cuzk_json_array_of(j, n, "bytes");
  for (size_t i = 0; st == CUZK_OK; i++) {
    bool more;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    uint64_t v;
    st = cuzk_json_u64(j, 255, &v);
    if (st == CUZK_OK) out[i] = (uint8_t)v;
  }
  return st;
}

/* Unescaped string token k as a C string in out[cap]. */
static enum cuzk_status string_into(struct cuzk_json *j, size_t k, char *out, size_t cap) {
  const uint8_t *s;
  size_t n;
  bool escaped;
  enum cuzk_status st = string_body(j, k, &s, &n, &escaped);
  if (st != CUZK_OK) return st;
  size_t len = n;
  if (escaped) {
    st = unescape(j, s, n, NULL, &len);
    if (st != CUZK_OK) return st;
  }
  if (len >= cap) return bad(j, token_at(j, k), "expected a string of at most %zu bytes, found %zu", cap - 1, len);
  if (escaped) {
    st = unescape(j, s, n, (uint8_t *)out, &len);
    if (st != CUZK_OK) return st;
  } else {
    memcpy(out, s, n);
  }
  out[len] = 0;
  if (memchr(out, 0, len)) return bad(j, token_at(j, k), "string with a zero character");
  return CUZK_OK;
}

enum cuzk_status cuzk_json_string(struct cuzk_json *j, char *out, size_t cap) {
  j->last = j->k;
  enum cuzk_status st = string_into(j, j->k, out, cap);
  if (st == CUZK_OK) j->k++;
  return st;
}

enum cuzk_status cuzk_json_hex(struct cuzk_json *j, uint8_t *out, size_t n) {
  j->last = j->k;
  const uint8_t *s;
  size_t len, wrong;
  bool escaped;
  enum cuzk_status st = string_body(j, j->k, &s, &len, &escaped);
  if (st != CUZK_OK) return st;
  if (len != 2 * n) return bad(j, token_at(j, j->k), "expected %zu hexadecimal digits, found %zu characters", 2 * n, len);
  if (!cuzk_hex_decode(out, n, (const char *)s, len, &wrong)) {
    return bad(j, (size_t)(s - j->p) + wrong, "expected a hexadecimal digit");
  }
  j->k++;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_string_dup(struct cuzk_json *j, char **out, size_t *n_out) {
  j->last = j->k;
  *out = NULL;
  const uint8_t *s;
  size_t n;
  bool escaped;
  enum cuzk_status st = string_body(j, j->k, &s, &n, &escaped);
  if (st != CUZK_OK) return st;
  char *p = cuzk_malloc(n + 1);
  if (!p) return cuzk_json_fail(j, CUZK_E_NOMEM, "no memory for a string of %zu bytes", n);
  size_t len;
  st = unescape(j, s, n, (uint8_t *)p, &len);
  if (st != CUZK_OK) {
    cuzk_free(p);
    return st;
  }
  p[len] = 0;
  *out = p;
  *n_out = len;
  j->k++;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_string_view(struct cuzk_json *j, const uint8_t **p, size_t *n_out) {
  j->last = j->k;
  bool escaped;
  enum cuzk_status st = string_body(j, j->k, p, n_out, &escaped);
  if (st != CUZK_OK) return st;
  if (escaped) {
    *p = NULL;
  } else {
    j->k++;
  }
  return CUZK_OK;
}

/* ---- containers ---- */

static enum cuzk_status push(struct cuzk_json *j, bool object) {
  j->last = j->k;
  if (char_at(j, j->k) != (object ? '{' : '[')) return unexpected(j, j->k, object ? "an object" : "an array");
  if (j->depth == CUZK_JSON_MAX_DEPTH) {
    return bad(j, token_at(j, j->k), "nested deeper than %u levels", CUZK_JSON_MAX_DEPTH);
  }
  struct frame *f = &j->frames[j->depth++];
  *f = (struct frame){.object = object, .first = true, .want = SIZE_MAX};
  j->k++;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_object(struct cuzk_json *j, const char *const *names, unsigned n, uint64_t required) {
  if (n > CUZK_JSON_MAX_NAMES) return cuzk_fail(j->d, CUZK_E_ARG, "table of %u member names", n);
  enum cuzk_status st = push(j, true);
  if (st != CUZK_OK) return st;
  struct frame *f = &j->frames[j->depth - 1];
  f->names = names;
  f->n_names = n;
  f->required = required;
  return CUZK_OK;
}

/* Number of the known member that the name at token k is, or -1. */
static enum cuzk_status find_name(struct cuzk_json *j, const struct frame *f, size_t k, int *member) {
  const uint8_t *s;
  size_t n;
  bool escaped;
  char plain[64];
  enum cuzk_status st = string_body(j, k, &s, &n, &escaped);
  if (st != CUZK_OK) return st;
  *member = -1;
  if (escaped) {
    size_t len;
    st = unescape(j, s, n, NULL, &len);
    if (st != CUZK_OK) return st;
    /* Each byte of a name takes six characters at most, so a longer one is none of ours. */
    if (n > 6 * (sizeof plain - 1) || len >= sizeof plain) return CUZK_OK;
    uint8_t buf[6 * sizeof plain];
    st = unescape(j, s, n, buf, &len);
    if (st != CUZK_OK) return st;
    memcpy(plain, buf, len);
    s = (const uint8_t *)plain;
    n = len;
  }
  for (unsigned i = 0; i < f->n_names; i++) {
    if (strlen(f->names[i]) == n && memcmp(f->names[i], s, n) == 0) {
      *member = (int)i;
      break;
    }
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_json_member(struct cuzk_json *j, int *member) {
  struct frame *f = j->depth ? &j->frames[j->depth - 1] : NULL;
  if (!f || !f->object) return cuzk_fail(j->d, CUZK_E_ARG, "not inside an object");
  for (;;) {
    uint8_t c = char_at(j, j->k);
    if (c == '}') {
      const uint64_t missing = f->required & ~f->seen;
      if (missing) {
        const unsigned i = (unsigned)__builtin_ctzll(missing);
        f->count = 0; /* the message is about the object, not about its last member */
        return bad(j, token_at(j, j->k), "member \"%s\" is missing", f->names[i]);
      }
      j->k++;
      j->depth--;
      *member = -1;
      return CUZK_OK;
    }
    if (!f->first) {
      if (c != ',') return unexpected(j, j->k, "',' or '}'");
      j->k++;
    }
    f->first = false;
    if (char_at(j, j->k) != '"') return unexpected(j, j->k, "a member name");
    const size_t key = j->k;
    int m;
    enum cuzk_status st = find_name(j, f, key, &m);
    if (st != CUZK_OK) return st;
    j->k++;
    if (char_at(j, j->k) != ':') return unexpected(j, j->k, "':' after a member name");
    j->k++;
    f->key = key;
    f->count++;
    j->last = j->k;
    if (!f->names) {
      *member = (int)(f->count - 1 < INT32_MAX ? f->count - 1 : INT32_MAX);
      return CUZK_OK;
    }
    if (m < 0) {
      st = cuzk_json_skip(j);
      if (st != CUZK_OK) return st;
      continue;
    }
    if (f->seen >> m & 1) return bad(j, token_at(j, key), "member \"%s\" occurs twice", f->names[m]);
    f->seen |= (uint64_t)1 << m;
    *member = m;
    return CUZK_OK;
  }
}

enum cuzk_status cuzk_json_key(struct cuzk_json *j, char *out, size_t cap) {
  const struct frame *f = j->depth ? &j->frames[j->depth - 1] : NULL;
  if (!f || !f->object || !f->count) return cuzk_fail(j->d, CUZK_E_ARG, "not inside an object");
  return string_into(j, f->key, out, cap);
}

uint64_t cuzk_json_seen(const struct cuzk_json *j) { return j->depth ? j->frames[j->depth - 1].seen : 0; }

enum cuzk_status cuzk_json_array(struct cuzk_json *j) { return push(j, false); }

enum cuzk_status cuzk_json_array_of(struct cuzk_json *j, size_t n, const char *what) {
  enum cuzk_status st = push(j, false);
  if (st != CUZK_OK) return st;
  j->frames[j->depth - 1].want = n;
  j->frames[j->depth - 1].what = what;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_element(struct cuzk_json *j, bool *more) {
  struct frame *f = j->depth ? &j->frames[j->depth - 1] : NULL;
  if (!f || f->object) return cuzk_fail(j->d, CUZK_E_ARG, "not inside an array");
  const uint8_t c = char_at(j, j->k);
  if (c == ']') {
    const size_t got = f->count;
    if (f->want != SIZE_MAX && got != f->want) {
      f->count = 0;
      return bad(j, token_at(j, j->k), "expected %zu %s, found %zu", f->want, f->what, got);
    }
    j->k++;
    j->depth--;
    *more = false;
    return CUZK_OK;
  }
  if (!f->first) {
    if (c != ',') return unexpected(j, j->k, "',' or ']'");
    j->k++;
    if (char_at(j, j->k) == ']') return unexpected(j, j->k, "a value");
  }
  f->first = false;
  if (f->count == f->want) {
    f->count = 0;
    return bad(j, token_at(j, j->k), "expected %zu %s, found more", f->want, f->what);
  }
  f->count++;
  j->last = j->k;
  *more = true;
  return CUZK_OK;
}

enum cuzk_status cuzk_json_skip(struct cuzk_json *j) {
  j->last = j->k;
  uint64_t objects = 0; /* bit i: level i within the skipped value is an object */
  unsigned depth = 0;
  const unsigned room = CUZK_JSON_MAX_DEPTH - j->depth;
  enum cuzk_status st;
  for (;;) {
    /* A value begins at the cursor. */
    uint8_t c = char_at(j, j->k);
    bool opened = false;
    if (c == '{' || c == '[') {
      if (depth == room) return bad(j, token_at(j, j->k), "nested deeper than %u levels", CUZK_JSON_MAX_DEPTH);
      objects = c == '{' ? objects | (uint64_t)1 << depth : objects & ~((uint64_t)1 << depth);
      depth++;
      opened = true;
    } else if ((st = check_scalar(j, j->k)) != CUZK_OK) {
      return st;
    }
    j->k++;
    /* It is complete, or a container was opened: close what closes here and find the next value. */
    for (;;) {
      if (!depth) return CUZK_OK;
      const bool object = objects >> (depth - 1) & 1;
      c = char_at(j, j->k);
      if (c == (object ? '}' : ']')) {
        depth--;
        j->k++;
        opened = false;
        continue;
      }
      if (!opened) {
        if (c != ',') return unexpected(j, j->k, object ? "',' or '}'" : "',' or ']'");
        j->k++;
      }
      if (object) {
        if (char_at(j, j->k) != '"') return unexpected(j, j->k, "a member name");
        if ((st = check_string(j, j->k)) != CUZK_OK) return st;
        j->k++;
        if (char_at(j, j->k) != ':') return unexpected(j, j->k, "':' after a member name");
        j->k++;
      }
      break;
    }
  }
}

enum cuzk_status cuzk_json_end(struct cuzk_json *j) {
  if (j->depth) return cuzk_fail(j->d, CUZK_E_ARG, "document not read to its end");
  return j->k == j->n_tokens ? CUZK_OK : unexpected(j, j->k, "nothing after the document");
}

struct cuzk_json_mark cuzk_json_here(const struct cuzk_json *j) {
  return (struct cuzk_json_mark){j->k, j->depth ? j->frames[j->depth - 1].key : 0};
}

void cuzk_json_seek(struct cuzk_json *j, struct cuzk_json_mark m) {
  j->k = j->last = m.token;
  if (j->depth) j->frames[j->depth - 1].key = m.key;
}
