/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the engine asks of whoever makes proofs. The engine knows jobs, partitions, memory and time; it knows no circuit, curve or
 *  device. src/prover implements this over circuits, Groth16 and devices; engine/fake.h with programmed delays and faults.
 *
 *  A partition's way: synth (host, many at once) -> start (host work of one device worker, no lock) -> kernels (device work, device
 *  lock held) -> finish (host) -> 192 bytes. All functions may be called from any thread, different partitions at the same time;
 *  kernels of one device from one thread at a time. Errors that another device or a later try may not meet are those whose status says
 *  so (cuzk/status.h). Everything that takes longer than 2 s of work tests `stop` in between and returns E_CANCELLED. */
#ifndef CUZK_ENGINE_PROVER_H
#define CUZK_ENGINE_PROVER_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "cuzk/status.h"
#include "engine/request.h"

#define CUZK_PROOF_LEN 192

/** Classes of memory in the budget (engine specification 5.17). */
enum cuzk_mem {
  CUZK_MEM_SRS, CUZK_MEM_PCE, CUZK_MEM_INPUTS, CUZK_MEM_ABC, CUZK_MEM_AUX, CUZK_MEM_PROVER, CUZK_MEM_POOL_IDLE, CUZK_MEM_SCRATCH,
  CUZK_N_MEM
};
extern const char *const cuzk_mem_names[CUZK_N_MEM]; /* "srs", "pce", ... */

/** What admission finds out about a request, cheaply and without deep parsing. */
struct cuzk_plan {
  unsigned kind;             /* row of the registry of kinds, 0 .. 3 in the protocol's order */
  char circuit_id[24];       /* "porep-32g": of the protocol */
  unsigned n_partitions;
  uint64_t inputs_bytes;     /* decoded inputs, class inputs */
  uint64_t srs_bytes;        /* host memory that the parameters take when resident, class srs */
  uint64_t partition_bytes[CUZK_N_MEM]; /* one partition from synth to finish: abc is free after kernels, the rest after finish */
  bool deferred;             /* the circuit cannot be known before open(): open() fills the rest (not used where avoidable) */
};

/** Names of a kind, for status, metrics, log. */
struct cuzk_kind_names {
  const char *rpc_name, *metric_label; /* "porep-c2", "porep_c2" */
  unsigned rpc_number;
  unsigned default_priority; /* protocol: 2 NORMAL, 3 HIGH, 4 CRITICAL */
};

struct cuzk_device_info {
  unsigned ordinal;
  char name[128], uuid[48], pci[32];
  uint64_t memory_total, memory_free; /* bytes; 0 where unknown */
  bool lost;
};

/** How long the parts of a device call took, ms; what is not known is 0. */
struct cuzk_kernel_times {
  uint64_t h_ms, barrier_ms, badd_ms, tail_ms, upload_ms;
};

struct cuzk_prover_ops {
  const struct cuzk_kind_names *kinds; /* 4 rows, the protocol's order */
  unsigned (*n_devices)(void *self);
  void (*device_info)(void *self, unsigned device, struct cuzk_device_info *out); /* never blocks on the device */
  /** Tries to make a device usable again after errors. Errors: E_DEVICE. */
  enum cuzk_status (*device_reset)(void *self, unsigned device, struct cuzk_detail *d);

  /** Shape checks (engine specification 2.6): E_ARG / E_FORMAT / E_MISMATCH bad request, E_UNSUPPORTED, E_NOENT (no parameter file). */
  enum cuzk_status (*admit)(void *self, const struct cuzk_request *rq, struct cuzk_plan *plan, struct cuzk_detail *d);
  /** Decodes and checks all inputs. Keeps a reference of rq while it needs it. */
  enum cuzk_status (*open)(void *self, struct cuzk_request *rq, const struct cuzk_plan *plan, void **inputs, const atomic_bool *stop,
                           struct cuzk_detail *d);
  void (*close)(void *self, void *inputs);

  /** Known circuit ids, NULL at the end; for one of them: bytes of host memory when resident and whether the file is there. */
  const char *(*circuit_at)(void *self, size_t i);
  enum cuzk_status (*srs_size)(void *self, const char *circuit_id, uint64_t *bytes, struct cuzk_detail *d); /* E_ARG unknown id, E_NOENT */
  enum cuzk_status (*srs_load)(void *self, const char *circuit_id, void **srs, const atomic_bool *stop, struct cuzk_detail *d);
  void (*srs_unload)(void *self, void *srs);

  /** E_UNSAT: the inputs do not satisfy the circuit. *work is the caller's: given to start or dropped. */
  enum cuzk_status (*synth)(void *self, void *inputs, void *srs, unsigned partition, void **work, const atomic_bool *stop,
                            struct cuzk_detail *d);
  void (*drop)(void *self, void *work);
  /** Host work before the device; takes work, on failure too. */
  enum cuzk_status (*start)(void *self, void *work, unsigned device, void **pending, struct cuzk_detail *d);
  /** Device work only. On failure pending is still to be aborted. */
  enum cuzk_status (*kernels)(void *self, void *pending, struct cuzk_kernel_times *t, struct cuzk_detail *d);
  /** Takes pending, on failure too. */
  enum cuzk_status (*finish)(void *self, void *pending, uint8_t proof[CUZK_PROOF_LEN], struct cuzk_detail *d);
  /** Legal at any moment between start and finish; takes pending. */
  void (*abort)(void *self, void *pending);

  /** ok[i] = does proof i (partition i) hold? All must be set. An error is an error of the verifier, not of a proof. */
  enum cuzk_status (*verify)(void *self, void *inputs, void *srs, const uint8_t *proofs, unsigned n, bool *ok, struct cuzk_detail *d);
};

struct cuzk_prover {
  const struct cuzk_prover_ops *ops;
  void *self;
};
#endif
