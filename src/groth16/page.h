/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Downloads that failed often leave a web page under a parameter file's name. */
#ifndef CUZK_GROTH16_PAGE_H
#define CUZK_GROTH16_PAGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Does the text start as an HTML or XML page does (byte order mark and white space allowed)? No encoded point does. */
static inline bool cuzk_looks_like_page(const uint8_t *data, size_t n) {
  size_t i = 0;
  if (n >= 3 && data[0] == 0xef && data[1] == 0xbb && data[2] == 0xbf) i = 3;
  while (i < n && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n')) i++;
  return i + 1 < n && data[i] == '<' && (data[i + 1] == '!' || data[i + 1] == '?' || (data[i + 1] | 0x20) == 'h');
}
#endif
