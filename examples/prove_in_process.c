/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Proves a sealed sector in this process:
 *   prove_in_process PARAM_DIR C1_FILE MINER SECTOR PROOF_FILE
 * Needs the installed library: cc prove_in_process.c $(pkg-config --cflags --libs libcuzk) */
#include <cuzk/cuzk.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  uint8_t *data = NULL;
  long size;
  if (!f) return NULL;
  if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0 && (data = malloc((size_t)size))) {
    *n = fread(data, 1, (size_t)size, f);
    if (*n != (size_t)size) {
      free(data);
      data = NULL;
    }
  }
  (void)fclose(f);
  return data;
}

static int failed(const char *what, const struct libcuzk_error *e) {
  fprintf(stderr, "%s: %s (%s)\n", what, e->text, cuzk_status_name(e->status));
  return 1;
}

static int write_proof(const char *path, const struct libcuzk_result *r) {
  FILE *f = fopen(path, "wb");
  if (!f) return 1;
  const size_t n = fwrite(r->proof, 1, r->proof_bytes, f);
  return fclose(f) != 0 || n != r->proof_bytes;
}

int main(int argc, char **argv) {
  struct libcuzk *engine;
  struct libcuzk_error error;
  char *job;
  int rc = 1;
  size_t n = 0;
  if (argc != 6) {
    fprintf(stderr, "usage: %s PARAM_DIR C1_FILE MINER SECTOR PROOF_FILE\n", argv[0]);
    return 64;
  }
  uint8_t *c1 = read_file(argv[2], &n);
  if (!c1) {
    fprintf(stderr, "%s: cannot be read\n", argv[2]);
    return 1;
  }
  const struct libcuzk_options options = {.size = sizeof options, .param_dir = argv[1], .devices = "cpu"};
  if (libcuzk_open(&engine, &options, &error) != CUZK_OK) {
    free(c1);
    return failed("open", &error);
  }
  const struct libcuzk_request request = {.size = sizeof request,
                                          .request_id = "example",
                                          .kind = LIBCUZK_POREP,
                                          .vanilla_proof = {c1, n},
                                          .miner_id = strtoull(argv[3], NULL, 10),
                                          .sector_number = strtoull(argv[4], NULL, 10)};
  if (libcuzk_submit(engine, &request, &job, &error) != CUZK_OK) {
    rc = failed("submit", &error);
  } else {
    struct libcuzk_result result = {.size = sizeof result};
    if (libcuzk_await(engine, job, UINT64_MAX, &result, &error) != CUZK_OK) {
      rc = failed("await", &error);
    } else if (result.state != LIBCUZK_COMPLETED) {
      fprintf(stderr, "job %s: %s\n", job, result.error ? result.error : "not completed");
    } else {
      rc = write_proof(argv[5], &result);
      printf("libcuzk %s: %zu bytes in %llu ms (synthesis %llu ms, device %llu ms)\n", libcuzk_version(), result.proof_bytes,
             (unsigned long long)result.total_ms, (unsigned long long)result.synthesis_ms, (unsigned long long)result.gpu_compute_ms);
    }
    libcuzk_free(result.proof);
    libcuzk_free(result.error);
    libcuzk_free(job);
  }
  libcuzk_close(&engine);
  free(c1);
  return rc;
}
