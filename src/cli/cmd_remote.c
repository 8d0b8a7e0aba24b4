/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk submit, await, cancel, status, preload, evict, metrics: one call to a daemon each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/remote.h"
#include "cuzk/v1/proving.pb-c.h"
#include "daemon/wire.h"

#define UNPACK(type, a) cuzk__v1__##type##__unpack(NULL, (a).n, (a).body)
#define RELEASE(type, m) cuzk__v1__##type##__free_unpacked((m), NULL)

static enum cuzk_status not_understood(struct cli *c, const char *method) {
  return cuzk_fail(&c->detail, CUZK_E_FORMAT, "%s: the daemon's answer is not what the protocol says", method);
}

static const char *text_of(const char *s) { return s ? s : ""; }

/* One call with a string in field 1. */
static enum cuzk_status call_text(struct cli *c, const char *method, const char *text, struct cuzk_rpc_answer *a) {
  struct cuzk_rpc_client *client = NULL;
  struct cuzk_wire_out w = {0};
  uint64_t timeout = 0;
  enum cuzk_status st;
  memset(a, 0, sizeof *a);
  CUZK_TRY(remote_timeout(c, &timeout));
  if (text) cuzk_wire_put_bytes(&w, 1, text, strlen(text));
  if (w.failed) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for the request");
    goto out;
  }
  CUZK_TRY(remote_open(&client, c));
  CUZK_TRY(remote_call(client, c, method, w.data, w.n, timeout, a));
out:
  cuzk_wire_out_clear(&w);
  cuzk_rpc_client_close(&client);
  return st;
}

enum cuzk_status cli_submit(struct cli *c) {
  struct cuzk_rpc_client *client = NULL;
  struct cuzk_rpc_answer a = {0};
  struct remote_request r = {0};
  uint8_t *message = NULL;
  size_t n = 0;
  uint64_t timeout = 0;
  enum cuzk_status st;
  const struct cuzk_proof_kind *kind = remote_kind(c->arg[0]);
  if (!kind) return cuzk_fail(&c->detail, CUZK_E_USAGE, "no kind of proof '%s': porep, snap, window-post or winning-post", c->arg[0]);
  CUZK_TRY(remote_timeout(c, &timeout));
  CUZK_TRY(remote_request_load(&r, c, kind));
  CUZK_TRY(remote_message(&message, &n, &r, c->opt[OPT_REQUEST_ID], false));
  CUZK_TRY(remote_open(&client, c));
  CUZK_TRY(remote_call(client, c, "SubmitProof", message, n, timeout, &a));
  Cuzk__V1__SubmitProofResponse *m = UNPACK(submit_proof_response, a);
  if (!m) {
    st = not_understood(c, "SubmitProof");
    goto out;
  }
  if (c->json) st = cli_print_json(c, json_pack("{s:s,s:i}", "job_id", text_of(m->job_id), "queue_position", (int)m->queue_position));
  else printf("%s\n", text_of(m->job_id));
  RELEASE(submit_proof_response, m);
out:
  remote_request_clear(&r);
  cuzk_free(message);
  cuzk_rpc_answer_clear(&a);
  cuzk_rpc_client_close(&client);
  return st;
}

enum cuzk_status cli_await(struct cli *c) {
  struct cuzk_rpc_client *client = NULL;
  struct cuzk_rpc_answer a = {0};
  struct cuzk_wire_out w = {0};
  uint64_t timeout = 0;
  Cuzk__V1__AwaitProofResponse *m = NULL;
  enum cuzk_status st;
  if (c->opt[OPT_OUT]) CUZK_TRY(cli_check_out(c->opt[OPT_OUT], NULL, 0, &c->detail));
  CUZK_TRY(remote_timeout(c, &timeout));
  cuzk_wire_put_bytes(&w, 1, c->arg[0], strlen(c->arg[0]));
  if (timeout) cuzk_wire_put_varint(&w, 2, timeout);
  if (w.failed) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for the request");
    goto out;
  }
  CUZK_TRY(remote_open(&client, c));
  CUZK_TRY(remote_call(client, c, "AwaitProof", w.data, w.n, 0, &a));
  m = UNPACK(await_proof_response, a);
  if (!m) {
    st = not_understood(c, "AwaitProof");
    goto out;
  }
  const bool done = m->status == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED;
  c->no = !done;
  if (done && c->opt[OPT_OUT]) CUZK_TRY(cuzk_file_write(c->opt[OPT_OUT], m->proof.data, m->proof.len, &c->detail));
  if (c->json) {
    st = cli_print_json(c, json_pack("{s:s,s:s,s:s,s:o,s:I,s:I,s:I,s:I,s:I}", "job_id", text_of(m->job_id), "status", remote_result_name((int)m->status),
                                     "error", text_of(m->error_message), "proof", cli_hex(m->proof.data, m->proof.len), "queue_wait_ms",
                                     (json_int_t)m->queue_wait_ms, "srs_load_ms", (json_int_t)m->srs_load_ms, "synthesis_ms",
                                     (json_int_t)m->synthesis_ms, "gpu_compute_ms", (json_int_t)m->gpu_compute_ms, "total_ms",
                                     (json_int_t)m->total_ms));
  } else {
    printf("%s %s\n", text_of(m->job_id), remote_result_name((int)m->status));
    if (m->error_message && m->error_message[0]) printf("%s\n", m->error_message);
    printf("total %llu ms: queue %llu, parameters %llu, synthesis %llu, device %llu; %zu bytes of proof\n", (unsigned long long)m->total_ms,
           (unsigned long long)m->queue_wait_ms, (unsigned long long)m->srs_load_ms, (unsigned long long)m->synthesis_ms,
           (unsigned long long)m->gpu_compute_ms, m->proof.len);
  }
out:
  if (m) RELEASE(await_proof_response, m);
  cuzk_wire_out_clear(&w);
  cuzk_rpc_answer_clear(&a);
  cuzk_rpc_client_close(&client);
  return st;
}

enum cuzk_status cli_cancel(struct cli *c) {
  struct cuzk_rpc_answer a;
  enum cuzk_status st = call_text(c, "CancelProof", c->arg[0], &a);
  if (st == CUZK_OK) {
    Cuzk__V1__CancelProofResponse *m = UNPACK(cancel_proof_response, a);
    if (!m) st = not_understood(c, "CancelProof");
    else if (c->json) st = cli_print_json(c, json_pack("{s:b}", "was_running", m->was_running));
    else printf("%s\n", m->was_running ? "cancelled while it ran" : "was not running");
    if (m) RELEASE(cancel_proof_response, m);
  }
  cuzk_rpc_answer_clear(&a);
  return st;
}

enum cuzk_status cli_preload(struct cli *c) {
  struct cuzk_rpc_answer a;
  enum cuzk_status st = call_text(c, "PreloadSRS", c->arg[0], &a);
  if (st == CUZK_OK) {
    Cuzk__V1__PreloadSrsResponse *m = UNPACK(preload_srs_response, a);
    if (!m) st = not_understood(c, "PreloadSRS");
    else if (c->json)
      st = cli_print_json(c, json_pack("{s:b,s:I}", "already_loaded", m->already_loaded, "load_time_ms", (json_int_t)m->load_time_ms));
    else if (m->already_loaded) printf("%s: loaded already\n", c->arg[0]);
    else printf("%s: loaded in %llu ms\n", c->arg[0], (unsigned long long)m->load_time_ms);
    if (m) RELEASE(preload_srs_response, m);
  }
  cuzk_rpc_answer_clear(&a);
  return st;
}

enum cuzk_status cli_evict(struct cli *c) {
  struct cuzk_rpc_answer a;
  enum cuzk_status st = call_text(c, "EvictSRS", c->arg[0], &a);
  if (st == CUZK_OK) {
    Cuzk__V1__EvictSrsResponse *m = UNPACK(evict_srs_response, a);
    if (!m) st = not_understood(c, "EvictSRS");
    else if (c->json) st = cli_print_json(c, json_pack("{s:b,s:I}", "was_loaded", m->was_loaded, "freed_bytes", (json_int_t)m->freed_bytes));
    else printf("%s: %s, %s freed\n", c->arg[0], m->was_loaded ? "evicted" : "was not loaded", cli_text_bytes(m->freed_bytes));
    if (m) RELEASE(evict_srs_response, m);
  }
  cuzk_rpc_answer_clear(&a);
  return st;
}

enum cuzk_status cli_metrics(struct cli *c) {
  struct cuzk_rpc_answer a;
  enum cuzk_status st = call_text(c, "GetMetrics", NULL, &a);
  if (st == CUZK_OK) {
    Cuzk__V1__GetMetricsResponse *m = UNPACK(get_metrics_response, a);
    if (!m) st = not_understood(c, "GetMetrics");
    else if (c->json) st = cli_print_json(c, json_pack("{s:s}", "prometheus_text", text_of(m->prometheus_text)));
    else (void)fputs(text_of(m->prometheus_text), stdout);
    if (m) RELEASE(get_metrics_response, m);
  }
  cuzk_rpc_answer_clear(&a);
  return st;
}

static const char *const tiers[] = {"HOT", "WARM", "COLD"};
static const char *tier_name(int t) { return t >= 0 && t < 3 ? tiers[t] : "?"; }

static enum cuzk_status status_json(struct cli *c, const Cuzk__V1__GetStatusResponse *m) {
  json_t *gpus = json_array(), *srs = json_array(), *queues = json_array();
  for (size_t i = 0; i < m->n_gpus; i++)
    json_array_append_new(gpus, json_pack("{s:i,s:s,s:I,s:I,s:s,s:s}", "ordinal", (int)m->gpus[i]->ordinal, "name", text_of(m->gpus[i]->name),
                                          "vram_total_bytes", (json_int_t)m->gpus[i]->vram_total_bytes, "vram_free_bytes",
                                          (json_int_t)m->gpus[i]->vram_free_bytes, "current_job_id", text_of(m->gpus[i]->current_job_id),
                                          "current_proof_kind", text_of(m->gpus[i]->current_proof_kind)));
  for (size_t i = 0; i < m->n_loaded_srs; i++)
    json_array_append_new(srs, json_pack("{s:s,s:s,s:I,s:i}", "circuit_id", text_of(m->loaded_srs[i]->circuit_id), "tier",
                                         tier_name((int)m->loaded_srs[i]->tier), "size_bytes", (json_int_t)m->loaded_srs[i]->size_bytes, "ref_count",
                                         (int)m->loaded_srs[i]->ref_count));
  for (size_t i = 0; i < m->n_queues; i++)
    json_array_append_new(queues, json_pack("{s:s,s:i,s:i}", "proof_kind", text_of(m->queues[i]->proof_kind), "pending", (int)m->queues[i]->pending,
                                            "in_progress", (int)m->queues[i]->in_progress));
  return cli_print_json(c, json_pack("{s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o}", "uptime_seconds", (json_int_t)m->uptime_seconds, "total_proofs_completed",
                                     (json_int_t)m->total_proofs_completed, "total_proofs_failed", (json_int_t)m->total_proofs_failed,
                                     "pinned_memory_bytes", (json_int_t)m->pinned_memory_bytes, "pinned_memory_limit_bytes",
                                     (json_int_t)m->pinned_memory_limit_bytes, "gpus", gpus, "loaded_srs", srs, "queues", queues));
}

enum cuzk_status cli_status(struct cli *c) {
  struct cuzk_rpc_answer a;
  enum cuzk_status st = call_text(c, "GetStatus", NULL, &a);
  Cuzk__V1__GetStatusResponse *m = NULL;
  if (st != CUZK_OK) goto out;
  m = UNPACK(get_status_response, a);
  if (!m) {
    st = not_understood(c, "GetStatus");
    goto out;
  }
  if (c->json) {
    st = status_json(c, m);
    goto out;
  }
  printf("up %llu s, %llu proofs completed, %llu failed\n", (unsigned long long)m->uptime_seconds, (unsigned long long)m->total_proofs_completed,
         (unsigned long long)m->total_proofs_failed);
  printf("memory: %s of %s\n", cli_text_bytes(m->pinned_memory_bytes), cli_text_bytes(m->pinned_memory_limit_bytes));
  for (size_t i = 0; i < m->n_gpus; i++) {
    const Cuzk__V1__GPUStatus *g = m->gpus[i];
    printf("device %u: %s, %llu of %llu MiB free, ", g->ordinal, text_of(g->name), (unsigned long long)(g->vram_free_bytes >> 20),
           (unsigned long long)(g->vram_total_bytes >> 20));
    if (g->current_job_id && g->current_job_id[0]) printf("%s %s\n", text_of(g->current_proof_kind), g->current_job_id);
    else printf("idle\n");
  }
  for (size_t i = 0; i < m->n_loaded_srs; i++)
    printf("parameters %-12s %-4s %s, %u users\n", text_of(m->loaded_srs[i]->circuit_id), tier_name((int)m->loaded_srs[i]->tier),
           cli_text_bytes(m->loaded_srs[i]->size_bytes), m->loaded_srs[i]->ref_count);
  for (size_t i = 0; i < m->n_queues; i++)
    printf("queue %-12s %u pending, %u in progress\n", text_of(m->queues[i]->proof_kind), m->queues[i]->pending, m->queues[i]->in_progress);
out:
  if (m) RELEASE(get_status_response, m);
  cuzk_rpc_answer_clear(&a);
  return st;
}
