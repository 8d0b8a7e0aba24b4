/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The graph that a PoRep's labels run over: six parents of a depth-robust graph (DRG) and eight of an expander for each node.
 *  Source: circuits specification, Appendix A. */
#ifndef CUZK_INPUTS_POREP_GRAPH_H
#define CUZK_INPUTS_POREP_GRAPH_H
#include <stdint.h>

#include "ff/fr.h"

#define CUZK_POREP_DRG_PARENTS 6u
#define CUZK_POREP_EXP_PARENTS 8u
#define CUZK_POREP_PARENTS 14u
#define CUZK_POREP_LABEL_PARENTS 37u /* what a label hashes: its parents, repeated */

struct cuzk_porep_graph {
  uint64_t nodes;
  unsigned api_major_minor;
  unsigned half_bits;     /* Feistel: bits of one half */
  uint8_t drg_seed[28];
  uint64_t keys[3];
};

/** nodes: a power of two, 2^1 .. 2^32. api_major_minor 0x0100 selects the older derivation. */
void cuzk_porep_graph_init(struct cuzk_porep_graph *g, uint64_t nodes, const uint8_t porep_id[32], unsigned api_major_minor);
/** DRG parents in out[0..5], expander parents in out[6..13]. node < nodes. */
void cuzk_porep_graph_parents(uint64_t out[CUZK_POREP_PARENTS], const struct cuzk_porep_graph *g, uint64_t node);

/** Label of a node in a layer (counted from 1) from the labels of its parents: n of them, 6 in layer 1 (DRG parents), else 14 (then the
 *  expander's, of the layer below). Source: circuits specification 4.4. */
void cuzk_porep_label(cuzk_fr *label, const uint8_t replica_id[32], unsigned layer, uint64_t node, const cuzk_fr *const *parents, unsigned n);
#endif
