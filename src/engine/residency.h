/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Which parameters are in memory (engine specification 5.18): loaded on demand, once however many ask, counted, evicted by budget and
 *  idleness, never while in use. The size charged is kept with the entry and given back as it was.
 *
 *  Who comes first loads; a caller that gives up while it waits for memory hands over to the next. A load is stopped when all who wait
 *  for it are cancelled (cuzk_residency_kick). Take the parameters before a job's inputs: budget.h says why.
 *  Threads  all functions from any thread. Tests: engine/test_residency.c. */
#ifndef CUZK_ENGINE_RESIDENCY_H
#define CUZK_ENGINE_RESIDENCY_H
#include "engine/budget.h"
#include "timeline/recorder.h"

struct cuzk_residency;
struct cuzk_srs_ref; /* one user of one circuit's parameters */

struct cuzk_residency_options {
  struct cuzk_clock *clock;
  struct cuzk_budget *budget; /* becomes its evictor */
  struct cuzk_recorder *recorder;
  struct cuzk_prover prover;
  uint64_t min_idle_ns; /* younger entries are not evicted unless nothing runs */
};
enum cuzk_status cuzk_residency_create(struct cuzk_residency **out, const struct cuzk_residency_options *o);
/** Unloads everything; no reference is left. */
void cuzk_residency_destroy(struct cuzk_residency **r);
void cuzk_residency_set_min_idle(struct cuzk_residency *r, uint64_t ns);
/** What a job of that circuit needs beside the parameters (the largest said so far counts): before the first get. Unknown ids: nothing. */
void cuzk_residency_need(struct cuzk_residency *r, const char *circuit_id, uint64_t inputs_bytes, uint64_t partition_bytes);

/** A reference to the loaded parameters; loads them first if need be, in the calling thread, others wait for that load. job is for the
 *  record (NULL: preload). *loaded_ns: how long this caller was kept waiting, may be NULL.
 *  Errors: those of srs_size and srs_load, of cuzk_budget_acquire; E_CANCELLED; E_NOMEM (until). A failed load is forgotten: the next asks again. */
enum cuzk_status cuzk_residency_get(struct cuzk_residency *r, struct cuzk_srs_ref **out, const char *circuit_id, const char *job,
                                    const struct cuzk_key *key, uint64_t until, const atomic_bool *cancel, uint64_t *loaded_ns,
                                    struct cuzk_detail *d);
/** The prover's handle, valid while the reference is held. */
void *cuzk_srs_ref_handle(const struct cuzk_srs_ref *ref);
void cuzk_residency_put(struct cuzk_srs_ref **ref);
bool cuzk_residency_has(struct cuzk_residency *r, const char *circuit_id);
/** Unloads an idle circuit. *was_loaded, *freed tell. Errors: E_ARG (unknown id), E_MISMATCH (in use; the detail says by how many). */
enum cuzk_status cuzk_residency_evict(struct cuzk_residency *r, const char *circuit_id, bool *was_loaded, uint64_t *freed, struct cuzk_detail *d);
/** Wakes waiters to look at their cancel flags. */
void cuzk_residency_kick(struct cuzk_residency *r);

struct cuzk_srs_view {
  char circuit_id[24];
  bool loaded, loading;
  uint64_t bytes, last_used_ns;
  unsigned refs;
  bool evictable;
};
/** All circuits whose file exists or that are loaded; returns their number, fills up to max. */
size_t cuzk_residency_view(struct cuzk_residency *r, struct cuzk_srs_view *out, size_t max);
struct cuzk_residency_counts {
  uint64_t loads, evictions;
};
void cuzk_residency_counts(struct cuzk_residency *r, const char *circuit_id, struct cuzk_residency_counts *out); /* NULL: all */
#endif
