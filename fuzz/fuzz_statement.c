/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statements and lists of vanilla proofs. The first byte chooses the kind and how the rest is cut: a statement, or a statement and, after the
 * first zero byte, a file of vanilla proofs. What opens must check and give public inputs without harm. */
#include <stdlib.h>
#include <string.h>

#include "inputs/kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use(const struct cuzk_inputs *in) {
  static cuzk_fr u[30000];
  struct cuzk_detail d;
  if (in->circuit->n_inputs > sizeof u / sizeof *u || in->n_partitions == 0) abort();
  for (unsigned k = 0; k < in->n_partitions && k < 3; k++) {
    if (cuzk_inputs_public(u, in, k, &d) != CUZK_OK && in->circuit->kind != CUZK_KIND_UPDATE) abort();
  }
  if (!cuzk_inputs_witness(in, 0)) return;
  enum cuzk_status st = cuzk_inputs_check(in, NULL, &d);
  if (st != CUZK_OK && st != CUZK_E_MISMATCH && st != CUZK_E_NOMEM) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const kinds[] = {"winning-post", "window-post", "snap"};
  struct cuzk_detail d = {{0}};
  struct cuzk_statement s;
  struct cuzk_blobs b = {0};
  struct cuzk_inputs *in = NULL;
  if (n < 1) return 0;
  const struct cuzk_proof_kind *kind = cuzk_proof_kind_find(kinds[data[0] % 3]);
  data++;
  n--;
  const uint8_t *zero = n ? memchr(data, 0, n) : NULL;
  const size_t n_statement = zero ? (size_t)(zero - data) : n;
  enum cuzk_status st = cuzk_statement_read(&s, &b, data, n_statement, "fuzz", &d);
  if (st == CUZK_OK && zero) st = cuzk_blobs_add(&b, zero + 1, n - n_statement - 1, "fuzz records", &d);
  const struct cuzk_input_source from = {.statement = &s, .vanilla = &b};
  if (st == CUZK_OK) st = cuzk_inputs_open(&in, kind, &from, &d);
  if (st == CUZK_OK) use(in);
  if (st != CUZK_OK && (in || !d.text[0])) abort(); /* a refusal has a reason and leaves nothing behind */
  cuzk_inputs_close(&in);
  cuzk_statement_clear(&s);
  cuzk_blobs_clear(&b);
  return 0;
}
