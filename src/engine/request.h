/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A proof request: what the protocol's SubmitProofRequest says, in one buffer that is hashed, journalled and shared as it is.
 *
 *  Canonical form (docs/formats/request.md): the fields present, but not request_id and priority, in ascending number order, a repeated
 *  field in its order, each as field number (u32 LE), length (u64 LE), bytes; integers are 8 bytes LE and absent when 0. digest is
 *  the SHA-256 of that. It is the job's key together with request_id (engine specification 2.5). */
#ifndef CUZK_ENGINE_REQUEST_H
#define CUZK_ENGINE_REQUEST_H
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

struct cuzk_slice {
  const uint8_t *data;
  size_t n;
};

/** Fields of a request, numbers of the protocol (engine specification 2.3). */
struct cuzk_request_fields {
  uint32_t kind; /* 2: 1 PoRep, 2 update, 3 window, 4 winning */
  uint64_t sector_size, registered_proof; /* 3, 4 */
  struct cuzk_slice vanilla_proof;        /* 10 */
  size_t n_vanilla_proofs;                /* 11 */
  const struct cuzk_slice *vanilla_proofs;
  uint64_t sector_number, miner_id; /* 20, 21 */
  struct cuzk_slice randomness;     /* 22 */
  uint32_t partition_index;         /* 23 */
  struct cuzk_slice comm_r_old, comm_r_new, comm_d_new; /* 30, 31, 32 */
};

/** Reference counted, constant once made; slices point into bytes. */
struct cuzk_request {
  struct cuzk_request_fields f;
  const uint8_t *bytes; /* canonical form */
  size_t n_bytes;
  uint8_t digest[32];
};

/** Builds the canonical form of f (copied). Errors: E_NOMEM. */
enum cuzk_status cuzk_request_create(struct cuzk_request **out, const struct cuzk_request_fields *f);
/** From canonical bytes, which are copied, or taken if free_fn is not NULL (called with user when the request goes; called before the
 *  return on failure). Errors: E_FORMAT (offset, what was expected), E_NOMEM. */
enum cuzk_status cuzk_request_parse(struct cuzk_request **out, const uint8_t *bytes, size_t n, void (*free_fn)(void *user), void *user,
                                    struct cuzk_detail *d);
/** From a blob file, memory-mapped; its SHA-256 must be digest unless that is NULL. Errors: of cuzk_file_map, E_FORMAT, E_MISMATCH. */
enum cuzk_status cuzk_request_load(struct cuzk_request **out, const char *path, const uint8_t digest[32], struct cuzk_detail *d);
/** One more owner. */
struct cuzk_request *cuzk_request_ref(struct cuzk_request *r);
/** One owner less; *r becomes NULL; NULL is accepted. */
void cuzk_request_unref(struct cuzk_request **r);
#endif
