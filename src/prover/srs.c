/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parameters with everything that proving needs of a circuit: mapped file, verifying key, compact form, a key for each device. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/hex.h"
#include "groth16/param_files.h"
#include "prover/guard.h"
#include "prover/internal.h"

/* Compact circuits are not larger (docs/benchmarks/cpu-compact.md). */
#define COMPACT_BYTES_MAX ((uint64_t)64 << 20)
#define COMPACT_BYTES_POREP ((uint64_t)16 << 20)
#define COMPACT_BYTES_OTHER ((uint64_t)4 << 20)

enum cuzk_status real_params_path(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, char **out) {
  const struct cuzk_circuit *c = cuzk_circuit_find(row->circuit);
  char id[200];
  cuzk_circuit_parameter_id(id, c);
  return cuzk_params_file_path(out, p->param_dir, id, "params");
}

uint64_t real_resident_bytes(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, uint64_t file_bytes) {
  const uint64_t maps = 2 * (((uint64_t)row->n_aux + 63) / 64) * sizeof(uint64_t);
  uint64_t bytes = maps + (strncmp(row->id, "porep", 5) ? COMPACT_BYTES_OTHER : COMPACT_BYTES_POREP);
  /* Points that do not fit a device wait in locked memory of the host, once for all devices of a process. */
  for (unsigned i = 0; i < p->n_devices; i++) {
    const struct real_device *dev = &p->device[i];
    if (dev->ops == &cuzk_device_cpu || file_bytes <= dev->desc.memory_total / 10 * 8) continue;
    bytes += file_bytes;
    break;
  }
  return bytes;
}

/* ---- compact circuits ---- */

/* Is it the circuit of the row? Its checksum and structure have been looked at. */
static enum cuzk_status check_compact(const struct cuzk_compact *c, const struct cuzk_prover_row *row, struct cuzk_detail *d) {
  struct cuzk_compact_info info;
  char digest[65];
  cuzk_compact_info(&info, c);
  cuzk_hex_encode(digest, info.digest, 32);
  if (info.n_inputs != row->n_inputs || info.n_aux != row->n_aux || info.n_rows != row->n_rows || strcmp(digest, row->digest) != 0)
    return cuzk_fail(d, CUZK_E_MISMATCH, "compact circuit %s is not %s: digest %s, expected %s", info.name, row->circuit, digest,
                     row->digest);
  return CUZK_OK;
}

static enum cuzk_status compact_path(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, char **out) {
  const size_t n = strlen(p->circuit_dir) + strlen(row->circuit) + 32;
  *out = cuzk_malloc(n);
  if (!*out) return CUZK_E_NOMEM;
  (void)snprintf(*out, n, "%s/cuzk-%s-%.16s.r1cs", p->circuit_dir, row->circuit, row->digest);
  return CUZK_OK;
}

/* From the file if there is one and it is right. */
static void read_compact(struct real_compact *c, const struct cuzk_prover_row *row, const char *path) {
  if (cuzk_file_read(&c->file, path, COMPACT_BYTES_MAX, NULL) != CUZK_OK) return;
  if (cuzk_compact_parse(&c->compact, c->file.data, c->file.n, path, NULL) == CUZK_OK && check_compact(c->compact, row, NULL) == CUZK_OK)
    return;
  cuzk_compact_destroy(&c->compact);
  cuzk_file_clear(&c->file);
}

static enum cuzk_status make_compact(const struct cuzk_prover_real *p, struct real_compact *c, const struct cuzk_prover_row *row,
                                     const struct cuzk_progress *progress, struct cuzk_detail *d) {
  char *path = NULL;
  enum cuzk_status st = CUZK_OK;
  if (p->circuit_dir && compact_path(p, row, &path) != CUZK_OK) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a path");
  if (path) read_compact(c, row, path);
  if (!c->compact) {
    CUZK_TRY(cuzk_circuit_compile(&c->compact, cuzk_circuit_find(row->circuit), p->pool, progress, d));
    st = check_compact(c->compact, row, d);
    if (st != CUZK_OK) {
      cuzk_compact_destroy(&c->compact);
      st = CUZK_E_INTERNAL;
      goto out;
    }
    /* a folder that cannot be written to costs the time of making it again, no more */
    if (path) (void)cuzk_compact_write(c->compact, path, NULL);
  }
out:
  cuzk_free(path);
  return st;
}

static enum cuzk_status get_compact(struct cuzk_prover_real *p, const struct cuzk_prover_row *row, const struct cuzk_compact **out,
                                    const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct real_compact *c = &p->compact[row - cuzk_prover_rows];
  enum cuzk_status st = CUZK_OK;
  (void)pthread_mutex_lock(&c->lock);
  if (!c->compact) st = make_compact(p, c, row, progress, d);
  *out = c->compact;
  (void)pthread_mutex_unlock(&c->lock);
  return st;
}

/* ---- loading ---- */

static void link_srs(struct real_srs *s) {
  struct cuzk_prover_real *p = s->p;
  (void)pthread_mutex_lock(&p->lock);
  s->next = p->first;
  if (s->next) s->next->prev = s;
  p->first = s;
  (void)pthread_mutex_unlock(&p->lock);
}

static void unlink_srs(struct real_srs *s) {
  struct cuzk_prover_real *p = s->p;
  (void)pthread_mutex_lock(&p->lock);
  if (s->prev)
    s->prev->next = s->next;
  else if (p->first == s)
    p->first = s->next;
  if (s->next) s->next->prev = s->prev;
  (void)pthread_mutex_unlock(&p->lock);
}

static void drop_key(struct real_srs *s, unsigned device) {
  struct real_device *dev = &s->p->device[device];
  if (!s->key[device]) return;
  atomic_fetch_sub(&dev->key_bytes, dev->ops->key_bytes(s->key[device]));
  dev->ops->key_destroy(&s->key[device]);
}

void real_drop_keys(struct cuzk_prover_real *p, unsigned device) {
  (void)pthread_mutex_lock(&p->lock);
  for (struct real_srs *s = p->first; s; s = s->next) {
    (void)pthread_mutex_lock(&s->lock);
    drop_key(s, device);
    (void)pthread_mutex_unlock(&s->lock);
  }
  (void)pthread_mutex_unlock(&p->lock);
}

enum cuzk_status real_srs_key(struct real_srs *s, unsigned device, struct cuzk_device_key **key, const struct cuzk_progress *progress,
                              struct cuzk_detail *d) {
  struct real_device *dev = &s->p->device[device];
  enum cuzk_status st = CUZK_OK;
  (void)pthread_mutex_lock(&s->lock);
  if (!s->key[device]) {
    if (dev->dev)
      st = dev->ops->key_create(&s->key[device], dev->dev, s->params, s->compact, &s->shape, progress, d);
    else
      st = cuzk_fail(d, CUZK_E_DEVICE, "device %u (%s) is lost", device, dev->desc.name);
    if (st == CUZK_OK) atomic_fetch_add(&dev->key_bytes, dev->ops->key_bytes(s->key[device]));
  }
  *key = s->key[device];
  (void)pthread_mutex_unlock(&s->lock);
  return st == CUZK_OK ? CUZK_OK : real_torn(s, st, d);
}

enum cuzk_status real_torn(const struct real_srs *s, enum cuzk_status st, struct cuzk_detail *d) {
  if (!cuzk_guard_torn(s->guard)) return st;
  return cuzk_fail(d, CUZK_E_IO, "%s was cut short, or cannot be read, while it is used", s->params->path);
}

enum cuzk_status real_srs_load(void *self, const char *circuit_id, void **srs, const atomic_bool *stop, struct cuzk_detail *d) {
  struct cuzk_prover_real *p = self;
  const struct cuzk_prover_row *row = cuzk_prover_row_find(circuit_id);
  struct cuzk_progress watch;
  const struct cuzk_progress *progress = real_progress(&watch, stop);
  char *path = NULL;
  enum cuzk_status st;
  *srs = NULL;
  if (!row) return cuzk_fail(d, CUZK_E_ARG, "no circuit \"%.40s\"", circuit_id);
  struct real_srs *s = cuzk_calloc(1, sizeof *s + p->n_devices * sizeof *s->key);
  if (!s) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the parameters of %s", row->id);
  s->p = p;
  s->row = row;
  s->guard = -1;
  (void)pthread_mutex_init(&s->lock, NULL);
  link_srs(s);
  if (real_params_path(p, row, &path) != CUZK_OK) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a path");
    goto out;
  }
  CUZK_TRY(cuzk_params_open(&s->params, path, d));
  s->guard = cuzk_guard_add(s->params->map, s->params->n_bytes);
  CUZK_TRY(get_compact(p, row, &s->compact, progress, d));
  CUZK_TRY(cuzk_compact_shape(&s->shape, s->compact, d));
  CUZK_TRY(cuzk_params_match(s->params, &s->shape, d));
  st = cuzk_pvk_create(&s->pvk, &s->params->vk);
  if (st != CUZK_OK) {
    (void)cuzk_fail(d, st, "no memory for the verifying key of %s", row->id);
    goto out;
  }
  for (unsigned i = 0; p->eager_keys && i < p->n_devices; i++) {
    struct cuzk_device_key *key;
    st = real_srs_key(s, i, &key, progress, d);
    if (st == CUZK_E_DEVICE) st = CUZK_OK; /* met again by a partition, which may go to another device */
    if (st != CUZK_OK) goto out;
  }
  *srs = s;
out:
  cuzk_free(path);
  if (st != CUZK_OK) real_srs_unload(self, s);
  return st;
}

void real_srs_unload(void *self, void *srs) {
  struct real_srs *s = srs;
  (void)self;
  if (!s) return;
  unlink_srs(s);
  for (unsigned i = 0; i < s->p->n_devices; i++) drop_key(s, i);
  cuzk_pvk_destroy(&s->pvk);
  cuzk_shape_clear(&s->shape);
  cuzk_guard_remove(s->guard);
  cuzk_params_close(&s->params);
  (void)pthread_mutex_destroy(&s->lock);
  cuzk_free(s);
}
