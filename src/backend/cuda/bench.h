/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Rates of a device's kernels beside their floors. docs/benchmarks has records; `cuzk bench gpu` and the stand-alone gpu_bench print them. */
#ifndef CUZK_BACKEND_CUDA_BENCH_H
#define CUZK_BACKEND_CUDA_BENCH_H
#include "backend/cuda/cuda_backend.h"

struct cuzk_cuda_bench_row {
  const char *name;
  unsigned log2_n;      /* of elements */
  double ms, floor_ms;  /* best time; rates have none. The floor: what the multipliers need at the least, or the memory. */
  double rate, bound;   /* operations or bytes a second, and what the floor allows; 0: not known */
  const char *unit;     /* of the rate: "products", "additions", "bytes", "elements", "points" */
};

struct cuzk_cuda_bench {
  int device;
  unsigned most; /* log2 of the largest sizes, 16 to 27: 2^27 takes 40 GB of device memory */
  void (*row)(void *user, const struct cuzk_cuda_bench_row *row);
  /** A size that the device's memory does not hold is left out and told here. May be NULL. */
  void (*left_out)(void *user, const char *name, unsigned log2_n);
  void *user;
};

/** Measures everything, in order. Errors: E_ARG, E_DEVICE, E_NOMEM (not even small sizes). */
enum cuzk_status cuzk_cuda_bench_run(const struct cuzk_cuda_bench *b, struct cuzk_detail *d);
#endif
