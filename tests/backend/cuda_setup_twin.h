/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Key generation's device arithmetic compiled for the host (cuda_setup_twin.cpp), and what that needs of the host's libraries. */
#ifndef CUZK_TESTS_CUDA_SETUP_TWIN_H
#define CUZK_TESTS_CUDA_SETUP_TWIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
extern uint64_t twin_setup_memory;
void twin_encode_g1(uint8_t out[96], const void *p);
void twin_encode_g2(uint8_t out[192], const void *p);
void twin_fold_limbs(uint64_t r[4], const unsigned long long w[8]);

/* By the test: the host's own code. False: tau lies in the domain. */
bool twin_lagrange(void *out, const void *tau, unsigned log2_n);
void twin_multiples_g1(void *points, const void *scalars, size_t n);
void twin_multiples_g2(void *points, const void *scalars, size_t n);
#ifdef __cplusplus
}
#endif
#endif
