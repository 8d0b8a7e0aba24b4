/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Challenges of an update follow from comm_r_new, so every node must be known before any is asked for. Data and old replica repeat
 * themselves within each region of nodes whose top h bits are equal; rho is the same in a region, so the new replica repeats itself in
 * the same places, and a tree over 2^30 leaves takes some ten thousand hashes. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "inputs/vanilla.h"
#include "synth/draw.h"
#include "synth/tree.h"
#include "synth/write.h"

struct update {
  const struct cuzk_circuit *circuit;
  struct synth_draw draw;
  struct synth_tree d, r_old, r_new;
  cuzk_fr comm_c, comm_r_old, comm_r_new;
};

static void draw_leaves(struct synth_tree *t, const struct synth_draw *g, enum synth_what what) {
  for (size_t i = 0; i < t->level[0].n; i++) synth_draw_element(&t->level[0].value[i], g, what, 0, i);
}

/* Leaves of the new replica from old leaves and data; all three trees keep leaves of the same places. */
static enum cuzk_status encode(struct update *u, struct cuzk_detail *d) {
  const unsigned shift = (unsigned)__builtin_ctzll(u->circuit->nodes) - cuzk_update_h(u->circuit);
  const struct cuzk_poseidon *rand;
  enum cuzk_status st = cuzk_poseidon_get(&rand, 2, CUZK_POSEIDON_GEN_RAND);
  if (st != CUZK_OK) return cuzk_fail(d, st, "Poseidon constants: %s", cuzk_status_text(st));
  cuzk_fr phi, rho = cuzk_fr_zero, in[2] = {*synth_tree_root(&u->d), u->comm_r_old};
  cuzk_poseidon_hash(&phi, rand, in);
  uint64_t of = UINT64_MAX; /* the region that rho is of */
  for (size_t i = 0; i < u->r_new.level[0].n; i++) {
    const uint64_t region = synth_tree_place(&u->r_new, i) >> shift;
    if (region != of) {
      in[0] = phi;
      cuzk_fr_from_u64(&in[1], region);
      cuzk_poseidon_hash(&rho, rand, in);
      of = region;
    }
    cuzk_fr *leaf = &u->r_new.level[0].value[i];
    cuzk_fr_mul(leaf, &u->d.level[0].value[i], &rho);
    cuzk_fr_add(leaf, leaf, &u->r_old.level[0].value[i]);
  }
  return CUZK_OK;
}

static enum cuzk_status make_trees(struct update *u, struct cuzk_pool *pool, struct cuzk_detail *d) {
  enum cuzk_status st;
  CUZK_TRY(synth_tree_pattern(&u->d, u->circuit, true, d));
  CUZK_TRY(synth_tree_pattern(&u->r_old, u->circuit, false, d));
  CUZK_TRY(synth_tree_pattern(&u->r_new, u->circuit, false, d));
  const struct cuzk_poseidon *hash2 = u->d.hashes.by_arity[2];
  draw_leaves(&u->d, &u->draw, SYNTH_DATA);
  synth_tree_grow(&u->d, pool);
  draw_leaves(&u->r_old, &u->draw, SYNTH_REPLICA);
  synth_tree_grow(&u->r_old, pool);
  synth_draw_element(&u->comm_c, &u->draw, SYNTH_COMM_C, 0, 0);
  const cuzk_fr old[2] = {u->comm_c, *synth_tree_root(&u->r_old)};
  cuzk_poseidon_hash(&u->comm_r_old, hash2, old);
  CUZK_TRY(encode(u, d));
  synth_tree_grow(&u->r_new, pool);
  const cuzk_fr new[2] = {u->comm_c, *synth_tree_root(&u->r_new)};
  cuzk_poseidon_hash(&u->comm_r_new, hash2, new);
  st = CUZK_OK;
out:
  return st;
}

static enum cuzk_status write_partition(const struct update *u, unsigned k, uint64_t *nodes, struct synth_bytes *b, struct cuzk_detail *d) {
  const struct cuzk_circuit *c = u->circuit;
  const unsigned n_apex = cuzk_update_apex_leaves(c);
  enum cuzk_status st = cuzk_update_challenges(nodes, c, &u->comm_r_new, k);
  if (st != CUZK_OK) return cuzk_fail(d, st, "challenges of partition %u: %s", k, cuzk_status_text(st));
  /* Level of tree D that has n_apex nodes for each partition. */
  const unsigned level = (unsigned)__builtin_ctzll(c->nodes / c->partitions / n_apex);
  b->at = 0;
  synth_put_element(b, &u->comm_c);
  synth_put_u64(b, n_apex);
  for (unsigned i = 0; i < n_apex; i++) {
    cuzk_fr x;
    synth_tree_node(&x, &u->d, level, (uint64_t)k * n_apex + i);
    synth_put_element(b, &x);
  }
  synth_put_u64(b, c->challenges);
  for (unsigned i = 0; i < c->challenges; i++) {
    synth_put_proof(b, &u->r_old, nodes[i]);
    synth_put_proof(b, &u->d, nodes[i]);
    synth_put_proof(b, &u->r_new, nodes[i]);
  }
  CUZK_VERIFY(b->at == b->n);
  return CUZK_OK;
}

static void member_element(struct cuzk_json_out *o, const char *name, const cuzk_fr *a) {
  uint8_t b[32];
  cuzk_fr_to_le(b, a);
  cuzk_json_out_member_hex(o, name, b, sizeof b);
}

static enum cuzk_status write_meta(const struct update *u, const struct cuzk_synth *o, cuzk_synth_file_fn *file, void *user,
                                   struct cuzk_detail *d) {
  struct cuzk_json_out j;
  char *text = NULL;
  size_t n;
  cuzk_json_out_init(&j, NULL);
  cuzk_json_out_object(&j);
  member_element(&j, "comm_d_new", synth_tree_root(&u->d));
  member_element(&j, "comm_r_new", &u->comm_r_new);
  member_element(&j, "comm_r_old", &u->comm_r_old);
  cuzk_json_out_member_u64(&j, "h", cuzk_update_h(u->circuit));
  cuzk_json_out_member_u64(&j, "miner_id", o->miner);
  cuzk_json_out_member_u64(&j, "partitions", u->circuit->partitions);
  cuzk_json_out_member_u64(&j, "sector_number", o->sector_number);
  cuzk_json_out_member_u64(&j, "sector_size", u->circuit->sector_bytes);
  cuzk_json_out_object_end(&j);
  enum cuzk_status st = cuzk_json_out_finish(&j, &text, &n, d);
  if (st != CUZK_OK) return st;
  st = file(user, "update.meta.json", text, n, d);
  cuzk_free(text);
  return st;
}

enum cuzk_status cuzk_synth_update(const struct cuzk_synth *o, struct cuzk_pool *pool, cuzk_synth_file_fn *file, void *user,
                                   struct cuzk_detail *d) {
  struct update u = {.circuit = cuzk_circuit_of(CUZK_KIND_UPDATE, o->sector_bytes)};
  struct synth_bytes b = {NULL, 0, 0};
  uint64_t *nodes = NULL;
  enum cuzk_status st;
  if (!u.circuit) return cuzk_fail(d, CUZK_E_ARG, "no updates of sectors of %llu bytes", (unsigned long long)o->sector_bytes);
  if (o->partition >= 0 && (unsigned)o->partition >= u.circuit->partitions) {
    return cuzk_fail(d, CUZK_E_ARG, "partition %d of %u (counted from 0)", o->partition, u.circuit->partitions);
  }
  synth_draw_init(&u.draw, CUZK_KIND_UPDATE, o, o->sector_number, 0);
  CUZK_TRY(make_trees(&u, pool, d));
  b.n = cuzk_update_vanilla_bytes(u.circuit);
  b.p = cuzk_malloc(b.n);
  nodes = cuzk_malloc_array(u.circuit->challenges, sizeof *nodes);
  if (!b.p || !nodes) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a record of %zu bytes", b.n);
    goto out;
  }
  for (unsigned k = 0; k < u.circuit->partitions; k++) {
    char name[40];
    if (o->partition >= 0 && k != (unsigned)o->partition) continue;
    CUZK_TRY(write_partition(&u, k, nodes, &b, d));
    (void)snprintf(name, sizeof name, "update.p%u.vanilla.bin", k);
    CUZK_TRY(file(user, name, b.p, b.n, d));
  }
  st = write_meta(&u, o, file, user, d);
out:
  cuzk_free(b.p);
  cuzk_free(nodes);
  synth_tree_clear(&u.d);
  synth_tree_clear(&u.r_old);
  synth_tree_clear(&u.r_new);
  return st;
}
