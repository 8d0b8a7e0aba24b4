/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct cuzk_pool {
  pthread_mutex_t lock;     /* guards generation, n_busy, stop */
  pthread_cond_t wake;      /* a loop starts, or stop */
  pthread_cond_t idle;      /* n_busy fell to 0 */
  pthread_mutex_t loop;     /* held by the thread whose loop runs */
  unsigned n_workers;       /* fixed after creation; caller included */
  unsigned n_threads;       /* started threads, n_workers - 1 when complete */
  unsigned long generation; /* loops started so far */
  unsigned n_busy;          /* threads that have not finished the current loop */
  bool stop;
  cuzk_task_fn *fn; /* the current loop; written before generation grows */
  void *arg;
  size_t n_tasks;
  _Atomic size_t next;
  pthread_t threads[];
};

static _Thread_local bool inside_task;

struct start {
  struct cuzk_pool *pool;
  unsigned worker;
};

static void drain(struct cuzk_pool *p, unsigned worker) {
  inside_task = true;
  for (;;) {
    size_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
    if (i >= p->n_tasks) break;
    p->fn(p->arg, i, worker);
  }
  inside_task = false;
}

static void *worker_main(void *v) {
  struct start s = *(struct start *)v;
  cuzk_free(v);
  struct cuzk_pool *p = s.pool;
  unsigned long seen = 0;
  (void)pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->stop && p->generation == seen) (void)pthread_cond_wait(&p->wake, &p->lock);
    if (p->stop) break;
    seen = p->generation;
    (void)pthread_mutex_unlock(&p->lock);
    drain(p, s.worker);
    (void)pthread_mutex_lock(&p->lock);
    if (--p->n_busy == 0) (void)pthread_cond_signal(&p->idle);
  }
  (void)pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* CPUs of cgroup v2's cpu.max, rounded up; 0 when there is no limit or no such file. */
static unsigned cgroup_cpus(void) {
  FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!f) return 0;
  unsigned long long quota = 0, period = 0;
  int n = fscanf(f, "%llu %llu", &quota, &period);
  (void)fclose(f);
  if (n != 2 || period == 0 || quota == 0) return 0;
  unsigned long long c = (quota + period - 1) / period;
  return c > 4096 ? 4096 : (unsigned)c;
}

unsigned cuzk_cpu_available(void) {
  cpu_set_t set;
  unsigned n = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = (unsigned)CPU_COUNT(&set);
  unsigned q = cgroup_cpus();
  if (q && q < n) n = q;
  return n ? n : 1;
}

enum cuzk_status cuzk_pool_create(struct cuzk_pool **out, unsigned n_workers) {
  *out = NULL;
  if (n_workers == 0) n_workers = cuzk_cpu_available();
  if (n_workers > 4096) return CUZK_E_ARG;
  struct cuzk_pool *p = cuzk_calloc(1, sizeof *p + (n_workers - 1) * sizeof(pthread_t));
  if (!p) return CUZK_E_NOMEM;
  (void)pthread_mutex_init(&p->lock, NULL);
  (void)pthread_mutex_init(&p->loop, NULL);
  (void)pthread_cond_init(&p->wake, NULL);
  (void)pthread_cond_init(&p->idle, NULL);
  p->n_workers = n_workers;
  for (unsigned i = 1; i < n_workers; i++) {
    struct start *s = cuzk_malloc(sizeof *s);
    if (s) *s = (struct start){p, i};
    if (!s || pthread_create(&p->threads[i - 1], NULL, worker_main, s) != 0) {
      cuzk_free(s);
      cuzk_pool_destroy(&p);
      return CUZK_E_NOMEM;
    }
    p->n_threads++;
  }
  *out = p;
  return CUZK_OK;
}

void cuzk_pool_destroy(struct cuzk_pool **pool) {
  struct cuzk_pool *p = *pool;
  if (!p) return;
  (void)pthread_mutex_lock(&p->lock);
  p->stop = true;
  (void)pthread_cond_broadcast(&p->wake);
  (void)pthread_mutex_unlock(&p->lock);
  for (unsigned i = 0; i < p->n_threads; i++) (void)pthread_join(p->threads[i], NULL);
  (void)pthread_cond_destroy(&p->wake);
  (void)pthread_cond_destroy(&p->idle);
  (void)pthread_mutex_destroy(&p->lock);
  (void)pthread_mutex_destroy(&p->loop);
  cuzk_free(p);
  *pool = NULL;
}

unsigned cuzk_pool_workers(const struct cuzk_pool *pool) { return pool ? pool->n_workers : 1; }

void cuzk_pool_run(struct cuzk_pool *p, cuzk_task_fn *fn, void *arg, size_t n_tasks) {
  if (!p || n_tasks <= 1 || p->n_workers == 1 || inside_task || pthread_mutex_trylock(&p->loop) != 0) {
    for (size_t i = 0; i < n_tasks; i++) fn(arg, i, 0);
    return;
  }
  (void)pthread_mutex_lock(&p->lock);
  p->fn = fn;
  p->arg = arg;
  p->n_tasks = n_tasks;
  atomic_store_explicit(&p->next, 0, memory_order_relaxed);
  p->n_busy = p->n_threads;
  p->generation++;
  (void)pthread_cond_broadcast(&p->wake);
  (void)pthread_mutex_unlock(&p->lock);
  drain(p, 0);
  (void)pthread_mutex_lock(&p->lock);
  while (p->n_busy != 0) (void)pthread_cond_wait(&p->idle, &p->lock);
  (void)pthread_mutex_unlock(&p->lock);
  (void)pthread_mutex_unlock(&p->loop);
}
