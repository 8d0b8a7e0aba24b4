/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions of a struct cuzk_fpv_table over fpv_tmpl.h; included once per variant, never linked. Define FPV_TABLE and
 * FPV_TABLE_FEATURES. */
#include <stdalign.h>

#include "base/cpu.h"
#include "ff/vec/fpv.h"
#include "ff/vec/fpv_tmpl.h"

static fpv get(const cuzk_fp a[8]) {
  const cuzk_fp *at[8];
  for (int i = 0; i < 8; i++) at[i] = &a[i];
  return fpv_load_fp(at);
}

static void put(cuzk_fp r[8], fpv v) {
  cuzk_fp *at[8];
  for (int i = 0; i < 8; i++) at[i] = &r[i];
  fpv_store_fp(at, fpv_canon(v));
}

static void table_mul(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]) { put(r, fpv_mul(get(a), get(b))); }
static void table_sqr(cuzk_fp r[8], const cuzk_fp a[8]) { put(r, fpv_sqr(get(a))); }
static void table_mul2(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], const cuzk_fp c[8], const cuzk_fp d[8]) {
  put(r, fpv_mul2(get(a), get(b), get(c), get(d)));
}
static void table_sqr2(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8]) { put(r, fpv_sqr2(get(a), get(b))); }
static void table_sub2(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], const cuzk_fp c[8]) {
  put(r, fpv_reduce(fpv_raw_sub(fpv_raw_sub(get(a), get(b)), get(c))));
}
static void table_wide(cuzk_fp r[8], const cuzk_fp a[8], const cuzk_fp b[8], int k) {
  put(r, fpv_mul(fpv_wide(fpv_raw_neg(get(a), 0xff), k), get(b)));
}
static void table_copy(cuzk_fp r[8], const cuzk_fp a[8]) {
  alignas(64) uint64_t words[8][8];
  uint64_t *out[8];
  const uint64_t *in[8];
  for (int i = 0; i < 8; i++) in[i] = out[i] = words[i];
  fpv_store(out, get(a));
  put(r, fpv_load(in));
}

const struct cuzk_fpv_table FPV_TABLE = {
    FPV_N * FPV_BITS, FPV_TABLE_FEATURES, table_mul, table_sqr, table_mul2, table_sqr2, table_sub2, table_wide, table_copy};
