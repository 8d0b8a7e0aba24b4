/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "msm/msm.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

#define MSM_G(x) cuzk_g1_##x
#define MSM_FN(x) g1_##x
#define MSM_AFFINE cuzk_g1_affine
#define MSM_JAC cuzk_g1
#define MSM_BASES cuzk_bases_g1
#define MSM_PUBLIC(x) cuzk_msm_g1##x
#include "msm/msm_tmpl.h"
#undef MSM_G
#undef MSM_FN
#undef MSM_AFFINE
#undef MSM_JAC
#undef MSM_BASES
#undef MSM_PUBLIC

#define MSM_G(x) cuzk_g2_##x
#define MSM_FN(x) g2_##x
#define MSM_AFFINE cuzk_g2_affine
#define MSM_JAC cuzk_g2
#define MSM_BASES cuzk_bases_g2
#define MSM_PUBLIC(x) cuzk_msm_g2##x
#include "msm/msm_tmpl.h"
