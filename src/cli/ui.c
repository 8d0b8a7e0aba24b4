/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Clocks, progress on standard error, results on standard output. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"

static atomic_bool interrupted;

const atomic_bool *cli_stop(void) { return &interrupted; }

static void on_signal(int sig) {
  /* the second one ends the program at once */
  (void)signal(sig, SIG_DFL);
  atomic_store(&interrupted, true);
}

/* Written before the handler is set, so that the handler only has to write it out. */
static char bus_message[320];

static void on_bus(int sig, siginfo_t *info, void *context) {
  static _Atomic bool told;
  (void)context;
  if (info->si_code != BUS_ADRERR) { /* not a mapping without its file: returning repeats the fault, which then ends the program */
    (void)signal(sig, SIG_DFL);
    return;
  }
  /* every thread that meets the hole comes here; the first one speaks */
  if (atomic_exchange(&told, true))
    for (;;) (void)pause();
  for (const char *p = bus_message, *end = p + strlen(p); p < end;) {
    const ssize_t n = write(STDERR_FILENO, p, (size_t)(end - p));
    if (n <= 0) break;
    p += n;
  }
  _exit(cuzk_status_exit_code(CUZK_E_IO));
}

static void watch_mappings(bool json, bool tty) {
  const enum cuzk_status st = CUZK_E_IO;
  const char *const detail = "an input file was cut short, or cannot be read, while it is used";
  struct sigaction sa;
  if (json)
    (void)snprintf(bus_message, sizeof bus_message, "{\"name\":\"%s\",\"code\":%d,\"text\":\"%s\",\"detail\":\"%s\"}\n",
                   cuzk_status_name(st), (int)st, cuzk_status_text(st), detail);
  else
    (void)snprintf(bus_message, sizeof bus_message, "%scuzk: %s (%s)\n", tty ? "\r\033[K" : "", detail, cuzk_status_name(st));
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = on_bus;
  sa.sa_flags = SA_SIGINFO;
  (void)sigaction(SIGBUS, &sa, NULL);
}

uint64_t cli_now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double cli_seconds_since(uint64_t ns) { return (double)(cli_now_ns() - ns) * 1e-9; }

double cli_cpu_seconds(void) {
  struct rusage u;
  if (getrusage(RUSAGE_SELF, &u) != 0) return 0;
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

uint64_t cli_anon_bytes(void) {
  FILE *f = fopen("/proc/self/status", "re");
  if (!f) return 0;
  char line[256];
  unsigned long long kib = 0;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) break;
  (void)fclose(f);
  return (uint64_t)kib * 1024;
}

/* ---- progress ---- */

static void show_bar(struct cli_meter *m, uint64_t done, uint64_t total, const char *unit, uint64_t now) {
  const double t = (double)(now - m->stage_ns) * 1e-9, part = total ? (double)done / (double)total : 1;
  char bar[25], tail[96] = "";
  const unsigned filled = (unsigned)(24 * part);
  for (unsigned i = 0; i < 24; i++) bar[i] = i < filled ? '#' : '.';
  bar[24] = 0;
  if (done > 0 && done < total && t > 0.2) {
    const double rate = (double)done / t, left = (double)(total - done) / rate;
    const char *scale = rate >= 1e9 ? "G " : rate >= 1e6 ? "M " : rate >= 1e3 ? "k " : "";
    const double shown = rate >= 1e9 ? rate * 1e-9 : rate >= 1e6 ? rate * 1e-6 : rate >= 1e3 ? rate * 1e-3 : rate;
    (void)snprintf(tail, sizeof tail, "  %.3g %s%s/s  %s left", shown, scale, unit, cli_text_seconds(left));
  }
  if (m->tty)
    fprintf(stderr, "\r\033[K%-16s [%s] %3.0f%%%s", m->stage, bar, 100 * part, tail);
  else
    fprintf(stderr, "%-16s %3.0f%%%s\n", m->stage, 100 * part, tail);
  (void)fflush(stderr);
  m->line_open = m->tty;
}

static bool report(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  struct cli *c = user;
  struct cli_meter *m = &c->meter;
  const uint64_t now = cli_now_ns();
  if (!m->stage || strcmp(m->stage, stage)) {
    cli_meter_end(c);
    m->stage = stage;
    m->stage_ns = now;
    m->last_ns = 0;
  }
  /* a terminal is redrawn ten times a second, a file gets a line every two */
  if (now - m->last_ns >= (m->tty || !m->shown ? 100000000u : 2000000000u)) {
    const uint64_t anon = cli_anon_bytes();
    if (anon > m->peak_anon_bytes) m->peak_anon_bytes = anon;
    if (m->shown) show_bar(m, done, total < done ? done : total, unit, now);
    m->last_ns = now;
  }
  return !atomic_load(&interrupted);
}

void cli_meter_start(struct cli *c, bool shown, bool tty) {
  c->meter = (struct cli_meter){.shown = shown, .tty = tty};
  c->progress = (struct cuzk_progress){.report = report, .user = c};
  struct sigaction sa;
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = on_signal;
  static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    struct sigaction before;
    /* what nohup, or a shell for its background jobs, has switched off stays off */
    if (sigaction(ends[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN) (void)sigaction(ends[i], &sa, NULL);
  }
  /* a reader that went away, or a file over its size limit, is reported by the write, not by a signal */
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  watch_mappings(c->json, tty);
}

void cli_meter_end(struct cli *c) {
  struct cli_meter *m = &c->meter;
  if (!m->stage) return;
  const double t = cli_seconds_since(m->stage_ns);
  const uint64_t anon = cli_anon_bytes();
  if (anon > m->peak_anon_bytes) m->peak_anon_bytes = anon;
  unsigned i = 0;
  while (i < m->n_done && strcmp(m->done[i].name, m->stage)) i++;
  if (i < CLI_MAX_STAGES) {
    if (i == m->n_done) {
      m->done[i].name = m->stage;
      m->done[i].seconds = 0;
      m->n_done++;
    }
    m->done[i].seconds += t;
  }
  if (m->shown) fprintf(stderr, "%s%-16s %s\n", m->line_open ? "\r\033[K" : "", m->stage, cli_text_seconds(t));
  m->line_open = false;
  m->stage = NULL;
}

json_t *cli_stage_times(const struct cli *c) {
  json_t *o = json_object();
  for (unsigned i = 0; o && i < c->meter.n_done; i++)
    (void)json_object_set_new(o, c->meter.done[i].name, json_real(c->meter.done[i].seconds));
  return o;
}

/* ---- output ---- */

void cli_note(struct cli *c, const char *fmt, ...) {
  if (c->quiet || c->json) return;
  va_list ap;
  va_start(ap, fmt);
  (void)vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
}

enum cuzk_status cli_flush(struct cli *c) {
  errno = 0;
  if (fflush(stdout) != 0 || ferror(stdout)) return cuzk_fail_errno(&c->detail, errno ? errno : EIO, "standard output");
  return CUZK_OK;
}

enum cuzk_status cli_print_json(struct cli *c, json_t *value) {
  if (!value || cli_json_starved()) {
    json_decref(value);
    return cuzk_fail(&c->detail, CUZK_E_NOMEM, "the result does not fit the memory");
  }
  errno = 0;
  const int rc = json_dumpf(value, stdout, JSON_SORT_KEYS | JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  const int err = errno;
  json_decref(value);
  if (rc != 0) return cuzk_fail_errno(&c->detail, err ? err : EIO, "standard output");
  printf("\n");
  return cli_flush(c);
}

void cli_print_error(bool json, enum cuzk_status s, const char *detail) {
  if (json) {
    /* a detail cut in the middle of a letter is not UTF-8: then it is left out rather than the whole object lost */
    json_t *o = json_pack("{s:s, s:i, s:s, s:s}", "name", cuzk_status_name(s), "code", (int)s, "text", cuzk_status_text(s),
                          "detail", detail);
    if (!o)
      o = json_pack("{s:s, s:i, s:s, s:s}", "name", cuzk_status_name(s), "code", (int)s, "text", cuzk_status_text(s), "detail",
                    "");
    if (o && json_dumpf(o, stderr, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0) fputc('\n', stderr);
    json_decref(o);
    return;
  }
  if (detail[0])
    fprintf(stderr, "cuzk: %s (%s)\n", detail, cuzk_status_name(s));
  else
    fprintf(stderr, "cuzk: %s (%s)\n", cuzk_status_text(s), cuzk_status_name(s));
  if (s == CUZK_E_USAGE) fprintf(stderr, "try 'cuzk --help'\n");
}

static char *ring_text(void) {
  static char ring[8][32];
  static unsigned next;
  return ring[next++ % 8];
}

const char *cli_text_seconds(double s) {
  char *t = ring_text();
  if (s >= 600)
    (void)snprintf(t, 32, "%.0f min", s / 60);
  else if (s >= 99.5)
    (void)snprintf(t, 32, "%.0f s", s);
  else if (s >= 1)
    (void)snprintf(t, 32, "%.3g s", s);
  else if (s >= 1e-3)
    (void)snprintf(t, 32, "%.3g ms", s * 1e3);
  else if (s >= 1e-6)
    (void)snprintf(t, 32, "%.4g us", s * 1e6);
  else
    (void)snprintf(t, 32, "%.4g ns", s * 1e9);
  return t;
}

const char *cli_text_bytes(uint64_t n) {
  char *t = ring_text();
  if (n >= UINT64_C(1) << 30)
    (void)snprintf(t, 32, "%.2f GiB", (double)n / (1 << 30));
  else if (n >= UINT64_C(1) << 20)
    (void)snprintf(t, 32, "%.1f MiB", (double)n / (1 << 20));
  else
    (void)snprintf(t, 32, "%llu bytes", (unsigned long long)n);
  return t;
}
