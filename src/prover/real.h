/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The prover behind the engine: circuits, parameters and devices as engine/prover.h wants them (engine specification 2.4, 2.6, 5.8, 5.13, 5.17 to
 *  5.19). docs/internals/prover.md. */
#ifndef CUZK_PROVER_REAL_H
#define CUZK_PROVER_REAL_H
#include <stdbool.h>
#include <stdint.h>

#include "cuzk/status.h"
#include "engine/prover.h"

struct cuzk_prover_real;

/** Strings are copied. All zero is a good start. */
struct cuzk_prover_real_options {
  const char *param_dir;      /* parameter files; NULL: cuzk_params_cache_dir() */
  const char *circuit_dir;    /* where compact circuits are kept; NULL: param_dir; "": in memory only */
  const char *const *devices; /* n_devices specs as of cuzk_device_find; "auto", or none: all of the best backend */
  unsigned n_devices;
  uint64_t device_memory_limit; /* bytes of each device's own memory; 0: what is free */
  unsigned synth_threads;       /* that checks and synthesis share; 0: all processors */
  unsigned device_threads;      /* of the host for each device; 0: all processors */
  bool eager_keys;              /* loading parameters also brings them to all devices that take them; else to each with its first partition */
};

/** Opens the devices. Errors: E_ARG (no such device), E_DEVICE, E_NOMEM. */
enum cuzk_status cuzk_prover_real_create(struct cuzk_prover_real **out, const struct cuzk_prover_real_options *o, struct cuzk_detail *d);
/** Nothing of it is in use: no inputs, parameters, works. *p becomes NULL; NULL is accepted. */
void cuzk_prover_real_destroy(struct cuzk_prover_real **p);
/** For the engine; lives as long as p. */
struct cuzk_prover cuzk_prover_real_ops(struct cuzk_prover_real *p);
/** Kernels that run, or begin from now on, end with E_CANCELLED as soon as their device allows. For the end of a process that cannot wait. */
void cuzk_prover_real_interrupt(struct cuzk_prover_real *p);
#endif
