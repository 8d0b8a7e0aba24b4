/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "test_msm.h"

uint64_t test_msm_seed;

int main(void) {
  test_seed();
  test_msm_seed = test_rng_state;
  const int a = test_msm_g1(), b = test_msm_g2();
  return a + b;
}
