/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The other side of a comparison: a program of the user's that measures another library and prints one JSON object a line with
 * name, log2 and median_s. It is run as CMD WORD LOG2 RUNS, WORD being fp, fr, point, pairing, msm, msm2, ntt or prove. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/bench.h"

/* names of series that measure the same operation as a case of ours */
static const struct {
  const char *peer, *ours;
} pairs[] = {
    {"blst_fp_mul", "fp_mul"},
    {"blst_fp_sqr", "fp_sqr"},
    {"blst_fr_mul", "fr_mul"},
    {"blst_fr_sqr", "fr_sqr"},
    {"blst_p1_add_affine", "g1_add_affine"},
    {"blst_p1_double", "g1_dbl"},
    {"blst_p2_add_affine", "g2_add_affine"},
    {"blst_p2_double", "g2_dbl"},
    {"blst_pairing", "pairing"},
    {"blst_pippenger_g1", "msm_g1"},
    {"blst_pippenger_g2", "msm_g2"},
    {"bellperson_multiexp_g1", "msm_g1"},
    {"bellperson_multiexp_g2", "msm_g2"},
    {"bellperson_fft", "ntt"},
    {"bellperson_prove", "prove"},
    {"gnark_msm_g1", "msm_g1"},
    {"gnark_fft", "ntt"},
};

const char *bench_peer_match(const char *peer_name) {
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    if (!strcmp(pairs[i].peer, peer_name)) return pairs[i].ours;
  /* any program may use our own names, with a prefix of its own or without */
  static const char *const own[] = {"fp_mul", "fp_sqr", "fr_mul", "fr_sqr", "g1_add_affine", "g1_dbl", "g2_add_affine", "g2_dbl",
                                    "pairing", "msm_g1", "msm_g2", "ntt", "prove"};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    const size_t n = strlen(peer_name), k = strlen(own[i]);
    if (n >= k && !strcmp(peer_name + n - k, own[i]) && (n == k || peer_name[n - k - 1] == '_')) return own[i];
  }
  return NULL;
}

static enum cuzk_status take_line(struct bench *b, const char *line) {
  struct cuzk_detail *d = &b->c->detail;
  const char *text = line;
  while (isspace((unsigned char)*text)) text++;
  if (*text != '{') return CUZK_OK; /* other chatter */
  json_t *o = json_loads(text, 0, NULL);
  const char *name = json_string_value(json_object_get(o, "name"));
  const json_t *median = json_object_get(o, "median_s");
  enum cuzk_status st = CUZK_OK;
  if (!name || !json_is_number(median) || json_number_value(median) <= 0) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "--peer: a line without name and median_s: %.200s", line);
  } else {
    unsigned i = 0;
    while (i < b->n_peers && strcmp(b->peers[i].name, name)) i++;
    if (i == b->n_peers && i < BENCH_MAX_PEERS) {
      (void)snprintf(b->peers[i].name, sizeof b->peers[i].name, "%s", name);
      b->n_peers++;
    }
    if (i < b->n_peers && b->peers[i].n < BENCH_MAX_RUNS) b->peers[i].t[b->peers[i].n++] = json_number_value(median);
  }
  json_decref(o);
  return st;
}

enum cuzk_status bench_peer_round(struct bench *b, unsigned runs) {
  struct cuzk_detail *d = &b->c->detail;
  const char *cmd = b->c->opt[OPT_PEER];
  enum cuzk_status st = CUZK_OK;
  for (unsigned w = 0; b->peer_words[w] && st == CUZK_OK; w++) {
    char line[8192];
    (void)fflush(NULL);
    /* the user's own command line, run by the shell as typed, in the user's name */
    if ((size_t)snprintf(line, sizeof line, "%s %s %u %u", cmd, b->peer_words[w], b->log2, runs) >= sizeof line)
      return cuzk_fail(d, CUZK_E_ARG, "--peer: the command is too long");
    FILE *f = popen(line, "re");
    if (!f) return cuzk_fail_errno(d, errno, "--peer: %s", cmd);
    while (st == CUZK_OK && fgets(line, sizeof line, f)) st = take_line(b, line);
    while (fgets(line, sizeof line, f)) continue; /* let it end by itself */
    const int rc = pclose(f);
    if (st == CUZK_OK && rc != 0)
      st = cuzk_fail(d, CUZK_E_IO, "--peer: '%s %s' ended with status %d", cmd, b->peer_words[w],
                     WIFEXITED(rc) ? WEXITSTATUS(rc) : 128 + WTERMSIG(rc));
  }
  return st;
}
