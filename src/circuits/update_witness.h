/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the EmptySectorUpdate circuit needs of one partition's vanilla proof, decoded. Filled by inputs/, read by
 *  circuits/update.c. Field elements are Montgomery; all pointers point into memory owned by whoever filled the struct. */
#ifndef CUZK_CIRCUITS_UPDATE_WITNESS_H
#define CUZK_CIRCUITS_UPDATE_WITNESS_H
#include "circuits/porep_witness.h"

struct cuzk_update_challenge {
  cuzk_fr leaf_r_old, leaf_d_new;
  /* Only siblings are read: the positions follow from comm_r_new. The D path has its full height; its part above the apex leaves
   * is read of the first challenge only, where it is the partition's path. */
  struct cuzk_merkle_path path_r_old, path_d_new, path_r_new;
};

struct cuzk_update_partition {
  uint64_t k_and_h_select; /* partition number, and above its bits one bit that chooses h: circuits specification 7.6 */
  cuzk_fr comm_r_old, comm_d_new, comm_r_new;
  cuzk_fr comm_c, root_r_old, root_r_new;
  unsigned n_apex_leaves; /* 8 or 128 */
  const cuzk_fr *apex_leaves;
  unsigned n_challenges;
  const struct cuzk_update_challenge *challenges;
};
#endif
