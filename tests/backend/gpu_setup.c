/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Key generation on a CUDA device, without the libraries that the command line needs; built by tools/cuda_build.sh.
 *
 *   gpu_setup CIRCUIT.r1cs [out=FILE] [sha=HEX] [limit=MIB] [device=N] [hash]
 *
 * The toxic waste is that of the recorded parameters (fixtures' README): SHA-256 of 'cuzk fixture NAME WORD', the two top bits cleared: for tests
 * and measurements, not for keys that anybody is to trust. Without out= the bytes go nowhere. sha= compares (and exits with 1 if they
 * differ), hash prints; limit= bounds the device memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "base/pool.h"
#include "device/cuda_setup.h"
#include "hash/sha256.h"

static struct cuzk_cuda_setup_times times;

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum cuzk_status make(void *user, const struct cuzk_setup_sink *sink, struct cuzk_detail *d) {
  return cuzk_cuda_setup_run(user, sink, &times, d);
}

static enum cuzk_status drop(void *user, const void *p, size_t n, struct cuzk_detail *d) {
  uint64_t *bytes = user;
  (void)p;
  (void)d;
  *bytes += n;
  return CUZK_OK;
}

static void recorded(cuzk_fr *out, const char *circuit, const char *word) {
  char text[128];
  uint8_t digest[32];
  const int n = snprintf(text, sizeof text, "cuzk fixture %s %s", circuit, word);
  cuzk_sha256(digest, text, (size_t)n);
  digest[31] &= 0x3f;
  if (!cuzk_fr_from_le(out, digest)) abort(); /* 2^254 is below r */
}

int main(int argc, char **argv) {
  const char *circuit = NULL, *out = NULL, *want = NULL;
  struct cuzk_cuda_setup s = {0};
  bool hash = false;
  struct cuzk_detail d = {{0}};
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (!strncmp(a, "out=", 4))
      out = a + 4;
    else if (!strncmp(a, "sha=", 4))
      want = a + 4;
    else if (!strncmp(a, "limit=", 6))
      s.memory_limit = strtoull(a + 6, NULL, 10) << 20;
    else if (!strncmp(a, "device=", 7))
      s.device = (unsigned)strtoul(a + 7, NULL, 10);
    else if (!strcmp(a, "hash"))
      hash = true;
    else
      circuit = a;
  }
  if (!circuit) {
    fprintf(stderr, "usage: gpu_setup CIRCUIT.r1cs [out=FILE] [sha=HEX] [limit=MIB] [device=N] [hash]\n");
    return 64;
  }
  hash = hash || want;
  struct cuzk_compact *c = NULL;
  struct cuzk_compact_info info;
  struct cuzk_pool *pool = NULL;
  struct cuzk_toxic toxic;
  uint8_t digest[32];
  char hex[65] = "";
  if (cuzk_compact_open(&c, circuit, &d) != CUZK_OK || cuzk_pool_create(&pool, 0) != CUZK_OK) goto failed;
  cuzk_compact_info(&info, c);
  recorded(&toxic.alpha, info.name, "alpha");
  recorded(&toxic.beta, info.name, "beta");
  recorded(&toxic.gamma, info.name, "gamma");
  recorded(&toxic.delta, info.name, "delta");
  recorded(&toxic.tau, info.name, "tau");
  s.circuit = c;
  s.toxic = &toxic;
  const double start = now();
  uint64_t bytes = 0;
  if (out || hash) {
    if (cuzk_params_generate_by(out ? out : "/dev/null", make, &s, hash ? digest : NULL, pool, &d) != CUZK_OK) goto failed;
  } else {
    const struct cuzk_setup_sink sink = {drop, &bytes};
    if (cuzk_cuda_setup_run(&s, &sink, &times, &d) != CUZK_OK) goto failed;
  }
  if (hash) cuzk_hex_encode(hex, digest, 32);
  printf("%s: %.2f s: tables %.2f, lagrange %.2f, columns %.2f in %u ranges, points %.2f, sink %.2f%s%s\n", info.name, now() - start, times.tables,
         times.lagrange, times.columns, times.ranges, times.points, times.sink, hash ? ", sha256 " : "", hex);
  cuzk_pool_destroy(&pool);
  cuzk_compact_destroy(&c);
  if (want && strcmp(want, hex)) {
    fprintf(stderr, "DIFFERS: %s expected\n", want);
    return 1;
  }
  return 0;
failed:
  fprintf(stderr, "gpu_setup: %s: %s\n", circuit, d.text);
  return 1;
}
