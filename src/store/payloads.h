/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Payload files: <folder>/<64 hex digits of the SHA-256>, complete or not there. Internal to the store. */
#ifndef CUZK_STORE_PAYLOADS_H
#define CUZK_STORE_PAYLOADS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"

enum { CUZK_PAYLOAD_NAME = 65 };
void cuzk_payload_name(char out[CUZK_PAYLOAD_NAME], const uint8_t digest[32]);

/** Writes p[n] under the digest's name in the folder fd, replacing a file of that name. Durable. owner and serial make the temporary name.
 *  Errors: E_NOSPC, E_IO; the temporary file is removed then. path: of the folder, for messages. */
enum cuzk_status cuzk_payload_write(int fd, const char *path, const char *owner, unsigned serial, const uint8_t digest[32], const uint8_t *p,
                                    size_t n, struct cuzk_detail *d);
bool cuzk_payload_exists(int fd, const uint8_t digest[32]);
/** No error if it is not there. */
void cuzk_payload_remove(int fd, const uint8_t digest[32]);

/** Walks the folder and removes the payloads for which used() says false, and temporary files of owners for which alive() says false. Names of any
 *  other form are left. Returns how many were removed. */
unsigned cuzk_payload_sweep(int fd, bool (*used)(void *user, const uint8_t digest[32]), bool (*alive)(void *user, const char *owner), void *user);
#endif
