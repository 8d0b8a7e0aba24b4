/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/cpu.h"

#include <pthread.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>
#endif

static unsigned features;
static pthread_once_t once = PTHREAD_ONCE_INIT;

#if defined(__x86_64__)
static uint64_t xgetbv0(void) {
  uint32_t lo, hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return ((uint64_t)hi << 32) | lo;
}

static unsigned probe(void) {
  unsigned a, b, c, d, f = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const unsigned c1 = c;
  const uint64_t xcr0 = (c1 & (1u << 27)) ? xgetbv0() : 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  if ((b & (1u << 8)) && (b & (1u << 19))) f |= CUZK_CPU_BMI2_ADX;
  if ((b & (1u << 5)) && (xcr0 & 6) == 6) f |= CUZK_CPU_AVX2;
  const unsigned f512 = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
  if ((b & f512) == f512 && (xcr0 & 0xe6) == 0xe6) {
    f |= CUZK_CPU_AVX512F;
    if (b & (1u << 21)) f |= CUZK_CPU_AVX512IFMA;
  }
  if ((b & (1u << 29)) && (c1 & (1u << 9)) && (c1 & (1u << 19))) f |= CUZK_CPU_SHA_NI;
  return f;
}
#else
static unsigned probe(void) { return 0; }
#endif

static void init(void) {
  features = probe();
  const char *m = getenv("CUZK_CPU_MASK");
  if (m && *m) features &= (unsigned)strtoul(m, NULL, 0);
  if (!(features & CUZK_CPU_AVX512F)) features &= ~CUZK_CPU_AVX512IFMA;
}

unsigned cuzk_cpu_features(void) {
  (void)pthread_once(&once, init);
  return features;
}
