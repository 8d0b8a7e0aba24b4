/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The circuit of WinningPoSt and WindowPoSt. Source: circuits specification 5; docs/circuits/window-post.md, winning-post.md. */
#include "base/fail.h"
#include "circuits/post_witness.h"
#include "circuits/synthesis.h"

struct post {
  const struct cuzk_circuit *c;
  struct cuzk_tree_shape tree;
  const struct cuzk_post_sector *sectors; /* NULL: blank */
};

static void sector(struct cuzk_cs *cs, const void *arg, unsigned number) {
  const struct post *const p = arg;
  const struct cuzk_post_sector *const w = p->sectors ? &p->sectors[number] : NULL;
  cuzk_cs_push(cs, "sector_%u", number);
  const cuzk_var comm_r_last = cuzk_num_alloc(cs, w ? &w->comm_r_last : NULL);
  const cuzk_var comm_c = cuzk_num_alloc(cs, w ? &w->comm_c : NULL);
  const cuzk_var comm_r = cuzk_num_alloc(cs, w ? &w->comm_r : NULL);
  (void)cuzk_num_inputize(cs, comm_r);
  const cuzk_var h = cuzk_hash2(cs, comm_c, comm_r_last, "H_comm_c_comm_r_last");
  cuzk_cs_push(cs, "enforce_comm_c_comm_r_last_hash_comm_r", 0);
  cuzk_num_equal(cs, comm_r, h);
  cuzk_cs_pop(cs);
  for (unsigned i = 0; i < p->c->challenges; i++) {
    const struct cuzk_post_challenge *x = w ? &w->challenges[i] : NULL;
    cuzk_cs_push(cs, "challenge_inclusion_%u", i);
    const cuzk_var leaf = cuzk_num_alloc(cs, x ? &x->leaf : NULL);
    cuzk_por(cs, &p->tree, leaf, x ? x->path.index : NULL, x ? x->path.siblings : NULL, comm_r_last);
    cuzk_cs_pop(cs);
  }
  cuzk_cs_pop(cs);
}

void cuzk_post_synthesize(struct cuzk_cs *cs, const struct cuzk_circuit *c, const void *witness) {
  const struct cuzk_post_partition *w = witness;
  const struct post p = {c, cuzk_tree_r(c), w ? w->sectors : NULL};
  cuzk_cs_push(cs, "outer namespace", 0);
  cuzk_cs_parts(cs, c->sectors, sector, &p);
  cuzk_cs_pop(cs);
}

enum cuzk_status cuzk_post_check_witness(const struct cuzk_circuit *c, const void *witness, struct cuzk_detail *d) {
  const struct cuzk_post_partition *w = witness;
  const struct cuzk_tree_shape t = cuzk_tree_r(c);
  if (w->n_sectors != c->sectors) return cuzk_fail(d, CUZK_E_ARG, "%u sectors, the circuit has %u", w->n_sectors, c->sectors);
  for (unsigned i = 0; i < w->n_sectors; i++) {
    if (w->sectors[i].n_challenges != c->challenges)
      return cuzk_fail(d, CUZK_E_ARG, "sector %u: %u challenges, the circuit has %u", i, w->sectors[i].n_challenges, c->challenges);
    for (unsigned k = 0; k < c->challenges; k++) {
      const enum cuzk_status st = cuzk_path_check(&w->sectors[i].challenges[k].path, &t, "comm_r_last path of sector", i, d);
      if (st != CUZK_OK) return st;
    }
  }
  return CUZK_OK;
}
