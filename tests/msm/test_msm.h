/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CUZK_TESTS_MSM_TEST_MSM_H
#define CUZK_TESTS_MSM_TEST_MSM_H
#include "testing.h"

extern uint64_t test_msm_seed;
int test_msm_g1(void);
int test_msm_g2(void);
#endif
