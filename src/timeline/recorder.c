/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "timeline/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"

#define LINE_MAX_BYTES 4096 /* with the line feed: one write of that size to a pipe is not mixed with others */
#define HEAD_BYTES 48       /* room for a line feed, "TIMELINE," and the offset, written last, backwards */
#define JOB_MAX_BYTES 1024  /* of an encoded job id in a line */
#define DEFAULT_RING 65536
#define READ_CHUNK 256 /* events copied at a time with the lock held */

struct cuzk_recorder {
  struct cuzk_clock *clock;
  uint64_t start_ns; /* of the clock; offset 0 of the log */
  char *path;        /* NULL: fd is the caller's */
  char epoch[256];   /* details of the EPOCH line */
  void (*on_event)(void *user);
  void *user;
  /* Time stamp and write happen under one lock, so that offsets never decrease in the file. */
  pthread_mutex_t write_lock; /* guards fd and torn; taken before `lock` */
  int fd;
  bool torn; /* the file may end within a line */
  _Atomic uint64_t lost;
  /* Readers never wait for the disk. */
  pthread_mutex_t lock; /* guards last and the ring's content */
  uint64_t last;
  size_t size;
  struct cuzk_event_record *ring; /* seq at index seq % size */
};

const char *cuzk_event_name(enum cuzk_event e) {
  static const char *const names[CUZK_N_EVENTS] = {
#define CUZK_X(name) #name,
      CUZK_EVENT_MAP(CUZK_X)
#undef CUZK_X
  };
  return (unsigned)e < CUZK_N_EVENTS ? names[e] : "UNKNOWN";
}

/* ---- text ---- */

static bool forbidden(unsigned char c, bool separators) { return c < 0x20 || c == 0x7f || (separators && (c == '%' || c == ',')); }

/* Appends text to out[at .. limit), escaping what forbidden() says; stops before a character that does not fit whole, then *cut is set. */
static size_t escape(char *out, size_t at, size_t limit, const char *text, bool separators, bool *cut) {
  static const char digits[] = "0123456789ABCDEF";
  const unsigned char *p = (const unsigned char *)text;
  while (*p) {
    if (forbidden(*p, separators)) {
      if (limit - at < 3) goto cut;
      out[at++] = '%';
      out[at++] = digits[*p >> 4];
      out[at++] = digits[*p & 15];
      p++;
      continue;
    }
    /* A UTF-8 character is copied whole or not at all; bytes that are not UTF-8 count one by one. */
    size_t n = 1;
    if (*p >= 0xc0)
      while (n < 4 && (p[n] & 0xc0) == 0x80) n++;
    if (limit - at < n) goto cut;
    memcpy(out + at, p, n);
    at += n;
    p += n;
  }
  return at;
cut:
  *cut = true;
  return at;
}

const char *cuzk_record_text(char *out, size_t n, const char *text) {
  if (n == 0) return out;
  bool cut = false;
  out[escape(out, 0, n - 1, text, true, &cut)] = 0;
  return out;
}

/* The value of key in "key=value,...", -1 if it is not there or not a number. */
static int number_of(const char *details, const char *key, size_t n_key) {
  for (const char *p = details; p; p = strchr(p, ',')) {
    if (*p == ',') p++;
    if (strncmp(p, key, n_key) != 0 || p[n_key] != '=') continue;
    const char *v = p + n_key + 1;
    int x = 0;
    if (*v < '0' || *v > '9') return -1;
    for (; *v >= '0' && *v <= '9'; v++) {
      if (x > (INT32_MAX - 9) / 10) return -1;
      x = 10 * x + (*v - '0');
    }
    return *v == 0 || *v == ',' ? x : -1;
  }
  return -1;
}

/* Details that were cut at n end with the last whole key=value; a single value ends where it was cut, but not within an escape. */
static size_t whole(const char *details, size_t n) {
  size_t comma = n;
  while (comma > 0 && details[comma - 1] != ',') comma--;
  if (comma > 0) return comma - 1;
  if (n >= 1 && details[n - 1] == '%') return n - 1;
  if (n >= 2 && details[n - 2] == '%') return n - 2;
  return n;
}

/* ---- the file ---- */

/* One line, or what is left of it; the write lock is held. */
static void write_line(struct cuzk_recorder *r, const char *p, size_t n) {
  if (r->fd < 0) return;
  while (n > 0) {
    ssize_t k = write(r->fd, p, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) {
      atomic_fetch_add(&r->lost, 1);
      return;
    }
    /* A disk that fills up, or a signal, may take a part only; the next line then starts on its own. */
    r->torn = true;
    p += k;
    n -= (size_t)k;
  }
  r->torn = false;
}

/* Puts "TIMELINE,<ms>" before the rest, which starts at HEAD_BYTES; returns where the line starts. */
static size_t write_head(const struct cuzk_recorder *r, char *line, uint64_t now) {
  size_t at = HEAD_BYTES;
  uint64_t ms = (now - r->start_ns) / CUZK_MS;
  do {
    line[--at] = (char)('0' + ms % 10);
    ms /= 10;
  } while (ms);
  at -= sizeof "TIMELINE," - 1;
  memcpy(line + at, "TIMELINE,", sizeof "TIMELINE," - 1);
  if (r->torn) line[--at] = '\n';
  return at;
}

/* ",EVENT,job,details\n" at HEAD_BYTES; returns the end, *at_details is where the details start. */
static size_t write_rest(char line[LINE_MAX_BYTES], const char *event, const char *job, const char *details, size_t *at_details) {
  bool cut = false;
  size_t at = HEAD_BYTES;
  line[at++] = ',';
  size_t n = strlen(event);
  memcpy(line + at, event, n);
  at += n;
  line[at++] = ',';
  if (job && *job) at = escape(line, at, at + JOB_MAX_BYTES, job, true, &cut);
  else line[at++] = '-';
  line[at++] = ',';
  *at_details = at;
  cut = false;
  at = escape(line, at, LINE_MAX_BYTES - 1, details, false, &cut);
  if (cut) at = *at_details + whole(line + *at_details, at - *at_details);
  line[at++] = '\n';
  return at;
}

static void write_epoch(struct cuzk_recorder *r, const char *suffix) {
  char details[sizeof r->epoch + 32];
  (void)snprintf(details, sizeof details, "%s%s", r->epoch, suffix);
  char line[LINE_MAX_BYTES];
  size_t at_details;
  size_t end = write_rest(line, "EPOCH", NULL, details, &at_details);
  size_t start = write_head(r, line, cuzk_clock_now(r->clock));
  write_line(r, line + start, end - start);
}

static enum cuzk_status open_log(const char *path, int *fd, bool *torn, struct stat *s, struct cuzk_detail *d) {
  *torn = false;
  *fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
  if (*fd < 0) return cuzk_fail_errno(d, errno, "%s: cannot open the timeline", path);
  if (fstat(*fd, s) != 0) {
    enum cuzk_status st = cuzk_fail_errno(d, errno, "%s: cannot be examined", path);
    (void)close(*fd);
    *fd = -1;
    return st;
  }
  if (S_ISREG(s->st_mode) && s->st_size > 0) {
    /* A run that was killed may have left a line without its end. */
    char last = '\n';
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in >= 0) {
      if (pread(in, &last, 1, s->st_size - 1) != 1) last = '\n';
      (void)close(in);
    }
    *torn = last != '\n';
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_recorder_create(struct cuzk_recorder **out, const struct cuzk_recorder_options *o, struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_recorder *r = cuzk_calloc(1, sizeof *r);
  if (!r) return cuzk_fail(d, CUZK_E_NOMEM, "timeline: no memory");
  r->clock = o->clock;
  r->fd = o->path ? -1 : o->fd;
  r->size = o->ring ? o->ring : DEFAULT_RING;
  r->ring = cuzk_calloc(r->size, sizeof *r->ring);
  if (o->path) r->path = cuzk_strdup(o->path);
  if (!r->ring || (o->path && !r->path)) {
    cuzk_free(r->ring);
    cuzk_free(r->path);
    cuzk_free(r);
    return cuzk_fail(d, CUZK_E_NOMEM, "timeline: no memory for %zu events", o->ring ? o->ring : (size_t)DEFAULT_RING);
  }
  if (o->path) {
    struct stat s;
    enum cuzk_status st = open_log(o->path, &r->fd, &r->torn, &s, d);
    if (st != CUZK_OK) {
      cuzk_free(r->ring);
      cuzk_free(r->path);
      cuzk_free(r);
      return st;
    }
  }
  (void)pthread_mutex_init(&r->write_lock, NULL);
  (void)pthread_mutex_init(&r->lock, NULL);
  r->start_ns = cuzk_clock_now(r->clock);
  char version[64];
  (void)cuzk_record_text(version, sizeof version, o->version ? o->version : "");
  (void)snprintf(r->epoch, sizeof r->epoch, "wall_ms=%" PRIu64 ",pid=%ld,version=%s,gpus=%u,workers_per_gpu=%u",
                 cuzk_clock_epoch_ms(r->clock) + r->start_ns / CUZK_MS, (long)getpid(), version, o->n_gpus, o->workers_per_gpu);
  cuzk_record(r, CUZK_EV_EPOCH, NULL, "%s", r->epoch);
  *out = r;
  return CUZK_OK;
}

void cuzk_recorder_destroy(struct cuzk_recorder **rp) {
  struct cuzk_recorder *r = *rp;
  if (!r) return;
  *rp = NULL;
  if (r->path) (void)close(r->fd);
  (void)pthread_mutex_destroy(&r->write_lock);
  (void)pthread_mutex_destroy(&r->lock);
  cuzk_free(r->ring);
  cuzk_free(r->path);
  cuzk_free(r);
}

enum cuzk_status cuzk_recorder_reopen(struct cuzk_recorder *r, struct cuzk_detail *d) {
  if (!r || !r->path) return CUZK_OK;
  int fd = -1;
  bool torn = false;
  struct stat now, before;
  enum cuzk_status st = open_log(r->path, &fd, &torn, &now, d);
  if (st != CUZK_OK) return st;
  (void)pthread_mutex_lock(&r->write_lock);
  if (fstat(r->fd, &before) == 0 && before.st_dev == now.st_dev && before.st_ino == now.st_ino) {
    (void)pthread_mutex_unlock(&r->write_lock);
    (void)close(fd); /* nothing was moved away */
    return CUZK_OK;
  }
  int old = r->fd;
  r->fd = fd;
  r->torn = torn;
  /* Each file can be read alone: wall_ms stays that of offset 0. */
  write_epoch(r, ",continued=1");
  (void)pthread_mutex_unlock(&r->write_lock);
  (void)close(old);
  return CUZK_OK;
}

/* ---- recording ---- */

void cuzk_record(struct cuzk_recorder *r, enum cuzk_event e, const char *job, const char *fmt, ...) {
  if (!r) return;
  /* As long as a line: what is cut here is cut in the line as well. */
  char details[LINE_MAX_BYTES];
  details[0] = 0;
  if (fmt) {
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(details, sizeof details, fmt, ap);
    va_end(ap);
  }
  char line[LINE_MAX_BYTES];
  size_t at_details;
  size_t end = write_rest(line, cuzk_event_name(e), job, details, &at_details);
  struct cuzk_event_record rec = {.event = e};
  (void)cuzk_record_text(rec.job, sizeof rec.job, job && *job ? job : "-");
  /* In memory as in the line. */
  size_t n = end - 1 - at_details;
  if (n > sizeof rec.details - 1) n = whole(line + at_details, sizeof rec.details - 1);
  memcpy(rec.details, line + at_details, n);
  line[end - 1] = 0;
  rec.partition = number_of(line + at_details, "partition", 9);
  rec.worker = number_of(line + at_details, "worker", 6);
  rec.gpu = number_of(line + at_details, "gpu", 3);
  line[end - 1] = '\n';

  (void)pthread_mutex_lock(&r->write_lock);
  /* The run begins at 0, whatever it took to get here. */
  uint64_t now = e == CUZK_EV_EPOCH ? r->start_ns : cuzk_clock_now(r->clock);
  (void)pthread_mutex_lock(&r->lock);
  rec.t_ns = now;
  rec.seq = ++r->last;
  r->ring[rec.seq % r->size] = rec;
  (void)pthread_mutex_unlock(&r->lock);
  size_t start = write_head(r, line, now);
  write_line(r, line + start, end - start);
  (void)pthread_mutex_unlock(&r->write_lock);
  if (r->on_event) r->on_event(r->user);
}

/* ---- reading ---- */

size_t cuzk_recorder_read(struct cuzk_recorder *r, uint64_t after, struct cuzk_event_record *out, size_t max, uint64_t *first) {
  size_t n = 0;
  uint64_t next = after == UINT64_MAX ? after : after + 1;
  for (bool begin = true;; begin = false) {
    (void)pthread_mutex_lock(&r->lock);
    uint64_t oldest = r->last > r->size ? r->last - r->size + 1 : 1;
    if (begin) {
      *first = oldest;
      if (next < oldest) next = oldest;
    }
    size_t chunk = 0;
    /* Between two chunks the ring may have turned past the reader: it gets what is without holes so far. */
    if (next >= oldest)
      while (n < max && chunk < READ_CHUNK && next <= r->last) {
        out[n++] = r->ring[next++ % r->size];
        chunk++;
      }
    (void)pthread_mutex_unlock(&r->lock);
    if (chunk < READ_CHUNK) return n;
  }
}

uint64_t cuzk_recorder_last(struct cuzk_recorder *r) {
  (void)pthread_mutex_lock(&r->lock);
  uint64_t last = r->last;
  (void)pthread_mutex_unlock(&r->lock);
  return last;
}

void cuzk_recorder_on_event(struct cuzk_recorder *r, void (*fn)(void *user), void *user) {
  r->on_event = fn;
  r->user = user;
}

uint64_t cuzk_recorder_lost(struct cuzk_recorder *r) { return atomic_load(&r->lost); }
