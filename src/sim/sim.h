/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What a recorded run would have been with other settings: its jobs go once more through the engine, over the fake prover with the
 *  recorded times, on a virtual clock.
 *
 *  Taken from the record, for each partition: synthesis (SYNTH_START to SYNTH_END), work before the kernels (GPU_START to KERNEL_START, less
 *  lock_wait_ms), kernels, what follows (FIN_START or KERNEL_END to GPU_END). Where a record has no KERNEL events the whole call stands for
 *  kernels. For each job: its moment of submission, its check. For each kind: the shortest JOB_SUBMIT to JOB_PREP less loading, and the load
 *  of its parameters. Jobs that failed or were cancelled are left out. Memory is that of the 32 GiB circuits. What the model does not
 *  know: that a stage takes longer when more run beside it, other than by waiting for each other.
 *
 *  Source  docs/timeline.md. Tests: sim/test_sim.c. */
#ifndef CUZK_SIM_SIM_H
#define CUZK_SIM_SIM_H
#include "engine/fake.h"
#include "timeline/report.h"

extern const char *const cuzk_sim_stage_names[CUZK_FAKE_STAGES];

struct cuzk_sim_options {
  unsigned n_devices, workers_per_device, synth_threads;
  uint64_t memory_total;
  double scale[CUZK_FAKE_STAGES]; /* of the recorded times */
  unsigned concurrency;           /* 0: jobs come when they came; else so many are in work at any time, in their order */
};
struct cuzk_sim_result {
  struct cuzk_tl_run run;
  struct cuzk_tl_report report;
};
/** What the record itself says: devices, workers, the most syntheses at once; memory for all. */
void cuzk_sim_defaults(struct cuzk_sim_options *o, const struct cuzk_tl_run *run);
/** Errors: E_ARG (no job to replay, a member of o that the engine refuses), E_NOMEM, E_IO. */
enum cuzk_status cuzk_sim(struct cuzk_sim_result *out, const struct cuzk_tl_run *run, const struct cuzk_sim_options *o, struct cuzk_detail *d);
void cuzk_sim_result_clear(struct cuzk_sim_result *r);
#endif
