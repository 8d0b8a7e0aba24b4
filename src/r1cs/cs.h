/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The sink that circuits are synthesised into. One synthesis function serves every purpose; what the sink does with it
 *  depends on how it was opened:
 *
 *    count    numbers of variables and rows, and the regions; no values, no linear combinations
 *    rows     each row is handed, canonical, to a function (shapes, digests, setup); no values
 *    values   the values of all variables; no linear combinations are built
 *    packed   the same, bits as bits and field elements apart (r1cs/packed.h)
 *    eval     values, and <A,z>, <B,z>, <C,z> of every row, stored and checked as asked
 *    given    <A,z>, <B,z>, <C,z> of every row of values that are there already, packed; gadgets supply none
 *
 *  Gadgets allocate variables, and when `lcs` is set put terms into row[0..2] before they call cuzk_cs_enforce(). Errors are
 *  sticky: the first one stays in `st`, everything after it is cheap and without effect, so gadgets need not look. A value
 *  argument is only read when `values` is set. One thread owns a sink.
 *  Private variables are allocated as bits or as field elements: which, is structure, and never depends on values.
 *  Source: circuits specification 1; docs/internals/r1cs.md. */
#ifndef CUZK_R1CS_CS_H
#define CUZK_R1CS_CS_H
#include "base/pool.h"
#include "base/progress.h"
#include "r1cs/coeffs.h"
#include "r1cs/packed.h"
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

/** Receives <A,z>, <B,z>, <C,z> of the rows in order. Anything but CUZK_OK stops the synthesis and is its result. */
typedef enum cuzk_status cuzk_eval_fn(void *user, uint64_t index, const cuzk_fr abc[3]);

/** Numbers that had been handed out at some point of a synthesis; n_fields of n_aux are field elements. */
struct cuzk_cs_mark {
  uint32_t n_inputs, n_aux, n_fields;
  uint64_t n_rows;
};

struct cuzk_cs {
  enum cuzk_status st;
  bool values, lcs; /* what gadgets must supply */
  uint32_t n_inputs, n_aux, n_fields; /* n_fields: private variables that are field elements */
  uint64_t n_rows;
  struct cuzk_lc row[3];   /* A, B, C of the row under construction */
  struct cuzk_lc lhs, rhs; /* sums of the open multi-equality */
  cuzk_fr *inputs, *aux;   /* borrowed, cap_inputs and cap_aux elements; aux NULL: packed */
  uint32_t cap_inputs, cap_aux, cap_fields;
  /* packed: borrowed. Words seam[0] and seam[1] of bits are shared with other threads. */
  uint64_t *bits;
  cuzk_fr *fields;
  const uint64_t *is_field;
  const uint32_t *rank;
  uint32_t seam[2];
  uint64_t *map;              /* NULL, or borrowed: gets is_field of cap_aux variables */
  struct cuzk_cs_mark *marks; /* NULL, or borrowed: before each part and behind the last; written with map, else read */
  uint32_t n_marks, cap_marks;
  struct cuzk_pool *pool; /* packed: what parts run on */
  const struct cuzk_progress *progress;
  bool raw; /* rows: hand them as the gadgets emit them: any order, repeated variables, zero coefficients */
  cuzk_row_fn *row_fn;
  void *row_user;
  cuzk_fr *abc[3];  /* eval: may be NULL, borrowed */
  bool given;       /* values are there already, packed */
  cuzk_eval_fn *eval_fn; /* given: may be NULL */
  void *eval_user;
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
/** Opens a sink for counting that also notes which private variables are field elements: bit j of map, (cap_aux + 63) / 64 zeroed
 *  words. marks: at least as many as a count found (n_marks). Needing more of either is E_INTERNAL. */
void cuzk_cs_init_map(struct cuzk_cs *cs, uint64_t *map, uint32_t cap_aux, struct cuzk_cs_mark *marks, uint32_t cap_marks);
/** Opens a sink for the values of p, of which everything but the values is there (n_inputs, n_aux, n_fields, is_field, rank), bits
 *  are zero. marks: of init_map; parts run on pool (NULL: on the caller) and report to progress (may be NULL). */
void cuzk_cs_init_packed(struct cuzk_cs *cs, const struct cuzk_packed *p, struct cuzk_cs_mark *marks, uint32_t n_marks,
                         struct cuzk_pool *pool, const struct cuzk_progress *progress);
/** Opens a sink that evaluates the rows for the values of p and hands the results to fn (may be NULL). check and region as of
 *  init_eval. Errors: E_NOMEM; cs is closed then. */
enum cuzk_status cuzk_cs_init_given(struct cuzk_cs *cs, const struct cuzk_packed *p, cuzk_eval_fn *fn, void *user, bool check,
                                    char *region);
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

/** Value of private variable j while it is packed. */
const cuzk_fr *cuzk_cs_packed_value(const struct cuzk_cs *cs, uint32_t j);
/** Notes that n private variables from first on are field elements. Only with map. */
void cuzk_cs_map_fields(struct cuzk_cs *cs, uint32_t first, uint32_t n);

/** The next n private variables, field elements: *v is where their values go, or NULL where none are wanted. */
static inline cuzk_var cuzk_cs_alloc_run(struct cuzk_cs *cs, uint32_t n, cuzk_fr **v) {
  const uint32_t i = cs->n_aux, f = cs->n_fields;
  cs->n_aux += n;
  cs->n_fields += n;
  *v = NULL;
  if (cs->map) cuzk_cs_map_fields(cs, i, n);
  if (cs->values) {
    if (cs->n_aux > cs->cap_aux || (!cs->aux && cs->n_fields > cs->cap_fields))
      cuzk_cs_fail(cs, CUZK_E_INTERNAL);
    else
      *v = cs->aux ? &cs->aux[i] : &cs->fields[f];
  }
  return CUZK_VAR_AUX + i;
}

/** Next private variable, a field element. */
static inline cuzk_var cuzk_cs_alloc(struct cuzk_cs *cs, const cuzk_fr *v) {
  cuzk_fr *to;
  const cuzk_var x = cuzk_cs_alloc_run(cs, 1, &to);
  if (to) *to = *v;
  return x;
}

static inline void cuzk_cs_or_word(struct cuzk_cs *cs, uint32_t w, uint64_t v) {
  if (w == cs->seam[0] || w == cs->seam[1])
    (void)__atomic_fetch_or(&cs->bits[w], v, __ATOMIC_RELAXED);
  else
    cs->bits[w] |= v;
}

/** The next n private variables, 1 to 64, all bits: variable k's value is bit k of v, which has no others. */
static inline cuzk_var cuzk_cs_alloc_bits(struct cuzk_cs *cs, uint64_t v, unsigned n) {
  const uint32_t i = cs->n_aux;
  cs->n_aux += n;
  if (cs->values) {
    if (cs->n_aux > cs->cap_aux) {
      cuzk_cs_fail(cs, CUZK_E_INTERNAL);
    } else if (cs->aux) {
      for (unsigned k = 0; k < n; k++) cs->aux[i + k] = (v >> k) & 1 ? cuzk_fr_one : cuzk_fr_zero;
    } else {
      const unsigned s = i % 64;
      cuzk_cs_or_word(cs, i / 64, v << s);
      if (s + n > 64) cuzk_cs_or_word(cs, i / 64 + 1, v >> (64 - s));
    }
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

/** Value of a variable. Only with values (or given ones), and not after an error. */
static inline const cuzk_fr *cuzk_cs_value(const struct cuzk_cs *cs, cuzk_var v) {
  if (!(v & CUZK_VAR_AUX)) return &cs->inputs[v];
  return cs->aux ? &cs->aux[v - CUZK_VAR_AUX] : cuzk_cs_packed_value(cs, v - CUZK_VAR_AUX);
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

/** One of a circuit's like parts, number i, into cs. */
typedef void cuzk_part_fn(struct cuzk_cs *cs, const void *arg, unsigned i);
/** Synthesises parts 0 to n - 1, which refer to variables of before the call and their own only. In order, and until an error, but
 *  with packed values on several threads: fn must not write to what arg points to. */
void cuzk_cs_parts(struct cuzk_cs *cs, unsigned n, cuzk_part_fn *fn, const void *arg);

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
