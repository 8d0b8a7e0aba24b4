/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "prover/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_GUARDS 64

/* first is written last when a guard is added and first when it is removed: the handler never sees half of one. */
struct guarded {
  _Atomic uintptr_t first, end;
  atomic_bool torn;
};
static struct guarded guards[N_GUARDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static bool installed;
static uintptr_t page_mask; /* page size - 1 */

/* Only what may be called in a handler: loads, stores, and mmap, which is one system call. */
static void on_bus(int sig, siginfo_t *info, void *context) {
  const uintptr_t at = (uintptr_t)info->si_addr;
  for (size_t i = 0; info->si_code == BUS_ADRERR && i < N_GUARDS; i++) {
    const uintptr_t first = atomic_load(&guards[i].first), end = atomic_load(&guards[i].end);
    if (first == 0 || at < first || at >= end) continue;
    const uintptr_t page = at & ~page_mask;
    atomic_store(&guards[i].torn, true);
    if (mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED) return;
  }
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(sig, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(sig);
  } else {
    (void)signal(sig, SIG_DFL); /* returning repeats the fault, which then ends the program */
  }
}

static bool install(void) {
  struct sigaction sa;
  const long page = sysconf(_SC_PAGESIZE);
  if (page <= 0) return false;
  page_mask = (uintptr_t)page - 1;
  memset(&sa, 0, sizeof sa);
  sa.sa_sigaction = on_bus;
  sa.sa_flags = SA_SIGINFO;
  return sigaction(SIGBUS, &sa, &before) == 0;
}

int cuzk_guard_add(const void *p, size_t n) {
  int found = -1;
  (void)pthread_mutex_lock(&lock);
  if (!installed) installed = install();
  for (int i = 0; installed && i < N_GUARDS && found < 0; i++) {
    if (atomic_load(&guards[i].first)) continue;
    atomic_store(&guards[i].torn, false);
    atomic_store(&guards[i].end, ((uintptr_t)p + n + page_mask) & ~page_mask);
    atomic_store(&guards[i].first, (uintptr_t)p);
    found = i;
  }
  (void)pthread_mutex_unlock(&lock);
  return found;
}

bool cuzk_guard_torn(int guard) { return guard >= 0 && atomic_load(&guards[guard].torn); }

void cuzk_guard_remove(int guard) {
  if (guard >= 0) atomic_store(&guards[guard].first, 0);
}
