/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The textbook transform, over any field; included once per field, never linked. It is the whole implementation for small
 *  domains, the yardstick of the fast one, and small enough to be tried on every input over a tiny prime.
 *
 *  Before inclusion define: PLAIN_T (element type), PLAIN_FN(name), PLAIN_ADD(r, a, b), PLAIN_SUB(r, a, b), PLAIN_MUL(r, a, b)
 *  (pointers to elements, any overlap). roots[s] is a primitive 2^(s+1)-th root of unity with roots[s]^2 = roots[s-1]. */

/* v[i] and v[i with its log2_n bits reversed] change places. */
static inline void PLAIN_FN(bit_reverse)(PLAIN_T *v, unsigned log2_n) {
  const size_t n = (size_t)1 << log2_n;
  for (size_t i = 1, j = 0; i < n; i++) {
    size_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const PLAIN_T t = v[i];
      v[i] = v[j];
      v[j] = t;
    }
  }
}

/* v[i] *= first * base^i. */
static inline void PLAIN_FN(scale)(PLAIN_T *v, size_t n, const PLAIN_T *first, const PLAIN_T *base) {
  PLAIN_T p = *first;
  for (size_t i = 0; i < n; i++) {
    PLAIN_MUL(&v[i], &v[i], &p);
    PLAIN_MUL(&p, &p, base);
  }
}

/* v[i] := sum over j of v[j] w^(ij), w = roots[log2_n - 1]; natural order in and out. */
static inline void PLAIN_FN(dft)(PLAIN_T *v, unsigned log2_n, const PLAIN_T *roots, const PLAIN_T *one) {
  const size_t n = (size_t)1 << log2_n;
  PLAIN_FN(bit_reverse)(v, log2_n);
  for (unsigned s = 0; s < log2_n; s++) {
    const size_t half = (size_t)1 << s;
    PLAIN_T w = *one;
    for (size_t j = 0; j < half; j++) {
      for (size_t block = j; block < n; block += 2 * half) {
        PLAIN_T t;
        PLAIN_MUL(&t, &v[block + half], &w);
        PLAIN_SUB(&v[block + half], &v[block], &t);
        PLAIN_ADD(&v[block], &v[block], &t);
      }
      PLAIN_MUL(&w, &w, &roots[s]);
    }
  }
}

/** What a transform of one size needs: roots as above, i_ their inverses, shift the coset's generator, n_inv = 1/n,
 *  z_inv = 1/(shift^n - 1). */
struct PLAIN_FN(domain) {
  unsigned log2_n;
  PLAIN_T one, shift, i_shift, n_inv, z_inv;
  PLAIN_T roots[32], i_roots[32];
};

static inline void PLAIN_FN(ntt)(PLAIN_T *v, const struct PLAIN_FN(domain) * d) {
  PLAIN_FN(dft)(v, d->log2_n, d->roots, &d->one);
}
static inline void PLAIN_FN(intt)(PLAIN_T *v, const struct PLAIN_FN(domain) * d) {
  PLAIN_FN(dft)(v, d->log2_n, d->i_roots, &d->one);
  PLAIN_FN(scale)(v, (size_t)1 << d->log2_n, &d->n_inv, &d->one);
}
static inline void PLAIN_FN(coset_ntt)(PLAIN_T *v, const struct PLAIN_FN(domain) * d) {
  PLAIN_FN(scale)(v, (size_t)1 << d->log2_n, &d->one, &d->shift);
  PLAIN_FN(dft)(v, d->log2_n, d->roots, &d->one);
}
static inline void PLAIN_FN(coset_intt)(PLAIN_T *v, const struct PLAIN_FN(domain) * d) {
  PLAIN_FN(dft)(v, d->log2_n, d->i_roots, &d->one);
  PLAIN_FN(scale)(v, (size_t)1 << d->log2_n, &d->n_inv, &d->i_shift);
}

/* a := coefficients of (A B - C)/(X^n - 1). A B = C + H (X^n - 1) is interpolated on the coset, that is modulo X^n - shift^n,
 * where it reads C + H (shift^n - 1): C itself never needs the coset, and H comes out at full length. If X^n - 1 does not divide
 * A B - C, there is no H, and the top coefficient of this answer is that of A B modulo X^n - shift^n less that of C. */
static inline void PLAIN_FN(h_poly)(PLAIN_T *a, PLAIN_T *b, PLAIN_T *c, const struct PLAIN_FN(domain) * d) {
  const size_t n = (size_t)1 << d->log2_n;
  PLAIN_FN(intt)(a, d);
  PLAIN_FN(intt)(b, d);
  PLAIN_FN(intt)(c, d);
  PLAIN_FN(coset_ntt)(a, d);
  PLAIN_FN(coset_ntt)(b, d);
  for (size_t i = 0; i < n; i++) PLAIN_MUL(&a[i], &a[i], &b[i]);
  PLAIN_FN(coset_intt)(a, d);
  for (size_t i = 0; i < n; i++) {
    PLAIN_SUB(&a[i], &a[i], &c[i]);
    PLAIN_MUL(&a[i], &a[i], &d->z_inv);
  }
}
