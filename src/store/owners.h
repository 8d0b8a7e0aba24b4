/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Who lives: an owner holds a lock on <folder>/<id>.lock, which the kernel drops when its process ends. Internal to the store. */
#ifndef CUZK_STORE_OWNERS_H
#define CUZK_STORE_OWNERS_H
#include <stdbool.h>

#include "cuzk/status.h"

enum { CUZK_OWNER_ID = 33 }; /* 32 hex digits */

/** Makes a new owner in the folder fd: a random id and its lock. Errors: E_IO, E_NOSPC, and of cuzk_random. path: for messages. */
enum cuzk_status cuzk_owner_create(int *lock_fd, char id[CUZK_OWNER_ID], int fd, const char *path, struct cuzk_detail *d);
/** Drops the lock and removes its file. *lock_fd becomes -1, which is accepted. */
void cuzk_owner_destroy(int *lock_fd, const char *id, int fd);
/** Whether somebody holds the lock of id (any text). Cannot tell: true. */
bool cuzk_owner_locked(int fd, const char *id);
/** Removes a dead owner's lock file. */
void cuzk_owner_remove(int fd, const char *id);
/** Calls fn for each owner that has a lock file, until it returns false. */
void cuzk_owner_each(int fd, bool (*fn)(void *user, const char *id), void *user);
#endif
