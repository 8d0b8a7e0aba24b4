/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What proving, measuring and examining a PoRep phase-1 output have in common. */
#ifndef CUZK_CLI_POREP_JOB_H
#define CUZK_CLI_POREP_JOB_H
#include "circuits/circuit.h"
#include "cli/cli.h"
#include "groth16/prove.h"
#include "inputs/c1.h"

/** Times of one partition, seconds; cpu_s is of the whole process. */
struct porep_times {
  double synthesis;
  struct cuzk_prove_times prove;
  double wall, cpu;
};

/** A phase-1 output with what its proofs need. Empty ({0}) until opened. */
struct porep_job {
  struct cuzk_c1 *c1;
  struct cuzk_shape shape;
  struct cuzk_params *params;
  cuzk_fr *abc[3];
  size_t abc_bytes; /* of each */
  unsigned first, count; /* partitions chosen by --partition */
  double read_s, check_s, shape_s, params_s;
};

/** Reads --c1 and --partition. Errors: those of cuzk_c1_load; E_USAGE if there is no such partition. */
enum cuzk_status porep_job_open(struct porep_job *job, struct cli *c);
/** Then checks the inputs, opens --params (or the cache's file) and gets the memory. */
enum cuzk_status porep_job_prepare(struct porep_job *job, struct cli *c);
/** Row values for n_rows constraints, room for a domain of 2^log2_n. Errors: E_NOMEM. */
enum cuzk_status porep_job_rows(struct porep_job *job, unsigned log2_n, struct cuzk_detail *d);
/** Proves one partition; its public inputs are compared with those that a verifier derives and go to u[n_inputs - 1]. */
enum cuzk_status porep_job_prove(struct porep_job *job, struct cli *c, unsigned partition, const cuzk_fr *r, const cuzk_fr *s,
                                 struct cuzk_proof *proof, cuzk_fr *u, struct porep_times *times);
void porep_job_close(struct porep_job *job);

/** Path of a circuit's parameter file in the cache folder. Errors: E_ARG if it does not fit. */
enum cuzk_status porep_cache_path(char *out, size_t n, const struct cuzk_circuit *circuit, struct cuzk_detail *d);
/** Times of one partition as an object with names ending in _s. */
json_t *porep_times_json(unsigned partition, const struct porep_times *t);
#endif
