/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The measuring loop and its report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "cli/bench.h"
#include "cuzk_version.h"

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(const struct bench_series *s) {
  static double t[BENCH_MAX_RUNS];
  if (s->n == 0) return 0;
  memcpy(t, s->t, s->n * sizeof t[0]);
  qsort(t, s->n, sizeof t[0], by_value);
  return s->n % 2 ? t[s->n / 2] : 0.5 * (t[s->n / 2 - 1] + t[s->n / 2]);
}

double bench_min(const struct bench_series *s) {
  double m = s->n ? s->t[0] : 0;
  for (unsigned i = 1; i < s->n; i++) m = s->t[i] < m ? s->t[i] : m;
  return m;
}

double bench_max(const struct bench_series *s) {
  double m = 0;
  for (unsigned i = 0; i < s->n; i++) m = s->t[i] > m ? s->t[i] : m;
  return m;
}

static void cpu_model(char *out, size_t n) {
  char line[256];
  (void)snprintf(out, n, "unknown");
  FILE *f = fopen("/proc/cpuinfo", "re");
  if (!f) return;
  while (fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    (void)snprintf(out, n, "%s", colon + 2);
    break;
  }
  (void)fclose(f);
}

static json_t *series_json(const struct bench_series *s) {
  const double median = bench_median(s), lo = bench_min(s), hi = bench_max(s);
  return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f}", "name", s->name, "runs", (int)s->n, "min_s", lo, "median_s", median, "max_s",
                   hi, "spread", median > 0 ? (hi - lo) / median : 0);
}

static json_t *report_json(const struct bench *b) {
  char model[128], date[32];
  const time_t now = time(NULL);
  struct tm tm;
  json_t *results = json_array();
  cpu_model(model, sizeof model);
  (void)gmtime_r(&now, &tm);
  (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
  for (unsigned i = 0; i < b->n_cases; i++) {
    json_t *r = series_json(&b->ours[i]);
    if (!r) continue;
    (void)json_object_set_new(r, "log2", json_integer(b->log2));
    (void)json_object_set_new(r, "n", json_integer((json_int_t)1 << b->log2));
    json_t *peers = json_array();
    for (unsigned p = 0; p < b->n_peers; p++) {
      const char *match = bench_peer_match(b->peers[p].name);
      if (!match || strcmp(match, b->ours[i].name)) continue;
      json_t *e = series_json(&b->peers[p]);
      if (e) (void)json_object_set_new(e, "ratio", json_real(bench_median(&b->ours[i]) / bench_median(&b->peers[p])));
      (void)json_array_append_new(peers, e);
    }
    if (json_array_size(peers))
      (void)json_object_set_new(r, "peers", peers);
    else
      json_decref(peers);
    (void)json_array_append_new(results, r);
  }
  json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:o}", "bench", b->title, "cpu", model, "cpu_features",
                        (int)cuzk_cpu_features(), "threads", (int)b->threads, "date", date, "version", CUZK_VERSION, "commit",
                        CUZK_COMMIT, "compiler", CUZK_COMPILER, "results", results);
  if (o && b->note[0]) (void)json_object_set_new(o, "scalars", json_string(b->note));
  return o;
}

static enum cuzk_status print_report(const struct bench *b) {
  json_t *o = report_json(b);
  if (b->c->json || !o) return cli_print_json(b->c, o);
  printf("%s, %u thread%s, %s, commit %s\n", json_string_value(json_object_get(o, "cpu")), b->threads, b->threads == 1 ? "" : "s",
         json_string_value(json_object_get(o, "date")), CUZK_COMMIT);
  if (b->note[0]) printf("scalars: %s\n", b->note);
  printf("%-24s %5s %5s %11s %11s %11s %7s\n", "name", "log2", "runs", "median", "min", "max", "spread");
  for (unsigned i = 0; i < b->n_cases; i++) {
    const struct bench_series *s = &b->ours[i];
    const double m = bench_median(s);
    printf("%-24s %5u %5u %11s %11s %11s %6.1f%%\n", s->name, b->log2, s->n, cli_text_seconds(m), cli_text_seconds(bench_min(s)),
           cli_text_seconds(bench_max(s)), m > 0 ? 100 * (bench_max(s) - bench_min(s)) / m : 0);
    for (unsigned p = 0; p < b->n_peers; p++) {
      const char *match = bench_peer_match(b->peers[p].name);
      if (!match || strcmp(match, s->name)) continue;
      const double pm = bench_median(&b->peers[p]);
      printf("  %-22s %5u %5u %11s %11s %11s %6.1f%%  ratio %.3f\n", b->peers[p].name, b->log2, b->peers[p].n,
             cli_text_seconds(pm), cli_text_seconds(bench_min(&b->peers[p])), cli_text_seconds(bench_max(&b->peers[p])),
             100 * (bench_max(&b->peers[p]) - bench_min(&b->peers[p])) / pm, m / pm);
    }
  }
  json_decref(o);
  return CUZK_OK;
}

enum cuzk_status bench_run(struct bench *b) {
  struct cli *c = b->c;
  enum cuzk_status st;
  double t;
  for (unsigned i = 0; i < b->n_cases; i++) {
    (void)snprintf(b->ours[i].name, sizeof b->ours[i].name, "%s", b->cases[i].name);
    b->ours[i].n = 0;
    if (b->runs > 1) CUZK_TRY(b->cases[i].run(b->cases[i].arg, &t, &c->detail));
  }
  for (unsigned r = 0; r < b->runs; r++) {
    for (unsigned i = 0; i < b->n_cases; i++) {
      if (!cuzk_progress(&c->progress, b->title, (uint64_t)r * b->n_cases + i, (uint64_t)b->runs * b->n_cases, "measurements"))
        return CUZK_E_CANCELLED;
      CUZK_TRY(b->cases[i].run(b->cases[i].arg, &t, &c->detail));
      b->ours[i].t[b->ours[i].n++] = t;
    }
    if (c->opt[OPT_PEER]) CUZK_TRY(bench_peer_round(b, 1));
  }
  cli_meter_end(c);
  st = print_report(b);
out:
  return st;
}
