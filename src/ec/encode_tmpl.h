/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Point encodings of the formats specification, section 2.2; included once per curve after curve_tmpl.h, never linked.
 *
 *  Besides the names of curve_tmpl.h define: EC_FE_BYTES (bytes of a coordinate), EC_FE_TO_BYTES(out, a) and
 *  EC_FE_FROM_BYTES(r, in) (big-endian; the latter gives false for a coordinate not below p), EC_X_ZERO_REFUSED (0 or 1). */

#define EC_FLAG_COMPRESSED 0x80u
#define EC_FLAG_INFINITY 0x40u
#define EC_FLAG_LARGER 0x20u

void EC_FN(encode)(uint8_t out[2 * EC_FE_BYTES], const EC_AFFINE *p) {
  if (EC_FN(affine_is_identity)(p)) {
    memset(out, 0, 2 * EC_FE_BYTES);
    out[0] = EC_FLAG_INFINITY;
    return;
  }
  EC_FE_TO_BYTES(out, &p->x);
  EC_FE_TO_BYTES(out + EC_FE_BYTES, &p->y);
}

void EC_FN(compress)(uint8_t out[EC_FE_BYTES], const EC_AFFINE *p) {
  if (EC_FN(affine_is_identity)(p)) {
    memset(out, 0, EC_FE_BYTES);
    out[0] = EC_FLAG_COMPRESSED | EC_FLAG_INFINITY;
    return;
  }
  EC_FE_TO_BYTES(out, &p->x);
  out[0] |= EC_FLAG_COMPRESSED;
  if (EC_F(is_larger)(&p->y)) out[0] |= EC_FLAG_LARGER;
}

/* Is in[n] first, then only zeros? */
static bool EC_FN(rest_is_zero)(const uint8_t *in, size_t n, uint8_t first) {
  unsigned any = (unsigned)(in[0] ^ first);
  for (size_t i = 1; i < n; i++) any |= in[i];
  return any == 0;
}

enum cuzk_status EC_FN(decode)(EC_AFFINE *r, const uint8_t in[2 * EC_FE_BYTES]) {
  EC_AFFINE p;
  if (in[0] & (EC_FLAG_COMPRESSED | EC_FLAG_INFINITY | EC_FLAG_LARGER)) {
    if (!EC_FN(rest_is_zero)(in, 2 * EC_FE_BYTES, EC_FLAG_INFINITY)) return CUZK_E_FORMAT;
    r->x = r->y = EC_F(zero);
    return CUZK_OK;
  }
  if (!EC_FE_FROM_BYTES(&p.x, in) || !EC_FE_FROM_BYTES(&p.y, in + EC_FE_BYTES)) return CUZK_E_FORMAT;
  /* (0, 0) stands for the identity in memory, but its bytes are no point. */
  if (EC_FN(affine_is_identity)(&p) || !EC_FN(affine_on_curve)(&p)) return CUZK_E_NOT_CURVE;
  if (EC_X_ZERO_REFUSED && EC_F(is_zero)(&p.x)) return CUZK_E_NOT_GROUP;
  *r = p;
  return CUZK_OK;
}

enum cuzk_status EC_FN(decode_batch)(EC_AFFINE *r, const uint8_t *in, size_t n, size_t *bad) {
  for (size_t i = 0; i < n; i++) {
    const enum cuzk_status st = EC_FN(decode)(&r[i], in + i * (size_t)(2 * EC_FE_BYTES));
    if (st != CUZK_OK) {
      *bad = i;
      return st;
    }
  }
  return CUZK_OK;
}

enum cuzk_status EC_FN(decompress)(EC_AFFINE *r, const uint8_t in[EC_FE_BYTES]) {
  uint8_t b[EC_FE_BYTES];
  EC_AFFINE p;
  if (!(in[0] & EC_FLAG_COMPRESSED)) return CUZK_E_FORMAT;
  if (in[0] & EC_FLAG_INFINITY) {
    if (!EC_FN(rest_is_zero)(in, EC_FE_BYTES, EC_FLAG_COMPRESSED | EC_FLAG_INFINITY)) return CUZK_E_FORMAT;
    r->x = r->y = EC_F(zero);
    return CUZK_OK;
  }
  memcpy(b, in, sizeof b);
  b[0] &= 0x1fu;
  if (!EC_FE_FROM_BYTES(&p.x, b)) return CUZK_E_FORMAT;
  EC_F(sqr)(&p.y, &p.x);
  EC_F(mul)(&p.y, &p.y, &p.x);
  EC_F(add)(&p.y, &p.y, EC_B);
  if (!EC_F(sqrt_var)(&p.y, &p.y)) return CUZK_E_NOT_CURVE;
  if (EC_X_ZERO_REFUSED && EC_F(is_zero)(&p.x)) return CUZK_E_NOT_GROUP;
  if (EC_F(is_larger)(&p.y) != ((in[0] & EC_FLAG_LARGER) != 0)) EC_F(neg)(&p.y, &p.y);
  *r = p;
  return CUZK_OK;
}
