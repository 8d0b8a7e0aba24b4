/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Constraint systems held as lists of terms with small integer coefficients, for the tests of this layer. */
#ifndef CUZK_TESTS_GROTH16_SMALL_SYSTEM_H
#define CUZK_TESTS_GROTH16_SMALL_SYSTEM_H
#include "r1cs/coeffs.h"
#include "r1cs/r1cs.h"
#include "testing.h"

#define SMALL_MAX_TERMS 6
#define SMALL_MAX_ROWS 64

struct small_term {
  cuzk_var var;
  int coeff;
};
struct small_lc {
  struct small_term t[SMALL_MAX_TERMS];
  unsigned n;
};
struct small_system {
  uint32_t n_inputs, n_aux, n_rows;
  struct small_lc row[SMALL_MAX_ROWS][3];
};

static int small_by_var(const void *a, const void *b) {
  const struct small_term *x = a, *y = b;
  return (x->var > y->var) - (x->var < y->var);
}

/* Rows as struct cuzk_row wants them: sorted, merged, without zero coefficients. */
static enum cuzk_status small_walk(const struct cuzk_system *system, cuzk_row_fn *fn, void *user, uint32_t *n_inputs,
                                   uint32_t *n_aux, uint64_t *n_rows, struct cuzk_detail *d) {
  const struct small_system *s = system->impl;
  struct cuzk_coeffs *coeffs = NULL;
  (void)d;
  enum cuzk_status st = cuzk_coeffs_create(&coeffs);
  for (uint32_t i = 0; i < s->n_rows && st == CUZK_OK; i++) {
    struct cuzk_term terms[3][SMALL_MAX_TERMS];
    struct cuzk_row row = {{terms[0], terms[1], terms[2]}, {0}};
    for (int side = 0; side < 3 && st == CUZK_OK; side++) {
      struct small_lc lc = s->row[i][side];
      qsort(lc.t, lc.n, sizeof lc.t[0], small_by_var);
      for (unsigned k = 0; k < lc.n && st == CUZK_OK;) {
        const cuzk_var var = lc.t[k].var;
        int sum = 0;
        for (; k < lc.n && lc.t[k].var == var; k++) sum += lc.t[k].coeff;
        if (sum == 0) continue;
        cuzk_fr v;
        cuzk_fr_from_u64(&v, (uint64_t)abs(sum));
        if (sum < 0) cuzk_fr_neg(&v, &v);
        struct cuzk_term *t = &terms[side][row.n[side]++];
        t->var = var;
        st = cuzk_coeffs_intern(coeffs, &t->coeff, &v);
      }
    }
    if (st == CUZK_OK) st = fn(user, i, &row, coeffs);
  }
  cuzk_coeffs_destroy(&coeffs);
  *n_inputs = s->n_inputs;
  *n_aux = s->n_aux;
  *n_rows = s->n_rows;
  return st;
}

static struct cuzk_system small_as_system(const struct small_system *s) {
  return (struct cuzk_system){"small", small_walk, s};
}
#endif
