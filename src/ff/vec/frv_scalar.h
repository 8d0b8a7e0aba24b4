/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The functions of frv_ifma.h over plain cuzk_fr: four elements a vector, always fully reduced, for any processor. */
#ifndef CUZK_FF_VEC_FRV_SCALAR_H
#define CUZK_FF_VEC_FRV_SCALAR_H
#include "ff/fr.h"

#define FV_NAME scalar
#define FV_LANES 4
#define FV_TWIST 0

typedef struct {
  cuzk_fr e[FV_LANES];
} fv;

typedef cuzk_fr fv_const;

/* The bounds of the lazy forms; every value here is below r already. */
static const uint64_t *const fv_modulus_2 = NULL, *const fv_modulus_4 = NULL, *const fv_modulus_8 = NULL;

#define FV_EACH(stmt) \
  for (int k = 0; k < FV_LANES; k++) stmt

static inline void fv_bcast(fv *r, const fv_const *c) { FV_EACH(r->e[k] = *c); }
static inline void fv_norm(fv *r, const fv *a) { *r = *a; }
static inline void fv_mul(fv *r, const fv *a, const fv *b) { FV_EACH(cuzk_fr_mul(&r->e[k], &a->e[k], &b->e[k])); }
static inline void fv_add(fv *r, const fv *a, const fv *b) { FV_EACH(cuzk_fr_add(&r->e[k], &a->e[k], &b->e[k])); }
static inline void fv_sub_bound(fv *r, const fv *a, const fv *b, const uint64_t *bound) {
  (void)bound;
  FV_EACH(cuzk_fr_sub(&r->e[k], &a->e[k], &b->e[k]));
}
static inline void fv_reduce(fv *r, const fv *a) { *r = *a; }
static inline void fv_reduce_once(fv *r, const fv *a) { *r = *a; }
static inline void fv_load_adjacent(fv *r, const cuzk_fr *p) { FV_EACH(r->e[k] = p[k]); }
static inline void fv_store_adjacent(cuzk_fr *p, const fv *a) { FV_EACH(p[k] = a->e[k]); }
static inline void fv_load_rows(fv r[2], const cuzk_fr *const row[FV_LANES], size_t i) {
  FV_EACH((r[0].e[k] = row[k][i], r[1].e[k] = row[k][i + 1]));
}
static inline void fv_store_rows(cuzk_fr *const row[FV_LANES], size_t i, const fv a[2]) {
  FV_EACH((row[k][i] = a[0].e[k], row[k][i + 1] = a[1].e[k]));
}
static inline void fv_const_split(fv_const *r, const uint64_t w[4]) {
  for (int k = 0; k < 4; k++) r->l[k] = w[k];
}
#endif
