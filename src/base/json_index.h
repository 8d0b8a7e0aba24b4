/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What base/json takes from simdjson: the positions of all tokens of a document. Private to base/json.c. */
#ifndef CUZK_BASE_JSON_INDEX_H
#define CUZK_BASE_JSON_INDEX_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cuzk_json_index_error {
  CUZK_JSON_INDEX_OK,
  CUZK_JSON_INDEX_NOMEM,
  CUZK_JSON_INDEX_EMPTY,
  CUZK_JSON_INDEX_UTF8,
  CUZK_JSON_INDEX_UNCLOSED, /* a string that does not end */
  CUZK_JSON_INDEX_CONTROL,  /* a control character inside a string */
  CUZK_JSON_INDEX_OTHER
};

/** Finds where each token of data[n] begins: brackets, braces, colons, commas, opening quotes, and first characters of everything
 *  else that stands outside strings. After a string or such a word nothing but white space can precede the next token. n <= 4 GiB
 *  minus 1 MiB; reads nothing beyond data[n]. *handle owns *tokens (n_tokens ascending positions) and is given back by
 *  cuzk_json_index_free. */
enum cuzk_json_index_error cuzk_json_index(void **handle, const uint32_t **tokens, size_t *n_tokens, const uint8_t *data, size_t n);
/** NULL is accepted. */
void cuzk_json_index_free(void *handle);

#ifdef __cplusplus
}
#endif
#endif
