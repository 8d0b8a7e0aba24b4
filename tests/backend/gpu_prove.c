/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whole proofs on a CUDA device: parameters, a synthetic sector, every partition's proof, verified; with the host's proofs beside them,
 * byte for byte. Built by tools/cuda_build.sh, run where a device is.
 *
 *   gpu_prove CIRCUIT [params=FILE] [r1cs=FILE] [host] [rounds=N] [limit=MIB]... [unsat] [device=N] [seed=N]
 *
 * CIRCUIT: any; its sector is synthetic. params: made on the host if the file is not there. r1cs: the compact circuit, else compiled. host: proves
 * on the host, too, and compares. rounds: all partitions so often, for sustained times. limit: device memory, once more for each. unsat:
 * a witness with one bit flipped must be refused at the same constraint. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "circuits/circuit.h"
#include "circuits/synthesis.h"
#include "device/device.h"
#include "groth16/prove.h"
#include "inputs/kinds.h"
#include "synth/synth.h"

static struct cuzk_detail detail;
static struct cuzk_pool *pool;
static const struct cuzk_circuit *circuit;
static struct cuzk_compact *compact;
static struct cuzk_shape shape;
static struct cuzk_params *params;
static struct cuzk_inputs *inputs;
static struct cuzk_packed *witness; /* one a partition */
static unsigned n_partitions = 1;
static unsigned failures;

static void die(const char *what) {
  fprintf(stderr, "gpu_prove: %s: %s\n", what, detail.text);
  exit(1);
}
#define MUST(expr)                     \
  do {                                 \
    if ((expr) != CUZK_OK) die(#expr); \
  } while (0)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void host_memory(const char *when) {
  char line[200];
  FILE *f = fopen("/proc/self/status", "r");
  if (!f) return;
  printf("host memory %s:", when);
  while (fgets(line, sizeof line, f)) {
    unsigned long kib;
    if (sscanf(line, "VmHWM: %lu", &kib) == 1) printf(" peak %.2f GiB", (double)kib / (1 << 20));
    if (sscanf(line, "RssAnon: %lu", &kib) == 1) printf(", own %.2f GiB", (double)kib / (1 << 20));
    if (sscanf(line, "RssFile: %lu", &kib) == 1) printf(", mapped files %.2f GiB", (double)kib / (1 << 20));
  }
  printf("\n");
  fclose(f);
}

static void synthesize(void *user, struct cuzk_cs *cs) {
  (void)user;
  cuzk_synthesize(cs, circuit, NULL);
}

static void scalar(cuzk_fr *x, uint64_t seed) {
  cuzk_fr_from_u64(x, 0x9e3779b97f4a7c15u * (seed + 1));
  for (int i = 0; i < 5; i++) cuzk_fr_mul(x, x, x);
}

static void open_circuit(const char *name, const char *r1cs) {
  const double t0 = now();
  circuit = cuzk_circuit_find(name);
  if (!circuit) die("no such circuit");
  if (r1cs)
    MUST(cuzk_compact_open(&compact, r1cs, &detail));
  else
    MUST(cuzk_compact_build(&compact, name, synthesize, NULL, 0, NULL, &detail));
  MUST(cuzk_compact_shape(&shape, compact, &detail));
  printf("%s: %llu constraints, %u private variables, %u public inputs; circuit in %.2f s\n", name, (unsigned long long)shape.n_rows,
         shape.n_aux, shape.n_inputs, now() - t0);
}

static void open_params(const char *path) {
  double t0 = now();
  if (access(path, R_OK) != 0) {
    const struct cuzk_system s = cuzk_compact_system(compact);
    struct cuzk_toxic t;
    scalar(&t.alpha, 1);
    scalar(&t.beta, 2);
    scalar(&t.gamma, 3);
    scalar(&t.delta, 4);
    scalar(&t.tau, 5);
    MUST(cuzk_params_generate(path, &s, &t, NULL, pool, NULL, &detail));
    printf("parameters made on the host in %.2f s\n", now() - t0);
  }
  t0 = now();
  MUST(cuzk_params_open(&params, path, &detail));
  MUST(cuzk_params_match(params, &shape, &detail));
  printf("%s: %.2f GB, opened in %.2f s\n", path, (double)params->n_bytes * 1e-9, now() - t0);
}

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

static void open_inputs(uint64_t seed) {
  struct cuzk_synth o = {.sector_bytes = circuit->sector_bytes, .seed = seed, .miner = 1000, .sector_number = 1, .partition = -1};
  struct cuzk_input_source from = {.c1_name = "synthetic sector"};
  struct files f = {0};
  char *text = NULL;
  f.statement.registered = -1;
  if (circuit->kind == CUZK_KIND_POREP) {
    MUST(cuzk_synth_porep(&text, &from.c1_bytes, &o, pool, &detail));
    from.c1 = (const uint8_t *)text;
  } else {
    if (circuit->kind == CUZK_KIND_UPDATE)
      MUST(cuzk_synth_update(&o, pool, take_file, &f, &detail));
    else
      MUST(cuzk_synth_post(circuit->kind, &o, pool, take_file, &f, &detail));
    from.statement = &f.statement;
    from.vanilla = &f.blobs;
  }
  MUST(cuzk_inputs_open(&inputs, cuzk_proof_kind_of(circuit->kind), &from, &detail));
  n_partitions = inputs->n_partitions;
  cuzk_blobs_clear(&f.blobs);
  cuzk_statement_clear(&f.statement);
  cuzk_free(text);
}

static void make_witnesses(uint64_t seed) {
  double t0 = now();
  if (circuit->kind != CUZK_KIND_GADGET) open_inputs(seed);
  printf("synthetic sector in %.2f s\n", now() - t0);
  t0 = now();
  witness = cuzk_calloc(n_partitions, sizeof *witness);
  for (unsigned k = 0; k < n_partitions; k++)
    MUST(cuzk_circuit_assign_packed(circuit, inputs ? cuzk_inputs_witness(inputs, k) : NULL, &witness[k], pool, NULL, &detail));
  printf("%u witnesses in %.2f s (%u field elements each)\n", n_partitions, now() - t0, witness[0].n_fields);
}

static void copy_packed(struct cuzk_packed *to, const struct cuzk_packed *from) {
  const size_t words = ((size_t)from->n_aux + 63) / 64;
  MUST(cuzk_packed_reserve(to, from->n_inputs, from->n_aux));
  memcpy(to->inputs, from->inputs, from->n_inputs * sizeof *to->inputs);
  memcpy(to->bits, from->bits, 8 * words);
  memcpy(to->is_field, from->is_field, 8 * words);
  MUST(cuzk_packed_reserve_fields(to));
  memcpy(to->fields, from->fields, from->n_fields * sizeof *to->fields);
}

/* Witnesses on their way to the device while the one before is worked on. */
struct feed {
  const struct cuzk_device_ops *ops;
  struct cuzk_device_key *key;
  unsigned total;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct cuzk_device_work *ready;
  bool stopped;
};

static void *feeder(void *arg) {
  struct feed *f = arg;
  for (unsigned i = 0; i < f->total; i++) {
    struct cuzk_packed z;
    struct cuzk_device_work *w;
    struct cuzk_detail d = {{0}};
    copy_packed(&z, &witness[i % n_partitions]);
    if (f->ops->start(&w, f->key, &z, &d) != CUZK_OK) {
      fprintf(stderr, "gpu_prove: start: %s\n", d.text);
      exit(1);
    }
    pthread_mutex_lock(&f->lock);
    while (f->ready) pthread_cond_wait(&f->changed, &f->lock);
    f->ready = w;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
  }
  return NULL;
}

static struct cuzk_device_work *next_work(struct feed *f) {
  pthread_mutex_lock(&f->lock);
  while (!f->ready) pthread_cond_wait(&f->changed, &f->lock);
  struct cuzk_device_work *w = f->ready;
  f->ready = NULL;
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
  return w;
}

static const char *const tiers[] = {"resident", "pinned", "mapped"};

/* Proofs of total partitions, one after the other as an engine does it; their bytes. */
static void prove_all(const struct cuzk_device_ops *ops, unsigned index, uint64_t limit, unsigned total, uint8_t (*out)[CUZK_PROOF_BYTES],
                      bool quiet) {
  struct cuzk_device *dev;
  struct cuzk_device_key *key;
  struct cuzk_work_times sum = {0};
  struct cuzk_pvk *pvk;
  double t0 = now();
  MUST(ops->open(&dev, index, pool, limit, &detail));
  const double opened = now();
  MUST(ops->key_create(&key, dev, params, compact, &shape, NULL, &detail));
  printf("%s, limit %.2f GiB: opened in %.2f s, key in %.2f s, %s, %.2f GiB\n", ops->name, (double)limit / (1 << 30), opened - t0,
         now() - opened, tiers[ops->key_tier(key)], (double)ops->key_bytes(key) / (1 << 30));
  struct feed f = {.ops = ops, .key = key, .total = total};
  pthread_mutex_init(&f.lock, NULL);
  pthread_cond_init(&f.changed, NULL);
  pthread_t t;
  pthread_create(&t, NULL, feeder, &f);
  MUST(cuzk_pvk_create(&pvk, &params->vk));
  double first = now(), device = 0, begin = first, least = 1e30, verify = 0;
  for (unsigned i = 0; i < total; i++) {
    struct cuzk_proof proof;
    struct cuzk_work_times x;
    cuzk_fr r, s;
    bool ok = false;
    struct cuzk_device_work *w = next_work(&f);
    const double t1 = now();
    MUST(ops->kernels(w, NULL, &detail));
    const double t2 = now();
    scalar(&r, 100 + i);
    scalar(&s, 200 + i);
    MUST(ops->finish(&w, &r, &s, &proof, &x, &detail));
    cuzk_proof_write(out[i], &proof);
    const double ms[8] = {x.rows, x.transforms, x.h, x.l, x.a, x.b_g1, x.b_g2, x.finish};
    double parts = 0;
    for (int k = 0; k < 7; k++) parts += ms[k];
    if (!quiet || i < 3)
      printf("  partition %u: %8.2f ms (rows %.2f, polynomial %.2f, h %.2f, l %.2f, a %.2f, b_g1 %.2f, b_g2 %.2f; finish %.2f, upload %.2f)\n", i,
             1e3 * (t2 - t1), ms[0], ms[1], ms[2], ms[3], ms[4], ms[5], ms[6], ms[7], x.upload);
    if (i == 0) {
      first = now();
    } else {
      sum.rows += x.rows;
      device += parts;
      if (t2 - t1 < least) least = t2 - t1;
    }
    /* verification does not belong to the device's time */
    const double t3 = now();
    MUST(cuzk_groth16_verify(&ok, pvk, &proof, witness[i % n_partitions].inputs + 1, shape.n_inputs - 1, &detail));
    verify += i ? now() - t3 : 0;
    if (i == 0) first = now();
    if (!ok) {
      failures++;
      printf("PROOF %u DOES NOT VERIFY\n", i);
    }
  }
  const double end = now() - verify;
  if (total > 1)
    printf("  first %.1f ms, then %.2f ms a partition sustained (least %.2f), device busy %.2f %%\n", 1e3 * (first - begin),
           1e3 * (end - first) / (total - 1), 1e3 * least, 1e-1 * device / (end - first));
  pthread_join(t, NULL);
  cuzk_pvk_destroy(&pvk);
  ops->key_destroy(&key);
  ops->close(&dev);
  host_memory(ops->name);
  fflush(stdout);
}

static void prove_unsat(const struct cuzk_device_ops *ops) {
  struct cuzk_device *dev;
  struct cuzk_device_key *key;
  struct cuzk_device_work *w;
  MUST(ops->open(&dev, 0, pool, 0, &detail));
  MUST(ops->key_create(&key, dev, params, compact, &shape, NULL, &detail));
  for (unsigned k = 0; k < 4; k++) {
    struct cuzk_packed z;
    struct cuzk_detail said = {{0}}, wanted = {{0}};
    copy_packed(&z, &witness[0]);
    /* A bit of the k-th quarter, or an element. */
    uint32_t j = z.n_aux / 4 * k + 7;
    while (k != 3 && j + 1 < z.n_aux && cuzk_packed_is_field(&z, j)) j++;
    if (k == 3 && z.n_fields)
      cuzk_fr_add(&z.fields[z.n_fields / 2], &z.fields[z.n_fields / 2], &cuzk_fr_one);
    else
      z.bits[j / 64] ^= UINT64_C(1) << (j % 64);
    struct cuzk_compact_eval e = {.p = &z, .check = true};
    MUST(cuzk_compact_evaluate(compact, &e, pool, NULL, &detail));
    if (e.bad_row != UINT64_MAX)
      snprintf(wanted.text, sizeof wanted.text, "constraint %llu in %.400s does not hold", (unsigned long long)e.bad_row, e.region);
    MUST(ops->start(&w, key, &z, &detail));
    const enum cuzk_status st = ops->kernels(w, NULL, &said);
    const bool good = e.bad_row == UINT64_MAX ? st == CUZK_OK : st == CUZK_E_UNSAT && !strcmp(said.text, wanted.text);
    printf("  changed witness %u: %s: %s\n", k, good ? "as on the host" : "DIFFERS", said.text);
    failures += !good;
    ops->abort(&w);
  }
  ops->key_destroy(&key);
  ops->close(&dev);
}

int main(int argc, char **argv) {
  const char *path = "gpu_prove.params", *r1cs = NULL;
  uint64_t limits[16], seed = 1;
  unsigned n_limits = 0, rounds = 1;
  int device = 0;
  bool host = false, unsat = false;
  if (argc < 2) {
    fprintf(stderr, "usage: gpu_prove CIRCUIT [params=FILE] [r1cs=FILE] [host] [rounds=N] [limit=MIB]... [unsat] [device=N] [seed=N]\n");
    return 64;
  }
  for (int i = 2; i < argc; i++) {
    if (!strncmp(argv[i], "params=", 7)) path = argv[i] + 7;
    else if (!strncmp(argv[i], "r1cs=", 5)) r1cs = argv[i] + 5;
    else if (!strcmp(argv[i], "host")) host = true;
    else if (!strcmp(argv[i], "unsat")) unsat = true;
    else if (!strncmp(argv[i], "rounds=", 7)) rounds = (unsigned)atoi(argv[i] + 7);
    else if (!strncmp(argv[i], "seed=", 5)) seed = (uint64_t)atoi(argv[i] + 5);
    else if (!strncmp(argv[i], "device=", 7)) device = atoi(argv[i] + 7);
    else if (!strncmp(argv[i], "limit=", 6) && n_limits < 16) limits[n_limits++] = (uint64_t)atoi(argv[i] + 6) << 20;
    else die(argv[i]);
  }
  const struct cuzk_device_ops *gpu = cuzk_device_backend_at(0);
  MUST(cuzk_pool_create(&pool, 0));
  open_circuit(argv[1], r1cs);
  open_params(path);
  make_witnesses(seed);
  host_memory("before the device");
  fflush(stdout);
  const unsigned total = rounds * n_partitions;
  uint8_t(*want)[CUZK_PROOF_BYTES] = cuzk_calloc(total + 3, sizeof *want), (*got)[CUZK_PROOF_BYTES] = cuzk_calloc(total + 3, sizeof *got);
  prove_all(gpu, (unsigned)device, 0, total, want, total > 12);
  if (host) {
    prove_all(&cuzk_device_cpu, 0, 0, n_partitions, got, false);
    if (memcmp(want, got, n_partitions * sizeof *want) != 0) failures++;
    printf("host's proofs: %s\n", memcmp(want, got, n_partitions * sizeof *want) ? "DIFFER" : "the same bytes");
  }
  for (unsigned i = 0; i < n_limits; i++) {
    prove_all(gpu, (unsigned)device, limits[i], n_partitions < 2 ? 2 : n_partitions > 3 ? 3 : n_partitions, got, false);
    const unsigned n = n_partitions < 2 ? 1 : n_partitions > 3 ? 3 : n_partitions;
    if (memcmp(want, got, n * sizeof *want) != 0) failures++;
    printf("proofs with %llu MiB: %s\n", (unsigned long long)limits[i] >> 20, memcmp(want, got, n * sizeof *want) ? "DIFFER" : "the same bytes");
  }
  if (unsat) prove_unsat(gpu);
  printf("gpu_prove %s: %u failures\n", argv[1], failures);
  cuzk_free(want);
  cuzk_free(got);
  for (unsigned k = 0; k < n_partitions; k++) cuzk_packed_clear(&witness[k]);
  cuzk_free(witness);
  cuzk_inputs_close(&inputs);
  cuzk_params_close(&params);
  cuzk_shape_clear(&shape);
  cuzk_compact_destroy(&compact);
  cuzk_pool_destroy(&pool);
  return failures ? 1 : 0;
}
