/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cuda_twin.h"

#include <string.h>

#include "backend/cuda/curve.cuh"
#include "backend/cuda/points.cuh"
#include "backend/cuda/rows.cuh"

using namespace cuzk_gpu;

template <class F, void (*OP)(F &, const F &, const F &)>
static void binary(void *r, const void *a, const void *b) {
  F x, y, z;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  OP(z, x, y);
  memcpy(r, &z, sizeof z);
}
template <class F, void (*OP)(F &, const F &)>
static void unary(void *r, const void *a, const void *) {
  F x, z;
  memcpy(&x, a, sizeof x);
  OP(z, x);
  memcpy(r, &z, sizeof z);
}
/* Results over an operand: the device code calls everything in place. */
template <class F, void (*OP)(F &, const F &, const F &)>
static void in_place(void *r, const void *a, const void *b) {
  F x, y;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  OP(x, x, y);
  memcpy(r, &x, sizeof x);
}

const struct twin_binary twin_binaries[] = {
    {"fr_add", binary<Fr, add<FrParams>>},   {"fr_sub", binary<Fr, sub<FrParams>>},  {"fr_mul", binary<Fr, mul<FrParams>>},
    {"fr_sqr", unary<Fr, sqr<FrParams>>},    {"fr_neg", unary<Fr, neg<FrParams>>},   {"fr_dbl", unary<Fr, dbl<FrParams>>},
    {"fp_add", binary<Fp, add<FpParams>>},   {"fp_sub", binary<Fp, sub<FpParams>>},  {"fp_mul", binary<Fp, mul<FpParams>>},
    {"fp_sqr", unary<Fp, sqr<FpParams>>},    {"fp_neg", unary<Fp, neg<FpParams>>},   {"fp_dbl", unary<Fp, dbl<FpParams>>},
    {"fp_inv", unary<Fp, inv_var>},          {"fp2_add", binary<Fp2, add>},          {"fp2_sub", binary<Fp2, sub>},
    {"fp2_mul", binary<Fp2, mul>},           {"fp2_sqr", unary<Fp2, sqr>},           {"fp2_neg", unary<Fp2, neg>},
    {"fp2_inv", unary<Fp2, inv_var>},        {"fr_mul", in_place<Fr, mul<FrParams>>}, {"fp_mul", in_place<Fp, mul<FpParams>>},
    {"fp2_mul", in_place<Fp2, mul>},         {"fr_sub", in_place<Fr, sub<FrParams>>}, {"fp_sub", in_place<Fp, sub<FpParams>>},
    {0, 0}};

void twin_fr_mul_any(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]) {
  Fr x, y, z;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  mul_loose(z, x, y);
  reduce(z, z);
  memcpy(r, &z, sizeof z);
}
void twin_fr_add_loose(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]) {
  Fr x, y, z;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  add_loose(z, x, y);
  reduce(z, z);
  memcpy(r, &z, sizeof z);
}
void twin_fr_sub_loose(uint64_t r[4], const uint64_t a[4], const uint64_t b[4]) {
  Fr x, y, z;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  sub_loose(z, x, y);
  reduce(z, z);
  memcpy(r, &z, sizeof z);
}
void twin_fp_mul_loose(uint64_t r[6], const uint64_t a[6], const uint64_t b[6]) {
  Fp x, y, z;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  mul_loose(z, x, y);
  memcpy(r, &z, sizeof z);
}
void twin_fp_sqr_loose(uint64_t r[6], const uint64_t a[6]) {
  Fp x, z;
  memcpy(&x, a, sizeof x);
  sqr_loose(z, x);
  memcpy(r, &z, sizeof z);
}

template <class F>
static void pair_add(void *r, const void *p, const void *q) {
  Affine<F> a, b, c;
  memcpy(&a, p, sizeof a);
  memcpy(&b, q, sizeof b);
  F d;
  const PairKind kind = pair_denominator(d, a, b);
  inv_var(d, d);
  pair_finish(c, a, b, d, kind);
  memcpy(r, &c, sizeof c);
}
void twin_g1_pair_add(void *r, const void *p, const void *q) { pair_add<Fp>(r, p, q); }
void twin_g2_pair_add(void *r, const void *p, const void *q) { pair_add<Fp2>(r, p, q); }

void twin_g1_xyzz_add_affine(void *r, const void *p, const void *q) {
  Xyzz<Fp> a, c;
  Affine<Fp> b;
  memcpy(&a, p, sizeof a);
  memcpy(&b, q, sizeof b);
  add_affine(c, a, b);
  memcpy(r, &c, sizeof c);
}
template <class F>
static void xyzz_add(void *r, const void *p, const void *q) {
  Xyzz<F> a, b, c;
  memcpy(&a, p, sizeof a);
  memcpy(&b, q, sizeof b);
  add_point(c, a, b);
  memcpy(r, &c, sizeof c);
}
void twin_g1_xyzz_add(void *r, const void *p, const void *q) { xyzz_add<Fp>(r, p, q); }
void twin_g2_xyzz_add(void *r, const void *p, const void *q) { xyzz_add<Fp2>(r, p, q); }
void twin_g1_xyzz_mul_small(void *r, const void *p, uint32_t k) {
  Xyzz<Fp> a, c;
  memcpy(&a, p, sizeof a);
  mul_small(c, a, k);
  memcpy(r, &c, sizeof c);
}

uint32_t twin_digits(uint32_t *digits, uint32_t *bits, uint32_t *offset, const uint64_t scalar[4], uint32_t count) {
  const Windows w = make_windows(count);
  Fr s;
  memcpy(&s, scalar, sizeof s);
  from_mont(s, s);
  const bool negative = signed_scalar(s);
  uint32_t carry = 0;
  for (uint32_t i = 0; i < w.count; i++) {
    digits[i] = signed_digit(s, w, i, negative, carry);
    bits[i] = window_bits(w, i);
    offset[i] = window_offset(w, i);
  }
  return carry;
}

template <class F>
static int decode(void *r, const void *bytes) {
  uint32_t w[sizeof(Affine<F>) / 4];
  memcpy(w, bytes, sizeof w);
  Affine<F> p;
  const bool ok = decode_point(p, w);
  memcpy(r, &p, sizeof p);
  return ok;
}
int twin_g1_decode(void *r, const void *bytes) { return decode<Fp>(r, bytes); }
int twin_g2_decode(void *r, const void *bytes) { return decode<Fp2>(r, bytes); }

int twin_row(void *abc[3], const struct twin_rows *t, uint32_t row, uint32_t lanes) {
  Fr small[2 * SMALL_INTS + 1], one, v[3];
  set_one(one);
  set_zero(small[SMALL_INTS]);
  for (int i = 1; i <= SMALL_INTS; i++) {
    add(small[SMALL_INTS + i], small[SMALL_INTS + i - 1], one);
    sub(small[SMALL_INTS - i], small[SMALL_INTS - i + 1], one);
  }
  const Rows rows = {(const FlatRun *)t->runs,   (const FlatUse *)t->uses, (const uint32_t *)t->ext, (const uint32_t *)t->bound,
                     (const FlatTerm *)t->terms, (const Fr *)t->coeffs,    small,                    t->n_rows,
                     t->n_runs};
  const Witness z = {(const Fr *)t->inputs, (const uint64_t *)t->bits, (const uint64_t *)t->is_field, (const uint32_t *)t->rank,
                     (const Fr *)t->fields, t->n_inputs};
  const FlatRun run = rows.runs[run_of(rows.runs, 0, rows.n_runs, row)];
  const uint32_t at = 3 * (run.first + (row - run.row));
  for (int m = 0; m < 3; m++) {
    Partial p;
    start_partial(p);
    for (uint32_t lane = 0; lane < lanes; lane++) {
      Partial q;
      start_partial(q);
      add_terms(q, rows, z, rows.uses[run.use], rows.bound[at + m] + lane, rows.bound[at + m + 1], lanes);
      p.whole += q.whole;
      add(p.sum, p.sum, q.sum);
    }
    finish_partial(v[m], p, small);
    memcpy(abc[m], &v[m], sizeof v[m]);
  }
  return row_holds(v[0], v[1], v[2]);
}
