/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "engine/engine.h"
#include "timeline/recorder.h"

const char *const cuzk_sim_stage_names[CUZK_FAKE_STAGES] = {"open", "load", "synth", "start", "kernels", "finish", "verify"};

#define N_KINDS 4
#define NO_PART UINT32_MAX
#define NO_LIMIT (UINT64_C(1) << 50)

struct replay_job {
  uint32_t job, first; /* first of its partitions in parts[] */
  uint32_t n;
  unsigned kind;
  uint64_t submit;
};
struct replay {
  const struct cuzk_tl_run *run;
  const struct cuzk_sim_options *o;
  struct replay_job *job; /* by submission */
  size_t n_jobs;
  uint32_t *part; /* attempt of each partition, NO_PART: none */
  uint32_t n_partitions[N_KINDS];
  uint64_t open_ms[N_KINDS], load_ms[N_KINDS], mean_ms[N_KINDS][CUZK_FAKE_STAGES];
  /* while it runs */
  pthread_mutex_t lock;
  struct cuzk_cond cond;
  size_t n_done;
};

static bool known(uint64_t a, uint64_t b) { return a != CUZK_TL_NONE && b != CUZK_TL_NONE && a <= b; }

/* Recorded time of a stage of an attempt, ms. */
static bool part_time(const struct cuzk_tl_part *p, enum cuzk_fake_stage s, uint64_t *ms) {
  const bool kernels = known(p->kernel0, p->kernel1);
  uint64_t a = CUZK_TL_NONE, b = CUZK_TL_NONE, less = 0;
  switch (s) {
    case CUZK_FAKE_SYNTH: a = p->synth0, b = p->synth1; break;
    case CUZK_FAKE_START:
      a = p->gpu0;
      b = kernels ? p->kernel0 : a;
      less = kernels ? p->lock_ms : 0;
      break;
    case CUZK_FAKE_KERNELS:
      a = kernels ? p->kernel0 : p->gpu0;
      b = kernels ? p->kernel1 : p->gpu1;
      break;
    case CUZK_FAKE_FINISH:
      b = p->gpu1;
      a = !kernels ? b : p->fin != CUZK_TL_NONE && p->fin >= p->kernel1 ? p->fin : p->kernel1;
      break;
    default: break;
  }
  if (!known(a, b)) return false;
  *ms = b - a > less ? b - a - less : 0;
  return true;
}

static unsigned kind_of(const struct cuzk_tl_job *j) { return j->kind >= 0 && j->kind < N_KINDS ? (unsigned)j->kind : 0; }

static int cmp_u64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}
static int by_submit(const void *a, const void *b) {
  const struct replay_job *x = a, *y = b;
  if (x->submit != y->submit) return x->submit < y->submit ? -1 : 1;
  return (x->job > y->job) - (x->job < y->job);
}

static enum cuzk_status replay_init(struct replay *r, struct cuzk_detail *d) {
  const struct cuzk_tl_run *run = r->run;
  uint32_t *n = cuzk_calloc(run->n_jobs + 1, sizeof *n), *at = cuzk_calloc(run->n_jobs + 1, sizeof *at);
  uint64_t sum[N_KINDS][CUZK_FAKE_STAGES] = {{0}}, count[N_KINDS][CUZK_FAKE_STAGES] = {{0}};
  enum cuzk_status st = CUZK_E_NOMEM;
  size_t total = 0;
  r->job = cuzk_calloc(run->n_jobs + 1, sizeof *r->job);
  if (!n || !at || !r->job) goto out;
  for (unsigned k = 0; k < N_KINDS; k++) r->open_ms[k] = CUZK_TL_NONE;
  for (size_t i = 0; i < run->n_parts; i++) { /* a job has as many partitions as its highest number says, at least one */
    const struct cuzk_tl_part *p = &run->part[i];
    if (p->job == UINT32_MAX || p->gpu1 == CUZK_TL_NONE || p->flags & CUZK_TL_FAILED || p->partition > 4096) continue;
    const uint32_t need = p->partition < 0 ? 1 : (uint32_t)p->partition + 1;
    if (need > n[p->job]) n[p->job] = need;
    for (unsigned s = 0; s < CUZK_FAKE_STAGES; s++) {
      const unsigned k = kind_of(&run->job[p->job]);
      uint64_t ms;
      if (!part_time(p, (enum cuzk_fake_stage)s, &ms)) continue;
      sum[k][s] += ms;
      count[k][s]++;
    }
  }
  for (size_t i = 0; i < run->n_jobs; i++) {
    const struct cuzk_tl_job *j = &run->job[i];
    const unsigned k = kind_of(j);
    if (!n[i] || j->ended == 'F' || j->ended == 'C') {
      n[i] = 0;
      continue;
    }
    r->job[r->n_jobs++] = (struct replay_job){.job = (uint32_t)i, .n = n[i], .kind = k, .submit = j->submit != CUZK_TL_NONE ? j->submit : j->first};
    at[i] = (uint32_t)total;
    total += n[i];
    if (n[i] > r->n_partitions[k]) r->n_partitions[k] = n[i];
    if (known(j->verify0, j->verify1)) sum[k][CUZK_FAKE_VERIFY] += j->verify1 - j->verify0, count[k][CUZK_FAKE_VERIFY]++;
    if (known(j->submit, j->prep)) {
      uint64_t ms = j->prep - j->submit;
      for (size_t l = 0; l < run->n_loads; l++) {
        if (run->load[l].job != i || !known(run->load[l].start, run->load[l].end)) continue;
        const uint64_t load = run->load[l].end - run->load[l].start;
        ms = ms > load ? ms - load : 0;
        if (load > r->load_ms[k]) r->load_ms[k] = load;
      }
      if (ms < r->open_ms[k]) r->open_ms[k] = ms;
    }
  }
  if (!r->n_jobs) {
    st = cuzk_fail(d, CUZK_E_ARG, "run %u: no finished job to replay", run->number);
    goto out;
  }
  r->part = cuzk_malloc_array(total + 1, sizeof *r->part);
  if (!r->part) goto out;
  memset(r->part, 0xff, (total + 1) * sizeof *r->part);
  for (size_t i = 0; i < r->n_jobs; i++) r->job[i].first = at[r->job[i].job];
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    if (p->job == UINT32_MAX || p->gpu1 == CUZK_TL_NONE || p->flags & CUZK_TL_FAILED || p->partition > 4096 || !n[p->job]) continue;
    r->part[at[p->job] + (p->partition < 0 ? 0 : (uint32_t)p->partition)] = (uint32_t)i;
  }
  for (unsigned k = 0; k < N_KINDS; k++) {
    for (unsigned s = 0; s < CUZK_FAKE_STAGES; s++) r->mean_ms[k][s] = count[k][s] ? sum[k][s] / count[k][s] : 0;
    if (r->open_ms[k] == CUZK_TL_NONE) r->open_ms[k] = 0;
  }
  qsort(r->job, r->n_jobs, sizeof *r->job, by_submit);
  st = CUZK_OK;
out:
  cuzk_free(n);
  cuzk_free(at);
  return st;
}

/* The fake's question. Requests carry the number of their job. */
static uint64_t stage_time(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, uint64_t ns) {
  const struct replay *r = user;
  uint64_t ms = 0;
  (void)ns;
  if (!rq) {
    ms = r->load_ms[partition < N_KINDS ? partition : 0];
  } else {
    const struct replay_job *j = &r->job[rq->f.sector_number - 1];
    const struct cuzk_tl_job *rec = &r->run->job[j->job];
    ms = r->mean_ms[j->kind][stage];
    if (stage == CUZK_FAKE_OPEN) ms = r->open_ms[j->kind];
    else if (stage == CUZK_FAKE_VERIFY && known(rec->verify0, rec->verify1)) ms = rec->verify1 - rec->verify0;
    else if (partition < j->n && r->part[j->first + partition] != NO_PART)
      (void)part_time(&r->run->part[r->part[j->first + partition]], stage, &ms);
  }
  return (uint64_t)((double)ms * r->o->scale[stage] * (double)CUZK_MS);
}

static void job_ended(void *user, const struct cuzk_job_result *result) {
  struct replay *r = user;
  (void)result;
  (void)pthread_mutex_lock(&r->lock);
  r->n_done++;
  cuzk_cond_broadcast(&r->cond);
  (void)pthread_mutex_unlock(&r->lock);
}

static enum cuzk_status submit(struct replay *r, struct cuzk_engine *e, size_t i, struct cuzk_detail *d) {
  uint8_t text[8];
  const uint64_t number = i + 1;
  memcpy(text, &number, sizeof text);
  struct cuzk_request_fields f = {.kind = r->job[i].kind + 1, .sector_number = number, .vanilla_proof = {text, sizeof text}};
  struct cuzk_request *rq = NULL;
  struct cuzk_submitted s = {0};
  enum cuzk_status st = cuzk_request_create(&rq, &f);
  if (st == CUZK_OK) st = cuzk_engine_submit(e, &(struct cuzk_submit){.request = rq}, &s, NULL, d);
  if (st == CUZK_OK) st = cuzk_engine_watch(e, NULL, s.job_id, CUZK_NEVER, job_ended, r);
  cuzk_free(s.job_id);
  cuzk_request_unref(&rq);
  return st;
}

/* Hands all jobs in and waits for them. */
static enum cuzk_status drive(struct replay *r, struct cuzk_engine *e, struct cuzk_clock *clock, struct cuzk_detail *d) {
  const uint64_t begin = cuzk_clock_now(clock);
  for (size_t i = 0; i < r->n_jobs; i++) {
    if (!r->o->concurrency) cuzk_clock_sleep_until(clock, begin + (r->job[i].submit - r->job[0].submit) * CUZK_MS);
    (void)pthread_mutex_lock(&r->lock);
    while (r->o->concurrency && i - r->n_done >= r->o->concurrency) (void)cuzk_cond_wait(&r->cond, &r->lock, CUZK_NEVER);
    (void)pthread_mutex_unlock(&r->lock);
    const enum cuzk_status st = submit(r, e, i, d);
    if (st != CUZK_OK) return st;
  }
  (void)pthread_mutex_lock(&r->lock);
  while (r->n_done < r->n_jobs) (void)cuzk_cond_wait(&r->cond, &r->lock, CUZK_NEVER);
  (void)pthread_mutex_unlock(&r->lock);
  return CUZK_OK;
}

static enum cuzk_status take_run(void *user, struct cuzk_tl_run *run) {
  struct cuzk_tl_run *out = user;
  cuzk_tl_run_clear(out);
  *out = *run;
  memset(run, 0, sizeof *run);
  return CUZK_OK;
}

/* The log that the engine wrote. */
static enum cuzk_status read_log(struct cuzk_sim_result *out, int fd, struct cuzk_detail *d) {
  char piece[65536];
  struct cuzk_tl_reader *reader = NULL;
  struct cuzk_tl_options o;
  enum cuzk_status st;
  CUZK_TRY(cuzk_tl_reader_create(&reader, take_run, &out->run));
  for (off_t at = 0;;) {
    const ssize_t n = pread(fd, piece, sizeof piece, at);
    if (n < 0) {
      st = cuzk_fail_errno(d, errno, "the log of the simulation cannot be read");
      goto out;
    }
    if (!n) break;
    at += n;
    CUZK_TRY(cuzk_tl_reader_feed(reader, piece, (size_t)n));
  }
  CUZK_TRY(cuzk_tl_reader_finish(reader));
  cuzk_tl_defaults(&o);
  st = cuzk_tl_analyse(&out->report, &out->run, &o, d);
out:
  cuzk_tl_reader_destroy(&reader);
  return st;
}

void cuzk_sim_defaults(struct cuzk_sim_options *o, const struct cuzk_tl_run *run) {
  *o = (struct cuzk_sim_options){.n_devices = run->gpus, .workers_per_device = run->workers_per_gpu, .memory_total = NO_LIMIT};
  for (unsigned s = 0; s < CUZK_FAKE_STAGES; s++) o->scale[s] = 1;
  int32_t worker = 0, gpu = 0;
  int64_t level = 0, most = 0;
  uint64_t *begin = cuzk_malloc_array(run->n_parts + 1, sizeof *begin), *end = cuzk_malloc_array(run->n_parts + 1, sizeof *end);
  size_t n = 0;
  for (size_t i = 0; i < run->n_parts; i++) {
    const struct cuzk_tl_part *p = &run->part[i];
    if (p->worker > worker) worker = p->worker;
    if (p->gpu > gpu) gpu = p->gpu;
    if (!begin || !end || !known(p->synth0, p->synth1)) continue;
    begin[n] = p->synth0;
    end[n++] = p->synth1;
  }
  if (!o->n_devices) o->n_devices = (unsigned)gpu + 1;
  if (!o->workers_per_device) o->workers_per_device = ((unsigned)worker + o->n_devices) / o->n_devices;
  if (n) {
    qsort(begin, n, sizeof *begin, cmp_u64);
    qsort(end, n, sizeof *end, cmp_u64);
    for (size_t i = 0, k = 0; i < n; i++) {
      while (k < n && end[k] <= begin[i]) k++, level--;
      if (++level > most) most = level;
    }
  }
  o->synth_threads = most > 0 ? most < 1024 ? (unsigned)most : 1024 : 1;
  cuzk_free(begin);
  cuzk_free(end);
}

enum cuzk_status cuzk_sim(struct cuzk_sim_result *out, const struct cuzk_tl_run *run, const struct cuzk_sim_options *o, struct cuzk_detail *d) {
  struct replay r = {.run = run, .o = o};
  struct cuzk_clock *clock = NULL;
  struct cuzk_fake *fake = NULL;
  struct cuzk_recorder *recorder = NULL;
  struct cuzk_engine *e = NULL;
  struct cuzk_fake_options fo = {.n_devices = o->n_devices, .time = stage_time, .user = &r};
  struct cuzk_engine_options eo;
  enum cuzk_status st = CUZK_OK;
  int fd = -1;
  bool inside = false, locked = false;
  memset(out, 0, sizeof *out);
  CUZK_TRY(replay_init(&r, d));
  fd = memfd_create("timeline", MFD_CLOEXEC);
  if (fd < 0) {
    st = cuzk_fail_errno(d, errno, "no file in memory for the log");
    goto out;
  }
  CUZK_TRY(cuzk_clock_virtual(&clock));
  cuzk_clock_enter(clock);
  inside = true;
  (void)pthread_mutex_init(&r.lock, NULL);
  locked = true;
  CUZK_TRY(cuzk_cond_init(&r.cond, clock));
  cuzk_fake_reference_times(&fo);
  fo.clock = clock;
  bool checked = false;
  for (unsigned k = 0; k < N_KINDS; k++) {
    fo.kind[k].n_partitions = r.n_partitions[k] ? r.n_partitions[k] : 1;
    checked = checked || r.mean_ms[k][CUZK_FAKE_VERIFY];
  }
  CUZK_TRY(cuzk_fake_create(&fake, &fo));
  CUZK_TRY(cuzk_recorder_create(&recorder,
                                &(struct cuzk_recorder_options){.clock = clock, .fd = fd, .ring = 64, .n_gpus = o->n_devices,
                                                                .workers_per_gpu = o->workers_per_device, .version = "simulation"},
                                d));
  cuzk_engine_defaults(&eo);
  eo.clock = clock;
  eo.prover = cuzk_fake_prover(fake);
  eo.recorder = recorder;
  eo.memory_total = o->memory_total;
  eo.synth_threads = o->synth_threads;
  eo.workers_per_device = o->workers_per_device;
  eo.self_check = checked ? CUZK_CHECK_ALL : CUZK_CHECK_OFF;
  eo.stage_timeout_ns = UINT64_C(1000) * 3600 * CUZK_SECOND;
  eo.t.max_queued_jobs = UINT32_MAX;
  eo.t.max_queued_bytes = UINT64_MAX;
  CUZK_TRY(cuzk_engine_create(&e, &eo, d));
  CUZK_TRY(drive(&r, e, clock, d));
  cuzk_engine_destroy(&e);
  CUZK_TRY(read_log(out, fd, d));
out:
  cuzk_engine_destroy(&e);
  cuzk_recorder_destroy(&recorder);
  cuzk_fake_destroy(&fake);
  if (clock) cuzk_cond_clear(&r.cond);
  if (locked) (void)pthread_mutex_destroy(&r.lock);
  if (inside) cuzk_clock_leave(clock);
  cuzk_clock_destroy(&clock);
  if (fd >= 0) (void)close(fd);
  cuzk_free(r.job);
  cuzk_free(r.part);
  if (st != CUZK_OK) cuzk_sim_result_clear(out);
  if (st == CUZK_E_NOMEM) (void)cuzk_fail(d, st, "no memory for the simulation");
  return st;
}

void cuzk_sim_result_clear(struct cuzk_sim_result *r) {
  cuzk_tl_report_clear(&r->report);
  cuzk_tl_run_clear(&r->run);
}
