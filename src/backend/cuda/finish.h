/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The few hundred point operations at the end of a sum and before tables, on the host with the library's own curve arithmetic. */
#ifndef CUZK_BACKEND_CUDA_FINISH_H
#define CUZK_BACKEND_CUDA_FINISH_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/** *out (affine) = sum of 2^at[i] p[i], p[n] points with coordinates X, Y, ZZ, ZZZ as the device leaves them, at[i] < 256. */
void cuzk_cuda_finish_g1(void *out, const void *p, const uint32_t *at, size_t n);
void cuzk_cuda_finish_g2(void *out, const void *p, const uint32_t *at, size_t n);
/** powers[k] = 2^k times the standard generator, affine, k < n; for the tables of key generation. */
void cuzk_cuda_generator_powers_g1(void *powers, size_t n);
void cuzk_cuda_generator_powers_g2(void *powers, size_t n);
#ifdef __cplusplus
}
#endif
#endif
