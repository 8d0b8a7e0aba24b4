/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Preloaded by test_memory.py: the FAIL_AT-th allocation of the process, whoever asks for it, fails. At the end the number of those
 * asked for is written to descriptor 2 where FAIL_COUNT is set. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own names: dlsym itself allocates, so the usual way to the next malloc would not end. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static _Atomic long asked;
static long fail_at;

__attribute__((constructor)) static void start(void) {
  const char *s = getenv("FAIL_AT");
  atomic_store(&asked, 0);
  fail_at = s ? atol(s) : 0;
}

__attribute__((destructor)) static void end(void) {
  char text[32];
  if (!getenv("FAIL_COUNT")) return;
  const int n = snprintf(text, sizeof text, "\nasked %ld\n", atomic_load(&asked));
  if (write(STDERR_FILENO, text, (size_t)n) < 0) return;
}

static int refused(void) {
  if (atomic_fetch_add(&asked, 1) + 1 != fail_at) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t n) { return refused() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return refused() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return refused() ? NULL : __libc_realloc(p, n); }

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset) {
  static void *(*next)(void *, size_t, int, int, int, off_t);
  if (!next) *(void **)&next = dlsym(RTLD_NEXT, "mmap");
  return refused() ? MAP_FAILED : next(at, n, prot, flags, fd, offset);
}
