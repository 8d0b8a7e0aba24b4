/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"

/* Opens a regular, non-empty file that is not too large. Opening does not block on a pipe without a writer. */
static enum cuzk_status open_regular(int *fd, size_t *n, const char *path, uint64_t max_bytes, struct cuzk_detail *d) {
  int h = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (h < 0) return cuzk_fail_errno(d, errno, "%s: cannot open", path);
  struct stat s;
  enum cuzk_status st = CUZK_OK;
  if (fstat(h, &s) != 0) {
    st = cuzk_fail_errno(d, errno, "%s: cannot be examined", path);
  } else if (S_ISDIR(s.st_mode)) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: is a folder, expected a file", path);
  } else if (!S_ISREG(s.st_mode)) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: is not a regular file", path);
  } else if (s.st_size == 0) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: file is empty", path);
  } else if ((uint64_t)s.st_size > max_bytes || (uint64_t)s.st_size > SIZE_MAX) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: file of %llu bytes, at most %llu expected", path, (unsigned long long)s.st_size,
                   (unsigned long long)max_bytes);
  }
  if (st != CUZK_OK) {
    (void)close(h);
    return st;
  }
  *fd = h;
  *n = (size_t)s.st_size;
  return CUZK_OK;
}

enum cuzk_status cuzk_file_read(struct cuzk_file *f, const char *path, uint64_t max_bytes, struct cuzk_detail *d) {
  *f = (struct cuzk_file){0};
  int fd = -1;
  size_t n = 0;
  enum cuzk_status st = open_regular(&fd, &n, path, max_bytes, d);
  if (st != CUZK_OK) return st;
  uint8_t *p = cuzk_big_alloc(n);
  if (!p) {
    (void)close(fd);
    return cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory for %zu bytes", path, n);
  }
  for (size_t done = 0; done < n;) {
    size_t want = n - done < ((size_t)1 << 30) ? n - done : (size_t)1 << 30;
    ssize_t got = read(fd, p + done, want);
    if (got < 0) {
      if (errno == EINTR) continue;
      st = cuzk_fail_errno(d, errno, "%s: cannot read at byte %zu", path, done);
      break;
    }
    if (got == 0) {
      st = cuzk_fail(d, CUZK_E_FORMAT, "%s: ends at byte %zu, had %zu bytes when opened", path, done, n);
      break;
    }
    done += (size_t)got;
  }
  (void)close(fd);
  if (st != CUZK_OK) {
    cuzk_big_free(p, n);
    return st;
  }
  f->data = p;
  f->n = n;
  return CUZK_OK;
}

enum cuzk_status cuzk_file_map(struct cuzk_file *f, const char *path, uint64_t max_bytes, struct cuzk_detail *d) {
  *f = (struct cuzk_file){0};
  int fd = -1;
  size_t n = 0;
  enum cuzk_status st = open_regular(&fd, &n, path, max_bytes, d);
  if (st != CUZK_OK) return st;
  void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
  int err = errno;
  (void)close(fd);
  if (p == MAP_FAILED) return cuzk_fail_errno(d, err, "%s: cannot map", path);
  f->data = p;
  f->n = n;
  f->mapped = true;
  return CUZK_OK;
}

void cuzk_file_clear(struct cuzk_file *f) {
  if (f->mapped) {
    (void)munmap(f->data, f->n);
  } else {
    cuzk_big_free(f->data, f->n);
  }
  *f = (struct cuzk_file){0};
}

enum { OUT_BUFFER = 1 << 20 };

struct cuzk_outfile {
  int fd;
  bool direct; /* written under its own name */
  uint64_t n_total;
  size_t n_buf;
  uint8_t *buf;
  char *target; /* where links lead */
  char *temp;   /* NULL when direct */
};

/* Ends f; the temporary file is removed unless it was renamed. */
static void outfile_drop(struct cuzk_outfile *f, bool unlink_temp) {
  if (f->fd >= 0) (void)close(f->fd);
  if (f->temp && unlink_temp) (void)unlink(f->temp);
  cuzk_free(f->buf);
  cuzk_free(f->target);
  cuzk_free(f->temp);
  cuzk_free(f);
}

enum cuzk_status cuzk_outfile_open(struct cuzk_outfile **out, const char *path, struct cuzk_detail *d) {
  static _Atomic unsigned serial;
  *out = NULL;
  struct stat s;
  bool direct = false;
  char resolved[PATH_MAX];
  const char *target = path;
  if (stat(path, &s) == 0) {
    if (S_ISDIR(s.st_mode)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: is a folder, expected a file name", path);
    direct = !S_ISREG(s.st_mode);
    if (!direct && realpath(path, resolved)) target = resolved;
  }
  struct cuzk_outfile *f = cuzk_calloc(1, sizeof *f);
  if (!f) return cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory for writing", path);
  f->fd = -1;
  f->direct = direct;
  f->buf = cuzk_malloc(OUT_BUFFER);
  f->target = cuzk_strdup(target);
  const size_t n_temp = strlen(target) + 40;
  if (!direct) f->temp = cuzk_malloc(n_temp);
  if (!f->buf || !f->target || (!direct && !f->temp)) {
    outfile_drop(f, false);
    return cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory for writing", path);
  }
  if (direct) {
    f->fd = open(target, O_WRONLY | O_CLOEXEC);
  } else {
    /* O_EXCL and a number of its own: two writers of one name never share a temporary file. */
    for (int i = 0; i < 100 && f->fd < 0; i++) {
      (void)snprintf(f->temp, n_temp, "%s.tmp-%ld-%u", target, (long)getpid(), atomic_fetch_add(&serial, 1));
      f->fd = open(f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (f->fd < 0 && errno != EEXIST) break;
    }
  }
  if (f->fd < 0) {
    int err = errno;
    outfile_drop(f, false);
    return cuzk_fail_errno(d, err, "%s: cannot create", path);
  }
  *out = f;
  return CUZK_OK;
}

static enum cuzk_status write_all(struct cuzk_outfile *f, const uint8_t *p, size_t n, struct cuzk_detail *d) {
  while (n) {
    ssize_t k = write(f->fd, p, n < ((size_t)1 << 30) ? n : (size_t)1 << 30);
    if (k < 0) {
      if (errno == EINTR) continue;
      return cuzk_fail_errno(d, errno, "%s: cannot write", f->target);
    }
    p += k;
    n -= (size_t)k;
  }
  return CUZK_OK;
}

static enum cuzk_status flush(struct cuzk_outfile *f, struct cuzk_detail *d) {
  const size_t n = f->n_buf;
  f->n_buf = 0;
  return write_all(f, f->buf, n, d);
}

enum cuzk_status cuzk_outfile_write(struct cuzk_outfile *f, const void *p, size_t n, struct cuzk_detail *d) {
  f->n_total += n;
  if (n > OUT_BUFFER - f->n_buf) {
    enum cuzk_status st = flush(f, d);
    if (st != CUZK_OK) return st;
    if (n >= OUT_BUFFER) return write_all(f, p, n, d);
  }
  if (n) memcpy(f->buf + f->n_buf, p, n);
  f->n_buf += n;
  return CUZK_OK;
}

enum cuzk_status cuzk_outfile_patch(struct cuzk_outfile *f, uint64_t at, const void *p, size_t n, struct cuzk_detail *d) {
  if (f->direct || at > f->n_total || n > f->n_total - at) {
    return cuzk_fail(d, CUZK_E_ARG, "%s: bytes %llu to %llu cannot be overwritten", f->target, (unsigned long long)at,
                     (unsigned long long)(at + n));
  }
  enum cuzk_status st = flush(f, d);
  if (st != CUZK_OK) return st;
  const uint8_t *q = p;
  while (n) {
    ssize_t k = pwrite(f->fd, q, n, (off_t)at);
    if (k < 0) {
      if (errno == EINTR) continue;
      return cuzk_fail_errno(d, errno, "%s: cannot write", f->target);
    }
    q += k;
    at += (uint64_t)k;
    n -= (size_t)k;
  }
  return CUZK_OK;
}

uint64_t cuzk_outfile_size(const struct cuzk_outfile *f) { return f->n_total; }

/* A rename is durable once its folder is; failure to open or synchronise a folder (some file systems refuse) loses nothing but
 * durability against power loss, so it is not an error. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  if (n >= sizeof folder) return;
  memcpy(folder, path, n);
  folder[n] = 0;
  int fd = open(slash ? (n ? folder : "/") : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  (void)close(fd);
}

enum cuzk_status cuzk_outfile_commit(struct cuzk_outfile **pf, struct cuzk_detail *d) {
  struct cuzk_outfile *f = *pf;
  *pf = NULL;
  enum cuzk_status st = flush(f, d);
  if (st == CUZK_OK && !f->direct && fsync(f->fd) != 0) st = cuzk_fail_errno(d, errno, "%s: cannot synchronise", f->target);
  /* Some file systems report a full disk only here. */
  int fd = f->fd;
  f->fd = -1;
  if (close(fd) != 0 && st == CUZK_OK && errno != EINTR) st = cuzk_fail_errno(d, errno, "%s: cannot close", f->target);
  if (st == CUZK_OK && !f->direct && rename(f->temp, f->target) != 0) {
    st = cuzk_fail_errno(d, errno, "%s: cannot rename the finished file", f->target);
  }
  if (st == CUZK_OK && !f->direct) sync_folder(f->target);
  outfile_drop(f, st != CUZK_OK);
  return st;
}

void cuzk_outfile_abort(struct cuzk_outfile **f) {
  if (!*f) return;
  outfile_drop(*f, true);
  *f = NULL;
}

enum cuzk_status cuzk_file_write(const char *path, const void *p, size_t n, struct cuzk_detail *d) {
  struct cuzk_outfile *f;
  enum cuzk_status st = cuzk_outfile_open(&f, path, d);
  if (st != CUZK_OK) return st;
  st = cuzk_outfile_write(f, p, n, d);
  if (st != CUZK_OK) {
    cuzk_outfile_abort(&f);
    return st;
  }
  return cuzk_outfile_commit(&f, d);
}
