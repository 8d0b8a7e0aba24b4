/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "timeline/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/hex.h"
#include "timeline/recorder.h"

#define WINDOW UINT64_C(60000) /* an event further back than this starts a new run */
#define SLOTS 65536            /* more than WINDOW + 1, a power of two */
#define LINE_MAX_BYTES 65536   /* longer lines are malformed */
#define NO_INDEX UINT32_MAX

enum { EV_CHAN_SEND = CUZK_N_EVENTS, EV_UNKNOWN };

/* One event, parsed. */
struct event {
  uint64_t t;
  uint32_t line, job, next; /* next: in its slot */
  int32_t partition, worker, gpu, kind;
  uint32_t gpu_ms, lock_ms;
  uint8_t type;
  bool failed;
};

/* Attempts in work, by job and partition, oldest first. */
struct open {
  uint32_t job, part; /* part: index of the attempt; NO_INDEX: free */
  int32_t partition;
  uint32_t next; /* next free, or next in the chain */
};

struct cuzk_tl_reader {
  cuzk_tl_run_fn *fn;
  void *user;
  struct cuzk_tl_run run;
  bool started; /* run holds something */
  unsigned n_runs;
  char *rest; /* a line without its end yet */
  size_t n_rest;
  bool too_long; /* and it is longer than a line may be */
  /* events in the window: a list a millisecond */
  uint32_t *head, *tail;
  struct event *pool;
  uint32_t n_pool, cap_pool, free_event, n_waiting;
  uint64_t low, high; /* the window's first slot, the highest offset */
  /* job ids */
  uint32_t *job_hash, job_mask;
  /* attempts in work */
  uint32_t *open_hash, open_mask, n_open;
  struct open *open;
  uint32_t n_open_pool, cap_open, free_open;
};

void cuzk_tl_run_clear(struct cuzk_tl_run *r) {
  cuzk_free(r->part);
  cuzk_free(r->job);
  cuzk_free(r->load);
  cuzk_free(r->ids);
  memset(r, 0, sizeof *r);
}

static enum cuzk_status grow(void **p, size_t *cap, size_t need, size_t size) {
  if (need <= *cap) return CUZK_OK;
  size_t n = *cap ? *cap + *cap / 2 : 256;
  if (n < need) n = need;
  void *q = cuzk_realloc_array(*p, n, size);
  if (!q) return CUZK_E_NOMEM;
  *p = q;
  *cap = n;
  return CUZK_OK;
}

static void run_init(struct cuzk_tl_reader *r) {
  memset(&r->run, 0, sizeof r->run);
  r->run.first = r->run.first_synth = CUZK_TL_NONE;
  r->started = false;
  r->low = r->high = 0;
  if (r->job_hash) memset(r->job_hash, 0xff, ((size_t)r->job_mask + 1) * sizeof *r->job_hash);
  if (r->open_hash) memset(r->open_hash, 0xff, ((size_t)r->open_mask + 1) * sizeof *r->open_hash);
  r->n_open = r->n_open_pool = 0;
  r->free_open = NO_INDEX;
}

enum cuzk_status cuzk_tl_reader_create(struct cuzk_tl_reader **out, cuzk_tl_run_fn *fn, void *user) {
  *out = NULL;
  struct cuzk_tl_reader *r = cuzk_calloc(1, sizeof *r);
  if (!r) return CUZK_E_NOMEM;
  r->fn = fn;
  r->user = user;
  r->free_event = NO_INDEX;
  r->job_mask = 1023;
  r->open_mask = 1023;
  r->head = cuzk_malloc_array(SLOTS, sizeof *r->head);
  r->tail = cuzk_malloc_array(SLOTS, sizeof *r->tail);
  r->rest = cuzk_malloc(LINE_MAX_BYTES);
  r->job_hash = cuzk_malloc_array((size_t)r->job_mask + 1, sizeof *r->job_hash);
  r->open_hash = cuzk_malloc_array((size_t)r->open_mask + 1, sizeof *r->open_hash);
  if (!r->head || !r->tail || !r->rest || !r->job_hash || !r->open_hash) {
    cuzk_tl_reader_destroy(&r);
    return CUZK_E_NOMEM;
  }
  memset(r->head, 0xff, SLOTS * sizeof *r->head);
  run_init(r);
  *out = r;
  return CUZK_OK;
}

void cuzk_tl_reader_destroy(struct cuzk_tl_reader **rp) {
  struct cuzk_tl_reader *r = *rp;
  if (!r) return;
  cuzk_tl_run_clear(&r->run);
  cuzk_free(r->head);
  cuzk_free(r->tail);
  cuzk_free(r->rest);
  cuzk_free(r->pool);
  cuzk_free(r->job_hash);
  cuzk_free(r->open_hash);
  cuzk_free(r->open);
  cuzk_free(r);
  *rp = NULL;
}

/* ---- jobs ---- */

static uint32_t hash_bytes(const char *s, size_t n) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * UINT64_C(0x100000001b3);
  return (uint32_t)(h ^ (h >> 32));
}

static enum cuzk_status job_rehash(struct cuzk_tl_reader *r) {
  const uint32_t mask = r->job_mask * 2 + 1;
  uint32_t *h = cuzk_malloc_array((size_t)mask + 1, sizeof *h);
  if (!h) return CUZK_E_NOMEM;
  memset(h, 0xff, ((size_t)mask + 1) * sizeof *h);
  for (uint32_t j = 0; j < r->run.n_jobs; j++) {
    const char *id = r->run.ids + r->run.job[j].id;
    uint32_t at = hash_bytes(id, strlen(id)) & mask;
    while (h[at] != NO_INDEX) at = (at + 1) & mask;
    h[at] = j;
  }
  cuzk_free(r->job_hash);
  r->job_hash = h;
  r->job_mask = mask;
  return CUZK_OK;
}

/* Index of the job with this id (decoded); "-" is none. */
static enum cuzk_status job_intern(struct cuzk_tl_reader *r, uint32_t *out, const char *id, size_t n) {
  struct cuzk_tl_run *run = &r->run;
  *out = NO_INDEX;
  if (n == 1 && id[0] == '-') return CUZK_OK;
  uint32_t at = hash_bytes(id, n) & r->job_mask;
  for (; r->job_hash[at] != NO_INDEX; at = (at + 1) & r->job_mask) {
    const char *known = run->ids + run->job[r->job_hash[at]].id;
    if (!strncmp(known, id, n) && !known[n]) {
      *out = r->job_hash[at];
      return CUZK_OK;
    }
  }
  if (run->n_jobs >= NO_INDEX - 1 || run->n_ids > UINT32_MAX - LINE_MAX_BYTES) return CUZK_E_UNSUPPORTED;
  if (grow((void **)&run->job, &run->cap_jobs, run->n_jobs + 1, sizeof *run->job) != CUZK_OK) return CUZK_E_NOMEM;
  if (grow((void **)&run->ids, &run->cap_ids, run->n_ids + n + 1, 1) != CUZK_OK) return CUZK_E_NOMEM;
  struct cuzk_tl_job *j = &run->job[run->n_jobs];
  *j = (struct cuzk_tl_job){.id = (uint32_t)run->n_ids, .kind = -1, .first = CUZK_TL_NONE, .last = CUZK_TL_NONE, .submit = CUZK_TL_NONE,
                            .prep = CUZK_TL_NONE, .verify0 = CUZK_TL_NONE, .verify1 = CUZK_TL_NONE, .end = CUZK_TL_NONE};
  memcpy(run->ids + run->n_ids, id, n);
  run->ids[run->n_ids + n] = 0;
  run->n_ids += n + 1;
  *out = r->job_hash[at] = (uint32_t)run->n_jobs++;
  return run->n_jobs * 2 > r->job_mask ? job_rehash(r) : CUZK_OK;
}

/* ---- attempts in work ---- */

static uint32_t open_slot(const struct cuzk_tl_reader *r, uint32_t job, int32_t partition) {
  uint64_t h = ((uint64_t)job << 20 ^ (uint32_t)partition) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(h >> 32) & r->open_mask;
}

static enum cuzk_status open_rehash(struct cuzk_tl_reader *r) {
  const uint32_t old = r->open_mask, mask = old * 2 + 1;
  uint32_t *h = cuzk_malloc_array((size_t)mask + 1, sizeof *h), *was = r->open_hash;
  if (!h) return CUZK_E_NOMEM;
  memset(h, 0xff, ((size_t)mask + 1) * sizeof *h);
  r->open_hash = h;
  r->open_mask = mask;
  for (uint32_t s = 0; s <= old; s++) {
    for (uint32_t o = was[s], next; o != NO_INDEX; o = next) { /* chains keep their order */
      next = r->open[o].next;
      r->open[o].next = NO_INDEX;
      uint32_t *link = &h[open_slot(r, r->open[o].job, r->open[o].partition)];
      while (*link != NO_INDEX) link = &r->open[*link].next;
      *link = o;
    }
  }
  cuzk_free(was);
  return CUZK_OK;
}

static enum cuzk_status part_new(struct cuzk_tl_reader *r, uint32_t *out, const struct event *e) {
  struct cuzk_tl_run *run = &r->run;
  if (run->n_parts >= NO_INDEX - 1) return CUZK_E_UNSUPPORTED;
  if (grow((void **)&run->part, &run->cap_parts, run->n_parts + 1, sizeof *run->part) != CUZK_OK) return CUZK_E_NOMEM;
  run->part[run->n_parts] = (struct cuzk_tl_part){
      .budget0 = CUZK_TL_NONE, .budget1 = CUZK_TL_NONE, .synth0 = CUZK_TL_NONE, .synth1 = CUZK_TL_NONE, .ready = CUZK_TL_NONE,
      .pickup = CUZK_TL_NONE, .gpu0 = CUZK_TL_NONE, .kernel0 = CUZK_TL_NONE, .kernel1 = CUZK_TL_NONE, .fin = CUZK_TL_NONE,
      .gpu1 = CUZK_TL_NONE, .job = e->job, .gpu_ms = UINT32_MAX, .partition = e->partition, .worker = -1, .gpu = -1};
  *out = (uint32_t)run->n_parts++;
  return CUZK_OK;
}

static enum cuzk_status part_open(struct cuzk_tl_reader *r, uint32_t *out, const struct event *e) {
  if (r->n_open > r->open_mask) {
    const enum cuzk_status st = open_rehash(r);
    if (st != CUZK_OK) return st;
  }
  uint32_t o = r->free_open;
  if (o != NO_INDEX) {
    r->free_open = r->open[o].next;
  } else {
    size_t cap = r->cap_open;
    if (grow((void **)&r->open, &cap, (size_t)r->n_open_pool + 1, sizeof *r->open) != CUZK_OK) return CUZK_E_NOMEM;
    r->cap_open = (uint32_t)cap;
    o = r->n_open_pool++;
  }
  const enum cuzk_status st = part_new(r, out, e);
  if (st != CUZK_OK) {
    r->open[o].next = r->free_open;
    r->free_open = o;
    return st;
  }
  r->open[o] = (struct open){.job = e->job, .part = *out, .partition = e->partition, .next = NO_INDEX};
  uint32_t *link = &r->open_hash[open_slot(r, e->job, e->partition)];
  while (*link != NO_INDEX) link = &r->open[*link].next;
  *link = o;
  r->n_open++;
  if (e->job != NO_INDEX) r->run.job[e->job].n_open++;
  return CUZK_OK;
}

static void part_close(struct cuzk_tl_reader *r, uint32_t part) {
  const struct cuzk_tl_part *p = &r->run.part[part];
  for (uint32_t *link = &r->open_hash[open_slot(r, p->job, p->partition)]; *link != NO_INDEX; link = &r->open[*link].next) {
    const uint32_t o = *link;
    if (r->open[o].part != part) continue;
    *link = r->open[o].next;
    r->open[o].next = r->free_open;
    r->free_open = o;
    r->n_open--;
    if (p->job != NO_INDEX) r->run.job[p->job].n_open--;
    return;
  }
}

static bool unset(uint64_t t) { return t == CUZK_TL_NONE; }

/* Does attempt p wait for this event? Equal ids are paired first in, first out. */
static bool wants(const struct cuzk_tl_part *p, const struct event *e) {
  const bool mine = e->worker < 0 || p->worker < 0 || p->worker == e->worker;
  switch (e->type) {
    case CUZK_EV_BUDGET_WAIT: return unset(p->budget0) && unset(p->synth0) && unset(p->gpu0);
    case CUZK_EV_BUDGET_OK: return !unset(p->budget0) && unset(p->budget1);
    case CUZK_EV_SYNTH_START: return unset(p->synth0) && unset(p->ready) && unset(p->pickup) && unset(p->gpu0);
    case CUZK_EV_SYNTH_END: return !unset(p->synth0) && unset(p->synth1);
    case CUZK_EV_GPU_QUEUE:
    case EV_CHAN_SEND: return unset(p->ready) && unset(p->pickup) && unset(p->gpu0);
    case CUZK_EV_GPU_PICKUP: return unset(p->pickup) && unset(p->gpu0);
    case CUZK_EV_GPU_START: return unset(p->gpu0) && mine;
    case CUZK_EV_KERNEL_START: return unset(p->kernel0) && mine;
    case CUZK_EV_KERNEL_END: return !unset(p->kernel0) && unset(p->kernel1) && mine;
    case CUZK_EV_FIN_START: return unset(p->fin) && (!unset(p->kernel1) || !unset(p->gpu0)) && mine;
    case CUZK_EV_GPU_END: return !unset(p->gpu0) && mine;
    case CUZK_EV_PART_FAIL: return true;
    default: return false;
  }
}

static uint32_t find_open(const struct cuzk_tl_reader *r, const struct event *e) {
  for (uint32_t o = r->open_hash[open_slot(r, e->job, e->partition)]; o != NO_INDEX; o = r->open[o].next)
    if (r->open[o].job == e->job && r->open[o].partition == e->partition && wants(&r->run.part[r->open[o].part], e)) return r->open[o].part;
  return NO_INDEX;
}

/* An attempt that was queued or picked up, but not started. */
static uint32_t find_picked(const struct cuzk_tl_reader *r, const struct event *e) {
  for (uint32_t o = r->open_hash[open_slot(r, e->job, e->partition)]; o != NO_INDEX; o = r->open[o].next) {
    const struct cuzk_tl_part *p = &r->run.part[r->open[o].part];
    if (r->open[o].job != e->job || r->open[o].partition != e->partition || !unset(p->gpu0)) continue;
    if ((!unset(p->ready) || !unset(p->pickup)) && (e->worker < 0 || p->worker < 0 || p->worker == e->worker)) return r->open[o].part;
  }
  return NO_INDEX;
}

static void close_job(struct cuzk_tl_reader *r, uint32_t job) {
  /* what the job left open, wherever it is: the numbers of its partitions are not known */
  for (uint32_t s = 0; r->run.job[job].n_open && s <= r->open_mask; s++) {
    for (uint32_t *link = &r->open_hash[s]; *link != NO_INDEX;) {
      const uint32_t o = *link;
      if (r->open[o].job != job) {
        link = &r->open[o].next;
        continue;
      }
      *link = r->open[o].next;
      r->open[o].next = r->free_open;
      r->free_open = o;
      r->n_open--;
      r->run.job[job].n_open--;
    }
  }
}

static enum cuzk_status partition_event(struct cuzk_tl_reader *r, const struct event *e) {
  struct cuzk_tl_run *run = &r->run;
  uint32_t i = find_open(r, e);
  if (i == NO_INDEX) {
    switch (e->type) {
      case CUZK_EV_BUDGET_WAIT:
      case CUZK_EV_SYNTH_START:
      case CUZK_EV_GPU_QUEUE:
      case EV_CHAN_SEND:
      case CUZK_EV_GPU_PICKUP:
      case CUZK_EV_GPU_START:
      case CUZK_EV_KERNEL_START: {
        const enum cuzk_status st = part_open(r, &i, e);
        if (st != CUZK_OK) return st;
        break;
      }
      case CUZK_EV_GPU_END: {
        if (e->gpu_ms == UINT32_MAX) {
          run->orphans++;
          return CUZK_OK;
        }
        i = find_picked(r, e); /* only GPU_START is missing */
        if (i != NO_INDEX) {
          part_close(r, i);
        } else {
          const enum cuzk_status st = part_new(r, &i, e);
          if (st != CUZK_OK) return st;
        }
        struct cuzk_tl_part *p = &run->part[i];
        p->gpu0 = e->t > e->gpu_ms ? e->t - e->gpu_ms : 0;
        p->start_line = e->line;
        p->flags |= CUZK_TL_INFERRED;
        run->inferred++;
        break;
      }
      case CUZK_EV_KERNEL_END:
        run->orphans++;
        return CUZK_OK;
      default:
        return CUZK_OK;
    }
  }
  struct cuzk_tl_part *p = &run->part[i];
  if (e->worker >= 0) p->worker = (int16_t)e->worker;
  if (e->gpu >= 0) p->gpu = (int16_t)e->gpu;
  switch (e->type) {
    case CUZK_EV_BUDGET_WAIT: p->budget0 = e->t; break;
    case CUZK_EV_BUDGET_OK: p->budget1 = e->t; break;
    case CUZK_EV_SYNTH_START: p->synth0 = e->t; break;
    case CUZK_EV_SYNTH_END: p->synth1 = e->t; break;
    case CUZK_EV_GPU_QUEUE:
    case EV_CHAN_SEND: p->ready = e->t; break;
    case CUZK_EV_GPU_PICKUP: p->pickup = e->t; break;
    case CUZK_EV_GPU_START:
      p->gpu0 = e->t;
      p->start_line = e->line;
      run->unfinished++;
      break;
    case CUZK_EV_KERNEL_START:
      p->kernel0 = e->t;
      p->kernel_line = e->line;
      run->has_kernel = true;
      break;
    case CUZK_EV_KERNEL_END: p->kernel1 = e->t; break;
    case CUZK_EV_FIN_START: p->fin = e->t; break;
    case CUZK_EV_GPU_END:
      p->gpu1 = e->t;
      p->gpu_ms = e->gpu_ms;
      p->lock_ms = e->lock_ms;
      p->end_line = e->line;
      if (e->failed) {
        p->flags |= CUZK_TL_FAILED;
        run->failed++;
      }
      if (!(p->flags & CUZK_TL_INFERRED)) {
        run->unfinished--;
        part_close(r, i);
      }
      break;
    case CUZK_EV_PART_FAIL:
      if (e->job != NO_INDEX) run->job[e->job].failed++;
      if (unset(p->gpu0)) part_close(r, i); /* failed before the device: nothing more comes of this attempt */
      break;
    default: break;
  }
  return CUZK_OK;
}

static enum cuzk_status apply(struct cuzk_tl_reader *r, const struct event *e) {
  struct cuzk_tl_run *run = &r->run;
  run->n_events++;
  if (e->job != NO_INDEX) {
    struct cuzk_tl_job *j = &run->job[e->job];
    if (unset(j->first)) j->first = e->t;
    if (unset(j->end)) j->last = e->t;
    if (e->kind >= 0) j->kind = e->kind;
  }
  if ((e->type == CUZK_EV_SYNTH_START || e->type == CUZK_EV_JOB_SUBMIT) && unset(run->first_synth)) run->first_synth = e->t;
  struct cuzk_tl_job *j = e->job == NO_INDEX ? NULL : &run->job[e->job];
  switch (e->type) {
    case CUZK_EV_JOB_SUBMIT:
      if (j && (unset(j->submit) || !unset(j->end))) { /* an id that is used again starts anew only if its first run ended */
        j->submit = e->t;
        if (!unset(j->end)) {
          j->end = j->prep = j->verify0 = j->verify1 = CUZK_TL_NONE;
          j->last = e->t;
        }
      }
      return CUZK_OK;
    case CUZK_EV_JOB_PREP:
      if (j) j->prep = e->t;
      return CUZK_OK;
    case CUZK_EV_VERIFY_START:
      if (j) j->verify0 = e->t;
      return CUZK_OK;
    case CUZK_EV_VERIFY_END:
      if (j) j->verify1 = e->t;
      return CUZK_OK;
    case CUZK_EV_JOB_DONE:
    case CUZK_EV_JOB_FAIL:
    case CUZK_EV_JOB_CANCEL:
      if (j) {
        j->end = j->last = e->t;
        j->ended = e->type == CUZK_EV_JOB_DONE ? 'D' : e->type == CUZK_EV_JOB_FAIL ? 'F' : 'C';
        if (e->type != CUZK_EV_JOB_DONE) close_job(r, e->job);
      }
      return CUZK_OK;
    case CUZK_EV_SRS_LOAD:
      if (grow((void **)&run->load, &run->cap_loads, run->n_loads + 1, sizeof *run->load) != CUZK_OK) return CUZK_E_NOMEM;
      run->load[run->n_loads++] = (struct cuzk_tl_load){.start = e->t, .end = CUZK_TL_NONE, .job = e->job};
      return CUZK_OK;
    case CUZK_EV_SRS_READY:
      for (size_t i = run->n_loads; i-- > 0;)
        if (run->load[i].job == e->job && unset(run->load[i].end)) {
          run->load[i].end = e->t;
          break;
        }
      return CUZK_OK;
    default:
      return partition_event(r, e);
  }
}

/* ---- the window: lines into order ---- */

static enum cuzk_status flush_to(struct cuzk_tl_reader *r, uint64_t low) {
  enum cuzk_status st = CUZK_OK;
  while (r->low < low && r->n_waiting) {
    uint32_t *head = &r->head[r->low % SLOTS];
    for (uint32_t i = *head, next; i != NO_INDEX; i = next) {
      const struct event e = r->pool[i];
      next = e.next;
      r->pool[i].next = r->free_event;
      r->free_event = i;
      r->n_waiting--;
      if (st == CUZK_OK) st = apply(r, &e);
    }
    *head = NO_INDEX;
    r->low++;
  }
  if (r->low < low) r->low = low;
  return st;
}

static enum cuzk_status run_end(struct cuzk_tl_reader *r) {
  if (!r->started && !r->run.malformed) return CUZK_OK;
  enum cuzk_status st = flush_to(r, r->high + 1);
  r->n_pool = 0;
  r->free_event = NO_INDEX;
  if (st == CUZK_OK) {
    r->run.number = ++r->n_runs;
    st = r->fn(r->user, &r->run);
  }
  cuzk_tl_run_clear(&r->run);
  run_init(r);
  return st;
}

static enum cuzk_status enqueue(struct cuzk_tl_reader *r, struct event *e) {
  if (e->t > r->high || !r->started) r->high = e->t;
  r->started = true;
  if (r->high > WINDOW && r->low < r->high - WINDOW) {
    const enum cuzk_status st = flush_to(r, r->high - WINDOW);
    if (st != CUZK_OK) return st;
  }
  uint32_t i = r->free_event;
  if (i != NO_INDEX) {
    r->free_event = r->pool[i].next;
  } else {
    size_t cap = r->cap_pool;
    if (grow((void **)&r->pool, &cap, (size_t)r->n_pool + 1, sizeof *r->pool) != CUZK_OK) return CUZK_E_NOMEM;
    r->cap_pool = (uint32_t)cap;
    i = r->n_pool++;
  }
  e->next = NO_INDEX;
  r->pool[i] = *e;
  const size_t s = e->t % SLOTS;
  if (r->head[s] == NO_INDEX) r->head[s] = i;
  else r->pool[r->tail[s]].next = i;
  r->tail[s] = i;
  r->n_waiting++;
  return CUZK_OK;
}

/* ---- lines ---- */

static uint8_t event_type(const char *s, size_t n) {
  static const char *const names[] = {
#define CUZK_X(name) #name,
      CUZK_EVENT_MAP(CUZK_X)
#undef CUZK_X
  };
  for (unsigned i = 0; i < CUZK_N_EVENTS; i++)
    if (names[i][0] == s[0] && strlen(names[i]) == n && !memcmp(names[i], s, n)) return (uint8_t)i;
  if (n == 9 && !memcmp(s, "CHAN_SEND", 9)) return EV_CHAN_SEND;
  return EV_UNKNOWN;
}

/* Percent-decodes in place; a zero byte and what is no escape stay as they are. */
static size_t decode(char *s, size_t n) {
  size_t w = 0;
  for (size_t i = 0; i < n; i++) {
    if (s[i] == '%' && n - i > 2 && cuzk_hex_digit(s[i + 1]) >= 0 && cuzk_hex_digit(s[i + 2]) >= 0) {
      const int c = cuzk_hex_digit(s[i + 1]) * 16 + cuzk_hex_digit(s[i + 2]);
      if (c) {
        s[w++] = (char)c;
        i += 2;
        continue;
      }
    }
    s[w++] = s[i];
  }
  return w;
}

/* All digits, at least one, at most 18: no overflow. */
static bool number(const char *s, size_t n, uint64_t *out) {
  uint64_t v = 0;
  if (!n || n > 18) return false;
  for (size_t i = 0; i < n; i++) {
    if (s[i] < '0' || s[i] > '9') return false;
    v = v * 10 + (uint64_t)(s[i] - '0');
  }
  *out = v;
  return true;
}

static bool is_key(const char *s, size_t n, const char *key) { return strlen(key) == n && !memcmp(s, key, n); }

static int kind_of(const char *s, size_t n) {
  static const char *const names[4] = {"porep-c2", "snap-update", "window-post", "winning-post"};
  for (int i = 0; i < 4; i++)
    if (is_key(s, n, names[i])) return i;
  return -1;
}

struct fields {
  uint64_t wall_ms, gpus, workers_per_gpu;
  char version[32];
};

static void details(struct event *e, struct fields *f, const char *s, size_t n) {
  unsigned seen = 0; /* the first of a key counts */
  while (n) {
    const char *comma = memchr(s, ',', n);
    const size_t len = comma ? (size_t)(comma - s) : n;
    const char *eq = memchr(s, '=', len);
    if (eq) {
      const size_t k = (size_t)(eq - s), vn = len - k - 1;
      const char *v = eq + 1;
      uint64_t x = 0;
      const bool num = number(v, vn, &x);
      if (num && x <= INT32_MAX && is_key(s, k, "partition") && !(seen & 1)) e->partition = (int32_t)x, seen |= 1;
      else if (num && x <= CUZK_TL_MAX_WORKER && is_key(s, k, "worker") && !(seen & 2)) e->worker = (int32_t)x, seen |= 2;
      else if (num && x <= CUZK_TL_MAX_WORKER && is_key(s, k, "gpu") && !(seen & 4)) e->gpu = (int32_t)x, seen |= 4;
      else if (num && x < UINT32_MAX && is_key(s, k, "gpu_ms") && !(seen & 8)) e->gpu_ms = (uint32_t)x, seen |= 8;
      else if (num && x < UINT32_MAX && is_key(s, k, "lock_wait_ms") && !(seen & 512)) e->lock_ms = (uint32_t)x, seen |= 512;
      else if (is_key(s, k, "err") && vn) e->failed = true;
      else if (is_key(s, k, "kind") && !(seen & 16)) e->kind = kind_of(v, vn), seen |= 16;
      else if (num && is_key(s, k, "wall_ms") && !(seen & 32)) f->wall_ms = x, seen |= 32;
      else if (num && is_key(s, k, "gpus") && !(seen & 64)) f->gpus = x, seen |= 64;
      else if (num && is_key(s, k, "workers_per_gpu") && !(seen & 128)) f->workers_per_gpu = x, seen |= 128;
      else if (is_key(s, k, "version") && vn < sizeof f->version && !(seen & 256)) {
        memcpy(f->version, v, vn);
        f->version[vn] = 0;
        seen |= 256;
      }
    }
    if (!comma) break;
    s = comma + 1;
    n -= len + 1;
  }
}

static void timing_line(struct cuzk_tl_run *run, const char *s, size_t n) {
  static const char gpu[] = "gpu_total_ms=", held[] = "mutex_held_ms=";
  for (unsigned which = 0; which < 2; which++) {
    const char *key = which ? held : gpu, *p = memmem(s, n, key, strlen(key));
    if (!p) continue;
    uint64_t v = 0;
    for (p += strlen(key); p < s + n && *p >= '0' && *p <= '9' && v < UINT64_C(1) << 50; p++) v = v * 10 + (uint64_t)(*p - '0');
    if (which) run->mutex_sum_ms += v;
    else run->kernel_sum_ms += v, run->n_kernel_sums++;
  }
}

static enum cuzk_status take_line(struct cuzk_tl_reader *r, char *s, size_t n, bool torn) {
  static const char token[] = "TIMELINE,";
  const size_t n_token = sizeof token - 1;
  if (n && s[n - 1] == '\r') n--;
  char *p = s, *end = s + n;
  for (;;) { /* at column 0 or after a blank */
    p = memmem(p, (size_t)(end - p), token, n_token);
    if (!p || p == s || p[-1] == ' ' || p[-1] == '\t') break;
    p += n_token;
  }
  if (!p) {
    if (memmem(s, n, "CUZK_TIMING:", 12)) timing_line(&r->run, s, n);
    else if (n == n_token - 1 && !memcmp(s, token, n)) r->run.lines++, r->run.malformed++;
    return CUZK_OK;
  }
  r->run.lines++;
  if (torn) r->run.torn_end = true;
  p += n_token;
  char *field[3];
  size_t len[3];
  bool last = false;
  unsigned got = 0;
  for (; got < 3 && !last; got++) {
    char *comma = memchr(p, ',', (size_t)(end - p));
    last = !comma;
    field[got] = p;
    len[got] = (size_t)((comma ? comma : end) - p);
    p = comma ? comma + 1 : end;
  }
  struct event e = {.partition = -1, .worker = -1, .gpu = -1, .kind = -1, .gpu_ms = UINT32_MAX, .job = NO_INDEX};
  struct fields f = {0};
  if (got < 3 || !len[1] || !number(field[0], len[0], &e.t) || e.t >= CUZK_TL_NONE) {
    r->run.malformed++;
    return CUZK_OK;
  }
  e.type = event_type(field[1], len[1]);
  if (e.type == EV_UNKNOWN) r->run.unknown++;
  if (p < end) details(&e, &f, p, (size_t)(end - p));
  if (r->started && (e.type == CUZK_EV_EPOCH ? !memmem(p, (size_t)(end - p), "continued=1", 11) : e.t + WINDOW < r->high)) {
    /* counted for the run that ends; the line belongs to the next one */
    r->run.lines--;
    if (e.type == EV_UNKNOWN) r->run.unknown--;
    const bool torn_here = torn && r->run.torn_end;
    if (torn_here) r->run.torn_end = false;
    const enum cuzk_status st = run_end(r);
    if (st != CUZK_OK) return st;
    r->run.lines = 1;
    r->run.torn_end = torn_here;
    if (e.type == EV_UNKNOWN) r->run.unknown = 1;
  }
  if (r->run.lines >= UINT32_MAX - 1) return CUZK_E_UNSUPPORTED;
  e.line = (uint32_t)r->run.lines;
  if (unset(r->run.first) || e.t < r->run.first) r->run.first = e.t;
  if (e.t > r->run.last) r->run.last = e.t;
  if (e.type == CUZK_EV_EPOCH) {
    r->run.wall_ms = f.wall_ms;
    r->run.gpus = f.gpus < 4096 ? (unsigned)f.gpus : 0;
    r->run.workers_per_gpu = f.workers_per_gpu < 4096 ? (unsigned)f.workers_per_gpu : 0;
    memcpy(r->run.version, f.version, sizeof f.version);
    if (!r->started) r->high = e.t;
    r->started = true;
    return CUZK_OK;
  }
  const size_t n_id = decode(field[2], len[2]);
  const enum cuzk_status st = job_intern(r, &e.job, field[2], n_id);
  if (st != CUZK_OK) return st;
  return enqueue(r, &e);
}

enum cuzk_status cuzk_tl_reader_feed(struct cuzk_tl_reader *r, const char *data, size_t n) {
  while (n) {
    const char *nl = memchr(data, '\n', n);
    const size_t piece = nl ? (size_t)(nl - data) : n;
    if (!r->too_long) {
      if (r->n_rest + piece > LINE_MAX_BYTES) r->too_long = true;
      else {
        memcpy(r->rest + r->n_rest, data, piece);
        r->n_rest += piece;
      }
    }
    if (!nl) return CUZK_OK;
    if (r->too_long) {
      if (r->n_rest >= 9 && memmem(r->rest, r->n_rest, "TIMELINE,", 9)) r->run.lines++, r->run.malformed++;
    } else {
      const enum cuzk_status st = take_line(r, r->rest, r->n_rest, false);
      if (st != CUZK_OK) return st;
    }
    r->n_rest = 0;
    r->too_long = false;
    data = nl + 1;
    n -= piece + 1;
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_tl_reader_finish(struct cuzk_tl_reader *r) {
  if (r->n_rest && !r->too_long) {
    const enum cuzk_status st = take_line(r, r->rest, r->n_rest, true);
    r->n_rest = 0;
    if (st != CUZK_OK) return st;
  }
  return run_end(r);
}

enum cuzk_status cuzk_tl_read_file(const char *path, cuzk_tl_run_fn *fn, void *user, const struct cuzk_progress *progress,
                                   struct cuzk_detail *d) {
  enum { PIECE = 1 << 20 };
  enum cuzk_status st = CUZK_OK;
  struct cuzk_tl_reader *r = NULL;
  char *piece = cuzk_malloc(PIECE);
  const bool standard = !strcmp(path, "-");
  const int fd = standard ? 0 : open(path, O_RDONLY | O_CLOEXEC);
  uint64_t done = 0, total = 0;
  struct stat sb;
  if (fd < 0) {
    cuzk_free(piece);
    return cuzk_fail_errno(d, errno, "%s: cannot be opened", path);
  }
  if (!piece || cuzk_tl_reader_create(&r, fn, user) != CUZK_OK) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory to read it", path);
    goto out;
  }
  if (!fstat(fd, &sb) && S_ISREG(sb.st_mode)) total = (uint64_t)sb.st_size;
  for (;;) {
    const ssize_t n = read(fd, piece, PIECE);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      st = cuzk_fail_errno(d, errno, "%s: cannot be read at offset %llu", path, (unsigned long long)done);
      goto out;
    }
    if (!n) break;
    done += (uint64_t)n;
    CUZK_TRY(cuzk_tl_reader_feed(r, piece, (size_t)n));
    if (total && !cuzk_progress(progress, "reading", done < total ? done : total, total, "bytes")) {
      st = CUZK_E_CANCELLED;
      goto out;
    }
  }
  CUZK_TRY(cuzk_tl_reader_finish(r));
out:
  if (st == CUZK_E_NOMEM) (void)cuzk_fail(d, st, "%s: no memory at offset %llu", path, (unsigned long long)done);
  if (st == CUZK_E_UNSUPPORTED) (void)cuzk_fail(d, st, "%s: more jobs, lines or partitions in one run than can be counted", path);
  cuzk_tl_reader_destroy(&r);
  cuzk_free(piece);
  if (!standard) (void)close(fd);
  return st;
}
