/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/top.h"

#define MAX_BODY (64u << 20)
#define MAX_EVENT (16u << 20)

static enum cuzk_status wait_for(int fd, short what, unsigned ms, const char *address, struct cuzk_detail *d) {
  struct pollfd p = {.fd = fd, .events = what};
  int k;
  do k = poll(&p, 1, (int)ms);
  while (k < 0 && errno == EINTR);
  if (k == 0) return cuzk_fail(d, CUZK_E_IO, "%s: no answer within %u ms", address, ms);
  return k < 0 ? cuzk_fail_errno(d, errno, "%s", address) : CUZK_OK;
}

/* "host:port", "[v6]:port", ":port" (loopback). */
static enum cuzk_status dial(int *out, const char *address, unsigned ms, struct cuzk_detail *d) {
  char host[256] = "127.0.0.1";
  const char *colon = strrchr(address, ':'), *from = address, *to = colon;
  if (colon && *address == '[' && colon[-1] == ']') {
    from++;
    to--;
  }
  if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) || (size_t)(to - from) >= sizeof host)
    return cuzk_fail(d, CUZK_E_ARG, "'%s': expected host:port, [v6]:port or :port", address);
  if (to > from) (void)snprintf(host, sizeof host, "%.*s", (int)(to - from), from);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
  const int e = getaddrinfo(host, colon + 1, &hints, &all);
  if (e != 0) return cuzk_fail(d, e == EAI_MEMORY ? CUZK_E_NOMEM : CUZK_E_IO, "%s: %s", address, gai_strerror(e));
  enum cuzk_status st = CUZK_E_IO;
  int fd = -1;
  for (struct addrinfo *a = all; a; a = a->ai_next) {
    int error = 0;
    socklen_t n = sizeof error;
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      st = cuzk_fail_errno(d, errno, "%s", address);
      continue;
    }
    st = CUZK_OK;
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
      if (errno != EINPROGRESS) error = errno;
      else if ((st = wait_for(fd, POLLOUT, ms, address, d)) == CUZK_OK) (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
    }
    if (st == CUZK_OK && error) st = cuzk_fail(d, CUZK_E_IO, "%s: %s", address, strerror(error));
    if (st == CUZK_OK) break;
    (void)close(fd);
    fd = -1;
  }
  freeaddrinfo(all);
  *out = fd;
  return st;
}

static enum cuzk_status request(int *fd, const char *address, const char *path, uint64_t last, unsigned ms, struct cuzk_detail *d) {
  char text[512], after[48] = "";
  enum cuzk_status st = dial(fd, address, ms, d);
  if (st != CUZK_OK) return st;
  if (last) (void)snprintf(after, sizeof after, "Last-Event-ID: %" PRIu64 "\r\n", last);
  const int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: %.200s\r\nConnection: close\r\n%s\r\n", path, address, after);
  if (send(*fd, text, (size_t)n, MSG_NOSIGNAL) != n) {
    (void)close(*fd);
    *fd = -1;
    return cuzk_fail(d, CUZK_E_IO, "%s: cannot send a request", address);
  }
  return CUZK_OK;
}

/* Appends what can be read now; *over at the end. A 0 follows text[n]. */
static enum cuzk_status more(struct top_stream *s, size_t limit, bool *over, struct cuzk_detail *d) {
  for (;;) {
    if (s->size - s->n < 4096) {
      const size_t size = s->size ? 2 * s->size : 1 << 16;
      if (s->n > limit) return cuzk_fail(d, CUZK_E_IO, "the answer is longer than %zu bytes", limit);
      char *t = cuzk_malloc(size);
      if (!t) return cuzk_fail(d, CUZK_E_NOMEM, "an answer of %zu bytes", s->n);
      if (s->n) memcpy(t, s->text, s->n);
      cuzk_free(s->text);
      s->text = t;
      s->size = size;
    }
    const ssize_t k = recv(s->fd, s->text + s->n, s->size - s->n - 1, 0);
    if (k > 0) {
      s->n += (size_t)k;
      s->text[s->n] = 0;
    } else {
      if (k < 0 && errno == EINTR) continue;
      *over = k == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      s->text[s->n] = 0;
      return CUZK_OK;
    }
  }
}

/* The head's length once it is there, else 0; anything but 200 fails. */
static enum cuzk_status head_of(const struct top_stream *s, size_t *head, const char *address, struct cuzk_detail *d) {
  *head = 0;
  const char *end = s->n ? strstr(s->text, "\r\n\r\n") : NULL;
  if (!end) return CUZK_OK;
  if (strncmp(s->text, "HTTP/1.", 7) != 0 || s->n < 12) return cuzk_fail(d, CUZK_E_IO, "%s: not an HTTP endpoint", address);
  if (strncmp(s->text + 9, "200", 3) != 0) return cuzk_fail(d, CUZK_E_IO, "%s: answers %.3s", address, s->text + 9);
  *head = (size_t)(end - s->text) + 4;
  return CUZK_OK;
}

enum cuzk_status top_get(char **body, size_t *n, const char *address, const char *path, unsigned timeout_ms, struct cuzk_detail *d) {
  struct top_stream s = {.fd = -1};
  size_t head = 0;
  bool over = false;
  *body = NULL;
  *n = 0;
  enum cuzk_status st = request(&s.fd, address, path, 0, timeout_ms, d);
  while (st == CUZK_OK && !over) {
    st = wait_for(s.fd, POLLIN, timeout_ms, address, d);
    if (st == CUZK_OK) st = more(&s, MAX_BODY, &over, d);
  }
  if (st == CUZK_OK) st = head_of(&s, &head, address, d);
  if (st == CUZK_OK && !head) st = cuzk_fail(d, CUZK_E_IO, "%s: the answer is cut short", address);
  if (st == CUZK_OK) {
    const char *length = strcasestr(s.text, "\r\nContent-Length:");
    *n = s.n - head;
    if (length && length < s.text + head && strtoull(length + 17, NULL, 10) != *n)
      st = cuzk_fail(d, CUZK_E_IO, "%s: the answer is cut short", address);
  }
  if (st == CUZK_OK) {
    memmove(s.text, s.text + head, *n + 1);
    *body = s.text;
    s.text = NULL;
  }
  top_stream_close(&s);
  return st;
}

enum cuzk_status top_stream_open(struct top_stream *s, const char *address, uint64_t last, unsigned timeout_ms, struct cuzk_detail *d) {
  *s = (struct top_stream){.fd = -1};
  enum cuzk_status st = request(&s->fd, address, "/events", last, timeout_ms, d);
  size_t head = 0;
  bool over = false;
  while (st == CUZK_OK && !head) {
    st = over ? cuzk_fail(d, CUZK_E_IO, "%s: the answer is cut short", address) : wait_for(s->fd, POLLIN, timeout_ms, address, d);
    if (st == CUZK_OK) st = more(s, MAX_EVENT, &over, d);
    if (st == CUZK_OK) st = head_of(s, &head, address, d);
  }
  if (st != CUZK_OK) {
    top_stream_close(s);
    return st;
  }
  s->n -= head;
  memmove(s->text, s->text + head, s->n + 1);
  return CUZK_OK;
}

/* One block of lines up to a blank one: "event:" and "data:"; others do not matter here. */
static void one_event(char *block, void (*fn)(void *user, const char *kind, const char *data), void *user) {
  const char *kind = "message", *data = NULL;
  for (char *line = block, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    if (strncmp(line, "event: ", 7) == 0) kind = line + 7;
    else if (strncmp(line, "data: ", 6) == 0) data = line + 6;
  }
  if (data) fn(user, kind, data);
}

enum cuzk_status top_stream_read(struct top_stream *s, void (*fn)(void *user, const char *kind, const char *data), void *user, struct cuzk_detail *d) {
  bool over = false;
  enum cuzk_status st = more(s, MAX_EVENT, &over, d);
  if (st != CUZK_OK) return st;
  size_t at = 0;
  for (char *end; (end = strstr(s->text + at, "\n\n")) != NULL; at = (size_t)(end - s->text) + 2) {
    *end = 0;
    one_event(s->text + at, fn, user);
  }
  s->n -= at;
  memmove(s->text, s->text + at, s->n + 1);
  return over ? cuzk_fail(d, CUZK_E_IO, "the stream of events ended") : CUZK_OK;
}

void top_stream_close(struct top_stream *s) {
  if (s->fd >= 0) (void)close(s->fd);
  cuzk_free(s->text);
  *s = (struct top_stream){.fd = -1};
}
