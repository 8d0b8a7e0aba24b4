/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Why a point was refused, in the words that all readers of this layer share. */
#ifndef CUZK_GROTH16_POINT_ERROR_H
#define CUZK_GROTH16_POINT_ERROR_H
#include "cuzk/status.h"

static inline const char *cuzk_point_error(enum cuzk_status st) {
  switch (st) {
    case CUZK_E_FORMAT: return "not a canonical encoding (flag bits, padding, or a coordinate that is not below p)";
    case CUZK_E_NOT_CURVE: return "not on the curve";
    case CUZK_E_NOT_GROUP: return "on the curve, but outside the subgroup of order r";
    case CUZK_E_INFINITY: return "the point at infinity, which is not allowed here";
    default: return cuzk_status_text(st);
  }
}
#endif
