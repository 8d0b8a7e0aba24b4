/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Many callers at random (submit, attach, watch, unwatch, cancel, views) while stages fail at random: on the virtual clock, and shortly on
 * the real one, where ThreadSanitizer sees the threads truly at once. */
#include "engine_testing.h"

#define CALLERS 6

struct caller {
  struct bench *b;
  pthread_t thread;
  uint64_t rng;
  unsigned rounds, number;
  atomic_uint *ended; /* by state */
  bool real;
};

static uint64_t next(uint64_t *s) {
  uint64_t z = (*s += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static atomic_ullong fault_rng;

static enum cuzk_fake_fault random_fault(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  (void)user;
  (void)rq;
  (void)partition;
  (void)device;
  uint64_t s = atomic_fetch_add(&fault_rng, 0x9e3779b97f4a7c15u);
  uint64_t r = next(&s);
  if (r % 40 != 0) return CUZK_FAKE_OK;
  static const enum cuzk_fake_fault faults[] = {CUZK_FAKE_ERROR, CUZK_FAKE_OOM, CUZK_FAKE_LOST, CUZK_FAKE_BAD_PROOF, CUZK_FAKE_BAD_INPUT};
  enum cuzk_fake_fault f = faults[(r >> 20) % 5];
  return f == CUZK_FAKE_LOST && stage != CUZK_FAKE_KERNELS ? CUZK_FAKE_OK : f;
}

struct note {
  struct caller *c;
  atomic_uint calls;
};

static void told(void *user, const struct cuzk_job_result *r) {
  struct note *n = user;
  atomic_fetch_add(&n->calls, 1);
  atomic_fetch_add(&n->c->ended[r->state], 1);
}

static void *caller_main(void *arg) {
  struct caller *c = arg;
  struct bench *b = c->b;
  struct note *note = calloc(c->rounds, sizeof *note);
  struct cuzk_watch **watch = calloc(c->rounds, sizeof *watch);
  char **ids = calloc(c->rounds, sizeof *ids);
  const uint64_t unit = c->real ? CUZK_MS / 5 : CUZK_SECOND;
  for (unsigned i = 0; i < c->rounds; i++) {
    note[i].c = c;
    uint64_t r = next(&c->rng);
    char id[16];
    snprintf(id, sizeof id, "j%u", (unsigned)(r >> 8) % 40); /* callers meet in the same jobs */
    unsigned kind = 1 + (unsigned)(r >> 16) % 4;
    uint8_t payload = (uint8_t)((r >> 24) % 3);
    struct cuzk_request_fields f = {.kind = kind, .vanilla_proof = {&payload, 1}};
    struct cuzk_request *rq;
    struct cuzk_submitted s;
    struct cuzk_detail d;
    if (cuzk_request_create(&rq, &f) != CUZK_OK) continue;
    struct cuzk_submit in = {.request_id = r % 5 ? id : "", .priority = (unsigned)(r >> 32) % 5, .from_prove = (r >> 40) & 1, .request = rq};
    if (cuzk_engine_submit(b->e, &in, &s, NULL, &d) == CUZK_OK) {
      ids[i] = s.job_id;
      uint64_t until = (r >> 41) % 4 ? CUZK_NEVER : cuzk_clock_now(b->clock) + (r >> 44) % 30 * unit;
      (void)cuzk_engine_watch(b->e, &watch[i], s.job_id, until, told, &note[i]);
    }
    cuzk_request_unref(&rq);
    bool was;
    unsigned other = (unsigned)(r >> 50) % (i + 1);
    switch ((r >> 56) % 8) {
      case 0:
        if (ids[other]) (void)cuzk_engine_cancel(b->e, ids[other], &was);
        break;
      case 1:
        if (watch[other] && cuzk_engine_unwatch(b->e, &watch[other])) atomic_store(&note[other].calls, 1000);
        break;
      case 2:
        if (ids[other]) cuzk_engine_delivered(b->e, ids[other]);
        break;
      case 3: {
        struct cuzk_engine_view v;
        if (cuzk_engine_view(b->e, &v) == CUZK_OK) cuzk_engine_view_clear(&v);
        break;
      }
      case 4: {
        char *text = NULL;
        if (cuzk_engine_metrics_text(b->e, &text) == CUZK_OK) cuzk_free(text);
        break;
      }
      default: cuzk_clock_sleep_until(b->clock, cuzk_clock_now(b->clock) + (r >> 60) * unit);
    }
  }
  /* Every watch that was not taken away is answered, once. */
  uint64_t limit = cuzk_clock_now(b->clock) + 100000 * CUZK_SECOND;
  for (unsigned i = 0; i < c->rounds; i++) {
    if (!watch[i]) continue;
    while (atomic_load(&note[i].calls) == 0 && cuzk_clock_now(b->clock) < limit)
      cuzk_clock_sleep_until(b->clock, cuzk_clock_now(b->clock) + (c->real ? CUZK_MS : 5 * CUZK_SECOND));
    (void)cuzk_engine_unwatch(b->e, &watch[i]);
    if (atomic_load(&note[i].calls) != 1) atomic_fetch_add(&c->ended[8], 1);
  }
  for (unsigned i = 0; i < c->rounds; i++) cuzk_free(ids[i]);
  free(ids);
  free(watch);
  free(note);
  return NULL;
}

static void storm(bool real, unsigned rounds, uint64_t memory) {
  struct bench b;
  atomic_uint ended[9];
  for (unsigned i = 0; i < 9; i++) atomic_init(&ended[i], 0);
  bench_init(&b, real);
  atomic_store(&fault_rng, test_rand());
  b.f.n_devices = 2;
  b.f.fault = random_fault;
  b.o.synth_threads = 4;
  b.o.memory_total = memory;
  b.o.quarantine_ns = real ? 5 * CUZK_MS : 60 * CUZK_SECOND;
  b.o.t.max_queued_jobs = 100000;
  b.o.t.orphan_grace_ns = real ? CUZK_MS : 20 * CUZK_SECOND;
  b.o.t.eviction_min_idle_ns = 0;
  b.o.retry_on_error = 3;
  bench_start(&b);
  struct caller c[CALLERS];
  for (unsigned i = 0; i < CALLERS; i++) {
    c[i] = (struct caller){.b = &b, .rng = test_rand(), .rounds = rounds, .number = i, .ended = ended, .real = real};
    assert_int_equal(cuzk_clock_thread(b.clock, &c[i].thread, "caller", caller_main, &c[i]), CUZK_OK);
  }
  for (unsigned i = 0; i < CALLERS; i++) cuzk_clock_join(b.clock, c[i].thread);
  printf("# %s clock: %u completed, %u failed, %u cancelled\n", real ? "real" : "virtual", ended[CUZK_JOB_COMPLETED], ended[CUZK_JOB_FAILED],
         ended[CUZK_JOB_CANCELLED]);
  assert_int_equal(ended[8], 0);
  assert_true(ended[CUZK_JOB_COMPLETED] > 0);
  assert_true(ended[CUZK_JOB_CANCELLED] > 0);
  bench_end(&b);
}

static void test_storm_on_the_virtual_clock(void **state) {
  (void)state;
  storm(false, 60, 400 * GIB);
}
static void test_storm_in_a_small_budget(void **state) {
  (void)state;
  storm(false, 60, 8 * GIB);
}
static void test_storm_on_the_real_clock(void **state) {
  (void)state;
  storm(true, 150, 400 * GIB);
}
static void test_storm_on_the_real_clock_in_a_small_budget(void **state) {
  (void)state;
  storm(true, 100, 8 * GIB);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_storm_on_the_virtual_clock),
      cmocka_unit_test(test_storm_in_a_small_budget),
      cmocka_unit_test(test_storm_on_the_real_clock),
      cmocka_unit_test(test_storm_on_the_real_clock_in_a_small_budget),
  };
  return cmocka_run_group_tests_name("engine_storm", tests, NULL, NULL);
}
