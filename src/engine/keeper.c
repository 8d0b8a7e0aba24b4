/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Everything that happens by the clock (waits that end, orphans, retention, watchdog), and the journal's thread. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "engine/engine_internal.h"

/* How long a result waits for a journal that fails before it is answered all the same, and how often it is tried again. */
#define JOURNAL_PATIENCE (30 * CUZK_SECOND)
#define JOURNAL_AGAIN CUZK_SECOND

/* ---- timers ---- */

void cuzk_timer_clear_locked(struct cuzk_engine *e, struct cuzk_node *n) {
  if (n->in) cuzk_set_remove(&e->timers, n);
}

void cuzk_timer_set_locked(struct cuzk_engine *e, struct cuzk_node *n, uint64_t when) {
  cuzk_timer_clear_locked(e, n);
  n->a = when;
  cuzk_set_insert(&e->timers, n);
  if (cuzk_set_first(e->timers) == n) cuzk_cond_signal(&e->keep_cond);
}

static void watch_due(struct cuzk_engine *e, struct cuzk_watch *w) {
  struct cuzk_job *j = w->job;
  struct cuzk_job_result r;
  cuzk_job_ref_locked(j);
  cuzk_job_result_of_locked(e, j, &r);
  cuzk_watch_remove_locked(e, w);
  cuzk_engine_unlock(e);
  cuzk_watch_fire(e, w, &r);
  cuzk_job_put(e, j);
  cuzk_engine_lock(e);
}

static void orphan_due(struct cuzk_engine *e, struct cuzk_job *j, uint64_t now) {
  enum cuzk_orphan_policy policy = e->o.t.orphan_policy;
  cuzk_timer_clear_locked(e, &j->orphan_timer);
  if (j->ending || policy == CUZK_ORPHAN_KEEP || (policy == CUZK_ORPHAN_DROP_QUEUED && j->started_ns)) return;
  uint64_t due = j->orphan_since + e->o.t.orphan_grace_ns;
  if (due > now) { /* the grace has grown */
    cuzk_timer_set_locked(e, &j->orphan_timer, due);
    return;
  }
  cuzk_job_ref_locked(j);
  cuzk_engine_unlock(e);
  (void)cuzk_job_end(e, j, CUZK_JOB_CANCELLED, false, "internal: nobody waits for this job any more");
  cuzk_job_put(e, j);
  cuzk_engine_lock(e);
}

static uint64_t run_timers(struct cuzk_engine *e) {
  for (;;) {
    struct cuzk_node *n = cuzk_set_first(e->timers);
    uint64_t now = cuzk_engine_now(e);
    if (!n) return CUZK_NEVER;
    if (n->a > now) return n->a;
    if ((n->b & 1) == CUZK_TIMER_WATCH) watch_due(e, (struct cuzk_watch *)((char *)n - offsetof(struct cuzk_watch, timer)));
    else orphan_due(e, (struct cuzk_job *)((char *)n - offsetof(struct cuzk_job, orphan_timer)), now);
  }
}

/* ---- retention ---- */

static uint64_t retire(struct cuzk_engine *e) {
  for (;;) {
    struct cuzk_job *j = e->retained;
    if (!j) return CUZK_NEVER;
    uint64_t ttl = e->o.t.result_ttl_ns;
    uint64_t due = ttl > CUZK_NEVER - j->end_ns ? CUZK_NEVER : j->end_ns + ttl;
    if (e->n_retained <= e->o.t.result_max && due > cuzk_engine_now(e)) return due;
    cuzk_job_unretain_locked(e, j);
    bool stored = e->journal_on && !j->draining; /* what stopped with the service goes on after it */
    if (stored) { /* its name is free only when the journal has let go of it */
      cuzk_engine_unlock(e);
      struct cuzk_detail d;
      cuzk_journal_result(e, e->o.journal.ops->forget(e->o.journal.self, j->job_id, &d));
      cuzk_engine_lock(e);
    }
    cuzk_job_forget_locked(e, j);
    cuzk_engine_unlock(e);
    cuzk_job_put(e, j);
    cuzk_engine_lock(e);
  }
}

/* ---- watchdog ---- */

static uint64_t watchdog(struct cuzk_engine *e) {
  uint64_t limit = e->o.stage_timeout_ns;
again:;
  uint64_t next = CUZK_NEVER;
  uint64_t now = cuzk_engine_now(e);
  if (e->in_flight == 0) return CUZK_NEVER;
  for (struct cuzk_job *j = e->live; j; j = j->next) {
    if (j->in_flight == 0) continue;
    for (unsigned i = 0; i < j->n_parts; i++) {
      struct cuzk_part *p = &j->part[i];
      if (!p->stage || p->overdue) continue;
      if (p->stage_ns + limit > now) {
        if (p->stage_ns + limit < next) next = p->stage_ns + limit;
        continue;
      }
      p->overdue = true;
      const char *stage = p->stage;
      bool on_device = p->state == CUZK_PART_GPU && (p->phase == CUZK_PHASE_PRE || p->phase == CUZK_PHASE_KERNELS);
      struct cuzk_dev *dev = on_device ? &e->dev[p->device] : NULL;
      cuzk_job_ref_locked(j);
      cuzk_engine_unlock(e);
      cuzk_record(e->o.recorder, CUZK_EV_PART_FAIL, j->job_id, "partition=%u,stage=%s,gpu=%d,err=overdue", i, stage,
                  dev ? (int)dev->ordinal : -1);
      (void)cuzk_job_fail(e, j, dev ? "gpu" : "internal", "partition %u: %s has taken longer than %llu s", i, stage,
                          (unsigned long long)(limit / CUZK_SECOND));
      if (dev) cuzk_device_hung(e, dev);
      cuzk_job_put(e, j);
      cuzk_engine_lock(e);
      goto again; /* the list may be another one now */
    }
  }
  /* A stage that begins from here on is due later than this. */
  return next < now + limit ? next : now + limit;
}

void *cuzk_keep_main(void *arg) {
  struct cuzk_engine *e = arg;
  cuzk_engine_lock(e);
  while (!e->quit) {
    uint64_t t1 = run_timers(e);
    uint64_t t2 = retire(e);
    uint64_t t3 = watchdog(e);
    if (e->quit) break;
    uint64_t next = t1 < t2 ? t1 : t2;
    (void)cuzk_cond_wait(&e->keep_cond, &e->lock, t3 < next ? t3 : next);
  }
  cuzk_engine_unlock(e);
  return NULL;
}

/* ---- journal ---- */

void cuzk_journal_result(struct cuzk_engine *e, enum cuzk_status st) {
  /* A row that went, or that another owner took when the lease had run out, is no fault of the journal. */
  if (st == CUZK_E_NOENT || st == CUZK_E_MISMATCH) return;
  cuzk_engine_lock(e);
  e->journal_bad = st != CUZK_OK;
  cuzk_engine_unlock(e);
  if (st != CUZK_OK) cuzk_series_add(e->m_journal_errors, 1);
}

void cuzk_journal_later(struct cuzk_engine *e, enum cuzk_journal_op_kind kind, const char *job_id, unsigned priority, unsigned n_partitions) {
  if (!e->journal_on) return;
  size_t n = strlen(job_id) + 1;
  struct cuzk_journal_op *op = cuzk_malloc(sizeof *op + n);
  if (!op) return;
  *op = (struct cuzk_journal_op){.kind = kind, .priority = priority, .n_partitions = n_partitions};
  memcpy(op->job_id, job_id, n);
  cuzk_engine_lock(e);
  *e->jops_last = op;
  e->jops_last = &op->next;
  cuzk_cond_signal(&e->journal_cond);
  cuzk_engine_unlock(e);
}

static void do_op(struct cuzk_engine *e, struct cuzk_journal_op *op) {
  const struct cuzk_journal_ops *ops = e->o.journal.ops;
  void *self = e->o.journal.self;
  struct cuzk_detail d;
  enum cuzk_status st = op->kind == CUZK_JOP_DELIVERED ? ops->delivered(self, op->job_id, &d)
                                                       : ops->update(self, op->job_id, op->priority, op->n_partitions, &d);
  cuzk_journal_result(e, st);
  cuzk_free(op);
}

static enum cuzk_status store_end(struct cuzk_engine *e, struct cuzk_job *j) {
  struct cuzk_detail d;
  bool good = j->end_state == CUZK_JOB_COMPLETED;
  enum cuzk_job_end end = good ? CUZK_END_COMPLETED : j->end_state == CUZK_JOB_FAILED ? CUZK_END_FAILED : CUZK_END_CANCELLED;
  enum cuzk_status st = e->o.journal.ops->end(e->o.journal.self, j->job_id, end, good ? j->proof : NULL,
                                              good ? (size_t)j->n_parts * CUZK_PROOF_LEN : 0, j->error, &d);
  cuzk_journal_result(e, st);
  return st;
}

/* The first end whose time has come, taken off the list. */
static struct cuzk_job *due_end(struct cuzk_engine *e, uint64_t now, uint64_t *next) {
  for (struct cuzk_job **at = &e->ends; *at; at = &(*at)->end_next) {
    struct cuzk_job *j = *at;
    if (j->end_try_ns > now && !e->stopping) {
      if (j->end_try_ns < *next) *next = j->end_try_ns;
      continue;
    }
    *at = j->end_next;
    if (!*at) e->ends_last = at;
    return j;
  }
  return NULL;
}

void *cuzk_journal_main(void *arg) {
  struct cuzk_engine *e = arg;
  uint64_t lease = e->o.journal.ops->lease_ms * CUZK_MS / 3;
  uint64_t renew_ns = lease ? cuzk_engine_now(e) + lease : CUZK_NEVER;
  cuzk_engine_lock(e);
  for (;;) {
    uint64_t now = cuzk_engine_now(e);
    uint64_t next = renew_ns;
    if (now >= renew_ns) {
      renew_ns = now + lease;
      cuzk_engine_unlock(e);
      struct cuzk_detail d;
      cuzk_journal_result(e, e->o.journal.ops->renew(e->o.journal.self, &d));
      cuzk_engine_lock(e);
      continue;
    }
    struct cuzk_job *j = due_end(e, now, &next);
    if (j) {
      bool last = e->stopping;
      cuzk_engine_unlock(e);
      enum cuzk_status st = store_end(e, j);
      now = cuzk_engine_now(e);
      bool impatient = now - j->end_since_ns >= JOURNAL_PATIENCE;
      bool taken = st == CUZK_E_NOENT; /* another owner has the job now, and will answer for it */
      if (st == CUZK_OK || taken || impatient || last) {
        if (taken || (st != CUZK_OK && !impatient)) { /* or the service stops: asked again later, the job goes on from what is stored */
          cuzk_engine_lock(e);
          j->end_state = CUZK_JOB_CANCELLED;
          j->draining = true;
          cuzk_engine_unlock(e);
        }
        cuzk_job_publish(e, j);
        cuzk_job_put(e, j);
        cuzk_engine_lock(e);
      } else {
        cuzk_engine_lock(e);
        j->end_try_ns = now + JOURNAL_AGAIN;
        j->end_next = NULL;
        *e->ends_last = j;
        e->ends_last = &j->end_next;
      }
      continue;
    }
    struct cuzk_journal_op *op = e->jops;
    if (op) {
      e->jops = op->next;
      if (!e->jops) e->jops_last = &e->jops;
      cuzk_engine_unlock(e);
      do_op(e, op);
      cuzk_engine_lock(e);
      continue;
    }
    if (e->quit) break;
    (void)cuzk_cond_wait(&e->journal_cond, &e->lock, next);
  }
  cuzk_engine_unlock(e);
  return NULL;
}

/* ---- taking over stored jobs ---- */

struct claim {
  struct cuzk_engine *e;
  enum cuzk_status st;
  struct cuzk_job *first, **last;
};

static void claimed(void *user, const struct cuzk_journal_job *row, const uint8_t *const *proof) {
  struct claim *c = user;
  struct cuzk_engine *e = c->e;
  if (c->st != CUZK_OK) return;
  struct cuzk_plan plan = {0};
  struct cuzk_detail d = {""};
  char *error = NULL;
  bool ended = row->end != CUZK_END_NONE;
  if (row->request) {
    enum cuzk_status st = e->ops->admit(e->self, row->request, &plan, &d);
    if (st != CUZK_OK && !ended) error = d.text;
    if (plan.kind >= CUZK_N_KINDS) plan.kind = 0;
  }
  unsigned n = plan.n_partitions ? plan.n_partitions : row->n_partitions;
  if (ended) n = (unsigned)(row->proof_bytes / CUZK_PROOF_LEN);
  plan.n_partitions = n;
  struct cuzk_job *j = NULL;
  c->st = cuzk_job_make(&j, row->request_id ? row->request_id : "", row->request, &plan);
  if (c->st != CUZK_OK) return;
  j->job_id = cuzk_strdup(row->job_id);
  if (row->digest) memcpy(j->digest, row->digest, sizeof j->digest);
  j->priority = row->priority >= 1 && row->priority <= 4 ? row->priority : 2;
  j->from_prove = row->from_prove;
  j->restored = ended;
  j->seq = row->seq;
  j->order = row->seq << CUZK_ORDER_BITS;
  if (!j->job_id) c->st = CUZK_E_NOMEM;
  if (ended) {
    j->ending = j->published = true;
    j->end_state = j->state = row->end == CUZK_END_COMPLETED ? CUZK_JOB_COMPLETED : row->end == CUZK_END_FAILED ? CUZK_JOB_FAILED : CUZK_JOB_CANCELLED;
    j->delivered = row->delivered;
    j->end_ns = 1;
    if (row->proof) memcpy(j->proof, row->proof, (size_t)n * CUZK_PROOF_LEN);
    if (row->error && !(j->error = cuzk_strdup(row->error))) c->st = CUZK_E_NOMEM;
  } else if (!row->request || error) {
    char line[CUZK_ERROR_BYTES + 1];
    char text[CUZK_ERROR_BYTES + 1];
    (void)snprintf(text, sizeof text, "%s", row->request ? "unsupported: " : "internal: ");
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
                   error ? error : row->error ? row->error : "the stored request is missing");
    cuzk_one_line(line, sizeof line, text);
    if (!(j->error = cuzk_strdup(line))) c->st = CUZK_E_NOMEM;
  } else {
    for (unsigned i = 0; proof && i < n && i < row->n_partitions; i++) {
      if (!proof[i]) continue;
      memcpy(j->proof + (size_t)i * CUZK_PROOF_LEN, proof[i], CUZK_PROOF_LEN);
      j->part[i].state = CUZK_PART_DONE;
      j->n_done++;
    }
  }
  if (c->st != CUZK_OK) {
    cuzk_job_free(e, j);
    return;
  }
  j->next = NULL;
  *c->last = j;
  c->last = &j->next;
}

enum cuzk_status cuzk_journal_claim(struct cuzk_engine *e, struct cuzk_detail *d) {
  struct claim c = {.e = e};
  c.last = &c.first;
  enum cuzk_status st = e->o.journal.ops->claim(e->o.journal.self, claimed, &c, d);
  if (st == CUZK_OK) st = c.st == CUZK_OK ? CUZK_OK : cuzk_fail(d, c.st, "no memory for the journal's jobs");
  while (c.first) {
    struct cuzk_job *j = c.first;
    c.first = j->next;
    j->next = NULL;
    if (st != CUZK_OK) {
      cuzk_job_free(e, j);
      continue;
    }
    char *error = NULL;
    cuzk_engine_lock(e);
    uint64_t now = cuzk_engine_now(e);
    j->circuit = cuzk_circuit_locked(e, j->plan.circuit_id);
    j->submit_ns = now;
    j->orphan_timer.b = (++e->next_watch << 1) | CUZK_TIMER_ORPHAN;
    cuzk_job_insert_locked(e, j);
    cuzk_job_ref_locked(j);
    if (j->published) {
      struct cuzk_request *rq = j->request;
      j->request = NULL;
      cuzk_job_retain_locked(e, j);
      cuzk_engine_unlock(e);
      cuzk_request_unref(&rq);
    } else {
      cuzk_job_live_locked(e, j);
      error = j->error;
      j->error = NULL;
      if (!error) cuzk_prepq_push_locked(e, j);
      cuzk_job_orphan_locked(e, j, now);
      cuzk_engine_unlock(e);
      cuzk_record(e->o.recorder, CUZK_EV_JOB_SUBMIT, j->job_id, "kind=%s,prio=%u,bytes=%zu,restored=%u",
                  e->ops->kinds[j->plan.kind].rpc_name, j->priority, j->request_bytes, j->n_done);
      if (error) (void)cuzk_job_end(e, j, CUZK_JOB_FAILED, false, error);
    }
    cuzk_free(error);
    cuzk_job_put(e, j);
  }
  return st;
}
