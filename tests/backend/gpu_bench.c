/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* `cuzk bench gpu` without the libraries that the command line needs; built by tools/cuda_build.sh.
 *
 *   gpu_bench [device=N] [most=LOG2] [json=FILE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/bench.h"

struct printer {
  FILE *json;
  unsigned rows;
};

static void row(void *user, const struct cuzk_cuda_bench_row *r) {
  struct printer *p = user;
  if (r->ms > 0)
    printf("%-46s 2^%-2u %10.3f ms", r->name, r->log2_n, r->ms);
  else
    printf("%-46s %4s %13s", r->name, "", "");
  printf(" %10.3f G %s/s", r->rate * 1e-9, r->unit);
  if (r->floor_ms > 0)
    printf(", floor %9.3f ms, x%.2f", r->floor_ms, r->ms / r->floor_ms);
  else if (r->bound > 0)
    printf(", bound %.2f, x%.2f", r->bound * 1e-9, r->bound / r->rate);
  printf("\n");
  (void)fflush(stdout);
  if (p->json)
    fprintf(p->json, "%s\n  {\"name\": \"%s\", \"log2_n\": %u, \"ms\": %.4f, \"floor_ms\": %.4f, \"per_second\": %.5g, \"bound\": %.5g, \"unit\": \"%s\"}",
            p->rows++ ? "," : "", r->name, r->log2_n, r->ms, r->floor_ms, r->rate, r->bound, r->unit);
}

static void left_out(void *user, const char *name, unsigned log2_n) {
  (void)user;
  printf("%-46s 2^%-2u no memory\n", name, log2_n);
}

int main(int argc, char **argv) {
  struct printer p = {0};
  struct cuzk_cuda_bench b = {.most = 27, .row = row, .left_out = left_out, .user = &p};
  struct cuzk_cuda_info info;
  struct cuzk_detail d = {{0}};
  for (int i = 1; i < argc; i++) {
    if (!strncmp(argv[i], "device=", 7)) {
      b.device = atoi(argv[i] + 7);
    } else if (!strncmp(argv[i], "most=", 5)) {
      b.most = (unsigned)atoi(argv[i] + 5);
    } else if (!strncmp(argv[i], "json=", 5)) {
      p.json = fopen(argv[i] + 5, "w");
      if (!p.json) {
        fprintf(stderr, "gpu_bench: %s cannot be written\n", argv[i] + 5);
        return 1;
      }
    } else {
      fprintf(stderr, "usage: gpu_bench [device=N] [most=LOG2] [json=FILE]\n");
      return 64;
    }
  }
  enum cuzk_status st = cuzk_cuda_device_info(&info, b.device, &d);
  if (st == CUZK_OK) {
    printf("%s (%d.%d, %d multiprocessors, %.1f GiB), %s, %s\n", info.name, info.major, info.minor, info.multiprocessors,
           (double)info.memory_total / (1 << 30), info.pci, info.uuid);
    if (p.json) fprintf(p.json, "{\"device\": \"%s\", \"results\": [", info.name);
    st = cuzk_cuda_bench_run(&b, &d);
  }
  if (p.json) {
    fprintf(p.json, "\n]}\n");
    (void)fclose(p.json);
  }
  if (st == CUZK_OK) return 0;
  fprintf(stderr, "gpu_bench: %s\n", d.text);
  return 1;
}
