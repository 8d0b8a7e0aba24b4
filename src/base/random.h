/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Randomness of the operating system (getrandom), for blinding values and toxic waste. */
#ifndef CUZK_BASE_RANDOM_H
#define CUZK_BASE_RANDOM_H
#include <stddef.h>

#include "cuzk/status.h"

/** Fills p with n unpredictable bytes. Errors: E_IO if the system gives none. */
enum cuzk_status cuzk_random_bytes(void *p, size_t n);
#endif
