/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/http_request.h"

#include <string.h>
#include <strings.h>

/* Length of the head with its blank line, 0 if that is not there yet. Lines end with LF, with or without CR before it. */
static size_t head_length(const uint8_t *p, size_t n) {
  for (size_t i = 0; i + 1 < n; i++) {
    if (p[i] != '\n') continue;
    if (p[i + 1] == '\n') return i + 2;
    if (p[i + 1] == '\r' && i + 2 < n && p[i + 2] == '\n') return i + 3;
  }
  return 0;
}

/* The line at *at without its end; *at goes to the next one. */
static struct cuzk_slice next_line(const uint8_t *p, size_t n, size_t *at) {
  const uint8_t *from = p + *at, *lf = memchr(from, '\n', n - *at);
  size_t len = lf ? (size_t)(lf - from) : n - *at;
  *at += len + (lf != NULL);
  if (len > 0 && from[len - 1] == '\r') len--;
  return (struct cuzk_slice){from, len};
}

static bool is(struct cuzk_slice s, const char *text) { return s.n == strlen(text) && memcmp(s.data, text, s.n) == 0; }

static bool token_char(uint8_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool to_u64(struct cuzk_slice s, uint64_t *out) {
  uint64_t v = 0;
  if (s.n == 0) return false;
  for (size_t i = 0; i < s.n; i++) {
    if (s.data[i] < '0' || s.data[i] > '9' || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
        __builtin_add_overflow(v, (uint64_t)(s.data[i] - '0'), &v))
      return false;
  }
  *out = v;
  return true;
}

static void query_after(struct cuzk_http_request *r) {
  struct cuzk_slice q = r->query;
  while (q.n > 0) {
    const uint8_t *end = memchr(q.data, '&', q.n);
    size_t n = end ? (size_t)(end - q.data) : q.n;
    if (n > 6 && memcmp(q.data, "after=", 6) == 0 && to_u64((struct cuzk_slice){q.data + 6, n - 6}, &r->last_event_id))
      r->has_last_event_id = true;
    q = (struct cuzk_slice){q.data + n + (end != NULL), q.n - n - (end != NULL)};
  }
}

static int request_line(struct cuzk_http_request *r, struct cuzk_slice line) {
  const uint8_t *a = line.n ? memchr(line.data, ' ', line.n) : NULL;
  if (!a || a == line.data) return 400;
  struct cuzk_slice method = {line.data, (size_t)(a - line.data)};
  struct cuzk_slice rest = {a + 1, line.n - method.n - 1};
  const uint8_t *b = rest.n ? memchr(rest.data, ' ', rest.n) : NULL;
  if (!b || b == rest.data) return 400;
  struct cuzk_slice target = {rest.data, (size_t)(b - rest.data)};
  struct cuzk_slice version = {b + 1, rest.n - target.n - 1};
  for (size_t i = 0; i < method.n; i++)
    if (!token_char(method.data[i])) return 400;
  for (size_t i = 0; i < target.n; i++)
    if (target.data[i] <= 0x20 || target.data[i] >= 0x7f) return 400;
  if (version.n != 8 || memcmp(version.data, "HTTP/", 5) != 0) return 400;
  if (!is(version, "HTTP/1.1") && !is(version, "HTTP/1.0")) return 505;
  r->method = is(method, "GET") ? CUZK_HTTP_GET : is(method, "HEAD") ? CUZK_HTTP_HEAD : is(method, "OPTIONS") ? CUZK_HTTP_OPTIONS : CUZK_HTTP_OTHER;
  if (target.data[0] != '/' && !is(target, "*")) return 400;
  const uint8_t *mark = memchr(target.data, '?', target.n);
  r->path = (struct cuzk_slice){target.data, mark ? (size_t)(mark - target.data) : target.n};
  if (mark) r->query = (struct cuzk_slice){mark + 1, target.n - r->path.n - 1};
  return 200;
}

static int header_line(struct cuzk_http_request *r, struct cuzk_slice line) {
  const uint8_t *colon = memchr(line.data, ':', line.n);
  if (!colon || colon == line.data) return 400;
  size_t n_name = (size_t)(colon - line.data);
  for (size_t i = 0; i < n_name; i++)
    if (!token_char(line.data[i])) return 400;
  struct cuzk_slice v = {colon + 1, line.n - n_name - 1};
  while (v.n > 0 && (v.data[0] == ' ' || v.data[0] == '\t')) v = (struct cuzk_slice){v.data + 1, v.n - 1};
  while (v.n > 0 && (v.data[v.n - 1] == ' ' || v.data[v.n - 1] == '\t')) v.n--;
  for (size_t i = 0; i < v.n; i++)
    if ((v.data[i] < 0x20 && v.data[i] != '\t') || v.data[i] == 0x7f) return 400;
  const char *name = (const char *)line.data;
  if (n_name == 13 && strncasecmp(name, "Last-Event-ID", n_name) == 0) r->has_last_event_id = to_u64(v, &r->last_event_id);
  if (n_name == 13 && strncasecmp(name, "If-None-Match", n_name) == 0) r->if_none_match = v;
  return 200;
}

int cuzk_http_parse(struct cuzk_http_request *out, const uint8_t *data, size_t n) {
  *out = (struct cuzk_http_request){.method = CUZK_HTTP_OTHER};
  size_t looked = n < CUZK_HTTP_MAX_HEAD ? n : CUZK_HTTP_MAX_HEAD;
  size_t head = head_length(data, looked);
  if (head == 0) return n >= CUZK_HTTP_MAX_HEAD ? 431 : 0;
  struct cuzk_http_request r = {.n_head = head};
  size_t at = 0;
  int code = request_line(&r, next_line(data, head, &at));
  if (code != 200) return code;
  query_after(&r);
  for (;;) {
    struct cuzk_slice line = next_line(data, head, &at);
    if (line.n == 0) break;
    code = header_line(&r, line);
    if (code != 200) return code;
  }
  *out = r;
  return 200;
}

bool cuzk_http_etag_matches(struct cuzk_slice list, const char *etag) {
  size_t n = strlen(etag);
  for (size_t i = 0; i < list.n;) {
    while (i < list.n && (list.data[i] == ' ' || list.data[i] == '\t' || list.data[i] == ',')) i++;
    if (i < list.n && list.data[i] == '*') return true;
    if (list.n - i >= 2 && memcmp(list.data + i, "W/", 2) == 0) i += 2;
    const uint8_t *end = i < list.n ? memchr(list.data + i, ',', list.n - i) : NULL;
    size_t len = (end ? (size_t)(end - list.data) : list.n) - i;
    while (len > 0 && (list.data[i + len - 1] == ' ' || list.data[i + len - 1] == '\t')) len--;
    if (len == n && memcmp(list.data + i, etag, n) == 0) return true;
    i = end ? (size_t)(end - list.data) + 1 : list.n;
  }
  return false;
}
