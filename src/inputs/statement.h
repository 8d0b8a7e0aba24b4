/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the caller of a PoSt or sector update proof knows besides the vanilla proofs, and the vanilla proofs as byte strings, in the
 *  forms in which storage software hands them over. Source: formats specification 5.4 (end), 5.7, 5.8; docs/formats/vanilla.md. */
#ifndef CUZK_INPUTS_STATEMENT_H
#define CUZK_INPUTS_STATEMENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"
#include "inputs/vanilla.h"

/* ---- vanilla proofs as bytes ---- */

struct cuzk_blob {
  const uint8_t *data;
  size_t n;
  char name[160]; /* for messages: the file, and the place within it */
};

/** A growing list. Empty ({0}) until filled. One that is not to be cleared may borrow its bytes. */
struct cuzk_blobs {
  struct cuzk_blob *blob;
  size_t n, capacity;
};

/** Files of vanilla proofs are not larger: 2349 window records of 64 GiB sectors take 80 MB as base64. */
#define CUZK_BLOBS_MAX_BYTES ((size_t)1 << 30)

/** Appends what a file holds: one record in bincode, or a JSON array of base64 strings, one a record ("snap-vproof.json").
 *  Errors: those of cuzk_file_read; E_FORMAT (JSON, base64, an empty list), E_NOMEM. *b stays valid, to be cleared. */
enum cuzk_status cuzk_blobs_add_file(struct cuzk_blobs *b, const char *path, struct cuzk_detail *d);
/** As cuzk_blobs_add_file, from memory (borrowed for the call). Errors: E_FORMAT, E_NOMEM. */
enum cuzk_status cuzk_blobs_add(struct cuzk_blobs *b, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d);
/** Frees the records and empties *b; the empty list is accepted. */
void cuzk_blobs_clear(struct cuzk_blobs *b);

/* ---- statements ---- */

struct cuzk_statement_sector {
  uint64_t number;
  uint8_t comm_r[32];
};

/** Every member may be unsaid: what is missing is derived where that is possible, what is there must agree with the rest. */
struct cuzk_statement {
  char name[160];           /* where it comes from, for messages */
  uint64_t sector_bytes;    /* 0: follows from the registered proof, or from the records' length */
  int registered;           /* registered PoSt or update proof; -1: unsaid */
  unsigned api_major_minor; /* 0: unsaid */
  uint64_t partitions, challenges_per_sector, sectors_per_partition, h; /* 0: unsaid */
  unsigned partition_index; /* the sectors are those of this window partition alone */
  bool has_randomness, has_commitments;
  uint8_t randomness[32];
  struct cuzk_update_commitments commitments;
  size_t n_sectors; /* 0: those of the records, in their order */
  struct cuzk_statement_sector *sectors;
  size_t n_challenges; /* challenged leaves, sector after sector; 0: unsaid */
  uint64_t *challenges;
};

/** An object with any of: sector_size, registered_proof, api_version ("1.2.0"), randomness, sectors (a list of {sector_number, comm_r}),
 *  partitions, partition_index, challenges_per_sector, sectors_per_partition, challenges (a list a sector), comm_r_old, comm_d_new,
 *  comm_r_new (all three or none), h, miner_id, prover_id; 32 bytes are 64 hexadecimal digits or a list of integers. Or a request of a
 *  proof sharing service, {"SectorID", "PoRep": null, "Snap": {"ProofType", "old_r", "new_r", "new_d", "Proofs": [base64]}}, whose
 *  records are appended to embedded. Other members are skipped. s is filled, to be cleared also after an error.
 *  Errors  E_FORMAT (place in the JSON, what was expected), E_MISMATCH (prover_id of another miner), E_NOMEM. */
enum cuzk_status cuzk_statement_read(struct cuzk_statement *s, struct cuzk_blobs *embedded, const uint8_t *data, size_t n, const char *name,
                                     struct cuzk_detail *d);
/** As cuzk_statement_read, from a file. Errors: also those of cuzk_file_read. */
enum cuzk_status cuzk_statement_load(struct cuzk_statement *s, struct cuzk_blobs *embedded, const char *path, struct cuzk_detail *d);
/** Frees what s holds and empties it; the empty statement is accepted. */
void cuzk_statement_clear(struct cuzk_statement *s);
#endif
