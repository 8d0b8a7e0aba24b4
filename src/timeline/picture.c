/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waterfall in characters, SVG, trace. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "timeline/print.h"

/* ---- characters ---- */
struct scale {
  uint64_t first, span;
  unsigned width;
};
static unsigned column(const struct scale *s, uint64_t t) {
  if (t <= s->first) return 0;
  const double at = (double)(t - s->first) * (double)s->width / (double)s->span;
  return at >= s->width ? s->width - 1 : (unsigned)at;
}
static void paint(char *row, const struct scale *s, uint64_t from, uint64_t to, char c) {
  const unsigned a = column(s, from), b = column(s, to > from ? to - 1 : to);
  memset(row + a, c, (size_t)b - a + 1);
}

static void rows(FILE *f, char *row, const struct scale *s, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, uint32_t device, int32_t worker) {
  for (unsigned layer = 0; layer < 2; layer++) {
    for (size_t i = 0; i < r->n_intervals; i++) {
      const struct cuzk_tl_interval *v = &r->interval[i];
      if (v->device != device || v->worker != worker) continue;
      const struct cuzk_tl_part *p = &run->part[v->part];
      const bool kernels = p->kernel0 != CUZK_TL_NONE && p->kernel1 != CUZK_TL_NONE;
      if (!layer && p->gpu0 != CUZK_TL_NONE && p->gpu1 != CUZK_TL_NONE && p->gpu1 > r->first) paint(row, s, p->gpu0, p->gpu1, kernels ? '=' : '#');
      if (layer && kernels) paint(row, s, p->kernel0, p->kernel1, '#');
    }
  }
  char name[16] = "-";
  if (worker >= 0) (void)snprintf(name, sizeof name, "%" PRId32, worker);
  (void)fprintf(f, "worker %-4s %.*s\n", name, (int)s->width, row);
}

enum cuzk_status cuzk_tl_print_waterfall(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, unsigned width) {
  const struct scale s = {.first = r->first, .span = r->last > r->first ? r->last - r->first : 1, .width = width > 30 ? width - 12 : 18};
  char *row = cuzk_malloc(s.width + 1);
  if (!row) return CUZK_E_NOMEM;
  (void)fprintf(f, "%.1f s to %.1f s; # kernels or call, = host part of a call; gaps by class: c d n x i b s\n", (double)r->first / 1e3, (double)r->last / 1e3);
  static const char letter[CUZK_TL_N_CLASSES] = {'d', 'n', 'c', 'x', 'i', 'b', 's'};
  size_t w = 0, g = 0;
  for (size_t d = 0; d < r->n_devices; d++) {
    for (; w < r->n_workers && r->worker[w].device == r->device[d].device; w++) {
      memset(row, '-', s.width);
      rows(f, row, &s, r, run, r->worker[w].device, r->worker[w].worker);
    }
    memset(row, ' ', s.width);
    for (; g < r->n_gaps && r->gap[g].device == r->device[d].device; g++) {
      /* a gap that is narrower than a column shows only where nothing larger does */
      const unsigned a = column(&s, r->gap[g].start), b = column(&s, r->gap[g].end);
      if (a != b || row[a] == ' ') paint(row, &s, r->gap[g].start, r->gap[g].end, letter[r->gap[g].label]);
    }
    (void)fprintf(f, "device %-4" PRIu32 " %.*s\n", r->device[d].device, (int)s.width, row);
  }
  cuzk_free(row);
  return CUZK_OK;
}

/* ---- SVG ---- */
enum { LEFT = 90, WIDE = 1400, ROW = 14, LANES = 64 };
static const char *const colour[CUZK_TL_N_CLASSES] = {"#8a8a8a", "#cfcfcf", "#3b6fb6", "#c0392b", "#d98e04", "#7d3c98", "#148f77"};

struct pen {
  FILE *f;
  const struct scale *s;
  unsigned y;
  const char *fill;
  double from, to; /* collected, in pixels; to < from: nothing */
};
static void lift(struct pen *p) {
  if (p->to >= p->from)
    (void)fprintf(p->f, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT + p->from, p->y,
                  p->to - p->from < 0.5 ? 0.5 : p->to - p->from, ROW - 3, p->fill);
  p->from = 1;
  p->to = 0;
}
static void draw(struct pen *p, uint64_t from, uint64_t to) {
  const double k = (double)WIDE / (double)p->s->span;
  const double a = from > p->s->first ? (double)(from - p->s->first) * k : 0, b = to > p->s->first ? (double)(to - p->s->first) * k : 0;
  if (p->to >= p->from && a <= p->to + 0.2 && a >= p->from && b - p->from < 1) { /* all of it within a pixel */
    if (b > p->to) p->to = b;
    return;
  }
  lift(p);
  p->from = a;
  p->to = b > WIDE ? WIDE : b;
}
static void caption(FILE *f, unsigned y, const char *what, int64_t n) {
  (void)fprintf(f, "<text x=\"4\" y=\"%u\">%s", y + ROW - 5, what);
  if (n >= 0) (void)fprintf(f, " %" PRId64, n);
  (void)fprintf(f, "</text>\n");
}

struct stretch {
  uint64_t from, to;
};
static int by_from(const void *a, const void *b) {
  const struct stretch *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

enum cuzk_status cuzk_tl_print_svg(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run) {
  uint64_t first = r->first;
  size_t n = 0;
  struct stretch *synth = cuzk_malloc_array(run->n_parts + 1, sizeof *synth);
  uint8_t *lane = cuzk_malloc(run->n_parts + 1);
  uint64_t until[LANES] = {0};
  unsigned lanes = 0;
  if (!synth || !lane) {
    cuzk_free(synth);
    cuzk_free(lane);
    return CUZK_E_NOMEM;
  }
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    if (p->synth0 == CUZK_TL_NONE || p->synth1 == CUZK_TL_NONE || p->synth0 > r->last) continue;
    synth[n++] = (struct stretch){p->synth0, p->synth1};
    if (p->synth0 < first) first = p->synth0;
  }
  qsort(synth, n, sizeof *synth, by_from);
  for (size_t i = 0; i < n; i++) { /* each into the first lane that is free; the last one takes what is left */
    unsigned l = 0;
    while (l + 1 < LANES && until[l] > synth[i].from) l++;
    if (synth[i].to > until[l]) until[l] = synth[i].to;
    lane[i] = (uint8_t)l;
    if (l >= lanes) lanes = l + 1;
  }
  const struct scale s = {.first = first, .span = r->last > first ? r->last - first : 1};
  const unsigned height = (unsigned)(60 + ROW * (lanes + r->n_workers + r->n_devices));
  (void)fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"10\">\n"
                "<title>timeline, run %u: %.1f %% busy</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                LEFT + WIDE + 10, height, run->number, 100 * cuzk_tl_efficiency_without(r, 0));
  unsigned y = 4;
  for (unsigned l = 0; l < lanes; l++, y += ROW) {
    struct pen p = {.f = f, .s = &s, .y = y, .fill = "#9ecae1", .from = 1};
    if (!l) caption(f, y, "synthesis", -1);
    for (size_t i = 0; i < n; i++)
      if (lane[i] == l) draw(&p, synth[i].from, synth[i].to);
    lift(&p);
  }
  size_t w = 0, g0 = 0;
  for (size_t d = 0; d < r->n_devices; d++) {
    for (; w < r->n_workers && r->worker[w].device == r->device[d].device; w++, y += ROW) {
      caption(f, y, "worker", r->worker[w].worker);
      for (unsigned layer = 0; layer < 2; layer++) {
        struct pen p = {.f = f, .s = &s, .y = y, .fill = layer ? "#238b45" : "#a1d99b", .from = 1};
        for (size_t i = 0; i < r->n_intervals; i++) {
          const struct cuzk_tl_interval *v = &r->interval[i];
          const struct cuzk_tl_part *q = &run->part[v->part];
          if (v->device != r->worker[w].device || v->worker != r->worker[w].worker) continue;
          const uint64_t a = layer ? q->kernel0 : q->gpu0, b = layer ? q->kernel1 : q->gpu1;
          if (a != CUZK_TL_NONE && b != CUZK_TL_NONE && a <= r->last) draw(&p, a, b);
        }
        lift(&p);
      }
    }
    caption(f, y, "gaps of", r->device[d].device);
    size_t g1 = g0;
    while (g1 < r->n_gaps && r->gap[g1].device == r->device[d].device) g1++;
    for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++) {
      struct pen p = {.f = f, .s = &s, .y = y, .fill = colour[c], .from = 1};
      for (size_t i = g0; i < g1; i++)
        if (r->gap[i].label == c) draw(&p, r->gap[i].start, r->gap[i].end);
      lift(&p);
    }
    g0 = g1;
    y += ROW;
  }
  for (unsigned k = 0; k <= 10; k++)
    (void)fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"middle\">%.1f s</text>\n", LEFT + (int)k * WIDE / 10, y + 14,
                  ((double)s.first + (double)s.span * k / 10) / 1e3);
  for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++)
    (void)fprintf(f, "<rect x=\"%u\" y=\"%u\" width=\"10\" height=\"10\" fill=\"%s\"/><text x=\"%u\" y=\"%u\">%s %.1f s</text>\n", LEFT + c * 190, y + 26,
                  colour[c], LEFT + 14 + c * 190, y + 35, cuzk_tl_class_names[c], (double)r->cls[c].ms / 1e3);
  (void)fprintf(f, "</svg>\n");
  cuzk_free(synth);
  cuzk_free(lane);
  return CUZK_OK;
}

/* ---- trace ---- */
static void slice(FILE *f, bool *any, const char *name, const char *cat, uint32_t pid, int64_t tid, uint64_t from, uint64_t to, const struct cuzk_tl_run *run,
                  const struct cuzk_tl_part *p, uint64_t id) {
  if (from == CUZK_TL_NONE || to == CUZK_TL_NONE || to < from) return;
  /* asynchronous slices may overlap on a track */
  for (unsigned end = 0; end < 2; end++) {
    (void)fprintf(f, "%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"%s\",\"id\":%" PRIu64 ",\"pid\":%" PRIu32 ",\"tid\":%" PRId64 ",\"ts\":%" PRIu64,
                  *any ? ",\n" : "", name, cat, end ? "e" : "b", id, pid, tid, (end ? to : from) * 1000);
    if (!end && p) {
      (void)fprintf(f, ",\"args\":{\"partition\":%" PRId32 ",\"job\":", p->partition);
      cuzk_tl_json_string(f, cuzk_tl_job_id(run, p->job));
      (void)fprintf(f, "}");
    }
    (void)fprintf(f, "}");
    *any = true;
  }
}
static void named(FILE *f, bool *any, uint32_t pid, const char *what, int64_t n) {
  (void)fprintf(f, "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%" PRIu32 ",\"args\":{\"name\":\"%s", *any ? ",\n" : "", pid, what);
  if (n >= 0) (void)fprintf(f, " %" PRId64, n);
  (void)fprintf(f, "\"}}");
  *any = true;
}

enum cuzk_status cuzk_tl_print_trace(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run) {
  bool any = false;
  uint64_t id = 1;
  (void)fprintf(f, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  named(f, &any, 1, "synthesis", -1);
  for (size_t d = 0; d < r->n_devices; d++) named(f, &any, 10 + r->device[d].device, "device", r->device[d].device);
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    slice(f, &any, "synthesis", "synthesis", 1, 0, p->synth0, p->synth1, run, p, id++);
    slice(f, &any, "wait for memory", "budget", 1, 0, p->budget0, p->budget1, run, p, id++);
  }
  for (size_t i = 0; i < r->n_intervals; i++) {
    const struct cuzk_tl_interval *v = &r->interval[i];
    const struct cuzk_tl_part *p = &run->part[v->part];
    const uint32_t pid = 10 + v->device;
    const uint64_t one = id++;
    slice(f, &any, "call", "worker", pid, v->worker, p->gpu0, p->gpu1, run, p, one);
    slice(f, &any, "kernels", "worker", pid, v->worker, p->kernel0, p->kernel1, run, p, one);
  }
  for (size_t i = 0; i < r->n_gaps; i++)
    slice(f, &any, cuzk_tl_class_names[r->gap[i].label], "gap", 10 + r->gap[i].device, -2, r->gap[i].start, r->gap[i].end, run, NULL, id++);
  for (size_t i = 0; i < r->n_jobs; i++) {
    struct cuzk_tl_part of = {.job = r->job[i].job, .partition = -1};
    slice(f, &any, "proof", "job", 2, 0, r->job[i].start, r->job[i].end, run, &of, id++);
  }
  named(f, &any, 2, "proofs", -1);
  (void)fprintf(f, "\n]}\n");
  return CUZK_OK;
}
