/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The HTTP endpoint for people and monitoring (engine specification 3): GET /status, /metrics, /healthz, live events on /events, and
 *  files of a dashboard. Plain HTTP/1.1, one request a connection.
 *
 *  /events is a stream of server-sent events: `snapshot` (what /status says) at the beginning, then `timeline`, one an event of the
 *  recorder, id = its seq. A client that comes back with Last-Event-ID (or ?after=) goes on from there without loss as long as the recorder has
 *  the events; otherwise it gets `lost` and a new snapshot. A reader that is slow is fed as it reads, from the recorder's memory; it holds up nobody.
 *
 *  Order of life: create (listens), cuzk_recorder_on_event(recorder, cuzk_http_on_event, http), the engine, start; at the end stop, the
 *  engine, the recorder, destroy.
 *  Threads  one loop thread. cuzk_http_on_event from any thread, never blocks. SIGPIPE must be ignored.
 *  Format: docs/formats/status.md. Tests: daemon/test_http.c. */
#ifndef CUZK_DAEMON_HTTP_H
#define CUZK_DAEMON_HTTP_H
#include "engine/engine.h"

struct cuzk_http;
struct cuzk_http_options {
  const char *address;     /* "host:port", "[v6]:port", ":port" (loopback); port 0: any */
  const char *cors_origin; /* NULL or "": no CORS headers */
  const char *version;
  struct cuzk_clock *clock; /* the engine's */
  struct cuzk_recorder *recorder; /* NULL: no /events */
  const struct cuzk_kind_names *kinds; /* 4 rows, of the prover */
  unsigned max_connections;     /* 0: 64; half of them may be streams */
  uint64_t head_timeout_ms;     /* 0: 5 s until the head is read */
  uint64_t write_timeout_ms;    /* 0: 30 s without progress ends a connection */
};
/** Strings are copied. Binds and listens. Errors: E_ARG (address), E_IO (in use, not ours), E_NOMEM. */
enum cuzk_status cuzk_http_create(struct cuzk_http **out, const struct cuzk_http_options *o, struct cuzk_detail *d);
/** The address as bound, "127.0.0.1:9821". */
const char *cuzk_http_address(const struct cuzk_http *h);
/** Serves bytes[n], which must stay, under a path ("/", "/app.js"). etag with its quotes, NULL: none. Before start. Errors: E_ARG (path taken
 *  or without a slash), E_NOMEM. */
enum cuzk_status cuzk_http_add(struct cuzk_http *h, const char *path, const char *type, const void *bytes, size_t n, const char *etag);
/** Starts the loop thread. Errors: E_NOMEM. */
enum cuzk_status cuzk_http_start(struct cuzk_http *h, struct cuzk_engine *engine);
/** For cuzk_recorder_on_event: user is the endpoint. */
void cuzk_http_on_event(void *http);
/** Origin from a reloaded configuration; any thread. Errors: E_NOMEM (the old one stays). */
enum cuzk_status cuzk_http_set_cors(struct cuzk_http *h, const char *origin);
/** Ends the loop and all connections; to be called before the engine goes. Events may still come and are ignored. */
void cuzk_http_stop(struct cuzk_http *h);
/** Stops if need be. No events come any more: the recorder is gone. *h becomes NULL; NULL is accepted. */
void cuzk_http_destroy(struct cuzk_http **h);
#endif
