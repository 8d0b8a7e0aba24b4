/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Constraint systems as repeated templates: a 32 GiB PoRep is a few megabytes instead of 26 GiB of rows.
 *
 *  A template is a region of the synthesis (a SHA-256 block, a Poseidon hash, a challenge) with its variables made relative: the
 *  private variables and public inputs allocated inside count from its first ones, anything older is an external, bound where the
 *  template is used. Templates use smaller ones; the last one is the circuit. They are found by build() from the synthesis itself:
 *  regions that come out the same share a template, whatever they are called.
 *
 *  A compact circuit is one image of bytes: made by build(), or a mapped `.r1cs` file. It is constant once it is sealed and may
 *  be used by any number of threads. Source: docs/formats/r1cs.md, docs/internals/r1cs.md. */
#ifndef CUZK_R1CS_COMPACT_H
#define CUZK_R1CS_COMPACT_H
#include "base/pool.h"
#include "base/progress.h"
#include "r1cs/cs.h"
#include "r1cs/packed.h"
#include "r1cs/r1cs.h"

struct cuzk_compact;

/** Synthesises a circuit into a sink. */
typedef void cuzk_synthesize_fn(void *user, struct cuzk_cs *cs);

/** Finds the templates of what fn synthesises. name: at most 39 bytes. n_rows is for progress only. The expansion's digest is
 *  all zero until seal(). Errors: E_NOMEM, E_CANCELLED, those of the synthesis, E_UNSUPPORTED (more than 2^31 private variables,
 *  say). *out NULL then. */
enum cuzk_status cuzk_compact_build(struct cuzk_compact **out, const char *name, cuzk_synthesize_fn *fn, void *user, uint64_t n_rows,
                                    const struct cuzk_progress *progress, struct cuzk_detail *d);
/** Stores the digest of the expansion (fixtures' README: blocks of 65,536 rows) in a circuit that build() made. */
void cuzk_compact_seal(struct cuzk_compact *c, const uint8_t digest[32]);

/** Maps a `.r1cs` file and checks its checksum and all of its structure: nothing that follows can leave the file's bounds or recurse
 *  without end. Errors: those of cuzk_file_map, E_FORMAT, E_NOMEM; *out NULL then. */
enum cuzk_status cuzk_compact_open(struct cuzk_compact **out, const char *path, struct cuzk_detail *d);
/** As open, from n bytes at an address that is a multiple of 8; they are borrowed. what names them in errors. */
enum cuzk_status cuzk_compact_parse(struct cuzk_compact **out, const void *bytes, size_t n, const char *what, struct cuzk_detail *d);
/** Writes the image. Errors: those of cuzk_file_write. */
enum cuzk_status cuzk_compact_write(const struct cuzk_compact *c, const char *path, struct cuzk_detail *d);
/** NULL is accepted; *c becomes NULL. */
void cuzk_compact_destroy(struct cuzk_compact **c);

/** What the image says of itself. The counts are those of the expansion and were checked against the templates, the dropped
 *  terms and the densities excepted. */
struct cuzk_compact_info {
  const char *name;
  uint32_t n_inputs, n_aux; /* n_inputs counts ONE */
  uint64_t n_rows, nnz[3], zero_terms_dropped;
  uint32_t n_a_aux, n_b_input, n_b_aux;
  uint8_t digest[32];
  uint64_t image_bytes;
  uint32_t n_templates, depth; /* templates within templates, 1 if there is only the circuit */
  uint64_t stored_rows, stored_terms, uses; /* uses: of templates in templates */
};
void cuzk_compact_info(struct cuzk_compact_info *out, const struct cuzk_compact *c);

/** One template, number i of n_templates (the last is the circuit). */
struct cuzk_compact_template {
  uint64_t n_rows; /* with those of the templates it uses */
  uint32_t n_aux, n_inputs, n_ext;
  uint32_t own_rows, own_terms, n_uses;
  uint64_t times;   /* it occurs in the circuit */
  char region[512]; /* path of its first use; "" for the circuit */
};
/** Errors: E_ARG, E_NOMEM. */
enum cuzk_status cuzk_compact_template(struct cuzk_compact_template *out, const struct cuzk_compact *c, uint32_t i);

/** The expansion as a system that can be walked: rows in order, canonical. Lives as long as c. A walk of a file whose use of a
 *  template binds two externals to one variable is E_FORMAT. */
struct cuzk_system cuzk_compact_system(const struct cuzk_compact *c);

/** Counts and density maps, from the templates. Errors: E_NOMEM. */
enum cuzk_status cuzk_compact_shape(struct cuzk_shape *out, const struct cuzk_compact *c, struct cuzk_detail *d);

/** Path of the regions that row i is in, "a/b/c", cut to fit. Errors: E_ARG (no such row), E_NOMEM. */
enum cuzk_status cuzk_compact_region(const struct cuzk_compact *c, uint64_t row, char *out, size_t out_bytes, struct cuzk_detail *d);

/** What evaluate() is asked for. Values are flat (z) or packed (p): one of the two is set. */
struct cuzk_compact_eval {
  const struct cuzk_assignment *z;
  const struct cuzk_packed *p;
  cuzk_fr *abc[3]; /* NULL, or n_rows elements that get <A_i, z> and so on */
  bool check;      /* test every row */
  /* results */
  uint64_t bad_row; /* first row that does not hold, UINT64_MAX: none */
  char region[512]; /* and where it is */
};
/** Evaluates all rows on the pool, in tasks of 65,536. Memory: the outputs, and a few hundred KiB a worker.
 *  Errors: E_ARG (values of other counts, or both forms), E_NOMEM, E_CANCELLED. */
enum cuzk_status cuzk_compact_evaluate(const struct cuzk_compact *c, struct cuzk_compact_eval *e, struct cuzk_pool *pool,
                                       const struct cuzk_progress *progress, struct cuzk_detail *d);
#endif
