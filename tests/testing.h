/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What every test program includes: cmocka, and a seeded generator whose seed is printed and can be set (CUZK_TEST_SEED). */
#ifndef CUZK_TESTS_TESTING_H
#define CUZK_TESTS_TESTING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* splitmix64: good enough to make inputs, small enough to read. */
static uint64_t test_rng_state;

static inline uint64_t test_rand(void) {
  uint64_t z = (test_rng_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/** Call first in main: takes the seed from CUZK_TEST_SEED or the clock's default below, and prints it. */
static inline void test_seed(void) {
  const char *s = getenv("CUZK_TEST_SEED");
  test_rng_state = s ? strtoull(s, NULL, 0) : 0x63757a6bu;
  printf("# CUZK_TEST_SEED=%llu\n", (unsigned long long)test_rng_state);
}

/** A 64-bit limb biased to 0, 1, all ones, single bits and values near them. */
static inline uint64_t test_rand_limb(void) {
  switch (test_rand() % 8) {
    case 0: return 0;
    case 1: return 1;
    case 2: return UINT64_MAX;
    case 3: return UINT64_C(1) << (test_rand() % 64);
    case 4: return (UINT64_C(1) << (test_rand() % 64)) - 1;
    default: return test_rand();
  }
}
#endif
