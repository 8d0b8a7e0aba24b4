/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The table of Filecoin's circuits, and what can be done with any of them.
 *
 *  A circuit is named KIND-SIZE, for example "porep-32gib". One synthesis function per kind runs over the sink of r1cs/cs.h, so
 *  that counting, digest, witness and checking run the same code. Gadget names of the fixtures ("sha256-32") are circuits, too. */
#ifndef CUZK_CIRCUITS_CIRCUIT_H
#define CUZK_CIRCUITS_CIRCUIT_H
#include "base/pool.h"
#include "base/progress.h"
#include "cuzk/status.h"
#include "r1cs/compact.h"
#include "r1cs/cs.h"
#include "r1cs/packed.h"
#include "r1cs/r1cs.h"

enum cuzk_kind { CUZK_KIND_POREP, CUZK_KIND_WINNING, CUZK_KIND_WINDOW, CUZK_KIND_UPDATE, CUZK_KIND_GADGET };

struct cuzk_circuit {
  enum cuzk_kind kind;
  char name[40];
  uint64_t sector_bytes; /* 0 for gadgets */
  uint64_t nodes;
  unsigned base_arity, sub_arity, top_arity; /* tree C / R; 0 where absent */
  unsigned base_steps, sub_steps, top_steps; /* path lengths of tree C / R */
  unsigned layers;                           /* PoRep */
  unsigned challenges;                       /* a partition's (PoRep, update), a sector's (PoSt) */
  unsigned sectors;                          /* PoSt: sectors of a partition */
  unsigned partitions;                       /* interactive PoRep; update */
  bool published;                            /* a registered size with published parameters */
  unsigned n_inputs;                         /* ONE included */
  const void *gadget;                        /* gadgets: private to circuits/gadget_circuits.c */
};

/** Finds a circuit or gadget by name; NULL if there is none. */
const struct cuzk_circuit *cuzk_circuit_find(const char *name);
/** Finds the circuit of a kind and sector size; NULL if there is none. */
const struct cuzk_circuit *cuzk_circuit_of(enum cuzk_kind kind, uint64_t sector_bytes);
/** All circuits (gadgets after the others), for listings; NULL at i = count. */
const struct cuzk_circuit *cuzk_circuit_at(size_t i);
/** The string that names the parameter file without version and extension ("stacked-proof-of-replication-...-<hex>");
 *  at most 200 bytes with its end; "" for gadgets. */
void cuzk_circuit_parameter_id(char out[200], const struct cuzk_circuit *c);

/** The blank circuit as a system that can be walked (setup, shapes, digests). Lives as long as c. */
struct cuzk_system cuzk_circuit_system(const struct cuzk_circuit *c);

/** Numbers of variables (n_inputs counts ONE) and rows, without building any row. Errors: E_NOMEM. */
enum cuzk_status cuzk_circuit_count(const struct cuzk_circuit *c, uint32_t *n_inputs, uint32_t *n_aux, uint64_t *n_rows,
                                    struct cuzk_detail *d);

/** Values of all variables for a witness of the circuit's kind (struct cuzk_porep_partition,
 *  cuzk_post_partition, cuzk_update_partition; NULL for gadgets, whose
 *  values are part of their definition). a, b, c: if not NULL, arrays of at least n_rows elements that get <A_i, z> and so on.
 *  check: also test every row; *bad_row is the first row that does not hold (UINT64_MAX: none) and region its gadget path.
 *  Errors: E_NOMEM, E_CANCELLED, E_ARG (witness of the wrong shape). */
enum cuzk_status cuzk_circuit_assign(const struct cuzk_circuit *c, const void *witness, struct cuzk_assignment *out,
                                     cuzk_fr *abc[3], bool check, uint64_t *bad_row, char region[512],
                                     const struct cuzk_progress *progress, struct cuzk_detail *d);

/** The same values packed, without rows, on several threads. Much faster than assign and smaller by a factor of up to 60.
 *  out: cuzk_packed_clear. Errors: as of assign. Source: performance notes 9. */
enum cuzk_status cuzk_circuit_assign_packed(const struct cuzk_circuit *c, const void *witness, struct cuzk_packed *out,
                                            struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_detail *d);

/** Evaluates and tests every row for the values z of c; fn (may be NULL) gets <A_i, z> and so on in order. bad_row and region as of
 *  assign. Errors: E_NOMEM, E_CANCELLED, E_ARG (values of another circuit), those of fn. */
enum cuzk_status cuzk_circuit_eval(const struct cuzk_circuit *c, const struct cuzk_packed *z, cuzk_eval_fn *fn, void *user,
                                   uint64_t *bad_row, char region[512], const struct cuzk_progress *progress, struct cuzk_detail *d);

/** Digests of all values as fixtures/README.md defines them: of the private values (aux_sha256, and of each CUZK_DIGEST_BLOCK_ROWS
 *  of them: blocks, 32 bytes each), and of the constraints' (abc_sha256). zeros and ones count private values. bad_row is the first
 *  row that does not hold (UINT64_MAX: none) and region its gadget path. */
struct cuzk_value_digests {
  uint64_t n_rows, zeros, ones, bad_row;
  uint8_t aux_sha256[32], abc_sha256[32];
  uint8_t *blocks;
  size_t n_blocks;
  char region[512];
};
/** For the values z of c; memory of a few MB beside them. The rows are walked on one thread while others hash private values.
 *  Errors: E_NOMEM, E_CANCELLED, E_ARG (values of another circuit). */
enum cuzk_status cuzk_circuit_value_digests(struct cuzk_value_digests *out, const struct cuzk_circuit *c, const struct cuzk_packed *z,
                                            struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_detail *d);
void cuzk_circuit_value_digests_clear(struct cuzk_value_digests *x);

/** Digest record as fixtures/README.md defines it. block_digests: n_blocks * 32 bytes, cuzk_free. */
struct cuzk_circuit_digest {
  struct cuzk_shape shape;
  uint8_t digest[32];
  uint8_t *block_digests;
  size_t n_blocks;
};
#define CUZK_DIGEST_BLOCK_ROWS 65536u
/** Walks the blank circuit, blocks hashed on the pool as they come; bounded memory. Errors: E_NOMEM, E_CANCELLED. */
enum cuzk_status cuzk_circuit_digest(struct cuzk_circuit_digest *out, const struct cuzk_circuit *c, struct cuzk_pool *pool,
                                     const struct cuzk_progress *progress, struct cuzk_detail *d);
/** The same of any system. n_rows is for progress only. Errors: E_NOMEM, E_CANCELLED, those of the walk. */
enum cuzk_status cuzk_system_digest(struct cuzk_circuit_digest *out, const struct cuzk_system *s, uint64_t n_rows,
                                    struct cuzk_pool *pool, const struct cuzk_progress *progress, struct cuzk_detail *d);
void cuzk_circuit_digest_clear(struct cuzk_circuit_digest *x);

/** The blank circuit in compact form (r1cs/compact.h), sealed with the digest of its expansion. Errors: E_NOMEM, E_CANCELLED. */
enum cuzk_status cuzk_circuit_compile(struct cuzk_compact **out, const struct cuzk_circuit *c, struct cuzk_pool *pool,
                                      const struct cuzk_progress *progress, struct cuzk_detail *d);

/** Gadget paths that touch rows first .. first + n - 1 (or private variables, by_aux): the innermost that contains them all, then
 *  those within it from the outermost inward (a few dozen of each depth at most), joined by ", " and cut with "..." to fit: to
 *  name the place of a mismatch. Empty where no gadget touches the range. Errors: E_NOMEM, E_ARG (out_bytes 0). */
enum cuzk_status cuzk_circuit_regions(const struct cuzk_circuit *c, bool by_aux, uint64_t first, uint64_t n,
                                      char *out, size_t out_bytes, struct cuzk_detail *d);
#endif
