/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "store/owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/hex.h"
#include "base/random.h"

static const char suffix[] = ".lock";
enum { LOCK_NAME = CUZK_OWNER_ID + sizeof suffix - 1 };

/* False for what cannot be an owner's id, and so is no name of a file. */
static bool lock_name(char out[LOCK_NAME], const char *id) {
  uint8_t raw[16];
  if (!cuzk_hex_decode(raw, 16, id, strlen(id), NULL)) return false;
  (void)snprintf(out, LOCK_NAME, "%s%s", id, suffix);
  return true;
}

enum cuzk_status cuzk_owner_create(int *lock_fd, char id[CUZK_OWNER_ID], int fd, const char *path, struct cuzk_detail *d) {
  *lock_fd = -1;
  for (int i = 0; i < 16; i++) {
    uint8_t raw[16];
    char name[LOCK_NAME];
    const enum cuzk_status st = cuzk_random_bytes(raw, sizeof raw);
    if (st != CUZK_OK) return cuzk_fail(d, st, "%s: no random number for an owner", path);
    cuzk_hex_encode(id, raw, 16);
    if (!lock_name(name, id)) continue;
    const int h = openat(fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (h < 0) return cuzk_fail_errno(d, errno, "%s/%s: cannot create", path, name);
    /* Whoever finds the file before it is locked takes it for a dead owner's and may remove it: then it is no lock. */
    struct stat s;
    if (flock(h, LOCK_EX | LOCK_NB) == 0 && fstat(h, &s) == 0 && s.st_nlink == 1) {
      *lock_fd = h;
      return CUZK_OK;
    }
    (void)unlinkat(fd, name, 0);
    (void)close(h);
  }
  return cuzk_fail(d, CUZK_E_IO, "%s: files cannot be locked here", path);
}

void cuzk_owner_destroy(int *lock_fd, const char *id, int fd) {
  if (*lock_fd < 0) return;
  cuzk_owner_remove(fd, id);
  (void)close(*lock_fd);
  *lock_fd = -1;
}

bool cuzk_owner_locked(int fd, const char *id) {
  char name[LOCK_NAME];
  if (!lock_name(name, id)) return false;
  const int h = openat(fd, name, O_RDONLY | O_CLOEXEC);
  if (h < 0) return errno != ENOENT;
  const bool locked = flock(h, LOCK_SH | LOCK_NB) != 0;
  (void)close(h);
  return locked;
}

void cuzk_owner_remove(int fd, const char *id) {
  char name[LOCK_NAME];
  if (lock_name(name, id)) (void)unlinkat(fd, name, 0);
}

void cuzk_owner_each(int fd, bool (*fn)(void *user, const char *id), void *user) {
  const int h = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (h < 0) return;
  DIR *dir = fdopendir(h);
  if (!dir) {
    (void)close(h);
    return;
  }
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    char id[CUZK_OWNER_ID], name[LOCK_NAME];
    if (strlen(e->d_name) != LOCK_NAME - 1) continue;
    memcpy(id, e->d_name, CUZK_OWNER_ID - 1);
    id[CUZK_OWNER_ID - 1] = 0;
    if (lock_name(name, id) && strcmp(name, e->d_name) == 0 && !fn(user, id)) break;
  }
  (void)closedir(dir);
}
