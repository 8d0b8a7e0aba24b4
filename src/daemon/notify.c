/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void cuzk_notify(const char *state) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un sun = {.sun_family = AF_UNIX};
  if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof sun.sun_path) return;
  const size_t n = strlen(path);
  memcpy(sun.sun_path, path, n);
  if (path[0] == '@') sun.sun_path[0] = 0; /* the abstract name space */
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
  const ssize_t w = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sun, len);
  (void)w;
  (void)close(fd);
}

uint64_t cuzk_notify_watchdog_ms(void) {
  const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
  if (!usec || (pid && strtoll(pid, NULL, 10) != (long long)getpid())) return 0;
  const unsigned long long v = strtoull(usec, NULL, 10);
  return v < 2000 ? 0 : v / 1000;
}
