/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A prover with programmed times and faults, for tests, simulations and trials without a device. Its "proofs" are a SHA-256 chain of
 *  request digest, partition and attempt-independent content, so that repeated runs compare equal, and verify() really checks them.
 *  A stage's time depends on seed, stage, request, partition and attempt only, not on what runs beside it. Kinds' rows are those of the
 *  protocol, circuits "porep-32g", "snap-32g", "wpost-32g", "winning-32g". Tests: engine/test_fake.c. */
#ifndef CUZK_ENGINE_FAKE_H
#define CUZK_ENGINE_FAKE_H
#include "engine/prover.h"

enum cuzk_fake_stage { CUZK_FAKE_OPEN, CUZK_FAKE_LOAD, CUZK_FAKE_SYNTH, CUZK_FAKE_START, CUZK_FAKE_KERNELS, CUZK_FAKE_FINISH, CUZK_FAKE_VERIFY,
                       CUZK_FAKE_STAGES };
/** What a stage does besides taking time.
 *  ERROR      E_DEVICE in START, KERNELS, FINISH; E_IO in LOAD; E_INTERNAL elsewhere
 *  OOM        E_NOMEM
 *  LOST       E_DEVICE, and the device stays lost until device_reset; without a device as ERROR
 *  HANG       lasts until stop (E_CANCELLED), device_reset of its device or cuzk_fake_release (then as ERROR)
 *  BAD_PROOF  SYNTH, START, KERNELS, FINISH: the proof will be wrong; VERIFY: a right proof is called wrong; elsewhere nothing
 *  BAD_INPUT  E_FORMAT in OPEN and LOAD, E_UNSAT in SYNTH, E_INTERNAL elsewhere */
enum cuzk_fake_fault { CUZK_FAKE_OK, CUZK_FAKE_ERROR, CUZK_FAKE_OOM, CUZK_FAKE_LOST, CUZK_FAKE_HANG, CUZK_FAKE_BAD_PROOF, CUZK_FAKE_BAD_INPUT };
struct cuzk_fake_kind {
  unsigned n_partitions;
  uint64_t stage_ns[CUZK_FAKE_STAGES], stage_spread_ns[CUZK_FAKE_STAGES]; /* uniform in base .. base + spread, from seed and place */
  uint64_t srs_bytes, inputs_bytes, partition_bytes[CUZK_N_MEM]; /* what is said; nothing of that size is allocated */
  bool no_srs_file;                                              /* admit, srs_size and srs_load: E_NOENT */
};
struct cuzk_fake_options {
  struct cuzk_clock *clock;
  unsigned n_devices;
  uint64_t seed;
  struct cuzk_fake_kind kind[4];
  /** Decides a fault for a call; NULL: none. Called without locks. device -1 where there is none. LOAD: rq NULL, partition is the row of
   *  kind[]. VERIFY: once for each proof. */
  enum cuzk_fake_fault (*fault)(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device);
  /** Decides a call's time, given what the options make it; NULL: that. Called with a lock held: it calls nothing of the fake. */
  uint64_t (*time)(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, uint64_t ns);
  void *user;
  unsigned failing_resets; /* so many times device_reset of each device fails first */
};
struct cuzk_fake;
/** Fills kind[]: the reference's published stage times (engine specification 8.5): 10 partitions, synthesis 29 to 36 s, start 1.3 s, kernels
 *  3.5 s, finish 0.7 s for PoRep, the others in proportion to their constraints; sizes of the 32 GiB circuits. */
void cuzk_fake_reference_times(struct cuzk_fake_options *o);
enum cuzk_status cuzk_fake_create(struct cuzk_fake **out, const struct cuzk_fake_options *o);
/** Every present and coming HANG ends. */
void cuzk_fake_release(struct cuzk_fake *f);
/** No call is under way (cuzk_fake_release ends those that hang) and no object of it is in use. *f becomes NULL; NULL is accepted. */
void cuzk_fake_destroy(struct cuzk_fake **f);
struct cuzk_prover cuzk_fake_prover(struct cuzk_fake *f);
/** What a right proof of this partition looks like. */
void cuzk_fake_proof(uint8_t out[CUZK_PROOF_LEN], const struct cuzk_request *rq, unsigned partition);
/** How often a stage began for a partition of a request (all devices). LOAD: rq NULL, partition is the row of kind[]. OPEN: partition 0. */
unsigned cuzk_fake_calls(struct cuzk_fake *f, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition);
/** Objects alive: inputs, parameters, works, pendings. All 0 when nothing leaks. */
void cuzk_fake_alive(struct cuzk_fake *f, unsigned out[4]);
/** Breaches of prover.h by the caller, 0 when right: two kernels of one device at once, inputs closed or parameters unloaded while works
 *  or pendings of them live. */
unsigned cuzk_fake_misuses(struct cuzk_fake *f);
/** Time that kernels of a device took so far. */
uint64_t cuzk_fake_busy_ns(struct cuzk_fake *f, unsigned device);
#endif
