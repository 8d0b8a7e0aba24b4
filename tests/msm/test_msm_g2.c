/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define T_G(x) cuzk_g2_##x
#define T_AFFINE cuzk_g2_affine
#define T_JAC cuzk_g2
#define T_BASES cuzk_bases_g2
#define T_MSM(x) cuzk_msm_g2##x
#define T_FIXED cuzk_fixed_g2
#define T_FIX(x) cuzk_fixed_g2_##x
#define T_MAIN test_msm_g2
#define T_NAME "msm_g2"
#define T_LARGE 12000
#include "test_msm_tmpl.h"
