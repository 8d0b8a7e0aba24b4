/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The memory budget (engine specification 5.17): big memory is reserved here before it is allocated, by class, and given back in phases.
 *  Invariant: used = sum of all reservations <= total, but for what is moved between classes.
 *  Waiters are granted strictly in the order of their keys; a CRITICAL one may use the reserved slice. */
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

/** Memory this process may use: the least of MemTotal, cgroup v2 memory.max (all levels), cgroup v1 limit. root: "" or a prefix for
 *  tests of /proc and /sys. Errors: E_IO (nothing readable: *bytes is 0, never a guess). */
enum cuzk_status cuzk_memory_detect(uint64_t *bytes, const char *root, struct cuzk_detail *d);

struct cuzk_budget_options {
  struct cuzk_clock *clock;
  uint64_t total, critical_slice; /* slice is part of total */
};
enum cuzk_status cuzk_budget_create(struct cuzk_budget **out, const struct cuzk_budget_options *o);
/** No reservation is left. *b becomes NULL; NULL is accepted. */
void cuzk_budget_destroy(struct cuzk_budget **b);

/** Called without locks, by a waiting thread, when `need` more bytes are wanted for the head waiter: frees what may be freed (at most as
 *  much as needed, through cuzk_reservation_free) and returns how many bytes; *again is when more may become free by age alone
 *  (CUZK_NEVER: only by releases). idle: nothing else runs, ages are waived. */
typedef uint64_t cuzk_evict_fn(void *user, uint64_t need, bool idle, uint64_t *again);
void cuzk_budget_set_evictor(struct cuzk_budget *b, cuzk_evict_fn *fn, void *user);
/** How many partitions run now: lets the budget tell the evictor that nothing else runs. */
void cuzk_budget_set_running(struct cuzk_budget *b, unsigned n);

/** Waits for all of bytes[]. key orders the wait. until: time of the clock. cancel: may be NULL; cuzk_budget_kick wakes who waits for it.
 *  *waited_ns: how long it took, 0 if at once; may be NULL. on_wait, if not NULL, is called once before waiting begins.
 *  Errors: E_UNSUPPORTED (more than can ever be free: total less permanent reservations), E_CANCELLED, E_NOMEM (until has come; the
 *  detail says how much was wanted and free). */
enum cuzk_status cuzk_budget_acquire(struct cuzk_budget *b, struct cuzk_reservation **out, const uint64_t bytes[CUZK_N_MEM],
                                     const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel, void (*on_wait)(void *),
                                     void *user, uint64_t *waited_ns, struct cuzk_detail *d);
/** The same without waiting: *out NULL if it does not fit now or somebody waits before key. */
enum cuzk_status cuzk_budget_try(struct cuzk_budget *b, struct cuzk_reservation **out, const uint64_t bytes[CUZK_N_MEM],
                                 const struct cuzk_key *key);
/** Can this ever fit? */
bool cuzk_budget_possible(struct cuzk_budget *b, const uint64_t bytes[CUZK_N_MEM]);
/** Wakes waiters to look at their cancel flags. */
void cuzk_budget_kick(struct cuzk_budget *b);
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
