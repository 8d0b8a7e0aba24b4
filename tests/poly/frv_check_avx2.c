/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/vec/frv_avx2.h"

#define FRV_CHECK_NAME frv_check_avx2
#include "frv_check_tmpl.h"
