/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Vanilla proofs of the bundled sectors as the circuits' witnesses, read the short way: trusted files, memory of one arena. */
#ifndef CUZK_TESTS_CIRCUITS_WITNESS_FIXTURE_H
#define CUZK_TESTS_CIRCUITS_WITNESS_FIXTURE_H
#include "fixture.h"

#include "base/bytes.h"
#include "circuits/porep_witness.h"
#include "circuits/post_witness.h"
#include "circuits/update_witness.h"

/* Everything lives until the program ends. */
static void *arena[20000];
static size_t n_arena;
static inline void *arena_get(size_t n, size_t size) {
  assert_true(n_arena < sizeof arena / sizeof *arena);
  void *p = calloc(n ? n : 1, size);
  assert_non_null(p);
  return arena[n_arena++] = p;
}
static inline void arena_clear(void) {
  while (n_arena) free(arena[--n_arena]);
}

static inline void fr_of_hex(cuzk_fr *out, const char *hex) {
  uint8_t le[32];
  for (int i = 0; i < 32; i++) {
    unsigned v;
    assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
    le[i] = (uint8_t)v;
  }
  assert_true(cuzk_fr_from_le(out, le));
}

/* bincode */
struct reader {
  uint8_t *p;
  size_t n, at;
};
static inline struct reader read_file(const char *path) {
  char full[512];
  snprintf(full, sizeof full, "%s/fixtures/sectors/%s", CUZK_TEST_DATA, path);
  FILE *f = fopen(full, "rb");
  if (!f) fail_msg("%s", full);
  struct reader r = {arena_get(1, 1 << 20), 0, 0};
  r.n = fread(r.p, 1, 1 << 20, f);
  fclose(f);
  return r;
}
static inline const uint8_t *take(struct reader *r, size_t n) {
  assert_true(r->at + n <= r->n);
  r->at += n;
  return r->p + r->at - n;
}
static inline uint64_t take_u64(struct reader *r) { return cuzk_load_le64(take(r, 8)); }
static inline void take_fr(struct reader *r, cuzk_fr *x) { assert_true(cuzk_fr_from_le(x, take(r, 32))); }

static inline void take_path(struct reader *r, struct cuzk_merkle_path *p, cuzk_fr *siblings, unsigned *n) {
  for (uint64_t k = take_u64(r); k; k--) {
    const uint64_t hashes = take_u64(r);
    p->arity[p->n_steps] = (uint8_t)(hashes + 1);
    for (uint64_t i = 0; i < hashes; i++) take_fr(r, &siblings[(*n)++]);
    p->index[p->n_steps++] = (uint8_t)take_u64(r);
  }
}
static inline void take_proof(struct reader *r, struct cuzk_merkle_path *p, cuzk_fr *root, cuzk_fr *leaf) {
  cuzk_fr *siblings = arena_get(200, sizeof *siblings);
  unsigned n = 0;
  const uint32_t tag = cuzk_load_le32(take(r, 4));
  memset(p, 0, sizeof *p);
  if (tag)
    for (uint32_t k = 0; k <= tag; k++) take_path(r, p, siblings, &n);
  take_fr(r, root);
  take_fr(r, leaf);
  if (!tag) take_path(r, p, siblings, &n);
  p->siblings = siblings;
}

static inline struct cuzk_post_sector read_post(const char *path) {
  struct reader r = read_file(path);
  struct cuzk_post_sector s;
  (void)take_u64(&r);
  take_fr(&r, &s.comm_r);
  assert_int_equal(take_u64(&r), 1);
  s.n_challenges = (unsigned)take_u64(&r);
  struct cuzk_post_challenge *c = arena_get(s.n_challenges, sizeof *c);
  for (unsigned i = 0; i < s.n_challenges; i++) {
    cuzk_fr root;
    take_proof(&r, &c[i].path, &root, &c[i].leaf);
  }
  s.challenges = c;
  take_fr(&r, &s.comm_c);
  take_fr(&r, &s.comm_r_last);
  return s;
}

static inline struct cuzk_update_partition *read_update(const char *path, const json_t *record) {
  struct reader r = read_file(path);
  struct cuzk_update_partition *u = arena_get(1, sizeof *u);
  const json_t *in = json_object_get(record, "public_inputs_le");
  cuzk_fr x;
  uint64_t canon[4];
  fr_of_hex(&x, json_string_value(json_array_get(in, 0)));
  cuzk_fr_to_canon(canon, &x);
  u->k_and_h_select = canon[0];
  fr_of_hex(&u->comm_r_old, json_string_value(json_array_get(in, 1)));
  fr_of_hex(&u->comm_d_new, json_string_value(json_array_get(in, 2)));
  fr_of_hex(&u->comm_r_new, json_string_value(json_array_get(in, 3)));
  take_fr(&r, &u->comm_c);
  u->n_apex_leaves = (unsigned)take_u64(&r);
  cuzk_fr *apex = arena_get(u->n_apex_leaves, sizeof *apex);
  for (unsigned i = 0; i < u->n_apex_leaves; i++) take_fr(&r, &apex[i]);
  u->apex_leaves = apex;
  u->n_challenges = (unsigned)take_u64(&r);
  struct cuzk_update_challenge *c = arena_get(u->n_challenges, sizeof *c);
  for (unsigned i = 0; i < u->n_challenges; i++) {
    cuzk_fr old_root, new_root, d_root, leaf;
    take_proof(&r, &c[i].path_r_old, &old_root, &c[i].leaf_r_old);
    take_proof(&r, &c[i].path_d_new, &d_root, &c[i].leaf_d_new);
    take_proof(&r, &c[i].path_r_new, &new_root, &leaf);
    if (i == 0) {
      u->root_r_old = old_root;
      u->root_r_new = new_root;
    }
  }
  u->challenges = c;
  return u;
}

/* C1 output */
static inline void json_fr(cuzk_fr *out, const json_t *bytes) {
  uint8_t le[32];
  assert_int_equal(json_array_size(bytes), 32);
  for (size_t i = 0; i < 32; i++) le[i] = (uint8_t)json_integer_value(json_array_get(bytes, i));
  assert_true(cuzk_fr_from_le(out, le));
}
static inline const json_t *json_proof(struct cuzk_merkle_path *p, const json_t *proof) {
  static const char *const compound[] = {"base_proof", "sub_proof", "top_proof"};
  json_t *data = json_object_get(proof, "data");
  const json_t *body = json_object_iter_value(json_object_iter(data));
  cuzk_fr *siblings = arena_get(200, sizeof *siblings);
  unsigned n = 0;
  for (int k = 0; k < 4; k++) {
    const json_t *path = json_object_get(json_object_get(body, k < 3 ? compound[k] : "path"), "path");
    size_t i;
    json_t *step;
    json_array_foreach((json_t *)(uintptr_t)path, i, step) {
      const json_t *hashes = json_object_get(step, "hashes");
      p->arity[p->n_steps] = (uint8_t)(json_array_size(hashes) + 1);
      for (size_t h = 0; h < json_array_size(hashes); h++) json_fr(&siblings[n++], json_array_get(hashes, h));
      p->index[p->n_steps++] = (uint8_t)fixture_number(step, "index");
    }
  }
  p->siblings = siblings;
  return body;
}
static inline const json_t *json_column(struct cuzk_porep_column *c, const json_t *proof, bool rows_wanted) {
  const json_t *rows = json_object_get(json_object_get(proof, "column"), "rows");
  cuzk_fr *out = arena_get(json_array_size(rows), sizeof *out);
  for (size_t i = 0; i < json_array_size(rows) && rows_wanted; i++) json_fr(&out[i], json_array_get(rows, i));
  c->rows = out;
  return json_proof(&c->path, json_object_get(proof, "inclusion_proof"));
}
static inline struct cuzk_porep_partition *read_porep(const char *path, unsigned k) {
  json_t *c1 = fixture_load(path);
  struct cuzk_porep_partition *w = arena_get(1, sizeof *w);
  json_t *map = json_object_get(c1, "vanilla_proofs");
  const json_t *proofs = json_array_get(json_object_iter_value(json_object_iter(map)), k);
  json_fr(&w->replica_id, json_object_get(c1, "replica_id"));
  json_fr(&w->comm_d, json_object_get(c1, "comm_d"));
  json_fr(&w->comm_r, json_object_get(c1, "comm_r"));
  w->n_challenges = (unsigned)json_array_size(proofs);
  struct cuzk_porep_challenge *c = arena_get(w->n_challenges, sizeof *c);
  for (unsigned i = 0; i < w->n_challenges; i++) {
    const json_t *p = json_array_get(proofs, i), *cols = json_object_get(p, "replica_column_proofs");
    struct cuzk_porep_column own = {0};
    json_fr(&c[i].data_leaf, json_object_get(json_proof(&c[i].comm_d_path, json_object_get(p, "comm_d_proofs")), "leaf"));
    json_fr(&w->comm_r_last,
            json_object_get(json_proof(&c[i].comm_r_last_path, json_object_get(p, "comm_r_last_proof")), "root"));
    json_fr(&w->comm_c, json_object_get(json_column(&own, json_object_get(cols, "c_x"), false), "root"));
    c[i].comm_c_path = own.path;
    for (unsigned j = 0; j < 6; j++) (void)json_column(&c[i].drg_parents[j], json_array_get(json_object_get(cols, "drg_parents"), j), true);
    for (unsigned j = 0; j < 8; j++) (void)json_column(&c[i].exp_parents[j], json_array_get(json_object_get(cols, "exp_parents"), j), true);
    c[i].challenge = fixture_number(json_array_get(json_object_get(p, "labeling_proofs"), 0), "node");
  }
  w->challenges = c;
  json_decref(c1);
  return w;
}
#endif
