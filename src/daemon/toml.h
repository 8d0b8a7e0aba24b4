/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** TOML 1.0, as a walk over a document. The parser is toml++; toml.cpp is the one file that knows it. */
#ifndef CUZK_DAEMON_TOML_H
#define CUZK_DAEMON_TOML_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cuzk_toml_type { CUZK_TOML_TABLE, CUZK_TOML_ARRAY, CUZK_TOML_STRING, CUZK_TOML_INT, CUZK_TOML_BOOL, CUZK_TOML_OTHER };

struct cuzk_toml_value {
  enum cuzk_toml_type type;
  unsigned line;    /* 1-based */
  const char *text; /* STRING; n bytes and a zero, valid UTF-8, may hold zeros */
  size_t n;         /* STRING: bytes; ARRAY: elements */
  int64_t integer;
  bool boolean;
  const struct cuzk_toml_value *item; /* ARRAY: its elements; an array in an array is OTHER */
};

enum cuzk_toml_result { CUZK_TOML_OK, CUZK_TOML_SYNTAX, CUZK_TOML_NOMEM, CUZK_TOML_STOPPED };

/** Calls fn for every table (before what is in it) and value below the root, in the order of lines. path: the keys from the root, depth of them.
 *  fn returns false to stop. What it is given lives until it returns. On SYNTAX: line, column, and what the parser says in why. */
enum cuzk_toml_result cuzk_toml_walk(const char *text, size_t n,
                                     bool (*fn)(void *user, const char *const *path, size_t depth, const struct cuzk_toml_value *v), void *user,
                                     unsigned *line, unsigned *column, char why[160]);

#ifdef __cplusplus
}
#endif
#endif
