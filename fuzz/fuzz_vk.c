/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Verifying keys: what is read can be encoded again, to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void same_g1(const cuzk_g1_affine *p, const uint8_t *at) {
  uint8_t b[96];
  cuzk_g1_encode(b, p);
  if (memcmp(b, at, 96) != 0) abort();
}

static void same_g2(const cuzk_g2_affine *p, const uint8_t *at) {
  uint8_t b[192];
  cuzk_g2_encode(b, p);
  if (memcmp(b, at, 192) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_vk vk;
  struct cuzk_detail d = {{0}};
  size_t used;
  if (cuzk_vk_read(&vk, data, n, &used, "fuzz", &d) != CUZK_OK) {
    if (d.text[0] == 0 || vk.ic) abort();
    return 0;
  }
  if (used > n || used != 868 + 96 * (size_t)vk.n_ic) abort();
  same_g1(&vk.alpha_g1, data);
  same_g1(&vk.beta_g1, data + 96);
  same_g2(&vk.beta_g2, data + 192);
  same_g2(&vk.gamma_g2, data + 384);
  same_g1(&vk.delta_g1, data + 576);
  same_g2(&vk.delta_g2, data + 672);
  for (uint32_t i = 0; i < vk.n_ic; i++) same_g1(&vk.ic[i], data + 868 + 96 * (size_t)i);
  cuzk_vk_clear(&vk);
  return 0;
}
