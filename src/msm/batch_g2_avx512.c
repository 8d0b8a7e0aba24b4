/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__x86_64__)
#define VEC_D 2
#define VEC_TABLE cuzk_batch_g2_avx512
#define VEC_NAME "avx512"
#include "msm/batch_vec_tmpl.h"
#else
typedef int cuzk_batch_g2_avx512_absent;
#endif
