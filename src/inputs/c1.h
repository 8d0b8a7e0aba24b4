/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** PoRep phase-1 outputs: JSON, bare or in Curio's wrapper (formats specification 5.2, 5.4). */
#ifndef CUZK_INPUTS_C1_H
#define CUZK_INPUTS_C1_H
#include "circuits/circuit.h"
#include "circuits/porep_witness.h"
#include "cuzk/status.h"

enum cuzk_porep_feature { CUZK_POREP_INTERACTIVE, CUZK_POREP_SYNTHETIC, CUZK_POREP_NON_INTERACTIVE };

/** A registered seal proof (section 5.8), test sizes included. */
struct cuzk_seal_type {
  const char *size_name; /* "2KiB" */
  uint64_t sector_bytes;
  unsigned api_major_minor; /* 0x0100, 0x0101, 0x0102 */
  enum cuzk_porep_feature feature;
  int number;               /* registered number, -1 for test sizes */
  unsigned n_partitions;
};

struct cuzk_c1 {
  struct cuzk_seal_type type;
  const struct cuzk_circuit *circuit;
  uint8_t porep_id[32];
  uint8_t replica_id[32], comm_d[32], comm_r[32], seed[32], ticket[32];
  bool wrapped;              /* Curio's wrapper; then sector_num and sector_size are set */
  uint64_t sector_num, sector_size;
  unsigned n_partitions;
  struct cuzk_porep_partition *partitions;
  void *arena;
};

/** Reads and decodes: sizes, counts, ranges, canonical field elements; then checks of check_level. name is what the detail calls the
 *  source. data is borrowed during the call only. Errors: E_FORMAT (path within the JSON or byte offset, what was expected),
 *  E_MISMATCH, E_UNSUPPORTED, E_NOMEM. */
enum cuzk_status cuzk_c1_read(struct cuzk_c1 **out, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d);
enum cuzk_status cuzk_c1_load(struct cuzk_c1 **out, const char *path, struct cuzk_detail *d);
void cuzk_c1_free(struct cuzk_c1 **c);

/** Everything a proof stands on, recomputed before any proving: challenges from replica id and seed (or comm_r), path positions
 *  equal to challenges and graph parents, Merkle roots of all paths, column hashes, labels, encoding, comm_r = H(comm_c, comm_r_last).
 *  Errors: E_MISMATCH naming partition, challenge, field. */
enum cuzk_status cuzk_c1_check(const struct cuzk_c1 *c, struct cuzk_pool *pool, struct cuzk_detail *d);

/** Public inputs of partition k without ONE as the verifier derives them: from challenges and graph parents, not from the
 *  paths. out has circuit->n_inputs - 1 elements. */
enum cuzk_status cuzk_c1_public_inputs(cuzk_fr *out, const struct cuzk_c1 *c, unsigned partition, struct cuzk_detail *d);

/** replica_id = truncate(SHA-256(prover_id, sector_number BE, ticket, comm_d, porep_id)). */
void cuzk_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector_number, const uint8_t ticket[32],
                     const uint8_t comm_d[32], const uint8_t porep_id[32]);
/** 32-byte prover id of a miner's number (unsigned LEB128). */
void cuzk_prover_id(uint8_t out[32], uint64_t miner);
#endif
