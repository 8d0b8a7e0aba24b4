/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "backend/cuda/fixed.cuh"
#include "backend/cuda/msm.cuh"

using namespace cuzk_gpu;

extern "C" enum cuzk_status cuzk_cuda_msm_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *p, const void *s, size_t n,
                                             unsigned windows, struct cuzk_cuda_msm_times *times, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return msm<Fp2>(c, (Affine<Fp2> *)out, (const Affine<Fp2> *)p, (const Fr *)s, n, windows, times, d);
}
extern "C" enum cuzk_status cuzk_cuda_subset_sum_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *p, const void *bits,
                                                    size_t n, struct cuzk_cuda_msm_times *times, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return subset_sum<Fp2>(c, (Affine<Fp2> *)out, (const Affine<Fp2> *)p, (const uint32_t *)bits, n, times, d);
}
extern "C" enum cuzk_status cuzk_cuda_progression_g2(struct cuzk_cuda *c, void *p, size_t n, const cuzk_g2_affine powers[32],
                                                     struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return progression<Fp2>(c, (Affine<Fp2> *)p, n, (const Affine<Fp2> *)powers, d);
}

extern "C" enum cuzk_status cuzk_cuda_sum_bits_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *bases, size_t n_bases,
                                                  const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s,
                                                  struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  const Selection sel = selection(z, s);
  return listed_sum<Fp2>(
      c, (Affine<Fp2> *)out, (const Affine<Fp2> *)bases, n_bases,
      [&](uint32_t *value, uint32_t *count) { return run_select_bits(c, value, count, sel, d); }, nullptr, d);
}
extern "C" enum cuzk_status cuzk_cuda_sum_fields_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *bases, size_t n_bases,
                                                    const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s,
                                                    const struct cuzk_cuda_inputs *in, struct cuzk_detail *d) {
  CUZK_CUDA(cudaSetDevice(c->device));
  return fields_sum<Fp2>(c, (Affine<Fp2> *)out, (const Affine<Fp2> *)bases, n_bases, z, s, in, d);
}

namespace cuzk_gpu {
size_t msm_g2_bytes(const cuzk_cuda *c, size_t n) { return msm_least_bytes<Fp2>(c, n); }
size_t listed_g2_bytes(const cuzk_cuda *c, size_t n) { return listed_bytes<Fp2>(c, n); }
}  // namespace cuzk_gpu

cuzk_status cuzk_gpu::fixed_sums_g2(cuzk_cuda *c, Affine<Fp2> *slots, const Affine<Fp2> *table, const uint32_t *value, size_t n, uint4 *prefix,
                                    cuzk_detail *d) {
  return fixed_sums<Fp2>(c, slots, table, value, n, prefix, d);
}
size_t cuzk_gpu::fixed_prefix_bytes_g2(const cuzk_cuda *c) { return prefix_vectors<Fp2>(c) * sizeof(uint4); }
