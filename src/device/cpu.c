/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The host's cores as a device. A key borrows the mapped parameters and the compact circuit and keeps nothing of its own; kernels evaluate the
 * rows into three vectors of the domain's size, which live for that call only. docs/internals/prover.md. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "device/device.h"
#include "groth16/prove.h"

/* Most that a sum takes beside its arguments (msm/msm.h), whatever the number of points. */
#define SUM_BYTES_MAX ((uint64_t)1 << 30)
#define SUM_BYTES_POINT 350u

struct cuzk_device {
  struct cuzk_pool *pool;
};

struct cuzk_device_key {
  struct cuzk_device *dev;
  const struct cuzk_params *params;
  const struct cuzk_compact *circuit;
  const struct cuzk_shape *shape;
};

struct cuzk_device_work {
  struct cuzk_device_key *key;
  struct cuzk_packed z;
  bool summed;
  struct cuzk_proof_sums sums;
  struct cuzk_prove_times times;
  double rows; /* seconds */
  const struct cuzk_progress *watched; /* or NULL */
};

static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static unsigned cpu_count(void) { return 1; }

/* "model name" of /proc/cpuinfo, or what the kernel calls the machine. */
static void cpu_name(char *out, size_t n) {
  char line[256];
  (void)snprintf(out, n, "host processor");
  FILE *f = fopen("/proc/cpuinfo", "re");
  if (!f) return;
  while (fgets(line, sizeof line, f)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    (void)snprintf(out, n, "%s", colon + 1 + (colon[1] == ' '));
    break;
  }
  (void)fclose(f);
}

static enum cuzk_status cpu_describe(unsigned index, struct cuzk_device_desc *out, struct cuzk_detail *d) {
  if (index != 0) return cuzk_fail(d, CUZK_E_ARG, "cpu:%u: there is one host", index);
  memset(out, 0, sizeof *out);
  out->backend = cuzk_device_cpu.name;
  cpu_name(out->name, sizeof out->name);
  const long page = sysconf(_SC_PAGESIZE), total = sysconf(_SC_PHYS_PAGES), avail = sysconf(_SC_AVPHYS_PAGES);
  if (page > 0 && total > 0) out->memory_total = (uint64_t)total * (uint64_t)page;
  if (page > 0 && avail > 0) out->memory_free = (uint64_t)avail * (uint64_t)page;
  return CUZK_OK;
}

static enum cuzk_status cpu_open(struct cuzk_device **out, unsigned index, struct cuzk_pool *pool, uint64_t memory_limit,
                                 struct cuzk_detail *d) {
  (void)memory_limit; /* its memory is the host's: the caller's budget counts it */
  *out = NULL;
  if (index != 0) return cuzk_fail(d, CUZK_E_ARG, "cpu:%u: there is one host", index);
  struct cuzk_device *dev = cuzk_calloc(1, sizeof *dev);
  if (!dev) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a device");
  dev->pool = pool;
  *out = dev;
  return CUZK_OK;
}

static void cpu_close(struct cuzk_device **dev) {
  cuzk_free(*dev);
  *dev = NULL;
}

static enum cuzk_status cpu_key_create(struct cuzk_device_key **out, struct cuzk_device *dev, const struct cuzk_params *params,
                                       const struct cuzk_compact *circuit, const struct cuzk_shape *shape,
                                       const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_compact_info info;
  (void)progress;
  *out = NULL;
  const enum cuzk_status st = cuzk_params_match(params, shape, d);
  if (st != CUZK_OK) return st;
  cuzk_compact_info(&info, circuit);
  if (info.n_inputs != shape->n_inputs || info.n_aux != shape->n_aux || info.n_rows != shape->n_rows)
    return cuzk_fail(d, CUZK_E_MISMATCH, "%s: the compact circuit is of another shape", info.name);
  struct cuzk_device_key *key = cuzk_calloc(1, sizeof *key);
  if (!key) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a key");
  *key = (struct cuzk_device_key){dev, params, circuit, shape};
  *out = key;
  return CUZK_OK;
}

static void cpu_key_destroy(struct cuzk_device_key **key) {
  cuzk_free(*key);
  *key = NULL;
}

static enum cuzk_key_tier cpu_key_tier(const struct cuzk_device_key *key) {
  (void)key;
  return CUZK_KEY_MAPPED;
}

static uint64_t cpu_key_bytes(const struct cuzk_device_key *key) {
  (void)key;
  return 0;
}

/* The witness is counted by whoever makes it. */
static void cpu_work_bytes(const struct cuzk_shape *shape, uint64_t *peak, uint64_t *after) {
  const uint64_t rows = (uint64_t)1 << cuzk_shape_log2_domain(shape);
  const uint64_t sums = rows < SUM_BYTES_MAX / SUM_BYTES_POINT ? rows * SUM_BYTES_POINT : SUM_BYTES_MAX;
  *after = sizeof(struct cuzk_device_work);
  *peak = *after + 3 * sizeof(cuzk_fr) * rows + sizeof(cuzk_fr) * rows / 2 + sums; /* half: tables of the transforms */
}

static enum cuzk_status cpu_start(struct cuzk_device_work **out, struct cuzk_device_key *key, struct cuzk_packed *z, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  *out = NULL;
  struct cuzk_device_work *w = NULL;
  if (z->n_inputs != key->shape->n_inputs || z->n_aux != key->shape->n_aux)
    st = cuzk_fail(d, CUZK_E_MISMATCH, "the witness has %u public and %u private values, the circuit %u and %u", z->n_inputs, z->n_aux,
                   key->shape->n_inputs, key->shape->n_aux);
  else if (!(w = cuzk_calloc(1, sizeof *w)))
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a partition's work");
  if (st != CUZK_OK) {
    cuzk_packed_clear(z);
    return st;
  }
  w->key = key;
  w->z = *z;
  memset(z, 0, sizeof *z);
  *out = w;
  return CUZK_OK;
}

struct watch {
  const atomic_bool *stop;
  const struct cuzk_progress *progress;
};

static bool go_on(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  const struct watch *w = user;
  if (w->stop && atomic_load_explicit(w->stop, memory_order_relaxed)) return false;
  return cuzk_progress(w->progress, stage, done, total, unit);
}

static void cpu_watch(struct cuzk_device_work *w, const struct cuzk_progress *progress) { w->watched = progress; }

static enum cuzk_status cpu_kernels(struct cuzk_device_work *w, const atomic_bool *stop, struct cuzk_detail *d) {
  const struct cuzk_device_key *key = w->key;
  struct watch watch = {stop, w->watched};
  const struct cuzk_progress both = {go_on, &watch}, *progress = stop || w->watched ? &both : NULL;
  const size_t bytes = sizeof(cuzk_fr) << cuzk_shape_log2_domain(key->shape);
  struct cuzk_compact_eval e = {.p = &w->z, .check = true};
  enum cuzk_status st;
  const double start = seconds();
  for (int i = 0; i < 3; i++) {
    e.abc[i] = cuzk_big_alloc(bytes);
    if (e.abc[i]) continue;
    st = cuzk_fail(d, CUZK_E_NOMEM, "%zu bytes for the values of the constraints", 3 * bytes);
    goto out;
  }
  CUZK_TRY(cuzk_compact_evaluate(key->circuit, &e, key->dev->pool, progress, d));
  if (e.bad_row != UINT64_MAX) {
    st = cuzk_fail(d, CUZK_E_UNSAT, "constraint %llu in %s does not hold", (unsigned long long)e.bad_row, e.region);
    goto out;
  }
  w->rows = seconds() - start;
  const struct cuzk_witness z = {.inputs = w->z.inputs, .packed = &w->z, .n_inputs = w->z.n_inputs, .n_aux = w->z.n_aux};
  CUZK_TRY(cuzk_groth16_sums(&w->sums, key->params, key->shape, &z, e.abc, key->dev->pool, progress, &w->times, d));
  w->summed = true;
  cuzk_packed_clear(&w->z);
out:
  for (int i = 0; i < 3; i++) cuzk_big_free(e.abc[i], bytes);
  return st;
}

static void cpu_abort(struct cuzk_device_work **w) {
  if (!*w) return;
  cuzk_packed_clear(&(*w)->z);
  cuzk_secret_clear(&(*w)->sums, sizeof(*w)->sums);
  cuzk_free(*w);
  *w = NULL;
}

static void cpu_times(const struct cuzk_device_work *w, struct cuzk_work_times *out) {
  const struct cuzk_prove_times *t = &w->times;
  *out = (struct cuzk_work_times){.rows = 1e3 * w->rows,
                                  .transforms = 1e3 * t->h_poly,
                                  .h = 1e3 * t->msm_h,
                                  .l = 1e3 * t->msm_l,
                                  .a = 1e3 * t->msm_a,
                                  .b_g1 = 1e3 * t->msm_b_g1,
                                  .b_g2 = 1e3 * t->msm_b_g2};
}

static enum cuzk_status cpu_finish(struct cuzk_device_work **work, const cuzk_fr *r, const cuzk_fr *s, struct cuzk_proof *out,
                                   struct cuzk_work_times *times, struct cuzk_detail *d) {
  struct cuzk_device_work *w = *work;
  enum cuzk_status st = CUZK_OK;
  const double start = seconds();
  if (w->summed)
    cuzk_groth16_assemble(out, &w->key->params->vk, &w->sums, r, s);
  else
    st = cuzk_fail(d, CUZK_E_INTERNAL, "a partition was finished before its sums");
  if (times) {
    cpu_times(w, times);
    times->finish = 1e3 * (seconds() - start);
  }
  cpu_abort(work);
  return st;
}

const struct cuzk_device_ops cuzk_device_cpu = {
    .name = "cpu",
    .count = cpu_count,
    .describe = cpu_describe,
    .open = cpu_open,
    .close = cpu_close,
    .key_create = cpu_key_create,
    .key_destroy = cpu_key_destroy,
    .key_tier = cpu_key_tier,
    .key_bytes = cpu_key_bytes,
    .work_bytes = cpu_work_bytes,
    .start = cpu_start,
    .kernels = cpu_kernels,
    .finish = cpu_finish,
    .abort = cpu_abort,
    .watch = cpu_watch,
    .times = cpu_times,
};
