/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The prover over an engine (engine_bls12.h says what that is); included, never linked.
 *
 *  Source: formats specification 3.3 to 3.6; docs/internals/groth16.md. */
#include <time.h>

#include "base/alloc.h"
#include "base/fail.h"

/* Bases of a section from a point on, as the sums want them. */
struct prove_source {
  const struct E(params) * params;
  enum cuzk_section section;
  size_t offset;
};

static enum cuzk_status prove_fetch_g1(void *user, E(g1_affine) * dst, size_t first, size_t count, struct cuzk_detail *d) {
  const struct prove_source *s = user;
  return E(params_fetch_g1)(s->params, s->section, dst, s->offset + first, count, false, d);
}

static enum cuzk_status prove_fetch_g2(void *user, E(g2_affine) * dst, size_t first, size_t count, struct cuzk_detail *d) {
  const struct prove_source *s = user;
  return E(params_fetch_g2)(s->params, dst, s->offset + first, count, false, d);
}

struct prover {
  const struct E(params) * params;
  const struct cuzk_shape *shape;
  const struct E(witness) * z;
  struct cuzk_pool *pool;
  const struct cuzk_progress *progress;
  struct cuzk_detail *d;
  double last; /* time of the last lap */
};

/* Seconds since the last call; where the caller wants no times, *to is a dummy. */
static void prove_lap(struct prover *p, double *to) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  const double now = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  *to = now - p->last;
  p->last = now;
}

/* Sums of the public inputs' points, and of the private values' points. */
static enum cuzk_status prove_inputs_g1(const struct prover *p, E(g1) * out, enum cuzk_section section, size_t n_bases, const E(fr) * s,
                                        size_t n_scalars, const uint64_t *density, const char *stage) {
  struct prove_source source = {p->params, section, 0};
  const struct E(bases_g1) bases = {prove_fetch_g1, &source};
  return E(msm_g1_stream)(out, &bases, n_bases, s, n_scalars, density, p->pool, p->progress, stage, p->d);
}

static enum cuzk_status prove_inputs_g2(const struct prover *p, E(g2) * out, size_t n_bases, const uint64_t *density, const char *stage) {
  struct prove_source source = {p->params, CUZK_SECTION_B_G2, 0};
  const struct E(bases_g2) bases = {prove_fetch_g2, &source};
  return E(msm_g2_stream)(out, &bases, n_bases, p->z->inputs, p->z->n_inputs, density, p->pool, p->progress, stage, p->d);
}

static enum cuzk_status prove_aux_g1(const struct prover *p, E(g1) * out, enum cuzk_section section, size_t offset, size_t n_bases,
                                     const uint64_t *density, const char *stage) {
  struct prove_source source = {p->params, section, offset};
  const struct E(bases_g1) bases = {prove_fetch_g1, &source};
  return E(aux_sum_g1)(out, &bases, n_bases, p->z, density, p->pool, p->progress, stage, p->d);
}

static enum cuzk_status prove_aux_g2(const struct prover *p, E(g2) * out, size_t offset, size_t n_bases, const uint64_t *density,
                                     const char *stage) {
  struct prove_source source = {p->params, CUZK_SECTION_B_G2, offset};
  const struct E(bases_g2) bases = {prove_fetch_g2, &source};
  return E(aux_sum_g2)(out, &bases, n_bases, p->z, density, p->pool, p->progress, stage, p->d);
}

static enum cuzk_status prove_check(const struct prover *p) {
  const struct cuzk_shape *shape = p->shape;
  const struct E(vk) *vk = &p->params->vk;
  const enum cuzk_status st = E(params_match)(p->params, shape, p->d);
  if (st != CUZK_OK) return st;
  if (p->z->n_inputs != shape->n_inputs || p->z->n_aux != shape->n_aux)
    return cuzk_fail(p->d, CUZK_E_MISMATCH, "the assignment has %u public and %u private values, the circuit %u and %u",
                     p->z->n_inputs, p->z->n_aux, shape->n_inputs, shape->n_aux);
  if (!E(fr_is_one)(&p->z->inputs[0])) return cuzk_fail(p->d, CUZK_E_MISMATCH, "public input 0 of the assignment is not 1");
  /* With delta the identity the proof would not depend on the witness' part at all. */
  if (E(g1_affine_is_identity)(&vk->delta_g1))
    return cuzk_fail(p->d, CUZK_E_INFINITY, "the key's delta_g1 is the point at infinity");
  if (E(g2_affine_is_identity)(&vk->delta_g2))
    return cuzk_fail(p->d, CUZK_E_INFINITY, "the key's delta_g2 is the point at infinity");
  return CUZK_OK;
}

/* Coefficients of H into abc[0]. */
static enum cuzk_status prove_h(const struct prover *p, E(fr) * abc[3]) {
  const struct cuzk_shape *shape = p->shape;
  const unsigned log2_m = cuzk_shape_log2_domain(shape);
  const uint64_t m = UINT64_C(1) << log2_m;
  struct E(domain) *domain = NULL;
  if (!cuzk_progress(p->progress, "h polynomial", 0, m, "rows"))
    return cuzk_fail(p->d, CUZK_E_CANCELLED, "the proof was cancelled");
  for (size_t i = 0; i < shape->n_inputs; i++) {
    abc[0][shape->n_rows + i] = p->z->inputs[i];
    abc[1][shape->n_rows + i] = E(fr_zero);
    abc[2][shape->n_rows + i] = E(fr_zero);
  }
  bool top_is_zero = false;
  enum cuzk_status st = E(domain_create)(&domain, log2_m, p->pool);
  if (st == CUZK_OK) st = E(h_poly)(abc[0], abc[1], abc[2], &top_is_zero, domain, p->pool);
  E(domain_destroy)(&domain);
  if (st != CUZK_OK) return cuzk_fail(p->d, st, "no memory for the transforms of 2^%u rows", log2_m);
  if (!top_is_zero)
    return cuzk_fail(p->d, CUZK_E_UNSAT, "the rows' values do not satisfy A B = C: the quotient has a remainder");
  if (!cuzk_progress(p->progress, "h polynomial", m, m, "rows"))
    return cuzk_fail(p->d, CUZK_E_CANCELLED, "the proof was cancelled");
  return CUZK_OK;
}

/* Everything that r and s multiply goes through the constant-time multiplication, and what would tell them is cleared. */
void E(groth16_assemble)(struct E(proof) * out, const struct E(vk) * vk, const struct E(proof_sums) * sums, const E(fr) * r,
                         const E(fr) * s) {
  struct {
    E(g1) delta, a, b1, c, t;
    E(g2) b, t2;
    E(fr) rs;
  } x;
  E(g1_from_affine)(&x.delta, &vk->delta_g1);

  E(g1_mul_ct)(&x.a, &x.delta, r); /* A = alpha + r delta + SA */
  E(g1_add)(&x.a, &x.a, &sums->a);
  E(g1_add_affine)(&x.a, &x.a, &vk->alpha_g1);

  E(g2_from_affine)(&x.t2, &vk->delta_g2); /* B = beta + s delta + SB2 */
  E(g2_mul_ct)(&x.b, &x.t2, s);
  E(g2_add)(&x.b, &x.b, &sums->b_g2);
  E(g2_add_affine)(&x.b, &x.b, &vk->beta_g2);

  E(g1_mul_ct)(&x.b1, &x.delta, s); /* the same in G1 */
  E(g1_add)(&x.b1, &x.b1, &sums->b_g1);
  E(g1_add_affine)(&x.b1, &x.b1, &vk->beta_g1);

  E(g1_mul_ct)(&x.c, &x.a, s); /* C = SH + SL + s A + r B1 - r s delta */
  E(g1_mul_ct)(&x.t, &x.b1, r);
  E(g1_add)(&x.c, &x.c, &x.t);
  E(fr_mul)(&x.rs, r, s);
  E(g1_mul_ct)(&x.t, &x.delta, &x.rs);
  E(g1_neg)(&x.t, &x.t);
  E(g1_add)(&x.c, &x.c, &x.t);
  E(g1_add)(&x.c, &x.c, &sums->h_l);

  E(g1_to_affine)(&out->a, &x.a);
  E(g2_to_affine)(&out->b, &x.b);
  E(g1_to_affine)(&out->c, &x.c);
  cuzk_secret_clear(&x, sizeof x);
}

enum cuzk_status E(groth16_check)(const struct E(vk) * vk, const struct E(proof) * proof, const E(fr) * u, size_t n,
                                  const struct cuzk_progress *progress, struct cuzk_detail *d) {
  uint8_t bytes[E_PROOF_BYTES];
  struct E(proof) again;
  struct E(pvk) *pvk = NULL;
  bool ok = false;
  struct cuzk_detail why = {{0}};
  if (!cuzk_progress(progress, "verify", 0, 1, "proofs")) return cuzk_fail(d, CUZK_E_CANCELLED, "the proof was cancelled");
  E(proof_write)(bytes, proof);
  enum cuzk_status st = E(proof_read)(&again, bytes, &why);
  if (st != CUZK_OK) return cuzk_fail(d, st, "the finished proof is unusable (a bad point in the parameters?): %s", why.text);
  st = E(pvk_create)(&pvk, vk);
  if (st == CUZK_OK) st = E(groth16_verify)(&ok, pvk, &again, u, n, d);
  E(pvk_destroy)(&pvk);
  if (st == CUZK_E_MISMATCH) return st;
  if (st != CUZK_OK) return cuzk_fail(d, st, "no memory to verify the finished proof");
  if (!ok)
    return cuzk_fail(d, CUZK_E_UNSAT, "the finished proof does not verify: the assignment does not satisfy the circuit that the "
                     "parameters are for, or a point in them is wrong");
  return cuzk_progress(progress, "verify", 1, 1, "proofs") ? CUZK_OK : cuzk_fail(d, CUZK_E_CANCELLED, "the proof was cancelled");
}

enum cuzk_status E(groth16_sums)(struct E(proof_sums) * out, const struct E(params) * params, const struct cuzk_shape *shape,
                                 const struct E(witness) * z, E(fr) * abc[3], struct cuzk_pool *pool,
                                 const struct cuzk_progress *progress, struct cuzk_prove_times *times, struct cuzk_detail *d) {
  struct prover p = {params, shape, z, pool, progress, d, 0};
  struct cuzk_prove_times own;
  struct cuzk_prove_times *t = times ? times : &own;
  E(g1) part;
  E(g2) part2;
  double start;
  *t = (struct cuzk_prove_times){0};
  prove_lap(&p, &start);

  enum cuzk_status st;
  CUZK_TRY(prove_check(&p));
  CUZK_TRY(prove_h(&p, abc));
  prove_lap(&p, &t->h_poly);

  const size_t n_h = params->section[CUZK_SECTION_H].count;
  CUZK_TRY(prove_inputs_g1(&p, &out->h_l, CUZK_SECTION_H, n_h, abc[0], n_h, NULL, "sum h"));
  prove_lap(&p, &t->msm_h);

  CUZK_TRY(prove_aux_g1(&p, &part, CUZK_SECTION_L, 0, z->n_aux, NULL, "sum l"));
  E(g1_add)(&out->h_l, &out->h_l, &part);
  prove_lap(&p, &t->msm_l);

  /* Every input has a point in a, whatever its density; only some have one in b. */
  CUZK_TRY(prove_inputs_g1(&p, &part, CUZK_SECTION_A, z->n_inputs, z->inputs, z->n_inputs, NULL, "sum a, inputs"));
  CUZK_TRY(prove_aux_g1(&p, &out->a, CUZK_SECTION_A, z->n_inputs, shape->n_a_aux, shape->a_aux, "sum a"));
  E(g1_add)(&out->a, &out->a, &part);
  prove_lap(&p, &t->msm_a);

  const size_t bi = shape->n_b_input;
  CUZK_TRY(prove_inputs_g1(&p, &part, CUZK_SECTION_B_G1, bi, z->inputs, z->n_inputs, shape->b_input, "sum b_g1, inputs"));
  CUZK_TRY(prove_aux_g1(&p, &out->b_g1, CUZK_SECTION_B_G1, bi, shape->n_b_aux, shape->b_aux, "sum b_g1"));
  E(g1_add)(&out->b_g1, &out->b_g1, &part);
  prove_lap(&p, &t->msm_b_g1);

  CUZK_TRY(prove_inputs_g2(&p, &part2, bi, shape->b_input, "sum b_g2, inputs"));
  CUZK_TRY(prove_aux_g2(&p, &out->b_g2, bi, shape->n_b_aux, shape->b_aux, "sum b_g2"));
  E(g2_add)(&out->b_g2, &out->b_g2, &part2);
  prove_lap(&p, &t->msm_b_g2);
out:
  if (st != CUZK_OK) cuzk_secret_clear(out, sizeof *out);
  return st;
}

enum cuzk_status E(groth16_prove)(struct E(proof) * out, const struct E(params) * params, const struct cuzk_shape *shape,
                                  const struct E(assignment) * z, E(fr) * abc[3], const E(fr) * r, const E(fr) * s,
                                  struct cuzk_pool *pool, const struct cuzk_progress *progress,
                                  struct cuzk_prove_times *times, struct cuzk_detail *d) {
  const struct E(witness) w = {.inputs = z->inputs, .aux = z->aux, .n_inputs = z->n_inputs, .n_aux = z->n_aux};
  struct prover p = {params, shape, &w, pool, progress, d, 0};
  struct cuzk_prove_times own;
  struct cuzk_prove_times *t = times ? times : &own;
  struct E(proof_sums) sums;
  struct E(proof) proof;
  double start;
  enum cuzk_status st;
  CUZK_TRY(E(groth16_sums)(&sums, params, shape, &w, abc, pool, progress, t, d));
  prove_lap(&p, &start);
  E(groth16_assemble)(&proof, &params->vk, &sums, r, s);
  prove_lap(&p, &t->finish);
  CUZK_TRY(E(groth16_check)(&params->vk, &proof, z->inputs + 1, (size_t)z->n_inputs - 1, progress, d));
  prove_lap(&p, &t->verify);
  *out = proof;
out:
  cuzk_secret_clear(&sums, sizeof sums);
  return st;
}
