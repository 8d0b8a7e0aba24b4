/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** libcuzk: Filecoin's proofs in process, without a daemon. docs/howto/use-libcuzk.md; examples/prove_in_process.c.
 *
 *  Stable: functions and members keep their meaning within one major version; structs grow at their end, and their first member says
 *  how much of them the caller knows. Names begin with libcuzk_; beside them only the functions of
 *  cuzk/status.h are visible.
 *  Threads  every function may be called from any thread, also at the same time, but libcuzk_close, which must be the last.
 *  Memory   what a function gives out is freed with libcuzk_free.
 *  Process  the library installs a handler for SIGBUS, for parameter files that are shortened while they are mapped; other SIGBUS go to
 *           the handler that was there. It blocks no signals, prints nothing and never exits. */
#ifndef CUZK_CUZK_H
#define CUZK_CUZK_H
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CUZK_API __attribute__((visibility("default")))
#else
#define CUZK_API
#endif

#define LIBCUZK_VERSION_MAJOR 0

/** An engine: jobs in, proofs out. */
struct libcuzk;

/** What went wrong: a status (cuzk/status.h) and a line of text. */
struct libcuzk_error {
  enum cuzk_status status;
  char text[512];
};

/** Zero what you do not set. Strings are copied. */
struct libcuzk_options {
  size_t size;                 /* sizeof(struct libcuzk_options) */
  const char *param_dir;       /* parameter files; NULL: FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters */
  const char *circuit_dir;     /* compact circuits are kept there; NULL: param_dir; "": in memory only */
  const char *state_dir;       /* accepted jobs survive the process in this folder; NULL: they do not */
  const char *devices;         /* "cpu", "cuda:0,cuda:1", ...; NULL: all GPUs, else the CPU */
  const char *timeline_path;   /* events are appended to this file; NULL: nowhere */
  uint64_t memory_bytes;       /* budget; 0: nine tenths of what the process may use */
  uint64_t device_memory_bytes; /* of each device's own memory; 0: what is free */
  unsigned threads;            /* of the host, for synthesis and for each device; 0: all processors */
  unsigned partitions_at_once; /* in synthesis; 0: as memory allows */
};

enum libcuzk_kind { LIBCUZK_POREP = 1, LIBCUZK_SNAP = 2, LIBCUZK_WINDOW_POST = 3, LIBCUZK_WINNING_POST = 4 };

struct libcuzk_bytes {
  const uint8_t *data;
  size_t n;
};

/** Fields of cuzk.v1.SubmitProofRequest. Borrowed for the call. */
struct libcuzk_request {
  size_t size;            /* sizeof(struct libcuzk_request) */
  const char *request_id; /* "" or NULL: every call is a new job; else the same request again joins the job that is there */
  unsigned kind;          /* enum libcuzk_kind */
  unsigned priority;      /* 1 LOW .. 4 CRITICAL; 0: the kind's own */
  uint64_t sector_size, registered_proof;
  struct libcuzk_bytes vanilla_proof;         /* PoRep: phase-1 output */
  const struct libcuzk_bytes *vanilla_proofs; /* the others: one record a sector or partition */
  size_t n_vanilla_proofs;
  uint64_t sector_number, miner_id;
  struct libcuzk_bytes randomness; /* PoSt, 32 bytes */
  uint32_t partition_index;        /* WindowPoSt */
  struct libcuzk_bytes comm_r_old, comm_r_new, comm_d_new; /* Snap, 32 bytes each */
};

enum libcuzk_state { LIBCUZK_RUNNING = 1, LIBCUZK_COMPLETED = 2, LIBCUZK_FAILED = 3, LIBCUZK_CANCELLED = 4 };

struct libcuzk_result {
  size_t size;              /* sizeof(struct libcuzk_result) */
  enum libcuzk_state state; /* RUNNING: the time was over first */
  uint8_t *proof;           /* COMPLETED: 192 bytes a partition; libcuzk_free */
  size_t proof_bytes;
  char *error;              /* FAILED, CANCELLED: one line, "bad_input: ..." (engine specification 2.6); libcuzk_free; NULL if there is none */
  uint64_t queue_wait_ms, srs_load_ms, synthesis_ms, gpu_compute_ms, total_ms;
};

/** "0.1.0". */
CUZK_API const char *libcuzk_version(void);

/** Opens devices, takes over the jobs of state_dir, starts the engine. options NULL: all defaults. error may be NULL everywhere.
 *  Errors: E_ARG (naming the member), E_DEVICE, E_NOMEM, E_IO, E_NOSPC. *out is NULL then. */
CUZK_API enum cuzk_status libcuzk_open(struct libcuzk **out, const struct libcuzk_options *options, struct libcuzk_error *error);
/** Cancels what runs; with a state_dir unfinished jobs stay there for the next open. *e becomes NULL; NULL is accepted. */
CUZK_API void libcuzk_close(struct libcuzk **e);

/** Checks a request's shape and queues it; with a state_dir it is durable on return. *job_id: libcuzk_free.
 *  Errors: E_ARG, E_FORMAT, E_MISMATCH (bad request), E_UNSUPPORTED, E_NOENT (no parameter file), E_NOMEM (queue full), E_NOSPC, E_IO. */
CUZK_API enum cuzk_status libcuzk_submit(struct libcuzk *e, const struct libcuzk_request *request, char **job_id, struct libcuzk_error *error);
/** Waits at most timeout_ms (UINT64_MAX: for ever) for the end of a job. A finished job may be asked for again for ten minutes.
 *  Errors: E_NOENT (no such job), E_NOMEM, E_ARG. A job that failed is no error: see out->state. */
CUZK_API enum cuzk_status libcuzk_await(struct libcuzk *e, const char *job_id, uint64_t timeout_ms, struct libcuzk_result *out,
                                        struct libcuzk_error *error);
/** Cancels a job. Errors: E_NOENT. */
CUZK_API enum cuzk_status libcuzk_cancel(struct libcuzk *e, const char *job_id, struct libcuzk_error *error);

/** Brings the parameters of a circuit ("porep-32g") into memory, waiting at most timeout_ms. Errors: E_ARG (no such circuit), E_NOENT, E_NOMEM. */
CUZK_API enum cuzk_status libcuzk_preload(struct libcuzk *e, const char *circuit_id, uint64_t timeout_ms, struct libcuzk_error *error);
/** Gives the memory of idle parameters back. Errors: E_ARG, E_MISMATCH (in use). */
CUZK_API enum cuzk_status libcuzk_evict(struct libcuzk *e, const char *circuit_id, struct libcuzk_error *error);

/** What the engine does now, as JSON (docs/formats/status.md), and its metrics as Prometheus text. *text: libcuzk_free. Errors: E_NOMEM. */
CUZK_API enum cuzk_status libcuzk_status_json(struct libcuzk *e, char **text, struct libcuzk_error *error);
CUZK_API enum cuzk_status libcuzk_metrics(struct libcuzk *e, char **text, struct libcuzk_error *error);

/** NULL is accepted. */
CUZK_API void libcuzk_free(void *p);

#ifdef __cplusplus
}
#endif
#endif
