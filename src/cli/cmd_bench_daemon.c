/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk bench single, batch, stress: proofs asked of a daemon, and what they cost (engine specification 7.2). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/remote.h"
#include "cuzk/v1/proving.pb-c.h"
#include "daemon/wire.h"
#include "groth16/proof.h"
#include "synth/synth.h"

enum { EXIT_FAILED = 1, EXIT_TRANSPORT = 2, EXIT_UNFINISHED = 3 };

/* One proof asked for. */
struct outcome {
  bool transport; /* the call itself failed */
  int status;     /* of the answer */
  double wall;    /* seconds */
  uint64_t queue_ms, srs_ms, synth_ms, gpu_ms, total_ms;
  char text[256]; /* error */
  uint8_t *proof;
  size_t n_proof;
  char job_id[128];
};

static void outcome_clear(struct outcome *o) {
  cuzk_free(o->proof);
  memset(o, 0, sizeof *o);
}

static void ask(struct outcome *o, struct cuzk_rpc_client *client, const struct remote_request *r, uint64_t timeout_ms) {
  struct cuzk_rpc_answer a = {0};
  struct cuzk_detail d = {{0}};
  uint8_t *message = NULL;
  size_t n = 0;
  char id[37];
  const uint64_t t0 = cli_now_ns();
  memset(o, 0, sizeof *o);
  o->transport = true;
  if (remote_uuid(id, &d) != CUZK_OK || remote_message(&message, &n, r, id, true) != CUZK_OK) {
    (void)snprintf(o->text, sizeof o->text, "no memory for the request");
    return;
  }
  const enum cuzk_status st = cuzk_rpc_client_call(client, "/cuzk.v1.ProvingEngine/Prove", message, n, timeout_ms, cli_stop(), &a, &d);
  o->wall = cli_seconds_since(t0);
  cuzk_free(message);
  if (st != CUZK_OK) {
    (void)snprintf(o->text, sizeof o->text, "%.250s", d.text);
  } else if (a.code != CUZK_GRPC_OK) {
    (void)snprintf(o->text, sizeof o->text, "%s: %.200s", cuzk_grpc_code_name(a.code), a.message ? a.message : "");
  } else {
    Cuzk__V1__ProveResponse *m = cuzk__v1__prove_response__unpack(NULL, a.n, a.body);
    const Cuzk__V1__AwaitProofResponse *x = m ? m->result : NULL;
    if (!x) {
      (void)snprintf(o->text, sizeof o->text, "the daemon's answer has no result");
    } else {
      o->transport = false;
      o->status = (int)x->status;
      o->queue_ms = x->queue_wait_ms;
      o->srs_ms = x->srs_load_ms;
      o->synth_ms = x->synthesis_ms;
      o->gpu_ms = x->gpu_compute_ms;
      o->total_ms = x->total_ms;
      (void)snprintf(o->text, sizeof o->text, "%.250s", x->error_message ? x->error_message : "");
      (void)snprintf(o->job_id, sizeof o->job_id, "%.120s", x->job_id ? x->job_id : "");
      if (x->proof.len && (o->proof = cuzk_malloc(x->proof.len))) {
        memcpy(o->proof, x->proof.data, x->proof.len);
        o->n_proof = x->proof.len;
      }
    }
    if (m) cuzk__v1__prove_response__free_unpacked(m, NULL);
  }
  cuzk_rpc_answer_clear(&a);
}

static bool completed(const struct outcome *o) { return !o->transport && o->status == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__COMPLETED; }

static int exit_of(const struct outcome *o) {
  if (o->transport) return EXIT_TRANSPORT;
  if (completed(o)) return 0;
  return o->status == CUZK__V1__AWAIT_PROOF_RESPONSE__STATUS__FAILED ? EXIT_FAILED : EXIT_UNFINISHED;
}

/* Every partition's points: encoding, curve, subgroup. Whether the proofs hold needs the public inputs: cuzk verify. */
static enum cuzk_status well_formed(struct cli *c, const struct outcome *o) {
  struct cuzk_proof p;
  if (!o->n_proof || o->n_proof % CUZK_PROOF_BYTES) return cuzk_fail(&c->detail, CUZK_E_FORMAT, "%s: a proof of %zu bytes", o->job_id, o->n_proof);
  for (size_t i = 0; i < o->n_proof; i += CUZK_PROOF_BYTES) {
    const enum cuzk_status st = cuzk_proof_read(&p, o->proof + i, &c->detail);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

enum cuzk_status cli_bench_single(struct cli *c) {
  struct cuzk_rpc_client *client = NULL;
  struct remote_request r = {0};
  struct outcome o = {0};
  uint64_t timeout = 0;
  enum cuzk_status st;
  const struct cuzk_proof_kind *kind = remote_kind(c->arg[0]);
  if (!kind) return cuzk_fail(&c->detail, CUZK_E_USAGE, "no kind of proof '%s': porep, snap, window-post or winning-post", c->arg[0]);
  CUZK_TRY(remote_timeout(c, &timeout));
  CUZK_TRY(remote_request_load(&r, c, kind));
  st = remote_open(&client, c);
  if (st == CUZK_E_IO) c->exit_code = EXIT_TRANSPORT;
  if (st != CUZK_OK) goto out;
  ask(&o, client, &r, timeout);
  c->exit_code = exit_of(&o);
  if (c->json) {
    st = cli_print_json(c, json_pack("{s:s,s:s,s:s,s:f,s:I,s:I,s:I,s:I,s:I,s:o}", "status", o.transport ? "TRANSPORT" : remote_result_name(o.status),
                                     "job_id", o.job_id, "error", o.text, "wall_s", o.wall, "total_ms", (json_int_t)o.total_ms, "queue_wait_ms",
                                     (json_int_t)o.queue_ms, "srs_load_ms", (json_int_t)o.srs_ms, "synthesis_ms", (json_int_t)o.synth_ms,
                                     "gpu_compute_ms", (json_int_t)o.gpu_ms, "proof", cli_hex(o.proof, o.n_proof)));
    goto out;
  }
  printf("status: %s\n", o.transport ? "no answer" : remote_result_name(o.status));
  if (o.job_id[0]) printf("job:    %s\n", o.job_id);
  if (!completed(&o)) {
    printf("error:  %s\n", o.text);
    goto out;
  }
  printf("times:  total %llu ms, queue %llu, srs %llu, synth %llu, gpu %llu\n", (unsigned long long)o.total_ms, (unsigned long long)o.queue_ms,
         (unsigned long long)o.srs_ms, (unsigned long long)o.synth_ms, (unsigned long long)o.gpu_ms);
  printf("wall:   %.0f ms\nproof:  %zu bytes ", o.wall * 1e3, o.n_proof);
  const size_t shown = o.n_proof > 256 ? 128 : o.n_proof;
  for (size_t i = 0; i < shown; i++) printf("%02x", o.proof[i]);
  printf("%s\n", shown < o.n_proof ? "..." : "");
  CUZK_TRY(well_formed(c, &o));
out:
  outcome_clear(&o);
  remote_request_clear(&r);
  cuzk_rpc_client_close(&client);
  return st;
}

/* ---- many proofs ---- */

struct batch {
  struct cli *c;
  const struct remote_request *r;
  uint64_t timeout_ms, until_ns; /* until: no new ones after it; 0: by count */
  size_t n, warmup;              /* asked for in all */
  pthread_mutex_t lock;
  size_t next, cap;
  struct outcome *done;          /* by index; owned */
  bool *have;
  size_t printed;
};

static void print_done(struct batch *b) {
  while (b->printed < b->next && b->have[b->printed]) {
    const struct outcome *o = &b->done[b->printed];
    if (!b->c->json && !b->c->quiet)
      printf("%s%zu/%zu %s %.1f s prove=%llu queue=%llu%s%s\n", b->printed < b->warmup ? "warm-up " : "", b->printed + 1, b->n,
             o->transport ? "no answer" : remote_result_name(o->status), o->wall, (unsigned long long)o->gpu_ms, (unsigned long long)o->queue_ms,
             o->text[0] ? " " : "", o->text);
    b->printed++;
  }
  (void)fflush(stdout);
}

static void *batch_thread(void *arg) {
  struct batch *b = arg;
  struct cuzk_rpc_client *client = NULL;
  for (;;) {
    (void)pthread_mutex_lock(&b->lock);
    const size_t i = b->next;
    const bool go = i < b->cap && !atomic_load(cli_stop()) && (b->until_ns ? cli_now_ns() < b->until_ns : i < b->n);
    if (go) b->next++;
    (void)pthread_mutex_unlock(&b->lock);
    if (!go) break;
    struct outcome o = {.transport = true};
    if (!client) { /* each its own connection; a lost one is made again */
      struct cli mine = *b->c;
      if (remote_open(&client, &mine) != CUZK_OK) (void)snprintf(o.text, sizeof o.text, "%.250s", mine.detail.text);
    }
    if (client) ask(&o, client, b->r, b->timeout_ms);
    if (o.transport) cuzk_rpc_client_close(&client);
    (void)pthread_mutex_lock(&b->lock);
    b->done[i] = o;
    b->have[i] = true;
    print_done(b);
    (void)pthread_mutex_unlock(&b->lock);
    if (o.transport && !client) {
      const struct timespec pause = {.tv_nsec = 200000000};
      (void)nanosleep(&pause, NULL);
    }
  }
  cuzk_rpc_client_close(&client);
  return NULL;
}

static int cmp_double(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
struct figures {
  size_t n;
  double avg, min, p50, p95, max;
};
static struct figures figures_of(double *v, size_t n) {
  struct figures f = {.n = n};
  if (!n) return f;
  qsort(v, n, sizeof *v, cmp_double);
  for (size_t i = 0; i < n; i++) f.avg += v[i] / (double)n;
  f.min = v[0];
  f.p50 = v[(n - 1) / 2];
  f.p95 = v[(n * 95 + 99) / 100 - 1];
  f.max = v[n - 1];
  return f;
}

/* Seconds that the devices' locks were held, summed, and the number of devices: from the daemon's metrics. False: not to be had. */
static bool busy_seconds(struct cli *c, double *busy, unsigned *devices) {
  static const char name[] = "\ncuzk_gpu_busy_seconds_total{";
  struct cuzk_rpc_client *client = NULL;
  struct cuzk_rpc_answer a = {0};
  struct cli mine = *c;
  bool ok = false;
  *busy = 0;
  *devices = 0;
  if (remote_open(&client, &mine) == CUZK_OK && remote_call(client, &mine, "GetMetrics", NULL, 0, 10000, &a) == CUZK_OK) {
    Cuzk__V1__GetMetricsResponse *m = cuzk__v1__get_metrics_response__unpack(NULL, a.n, a.body);
    const char *p = m ? m->prometheus_text : NULL;
    while (p && (p = strstr(p, name))) {
      const char *end = strchr(p + 1, '}');
      if (!end) break;
      *busy += strtod(end + 1, NULL);
      ++*devices;
      ok = true;
      p = end;
    }
    if (m) cuzk__v1__get_metrics_response__free_unpacked(m, NULL);
  }
  cuzk_rpc_answer_clear(&a);
  cuzk_rpc_client_close(&client);
  return ok;
}

static void print_figures(const char *name, const struct figures *f, const char *unit) {
  printf("%-10s avg %.2f min %.2f p50 %.2f p95 %.2f max %.2f %s\n", name, f->avg, f->min, f->p50, f->p95, f->max, unit);
}
static json_t *json_figures(const struct figures *f) {
  return json_pack("{s:f,s:f,s:f,s:f,s:f}", "avg", f->avg, "min", f->min, "p50", f->p50, "p95", f->p95, "max", f->max);
}

static enum cuzk_status batch_report(struct batch *b, double total_s, double busy, unsigned devices) {
  size_t n = 0, failed = 0, transport = 0;
  double *wall = cuzk_malloc_array(b->next + 1, sizeof *wall), *prove = cuzk_malloc_array(b->next + 1, sizeof *prove);
  enum cuzk_status st = CUZK_OK;
  if (!wall || !prove) {
    st = cuzk_fail(&b->c->detail, CUZK_E_NOMEM, "no memory for the figures");
    goto out;
  }
  for (size_t i = b->warmup; i < b->next; i++) {
    const struct outcome *o = &b->done[i];
    if (!b->have[i]) continue;
    if (completed(o)) {
      wall[n] = o->wall;
      prove[n++] = (double)o->gpu_ms / 1e3;
      if (b->c->opt[OPT_VERIFY]) CUZK_TRY(well_formed(b->c, o));
    } else {
      failed++;
      transport += o->transport;
    }
  }
  const struct figures fw = figures_of(wall, n), fp = figures_of(prove, n);
  const double per_proof = n ? total_s / (double)n : 0;
  const double efficiency = devices && total_s > 0 ? busy / total_s / devices : -1;
  if (b->c->json) {
    st = cli_print_json(b->c, json_pack("{s:f,s:I,s:I,s:I,s:o,s:o,s:f,s:f,s:o}", "total_s", total_s, "completed", (json_int_t)n, "failed",
                                        (json_int_t)failed, "transport_errors", (json_int_t)transport, "wall_s", json_figures(&fw), "prove_s",
                                        json_figures(&fp), "proofs_per_minute", per_proof > 0 ? 60 / per_proof : 0.0, "seconds_per_proof", per_proof,
                                        "device_efficiency", efficiency < 0 ? json_null() : json_real(efficiency)));
  } else {
    printf("\ntotal      %.1f s, %zu completed, %zu failed (%zu without an answer)\n", total_s, n, failed, transport);
    if (n) {
      print_figures("wall", &fw, "s");
      print_figures("prove", &fp, "s");
      printf("throughput %.2f proofs/min, %.2f s/proof\n", 60 / per_proof, per_proof);
    }
    if (efficiency >= 0) printf("devices    %.1f %% busy (lock held, %u device%s)\n", 100 * efficiency, devices, devices == 1 ? "" : "s");
  }
  b->c->exit_code = transport ? EXIT_TRANSPORT : failed ? EXIT_FAILED : 0;
out:
  cuzk_free(wall);
  cuzk_free(prove);
  return st;
}

enum cuzk_status cli_bench_batch(struct cli *c) {
  struct remote_request r = {0};
  struct batch b = {.c = c, .r = &r};
  pthread_t *thread = NULL;
  uint64_t count = 0, concurrency = 0, warmup = 0, seconds = 0;
  size_t started = 0;
  double busy0 = 0, busy1 = 0;
  unsigned devices = 0;
  enum cuzk_status st;
  const struct cuzk_proof_kind *kind = remote_kind(c->arg[0]);
  if (!kind) return cuzk_fail(&c->detail, CUZK_E_USAGE, "no kind of proof '%s': porep, snap, window-post or winning-post", c->arg[0]);
  CUZK_TRY(cli_number(c, OPT_COUNT, 1, 1000000, 3, &count));
  CUZK_TRY(cli_number(c, OPT_CONCURRENCY, 1, 256, 1, &concurrency));
  CUZK_TRY(cli_number(c, OPT_WARMUP, 0, 1000, 0, &warmup));
  CUZK_TRY(cli_number(c, OPT_DURATION, 1, 31536000, 0, &seconds));
  CUZK_TRY(remote_timeout(c, &b.timeout_ms));
  CUZK_TRY(remote_request_load(&r, c, kind));
  b.warmup = warmup;
  b.n = (size_t)(warmup + count);
  b.cap = seconds ? 1000000 : b.n;
  b.done = cuzk_calloc(b.cap, sizeof *b.done);
  b.have = cuzk_calloc(b.cap, sizeof *b.have);
  thread = cuzk_calloc(concurrency, sizeof *thread);
  if (!b.done || !b.have || !thread) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for %zu results", b.cap);
    goto out;
  }
  (void)pthread_mutex_init(&b.lock, NULL);
  if (!c->json && !c->quiet) printf("%s: %llu proofs, %llu at once\n", kind->title, (unsigned long long)count, (unsigned long long)concurrency);
  uint64_t t0 = cli_now_ns();
  if (warmup) { /* alone, so that they cost the measured ones nothing */
    const size_t all = b.n;
    b.n = (size_t)warmup;
    (void)batch_thread(&b);
    b.n = all;
    t0 = cli_now_ns();
  }
  const bool known = busy_seconds(c, &busy0, &devices);
  if (seconds) b.until_ns = t0 + seconds * UINT64_C(1000000000);
  for (; started < concurrency; started++)
    if (pthread_create(&thread[started], NULL, batch_thread, &b)) break;
  if (!started) (void)batch_thread(&b);
  for (size_t i = 0; i < started; i++) (void)pthread_join(thread[i], NULL);
  const double total = cli_seconds_since(t0);
  if (!known || !busy_seconds(c, &busy1, &devices)) devices = 0;
  st = batch_report(&b, total, busy1 - busy0, devices);
  (void)pthread_mutex_destroy(&b.lock);
out:
  for (size_t i = 0; b.done && i < b.cap && i < b.next; i++) outcome_clear(&b.done[i]);
  cuzk_free(b.done);
  cuzk_free(b.have);
  cuzk_free(thread);
  remote_request_clear(&r);
  return st;
}

/* ---- a mix of kinds at their rhythms ---- */

struct collect {
  struct cuzk_wire_out *w;
  struct cuzk_statement statement;
  struct cuzk_blobs embedded;
};
static enum cuzk_status take_file(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *d) {
  struct collect *k = user;
  const size_t len = strlen(name);
  if (len > 4 && !strcmp(name + len - 4, ".bin")) {
    cuzk_wire_put_bytes(k->w, 11, p, n);
    return k->w->failed ? cuzk_fail(d, CUZK_E_NOMEM, "no memory for the request") : CUZK_OK;
  }
  return cuzk_statement_read(&k->statement, &k->embedded, p, n, name, d);
}

/* A request over a synthetic sector. */
static enum cuzk_status synthetic_request(struct remote_request *r, struct cli *c, const struct cuzk_proof_kind *kind, uint64_t sector_bytes) {
  static const uint64_t sizes[5] = {2048, 8388608, 536870912, UINT64_C(34359738368), UINT64_C(68719476736)};
  const struct cuzk_synth o = {.sector_bytes = sector_bytes, .miner = 1000, .sector_number = 1, .partition = -1};
  struct cuzk_wire_out w = {0};
  struct collect k = {.w = &w, .statement = {.registered = -1}};
  uint64_t size_index = 0;
  enum cuzk_status st;
  while (size_index < 4 && sizes[size_index] != sector_bytes) size_index++;
  cuzk_wire_put_varint(&w, 2, kind->rpc_number);
  if (kind->takes_c1) {
    char *text = NULL;
    size_t n = 0;
    CUZK_TRY(cuzk_synth_porep(&text, &n, &o, c->pool, &c->detail));
    cuzk_wire_put_bytes(&w, 10, text, n);
    cuzk_free(text);
  } else {
    if (kind->kind == CUZK_KIND_UPDATE) CUZK_TRY(cuzk_synth_update(&o, c->pool, take_file, &k, &c->detail));
    else CUZK_TRY(cuzk_synth_post(kind->kind, &o, c->pool, take_file, &k, &c->detail));
    cuzk_wire_put_varint(&w, 3, sector_bytes);
    cuzk_wire_put_varint(&w, 4, size_index + (kind->kind == CUZK_KIND_WINDOW ? 10 : 0));
    if (k.statement.has_randomness) cuzk_wire_put_bytes(&w, 22, k.statement.randomness, 32);
    if (k.statement.has_commitments) {
      cuzk_wire_put_bytes(&w, 30, k.statement.commitments.comm_r_old, 32);
      cuzk_wire_put_bytes(&w, 31, k.statement.commitments.comm_r_new, 32);
      cuzk_wire_put_bytes(&w, 32, k.statement.commitments.comm_d_new, 32);
    }
  }
  cuzk_wire_put_varint(&w, 20, 1);
  cuzk_wire_put_varint(&w, 21, 1000);
  if (w.failed) st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for the request");
out:
  cuzk_statement_clear(&k.statement);
  cuzk_blobs_clear(&k.embedded);
  if (st != CUZK_OK) {
    cuzk_wire_out_clear(&w);
    return st;
  }
  *r = (struct remote_request){.bytes = w.data, .n = w.n, .kind = kind};
  return CUZK_OK;
}

#define MAX_MIX 8
struct stream {
  struct cli *c;
  struct remote_request r;
  double interval; /* seconds between two submissions of one of its threads */
  unsigned n;      /* threads */
  uint64_t t0, until, timeout_ms;
  pthread_mutex_t lock;
  double *wall;
  size_t n_wall, cap;
  uint64_t failed, transport, missed;
};

static void *stream_thread(void *arg) {
  struct stream *s = arg;
  struct cuzk_rpc_client *client = NULL;
  for (uint64_t k = 0;; k++) {
    const uint64_t due = s->t0 + (uint64_t)((double)k * s->interval * 1e9);
    while (cli_now_ns() < due && cli_now_ns() < s->until && !atomic_load(cli_stop())) {
      const struct timespec t = {.tv_nsec = 10000000};
      (void)nanosleep(&t, NULL);
    }
    if (cli_now_ns() >= s->until || atomic_load(cli_stop())) break;
    struct outcome o = {.transport = true};
    struct cli mine = *s->c;
    if (!client) (void)remote_open(&client, &mine);
    if (client) ask(&o, client, &s->r, s->timeout_ms);
    if (o.transport) cuzk_rpc_client_close(&client);
    (void)pthread_mutex_lock(&s->lock);
    if (completed(&o)) {
      if (o.wall > s->interval) s->missed++;
      if (s->n_wall == s->cap) {
        const size_t cap = s->cap * 2 + 64;
        double *p = cuzk_realloc_array(s->wall, cap, sizeof *p);
        if (p) {
          s->wall = p;
          s->cap = cap;
        }
      }
      if (s->n_wall < s->cap) s->wall[s->n_wall++] = o.wall;
    } else {
      s->failed++;
      s->transport += o.transport;
    }
    (void)pthread_mutex_unlock(&s->lock);
    outcome_clear(&o);
  }
  cuzk_rpc_client_close(&client);
  return NULL;
}

static enum cuzk_status parse_mix(struct stream *s, size_t *n_out, struct cli *c) {
  char text[512], *save = NULL;
  size_t n = 0;
  (void)snprintf(text, sizeof text, "%s", c->opt[OPT_MIX]);
  if (strlen(c->opt[OPT_MIX]) >= sizeof text) return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--mix' is too long");
  for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
    char *eq = strchr(word, '='), *slash = eq ? strchr(eq, '/') : NULL, *end = NULL;
    if (!eq || !slash || n == MAX_MIX) return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--mix' takes up to %d of KIND=N/SECONDS, not '%s'", MAX_MIX, word);
    *eq = *slash = 0;
    s[n].r.kind = remote_kind(word);
    const unsigned long threads = strtoul(eq + 1, &end, 10);
    const bool good_n = !*end && end != eq + 1 && threads >= 1 && threads <= 256;
    s[n].interval = strtod(slash + 1, &end);
    if (*end == 's' && !end[1]) end++;
    if (!s[n].r.kind || !good_n || *end || !(s[n].interval > 0 && s[n].interval < 1e7))
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--mix': '%s=%s/%s' is not KIND=N/SECONDS with 1 to 256 at a time", word, eq + 1, slash + 1);
    s[n++].n = (unsigned)threads;
  }
  *n_out = n;
  return n ? CUZK_OK : cuzk_fail(&c->detail, CUZK_E_USAGE, "option '--mix' is empty");
}

static enum cuzk_status stress_report(struct cli *c, struct stream *s, size_t n, double seconds) {
  json_t *list = c->json ? json_array() : NULL;
  bool failed = false, transport = false;
  if (!c->json) printf("%-14s %9s %7s %7s %9s %9s %9s %9s\n", "kind", "completed", "failed", "missed", "p50_s", "p95_s", "max_s", "per_hour");
  for (size_t i = 0; i < n; i++) {
    const struct figures f = figures_of(s[i].wall, s[i].n_wall);
    failed |= s[i].failed > 0;
    transport |= s[i].transport > 0;
    const double per_hour = seconds > 0 ? 3600 * (double)f.n / seconds : 0;
    if (c->json)
      json_array_append_new(list, json_pack("{s:s,s:I,s:I,s:I,s:o,s:f,s:f}", "kind", s[i].r.kind->command, "completed", (json_int_t)f.n, "failed",
                                            (json_int_t)s[i].failed, "missed_deadlines", (json_int_t)s[i].missed, "wall_s", json_figures(&f),
                                            "interval_s", s[i].interval, "per_hour", per_hour));
    else
      printf("%-14s %9zu %7llu %7llu %9.2f %9.2f %9.2f %9.1f\n", s[i].r.kind->command, f.n, (unsigned long long)s[i].failed,
             (unsigned long long)s[i].missed, f.p50, f.p95, f.max, per_hour);
  }
  c->exit_code = transport ? EXIT_TRANSPORT : failed ? EXIT_FAILED : 0;
  return c->json ? cli_print_json(c, list) : CUZK_OK;
}

enum cuzk_status cli_bench_stress(struct cli *c) {
  static const char *const words[] = {"32GiB", "2KiB", "8MiB", "512MiB", "64GiB", NULL};
  static const uint64_t bytes[] = {UINT64_C(34359738368), 2048, 8388608, 536870912, UINT64_C(68719476736)};
  struct stream s[MAX_MIX] = {0};
  pthread_t *thread = NULL;
  size_t n = 0, n_threads = 0, started = 0;
  unsigned size = 0;
  uint64_t seconds = 0, timeout = 0;
  enum cuzk_status st;
  CUZK_TRY(parse_mix(s, &n, c));
  CUZK_TRY(cli_choice(c, OPT_SECTOR_SIZE, words, &size));
  CUZK_TRY(cli_number(c, OPT_DURATION, 1, 31536000, 60, &seconds));
  CUZK_TRY(remote_timeout(c, &timeout));
  for (size_t i = 0; i < n; i++) {
    (void)pthread_mutex_init(&s[i].lock, NULL);
    s[i].c = c;
    s[i].timeout_ms = timeout;
    n_threads += s[i].n;
    cli_note(c, "making a %s sector for %s", words[size], s[i].r.kind->title);
    CUZK_TRY(synthetic_request(&s[i].r, c, s[i].r.kind, bytes[size]));
  }
  thread = cuzk_calloc(n_threads, sizeof *thread);
  if (!thread) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for %zu threads", n_threads);
    goto out;
  }
  const uint64_t t0 = cli_now_ns();
  for (size_t i = 0; i < n; i++) {
    s[i].t0 = t0;
    s[i].until = t0 + seconds * UINT64_C(1000000000);
    for (unsigned k = 0; k < s[i].n && !pthread_create(&thread[started], NULL, stream_thread, &s[i]); k++) started++;
  }
  for (size_t i = 0; i < started; i++) (void)pthread_join(thread[i], NULL);
  st = started ? stress_report(c, s, n, cli_seconds_since(t0)) : cuzk_fail(&c->detail, CUZK_E_NOMEM, "no thread can be started");
out:
  for (size_t i = 0; i < n; i++) {
    remote_request_clear(&s[i].r);
    cuzk_free(s[i].wall);
  }
  cuzk_free(thread);
  return st;
}
