/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The engine over the fake prover in real time, with its HTTP endpoint and dashboard, under a steady load, for tests with a browser and for a look
 * by hand. Lines on standard input steer it; its answers are lines on standard output.
 *
 *   web_server LIVE_JOBS EVENTS_PER_SECOND [RING [PORT [LOG]]]      with LOG the analyser's figures of it are printed at the end
 *   off, on    the endpoint goes away, comes back at the same port; events go on
 *   live N     so many jobs are kept alive
 *   flood N    N events at once
 *   last       prints "last SEQ"
 *   quit, or the end of input */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "daemon/web.h"
#include "engine/fake.h"
#include "timeline/report.h"

#define GIB (UINT64_C(1) << 30)
#define SYNTH_THREADS 16
#define EVENTS_A_PARTITION 9.6 /* what a PoRep's partition causes, its share of the job's own included */

struct server {
  struct cuzk_clock *clock;
  struct cuzk_recorder *recorder;
  struct cuzk_engine *engine;
  const struct cuzk_kind_names *kinds;
  pthread_mutex_t lock; /* guards http */
  struct cuzk_http *http;
  char address[80];
  atomic_uint live, wanted;
  atomic_bool stop;
};

static void die(const char *what, const struct cuzk_detail *d) {
  (void)fprintf(stderr, "web_server: %s: %s\n", what, d ? d->text : "");
  exit(1);
}

static void on_event(void *user) {
  struct server *s = user;
  (void)pthread_mutex_lock(&s->lock);
  if (s->http) cuzk_http_on_event(s->http);
  (void)pthread_mutex_unlock(&s->lock);
}

static struct cuzk_http *endpoint(struct server *s, const char *address) {
  struct cuzk_detail d = {{0}};
  struct cuzk_http *h;
  struct cuzk_http_options o = {.address = address, .cors_origin = "", .version = "test", .clock = s->clock, .recorder = s->recorder, .kinds = s->kinds};
  if (cuzk_http_create(&h, &o, &d) != CUZK_OK) die("endpoint", &d);
  if (cuzk_web_add(h) != CUZK_OK) die("dashboard", NULL);
  return h;
}

static void job_ended(void *user, const struct cuzk_job_result *r) {
  struct server *s = user;
  (void)r;
  (void)atomic_fetch_sub(&s->live, 1);
}

/* Ids as clients might choose them. */
static void name_job(char *out, size_t n, unsigned kind, unsigned i) {
  static const char *const hostile[] = {"<img src=x onerror=\"document.title='owned'\">-%u", "</td><script>document.title='owned'</script>-%u",
                                        "\"'><svg onload=alert(1)>-%u", "javascript:alert(1)//%u", "100%% a,b=c-%u", "\xd7\xa9\xe2\x80\xae-\xf0\x9f\x98\x80-%u",
                                        "a very long name without any end that a column would have to be as wide as the page is to hold it, %u"};
  static const char *const plain[] = {"porep-1000-%u", "snap-1000-%u", "wdpost-1000-0-[17 4 203 99 1 0 250 %u]", "winpost-1000-%016x"};
  const char *f = i % 9 == 4 ? hostile[i / 9 % 7] : plain[kind - 1];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  (void)snprintf(out, n, f, i);
#pragma GCC diagnostic pop
}

static void submit(struct server *s, unsigned i) {
  const unsigned kind = i % 25 == 7 ? 4 : i % 25 == 3 ? 3 : i % 12 == 5 ? 2 : 1;
  uint8_t text[8] = {(uint8_t)kind};
  memcpy(text + 4, &i, 4);
  struct cuzk_request_fields f = {.kind = kind, .vanilla_proof = {text, sizeof text}};
  struct cuzk_request *rq = NULL;
  char id[160];
  name_job(id, sizeof id, kind, i);
  if (cuzk_request_create(&rq, &f) != CUZK_OK) die("request", NULL);
  struct cuzk_submit sub = {.request_id = id, .request = rq};
  struct cuzk_submitted out = {0};
  enum cuzk_refusal why;
  struct cuzk_detail d = {{0}};
  enum cuzk_status st = cuzk_engine_submit(s->engine, &sub, &out, &why, &d);
  if (st == CUZK_OK) {
    (void)atomic_fetch_add(&s->live, 1);
    if (cuzk_engine_watch(s->engine, NULL, out.job_id, CUZK_NEVER, job_ended, s) != CUZK_OK) (void)atomic_fetch_sub(&s->live, 1);
  } else if (!atomic_load(&s->stop)) {
    (void)fprintf(stderr, "web_server: %s: %s\n", id, d.text);
  }
  cuzk_free(out.job_id);
  cuzk_request_unref(&rq);
}

static void *load_main(void *arg) {
  struct server *s = arg;
  for (unsigned i = 0; !atomic_load(&s->stop);) {
    if (atomic_load(&s->live) < atomic_load(&s->wanted)) {
      submit(s, i++);
      continue;
    }
    struct timespec t = {.tv_nsec = 2000000};
    (void)nanosleep(&t, NULL);
  }
  return NULL;
}

/* A few calls fail, so that failures are to be seen. */
static enum cuzk_fake_fault some_fail(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  static atomic_uint calls;
  (void)user;
  (void)device;
  if (stage == CUZK_FAKE_KERNELS && atomic_fetch_add(&calls, 1) % 3000 == 20) return CUZK_FAKE_ERROR;
  if (!rq) return CUZK_FAKE_OK;
  const unsigned at = rq->digest[0] * 256u + rq->digest[1];
  if (stage == CUZK_FAKE_SYNTH && at % 97 == 5 && partition == 0) return CUZK_FAKE_BAD_INPUT;
  return CUZK_FAKE_OK;
}

static void put_on(struct server *s) {
  struct cuzk_http *h = endpoint(s, s->address);
  if (cuzk_http_start(h, s->engine) != CUZK_OK) die("start", NULL);
  (void)pthread_mutex_lock(&s->lock);
  s->http = h;
  (void)pthread_mutex_unlock(&s->lock);
}

static void put_off(struct server *s) {
  (void)pthread_mutex_lock(&s->lock);
  struct cuzk_http *h = s->http;
  s->http = NULL;
  (void)pthread_mutex_unlock(&s->lock);
  cuzk_http_destroy(&h);
}

static void steer(struct server *s) {
  char line[80];
  while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
    if (strcmp(line, "off\n") == 0) put_off(s);
    else if (strcmp(line, "on\n") == 0) put_on(s);
    else if (strncmp(line, "live ", 5) == 0) atomic_store(&s->wanted, (unsigned)strtoul(line + 5, NULL, 10));
    else if (strncmp(line, "flood ", 6) == 0)
      for (unsigned long n = strtoul(line + 6, NULL, 10); n; n--) cuzk_record(s->recorder, CUZK_EV_SRS_EVICT, NULL, "circuit=flood,bytes=%lu", n);
    else if (strcmp(line, "last\n") != 0) printf("unknown ");
    printf("last %llu\n", (unsigned long long)cuzk_recorder_last(s->recorder));
    (void)fflush(stdout);
  }
}

/* "device D busy B idle I gaps N" and "class NAME G gaps MS ms", basis and causes as the analyser chooses them. */
static enum cuzk_status analyse(void *user, struct cuzk_tl_run *run) {
  (void)user;
  struct cuzk_tl_options o;
  struct cuzk_tl_report r;
  struct cuzk_detail d = {{0}};
  cuzk_tl_defaults(&o);
  if (cuzk_tl_analyse(&r, run, &o, &d) != CUZK_OK) die("analysis", &d);
  for (size_t i = 0; i < r.n_devices; i++)
    printf("device %u busy %llu idle %llu gaps %llu\n", r.device[i].device, (unsigned long long)r.device[i].busy, (unsigned long long)r.device[i].idle,
           (unsigned long long)r.device[i].gaps);
  for (unsigned c = 0; c < CUZK_TL_N_CLASSES; c++)
    printf("class %s %llu gaps %llu ms\n", cuzk_tl_class_names[c], (unsigned long long)r.cls[c].gaps, (unsigned long long)r.cls[c].ms);
  cuzk_tl_report_clear(&r);
  return CUZK_OK;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    (void)fprintf(stderr, "usage: web_server LIVE_JOBS EVENTS_PER_SECOND [RING [PORT]]\n");
    return 64;
  }
  (void)signal(SIGPIPE, SIG_IGN);
  struct server s = {.lock = PTHREAD_MUTEX_INITIALIZER};
  atomic_store(&s.wanted, (unsigned)strtoul(argv[1], NULL, 10));
  const double rate = strtod(argv[2], NULL) / EVENTS_A_PARTITION; /* partitions a second */
  struct cuzk_detail d = {{0}};
  if (rate <= 0 || cuzk_clock_real(&s.clock) != CUZK_OK) die("arguments", NULL);
  cuzk_clock_enter(s.clock);

  const uint64_t synth = (uint64_t)(SYNTH_THREADS * 1e9 / rate), device = (uint64_t)(2e9 / rate); /* 2 devices */
  struct cuzk_fake_options f = {.clock = s.clock, .n_devices = 2, .seed = 7, .fault = some_fail};
  cuzk_fake_reference_times(&f); /* for the sizes */
  for (unsigned k = 0; k < 4; k++) {
    struct cuzk_fake_kind *kind = &f.kind[k];
    const uint64_t share = k < 2 ? 10 : k == 2 ? 8 : 2; /* tenths */
    const uint64_t ns[CUZK_FAKE_STAGES] = {[CUZK_FAKE_OPEN] = synth / 20,        [CUZK_FAKE_LOAD] = 300 * CUZK_MS, [CUZK_FAKE_SYNTH] = synth * 8 / 10,
                                           [CUZK_FAKE_START] = device * 3 / 10,  [CUZK_FAKE_KERNELS] = device * 6 / 10,
                                           [CUZK_FAKE_FINISH] = device * 2 / 10, [CUZK_FAKE_VERIFY] = CUZK_MS};
    for (unsigned i = 0; i < CUZK_FAKE_STAGES; i++) {
      kind->stage_ns[i] = ns[i] * share / 10;
      kind->stage_spread_ns[i] = kind->stage_ns[i] * 4 / 10;
    }
  }
  struct cuzk_fake *fake;
  if (cuzk_fake_create(&fake, &f) != CUZK_OK) die("prover", NULL);
  struct cuzk_metrics *metrics;
  if (cuzk_metrics_create(&metrics) != CUZK_OK) die("metrics", NULL);
  struct cuzk_engine_options o;
  cuzk_engine_defaults(&o);
  o.clock = s.clock;
  o.prover = cuzk_fake_prover(fake);
  o.metrics = metrics;
  o.memory_total = 500 * GIB;
  o.synth_threads = SYNTH_THREADS;
  o.t.max_queued_jobs = 100000;
  s.kinds = o.prover.ops->kinds;
  struct cuzk_recorder_options ro = {.clock = s.clock, .fd = -1, .ring = argc > 3 ? strtoul(argv[3], NULL, 10) : 0, .n_gpus = 2,
                                     .workers_per_gpu = o.workers_per_device, .version = "test",
                                     .path = argc > 5 ? argv[5] : NULL};
  if (cuzk_recorder_create(&s.recorder, &ro, &d) != CUZK_OK) die("recorder", &d);
  o.recorder = s.recorder;
  cuzk_recorder_on_event(s.recorder, on_event, &s);
  char address[32];
  (void)snprintf(address, sizeof address, ":%s", argc > 4 ? argv[4] : "0");
  struct cuzk_http *h = endpoint(&s, address);
  (void)snprintf(s.address, sizeof s.address, "%s", cuzk_http_address(h));
  if (cuzk_engine_create(&s.engine, &o, &d) != CUZK_OK) die("engine", &d);
  if (cuzk_http_start(h, s.engine) != CUZK_OK) die("start", NULL);
  (void)pthread_mutex_lock(&s.lock);
  s.http = h;
  (void)pthread_mutex_unlock(&s.lock);
  pthread_t load;
  if (pthread_create(&load, NULL, load_main, &s) != 0) die("thread", NULL);
  printf("at %s\n", s.address);
  (void)fflush(stdout);
  steer(&s);

  atomic_store(&s.stop, true);
  (void)pthread_join(load, NULL);
  put_off(&s);
  cuzk_engine_destroy(&s.engine);
  cuzk_fake_destroy(&fake);
  cuzk_recorder_destroy(&s.recorder);
  cuzk_metrics_destroy(&metrics);
  cuzk_clock_leave(s.clock);
  cuzk_clock_destroy(&s.clock);
  if (argc > 5 && cuzk_tl_read_file(argv[5], analyse, NULL, NULL, &d) != CUZK_OK) die("log", &d);
  return 0;
}
