/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "engine/fake.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "hash/sha256.h"

#define N_KINDS 4
#define GIB (UINT64_C(1) << 30)
/* How soon a stop flag is seen. */
#define POLL_VIRTUAL CUZK_SECOND
#define POLL_REAL (10 * CUZK_MS)

static const char *const circuit_ids[N_KINDS] = {"porep-32g", "snap-32g", "wpost-32g", "winning-32g"};
static const struct cuzk_kind_names kind_names[N_KINDS] = {
    {"porep-c2", "porep_c2", 1, 2},
    {"snap-update", "snap_update", 2, 2},
    {"window-post", "window_post", 3, 3},
    {"winning-post", "winning_post", 4, 4},
};
static const char *const stage_names[CUZK_FAKE_STAGES] = {"open", "load", "synth", "start", "kernels", "finish", "verify"};

/* Calls of all stages for one partition of one request; LOAD: digest 0. */
struct calls {
  uint8_t digest[32];
  unsigned partition;
  bool used;
  unsigned n[CUZK_FAKE_STAGES];
};

struct device {
  bool lost, busy;
  unsigned resets;     /* tried */
  uint64_t generation; /* grows with each reset that worked */
  uint64_t busy_ns;
};

struct cuzk_fake {
  struct cuzk_fake_options o;
  pthread_mutex_t lock; /* guards what follows */
  struct cuzk_cond cond;
  bool released;
  struct calls *calls;
  size_t n_calls, size; /* open addressing; size is a power of two */
  unsigned alive[4];
  unsigned misuses;
  struct device *devices;
};

struct fake_inputs {
  struct cuzk_request *rq;
  unsigned kind;
  unsigned users; /* works and pendings; under the lock */
};
struct fake_srs {
  unsigned kind;
  unsigned users;
};
struct fake_work { /* also the pending */
  struct fake_inputs *in;
  struct fake_srs *srs;
  struct cuzk_request *rq; /* its own reference: a caller that closes the inputs early is told so, not crashed */
  unsigned kind, partition;
  unsigned device; /* once started */
  bool bad;
};

void cuzk_fake_proof(uint8_t out[CUZK_PROOF_LEN], const struct cuzk_request *rq, unsigned partition) {
  uint8_t link[32 + 32 + 4] = {0};
  memcpy(link + 32, rq->digest, 32);
  for (unsigned i = 0; i < 4; i++) link[64 + i] = (uint8_t)(partition >> (8 * i));
  for (unsigned i = 0; i < CUZK_PROOF_LEN / 32; i++) {
    cuzk_sha256(out + (size_t)32 * i, link, sizeof link);
    memcpy(link, out + (size_t)32 * i, 32);
  }
}

/* ---- counting ---- */

static uint64_t mix(uint64_t z) {
  z += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static const uint8_t *digest_of(const struct cuzk_request *rq) {
  static const uint8_t none[32];
  return rq ? rq->digest : none;
}

static uint64_t place_hash(const uint8_t digest[32], unsigned partition) {
  uint64_t h = partition;
  for (unsigned i = 0; i < 32; i += 8) {
    uint64_t limb;
    memcpy(&limb, digest + i, sizeof limb);
    h = mix(h ^ limb);
  }
  return h;
}

static struct calls *find(struct calls *table, size_t size, const uint8_t digest[32], unsigned partition) {
  size_t at = (size_t)place_hash(digest, partition) & (size - 1);
  while (table[at].used && (table[at].partition != partition || memcmp(table[at].digest, digest, 32) != 0)) at = (at + 1) & (size - 1);
  return &table[at];
}

/* Counts a call. The number of those before it, or UINT32_MAX without memory. */
static unsigned count(struct cuzk_fake *f, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition) {
  if (2 * (f->n_calls + 1) > f->size) {
    size_t size = f->size ? 2 * f->size : 64;
    struct calls *bigger = cuzk_calloc(size, sizeof *bigger);
    if (!bigger) return UINT32_MAX;
    for (size_t i = 0; i < f->size; i++)
      if (f->calls[i].used) *find(bigger, size, f->calls[i].digest, f->calls[i].partition) = f->calls[i];
    cuzk_free(f->calls);
    f->calls = bigger;
    f->size = size;
  }
  struct calls *c = find(f->calls, f->size, digest_of(rq), partition);
  if (!c->used) {
    c->used = true;
    c->partition = partition;
    memcpy(c->digest, digest_of(rq), 32);
    f->n_calls++;
  }
  return c->n[stage]++;
}

unsigned cuzk_fake_calls(struct cuzk_fake *f, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition) {
  (void)pthread_mutex_lock(&f->lock);
  unsigned n = f->size ? find(f->calls, f->size, digest_of(rq), partition)->n[stage] : 0;
  (void)pthread_mutex_unlock(&f->lock);
  return n;
}

void cuzk_fake_alive(struct cuzk_fake *f, unsigned out[4]) {
  (void)pthread_mutex_lock(&f->lock);
  memcpy(out, f->alive, sizeof f->alive);
  (void)pthread_mutex_unlock(&f->lock);
}

unsigned cuzk_fake_misuses(struct cuzk_fake *f) {
  (void)pthread_mutex_lock(&f->lock);
  unsigned n = f->misuses;
  (void)pthread_mutex_unlock(&f->lock);
  return n;
}

uint64_t cuzk_fake_busy_ns(struct cuzk_fake *f, unsigned device) {
  (void)pthread_mutex_lock(&f->lock);
  uint64_t ns = device < f->o.n_devices ? f->devices[device].busy_ns : 0;
  (void)pthread_mutex_unlock(&f->lock);
  return ns;
}

/* ---- a stage: its time and its fault ---- */

static bool stopped(const atomic_bool *stop) { return stop && atomic_load(stop); }

/* Waits for `ns`, or for the end of a hang if forever; the lock is held. True: to the end (of the time). */
static bool pass(struct cuzk_fake *f, uint64_t ns, bool forever, int device, const atomic_bool *stop) {
  struct cuzk_clock *c = f->o.clock;
  uint64_t end = forever ? CUZK_NEVER : cuzk_clock_now(c) + ns;
  uint64_t poll = cuzk_clock_is_virtual(c) ? POLL_VIRTUAL : POLL_REAL;
  uint64_t generation = device >= 0 ? f->devices[device].generation : 0;
  for (;;) {
    if (stopped(stop)) return false;
    uint64_t now = cuzk_clock_now(c);
    if (now >= end) return true;
    if (forever && (f->released || (device >= 0 && f->devices[device].generation != generation))) return false;
    uint64_t until = stop && end - now > poll ? now + poll : end;
    (void)cuzk_cond_wait(&f->cond, &f->lock, until);
  }
}

static enum cuzk_status plain_error(enum cuzk_fake_stage stage) {
  switch (stage) {
    case CUZK_FAKE_START:
    case CUZK_FAKE_KERNELS:
    case CUZK_FAKE_FINISH: return CUZK_E_DEVICE;
    case CUZK_FAKE_LOAD: return CUZK_E_IO;
    default: return CUZK_E_INTERNAL;
  }
}

static enum cuzk_fake_fault fault_of(struct cuzk_fake *f, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition,
                                     int device) {
  return f->o.fault ? f->o.fault(f->o.user, stage, rq, partition, device) : CUZK_FAKE_OK;
}

/* The result of a fault other than HANG, OK and BAD_PROOF. */
static enum cuzk_status fault_status(struct cuzk_fake *f, enum cuzk_fake_fault fault, enum cuzk_fake_stage stage, unsigned partition,
                                     int device, struct cuzk_detail *d) {
  enum cuzk_status st = plain_error(stage);
  const char *what = "failed";
  if (fault == CUZK_FAKE_OOM) {
    st = CUZK_E_NOMEM;
    what = "out of memory";
  } else if (fault == CUZK_FAKE_LOST && device >= 0) {
    (void)pthread_mutex_lock(&f->lock);
    f->devices[device].lost = true;
    (void)pthread_mutex_unlock(&f->lock);
    st = CUZK_E_DEVICE;
    what = "device lost";
  } else if (fault == CUZK_FAKE_BAD_INPUT) {
    st = stage == CUZK_FAKE_SYNTH ? CUZK_E_UNSAT : stage == CUZK_FAKE_OPEN || stage == CUZK_FAKE_LOAD ? CUZK_E_FORMAT : CUZK_E_INTERNAL;
    what = "bad input";
  }
  return cuzk_fail(d, st, "fake prover: %s of partition %u on device %d: %s, as programmed", stage_names[stage], partition, device, what);
}

/* Runs a stage. The fault comes at its end, except for a device that is lost already. *bad is set for BAD_PROOF; NULL: not asked. */
static enum cuzk_status stage_run(struct cuzk_fake *f, enum cuzk_fake_stage stage, unsigned kind, const struct cuzk_request *rq,
                                  unsigned partition, int device, const atomic_bool *stop, bool *bad, struct cuzk_detail *d) {
  enum cuzk_fake_fault fault = stage == CUZK_FAKE_VERIFY ? CUZK_FAKE_OK : fault_of(f, stage, rq, partition, device);
  const struct cuzk_fake_kind *k = &f->o.kind[kind];
  (void)pthread_mutex_lock(&f->lock);
  unsigned attempt = count(f, stage, rq, partition);
  if (attempt == UINT32_MAX) {
    (void)pthread_mutex_unlock(&f->lock);
    return cuzk_fail(d, CUZK_E_NOMEM, "fake prover: no memory to count a call");
  }
  if (device >= 0 && f->devices[device].lost) {
    (void)pthread_mutex_unlock(&f->lock);
    return cuzk_fail(d, CUZK_E_DEVICE, "fake prover: device %d is lost", device);
  }
  uint64_t ns = k->stage_ns[stage];
  uint64_t spread = k->stage_spread_ns[stage];
  if (spread > 0) {
    uint64_t draw = mix(mix(f->o.seed ^ mix(((uint64_t)stage << 32) | attempt)) ^ place_hash(digest_of(rq), partition));
    ns += spread == UINT64_MAX ? draw : draw % (spread + 1);
  }
  if (f->o.time) ns = f->o.time(f->o.user, stage, rq, partition, ns);
  bool whole = pass(f, ns, fault == CUZK_FAKE_HANG, device, stop);
  (void)pthread_mutex_unlock(&f->lock);
  if (!whole && stopped(stop)) return cuzk_fail(d, CUZK_E_CANCELLED, "fake prover: %s of partition %u stopped", stage_names[stage], partition);
  if (fault == CUZK_FAKE_OK) return CUZK_OK;
  if (fault == CUZK_FAKE_BAD_PROOF) {
    if (bad) *bad = true;
    return CUZK_OK;
  }
  return fault_status(f, fault, stage, partition, device, d);
}

static void alive(struct cuzk_fake *f, unsigned what, int by) {
  (void)pthread_mutex_lock(&f->lock);
  f->alive[what] += (unsigned)by;
  (void)pthread_mutex_unlock(&f->lock);
}

/* ---- the operations ---- */

static unsigned op_n_devices(void *self) { return ((struct cuzk_fake *)self)->o.n_devices; }

static void op_device_info(void *self, unsigned device, struct cuzk_device_info *out) {
  struct cuzk_fake *f = self;
  *out = (struct cuzk_device_info){.ordinal = device, .memory_total = 16 * GIB, .memory_free = 16 * GIB};
  (void)snprintf(out->name, sizeof out->name, "fake device %u", device);
  (void)snprintf(out->uuid, sizeof out->uuid, "FAKE-%08x", device);
  (void)snprintf(out->pci, sizeof out->pci, "0000:%02x:00.0", device + 1);
  if (device >= f->o.n_devices) return;
  (void)pthread_mutex_lock(&f->lock);
  out->lost = f->devices[device].lost;
  (void)pthread_mutex_unlock(&f->lock);
}

static enum cuzk_status op_device_reset(void *self, unsigned device, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  if (device >= f->o.n_devices) return cuzk_fail(d, CUZK_E_ARG, "fake prover: device %u of %u", device, f->o.n_devices);
  (void)pthread_mutex_lock(&f->lock);
  struct device *v = &f->devices[device];
  bool ok = v->resets++ >= f->o.failing_resets;
  if (ok) {
    v->lost = false;
    v->generation++;
    cuzk_cond_broadcast(&f->cond);
  }
  (void)pthread_mutex_unlock(&f->lock);
  return ok ? CUZK_OK : cuzk_fail(d, CUZK_E_DEVICE, "fake prover: device %u does not come back, as programmed", device);
}

static enum cuzk_status op_admit(void *self, const struct cuzk_request *rq, struct cuzk_plan *plan, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  *plan = (struct cuzk_plan){0};
  if (rq->f.kind < 1 || rq->f.kind > N_KINDS) return cuzk_fail(d, CUZK_E_ARG, "proof_kind: %u is not a kind", rq->f.kind);
  unsigned row = rq->f.kind - 1;
  const struct cuzk_fake_kind *k = &f->o.kind[row];
  if (k->n_partitions == 0) return cuzk_fail(d, CUZK_E_UNSUPPORTED, "proof_kind: %s is not offered", kind_names[row].rpc_name);
  if (k->no_srs_file) return cuzk_fail(d, CUZK_E_NOENT, "no parameter file of %s", circuit_ids[row]);
  plan->kind = row;
  (void)snprintf(plan->circuit_id, sizeof plan->circuit_id, "%s", circuit_ids[row]);
  plan->n_partitions = k->n_partitions;
  plan->inputs_bytes = k->inputs_bytes;
  plan->srs_bytes = k->srs_bytes;
  memcpy(plan->partition_bytes, k->partition_bytes, sizeof plan->partition_bytes);
  return CUZK_OK;
}

static enum cuzk_status op_open(void *self, struct cuzk_request *rq, const struct cuzk_plan *plan, void **inputs, const atomic_bool *stop,
                                struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  *inputs = NULL;
  enum cuzk_status st = stage_run(f, CUZK_FAKE_OPEN, plan->kind, rq, 0, -1, stop, NULL, d);
  if (st != CUZK_OK) return st;
  struct fake_inputs *in = cuzk_malloc(sizeof *in);
  if (!in) return cuzk_fail(d, CUZK_E_NOMEM, "fake prover: no memory for inputs");
  *in = (struct fake_inputs){.rq = cuzk_request_ref(rq), .kind = plan->kind};
  alive(f, 0, 1);
  *inputs = in;
  return CUZK_OK;
}

static void op_close(void *self, void *inputs) {
  struct cuzk_fake *f = self;
  struct fake_inputs *in = inputs;
  if (!in) return;
  (void)pthread_mutex_lock(&f->lock);
  f->alive[0]--;
  bool used = in->users > 0;
  if (used) f->misuses++;
  (void)pthread_mutex_unlock(&f->lock);
  cuzk_request_unref(&in->rq);
  if (!used) cuzk_free(in); /* a misuse leaks, so that it does not become a use after free */
}

static const char *op_circuit_at(void *self, size_t i) {
  (void)self;
  return i < N_KINDS ? circuit_ids[i] : NULL;
}

static enum cuzk_status circuit_row(struct cuzk_fake *f, const char *circuit_id, unsigned *row, struct cuzk_detail *d) {
  for (unsigned i = 0; i < N_KINDS; i++) {
    if (strcmp(circuit_ids[i], circuit_id) != 0) continue;
    if (f->o.kind[i].no_srs_file) return cuzk_fail(d, CUZK_E_NOENT, "no parameter file of %s", circuit_id);
    *row = i;
    return CUZK_OK;
  }
  return cuzk_fail(d, CUZK_E_ARG, "circuit_id: %.40s is not known", circuit_id);
}

static enum cuzk_status op_srs_size(void *self, const char *circuit_id, uint64_t *bytes, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  unsigned row = 0;
  enum cuzk_status st = circuit_row(f, circuit_id, &row, d);
  *bytes = st == CUZK_OK ? f->o.kind[row].srs_bytes : 0;
  return st;
}

static enum cuzk_status op_srs_load(void *self, const char *circuit_id, void **srs, const atomic_bool *stop, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  *srs = NULL;
  unsigned row = 0;
  enum cuzk_status st = circuit_row(f, circuit_id, &row, d);
  if (st == CUZK_OK) st = stage_run(f, CUZK_FAKE_LOAD, row, NULL, row, -1, stop, NULL, d);
  if (st != CUZK_OK) return st;
  struct fake_srs *s = cuzk_malloc(sizeof *s);
  if (!s) return cuzk_fail(d, CUZK_E_NOMEM, "fake prover: no memory for parameters");
  *s = (struct fake_srs){.kind = row};
  alive(f, 1, 1);
  *srs = s;
  return CUZK_OK;
}

static void op_srs_unload(void *self, void *srs) {
  struct cuzk_fake *f = self;
  struct fake_srs *s = srs;
  if (!s) return;
  (void)pthread_mutex_lock(&f->lock);
  f->alive[1]--;
  bool used = s->users > 0;
  if (used) f->misuses++;
  (void)pthread_mutex_unlock(&f->lock);
  if (!used) cuzk_free(s);
}

static void end_work(struct cuzk_fake *f, struct fake_work *w, unsigned what) {
  if (!w) return;
  (void)pthread_mutex_lock(&f->lock);
  f->alive[what]--;
  w->in->users--;
  w->srs->users--;
  (void)pthread_mutex_unlock(&f->lock);
  cuzk_request_unref(&w->rq);
  cuzk_free(w);
}

static void op_drop(void *self, void *work) { end_work(self, work, 2); }

static enum cuzk_status op_synth(void *self, void *inputs, void *srs, unsigned partition, void **work, const atomic_bool *stop,
                                 struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  struct fake_inputs *in = inputs;
  struct fake_srs *s = srs;
  *work = NULL;
  if (partition >= f->o.kind[in->kind].n_partitions || s->kind != in->kind)
    return cuzk_fail(d, CUZK_E_INTERNAL, "fake prover: partition %u of %s with the parameters of %s", partition, circuit_ids[in->kind],
                     circuit_ids[s->kind]);
  struct fake_work *w = cuzk_malloc(sizeof *w);
  if (!w) return cuzk_fail(d, CUZK_E_NOMEM, "fake prover: no memory for a work");
  *w = (struct fake_work){.in = in, .srs = s, .rq = cuzk_request_ref(in->rq), .kind = in->kind, .partition = partition};
  (void)pthread_mutex_lock(&f->lock);
  in->users++;
  s->users++;
  f->alive[2]++;
  (void)pthread_mutex_unlock(&f->lock);
  enum cuzk_status st = stage_run(f, CUZK_FAKE_SYNTH, in->kind, in->rq, partition, -1, stop, &w->bad, d);
  if (st != CUZK_OK) {
    end_work(f, w, 2);
    return st;
  }
  *work = w;
  return CUZK_OK;
}

static enum cuzk_status op_start(void *self, void *work, unsigned device, void **pending, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  struct fake_work *w = work;
  *pending = NULL;
  enum cuzk_status st = device < f->o.n_devices ? stage_run(f, CUZK_FAKE_START, w->kind, w->rq, w->partition, (int)device, NULL, &w->bad, d)
                                                : cuzk_fail(d, CUZK_E_ARG, "fake prover: device %u of %u", device, f->o.n_devices);
  if (st != CUZK_OK) {
    end_work(f, w, 2);
    return st;
  }
  w->device = device;
  (void)pthread_mutex_lock(&f->lock);
  f->alive[2]--;
  f->alive[3]++;
  (void)pthread_mutex_unlock(&f->lock);
  *pending = w;
  return CUZK_OK;
}

static enum cuzk_status op_kernels(void *self, void *pending, struct cuzk_kernel_times *t, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  struct fake_work *w = pending;
  struct device *v = &f->devices[w->device];
  *t = (struct cuzk_kernel_times){0};
  (void)pthread_mutex_lock(&f->lock);
  bool taken = v->busy;
  if (taken) f->misuses++;
  v->busy = true;
  (void)pthread_mutex_unlock(&f->lock);
  if (taken) return cuzk_fail(d, CUZK_E_INTERNAL, "fake prover: two kernels at once on device %u", w->device);
  uint64_t began = cuzk_clock_now(f->o.clock);
  enum cuzk_status st = stage_run(f, CUZK_FAKE_KERNELS, w->kind, w->rq, w->partition, (int)w->device, NULL, &w->bad, d);
  uint64_t took = cuzk_clock_now(f->o.clock) - began;
  (void)pthread_mutex_lock(&f->lock);
  v->busy = false;
  v->busy_ns += took;
  (void)pthread_mutex_unlock(&f->lock);
  /* The reference's shares: NTT and H 76 %, batch additions 20 %, tails 4 % (engine specification 8.6). */
  uint64_t ms = took / CUZK_MS;
  *t = (struct cuzk_kernel_times){.h_ms = ms * 76 / 100, .badd_ms = ms * 20 / 100, .tail_ms = ms - ms * 76 / 100 - ms * 20 / 100};
  return st;
}

static enum cuzk_status op_finish(void *self, void *pending, uint8_t proof[CUZK_PROOF_LEN], struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  struct fake_work *w = pending;
  enum cuzk_status st = stage_run(f, CUZK_FAKE_FINISH, w->kind, w->rq, w->partition, (int)w->device, NULL, &w->bad, d);
  if (st == CUZK_OK) {
    cuzk_fake_proof(proof, w->rq, w->partition);
    if (w->bad) proof[0] ^= 1;
  }
  end_work(f, w, 3);
  return st;
}

static void op_abort(void *self, void *pending) { end_work(self, pending, 3); }

static enum cuzk_status op_verify(void *self, void *inputs, void *srs, const uint8_t *proofs, unsigned n, bool *ok, struct cuzk_detail *d) {
  struct cuzk_fake *f = self;
  struct fake_inputs *in = inputs;
  (void)srs;
  for (unsigned i = 0; i < n; i++) ok[i] = false;
  enum cuzk_status st = stage_run(f, CUZK_FAKE_VERIFY, in->kind, in->rq, 0, -1, NULL, NULL, d);
  for (unsigned i = 0; st == CUZK_OK && i < n; i++) {
    uint8_t right[CUZK_PROOF_LEN];
    cuzk_fake_proof(right, in->rq, i);
    enum cuzk_fake_fault fault = fault_of(f, CUZK_FAKE_VERIFY, in->rq, i, -1);
    if (fault == CUZK_FAKE_HANG) {
      (void)pthread_mutex_lock(&f->lock);
      (void)pass(f, 0, true, -1, NULL);
      (void)pthread_mutex_unlock(&f->lock);
    }
    if (fault != CUZK_FAKE_OK && fault != CUZK_FAKE_BAD_PROOF) st = fault_status(f, fault, CUZK_FAKE_VERIFY, i, -1, d);
    ok[i] = fault == CUZK_FAKE_OK && memcmp(right, proofs + (size_t)CUZK_PROOF_LEN * i, CUZK_PROOF_LEN) == 0;
  }
  return st;
}

static const struct cuzk_prover_ops ops = {
    .kinds = kind_names,
    .n_devices = op_n_devices,
    .device_info = op_device_info,
    .device_reset = op_device_reset,
    .admit = op_admit,
    .open = op_open,
    .close = op_close,
    .circuit_at = op_circuit_at,
    .srs_size = op_srs_size,
    .srs_load = op_srs_load,
    .srs_unload = op_srs_unload,
    .synth = op_synth,
    .drop = op_drop,
    .start = op_start,
    .kernels = op_kernels,
    .finish = op_finish,
    .abort = op_abort,
    .verify = op_verify,
};

struct cuzk_prover cuzk_fake_prover(struct cuzk_fake *f) { return (struct cuzk_prover){.ops = &ops, .self = f}; }

/* ---- life ---- */

void cuzk_fake_reference_times(struct cuzk_fake_options *o) {
  /* Constraints in thousands, partitions, parameters in MiB: engine specification 8.10. */
  static const struct {
    uint64_t kilo_constraints;
    unsigned n_partitions;
    uint64_t srs_mib, inputs_mib;
  } row[N_KINDS] = {{130279, 10, 44 * 1024, 40}, {81000, 16, 33 * 1024, 8}, {125000, 1, 57 * 1024, 8}, {3500, 1, 184, 1}};
  for (unsigned i = 0; i < N_KINDS; i++) {
    const uint64_t kilo = row[i].kilo_constraints, porep = row[0].kilo_constraints;
    struct cuzk_fake_kind *k = &o->kind[i];
    *k = (struct cuzk_fake_kind){.n_partitions = row[i].n_partitions, .srs_bytes = row[i].srs_mib << 20, .inputs_bytes = row[i].inputs_mib << 20};
    k->stage_ns[CUZK_FAKE_OPEN] = 300 * CUZK_MS * row[i].inputs_mib / row[0].inputs_mib;
    k->stage_ns[CUZK_FAKE_LOAD] = 15 * CUZK_SECOND * row[i].srs_mib / row[0].srs_mib;
    k->stage_ns[CUZK_FAKE_SYNTH] = 29 * CUZK_SECOND * kilo / porep;
    k->stage_spread_ns[CUZK_FAKE_SYNTH] = 7 * CUZK_SECOND * kilo / porep;
    k->stage_ns[CUZK_FAKE_START] = 1300 * CUZK_MS * kilo / porep;
    k->stage_ns[CUZK_FAKE_KERNELS] = 3500 * CUZK_MS * kilo / porep;
    k->stage_ns[CUZK_FAKE_FINISH] = 700 * CUZK_MS * kilo / porep;
    k->stage_ns[CUZK_FAKE_VERIFY] = 50 * CUZK_MS;
    /* a, b, c; the witness; what the prover's split vectors add up to the measured 20 GiB a PoRep partition (8.9). */
    k->partition_bytes[CUZK_MEM_ABC] = 96 * 1000 * kilo;
    k->partition_bytes[CUZK_MEM_AUX] = 32 * 1000 * kilo;
    k->partition_bytes[CUZK_MEM_PROVER] = 37 * 1000 * kilo;
  }
}

enum cuzk_status cuzk_fake_create(struct cuzk_fake **out, const struct cuzk_fake_options *o) {
  *out = NULL;
  struct cuzk_fake *f = cuzk_calloc(1, sizeof *f);
  if (!f) return CUZK_E_NOMEM;
  f->o = *o;
  f->devices = cuzk_calloc(o->n_devices, sizeof *f->devices);
  if (!f->devices || pthread_mutex_init(&f->lock, NULL) != 0) {
    cuzk_free(f->devices);
    cuzk_free(f);
    return CUZK_E_NOMEM;
  }
  if (cuzk_cond_init(&f->cond, o->clock) != CUZK_OK) {
    (void)pthread_mutex_destroy(&f->lock);
    cuzk_free(f->devices);
    cuzk_free(f);
    return CUZK_E_NOMEM;
  }
  *out = f;
  return CUZK_OK;
}

void cuzk_fake_release(struct cuzk_fake *f) {
  (void)pthread_mutex_lock(&f->lock);
  f->released = true;
  cuzk_cond_broadcast(&f->cond);
  (void)pthread_mutex_unlock(&f->lock);
}

void cuzk_fake_destroy(struct cuzk_fake **fp) {
  struct cuzk_fake *f = *fp;
  if (!f) return;
  *fp = NULL;
  cuzk_cond_clear(&f->cond);
  (void)pthread_mutex_destroy(&f->lock);
  cuzk_free(f->calls);
  cuzk_free(f->devices);
  cuzk_free(f);
}
