/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Vanilla proofs of WinningPoSt, WindowPoSt (one record a sector) and sector updates (one record a partition), in bincode: readers,
 *  challenges, checks and public inputs. Source: formats specification 5.3, 5.5 to 5.7, 6.2 to 6.4; circuits specification 7.5, 7.6, 9.2,
 *  9.3; docs/formats/vanilla.md.
 *
 *  A record's length follows from the circuit's shape, so it is checked first; then every count inside it, every index, and that each field
 *  element is canonical. */
#ifndef CUZK_INPUTS_VANILLA_H
#define CUZK_INPUTS_VANILLA_H
#include "circuits/circuit.h"
#include "circuits/post_witness.h"
#include "circuits/update_witness.h"
#include "cuzk/status.h"

/* ---- proofs of spacetime ---- */

#define CUZK_WINNING_CHALLENGES 66u

struct cuzk_post_vanilla {
  const struct cuzk_circuit *circuit;
  uint64_t sector_id;
  cuzk_fr comm_r, comm_c, comm_r_last;
  unsigned n_challenges; /* 66 (winning) or 10 (window) */
  const struct cuzk_post_challenge *challenges;
};

/** Length of a record for a winning or window circuit. */
size_t cuzk_post_vanilla_bytes(const struct cuzk_circuit *c);
/** Reads a record of circuit c, which stays referred to. data is borrowed for the call; *out is owned by the caller.
 *  Errors  E_FORMAT (offset, what was expected); E_MISMATCH (a path with another root than comm_r_last); E_ARG (kind of c); E_NOMEM. */
enum cuzk_status cuzk_post_vanilla_read(struct cuzk_post_vanilla **out, const struct cuzk_circuit *c, const uint8_t *data, size_t n,
                                        const char *name, struct cuzk_detail *d);
/** *v becomes NULL; NULL is accepted. */
void cuzk_post_vanilla_free(struct cuzk_post_vanilla **v);

/** Leaf number index of a sector under a randomness. nodes: a power of two. */
uint64_t cuzk_post_leaf(uint64_t nodes, const uint8_t randomness[32], uint64_t sector_id, uint64_t index);
/** The index that cuzk_post_leaf takes for challenge n of the sector at a position (counted over all partitions). Winning proofs and
 *  window types of API 1.0 and 1.1 count through, API 1.2 starts anew in each sector. */
uint64_t cuzk_post_challenge_index(unsigned api_major_minor, uint64_t position, unsigned challenges_per_sector, unsigned n);

/** comm_r = H(comm_c, comm_r_last), each path starts at the leaf that randomness asks for and leads to comm_r_last.
 *  Errors: E_FORMAT (randomness not canonical), E_MISMATCH naming sector and challenge, E_NOMEM. */
enum cuzk_status cuzk_post_vanilla_check(const struct cuzk_post_vanilla *v, const uint8_t randomness[32], unsigned api_major_minor,
                                         uint64_t position, struct cuzk_detail *d);

/** What the circuit takes for one partition: the sectors in the order given, the last one repeated until the circuit is full (window),
 *  or one pseudo-sector for each challenge of the one sector (winning). Borrows the records, which must outlive it.
 *  Errors: E_ARG (no sector, or more than the circuit has; records of another circuit), E_NOMEM. */
enum cuzk_status cuzk_post_partition_create(struct cuzk_post_partition **out, const struct cuzk_circuit *c,
                                            const struct cuzk_post_vanilla *const *sectors, size_t n, struct cuzk_detail *d);
/** *p becomes NULL; NULL is accepted. */
void cuzk_post_partition_destroy(struct cuzk_post_partition **p);

/** Public inputs of one partition without ONE, as the verifier derives them from comm_r and sector numbers: out has circuit->n_inputs - 1
 *  elements. first_position: position of the partition's first sector among all. Errors: E_ARG (number of sectors). */
enum cuzk_status cuzk_post_public_inputs(cuzk_fr *out, const struct cuzk_circuit *c, const cuzk_fr *comm_r, const uint64_t *sector_ids,
                                         size_t n, const uint8_t randomness[32], unsigned api_major_minor, uint64_t first_position,
                                         struct cuzk_detail *d);

/* ---- sector updates ---- */

/** Commitments of an update, as the caller knows them: 32 bytes each, canonical. */
struct cuzk_update_commitments {
  uint8_t comm_r_old[32], comm_d_new[32], comm_r_new[32];
};

struct cuzk_update_vanilla {
  const struct cuzk_circuit *circuit;
  unsigned k; /* the partition's number */
  struct cuzk_update_partition partition;
  const cuzk_fr *leaf_r_new; /* n_challenges; not a witness: it follows from the other two leaves */
};

/** Bits of a node's index that choose its rho ("h"). Larger sectors may be updated with others in principle; this is the one in use. */
unsigned cuzk_update_h(const struct cuzk_circuit *c);
/** Apex leaves of a partition: nodes of tree D below which its challenges lie. */
unsigned cuzk_update_apex_leaves(const struct cuzk_circuit *c);
/** Length of a partition's record. */
size_t cuzk_update_vanilla_bytes(const struct cuzk_circuit *c);
/** Reads the record of partition k. Errors: E_FORMAT (also for a commitment that is not canonical), E_MISMATCH (proofs of the record with
 *  different roots, or a D root that is not comm_d_new), E_ARG (kind of c, k), E_NOMEM. */
enum cuzk_status cuzk_update_vanilla_read(struct cuzk_update_vanilla **out, const struct cuzk_circuit *c, unsigned k,
                                          const struct cuzk_update_commitments *comm, const uint8_t *data, size_t n, const char *name,
                                          struct cuzk_detail *d);
/** *v becomes NULL; NULL is accepted. */
void cuzk_update_vanilla_free(struct cuzk_update_vanilla **v);

/** The c->challenges challenged nodes of partition k: out[c->challenges]. Errors: E_NOMEM. */
enum cuzk_status cuzk_update_challenges(uint64_t *out, const struct cuzk_circuit *c, const cuzk_fr *comm_r_new, unsigned k);
/** Everything the circuit asserts, recomputed: both comm_r from their roots, positions, roots of all paths, the new leaf from the two others,
 *  the apex leaves. Errors: E_MISMATCH naming partition, challenge and field; E_NOMEM. */
enum cuzk_status cuzk_update_vanilla_check(const struct cuzk_update_vanilla *v, struct cuzk_detail *d);
/** The four public inputs of partition k without ONE. Errors: E_FORMAT (commitment not canonical), E_ARG (k). */
enum cuzk_status cuzk_update_public_inputs(cuzk_fr out[4], const struct cuzk_circuit *c, unsigned k,
                                           const struct cuzk_update_commitments *comm, struct cuzk_detail *d);
#endif
