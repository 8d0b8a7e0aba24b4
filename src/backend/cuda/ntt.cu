/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Transforms over Fr. A vector of 2^log_n elements is worked through in passes of at most nine index bits, from the top bits
 * down (decimation in frequency, natural to bit-reversed order) or from the bottom up (decimation in time, reversed to
 * natural): no permutation. A pass over the k bits above bit s takes, for every value of the other bits, the 2^k-point
 * transform over the middle bits, and multiplies the element at (m, lo) by omega^(lo reverse(m)), omega of order 2^(s+k), which
 * joins it to the pass below. These factors are read from a table of the pass, laid out as the data, with powers of the coset
 * shift and constants multiplied in, so that scaling costs no products of its own.
 *
 * A block holds 2048 elements, eight a thread in registers: rounds of eight-point transforms, exchanged through shared memory.
 * Values between rounds are loose (below 2 r), stored results of the last pass canonical. */
#include <vector>

#include "backend/cuda/device.cuh"
#include "backend/cuda/partition.h"

namespace cuzk_gpu {
namespace {

constexpr int THREADS = 256;
constexpr int TILE = 2048;
constexpr unsigned TILE_LOG = 11;
/* Four elements after every 32, against bank conflicts of groups of four; none where a block has 64 KiB (Turing), all of which the
 * elements take. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int PADDING = 0;
#else
constexpr int PADDING = 4;
#endif
constexpr int PADDED = TILE + TILE / 32 * PADDING;
constexpr size_t SHARED = (size_t)TILE / 8 * 9 * 32, SHARED_SMALL = (size_t)TILE * 32;
static_assert(SHARED <= AMPLE_SHARED_BYTES && SHARED_SMALL <= NEEDED_SHARED_BYTES, "shared memory of a block");

struct PassArgs {
  Fr *v;
  const Fr *boundary; /* factors at (m, lo), or null */
  const Fr *rounds;
  const Fr *times;    /* elementwise factor on loading, or null */
  const Fr *minus;    /* subtracted before storing, or null */
  uint32_t s, k;
  bool last;          /* store canonical values */
  Fr w4, w8, w8_3;
};

__device__ __forceinline__ int padded(int i) { return i + (i >> 5) * PADDING; }

__device__ __forceinline__ void put(uint4 *sh, int i, const Fr &x) {
  const int p = padded(i);
  sh[p] = make_uint4(x.l[0], x.l[1], x.l[2], x.l[3]);
  sh[PADDED + p] = make_uint4(x.l[4], x.l[5], x.l[6], x.l[7]);
}
__device__ __forceinline__ void get(Fr &x, const uint4 *sh, int i) {
  const int p = padded(i);
  const uint4 a = sh[p], b = sh[PADDED + p];
  x.l[0] = a.x;
  x.l[1] = a.y;
  x.l[2] = a.z;
  x.l[3] = a.w;
  x.l[4] = b.x;
  x.l[5] = b.y;
  x.l[6] = b.z;
  x.l[7] = b.w;
}

__device__ __forceinline__ void butterfly(Fr &x, Fr &y) {
  Fr t;
  sub_loose(t, x, y);
  add_loose(x, x, y);
  y = t;
}

/* Three stages over register bits 2, 1, 0, the first `skip` left out; natural in, reversed out. */
__device__ __forceinline__ void dif8(Fr v[8], int skip, const PassArgs &a) {
  if (skip < 1) {
#pragma unroll
    for (int j = 0; j < 4; j++) butterfly(v[j], v[j + 4]);
    mul_loose(v[5], a.w8, v[5]);
    mul_loose(v[6], a.w4, v[6]);
    mul_loose(v[7], a.w8_3, v[7]);
  }
  if (skip < 2) {
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      butterfly(v[j], v[j + 2]);
      butterfly(v[j + 1], v[j + 3]);
      mul_loose(v[j + 3], a.w4, v[j + 3]);
    }
  }
#pragma unroll
  for (int j = 0; j < 8; j += 2) butterfly(v[j], v[j + 1]);
}
__device__ __forceinline__ void dit8(Fr v[8], int skip, const PassArgs &a) {
#pragma unroll
  for (int j = 0; j < 8; j += 2) butterfly(v[j], v[j + 1]);
  if (skip < 2) {
#pragma unroll
    for (int j = 0; j < 8; j += 4) {
      mul_loose(v[j + 3], a.w4, v[j + 3]);
      butterfly(v[j], v[j + 2]);
      butterfly(v[j + 1], v[j + 3]);
    }
  }
  if (skip < 1) {
    mul_loose(v[5], a.w8, v[5]);
    mul_loose(v[6], a.w4, v[6]);
    mul_loose(v[7], a.w8_3, v[7]);
#pragma unroll
    for (int j = 0; j < 4; j++) butterfly(v[j], v[j + 4]);
  }
}

/* Where thread t's register j stands in the tile in the round over middle bits q, q+1, q+2. g: log2 of the neighbours that are
 * worked on side by side. */
struct Place {
  int base, step, low;
};
__device__ __forceinline__ Place place(int t, int q, int g) {
  const int column = t & ((1 << g) - 1), rest = t >> g;
  Place p;
  p.low = rest & ((1 << q) - 1);
  const int mid = ((rest >> q) << (q + 3)) | p.low;
  p.base = (mid << g) | column;
  p.step = 1 << (q + g);
  return p;
}

/* Element number i of the tile in the vector. */
__device__ __forceinline__ size_t address(const PassArgs &a, int i, int g, size_t tile) {
  const size_t mid = (size_t)(i >> g), column = (size_t)(i & ((1 << g) - 1));
  if (a.s == 0) return (((tile << g) + column) << a.k) + mid;
  const size_t lo_tiles = (size_t)1 << (a.s - g);
  const size_t hi = tile / lo_tiles, lo = ((tile % lo_tiles) << g) + column;
  return (hi << (a.s + a.k)) + (mid << a.s) + lo;
}

__device__ __forceinline__ void twiddle(Fr v[8], const Fr *rounds, int q, int low) {
#pragma unroll
  for (int j = 1; j < 8; j++) {
    Fr w;
    load_const(w, rounds + (8 << q) + (j << q) + low);
    mul_loose(v[j], w, v[j]);
  }
}

__global__ void __launch_bounds__(THREADS, 2) pass_dif(const PassArgs a) {
  extern __shared__ uint4 sh[];
  const int t = threadIdx.x, g = (int)TILE_LOG - (int)a.k;
  const size_t tile = blockIdx.x;
  Fr v[8];
  int q = (int)a.k - 3;
  Place p = place(t, q, g);
#pragma unroll
  for (int j = 0; j < 8; j++) load(v[j], a.v + address(a, p.base + j * p.step, g, tile));
  if (a.times) {
#pragma unroll
    for (int j = 0; j < 8; j++) {
      Fr w;
      load(w, a.times + address(a, p.base + j * p.step, g, tile));
      mul_loose(v[j], w, v[j]);
    }
  }
  int skip = 0;
#pragma unroll 1
  for (;;) {
    dif8(v, skip, a);
    if (q == 0) break;
    twiddle(v, a.rounds, q, p.low);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 8; j++) put(sh, p.base + j * p.step, v[j]);
    __syncthreads();
    skip = q < 3 ? 3 - q : 0;
    q = q < 3 ? 0 : q - 3;
    p = place(t, q, g);
#pragma unroll
    for (int j = 0; j < 8; j++) get(v[j], sh, p.base + j * p.step);
  }
  const size_t mask = ((size_t)1 << (a.s + a.k)) - 1;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const size_t at = address(a, p.base + j * p.step, g, tile);
    if (a.boundary) {
      Fr w;
      load(w, a.boundary + (at & mask));
      mul_loose(v[j], w, v[j]);
    }
    if (a.last) reduce(v[j], v[j]);
    if (a.minus) {
      Fr w;
      load(w, a.minus + at);
      sub(v[j], v[j], w);
    }
    store(a.v + at, v[j]);
  }
}

__global__ void __launch_bounds__(THREADS, 2) pass_dit(const PassArgs a) {
  extern __shared__ uint4 sh[];
  const int t = threadIdx.x, g = (int)TILE_LOG - (int)a.k;
  const size_t tile = blockIdx.x;
  const size_t mask = ((size_t)1 << (a.s + a.k)) - 1;
  Fr v[8];
  int q = 0, skip = (int)a.k % 3 == 0 ? 0 : 3 - (int)a.k % 3;
  Place p = place(t, q, g);
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const size_t at = address(a, p.base + j * p.step, g, tile);
    load(v[j], a.v + at);
    if (a.boundary) {
      Fr w;
      load(w, a.boundary + (at & mask));
      mul_loose(v[j], w, v[j]);
    }
  }
#pragma unroll 1
  for (;;) {
    dit8(v, skip, a);
    if (q == (int)a.k - 3) break;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 8; j++) put(sh, p.base + j * p.step, v[j]);
    __syncthreads();
    q += 3 - skip;
    skip = 0;
    p = place(t, q, g);
#pragma unroll
    for (int j = 0; j < 8; j++) get(v[j], sh, p.base + j * p.step);
    twiddle(v, a.rounds, q, p.low);
  }
#pragma unroll
  for (int j = 0; j < 8; j++) {
    if (a.last) reduce(v[j], v[j]);
    store(a.v + address(a, p.base + j * p.step, g, tile), v[j]);
  }
}

/* Vectors of at most 2048 elements, one block, radix two. roots: powers of omega, n/2 of them; factors at the reversed
 * positions, or null. */
__global__ void small_transform(Fr *v, const Fr *roots, const Fr *factors, const Fr *times, const Fr *minus, unsigned log_n,
                                bool dif) {
  extern __shared__ uint4 raw[];
  Fr *sh = reinterpret_cast<Fr *>(raw);
  const unsigned n = 1u << log_n;
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    Fr x = v[i];
    if (times) mul(x, times[i], x);
    if (!dif && factors) mul(x, factors[i], x);
    sh[i] = x;
  }
  __syncthreads();
  for (unsigned st = 0; st < log_n; st++) {
    const unsigned bit = dif ? log_n - 1 - st : st, half = 1u << bit;
    for (unsigned k = threadIdx.x; k < n / 2; k += blockDim.x) {
      const unsigned j = k & (half - 1), i = ((k >> bit) << (bit + 1)) | j;
      Fr x = sh[i], y = sh[i + half], w = roots[(size_t)j << (log_n - 1 - bit)], u;
      if (dif) {
        sub(u, x, y);
        add(x, x, y);
        mul(y, w, u);
      } else {
        mul(y, w, y);
        sub(u, x, y);
        add(x, x, y);
        y = u;
      }
      sh[i] = x;
      sh[i + half] = y;
    }
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
    Fr x = sh[i];
    if (dif && factors) mul(x, factors[i], x);
    if (minus) sub(x, x, minus[i]);
    v[i] = x;
  }
}

__global__ void reverse_kernel(Fr *v, unsigned log_n) {
  const size_t n = (size_t)1 << log_n;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    const size_t j = log_n ? (size_t)(__brevll((unsigned long long)i) >> (64 - log_n)) : 0;
    if (i < j) {
      Fr x, y;
      load(x, v + i);
      load(y, v + j);
      store(v + i, y);
      store(v + j, x);
    }
  }
}

/* out[(m, lo)] = omega_n^((lo reverse(m)) << shift) fac[m]; omega_n's powers in two levels of h bits. */
__global__ void boundary_kernel(Fr *out, const Fr *high, const Fr *low, const Fr *fac, unsigned s, unsigned k, unsigned shift,
                                unsigned h) {
  const size_t n = (size_t)1 << (s + k);
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    const uint32_t m = (uint32_t)(i >> s);
    const uint64_t lo = i & (((uint64_t)1 << s) - 1);
    const uint64_t e = (lo * (__brev(m) >> (32 - k))) << shift;
    Fr x, y;
    load_const(x, high + (e >> h));
    load_const(y, low + (e & (((uint64_t)1 << h) - 1)));
    mul(x, x, y);
    load_const(y, fac + m);
    mul(x, x, y);
    store(out + i, x);
  }
}

/* v[(m, lo)] times the factor of boundary_kernel: what joins two passes where there is no table of it. */
__global__ void lean_boundary_kernel(Fr *v, const Fr *high, const Fr *low, const Fr *fac, size_t n, unsigned s, unsigned k,
                                     unsigned shift, unsigned h) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    const uint32_t m = (uint32_t)(i >> s) & ((1u << k) - 1);
    const uint64_t lo = i & (((uint64_t)1 << s) - 1);
    const uint64_t e = (lo * (__brev(m) >> (32 - k))) << shift;
    Fr x, y;
    load_const(x, high + (e >> h));
    load_const(y, low + (e & (((uint64_t)1 << h) - 1)));
    mul(x, x, y);
    load_const(y, fac + m);
    mul(x, x, y);
    load(y, v + i);
    mul_loose(x, x, y);
    store(v + i, x);
  }
}

__global__ void subtract_kernel(Fr *a, const Fr *b, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    Fr x, y;
    load(x, a + i);
    load(y, b + i);
    sub(x, x, y);
    store(a + i, x);
  }
}

/* --- host side: roots and tables ----------------------------------------------------------------------------------------- */

Fr fr_of(const uint32_t (&l)[8]) {
  Fr r;
  for (int i = 0; i < 8; i++) r.l[i] = l[i];
  return r;
}
/* 7^((r-1)/2^32) and 7, Montgomery. */
const uint32_t ROOT_2_32[8] = {0x5f0e466au, 0xb9b58d8cu, 0x1819d7ecu, 0x5b1b4c80u, 0x52a31e64u, 0x0af53ae3u, 0x19e9b27bu, 0x5bf3addau};
const uint32_t SHIFT[8] = {0xfffffff1u, 0x0000000eu, 0x00189c0fu, 0x17e363d3u, 0x6f8457b0u, 0xff9c5787u, 0x8fc5a8c4u, 0x35133220u};

Fr power(const Fr &a, uint64_t e) {
  Fr r, b = a;
  set_one(r);
  for (; e; e >>= 1) {
    if (e & 1) mul(r, r, b);
    mul(b, b, b);
  }
  return r;
}
Fr inverse(const Fr &a) { /* a^(r-2) */
  Fr r;
  set_one(r);
  for (int i = 254; i >= 0; i--) {
    uint32_t limb = FrParams::m(i / 32);
    if (i / 32 == 0) limb = 0xffffffffu; /* r - 2: the low two limbs are all ones, less a borrow */
    if (i / 32 == 1) limb = 0xfffffffeu;
    mul(r, r, r);
    if ((limb >> (i % 32)) & 1) mul(r, r, a);
  }
  return r;
}
Fr small_int(uint32_t v) { /* v in Montgomery form, by doubling */
  Fr r, one;
  set_zero(r);
  set_one(one);
  for (int i = 31; i >= 0; i--) {
    add(r, r, r);
    if ((v >> i) & 1) add(r, r, one);
  }
  return r;
}
uint32_t reverse_bits(uint32_t v, unsigned k) {
  uint32_t r = 0;
  for (unsigned i = 0; i < k; i++) r |= ((v >> i) & 1u) << (k - 1 - i);
  return r;
}

cuzk_status upload_new(cuzk_cuda *c, Fr **out, const std::vector<Fr> &v, cuzk_detail *d) {
  CUZK_STATUS_TRY(device_malloc(c, (void **)out, v.size() * sizeof(Fr), d));
  CUZK_CUDA(cudaMemcpyAsync(*out, v.data(), v.size() * sizeof(Fr), cudaMemcpyHostToDevice, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  return CUZK_OK;
}

bool is_dif(cuzk_cuda_ntt_kind kind) { return kind != CUZK_CUDA_NTT_RN && kind != CUZK_CUDA_COSET_NTT_RN; }

void free_tables(cuzk_cuda *c, NttTables &t) {
  for (int p = 0; p < MAX_PASSES; p++) {
    device_free(c, t.boundary[p]);
    device_free(c, t.factor[p]);
    t.boundary[p] = t.factor[p] = nullptr;
  }
  device_free(c, t.rounds);
  device_free(c, t.high);
  device_free(c, t.low);
  t.rounds = t.high = t.low = nullptr;
  t.ready = false;
}

cuzk_status build_tables(cuzk_cuda *c, NttTables &t, unsigned log_n, cuzk_cuda_ntt_kind kind, cuzk_detail *d) {
  const bool dif = is_dif(kind);
  Fr omega = fr_of(ROOT_2_32), shift, constant, one;
  set_one(one);
  for (unsigned i = log_n; i < 32; i++) mul(omega, omega, omega);
  if (dif) omega = inverse(omega);
  shift = one;
  constant = one;
  const Fr g = fr_of(SHIFT);
  if (kind == CUZK_CUDA_COSET_NTT_RN || kind == CUZK_CUDA_H_AB) shift = g;
  if (kind == CUZK_CUDA_COSET_INTT_NR || kind == CUZK_CUDA_H_ICOSET) shift = inverse(g);
  if (dif) constant = inverse(power(small_int(2), log_n));
  if (kind == CUZK_CUDA_H_ICOSET || kind == CUZK_CUDA_H_C) {
    Fr z = g;
    for (unsigned i = 0; i < log_n; i++) mul(z, z, z);
    sub(z, z, one);
    mul(constant, constant, inverse(z));
  }
  const bool scaled = !eq(shift, one) || !eq(constant, one);
  if (log_n <= TILE_LOG) {
    const uint32_t n = 1u << log_n;
    std::vector<Fr> roots(n > 1 ? n / 2 : 1), fac(n);
    roots[0] = one;
    for (size_t i = 1; i < roots.size(); i++) mul(roots[i], roots[i - 1], omega);
    Fr x = constant;
    for (uint32_t i = 0; i < n; i++) {
      fac[reverse_bits(i, log_n)] = x;
      mul(x, x, shift);
    }
    t.passes = 1;
    CUZK_STATUS_TRY(upload_new(c, &t.rounds, roots, d));
    if (scaled) CUZK_STATUS_TRY(upload_new(c, &t.boundary[0], fac, d));
    t.ready = true;
    return CUZK_OK;
  }
  t.passes = (int)((log_n + 8) / 9);
  unsigned left = log_n;
  for (int p = 0; p < t.passes; p++) {
    t.k[p] = (left + (unsigned)(t.passes - p) - 1) / (unsigned)(t.passes - p);
    left -= t.k[p];
    t.s[p] = left;
  }
  t.w8 = power(omega, (uint64_t)1 << (log_n - 3));
  mul(t.w4, t.w8, t.w8);
  mul(t.w8_3, t.w4, t.w8);
  /* Between the rounds: entry (j, low) of the round over bits q.. is omega_(2^(q+3))^(low reverse3(j)). */
  std::vector<Fr> rounds((size_t)1024);
  for (unsigned q = 0; q <= 6; q++) {
    const Fr w = power(omega, (uint64_t)1 << (log_n - 3 - q));
    for (uint32_t j = 0; j < 8; j++) {
      const Fr wj = power(w, reverse_bits(j, 3));
      Fr x = one;
      for (uint32_t low = 0; low < 1u << q; low++) {
        rounds[(8u << q) + (j << q) + low] = x;
        mul(x, x, wj);
      }
    }
  }
  CUZK_STATUS_TRY(upload_new(c, &t.rounds, rounds, d));
  const unsigned h = (log_n + 1) / 2;
  std::vector<Fr> low((size_t)1 << h), high((size_t)1 << (log_n - h));
  low[0] = high[0] = one;
  for (size_t i = 1; i < low.size(); i++) mul(low[i], low[i - 1], omega);
  Fr step;
  mul(step, low[low.size() - 1], omega);
  for (size_t i = 1; i < high.size(); i++) mul(high[i], high[i - 1], step);
  if (c->lean && log_n > LEAN_LOG) {
    t.h = h;
    CUZK_STATUS_TRY(upload_new(c, &t.low, low, d));
    CUZK_STATUS_TRY(upload_new(c, &t.high, high, d));
  }
  char *work;
  Carver size(nullptr);
  size.take<Fr>(low.size());
  size.take<Fr>(high.size());
  size.take<Fr>(512);
  CUZK_STATUS_TRY(work_area(c, &work, size.used, d));
  Carver cut(work);
  Fr *d_low = cut.take<Fr>(low.size()), *d_high = cut.take<Fr>(high.size()), *d_fac = cut.take<Fr>(512);
  CUZK_CUDA(cudaMemcpyAsync(d_low, low.data(), low.size() * sizeof(Fr), cudaMemcpyHostToDevice, c->stream));
  CUZK_CUDA(cudaMemcpyAsync(d_high, high.data(), high.size() * sizeof(Fr), cudaMemcpyHostToDevice, c->stream));
  unsigned offset = 0; /* weight of the pass's digit in the natural index of a coefficient */
  for (int p = 0; p < t.passes; p++) {
    const unsigned k = t.k[p], s = t.s[p];
    std::vector<Fr> fac((size_t)1 << k);
    const Fr sp = power(shift, (uint64_t)1 << offset);
    Fr x = p == 0 ? constant : one;
    for (uint32_t i = 0; i < 1u << k; i++) {
      fac[reverse_bits(i, k)] = x;
      mul(x, x, sp);
    }
    offset += k;
    if (s == 0) {
      if (!eq(shift, one) || p == 0) CUZK_STATUS_TRY(upload_new(c, &t.boundary[p], fac, d));
      continue;
    }
    if (c->lean && s + k > LEAN_LOG) {
      CUZK_STATUS_TRY(upload_new(c, &t.factor[p], fac, d));
      continue;
    }
    CUZK_STATUS_TRY(device_malloc(c, (void **)&t.boundary[p], sizeof(Fr) << (s + k), d));
    CUZK_CUDA(cudaMemcpyAsync(d_fac, fac.data(), fac.size() * sizeof(Fr), cudaMemcpyHostToDevice, c->stream));
    boundary_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>(t.boundary[p], d_high, d_low, d_fac, s, k,
                                                                   log_n - s - k, h);
    CUZK_LAUNCHED("boundary_kernel");
    CUZK_CUDA(cudaStreamSynchronize(c->stream));
  }
  t.ready = true;
  return CUZK_OK;
}

cuzk_status transform(cuzk_cuda *c, Fr *v, unsigned log_n, cuzk_cuda_ntt_kind kind, const Fr *times, const Fr *minus,
                      cuzk_detail *d) {
  if (log_n > MAX_LOG_N || kind < 0 || kind >= CUZK_CUDA_TRANSFORMS)
    return say(d, CUZK_E_ARG, "transform of 2^%u elements, kind %d", log_n, (int)kind);
  NttTables &t = c->ntt[kind][log_n];
  const bool dif = is_dif(kind);
  if (!t.ready) {
    const cuzk_status st = build_tables(c, t, log_n, kind, d);
    if (st != CUZK_OK) {
      free_tables(c, t);
      return st;
    }
  }
  if (log_n <= TILE_LOG) {
    CUZK_CUDA(cudaFuncSetAttribute(small_transform, cudaFuncAttributeMaxDynamicSharedMemorySize, TILE * 32));
    small_transform<<<1, 256, sizeof(Fr) << log_n, c->stream>>>(v, t.rounds, t.boundary[0], times, minus, log_n, dif);
    CUZK_LAUNCHED("small_transform");
    return CUZK_OK;
  }
  const size_t shared = c->small_shared ? SHARED_SMALL : SHARED;
  CUZK_CUDA(cudaFuncSetAttribute(pass_dif, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  CUZK_CUDA(cudaFuncSetAttribute(pass_dit, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
  PassArgs a;
  a.v = v;
  a.rounds = t.rounds;
  a.w4 = t.w4;
  a.w8 = t.w8;
  a.w8_3 = t.w8_3;
  const unsigned blocks = 1u << (log_n - TILE_LOG);
  for (int i = 0; i < t.passes; i++) {
    const int p = dif ? i : t.passes - 1 - i;
    a.boundary = t.boundary[p];
    a.s = t.s[p];
    a.k = t.k[p];
    a.times = i == 0 ? times : nullptr;
    a.minus = i == t.passes - 1 ? minus : nullptr;
    a.last = i == t.passes - 1;
    const auto lean_boundary = [&]() {
      if (t.factor[p])
        lean_boundary_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>(v, t.high, t.low, t.factor[p], (size_t)1 << log_n, a.s, a.k,
                                                                            log_n - a.s - a.k, t.h);
    };
    if (!dif) lean_boundary();
    if (dif)
      pass_dif<<<blocks, THREADS, shared, c->stream>>>(a);
    else
      pass_dit<<<blocks, THREADS, shared, c->stream>>>(a);
    if (dif) lean_boundary();
    CUZK_LAUNCHED(dif ? "pass_dif" : "pass_dit");
  }
  return CUZK_OK;
}

}  // namespace

void ntt_free_tables(cuzk_cuda *c) {
  for (auto &kind : c->ntt)
    for (auto &t : kind) free_tables(c, t);
}

}  // namespace cuzk_gpu

using namespace cuzk_gpu;

extern "C" enum cuzk_status cuzk_cuda_transform(struct cuzk_cuda *c, void *v, unsigned log2_n, enum cuzk_cuda_ntt_kind kind,
                                                struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return transform(c, (Fr *)v, log2_n, kind, nullptr, nullptr, d);
}

extern "C" enum cuzk_status cuzk_cuda_bit_reverse(struct cuzk_cuda *c, void *v, unsigned log2_n, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  if (log2_n > MAX_LOG_N) return say(d, CUZK_E_ARG, "bit reversal of 2^%u elements", log2_n);
  reverse_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>((Fr *)v, log2_n);
  CUZK_LAUNCHED("reverse_kernel");
  return CUZK_OK;
}

static cuzk_status h_top(cuzk_cuda *c, const Fr *a, unsigned log2_n, bool *top_is_zero, cuzk_detail *d) {
  const size_t top = ((size_t)1 << log2_n) - 1;
  CUZK_CUDA(cudaMemcpyAsync(c->pinned, a + top, sizeof(Fr), cudaMemcpyDeviceToHost, c->stream));
  CUZK_CUDA(cudaStreamSynchronize(c->stream));
  *top_is_zero = is_zero(*(const Fr *)c->pinned);
  return CUZK_OK;
}

/* a and b to their values on the coset. */
static cuzk_status h_values(cuzk_cuda *c, Fr *a, Fr *b, unsigned log2_n, cuzk_detail *d) {
  CUZK_STATUS_TRY(transform(c, a, log2_n, CUZK_CUDA_H_AB, nullptr, nullptr, d));
  CUZK_STATUS_TRY(transform(c, b, log2_n, CUZK_CUDA_H_AB, nullptr, nullptr, d));
  CUZK_STATUS_TRY(transform(c, a, log2_n, CUZK_CUDA_NTT_RN, nullptr, nullptr, d));
  return transform(c, b, log2_n, CUZK_CUDA_NTT_RN, nullptr, nullptr, d);
}

extern "C" enum cuzk_status cuzk_cuda_h_poly(struct cuzk_cuda *c, void *a, void *b, void *cc, unsigned log2_n,
                                             bool *top_is_zero, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  *top_is_zero = false;
  CUZK_STATUS_TRY(h_values(c, (Fr *)a, (Fr *)b, log2_n, d));
  CUZK_STATUS_TRY(transform(c, (Fr *)cc, log2_n, CUZK_CUDA_H_C, nullptr, nullptr, d));
  CUZK_STATUS_TRY(transform(c, (Fr *)a, log2_n, CUZK_CUDA_H_ICOSET, (const Fr *)b, (const Fr *)cc, d));
  return h_top(c, (const Fr *)a, log2_n, top_is_zero, d);
}

extern "C" enum cuzk_status cuzk_cuda_h_product(struct cuzk_cuda *c, void *a, void *b, unsigned log2_n, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  CUZK_STATUS_TRY(h_values(c, (Fr *)a, (Fr *)b, log2_n, d));
  return transform(c, (Fr *)a, log2_n, CUZK_CUDA_H_ICOSET, (const Fr *)b, nullptr, d);
}

extern "C" enum cuzk_status cuzk_cuda_h_minus(struct cuzk_cuda *c, void *a, void *cc, unsigned log2_n, bool *top_is_zero,
                                              struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  *top_is_zero = false;
  CUZK_STATUS_TRY(transform(c, (Fr *)cc, log2_n, CUZK_CUDA_H_C, nullptr, nullptr, d));
  subtract_kernel<<<c->multiprocessors * 8, 256, 0, c->stream>>>((Fr *)a, (const Fr *)cc, (size_t)1 << log2_n);
  CUZK_LAUNCHED("subtract_kernel");
  return h_top(c, (const Fr *)a, log2_n, top_is_zero, d);
}

extern "C" void cuzk_cuda_set_lean(struct cuzk_cuda *c, bool lean) {
  if (c->lean == lean) return;
  cudaSetDevice(c->device);
  cudaStreamSynchronize(c->stream);
  ntt_free_tables(c);
  c->lean = lean;
}

extern "C" uint64_t cuzk_cuda_h_table_bytes(unsigned log2_n, bool lean) {
  const uint64_t few = (uint64_t)8 << 20;
  if (lean || log2_n <= LEAN_LOG) return 4 * (few + (sizeof(Fr) << (log2_n < LEAN_LOG ? log2_n : LEAN_LOG)));
  return 4 * (few + (sizeof(Fr) << log2_n) + (sizeof(Fr) << LEAN_LOG));
}
