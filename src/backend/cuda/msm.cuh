/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Sums of points: affine additions with shared inversions, bucket trees, reduction; templates over the coordinate field, each
 *  instantiated in one file (msm_g1.cu, msm_g2.cu).
 *
 *  pair_kernel is the engine of everything here. It adds many independent pairs of affine points: a thread multiplies up the
 *  denominators of its pairs (writing the running products down), a block inverts the product of its threads' products, and
 *  on the way back each pair gets its own inverse: five products and a squaring for an addition, and a share of the block's
 *  inversion, which other blocks of the multiprocessor hide. Pairs with equal, opposite or absent points (and the few with a
 *  zero coordinate) are left out and done one by one at the end.
 *
 *  Buckets are summed by such levels: neighbours in a bucket's run are added, then neighbours of the results, and so on. The
 *  result of a pair stays in the slot of its first operand, so that the odd one out of a run needs no move. The work
 *  depends on the number of entries only, not on how they spread over the buckets. */
#ifndef CUZK_BACKEND_CUDA_MSM_CUH
#define CUZK_BACKEND_CUDA_MSM_CUH
#include <string.h>

#include "backend/cuda/finish.h"
#include "backend/cuda/partition.h"
#include "backend/cuda/sort.cuh"

namespace cuzk_gpu {

#ifndef CUZK_PAIR_THREADS
#define CUZK_PAIR_THREADS 128
#endif
#ifndef CUZK_PAIR_BLOCKS
#define CUZK_PAIR_BLOCKS 4
#endif
constexpr int PAIR_MOST = 128; /* pairs of a thread between two inversions */

template <class F>
struct CurveTraits;
template <>
struct CurveTraits<Fp> {
  static constexpr int threads = CUZK_PAIR_THREADS, blocks = CUZK_PAIR_BLOCKS;
};
template <>
struct CurveTraits<Fp2> {
  static constexpr int threads = 128, blocks = 2;
};

template <class F>
struct PairArgs {
  Affine<F> *slots;
  const Affine<F> *bases; /* gather mode: operands are bases[value[p]] and bases[value[p + 1]], result in slots[p / 2] */
  const uint32_t *value;
  const uint32_t *list;  /* p of every pair, or null: p = (k >> lg) << lg_stride | (k mod 2^lg) */
  const uint32_t *count_at; /* number of pairs, or null: count */
  uint64_t count;
  uint64_t step; /* in-place mode: operands are slots[p] and slots[p + step], result in slots[p] */
  uint32_t lg, lg_stride;
  uint4 *prefix;
  const Affine<F> *addend; /* constant mode: slots[p + step] = slots[p] + *addend */
  Affine<F> *slots2;       /* two-array mode: pairs from `first` on are of a second array, numbered from 0 */
  uint64_t first, step2;
  uint32_t lg2, lg_stride2;
};

enum PairMode { PAIR_GATHER, PAIR_IN_PLACE, PAIR_CONSTANT, PAIR_TWO_ARRAYS };

#ifdef __CUDACC__

/* x becomes 1/x for every thread of the block, by a product tree in shared memory. x not zero; loose in and out. */
template <class F>
__device__ __forceinline__ void block_inverse(F &x, F *tree) {
  constexpr int THREADS = CurveTraits<F>::threads;
  const int t = threadIdx.x;
  store(tree + THREADS + t, x);
  __syncthreads();
#pragma unroll 1
  for (int size = THREADS / 2; size >= 1; size >>= 1) {
    if (t < size) {
      F a, b;
      load(a, tree + 2 * (size + t));
      load(b, tree + 2 * (size + t) + 1);
      mul_loose(a, a, b);
      store(tree + size + t, a);
    }
    __syncthreads();
  }
  if (t == 0) {
    F a;
    load(a, tree + 1);
    reduce(a, a);
    inv_var(a, a);
    store(tree + 1, a);
  }
  __syncthreads();
#pragma unroll 1
  for (int size = 1; size < THREADS; size <<= 1) {
    if (t < size) {
      F inv, a, b;
      load(inv, tree + size + t);
      load(a, tree + 2 * (size + t));
      load(b, tree + 2 * (size + t) + 1);
      mul_loose(b, b, inv);
      mul_loose(a, a, inv);
      store(tree + 2 * (size + t), b);
      store(tree + 2 * (size + t) + 1, a);
    }
    __syncthreads();
  }
  load(x, tree + THREADS + t);
  __syncthreads();
}

constexpr uint32_t RARE = 0xffffffffu;

/* A pair that is no plain addition, with an inversion of its own where it needs one. */
template <class F>
__device__ __noinline__ void rare_pair(Affine<F> *out, const Affine<F> *pp, const Affine<F> *qq, bool neg_p, bool neg_q) {
  Affine<F> p, q, r;
  F den;
  load(p.x, &pp->x);
  load(p.y, &pp->y);
  load(q.x, &qq->x);
  load(q.y, &qq->y);
  if (neg_p) neg(p.y, p.y);
  if (neg_q) neg(q.y, q.y);
  const PairKind kind = pair_denominator(den, p, q);
  if (kind == PAIR_ADD || kind == PAIR_DOUBLE) inv_var(den, den);
  pair_finish(r, p, q, den, kind);
  store(&out->x, r.x);
  store(&out->y, r.y);
}

/* Where the operands of pair k are. Reading it takes two dependent loads in gather mode, so the kernel reads the place of the
 * next pair before it works on the present one. */
template <class F, PairMode MODE>
struct PairPlace {
  uint32_t u, v; /* gather mode: value[p], value[p + 1] */
  uint32_t at;
  __device__ __forceinline__ PairPlace() {}
  __device__ __forceinline__ PairPlace(const PairArgs<F> &a, uint64_t k) {
    u = v = 0;
    if (MODE == PAIR_TWO_ARRAYS && k >= a.first) {
      k -= a.first;
      at = (uint32_t)(((k >> a.lg2) << a.lg_stride2) | (k & (((uint64_t)1 << a.lg2) - 1)));
      u = 1;
      return;
    }
    at = a.list ? a.list[k] : (uint32_t)(((k >> a.lg) << a.lg_stride) | (k & (((uint64_t)1 << a.lg) - 1)));
    if (MODE == PAIR_GATHER) {
      const uint2 x = *reinterpret_cast<const uint2 *>(a.value + at);
      u = x.x;
      v = x.y;
    }
  }
  __device__ __forceinline__ const Affine<F> *p(const PairArgs<F> &a) const {
    if (MODE == PAIR_TWO_ARRAYS && u) return a.slots2 + at;
    return MODE == PAIR_GATHER ? a.bases + (u & 0x7fffffffu) : a.slots + at;
  }
  __device__ __forceinline__ const Affine<F> *q(const PairArgs<F> &a) const {
    if (MODE == PAIR_TWO_ARRAYS && u) return a.slots2 + at + a.step2;
    return MODE == PAIR_GATHER ? a.bases + (v & 0x7fffffffu) : MODE == PAIR_CONSTANT ? a.addend : a.slots + at + a.step;
  }
  __device__ __forceinline__ Affine<F> *out(const PairArgs<F> &a) const {
    if (MODE == PAIR_TWO_ARRAYS && u) return a.slots2 + at;
    return MODE == PAIR_GATHER ? a.slots + (at >> 1) : MODE == PAIR_CONSTANT ? a.slots + at + a.step : a.slots + at;
  }
  __device__ __forceinline__ bool neg_p() const { return MODE == PAIR_GATHER && u >> 31; }
  __device__ __forceinline__ bool neg_q() const { return MODE == PAIR_GATHER && v >> 31; }
};

template <class F, PairMode MODE>
__global__ void __launch_bounds__(CurveTraits<F>::threads, CurveTraits<F>::blocks) pair_kernel(const PairArgs<F> a) {
  constexpr int THREADS = CurveTraits<F>::threads;
  extern __shared__ uint4 raw[];
  F *tree = reinterpret_cast<F *>(raw);
  constexpr int VECTORS = sizeof(F) / 16;
  const uint64_t count = a.count_at ? (uint64_t)*a.count_at : a.count;
  if (count == 0) return;
  /* Rounds of equal size for all blocks. */
  const uint64_t width = (uint64_t)gridDim.x * THREADS;
  const uint64_t rounds = (count + width * PAIR_MOST - 1) / (width * PAIR_MOST);
  const int per = (int)((count + width * rounds - 1) / (width * rounds));
  const uint64_t chunk = (uint64_t)per * THREADS;
  uint4 *prefix = a.prefix + (uint64_t)blockIdx.x * PAIR_MOST * VECTORS * THREADS + threadIdx.x;
  for (uint64_t first = blockIdx.x * chunk; first < count; first += gridDim.x * chunk) {
    const uint64_t k0 = first + threadIdx.x;
    int mine = k0 < count ? (int)((count - k0 + THREADS - 1) / THREADS) : 0;
    if (mine > per) mine = per;
    F product;
    set_one(product);
    PairPlace<F, MODE> next;
    bool rare_any = false, rare_first = false;
    if (mine) next = PairPlace<F, MODE>(a, k0);
#pragma unroll 1
    for (int i = 0; i < mine; i++) {
      const PairPlace<F, MODE> at = next;
      F px, qx, den;
      load(px, &at.p(a)->x);
      load(qx, &at.q(a)->x);
      if (i + 1 < mine) next = PairPlace<F, MODE>(a, k0 + (uint64_t)(i + 1) * THREADS);
      sub(den, qx, px);
      if (is_zero(den) || is_zero(px) || is_zero(qx)) {
        /* Left out of the product; the place of its running product gets a mark that no field element looks like. */
#pragma unroll
        for (int w = 0; w < VECTORS; w++) prefix[(i * VECTORS + w) * THREADS] = make_uint4(RARE, RARE, RARE, RARE);
        rare_any = true;
        rare_first = rare_first || i == 0;
      } else if (i == 0) {
        product = den;
      } else {
        const uint4 *o = reinterpret_cast<const uint4 *>(&product);
#pragma unroll
        for (int w = 0; w < VECTORS; w++) prefix[(i * VECTORS + w) * THREADS] = o[w];
        mul_loose(product, product, den);
      }
    }
    block_inverse(product, tree);
#pragma unroll 1
    for (int i = mine - 1; i >= 0; i--) {
      const PairPlace<F, MODE> at = next;
      Affine<F> p, q;
      F den, inv;
      load(p.x, &at.p(a)->x);
      load(q.x, &at.q(a)->x);
      load(p.y, &at.p(a)->y);
      load(q.y, &at.q(a)->y);
      if (i) next = PairPlace<F, MODE>(a, k0 + (uint64_t)(i - 1) * THREADS);
      F num;
      sub(den, q.x, p.x);
      if (at.neg_p()) neg(p.y, p.y);
      if (at.neg_q()) neg(q.y, q.y);
      sub(num, q.y, p.y);
      bool rare = rare_first;
      if (i == 0) {
        inv = product;
      } else {
        uint4 *o = reinterpret_cast<uint4 *>(&inv);
#pragma unroll
        for (int w = 0; w < VECTORS; w++) o[w] = prefix[(i * VECTORS + w) * THREADS];
        rare = o[VECTORS - 1].w == RARE;
        if (!rare) {
          mul_loose(inv, inv, product);
          mul_loose(product, product, den);
        }
      }
      if (!rare) {
        Affine<F> r;
        pair_finish_add(r, p, q.x, num, inv);
        store(&at.out(a)->x, r.x);
        store(&at.out(a)->y, r.y);
      }
    }
    if (!rare_any) continue;
#pragma unroll 1
    for (int i = 0; i < mine; i++) {
      if (i == 0 ? !rare_first : prefix[(i * VECTORS + VECTORS - 1) * THREADS].w != RARE) continue;
      const PairPlace<F, MODE> place(a, k0 + (uint64_t)i * THREADS);
      rare_pair(place.out(a), place.p(a), place.q(a), place.neg_p(), place.neg_q());
    }
  }
}

/* The odd one out of every run, into its slot. */
template <class F>
__global__ void odd_kernel(Affine<F> *slots, const Affine<F> *bases, const uint32_t *value, const uint32_t *offset,
                           const uint32_t *count, uint32_t buckets) {
  const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= buckets) return;
  const uint32_t n = count[b];
  if ((n & 1) == 0) return;
  const uint32_t p = offset[b] + n - 1, v = value[p];
  Affine<F> r;
  load(r, bases + (v & 0x7fffffffu));
  if (v >> 31) neg(r.y, r.y);
  store(slots + (p >> 1), r);
}

/* Dense bucket sums. */
template <class F>
__global__ void collect_kernel(Affine<F> *sums, const Affine<F> *slots, const uint32_t *offset, const uint32_t *count,
                               uint32_t buckets) {
  const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= buckets) return;
  Affine<F> r;
  if (count[b])
    load(r, slots + (offset[b] >> 1));
  else
    set_identity(r);
  store(sums + b, r);
}

constexpr int WEIGHT_THREADS = 128;

/* A block per window and kind. Kind 0: out = sum over i of (i + 1) columns[i]; kind 1: sum of i rows[i]. Element i of a
 * window's columns stands at columns[window * window_stride + i], of its rows at rows[window * window_stride + (i << lg)]. */
template <class F>
__global__ void __launch_bounds__(WEIGHT_THREADS) weight_kernel(Xyzz<F> *out, const Affine<F> *columns, const Affine<F> *rows, uint64_t window_stride,
                              uint32_t lg_columns, uint32_t lg_rows) {
  extern __shared__ uint4 raw[];
  Xyzz<F> *sh = reinterpret_cast<Xyzz<F> *>(raw);
  const uint32_t kind = blockIdx.y, n = 1u << (kind ? lg_rows : lg_columns);
  const uint32_t per = (n + WEIGHT_THREADS - 1) / WEIGHT_THREADS, first = threadIdx.x * per;
  const Affine<F> *e = kind ? rows : columns;
  e += blockIdx.x * window_stride;
  const uint32_t lg = kind ? lg_columns : 0;
  Xyzz<F> run, sum, t;
  set_identity(run);
  set_identity(sum);
#pragma unroll 1
  for (uint32_t i = per; i-- > 0;) {
    if (first + i >= n) continue;
    Affine<F> p;
    load(p, e + ((uint64_t)(first + i) << lg));
    if (kind) {
      add_point(t, sum, run);
      sum = t;
    }
    add_affine(t, run, p);
    run = t;
    if (!kind) {
      add_point(t, sum, run);
      sum = t;
    }
  }
  mul_small(t, run, first);
  add_point(run, sum, t);
  sh[threadIdx.x] = run;
  __syncthreads();
#pragma unroll 1
  for (int size = WEIGHT_THREADS / 2; size >= 1; size >>= 1) {
    if ((int)threadIdx.x < size) {
      add_point(t, sh[threadIdx.x], sh[threadIdx.x + size]);
      sh[threadIdx.x] = t;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x * 2 + kind] = sh[0];
}

/* --- host side -------------------------------------------------------------------------------------------------------------- */

template <class F>
size_t prefix_vectors(const cuzk_cuda *c) {
  return (size_t)c->multiprocessors * CurveTraits<F>::blocks * PAIR_MOST * CurveTraits<F>::threads * (sizeof(F) / 16);
}

template <class F, PairMode MODE>
cuzk_status run_pair_kernel(cuzk_cuda *c, const PairArgs<F> &a, cuzk_detail *d) {
  if (!a.count_at && a.count == 0) return CUZK_OK;
  constexpr int THREADS = CurveTraits<F>::threads;
  unsigned blocks = (unsigned)(c->multiprocessors * CurveTraits<F>::blocks);
  if (!a.count_at && (a.count + THREADS - 1) / THREADS < blocks)
    blocks = (unsigned)((a.count + THREADS - 1) / THREADS);
  const int shared = (int)(2 * THREADS * sizeof(F));
  CUZK_CUDA(cudaFuncSetAttribute(pair_kernel<F, MODE>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  pair_kernel<F, MODE><<<blocks, THREADS, shared, c->stream>>>(a);
  CUZK_LAUNCHED("pair_kernel");
  return CUZK_OK;
}

inline uint32_t log2_floor(uint64_t v) {
  uint32_t r = 0;
  while (v >>= 1) r++;
  return r;
}

/* Bucket sums of `windows` windows of one width, 2^(bits-1) buckets each, to two points a window. sums and copy hold all
 * buckets and are destroyed. */
template <class F>
cuzk_status reduce_buckets(cuzk_cuda *c, Xyzz<F> *out, Affine<F> *sums, Affine<F> *copy, uint32_t windows, uint32_t bits,
                           uint4 *prefix, uint32_t *lg_columns, cuzk_detail *d) {
  const uint32_t all = bits - 1, columns = all / 2, rows = all - columns;
  const uint64_t stride = (uint64_t)1 << all;
  CUZK_CUDA(cudaMemcpyAsync(copy, sums, windows * stride * sizeof(Affine<F>), cudaMemcpyDeviceToDevice, c->stream));
  PairArgs<F> a = {};
  a.prefix = prefix;
  /* Column sums in `sums`: halve the number of rows, row lengths unchanged. Row sums in `copy`: halve the length of the rows.
   * One of each a launch, since the last of them are too small to fill the device. */
  a.slots = sums;
  a.slots2 = copy;
  a.lg_stride = all;
  a.lg_stride2 = columns;
  for (uint32_t i = 1; i <= rows; i++) {
    const bool both = i <= columns;
    a.lg = rows - i + columns;
    a.step = (uint64_t)1 << a.lg;
    a.first = (uint64_t)windows << a.lg;
    a.lg2 = both ? columns - i : 0;
    a.step2 = (uint64_t)1 << a.lg2;
    a.count = a.first + (both ? ((uint64_t)windows << rows) << a.lg2 : 0);
    CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_TWO_ARRAYS>(c, a, d)));
  }
  const int shared = (int)(WEIGHT_THREADS * sizeof(Xyzz<F>));
  CUZK_CUDA(cudaFuncSetAttribute(weight_kernel<F>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  weight_kernel<F><<<dim3(windows, 2), WEIGHT_THREADS, shared, c->stream>>>(out, sums, copy, stride, columns, rows);
  CUZK_LAUNCHED("weight_kernel");
  *lg_columns = columns;
  return CUZK_OK;
}

/* All pairs of one group: from sorted entries to bucket sums. */
template <class F>
cuzk_status sum_buckets(cuzk_cuda *c, Affine<F> *sums, Affine<F> *slots, const Affine<F> *bases, const SortPlan &p,
                        const SortArrays &s, uint4 *prefix, uint64_t *additions, cuzk_detail *d) {
  uint32_t *host = (uint32_t *)c->pinned;
  CUZK_CUDA(cudaMemcpyAsync(host, s.max_count, sizeof(uint32_t), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaEventRecord(c->events[13], c->stream));
  odd_kernel<F><<<(p.buckets + 255) / 256, 256, 0, c->stream>>>(slots, bases, s.value, s.offset, s.count, p.buckets);
  CUZK_LAUNCHED("odd_kernel");
  CUZK_STATUS_TRY(run_pairs(c, p, s, 0, d));
  PairArgs<F> a = {};
  a.slots = slots;
  a.bases = bases;
  a.value = s.value;
  a.list = s.list;
  a.count_at = s.list_count;
  a.prefix = prefix;
  CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_GATHER>(c, a, d)));
  /* The largest count says how many levels there are; it is there long before the first level is done. */
  CUZK_CUDA(cudaEventSynchronize(c->events[13]));
  const uint32_t slots_most = host[0] / 2 + (host[0] & 1);
  unsigned level = 1;
  for (uint64_t step = 1; step < slots_most; step <<= 1, level++) {
    CUZK_STATUS_TRY(run_pairs(c, p, s, level, d));
    a.count_at = s.list_count + level;
    a.step = step;
    CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_IN_PLACE>(c, a, d)));
  }
  collect_kernel<F><<<(p.buckets + 255) / 256, 256, 0, c->stream>>>(sums, slots, s.offset, s.count, p.buckets);
  CUZK_LAUNCHED("collect_kernel");
  if (additions) {
    CUZK_CUDA(cudaMemcpyAsync(host, s.list_count, 64 * sizeof(uint32_t), cudaMemcpyDeviceToHost, c->stream));
    CUZK_CUDA(cudaStreamSynchronize(c->stream));
    for (unsigned l = 0; l < level; l++) *additions += host[l];
  }
  return CUZK_OK;
}

/* Windows of least cost: an addition for every entry, and about three for every bucket. */
inline uint32_t choose_windows(size_t n) {
  uint32_t best = 16;
  double least = 1e300;
  for (uint32_t w = 11; w <= 40; w++) {
    const Windows x = make_windows(w);
    const double buckets = (double)x.wide * (double)(1u << (x.bits - 1)) + (double)(w - x.wide) * (double)(1u << (x.bits - 2));
    const double cost = (double)w * (double)n + 3.0 * buckets;
    if (cost < least) {
      least = cost;
      best = w;
    }
  }
  return best;
}

/* Everything of a sum in the work area. */
template <class F>
struct MsmArea {
  uint32_t *digits;
  SortArrays arrays;
  Affine<F> *slots, *sums, *copy;
  Xyzz<F> *partial;
  uint4 *prefix;
};
/* Places the arrays of a sum of n points whose windows are worked on per_group at a time; returns the bytes. */
template <class F>
size_t msm_area(MsmArea<F> &area, const cuzk_cuda *c, char *work, size_t n, const Windows &w, uint32_t per_group) {
  const uint32_t narrow = w.count - w.wide;
  const SortPlan largest = make_sort_plan(n, per_group, w.bits);
  const uint64_t wide_buckets = (uint64_t)w.wide << (w.bits - 1), narrow_buckets = (uint64_t)narrow << (w.bits - 2);
  Carver cut(work);
  area.digits = cut.take<uint32_t>((size_t)w.count * n);
  take_sort_arrays(area.arrays, cut, largest);
  area.slots = cut.take<Affine<F>>(largest.max_positions / 2 + 1);
  area.sums = cut.take<Affine<F>>(wide_buckets + narrow_buckets);
  area.copy = cut.take<Affine<F>>(wide_buckets > narrow_buckets ? wide_buckets : narrow_buckets);
  area.partial = cut.take<Xyzz<F>>(2 * w.count);
  area.prefix = cut.take<uint4>(prefix_vectors<F>(c));
  return cut.used;
}
template <class F>
size_t msm_least_bytes(const cuzk_cuda *c, size_t n) {
  MsmArea<F> area;
  return n ? msm_area<F>(area, c, nullptr, n, make_windows(choose_windows(n)), 1) : 0;
}

template <class F>
cuzk_status msm(cuzk_cuda *c, Affine<F> *out, const Affine<F> *bases, const Fr *scalars, size_t n, uint32_t windows,
                cuzk_cuda_msm_times *times, cuzk_detail *d) {
  if (times) memset(times, 0, sizeof *times);
  set_identity(*out);
  if (n == 0) return CUZK_OK;
  if (n >= (size_t)1 << 31) return say(d, CUZK_E_ARG, "sum of %zu points: at most 2^31 - 1", n);
  if (windows == 0) windows = choose_windows(n);
  if (windows < 11 || windows > 40) return say(d, CUZK_E_ARG, "%u windows: 11 to 40", windows);
  const Windows w = make_windows(windows);
  const uint32_t narrow = w.count - w.wide;
  /* Groups of windows that are sorted and summed together: at most 2^27 entries and what the work area may take, or one window. */
  uint32_t per_group = (uint32_t)(((size_t)1 << 27) / n);
  if (per_group < 1) per_group = 1;
  if (per_group > w.count) per_group = w.count;
  MsmArea<F> area;
  while (c->work_bound && per_group > 1 && msm_area<F>(area, c, nullptr, n, w, per_group) > c->work_bound) per_group--;
  const uint64_t wide_buckets = (uint64_t)w.wide << (w.bits - 1);
  char *work;
  CUZK_STATUS_TRY(work_area(c, &work, msm_area<F>(area, c, nullptr, n, w, per_group), d));
  msm_area<F>(area, c, work, n, w, per_group);
  uint32_t *const digits = area.digits;
  SortArrays &arrays = area.arrays;
  Affine<F> *const slots = area.slots, *const sums = area.sums, *const copy = area.copy;
  Xyzz<F> *const partial = area.partial;
  uint4 *const prefix = area.prefix;
  cudaEvent_t *ev = c->events;
  CUZK_CUDA(cudaEventRecord(ev[0], c->stream));
  CUZK_STATUS_TRY(run_digits(c, digits, scalars, n, w, d));
  CUZK_CUDA(cudaEventRecord(ev[1], c->stream));
  float sort_ms = 0, add_ms = 0;
  uint64_t additions = 0;
  for (uint32_t first = 0; first < w.count;) {
    const bool wide = first < w.wide;
    uint32_t group = (wide ? w.wide : w.count) - first;
    if (group > per_group) group = per_group;
    const SortPlan p = make_sort_plan(n, group, wide ? w.bits : w.bits - 1);
    Affine<F> *to = wide ? sums + ((uint64_t)first << (w.bits - 1))
                         : sums + wide_buckets + ((uint64_t)(first - w.wide) << (w.bits - 2));
    CUZK_CUDA(cudaEventRecord(ev[2], c->stream));
    CUZK_STATUS_TRY(run_sort(c, p, arrays, digits + (size_t)first * n, d));
    CUZK_CUDA(cudaEventRecord(ev[3], c->stream));
    CUZK_STATUS_TRY(sum_buckets<F>(c, to, slots, bases, p, arrays, prefix, times ? &additions : nullptr, d));
    if (times) {
      float ms;
      CUZK_CUDA(cudaEventRecord(ev[4], c->stream));
      CUZK_CUDA(cudaEventSynchronize(ev[4]));
      CUZK_CUDA(cudaEventElapsedTime(&ms, ev[2], ev[3]));
      sort_ms += ms;
      CUZK_CUDA(cudaEventElapsedTime(&ms, ev[3], ev[4]));
      add_ms += ms;
    }
    first += group;
  }
  CUZK_CUDA(cudaEventRecord(ev[5], c->stream));
  uint32_t columns_wide = 0, columns_narrow = 0;
  CUZK_STATUS_TRY(reduce_buckets<F>(c, partial, sums, copy, w.wide, w.bits, prefix, &columns_wide, d));
  if (narrow)
    CUZK_STATUS_TRY(reduce_buckets<F>(c, partial + 2 * w.wide, sums + wide_buckets, copy, narrow, w.bits - 1, prefix,
                                      &columns_narrow, d));
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, partial, 2 * w.count * sizeof(Xyzz<F>), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaEventRecord(ev[6], c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  uint32_t at[80];
  for (uint32_t i = 0; i < w.count; i++) {
    at[2 * i] = window_offset(w, i);
    at[2 * i + 1] = at[2 * i] + (i < w.wide ? columns_wide : columns_narrow);
  }
  if (sizeof(F) == sizeof(Fp))
    cuzk_cuda_finish_g1(out, c->pinned, at, 2 * w.count);
  else
    cuzk_cuda_finish_g2(out, c->pinned, at, 2 * w.count);
  if (times) {
    CUZK_CUDA(cudaEventElapsedTime(&times->digits, ev[0], ev[1]));
    CUZK_CUDA(cudaEventElapsedTime(&times->reduce, ev[5], ev[6]));
    CUZK_CUDA(cudaEventElapsedTime(&times->total, ev[0], ev[6]));
    times->sort = sort_ms;
    times->add = add_ms;
    times->windows = w.count;
    times->bits = w.bits;
    times->additions = additions;
  }
  return CUZK_OK;
}

/* Sum of the bases that emit(value, count) lists, at most n of them. */
template <class F, class Emit>
cuzk_status listed_sum(cuzk_cuda *c, Affine<F> *out, const Affine<F> *bases, size_t n, const Emit &emit, cuzk_cuda_msm_times *times,
                       cuzk_detail *d) {
  if (times) memset(times, 0, sizeof *times);
  set_identity(*out);
  if (n == 0) return CUZK_OK;
  if (n >= (size_t)1 << 31) return say(d, CUZK_E_ARG, "sum of %zu points: at most 2^31 - 1", n);
  uint32_t *value = nullptr, *count = nullptr, *zero = nullptr;
  uint4 *prefix = nullptr;
  char *work = nullptr;
  Affine<F> *slots = nullptr;
  for (int round = 0; round < 2; round++) {
    Carver cut(work);
    value = cut.take<uint32_t>(n + 2);
    count = cut.take<uint32_t>(1);
    zero = cut.take<uint32_t>(1);
    slots = cut.take<Affine<F>>(n / 2 + 1);
    prefix = cut.take<uint4>(prefix_vectors<F>(c));
    if (round == 0) CUZK_STATUS_TRY(work_area(c, &work, cut.used, d));
  }
  cudaEvent_t *ev = c->events;
  CUZK_CUDA(cudaEventRecord(ev[0], c->stream));
  CUZK_STATUS_TRY(emit(value, count));
  CUZK_CUDA(cudaMemsetAsync(zero, 0, sizeof(uint32_t), c->stream));
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, count, sizeof(uint32_t), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaEventRecord(ev[1], c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  const uint32_t set = *(const uint32_t *)c->pinned;
  if (set == 0) return CUZK_OK;
  PairArgs<F> a = {};
  a.slots = slots;
  a.bases = bases;
  a.value = value;
  a.prefix = prefix;
  a.lg_stride = 1;
  a.count = set / 2;
  CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_GATHER>(c, a, d)));
  odd_kernel<F><<<1, 32, 0, c->stream>>>(slots, bases, value, zero, count, 1);
  CUZK_LAUNCHED("odd_kernel");
  const uint64_t m = (uint64_t)set / 2 + (set & 1);
  for (uint32_t l = 0; (uint64_t)1 << l < m; l++) {
    a.step = (uint64_t)1 << l;
    a.lg_stride = l + 1;
    a.count = ((m >> l) + ((m & (a.step - 1)) != 0)) >> 1;
    CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_IN_PLACE>(c, a, d)));
  }
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, slots, sizeof *out, cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaEventRecord(ev[2], c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  memcpy(out, c->pinned, sizeof *out);
  if (times) {
    CUZK_CUDA(cudaEventElapsedTime(&times->sort, ev[0], ev[1]));
    CUZK_CUDA(cudaEventElapsedTime(&times->add, ev[1], ev[2]));
    CUZK_CUDA(cudaEventElapsedTime(&times->total, ev[0], ev[2]));
    times->additions = set - 1;
  }
  return CUZK_OK;
}

template <class F>
cuzk_status subset_sum(cuzk_cuda *c, Affine<F> *out, const Affine<F> *bases, const uint32_t *bits, size_t n, cuzk_cuda_msm_times *times,
                       cuzk_detail *d) {
  return listed_sum<F>(c, out, bases, n, [&](uint32_t *value, uint32_t *count) { return run_bits(c, value, count, bits, n, d); }, times, d);
}
template <class F>
size_t listed_bytes(const cuzk_cuda *c, size_t n) {
  return n * 4 + (n / 2 + 1) * sizeof(Affine<F>) + prefix_vectors<F>(c) * sizeof(uint4) + 2048;
}

inline Selection selection(const cuzk_cuda_witness *z, const cuzk_cuda_selection *s) {
  return {(const uint64_t *)z->bits, (const uint64_t *)z->is_field, (const uint64_t *)s->density, (const uint32_t *)s->rank,
          (const uint32_t *)z->rank, s->first_word, s->n_words, s->first_base, z->n_aux};
}

/* Bases and scalars side by side: the inputs', then those of the listed variables. A block works on whole warps of copies. */
template <class F>
__global__ void gather_kernel(Affine<F> *to, Fr *scalars, const Affine<F> *input_bases, const uint32_t *index, const Fr *inputs,
                              uint32_t n_inputs, const Affine<F> *bases, const uint32_t *base, const uint32_t *field, const Fr *fields,
                              uint32_t n) {
  constexpr uint32_t VECTORS = sizeof(Affine<F>) / 16, ALL = VECTORS + 2;
  const uint64_t pieces = (uint64_t)(n_inputs + n) * ALL;
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < pieces; i += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t k = (uint32_t)(i / ALL), v = (uint32_t)(i % ALL);
    const bool input = k < n_inputs;
    if (v < VECTORS) {
      const Affine<F> *p = input ? input_bases + k : bases + base[k - n_inputs];
      reinterpret_cast<uint4 *>(to + k)[v] = reinterpret_cast<const uint4 *>(p)[v];
    } else {
      const Fr *p = input ? inputs + (index ? index[k] : k) : fields + field[k - n_inputs];
      reinterpret_cast<uint4 *>(scalars + k)[v - VECTORS] = reinterpret_cast<const uint4 *>(p)[v - VECTORS];
    }
  }
}

template <class F>
cuzk_status fields_sum(cuzk_cuda *c, Affine<F> *out, const Affine<F> *bases, size_t n_bases, const cuzk_cuda_witness *z,
                       const cuzk_cuda_selection *s, const cuzk_cuda_inputs *in, cuzk_detail *d) {
  set_identity(*out);
  const Selection sel = selection(z, s);
  const size_t most = n_bases < z->n_fields ? n_bases : z->n_fields;
  uint32_t *base = nullptr, *field = nullptr, *count = nullptr;
  char *side = nullptr;
  size_t lists = 0;
  /* The lists first; when their length is known, what they name. */
  for (int round = 0; round < 2; round++) {
    Carver cut(side);
    count = cut.take<uint32_t>(1);
    base = cut.take<uint32_t>(most + 1);
    field = cut.take<uint32_t>(most + 1);
    lists = cut.used;
    if (round == 0) CUZK_STATUS_TRY(work_area(c, &side, lists, d));
  }
  CUZK_CUDA(cudaMemsetAsync(count, 0, sizeof(uint32_t), c->stream));
  CUZK_STATUS_TRY(run_select_fields(c, base, field, count, sel, d));
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, count, sizeof(uint32_t), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  const uint32_t n = *(const uint32_t *)c->pinned;
  const size_t all = in->n + n;
  if (all == 0) return CUZK_OK;
  Affine<F> *points = nullptr;
  Fr *scalars = nullptr;
  side = nullptr;
  for (int round = 0; round < 2; round++) {
    Carver cut(side);
    points = cut.take<Affine<F>>(all);
    scalars = cut.take<Fr>(all);
    if (round == 0) CUZK_STATUS_TRY(side_area(c, &side, cut.used, d));
  }
  gather_kernel<F><<<c->multiprocessors * 8, 256, 0, c->stream>>>(points, scalars, (const Affine<F> *)in->bases, (const uint32_t *)in->index,
                                                                 (const Fr *)z->inputs, (uint32_t)in->n, bases, base, field,
                                                                 (const Fr *)z->fields, n);
  CUZK_LAUNCHED("gather_kernel");
  return msm<F>(c, out, points, scalars, all, 0, nullptr, d);
}

/* fixed.cuh: groups of sixteen table entries. */
template <class F>
cuzk_status fixed_sums(cuzk_cuda *c, Affine<F> *slots, const Affine<F> *table, const uint32_t *value, size_t n, uint4 *prefix,
                       cuzk_detail *d) {
  PairArgs<F> a = {};
  a.slots = slots;
  a.bases = table;
  a.value = value;
  a.prefix = prefix;
  a.lg_stride = 1;
  a.count = 8 * (uint64_t)n;
  CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_GATHER>(c, a, d)));
  for (uint32_t l = 0; l < 3; l++) {
    a.step = (uint64_t)1 << l;
    a.lg_stride = l + 1;
    a.count = (4 * (uint64_t)n) >> l;
    CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_IN_PLACE>(c, a, d)));
  }
  return CUZK_OK;
}

template <class F>
cuzk_status progression(cuzk_cuda *c, Affine<F> *p, size_t n, const Affine<F> *powers, cuzk_detail *d) {
  uint4 *prefix = nullptr;
  Affine<F> *addend = nullptr;
  char *work = nullptr;
  for (int round = 0; round < 2; round++) {
    Carver cut(work);
    addend = cut.take<Affine<F>>(32);
    prefix = cut.take<uint4>(prefix_vectors<F>(c));
    if (round == 0) CUZK_STATUS_TRY(work_area(c, &work, cut.used, d));
  }
  CUZK_CUDA(cudaMemcpyAsync(addend, powers, 32 * sizeof *powers, cudaMemcpyHostToDevice, c->stream));
  PairArgs<F> a = {};
  a.slots = p;
  a.prefix = prefix;
  a.lg = 63;
  for (uint32_t k = 0; ((size_t)1 << k) < n; k++) {
    a.addend = addend + k;
    a.step = (uint64_t)1 << k;
    a.count = n - a.step < a.step ? n - a.step : a.step;
    CUZK_STATUS_TRY((run_pair_kernel<F, PAIR_CONSTANT>(c, a, d)));
  }
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  return CUZK_OK;
}

#endif

}  // namespace cuzk_gpu
#endif
