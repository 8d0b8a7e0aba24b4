/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "hash/sha256.h"
#include "store/owners.h"
#include "store/payloads.h"
#include "store/store.h"

enum {
  APPLICATION_ID = 0x43755a4b, /* "CuZK" */
  PAGE_BYTES = 4096,
  WAL_TIDY_PAGES = 256,   /* renew() checkpoints from here on, so that admit() seldom has to */
  WAL_LIMIT_PAGES = 8192, /* whoever commits checkpoints from here on */
  ADMIT_TRIES = 4,
};
static const char database_name[] = "journal.db", payload_folder[] = "payloads", owner_folder[] = "owners", open_lock_name[] = "lock";

/* Step i makes version i + 1 of version i. */
static const char *const schema[] = {
    "CREATE TABLE owner("
    " id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, since_ms INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE job("
    " seq INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL UNIQUE, request_id TEXT NOT NULL, digest BLOB NOT NULL,"
    " payload_bytes INTEGER NOT NULL, from_prove INTEGER NOT NULL, admitted_ms INTEGER NOT NULL, row_sum BLOB NOT NULL,"
    " owner TEXT NOT NULL, priority INTEGER NOT NULL, n_partitions INTEGER NOT NULL DEFAULT 0,"
    " ended INTEGER NOT NULL DEFAULT 0, ended_ms INTEGER NOT NULL DEFAULT 0, error TEXT, proof BLOB, end_sum BLOB,"
    " delivered INTEGER NOT NULL DEFAULT 0);"
    "CREATE INDEX job_payload ON job(digest) WHERE ended = 0;"
    "CREATE TABLE partition("
    " seq INTEGER NOT NULL, number INTEGER NOT NULL, proof BLOB NOT NULL, sum BLOB NOT NULL, PRIMARY KEY(seq, number)) WITHOUT ROWID;",
};
enum { SCHEMA_VERSION = sizeof schema / sizeof *schema };

#define STATEMENTS(X)                                                                                                                      \
  X(BEGIN, "BEGIN IMMEDIATE")                                                                                                              \
  X(COMMIT, "COMMIT")                                                                                                                      \
  X(ADMIT,                                                                                                                                 \
    "INSERT INTO job(job_id, request_id, digest, payload_bytes, from_prove, admitted_ms, row_sum, owner, priority, n_partitions)"        \
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")                                                                                   \
  X(PAYLOAD_USED, "SELECT 1 FROM job WHERE digest = ?1 AND ended = 0 LIMIT 1")                                                             \
  X(FIND, "SELECT seq, digest, payload_bytes, ended, n_partitions FROM job WHERE job_id = ?1 AND owner = ?2")                             \
  X(UPDATE,                                                                                                                                \
    "UPDATE job SET priority = max(priority, ?2), n_partitions = CASE ?3 WHEN 0 THEN n_partitions ELSE ?3 END WHERE seq = ?1")           \
  X(PARTITION_DONE, "INSERT OR IGNORE INTO partition(seq, number, proof, sum) VALUES(?1, ?2, ?3, ?4)")                                     \
  X(PARTITION_UNDO, "DELETE FROM partition WHERE seq = ?1 AND number = ?2")                                                                \
  X(PARTITIONS_DROP, "DELETE FROM partition WHERE seq = ?1")                                                                               \
  X(END, "UPDATE job SET ended = ?2, ended_ms = ?3, error = ?4, proof = ?5, end_sum = ?6 WHERE seq = ?1")                                  \
  X(DELIVERED, "UPDATE job SET delivered = 1 WHERE seq = ?1")                                                                              \
  X(FORGET, "DELETE FROM job WHERE seq = ?1")                                                                                              \
  X(OWNERS, "SELECT DISTINCT owner FROM job UNION SELECT id FROM owner")                                                                   \
  X(OWNER_LEASE, "SELECT lease_until_ms FROM owner WHERE id = ?1")                                                                         \
  X(OWNER_SET,                                                                                                                             \
    "INSERT INTO owner(id, host, pid, since_ms, lease_until_ms) VALUES(?1, ?2, ?3, ?4, ?5)"                                               \
    " ON CONFLICT(id) DO UPDATE SET lease_until_ms = ?5")                                                                                 \
  X(OWNER_DROP, "DELETE FROM owner WHERE id = ?1")                                                                                         \
  X(OWNED, "SELECT seq FROM job WHERE owner = ?1")                                                                                         \
  X(TAKE, "UPDATE job SET owner = ?2 WHERE owner = ?1")                                                                                    \
  X(RELEASE, "UPDATE job SET owner = '' WHERE seq = ?1")                                                                                   \
  X(JOB,                                                                                                                                   \
    "SELECT job_id, request_id, digest, payload_bytes, from_prove, admitted_ms, row_sum, priority, n_partitions, ended, ended_ms, error," \
    " proof, end_sum, delivered FROM job WHERE seq = ?1")                                                                                 \
  X(PARTITIONS, "SELECT number, proof, sum FROM partition WHERE seq = ?1 ORDER BY number")

enum statement {
#define X(name, sql) S_##name,
  STATEMENTS(X)
#undef X
      N_STATEMENTS
};
static const char *const statement_sql[N_STATEMENTS] = {
#define X(name, sql) sql,
    STATEMENTS(X)
#undef X
};

struct store {
  struct cuzk_journal_ops ops; /* a table of its own, as it carries lease_ms */
  struct cuzk_store_options o;
  char dir[PATH_MAX]; /* absolute */
  int dir_fd, payload_fd, owner_fd, lock_fd;
  char owner[CUZK_OWNER_ID];
  _Atomic unsigned serial; /* of temporary files */
  _Atomic uint64_t jobs, payload_bytes;
  atomic_bool unhealthy;
  bool shared; /* another owner lived when this one was opened; only looked for where it matters */

  pthread_mutex_t lock; /* for all that follows; never held while a payload is written */
  sqlite3 *db;
  sqlite3_stmt *stmt[N_STATEMENTS];
  bool sync_full;
  bool sweep_due; /* a payload could not be removed */
  int wal_pages;
  int err; /* errno of the last failure that was the system's; SQLite does not keep that of a commit */
  uint64_t leased_ms; /* when the lease was last renewed */
};

static void report(const struct store *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void report(const struct store *s, const char *fmt, ...) {
  if (!s->o.report) return;
  char line[sizeof(struct cuzk_detail) + PATH_MAX];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  s->o.report(s->o.report_user, line);
}

static uint64_t now_ms(const struct store *s) {
  struct cuzk_clock *c = s->o.clock;
  if (c && cuzk_clock_is_virtual(c)) return cuzk_clock_epoch_ms(c) + cuzk_clock_now(c) / CUZK_MS;
  struct timespec t;
  (void)clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- SQLite --- */

static bool is_damage(int rc) { return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB; }

static enum cuzk_status sql_fail(struct store *s, int rc, struct cuzk_detail *d, const char *what) {
  const int err = s->err ? s->err : s->db ? sqlite3_system_errno(s->db) : 0;
  s->err = 0;
  s->err = 0;
  enum cuzk_status st = is_damage(rc) ? CUZK_E_FORMAT : CUZK_E_IO;
  switch (rc & 0xff) {
    case SQLITE_FULL: st = CUZK_E_NOSPC; break;
    case SQLITE_NOMEM: st = CUZK_E_NOMEM; break;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (err == ENOSPC || err == EDQUOT || err == EFBIG) st = CUZK_E_NOSPC;
      break;
    case SQLITE_BUSY: return cuzk_fail(d, st, "%s/%s: cannot %s: another process keeps it locked", s->dir, database_name, what);
    default: break;
  }
  return cuzk_fail(d, st, "%s/%s: cannot %s: %s", s->dir, database_name, what, sqlite3_errstr(rc));
}

/* A statement ready to be bound. */
static int prepare(struct store *s, enum statement which, sqlite3_stmt **out) {
  if (!s->stmt[which]) {
    const int rc = sqlite3_prepare_v3(s->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[which], NULL);
    if (rc != SQLITE_OK) return rc;
  }
  *out = s->stmt[which];
  return SQLITE_OK;
}

/* Ends a statement; rc as sqlite3_step gave it. SQLITE_OK for one that has run to its end or gave a row. */
static int finish(struct store *s, sqlite3_stmt *st, int rc) {
  if ((rc & 0xff) == SQLITE_IOERR) s->err = errno;
  const int reset = sqlite3_reset(st);
  (void)sqlite3_clear_bindings(st);
  return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : reset != SQLITE_OK ? reset : rc;
}

static int run(struct store *s, enum statement which) {
  sqlite3_stmt *st;
  const int rc = prepare(s, which, &st);
  return rc == SQLITE_OK ? finish(s, st, sqlite3_step(st)) : rc;
}

/* Runs a statement with values: u (uint64_t), i (int or unsigned), t (text, NULL allowed), b (bytes, size_t). */
static int run_with(struct store *s, enum statement which, const char *types, ...) {
  sqlite3_stmt *st;
  int rc = prepare(s, which, &st);
  va_list ap;
  va_start(ap, types);
  for (int i = 1; *types && rc == SQLITE_OK; types++, i++) {
    if (*types == 'u') {
      rc = sqlite3_bind_int64(st, i, (sqlite3_int64)va_arg(ap, uint64_t));
    } else if (*types == 'i') {
      rc = sqlite3_bind_int64(st, i, (sqlite3_int64)va_arg(ap, unsigned));
    } else if (*types == 't') {
      rc = sqlite3_bind_text(st, i, va_arg(ap, const char *), -1, SQLITE_STATIC);
    } else {
      const void *p = va_arg(ap, const void *);
      const size_t n = va_arg(ap, size_t);
      rc = p ? sqlite3_bind_blob64(st, i, p, n, SQLITE_STATIC) : sqlite3_bind_null(st, i);
    }
  }
  va_end(ap);
  return rc == SQLITE_OK ? finish(s, st, sqlite3_step(st)) : rc;
}

static int begin(struct store *s, bool durable) {
  if (s->sync_full != durable) {
    /* This pragma takes effect when it is compiled, so it cannot be kept as a statement. */
    const int rc = sqlite3_exec(s->db, durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    if (rc != SQLITE_OK) return rc;
    s->sync_full = durable;
  }
  return run(s, S_BEGIN);
}

static void rollback(struct store *s) {
  if (!sqlite3_get_autocommit(s->db)) (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Ends a transaction: commits if rc is SQLITE_OK, else takes it back. */
static int end_transaction(struct store *s, int rc) {
  if (rc == SQLITE_OK) rc = run(s, S_COMMIT);
  if (rc != SQLITE_OK) rollback(s);
  return rc;
}

static enum cuzk_status written(struct store *s, int rc, struct cuzk_detail *d, const char *what) {
  atomic_store(&s->unhealthy, rc != SQLITE_OK);
  return rc == SQLITE_OK ? CUZK_OK : sql_fail(s, rc, d, what);
}

/* Called after each commit that wrote. */
static int after_commit(void *user, sqlite3 *db, const char *name, int pages) {
  struct store *s = user;
  s->wal_pages = pages;
  /* A checkpoint that fails loses nothing: the next one does its work. */
  if (pages >= WAL_LIMIT_PAGES) (void)sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
  return SQLITE_OK;
}

/* --- check sums: over what a row says, so that a flipped bit on disk is found --- */

static void sum_text(struct cuzk_sha256 *h, const char *t) { cuzk_sha256_update(h, t, strlen(t) + 1); }
static void sum_u64(struct cuzk_sha256 *h, uint64_t v) {
  uint8_t b[8];
  cuzk_store_le64(b, v);
  cuzk_sha256_update(h, b, 8);
}

static void row_sum(uint8_t out[32], const char *job_id, const char *request_id, const uint8_t digest[32], uint64_t payload_bytes,
                    bool from_prove, uint64_t admitted_ms) {
  struct cuzk_sha256 h;
  cuzk_sha256_init(&h);
  sum_text(&h, "job");
  sum_text(&h, job_id);
  sum_text(&h, request_id);
  cuzk_sha256_update(&h, digest, 32);
  sum_u64(&h, payload_bytes);
  sum_u64(&h, from_prove);
  sum_u64(&h, admitted_ms);
  cuzk_sha256_final(&h, out);
}

static void partition_sum(uint8_t out[32], const char *job_id, uint64_t number, const uint8_t *proof, size_t n) {
  struct cuzk_sha256 h;
  cuzk_sha256_init(&h);
  sum_text(&h, "partition");
  sum_text(&h, job_id);
  sum_u64(&h, number);
  cuzk_sha256_update(&h, proof, n);
  cuzk_sha256_final(&h, out);
}

static void end_sum(uint8_t out[32], const char *job_id, unsigned end, uint64_t ended_ms, const char *error, const uint8_t *proof, size_t n) {
  struct cuzk_sha256 h;
  cuzk_sha256_init(&h);
  sum_text(&h, "end");
  sum_text(&h, job_id);
  sum_u64(&h, end);
  sum_u64(&h, ended_ms);
  sum_text(&h, error ? error : "");
  cuzk_sha256_update(&h, proof, n);
  cuzk_sha256_final(&h, out);
}

static bool same_sum(sqlite3_stmt *st, int column, const uint8_t sum[32]) {
  const void *p = sqlite3_column_blob(st, column);
  return p && sqlite3_column_bytes(st, column) == 32 && memcmp(p, sum, 32) == 0;
}

/* --- owners --- */

static int set_lease(struct store *s) {
  char host[256] = "";
  (void)gethostname(host, sizeof host - 1);
  const uint64_t now = now_ms(s);
  const int rc = run_with(s, S_OWNER_SET, "ttiuu", s->owner, host, (unsigned)getpid(), now, now + s->ops.lease_ms);
  if (rc == SQLITE_OK) s->leased_ms = now;
  return rc;
}

/* Sets *lease to 0 if there is no row. */
static int lease_of(struct store *s, const char *id, uint64_t *lease) {
  sqlite3_stmt *st;
  *lease = 0;
  int rc = prepare(s, S_OWNER_LEASE, &st);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 1, id, -1, SQLITE_STATIC);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(st);
  if (rc == SQLITE_ROW) *lease = (uint64_t)sqlite3_column_int64(st, 0);
  return finish(s, st, rc);
}

static bool still_locked(void *user, const char *id) { return cuzk_owner_locked(((struct store *)user)->owner_fd, id); }

/* --- payloads --- */

static bool payload_used(void *user, const uint8_t digest[32]) {
  struct store *s = user;
  sqlite3_stmt *st;
  if (prepare(s, S_PAYLOAD_USED, &st) != SQLITE_OK) return true;
  int rc = sqlite3_bind_blob(st, 1, digest, 32, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  const bool used = rc != SQLITE_DONE; /* when in doubt it stays */
  (void)finish(s, st, rc);
  return used;
}

/* Removes a payload that no unfinished job has. Nobody can admit a job between the look and the removal, as that takes the write lock:
 * admit() looks, with that lock, whether its payload is still there. */
static void drop_payload(struct store *s, const uint8_t digest[32]) {
  if (run(s, S_BEGIN) != SQLITE_OK) {
    s->sweep_due = true;
    return;
  }
  if (!payload_used(s, digest)) cuzk_payload_remove(s->payload_fd, digest);
  rollback(s);
}

static void sweep(struct store *s) {
  if (run(s, S_BEGIN) != SQLITE_OK) return;
  const unsigned n = cuzk_payload_sweep(s->payload_fd, payload_used, still_locked, s);
  rollback(s);
  s->sweep_due = false;
  if (n) report(s, "%s/%s: removed %u file%s that no unfinished job has", s->dir, payload_folder, n, n == 1 ? "" : "s");
}

/* --- the interface --- */

static enum cuzk_status check_text(struct cuzk_detail *d, const char *what, const char *text) {
  return text ? CUZK_OK : cuzk_fail(d, CUZK_E_ARG, "journal: %s is missing", what);
}

static enum cuzk_status admit(void *self, struct cuzk_journal_job *job, struct cuzk_detail *d) {
  struct store *s = self;
  enum cuzk_status st;
  if ((st = check_text(d, "job_id", job->job_id)) != CUZK_OK || (st = check_text(d, "request_id", job->request_id)) != CUZK_OK) return st;
  if (!job->request) return cuzk_fail(d, CUZK_E_ARG, "journal: job %s has no request", job->job_id);
  const struct cuzk_request *r = job->request;
  const uint64_t n = r->n_bytes;
  if (atomic_fetch_add(&s->payload_bytes, n) + n > s->o.max_payload_bytes && s->o.max_payload_bytes) {
    atomic_fetch_sub(&s->payload_bytes, n);
    return cuzk_fail(d, CUZK_E_NOSPC, "%s: payloads of unfinished jobs are limited to %" PRIu64 " bytes", s->dir, s->o.max_payload_bytes);
  }
  uint8_t sum[32];
  row_sum(sum, job->job_id, job->request_id, r->digest, n, job->from_prove, job->admitted_unix_ms);
  char path[PATH_MAX + sizeof payload_folder];
  (void)snprintf(path, sizeof path, "%s/%s", s->dir, payload_folder);
  int rc = SQLITE_OK;
  bool there = false;
  for (int i = 0; i < ADMIT_TRIES && !there && rc == SQLITE_OK; i++) {
    /* Written before the write lock is taken, so that others need not wait for the disk; with it when others were quicker every time. */
    const bool with_lock = i == ADMIT_TRIES - 1;
    const unsigned serial = atomic_fetch_add(&s->serial, 1);
    st = with_lock ? CUZK_OK : cuzk_payload_write(s->payload_fd, path, s->owner, serial, r->digest, r->bytes, r->n_bytes, d);
    (void)pthread_mutex_lock(&s->lock);
    if (st == CUZK_OK) rc = begin(s, true);
    if (st == CUZK_OK && rc == SQLITE_OK) {
      if (with_lock) st = cuzk_payload_write(s->payload_fd, path, s->owner, serial, r->digest, r->bytes, r->n_bytes, d);
      /* A job with the same payload may have ended meanwhile, and taken the file with it. */
      there = st == CUZK_OK && cuzk_payload_exists(s->payload_fd, r->digest);
      if (there) {
        rc = run_with(s, S_ADMIT, "ttbuiubtii", job->job_id, job->request_id, r->digest, (size_t)32, n, (unsigned)job->from_prove,
                      job->admitted_unix_ms, sum, (size_t)32, s->owner, job->priority, job->n_partitions);
        if (rc == SQLITE_OK) job->seq = (uint64_t)sqlite3_last_insert_rowid(s->db);
        rc = end_transaction(s, rc);
      } else {
        rollback(s);
      }
    }
    if (st != CUZK_OK) {
      (void)pthread_mutex_unlock(&s->lock);
      atomic_fetch_sub(&s->payload_bytes, n);
      atomic_store(&s->unhealthy, true);
      return st;
    }
    if (rc != SQLITE_OK) drop_payload(s, r->digest);
    (void)pthread_mutex_unlock(&s->lock);
  }
  if (rc == SQLITE_OK && there) {
    atomic_fetch_add(&s->jobs, 1);
    return written(s, SQLITE_OK, d, "");
  }
  atomic_fetch_sub(&s->payload_bytes, n);
  if ((rc & 0xff) == SQLITE_CONSTRAINT) return cuzk_fail(d, CUZK_E_MISMATCH, "%s: a job %s is stored already", s->dir, job->job_id);
  if (rc != SQLITE_OK) return written(s, rc, d, "admit a job");
  return cuzk_fail(d, CUZK_E_IO, "%s: somebody keeps removing a payload", path);
}

struct found {
  uint64_t seq, payload_bytes;
  uint8_t digest[32];
  unsigned ended, n_partitions;
};

/* Looks for a job of this owner. */
static int find(struct store *s, const char *job_id, struct found *f, bool *is_there) {
  sqlite3_stmt *st;
  *is_there = false;
  int rc = prepare(s, S_FIND, &st);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 1, job_id, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 2, s->owner, -1, SQLITE_STATIC);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(st);
  if (rc == SQLITE_ROW) {
    *is_there = true;
    f->seq = (uint64_t)sqlite3_column_int64(st, 0);
    memset(f->digest, 0, 32);
    if (sqlite3_column_bytes(st, 1) == 32) memcpy(f->digest, sqlite3_column_blob(st, 1), 32);
    f->payload_bytes = (uint64_t)sqlite3_column_int64(st, 2);
    f->ended = (unsigned)sqlite3_column_int64(st, 3);
    f->n_partitions = (unsigned)sqlite3_column_int64(st, 4);
  }
  return finish(s, st, rc);
}

/* Locks, begins and finds. On CUZK_OK the caller ends with leave(); otherwise nothing is held. */
static enum cuzk_status enter(struct store *s, bool durable, const char *job_id, struct found *f, struct cuzk_detail *d, const char *what) {
  enum cuzk_status st = check_text(d, "job_id", job_id);
  if (st != CUZK_OK) return st;
  (void)pthread_mutex_lock(&s->lock);
  bool is_there = false;
  int rc = begin(s, durable);
  if (rc == SQLITE_OK) rc = find(s, job_id, f, &is_there);
  if (rc == SQLITE_OK && is_there) return CUZK_OK;
  rollback(s);
  (void)pthread_mutex_unlock(&s->lock);
  if (rc != SQLITE_OK) return written(s, rc, d, what);
  return cuzk_fail(d, CUZK_E_NOENT, "%s: this owner has no job %s", s->dir, job_id);
}

static enum cuzk_status leave(struct store *s, int rc, struct cuzk_detail *d, const char *what) {
  rc = end_transaction(s, rc);
  (void)pthread_mutex_unlock(&s->lock);
  return written(s, rc, d, what);
}

/* Ends what enter began without having written. */
static enum cuzk_status leave_unchanged(struct store *s, enum cuzk_status st) {
  rollback(s);
  (void)pthread_mutex_unlock(&s->lock);
  return st;
}

static enum cuzk_status update(void *self, const char *job_id, unsigned priority, unsigned n_partitions, struct cuzk_detail *d) {
  static const char what[] = "update a job";
  struct store *s = self;
  struct found f;
  const enum cuzk_status st = enter(s, false, job_id, &f, d, what);
  if (st != CUZK_OK) return st;
  return leave(s, run_with(s, S_UPDATE, "uii", f.seq, priority, n_partitions), d, what);
}

static enum cuzk_status partition_done(void *self, const char *job_id, unsigned partition, const uint8_t *proof, size_t n,
                                       struct cuzk_detail *d) {
  static const char what[] = "store a partition's proof";
  struct store *s = self;
  struct found f;
  if (!proof || !n) return cuzk_fail(d, CUZK_E_ARG, "journal: partition %u has no proof", partition);
  const enum cuzk_status st = enter(s, true, job_id, &f, d, what);
  if (st != CUZK_OK) return st;
  if (f.ended) return leave_unchanged(s, CUZK_OK);
  if (partition >= f.n_partitions) {
    (void)cuzk_fail(d, CUZK_E_ARG, "journal: job %s has %u partitions, no partition %u", job_id, f.n_partitions, partition);
    return leave_unchanged(s, CUZK_E_ARG);
  }
  uint8_t sum[32];
  partition_sum(sum, job_id, partition, proof, n);
  return leave(s, run_with(s, S_PARTITION_DONE, "uibb", f.seq, partition, proof, n, sum, (size_t)32), d, what);
}

static enum cuzk_status partition_undo(void *self, const char *job_id, unsigned partition, struct cuzk_detail *d) {
  static const char what[] = "forget a partition's proof";
  struct store *s = self;
  struct found f;
  const enum cuzk_status st = enter(s, true, job_id, &f, d, what);
  if (st != CUZK_OK) return st;
  return leave(s, run_with(s, S_PARTITION_UNDO, "ui", f.seq, partition), d, what);
}

static enum cuzk_status end(void *self, const char *job_id, enum cuzk_job_end how, const uint8_t *proof, size_t n, const char *error,
                            struct cuzk_detail *d) {
  static const char what[] = "store the end of a job";
  struct store *s = self;
  struct found f;
  if (how <= CUZK_END_NONE || how > CUZK_END_CANCELLED) return cuzk_fail(d, CUZK_E_ARG, "journal: %d is no end of a job", (int)how);
  if (how == CUZK_END_COMPLETED && (!proof || !n)) return cuzk_fail(d, CUZK_E_ARG, "journal: a completed job has no proof");
  if (!proof) n = 0;
  enum cuzk_status st = enter(s, true, job_id, &f, d, what);
  if (st != CUZK_OK) return st;
  if (f.ended) return leave_unchanged(s, CUZK_OK);
  const uint64_t now = now_ms(s);
  uint8_t sum[32];
  end_sum(sum, job_id, (unsigned)how, now, error, proof, n);
  int rc = run_with(s, S_END, "uiutbb", f.seq, (unsigned)how, now, error, proof, n, sum, (size_t)32);
  if (rc == SQLITE_OK) rc = run_with(s, S_PARTITIONS_DROP, "u", f.seq);
  rc = end_transaction(s, rc);
  if (rc == SQLITE_OK) {
    atomic_fetch_sub(&s->payload_bytes, f.payload_bytes);
    drop_payload(s, f.digest);
  }
  (void)pthread_mutex_unlock(&s->lock);
  return written(s, rc, d, what);
}

static enum cuzk_status delivered(void *self, const char *job_id, struct cuzk_detail *d) {
  static const char what[] = "note a delivery";
  struct store *s = self;
  struct found f;
  const enum cuzk_status st = enter(s, false, job_id, &f, d, what);
  if (st != CUZK_OK) return st;
  return leave(s, run_with(s, S_DELIVERED, "u", f.seq), d, what);
}

static enum cuzk_status forget(void *self, const char *job_id, struct cuzk_detail *d) {
  static const char what[] = "forget a job";
  struct store *s = self;
  struct found f;
  enum cuzk_status st = enter(s, false, job_id, &f, d, what);
  if (st == CUZK_E_NOENT) return CUZK_OK;
  if (st != CUZK_OK) return st;
  if (!f.ended) {
    (void)cuzk_fail(d, CUZK_E_ARG, "journal: job %s has not ended", job_id);
    return leave_unchanged(s, CUZK_E_ARG);
  }
  st = leave(s, run_with(s, S_FORGET, "u", f.seq), d, what);
  if (st == CUZK_OK) atomic_fetch_sub(&s->jobs, 1);
  return st;
}

/* Under the lock. Sets *lost if the row was gone: others took us for dead. */
static int renew_locked(struct store *s, bool *lost) {
  uint64_t lease = 0;
  int rc = begin(s, false);
  if (rc == SQLITE_OK) rc = lease_of(s, s->owner, &lease);
  if (rc == SQLITE_OK) rc = set_lease(s);
  rc = end_transaction(s, rc);
  *lost = rc == SQLITE_OK && lease == 0;
  return rc;
}

static enum cuzk_status renew(void *self, struct cuzk_detail *d) {
  struct store *s = self;
  bool lost = false;
  (void)pthread_mutex_lock(&s->lock);
  const int rc = renew_locked(s, &lost);
  if (rc == SQLITE_OK && s->sweep_due) sweep(s);
  if (rc == SQLITE_OK && s->wal_pages >= WAL_TIDY_PAGES) {
    (void)sqlite3_wal_checkpoint_v2(s->db, "main", SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    s->wal_pages = 0;
  }
  (void)pthread_mutex_unlock(&s->lock);
  const enum cuzk_status st = written(s, rc, d, "renew the lease");
  if (st == CUZK_OK && lost) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "%s: the lease had run out, and another owner took this one's jobs over", s->dir);
  }
  return st;
}

/* --- claim --- */

struct claim {
  struct store *s;
  uint64_t *seq;
  size_t n, room;
};

static int claim_add(struct claim *c, uint64_t seq) {
  if (c->n == c->room) {
    const size_t room = c->room ? 2 * c->room : 64;
    uint64_t *p = cuzk_realloc_array(c->seq, room, sizeof *p);
    if (!p) return SQLITE_NOMEM;
    c->seq = p;
    c->room = room;
  }
  c->seq[c->n++] = seq;
  return SQLITE_OK;
}

/* Adds the jobs of an owner and makes them ours. */
static int take_from(struct claim *c, const char *id) {
  struct store *s = c->s;
  sqlite3_stmt *st;
  int rc = prepare(s, S_OWNED, &st);
  if (rc == SQLITE_OK) rc = sqlite3_bind_text(st, 1, id, -1, SQLITE_STATIC);
  if (rc != SQLITE_OK) return rc;
  int added = SQLITE_OK;
  while (added == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) added = claim_add(c, (uint64_t)sqlite3_column_int64(st, 0));
  rc = finish(s, st, rc);
  if (added != SQLITE_OK) return added;
  if (rc == SQLITE_OK) rc = run_with(s, S_TAKE, "tt", id, s->owner);
  if (rc == SQLITE_OK) rc = run_with(s, S_OWNER_DROP, "t", id);
  return rc;
}

/* The owners that are named anywhere and do not live, each with a terminating zero. To be freed. */
static int dead_owners(struct store *s, char **out, size_t *n_out) {
  char *list = NULL;
  size_t n = 0;
  sqlite3_stmt *st;
  int rc = prepare(s, S_OWNERS, &st);
  if (rc != SQLITE_OK) return rc;
  int failed = SQLITE_OK;
  while (failed == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    const char *id = (const char *)sqlite3_column_text(st, 0);
    uint64_t lease = 0;
    if (!id) {
      failed = SQLITE_NOMEM;
    } else if (strcmp(id, s->owner) != 0) {
      failed = lease_of(s, id, &lease);
      if (failed != SQLITE_OK || (lease > now_ms(s) && cuzk_owner_locked(s->owner_fd, id))) continue;
      const size_t k = strlen(id) + 1;
      char *p = cuzk_realloc_array(list, n + k, 1);
      if (p) {
        list = p;
        memcpy(list + n, id, k);
        n += k;
      } else {
        failed = SQLITE_NOMEM;
      }
    }
  }
  rc = finish(s, st, rc);
  if (failed != SQLITE_OK) rc = failed;
  if (rc != SQLITE_OK) {
    cuzk_free(list);
    return rc;
  }
  *out = list;
  *n_out = n;
  return SQLITE_OK;
}

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

typedef void claim_fn(void *user, const struct cuzk_journal_job *job, const uint8_t *const *proof);

/* Reads the finished partitions of a job; free_partitions frees them. Damaged ones are removed. */
static int read_partitions(struct store *s, const char *job_id, uint64_t seq, unsigned n_partitions, uint8_t ***out) {
  sqlite3_stmt *st;
  *out = NULL;
  uint8_t **proof = cuzk_calloc(n_partitions ? n_partitions : 1, sizeof *proof);
  if (!proof) return SQLITE_NOMEM;
  int rc = prepare(s, S_PARTITIONS, &st);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
  if (rc != SQLITE_OK) {
    cuzk_free(proof);
    return rc;
  }
  int failed = SQLITE_OK;
  while (failed == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    const uint64_t number = (uint64_t)sqlite3_column_int64(st, 0);
    const uint8_t *p = sqlite3_column_blob(st, 1);
    const size_t n = (size_t)sqlite3_column_bytes(st, 1);
    uint8_t sum[32];
    if (p) partition_sum(sum, job_id, number, p, n);
    if (!p || !same_sum(st, 2, sum) || number >= n_partitions) {
      report(s, "%s/%s: the stored proof of partition %" PRIu64 " of job %s is damaged; it is proved again", s->dir, database_name, number, job_id);
      failed = run_with(s, S_PARTITION_UNDO, "uu", seq, number);
      continue;
    }
    proof[number] = cuzk_malloc(n);
    if (proof[number]) {
      memcpy(proof[number], p, n);
    } else {
      failed = SQLITE_NOMEM;
    }
  }
  rc = finish(s, st, rc);
  if (failed != SQLITE_OK) rc = failed;
  *out = proof;
  return rc;
}

static void free_partitions(uint8_t **proof, unsigned n) {
  if (!proof) return;
  for (unsigned i = 0; i < n; i++) cuzk_free(proof[i]);
  cuzk_free(proof);
}

/* Hands one job out. Whatever is wrong with what is stored becomes the job's error. */
static int hand_out(struct store *s, uint64_t seq, claim_fn *fn, void *user) {
  sqlite3_stmt *st;
  int rc = prepare(s, S_JOB, &st);
  if (rc == SQLITE_OK) rc = sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(st);
  if (rc != SQLITE_ROW) return finish(s, st, rc);

  struct cuzk_journal_job job = {.job_id = (const char *)sqlite3_column_text(st, 0), .request_id = (const char *)sqlite3_column_text(st, 1)};
  const uint8_t *digest = sqlite3_column_bytes(st, 2) == 32 ? sqlite3_column_blob(st, 2) : NULL;
  const uint64_t payload_bytes = (uint64_t)sqlite3_column_int64(st, 3);
  job.from_prove = sqlite3_column_int(st, 4) != 0;
  job.admitted_unix_ms = (uint64_t)sqlite3_column_int64(st, 5);
  job.priority = (unsigned)sqlite3_column_int64(st, 7);
  job.n_partitions = (unsigned)sqlite3_column_int64(st, 8);
  const int ended = sqlite3_column_int(st, 9);
  job.ended_unix_ms = (uint64_t)sqlite3_column_int64(st, 10);
  job.error = (const char *)sqlite3_column_text(st, 11);
  job.proof = sqlite3_column_blob(st, 12);
  job.proof_bytes = (size_t)sqlite3_column_bytes(st, 12);
  job.delivered = sqlite3_column_int(st, 14) != 0;
  job.seq = seq;
  job.digest = digest;
  if (!job.job_id || !job.request_id) {
    (void)finish(s, st, SQLITE_DONE);
    return SQLITE_NOMEM;
  }

  struct cuzk_detail why = {{0}};
  uint8_t sum[32];
  bool good = digest != NULL && ended >= CUZK_END_NONE && ended <= CUZK_END_CANCELLED;
  if (good) {
    row_sum(sum, job.job_id, job.request_id, digest, payload_bytes, job.from_prove, job.admitted_unix_ms);
    good = same_sum(st, 6, sum);
  }
  if (good && ended) {
    end_sum(sum, job.job_id, (unsigned)ended, job.ended_unix_ms, job.error, job.proof, job.proof_bytes);
    good = same_sum(st, 13, sum);
  }
  uint8_t **proof = NULL;
  int failed = SQLITE_OK;
  if (!good) {
    (void)cuzk_fail(&why, CUZK_E_FORMAT, "%s/%s: the record of this job is damaged", s->dir, database_name);
  } else if (ended) {
    job.end = (enum cuzk_job_end)ended;
  } else {
    char name[CUZK_PAYLOAD_NAME], path[PATH_MAX + sizeof payload_folder + CUZK_PAYLOAD_NAME + 2];
    cuzk_payload_name(name, digest);
    (void)snprintf(path, sizeof path, "%s/%s/%s", s->dir, payload_folder, name);
    if (cuzk_request_load(&job.request, path, digest, &why) == CUZK_E_NOMEM) {
      failed = SQLITE_NOMEM;
    } else if (job.request) {
      failed = read_partitions(s, job.job_id, seq, job.n_partitions, &proof);
    }
  }
  if (failed == SQLITE_OK) {
    if (why.text[0]) {
      report(s, "job %s: %s", job.job_id, why.text);
      job.error = why.text;
      job.end = CUZK_END_NONE;
      job.proof = NULL;
      job.proof_bytes = 0;
    }
    if (!ended) atomic_fetch_add(&s->payload_bytes, payload_bytes);
    atomic_fetch_add(&s->jobs, 1);
    fn(user, &job, (const uint8_t *const *)proof);
  }
  cuzk_request_unref(&job.request);
  free_partitions(proof, job.n_partitions);
  rc = finish(s, st, SQLITE_DONE);
  return failed != SQLITE_OK ? failed : rc;
}

static enum cuzk_status claim(void *self, claim_fn *fn, void *user, struct cuzk_detail *d) {
  struct store *s = self;
  struct claim c = {.s = s};
  char *dead = NULL;
  size_t n_dead = 0, done = 0;
  bool lost;
  (void)pthread_mutex_lock(&s->lock);
  int rc = begin(s, false);
  if (rc == SQLITE_OK) rc = dead_owners(s, &dead, &n_dead);
  for (size_t at = 0; at < n_dead && rc == SQLITE_OK; at += strlen(dead + at) + 1) rc = take_from(&c, dead + at);
  rc = end_transaction(s, rc);
  if (rc == SQLITE_OK) {
    for (size_t at = 0; at < n_dead; at += strlen(dead + at) + 1) cuzk_owner_remove(s->owner_fd, dead + at);
    if (c.n) qsort(c.seq, c.n, sizeof *c.seq, by_number);
    for (; done < c.n && rc == SQLITE_OK; done++) {
      rc = hand_out(s, c.seq[done], fn, user);
      if (rc != SQLITE_OK) break;
      /* Reading large payloads takes time. */
      if (now_ms(s) - s->leased_ms > s->ops.lease_ms / 3) (void)renew_locked(s, &lost);
    }
    for (; done < c.n; done++) (void)run_with(s, S_RELEASE, "u", c.seq[done]);
  }
  (void)pthread_mutex_unlock(&s->lock);
  cuzk_free(dead);
  cuzk_free(c.seq);
  return rc == SQLITE_OK ? CUZK_OK : sql_fail(s, rc, d, "claim jobs");
}

static uint64_t file_bytes(const struct store *s, const char *suffix) {
  char name[sizeof database_name + 8];
  struct stat st;
  (void)snprintf(name, sizeof name, "%s%s", database_name, suffix);
  return fstatat(s->dir_fd, name, &st, 0) == 0 ? (uint64_t)st.st_size : 0;
}

static void stats(void *self, uint64_t *bytes, uint64_t *jobs, bool *healthy) {
  struct store *s = self;
  *bytes = atomic_load(&s->payload_bytes) + file_bytes(s, "") + file_bytes(s, "-wal");
  *jobs = atomic_load(&s->jobs);
  *healthy = !atomic_load(&s->unhealthy);
}

/* --- opening --- */

static bool other_lives(void *user, const char *id) {
  struct store *s = user;
  if (strcmp(id, s->owner) == 0 || !cuzk_owner_locked(s->owner_fd, id)) return true; /* go on */
  s->shared = true;
  return false;
}

/* A folder that exists afterwards; something else under its name is moved aside. */
static enum cuzk_status make_folder(struct store *s, const char *name, int *fd, struct cuzk_detail *d) {
  for (int i = 0; i < 2; i++) {
    if (mkdirat(s->dir_fd, name, 0700) != 0 && errno != EEXIST) break;
    *fd = openat(s->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd >= 0) return CUZK_OK;
    if (errno != ENOTDIR) break;
    char aside[64];
    (void)snprintf(aside, sizeof aside, "%s.damaged-%" PRIu64, name, now_ms(s));
    if (renameat(s->dir_fd, name, s->dir_fd, aside) != 0) break;
    report(s, "%s/%s: is no folder; moved to %s", s->dir, name, aside);
  }
  return cuzk_fail_errno(d, errno, "%s/%s: cannot make this folder", s->dir, name);
}

/* All folders of a path. */
static enum cuzk_status make_path(const char *path, struct cuzk_detail *d) {
  char p[PATH_MAX];
  if (strlen(path) >= sizeof p - 64) return cuzk_fail(d, CUZK_E_ARG, "state_dir: a path of %zu bytes is too long", strlen(path));
  (void)snprintf(p, sizeof p, "%s", path);
  for (char *c = p + 1; *c; c++) {
    if (*c != '/') continue;
    *c = 0;
    if (mkdir(p, 0755) != 0 && errno != EEXIST) return cuzk_fail_errno(d, errno, "%s: cannot make this folder", p);
    *c = '/';
  }
  if (mkdir(p, 0700) != 0 && errno != EEXIST) return cuzk_fail_errno(d, errno, "%s: cannot make this folder", p);
  return CUZK_OK;
}

static void close_database(struct store *s) {
  for (int i = 0; i < N_STATEMENTS; i++) {
    (void)sqlite3_finalize(s->stmt[i]);
    s->stmt[i] = NULL;
  }
  (void)sqlite3_close(s->db);
  s->db = NULL;
}

/* The integer that a pragma answers. */
static int pragma_int(struct store *s, const char *sql, int64_t *out) {
  sqlite3_stmt *st;
  *out = 0;
  int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(st);
  if (rc == SQLITE_ROW) *out = sqlite3_column_int64(st, 0);
  const int end_rc = sqlite3_finalize(st);
  return rc == SQLITE_ROW ? SQLITE_OK : end_rc;
}

/* Whether a statement's first answer is this text. */
static int answers(struct store *s, const char *sql, const char *text, bool *yes) {
  sqlite3_stmt *st;
  *yes = false;
  int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
  if (rc != SQLITE_OK) return rc;
  rc = sqlite3_step(st);
  if (rc == SQLITE_ROW) {
    const char *t = (const char *)sqlite3_column_text(st, 0);
    *yes = t && strcmp(t, text) == 0;
  }
  const int end_rc = sqlite3_finalize(st);
  return rc == SQLITE_ROW ? SQLITE_OK : end_rc;
}

/* Looks at what was opened and brings it to this version. *alien says why it cannot be ours. */
static int check_schema(struct store *s, const char **alien) {
  int64_t id, version, tables;
  bool ok;
  int rc = answers(s, "PRAGMA quick_check(1)", "ok", &ok);
  if (rc == SQLITE_OK && !ok) *alien = "it fails SQLite's check";
  if (rc == SQLITE_OK) rc = pragma_int(s, "PRAGMA application_id", &id);
  if (rc == SQLITE_OK) rc = pragma_int(s, "PRAGMA user_version", &version);
  if (rc == SQLITE_OK) rc = pragma_int(s, "SELECT count(*) FROM sqlite_schema", &tables);
  if (rc != SQLITE_OK || *alien) return rc;
  if (id == 0 && version == 0 && tables == 0) {
    id = APPLICATION_ID;
  } else if (id != APPLICATION_ID) {
    *alien = "it is the database of another program";
  } else if (version < 1) {
    *alien = "it has no version";
  } else if (version > SCHEMA_VERSION) {
    *alien = "it was written by a newer version of cuzk";
  }
  if (*alien) return SQLITE_OK;
  for (; version < SCHEMA_VERSION && rc == SQLITE_OK; version++) {
    char sql[96];
    (void)snprintf(sql, sizeof sql, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID, (int)version + 1);
    rc = sqlite3_exec(s->db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_exec(s->db, schema[version], NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    rollback(s);
  }
  /* Every statement must be one that this schema understands. */
  for (int i = 0; i < N_STATEMENTS && rc == SQLITE_OK; i++) {
    sqlite3_stmt *st;
    rc = prepare(s, (enum statement)i, &st);
  }
  if (rc == SQLITE_ERROR) {
    *alien = "its tables are not those of its version";
    rc = SQLITE_OK;
  }
  return rc;
}

/* file:PATH?psow=0 : SQLite then pads each transaction to whole disk sectors, so that a write torn by a power cut cannot reach back into
 * the transaction before. */
static void database_uri(char out[3 * PATH_MAX + 64], const struct store *s) {
  static const char hex[] = "0123456789ABCDEF";
  char *w = out + sprintf(out, "file:");
  for (const char *p = s->dir; *p; p++) {
    const unsigned char c = (unsigned char)*p;
    if (c == '?' || c == '#' || c == '%') {
      *w++ = '%';
      *w++ = hex[c >> 4];
      *w++ = hex[c & 15];
    } else {
      *w++ = *p;
    }
  }
  (void)sprintf(w, "/%s?psow=0", database_name);
}

static int open_database(struct store *s, const char **alien) {
  char uri[3 * PATH_MAX + 64], sql[256];
  bool wal;
  database_uri(uri, s);
  *alien = NULL;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int rc = sqlite3_open_v2(uri, &s->db, flags, NULL);
  if (rc != SQLITE_OK) return rc;
  (void)sqlite3_busy_timeout(s->db, (int)s->o.busy_ms);
  (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  const uint64_t pages = s->o.max_database_bytes ? s->o.max_database_bytes / PAGE_BYTES + 1 : INT32_MAX - 1;
  (void)snprintf(sql, sizeof sql,
                 "PRAGMA page_size = %d; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
                 "PRAGMA journal_size_limit = %d; PRAGMA max_page_count = %" PRIu64 "; PRAGMA synchronous = FULL",
                 PAGE_BYTES, WAL_LIMIT_PAGES * PAGE_BYTES, pages < INT32_MAX ? pages : INT32_MAX - 1);
  rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
  if (rc == SQLITE_OK) rc = answers(s, "PRAGMA journal_mode = WAL", "wal", &wal);
  if (rc == SQLITE_OK && !wal) rc = SQLITE_CANTOPEN;
  s->sync_full = true;
  if (rc == SQLITE_OK) rc = check_schema(s, alien);
  if (rc == SQLITE_OK) (void)sqlite3_wal_hook(s->db, after_commit, s);
  return rc;
}

/* Moves database and payloads into a new folder. */
static enum cuzk_status move_aside(struct store *s, const char *why, struct cuzk_detail *d) {
  static const char *const names[] = {"", "-wal", "-shm"};
  char aside[64], from[sizeof database_name + 8], to[128];
  uint64_t stamp = now_ms(s);
  for (int i = 0;; i++, stamp++) {
    (void)snprintf(aside, sizeof aside, "damaged-%" PRIu64, stamp);
    if (mkdirat(s->dir_fd, aside, 0700) == 0) break;
    if (errno != EEXIST || i == 100) return cuzk_fail_errno(d, errno, "%s/%s: cannot make this folder", s->dir, aside);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    (void)snprintf(from, sizeof from, "%s%s", database_name, names[i]);
    (void)snprintf(to, sizeof to, "%s/%s", aside, from);
    if (renameat(s->dir_fd, from, s->dir_fd, to) != 0 && errno != ENOENT) {
      return cuzk_fail_errno(d, errno, "%s/%s: cannot be moved to %s", s->dir, from, to);
    }
  }
  (void)close(s->payload_fd);
  s->payload_fd = -1;
  (void)snprintf(to, sizeof to, "%s/%s", aside, payload_folder);
  if (renameat(s->dir_fd, payload_folder, s->dir_fd, to) != 0) {
    return cuzk_fail_errno(d, errno, "%s/%s: cannot be moved to %s", s->dir, payload_folder, to);
  }
  report(s, "%s/%s: cannot be used: %s; moved with its payloads to %s/%s, a new one is begun", s->dir, database_name, why, s->dir, aside);
  return make_folder(s, payload_folder, &s->payload_fd, d);
}

static enum cuzk_status open_or_replace(struct store *s, struct cuzk_detail *d) {
  for (int i = 0;; i++) {
    const char *why;
    struct stat st;
    int rc = open_database(s, &why);
    if (rc == SQLITE_OK && !why) return CUZK_OK;
    if (rc == SQLITE_CANTOPEN_ISDIR || (fstatat(s->dir_fd, database_name, &st, 0) == 0 && !S_ISREG(st.st_mode))) why = "it is no file";
    if (is_damage(rc)) why = sqlite3_errstr(rc);
    if (!why || i) {
      const enum cuzk_status failed = sql_fail(s, rc, d, "open");
      close_database(s);
      return failed;
    }
    close_database(s);
    cuzk_owner_each(s->owner_fd, other_lives, s);
    if (s->shared) {
      return cuzk_fail(d, CUZK_E_FORMAT, "%s/%s: cannot be used: %s; another process holds it, so it cannot be moved aside", s->dir, database_name, why);
    }
    const enum cuzk_status failed = move_aside(s, why, d);
    if (failed != CUZK_OK) return failed;
  }
}

/* One process at a time opens. Others hold this lock for moments only, unless they are stopped. */
static enum cuzk_status lock_opening(const struct store *s, int *fd, struct cuzk_detail *d) {
  *fd = openat(s->dir_fd, open_lock_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (*fd < 0) return cuzk_fail_errno(d, errno, "%s/%s: cannot open", s->dir, open_lock_name);
  for (unsigned waited = 0;; waited += 20) {
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0) return CUZK_OK;
    if (errno != EWOULDBLOCK && errno != EINTR) return cuzk_fail_errno(d, errno, "%s/%s: cannot lock", s->dir, open_lock_name);
    if (waited >= s->o.busy_ms) return cuzk_fail(d, CUZK_E_IO, "%s/%s: another process is opening the journal and does not finish", s->dir, open_lock_name);
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
}

static bool remove_if_dead(void *user, const char *id) {
  const struct store *s = user;
  if (!cuzk_owner_locked(s->owner_fd, id)) cuzk_owner_remove(s->owner_fd, id);
  return true;
}

static void destroy(struct store *s) {
  close_database(s);
  cuzk_owner_destroy(&s->lock_fd, s->owner, s->owner_fd);
  if (s->payload_fd >= 0) (void)close(s->payload_fd);
  if (s->owner_fd >= 0) (void)close(s->owner_fd);
  if (s->dir_fd >= 0) (void)close(s->dir_fd);
  (void)pthread_mutex_destroy(&s->lock);
  cuzk_free(s);
}

static const struct cuzk_journal_ops ops = {
    .admit = admit,
    .update = update,
    .partition_done = partition_done,
    .partition_undo = partition_undo,
    .end = end,
    .delivered = delivered,
    .forget = forget,
    .claim = claim,
    .renew = renew,
    .stats = stats,
};

enum cuzk_status cuzk_store_sqlite_open(struct cuzk_journal *out, const struct cuzk_store_options *o, struct cuzk_detail *d) {
  *out = (struct cuzk_journal){0};
  if (!o->state_dir || !*o->state_dir) return cuzk_fail(d, CUZK_E_ARG, "journal: no state_dir");
  struct store *s = cuzk_calloc(1, sizeof *s);
  if (!s) return cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory for the journal", o->state_dir);
  s->dir_fd = s->payload_fd = s->owner_fd = s->lock_fd = -1;
  s->o = *o;
  s->o.state_dir = NULL; /* the caller's */
  if (!s->o.busy_ms) s->o.busy_ms = 5000;
  s->ops = ops;
  s->ops.lease_ms = o->lease_ms ? o->lease_ms : 30000;
  (void)pthread_mutex_init(&s->lock, NULL);
  int opening = -1;
  enum cuzk_status st;
  CUZK_TRY(make_path(o->state_dir, d));
  if (!realpath(o->state_dir, s->dir)) {
    st = cuzk_fail_errno(d, errno, "%s: cannot be used", o->state_dir);
    goto out;
  }
  s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (s->dir_fd < 0) {
    st = cuzk_fail_errno(d, errno, "%s: cannot be used", s->dir);
    goto out;
  }
  CUZK_TRY(lock_opening(s, &opening, d));
  CUZK_TRY(make_folder(s, owner_folder, &s->owner_fd, d));
  CUZK_TRY(make_folder(s, payload_folder, &s->payload_fd, d));
  char path[PATH_MAX + sizeof owner_folder];
  (void)snprintf(path, sizeof path, "%s/%s", s->dir, owner_folder);
  CUZK_TRY(cuzk_owner_create(&s->lock_fd, s->owner, s->owner_fd, path, d));
  CUZK_TRY(open_or_replace(s, d));
  bool lost;
  const int rc = renew_locked(s, &lost);
  if (rc != SQLITE_OK) {
    st = sql_fail(s, rc, d, "enter an owner");
    goto out;
  }
  cuzk_owner_each(s->owner_fd, remove_if_dead, s);
  sweep(s);
  if (fsync(s->dir_fd) != 0) st = cuzk_fail_errno(d, errno, "%s: cannot synchronise", s->dir);
out:
  if (opening >= 0) (void)close(opening);
  if (st != CUZK_OK) {
    destroy(s);
    return st;
  }
  *out = (struct cuzk_journal){.ops = &s->ops, .self = s};
  return CUZK_OK;
}

void cuzk_store_close(struct cuzk_journal *j) {
  struct store *s = j->self;
  *j = (struct cuzk_journal){0};
  if (!s) return;
  /* The lock file tells the same if this row stays. */
  if (begin(s, false) == SQLITE_OK) (void)end_transaction(s, run_with(s, S_OWNER_DROP, "t", s->owner));
  destroy(s);
}
