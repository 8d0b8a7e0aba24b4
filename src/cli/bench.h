/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Measurements: one table of cases, a loop that runs ours and the other side alternately, and one report. */
#ifndef CUZK_CLI_BENCH_H
#define CUZK_CLI_BENCH_H
#include "cli/cli.h"

#define BENCH_MAX_RUNS 1000

/** Times of one operation or call, seconds. */
struct bench_series {
  char name[48];
  double t[BENCH_MAX_RUNS];
  unsigned n;
};

/** What is measured. */
struct bench_case {
  const char *name;
  /** Does the work of one measurement; *seconds_per_op is the result. arg is the case's own. */
  enum cuzk_status (*run)(void *arg, double *seconds_per_op, struct cuzk_detail *d);
  void *arg;
};

#define BENCH_MAX_CASES 24
#define BENCH_MAX_PEERS 8
/** One report being made. */
struct bench {
  struct cli *c;
  const char *title;       /* "arith" */
  const char *peer_words[4]; /* what the other side is asked for, NULL at the end */
  unsigned log2, runs, threads;
  const char *note;        /* kind of scalars and the like, "" for nothing */
  struct bench_case cases[BENCH_MAX_CASES];
  unsigned n_cases;
  struct bench_series ours[BENCH_MAX_CASES];
  struct bench_series peers[BENCH_MAX_PEERS];
  unsigned n_peers;
};

/** Runs all cases --runs times (run by run, so that a slow moment hits ours and the other side alike), with --peer the other
 *  side after each round, and prints the report. A warm-up round is not counted. Errors: those of the cases; E_USAGE, E_IO,
 *  E_FORMAT of the other side. */
enum cuzk_status bench_run(struct bench *b);
/** Runs CMD WORD LOG2 RUNS and adds the medians that it prints to b->peers. */
enum cuzk_status bench_peer_round(struct bench *b, unsigned runs);
/** Our case that a series of the other side stands beside, NULL if there is none. */
const char *bench_peer_match(const char *peer_name);

double bench_median(const struct bench_series *s);
double bench_min(const struct bench_series *s);
double bench_max(const struct bench_series *s);
#endif
