/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** cuzk top: what a running daemon does, from its HTTP endpoint (docs/formats/status.md). Three parts: connections (top_http.c), what is known and
 *  its picture as lines of text (top_view.c), the terminal (cmd_top.c). */
#ifndef CUZK_CLI_TOP_H
#define CUZK_CLI_TOP_H
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* ---- top_http.c ---- */

/** GET of path; *body (n bytes and a 0; to be freed with cuzk_free) is that of a 200 answer. Waits at most timeout_ms for each step.
 *  Errors: E_ARG (address), E_IO (no connection, not HTTP, other status, cut short, too long), E_NOMEM. */
enum cuzk_status top_get(char **body, size_t *n, const char *address, const char *path, unsigned timeout_ms, struct cuzk_detail *d);

/** The stream of events. */
struct top_stream {
  int fd; /* -1: none; non-blocking: poll for reading */
  bool head;
  char *text; /* read, not yet used */
  size_t n, size;
};
/** Opens it, going on after event number last (0: with a snapshot). Errors: as top_get. */
enum cuzk_status top_stream_open(struct top_stream *s, const char *address, uint64_t last, unsigned timeout_ms, struct cuzk_detail *d);
/** Reads what has come and calls fn for each event: kind and data, NUL-ended, valid during the call. E_IO: the stream is over. Errors: E_IO,
 *  E_NOMEM. */
enum cuzk_status top_stream_read(struct top_stream *s, void (*fn)(void *user, const char *kind, const char *data), void *user, struct cuzk_detail *d);
void top_stream_close(struct top_stream *s);

/* ---- top_view.c ---- */

#define TOP_WORKERS 64
#define TOP_CALLS 512
#define TOP_COLUMNS 256 /* of a line, at most */

enum top_order { TOP_OLDEST, TOP_NEWEST, TOP_STAGE, TOP_N_ORDERS };
struct top_call {
  double start, end; /* ms of the engine's clock; end < 0: runs */
  bool kernels;
};
struct top_worker {
  struct top_call call[TOP_CALLS]; /* a ring */
  uint64_t n;
};
struct top_view {
  const char *address;
  json_t *status;       /* the newest, or NULL */
  double status_at;     /* when it came, ms of our clock */
  bool connected;
  struct top_worker worker[TOP_WORKERS];
  uint64_t last_seq, lost;
  double offset;        /* engine's clock less ours, ms */
  bool has_offset;
  char problem[160];    /* the newest failure */
  enum top_order order;
  double column_ms;     /* of a character in the workers' strips */
  size_t scroll;
  bool help, paused;
};
/** Takes over an answer of /status. */
void top_view_status(struct top_view *v, json_t *status, double now_ms);
/** Takes in one event of the stream. */
void top_view_event(struct top_view *v, const char *kind, const char *data, double now_ms);
void top_view_clear(struct top_view *v);

enum top_look { TOP_PLAIN, TOP_TITLE, TOP_HEAD, TOP_GOOD, TOP_BAD, TOP_DIM };
struct top_line {
  char text[TOP_COLUMNS + 1]; /* printable ASCII only, whatever names say */
  enum top_look look;
};
/** Draws into line[height], width columns (at most TOP_COLUMNS); clamps v->scroll. */
void top_draw(struct top_line *line, struct top_view *v, unsigned width, unsigned height, double now_ms);
/** The same in one line, for pipes. */
void top_summary(char *out, size_t n, const struct top_view *v);
#endif
