/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ERROR_FD 2

static atomic_int threshold = CUZK_LOG_INFO;
static atomic_bool as_json;

static const char *const words[] = {"off", "error", "warn", "info", "debug", "trace"};
static const char priority[] = {'3', '3', '4', '6', '7', '7'};

bool cuzk_log_set_level(const char *level) {
  for (const char *s = level; *s;) {
    const size_t n = strcspn(s, ",");
    if (!memchr(s, '=', n))
      for (int i = CUZK_LOG_OFF; i <= CUZK_LOG_TRACE; i++)
        if (strlen(words[i]) == n && !strncmp(words[i], s, n)) {
          atomic_store(&threshold, i);
          return true;
        }
    s += n + (s[n] == ',');
  }
  return false;
}

void cuzk_log_set_json(bool json) { atomic_store(&as_json, json); }
enum cuzk_log_level cuzk_log_level(void) { return (enum cuzk_log_level)atomic_load(&threshold); }

/* Appends text with control characters, backslashes and, for JSON, quotes escaped; n is room, at the end's index. */
static size_t escape(char *out, size_t at, size_t n, const char *text, bool json) {
  static const char hex[] = "0123456789abcdef";
  for (const unsigned char *p = (const unsigned char *)text; *p && at + 6 < n; p++) {
    if (json && (*p == '"' || *p == '\\')) {
      out[at++] = '\\';
      out[at++] = (char)*p;
    } else if (*p < 0x20 || *p == 0x7f) {
      out[at++] = '\\';
      out[at++] = json ? 'u' : 'x';
      if (json) {
        out[at++] = '0';
        out[at++] = '0';
      }
      out[at++] = hex[*p >> 4];
      out[at++] = hex[*p & 15];
    } else {
      out[at++] = (char)*p;
    }
  }
  return at;
}

void cuzk_log(enum cuzk_log_level level, const char *fmt, ...) {
  if ((int)level > atomic_load(&threshold) || level == CUZK_LOG_OFF) return;
  char text[2048], line[4096];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  struct timespec t;
  struct tm tm;
  char when[40];
  (void)clock_gettime(CLOCK_REALTIME, &t);
  (void)gmtime_r(&t.tv_sec, &tm);
  size_t n = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &tm);
  (void)snprintf(when + n, sizeof when - n, ".%03ldZ", t.tv_nsec / 1000000);
  const bool json = atomic_load(&as_json);
  int k;
  if (json) k = snprintf(line, sizeof line, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"", when, words[level]);
  else if (getenv("JOURNAL_STREAM")) k = snprintf(line, sizeof line, "<%c>", priority[level]);
  else k = snprintf(line, sizeof line, "%s %-5s ", when, words[level]);
  n = escape(line, (size_t)k, sizeof line - 4, text, json);
  if (json) {
    line[n++] = '"';
    line[n++] = '}';
  }
  line[n++] = '\n';
  const ssize_t w = write(ERROR_FD, line, n);
  (void)w; /* nowhere to tell */
}
