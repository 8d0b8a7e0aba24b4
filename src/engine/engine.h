/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The engine: jobs in, proofs out (engine specification 5). No sockets, no SQL, no curves: see prover.h and journal.h.
 *
 *  Life of a job: QUEUED -> PREPARING -> RUNNING -> ASSEMBLED -> CHECKING -> COMPLETED | FAILED | CANCELLED, one terminal transition each.
 *  Threads  every function may be called from any thread; callbacks come without locks held, from engine threads or, for jobs that a call
 *           ends (cancel, drain), from its thread, and must not block.
 *           docs/internals/engine.md draws threads, queues and locks. */
#ifndef CUZK_ENGINE_ENGINE_H
#define CUZK_ENGINE_ENGINE_H
#include "engine/budget.h"
#include "engine/journal.h"
#include "engine/metrics.h"
#include "engine/prover.h"
#include "engine/residency.h"
#include "timeline/recorder.h"

struct cuzk_engine;

enum cuzk_self_check { CUZK_CHECK_ALL, CUZK_CHECK_POREP, CUZK_CHECK_OFF };
enum cuzk_orphan_policy { CUZK_ORPHAN_KEEP, CUZK_ORPHAN_DROP_QUEUED, CUZK_ORPHAN_DROP };

/** What may change while the engine runs (SIGHUP). */
struct cuzk_engine_tunables {
  unsigned max_queued_jobs;
  uint64_t max_queued_bytes;
  uint64_t eviction_min_idle_ns, result_ttl_ns, orphan_grace_ns, age_limit_ns;
  unsigned result_max;
  enum cuzk_orphan_policy orphan_policy;
  unsigned max_gpu_queue_depth; /* target of ready partitions; 0: two a device */
};
struct cuzk_engine_options {
  struct cuzk_clock *clock;
  struct cuzk_prover prover;
  struct cuzk_journal journal; /* ops NULL: nothing survives the process */
  struct cuzk_recorder *recorder; /* may be NULL */
  struct cuzk_metrics *metrics;   /* may be NULL */
  uint64_t memory_total;          /* the budget */
  uint64_t critical_slice;
  unsigned prep_threads, synth_threads, finish_threads, verify_threads; /* 0: 2, by budget, 4, 2 */
  unsigned workers_per_device;    /* 0: 2 */
  bool split_prove;               /* false: finish runs in the device worker before the next partition */
  bool lock_whole_call;           /* the device lock covers start to finish: how the reference's phase 7 behaved; for comparisons */
  bool sort_by_type;
  enum cuzk_self_check self_check;
  unsigned retry_on_error, quarantine_errors;
  uint64_t quarantine_ns;
  uint64_t stage_timeout_ns;      /* watchdog: a stage of one partition that takes longer is reported, and its job failed; 0: 30 min */
  const char *const *affinity;    /* per device: space separated circuit ids, NULL or "any": all; NULL: no table */
  struct cuzk_engine_tunables t;
};
/** Defaults of the specification for everything but clock, prover, journal, recorder, metrics, memory_total. */
void cuzk_engine_defaults(struct cuzk_engine_options *o);

/** Makes the engine, takes over the journal's jobs, starts its threads. Errors: E_ARG (naming the member), E_NOMEM, the journal's. */
enum cuzk_status cuzk_engine_create(struct cuzk_engine **out, const struct cuzk_engine_options *o, struct cuzk_detail *d);
/** Cancels what is left, joins all threads. *e becomes NULL; NULL is accepted. Unfinished jobs stay in the journal. */
void cuzk_engine_destroy(struct cuzk_engine **e);
void cuzk_engine_tune(struct cuzk_engine *e, const struct cuzk_engine_tunables *t);

/** --- jobs --- */
enum cuzk_job_state {
  CUZK_JOB_QUEUED, CUZK_JOB_PREPARING, CUZK_JOB_RUNNING, CUZK_JOB_ASSEMBLED, CUZK_JOB_CHECKING, CUZK_JOB_COMPLETED, CUZK_JOB_FAILED,
  CUZK_JOB_CANCELLED
};
extern const char *const cuzk_job_state_names[8];

struct cuzk_job_timings { /* engine specification 2.9, ms */
  uint64_t queue_wait_ms, srs_load_ms, synthesis_ms, gpu_compute_ms, total_ms;
};
/** The answer for one waiter. Pointers are valid during the callback, or until cuzk_job_result_clear for an owned copy. */
struct cuzk_job_result {
  char *job_id;
  enum cuzk_job_state state; /* COMPLETED, FAILED, CANCELLED; a running one when the wait ended first */
  bool draining;             /* CANCELLED because the engine stops: the caller should ask again later */
  uint8_t *proof;
  size_t proof_bytes;
  char *error; /* one line with a token first: "bad_input: ...", engine specification 2.6 */
  struct cuzk_job_timings times;
};
void cuzk_job_result_clear(struct cuzk_job_result *r);

struct cuzk_submit {
  const char *request_id; /* "" or NULL: every call is a new job */
  unsigned priority;      /* protocol number; 0: the kind's default */
  bool from_prove;
  struct cuzk_request *request; /* one more reference is taken */
};
struct cuzk_submitted {
  char *job_id; /* to be freed with cuzk_free */
  unsigned queue_position;
  int assigned_gpu; /* -1: none */
  bool attached;    /* to a job that was there already */
};
/** Which limit refused a submission, beyond the status: for the gRPC code. */
enum cuzk_refusal { CUZK_REFUSED_NOT, CUZK_REFUSED_BAD, CUZK_REFUSED_PRECONDITION, CUZK_REFUSED_FULL, CUZK_REFUSED_DRAINING, CUZK_REFUSED_NO_DEVICE };
/** Admits a request: checked, journalled (durable), queued. Thread safe; takes at most the journal's time.
 *  Errors: E_ARG, E_FORMAT, E_MISMATCH with BAD; E_NOENT, E_UNSUPPORTED (also: more memory than the budget has, no device for the circuit) with
 *  PRECONDITION; E_NOSPC with FULL (a limit, or the journal's disk); E_CANCELLED with DRAINING; E_DEVICE with NO_DEVICE (none usable now); E_NOMEM,
 *  E_IO (journal), E_INTERNAL. */
enum cuzk_status cuzk_engine_submit(struct cuzk_engine *e, const struct cuzk_submit *s, struct cuzk_submitted *out, enum cuzk_refusal *why,
                                    struct cuzk_detail *d);

/** A waiter: fn is called exactly once, when the job ends or until has come (CUZK_NEVER: no limit), unless the watch is dropped before.
 *  Ended and retained jobs answer at once, from the calling thread; *out is set before fn is called. *out is to be given to
 *  cuzk_engine_unwatch in the end, after fn too; out NULL: fn is called in any case and nothing is to be given back.
 *  Errors: E_NOENT (no such job), E_NOMEM. */
typedef void cuzk_watch_fn(void *user, const struct cuzk_job_result *r);
struct cuzk_watch;
enum cuzk_status cuzk_engine_watch(struct cuzk_engine *e, struct cuzk_watch **out, const char *job_id, uint64_t until, cuzk_watch_fn *fn,
                                   void *user);
/** Takes the waiter away and frees the handle; returns false if fn was or is being called (then it has returned or will). Never blocks,
 *  may be called from fn itself. *w becomes NULL; NULL gives false. */
bool cuzk_engine_unwatch(struct cuzk_engine *e, struct cuzk_watch **w);
/** The result has reached a client (engine specification 2.5 no. 4). */
void cuzk_engine_delivered(struct cuzk_engine *e, const char *job_id);
/** Blocking form of watch: an owned copy. Errors: E_NOENT, E_NOMEM. A wait that ends first gives E_OK and the running state. */
enum cuzk_status cuzk_engine_await(struct cuzk_engine *e, struct cuzk_job_result *out, const char *job_id, uint64_t until);
/** Errors: E_NOENT. */
enum cuzk_status cuzk_engine_cancel(struct cuzk_engine *e, const char *job_id, bool *was_running);

/** --- parameters --- (blocking; until is a time of the clock) */
enum cuzk_status cuzk_engine_preload(struct cuzk_engine *e, const char *circuit_id, uint64_t until, const atomic_bool *cancel,
                                     bool *already, uint64_t *load_ms, enum cuzk_refusal *why, struct cuzk_detail *d);
enum cuzk_status cuzk_engine_evict(struct cuzk_engine *e, const char *circuit_id, bool *was_loaded, uint64_t *freed, struct cuzk_detail *d);

/** --- stopping (engine specification 5.16) --- */
/** No new jobs; queued ones answer draining; running ones go on. Returns at once. */
void cuzk_engine_drain(struct cuzk_engine *e);
/** Waits until nothing runs (true) or until. */
bool cuzk_engine_wait_idle(struct cuzk_engine *e, uint64_t until);
/** Cancels running jobs at the next boundary, answering draining; with a journal they stay in it. */
void cuzk_engine_stop_running(struct cuzk_engine *e);

/** --- views: never wait for proving, no side effects --- */
enum cuzk_part_state { CUZK_PART_PENDING, CUZK_PART_SYNTH, CUZK_PART_READY, CUZK_PART_GPU, CUZK_PART_DONE, CUZK_PART_FAILED };
enum cuzk_gpu_phase { CUZK_PHASE_NONE, CUZK_PHASE_PRE, CUZK_PHASE_LOCK_WAIT, CUZK_PHASE_KERNELS, CUZK_PHASE_POST };
struct cuzk_part_view {
  enum cuzk_part_state state;
  enum cuzk_gpu_phase phase;
  int64_t synth_ms, gpu_ms; /* -1: not begun; live while running */
};
struct cuzk_job_view {
  char job_id[128]; /* cut to fit, still UTF-8 */
  unsigned kind, priority, n_partitions, partitions_done;
  char circuit_id[24];
  enum cuzk_job_state state;
  double age_s, started_ago_s; /* started < 0: not yet */
  double ended_ago_s;          /* < 0: not yet */
  char error[256];
  struct cuzk_part_view *part; /* n_partitions */
};
struct cuzk_worker_view {
  unsigned worker, gpu;
  enum cuzk_gpu_phase phase;
  char job_id[128];
  int partition;
  double busy_s;
};
struct cuzk_gpu_view {
  struct cuzk_device_info info;
  char job_id[128]; /* whose kernels hold the lock, else who waits for it */
  int kind;
  double busy_s;    /* lock held, total */
  bool quarantined, lost;
  unsigned errors;
};
struct cuzk_kind_counts {
  uint64_t completed, failed, cancelled;
  unsigned pending, in_progress;
};
struct cuzk_engine_view {
  double uptime_s;
  bool draining;
  struct cuzk_budget_view budget;
  unsigned synth_max, synth_active, queue_depth, gpu_queue_depth;
  unsigned provers_in_flight, aux_in_flight, shells_in_flight, pending_handles;
  struct cuzk_kind_counts kind[4];
  size_t n_jobs, n_workers, n_gpus, n_srs;
  struct cuzk_job_view *job; /* unfinished, and those ended less than 30 s ago */
  struct cuzk_worker_view *worker;
  struct cuzk_gpu_view *gpu;
  struct cuzk_srs_view *srs;
  bool has_journal, journal_healthy;
  uint64_t journal_bytes, journal_jobs;
};
/** A snapshot. Errors: E_NOMEM. */
enum cuzk_status cuzk_engine_view(struct cuzk_engine *e, struct cuzk_engine_view *out);
void cuzk_engine_view_clear(struct cuzk_engine_view *v);
/** Prometheus text of all metrics, gauges refreshed; to be freed with cuzk_free. */
enum cuzk_status cuzk_engine_metrics_text(struct cuzk_engine *e, char **out);
/** Queues, budget and lock owners as text, for SIGUSR1; to be freed with cuzk_free. */
enum cuzk_status cuzk_engine_dump(struct cuzk_engine *e, char **out);
#endif
