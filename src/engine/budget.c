/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "engine/budget.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

const char *const cuzk_mem_names[CUZK_N_MEM] = {"srs", "pce", "inputs", "abc", "aux", "prover", "pool_idle", "scratch"};

struct cuzk_reservation {
  struct cuzk_budget *b;
  bool critical;
  /* under the budget's lock */
  uint64_t bytes[CUZK_N_MEM], sum;
  struct cuzk_reservation *prev, *next; /* parameters only: in the budget's list */
  bool listed, in_use;
  struct cuzk_budget_floor own;
};

/* A wait; on the waiting thread's stack, under the budget's lock. */
struct waiter {
  struct waiter *prev, *next; /* in the order of the keys; equal keys in the order of arrival */
  struct cuzk_key key;
  uint64_t bytes[CUZK_N_MEM], sum;
  struct cuzk_budget_floor own;
  struct cuzk_reservation *r; /* made before the wait, charged in the moment of the grant; NULL: none wanted */
  uint64_t since;
  bool srs; /* of acquire_srs */
  bool granted, recheck;
  struct cuzk_cond cond;
};

struct cuzk_budget {
  struct cuzk_clock *clock;
  uint64_t total, slice;
  pthread_mutex_t lock; /* guards all that follows */
  uint64_t used, by_class[CUZK_N_MEM];
  uint64_t critical; /* of that, CRITICAL and not parameters: drawn from the slice first */
  struct cuzk_reservation *parameters; /* reservations of acquire_srs: a handful */
  struct waiter *first, *last;
  unsigned n_waiters, running;
  bool evicting;
  cuzk_evict_fn *evict;
  void *evict_user;
  uint64_t wait_ns_total;
};

/* Stays until jobs end or the evictor takes it; the rest comes back when partitions end. */
static bool stays(unsigned m) { return m == CUZK_MEM_SRS || m == CUZK_MEM_PCE || m == CUZK_MEM_INPUTS; }

static uint64_t add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

static uint64_t sum_of(const uint64_t bytes[CUZK_N_MEM]) {
  uint64_t s = 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++) s = add(s, bytes[m]);
  return s;
}

/* ---- the rules; the lock is held ---- */

static uint64_t staying(const struct cuzk_budget *b) {
  uint64_t s = 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++)
    if (stays(m)) s += b->by_class[m];
  return s;
}

/* What may be used now / at most, whatever is given back. */
static uint64_t limit_now(const struct cuzk_budget *b, const struct waiter *w) {
  if (w->key.cls == 0) return b->total;
  uint64_t drawn = b->critical < b->slice ? b->critical : b->slice;
  return b->total - (b->slice - drawn);
}
static uint64_t limit_ever(const struct cuzk_budget *b, unsigned cls) { return cls == 0 ? b->total : b->total - b->slice; }

/* What has to be free beside everything that stays, once w is granted. */
static uint64_t floor_of(const struct cuzk_budget *b, const struct waiter *w) {
  uint64_t inputs = w->own.inputs, partition = w->own.partition;
  for (const struct cuzk_reservation *r = b->parameters; r; r = r->next) {
    if (r->in_use && r->own.inputs > inputs) inputs = r->own.inputs;
    if (r->in_use && r->own.partition > partition) partition = r->own.partition;
  }
  if (w->srs) return add(inputs, partition);
  if (w->bytes[CUZK_MEM_SRS] > 0 || w->bytes[CUZK_MEM_PCE] > 0 || w->bytes[CUZK_MEM_INPUTS] > 0) return partition;
  return 0;
}

static uint64_t excess(uint64_t have, uint64_t more, uint64_t limit) {
  uint64_t want = add(have, more);
  return want > limit ? want - limit : 0;
}
/* Bytes too many now / even if no partition ran. */
static uint64_t short_now(const struct cuzk_budget *b, const struct waiter *w) { return excess(b->used, w->sum, limit_now(b, w)); }
static uint64_t short_ever(const struct cuzk_budget *b, const struct waiter *w) {
  return excess(staying(b), add(w->sum, floor_of(b, w)), limit_ever(b, w->key.cls));
}

static bool counts_as_critical(const struct cuzk_reservation *r, unsigned m) { return r->critical && m != CUZK_MEM_SRS && m != CUZK_MEM_PCE; }

static void take(struct cuzk_budget *b, struct cuzk_reservation *r, unsigned m, uint64_t n) {
  r->bytes[m] += n;
  r->sum += n;
  b->by_class[m] += n;
  b->used += n;
  if (counts_as_critical(r, m)) b->critical += n;
}

static void give(struct cuzk_budget *b, struct cuzk_reservation *r, unsigned m) {
  uint64_t n = r->bytes[m];
  CUZK_VERIFY(b->by_class[m] >= n && b->used >= n && r->sum >= n);
  r->bytes[m] = 0;
  r->sum -= n;
  b->by_class[m] -= n;
  b->used -= n;
  if (counts_as_critical(r, m)) b->critical -= n;
}

static void insert(struct cuzk_budget *b, struct waiter *w) {
  struct waiter *before = b->last;
  while (before && cuzk_key_cmp(&before->key, &w->key) > 0) before = before->prev;
  w->prev = before;
  w->next = before ? before->next : b->first;
  if (w->next) w->next->prev = w;
  else b->last = w;
  if (before) before->next = w;
  else b->first = w;
  b->n_waiters++;
}

static void take_out(struct cuzk_budget *b, struct waiter *w) {
  if (w->prev) w->prev->next = w->next;
  else b->first = w->next;
  if (w->next) w->next->prev = w->prev;
  else b->last = w->prev;
  b->n_waiters--;
}

/* What the waiters before a place leave to those behind. */
struct turn {
  bool blocked; /* one waits for memory that running partitions will give back: nobody may take it */
  bool srs;     /* one waits for parameters */
};
static bool may_go(const struct cuzk_budget *b, const struct waiter *w, const struct turn *t) {
  if (w->sum == 0 && !w->srs) return !t->srs;
  return !t->blocked && short_now(b, w) == 0 && short_ever(b, w) == 0;
}
static void goes_before(const struct cuzk_budget *b, const struct waiter *w, struct turn *t) {
  if ((w->sum > 0 || w->srs) && short_ever(b, w) == 0) t->blocked = true;
  if (w->srs) t->srs = true;
}

/* The first that waits for memory: only its thread asks the evictor. */
static struct waiter *head_of(const struct cuzk_budget *b) {
  struct waiter *w = b->first;
  while (w && w->sum == 0 && !w->srs) w = w->next;
  return w;
}
static void recheck(struct cuzk_budget *b) {
  struct waiter *w = head_of(b);
  if (!w) return;
  w->recheck = true;
  cuzk_cond_signal(&w->cond);
}

static struct cuzk_reservation *new_reservation(struct cuzk_budget *b) {
  struct cuzk_reservation *r = cuzk_calloc(1, sizeof *r);
  if (r) r->b = b;
  return r;
}

static void charge(struct cuzk_budget *b, const struct waiter *w) {
  w->r->critical = w->key.cls == 0;
  for (unsigned m = 0; m < CUZK_N_MEM; m++) take(b, w->r, m, w->bytes[m]);
  if (!w->srs) return;
  struct cuzk_reservation *r = w->r;
  r->listed = r->in_use = true;
  r->own = w->own;
  r->next = b->parameters;
  if (r->next) r->next->prev = r;
  b->parameters = r;
}

static void unlist(struct cuzk_budget *b, struct cuzk_reservation *r) {
  if (!r->listed) return;
  r->listed = false;
  if (r->prev) r->prev->next = r->next;
  else b->parameters = r->next;
  if (r->next) r->next->prev = r->prev;
}

/* After every change: grants whom the rules allow. */
static void grant(struct cuzk_budget *b) {
  struct waiter *head = head_of(b);
  struct turn t = {false, false};
  for (struct waiter *w = b->first, *next; w; w = next) {
    next = w->next;
    if (!may_go(b, w, &t)) {
      goes_before(b, w, &t);
      continue;
    }
    take_out(b, w);
    if (w->r) charge(b, w);
    w->granted = true;
    cuzk_cond_signal(&w->cond);
  }
  if (head_of(b) != head) recheck(b);
}

/* ---- life ---- */

enum cuzk_status cuzk_budget_create(struct cuzk_budget **out, const struct cuzk_budget_options *o) {
  *out = NULL;
  struct cuzk_budget *b = cuzk_calloc(1, sizeof *b);
  if (!b) return CUZK_E_NOMEM;
  if (pthread_mutex_init(&b->lock, NULL) != 0) {
    cuzk_free(b);
    return CUZK_E_NOMEM;
  }
  b->clock = o->clock;
  b->total = o->total;
  b->slice = o->critical_slice < o->total ? o->critical_slice : o->total;
  *out = b;
  return CUZK_OK;
}

void cuzk_budget_destroy(struct cuzk_budget **bp) {
  struct cuzk_budget *b = *bp;
  if (!b) return;
  *bp = NULL;
  CUZK_VERIFY(b->used == 0 && !b->first);
  (void)pthread_mutex_destroy(&b->lock);
  cuzk_free(b);
}

void cuzk_budget_set_evictor(struct cuzk_budget *b, cuzk_evict_fn *fn, void *user) {
  (void)pthread_mutex_lock(&b->lock);
  b->evict = fn;
  b->evict_user = user;
  recheck(b);
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_budget_set_running(struct cuzk_budget *b, unsigned n) {
  (void)pthread_mutex_lock(&b->lock);
  bool fell = n == 0 && b->running > 0;
  b->running = n;
  if (fell) recheck(b); /* ages are waived from now on */
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_budget_recheck(struct cuzk_budget *b) {
  (void)pthread_mutex_lock(&b->lock);
  recheck(b);
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_budget_kick(struct cuzk_budget *b) {
  (void)pthread_mutex_lock(&b->lock);
  for (struct waiter *w = b->first; w; w = w->next) {
    w->recheck = true;
    cuzk_cond_signal(&w->cond);
  }
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_budget_raise(struct cuzk_budget *b, uint64_t seq, unsigned cls) {
  (void)pthread_mutex_lock(&b->lock);
  for (struct waiter *w = b->first, *next; w; w = next) {
    next = w->next;
    if (w->key.seq != seq || w->key.cls <= cls) continue;
    take_out(b, w);
    w->key.cls = cls;
    insert(b, w); /* further to the front: next stays what it was */
  }
  grant(b);
  recheck(b);
  (void)pthread_mutex_unlock(&b->lock);
}

/* ---- acquiring ---- */

static enum cuzk_status refuse(const struct cuzk_budget *b, const struct waiter *w, struct cuzk_detail *d) {
  uint64_t rest = w->srs ? add(w->own.inputs, w->own.partition) : 0;
  if (add(w->sum, rest) <= limit_ever(b, w->key.cls)) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_UNSUPPORTED, "memory budget: %" PRIu64 " bytes wanted%s, never more than %" PRIu64 " can be free", add(w->sum, rest),
                   rest ? " for parameters and one partition" : "", limit_ever(b, w->key.cls));
}

/* Asks the evictor for the head waiter; lets go of the lock meanwhile. True: something was freed. *again: when to ask again. */
static bool evict_for(struct cuzk_budget *b, struct waiter *w, uint64_t *again) {
  uint64_t now = short_now(b, w), ever = short_ever(b, w);
  uint64_t need = now > ever ? now : ever;
  if (need == 0 || !b->evict || b->evicting) return false;
  uint64_t before = b->used;
  bool idle = b->running == 0;
  cuzk_evict_fn *fn = b->evict;
  void *user = b->evict_user;
  b->evicting = true;
  w->recheck = false;
  (void)pthread_mutex_unlock(&b->lock);
  uint64_t freed = fn(user, need, idle, again);
  (void)pthread_mutex_lock(&b->lock);
  b->evicting = false;
  if (head_of(b) != w) recheck(b); /* the new head could not ask while this one did */
  return freed > 0 && b->used < before;
}

static enum cuzk_status acquire(struct cuzk_budget *b, struct waiter *w, uint64_t until, const atomic_bool *cancel, void (*on_wait)(void *),
                                void *user, uint64_t *waited_ns, struct cuzk_detail *d) {
  if (waited_ns) *waited_ns = 0;
  enum cuzk_status st = refuse(b, w, d);
  if (st != CUZK_OK) return st;
  if (cuzk_cond_init(&w->cond, b->clock) != CUZK_OK) return cuzk_fail(d, CUZK_E_NOMEM, "memory budget: no memory to wait");
  (void)pthread_mutex_lock(&b->lock);
  w->since = cuzk_clock_now(b->clock);
  insert(b, w);
  grant(b);
  bool told = false;
  while (!w->granted) {
    if (cancel && atomic_load(cancel)) {
      st = cuzk_fail(d, CUZK_E_CANCELLED, "memory budget: cancelled while waiting for %" PRIu64 " bytes", w->sum);
      break;
    }
    if (cuzk_clock_now(b->clock) >= until) {
      uint64_t limit = limit_now(b, w);
      st = cuzk_fail(d, CUZK_E_NOMEM, "memory budget: %" PRIu64 " bytes wanted in time, %" PRIu64 " of %" PRIu64 " free, %u others wait", w->sum,
                     limit > b->used ? limit - b->used : 0, b->total, b->n_waiters - 1);
      break;
    }
    w->recheck = false;
    uint64_t again = CUZK_NEVER;
    if (head_of(b) == w) {
      if (evict_for(b, w, &again)) continue;
      if (w->granted || w->recheck) continue;
    }
    if (!told && on_wait) {
      told = true;
      (void)pthread_mutex_unlock(&b->lock);
      on_wait(user);
      (void)pthread_mutex_lock(&b->lock);
      continue; /* things may have changed without the lock */
    }
    (void)cuzk_cond_wait(&w->cond, &b->lock, again < until ? again : until);
  }
  uint64_t waited = cuzk_clock_now(b->clock) - w->since;
  b->wait_ns_total += waited;
  if (!w->granted) {
    struct waiter *head = head_of(b);
    take_out(b, w);
    grant(b); /* who waited behind this one */
    if (head == w) recheck(b);
  } else {
    st = CUZK_OK;
  }
  (void)pthread_mutex_unlock(&b->lock);
  cuzk_cond_clear(&w->cond);
  if (waited_ns) *waited_ns = waited;
  return st;
}

static enum cuzk_status acquire_bytes(struct cuzk_budget *b, struct cuzk_reservation **out, struct waiter *w, uint64_t until,
                                      const atomic_bool *cancel, void (*on_wait)(void *), void *user, uint64_t *waited_ns,
                                      struct cuzk_detail *d) {
  *out = NULL;
  w->r = new_reservation(b);
  if (!w->r) return cuzk_fail(d, CUZK_E_NOMEM, "memory budget: no memory for a reservation");
  enum cuzk_status st = acquire(b, w, until, cancel, on_wait, user, waited_ns, d);
  if (st == CUZK_OK) *out = w->r;
  else cuzk_free(w->r);
  return st;
}

enum cuzk_status cuzk_budget_acquire(struct cuzk_budget *b, struct cuzk_reservation **out, const uint64_t bytes[CUZK_N_MEM],
                                     const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel, void (*on_wait)(void *),
                                     void *user, uint64_t *waited_ns, struct cuzk_detail *d) {
  struct waiter w = {.key = *key, .sum = sum_of(bytes)};
  memcpy(w.bytes, bytes, sizeof w.bytes);
  if (w.sum == 0) {
    /* Nothing to wait for. */
    *out = new_reservation(b);
    if (waited_ns) *waited_ns = 0;
    return *out ? CUZK_OK : cuzk_fail(d, CUZK_E_NOMEM, "memory budget: no memory for a reservation");
  }
  return acquire_bytes(b, out, &w, until, cancel, on_wait, user, waited_ns, d);
}

enum cuzk_status cuzk_budget_acquire_srs(struct cuzk_budget *b, struct cuzk_reservation **out, uint64_t bytes,
                                         const struct cuzk_budget_floor *own, const struct cuzk_key *key, uint64_t until,
                                         const atomic_bool *cancel, void (*on_wait)(void *), void *user, uint64_t *waited_ns,
                                         struct cuzk_detail *d) {
  struct waiter w = {.key = *key, .sum = bytes, .own = *own, .srs = true};
  w.bytes[CUZK_MEM_SRS] = bytes;
  return acquire_bytes(b, out, &w, until, cancel, on_wait, user, waited_ns, d);
}

enum cuzk_status cuzk_budget_pass(struct cuzk_budget *b, const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel,
                                  struct cuzk_detail *d) {
  struct waiter w = {.key = *key};
  return acquire(b, &w, until, cancel, NULL, NULL, NULL, d);
}

enum cuzk_status cuzk_budget_try(struct cuzk_budget *b, struct cuzk_reservation **out, const uint64_t bytes[CUZK_N_MEM],
                                 const struct cuzk_key *key) {
  *out = NULL;
  struct waiter me = {.key = *key, .sum = sum_of(bytes)};
  memcpy(me.bytes, bytes, sizeof me.bytes);
  if (refuse(b, &me, NULL) != CUZK_OK) return CUZK_E_UNSUPPORTED;
  me.r = new_reservation(b);
  if (!me.r) return CUZK_E_NOMEM;
  (void)pthread_mutex_lock(&b->lock);
  struct turn t = {false, false};
  for (const struct waiter *w = b->first; w && cuzk_key_cmp(&w->key, key) <= 0; w = w->next) goes_before(b, w, &t);
  bool ok = me.sum == 0 || may_go(b, &me, &t);
  if (ok) charge(b, &me);
  (void)pthread_mutex_unlock(&b->lock);
  if (ok) *out = me.r;
  else cuzk_free(me.r);
  return CUZK_OK;
}

bool cuzk_budget_possible(struct cuzk_budget *b, const uint64_t bytes[CUZK_N_MEM]) { return sum_of(bytes) <= limit_ever(b, UINT32_MAX); }

/* ---- giving back ---- */

void cuzk_reservation_release(struct cuzk_reservation *r, enum cuzk_mem m) {
  if (!r) return;
  struct cuzk_budget *b = r->b;
  (void)pthread_mutex_lock(&b->lock);
  give(b, r, m);
  grant(b);
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_reservation_move(struct cuzk_reservation *r, enum cuzk_mem from, enum cuzk_mem to) {
  if (!r || from == to) return;
  struct cuzk_budget *b = r->b;
  (void)pthread_mutex_lock(&b->lock);
  uint64_t n = r->bytes[from];
  give(b, r, from);
  take(b, r, to, n);
  grant(b); /* a class that stays weighs differently */
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_reservation_set_use(struct cuzk_reservation *r, bool in_use, const struct cuzk_budget_floor *own) {
  struct cuzk_budget *b = r->b;
  (void)pthread_mutex_lock(&b->lock);
  r->in_use = in_use;
  r->own = *own;
  grant(b);
  recheck(b); /* parameters without users can be evicted */
  (void)pthread_mutex_unlock(&b->lock);
}

void cuzk_reservation_free(struct cuzk_reservation **rp) {
  struct cuzk_reservation *r = *rp;
  if (!r) return;
  *rp = NULL;
  struct cuzk_budget *b = r->b;
  (void)pthread_mutex_lock(&b->lock);
  for (unsigned m = 0; m < CUZK_N_MEM; m++) give(b, r, m);
  unlist(b, r);
  grant(b);
  (void)pthread_mutex_unlock(&b->lock);
  cuzk_free(r);
}

uint64_t cuzk_reservation_bytes(const struct cuzk_reservation *r) {
  if (!r) return 0;
  (void)pthread_mutex_lock(&r->b->lock);
  uint64_t n = r->sum;
  (void)pthread_mutex_unlock(&r->b->lock);
  return n;
}

void cuzk_budget_view(struct cuzk_budget *b, struct cuzk_budget_view *out) {
  *out = (struct cuzk_budget_view){.total = b->total};
  (void)pthread_mutex_lock(&b->lock);
  out->used = b->used;
  memcpy(out->by_class, b->by_class, sizeof out->by_class);
  out->wait_ns_total = b->wait_ns_total;
  for (const struct waiter *w = b->first; w; w = w->next) {
    if (w->sum == 0) continue; /* of cuzk_budget_pass */
    if (out->n_waiters < sizeof out->waiter / sizeof out->waiter[0])
      out->waiter[out->n_waiters] = (struct cuzk_budget_waiter){.key = w->key, .bytes = w->sum, .since_ns = w->since};
    out->n_waiters++;
  }
  (void)pthread_mutex_unlock(&b->lock);
}
