/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** An engine over the fake prover, on a virtual clock (or the real one), for the engine's test programs. */
#ifndef CUZK_TESTS_ENGINE_TESTING_H
#define CUZK_TESTS_ENGINE_TESTING_H
#include <stdatomic.h>

#include "base/alloc.h"
#include "engine/engine.h"
#include "engine/fake.h"
#include "testing.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { POREP = 1, SNAP = 2, WINDOW = 3, WINNING = 4 };

/** What fails, decided by a test's function. */
typedef enum cuzk_fake_fault fault_fn(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device);

struct bench {
  struct cuzk_clock *clock;
  struct cuzk_fake_options f;
  struct cuzk_fake *fake;
  struct cuzk_recorder *recorder;
  struct cuzk_metrics *metrics;
  struct cuzk_engine_options o;
  struct cuzk_engine *e;
  struct cuzk_event_record *events;
  size_t n_events;
  int64_t live;
};

/** Times and sizes of a small prover: synthesis 10 s, start 1 s, kernels 2 s, finish 0.5 s; memory enough for everything. The test may change
 *  b->f and b->o before bench_start. */
static inline void bench_init(struct bench *b, bool real) {
  *b = (struct bench){.live = cuzk_alloc_live()};
  assert_int_equal(real ? cuzk_clock_real(&b->clock) : cuzk_clock_virtual(&b->clock), CUZK_OK);
  cuzk_clock_enter(b->clock);
  b->f = (struct cuzk_fake_options){.clock = b->clock, .n_devices = 1, .seed = 7};
  static const unsigned parts[4] = {10, 16, 1, 1};
  for (unsigned k = 0; k < 4; k++) {
    struct cuzk_fake_kind *kind = &b->f.kind[k];
    kind->n_partitions = parts[k];
    kind->stage_ns[CUZK_FAKE_OPEN] = real ? 0 : 100 * CUZK_MS;
    kind->stage_ns[CUZK_FAKE_LOAD] = real ? 0 : 5 * CUZK_SECOND;
    kind->stage_ns[CUZK_FAKE_SYNTH] = real ? 0 : 10 * CUZK_SECOND;
    kind->stage_ns[CUZK_FAKE_START] = real ? 0 : CUZK_SECOND;
    kind->stage_ns[CUZK_FAKE_KERNELS] = real ? 0 : 2 * CUZK_SECOND;
    kind->stage_ns[CUZK_FAKE_FINISH] = real ? 0 : 500 * CUZK_MS;
    kind->stage_ns[CUZK_FAKE_VERIFY] = real ? 0 : 20 * CUZK_MS;
    kind->srs_bytes = 4 * GIB;
    kind->inputs_bytes = 50 * MIB;
    kind->partition_bytes[CUZK_MEM_ABC] = 600 * MIB;
    kind->partition_bytes[CUZK_MEM_AUX] = 200 * MIB;
    kind->partition_bytes[CUZK_MEM_PROVER] = 100 * MIB;
  }
  struct cuzk_fake_kind *w = &b->f.kind[WINNING - 1];
  w->srs_bytes = 100 * MIB;
  w->inputs_bytes = MIB;
  w->partition_bytes[CUZK_MEM_ABC] = 200 * MIB;
  if (!real) {
    w->stage_ns[CUZK_FAKE_SYNTH] = CUZK_SECOND;
    w->stage_ns[CUZK_FAKE_START] = 100 * CUZK_MS;
    w->stage_ns[CUZK_FAKE_KERNELS] = 200 * CUZK_MS;
    w->stage_ns[CUZK_FAKE_FINISH] = 100 * CUZK_MS;
  }
  cuzk_engine_defaults(&b->o);
  b->o.clock = b->clock;
  b->o.memory_total = 400 * GIB;
  b->o.synth_threads = 8;
}

static inline void bench_start(struct bench *b) {
  assert_int_equal(cuzk_fake_create(&b->fake, &b->f), CUZK_OK);
  b->o.prover = cuzk_fake_prover(b->fake);
  struct cuzk_recorder_options ro = {.clock = b->clock,
                                     .fd = -1,
                                     .ring = 1 << 17,
                                     .n_gpus = b->f.n_devices,
                                     .workers_per_gpu = b->o.workers_per_device,
                                     .version = "test"};
  struct cuzk_detail d;
  if (!b->o.recorder) {
    assert_int_equal(cuzk_recorder_create(&b->recorder, &ro, &d), CUZK_OK);
    b->o.recorder = b->recorder;
  }
  assert_int_equal(cuzk_metrics_create(&b->metrics), CUZK_OK);
  b->o.metrics = b->metrics;
  assert_int_equal(cuzk_engine_create(&b->e, &b->o, &d), CUZK_OK);
}

/** Everything is given back: inputs, parameters but resident ones, works, pendings, and the budget but resident parameters. */
static inline void bench_baseline(struct bench *b) {
  assert_true(cuzk_engine_wait_idle(b->e, cuzk_clock_now(b->clock) + 3600 * CUZK_SECOND));
  unsigned alive[4];
  cuzk_fake_alive(b->fake, alive);
  assert_int_equal(alive[0], 0);
  assert_int_equal(alive[2], 0);
  assert_int_equal(alive[3], 0);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b->e, &v), CUZK_OK);
  assert_int_equal(v.budget.used, v.budget.by_class[CUZK_MEM_SRS]);
  assert_int_equal(v.budget.n_waiters, 0);
  assert_int_equal(v.synth_active, 0);
  assert_int_equal(v.gpu_queue_depth, 0);
  assert_int_equal(v.provers_in_flight, 0);
  assert_int_equal(v.pending_handles, 0);
  assert_int_equal(v.queue_depth, 0);
  for (size_t i = 0; i < v.n_workers; i++) assert_int_equal(v.worker[i].phase, CUZK_PHASE_NONE);
  for (unsigned k = 0; k < 4; k++) assert_int_equal(v.kind[k].pending + v.kind[k].in_progress, 0);
  cuzk_engine_view_clear(&v);
}

static inline void bench_end(struct bench *b) {
  if (b->e) bench_baseline(b);
  cuzk_engine_destroy(&b->e);
  if (b->fake) {
    unsigned alive[4];
    cuzk_fake_alive(b->fake, alive);
    for (unsigned i = 0; i < 4; i++) assert_int_equal(alive[i], 0);
    assert_int_equal(cuzk_fake_misuses(b->fake), 0);
  }
  cuzk_fake_destroy(&b->fake);
  cuzk_recorder_destroy(&b->recorder);
  cuzk_metrics_destroy(&b->metrics);
  free(b->events);
  cuzk_clock_leave(b->clock);
  cuzk_clock_destroy(&b->clock);
  assert_int_equal(cuzk_alloc_live(), b->live);
}

/** A request of a kind, told from others by n. */
static inline struct cuzk_request *bench_request(unsigned kind, unsigned n) {
  uint8_t text[8];
  memcpy(text, &n, 4);
  memcpy(text + 4, &kind, 4);
  struct cuzk_request_fields f = {.kind = kind, .vanilla_proof = {text, sizeof text}};
  struct cuzk_request *rq = NULL;
  assert_int_equal(cuzk_request_create(&rq, &f), CUZK_OK);
  return rq;
}

struct ticket {
  char *job_id;
  struct cuzk_request *rq;
  unsigned position;
  int gpu;
  bool attached;
};
static inline void ticket_clear(struct ticket *t) {
  cuzk_free(t->job_id);
  cuzk_request_unref(&t->rq);
}

static inline enum cuzk_status bench_try(struct bench *b, struct ticket *t, unsigned kind, unsigned n, const char *request_id, unsigned priority,
                                         bool from_prove, enum cuzk_refusal *why) {
  *t = (struct ticket){.rq = bench_request(kind, n)};
  struct cuzk_submitted s;
  struct cuzk_detail d;
  enum cuzk_status st = cuzk_engine_submit(
      b->e, &(struct cuzk_submit){.request_id = request_id, .priority = priority, .from_prove = from_prove, .request = t->rq}, &s, why, &d);
  if (st != CUZK_OK) {
    cuzk_request_unref(&t->rq);
    return st;
  }
  t->job_id = s.job_id;
  t->position = s.queue_position;
  t->gpu = s.assigned_gpu;
  t->attached = s.attached;
  return st;
}

static inline struct ticket bench_submit(struct bench *b, unsigned kind, unsigned n, const char *request_id) {
  struct ticket t;
  assert_int_equal(bench_try(b, &t, kind, n, request_id, 0, false, NULL), CUZK_OK);
  return t;
}

static inline struct cuzk_job_result bench_await(struct bench *b, const char *job_id) {
  struct cuzk_job_result r;
  assert_int_equal(cuzk_engine_await(b->e, &r, job_id, CUZK_NEVER), CUZK_OK);
  return r;
}

static inline void assert_proof(struct bench *b, const struct cuzk_job_result *r, const struct cuzk_request *rq) {
  if (r->state != CUZK_JOB_COMPLETED) fail_msg("%s: %s", cuzk_job_state_names[r->state], r->error ? r->error : "-");
  unsigned n = b->f.kind[rq->f.kind - 1].n_partitions;
  assert_int_equal(r->proof_bytes, n * CUZK_PROOF_LEN);
  for (unsigned i = 0; i < n; i++) {
    uint8_t want[CUZK_PROOF_LEN];
    cuzk_fake_proof(want, rq, i);
    assert_memory_equal(r->proof + (size_t)i * CUZK_PROOF_LEN, want, CUZK_PROOF_LEN);
  }
}

/** Waits for the proof of a ticket, checks it, and clears the ticket. */
static inline void bench_complete(struct bench *b, struct ticket *t) {
  struct cuzk_job_result r = bench_await(b, t->job_id);
  assert_proof(b, &r, t->rq);
  cuzk_job_result_clear(&r);
  ticket_clear(t);
}

/** Waits for a failure that begins with a token, and clears the ticket. */
static inline void bench_fails(struct bench *b, struct ticket *t, const char *token) {
  struct cuzk_job_result r = bench_await(b, t->job_id);
  assert_int_equal(r.state, CUZK_JOB_FAILED);
  if (strncmp(r.error, token, strlen(token)) != 0) fail_msg("'%s' does not begin with '%s'", r.error, token);
  assert_true(strlen(r.error) <= 1024);
  assert_null(r.proof);
  cuzk_job_result_clear(&r);
  ticket_clear(t);
}

static inline void bench_sleep(struct bench *b, uint64_t ns) { cuzk_clock_sleep_until(b->clock, cuzk_clock_now(b->clock) + ns); }

/** Reads all events so far into b->events. */
static inline void bench_events(struct bench *b) {
  uint64_t first;
  size_t max = (size_t)cuzk_recorder_last(b->recorder);
  free(b->events);
  b->events = calloc(max + 1, sizeof *b->events);
  assert_non_null(b->events);
  b->n_events = cuzk_recorder_read(b->recorder, 0, b->events, max, &first);
  assert_int_equal(first, 1);
}

/** The first event of a sort for a job (NULL: any) and partition (-1: any); NULL if there is none. */
static inline const struct cuzk_event_record *bench_event(struct bench *b, enum cuzk_event ev, const char *job, int partition) {
  for (size_t i = 0; i < b->n_events; i++) {
    const struct cuzk_event_record *r = &b->events[i];
    if (r->event == ev && (!job || strcmp(job, r->job) == 0) && (partition < 0 || r->partition == partition)) return r;
  }
  return NULL;
}

static inline unsigned bench_count(struct bench *b, enum cuzk_event ev, const char *job) {
  unsigned n = 0;
  for (size_t i = 0; i < b->n_events; i++) n += b->events[i].event == ev && (!job || strcmp(job, b->events[i].job) == 0);
  return n;
}
#endif
