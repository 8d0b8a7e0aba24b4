/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The journal of engine/journal.h in a folder: an SQLite database and one file a payload (engine specification 5.23).
 *
 *  Several processes of one host may share the folder. Each journal opened is an owner: it has a lease in the database and a lock on
 *  a file of its own, and counts as living while it holds the lock and the lease has not run out. A process that dies loses the lock
 *  with its last breath, so that its successor need not wait for the lease.
 *  The folder must not be on a network file system (SQLite's shared memory does not work there).
 *  Design and layout on disk: docs/formats/journal.md. Tests: store/. */
#ifndef CUZK_STORE_STORE_H
#define CUZK_STORE_STORE_H
#include "base/clock.h"
#include "engine/journal.h"

struct cuzk_store_options {
  const char *state_dir;       /* made if it is not there (mode 0700) */
  struct cuzk_clock *clock;    /* of times stored and leases where it is virtual; else, and when NULL, the time of day */
  uint64_t lease_ms;           /* 0: 30 s */
  uint64_t max_payload_bytes;  /* payloads of this owner's unfinished jobs together; 0: no limit */
  uint64_t max_database_bytes; /* 0: no limit */
  unsigned busy_ms;            /* how long a call waits for another owner's; 0: 5 s */
  /** Called for what an operator should know though the call that met it goes on: a database moved aside, payloads without a job
   *  removed, proofs that were damaged. From the thread of that call, under the journal's lock. May be NULL. */
  void (*report)(void *user, const char *line);
  void *report_user;
};

/** Opens the journal, making what is missing. A database that is damaged, of a newer version, or not ours is moved with the payloads into
 *  a folder damaged-<time> beside it, reported, and an empty one begun, unless a living owner uses it.
 *  Beyond the interface: admit() gives E_MISMATCH for a job_id that is stored; update() takes 0 for "leave it"; partition_done() wants the number of
 *  partitions stored before, and does nothing once the job has ended; calls on a job of another owner, or that is not there, give E_NOENT
 *  (forget() does nothing then); end() of an ended job does nothing; forget() of an unfinished one is E_ARG. renew() gives E_MISMATCH if the lease
 *  had run out and another owner has taken jobs over; the owner lives on without them. delivered, update, forget and renew survive the
 *  process at once, and power loss with the next durable call. claim() holds one reference of job->request during fn.
 *  Any failure to write leaves the journal usable and what was stored before untouched.
 *  Errors  E_ARG, E_NOMEM, E_NOSPC, E_IO (also: the folder cannot be made or written), E_FORMAT (damaged, and a living owner uses it).
 *          *out is empty then. Owns  out, until cuzk_store_close. Threads  one lock; payloads are written outside of it. */
enum cuzk_status cuzk_store_sqlite_open(struct cuzk_journal *out, const struct cuzk_store_options *o, struct cuzk_detail *d);

/** Gives the lease back, so that unfinished jobs can be claimed at once, and closes. *j becomes empty; an empty one is accepted. No other
 *  call may be under way. */
void cuzk_store_close(struct cuzk_journal *j);
#endif
