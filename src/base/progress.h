/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** How long work reports on itself. The library never prints: a front end supplies the callback. */
#ifndef CUZK_BASE_PROGRESS_H
#define CUZK_BASE_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct cuzk_progress {
  /** Called from the thread that runs the work, a few hundred times a stage at most. stage is a constant string; done <= total;
   *  unit is a constant string such as "points" or "bytes". Returning false asks the work to stop with E_CANCELLED. May be NULL. */
  bool (*report)(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit);
  void *user;
};

/** Reports when p and its callback are set; true: go on. */
static inline bool cuzk_progress(const struct cuzk_progress *p, const char *stage, uint64_t done, uint64_t total,
                                 const char *unit) {
  return !p || !p->report || p->report(p->user, stage, done, total, unit);
}
#endif
