/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A strict JSON reader that pulls values in document order, without building a tree.
 *
 *  cuzk_json_open finds all tokens at once (simdjson, behind json_index.h: UTF-8, strings and structure at gigabytes a second);
 *  the calls below then walk them, each consuming one value. Everything is checked, in members that the caller skips, too: grammar,
 *  UTF-8, escapes (lone surrogates are refused), nothing after the document, nesting of at most CUZK_JSON_MAX_DEPTH, size.
 *
 *      static const char *const names[] = {"index", "rows"};
 *      int m;
 *      CUZK_TRY(cuzk_json_object(j, names, 2, 3));          // both are required
 *      for (;;) {
 *        CUZK_TRY(cuzk_json_member(j, &m));
 *        if (m < 0) break;                                   // end of the object
 *        if (m == 0) CUZK_TRY(cuzk_json_u64(j, UINT32_MAX, &index));
 *        if (m == 1) CUZK_TRY(read_rows(j));
 *      }
 *
 *  Messages read "NAME: comm_r[3] (byte 123): expected an integer from 0 to 255, found 256". After an error the reader can only be
 *  closed. Errors of all reading calls: E_FORMAT. One reader belongs to one thread. Format: RFC 8259. */
#ifndef CUZK_BASE_JSON_H
#define CUZK_BASE_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

#define CUZK_JSON_MAX_DEPTH 64u
/** Names that one object's table may hold. */
#define CUZK_JSON_MAX_NAMES 64u
/** No document is larger, whatever the caller allows. */
#define CUZK_JSON_MAX_BYTES 0xf0000000u

struct cuzk_json;

enum cuzk_json_type {
  CUZK_JSON_OBJECT,
  CUZK_JSON_ARRAY,
  CUZK_JSON_STRING,
  CUZK_JSON_NUMBER,
  CUZK_JSON_BOOL,
  CUZK_JSON_NULL,
  CUZK_JSON_NONE /* no value starts here */
};

/** Opens data[n], which must stay unchanged until the reader is closed. name starts every message (copied, cut to 200 bytes); d
 *  (may be NULL) gets the messages of all later calls, so it must outlive the reader.
 *  Errors  E_FORMAT: larger than max_bytes, empty, not UTF-8, a control character inside a string, an unclosed string; E_NOMEM. */
enum cuzk_status cuzk_json_open(struct cuzk_json **out, const uint8_t *data, size_t n, size_t max_bytes, const char *name,
                                struct cuzk_detail *d);
/** *j becomes NULL; NULL is accepted. */
void cuzk_json_close(struct cuzk_json **j);

/** Kind of the value at the cursor, judged by its first character. */
enum cuzk_json_type cuzk_json_peek(const struct cuzk_json *j);

/** Enters an object whose known members are names[n] (n <= 64; kept by pointer until the object ends); bit i of required: member i
 *  must occur. Unknown members are skipped by cuzk_json_member, repeated known ones refused. names NULL: any name is a member. */
enum cuzk_status cuzk_json_object(struct cuzk_json *j, const char *const *names, unsigned n, uint64_t required);
/** Goes to the value of the next known member and sets *member to its number (with names NULL: counting from 0), or leaves the
 *  object and sets -1. */
enum cuzk_status cuzk_json_member(struct cuzk_json *j, int *member);
/** The name of the member whose value is at the cursor or was just read, unescaped, as a C string of at most cap - 1 bytes. */
enum cuzk_status cuzk_json_key(struct cuzk_json *j, char *out, size_t cap);
/** Which known members of the innermost object occurred so far. */
uint64_t cuzk_json_seen(const struct cuzk_json *j);

/** Enters an array. */
enum cuzk_status cuzk_json_array(struct cuzk_json *j);
/** *more: an element is at the cursor; false: the array was left. */
enum cuzk_status cuzk_json_element(struct cuzk_json *j, bool *more);
/** Enters an array and remembers that exactly n elements must follow: cuzk_json_element refuses others, saying what they are
 *  ("siblings", "partitions"); what is a constant string. */
enum cuzk_status cuzk_json_array_of(struct cuzk_json *j, size_t n, const char *what);

/** An integer from 0 to max, written without fraction or exponent. */
enum cuzk_status cuzk_json_u64(struct cuzk_json *j, uint64_t max, uint64_t *out);
enum cuzk_status cuzk_json_bool(struct cuzk_json *j, bool *out);
enum cuzk_status cuzk_json_null(struct cuzk_json *j);
/** An array of exactly n integers from 0 to 255 (n >= 1). */
enum cuzk_status cuzk_json_bytes(struct cuzk_json *j, uint8_t *out, size_t n);
/** A string, unescaped, as a C string of at most cap - 1 bytes; a NUL inside is refused. */
enum cuzk_status cuzk_json_string(struct cuzk_json *j, char *out, size_t cap);
/** A string of exactly 2n hexadecimal digits. */
enum cuzk_status cuzk_json_hex(struct cuzk_json *j, uint8_t *out, size_t n);
/** A string of any length, unescaped, owned by the caller (cuzk_free), with a terminating zero that *n_out does not count.
 *  Errors: also E_NOMEM. */
enum cuzk_status cuzk_json_string_dup(struct cuzk_json *j, char **out, size_t *n_out);
/** A string that needs no unescaping, in place: *p points into the document. Sets *p to NULL, and consumes nothing, if it has
 *  escapes: then cuzk_json_string_dup reads it. */
enum cuzk_status cuzk_json_string_view(struct cuzk_json *j, const uint8_t **p, size_t *n_out);
/** Any value, checked and dropped. */
enum cuzk_status cuzk_json_skip(struct cuzk_json *j);
/** After the outermost value: nothing may follow. */
enum cuzk_status cuzk_json_end(struct cuzk_json *j);

/** A value's place within the innermost object, to come back to it: mark at the value, then read or skip on. cuzk_json_seek, called
 *  in the same object before it is left, reads that value again; afterwards seek to where the walk had been. */
struct cuzk_json_mark {
  size_t token;
  size_t key;
};
struct cuzk_json_mark cuzk_json_here(const struct cuzk_json *j);
void cuzk_json_seek(struct cuzk_json *j, struct cuzk_json_mark m);

/** Fails with the reader's name and the path of the value at the cursor or just read; for checks beyond the grammar. Returns s. */
enum cuzk_status cuzk_json_fail(struct cuzk_json *j, enum cuzk_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#endif
