/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/vec/frv_ifma.h"

#define FRV_CHECK_NAME frv_check_ifma
#include "frv_check_tmpl.h"
