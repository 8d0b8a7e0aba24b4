/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Synthetic sectors: vanilla proofs that satisfy their circuits at any sector size without a sealed sector behind them
 *  (docs/internals/synth.md).
 *
 *  A vanilla proof shows some nodes of Merkle trees whose other nodes nobody sees. So the trees are made from the shown nodes upward:
 *  what is not shown is drawn, what a circuit relates (labels, columns, encodings, roots) is computed. Everything follows from the
 *  options alone: the same options give the same bytes, on any machine and with any number of threads. */
#ifndef CUZK_SYNTH_SYNTH_H
#define CUZK_SYNTH_SYNTH_H
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "circuits/circuit.h"
#include "cuzk/status.h"

struct cuzk_synth {
  uint64_t sector_bytes;    /* 2 KiB .. 64 GiB, test sizes included */
  uint64_t seed;            /* what is drawn follows from it and from all other members */
  uint64_t miner;
  uint64_t sector_number;   /* of the first sector */
  unsigned n_sectors;       /* window: how many, numbered in order; 0: a full partition */
  unsigned api_major_minor; /* 0: the usual one. PoRep 0x0101 (or 0x0100), window 0x0102 (or 0x0100, 0x0101), winning 0x0100 */
  int partition;            /* updates: only this partition; -1: all */
};

/** Takes one finished file: its name without folder, and its content. */
typedef enum cuzk_status cuzk_synth_file_fn(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *d);

/** An interactive PoRep phase-1 output, all partitions, as compact JSON in the bytes of the reference's API (formats specification 5.2).
 *  (*text)[*n] is owned by the caller (cuzk_free); no line end follows.
 *
 *  Threads  tree levels and column hashes are spread over pool (NULL: the caller alone).
 *  Errors   E_ARG (no such size or API), E_NOMEM.
 *  Time     about 60 000 Poseidon hashes for 32 GiB. Memory: the text (39 MB) doubling as it grows, and a few megabytes. */
enum cuzk_status cuzk_synth_porep(char **text, size_t *n, const struct cuzk_synth *o, struct cuzk_pool *pool, struct cuzk_detail *d);

/** Proofs of spacetime of one kind (CUZK_KIND_WINNING: one sector; CUZK_KIND_WINDOW). Calls file for each sector's record,
 *  "winning-<sector>.vanilla.bin" or "window-<sector>.vanilla.bin" (formats specification 5.5), in order, then for what else a proof needs:
 *  "winning.meta.json" or "window.meta.json" (randomness, comm_r and challenges of each sector).
 *
 *  Threads  sectors are spread over pool; file is called by the caller's thread alone.
 *  Errors   E_ARG (kind, size, API, sector numbers above 2^63 - 1), E_NOMEM, what file returns (which ends the run). */
enum cuzk_status cuzk_synth_post(enum cuzk_kind kind, const struct cuzk_synth *o, struct cuzk_pool *pool, cuzk_synth_file_fn *file,
                                 void *user, struct cuzk_detail *d);

/** A sector update. Calls file for each partition's record, "update.p<K>.vanilla.bin" (formats specification 5.6), then for
 *  "update.meta.json" (the three commitments).
 *
 *  Threads  tree levels are spread over pool; file is called by the caller's thread alone.
 *  Errors   E_ARG (size, partition), E_NOMEM, what file returns (which ends the run). */
enum cuzk_status cuzk_synth_update(const struct cuzk_synth *o, struct cuzk_pool *pool, cuzk_synth_file_fn *file, void *user,
                                   struct cuzk_detail *d);
#endif
