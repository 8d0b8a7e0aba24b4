/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "msm/fixed_base.h"

#include <stdatomic.h>

#include "base/alloc.h"

#define FIX_G(x) cuzk_g1_##x
#define FIX_FN(x) g1_##x
#define FIX_AFFINE cuzk_g1_affine
#define FIX_JAC cuzk_g1
#define FIX_STRUCT cuzk_fixed_g1
#define FIX_PUBLIC(x) cuzk_fixed_g1_##x
#include "msm/fixed_base_tmpl.h"
#undef FIX_G
#undef FIX_FN
#undef FIX_AFFINE
#undef FIX_JAC
#undef FIX_STRUCT
#undef FIX_PUBLIC

#define FIX_G(x) cuzk_g2_##x
#define FIX_FN(x) g2_##x
#define FIX_AFFINE cuzk_g2_affine
#define FIX_JAC cuzk_g2
#define FIX_STRUCT cuzk_fixed_g2
#define FIX_PUBLIC(x) cuzk_fixed_g2_##x
#include "msm/fixed_base_tmpl.h"
