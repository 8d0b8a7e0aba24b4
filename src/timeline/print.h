/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A report in words, tables and pictures (engine specification 6.8). Each function writes to a stream of the caller, who looks at
 *  ferror() in the end; where one needs memory and there is none it says so.
 *  Source  engine specification 6.8; trace: the Trace Event Format (JSON object form, times in microseconds). */
#ifndef CUZK_TIMELINE_PRINT_H
#define CUZK_TIMELINE_PRINT_H
#include <stdio.h>

#include "timeline/report.h"

struct cuzk_tl_print {
  unsigned top;  /* largest gaps and slowest jobs to list */
  bool legacy;   /* also the naive sequence: each end to the next start, in the log's order */
};
/** Errors: E_NOMEM. */
enum cuzk_status cuzk_tl_print_text(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_print *o);
/** One object. Errors: E_NOMEM. */
enum cuzk_status cuzk_tl_print_json(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, const struct cuzk_tl_print *o);
/** A line a gap; heading: with the line of column names. */
void cuzk_tl_print_csv(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, bool heading);
/** A row for each worker, width characters wide: '#' kernels (or the call where they are not known), '=' the call around them, '-' nothing; under
 *  each device a row of its gaps, by the first letter of their class. */
enum cuzk_status cuzk_tl_print_waterfall(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run, unsigned width);
/** The same as a picture, with the synthesis of each partition above it. What is narrower than a pixel is drawn together. */
enum cuzk_status cuzk_tl_print_svg(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run);
/** For Perfetto and chrome://tracing. */
enum cuzk_status cuzk_tl_print_trace(FILE *f, const struct cuzk_tl_report *r, const struct cuzk_tl_run *run);

/** What the sum of a stage over all attempts is, and how many had it. */
struct cuzk_tl_stage_sum {
  uint64_t n, ms;
};
enum cuzk_tl_part_stage { CUZK_TL_P_SYNTH, CUZK_TL_P_WAIT, CUZK_TL_P_PRE, CUZK_TL_P_KERNELS, CUZK_TL_P_FINISH, CUZK_TL_P_CALL, CUZK_TL_N_PART_STAGES };
extern const char *const cuzk_tl_part_stage_names[CUZK_TL_N_PART_STAGES];
void cuzk_tl_stage_sums(struct cuzk_tl_stage_sum out[CUZK_TL_N_PART_STAGES], const struct cuzk_tl_run *run);
/** Two runs side by side: stages, gap classes, and a sentence that says what made the difference. */
struct cuzk_tl_side {
  const char *name;
  const struct cuzk_tl_report *report;
  const struct cuzk_tl_run *run;
};
void cuzk_tl_compare_text(FILE *f, const struct cuzk_tl_side *a, const struct cuzk_tl_side *b);
void cuzk_tl_compare_json(FILE *f, const struct cuzk_tl_side *a, const struct cuzk_tl_side *b);
/** The sentence alone. Returns out. */
const char *cuzk_tl_compare_why(char *out, size_t n, const struct cuzk_tl_side *a, const struct cuzk_tl_side *b);
/** A JSON string with quotes; bytes that are no UTF-8 become U+FFFD. */
void cuzk_tl_json_string(FILE *f, const char *s);
#endif
