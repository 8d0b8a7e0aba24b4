/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Devices: their workers, their locks, their errors, and where their idle time went. */
#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "base/fail.h"
#include "engine/engine_internal.h"

#define EMA 0.2
#define CRITICAL 0
#define PART_OF(n) ((struct cuzk_part *)((char *)(n) - offsetof(struct cuzk_part, node)))

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

/* ---- the device lock ---- */

enum cuzk_status cuzk_device_lock_init(struct cuzk_device_lock *l) {
  *l = (struct cuzk_device_lock){0};
  l->last[0] = &l->first[0];
  l->last[1] = &l->first[1];
  return pthread_mutex_init(&l->mutex, NULL) == 0 ? CUZK_OK : CUZK_E_NOMEM;
}

void cuzk_device_lock_clear(struct cuzk_device_lock *l) {
  CUZK_VERIFY(!l->held && !l->first[0] && !l->first[1]);
  (void)pthread_mutex_destroy(&l->mutex);
}

/* False: the device hangs, nobody gets it. */
static bool lock_device(struct cuzk_device_lock *l, struct cuzk_cond *cond, bool critical) {
  (void)pthread_mutex_lock(&l->mutex);
  bool got = !l->broken;
  if (got && !l->held) {
    l->held = true;
  } else if (got) {
    struct cuzk_lock_wait w = {.cond = cond};
    struct cuzk_lock_wait ***last = &l->last[critical ? 0 : 1];
    **last = &w;
    *last = &w.next;
    while (!w.granted && !w.refused) (void)cuzk_cond_wait(cond, &l->mutex, CUZK_NEVER);
    got = w.granted;
  }
  (void)pthread_mutex_unlock(&l->mutex);
  return got;
}

static void unlock_device(struct cuzk_device_lock *l) {
  (void)pthread_mutex_lock(&l->mutex);
  unsigned i = l->first[0] ? 0 : 1;
  struct cuzk_lock_wait *w = l->first[i];
  if (w) { /* handed over: who waits longest, CRITICAL first */
    l->first[i] = w->next;
    if (!w->next) l->last[i] = &l->first[i];
    w->granted = true;
    cuzk_cond_signal(w->cond);
  } else {
    l->held = false;
  }
  (void)pthread_mutex_unlock(&l->mutex);
}

static void break_lock(struct cuzk_device_lock *l, bool broken) {
  (void)pthread_mutex_lock(&l->mutex);
  l->broken = broken;
  for (unsigned i = 0; broken && i < 2; i++) {
    while (l->first[i]) { /* sent away, to be proved elsewhere */
      struct cuzk_lock_wait *w = l->first[i];
      l->first[i] = w->next;
      w->refused = true;
      cuzk_cond_signal(w->cond);
    }
    l->last[i] = &l->first[i];
  }
  (void)pthread_mutex_unlock(&l->mutex);
}

/* ---- which device may ---- */

bool cuzk_device_allows(const struct cuzk_engine *e, unsigned device, const char *circuit_id) {
  const char *list = e->o.affinity ? e->o.affinity[device] : NULL;
  if (!list) return true;
  size_t n = strlen(circuit_id);
  for (const char *at = list; *at;) {
    size_t len = strcspn(at, " ");
    if ((len == 3 && memcmp(at, "any", 3) == 0) || (len == n && memcmp(at, circuit_id, n) == 0)) return true;
    at += len;
    at += strspn(at, " ");
  }
  return false;
}

unsigned cuzk_device_usable_locked(const struct cuzk_engine *e, const char *circuit_id) {
  unsigned n = 0;
  for (unsigned i = 0; i < e->n_devices; i++) n += !e->dev[i].down && cuzk_device_allows(e, i, circuit_id);
  return n;
}

void cuzk_device_signal_locked(struct cuzk_engine *e) {
  for (unsigned i = 0; i < e->n_devices; i++) cuzk_cond_broadcast(&e->dev[i].cond);
}

/* ---- errors ---- */

static void quarantine(struct cuzk_engine *e, struct cuzk_dev *dev, const char *why) {
  cuzk_record(e->o.recorder, CUZK_EV_GPU_QUARANTINE, NULL, "gpu=%u,err=%s", dev->ordinal, why);
}

void cuzk_device_error(struct cuzk_engine *e, struct cuzk_dev *dev, const char *code, bool lost) {
  if (e->o.metrics) {
    char labels[64];
    (void)snprintf(labels, sizeof labels, "gpu=\"%u\",code=\"%s\"", dev->ordinal, code);
    cuzk_series_add(cuzk_metrics_series(e->o.metrics, "cuzk_gpu_errors_total", CUZK_COUNTER, "Errors of devices by sort.", labels), 1);
  }
  cuzk_engine_lock(e);
  dev->errors++;
  dev->consecutive++;
  bool out = !dev->down && (lost || (e->o.quarantine_errors > 0 && dev->consecutive >= e->o.quarantine_errors));
  if (out) {
    dev->down = true;
    dev->retry_ns = cuzk_engine_now(e) + e->o.quarantine_ns;
  }
  dev->lost = dev->lost || lost;
  cuzk_device_signal_locked(e); /* others may take what this one was preferred for */
  cuzk_cond_signal(&e->dispatch_cond);
  cuzk_engine_unlock(e);
  if (out) quarantine(e, dev, lost ? "lost" : code);
}

void cuzk_device_hung(struct cuzk_engine *e, struct cuzk_dev *dev) {
  break_lock(&dev->lock, true); /* before a reset can mend it */
  cuzk_engine_lock(e);
  bool out = !dev->down;
  dev->down = dev->lost = true;
  dev->errors++;
  dev->retry_ns = cuzk_engine_now(e); /* a reset may bring the call back */
  cuzk_device_signal_locked(e);
  cuzk_engine_unlock(e);
  if (out) quarantine(e, dev, "hang");
}

static void try_reset(struct cuzk_engine *e, struct cuzk_dev *dev) {
  dev->resetting = true;
  cuzk_engine_unlock(e);
  struct cuzk_detail d = {""};
  enum cuzk_status st = e->ops->device_reset(e->self, dev->ordinal, &d);
  if (st == CUZK_OK) {
    break_lock(&dev->lock, false);
    cuzk_record(e->o.recorder, CUZK_EV_GPU_BACK, NULL, "gpu=%u", dev->ordinal);
  }
  cuzk_engine_lock(e);
  dev->resetting = false;
  if (st == CUZK_OK) {
    dev->down = dev->lost = false;
    dev->consecutive = 0;
    cuzk_device_signal_locked(e);
    cuzk_cond_signal(&e->dispatch_cond);
  } else {
    dev->retry_ns = cuzk_engine_now(e) + (e->o.quarantine_ns ? e->o.quarantine_ns : CUZK_SECOND);
  }
}

/* ---- idle time ---- */

static void idle_begins_locked(struct cuzk_engine *e, struct cuzk_dev *dev, uint64_t now) {
  dev->idle = true;
  dev->idle_ns = now;
  dev->idle_active = e->n_live > 0;
  dev->first_submit_ns = 0;
}

/* Splits the gap that ends now by cause (engine specification 6.7); before a device's first call there is no gap. */
static void idle_ends_locked(struct cuzk_dev *dev, const struct cuzk_part *p, uint64_t now, uint64_t ns[7]) {
  memset(ns, 0, 7 * sizeof *ns);
  bool counts = dev->idle && dev->ever;
  dev->idle = false;
  dev->ever = true;
  if (!counts) return;
  uint64_t s = dev->idle_ns;
  uint64_t r = p->ready_ns < s ? s : p->ready_ns > now ? now : p->ready_ns;
  ns[CUZK_IDLE_OVERHEAD] = now - r;
  uint64_t f = s;
  if (!dev->idle_active) f = dev->first_submit_ns >= s && dev->first_submit_ns < r ? dev->first_submit_ns : r;
  ns[CUZK_IDLE_NO_DEMAND] = f - s;
  uint64_t rest = r - f;
  uint64_t budget = p->budget_wait_ns < rest ? p->budget_wait_ns : rest;
  rest -= budget;
  uint64_t srs = p->job->srs_wait_ns < rest && p->job != dev->last_job ? p->job->srs_wait_ns : p->job != dev->last_job ? rest : 0;
  rest -= srs;
  ns[CUZK_IDLE_BUDGET] = budget;
  ns[CUZK_IDLE_SRS] = srs;
  ns[!dev->idle_active ? CUZK_IDLE_COLD : p->job != dev->last_job ? CUZK_IDLE_CROSS : CUZK_IDLE_INTRA] = rest;
}

/* ---- a worker ---- */

struct pick {
  struct cuzk_engine *e;
  struct cuzk_worker *w;
};

static bool acceptable(void *user, struct cuzk_node *n) {
  struct pick *k = user;
  struct cuzk_part *p = PART_OF(n);
  struct cuzk_dev *dev = k->w->dev;
  const char *circuit = p->job->plan.circuit_id;
  if (k->w->express && p->node_class != CRITICAL) return false;
  if (!cuzk_device_allows(k->e, dev->ordinal, circuit)) return false;
  return p->avoid != (int)dev->ordinal || cuzk_device_usable_locked(k->e, circuit) <= 1;
}

static struct cuzk_part *pick(struct cuzk_engine *e, struct cuzk_worker *w) {
  struct cuzk_dev *dev = w->dev;
  if (dev->down || dev->exclusive) return NULL;
  struct pick k = {e, w};
  struct cuzk_part *p = cuzk_partq_best_locked(e, &e->gpuq, acceptable, &k);
  /* One that wants the device for itself waits until the others are through, and the others behind it too. */
  return p && p->alone && dev->active > 0 ? NULL : p;
}

static void set_phase(struct cuzk_engine *e, struct cuzk_worker *w, struct cuzk_part *p, enum cuzk_gpu_phase phase, const char *stage) {
  cuzk_engine_lock(e);
  w->phase = p->phase = phase;
  if (stage) cuzk_stage_begin_locked(e, p, stage);
  else p->stage = NULL;
  cuzk_engine_unlock(e);
}

/* The worker is done with the partition; what is left of it belongs to who is called next. */
static void let_go(struct cuzk_engine *e, struct cuzk_worker *w, bool device_too, struct cuzk_part *p) {
  cuzk_engine_lock(e);
  w->part = NULL;
  w->phase = CUZK_PHASE_NONE;
  if (device_too) {
    w->dev->active--;
    if (w->dev->exclusive && p->alone) w->dev->exclusive = false;
    e->n_pre--;
    cuzk_device_signal_locked(e);
  }
  cuzk_engine_unlock(e);
}

static void end_event(struct cuzk_engine *e, struct cuzk_worker *w, struct cuzk_part *p, const char *err) {
  char text[200];
  (void)cuzk_record_text(text, sizeof text, err);
  uint64_t now = cuzk_engine_now(e);
  uint64_t kernel = p->unlock_ns - p->lock_ns;
  cuzk_record(e->o.recorder, CUZK_EV_GPU_END, p->job->job_id,
              "worker=%u,partition=%u,gpu_ms=%llu,gpu=%u,lock_wait_ms=%llu,kernel_ms=%llu,post_ms=%llu,err=%s", w->number, p->index,
              (unsigned long long)((now - p->gpu0_ns) / CUZK_MS), w->dev->ordinal, (unsigned long long)(p->lock_wait_ns / CUZK_MS),
              (unsigned long long)(kernel / CUZK_MS), (unsigned long long)(p->unlock_ns ? (now - p->unlock_ns) / CUZK_MS : 0), text);
}

/* Takes the device, noting how long it took and what the device did meanwhile. */
static bool take_device(struct cuzk_engine *e, struct cuzk_worker *w, struct cuzk_part *p) {
  struct cuzk_dev *dev = w->dev;
  uint64_t t0 = cuzk_engine_now(e);
  if (!lock_device(&dev->lock, &w->lock_cond, p->node_class == CRITICAL)) return false;
  uint64_t now = cuzk_engine_now(e);
  uint64_t gap[7];
  cuzk_engine_lock(e);
  dev->holder = p;
  dev->hold_ns = now;
  p->lock_ns = now;
  p->lock_wait_ns = now - t0;
  idle_ends_locked(dev, p, now, gap);
  cuzk_engine_unlock(e);
  cuzk_series_observe(dev->lock_wait, seconds(now - t0));
  for (unsigned i = 0; i < 7; i++)
    if (gap[i]) cuzk_series_add(dev->reason[i], seconds(gap[i]));
  return true;
}

static void give_device(struct cuzk_engine *e, struct cuzk_worker *w, struct cuzk_part *p) {
  struct cuzk_dev *dev = w->dev;
  uint64_t now = cuzk_engine_now(e);
  cuzk_engine_lock(e);
  uint64_t held = now - dev->hold_ns;
  dev->busy_ns += held;
  dev->holder = NULL;
  dev->last_job = p->job;
  p->unlock_ns = now;
  p->job->gpu_sum_ns += held;
  idle_begins_locked(e, dev, now);
  cuzk_engine_unlock(e);
  unlock_device(&dev->lock);
  cuzk_series_add(dev->busy, seconds(held));
}

static void count_kernels(struct cuzk_engine *e, struct cuzk_worker *w, struct cuzk_job *j, uint64_t ns) {
  cuzk_engine_lock(e);
  double x = (double)ns;
  j->circuit->lock_ns = j->circuit->lock_ns < 0 ? x : j->circuit->lock_ns + EMA * (x - j->circuit->lock_ns);
  cuzk_cond_signal(&e->dispatch_cond);
  cuzk_engine_unlock(e);
  if (!e->o.metrics) return;
  char labels[96];
  (void)snprintf(labels, sizeof labels, "gpu=\"%u\",circuit=\"%s\"", w->dev->ordinal, j->plan.circuit_id);
  cuzk_series_observe(
      cuzk_metrics_series(e->o.metrics, "cuzk_partition_kernel_seconds", CUZK_HISTOGRAM, "Device work of one partition.", labels), seconds(ns));
}

static void run(struct cuzk_engine *e, struct cuzk_worker *w, struct cuzk_part *p) {
  struct cuzk_job *j = p->job;
  struct cuzk_dev *dev = w->dev;
  struct cuzk_detail d = {""};
  const bool whole = e->o.lock_whole_call;
  cuzk_record(e->o.recorder, CUZK_EV_GPU_PICKUP, j->job_id, "worker=%u,partition=%u,gpu=%u", w->number, p->index, dev->ordinal);
  bool held = whole && take_device(e, w, p);
  void *work = p->work;
  p->work = NULL;
  if ((whole && !held) || atomic_load(&j->stop)) {
    if (held) give_device(e, w, p);
    e->ops->drop(e->self, work);
    let_go(e, w, true, p);
    cuzk_part_requeue(e, p);
    return;
  }
  set_phase(e, w, p, CUZK_PHASE_PRE, "start");
  cuzk_record(e->o.recorder, CUZK_EV_GPU_START, j->job_id, "worker=%u,partition=%u,gpu=%u", w->number, p->index, dev->ordinal);
  void *pending = NULL;
  enum cuzk_status st = e->ops->start(e->self, work, dev->ordinal, &pending, &d);
  if (st != CUZK_OK) {
    if (held) give_device(e, w, p);
    end_event(e, w, p, d.text[0] ? d.text : cuzk_status_text(st));
    let_go(e, w, true, p);
    cuzk_reservation_free(&p->resv);
    cuzk_part_failed(e, p, "start", (int)dev->ordinal, st, &d);
    return;
  }
  set_phase(e, w, p, CUZK_PHASE_LOCK_WAIT, NULL);
  bool unwanted = atomic_load(&j->stop);
  if (!unwanted && !held) held = take_device(e, w, p);
  cuzk_engine_lock(e);
  bool down = dev->down;
  cuzk_engine_unlock(e);
  if (unwanted || !held || down || atomic_load(&j->stop)) {
    if (held) give_device(e, w, p);
    e->ops->abort(e->self, pending);
    end_event(e, w, p, atomic_load(&j->stop) ? "cancelled" : "device taken out");
    let_go(e, w, true, p);
    cuzk_part_requeue(e, p);
    return;
  }
  set_phase(e, w, p, CUZK_PHASE_KERNELS, "kernels");
  struct cuzk_kernel_times t = {0};
  uint64_t k0 = cuzk_engine_now(e);
  cuzk_record(e->o.recorder, CUZK_EV_KERNEL_START, j->job_id, "worker=%u,gpu=%u,partition=%u", w->number, dev->ordinal, p->index);
  st = e->ops->kernels(e->self, pending, &t, &d);
  uint64_t k1 = cuzk_engine_now(e);
  cuzk_record(e->o.recorder, CUZK_EV_KERNEL_END, j->job_id,
              "worker=%u,gpu=%u,partition=%u,h_ms=%llu,barrier_ms=%llu,badd_ms=%llu,tail_ms=%llu", w->number, dev->ordinal, p->index,
              (unsigned long long)t.h_ms, (unsigned long long)t.barrier_ms, (unsigned long long)t.badd_ms, (unsigned long long)t.tail_ms);
  if (!whole || st != CUZK_OK) {
    give_device(e, w, p);
    held = false;
  } else {
    p->unlock_ns = k1;
  }
  count_kernels(e, w, j, k1 - k0);
  if (st != CUZK_OK) {
    e->ops->abort(e->self, pending);
    end_event(e, w, p, d.text[0] ? d.text : cuzk_status_text(st));
    let_go(e, w, true, p);
    cuzk_reservation_free(&p->resv);
    cuzk_part_failed(e, p, "kernels", (int)dev->ordinal, st, &d);
    return;
  }
  cuzk_reservation_release(p->resv, CUZK_MEM_ABC);
  set_phase(e, w, p, CUZK_PHASE_POST, NULL);
  p->pending = pending;
  cuzk_engine_lock(e);
  e->n_pre--;
  e->n_post++;
  bool handed = !whole && e->o.split_prove && e->finq.n < 2 * e->n_devices && !e->quit;
  if (handed) {
    w->part = NULL;
    w->phase = CUZK_PHASE_NONE;
    cuzk_partq_push_locked(&e->finq, p);
    cuzk_cond_signal(&e->finish_cond);
  }
  cuzk_engine_unlock(e);
  if (handed) return;
  /* The worker names the partition until it lets go, which may be after the job's end. */
  cuzk_engine_lock(e);
  cuzk_job_ref_locked(j);
  cuzk_engine_unlock(e);
  cuzk_stage_finish(e, p);
  if (held) give_device(e, w, p);
  let_go(e, w, false, NULL);
  cuzk_job_put(e, j);
}

void *cuzk_worker_main(void *arg) {
  struct cuzk_worker *w = arg;
  struct cuzk_engine *e = w->e;
  struct cuzk_dev *dev = w->dev;
  cuzk_engine_lock(e);
  while (!e->quit) {
    if (dev->down && !dev->resetting && cuzk_engine_now(e) >= dev->retry_ns) {
      try_reset(e, dev);
      continue;
    }
    struct cuzk_part *p = pick(e, w);
    if (!p) {
      (void)cuzk_cond_wait(&dev->cond, &e->lock, dev->down && !dev->resetting ? dev->retry_ns : CUZK_NEVER);
      continue;
    }
    cuzk_part_unqueue_locked(p);
    dev->active++;
    if (p->alone) dev->exclusive = true;
    e->n_pre++;
    p->state = CUZK_PART_GPU;
    p->device = (int)dev->ordinal;
    p->worker = w->number;
    p->gpu0_ns = cuzk_engine_now(e);
    p->lock_ns = p->unlock_ns = p->lock_wait_ns = 0;
    w->part = p;
    w->phase = p->phase = CUZK_PHASE_PRE;
    w->since_ns = p->gpu0_ns;
    cuzk_cond_signal(&e->dispatch_cond);
    cuzk_engine_unlock(e);
    run(e, w, p);
    cuzk_engine_lock(e);
  }
  cuzk_engine_unlock(e);
  return NULL;
}
