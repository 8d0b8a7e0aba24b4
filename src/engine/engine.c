/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Making and ending the engine, stopping, parameters. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "engine/engine_internal.h"

#define MINUTE (60 * CUZK_SECOND)
#define GIB (UINT64_C(1) << 30)
/* Memory of one synthesis where the number of threads follows from the budget, and the most threads then. */
#define SYNTH_BYTES (16 * GIB)
#define SYNTH_MAX 18

void cuzk_engine_defaults(struct cuzk_engine_options *o) {
  *o = (struct cuzk_engine_options){
      .critical_slice = GIB,
      .workers_per_device = 2,
      .split_prove = true,
      .sort_by_type = true,
      .self_check = CUZK_CHECK_ALL,
      .retry_on_error = 1,
      .quarantine_errors = 3,
      .quarantine_ns = 5 * MINUTE,
      .stage_timeout_ns = 30 * MINUTE,
      .t = {.max_queued_jobs = 256,
            .max_queued_bytes = 8 * GIB,
            .eviction_min_idle_ns = 5 * MINUTE,
            .result_ttl_ns = 10 * MINUTE,
            .orphan_grace_ns = MINUTE,
            .age_limit_ns = 15 * MINUTE,
            .result_max = 1024,
            .orphan_policy = CUZK_ORPHAN_DROP_QUEUED},
  };
}

static enum cuzk_status check(const struct cuzk_engine_options *o, struct cuzk_detail *d) {
  if (!o->clock) return cuzk_fail(d, CUZK_E_ARG, "clock: missing");
  if (!o->prover.ops) return cuzk_fail(d, CUZK_E_ARG, "prover: missing");
  if (o->memory_total == 0) return cuzk_fail(d, CUZK_E_ARG, "memory_total: must not be 0");
  if (o->workers_per_device > 16) return cuzk_fail(d, CUZK_E_ARG, "workers_per_device: %u is more than 16", o->workers_per_device);
  const unsigned counts[] = {o->prep_threads, o->synth_threads, o->finish_threads, o->verify_threads};
  const char *const names[] = {"prep_threads", "synth_threads", "finish_threads", "verify_threads"};
  for (unsigned i = 0; i < 4; i++)
    if (counts[i] > 4096) return cuzk_fail(d, CUZK_E_ARG, "%s: %u is more than 4096", names[i], counts[i]);
  if (o->prover.ops->n_devices(o->prover.self) == 0) return cuzk_fail(d, CUZK_E_ARG, "prover: it has no device");
  return CUZK_OK;
}

/* ---- series ---- */

static struct cuzk_series *kind_series(struct cuzk_engine *e, const char *family, enum cuzk_metric_type type, const char *help,
                                       const char *label, unsigned kind) {
  char text[64];
  (void)snprintf(text, sizeof text, "%s=\"%s\"", label, e->ops->kinds[kind].metric_label);
  return cuzk_metrics_series(e->o.metrics, family, type, help, text);
}

static void make_series(struct cuzk_engine *e) {
  struct cuzk_metrics *m = e->o.metrics;
  if (!m) return;
  e->m_completed = cuzk_metrics_series(m, "cuzk_proofs_completed_total", CUZK_COUNTER, "Jobs that ended with a proof.", "");
  e->m_failed_all = cuzk_metrics_series(m, "cuzk_proofs_failed_total", CUZK_COUNTER, "Jobs that failed.", "");
  e->m_retries = cuzk_metrics_series(m, "cuzk_retries_total", CUZK_COUNTER, "Partitions that were tried again.", "");
  e->m_budget_wait =
      cuzk_metrics_series(m, "cuzk_budget_wait_seconds_total", CUZK_COUNTER, "Time that partitions waited for memory.", "");
  e->m_finish = cuzk_metrics_series(m, "cuzk_partition_finish_seconds", CUZK_HISTOGRAM, "Host work after the device.", "");
  e->m_journal_errors = cuzk_metrics_series(m, "cuzk_journal_errors_total", CUZK_COUNTER, "Writes to the journal that failed.", "");
  for (unsigned k = 0; k < CUZK_N_KINDS; k++) {
    e->m_done[k] = kind_series(e, "cuzk_proofs_completed", CUZK_COUNTER, "Jobs that ended with a proof, by kind.", "proof_kind", k);
    e->m_failed[k] = kind_series(e, "cuzk_proofs_failed", CUZK_COUNTER, "Jobs that failed, by kind.", "proof_kind", k);
    e->m_sum[k] = kind_series(e, "cuzk_proof_duration_seconds", CUZK_HISTOGRAM, "Admission to proof.", "proof_kind", k);
    e->m_job[k] = kind_series(e, "cuzk_job_seconds", CUZK_HISTOGRAM, "Admission to the end, whatever it was.", "kind", k);
    e->m_wait[k] = kind_series(e, "cuzk_queue_wait_seconds", CUZK_HISTOGRAM, "Admission to the first partition's start.", "kind", k);
    e->m_selfcheck[k] =
        kind_series(e, "cuzk_selfcheck_failures_total", CUZK_COUNTER, "Verifications that found a proof not to hold.", "kind", k);
  }
  static const char *const reasons[7] = {"no_demand",         "cold_start",  "cross_sector_stall", "intra_sector_stall",
                                         "dispatch_overhead", "budget_wait", "srs_load"};
  for (unsigned i = 0; i < e->n_devices; i++) {
    struct cuzk_dev *dev = &e->dev[i];
    char text[96];
    (void)snprintf(text, sizeof text, "gpu=\"%u\"", dev->ordinal);
    dev->busy = cuzk_metrics_series(m, "cuzk_gpu_busy_seconds_total", CUZK_COUNTER, "Time the device lock was held.", text);
    dev->lock_wait = cuzk_metrics_series(m, "cuzk_partition_gpu_lock_wait_seconds", CUZK_HISTOGRAM, "Wait for the device lock.", text);
    for (unsigned r = 0; r < 7; r++) {
      (void)snprintf(text, sizeof text, "gpu=\"%u\",reason=\"%s\"", dev->ordinal, reasons[r]);
      dev->reason[r] =
          cuzk_metrics_series(m, "cuzk_gpu_idle_seconds_total", CUZK_COUNTER, "Time between device calls, by what it was waited for.", text);
    }
  }
}

/* ---- making ---- */

static struct cuzk_cond *const *conds(struct cuzk_engine *e, struct cuzk_cond *out[12]) {
  struct cuzk_cond *all[] = {&e->prep_cond,   &e->express_prep_cond, &e->dispatch_cond, &e->synth_cond,   &e->express_cond, &e->finish_cond,
                             &e->verify_cond, &e->keep_cond,         &e->journal_cond,  &e->idle_cond, &e->admit_cond};
  memcpy(out, all, sizeof all);
  out[11] = NULL;
  return out;
}

static enum cuzk_status make_devices(struct cuzk_engine *e) {
  unsigned per = e->o.workers_per_device;
  e->dev = cuzk_calloc(e->n_devices, sizeof *e->dev);
  e->worker = cuzk_calloc((size_t)e->n_devices * (per + 1), sizeof *e->worker);
  if (!e->dev || !e->worker) return CUZK_E_NOMEM;
  for (unsigned i = 0; i < e->n_devices; i++) {
    struct cuzk_dev *dev = &e->dev[i];
    dev->ordinal = i;
    enum cuzk_status st = cuzk_cond_init(&dev->cond, e->clock);
    if (st != CUZK_OK) return st;
    st = cuzk_device_lock_init(&dev->lock);
    if (st != CUZK_OK) {
      cuzk_cond_clear(&dev->cond);
      return st;
    }
    dev->made = true;
  }
  /* The fast lane's workers, one a device, come after all others in number. */
  for (unsigned i = 0; i < e->n_devices * (per + 1); i++) {
    struct cuzk_worker *w = &e->worker[i];
    w->e = e;
    w->express = i >= e->n_devices * per;
    w->dev = &e->dev[w->express ? i - e->n_devices * per : i / per];
    w->number = i;
    enum cuzk_status st = cuzk_cond_init(&w->lock_cond, e->clock);
    if (st != CUZK_OK) return st;
    e->n_workers++;
  }
  return CUZK_OK;
}

/* The lists of circuits, copied: one block of pointers and text. */
static enum cuzk_status copy_affinity(struct cuzk_engine *e) {
  const char *const *in = e->o.affinity;
  if (!in) return CUZK_OK;
  size_t bytes = e->n_devices * sizeof(char *);
  for (unsigned i = 0; i < e->n_devices; i++) bytes += in[i] ? strlen(in[i]) + 1 : 0;
  e->affinity_copy = cuzk_malloc(bytes);
  if (!e->affinity_copy) return CUZK_E_NOMEM;
  const char **table = (const char **)(void *)e->affinity_copy;
  char *text = e->affinity_copy + e->n_devices * sizeof(char *);
  for (unsigned i = 0; i < e->n_devices; i++) {
    table[i] = in[i] ? text : NULL;
    if (!in[i]) continue;
    size_t n = strlen(in[i]) + 1;
    memcpy(text, in[i], n);
    text += n;
  }
  e->o.affinity = table;
  return CUZK_OK;
}

static enum cuzk_status start(struct cuzk_engine *e, pthread_t *t, const char *name, unsigned n, void *(*fn)(void *), void *arg) {
  char text[24];
  (void)snprintf(text, sizeof text, n == UINT32_MAX ? "%s" : "%s%u", name, n);
  return cuzk_clock_thread(e->clock, t, text, fn, arg);
}

static enum cuzk_status start_threads(struct cuzk_engine *e) {
  enum cuzk_status st = CUZK_OK;
  if (e->journal_on) {
    CUZK_TRY(start(e, &e->journal_thread, "journal", UINT32_MAX, cuzk_journal_main, e));
    e->journal_started = true;
  }
  CUZK_TRY(start(e, &e->keep_thread, "reaper", UINT32_MAX, cuzk_keep_main, e));
  e->keep_started = true;
  for (; e->n_verify_started < e->o.verify_threads; e->n_verify_started++)
    CUZK_TRY(start(e, &e->verify_thread[e->n_verify_started], "verify-", e->n_verify_started, cuzk_verify_main, e));
  for (; e->n_finish_started < e->o.finish_threads; e->n_finish_started++)
    CUZK_TRY(start(e, &e->finish_thread[e->n_finish_started], "fin-", e->n_finish_started, cuzk_finish_main, e));
  for (; e->n_workers_started < e->n_workers; e->n_workers_started++) {
    struct cuzk_worker *w = &e->worker[e->n_workers_started];
    CUZK_TRY(start(e, &w->thread, "gpu-", w->number, cuzk_worker_main, w));
  }
  for (; e->n_synth_started < e->synth_max; e->n_synth_started++)
    CUZK_TRY(start(e, &e->synth_thread[e->n_synth_started], "synth-", e->n_synth_started, cuzk_synth_main, e));
  CUZK_TRY(start(e, &e->express_thread, "synth-x", UINT32_MAX, cuzk_express_main, e));
  e->express_started = true;
  CUZK_TRY(start(e, &e->dispatch_thread, "dispatch", UINT32_MAX, cuzk_dispatch_main, e));
  e->dispatch_started = true;
  for (; e->n_prep_started < e->n_prep; e->n_prep_started++)
    CUZK_TRY(start(e, &e->prep[e->n_prep_started].thread, "prep-", e->n_prep_started, cuzk_prep_main, &e->prep[e->n_prep_started]));
out:
  return st;
}

static void end_threads(struct cuzk_engine *e) {
  cuzk_engine_lock(e);
  e->quit = e->stopping = true;
  struct cuzk_cond *all[12];
  for (struct cuzk_cond *const *c = conds(e, all); *c; c++)
    if ((*c)->clock) cuzk_cond_broadcast(*c);
  for (unsigned i = 0; i < e->n_devices && e->dev; i++)
    if (e->dev[i].made) cuzk_cond_broadcast(&e->dev[i].cond);
  cuzk_engine_unlock(e);
  for (unsigned i = 0; i < e->n_prep_started; i++) cuzk_clock_join(e->clock, e->prep[i].thread);
  if (e->dispatch_started) cuzk_clock_join(e->clock, e->dispatch_thread);
  if (e->express_started) cuzk_clock_join(e->clock, e->express_thread);
  for (unsigned i = 0; i < e->n_synth_started; i++) cuzk_clock_join(e->clock, e->synth_thread[i]);
  for (unsigned i = 0; i < e->n_workers_started; i++) cuzk_clock_join(e->clock, e->worker[i].thread);
  for (unsigned i = 0; i < e->n_finish_started; i++) cuzk_clock_join(e->clock, e->finish_thread[i]);
  for (unsigned i = 0; i < e->n_verify_started; i++) cuzk_clock_join(e->clock, e->verify_thread[i]);
  if (e->keep_started) cuzk_clock_join(e->clock, e->keep_thread);
  if (e->journal_started) cuzk_clock_join(e->clock, e->journal_thread);
}

/* Everything but the threads, which have ended. */
static void release(struct cuzk_engine *e) {
  for (unsigned b = 0; b < CUZK_JOB_BUCKETS; b++) {
    while (e->by_id[b]) {
      struct cuzk_job *j = e->by_id[b];
      cuzk_job_forget_locked(e, j);
      cuzk_job_free(e, j);
    }
  }
  while (e->jops) {
    struct cuzk_journal_op *op = e->jops;
    e->jops = op->next;
    cuzk_free(op);
  }
  cuzk_residency_destroy(&e->residency);
  cuzk_budget_destroy(&e->budget);
  for (unsigned i = 0; i < e->n_workers; i++) cuzk_cond_clear(&e->worker[i].lock_cond);
  for (unsigned i = 0; i < e->n_devices && e->dev; i++) {
    if (!e->dev[i].made) continue;
    cuzk_device_lock_clear(&e->dev[i].lock);
    cuzk_cond_clear(&e->dev[i].cond);
  }
  struct cuzk_cond *all[12];
  for (struct cuzk_cond *const *c = conds(e, all); *c; c++) cuzk_cond_clear(*c);
  cuzk_free(e->dev);
  cuzk_free(e->worker);
  cuzk_free(e->prep);
  cuzk_free(e->synth_thread);
  cuzk_free(e->finish_thread);
  cuzk_free(e->verify_thread);
  cuzk_free(e->affinity_copy);
  (void)pthread_mutex_destroy(&e->lock);
  cuzk_free(e);
}

enum cuzk_status cuzk_engine_create(struct cuzk_engine **out, const struct cuzk_engine_options *o, struct cuzk_detail *d) {
  *out = NULL;
  enum cuzk_status st = check(o, d);
  if (st != CUZK_OK) return st;
  struct cuzk_engine *e = cuzk_calloc(1, sizeof *e);
  if (!e) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the engine");
  if (pthread_mutex_init(&e->lock, NULL) != 0) {
    cuzk_free(e);
    return cuzk_fail(d, CUZK_E_NOMEM, "no mutex for the engine");
  }
  e->o = *o;
  e->ops = o->prover.ops;
  e->self = o->prover.self;
  e->clock = o->clock;
  e->journal_on = o->journal.ops != NULL;
  e->n_devices = e->ops->n_devices(e->self);
  if (!e->o.prep_threads) e->o.prep_threads = 2;
  if (!e->o.finish_threads) e->o.finish_threads = 4;
  if (!e->o.verify_threads) e->o.verify_threads = 2;
  if (!e->o.workers_per_device) e->o.workers_per_device = 2;
  if (!e->o.stage_timeout_ns) e->o.stage_timeout_ns = 30 * MINUTE;
  if (e->o.critical_slice > e->o.memory_total / 8) e->o.critical_slice = e->o.memory_total / 8;
  uint64_t by_budget = e->o.memory_total / SYNTH_BYTES;
  e->synth_max = o->synth_threads ? o->synth_threads : by_budget < 2 ? 2 : by_budget > SYNTH_MAX ? SYNTH_MAX : (unsigned)by_budget;
  e->prep_ahead = e->synth_max + 2 * e->n_devices;
  e->start_ns = cuzk_engine_now(e);
  e->inbox_last = &e->inbox;
  e->ends_last = &e->ends;
  e->jops_last = &e->jops;

  struct cuzk_cond *all[12];
  for (struct cuzk_cond *const *c = conds(e, all); *c; c++) CUZK_TRY(cuzk_cond_init(*c, e->clock));
  st = CUZK_E_NOMEM;
  e->n_prep = e->o.prep_threads + 1; /* one for CRITICAL jobs */
  e->prep = cuzk_calloc(e->n_prep, sizeof *e->prep);
  e->synth_thread = cuzk_calloc(e->synth_max, sizeof *e->synth_thread);
  e->finish_thread = cuzk_calloc(e->o.finish_threads, sizeof *e->finish_thread);
  e->verify_thread = cuzk_calloc(e->o.verify_threads, sizeof *e->verify_thread);
  if (!e->prep || !e->synth_thread || !e->finish_thread || !e->verify_thread) goto out;
  for (unsigned i = 0; i < e->n_prep; i++) {
    e->prep[i].e = e;
    e->prep[i].express = i == e->n_prep - 1;
  }
  CUZK_TRY(copy_affinity(e));
  CUZK_TRY(make_devices(e));
  CUZK_TRY(cuzk_budget_create(&e->budget, &(struct cuzk_budget_options){
                                              .clock = e->clock, .total = e->o.memory_total, .critical_slice = e->o.critical_slice}));
  CUZK_TRY(cuzk_residency_create(&e->residency, &(struct cuzk_residency_options){.clock = e->clock,
                                                                                 .budget = e->budget,
                                                                                 .recorder = e->o.recorder,
                                                                                 .prover = e->o.prover,
                                                                                 .min_idle_ns = e->o.t.eviction_min_idle_ns}));
  make_series(e);
  if (e->journal_on) {
    st = cuzk_journal_claim(e, d);
    if (st != CUZK_OK) {
      release(e);
      return st;
    }
  }
  CUZK_TRY(start_threads(e));
  *out = e;
  return CUZK_OK;
out:
  end_threads(e);
  release(e);
  return cuzk_fail(d, st, "no memory or no thread for the engine");
}

void cuzk_engine_destroy(struct cuzk_engine **ep) {
  struct cuzk_engine *e = *ep;
  if (!e) return;
  *ep = NULL;
  cuzk_engine_drain(e);
  cuzk_engine_stop_running(e);
  (void)cuzk_engine_wait_idle(e, CUZK_NEVER);
  end_threads(e);
  cuzk_record(e->o.recorder, CUZK_EV_STOP, NULL, "%s", "");
  release(e);
}

void cuzk_engine_tune(struct cuzk_engine *e, const struct cuzk_engine_tunables *t) {
  cuzk_engine_lock(e);
  e->o.t = *t;
  cuzk_cond_signal(&e->keep_cond);
  cuzk_cond_signal(&e->dispatch_cond);
  cuzk_engine_unlock(e);
  cuzk_residency_set_min_idle(e->residency, t->eviction_min_idle_ns);
}

/* ---- stopping ---- */

/* Ends, as interrupted, all jobs that have not started, or all. */
static void interrupt_jobs(struct cuzk_engine *e, bool started_too) {
  for (;;) {
    cuzk_engine_lock(e);
    struct cuzk_job *j = e->live;
    while (j && (j->ending || j->admitting || (j->started_ns && !started_too))) j = j->next;
    if (j) cuzk_job_ref_locked(j);
    cuzk_engine_unlock(e);
    if (!j) return;
    (void)cuzk_job_end(e, j, CUZK_JOB_CANCELLED, true, NULL);
    cuzk_job_put(e, j);
  }
}

void cuzk_engine_drain(struct cuzk_engine *e) {
  cuzk_engine_lock(e);
  bool first = !e->draining;
  e->draining = true;
  cuzk_engine_unlock(e);
  if (first) cuzk_record(e->o.recorder, CUZK_EV_DRAIN, NULL, "%s", "");
  interrupt_jobs(e, false);
}

void cuzk_engine_stop_running(struct cuzk_engine *e) {
  cuzk_engine_lock(e);
  e->draining = e->stopping = true;
  cuzk_cond_signal(&e->journal_cond);
  cuzk_engine_unlock(e);
  interrupt_jobs(e, true);
}

bool cuzk_engine_wait_idle(struct cuzk_engine *e, uint64_t until) {
  cuzk_engine_lock(e);
  bool idle;
  for (;;) {
    idle = e->n_live == 0 && e->busy == 0 && e->in_flight == 0;
    if (idle || cuzk_engine_now(e) >= until) break;
    (void)cuzk_cond_wait(&e->idle_cond, &e->lock, until);
  }
  cuzk_engine_unlock(e);
  return idle;
}

/* ---- parameters ---- */

enum cuzk_status cuzk_engine_preload(struct cuzk_engine *e, const char *circuit_id, uint64_t until, const atomic_bool *cancel,
                                     bool *already, uint64_t *load_ms, enum cuzk_refusal *why, struct cuzk_detail *d) {
  enum cuzk_refusal ignored;
  if (!why) why = &ignored;
  *why = CUZK_REFUSED_NOT;
  *already = false;
  *load_ms = 0;
  cuzk_engine_lock(e);
  bool draining = e->draining;
  /* Behind all jobs of its class, and unlike any other. */
  struct cuzk_key key = {.cls = 2, .seq = UINT64_MAX - e->next_preload++};
  if (!draining) e->busy++;
  cuzk_engine_unlock(e);
  if (draining) {
    *why = CUZK_REFUSED_DRAINING;
    return cuzk_fail(d, CUZK_E_CANCELLED, "the service is stopping");
  }
  *already = cuzk_residency_has(e->residency, circuit_id);
  struct cuzk_srs_ref *ref = NULL;
  uint64_t t0 = cuzk_engine_now(e);
  enum cuzk_status st = cuzk_residency_get(e->residency, &ref, circuit_id, NULL, &key, until, cancel, NULL, d);
  if (st == CUZK_OK) {
    *load_ms = *already ? 0 : (cuzk_engine_now(e) - t0) / CUZK_MS;
    cuzk_residency_put(&ref);
  } else if (st == CUZK_E_ARG) {
    *why = CUZK_REFUSED_BAD;
  } else if (st == CUZK_E_NOENT || st == CUZK_E_UNSUPPORTED) {
    *why = CUZK_REFUSED_PRECONDITION;
  }
  cuzk_engine_lock(e);
  e->busy--;
  cuzk_cond_broadcast(&e->prep_cond);
  cuzk_engine_check_idle_locked(e);
  cuzk_engine_unlock(e);
  return st;
}

enum cuzk_status cuzk_engine_evict(struct cuzk_engine *e, const char *circuit_id, bool *was_loaded, uint64_t *freed, struct cuzk_detail *d) {
  return cuzk_residency_evict(e->residency, circuit_id, was_loaded, freed, d);
}
