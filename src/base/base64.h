/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Standard base64 with padding (RFC 4648, section 4), read strictly: the whole text is one encoding, its length a multiple of
 *  four, no blanks, nothing after the padding, unused bits zero. So each byte string has exactly one text. */
#ifndef CUZK_BASE_BASE64_H
#define CUZK_BASE_BASE64_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cuzk_base64_error {
  CUZK_BASE64_OK,
  CUZK_BASE64_LENGTH,   /* not a multiple of four */
  CUZK_BASE64_ALPHABET, /* a character outside the alphabet; *bad is its position */
  CUZK_BASE64_PADDING,  /* '=' elsewhere than in the last one or two places; *bad is its position */
  CUZK_BASE64_BITS      /* the last character has bits that no byte takes; *bad is its position */
};

/** What an error means, for messages. */
const char *cuzk_base64_error_text(enum cuzk_base64_error e);

/** Upper bound of the decoded size of n characters. */
static inline size_t cuzk_base64_decoded_max(size_t n) { return n / 4 * 3; }
/** Exact length of the text of n bytes, without a terminating zero. n <= SIZE_MAX / 2. */
static inline size_t cuzk_base64_encoded(size_t n) { return (n + 2) / 3 * 4; }

/** Decodes text[n_text] into out, which holds cuzk_base64_decoded_max(n_text) bytes; *n_out is the number written.
 *  Alias   out may be text itself (decoding in place).
 *  Errors  as the enum says; *bad (may be NULL) set for those that have a position; out is then unspecified. */
enum cuzk_base64_error cuzk_base64_decode(uint8_t *out, size_t *n_out, const uint8_t *text, size_t n_text, size_t *bad);

/** Writes cuzk_base64_encoded(n) characters and a terminating zero. out and in do not overlap. */
void cuzk_base64_encode(char *out, const void *in, size_t n);
#endif
