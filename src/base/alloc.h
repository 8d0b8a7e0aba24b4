/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** All heap memory of libcuzk comes from here, so that tests can fail the n-th allocation and count what is live.
 *  Every function returns NULL on failure; sizes that overflow fail. Safe from any thread. */
#ifndef CUZK_BASE_ALLOC_H
#define CUZK_BASE_ALLOC_H
#include <stddef.h>
#include <stdint.h>

void *cuzk_malloc(size_t bytes);
/** n * size bytes of zeros; NULL if the product overflows. n or size 0 gives a unique pointer. */
void *cuzk_calloc(size_t n, size_t size);
/** n * size bytes, uninitialised; NULL if the product overflows. */
void *cuzk_malloc_array(size_t n, size_t size);
/** As realloc with an overflow check; p stays valid on failure. */
void *cuzk_realloc_array(void *p, size_t n, size_t size);
char *cuzk_strdup(const char *s);
void cuzk_free(void *p);

/** Large zeroed memory straight from the kernel (64-byte aligned or better, transparent huge pages asked for),
 *  given back to it by cuzk_big_free with the same size. bytes 0 gives NULL. */
void *cuzk_big_alloc(size_t bytes);
void cuzk_big_free(void *p, size_t bytes);

/** Overwrites n bytes with zeros in a way the compiler cannot drop. */
void cuzk_secret_clear(void *p, size_t n);

/** Test hooks. fail_at(n): the n-th allocation from now (1 is the next) and only that one fails; 0 switches it off.
 *  count(): allocations tried since the last reset by fail_at. live(): blocks allocated and not yet freed. */
void cuzk_alloc_fail_at(uint64_t n);
uint64_t cuzk_alloc_count(void);
int64_t cuzk_alloc_live(void);
#endif
