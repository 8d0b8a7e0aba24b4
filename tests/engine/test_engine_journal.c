/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The engine over a journal that is memory with switches: what is stored when, what a new engine takes over, what happens when writes fail. */
#include "engine_testing.h"

#define ROWS 64

struct row {
  char *job_id, *request_id, *error;
  struct cuzk_request *rq;
  unsigned priority, n_parts;
  bool from_prove, delivered, missing;
  uint64_t seq;
  enum cuzk_job_end end;
  uint8_t digest[32];
  uint8_t *proof[16]; /* of partitions */
  uint8_t *result;
  size_t result_bytes;
};

struct memory_journal {
  pthread_mutex_t lock;
  struct row row[ROWS];
  unsigned n;
  uint64_t seq;
  atomic_bool failing; /* every write */
  atomic_bool taken;   /* by another owner: writes do not find their job */
  atomic_uint renewals, ends;
};

static void lock(struct memory_journal *j) { (void)pthread_mutex_lock(&j->lock); }
static void unlock(struct memory_journal *j) { (void)pthread_mutex_unlock(&j->lock); }

static struct row *find(struct memory_journal *j, const char *job_id) {
  for (unsigned i = 0; i < j->n; i++)
    if (j->row[i].job_id && strcmp(j->row[i].job_id, job_id) == 0) return &j->row[i];
  return NULL;
}

static void clear(struct row *r) {
  free(r->job_id);
  free(r->request_id);
  free(r->error);
  cuzk_request_unref(&r->rq);
  for (unsigned i = 0; i < 16; i++) free(r->proof[i]);
  free(r->result);
  *r = (struct row){.job_id = NULL};
}

static enum cuzk_status m_admit(void *self, struct cuzk_journal_job *job, struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  if (atomic_load(&j->failing)) return CUZK_E_NOSPC;
  lock(j);
  job->seq = ++j->seq;
  for (unsigned i = 0; i < j->n; i++) /* as the primary key of a table would say */
    if (j->row[i].job_id && strcmp(j->row[i].job_id, job->job_id) == 0) {
      unlock(j);
      return CUZK_E_INTERNAL;
    }
  struct row *r = &j->row[j->n++];
  *r = (struct row){.job_id = strdup(job->job_id),
                    .request_id = strdup(job->request_id),
                    .rq = cuzk_request_ref(job->request),
                    .priority = job->priority,
                    .n_parts = job->n_partitions,
                    .from_prove = job->from_prove,
                    .seq = job->seq};
  memcpy(r->digest, job->request->digest, sizeof r->digest);
  unlock(j);
  return CUZK_OK;
}

static enum cuzk_status m_update(void *self, const char *job_id, unsigned priority, unsigned n, struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  if (atomic_load(&j->failing)) return CUZK_E_IO;
  lock(j);
  struct row *r = find(j, job_id);
  if (r) {
    r->priority = priority;
    r->n_parts = n;
  }
  unlock(j);
  return r ? CUZK_OK : CUZK_E_NOENT;
}

static enum cuzk_status m_part(void *self, const char *job_id, unsigned p, const uint8_t *proof, size_t n, struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  if (atomic_load(&j->failing)) return CUZK_E_IO;
  lock(j);
  struct row *r = find(j, job_id);
  if (r && !r->proof[p]) {
    r->proof[p] = malloc(n);
    memcpy(r->proof[p], proof, n);
  }
  unlock(j);
  return r ? CUZK_OK : CUZK_E_NOENT;
}

static enum cuzk_status m_undo(void *self, const char *job_id, unsigned p, struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  lock(j);
  struct row *r = find(j, job_id);
  if (r) {
    free(r->proof[p]);
    r->proof[p] = NULL;
  }
  unlock(j);
  return CUZK_OK;
}

static enum cuzk_status m_end(void *self, const char *job_id, enum cuzk_job_end end, const uint8_t *proof, size_t n, const char *error,
                              struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  if (atomic_load(&j->failing)) return CUZK_E_NOSPC;
  if (atomic_load(&j->taken)) return CUZK_E_NOENT;
  lock(j);
  struct row *r = find(j, job_id);
  if (r) {
    r->end = end;
    r->error = error ? strdup(error) : NULL;
    if (proof) {
      r->result = malloc(n);
      memcpy(r->result, proof, n);
      r->result_bytes = n;
    }
    cuzk_request_unref(&r->rq);
  }
  unlock(j);
  atomic_fetch_add(&j->ends, 1);
  return CUZK_OK;
}

static enum cuzk_status m_delivered(void *self, const char *job_id, struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  lock(j);
  struct row *r = find(j, job_id);
  if (r) r->delivered = true;
  unlock(j);
  return CUZK_OK;
}

static enum cuzk_status m_forget(void *self, const char *job_id, struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  lock(j);
  struct row *r = find(j, job_id);
  if (r) clear(r);
  unlock(j);
  return CUZK_OK;
}

static enum cuzk_status m_claim(void *self, void (*fn)(void *user, const struct cuzk_journal_job *job, const uint8_t *const *proof), void *user,
                                struct cuzk_detail *d) {
  struct memory_journal *j = self;
  d->text[0] = 0;
  for (unsigned i = 0; i < j->n; i++) {
    struct row *r = &j->row[i];
    if (!r->job_id) continue;
    const uint8_t *proof[16];
    for (unsigned k = 0; k < 16; k++) proof[k] = r->proof[k];
    struct cuzk_journal_job job = {.job_id = r->job_id,
                                   .request_id = r->request_id,
                                   .request = r->missing ? NULL : r->rq,
                                   .digest = r->digest,
                                   .priority = r->priority,
                                   .from_prove = r->from_prove,
                                   .seq = r->seq,
                                   .n_partitions = r->n_parts,
                                   .end = r->end,
                                   .error = r->missing ? "blob 00ff: its digest is another one" : r->error,
                                   .proof = r->result,
                                   .proof_bytes = r->result_bytes,
                                   .delivered = r->delivered};
    fn(user, &job, proof);
  }
  return CUZK_OK;
}

static enum cuzk_status m_renew(void *self, struct cuzk_detail *d) {
  d->text[0] = 0;
  atomic_fetch_add(&((struct memory_journal *)self)->renewals, 1);
  return CUZK_OK;
}

static void m_stats(void *self, uint64_t *bytes, uint64_t *jobs, bool *healthy) {
  struct memory_journal *j = self;
  lock(j);
  *bytes = 0;
  *jobs = 0;
  for (unsigned i = 0; i < j->n; i++) *jobs += j->row[i].job_id != NULL;
  unlock(j);
  *healthy = !atomic_load(&j->failing);
}

static const struct cuzk_journal_ops ops = {.admit = m_admit,
                                            .update = m_update,
                                            .partition_done = m_part,
                                            .partition_undo = m_undo,
                                            .end = m_end,
                                            .delivered = m_delivered,
                                            .forget = m_forget,
                                            .claim = m_claim,
                                            .renew = m_renew,
                                            .lease_ms = 30000,
                                            .stats = m_stats};

static void start(struct bench *b, struct memory_journal *j) {
  *j = (struct memory_journal){.n = 0};
  assert_int_equal(pthread_mutex_init(&j->lock, NULL), 0);
  bench_init(b, false);
  b->o.journal = (struct cuzk_journal){&ops, j};
  bench_start(b);
}

static void end(struct bench *b, struct memory_journal *j) {
  for (unsigned i = 0; i < j->n; i++) clear(&j->row[i]);
  bench_end(b);
  (void)pthread_mutex_destroy(&j->lock);
}

/** The process is gone, another one comes: the journal is all that is left. */
static void restart(struct bench *b) {
  struct cuzk_detail d;
  cuzk_engine_destroy(&b->e);
  assert_int_equal(cuzk_engine_create(&b->e, &b->o, &d), CUZK_OK);
}

static void test_a_job_goes_on_after_a_restart(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  struct ticket wait = bench_submit(&b, POREP, 2, "wait");
  bench_sleep(&b, 24 * CUZK_SECOND); /* some partitions are done */
  unsigned done = 0;
  for (unsigned i = 0; i < 10; i++) done += j.row[0].proof[i] != NULL;
  assert_in_range(done, 1, 9);
  restart(&b);
  done = 0;
  for (unsigned i = 0; i < 10; i++) done += j.row[0].proof[i] != NULL;
  bool had[10];
  for (unsigned i = 0; i < 10; i++) had[i] = j.row[0].proof[i] != NULL;
  unsigned before[10];
  for (unsigned i = 0; i < 10; i++) before[i] = cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, t.rq, i);
  struct ticket again = bench_submit(&b, POREP, 1, "p");
  assert_true(again.attached);
  ticket_clear(&again);
  struct cuzk_job_result r = bench_await(&b, "p");
  assert_proof(&b, &r, t.rq);
  cuzk_job_result_clear(&r);
  for (unsigned i = 0; i < 10; i++)
    if (had[i]) assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, t.rq, i), before[i]);
  assert_int_equal(j.row[0].end, CUZK_END_COMPLETED);
  bench_complete(&b, &wait);
  /* Not delivered: still there after another restart, for who asks. */
  restart(&b);
  again = bench_submit(&b, POREP, 1, "p");
  assert_true(again.attached);
  bench_complete(&b, &again);
  cuzk_engine_delivered(b.e, "p");
  bench_sleep(&b, CUZK_SECOND);
  restart(&b);
  again = bench_submit(&b, POREP, 1, "p");
  assert_false(again.attached);
  bench_complete(&b, &again);
  ticket_clear(&t);
  assert_true(atomic_load(&j.renewals) >= 2);
  end(&b, &j);
}

static void test_all_partitions_done_before_the_restart(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, WINDOW, 1, "w");
  struct cuzk_job_result r = bench_await(&b, "w");
  cuzk_job_result_clear(&r);
  /* As if the process had gone between the partition and the end. */
  j.row[0].end = CUZK_END_NONE;
  free(j.row[0].result);
  j.row[0].result = NULL;
  j.row[0].rq = cuzk_request_ref(t.rq);
  restart(&b);
  r = bench_await(&b, "w");
  assert_proof(&b, &r, t.rq);
  cuzk_job_result_clear(&r);
  assert_int_equal(cuzk_fake_calls(b.fake, CUZK_FAKE_SYNTH, t.rq, 0), 1);
  ticket_clear(&t);
  end(&b, &j);
}

static void test_a_missing_payload_fails_its_job(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, POREP, 1, "p");
  bench_sleep(&b, CUZK_SECOND);
  j.row[0].missing = true;
  restart(&b);
  bench_fails(&b, &t, "internal: blob 00ff");
  assert_int_equal(j.row[0].end, CUZK_END_FAILED);
  end(&b, &j);
}

static void test_a_full_disk_refuses_and_leaves_nothing(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  atomic_store(&j.failing, true);
  struct ticket t;
  enum cuzk_refusal why;
  assert_int_equal(bench_try(&b, &t, POREP, 1, "p", 0, false, &why), CUZK_E_NOSPC);
  assert_int_equal(why, CUZK_REFUSED_FULL);
  struct cuzk_job_result r;
  assert_int_equal(cuzk_engine_await(b.e, &r, "p", 0), CUZK_E_NOENT);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_true(v.has_journal);
  assert_false(v.journal_healthy);
  assert_int_equal(v.n_jobs, 0);
  cuzk_engine_view_clear(&v);
  atomic_store(&j.failing, false);
  t = bench_submit(&b, POREP, 1, "p");
  bench_complete(&b, &t);
  end(&b, &j);
}

static void test_a_result_waits_for_the_journal(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, WINDOW, 1, "w");
  bench_sleep(&b, 12 * CUZK_SECOND);
  atomic_store(&j.failing, true);
  struct cuzk_job_result r;
  assert_int_equal(cuzk_engine_await(b.e, &r, "w", cuzk_clock_now(b.clock) + 20 * CUZK_SECOND), CUZK_OK);
  assert_int_equal(r.state, CUZK_JOB_CHECKING); /* proved long ago, not stored, not given out */
  cuzk_job_result_clear(&r);
  atomic_store(&j.failing, false);
  bench_complete(&b, &t);
  assert_int_equal(j.row[0].end, CUZK_END_COMPLETED);
  bench_sleep(&b, 15 * CUZK_SECOND);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_true(v.journal_healthy);
  cuzk_engine_view_clear(&v);
  end(&b, &j);
}

static void test_patience_ends(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, WINDOW, 1, "w");
  bench_sleep(&b, 12 * CUZK_SECOND);
  atomic_store(&j.failing, true);
  bench_complete(&b, &t);
  assert_in_range(cuzk_clock_now(b.clock), 45 * CUZK_SECOND, 55 * CUZK_SECOND);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_false(v.journal_healthy);
  cuzk_engine_view_clear(&v);
  end(&b, &j);
}

static void test_a_job_taken_over_by_another_owner(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, WINDOW, 1, "w");
  bench_sleep(&b, 12 * CUZK_SECOND);
  j.taken = true;
  struct cuzk_job_result r = bench_await(&b, "w");
  assert_int_equal(r.state, CUZK_JOB_CANCELLED);
  assert_true(r.draining);
  assert_true(cuzk_clock_now(b.clock) < 30 * CUZK_SECOND);
  cuzk_job_result_clear(&r);
  struct cuzk_engine_view v;
  assert_int_equal(cuzk_engine_view(b.e, &v), CUZK_OK);
  assert_true(v.journal_healthy);
  cuzk_engine_view_clear(&v);
  ticket_clear(&t);
  end(&b, &j);
}

static void test_ended_jobs_are_forgotten(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t = bench_submit(&b, WINNING, 1, "w");
  bench_complete(&b, &t);
  t = bench_submit(&b, WINNING, 2, "x");
  bool was;
  assert_int_equal(cuzk_engine_cancel(b.e, "x", &was), CUZK_OK);
  ticket_clear(&t);
  bench_sleep(&b, CUZK_SECOND);
  assert_int_equal(j.row[1].end, CUZK_END_CANCELLED);
  bench_sleep(&b, 601 * CUZK_SECOND);
  assert_null(j.row[0].job_id);
  assert_null(j.row[1].job_id);
  end(&b, &j);
}

static void test_drain_keeps_queued_jobs(void **state) {
  (void)state;
  struct bench b;
  struct memory_journal j;
  start(&b, &j);
  struct ticket t[3];
  for (unsigned i = 0; i < 3; i++) t[i] = bench_submit(&b, POREP, i, "");
  bench_sleep(&b, 10 * CUZK_SECOND);
  cuzk_engine_drain(b.e);
  struct cuzk_job_result r = bench_await(&b, t[2].job_id);
  assert_true(r.draining);
  cuzk_job_result_clear(&r);
  cuzk_engine_stop_running(b.e);
  for (unsigned i = 0; i < 3; i++) assert_int_equal(j.row[i].end, CUZK_END_NONE);
  restart(&b);
  for (unsigned i = 0; i < 3; i++) bench_complete(&b, &t[i]);
  end(&b, &j);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_job_goes_on_after_a_restart),       cmocka_unit_test(test_all_partitions_done_before_the_restart),
      cmocka_unit_test(test_a_missing_payload_fails_its_job),     cmocka_unit_test(test_a_full_disk_refuses_and_leaves_nothing),
      cmocka_unit_test(test_a_result_waits_for_the_journal),      cmocka_unit_test(test_patience_ends),
      cmocka_unit_test(test_a_job_taken_over_by_another_owner),   cmocka_unit_test(test_ended_jobs_are_forgotten),
      cmocka_unit_test(test_drain_keeps_queued_jobs),
  };
  return cmocka_run_group_tests_name("engine_journal", tests, NULL, NULL);
}
