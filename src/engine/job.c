/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Jobs: tables, waiters, the one end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "engine/engine_internal.h"

const char *const cuzk_job_state_names[8] = {"queued",  "preparing", "running",   "assembled",
                                             "checking", "completed", "failed", "cancelled"};

/* ---- tables ---- */

uint64_t cuzk_hash_text(const char *s, uint64_t seed) {
  uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;
  for (; *s; s++) h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
  return h ^ (h >> 29);
}

static unsigned id_bucket(const char *job_id) { return (unsigned)(cuzk_hash_text(job_id, 0) % CUZK_JOB_BUCKETS); }

static unsigned key_bucket(const char *request_id, const uint8_t digest[32]) {
  uint64_t seed;
  memcpy(&seed, digest, sizeof seed);
  return (unsigned)(cuzk_hash_text(request_id, seed) % CUZK_JOB_BUCKETS);
}

struct cuzk_job *cuzk_job_find_locked(struct cuzk_engine *e, const char *job_id) {
  struct cuzk_job *j = e->by_id[id_bucket(job_id)];
  while (j && strcmp(j->job_id, job_id) != 0) j = j->id_next;
  return j;
}

struct cuzk_job *cuzk_job_find_key_locked(struct cuzk_engine *e, const char *request_id, const uint8_t digest[32]) {
  struct cuzk_job *j = e->by_key[key_bucket(request_id, digest)];
  while (j && (memcmp(j->digest, digest, 32) != 0 || strcmp(j->request_id, request_id) != 0)) j = j->key_next;
  return j;
}

void cuzk_job_insert_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  struct cuzk_job **at = &e->by_id[id_bucket(j->job_id)];
  j->id_next = *at;
  *at = j;
  if (j->request_id[0]) { /* the newest run of a key is found first */
    at = &e->by_key[key_bucket(j->request_id, j->digest)];
    j->key_next = *at;
    *at = j;
  }
  j->in_table = true;
  j->refs++;
}

static void table_remove(struct cuzk_engine *e, struct cuzk_job *j) {
  struct cuzk_job **at = &e->by_id[id_bucket(j->job_id)];
  while (*at != j) at = &(*at)->id_next;
  *at = j->id_next;
  if (j->request_id[0]) {
    at = &e->by_key[key_bucket(j->request_id, j->digest)];
    while (*at != j) at = &(*at)->key_next;
    *at = j->key_next;
  }
  j->in_table = false;
}

void cuzk_job_live_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  j->prev = NULL;
  j->next = e->live;
  if (j->next) j->next->prev = j;
  e->live = j;
  j->in_live = true;
  e->n_live++;
  e->n_pending++;
  e->kind[j->plan.kind].pending++;
  e->live_bytes += j->request_bytes;
}

static void live_remove(struct cuzk_engine *e, struct cuzk_job *j) {
  if (j->prev) j->prev->next = j->next;
  else e->live = j->next;
  if (j->next) j->next->prev = j->prev;
  j->in_live = false;
  e->n_live--;
  e->live_bytes -= j->request_bytes;
  if (j->started_ns) {
    e->kind[j->plan.kind].in_progress--;
  } else {
    e->n_pending--;
    e->kind[j->plan.kind].pending--;
  }
}

void cuzk_job_retain_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  j->next = NULL;
  j->prev = e->retained_last;
  if (j->prev) j->prev->next = j;
  else e->retained = j;
  e->retained_last = j;
  j->in_retained = true;
  e->n_retained++;
}

void cuzk_job_unretain_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  if (!j->in_retained) return;
  if (j->prev) j->prev->next = j->next;
  else e->retained = j->next;
  if (j->next) j->next->prev = j->prev;
  else e->retained_last = j->prev;
  j->in_retained = false;
  e->n_retained--;
}

void cuzk_job_forget_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  cuzk_job_unretain_locked(e, j);
  if (j->in_live) live_remove(e, j);
  if (j->in_table) table_remove(e, j);
}

void cuzk_job_started_locked(struct cuzk_engine *e, struct cuzk_job *j, uint64_t now) {
  if (j->started_ns) return;
  j->started_ns = now ? now : 1;
  e->n_pending--;
  e->kind[j->plan.kind].pending--;
  e->kind[j->plan.kind].in_progress++;
}

/* ---- objects ---- */

enum cuzk_status cuzk_job_make(struct cuzk_job **out, const char *request_id, struct cuzk_request *rq, const struct cuzk_plan *plan) {
  *out = NULL;
  struct cuzk_job *j = cuzk_calloc(1, sizeof *j);
  if (!j) return CUZK_E_NOMEM;
  unsigned n = plan->n_partitions;
  j->request_id = cuzk_strdup(request_id);
  j->part = cuzk_calloc(n ? n : 1, sizeof *j->part);
  j->proof = cuzk_calloc(n ? n : 1, CUZK_PROOF_LEN);
  j->ok = cuzk_calloc(n ? n : 1, sizeof *j->ok);
  j->plan = *plan;
  j->n_parts = n;
  if (rq) {
    j->request = cuzk_request_ref(rq);
    j->request_bytes = rq->n_bytes;
    memcpy(j->digest, rq->digest, sizeof j->digest);
  }
  if (!j->request_id || !j->part || !j->proof || !j->ok) {
    cuzk_job_free(NULL, j);
    return CUZK_E_NOMEM;
  }
  for (unsigned i = 0; i < n; i++) {
    struct cuzk_part *p = &j->part[i];
    p->job = j;
    p->index = i;
    p->avoid = p->check_device = p->device = -1;
  }
  *out = j;
  return CUZK_OK;
}

void cuzk_job_free(struct cuzk_engine *e, struct cuzk_job *j) {
  (void)e;
  cuzk_request_unref(&j->request);
  cuzk_free(j->job_id);
  cuzk_free(j->request_id);
  cuzk_free(j->part);
  cuzk_free(j->proof);
  cuzk_free(j->ok);
  cuzk_free(j->error);
  cuzk_free(j);
}

void cuzk_job_ref_locked(struct cuzk_job *j) { j->refs++; }

void cuzk_job_put(struct cuzk_engine *e, struct cuzk_job *j) {
  cuzk_engine_lock(e);
  bool gone = --j->refs == 0;
  cuzk_engine_unlock(e);
  if (gone) cuzk_job_free(e, j);
}

struct cuzk_circuit_stats *cuzk_circuit_locked(struct cuzk_engine *e, const char *id) {
  for (unsigned i = 0; i < e->n_circuits; i++)
    if (strcmp(e->circuit[i].id, id) == 0) return &e->circuit[i];
  /* More circuits than rows share the last one: its means are then a mixture, nothing else. */
  if (e->n_circuits == CUZK_MAX_CIRCUITS) return &e->circuit[CUZK_MAX_CIRCUITS - 1];
  struct cuzk_circuit_stats *c = &e->circuit[e->n_circuits++];
  (void)snprintf(c->id, sizeof c->id, "%s", id);
  c->synth_ns = c->lock_ns = -1;
  return c;
}

void cuzk_job_timings_locked(struct cuzk_engine *e, const struct cuzk_job *j, uint64_t now, struct cuzk_job_timings *t) {
  (void)e;
  uint64_t end = j->published ? j->end_ns : now;
  uint64_t start = j->started_ns ? j->started_ns : end;
  uint64_t wait = start > j->submit_ns ? start - j->submit_ns : 0;
  *t = (struct cuzk_job_timings){
      .queue_wait_ms = (wait > j->srs_wait_ns ? wait - j->srs_wait_ns : 0) / CUZK_MS,
      .srs_load_ms = j->srs_wait_ns / CUZK_MS,
      .synthesis_ms = j->synth_sum_ns / CUZK_MS,
      .gpu_compute_ms = j->gpu_sum_ns / CUZK_MS,
      .total_ms = (end > j->submit_ns ? end - j->submit_ns : 0) / CUZK_MS,
  };
}

void cuzk_job_result_of_locked(struct cuzk_engine *e, const struct cuzk_job *j, struct cuzk_job_result *r) {
  *r = (struct cuzk_job_result){.job_id = j->job_id, .state = j->state};
  if (j->published) {
    r->draining = j->draining;
    r->error = j->error;
    if (j->state == CUZK_JOB_COMPLETED) {
      r->proof = j->proof;
      r->proof_bytes = (size_t)j->n_parts * CUZK_PROOF_LEN;
    }
  }
  cuzk_job_timings_locked(e, j, cuzk_engine_now(e), &r->times);
}

void cuzk_engine_check_idle_locked(struct cuzk_engine *e) {
  if (e->n_live == 0 && e->busy == 0 && e->in_flight == 0) cuzk_cond_broadcast(&e->idle_cond);
}

/* ---- the end ---- */

void cuzk_one_line(char *out, size_t n, const char *text) {
  size_t len = 0;
  for (; text[len] && len + 1 < n; len++) out[len] = (unsigned char)text[len] < 0x20 || text[len] == 0x7f ? ' ' : text[len];
  if (text[len])
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) len--; /* not inside a character */
  out[len] = 0;
}

void cuzk_job_try_release(struct cuzk_engine *e, struct cuzk_job *j) {
  cuzk_engine_lock(e);
  void *inputs = NULL;
  struct cuzk_srs_ref *srs = NULL;
  struct cuzk_reservation *resv = NULL;
  if (j->ending && j->in_flight == 0) {
    inputs = j->inputs;
    srs = j->srs;
    resv = j->inputs_resv;
    j->inputs = NULL;
    j->srs = NULL;
    j->inputs_resv = NULL;
    j->prepared = false;
  }
  bool some = inputs || srs || resv;
  if (some) e->busy++;
  cuzk_engine_unlock(e);
  if (!some) return;
  if (inputs) e->ops->close(e->self, inputs);
  cuzk_reservation_free(&resv);
  if (srs) cuzk_residency_put(&srs);
  cuzk_engine_lock(e);
  e->busy--;
  cuzk_engine_check_idle_locked(e);
  cuzk_engine_unlock(e);
}

bool cuzk_job_end(struct cuzk_engine *e, struct cuzk_job *j, enum cuzk_job_state state, bool draining, const char *error) {
  char *copy = error ? cuzk_strdup(error) : NULL;
  struct cuzk_part *ready = NULL;
  cuzk_engine_lock(e);
  if (j->ending) {
    cuzk_engine_unlock(e);
    cuzk_free(copy);
    return false;
  }
  j->ending = true;
  j->end_state = state;
  j->draining = draining;
  j->error = copy;
  if (state != CUZK_JOB_COMPLETED) atomic_store(&j->stop, true);
  cuzk_prepq_remove_locked(e, j);
  cuzk_verifyq_remove_locked(e, j);
  for (unsigned i = 0; i < j->n_parts; i++) {
    struct cuzk_part *p = &j->part[i];
    if (p->queue == &e->partq) {
      cuzk_part_unqueue_locked(p);
    } else if (p->queue == &e->gpuq) {
      cuzk_part_unqueue_locked(p);
      p->next = ready;
      ready = p;
    }
  }
  cuzk_sched_interrupt_locked(e, j);
  e->busy++;
  cuzk_cond_signal(&e->dispatch_cond);
  if (e->prepq.n > 0) cuzk_cond_broadcast(&e->prep_cond);
  cuzk_engine_unlock(e);
  while (ready) {
    struct cuzk_part *p = ready;
    ready = p->next;
    void *work = p->work;
    p->work = NULL;
    e->ops->drop(e->self, work);
    cuzk_part_leave(e, p);
  }
  cuzk_job_try_release(e, j);
  bool stored = e->journal_on && !draining;
  if (!stored) cuzk_job_publish(e, j);
  cuzk_engine_lock(e);
  if (stored) {
    cuzk_job_ref_locked(j);
    j->end_next = NULL;
    j->end_try_ns = j->end_since_ns = cuzk_engine_now(e);
    *e->ends_last = j;
    e->ends_last = &j->end_next;
    cuzk_cond_signal(&e->journal_cond);
  }
  e->busy--;
  cuzk_engine_check_idle_locked(e);
  cuzk_engine_unlock(e);
  return true;
}

bool cuzk_job_fail(struct cuzk_engine *e, struct cuzk_job *j, const char *token, const char *fmt, ...) {
  char text[2 * CUZK_ERROR_BYTES];
  char line[CUZK_ERROR_BYTES + 1];
  int n = snprintf(text, sizeof text, "%s: ", token);
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
  va_end(ap);
  cuzk_one_line(line, sizeof line, text);
  return cuzk_job_end(e, j, CUZK_JOB_FAILED, false, line);
}

void cuzk_job_publish(struct cuzk_engine *e, struct cuzk_job *j) {
  uint64_t now = cuzk_engine_now(e);
  cuzk_engine_lock(e);
  j->state = j->end_state;
  j->end_ns = now ? now : 1;
  j->published = true;
  cuzk_prepq_remove_locked(e, j);
  bool started = j->started_ns != 0;
  live_remove(e, j);
  struct cuzk_kind_counts *k = &e->kind[j->plan.kind];
  if (j->state == CUZK_JOB_COMPLETED) k->completed++;
  else if (j->state == CUZK_JOB_FAILED) k->failed++;
  else k->cancelled++;
  struct cuzk_watch *list = j->watches;
  j->watches = NULL;
  j->n_watches = 0;
  for (struct cuzk_watch *w = list; w; w = w->next) {
    cuzk_timer_clear_locked(e, &w->timer);
    w->job = NULL;
  }
  cuzk_timer_clear_locked(e, &j->orphan_timer);
  cuzk_job_retain_locked(e, j);
  cuzk_job_ref_locked(j); /* the table may let go of it meanwhile */
  struct cuzk_request *rq = j->request;
  j->request = NULL;
  struct cuzk_job_result r;
  cuzk_job_result_of_locked(e, j, &r);
  e->busy++;
  cuzk_cond_signal(&e->keep_cond);
  cuzk_engine_unlock(e);

  unsigned kind = j->plan.kind;
  unsigned long long total = r.times.total_ms;
  if (r.state == CUZK_JOB_COMPLETED) {
    cuzk_record(e->o.recorder, CUZK_EV_JOB_DONE, j->job_id, "total_ms=%llu", total);
    cuzk_series_add(e->m_completed, 1);
    cuzk_series_add(e->m_done[kind], 1);
    cuzk_series_observe(e->m_sum[kind], (double)(j->end_ns - j->submit_ns) / 1e9);
  } else if (r.state == CUZK_JOB_FAILED) {
    char err[600];
    (void)cuzk_record_text(err, sizeof err, r.error ? r.error : "internal: out of memory");
    cuzk_record(e->o.recorder, CUZK_EV_JOB_FAIL, j->job_id, "total_ms=%llu,err=%s", total, err);
    cuzk_series_add(e->m_failed_all, 1);
    cuzk_series_add(e->m_failed[kind], 1);
  } else {
    cuzk_record(e->o.recorder, CUZK_EV_JOB_CANCEL, j->job_id, "total_ms=%llu", total);
  }
  cuzk_series_observe(e->m_job[kind], (double)(j->end_ns - j->submit_ns) / 1e9);
  if (started) cuzk_series_observe(e->m_wait[kind], (double)r.times.queue_wait_ms / 1e3);
  cuzk_request_unref(&rq);
  cuzk_watch_fire(e, list, &r);
  cuzk_engine_lock(e);
  e->busy--;
  cuzk_engine_check_idle_locked(e);
  cuzk_engine_unlock(e);
  cuzk_job_put(e, j);
}

/* ---- waiters ---- */

static char empty_error[] = "internal: out of memory";

void cuzk_watch_fire(struct cuzk_engine *e, struct cuzk_watch *list, const struct cuzk_job_result *r) {
  struct cuzk_job_result shown = *r;
  if (shown.state == CUZK_JOB_FAILED && !shown.error) shown.error = empty_error;
  while (list) {
    struct cuzk_watch *w = list;
    list = w->next;
    w->fn(w->user, &shown);
    cuzk_engine_lock(e);
    bool gone = --w->refs == 0;
    cuzk_engine_unlock(e);
    if (gone) cuzk_free(w);
  }
}

void cuzk_watch_remove_locked(struct cuzk_engine *e, struct cuzk_watch *w) {
  struct cuzk_job *j = w->job;
  if (w->prev) w->prev->next = w->next;
  else j->watches = w->next;
  if (w->next) w->next->prev = w->prev;
  w->next = w->prev = NULL;
  w->job = NULL;
  cuzk_timer_clear_locked(e, &w->timer);
  j->n_watches--;
  cuzk_job_orphan_locked(e, j, cuzk_engine_now(e));
}

void cuzk_job_orphan_locked(struct cuzk_engine *e, struct cuzk_job *j, uint64_t now) {
  if (!j->from_prove || j->n_watches > 0 || j->ending) {
    cuzk_timer_clear_locked(e, &j->orphan_timer);
    return;
  }
  j->orphan_since = now;
  cuzk_timer_set_locked(e, &j->orphan_timer, now + e->o.t.orphan_grace_ns);
}

enum cuzk_status cuzk_engine_watch(struct cuzk_engine *e, struct cuzk_watch **out, const char *job_id, uint64_t until, cuzk_watch_fn *fn,
                                   void *user) {
  if (out) *out = NULL;
  struct cuzk_watch *w = cuzk_calloc(1, sizeof *w);
  if (!w) return CUZK_E_NOMEM;
  *w = (struct cuzk_watch){.e = e, .until = until, .fn = fn, .user = user, .refs = out ? 2 : 1};
  cuzk_engine_lock(e);
  struct cuzk_job *j = cuzk_job_find_locked(e, job_id);
  if (!j || j->admitting) {
    cuzk_engine_unlock(e);
    cuzk_free(w);
    return CUZK_E_NOENT;
  }
  if (out) *out = w;
  if (j->published || until <= cuzk_engine_now(e)) {
    struct cuzk_job_result r;
    cuzk_job_result_of_locked(e, j, &r);
    cuzk_job_ref_locked(j);
    cuzk_engine_unlock(e);
    cuzk_watch_fire(e, w, &r);
    cuzk_job_put(e, j);
    return CUZK_OK;
  }
  w->job = j;
  w->next = j->watches;
  if (w->next) w->next->prev = w;
  j->watches = w;
  j->n_watches++;
  w->timer.b = (++e->next_watch << 1) | CUZK_TIMER_WATCH;
  if (until != CUZK_NEVER) cuzk_timer_set_locked(e, &w->timer, until);
  cuzk_timer_clear_locked(e, &j->orphan_timer);
  cuzk_engine_unlock(e);
  return CUZK_OK;
}

bool cuzk_engine_unwatch(struct cuzk_engine *e, struct cuzk_watch **wp) {
  struct cuzk_watch *w = *wp;
  if (!w) return false;
  *wp = NULL;
  cuzk_engine_lock(e);
  bool waiting = w->job != NULL;
  if (waiting) {
    cuzk_watch_remove_locked(e, w);
    w->refs--;
  }
  bool gone = --w->refs == 0;
  cuzk_engine_unlock(e);
  if (gone) cuzk_free(w);
  return waiting;
}

void cuzk_job_result_clear(struct cuzk_job_result *r) {
  cuzk_free(r->job_id);
  cuzk_free(r->proof);
  cuzk_free(r->error);
  *r = (struct cuzk_job_result){0};
}

struct waiting {
  pthread_mutex_t lock;
  struct cuzk_cond cond;
  bool done, no_memory;
  struct cuzk_job_result *out;
};

static void copy_result(void *user, const struct cuzk_job_result *r) {
  struct waiting *w = user;
  (void)pthread_mutex_lock(&w->lock);
  *w->out = *r;
  w->out->job_id = cuzk_strdup(r->job_id);
  w->out->error = r->error ? cuzk_strdup(r->error) : NULL;
  w->out->proof = r->proof ? cuzk_malloc(r->proof_bytes) : NULL;
  w->no_memory = !w->out->job_id || (r->error && !w->out->error) || (r->proof && !w->out->proof);
  if (w->out->proof) memcpy(w->out->proof, r->proof, r->proof_bytes);
  w->done = true;
  cuzk_cond_broadcast(&w->cond);
  (void)pthread_mutex_unlock(&w->lock);
}

enum cuzk_status cuzk_engine_await(struct cuzk_engine *e, struct cuzk_job_result *out, const char *job_id, uint64_t until) {
  *out = (struct cuzk_job_result){0};
  struct waiting w = {.out = out};
  if (pthread_mutex_init(&w.lock, NULL) != 0) return CUZK_E_NOMEM;
  enum cuzk_status st = cuzk_cond_init(&w.cond, e->clock);
  if (st == CUZK_OK) {
    st = cuzk_engine_watch(e, NULL, job_id, until, copy_result, &w);
    if (st == CUZK_OK) {
      (void)pthread_mutex_lock(&w.lock);
      while (!w.done) (void)cuzk_cond_wait(&w.cond, &w.lock, CUZK_NEVER);
      (void)pthread_mutex_unlock(&w.lock);
    }
    cuzk_cond_clear(&w.cond);
  }
  (void)pthread_mutex_destroy(&w.lock);
  if (st == CUZK_OK && w.no_memory) {
    cuzk_job_result_clear(out);
    st = CUZK_E_NOMEM;
  }
  return st;
}

void cuzk_engine_delivered(struct cuzk_engine *e, const char *job_id) {
  cuzk_engine_lock(e);
  struct cuzk_job *j = cuzk_job_find_locked(e, job_id);
  bool first = j && j->published && j->state == CUZK_JOB_COMPLETED && !j->delivered;
  if (first) j->delivered = true;
  cuzk_engine_unlock(e);
  if (first) cuzk_journal_later(e, CUZK_JOP_DELIVERED, job_id, 0, 0);
}

enum cuzk_status cuzk_engine_cancel(struct cuzk_engine *e, const char *job_id, bool *was_running) {
  *was_running = false;
  cuzk_engine_lock(e);
  struct cuzk_job *j = cuzk_job_find_locked(e, job_id);
  if (!j || j->admitting) {
    cuzk_engine_unlock(e);
    return CUZK_E_NOENT;
  }
  cuzk_job_ref_locked(j);
  bool started = j->started_ns != 0;
  cuzk_engine_unlock(e);
  bool mine = cuzk_job_end(e, j, CUZK_JOB_CANCELLED, false, NULL);
  *was_running = mine && started;
  cuzk_job_put(e, j);
  return CUZK_OK;
}
