/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A device that makes Groth16 proofs: the host's cores or a CUDA card, behind one table of functions. src/prover goes through it and
 *  knows no device by name.
 *
 *  A circuit (compact form and shape) and its parameters are given to a device once (cuzk_device_key) and kept in the form it likes best, in its
 *  memory if they fit, else streamed. A partition comes as its packed witness and leaves as a proof; a, b, c never exist on the host when
 *  the device evaluates rows itself. Keys may be used by several works at once; works of one device run their kernels one at a time. */
#ifndef CUZK_DEVICE_DEVICE_H
#define CUZK_DEVICE_DEVICE_H
#include <stdatomic.h>

#include "base/pool.h"
#include "base/progress.h"
#include "cuzk/status.h"
#include "groth16/params.h"
#include "groth16/proof.h"
#include "r1cs/compact.h"
#include "r1cs/packed.h"

struct cuzk_device;      /* open */
struct cuzk_device_key;  /* a circuit with its parameters on a device */
struct cuzk_device_work; /* one partition */

struct cuzk_device_desc {
  const char *backend; /* "cpu", "cuda" */
  char name[128], uuid[48], pci[32];
  uint64_t memory_total, memory_free; /* bytes of its own memory; cpu: the host's */
  unsigned major, minor;              /* compute capability; 0 */
};
/** How a key is kept. */
enum cuzk_key_tier { CUZK_KEY_RESIDENT, CUZK_KEY_PINNED, CUZK_KEY_MAPPED };
struct cuzk_work_times { /* ms of the device's own clock */
  double upload, rows, transforms, h, l, a, b_g1, b_g2, finish;
};

struct cuzk_device_ops {
  const char *name;
  unsigned (*count)(void);
  enum cuzk_status (*describe)(unsigned index, struct cuzk_device_desc *out, struct cuzk_detail *d);
  /** pool: the host's cores that the device's host side (or the cpu device itself) may use; borrowed while open. memory_limit: at most so much
   *  device memory, 0: what is free. Runs the known-answer self-test. */
  enum cuzk_status (*open)(struct cuzk_device **out, unsigned index, struct cuzk_pool *pool, uint64_t memory_limit, struct cuzk_detail *d);
  void (*close)(struct cuzk_device **dev);

  /** Borrows params, circuit and shape while the key lives. Chooses the tier from the memory. Errors: E_MISMATCH, E_NOMEM, E_DEVICE, point errors. */
  enum cuzk_status (*key_create)(struct cuzk_device_key **out, struct cuzk_device *dev, const struct cuzk_params *params,
                                 const struct cuzk_compact *circuit, const struct cuzk_shape *shape, const struct cuzk_progress *progress,
                                 struct cuzk_detail *d);
  void (*key_destroy)(struct cuzk_device_key **key);
  enum cuzk_key_tier (*key_tier)(const struct cuzk_device_key *key);
  uint64_t (*key_bytes)(const struct cuzk_device_key *key); /* of device memory */
  /** Host memory that one work of this circuit takes at its peak, and what is left of that after kernels. */
  void (*work_bytes)(const struct cuzk_shape *shape, uint64_t *peak, uint64_t *after);

  /** Host side before the device: takes over z (moved, *z empty afterwards, on failure too). No device lock is needed. */
  enum cuzk_status (*start)(struct cuzk_device_work **out, struct cuzk_device_key *key, struct cuzk_packed *z, struct cuzk_detail *d);
  /** All device work. Out of memory degrades (smaller pieces, streaming) before it is E_NOMEM. E_UNSAT: rows do not hold. stop may be NULL. */
  enum cuzk_status (*kernels)(struct cuzk_device_work *w, const atomic_bool *stop, struct cuzk_detail *d);
  /** Proof from the sums and blinding values r, s; frees the work, on failure too. Not verified: the caller does that. */
  enum cuzk_status (*finish)(struct cuzk_device_work **w, const cuzk_fr *r, const cuzk_fr *s, struct cuzk_proof *out, struct cuzk_work_times *t,
                             struct cuzk_detail *d);
  void (*abort)(struct cuzk_device_work **w); /* any time; NULL is accepted */
  /** Reports of kernels go to progress (borrowed until kernels returns), whose false also stops them. NULL: no reports are made. */
  void (*watch)(struct cuzk_device_work *w, const struct cuzk_progress *progress);
  /** What is known of the times once kernels has returned; finish is 0. Where this is NULL, only finish tells. */
  void (*times)(const struct cuzk_device_work *w, struct cuzk_work_times *t);
};

/** Compiled-in backends in order of preference, NULL at the end: cuda (where built and usable), cpu. */
const struct cuzk_device_ops *cuzk_device_backend_at(size_t i);
/** "cuda:0", "cuda:GPU-<uuid>", "cuda:<pci>", "cpu", "auto" -> backend and index. Errors: E_ARG (no such device; lists what there is). */
enum cuzk_status cuzk_device_find(const struct cuzk_device_ops **ops, unsigned *index, const char *spec, struct cuzk_detail *d);

extern const struct cuzk_device_ops cuzk_device_cpu;
#ifdef CUZK_WITH_CUDA
extern const struct cuzk_device_ops cuzk_device_cuda;
#endif
#endif
