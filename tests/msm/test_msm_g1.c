/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define T_G(x) cuzk_g1_##x
#define T_AFFINE cuzk_g1_affine
#define T_JAC cuzk_g1
#define T_BASES cuzk_bases_g1
#define T_MSM(x) cuzk_msm_g1##x
#define T_FIXED cuzk_fixed_g1
#define T_FIX(x) cuzk_fixed_g1_##x
#define T_MAIN test_msm_g1
#define T_NAME "msm_g1"
#define T_LARGE 40000
#include "test_msm_tmpl.h"
