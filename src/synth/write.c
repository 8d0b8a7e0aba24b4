/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "synth/write.h"

#include "base/bytes.h"
#include "base/fail.h"

/* ---- JSON ---- */

void synth_json_element(struct cuzk_json_out *o, const cuzk_fr *a) {
  uint8_t b[32];
  cuzk_fr_to_le(b, a);
  cuzk_json_out_bytes(o, b, sizeof b);
}

/* { "path": [...] }: levels first .. first + n - 1 above a leaf. */
static void json_path(struct cuzk_json_out *o, const struct synth_tree *t, uint64_t leaf, unsigned first, unsigned n) {
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "path");
  cuzk_json_out_array(o);
  for (unsigned l = 0; l < first; l++) leaf /= t->level[l].arity;
  for (unsigned l = first; l < first + n; l++) {
    const unsigned arity = t->level[l].arity, own = (unsigned)(leaf % arity);
    cuzk_json_out_object(o);
    cuzk_json_out_key(o, "hashes");
    cuzk_json_out_array(o);
    for (unsigned q = 0; q < arity; q++) {
      if (q == own) continue;
      cuzk_fr x;
      synth_tree_node(&x, t, l, leaf - own + q);
      synth_json_element(o, &x);
    }
    cuzk_json_out_array_end(o);
    cuzk_json_out_member_u64(o, "index", own);
    cuzk_json_out_object_end(o);
    leaf /= arity;
  }
  cuzk_json_out_array_end(o);
  cuzk_json_out_object_end(o);
}

static void json_ends(struct cuzk_json_out *o, const struct synth_tree *t, uint64_t leaf) {
  cuzk_fr x;
  cuzk_json_out_key(o, "root");
  synth_json_element(o, synth_tree_root(t));
  cuzk_json_out_key(o, "leaf");
  synth_tree_node(&x, t, 0, leaf);
  synth_json_element(o, &x);
}

void synth_json_proof(struct cuzk_json_out *o, const struct synth_tree *t, uint64_t leaf) {
  static const char *const variants[] = {"Single", "Sub", "Top"};
  static const char *const parts[] = {"base_proof", "sub_proof", "top_proof"};
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "data");
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, variants[t->n_parts - 1]);
  cuzk_json_out_object(o);
  if (t->n_parts == 1) {
    json_ends(o, t, leaf);
    cuzk_json_out_key(o, "path");
    json_path(o, t, leaf, 0, t->n_steps);
  } else {
    unsigned first = 0;
    for (unsigned part = 0; part < t->n_parts; part++) {
      cuzk_json_out_key(o, parts[part]);
      json_path(o, t, leaf, first, t->part_steps[part]);
      first += t->part_steps[part];
    }
    json_ends(o, t, leaf);
  }
  cuzk_json_out_object_end(o);
  cuzk_json_out_object_end(o);
  cuzk_json_out_object_end(o);
}

/* ---- bincode ---- */

static uint8_t *put(struct synth_bytes *b, size_t n) {
  CUZK_VERIFY(n <= b->n - b->at);
  uint8_t *p = b->p + b->at;
  b->at += n;
  return p;
}

void synth_put_u64(struct synth_bytes *b, uint64_t v) { cuzk_store_le64(put(b, 8), v); }
void synth_put_element(struct synth_bytes *b, const cuzk_fr *a) { cuzk_fr_to_le(put(b, 32), a); }

static void put_path(struct synth_bytes *b, const struct synth_tree *t, uint64_t leaf, unsigned first, unsigned n) {
  synth_put_u64(b, n);
  for (unsigned l = 0; l < first; l++) leaf /= t->level[l].arity;
  for (unsigned l = first; l < first + n; l++) {
    const unsigned arity = t->level[l].arity, own = (unsigned)(leaf % arity);
    synth_put_u64(b, arity - 1);
    for (unsigned q = 0; q < arity; q++) {
      if (q == own) continue;
      cuzk_fr x;
      synth_tree_node(&x, t, l, leaf - own + q);
      synth_put_element(b, &x);
    }
    synth_put_u64(b, own);
    leaf /= arity;
  }
}

void synth_put_proof(struct synth_bytes *b, const struct synth_tree *t, uint64_t leaf) {
  cuzk_fr x;
  synth_tree_node(&x, t, 0, leaf);
  cuzk_store_le32(put(b, 4), t->n_parts - 1);
  if (t->n_parts == 1) {
    synth_put_element(b, synth_tree_root(t));
    synth_put_element(b, &x);
    put_path(b, t, leaf, 0, t->n_steps);
    return;
  }
  unsigned first = 0;
  for (unsigned part = 0; part < t->n_parts; part++) {
    put_path(b, t, leaf, first, t->part_steps[part]);
    first += t->part_steps[part];
  }
  synth_put_element(b, synth_tree_root(t));
  synth_put_element(b, &x);
}
