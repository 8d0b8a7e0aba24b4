/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Timing of msm/ alone: bench_msm [g1|g2|fixed1|fixed2|bits1|bits2] LOG2 RUNS. One line: min, median, max in seconds, and the median of
 * the processor time of all threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "msm/batch.h"
#include "msm/fixed_base.h"
#include "msm/msm.h"

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu(void) {
  struct rusage u;
  (void)getrusage(RUSAGE_SELF, &u);
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc < 4) return 64;
  const char *what = argv[1];
  const bool g2 = what[strlen(what) - 1] == '2', fixed = strncmp(what, "fixed", 5) == 0, bits = strncmp(what, "bits", 4) == 0;
  const size_t n = (size_t)1 << atoi(argv[2]);
  const int runs = atoi(argv[3]);
  struct cuzk_pool *pool;
  if (runs < 1 || cuzk_pool_create(&pool, 0) != CUZK_OK) return 1;
  cuzk_fr *s = malloc(n * sizeof *s);
  void *p = malloc(n * (g2 ? sizeof(cuzk_g2_affine) : sizeof(cuzk_g1_affine)));
  double *t = malloc((size_t)runs * sizeof *t), *used = malloc((size_t)runs * sizeof *used);
  struct cuzk_fixed_g1 *f1 = NULL;
  struct cuzk_fixed_g2 *f2 = NULL;
  if (!s || !p || !t || !used) return 1;
  uint64_t z = 1;
  for (size_t i = 0; i < n; i++) {
    uint8_t b[64];
    for (int k = 0; k < 64; k++) b[k] = (uint8_t)((z = z * 6364136223846793005u + 1442695040888963407u) >> 56);
    cuzk_fr_from_le64_reduce(&s[i], b);
  }
  const double t0 = now();
  if (g2 ? cuzk_fixed_g2_create(&f2, &cuzk_g2_generator, n, pool) : cuzk_fixed_g1_create(&f1, &cuzk_g1_generator, n, pool))
    return 1;
  const double t1 = now();
  if (g2 ? cuzk_fixed_g2_mul(f2, p, s, n, pool) : cuzk_fixed_g1_mul(f1, p, s, n, pool)) return 1;
  const double t2 = now();
  (void)fprintf(stderr, "fixed base: table %.3f s, %zu multiples %.3f s\n", t1 - t0, n, t2 - t1);
  for (size_t i = 0; i < n && bits; i++) s[i] = s[i].l[1] >> 7 & 1 ? cuzk_fr_one : cuzk_fr_zero;
  for (int r = 0; r < runs; r++) {
    cuzk_g1 a;
    cuzk_g2 b;
    const double from = now(), cpu_from = cpu();
    if (fixed) {
      if (g2 ? cuzk_fixed_g2_mul(f2, p, s, n, pool) : cuzk_fixed_g1_mul(f1, p, s, n, pool)) return 1;
    } else if (g2 ? cuzk_msm_g2(&b, p, s, n, pool) : cuzk_msm_g1(&a, p, s, n, pool)) {
      return 1;
    }
    t[r] = now() - from;
    used[r] = cpu() - cpu_from;
  }
  qsort(t, (size_t)runs, sizeof *t, compare);
  qsort(used, (size_t)runs, sizeof *used, compare);
  (void)printf("{\"name\":\"%s\",\"kernel\":\"%s\",\"log2\":%s,\"min_s\":%.6f,\"median_s\":%.6f,\"max_s\":%.6f,\"median_cpu_s\":%.6f}\n", what,
               g2 ? cuzk_batch_g2()->name : cuzk_batch_g1()->name, argv[2], t[0], t[runs / 2], t[runs - 1], used[runs / 2]);
  cuzk_fixed_g1_destroy(&f1);
  cuzk_fixed_g2_destroy(&f2);
  cuzk_pool_destroy(&pool);
  free(s);
  free(p);
  free(t);
  free(used);
  return 0;
}
