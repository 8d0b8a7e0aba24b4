/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Where accepted jobs survive the process (engine specification 5.23). An interface: src/store implements it over SQLite; nothing
 *  here is SQLite's. Jobs are owned by leases, so several engines may share one journal where the implementation allows it.
 *
 *  Durable means: survives power loss once the call has returned E_OK. All functions may be called from any thread. */
#ifndef CUZK_ENGINE_JOURNAL_H
#define CUZK_ENGINE_JOURNAL_H
#include <stdbool.h>

#include "cuzk/status.h"
#include "engine/request.h"

enum cuzk_job_end { CUZK_END_NONE, CUZK_END_COMPLETED, CUZK_END_FAILED, CUZK_END_CANCELLED };

/** A job as stored. Strings are borrowed for the call that takes it. */
struct cuzk_journal_job {
  const char *job_id;     /* unique among live and retained jobs */
  const char *request_id;
  struct cuzk_request *request; /* NULL when ended */
  const uint8_t *digest;  /* claim(): 32 bytes, the request's, ended or not; NULL if the record is damaged. Ignored by admit() */
  unsigned priority;      /* protocol numbers 1 .. 4 */
  bool from_prove;        /* submitted by Prove: may become an orphan */
  uint64_t seq;           /* order of admission, assigned by admit() */
  uint64_t admitted_unix_ms, ended_unix_ms;
  unsigned n_partitions;  /* 0 until known */
  enum cuzk_job_end end;
  const char *error;      /* FAILED */
  const uint8_t *proof;   /* COMPLETED: the result */
  size_t proof_bytes;
  bool delivered;
};

struct cuzk_journal_ops {
  /** Stores the payload, then the row. Durable. Sets job->seq. Errors: E_NOSPC, E_IO, E_NOMEM; nothing of the job is left then. */
  enum cuzk_status (*admit)(void *self, struct cuzk_journal_job *job, struct cuzk_detail *d);
  /** A higher priority, or the number of partitions once known. */
  enum cuzk_status (*update)(void *self, const char *job_id, unsigned priority, unsigned n_partitions, struct cuzk_detail *d);
  /** Durable. Storing the same partition again is E_OK and keeps the first. */
  enum cuzk_status (*partition_done)(void *self, const char *job_id, unsigned partition, const uint8_t *proof, size_t n, struct cuzk_detail *d);
  /** A verified-bad partition: forget its proof. Durable. */
  enum cuzk_status (*partition_undo)(void *self, const char *job_id, unsigned partition, struct cuzk_detail *d);
  /** The end of a job. Durable; the payload is removed after it. */
  enum cuzk_status (*end)(void *self, const char *job_id, enum cuzk_job_end end, const uint8_t *proof, size_t n, const char *error,
                          struct cuzk_detail *d);
  enum cuzk_status (*delivered)(void *self, const char *job_id, struct cuzk_detail *d);
  /** Removes an ended job. E_OK if it is not there. */
  enum cuzk_status (*forget)(void *self, const char *job_id, struct cuzk_detail *d);
  /** Takes over all jobs that no living owner holds, oldest first, and calls fn for each with its finished partitions
   *  (proof[i] NULL: not finished). A payload that is missing or damaged: request NULL with end NONE, error says why; the engine fails
   *  that job. fn must not call the journal. Leases are kept alive by renew(), to be called at least every third of lease_ms. */
  enum cuzk_status (*claim)(void *self, void (*fn)(void *user, const struct cuzk_journal_job *job, const uint8_t *const *proof), void *user,
                            struct cuzk_detail *d);
  enum cuzk_status (*renew)(void *self, struct cuzk_detail *d);
  uint64_t lease_ms;
  /** For status: bytes on disk, jobs stored, whether the last write failed. */
  void (*stats)(void *self, uint64_t *bytes, uint64_t *jobs, bool *healthy);
};
struct cuzk_journal {
  const struct cuzk_journal_ops *ops;
  void *self;
};
#endif
