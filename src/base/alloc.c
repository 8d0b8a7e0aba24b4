/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic uint64_t n_tried;
static _Atomic uint64_t fail_at; /* 0: never */
static _Atomic int64_t n_live;

/* True when this allocation is the one the test wants to fail. */
static int tick(void) {
  uint64_t k = atomic_fetch_add_explicit(&n_tried, 1, memory_order_relaxed) + 1;
  return k == atomic_load_explicit(&fail_at, memory_order_relaxed);
}

static void *counted(void *p) {
  if (p) atomic_fetch_add_explicit(&n_live, 1, memory_order_relaxed);
  return p;
}

void *cuzk_malloc(size_t bytes) {
  if (tick()) return NULL;
  return counted(malloc(bytes ? bytes : 1));
}

void *cuzk_calloc(size_t n, size_t size) {
  if (tick()) return NULL;
  return counted(n && size ? calloc(n, size) : calloc(1, 1));
}

void *cuzk_malloc_array(size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
  return cuzk_malloc(bytes);
}

void *cuzk_realloc_array(void *p, size_t n, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || tick()) return NULL;
  void *q = realloc(p, bytes ? bytes : 1);
  return p ? q : counted(q);
}

char *cuzk_strdup(const char *s) {
  size_t n = strlen(s) + 1;
  char *p = cuzk_malloc(n);
  if (p) memcpy(p, s, n);
  return p;
}

void cuzk_free(void *p) {
  if (!p) return;
  atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
  free(p);
}

void *cuzk_big_alloc(size_t bytes) {
  if (!bytes || tick()) return NULL;
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  if (bytes >= (size_t)4 << 20) (void)madvise(p, bytes, MADV_HUGEPAGE);
  return counted(p);
}

void cuzk_big_free(void *p, size_t bytes) {
  if (!p) return;
  atomic_fetch_sub_explicit(&n_live, 1, memory_order_relaxed);
  (void)munmap(p, bytes);
}

void cuzk_secret_clear(void *p, size_t n) {
  memset(p, 0, n);
  __asm__ __volatile__("" : : "r"(p) : "memory");
}

void cuzk_alloc_fail_at(uint64_t n) {
  atomic_store(&n_tried, 0);
  atomic_store(&fail_at, n);
}

uint64_t cuzk_alloc_count(void) { return atomic_load(&n_tried); }
int64_t cuzk_alloc_live(void) { return atomic_load(&n_live); }
