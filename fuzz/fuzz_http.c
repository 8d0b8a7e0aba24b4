/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heads of HTTP requests: the answer does not depend on how the bytes arrive, and what is read lies within the head. */
#include <stdlib.h>

#include "daemon/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void within(struct cuzk_slice s, const uint8_t *data, size_t n) {
  if (s.n && (s.data < data || s.n > n || s.data > data + (n - s.n))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_http_request r, early;
  int code = cuzk_http_parse(&r, data, n);
  if (code != 0 && code != 200 && code != 400 && code != 431 && code != 505) abort();
  if (code == 0 && n >= CUZK_HTTP_MAX_HEAD) abort();
  if (code != 200) return 0;
  if (r.n_head > n || r.n_head > CUZK_HTTP_MAX_HEAD || r.path.n == 0) abort();
  within(r.path, data, r.n_head);
  within(r.query, data, r.n_head);
  within(r.if_none_match, data, r.n_head);
  (void)cuzk_http_etag_matches(r.if_none_match, "\"a\"");
  if (cuzk_http_parse(&early, data, r.n_head) != 200 || early.n_head != r.n_head) abort();
  if (cuzk_http_parse(&early, data, r.n_head - 1) != 0) abort();
  return 0;
}
