/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Sums of many segments of points at once: pairwise trees whose levels run through batch.h. */
#ifndef CUZK_MSM_SUMS_H
#define CUZK_MSM_SUMS_H
#include "cuzk/status.h"
#include "msm/batch.h"

/** Partial sums of one round. They are walked again at every level, so they should stay in the second-level cache or near. */
#define CUZK_SUMS_SLOTS ((size_t)1 << 14)

/** Memory of one thread's sums. */
struct cuzk_sums {
  const struct cuzk_batch_ops *ops;
  void *block; /* everything below lies in it */
  size_t block_bytes;
  void *work;       /* partial sums, CUZK_SUMS_SLOTS points */
  void *scratch;    /* of ops->add */
  /* CUZK_SUMS_SLOTS each */
  uint32_t *a, *b, *to, *copy_from, *copy_to, *seg_id, *seg_first, *seg_count;
};

/** Errors: E_NOMEM, *s is then empty. */
enum cuzk_status cuzk_sums_init(struct cuzk_sums *s, const struct cuzk_batch_ops *ops);
/** Safe on an empty (zeroed) one. */
void cuzk_sums_clear(struct cuzk_sums *s);
/** out[k] = sum of src[ref[i]] (with its sign) over start[k] <= i < start[k+1], 0 <= k < n; the identity for an empty segment.
 *  out and src are arrays of s->ops->point_bytes, 64-byte aligned, and do not overlap. Time is linear in the number of
 *  references, also when one segment has them all. */
void cuzk_sums_run(struct cuzk_sums *s, void *out, const void *src, const uint32_t *ref, const uint32_t *start, size_t n);
#endif
