/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The memory budget (engine specification 5.17): big memory is reserved here before it is allocated, by class, and given back in phases.
 *  Invariant: used = sum of all reservations <= total.
 *
 *  Waiters are granted strictly in the order of their keys, with two exceptions that keep the whole moving. Only CRITICAL ones may use
 *  the reserved slice. And a waiter that would not fit even if all running partitions had given their memory back, because of parameters
 *  and inputs that stay until jobs end, lets partitions of those jobs pass. So that such jobs can always end, parameters and inputs are
 *  granted only while the largest partition of a circuit in use still fits beside them (cuzk_budget_acquire_srs).
 *
 *  Threads  all functions from any thread; one mutex, one condition a waiter. No lock is held while evictor or on_wait run.
 *  Design: docs/internals/budget.md. Tests: engine/test_budget.c. */
#ifndef CUZK_ENGINE_BUDGET_H
#define CUZK_ENGINE_BUDGET_H
#include "engine/prover.h"

struct cuzk_budget;
struct cuzk_reservation;

/** Order of work everywhere: lower first (engine specification 5.3). class: 0 CRITICAL .. 3 LOW, aged. */
struct cuzk_key {
  unsigned cls;
  uint64_t seq;
  unsigned partition;
};
static inline int cuzk_key_cmp(const struct cuzk_key *a, const struct cuzk_key *b) {
  if (a->cls != b->cls) return a->cls < b->cls ? -1 : 1;
  if (a->seq != b->seq) return a->seq < b->seq ? -1 : 1;
  return (a->partition > b->partition) - (a->partition < b->partition);
}

/** Memory this process may use: the least of MemTotal, cgroup v2 memory.max (all levels), cgroup v1 limit (all levels). root: "" or a
 *  prefix for tests of /proc and /sys. memory.high, a soft limit, and RLIMIT_MEMLOCK, which concerns pinned memory only, are not looked at.
 *  Errors: E_IO (nothing readable: *bytes is 0, never a guess). */
enum cuzk_status cuzk_memory_detect(uint64_t *bytes, const char *root, struct cuzk_detail *d);

struct cuzk_budget_options {
  struct cuzk_clock *clock;
  uint64_t total, critical_slice; /* slice is part of total, and cut to it */
};
/** Errors: E_NOMEM. */
enum cuzk_status cuzk_budget_create(struct cuzk_budget **out, const struct cuzk_budget_options *o);
/** No reservation is left. *b becomes NULL; NULL is accepted. */
void cuzk_budget_destroy(struct cuzk_budget **b);

/** Called without locks, by one waiting thread at a time, when `need` more bytes are wanted for the head waiter: frees what may be freed (at most as
 *  much as needed, through cuzk_reservation_free) and returns how many bytes; *again is when more may become free by age alone
 *  (CUZK_NEVER: only by releases). idle: nothing else runs, ages are waived. */
typedef uint64_t cuzk_evict_fn(void *user, uint64_t need, bool idle, uint64_t *again);
void cuzk_budget_set_evictor(struct cuzk_budget *b, cuzk_evict_fn *fn, void *user);
/** How many partitions run now: lets the budget tell the evictor that nothing else runs. */
void cuzk_budget_set_running(struct cuzk_budget *b, unsigned n);

/** What jobs of one circuit need beside its parameters: the inputs of one job, the memory of one partition. */
struct cuzk_budget_floor {
  uint64_t inputs, partition;
};

/** Waits for all of bytes[]. key orders the wait. until: time of the clock. cancel: may be NULL; cuzk_budget_kick wakes who waits for it.
 *  *waited_ns: how long it took, 0 if at once; may be NULL. on_wait, if not NULL, is called once before waiting begins.
 *  Errors: E_UNSUPPORTED (more than can ever be free: total, less the slice unless CRITICAL), E_CANCELLED, E_NOMEM (until has come; the
 *  detail says how much was wanted and free; or no memory for the reservation itself). */
enum cuzk_status cuzk_budget_acquire(struct cuzk_budget *b, struct cuzk_reservation **out, const uint64_t bytes[CUZK_N_MEM],
                                     const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel, void (*on_wait)(void *),
                                     void *user, uint64_t *waited_ns, struct cuzk_detail *d);
/** The same for a circuit's parameters: granted only if inputs and a partition will fit beside all parameters, the largest of this
 *  circuit's (own) and those in use. The reservation counts as in use until told otherwise. */
enum cuzk_status cuzk_budget_acquire_srs(struct cuzk_budget *b, struct cuzk_reservation **out, uint64_t bytes,
                                         const struct cuzk_budget_floor *own, const struct cuzk_key *key, uint64_t until,
                                         const atomic_bool *cancel, void (*on_wait)(void *), void *user, uint64_t *waited_ns,
                                         struct cuzk_detail *d);
/** Parameters are used by jobs / are not; their circuit's needs have changed. Only for reservations of cuzk_budget_acquire_srs. */
void cuzk_reservation_set_use(struct cuzk_reservation *r, bool in_use, const struct cuzk_budget_floor *own);
/** Waits until nobody before key waits for parameters; reserves nothing. A new user of parameters that are in memory comes through
 *  here, so that a stream of such users cannot keep others out for ever. Errors: E_CANCELLED, E_NOMEM (until). */
enum cuzk_status cuzk_budget_pass(struct cuzk_budget *b, const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel,
                                  struct cuzk_detail *d);
/** acquire without waiting and without evicting: *out NULL if it does not fit now or somebody before key waits for memory that this one
 *  would take. Errors: E_UNSUPPORTED, E_NOMEM (for the reservation itself). */
enum cuzk_status cuzk_budget_try(struct cuzk_budget *b, struct cuzk_reservation **out, const uint64_t bytes[CUZK_N_MEM],
                                 const struct cuzk_key *key);
/** Can this ever fit, for a key that is not CRITICAL? */
bool cuzk_budget_possible(struct cuzk_budget *b, const uint64_t bytes[CUZK_N_MEM]);
/** Wakes waiters to look at their cancel flags. */
void cuzk_budget_kick(struct cuzk_budget *b);
/** Lets the evictor be asked again: something became evictable. */
void cuzk_budget_recheck(struct cuzk_budget *b);
/** Waiters of the job with that seq get this class if it is better. */
void cuzk_budget_raise(struct cuzk_budget *b, uint64_t seq, unsigned cls);
/** Gives a class of r back / moves it to another class (same bytes, no wait). */
void cuzk_reservation_release(struct cuzk_reservation *r, enum cuzk_mem m);
void cuzk_reservation_move(struct cuzk_reservation *r, enum cuzk_mem from, enum cuzk_mem to);
/** Gives back what is left. *r becomes NULL; NULL is accepted. */
void cuzk_reservation_free(struct cuzk_reservation **r);
uint64_t cuzk_reservation_bytes(const struct cuzk_reservation *r);

struct cuzk_budget_waiter {
  struct cuzk_key key;
  uint64_t bytes, since_ns;
};
struct cuzk_budget_view {
  uint64_t total, used, by_class[CUZK_N_MEM], wait_ns_total;
  unsigned n_waiters;
  struct cuzk_budget_waiter waiter[16]; /* the first ones */
};
void cuzk_budget_view(struct cuzk_budget *b, struct cuzk_budget_view *out);
#endif
