/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "msm/sums.h"

#include <string.h>

#include "base/alloc.h"

enum cuzk_status cuzk_sums_init(struct cuzk_sums *s, const struct cuzk_batch_ops *ops) {
  memset(s, 0, sizeof *s);
  const size_t work = CUZK_SUMS_SLOTS * ops->point_bytes, scratch = (ops->scratch_bytes + 63) & ~(size_t)63, list = CUZK_SUMS_SLOTS * 4;
  const size_t bytes = work + scratch + 8 * list;
  char *p = cuzk_big_alloc(bytes);
  if (!p) return CUZK_E_NOMEM;
  s->ops = ops;
  s->block = p;
  s->block_bytes = bytes;
  s->work = p;
  s->scratch = p + work;
  uint32_t **const lists[8] = {&s->a, &s->b, &s->to, &s->copy_from, &s->copy_to, &s->seg_id, &s->seg_first, &s->seg_count};
  for (size_t i = 0; i < 8; i++) *lists[i] = (uint32_t *)(void *)(p + work + scratch + i * list);
  return CUZK_OK;
}

void cuzk_sums_clear(struct cuzk_sums *s) {
  cuzk_big_free(s->block, s->block_bytes);
  memset(s, 0, sizeof *s);
}

/* Sums the slots of each segment of the round into its first one: level by level, neighbours at a distance that doubles. */
static void reduce_round(struct cuzk_sums *s, size_t n_segs) {
  for (uint32_t step = 1;; step *= 2) {
    size_t n = 0, left = 0;
    for (size_t k = 0; k < n_segs; k++) {
      const uint32_t first = s->seg_first[k], count = s->seg_count[k];
      if (count <= step) continue;
      s->seg_id[left] = s->seg_id[k];
      s->seg_first[left] = first;
      s->seg_count[left++] = count;
      for (uint32_t i = 0; i + step < count; i += 2 * step) {
        s->a[n] = first + i;
        s->b[n] = first + i + step;
        s->to[n++] = first + i;
      }
    }
    if (n == 0) return;
    n_segs = left;
    s->ops->add(s->work, s->to, s->work, s->a, s->b, n, s->scratch);
  }
}

void cuzk_sums_run(struct cuzk_sums *s, void *out, const void *src, const uint32_t *ref, const uint32_t *start, size_t n) {
  const size_t bytes = s->ops->point_bytes;
  char *const work = s->work;
  size_t k = 0;      /* segment */
  uint32_t i = n ? start[0] : 0; /* next reference */
  bool carried = false; /* slot 0 holds the sum of the references of segment k before i */
  while (k < n) {
    size_t n_segs = 0, n_pairs = 0, n_copies = 0;
    uint32_t slot = 0;
    const size_t first_seg = k;
    bool full = false;
    while (k < n && !full) {
      const uint32_t end = start[k + 1], at = slot;
      if (carried) slot++;
      carried = false;
      for (; end - i >= 2 && slot < CUZK_SUMS_SLOTS; i += 2) {
        s->a[n_pairs] = ref[i];
        s->b[n_pairs] = ref[i + 1];
        s->to[n_pairs++] = slot++;
      }
      if (end - i == 1 && slot < CUZK_SUMS_SLOTS) {
        s->copy_from[n_copies] = ref[i++];
        s->copy_to[n_copies++] = slot++;
      }
      full = i != end;
      if (slot != at) {
        s->seg_id[n_segs] = (uint32_t)(k - first_seg);
        s->seg_first[n_segs] = at;
        s->seg_count[n_segs++] = slot - at;
      } else if (!full) {
        memset((char *)out + k * bytes, 0, bytes);
      }
      if (!full) k++;
    }
    s->ops->add(s->work, s->to, src, s->a, s->b, n_pairs, s->scratch);
    s->ops->copy(s->work, s->copy_to, src, s->copy_from, n_copies);
    /* The lists of segments are shrunk on the way, so the results are picked up by walking the starts again. */
    for (size_t j = 0; j < n_segs; j++) { /* remembered in a list that the levels do not use */
      s->copy_from[j] = s->seg_first[j];
      s->copy_to[j] = s->seg_id[j];
    }
    reduce_round(s, n_segs);
    for (size_t j = 0; j < n_segs; j++) {
      const size_t id = first_seg + s->copy_to[j];
      const char *from = work + (size_t)s->copy_from[j] * bytes;
      if (full && id == k) {
        memmove(work, from, bytes);
        carried = true;
      } else {
        memcpy((char *)out + id * bytes, from, bytes);
      }
    }
  }
}
