/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who comes next: keys, queues, the order of preparation, the dispatcher with its pacing, the fast lane. */
#include <stddef.h>
#include <string.h>

#include "base/fail.h"
#include "engine/engine_internal.h"

/* Unknown means count as this ratio of synthesis to device time. */
#define COLD_RATIO 10
#define CRITICAL 0
#define HIGH 1
#define NORMAL 2

#define JOB_OF(n, member) ((struct cuzk_job *)((char *)(n) - offsetof(struct cuzk_job, member)))
#define PART_OF(n) ((struct cuzk_part *)((char *)(n) - offsetof(struct cuzk_part, node)))

/* ---- keys ---- */

unsigned cuzk_job_base_class(const struct cuzk_job *j) { return 4 - j->priority; }

static unsigned aged(struct cuzk_engine *e, const struct cuzk_job *j, unsigned cls, uint64_t now) {
  return cls >= NORMAL && now - j->submit_ns > e->o.t.age_limit_ns ? cls - 1 : cls;
}

unsigned cuzk_job_class_locked(struct cuzk_engine *e, const struct cuzk_job *j, uint64_t now) {
  return aged(e, j, cuzk_job_base_class(j), now);
}

struct cuzk_key cuzk_job_key_locked(struct cuzk_engine *e, const struct cuzk_job *j, unsigned partition, uint64_t now) {
  return (struct cuzk_key){.cls = cuzk_job_class_locked(e, j, now), .seq = j->order, .partition = partition};
}

/* ---- queues ---- */

static void push(struct cuzk_queue *q, struct cuzk_node *n, unsigned cls, uint64_t a, uint64_t b) {
  n->a = a;
  n->b = b;
  cuzk_set_insert(&q->root[cls], n);
  q->n++;
}

static void take(struct cuzk_queue *q, struct cuzk_node *n, unsigned cls) {
  cuzk_set_remove(&q->root[cls], n);
  q->n--;
}

void cuzk_partq_push_locked(struct cuzk_queue *q, struct cuzk_part *p) {
  p->node_class = cuzk_job_base_class(p->job);
  push(q, &p->node, p->node_class, p->job->order, p->index);
  p->queue = q;
}

void cuzk_part_unqueue_locked(struct cuzk_part *p) {
  if (!p->queue) return;
  take(p->queue, &p->node, p->node_class);
  p->queue = NULL;
}

/* All who prepare are busy, one of them waiting for memory for a worse job than j: that one starts over, after j. */
static void preempt(struct cuzk_engine *e, const struct cuzk_job *j) {
  struct cuzk_key mine = cuzk_job_key_locked(e, j, 0, cuzk_engine_now(e));
  struct cuzk_prep *worst = NULL;
  struct cuzk_budget_view v;
  for (unsigned i = 0; i < e->n_prep; i++)
    if (!e->prep[i].express && !e->prep[i].job) return;
  cuzk_budget_view(e->budget, &v);
  for (unsigned i = 0; i < e->n_prep; i++) {
    struct cuzk_prep *t = &e->prep[i];
    if (t->express || cuzk_key_cmp(&t->key, &mine) < 0 || (worst && cuzk_key_cmp(&t->key, &worst->key) < 0)) continue;
    for (unsigned k = 0; k < v.n_waiters && k < sizeof v.waiter / sizeof *v.waiter; k++)
      if (v.waiter[k].key.seq == t->key.seq) worst = t;
  }
  if (!worst) return;
  atomic_store(&worst->cancel, true);
  e->kick = true;
}

void cuzk_prepq_push_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  j->prep_class = cuzk_job_base_class(j);
  preempt(e, j);
  push(&e->prepq, &j->prep_node, j->prep_class, j->order, 0);
  cuzk_cond_broadcast(&e->prep_cond);
  if (j->prep_class == CRITICAL) cuzk_cond_signal(&e->express_prep_cond);
}

void cuzk_prepq_remove_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  if (j->prep_node.in) take(&e->prepq, &j->prep_node, j->prep_class);
}

void cuzk_verifyq_push_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  j->verify_class = cuzk_job_base_class(j);
  push(&e->verifyq, &j->verify_node, j->verify_class, j->order, 0);
  cuzk_cond_signal(&e->verify_cond);
}

void cuzk_verifyq_remove_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  if (j->verify_node.in) take(&e->verifyq, &j->verify_node, j->verify_class);
}

void cuzk_job_reclass_locked(struct cuzk_engine *e, struct cuzk_job *j, unsigned priority) {
  bool prep = j->prep_node.in;
  bool verify = j->verify_node.in;
  cuzk_prepq_remove_locked(e, j);
  cuzk_verifyq_remove_locked(e, j);
  j->priority = priority;
  cuzk_budget_raise(e->budget, j->order, cuzk_job_base_class(j));
  if (prep) cuzk_prepq_push_locked(e, j);
  if (verify) cuzk_verifyq_push_locked(e, j);
  for (unsigned i = 0; i < j->n_parts; i++) {
    struct cuzk_part *p = &j->part[i];
    struct cuzk_queue *q = p->queue;
    if (!q) continue;
    cuzk_part_unqueue_locked(p);
    cuzk_partq_push_locked(q, p);
    if (q == &e->partq) cuzk_sched_part_queued_locked(e, p);
  }
  cuzk_device_signal_locked(e);
}

struct best {
  struct cuzk_engine *e;
  uint64_t now;
  struct cuzk_node *node;
  struct cuzk_key key;
  const struct cuzk_circuit_stats *asked; /* the last circuit whose residency was looked up, and the answer */
  bool resident;
};

static void consider(struct best *b, struct cuzk_node *n, const struct cuzk_job *j, unsigned cls) {
  if (!n) return;
  struct cuzk_key key = {.cls = aged(b->e, j, cls, b->now), .seq = n->a, .partition = (unsigned)n->b};
  if (b->node && cuzk_key_cmp(&key, &b->key) > 0) return;
  b->node = n;
  b->key = key;
}

static bool any(void *user, struct cuzk_node *n) {
  (void)user;
  (void)n;
  return true;
}

struct cuzk_part *cuzk_partq_best_locked(struct cuzk_engine *e, struct cuzk_queue *q, bool (*fn)(void *, struct cuzk_node *), void *user) {
  struct best b = {.e = e, .now = cuzk_engine_now(e)};
  for (unsigned c = 0; c < CUZK_N_CLASSES; c++) {
    struct cuzk_node *n = cuzk_set_find(q->root[c], fn ? fn : any, user);
    if (n) consider(&b, n, PART_OF(n)->job, c);
  }
  return b.node ? PART_OF(b.node) : NULL;
}

struct cuzk_job *cuzk_verifyq_best_locked(struct cuzk_engine *e) {
  struct best b = {.e = e, .now = cuzk_engine_now(e)};
  for (unsigned c = 0; c < CUZK_N_CLASSES; c++) {
    struct cuzk_node *n = cuzk_set_first(e->verifyq.root[c]);
    if (n) consider(&b, n, JOB_OF(n, verify_node), c);
  }
  return b.node ? JOB_OF(b.node, verify_node) : NULL;
}

/* ---- preparation ---- */

/* A long queue mostly has runs of one circuit: asked once. */
static bool resident(struct best *b, const struct cuzk_job *j) {
  if (b->asked != j->circuit) {
    b->asked = j->circuit;
    b->resident = cuzk_residency_has(b->e->residency, j->plan.circuit_id);
  }
  return b->resident;
}

static bool preparable(void *user, struct cuzk_node *n) {
  struct best *b = user;
  struct cuzk_engine *e = b->e;
  struct cuzk_job *j = JOB_OF(n, prep_node);
  /* One thread a circuit gets parameters; the other jobs of that circuit follow when they are there. */
  for (unsigned i = 0; i < e->n_prep; i++) {
    if (e->prep[i].job && e->prep[i].job->circuit == j->circuit && !resident(b, j)) return false;
  }
  return true;
}

static bool preparable_resident(void *user, struct cuzk_node *n) {
  struct best *b = user;
  return preparable(user, n) && resident(b, JOB_OF(n, prep_node));
}

struct cuzk_job *cuzk_prepq_pick_locked(struct cuzk_engine *e, bool express) {
  struct best b = {.e = e, .now = cuzk_engine_now(e)};
  for (unsigned c = 0; c < (express ? 1 : CUZK_N_CLASSES); c++) {
    struct cuzk_node *n = cuzk_set_find(e->prepq.root[c], preparable, &b);
    if (n) consider(&b, n, JOB_OF(n, prep_node), c);
  }
  if (!b.node) return NULL;
  struct cuzk_job *j = JOB_OF(b.node, prep_node);
  if (e->partq.n >= e->prep_ahead) { /* enough is ready; only what would come first is worth its memory now */
    struct cuzk_part *p = cuzk_partq_best_locked(e, &e->partq, NULL, NULL);
    struct cuzk_key first = cuzk_job_key_locked(e, p->job, p->index, b.now);
    if (cuzk_key_cmp(&first, &b.key) < 0) return NULL;
  }
  unsigned limit = 2 * e->n_devices;
  if (e->o.sort_by_type && b.key.cls == NORMAL && j->prep_class == NORMAL && j->overtaken < limit &&
      !resident(&b, j)) {
    struct cuzk_node *n = cuzk_set_find(e->prepq.root[NORMAL], preparable_resident, &b);
    struct cuzk_job *other = n ? JOB_OF(n, prep_node) : NULL;
    if (other && other != j) {
      /* Its partitions go before the other job's everywhere: a place just before it. */
      cuzk_prepq_remove_locked(e, other);
      other->order = j->order - (limit - j->overtaken);
      j->overtaken++;
      return other;
    }
  }
  cuzk_prepq_remove_locked(e, j);
  return j;
}

void cuzk_job_queue_parts_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  uint64_t now = cuzk_engine_now(e);
  for (unsigned i = 0; i < j->n_parts; i++) {
    struct cuzk_part *p = &j->part[i];
    if (p->state != CUZK_PART_PENDING || p->queue || p->dispatched) continue;
    p->queued_ns = now;
    cuzk_partq_push_locked(&e->partq, p);
    cuzk_sched_part_queued_locked(e, p);
  }
}

/* ---- waits for memory ---- */

static bool fits_slice(const struct cuzk_engine *e, const struct cuzk_job *j) {
  uint64_t sum = 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++) sum += j->plan.partition_bytes[m];
  return sum <= e->o.critical_slice;
}

void cuzk_sched_part_queued_locked(struct cuzk_engine *e, struct cuzk_part *p) {
  cuzk_cond_signal(&e->dispatch_cond);
  if (cuzk_job_base_class(p->job) == CRITICAL) cuzk_cond_signal(&e->express_cond);
  struct cuzk_part *waits = e->dispatch_part;
  if (!waits) return;
  uint64_t now = cuzk_engine_now(e);
  struct cuzk_key mine = cuzk_job_key_locked(e, p->job, p->index, now);
  struct cuzk_key theirs = cuzk_job_key_locked(e, waits->job, waits->index, now);
  if (cuzk_key_cmp(&mine, &theirs) > 0) return;
  atomic_store(&e->dispatch_cancel, true);
  e->kick = true;
}

void cuzk_sched_interrupt_locked(struct cuzk_engine *e, struct cuzk_job *j) {
  if (e->dispatch_part && e->dispatch_part->job == j) atomic_store(&e->dispatch_cancel, true);
  if (e->express_part && e->express_part->job == j) atomic_store(&e->express_cancel, true);
  for (unsigned i = 0; i < e->n_prep; i++)
    if (e->prep[i].job == j) atomic_store(&e->prep[i].cancel, true);
  e->kick = true;
}

/* ---- dispatcher ---- */

/* Partitions that keep a device fed: Little's law. */
static unsigned wanted(struct cuzk_engine *e, const struct cuzk_job *j) {
  unsigned devices = cuzk_device_usable_locked(e, j->plan.circuit_id);
  if (devices == 0) devices = 1;
  double ratio = COLD_RATIO;
  if (j->circuit->synth_ns >= 0 && j->circuit->lock_ns > 0) ratio = j->circuit->synth_ns * devices / j->circuit->lock_ns;
  if (ratio > 1e6) ratio = 1e6;
  unsigned w = (unsigned)ratio;
  if ((double)w < ratio) w++;
  unsigned target = e->o.t.max_gpu_queue_depth ? e->o.t.max_gpu_queue_depth : 2 * e->n_devices;
  return target + w;
}

static struct cuzk_part *dispatchable(struct cuzk_engine *e) {
  if (e->synth_active >= e->synth_max) return NULL; /* a reservation nobody could use yet */
  struct cuzk_part *p = cuzk_partq_best_locked(e, &e->partq, NULL, NULL);
  if (!p || p->node_class == CRITICAL) return p;
  return e->gpuq.n + e->synth_active + e->express_active < wanted(e, p->job) ? p : NULL;
}

struct wait_note {
  struct cuzk_engine *e;
  struct cuzk_part *p;
};

static uint64_t part_bytes(const struct cuzk_part *p) {
  uint64_t sum = 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++) sum += p->job->plan.partition_bytes[m];
  return sum;
}

static void on_wait(void *user) {
  struct wait_note *n = user;
  struct cuzk_engine *e = n->e;
  cuzk_record(e->o.recorder, CUZK_EV_BUDGET_WAIT, n->p->job->job_id, "partition=%u,bytes=%llu", n->p->index,
              (unsigned long long)part_bytes(n->p));
}

/* Gets memory for a partition that was taken from the queue. True: it may run; else it has been dealt with. The lock is held around the
 * call, not during it. */
static bool get_memory(struct cuzk_engine *e, struct cuzk_part *p, bool express) {
  struct cuzk_job *j = p->job;
  struct wait_note note = {.e = e, .p = p};
  struct cuzk_key key = cuzk_job_key_locked(e, j, p->index, cuzk_engine_now(e));
  atomic_bool *cancel = express ? &e->express_cancel : &e->dispatch_cancel;
  atomic_store(cancel, false);
  *(express ? &e->express_part : &e->dispatch_part) = p;
  p->dispatched = true;
  cuzk_job_ref_locked(j);
  cuzk_engine_unlock(e);

  struct cuzk_reservation *resv = NULL;
  uint64_t waited = 0;
  struct cuzk_detail d = {""};
  enum cuzk_status st =
      cuzk_budget_acquire(e->budget, &resv, j->plan.partition_bytes, &key, CUZK_NEVER, cancel, on_wait, &note, &waited, &d);
  if (st == CUZK_OK && waited > 0) {
    cuzk_record(e->o.recorder, CUZK_EV_BUDGET_OK, j->job_id, "partition=%u,wait_ms=%llu", p->index, (unsigned long long)(waited / CUZK_MS));
    cuzk_series_add(e->m_budget_wait, (double)waited / 1e9);
  }

  cuzk_engine_lock(e);
  *(express ? &e->express_part : &e->dispatch_part) = NULL;
  p->dispatched = false;
  bool ok = st == CUZK_OK && !j->ending && j->prepared;
  if (ok) {
    uint64_t now = cuzk_engine_now(e);
    p->resv = resv;
    p->budget_wait_ns = waited;
    p->state = CUZK_PART_SYNTH;
    j->in_flight++;
    if (e->in_flight++ == 0) cuzk_cond_signal(&e->keep_cond); /* its watchdog slept */
    cuzk_budget_set_running(e->budget, e->in_flight);
    cuzk_job_started_locked(e, j, now);
    cuzk_stage_begin_locked(e, p, "synthesis");
    return true;
  }
  bool fail = st != CUZK_OK && st != CUZK_E_CANCELLED && !j->ending;
  if (!fail && !j->ending && j->prepared && !p->queue && p->state == CUZK_PART_PENDING) cuzk_partq_push_locked(&e->partq, p);
  cuzk_engine_unlock(e);
  cuzk_reservation_free(&resv);
  if (fail) (void)cuzk_job_fail(e, j, "out_of_memory", "partition %u: %s", p->index, d.text);
  cuzk_job_put(e, j);
  cuzk_engine_lock(e);
  return false;
}

void *cuzk_dispatch_main(void *arg) {
  struct cuzk_engine *e = arg;
  cuzk_engine_lock(e);
  while (!e->quit) {
    struct cuzk_part *p = dispatchable(e);
    if (!p) {
      (void)cuzk_cond_wait(&e->dispatch_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    cuzk_part_unqueue_locked(p);
    if (e->partq.n < e->prep_ahead && e->prepq.n > 0) cuzk_cond_broadcast(&e->prep_cond);
    if (!get_memory(e, p, false)) continue;
    e->synth_active++;
    p->express = false;
    p->next = NULL;
    *e->inbox_last = p;
    e->inbox_last = &p->next;
    cuzk_cond_signal(&e->synth_cond);
  }
  cuzk_engine_unlock(e);
  return NULL;
}

static bool fast(void *user, struct cuzk_node *n) { return fits_slice(user, PART_OF(n)->job); }

void *cuzk_express_main(void *arg) {
  struct cuzk_engine *e = arg;
  cuzk_engine_lock(e);
  while (!e->quit) {
    struct cuzk_node *n = cuzk_set_find(e->partq.root[CRITICAL], fast, e);
    if (!n) {
      (void)cuzk_cond_wait(&e->express_cond, &e->lock, CUZK_NEVER);
      continue;
    }
    struct cuzk_part *p = PART_OF(n);
    cuzk_part_unqueue_locked(p);
    if (e->partq.n < e->prep_ahead && e->prepq.n > 0) cuzk_cond_broadcast(&e->prep_cond);
    if (!get_memory(e, p, true)) continue;
    e->express_active++;
    p->express = true;
    cuzk_engine_unlock(e);
    cuzk_stage_synth(e, p, true);
    cuzk_engine_lock(e);
  }
  cuzk_engine_unlock(e);
  return NULL;
}
