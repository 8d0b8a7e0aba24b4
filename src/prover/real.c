/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "prover/real.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "groth16/param_files.h"
#include "prover/internal.h"

/* ---- the four kinds ---- */

static const struct cuzk_kind_names kinds[4] = {
    {"porep-c2", "porep_c2", 1, 2},
    {"snap-update", "snap_update", 2, 2},
    {"window-post", "window_post", 3, 3},
    {"winning-post", "winning_post", 4, 4},
};

/* ---- devices ---- */

static bool go_on(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  const atomic_bool *stop = user;
  (void)stage;
  (void)done;
  (void)total;
  (void)unit;
  return !atomic_load_explicit(stop, memory_order_relaxed);
}

const struct cuzk_progress *real_progress(struct cuzk_progress *out, const atomic_bool *stop) {
  if (!stop) return NULL;
  *out = (struct cuzk_progress){go_on, (void *)(uintptr_t)stop};
  return out;
}

static enum cuzk_status add_device(struct cuzk_prover_real *p, const struct cuzk_device_ops *ops, unsigned index,
                                   const struct cuzk_prover_real_options *o, struct cuzk_detail *d) {
  struct real_device *dev = &p->device[p->n_devices];
  for (unsigned i = 0; i < p->n_devices; i++) {
    if (p->device[i].ops == ops && p->device[i].index == index)
      return cuzk_fail(d, CUZK_E_ARG, "device %s:%u is listed twice", ops->name, index);
  }
  dev->ops = ops;
  dev->index = index;
  enum cuzk_status st = cuzk_pool_create(&dev->pool, o->device_threads);
  if (st != CUZK_OK) return cuzk_fail(d, st, "no threads for device %s:%u", ops->name, index);
  st = ops->describe(index, &dev->desc, d);
  if (st == CUZK_OK) st = ops->open(&dev->dev, index, dev->pool, o->device_memory_limit, d);
  if (st != CUZK_OK)
    cuzk_pool_destroy(&dev->pool);
  else
    p->n_devices++;
  return st;
}

/* All devices of the first backend that has any. */
static enum cuzk_status add_best(struct cuzk_prover_real *p, const struct cuzk_prover_real_options *o, struct cuzk_detail *d) {
  const struct cuzk_device_ops *ops;
  unsigned first;
  enum cuzk_status st = cuzk_device_find(&ops, &first, "auto", d);
  for (unsigned i = 0; st == CUZK_OK && i < ops->count(); i++) st = add_device(p, ops, i, o, d);
  return st;
}

static enum cuzk_status add_devices(struct cuzk_prover_real *p, const struct cuzk_prover_real_options *o, struct cuzk_detail *d) {
  size_t most = o->n_devices;
  for (size_t i = 0; cuzk_device_backend_at(i); i++) most += cuzk_device_backend_at(i)->count();
  p->device = cuzk_calloc(most, sizeof *p->device);
  if (!p->device) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu devices", most);
  if (o->n_devices == 0) return add_best(p, o, d);
  for (unsigned i = 0; i < o->n_devices; i++) {
    const struct cuzk_device_ops *ops;
    unsigned index;
    enum cuzk_status st;
    if (!strcmp(o->devices[i], "auto")) {
      st = add_best(p, o, d);
    } else {
      st = cuzk_device_find(&ops, &index, o->devices[i], d);
      if (st == CUZK_OK) st = add_device(p, ops, index, o, d);
    }
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

static unsigned real_n_devices(void *self) { return ((const struct cuzk_prover_real *)self)->n_devices; }

static void real_device_info(void *self, unsigned device, struct cuzk_device_info *out) {
  const struct real_device *dev = &((const struct cuzk_prover_real *)self)->device[device];
  const uint64_t keys = atomic_load(&dev->key_bytes);
  memset(out, 0, sizeof *out);
  out->ordinal = dev->index;
  (void)snprintf(out->name, sizeof out->name, "%s", dev->desc.name);
  (void)snprintf(out->uuid, sizeof out->uuid, "%s", dev->desc.uuid);
  (void)snprintf(out->pci, sizeof out->pci, "%s", dev->desc.pci);
  out->memory_total = dev->desc.memory_total;
  out->memory_free = dev->desc.memory_free > keys ? dev->desc.memory_free - keys : 0;
  out->lost = atomic_load(&dev->lost);
}

static enum cuzk_status real_device_reset(void *self, unsigned device, struct cuzk_detail *d) {
  struct cuzk_prover_real *p = self;
  struct real_device *dev = &p->device[device];
  const unsigned busy = atomic_load(&dev->pending);
  if (busy) return cuzk_fail(d, CUZK_E_DEVICE, "device %u (%s) still has %u partitions", device, dev->desc.name, busy);
  real_drop_keys(p, device);
  if (dev->dev) dev->ops->close(&dev->dev);
  const enum cuzk_status st = dev->ops->open(&dev->dev, dev->index, dev->pool, p->device_memory_limit, d);
  atomic_store(&dev->lost, st != CUZK_OK);
  return st == CUZK_OK || st == CUZK_E_DEVICE ? st : CUZK_E_DEVICE;
}

/* A device that failed is lost until a reset. */
static enum cuzk_status note(struct real_device *dev, enum cuzk_status st) {
  if (st == CUZK_E_DEVICE) atomic_store(&dev->lost, true);
  return st;
}

static const char *real_circuit_at(void *self, size_t i) {
  (void)self;
  return i < CUZK_PROVER_ROWS ? cuzk_prover_rows[i].id : NULL;
}

/* ---- partitions ---- */

struct work {
  struct real_srs *srs;
  struct cuzk_packed z;
};

struct pending {
  struct real_device *dev;
  struct real_srs *srs;
  struct cuzk_device_work *work;
};

static void real_drop(void *self, void *work) {
  struct work *w = work;
  (void)self;
  if (!w) return;
  cuzk_packed_clear(&w->z);
  cuzk_free(w);
}

static enum cuzk_status real_synth(void *self, void *inputs, void *srs, unsigned partition, void **work, const atomic_bool *stop,
                                   struct cuzk_detail *d) {
  struct cuzk_prover_real *p = self;
  const struct real_inputs *x = inputs;
  struct cuzk_progress watch;
  enum cuzk_status st;
  *work = NULL;
  struct work *w = cuzk_calloc(1, sizeof *w);
  if (!w) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a partition");
  w->srs = srs;
  if (w->srs->row != x->row) {
    st = cuzk_fail(d, CUZK_E_INTERNAL, "inputs of %s with the parameters of %s", x->row->id, w->srs->row->id);
    goto out;
  }
  const void *witness = cuzk_inputs_witness(x->in, partition);
  if (!witness) {
    st = cuzk_fail(d, CUZK_E_ARG, "partition %u of %u (counted from 0)", partition, x->in->n_partitions);
    goto out;
  }
  CUZK_TRY(cuzk_circuit_assign_packed(x->in->circuit, witness, &w->z, p->pool, real_progress(&watch, stop), d));
  if (stop && atomic_load(stop)) { /* a small circuit may be done before anybody asks */
    st = cuzk_fail(d, CUZK_E_CANCELLED, "cancelled during synthesis");
    goto out;
  }
  /* the verifier derives the public inputs from the challenges: another value would make a proof that nobody accepts */
  for (size_t i = 0; i < x->n_public; i++) {
    if (cuzk_fr_eq(&x->u[partition * x->n_public + i], &w->z.inputs[1 + i])) continue;
    st = cuzk_fail(d, CUZK_E_UNSAT, "partition %u: public input %zu is not what the verifier derives", partition, i);
    goto out;
  }
  *work = w;
  w = NULL;
out:
  real_drop(self, w);
  return st;
}

static enum cuzk_status real_start(void *self, void *work, unsigned device, void **pending, struct cuzk_detail *d) {
  struct cuzk_prover_real *p = self;
  struct work *w = work;
  struct real_device *dev = &p->device[device];
  struct cuzk_device_key *key;
  enum cuzk_status st;
  *pending = NULL;
  struct pending *x = cuzk_calloc(1, sizeof *x);
  if (!x) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a partition");
    goto out;
  }
  x->dev = dev;
  x->srs = w->srs;
  atomic_fetch_add(&dev->pending, 1); /* before the key is looked up: a reset does not take it away */
  st = note(dev, real_srs_key(w->srs, device, &key, NULL, d));
  if (st == CUZK_OK) st = note(dev, real_torn(w->srs, dev->ops->start(&x->work, key, &w->z, d), d));
  if (st == CUZK_OK) {
    *pending = x;
    x = NULL;
  } else {
    dev->ops->abort(&x->work);
    atomic_fetch_sub(&dev->pending, 1);
  }
out:
  cuzk_free(x);
  real_drop(self, w);
  return st;
}

static uint64_t ms(double x) { return x > 0 ? (uint64_t)(x + 0.5) : 0; }

static enum cuzk_status real_kernels(void *self, void *pending, struct cuzk_kernel_times *t, struct cuzk_detail *d) {
  struct cuzk_prover_real *p = self;
  struct pending *x = pending;
  memset(t, 0, sizeof *t);
  const enum cuzk_status st = x->dev->ops->kernels(x->work, &p->interrupted, d);
  if (st == CUZK_OK && x->dev->ops->times) {
    struct cuzk_work_times w = {0};
    x->dev->ops->times(x->work, &w);
    t->upload_ms = ms(w.upload);
    t->h_ms = ms(w.rows + w.transforms + w.h);
    t->badd_ms = ms(w.l + w.a + w.b_g1);
    t->tail_ms = ms(w.b_g2);
  }
  return note(x->dev, real_torn(x->srs, st, d));
}

static void real_abort(void *self, void *pending) {
  struct pending *x = pending;
  (void)self;
  if (!x) return;
  x->dev->ops->abort(&x->work);
  atomic_fetch_sub(&x->dev->pending, 1);
  cuzk_free(x);
}

static enum cuzk_status real_finish(void *self, void *pending, uint8_t proof[CUZK_PROOF_LEN], struct cuzk_detail *d) {
  struct pending *x = pending;
  struct cuzk_proof out;
  struct cuzk_work_times times;
  cuzk_fr rs[2]; /* fresh for every attempt: two proofs of one witness with the same values would give it away */
  enum cuzk_status st = cuzk_fr_random(&rs[0]);
  if (st == CUZK_OK) st = cuzk_fr_random(&rs[1]);
  if (st != CUZK_OK)
    (void)cuzk_fail(d, st, "the operating system gives no randomness");
  else
    st = note(x->dev, x->dev->ops->finish(&x->work, &rs[0], &rs[1], &out, &times, d));
  cuzk_secret_clear(rs, sizeof rs);
  if (st == CUZK_OK) cuzk_proof_write(proof, &out);
  real_abort(self, x);
  return st;
}

/* ---- verification ---- */

static enum cuzk_status real_verify(void *self, void *inputs, void *srs, const uint8_t *bytes, unsigned n, bool *ok, struct cuzk_detail *d) {
  struct cuzk_prover_real *p = self;
  const struct real_inputs *x = inputs;
  const struct real_srs *s = srs;
  enum cuzk_status st = CUZK_OK;
  bool all = true;
  for (unsigned i = 0; i < n; i++) ok[i] = false;
  if (n != x->in->n_partitions || s->row != x->row)
    return cuzk_fail(d, CUZK_E_INTERNAL, "%u proofs of %s for %u partitions of %s", n, s->row->id, x->in->n_partitions, x->row->id);
  struct cuzk_proof *proof = cuzk_calloc(n, sizeof *proof);
  if (!proof) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %u proofs", n);
  for (unsigned i = 0; i < n; i++) {
    ok[i] = cuzk_proof_read(&proof[i], bytes + (size_t)i * CUZK_PROOF_LEN, NULL) == CUZK_OK;
    all = all && ok[i];
  }
  if (all) {
    CUZK_TRY(cuzk_groth16_verify_batch(&all, s->pvk, proof, n, x->u, x->n_public, p->pool, d));
    if (all) goto out;
  }
  for (unsigned i = 0; i < n; i++) {
    if (ok[i]) CUZK_TRY(cuzk_groth16_verify(&ok[i], s->pvk, &proof[i], x->u + i * x->n_public, x->n_public, d));
  }
out:
  cuzk_free(proof);
  return st;
}

static const struct cuzk_prover_ops ops = {
    .kinds = kinds,
    .n_devices = real_n_devices,
    .device_info = real_device_info,
    .device_reset = real_device_reset,
    .admit = real_admit,
    .open = real_open,
    .close = real_close,
    .circuit_at = real_circuit_at,
    .srs_size = real_srs_size,
    .srs_load = real_srs_load,
    .srs_unload = real_srs_unload,
    .synth = real_synth,
    .drop = real_drop,
    .start = real_start,
    .kernels = real_kernels,
    .finish = real_finish,
    .abort = real_abort,
    .verify = real_verify,
};

/* ---- life ---- */

enum cuzk_status cuzk_prover_real_create(struct cuzk_prover_real **out, const struct cuzk_prover_real_options *o, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  *out = NULL;
  struct cuzk_prover_real *p = cuzk_calloc(1, sizeof *p);
  if (!p) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a prover");
  (void)pthread_mutex_init(&p->lock, NULL);
  for (size_t i = 0; i < CUZK_PROVER_ROWS; i++) (void)pthread_mutex_init(&p->compact[i].lock, NULL);
  p->eager_keys = o->eager_keys;
  p->device_memory_limit = o->device_memory_limit;
  p->param_dir = cuzk_strdup(o->param_dir ? o->param_dir : cuzk_params_cache_dir());
  if (!o->circuit_dir || *o->circuit_dir) {
    p->circuit_dir = cuzk_strdup(o->circuit_dir ? o->circuit_dir : o->param_dir ? o->param_dir : cuzk_params_cache_dir());
    if (!p->circuit_dir) st = CUZK_E_NOMEM;
  }
  if (!p->param_dir || st != CUZK_OK) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a prover");
    goto out;
  }
  st = cuzk_pool_create(&p->pool, o->synth_threads);
  if (st != CUZK_OK) {
    (void)cuzk_fail(d, st, "no threads for synthesis");
    goto out;
  }
  CUZK_TRY(add_devices(p, o, d));
  *out = p;
  p = NULL;
out:
  cuzk_prover_real_destroy(&p);
  return st;
}

void cuzk_prover_real_destroy(struct cuzk_prover_real **prover) {
  struct cuzk_prover_real *p = *prover;
  if (!p) return;
  for (unsigned i = 0; i < p->n_devices; i++) {
    if (p->device[i].dev) p->device[i].ops->close(&p->device[i].dev);
    cuzk_pool_destroy(&p->device[i].pool);
  }
  for (size_t i = 0; i < CUZK_PROVER_ROWS; i++) {
    cuzk_compact_destroy(&p->compact[i].compact);
    cuzk_file_clear(&p->compact[i].file);
    (void)pthread_mutex_destroy(&p->compact[i].lock);
  }
  cuzk_pool_destroy(&p->pool);
  (void)pthread_mutex_destroy(&p->lock);
  cuzk_free(p->device);
  cuzk_free(p->param_dir);
  cuzk_free(p->circuit_dir);
  cuzk_free(p);
  *prover = NULL;
}

struct cuzk_prover cuzk_prover_real_ops(struct cuzk_prover_real *p) { return (struct cuzk_prover){&ops, p}; }

void cuzk_prover_real_interrupt(struct cuzk_prover_real *p) { atomic_store(&p->interrupted, true); }
