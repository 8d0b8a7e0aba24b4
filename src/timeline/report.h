/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Where the time of one run went: busy spans, gaps and their causes (engine specification 6.7 steps 4 to 9). All times are ms. */
#ifndef CUZK_TIMELINE_REPORT_H
#define CUZK_TIMELINE_REPORT_H
#include "timeline/run.h"

enum cuzk_tl_basis { CUZK_TL_AUTO, CUZK_TL_EVENT, CUZK_TL_MEASURED, CUZK_TL_KERNEL };
enum cuzk_tl_classify { CUZK_TL_CLASSIFY_AUTO, CUZK_TL_CAUSAL, CUZK_TL_THRESHOLD };
/** In the order in which ties are broken: the later one wins. */
enum cuzk_tl_class {
  CUZK_TL_DISPATCH, CUZK_TL_NO_DEMAND, CUZK_TL_COLD_START, CUZK_TL_CROSS_SECTOR, CUZK_TL_INTRA_SECTOR, CUZK_TL_BUDGET_WAIT, CUZK_TL_SRS_LOAD,
  CUZK_TL_N_CLASSES
};
extern const char *const cuzk_tl_class_names[CUZK_TL_N_CLASSES]; /* "dispatch_overhead", "no_demand", ... */
extern const char *const cuzk_tl_basis_names[4];

struct cuzk_tl_options {
  enum cuzk_tl_basis basis;
  enum cuzk_tl_classify classify;
  uint64_t from, to;           /* window; 0 and CUZK_TL_NONE: all */
  unsigned workers_per_gpu;    /* 0: from the log */
  uint64_t overhead_max, cold_min; /* threshold mode */
};
/** 1500 ms, 100 s, everything automatic. */
void cuzk_tl_defaults(struct cuzk_tl_options *o);

/** One busy interval of a worker, as the basis has it. */
struct __attribute__((packed)) cuzk_tl_interval {
  uint64_t start : CUZK_TL_TIME_BITS, end : CUZK_TL_TIME_BITS;
  uint32_t part;     /* index of the attempt */
  uint32_t line, end_line;
  int16_t worker;    /* -1: not said */
  uint16_t device;
};
struct __attribute__((packed)) cuzk_tl_gap { /* cuzk_tl_gap_split has its parts */
  uint64_t start : CUZK_TL_TIME_BITS, end : CUZK_TL_TIME_BITS;
  uint32_t before, after;  /* attempts */
  uint16_t queue_depth;    /* partitions that waited for a device when it began; at most 65,535 is told */
  uint16_t device;
  uint8_t label;           /* enum cuzk_tl_class */
};
struct cuzk_tl_causes;     /* of report.c: what gaps are told apart by */
struct cuzk_tl_lane { /* a device, or a worker of a device */
  uint32_t device;
  int32_t worker;
  uint32_t workers; /* of a device */
  uint64_t calls, busy, idle, first, last, gaps, max_gap;
};
struct cuzk_tl_spread {
  uint64_t n, min, median, p95, max, sum;
};
struct cuzk_tl_class_sum {
  uint64_t gaps, ms;
};
#define CUZK_TL_BUCKETS 13
extern const uint64_t cuzk_tl_bucket_limit[CUZK_TL_BUCKETS]; /* exclusive; the last is CUZK_TL_NONE */

/** Stages of a proof's critical path: from its submission along the partition that finished last. */
enum cuzk_tl_stage {
  CUZK_TL_PREPARE, CUZK_TL_WAIT_SYNTH, CUZK_TL_SYNTH, CUZK_TL_WAIT_DEVICE, CUZK_TL_DEVICE_PRE, CUZK_TL_LOCK_WAIT, CUZK_TL_KERNELS, CUZK_TL_FINISH,
  CUZK_TL_VERIFY, CUZK_TL_REST, CUZK_TL_N_STAGES
};
extern const char *const cuzk_tl_stage_names[CUZK_TL_N_STAGES];
struct cuzk_tl_job_report {
  uint32_t job;
  uint64_t start, end, latency;
  uint64_t stage[CUZK_TL_N_STAGES]; /* sum: latency */
  uint32_t last_part;               /* attempt on the path; UINT32_MAX: none */
  uint32_t partitions;
};

struct cuzk_tl_report {
  enum cuzk_tl_basis basis;
  enum cuzk_tl_classify classify; /* CAUSAL if any gap was classified by cause */
  uint64_t window, busy, idle;    /* over all devices */
  uint64_t lead_in;               /* first submission or synthesis to first device call; CUZK_TL_NONE */
  uint64_t first, last;           /* of the intervals */
  bool one_device_assumed;        /* several workers, and nothing said which device they belong to */
  size_t n_intervals, n_gaps, n_devices, n_workers, n_jobs;
  struct cuzk_tl_interval *interval; /* by device, start, line */
  struct cuzk_tl_gap *gap;           /* by device, start */
  struct cuzk_tl_causes *causes;
  struct cuzk_tl_lane *device, *worker;
  struct cuzk_tl_job_report *job;    /* those with an interval */
  struct cuzk_tl_class_sum cls[CUZK_TL_N_CLASSES]; /* gaps counted by label, ms by share */
  struct cuzk_tl_class_sum histogram[CUZK_TL_BUCKETS];
  struct cuzk_tl_spread span, queue_wait, pickup, spawn, synth, latency, hand_over;
  uint64_t inflated;                 /* intervals longer than 1.5 medians */
  double proofs_per_hour;
  double kernel_share;               /* CUZK_TIMING sums or kernels over the window; < 0: unknown */
};
/** Analyses a run. Errors: E_NOENT (no complete interval: *out is empty but usable), E_NOMEM. */
enum cuzk_status cuzk_tl_analyse(struct cuzk_tl_report *out, const struct cuzk_tl_run *run, const struct cuzk_tl_options *o,
                                 struct cuzk_detail *d);
/** How much of a gap of r each class has; the sum is its length. run is the one that was analysed. */
void cuzk_tl_gap_split(uint64_t ms[CUZK_TL_N_CLASSES], const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_gap *g);
void cuzk_tl_report_clear(struct cuzk_tl_report *r);
/** busy / (window less what is given), 0 .. 1; 1 if nothing is left. */
double cuzk_tl_efficiency_without(const struct cuzk_tl_report *r, uint64_t ms);
/** One sentence: the one change that would save most, with the seconds that it would save. Returns out. */
const char *cuzk_tl_advice(char *out, size_t n, const struct cuzk_tl_report *r);
#endif
