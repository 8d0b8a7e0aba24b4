/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compact circuits: whatever opens can be described, walked and evaluated. The checksum is put right first, or nothing would get
 * past it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash/sha256.h"
#include "r1cs/compact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static enum cuzk_status see_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  (void)user;
  for (int k = 0; k < 3; k++)
    for (uint32_t i = 0; i < row->n[k]; i++) {
      if (i && row->t[k][i].var <= row->t[k][i - 1].var) abort();
      (void)*(const volatile uint8_t *)cuzk_coeff_le(coeffs, row->t[k][i].coeff);
    }
  return index < 3000 ? CUZK_OK : CUZK_E_CANCELLED;
}

static void evaluate(const struct cuzk_compact *c, const struct cuzk_compact_info *info) {
  struct cuzk_assignment z = {.n_inputs = info->n_inputs, .n_aux = info->n_aux};
  struct cuzk_compact_eval e = {.z = &z, .check = true};
  z.inputs = calloc(z.n_inputs, sizeof *z.inputs);
  z.aux = calloc((size_t)z.n_aux + 1, sizeof *z.aux);
  if (z.inputs && z.aux) {
    for (uint32_t i = 0; i < z.n_aux; i += 3) z.aux[i] = cuzk_fr_generator;
    z.inputs[0] = cuzk_fr_one;
    (void)cuzk_compact_evaluate(c, &e, NULL, NULL, NULL);
    if (e.bad_row != UINT64_MAX && e.bad_row >= info->n_rows) abort();
  }
  free(z.inputs);
  free(z.aux);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_compact *c;
  struct cuzk_compact_info info;
  struct cuzk_detail d = {{0}};
  uint8_t *p = malloc(n + 1);
  if (!p) return 0;
  memcpy(p, data, n);
  if (n > 32) cuzk_sha256(p + n - 32, p, n - 32);
  if (cuzk_compact_parse(&c, p, n, "fuzz", &d) != CUZK_OK) {
    if (d.text[0] == 0 || c) abort(); /* every refusal has its reason */
    free(p);
    return 0;
  }
  const struct cuzk_system s = cuzk_compact_system(c);
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  char region[100];
  cuzk_compact_info(&info, c);
  (void)s.walk(&s, see_row, NULL, &n_inputs, &n_aux, &n_rows, &d);
  for (uint32_t i = 0; i < info.n_templates && i < 8; i++) {
    struct cuzk_compact_template t;
    (void)cuzk_compact_template(&t, c, i);
  }
  if (info.n_rows) (void)cuzk_compact_region(c, info.n_rows - 1, region, sizeof region, &d);
  if (info.n_rows < 20000 && info.n_aux < 100000 && info.n_inputs < 1000) {
    struct cuzk_shape shape;
    if (cuzk_compact_shape(&shape, c, &d) == CUZK_OK) cuzk_shape_clear(&shape);
    evaluate(c, &info);
  }
  cuzk_compact_destroy(&c);
  free(p);
  return 0;
}
