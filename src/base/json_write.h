/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Writes compact JSON into a growing buffer or a FILE. Commas and colons come by themselves. Failures (memory, output, misuse) are
 *  remembered: the calls return nothing, cuzk_json_out_finish tells. Output is ASCII when names and strings are; other UTF-8 is
 *  passed through, bytes that are not UTF-8 become U+FFFD, so that what is written can always be read again. */
#ifndef CUZK_BASE_JSON_WRITE_H
#define CUZK_BASE_JSON_WRITE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cuzk/status.h"

struct cuzk_json_out {
  FILE *file; /* NULL: buffer only */
  char *buf;
  size_t n, cap;
  enum cuzk_status st;
  unsigned depth;
  uint64_t in_object; /* bit i: level i is an object */
  uint64_t not_first; /* bit i: level i has an entry */
  bool after_key;
};

/** Starts a document. file: where finish (and full buffers) go; NULL keeps all in memory. Allocates nothing yet. */
void cuzk_json_out_init(struct cuzk_json_out *o, FILE *file);
/** Containers; at most 64 levels. */
void cuzk_json_out_object(struct cuzk_json_out *o);
void cuzk_json_out_object_end(struct cuzk_json_out *o);
void cuzk_json_out_array(struct cuzk_json_out *o);
void cuzk_json_out_array_end(struct cuzk_json_out *o);
/** The name of the next member; C string. */
void cuzk_json_out_key(struct cuzk_json_out *o, const char *name);
/** Values. */
void cuzk_json_out_string(struct cuzk_json_out *o, const char *s);
void cuzk_json_out_string_n(struct cuzk_json_out *o, const char *s, size_t n);
void cuzk_json_out_u64(struct cuzk_json_out *o, uint64_t v);
void cuzk_json_out_i64(struct cuzk_json_out *o, int64_t v);
/** Nine significant digits; null if v is not finite. */
void cuzk_json_out_double(struct cuzk_json_out *o, double v);
void cuzk_json_out_bool(struct cuzk_json_out *o, bool v);
void cuzk_json_out_null(struct cuzk_json_out *o);
/** n bytes as a string of lower-case hexadecimal digits. */
void cuzk_json_out_hex(struct cuzk_json_out *o, const void *p, size_t n);
/** n bytes as an array of integers. */
void cuzk_json_out_bytes(struct cuzk_json_out *o, const uint8_t *p, size_t n);
/** A member in one call. */
void cuzk_json_out_member_string(struct cuzk_json_out *o, const char *name, const char *s);
void cuzk_json_out_member_u64(struct cuzk_json_out *o, const char *name, uint64_t v);
void cuzk_json_out_member_bool(struct cuzk_json_out *o, const char *name, bool v);
void cuzk_json_out_member_double(struct cuzk_json_out *o, const char *name, double v);
void cuzk_json_out_member_hex(struct cuzk_json_out *o, const char *name, const void *p, size_t n);

/** Ends the document and *o. In memory: *text (n bytes and a terminating zero) is owned by the caller (cuzk_free); with a file, a
 *  line end is added, the file flushed, and text may be NULL.
 *  Errors  E_NOMEM, E_IO, E_NOSPC; E_ARG: containers left open, a value without name or a name without value. *text is then NULL. */
enum cuzk_status cuzk_json_out_finish(struct cuzk_json_out *o, char **text, size_t *n, struct cuzk_detail *d);
/** Drops everything without writing. */
void cuzk_json_out_abandon(struct cuzk_json_out *o);
#endif
