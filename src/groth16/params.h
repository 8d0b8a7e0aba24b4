/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Verifying keys (`.vk`) and parameters (`.params`), byte for byte bellperson's (formats specification 4.1, 4.2, 2.3). */
#ifndef CUZK_GROTH16_PARAMS_H
#define CUZK_GROTH16_PARAMS_H
#include "base/file.h"
#include "base/pool.h"
#include "base/progress.h"
#include "cuzk/status.h"
#include "ec/g1.h"
#include "ec/g2.h"
#include "r1cs/r1cs.h"

struct cuzk_vk {
  cuzk_g1_affine alpha_g1, beta_g1, delta_g1;
  cuzk_g2_affine beta_g2, gamma_g2, delta_g2;
  cuzk_g1_affine *ic; /* n_ic, input 0 (ONE) first */
  uint32_t n_ic;
};
/** Frees ic and empties *vk; the empty key is accepted. */
void cuzk_vk_clear(struct cuzk_vk *vk);
/** Reads the vk at the head of data[n]; every point checked on the curve and in the subgroup, identity rejected in ic.
 *  *used is the number of bytes read. name is what the detail calls the source. */
enum cuzk_status cuzk_vk_read(struct cuzk_vk *vk, const uint8_t *data, size_t n, size_t *used, const char *name,
                              struct cuzk_detail *d);
/** Reads a `.vk` file, trailing bytes rejected; a `.params` file is accepted, too, its head is used. */
enum cuzk_status cuzk_vk_load(struct cuzk_vk *vk, const char *path, struct cuzk_detail *d);
/** Writes the vk to path by way of a temporary file in the same folder, renamed when complete. */
enum cuzk_status cuzk_vk_save(const struct cuzk_vk *vk, const char *path, struct cuzk_detail *d);

enum cuzk_section { CUZK_SECTION_H, CUZK_SECTION_L, CUZK_SECTION_A, CUZK_SECTION_B_G1, CUZK_SECTION_B_G2, CUZK_N_SECTIONS };
extern const char *const cuzk_section_names[CUZK_N_SECTIONS]; /* "h", "l", "a", "b_g1", "b_g2" */

/** A parameter file, memory-mapped. Points stay in the file's big-endian form until they are used. */
struct cuzk_params {
  char *path; /* NULL for bytes in memory */
  struct cuzk_file file;
  const uint8_t *map; /* the file's bytes */
  size_t n_bytes;
  struct cuzk_vk vk;
  struct {
    uint64_t offset; /* of the u32 count; points start 4 bytes later */
    uint32_t count;
  } section[CUZK_N_SECTIONS];
};

/** Maps the file, reads and checks the vk, finds the sections, checks every length against the file's size, rejects trailing
 *  bytes. Errors: E_NOENT, E_IO, E_FORMAT (with offset and what was expected; an HTML page is named as such), point errors. */
enum cuzk_status cuzk_params_open(struct cuzk_params **out, const char *path, struct cuzk_detail *d);
/** The same for bytes in memory: p borrows data[n] and has no path; after use clear p->vk, nothing else. name is what the detail
 *  calls the source. Errors: E_FORMAT, point errors, E_NOMEM; p holds nothing then. */
enum cuzk_status cuzk_params_parse(struct cuzk_params *p, const uint8_t *data, size_t n, const char *name,
                                   struct cuzk_detail *d);
/** Unmaps the file and frees *p, which becomes NULL; NULL is accepted. */
void cuzk_params_close(struct cuzk_params **p);
/** Do the section lengths fit this circuit? (formats specification 3.3) Errors: E_MISMATCH naming the first that does not. */
enum cuzk_status cuzk_params_match(const struct cuzk_params *p, const struct cuzk_shape *shape, struct cuzk_detail *d);
/** Decodes points first .. first+count-1 of a section (not b_g2 / b_g2); on the curve, identity rejected; subgroup only if
 *  asked. The detail names section, index and file offset. */
enum cuzk_status cuzk_params_fetch_g1(const struct cuzk_params *p, enum cuzk_section s, cuzk_g1_affine *dst, size_t first,
                                      size_t count, bool subgroup, struct cuzk_detail *d);
/** The same for b_g2. */
enum cuzk_status cuzk_params_fetch_g2(const struct cuzk_params *p, cuzk_g2_affine *dst, size_t first, size_t count,
                                      bool subgroup, struct cuzk_detail *d);
/** Checks every point of every section (curve, identity; subgroup if asked). */
enum cuzk_status cuzk_params_check(const struct cuzk_params *p, bool subgroup, struct cuzk_pool *pool,
                                   const struct cuzk_progress *progress, struct cuzk_detail *d);

/** Toxic waste. All non-zero. */
struct cuzk_toxic {
  cuzk_fr alpha, beta, gamma, delta, tau;
};
/** Random toxic waste. Errors: E_IO. */
enum cuzk_status cuzk_toxic_random(struct cuzk_toxic *t);
/** Key generation (formats specification 3.2) with the standard generators, streamed into path (temporary file, renamed when
 *  complete, nothing left behind on failure). system is walked twice at most. If sha256 is not NULL it gets the SHA-256 of the
 *  whole file. Errors: E_ARG (zero toxic value, tau in the domain), E_UNSAT (an unconstrained variable), E_NOSPC, E_NOMEM... */
enum cuzk_status cuzk_params_generate(const char *path, const struct cuzk_system *system, const struct cuzk_toxic *t,
                                      uint8_t sha256[32], struct cuzk_pool *pool, const struct cuzk_progress *progress,
                                      struct cuzk_detail *d);
/** What a setup writes to, in order. An error ends the setup and is its result. */
struct cuzk_setup_sink {
  enum cuzk_status (*write)(void *user, const void *p, size_t n, struct cuzk_detail *d);
  void *user;
};
/** Makes the bytes of a parameter file; calls of the sink come one at a time, from any thread. */
typedef enum cuzk_status cuzk_params_maker_fn(void *user, const struct cuzk_setup_sink *sink, struct cuzk_detail *d);
/** The file's part of cuzk_params_generate, for setups that run elsewhere (device/cuda_setup.h). The pool hashes large pieces while they are
 *  written; NULL is accepted. Errors: those of make, E_NOSPC, E_NOMEM, E_IO. */
enum cuzk_status cuzk_params_generate_by(const char *path, cuzk_params_maker_fn *make, void *user, uint8_t sha256[32], struct cuzk_pool *pool,
                                         struct cuzk_detail *d);
#endif
