/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/service.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "cuzk/v1/proving.pb-c.h"
#include "daemon/messages.h"
#include "daemon/reflection.h"

#define N_KINDS 4
#define DEFAULT_RETRY_MS 5000
/* A preload looks that often whether its caller is still there. */
#define PRELOAD_SLICE CUZK_SECOND

struct call;
typedef void task_fn(struct call *c);

/* A call in work. One reference is the transport's until its end, one the task's, one the watch's. */
struct call {
  struct call *next; /* in a lane's queue */
  struct cuzk_service *s;
  struct cuzk_rpc_handle *handle;
  task_fn *run;
  uint8_t *message;
  size_t n;
  uint64_t until;     /* of the clock; CUZK_NEVER */
  atomic_uint refs;
  atomic_bool ended;  /* the stream is over: nobody reads an answer */
  bool prove;         /* the answer is a ProveResponse */
  pthread_mutex_t lock; /* guards what follows */
  struct cuzk_watch *watch;
  char *result_of;    /* job whose result was answered with success: told to the engine when it went out */
};

/* Threads with a queue of their own. */
struct lane {
  pthread_cond_t cond;
  struct call *first, **last;
  pthread_t thread[16];
  unsigned n_threads;
};
enum { ADMIT, CONTROL, PRELOAD, N_LANES };

/* A client that watches health; belongs to the loop thread. */
struct health_watch {
  struct health_watch *next, **back;
  struct cuzk_service *s;
  struct cuzk_rpc_call *call;
  bool known; /* the service it asked for */
};

struct cuzk_service {
  struct cuzk_service_options o;
  pthread_mutex_t lock; /* guards lanes, n_calls, message_bytes, stop */
  pthread_cond_t idle;
  struct lane lane[N_LANES];
  size_t n_calls;
  uint64_t message_bytes; /* of messages that calls hold */
  bool stop;
  atomic_bool draining;
  struct cuzk_rpc_server *_Atomic server;
  struct health_watch *watches; /* loop thread */
};

/* ---- answers ---- */

static void refuse(struct call *c, enum cuzk_grpc_code code, const char *text) { cuzk_rpc_reply(c->handle, code, text, NULL, 0, 0); }

static void answer(struct call *c, const ProtobufCMessage *m) {
  size_t n = protobuf_c_message_get_packed_size(m);
  uint8_t *body = cuzk_malloc(n);
  if (!body) {
    refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the answer");
    return;
  }
  (void)protobuf_c_message_pack(m, body);
  cuzk_rpc_reply(c->handle, CUZK_GRPC_OK, NULL, body, n, 0);
  cuzk_free(body);
}

static char *empty(void) { return (char *)(uintptr_t)protobuf_c_empty_string; }
static char *text_or_empty(char *s) { return s ? s : empty(); }
static char *constant(const char *s) { return (char *)(uintptr_t)s; } /* protobuf-c only reads when packing */

/* A slice as a C string, to be freed; a NUL inside ends it, which no id of ours has. */
static char *dup_slice(struct cuzk_slice s) {
  char *p = cuzk_malloc(s.n + 1);
  if (!p) return NULL;
  if (s.n) memcpy(p, s.data, s.n);
  p[s.n] = 0;
  return p;
}

/* ---- life of a call ---- */

/* Gives the message's memory back, and its share of the service's. */
static void drop_message(struct call *c) {
  if (!c->message) return;
  cuzk_free(c->message);
  c->message = NULL;
  (void)pthread_mutex_lock(&c->s->lock);
  c->s->message_bytes -= c->n;
  (void)pthread_mutex_unlock(&c->s->lock);
}

static void call_put(struct call *c) {
  if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
  struct cuzk_service *s = c->s;
  cuzk_rpc_handle_release(&c->handle);
  (void)pthread_mutex_destroy(&c->lock);
  drop_message(c);
  cuzk_free(c->result_of);
  cuzk_free(c);
  (void)pthread_mutex_lock(&s->lock);
  if (--s->n_calls == 0) (void)pthread_cond_broadcast(&s->idle);
  (void)pthread_mutex_unlock(&s->lock);
}

static void call_ended(void *user, bool delivered) {
  struct call *c = user;
  atomic_store(&c->ended, true);
  (void)pthread_mutex_lock(&c->lock);
  struct cuzk_watch *w = c->watch;
  c->watch = NULL;
  char *job = c->result_of;
  c->result_of = NULL;
  (void)pthread_mutex_unlock(&c->lock);
  /* A waiter that was taken away in time is not called: its reference ends here. */
  if (cuzk_engine_unwatch(c->s->o.engine, &w)) call_put(c);
  if (delivered && job) cuzk_engine_delivered(c->s->o.engine, job);
  cuzk_free(job);
  call_put(c);
}

static void hand_over(struct cuzk_service *s, struct cuzk_rpc_call *rpc, unsigned lane, task_fn *run) {
  size_t n;
  (void)cuzk_rpc_call_message(rpc, &n);
  /* What the transport has received it no longer counts; a flood of large messages must not pile up here instead. One always passes. */
  (void)pthread_mutex_lock(&s->lock);
  bool full = s->message_bytes > 0 && (s->message_bytes >= s->o.max_pending_bytes || n > s->o.max_pending_bytes - s->message_bytes);
  (void)pthread_mutex_unlock(&s->lock);
  struct call *c = cuzk_calloc(1, sizeof *c);
  if (c && pthread_mutex_init(&c->lock, NULL) != 0) {
    cuzk_free(c);
    c = NULL;
  }
  struct cuzk_rpc_handle *handle = cuzk_rpc_call_handle(rpc);
  if (!c || !handle || full) {
    const char *text = full ? "too many requests are being admitted at the same time" : "no memory for a call";
    if (handle) cuzk_rpc_reply(handle, CUZK_GRPC_RESOURCE_EXHAUSTED, text, NULL, 0, full ? s->o.retry_after_ms : 0);
    cuzk_rpc_handle_release(&handle);
    if (c) (void)pthread_mutex_destroy(&c->lock);
    cuzk_free(c);
    return;
  }
  c->s = s;
  c->handle = handle;
  c->run = run;
  c->message = cuzk_rpc_call_take(rpc, &c->n);
  c->until = CUZK_NEVER;
  uint64_t left = cuzk_rpc_call_remaining_ms(rpc), ns;
  if (left != UINT64_MAX && !__builtin_mul_overflow(left, CUZK_MS, &ns) && !__builtin_add_overflow(ns, cuzk_clock_now(s->o.clock), &ns))
    c->until = ns;
  atomic_init(&c->refs, 2);
  cuzk_rpc_call_on_end(rpc, call_ended, c);
  (void)pthread_mutex_lock(&s->lock);
  s->n_calls++;
  if (c->message) s->message_bytes += c->n;
  *s->lane[lane].last = c;
  s->lane[lane].last = &c->next;
  (void)pthread_cond_signal(&s->lane[lane].cond);
  (void)pthread_mutex_unlock(&s->lock);
}

struct lane_thread {
  struct cuzk_service *s;
  struct lane *lane;
};

static void *lane_main(void *arg) {
  struct lane_thread t = *(struct lane_thread *)arg;
  cuzk_free(arg);
  for (;;) {
    (void)pthread_mutex_lock(&t.s->lock);
    while (!t.lane->first && !t.s->stop) (void)pthread_cond_wait(&t.lane->cond, &t.s->lock);
    struct call *c = t.lane->first;
    if (c) {
      t.lane->first = c->next;
      if (!t.lane->first) t.lane->last = &t.lane->first;
    }
    (void)pthread_mutex_unlock(&t.s->lock);
    if (!c) return NULL;
    if (!atomic_load(&c->ended)) c->run(c);
    call_put(c);
  }
}

/* ---- SubmitProof, Prove ---- */

static enum cuzk_grpc_code refusal_code(enum cuzk_refusal why, enum cuzk_status st) {
  switch (why) {
    case CUZK_REFUSED_BAD: return CUZK_GRPC_INVALID_ARGUMENT;
    case CUZK_REFUSED_PRECONDITION: return CUZK_GRPC_FAILED_PRECONDITION;
    case CUZK_REFUSED_FULL: return CUZK_GRPC_RESOURCE_EXHAUSTED;
    case CUZK_REFUSED_DRAINING:
    case CUZK_REFUSED_NO_DEVICE: return CUZK_GRPC_UNAVAILABLE;
    case CUZK_REFUSED_NOT: break;
  }
  return cuzk_grpc_code_of(st);
}

static void refuse_submission(struct call *c, enum cuzk_refusal why, enum cuzk_status st, const struct cuzk_detail *d) {
  uint64_t after = why == CUZK_REFUSED_FULL ? c->s->o.retry_after_ms : 0;
  cuzk_rpc_reply(c->handle, refusal_code(why, st), d->text[0] ? d->text : cuzk_status_text(st), NULL, 0, after);
}

/* Decodes and admits. The message is given back as soon as the request holds its content. */
static bool submit(struct call *c, struct cuzk_submitted *out) {
  struct cuzk_detail d = {{0}};
  struct cuzk_submit_message m;
  struct cuzk_request *rq = NULL;
  char *id = NULL;
  bool present = true, done = false;
  enum cuzk_refusal why = CUZK_REFUSED_NOT;
  enum cuzk_status st = c->prove ? cuzk_prove_decode(&m, &present, c->message, c->n, &d) : cuzk_submit_decode(&m, c->message, c->n, &d);
  if (st == CUZK_OK && !present) st = cuzk_fail(&d, CUZK_E_FORMAT, "submit is missing");
  if (st == CUZK_OK && m.request_id.n && memchr(m.request_id.data, 0, m.request_id.n))
    st = cuzk_fail(&d, CUZK_E_FORMAT, "request_id: contains a zero byte");
  if (st == CUZK_OK) {
    id = dup_slice(m.request_id);
    st = id ? cuzk_request_create(&rq, &m.fields) : CUZK_E_NOMEM;
  }
  if (st == CUZK_OK) {
    drop_message(c);
    struct cuzk_submit s = {.request_id = id, .priority = m.priority, .from_prove = c->prove, .request = rq};
    st = cuzk_engine_submit(c->s->o.engine, &s, out, &why, &d);
    done = st == CUZK_OK;
  }
  if (!done) refuse_submission(c, why, st, &d);
  cuzk_request_unref(&rq);
  cuzk_free(id);
  cuzk_submit_message_clear(&m);
  return done;
}

static void run_submit(struct call *c) {
  struct cuzk_submitted r;
  if (!submit(c, &r)) return;
  char gpu[16] = "";
  if (r.assigned_gpu >= 0) (void)snprintf(gpu, sizeof gpu, "%d", r.assigned_gpu);
  Cuzk__V1__SubmitProofResponse m = CUZK__V1__SUBMIT_PROOF_RESPONSE__INIT;
  m.job_id = r.job_id;
  m.queue_position = r.queue_position;
  m.assigned_gpu = gpu;
  answer(c, &m.base);
  cuzk_free(r.job_id);
}

/* ---- waiting ---- */

static Cuzk__V1__AwaitProofResponse__Status status_of(enum cuzk_job_state state) {
  switch (state) {
    case CUZK_JOB_COMPLETED: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED;
    case CUZK_JOB_FAILED: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED;
    case CUZK_JOB_CANCELLED: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED;
    default: return CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT;
  }
}

/* The waiter's function, once a job. Has a reference of the call. */
static void job_ended(void *user, const struct cuzk_job_result *r) {
  struct call *c = user;
  if (r->draining) {
    refuse(c, CUZK_GRPC_UNAVAILABLE, "the service is stopping; ask again later");
    call_put(c);
    return;
  }
  Cuzk__V1__AwaitProofResponse m = CUZK__V1__AWAIT_PROOF_RESPONSE__INIT;
  m.job_id = text_or_empty(r->job_id);
  m.status = status_of(r->state);
  if (r->state == CUZK_JOB_COMPLETED) {
    m.proof.data = r->proof;
    m.proof.len = r->proof_bytes;
    char *job = cuzk_strdup(r->job_id); /* without memory the result counts as not delivered and is kept: nothing is lost */
    (void)pthread_mutex_lock(&c->lock);
    c->result_of = job;
    (void)pthread_mutex_unlock(&c->lock);
  }
  m.error_message = text_or_empty(r->error);
  m.queue_wait_ms = r->times.queue_wait_ms;
  m.srs_load_ms = r->times.srs_load_ms;
  m.synthesis_ms = r->times.synthesis_ms;
  m.gpu_compute_ms = r->times.gpu_compute_ms;
  m.total_ms = r->times.total_ms;
  if (c->prove) {
    Cuzk__V1__ProveResponse p = CUZK__V1__PROVE_RESPONSE__INIT;
    p.result = &m;
    answer(c, &p.base);
  } else {
    answer(c, &m.base);
  }
  call_put(c);
}

/* Makes the call a waiter of a job. The watch is kept for call_ended, which may have come already. */
static void watch(struct call *c, const char *job_id, uint64_t until) {
  struct cuzk_watch *w = NULL;
  (void)atomic_fetch_add(&c->refs, 1);
  enum cuzk_status st = cuzk_engine_watch(c->s->o.engine, &w, job_id, until, job_ended, c);
  if (st != CUZK_OK) {
    /* A job that was just admitted can only be unknown because it ended and its result had to go. */
    if (st == CUZK_E_NOENT && !c->prove) refuse(c, CUZK_GRPC_NOT_FOUND, "no job has this id");
    else if (st == CUZK_E_NOENT) refuse(c, CUZK_GRPC_INTERNAL, "the job's result is not kept any more");
    else refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for a waiter");
    call_put(c);
    return;
  }
  (void)pthread_mutex_lock(&c->lock);
  bool ended = atomic_load(&c->ended);
  if (!ended) c->watch = w;
  (void)pthread_mutex_unlock(&c->lock);
  if (ended && cuzk_engine_unwatch(c->s->o.engine, &w)) call_put(c);
}

static void run_prove(struct call *c) {
  struct cuzk_submitted r;
  c->prove = true;
  if (!submit(c, &r)) return;
  watch(c, r.job_id, CUZK_NEVER);
  cuzk_free(r.job_id);
}

/* The string of a request, to be freed; NULL: refused. */
static char *text_of(struct call *c, uint64_t *number) {
  struct cuzk_detail d = {{0}};
  struct cuzk_slice text;
  if (cuzk_small_decode(&text, number, c->message, c->n, &d) != CUZK_OK) {
    refuse(c, CUZK_GRPC_INVALID_ARGUMENT, d.text);
    return NULL;
  }
  char *s = dup_slice(text);
  if (!s) refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for a call");
  return s;
}

static void run_await(struct call *c) {
  uint64_t timeout_ms, until = CUZK_NEVER, ns;
  char *job = text_of(c, &timeout_ms);
  if (!job) return;
  if (timeout_ms && !__builtin_mul_overflow(timeout_ms, CUZK_MS, &ns) && !__builtin_add_overflow(ns, cuzk_clock_now(c->s->o.clock), &ns))
    until = ns;
  watch(c, job, until);
  cuzk_free(job);
}

static void run_cancel(struct call *c) {
  char *job = text_of(c, NULL);
  if (!job) return;
  bool was_running = false;
  enum cuzk_status st = cuzk_engine_cancel(c->s->o.engine, job, &was_running);
  cuzk_free(job);
  if (st == CUZK_E_NOENT) {
    refuse(c, CUZK_GRPC_NOT_FOUND, "no job has this id");
  } else if (st != CUZK_OK) {
    refuse(c, cuzk_grpc_code_of(st), cuzk_status_text(st));
  } else {
    Cuzk__V1__CancelProofResponse m = CUZK__V1__CANCEL_PROOF_RESPONSE__INIT;
    m.was_running = was_running;
    answer(c, &m.base);
  }
}

/* ---- views ---- */

/* The arrays of a GetStatusResponse, in one block. */
struct status_rows {
  Cuzk__V1__GPUStatus *gpu, **gpus;
  Cuzk__V1__SRSStatus *srs, **srss;
  Cuzk__V1__QueueStatus queue[N_KINDS], *queues[N_KINDS];
};

static void fill_status(Cuzk__V1__GetStatusResponse *m, struct status_rows *rows, struct cuzk_engine_view *v, const struct cuzk_kind_names *kinds) {
  for (size_t i = 0; i < v->n_gpus; i++) {
    struct cuzk_gpu_view *g = &v->gpu[i];
    cuzk__v1__gpustatus__init(&rows->gpu[i]);
    rows->gpu[i].ordinal = g->info.ordinal;
    rows->gpu[i].name = g->info.name;
    rows->gpu[i].vram_total_bytes = g->info.memory_total;
    rows->gpu[i].vram_free_bytes = g->info.memory_free;
    rows->gpu[i].current_job_id = g->job_id;
    if (g->kind >= 0 && g->kind < N_KINDS) rows->gpu[i].current_proof_kind = constant(kinds[g->kind].rpc_name);
    rows->gpus[i] = &rows->gpu[i];
  }
  for (size_t i = 0; i < v->n_srs; i++) {
    cuzk__v1__srsstatus__init(&rows->srs[i]);
    rows->srs[i].circuit_id = v->srs[i].circuit_id;
    rows->srs[i].tier = v->srs[i].loaded ? CUZK__V1__SRSSTATUS__TIER__HOT : CUZK__V1__SRSSTATUS__TIER__COLD;
    rows->srs[i].size_bytes = v->srs[i].bytes;
    rows->srs[i].ref_count = v->srs[i].refs;
    rows->srss[i] = &rows->srs[i];
  }
  for (unsigned k = 0; k < N_KINDS; k++) {
    cuzk__v1__queue_status__init(&rows->queue[k]);
    rows->queue[k].proof_kind = constant(kinds[k].rpc_name);
    rows->queue[k].pending = v->kind[k].pending;
    rows->queue[k].in_progress = v->kind[k].in_progress;
    rows->queues[k] = &rows->queue[k];
    m->total_proofs_completed += v->kind[k].completed;
    m->total_proofs_failed += v->kind[k].failed;
  }
  m->gpus = rows->gpus;
  m->n_gpus = v->n_gpus;
  m->loaded_srs = rows->srss;
  m->n_loaded_srs = v->n_srs;
  m->queues = rows->queues;
  m->n_queues = N_KINDS;
  m->uptime_seconds = (uint64_t)v->uptime_s;
  m->pinned_memory_bytes = v->budget.by_class[CUZK_MEM_SRS] + v->budget.by_class[CUZK_MEM_POOL_IDLE] + v->budget.by_class[CUZK_MEM_ABC];
  m->pinned_memory_limit_bytes = v->budget.total;
}

static void run_status(struct call *c) {
  char *nothing = text_of(c, NULL);
  if (!nothing) return;
  cuzk_free(nothing);
  struct cuzk_engine_view v;
  if (cuzk_engine_view(c->s->o.engine, &v) != CUZK_OK) {
    refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for a view of the engine");
    return;
  }
  struct status_rows rows = {.gpu = cuzk_calloc(v.n_gpus, sizeof *rows.gpu),
                             .gpus = cuzk_calloc(v.n_gpus, sizeof(void *)),
                             .srs = cuzk_calloc(v.n_srs, sizeof *rows.srs),
                             .srss = cuzk_calloc(v.n_srs, sizeof(void *))};
  if (rows.gpu && rows.gpus && rows.srs && rows.srss) {
    Cuzk__V1__GetStatusResponse m = CUZK__V1__GET_STATUS_RESPONSE__INIT;
    fill_status(&m, &rows, &v, c->s->o.kinds);
    answer(c, &m.base);
  } else {
    refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for a view of the engine");
  }
  cuzk_free(rows.gpu);
  cuzk_free((void *)rows.gpus);
  cuzk_free(rows.srs);
  cuzk_free((void *)rows.srss);
  cuzk_engine_view_clear(&v);
}

static void run_metrics(struct call *c) {
  char *nothing = text_of(c, NULL), *text = NULL;
  if (!nothing) return;
  cuzk_free(nothing);
  if (cuzk_engine_metrics_text(c->s->o.engine, &text) != CUZK_OK) {
    refuse(c, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for the metrics");
    return;
  }
  Cuzk__V1__GetMetricsResponse m = CUZK__V1__GET_METRICS_RESPONSE__INIT;
  m.prometheus_text = text;
  answer(c, &m.base);
  cuzk_free(text);
}

/* ---- parameters ---- */

static void run_preload(struct call *c) {
  struct cuzk_service *s = c->s;
  char *circuit = text_of(c, NULL);
  if (!circuit) return;
  struct cuzk_detail d = {{0}};
  bool already = false;
  uint64_t load_ms = 0;
  enum cuzk_refusal why;
  enum cuzk_status st;
  for (;;) {
    /* In slices, so that a caller that has gone is noticed while memory is waited for. */
    uint64_t slice = cuzk_clock_now(s->o.clock) + PRELOAD_SLICE, until = slice < c->until ? slice : c->until;
    st = cuzk_engine_preload(s->o.engine, circuit, until, &c->ended, &already, &load_ms, &why, &d);
    bool in_time = cuzk_clock_now(s->o.clock) < c->until;
    if (st != CUZK_E_NOMEM || why != CUZK_REFUSED_NOT || !in_time || atomic_load(&c->ended)) break;
    if (cuzk_clock_now(s->o.clock) < until) break; /* not the budget: loading itself found no memory */
  }
  cuzk_free(circuit);
  if (st == CUZK_OK) {
    Cuzk__V1__PreloadSrsResponse m = CUZK__V1__PRELOAD_SRS_RESPONSE__INIT;
    m.already_loaded = already;
    m.load_time_ms = load_ms;
    answer(c, &m.base);
    return;
  }
  enum cuzk_grpc_code code = refusal_code(why, st);
  if (st == CUZK_E_ARG) code = CUZK_GRPC_INVALID_ARGUMENT;
  else if (st == CUZK_E_NOENT) code = CUZK_GRPC_NOT_FOUND;
  else if (st == CUZK_E_UNSUPPORTED) code = CUZK_GRPC_FAILED_PRECONDITION;
  else if (st == CUZK_E_NOMEM && cuzk_clock_now(s->o.clock) >= c->until) code = CUZK_GRPC_DEADLINE_EXCEEDED;
  refuse(c, code, d.text[0] ? d.text : cuzk_status_text(st));
}

static void run_evict(struct call *c) {
  char *circuit = text_of(c, NULL);
  if (!circuit) return;
  struct cuzk_detail d = {{0}};
  bool was_loaded = false;
  uint64_t freed = 0;
  enum cuzk_status st = cuzk_engine_evict(c->s->o.engine, circuit, &was_loaded, &freed, &d);
  cuzk_free(circuit);
  if (st == CUZK_OK) {
    Cuzk__V1__EvictSrsResponse m = CUZK__V1__EVICT_SRS_RESPONSE__INIT;
    m.was_loaded = was_loaded;
    m.freed_bytes = freed;
    answer(c, &m.base);
    return;
  }
  enum cuzk_grpc_code code = st == CUZK_E_MISMATCH ? CUZK_GRPC_FAILED_PRECONDITION : cuzk_grpc_code_of(st);
  refuse(c, code, d.text[0] ? d.text : cuzk_status_text(st));
}

/* ---- health ---- */

enum { UNKNOWN_SERVICE = 3, SERVING = 1, NOT_SERVING = 2 };

static bool health_known(struct cuzk_slice name) {
  static const char ours[] = "cuzk.v1.ProvingEngine";
  return name.n == 0 || (name.n == sizeof ours - 1 && memcmp(name.data, ours, name.n) == 0);
}

/* A HealthCheckResponse: field 1, an enum below 128. */
static void health_message(struct cuzk_service *s, uint8_t out[2], bool known) {
  out[0] = 1 << 3;
  out[1] = !known ? UNKNOWN_SERVICE : atomic_load(&s->draining) ? NOT_SERVING : SERVING;
}

static void health_check(void *user, struct cuzk_rpc_call *call) {
  struct cuzk_service *s = user;
  struct cuzk_rpc_handle *h = cuzk_rpc_call_handle(call);
  if (!h) return;
  size_t n;
  const uint8_t *message = cuzk_rpc_call_message(call, &n);
  struct cuzk_detail d = {{0}};
  struct cuzk_slice name;
  uint8_t body[2];
  if (cuzk_small_decode(&name, NULL, message, n, &d) != CUZK_OK) {
    cuzk_rpc_reply(h, CUZK_GRPC_INVALID_ARGUMENT, d.text, NULL, 0, 0);
  } else if (!health_known(name)) {
    cuzk_rpc_reply(h, CUZK_GRPC_NOT_FOUND, "no such service", NULL, 0, 0);
  } else {
    health_message(s, body, true);
    cuzk_rpc_reply(h, CUZK_GRPC_OK, NULL, body, sizeof body, 0);
  }
  cuzk_rpc_handle_release(&h);
}

static void health_gone(void *user, bool delivered) {
  (void)delivered;
  struct health_watch *w = user;
  *w->back = w->next;
  if (w->next) w->next->back = w->back;
  cuzk_free(w);
}

static void health_watch(void *user, struct cuzk_rpc_call *call) {
  struct cuzk_service *s = user;
  size_t n;
  const uint8_t *message = cuzk_rpc_call_message(call, &n);
  struct cuzk_detail d = {{0}};
  struct cuzk_slice name;
  if (cuzk_small_decode(&name, NULL, message, n, &d) != CUZK_OK) {
    cuzk_rpc_call_finish(call, CUZK_GRPC_INVALID_ARGUMENT, d.text);
    return;
  }
  struct health_watch *w = cuzk_malloc(sizeof *w);
  if (!w) {
    cuzk_rpc_call_finish(call, CUZK_GRPC_RESOURCE_EXHAUSTED, "no memory for a call");
    return;
  }
  *w = (struct health_watch){.next = s->watches, .back = &s->watches, .s = s, .call = call, .known = health_known(name)};
  if (w->next) w->next->back = &w->next;
  s->watches = w;
  cuzk_rpc_call_on_end(call, health_gone, w);
  uint8_t body[2];
  health_message(s, body, w->known);
  cuzk_rpc_call_send(call, body, sizeof body);
}

static void health_changed(void *user) {
  struct cuzk_service *s = user;
  for (struct health_watch *w = s->watches, *next; w; w = next) {
    next = w->next;
    if (!w->known) continue;
    uint8_t body[2];
    health_message(s, body, true);
    cuzk_rpc_call_send(w->call, body, sizeof body);
  }
}

/* ---- reflection ---- */

static void reflect(void *user, struct cuzk_rpc_call *call) {
  size_t n;
  const uint8_t *message = cuzk_rpc_call_message(call, &n);
  if (!message) { /* the client has no more questions */
    cuzk_rpc_call_finish(call, CUZK_GRPC_OK, NULL);
    return;
  }
  cuzk_rpc_call_on_message(call, reflect);
  struct cuzk_wire_out out;
  enum cuzk_status st = cuzk_reflection_answer(&out, message, n);
  if (st == CUZK_OK) cuzk_rpc_call_send(call, out.data, out.n);
  else cuzk_rpc_call_finish(call, cuzk_grpc_code_of(st), "the request cannot be read");
  cuzk_wire_out_clear(&out);
  (void)user;
}

/* ---- the table ---- */

static void on_submit(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, ADMIT, run_submit); }
static void on_prove(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, ADMIT, run_prove); }
static void on_await(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, CONTROL, run_await); }
static void on_cancel(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, CONTROL, run_cancel); }
static void on_status(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, CONTROL, run_status); }
static void on_metrics(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, CONTROL, run_metrics); }
static void on_preload(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, PRELOAD, run_preload); }
static void on_evict(void *user, struct cuzk_rpc_call *call) { hand_over(user, call, CONTROL, run_evict); }

static const struct cuzk_rpc_method methods[] = {
    {"/cuzk.v1.ProvingEngine/SubmitProof", on_submit, false},
    {"/cuzk.v1.ProvingEngine/AwaitProof", on_await, false},
    {"/cuzk.v1.ProvingEngine/Prove", on_prove, false},
    {"/cuzk.v1.ProvingEngine/CancelProof", on_cancel, false},
    {"/cuzk.v1.ProvingEngine/GetStatus", on_status, false},
    {"/cuzk.v1.ProvingEngine/GetMetrics", on_metrics, false},
    {"/cuzk.v1.ProvingEngine/PreloadSRS", on_preload, false},
    {"/cuzk.v1.ProvingEngine/EvictSRS", on_evict, false},
    {"/grpc.health.v1.Health/Check", health_check, false},
    {"/grpc.health.v1.Health/Watch", health_watch, true},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", reflect, true},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", reflect, true},
};

const struct cuzk_rpc_method *cuzk_service_methods(size_t *n) {
  *n = sizeof methods / sizeof methods[0];
  return methods;
}

/* ---- life of the service ---- */

static enum cuzk_status start_lane(struct cuzk_service *s, struct lane *l, unsigned n) {
  const unsigned max = sizeof l->thread / sizeof l->thread[0];
  for (unsigned i = 0; i < n && i < max; i++) {
    struct lane_thread *t = cuzk_malloc(sizeof *t);
    if (!t) return CUZK_E_NOMEM;
    *t = (struct lane_thread){.s = s, .lane = l};
    if (pthread_create(&l->thread[i], NULL, lane_main, t) != 0) {
      cuzk_free(t);
      return CUZK_E_NOMEM;
    }
    l->n_threads++;
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_service_create(struct cuzk_service **out, const struct cuzk_service_options *o) {
  *out = NULL;
  struct cuzk_service *s = cuzk_calloc(1, sizeof *s);
  if (!s) return CUZK_E_NOMEM;
  s->o = *o;
  if (!s->o.max_pending_bytes) s->o.max_pending_bytes = UINT64_C(1) << 30;
  if (!s->o.retry_after_ms) s->o.retry_after_ms = DEFAULT_RETRY_MS;
  /* With default attributes these cannot fail on Linux. */
  (void)pthread_mutex_init(&s->lock, NULL);
  (void)pthread_cond_init(&s->idle, NULL);
  for (unsigned i = 0; i < N_LANES; i++) {
    (void)pthread_cond_init(&s->lane[i].cond, NULL);
    s->lane[i].last = &s->lane[i].first;
  }
  const unsigned n[N_LANES] = {[ADMIT] = o->admit_threads ? o->admit_threads : 2,
                               [CONTROL] = o->control_threads ? o->control_threads : 2,
                               [PRELOAD] = o->preload_threads ? o->preload_threads : 4};
  enum cuzk_status st = CUZK_OK;
  for (unsigned i = 0; i < N_LANES && st == CUZK_OK; i++) st = start_lane(s, &s->lane[i], n[i]);
  if (st != CUZK_OK) {
    cuzk_service_destroy(&s);
    return st;
  }
  *out = s;
  return CUZK_OK;
}

void cuzk_service_serve(struct cuzk_service *s, struct cuzk_rpc_server *server) { atomic_store(&s->server, server); }

void cuzk_service_drain(struct cuzk_service *s) {
  if (atomic_exchange(&s->draining, true)) return;
  struct cuzk_rpc_server *server = atomic_load(&s->server);
  /* Without memory for the message the watchers learn it from the end of their connection. */
  if (server) (void)cuzk_rpc_server_post(server, health_changed, s);
}

void cuzk_service_destroy(struct cuzk_service **sp) {
  struct cuzk_service *s = *sp;
  if (!s) return;
  *sp = NULL;
  (void)pthread_mutex_lock(&s->lock);
  s->stop = true;
  for (unsigned i = 0; i < N_LANES; i++) (void)pthread_cond_broadcast(&s->lane[i].cond);
  (void)pthread_mutex_unlock(&s->lock);
  for (unsigned i = 0; i < N_LANES; i++) {
    for (unsigned k = 0; k < s->lane[i].n_threads; k++) (void)pthread_join(s->lane[i].thread[k], NULL);
  }
  (void)pthread_mutex_lock(&s->lock);
  while (s->n_calls > 0) (void)pthread_cond_wait(&s->idle, &s->lock); /* waiters that the engine is calling just now */
  (void)pthread_mutex_unlock(&s->lock);
  for (unsigned i = 0; i < N_LANES; i++) (void)pthread_cond_destroy(&s->lane[i].cond);
  (void)pthread_cond_destroy(&s->idle);
  (void)pthread_mutex_destroy(&s->lock);
  cuzk_free(s);
}
