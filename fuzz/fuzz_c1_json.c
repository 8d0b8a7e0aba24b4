/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Phase-1 documents, bare and wrapped: whatever is read must also survive checking and the derivation of public inputs. */
#include <stdlib.h>

#include "inputs/c1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_detail d = {{0}};
  struct cuzk_c1 *c;
  if (cuzk_c1_read(&c, data, n, "fuzz", &d) != CUZK_OK) {
    if (c || !d.text[0]) abort(); /* a refusal has a reason and leaves nothing behind */
    return 0;
  }
  cuzk_fr inputs[512];
  if (c->circuit->n_inputs - 1 > sizeof inputs / sizeof *inputs) abort();
  for (unsigned k = 0; k < c->n_partitions && k < 2; k++) {
    if (cuzk_c1_public_inputs(inputs, c, k, &d) != CUZK_OK) abort();
  }
  enum cuzk_status st = cuzk_c1_check(c, NULL, &d);
  if (st != CUZK_OK && st != CUZK_E_MISMATCH && st != CUZK_E_NOMEM) abort();
  (void)cuzk_c1_check_identity(c, 1001, 10, &d);
  cuzk_c1_free(&c);
  return 0;
}
