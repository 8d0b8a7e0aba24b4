/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Batch additions with the field functions of ff/: plain C, or MULX/ADX where ff chooses it. */
#include <string.h>

#include "ec/g1.h"
#include "ec/g2.h"
#include "msm/batch.h"

#define PAIRS ((size_t)512) /* between two inversions */
#define AHEAD ((size_t)6)   /* pairs whose points are prefetched before their turn */

#define PORT_FE cuzk_fp
#define PORT_F(x) cuzk_fp_##x
#define PORT_AFFINE cuzk_g1_affine
#define PORT_G(x) cuzk_g1_affine_##x
#define PORT_FN(x) g1_##x
#define PORT_TABLE cuzk_batch_g1_portable
#include "msm/batch_portable_tmpl.h"
#undef PORT_FE
#undef PORT_F
#undef PORT_AFFINE
#undef PORT_G
#undef PORT_FN
#undef PORT_TABLE

#define PORT_FE cuzk_fp2
#define PORT_F(x) cuzk_fp2_##x
#define PORT_AFFINE cuzk_g2_affine
#define PORT_G(x) cuzk_g2_affine_##x
#define PORT_FN(x) g2_##x
#define PORT_TABLE cuzk_batch_g2_portable
#include "msm/batch_portable_tmpl.h"
