/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "poly/ntt_kern.h"

#include "base/cpu.h"

size_t cuzk_ntt_kern_list(const struct cuzk_ntt_kern *out[4]) {
  size_t n = 0;
#ifdef CUZK_POLY_X86
  const unsigned cpu = cuzk_cpu_features();
  if (cpu & CUZK_CPU_AVX512IFMA) out[n++] = &cuzk_ntt_kern_ifma;
  if (cpu & CUZK_CPU_AVX512F) out[n++] = &cuzk_ntt_kern_avx512;
  if (cpu & CUZK_CPU_AVX2) out[n++] = &cuzk_ntt_kern_avx2;
#endif
  out[n++] = &cuzk_ntt_kern_scalar;
  return n;
}

const struct cuzk_ntt_kern *cuzk_ntt_kern_best(void) {
  const struct cuzk_ntt_kern *k[4];
  (void)cuzk_ntt_kern_list(k);
  return k[0];
}
