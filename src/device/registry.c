/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "device/device.h"

static const struct cuzk_device_ops *const backends[] = {
#ifdef CUZK_WITH_CUDA
    &cuzk_device_cuda,
#endif
    &cuzk_device_cpu,
};
#define N_BACKENDS (sizeof backends / sizeof *backends)

const struct cuzk_device_ops *cuzk_device_backend_at(size_t i) { return i < N_BACKENDS ? backends[i] : NULL; }

/* "cpu, cuda:0 (NVIDIA ...)": what there is, cut to fit. */
static void list_devices(char *out, size_t n) {
  size_t at = 0;
  out[0] = 0;
  for (size_t i = 0; i < N_BACKENDS; i++) {
    const unsigned count = backends[i]->count();
    for (unsigned k = 0; k < count && at + 1 < n; k++) {
      struct cuzk_device_desc desc;
      const bool known = backends[i]->describe(k, &desc, NULL) == CUZK_OK;
      const int m = count == 1 && backends[i] == &cuzk_device_cpu
                        ? snprintf(out + at, n - at, "%s%s", at ? ", " : "", backends[i]->name)
                        : snprintf(out + at, n - at, "%s%s:%u (%s)", at ? ", " : "", backends[i]->name, k, known ? desc.name : "unknown");
      at += m > 0 ? (size_t)m : 0;
    }
  }
}

/* Does what follows the colon name device k? */
static bool names(const struct cuzk_device_ops *ops, unsigned k, const char *id) {
  struct cuzk_device_desc desc;
  char *end;
  if (*id >= '0' && *id <= '9') {
    const unsigned long n = strtoul(id, &end, 10);
    if (!*end && n == k) return true;
  }
  return ops->describe(k, &desc, NULL) == CUZK_OK && ((desc.uuid[0] && !strcmp(desc.uuid, id)) || (desc.pci[0] && !strcmp(desc.pci, id)));
}

enum cuzk_status cuzk_device_find(const struct cuzk_device_ops **ops, unsigned *index, const char *spec, struct cuzk_detail *d) {
  char there[300];
  *ops = NULL;
  *index = 0;
  if (!strcmp(spec, "auto")) {
    for (size_t i = 0; i < N_BACKENDS; i++) {
      if (backends[i]->count() == 0) continue;
      *ops = backends[i];
      return CUZK_OK;
    }
  }
  for (size_t i = 0; i < N_BACKENDS; i++) {
    const size_t n = strlen(backends[i]->name);
    if (strncmp(spec, backends[i]->name, n) != 0 || (spec[n] && spec[n] != ':')) continue;
    const unsigned count = backends[i]->count();
    for (unsigned k = 0; k < count; k++) {
      if (spec[n] && !names(backends[i], k, spec + n + 1)) continue;
      *ops = backends[i];
      *index = k;
      return CUZK_OK;
    }
  }
  list_devices(there, sizeof there);
  return cuzk_fail(d, CUZK_E_ARG, "no device \"%.80s\"; there is: %s", spec, there);
}
