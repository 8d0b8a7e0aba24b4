/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of a struct cuzk_fpv_table over fpv_tmpl.h; included once per variant, never linked. Define FPV_TABLE and
 * FPV_TABLE_FEATURES. */
#include <stdalign.h>

#include "base/cpu.h"
#include "ff/vec/fpv.h"
#include "ff/vec/fpv_tmpl.h"

static fpw get_words(const cuzk_fp a[8]) {
  const cuzk_fp *at[8];
  for (int i = 0; i < 8; i++) at[i] = &a[i];
  return fpw_load_fp(at);
}

static fpv get(const cuzk_fp a[8]) { return fpv_from_words(get_words(a)); }

static void put_words(cuzk_fp r[8], fpw v) {
  cuzk_fp *at[8];
  for (int i = 0; i < 8; i++) at[i] = &r[i];
  fpw_store_fp(at, v);
}

static void put(cuzk_fp r[8], fpv v) { put_words(r, fpv_words(v)); }

static void table_mul(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]) { put(r, fpv_mul(get(a), get(b))); }
static void table_sqr(cuzk_fp r[8], const cuzk_fp a[8]) { put(r, fpv_sqr(get(a))); }
static void table_mul2(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], const cuzk_fp c[8], const cuzk_fp d[8]) {
  put(r, fpv_mul2(get(a), get(b), get(c), get(d)));
}
static void table_sqr2(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]) { put(r, fpv_sqr2(get(a), get(b))); }
static void table_sub2(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], const cuzk_fp c[8]) {
  put_words(r, fpw_reduce(fpw_sub(fpw_sub(get_words(a), get_words(b)), get_words(c))));
}
static void table_wide(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], int k) {
  put(r, fpv_mul(fpv_wide(fpw_neg(get_words(a), 0xff), k), get(b)));
}
static void table_minus(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]) { put(r, fpv_mul(fpv_minus(get(a)), get(b))); }
static void table_copy(cuzk_fp r[8], const cuzk_fp a[8]) {
  alignas(64) uint64_t words[8][8];
  uint64_t *out[8];
  const uint64_t *in[8];
  for (int i = 0; i < 8; i++) in[i] = out[i] = words[i];
  fpw_store(out, get_words(a));
  put_words(r, fpw_load(in));
}
static void table_canonical(cuzk_fp r[8], const cuzk_fp a[8]) {
  alignas(64) uint64_t words[8][8];
  uint64_t *out[8];
  for (int i = 0; i < 8; i++) out[i] = words[i];
  fpw_store(out, get_words(a));
  for (int i = 0; i < 8; i++) fpw_canonical(r[i].l, words[i]);
}

const struct cuzk_fpv_table FPV_TABLE = {
    FPV_R_BITS, FPV_TABLE_FEATURES, table_mul,  table_sqr,   table_mul2,      table_sqr2,
    table_sub2, table_wide,         table_minus, table_copy, table_canonical,
};
