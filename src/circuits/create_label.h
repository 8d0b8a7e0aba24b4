/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The labelling hash of the PoRep circuit. Private to src/circuits. Source: circuits specification 4.4. */
#ifndef CUZK_CIRCUITS_CREATE_LABEL_H
#define CUZK_CIRCUITS_CREATE_LABEL_H
#include "gadgets/num.h"

/** SHA-256 of replica id, layer, node (64 bits, least significant first), zeros and 37 parents, those given taken in turn; the
 *  number of its low 254 bits. id and parents are 256 booleans each in SHA-256's order. */
cuzk_var cuzk_create_label(struct cuzk_cs *cs, const struct cuzk_bool id[256], const struct cuzk_bool *const *parents,
                           unsigned n_parents, uint32_t layer, const struct cuzk_bool node[64]);
#endif
