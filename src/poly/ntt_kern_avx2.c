/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ff/vec/frv_avx2.h"
#include "poly/ntt_kern_tmpl.h"
