/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The proving service over an engine with the fake prover, called by our own client in the same process. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "cuzk/v1/proving.pb-c.h"
#include "daemon/service.h"
#include "engine/engine_testing.h"
#include "rpc/client.h"

#define SERVICE "/cuzk.v1.ProvingEngine/"

struct world {
  struct bench b;
  struct cuzk_service *service;
  struct cuzk_rpc_server *server;
  struct cuzk_rpc_client *client;
};

static void sleep_ms(unsigned ms) {
  struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
  (void)nanosleep(&t, NULL);
}

/* PoRep: 2 partitions, quick. Update: 1 partition, half a second of synthesis. PoSts: 1 partition, at once. */
static void world_init(struct world *w) {
  bench_init(&w->b, true);
  w->b.f.kind[POREP - 1].n_partitions = 2;
  w->b.f.kind[SNAP - 1].n_partitions = 1;
  w->b.f.kind[SNAP - 1].stage_ns[CUZK_FAKE_SYNTH] = 500 * CUZK_MS;
}

static void world_start(struct world *w) {
  bench_start(&w->b);
  struct cuzk_service_options so = {.clock = w->b.clock, .engine = w->b.e, .kinds = w->b.o.prover.ops->kinds, .max_pending_bytes = 5 * MIB};
  assert_int_equal(cuzk_service_create(&w->service, &so), CUZK_OK);
  struct cuzk_detail d = {{0}};
  struct cuzk_rpc_options ro = {.user = w->service, .max_message_bytes = 8 * MIB};
  ro.methods = cuzk_service_methods(&ro.n_methods);
  assert_int_equal(cuzk_rpc_server_create(&w->server, &ro, &d), CUZK_OK);
  cuzk_service_serve(w->service, w->server);
  struct cuzk_rpc_listen l = {.address = "127.0.0.1:0"};
  assert_int_equal(cuzk_rpc_server_listen(w->server, &l, &d), CUZK_OK);
  assert_int_equal(cuzk_rpc_server_start(w->server, &d), CUZK_OK);
  struct cuzk_rpc_client_options co = {.address = cuzk_rpc_server_address(w->server, 0)};
  assert_int_equal(cuzk_rpc_client_open(&w->client, &co, &d), CUZK_OK);
}

static void world_end(struct world *w) {
  cuzk_rpc_client_close(&w->client);
  cuzk_rpc_server_destroy(&w->server);
  cuzk_service_destroy(&w->service);
  bench_end(&w->b);
}

/* ---- calls ---- */

static enum cuzk_grpc_code call_raw(struct world *w, const char *method, const void *body, size_t n, uint64_t timeout_ms, struct cuzk_rpc_answer *a) {
  char path[128];
  struct cuzk_detail d = {{0}};
  (void)snprintf(path, sizeof path, "%s%s", method[0] == '/' ? "" : SERVICE, method);
  *a = (struct cuzk_rpc_answer){.code = CUZK_GRPC_UNKNOWN};
  assert_int_equal(cuzk_rpc_client_call(w->client, path, body, n, timeout_ms, NULL, a, &d), CUZK_OK);
  return a->code;
}

static enum cuzk_grpc_code call(struct world *w, const char *method, const ProtobufCMessage *m, uint64_t timeout_ms, struct cuzk_rpc_answer *a) {
  uint8_t *body = malloc(protobuf_c_message_get_packed_size(m) + 1);
  assert_non_null(body);
  size_t n = protobuf_c_message_pack(m, body);
  enum cuzk_grpc_code code = call_raw(w, method, body, n, timeout_ms, a);
  free(body);
  return code;
}

static void expect(struct world *w, const char *method, const ProtobufCMessage *m, enum cuzk_grpc_code code, const char *text) {
  struct cuzk_rpc_answer a;
  enum cuzk_grpc_code got = call(w, method, m, 0, &a);
  if (got != code || (text && (!a.message || !strstr(a.message, text))))
    fail_msg("%s: %s '%s', expected %s '%s'", method, cuzk_grpc_code_name((int)got), a.message ? a.message : "", cuzk_grpc_code_name((int)code),
             text ? text : "");
  cuzk_rpc_answer_clear(&a);
}

/* A request of a kind told from others by n: the same content as bench_request. */
struct ask {
  Cuzk__V1__SubmitProofRequest m;
  uint8_t text[8];
  char id[64];
};
static void ask_init(struct ask *q, const char *id, unsigned kind, unsigned n) {
  cuzk__v1__submit_proof_request__init(&q->m);
  (void)snprintf(q->id, sizeof q->id, "%s", id);
  memcpy(q->text, &n, 4);
  memcpy(q->text + 4, &kind, 4);
  q->m.request_id = q->id;
  q->m.proof_kind = (Cuzk__V1__ProofKind)kind;
  q->m.vanilla_proof = (ProtobufCBinaryData){sizeof q->text, q->text};
}

static char *submit(struct world *w, const char *id, unsigned kind, unsigned n) {
  struct ask q;
  ask_init(&q, id, kind, n);
  struct cuzk_rpc_answer a;
  assert_int_equal(call(w, "SubmitProof", &q.m.base, 0, &a), CUZK_GRPC_OK);
  Cuzk__V1__SubmitProofResponse *r = cuzk__v1__submit_proof_response__unpack(NULL, a.n, a.body);
  assert_non_null(r);
  char *job = strdup(r->job_id);
  cuzk__v1__submit_proof_response__free_unpacked(r, NULL);
  cuzk_rpc_answer_clear(&a);
  return job;
}

static Cuzk__V1__AwaitProofResponse *await(struct world *w, const char *job, uint64_t timeout_ms) {
  Cuzk__V1__AwaitProofRequest q = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
  q.job_id = (char *)(uintptr_t)job;
  q.timeout_ms = timeout_ms;
  struct cuzk_rpc_answer a;
  if (call(w, "AwaitProof", &q.base, 0, &a) != CUZK_GRPC_OK) fail_msg("AwaitProof: %s", a.message);
  Cuzk__V1__AwaitProofResponse *r = cuzk__v1__await_proof_response__unpack(NULL, a.n, a.body);
  assert_non_null(r);
  assert_string_equal(r->job_id, job);
  cuzk_rpc_answer_clear(&a);
  return r;
}

static void assert_result(struct world *w, const Cuzk__V1__AwaitProofResponse *r, unsigned kind, unsigned n) {
  assert_int_equal(r->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED);
  struct cuzk_request *rq = bench_request(kind, n);
  unsigned parts = w->b.f.kind[kind - 1].n_partitions;
  assert_int_equal(r->proof.len, parts * CUZK_PROOF_LEN);
  for (unsigned i = 0; i < parts; i++) {
    uint8_t want[CUZK_PROOF_LEN];
    cuzk_fake_proof(want, rq, i);
    assert_memory_equal(r->proof.data + (size_t)i * CUZK_PROOF_LEN, want, CUZK_PROOF_LEN);
  }
  cuzk_request_unref(&rq);
}

static unsigned runs(struct world *w, unsigned kind, unsigned n) {
  struct cuzk_request *rq = bench_request(kind, n);
  unsigned k = cuzk_fake_calls(w->b.fake, CUZK_FAKE_SYNTH, rq, 0);
  cuzk_request_unref(&rq);
  return k;
}

/* Prove, whose answer must be that proof. Returns the job's id, to be freed. */
static char *prove(struct world *w, const char *id, unsigned kind, unsigned n) {
  struct ask q;
  ask_init(&q, id, kind, n);
  Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
  p.submit = &q.m;
  struct cuzk_rpc_answer a;
  if (call(w, "Prove", &p.base, 0, &a) != CUZK_GRPC_OK) fail_msg("Prove: %s", a.message);
  Cuzk__V1__ProveResponse *r = cuzk__v1__prove_response__unpack(NULL, a.n, a.body);
  assert_non_null(r);
  assert_result(w, r->result, kind, n);
  char *job = strdup(r->result->job_id);
  cuzk__v1__prove_response__free_unpacked(r, NULL);
  cuzk_rpc_answer_clear(&a);
  return job;
}

static bool cancel(struct world *w, const char *job) {
  Cuzk__V1__CancelProofRequest q = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
  q.job_id = (char *)(uintptr_t)job;
  struct cuzk_rpc_answer a;
  assert_int_equal(call(w, "CancelProof", &q.base, 0, &a), CUZK_GRPC_OK);
  Cuzk__V1__CancelProofResponse *r = cuzk__v1__cancel_proof_response__unpack(NULL, a.n, a.body);
  bool was = r->was_running;
  cuzk__v1__cancel_proof_response__free_unpacked(r, NULL);
  cuzk_rpc_answer_clear(&a);
  return was;
}

static Cuzk__V1__PreloadSrsRequest preload_of(char *circuit) {
  Cuzk__V1__PreloadSrsRequest q = CUZK__V1__PRELOAD_SRS_REQUEST__INIT;
  q.circuit_id = circuit;
  return q;
}
static Cuzk__V1__EvictSrsRequest evict_of(char *circuit) {
  Cuzk__V1__EvictSrsRequest q = CUZK__V1__EVICT_SRS_REQUEST__INIT;
  q.circuit_id = circuit;
  return q;
}

static void wait_counts(struct world *w, unsigned kind, unsigned pending, unsigned in_progress) {
  for (unsigned i = 0; i < 500; i++) {
    struct cuzk_engine_view v;
    assert_int_equal(cuzk_engine_view(w->b.e, &v), CUZK_OK);
    bool there = v.kind[kind - 1].pending == pending && v.kind[kind - 1].in_progress == in_progress;
    cuzk_engine_view_clear(&v);
    if (there) return;
    sleep_ms(10);
  }
  fail_msg("never %u waiting and %u running", pending, in_progress);
}

/* ---- tests ---- */

static void eight_calls(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  world_start(&w);
  char *job = submit(&w, "porep-1000-7", POREP, 1);
  assert_string_equal(job, "porep-1000-7");
  for (unsigned i = 0; i < 2; i++) { /* any number of times */
    Cuzk__V1__AwaitProofResponse *r = await(&w, job, 0);
    assert_result(&w, r, POREP, 1);
    cuzk__v1__await_proof_response__free_unpacked(r, NULL);
  }
  assert_false(cancel(&w, job)); /* ended already */
  free(job);
  job = prove(&w, "", WINNING, 2);
  assert_int_equal(strlen(job), 36);
  free(job);

  struct cuzk_rpc_answer a;
  Cuzk__V1__GetStatusRequest sq = CUZK__V1__GET_STATUS_REQUEST__INIT;
  assert_int_equal(call(&w, "GetStatus", &sq.base, 0, &a), CUZK_GRPC_OK);
  Cuzk__V1__GetStatusResponse *s = cuzk__v1__get_status_response__unpack(NULL, a.n, a.body);
  assert_non_null(s);
  static const char *const kinds[] = {"porep-c2", "snap-update", "window-post", "winning-post"};
  assert_int_equal(s->n_queues, 4);
  for (unsigned k = 0; k < 4; k++) {
    assert_string_equal(s->queues[k]->proof_kind, kinds[k]);
    assert_int_equal(s->queues[k]->pending + s->queues[k]->in_progress, 0);
  }
  assert_int_equal(s->n_gpus, 1);
  assert_string_equal(s->gpus[0]->current_job_id, "");
  assert_int_equal(s->total_proofs_completed, 2);
  assert_int_equal(s->total_proofs_failed, 0);
  assert_int_equal(s->n_loaded_srs, 4);
  unsigned hot = 0;
  for (size_t i = 0; i < s->n_loaded_srs; i++) {
    hot += s->loaded_srs[i]->tier == CUZK__V1__SRSSTATUS__TIER__HOT;
    assert_true(s->loaded_srs[i]->size_bytes > 0);
  }
  assert_int_equal(hot, 2);
  assert_true(s->pinned_memory_bytes == 4 * GIB + 100 * MIB);
  assert_true(s->pinned_memory_limit_bytes == 400 * GIB);
  cuzk__v1__get_status_response__free_unpacked(s, NULL);
  cuzk_rpc_answer_clear(&a);

  Cuzk__V1__GetMetricsRequest mq = CUZK__V1__GET_METRICS_REQUEST__INIT;
  assert_int_equal(call(&w, "GetMetrics", &mq.base, 0, &a), CUZK_GRPC_OK);
  Cuzk__V1__GetMetricsResponse *m = cuzk__v1__get_metrics_response__unpack(NULL, a.n, a.body);
  assert_non_null(strstr(m->prometheus_text, "# TYPE cuzk_memory_budget_bytes gauge\n"));
  cuzk__v1__get_metrics_response__free_unpacked(m, NULL);
  cuzk_rpc_answer_clear(&a);

  char circuit[] = "wpost-32g";
  Cuzk__V1__PreloadSrsRequest pq = preload_of(circuit);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(call(&w, "PreloadSRS", &pq.base, 0, &a), CUZK_GRPC_OK);
    Cuzk__V1__PreloadSrsResponse *p = cuzk__v1__preload_srs_response__unpack(NULL, a.n, a.body);
    assert_int_equal(p->already_loaded, i);
    cuzk__v1__preload_srs_response__free_unpacked(p, NULL);
    cuzk_rpc_answer_clear(&a);
  }
  Cuzk__V1__EvictSrsRequest eq = evict_of(circuit);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(call(&w, "EvictSRS", &eq.base, 0, &a), CUZK_GRPC_OK);
    Cuzk__V1__EvictSrsResponse *e = cuzk__v1__evict_srs_response__unpack(NULL, a.n, a.body);
    assert_int_equal(e->was_loaded, !i);
    assert_true(e->freed_bytes == (i ? 0 : 4 * GIB));
    cuzk__v1__evict_srs_response__free_unpacked(e, NULL);
    cuzk_rpc_answer_clear(&a);
  }
  world_end(&w);
}

static void refusals(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  w.b.f.kind[WINDOW - 1].no_srs_file = true;
  w.b.f.kind[WINNING - 1].srs_bytes = 500 * GIB;
  w.b.o.t.max_queued_jobs = 1;
  w.b.o.synth_threads = 1;
  world_start(&w);
  struct cuzk_rpc_answer a;
  /* Undecodable, each method. */
  static const char *const methods[] = {"SubmitProof", "AwaitProof", "Prove", "CancelProof", "GetStatus", "GetMetrics", "PreloadSRS", "EvictSRS",
                                        "/grpc.health.v1.Health/Check"};
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    assert_int_equal(call_raw(&w, methods[i], "\x0a\x05", 2, 0, &a), CUZK_GRPC_INVALID_ARGUMENT);
    cuzk_rpc_answer_clear(&a);
  }
  assert_int_equal(call_raw(&w, "SubmitProof", "\x0a\x01\xff", 3, 0, &a), CUZK_GRPC_INVALID_ARGUMENT);
  cuzk_rpc_answer_clear(&a);
  assert_int_equal(call_raw(&w, "Prove", "", 0, 0, &a), CUZK_GRPC_INVALID_ARGUMENT);
  assert_non_null(strstr(a.message, "submit is missing"));
  cuzk_rpc_answer_clear(&a);
  assert_int_equal(call_raw(&w, "Nothing", "", 0, 0, &a), CUZK_GRPC_UNIMPLEMENTED);
  cuzk_rpc_answer_clear(&a);
  size_t big = 9 * MIB;
  uint8_t *p = calloc(big, 1);
  assert_non_null(p);
  assert_int_equal(call_raw(&w, "SubmitProof", p, big, 0, &a), CUZK_GRPC_RESOURCE_EXHAUSTED);
  cuzk_rpc_answer_clear(&a);
  free(p);
  /* Kinds, priorities, circuits. */
  struct ask q;
  ask_init(&q, "a", 0, 1);
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_INVALID_ARGUMENT, "proof_kind");
  ask_init(&q, "a", 5, 1);
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_INVALID_ARGUMENT, "proof_kind");
  ask_init(&q, "a", POREP, 1);
  q.m.priority = (Cuzk__V1__Priority)5;
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_INVALID_ARGUMENT, "priority");
  ask_init(&q, "a", WINDOW, 1);
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_FAILED_PRECONDITION, NULL);
  ask_init(&q, "a", WINNING, 1);
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_FAILED_PRECONDITION, NULL);
  /* Jobs that are not there. */
  Cuzk__V1__AwaitProofRequest aq = CUZK__V1__AWAIT_PROOF_REQUEST__INIT;
  char nothing[] = "nothing";
  aq.job_id = nothing;
  expect(&w, "AwaitProof", &aq.base, CUZK_GRPC_NOT_FOUND, NULL);
  Cuzk__V1__CancelProofRequest cq = CUZK__V1__CANCEL_PROOF_REQUEST__INIT;
  cq.job_id = nothing;
  expect(&w, "CancelProof", &cq.base, CUZK_GRPC_NOT_FOUND, NULL);
  /* Parameters. */
  char unknown[] = "porep-33g", missing[] = "wpost-32g", large[] = "winning-32g", used[] = "snap-32g";
  Cuzk__V1__PreloadSrsRequest pq = preload_of(unknown);
  expect(&w, "PreloadSRS", &pq.base, CUZK_GRPC_INVALID_ARGUMENT, NULL);
  pq = preload_of(missing);
  expect(&w, "PreloadSRS", &pq.base, CUZK_GRPC_NOT_FOUND, NULL);
  pq = preload_of(large);
  expect(&w, "PreloadSRS", &pq.base, CUZK_GRPC_FAILED_PRECONDITION, NULL);
  Cuzk__V1__EvictSrsRequest eq = evict_of(unknown);
  expect(&w, "EvictSRS", &eq.base, CUZK_GRPC_INVALID_ARGUMENT, NULL);
  char *first = submit(&w, "first", SNAP, 1);
  wait_counts(&w, SNAP, 0, 1);
  eq = evict_of(used);
  expect(&w, "EvictSRS", &eq.base, CUZK_GRPC_FAILED_PRECONDITION, NULL);
  /* Waiting: the client's limit, the call's deadline; the job goes on. */
  Cuzk__V1__AwaitProofResponse *r = await(&w, first, 50);
  assert_int_equal(r->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__TIMEOUT);
  assert_int_equal(r->proof.len, 0);
  assert_true(r->total_ms > 0);
  cuzk__v1__await_proof_response__free_unpacked(r, NULL);
  aq.job_id = first;
  assert_int_equal(call(&w, "AwaitProof", &aq.base, 50, &a), CUZK_GRPC_DEADLINE_EXCEEDED);
  cuzk_rpc_answer_clear(&a);
  /* One runs, one waits: the next is one too many. */
  char *second = submit(&w, "second", SNAP, 2);
  ask_init(&q, "third", SNAP, 3);
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_RESOURCE_EXHAUSTED, "max_queued_jobs");
  assert_false(cancel(&w, second));
  r = await(&w, second, 0);
  assert_int_equal(r->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__CANCELLED);
  cuzk__v1__await_proof_response__free_unpacked(r, NULL);
  r = await(&w, first, 0);
  assert_result(&w, r, SNAP, 1);
  cuzk__v1__await_proof_response__free_unpacked(r, NULL);
  free(first);
  free(second);
  first = submit(&w, "running", SNAP, 4);
  wait_counts(&w, SNAP, 0, 1);
  assert_true(cancel(&w, first));
  free(first);
  world_end(&w);
}

static enum cuzk_fake_fault bad_input(void *user, enum cuzk_fake_stage stage, const struct cuzk_request *rq, unsigned partition, int device) {
  (void)user;
  (void)rq;
  (void)partition;
  (void)device;
  return stage == CUZK_FAKE_OPEN ? CUZK_FAKE_BAD_INPUT : CUZK_FAKE_OK;
}

static void failed_proofs_are_answers(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  w.b.f.fault = bad_input;
  world_start(&w);
  struct ask q;
  ask_init(&q, "x", POREP, 1);
  Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
  p.submit = &q.m;
  struct cuzk_rpc_answer a;
  assert_int_equal(call(&w, "Prove", &p.base, 0, &a), CUZK_GRPC_OK);
  Cuzk__V1__ProveResponse *r = cuzk__v1__prove_response__unpack(NULL, a.n, a.body);
  assert_int_equal(r->result->status, CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED);
  assert_memory_equal(r->result->error_message, "bad_input: ", 11);
  assert_int_equal(r->result->proof.len, 0);
  cuzk__v1__prove_response__free_unpacked(r, NULL);
  cuzk_rpc_answer_clear(&a);
  world_end(&w);
}

struct proving {
  struct world *w;
  const char *id;
  unsigned kind, n;
  atomic_bool cancel;
  enum cuzk_grpc_code code;
  char *job;
  uint8_t proof[CUZK_PROOF_LEN];
  pthread_t thread;
};

/* Asserts belong to the test's thread: this one only brings the answer. */
static void *prove_main(void *arg) {
  struct proving *p = arg;
  struct ask q;
  ask_init(&q, p->id, p->kind, p->n);
  Cuzk__V1__ProveRequest m = CUZK__V1__PROVE_REQUEST__INIT;
  m.submit = &q.m;
  uint8_t body[512];
  size_t n = cuzk__v1__prove_request__pack(&m, body);
  struct cuzk_rpc_answer a = {.code = CUZK_GRPC_UNKNOWN};
  struct cuzk_detail d;
  p->code = CUZK_GRPC_UNKNOWN;
  if (cuzk_rpc_client_call(p->w->client, SERVICE "Prove", body, n, 0, &p->cancel, &a, &d) != CUZK_OK) return NULL;
  p->code = a.code;
  Cuzk__V1__ProveResponse *r = a.code == CUZK_GRPC_OK ? cuzk__v1__prove_response__unpack(NULL, a.n, a.body) : NULL;
  if (r && r->result->proof.len == CUZK_PROOF_LEN) memcpy(p->proof, r->result->proof.data, CUZK_PROOF_LEN);
  if (r) p->job = strdup(r->result->job_id);
  if (r) cuzk__v1__prove_response__free_unpacked(r, NULL);
  cuzk_rpc_answer_clear(&a);
  return NULL;
}

static void prove_begin(struct proving *p, struct world *w, const char *id, unsigned kind, unsigned n) {
  *p = (struct proving){.w = w, .id = id, .kind = kind, .n = n};
  assert_int_equal(pthread_create(&p->thread, NULL, prove_main, p), 0);
}

static void prove_end(struct proving *p, enum cuzk_grpc_code code) {
  assert_int_equal(pthread_join(p->thread, NULL), 0);
  assert_int_equal(p->code, code);
  if (code == CUZK_GRPC_OK) {
    struct cuzk_request *rq = bench_request(p->kind, p->n);
    uint8_t want[CUZK_PROOF_LEN];
    cuzk_fake_proof(want, rq, 0);
    assert_memory_equal(p->proof, want, CUZK_PROOF_LEN);
    cuzk_request_unref(&rq);
  }
}

static void one_id_two_payloads(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  w.b.f.kind[WINDOW - 1].stage_ns[CUZK_FAKE_SYNTH] = 200 * CUZK_MS;
  world_start(&w);
  static const char id[] = "wdpost-1000-0-[1 2 3 4 5 6 7 8]";
  struct proving a, b;
  prove_begin(&a, &w, id, WINDOW, 1);
  prove_begin(&b, &w, id, WINDOW, 2);
  prove_end(&a, CUZK_GRPC_OK);
  prove_end(&b, CUZK_GRPC_OK);
  assert_string_not_equal(a.job, b.job);
  const char *longer = strlen(a.job) > strlen(b.job) ? a.job : b.job;
  assert_memory_equal(longer, id, strlen(id));
  assert_int_equal(longer[strlen(id)], '~');
  assert_int_equal(strlen(longer), strlen(id) + 9);
  free(a.job);
  free(b.job);
  world_end(&w);
}

static void same_key_rules(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  world_start(&w);
  /* While it runs: attached. */
  struct proving a, b;
  prove_begin(&a, &w, "k", SNAP, 1);
  wait_counts(&w, SNAP, 0, 1);
  prove_begin(&b, &w, "k", SNAP, 1);
  prove_end(&a, CUZK_GRPC_OK);
  prove_end(&b, CUZK_GRPC_OK);
  assert_string_equal(a.job, b.job);
  free(a.job);
  free(b.job);
  assert_int_equal(runs(&w, SNAP, 1), 1);
  /* Delivered: asked again, it is proved again. */
  free(prove(&w, "k", SNAP, 1));
  assert_int_equal(runs(&w, SNAP, 1), 2);
  /* Done, but nobody has fetched it: the next caller gets it. */
  char *job = submit(&w, "u", POREP, 5);
  for (unsigned i = 0; i < 500 && runs(&w, POREP, 5) == 0; i++) sleep_ms(10);
  wait_counts(&w, POREP, 0, 0);
  char *again = prove(&w, "u", POREP, 5);
  assert_string_equal(job, again);
  assert_int_equal(runs(&w, POREP, 5), 1);
  free(job);
  free(again);
  /* Cancelled: a new run. */
  job = submit(&w, "c", SNAP, 9);
  wait_counts(&w, SNAP, 0, 1);
  assert_true(cancel(&w, job));
  free(job);
  free(prove(&w, "c", SNAP, 9));
  world_end(&w);
}

static void reset_makes_an_orphan(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  w.b.o.synth_threads = 1;
  w.b.o.t.orphan_policy = CUZK_ORPHAN_DROP_QUEUED;
  w.b.o.t.orphan_grace_ns = 50 * CUZK_MS;
  world_start(&w);
  struct proving a, b;
  prove_begin(&a, &w, "runs", SNAP, 1);
  wait_counts(&w, SNAP, 0, 1);
  prove_begin(&b, &w, "waits", SNAP, 2);
  wait_counts(&w, SNAP, 1, 1);
  atomic_store(&b.cancel, true);
  prove_end(&b, CUZK_GRPC_CANCELLED);
  wait_counts(&w, SNAP, 0, 1); /* dropped, long before its turn */
  assert_int_equal(runs(&w, SNAP, 2), 0);
  /* One that runs goes on, and its result waits for who asks again. */
  atomic_store(&a.cancel, true);
  prove_end(&a, CUZK_GRPC_CANCELLED);
  wait_counts(&w, SNAP, 0, 0);
  free(prove(&w, "runs", SNAP, 1));
  assert_int_equal(runs(&w, SNAP, 1), 1);
  world_end(&w);
}

static int health(struct world *w, const char *request, size_t n) {
  struct cuzk_rpc_answer a;
  assert_int_equal(call_raw(w, "/grpc.health.v1.Health/Check", request, n, 0, &a), CUZK_GRPC_OK);
  assert_int_equal(a.n, 2);
  assert_int_equal(a.body[0], 8);
  int status = a.body[1];
  cuzk_rpc_answer_clear(&a);
  return status;
}

static void draining(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  world_start(&w);
  static const char ours[] = "\x0a\x15" "cuzk.v1.ProvingEngine";
  assert_int_equal(health(&w, "", 0), 1);
  assert_int_equal(health(&w, ours, sizeof ours - 1), 1);
  struct cuzk_rpc_answer a;
  assert_int_equal(call_raw(&w, "/grpc.health.v1.Health/Check", "\x0a\x01x", 3, 0, &a), CUZK_GRPC_NOT_FOUND);
  cuzk_rpc_answer_clear(&a);
  struct proving p;
  prove_begin(&p, &w, "runs", SNAP, 1);
  wait_counts(&w, SNAP, 0, 1);
  cuzk_engine_drain(w.b.e);
  cuzk_service_drain(w.service);
  assert_int_equal(health(&w, "", 0), 2);
  struct ask q;
  ask_init(&q, "late", POREP, 1);
  expect(&w, "SubmitProof", &q.m.base, CUZK_GRPC_UNAVAILABLE, NULL);
  Cuzk__V1__ProveRequest pr = CUZK__V1__PROVE_REQUEST__INIT;
  pr.submit = &q.m;
  expect(&w, "Prove", &pr.base, CUZK_GRPC_UNAVAILABLE, NULL);
  char circuit[] = "porep-32g";
  Cuzk__V1__PreloadSrsRequest pq = preload_of(circuit);
  expect(&w, "PreloadSRS", &pq.base, CUZK_GRPC_UNAVAILABLE, NULL);
  Cuzk__V1__GetStatusRequest sq = CUZK__V1__GET_STATUS_REQUEST__INIT;
  expect(&w, "GetStatus", &sq.base, CUZK_GRPC_OK, NULL);
  prove_end(&p, CUZK_GRPC_OK); /* what runs is finished */
  free(p.job);
  world_end(&w);
}

static void stopped_jobs_are_unavailable(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  world_start(&w);
  struct proving p;
  prove_begin(&p, &w, "runs", SNAP, 1);
  wait_counts(&w, SNAP, 0, 1);
  cuzk_engine_drain(w.b.e);
  cuzk_engine_stop_running(w.b.e);
  prove_end(&p, CUZK_GRPC_UNAVAILABLE);
  world_end(&w);
}

struct sending {
  struct world *w;
  pthread_t thread;
  enum cuzk_grpc_code code;
};

/* A large request of a kind that there is not: refused when it is looked at. */
static void *send_large(void *arg) {
  struct sending *p = arg;
  size_t n = 4 * MIB;
  uint8_t *body = calloc(n, 1);
  if (!body) return NULL;
  static const uint8_t head[] = {0x10, 9, 0x52, 0xf9, 0xff, 0xff, 0x01}; /* field 10, the rest */
  memcpy(body, head, sizeof head);
  struct cuzk_rpc_answer a = {.code = CUZK_GRPC_UNKNOWN};
  struct cuzk_detail d;
  p->code = cuzk_rpc_client_call(p->w->client, SERVICE "SubmitProof", body, n, 0, NULL, &a, &d) == CUZK_OK ? a.code : CUZK_GRPC_UNKNOWN;
  cuzk_rpc_answer_clear(&a);
  free(body);
  return NULL;
}

/* However many come at once, each is either looked at or told to come back, and all memory is given back. */
static void floods_are_bounded(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  world_start(&w);
  struct sending p[8];
  for (unsigned i = 0; i < 8; i++) {
    p[i] = (struct sending){.w = &w};
    assert_int_equal(pthread_create(&p[i].thread, NULL, send_large, &p[i]), 0);
  }
  unsigned looked_at = 0;
  for (unsigned i = 0; i < 8; i++) {
    assert_int_equal(pthread_join(p[i].thread, NULL), 0);
    assert_true(p[i].code == CUZK_GRPC_INVALID_ARGUMENT || p[i].code == CUZK_GRPC_RESOURCE_EXHAUSTED);
    looked_at += p[i].code == CUZK_GRPC_INVALID_ARGUMENT;
  }
  assert_true(looked_at >= 1);
  free(prove(&w, "after", POREP, 1));
  world_end(&w);
}

/* Streaming methods with one question each: our client ends its side at once, which ends reflection well and leaves a watch open. */
static void streams(void **state) {
  (void)state;
  struct world w = {0};
  world_init(&w);
  world_start(&w);
  struct cuzk_rpc_answer a;
  static const char *const mirrors[] = {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(call_raw(&w, mirrors[i], "\x3a\x00", 2, 0, &a), CUZK_GRPC_OK);
    assert_non_null(memmem(a.body, a.n, "\x15" "cuzk.v1.ProvingEngine", 22));
    assert_non_null(memmem(a.body, a.n, mirrors[i] + 1, strcspn(mirrors[i] + 1, "/")));
    cuzk_rpc_answer_clear(&a);
    assert_int_equal(call_raw(&w, mirrors[i], "\x22\x15" "cuzk.v1.ProvingEngine", 23, 0, &a), CUZK_GRPC_OK);
    assert_non_null(memmem(a.body, a.n, "cuzk/v1/proving.proto", 21));
    cuzk_rpc_answer_clear(&a);
    assert_int_equal(call_raw(&w, mirrors[i], "\x22\x7f", 2, 0, &a), CUZK_GRPC_INVALID_ARGUMENT);
    cuzk_rpc_answer_clear(&a);
  }
  assert_int_equal(call_raw(&w, "/grpc.health.v1.Health/Watch", "", 0, 150, &a), CUZK_GRPC_DEADLINE_EXCEEDED);
  cuzk_rpc_answer_clear(&a);
  assert_int_equal(call_raw(&w, "/grpc.health.v1.Health/Watch", "\x0a\x05", 2, 0, &a), CUZK_GRPC_INVALID_ARGUMENT);
  cuzk_rpc_answer_clear(&a);
  world_end(&w);
}

int main(void) {
  test_seed();
  (void)signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(eight_calls),         cmocka_unit_test(refusals),
      cmocka_unit_test(failed_proofs_are_answers), cmocka_unit_test(one_id_two_payloads),
      cmocka_unit_test(same_key_rules),      cmocka_unit_test(reset_makes_an_orphan),
      cmocka_unit_test(draining),            cmocka_unit_test(stopped_jobs_are_unavailable),
      cmocka_unit_test(floods_are_bounded),  cmocka_unit_test(streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
