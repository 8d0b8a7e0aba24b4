/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/top.h"

/* ---- reading JSON that may lack anything ---- */

static double num(const json_t *o, const char *key) { return json_number_value(json_object_get(o, key)); }
static const char *str(const json_t *o, const char *key) {
  const char *s = json_string_value(json_object_get(o, key));
  return s ? s : "";
}
static int whole(const json_t *o, const char *key) {
  const json_t *v = json_object_get(o, key);
  return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < 1 << 20 ? (int)json_integer_value(v) : -1;
}

static void restart(struct top_view *v) {
  memset(v->worker, 0, sizeof v->worker);
  v->has_offset = false;
  v->last_seq = 0;
}

void top_view_status(struct top_view *v, json_t *status, double now_ms) {
  if (v->status && num(status, "uptime_secs") < num(v->status, "uptime_secs")) restart(v); /* another run of the daemon */
  if (v->status) json_decref(v->status);
  v->status = status;
  v->status_at = now_ms;
}

void top_view_clear(struct top_view *v) {
  if (v->status) json_decref(v->status);
  v->status = NULL;
}

/* ---- events ---- */

static void call_begins(struct top_worker *w, double t, bool kernels) {
  if (w->n && w->call[(w->n - 1) % TOP_CALLS].end < 0) w->call[(w->n - 1) % TOP_CALLS].end = t;
  w->call[w->n++ % TOP_CALLS] = (struct top_call){.start = t, .end = -1, .kernels = kernels};
}
static void call_ends(struct top_worker *w, double t) {
  if (w->n && w->call[(w->n - 1) % TOP_CALLS].end < 0) w->call[(w->n - 1) % TOP_CALLS].end = t;
}

void top_view_event(struct top_view *v, const char *kind, const char *data, double now_ms) {
  json_t *e = json_loads(data, 0, NULL);
  if (!e) return;
  if (strcmp(kind, "snapshot") == 0) {
    /* the stream begins anew: of another run, or after a loss */
    restart(v);
    top_view_status(v, e, now_ms);
    return;
  }
  if (strcmp(kind, "lost") == 0) {
    const double n = num(e, "oldest") - num(e, "after") - 1;
    if (n > 0) v->lost += (uint64_t)n;
  } else if (strcmp(kind, "timeline") == 0) {
    const char *name = str(e, "event");
    const int worker = whole(e, "worker");
    const double t = num(e, "t_us") / 1000;
    v->last_seq = (uint64_t)num(e, "seq");
    if (!v->has_offset || t - now_ms > v->offset) v->offset = t - now_ms;
    v->has_offset = true;
    struct top_worker *w = worker >= 0 && worker < TOP_WORKERS ? &v->worker[worker] : NULL;
    if (w && strcmp(name, "GPU_START") == 0) call_begins(w, t, false);
    else if (w && strcmp(name, "KERNEL_START") == 0) call_begins(w, t, true);
    else if (w && strcmp(name, "KERNEL_END") == 0) call_ends(w, t);
    else if (w && strcmp(name, "GPU_END") == 0 && strstr(str(e, "details"), ",err=")) call_ends(w, t);
    if (strcmp(name, "JOB_FAIL") == 0 || strcmp(name, "PART_FAIL") == 0 || strcmp(name, "PART_RETRY") == 0 || strcmp(name, "GPU_QUARANTINE") == 0) {
      const char *err = strstr(str(e, "details"), "err=");
      (void)snprintf(v->problem, sizeof v->problem, "%s %.60s %.60s", name, str(e, "job"), err ? err + 4 : "");
    }
  }
  json_decref(e);
}

/* ---- text ---- */

struct page {
  struct top_line *line;
  unsigned width, height, at;
};

/* Names of jobs come from outside: nothing but printable ASCII reaches a terminal; a character of more bytes is one '?'. */
static void clean(char *s) {
  char *to = s;
  for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
    if (*p >= 0x20 && *p < 0x7f) *to++ = (char)*p;
    else if (*p < 0x80 || *p >= 0xc0) *to++ = '?';
  }
  *to = 0;
}

static void put(struct page *g, enum top_look look, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put(struct page *g, enum top_look look, const char *fmt, ...) {
  if (g->at >= g->height) return;
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  clean(text);
  struct top_line *l = &g->line[g->at++];
  l->look = look;
  (void)snprintf(l->text, sizeof l->text, "%-*.*s", (int)g->width, (int)g->width, text);
}

/* A name cut to n columns, "..." telling so; of bytes, after clean(). */
static void name_cut(char *out, size_t size, const char *name, unsigned n) {
  char copy[256];
  (void)snprintf(copy, sizeof copy, "%s", name);
  clean(copy);
  const size_t len = strlen(copy);
  if (len <= n || n < 5) (void)snprintf(out, size, "%-*.*s", (int)n, (int)n, copy);
  else (void)snprintf(out, size, "%.*s..%s", (int)(n - 2 - n / 3), copy, copy + len - n / 3); /* ends of ids tell them apart */
}

static void age_text(char *out, size_t n, double s) {
  if (s < 100) (void)snprintf(out, n, "%.1fs", s);
  else if (s < 6000) (void)snprintf(out, n, "%dm%02ds", (int)s / 60, (int)s % 60);
  else if (s < 360000) (void)snprintf(out, n, "%dh%02dm", (int)s / 3600, (int)s / 60 % 60);
  else (void)snprintf(out, n, "%dd%02dh", (int)(s / 86400), (int)(s / 3600) % 24);
}

static double gib(double bytes) { return bytes / (1 << 30); }

struct counts {
  size_t running, queued, ended;
};
static struct counts count_jobs(const json_t *status) {
  struct counts c = {0};
  size_t i;
  json_t *p;
  json_array_foreach(json_object_get(status, "pipelines"), i, p) {
    if (!json_is_null(json_object_get(p, "ended_secs_ago"))) c.ended++;
    else if (strcasecmp(str(p, "state"), "QUEUED") == 0) c.queued++;
    else c.running++;
  }
  return c;
}

/* Share of the last ms in which some worker of the device ran kernels: 0 .. 1, < 0 unknown. */
static double busy_share(const struct top_view *v, const json_t *status, int gpu, double now_ms, double ms) {
  if (!v->has_offset || !status) return -1;
  const double to = now_ms + v->offset, from = to - ms;
  double sum = 0;
  size_t i;
  json_t *w;
  /* kernels of a device never overlap */
  json_array_foreach(json_object_get(status, "gpu_workers"), i, w) {
    const int id = whole(w, "worker_id");
    if (id < 0 || id >= TOP_WORKERS || (gpu >= 0 && whole(w, "gpu_ordinal") != gpu)) continue;
    const struct top_worker *x = &v->worker[id];
    for (uint64_t k = x->n; k-- > 0 && x->n - k <= TOP_CALLS;) {
      const struct top_call *c = &x->call[k % TOP_CALLS];
      if (!c->kernels) continue;
      const double a = fmax(c->start, from), b = c->end < 0 ? to : fmin(c->end, to);
      if (b > a) sum += b - a;
      else if (c->end >= 0 && c->end < from) break;
    }
  }
  const size_t n = gpu >= 0 ? 1 : json_array_size(json_object_get(status, "gpus"));
  return n ? sum / ms / (double)n : -1;
}

/* '#' kernels, '-' the host's part before them, '.' idle; a character stands for column_ms. */
static void strip(char *out, unsigned n, const struct top_view *v, int id, double now_ms) {
  memset(out, ' ', n);
  out[n] = 0;
  if (!v->has_offset || id < 0 || id >= TOP_WORKERS) return;
  const struct top_worker *w = &v->worker[id];
  const double now = now_ms + v->offset, last = floor(now / v->column_ms);
  double busy[TOP_COLUMNS] = {0}, host[TOP_COLUMNS] = {0};
  for (uint64_t k = w->n; k-- > 0 && w->n - k <= TOP_CALLS;) {
    const struct top_call *c = &w->call[k % TOP_CALLS];
    const double end = c->end < 0 ? now : c->end;
    if (end < (last - n) * v->column_ms) break;
    for (unsigned i = 0; i < n; i++) {
      const double a = (last - n + 1 + i) * v->column_ms, b = a + v->column_ms;
      const double part = fmin(end, b) - fmax(c->start, a);
      if (part > 0) (c->kernels ? busy : host)[i] += part;
    }
  }
  for (unsigned i = 0; i < n; i++) {
    const double b = busy[i] / v->column_ms, h = host[i] / v->column_ms;
    out[i] = b > 0.5 ? '#' : b > 0.05 ? '+' : h > 0.2 ? '-' : '.';
  }
}

static int by_order_rank(const json_t *p) {
  static const char *const states[] = {"QUEUED", "PREPARING", "RUNNING", "ASSEMBLED", "CHECKING", "COMPLETED", "FAILED", "CANCELLED"};
  for (int i = 0; i < 8; i++)
    if (strcasecmp(str(p, "state"), states[i]) == 0) return i;
  return 8;
}
static bool ended(const json_t *p) { return json_is_number(json_object_get(p, "ended_secs_ago")); }

static int cmp_oldest(const void *a, const void *b) {
  const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
  if (ended(x) != ended(y)) return ended(x) - ended(y);
  return (num(x, "age_secs") < num(y, "age_secs")) - (num(x, "age_secs") > num(y, "age_secs"));
}
static int cmp_newest(const void *a, const void *b) {
  const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
  return (num(x, "age_secs") > num(y, "age_secs")) - (num(x, "age_secs") < num(y, "age_secs"));
}
static int cmp_stage(const void *a, const void *b) {
  const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
  const int r = by_order_rank(y) - by_order_rank(x);
  return r ? r : cmp_oldest(a, b);
}

/* "synth 3 gpu 1", or the state. */
static void stage_text(char *out, size_t n, const json_t *p) {
  int synth = 0, ready = 0, gpu = 0;
  size_t i;
  json_t *q;
  json_array_foreach(json_object_get(p, "partitions"), i, q) {
    const char *s = str(q, "state");
    synth += strcmp(s, "synthesizing") == 0;
    ready += strcmp(s, "synth_done") == 0;
    gpu += strcmp(s, "gpu") == 0;
  }
  size_t at = 0;
  out[0] = 0;
  if (strcasecmp(str(p, "state"), "RUNNING") == 0) {
    if (synth) at += (size_t)snprintf(out, n, "synth %d", synth);
    if (ready && at < n) at += (size_t)snprintf(out + at, n - at, "%sready %d", at ? " " : "", ready);
    if (gpu && at < n) at += (size_t)snprintf(out + at, n - at, "%sgpu %d", at ? " " : "", gpu);
  }
  if (!at) {
    (void)snprintf(out, n, "%s", str(p, "state"));
    for (char *c = out; *c; c++)
      if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
  }
}

static void put_memory(struct page *g, const json_t *m) {
  static const char *const classes[] = {"srs", "pce", "inputs", "abc", "aux", "prover", "pool_idle", "scratch"};
  char text[512], bar[32];
  const double total = num(m, "total_bytes"), used = num(m, "used_bytes");
  const int cells = 10, full = total > 0 ? (int)lround(fmin(1, used / total) * cells) : 0;
  for (int i = 0; i < cells; i++) bar[i] = i < full ? '=' : ' ';
  bar[cells] = 0;
  int at = snprintf(text, sizeof text, "memory  [%s] %.4g of %.4g GiB:", bar, gib(used), gib(total));
  for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
    const double b = num(json_object_get(m, "by_class"), classes[i]);
    if (b > 0.002 * used && at < (int)sizeof text) at += snprintf(text + at, sizeof text - (size_t)at, " %s %.3g", classes[i], gib(b));
  }
  put(g, used > 0.95 * total ? TOP_BAD : TOP_PLAIN, "%s", text);
}

static void put_params(struct page *g, const json_t *status) {
  char text[512];
  int at = snprintf(text, sizeof text, "params ");
  size_t i;
  json_t *s;
  json_t *list = json_object_get(json_object_get(status, "allocations"), "srs");
  json_array_foreach(list, i, s) {
    if (at < (int)sizeof text)
      at += snprintf(text + at, sizeof text - (size_t)at, " %s %.1f%s", str(s, "circuit_id"), gib(num(s, "bytes")),
                     json_is_true(json_object_get(s, "loading")) ? " (loading)" : num(s, "refs") > 0 ? "*" : "");
  }
  if (!json_array_size(list) && at < (int)sizeof text) (void)snprintf(text + at, sizeof text - (size_t)at, " none in memory");
  put(g, TOP_PLAIN, "%s", text);
}

static void put_workers(struct page *g, const struct top_view *v, double now_ms) {
  const json_t *list = json_object_get(v->status, "gpu_workers");
  const unsigned room = g->height > 14 ? (g->height - 8) / 2 : 1;
  const unsigned cells = g->width > 60 ? g->width - 42 : g->width > 34 ? g->width - 26 : 8;
  char bar[TOP_COLUMNS + 1], name[64], head[64];
  (void)snprintf(head, sizeof head, "%u s, %g s a sign", (unsigned)(cells * v->column_ms / 1000), v->column_ms / 1000);
  put(g, TOP_HEAD, "WORKER GPU %-*s %s", g->width > 60 ? 29 : 13, "JOB/PARTITION", head);
  size_t i;
  json_t *w;
  json_array_foreach(list, i, w) {
    if (i >= room) {
      put(g, TOP_DIM, "  %zu more workers", json_array_size(list) - i);
      break;
    }
    char what[96] = "-";
    if (*str(w, "current_job")) (void)snprintf(what, sizeof what, "%.80s/%d", str(w, "current_job"), whole(w, "current_partition"));
    name_cut(name, sizeof name, what, g->width > 60 ? 29 : 13);
    strip(bar, cells < TOP_COLUMNS ? cells : TOP_COLUMNS, v, whole(w, "worker_id"), now_ms);
    put(g, TOP_PLAIN, "%6d %3d %s %s", whole(w, "worker_id"), whole(w, "gpu_ordinal"), name, bar);
  }
}

static void put_jobs(struct page *g, struct top_view *v, double age_s) {
  static const char *const orders[TOP_N_ORDERS] = {"oldest", "newest", "by stage"};
  int (*const cmp[TOP_N_ORDERS])(const void *, const void *) = {cmp_oldest, cmp_newest, cmp_stage};
  json_t *list = json_object_get(v->status, "pipelines");
  const size_t n = json_array_size(list);
  const unsigned foot = 1;
  if (g->at + 2 + foot > g->height) return;
  const size_t rows = g->height - g->at - 1 - foot;
  if (v->scroll + rows > n) v->scroll = n > rows ? n - rows : 0;
  const unsigned wide = g->width > 60 ? g->width - 51 : g->width > 40 ? g->width - 32 : 8;
  char title[96];
  (void)snprintf(title, sizeof title, "JOB %zu-%zu of %zu, %s", n ? v->scroll + 1 : 0, v->scroll + (n - v->scroll < rows ? n - v->scroll : rows), n,
                 orders[v->order]);
  if (g->width > 60) put(g, TOP_HEAD, "%-*.*s %-11s %-20s %7s %8s", (int)wide, (int)wide, title, "KIND", "STAGE", "PARTS", "AGE");
  else put(g, TOP_HEAD, "%-*.*s %-14s %6s %8s", (int)wide, (int)wide, title, "STAGE", "PARTS", "AGE");
  json_t **p = cuzk_malloc_array(n + 1, sizeof *p);
  if (!p) return;
  for (size_t i = 0; i < n; i++) p[i] = json_array_get(list, i);
  qsort(p, n, sizeof *p, cmp[v->order]);
  for (size_t i = v->scroll; i < n && i < v->scroll + rows; i++) {
    char name[TOP_COLUMNS + 64], stage[64], parts[24], age[24];
    name_cut(name, sizeof name, str(p[i], "job_id"), wide);
    stage_text(stage, sizeof stage, p[i]);
    (void)snprintf(parts, sizeof parts, "%d/%d", whole(p[i], "partitions_done"), whole(p[i], "total_partitions"));
    age_text(age, sizeof age, num(p[i], "age_secs") + (ended(p[i]) ? 0 : age_s));
    const enum top_look look = *str(p[i], "error") ? TOP_BAD : ended(p[i]) ? TOP_DIM : by_order_rank(p[i]) ? TOP_PLAIN : TOP_DIM;
    if (g->width > 60) put(g, look, "%s %-11.11s %-20.20s %7s %8s", name, str(p[i], "proof_kind"), stage, parts, age);
    else put(g, look, "%s %-14.14s %6s %8s", name, stage, parts, age);
  }
  cuzk_free(p);
}

static void put_help(struct page *g) {
  static const char *const text[] = {"",
                                     "  q            leave",
                                     "  space        stop and go on",
                                     "  s            order of the jobs: oldest, newest, by stage",
                                     "  up, down     scroll the jobs; page up, page down, home, end",
                                     "  + -          finer, coarser strips of the workers",
                                     "  h ?          this help",
                                     "",
                                     "  strips: # on the device, + partly, - host work before it, . idle",
                                     "  params: * in use"};
  for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) put(g, TOP_PLAIN, "%s", text[i]);
}

void top_draw(struct top_line *line, struct top_view *v, unsigned width, unsigned height, double now_ms) {
  struct page g = {line, width < TOP_COLUMNS ? width : TOP_COLUMNS, height, 0};
  const json_t *s = v->status;
  const double since = s ? (now_ms - v->status_at) / 1000 : 0;
  char up[24] = "?", busy[64] = "devices ?";
  if (s) age_text(up, sizeof up, num(s, "uptime_secs") + since);
  put(&g, TOP_TITLE, "cuzk %.20s  %.60s  up %s  %s%s%s", s ? str(s, "version") : "", v->address, up, v->connected ? "live" : "NO CONNECTION",
      s && json_is_true(json_object_get(s, "draining")) ? "  draining" : "", v->paused ? "  stopped" : "");
  if (!s) {
    put(&g, TOP_BAD, "nothing known yet");
  } else {
    const struct counts c = count_jobs(s);
    const double share = busy_share(v, s, -1, now_ms, fmin(10000, fmax(100, 1000 * (num(s, "uptime_secs") + since))));
    if (share >= 0) (void)snprintf(busy, sizeof busy, "devices %.1f %% busy (10 s)", 100 * fmin(1, share));
    const json_t *k = json_object_get(s, "counters"), *synth = json_object_get(s, "synthesis");
    put(&g, TOP_PLAIN, "%s  jobs %zu running, %zu queued  done %.0f, failed %.0f", busy, c.running, c.queued, num(k, "total_completed"),
        num(k, "total_failed"));
    const size_t waiters = json_array_size(json_object_get(s, "budget_waiters"));
    put(&g, TOP_PLAIN, "synthesis %d of %d  waiting for a device %d, for memory %zu%s  events lost %llu", whole(synth, "active"),
        whole(synth, "max_concurrent"), whole(s, "gpu_queue_depth"), waiters, waiters >= 16 ? " or more" : "", (unsigned long long)v->lost);
    put_memory(&g, json_object_get(s, "memory"));
    const bool low = height < 16; /* the jobs come first */
    if (!low) put_params(&g, s);
    const json_t *journal = json_object_get(s, "journal");
    if (json_is_true(json_object_get(journal, "enabled")) && !json_is_true(json_object_get(journal, "healthy")))
      put(&g, TOP_BAD, "the journal cannot be written");
    else if (v->problem[0] && !low) put(&g, TOP_BAD, "last problem: %s", v->problem);
    if (v->help) put_help(&g);
    else {
      put_workers(&g, v, now_ms);
      put_jobs(&g, v, since);
    }
  }
  while (g.at + 1 < height) put(&g, TOP_PLAIN, "%s", "");
  if (g.at < height) put(&g, TOP_TITLE, "q leave  space stop  s order  arrows scroll  +- strips  h help");
}

void top_summary(char *out, size_t n, const struct top_view *v) {
  const json_t *s = v->status;
  if (!s) {
    (void)snprintf(out, n, "%s: nothing known", v->address);
    return;
  }
  const struct counts c = count_jobs(s);
  const json_t *k = json_object_get(s, "counters"), *m = json_object_get(s, "memory");
  size_t i, proving = 0;
  json_t *w;
  json_array_foreach(json_object_get(s, "gpu_workers"), i, w) proving += strcmp(str(w, "state"), "proving") == 0;
  (void)snprintf(out, n, "up %.0f s, jobs %zu running %zu queued, synthesis %d/%d, workers %zu/%zu, waiting %d, memory %.1f/%.1f GiB, done %.0f, failed %.0f%s",
                 num(s, "uptime_secs"), c.running, c.queued, whole(json_object_get(s, "synthesis"), "active"),
                 whole(json_object_get(s, "synthesis"), "max_concurrent"), proving, i, whole(s, "gpu_queue_depth"), gib(num(m, "used_bytes")),
                 gib(num(m, "total_bytes")), num(k, "total_completed"), num(k, "total_failed"),
                 json_is_true(json_object_get(s, "draining")) ? ", draining" : "");
}
