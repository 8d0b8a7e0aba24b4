/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Any bytes as a log: read in two ways, analysed and printed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good) {
  if (!good) abort();
}

struct seen {
  FILE *out;
  uint64_t runs, lines, parts;
};

static enum cuzk_status look(void *user, struct cuzk_tl_run *run) {
  struct seen *s = user;
  struct cuzk_tl_options o;
  s->runs++;
  s->lines += run->lines;
  s->parts += run->n_parts;
  if (!s->out) return CUZK_OK;
  for (unsigned basis = CUZK_TL_AUTO; basis <= CUZK_TL_KERNEL; basis++) {
    struct cuzk_tl_report r;
    cuzk_tl_defaults(&o);
    o.basis = (enum cuzk_tl_basis)basis;
    o.classify = (enum cuzk_tl_classify)(basis % 3);
    const enum cuzk_status st = cuzk_tl_analyse(&r, run, &o, NULL);
    check(st == CUZK_OK || st == CUZK_E_NOENT);
    if (st == CUZK_OK) {
      uint64_t idle = 0, classes = 0;
      check(r.busy + r.idle == r.window);
      for (size_t i = 0; i < r.n_gaps; i++) {
        check(r.gap[i].end > r.gap[i].start);
        idle += r.gap[i].end - r.gap[i].start;
      }
      for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++) classes += r.cls[c].ms;
      check(idle == r.idle && classes == r.idle);
      for (size_t i = 0; i < r.n_jobs; i++) {
        uint64_t sum = 0;
        for (unsigned k = 0; k < CUZK_TL_N_STAGES; k++) sum += r.job[i].stage[k];
        check(sum == r.job[i].latency);
      }
      const struct cuzk_tl_print p = {.top = 3, .legacy = true};
      const struct cuzk_tl_side side = {.name = "log", .report = &r, .run = run};
      check(cuzk_tl_print_text(s->out, &r, run, &p) == CUZK_OK);
      check(cuzk_tl_print_json(s->out, &r, run, &p) == CUZK_OK);
      cuzk_tl_print_csv(s->out, &r, run, true);
      check(cuzk_tl_print_waterfall(s->out, &r, run, 80) == CUZK_OK);
      check(cuzk_tl_print_svg(s->out, &r, run) == CUZK_OK);
      check(cuzk_tl_print_trace(s->out, &r, run) == CUZK_OK);
      cuzk_tl_compare_text(s->out, &side, &side);
      cuzk_tl_compare_json(s->out, &side, &side);
    }
    cuzk_tl_report_clear(&r);
  }
  return CUZK_OK;
}

static void read_in_pieces(struct seen *s, const uint8_t *data, size_t size, size_t piece) {
  struct cuzk_tl_reader *r;
  check(cuzk_tl_reader_create(&r, look, s) == CUZK_OK);
  for (size_t at = 0; at < size; at += piece) check(cuzk_tl_reader_feed(r, (const char *)data + at, size - at < piece ? size - at : piece) == CUZK_OK);
  check(cuzk_tl_reader_finish(r) == CUZK_OK);
  cuzk_tl_reader_destroy(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct seen whole = {.out = fopen("/dev/null", "w")}, pieces = {0};
  check(whole.out != NULL);
  read_in_pieces(&whole, data, size, size ? size : 1);
  read_in_pieces(&pieces, data, size, 7);
  check(whole.runs == pieces.runs && whole.lines == pieces.lines && whole.parts == pieces.parts);
  (void)fclose(whole.out);
  return 0;
}
