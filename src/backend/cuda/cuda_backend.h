/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The CUDA backend's own interface: one context per device, device buffers, and the heavy operations on them.
 *
 *  Every function that can fail returns a cuzk_status and, where d is given, says which call failed, where, on which device,
 *  with the runtime's text. A failed allocation of device memory is E_NOMEM and leaves the context usable; any other runtime
 *  error is E_DEVICE, after which the context can only be destroyed. A context is used by one thread at a time, any
 *  thread (each call selects the context's device).
 *  Elements are cuzk_fr, points cuzk_g1_affine and cuzk_g2_affine, exactly as on the host. docs/backends/cuda.md explains the
 *  algorithms. */
#ifndef CUZK_BACKEND_CUDA_CUDA_BACKEND_H
#define CUZK_BACKEND_CUDA_CUDA_BACKEND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

#ifdef __cplusplus
extern "C" {
/* The layouts of ff/ and ec/, whose headers are for C. */
typedef struct {
  uint64_t l[4];
} cuzk_fr;
typedef struct {
  uint64_t x[6], y[6];
} cuzk_g1_affine;
typedef struct {
  uint64_t x[12], y[12];
} cuzk_g2_affine;
#else
#include "ec/g1.h"
#include "ec/g2.h"
#include "ff/fr.h"
#endif

struct cuzk_cuda;

struct cuzk_cuda_info {
  char name[128];
  char pci[32]; /* domain:bus:device.function */
  char uuid[48]; /* "GPU-" and 32 hexadecimal digits in groups, as the driver's tools write it */
  int index, major, minor, multiprocessors;
  size_t memory_total, memory_free;
};

/** Number of devices; 0 where there is no driver or no device. */
int cuzk_cuda_device_count(void);
enum cuzk_status cuzk_cuda_device_info(struct cuzk_cuda_info *out, int device, struct cuzk_detail *d);

/** Opens a device and runs the known-answer self-test. Errors: E_ARG (no such device), E_NOMEM, E_DEVICE. */
enum cuzk_status cuzk_cuda_create(struct cuzk_cuda **out, int device, struct cuzk_detail *d);
/** Frees everything the context holds; buffers must be gone. *c becomes NULL; NULL is accepted. */
void cuzk_cuda_destroy(struct cuzk_cuda **c);
/** Multiplies and inverts in both fields and adds points on the device, and compares with the same source run by the CPU.
 *  Errors: E_DEVICE if a result differs. */
enum cuzk_status cuzk_cuda_self_test(struct cuzk_cuda *c, struct cuzk_detail *d);

/** Device memory. A buffer's bytes are whatever the operations below take. */
enum cuzk_status cuzk_cuda_alloc(struct cuzk_cuda *c, void **out, size_t bytes, struct cuzk_detail *d);
void cuzk_cuda_free(struct cuzk_cuda *c, void **p);
enum cuzk_status cuzk_cuda_upload(struct cuzk_cuda *c, void *dst, const void *src, size_t bytes, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_download(struct cuzk_cuda *c, void *dst, const void *src, size_t bytes, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_copy(struct cuzk_cuda *c, void *dst, const void *src, size_t bytes, struct cuzk_detail *d);
/** Waits for all work of the context. */
enum cuzk_status cuzk_cuda_sync(struct cuzk_cuda *c, struct cuzk_detail *d);
/** Gives back the memory that the context keeps between operations (work areas, transform tables). */
enum cuzk_status cuzk_cuda_trim(struct cuzk_cuda *c, struct cuzk_detail *d);

/* --- transforms ------------------------------------------------------------------------------------------------------- */

/** Same domains, cosets and scaling as poly/ntt.h. Names end in the order of the vector: _NR goes from natural to
 *  bit-reversed order, _RN back; neither moves data. */
enum cuzk_cuda_ntt_kind {
  CUZK_CUDA_NTT_RN,       /* coefficients (reversed) to values */
  CUZK_CUDA_INTT_NR,      /* values to coefficients (reversed), 1/n included */
  CUZK_CUDA_COSET_NTT_RN, /* coefficients (reversed) to values on 7 <omega> */
  CUZK_CUDA_COSET_INTT_NR,
  CUZK_CUDA_H_AB,     /* INTT_NR followed by coefficient i times 7^i */
  CUZK_CUDA_H_ICOSET, /* COSET_INTT_NR divided by 7^n - 1 */
  CUZK_CUDA_H_C,      /* INTT_NR divided by 7^n - 1 */
  CUZK_CUDA_TRANSFORMS
};

/** In place on 2^log2_n elements, log2_n in 0..28. The first use of a kind and size builds its tables (2^log2_n elements of
 *  device memory, kept until trim). Asynchronous. Errors: E_ARG, E_NOMEM, E_DEVICE. */
enum cuzk_status cuzk_cuda_transform(struct cuzk_cuda *c, void *v, unsigned log2_n, enum cuzk_cuda_ntt_kind kind,
                                     struct cuzk_detail *d);
/** v[i] <-> v[reverse(i)]. Asynchronous. */
enum cuzk_status cuzk_cuda_bit_reverse(struct cuzk_cuda *c, void *v, unsigned log2_n, struct cuzk_detail *d);
/** Coefficients of H = (A B - C)/(X^n - 1) in bit-reversed order, into a, by six transforms; b and c are overwritten.
 *  *top_is_zero as in cuzk_h_poly. Waits for the result. */
enum cuzk_status cuzk_cuda_h_poly(struct cuzk_cuda *c, void *a, void *b, void *cc, unsigned log2_n, bool *top_is_zero,
                                  struct cuzk_detail *d);

/* --- sums of points --------------------------------------------------------------------------------------------------- */

/** Where the time of the last sum went, milliseconds. */
struct cuzk_cuda_msm_times {
  float digits, sort, add, reduce, total;
  unsigned windows, bits;
  uint64_t additions; /* affine additions inside buckets */
};

/** *out = sum of s[i] p[i], i < n, n < 2^31, p and s in device memory. windows: 0 lets the backend choose. times may be NULL.
 *  Waits for the result. Errors: E_ARG, E_NOMEM, E_DEVICE. */
enum cuzk_status cuzk_cuda_msm_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *p, const void *s, size_t n,
                                  unsigned windows, struct cuzk_cuda_msm_times *times, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_msm_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *p, const void *s, size_t n,
                                  unsigned windows, struct cuzk_cuda_msm_times *times, struct cuzk_detail *d);
/** *out = sum of the p[i] whose bit is set: bit i is bit i % 32 of word i / 32 of bits (device memory). n < 2^31. */
enum cuzk_status cuzk_cuda_subset_sum_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *p, const void *bits, size_t n,
                                         struct cuzk_cuda_msm_times *times, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_subset_sum_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *p, const void *bits, size_t n,
                                         struct cuzk_cuda_msm_times *times, struct cuzk_detail *d);

/* --- measuring -------------------------------------------------------------------------------------------------------- */

/** p[i] = p[0] + i step for i < n: distinct points with known multiples, made in log2(n) rounds from
 *  powers[k] = 2^k step, k < 32 (host memory). p[0] must be in place. */
enum cuzk_status cuzk_cuda_progression_g1(struct cuzk_cuda *c, void *p, size_t n, const cuzk_g1_affine powers[32],
                                          struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_progression_g2(struct cuzk_cuda *c, void *p, size_t n, const cuzk_g2_affine powers[32],
                                          struct cuzk_detail *d);
/** s[i] = element(seed, i), spread over the whole field; cuzk_cuda_random_fr is the same function for the host. */
enum cuzk_status cuzk_cuda_fill_random_fr(struct cuzk_cuda *c, void *s, size_t n, uint64_t seed, struct cuzk_detail *d);
void cuzk_cuda_random_fr(cuzk_fr *r, uint64_t seed, uint64_t i);

/** What cuzk_cuda_measure times, in operations per second unless said otherwise. */
enum cuzk_cuda_rate {
  CUZK_CUDA_RATE_FP_MUL,
  CUZK_CUDA_RATE_FP_SQR,
  CUZK_CUDA_RATE_FR_MUL,
  CUZK_CUDA_RATE_FR_MUL_0, /* without using the shape of r */
  CUZK_CUDA_RATE_FR_MUL_1, /* using less of it */
  CUZK_CUDA_RATE_FP_ADD,
  CUZK_CUDA_RATE_WIDE, /* bound of 32x32+64-bit multiply-adds: 32 a clock and multiprocessor at the highest clock */
  CUZK_CUDA_RATE_COPY, /* bytes read plus bytes written per second, device to device */
  CUZK_CUDA_RATES
};
enum cuzk_status cuzk_cuda_measure(struct cuzk_cuda *c, enum cuzk_cuda_rate what, double *rate, struct cuzk_detail *d);
/** Device time between two calls (start, then stop), milliseconds. */
enum cuzk_status cuzk_cuda_timer_start(struct cuzk_cuda *c, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_timer_stop(struct cuzk_cuda *c, float *ms, struct cuzk_detail *d);

#ifdef __cplusplus
}
#endif
#endif
