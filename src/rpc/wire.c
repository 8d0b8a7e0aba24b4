/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/wire.h"

#include <string.h>

#include "base/alloc.h"
#include "rpc/server.h"

#define FIRST_ROOM 65536

const char *cuzk_grpc_code_name(int code) {
  static const char *const names[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
                                      "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
                                      "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
  return code >= 0 && code < (int)(sizeof names / sizeof *names) ? names[code] : "UNKNOWN";
}

enum cuzk_grpc_code cuzk_grpc_code_of(enum cuzk_status s) {
  switch (s) {
#define CUZK_X(name, value, text, grpc, exit_code, retry) case CUZK_##name: return CUZK_GRPC_##grpc;
    CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
  }
  return CUZK_GRPC_UNKNOWN;
}

static void uncharge(struct cuzk_rpc_inbox *in) {
  if (in->budget) atomic_fetch_sub_explicit(&in->budget->used, in->room, memory_order_relaxed);
  in->room = 0;
}

/* Room for the next bytes: the first block, then doubled, so that memory follows what has arrived. */
static enum cuzk_rpc_feed grow(struct cuzk_rpc_inbox *in, size_t wanted) {
  size_t room = in->room ? 2 * in->room : FIRST_ROOM;
  if (room < wanted) room = wanted;
  if (room > in->len) room = in->len;
  size_t more = room - in->room;
  if (in->budget) {
    uint64_t was = atomic_fetch_add_explicit(&in->budget->used, more, memory_order_relaxed);
    if (was + more > in->budget->limit) {
      atomic_fetch_sub_explicit(&in->budget->used, more, memory_order_relaxed);
      return CUZK_FEED_BUDGET;
    }
  }
  uint8_t *p = cuzk_realloc_array(in->data, room, 1);
  if (!p) {
    if (in->budget) atomic_fetch_sub_explicit(&in->budget->used, more, memory_order_relaxed);
    return CUZK_FEED_NOMEM;
  }
  in->data = p;
  in->room = room;
  return CUZK_FEED_MORE;
}

enum cuzk_rpc_feed cuzk_rpc_inbox_feed(struct cuzk_rpc_inbox *in, const uint8_t *p, size_t n, size_t *used) {
  size_t at = 0;
  *used = n;
  if (in->n_prefix < CUZK_GRPC_PREFIX) {
    while (in->n_prefix < CUZK_GRPC_PREFIX && at < n) in->prefix[in->n_prefix++] = p[at++];
    if (in->n_prefix < CUZK_GRPC_PREFIX) return CUZK_FEED_MORE;
    in->len = (size_t)in->prefix[1] << 24 | (size_t)in->prefix[2] << 16 | (size_t)in->prefix[3] << 8 | in->prefix[4];
    in->have = 0;
    if (in->prefix[0] > 1) return CUZK_FEED_FLAG;
    if (in->prefix[0] == 1) {
      in->compressed = true;
      return CUZK_FEED_COMPRESSED;
    }
    if (in->len > in->max) return CUZK_FEED_TOO_BIG;
    if (in->len == 0 && !in->data) {
      /* one byte, so that an empty message is not mistaken for none */
      in->data = cuzk_malloc(1);
      if (!in->data) return CUZK_FEED_NOMEM;
    }
  }
  size_t take = in->len - in->have;
  if (take > n - at) take = n - at;
  if (in->have + take > in->room) {
    enum cuzk_rpc_feed e = grow(in, in->have + take);
    if (e != CUZK_FEED_MORE) return e;
  }
  if (take) memcpy(in->data + in->have, p + at, take);
  in->have += take;
  *used = at + take;
  return in->have == in->len ? CUZK_FEED_MESSAGE : CUZK_FEED_MORE;
}

bool cuzk_rpc_inbox_empty(const struct cuzk_rpc_inbox *in) { return in->n_prefix == 0; }

uint8_t *cuzk_rpc_inbox_take(struct cuzk_rpc_inbox *in, size_t *n) {
  uint8_t *p = in->data;
  *n = in->len;
  uncharge(in);
  in->data = NULL;
  in->n_prefix = 0;
  in->len = in->have = 0;
  return p;
}

void cuzk_rpc_inbox_clear(struct cuzk_rpc_inbox *in) {
  uncharge(in);
  cuzk_free(in->data);
  in->data = NULL;
  in->n_prefix = 0;
  in->len = in->have = 0;
}

void cuzk_grpc_prefix_write(uint8_t out[CUZK_GRPC_PREFIX], size_t n) {
  out[0] = 0;
  out[1] = (uint8_t)(n >> 24);
  out[2] = (uint8_t)(n >> 16);
  out[3] = (uint8_t)(n >> 8);
  out[4] = (uint8_t)n;
}

bool cuzk_grpc_timeout_parse(uint64_t *ms, const char *text, size_t n) {
  if (n < 2 || n > 9) return false;
  uint64_t v = 0;
  for (size_t i = 0; i + 1 < n; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    v = 10 * v + (uint64_t)(text[i] - '0');
  }
  switch (text[n - 1]) {
    case 'H': *ms = v * 3600000; return true;
    case 'M': *ms = v * 60000; return true;
    case 'S': *ms = v * 1000; return true;
    case 'm': *ms = v; return true;
    case 'u': *ms = (v + 999) / 1000; return true;
    case 'n': *ms = (v + 999999) / 1000000; return true;
    default: return false;
  }
}

void cuzk_grpc_timeout_write(char out[16], uint64_t ms) {
  static const struct { char unit; uint64_t ms; } units[] = {{'m', 1}, {'S', 1000}, {'M', 60000}, {'H', 3600000}};
  uint64_t v = 99999999;
  char unit = 'H';
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    uint64_t k = ms / units[i].ms + (ms % units[i].ms != 0);
    if (k <= 99999999) {
      v = k;
      unit = units[i].unit;
      break;
    }
  }
  char digits[8];
  size_t n = 0, at = 0;
  do {
    digits[n++] = (char)('0' + v % 10);
    v /= 10;
  } while (v);
  while (n) out[at++] = digits[--n];
  out[at++] = unit;
  out[at] = 0;
}

size_t cuzk_grpc_percent_encode(char *out, const char *text, size_t n) {
  static const char hex[] = "0123456789ABCDEF";
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    /* blanks at either end would be cut from the header field */
    bool edge = c == 0x20 && (i == 0 || i + 1 == n);
    if (c >= 0x20 && c <= 0x7e && c != '%' && !edge) {
      out[at++] = (char)c;
    } else {
      out[at++] = '%';
      out[at++] = hex[c >> 4];
      out[at++] = hex[c & 15];
    }
  }
  out[at] = 0;
  return at;
}

static int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

size_t cuzk_grpc_percent_decode(char *out, const char *text, size_t n) {
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '%' && i + 2 < n && nibble(text[i + 1]) >= 0 && nibble(text[i + 2]) >= 0) {
      out[at++] = (char)(nibble(text[i + 1]) << 4 | nibble(text[i + 2]));
      i += 2;
    } else {
      out[at++] = text[i];
    }
  }
  out[at] = 0;
  return at;
}

bool cuzk_grpc_content_type(const char *text, size_t n) {
  static const char plain[] = "application/grpc", proto[] = "+proto";
  size_t k = sizeof plain - 1, m = sizeof proto - 1;
  if (n < k || memcmp(text, plain, k) != 0) return false;
  if (n - k >= m && memcmp(text + k, proto, m) == 0) k += m;
  return n == k || text[k] == ';' || text[k] == ' ';
}
