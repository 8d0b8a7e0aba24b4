/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the PoSt circuits need of one partition's vanilla proofs, decoded. Filled by inputs/, read by circuits/post.c.
 *  Field elements are Montgomery; all pointers point into memory owned by whoever filled the struct. */
#ifndef CUZK_CIRCUITS_POST_WITNESS_H
#define CUZK_CIRCUITS_POST_WITNESS_H
#include "circuits/porep_witness.h"

struct cuzk_post_challenge {
  cuzk_fr leaf; /* of tree R */
  struct cuzk_merkle_path path;
};

struct cuzk_post_sector {
  cuzk_fr comm_r, comm_c, comm_r_last;
  unsigned n_challenges; /* the circuit's: 1 (winning) or 10 (window) */
  const struct cuzk_post_challenge *challenges;
};

/** Exactly as many sectors as the circuit has: a short partition repeats its last sector, and winning PoSt has one entry for each
 *  challenge of its one sector. */
struct cuzk_post_partition {
  unsigned n_sectors;
  const struct cuzk_post_sector *sectors;
};
#endif
