/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The whole engine on a device: parameters made there, synthetic sectors, jobs submitted as a service gets them, every proof verified by the
 * engine and once more here, and the run's own timeline taken apart. Built by tools/cuda_build.sh, run where a device is; CMake builds it for
 * the host's cores.
 *
 *   gpu_engine CIRCUIT [device=SPEC] [dir=DIR] [c1=FILE miner=N sector=N] [seed=N] [budget=GIB] [log=PREFIX] [least=PERCENT]
 *              [lazy] run=WORKERS:SECTORS:AT_ONCE[:LIMIT_MIB[:PROCESSORS]]...
 *
 * CIRCUIT: of PoRep or proofs of spacetime. dir: where parameters (made if need be) and compact circuit are. c1: a phase-1 output instead
 * of synthetic sectors. run: an engine with so many workers a device proves so many sectors, so many of them submitted at once, then one
 * more by itself; its log is PREFIX-<run>.log, the report PREFIX-<run>.txt and .json. least: exit with 1 if a device was less busy.
 * lazy: parameters come to the device with the first partition, not before. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "circuits/circuit.h"
#include "device/device.h"
#include "engine/engine.h"
#include "groth16/param_files.h"
#include "groth16/prove.h"
#include "inputs/kinds.h"
#include "prover/real.h"
#include "prover/rows.h"
#include "synth/synth.h"
#include "timeline/print.h"
#ifdef CUZK_WITH_CUDA
#include "device/cuda_setup.h"
#endif

#define MAX_SECTORS 64u
#define GIB ((uint64_t)1 << 30)

static struct cuzk_detail detail;
static struct cuzk_pool *pool;
static const struct cuzk_circuit *circuit;
static const char *device = "cuda:0", *dir = ".", *c1_file, *prefix = "gpu_engine";
static uint64_t seed = 1, miner = 1000, sector_number = 1, budget_gib = 24;
static double least;
static bool lazy;
static char *params_path;
static struct cuzk_request *request[MAX_SECTORS];
static unsigned n_requests, failures;

static void die(const char *what) {
  fprintf(stderr, "gpu_engine: %s: %s\n", what, detail.text);
  exit(1);
}
#define MUST(expr)                     \
  do {                                 \
    if ((expr) != CUZK_OK) die(#expr); \
  } while (0)

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- host memory --- */

struct memory {
  atomic_bool stop;
  pthread_t thread;
  double anon, peak; /* GiB */
};

static void look(struct memory *m) {
  char line[200];
  FILE *f = fopen("/proc/self/status", "re");
  if (!f) return;
  while (fgets(line, sizeof line, f)) {
    unsigned long kib;
    if (sscanf(line, "VmHWM: %lu", &kib) == 1) m->peak = (double)kib / (1 << 20);
    if (sscanf(line, "RssAnon: %lu", &kib) == 1 && (double)kib / (1 << 20) > m->anon) m->anon = (double)kib / (1 << 20);
  }
  (void)fclose(f);
}

static void *looking(void *arg) {
  struct memory *m = arg;
  while (!atomic_load(&m->stop)) {
    look(m);
    (void)nanosleep(&(struct timespec){0, 50000000}, NULL);
  }
  return NULL;
}

static void memory_begin(struct memory *m) {
  memset(m, 0, sizeof *m);
  FILE *f = fopen("/proc/self/clear_refs", "we"); /* the peak counts from here */
  if (f) {
    (void)fputs("5", f);
    (void)fclose(f);
  }
  if (pthread_create(&m->thread, NULL, looking, m) != 0) die("no thread");
}

static void memory_end(struct memory *m) {
  atomic_store(&m->stop, true);
  (void)pthread_join(m->thread, NULL);
  look(m);
}

/* --- parameters --- */

static void synthesize_toxic(struct cuzk_toxic *t) {
  cuzk_fr *const x[5] = {&t->alpha, &t->beta, &t->gamma, &t->delta, &t->tau};
  for (uint64_t i = 0; i < 5; i++) {
    cuzk_fr_from_u64(x[i], 0x9e3779b97f4a7c15u * (i + 2));
    for (int k = 0; k < 5; k++) cuzk_fr_mul(x[i], x[i], x[i]);
  }
}

static const struct cuzk_prover_row *row_of_circuit(void) {
  for (size_t i = 0; i < CUZK_PROVER_ROWS; i++)
    if (!strcmp(cuzk_prover_rows[i].circuit, circuit->name)) return &cuzk_prover_rows[i];
  die("no such row");
  return NULL;
}

/* The parameters under the name that the prover looks for, and the compact circuit beside them. */
static void make_params(void) {
  const struct cuzk_prover_row *row = row_of_circuit();
  char id[200], r1cs[1200];
  struct cuzk_compact *compact = NULL;
  struct cuzk_toxic toxic;
  double t0 = now();
  cuzk_circuit_parameter_id(id, circuit);
  MUST(cuzk_params_file_path(&params_path, dir, id, "params"));
  (void)snprintf(r1cs, sizeof r1cs, "%s/cuzk-%s-%.16s.r1cs", dir, circuit->name, row->digest);
  if (access(params_path, R_OK) == 0) return;
  if (access(r1cs, R_OK) == 0) {
    MUST(cuzk_compact_open(&compact, r1cs, &detail));
  } else {
    MUST(cuzk_circuit_compile(&compact, circuit, pool, NULL, &detail));
    MUST(cuzk_compact_write(compact, r1cs, &detail));
  }
  printf("compact circuit in %.2f s\n", now() - t0);
  t0 = now();
  synthesize_toxic(&toxic);
#ifdef CUZK_WITH_CUDA
  if (!strncmp(device, "cuda", 4)) {
    struct cuzk_cuda_setup s = {.circuit = compact, .toxic = &toxic};
    MUST(cuzk_params_generate_by(params_path, cuzk_cuda_setup_make, &s, NULL, pool, &detail));
  } else
#endif
  {
    const struct cuzk_system s = cuzk_compact_system(compact);
    MUST(cuzk_params_generate(params_path, &s, &toxic, NULL, pool, NULL, &detail));
  }
  printf("parameters in %.2f s\n", now() - t0);
  cuzk_compact_destroy(&compact);
}

/* --- requests --- */

/* Files of a synthetic sector: records, and the statement, which comes last. */
struct files {
  struct cuzk_blobs blobs;
  struct cuzk_statement statement;
};

static enum cuzk_status take_file(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *d) {
  struct files *f = user;
  if (strstr(name, ".json")) return cuzk_statement_read(&f->statement, &f->blobs, p, n, name, d);
  return cuzk_blobs_add(&f->blobs, p, n, name, d);
}

static unsigned size_index(void) {
  static const uint64_t bytes[5] = {UINT64_C(2) << 10, UINT64_C(8) << 20, UINT64_C(512) << 20, UINT64_C(32) << 30, UINT64_C(64) << 30};
  for (unsigned i = 0; i < 5; i++)
    if (bytes[i] == circuit->sector_bytes) return i;
  die("no registered proof of that size");
  return 0;
}

static void request_porep(struct cuzk_request **out, uint64_t k) {
  const struct cuzk_synth o = {
      .sector_bytes = circuit->sector_bytes, .seed = seed + k, .miner = miner, .sector_number = sector_number + k, .partition = -1};
  struct cuzk_request_fields f = {.kind = 1, .miner_id = miner, .sector_number = sector_number};
  struct cuzk_file file = {0};
  char *text = NULL;
  size_t n;
  if (c1_file) {
    MUST(cuzk_file_read(&file, c1_file, CUZK_C1_MAX_BYTES, &detail));
    f.vanilla_proof = (struct cuzk_slice){file.data, file.n};
  } else {
    MUST(cuzk_synth_porep(&text, &n, &o, pool, &detail));
    f.sector_number += k;
    f.vanilla_proof = (struct cuzk_slice){(const uint8_t *)text, n};
  }
  MUST(cuzk_request_create(out, &f));
  cuzk_file_clear(&file);
  cuzk_free(text);
}

static void request_post(struct cuzk_request **out, uint64_t k) {
  const struct cuzk_synth o = {
      .sector_bytes = circuit->sector_bytes, .seed = seed + k, .miner = miner, .sector_number = sector_number + 10000 * k, .partition = -1};
  const bool winning = circuit->kind == CUZK_KIND_WINNING;
  struct cuzk_request_fields f = {.kind = winning ? 4 : 3, .registered_proof = size_index() + (winning ? 0 : 10), .miner_id = miner};
  struct files x = {0};
  x.statement.registered = -1;
  MUST(cuzk_synth_post(circuit->kind, &o, pool, take_file, &x, &detail));
  struct cuzk_slice *list = cuzk_calloc(x.blobs.n, sizeof *list);
  if (!list) die("no memory");
  for (size_t i = 0; i < x.blobs.n; i++) list[i] = (struct cuzk_slice){x.blobs.blob[i].data, x.blobs.blob[i].n};
  f.vanilla_proofs = list;
  f.n_vanilla_proofs = x.blobs.n;
  f.randomness = (struct cuzk_slice){x.statement.randomness, 32};
  MUST(cuzk_request_create(out, &f));
  cuzk_free(list);
  cuzk_blobs_clear(&x.blobs);
  cuzk_statement_clear(&x.statement);
}

static void make_requests(unsigned n) {
  const double t0 = now();
  for (; n_requests < n; n_requests++) {
    if (circuit->kind == CUZK_KIND_POREP)
      request_porep(&request[n_requests], n_requests);
    else
      request_post(&request[n_requests], n_requests);
  }
  printf("%u sectors in %.2f s, %.1f MB each\n", n, now() - t0, 1e-6 * (double)request[0]->n_bytes);
}

/* --- verification by other means than the engine's --- */

static void verify(const struct cuzk_request *rq, const uint8_t *proofs, size_t n_bytes, const struct cuzk_pvk *pvk) {
  const struct cuzk_proof_kind *kind = cuzk_proof_kind_of(circuit->kind);
  struct cuzk_statement s = {.sector_bytes = circuit->sector_bytes, .registered = -1};
  struct cuzk_blobs blobs = {0};
  struct cuzk_input_source from = {.c1_name = "request"};
  struct cuzk_inputs *in;
  if (kind->takes_c1) {
    from.c1 = rq->f.vanilla_proof.data;
    from.c1_bytes = rq->f.vanilla_proof.n;
  } else {
    s.registered = (int)rq->f.registered_proof;
    s.has_randomness = true;
    memcpy(s.randomness, rq->f.randomness.data, 32);
    for (size_t i = 0; i < rq->f.n_vanilla_proofs; i++)
      MUST(cuzk_blobs_add(&blobs, rq->f.vanilla_proofs[i].data, rq->f.vanilla_proofs[i].n, "record", &detail));
    from.statement = &s;
    from.vanilla = &blobs;
  }
  MUST(cuzk_inputs_open(&in, kind, &from, &detail));
  const size_t n_public = circuit->n_inputs - 1;
  cuzk_fr *u = cuzk_calloc(n_public, sizeof *u);
  if (!u) die("no memory");
  if (n_bytes != (size_t)in->n_partitions * CUZK_PROOF_BYTES) {
    failures++;
    printf("A PROOF OF %zu BYTES FOR %u PARTITIONS\n", n_bytes, in->n_partitions);
  }
  for (unsigned k = 0; k < in->n_partitions && (k + 1) * CUZK_PROOF_BYTES <= n_bytes; k++) {
    struct cuzk_proof proof;
    bool ok = false;
    MUST(cuzk_inputs_public(u, in, k, &detail));
    MUST(cuzk_proof_read(&proof, proofs + (size_t)k * CUZK_PROOF_BYTES, &detail));
    MUST(cuzk_groth16_verify(&ok, pvk, &proof, u, n_public, &detail));
    if (ok) continue;
    failures++;
    printf("PARTITION %u DOES NOT VERIFY\n", k);
  }
  cuzk_free(u);
  cuzk_inputs_close(&in);
  cuzk_blobs_clear(&blobs);
}

/* --- a run --- */

struct job {
  char *id;
  uint8_t *proof;
  size_t n_bytes;
  double submitted, ended; /* seconds */
  struct cuzk_job_timings times;
};

static void submit(struct cuzk_engine *e, struct job *j, struct cuzk_request *rq) {
  struct cuzk_submitted out;
  enum cuzk_refusal why;
  j->submitted = now();
  MUST(cuzk_engine_submit(e, &(struct cuzk_submit){.request = rq}, &out, &why, &detail));
  j->id = out.job_id;
}

static void await(struct cuzk_engine *e, struct job *j) {
  struct cuzk_job_result r;
  MUST(cuzk_engine_await(e, &r, j->id, CUZK_NEVER));
  j->ended = now();
  j->times = r.times;
  if (r.state == CUZK_JOB_COMPLETED) {
    j->proof = r.proof;
    j->n_bytes = r.proof_bytes;
    r.proof = NULL;
  } else {
    failures++;
    printf("JOB %s: %s: %s\n", j->id, cuzk_job_state_names[r.state], r.error ? r.error : "");
  }
  cuzk_engine_delivered(e, j->id);
  cuzk_job_result_clear(&r);
}

struct shape {
  unsigned workers, sectors, at_once, limit_mib, processors;
};

static enum cuzk_status keep_run(void *user, struct cuzk_tl_run *r) {
  struct cuzk_tl_run *to = user;
  cuzk_tl_run_clear(to);
  *to = *r;
  memset(r, 0, sizeof *r);
  return CUZK_OK;
}

static void print_spread(const char *name, const struct cuzk_tl_spread *s) {
  printf(" %s %llu/%llu", name, (unsigned long long)s->median, (unsigned long long)s->max);
}

/* From the end of the first partition's kernels to that of the last one of the sectors submitted together. */
static void analyse(const char *log, const char *stem, const struct job *job, unsigned n) {
  struct cuzk_tl_run run = {0};
  struct cuzk_tl_options o;
  struct cuzk_tl_report r;
  char path[1200], text[600];
  MUST(cuzk_tl_read_file(log, keep_run, &run, NULL, &detail));
  cuzk_tl_defaults(&o);
  o.basis = CUZK_TL_KERNEL;
  o.from = UINT64_MAX;
  o.to = 0;
  for (size_t i = 0; i < run.n_parts; i++) {
    const struct cuzk_tl_part *p = &run.part[i];
    bool mine = false;
    for (unsigned k = 0; k < n; k++) mine = mine || !strcmp(job[k].id, cuzk_tl_job_id(&run, p->job));
    if (!mine || p->kernel1 == CUZK_TL_NONE) continue;
    if (p->kernel1 < o.from) o.from = p->kernel1;
    if (p->kernel1 > o.to) o.to = p->kernel1;
  }
  enum cuzk_status st = cuzk_tl_analyse(&r, &run, &o, &detail);
  if (st != CUZK_OK && st != CUZK_E_NOENT) die(log); /* one partition alone has no steady state */
  const double busy = r.window ? 100.0 * (double)r.busy / (double)r.window : 0;
  printf("  steady state: %.2f s, busy %.2f s, %.2f %% by kernels; gaps:", 1e-3 * (double)r.window, 1e-3 * (double)r.busy, busy);
  for (int c = 0; c < CUZK_TL_N_CLASSES; c++)
    if (r.cls[c].gaps || r.cls[c].ms)
      printf(" %s %llu (%llu ms)", cuzk_tl_class_names[c], (unsigned long long)r.cls[c].gaps, (unsigned long long)r.cls[c].ms);
  printf("\n  ms, median/most:");
  print_spread("kernels", &r.span);
  print_spread("synthesis", &r.synth);
  print_spread("queue", &r.queue_wait);
  print_spread("hand-over", &r.hand_over);
  printf("\n  %s\n", cuzk_tl_advice(text, sizeof text, &r));
  if (st == CUZK_OK && busy < least) {
    failures++;
    printf("  LESS THAN %.1f %%\n", least);
  }
  cuzk_tl_report_clear(&r);
  o.from = 0; /* the files tell of the whole run */
  o.to = CUZK_TL_NONE;
  MUST(cuzk_tl_analyse(&r, &run, &o, &detail));
  for (size_t i = 0; i < r.n_jobs; i++) {
    const struct cuzk_tl_job_report *j = &r.job[i];
    printf("  %-8.8s %7llu ms:", cuzk_tl_job_id(&run, j->job), (unsigned long long)j->latency);
    for (int s = 0; s < CUZK_TL_N_STAGES; s++)
      if (j->stage[s]) printf(" %s %llu", cuzk_tl_stage_names[s], (unsigned long long)j->stage[s]);
    printf("\n");
  }
  const struct cuzk_tl_print p = {.top = 8};
  (void)snprintf(path, sizeof path, "%s.txt", stem);
  FILE *f = fopen(path, "we");
  if (!f || cuzk_tl_print_text(f, &r, &run, &p) != CUZK_OK || fclose(f) != 0) die(path);
  (void)snprintf(path, sizeof path, "%s.json", stem);
  f = fopen(path, "we");
  if (!f || cuzk_tl_print_json(f, &r, &run, &p) != CUZK_OK || fclose(f) != 0) die(path);
  cuzk_tl_report_clear(&r);
  cuzk_tl_run_clear(&run);
}

static void run(unsigned number, const struct shape *s) {
  struct cuzk_prover_real *real;
  struct cuzk_clock *clock;
  struct cuzk_recorder *recorder;
  struct cuzk_engine *engine;
  struct cuzk_engine_options o;
  struct memory memory;
  char log[1000], stem[900];
  const unsigned n = s->sectors + 1; /* and one by itself */
  struct job *job = cuzk_calloc(n, sizeof *job);
  if (!job) die("no memory");
  memory_begin(&memory);
  const double t0 = now();
  const struct cuzk_prover_real_options p = {.param_dir = dir,
                                             .devices = &device,
                                             .n_devices = 1,
                                             .device_memory_limit = (uint64_t)s->limit_mib << 20,
                                             .eager_keys = !lazy,
                                             .synth_threads = s->processors,
                                             .device_threads = s->processors};
  MUST(cuzk_prover_real_create(&real, &p, &detail));
  const struct cuzk_prover prover = cuzk_prover_real_ops(real);
  MUST(cuzk_clock_real(&clock));
  (void)snprintf(stem, sizeof stem, "%.800s-%u", prefix, number);
  (void)snprintf(log, sizeof log, "%s.log", stem);
  (void)remove(log);
  MUST(cuzk_recorder_create(&recorder,
                            &(struct cuzk_recorder_options){.clock = clock,
                                                            .fd = -1,
                                                            .path = log,
                                                            .n_gpus = prover.ops->n_devices(prover.self),
                                                            .workers_per_gpu = s->workers,
                                                            .version = "gpu_engine"},
                            &detail));
  cuzk_engine_defaults(&o);
  o.clock = clock;
  o.prover = prover;
  o.recorder = recorder;
  o.memory_total = budget_gib * GIB;
  o.workers_per_device = s->workers;
  o.self_check = CUZK_CHECK_ALL;
  MUST(cuzk_engine_create(&engine, &o, &detail));
  printf("run %u: %u workers, %u sectors, %u at once, limit %u MiB; opened in %.2f s\n", number, s->workers, s->sectors, s->at_once, s->limit_mib,
         now() - t0);
  unsigned submitted = 0;
  for (unsigned k = 0; k < s->sectors; k++) {
    for (; submitted < s->sectors && submitted < k + s->at_once; submitted++) submit(engine, &job[submitted], request[submitted]);
    await(engine, &job[k]);
  }
  submit(engine, &job[s->sectors], request[s->sectors]);
  await(engine, &job[s->sectors]);
  memory_end(&memory);
  cuzk_engine_destroy(&engine);
  cuzk_prover_real_destroy(&real);
  cuzk_recorder_destroy(&recorder);
  cuzk_clock_destroy(&clock);
  double begin = job[0].ended, end = job[0].ended;
  for (unsigned k = 0; k < s->sectors; k++) {
    if (job[k].ended < begin) begin = job[k].ended;
    if (job[k].ended > end) end = job[k].ended;
  }
  printf("  first %.2f s, by itself and warm %.2f s, %.3f s a proof sustained; host memory: own %.2f GiB, peak with mapped pages %.2f GiB\n",
         job[0].ended - job[0].submitted, job[s->sectors].ended - job[s->sectors].submitted,
         s->sectors > 1 ? (end - begin) / (s->sectors - 1) : 0, memory.anon, memory.peak);
  if (!failures) analyse(log, stem, job, s->sectors);
  struct cuzk_params *params;
  struct cuzk_pvk *pvk;
  MUST(cuzk_params_open(&params, params_path, &detail));
  MUST(cuzk_pvk_create(&pvk, &params->vk));
  for (unsigned k = 0; k < n; k++) {
    if (job[k].proof) verify(request[k], job[k].proof, job[k].n_bytes, pvk);
    cuzk_free(job[k].proof);
    cuzk_free(job[k].id);
  }
  printf("  all verified once more: %u failures\n", failures);
  (void)fflush(stdout);
  cuzk_pvk_destroy(&pvk);
  cuzk_params_close(&params);
  cuzk_free(job);
}

int main(int argc, char **argv) {
  struct shape shape[8];
  unsigned n_runs = 0, most = 0;
  circuit = argc < 2 ? NULL : cuzk_circuit_find(argv[1]);
  if (!circuit || (circuit->kind != CUZK_KIND_POREP && circuit->kind != CUZK_KIND_WINDOW && circuit->kind != CUZK_KIND_WINNING)) {
    fprintf(stderr, "usage: gpu_engine CIRCUIT [device=SPEC] [dir=DIR] [c1=FILE miner=N sector=N] [seed=N] [budget=GIB] [log=PREFIX] "
                    "[least=PERCENT] [lazy] run=WORKERS:SECTORS:AT_ONCE[:LIMIT_MIB[:PROCESSORS]]...\n");
    return 64;
  }
  for (int i = 2; i < argc; i++) {
    const char *a = argv[i];
    if (!strncmp(a, "device=", 7)) device = a + 7;
    else if (!strncmp(a, "dir=", 4)) dir = a + 4;
    else if (!strncmp(a, "c1=", 3)) c1_file = a + 3;
    else if (!strncmp(a, "log=", 4)) prefix = a + 4;
    else if (!strncmp(a, "miner=", 6)) miner = strtoull(a + 6, NULL, 10);
    else if (!strncmp(a, "sector=", 7)) sector_number = strtoull(a + 7, NULL, 10);
    else if (!strncmp(a, "seed=", 5)) seed = strtoull(a + 5, NULL, 10);
    else if (!strncmp(a, "budget=", 7)) budget_gib = strtoull(a + 7, NULL, 10);
    else if (!strcmp(a, "lazy")) lazy = true;
    else if (!strncmp(a, "least=", 6)) least = strtod(a + 6, NULL);
    else if (!strncmp(a, "run=", 4) && n_runs < 8) {
      struct shape *s = &shape[n_runs++];
      *s = (struct shape){0};
      if (sscanf(a + 4, "%u:%u:%u:%u:%u", &s->workers, &s->sectors, &s->at_once, &s->limit_mib, &s->processors) < 3 || s->workers == 0 ||
          s->at_once == 0 || s->sectors == 0 || s->sectors >= MAX_SECTORS)
        die(a);
      if (s->sectors + 1 > most) most = s->sectors + 1;
    } else die(a);
  }
  MUST(cuzk_pool_create(&pool, 0));
  make_params();
  if (most) make_requests(most);
  (void)fflush(stdout);
  for (unsigned i = 0; i < n_runs; i++) run(i, &shape[i]);
  printf("gpu_engine %s: %u failures\n", circuit->name, failures);
  for (unsigned i = 0; i < n_requests; i++) cuzk_request_unref(&request[i]);
  cuzk_free(params_path);
  cuzk_pool_destroy(&pool);
  return failures ? 1 : 0;
}
