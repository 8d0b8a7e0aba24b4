/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "timeline/print.h"

const char *const cuzk_tl_part_stage_names[CUZK_TL_N_PART_STAGES] = {"synthesis", "wait for device", "before kernels", "kernels", "after kernels", "whole call"};

void cuzk_tl_stage_sums(struct cuzk_tl_stage_sum out[CUZK_TL_N_PART_STAGES], const struct cuzk_tl_run *run) {
  memset(out, 0, CUZK_TL_N_PART_STAGES * sizeof *out);
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    const struct {
      uint64_t from, to;
    } cut[CUZK_TL_N_PART_STAGES] = {{p->synth0, p->synth1}, {p->ready, p->pickup != CUZK_TL_NONE ? p->pickup : p->gpu0}, {p->gpu0, p->kernel0},
                                    {p->kernel0, p->kernel1}, {p->kernel1, p->gpu1}, {p->gpu0, p->gpu1}};
    for (unsigned s = 0; s < CUZK_TL_N_PART_STAGES; s++) {
      if (cut[s].from == CUZK_TL_NONE || cut[s].to == CUZK_TL_NONE || cut[s].to < cut[s].from) continue;
      out[s].n++;
      out[s].ms += cut[s].to - cut[s].from;
    }
  }
}

static double mean(const struct cuzk_tl_stage_sum *s) { return s->n ? (double)s->ms / (double)s->n / 1e3 : 0; }
/* Time of a kind for each device call: runs of different lengths compare so. */
static double per_call(const struct cuzk_tl_report *r, uint64_t ms) { return r->n_intervals ? (double)ms / (double)r->n_intervals / 1e3 : 0; }

const char *cuzk_tl_compare_why(char *out, size_t n, const struct cuzk_tl_side *a, const struct cuzk_tl_side *b) {
  const double wa = per_call(a->report, a->report->window), wb = per_call(b->report, b->report->window), total = wb - wa;
  const double rate = wb > 0 ? wa / wb : 1;
  if (total < 0.005 * wa && -total < 0.005 * wa) {
    (void)snprintf(out, n, "%s and %s take the same time for a partition (%.2f s and %.2f s).", a->name, b->name, wa, wb);
    return out;
  }
  /* the busy share and each class of gaps sum to the window: the one that moved most in its direction explains it */
  double most = per_call(b->report, b->report->busy) - per_call(a->report, a->report->busy), was = per_call(a->report, a->report->busy);
  const char *what = "busy time";
  if (total < 0 ? most > 0 : most < 0) most = 0;
  for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++) {
    const double da = per_call(a->report, a->report->cls[c].ms), d = per_call(b->report, b->report->cls[c].ms) - da;
    if (total < 0 ? d < most : d > most) {
      most = d;
      was = da;
      what = cuzk_tl_class_names[c];
    }
  }
  char how_much[80];
  /* others may have moved the other way */
  if (most > 1.005 * total && total > 0) (void)snprintf(how_much, sizeof how_much, "more than the whole difference");
  else if (most < 1.005 * total && total < 0) (void)snprintf(how_much, sizeof how_much, "more than the whole difference");
  else (void)snprintf(how_much, sizeof how_much, "%.0f %% of the difference", 100 * most / total);
  (void)snprintf(out, n,
                 "%s needs %.2f s of device time a partition where %s needs %.2f s (%.2f times the throughput), mostly by %s: %.2f s instead of %.2f s, "
                 "%s.",
                 b->name, wb, a->name, wa, rate, what, was + most, was, how_much);
  return out;
}

static void row(FILE *f, const char *name, double x, double y) { (void)fprintf(f, "%-24s %10.2f %10.2f %+10.2f\n", name, x, y, y - x); }

void cuzk_tl_compare_text(FILE *f, const struct cuzk_tl_side *a, const struct cuzk_tl_side *b) {
  struct cuzk_tl_stage_sum sa[CUZK_TL_N_PART_STAGES], sb[CUZK_TL_N_PART_STAGES];
  const struct cuzk_tl_report *x = a->report, *y = b->report;
  cuzk_tl_stage_sums(sa, a->run);
  cuzk_tl_stage_sums(sb, b->run);
  (void)fprintf(f, "A: %s  calls %zu  jobs %zu  basis %s\nB: %s  calls %zu  jobs %zu  basis %s\n", a->name, x->n_intervals, x->n_jobs,
                cuzk_tl_basis_names[x->basis], b->name, y->n_intervals, y->n_jobs, cuzk_tl_basis_names[y->basis]);
  (void)fprintf(f, "%-24s %10s %10s %10s\n", "", "A", "B", "B - A");
  row(f, "window (s)", (double)x->window / 1e3, (double)y->window / 1e3);
  row(f, "efficiency (%)", 100 * cuzk_tl_efficiency_without(x, 0), 100 * cuzk_tl_efficiency_without(y, 0));
  row(f, "proofs an hour", x->proofs_per_hour, y->proofs_per_hour);
  row(f, "median latency (s)", (double)x->latency.median / 1e3, (double)y->latency.median / 1e3);
  (void)fprintf(f, "stages, mean of a partition (s)\n");
  for (unsigned s = 0; s < CUZK_TL_N_PART_STAGES; s++)
    if (sa[s].n || sb[s].n) row(f, cuzk_tl_part_stage_names[s], mean(&sa[s]), mean(&sb[s]));
  (void)fprintf(f, "device time for each call (s)\n");
  row(f, "busy", per_call(x, x->busy), per_call(y, y->busy));
  for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++) row(f, cuzk_tl_class_names[c], per_call(x, x->cls[c].ms), per_call(y, y->cls[c].ms));
  char text[640];
  (void)fprintf(f, "%s\n", cuzk_tl_compare_why(text, sizeof text, a, b));
}

static void side_json(FILE *f, const struct cuzk_tl_side *s) {
  struct cuzk_tl_stage_sum sum[CUZK_TL_N_PART_STAGES];
  cuzk_tl_stage_sums(sum, s->run);
  (void)fprintf(f, "{\"name\":");
  cuzk_tl_json_string(f, s->name);
  (void)fprintf(f, ",\"calls\":%zu,\"jobs\":%zu,\"window_ms\":%" PRIu64 ",\"busy_ms\":%" PRIu64 ",\"idle_ms\":%" PRIu64
                ",\"efficiency\":%.6f,\"proofs_per_hour\":%.3f,\"median_latency_ms\":%" PRIu64 ",\"stages\":{",
                s->report->n_intervals, s->report->n_jobs, s->report->window, s->report->busy, s->report->idle,
                cuzk_tl_efficiency_without(s->report, 0), s->report->proofs_per_hour, s->report->latency.median);
  for (unsigned i = 0; i < CUZK_TL_N_PART_STAGES; i++)
    (void)fprintf(f, "%s\"%s\":{\"n\":%" PRIu64 ",\"total_ms\":%" PRIu64 "}", i ? "," : "", cuzk_tl_part_stage_names[i], sum[i].n, sum[i].ms);
  (void)fprintf(f, "},\"categories\":{");
  for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++)
    (void)fprintf(f, "%s\"%s\":{\"gaps\":%" PRIu64 ",\"total_ms\":%" PRIu64 "}", c ? "," : "", cuzk_tl_class_names[c], s->report->cls[c].gaps,
                  s->report->cls[c].ms);
  (void)fprintf(f, "}}");
}

void cuzk_tl_compare_json(FILE *f, const struct cuzk_tl_side *a, const struct cuzk_tl_side *b) {
  char text[640];
  (void)fprintf(f, "{\"a\":");
  side_json(f, a);
  (void)fprintf(f, ",\"b\":");
  side_json(f, b);
  (void)fprintf(f, ",\"why\":");
  cuzk_tl_json_string(f, cuzk_tl_compare_why(text, sizeof text, a, b));
  (void)fprintf(f, "}\n");
}
