/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs a fuzz target over every regular file of the folders and files given: replay PATH... Exits with 1 if there was none, so
 * that a corpus which got lost is noticed. Each input is also cut short at a few places: truncation is the commonest fault. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t n_inputs;

static int run_bytes(const uint8_t *data, size_t n) {
  /* a block of exactly n bytes, so that AddressSanitizer sees the first byte read past the end */
  uint8_t *copy = malloc(n ? n : 1);
  if (!copy) return 1;
  if (n) memcpy(copy, data, n);
  (void)LLVMFuzzerTestOneInput(copy, n);
  free(copy);
  return 0;
}

static int run_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    return 1;
  }
  uint8_t *data = NULL;
  size_t n = 0, room = 0;
  for (;;) {
    if (n == room) {
      room = room ? 2 * room : 65536;
      uint8_t *grown = realloc(data, room);
      if (!grown) goto fail;
      data = grown;
    }
    size_t got = fread(data + n, 1, room - n, f);
    if (got == 0) break;
    n += got;
  }
  if (ferror(f)) goto fail;
  (void)fclose(f);
  n_inputs++;
  int rc = run_bytes(data, n);
  for (size_t k = 1; k < 8 && rc == 0; k++) rc = run_bytes(data, n * k / 8);
  if (n > 0 && rc == 0) rc = run_bytes(data, n - 1);
  free(data);
  return rc;
fail:
  fprintf(stderr, "%s: cannot be read\n", path);
  (void)fclose(f);
  free(data);
  return 1;
}

static int run_path(const char *path) {
  struct stat sb;
  if (stat(path, &sb) != 0) {
    perror(path);
    return 1;
  }
  if (!S_ISDIR(sb.st_mode)) return run_file(path);
  DIR *d = opendir(path);
  if (!d) {
    perror(path);
    return 1;
  }
  int rc = 0;
  for (struct dirent *e = readdir(d); e && rc == 0; e = readdir(d)) {
    if (e->d_name[0] == '.') continue;
    char sub[4096];
    if ((size_t)snprintf(sub, sizeof sub, "%s/%s", path, e->d_name) >= sizeof sub) continue;
    rc = run_path(sub);
  }
  (void)closedir(d);
  return rc;
}

int main(int argc, char **argv) {
  int rc = 0;
  for (int i = 1; i < argc && rc == 0; i++) rc = run_path(argv[i]);
  printf("%zu inputs replayed\n", n_inputs);
  return rc != 0 || n_inputs == 0;
}
