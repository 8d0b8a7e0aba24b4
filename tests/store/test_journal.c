/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "store/helper.h"

/* In the place of the C library's, to count them: SQLite comes here, too. Nothing here needs the disk to keep up. */
static _Atomic int n_synced;
int fsync(int fd);
int fdatasync(int fd);
int fsync(int fd) {
  (void)fd;
  atomic_fetch_add(&n_synced, 1);
  return 0;
}
int fdatasync(int fd) { return fsync(fd); }

#define DO(call) assert_int_equal((call), CUZK_OK)

static void nothing(void *user, const struct cuzk_journal_job *job, const uint8_t *const *proof) {
  (void)job;
  (void)proof;
  ++*(unsigned *)user;
}

/* Runs SQL on a closed journal's database, as damage or another version would have left it. */
static void alter(const char *dir, const char *sql) {
  char path[128];
  sqlite3 *db;
  (void)snprintf(path, sizeof path, "%s/journal.db", dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  char *why = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void everything_comes_back(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "back");
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d;
  uint8_t p[PROOF], two[2 * PROOF];
  uint64_t bytes, jobs, before;
  bool healthy;
  j.ops->stats(j.self, &before, &jobs, &healthy);
  assert_int_equal(jobs, 0);
  DO(admit_job(&j, "queued", 1, 5000, &d));
  DO(admit_job(&j, "running", 2, 300000, &d));
  DO(admit_job(&j, "completed", 3, 10, &d));
  DO(admit_job(&j, "failed", 4, 10, &d));
  DO(admit_job(&j, "cancelled", 5, 10, &d));
  DO(admit_job(&j, "forgotten", 6, 10, &d));
  assert_int_equal(count_files(dir, "payloads"), 6);
  DO(j.ops->update(j.self, "queued", 4, 0, &d));
  DO(j.ops->update(j.self, "queued", 3, 0, &d)); /* never lower */
  DO(j.ops->update(j.self, "running", 0, 10, &d));
  for (unsigned i = 0; i < 10; i += 3) {
    make_proof(p, 2, i);
    DO(j.ops->partition_done(j.self, "running", i, p, PROOF, &d));
  }
  make_proof(p, 99, 3);
  DO(j.ops->partition_done(j.self, "running", 3, p, PROOF, &d)); /* keeps the first */
  DO(j.ops->partition_undo(j.self, "running", 6, &d));
  DO(j.ops->partition_undo(j.self, "running", 7, &d));
  DO(j.ops->update(j.self, "completed", 0, 2, &d));
  make_proof(two, 3, 0);
  make_proof(two + PROOF, 3, 1);
  DO(j.ops->partition_done(j.self, "completed", 0, two, PROOF, &d));
  DO(j.ops->end(j.self, "completed", CUZK_END_COMPLETED, two, sizeof two, NULL, &d));
  DO(j.ops->end(j.self, "completed", CUZK_END_FAILED, NULL, 0, "too late", &d));
  DO(j.ops->partition_done(j.self, "completed", 1, two, PROOF, &d)); /* late, and of no use */
  DO(j.ops->delivered(j.self, "completed", &d));
  DO(j.ops->end(j.self, "failed", CUZK_END_FAILED, NULL, 0, "gpu: no\nluck", &d));
  DO(j.ops->end(j.self, "cancelled", CUZK_END_CANCELLED, NULL, 0, NULL, &d));
  DO(j.ops->end(j.self, "forgotten", CUZK_END_CANCELLED, NULL, 0, NULL, &d));
  DO(j.ops->forget(j.self, "forgotten", &d));
  DO(j.ops->forget(j.self, "forgotten", &d));
  assert_int_equal(count_files(dir, "payloads"), 2);
  j.ops->stats(j.self, &bytes, &jobs, &healthy);
  assert_int_equal(jobs, 5);
  assert_true(healthy && bytes > 305000);
  unsigned again = 0;
  DO(j.ops->claim(j.self, nothing, &again, &d)); /* one's own are not claimed again */
  assert_int_equal(again, 0);
  cuzk_store_close(&j);
  assert_null(j.self);
  assert_int_equal(count_files(dir, "owners"), 0);

  for (int round = 0; round < 2; round++) {
    j = must_open(dir);
    assert_int_equal(count_files(dir, "payloads"), 2);
    struct takings t = must_claim(&j);
    assert_int_equal(t.n, 5);
    for (size_t i = 1; i < t.n; i++) assert_true(t.job[i].seq > t.job[i - 1].seq);
    struct cuzk_request *r1 = make_request(1, 5000), *r2 = make_request(2, 300000);
    const struct taken *k = &t.job[0];
    assert_string_equal(k->job_id, "queued");
    assert_string_equal(k->request_id, "request, with [brackets]\n");
    assert_true(k->has_request && k->from_prove && k->priority == 4 && k->n_partitions == 0 && k->end == CUZK_END_NONE);
    assert_int_equal(k->admitted, 1700000000001);
    assert_memory_equal(k->digest, r1->digest, 32);
    assert_int_equal(k->n_bytes, r1->n_bytes);
    k = &t.job[1];
    assert_string_equal(k->job_id, "running");
    assert_true(k->has_request && !k->from_prove && k->priority == 2 && k->n_partitions == 10);
    assert_memory_equal(k->digest, r2->digest, 32);
    for (unsigned i = 0; i < 10; i++) {
      assert_int_equal(k->has[i], i % 3 == 0 && i != 6);
      if (!k->has[i]) continue;
      make_proof(p, 2, i);
      assert_memory_equal(k->part[i], p, PROOF);
    }
    k = &t.job[2];
    assert_string_equal(k->job_id, "completed");
    assert_true(!k->has_request && k->end == CUZK_END_COMPLETED && k->delivered && k->ended >= 1700000000000);
    assert_int_equal(k->proof_bytes, sizeof two);
    assert_memory_equal(k->proof, two, sizeof two);
    assert_true(!k->has[0] && !k->has[1]);
    k = &t.job[3];
    assert_true(k->end == CUZK_END_FAILED && !k->delivered && !k->proof);
    assert_string_equal(k->error, "gpu: no\nluck");
    k = &t.job[4];
    assert_true(k->end == CUZK_END_CANCELLED && !k->error[0]);
    cuzk_request_unref(&r1);
    cuzk_request_unref(&r2);
    drop_takings(&t);
    j.ops->stats(j.self, &bytes, &jobs, &healthy);
    assert_int_equal(jobs, 5);
    cuzk_store_close(&j);
  }
  j = must_open(dir);
  struct takings t = must_claim(&j);
  DO(admit_job(&j, "later", 7, 10, &d));
  DO(j.ops->end(j.self, "queued", CUZK_END_CANCELLED, NULL, 0, NULL, &d));
  cuzk_store_close(&j);
  drop_takings(&t);
  j = must_open(dir);
  t = must_claim(&j);
  assert_int_equal(t.n, 6);
  assert_string_equal(t.job[5].job_id, "later");
  drop_takings(&t);
  cuzk_store_close(&j);
  assert_string_equal(reports, "");
  remove_tree(dir);
}

/* What must survive a power cut is synchronised before the call returns; what need not is not. */
static void durable_calls_synchronise(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "sync");
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d;
  uint8_t p[PROOF] = {1};
  for (int i = 0; i < 2; i++) {
#define SYNCS(call, least, most)                                                            \
  do {                                                                                      \
    n_synced = 0;                                                                           \
    DO(call);                                                                               \
    if (n_synced < (least) || n_synced > (most)) fail_msg("%s: %d times", #call, n_synced); \
  } while (0)
    SYNCS(admit_job(&j, "a", 1, 100, &d), 3, 4); /* payload, folder, log; the first time the log's beginning */
    SYNCS(j.ops->update(j.self, "a", 4, 3, &d), 0, 0);
    SYNCS(j.ops->partition_done(j.self, "a", 1, p, PROOF, &d), 1, 1);
    SYNCS(j.ops->renew(j.self, &d), 0, 0);
    SYNCS(j.ops->partition_undo(j.self, "a", 1, &d), 1, 1);
    SYNCS(j.ops->end(j.self, "a", CUZK_END_COMPLETED, p, PROOF, NULL, &d), 1, 1);
    SYNCS(j.ops->delivered(j.self, "a", &d), 0, 0);
    SYNCS(j.ops->forget(j.self, "a", &d), 0, 0);
#undef SYNCS
  }
  cuzk_store_close(&j);
  remove_tree(dir);
}

static void misuse_is_refused(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "misuse");
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d = {{0}};
  uint8_t p[PROOF] = {0};
  DO(admit_job(&j, "a", 1, 10, &d));
  assert_int_equal(admit_job(&j, "a", 2, 10, &d), CUZK_E_MISMATCH);
  assert_non_null(strstr(d.text, "job a is stored already"));
  assert_int_equal(count_files(dir, "payloads"), 1); /* nothing of it is left */
  assert_int_equal(admit_job(&j, "a", 1, 10, &d), CUZK_E_MISMATCH);
  assert_int_equal(count_files(dir, "payloads"), 1); /* and what the other has is not taken away */
  struct cuzk_journal_job none = {.job_id = "b", .request_id = ""};
  assert_int_equal(j.ops->admit(j.self, &none, &d), CUZK_E_ARG);
  assert_int_equal(j.ops->update(j.self, "b", 4, 0, &d), CUZK_E_NOENT);
  assert_int_equal(j.ops->update(j.self, NULL, 4, 0, &d), CUZK_E_ARG);
  assert_int_equal(j.ops->partition_done(j.self, "b", 0, p, PROOF, &d), CUZK_E_NOENT);
  assert_int_equal(j.ops->partition_done(j.self, "a", 0, p, PROOF, &d), CUZK_E_ARG); /* its partitions are not known */
  DO(j.ops->update(j.self, "a", 0, 2, &d));
  assert_int_equal(j.ops->partition_done(j.self, "a", 2, p, PROOF, &d), CUZK_E_ARG);
  assert_int_equal(j.ops->partition_done(j.self, "a", 1, p, 0, &d), CUZK_E_ARG);
  assert_int_equal(j.ops->end(j.self, "b", CUZK_END_FAILED, NULL, 0, "x", &d), CUZK_E_NOENT);
  assert_int_equal(j.ops->end(j.self, "a", CUZK_END_NONE, NULL, 0, "x", &d), CUZK_E_ARG);
  assert_int_equal(j.ops->end(j.self, "a", CUZK_END_COMPLETED, NULL, 0, NULL, &d), CUZK_E_ARG);
  assert_int_equal(j.ops->delivered(j.self, "b", &d), CUZK_E_NOENT);
  assert_int_equal(j.ops->forget(j.self, "a", &d), CUZK_E_ARG);
  DO(j.ops->partition_done(j.self, "a", 1, p, PROOF, &d)); /* after all that it works */
  cuzk_store_close(&j);
  cuzk_store_close(&j);
  assert_int_equal(open_with(&j, "", (struct cuzk_store_options){0}, &d), CUZK_E_ARG);
  spill("store-file", "x", 1);
  assert_int_equal(open_with(&j, "store-file/sub", (struct cuzk_store_options){0}, &d), CUZK_E_IO);
  assert_null(j.ops);
  (void)remove("store-file");
  remove_tree(dir);
}

static void a_shared_payload_goes_with_its_last_job(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "shared");
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d;
  DO(admit_job(&j, "a", 8, 1000, &d));
  DO(admit_job(&j, "b", 8, 1000, &d));
  assert_int_equal(count_files(dir, "payloads"), 1);
  DO(j.ops->end(j.self, "a", CUZK_END_CANCELLED, NULL, 0, NULL, &d));
  DO(j.ops->forget(j.self, "a", &d));
  assert_int_equal(count_files(dir, "payloads"), 1);
  cuzk_store_close(&j);
  j = must_open(dir);
  struct takings t = must_claim(&j);
  assert_true(t.n == 1 && t.job[0].has_request);
  drop_takings(&t);
  DO(j.ops->end(j.self, "b", CUZK_END_CANCELLED, NULL, 0, NULL, &d));
  assert_int_equal(count_files(dir, "payloads"), 0);
  cuzk_store_close(&j);
  remove_tree(dir);
}

static void two_owners_keep_their_jobs(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "owners");
  struct cuzk_clock *clock;
  DO(cuzk_clock_virtual(&clock));
  const struct cuzk_store_options o = {.clock = clock, .lease_ms = 9000};
  struct cuzk_journal a, b;
  struct cuzk_detail d;
  uint8_t p[PROOF] = {1};
  DO(open_with(&a, dir, o, &d));
  DO(admit_job(&a, "one", 1, 10, &d));
  DO(a.ops->update(a.self, "one", 0, 1, &d));
  DO(open_with(&b, dir, o, &d));
  DO(admit_job(&b, "two", 2, 10, &d));
  assert_int_equal(count_files(dir, "payloads"), 2); /* opening swept nothing of the other */
  struct takings t = must_claim(&b);
  assert_int_equal(t.n, 0);
  assert_int_equal(b.ops->partition_done(b.self, "one", 0, p, PROOF, &d), CUZK_E_NOENT);
  assert_int_equal(b.ops->end(b.self, "one", CUZK_END_CANCELLED, NULL, 0, NULL, &d), CUZK_E_NOENT);
  DO(b.ops->forget(b.self, "one", &d));
  for (int i = 1; i <= 6; i++) { /* both renew: nothing changes hands */
    cuzk_clock_sleep_until(clock, (uint64_t)i * 3000 * CUZK_MS);
    DO(a.ops->renew(a.self, &d));
    DO(b.ops->renew(b.self, &d));
    t = must_claim(&b);
    assert_int_equal(t.n, 0);
    t = must_claim(&a);
    assert_int_equal(t.n, 0);
  }
  /* a is silent for as long as its lease: b takes over, and a learns of it */
  cuzk_clock_sleep_until(clock, 18000 * CUZK_MS + 8999 * CUZK_MS);
  DO(b.ops->renew(b.self, &d));
  t = must_claim(&b);
  assert_int_equal(t.n, 0);
  cuzk_clock_sleep_until(clock, 18000 * CUZK_MS + 9000 * CUZK_MS);
  t = must_claim(&b);
  assert_int_equal(t.n, 1);
  assert_string_equal(t.job[0].job_id, "one");
  drop_takings(&t);
  assert_int_equal(a.ops->partition_done(a.self, "one", 0, p, PROOF, &d), CUZK_E_NOENT);
  assert_int_equal(a.ops->renew(a.self, &d), CUZK_E_MISMATCH);
  DO(a.ops->renew(a.self, &d));
  DO(b.ops->partition_done(b.self, "one", 0, p, PROOF, &d));
  /* a goes on as an owner without jobs, and takes what b leaves when b closes */
  DO(admit_job(&a, "three", 3, 10, &d));
  cuzk_store_close(&b);
  t = must_claim(&a);
  assert_int_equal(t.n, 2);
  assert_true(find_job(&t, "one") && find_job(&t, "one")->has[0] && find_job(&t, "two"));
  drop_takings(&t);
  cuzk_store_close(&a);
  cuzk_clock_destroy(&clock);
  remove_tree(dir);
}

static void a_dead_process_is_succeeded_at_once(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "dead");
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    struct cuzk_journal j;
    struct cuzk_detail d;
    char ok = open_with(&j, dir, (struct cuzk_store_options){.lease_ms = 3600000}, &d) == CUZK_OK && admit_job(&j, "left", 1, 100, &d) == CUZK_OK;
    if (write(ready[1], &ok, 1) != 1) _exit(1);
    for (;;) (void)pause();
  }
  char ok = 0;
  assert_int_equal(read(ready[0], &ok, 1), 1);
  assert_int_equal(ok, 1);
  struct cuzk_journal j = must_open(dir);
  struct takings t = must_claim(&j);
  assert_int_equal(t.n, 0);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  t = must_claim(&j);
  assert_int_equal(t.n, 1);
  drop_takings(&t);
  assert_int_equal(count_files(dir, "owners"), 1);
  cuzk_store_close(&j);
  (void)close(ready[0]);
  (void)close(ready[1]);
  remove_tree(dir);
}

static void orphans_are_swept(void **state) {
  (void)state;
  char dir[64], path[256];
  new_folder(dir, "orphans");
  struct cuzk_journal j = must_open(dir), other;
  struct cuzk_detail d;
  DO(admit_job(&j, "a", 1, 100, &d));
  (void)snprintf(path, sizeof path, "%s/payloads/%064d", dir, 7);
  spill(path, "x", 1);
  (void)snprintf(path, sizeof path, "%s/payloads/.tmp-0123456789abcdef0123456789abcdef-3", dir);
  spill(path, "x", 1);
  (void)snprintf(path, sizeof path, "%s/payloads/README", dir);
  spill(path, "x", 1);
  /* a temporary file of the living owner stays */
  char owners[256];
  (void)snprintf(owners, sizeof owners, "%s/owners", dir);
  DIR *h = opendir(owners);
  assert_non_null(h);
  for (struct dirent *e; (e = readdir(h)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    (void)snprintf(path, sizeof path, "%s/payloads/.tmp-%.32s-9", dir, e->d_name);
    spill(path, "x", 1);
  }
  (void)closedir(h);
  assert_int_equal(count_files(dir, "payloads"), 5);
  other = must_open(dir);
  assert_int_equal(count_files(dir, "payloads"), 3);
  assert_non_null(strstr(reports, "removed 2 files"));
  cuzk_store_close(&other);
  cuzk_store_close(&j);
  j = must_open(dir);
  assert_int_equal(count_files(dir, "payloads"), 2);
  cuzk_store_close(&j);
  remove_tree(dir);
}

/* One job of each kind, for what follows. */
static void fill(const char *dir) {
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d;
  uint8_t p[PROOF];
  DO(admit_job(&j, "payload", 1, 1000, &d));
  DO(admit_job(&j, "partitions", 2, 1000, &d));
  DO(admit_job(&j, "result", 3, 1000, &d));
  DO(admit_job(&j, "good", 4, 1000, &d));
  DO(j.ops->update(j.self, "partitions", 0, 3, &d));
  for (unsigned i = 0; i < 3; i++) {
    make_proof(p, 2, i);
    DO(j.ops->partition_done(j.self, "partitions", i, p, PROOF, &d));
  }
  DO(j.ops->end(j.self, "result", CUZK_END_COMPLETED, p, PROOF, NULL, &d));
  cuzk_store_close(&j);
  reports[0] = 0;
}

static void damaged_contents_are_found(void **state) {
  (void)state;
  char dir[64], path[256], name[65];
  new_folder(dir, "contents");
  fill(dir);
  struct cuzk_request *r = make_request(1, 1000);
  cuzk_hex_encode(name, r->digest, 32);
  cuzk_request_unref(&r);
  (void)snprintf(path, sizeof path, "%s/payloads/%s", dir, name);
  size_t n = 0;
  uint8_t *file = slurp(path, &n);
  assert_non_null(file);
  file[n / 2] ^= 1;
  spill(path, file, n);
  alter(dir, "UPDATE partition SET proof = zeroblob(192) WHERE number = 1; UPDATE job SET proof = zeroblob(192) WHERE job_id = 'result'");
  struct cuzk_journal j = must_open(dir);
  struct takings t = must_claim(&j);
  assert_int_equal(t.n, 4);
  const struct taken *k = find_job(&t, "payload");
  assert_true(!k->has_request && k->end == CUZK_END_NONE && strstr(k->error, name));
  k = find_job(&t, "partitions");
  assert_true(k->has_request && k->has[0] && !k->has[1] && k->has[2]);
  k = find_job(&t, "result");
  assert_true(!k->has_request && k->end == CUZK_END_NONE && !k->proof && strstr(k->error, "damaged"));
  k = find_job(&t, "good");
  assert_true(k->has_request && !k->error[0]);
  assert_non_null(strstr(reports, "partition 1 of job partitions"));
  drop_takings(&t);
  struct cuzk_detail d;
  uint8_t p[PROOF];
  make_proof(p, 2, 1);
  DO(j.ops->partition_done(j.self, "partitions", 1, p, PROOF, &d)); /* the damaged one is not in the way */
  DO(j.ops->end(j.self, "payload", CUZK_END_FAILED, NULL, 0, "lost", &d));
  DO(j.ops->forget(j.self, "payload", &d));
  DO(j.ops->forget(j.self, "result", &d));
  cuzk_store_close(&j);

  /* a payload that is gone, and a row whose identity has changed */
  spill(path, file, 0);
  (void)remove(path);
  r = make_request(4, 1000);
  cuzk_hex_encode(name, r->digest, 32);
  cuzk_request_unref(&r);
  (void)snprintf(path, sizeof path, "%s/payloads/%s", dir, name);
  assert_int_equal(remove(path), 0);
  alter(dir, "UPDATE job SET request_id = 'reqvest' WHERE job_id = 'partitions'");
  j = must_open(dir);
  t = must_claim(&j);
  assert_int_equal(t.n, 2);
  assert_true(!find_job(&t, "good")->has_request && strstr(find_job(&t, "good")->error, name));
  assert_true(!find_job(&t, "partitions")->has_request && strstr(find_job(&t, "partitions")->error, "damaged"));
  drop_takings(&t);
  cuzk_store_close(&j);
  free(file);
  remove_tree(dir);
}

/* After whatever happened to the database: the journal opens empty, says so, keeps the old files, and works. */
static void opens_anew(const char *dir, const char *why) {
  struct cuzk_journal j = must_open(dir);
  struct cuzk_detail d;
  if (!strstr(reports, why) || !strstr(reports, "damaged-")) fail_msg("expected %s, reported %s", why, reports);
  struct takings t = must_claim(&j);
  assert_int_equal(t.n, 0);
  assert_int_equal(count_files(dir, "payloads"), 0);
  DO(admit_job(&j, "new", 1, 10, &d));
  cuzk_store_close(&j);
  reports[0] = 0;
  j = must_open(dir);
  t = must_claim(&j);
  assert_int_equal(t.n, 1);
  drop_takings(&t);
  cuzk_store_close(&j);
  assert_string_equal(reports, "");
}

static void a_damaged_database_is_moved_aside(void **state) {
  (void)state;
  char dir[64], path[256];
  new_folder(dir, "aside");
  (void)snprintf(path, sizeof path, "%s/journal.db", dir);
  size_t n = 0;
  fill(dir);
  uint8_t *good = slurp(path, &n), *bad = malloc(n);
  assert_true(good && bad && n > 4 * 4096);
  memcpy(bad, good, n);
  memset(bad, 'x', 100);
  spill(path, bad, n);
  opens_anew(dir, "not a database");
  unsigned found = 0;
  DIR *h = opendir(dir);
  for (struct dirent *e; (e = readdir(h)) != NULL;) {
    if (strncmp(e->d_name, "damaged-", 8) != 0) continue;
    char sub[300];
    (void)snprintf(sub, sizeof sub, "%s/payloads", e->d_name);
    assert_int_equal(count_files(dir, sub), 3); /* kept with the database that knows them */
    found++;
  }
  (void)closedir(h);
  assert_int_equal(found, 1);

  remove_tree(dir);
  fill(dir);
  memcpy(bad, good, n);
  for (size_t i = 4096; i < n; i += 4096) memset(bad + i, 0x5a, 64); /* every page but the first */
  spill(path, bad, n);
  opens_anew(dir, "cannot be used");

  remove_tree(dir);
  fill(dir);
  spill(path, good, n / 2 / 4096 * 4096);
  opens_anew(dir, "cannot be used");

  remove_tree(dir);
  fill(dir);
  alter(dir, "PRAGMA user_version = 99");
  opens_anew(dir, "newer version");

  remove_tree(dir);
  fill(dir);
  alter(dir, "PRAGMA application_id = 5");
  opens_anew(dir, "another program");

  remove_tree(dir);
  fill(dir);
  alter(dir, "ALTER TABLE job DROP COLUMN delivered");
  opens_anew(dir, "not those of its version");

  remove_tree(dir);
  fill(dir);
  (void)remove(path);
  assert_int_equal(mkdir(path, 0700), 0);
  opens_anew(dir, "no file");

  remove_tree(dir);
  assert_int_equal(mkdir(dir, 0700), 0);
  (void)snprintf(path, sizeof path, "%s/payloads", dir);
  spill(path, "x", 1);
  struct cuzk_journal j = must_open(dir);
  assert_non_null(strstr(reports, "is no folder"));
  cuzk_store_close(&j);
  free(good);
  free(bad);
  remove_tree(dir);
}

static void a_database_in_use_is_not_moved(void **state) {
  (void)state;
  char dir[64], path[256];
  new_folder(dir, "inuse");
  struct cuzk_journal a = must_open(dir), b;
  struct cuzk_detail d = {{0}};
  DO(admit_job(&a, "a", 1, 10, &d));
  (void)snprintf(path, sizeof path, "%s/journal.db", dir);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  assert_int_equal(open_with(&b, dir, (struct cuzk_store_options){0}, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "another process holds it"));
  DO(admit_job(&a, "b", 2, 10, &d));
  cuzk_store_close(&a);
  remove_tree(dir);
}

/* Whatever a torn write leaves of the last transaction in the log, a claim gives the state before it or after it. */
static void a_torn_log_gives_before_or_after(void **state) {
  (void)state;
  static const char *const names[] = {"admit", "partition", "end"};
  char dir[64], copy[80], path[256], to[256];
  for (int kind = 0; kind < 3; kind++) {
    new_folder(dir, "torn");
    struct cuzk_journal j = must_open(dir);
    struct cuzk_detail d;
    uint8_t p[PROOF];
    make_proof(p, 1, 0);
    DO(admit_job(&j, "a", 1, 500, &d));
    DO(j.ops->update(j.self, "a", 0, 2, &d));
    DO(j.ops->partition_done(j.self, "a", 1, p, PROOF, &d));
    (void)snprintf(path, sizeof path, "%s/journal.db-wal", dir);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    const size_t before = (size_t)s.st_size;
    if (kind == 0) DO(admit_job(&j, "b", 2, 500, &d));
    if (kind == 1) DO(j.ops->partition_done(j.self, "a", 0, p, PROOF, &d));
    /* payloads are written below as they are before the end removes one */
    if (kind == 2) DO(j.ops->end(j.self, "a", CUZK_END_COMPLETED, p, PROOF, NULL, &d));
    size_t n_wal = 0, n_db = 0, n_blob[2] = {0};
    uint8_t *wal = slurp(path, &n_wal);
    (void)snprintf(path, sizeof path, "%s/journal.db", dir);
    uint8_t *db = slurp(path, &n_db), *blob[2] = {NULL};
    assert_true(wal && db && n_wal > before);
    char name[2][65];
    for (unsigned i = 0; i < 2; i++) {
      struct cuzk_request *r = make_request(i + 1, 500);
      cuzk_hex_encode(name[i], r->digest, 32);
      blob[i] = malloc(r->n_bytes);
      memcpy(blob[i], r->bytes, r->n_bytes);
      n_blob[i] = r->n_bytes;
      cuzk_request_unref(&r);
    }
    cuzk_store_close(&j);
    remove_tree(dir);

    unsigned n_before = 0, n_after = 0;
    /* every byte of each frame's header and of the last frame's beginning and end, every 149th of the rest: cut, or changed */
    for (size_t at = before; at <= n_wal; at++) {
      const size_t in_frame = (at - 32) % (4096 + 24);
      if (in_frame > 40 && in_frame < 4096 && at + 40 < n_wal && in_frame % 149 && !getenv("CUZK_TEST_EVERY_BYTE")) continue;
      for (int change = 0; change < 2; change++) {
        if (change && at == n_wal) continue;
        /* in memory where that can be had: thousands of folders come and go */
        (void)snprintf(copy, sizeof copy, "%s%s-copy", access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "", dir);
        remove_tree(copy);
        assert_int_equal(mkdir(copy, 0700), 0);
        (void)snprintf(to, sizeof to, "%s/payloads", copy);
        assert_int_equal(mkdir(to, 0700), 0);
        for (int i = 0; i < 2; i++) {
          (void)snprintf(to, sizeof to, "%s/payloads/%s", copy, name[i]);
          spill(to, blob[i], n_blob[i]);
        }
        (void)snprintf(to, sizeof to, "%s/journal.db", copy);
        spill(to, db, n_db);
        (void)snprintf(to, sizeof to, "%s/journal.db-wal", copy);
        if (change) wal[at] ^= 0x40;
        spill(to, wal, change ? n_wal : at);
        if (change) wal[at] ^= 0x40;
        reports[0] = 0;
        j = must_open(copy);
        struct takings t = must_claim(&j);
        const struct taken *a = find_job(&t, "a"), *b = find_job(&t, "b");
        if (!a || strstr(reports, "damaged")) fail_msg("%s, byte %zu: %s", names[kind], at, reports);
        const bool after = kind == 0 ? b != NULL : kind == 1 ? a->has[0] : a->end == CUZK_END_COMPLETED;
        assert_int_equal(t.n, kind == 0 && after ? 2 : 1);
        if (kind < 2 || !after) {
          assert_true(a->has_request && a->has[1] && a->n_partitions == 2);
          assert_memory_equal(a->part[1], p, PROOF);
        }
        if (b) assert_true(b->has_request);
        if (kind == 2 && after) assert_memory_equal(a->proof, p, PROOF);
        assert_int_equal(count_files(copy, "payloads"), (kind == 2 ? !after : 1) + (kind == 0 && after));
        if (!change && at == n_wal) assert_true(after);
        n_before += !after;
        n_after += after;
        drop_takings(&t);
        DO(admit_job(&j, "more", 5, 20, &d));
        cuzk_store_close(&j);
      }
    }
    assert_true(n_before > 0 && n_after > 0);
    print_message("# %s: %zu bytes of the log, %u states before, %u after\n", names[kind], n_wal - before, n_before, n_after);
    remove_tree(copy);
    free(wal);
    free(db);
    free(blob[0]);
    free(blob[1]);
  }
}

/* The database reaches its limit of pages. */
static void a_full_database_is_survived(void **state) {
  (void)state;
  char dir[64], id[32];
  new_folder(dir, "full");
  struct cuzk_journal j;
  struct cuzk_detail d = {{0}};
  uint8_t big[60 * PROOF] = {1};
  DO(open_with(&j, dir, (struct cuzk_store_options){.max_database_bytes = 160 * 1024}, &d));
  enum cuzk_status st = CUZK_OK;
  unsigned n = 0;
  DO(admit_job(&j, "first", 1000, 100, &d));
  DO(j.ops->update(j.self, "first", 0, 4, &d));
  while (st == CUZK_OK) {
    assert_true(n < 1000);
    (void)snprintf(id, sizeof id, "job %u", n);
    st = admit_job(&j, id, n, 100, &d);
    if (st == CUZK_OK) st = j.ops->end(j.self, id, CUZK_END_COMPLETED, big, sizeof big, NULL, &d);
    if (st == CUZK_OK) n++;
  }
  assert_int_equal(st, CUZK_E_NOSPC);
  uint64_t bytes, jobs;
  bool healthy;
  j.ops->stats(j.self, &bytes, &jobs, &healthy);
  assert_false(healthy);
  /* fill the last page, too */
  for (unsigned i = 0; i < 1000 && st != CUZK_OK + 1; i++) {
    (void)snprintf(id, sizeof id, "small %u", i);
    st = admit_job(&j, id, 5000 + i, 100, &d);
    if (st == CUZK_E_NOSPC) break;
    assert_int_equal(st, CUZK_OK);
  }
  assert_int_equal(st, CUZK_E_NOSPC);
  const unsigned files = count_files(dir, "payloads");
  assert_int_equal(admit_job(&j, "refused", 9999, 100, &d), CUZK_E_NOSPC);
  assert_int_equal(count_files(dir, "payloads"), files);
  assert_int_equal(j.ops->partition_done(j.self, "first", 0, big, sizeof big, &d), CUZK_E_NOSPC);
  assert_int_equal(j.ops->end(j.self, "first", CUZK_END_COMPLETED, big, sizeof big, NULL, &d), CUZK_E_NOSPC);
  assert_int_equal(count_files(dir, "payloads"), files);
  /* space comes back */
  for (unsigned i = 0; i < n; i++) {
    (void)snprintf(id, sizeof id, "job %u", i);
    DO(j.ops->forget(j.self, id, &d));
  }
  DO(j.ops->partition_done(j.self, "first", 0, big, sizeof big, &d));
  DO(j.ops->end(j.self, "first", CUZK_END_COMPLETED, big, sizeof big, NULL, &d));
  j.ops->stats(j.self, &bytes, &jobs, &healthy);
  assert_true(healthy);
  DO(admit_job(&j, "refused", 9999, 100, &d));
  cuzk_store_close(&j);
  remove_tree(dir);
}

/* A limit on the size of files, in a process of its own: the payload does not fit, then the log does not. Returns the line that failed. */
static int under_a_size_limit(const char *dir) {
#define NEED(x) do { if (!(x)) return __LINE__; } while (0)
  struct cuzk_journal j;
  struct cuzk_detail d = {{0}};
  uint8_t p[PROOF] = {1};
  char id[32];
  NEED(open_with(&j, dir, (struct cuzk_store_options){0}, &d) == CUZK_OK);
  NEED(admit_job(&j, "first", 1, 100, &d) == CUZK_OK);
  NEED(j.ops->update(j.self, "first", 0, 30, &d) == CUZK_OK);
  (void)signal(SIGXFSZ, SIG_IGN);
  struct rlimit was, limit;
  NEED(getrlimit(RLIMIT_FSIZE, &was) == 0);
  limit = was;
  limit.rlim_cur = 600000;
  NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  NEED(admit_job(&j, "large", 2, 700000, &d) == CUZK_E_NOSPC);
  NEED(strstr(d.text, "payloads/"));
  NEED(count_files(dir, "payloads") == 1);
  unsigned n = 0;
  enum cuzk_status st = CUZK_OK;
  for (; st == CUZK_OK && n < 500; n++) {
    (void)snprintf(id, sizeof id, "job %u", n);
    st = admit_job(&j, id, 100 + n, 100, &d);
  }
  NEED(st == CUZK_E_NOSPC);
  NEED(count_files(dir, "payloads") == n);
  unsigned parts = 0; /* the pages that a job did not fit into take a few of these */
  while (parts < 29 && (st = j.ops->partition_done(j.self, "first", parts, p, PROOF, &d)) == CUZK_OK) parts++;
  NEED(st == CUZK_E_NOSPC && parts < 29);
  NEED(j.ops->end(j.self, "first", CUZK_END_COMPLETED, p, PROOF, NULL, &d) == CUZK_E_NOSPC);
  NEED(setrlimit(RLIMIT_FSIZE, &was) == 0);
  NEED(j.ops->partition_done(j.self, "first", 29, p, PROOF, &d) == CUZK_OK);
  NEED(admit_job(&j, id, 100 + n, 100, &d) == CUZK_OK);
  NEED(admit_job(&j, "large", 2, 700000, &d) == CUZK_OK);
  cuzk_store_close(&j);
  NEED(open_with(&j, dir, (struct cuzk_store_options){0}, &d) == CUZK_OK);
  struct takings t = {0};
  NEED(j.ops->claim(j.self, take_one, &t, &d) == CUZK_OK);
  NEED(t.n == n + 2);
  for (size_t i = 0; i < t.n; i++) NEED(t.job[i].has_request);
  for (unsigned i = 0; i < 30; i++) NEED(find_job(&t, "first")->has[i] == (i < parts || i == 29));
  drop_takings(&t);
  cuzk_store_close(&j);
  return 0;
#undef NEED
}

static void a_full_disk_is_survived(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "disk");
  const pid_t pid = fork();
  if (pid == 0) {
    const int line = under_a_size_limit(dir);
    if (line) print_error("line %d\n", line);
    _exit(line != 0);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  remove_tree(dir);
}

static void payloads_have_a_limit(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "limit");
  struct cuzk_journal j;
  struct cuzk_detail d = {{0}};
  DO(open_with(&j, dir, (struct cuzk_store_options){.max_payload_bytes = 10000}, &d));
  DO(admit_job(&j, "a", 1, 6000, &d));
  assert_int_equal(admit_job(&j, "b", 2, 6000, &d), CUZK_E_NOSPC);
  DO(admit_job(&j, "c", 3, 2000, &d));
  DO(j.ops->end(j.self, "a", CUZK_END_CANCELLED, NULL, 0, NULL, &d));
  DO(admit_job(&j, "b", 2, 6000, &d));
  cuzk_store_close(&j);
  DO(open_with(&j, dir, (struct cuzk_store_options){.max_payload_bytes = 10000}, &d));
  struct takings t = must_claim(&j);
  drop_takings(&t);
  assert_int_equal(admit_job(&j, "d", 4, 6000, &d), CUZK_E_NOSPC); /* what was claimed counts */
  cuzk_store_close(&j);
  remove_tree(dir);
}

/* Every allocation of an opening and a claim fails once; nothing is lost by it. */
static void memory_runs_out(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "oom");
  fill(dir);
  const int64_t live = cuzk_alloc_live();
  unsigned failures = 0;
  for (uint64_t n = 1;; n++) {
    struct cuzk_journal j;
    struct cuzk_detail d = {{0}};
    struct takings t = {0};
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = open_with(&j, dir, (struct cuzk_store_options){0}, &d);
    if (st == CUZK_OK) st = j.ops->claim(j.self, take_one, &t, &d);
    cuzk_alloc_fail_at(0);
    const size_t got = t.n;
    drop_takings(&t);
    if (st == CUZK_OK) {
      assert_int_equal(got, 4);
      cuzk_store_close(&j);
      break;
    }
    failures++;
    assert_int_equal(st, CUZK_E_NOMEM);
    if (j.self) { /* those not handed out can be claimed */
      t = must_claim(&j);
      assert_int_equal(got + t.n, 4);
      drop_takings(&t);
    }
    cuzk_store_close(&j);
    assert_int_equal(cuzk_alloc_live(), live);
  }
  assert_true(failures >= 5);
  assert_int_equal(cuzk_alloc_live(), live);
  remove_tree(dir);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_comes_back),
      cmocka_unit_test(durable_calls_synchronise),
      cmocka_unit_test(misuse_is_refused),
      cmocka_unit_test(a_shared_payload_goes_with_its_last_job),
      cmocka_unit_test(two_owners_keep_their_jobs),
      cmocka_unit_test(a_dead_process_is_succeeded_at_once),
      cmocka_unit_test(orphans_are_swept),
      cmocka_unit_test(damaged_contents_are_found),
      cmocka_unit_test(a_damaged_database_is_moved_aside),
      cmocka_unit_test(a_database_in_use_is_not_moved),
      cmocka_unit_test(a_torn_log_gives_before_or_after),
      cmocka_unit_test(a_full_database_is_survived),
      cmocka_unit_test(a_full_disk_is_survived),
      cmocka_unit_test(payloads_have_a_limit),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
