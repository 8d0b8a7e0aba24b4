/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What a whole proof on a device needs beside the transforms and sums of cuda_backend.h: memory that is counted, copies beside the
 *  kernels, points straight from a parameter file, rows of a circuit from its packed witness, and sums over variables that pick
 *  bits and field elements apart on the device. src/device/cuda.c makes proofs of it.
 *
 *  Statuses and details as in cuda_backend.h. Pointers called "device" are to memory of cuzk_cuda_alloc. A context is used by one
 *  thread at a time; cuzk_cuda_alloc, cuzk_cuda_free, the host_ and the lane_ functions may be called beside that by others. */
#ifndef CUZK_BACKEND_CUDA_PARTITION_H
#define CUZK_BACKEND_CUDA_PARTITION_H
#include "backend/cuda/cuda_backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- memory and copies ------------------------------------------------------------------------------------------------------- */

/** No more than `bytes` of device memory through this context (0: as much as there is). */
void cuzk_cuda_set_limit(struct cuzk_cuda *c, uint64_t bytes);
/** What the context may still take: the smaller of what the device has free and what the limit leaves. */
enum cuzk_status cuzk_cuda_available(struct cuzk_cuda *c, uint64_t *bytes, struct cuzk_detail *d);
/** Device memory that the context holds now, and of it the areas that sums work in, which larger ones replace. */
uint64_t cuzk_cuda_used(struct cuzk_cuda *c);
uint64_t cuzk_cuda_work_bytes(const struct cuzk_cuda *c);
/** Gives these back (waits for the kernels): they had grown into memory that something else needs. */
enum cuzk_status cuzk_cuda_release_work(struct cuzk_cuda *c, struct cuzk_detail *d);
/** Page-locked host memory. Errors: E_NOMEM, E_DEVICE. */
enum cuzk_status cuzk_cuda_host_alloc(struct cuzk_cuda *c, void **out, size_t bytes, struct cuzk_detail *d);
void cuzk_cuda_host_free(struct cuzk_cuda *c, void **p);

/** A queue of copies that run beside the context's kernels. */
struct cuzk_cuda_lane;
enum cuzk_status cuzk_cuda_lane_create(struct cuzk_cuda *c, struct cuzk_cuda_lane **out, struct cuzk_detail *d);
/** Waits for the copies; *l becomes NULL; NULL is accepted. */
void cuzk_cuda_lane_destroy(struct cuzk_cuda_lane **l);
/** Asynchronous where the host's side is page-locked. */
enum cuzk_status cuzk_cuda_lane_upload(struct cuzk_cuda_lane *l, void *device, const void *host, size_t bytes, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_lane_download(struct cuzk_cuda_lane *l, void *host, const void *device, size_t bytes, struct cuzk_detail *d);
/** The caller waits for all copies queued so far. */
enum cuzk_status cuzk_cuda_lane_wait(struct cuzk_cuda_lane *l, struct cuzk_detail *d);
/** Kernels launched from now on wait for the copies queued so far; copies queued from now on wait for the kernels launched so far. */
enum cuzk_status cuzk_cuda_kernels_after(struct cuzk_cuda *c, struct cuzk_cuda_lane *l, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_lane_after(struct cuzk_cuda_lane *l, struct cuzk_cuda *c, struct cuzk_detail *d);

/** Device time: mark i < 16 in the kernels' queue, and from one mark to another in ms (waits for the later). */
enum cuzk_status cuzk_cuda_mark(struct cuzk_cuda *c, unsigned i, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_between(struct cuzk_cuda *c, unsigned i, unsigned j, float *ms, struct cuzk_detail *d);

/* --- points of a parameter file ------------------------------------------------------------------------------------------------ */

/** n points in the file's form (device, 96 or 192 bytes each, aligned to 16) to affine ones: canonical, on the curve, not the identity, in
 *  G1 x not zero. Point i goes to dst[first + i], or, with reversed_bits > 0, to the place of the reversed number of that many bits.
 *  *bad (device, u32, set to 2^32 - 1 before the first call) becomes the least first + i of a point that is refused. Asynchronous. */
enum cuzk_status cuzk_cuda_decode_g1(struct cuzk_cuda *c, void *dst, const void *raw, size_t n, size_t first, unsigned reversed_bits,
                                     void *bad, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_decode_g2(struct cuzk_cuda *c, void *dst, const void *raw, size_t n, size_t first, unsigned reversed_bits,
                                     void *bad, struct cuzk_detail *d);

/* --- rows -------------------------------------------------------------------------------------------------------------------------- */

/** A circuit as r1cs/compact_flat.h has it; host pointers, borrowed for the call. */
struct cuzk_cuda_circuit {
  uint32_t n_rows, n_inputs, n_aux;
  uint32_t n_runs, n_uses, n_ext, n_own, n_terms, n_coeffs;
  const void *runs, *uses, *ext, *bound, *terms, *coeffs;
};
struct cuzk_cuda_rows;
/** Copies a circuit to the device. Errors: E_NOMEM, E_DEVICE. */
enum cuzk_status cuzk_cuda_rows_create(struct cuzk_cuda *c, struct cuzk_cuda_rows **out, const struct cuzk_cuda_circuit *k,
                                       struct cuzk_detail *d);
void cuzk_cuda_rows_destroy(struct cuzk_cuda *c, struct cuzk_cuda_rows **r);
/** Device memory that create takes. */
uint64_t cuzk_cuda_rows_bytes(const struct cuzk_cuda_circuit *k);

/** A packed witness (r1cs/packed.h); device pointers. */
struct cuzk_cuda_witness {
  uint32_t n_inputs, n_aux, n_fields;
  const void *inputs, *bits, *is_field, *rank, *fields;
};
/** Values of all rows into abc[k] (device; 2^log2_n elements, or NULL: not wanted), then the rows of the inputs, then zeros. *bad (device,
 *  u64) becomes the first row that does not hold, 2^64 - 1 if all do. Asynchronous. */
enum cuzk_status cuzk_cuda_rows_evaluate(struct cuzk_cuda *c, const struct cuzk_cuda_rows *r, const struct cuzk_cuda_witness *z,
                                         void *const abc[3], unsigned log2_n, void *bad, struct cuzk_detail *d);

/* --- the h polynomial in two vectors ------------------------------------------------------------------------------------------------ */

/** Lean: tables of transforms of a few MB instead of a vector's size each, for one more product an element. */
void cuzk_cuda_set_lean(struct cuzk_cuda *c, bool lean);
/** Device memory of the tables that the h polynomial of this size needs, or has already. */
uint64_t cuzk_cuda_h_table_bytes(unsigned log2_n, bool lean);
/** First part of cuzk_cuda_h_poly: a gets (A B)/(7^n - 1) on the coset, as coefficients in reversed order; b is free afterwards. Asynchronous. */
enum cuzk_status cuzk_cuda_h_product(struct cuzk_cuda *c, void *a, void *b, unsigned log2_n, struct cuzk_detail *d);
/** Second part: subtracts c's share (values of c in cc, overwritten). Waits for the result. */
enum cuzk_status cuzk_cuda_h_minus(struct cuzk_cuda *c, void *a, void *cc, unsigned log2_n, bool *top_is_zero, struct cuzk_detail *d);

/* --- sums over variables ---------------------------------------------------------------------------------------------------------------- */

/** Private variables 64 first_word .. 64 (first_word + n_words) - 1 that are in the density map (device, NULL: all). rank (device, with
 *  density): set bits of the map before each word. first_base: rank at first_word; bases are numbered from it. */
struct cuzk_cuda_selection {
  const void *density, *rank;
  size_t first_word, n_words, first_base;
};
/** Sum of bases (device; n_bases from the selection's first on) over the selected variables that are bits, and 1. */
enum cuzk_status cuzk_cuda_sum_bits_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *bases, size_t n_bases,
                                       const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_sum_bits_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *bases, size_t n_bases,
                                       const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s, struct cuzk_detail *d);
/** Sum over the selected variables that are field elements, and over public inputs: input index[k] (device u32; NULL: k) times
 *  input_bases[k] (device), k < n_inputs. */
struct cuzk_cuda_inputs {
  const void *bases, *index;
  size_t n;
};
enum cuzk_status cuzk_cuda_sum_fields_g1(struct cuzk_cuda *c, cuzk_g1_affine *out, const void *bases, size_t n_bases,
                                         const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s,
                                         const struct cuzk_cuda_inputs *in, struct cuzk_detail *d);
enum cuzk_status cuzk_cuda_sum_fields_g2(struct cuzk_cuda *c, cuzk_g2_affine *out, const void *bases, size_t n_bases,
                                         const struct cuzk_cuda_witness *z, const struct cuzk_cuda_selection *s,
                                         const struct cuzk_cuda_inputs *in, struct cuzk_detail *d);
/** scalars[i] (device, n_bases) = value of the i-th selected variable, bit or field element: for circuits that are mostly field elements. */
enum cuzk_status cuzk_cuda_expand(struct cuzk_cuda *c, void *scalars, size_t n_bases, const struct cuzk_cuda_witness *z,
                                  const struct cuzk_cuda_selection *s, struct cuzk_detail *d);

/** Work area that a sum of n points takes at the least (one window at a time), and the most that sums may make it (0: no bound). */
uint64_t cuzk_cuda_msm_bytes(const struct cuzk_cuda *c, bool g2, size_t n);
uint64_t cuzk_cuda_subset_bytes(const struct cuzk_cuda *c, bool g2, size_t n);
void cuzk_cuda_bound_work(struct cuzk_cuda *c, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
