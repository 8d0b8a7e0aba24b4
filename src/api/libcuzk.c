/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/host.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "cuzk/cuzk.h"
#include "cuzk_version.h"
#include "daemon/status_json.h"

#define DEVICES_MAX 64u

struct libcuzk {
  struct cuzk_host host;
};

/* Gives the error to the caller. */
static enum cuzk_status tell(struct libcuzk_error *error, enum cuzk_status st, const struct cuzk_detail *d) {
  if (!error) return st;
  error->status = st;
  (void)snprintf(error->text, sizeof error->text, "%s", st == CUZK_OK ? "" : d->text[0] ? d->text : cuzk_status_text(st));
  return st;
}

/* A struct of the caller's version: what it does not know is zero, what only it knows must be. */
static enum cuzk_status take(void *own, size_t n_own, const void *given, size_t n_given, const char *what, struct cuzk_detail *d) {
  if (n_given < sizeof n_given) return cuzk_fail(d, CUZK_E_ARG, "%s.size is %zu", what, n_given);
  memset(own, 0, n_own);
  memcpy(own, given, n_given < n_own ? n_given : n_own);
  for (size_t i = n_own; i < n_given; i++) {
    if (((const uint8_t *)given)[i]) return cuzk_fail(d, CUZK_E_ARG, "%s has members that this version does not know", what);
  }
  return CUZK_OK;
}

const char *libcuzk_version(void) { return CUZK_VERSION; }

void libcuzk_free(void *p) { cuzk_free(p); }

/* Cuts "a, b" in place. */
static enum cuzk_status cut_list(char *text, const char **out, unsigned *n, struct cuzk_detail *d) {
  char *rest = text;
  for (const char *word; (word = strtok_r(rest, ", ", &rest));) {
    if (*n == DEVICES_MAX) return cuzk_fail(d, CUZK_E_ARG, "options.devices: more than %u", DEVICES_MAX);
    out[(*n)++] = word;
  }
  return CUZK_OK;
}

enum cuzk_status libcuzk_open(struct libcuzk **out, const struct libcuzk_options *options, struct libcuzk_error *error) {
  static const struct libcuzk_options none = {.size = sizeof none};
  struct cuzk_detail d = {{0}};
  struct libcuzk_options o;
  struct cuzk_host_options h = {.record = true, .timeline_fd = -1};
  const char *devices[DEVICES_MAX];
  char *list = NULL;
  struct libcuzk *e = NULL;
  enum cuzk_status st;
  *out = NULL;
  if (!options) options = &none;
  CUZK_TRY(take(&o, sizeof o, options, options->size, "options", &d));
  e = cuzk_calloc(1, sizeof *e);
  list = cuzk_strdup(o.devices ? o.devices : "");
  if (!e || !list) {
    st = cuzk_fail(&d, CUZK_E_NOMEM, "no memory for an engine");
    goto out;
  }
  cuzk_engine_defaults(&h.engine);
  h.engine.memory_total = o.memory_bytes;
  h.engine.synth_threads = o.partitions_at_once;
  h.prover = (struct cuzk_prover_real_options){.param_dir = o.param_dir,
                                               .circuit_dir = o.circuit_dir,
                                               .devices = devices,
                                               .device_memory_limit = o.device_memory_bytes,
                                               .synth_threads = o.threads,
                                               .device_threads = o.threads,
                                               .eager_keys = true};
  CUZK_TRY(cut_list(list, devices, &h.prover.n_devices, &d));
  h.state_dir = o.state_dir;
  h.timeline_path = o.timeline_path;
  CUZK_TRY(cuzk_host_open(&e->host, &h, &d));
  *out = e;
  e = NULL;
out:
  cuzk_free(list);
  cuzk_free(e);
  return tell(error, st, &d);
}

void libcuzk_close(struct libcuzk **e) {
  if (!*e) return;
  cuzk_host_close(&(*e)->host);
  cuzk_free(*e);
  *e = NULL;
}

static struct cuzk_slice slice(struct libcuzk_bytes b) { return (struct cuzk_slice){b.data, b.n}; }

static enum cuzk_status make_request(struct cuzk_request **out, const struct libcuzk_request *r, struct cuzk_detail *d) {
  struct cuzk_slice *list = NULL;
  if (r->n_vanilla_proofs) {
    list = cuzk_malloc_array(r->n_vanilla_proofs, sizeof *list);
    if (!list) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu vanilla proofs", r->n_vanilla_proofs);
  }
  for (size_t i = 0; i < r->n_vanilla_proofs; i++) list[i] = slice(r->vanilla_proofs[i]);
  const struct cuzk_request_fields f = {.kind = r->kind,
                                        .sector_size = r->sector_size,
                                        .registered_proof = r->registered_proof,
                                        .vanilla_proof = slice(r->vanilla_proof),
                                        .n_vanilla_proofs = r->n_vanilla_proofs,
                                        .vanilla_proofs = list,
                                        .sector_number = r->sector_number,
                                        .miner_id = r->miner_id,
                                        .randomness = slice(r->randomness),
                                        .partition_index = r->partition_index,
                                        .comm_r_old = slice(r->comm_r_old),
                                        .comm_r_new = slice(r->comm_r_new),
                                        .comm_d_new = slice(r->comm_d_new)};
  const enum cuzk_status st = cuzk_request_create(out, &f);
  cuzk_free(list);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "no memory for a request");
}

enum cuzk_status libcuzk_submit(struct libcuzk *e, const struct libcuzk_request *request, char **job_id, struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  struct libcuzk_request r;
  struct cuzk_submit s = {0};
  struct cuzk_submitted done = {0};
  enum cuzk_refusal why = CUZK_REFUSED_NOT;
  enum cuzk_status st;
  *job_id = NULL;
  CUZK_TRY(take(&r, sizeof r, request, request->size, "request", &d));
  if (r.priority > 4) {
    st = cuzk_fail(&d, CUZK_E_ARG, "request.priority is %u, expected 0 to 4", r.priority);
    goto out;
  }
  CUZK_TRY(make_request(&s.request, &r, &d));
  s.request_id = r.request_id;
  s.priority = r.priority;
  st = cuzk_engine_submit(e->host.engine, &s, &done, &why, &d);
  if (st == CUZK_OK) *job_id = done.job_id;
out:
  cuzk_request_unref(&s.request);
  return tell(error, st, &d);
}

static uint64_t until(const struct libcuzk *e, uint64_t timeout_ms) {
  const uint64_t now = cuzk_clock_now(e->host.clock);
  return timeout_ms > (CUZK_NEVER - now) / CUZK_MS ? CUZK_NEVER : now + timeout_ms * CUZK_MS;
}

enum cuzk_status libcuzk_await(struct libcuzk *e, const char *job_id, uint64_t timeout_ms, struct libcuzk_result *out,
                               struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  struct cuzk_job_result r;
  struct libcuzk_result own;
  if (out->size < sizeof out->size) return tell(error, cuzk_fail(&d, CUZK_E_ARG, "result.size is %zu", out->size), &d);
  const size_t size = out->size;
  const enum cuzk_status st = cuzk_engine_await(e->host.engine, &r, job_id, until(e, timeout_ms));
  if (st != CUZK_OK) return tell(error, cuzk_fail(&d, st, "job %.100s: %s", job_id, cuzk_status_text(st)), &d);
  own = (struct libcuzk_result){.size = size,
                                .state = r.state == CUZK_JOB_COMPLETED   ? LIBCUZK_COMPLETED
                                         : r.state == CUZK_JOB_FAILED    ? LIBCUZK_FAILED
                                         : r.state == CUZK_JOB_CANCELLED ? LIBCUZK_CANCELLED
                                                                         : LIBCUZK_RUNNING,
                                .proof = r.proof,
                                .proof_bytes = r.proof_bytes,
                                .error = r.error,
                                .queue_wait_ms = r.times.queue_wait_ms,
                                .srs_load_ms = r.times.srs_load_ms,
                                .synthesis_ms = r.times.synthesis_ms,
                                .gpu_compute_ms = r.times.gpu_compute_ms,
                                .total_ms = r.times.total_ms};
  r.proof = NULL;
  r.error = NULL;
  cuzk_job_result_clear(&r);
  if (size < sizeof own) { /* an older caller: what it does not know of is not its to free */
    if (size < offsetof(struct libcuzk_result, proof) + sizeof own.proof) cuzk_free(own.proof);
    if (size < offsetof(struct libcuzk_result, error) + sizeof own.error) cuzk_free(own.error);
  }
  memcpy(out, &own, size < sizeof own ? size : sizeof own);
  if (own.state == LIBCUZK_COMPLETED) cuzk_engine_delivered(e->host.engine, job_id);
  return tell(error, CUZK_OK, &d);
}

enum cuzk_status libcuzk_cancel(struct libcuzk *e, const char *job_id, struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  bool running;
  const enum cuzk_status st = cuzk_engine_cancel(e->host.engine, job_id, &running);
  if (st != CUZK_OK) (void)cuzk_fail(&d, st, "no job \"%.100s\"", job_id);
  return tell(error, st, &d);
}

enum cuzk_status libcuzk_preload(struct libcuzk *e, const char *circuit_id, uint64_t timeout_ms, struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  bool already;
  uint64_t ms;
  enum cuzk_refusal why = CUZK_REFUSED_NOT;
  return tell(error, cuzk_engine_preload(e->host.engine, circuit_id, until(e, timeout_ms), NULL, &already, &ms, &why, &d), &d);
}

enum cuzk_status libcuzk_evict(struct libcuzk *e, const char *circuit_id, struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  bool was_loaded;
  uint64_t freed;
  return tell(error, cuzk_engine_evict(e->host.engine, circuit_id, &was_loaded, &freed, &d), &d);
}

enum cuzk_status libcuzk_status_json(struct libcuzk *e, char **text, struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  struct cuzk_engine_view v = {0};
  size_t n;
  *text = NULL;
  enum cuzk_status st = cuzk_engine_view(e->host.engine, &v);
  if (st == CUZK_OK) st = cuzk_status_json(text, &n, &v, e->host.prover.ops->kinds, CUZK_VERSION, cuzk_clock_now(e->host.clock));
  cuzk_engine_view_clear(&v);
  return tell(error, st, &d);
}

enum cuzk_status libcuzk_metrics(struct libcuzk *e, char **text, struct libcuzk_error *error) {
  struct cuzk_detail d = {{0}};
  *text = NULL;
  return tell(error, cuzk_engine_metrics_text(e->host.engine, text), &d);
}
