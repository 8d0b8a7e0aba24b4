/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the files of the backend share: the context, error reporting, the work area. */
#ifndef CUZK_BACKEND_CUDA_DEVICE_CUH
#define CUZK_BACKEND_CUDA_DEVICE_CUH
#include <cuda_runtime.h>

#include <mutex>
#include <unordered_map>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/curve.cuh"

namespace cuzk_gpu {

/** Writes expression, place, device and the runtime's text into d; E_NOMEM for a failed allocation, else E_DEVICE. */
cuzk_status cuda_fail(cuzk_detail *d, int device, cudaError_t e, const char *expr, const char *file, int line);
cuzk_status say(cuzk_detail *d, cuzk_status s, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** Evaluates a runtime call and returns from the function with a status if it failed. Needs `c` and `d` in scope. */
#define CUZK_CUDA(expr)                                                                              \
  do {                                                                                               \
    const cudaError_t cuda_error_ = (expr);                                                          \
    if (cuda_error_ != cudaSuccess) return cuda_fail(d, c->device, cuda_error_, #expr, __FILE__, __LINE__); \
  } while (0)
/** The same after a kernel launch. */
#define CUZK_LAUNCHED(what)                                                                          \
  do {                                                                                               \
    const cudaError_t cuda_error_ = cudaGetLastError();                                              \
    if (cuda_error_ != cudaSuccess) return cuda_fail(d, c->device, cuda_error_, what, __FILE__, __LINE__); \
  } while (0)
#define CUZK_STATUS_TRY(expr)                  \
  do {                                         \
    const cuzk_status status_ = (expr);        \
    if (status_ != CUZK_OK) return status_;    \
  } while (0)

constexpr unsigned MAX_LOG_N = 28;
constexpr int MAX_PASSES = 4;

/** Tables of one kind of transform of one size; see ntt.cu. */
struct NttTables {
  bool ready = false;
  int passes = 0;
  unsigned k[MAX_PASSES] = {0}, s[MAX_PASSES] = {0};
  Fr *boundary[MAX_PASSES] = {nullptr}; /* 2^(s+k) factors of the pass; the last one has 2^k or is absent */
  Fr *rounds = nullptr;                 /* twiddles between the rounds of a pass */
  Fr w4, w8, w8_3;                      /* primitive fourth and eighth roots, and the cube */
  /* Lean tables have no boundary of a pass with more than 2^LEAN_LOG factors, but the powers of omega in two levels and what
   * depends on m alone. */
  Fr *high = nullptr, *low = nullptr, *factor[MAX_PASSES] = {nullptr};
  unsigned h = 0;
};
constexpr unsigned LEAN_LOG = 20;

}  // namespace cuzk_gpu

struct cuzk_cuda {
  int device = 0;
  int multiprocessors = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t events[16] = {nullptr};
  char *work = nullptr; /* grows, never shrinks before trim */
  size_t work_bytes = 0;
  char *side = nullptr; /* what a sum gathers before it takes the work area; as work */
  size_t side_bytes = 0;
  size_t work_bound = 0; /* sums take smaller groups of windows rather than a larger work area; 0: no bound */
  bool small_shared = false; /* less than AMPLE_SHARED_BYTES for a block */
  bool lean = false;     /* tables of transforms are built lean */
  void *pinned = nullptr; /* small results */
  cudaEvent_t marks[16] = {nullptr};
  /* Device memory that is held, by address; memory_lock guards these. */
  std::mutex memory_lock;
  std::unordered_map<void *, size_t> memory;
  size_t memory_used = 0, memory_limit = 0;
  cuzk_gpu::NttTables ntt[CUZK_CUDA_TRANSFORMS][cuzk_gpu::MAX_LOG_N + 1];
};

namespace cuzk_gpu {
constexpr size_t PINNED_BYTES = 1 << 20;
/* Shared memory of a block: what some kernels take where there is so much, and what there must be (Turing). */
constexpr int AMPLE_SHARED_BYTES = 96 << 10, NEEDED_SHARED_BYTES = 64 << 10;

/** Device memory under the context's limit; all of it goes through these. From any thread. */
cuzk_status device_malloc(cuzk_cuda *c, void **out, size_t bytes, cuzk_detail *d);
void device_free(cuzk_cuda *c, void *p);
/** The work area with at least the given size; contents undefined. The side area likewise. */
cuzk_status side_area(cuzk_cuda *c, char **out, size_t bytes, cuzk_detail *d);
cuzk_status work_area(cuzk_cuda *c, char **out, size_t bytes, cuzk_detail *d);
void ntt_free_tables(cuzk_cuda *c);

/** Cuts a work area into parts of 256-byte alignment: once with base null to learn the size, once for the pointers. */
struct Carver {
  char *base;
  size_t used = 0;
  explicit Carver(char *b) : base(b) {}
  template <class T>
  T *take(size_t n) {
    T *p = base ? reinterpret_cast<T *>(base + used) : nullptr;
    used += (n * sizeof(T) + 255) & ~(size_t)255;
    return p;
  }
};

#ifdef __CUDACC__
/* Vector loads and stores of whole elements. */
template <class T>
__device__ __forceinline__ void load(T &r, const T *p) {
  static_assert(sizeof(T) % 16 == 0, "whole vectors");
  const uint4 *q = reinterpret_cast<const uint4 *>(p);
  uint4 *o = reinterpret_cast<uint4 *>(&r);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(T) / 16); i++) o[i] = q[i];
}
template <class T>
__device__ __forceinline__ void load_const(T &r, const T *p) {
  const uint4 *q = reinterpret_cast<const uint4 *>(p);
  uint4 *o = reinterpret_cast<uint4 *>(&r);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(T) / 16); i++) o[i] = __ldg(q + i);
}
template <class T>
__device__ __forceinline__ void store(T *p, const T &v) {
  const uint4 *q = reinterpret_cast<const uint4 *>(&v);
  uint4 *o = reinterpret_cast<uint4 *>(p);
#pragma unroll
  for (int i = 0; i < (int)(sizeof(T) / 16); i++) o[i] = q[i];
}
#endif

}  // namespace cuzk_gpu
#endif
