/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Time, and every wait that depends on it. Code that sleeps or waits through a clock can run in real time or in virtual time.
 *
 *  Real: CLOCK_MONOTONIC. Virtual: time stands still while any thread that takes part runs; when all of them wait, it jumps to the
 *  earliest moment that one of them waits for. So days of waiting pass in the time that the work between the waits takes. Whoever is
 *  woken, by a signal or by the time, counts as running from the moment of the wake-up, so time never passes it by. Threads that wait
 *  for the same moment are woken one after the other, each when the one before waits again, in the order of their waits.
 *  A virtual clock whose threads all wait without end is a deadlock of the caller: the clock then calls its stuck hook.
 *
 *  A thread takes part, in one clock at most, from cuzk_clock_thread or cuzk_clock_enter until it ends or leaves; on the real clock
 *  both do nothing. One that does not take part may use every function too, but virtual time does not wait for it.
 *  Times are nanoseconds since the clock was made.
 *
 *  Threads  a condition is used with one mutex only; signal and broadcast may be called with or without it held. A thread that waits for
 *  a mutex counts as running: nobody may hold a mutex through a wait other than that of its own condition.
 *  Design: docs/internals/clock.md. Tests: base/test_clock.c. */
#ifndef CUZK_BASE_CLOCK_H
#define CUZK_BASE_CLOCK_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuzk/status.h"

struct cuzk_clock;
struct cuzk_waiter; /* of clock.c */
#define CUZK_NEVER UINT64_MAX
#define CUZK_MS UINT64_C(1000000)
#define CUZK_SECOND UINT64_C(1000000000)

/** A clock that follows CLOCK_MONOTONIC, 0 at creation. Errors: E_NOMEM. */
enum cuzk_status cuzk_clock_real(struct cuzk_clock **out);
/** A virtual clock at 0. Errors: E_NOMEM. */
enum cuzk_status cuzk_clock_virtual(struct cuzk_clock **out);
/** No thread may take part any more. *c becomes NULL; NULL is accepted. */
void cuzk_clock_destroy(struct cuzk_clock **c);
uint64_t cuzk_clock_now(struct cuzk_clock *c);
/** Unix time in milliseconds of this clock's 0 (virtual: a fixed date). */
uint64_t cuzk_clock_epoch_ms(const struct cuzk_clock *c);
bool cuzk_clock_is_virtual(const struct cuzk_clock *c);
/** Virtual clock: fn is called, once, without locks, from the last thread to wait, when every thread that takes part waits without end
 *  and none is between block and unblock. It may wake others. NULL: VERIFY builds abort. A thread outside that may still wake the others
 *  is not seen: such a thread enters, or stays between block and unblock. */
void cuzk_clock_on_stuck(struct cuzk_clock *c, void (*fn)(void *user), void *user);

/** A thread that takes part from the moment of this call. name: at most 15 characters. Errors: E_NOMEM (also: no thread to be had). */
enum cuzk_status cuzk_clock_thread(struct cuzk_clock *c, pthread_t *out, const char *name, void *(*fn)(void *), void *arg);
/** Joins a thread, once; on a virtual clock the caller, if it takes part, counts as waiting meanwhile. A thread of cuzk_clock_thread must
 *  be joined through this function; others may. */
void cuzk_clock_join(struct cuzk_clock *c, pthread_t t);
/** The calling thread takes part from now on / no longer. */
void cuzk_clock_enter(struct cuzk_clock *c);
void cuzk_clock_leave(struct cuzk_clock *c);
/** The calling thread waits for something outside the clock (a file, a socket): it does not hold up virtual time meanwhile. */
void cuzk_clock_block(struct cuzk_clock *c);
void cuzk_clock_unblock(struct cuzk_clock *c);
/** Returns at once if that moment is past. */
void cuzk_clock_sleep_until(struct cuzk_clock *c, uint64_t until);

struct cuzk_cond {
  struct cuzk_clock *clock;
  pthread_cond_t cond;              /* real clock */
  struct cuzk_waiter *first, *last; /* virtual clock: who waits, longest first; under the clock's lock */
};
/** Errors: E_NOMEM. */
enum cuzk_status cuzk_cond_init(struct cuzk_cond *c, struct cuzk_clock *clock);
/** Nobody waits. Accepts a zeroed condition. */
void cuzk_cond_clear(struct cuzk_cond *c);
/** Unlocks m, waits until woken or until the time comes (CUZK_NEVER: no limit), locks m. False: the time came, at once if it is past.
 *  Wake-ups without a cause happen: test the predicate. */
bool cuzk_cond_wait(struct cuzk_cond *c, pthread_mutex_t *m, uint64_t until);
/** Wakes one waiter (virtual clock: the one that waits longest) / all. */
void cuzk_cond_signal(struct cuzk_cond *c);
void cuzk_cond_broadcast(struct cuzk_cond *c);
#endif
