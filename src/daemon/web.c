/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/web.h"

#include <string.h>

#include "base/hex.h"
#include "hash/sha256.h"

#define CUZK_WEB_MAP(X)                                      \
  X("/", index_html, "text/html; charset=utf-8")             \
  X("/dashboard.css", dashboard_css, "text/css; charset=utf-8") \
  X("/model.js", model_js, "text/javascript; charset=utf-8") \
  X("/dashboard.js", dashboard_js, "text/javascript; charset=utf-8")
#define CUZK_X(path, name, type)             \
  extern const unsigned char cuzk_web_##name[]; \
  extern const size_t cuzk_web_##name##_bytes;
CUZK_WEB_MAP(CUZK_X)
#undef CUZK_X

static enum cuzk_status add(struct cuzk_http *h, const char *path, const char *type, const unsigned char *bytes, size_t n) {
  uint8_t digest[32];
  char etag[1 + 32 + 2] = "\"";
  cuzk_sha256(digest, bytes, n);
  cuzk_hex_encode(etag + 1, digest, 16);
  etag[33] = '"';
  etag[34] = 0;
  return cuzk_http_add(h, path, type, bytes, n, etag);
}

enum cuzk_status cuzk_web_add(struct cuzk_http *h) {
  enum cuzk_status st = CUZK_OK;
#define CUZK_X(path, name, type) \
  if (st == CUZK_OK) st = add(h, path, type, cuzk_web_##name, cuzk_web_##name##_bytes);
  CUZK_WEB_MAP(CUZK_X)
#undef CUZK_X
  return st;
}
