/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cuzk/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

const char *cuzk_status_name(enum cuzk_status s) {
  switch (s) {
#define CUZK_X(name, value, text, grpc, exit_code, retry)                                           \
  case CUZK_##name:                                                                                 \
    return #name;
    CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
  }
  return "E_UNKNOWN";
}

const char *cuzk_status_text(enum cuzk_status s) {
  switch (s) {
#define CUZK_X(name, value, text, grpc, exit_code, retry)                                           \
  case CUZK_##name:                                                                                 \
    return text;
    CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
  }
  return "unknown status";
}

int cuzk_status_exit_code(enum cuzk_status s) {
  switch (s) {
#define CUZK_X(name, value, text, grpc, exit_code, retry)                                           \
  case CUZK_##name:                                                                                 \
    return exit_code;
    CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
  }
  return 9;
}

enum cuzk_status cuzk_fail(struct cuzk_detail *d, enum cuzk_status s, const char *fmt, ...) {
  if (d) {
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(d->text, sizeof d->text, fmt, ap);
    va_end(ap);
  }
  return s;
}

enum cuzk_status cuzk_fail_errno(struct cuzk_detail *d, int err, const char *fmt, ...) {
  if (d) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(d->text, sizeof d->text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof d->text) {
      char buf[128];
      const char *msg = strerror_r(err, buf, sizeof buf);
      (void)snprintf(d->text + n, sizeof d->text - (size_t)n, ": %s", msg);
    }
  }
  switch (err) {
    case ENOSPC:
    case EDQUOT: return CUZK_E_NOSPC;
    case ENOENT: return CUZK_E_NOENT;
    case ENOMEM: return CUZK_E_NOMEM;
    default: return CUZK_E_IO;
  }
}

_Noreturn void cuzk_verify_failed(const char *cond, const char *file, int line) {
  (void)fprintf(stderr, "%s:%d: invariant failed: %s\n", file, line, cond);
  abort();
}
