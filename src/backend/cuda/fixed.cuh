/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Multiples of a fixed point: sums of table entries by the levels of msm.cuh. Sixteen windows, so four levels, each half of the one before. */
#ifndef CUZK_BACKEND_CUDA_FIXED_CUH
#define CUZK_BACKEND_CUDA_FIXED_CUH
#include "backend/cuda/device.cuh"

namespace cuzk_gpu {

constexpr uint32_t FIXED_SLOTS = 8; /* of a multiple; the first of them gets the result */

/** slots[8 i] = sum of table[value[16 i]] .. table[value[16 i + 15]], i < n, signs in bit 31; the other slots are scratch. prefix:
 *  fixed_prefix_bytes. */
cuzk_status fixed_sums_g1(cuzk_cuda *c, Affine<Fp> *slots, const Affine<Fp> *table, const uint32_t *value, size_t n, uint4 *prefix, cuzk_detail *d);
cuzk_status fixed_sums_g2(cuzk_cuda *c, Affine<Fp2> *slots, const Affine<Fp2> *table, const uint32_t *value, size_t n, uint4 *prefix,
                          cuzk_detail *d);
size_t fixed_prefix_bytes_g1(const cuzk_cuda *c);
size_t fixed_prefix_bytes_g2(const cuzk_cuda *c);

}  // namespace cuzk_gpu
#endif
