/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** One daemon run read from a log: its jobs and the attempts at their partitions (engine specification 6.5, 6.7 steps 1 to 3).
 *
 *  Reading streams: lines are put in order inside a window of a minute (what is older starts a new run), so memory follows the number of
 *  partitions, not of lines. Times are milliseconds of the log; CUZK_TL_NONE where an event is missing.
 *  Source  engine specification 6. Format: docs/formats/timeline.md. */
#ifndef CUZK_TIMELINE_RUN_H
#define CUZK_TIMELINE_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/progress.h"
#include "cuzk/status.h"

/* Times are below this: 139 years. An offset that is not is malformed. So an attempt fits into 91 bytes; a log may have millions. */
#define CUZK_TL_TIME_BITS 42
#define CUZK_TL_NONE ((UINT64_C(1) << CUZK_TL_TIME_BITS) - 1)
#define CUZK_TL_MAX_WORKER INT16_MAX /* what has a larger number counts as not said */

enum cuzk_tl_flag {
  CUZK_TL_INFERRED = 1,        /* GPU_START was missing: end less gpu_ms */
  CUZK_TL_FAILED = 2,          /* GPU_END carried err= */
  CUZK_TL_KERNEL_INFERRED = 4, /* KERNEL_START was missing */
};

/** One attempt at one partition. */
struct __attribute__((packed)) cuzk_tl_part {
  uint64_t budget0 : CUZK_TL_TIME_BITS, budget1 : CUZK_TL_TIME_BITS; /* BUDGET_WAIT, BUDGET_OK */
  uint64_t synth0 : CUZK_TL_TIME_BITS, synth1 : CUZK_TL_TIME_BITS;
  uint64_t ready : CUZK_TL_TIME_BITS, pickup : CUZK_TL_TIME_BITS; /* ready: GPU_QUEUE or CHAN_SEND */
  uint64_t gpu0 : CUZK_TL_TIME_BITS, kernel0 : CUZK_TL_TIME_BITS, kernel1 : CUZK_TL_TIME_BITS;
  uint64_t fin : CUZK_TL_TIME_BITS, gpu1 : CUZK_TL_TIME_BITS;
  uint32_t job;                /* index */
  uint32_t gpu_ms;             /* of GPU_END; UINT32_MAX: not said */
  uint32_t lock_ms;            /* lock_wait_ms of GPU_END; 0 */
  int32_t partition;           /* -1: not said */
  int16_t worker, gpu;         /* -1: not said; gpu as said by gpu= */
  uint32_t start_line, end_line, kernel_line; /* order among equal times (the run's lines, from 1) */
  uint8_t flags;
};

struct cuzk_tl_job {
  uint32_t id;      /* offset into ids */
  int32_t kind;     /* 0..3 in the protocol's order, -1: not said */
  uint64_t first, last; /* of any event */
  uint64_t submit, prep, verify0, verify1, end;
  uint32_t n_open, failed; /* attempts in work (while reading); PART_FAIL events */
  char ended;       /* 'D'one, 'F'ailed, 'C'ancelled; 0: no such event */
};
/** A load of parameters, or a wait without partition. */
struct cuzk_tl_load {
  uint64_t start, end; /* end may be CUZK_TL_NONE */
  uint32_t job;        /* UINT32_MAX: "-" */
};

struct cuzk_tl_run {
  unsigned number;     /* 1 is the first in the file */
  uint64_t lines, malformed, unknown, orphans, unfinished, inferred, failed;
  uint64_t n_events, first, last; /* first and last offset */
  bool torn_end;       /* the file's last line has no end */
  bool has_kernel;
  uint64_t first_synth;   /* first SYNTH_START or JOB_SUBMIT */
  uint64_t wall_ms;    /* of EPOCH; 0 */
  unsigned gpus, workers_per_gpu; /* of EPOCH; 0 */
  char version[32];
  uint64_t kernel_sum_ms, mutex_sum_ms; /* of CUZK_TIMING lines */
  uint64_t n_kernel_sums;
  struct cuzk_tl_part *part;
  size_t n_parts, cap_parts;
  struct cuzk_tl_job *job;
  size_t n_jobs, cap_jobs;
  struct cuzk_tl_load *load;
  size_t n_loads, cap_loads;
  char *ids;
  size_t n_ids, cap_ids;
};
static inline const char *cuzk_tl_job_id(const struct cuzk_tl_run *r, uint32_t job) { return job == UINT32_MAX ? "-" : r->ids + r->job[job].id; }
void cuzk_tl_run_clear(struct cuzk_tl_run *r);

/** Called for each run of a log, in order; r is the reader's and may be taken by copying it and clearing the original with memset.
 *  Not E_OK stops the reading. */
typedef enum cuzk_status cuzk_tl_run_fn(void *user, struct cuzk_tl_run *r);

/** Incremental reader: feed any pieces, then finish. */
struct cuzk_tl_reader;
enum cuzk_status cuzk_tl_reader_create(struct cuzk_tl_reader **out, cuzk_tl_run_fn *fn, void *user);
/** Errors: E_NOMEM, what fn returned, E_UNSUPPORTED (more than 2^32 - 1 jobs or lines of one run). */
enum cuzk_status cuzk_tl_reader_feed(struct cuzk_tl_reader *r, const char *data, size_t n);
/** The end of the input: hands over the last run. A log without any event has no run, except to tell of malformed lines. */
enum cuzk_status cuzk_tl_reader_finish(struct cuzk_tl_reader *r);
void cuzk_tl_reader_destroy(struct cuzk_tl_reader **r);

/** Reads a whole file ("-": standard input's descriptor 0). Errors: those of feed, E_NOENT, E_IO. */
enum cuzk_status cuzk_tl_read_file(const char *path, cuzk_tl_run_fn *fn, void *user, const struct cuzk_progress *progress,
                                   struct cuzk_detail *d);
#endif
