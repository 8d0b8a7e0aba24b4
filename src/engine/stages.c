/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the host's threads do with jobs and partitions: prepare, synthesise, finish, verify. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.h"
#include "engine/engine_internal.h"

#define EMA 0.2

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static bool retryable(enum cuzk_status st) {
  switch (st) {
#define CUZK_X(name, value, text, grpc, exit_code, retry) \
  case CUZK_##name: return retry;
    CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
  }
  return false;
}

static bool about_inputs(enum cuzk_status st) {
  return st == CUZK_E_ARG || st == CUZK_E_FORMAT || st == CUZK_E_NOT_CURVE || st == CUZK_E_NOT_GROUP || st == CUZK_E_INFINITY ||
         st == CUZK_E_MISMATCH;
}

static const char *said(const struct cuzk_detail *d, enum cuzk_status st) { return d->text[0] ? d->text : cuzk_status_text(st); }

/* ---- partitions leave a thread's hands ---- */

void cuzk_stage_begin_locked(struct cuzk_engine *e, struct cuzk_part *p, const char *stage) {
  p->stage = stage;
  p->stage_ns = cuzk_engine_now(e);
  p->overdue = false;
}

static void leave_locked(struct cuzk_engine *e, struct cuzk_part *p) {
  struct cuzk_job *j = p->job;
  p->stage = NULL;
  p->phase = CUZK_PHASE_NONE;
  p->worker = 0;
  if (j->ending && p->state != CUZK_PART_DONE) p->state = j->end_state == CUZK_JOB_FAILED ? CUZK_PART_FAILED : CUZK_PART_PENDING;
  j->in_flight--;
  e->in_flight--;
  e->busy++; /* until left() */
  cuzk_budget_set_running(e->budget, e->in_flight);
  cuzk_cond_signal(&e->dispatch_cond);
}

static void left(struct cuzk_engine *e, struct cuzk_job *j) {
  cuzk_job_try_release(e, j);
  cuzk_engine_lock(e);
  e->busy--;
  cuzk_engine_check_idle_locked(e);
  cuzk_engine_unlock(e);
  cuzk_job_put(e, j);
}

void cuzk_part_leave(struct cuzk_engine *e, struct cuzk_part *p) {
  struct cuzk_job *j = p->job;
  cuzk_reservation_free(&p->resv);
  cuzk_engine_lock(e);
  leave_locked(e, p);
  cuzk_engine_unlock(e);
  left(e, j);
}

void cuzk_part_requeue(struct cuzk_engine *e, struct cuzk_part *p) {
  struct cuzk_job *j = p->job;
  cuzk_reservation_free(&p->resv);
  cuzk_engine_lock(e);
  p->state = CUZK_PART_PENDING;
  if (!j->ending) cuzk_job_queue_parts_locked(e, j);
  leave_locked(e, p);
  cuzk_engine_unlock(e);
  left(e, j);
}

static void fail_part(struct cuzk_engine *e, struct cuzk_part *p, const char *stage, int device, enum cuzk_status st,
                      const struct cuzk_detail *d) {
  const char *token = "internal";
  char where[32] = "";
  if (device >= 0) {
    token = st == CUZK_E_NOMEM ? "gpu_oom" : "gpu";
    (void)snprintf(where, sizeof where, " on device %d", device);
  } else if (st == CUZK_E_NOMEM) {
    token = "out_of_memory";
  } else if (st == CUZK_E_UNSAT || retryable(st)) {
    token = "synthesis";
  } else if (about_inputs(st)) {
    token = "bad_input";
  } else if (st == CUZK_E_UNSUPPORTED) {
    token = "unsupported";
  }
  (void)cuzk_job_fail(e, p->job, token, "partition %u: %s%s: %s", p->index, stage, where, said(d, st));
}

void cuzk_part_failed(struct cuzk_engine *e, struct cuzk_part *p, const char *stage, int device, enum cuzk_status st,
                      const struct cuzk_detail *d) {
  struct cuzk_job *j = p->job;
  char err[200];
  cuzk_engine_lock(e);
  bool ended = j->ending;
  cuzk_engine_unlock(e);
  if (device >= 0 && (st == CUZK_E_DEVICE || st == CUZK_E_NOMEM)) {
    struct cuzk_device_info info = {.ordinal = (unsigned)device};
    e->ops->device_info(e->self, (unsigned)device, &info);
    cuzk_device_error(e, &e->dev[device], info.lost ? "lost" : st == CUZK_E_NOMEM ? "oom" : "launch", info.lost);
  }
  if (ended) {
    cuzk_part_leave(e, p);
    return;
  }
  (void)cuzk_record_text(err, sizeof err, said(d, st));
  cuzk_record(e->o.recorder, CUZK_EV_PART_FAIL, j->job_id, "partition=%u,stage=%s,gpu=%d,err=%s", p->index, stage, device, err);
  bool again = false;
  cuzk_engine_lock(e);
  p->alone = false;
  if (device >= 0 && retryable(st)) {
    if (st == CUZK_E_NOMEM && !p->oom_retried) {
      p->oom_retried = p->alone = true;
      again = true;
    } else if (p->attempt < e->o.retry_on_error) {
      p->attempt++;
      p->avoid = device;
      again = true;
    }
  }
  cuzk_engine_unlock(e);
  if (again) {
    cuzk_series_add(e->m_retries, 1);
    cuzk_record(e->o.recorder, CUZK_EV_PART_RETRY, j->job_id, "partition=%u,stage=%s,gpu=%d,err=%s", p->index, stage, device, err);
    cuzk_part_requeue(e, p);
    return;
  }
  fail_part(e, p, stage, device, st, d);
  cuzk_part_leave(e, p);
}

/* ---- preparation ---- */

struct prepared {
  struct cuzk_reservation *resv;
  void *inputs;
  struct cuzk_srs_ref *srs;
  uint64_t srs_ns;
};

static void drop_prepared(struct cuzk_engine *e, struct prepared *r) {
  if (r->inputs) e->ops->close(e->self, r->inputs);
  cuzk_reservation_free(&r->resv);
  if (r->srs) cuzk_residency_put(&r->srs);
}

/* Parameters, memory for the inputs, inputs: in this order, or inputs of jobs that wait for parameters would fill the room that the budget
 * keeps for those that have theirs. On failure *token says what kind it is. */
static enum cuzk_status prepare(struct cuzk_prep *t, struct prepared *r, const char **token, struct cuzk_detail *d) {
  struct cuzk_engine *e = t->e;
  struct cuzk_job *j = t->job;
  struct cuzk_plan plan = j->plan;
  uint64_t partition = 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++) partition += plan.partition_bytes[m];
  cuzk_residency_need(e->residency, plan.circuit_id, plan.inputs_bytes, partition);
  enum cuzk_status st = cuzk_residency_get(e->residency, &r->srs, plan.circuit_id, j->job_id, &t->key, CUZK_NEVER, &t->cancel, &r->srs_ns, d);
  if (st != CUZK_OK) {
    r->srs = NULL;
    *token = st == CUZK_E_NOENT ? "srs_missing" : st == CUZK_E_NOMEM || st == CUZK_E_UNSUPPORTED ? "out_of_memory" : "srs_load";
    return st;
  }
  uint64_t bytes[CUZK_N_MEM] = {0};
  bytes[CUZK_MEM_INPUTS] = plan.inputs_bytes;
  if (bytes[CUZK_MEM_INPUTS] > 0) {
    st = cuzk_budget_acquire(e->budget, &r->resv, bytes, &t->key, CUZK_NEVER, &t->cancel, NULL, NULL, NULL, d);
    *token = "out_of_memory";
    if (st != CUZK_OK) return st;
  }
  st = e->ops->open(e->self, t->rq, &plan, &r->inputs, &t->cancel, d);
  if (st == CUZK_OK) return st;
  r->inputs = NULL;
  *token = about_inputs(st)             ? "bad_input"
           : st == CUZK_E_UNSUPPORTED ? "unsupported"
           : st == CUZK_E_NOENT       ? "srs_missing"
           : st == CUZK_E_NOMEM       ? "out_of_memory"
                                      : "internal";
  return st;
}

static void prepare_job(struct cuzk_prep *t) {
  struct cuzk_engine *e = t->e;
  struct cuzk_job *j = t->job;
  struct prepared r = {0};
  struct cuzk_detail d = {""};
  const char *token = "internal";
  enum cuzk_status st = prepare(t, &r, &token, &d);
  if (st != CUZK_OK) {
    drop_prepared(e, &r);
    /* Cancelled without the job's end: somebody else should have gone first. */
    if (st != CUZK_E_CANCELLED || !atomic_load(&t->cancel)) (void)cuzk_job_fail(e, j, token, "%s", said(&d, st));
    cuzk_engine_lock(e);
    if (!j->ending) cuzk_prepq_push_locked(e, j);
    cuzk_engine_unlock(e);
    return;
  }
  if (!atomic_load(&j->stop))
    cuzk_record(e->o.recorder, CUZK_EV_JOB_PREP, j->job_id, "circuit=%s,partitions=%u,seq=%llu", j->plan.circuit_id, j->n_parts,
                (unsigned long long)j->seq);
  bool all = false;
  cuzk_engine_lock(e);
  bool keep = !j->ending;
  if (keep) {
    j->inputs = r.inputs;
    j->inputs_resv = r.resv;
    j->srs = r.srs;
    j->srs_wait_ns += r.srs_ns;
    j->prepared = true;
    j->state = CUZK_JOB_RUNNING;
    all = j->n_done == j->n_parts;
    if (all) {
      j->state = CUZK_JOB_ASSEMBLED;
      cuzk_job_started_locked(e, j, cuzk_engine_now(e));
      cuzk_verifyq_push_locked(e, j);
    } else {
      cuzk_job_queue_parts_locked(e, j);
    }
    }
  cuzk_engine_unlock(e);
  if (!keep) drop_prepared(e, &r);
}

void *cuzk_prep_main(void *arg) {
  struct cuzk_prep *t = arg;
  struct cuzk_engine *e = t->e;
  cuzk_engine_lock(e);
  while (!e->quit) {
    struct cuzk_job *j = cuzk_prepq_pick_locked(e, t->express);
    if (!j) {
      (void)cuzk_cond_wait(t->express ? &e->express_prep_cond : &e->prep_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    cuzk_job_ref_locked(j);
    t->job = j;
    j->preparing = true;
    if (j->state == CUZK_JOB_QUEUED) j->state = CUZK_JOB_PREPARING;
    t->rq = cuzk_request_ref(j->request);
    atomic_store(&t->cancel, false);
    t->key = cuzk_job_key_locked(e, j, 0, cuzk_engine_now(e));
    e->busy++;
    cuzk_engine_unlock(e);
    prepare_job(t);
    cuzk_request_unref(&t->rq);
    cuzk_engine_lock(e);
    t->job = NULL;
    j->preparing = false;
    e->busy--;
    if (e->prepq.n > 0) { /* its circuit may be there for others now */
      cuzk_cond_broadcast(&e->prep_cond);
      cuzk_cond_signal(&e->express_prep_cond);
    }
    cuzk_engine_check_idle_locked(e);
    cuzk_engine_unlock(e);
    cuzk_job_put(e, j);
    cuzk_engine_lock(e);
  }
  cuzk_engine_unlock(e);
  return NULL;
}

/* ---- synthesis ---- */

static void synth_over_locked(struct cuzk_engine *e, bool express) {
  if (express) e->express_active--;
  else e->synth_active--;
  cuzk_cond_signal(&e->dispatch_cond);
}

void cuzk_stage_synth(struct cuzk_engine *e, struct cuzk_part *p, bool express) {
  struct cuzk_job *j = p->job;
  long tid = (long)syscall(SYS_gettid);
  uint64_t t0 = cuzk_engine_now(e);
  cuzk_engine_lock(e);
  bool wanted = !j->ending;
  p->synth0_ns = t0;
  p->synth1_ns = 0;
  p->gpu0_ns = p->gpu1_ns = 0;
  cuzk_stage_begin_locked(e, p, "synthesis");
  if (!wanted) synth_over_locked(e, express);
  cuzk_engine_unlock(e);
  if (!wanted) {
    cuzk_part_leave(e, p);
    return;
  }
  cuzk_record(e->o.recorder, CUZK_EV_SYNTH_START, j->job_id, "partition=%u,tid=%ld,pinned=0", p->index, tid);
  void *work = NULL;
  struct cuzk_detail d = {""};
  enum cuzk_status st = e->ops->synth(e->self, j->inputs, cuzk_srs_ref_handle(j->srs), p->index, &work, &j->stop, &d);
  uint64_t t1 = cuzk_engine_now(e);
  cuzk_record(e->o.recorder, CUZK_EV_SYNTH_END, j->job_id, "partition=%u,synth_ms=%llu,tid=%ld,pinned=0", p->index,
              (unsigned long long)((t1 - t0) / CUZK_MS), tid);
  if (st == CUZK_OK) {
    char label[64];
    (void)snprintf(label, sizeof label, "circuit=\"%s\"", j->plan.circuit_id);
    if (e->o.metrics)
      cuzk_series_observe(cuzk_metrics_series(e->o.metrics, "cuzk_partition_synth_seconds", CUZK_HISTOGRAM,
                                              "Synthesis of one partition.", label),
                          seconds(t1 - t0));
    cuzk_record(e->o.recorder, CUZK_EV_GPU_QUEUE, j->job_id, "partition=%u", p->index);
  }
  cuzk_engine_lock(e);
  p->synth1_ns = t1;
  p->stage = NULL;
  synth_over_locked(e, express);
  j->synth_sum_ns += t1 - t0;
  if (st == CUZK_OK) {
    double ns = (double)(t1 - t0);
    j->circuit->synth_ns = j->circuit->synth_ns < 0 ? ns : j->circuit->synth_ns + EMA * (ns - j->circuit->synth_ns);
  }
  bool queued = st == CUZK_OK && !j->ending;
  if (queued) {
    p->state = CUZK_PART_READY;
    p->ready_ns = t1;
    p->work = work;
    cuzk_partq_push_locked(&e->gpuq, p);
    cuzk_device_signal_locked(e);
  }
  cuzk_engine_unlock(e);
  if (queued) return;
  if (st == CUZK_OK) {
    e->ops->drop(e->self, work);
    cuzk_part_leave(e, p);
    return;
  }
  cuzk_reservation_free(&p->resv);
  cuzk_part_failed(e, p, "synthesis", -1, st, &d);
}

void *cuzk_synth_main(void *arg) {
  struct cuzk_engine *e = arg;
  cuzk_engine_lock(e);
  for (;;) {
    struct cuzk_part *p = e->inbox;
    if (!p) {
      if (e->quit) break;
      (void)cuzk_cond_wait(&e->synth_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    e->inbox = p->next;
    if (!e->inbox) e->inbox_last = &e->inbox;
    cuzk_engine_unlock(e);
    cuzk_stage_synth(e, p, false);
    cuzk_engine_lock(e);
  }
  cuzk_engine_unlock(e);
  return NULL;
}

/* ---- finish ---- */

static void device_over_locked(struct cuzk_engine *e, struct cuzk_part *p, bool good) {
  struct cuzk_dev *dev = &e->dev[p->device];
  dev->active--;
  if (p->alone) {
    p->alone = dev->exclusive = false;
  }
  if (good) dev->consecutive = 0;
  cuzk_device_signal_locked(e);
}

void cuzk_stage_finish(struct cuzk_engine *e, struct cuzk_part *p) {
  struct cuzk_job *j = p->job;
  uint8_t proof[CUZK_PROOF_LEN];
  struct cuzk_detail d = {""};
  enum cuzk_status st = CUZK_E_CANCELLED;
  uint64_t t0 = cuzk_engine_now(e);
  cuzk_record(e->o.recorder, CUZK_EV_FIN_START, j->job_id, "worker=%u,partition=%u", p->worker, p->index);
  cuzk_engine_lock(e);
  bool wanted = !j->ending;
  cuzk_stage_begin_locked(e, p, "finish");
  cuzk_engine_unlock(e);
  void *pending = p->pending;
  p->pending = NULL;
  if (wanted) st = e->ops->finish(e->self, pending, proof, &d);
  else e->ops->abort(e->self, pending);
  uint64_t t1 = cuzk_engine_now(e);
  unsigned worker = p->worker;
  char err[200] = "";
  if (st != CUZK_OK) (void)cuzk_record_text(err, sizeof err, wanted ? said(&d, st) : "cancelled");
  cuzk_record(e->o.recorder, CUZK_EV_GPU_END, j->job_id,
              "worker=%u,partition=%u,gpu_ms=%llu,gpu=%d,lock_wait_ms=%llu,kernel_ms=%llu,post_ms=%llu%s%s", worker, p->index,
              (unsigned long long)((t1 - p->gpu0_ns) / CUZK_MS), p->device, (unsigned long long)(p->lock_wait_ns / CUZK_MS),
              (unsigned long long)((p->unlock_ns - p->lock_ns) / CUZK_MS), (unsigned long long)((t1 - p->unlock_ns) / CUZK_MS),
              err[0] ? ",err=" : "", err);
  cuzk_series_observe(e->m_finish, seconds(t1 - t0));
  cuzk_reservation_free(&p->resv);
  int device = p->device;
  cuzk_engine_lock(e);
  p->gpu1_ns = t1;
  e->n_post--;
  device_over_locked(e, p, st == CUZK_OK);
  cuzk_engine_unlock(e);
  if (!wanted) {
    cuzk_part_leave(e, p);
    return;
  }
  if (st != CUZK_OK) {
    cuzk_part_failed(e, p, "finish", device, st, &d);
    return;
  }
  if (e->journal_on) {
    st = e->o.journal.ops->partition_done(e->o.journal.self, j->job_id, p->index, proof, sizeof proof, &d);
    /* The proof is in memory and the result is written again as a whole: only the work would be lost with the process. */
    cuzk_journal_result(e, st);
  }
  cuzk_engine_lock(e);
  bool last = false;
  if (!j->ending && p->state != CUZK_PART_DONE) {
    memcpy(j->proof + (size_t)p->index * CUZK_PROOF_LEN, proof, sizeof proof);
    p->state = CUZK_PART_DONE;
    last = ++j->n_done == j->n_parts;
    if (last) {
      j->state = CUZK_JOB_ASSEMBLED;
      cuzk_verifyq_push_locked(e, j);
    }
  }
  leave_locked(e, p);
  cuzk_engine_unlock(e);
  left(e, j);
}

static bool any_part(void *user, struct cuzk_node *n) {
  (void)user;
  (void)n;
  return true;
}

void *cuzk_finish_main(void *arg) {
  struct cuzk_engine *e = arg;
  cuzk_engine_lock(e);
  for (;;) {
    struct cuzk_part *p = cuzk_partq_best_locked(e, &e->finq, any_part, NULL);
    if (!p) {
      if (e->quit) break;
      (void)cuzk_cond_wait(&e->finish_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    cuzk_part_unqueue_locked(p);
    e->n_finishing++;
    cuzk_engine_unlock(e);
    cuzk_stage_finish(e, p);
    cuzk_engine_lock(e);
    e->n_finishing--;
  }
  cuzk_engine_unlock(e);
  return NULL;
}

/* ---- verification ---- */

static bool to_be_checked(const struct cuzk_engine *e, const struct cuzk_job *j) {
  return e->o.self_check == CUZK_CHECK_ALL || (e->o.self_check == CUZK_CHECK_POREP && j->plan.kind == 0);
}

/* Proofs that do not hold are made once more, elsewhere if possible. True: the job ends with text. */
static bool blame(struct cuzk_engine *e, struct cuzk_job *j, const bool *ok, char *text, size_t n) {
  size_t used = 0;
  bool again = true;
  for (unsigned i = 0; i < j->n_parts; i++) {
    struct cuzk_part *p = &j->part[i];
    if (ok[i]) continue;
    if (used + 12 < n) used += (size_t)snprintf(text + used, n - used, "%s%u", used ? "," : "", i);
    if (!p->check_failed) continue;
    again = false;
    if (p->check_device >= 0 && p->check_device == p->device) cuzk_device_error(e, &e->dev[p->device], "proof", false);
  }
  if (!again) return true;
  for (unsigned i = 0; i < j->n_parts; i++) {
    if (ok[i]) continue;
    struct cuzk_part *p = &j->part[i];
    if (e->journal_on) {
      struct cuzk_detail d;
      cuzk_journal_result(e, e->o.journal.ops->partition_undo(e->o.journal.self, j->job_id, i, &d));
    }
    cuzk_series_add(e->m_retries, 1);
    cuzk_record(e->o.recorder, CUZK_EV_PART_FAIL, j->job_id, "partition=%u,stage=verify,gpu=%d,err=proof does not hold", i, p->device);
    cuzk_record(e->o.recorder, CUZK_EV_PART_RETRY, j->job_id, "partition=%u,stage=verify,gpu=%d,err=proof does not hold", i, p->device);
  }
  cuzk_engine_lock(e);
  if (!j->ending) {
    for (unsigned i = 0; i < j->n_parts; i++) {
      struct cuzk_part *p = &j->part[i];
      if (ok[i]) continue;
      p->check_failed = true;
      p->check_device = p->avoid = p->device;
      p->state = CUZK_PART_PENDING;
      j->n_done--;
    }
    j->state = CUZK_JOB_RUNNING;
    cuzk_job_queue_parts_locked(e, j);
  }
  cuzk_engine_unlock(e);
  return false;
}

static void verify_job(struct cuzk_engine *e, struct cuzk_job *j, bool *ok) {
  struct cuzk_detail d = {""};
  char text[300] = "";
  uint64_t t0 = cuzk_engine_now(e);
  for (unsigned i = 0; i < j->n_parts; i++) ok[i] = false;
  cuzk_record(e->o.recorder, CUZK_EV_VERIFY_START, j->job_id, "%s", "");
  enum cuzk_status st = e->ops->verify(e->self, j->inputs, cuzk_srs_ref_handle(j->srs), j->proof, j->n_parts, ok, &d);
  bool good = st == CUZK_OK;
  for (unsigned i = 0; i < j->n_parts; i++) good = good && ok[i];
  cuzk_record(e->o.recorder, CUZK_EV_VERIFY_END, j->job_id, "ok=%d,ms=%llu", good, (unsigned long long)((cuzk_engine_now(e) - t0) / CUZK_MS));
  if (st == CUZK_E_CANCELLED && atomic_load(&j->stop)) return;
  if (!good) cuzk_series_add(e->m_selfcheck[j->plan.kind], 1);
  if (st != CUZK_OK) {
    (void)cuzk_job_fail(e, j, st == CUZK_E_NOMEM ? "out_of_memory" : "self_check", "the verifier failed: %s", said(&d, st));
  } else if (good) {
    (void)cuzk_job_end(e, j, CUZK_JOB_COMPLETED, false, NULL);
  } else if (blame(e, j, ok, text, sizeof text)) {
    (void)cuzk_job_fail(e, j, "self_check", "partitions %s invalid", text);
  }
}

void *cuzk_verify_main(void *arg) {
  struct cuzk_engine *e = arg;
  cuzk_engine_lock(e);
  for (;;) {
    struct cuzk_job *j = cuzk_verifyq_best_locked(e);
    if (!j) {
      if (e->quit) break;
      (void)cuzk_cond_wait(&e->verify_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    cuzk_verifyq_remove_locked(e, j);
    if (j->ending) continue;
    cuzk_job_ref_locked(j);
    j->state = CUZK_JOB_CHECKING;
    j->in_flight++;
    e->in_flight++;
    e->n_verifying++;
    cuzk_budget_set_running(e->budget, e->in_flight);
    cuzk_engine_unlock(e);
    if (to_be_checked(e, j)) verify_job(e, j, j->ok);
    else (void)cuzk_job_end(e, j, CUZK_JOB_COMPLETED, false, NULL);
    cuzk_engine_lock(e);
    j->in_flight--;
    e->in_flight--;
    e->busy++; /* until left() */
    e->n_verifying--;
    cuzk_budget_set_running(e->budget, e->in_flight);
      cuzk_engine_unlock(e);
    left(e, j);
    cuzk_engine_lock(e);
  }
  cuzk_engine_unlock(e);
  return NULL;
}
