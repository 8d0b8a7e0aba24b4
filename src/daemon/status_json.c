/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/status_json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hex.h"
#include "base/json_write.h"

#define N_KINDS 4

static void key_i64_or_null(struct cuzk_json_out *o, const char *name, int64_t v) {
  cuzk_json_out_key(o, name);
  if (v < 0) cuzk_json_out_null(o);
  else cuzk_json_out_i64(o, v);
}

static void key_double_or_null(struct cuzk_json_out *o, const char *name, double v) {
  cuzk_json_out_key(o, name);
  if (v < 0) cuzk_json_out_null(o);
  else cuzk_json_out_double(o, v);
}

static void key_string_or_null(struct cuzk_json_out *o, const char *name, const char *v) {
  cuzk_json_out_key(o, name);
  if (!*v) cuzk_json_out_null(o);
  else cuzk_json_out_string(o, v);
}

static const char *phase_name(enum cuzk_gpu_phase p) {
  static const char *const names[] = {[CUZK_PHASE_NONE] = "none", [CUZK_PHASE_PRE] = "pre", [CUZK_PHASE_LOCK_WAIT] = "lock_wait",
                                      [CUZK_PHASE_KERNELS] = "kernels", [CUZK_PHASE_POST] = "post"};
  return names[p];
}

static const char *kind_name(const struct cuzk_kind_names *kinds, unsigned kind) { return kind < N_KINDS ? kinds[kind].rpc_name : ""; }

static void put_partition(struct cuzk_json_out *o, unsigned index, const struct cuzk_part_view *p) {
  static const char *const states[] = {[CUZK_PART_PENDING] = "pending", [CUZK_PART_SYNTH] = "synthesizing", [CUZK_PART_READY] = "synth_done",
                                       [CUZK_PART_GPU] = "gpu", [CUZK_PART_DONE] = "done", [CUZK_PART_FAILED] = "failed"};
  cuzk_json_out_object(o);
  cuzk_json_out_member_u64(o, "index", index);
  cuzk_json_out_member_string(o, "state", states[p->state]);
  key_i64_or_null(o, "synth_ms", p->synth_ms);
  key_i64_or_null(o, "gpu_ms", p->gpu_ms);
  cuzk_json_out_member_string(o, "phase", phase_name(p->phase));
  cuzk_json_out_object_end(o);
}

static void put_job(struct cuzk_json_out *o, const struct cuzk_job_view *j, const struct cuzk_kind_names *kinds) {
  cuzk_json_out_object(o);
  cuzk_json_out_member_string(o, "job_id", j->job_id);
  cuzk_json_out_member_string(o, "proof_kind", kind_name(kinds, j->kind));
  cuzk_json_out_member_double(o, "started_secs_ago", j->started_ago_s < 0 ? 0 : j->started_ago_s);
  cuzk_json_out_member_u64(o, "total_partitions", j->n_partitions);
  cuzk_json_out_member_u64(o, "partitions_done", j->partitions_done);
  cuzk_json_out_key(o, "partitions");
  cuzk_json_out_array(o);
  for (unsigned i = 0; i < j->n_partitions; i++) put_partition(o, i, &j->part[i]);
  cuzk_json_out_array_end(o);
  cuzk_json_out_member_string(o, "state", cuzk_job_state_names[j->state]);
  cuzk_json_out_member_string(o, "circuit_id", j->circuit_id);
  cuzk_json_out_member_u64(o, "priority", j->priority);
  cuzk_json_out_member_double(o, "age_secs", j->age_s);
  key_double_or_null(o, "ended_secs_ago", j->ended_ago_s);
  key_string_or_null(o, "error", j->error);
  cuzk_json_out_object_end(o);
}

static void put_worker(struct cuzk_json_out *o, const struct cuzk_worker_view *w) {
  bool proving = w->partition >= 0;
  cuzk_json_out_object(o);
  cuzk_json_out_member_u64(o, "worker_id", w->worker);
  cuzk_json_out_member_u64(o, "gpu_ordinal", w->gpu);
  cuzk_json_out_member_string(o, "state", proving ? "proving" : "idle");
  key_string_or_null(o, "current_job", proving ? w->job_id : "");
  key_i64_or_null(o, "current_partition", w->partition);
  key_double_or_null(o, "busy_secs", proving ? w->busy_s : -1);
  cuzk_json_out_member_string(o, "phase", phase_name(w->phase));
  cuzk_json_out_object_end(o);
}

static void put_gpu(struct cuzk_json_out *o, const struct cuzk_gpu_view *g, const struct cuzk_kind_names *kinds) {
  cuzk_json_out_object(o);
  cuzk_json_out_member_u64(o, "ordinal", g->info.ordinal);
  cuzk_json_out_member_string(o, "name", g->info.name);
  cuzk_json_out_member_string(o, "uuid", g->info.uuid);
  cuzk_json_out_member_string(o, "pci", g->info.pci);
  cuzk_json_out_member_u64(o, "memory_total_bytes", g->info.memory_total);
  cuzk_json_out_member_u64(o, "memory_free_bytes", g->info.memory_free);
  key_string_or_null(o, "current_job", g->job_id);
  key_string_or_null(o, "current_kind", g->kind < 0 ? "" : kind_name(kinds, (unsigned)g->kind));
  cuzk_json_out_member_double(o, "busy_secs", g->busy_s);
  cuzk_json_out_member_bool(o, "quarantined", g->quarantined);
  cuzk_json_out_member_bool(o, "lost", g->lost);
  cuzk_json_out_member_u64(o, "errors", g->errors);
  cuzk_json_out_object_end(o);
}

static double ago(uint64_t now, uint64_t then) { return now > then ? (double)(now - then) / 1e9 : 0; }

static void put_allocations(struct cuzk_json_out *o, const struct cuzk_engine_view *v, uint64_t now_ns) {
  cuzk_json_out_key(o, "allocations");
  cuzk_json_out_object(o);
  cuzk_json_out_key(o, "srs");
  cuzk_json_out_array(o);
  for (size_t i = 0; i < v->n_srs; i++) {
    const struct cuzk_srs_view *s = &v->srs[i];
    if (!s->loaded && !s->loading) continue;
    cuzk_json_out_object(o);
    cuzk_json_out_member_string(o, "circuit_id", s->circuit_id);
    cuzk_json_out_member_u64(o, "bytes", s->bytes);
    cuzk_json_out_member_double(o, "last_used_secs_ago", s->refs || s->loading ? 0 : ago(now_ns, s->last_used_ns));
    cuzk_json_out_member_bool(o, "evictable", s->evictable);
    cuzk_json_out_member_u64(o, "refs", s->refs);
    cuzk_json_out_member_bool(o, "loading", s->loading);
    cuzk_json_out_object_end(o);
  }
  cuzk_json_out_array_end(o);
  /* Compact circuits belong to the parameters of their circuit and are counted there. */
  cuzk_json_out_key(o, "pce");
  cuzk_json_out_array(o);
  cuzk_json_out_array_end(o);
  cuzk_json_out_object_end(o);
}

/* An object of the kinds that have a count. */
static void put_by_kind(struct cuzk_json_out *o, const char *name, const struct cuzk_kind_names *kinds, const uint64_t count[N_KINDS]) {
  cuzk_json_out_key(o, name);
  cuzk_json_out_object(o);
  for (unsigned k = 0; k < N_KINDS; k++)
    if (count[k]) cuzk_json_out_member_u64(o, kinds[k].rpc_name, count[k]);
  cuzk_json_out_object_end(o);
}

static void put_counters(struct cuzk_json_out *o, const struct cuzk_engine_view *v, const struct cuzk_kind_names *kinds) {
  uint64_t completed[N_KINDS], failed[N_KINDS], cancelled[N_KINDS], sum[3] = {0};
  for (unsigned k = 0; k < N_KINDS; k++) {
    sum[0] += completed[k] = v->kind[k].completed;
    sum[1] += failed[k] = v->kind[k].failed;
    sum[2] += cancelled[k] = v->kind[k].cancelled;
  }
  cuzk_json_out_key(o, "counters");
  cuzk_json_out_object(o);
  cuzk_json_out_member_u64(o, "total_completed", sum[0]);
  cuzk_json_out_member_u64(o, "total_failed", sum[1]);
  put_by_kind(o, "completed_by_kind", kinds, completed);
  put_by_kind(o, "failed_by_kind", kinds, failed);
  cuzk_json_out_member_u64(o, "queue_depth", v->queue_depth);
  cuzk_json_out_member_u64(o, "total_cancelled", sum[2]);
  put_by_kind(o, "cancelled_by_kind", kinds, cancelled);
  cuzk_json_out_object_end(o);
}

static void put_waiters(struct cuzk_json_out *o, const struct cuzk_budget_view *b, uint64_t now_ns) {
  cuzk_json_out_key(o, "budget_waiters");
  cuzk_json_out_array(o);
  for (unsigned i = 0; i < b->n_waiters && i < sizeof b->waiter / sizeof b->waiter[0]; i++) {
    const struct cuzk_budget_waiter *w = &b->waiter[i];
    cuzk_json_out_object(o);
    cuzk_json_out_member_u64(o, "class", w->key.cls);
    cuzk_json_out_member_u64(o, "order", w->key.seq);
    cuzk_json_out_member_u64(o, "partition", w->key.partition);
    cuzk_json_out_member_u64(o, "bytes", w->bytes);
    cuzk_json_out_member_double(o, "waiting_secs", ago(now_ns, w->since_ns));
    cuzk_json_out_object_end(o);
  }
  cuzk_json_out_array_end(o);
}

enum cuzk_status cuzk_status_json(char **text, size_t *n, const struct cuzk_engine_view *v, const struct cuzk_kind_names *kinds,
                                  const char *version, uint64_t now_ns) {
  struct cuzk_json_out o;
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_object(&o);
  cuzk_json_out_member_double(&o, "uptime_secs", v->uptime_s);
  cuzk_json_out_key(&o, "memory");
  cuzk_json_out_object(&o);
  cuzk_json_out_member_u64(&o, "total_bytes", v->budget.total);
  cuzk_json_out_member_u64(&o, "used_bytes", v->budget.used);
  cuzk_json_out_member_u64(&o, "available_bytes", v->budget.total > v->budget.used ? v->budget.total - v->budget.used : 0);
  cuzk_json_out_key(&o, "by_class");
  cuzk_json_out_object(&o);
  for (unsigned m = 0; m < CUZK_N_MEM; m++) cuzk_json_out_member_u64(&o, cuzk_mem_names[m], v->budget.by_class[m]);
  cuzk_json_out_object_end(&o);
  cuzk_json_out_object_end(&o);
  cuzk_json_out_key(&o, "synthesis");
  cuzk_json_out_object(&o);
  cuzk_json_out_member_u64(&o, "max_concurrent", v->synth_max);
  cuzk_json_out_member_u64(&o, "active", v->synth_active);
  cuzk_json_out_object_end(&o);
  cuzk_json_out_key(&o, "pipelines");
  cuzk_json_out_array(&o);
  for (size_t i = 0; i < v->n_jobs; i++) put_job(&o, &v->job[i], kinds);
  cuzk_json_out_array_end(&o);
  cuzk_json_out_key(&o, "gpu_workers");
  cuzk_json_out_array(&o);
  for (size_t i = 0; i < v->n_workers; i++) put_worker(&o, &v->worker[i]);
  cuzk_json_out_array_end(&o);
  put_allocations(&o, v, now_ns);
  put_counters(&o, v, kinds);
  cuzk_json_out_key(&o, "buffers");
  cuzk_json_out_object(&o);
  cuzk_json_out_member_u64(&o, "synth_in_flight", v->synth_active);
  cuzk_json_out_member_u64(&o, "provers_in_flight", v->provers_in_flight);
  cuzk_json_out_member_u64(&o, "aux_in_flight", v->aux_in_flight);
  cuzk_json_out_member_u64(&o, "shells_in_flight", v->shells_in_flight);
  cuzk_json_out_member_u64(&o, "pending_handles", v->pending_handles);
  cuzk_json_out_object_end(&o);
  cuzk_json_out_key(&o, "gpus");
  cuzk_json_out_array(&o);
  for (size_t i = 0; i < v->n_gpus; i++) put_gpu(&o, &v->gpu[i], kinds);
  cuzk_json_out_array_end(&o);
  cuzk_json_out_member_u64(&o, "gpu_queue_depth", v->gpu_queue_depth);
  put_waiters(&o, &v->budget, now_ns);
  cuzk_json_out_member_bool(&o, "draining", v->draining);
  cuzk_json_out_member_string(&o, "version", version);
  cuzk_json_out_key(&o, "journal");
  cuzk_json_out_object(&o);
  cuzk_json_out_member_bool(&o, "enabled", v->has_journal);
  cuzk_json_out_member_bool(&o, "healthy", v->journal_healthy);
  cuzk_json_out_member_u64(&o, "bytes", v->journal_bytes);
  cuzk_json_out_member_u64(&o, "jobs", v->journal_jobs);
  cuzk_json_out_object_end(&o);
  cuzk_json_out_object_end(&o);
  return cuzk_json_out_finish(&o, text, n, NULL);
}

/* ---- events ---- */

/* Undoes cuzk_record_text; an escape that was cut off ends the text. */
static size_t decode(char *out, const char *in) {
  size_t n = 0;
  for (; *in; in++) {
    if (*in != '%') {
      out[n++] = *in;
      continue;
    }
    int hi = cuzk_hex_digit(in[1]), lo = hi < 0 ? -1 : cuzk_hex_digit(in[2]);
    if (lo < 0) break;
    out[n++] = (char)(hi << 4 | lo);
    in += 2;
  }
  return n;
}

enum cuzk_status cuzk_event_json(char **text, size_t *n, const struct cuzk_event_record *r) {
  char job[sizeof r->job];
  struct cuzk_json_out o;
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_object(&o);
  cuzk_json_out_member_u64(&o, "seq", r->seq);
  cuzk_json_out_member_u64(&o, "t_us", r->t_ns / 1000);
  cuzk_json_out_member_string(&o, "event", cuzk_event_name(r->event));
  cuzk_json_out_key(&o, "job");
  if (strcmp(r->job, "-") == 0) cuzk_json_out_null(&o);
  else cuzk_json_out_string_n(&o, job, decode(job, r->job));
  key_i64_or_null(&o, "partition", r->partition);
  key_i64_or_null(&o, "worker", r->worker);
  key_i64_or_null(&o, "gpu", r->gpu);
  cuzk_json_out_member_string(&o, "details", r->details);
  cuzk_json_out_object_end(&o);
  return cuzk_json_out_finish(&o, text, n, NULL);
}
