/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The protobuf wire format, read in place: fields one after the other, bytes and strings as slices of the message, so that a payload of
 *  50 MB is not copied to be looked at. Unknown fields, groups included, are skipped by whoever ignores them.
 *  Source: the protobuf encoding guide (proto3). Tests: daemon/test_messages.c, fuzz_protobuf. */
#ifndef CUZK_DAEMON_WIRE_H
#define CUZK_DAEMON_WIRE_H
#include <stdbool.h>

#include "engine/request.h"

enum cuzk_wire_type { CUZK_WIRE_VARINT = 0, CUZK_WIRE_FIXED64 = 1, CUZK_WIRE_BYTES = 2, CUZK_WIRE_GROUP = 3, CUZK_WIRE_END = 4, CUZK_WIRE_FIXED32 = 5 };
struct cuzk_wire_field {
  uint32_t number;
  enum cuzk_wire_type type;
  uint64_t value;          /* VARINT, FIXED64, FIXED32 */
  struct cuzk_slice bytes; /* BYTES; GROUP: skipped, empty */
};
struct cuzk_wire {
  const uint8_t *data;
  size_t n, at;
  bool bad; /* the message cannot be read on from `at` */
};
static inline struct cuzk_wire cuzk_wire_of(const uint8_t *data, size_t n) { return (struct cuzk_wire){.data = data, .n = n}; }
/** The next field; false at the end and where the message is malformed (bad is set): number 0 or over 2^29 - 1, a varint over 10 bytes, a
 *  length past the end, groups unbalanced or nested deeper than 64. */
bool cuzk_wire_next(struct cuzk_wire *w, struct cuzk_wire_field *f);
/** Well-formed UTF-8 (RFC 3629)? */
bool cuzk_utf8_valid(const uint8_t *p, size_t n);

/** A message being written. Failures are remembered. */
struct cuzk_wire_out {
  uint8_t *data; /* to be freed with cuzk_free */
  size_t n, cap;
  bool failed; /* out of memory */
};
void cuzk_wire_put_varint(struct cuzk_wire_out *o, uint32_t number, uint64_t value);
void cuzk_wire_put_bytes(struct cuzk_wire_out *o, uint32_t number, const void *p, size_t n);
/** Makes room for n more bytes; NULL: out of memory. */
uint8_t *cuzk_wire_reserve(struct cuzk_wire_out *o, size_t n);
void cuzk_wire_out_clear(struct cuzk_wire_out *o);
#endif
