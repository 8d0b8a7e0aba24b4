/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "engine/residency.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

enum state { ABSENT, LOADING, LOADED, LEAVING };

/* A caller that waits for a load, the loader included; on its stack, under the lock. */
struct party {
  struct party *next;
  const atomic_bool *cancel;
  struct cuzk_detail *detail;
  bool done; /* st is the answer; OK: a reference is counted for it */
  enum cuzk_status st;
};

struct entry {
  char id[24];
  enum state state;
  void *srs;
  struct cuzk_reservation *res;
  uint64_t bytes, last_used;
  unsigned refs;
  struct cuzk_budget_floor need;
  struct cuzk_residency_counts counts;
  struct party *parties; /* LOADING */
  struct cuzk_key key;   /* LOADING: of the wait for memory */
  atomic_bool stop;      /* LOADING: all parties are cancelled */
};

struct cuzk_residency {
  struct cuzk_residency_options o;
  pthread_mutex_t lock; /* guards what follows; the budget's lock may be taken inside, never the other way round */
  struct cuzk_cond cond; /* an entry's state changed, or a kick */
  uint64_t min_idle;
  size_t n;
  struct entry *entries; /* all known circuits */
};

struct cuzk_srs_ref {
  struct cuzk_residency *r;
  struct entry *e;
};

static void locked(struct cuzk_residency *r) { (void)pthread_mutex_lock(&r->lock); }
static void unlocked(struct cuzk_residency *r) { (void)pthread_mutex_unlock(&r->lock); }
static bool cancelled(const atomic_bool *c) { return c && atomic_load(c); }

static struct entry *find(struct cuzk_residency *r, const char *id) {
  for (size_t i = 0; i < r->n; i++)
    if (strcmp(r->entries[i].id, id) == 0) return &r->entries[i];
  return NULL;
}

/* ---- leaving ---- */

/* Takes an idle entry out of memory; lets go of the lock meanwhile. Bytes freed. */
static uint64_t unload(struct cuzk_residency *r, struct entry *e) {
  CUZK_VERIFY(e->state == LOADED && e->refs == 0);
  const struct cuzk_prover *p = &r->o.prover;
  void *srs = e->srs;
  struct cuzk_reservation *res = e->res;
  uint64_t bytes = e->bytes;
  e->state = LEAVING;
  e->srs = NULL;
  e->res = NULL;
  unlocked(r);
  p->ops->srs_unload(p->self, srs);
  cuzk_record(r->o.recorder, CUZK_EV_SRS_EVICT, NULL, "circuit=%s,bytes=%" PRIu64, e->id, bytes);
  cuzk_reservation_free(&res); /* the memory is really free by now */
  locked(r);
  e->state = ABSENT;
  e->counts.evictions++;
  cuzk_cond_broadcast(&r->cond);
  return bytes;
}

static uint64_t evict(void *user, uint64_t need, bool idle, uint64_t *again) {
  struct cuzk_residency *r = user;
  uint64_t freed = 0;
  *again = CUZK_NEVER;
  locked(r);
  while (freed < need) {
    /* The oldest first: the lock was let go, so look again each time. */
    struct entry *oldest = NULL;
    for (size_t i = 0; i < r->n; i++) {
      struct entry *e = &r->entries[i];
      if (e->state == LOADED && e->refs == 0 && (!oldest || e->last_used < oldest->last_used)) oldest = e;
    }
    if (!oldest) break;
    uint64_t age = cuzk_clock_now(r->o.clock) - oldest->last_used;
    if (!idle && age < r->min_idle) {
      *again = oldest->last_used > CUZK_NEVER - r->min_idle ? CUZK_NEVER : oldest->last_used + r->min_idle;
      break;
    }
    freed += unload(r, oldest);
  }
  unlocked(r);
  return freed;
}

/* ---- life ---- */

enum cuzk_status cuzk_residency_create(struct cuzk_residency **out, const struct cuzk_residency_options *o) {
  *out = NULL;
  struct cuzk_residency *r = cuzk_calloc(1, sizeof *r);
  if (!r) return CUZK_E_NOMEM;
  r->o = *o;
  r->min_idle = o->min_idle_ns;
  const struct cuzk_prover *p = &o->prover;
  while (p->ops->circuit_at(p->self, r->n)) r->n++;
  r->entries = cuzk_calloc(r->n, sizeof *r->entries);
  if (!r->entries || pthread_mutex_init(&r->lock, NULL) != 0) {
    cuzk_free(r->entries);
    cuzk_free(r);
    return CUZK_E_NOMEM;
  }
  if (cuzk_cond_init(&r->cond, o->clock) != CUZK_OK) {
    (void)pthread_mutex_destroy(&r->lock);
    cuzk_free(r->entries);
    cuzk_free(r);
    return CUZK_E_NOMEM;
  }
  for (size_t i = 0; i < r->n; i++) (void)snprintf(r->entries[i].id, sizeof r->entries[i].id, "%s", p->ops->circuit_at(p->self, i));
  cuzk_budget_set_evictor(o->budget, evict, r);
  *out = r;
  return CUZK_OK;
}

void cuzk_residency_destroy(struct cuzk_residency **rp) {
  struct cuzk_residency *r = *rp;
  if (!r) return;
  *rp = NULL;
  cuzk_budget_set_evictor(r->o.budget, NULL, NULL);
  locked(r);
  for (size_t i = 0; i < r->n; i++)
    if (r->entries[i].state == LOADED) (void)unload(r, &r->entries[i]);
  unlocked(r);
  cuzk_cond_clear(&r->cond);
  (void)pthread_mutex_destroy(&r->lock);
  cuzk_free(r->entries);
  cuzk_free(r);
}

void cuzk_residency_set_min_idle(struct cuzk_residency *r, uint64_t ns) {
  locked(r);
  r->min_idle = ns;
  unlocked(r);
  cuzk_budget_recheck(r->o.budget);
}

void cuzk_residency_need(struct cuzk_residency *r, const char *circuit_id, uint64_t inputs_bytes, uint64_t partition_bytes) {
  struct entry *e = find(r, circuit_id);
  if (!e) return;
  locked(r);
  bool more = inputs_bytes > e->need.inputs || partition_bytes > e->need.partition;
  if (inputs_bytes > e->need.inputs) e->need.inputs = inputs_bytes;
  if (partition_bytes > e->need.partition) e->need.partition = partition_bytes;
  if (more && e->state == LOADED) cuzk_reservation_set_use(e->res, e->refs > 0, &e->need);
  unlocked(r);
}

/* ---- getting ---- */

/* A load that nobody wants any more is stopped. */
static void judge(struct entry *e) {
  bool stop = true;
  for (const struct party *p = e->parties; p; p = p->next) stop = stop && cancelled(p->cancel);
  atomic_store(&e->stop, stop);
}

static void join(struct entry *e, struct party *p) {
  p->next = e->parties;
  e->parties = p;
  judge(e);
}

static void part(struct entry *e, struct party *p) {
  struct party **at = &e->parties;
  while (*at && *at != p) at = &(*at)->next;
  if (*at) *at = p->next;
  if (e->parties) judge(e);
}

/* For the record of the loader's wait for memory. */
struct wait_note {
  struct cuzk_residency *r;
  const char *id, *job;
  uint64_t bytes;
  bool waited;
};
static void on_wait(void *user) {
  struct wait_note *n = user;
  n->waited = true;
  cuzk_record(n->r->o.recorder, CUZK_EV_BUDGET_WAIT, n->job, "circuit=%s,bytes=%" PRIu64, n->id, n->bytes);
}

/* The lock is held and e is ABSENT: loads, with the caller's party as the first. On return the lock is held, the party has left, and
 * what is known of all parties is in them. */
static void load(struct cuzk_residency *r, struct entry *e, struct party *me, const char *job, const struct cuzk_key *key, uint64_t until) {
  const struct cuzk_prover *p = &r->o.prover;
  struct cuzk_clock *clock = r->o.clock;
  struct cuzk_detail d = {""};
  struct cuzk_budget_floor need = e->need;
  e->state = LOADING;
  e->key = *key;
  join(e, me);
  unlocked(r);

  void *srs = NULL;
  struct cuzk_reservation *res = NULL;
  struct wait_note note = {.r = r, .id = e->id, .job = job};
  uint64_t waited = 0;
  bool own = false; /* the failure concerns this caller only */
  enum cuzk_status st = p->ops->srs_size(p->self, e->id, &note.bytes, &d);
  if (st == CUZK_OK) {
    locked(r);
    struct cuzk_key k = e->key; /* somebody with a better one may have joined */
    unlocked(r);
    st = cuzk_budget_acquire_srs(r->o.budget, &res, note.bytes, &need, &k, until, me->cancel, on_wait, &note, &waited, &d);
    own = st == CUZK_E_CANCELLED || st == CUZK_E_NOMEM;
  }
  if (st == CUZK_OK) {
    if (note.waited)
      cuzk_record(r->o.recorder, CUZK_EV_BUDGET_OK, job, "circuit=%s,wait_ms=%" PRIu64, e->id, waited / CUZK_MS);
    cuzk_record(r->o.recorder, CUZK_EV_SRS_LOAD, job, "circuit=%s,bytes=%" PRIu64, e->id, note.bytes);
    uint64_t began = cuzk_clock_now(clock);
    st = p->ops->srs_load(p->self, e->id, &srs, &e->stop, &d);
    uint64_t ms = (cuzk_clock_now(clock) - began) / CUZK_MS;
    if (st == CUZK_OK) cuzk_record(r->o.recorder, CUZK_EV_SRS_READY, job, "circuit=%s,load_ms=%" PRIu64, e->id, ms);
    else cuzk_record(r->o.recorder, CUZK_EV_SRS_READY, job, "circuit=%s,load_ms=%" PRIu64 ",err=%s", e->id, ms, cuzk_status_name(st));
    if (st != CUZK_OK) cuzk_reservation_free(&res);
    own = own || st == CUZK_E_CANCELLED; /* who came after the stop tries again */
  }

  locked(r);
  if (st == CUZK_OK) {
    e->state = LOADED;
    e->srs = srs;
    e->res = res;
    e->bytes = note.bytes;
    e->last_used = cuzk_clock_now(clock);
    e->counts.loads++;
  } else {
    e->state = ABSENT;
  }
  if (own) {
    part(e, me);
    me->done = true;
    me->st = st;
    if (me->detail) *me->detail = d;
  } else {
    for (struct party *q = e->parties; q; q = q->next) {
      q->done = true;
      q->st = st;
      if (st == CUZK_OK) e->refs++;
      else if (q->detail) *q->detail = d;
    }
  }
  if (st == CUZK_OK) cuzk_reservation_set_use(e->res, e->refs > 0, &e->need);
  e->parties = NULL; /* who has no answer looks at the entry anew */
  cuzk_cond_broadcast(&r->cond);
}

static void unuse(struct cuzk_residency *r, struct entry *e) {
  CUZK_VERIFY(e->state == LOADED && e->refs > 0);
  e->last_used = cuzk_clock_now(r->o.clock);
  if (--e->refs == 0) cuzk_reservation_set_use(e->res, false, &e->need);
}

/* A reference is counted in e when this returns E_OK. The lock is held. */
static enum cuzk_status get(struct cuzk_residency *r, struct entry *e, const char *job, const struct cuzk_key *key, uint64_t until,
                            const atomic_bool *cancel, struct cuzk_detail *d) {
  bool passed = false;
  for (;;) {
    if (cancelled(cancel)) return cuzk_fail(d, CUZK_E_CANCELLED, "parameters of %s: cancelled while waiting", e->id);
    if (e->state == LOADED && passed) {
      if (e->refs++ == 0) cuzk_reservation_set_use(e->res, true, &e->need);
      e->last_used = cuzk_clock_now(r->o.clock);
      return CUZK_OK;
    }
    if (e->state == LOADED) {
      /* Who waits for other parameters with a better key comes first. */
      unlocked(r);
      enum cuzk_status st = cuzk_budget_pass(r->o.budget, key, until, cancel, d);
      locked(r);
      if (st != CUZK_OK) return st;
      passed = true;
      continue;
    }
    passed = false;
    struct party me = {.cancel = cancel, .detail = d};
    if (e->state == ABSENT) {
      load(r, e, &me, job, key, until);
    } else {
      if (cuzk_clock_now(r->o.clock) >= until) return cuzk_fail(d, CUZK_E_NOMEM, "parameters of %s: not loaded in time", e->id);
      bool loading = e->state == LOADING;
      if (loading) {
        join(e, &me);
        /* The loader waits for memory with its own key: mine may be better. */
        if (key->cls < e->key.cls) {
          e->key.cls = key->cls;
          cuzk_budget_raise(r->o.budget, e->key.seq, key->cls);
        }
      }
      (void)cuzk_cond_wait(&r->cond, &r->lock, until);
      if (loading && !me.done) part(e, &me);
    }
    if (!me.done) continue;
    if (me.st == CUZK_OK && cancelled(cancel)) {
      unuse(r, e);
      return cuzk_fail(d, CUZK_E_CANCELLED, "parameters of %s: cancelled while loading", e->id);
    }
    return me.st;
  }
}

enum cuzk_status cuzk_residency_get(struct cuzk_residency *r, struct cuzk_srs_ref **out, const char *circuit_id, const char *job,
                                    const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel, uint64_t *loaded_ns,
                                    struct cuzk_detail *d) {
  *out = NULL;
  if (loaded_ns) *loaded_ns = 0;
  struct entry *e = find(r, circuit_id);
  if (!e) return cuzk_fail(d, CUZK_E_ARG, "circuit_id: %.40s is not known", circuit_id);
  struct cuzk_srs_ref *ref = cuzk_malloc(sizeof *ref);
  if (!ref) return cuzk_fail(d, CUZK_E_NOMEM, "parameters of %s: no memory for a reference", circuit_id);
  uint64_t began = cuzk_clock_now(r->o.clock);
  locked(r);
  enum cuzk_status st = get(r, e, job, key, until, cancel, d);
  unlocked(r);
  if (loaded_ns) *loaded_ns = cuzk_clock_now(r->o.clock) - began;
  if (st != CUZK_OK) {
    cuzk_free(ref);
    return st;
  }
  *ref = (struct cuzk_srs_ref){.r = r, .e = e};
  *out = ref;
  return CUZK_OK;
}

/* While the reference is held nobody writes to it. */
void *cuzk_srs_ref_handle(const struct cuzk_srs_ref *ref) { return ref->e->srs; }

void cuzk_residency_put(struct cuzk_srs_ref **refp) {
  struct cuzk_srs_ref *ref = *refp;
  if (!ref) return;
  *refp = NULL;
  struct cuzk_residency *r = ref->r;
  locked(r);
  unuse(r, ref->e);
  unlocked(r);
  cuzk_free(ref);
}

bool cuzk_residency_has(struct cuzk_residency *r, const char *circuit_id) {
  struct entry *e = find(r, circuit_id);
  if (!e) return false;
  locked(r);
  bool has = e->state == LOADED;
  unlocked(r);
  return has;
}

enum cuzk_status cuzk_residency_evict(struct cuzk_residency *r, const char *circuit_id, bool *was_loaded, uint64_t *freed, struct cuzk_detail *d) {
  *was_loaded = false;
  *freed = 0;
  struct entry *e = find(r, circuit_id);
  if (!e) return cuzk_fail(d, CUZK_E_ARG, "circuit_id: %.40s is not known", circuit_id);
  enum cuzk_status st = CUZK_OK;
  locked(r);
  while (e->state == LEAVING) (void)cuzk_cond_wait(&r->cond, &r->lock, CUZK_NEVER);
  unsigned users = e->refs;
  for (const struct party *p = e->parties; p; p = p->next) users++;
  if (users > 0) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "parameters of %s are in use by %u", e->id, users);
  } else if (e->state == LOADED) {
    *was_loaded = true;
    *freed = unload(r, e);
  }
  unlocked(r);
  return st;
}

void cuzk_residency_kick(struct cuzk_residency *r) {
  locked(r);
  for (size_t i = 0; i < r->n; i++)
    if (r->entries[i].state == LOADING) judge(&r->entries[i]);
  cuzk_cond_broadcast(&r->cond);
  unlocked(r);
  cuzk_budget_kick(r->o.budget);
}

/* ---- looking ---- */

size_t cuzk_residency_view(struct cuzk_residency *r, struct cuzk_srs_view *out, size_t max) {
  const struct cuzk_prover *p = &r->o.prover;
  size_t n = 0;
  for (size_t i = 0; i < r->n; i++) {
    struct entry *e = &r->entries[i];
    /* Looks at files: not with the lock held. */
    uint64_t bytes = 0;
    bool exists = p->ops->srs_size(p->self, e->id, &bytes, NULL) == CUZK_OK;
    locked(r);
    bool loaded = e->state == LOADED;
    if (exists || loaded || e->state == LOADING) {
      if (n < max) {
        struct cuzk_srs_view *v = &out[n];
        *v = (struct cuzk_srs_view){.loaded = loaded, .loading = e->state == LOADING, .bytes = loaded ? e->bytes : bytes, .refs = e->refs};
        memcpy(v->circuit_id, e->id, sizeof v->circuit_id);
        v->last_used_ns = e->last_used;
        v->evictable = loaded && e->refs == 0 && cuzk_clock_now(r->o.clock) - e->last_used >= r->min_idle;
      }
      n++;
    }
    unlocked(r);
  }
  return n;
}

void cuzk_residency_counts(struct cuzk_residency *r, const char *circuit_id, struct cuzk_residency_counts *out) {
  *out = (struct cuzk_residency_counts){0, 0};
  locked(r);
  for (size_t i = 0; i < r->n; i++) {
    const struct entry *e = &r->entries[i];
    if (circuit_id && strcmp(e->id, circuit_id) != 0) continue;
    out->loads += e->counts.loads;
    out->evictions += e->counts.evictions;
  }
  unlocked(r);
}
