/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "timeline/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

const char *const cuzk_tl_class_names[CUZK_TL_N_CLASSES] = {"dispatch_overhead",  "no_demand",   "cold_start", "cross_sector_stall",
                                                            "intra_sector_stall", "budget_wait", "srs_load"};
const char *const cuzk_tl_basis_names[4] = {"auto", "event", "measured", "kernel"};
const char *const cuzk_tl_stage_names[CUZK_TL_N_STAGES] = {"prepare",   "wait_synth", "synth",  "wait_device", "device_pre",
                                                           "lock_wait", "kernels",    "finish", "verify",      "rest"};
const uint64_t cuzk_tl_bucket_limit[CUZK_TL_BUCKETS] = {10,   20,   50,    100,   200,   500,         1000,
                                                        2000, 5000, 10000, 30000, 60000, CUZK_TL_NONE};

void cuzk_tl_defaults(struct cuzk_tl_options *o) { *o = (struct cuzk_tl_options){.to = CUZK_TL_NONE, .overhead_max = 1500, .cold_min = 100000}; }

static int cmp_u64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}
static int cmp_interval(const void *a, const void *b) {
  const struct cuzk_tl_interval *x = a, *y = b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x->line > y->line) - (x->line < y->line);
}
static int cmp_worker(const void *a, const void *b) {
  const struct cuzk_tl_interval *x = *(struct cuzk_tl_interval *const *)a, *y = *(struct cuzk_tl_interval *const *)b;
  if (x->device != y->device) return x->device < y->device ? -1 : 1;
  if (x->worker != y->worker) return x->worker < y->worker ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int cmp_u32(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}
/* Sorts v. Median and p95 are the nearest rank's. */
static struct cuzk_tl_spread spread(uint32_t *v, size_t n) {
  struct cuzk_tl_spread s = {.n = n};
  if (!n) return s;
  qsort(v, n, sizeof *v, cmp_u32);
  for (size_t i = 0; i < n; i++) s.sum += v[i];
  s.min = v[0];
  s.median = v[(n - 1) / 2];
  s.p95 = v[(n * 95 + 99) / 100 - 1];
  s.max = v[n - 1];
  return s;
}
static uint32_t ms32(uint64_t v) { return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v; }

/* ---- jobs' activity, by sorted first and last times ---- */
struct activity {
  uint64_t *first, *last;
  size_t n;
};
static size_t count_upto(const uint64_t *v, size_t n, uint64_t t) { /* how many <= t */
  size_t lo = 0, hi = n;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (v[mid] <= t) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}
static bool any_active(const struct activity *a, uint64_t t) { return count_upto(a->first, a->n, t) > count_upto(a->last, a->n, t); }
static uint64_t next_first(const struct activity *a, uint64_t t) {
  const size_t i = t ? count_upto(a->first, a->n, t - 1) : 0;
  return i < a->n ? a->first[i] : CUZK_TL_NONE;
}
static void activity_clear(struct activity *a) {
  cuzk_free(a->first);
  cuzk_free(a->last);
}
static enum cuzk_status activity_init(struct activity *a, const struct cuzk_tl_run *run) {
  a->first = cuzk_malloc_array(run->n_jobs + 1, sizeof *a->first);
  a->last = cuzk_malloc_array(run->n_jobs + 1, sizeof *a->last);
  if (!a->first || !a->last) return CUZK_E_NOMEM;
  for (size_t i = 0; i < run->n_jobs; i++) {
    if (run->job[i].first == CUZK_TL_NONE) continue;
    a->first[a->n] = run->job[i].first;
    a->last[a->n++] = run->job[i].last;
  }
  qsort(a->first, a->n, sizeof *a->first, cmp_u64);
  qsort(a->last, a->n, sizeof *a->last, cmp_u64);
  return CUZK_OK;
}

struct cuzk_tl_causes {
  struct activity act;
  struct cuzk_tl_load *load; /* by start */
  uint64_t *reach;           /* reach[i]: the latest end of loads 0 .. i */
  struct cuzk_tl_options o;
};
static void causes_destroy(struct cuzk_tl_causes *c) {
  if (!c) return;
  activity_clear(&c->act);
  cuzk_free(c->load);
  cuzk_free(c->reach);
  cuzk_free(c);
}
void cuzk_tl_report_clear(struct cuzk_tl_report *r) {
  cuzk_free(r->interval);
  cuzk_free(r->gap);
  causes_destroy(r->causes);
  cuzk_free(r->device);
  cuzk_free(r->worker);
  cuzk_free(r->job);
  memset(r, 0, sizeof *r);
}

/* ---- intervals ---- */
static uint32_t device_of(const struct cuzk_tl_part *p, unsigned per_gpu) {
  if (p->gpu >= 0) return (uint32_t)p->gpu;
  return per_gpu && p->worker >= 0 ? (uint32_t)p->worker / per_gpu : 0;
}

static enum cuzk_status make_intervals(struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_options *o) {
  const unsigned per_gpu = o->workers_per_gpu ? o->workers_per_gpu : run->workers_per_gpu;
  int32_t some_worker = -1;
  r->interval = cuzk_malloc_array(run->n_parts + 1, sizeof *r->interval);
  if (!r->interval) return CUZK_E_NOMEM;
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    struct cuzk_tl_interval v = {.part = (uint32_t)i, .worker = p->worker, .device = device_of(p, per_gpu), .line = p->start_line,
                                 .end_line = p->end_line};
    if (p->gpu < 0 && !per_gpu && p->worker >= 0) {
      if (some_worker >= 0 && some_worker != p->worker) r->one_device_assumed = true;
      some_worker = p->worker;
    }
    if (r->basis == CUZK_TL_KERNEL) {
      v.start = p->kernel0;
      v.end = p->kernel1;
      v.line = p->kernel_line;
    } else {
      v.start = p->gpu0;
      v.end = p->gpu1;
      if (r->basis == CUZK_TL_MEASURED && p->gpu_ms != UINT32_MAX && v.end != CUZK_TL_NONE && v.end > p->gpu_ms && v.end - p->gpu_ms > v.start)
        v.start = v.end - p->gpu_ms;
    }
    if (v.start == CUZK_TL_NONE || v.end == CUZK_TL_NONE) continue;
    if (v.start < o->from) v.start = o->from;
    if (v.end > o->to) v.end = o->to;
    if (v.start > v.end || (v.start == v.end && (o->from || o->to != CUZK_TL_NONE))) continue;
    r->interval[r->n_intervals++] = v;
  }
  qsort(r->interval, r->n_intervals, sizeof *r->interval, cmp_interval);
  return CUZK_OK;
}

/* ---- lanes and gaps ---- */
static void lane_add(struct cuzk_tl_lane *l, const struct cuzk_tl_interval *v) {
  if (!l->calls++) {
    l->first = v->start;
    l->last = v->end;
    l->busy = v->end - v->start;
    return;
  }
  if (v->start > l->last) {
    l->gaps++;
    if (v->start - l->last > l->max_gap) l->max_gap = v->start - l->last;
    l->busy += v->end - v->start;
    l->last = v->end;
  } else if (v->end > l->last) {
    l->busy += v->end - l->last;
    l->last = v->end;
  }
}

static enum cuzk_status make_lanes(struct cuzk_tl_report *r) {
  const size_t n = r->n_intervals;
  struct cuzk_tl_interval **by_worker = cuzk_malloc_array(n + 1, sizeof *by_worker);
  size_t n_workers = 0, n_devices = 0;
  if (!by_worker) return CUZK_E_NOMEM;
  for (size_t i = 0; i < n; i++) by_worker[i] = &r->interval[i];
  qsort(by_worker, n, sizeof *by_worker, cmp_worker);
  for (size_t i = 0; i < n; i++) {
    if (!i || by_worker[i]->device != by_worker[i - 1]->device || by_worker[i]->worker != by_worker[i - 1]->worker) n_workers++;
    if (!i || by_worker[i]->device != by_worker[i - 1]->device) n_devices++;
  }
  r->worker = cuzk_calloc(n_workers + 1, sizeof *r->worker);
  r->device = cuzk_calloc(n_devices + 1, sizeof *r->device);
  if (!r->worker || !r->device) {
    cuzk_free(by_worker);
    return CUZK_E_NOMEM;
  }
  for (size_t i = 0; i < n; i++) {
    const struct cuzk_tl_interval *v = by_worker[i];
    const bool new_device = !i || v->device != by_worker[i - 1]->device;
    if (new_device) r->device[r->n_devices++].device = v->device;
    if (new_device || v->worker != by_worker[i - 1]->worker) {
      r->worker[r->n_workers].device = v->device;
      r->worker[r->n_workers++].worker = v->worker;
      r->device[r->n_devices - 1].workers++;
    }
    lane_add(&r->worker[r->n_workers - 1], v);
  }
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    while (r->device[at].device != r->interval[i].device) at++;
    lane_add(&r->device[at], &r->interval[i]);
  }
  for (size_t i = 0; i < r->n_workers; i++) r->worker[i].idle = r->worker[i].last - r->worker[i].first - r->worker[i].busy;
  r->first = CUZK_TL_NONE;
  for (size_t i = 0; i < r->n_devices; i++) {
    struct cuzk_tl_lane *l = &r->device[i];
    l->idle = l->last - l->first - l->busy;
    r->busy += l->busy;
    r->idle += l->idle;
    r->window += l->last - l->first;
    r->n_gaps += l->gaps;
    if (l->first < r->first) r->first = l->first;
    if (l->last > r->last) r->last = l->last;
  }
  cuzk_free(by_worker);
  return CUZK_OK;
}

/* Parts of [from, to) that lie in [a, b). */
static uint64_t overlap(uint64_t from, uint64_t to, uint64_t a, uint64_t b) {
  if (a < from) a = from;
  if (b > to) b = to;
  return b > a ? b - a : 0;
}

/* Loads, sorted by start, for the question how much of a stretch they cover. */
static int cmp_load(const void *a, const void *b) {
  const struct cuzk_tl_load *x = a, *y = b;
  return (x->start > y->start) - (x->start < y->start);
}
/* reach[i]: the latest end of loads 0 .. i. Those before the first that reaches `from` cannot cover anything. */
static uint64_t load_cover(const struct cuzk_tl_load *load, const uint64_t *reach, size_t n, uint32_t job, uint64_t from, uint64_t to) {
  uint64_t cover = 0, at = from;
  for (size_t i = count_upto(reach, n, from); i < n && load[i].start < to; i++) {
    if (load[i].job != job && load[i].job != UINT32_MAX) continue;
    const uint64_t end = load[i].end == CUZK_TL_NONE ? to : load[i].end;
    const uint64_t c = overlap(at, to, load[i].start, end);
    cover += c;
    if (c) at = end < to ? end : to;
  }
  return cover;
}

/* True: by cause. */
static bool split(uint64_t ms[CUZK_TL_N_CLASSES], const struct cuzk_tl_causes *c, const struct cuzk_tl_run *run, const struct cuzk_tl_gap *g) {
  memset(ms, 0, CUZK_TL_N_CLASSES * sizeof *ms);
  const struct cuzk_tl_part *next = &run->part[g->after], *prev = &run->part[g->before];
  const uint64_t s = g->start, e = g->end, len = e - s;
  uint64_t ready = next->ready;
  if (ready == CUZK_TL_NONE || ready > e) ready = next->synth1 != CUZK_TL_NONE ? next->synth1 : CUZK_TL_NONE;
  const bool causal = c->o.classify == CUZK_TL_CAUSAL || (c->o.classify == CUZK_TL_CLASSIFY_AUTO && ready != CUZK_TL_NONE);
  if (!causal || ready == CUZK_TL_NONE) {
    const enum cuzk_tl_class k = len <= c->o.overhead_max          ? CUZK_TL_DISPATCH
                                 : len >= c->o.cold_min            ? CUZK_TL_COLD_START
                                 : next->job != prev->job ? CUZK_TL_CROSS_SECTOR
                                                                 : CUZK_TL_INTRA_SECTOR;
    ms[k] = len;
  } else {
    const uint64_t t = ready < s ? s : ready > e ? e : ready;
    ms[CUZK_TL_DISPATCH] = e - t;
    if (t > s) {
      const bool active = any_active(&c->act, s);
      uint64_t from = s;
      if (!active) {
        const uint64_t f = next_first(&c->act, s);
        from = f < t ? f : t;
      }
      ms[CUZK_TL_NO_DEMAND] = from - s;
      uint64_t rest = t - from;
      /* what the next partition was held up by */
      const uint64_t loading = load_cover(c->load, c->reach, run->n_loads, next->job, from, t);
      uint64_t budget = 0;
      if (next->budget0 != CUZK_TL_NONE) {
        budget = overlap(from, t, next->budget0, next->budget1 == CUZK_TL_NONE ? t : next->budget1);
        if (budget > rest - loading) budget = rest - loading;
      }
      ms[CUZK_TL_SRS_LOAD] = loading;
      ms[CUZK_TL_BUDGET_WAIT] = budget;
      rest -= loading + budget;
      ms[!active ? CUZK_TL_COLD_START : next->job != prev->job ? CUZK_TL_CROSS_SECTOR : CUZK_TL_INTRA_SECTOR] += rest;
    }
  }
  return causal && ready != CUZK_TL_NONE;
}

void cuzk_tl_gap_split(uint64_t ms[CUZK_TL_N_CLASSES], const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_gap *g) {
  (void)split(ms, r->causes, run, g);
}

static enum cuzk_status make_gaps(struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_options *o) {
  enum cuzk_status st = CUZK_E_NOMEM;
  struct cuzk_tl_causes *c = cuzk_calloc(1, sizeof *c);
  uint64_t *ready = cuzk_malloc_array(run->n_parts + 1, sizeof *ready), *taken = cuzk_malloc_array(run->n_parts + 1, sizeof *taken);
  size_t n_ready = 0, n_taken = 0, n = 0;
  r->gap = cuzk_calloc(r->n_gaps + 1, sizeof *r->gap);
  r->causes = c;
  if (!c || !ready || !taken || !r->gap) goto out;
  c->o = *o;
  c->load = cuzk_malloc_array(run->n_loads + 1, sizeof *c->load);
  c->reach = cuzk_malloc_array(run->n_loads + 1, sizeof *c->reach);
  if (!c->load || !c->reach || activity_init(&c->act, run) != CUZK_OK) goto out;
  if (run->n_loads) memcpy(c->load, run->load, run->n_loads * sizeof *c->load);
  qsort(c->load, run->n_loads, sizeof *c->load, cmp_load);
  for (size_t i = 0; i < run->n_loads; i++) c->reach[i] = i && c->reach[i - 1] > c->load[i].end ? c->reach[i - 1] : c->load[i].end;
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    const uint64_t left = p->pickup != CUZK_TL_NONE ? p->pickup : p->gpu0;
    if (p->ready == CUZK_TL_NONE) continue;
    ready[n_ready++] = p->ready;
    if (left != CUZK_TL_NONE) taken[n_taken++] = left;
  }
  qsort(ready, n_ready, sizeof *ready, cmp_u64);
  qsort(taken, n_taken, sizeof *taken, cmp_u64);
  uint64_t end = 0;
  uint32_t before = 0, before_line = 0;
  for (size_t i = 0; i < r->n_intervals; i++) {
    const struct cuzk_tl_interval *v = &r->interval[i];
    const bool first = !i || v->device != r->interval[i - 1].device;
    if (!first && v->start > end) {
      struct cuzk_tl_gap *g = &r->gap[n++];
      *g = (struct cuzk_tl_gap){.start = end, .end = v->start, .device = v->device, .before = before, .after = v->part};
      const size_t in = count_upto(ready, n_ready, end), gone = count_upto(taken, n_taken, end);
      g->queue_depth = in <= gone ? 0 : in - gone > UINT16_MAX ? UINT16_MAX : (uint16_t)(in - gone);
      uint64_t ms[CUZK_TL_N_CLASSES];
      if (split(ms, c, run, g)) r->classify = CUZK_TL_CAUSAL;
      for (unsigned k = 0; k < CUZK_TL_N_CLASSES; k++) {
        if (ms[k] && ms[k] >= ms[g->label]) g->label = (uint8_t)k;
        r->cls[k].ms += ms[k];
      }
      r->cls[g->label].gaps++;
      unsigned b = 0;
      while (g->end - g->start >= cuzk_tl_bucket_limit[b]) b++;
      r->histogram[b].gaps++;
      r->histogram[b].ms += g->end - g->start;
    }
    if (first || v->end > end || (v->end == end && v->end_line > before_line)) {
      end = v->end;
      before = v->part;
      before_line = v->end_line;
    }
  }
  st = CUZK_OK;
out:
  cuzk_free(ready);
  cuzk_free(taken);
  return st;
}

/* ---- jobs ---- */
/* Cuts the time from the job's start to its end along the partition that ended last. Missing events leave their stage to the next one. */
static void critical_path(struct cuzk_tl_job_report *j, const struct cuzk_tl_run *run) {
  const struct cuzk_tl_job *job = &run->job[j->job];
  uint64_t at = j->start;
  const struct cuzk_tl_part *p = j->last_part == UINT32_MAX ? NULL : &run->part[j->last_part];
  const struct {
    enum cuzk_tl_stage stage;
    uint64_t until;
  } cut[] = {
      {CUZK_TL_PREPARE, job->prep},
      {CUZK_TL_WAIT_SYNTH, p ? p->synth0 : CUZK_TL_NONE},
      {CUZK_TL_SYNTH, p ? p->synth1 : CUZK_TL_NONE},
      {CUZK_TL_WAIT_DEVICE, p ? (p->pickup != CUZK_TL_NONE ? p->pickup : p->gpu0) : CUZK_TL_NONE},
      {CUZK_TL_DEVICE_PRE, p ? p->gpu0 : CUZK_TL_NONE},
      {CUZK_TL_LOCK_WAIT, p ? p->kernel0 : CUZK_TL_NONE},
      {CUZK_TL_KERNELS, p ? p->kernel1 : CUZK_TL_NONE},
      {CUZK_TL_FINISH, p ? p->gpu1 : CUZK_TL_NONE},
      {CUZK_TL_REST, job->verify0},
      {CUZK_TL_VERIFY, job->verify1},
  };
  for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
    uint64_t t = cut[i].until;
    if (t == CUZK_TL_NONE || t <= at) continue;
    if (t > j->end) t = j->end;
    j->stage[cut[i].stage] += t - at;
    at = t;
  }
  j->stage[CUZK_TL_REST] += j->end - at;
}

static int cmp_job(const void *a, const void *b) {
  const struct cuzk_tl_job_report *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x->job > y->job) - (x->job < y->job);
}

static enum cuzk_status make_jobs(struct cuzk_tl_report *r, const struct cuzk_tl_run *run) {
  struct cuzk_tl_job_report *of = cuzk_calloc(run->n_jobs + 1, sizeof *of);
  uint32_t *values = cuzk_malloc_array(run->n_jobs + 1, sizeof *values);
  size_t n = 0, n_done = 0;
  if (!of || !values) goto nomem;
  for (size_t i = 0; i < run->n_jobs; i++) of[i].last_part = UINT32_MAX;
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    if (p->job == UINT32_MAX) continue;
    struct cuzk_tl_job_report *j = &of[p->job];
    if (p->gpu1 == CUZK_TL_NONE) continue;
    j->partitions++;
    if (j->last_part == UINT32_MAX || p->gpu1 >= run->part[j->last_part].gpu1) j->last_part = (uint32_t)i;
  }
  uint64_t first = CUZK_TL_NONE, last = 0;
  for (size_t i = 0; i < run->n_jobs; i++) {
    const struct cuzk_tl_job *job = &run->job[i];
    if (!of[i].partitions || job->first == CUZK_TL_NONE) continue;
    struct cuzk_tl_job_report j = of[i];
    j.job = (uint32_t)i;
    j.start = job->submit != CUZK_TL_NONE ? job->submit : job->first;
    j.end = job->last;
    if (j.end < j.start) j.end = j.start;
    j.latency = j.end - j.start;
    critical_path(&j, run);
    if (job->ended != 'F' && job->ended != 'C') {
      values[n_done++] = ms32(j.latency);
      if (j.start < first) first = j.start;
      if (j.end > last) last = j.end;
    }
    of[n++] = j;
  }
  qsort(of, n, sizeof *of, cmp_job);
  r->job = of;
  r->n_jobs = n;
  r->latency = spread(values, n_done);
  if (n_done && last > first) r->proofs_per_hour = (double)n_done * 3600e3 / (double)(last - first);
  cuzk_free(values);
  return CUZK_OK;
nomem:
  cuzk_free(of);
  cuzk_free(values);
  return CUZK_E_NOMEM;
}

/* ---- further figures ---- */
enum figure { F_SPAN, F_QUEUE, F_PICKUP, F_SPAWN, F_SYNTH };

static bool figure_of(enum figure f, const struct cuzk_tl_part *p, uint64_t *v) {
  uint64_t a, b;
  switch (f) {
    case F_QUEUE: a = p->ready, b = p->pickup; break;
    case F_PICKUP: a = p->pickup, b = p->gpu0; break;
    case F_SYNTH: a = p->synth0, b = p->synth1; break;
    case F_SPAWN:
      if (p->gpu_ms == UINT32_MAX || p->gpu1 == CUZK_TL_NONE || p->flags & CUZK_TL_INFERRED) return false;
      a = p->gpu0;
      b = p->gpu1 > p->gpu_ms ? p->gpu1 - p->gpu_ms : 0;
      if (b < a) b = a;
      break;
    default: return false;
  }
  if (a == CUZK_TL_NONE || b == CUZK_TL_NONE || b < a) return false;
  *v = b - a;
  return true;
}

/* By the time that stands first, then as they stood: jobs' numbers follow each other. */
static int cmp_first(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  if (*x != *y) return *x < *y ? -1 : 1;
  const uint32_t u = *(const uint32_t *)(x + 1), v = *(const uint32_t *)(y + 1);
  return (u > v) - (u < v);
}
/* From the last end but one of a job to the first start of the job that follows it, in the order of first starts. */
static enum cuzk_status hand_overs(struct cuzk_tl_report *r, const struct cuzk_tl_run *run, uint32_t *v) {
  struct turn {
    uint64_t first, last, last_but_one;
    uint32_t n;
  } *turn = cuzk_calloc(run->n_jobs + 1, sizeof *turn);
  struct by_first {
    uint64_t start;
    uint32_t job;
  } *by_first = cuzk_calloc(run->n_jobs + 1, sizeof *by_first);
  size_t n = 0, n_turns = 0;
  enum cuzk_status st = CUZK_E_NOMEM;
  if (!turn || !by_first) goto out;
  for (size_t i = 0; i < r->n_intervals; i++) {
    const struct cuzk_tl_interval *x = &r->interval[i];
    const uint32_t job = run->part[x->part].job;
    if (job == UINT32_MAX) continue;
    struct turn *t = &turn[job];
    if (!t->n || x->start < t->first) t->first = x->start;
    if (!t->n || x->end >= t->last) {
      t->last_but_one = t->n ? t->last : x->end;
      t->last = x->end;
    } else if (t->n == 1 || x->end > t->last_but_one) {
      t->last_but_one = x->end;
    }
    t->n++;
  }
  for (size_t i = 0; i < run->n_jobs; i++)
    if (turn[i].n) by_first[n_turns++] = (struct by_first){.start = turn[i].first, .job = (uint32_t)i};
  qsort(by_first, n_turns, sizeof *by_first, cmp_first);
  for (size_t i = 1; i < n_turns; i++) {
    const struct turn *a = &turn[by_first[i - 1].job];
    v[n++] = by_first[i].start > a->last_but_one ? ms32(by_first[i].start - a->last_but_one) : 0;
  }
  r->hand_over = spread(v, n);
  st = CUZK_OK;
out:
  cuzk_free(turn);
  cuzk_free(by_first);
  return st;
}

static enum cuzk_status make_figures(struct cuzk_tl_report *r, const struct cuzk_tl_run *run) {
  const size_t cap = run->n_parts + run->n_jobs + 1; /* an interval comes from one attempt */
  uint32_t *v = cuzk_malloc_array(cap, sizeof *v);
  if (!v) return CUZK_E_NOMEM;
  for (size_t i = 0; i < r->n_intervals; i++) v[i] = ms32(r->interval[i].end - r->interval[i].start);
  r->span = spread(v, r->n_intervals);
  for (size_t i = 0; i < r->n_intervals; i++)
    if ((uint64_t)(r->interval[i].end - r->interval[i].start) * 2 > r->span.median * 3) r->inflated++;
  struct cuzk_tl_spread *to[] = {[F_QUEUE] = &r->queue_wait, [F_PICKUP] = &r->pickup, [F_SPAWN] = &r->spawn, [F_SYNTH] = &r->synth};
  for (unsigned f = F_QUEUE; f <= F_SYNTH; f++) {
    size_t n = 0;
    uint64_t x;
    for (size_t i = 0; i < run->n_parts; i++)
      if (figure_of(f, &run->part[i], &x)) v[n++] = ms32(x);
    *to[f] = spread(v, n);
  }
  const enum cuzk_status st = hand_overs(r, run, v);
  cuzk_free(v);
  if (st != CUZK_OK) return st;
  r->lead_in = run->first_synth != CUZK_TL_NONE && run->first_synth <= r->first ? r->first - run->first_synth : CUZK_TL_NONE;
  r->kernel_share = -1;
  if (r->window && r->basis == CUZK_TL_KERNEL) r->kernel_share = (double)r->busy / (double)r->window;
  else if (r->window && run->n_kernel_sums) r->kernel_share = (double)run->kernel_sum_ms / (double)r->window;
  return CUZK_OK;
}

enum cuzk_status cuzk_tl_analyse(struct cuzk_tl_report *out, const struct cuzk_tl_run *run, const struct cuzk_tl_options *o,
                                 struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  memset(out, 0, sizeof *out);
  out->basis = o->basis != CUZK_TL_AUTO ? o->basis : run->has_kernel ? CUZK_TL_KERNEL : CUZK_TL_EVENT;
  out->classify = CUZK_TL_THRESHOLD;
  CUZK_TRY(make_intervals(out, run, o));
  if (!out->n_intervals) return cuzk_fail(d, CUZK_E_NOENT, "run %u: no complete %s interval", run->number, cuzk_tl_basis_names[out->basis]);
  CUZK_TRY(make_lanes(out));
  CUZK_TRY(make_gaps(out, run, o));
  CUZK_TRY(make_jobs(out, run));
  CUZK_TRY(make_figures(out, run));
out:
  if (st != CUZK_OK) {
    cuzk_tl_report_clear(out);
    (void)cuzk_fail(d, st, "run %u: no memory to analyse it", run->number);
  }
  return st;
}

double cuzk_tl_efficiency_without(const struct cuzk_tl_report *r, uint64_t ms) {
  return r->window > ms ? (double)r->busy / (double)(r->window - ms) : 1;
}

const char *cuzk_tl_advice(char *out, size_t n, const struct cuzk_tl_report *r) {
  static const char *const change[CUZK_TL_N_CLASSES] = {
      [CUZK_TL_DISPATCH] = "let a second worker prepare the next call while the first one runs (workers_per_device)",
      [CUZK_TL_NO_DEMAND] = "send more proofs: the device had nothing to do",
      [CUZK_TL_COLD_START] = "keep the pipeline filled: submit the next proof before the last one ends, and preload the parameters",
      [CUZK_TL_CROSS_SECTOR] = "begin the next sector's synthesis earlier (more synthesis workers, or memory for one more partition)",
      [CUZK_TL_INTRA_SECTOR] = "make synthesis keep up with the device (more synthesis workers or faster cores)",
      [CUZK_TL_BUDGET_WAIT] = "give the engine more memory: partitions waited for the budget",
      [CUZK_TL_SRS_LOAD] = "keep the parameters resident: the device waited for a load",
  };
  unsigned best = CUZK_TL_N_CLASSES;
  for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++)
    if (c != CUZK_TL_NO_DEMAND && r->cls[c].ms && (best == CUZK_TL_N_CLASSES || r->cls[c].ms > r->cls[best].ms)) best = c;
  if (best == CUZK_TL_N_CLASSES && r->cls[CUZK_TL_NO_DEMAND].ms) best = CUZK_TL_NO_DEMAND;
  if (best == CUZK_TL_N_CLASSES)
    (void)snprintf(out, n, "The device was never idle: only faster kernels would help.");
  else if (r->idle < r->window / 1000) /* a sentence about milliseconds would send its reader the wrong way */
    (void)snprintf(out, n, "The device was busy %.2f %% of the time: only faster kernels would help.", 100 * cuzk_tl_efficiency_without(r, 0));
  else
    (void)snprintf(out, n, "Most would be saved by one change: %s. It would save up to %.1f s of %.1f s idle (efficiency %.1f %% instead of %.1f %%).",
                   change[best], (double)r->cls[best].ms / 1e3, (double)r->idle / 1e3, 100 * cuzk_tl_efficiency_without(r, r->cls[best].ms),
                   100 * cuzk_tl_efficiency_without(r, 0));
  return out;
}
