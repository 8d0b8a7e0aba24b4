/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Many affine additions at once with one shared inversion: the kernel of every sum in this layer, one table per group and
 *  instruction set.
 *
 *  A table's points live in arrays of point_bytes each, 64-byte aligned, in its own form (limbs and scale of the vectors; plain
 *  cuzk_g1_affine for the portable one); the identity is all zero bytes. References to points are 32-bit: index in the low 31
 *  bits, CUZK_BATCH_NEG set for the opposite point. Exceptional pairs (equal, opposite, identity) are exact. */
#ifndef CUZK_MSM_BATCH_H
#define CUZK_MSM_BATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUZK_BATCH_NEG 0x80000000u
#define CUZK_BATCH_INDEX 0x7fffffffu

struct cuzk_batch_ops {
  const char *name;
  size_t point_bytes;   /* a multiple of 32 */
  size_t affine_bytes;  /* of the group's affine type */
  size_t scratch_bytes; /* of add */
  /* dst[i] = src[index[i]], src of the group's affine type */
  void (*load)(void *dst, const void *src, const uint32_t *index, size_t n);
  /* dst[i] = src[index[i]], dst of the group's affine type */
  void (*store)(void *dst, const void *src, const uint32_t *index, size_t n);
  /* dst[to[i]] = +-src[from[i]] */
  void (*copy)(void *dst, const uint32_t *to, const void *src, const uint32_t *from, size_t n);
  /* dst[to[i]] = +-src[a[i]] +- src[b[i]]. dst may be src if no place that is written is
   * read by another pair; to[i] may be a[i] or b[i].
   * scratch: scratch_bytes, 64-byte aligned. */
  void (*add)(void *dst, const uint32_t *to, const void *src, const uint32_t *a, const uint32_t *b, size_t n, void *scratch);
};

/** The best table for this machine (base/cpu.h). */
const struct cuzk_batch_ops *cuzk_batch_g1(void);
const struct cuzk_batch_ops *cuzk_batch_g2(void);

extern const struct cuzk_batch_ops cuzk_batch_g1_portable, cuzk_batch_g2_portable;
#if defined(__x86_64__)
extern const struct cuzk_batch_ops cuzk_batch_g1_ifma, cuzk_batch_g2_ifma, cuzk_batch_g1_avx512, cuzk_batch_g2_avx512;
#endif
#endif
