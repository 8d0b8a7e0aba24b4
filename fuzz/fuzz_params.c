/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parameter files: whatever parses must have sections inside the bytes, and fetching its points must stay there, too. */
#include <stdint.h>
#include <stdlib.h>

#include "groth16/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_params p;
  struct cuzk_detail d = {{0}};
  if (cuzk_params_parse(&p, data, n, "fuzz", &d) != CUZK_OK) {
    if (d.text[0] == 0) abort(); /* every refusal has its reason */
    return 0;
  }
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    const uint64_t end = p.section[s].offset + 4 + (uint64_t)p.section[s].count * (s == CUZK_SECTION_B_G2 ? 192 : 96);
    if (end > n || (s + 1 < CUZK_N_SECTIONS ? p.section[s + 1].offset : n) != end) abort();
    for (size_t i = 0; i < p.section[s].count && i < 16; i++) {
      cuzk_g1_affine g1;
      cuzk_g2_affine g2;
      if (s == CUZK_SECTION_B_G2)
        (void)cuzk_params_fetch_g2(&p, &g2, i, 1, true, &d);
      else
        (void)cuzk_params_fetch_g1(&p, (enum cuzk_section)s, &g1, i, 1, true, &d);
    }
  }
  (void)cuzk_params_check(&p, false, NULL, NULL, &d);
  cuzk_vk_clear(&p.vk);
  return 0;
}
