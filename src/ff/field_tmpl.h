/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What Fp, Fr and Fp2 have in common above their products; included once per field, never linked.
 *  Before inclusion define: FIELD (the type), FIELD_FN(name) (name of a function), and FIELD_POW if powers are wanted. */

void FIELD_FN(inv_batch)(FIELD *a, FIELD *scratch, size_t n) {
  FIELD acc = FIELD_FN(one), inv;
  for (size_t i = 0; i < n; i++) {
    scratch[i] = acc;
    if (!FIELD_FN(is_zero)(&a[i])) FIELD_FN(mul)(&acc, &acc, &a[i]);
  }
  FIELD_FN(inv_var)(&acc, &acc);
  for (size_t i = n; i-- > 0;) {
    if (FIELD_FN(is_zero)(&a[i])) continue;
    FIELD_FN(mul)(&inv, &acc, &scratch[i]);
    FIELD_FN(mul)(&acc, &acc, &a[i]);
    a[i] = inv;
  }
}

#ifdef FIELD_POW
/* Sliding windows of at most five bits that end in a one: a table of a, a^3 .. a^31. */
void FIELD_FN(pow_var)(FIELD *r, const FIELD *a, const uint64_t *e, size_t n_limbs) {
  FIELD tab[16], acc = FIELD_FN(one), a2;
  bool empty = true;
  size_t i = n_limbs * 64, filled = 1;
  tab[0] = *a;
  FIELD_FN(sqr)(&a2, a);
  while (i > 0) {
    i--;
    if (((e[i / 64] >> (i % 64)) & 1) == 0) {
      if (!empty) FIELD_FN(sqr)(&acc, &acc);
      continue;
    }
    size_t low = i >= 4 ? i - 4 : 0;
    while (((e[low / 64] >> (low % 64)) & 1) == 0) low++;
    unsigned w = 0;
    for (size_t j = i + 1; j-- > low;) {
      if (!empty) FIELD_FN(sqr)(&acc, &acc);
      w = 2 * w + (unsigned)((e[j / 64] >> (j % 64)) & 1);
    }
    for (; filled <= w / 2; filled++) FIELD_FN(mul)(&tab[filled], &tab[filled - 1], &a2);
    if (empty) acc = tab[w / 2];
    else FIELD_FN(mul)(&acc, &acc, &tab[w / 2]);
    empty = false;
    i = low;
  }
  *r = acc;
}
#endif
