/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Proof bytes: what is read is written back as it was, so no proof has two encodings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "groth16/proof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_proof p;
  struct cuzk_detail d = {{0}};
  uint8_t bytes[CUZK_PROOF_BYTES];
  if (n < CUZK_PROOF_BYTES) return 0;
  if (cuzk_proof_read(&p, data, &d) != CUZK_OK) {
    if (d.text[0] == 0) abort();
    return 0;
  }
  cuzk_proof_write(bytes, &p);
  if (memcmp(bytes, data, sizeof bytes) != 0) abort();
  return 0;
}
