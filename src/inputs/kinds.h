/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The kinds of proofs: one row each with all its names and the functions that take its inputs from files to witnesses. Whoever proves
 *  or verifies (command line, daemon) goes through the row and knows no kind by name. Source of the names: engine specification 2.3, 2.4. */
#ifndef CUZK_INPUTS_KINDS_H
#define CUZK_INPUTS_KINDS_H
#include "base/pool.h"
#include "circuits/circuit.h"
#include "cuzk/status.h"
#include "inputs/c1.h"
#include "inputs/statement.h"

struct cuzk_proof_kind;

/** Where the inputs of one proof come from. All borrowed for the call that opens them. */
struct cuzk_input_source {
  const char *c1_path;                    /* PoRep: the phase-1 output, a file ... */
  const uint8_t *c1;                      /* ... or, with c1_path NULL, c1_bytes bytes of memory */
  size_t c1_bytes;
  const char *c1_name;                    /* what messages call them */
  const struct cuzk_statement *statement; /* the other kinds */
  const struct cuzk_blobs *vanilla;       /* their records, in order; may be NULL or empty where only public inputs are wanted */
};

/** The inputs of one proof, all its partitions. */
struct cuzk_inputs {
  const struct cuzk_proof_kind *kind;
  const struct cuzk_circuit *circuit;
  unsigned n_partitions;
  struct cuzk_c1 *c1;   /* PoRep, else NULL */
  void *own;            /* the other kinds': private to kinds.c */
};

struct cuzk_proof_kind {
  enum cuzk_kind kind;
  const char *circuit_prefix; /* "winning": circuits are "winning-32gib" */
  const char *command;        /* "winning-post": word of the command line */
  const char *rpc_name;       /* "winning-post": in status answers */
  const char *metric_label;   /* "winning_post" */
  const char *id_prefix;      /* "winning": circuit ids of the protocol are "winning-32g" */
  unsigned rpc_number;        /* enum ProofKind of the protocol */
  const char *title;          /* for people */
  bool takes_c1;              /* a phase-1 output; else a statement and vanilla proofs */

  /** The string that names the parameter file, as cuzk_circuit_parameter_id. */
  void (*parameter_id)(char out[200], const struct cuzk_circuit *c);
  /** Reads and decodes; finds what contradicts itself without hashing. */
  enum cuzk_status (*open)(struct cuzk_inputs *in, const struct cuzk_input_source *from, struct cuzk_detail *d);
  /** Recomputes everything that the circuit will assert. */
  enum cuzk_status (*check)(const struct cuzk_inputs *in, struct cuzk_pool *pool, struct cuzk_detail *d);
  /** What cuzk_circuit_assign takes for a partition; NULL if the records are not there. */
  const void *(*witness)(const struct cuzk_inputs *in, unsigned partition);
  /** Public inputs without ONE, as a verifier derives them. */
  enum cuzk_status (*public_inputs)(cuzk_fr *out, const struct cuzk_inputs *in, unsigned partition, struct cuzk_detail *d);
  void (*close)(struct cuzk_inputs *in);
};

/** All kinds, in the protocol's order; NULL at i = count. */
const struct cuzk_proof_kind *cuzk_proof_kind_at(size_t i);
/** The kind of a circuit; NULL for gadgets. */
const struct cuzk_proof_kind *cuzk_proof_kind_of(enum cuzk_kind kind);
/** The kind whose word on the command line this is; NULL if there is none. */
const struct cuzk_proof_kind *cuzk_proof_kind_find(const char *command);

/** Opens the inputs of a proof.
 *  Owns    *out is the caller's (cuzk_inputs_close); nothing of from is kept.
 *  Errors  E_ARG (a source that the kind needs is missing), E_FORMAT, E_MISMATCH (counts, sectors, sizes or commitments that contradict
 *          each other), E_UNSUPPORTED (no such size or registered proof), E_NOMEM; for PoRep those of cuzk_c1_load. */
enum cuzk_status cuzk_inputs_open(struct cuzk_inputs **out, const struct cuzk_proof_kind *kind, const struct cuzk_input_source *from,
                                  struct cuzk_detail *d);
/** *in becomes NULL; NULL is accepted. */
void cuzk_inputs_close(struct cuzk_inputs **in);

/** Recomputes, on the pool, all that the proof stands on: a witness from inputs that pass satisfies its circuit. Needs the records.
 *  Errors: E_MISMATCH naming the first thing that is wrong, E_FORMAT (randomness not canonical), E_ARG (no records), E_NOMEM. */
enum cuzk_status cuzk_inputs_check(const struct cuzk_inputs *in, struct cuzk_pool *pool, struct cuzk_detail *d);
/** What cuzk_circuit_assign takes for a partition, owned by in; NULL if in was opened without records. partition < n_partitions. */
const void *cuzk_inputs_witness(const struct cuzk_inputs *in, unsigned partition);
/** Public inputs of a partition without ONE, from what a verifier knows: circuit->n_inputs - 1 elements.
 *  Errors: E_ARG (no such partition), E_FORMAT (a randomness or commitment that is not canonical). */
enum cuzk_status cuzk_inputs_public(cuzk_fr *out, const struct cuzk_inputs *in, unsigned partition, struct cuzk_detail *d);
#endif
