/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#if defined(__x86_64__)
#define FPV_IFMA
#define FPV_TABLE cuzk_fpv_ifma
#define FPV_TABLE_FEATURES (CUZK_CPU_AVX512F | CUZK_CPU_AVX512IFMA)
#include "ff/vec/fpv_table_tmpl.h"
#else
typedef int cuzk_fpv_ifma_absent;
#endif
