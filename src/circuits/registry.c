/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "circuits/synthesis.h"
#include "hash/sha256.h"

/* Sizes, tree shapes and counts: circuits specification 4.1, 5.1, 6.1. */
static const struct {
  const char *name;
  unsigned log2_nodes, sub, top;
  unsigned window_sectors;
  unsigned update_partitions, update_challenges;
  bool large, published;
} sizes[] = {
    {"2kib", 6, 0, 0, 2, 1, 10, false, true},       {"4kib", 7, 2, 0, 2, 1, 10, false, false},
    {"16kib", 9, 8, 0, 2, 2, 10, false, false},     {"32kib", 10, 8, 2, 2, 2, 10, false, false},
    {"8mib", 18, 0, 0, 2, 4, 10, false, true},      {"512mib", 24, 0, 0, 2, 16, 86, false, true},
    {"32gib", 30, 8, 0, 2349, 16, 86, true, true},  {"64gib", 31, 8, 2, 2300, 16, 86, true, true},
};
static const char *const kinds[] = {"porep", "winning", "window", "update"};
#define N_SIZES (sizeof sizes / sizeof *sizes)
#define N_KINDS (sizeof kinds / sizeof *kinds)
#define MAX_GADGETS 64

static struct cuzk_circuit table[N_SIZES * N_KINDS + MAX_GADGETS];
static size_t n_table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static unsigned log2_of(unsigned x) {
  unsigned k = 0;
  while (x >> (k + 1)) k++;
  return k;
}

static void fill_counts(struct cuzk_circuit *c, size_t s) {
  c->partitions = 1;
  if (c->kind == CUZK_KIND_POREP) {
    c->layers = sizes[s].large ? 11 : 2;
    c->challenges = sizes[s].large ? 18 : 2;
    c->partitions = sizes[s].large ? 10 : 1;
    c->n_inputs = 1 + 3 + 18 * c->challenges;
  } else if (c->kind == CUZK_KIND_UPDATE) {
    c->challenges = sizes[s].update_challenges;
    c->partitions = sizes[s].update_partitions;
    c->n_inputs = 5;
  } else {
    c->challenges = c->kind == CUZK_KIND_WINNING ? 1 : 10;
    c->sectors = c->kind == CUZK_KIND_WINNING ? 66 : sizes[s].window_sectors;
    c->n_inputs = 1 + c->sectors * (1 + c->challenges);
  }
}

static void build(void) {
  for (size_t k = 0; k < N_KINDS; k++)
    for (size_t s = 0; s < N_SIZES; s++) {
      struct cuzk_circuit *c = &table[n_table++];
      c->kind = (enum cuzk_kind)k;
      (void)snprintf(c->name, sizeof c->name, "%s-%s", kinds[k], sizes[s].name);
      c->nodes = UINT64_C(1) << sizes[s].log2_nodes;
      c->sector_bytes = 32 * c->nodes;
      c->base_arity = 8;
      c->sub_arity = sizes[s].sub;
      c->top_arity = sizes[s].top;
      c->sub_steps = sizes[s].sub ? 1 : 0;
      c->top_steps = sizes[s].top ? 1 : 0;
      c->base_steps = (sizes[s].log2_nodes - (sizes[s].sub ? log2_of(sizes[s].sub) : 0) - (sizes[s].top ? log2_of(sizes[s].top) : 0)) / 3;
      c->published = sizes[s].published;
      fill_counts(c, s);
    }
  for (size_t i = 0; i < cuzk_gadget_count() && i < MAX_GADGETS; i++) {
    struct cuzk_circuit *c = &table[n_table++];
    c->kind = CUZK_KIND_GADGET;
    (void)snprintf(c->name, sizeof c->name, "%s", cuzk_gadget_name(i));
    c->gadget = cuzk_gadget_at(i);
    struct cuzk_cs cs;
    cuzk_cs_init_count(&cs);
    cuzk_gadget_synthesize(&cs, c, NULL);
    c->n_inputs = cs.n_inputs;
    cuzk_cs_clear(&cs);
  }
}

const struct cuzk_circuit *cuzk_circuit_at(size_t i) {
  (void)pthread_once(&once, build);
  return i < n_table ? &table[i] : NULL;
}

const struct cuzk_circuit *cuzk_circuit_find(const char *name) {
  const struct cuzk_circuit *c;
  for (size_t i = 0; (c = cuzk_circuit_at(i)); i++)
    if (!strcmp(c->name, name)) return c;
  return NULL;
}

const struct cuzk_circuit *cuzk_circuit_of(enum cuzk_kind kind, uint64_t sector_bytes) {
  const struct cuzk_circuit *c;
  for (size_t i = 0; (c = cuzk_circuit_at(i)); i++)
    if (c->kind == kind && kind != CUZK_KIND_GADGET && c->sector_bytes == sector_bytes) return c;
  return NULL;
}

/* Formats specification 4.4; the spacing of the hashed strings is part of the name. */
void cuzk_circuit_parameter_id(char out[200], const struct cuzk_circuit *c) {
  char tree[64], id[400], prefix[120];
  uint8_t d[32];
  out[0] = 0;
  if (c->kind == CUZK_KIND_GADGET) return;
  (void)snprintf(tree, sizeof tree, "merkletree-poseidon_hasher-%u-%u-%u", c->base_arity, c->sub_arity, c->top_arity);
  switch (c->kind) {
    case CUZK_KIND_POREP:
      (void)snprintf(prefix, sizeof prefix, "stacked-proof-of-replication-%s-sha256_hasher", tree);
      (void)snprintf(id, sizeof id,
                     "layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: 8 base_graph: "
                     "drgraph::BucketGraph{size: %llu; degree: 6; hasher: poseidon_hasher} }, challenges: LayerChallenges { layers: "
                     "%u, max_count: %u }, tree: %s }",
                     (unsigned long long)c->nodes, c->layers, c->challenges, tree);
      break;
    case CUZK_KIND_UPDATE:
      (void)snprintf(prefix, sizeof prefix, "empty-sector-update-%s", tree);
      (void)snprintf(id, sizeof id, "empty_sector_update::PublicParams{ sector_nodes: %llu }", (unsigned long long)c->nodes);
      break;
    default:
      (void)snprintf(prefix, sizeof prefix, "proof-of-spacetime-fallback-%s", tree);
      (void)snprintf(id, sizeof id, "FallbackPoSt::PublicParams{sector_size: %llu, challenge_count: %u, sector_count: %u}",
                     (unsigned long long)c->sector_bytes, c->challenges, c->sectors);
  }
  cuzk_sha256(d, id, strlen(id));
  const int n = snprintf(out, 200, "%s-", prefix);
  cuzk_hex_encode(out + n, d, sizeof d);
}
