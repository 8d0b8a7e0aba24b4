/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Whole files in, atomically written files out. */
#ifndef CUZK_BASE_FILE_H
#define CUZK_BASE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

/** The content of a file. Empty ({0}) until filled; cuzk_file_clear is safe on an empty one. */
struct cuzk_file {
  uint8_t *data;
  size_t n;
  bool mapped;
};

/** Reads a whole regular file into memory of the caller's process (writable, private).
 *  Errors  E_NOENT; E_IO; E_FORMAT for a folder, anything else that is not a regular file, an empty file, one larger than max_bytes,
 *          or one that shrinks while being read; E_NOMEM. *f is empty on error. */
enum cuzk_status cuzk_file_read(struct cuzk_file *f, const char *path, uint64_t max_bytes, struct cuzk_detail *d);

/** Maps a whole regular file read-only (data must not be written to). Cheaper than reading for large files, but a file that
 *  somebody shortens meanwhile raises SIGBUS on access: only for files that nobody writes to. Errors as cuzk_file_read. */
enum cuzk_status cuzk_file_map(struct cuzk_file *f, const char *path, uint64_t max_bytes, struct cuzk_detail *d);

/** Gives back what cuzk_file_read or cuzk_file_map got, and empties *f. */
void cuzk_file_clear(struct cuzk_file *f);

/** A file being written. It appears under its name complete or not at all: bytes go to a temporary file in the same folder, which
 *  commit synchronises and renames. An existing file keeps its content until then; a symbolic link is followed. A path that exists
 *  and is a device, pipe or socket is written directly instead. */
struct cuzk_outfile;

/** Errors: E_NOENT (folder), E_IO, E_NOSPC, E_FORMAT (path is a folder), E_NOMEM. d gets the path and the reason. */
enum cuzk_status cuzk_outfile_open(struct cuzk_outfile **out, const char *path, struct cuzk_detail *d);
/** Appends n bytes (buffered). After a failure the only useful call is cuzk_outfile_abort. Errors: E_NOSPC, E_IO. */
enum cuzk_status cuzk_outfile_write(struct cuzk_outfile *f, const void *p, size_t n, struct cuzk_detail *d);
/** Overwrites n bytes at a position that was written before (for counts known only at the end); not for devices and pipes.
 *  Errors: E_ARG, E_NOSPC, E_IO. */
enum cuzk_status cuzk_outfile_patch(struct cuzk_outfile *f, uint64_t at, const void *p, size_t n, struct cuzk_detail *d);
/** Bytes appended so far. */
uint64_t cuzk_outfile_size(const struct cuzk_outfile *f);
/** Writes out, synchronises, renames, synchronises the folder. Always ends *f (NULL afterwards); on failure the temporary file is
 *  removed. Errors: E_NOSPC, E_IO. */
enum cuzk_status cuzk_outfile_commit(struct cuzk_outfile **f, struct cuzk_detail *d);
/** Ends without result: removes the temporary file. *f becomes NULL; NULL is accepted. */
void cuzk_outfile_abort(struct cuzk_outfile **f);

/** Writes a whole file by open, write, commit. */
enum cuzk_status cuzk_file_write(const char *path, const void *p, size_t n, struct cuzk_detail *d);
#endif
