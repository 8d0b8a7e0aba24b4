/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Key generation: powers, columns of a circuit at tau, multiples of the generators. */
#include "backend/cuda/setup.h"

#include <string.h>

#include <new>

#include "backend/cuda/finish.h"
#include "backend/cuda/fixed.cuh"
#include "backend/cuda/setup.cuh"

namespace cuzk_gpu {
namespace {

typedef unsigned long long u64;

/* --- powers --------------------------------------------------------------------------------------------------------------- */

constexpr int POWER_THREADS = 256;

struct PowersTask {
  Fr *out;
  size_t n;
  Fr first, step;      /* step: base to the number of threads */
  Fr squares[32];      /* base^(2^k) */
};

__global__ void __launch_bounds__(POWER_THREADS) powers_kernel(const __grid_constant__ PowersTask t) {
  const size_t id = blockIdx.x * (size_t)blockDim.x + threadIdx.x, width = (size_t)gridDim.x * blockDim.x;
  if (id >= t.n) return;
  Fr x = t.first;
#pragma unroll 1
  for (int k = 0; k < 32 && id >> k; k++)
    if ((id >> k) & 1) mul(x, x, t.squares[k]);
  for (size_t i = id; i < t.n; i += width) {
    store(t.out + i, x);
    mul(x, x, t.step);
  }
}

/* --- columns -------------------------------------------------------------------------------------------------------------- */

constexpr uint32_t LONG_ROW = 48;

struct ColumnsTask {
  Rows rows;
  const uint32_t *block_run;
  const Fr *lagrange;
  u64 *sums; /* eight of a variable */
  uint32_t n_inputs, first, n;
  int side;
};

__device__ __forceinline__ void add_limbs(u64 *to, const Fr &x) {
#pragma unroll
  for (int i = 0; i < 8; i++) atomicAdd(to + i, (u64)x.l[i]);
}

/* Terms begin, begin + step, ... of a row. The constant's are kept: most rows of a circuit name it. */
__device__ __forceinline__ void add_row(Fr &one, const ColumnsTask &t, const FlatUse &use, const Fr &lagrange, uint32_t begin, uint32_t end,
                                        uint32_t step) {
  for (uint32_t i = begin; i < end; i += step) {
    const FlatTerm term = t.rows.terms[i];
    const uint32_t at = place_of(variable_of(t.rows, use, term.var), t.n_inputs);
    if (at - t.first >= t.n) continue;
    Fr x;
    column_share(x, lagrange, t.rows, term.coeff);
    if (at == 0)
      add(one, one, x);
    else
      add_limbs(t.sums + 8 * (size_t)(at - t.first), x);
  }
}

/* A row a thread; rows of many terms are shared by the warp. */
__global__ void __launch_bounds__(ROW_THREADS) columns_kernel(const __grid_constant__ ColumnsTask t) {
  __shared__ u64 constant[8];
  if (threadIdx.x < 8) constant[threadIdx.x] = 0;
  __syncthreads();
  const uint64_t row = blockIdx.x * (uint64_t)ROW_THREADS + threadIdx.x;
  const uint32_t lane = threadIdx.x & 31;
  FlatUse use = {0, 0, 0};
  uint32_t begin = 0, end = 0;
  Fr lagrange, one;
  set_zero(lagrange);
  set_zero(one);
  if (row < t.rows.n_rows) {
    const uint32_t k = run_of(t.rows.runs, t.block_run[blockIdx.x], t.block_run[blockIdx.x + 1] + 1, (uint32_t)row);
    const FlatRun run = t.rows.runs[k];
    const uint32_t at = 3 * (run.first + ((uint32_t)row - run.row)) + (uint32_t)t.side;
    use = t.rows.uses[run.use];
    begin = t.rows.bound[at];
    end = t.rows.bound[at + 1];
    load_const(lagrange, t.lagrange + row);
  }
  const bool is_long = end - begin > LONG_ROW;
  if (!is_long) add_row(one, t, use, lagrange, begin, end, 1);
  __syncwarp();
  uint32_t longs = __ballot_sync(0xffffffffu, is_long);
  while (longs) {
    const int of = __ffs((int)longs) - 1;
    longs &= longs - 1;
    FlatUse u;
    Fr x;
    u.aux = __shfl_sync(0xffffffffu, use.aux, of);
    u.input = __shfl_sync(0xffffffffu, use.input, of);
    u.ext = __shfl_sync(0xffffffffu, use.ext, of);
#pragma unroll
    for (int i = 0; i < 8; i++) x.l[i] = __shfl_sync(0xffffffffu, lagrange.l[i], of);
    const uint32_t from = __shfl_sync(0xffffffffu, begin, of), to = __shfl_sync(0xffffffffu, end, of);
    add_row(one, t, u, x, from + lane, to, 32);
    __syncwarp();
  }
  if (__ballot_sync(0xffffffffu, !is_zero(one))) {
#pragma unroll 1
    for (int step = 16; step; step >>= 1) {
      Fr x;
#pragma unroll
      for (int i = 0; i < 8; i++) x.l[i] = __shfl_down_sync(0xffffffffu, one.l[i], step);
      add(one, one, x);
    }
    if (lane == 0) add_limbs(constant, one);
  }
  __syncthreads();
  if (t.first == 0 && t.n && threadIdx.x < 8 && constant[threadIdx.x]) atomicAdd(t.sums + threadIdx.x, constant[threadIdx.x]);
}

/* The rows x_j 0 = 0 that bind the inputs. */
__global__ void input_rows_kernel(u64 *sums, const Fr *lagrange, uint32_t first, uint32_t n, uint32_t n_inputs) {
  const uint32_t j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n_inputs || j - first >= n) return;
  Fr x;
  load_const(x, lagrange + j);
  add_limbs(sums + 8 * (size_t)(j - first), x);
}

__global__ void fold_kernel(Fr *out, const u64 *sums, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    u64 w[8];
    const ulonglong2 *p = reinterpret_cast<const ulonglong2 *>(sums + 8 * i);
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const ulonglong2 v = p[k];
      w[2 * k] = v.x;
      w[2 * k + 1] = v.y;
    }
    Fr x;
    fold_limbs(x, w);
    store(out + i, x);
  }
}

struct CombineTask {
  const Fr *a, *b;
  Fr *c;
  size_t first, n;
  uint32_t n_inputs;
  Fr alpha, beta, inv_gamma, inv_delta;
  u64 *result; /* n_a, n_b, first_zero */
};

__global__ void __launch_bounds__(256) combine_kernel(const __grid_constant__ CombineTask t) {
  uint32_t n_a = 0, n_b = 0;
  u64 zero = ~(u64)0;
  for (size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x; j < t.n; j += (size_t)gridDim.x * blockDim.x) {
    Fr a, b, l;
    load(a, t.a + j);
    load(b, t.b + j);
    load(l, t.c + j);
    n_a += !is_zero(a);
    n_b += !is_zero(b);
    mul(a, a, t.beta);
    mul(b, b, t.alpha);
    add(l, l, a);
    add(l, l, b);
    mul(l, l, t.first + j < t.n_inputs ? t.inv_gamma : t.inv_delta);
    store(t.c + j, l);
    if (is_zero(l) && zero == ~(u64)0) zero = t.first + j;
  }
  if (n_a) atomicAdd(t.result, (u64)n_a);
  if (n_b) atomicAdd(t.result + 1, (u64)n_b);
  if (zero != ~(u64)0) atomicMin(t.result + 2, zero);
}

/* --- dropping zeros ------------------------------------------------------------------------------------------------------- */

constexpr int DROP_THREADS = 1024;

__global__ void __launch_bounds__(DROP_THREADS) drop_count_kernel(uint32_t *count, const Fr *v, size_t n) {
  const size_t i = blockIdx.x * (size_t)DROP_THREADS + threadIdx.x;
  bool keep = false;
  if (i < n) {
    Fr x;
    load(x, v + i);
    keep = !is_zero(x);
  }
  const int kept = __syncthreads_count(keep);
  if (threadIdx.x == 0) count[blockIdx.x] = (uint32_t)kept;
}

/* Sum of the values of the threads before this one; *total of all. */
__device__ __forceinline__ uint32_t sum_before(uint32_t v, uint32_t *total) {
  __shared__ uint32_t warps[32];
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  uint32_t s = v;
#pragma unroll
  for (int step = 1; step < 32; step <<= 1) {
    const uint32_t x = __shfl_up_sync(0xffffffffu, s, step);
    if ((int)lane >= step) s += x;
  }
  if (lane == 31) warps[warp] = s;
  __syncthreads();
  if (warp == 0) {
    uint32_t w = warps[lane];
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
      const uint32_t x = __shfl_up_sync(0xffffffffu, w, step);
      if ((int)lane >= step) w += x;
    }
    warps[lane] = w;
  }
  __syncthreads();
  *total = warps[31];
  const uint32_t before = s - v + (warp ? warps[warp - 1] : 0);
  __syncthreads();
  return before;
}

/* count[i] becomes the sum of those before it, count[blocks] of all. One block. */
__global__ void __launch_bounds__(DROP_THREADS) drop_scan_kernel(uint32_t *count, uint32_t blocks) {
  uint32_t base = 0, total;
  for (uint32_t first = 0; first < blocks; first += DROP_THREADS) {
    const uint32_t i = first + threadIdx.x, v = i < blocks ? count[i] : 0;
    const uint32_t before = sum_before(v, &total);
    if (i < blocks) count[i] = base + before;
    base += total;
  }
  if (threadIdx.x == 0) count[blocks] = base;
}

__global__ void __launch_bounds__(DROP_THREADS) drop_move_kernel(Fr *out, const uint32_t *count, const Fr *v, size_t n) {
  const size_t i = blockIdx.x * (size_t)DROP_THREADS + threadIdx.x;
  Fr x;
  set_zero(x);
  if (i < n) load(x, v + i);
  const bool keep = !is_zero(x);
  uint32_t total;
  const uint32_t before = sum_before(keep, &total);
  if (keep) store(out + count[blockIdx.x] + before, x);
}

/* --- multiples of a generator ------------------------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(256) places_kernel(uint32_t *value, const Fr *s, size_t n) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  Fr x;
  load(x, s + i);
  uint32_t v[FIXED_WINDOWS];
  fixed_places(v, x);
  uint4 *to = reinterpret_cast<uint4 *>(value + FIXED_WINDOWS * i);
#pragma unroll
  for (int k = 0; k < 4; k++) to[k] = make_uint4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
}

template <class F>
__global__ void __launch_bounds__(128) encode_kernel(uint4 *out, const Affine<F> *slots, size_t n) {
  constexpr int WORDS = sizeof(Affine<F>) / 4;
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  Affine<F> p;
  load(p.x, &slots[FIXED_SLOTS * i].x);
  load(p.y, &slots[FIXED_SLOTS * i].y);
  uint32_t w[WORDS];
  encode_point(w, p);
#pragma unroll
  for (int k = 0; k < WORDS / 4; k++) out[i * (WORDS / 4) + k] = make_uint4(w[4 * k], w[4 * k + 1], w[4 * k + 2], w[4 * k + 3]);
}

struct FixedLayout {
  uint32_t *value;
  char *slots, *prefix;
};
size_t lay_out(FixedLayout &l, char *base, const cuzk_cuda *c, bool g2, size_t n) {
  Carver cut(base);
  l.value = cut.take<uint32_t>(FIXED_WINDOWS * n);
  l.slots = cut.take<char>(FIXED_SLOTS * n * (g2 ? sizeof(Affine<Fp2>) : sizeof(Affine<Fp>)));
  l.prefix = cut.take<char>(g2 ? fixed_prefix_bytes_g2(c) : fixed_prefix_bytes_g1(c));
  return cut.used;
}

unsigned blocks_for(size_t n, unsigned threads) { return (unsigned)((n + threads - 1) / threads); }

Fr element(const cuzk_fr *a) {
  Fr r;
  memcpy(&r, a, sizeof r);
  return r;
}

}  // namespace
}  // namespace cuzk_gpu

using namespace cuzk_gpu;

struct cuzk_cuda_fixed {
  bool g2;
  char *table;
};

extern "C" enum cuzk_status cuzk_cuda_powers(struct cuzk_cuda *c, void *out, const cuzk_fr *first, const cuzk_fr *base, size_t n,
                                             struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (n == 0) return CUZK_OK;
  if (n >> 32) return say(d, CUZK_E_ARG, "%zu powers: fewer than 2^32", n);
  PowersTask t;
  t.out = (Fr *)out;
  t.n = n;
  t.first = element(first);
  t.squares[0] = element(base);
  for (int k = 1; k < 32; k++) sqr(t.squares[k], t.squares[k - 1]);
  unsigned blocks = (unsigned)c->multiprocessors * 8;
  if (blocks_for(n, POWER_THREADS) < blocks) blocks = blocks_for(n, POWER_THREADS);
  const uint32_t width = blocks * POWER_THREADS;
  set_one(t.step);
  for (int k = 0; k < 32; k++)
    if ((width >> k) & 1) mul(t.step, t.step, t.squares[k]);
  powers_kernel<<<blocks, POWER_THREADS, 0, c->stream>>>(t);
  CUZK_LAUNCHED("powers_kernel");
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_lagrange(struct cuzk_cuda *c, void *out, const cuzk_fr *tau, unsigned log2_n, struct cuzk_detail *d) {
  if (log2_n > MAX_LOG_N) return say(d, CUZK_E_ARG, "a domain of 2^%u: at most 2^%u", log2_n, MAX_LOG_N);
  Fr x = element(tau), one;
  for (unsigned i = 0; i < log2_n; i++) sqr(x, x);
  set_one(one);
  if (eq(x, one)) return say(d, CUZK_E_ARG, "toxic waste: tau lies in the circuit's domain");
  cuzk_fr first;
  memcpy(&first, &one, sizeof first);
  CUZK_STATUS_TRY(cuzk_cuda_powers(c, out, &first, tau, (size_t)1 << log2_n, d));
  CUZK_STATUS_TRY(cuzk_cuda_transform(c, out, log2_n, CUZK_CUDA_INTT_NR, d));
  return cuzk_cuda_bit_reverse(c, out, log2_n, d);
}

extern "C" uint64_t cuzk_cuda_columns_bytes(size_t n) { return 8 * sizeof(u64) * (uint64_t)n; }

extern "C" enum cuzk_status cuzk_cuda_columns(struct cuzk_cuda *c, const struct cuzk_cuda_rows *r, void *out, void *scratch,
                                              const void *lagrange, int side, size_t first, size_t n, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  const uint64_t all = (uint64_t)r->n_inputs + r->n_aux;
  if (side < 0 || side > 2 || first > all || n > all - first)
    return say(d, CUZK_E_ARG, "variables %zu to %zu of side %d; the circuit has %llu", first, first + n, side, (u64)all);
  if (n == 0) return CUZK_OK;
  CUZK_CUDA(cudaMemsetAsync(scratch, 0, cuzk_cuda_columns_bytes(n), c->stream));
  const ColumnsTask t = {r->rows, r->block_run, (const Fr *)lagrange, (u64 *)scratch, r->n_inputs, (uint32_t)first, (uint32_t)n, side};
  if (r->rows.n_rows) columns_kernel<<<blocks_for(r->rows.n_rows, ROW_THREADS), ROW_THREADS, 0, c->stream>>>(t);
  CUZK_LAUNCHED("columns_kernel");
  if (side == 0) {
    input_rows_kernel<<<blocks_for(r->n_inputs, 256), 256, 0, c->stream>>>(t.sums, t.lagrange + r->rows.n_rows, t.first, t.n, r->n_inputs);
    CUZK_LAUNCHED("input_rows_kernel");
  }
  fold_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>((Fr *)out, t.sums, n);
  CUZK_LAUNCHED("fold_kernel");
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_combine(struct cuzk_cuda *c, struct cuzk_cuda_combined *out, const void *a, const void *b, void *cc,
                                              size_t first, size_t n, uint32_t n_inputs, const struct cuzk_cuda_weights *w,
                                              struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  char *work;
  CUZK_STATUS_TRY(work_area(c, &work, 3 * sizeof(u64), d));
  CUZK_CUDA(cudaMemsetAsync(work, 0, 2 * sizeof(u64), c->stream));
  CUZK_CUDA(cudaMemsetAsync(work + 2 * sizeof(u64), 0xff, sizeof(u64), c->stream));
  const CombineTask t = {(const Fr *)a,       (const Fr *)b,        (Fr *)cc, first, n, n_inputs, element(&w->alpha), element(&w->beta),
                         element(&w->inv_gamma), element(&w->inv_delta), (u64 *)work};
  combine_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>(t);
  CUZK_LAUNCHED("combine_kernel");
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, work, 3 * sizeof(u64), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  const u64 *r = (const u64 *)c->pinned;
  out->n_a = r[0];
  out->n_b = r[1];
  out->first_zero = r[2];
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_drop_zeros(struct cuzk_cuda *c, void *out, const void *v, size_t n, size_t *kept,
                                                 struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  *kept = 0;
  if (n == 0) return CUZK_OK;
  if (n >> 31) return say(d, CUZK_E_ARG, "%zu elements: fewer than 2^31", n);
  const uint32_t blocks = blocks_for(n, DROP_THREADS);
  char *work;
  CUZK_STATUS_TRY(work_area(c, &work, ((size_t)blocks + 1) * sizeof(uint32_t), d));
  uint32_t *count = (uint32_t *)work;
  drop_count_kernel<<<blocks, DROP_THREADS, 0, c->stream>>>(count, (const Fr *)v, n);
  CUZK_LAUNCHED("drop_count_kernel");
  drop_scan_kernel<<<1, DROP_THREADS, 0, c->stream>>>(count, blocks);
  CUZK_LAUNCHED("drop_scan_kernel");
  drop_move_kernel<<<blocks, DROP_THREADS, 0, c->stream>>>((Fr *)out, count, (const Fr *)v, n);
  CUZK_LAUNCHED("drop_move_kernel");
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, count + blocks, sizeof(uint32_t), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  *kept = *(const uint32_t *)c->pinned;
  return CUZK_OK;
}

template <class P>
static cuzk_status build_table(cuzk_cuda *c, char *table, const P *powers, cuzk_status (*progression)(cuzk_cuda *, void *, size_t, const P *, cuzk_detail *),
                               cuzk_detail *d) {
  CUZK_CUDA(cudaMemsetAsync(table, 0, FIXED_WINDOWS * (size_t)FIXED_STRIDE * sizeof(P), c->stream)); /* entries 0: the identity */
  for (uint32_t i = 0; i < FIXED_WINDOWS; i++)
    CUZK_STATUS_TRY(progression(c, table + i * (size_t)FIXED_STRIDE * sizeof(P), FIXED_STRIDE, powers + FIXED_BITS * i, d));
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_fixed_create(struct cuzk_cuda *c, struct cuzk_cuda_fixed **out, bool g2, struct cuzk_detail *d) {
  *out = nullptr;
  CUZK_CUDA(cudaSetDevice(c->device));
  constexpr size_t POWERS = FIXED_BITS * FIXED_WINDOWS + 32; /* a progression takes 32 */
  const size_t point = g2 ? sizeof(Affine<Fp2>) : sizeof(Affine<Fp>);
  cuzk_cuda_fixed *f = new (std::nothrow) cuzk_cuda_fixed{g2, nullptr};
  char *powers = new (std::nothrow) char[POWERS * point];
  cuzk_status st;
  if (!f || !powers) {
    st = say(d, CUZK_E_NOMEM, "CUDA device %d: no host memory for the powers of a generator", c->device);
  } else {
    st = device_malloc(c, (void **)&f->table, FIXED_WINDOWS * (size_t)FIXED_STRIDE * point, d);
    if (st == CUZK_OK && g2) {
      cuzk_cuda_generator_powers_g2(powers, POWERS);
      st = build_table<cuzk_g2_affine>(c, f->table, (const cuzk_g2_affine *)powers, cuzk_cuda_progression_g2, d);
    } else if (st == CUZK_OK) {
      cuzk_cuda_generator_powers_g1(powers, POWERS);
      st = build_table<cuzk_g1_affine>(c, f->table, (const cuzk_g1_affine *)powers, cuzk_cuda_progression_g1, d);
    }
  }
  delete[] powers;
  if (st != CUZK_OK) {
    cuzk_cuda_fixed_destroy(c, &f);
    return st;
  }
  *out = f;
  return CUZK_OK;
}

extern "C" void cuzk_cuda_fixed_destroy(struct cuzk_cuda *c, struct cuzk_cuda_fixed **f) {
  if (!*f) return;
  cudaSetDevice(c->device);
  device_free(c, (*f)->table);
  delete *f;
  *f = nullptr;
}

extern "C" uint64_t cuzk_cuda_fixed_work_bytes(const struct cuzk_cuda *c, bool g2, size_t n) {
  FixedLayout l;
  return lay_out(l, nullptr, c, g2, n);
}

extern "C" enum cuzk_status cuzk_cuda_fixed_mul(struct cuzk_cuda *c, const struct cuzk_cuda_fixed *f, void *out, const void *s, size_t n,
                                                struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (n == 0) return CUZK_OK;
  if (n > (size_t)1 << 24) return say(d, CUZK_E_ARG, "%zu multiples: at most 2^24", n);
  char *work;
  FixedLayout l;
  CUZK_STATUS_TRY(work_area(c, &work, lay_out(l, nullptr, c, f->g2, n), d));
  lay_out(l, work, c, f->g2, n);
  places_kernel<<<blocks_for(n, 256), 256, 0, c->stream>>>(l.value, (const Fr *)s, n);
  CUZK_LAUNCHED("places_kernel");
  if (f->g2) {
    CUZK_STATUS_TRY(fixed_sums_g2(c, (Affine<Fp2> *)l.slots, (const Affine<Fp2> *)f->table, l.value, n, (uint4 *)l.prefix, d));
    encode_kernel<Fp2><<<blocks_for(n, 128), 128, 0, c->stream>>>((uint4 *)out, (const Affine<Fp2> *)l.slots, n);
  } else {
    CUZK_STATUS_TRY(fixed_sums_g1(c, (Affine<Fp> *)l.slots, (const Affine<Fp> *)f->table, l.value, n, (uint4 *)l.prefix, d));
    encode_kernel<Fp><<<blocks_for(n, 128), 128, 0, c->stream>>>((uint4 *)out, (const Affine<Fp> *)l.slots, n);
  }
  CUZK_LAUNCHED("encode_kernel");
  return CUZK_OK;
}

extern "C" enum cuzk_status cuzk_cuda_wipe(struct cuzk_cuda *c, void *p, size_t n, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (!p) {
    p = c->work;
    n = c->work_bytes;
  }
  if (p && n) CUZK_CUDA(cudaMemsetAsync(p, 0, n, c->stream));
  return CUZK_OK;
}
