/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A prover with programmed times and faults, for tests, simulations and trials without a device. Its "proofs" are a SHA-256 chain of
 *  request digest, partition and attempt-independent content, so that repeated runs compare equal, and verify() really checks them. */
#ifndef CUZK_ENGINE_FAKE_H
#define CUZK_ENGINE_FAKE_H
#include "engine/prover.h"

enum cuzk_fake_stage { CUZK_FAKE_OPEN, CUZK_FAKE_LOAD, CUZK_FAKE_SYNTH, CUZK_FAKE_START, CUZK_FAKE_KERNELS, CUZK_FAKE_FINISH, CUZK_FAKE_VERIFY,
                       CUZK_FAKE_STAGES };
/** What a stage does besides taking time. */
enum cuzk_fake_fault { CUZK_FAKE_OK, CUZK_FAKE_ERROR, CUZK_FAKE_OOM, CUZK_FAKE_LOST, CUZK_FAKE_HANG, CUZK_FAKE_BAD_PROOF, CUZK_FAKE_BAD_INPUT };
struct cuzk_fake_kind {
  unsigned n_partitions;
  uint64_t stage_ns[CUZK_FAKE_STAGES], stage_spread_ns[CUZK_FAKE_STAGES]; /* uniform in base .. base + spread, from seed and place */
  uint64_t srs_bytes, inputs_bytes, partition_bytes[CUZK_N_MEM];
};
struct cuzk_fake_options {
  struct cuzk_clock *clock;
  unsigned n_devices;
  uint64_t seed;
  struct cuzk_fake_kind kind[4];
  /** Decides a fault for a call; NULL: none. device -1 where there is none. A HANG lasts until stop or destroy. */
  enum cuzk_fake_fault (*fault)(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device);
  void *user;
};
struct cuzk_fake;
/** The reference's published stage times: 10 partitions, synthesis 29 to 36 s, start 1.3 s, kernels 3.5 s, finish 0.7 s for PoRep; others in
 *  proportion. */
void cuzk_fake_reference_times(struct cuzk_fake_options *o);
enum cuzk_status cuzk_fake_create(struct cuzk_fake **out, const struct cuzk_fake_options *o);
/** Nothing of it is in use. */
void cuzk_fake_destroy(struct cuzk_fake **f);
struct cuzk_prover cuzk_fake_prover(struct cuzk_fake *f);
/** What a right proof of this partition looks like. */
void cuzk_fake_proof(uint8_t out[CUZK_PROOF_LEN], const struct cuzk_request *rq, unsigned partition);
/** How often a stage ran for a partition of a request (all devices). */
unsigned cuzk_fake_calls(struct cuzk_fake *f, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition);
/** Objects alive: inputs, parameters, works, pendings. All 0 when nothing leaks. */
void cuzk_fake_alive(struct cuzk_fake *f, unsigned out[4]);
#endif
