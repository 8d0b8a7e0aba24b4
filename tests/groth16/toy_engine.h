/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The engine of the toy world: scalars are integers modulo 64513 = 63 * 2^10 + 1, and G1, G2 and Gt are all the additive group
 *  of that field, with generators 5, 11 and 55 and e(a, b) = a b. Discrete logarithms are one division away, so everything that
 *  the templates of src/groth16 compute over it can be checked by schoolbook methods. Names as engine_bls12.h wants them. */
#ifndef CUZK_TESTS_GROTH16_TOY_ENGINE_H
#define CUZK_TESTS_GROTH16_TOY_ENGINE_H
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/pool.h"
#include "base/progress.h"
#include "groth16/params_internal.h"
#include "groth16/prove.h"
#include "r1cs/r1cs.h"

#define E(name) toy_##name
#define E_G1_BYTES 4
#define E_G2_BYTES 8
#define E_PROOF_BYTES 16
#define TOY_P 64513u
#define TOY_G1 5u
#define TOY_G2 11u

typedef struct {
  uint32_t v;
} toy_fr;
/* Distinct types, so that the compiler keeps the groups apart. "Jacobian" and affine points differ in type only. */
typedef struct {
  uint32_t v;
} toy_g1;
typedef struct {
  uint32_t v;
} toy_g1_affine;
typedef struct {
  uint32_t v;
} toy_g2;
typedef struct {
  uint32_t v;
} toy_g2_affine;
typedef struct {
  uint32_t v;
} toy_gt;
typedef toy_gt toy_fp12;

static inline uint32_t tmul(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b % TOY_P); }
static inline uint32_t tadd(uint32_t a, uint32_t b) { return (a + b) % TOY_P; }
static inline uint32_t tsub(uint32_t a, uint32_t b) { return (a + TOY_P - b) % TOY_P; }
static inline uint32_t tpow(uint32_t a, uint64_t e) {
  uint32_t r = 1;
  for (; e; e >>= 1, a = tmul(a, a))
    if (e & 1) r = tmul(r, a);
  return r;
}
static inline uint32_t tinv(uint32_t a) { return tpow(a, TOY_P - 2); }
static inline uint32_t tlimbs(const uint64_t *e, size_t n) {
  uint64_t r = 0;
  while (n-- > 0)
    for (int half = 1; half >= 0; half--) r = ((r << 32) + ((e[n] >> (32 * half)) & 0xffffffffu)) % TOY_P;
  return (uint32_t)r;
}

/* ---- Scalars ---- */
static const toy_fr toy_fr_zero = {0}, toy_fr_one = {1};
static inline void toy_fr_add(toy_fr *r, const toy_fr *a, const toy_fr *b) { r->v = tadd(a->v, b->v); }
static inline void toy_fr_sub(toy_fr *r, const toy_fr *a, const toy_fr *b) { r->v = tsub(a->v, b->v); }
static inline void toy_fr_mul(toy_fr *r, const toy_fr *a, const toy_fr *b) { r->v = tmul(a->v, b->v); }
static inline void toy_fr_inv_var(toy_fr *r, const toy_fr *a) { r->v = tinv(a->v); }
static inline bool toy_fr_is_zero(const toy_fr *a) { return a->v == 0; }
static inline bool toy_fr_is_one(const toy_fr *a) { return a->v == 1; }
static inline bool toy_fr_from_canon(toy_fr *r, const uint64_t a[4]) {
  r->v = tlimbs(a, 4);
  return true;
}
/* Coefficients of toy systems are integers of small absolute value, stored in the tables modulo the real scalar field. */
static inline const toy_fr *toy_coeff_value(const struct cuzk_coeffs *t, cuzk_coeff c) {
  static _Thread_local toy_fr v;
  uint64_t w[4];
  memcpy(w, cuzk_coeff_le(t, c), 32);
  if (w[1] | w[2] | w[3])
    v.v = tsub(0, (uint32_t)((cuzk_fr_modulus[0] - w[0]) % TOY_P));
  else
    v.v = (uint32_t)(w[0] % TOY_P);
  return &v;
}

/* ---- Groups ---- */
#define TOY_GROUP(g, gen, bytes)                                                                                      \
  static const toy_##g##_affine toy_##g##_generator = {gen};                                                          \
  static inline void toy_##g##_from_affine(toy_##g *r, const toy_##g##_affine *a) { r->v = a->v; }                    \
  static inline void toy_##g##_to_affine(toy_##g##_affine *r, const toy_##g *a) { r->v = a->v; }                      \
  static inline void toy_##g##_add(toy_##g *r, const toy_##g *a, const toy_##g *b) { r->v = tadd(a->v, b->v); }       \
  static inline void toy_##g##_add_affine(toy_##g *r, const toy_##g *a, const toy_##g##_affine *b) {                  \
    r->v = tadd(a->v, b->v);                                                                                          \
  }                                                                                                                   \
  static inline void toy_##g##_mul_ct(toy_##g *r, const toy_##g *a, const toy_fr *k) { r->v = tmul(a->v, k->v); }     \
  static inline bool toy_##g##_affine_is_identity(const toy_##g##_affine *a) { return a->v == 0; }                    \
  static inline void toy_##g##_encode(uint8_t *out, const toy_##g##_affine *a) {                                      \
    memset(out, 0, bytes);                                                                                            \
    cuzk_store_be32(out + (bytes) - 4, a->v);                                                                         \
  }                                                                                                                   \
  struct toy_bases_##g {                                                                                              \
    enum cuzk_status (*fetch)(void *user, toy_##g##_affine *dst, size_t first, size_t count, struct cuzk_detail *d);  \
    void *user;                                                                                                       \
  };                                                                                                                  \
  static inline enum cuzk_status toy_msm_##g##_stream(toy_##g *out, const struct toy_bases_##g *src, size_t n_bases,  \
                                                      const toy_fr *s, size_t n, const uint64_t *density,             \
                                                      struct cuzk_pool *pool, const struct cuzk_progress *progress,   \
                                                      const char *stage, struct cuzk_detail *d) {                     \
    size_t k = 0;                                                                                                     \
    out->v = 0;                                                                                                       \
    (void)pool;                                                                                                       \
    for (size_t j = 0; j < n; j++) {                                                                                  \
      toy_##g##_affine p;                                                                                             \
      if (density && !((density[j / 64] >> (j % 64)) & 1)) continue;                                                  \
      if (k == n_bases) return cuzk_fail(d, CUZK_E_ARG, "too few bases");                                             \
      const enum cuzk_status st = src->fetch(src->user, &p, k++, 1, d);                                               \
      if (st != CUZK_OK) return st;                                                                                   \
      out->v = tadd(out->v, tmul(p.v, s[j].v));                                                                       \
    }                                                                                                                 \
    if (k != n_bases) return cuzk_fail(d, CUZK_E_ARG, "too many bases");                                              \
    return cuzk_progress(progress, stage, n, n, "points") ? CUZK_OK : CUZK_E_CANCELLED;                               \
  }                                                                                                                   \
  struct toy_fixed_##g {                                                                                              \
    uint32_t base;                                                                                                    \
  };                                                                                                                  \
  static inline enum cuzk_status toy_fixed_##g##_create(struct toy_fixed_##g **out, const toy_##g##_affine *base,     \
                                                        size_t n_expected, struct cuzk_pool *pool) {                  \
    (void)n_expected;                                                                                                 \
    (void)pool;                                                                                                       \
    if (!(*out = cuzk_malloc(sizeof **out))) return CUZK_E_NOMEM;                                                     \
    (*out)->base = base->v;                                                                                           \
    return CUZK_OK;                                                                                                   \
  }                                                                                                                   \
  static inline void toy_fixed_##g##_destroy(struct toy_fixed_##g **t) {                                              \
    cuzk_free(*t);                                                                                                    \
    *t = NULL;                                                                                                        \
  }                                                                                                                   \
  static inline enum cuzk_status toy_fixed_##g##_mul(const struct toy_fixed_##g *t, toy_##g##_affine *out,            \
                                                     const toy_fr *s, size_t n, struct cuzk_pool *pool) {             \
    (void)pool;                                                                                                       \
    for (size_t i = 0; i < n; i++) out[i].v = tmul(t->base, s[i].v);                                                  \
    return CUZK_OK;                                                                                                   \
  }
TOY_GROUP(g1, TOY_G1, E_G1_BYTES)
TOY_GROUP(g2, TOY_G2, E_G2_BYTES)
static inline void toy_g1_neg(toy_g1 *r, const toy_g1 *a) { r->v = tsub(0, a->v); }
static inline void toy_g2_affine_neg(toy_g2_affine *r, const toy_g2_affine *a) { r->v = tsub(0, a->v); }
static inline void toy_g1_mul_limbs_var(toy_g1 *r, const toy_g1 *a, const uint64_t *e, size_t n) {
  r->v = tmul(a->v, tlimbs(e, n));
}
static inline enum cuzk_status toy_msm_g1(toy_g1 *out, const toy_g1_affine *p, const toy_fr *s, size_t n,
                                          struct cuzk_pool *pool) {
  (void)pool;
  out->v = 0;
  for (size_t i = 0; i < n; i++) out->v = tadd(out->v, tmul(p[i].v, s[i].v));
  return CUZK_OK;
}

/* ---- Pairing: Gt is written additively inside, its product is a sum ---- */
static inline void toy_miller_loop(toy_fp12 *r, const toy_g1_affine *p, const toy_g2_affine *q, size_t n) {
  r->v = 0;
  for (size_t i = 0; i < n; i++) r->v = tadd(r->v, tmul(p[i].v, q[i].v));
}
static inline void toy_fp12_mul(toy_fp12 *r, const toy_fp12 *a, const toy_fp12 *b) { r->v = tadd(a->v, b->v); }
static inline void toy_final_exp(toy_gt *r, const toy_fp12 *f) { *r = *f; }
static inline void toy_pairing_product(toy_gt *r, const toy_g1_affine *p, const toy_g2_affine *q, size_t n) {
  toy_miller_loop(r, p, q, n);
}
static inline void toy_gt_pow_var(toy_gt *r, const toy_gt *a, const uint64_t *e, size_t n) { r->v = tmul(a->v, tlimbs(e, n)); }
static inline bool toy_gt_eq(const toy_gt *a, const toy_gt *b) { return a->v == b->v; }

/* ---- Polynomials ---- */
struct toy_domain {
  unsigned log2_m;
  uint32_t m, omega;
};
/* 5 generates the multiplicative group; test_toy.c checks it. */
#define TOY_MULTIPLICATIVE 5u
static inline uint32_t toy_omega(unsigned log2_m) { return tpow(TOY_MULTIPLICATIVE, (TOY_P - 1) >> log2_m); }
static inline enum cuzk_status toy_domain_create(struct toy_domain **out, unsigned log2_m, struct cuzk_pool *pool) {
  (void)pool;
  *out = NULL;
  if (log2_m > 10) return CUZK_E_ARG;
  if (!(*out = cuzk_malloc(sizeof **out))) return CUZK_E_NOMEM;
  **out = (struct toy_domain){log2_m, 1u << log2_m, toy_omega(log2_m)};
  return CUZK_OK;
}
static inline void toy_domain_destroy(struct toy_domain **d) {
  cuzk_free(*d);
  *d = NULL;
}
static inline void toy_powers(toy_fr *out, const toy_fr *base, const toy_fr *first, size_t n, struct cuzk_pool *pool) {
  uint32_t v = first->v;
  (void)pool;
  for (size_t i = 0; i < n; i++, v = tmul(v, base->v)) out[i].v = v;
}
static inline enum cuzk_status toy_lagrange_at(toy_fr *out, const toy_fr *tau, const struct toy_domain *d,
                                               struct cuzk_pool *pool) {
  const uint32_t t = tsub(tpow(tau->v, d->m), 1);
  (void)pool;
  if (t == 0) return CUZK_E_ARG;
  for (uint32_t i = 0; i < d->m; i++) {
    const uint32_t w = tpow(d->omega, i);
    out[i].v = tmul(tmul(w, t), tinv(tmul(d->m, tsub(tau->v, w))));
  }
  return CUZK_OK;
}
/* Values of the polynomial with coefficients in[m] at shift * omega^i. */
static inline void toy_values(uint32_t *out, const uint32_t *in, uint32_t m, uint32_t omega, uint32_t shift) {
  for (uint32_t i = 0; i < m; i++) {
    const uint32_t x = tmul(shift, tpow(omega, i));
    out[i] = 0;
    for (uint32_t j = m; j-- > 0;) out[i] = tadd(tmul(out[i], x), in[j]);
  }
}
/* The way of the formats specification 3.4: interpolate, evaluate on a coset, divide there, interpolate back. */
static inline enum cuzk_status toy_h_poly(toy_fr *a, toy_fr *b, toy_fr *c, bool *top_is_zero, const struct toy_domain *d,
                                          struct cuzk_pool *pool) {
  static uint32_t values[3][1024], coeffs[1024], h[1024];
  toy_fr *const in[3] = {a, b, c};
  const uint32_t m = d->m, shift = TOY_MULTIPLICATIVE, inv_m = tinv(m), inv_omega = tinv(d->omega);
  (void)pool;
  for (int k = 0; k < 3; k++) {
    uint32_t v[1024];
    for (uint32_t i = 0; i < m; i++) v[i] = in[k][i].v;
    toy_values(coeffs, v, m, inv_omega, 1);
    for (uint32_t i = 0; i < m; i++) coeffs[i] = tmul(coeffs[i], inv_m);
    toy_values(values[k], coeffs, m, d->omega, shift);
  }
  const uint32_t inv_t = tinv(tsub(tpow(shift, m), 1));
  for (uint32_t i = 0; i < m; i++)
    values[0][i] = tmul(tsub(tmul(values[0][i], values[1][i]), values[2][i]), inv_t);
  toy_values(h, values[0], m, inv_omega, 1);
  for (uint32_t i = 0; i < m; i++) {
    a[i].v = tmul(tmul(h[i], inv_m), tinv(tpow(shift, i)));
    b[i].v = c[i].v = 0xffff;
  }
  *top_is_zero = a[m - 1].v == 0;
  return CUZK_OK;
}

/* ---- Keys, proofs, parameters ---- */
struct toy_toxic {
  toy_fr alpha, beta, gamma, delta, tau;
};
struct toy_vk {
  toy_g1_affine alpha_g1, beta_g1, delta_g1;
  toy_g2_affine beta_g2, gamma_g2, delta_g2;
  toy_g1_affine *ic;
  uint32_t n_ic;
};
struct toy_proof {
  toy_g1_affine a;
  toy_g2_affine b;
  toy_g1_affine c;
};
struct toy_assignment {
  toy_fr *inputs, *aux;
  uint32_t n_inputs, n_aux;
};
struct toy_witness {
  const toy_fr *inputs, *aux;
  uint32_t n_inputs, n_aux;
};
struct toy_proof_sums {
  toy_g1 h_l, a, b_g1;
  toy_g2 b_g2;
};
#define TOY_AUX_SUM(g)                                                                                                     \
  static inline enum cuzk_status toy_aux_sum_##g(toy_##g *out, const struct toy_bases_##g *bases, size_t n_bases,          \
                                                 const struct toy_witness *z, const uint64_t *density,                     \
                                                 struct cuzk_pool *pool, const struct cuzk_progress *progress,             \
                                                 const char *stage, struct cuzk_detail *d) {                               \
    return toy_msm_##g##_stream(out, bases, n_bases, z->aux, z->n_aux, density, pool, progress, stage, d);                 \
  }
TOY_AUX_SUM(g1)
TOY_AUX_SUM(g2)
struct toy_params {
  struct toy_vk vk;
  const uint8_t *bytes;
  struct {
    uint64_t offset;
    uint32_t count;
  } section[CUZK_N_SECTIONS];
};
static inline void toy_proof_write(uint8_t out[16], const struct toy_proof *p) {
  toy_g1_encode(out, &p->a);
  toy_g2_encode(out + 4, &p->b);
  toy_g1_encode(out + 12, &p->c);
}
static inline enum cuzk_status toy_proof_read(struct toy_proof *p, const uint8_t in[16], struct cuzk_detail *d) {
  (void)d;
  p->a.v = cuzk_load_be32(in);
  p->b.v = cuzk_load_be32(in + 8);
  p->c.v = cuzk_load_be32(in + 12);
  return CUZK_OK;
}
static inline enum cuzk_status toy_params_match(const struct toy_params *p, const struct cuzk_shape *shape,
                                                struct cuzk_detail *d) {
  uint32_t count[CUZK_N_SECTIONS];
  for (int s = 0; s < CUZK_N_SECTIONS; s++) count[s] = p->section[s].count;
  return cuzk_section_counts_match(count, p->vk.n_ic, shape, "toy", d);
}
static inline enum cuzk_status toy_params_fetch_g1(const struct toy_params *p, enum cuzk_section s, toy_g1_affine *dst,
                                                   size_t first, size_t count, bool subgroup, struct cuzk_detail *d) {
  (void)subgroup;
  if (first + count > p->section[s].count) return cuzk_fail(d, CUZK_E_ARG, "section too short");
  for (size_t i = 0; i < count; i++) dst[i].v = cuzk_load_be32(p->bytes + p->section[s].offset + 4 + (first + i) * E_G1_BYTES);
  return CUZK_OK;
}
static inline enum cuzk_status toy_params_fetch_g2(const struct toy_params *p, toy_g2_affine *dst, size_t first, size_t count,
                                                   bool subgroup, struct cuzk_detail *d) {
  (void)subgroup;
  if (first + count > p->section[CUZK_SECTION_B_G2].count) return cuzk_fail(d, CUZK_E_ARG, "section too short");
  for (size_t i = 0; i < count; i++)
    dst[i].v = cuzk_load_be32(p->bytes + p->section[CUZK_SECTION_B_G2].offset + 8 + (first + i) * E_G2_BYTES);
  return CUZK_OK;
}

struct toy_pvk;
enum cuzk_status toy_pvk_create(struct toy_pvk **out, const struct toy_vk *vk);
void toy_pvk_destroy(struct toy_pvk **p);
enum cuzk_status toy_groth16_verify(bool *ok, const struct toy_pvk *pvk, const struct toy_proof *p, const toy_fr *u, size_t n,
                                    struct cuzk_detail *d);
enum cuzk_status toy_groth16_verify_batch(bool *ok, const struct toy_pvk *pvk, const struct toy_proof *p, size_t k,
                                          const toy_fr *u, size_t n, struct cuzk_pool *pool, struct cuzk_detail *d);
enum cuzk_status toy_groth16_sums(struct toy_proof_sums *out, const struct toy_params *params, const struct cuzk_shape *shape,
                                  const struct toy_witness *z, toy_fr *abc[3], struct cuzk_pool *pool,
                                  const struct cuzk_progress *progress, struct cuzk_prove_times *times, struct cuzk_detail *d);
void toy_groth16_assemble(struct toy_proof *out, const struct toy_vk *vk, const struct toy_proof_sums *sums, const toy_fr *r,
                          const toy_fr *s);
enum cuzk_status toy_groth16_check(const struct toy_vk *vk, const struct toy_proof *proof, const toy_fr *u, size_t n,
                                   const struct cuzk_progress *progress, struct cuzk_detail *d);
enum cuzk_status toy_groth16_prove(struct toy_proof *out, const struct toy_params *params, const struct cuzk_shape *shape,
                                   const struct toy_assignment *z, toy_fr *abc[3], const toy_fr *r, const toy_fr *s,
                                   struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_prove_times *times,
                                   struct cuzk_detail *d);
#endif
