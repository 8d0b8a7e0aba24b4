/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 64 marks characters outside the alphabet. Built by the preprocessor from ranges, so that no table has to be trusted. */
#define V(c)                                                            \
  ((uint8_t)((c) >= 'A' && (c) <= 'Z'   ? (c) - 'A'                     \
             : (c) >= 'a' && (c) <= 'z' ? (c) - 'a' + 26                \
             : (c) >= '0' && (c) <= '9' ? (c) - '0' + 52                \
             : (c) == '+'               ? 62                            \
             : (c) == '/'               ? 63                            \
                                        : 64))
#define V4(c) V(c), V((c) + 1), V((c) + 2), V((c) + 3)
#define V16(c) V4(c), V4((c) + 4), V4((c) + 8), V4((c) + 12)
#define V64(c) V16(c), V16((c) + 16), V16((c) + 32), V16((c) + 48)
static const uint8_t value[256] = {V64(0), V64(64), V64(128), V64(192)};

const char *cuzk_base64_error_text(enum cuzk_base64_error e) {
  switch (e) {
    case CUZK_BASE64_OK: return "valid base64";
    case CUZK_BASE64_LENGTH: return "base64 text whose length is not a multiple of 4";
    case CUZK_BASE64_ALPHABET: return "a character outside the base64 alphabet";
    case CUZK_BASE64_PADDING: return "misplaced base64 padding";
    case CUZK_BASE64_BITS: return "base64 whose last character has unused bits set";
  }
  return "unknown base64 error";
}

/* The cold path: says what is wrong with four characters of which one is not in the alphabet. */
static enum cuzk_base64_error explain(const uint8_t *q, size_t at, size_t *bad) {
  size_t i = 0;
  while (i < 3 && value[q[i]] < 64) i++;
  if (bad) *bad = at + i;
  return q[i] == '=' ? CUZK_BASE64_PADDING : CUZK_BASE64_ALPHABET;
}

enum cuzk_base64_error cuzk_base64_decode(uint8_t *out, size_t *n_out, const uint8_t *text, size_t n_text, size_t *bad) {
  *n_out = 0;
  if (n_text % 4) return CUZK_BASE64_LENGTH;
  if (!n_text) return CUZK_BASE64_OK;
  const size_t n_quads = n_text / 4;
  uint8_t *o = out;
  const uint8_t *q = text;
  for (size_t i = 0; i + 1 < n_quads; i++, q += 4, o += 3) {
    const uint32_t a = value[q[0]], b = value[q[1]], c = value[q[2]], e = value[q[3]];
    if ((a | b | c | e) & 64) return explain(q, i * 4, bad);
    const uint32_t w = a << 18 | b << 12 | c << 6 | e;
    o[0] = (uint8_t)(w >> 16);
    o[1] = (uint8_t)(w >> 8);
    o[2] = (uint8_t)w;
  }
  const uint8_t last[4] = {q[0], q[1], q[2], q[3]};
  const unsigned n_pad = last[3] != '=' ? 0 : last[2] != '=' ? 1 : 2;
  uint32_t w = 0;
  for (unsigned i = 0; i < 4 - n_pad; i++) {
    if (value[last[i]] == 64) return explain(last, n_text - 4, bad);
    w |= (uint32_t)value[last[i]] << (18 - 6 * i);
  }
  if (n_pad && (w & (n_pad == 1 ? 0xffu : 0xffffu))) {
    if (bad) *bad = n_text - 1 - n_pad;
    return CUZK_BASE64_BITS;
  }
  for (unsigned i = 0; i < 3 - n_pad; i++) *o++ = (uint8_t)(w >> (16 - 8 * i));
  *n_out = (size_t)(o - out);
  return CUZK_BASE64_OK;
}

void cuzk_base64_encode(char *out, const void *in, size_t n) {
  const uint8_t *p = in;
  size_t i = 0;
  for (; i + 3 <= n; i += 3, out += 4) {
    const uint32_t w = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];
    out[0] = alphabet[w >> 18];
    out[1] = alphabet[w >> 12 & 63];
    out[2] = alphabet[w >> 6 & 63];
    out[3] = alphabet[w & 63];
  }
  if (i < n) {
    const uint32_t w = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0);
    out[0] = alphabet[w >> 18];
    out[1] = alphabet[w >> 12 & 63];
    out[2] = '=';
    if (i + 1 < n) out[2] = alphabet[w >> 6 & 63];
    out[3] = '=';
    out += 4;
  }
  *out = 0;
}
