/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/hex.h"

static const char digits[16] = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

void cuzk_hex_encode(char *out, const void *in, size_t n) {
  const uint8_t *p = in;
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[p[i] >> 4];
    out[2 * i + 1] = digits[p[i] & 15];
  }
  out[2 * n] = 0;
}

int cuzk_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool cuzk_hex_decode(void *out, size_t n, const char *text, size_t n_text, size_t *bad) {
  uint8_t *p = out;
  const size_t want = n > SIZE_MAX / 2 ? SIZE_MAX : 2 * n;
  const size_t common = n_text < want ? n_text : want;
  for (size_t i = 0; i < common; i++) {
    int v = cuzk_hex_digit(text[i]);
    if (v < 0) {
      if (bad) *bad = i;
      return false;
    }
    if (i & 1) {
      p[i / 2] = (uint8_t)(p[i / 2] | v);
    } else {
      p[i / 2] = (uint8_t)(v << 4);
    }
  }
  if (n_text != want) {
    if (bad) *bad = common;
    return false;
  }
  return true;
}
