/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk timeline: logs read, analysed, printed and drawn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/cli.h"
#include "timeline/print.h"

/* ---- options ---- */
static enum cuzk_status read_options(struct cli *c, struct cuzk_tl_options *o) {
  static const char *const basis[] = {"auto", "event", "measured", "kernel", NULL}, *const classify[] = {"auto", "causal", "threshold", NULL};
  enum cuzk_status st = CUZK_OK;
  unsigned which = 0;
  uint64_t n = 0;
  cuzk_tl_defaults(o);
  CUZK_TRY(cli_choice(c, OPT_BASIS, basis, &which));
  o->basis = (enum cuzk_tl_basis)which;
  CUZK_TRY(cli_choice(c, OPT_CLASSIFY, classify, &which));
  o->classify = (enum cuzk_tl_classify)which;
  CUZK_TRY(cli_number(c, OPT_OVERHEAD_MAX, 0, UINT64_MAX / 2, o->overhead_max, &o->overhead_max));
  CUZK_TRY(cli_number(c, OPT_COLD_MIN, 0, UINT64_MAX / 2, o->cold_min, &o->cold_min));
  CUZK_TRY(cli_number(c, OPT_WORKERS_PER_GPU, 1, 4096, 0, &n));
  o->workers_per_gpu = (unsigned)n;
  CUZK_TRY(cli_number(c, OPT_FROM, 0, UINT64_MAX / 2, 0, &o->from));
  CUZK_TRY(cli_number(c, OPT_TO, 0, UINT64_MAX / 2, CUZK_TL_NONE, &o->to));
  if (o->to <= o->from) st = cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--to' must be more than '--from'");
out:
  return st;
}

/* ---- runs of a file ---- */
enum { EPOCH_LAST = 0 };
struct runs {
  bool all;
  unsigned number; /* EPOCH_LAST, or the one that is wanted */
  unsigned seen;
  struct cuzk_tl_run *run;
  size_t n, cap;
};
static void runs_clear(struct runs *r) {
  for (size_t i = 0; i < r->n; i++) cuzk_tl_run_clear(&r->run[i]);
  cuzk_free(r->run);
  r->run = NULL;
  r->n = r->cap = 0;
}
static enum cuzk_status keep(void *user, struct cuzk_tl_run *run) {
  struct runs *r = user;
  r->seen = run->number;
  if (!r->all && r->number != EPOCH_LAST && r->number != run->number) return CUZK_OK;
  if (!r->all && r->n) cuzk_tl_run_clear(&r->run[--r->n]);
  if (r->n == r->cap) {
    const size_t cap = r->cap ? 2 * r->cap : 1;
    struct cuzk_tl_run *p = cuzk_realloc_array(r->run, cap, sizeof *p);
    if (!p) return CUZK_E_NOMEM;
    r->run = p;
    r->cap = cap;
  }
  r->run[r->n++] = *run;
  memset(run, 0, sizeof *run);
  return CUZK_OK;
}
static enum cuzk_status which_runs(struct cli *c, struct runs *r) {
  const char *s = c->opt[OPT_EPOCH];
  uint64_t n = 0;
  if (!s || !strcmp(s, "last")) return CUZK_OK;
  r->all = !strcmp(s, "all");
  if (r->all) return CUZK_OK;
  if (cli_number(c, OPT_EPOCH, 1, 1000000000, 0, &n) != CUZK_OK)
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--epoch' takes last, all or a number from 1, not '%s'", s);
  r->number = (unsigned)n;
  return CUZK_OK;
}

/* ---- pictures ---- */
static enum cuzk_status write_picture(struct cli *c, enum cli_option o, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  if (!f) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "%s", c->opt[o]);
  enum cuzk_status st = o == OPT_SVG ? cuzk_tl_print_svg(f, r, run) : cuzk_tl_print_trace(f, r, run);
  const bool lost = ferror(f) != 0;
  if (fclose(f) || lost) st = CUZK_E_NOMEM;
  if (st != CUZK_OK) (void)cuzk_fail(&c->detail, st, "%s: no memory to draw it", c->opt[o]);
  else st = cuzk_file_write(c->opt[o], text, n, &c->detail);
  free(text);
  if (st == CUZK_OK) cli_note(c, "%s: written, %zu bytes", c->opt[o], n);
  return st;
}

static unsigned terminal_width(void) {
  struct winsize w;
  if (isatty(STDOUT_FILENO) == 1 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 20) return w.ws_col;
  return 80;
}

/* ---- timeline FILE ---- */
enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

static enum cuzk_status show(struct cli *c, const struct cuzk_tl_run *run, const struct cuzk_tl_options *o, unsigned format, unsigned top, bool first, bool *shown) {
  enum cuzk_status st = CUZK_OK;
  struct cuzk_tl_report r;
  const struct cuzk_tl_print p = {.top = top, .legacy = c->opt[OPT_LEGACY] != NULL};
  st = cuzk_tl_analyse(&r, run, o, &c->detail);
  if (st == CUZK_E_NOENT) {
    cli_note(c, "%s: %s (%llu lines, %llu malformed)", c->arg[0], c->detail.text, (unsigned long long)run->lines, (unsigned long long)run->malformed);
    c->detail.text[0] = 0;
    cuzk_tl_report_clear(&r);
    return CUZK_OK;
  }
  if (st != CUZK_OK) return st;
  *shown = true;
  if (format == FORMAT_JSON) {
    CUZK_TRY(cuzk_tl_print_json(stdout, &r, run, &p));
  } else if (format == FORMAT_CSV) {
    cuzk_tl_print_csv(stdout, &r, run, first);
  } else {
    if (!first) printf("\n");
    CUZK_TRY(cuzk_tl_print_text(stdout, &r, run, &p));
    if (c->opt[OPT_WATERFALL]) {
      printf("\n");
      CUZK_TRY(cuzk_tl_print_waterfall(stdout, &r, run, terminal_width()));
    }
  }
  if (c->opt[OPT_SVG]) CUZK_TRY(write_picture(c, OPT_SVG, &r, run));
  if (c->opt[OPT_TRACE]) CUZK_TRY(write_picture(c, OPT_TRACE, &r, run));
out:
  if (st == CUZK_E_NOMEM && !c->detail.text[0]) (void)cuzk_fail(&c->detail, st, "%s: no memory to print its report", c->arg[0]);
  cuzk_tl_report_clear(&r);
  return st;
}

enum cuzk_status cli_timeline(struct cli *c) {
  static const char *const formats[] = {"text", "json", "csv", NULL};
  enum cuzk_status st = CUZK_OK;
  struct cuzk_tl_options o;
  struct runs runs = {0};
  unsigned format = FORMAT_TEXT;
  uint64_t top = 10, malformed = 0;
  bool shown = false;
  CUZK_TRY(cli_choice(c, OPT_FORMAT, formats, &format));
  if (c->json && c->opt[OPT_FORMAT] && format != FORMAT_JSON) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "'--json' and '--format %s' contradict each other", c->opt[OPT_FORMAT]);
    goto out;
  }
  if (c->json) format = FORMAT_JSON;
  CUZK_TRY(read_options(c, &o));
  CUZK_TRY(which_runs(c, &runs));
  CUZK_TRY(cli_number(c, OPT_TOP, 0, 1000000000, 10, &top));
  if (runs.all && (c->opt[OPT_SVG] || c->opt[OPT_TRACE])) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "a picture shows one run: '--epoch all' does not go with '--svg' and '--trace'");
    goto out;
  }
  CUZK_TRY(cuzk_tl_read_file(c->arg[0], keep, &runs, &c->progress, &c->detail));
  cli_meter_end(c);
  for (size_t i = 0; i < runs.n; i++) malformed += runs.run[i].malformed;
  if (!runs.n && runs.number) {
    st = cuzk_fail(&c->detail, CUZK_E_NOENT, "%s: holds %u runs, not a %uth", c->arg[0], runs.seen, runs.number);
    goto out;
  }
  for (size_t i = 0; i < runs.n; i++) CUZK_TRY(show(c, &runs.run[i], &o, format, (unsigned)top, !shown, &shown));
  if (!shown) {
    cli_note(c, "%s: no device call is complete", c->arg[0]);
    c->no = true;
  } else if (c->opt[OPT_STRICT] && malformed) {
    cli_note(c, "%s: %llu malformed lines", c->arg[0], (unsigned long long)malformed);
    c->exit_code = 2;
  }
out:
  runs_clear(&runs);
  return st;
}

/* ---- timeline compare A B ---- */
enum cuzk_status cli_timeline_compare(struct cli *c) {
  enum cuzk_status st = CUZK_OK;
  struct cuzk_tl_options o;
  struct runs runs[2] = {{0}, {0}};
  struct cuzk_tl_report report[2];
  struct cuzk_tl_side side[2];
  memset(report, 0, sizeof report);
  CUZK_TRY(read_options(c, &o));
  for (unsigned i = 0; i < 2; i++) {
    CUZK_TRY(cuzk_tl_read_file(c->arg[i], keep, &runs[i], &c->progress, &c->detail));
    if (runs[i].n) st = cuzk_tl_analyse(&report[i], &runs[i].run[0], &o, &c->detail);
    if (!runs[i].n || st == CUZK_E_NOENT) {
      cli_meter_end(c);
      cli_note(c, "%s: no device call is complete", c->arg[i]);
      c->detail.text[0] = 0;
      c->no = true;
      st = CUZK_OK;
      goto out;
    }
    if (st != CUZK_OK) goto out;
    side[i] = (struct cuzk_tl_side){.name = c->arg[i], .report = &report[i], .run = &runs[i].run[0]};
  }
  cli_meter_end(c);
  if (c->json) cuzk_tl_compare_json(stdout, &side[0], &side[1]);
  else cuzk_tl_compare_text(stdout, &side[0], &side[1]);
out:
  for (unsigned i = 0; i < 2; i++) {
    cuzk_tl_report_clear(&report[i]);
    runs_clear(&runs[i]);
  }
  return st;
}
