/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Parts of the parameter file code that this layer's files share; not for other layers. */
#ifndef CUZK_GROTH16_PARAMS_INTERNAL_H
#define CUZK_GROTH16_PARAMS_INTERNAL_H
#include "groth16/params.h"

/** Fills p->section from p->map[p->n_bytes], the vk block ending at offset pos; every count is checked against what is left and
 *  against the other counts, trailing bytes are an error. name is what the detail calls the file. Errors: E_FORMAT. */
enum cuzk_status cuzk_params_find_sections(struct cuzk_params *p, size_t pos, const char *name, struct cuzk_detail *d);

/** The comparison behind cuzk_params_match, on bare counts. Errors: E_MISMATCH, E_UNSUPPORTED (more than 2^31 rows). */
enum cuzk_status cuzk_section_counts_match(const uint32_t count[CUZK_N_SECTIONS], uint32_t n_ic,
                                           const struct cuzk_shape *shape, const char *name, struct cuzk_detail *d);

/** Smallest log2 of a domain for n rows, extra rows included. */
static inline unsigned cuzk_log2_rows(uint64_t n) { return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1); }
#define CUZK_MAX_LOG2_DOMAIN 31u
#endif
