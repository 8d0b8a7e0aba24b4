// SPDX-License-Identifier: MIT OR Apache-2.0
// Sends the C++ allocations of libraries through base/alloc.h, so that a test program that links this file can fail them, too.
#include <cstdlib>
#include <new>

extern "C" {
void *cuzk_malloc(size_t bytes);
void cuzk_free(void *p);
}

void *operator new(size_t n, const std::nothrow_t &) noexcept { return cuzk_malloc(n); }
void *operator new[](size_t n, const std::nothrow_t &) noexcept { return cuzk_malloc(n); }
// As the standard has it: a handler may find memory, and without one there is nothing left to do.
static void *insist(size_t n) {
  for (;;) {
    void *p = cuzk_malloc(n);
    if (p) return p;
    const std::new_handler more = std::get_new_handler();
    if (!more) std::abort();  // a library that allocates this way could not report the failure
    more();
  }
}
void *operator new(size_t n) { return insist(n); }
void *operator new[](size_t n) { return insist(n); }
void operator delete(void *p) noexcept { cuzk_free(p); }
void operator delete[](void *p) noexcept { cuzk_free(p); }
void operator delete(void *p, size_t) noexcept { cuzk_free(p); }
void operator delete[](void *p, size_t) noexcept { cuzk_free(p); }
