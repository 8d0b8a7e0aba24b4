/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What proving, verifying, measuring and examining the inputs of a proof have in common. */
#ifndef CUZK_CLI_JOB_H
#define CUZK_CLI_JOB_H
#include "circuits/circuit.h"
#include "cli/cli.h"
#include "device/device.h"
#include "groth16/prove.h"
#include "inputs/kinds.h"

/** Times of one partition, seconds; cpu_s is of the whole process. */
struct job_times {
  double synthesis, rows;
  struct cuzk_prove_times prove;
  double wall, cpu;
};

/** The inputs of a proof with what proving needs. Empty ({0}) until opened. */
struct job {
  struct cuzk_inputs *in;
  struct cuzk_shape shape;
  struct cuzk_params *params;
  struct cuzk_compact *compact;
  const struct cuzk_device_ops *ops;
  struct cuzk_device *dev;
  struct cuzk_device_key *key;
  unsigned first, count; /* partitions chosen by --partition */
  double read_s, check_s, shape_s, params_s, device_s;
};

/** Reads the inputs of a proof of that kind: --c1, or --meta and --vanilla, and --partition; of PoRep, --miner and --sector.
 *  witness: vanilla proofs have to be there. Errors: those of cuzk_inputs_open and of the files; E_USAGE for options that are missing
 *  or of another kind, or if there is no such partition. */
enum cuzk_status job_open(struct job *job, struct cli *c, const struct cuzk_proof_kind *kind, bool witness);
/** Then checks the inputs, opens --params (or the cache's file), and gives them to --device with the circuit. */
enum cuzk_status job_prepare(struct job *job, struct cli *c);
/** Proves one partition; its public inputs are compared with those that a verifier derives and go to u[n_inputs - 1]. */
enum cuzk_status job_prove(struct job *job, struct cli *c, unsigned partition, const cuzk_fr *r, const cuzk_fr *s,
                                 struct cuzk_proof *proof, cuzk_fr *u, struct job_times *times);
void job_close(struct job *job);

/** Times of one partition as an object with names ending in _s. */
json_t *job_times_json(unsigned partition, const struct job_times *t);
#endif
