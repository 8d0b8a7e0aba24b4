/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** PoRep phase-1 outputs: JSON, bare, in Curio's wrapper or in a proof sharing request, or bincode (formats specification 5.2 to 5.4,
 *  6.1; docs/formats/c1.md). */
#ifndef CUZK_INPUTS_C1_H
#define CUZK_INPUTS_C1_H
#include "circuits/circuit.h"
#include "circuits/porep_witness.h"
#include "cuzk/status.h"
#include "inputs/seal.h"

/** No document is larger: the 126 partitions of a non-interactive 64 GiB sector take 0.7 GB in Curio's wrapper. */
#define CUZK_C1_MAX_BYTES ((size_t)2 << 30)

struct cuzk_c1 {
  struct cuzk_seal_type type;
  const struct cuzk_circuit *circuit;
  uint8_t porep_id[32];
  uint8_t replica_id[32], comm_d[32], comm_r[32], seed[32], ticket[32];
  bool wrapped;              /* Curio's wrapper or a proof sharing request; then sector_num is set */
  bool has_miner;            /* a proof sharing request: miner is set, too */
  uint64_t miner;
  uint64_t sector_num, sector_size; /* sector_size 0: not said */
  unsigned n_partitions;
  struct cuzk_porep_partition *partitions;
  void *arena; /* holds partitions, all paths, and what only cuzk_c1_check looks at */
};

/** Reads and decodes a document, JSON or bincode by its first bytes: grammar, member names, types, sizes, counts, ranges, canonical field elements, and what one partition
 *  says about itself (one comm_r_last, one comm_c, one node a challenge). *out is owned by the caller (cuzk_c1_free).
 *
 *  Shape   data[n], n <= CUZK_C1_MAX_BYTES, borrowed for the call. name is what messages call the source.
 *  Errors  E_FORMAT (path within the JSON or byte offset, what was expected), E_MISMATCH (members that contradict each other),
 *          E_UNSUPPORTED (a registered proof or size that does not exist), E_NOMEM. *out is NULL on error.
 *  Time    a 39 MB document (32 GiB sector) in about a tenth of a second; memory about 10 MB beside the text and 2 bytes a byte of text
 *          while reading. */
enum cuzk_status cuzk_c1_read(struct cuzk_c1 **out, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d);
/** As cuzk_c1_read, from a file, which is read once; the payload of a wrapper is decoded in place. Errors: also those of
 *  cuzk_file_read. */
enum cuzk_status cuzk_c1_load(struct cuzk_c1 **out, const char *path, struct cuzk_detail *d);
/** *c becomes NULL; NULL is accepted. */
void cuzk_c1_free(struct cuzk_c1 **c);

/** Everything a proof stands on, recomputed before any proving: comm_r = H(comm_c, comm_r_last); challenges from replica id and seed
 *  (or comm_r); path positions and column indices equal to challenges and graph parents; Merkle roots of all paths; column hashes;
 *  the challenged node's label in every layer from its parents' columns; the encoded node; the redundant members of labelling and
 *  encoding proofs. A circuit whose witness comes from a document that passes is satisfied.
 *  Threads the challenges are spread over pool (NULL: the caller alone).
 *  Errors  E_MISMATCH naming partition, challenge and field; the first one in document order. E_NOMEM (hash constants). */
enum cuzk_status cuzk_c1_check(const struct cuzk_c1 *c, struct cuzk_pool *pool, struct cuzk_detail *d);

/** The replica id belongs to this miner and sector (and to the document's ticket, comm_d and registered proof), and a wrapper that names
 *  a sector names this one. Test sizes use the 2 KiB proof's porep id. Errors: E_MISMATCH. */
enum cuzk_status cuzk_c1_check_identity(const struct cuzk_c1 *c, uint64_t miner, uint64_t sector_number, struct cuzk_detail *d);

/** Public inputs of partition k without ONE as the verifier derives them: from challenges and graph parents, not from the
 *  paths. out has circuit->n_inputs - 1 elements. Source: circuits specification 9.1. Errors: E_ARG (no such partition). */
enum cuzk_status cuzk_c1_public_inputs(cuzk_fr *out, const struct cuzk_c1 *c, unsigned partition, struct cuzk_detail *d);

/** replica_id = truncate(SHA-256(prover_id, sector_number BE, ticket, comm_d, porep_id)). Source: formats specification 5.7. */
void cuzk_replica_id(uint8_t out[32], const uint8_t prover_id[32], uint64_t sector_number, const uint8_t ticket[32],
                     const uint8_t comm_d[32], const uint8_t porep_id[32]);
/** 32-byte prover id of a miner's number (unsigned LEB128). */
void cuzk_prover_id(uint8_t out[32], uint64_t miner);
#endif
