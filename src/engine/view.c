/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the engine shows of itself: snapshots, gauges, a dump. The lock is held for copying only. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "engine/engine_internal.h"

/* Ended jobs stay in view for so long. */
#define SHOWN_NS (30 * CUZK_SECOND)
#define MAX_SRS 64

static void cut(char *out, size_t n, const char *text) {
  size_t len = strlen(text);
  if (len >= n) {
    len = n - 1;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) len--;
  }
  memcpy(out, text, len);
  out[len] = 0;
}

static double since(uint64_t now, uint64_t then) { return now > then ? (double)(now - then) / 1e9 : 0; }

static int64_t span_ms(uint64_t from, uint64_t to, uint64_t now) {
  if (!from) return -1;
  uint64_t end = to ? to : now;
  return end > from ? (int64_t)((end - from) / CUZK_MS) : 0;
}

static void view_part(struct cuzk_part_view *v, const struct cuzk_part *p, uint64_t now) {
  *v = (struct cuzk_part_view){.state = p->state, .phase = p->phase, .synth_ms = -1, .gpu_ms = -1};
  if (p->state == CUZK_PART_PENDING) return;
  v->synth_ms = span_ms(p->synth0_ns, p->synth1_ns, now);
  if (p->state == CUZK_PART_GPU || p->state == CUZK_PART_DONE || p->state == CUZK_PART_FAILED)
    v->gpu_ms = span_ms(p->gpu0_ns, p->gpu1_ns, now);
}

static void view_job(struct cuzk_job_view *v, const struct cuzk_job *j, uint64_t now) {
  struct cuzk_part_view *part = v->part;
  *v = (struct cuzk_job_view){.kind = j->plan.kind,
                              .priority = j->priority,
                              .n_partitions = j->n_parts,
                              .partitions_done = j->n_done,
                              .state = j->state,
                              .age_s = since(now, j->submit_ns),
                              .started_ago_s = j->started_ns ? since(now, j->started_ns) : -1,
                              .ended_ago_s = j->published ? since(now, j->end_ns) : -1,
                              .part = part};
  cut(v->job_id, sizeof v->job_id, j->job_id);
  cut(v->circuit_id, sizeof v->circuit_id, j->plan.circuit_id);
  if (j->published && j->error) cut(v->error, sizeof v->error, j->error);
  for (unsigned i = 0; i < j->n_parts; i++) view_part(&part[i], &j->part[i], now);
}

/* The job whose kernels run on a device, else one that waits for it. */
static const struct cuzk_job *device_job(const struct cuzk_engine *e, const struct cuzk_dev *dev) {
  if (dev->holder) return dev->holder->job;
  for (unsigned i = 0; i < e->n_workers; i++)
    if (e->worker[i].dev == dev && e->worker[i].part) return e->worker[i].part->job;
  return NULL;
}

static bool shown(const struct cuzk_job *j, uint64_t now) { return now - j->end_ns <= SHOWN_NS && !j->restored; }

static void count_locked(const struct cuzk_engine *e, uint64_t now, size_t *jobs, size_t *parts) {
  *jobs = *parts = 0;
  for (const struct cuzk_job *j = e->live; j; j = j->next) {
    ++*jobs;
    *parts += j->n_parts;
  }
  for (const struct cuzk_job *j = e->retained_last; j && now - j->end_ns <= SHOWN_NS; j = j->prev) {
    ++*jobs;
    *parts += j->n_parts;
  }
}

static bool take(struct cuzk_engine_view *v, const struct cuzk_job *j, struct cuzk_part_view *parts, size_t max_jobs, size_t max_parts,
                 size_t *used, uint64_t now) {
  if (v->n_jobs == max_jobs || j->n_parts > max_parts - *used) return false;
  v->job[v->n_jobs].part = parts + *used;
  *used += j->n_parts;
  view_job(&v->job[v->n_jobs++], j, now);
  return true;
}

enum cuzk_status cuzk_engine_view(struct cuzk_engine *e, struct cuzk_engine_view *v) {
  *v = (struct cuzk_engine_view){.uptime_s = 0};
  size_t max_jobs, max_parts;
  cuzk_engine_lock(e);
  count_locked(e, cuzk_engine_now(e), &max_jobs, &max_parts);
  cuzk_engine_unlock(e);
  max_jobs += 16; /* some may come until the second look; what does not fit is in the next view */
  max_parts += 256;
  v->job = cuzk_calloc(max_jobs, sizeof *v->job);
  struct cuzk_part_view *parts = cuzk_calloc(max_parts, sizeof *parts);
  v->worker = cuzk_calloc(e->n_workers, sizeof *v->worker);
  v->gpu = cuzk_calloc(e->n_devices, sizeof *v->gpu);
  v->srs = cuzk_calloc(MAX_SRS, sizeof *v->srs);
  if (!v->job || !parts || !v->worker || !v->gpu || !v->srs) {
    cuzk_free(parts);
    cuzk_engine_view_clear(v);
    return CUZK_E_NOMEM;
  }
  v->job[0].part = parts; /* the block of all: freed by this pointer, job or no job */
  v->n_gpus = e->n_devices;
  v->n_workers = e->n_workers;
  for (unsigned i = 0; i < e->n_devices; i++) e->ops->device_info(e->self, i, &v->gpu[i].info);
  v->n_srs = cuzk_residency_view(e->residency, v->srs, MAX_SRS);
  if (v->n_srs > MAX_SRS) v->n_srs = MAX_SRS;
  cuzk_budget_view(e->budget, &v->budget);
  v->has_journal = e->journal_on;
  v->journal_healthy = true;
  if (e->journal_on && e->o.journal.ops->stats)
    e->o.journal.ops->stats(e->o.journal.self, &v->journal_bytes, &v->journal_jobs, &v->journal_healthy);

  size_t used = 0;
  cuzk_engine_lock(e);
  uint64_t now = cuzk_engine_now(e);
  v->uptime_s = since(now, e->start_ns);
  v->draining = e->draining;
  v->synth_max = e->synth_max;
  v->synth_active = e->synth_active + e->express_active;
  v->queue_depth = e->n_pending;
  v->gpu_queue_depth = e->gpuq.n;
  v->provers_in_flight = e->n_pre;
  v->aux_in_flight = e->gpuq.n + e->n_pre + e->n_post;
  v->shells_in_flight = v->pending_handles = e->n_post;
  v->journal_healthy = v->journal_healthy && !e->journal_bad;
  memcpy(v->kind, e->kind, sizeof v->kind);
  for (const struct cuzk_job *j = e->live; j && take(v, j, parts, max_jobs, max_parts, &used, now);) j = j->next;
  for (const struct cuzk_job *j = e->retained_last; j && now - j->end_ns <= SHOWN_NS; j = j->prev)
    if (shown(j, now) && !take(v, j, parts, max_jobs, max_parts, &used, now)) break;
  for (unsigned i = 0; i < e->n_workers; i++) {
    const struct cuzk_worker *w = &e->worker[i];
    v->worker[i] = (struct cuzk_worker_view){.worker = w->number, .gpu = w->dev->ordinal, .phase = w->phase, .partition = -1};
    if (!w->part) continue;
    cut(v->worker[i].job_id, sizeof v->worker[i].job_id, w->part->job->job_id);
    v->worker[i].partition = (int)w->part->index;
    v->worker[i].busy_s = since(now, w->since_ns);
  }
  for (unsigned i = 0; i < e->n_devices; i++) {
    const struct cuzk_dev *dev = &e->dev[i];
    const struct cuzk_job *j = device_job(e, dev);
    struct cuzk_gpu_view *g = &v->gpu[i];
    g->kind = j ? (int)j->plan.kind : -1;
    if (j) cut(g->job_id, sizeof g->job_id, j->job_id);
    g->busy_s = (double)(dev->busy_ns + (dev->holder ? now - dev->hold_ns : 0)) / 1e9;
    g->quarantined = dev->down;
    g->lost = dev->lost || g->info.lost;
    g->errors = dev->errors;
  }
  cuzk_engine_unlock(e);
  return CUZK_OK;
}

void cuzk_engine_view_clear(struct cuzk_engine_view *v) {
  if (v->job) cuzk_free(v->job[0].part);
  cuzk_free(v->job);
  cuzk_free(v->worker);
  cuzk_free(v->gpu);
  cuzk_free(v->srs);
  *v = (struct cuzk_engine_view){.uptime_s = 0};
}

/* ---- metrics ---- */

static void gauge(struct cuzk_engine *e, const char *family, const char *help, const char *labels, double x) {
  cuzk_series_set(cuzk_metrics_series(e->o.metrics, family, CUZK_GAUGE, help, labels), x);
}

static double rss_bytes(void) {
  unsigned long long size = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "re");
  if (f) {
    if (fscanf(f, "%llu %llu", &size, &resident) != 2) resident = 0;
    (void)fclose(f);
  }
  return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* A counter kept elsewhere. */
static void follow(struct cuzk_series *s, double x) {
  double d = x - cuzk_series_value(s);
  if (d > 0) cuzk_series_add(s, d);
}

enum cuzk_status cuzk_engine_metrics_text(struct cuzk_engine *e, char **out) {
  *out = NULL;
  if (!e->o.metrics) {
    *out = cuzk_strdup("");
    return *out ? CUZK_OK : CUZK_E_NOMEM;
  }
  struct cuzk_engine_view v;
  enum cuzk_status st = cuzk_engine_view(e, &v);
  if (st != CUZK_OK) return st;
  unsigned running = 0;
  for (unsigned k = 0; k < CUZK_N_KINDS; k++) running += v.kind[k].in_progress;
  gauge(e, "cuzk_uptime_seconds", "Since the engine's start.", "", v.uptime_s);
  gauge(e, "cuzk_queue_depth", "Jobs none of whose partitions has started.", "", v.queue_depth);
  gauge(e, "cuzk_running_jobs", "Jobs with a partition started.", "", running);
  gauge(e, "cuzk_gpu_workers", "Device workers.", "", (double)v.n_workers);
  gauge(e, "cuzk_gpu_queue_depth", "Partitions that wait for a device.", "", v.gpu_queue_depth);
  gauge(e, "cuzk_synth_active", "Partitions in synthesis.", "", v.synth_active);
  gauge(e, "cuzk_memory_budget_bytes", "The memory budget.", "", (double)v.budget.total);
  gauge(e, "cuzk_memory_rss_bytes", "Resident memory of the process.", "", rss_bytes());
  char labels[96];
  for (unsigned m = 0; m < CUZK_N_MEM; m++) {
    (void)snprintf(labels, sizeof labels, "class=\"%s\"", cuzk_mem_names[m]);
    gauge(e, "cuzk_memory_reserved_bytes", "Reserved memory by class.", labels, (double)v.budget.by_class[m]);
  }
  gauge(e, "cuzk_pinned_pool_bytes", "Buffers of the pinned pool.", "state=\"idle\"", (double)v.budget.by_class[CUZK_MEM_POOL_IDLE]);
  gauge(e, "cuzk_pinned_pool_bytes", "Buffers of the pinned pool.", "state=\"used\"", (double)v.budget.by_class[CUZK_MEM_ABC]);
  struct cuzk_residency_counts counts;
  for (size_t i = 0; i < v.n_srs; i++) {
    (void)snprintf(labels, sizeof labels, "circuit=\"%s\"", v.srs[i].circuit_id);
    gauge(e, "cuzk_srs_bytes", "Parameters in memory.", labels, v.srs[i].loaded ? (double)v.srs[i].bytes : 0);
    cuzk_residency_counts(e->residency, v.srs[i].circuit_id, &counts);
    follow(cuzk_metrics_series(e->o.metrics, "cuzk_srs_loads_total", CUZK_COUNTER, "Loads of parameters.", labels), (double)counts.loads);
  }
  cuzk_residency_counts(e->residency, NULL, &counts);
  follow(cuzk_metrics_series(e->o.metrics, "cuzk_srs_evictions_total", CUZK_COUNTER, "Parameters put out of memory.", ""),
         (double)counts.evictions);
  cuzk_engine_view_clear(&v);
  return cuzk_metrics_text(out, e->o.metrics);
}

/* ---- dump ---- */

struct text {
  char *s;
  size_t n, size;
  bool failed;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  if (n < 0 || t->failed) return;
  size_t len = strlen(line);
  if (t->n + len + 1 > t->size) {
    size_t size = t->size ? 2 * t->size : 4096;
    char *s = cuzk_realloc_array(t->s, size, 1);
    if (!s) {
      t->failed = true;
      return;
    }
    t->s = s;
    t->size = size;
  }
  memcpy(t->s + t->n, line, len + 1);
  t->n += len;
}

enum cuzk_status cuzk_engine_dump(struct cuzk_engine *e, char **out) {
  static const char *const parts[] = {"pending", "synthesis", "ready", "device", "done", "failed"};
  static const char *const phases[] = {"-", "start", "lock wait", "kernels", "finish"};
  *out = NULL;
  struct cuzk_engine_view v;
  enum cuzk_status st = cuzk_engine_view(e, &v);
  if (st != CUZK_OK) return st;
  struct text t = {0};
  char id[3 * 128 + 1];
  put(&t, "engine: up %.1f s%s, %u jobs wait, %u of %u syntheses run, %u partitions ready\n", v.uptime_s, v.draining ? ", draining" : "",
      v.queue_depth, v.synth_active, v.synth_max, v.gpu_queue_depth);
  put(&t, "memory: %llu of %llu bytes reserved\n", (unsigned long long)v.budget.used, (unsigned long long)v.budget.total);
  for (unsigned m = 0; m < CUZK_N_MEM; m++)
    if (v.budget.by_class[m]) put(&t, "  %s %llu\n", cuzk_mem_names[m], (unsigned long long)v.budget.by_class[m]);
  for (unsigned i = 0; i < v.budget.n_waiters && i < 16; i++) {
    const struct cuzk_budget_waiter *w = &v.budget.waiter[i];
    put(&t, "  waits: class %u, order %llu, partition %u, %llu bytes\n", w->key.cls, (unsigned long long)w->key.seq, w->key.partition,
        (unsigned long long)w->bytes);
  }
  for (size_t i = 0; i < v.n_srs; i++)
    if (v.srs[i].loaded || v.srs[i].loading)
      put(&t, "parameters: %s %s, %llu bytes, %u users\n", v.srs[i].circuit_id, v.srs[i].loading ? "loading" : "loaded",
          (unsigned long long)v.srs[i].bytes, v.srs[i].refs);
  for (size_t i = 0; i < v.n_gpus; i++)
    put(&t, "device %u: held by %s, busy %.1f s, %u errors%s%s\n", v.gpu[i].info.ordinal,
        v.gpu[i].job_id[0] ? cuzk_record_text(id, sizeof id, v.gpu[i].job_id) : "nobody", v.gpu[i].busy_s, v.gpu[i].errors,
        v.gpu[i].quarantined ? ", taken out" : "", v.gpu[i].lost ? ", lost" : "");
  for (size_t i = 0; i < v.n_workers; i++)
    if (v.worker[i].partition >= 0)
      put(&t, "worker %u of device %u: %s, %s partition %d, %.1f s\n", v.worker[i].worker, v.worker[i].gpu, phases[v.worker[i].phase],
          cuzk_record_text(id, sizeof id, v.worker[i].job_id), v.worker[i].partition, v.worker[i].busy_s);
  for (size_t i = 0; i < v.n_jobs; i++) {
    const struct cuzk_job_view *j = &v.job[i];
    unsigned n[6] = {0};
    for (unsigned k = 0; k < j->n_partitions; k++) n[j->part[k].state]++;
    put(&t, "job %s: %s %s, priority %u, %.1f s old", cuzk_record_text(id, sizeof id, j->job_id), j->circuit_id, cuzk_job_state_names[j->state],
        j->priority, j->age_s);
    for (unsigned k = 0; k < 6; k++)
      if (n[k]) put(&t, ", %u %s", n[k], parts[k]);
    put(&t, "\n");
  }
  cuzk_engine_view_clear(&v);
  if (t.failed) {
    cuzk_free(t.s);
    return CUZK_E_NOMEM;
  }
  *out = t.s;
  return CUZK_OK;
}
