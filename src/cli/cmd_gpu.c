/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What only a CUDA device does: its part of params generate, and bench gpu. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd_gpu.h"
#include "device/device.h"
#ifdef CUZK_WITH_CUDA
#include "backend/cuda/bench.h"
#include "device/cuda_setup.h"
#endif

/* The device that --device names. *cuda: is it one of those. */
static enum cuzk_status pick(struct cli *c, bool *cuda, unsigned *index) {
  const struct cuzk_device_ops *ops;
  const enum cuzk_status st = cuzk_device_find(&ops, index, c->opt[OPT_DEVICE] ? c->opt[OPT_DEVICE] : "auto", &c->detail);
  *cuda = st == CUZK_OK && !strcmp(ops->name, "cuda");
  return st;
}

enum cuzk_status cli_params_make(struct cli *c, const struct cuzk_circuit *k, const char *path, const struct cuzk_toxic *toxic, uint8_t sha256[32]) {
  bool cuda;
  unsigned index;
  enum cuzk_status st = pick(c, &cuda, &index);
  if (st != CUZK_OK) return st;
#ifdef CUZK_WITH_CUDA
  if (cuda) {
    struct cuzk_compact *compact;
    if ((st = cuzk_circuit_compile(&compact, k, c->pool, &c->progress, &c->detail)) != CUZK_OK) return st;
    struct cuzk_cuda_setup s = {.device = index, .circuit = compact, .toxic = toxic, .progress = &c->progress};
    st = cuzk_params_generate_by(path, cuzk_cuda_setup_make, &s, sha256, c->pool, &c->detail);
    cuzk_compact_destroy(&compact);
    return st;
  }
#endif
  const struct cuzk_system system = cuzk_circuit_system(k);
  return cuzk_params_generate(path, &system, toxic, sha256, c->pool, &c->progress, &c->detail);
}

#ifdef CUZK_WITH_CUDA
struct gpu_report {
  struct cli *c;
  json_t *rows; /* NULL: printed as they come */
};

static void print_row(void *user, const struct cuzk_cuda_bench_row *r) {
  struct gpu_report *g = user;
  if (g->rows) {
    (void)json_array_append_new(g->rows, json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:s}", "name", r->name, "log2_n", (int)r->log2_n, "ms", r->ms,
                                                   "floor_ms", r->floor_ms, "per_second", r->rate, "bound", r->bound, "unit", r->unit));
    return;
  }
  char at[16] = "", ms[32] = "", floor[32] = "", ratio[32] = "";
  if (r->ms > 0) {
    (void)snprintf(at, sizeof at, "2^%u", r->log2_n);
    (void)snprintf(ms, sizeof ms, "%.3f", r->ms);
  }
  if (r->floor_ms > 0) (void)snprintf(floor, sizeof floor, "%.3f", r->floor_ms);
  if (r->bound > 0) (void)snprintf(ratio, sizeof ratio, "%.2f", r->bound / r->rate);
  printf("%-46s %5s %11s %11s %7s %10.3f G %s/s\n", r->name, at, ms, floor, ratio, r->rate * 1e-9, r->unit);
  (void)fflush(stdout);
}

static void print_left_out(void *user, const char *name, unsigned log2_n) {
  const struct gpu_report *g = user;
  if (!g->rows) printf("%-46s  2^%u: the device's memory does not hold it\n", name, log2_n);
}
#endif

enum cuzk_status cli_bench_gpu(struct cli *c) {
  bool cuda;
  unsigned index;
  enum cuzk_status st = pick(c, &cuda, &index);
  if (st != CUZK_OK) return st;
#ifndef CUZK_WITH_CUDA
  return cuzk_fail(&c->detail, CUZK_E_UNSUPPORTED, "this build has no CUDA backend (cmake -DCUZK_BACKEND_CUDA=ON)");
#else
  if (!cuda) return cuzk_fail(&c->detail, CUZK_E_ARG, "no CUDA device, or no driver: nothing to measure");
  struct cuzk_cuda_info info;
  struct gpu_report g = {c, c->json ? json_array() : NULL};
  struct cuzk_cuda_bench b = {.device = (int)index, .most = 27, .row = print_row, .left_out = print_left_out, .user = &g};
  uint64_t most;
  CUZK_TRY(cli_number(c, OPT_LOG2, 16, 27, 27, &most));
  b.most = (unsigned)most;
  CUZK_TRY(cuzk_cuda_device_info(&info, b.device, &c->detail));
  if (!c->json) {
    printf("%s, compute capability %d.%d, %d multiprocessors, %.1f GiB, %s, %s\n", info.name, info.major, info.minor, info.multiprocessors,
           (double)info.memory_total / (1 << 30), info.pci, info.uuid);
    printf("%-46s %5s %11s %11s %7s\n", "", "size", "ms", "floor, ms", "ratio");
  }
  CUZK_TRY(cuzk_cuda_bench_run(&b, &c->detail));
  if (c->json) {
    json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:O}", "bench", "gpu", "device", info.name, "uuid", info.uuid, "pci", info.pci, "results", g.rows);
    st = cli_print_json(c, o);
  }
out:
  json_decref(g.rows);
  return st;
#endif
}
