/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/grpc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hex.h"

static const char *const names[] = {"OK",        "CANCELLED",         "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED", "NOT_FOUND",
                                    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",     "OUT_OF_RANGE",
                                    "UNIMPLEMENTED",  "INTERNAL",          "UNAVAILABLE",        "DATA_LOSS",           "UNAUTHENTICATED"};

const char *cuzk_grpc_code_name(int code) {
  return code >= 0 && (size_t)code < sizeof names / sizeof names[0] ? names[code] : "UNKNOWN";
}

enum cuzk_grpc_code cuzk_grpc_code_of(enum cuzk_status s) {
  switch (s) {
#define CUZK_X(name, value, text, grpc, exit_code, retry) \
  case CUZK_##name: return CUZK_GRPC_##grpc;
    CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
  }
  return CUZK_GRPC_UNKNOWN;
}

size_t cuzk_grpc_encode_message(char *out, size_t n, const char *text) {
  static const char hex[] = "0123456789ABCDEF";
  size_t at = 0;
  if (!n) return 0;
  for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
    const bool plain = *p >= 0x20 && *p <= 0x7e && *p != '%';
    if (at + (plain ? 1 : 3) >= n) break;
    if (plain) {
      out[at++] = (char)*p;
    } else {
      out[at++] = '%';
      out[at++] = hex[*p >> 4];
      out[at++] = hex[*p & 15];
    }
  }
  out[at] = 0;
  return at;
}

size_t cuzk_grpc_decode_message(char *s, size_t n) {
  size_t w = 0;
  for (size_t i = 0; i < n; i++) {
    if (s[i] == '%' && n - i > 2 && cuzk_hex_digit(s[i + 1]) >= 0 && cuzk_hex_digit(s[i + 2]) >= 0) {
      s[w++] = (char)(cuzk_hex_digit(s[i + 1]) * 16 + cuzk_hex_digit(s[i + 2]));
      i += 2;
    } else {
      s[w++] = s[i];
    }
  }
  return w;
}

uint64_t cuzk_grpc_parse_timeout(const char *s, size_t n) {
  uint64_t v = 0;
  if (n < 2 || n > 9) return UINT64_MAX;
  for (size_t i = 0; i + 1 < n; i++) {
    if (s[i] < '0' || s[i] > '9') return UINT64_MAX;
    v = v * 10 + (uint64_t)(s[i] - '0');
  }
  switch (s[n - 1]) {
    case 'H': return v * 3600000;
    case 'M': return v * 60000;
    case 'S': return v * 1000;
    case 'm': return v;
    case 'u': return (v + 999) / 1000;
    case 'n': return (v + 999999) / 1000000;
    default: return UINT64_MAX;
  }
}

void cuzk_grpc_format_timeout(char out[12], uint64_t ms) {
  const uint64_t s = ms / 1000 + (ms % 1000 != 0), m = s / 60 + (s % 60 != 0), h = m / 60 + (m % 60 != 0);
  if (ms < 100000000) (void)snprintf(out, 12, "%um", (unsigned)ms);
  else if (s < 100000000) (void)snprintf(out, 12, "%uS", (unsigned)s);
  else if (m < 100000000) (void)snprintf(out, 12, "%uM", (unsigned)m);
  else (void)snprintf(out, 12, "%uH", (unsigned)(h < 99999999 ? h : 99999999));
}

enum cuzk_grpc_feed cuzk_grpc_read(struct cuzk_grpc_reader *r, const uint8_t *data, size_t n, size_t *used, uint64_t max_bytes,
                                   bool (*grow)(void *user, size_t more), void *user) {
  size_t at = 0;
  while (r->n_prefix < CUZK_GRPC_PREFIX && at < n) {
    r->prefix[r->n_prefix++] = data[at++];
    if (r->n_prefix < CUZK_GRPC_PREFIX) continue;
    r->need = (size_t)r->prefix[1] << 24 | (size_t)r->prefix[2] << 16 | (size_t)r->prefix[3] << 8 | r->prefix[4];
    *used = at;
    if (r->prefix[0]) return CUZK_FEED_COMPRESSED;
    if (r->need > max_bytes) return CUZK_FEED_TOO_LARGE;
  }
  *used = at;
  if (r->n_prefix < CUZK_GRPC_PREFIX) return CUZK_FEED_MORE;
  size_t take = r->need - r->n;
  if (take > n - at) take = n - at;
  if (r->n + take > r->cap || !r->buf) {
    size_t cap = r->cap ? r->cap * 2 : 4096;
    if (cap < r->n + take) cap = r->n + take;
    if (cap > r->need) cap = r->need ? r->need : 1;
    if (grow && !grow(user, cap - r->cap)) return CUZK_FEED_NO_MEMORY;
    uint8_t *p = cuzk_realloc_array(r->buf, cap, 1);
    if (!p) return CUZK_FEED_NO_MEMORY;
    r->buf = p;
    r->cap = cap;
  }
  memcpy(r->buf + r->n, data + at, take);
  r->n += take;
  *used = at + take;
  r->complete = r->n == r->need;
  return r->complete ? CUZK_FEED_MESSAGE : CUZK_FEED_MORE;
}

void cuzk_grpc_reader_reset(struct cuzk_grpc_reader *r) {
  cuzk_free(r->buf);
  memset(r, 0, sizeof *r);
}

void cuzk_grpc_write_prefix(uint8_t out[CUZK_GRPC_PREFIX], size_t n) {
  out[0] = 0;
  out[1] = (uint8_t)(n >> 24);
  out[2] = (uint8_t)(n >> 16);
  out[3] = (uint8_t)(n >> 8);
  out[4] = (uint8_t)n;
}

uint64_t cuzk_rpc_now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
