/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the programs of this folder share: a folder of their own, requests, and what a claim handed out. */
#ifndef CUZK_TESTS_STORE_HELPER_H
#define CUZK_TESTS_STORE_HELPER_H
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hex.h"
#include "store/store.h"
#include "testing.h"

enum { PROOF = 192, MAX_PARTS = 32 };
static char reports[4096]; /* what the last journal opened here had to report */

static void take_report(void *user, const char *line) {
  (void)user;
  const size_t n = strlen(reports);
  (void)snprintf(reports + n, sizeof reports - n, "%s\n", line);
}

static int unlink_entry(const char *path, const struct stat *s, int type, struct FTW *w) {
  (void)s;
  (void)type;
  (void)w;
  return remove(path);
}

static inline void remove_tree(const char *path) { (void)nftw(path, unlink_entry, 16, FTW_DEPTH | FTW_PHYS); }

/** A folder name that does not exist yet, in the working folder of the test. */
static inline void new_folder(char out[64], const char *name) {
  (void)snprintf(out, 64, "store-%s-%ld", name, (long)getpid());
  remove_tree(out);
  reports[0] = 0;
}

static inline enum cuzk_status open_with(struct cuzk_journal *j, const char *dir, struct cuzk_store_options o, struct cuzk_detail *d) {
  o.state_dir = dir;
  o.report = take_report;
  return cuzk_store_sqlite_open(j, &o, d);
}

static inline struct cuzk_journal must_open(const char *dir) {
  struct cuzk_journal j;
  struct cuzk_detail d = {{0}};
  const enum cuzk_status st = open_with(&j, dir, (struct cuzk_store_options){0}, &d);
  if (st != CUZK_OK) print_error("%s\n", d.text);
  assert_int_equal(st, CUZK_OK);
  return j;
}

/** A request whose payload of n bytes follows from seed. */
static inline struct cuzk_request *make_request(uint64_t seed, size_t n) {
  uint8_t *p = malloc(n ? n : 1);
  if (!p) return NULL;
  for (size_t i = 0; i < n; i++) p[i] = (uint8_t)((seed * 0x9e3779b97f4a7c15u + i * i) >> 8);
  struct cuzk_request_fields f = {.kind = 1, .sector_size = 2048, .vanilla_proof = {p, n}, .sector_number = seed, .miner_id = 1000};
  struct cuzk_request *r = NULL;
  (void)cuzk_request_create(&r, &f);
  free(p);
  return r;
}

/** The proof of one partition follows from a number. */
static inline void make_proof(uint8_t out[PROOF], uint64_t seed, unsigned partition) {
  for (unsigned i = 0; i < PROOF; i++) out[i] = (uint8_t)((seed * 31 + partition * 7 + i) * 0x9e3779b1u >> 11);
}

/** A job as a claim gave it, copied. */
struct taken {
  char job_id[64], request_id[64], error[512];
  unsigned priority, n_partitions;
  bool from_prove, delivered, has_request;
  uint64_t seq, admitted, ended;
  uint8_t digest[32];
  size_t n_bytes, proof_bytes;
  enum cuzk_job_end end;
  uint8_t *proof;
  bool has[MAX_PARTS];
  uint8_t part[MAX_PARTS][PROOF];
};
struct takings {
  size_t n;
  struct taken *job;
};

static void take_one(void *user, const struct cuzk_journal_job *j, const uint8_t *const *proof) {
  struct takings *t = user;
  t->job = realloc(t->job, (t->n + 1) * sizeof *t->job);
  struct taken *k = &t->job[t->n++];
  *k = (struct taken){.priority = j->priority, .n_partitions = j->n_partitions, .from_prove = j->from_prove, .delivered = j->delivered,
                      .seq = j->seq, .admitted = j->admitted_unix_ms, .ended = j->ended_unix_ms, .end = j->end, .proof_bytes = j->proof_bytes};
  (void)snprintf(k->job_id, sizeof k->job_id, "%s", j->job_id);
  (void)snprintf(k->request_id, sizeof k->request_id, "%s", j->request_id);
  (void)snprintf(k->error, sizeof k->error, "%s", j->error ? j->error : "");
  if (j->request) {
    k->has_request = true;
    memcpy(k->digest, j->request->digest, 32);
    k->n_bytes = j->request->n_bytes;
  }
  if (j->proof) {
    k->proof = malloc(j->proof_bytes);
    memcpy(k->proof, j->proof, j->proof_bytes);
  }
  for (unsigned i = 0; proof && i < j->n_partitions && i < MAX_PARTS; i++) {
    k->has[i] = proof[i] != NULL;
    if (proof[i]) memcpy(k->part[i], proof[i], PROOF);
  }
}

static inline struct takings must_claim(struct cuzk_journal *j) {
  struct takings t = {0};
  struct cuzk_detail d = {{0}};
  const enum cuzk_status st = j->ops->claim(j->self, take_one, &t, &d);
  if (st != CUZK_OK) print_error("%s\n", d.text);
  assert_int_equal(st, CUZK_OK);
  return t;
}

static inline const struct taken *find_job(const struct takings *t, const char *id) {
  for (size_t i = 0; i < t->n; i++)
    if (strcmp(t->job[i].job_id, id) == 0) return &t->job[i];
  return NULL;
}

static inline void drop_takings(struct takings *t) {
  for (size_t i = 0; i < t->n; i++) free(t->job[i].proof);
  free(t->job);
  *t = (struct takings){0};
}

/** Admits a job whose request follows from seed. */
static inline enum cuzk_status admit_job(struct cuzk_journal *j, const char *id, uint64_t seed, size_t n, struct cuzk_detail *d) {
  struct cuzk_request *r = make_request(seed, n);
  if (!r) return CUZK_E_NOMEM;
  struct cuzk_journal_job job = {.job_id = id, .request_id = "request, with [brackets]\n", .request = r, .priority = 2, .from_prove = seed & 1,
                                 .admitted_unix_ms = 1700000000000 + seed};
  const enum cuzk_status st = j->ops->admit(j->self, &job, d);
  cuzk_request_unref(&r);
  return st;
}

/** Names in a folder, without . and .. . */
static inline unsigned count_files(const char *dir, const char *sub) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", dir, sub);
  DIR *h = opendir(path);
  if (!h) return 0;
  unsigned n = 0;
  for (struct dirent *e; (e = readdir(h)) != NULL;) n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  (void)closedir(h);
  return n;
}

static inline uint8_t *slurp(const char *path, size_t *n) {
  *n = 0;
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  (void)fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  (void)fseek(f, 0, SEEK_SET);
  uint8_t *p = malloc(*n + 1);
  if (p && fread(p, 1, *n, f) != *n) {
    free(p);
    p = NULL;
  }
  (void)fclose(f);
  return p;
}

static inline void spill(const char *path, const void *p, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(p, 1, n, f), n);
  (void)fclose(f);
}
#endif
