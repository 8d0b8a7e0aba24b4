/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Key generation on a CUDA device; the parameters are those of cuzk_params_generate, byte for byte. */
#ifndef CUZK_DEVICE_CUDA_SETUP_H
#define CUZK_DEVICE_CUDA_SETUP_H
#include "groth16/params.h"
#include "r1cs/compact.h"

struct cuzk_cuda_setup {
  unsigned device; /* number as cuzk_cuda_device_info has it */
  uint64_t memory_limit; /* device memory to take at most; 0: what is free */
  const struct cuzk_compact *circuit;
  const struct cuzk_toxic *toxic;
  const struct cuzk_progress *progress; /* NULL: none */
};
/** What the last run took, seconds by the host's clock. */
struct cuzk_cuda_setup_times {
  double tables, lagrange, columns, points, sink; /* sink: inside its write function, beside all others */
  uint32_t ranges;                                /* that variables were taken in, for lack of memory */
};

/** Writes the parameters of s->circuit to the sink, in order, from a thread of its own. Columns that do not fit the device's memory together are
 *  made again for each section, a range of variables at a time; 32 GiB PoRep takes 30 GB in one range, 6 GB at the least. Host memory: 400 MB.
 *  times may be NULL. Device memory that held toxic waste is wiped. Errors: those of cuzk_params_generate, E_DEVICE, E_NOMEM. */
enum cuzk_status cuzk_cuda_setup_run(const struct cuzk_cuda_setup *s, const struct cuzk_setup_sink *sink, struct cuzk_cuda_setup_times *times,
                                     struct cuzk_detail *d);
/** The same as a cuzk_params_maker_fn; user is a struct cuzk_cuda_setup. */
enum cuzk_status cuzk_cuda_setup_make(void *user, const struct cuzk_setup_sink *sink, struct cuzk_detail *d);
#endif
