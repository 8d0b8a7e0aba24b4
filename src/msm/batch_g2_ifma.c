/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__x86_64__)
#define FPV_IFMA
#define VEC_D 2
#define VEC_TABLE cuzk_batch_g2_ifma
#define VEC_NAME "ifma"
#include "msm/batch_vec_tmpl.h"
#else
typedef int cuzk_batch_g2_ifma_absent;
#endif
