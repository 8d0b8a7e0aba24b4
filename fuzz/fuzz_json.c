/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The JSON reader: walking a document by its typed calls and skipping it must agree on whether it is one, and what is read must
 * survive being written and read again. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/json_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Copies the value at the cursor to o; numbers become integers or strings, which is enough to be read back. */
static enum cuzk_status copy(struct cuzk_json *j, struct cuzk_json_out *o) {
  enum cuzk_status st;
  bool more;
  int m;
  char *s;
  size_t n;
  switch (cuzk_json_peek(j)) {
    case CUZK_JSON_OBJECT:
      cuzk_json_out_object(o);
      st = cuzk_json_object(j, NULL, 0, 0);
      while (st == CUZK_OK && (st = cuzk_json_member(j, &m)) == CUZK_OK && m >= 0) {
        cuzk_json_out_key(o, "k"); /* names are of any length; walking checks them without copying */
        st = copy(j, o);
      }
      cuzk_json_out_object_end(o);
      return st;
    case CUZK_JSON_ARRAY:
      cuzk_json_out_array(o);
      st = cuzk_json_array(j);
      while (st == CUZK_OK && (st = cuzk_json_element(j, &more)) == CUZK_OK && more) st = copy(j, o);
      cuzk_json_out_array_end(o);
      return st;
    case CUZK_JSON_STRING:
      st = cuzk_json_string_dup(j, &s, &n);
      if (st != CUZK_OK) return st;
      cuzk_json_out_string_n(o, s, n);
      cuzk_free(s);
      return CUZK_OK;
    case CUZK_JSON_BOOL: {
      bool b;
      st = cuzk_json_bool(j, &b);
      if (st == CUZK_OK) cuzk_json_out_bool(o, b);
      return st;
    }
    case CUZK_JSON_NULL:
      cuzk_json_out_null(o);
      return cuzk_json_null(j);
    default:
      cuzk_json_out_u64(o, 0);
      return cuzk_json_skip(j);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_json *j;
  struct cuzk_json_out o;
  if (cuzk_json_open(&j, data, n, (size_t)1 << 20, "fuzz", NULL) != CUZK_OK) return 0;
  enum cuzk_status skipped = cuzk_json_skip(j);
  if (skipped == CUZK_OK) skipped = cuzk_json_end(j);
  cuzk_json_close(&j);
  if (cuzk_json_open(&j, data, n, (size_t)1 << 20, "fuzz", NULL) != CUZK_OK) return 0;
  cuzk_json_out_init(&o, NULL);
  enum cuzk_status copied = copy(j, &o);
  if (copied == CUZK_OK) copied = cuzk_json_end(j);
  cuzk_json_close(&j);
  if (copied != skipped) abort();
  if (copied != CUZK_OK) {
    cuzk_json_out_abandon(&o);
    return 0;
  }
  char *text;
  size_t n_text;
  if (cuzk_json_out_finish(&o, &text, &n_text, NULL) != CUZK_OK) abort();
  if (cuzk_json_open(&j, (const uint8_t *)text, n_text, SIZE_MAX, "again", NULL) != CUZK_OK) abort();
  if (cuzk_json_skip(j) != CUZK_OK || cuzk_json_end(j) != CUZK_OK) abort();
  cuzk_json_close(&j);
  cuzk_free(text);
  return 0;
}
