/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Kernels of the fast transform: what is done to a tile, 2^k vectors of n_lanes elements in a form of the kernel's own, that fits
 *  the second-level cache. One table for each form of vectorised Fr; ntt.c cuts transforms into tiles. docs/internals/ntt.md.
 *
 *  Vector t of a tile holds n_lanes independent columns' element t. With s(j) = 2^j, stage j of a tile pairs vectors t and t + s(j)
 *  for t with bit j clear; t' = t mod s(j); its twiddle is T(j, t') = g[j] * table[s(j) + t'], or table[s(j) + t'] for g NULL.
 *    dit  stages 0, 1, .. k-1:  (x, y) -> (x + T y, x - T y)
 *    dif  stages k-1, .. 1, 0:  (x, y) -> (x + y, (x - y) T)
 *  so that dif undoes dit (with inverse twiddles) up to the factor 2^k.
 *
 *  Values in a tile stay below 32 r: a load gives values below 2^256 < 2.3 r, dit at most CUZK_NTT_MAX_K stages adds at most 28 r,
 *  dif leaves values below 16 r. dit, dif and mul want values below 3 r (what load, reduce and mul leave). */
#ifndef CUZK_POLY_NTT_KERN_H
#define CUZK_POLY_NTT_KERN_H
#include "ff/fr.h"
#include "poly/ntt.h"

#define CUZK_NTT_MAX_K 11u     /* what the bounds above allow */
#define CUZK_NTT_DEFAULT_K 10u /* two tiles in a second-level cache of 1 MiB; measured in docs/internals/ntt.md */
#define CUZK_NTT_MAX_LANES 8u

struct cuzk_ntt_kern {
  const char *name;
  unsigned n_lanes;      /* 4 or 8 */
  unsigned log2_lanes;
  unsigned twist;        /* constants are kept 2^twist times memory's Montgomery form; mul_tile divides by it */
  size_t vec_bytes;      /* of a vector in a tile; tiles are 64-byte aligned */
  size_t const_bytes;    /* of a constant */

  /** out[n] constants of w[n], fully reduced and already multiplied by 2^twist. */
  void (*constants)(void *out, const cuzk_fr *w, size_t n);
  /** g[k-1] = the n_lanes elements w (multiplied by 2^twist, in order of column), g[j-1] = g[j]^2. g: k vectors. */
  void (*factors)(void *g, unsigned k, const cuzk_fr *w);

  /** Vector t = the n_lanes elements from src + t * stride, for t < n. */
  void (*load_columns)(void *tile, const cuzk_fr *src, size_t stride, size_t n);
  /** Lane l of vector t = row[l][t], for t < n; n even. */
  void (*load_rows)(void *tile, const cuzk_fr *const *row, size_t n);

  /** plain_start: table[1] = 1 and table[2] = 1, so that products by them are left out; only without g. */
  void (*dit)(void *tile, unsigned k, const void *table, const void *g, bool plain_start);
  void (*dif)(void *tile, unsigned k, const void *table, const void *g, bool plain_start);

  void (*reduce)(void *tile, size_t n);                         /* below 32 r to below 1.001 r */
  void (*mul_tile)(void *tile, const void *other, size_t n);    /* tile *= other, / 2^twist; both below 32 r, to below 2 r */
  void (*combine)(void *tile, const void *k1, const void *other, const void *k2, size_t n); /* k1 tile + k2 other, below 4 r */
  void (*scale)(void *tile, const void *k1, size_t n);          /* k1 tile, below 2 r */

  /** Writes back what load_columns and load_rows read, from values below 32 r: canonical (below r), or below 1.001 r. */
  void (*store_columns)(cuzk_fr *dst, size_t stride, const void *tile, size_t n, bool canonical);
  void (*store_rows)(cuzk_fr *const *row, const void *tile, size_t n, bool canonical);
  /** Vector t to dst[rev(t)] .. where rev reverses log2 n bits: element rev(t) * stride. Canonical. */
  void (*store_columns_reversed)(cuzk_fr *dst, size_t stride, const void *tile, unsigned log2_n);
};

extern const struct cuzk_ntt_kern cuzk_ntt_kern_scalar;
#ifdef CUZK_POLY_X86
extern const struct cuzk_ntt_kern cuzk_ntt_kern_avx2;   /* needs CUZK_CPU_AVX2 */
extern const struct cuzk_ntt_kern cuzk_ntt_kern_avx512; /* needs CUZK_CPU_AVX512F */
extern const struct cuzk_ntt_kern cuzk_ntt_kern_ifma;   /* needs CUZK_CPU_AVX512IFMA */
#endif

/** The fastest that this processor runs, and all that it runs (n of them, for tests and measurements). */
const struct cuzk_ntt_kern *cuzk_ntt_kern_best(void);
size_t cuzk_ntt_kern_list(const struct cuzk_ntt_kern *out[4]);

/** cuzk_domain_create with a kernel (NULL: the textbook transform) and the most stages of a pass, max_k in 4..CUZK_NTT_MAX_K,
 *  given: for tests and measurements. Errors: E_ARG, E_NOMEM. */
enum cuzk_status cuzk_domain_create_with(struct cuzk_domain **out, unsigned log2_n, const struct cuzk_ntt_kern *kern,
                                         unsigned max_k);
#endif
