/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Times packed witnesses: bench_packed [CIRCUIT [RUNS [WORKERS]]]. docs/benchmarks/cpu-witness.md. */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "made_witness.h"

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  enum { MAX_RUNS = 99 };
  const char *name = argc > 1 ? argv[1] : "porep-32gib";
  int runs = argc > 2 ? atoi(argv[2]) : 5;
  const unsigned workers = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
  const struct cuzk_circuit *c = cuzk_circuit_find(name);
  static struct made_witness m;
  struct cuzk_pool *pool = NULL;
  double wall[MAX_RUNS], cpu[MAX_RUNS];
  struct rusage u;
  if (!c || !made_fill(&m, c, 1) || cuzk_pool_create(&pool, workers) != CUZK_OK) {
    fprintf(stderr, "no circuit %s, or no memory\n", name);
    return 2;
  }
  runs = runs < 1 ? 1 : runs > MAX_RUNS ? MAX_RUNS : runs;
  struct cuzk_detail d = {""};
  for (int i = 0; i < runs; i++) {
    struct cuzk_packed p;
    wall[i] = -now(CLOCK_MONOTONIC);
    cpu[i] = -now(CLOCK_PROCESS_CPUTIME_ID);
    if (cuzk_circuit_assign_packed(c, c->kind == CUZK_KIND_GADGET ? NULL : &m.u, &p, pool, NULL, &d) != CUZK_OK) {
      fprintf(stderr, "%s\n", d.text);
      return 2;
    }
    wall[i] += now(CLOCK_MONOTONIC);
    cpu[i] += now(CLOCK_PROCESS_CPUTIME_ID);
    if (i == 0) printf("%s: %u private values, %u of them field elements\n", name, p.n_aux, p.n_fields);
    cuzk_packed_clear(&p);
  }
  qsort(wall, (size_t)runs, sizeof *wall, by_value);
  qsort(cpu, (size_t)runs, sizeof *cpu, by_value);
  getrusage(RUSAGE_SELF, &u);
  printf("median of %d on %u threads: %.4f s, processor time %.4f s, best %.4f s; peak resident %ld KiB\n", runs,
         cuzk_pool_workers(pool), wall[runs / 2], cpu[runs / 2], wall[0], u.ru_maxrss);
  cuzk_pool_destroy(&pool);
  made_clear(&m);
  return 0;
}
