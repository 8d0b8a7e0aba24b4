/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The record of what happened when: one line an event in the log (engine specification 6.1 to 6.3) and the same in memory for live
 *  views.
 *
 *  Threads  cuzk_record and the readers may be called from any thread at any time; recording takes one short lock, formats in the
 *  caller's stack and writes with one write(2). Offsets never decrease in the file. Readers never wait for the file. A failing log file
 *  shows in cuzk_recorder_lost, never to the caller. SIGPIPE must be ignored where the log is a pipe.
 *  Source  engine specification 6.1 to 6.3. Format: docs/formats/timeline.md. Tests: timeline/test_recorder.c. */
#ifndef CUZK_TIMELINE_RECORDER_H
#define CUZK_TIMELINE_RECORDER_H
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "cuzk/status.h"

/* name in the log. The order is that of the specification. */
#define CUZK_EVENT_MAP(X)                                                                                                       \
  X(EPOCH) X(JOB_SUBMIT) X(JOB_PREP) X(SRS_LOAD) X(SRS_READY) X(SRS_EVICT) X(BUDGET_WAIT) X(BUDGET_OK) X(SYNTH_START)           \
  X(SYNTH_END) X(GPU_QUEUE) X(GPU_PICKUP) X(GPU_START) X(KERNEL_START) X(KERNEL_END) X(FIN_START) X(GPU_END) X(VERIFY_START)     \
  X(VERIFY_END) X(PART_FAIL) X(PART_RETRY) X(GPU_QUARANTINE) X(GPU_BACK) X(JOB_DONE) X(JOB_FAIL) X(JOB_CANCEL) X(DRAIN) X(STOP)
enum cuzk_event {
#define CUZK_X(name) CUZK_EV_##name,
  CUZK_EVENT_MAP(CUZK_X)
#undef CUZK_X
      CUZK_N_EVENTS
};
const char *cuzk_event_name(enum cuzk_event e);

/** One event as kept in memory. */
struct cuzk_event_record {
  uint64_t seq;      /* 1, 2, ... without holes */
  uint64_t t_ns;     /* of the recorder's clock */
  enum cuzk_event event;
  int partition, worker, gpu; /* -1: none */
  char job[64];      /* percent-encoded as in the log, cut to fit */
  char details[192]; /* "key=value,..." as in the log, cut to fit */
};

struct cuzk_recorder;
struct cuzk_recorder_options {
  struct cuzk_clock *clock; /* borrowed */
  int fd;                   /* where lines go; -1: nowhere. Not closed */
  const char *path;         /* or a file, opened for appending; NULL: fd counts */
  size_t ring;              /* events kept in memory; 0: 65,536 */
  unsigned n_gpus, workers_per_gpu;
  const char *version;
};
/** Opens the log and records EPOCH. Errors: E_NOMEM, E_IO / E_NOENT (path). */
enum cuzk_status cuzk_recorder_create(struct cuzk_recorder **out, const struct cuzk_recorder_options *o, struct cuzk_detail *d);
void cuzk_recorder_destroy(struct cuzk_recorder **r);
/** Reopens the file of that path (log rotation); on failure the old one stays in use. A new file starts with an EPOCH line of this run
 *  (not its first event: offset as it is now, continued=1). Without a path: nothing. Errors: E_NOENT, E_IO. */
enum cuzk_status cuzk_recorder_reopen(struct cuzk_recorder *r, struct cuzk_detail *d);

/** Records an event now. job NULL or empty is "-", and is percent-encoded here. fmt (NULL: no details) gives the details, "key=value,key=value" with values already free of commas except
 *  through cuzk_record_text; the values of partition=, worker=, gpu= are also taken into the record's members. Control characters that
 *  come through fmt are percent-encoded. A line is at most 4,096 bytes: a job id is cut at 1,024, details after the last whole key=value.
 *  EPOCH is the recorder's own. r NULL: nothing. */
void cuzk_record(struct cuzk_recorder *r, enum cuzk_event e, const char *job, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Percent-encodes what the format forbids (6.1) into out[n], cut to fit; returns out. */
const char *cuzk_record_text(char *out, size_t n, const char *text);

/** Copies up to max events with seq > after, oldest first and without holes between them, and returns their number; *first is the oldest seq still in memory (a reader
 *  whose next seq is older has missed some). */
size_t cuzk_recorder_read(struct cuzk_recorder *r, uint64_t after, struct cuzk_event_record *out, size_t max, uint64_t *first);
/** seq of the newest event. */
uint64_t cuzk_recorder_last(struct cuzk_recorder *r);
/** fn is called, without locks, from the recording thread after events; set once before threads start. It must not block. */
void cuzk_recorder_on_event(struct cuzk_recorder *r, void (*fn)(void *user), void *user);
/** Lines that could not be written. */
uint64_t cuzk_recorder_lost(struct cuzk_recorder *r);
#endif
