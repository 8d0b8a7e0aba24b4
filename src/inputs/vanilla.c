/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/vanilla.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "hash/sha256.h"
#include "inputs/bincode.h"
#include "inputs/merkle_path.h"

/* ---- proofs of spacetime ---- */

static bool is_post(const struct cuzk_circuit *c) { return c->kind == CUZK_KIND_WINNING || c->kind == CUZK_KIND_WINDOW; }

/* Challenges of one record: a winning circuit has one a pseudo-sector, its record all of them. */
static unsigned record_challenges(const struct cuzk_circuit *c) { return c->kind == CUZK_KIND_WINNING ? c->sectors : c->challenges; }

size_t cuzk_post_vanilla_bytes(const struct cuzk_circuit *c) {
  const struct tree_shape t = tree_shape_r(c);
  return 8 + 32 + 8 + 8 + record_challenges(c) * tree_shape_bytes(&t) + 64;
}

static enum cuzk_status check_length(const struct cuzk_circuit *c, size_t n, size_t want, const char *name, struct cuzk_detail *d) {
  if (n == want) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_FORMAT, "%.120s: a vanilla proof for %s has %zu bytes, found %zu", name, c->name, want, n);
}

enum cuzk_status cuzk_post_vanilla_read(struct cuzk_post_vanilla **out, const struct cuzk_circuit *c, const uint8_t *data, size_t n,
                                        const char *name, struct cuzk_detail *d) {
  *out = NULL;
  if (!is_post(c)) return cuzk_fail(d, CUZK_E_ARG, "%s is not a circuit of proofs of spacetime", c->name);
  enum cuzk_status st = check_length(c, n, cuzk_post_vanilla_bytes(c), name, d);
  if (st != CUZK_OK) return st;
  const struct tree_shape t = tree_shape_r(c);
  const unsigned n_ch = record_challenges(c);
  /* One block: the record, its challenges, the roots while reading, then all siblings. */
  const size_t at_challenges = (sizeof(struct cuzk_post_vanilla) + 31) & ~(size_t)31;
  const size_t at_roots = at_challenges + ((n_ch * sizeof(struct cuzk_post_challenge) + 31) & ~(size_t)31);
  const size_t at_siblings = at_roots + n_ch * sizeof(cuzk_fr);
  uint8_t *block = cuzk_calloc(1, at_siblings + n_ch * tree_shape_siblings(&t) * sizeof(cuzk_fr));
  if (!block) return cuzk_fail(d, CUZK_E_NOMEM, "%.120s: no memory for a vanilla proof", name);
  struct cuzk_post_vanilla *v = (struct cuzk_post_vanilla *)block;
  struct cuzk_post_challenge *ch = (struct cuzk_post_challenge *)(block + at_challenges);
  cuzk_fr *roots = (cuzk_fr *)(block + at_roots);
  v->circuit = c;
  v->n_challenges = n_ch;
  v->challenges = ch;

  struct bincode b = {.p = data, .n = n, .name = name, .d = d, .next_sibling = (cuzk_fr *)(block + at_siblings)};
  v->sector_id = bincode_u64(&b);
  bincode_element(&b, &v->comm_r, "comm_r");
  bincode_expect(&b, 8, 1, "number of sectors");
  bincode_expect(&b, 8, n_ch, "number of inclusion proofs");
  for (unsigned i = 0; i < n_ch; i++) bincode_proof(&b, &ch[i].path, &roots[i], &ch[i].leaf, &t);
  bincode_element(&b, &v->comm_c, "comm_c");
  bincode_element(&b, &v->comm_r_last, "comm_r_last");
  st = bincode_end(&b);
  for (unsigned i = 0; st == CUZK_OK && i < n_ch; i++) {
    if (!cuzk_fr_eq(&roots[i], &v->comm_r_last)) {
      st = cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: root of inclusion proof %u is not comm_r_last", name, i);
    }
  }
  if (st != CUZK_OK) {
    cuzk_free(block);
    return st;
  }
  *out = v;
  return CUZK_OK;
}

void cuzk_post_vanilla_free(struct cuzk_post_vanilla **v) {
  cuzk_free(*v);
  *v = NULL;
}

uint64_t cuzk_post_leaf(uint64_t nodes, const uint8_t randomness[32], uint64_t sector_id, uint64_t index) {
  uint8_t in[48], h[32];
  memcpy(in, randomness, 32);
  cuzk_store_le64(in + 32, sector_id);
  cuzk_store_le64(in + 40, index);
  cuzk_sha256(h, in, sizeof in);
  return cuzk_load_le64(h) % nodes;
}

uint64_t cuzk_post_challenge_index(unsigned api_major_minor, uint64_t position, unsigned challenges_per_sector, unsigned n) {
  return api_major_minor < 0x0102 ? position * challenges_per_sector + n : n;
}

static enum cuzk_status check_randomness(const uint8_t randomness[32], struct cuzk_detail *d) {
  cuzk_fr ignored;
  if (cuzk_fr_from_le(&ignored, randomness)) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_FORMAT, "randomness is not a canonical field element (not below the group order)");
}

enum cuzk_status cuzk_post_vanilla_check(const struct cuzk_post_vanilla *v, const uint8_t randomness[32], unsigned api_major_minor,
                                         uint64_t position, struct cuzk_detail *d) {
  struct cuzk_tree_hashes tree;
  enum cuzk_status st = check_randomness(randomness, d);
  if (st != CUZK_OK) return st;
  st = cuzk_tree_hashes_get(&tree, v->circuit);
  if (st != CUZK_OK) return cuzk_fail(d, st, "Poseidon constants: %s", cuzk_status_text(st));
  const cuzk_fr both[2] = {v->comm_c, v->comm_r_last};
  cuzk_fr h;
  cuzk_poseidon_hash(&h, tree.by_arity[2], both);
  if (!cuzk_fr_eq(&h, &v->comm_r)) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "sector %llu: comm_r is not the hash of comm_c and comm_r_last", (unsigned long long)v->sector_id);
  }
  for (unsigned i = 0; i < v->n_challenges; i++) {
    const struct cuzk_post_challenge *ch = &v->challenges[i];
    const uint64_t index = cuzk_post_challenge_index(api_major_minor, position, v->n_challenges, i);
    const uint64_t expected = cuzk_post_leaf(v->circuit->nodes, randomness, v->sector_id, index);
    const uint64_t found = cuzk_path_position(&ch->path);
    if (found != expected) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "sector %llu, challenge %u: path is of leaf %llu, expected %llu (drawn from the randomness)",
                       (unsigned long long)v->sector_id, i, (unsigned long long)found, (unsigned long long)expected);
    }
    cuzk_path_root_poseidon(&h, &tree, &ch->leaf, &ch->path);
    if (!cuzk_fr_eq(&h, &v->comm_r_last)) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "sector %llu, challenge %u: path does not lead to comm_r_last", (unsigned long long)v->sector_id, i);
    }
  }
  return CUZK_OK;
}

/* How many real sectors a partition may have. */
static enum cuzk_status check_sectors(const struct cuzk_circuit *c, size_t n, struct cuzk_detail *d) {
  if (!is_post(c)) return cuzk_fail(d, CUZK_E_ARG, "%s is not a circuit of proofs of spacetime", c->name);
  const size_t most = c->kind == CUZK_KIND_WINNING ? 1 : c->sectors;
  if (n >= 1 && n <= most) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_ARG, "%zu sectors for a partition of %s, expected 1 to %zu", n, c->name, most);
}

enum cuzk_status cuzk_post_partition_create(struct cuzk_post_partition **out, const struct cuzk_circuit *c,
                                            const struct cuzk_post_vanilla *const *sectors, size_t n, struct cuzk_detail *d) {
  *out = NULL;
  enum cuzk_status st = check_sectors(c, n, d);
  if (st != CUZK_OK) return st;
  for (size_t i = 0; i < n; i++) {
    if (sectors[i]->circuit != c) {
      return cuzk_fail(d, CUZK_E_ARG, "sector %zu was read for %s, expected %s", i, sectors[i]->circuit->name, c->name);
    }
  }
  const size_t at = (sizeof(struct cuzk_post_partition) + 31) & ~(size_t)31;
  uint8_t *block = cuzk_calloc(1, at + c->sectors * sizeof(struct cuzk_post_sector));
  if (!block) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a partition of %s", c->name);
  struct cuzk_post_partition *p = (struct cuzk_post_partition *)block;
  struct cuzk_post_sector *s = (struct cuzk_post_sector *)(block + at);
  p->n_sectors = c->sectors;
  p->sectors = s;
  for (unsigned i = 0; i < c->sectors; i++) {
    const bool winning = c->kind == CUZK_KIND_WINNING;
    const struct cuzk_post_vanilla *v = sectors[winning ? 0 : i < n ? i : n - 1];
    s[i] = (struct cuzk_post_sector){v->comm_r, v->comm_c, v->comm_r_last, c->challenges, v->challenges + (winning ? i : 0)};
  }
  *out = p;
  return CUZK_OK;
}

void cuzk_post_partition_destroy(struct cuzk_post_partition **p) {
  cuzk_free(*p);
  *p = NULL;
}

enum cuzk_status cuzk_post_public_inputs(cuzk_fr *out, const struct cuzk_circuit *c, const cuzk_fr *comm_r, const uint64_t *sector_ids,
                                         size_t n, const uint8_t randomness[32], unsigned api_major_minor, uint64_t first_position,
                                         struct cuzk_detail *d) {
  enum cuzk_status st = check_sectors(c, n, d);
  if (st != CUZK_OK) return st;
  st = check_randomness(randomness, d);
  if (st != CUZK_OK) return st;
  const bool winning = c->kind == CUZK_KIND_WINNING;
  const unsigned per_sector = record_challenges(c);
  for (unsigned i = 0; i < c->sectors; i++) {
    const size_t s = winning ? 0 : i < n ? i : n - 1;
    *out++ = comm_r[s];
    for (unsigned q = 0; q < c->challenges; q++) {
      const uint64_t index = cuzk_post_challenge_index(api_major_minor, first_position + s, per_sector, winning ? i : q);
      cuzk_fr_from_u64(out++, cuzk_post_leaf(c->nodes, randomness, sector_ids[s], index));
    }
  }
  return CUZK_OK;
}

/* ---- sector updates ---- */

static unsigned log2_of(uint64_t x) { return (unsigned)__builtin_ctzll(x); }
unsigned cuzk_update_apex_leaves(const struct cuzk_circuit *c) { return c->sector_bytes <= UINT64_C(8) << 10 ? 8 : 128; }
/* Levels of tree D below the apex leaves. */
static unsigned apex_height(const struct cuzk_circuit *c) {
  return log2_of(c->nodes) - log2_of(c->partitions) - log2_of(cuzk_update_apex_leaves(c));
}
unsigned cuzk_update_h(const struct cuzk_circuit *c) { return c->sector_bytes <= UINT64_C(32) << 10 ? 1 : 10; }
/* How the public input says h: the first place of h among the allowed values. */
static unsigned h_select(const struct cuzk_circuit *c) { return c->sector_bytes <= UINT64_C(32) << 10 ? 1 : 8; }

size_t cuzk_update_vanilla_bytes(const struct cuzk_circuit *c) {
  const struct tree_shape r = tree_shape_r(c), t = tree_shape_d(c);
  return 32 + 8 + 32 * (size_t)cuzk_update_apex_leaves(c) + 8 + c->challenges * (2 * tree_shape_bytes(&r) + tree_shape_bytes(&t));
}

static enum cuzk_status check_update(const struct cuzk_circuit *c, unsigned k, struct cuzk_detail *d) {
  if (c->kind != CUZK_KIND_UPDATE) return cuzk_fail(d, CUZK_E_ARG, "%s is not a circuit of sector updates", c->name);
  if (k >= c->partitions) return cuzk_fail(d, CUZK_E_ARG, "partition %u of %u (counted from 0)", k, c->partitions);
  return CUZK_OK;
}

static enum cuzk_status commitments(cuzk_fr out[3], const struct cuzk_update_commitments *comm, struct cuzk_detail *d) {
  const struct {
    const char *name;
    const uint8_t *b;
  } all[3] = {{"comm_r_old", comm->comm_r_old}, {"comm_d_new", comm->comm_d_new}, {"comm_r_new", comm->comm_r_new}};
  for (int i = 0; i < 3; i++) {
    if (!cuzk_fr_from_le(&out[i], all[i].b)) {
      return cuzk_fail(d, CUZK_E_FORMAT, "%s is not a canonical field element (not below the group order)", all[i].name);
    }
  }
  return CUZK_OK;
}

static uint64_t k_and_h_select(const struct cuzk_circuit *c, unsigned k) { return k + ((uint64_t)h_select(c) << log2_of(c->partitions)); }

enum cuzk_status cuzk_update_public_inputs(cuzk_fr out[4], const struct cuzk_circuit *c, unsigned k,
                                           const struct cuzk_update_commitments *comm, struct cuzk_detail *d) {
  cuzk_fr x[3];
  enum cuzk_status st = check_update(c, k, d);
  if (st == CUZK_OK) st = commitments(x, comm, d);
  if (st != CUZK_OK) return st;
  cuzk_fr_from_u64(&out[0], k_and_h_select(c, k));
  memcpy(out + 1, x, sizeof x);
  return CUZK_OK;
}

enum cuzk_status cuzk_update_vanilla_read(struct cuzk_update_vanilla **out, const struct cuzk_circuit *c, unsigned k,
                                          const struct cuzk_update_commitments *comm, const uint8_t *data, size_t n, const char *name,
                                          struct cuzk_detail *d) {
  *out = NULL;
  cuzk_fr x[3];
  enum cuzk_status st = check_update(c, k, d);
  if (st == CUZK_OK) st = commitments(x, comm, d);
  if (st == CUZK_OK) st = check_length(c, n, cuzk_update_vanilla_bytes(c), name, d);
  if (st != CUZK_OK) return st;
  const struct tree_shape r = tree_shape_r(c), t = tree_shape_d(c);
  const unsigned n_apex = cuzk_update_apex_leaves(c), n_ch = c->challenges;
  const size_t at_challenges = (sizeof(struct cuzk_update_vanilla) + 31) & ~(size_t)31;
  const size_t at_elements = at_challenges + ((n_ch * sizeof(struct cuzk_update_challenge) + 31) & ~(size_t)31);
  const size_t n_elements = n_apex + n_ch * (1 + 2 * tree_shape_siblings(&r) + tree_shape_siblings(&t));
  uint8_t *block = cuzk_calloc(1, at_elements + n_elements * sizeof(cuzk_fr));
  if (!block) return cuzk_fail(d, CUZK_E_NOMEM, "%.120s: no memory for a vanilla proof", name);
  struct cuzk_update_vanilla *v = (struct cuzk_update_vanilla *)block;
  struct cuzk_update_partition *p = &v->partition;
  struct cuzk_update_challenge *ch = (struct cuzk_update_challenge *)(block + at_challenges);
  cuzk_fr *apex = (cuzk_fr *)(block + at_elements), *leaf_r_new = apex + n_apex;
  v->circuit = c;
  v->k = k;
  v->leaf_r_new = leaf_r_new;
  p->k_and_h_select = k_and_h_select(c, k);
  p->comm_r_old = x[0];
  p->comm_d_new = x[1];
  p->comm_r_new = x[2];
  p->n_apex_leaves = n_apex;
  p->apex_leaves = apex;
  p->n_challenges = n_ch;
  p->challenges = ch;

  struct bincode b = {.p = data, .n = n, .name = name, .d = d, .next_sibling = leaf_r_new + n_ch};
  bincode_element(&b, &p->comm_c, "comm_c");
  bincode_expect(&b, 8, n_apex, "number of apex leaves");
  for (unsigned i = 0; i < n_apex; i++) bincode_element(&b, &apex[i], "apex leaf");
  bincode_expect(&b, 8, n_ch, "number of challenge proofs");
  for (unsigned i = 0; i < n_ch && b.st == CUZK_OK; i++) {
    cuzk_fr root_old, root_d, root_new;
    bincode_proof(&b, &ch[i].path_r_old, &root_old, &ch[i].leaf_r_old, &r);
    bincode_proof(&b, &ch[i].path_d_new, &root_d, &ch[i].leaf_d_new, &t);
    bincode_proof(&b, &ch[i].path_r_new, &root_new, &leaf_r_new[i], &r);
    if (b.st != CUZK_OK) break;
    if (i == 0) {
      p->root_r_old = root_old;
      p->root_r_new = root_new;
    }
    if (!cuzk_fr_eq(&root_old, &p->root_r_old)) {
      (void)bincode_fail(&b, CUZK_E_MISMATCH, "root of proof_r_old of challenge %u differs from the first challenge's", i);
    } else if (!cuzk_fr_eq(&root_new, &p->root_r_new)) {
      (void)bincode_fail(&b, CUZK_E_MISMATCH, "root of proof_r_new of challenge %u differs from the first challenge's", i);
    } else if (!cuzk_fr_eq(&root_d, &p->comm_d_new)) {
      (void)bincode_fail(&b, CUZK_E_MISMATCH, "root of proof_d_new of challenge %u is not comm_d_new", i);
    }
  }
  st = bincode_end(&b);
  if (st != CUZK_OK) {
    cuzk_free(block);
    return st;
  }
  *out = v;
  return CUZK_OK;
}

void cuzk_update_vanilla_free(struct cuzk_update_vanilla **v) {
  cuzk_free(*v);
  *v = NULL;
}

static void gen_rand(cuzk_fr *r, const struct cuzk_poseidon *p, const cuzk_fr *a, const cuzk_fr *b) {
  const cuzk_fr x[2] = {*a, *b};
  cuzk_poseidon_hash(r, p, x);
}

enum cuzk_status cuzk_update_challenges(uint64_t *out, const struct cuzk_circuit *c, const cuzk_fr *comm_r_new, unsigned k) {
  const struct cuzk_poseidon *p;
  enum cuzk_status st = cuzk_poseidon_get(&p, 2, CUZK_POSEIDON_GEN_RAND);
  if (st != CUZK_OK) return st;
  const unsigned bits = log2_of(c->nodes) - log2_of(c->partitions);
  const unsigned per_digest = 254 / bits, n_digests = (c->challenges + per_digest - 1) / per_digest;
  uint64_t limbs[5] = {0}; /* one above, so that a group may be cut across the end of a limb */
  for (unsigned i = 0; i < c->challenges; i++) {
    const unsigned q = i % per_digest;
    if (q == 0) {
      cuzk_fr number, digest;
      cuzk_fr_from_u64(&number, (uint64_t)k * n_digests + i / per_digest);
      gen_rand(&digest, p, comm_r_new, &number);
      cuzk_fr_to_canon(limbs, &digest);
    }
    const unsigned at = q * bits, limb = at / 64, shift = at % 64;
    uint64_t v = limbs[limb] >> shift;
    if (shift) v |= limbs[limb + 1] << (64 - shift);
    out[i] = (v & ((UINT64_C(1) << bits) - 1)) | (uint64_t)k << bits;
  }
  return CUZK_OK;
}

/* The apex leaves are a layer of tree D: what they and the partition's path lead to is comm_d_new. */
static enum cuzk_status check_apex(const struct cuzk_update_vanilla *v, struct cuzk_detail *d) {
  const struct cuzk_update_partition *p = &v->partition;
  const unsigned below = apex_height(v->circuit) + log2_of(p->n_apex_leaves);
  uint8_t layer[128][32], comm_d[32];
  for (unsigned i = 0; i < p->n_apex_leaves; i++) cuzk_fr_to_le(layer[i], &p->apex_leaves[i]);
  for (unsigned n = p->n_apex_leaves; n > 1; n /= 2) {
    for (unsigned i = 0; i < n / 2; i++) cuzk_tree_d_node(layer[i], layer[2 * i], layer[2 * i + 1]);
  }
  for (unsigned i = 0; i < log2_of(v->circuit->partitions); i++) {
    uint8_t sibling[32];
    cuzk_fr_to_le(sibling, &p->challenges[0].path_d_new.siblings[below + i]);
    const bool right = v->k >> i & 1;
    cuzk_tree_d_node(layer[0], right ? sibling : layer[0], right ? layer[0] : sibling);
  }
  cuzk_fr_to_le(comm_d, &p->comm_d_new);
  if (memcmp(layer[0], comm_d, 32) == 0) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u: apex leaves do not lead to comm_d_new", v->k);
}

static enum cuzk_status check_update_challenge(const struct cuzk_update_vanilla *v, unsigned i, uint64_t node,
                                               const struct cuzk_tree_hashes *tree, const struct cuzk_poseidon *rand, const cuzk_fr *phi,
                                               struct cuzk_detail *d) {
  const struct cuzk_circuit *c = v->circuit;
  const struct cuzk_update_partition *p = &v->partition;
  const struct cuzk_update_challenge *ch = &p->challenges[i];
  const struct {
    const char *name;
    const struct cuzk_merkle_path *path;
  } paths[3] = {{"proof_r_old", &ch->path_r_old}, {"proof_d_new", &ch->path_d_new}, {"proof_r_new", &ch->path_r_new}};
  for (int q = 0; q < 3; q++) {
    const uint64_t found = cuzk_path_position(paths[q].path);
    if (found != node) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: %s is of node %llu, expected %llu (drawn from comm_r_new)", v->k, i,
                       paths[q].name, (unsigned long long)found, (unsigned long long)node);
    }
  }
  cuzk_fr h, rho;
  cuzk_path_root_poseidon(&h, tree, &ch->leaf_r_old, &ch->path_r_old);
  if (!cuzk_fr_eq(&h, &p->root_r_old)) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: path of proof_r_old does not lead to its root", v->k, i);
  }
  cuzk_path_root_poseidon(&h, tree, &v->leaf_r_new[i], &ch->path_r_new);
  if (!cuzk_fr_eq(&h, &p->root_r_new)) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: path of proof_r_new does not lead to its root", v->k, i);
  }
  uint8_t got[32], want[32];
  cuzk_path_root_sha256(got, &ch->leaf_d_new, &ch->path_d_new, ch->path_d_new.n_steps);
  cuzk_fr_to_le(want, &p->comm_d_new);
  if (memcmp(got, want, 32) != 0) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: path of proof_d_new does not lead to comm_d_new", v->k, i);
  }
  const unsigned height = apex_height(c);
  cuzk_path_root_sha256(got, &ch->leaf_d_new, &ch->path_d_new, height);
  cuzk_fr_to_le(want, &p->apex_leaves[node >> height & (p->n_apex_leaves - 1)]);
  if (memcmp(got, want, 32) != 0) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: path of proof_d_new does not lead to its apex leaf", v->k, i);
  }
  for (unsigned s = 0; s < log2_of(c->partitions); s++) {
    const unsigned at = height + log2_of(p->n_apex_leaves) + s;
    if (!cuzk_fr_eq(&ch->path_d_new.siblings[at], &p->challenges[0].path_d_new.siblings[at])) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: partition path differs from the first challenge's", v->k, i);
    }
  }
  cuzk_fr_from_u64(&h, node >> (log2_of(c->nodes) - cuzk_update_h(c)));
  gen_rand(&rho, rand, phi, &h);
  cuzk_fr_mul(&h, &ch->leaf_d_new, &rho);
  cuzk_fr_add(&h, &h, &ch->leaf_r_old);
  if (!cuzk_fr_eq(&h, &v->leaf_r_new[i])) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "partition %u, challenge %u: leaf of proof_r_new is not the encoded data (old leaf + data * rho)", v->k, i);
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_update_vanilla_check(const struct cuzk_update_vanilla *v, struct cuzk_detail *d) {
  const struct cuzk_circuit *c = v->circuit;
  const struct cuzk_update_partition *p = &v->partition;
  struct cuzk_tree_hashes tree;
  const struct cuzk_poseidon *rand = NULL;
  uint64_t *nodes = cuzk_malloc_array(c->challenges, sizeof *nodes);
  enum cuzk_status st = nodes ? CUZK_OK : CUZK_E_NOMEM;
  if (st == CUZK_OK) st = cuzk_tree_hashes_get(&tree, c);
  if (st == CUZK_OK) st = cuzk_poseidon_get(&rand, 2, CUZK_POSEIDON_GEN_RAND);
  if (st == CUZK_OK) st = cuzk_update_challenges(nodes, c, &p->comm_r_new, v->k);
  if (st != CUZK_OK) {
    cuzk_free(nodes);
    return cuzk_fail(d, st, "partition %u: %s", v->k, cuzk_status_text(st));
  }
  const struct {
    const char *name;
    const cuzk_fr *comm_r, *root;
  } sides[2] = {{"old", &p->comm_r_old, &p->root_r_old}, {"new", &p->comm_r_new, &p->root_r_new}};
  for (int s = 0; s < 2 && st == CUZK_OK; s++) {
    const cuzk_fr both[2] = {p->comm_c, *sides[s].root};
    cuzk_fr h;
    cuzk_poseidon_hash(&h, tree.by_arity[2], both);
    if (!cuzk_fr_eq(&h, sides[s].comm_r)) {
      st = cuzk_fail(d, CUZK_E_MISMATCH, "partition %u: comm_r_%s is not the hash of comm_c and the root of proof_r_%s", v->k, sides[s].name,
                     sides[s].name);
    }
  }
  cuzk_fr phi;
  gen_rand(&phi, rand, &p->comm_d_new, &p->comm_r_old);
  for (unsigned i = 0; st == CUZK_OK && i < p->n_challenges; i++) st = check_update_challenge(v, i, nodes[i], &tree, rand, &phi, d);
  if (st == CUZK_OK) st = check_apex(v, d);
  cuzk_free(nodes);
  return st;
}
