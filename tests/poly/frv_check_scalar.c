/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/vec/frv_scalar.h"

#define FRV_CHECK_NAME frv_check_scalar
#include "frv_check_tmpl.h"
