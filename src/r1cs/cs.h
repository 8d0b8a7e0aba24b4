/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The sink that circuits are synthesised into. One synthesis function serves every purpose; what the sink does with it
 *  depends on how it was opened:
 *
 *    count    numbers of variables and rows, and the regions; no values, no linear combinations
 *    rows     each row is handed, canonical, to a function (shapes, digests, setup); no values
 *    values   the values of all variables; no linear combinations are built
 *    eval     values, and <A,z>, <B,z>, <C,z> of every row, stored and checked as asked
 *
 *  Gadgets allocate variables, and when `lcs` is set put terms into row[0..2] before they call cuzk_cs_enforce(). Errors are
 *  sticky: the first one stays in `st`, everything after it is cheap and without effect, so gadgets need not look. A value
 *  argument is only read when `values` is set. One thread owns a sink.
 *  Source: circuits specification 1; docs/internals/r1cs.md. */
#ifndef CUZK_R1CS_CS_H
#define CUZK_R1CS_CS_H
#include "r1cs/coeffs.h"
#include "r1cs/r1cs.h"

struct cuzk_lc {
  struct cuzk_term *t;
  uint32_t n, cap;
};

/** A gadget that is being synthesised: fmt with up to two unsigned numbers, and the counts at its start. */
struct cuzk_region {
  const char *fmt;
  unsigned i, j;
  uint64_t row;
  uint32_t aux, input;
};
#define CUZK_CS_DEPTH 16

struct cuzk_cs;
/** Told when region number depth (0 is the outermost) of cs->stack ends, before it is taken off. */
typedef void cuzk_region_fn(void *user, const struct cuzk_cs *cs, unsigned depth);

/** What a gadget keeps for the life of a sink (tables that depend on its coefficient numbers). */
struct cuzk_cs_slot {
  void *p;
  void (*destroy)(void *p);
};
#define CUZK_CS_SLOTS 16

struct cuzk_cs {
  enum cuzk_status st;
  bool values, lcs; /* what gadgets must supply */
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  struct cuzk_lc row[3];   /* A, B, C of the row under construction */
  struct cuzk_lc lhs, rhs; /* sums of the open multi-equality */
  cuzk_fr *inputs, *aux;   /* borrowed, cap_inputs and cap_aux elements */
  uint32_t cap_inputs, cap_aux;
  bool raw; /* rows: hand them as the gadgets emit them: any order, repeated variables, zero coefficients */
  cuzk_row_fn *row_fn;
  void *row_user;
  cuzk_fr *abc[3];  /* eval: may be NULL, borrowed */
  uint64_t cap_rows;
  bool check;
  uint64_t bad_row; /* first row that does not hold, UINT64_MAX: none */
  char *bad_region; /* borrowed, 512 bytes, or NULL */
  struct cuzk_coeffs *coeffs; /* NULL without lcs */
  struct cuzk_lc scratch;
  cuzk_region_fn *region_fn;
  void *region_user;
  struct cuzk_region stack[CUZK_CS_DEPTH];
  unsigned depth;
  struct cuzk_cs_slot slot[CUZK_CS_SLOTS];
};

/** Opens a sink for counting. ONE is allocated. Never fails. */
void cuzk_cs_init_count(struct cuzk_cs *cs);
/** Opens a sink that hands rows to fn. Errors: E_NOMEM; cs is closed then. */
enum cuzk_status cuzk_cs_init_rows(struct cuzk_cs *cs, cuzk_row_fn *fn, void *user);
/** Opens a sink for values, which go to the caller's arrays; needing more is E_INTERNAL. */
void cuzk_cs_init_values(struct cuzk_cs *cs, cuzk_fr *inputs, uint32_t cap_inputs, cuzk_fr *aux, uint32_t cap_aux);
/** As init_values, with evaluation: abc[k] gets cap_rows elements at most, or is NULL; check: compare a b with c; the first row
 *  that differs sets bad_row and, if region is not NULL (512 bytes), region. Errors: E_NOMEM; cs is closed then. */
enum cuzk_status cuzk_cs_init_eval(struct cuzk_cs *cs, cuzk_fr *inputs, uint32_t cap_inputs, cuzk_fr *aux, uint32_t cap_aux,
                                   cuzk_fr *const abc[3], uint64_t cap_rows, bool check, char *region);
/** Frees what cs owns. Accepts a closed or all-zero sink. */
void cuzk_cs_clear(struct cuzk_cs *cs);

/** Makes st the sink's error unless it has one. */
void cuzk_cs_fail(struct cuzk_cs *cs, enum cuzk_status st);
/** Room for more terms; false: out of memory (noted). */
bool cuzk_lc_grow(struct cuzk_cs *cs, struct cuzk_lc *l);
/** The row (A, B, C) of which the lists are cs's own and may be reordered. Only with lcs. */
void cuzk_cs_emit(struct cuzk_cs *cs, struct cuzk_lc *a, struct cuzk_lc *b, struct cuzk_lc *c);
/** Number of any coefficient; 0 after an error. Only with lcs. */
cuzk_coeff cuzk_cs_coeff(struct cuzk_cs *cs, const cuzk_fr *v);
/** Path of the open regions, "a/b/c", cut to fit; depth regions of it. */
void cuzk_cs_region_path(const struct cuzk_cs *cs, unsigned depth, char *out, size_t out_bytes);

/** Next private variable. */
static inline cuzk_var cuzk_cs_alloc(struct cuzk_cs *cs, const cuzk_fr *v) {
  const uint32_t i = cs->n_aux++;
  if (cs->values) {
    if (i < cs->cap_aux)
      cs->aux[i] = *v;
    else
      cuzk_cs_fail(cs, CUZK_E_INTERNAL);
  }
  return CUZK_VAR_AUX + i;
}

/** Next public input. */
static inline cuzk_var cuzk_cs_alloc_input(struct cuzk_cs *cs, const cuzk_fr *v) {
  const uint32_t i = cs->n_inputs++;
  if (cs->values) {
    if (i < cs->cap_inputs)
      cs->inputs[i] = *v;
    else
      cuzk_cs_fail(cs, CUZK_E_INTERNAL);
  }
  return i;
}

/** Value of a variable. Only with values, and not after an error. */
static inline const cuzk_fr *cuzk_cs_value(const struct cuzk_cs *cs, cuzk_var v) {
  return v & CUZK_VAR_AUX ? &cs->aux[v - CUZK_VAR_AUX] : &cs->inputs[v];
}

/** True while values are wanted and the sink has no error: then every variable allocated so far has its value. */
static inline bool cuzk_cs_has_values(const struct cuzk_cs *cs) { return cs->values && cs->st == CUZK_OK; }

static inline void cuzk_lc_put(struct cuzk_cs *cs, struct cuzk_lc *l, cuzk_var v, cuzk_coeff c) {
  if (l->n == l->cap && !cuzk_lc_grow(cs, l)) return;
  l->t[l->n].var = v;
  l->t[l->n++].coeff = c;
}

/** Adds a term to A, B or C (k = 0, 1, 2) of the row under construction. Only with lcs. */
static inline void cuzk_cs_term(struct cuzk_cs *cs, unsigned k, cuzk_var v, cuzk_coeff c) { cuzk_lc_put(cs, &cs->row[k], v, c); }

/** Ends the row under construction. */
static inline void cuzk_cs_enforce(struct cuzk_cs *cs) {
  if (cs->lcs) {
    cuzk_cs_emit(cs, &cs->row[0], &cs->row[1], &cs->row[2]);
    cs->row[0].n = cs->row[1].n = cs->row[2].n = 0;
  } else {
    cs->n_rows++;
  }
}

/** Opens a region. fmt is a constant string with no conversion but %u, at most two. */
static inline void cuzk_cs_push2(struct cuzk_cs *cs, const char *fmt, unsigned i, unsigned j) {
  if (cs->depth < CUZK_CS_DEPTH)
    cs->stack[cs->depth] = (struct cuzk_region){fmt, i, j, cs->n_rows, cs->n_aux, cs->n_inputs};
  cs->depth++;
}
static inline void cuzk_cs_push(struct cuzk_cs *cs, const char *fmt, unsigned i) { cuzk_cs_push2(cs, fmt, i, 0); }
/** Closes the innermost region. */
static inline void cuzk_cs_pop(struct cuzk_cs *cs) {
  if (cs->region_fn && cs->depth <= CUZK_CS_DEPTH) cs->region_fn(cs->region_user, cs, cs->depth - 1);
  cs->depth--;
}
#endif
