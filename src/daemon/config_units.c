/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_internal.h"

/* A decimal number: digits, or digits "." digits, as whole / scale. At most 18 digits. */
static bool number(const char **text, uint64_t *whole, uint64_t *scale) {
  const char *p = *text;
  unsigned digits = 0;
  *whole = 0;
  *scale = 1;
  if (!isdigit((unsigned char)*p)) return false;
  for (; isdigit((unsigned char)*p); p++) {
    if (++digits > 18) return false;
    *whole = *whole * 10 + (uint64_t)(*p - '0');
  }
  if (*p == '.') {
    if (!isdigit((unsigned char)*++p)) return false;
    for (; isdigit((unsigned char)*p); p++) {
      if (++digits > 18) return false;
      *whole = *whole * 10 + (uint64_t)(*p - '0');
      *scale *= 10;
    }
  }
  *text = p;
  return true;
}

/* whole / scale * unit, rounded down; false if it does not fit. *exact: nothing was lost. */
static bool times(uint64_t *out, uint64_t whole, uint64_t scale, uint64_t unit, bool *exact) {
  __extension__ typedef unsigned __int128 wide;
  const wide product = (wide)whole * unit;
  *exact = product % scale == 0;
  if (product / scale > INT64_MAX) return false;
  *out = (uint64_t)(product / scale);
  return true;
}

static const struct {
  const char *name;
  uint64_t bytes;
} size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"KB", 1000},
    {"M", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"MB", 1000000},
    {"G", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"GB", 1000000000},
    {"T", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {"TB", UINT64_C(1000000000000)},
};

bool cuzk_size_parse(struct cuzk_size *out, const char *text, unsigned flags) {
  uint64_t whole, scale, n;
  bool exact;
  if (strcmp(text, "auto") == 0) {
    *out = (struct cuzk_size){.is = CUZK_SIZE_AUTO};
    return flags & CUZK_KEY_AUTO;
  }
  if (!number(&text, &whole, &scale)) return false;
  if (strcmp(text, "%") == 0) {
    *out = (struct cuzk_size){CUZK_SIZE_PERCENT, whole};
    return flags & CUZK_KEY_PERCENT && scale == 1 && whole >= 1 && whole <= 100;
  }
  for (size_t i = 0; i < sizeof size_units / sizeof *size_units; i++) {
    if (strcmp(text, size_units[i].name) != 0) continue;
    if (!times(&n, whole, scale, size_units[i].bytes, &exact)) return false;
    *out = (struct cuzk_size){CUZK_SIZE_BYTES, n};
    return true;
  }
  return false;
}

uint64_t cuzk_size_bytes(struct cuzk_size s, uint64_t total, uint64_t if_auto) {
  if (s.is == CUZK_SIZE_AUTO) return if_auto;
  return s.is == CUZK_SIZE_PERCENT ? total / 100 * s.n + total % 100 * s.n / 100 : s.n;
}

void cuzk_size_print(char *out, size_t n, struct cuzk_size s) {
  static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  if (s.is == CUZK_SIZE_AUTO) {
    (void)snprintf(out, n, "auto");
    return;
  }
  if (s.is == CUZK_SIZE_PERCENT) {
    (void)snprintf(out, n, "%" PRIu64 "%%", s.n);
    return;
  }
  while (unit < 4 && s.n && s.n % 1024 == 0) {
    s.n /= 1024;
    unit++;
  }
  (void)snprintf(out, n, "%" PRIu64 "%s", s.n, names[unit]);
}

static const struct {
  const char *name;
  uint64_t ms;
} time_units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
enum { N_TIME_UNITS = sizeof time_units / sizeof *time_units };

bool cuzk_duration_parse(uint64_t *out, const char *text) {
  uint64_t total = 0;
  unsigned seen = 0;
  const char *start = text;
  do {
    uint64_t whole, scale, ms;
    bool exact;
    if (!number(&text, &whole, &scale)) return false;
    unsigned u = 0;
    size_t n = 0;
    while (isalpha((unsigned char)text[n])) n++;
    if (n == 0) {
      if (*text || scale != 1 || seen) return false; /* a bare integer, and nothing else */
      u = 3;
    } else {
      while (u < N_TIME_UNITS && (strlen(time_units[u].name) != n || strncmp(time_units[u].name, text, n) != 0)) u++;
    }
    if (u == N_TIME_UNITS || seen & 1u << u) return false;
    seen |= 1u << u;
    text += n;
    if (!times(&ms, whole, scale, time_units[u].ms, &exact) || !exact) return false;
    if (ms > INT64_MAX / 1000000 - total) return false;
    total += ms;
  } while (*text);
  *out = total * 1000000;
  return text != start;
}

void cuzk_duration_print(char *out, size_t n, uint64_t ns) {
  uint64_t ms = ns / 1000000;
  size_t at = 0;
  if (!ms) (void)snprintf(out, n, "0s");
  for (unsigned u = 0; u < N_TIME_UNITS; u++) {
    const uint64_t k = ms / time_units[u].ms;
    ms %= time_units[u].ms;
    if (k) at += (size_t)snprintf(out + at, n - at, "%" PRIu64 "%s", k, time_units[u].name);
  }
}

bool cuzk_address_parse(struct cuzk_address *out, const char *text) {
  *out = (struct cuzk_address){0};
  if (strncmp(text, "unix:", 5) == 0) {
    const char *path = text + 5;
    if (strncmp(path, "//", 2) == 0) path += 2;
    out->is_unix = out->loopback = true;
    (void)snprintf(out->host, sizeof out->host, "%.255s", path);
    return path[0] == '/' && path[1] && strlen(path) < 108; /* sun_path */
  }
  const char *colon = strrchr(text, ':');
  if (!colon || strlen(colon + 1) > 5 || !colon[1]) return false;
  for (const char *p = colon + 1; *p; p++) {
    if (!isdigit((unsigned char)*p)) return false;
    out->port = out->port * 10 + (unsigned)(*p - '0');
  }
  if (out->port > 65535) return false;
  size_t n = (size_t)(colon - text);
  const bool six = n >= 2 && text[0] == '[' && text[n - 1] == ']';
  if (six) {
    text++;
    n -= 2;
  }
  if (n >= sizeof out->host || (six && n == 0)) return false;
  for (size_t i = 0; i < n; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (six ? !isxdigit(c) && c != ':' && c != '.' && c != '%' : !isalnum(c) && c != '.' && c != '-' && c != '_') return false;
  }
  memcpy(out->host, text, n);
  out->host[n] = 0;
  out->loopback = strcmp(out->host, "localhost") == 0 || strcmp(out->host, "::1") == 0;
  unsigned a, b, c, d;
  int used = 0;
  if (!six && sscanf(out->host, "%3u.%3u.%3u.%3u%n", &a, &b, &c, &d, &used) == 4 && !out->host[used]) {
    if (a > 255 || b > 255 || c > 255 || d > 255) return false;
    out->loopback = a == 127;
  }
  return true;
}
