/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The service's requests, decoded in place (engine specification 2.1, 2.3): proto3, unknown fields skipped, the last value of a singular
 *  field wins (embedded messages are merged), repeated bytes append, strings are UTF-8, enums open. Answers are packed by protobuf-c. */
#ifndef CUZK_DAEMON_MESSAGES_H
#define CUZK_DAEMON_MESSAGES_H
#include <stdbool.h>

#include "engine/request.h"

/** SubmitProofRequest. Slices point into the message. */
struct cuzk_submit_message {
  struct cuzk_slice request_id;
  uint32_t priority; /* as sent: may be out of range */
  struct cuzk_request_fields fields;
  struct cuzk_slice *list; /* of fields.vanilla_proofs */
};
/** How many vanilla_proofs a request may have: more than any circuit has sectors. */
#define CUZK_MAX_VANILLA_PROOFS 4096u
/** Errors: E_FORMAT (malformed, a string that is not UTF-8, more than CUZK_MAX_VANILLA_PROOFS; found before anything is allocated), E_NOMEM. */
enum cuzk_status cuzk_submit_decode(struct cuzk_submit_message *out, const uint8_t *data, size_t n, struct cuzk_detail *d);
/** The same from a ProveRequest; *present is false if submit is missing. */
enum cuzk_status cuzk_prove_decode(struct cuzk_submit_message *out, bool *present, const uint8_t *data, size_t n, struct cuzk_detail *d);
void cuzk_submit_message_clear(struct cuzk_submit_message *m);

/** A message with a string in field 1 (or none) and, if number is not NULL, an integer in field 2. The slice points into the message. A
 *  message without fields is read so, too. Errors: E_FORMAT. */
enum cuzk_status cuzk_small_decode(struct cuzk_slice *text, uint64_t *number, const uint8_t *data, size_t n, struct cuzk_detail *d);
#endif
