/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** From scalars to buckets: signed digits, then the indices of each bucket side by side, then the pairs to add. */
#ifndef CUZK_BACKEND_CUDA_SORT_CUH
#define CUZK_BACKEND_CUDA_SORT_CUH
#include "backend/cuda/device.cuh"

namespace cuzk_gpu {

/** Some windows of equal width, sorted together. Bucket number: window << (bits - 1) | (magnitude - 1). */
struct SortPlan {
  size_t n;         /* scalars */
  uint32_t windows; /* in this group */
  uint32_t bits;
  uint32_t low_bits;   /* of a bucket number; sorted inside a bin */
  uint32_t high_bits;  /* select the bin */
  uint32_t bins;       /* windows << high_bits */
  uint32_t buckets;    /* windows << (bits - 1) */
  size_t max_entries;  /* windows * n */
  size_t max_positions; /* entries and padding: every bucket starts at an even position */
};
SortPlan make_sort_plan(size_t n, uint32_t windows, uint32_t bits);

/** Device arrays of one group. */
struct SortArrays {
  uint32_t *bin_count, *bin_base, *bin_cursor; /* per bin (count has bins entries, base one more) */
  uint32_t *part_value;                        /* entries by bin: index, sign in bit 31 */
  uint16_t *part_low;                          /* and the low bits of their buckets */
  uint32_t *value;                             /* sorted, at padded positions */
  uint32_t *offset, *count;                    /* per bucket */
  uint32_t *max_count;                         /* of any bucket */
  uint32_t *list;                              /* pairs of one level */
  uint32_t *list_count;                        /* per level, 64 entries */
};
void take_sort_arrays(SortArrays &a, Carver &cut, const SortPlan &p);

/** All digits of n scalars, window after window: digits[w * n + i]. */
cuzk_status run_digits(cuzk_cuda *c, uint32_t *digits, const Fr *s, size_t n, const Windows &w, cuzk_detail *d);
/** Sorts the windows whose digits start at digits. */
cuzk_status run_sort(cuzk_cuda *c, const SortPlan &p, const SortArrays &a, const uint32_t *digits, cuzk_detail *d);
/** The pairs of a level into a.list, their number into a.list_count[level]. Level 0 pairs positions p, p + 1 of `value`;
 *  level l > 0 pairs slots p, p + 2^(l-1), a bucket's slots starting at offset / 2. */
cuzk_status run_pairs(cuzk_cuda *c, const SortPlan &p, const SortArrays &a, unsigned level, cuzk_detail *d);
/** Indices of the set bits, in no particular order; their number into *count. */
cuzk_status run_bits(cuzk_cuda *c, uint32_t *value, uint32_t *count, const uint32_t *bits, size_t n, cuzk_detail *d);

/** Variables of partition.h's cuzk_cuda_selection, with what they are. */
struct Selection {
  const uint64_t *bits, *is_field, *density; /* density may be null: all */
  const uint32_t *rank, *field_rank;
  size_t first_word, n_words, first_base;
  uint32_t n_aux;
};
/** Base numbers of the selected variables that are bits and set, in no particular order; their number into *count. */
cuzk_status run_select_bits(cuzk_cuda *c, uint32_t *value, uint32_t *count, const Selection &s, cuzk_detail *d);
/** Base numbers and field numbers of the selected variables that are field elements; *count must be zero before and has their number
 *  after. */
cuzk_status run_select_fields(cuzk_cuda *c, uint32_t *base, uint32_t *field, uint32_t *count, const Selection &s, cuzk_detail *d);

}  // namespace cuzk_gpu
#endif
