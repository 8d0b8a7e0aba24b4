/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "backend/cuda/device.cuh"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <new>

namespace cuzk_gpu {

cuzk_status say(cuzk_detail *d, cuzk_status s, const char *fmt, ...) {
  if (d) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(d->text, sizeof d->text, fmt, ap);
    va_end(ap);
  }
  return s;
}

cuzk_status cuda_fail(cuzk_detail *d, int device, cudaError_t e, const char *expr, const char *file, int line) {
  (void)cudaGetLastError(); /* a failed allocation is reported once, not again by the next launch */
  const char *base = strrchr(file, '/');
  return say(d, e == cudaErrorMemoryAllocation ? CUZK_E_NOMEM : CUZK_E_DEVICE, "CUDA device %d: %s: %s (%s:%d, %s)", device,
             cudaGetErrorString(e), cudaGetErrorName(e), base ? base + 1 : file, line, expr);
}

cuzk_status device_malloc(cuzk_cuda *c, void **out, size_t bytes, cuzk_detail *d) {
  *out = nullptr;
  {
    const std::lock_guard<std::mutex> hold(c->memory_lock);
    if (c->memory_limit && (bytes > c->memory_limit || c->memory_used > c->memory_limit - bytes))
      return say(d, CUZK_E_NOMEM, "CUDA device %d: %zu bytes beside %zu that are in use; the limit is %zu", c->device, bytes, c->memory_used,
                 c->memory_limit);
    c->memory_used += bytes;
  }
  const cudaError_t e = cudaMalloc(out, bytes);
  const std::lock_guard<std::mutex> hold(c->memory_lock);
  if (e == cudaSuccess) {
    try {
      c->memory[*out] = bytes;
      return CUZK_OK;
    } catch (const std::bad_alloc &) {
      cudaFree(*out);
      *out = nullptr;
    }
  }
  c->memory_used -= bytes;
  CUZK_CUDA(e);
  return say(d, CUZK_E_NOMEM, "CUDA device %d: no host memory to note an allocation", c->device);
}

void device_free(cuzk_cuda *c, void *p) {
  if (!p) return;
  cudaFree(p);
  const std::lock_guard<std::mutex> hold(c->memory_lock);
  const auto it = c->memory.find(p);
  if (it == c->memory.end()) return;
  c->memory_used -= it->second;
  c->memory.erase(it);
}

static cuzk_status grow(cuzk_cuda *c, char **area, size_t *has, size_t bytes, cuzk_detail *d) {
  if (*has >= bytes) return CUZK_OK;
  if (*area) {
    CUZK_CUDA(cudaStreamSynchronize(c->stream));
    device_free(c, *area);
    *area = nullptr;
    *has = 0;
  }
  CUZK_STATUS_TRY(device_malloc(c, (void **)area, bytes, d));
  *has = bytes;
  return CUZK_OK;
}

cuzk_status work_area(cuzk_cuda *c, char **out, size_t bytes, cuzk_detail *d) {
  CUZK_STATUS_TRY(grow(c, &c->work, &c->work_bytes, bytes, d));
  *out = c->work;
  return CUZK_OK;
}
cuzk_status side_area(cuzk_cuda *c, char **out, size_t bytes, cuzk_detail *d) {
  CUZK_STATUS_TRY(grow(c, &c->side, &c->side_bytes, bytes, d));
  *out = c->side;
  return CUZK_OK;
}

namespace {

/* One thread a case; every result goes through all operations once. */
CUZK_HD void self_test_case(Fp r[4], uint32_t i) {
  Fp a, b;
  set_one(a);
  set_one(b);
  for (int j = 0; j < 12; j++) {
    a.l[j] ^= 0x9e3779b9u * (i * 12 + (uint32_t)j + 1);
    b.l[j] += 0x85ebca6bu * (i * 12 + (uint32_t)j + 7);
  }
  a.l[11] &= 0x0fffffffu;
  b.l[11] &= 0x0fffffffu;
  mul(r[0], a, b);
  sqr(r[1], a);
  inv_var(r[2], b);
  Fr x, y;
  for (int j = 0; j < 8; j++) {
    x.l[j] = a.l[j];
    y.l[j] = b.l[j];
  }
  x.l[7] &= 0x3fffffffu;
  mul_loose(y, x, y);
  reduce(y, y);
  add(x, x, y);
  set_zero(r[3]);
  for (int j = 0; j < 8; j++) r[3].l[j] = x.l[j];
  /* A point of order three, doubled: x = 0, y = 2. */
  Affine<Fp> p, q;
  set_zero(p.x);
  set_one(p.y);
  dbl(p.y, p.y);
  Fp den;
  const PairKind kind = pair_denominator(den, p, p);
  inv_var(den, den);
  pair_finish(q, p, p, den, kind);
  add(r[3], r[3], q.y);
}

__global__ void self_test_kernel(Fp *out) { self_test_case(out + 4 * threadIdx.x, threadIdx.x); }

CUZK_HD uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
CUZK_HD void random_element(Fr &r, uint64_t seed, uint64_t i) {
  for (uint32_t j = 0; j < 4; j++) {
    const uint64_t z = mix(seed + 0x9e3779b97f4a7c15u * (4 * i + j + 1));
    r.l[2 * j] = (uint32_t)z;
    r.l[2 * j + 1] = (uint32_t)(z >> 32);
  }
  r.l[7] &= 0x7fffffffu;
  reduce(r, r); /* below 2^255 < 2 r */
}

__global__ void random_kernel(Fr *out, size_t n, uint64_t seed) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    Fr x;
    random_element(x, seed, i);
    store(out + i, x);
  }
}

enum { RATE_STEPS = 512 };

/* The other ways to reduce in Fr, to be compared on the device at hand. */
struct FrShape0 : FrParams {
  static constexpr int shape = 0;
};
struct FrShape1 : FrParams {
  static constexpr int shape = 1;
};

template <class F, int WHAT>
__global__ void __launch_bounds__(256) rate_kernel(F *v) {
  F x = v[blockIdx.x * blockDim.x + threadIdx.x], y = x;
#pragma unroll 1
  for (int i = 0; i < RATE_STEPS; i++) {
    if constexpr (WHAT == 0) mul_loose(x, y, x);
    if constexpr (WHAT == 1) sqr_loose(x, x);
    if constexpr (WHAT == 2) {
      sub(x, x, y);
      add(y, y, x);
    }
  }
  if (WHAT != 2) reduce(x, x);
  v[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

}  // namespace
}  // namespace cuzk_gpu

using namespace cuzk_gpu;

extern "C" int cuzk_cuda_device_count(void) {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

extern "C" enum cuzk_status cuzk_cuda_device_info(struct cuzk_cuda_info *out, int device, struct cuzk_detail *d) {
  struct {
    int device;
  } self = {device}, *c = &self;
  if (device < 0 || device >= cuzk_cuda_device_count())
    return say(d, CUZK_E_ARG, "CUDA device %d: there are %d devices", device, cuzk_cuda_device_count());
  cudaDeviceProp p;
  CUZK_CUDA(cudaGetDeviceProperties(&p, device));
  CUZK_CUDA(cudaSetDevice(device));
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "%.127s", p.name);
  snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.0", p.pciDomainID, p.pciBusID, p.pciDeviceID);
  const unsigned char *u = (const unsigned char *)p.uuid.bytes;
  snprintf(out->uuid, sizeof out->uuid, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3],
           u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
  out->index = device;
  out->major = p.major;
  out->minor = p.minor;
  out->multiprocessors = p.multiProcessorCount;
  CUZK_CUDA(cudaMemGetInfo(&out->memory_free, &out->memory_total));
  return CUZK_OK;
}

static cuzk_status open_context(cuzk_cuda *c, cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaDeviceGetAttribute(&c->multiprocessors, cudaDevAttrMultiProcessorCount, c->device));
  int shared = 0;
  CUZK_CUDA(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, c->device));
  if (shared < NEEDED_SHARED_BYTES)
    return say(d, CUZK_E_UNSUPPORTED, "CUDA device %d has %d bytes of shared memory for a block; %d are needed", c->device,
               shared, NEEDED_SHARED_BYTES);
  c->small_shared = shared < AMPLE_SHARED_BYTES;
  CUZK_CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
  for (auto &e : c->events) CUZK_CUDA(cudaEventCreate(&e));
  for (auto &e : c->marks) CUZK_CUDA(cudaEventCreate(&e));
  CUZK_CUDA(cudaMallocHost(&c->pinned, PINNED_BYTES));
  return cuzk_cuda_self_test(c, d);
}

extern "C" enum cuzk_status cuzk_cuda_create(struct cuzk_cuda **out, int device, struct cuzk_detail *d) {
  *out = nullptr;
  if (device < 0 || device >= cuzk_cuda_device_count())
    return say(d, CUZK_E_ARG, "CUDA device %d: there are %d devices", device, cuzk_cuda_device_count());
  cuzk_cuda *c = new (std::nothrow) cuzk_cuda;
  if (!c) return say(d, CUZK_E_NOMEM, "CUDA device %d: no memory for its context", device);
  c->device = device;
  const cuzk_status st = open_context(c, d);
  if (st != CUZK_OK) {
    cuzk_cuda_destroy(&c);
    return st;
  }
  *out = c;
  return CUZK_OK;
}

extern "C" void cuzk_cuda_destroy(struct cuzk_cuda **pc) {
  cuzk_cuda *c = *pc;
  if (!c) return;
  cudaSetDevice(c->device);
  if (c->stream) cudaStreamSynchronize(c->stream);
  ntt_free_tables(c);
  device_free(c, c->work);
  device_free(c, c->side);
  if (c->pinned) cudaFreeHost(c->pinned);
  for (auto &e : c->events)
    if (e) cudaEventDestroy(e);
  for (auto &e : c->marks)
    if (e) cudaEventDestroy(e);
  if (c->stream) cudaStreamDestroy(c->stream);
  delete c;
  *pc = nullptr;
}

extern "C" enum cuzk_status cuzk_cuda_self_test(struct cuzk_cuda *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  constexpr int CASES = 64;
  char *work;
  CUZK_STATUS_TRY(work_area(c, &work, CASES * 4 * sizeof(Fp), d));
  self_test_kernel<<<1, CASES, 0, c->stream>>>((Fp *)work);
  CUZK_LAUNCHED("self_test_kernel");
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, work, CASES * 4 * sizeof(Fp), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  for (uint32_t i = 0; i < CASES; i++) {
    Fp want[4];
    self_test_case(want, i);
    if (memcmp(want, (const Fp *)c->pinned + 4 * i, sizeof want) != 0)
      return say(d, CUZK_E_DEVICE, "CUDA device %d: the self-test gives a wrong result in case %u: faulty device", c->device, i);
  }
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_alloc(struct cuzk_cuda *c, void **out, size_t bytes, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return device_malloc(c, out, bytes, d);
}
extern "C" void cuzk_cuda_free(struct cuzk_cuda *c, void **p) {
  if (!*p) return;
  cudaSetDevice(c->device);
  device_free(c, *p);
  *p = nullptr;
}
extern "C" enum cuzk_status cuzk_cuda_upload(struct cuzk_cuda *c, void *dst, const void *src, size_t bytes,
                                             struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_download(struct cuzk_cuda *c, void *dst, const void *src, size_t bytes,
                                               struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_copy(struct cuzk_cuda *c, void *dst, const void *src, size_t bytes,
                                           struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_sync(struct cuzk_cuda *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_trim(struct cuzk_cuda *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  ntt_free_tables(c);
  device_free(c, c->work);
  device_free(c, c->side);
  c->work = c->side = nullptr;
  c->work_bytes = c->side_bytes = 0;
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_fill_random_fr(struct cuzk_cuda *c, void *s, size_t n, uint64_t seed,
                                                     struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  random_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>((Fr *)s, n, seed);
  CUZK_LAUNCHED("random_kernel");
  return CUZK_OK;
}
extern "C" void cuzk_cuda_random_fr(cuzk_fr *r, uint64_t seed, uint64_t i) {
  Fr x;
  random_element(x, seed, i);
  memcpy(r, &x, sizeof *r);
}

extern "C" enum cuzk_status cuzk_cuda_timer_start(struct cuzk_cuda *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaEventRecord(c->events[14], c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_timer_stop(struct cuzk_cuda *c, float *ms, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaEventRecord(c->events[15], c->stream));
  CUZK_CUDA(cudaEventSynchronize(c->events[15]));
  CUZK_CUDA(cudaEventElapsedTime(ms, c->events[14], c->events[15]));
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_measure(struct cuzk_cuda *c, enum cuzk_cuda_rate what, double *rate,
                                              struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (what == CUZK_CUDA_RATE_WIDE) {
    int khz;
    CUZK_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, c->device));
    *rate = 32.0 * c->multiprocessors * khz * 1e3;
    return CUZK_OK;
  }
  const int blocks = c->multiprocessors * 16, threads = 256;
  const size_t copy_bytes = (size_t)1 << 31;
  const size_t bytes = what == CUZK_CUDA_RATE_COPY ? 2 * copy_bytes : (size_t)blocks * threads * sizeof(Fp);
  char *work;
  CUZK_STATUS_TRY(work_area(c, &work, bytes, d));
  double best = 0;
  for (int round = 0; round < 4; round++) {
    CUZK_STATUS_TRY(cuzk_cuda_fill_random_fr(c, work, bytes / sizeof(Fr), 1, d));
    CUZK_STATUS_TRY(cuzk_cuda_timer_start(c, d));
    double ops = (double)blocks * threads * RATE_STEPS;
    switch (what) {
      case CUZK_CUDA_RATE_FP_MUL: rate_kernel<Fp, 0><<<blocks, threads, 0, c->stream>>>((Fp *)work); break;
      case CUZK_CUDA_RATE_FP_SQR: rate_kernel<Fp, 1><<<blocks, threads, 0, c->stream>>>((Fp *)work); break;
      case CUZK_CUDA_RATE_FR_MUL: rate_kernel<Fr, 0><<<blocks, threads, 0, c->stream>>>((Fr *)work); break;
      case CUZK_CUDA_RATE_FR_MUL_0: rate_kernel<Mont<FrShape0>, 0><<<blocks, threads, 0, c->stream>>>((Mont<FrShape0> *)work); break;
      case CUZK_CUDA_RATE_FR_MUL_1: rate_kernel<Mont<FrShape1>, 0><<<blocks, threads, 0, c->stream>>>((Mont<FrShape1> *)work); break;
      case CUZK_CUDA_RATE_FP_ADD:
        rate_kernel<Fp, 2><<<blocks, threads, 0, c->stream>>>((Fp *)work);
        ops *= 2;
        break;
      case CUZK_CUDA_RATE_COPY:
        CUZK_CUDA(cudaMemcpyAsync(work, work + copy_bytes, copy_bytes, cudaMemcpyDeviceToDevice, c->stream));
        ops = 2.0 * (double)copy_bytes;
        break;
      default: return say(d, CUZK_E_ARG, "unknown rate %d", (int)what);
    }
    CUZK_LAUNCHED("rate kernel");
    float ms;
    CUZK_STATUS_TRY(cuzk_cuda_timer_stop(c, &ms, d));
    if (ops / ms * 1e3 > best) best = ops / ms * 1e3;
  }
  *rate = best;
  return CUZK_OK;
}
