/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The verifier over an engine (engine_bls12.h says what that is); included, never linked.
 *
 *  Source: formats specification 3.7. */
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/random.h"

struct E(pvk) {
  E(gt) alpha_beta;
  E(g2_affine) neg_gamma, neg_delta;
  E(g1_affine) * ic;
  size_t n_ic;
};

enum cuzk_status E(pvk_create)(struct E(pvk) * *out, const struct E(vk) * vk) {
  *out = NULL;
  struct E(pvk) *p = cuzk_calloc(1, sizeof *p);
  if (!p) return CUZK_E_NOMEM;
  p->n_ic = vk->n_ic;
  p->ic = cuzk_malloc_array(p->n_ic, sizeof *p->ic);
  if (!p->ic) {
    E(pvk_destroy)(&p);
    return CUZK_E_NOMEM;
  }
  if (p->n_ic) memcpy(p->ic, vk->ic, p->n_ic * sizeof *p->ic);
  E(pairing_product)(&p->alpha_beta, &vk->alpha_g1, &vk->beta_g2, 1);
  E(g2_affine_neg)(&p->neg_gamma, &vk->gamma_g2);
  E(g2_affine_neg)(&p->neg_delta, &vk->delta_g2);
  *out = p;
  return CUZK_OK;
}

void E(pvk_destroy)(struct E(pvk) * *out) {
  if (!*out) return;
  cuzk_free((*out)->ic);
  cuzk_free(*out);
  *out = NULL;
}

static enum cuzk_status verify_counts(const struct E(pvk) * pvk, size_t n, struct cuzk_detail *d) {
  if (pvk->n_ic > 0 && n == pvk->n_ic - 1) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_MISMATCH, "%zu public inputs given, the key expects %zu", n, pvk->n_ic ? pvk->n_ic - 1 : 0);
}

enum cuzk_status E(groth16_verify)(bool *ok, const struct E(pvk) * pvk, const struct E(proof) * p, const E(fr) * u, size_t n,
                                   struct cuzk_detail *d) {
  *ok = false;
  enum cuzk_status st = verify_counts(pvk, n, d);
  if (st != CUZK_OK) return st;
  E(g1) acc;
  st = E(msm_g1)(&acc, pvk->ic + 1, u, n, NULL);
  if (st != CUZK_OK) return cuzk_fail(d, st, "no memory to sum %zu public inputs", n);
  E(g1_add_affine)(&acc, &acc, &pvk->ic[0]);
  E(g1_affine) g1[3] = {p->a, p->c};
  const E(g2_affine) g2[3] = {p->b, pvk->neg_delta, pvk->neg_gamma};
  E(g1_to_affine)(&g1[2], &acc);
  E(gt) product;
  E(pairing_product)(&product, g1, g2, 3);
  *ok = E(gt_eq)(&product, &pvk->alpha_beta);
  return CUZK_OK;
}

struct batch {
  const struct E(proof) * proofs;
  size_t k, n_pairs, pairs_a_task, n;
  const E(fr) * u;
  const uint64_t (*z)[2]; /* weights */
  const E(fr) * z_fr;
  E(g1_affine) * g1; /* n_pairs: z_j A_j, then the two sums */
  E(g2_affine) * g2;
  E(fp12) * part; /* Miller loop of each task's pairs */
  E(fr) * w;      /* n: sum over the proofs of weight times input */
};

#define BATCH_INPUTS_A_TASK 512u

static void batch_scale_task(void *arg, size_t j, unsigned worker) {
  const struct batch *b = arg;
  (void)worker;
  E(g1) a;
  E(g1_from_affine)(&a, &b->proofs[j].a);
  E(g1_mul_limbs_var)(&a, &a, b->z[j], 2);
  E(g1_to_affine)(&b->g1[j], &a);
  b->g2[j] = b->proofs[j].b;
}

static void batch_inputs_task(void *arg, size_t task, unsigned worker) {
  const struct batch *b = arg;
  (void)worker;
  const size_t first = task * BATCH_INPUTS_A_TASK;
  const size_t end = first + BATCH_INPUTS_A_TASK < b->n ? first + BATCH_INPUTS_A_TASK : b->n;
  for (size_t i = first; i < end; i++) {
    b->w[i] = E(fr_zero);
    for (size_t j = 0; j < b->k; j++) {
      E(fr) t;
      E(fr_mul)(&t, &b->u[j * b->n + i], &b->z_fr[j]);
      E(fr_add)(&b->w[i], &b->w[i], &t);
    }
  }
}

static void batch_miller_task(void *arg, size_t task, unsigned worker) {
  const struct batch *b = arg;
  (void)worker;
  const size_t first = task * b->pairs_a_task, left = b->n_pairs - first;
  E(miller_loop)(&b->part[task], b->g1 + first, b->g2 + first, left < b->pairs_a_task ? left : b->pairs_a_task);
}

enum cuzk_status E(groth16_verify_batch)(bool *ok, const struct E(pvk) * pvk, const struct E(proof) * p, size_t k,
                                         const E(fr) * u, size_t n, struct cuzk_pool *pool, struct cuzk_detail *d) {
  *ok = false;
  if (k == 0) {
    *ok = true;
    return CUZK_OK;
  }
  if (k == 1) return E(groth16_verify)(ok, pvk, p, u, n, d);
  enum cuzk_status st = verify_counts(pvk, n, d);
  if (st != CUZK_OK) return st;

  struct batch b = {.proofs = p, .k = k, .n_pairs = k + 2, .n = n, .u = u};
  const size_t workers = pool ? cuzk_pool_workers(pool) : 1;
  b.pairs_a_task = (b.n_pairs + workers - 1) / workers;
  const size_t n_parts = (b.n_pairs + b.pairs_a_task - 1) / b.pairs_a_task;
  uint64_t(*z)[2] = cuzk_malloc_array(k, sizeof *z);
  E(fr) *z_fr = cuzk_malloc_array(k, sizeof *z_fr);
  E(g1_affine) *c = cuzk_malloc_array(k, sizeof *c);
  b.g1 = cuzk_malloc_array(b.n_pairs, sizeof *b.g1);
  b.g2 = cuzk_malloc_array(b.n_pairs, sizeof *b.g2);
  b.part = cuzk_malloc_array(n_parts, sizeof *b.part);
  b.w = cuzk_malloc_array(n, sizeof *b.w);
  if (!z || !z_fr || !c || !b.g1 || !b.g2 || !b.part || !b.w) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory to verify %zu proofs", k);
    goto out;
  }
  st = cuzk_random_bytes(z, k * sizeof *z);
  if (st != CUZK_OK) {
    (void)cuzk_fail(d, st, "the system gives no random numbers");
    goto out;
  }
  uint64_t z_sum[4] = {0}; /* as an integer: the exponent of e(alpha, beta) */
  for (size_t j = 0; j < k; j++) {
    const uint64_t limbs[4] = {z[j][0], z[j][1]};
    uint64_t carry = 0;
    for (int i = 0; i < 4; i++) {
      const uint64_t t = z_sum[i] + carry;
      carry = t < carry;
      z_sum[i] = t + limbs[i];
      carry += z_sum[i] < t;
    }
    if (!E(fr_from_canon)(&z_fr[j], limbs)) {
      st = cuzk_fail(d, CUZK_E_INTERNAL, "a 128-bit weight is not a field element");
      goto out;
    }
    c[j] = p[j].c;
  }
  b.z = (const uint64_t(*)[2])z;
  b.z_fr = z_fr;
  cuzk_pool_run(pool, batch_scale_task, &b, k);
  cuzk_pool_run(pool, batch_inputs_task, &b, (n + BATCH_INPUTS_A_TASK - 1) / BATCH_INPUTS_A_TASK);

  E(g1) sum, one;
  if ((st = E(msm_g1)(&sum, c, z_fr, k, pool)) != CUZK_OK) goto out;
  E(g1_to_affine)(&b.g1[k], &sum);
  b.g2[k] = pvk->neg_delta;
  if ((st = E(msm_g1)(&sum, pvk->ic + 1, b.w, n, pool)) != CUZK_OK) goto out;
  E(g1_from_affine)(&one, &pvk->ic[0]);
  E(g1_mul_limbs_var)(&one, &one, z_sum, 4);
  E(g1_add)(&sum, &sum, &one);
  E(g1_to_affine)(&b.g1[k + 1], &sum);
  b.g2[k + 1] = pvk->neg_gamma;

  cuzk_pool_run(pool, batch_miller_task, &b, n_parts);
  for (size_t i = 1; i < n_parts; i++) E(fp12_mul)(&b.part[0], &b.part[0], &b.part[i]);
  E(gt) left, right;
  E(final_exp)(&left, &b.part[0]);
  E(gt_pow_var)(&right, &pvk->alpha_beta, z_sum, 4);
  *ok = E(gt_eq)(&left, &right);
out:
  if (st == CUZK_E_NOMEM) (void)cuzk_fail(d, st, "no memory to verify %zu proofs", k);
  cuzk_free(z);
  cuzk_free(z_fr);
  cuzk_free(c);
  cuzk_free(b.g1);
  cuzk_free(b.g2);
  cuzk_free(b.part);
  cuzk_free(b.w);
  return st;
}
