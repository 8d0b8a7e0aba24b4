/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two counting sorts, one below the other. First the entries of a window go to 2^high_bits bins: a block takes a tile of
 * digits, counts and reorders it in shared memory, claims its share of every bin with one global addition, and writes runs.
 * Then a block per bin sorts by the low bits with counters in shared memory. Order inside a bucket is left to chance, which
 * changes no sum. Digits of zero are dropped at the first step. */
#include "backend/cuda/sort.cuh"

namespace cuzk_gpu {
namespace {

constexpr int PART_THREADS = 512, PER_THREAD = 16, PER_THREAD_SMALL = 8; /* entries of a tile; where shared memory is 64 KiB */
constexpr int FINE_THREADS = 1024;
constexpr uint32_t NONE = 0xffffffffu;
constexpr uint32_t MAX_HIGH = 11, MAX_LOW = 13;

__global__ void digits_kernel(uint32_t *digits, const Fr *s, size_t n, const Windows w) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    Fr a;
    load(a, s + i);
    from_mont(a, a);
    const bool negative = signed_scalar(a);
    uint32_t carry = 0;
    for (uint32_t k = 0; k < w.count; k++) digits[k * n + i] = signed_digit(a, w, k, negative, carry);
  }
}

/* Adds one to counter[key] for every lane whose key is not NONE and returns the old value. Lanes of a warp that all have
 * the same key, as they do when one bucket gets everything, make one addition. All lanes of the warp must call. */
__device__ __forceinline__ uint32_t count_up(uint32_t *counter, uint32_t key) {
  int same;
  __match_all_sync(0xffffffffu, key, &same);
  if (same) {
    uint32_t old = 0;
    const uint32_t lane = threadIdx.x & 31;
    if (lane == 0 && key != NONE) old = atomicAdd(counter + key, 32);
    return __shfl_sync(0xffffffffu, old, 0) + lane;
  }
  return key != NONE ? atomicAdd(counter + key, 1) : 0;
}

/* Exclusive sum over the block (a multiple of 32 threads, at most 1024); *total gets the sum. */
__device__ __forceinline__ uint32_t block_exclusive(uint32_t v, uint32_t *total) {
  __shared__ uint32_t sums[33];
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  uint32_t x = v;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    const uint32_t y = __shfl_up_sync(0xffffffffu, x, s);
    if (lane >= (uint32_t)s) x += y;
  }
  __syncthreads();
  if (lane == 31) sums[warp] = x;
  __syncthreads();
  if (warp == 0) {
    uint32_t t = lane < warps ? sums[lane] : 0;
#pragma unroll
    for (int s = 1; s < 32; s <<= 1) {
      const uint32_t y = __shfl_up_sync(0xffffffffu, t, s);
      if (lane >= (uint32_t)s) t += y;
    }
    sums[lane] = t;
  }
  __syncthreads();
  *total = sums[warps - 1];
  return x - v + (warp ? sums[warp - 1] : 0);
}

__global__ void histogram_kernel(uint32_t *bin_count, const uint32_t *digits, size_t n, uint32_t low_bits,
                                 uint32_t high_bits) {
  __shared__ uint32_t sh[1 << MAX_HIGH];
  const uint32_t bins = 1u << high_bits;
  for (uint32_t i = threadIdx.x; i < bins; i += blockDim.x) sh[i] = 0;
  __syncthreads();
  digits += (size_t)blockIdx.y * n;
  for (size_t first = (size_t)blockIdx.x * blockDim.x; first < n; first += (size_t)gridDim.x * blockDim.x) {
    const size_t i = first + threadIdx.x;
    const uint32_t d = i < n ? digits[i] : 0;
    count_up(sh, d ? ((d & 0x7fffffffu) - 1) >> low_bits : NONE);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < bins; i += blockDim.x)
    if (sh[i]) atomicAdd(bin_count + (blockIdx.y << high_bits) + i, sh[i]);
}

/* One block: base[i] = sum of count[< i], base[n] = all; cursor = base. */
__global__ void scan_kernel(uint32_t *base, uint32_t *cursor, const uint32_t *count, uint32_t n) {
  uint32_t before = 0;
  for (uint32_t first = 0; first < n; first += blockDim.x) {
    const uint32_t i = first + threadIdx.x;
    uint32_t total;
    const uint32_t x = before + block_exclusive(i < n ? count[i] : 0, &total);
    if (i < n) base[i] = cursor[i] = x;
    before += total;
  }
  if (threadIdx.x == 0) base[n] = before;
}

template <int TILE>
struct PartShared {
  uint32_t start[1 << MAX_HIGH], goal[1 << MAX_HIGH];
  uint32_t value[TILE];
  uint16_t low[TILE], bin[TILE];
};

static_assert(sizeof(PartShared<PER_THREAD * PART_THREADS>) <= AMPLE_SHARED_BYTES, "shared memory of a block");
static_assert(sizeof(PartShared<PER_THREAD_SMALL * PART_THREADS>) <= NEEDED_SHARED_BYTES - 1024, "shared memory of a block");

template <int PER_THREAD>
__global__ void __launch_bounds__(PART_THREADS)
    partition_kernel(uint32_t *out_value, uint16_t *out_low, uint32_t *cursor, const uint32_t *digits, size_t n,
                     uint32_t low_bits, uint32_t high_bits) {
  constexpr int TILE = PER_THREAD * PART_THREADS;
  extern __shared__ uint32_t raw[];
  PartShared<TILE> &sh = *reinterpret_cast<PartShared<TILE> *>(raw);
  const uint32_t bins = 1u << high_bits;
  digits += (size_t)blockIdx.y * n;
  cursor += blockIdx.y << high_bits;
  for (uint32_t i = threadIdx.x; i < bins; i += PART_THREADS) sh.start[i] = 0;
  __syncthreads();
  const size_t first = (size_t)blockIdx.x * TILE;
  uint32_t digit[PER_THREAD], rank[PER_THREAD];
#pragma unroll
  for (int k = 0; k < PER_THREAD; k++) {
    const size_t i = first + (size_t)(k * PART_THREADS + threadIdx.x);
    digit[k] = i < n ? digits[i] : 0;
  }
#pragma unroll
  for (int k = 0; k < PER_THREAD; k++)
    rank[k] = count_up(sh.start, digit[k] ? ((digit[k] & 0x7fffffffu) - 1) >> low_bits : NONE);
  __syncthreads();
  /* Counts to starts inside the tile, and places in the bins. */
  constexpr int PER = (1 << MAX_HIGH) / PART_THREADS;
  uint32_t count[PER], sum = 0, total;
#pragma unroll
  for (int k = 0; k < PER; k++) {
    const uint32_t b = threadIdx.x * PER + k;
    count[k] = b < bins ? sh.start[b] : 0;
    sum += count[k];
  }
  uint32_t at = block_exclusive(sum, &total);
#pragma unroll
  for (int k = 0; k < PER; k++) {
    const uint32_t b = threadIdx.x * PER + k;
    if (b < bins) {
      sh.start[b] = at;
      sh.goal[b] = (count[k] ? atomicAdd(cursor + b, count[k]) : 0) - at;
      at += count[k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < PER_THREAD; k++) {
    if (digit[k] == 0) continue;
    const uint32_t key = (digit[k] & 0x7fffffffu) - 1, b = key >> low_bits, p = sh.start[b] + rank[k];
    sh.value[p] = (uint32_t)(first + (size_t)(k * PART_THREADS + threadIdx.x)) | (digit[k] & 0x80000000u);
    sh.low[p] = (uint16_t)(key & ((1u << low_bits) - 1));
    sh.bin[p] = (uint16_t)b;
  }
  __syncthreads();
  for (uint32_t p = threadIdx.x; p < total; p += PART_THREADS) {
    const uint32_t to = sh.goal[sh.bin[p]] + p; /* modulo 2^32 */
    out_value[to] = sh.value[p];
    out_low[to] = sh.low[p];
  }
}

/* The entries of a bin are scattered over the bin's own piece of `value`. There is one block a multiprocessor, so that the pieces
 * being written at a time stay in the second-level cache and go to memory as whole lines. */
__global__ void __launch_bounds__(FINE_THREADS)
    fine_kernel(uint32_t *value, uint32_t *offset, uint32_t *count, uint32_t *max_count, const uint32_t *part_value,
                const uint16_t *part_low, const uint32_t *bin_base, uint32_t low_bits, uint32_t bins) {
  extern __shared__ uint32_t sh[];
  const uint32_t keys = 1u << low_bits;
  for (uint32_t bin = blockIdx.x; bin < bins; bin += gridDim.x) {
    const uint32_t first = bin_base[bin], entries = bin_base[bin + 1] - first;
    for (uint32_t i = threadIdx.x; i < keys; i += FINE_THREADS) sh[i] = 0;
    __syncthreads();
    for (uint32_t i0 = 0; i0 < entries; i0 += 4 * FINE_THREADS) {
      uint32_t key[4];
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) {
        const uint32_t i = i0 + j * FINE_THREADS + threadIdx.x;
        key[j] = i < entries ? part_low[first + i] : NONE;
      }
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) count_up(sh, key[j]);
    }
    __syncthreads();
    /* Buckets start at even positions; a bin may use one more position than entries for each of its buckets. */
    uint32_t at = (first + (bin << low_bits) + 1) & ~1u, most = 0;
    for (uint32_t k0 = 0; k0 < keys; k0 += FINE_THREADS) {
      const uint32_t k = k0 + threadIdx.x;
      const uint32_t cnt = k < keys ? sh[k] : 0;
      uint32_t total;
      const uint32_t p = at + block_exclusive((cnt + 1) & ~1u, &total);
      at += total;
      if (k < keys) {
        offset[(bin << low_bits) + k] = p;
        count[(bin << low_bits) + k] = cnt;
        sh[k] = p;
        most = max(most, cnt);
      }
    }
#pragma unroll
    for (int j = 16; j; j >>= 1) most = max(most, __shfl_xor_sync(0xffffffffu, most, j));
    if ((threadIdx.x & 31) == 0 && most) atomicMax(max_count, most);
    __syncthreads();
    for (uint32_t i0 = 0; i0 < entries; i0 += 4 * FINE_THREADS) {
      uint32_t key[4], val[4];
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) {
        const uint32_t i = i0 + j * FINE_THREADS + threadIdx.x;
        key[j] = i < entries ? part_low[first + i] : NONE;
        val[j] = i < entries ? part_value[first + i] : 0;
      }
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) {
        const uint32_t p = count_up(sh, key[j]);
        if (key[j] != NONE) value[p] = val[j];
      }
    }
    __syncthreads();
  }
}

__global__ void pairs_kernel(uint32_t *list, uint32_t *list_count, const uint32_t *offset, const uint32_t *count,
                             uint32_t buckets, unsigned level) {
  constexpr uint32_t LARGE = 256;
  __shared__ uint32_t base, large_count, large[256];
  const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t n = b < buckets ? count[b] : 0;
  uint32_t at = b < buckets ? offset[b] : 0, pairs, stride;
  if (level == 0) {
    pairs = n >> 1;
    stride = 2;
  } else {
    const uint32_t slots = (n >> 1) + (n & 1), step = 1u << (level - 1);
    pairs = ((slots >> (level - 1)) + ((slots & (step - 1)) != 0)) >> 1;
    at >>= 1;
    stride = 2 * step;
  }
  if (threadIdx.x == 0) large_count = 0;
  uint32_t total, to = block_exclusive(pairs, &total);
  if (threadIdx.x == 0) base = total ? atomicAdd(list_count, total) : 0;
  __syncthreads();
  to += base;
  if (pairs > LARGE) large[atomicAdd(&large_count, 1)] = threadIdx.x;
  /* The warp writes the pairs of its 32 buckets side by side: entry t belongs to the last bucket that begins at or before t. */
  const uint32_t lane = threadIdx.x & 31, few = pairs > LARGE ? 0 : pairs;
  uint32_t end = few;
#pragma unroll
  for (int s = 1; s < 32; s <<= 1) {
    const uint32_t y = __shfl_up_sync(0xffffffffu, end, s);
    if (lane >= (uint32_t)s) end += y;
  }
  const uint32_t begin = end - few, all = __shfl_sync(0xffffffffu, end, 31);
  for (uint32_t t0 = 0; t0 < all; t0 += 32) {
    const uint32_t t = t0 + lane;
    uint32_t of = 0;
#pragma unroll
    for (uint32_t s = 16; s; s >>= 1)
      if (__shfl_sync(0xffffffffu, begin, of + s) <= t) of += s;
    const uint32_t k = t - __shfl_sync(0xffffffffu, begin, of);
    const uint32_t goal = __shfl_sync(0xffffffffu, to, of) + k, from = __shfl_sync(0xffffffffu, at, of) + k * stride;
    if (t < all) list[goal] = from;
  }
  __syncthreads();
  for (uint32_t l = 0; l < large_count; l++) {
    __shared__ uint32_t s_to, s_at, s_pairs;
    if (threadIdx.x == large[l]) {
      s_to = to;
      s_at = at;
      s_pairs = pairs;
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < s_pairs; k += blockDim.x) list[s_to + k] = s_at + k * stride;
    __syncthreads();
  }
}

__global__ void bits_kernel(uint32_t *value, uint32_t *count, const uint32_t *bits, size_t n) {
  __shared__ uint32_t base;
  const size_t words = (n + 31) / 32;
  for (size_t first = (size_t)blockIdx.x * blockDim.x; first < words; first += (size_t)gridDim.x * blockDim.x) {
    const size_t w = first + threadIdx.x;
    uint32_t m = w < words ? bits[w] : 0;
    if (w == words - 1 && n % 32) m &= (1u << (n % 32)) - 1;
    uint32_t total, to = block_exclusive((uint32_t)__popc(m), &total);
    if (threadIdx.x == 0) base = total ? atomicAdd(count, total) : 0;
    __syncthreads();
    to += base;
    while (m) {
      value[to++] = (uint32_t)(32 * w) + (uint32_t)__ffs((int)m) - 1;
      m &= m - 1;
    }
  }
}

/* A word of 64 variables a thread. FIELDS: those that are field elements, else the bits that are set. */
template <bool FIELDS>
__global__ void select_kernel(uint32_t *value, uint32_t *field, uint32_t *count, const Selection s) {
  __shared__ uint32_t base;
  for (size_t first = (size_t)blockIdx.x * blockDim.x; first < s.n_words; first += (size_t)gridDim.x * blockDim.x) {
    const size_t w = s.first_word + first + threadIdx.x;
    const bool mine = first + threadIdx.x < s.n_words;
    uint64_t dense = 0, m = 0, f = 0;
    if (mine) {
      f = s.is_field[w];
      dense = s.density ? s.density[w] : ~(uint64_t)0;
      if (64 * (w + 1) > s.n_aux) dense &= ((uint64_t)1 << (s.n_aux % 64)) - 1;
      m = dense & (FIELDS ? f : s.bits[w] & ~f);
    }
    uint32_t total, to = block_exclusive((uint32_t)__popcll(m), &total);
    if (threadIdx.x == 0) base = total ? atomicAdd(count, total) : 0;
    __syncthreads();
    to += base;
    const uint32_t from = mine ? (uint32_t)((s.rank ? s.rank[w] : 64 * w) - s.first_base) : 0;
    while (m) {
      const uint64_t below = (m & (0 - m)) - 1;
      value[to] = from + (uint32_t)__popcll(dense & below);
      if (FIELDS) field[to] = s.field_rank[w] + (uint32_t)__popcll(f & below);
      to++;
      m &= m - 1;
    }
  }
}

template <bool FIELDS>
cuzk_status run_select(cuzk_cuda *c, uint32_t *value, uint32_t *field, uint32_t *count, const Selection &s, cuzk_detail *d) {
  if (s.n_words == 0) return CUZK_OK;
  select_kernel<FIELDS><<<c->multiprocessors * 4, 256, 0, c->stream>>>(value, field, count, s);
  CUZK_LAUNCHED("select_kernel");
  return CUZK_OK;
}

}  // namespace

cuzk_status run_select_bits(cuzk_cuda *c, uint32_t *value, uint32_t *count, const Selection &s, cuzk_detail *d) {
  CUZK_CUDA(cudaMemsetAsync(count, 0, sizeof(uint32_t), c->stream));
  return run_select<false>(c, value, nullptr, count, s, d);
}
cuzk_status run_select_fields(cuzk_cuda *c, uint32_t *base, uint32_t *field, uint32_t *count, const Selection &s, cuzk_detail *d) {
  return run_select<true>(c, base, field, count, s, d);
}

SortPlan make_sort_plan(size_t n, uint32_t windows, uint32_t bits) {
  SortPlan p;
  p.n = n;
  p.windows = windows;
  p.bits = bits;
  uint32_t log_n = 0;
  while (((size_t)1 << log_n) < n) log_n++;
  /* Bins of about 2^14 entries, within what the counters of both steps allow. */
  uint32_t high = log_n > 14 ? log_n - 14 : 0;
  if (bits - 1 > MAX_LOW && high < bits - 1 - MAX_LOW) high = bits - 1 - MAX_LOW;
  if (high > MAX_HIGH) high = MAX_HIGH;
  if (high > bits - 2) high = bits - 2;
  p.high_bits = high;
  p.low_bits = bits - 1 - high;
  p.bins = windows << high;
  p.buckets = windows << (bits - 1);
  p.max_entries = (size_t)windows * n;
  p.max_positions = p.max_entries + p.buckets + 2;
  return p;
}

void take_sort_arrays(SortArrays &a, Carver &cut, const SortPlan &p) {
  a.bin_count = cut.take<uint32_t>(p.bins);
  a.bin_base = cut.take<uint32_t>(p.bins + 1);
  a.bin_cursor = cut.take<uint32_t>(p.bins);
  a.part_value = cut.take<uint32_t>(p.max_entries);
  a.part_low = cut.take<uint16_t>(p.max_entries);
  a.value = cut.take<uint32_t>(p.max_positions);
  a.offset = cut.take<uint32_t>(p.buckets);
  a.count = cut.take<uint32_t>(p.buckets);
  a.max_count = cut.take<uint32_t>(1);
  a.list_count = cut.take<uint32_t>(64);
  a.list = cut.take<uint32_t>(p.max_entries / 2 + 1);
}

cuzk_status run_digits(cuzk_cuda *c, uint32_t *digits, const Fr *s, size_t n, const Windows &w, cuzk_detail *d) {
  digits_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>(digits, s, n, w);
  CUZK_LAUNCHED("digits_kernel");
  return CUZK_OK;
}

template <int PER>
static cuzk_status run_partition(cuzk_cuda *c, const SortPlan &p, const SortArrays &a, const uint32_t *digits, cuzk_detail *d) {
  constexpr int TILE = PER * PART_THREADS;
  const unsigned tiles = (unsigned)((p.n + TILE - 1) / TILE);
  CUZK_CUDA(cudaFuncSetAttribute(partition_kernel<PER>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(PartShared<TILE>)));
  partition_kernel<PER><<<dim3(tiles, p.windows), PART_THREADS, sizeof(PartShared<TILE>), c->stream>>>(
      a.part_value, a.part_low, a.bin_cursor, digits, p.n, p.low_bits, p.high_bits);
  CUZK_LAUNCHED("partition_kernel");
  return CUZK_OK;
}

cuzk_status run_sort(cuzk_cuda *c, const SortPlan &p, const SortArrays &a, const uint32_t *digits, cuzk_detail *d) {
  CUZK_CUDA(cudaMemsetAsync(a.bin_count, 0, p.bins * sizeof(uint32_t), c->stream));
  CUZK_CUDA(cudaMemsetAsync(a.max_count, 0, sizeof(uint32_t), c->stream));
  CUZK_CUDA(cudaMemsetAsync(a.list_count, 0, 64 * sizeof(uint32_t), c->stream));
  unsigned blocks = (unsigned)((p.n + 8191) / 8192), most = (unsigned)c->multiprocessors * 4;
  if (blocks > most) blocks = most;
  histogram_kernel<<<dim3(blocks, p.windows), 512, 0, c->stream>>>(a.bin_count, digits, p.n, p.low_bits, p.high_bits);
  CUZK_LAUNCHED("histogram_kernel");
  scan_kernel<<<1, 1024, 0, c->stream>>>(a.bin_base, a.bin_cursor, a.bin_count, p.bins);
  CUZK_LAUNCHED("scan_kernel");
  if (c->small_shared)
    CUZK_STATUS_TRY(run_partition<PER_THREAD_SMALL>(c, p, a, digits, d));
  else
    CUZK_STATUS_TRY(run_partition<PER_THREAD>(c, p, a, digits, d));
  unsigned fine_blocks = (unsigned)c->multiprocessors;
  if (fine_blocks > p.bins) fine_blocks = p.bins;
  fine_kernel<<<fine_blocks, FINE_THREADS, sizeof(uint32_t) << p.low_bits, c->stream>>>(
      a.value, a.offset, a.count, a.max_count, a.part_value, a.part_low, a.bin_base, p.low_bits,
      p.bins);
  CUZK_LAUNCHED("fine_kernel");
  return CUZK_OK;
}

cuzk_status run_pairs(cuzk_cuda *c, const SortPlan &p, const SortArrays &a, unsigned level, cuzk_detail *d) {
  pairs_kernel<<<(p.buckets + 255) / 256, 256, 0, c->stream>>>(a.list, a.list_count + level, a.offset, a.count, p.buckets,
                                                               level);
  CUZK_LAUNCHED("pairs_kernel");
  return CUZK_OK;
}

cuzk_status run_bits(cuzk_cuda *c, uint32_t *value, uint32_t *count, const uint32_t *bits, size_t n, cuzk_detail *d) {
  CUZK_CUDA(cudaMemsetAsync(count, 0, sizeof(uint32_t), c->stream));
  if (n == 0) return CUZK_OK;
  bits_kernel<<<c->multiprocessors * 4, 256, 0, c->stream>>>(value, count, bits, n);
  CUZK_LAUNCHED("bits_kernel");
  return CUZK_OK;
}

}  // namespace cuzk_gpu
