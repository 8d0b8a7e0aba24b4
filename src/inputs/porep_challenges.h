/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Which nodes a PoRep must prove. Source: circuits specification 7.3, formats specification 5.7. */
#ifndef CUZK_INPUTS_POREP_CHALLENGES_H
#define CUZK_INPUTS_POREP_CHALLENGES_H
#include <stddef.h>
#include <stdint.h>

#include "inputs/seal.h"

/** Number of synthetic challenges of a sector: min(nodes, 2^18). */
uint64_t cuzk_porep_synthetic_count(uint64_t nodes);

/** Synthetic challenge number m of a sector: an element of the set from which phase 1 proves all. nodes: 2 .. 2^32. */
uint64_t cuzk_porep_synthetic_challenge(uint64_t nodes, const uint8_t replica_id[32], const uint8_t comm_r[32], uint64_t m);

/** out[i] = challenge number first + i, 0 <= i < n, counted over all partitions. comm_r matters for synthetic and non-interactive
 *  ones only, seed for interactive and synthetic ones only. n_synthetic: size of the synthetic set (0: cuzk_porep_synthetic_count).
 *  nodes: 2 .. 2^32; first + n <= 2^32. */
void cuzk_porep_challenges(uint64_t *out, enum cuzk_porep_feature feature, uint64_t nodes, const uint8_t replica_id[32],
                           const uint8_t comm_r[32], const uint8_t seed[32], uint64_t n_synthetic, uint64_t first, size_t n);
#endif
