/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the PoRep circuit needs of one partition's vanilla proof, decoded. Filled by inputs/, read by circuits/porep.c.
 *  Field elements are Montgomery; all pointers point into memory owned by whoever filled the struct. */
#ifndef CUZK_CIRCUITS_POREP_WITNESS_H
#define CUZK_CIRCUITS_POREP_WITNESS_H
#include <stdint.h>

#include "ff/fr.h"

/** One Merkle path from the leaf upward: step k has arity[k] children, index[k] < arity[k] is the own position,
 *  the arity[k]-1 siblings follow each other in siblings (own node left out, left to right). */
struct cuzk_merkle_path {
  uint8_t n_steps;    /* base + sub + top */
  uint8_t arity[40];  /* 2, 4 or 8 */
  uint8_t index[40];
  const cuzk_fr *siblings; /* sum of (arity - 1) */
};

struct cuzk_porep_column {
  const cuzk_fr *rows; /* n_layers, layer 1 first */
  struct cuzk_merkle_path path;
};

struct cuzk_porep_challenge {
  uint64_t challenge; /* labeling_proofs[0].node */
  cuzk_fr data_leaf;
  struct cuzk_merkle_path comm_d_path;
  struct cuzk_porep_column drg_parents[6], exp_parents[8];
  struct cuzk_merkle_path comm_r_last_path, comm_c_path;
};

struct cuzk_porep_partition {
  cuzk_fr replica_id, comm_d, comm_r, comm_r_last, comm_c;
  unsigned n_challenges;
  const struct cuzk_porep_challenge *challenges;
};
#endif
