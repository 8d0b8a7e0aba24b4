/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A fixed set of worker threads that run one parallel loop at a time. The caller's thread takes part. */
#ifndef CUZK_BASE_POOL_H
#define CUZK_BASE_POOL_H
#include <stddef.h>

#include "cuzk/status.h"

struct cuzk_pool;

/** One task of a loop. worker is 0 .. cuzk_pool_workers()-1, unique among tasks that run at the same time. */
typedef void cuzk_task_fn(void *arg, size_t task, unsigned worker);

/** Starts a pool of n_workers (caller included; 0: as many as the process may use: affinity and cgroup quota).
 *  Errors: E_NOMEM, also when a thread cannot be started. */
enum cuzk_status cuzk_pool_create(struct cuzk_pool **out, unsigned n_workers);
/** Joins all threads; *pool becomes NULL; NULL is accepted. */
void cuzk_pool_destroy(struct cuzk_pool **pool);
unsigned cuzk_pool_workers(const struct cuzk_pool *pool);

/** Runs fn(arg, 0..n_tasks-1, worker), tasks claimed in increasing order, and returns when all are done. pool NULL runs
 *  all on the caller. A call from inside a task, or while another thread's loop runs, runs its loop on its caller alone:
 *  never a deadlock. All writes of the tasks are visible to the caller afterwards. */
void cuzk_pool_run(struct cuzk_pool *pool, cuzk_task_fn *fn, void *arg, size_t n_tasks);

/** CPUs this process may use: the smaller of the affinity mask and the cgroup quota (rounded up), at least 1. */
unsigned cuzk_cpu_available(void);
#endif
