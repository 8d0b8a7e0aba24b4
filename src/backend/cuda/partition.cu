/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Copies beside kernels, points of parameter files, rows, and the values of variables. */
#include "backend/cuda/partition.h"

#include <string.h>

#include <new>
#include <vector>

#include "backend/cuda/device.cuh"
#include "backend/cuda/points.cuh"
#include "backend/cuda/rows.cuh"
#include "backend/cuda/sort.cuh"

namespace cuzk_gpu {
namespace {

constexpr int DECODE_THREADS = 128;

template <class F>
__global__ void __launch_bounds__(DECODE_THREADS)
    decode_kernel(Affine<F> *dst, const uint4 *raw, size_t n, size_t first, unsigned reversed_bits, uint32_t *bad) {
  constexpr int WORDS = sizeof(Affine<F>) / 4;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    uint32_t w[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS / 4; k++) {
      const uint4 v = raw[i * (WORDS / 4) + k];
      w[4 * k] = v.x;
      w[4 * k + 1] = v.y;
      w[4 * k + 2] = v.z;
      w[4 * k + 3] = v.w;
    }
    Affine<F> p;
    if (!decode_point(p, w)) atomicMin(bad, (uint32_t)(first + i));
    size_t to = first + i;
    if (reversed_bits) to = (size_t)(__brevll((unsigned long long)to) >> (64 - reversed_bits));
    store(&dst[to].x, p.x);
    store(&dst[to].y, p.y);
  }
}

template <class F>
cuzk_status decode(cuzk_cuda *c, void *dst, const void *raw, size_t n, size_t first, unsigned reversed_bits, void *bad, cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (n == 0) return CUZK_OK;
  decode_kernel<F><<<c->multiprocessors * 8, DECODE_THREADS, 0, c->stream>>>((Affine<F> *)dst, (const uint4 *)raw, n, first, reversed_bits,
                                                                           (uint32_t *)bad);
  CUZK_LAUNCHED("decode_kernel");
  return CUZK_OK;
}

constexpr uint32_t LONG_COMBINATION = 48;

struct RowsTask {
  Rows rows;
  Witness z;
  const uint32_t *block_run;
  Fr *out[3];
  uint64_t size;
  unsigned long long *bad;
};

__device__ __forceinline__ void add_from_lane(Partial &p, int step) {
  Fr x;
#pragma unroll
  for (int i = 0; i < 8; i++) x.l[i] = __shfl_down_sync(0xffffffffu, p.sum.l[i], step);
  p.whole += __shfl_down_sync(0xffffffffu, p.whole, step);
  add(p.sum, p.sum, x);
}

/* A row a thread; combinations of many terms are shared by the warp. */
__global__ void __launch_bounds__(ROW_THREADS) rows_kernel(const RowsTask t) {
  const uint64_t row = blockIdx.x * (uint64_t)ROW_THREADS + threadIdx.x;
  const bool real = row < t.rows.n_rows;
  const uint32_t lane = threadIdx.x & 31;
  FlatUse use = {0, 0, 0};
  uint32_t at = 0;
  if (real) {
    const uint32_t k = run_of(t.rows.runs, t.block_run[blockIdx.x], t.block_run[blockIdx.x + 1] + 1, (uint32_t)row);
    const FlatRun run = t.rows.runs[k];
    use = t.rows.uses[run.use];
    at = 3 * (run.first + ((uint32_t)row - run.row));
  }
  Fr v[3];
#pragma unroll
  for (int m = 0; m < 3; m++) {
    const uint32_t first = real ? t.rows.bound[at + m] : 0, last = real ? t.rows.bound[at + m + 1] : 0;
    const bool is_long = last - first > LONG_COMBINATION;
    Partial p;
    start_partial(p);
    if (!is_long) add_terms(p, t.rows, t.z, use, first, last, 1);
    uint32_t longs = __ballot_sync(0xffffffffu, is_long);
    while (longs) {
      const int of = __ffs((int)longs) - 1;
      longs &= longs - 1;
      FlatUse u;
      u.aux = __shfl_sync(0xffffffffu, use.aux, of);
      u.input = __shfl_sync(0xffffffffu, use.input, of);
      u.ext = __shfl_sync(0xffffffffu, use.ext, of);
      const uint32_t from = __shfl_sync(0xffffffffu, first, of), to = __shfl_sync(0xffffffffu, last, of);
      Partial q;
      start_partial(q);
      add_terms(q, t.rows, t.z, u, from + lane, to, 32);
      __syncwarp();
#pragma unroll 1
      for (int step = 16; step; step >>= 1) add_from_lane(q, step);
      q.whole = __shfl_sync(0xffffffffu, q.whole, 0);
#pragma unroll
      for (int i = 0; i < 8; i++) q.sum.l[i] = __shfl_sync(0xffffffffu, q.sum.l[i], 0);
      if ((int)lane == of) p = q;
    }
    finish_partial(v[m], p, t.rows.small);
  }
  if (real && !row_holds(v[0], v[1], v[2])) atomicMin(t.bad, row);
  if (row >= t.size) return;
  if (!real && row - t.rows.n_rows < t.z.n_inputs) load(v[0], t.z.inputs + (row - t.rows.n_rows)); /* x_i 0 = 0 */
#pragma unroll
  for (int m = 0; m < 3; m++)
    if (t.out[m]) store(t.out[m] + row, v[m]);
}

__global__ void expand_kernel(Fr *scalars, const Selection s, const Fr *fields) {
  /* A thread a variable of a word: 64 neighbours share the word's loads. */
  const size_t all = 64 * s.n_words;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < all; i += (size_t)gridDim.x * blockDim.x) {
    const size_t w = s.first_word + i / 64;
    const uint32_t bit = (uint32_t)(i % 64);
    const uint64_t below = ((uint64_t)1 << bit) - 1;
    uint64_t dense = s.density ? s.density[w] : ~(uint64_t)0;
    if (64 * (w + 1) > s.n_aux) dense &= ((uint64_t)1 << (s.n_aux % 64)) - 1;
    if (!((dense >> bit) & 1)) continue;
    const uint64_t f = s.is_field[w];
    Fr x;
    set_zero(x);
    if ((f >> bit) & 1)
      load(x, fields + s.field_rank[w] + __popcll(f & below));
    else if ((s.bits[w] >> bit) & 1)
      set_one(x);
    store(scalars + ((s.rank ? s.rank[w] : 64 * w) - s.first_base) + __popcll(dense & below), x);
  }
}

}  // namespace
}  // namespace cuzk_gpu

using namespace cuzk_gpu;

/* --- memory and copies ----------------------------------------------------------------------------------------------------------------- */

extern "C" void cuzk_cuda_set_limit(struct cuzk_cuda *c, uint64_t bytes) {
  const std::lock_guard<std::mutex> hold(c->memory_lock);
  c->memory_limit = (size_t)bytes;
}
extern "C" uint64_t cuzk_cuda_used(struct cuzk_cuda *c) {
  const std::lock_guard<std::mutex> hold(c->memory_lock);
  return c->memory_used;
}
extern "C" uint64_t cuzk_cuda_work_bytes(const struct cuzk_cuda *c) { return c->work_bytes + c->side_bytes; }
extern "C" enum cuzk_status cuzk_cuda_release_work(struct cuzk_cuda *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  device_free(c, c->work);
  device_free(c, c->side);
  c->work = c->side = nullptr;
  c->work_bytes = c->side_bytes = 0;
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_available(struct cuzk_cuda *c, uint64_t *bytes, struct cuzk_detail *d) {
  size_t free_bytes, total;
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMemGetInfo(&free_bytes, &total));
  const std::lock_guard<std::mutex> hold(c->memory_lock);
  if (c->memory_limit) {
    const size_t left = c->memory_used < c->memory_limit ? c->memory_limit - c->memory_used : 0;
    if (left < free_bytes) free_bytes = left;
  }
  *bytes = free_bytes;
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_host_alloc(struct cuzk_cuda *c, void **out, size_t bytes, struct cuzk_detail *d) {
  *out = nullptr;
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMallocHost(out, bytes));
  return CUZK_OK;
}
extern "C" void cuzk_cuda_host_free(struct cuzk_cuda *c, void **p) {
  if (!*p) return;
  cudaSetDevice(c->device);
  cudaFreeHost(*p);
  *p = nullptr;
}

struct cuzk_cuda_lane {
  int device;
  cudaStream_t stream;
  cudaEvent_t event;
};

extern "C" enum cuzk_status cuzk_cuda_lane_create(struct cuzk_cuda *c, struct cuzk_cuda_lane **out, struct cuzk_detail *d) {
  *out = nullptr;
  cuzk_cuda_lane *l = new (std::nothrow) cuzk_cuda_lane{c->device, nullptr, nullptr};
  if (!l) return say(d, CUZK_E_NOMEM, "CUDA device %d: no host memory for a queue of copies", c->device);
  const auto open = [&]() -> cuzk_status {
    CUZK_CUDA(cudaSetDevice(c->device));
    CUZK_CUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    CUZK_CUDA(cudaEventCreateWithFlags(&l->event, cudaEventDisableTiming));
    return CUZK_OK;
  };
  const cuzk_status st = open();
  if (st != CUZK_OK) {
    cuzk_cuda_lane_destroy(&l);
    return st;
  }
  *out = l;
  return CUZK_OK;
}
extern "C" void cuzk_cuda_lane_destroy(struct cuzk_cuda_lane **pl) {
  cuzk_cuda_lane *l = *pl;
  if (!l) return;
  cudaSetDevice(l->device);
  if (l->stream) {
    cudaStreamSynchronize(l->stream);
    cudaStreamDestroy(l->stream);
  }
  if (l->event) cudaEventDestroy(l->event);
  delete l;
  *pl = nullptr;
}
extern "C" enum cuzk_status cuzk_cuda_lane_upload(struct cuzk_cuda_lane *c, void *device, const void *host, size_t bytes,
                                                  struct cuzk_detail *d) {
  if (bytes == 0) return CUZK_OK;
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_lane_download(struct cuzk_cuda_lane *c, void *host, const void *device, size_t bytes,
                                                    struct cuzk_detail *d) {
  if (bytes == 0) return CUZK_OK;
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_lane_wait(struct cuzk_cuda_lane *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_kernels_after(struct cuzk_cuda *c, struct cuzk_cuda_lane *l, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaEventRecord(l->event, l->stream));
  CUZK_CUDA(cudaStreamWaitEvent(c->stream, l->event, 0));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_lane_after(struct cuzk_cuda_lane *l, struct cuzk_cuda *c, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaEventRecord(l->event, c->stream));
  CUZK_CUDA(cudaStreamWaitEvent(l->stream, l->event, 0));
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_mark(struct cuzk_cuda *c, unsigned i, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaEventRecord(c->marks[i % 16], c->stream));
  return CUZK_OK;
}
extern "C" enum cuzk_status cuzk_cuda_between(struct cuzk_cuda *c, unsigned i, unsigned j, float *ms, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_CUDA(cudaEventSynchronize(c->marks[j % 16]));
  CUZK_CUDA(cudaEventElapsedTime(ms, c->marks[i % 16], c->marks[j % 16]));
  return CUZK_OK;
}

/* --- points -------------------------------------------------------------------------------------------------------------------------------- */

extern "C" enum cuzk_status cuzk_cuda_decode_g1(struct cuzk_cuda *c, void *dst, const void *raw, size_t n, size_t first,
                                                unsigned reversed_bits, void *bad, struct cuzk_detail *d) {
  return decode<Fp>(c, dst, raw, n, first, reversed_bits, bad, d);
}
extern "C" enum cuzk_status cuzk_cuda_decode_g2(struct cuzk_cuda *c, void *dst, const void *raw, size_t n, size_t first,
                                                unsigned reversed_bits, void *bad, struct cuzk_detail *d) {
  return decode<Fp2>(c, dst, raw, n, first, reversed_bits, bad, d);
}

/* --- rows ---------------------------------------------------------------------------------------------------------------------------------- */

namespace {
uint64_t row_blocks(const cuzk_cuda_circuit *k) { return ((uint64_t)k->n_rows + ROW_THREADS - 1) / ROW_THREADS; }

struct RowsLayout {
  FlatRun *runs;
  FlatUse *uses;
  uint32_t *ext, *bound, *block_run;
  FlatTerm *terms;
  Fr *coeffs, *small;
};
size_t lay_out(RowsLayout &l, char *memory, const cuzk_cuda_circuit *k) {
  Carver cut(memory);
  l.runs = cut.take<FlatRun>(k->n_runs);
  l.uses = cut.take<FlatUse>(k->n_uses);
  l.ext = cut.take<uint32_t>(k->n_ext);
  l.bound = cut.take<uint32_t>(3 * (size_t)k->n_own + 1);
  l.block_run = cut.take<uint32_t>(row_blocks(k) + 1);
  l.terms = cut.take<FlatTerm>(k->n_terms);
  l.coeffs = cut.take<Fr>(k->n_coeffs);
  l.small = cut.take<Fr>(2 * SMALL_INTS + 1);
  return cut.used;
}
}  // namespace

extern "C" uint64_t cuzk_cuda_rows_bytes(const struct cuzk_cuda_circuit *k) {
  RowsLayout l;
  return lay_out(l, nullptr, k);
}

extern "C" enum cuzk_status cuzk_cuda_rows_create(struct cuzk_cuda *c, struct cuzk_cuda_rows **out, const struct cuzk_cuda_circuit *k,
                                                  struct cuzk_detail *d) {
  *out = nullptr;
  CUZK_CUDA(cudaSetDevice(c->device));
  cuzk_cuda_rows *r = new (std::nothrow) cuzk_cuda_rows{};
  std::vector<uint32_t> block_run;
  try {
    block_run.resize(row_blocks(k) + 1);
  } catch (const std::bad_alloc &) {
    delete r;
    r = nullptr;
  }
  if (!r) return say(d, CUZK_E_NOMEM, "CUDA device %d: no host memory for the rows of a circuit", c->device);
  const FlatRun *runs = (const FlatRun *)k->runs;
  uint32_t at = 0;
  for (size_t b = 0; b < block_run.size(); b++) {
    while (at + 1 < k->n_runs && runs[at + 1].row <= b * ROW_THREADS) at++;
    block_run[b] = at;
  }
  Fr small[2 * SMALL_INTS + 1], one;
  set_one(one);
  set_zero(small[SMALL_INTS]);
  for (int i = 1; i <= SMALL_INTS; i++) {
    add(small[SMALL_INTS + i], small[SMALL_INTS + i - 1], one);
    sub(small[SMALL_INTS - i], small[SMALL_INTS - i + 1], one);
  }
  RowsLayout l;
  const auto fill = [&]() -> cuzk_status {
    CUZK_STATUS_TRY(device_malloc(c, (void **)&r->memory, lay_out(l, nullptr, k), d));
    lay_out(l, r->memory, k);
    const struct {
      void *to;
      const void *from;
      size_t bytes;
    } parts[] = {{l.runs, k->runs, k->n_runs * sizeof(FlatRun)},
                 {l.uses, k->uses, k->n_uses * sizeof(FlatUse)},
                 {l.ext, k->ext, k->n_ext * sizeof(uint32_t)},
                 {l.bound, k->bound, (3 * (size_t)k->n_own + 1) * sizeof(uint32_t)},
                 {l.block_run, block_run.data(), block_run.size() * sizeof(uint32_t)},
                 {l.terms, k->terms, k->n_terms * sizeof(FlatTerm)},
                 {l.coeffs, k->coeffs, k->n_coeffs * sizeof(Fr)},
                 {l.small, small, sizeof small}};
    for (const auto &p : parts)
      if (p.bytes) CUZK_CUDA(cudaMemcpyAsync(p.to, p.from, p.bytes, cudaMemcpyHostToDevice, c->stream));
    CUZK_CUDA(cudaStreamSynchronize(c->stream));
    return CUZK_OK;
  };
  const cuzk_status st = fill();
  if (st != CUZK_OK) {
    cuzk_cuda_rows_destroy(c, &r);
    return st;
  }
  r->rows = {l.runs, l.uses, l.ext, l.bound, l.terms, l.coeffs, l.small, k->n_rows, k->n_runs};
  r->block_run = l.block_run;
  r->n_inputs = k->n_inputs;
  r->n_aux = k->n_aux;
  *out = r;
  return CUZK_OK;
}

extern "C" void cuzk_cuda_rows_destroy(struct cuzk_cuda *c, struct cuzk_cuda_rows **r) {
  if (!*r) return;
  cudaSetDevice(c->device);
  device_free(c, (*r)->memory);
  delete *r;
  *r = nullptr;
}

extern "C" enum cuzk_status cuzk_cuda_rows_evaluate(struct cuzk_cuda *c, const struct cuzk_cuda_rows *r, const struct cuzk_cuda_witness *z,
                                                    void *const abc[3], unsigned log2_n, void *bad, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  const uint64_t size = (uint64_t)1 << log2_n;
  if (z->n_inputs != r->n_inputs || z->n_aux != r->n_aux || size < (uint64_t)r->rows.n_rows + z->n_inputs)
    return say(d, CUZK_E_ARG, "values of %u inputs and %u private variables in 2^%u rows; the circuit has %u, %u and %u", z->n_inputs, z->n_aux,
               log2_n, r->n_inputs, r->n_aux, r->rows.n_rows);
  CUZK_CUDA(cudaMemsetAsync(bad, 0xff, sizeof(uint64_t), c->stream));
  RowsTask t;
  t.rows = r->rows;
  t.z = {(const Fr *)z->inputs, (const uint64_t *)z->bits, (const uint64_t *)z->is_field, (const uint32_t *)z->rank, (const Fr *)z->fields,
         z->n_inputs};
  t.block_run = r->block_run;
  for (int m = 0; m < 3; m++) t.out[m] = (Fr *)abc[m];
  t.size = size;
  t.bad = (unsigned long long *)bad;
  rows_kernel<<<(unsigned)((size + ROW_THREADS - 1) / ROW_THREADS), ROW_THREADS, 0, c->stream>>>(t);
  CUZK_LAUNCHED("rows_kernel");
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_expand(struct cuzk_cuda *c, void *scalars, size_t n_bases, const struct cuzk_cuda_witness *z,
                                             const struct cuzk_cuda_selection *s, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (n_bases == 0) return CUZK_OK;
  const Selection sel = {(const uint64_t *)z->bits, (const uint64_t *)z->is_field, (const uint64_t *)s->density, (const uint32_t *)s->rank,
                         (const uint32_t *)z->rank, s->first_word, s->n_words, s->first_base, z->n_aux};
  expand_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>((Fr *)scalars, sel, (const Fr *)z->fields);
  CUZK_LAUNCHED("expand_kernel");
  return CUZK_OK;
}
