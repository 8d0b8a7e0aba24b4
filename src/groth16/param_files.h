/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Where parameter files lie, what they are called, and how a file is told from a damaged one (formats specification 4.4 to
 *  4.6, Appendix B). */
#ifndef CUZK_GROTH16_PARAM_FILES_H
#define CUZK_GROTH16_PARAM_FILES_H
#include <stddef.h>
#include <stdint.h>

#include "base/progress.h"
#include "cuzk/status.h"

#define CUZK_PARAMS_VERSION 28
/** Hex digits of a digest, with the end of the string. */
#define CUZK_DIGEST_CHARS 33

/** The folder of parameter files: FIL_PROOFS_PARAMETER_CACHE of the environment if set and not empty, otherwise
 *  /var/tmp/filecoin-proof-parameters/. The environment's string, not a copy. */
const char *cuzk_params_cache_dir(void);
/** *out = DIR/v28-PARAMETER_ID.EXT, cuzk_free. dir NULL: the folder above. ext: "params", "vk" or "meta".
 *  Errors: E_NOMEM. */
enum cuzk_status cuzk_params_file_path(char **out, const char *dir, const char *parameter_id, const char *ext);
/** The digest that the manifest lists: the first 16 bytes, in lowercase hex, of the BLAKE2b-512 of the file's bytes.
 *  progress may be NULL (stage "digest", unit "bytes"). Errors: E_NOENT, E_IO, E_FORMAT (empty), E_CANCELLED. */
enum cuzk_status cuzk_file_digest(char out[CUZK_DIGEST_CHARS], const char *path, const struct cuzk_progress *progress,
                                  struct cuzk_detail *d);
/** The published digest of a file name (its last component counts: "v28-....params" or ".vk"); NULL if it is not published. */
const char *cuzk_published_digest(const char *name);
/** Compares the file with the digest published for its name. Errors: E_UNSUPPORTED (name not published), E_MISMATCH, and those
 *  of cuzk_file_digest. */
enum cuzk_status cuzk_file_check_published(const char *path, const struct cuzk_progress *progress, struct cuzk_detail *d);
/** Writes the `.meta` file, {"sector_size":N}, by way of a temporary file. */
enum cuzk_status cuzk_meta_save(const char *path, uint64_t sector_bytes, struct cuzk_detail *d);
#endif
