/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** How functions report failure: `return cuzk_fail(detail, CUZK_E_FORMAT, "%s: ...", path)`. */
#ifndef CUZK_BASE_FAIL_H
#define CUZK_BASE_FAIL_H
#include "cuzk/status.h"

/** Writes the formatted text into d (cut to fit; NULL is accepted) and returns s. */
enum cuzk_status cuzk_fail(struct cuzk_detail *d, enum cuzk_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** As cuzk_fail, with an errno value mapped: ENOSPC/EDQUOT to E_NOSPC, ENOENT to E_NOENT, ENOMEM to
 *  E_NOMEM, anything else to E_IO; ": strerror" is appended to the text. */
enum cuzk_status cuzk_fail_errno(struct cuzk_detail *d, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/** Evaluates expr once; unless it is CUZK_OK, stores it in the local `st` and jumps to `out`. */
#define CUZK_TRY(expr)                                                                              \
  do {                                                                                              \
    st = (expr);                                                                                    \
    if (st != CUZK_OK) goto out;                                                                    \
  } while (0)

/** Internal invariant: executed in VERIFY builds (aborts with file and line), absent otherwise. */
#ifdef CUZK_BUILD_VERIFY
#define CUZK_VERIFY(cond) ((cond) ? (void)0 : cuzk_verify_failed(#cond, __FILE__, __LINE__))
#else
#define CUZK_VERIFY(cond) ((void)0)
#endif
_Noreturn void cuzk_verify_failed(const char *cond, const char *file, int line);
#endif
