/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk timeline simulate: a recorded run with other settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/cli.h"
#include "sim/sim.h"
#include "timeline/print.h"

struct pick {
  uint64_t number; /* 0: the last one */
  struct cuzk_tl_run run;
  bool have;
};

static enum cuzk_status pick_run(void *user, struct cuzk_tl_run *run) {
  struct pick *p = user;
  if (p->number && p->number != run->number) return CUZK_OK;
  cuzk_tl_run_clear(&p->run);
  p->run = *run;
  memset(run, 0, sizeof *run);
  p->have = true;
  return CUZK_OK;
}

static enum cuzk_status read_scale(struct cli *c, struct cuzk_sim_options *o) {
  for (unsigned i = 0; i < c->n_list; i++) {
    const char *word = c->list[i], *eq = strchr(word, '=');
    const size_t n = eq ? (size_t)(eq - word) : 0;
    char *end = NULL;
    const double v = eq ? strtod(eq + 1, &end) : -1;
    unsigned s = 0;
    while (s < CUZK_FAKE_STAGES && (strlen(cuzk_sim_stage_names[s]) != n || strncmp(word, cuzk_sim_stage_names[s], n) != 0)) s++;
    if (s == CUZK_FAKE_STAGES || !end || end == eq + 1 || *end || !(v >= 0 && v <= 1000))
      return cuzk_fail(&c->detail, CUZK_E_USAGE,
                       "option '--scale' takes STAGE=FACTOR, a factor from 0 to 1000 and open, load, synth, start, kernels, finish or verify, not '%s'", word);
    o->scale[s] = v;
  }
  return CUZK_OK;
}

static enum cuzk_status write_trace(struct cli *c, const struct cuzk_sim_result *s) {
  char *text = NULL;
  size_t n = 0;
  FILE *f = open_memstream(&text, &n);
  if (!f) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "%s", c->opt[OPT_TRACE]);
  enum cuzk_status st = cuzk_tl_print_trace(f, &s->report, &s->run);
  const bool lost = ferror(f) != 0;
  if (fclose(f) || lost) st = CUZK_E_NOMEM;
  if (st != CUZK_OK) (void)cuzk_fail(&c->detail, st, "%s: no memory to draw it", c->opt[OPT_TRACE]);
  else st = cuzk_file_write(c->opt[OPT_TRACE], text, n, &c->detail);
  free(text);
  return st;
}

static json_t *figures(const struct cuzk_tl_report *r) {
  return json_pack("{s:f, s:I, s:I, s:f}", "proofs_per_hour", r->proofs_per_hour, "median_latency_ms", (json_int_t)r->latency.median, "p95_latency_ms",
                   (json_int_t)r->latency.p95, "efficiency", cuzk_tl_efficiency_without(r, 0));
}

static enum cuzk_status print(struct cli *c, const struct cuzk_sim_options *o, const struct cuzk_tl_report *recorded, const struct cuzk_sim_result *before,
                              const struct cuzk_sim_result *after) {
  char text[640];
  const struct cuzk_tl_side a = {"the recorded setting", &before->report, &before->run}, b = {"the new setting", &after->report, &after->run};
  (void)cuzk_tl_compare_why(text, sizeof text, &a, &b);
  if (c->json)
    return cli_print_json(c, json_pack("{s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o, s:s}", "settings", "gpus", (json_int_t)o->n_devices, "workers_per_gpu",
                                       (json_int_t)o->workers_per_device, "synth", (json_int_t)o->synth_threads, "memory_bytes",
                                       (json_int_t)o->memory_total, "recorded", figures(recorded), "model", figures(&before->report), "predicted",
                                       figures(&after->report), "why", text));
  printf("predicted for %u device%s, %u worker%s each, %u synthes%s at once\n", o->n_devices, o->n_devices == 1 ? "" : "s", o->workers_per_device,
         o->workers_per_device == 1 ? "" : "s", o->synth_threads, o->synth_threads == 1 ? "is" : "es");
  printf("%-20s %12s %12s %12s %10s\n", "", "proofs/hour", "median_s", "p95_s", "busy_%");
  const struct {
    const char *name;
    const struct cuzk_tl_report *r;
  } row[] = {{"recorded", recorded}, {"recorded, replayed", &before->report}, {"predicted", &after->report}};
  for (unsigned i = 0; i < 3; i++)
    printf("%-20s %12.1f %12.1f %12.1f %10.1f\n", row[i].name, row[i].r->proofs_per_hour, (double)row[i].r->latency.median / 1e3,
           (double)row[i].r->latency.p95 / 1e3, 100 * cuzk_tl_efficiency_without(row[i].r, 0));
  printf("%s\n", text);
  return CUZK_OK;
}

enum cuzk_status cli_timeline_simulate(struct cli *c) {
  struct pick p = {0};
  struct cuzk_sim_options o;
  struct cuzk_sim_result before = {0}, after = {0};
  struct cuzk_tl_options to;
  struct cuzk_tl_report r = {0};
  uint64_t per_gpu = 0, synth = 0, memory = 0, gpus = 0, flights = 0;
  enum cuzk_status st = CUZK_OK;
  if (c->opt[OPT_EPOCH] && strcmp(c->opt[OPT_EPOCH], "last") != 0) CUZK_TRY(cli_number(c, OPT_EPOCH, 1, UINT32_MAX, 0, &p.number));
  CUZK_TRY(cli_number(c, OPT_WORKERS_PER_GPU, 1, 16, 0, &per_gpu));
  CUZK_TRY(cli_number(c, OPT_GPUS, 1, 64, 0, &gpus));
  CUZK_TRY(cli_number(c, OPT_SYNTH, 1, 256, 0, &synth));
  CUZK_TRY(cli_number(c, OPT_MEMORY, 1, 1 << 20, 0, &memory));
  CUZK_TRY(cli_number(c, OPT_CONCURRENCY, 1, 100000, 0, &flights));
  memset(&o, 0, sizeof o);
  CUZK_TRY(read_scale(c, &o)); /* a wrong word is told before the file is read */
  CUZK_TRY(cuzk_tl_read_file(c->arg[0], pick_run, &p, &c->progress, &c->detail));
  cli_meter_end(c);
  cuzk_tl_defaults(&to);
  st = p.have ? cuzk_tl_analyse(&r, &p.run, &to, &c->detail) : cuzk_fail(&c->detail, CUZK_E_NOENT, "no such run");
  if (st == CUZK_E_NOENT) {
    cli_note(c, "%s: %s", c->arg[0], c->detail.text);
    c->no = true;
    st = CUZK_OK;
    goto out;
  }
  CUZK_TRY(st);
  cuzk_sim_defaults(&o, &p.run);
  o.concurrency = (unsigned)flights;
  CUZK_TRY(cuzk_sim(&before, &p.run, &o, &c->detail)); /* shows how far the model can be trusted */
  if (per_gpu) o.workers_per_device = (unsigned)per_gpu;
  if (gpus) o.n_devices = (unsigned)gpus;
  if (synth) o.synth_threads = (unsigned)synth;
  if (memory) o.memory_total = memory << 30;
  CUZK_TRY(read_scale(c, &o));
  CUZK_TRY(cuzk_sim(&after, &p.run, &o, &c->detail));
  if (c->opt[OPT_TRACE]) CUZK_TRY(write_trace(c, &after));
  st = print(c, &o, &r, &before, &after);
out:
  cuzk_sim_result_clear(&before);
  cuzk_sim_result_clear(&after);
  cuzk_tl_report_clear(&r);
  cuzk_tl_run_clear(&p.run);
  return st;
}
