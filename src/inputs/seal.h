/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Registered seal proofs (formats specification 5.8), test sizes included. */
#ifndef CUZK_INPUTS_SEAL_H
#define CUZK_INPUTS_SEAL_H
#include <stddef.h>
#include <stdint.h>

/** How PoRep challenges are drawn. */
enum cuzk_porep_feature { CUZK_POREP_INTERACTIVE, CUZK_POREP_SYNTHETIC, CUZK_POREP_NON_INTERACTIVE };

/** A registered seal proof. The sizes 4, 16 and 32 KiB are registered nowhere; they are accepted, under names made the same way, to test
 *  the Merkle tree shapes of large sectors, with the porep id of the 2 KiB proof of the same version. */
struct cuzk_seal_type {
  const char *name;      /* "StackedDrg2KiBV1_1" */
  const char *size_name; /* "2KiB" */
  const char *map_key;   /* "StackedDrg2KiBV1": what vanilla proofs are filed under */
  uint64_t sector_bytes;
  unsigned api_major_minor; /* 0x0100, 0x0101, 0x0102 */
  enum cuzk_porep_feature feature;
  int number;            /* registered number, -1 for test sizes */
  unsigned porep_number; /* the number inside the porep id */
  unsigned n_partitions;
};

/** All seal types; NULL at i = count. */
const struct cuzk_seal_type *cuzk_seal_type_at(size_t i);
/** The type with this name; NULL if there is none. */
const struct cuzk_seal_type *cuzk_seal_type_find(const char *name);
/** porep_id = number (u64 LE), nonce 0 (u64 LE), 16 zero bytes. Source: formats specification 5.7. */
void cuzk_porep_id(uint8_t out[32], const struct cuzk_seal_type *t);
#endif
