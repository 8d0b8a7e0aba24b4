/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Mapped files that somebody shortens while they are used. Reading behind the new end raises SIGBUS, which would end the process; for guarded
 *  mappings the handler puts zero pages there instead and remembers it, so that the reader goes on, meets points that are none, and fails.
 *
 *  A SIGBUS outside guarded mappings goes to the handler that was there before. */
#ifndef CUZK_PROVER_GUARD_H
#define CUZK_PROVER_GUARD_H
#include <stdbool.h>
#include <stddef.h>

/** Guards n bytes of a private mapping. Returns a number for the calls below; -1 (not guarded) if too many are. The handler is installed
 *  by the first call. Thread safe. */
int cuzk_guard_add(const void *p, size_t n);
/** Has the mapping lost bytes? False for -1. */
bool cuzk_guard_torn(int guard);
/** Before the mapping goes. -1 is accepted. */
void cuzk_guard_remove(int guard);
#endif
