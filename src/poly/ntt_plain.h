/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The textbook transform over Fr. */
#ifndef CUZK_POLY_NTT_PLAIN_H
#define CUZK_POLY_NTT_PLAIN_H
#include "ff/fr.h"

#define PLAIN_T cuzk_fr
#define PLAIN_FN(x) plain_##x
#define PLAIN_ADD cuzk_fr_add
#define PLAIN_SUB cuzk_fr_sub
#define PLAIN_MUL cuzk_fr_mul
#include "poly/ntt_plain_tmpl.h"
#undef PLAIN_T
#undef PLAIN_FN
#undef PLAIN_ADD
#undef PLAIN_SUB
#undef PLAIN_MUL
#endif
