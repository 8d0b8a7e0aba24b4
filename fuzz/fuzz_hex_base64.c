/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hexadecimal and base64 text: what decodes must encode to the same text (base64; hexadecimal up to case), and all bytes survive the
 * way there and back. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/hex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n > 65536) return 0;
  uint8_t *bytes = malloc(n + 1);
  char *text = malloc(2 * n + 5);
  size_t n_out, bad;
  if (!bytes || !text) abort();

  enum cuzk_base64_error e = cuzk_base64_decode(bytes, &n_out, data, n, &bad);
  if (e == CUZK_BASE64_OK) {
    cuzk_base64_encode(text, bytes, n_out);
    if (strlen(text) != n || memcmp(text, data, n) != 0) abort();
  } else if (e != CUZK_BASE64_LENGTH && bad >= n) {
    abort();
  }
  cuzk_base64_encode(text, data, n);
  if (cuzk_base64_decode((uint8_t *)text, &n_out, (uint8_t *)text, strlen(text), NULL) != CUZK_BASE64_OK) abort();
  if (n_out != n || memcmp(text, data, n) != 0) abort();

  if (cuzk_hex_decode(bytes, n / 2, (const char *)data, n, &bad)) {
    cuzk_hex_encode(text, bytes, n / 2);
    for (size_t i = 0; i < n; i++) {
      if (text[i] != tolower(data[i])) abort();
    }
  } else if (bad > n) {
    abort();
  }
  cuzk_hex_encode(text, data, n);
  if (!cuzk_hex_decode(bytes, n, text, 2 * n, NULL) || memcmp(bytes, data, n) != 0) abort();
  free(bytes);
  free(text);
  return 0;
}
