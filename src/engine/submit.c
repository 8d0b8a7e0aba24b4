/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Admission: identity, limits, the journal, the queue. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/hex.h"
#include "base/random.h"
#include "engine/engine_internal.h"

/* Jobs that the scheduler would start before j. */
static unsigned position_locked(struct cuzk_engine *e, const struct cuzk_job *j) {
  uint64_t now = cuzk_engine_now(e);
  struct cuzk_key mine = cuzk_job_key_locked(e, j, 0, now);
  unsigned n = 0;
  for (const struct cuzk_job *k = e->live; k; k = k->next) {
    if (k == j || k->started_ns || k->admitting || k->ending) continue;
    struct cuzk_key key = cuzk_job_key_locked(e, k, 0, now);
    n += cuzk_key_cmp(&key, &mine) < 0;
  }
  return n;
}

static int device_of(const struct cuzk_job *j) {
  int ready = -1;
  for (unsigned i = 0; i < j->n_parts; i++) {
    const struct cuzk_part *p = &j->part[i];
    if (p->state == CUZK_PART_GPU && (ready < 0 || p->phase == CUZK_PHASE_KERNELS)) ready = p->device;
  }
  return ready;
}

/* The running or undelivered job of a key, if there is one; the caller then has a reference. Waits for one that is being admitted. */
static struct cuzk_job *attach_locked(struct cuzk_engine *e, const struct cuzk_submit *s, unsigned priority, bool *raised) {
  for (;;) {
    struct cuzk_job *j = cuzk_job_find_key_locked(e, s->request_id, s->request->digest);
    if (!j) return NULL;
    if (j->admitting) {
      (void)cuzk_cond_wait(&e->admit_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    if (j->ending && (j->end_state != CUZK_JOB_COMPLETED || j->draining)) return NULL;
    if (j->published && (j->delivered || !j->in_retained)) return NULL;
    if (!s->from_prove && !j->published) {
      j->from_prove = false;
      cuzk_timer_clear_locked(e, &j->orphan_timer);
    }
    *raised = !j->ending && priority > j->priority;
    if (*raised) cuzk_job_reclass_locked(e, j, priority);
    cuzk_job_ref_locked(j);
    return j;
  }
}

/* Room for the longest name: request id, ~, 64 digits, - and a number. */
static size_t name_bytes(const char *request_id) { return strlen(request_id) + 96; }

static void name_locked(struct cuzk_engine *e, char *out, size_t n, const char *request_id, const uint8_t digest[32]) {
  char hex[65];
  cuzk_hex_encode(hex, digest, 32);
  (void)snprintf(out, n, "%s", request_id);
  for (unsigned digits = 8; digits <= 64 && cuzk_job_find_locked(e, out); digits++)
    (void)snprintf(out, n, "%s~%.*s", request_id, (int)digits, hex);
  for (unsigned k = 2; cuzk_job_find_locked(e, out); k++) (void)snprintf(out, n, "%s~%s-%u", request_id, hex, k);
}

static enum cuzk_status uuid(char *out, size_t n) {
  uint8_t b[16];
  enum cuzk_status st = cuzk_random_bytes(b, sizeof b);
  if (st != CUZK_OK) return st;
  b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
  b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
  char hex[33];
  cuzk_hex_encode(hex, b, sizeof b);
  (void)snprintf(out, n, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
  return CUZK_OK;
}

static enum cuzk_status refuse(enum cuzk_refusal *why, enum cuzk_refusal what, enum cuzk_status st) {
  *why = what;
  return st;
}

/* Can this job be proved here at all, and now? */
static enum cuzk_status check(struct cuzk_engine *e, const struct cuzk_request *rq, struct cuzk_plan *plan, enum cuzk_refusal *why,
                              struct cuzk_detail *d) {
  enum cuzk_status st = e->ops->admit(e->self, rq, plan, d);
  if (st == CUZK_E_UNSUPPORTED || st == CUZK_E_NOENT) return refuse(why, CUZK_REFUSED_PRECONDITION, st);
  if (st == CUZK_E_ARG || st == CUZK_E_FORMAT || st == CUZK_E_MISMATCH) return refuse(why, CUZK_REFUSED_BAD, st);
  if (st != CUZK_OK) return st;
  if (plan->kind >= CUZK_N_KINDS || plan->n_partitions == 0)
    return cuzk_fail(d, CUZK_E_INTERNAL, "the prover plans kind %u with %u partitions", plan->kind, plan->n_partitions);
  uint64_t bytes[CUZK_N_MEM];
  memcpy(bytes, plan->partition_bytes, sizeof bytes);
  bytes[CUZK_MEM_SRS] += plan->srs_bytes;
  bytes[CUZK_MEM_INPUTS] += plan->inputs_bytes;
  if (!cuzk_budget_possible(e->budget, bytes)) {
    uint64_t sum = 0;
    for (unsigned m = 0; m < CUZK_N_MEM; m++) sum += bytes[m];
    return refuse(why, CUZK_REFUSED_PRECONDITION,
                  cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s needs %llu bytes with one partition at a time, the memory budget has %llu",
                            plan->circuit_id, (unsigned long long)sum, (unsigned long long)e->o.memory_total));
  }
  unsigned allowed = 0;
  for (unsigned i = 0; i < e->n_devices; i++) allowed += cuzk_device_allows(e, i, plan->circuit_id);
  if (allowed == 0)
    return refuse(why, CUZK_REFUSED_PRECONDITION, cuzk_fail(d, CUZK_E_UNSUPPORTED, "gpus.affinity gives %s no device", plan->circuit_id));
  cuzk_engine_lock(e);
  unsigned usable = cuzk_device_usable_locked(e, plan->circuit_id);
  cuzk_engine_unlock(e);
  if (usable == 0) return refuse(why, CUZK_REFUSED_NO_DEVICE, cuzk_fail(d, CUZK_E_DEVICE, "no device is usable now; try again later"));
  return CUZK_OK;
}

static enum cuzk_status limits_locked(struct cuzk_engine *e, size_t bytes, enum cuzk_refusal *why, struct cuzk_detail *d) {
  const struct cuzk_engine_tunables *t = &e->o.t;
  if (e->draining) return refuse(why, CUZK_REFUSED_DRAINING, cuzk_fail(d, CUZK_E_CANCELLED, "the service is stopping"));
  if (e->n_pending >= t->max_queued_jobs)
    return refuse(why, CUZK_REFUSED_FULL, cuzk_fail(d, CUZK_E_NOSPC, "max_queued_jobs: %u jobs wait already", e->n_pending));
  if (bytes > t->max_queued_bytes || e->live_bytes > t->max_queued_bytes - bytes)
    return refuse(why, CUZK_REFUSED_FULL,
                  cuzk_fail(d, CUZK_E_NOSPC, "max_queued_bytes: %llu bytes are stored, %zu more would exceed %llu",
                            (unsigned long long)e->live_bytes, bytes, (unsigned long long)t->max_queued_bytes));
  return CUZK_OK;
}

static enum cuzk_status store(struct cuzk_engine *e, struct cuzk_job *j, struct cuzk_detail *d) {
  if (!e->journal_on) {
    cuzk_engine_lock(e);
    j->seq = ++e->next_seq;
    cuzk_engine_unlock(e);
    return CUZK_OK;
  }
  struct cuzk_journal_job row = {.job_id = j->job_id,
                                 .request_id = j->request_id,
                                 .request = j->request,
                                 .priority = j->priority,
                                 .from_prove = j->from_prove,
                                 .admitted_unix_ms = cuzk_clock_epoch_ms(e->clock) + cuzk_engine_now(e) / CUZK_MS,
                                 .n_partitions = j->n_parts};
  enum cuzk_status st = e->o.journal.ops->admit(e->o.journal.self, &row, d);
  cuzk_journal_result(e, st);
  j->seq = row.seq;
  return st;
}

static enum cuzk_status answer(struct cuzk_engine *e, struct cuzk_submitted *out, struct cuzk_job *j, bool attached) {
  out->attached = attached;
  out->assigned_gpu = -1;
  cuzk_engine_lock(e);
  if (attached) out->assigned_gpu = device_of(j);
  if (!j->started_ns && !j->ending) out->queue_position = position_locked(e, j);
  cuzk_engine_unlock(e);
  return CUZK_OK;
}

enum cuzk_status cuzk_engine_submit(struct cuzk_engine *e, const struct cuzk_submit *s_in, struct cuzk_submitted *out, enum cuzk_refusal *why_out,
                                    struct cuzk_detail *d) {
  struct cuzk_submit s = *s_in;
  enum cuzk_refusal ignored;
  enum cuzk_refusal *why = why_out ? why_out : &ignored;
  *why = CUZK_REFUSED_NOT;
  *out = (struct cuzk_submitted){.assigned_gpu = -1};
  if (!s.request_id) s.request_id = "";
  if (s.priority > 4) return refuse(why, CUZK_REFUSED_BAD, cuzk_fail(d, CUZK_E_ARG, "priority: %u is not between 0 and 4", s.priority));
  unsigned kind = s.request->f.kind;
  if (kind < 1 || kind > CUZK_N_KINDS) return refuse(why, CUZK_REFUSED_BAD, cuzk_fail(d, CUZK_E_ARG, "proof_kind: %u is not a kind", kind));
  unsigned priority = s.priority ? s.priority : e->ops->kinds[kind - 1].default_priority;

  struct cuzk_job *j = NULL;
  cuzk_engine_lock(e);
  enum cuzk_status st = e->draining ? limits_locked(e, 0, why, d) : CUZK_OK;
  bool raised = false;
  if (st == CUZK_OK && s.request_id[0]) j = attach_locked(e, &s, priority, &raised);
  cuzk_engine_unlock(e);
  if (st != CUZK_OK) return st;
  if (!j) {
    struct cuzk_plan plan;
    st = check(e, s.request, &plan, why, d);
    if (st != CUZK_OK) return st;
    struct cuzk_job *made = NULL;
    st = cuzk_job_make(&made, s.request_id, s.request, &plan);
    if (st != CUZK_OK) return cuzk_fail(d, st, "no memory for a job");
    size_t n = name_bytes(s.request_id);
    made->job_id = cuzk_malloc(n);
    if (!made->job_id) {
      cuzk_job_free(e, made);
      return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a job");
    }
    if (!s.request_id[0]) st = uuid(made->job_id, n);
    if (st != CUZK_OK) {
      cuzk_job_free(e, made);
      return cuzk_fail(d, st, "no randomness for a job's id");
    }
    made->priority = priority;
    made->from_prove = s.from_prove;
    made->admitting = true;
    cuzk_engine_lock(e);
    if (s.request_id[0]) j = attach_locked(e, &s, priority, &raised); /* somebody else was faster */
    if (!j) {
      st = limits_locked(e, made->request_bytes, why, d);
      if (st == CUZK_OK) {
        if (s.request_id[0]) name_locked(e, made->job_id, n, s.request_id, made->digest);
        made->circuit = cuzk_circuit_locked(e, plan.circuit_id);
        made->submit_ns = cuzk_engine_now(e);
        made->orphan_timer.b = (++e->next_watch << 1) | CUZK_TIMER_ORPHAN;
        cuzk_job_insert_locked(e, made);
        cuzk_job_live_locked(e, made);
        cuzk_job_ref_locked(made);
      }
    }
    cuzk_engine_unlock(e);
    if (j || st != CUZK_OK) {
      cuzk_job_free(e, made);
      if (!j) return st;
    } else {
      out->job_id = cuzk_strdup(made->job_id);
      st = out->job_id ? store(e, made, d) : cuzk_fail(d, CUZK_E_NOMEM, "no memory for a job's id");
      if (st == CUZK_E_NOSPC) *why = CUZK_REFUSED_FULL;
      if (st == CUZK_OK)
        cuzk_record(e->o.recorder, CUZK_EV_JOB_SUBMIT, made->job_id, "kind=%s,prio=%u,bytes=%zu", e->ops->kinds[plan.kind].rpc_name, priority,
                    made->request_bytes);
      cuzk_engine_lock(e);
      made->admitting = false;
      bool stop = e->draining;
      if (st == CUZK_OK) {
        made->order = made->seq << CUZK_ORDER_BITS;
        if (!stop) cuzk_prepq_push_locked(e, made);
        for (unsigned i = 0; i < e->n_devices; i++)
          if (e->dev[i].idle && !e->dev[i].first_submit_ns) e->dev[i].first_submit_ns = made->submit_ns;
        cuzk_job_orphan_locked(e, made, cuzk_engine_now(e));
      } else {
        cuzk_job_forget_locked(e, made);
        made->refs--;
        cuzk_engine_check_idle_locked(e);
      }
      cuzk_cond_broadcast(&e->admit_cond);
      cuzk_engine_unlock(e);
      if (st == CUZK_OK && stop) (void)cuzk_job_end(e, made, CUZK_JOB_CANCELLED, true, NULL);
      if (st == CUZK_OK) st = answer(e, out, made, false);
      cuzk_job_put(e, made);
      if (st != CUZK_OK) {
        cuzk_free(out->job_id);
        *out = (struct cuzk_submitted){.assigned_gpu = -1};
      }
      return st;
    }
  }
  out->job_id = cuzk_strdup(j->job_id);
  if (!out->job_id) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a job's id");
  } else {
    st = answer(e, out, j, true);
    if (raised) cuzk_journal_later(e, CUZK_JOP_UPDATE, j->job_id, priority, j->n_parts);
  }
  cuzk_job_put(e, j);
  return st;
}
