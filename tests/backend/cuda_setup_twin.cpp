// SPDX-License-Identifier: MIT OR Apache-2.0
/* The functions of the backend that device/cuda_setup.c calls, on the host: device memory is memory, what a kernel does to an element
 * is done by the same source (setup.cuh), one element after the other. */
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "backend/cuda/setup.cuh"
#include "backend/cuda/setup.h"
#include "cuda_setup_twin.h"

using namespace cuzk_gpu;

struct cuzk_cuda {
  uint64_t limit, used;
};
struct cuzk_cuda_lane {
  int unused;
};
struct cuzk_cuda_fixed {
  bool g2;
};

static Fr element(const void *p) {
  Fr r;
  memcpy(&r, p, sizeof r);
  return r;
}

extern "C" {
uint64_t twin_setup_memory = 0; /* of every device opened from now on; 0: plenty */

enum cuzk_status cuzk_cuda_create(struct cuzk_cuda **out, int device, struct cuzk_detail *) {
  *out = nullptr;
  if (device) return CUZK_E_ARG;
  *out = new cuzk_cuda{twin_setup_memory, 0};
  return CUZK_OK;
}
void cuzk_cuda_destroy(struct cuzk_cuda **c) {
  delete *c;
  *c = nullptr;
}
void cuzk_cuda_set_limit(struct cuzk_cuda *c, uint64_t bytes) {
  if (bytes) c->limit = bytes;
}
void cuzk_cuda_set_lean(struct cuzk_cuda *, bool) {}
enum cuzk_status cuzk_cuda_available(struct cuzk_cuda *c, uint64_t *bytes, struct cuzk_detail *) {
  const uint64_t all = c->limit ? c->limit : (uint64_t)1 << 40;
  *bytes = c->used < all ? all - c->used : 0;
  return CUZK_OK;
}
enum cuzk_status cuzk_cuda_alloc(struct cuzk_cuda *c, void **out, size_t bytes, struct cuzk_detail *d) {
  uint64_t left;
  (void)cuzk_cuda_available(c, &left, d);
  *out = nullptr;
  if (bytes > left) return CUZK_E_NOMEM;
  char *p = (char *)malloc(bytes + 64); /* its size before it */
  if (!p) return CUZK_E_NOMEM;
  memcpy(p, &bytes, sizeof bytes);
  memset(p + 64, 0x5a, bytes);
  c->used += bytes;
  *out = p + 64;
  return CUZK_OK;
}
void cuzk_cuda_free(struct cuzk_cuda *c, void **p) {
  if (!*p) return;
  size_t bytes;
  memcpy(&bytes, (char *)*p - 64, sizeof bytes);
  c->used -= bytes;
  free((char *)*p - 64);
  *p = nullptr;
}
enum cuzk_status cuzk_cuda_host_alloc(struct cuzk_cuda *, void **out, size_t bytes, struct cuzk_detail *) {
  *out = malloc(bytes);
  return *out ? CUZK_OK : CUZK_E_NOMEM;
}
void cuzk_cuda_host_free(struct cuzk_cuda *, void **p) {
  free(*p);
  *p = nullptr;
}
enum cuzk_status cuzk_cuda_sync(struct cuzk_cuda *, struct cuzk_detail *) { return CUZK_OK; }
enum cuzk_status cuzk_cuda_trim(struct cuzk_cuda *, struct cuzk_detail *) { return CUZK_OK; }
enum cuzk_status cuzk_cuda_wipe(struct cuzk_cuda *, void *p, size_t n, struct cuzk_detail *) {
  if (p) memset(p, 0, n);
  return CUZK_OK;
}

enum cuzk_status cuzk_cuda_lane_create(struct cuzk_cuda *, struct cuzk_cuda_lane **out, struct cuzk_detail *) {
  *out = new cuzk_cuda_lane{0};
  return CUZK_OK;
}
void cuzk_cuda_lane_destroy(struct cuzk_cuda_lane **l) {
  delete *l;
  *l = nullptr;
}
enum cuzk_status cuzk_cuda_lane_after(struct cuzk_cuda_lane *, struct cuzk_cuda *, struct cuzk_detail *) { return CUZK_OK; }
enum cuzk_status cuzk_cuda_lane_wait(struct cuzk_cuda_lane *, struct cuzk_detail *) { return CUZK_OK; }
enum cuzk_status cuzk_cuda_lane_download(struct cuzk_cuda_lane *, void *host, const void *device, size_t bytes, struct cuzk_detail *) {
  memcpy(host, device, bytes);
  return CUZK_OK;
}

enum cuzk_status cuzk_cuda_rows_create(struct cuzk_cuda *, struct cuzk_cuda_rows **out, const struct cuzk_cuda_circuit *k, struct cuzk_detail *) {
  const size_t bytes[6] = {k->n_runs * sizeof(FlatRun),   k->n_uses * sizeof(FlatUse),   k->n_ext * sizeof(uint32_t),
                           (3 * (size_t)k->n_own + 1) * 4, k->n_terms * sizeof(FlatTerm), k->n_coeffs * sizeof(Fr)};
  const void *from[6] = {k->runs, k->uses, k->ext, k->bound, k->terms, k->coeffs};
  size_t all = 0, at[6];
  for (int i = 0; i < 6; i++) {
    at[i] = all;
    all += (bytes[i] + 63) / 64 * 64;
  }
  char *m = (char *)malloc(all + 1);
  for (int i = 0; i < 6; i++)
    if (bytes[i]) memcpy(m + at[i], from[i], bytes[i]);
  *out = new cuzk_cuda_rows{m,
                            {(FlatRun *)(m + at[0]), (FlatUse *)(m + at[1]), (uint32_t *)(m + at[2]), (uint32_t *)(m + at[3]),
                             (FlatTerm *)(m + at[4]), (Fr *)(m + at[5]), nullptr, k->n_rows, k->n_runs},
                            nullptr,
                            k->n_inputs,
                            k->n_aux};
  return CUZK_OK;
}
void cuzk_cuda_rows_destroy(struct cuzk_cuda *, struct cuzk_cuda_rows **r) {
  if (!*r) return;
  free((*r)->memory);
  delete *r;
  *r = nullptr;
}

enum cuzk_status cuzk_cuda_powers(struct cuzk_cuda *, void *out, const cuzk_fr *first, const cuzk_fr *base, size_t n, struct cuzk_detail *) {
  Fr x = element(first);
  const Fr b = element(base);
  for (size_t i = 0; i < n; i++) {
    memcpy((char *)out + i * sizeof x, &x, sizeof x);
    mul(x, x, b);
  }
  return CUZK_OK;
}
enum cuzk_status cuzk_cuda_lagrange(struct cuzk_cuda *, void *out, const cuzk_fr *tau, unsigned log2_n, struct cuzk_detail *) {
  return twin_lagrange(out, tau, log2_n) ? CUZK_OK : CUZK_E_ARG;
}

uint64_t cuzk_cuda_columns_bytes(size_t n) { return 64 * (uint64_t)n; }
enum cuzk_status cuzk_cuda_columns(struct cuzk_cuda *, const struct cuzk_cuda_rows *r, void *out, void *scratch, const void *lagrange, int side,
                                   size_t first, size_t n, struct cuzk_detail *) {
  unsigned long long *sums = (unsigned long long *)scratch;
  memset(scratch, 0, 64 * n);
  const auto put = [&](size_t at, const Fr &x) {
    if (at < first || at - first >= n) return;
    for (int i = 0; i < 8; i++) sums[8 * (at - first) + i] += x.l[i];
  };
  for (uint32_t row = 0; row < r->rows.n_rows; row++) {
    const FlatRun run = r->rows.runs[run_of(r->rows.runs, 0, r->rows.n_runs, row)];
    const FlatUse use = r->rows.uses[run.use];
    const uint32_t at = 3 * (run.first + (row - run.row)) + (uint32_t)side;
    const Fr l = element((const char *)lagrange + 32 * (size_t)row);
    for (uint32_t i = r->rows.bound[at]; i < r->rows.bound[at + 1]; i++) {
      Fr x;
      column_share(x, l, r->rows, r->rows.terms[i].coeff);
      put(place_of(variable_of(r->rows, use, r->rows.terms[i].var), r->n_inputs), x);
    }
  }
  for (uint32_t j = 0; side == 0 && j < r->n_inputs; j++) put(j, element((const char *)lagrange + 32 * ((size_t)r->rows.n_rows + j)));
  for (size_t j = 0; j < n; j++) {
    Fr x;
    fold_limbs(x, sums + 8 * j);
    memcpy((char *)out + 32 * j, &x, 32);
  }
  return CUZK_OK;
}
enum cuzk_status cuzk_cuda_combine(struct cuzk_cuda *, struct cuzk_cuda_combined *out, const void *a, const void *b, void *cc, size_t first, size_t n,
                                   uint32_t n_inputs, const struct cuzk_cuda_weights *w, struct cuzk_detail *) {
  *out = {0, 0, ~(uint64_t)0};
  for (size_t j = 0; j < n; j++) {
    Fr x = element((const char *)a + 32 * j), y = element((const char *)b + 32 * j), z = element((char *)cc + 32 * j);
    out->n_a += !is_zero(x);
    out->n_b += !is_zero(y);
    mul(x, x, element(&w->beta));
    mul(y, y, element(&w->alpha));
    add(z, z, x);
    add(z, z, y);
    mul(z, z, element(first + j < n_inputs ? &w->inv_gamma : &w->inv_delta));
    if (is_zero(z) && first + j < out->first_zero) out->first_zero = first + j;
    memcpy((char *)cc + 32 * j, &z, 32);
  }
  return CUZK_OK;
}
enum cuzk_status cuzk_cuda_drop_zeros(struct cuzk_cuda *, void *out, const void *v, size_t n, size_t *kept, struct cuzk_detail *) {
  *kept = 0;
  for (size_t i = 0; i < n; i++)
    if (!is_zero(element((const char *)v + 32 * i))) memcpy((char *)out + 32 * (*kept)++, (const char *)v + 32 * i, 32);
  return CUZK_OK;
}

enum cuzk_status cuzk_cuda_fixed_create(struct cuzk_cuda *, struct cuzk_cuda_fixed **out, bool g2, struct cuzk_detail *) {
  *out = new cuzk_cuda_fixed{g2};
  return CUZK_OK;
}
void cuzk_cuda_fixed_destroy(struct cuzk_cuda *, struct cuzk_cuda_fixed **f) {
  delete *f;
  *f = nullptr;
}
uint64_t cuzk_cuda_fixed_work_bytes(const struct cuzk_cuda *, bool g2, size_t n) { return n * (g2 ? 200 : 100); }
enum cuzk_status cuzk_cuda_fixed_mul(struct cuzk_cuda *, const struct cuzk_cuda_fixed *f, void *out, const void *s, size_t n, struct cuzk_detail *) {
  /* The scalar again from its places in the table, so that a wrong one shows; the multiple of it by the host's curve code. */
  std::vector<Fr> again(n);
  for (size_t i = 0; i < n; i++) {
    uint32_t v[FIXED_WINDOWS];
    fixed_places(v, element((const char *)s + 32 * i));
    Fr x;
    set_zero(x);
    for (uint32_t w = FIXED_WINDOWS; w-- > 0;) {
      for (uint32_t b = 0; b < FIXED_BITS; b++) dbl(x, x);
      Fr digit, r2;
      set_zero(digit);
      digit.l[0] = (v[w] & 0x7fffffffu) - w * FIXED_STRIDE;
      set_fr_r2(r2);
      mul(digit, r2, digit);
      if (v[w] >> 31) neg(digit, digit);
      add(x, x, digit);
    }
    again[i] = x;
  }
  if (f->g2) {
    std::vector<Affine<Fp2>> p(n);
    twin_multiples_g2(p.data(), again.data(), n);
    for (size_t i = 0; i < n; i++) encode_point((uint32_t *)((char *)out + 192 * i), p[i]);
  } else {
    std::vector<Affine<Fp>> p(n);
    twin_multiples_g1(p.data(), again.data(), n);
    for (size_t i = 0; i < n; i++) encode_point((uint32_t *)((char *)out + 96 * i), p[i]);
  }
  return CUZK_OK;
}

void twin_encode_g1(uint8_t out[96], const void *p) {
  Affine<Fp> a;
  memcpy(&a, p, sizeof a);
  uint32_t w[24];
  encode_point(w, a);
  memcpy(out, w, sizeof w);
}
void twin_encode_g2(uint8_t out[192], const void *p) {
  Affine<Fp2> a;
  memcpy(&a, p, sizeof a);
  uint32_t w[48];
  encode_point(w, a);
  memcpy(out, w, sizeof w);
}
void twin_fold_limbs(uint64_t r[4], const unsigned long long w[8]) {
  Fr x;
  fold_limbs(x, w);
  memcpy(r, &x, sizeof x);
}
}
