/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Hexadecimal text. Written in lower case, read in either. */
#ifndef CUZK_BASE_HEX_H
#define CUZK_BASE_HEX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Writes 2n digits and a terminating zero; out holds 2n + 1 bytes. out and in do not overlap. */
void cuzk_hex_encode(char *out, const void *in, size_t n);

/** Value of a digit in either case, -1 for any other character. */
int cuzk_hex_digit(char c);

/** Reads exactly n bytes from exactly 2n digits (no prefix, no blanks). False if n_text is not 2n or a character is not a digit;
 *  then *bad (may be NULL) is the position of the first wrong character, or the smaller of n_text and 2n when only the length is
 *  wrong, and out is unspecified. */
bool cuzk_hex_decode(void *out, size_t n, const char *text, size_t n_text, size_t *bad);
#endif
