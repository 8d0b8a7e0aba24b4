/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/address.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fail.h"
#include "rpc/grpc.h"

static bool skip(const char **s, const char *prefix) {
  const size_t n = strlen(prefix);
  if (strncmp(*s, prefix, n)) return false;
  *s += n;
  return true;
}

enum cuzk_status rpc_address_parse(struct rpc_address *out, const char *text, struct cuzk_detail *d) {
  const char *s = text;
  memset(out, 0, sizeof *out);
  if (skip(&s, "unix://") || skip(&s, "unix:")) {
    out->unix_path = true;
    if (!*s || strlen(s) >= sizeof out->path)
      return cuzk_fail(d, CUZK_E_ARG, "address '%s': the path must have 1 to %zu characters", text, sizeof out->path - 1);
    (void)snprintf(out->path, sizeof out->path, "%s", s);
    return CUZK_OK;
  }
  if (skip(&s, "https://")) out->tls = true;
  else if (!skip(&s, "http://")) (void)skip(&s, "dns:///");
  size_t n = strlen(s);
  if (n && s[n - 1] == '/') n--;
  const char *colon = memrchr(s, ':', n), *host = s;
  size_t n_host = colon ? (size_t)(colon - s) : 0;
  if (!colon) return cuzk_fail(d, CUZK_E_ARG, "address '%s': expected unix:///PATH or HOST:PORT", text);
  if (n_host >= 2 && host[0] == '[' && host[n_host - 1] == ']') {
    host++;
    n_host -= 2;
  } else if (memchr(host, ':', n_host)) {
    return cuzk_fail(d, CUZK_E_ARG, "address '%s': an IPv6 address stands in brackets, [::1]:9820", text);
  }
  const size_t n_port = n - (size_t)(colon + 1 - s);
  unsigned port = 0;
  for (size_t i = 0; i < n_port; i++) port = colon[1 + i] >= '0' && colon[1 + i] <= '9' && port < 65536 ? port * 10 + (unsigned)(colon[1 + i] - '0') : 65536;
  if (!n_port || n_port > 5 || port > 65535 || n_host >= sizeof out->host)
    return cuzk_fail(d, CUZK_E_ARG, "address '%s': expected HOST:PORT with a port of 0 to 65535", text);
  memcpy(out->host, host, n_host);
  if (!n_host) (void)snprintf(out->host, sizeof out->host, "127.0.0.1");
  (void)snprintf(out->port, sizeof out->port, "%u", port);
  return CUZK_OK;
}

void rpc_address_name(char *out, size_t n, const struct sockaddr *sa, socklen_t len) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (sa->sa_family == AF_UNIX || getnameinfo(sa, len, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
    (void)snprintf(out, n, "unix");
  else
    (void)snprintf(out, n, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static void unix_address(struct sockaddr_un *sun, const char *path) {
  memset(sun, 0, sizeof *sun);
  sun->sun_family = AF_UNIX;
  memcpy(sun->sun_path, path, strlen(path));
}

/* The folders above a path, as far as they are missing. */
static void make_parents(const char *path) {
  char p[108];
  (void)snprintf(p, sizeof p, "%s", path);
  for (char *s = p + 1; *s; s++) {
    if (*s != '/') continue;
    *s = 0;
    (void)mkdir(p, 0755); /* what matters shows when the socket is bound */
    *s = '/';
  }
}

static enum cuzk_status listen_unix(int *fd_out, int *lock_out, const struct rpc_address *a, const struct cuzk_rpc_listen *l, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  struct sockaddr_un sun;
  struct stat sb;
  char lock_path[128];
  int fd = -1, lock = -1;
  unix_address(&sun, a->path);
  make_parents(a->path);
  (void)snprintf(lock_path, sizeof lock_path, "%s.lock", a->path);
  lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) return cuzk_fail_errno(d, errno, "%s: the lock file cannot be made", lock_path);
  if (flock(lock, LOCK_EX | LOCK_NB)) {
    st = cuzk_fail(d, CUZK_E_IO, "%s: in use by another process (it holds %s)", a->path, lock_path);
    goto out;
  }
  if (!lstat(a->path, &sb)) {
    if (!S_ISSOCK(sb.st_mode)) {
      st = cuzk_fail(d, CUZK_E_IO, "%s: exists and is not a socket; it is left alone", a->path);
      goto out;
    }
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool dead = probe >= 0 && connect(probe, (struct sockaddr *)&sun, sizeof sun) && errno == ECONNREFUSED;
    if (probe >= 0) (void)close(probe);
    if (!dead) {
      st = cuzk_fail(d, CUZK_E_IO, "%s: in use by another process", a->path);
      goto out;
    }
    (void)unlink(a->path);
  }
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    st = cuzk_fail_errno(d, errno, "%s: no socket", a->path);
    goto out;
  }
  /* nobody may connect before mode and group are right: the mode follows listen() and the socket is not accepted from before */
  if (fchmod(fd, 0600) || bind(fd, (struct sockaddr *)&sun, sizeof sun)) {
    st = cuzk_fail_errno(d, errno, "%s: cannot be bound", a->path);
    goto out;
  }
  if (l->socket_group && l->socket_group[0]) {
    char buf[4096];
    struct group g, *found = NULL;
    if (getgrnam_r(l->socket_group, &g, buf, sizeof buf, &found) || !found) {
      st = cuzk_fail(d, CUZK_E_ARG, "%s: there is no group '%s'", a->path, l->socket_group);
      goto out;
    }
    if (chown(a->path, (uid_t)-1, found->gr_gid)) {
      st = cuzk_fail_errno(d, errno, "%s: cannot be given to group '%s'", a->path, l->socket_group);
      goto out;
    }
  }
  if (chmod(a->path, l->socket_mode ? l->socket_mode : 0660) || listen(fd, 128)) st = cuzk_fail_errno(d, errno, "%s: cannot listen", a->path);
out:
  if (st != CUZK_OK) {
    if (fd >= 0) {
      (void)unlink(a->path);
      (void)close(fd);
    }
    (void)close(lock);
    return st;
  }
  *fd_out = fd;
  *lock_out = lock;
  return CUZK_OK;
}

void rpc_address_unlisten(const struct rpc_address *a, int lock_fd) {
  if (!a->unix_path || lock_fd < 0) return;
  char lock_path[128];
  (void)snprintf(lock_path, sizeof lock_path, "%s.lock", a->path);
  (void)unlink(a->path);
  (void)unlink(lock_path);
  (void)close(lock_fd);
}

static enum cuzk_status resolve(struct addrinfo **out, const struct rpc_address *a, bool passive, struct cuzk_detail *d) {
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = passive ? AI_PASSIVE : 0};
  const int rc = getaddrinfo(a->host, a->port, &hints, out);
  return rc ? cuzk_fail(d, CUZK_E_ARG, "host '%s': %s", a->host, gai_strerror(rc)) : CUZK_OK;
}

enum cuzk_status rpc_address_listen(int *fd_out, int *lock_fd, char bound[300], const struct rpc_address *a, const struct cuzk_rpc_listen *l,
                                    struct cuzk_detail *d) {
  *fd_out = *lock_fd = -1;
  if (a->unix_path) {
    (void)snprintf(bound, 300, "unix://%s", a->path);
    return listen_unix(fd_out, lock_fd, a, l, d);
  }
  struct addrinfo *list = NULL;
  const enum cuzk_status st = resolve(&list, a, true, d);
  if (st != CUZK_OK) return st;
  int err = 0, fd = -1;
  for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next) {
    const int one = 1;
    fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      err = errno;
      continue;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (ai->ai_family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 128)) break;
    err = errno;
    (void)close(fd);
    fd = -1;
  }
  freeaddrinfo(list);
  if (fd < 0) return cuzk_fail_errno(d, err, "%s:%s: cannot listen", a->host, a->port);
  struct sockaddr_storage ss;
  socklen_t len = sizeof ss;
  if (getsockname(fd, (struct sockaddr *)&ss, &len)) (void)snprintf(bound, 300, "%s:%s", a->host, a->port);
  else rpc_address_name(bound, 300, (struct sockaddr *)&ss, len);
  *fd_out = fd;
  return CUZK_OK;
}

static int connect_one(int *fd_out, const struct sockaddr *sa, socklen_t len, uint64_t until_ms) {
  const int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int err = 0;
  if (fd < 0) return errno;
  if (connect(fd, sa, len)) {
    err = errno;
    if (err == EINPROGRESS || err == EAGAIN) {
      struct pollfd p = {.fd = fd, .events = POLLOUT};
      const uint64_t now = cuzk_rpc_now_ms();
      socklen_t n = sizeof err;
      const int rc = poll(&p, 1, until_ms > now ? (int)(until_ms - now) : 0);
      if (rc <= 0) err = rc ? errno : ETIMEDOUT;
      else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n)) err = errno;
    }
  }
  if (err) {
    (void)close(fd);
    return err;
  }
  if (sa->sa_family != AF_UNIX) {
    const int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  *fd_out = fd;
  return 0;
}

enum cuzk_status rpc_address_connect(int *fd, const struct rpc_address *a, uint64_t timeout_ms, struct cuzk_detail *d) {
  const uint64_t until = cuzk_rpc_now_ms() + timeout_ms;
  if (a->unix_path) {
    struct sockaddr_un sun;
    unix_address(&sun, a->path);
    const int err = connect_one(fd, (struct sockaddr *)&sun, sizeof sun, until);
    return err ? cuzk_fail(d, CUZK_E_IO, "unix://%s: %s", a->path, strerror(err)) : CUZK_OK;
  }
  struct addrinfo *list = NULL;
  const enum cuzk_status st = resolve(&list, a, false, d);
  if (st != CUZK_OK) return st;
  int err = EHOSTUNREACH;
  for (const struct addrinfo *ai = list; ai; ai = ai->ai_next)
    if (!(err = connect_one(fd, ai->ai_addr, ai->ai_addrlen, until))) break;
  freeaddrinfo(list);
  return err ? cuzk_fail(d, CUZK_E_IO, "%s:%s: %s", a->host, a->port, strerror(err)) : CUZK_OK;
}
