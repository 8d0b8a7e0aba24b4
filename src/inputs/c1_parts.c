/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/c1_parts.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "inputs/bincode.h"

/* One block of memory, sized from the circuit's shape, cut from the front. */

static size_t challenge_elements(const struct cuzk_circuit *k) {
  const struct tree_shape d = tree_shape_d(k), r = tree_shape_r(k);
  return tree_shape_siblings(&d) + (2 + CUZK_POREP_PARENTS) * tree_shape_siblings(&r) + (1 + CUZK_POREP_PARENTS) * (size_t)k->layers +
         ((size_t)k->layers + 1) * C1_LABEL_PARENTS;
}

void *c1_cut(struct c1_arena *a, size_t n, size_t size) {
  void *p = (uint8_t *)a + a->used;
  a->used += (n * size + 31) & ~(size_t)31;
  CUZK_VERIFY(a->used <= a->n_bytes);
  return p;
}

enum cuzk_status c1_set_type(struct cuzk_c1 *c, const struct cuzk_seal_type *t) {
  const struct cuzk_circuit *k = cuzk_circuit_of(CUZK_KIND_POREP, t->sector_bytes);
  if (!k) return CUZK_E_UNSUPPORTED;
  c->type = *t;
  c->n_partitions = t->n_partitions;
  c->circuit = k;
  cuzk_porep_id(c->porep_id, t);
  const size_t n = (size_t)c->n_partitions * k->challenges;
  const size_t bytes = sizeof(struct c1_arena) + c->n_partitions * sizeof *c->partitions +
                       n * (sizeof(struct cuzk_porep_challenge) + sizeof(struct c1_challenge) + challenge_elements(k) * sizeof(cuzk_fr)) +
                       32 * (3 + n * 40); /* what rounding up to 32 bytes can take: fewer than 40 pieces a challenge */
  struct c1_arena *a = cuzk_big_alloc(bytes);
  if (!a) return CUZK_E_NOMEM;
  a->n_bytes = bytes;
  c->arena = a;
  (void)c1_cut(a, 1, sizeof *a);
  c->partitions = c1_cut(a, c->n_partitions, sizeof *c->partitions);
  a->extra = c1_cut(a, n, sizeof *a->extra);
  for (unsigned p = 0; p < c->n_partitions; p++) {
    c->partitions[p].n_challenges = k->challenges;
    c->partitions[p].challenges = c1_cut(a, k->challenges, sizeof(struct cuzk_porep_challenge));
  }
  return CUZK_OK;
}

const char *c1_take_roots(struct cuzk_porep_partition *p, const struct c1_challenge *x, unsigned challenge) {
  if (challenge == 0) {
    p->comm_r_last = x->r.root;
    p->comm_c = x->c_x.root;
  }
  if (!cuzk_fr_eq(&p->comm_r_last, &x->r.root)) return "comm_r_last_proof";
  return cuzk_fr_eq(&p->comm_c, &x->c_x.root) ? NULL : "c_x.inclusion_proof (comm_c)";
}

const char *c1_id_problem(const uint8_t id[32], bool canonical, bool nonzero) {
  uint8_t any = 0;
  cuzk_fr ignored;
  for (int i = 0; i < 32; i++) any |= id[i];
  if (nonzero && !any) return "all bytes are zero";
  if (canonical && !cuzk_fr_from_le(&ignored, id)) return "not a canonical field element (not below the group order)";
  return NULL;
}
