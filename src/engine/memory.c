/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "engine/budget.h"

#define PATH_BYTES 4600

/* The beginning of a small file as a string. */
static bool read_text(char *out, size_t n, const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t at = 0;
  while (at < n - 1) {
    ssize_t k = read(fd, out + at, n - 1 - at);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) at = 0;
    if (k <= 0) break;
    at += (size_t)k;
  }
  (void)close(fd);
  out[at] = 0;
  return at > 0;
}

/* A decimal number; one that is too large counts as the largest. NULL: none here. */
static const char *number(const char *p, uint64_t *v) {
  if (*p < '0' || *p > '9') return NULL;
  *v = 0;
  for (; *p >= '0' && *p <= '9'; p++) {
    unsigned digit = (unsigned)(*p - '0');
    *v = *v > (UINT64_MAX - digit) / 10 ? UINT64_MAX : 10 * *v + digit;
  }
  return p;
}

static void least(uint64_t *min, uint64_t v) {
  if (v < *min) *min = v;
}

static void look_at_meminfo(const char *root, uint64_t *min) {
  char path[PATH_BYTES], text[4096];
  (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
  if (!read_text(text, sizeof text, path)) return;
  const char *p = strncmp(text, "MemTotal:", 9) == 0 ? text : strstr(text, "\nMemTotal:");
  if (!p) return;
  p = strchr(p, ':') + 1;
  while (*p == ' ' || *p == '\t') p++;
  uint64_t kib;
  const char *end = number(p, &kib);
  if (end && strncmp(end, " kB", 3) == 0 && kib < UINT64_MAX >> 10) least(min, kib << 10);
}

/* The limits of a group and of all groups above it, as far as they are visible: a container sees its own group as "/", or a path of the
 * host that leads nowhere inside, then only the root of the mount says something. */
static void look_at_group(const char *root, const char *mount, const char *group, size_t n, const char *file, uint64_t *min) {
  char path[PATH_BYTES], text[64];
  if (n >= 4096) n = 0;
  for (size_t i = 0; i + 1 < n; i++)
    if (group[i] == '.' && group[i + 1] == '.') n = 0; /* the group lies outside what is visible */
  for (;;) {
    while (n > 0 && group[n - 1] == '/') n--;
    (void)snprintf(path, sizeof path, "%.256s%s%.*s/%s", root, mount, (int)n, group, file);
    uint64_t v;
    if (read_text(text, sizeof text, path) && number(text, &v)) least(min, v); /* "max" is no number */
    if (n == 0) return;
    while (n > 0 && group[n - 1] != '/') n--;
  }
}

static bool names_memory(const char *controllers, size_t n) {
  static const char memory[] = "memory";
  for (size_t i = 0; i < n;) {
    size_t k = 0;
    while (i + k < n && controllers[i + k] != ',') k++;
    if (k == sizeof memory - 1 && strncmp(controllers + i, memory, k) == 0) return true;
    i += k + 1;
  }
  return false;
}

static void look_at_groups(const char *root, uint64_t *min) {
  char path[PATH_BYTES], text[16384];
  (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!read_text(text, sizeof text, path)) return;
  /* hierarchy:controllers:/path, one a line; version 2 has number 0 and no controllers. */
  for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
    end = line + strcspn(line, "\n");
    const char *a = memchr(line, ':', (size_t)(end - line));
    const char *b = a ? memchr(a + 1, ':', (size_t)(end - a - 1)) : NULL;
    if (!b) continue;
    const char *group = b + 1;
    size_t n = (size_t)(end - group);
    if (b == a + 1) {
      look_at_group(root, "/sys/fs/cgroup", group, n, "memory.max", min);
      look_at_group(root, "/sys/fs/cgroup/unified", group, n, "memory.max", min);
    } else if (names_memory(a + 1, (size_t)(b - a - 1))) {
      look_at_group(root, "/sys/fs/cgroup/memory", group, n, "memory.limit_in_bytes", min);
    }
  }
}

enum cuzk_status cuzk_memory_detect(uint64_t *bytes, const char *root, struct cuzk_detail *d) {
  *bytes = 0;
  uint64_t min = UINT64_MAX;
  look_at_meminfo(root, &min);
  look_at_groups(root, &min);
  if (min == UINT64_MAX)
    return cuzk_fail(d, CUZK_E_IO, "%s/proc/meminfo: no MemTotal, and no memory limit of a control group; set the memory budget explicitly", root);
  *bytes = min;
  return CUZK_OK;
}
