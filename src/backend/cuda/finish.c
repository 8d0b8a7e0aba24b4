/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "backend/cuda/finish.h"

#include <string.h>

#include "ec/g1.h"
#include "ec/g2.h"

struct xyzz_g1 {
  cuzk_fp x, y, zz, zzz;
};
struct xyzz_g2 {
  cuzk_fp2 x, y, zz, zzz;
};

/* (X ZZ, Y ZZZ, ZZ) is the same point in Jacobian coordinates. */
void cuzk_cuda_finish_g1(void *out, const void *p, const uint32_t *at, size_t n) {
  const struct xyzz_g1 *v = p;
  cuzk_g1 acc = cuzk_g1_identity;
  for (uint32_t bit = 256; bit-- > 0;) {
    cuzk_g1_dbl(&acc, &acc);
    for (size_t i = 0; i < n; i++) {
      if (at[i] != bit) continue;
      cuzk_g1 t;
      cuzk_fp_mul(&t.x, &v[i].x, &v[i].zz);
      cuzk_fp_mul(&t.y, &v[i].y, &v[i].zzz);
      t.z = v[i].zz;
      cuzk_g1_add(&acc, &acc, &t);
    }
  }
  cuzk_g1_affine r;
  cuzk_g1_to_affine(&r, &acc);
  memcpy(out, &r, sizeof r);
}

void cuzk_cuda_finish_g2(void *out, const void *p, const uint32_t *at, size_t n) {
  const struct xyzz_g2 *v = p;
  cuzk_g2 acc = cuzk_g2_identity;
  for (uint32_t bit = 256; bit-- > 0;) {
    cuzk_g2_dbl(&acc, &acc);
    for (size_t i = 0; i < n; i++) {
      if (at[i] != bit) continue;
      cuzk_g2 t;
      cuzk_fp2_mul(&t.x, &v[i].x, &v[i].zz);
      cuzk_fp2_mul(&t.y, &v[i].y, &v[i].zzz);
      t.z = v[i].zz;
      cuzk_g2_add(&acc, &acc, &t);
    }
  }
  cuzk_g2_affine r;
  cuzk_g2_to_affine(&r, &acc);
  memcpy(out, &r, sizeof r);
}

void cuzk_cuda_generator_powers_g1(void *powers, size_t n) {
  cuzk_g1_affine *to = powers;
  cuzk_g1 p;
  cuzk_g1_from_affine(&p, &cuzk_g1_generator);
  for (size_t k = 0; k < n; k++) {
    cuzk_g1_to_affine(&to[k], &p);
    cuzk_g1_dbl(&p, &p);
  }
}

void cuzk_cuda_generator_powers_g2(void *powers, size_t n) {
  cuzk_g2_affine *to = powers;
  cuzk_g2 p;
  cuzk_g2_from_affine(&p, &cuzk_g2_generator);
  for (size_t k = 0; k < n; k++) {
    cuzk_g2_to_affine(&to[k], &p);
    cuzk_g2_dbl(&p, &p);
  }
}
