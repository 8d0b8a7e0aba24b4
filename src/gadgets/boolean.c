/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "gadgets/boolean.h"

static inline struct cuzk_bool alloc(struct cuzk_cs *cs, bool v) {
  return (struct cuzk_bool){cuzk_cs_alloc_bits(cs, v, 1), CUZK_BOOL_IS, v};
}

/* Two terms in ascending order: rows that are canonical from the start cost least. */
static inline void pair(struct cuzk_cs *cs, unsigned k, cuzk_var a, cuzk_coeff ca, cuzk_var b, cuzk_coeff cb) {
  if (a < b) {
    cuzk_cs_term(cs, k, a, ca);
    cuzk_cs_term(cs, k, b, cb);
  } else {
    cuzk_cs_term(cs, k, b, cb);
    cuzk_cs_term(cs, k, a, ca);
  }
}

struct cuzk_bool cuzk_bit_alloc(struct cuzk_cs *cs, bool v) {
  const struct cuzk_bool x = alloc(cs, v);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 0, x.var, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(cs, 1, x.var, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

struct cuzk_bool cuzk_bit_alloc_unless(struct cuzk_cs *cs, bool v, struct cuzk_bool m) {
  const struct cuzk_bool x = alloc(cs, v);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 0, m.var, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(cs, 0, x.var, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(cs, 1, x.var, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

struct cuzk_bool cuzk_bit_xor(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  const struct cuzk_bool x = alloc(cs, a.value != b.value);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, a.var, CUZK_COEFF_POW2(1));
    cuzk_cs_term(cs, 1, b.var, CUZK_COEFF_ONE);
    pair(cs, 2, a.var, CUZK_COEFF_ONE, b.var, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 2, x.var, CUZK_COEFF_MINUS_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

struct cuzk_bool cuzk_bit_and(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  const struct cuzk_bool x = alloc(cs, a.value && b.value);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, a.var, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 1, b.var, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 2, x.var, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

/* a and not b; both of kind IS. */
static struct cuzk_bool bit_and_not(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  const struct cuzk_bool x = alloc(cs, a.value && !b.value);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, a.var, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 1, b.var, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(cs, 2, x.var, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

struct cuzk_bool cuzk_bit_nor(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  const struct cuzk_bool x = alloc(cs, !a.value && !b.value);
  if (cs->lcs) {
    cuzk_cs_term(cs, 0, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 0, a.var, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(cs, 1, CUZK_VAR_ONE, CUZK_COEFF_ONE);
    cuzk_cs_term(cs, 1, b.var, CUZK_COEFF_MINUS_ONE);
    cuzk_cs_term(cs, 2, x.var, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

static inline bool is_const(struct cuzk_bool b, bool v) { return b.kind == CUZK_BOOL_CONST && b.value == v; }

struct cuzk_bool cuzk_bool_xor(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  if (a.kind == CUZK_BOOL_CONST) return a.value ? cuzk_bool_not(b) : b;
  if (b.kind == CUZK_BOOL_CONST) return b.value ? cuzk_bool_not(a) : a;
  if (a.kind == b.kind) {
    if (a.kind == CUZK_BOOL_NOT) {
      a = cuzk_bool_not(a);
      b = cuzk_bool_not(b);
    }
    return cuzk_bit_xor(cs, a, b);
  }
  return a.kind == CUZK_BOOL_IS ? cuzk_bool_not(cuzk_bit_xor(cs, a, cuzk_bool_not(b)))
                                : cuzk_bool_not(cuzk_bit_xor(cs, b, cuzk_bool_not(a)));
}

struct cuzk_bool cuzk_bool_and(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  if (is_const(a, false) || is_const(b, false)) return cuzk_bool_const(false);
  if (a.kind == CUZK_BOOL_CONST) return b;
  if (b.kind == CUZK_BOOL_CONST) return a;
  if (a.kind == CUZK_BOOL_IS) return b.kind == CUZK_BOOL_IS ? cuzk_bit_and(cs, a, b) : bit_and_not(cs, a, cuzk_bool_not(b));
  if (b.kind == CUZK_BOOL_IS) return bit_and_not(cs, b, cuzk_bool_not(a));
  return cuzk_bit_nor(cs, cuzk_bool_not(a), cuzk_bool_not(b));
}

struct cuzk_bool cuzk_bool_ch(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b, struct cuzk_bool c) {
  const bool v = a.value ? b.value : c.value;
  if (a.kind == CUZK_BOOL_CONST && b.kind == CUZK_BOOL_CONST && c.kind == CUZK_BOOL_CONST) return cuzk_bool_const(v);
  if (is_const(a, false)) return c;
  if (is_const(b, false)) return cuzk_bool_and(cs, cuzk_bool_not(a), c);
  if (is_const(c, false)) return cuzk_bool_and(cs, a, b);
  if (c.kind == CUZK_BOOL_CONST) return cuzk_bool_not(cuzk_bool_and(cs, a, cuzk_bool_not(b)));
  if (b.kind == CUZK_BOOL_CONST) return cuzk_bool_not(cuzk_bool_and(cs, cuzk_bool_not(a), cuzk_bool_not(c)));
  const struct cuzk_bool x = alloc(cs, v);
  if (cs->lcs) {
    if (b.kind == CUZK_BOOL_IS && c.kind == CUZK_BOOL_IS && b.var != c.var) {
      pair(cs, 0, b.var, CUZK_COEFF_ONE, c.var, CUZK_COEFF_MINUS_ONE);
    } else {
      cuzk_bool_view(cs, 0, b, 0, false);
      cuzk_bool_view(cs, 0, c, 0, true);
    }
    cuzk_bool_view(cs, 1, a, 0, false);
    cuzk_bool_view(cs, 2, c, 0, true);
    cuzk_cs_term(cs, 2, x.var, CUZK_COEFF_ONE);
  }
  cuzk_cs_enforce(cs);
  return x;
}

struct cuzk_bool cuzk_bool_maj(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b, struct cuzk_bool c) {
  const bool v = (a.value && b.value) || (a.value && c.value) || (b.value && c.value);
  if (a.kind == CUZK_BOOL_CONST && b.kind == CUZK_BOOL_CONST && c.kind == CUZK_BOOL_CONST) return cuzk_bool_const(v);
  if (is_const(a, false)) return cuzk_bool_and(cs, b, c);
  if (is_const(b, false)) return cuzk_bool_and(cs, a, c);
  if (is_const(c, false)) return cuzk_bool_and(cs, a, b);
  if (c.kind == CUZK_BOOL_CONST) return cuzk_bool_not(cuzk_bool_and(cs, cuzk_bool_not(a), cuzk_bool_not(b)));
  if (b.kind == CUZK_BOOL_CONST) return cuzk_bool_not(cuzk_bool_and(cs, cuzk_bool_not(a), cuzk_bool_not(c)));
  if (a.kind == CUZK_BOOL_CONST) return cuzk_bool_not(cuzk_bool_and(cs, cuzk_bool_not(b), cuzk_bool_not(c)));
  const struct cuzk_bool x = alloc(cs, v), t = cuzk_bool_and(cs, b, c);
  if (cs->lcs) {
    if (b.kind == CUZK_BOOL_IS && c.kind == CUZK_BOOL_IS && b.var != c.var) {
      pair(cs, 0, b.var, CUZK_COEFF_MINUS_ONE, c.var, CUZK_COEFF_MINUS_ONE);
      cuzk_bool_view(cs, 0, t, 1, false);
    } else {
      cuzk_bool_view(cs, 0, t, 1, false);
      cuzk_bool_view(cs, 0, b, 0, true);
      cuzk_bool_view(cs, 0, c, 0, true);
    }
    cuzk_bool_view(cs, 1, a, 0, false);
    cuzk_cs_term(cs, 2, x.var, CUZK_COEFF_MINUS_ONE);
    cuzk_bool_view(cs, 2, t, 0, false);
  }
  cuzk_cs_enforce(cs);
  return x;
}

void cuzk_bool_enforce_equal(struct cuzk_cs *cs, struct cuzk_bool a, struct cuzk_bool b) {
  if (cs->lcs) {
    cuzk_bool_view(cs, 2, a, 0, false);
    cuzk_bool_view(cs, 2, b, 0, true);
  }
  cuzk_cs_enforce(cs);
}
