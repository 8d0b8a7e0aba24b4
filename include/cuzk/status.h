/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Status codes and error detail of every function that can fail.
 *
 *  A function that can fail returns `enum cuzk_status`; answers come through pointers ("the proof is
 *  invalid" is an answer, not an error). Where a `struct cuzk_detail *` is taken it may be NULL; on
 *  failure it holds one line of text that names the file, offset or field and what was expected.
 */
#ifndef CUZK_STATUS_H
#define CUZK_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, text, gRPC status, process exit code, may another device or a later try succeed? */
#define CUZK_STATUS_MAP(X)                                                                          \
  X(OK, 0, "success", OK, 0, 0)                                                                     \
  X(E_ARG, -100, "argument out of range", INVALID_ARGUMENT, 2, 0)                                   \
  X(E_USAGE, -101, "wrong usage of the command line", INVALID_ARGUMENT, 64, 0)                      \
  X(E_FORMAT, -200, "malformed input", INVALID_ARGUMENT, 3, 0)                                      \
  X(E_NOT_CURVE, -201, "point not on the curve", INVALID_ARGUMENT, 3, 0)                            \
  X(E_NOT_GROUP, -202, "point not in the subgroup", INVALID_ARGUMENT, 3, 0)                         \
  X(E_INFINITY, -203, "point at infinity not allowed", INVALID_ARGUMENT, 3, 0)                      \
  X(E_MISMATCH, -204, "inputs contradict each other", INVALID_ARGUMENT, 3, 0)                       \
  X(E_UNSUPPORTED, -205, "not supported", UNIMPLEMENTED, 3, 0)                                      \
  X(E_UNSAT, -210, "witness does not satisfy the constraints", FAILED_PRECONDITION, 3, 0)           \
  X(E_NOENT, -220, "file not found", NOT_FOUND, 6, 0)                                               \
  X(E_IO, -221, "input or output failed", UNAVAILABLE, 6, 1)                                        \
  X(E_NOSPC, -222, "no space left on the device", RESOURCE_EXHAUSTED, 6, 1)                         \
  X(E_NOMEM, -300, "out of memory", RESOURCE_EXHAUSTED, 4, 1)                                       \
  X(E_CANCELLED, -310, "cancelled", CANCELLED, 7, 0)                                                \
  X(E_DEVICE, -400, "device failed or lost", UNAVAILABLE, 5, 1)                                     \
  X(E_INTERNAL, -900, "internal consistency failed", INTERNAL, 9, 0)

enum cuzk_status {
#define CUZK_X(name, value, text, grpc, exit_code, retry) CUZK_##name = value,
  CUZK_STATUS_MAP(CUZK_X)
#undef CUZK_X
};

/** Caller-owned text of the last failure; empty string when nothing was said. */
struct cuzk_detail {
  char text[512];
};

/** Short constant name, for example "E_FORMAT"; "E_UNKNOWN" for a value outside the table. */
const char *cuzk_status_name(enum cuzk_status s);
/** One line of English for a status. */
const char *cuzk_status_text(enum cuzk_status s);
/** Exit code of a command that ends with this status. */
int cuzk_status_exit_code(enum cuzk_status s);

#ifdef __cplusplus
}
#endif
#endif
