/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The circuits that the protocol knows by an id, with what admission needs to know of each. */
#ifndef CUZK_PROVER_ROWS_H
#define CUZK_PROVER_ROWS_H
#include "circuits/circuit.h"

#define CUZK_PROVER_ROWS 20u

struct cuzk_prover_row {
  const char *id;      /* "porep-32g": engine specification 2.4 */
  const char *circuit; /* "porep-32gib" */
  uint32_t n_inputs, n_aux, n_fields; /* n_fields: private values that are not bits */
  uint64_t n_rows;
  const char *digest; /* of the constraints, hexadecimal */
};

extern const struct cuzk_prover_row cuzk_prover_rows[CUZK_PROVER_ROWS];
/** NULL if the protocol has no id for it. */
const struct cuzk_prover_row *cuzk_prover_row_of(enum cuzk_kind kind, uint64_t sector_bytes);
const struct cuzk_prover_row *cuzk_prover_row_find(const char *id);
/** Size of a packed witness. */
uint64_t cuzk_prover_row_packed_bytes(const struct cuzk_prover_row *r);
#endif
