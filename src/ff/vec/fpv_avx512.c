/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__x86_64__)
#define FPV_TABLE cuzk_fpv_avx512
#define FPV_TABLE_FEATURES CUZK_CPU_AVX512F
#include "ff/vec/fpv_table_tmpl.h"
#else
typedef int cuzk_fpv_avx512_absent;
#endif
