/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The head of an HTTP/1.x request, as much of it as the status endpoint needs. Source: RFC 9112. Tests: daemon/test_http.c, fuzz_http. */
#ifndef CUZK_DAEMON_HTTP_REQUEST_H
#define CUZK_DAEMON_HTTP_REQUEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/request.h"

/** A head is at most so long, blank line included. */
#define CUZK_HTTP_MAX_HEAD 8192u

enum cuzk_http_method { CUZK_HTTP_GET, CUZK_HTTP_HEAD, CUZK_HTTP_OPTIONS, CUZK_HTTP_OTHER };
struct cuzk_http_request {
  enum cuzk_http_method method;
  struct cuzk_slice path, query;    /* query without '?' */
  struct cuzk_slice if_none_match;  /* empty: none */
  bool has_last_event_id;
  uint64_t last_event_id;           /* of the header Last-Event-ID, or of the query's after= */
  size_t n_head;                    /* bytes */
};
/** Reads a head from the beginning of data[n]. 0: more bytes are needed; 200: *out is filled, its slices point into data; otherwise the
 *  status to refuse with: 400 malformed, 431 too long, 505 not HTTP/1.x. */
int cuzk_http_parse(struct cuzk_http_request *out, const uint8_t *data, size_t n);
/** Does an If-None-Match list name this etag (with its quotes), weakly compared? */
bool cuzk_http_etag_matches(struct cuzk_slice list, const char *etag);
#endif
