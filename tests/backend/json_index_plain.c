/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* base/json_index.h without simdjson, for the programs that run where only a C compiler and nvcc are: one character at a time, UTF-8 not
 * looked at. */
#include <stdbool.h>

#include "base/alloc.h"
#include "base/json_index.h"

enum cuzk_json_index_error cuzk_json_index(void **handle, const uint32_t **tokens, size_t *n_tokens, const uint8_t *data, size_t n) {
  *handle = NULL;
  size_t count = 0;
  for (int round = 0; round < 2; round++) {
    uint32_t *out = *handle;
    bool word = false;
    count = 0;
    for (size_t i = 0; i < n; i++) {
      const uint8_t c = data[i];
      const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
      const bool mark = c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',';
      const size_t at = i;
      if (c == '"') {
        for (i++; i < n && data[i] != '"'; i++) {
          if (data[i] < 0x20) {
            cuzk_free(out);
            return CUZK_JSON_INDEX_CONTROL;
          }
          i += data[i] == '\\';
        }
        if (i >= n) {
          cuzk_free(out);
          return CUZK_JSON_INDEX_UNCLOSED;
        }
      }
      if (!space && (mark || c == '"' || !word)) {
        if (out) out[count] = (uint32_t)at;
        count++;
      }
      word = !space && !mark && c != '"';
    }
    if (count == 0) return CUZK_JSON_INDEX_EMPTY;
    if (round == 0 && !(*handle = cuzk_malloc_array(count, sizeof(uint32_t)))) return CUZK_JSON_INDEX_NOMEM;
  }
  *tokens = *handle;
  *n_tokens = count;
  return CUZK_JSON_INDEX_OK;
}

void cuzk_json_index_free(void *handle) { cuzk_free(handle); }
