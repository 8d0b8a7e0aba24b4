/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

enum cuzk_status cuzk_random_bytes(void *p, size_t n) {
  unsigned char *b = p;
  while (n) {
    ssize_t k = getrandom(b, n, 0);
    if (k < 0) {
      if (errno == EINTR) continue;
      return CUZK_E_IO;
    }
    b += k;
    n -= (size_t)k;
  }
  return CUZK_OK;
}
