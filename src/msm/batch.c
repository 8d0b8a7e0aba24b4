/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "msm/batch.h"

#include "base/cpu.h"

const struct cuzk_batch_ops *cuzk_batch_g1(void) {
#if defined(__x86_64__)
  const unsigned f = cuzk_cpu_features();
  if (f & CUZK_CPU_AVX512IFMA) return &cuzk_batch_g1_ifma;
  if (f & CUZK_CPU_AVX512F) return &cuzk_batch_g1_avx512;
#endif
  return &cuzk_batch_g1_portable;
}

const struct cuzk_batch_ops *cuzk_batch_g2(void) {
#if defined(__x86_64__)
  const unsigned f = cuzk_cpu_features();
  if (f & CUZK_CPU_AVX512IFMA) return &cuzk_batch_g2_ifma;
  if (f & CUZK_CPU_AVX512F) return &cuzk_batch_g2_avx512;
#endif
  return &cuzk_batch_g2_portable;
}
