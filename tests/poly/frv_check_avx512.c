/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/vec/frv_avx512.h"

#define FRV_CHECK_NAME frv_check_avx512
#include "frv_check_tmpl.h"
