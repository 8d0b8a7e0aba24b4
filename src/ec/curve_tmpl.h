/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Group law of y^2 = x^3 + b over any field; included once per curve, never linked.
 *
 *  Before inclusion define: EC_API (storage class of the functions), EC_FE (type of a coordinate), EC_F(op) (name of the field
 *  function op: add sub neg dbl mul sqr inv_var is_zero eq zero one), EC_AFFINE and EC_POINT (types with members x y and x y z),
 *  EC_FN(name) (name of a function), EC_B (const EC_FE *: the b of the curve), EC_MUL_3B(r, a) (*r = 3 b *a, r != a).
 *  The group must have odd order (no point with y = 0): both curves and the test curve do; the formulas of mul_ct rely on it.
 *  Source: Explicit-Formulas Database, short Weierstrass with a = 0, Jacobian: dbl-2009-l, add-2007-bl, madd-2007-bl; complete
 *  projective formulas of Renes, Costello and Batina (2015), algorithms 7 and 9. */

EC_API void EC_FN(from_affine)(EC_POINT *r, const EC_AFFINE *p) {
  const bool inf = EC_FN(affine_is_identity)(p);
  r->x = p->x;
  r->y = inf ? EC_F(one) : p->y;
  r->z = inf ? EC_F(zero) : EC_F(one);
  if (inf) r->x = EC_F(one);
}

EC_API void EC_FN(to_affine)(EC_AFFINE *r, const EC_POINT *p) {
  EC_FE zi, zi2;
  EC_F(inv_var)(&zi, &p->z); /* 0 for the identity: both coordinates become 0 */
  EC_F(sqr)(&zi2, &zi);
  EC_F(mul)(&r->x, &p->x, &zi2);
  EC_F(mul)(&zi2, &zi2, &zi);
  EC_F(mul)(&r->y, &p->y, &zi2);
}

EC_API enum cuzk_status EC_FN(to_affine_batch)(EC_AFFINE *r, const EC_POINT *p, size_t n) {
  /* r[i].x holds the product of the Z before i until the way back: no memory is taken. */
  EC_FE acc = EC_F(one), zi, zi2;
  for (size_t i = 0; i < n; i++) {
    r[i].x = acc;
    if (!EC_F(is_zero)(&p[i].z)) EC_F(mul)(&acc, &acc, &p[i].z);
  }
  EC_F(inv_var)(&acc, &acc);
  for (size_t i = n; i-- > 0;) {
    if (EC_F(is_zero)(&p[i].z)) {
      r[i].x = r[i].y = EC_F(zero);
      continue;
    }
    EC_F(mul)(&zi, &acc, &r[i].x);
    EC_F(mul)(&acc, &acc, &p[i].z);
    EC_F(sqr)(&zi2, &zi);
    EC_F(mul)(&r[i].x, &p[i].x, &zi2);
    EC_F(mul)(&zi2, &zi2, &zi);
    EC_F(mul)(&r[i].y, &p[i].y, &zi2);
  }
  return CUZK_OK;
}

EC_API void EC_FN(dbl)(EC_POINT *r, const EC_POINT *p) {
  EC_FE a, b, c, d, e, f;
  EC_F(sqr)(&a, &p->x);
  EC_F(sqr)(&b, &p->y);
  EC_F(sqr)(&c, &b);
  EC_F(add)(&d, &p->x, &b);
  EC_F(sqr)(&d, &d);
  EC_F(sub)(&d, &d, &a);
  EC_F(sub)(&d, &d, &c);
  EC_F(dbl)(&d, &d);
  EC_F(dbl)(&e, &a);
  EC_F(add)(&e, &e, &a);
  EC_F(sqr)(&f, &e);
  EC_F(mul)(&b, &p->y, &p->z);
  EC_F(dbl)(&r->z, &b);
  EC_F(dbl)(&b, &d);
  EC_F(sub)(&r->x, &f, &b);
  EC_F(sub)(&d, &d, &r->x);
  EC_F(mul)(&d, &d, &e);
  EC_F(dbl)(&c, &c);
  EC_F(dbl)(&c, &c);
  EC_F(dbl)(&c, &c);
  EC_F(sub)(&r->y, &d, &c);
}

EC_API void EC_FN(add)(EC_POINT *r, const EC_POINT *p, const EC_POINT *q) {
  if (EC_F(is_zero)(&p->z)) {
    *r = *q;
    return;
  }
  if (EC_F(is_zero)(&q->z)) {
    *r = *p;
    return;
  }
  EC_FE z1z1, z2z2, u1, u2, s1, s2, h, i, j, v;
  EC_F(sqr)(&z1z1, &p->z);
  EC_F(sqr)(&z2z2, &q->z);
  EC_F(mul)(&u1, &p->x, &z2z2);
  EC_F(mul)(&u2, &q->x, &z1z1);
  EC_F(mul)(&s1, &q->z, &z2z2);
  EC_F(mul)(&s1, &s1, &p->y);
  EC_F(mul)(&s2, &p->z, &z1z1);
  EC_F(mul)(&s2, &s2, &q->y);
  EC_F(sub)(&h, &u2, &u1);
  EC_F(sub)(&s2, &s2, &s1);
  if (EC_F(is_zero)(&h)) {
    if (EC_F(is_zero)(&s2)) {
      EC_FN(dbl)(r, p);
    } else {
      r->x = r->y = EC_F(one);
      r->z = EC_F(zero);
    }
    return;
  }
  EC_F(dbl)(&s2, &s2);
  EC_F(dbl)(&i, &h);
  EC_F(sqr)(&i, &i);
  EC_F(mul)(&j, &h, &i);
  EC_F(mul)(&v, &u1, &i);
  EC_F(add)(&u1, &p->z, &q->z);
  EC_F(sqr)(&u1, &u1);
  EC_F(sub)(&u1, &u1, &z1z1);
  EC_F(sub)(&u1, &u1, &z2z2);
  EC_F(mul)(&r->z, &u1, &h);
  EC_F(sqr)(&u2, &s2);
  EC_F(sub)(&u2, &u2, &j);
  EC_F(sub)(&u2, &u2, &v);
  EC_F(sub)(&r->x, &u2, &v);
  EC_F(sub)(&v, &v, &r->x);
  EC_F(mul)(&v, &v, &s2);
  EC_F(mul)(&s1, &s1, &j);
  EC_F(dbl)(&s1, &s1);
  EC_F(sub)(&r->y, &v, &s1);
}

EC_API void EC_FN(add_affine)(EC_POINT *r, const EC_POINT *p, const EC_AFFINE *q) {
  if (EC_FN(affine_is_identity)(q)) {
    *r = *p;
    return;
  }
  if (EC_F(is_zero)(&p->z)) {
    EC_FN(from_affine)(r, q);
    return;
  }
  EC_FE zz, h, hh, i, j, s, v, t;
  EC_F(sqr)(&zz, &p->z);
  EC_F(mul)(&h, &q->x, &zz);
  EC_F(sub)(&h, &h, &p->x);
  EC_F(mul)(&s, &p->z, &zz);
  EC_F(mul)(&s, &s, &q->y);
  EC_F(sub)(&s, &s, &p->y);
  if (EC_F(is_zero)(&h)) {
    if (EC_F(is_zero)(&s)) {
      EC_FN(dbl)(r, p);
    } else {
      r->x = r->y = EC_F(one);
      r->z = EC_F(zero);
    }
    return;
  }
  EC_F(dbl)(&s, &s);
  EC_F(sqr)(&hh, &h);
  EC_F(dbl)(&i, &hh);
  EC_F(dbl)(&i, &i);
  EC_F(mul)(&j, &h, &i);
  EC_F(mul)(&v, &p->x, &i);
  EC_F(add)(&t, &p->z, &h);
  EC_F(sqr)(&t, &t);
  EC_F(sub)(&t, &t, &zz);
  EC_F(sub)(&r->z, &t, &hh);
  EC_F(sqr)(&t, &s);
  EC_F(sub)(&t, &t, &j);
  EC_F(sub)(&t, &t, &v);
  EC_F(sub)(&r->x, &t, &v);
  EC_F(sub)(&v, &v, &r->x);
  EC_F(mul)(&v, &v, &s);
  EC_F(mul)(&j, &j, &p->y);
  EC_F(dbl)(&j, &j);
  EC_F(sub)(&r->y, &v, &j);
}

EC_API void EC_FN(neg)(EC_POINT *r, const EC_POINT *p) {
  r->x = p->x;
  EC_F(neg)(&r->y, &p->y);
  r->z = p->z;
}

EC_API void EC_FN(affine_neg)(EC_AFFINE *r, const EC_AFFINE *p) {
  r->x = p->x;
  EC_F(neg)(&r->y, &p->y);
}

EC_API bool EC_FN(eq)(const EC_POINT *p, const EC_POINT *q) {
  const bool pi = EC_F(is_zero)(&p->z), qi = EC_F(is_zero)(&q->z);
  if (pi || qi) return pi && qi;
  EC_FE a, b, s, t;
  EC_F(sqr)(&a, &p->z);
  EC_F(sqr)(&b, &q->z);
  EC_F(mul)(&s, &p->x, &b);
  EC_F(mul)(&t, &q->x, &a);
  if (!EC_F(eq)(&s, &t)) return false;
  EC_F(mul)(&a, &a, &p->z);
  EC_F(mul)(&b, &b, &q->z);
  EC_F(mul)(&s, &p->y, &b);
  EC_F(mul)(&t, &q->y, &a);
  return EC_F(eq)(&s, &t);
}

EC_API bool EC_FN(affine_eq)(const EC_AFFINE *p, const EC_AFFINE *q) {
  return EC_F(eq)(&p->x, &q->x) && EC_F(eq)(&p->y, &q->y);
}

EC_API bool EC_FN(affine_on_curve)(const EC_AFFINE *p) {
  if (EC_FN(affine_is_identity)(p)) return true;
  EC_FE l, r;
  EC_F(sqr)(&l, &p->y);
  EC_F(sqr)(&r, &p->x);
  EC_F(mul)(&r, &r, &p->x);
  EC_F(add)(&r, &r, EC_B);
  return EC_F(eq)(&l, &r);
}

/* Signed windows of four bits: digit i is 8 b[4i+3] .. + b[4i] + b[4i-1] with the top bit counted negative, -8 .. 8. */
EC_API void EC_FN(mul_limbs_var)(EC_POINT *r, const EC_POINT *p, const uint64_t *e, size_t n_limbs) {
  EC_POINT tab[8], acc, t; /* tab[i] = (i + 1) p */
  acc.x = acc.y = EC_F(one);
  acc.z = EC_F(zero);
  while (n_limbs > 0 && e[n_limbs - 1] == 0) n_limbs--;
  if (n_limbs > 0) {
    tab[0] = *p;
    EC_FN(dbl)(&tab[1], p);
    for (int i = 2; i < 8; i++) {
      if (i % 2 == 1) EC_FN(dbl)(&tab[i], &tab[i / 2]);
      else EC_FN(add)(&tab[i], &tab[i - 1], p);
    }
  }
  for (size_t w = n_limbs * 16 + (n_limbs > 0); w-- > 0;) {
    for (int i = 0; i < 4; i++) EC_FN(dbl)(&acc, &acc);
    const unsigned nibble = w / 16 < n_limbs ? (unsigned)(e[w / 16] >> (4 * (w % 16))) & 15u : 0;
    const unsigned below = w > 0 ? (unsigned)(e[(w - 1) / 16] >> (4 * ((w - 1) % 16) + 3)) & 1u : 0;
    const int d = (int)nibble + (int)below - (nibble & 8u ? 16 : 0);
    if (d > 0) {
      EC_FN(add)(&acc, &acc, &tab[d - 1]);
    } else if (d < 0) {
      EC_FN(neg)(&t, &tab[-d - 1]);
      EC_FN(add)(&acc, &acc, &t);
    }
  }
  *r = acc;
}

EC_API void EC_FN(mul_var)(EC_POINT *r, const EC_POINT *p, const cuzk_fr *k) {
  uint64_t e[4];
  cuzk_fr_to_canon(e, k);
  EC_FN(mul_limbs_var)(r, p, e, 4);
}

/* Homogeneous coordinates (X/Z, Y/Z), identity (0 : 1 : 0), in the struct of a Jacobian point. No branch, no exception. */
static void EC_FN(complete_add)(EC_POINT *r, const EC_POINT *p, const EC_POINT *q) {
  EC_FE t0, t1, t2, t3, t4, x3, y3, z3;
  EC_F(mul)(&t0, &p->x, &q->x);
  EC_F(mul)(&t1, &p->y, &q->y);
  EC_F(mul)(&t2, &p->z, &q->z);
  EC_F(add)(&t3, &p->x, &p->y);
  EC_F(add)(&t4, &q->x, &q->y);
  EC_F(mul)(&t3, &t3, &t4);
  EC_F(add)(&t4, &t0, &t1);
  EC_F(sub)(&t3, &t3, &t4); /* x1 y2 + x2 y1 */
  EC_F(add)(&t4, &p->y, &p->z);
  EC_F(add)(&x3, &q->y, &q->z);
  EC_F(mul)(&t4, &t4, &x3);
  EC_F(add)(&x3, &t1, &t2);
  EC_F(sub)(&t4, &t4, &x3); /* y1 z2 + y2 z1 */
  EC_F(add)(&x3, &p->x, &p->z);
  EC_F(add)(&y3, &q->x, &q->z);
  EC_F(mul)(&x3, &x3, &y3);
  EC_F(add)(&y3, &t0, &t2);
  EC_F(sub)(&y3, &x3, &y3); /* x1 z2 + x2 z1 */
  EC_F(dbl)(&x3, &t0);
  EC_F(add)(&t0, &x3, &t0);
  EC_MUL_3B(&x3, &t2);
  EC_F(add)(&z3, &t1, &x3);
  EC_F(sub)(&t1, &t1, &x3);
  EC_MUL_3B(&x3, &y3);
  EC_F(mul)(&y3, &x3, &t0);
  EC_F(mul)(&x3, &x3, &t4);
  EC_F(mul)(&t2, &t3, &t1);
  EC_F(sub)(&r->x, &t2, &x3);
  EC_F(mul)(&t1, &t1, &z3);
  EC_F(add)(&r->y, &t1, &y3);
  EC_F(mul)(&t0, &t0, &t3);
  EC_F(mul)(&z3, &z3, &t4);
  EC_F(add)(&r->z, &z3, &t0);
}

static void EC_FN(complete_dbl)(EC_POINT *r, const EC_POINT *p) {
  EC_FE t0, t1, t2, x3, y3, z3;
  EC_F(sqr)(&t0, &p->y);
  EC_F(dbl)(&z3, &t0);
  EC_F(dbl)(&z3, &z3);
  EC_F(dbl)(&z3, &z3);
  EC_F(mul)(&t1, &p->y, &p->z);
  EC_F(sqr)(&t2, &p->z);
  EC_MUL_3B(&x3, &t2);
  t2 = x3;
  EC_F(mul)(&x3, &t2, &z3);
  EC_F(add)(&y3, &t0, &t2);
  EC_F(mul)(&z3, &t1, &z3);
  EC_F(dbl)(&t1, &t2);
  EC_F(add)(&t2, &t1, &t2);
  EC_F(sub)(&t0, &t0, &t2);
  EC_F(mul)(&y3, &t0, &y3);
  EC_F(add)(&y3, &x3, &y3);
  EC_F(mul)(&t1, &p->x, &p->y);
  EC_F(mul)(&x3, &t0, &t1);
  EC_F(dbl)(&r->x, &x3);
  r->y = y3;
  r->z = z3;
}

/* *r = tab[i] for a secret i: every entry is read, every word combined through a mask. */
static void EC_FN(select16)(EC_POINT *r, const EC_POINT tab[16], uint64_t i) {
  enum { WORDS = sizeof(EC_POINT) / sizeof(uint64_t) };
  uint64_t out[WORDS] = {0}, in[WORDS];
  for (uint64_t j = 0; j < 16; j++) {
    const uint64_t diff = i ^ j;
    const uint64_t mask = ((diff | (0 - diff)) >> 63) - 1; /* all ones where i == j */
    memcpy(in, &tab[j], sizeof in);
    for (int k = 0; k < WORDS; k++) out[k] |= in[k] & mask;
  }
  memcpy(r, out, sizeof out);
}

EC_API void EC_FN(mul_ct)(EC_POINT *r, const EC_POINT *p, const cuzk_fr *k) {
  EC_POINT tab[16], acc, t;
  uint64_t e[4];
  cuzk_fr_to_canon(e, k);
  tab[0].x = tab[0].z = EC_F(zero);
  tab[0].y = EC_F(one);
  EC_F(mul)(&tab[1].x, &p->x, &p->z); /* (X/Z^2, Y/Z^3) = (XZ : Y : Z^3) */
  tab[1].y = p->y;
  EC_F(sqr)(&t.z, &p->z);
  EC_F(mul)(&tab[1].z, &t.z, &p->z);
  for (int i = 2; i < 16; i++) {
    if (i % 2 == 0) EC_FN(complete_dbl)(&tab[i], &tab[i / 2]);
    else EC_FN(complete_add)(&tab[i], &tab[i - 1], &tab[1]);
  }
  acc = tab[0];
  for (int w = 63; w >= 0; w--) {
    for (int i = 0; i < 4; i++) EC_FN(complete_dbl)(&acc, &acc);
    EC_FN(select16)(&t, tab, (e[w / 16] >> (4 * (w % 16))) & 15);
    EC_FN(complete_add)(&acc, &acc, &t);
  }
  EC_F(mul)(&r->x, &acc.x, &acc.z);
  EC_F(sqr)(&t.z, &acc.z);
  EC_F(mul)(&r->y, &acc.y, &t.z);
  r->z = acc.z;
  cuzk_secret_clear(e, sizeof e);
  cuzk_secret_clear(&acc, sizeof acc);
  cuzk_secret_clear(&t, sizeof t);
}
