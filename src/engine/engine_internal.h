/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Inside the engine: what its files share. docs/internals/engine.md says how the pieces work together.
 *
 *  Locks    engine.lock guards every member below that does not say otherwise; it is held for a few pointer moves only: no parse, no
 *           proof, no verification, no allocation, no record, no I/O happens under it. A device's lock (struct cuzk_device_lock) has a
 *           mutex of its own, taken inside no other; the device lock itself is held over kernels and nothing of the engine is waited for
 *           meanwhile.
 *  Names    cuzk_job_*, cuzk_stage_*, ... are shared between the engine's files; "_locked" at the end: engine.lock is held. */
#ifndef CUZK_ENGINE_ENGINE_INTERNAL_H
#define CUZK_ENGINE_ENGINE_INTERNAL_H
#include <pthread.h>

#include "engine/engine.h"

#define CUZK_N_KINDS 4
#define CUZK_N_CLASSES 4
#define CUZK_MAX_CIRCUITS 32
#define CUZK_ERROR_BYTES 1024
#define CUZK_JOB_BUCKETS 4096
/* Bits of a key's seq below the job's own number: room for jobs of resident circuits that go before it. */
#define CUZK_ORDER_BITS 16

/** --- ordered sets --- */
/** A node of a set ordered by (a, b). No two nodes of a set are equal. */
struct cuzk_node {
  uint64_t a, b;
  struct cuzk_node *left, *right;
  uint64_t heap; /* larger above */
  bool in;
};
void cuzk_set_insert(struct cuzk_node **root, struct cuzk_node *n);
void cuzk_set_remove(struct cuzk_node **root, struct cuzk_node *n);
struct cuzk_node *cuzk_set_first(struct cuzk_node *root);
/** The first node that fn accepts, in order. */
struct cuzk_node *cuzk_set_find(struct cuzk_node *root, bool (*fn)(void *user, struct cuzk_node *n), void *user);

struct cuzk_job;
struct cuzk_part;
struct cuzk_dev;

/** Jobs or partitions in order of their keys: one set a class. Within a class the older comes first, so those that age come first too
 *  and the best of four firsts is the best of all. */
struct cuzk_queue {
  struct cuzk_node *root[CUZK_N_CLASSES];
  unsigned n;
};

/** --- objects --- */
/** Running means of one circuit, and what its labels read. */
struct cuzk_circuit_stats {
  char id[24];
  double synth_ns, lock_ns; /* < 0: none yet */
};

struct cuzk_part {
  struct cuzk_job *job;
  unsigned index;
  enum cuzk_part_state state;
  enum cuzk_gpu_phase phase;
  struct cuzk_node node;     /* in partq (PENDING) or gpuq (READY) or finq (POST) */
  struct cuzk_queue *queue;  /* where node is */
  unsigned node_class;
  bool dispatched;           /* PENDING, but held by a thread that waits for memory */
  unsigned attempt;          /* retries after device errors */
  bool oom_retried, alone;   /* to be run with nothing else on its device */
  bool check_failed;         /* proved again after its first proof did not verify */
  int avoid, check_device, device; /* -1: none */
  struct cuzk_reservation *resv;   /* owned by whoever holds the partition */
  void *work;                      /* READY */
  void *pending;                   /* GPU */
  unsigned worker;
  bool express;
  /* moments, 0: not yet */
  uint64_t queued_ns, synth0_ns, synth1_ns, ready_ns, gpu0_ns, lock_ns, unlock_ns, gpu1_ns, stage_ns;
  uint64_t budget_wait_ns, lock_wait_ns;
  const char *stage; /* what runs now, for the watchdog; NULL: nothing */
  bool overdue;
  struct cuzk_part *next; /* in lists of one thread */
};

struct cuzk_watch {
  struct cuzk_engine *e;
  struct cuzk_job *job; /* NULL once fired or dropped */
  struct cuzk_node timer;
  uint64_t until;
  cuzk_watch_fn *fn;
  void *user;
  unsigned refs; /* the caller's handle, the job's list */
  struct cuzk_watch *next, *prev;
};

/* The low bit of a timer's b: whose it is. */
enum cuzk_timer_kind { CUZK_TIMER_WATCH, CUZK_TIMER_ORPHAN };

struct cuzk_job {
  unsigned refs; /* the table; each thread that works on it; each watch */
  char *job_id, *request_id;
  uint8_t digest[32];
  struct cuzk_request *request; /* NULL once ended */
  size_t request_bytes;
  struct cuzk_plan plan;
  struct cuzk_circuit_stats *circuit;
  unsigned priority; /* 1 .. 4 */
  bool from_prove, admitting;
  bool restored; /* had ended before this engine was made */
  uint64_t seq, order;
  unsigned overtaken;
  struct cuzk_job *id_next, *key_next; /* hash chains */
  struct cuzk_job *next, *prev;        /* in live, or in retained (by end) */
  bool in_live, in_retained, in_table;

  enum cuzk_job_state state;
  bool ending;               /* the end is decided; no second one */
  bool published;            /* ... and told */
  enum cuzk_job_state end_state;
  bool draining;
  char *error;               /* owned; NULL: none */
  atomic_bool stop;          /* partitions are not wanted any more */
  bool delivered;

  /* preparation */
  struct cuzk_node prep_node;
  unsigned prep_class;
  bool preparing, prepared;
  void *inputs;
  struct cuzk_srs_ref *srs;
  struct cuzk_reservation *inputs_resv;

  /* partitions */
  unsigned n_parts, n_done, in_flight; /* in flight: holds a reservation or uses the inputs */
  struct cuzk_part *part;
  uint8_t *proof; /* slots of CUZK_PROOF_LEN */
  bool *ok;       /* the verifier's answers */
  struct cuzk_node verify_node;
  unsigned verify_class;

  /* waiters */
  struct cuzk_watch *watches;
  unsigned n_watches;
  struct cuzk_node orphan_timer;
  uint64_t orphan_since;

  /* the journal's thread */
  struct cuzk_job *end_next;
  uint64_t end_try_ns, end_since_ns;

  uint64_t submit_ns, started_ns, end_ns;
  uint64_t srs_wait_ns, synth_sum_ns, gpu_sum_ns;
};

/** A lock that is given in the order of asking, but to CRITICAL work first. */
struct cuzk_lock_wait {
  struct cuzk_lock_wait *next;
  struct cuzk_cond *cond; /* of the waiting thread, for this mutex */
  bool granted, refused;
};
struct cuzk_device_lock {
  pthread_mutex_t mutex;
  bool held, broken; /* broken: nobody gets it until it is mended */
  struct cuzk_lock_wait *first[2], **last[2]; /* 0: CRITICAL */
};

struct cuzk_worker {
  struct cuzk_engine *e;
  struct cuzk_dev *dev;
  unsigned number;
  bool express;
  pthread_t thread;
  struct cuzk_cond lock_cond; /* waits for the device lock, with its mutex */
  struct cuzk_part *part;
  enum cuzk_gpu_phase phase;
  uint64_t since_ns;
};

struct cuzk_dev {
  unsigned ordinal;
  bool made;
  struct cuzk_cond cond; /* something for its workers to do */
  struct cuzk_device_lock lock;
  unsigned active;   /* partitions between pick-up and the end of finish */
  bool exclusive;    /* one runs alone */
  bool down, lost, resetting;
  uint64_t retry_ns; /* when to try to bring it back */
  unsigned consecutive, errors;
  struct cuzk_part *holder; /* whose kernels run */
  uint64_t hold_ns, busy_ns;
  /* the gap that runs now */
  bool idle, ever, idle_active;
  uint64_t idle_ns, first_submit_ns;
  struct cuzk_job *last_job; /* only compared */
  struct cuzk_series *busy, *lock_wait, *reason[7];
};

struct cuzk_prep {
  struct cuzk_engine *e;
  bool express;
  pthread_t thread;
  struct cuzk_key key;
  struct cuzk_job *job;
  struct cuzk_request *rq; /* a reference: the job's own goes with its end */
  atomic_bool cancel;
};

enum cuzk_journal_op_kind { CUZK_JOP_DELIVERED, CUZK_JOP_UPDATE };
struct cuzk_journal_op {
  struct cuzk_journal_op *next;
  enum cuzk_journal_op_kind kind;
  unsigned priority, n_partitions;
  char job_id[];
};

struct cuzk_engine {
  struct cuzk_engine_options o; /* constant but for t (under lock) */
  const struct cuzk_prover_ops *ops;
  void *self;
  struct cuzk_clock *clock;
  struct cuzk_budget *budget;
  struct cuzk_residency *residency;
  unsigned n_devices, synth_max, prep_ahead;
  char *affinity_copy;

  pthread_mutex_t lock;
  struct cuzk_cond prep_cond, express_prep_cond, dispatch_cond, synth_cond, express_cond, finish_cond, verify_cond, keep_cond,
      journal_cond, idle_cond, admit_cond;
  bool quit, draining, stopping;
  bool kick; /* a cancel flag was set */

  /* jobs */
  struct cuzk_job *by_id[CUZK_JOB_BUCKETS], *by_key[CUZK_JOB_BUCKETS];
  struct cuzk_job *live, *retained, *retained_last;
  unsigned n_live, n_pending, n_retained; /* pending: no partition started */
  uint64_t live_bytes, start_ns;
  uint64_t next_seq, next_watch, next_preload;
  unsigned busy; /* threads inside something that wait_idle waits for, besides partitions in flight */
  struct cuzk_kind_counts kind[CUZK_N_KINDS];

  /* stages */
  struct cuzk_queue prepq, partq, gpuq, finq, verifyq;
  struct cuzk_prep *prep;
  unsigned n_prep;
  struct cuzk_part *dispatch_part;
  atomic_bool dispatch_cancel;
  struct cuzk_part *express_part;
  atomic_bool express_cancel;
  struct cuzk_part *inbox, **inbox_last;
  unsigned synth_active, express_active, in_flight, n_finishing, n_verifying;
  unsigned n_pre, n_post; /* views: shells and handles */
  struct cuzk_circuit_stats circuit[CUZK_MAX_CIRCUITS];
  unsigned n_circuits;

  /* devices */
  struct cuzk_dev *dev;
  struct cuzk_worker *worker;
  unsigned n_workers;

  /* keeper */
  struct cuzk_node *timers; /* watches by until, orphans: a = moment, b = unique */

  /* journal */
  bool journal_on;
  bool journal_bad;
  struct cuzk_job *ends, **ends_last;
  struct cuzk_journal_op *jops, **jops_last;

  /* threads that are joined at the end */
  pthread_t dispatch_thread, express_thread, keep_thread, journal_thread;
  pthread_t *synth_thread, *finish_thread, *verify_thread;
  unsigned n_synth_started, n_finish_started, n_verify_started, n_prep_started, n_workers_started;
  bool dispatch_started, express_started, keep_started, journal_started;

  /* series that every job touches */
  struct cuzk_series *m_job[CUZK_N_KINDS], *m_wait[CUZK_N_KINDS], *m_done[CUZK_N_KINDS], *m_failed[CUZK_N_KINDS], *m_sum[CUZK_N_KINDS];
  struct cuzk_series *m_selfcheck[CUZK_N_KINDS], *m_completed, *m_failed_all, *m_retries, *m_budget_wait, *m_finish, *m_journal_errors;
};

enum cuzk_idle_reason { CUZK_IDLE_NO_DEMAND, CUZK_IDLE_COLD, CUZK_IDLE_CROSS, CUZK_IDLE_INTRA, CUZK_IDLE_OVERHEAD, CUZK_IDLE_BUDGET, CUZK_IDLE_SRS };

static inline void cuzk_engine_lock(struct cuzk_engine *e) { (void)pthread_mutex_lock(&e->lock); }
/** Also wakes those whose cancel flag was set meanwhile. */
static inline void cuzk_engine_unlock(struct cuzk_engine *e) {
  bool kick = e->kick;
  e->kick = false;
  (void)pthread_mutex_unlock(&e->lock);
  if (!kick) return;
  cuzk_budget_kick(e->budget);
  cuzk_residency_kick(e->residency);
}
static inline uint64_t cuzk_engine_now(struct cuzk_engine *e) { return cuzk_clock_now(e->clock); }

/** --- sched.c --- */
unsigned cuzk_job_base_class(const struct cuzk_job *j);
/** Class with age. */
unsigned cuzk_job_class_locked(struct cuzk_engine *e, const struct cuzk_job *j, uint64_t now);
struct cuzk_key cuzk_job_key_locked(struct cuzk_engine *e, const struct cuzk_job *j, unsigned partition, uint64_t now);
void cuzk_partq_push_locked(struct cuzk_queue *q, struct cuzk_part *p);
void cuzk_part_unqueue_locked(struct cuzk_part *p);
void cuzk_prepq_push_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_prepq_remove_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_verifyq_push_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_verifyq_remove_locked(struct cuzk_engine *e, struct cuzk_job *j);
struct cuzk_part *cuzk_partq_best_locked(struct cuzk_engine *e, struct cuzk_queue *q, bool (*fn)(void *, struct cuzk_node *), void *user);
struct cuzk_job *cuzk_verifyq_best_locked(struct cuzk_engine *e);
/** The next job to prepare for a thread of this sort; overtaking by residency is decided here. NULL: none now. */
struct cuzk_job *cuzk_prepq_pick_locked(struct cuzk_engine *e, bool express);
/** Puts all waiting nodes of a job into the sets of its new class. */
void cuzk_job_reclass_locked(struct cuzk_engine *e, struct cuzk_job *j, unsigned priority);
/** Queues those partitions of a prepared job that are pending and not queued. */
void cuzk_job_queue_parts_locked(struct cuzk_engine *e, struct cuzk_job *j);
/** A partition can be picked up for synthesis: wakes who does it, interrupts a worse one that waits for memory. */
void cuzk_sched_part_queued_locked(struct cuzk_engine *e, struct cuzk_part *p);
/** A job that ended is taken out of all waits for memory. */
void cuzk_sched_interrupt_locked(struct cuzk_engine *e, struct cuzk_job *j);
void *cuzk_dispatch_main(void *arg);
void *cuzk_express_main(void *arg);
void cuzk_device_signal_locked(struct cuzk_engine *e);
bool cuzk_device_allows(const struct cuzk_engine *e, unsigned device, const char *circuit_id);
unsigned cuzk_device_usable_locked(const struct cuzk_engine *e, const char *circuit_id);

/** --- stages.c --- */
void *cuzk_prep_main(void *arg);
void *cuzk_synth_main(void *arg);
void *cuzk_finish_main(void *arg);
void *cuzk_verify_main(void *arg);
void cuzk_stage_synth(struct cuzk_engine *e, struct cuzk_part *p, bool express);
void cuzk_stage_finish(struct cuzk_engine *e, struct cuzk_part *p);
/** The partition leaves the hands of its thread; the job's memory goes with the last one of an ended job. */
void cuzk_part_leave(struct cuzk_engine *e, struct cuzk_part *p);
/** As leave, and back to the queue for a fresh synthesis if the job still wants it. */
void cuzk_part_requeue(struct cuzk_engine *e, struct cuzk_part *p);
/** A stage failed: tried again, or the job ends. The partition has given everything back. device -1: none. */
void cuzk_part_failed(struct cuzk_engine *e, struct cuzk_part *p, const char *stage, int device, enum cuzk_status st,
                      const struct cuzk_detail *d);
void cuzk_stage_begin_locked(struct cuzk_engine *e, struct cuzk_part *p, const char *stage);

/** --- device.c --- */
void *cuzk_worker_main(void *arg);
enum cuzk_status cuzk_device_lock_init(struct cuzk_device_lock *l);
void cuzk_device_lock_clear(struct cuzk_device_lock *l);
/** An error of a device: counted, and the device is taken out if it is one too many or the device is lost. */
void cuzk_device_error(struct cuzk_engine *e, struct cuzk_dev *dev, const char *code, bool lost);
/** Takes a device out whose call does not come back. */
void cuzk_device_hung(struct cuzk_engine *e, struct cuzk_dev *dev);

/** --- job.c --- */
uint64_t cuzk_hash_text(const char *s, uint64_t seed);
struct cuzk_job *cuzk_job_find_locked(struct cuzk_engine *e, const char *job_id);
/** The newest run of a key. */
struct cuzk_job *cuzk_job_find_key_locked(struct cuzk_engine *e, const char *request_id, const uint8_t digest[32]);
void cuzk_job_insert_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_job_live_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_job_retain_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_job_unretain_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_job_ref_locked(struct cuzk_job *j);
void cuzk_job_put(struct cuzk_engine *e, struct cuzk_job *j);
/** Frees a job that no table or thread knows. */
void cuzk_job_free(struct cuzk_engine *e, struct cuzk_job *j);
/** The one way to an end; the first call decides. error (COMPLETED: NULL) is copied. Callers hold a reference, no lock. */
bool cuzk_job_end(struct cuzk_engine *e, struct cuzk_job *j, enum cuzk_job_state state, bool draining, const char *error);
/** Formats the error: token, then text, one line, at most CUZK_ERROR_BYTES. */
bool cuzk_job_fail(struct cuzk_engine *e, struct cuzk_job *j, const char *token, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/** After the end is durable: told to everybody. */
void cuzk_job_publish(struct cuzk_engine *e, struct cuzk_job *j);
/** Gives back inputs, parameters and memory of an ended job that nobody works on. */
void cuzk_job_try_release(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_job_orphan_locked(struct cuzk_engine *e, struct cuzk_job *j, uint64_t now);
void cuzk_job_timings_locked(struct cuzk_engine *e, const struct cuzk_job *j, uint64_t now, struct cuzk_job_timings *t);
void cuzk_job_started_locked(struct cuzk_engine *e, struct cuzk_job *j, uint64_t now);
/** Calls the waiters of a list taken off their job, and frees what nobody holds. */
void cuzk_watch_fire(struct cuzk_engine *e, struct cuzk_watch *list, const struct cuzk_job_result *r);
/** Takes a watch off its job. */
void cuzk_watch_remove_locked(struct cuzk_engine *e, struct cuzk_watch *w);
void cuzk_job_result_of_locked(struct cuzk_engine *e, const struct cuzk_job *j, struct cuzk_job_result *r);
/** Takes an ended job out of the tables; the caller then owns the table's reference. */
void cuzk_job_forget_locked(struct cuzk_engine *e, struct cuzk_job *j);
void cuzk_engine_check_idle_locked(struct cuzk_engine *e);
/** Makes the job's arrays. Errors: E_NOMEM. */
enum cuzk_status cuzk_job_make(struct cuzk_job **out, const char *request_id, struct cuzk_request *rq, const struct cuzk_plan *plan);
struct cuzk_circuit_stats *cuzk_circuit_locked(struct cuzk_engine *e, const char *id);
void cuzk_one_line(char *out, size_t n, const char *text);

/** --- keeper.c --- */
void *cuzk_keep_main(void *arg);
void *cuzk_journal_main(void *arg);
/** Queues a write that nobody waits for; lost if there is no memory. */
void cuzk_journal_later(struct cuzk_engine *e, enum cuzk_journal_op_kind kind, const char *job_id, unsigned priority, unsigned n_partitions);
void cuzk_journal_result(struct cuzk_engine *e, enum cuzk_status st);
enum cuzk_status cuzk_journal_claim(struct cuzk_engine *e, struct cuzk_detail *d);
void cuzk_timer_set_locked(struct cuzk_engine *e, struct cuzk_node *n, uint64_t when);
void cuzk_timer_clear_locked(struct cuzk_engine *e, struct cuzk_node *n);
#endif
