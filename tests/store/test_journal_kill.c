/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A child works on a journal and tells through a pipe what it is about to do and what it has been told is done. It is killed at a
 * random instant. Then everything acknowledged must be there, what was under way done or not done, and nothing half.
 * CUZK_TEST_KILLS sets how many times (200 for the long run). */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "store/helper.h"

enum { N_THREADS = 2, JOBS_PER_THREAD = 6, N_JOBS = N_THREADS * JOBS_PER_THREAD, PARTS = 4 };
enum act { ADMIT, PART, UNDO, END, DELIVER, FORGET };

/* What a job should be. generation tells apart the jobs that bear one name after the other. */
struct want {
  uint32_t generation;
  uint8_t there, n_known, ended, delivered, part[PARTS];
};
struct note {
  uint8_t done; /* 0: about to; 1: acknowledged */
  uint8_t act, job, partition, end;
};

static void job_name(char out[32], unsigned job) { (void)snprintf(out, 32, "job-%u", job); }
static uint64_t seed_of(unsigned job, uint32_t generation) { return (uint64_t)generation * N_JOBS + job + 1; }
/* Some share a payload: every third generation of a job takes that of its neighbour's name. */
static uint64_t payload_seed(unsigned job, uint32_t generation) { return generation % 3 ? seed_of(job, generation) : seed_of(job / 2 * 2, 3); }
static size_t payload_size(uint64_t seed) { return 100 + seed * 7919 % 60000; }

static void apply(struct want *w, const struct note *n) {
  switch ((enum act)n->act) {
    case ADMIT:
      *w = (struct want){.generation = w->generation + 1, .there = 1};
      break;
    case PART:
      w->n_known = 1;
      w->part[n->partition] = 1;
      break;
    case UNDO: w->part[n->partition] = 0; break;
    case END:
      w->ended = n->end;
      memset(w->part, 0, sizeof w->part);
      break;
    case DELIVER: w->delivered = 1; break;
    case FORGET: w->there = 0; break;
  }
}

/* A step that fits the job's state. */
static struct note choose(const struct want *w, unsigned job, uint64_t r) {
  struct note n = {.job = (uint8_t)job, .partition = (uint8_t)(r >> 8 & 3)};
  if (!w->there) {
    n.act = ADMIT;
  } else if (!w->ended) {
    n.act = r % 8 == 0 ? END : r % 8 == 1 && w->part[n.partition] ? UNDO : PART;
    n.end = (uint8_t)(1 + (r >> 16) % 3);
  } else {
    n.act = w->delivered || r % 3 == 0 ? FORGET : DELIVER;
  }
  return n;
}

static enum cuzk_status do_it(struct cuzk_journal *j, const struct want *w, const struct note *n, struct cuzk_detail *d) {
  char id[32];
  uint8_t p[PARTS * PROOF];
  enum cuzk_status st = CUZK_OK;
  job_name(id, n->job);
  const uint64_t seed = seed_of(n->job, w->generation);
  switch ((enum act)n->act) {
    case ADMIT: {
      const uint64_t s = payload_seed(n->job, w->generation + 1);
      return admit_job(j, id, s, payload_size(s), d);
    }
    case PART:
      if (!w->n_known) st = j->ops->update(j->self, id, 0, PARTS, d);
      make_proof(p, seed, n->partition);
      return st != CUZK_OK ? st : j->ops->partition_done(j->self, id, n->partition, p, PROOF, d);
    case UNDO: return j->ops->partition_undo(j->self, id, n->partition, d);
    case END:
      for (unsigned i = 0; i < PARTS; i++) make_proof(p + i * PROOF, seed, i);
      return n->end == CUZK_END_COMPLETED ? j->ops->end(j->self, id, CUZK_END_COMPLETED, p, sizeof p, NULL, d)
                                          : j->ops->end(j->self, id, (enum cuzk_job_end)n->end, NULL, 0, "because", d);
    case DELIVER: return j->ops->delivered(j->self, id, d);
    case FORGET: return j->ops->forget(j->self, id, d);
  }
  return CUZK_E_INTERNAL;
}

struct worker {
  struct cuzk_journal *j;
  const struct want *from;
  unsigned first;
  int fd;
  uint64_t rng;
};

static void *work(void *arg) {
  struct worker *k = arg;
  struct want w[JOBS_PER_THREAD];
  memcpy(w, k->from + k->first, sizeof w);
  for (;;) {
    k->rng = k->rng * 6364136223846793005u + 1442695040888963407u;
    const uint64_t r = k->rng >> 24;
    const unsigned i = (unsigned)(r >> 20) % JOBS_PER_THREAD;
    struct note n = choose(&w[i], k->first + i, r);
    struct cuzk_detail d = {{0}};
    if (write(k->fd, &n, sizeof n) != sizeof n) _exit(2);
    if (do_it(k->j, &w[i], &n, &d) != CUZK_OK) {
      print_error("child: %s\n", d.text);
      _exit(3);
    }
    n.done = 1;
    apply(&w[i], &n);
    if (write(k->fd, &n, sizeof n) != sizeof n) _exit(2);
  }
  return NULL;
}

static void ignore_job(void *user, const struct cuzk_journal_job *job, const uint8_t *const *proof) {
  (void)user;
  (void)job;
  (void)proof;
}

static void child(const char *dir, const struct want *from, int fd, uint64_t rng) {
  struct cuzk_journal j;
  struct cuzk_detail d = {{0}};
  if (open_with(&j, dir, (struct cuzk_store_options){0}, &d) != CUZK_OK || j.ops->claim(j.self, ignore_job, NULL, &d) != CUZK_OK) {
    print_error("child: %s\n", d.text);
    _exit(4);
  }
  struct worker k[N_THREADS];
  pthread_t t[N_THREADS];
  for (unsigned i = 0; i < N_THREADS; i++) {
    k[i] = (struct worker){&j, from, i * JOBS_PER_THREAD, fd, rng + i};
    if (pthread_create(&t[i], NULL, work, &k[i]) != 0) _exit(5);
  }
  for (unsigned i = 0; i < N_THREADS; i++) (void)pthread_join(t[i], NULL);
  _exit(6);
}

static bool same(const struct taken *k, const struct want *w, unsigned job) {
  if (!k || !w->there) return !k && !w->there;
  const uint64_t seed = seed_of(job, w->generation);
  uint8_t p[PROOF];
  if ((unsigned)k->end != w->ended || k->delivered != w->delivered) return false;
  if (w->ended) {
    if ((w->ended == CUZK_END_COMPLETED) != (k->proof_bytes == PARTS * PROOF)) return false;
    for (unsigned i = 0; i < PARTS && k->proof; i++) {
      make_proof(p, seed, i);
      if (memcmp(k->proof + i * PROOF, p, PROOF) != 0) return false;
    }
    return true;
  }
  const uint64_t s = payload_seed(job, w->generation);
  struct cuzk_request *r = make_request(s, payload_size(s));
  const bool payload = r && k->has_request && memcmp(k->digest, r->digest, 32) == 0;
  cuzk_request_unref(&r);
  if (!payload) return false;
  for (unsigned i = 0; i < PARTS; i++) {
    if (k->has[i] != w->part[i]) return false;
    make_proof(p, seed, i);
    if (k->has[i] && memcmp(k->part[i], p, PROOF) != 0) return false;
  }
  return true;
}

static void killed_at_any_instant(void **state) {
  (void)state;
  char dir[64];
  new_folder(dir, "kill");
  const char *env = getenv("CUZK_TEST_KILLS");
  const unsigned kills = env ? (unsigned)strtoul(env, NULL, 10) : 25;
  struct want want[N_JOBS] = {{0}};
  uint64_t acknowledged = 0, halfway = 0;
  for (unsigned round = 0; round < kills; round++) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const uint64_t rng = test_rand();
    const pid_t pid = fork();
    if (pid == 0) {
      (void)close(ends[0]);
      child(dir, want, ends[1], rng);
    }
    (void)close(ends[1]);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    /* the instants lie between the first microseconds of opening and many steps later */
    const uint64_t wait_us = test_rand() % (round % 4 ? 80000 : 8000);
    struct timespec now, until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)wait_us * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    struct note n, open_note[N_JOBS];
    bool is_open[N_JOBS] = {false};
    bool killed = false, eof = false;
    while (!eof) {
      const ssize_t got = read(ends[0], &n, sizeof n);
      if (got == (ssize_t)sizeof n) {
        assert_true(n.job < N_JOBS);
        if (n.done) {
          apply(&want[n.job], &n);
          is_open[n.job] = false;
          acknowledged++;
        } else {
          open_note[n.job] = n;
          is_open[n.job] = true;
        }
        continue;
      }
      if (got == 0) {
        eof = true;
        continue;
      }
      (void)clock_gettime(CLOCK_MONOTONIC, &now);
      const int64_t left_us = (until.tv_sec - now.tv_sec) * 1000000 + (until.tv_nsec - now.tv_nsec) / 1000;
      if (!killed && left_us <= 0) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        killed = true;
      }
      struct pollfd f = {.fd = ends[0], .events = POLLIN};
      const struct timespec timeout = {.tv_nsec = killed ? 999999999 : left_us > 0 ? left_us % 1000000 * 1000 : 0};
      (void)ppoll(&f, 1, &timeout, NULL);
    }
    (void)close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status)) fail_msg("the child ended by itself, status %d", WEXITSTATUS(status));

    reports[0] = 0;
    struct cuzk_journal j = must_open(dir);
    struct takings t = must_claim(&j);
    if (strstr(reports, "damaged")) fail_msg("round %u: %s", round, reports);
    size_t expected = 0;
    for (unsigned i = 0; i < N_JOBS; i++) {
      char id[32];
      job_name(id, i);
      const struct taken *k = find_job(&t, id);
      if (!same(k, &want[i], i)) {
        struct want after = want[i];
        if (is_open[i]) apply(&after, &open_note[i]);
        if (!is_open[i] || !same(k, &after, i)) {
          fail_msg("round %u, %s: neither as acknowledged nor as begun (act %d): found %d, end %d, parts %d%d%d%d, error '%s'", round, id,
                   is_open[i] ? open_note[i].act : -1, k != NULL, k ? (int)k->end : 0, k ? k->has[0] : 0, k ? k->has[1] : 0,
                   k ? k->has[2] : 0, k ? k->has[3] : 0, k ? k->error : "");
        }
        want[i] = after;
        halfway++;
      } else if (is_open[i] && k && k->n_partitions) {
        want[i].n_known = 1;
      }
      expected += k != NULL;
    }
    assert_int_equal(t.n, expected);
    /* exactly the payloads that unfinished jobs need */
    unsigned files = 0;
    for (unsigned i = 0; i < N_JOBS; i++) {
      if (!want[i].there || want[i].ended) continue;
      bool first = true;
      for (unsigned k = 0; k < i; k++) {
        first = first && !(want[k].there && !want[k].ended &&
                           payload_seed(k, want[k].generation) == payload_seed(i, want[i].generation));
      }
      files += first;
    }
    assert_int_equal(count_files(dir, "payloads"), files);
    drop_takings(&t);
    cuzk_store_close(&j);
  }
  print_message("# %u kills: %llu steps acknowledged, %llu done though not acknowledged\n", kills, (unsigned long long)acknowledged,
                (unsigned long long)halfway);
  assert_true(acknowledged > 10 * kills);
  remove_tree(dir);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {cmocka_unit_test(killed_at_any_instant)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
