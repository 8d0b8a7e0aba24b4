/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "store/payloads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/hex.h"
#include "store/owners.h"

static const char temp_prefix[] = ".tmp-";

void cuzk_payload_name(char out[CUZK_PAYLOAD_NAME], const uint8_t digest[32]) { cuzk_hex_encode(out, digest, 32); }

/* A file-size limit is, for whoever runs into it, a full disk. */
static enum cuzk_status write_failed(struct cuzk_detail *d, const char *path, const char *name, const char *what) {
  const int err = errno;
  const enum cuzk_status st = cuzk_fail_errno(d, err, "%s/%s: cannot %s", path, name, what);
  return err == EFBIG ? CUZK_E_NOSPC : st;
}

enum cuzk_status cuzk_payload_write(int fd, const char *path, const char *owner, unsigned serial, const uint8_t digest[32], const uint8_t *p,
                                    size_t n, struct cuzk_detail *d) {
  char name[CUZK_PAYLOAD_NAME], temp[80];
  cuzk_payload_name(name, digest);
  (void)snprintf(temp, sizeof temp, "%s%s-%u", temp_prefix, owner, serial);
  const int h = openat(fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (h < 0) return write_failed(d, path, temp, "create");
  enum cuzk_status st = CUZK_OK;
  for (size_t done = 0; done < n && st == CUZK_OK;) {
    const ssize_t k = write(h, p + done, n - done < ((size_t)1 << 30) ? n - done : (size_t)1 << 30);
    if (k >= 0) {
      done += (size_t)k;
    } else if (errno != EINTR) {
      st = write_failed(d, path, name, "write");
    }
  }
  if (st == CUZK_OK && fsync(h) != 0) st = write_failed(d, path, name, "synchronise");
  if (close(h) != 0 && st == CUZK_OK && errno != EINTR) st = write_failed(d, path, name, "close");
  if (st == CUZK_OK && renameat(fd, temp, fd, name) != 0) st = write_failed(d, path, name, "rename");
  if (st != CUZK_OK) {
    (void)unlinkat(fd, temp, 0);
    return st;
  }
  if (fsync(fd) != 0) return write_failed(d, path, name, "synchronise the folder of");
  return CUZK_OK;
}

bool cuzk_payload_exists(int fd, const uint8_t digest[32]) {
  char name[CUZK_PAYLOAD_NAME];
  cuzk_payload_name(name, digest);
  return faccessat(fd, name, F_OK, 0) == 0;
}

void cuzk_payload_remove(int fd, const uint8_t digest[32]) {
  char name[CUZK_PAYLOAD_NAME];
  cuzk_payload_name(name, digest);
  (void)unlinkat(fd, name, 0);
}

/* The owner in the name of a temporary file. */
static bool temp_owner(char owner[CUZK_OWNER_ID], const char *name) {
  const size_t n = sizeof temp_prefix - 1;
  if (strncmp(name, temp_prefix, n) != 0 || strlen(name + n) < CUZK_OWNER_ID || name[n + CUZK_OWNER_ID - 1] != '-') return false;
  memcpy(owner, name + n, CUZK_OWNER_ID - 1);
  owner[CUZK_OWNER_ID - 1] = 0;
  return true;
}

unsigned cuzk_payload_sweep(int fd, bool (*used)(void *user, const uint8_t digest[32]), bool (*alive)(void *user, const char *owner), void *user) {
  const int h = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (h < 0) return 0;
  DIR *dir = fdopendir(h);
  if (!dir) {
    (void)close(h);
    return 0;
  }
  unsigned removed = 0;
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    uint8_t digest[32];
    char owner[CUZK_OWNER_ID];
    bool go;
    if (strlen(e->d_name) == CUZK_PAYLOAD_NAME - 1 && cuzk_hex_decode(digest, 32, e->d_name, CUZK_PAYLOAD_NAME - 1, NULL)) {
      go = !used(user, digest);
    } else {
      go = temp_owner(owner, e->d_name) && !alive(user, owner);
    }
    if (go && unlinkat(fd, e->d_name, 0) == 0) removed++;
  }
  (void)closedir(dir);
  return removed;
}
