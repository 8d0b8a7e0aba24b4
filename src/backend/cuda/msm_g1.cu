/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "backend/cuda/fixed.cuh"
#include "backend/cuda/msm.cuh"

using namespace cuzk_gpu;

extern "C" enum cuzk_status cuzk_cuda_msm_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *p, const void *s, size_t n,
                                             unsigned windows, struct cuzk_cuda_msm_times *times, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return msm<Fp>(c, (Affine<Fp> *)out, (const Affine<Fp> *)p, (const Fr *)s, n, windows, times, d);
}
extern "C" enum cuzk_status cuzk_cuda_subset_sum_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *p, const void *bits,
                                                    size_t n, struct cuzk_cuda_msm_times *times, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return subset_sum<Fp>(c, (Affine<Fp> *)out, (const Affine<Fp> *)p, (const uint32_t *)bits, n, times, d);
}
extern "C" enum cuzk_status cuzk_cuda_progression_g1(struct cuzk_cuda *c, void *p, size_t n, const cuzk_g1_affine powers[32],
                                                     struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return progression<Fp>(c, (Affine<Fp> *)p, n, (const Affine<Fp> *)powers, d);
}

extern "C" enum cuzk_status cuzk_cuda_sum_bits_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *bases, size_t n_bases,
                                                  const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s,
                                                  struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  const Selection sel = selection(z, s);
  return listed_sum<Fp>(
      c, (Affine<Fp> *)out, (const Affine<Fp> *)bases, n_bases,
      [&](uint32_t *value, uint32_t *count) { return run_select_bits(c, value, count, sel, d); }, nullptr, d);
}
extern "C" enum cuzk_status cuzk_cuda_sum_fields_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *bases, size_t n_bases,
                                                    const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s,
                                                    const struct cuzk_cuda_inputs *in, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return fields_sum<Fp>(c, (Affine<Fp> *)out, (const Affine<Fp> *)bases, n_bases, z, s, in, d);
}

namespace cuzk_gpu {
size_t msm_g2_bytes(const cuzk_cuda *c, size_t n); /* msm_g2.cu */
size_t listed_g2_bytes(const cuzk_cuda *c, size_t n);
}  // namespace cuzk_gpu

extern "C" uint64_t cuzk_cuda_msm_bytes(const struct cuzk_cuda *c, bool g2, size_t n) {
  return g2 ? msm_g2_bytes(c, n) : msm_least_bytes<Fp>(c, n);
}
extern "C" uint64_t cuzk_cuda_subset_bytes(const struct cuzk_cuda *c, bool g2, size_t n) {
  return g2 ? listed_g2_bytes(c, n) : listed_bytes<Fp>(c, n);
}
extern "C" void cuzk_cuda_bound_work(struct cuzk_cuda *c, uint64_t bytes) { c->work_bound = (size_t)bytes; }

cuzk_status cuzk_gpu::fixed_sums_g1(cuzk_cuda *c, Affine<Fp> *slots, const Affine<Fp> *table, const uint32_t *value, size_t n, uint4 *prefix,
                                    cuzk_detail *d) {
  return fixed_sums<Fp>(c, slots, table, value, n, prefix, d);
}
size_t cuzk_gpu::fixed_prefix_bytes_g1(const cuzk_cuda *c) { return prefix_vectors<Fp>(c) * sizeof(uint4); }
