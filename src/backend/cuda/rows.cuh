/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Values of a circuit's rows from a packed witness (r1cs/compact_flat.h, r1cs/packed.h); host twin as in field.cuh.
 *
 *  Terms whose variable is a bit and whose coefficient is a signed power of two up to 2^30 are added as integers, everything else as
 *  field elements; the integer joins at the end of a combination. */
#ifndef CUZK_BACKEND_CUDA_ROWS_CUH
#define CUZK_BACKEND_CUDA_ROWS_CUH
#include "backend/cuda/field.cuh"

namespace cuzk_gpu {

/* As the structs of r1cs/compact_flat.h. */
struct FlatRun {
  uint32_t row, first, use;
};
struct FlatUse {
  uint32_t aux, input, ext;
};
struct FlatTerm {
  uint32_t var, coeff;
};

constexpr uint32_t VAR_AUX = 0x80000000u, VAR_INPUT = 0x40000000u;
constexpr uint32_t SMALL_COEFFS = 62; /* numbers 1 .. 62 are 2^0, -2^0, ..., 2^30, -2^30 */
constexpr int SMALL_INTS = 32;        /* Montgomery forms of -32 .. 32 are looked up */

struct Rows {
  const FlatRun *runs;
  const FlatUse *uses;
  const uint32_t *ext, *bound;
  const FlatTerm *terms;
  const Fr *coeffs;
  const Fr *small; /* 2 SMALL_INTS + 1 */
  uint32_t n_rows, n_runs;
};
struct Witness {
  const Fr *inputs;
  const uint64_t *bits, *is_field;
  const uint32_t *rank;
  const Fr *fields;
  uint32_t n_inputs;
};

/* Part of a combination. */
struct Partial {
  long long whole;
  Fr sum;
};

CUZK_HD int count_bits(uint64_t v) {
#if defined(__CUDA_ARCH__)
  return __popcll(v);
#else
  return __builtin_popcountll(v);
#endif
}

CUZK_HD void load_element(Fr &r, const Fr *p) {
#if defined(__CUDA_ARCH__)
  const uint4 a = __ldg((const uint4 *)p), b = __ldg((const uint4 *)p + 1);
  r.l[0] = a.x;
  r.l[1] = a.y;
  r.l[2] = a.z;
  r.l[3] = a.w;
  r.l[4] = b.x;
  r.l[5] = b.y;
  r.l[6] = b.z;
  r.l[7] = b.w;
#else
  r = *p;
#endif
}

/* 2^512 modulo r. */
CUZK_HD void set_fr_r2(Fr &r) {
  constexpr uint32_t v[8] = {0xf3f29c6du, 0xc999e990u, 0x87925c23u, 0x2b6cedcbu, 0x7254398fu, 0x05d31496u, 0x9f59ff11u, 0x0748d9d9u};
  CUZK_UNROLL
  for (int i = 0; i < 8; i++) r.l[i] = v[i];
}

/* Products of a term in a row are rare beside terms: one copy of the code. */
CUZK_HD_CALL void mul_row_element(Fr &r, const Fr &a, const Fr &b) { mul(r, a, b); }

/** Number of the run that row is in, between runs lo and hi (row of lo <= row, hi not yet). */
CUZK_HD uint32_t run_of(const FlatRun *runs, uint32_t lo, uint32_t hi, uint32_t row) {
  while (hi - lo > 1) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (runs[mid].row <= row)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

/** The circuit's variable that a term of a template names. */
CUZK_HD uint32_t variable_of(const Rows &r, const FlatUse &u, uint32_t v) {
  if (v & VAR_AUX) return v + u.aux;
  if (v & VAR_INPUT) return v - VAR_INPUT + u.input;
  return v ? r.ext[u.ext + v - 1] : 0;
}

/** Adds the terms first, first + step, ... below last. */
CUZK_HD void add_terms(Partial &p, const Rows &r, const Witness &z, const FlatUse &u, uint32_t first, uint32_t last, uint32_t step) {
  for (uint32_t i = first; i < last; i += step) {
    const FlatTerm t = r.terms[i];
    const uint32_t v = variable_of(r, u, t.var);
    const Fr *value = nullptr; /* null: 1 */
    if (v & VAR_AUX) {
      const uint32_t j = v - VAR_AUX, w = j >> 6, s = j & 63;
      const uint64_t f = z.is_field[w];
      if ((f >> s) & 1)
        value = z.fields + z.rank[w] + (uint32_t)count_bits(f & (((uint64_t)1 << s) - 1));
      else if (!((z.bits[w] >> s) & 1))
        continue;
    } else if (v) {
      value = z.inputs + v;
    }
    if (!value && t.coeff - 1 < SMALL_COEFFS) {
      const long long k = 1ll << ((t.coeff - 1) >> 1);
      p.whole += (t.coeff & 1) ? k : -k;
      continue;
    }
    Fr x;
    if (!value) {
      load_element(x, r.coeffs + t.coeff);
      add(p.sum, p.sum, x);
      continue;
    }
    load_element(x, value);
    if (t.coeff == 2) {
      sub(p.sum, p.sum, x);
      continue;
    }
    if (t.coeff != 1) {
      Fr k;
      load_element(k, r.coeffs + t.coeff);
      mul_row_element(x, x, k);
    }
    add(p.sum, p.sum, x);
  }
}

CUZK_HD void start_partial(Partial &p) {
  p.whole = 0;
  set_zero(p.sum);
}

/** The element that a complete partial sum is. |whole| < 2^63. */
CUZK_HD void finish_partial(Fr &r, const Partial &p, const Fr *small) {
  r = p.sum;
  if (p.whole == 0) return;
  Fr x;
  if (p.whole >= -SMALL_INTS && p.whole <= SMALL_INTS) {
    load_element(x, small + SMALL_INTS + p.whole);
  } else {
    Fr r2;
    set_fr_r2(r2);
    const unsigned long long m = p.whole < 0 ? 0ull - (unsigned long long)p.whole : (unsigned long long)p.whole;
    set_zero(x);
    x.l[0] = (uint32_t)m;
    x.l[1] = (uint32_t)(m >> 32);
    mul_row_element(x, r2, x);
    if (p.whole < 0) neg(x, x);
  }
  add(r, r, x);
}

CUZK_HD bool row_holds(const Fr &a, const Fr &b, const Fr &c) {
  Fr t;
  mul_row_element(t, a, b);
  return eq(t, c);
}

constexpr int ROW_THREADS = 256;

}  // namespace cuzk_gpu

/* A circuit on the device. */
struct cuzk_cuda_rows {
  char *memory;
  cuzk_gpu::Rows rows;
  const uint32_t *block_run; /* number of the run that the first row of a block of ROW_THREADS is in; one more at the end */
  uint32_t n_inputs, n_aux;
};
#endif
