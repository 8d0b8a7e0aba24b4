/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "timeline/print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* As the specification prints them. */
static const enum cuzk_tl_class shown[CUZK_TL_N_CLASSES] = {CUZK_TL_COLD_START, CUZK_TL_CROSS_SECTOR, CUZK_TL_INTRA_SECTOR, CUZK_TL_DISPATCH,
                                                            CUZK_TL_NO_DEMAND,  CUZK_TL_BUDGET_WAIT,  CUZK_TL_SRS_LOAD};

static double sec(uint64_t ms) { return (double)ms / 1e3; }
static double share(uint64_t part, uint64_t whole) { return whole ? (double)part / (double)whole : 0; }
static double lane_eff(const struct cuzk_tl_lane *l) { return l->busy + l->idle ? share(l->busy, l->busy + l->idle) : 1; }

/* Length of the well-formed UTF-8 sequence at s; 0: none. */
static unsigned utf8(const unsigned char *s) {
  if (s[0] < 0x80) return 1;
  const unsigned n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
  if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
  for (unsigned i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
  return n;
}

void cuzk_tl_json_string(FILE *f, const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  (void)fprintf(f, "\"");
  while (*s) {
    const unsigned n = utf8(s);
    if (!n) (void)fprintf(f, "\\ufffd");
    else if (*s == '"' || *s == '\\') (void)fprintf(f, "\\%c", *s);
    else if (*s < 0x20 || *s == 0x7f) (void)fprintf(f, "\\u%04x", *s);
    else (void)fwrite(s, 1, n, f);
    s += n ? n : 1;
  }
  (void)fprintf(f, "\"");
}

/* An id on a terminal or in a table: control characters would move its cursor. */
static void plain(FILE *f, const char *id) {
  for (; *id; id++) {
    const unsigned char c = (unsigned char)*id;
    if (c < 0x20 || c == 0x7f) (void)fprintf(f, "%%%02X", c);
    else (void)fwrite(id, 1, 1, f);
  }
}

static void attempt(FILE *f, const struct cuzk_tl_run *run, uint32_t part) {
  plain(f, cuzk_tl_job_id(run, run->part[part].job));
  if (run->part[part].partition >= 0) (void)fprintf(f, "/%" PRId32, run->part[part].partition);
}

/* ---- the largest ---- */
static int larger_gap(const void *a, const void *b) {
  const struct cuzk_tl_gap *x = *(const struct cuzk_tl_gap *const *)a, *y = *(const struct cuzk_tl_gap *const *)b;
  const uint64_t m = x->end - x->start, n = y->end - y->start;
  if (m != n) return m > n ? -1 : 1;
  return x < y ? -1 : x > y;
}
static int slower_job(const void *a, const void *b) {
  const struct cuzk_tl_job_report *x = *(const struct cuzk_tl_job_report *const *)a, *y = *(const struct cuzk_tl_job_report *const *)b;
  if (x->latency != y->latency) return x->latency > y->latency ? -1 : 1;
  return x < y ? -1 : x > y;
}
struct largest {
  const struct cuzk_tl_gap **gap;
  const struct cuzk_tl_job_report **job;
  size_t n_gaps, n_jobs;
};
/* What is gathered is cut to the largest each time that it has doubled, so memory follows top, not the log. */
static enum cuzk_status largest_find(struct largest *l, const struct cuzk_tl_report *r, unsigned top) {
  const size_t gaps = r->n_gaps < top ? r->n_gaps : top, jobs = r->n_jobs < top ? r->n_jobs : top;
  const size_t gap_room = 2 * gaps + 64, job_room = 2 * jobs + 64;
  *l = (struct largest){.gap = cuzk_malloc_array(gap_room, sizeof *l->gap), .job = cuzk_malloc_array(job_room, sizeof *l->job)};
  if (!l->gap || !l->job) {
    cuzk_free(l->gap);
    cuzk_free(l->job);
    return CUZK_E_NOMEM;
  }
  for (size_t i = 0; i < r->n_gaps; i++) {
    l->gap[l->n_gaps++] = &r->gap[i];
    if (l->n_gaps < gap_room && i + 1 < r->n_gaps) continue;
    qsort(l->gap, l->n_gaps, sizeof *l->gap, larger_gap);
    if (l->n_gaps > gaps) l->n_gaps = gaps;
  }
  for (size_t i = 0; i < r->n_jobs; i++) {
    l->job[l->n_jobs++] = &r->job[i];
    if (l->n_jobs < job_room && i + 1 < r->n_jobs) continue;
    qsort(l->job, l->n_jobs, sizeof *l->job, slower_job);
    if (l->n_jobs > jobs) l->n_jobs = jobs;
  }
  return CUZK_OK;
}
static void largest_clear(struct largest *l) {
  cuzk_free(l->gap);
  cuzk_free(l->job);
}

/* ---- the articles' sequence ---- */
static int by_end(const void *a, const void *b) {
  const struct cuzk_tl_interval *x = *(const struct cuzk_tl_interval *const *)a, *y = *(const struct cuzk_tl_interval *const *)b;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return (x->end_line > y->end_line) - (x->end_line < y->end_line);
}
static int by_start(const void *a, const void *b) {
  const struct cuzk_tl_interval *x = *(const struct cuzk_tl_interval *const *)a, *y = *(const struct cuzk_tl_interval *const *)b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x->line > y->line) - (x->line < y->line);
}
/* After each end in the log, the time to the next start in the log; -1: none. Calls fn for each. */
static enum cuzk_status naive(FILE *f, const struct cuzk_tl_report *r, const char *separator) {
  const struct cuzk_tl_interval **s = cuzk_malloc_array(2 * r->n_intervals + 1, sizeof *s), **e = s ? s + r->n_intervals : NULL;
  if (!s) return CUZK_E_NOMEM;
  for (size_t i = 0; i < r->n_intervals; i++) s[i] = e[i] = &r->interval[i];
  qsort(s, r->n_intervals, sizeof *s, by_start);
  qsort(e, r->n_intervals, sizeof *e, by_end);
  bool any = false;
  for (size_t i = 0, k = 0; i < r->n_intervals; i++) {
    while (k < r->n_intervals && (s[k]->start < e[i]->end || (s[k]->start == e[i]->end && s[k]->line <= e[i]->end_line))) k++;
    if (k == r->n_intervals) break;
    if (i + 1 < r->n_intervals && e[i + 1]->end <= s[k]->start && (e[i + 1]->end < s[k]->start || e[i + 1]->end_line < s[k]->line)) continue;
    (void)fprintf(f, "%s%" PRIu64, any ? separator : "", (uint64_t)(s[k]->start - e[i]->end));
    any = true;
  }
  cuzk_free(s);
  return CUZK_OK;
}

/* ---- text ---- */
static void spread_row(FILE *f, const char *name, const struct cuzk_tl_spread *s) {
  if (s->n)
    (void)fprintf(f, "%-13s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n", name, s->n, s->min, s->median, s->p95, s->max);
}

enum cuzk_status cuzk_tl_print_text(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_print *o) {
  struct largest l = {0};
  enum cuzk_status st = largest_find(&l, r, o->top);
  if (st != CUZK_OK) return st;
  (void)fprintf(f, "epoch %u  window %.1f s  basis %s  classify %s  lines %" PRIu64 " (%" PRIu64 " malformed)\n", run->number,
                sec(r->last - r->first), cuzk_tl_basis_names[r->basis], r->classify == CUZK_TL_CAUSAL ? "causal" : "threshold", run->lines,
                run->malformed);
  (void)fprintf(f, "intervals %zu  unfinished %" PRIu64 "  orphan %" PRIu64 "  inferred %" PRIu64 "  failed %" PRIu64 "  jobs %zu\n",
                r->n_intervals, run->unfinished, run->orphans, run->inferred, run->failed, r->n_jobs);
  if (run->unknown) (void)fprintf(f, "unknown events %" PRIu64 "\n", run->unknown);
  if (run->torn_end) (void)fprintf(f, "the last line has no end: the log was cut or is still written\n");
  (void)fprintf(f, "device workers calls  busy_s  idle_s  eff_%%  gaps  max_gap_s\n");
  for (size_t i = 0; i < r->n_devices; i++) {
    const struct cuzk_tl_lane *d = &r->device[i];
    (void)fprintf(f, "%-6" PRIu32 " %-7" PRIu32 " %-6" PRIu64 " %-7.1f %-7.1f %-6.1f %-5" PRIu64 " %.1f\n", d->device, d->workers, d->calls,
                  sec(d->busy), sec(d->idle), 100 * lane_eff(d), d->gaps, sec(d->max_gap));
  }
  (void)fprintf(f, "worker device  calls  busy_s  idle_s  eff_%%\n");
  for (size_t i = 0; i < r->n_workers; i++) {
    const struct cuzk_tl_lane *w = &r->worker[i];
    char name[16];
    (void)snprintf(name, sizeof name, "%" PRId32, w->worker);
    (void)fprintf(f, "%-6s %-7" PRIu32 " %-6" PRIu64 " %-7.1f %-7.1f %.1f\n", w->worker < 0 ? "-" : name, w->device, w->calls, sec(w->busy),
                  sec(w->idle), 100 * lane_eff(w));
  }
  (void)fprintf(f, "category             gaps  total_s  share_%%  eff_without_%%\n");
  for (unsigned i = 0; i < CUZK_TL_N_CLASSES; i++) {
    const enum cuzk_tl_class c = shown[i];
    if (i > 4 && !r->cls[c].ms) continue;
    (void)fprintf(f, "%-21s%4" PRIu64 "%9.1f%9.1f%15.1f\n", cuzk_tl_class_names[c], r->cls[c].gaps, sec(r->cls[c].ms),
                  100 * share(r->cls[c].ms, r->idle), 100 * cuzk_tl_efficiency_without(r, r->cls[c].ms));
  }
  (void)fprintf(f, "without cold_start and cross_sector_stall: %.1f %%\n",
                100 * cuzk_tl_efficiency_without(r, r->cls[CUZK_TL_COLD_START].ms + r->cls[CUZK_TL_CROSS_SECTOR].ms));
  (void)fprintf(f, "gap histogram (ms: count, total_s)\n");
  for (unsigned b = 0; b < CUZK_TL_BUCKETS; b++) {
    char name[24];
    if (cuzk_tl_bucket_limit[b] == CUZK_TL_NONE) (void)snprintf(name, sizeof name, ">= %" PRIu64, cuzk_tl_bucket_limit[b - 1]);
    else (void)snprintf(name, sizeof name, "< %" PRIu64, cuzk_tl_bucket_limit[b]);
    (void)fprintf(f, "%-10s %6" PRIu64 " %8.1f\n", name, r->histogram[b].gaps, sec(r->histogram[b].ms));
  }
  if (l.n_gaps) (void)fprintf(f, "largest gaps: from_ms to_ms gap_ms label prev_job/part next_job/part queue_depth\n");
  for (size_t i = 0; i < l.n_gaps; i++) {
    const struct cuzk_tl_gap *g = l.gap[i];
    (void)fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s ", (uint64_t)g->start, (uint64_t)g->end, (uint64_t)(g->end - g->start), cuzk_tl_class_names[g->label]);
    attempt(f, run, g->before);
    (void)fprintf(f, " ");
    attempt(f, run, g->after);
    (void)fprintf(f, " %" PRIu32 "\n", g->queue_depth);
  }
  (void)fprintf(f, "span ms: %" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64 " (min/median/p95/max)  inflated %" PRIu64 "\n", r->span.min,
                r->span.median, r->span.p95, r->span.max, r->inflated);
  (void)fprintf(f, "times ms             n      min   median      p95      max\n");
  spread_row(f, "synthesis", &r->synth);
  spread_row(f, "queue_wait", &r->queue_wait);
  spread_row(f, "pickup", &r->pickup);
  spread_row(f, "spawn", &r->spawn);
  spread_row(f, "hand_over", &r->hand_over);
  spread_row(f, "latency", &r->latency);
  if (r->lead_in != CUZK_TL_NONE) (void)fprintf(f, "lead-in %.1f s before the first call\n", sec(r->lead_in));
  if (r->kernel_share >= 0) (void)fprintf(f, "kernel utilisation %.1f %%\n", 100 * r->kernel_share);
  if (r->proofs_per_hour > 0) (void)fprintf(f, "proofs an hour %.1f\n", r->proofs_per_hour);
  if (l.n_jobs) (void)fprintf(f, "critical path of the slowest proofs (s): job latency, and where it went\n");
  for (size_t i = 0; i < l.n_jobs; i++) {
    plain(f, cuzk_tl_job_id(run, l.job[i]->job));
    (void)fprintf(f, " %.1f:", sec(l.job[i]->latency));
    for (unsigned s = 0; s < CUZK_TL_N_STAGES; s++)
      if (l.job[i]->stage[s]) (void)fprintf(f, " %s %.1f", cuzk_tl_stage_names[s], sec(l.job[i]->stage[s]));
    (void)fprintf(f, "\n");
  }
  if (o->legacy) {
    (void)fprintf(f, "naive gaps (previous END to next START, ms): ");
    st = naive(f, r, ", ");
    (void)fprintf(f, "\n");
  }
  char text[512];
  (void)fprintf(f, "%s\n", cuzk_tl_advice(text, sizeof text, r));
  largest_clear(&l);
  return st;
}

/* ---- JSON ---- */
static void spread_json(FILE *f, const char *name, const struct cuzk_tl_spread *s) {
  (void)fprintf(f, ",\"%s\":{\"n\":%" PRIu64 ",\"min\":%" PRIu64 ",\"median\":%" PRIu64 ",\"p95\":%" PRIu64 ",\"max\":%" PRIu64 ",\"sum\":%" PRIu64 "}",
                name, s->n, s->min, s->median, s->p95, s->max, s->sum);
}

static void gap_json(FILE *f, const struct cuzk_tl_gap *g, const struct cuzk_tl_run *run) {
  (void)fprintf(f, "{\"device\":%" PRIu32 ",\"from_ms\":%" PRIu64 ",\"to_ms\":%" PRIu64 ",\"gap_ms\":%" PRIu64 ",\"label\":\"%s\"", g->device,
                (uint64_t)g->start, (uint64_t)g->end, (uint64_t)(g->end - g->start), cuzk_tl_class_names[g->label]);
  for (unsigned k = 0; k < 2; k++) {
    const struct cuzk_tl_part *p = &run->part[k ? g->after : g->before];
    (void)fprintf(f, ",\"%s_job\":", k ? "next" : "prev");
    cuzk_tl_json_string(f, cuzk_tl_job_id(run, p->job));
    (void)fprintf(f, ",\"%s_partition\":%" PRId32, k ? "next" : "prev", p->partition);
  }
  (void)fprintf(f, ",\"queue_depth\":%" PRIu32 "}", g->queue_depth);
}

enum cuzk_status cuzk_tl_print_json(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_print *o) {
  struct largest l = {0};
  enum cuzk_status st = largest_find(&l, r, o->top);
  if (st != CUZK_OK) return st;
  (void)fprintf(f, "{\"epoch\":%u,\"window_ms\":%" PRIu64 ",\"busy_ms\":%" PRIu64 ",\"idle_ms\":%" PRIu64 ",\"efficiency\":%.6f,\"basis\":\"%s\",\"classify\":\"%s\"",
                run->number, r->window, r->busy, r->idle, cuzk_tl_efficiency_without(r, 0), cuzk_tl_basis_names[r->basis],
                r->classify == CUZK_TL_CAUSAL ? "causal" : "threshold");
  (void)fprintf(f, ",\"lines\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"torn_end\":%s,\"intervals\":%zu,\"unfinished\":%" PRIu64
                ",\"orphan\":%" PRIu64 ",\"inferred\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"devices\":[",
                run->lines, run->malformed, run->unknown, run->torn_end ? "true" : "false", r->n_intervals, run->unfinished, run->orphans,
                run->inferred, run->failed);
  for (size_t i = 0; i < r->n_devices; i++) {
    const struct cuzk_tl_lane *d = &r->device[i];
    (void)fprintf(f, "%s{\"device\":%" PRIu32 ",\"workers\":%" PRIu32 ",\"calls\":%" PRIu64 ",\"busy_ms\":%" PRIu64 ",\"idle_ms\":%" PRIu64
                  ",\"efficiency\":%.6f,\"gaps\":%" PRIu64 ",\"max_gap_ms\":%" PRIu64 "}", i ? "," : "", d->device, d->workers, d->calls, d->busy,
                  d->idle, lane_eff(d), d->gaps, d->max_gap);
  }
  (void)fprintf(f, "],\"workers\":[");
  for (size_t i = 0; i < r->n_workers; i++) {
    const struct cuzk_tl_lane *w = &r->worker[i];
    (void)fprintf(f, "%s{\"worker\":%" PRId32 ",\"device\":%" PRIu32 ",\"calls\":%" PRIu64 ",\"busy_ms\":%" PRIu64 ",\"idle_ms\":%" PRIu64
                  ",\"efficiency\":%.6f}", i ? "," : "", w->worker, w->device, w->calls, w->busy, w->idle, lane_eff(w));
  }
  (void)fprintf(f, "],\"categories\":{");
  for (unsigned i = 0; i < CUZK_TL_N_CLASSES; i++) {
    const enum cuzk_tl_class c = shown[i];
    (void)fprintf(f, "%s\"%s\":{\"gaps\":%" PRIu64 ",\"total_ms\":%" PRIu64 ",\"efficiency_without\":%.6f}", i ? "," : "", cuzk_tl_class_names[c],
                  r->cls[c].gaps, r->cls[c].ms, cuzk_tl_efficiency_without(r, r->cls[c].ms));
  }
  (void)fprintf(f, "},\"histogram\":[");
  for (unsigned b = 0; b < CUZK_TL_BUCKETS; b++) {
    (void)fprintf(f, "%s{\"lt_ms\":", b ? "," : "");
    if (cuzk_tl_bucket_limit[b] == CUZK_TL_NONE) (void)fprintf(f, "null");
    else (void)fprintf(f, "%" PRIu64, cuzk_tl_bucket_limit[b]);
    (void)fprintf(f, ",\"count\":%" PRIu64 ",\"total_ms\":%" PRIu64 "}", r->histogram[b].gaps, r->histogram[b].ms);
  }
  (void)fprintf(f, "],\"top\":[");
  for (size_t i = 0; i < l.n_gaps; i++) {
    if (i) (void)fprintf(f, ",");
    gap_json(f, l.gap[i], run);
  }
  (void)fprintf(f, "],\"spans\":{\"min\":%" PRIu64 ",\"median\":%" PRIu64 ",\"p95\":%" PRIu64 ",\"max\":%" PRIu64 ",\"inflated\":%" PRIu64 "}", r->span.min,
                r->span.median, r->span.p95, r->span.max, r->inflated);
  spread_json(f, "queue_wait_ms", &r->queue_wait);
  spread_json(f, "pickup_ms", &r->pickup);
  spread_json(f, "spawn_ms", &r->spawn);
  spread_json(f, "synthesis_ms", &r->synth);
  spread_json(f, "hand_over_ms", &r->hand_over);
  spread_json(f, "latency_ms", &r->latency);
  if (r->lead_in != CUZK_TL_NONE) (void)fprintf(f, ",\"lead_in_ms\":%" PRIu64, r->lead_in);
  if (r->kernel_share >= 0) (void)fprintf(f, ",\"kernel_utilisation\":%.6f", r->kernel_share);
  (void)fprintf(f, ",\"proofs_per_hour\":%.3f,\"jobs\":[", r->proofs_per_hour);
  for (size_t i = 0; i < r->n_jobs; i++) {
    const struct cuzk_tl_job_report *j = &r->job[i];
    (void)fprintf(f, "%s{\"job_id\":", i ? "," : "");
    cuzk_tl_json_string(f, cuzk_tl_job_id(run, j->job));
    (void)fprintf(f, ",\"latency_ms\":%" PRIu64 ",\"start_ms\":%" PRIu64 ",\"partitions\":%" PRIu32 ",\"path_ms\":{", j->latency, j->start, j->partitions);
    for (unsigned s = 0; s < CUZK_TL_N_STAGES; s++) (void)fprintf(f, "%s\"%s\":%" PRIu64, s ? "," : "", cuzk_tl_stage_names[s], j->stage[s]);
    (void)fprintf(f, "}}");
  }
  (void)fprintf(f, "]");
  if (o->legacy) {
    (void)fprintf(f, ",\"naive_gaps_ms\":[");
    st = naive(f, r, ",");
    (void)fprintf(f, "]");
  }
  char text[512];
  (void)fprintf(f, ",\"advice\":");
  cuzk_tl_json_string(f, cuzk_tl_advice(text, sizeof text, r));
  (void)fprintf(f, "}\n");
  largest_clear(&l);
  return st;
}

/* ---- CSV ---- */
static void csv_text(FILE *f, const char *s) {
  (void)fprintf(f, "\"");
  for (; *s; s++) {
    if (*s == '"') (void)fprintf(f, "\"");
    (void)fwrite(s, 1, 1, f);
  }
  (void)fprintf(f, "\"");
}

void cuzk_tl_print_csv(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, bool heading) {
  if (heading) {
    (void)fprintf(f, "epoch,device,from_ms,to_ms,gap_ms,label,prev_job,prev_partition,next_job,next_partition,queue_depth");
    for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++) (void)fprintf(f, ",%s_ms", cuzk_tl_class_names[c]);
    (void)fprintf(f, "\n");
  }
  for (size_t i = 0; i < r->n_gaps; i++) {
    const struct cuzk_tl_gap *g = &r->gap[i];
    (void)fprintf(f, "%u,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", run->number, g->device, (uint64_t)g->start, (uint64_t)g->end, (uint64_t)(g->end - g->start),
                  cuzk_tl_class_names[g->label]);
    csv_text(f, cuzk_tl_job_id(run, run->part[g->before].job));
    (void)fprintf(f, ",%" PRId32 ",", run->part[g->before].partition);
    csv_text(f, cuzk_tl_job_id(run, run->part[g->after].job));
    (void)fprintf(f, ",%" PRId32 ",%" PRIu32, run->part[g->after].partition, g->queue_depth);
    uint64_t ms[CUZK_TL_N_CLASSES];
    cuzk_tl_gap_split(ms, r, run, g);
    for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++) (void)fprintf(f, ",%" PRIu64, ms[c]);
    (void)fprintf(f, "\n");
  }
}
