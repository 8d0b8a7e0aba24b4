/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/host.h"
#include "base/alloc.h"
#include "base/fail.h"
#include "base/file.h"
#include "cuzk_version.h"
#include "daemon/http.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/service.h"
#include "daemon/web.h"
#include "engine/fake.h"

struct daemon {
  const struct cuzk_daemon_options *o;
  struct cuzk_config config;
  struct cuzk_host host;
  struct cuzk_fake *fake;
  struct cuzk_http *http;
  struct cuzk_service *service;
  struct cuzk_rpc_server *server;
  char *token;
  uint64_t memory; /* the budget */
  pthread_t preloader;
  bool preloading;
  atomic_bool stop_preload;
};

static void warn(void *user, const char *line) {
  (void)user;
  cuzk_log(CUZK_LOG_WARN, "%s", line);
}

static enum cuzk_status load_config(struct cuzk_config *c, const struct cuzk_daemon_options *o, struct cuzk_detail *d) {
  struct cuzk_config_source s = o->source;
  s.warn = warn;
  return cuzk_config_load(c, &s, d);
}

static void set_log(const struct cuzk_config *c) {
  const char *level = getenv("CUZK_LOG");
  if (!level || !level[0]) level = getenv("RUST_LOG");
  if (!level || !level[0] || !cuzk_log_set_level(level)) (void)cuzk_log_set_level(c->logging_level);
  cuzk_log_set_json(c->logging_format == 1);
}

/* ---- the parts ---- */

static enum cuzk_status make_fake(void *user, struct cuzk_clock *clock, struct cuzk_prover *out, struct cuzk_detail *d) {
  struct daemon *m = user;
  struct cuzk_fake_options f = {.clock = clock, .n_devices = m->o->fake_devices ? m->o->fake_devices : 1};
  const double speed = m->o->fake_speed > 0 ? m->o->fake_speed : 1;
  cuzk_fake_reference_times(&f);
  for (int k = 0; k < 4; k++)
    for (int s = 0; s < CUZK_FAKE_STAGES; s++) {
      f.kind[k].stage_ns[s] = (uint64_t)((double)f.kind[k].stage_ns[s] / speed);
      f.kind[k].stage_spread_ns[s] = (uint64_t)((double)f.kind[k].stage_spread_ns[s] / speed);
    }
  if (cuzk_fake_create(&m->fake, &f) != CUZK_OK) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the trial prover");
  *out = cuzk_fake_prover(m->fake);
  return CUZK_OK;
}

static enum cuzk_status open_http(void *user, struct cuzk_host *h, struct cuzk_detail *d) {
  struct daemon *m = user;
  if (!m->config.daemon_status_listen[0]) return CUZK_OK;
  const struct cuzk_http_options o = {.address = m->config.daemon_status_listen,
                                      .cors_origin = m->config.daemon_status_cors_origin,
                                      .version = CUZK_VERSION,
                                      .clock = h->clock,
                                      .recorder = h->recorder,
                                      .kinds = h->prover.ops->kinds};
  enum cuzk_status st = cuzk_http_create(&m->http, &o, d);
  if (st != CUZK_OK) return st;
  st = cuzk_web_add(m->http);
  if (st != CUZK_OK) return cuzk_fail(d, st, "the dashboard cannot be served");
  if (h->recorder) cuzk_recorder_on_event(h->recorder, cuzk_http_on_event, m->http);
  return CUZK_OK;
}

static enum cuzk_status find_memory(struct daemon *m, struct cuzk_detail *d) {
  uint64_t total = 0;
  const struct cuzk_config *c = &m->config;
  if (m->o->fake && c->memory_total_budget.is == CUZK_SIZE_AUTO) { /* its memory is only counted */
    m->memory = UINT64_C(1) << 40;
    return CUZK_OK;
  }
  if (c->memory_total_budget.is == CUZK_SIZE_BYTES) {
    m->memory = c->memory_total_budget.n;
    return CUZK_OK;
  }
  const enum cuzk_status st = cuzk_memory_detect(&total, "", d);
  if (st != CUZK_OK) return st;
  const uint64_t five = total / 20, least = UINT64_C(5) << 30;
  /* a machine of a few GiB keeps a fifth, as 5 GiB would leave nothing */
  uint64_t margin = cuzk_size_bytes(c->memory_safety_margin, total, five > least ? five : least < total / 5 ? least : total / 5);
  if (c->memory_total_budget.is == CUZK_SIZE_PERCENT) margin = 0;
  m->memory = cuzk_size_bytes(c->memory_total_budget, total, total > margin ? total - margin : 0);
  if (m->memory < UINT64_C(1) << 30)
    return cuzk_fail(d, CUZK_E_NOMEM, "%llu MiB of memory less a margin of %llu MiB leave less than 1 GiB for proving; see memory.total_budget",
                     (unsigned long long)(total >> 20), (unsigned long long)(margin >> 20));
  return CUZK_OK;
}

static void tunables(struct cuzk_engine_tunables *t, const struct cuzk_config *c, uint64_t memory) {
  t->max_queued_jobs = c->daemon_max_queued_jobs;
  /* stored inputs share the memory, in the page cache or out of it */
  const uint64_t queued = cuzk_size_bytes(c->daemon_max_queued_bytes, memory, UINT64_C(8) << 30);
  t->max_queued_bytes = queued < memory / 4 ? queued : memory / 4;
  t->eviction_min_idle_ns = c->memory_eviction_min_idle;
  t->result_ttl_ns = c->daemon_result_ttl;
  t->result_max = c->daemon_result_max;
  t->orphan_policy = (enum cuzk_orphan_policy)c->daemon_orphan_policy;
  t->orphan_grace_ns = c->daemon_orphan_grace;
  t->max_gpu_queue_depth = c->pipeline_max_gpu_queue_depth;
}

static enum cuzk_status read_token(struct daemon *m, struct cuzk_detail *d) {
  const char *path = m->config.daemon_auth_token_file;
  struct cuzk_file f = {0};
  if (!path[0]) return CUZK_OK;
  enum cuzk_status st = cuzk_file_read(&f, path, 4096, d);
  if (st != CUZK_OK) return st;
  size_t n = f.n;
  while (n && strchr("\r\n \t", f.data[n - 1])) n--;
  bool plain = n >= 8;
  for (size_t i = 0; i < n; i++) plain = plain && f.data[i] > 0x20 && f.data[i] < 0x7f;
  if (!plain) st = cuzk_fail(d, CUZK_E_FORMAT, "%s: expected a token of 8 to 4096 printable characters without blanks", path);
  else if (!(m->token = cuzk_calloc(n + 1, 1))) st = cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory", path);
  else memcpy(m->token, f.data, n);
  cuzk_file_clear(&f);
  return st;
}

static enum cuzk_status make_folder(const char *path, struct cuzk_detail *d) {
  char p[4096];
  if (strlen(path) >= sizeof p) return cuzk_fail(d, CUZK_E_ARG, "daemon.state_dir: longer than 4095 bytes");
  (void)snprintf(p, sizeof p, "%s", path);
  for (char *s = p + 1;; s++) {
    if (*s && *s != '/') continue;
    const char was = *s;
    *s = 0;
    if (mkdir(p, 0750) && errno != EEXIST && !was) return cuzk_fail_errno(d, errno, "%s: the state folder cannot be made", p);
    if (!was) return CUZK_OK;
    *s = was;
  }
}

static enum cuzk_status open_host(struct daemon *m, struct cuzk_detail *d) {
  const struct cuzk_config *c = &m->config;
  struct cuzk_host_options h = {.timeline_fd = -1, .report = warn, .hook_user = m, .before_engine = open_http};
  char spec[64][16];
  const char *devices[64], *affinity[1024] = {NULL};
  cuzk_engine_defaults(&h.engine);
  tunables(&h.engine.t, c, m->memory);
  struct cuzk_engine_options *e = &h.engine;
  e->memory_total = m->memory - e->t.max_queued_bytes;
  e->synth_threads = c->pipeline_enabled ? c->pipeline_max_parallel_synthesis : 1;
  e->prep_threads = c->pipeline_synthesis_concurrency > 2 ? c->pipeline_synthesis_concurrency : 2;
  e->finish_threads = c->pipeline_finish_threads;
  e->workers_per_device = c->pipeline_enabled ? c->gpus_gpu_workers_per_device : 1;
  e->split_prove = c->split_prove && c->pipeline_enabled;
  e->sort_by_type = c->scheduler_sort_by_type;
  e->self_check = (enum cuzk_self_check)c->pipeline_self_check;
  e->retry_on_error = c->gpus_retry_on_error;
  e->quarantine_errors = c->gpus_quarantine_errors;
  e->quarantine_ns = c->gpus_quarantine_time;
  for (size_t i = 0; i < c->gpus_affinity.n; i++) affinity[c->gpus_affinity.v[i].ordinal] = c->gpus_affinity.v[i].circuits;
  if (c->gpus_affinity.n) e->affinity = affinity;
  h.prover.param_dir = c->srs_param_cache;
  h.prover.synth_threads = c->synthesis_threads;
  h.prover.device_threads = c->gpus_gpu_threads;
  h.prover.eager_keys = c->gpus_affinity.n == 0; /* a preload reaches the devices, unless they differ */
  if (c->gpus_devices.n > 64) return cuzk_fail(d, CUZK_E_ARG, "gpus.devices: at most 64 devices");
  for (size_t i = 0; i < c->gpus_devices.n; i++) {
    (void)snprintf(spec[i], sizeof spec[i], "cuda:%u", c->gpus_devices.v[i]);
    devices[i] = spec[i];
  }
  h.prover.devices = devices;
  h.prover.n_devices = (unsigned)c->gpus_devices.n;
  if (strcmp(c->daemon_state_dir, "none")) {
    const enum cuzk_status st = make_folder(c->daemon_state_dir, d);
    if (st != CUZK_OK) return st;
    h.state_dir = c->daemon_state_dir;
  }
  h.record = true;
  if (c->timeline_enabled) {
    if (c->timeline_file[0]) h.timeline_path = c->timeline_file;
    else h.timeline_fd = 2;
  }
  if (m->o->fake) h.make_prover = make_fake;
  return cuzk_host_open(&m->host, &h, d);
}

static enum cuzk_status open_rpc(struct daemon *m, struct cuzk_detail *d) {
  const struct cuzk_config *c = &m->config;
  enum cuzk_status st;
  const struct cuzk_service_options so = {.clock = m->host.clock, .engine = m->host.engine, .kinds = m->host.prover.ops->kinds};
  if (cuzk_service_create(&m->service, &so) != CUZK_OK) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the service");
  struct cuzk_rpc_options ro = {.user = m->service, .token = m->token, .max_message_bytes = cuzk_size_bytes(c->daemon_grpc_max_recv_bytes, m->memory, 0)};
  ro.methods = cuzk_service_methods(&ro.n_methods);
  CUZK_TRY(cuzk_rpc_server_create(&m->server, &ro, d));
  const struct cuzk_rpc_listen l = {.address = c->daemon_listen,
                                    .tls_cert = c->daemon_tls_cert,
                                    .tls_key = c->daemon_tls_key,
                                    .tls_client_ca = c->daemon_tls_client_ca,
                                    .socket_mode = c->daemon_socket_mode,
                                    .socket_group = c->daemon_socket_group,
                                    .need_token = m->token != NULL};
  CUZK_TRY(cuzk_rpc_server_listen(m->server, &l, d));
  cuzk_service_serve(m->service, m->server);
  CUZK_TRY(cuzk_rpc_server_start(m->server, d));
out:
  return st;
}

static void *preload(void *user) {
  struct daemon *m = user;
  const struct cuzk_string_list *list = &m->config.srs_preload;
  for (size_t i = 0; i < list->n && !atomic_load(&m->stop_preload); i++) {
    struct cuzk_detail d = {{0}};
    bool already = false;
    uint64_t ms = 0;
    enum cuzk_refusal why;
    const enum cuzk_status st = cuzk_engine_preload(m->host.engine, list->v[i], CUZK_NEVER, &m->stop_preload, &already, &ms, &why, &d);
    if (st == CUZK_OK) cuzk_log(CUZK_LOG_INFO, "preload %s: %s in %llu ms", list->v[i], already ? "there already" : "loaded", (unsigned long long)ms);
    else cuzk_log(CUZK_LOG_ERROR, "preload %s: %s: %s", list->v[i], cuzk_status_text(st), d.text);
  }
  return NULL;
}

/* ---- running ---- */

struct diff {
  bool later;
};
static void on_diff(void *user, const char *key, const char *was, const char *is, bool live) {
  struct diff *f = user;
  if (live) cuzk_log(CUZK_LOG_INFO, "reload: %s = %s (was %s)", key, is, was);
  else cuzk_log(CUZK_LOG_WARN, "reload: %s = %s takes effect at the next start (now %s)", key, is, was);
  f->later |= !live;
}

static void reload(struct daemon *m) {
  struct cuzk_config next = {0};
  struct cuzk_detail d = {{0}};
  struct diff f = {false};
  cuzk_notify("RELOADING=1");
  const enum cuzk_status st = load_config(&next, m->o, &d);
  if (st != CUZK_OK) {
    cuzk_log(CUZK_LOG_ERROR, "reload: %s; everything stays as it was", d.text);
  } else {
    struct cuzk_engine_tunables t;
    struct cuzk_engine_options defaults;
    cuzk_engine_defaults(&defaults);
    t = defaults.t;
    (void)cuzk_config_diff(&m->config, &next, on_diff, &f);
    tunables(&t, &next, m->memory);
    cuzk_engine_tune(m->host.engine, &t);
    set_log(&next);
    cuzk_config_clear(&m->config);
    m->config = next;
  }
  if (m->host.recorder && cuzk_recorder_reopen(m->host.recorder, &d) != CUZK_OK) cuzk_log(CUZK_LOG_ERROR, "reload: %s", d.text);
  cuzk_notify("READY=1");
}

static void dump(struct daemon *m) {
  char *text = NULL;
  if (cuzk_engine_dump(m->host.engine, &text) != CUZK_OK) return;
  for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
    end = strchr(line, '\n');
    if (end) *end = 0;
    cuzk_log(CUZK_LOG_INFO, "%s", line);
  }
  cuzk_free(text);
}

static void begin_drain(struct daemon *m) {
  cuzk_log(CUZK_LOG_INFO, "draining: no new jobs; running ones have %llu s", (unsigned long long)(m->config.daemon_drain_timeout / CUZK_SECOND));
  cuzk_notify("STOPPING=1");
  cuzk_service_drain(m->service);
  cuzk_engine_drain(m->host.engine);
  cuzk_rpc_server_drain(m->server);
}

/* Waits for signals until the daemon may end. */
static void serve(struct daemon *m, const sigset_t *signals) {
  const uint64_t watchdog = cuzk_notify_watchdog_ms();
  unsigned asked = 0;
  uint64_t until = CUZK_NEVER;
  for (;;) {
    uint64_t ms = asked ? 50 : 1000;
    if (watchdog && watchdog / 3 < ms) ms = watchdog / 3 ? watchdog / 3 : 1;
    const struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * 1000000)};
    const int sig = sigtimedwait(signals, NULL, &t);
    if (sig == SIGTERM || sig == SIGINT) {
      asked++;
      if (asked == 1) {
        begin_drain(m);
        until = cuzk_clock_now(m->host.clock) + m->config.daemon_drain_timeout;
      } else if (asked == 2) {
        cuzk_log(CUZK_LOG_WARN, "stopping at the next boundary of a partition");
        until = 0;
      } else {
        cuzk_log(CUZK_LOG_ERROR, "stopping at once");
        _exit(130);
      }
    } else if (sig == SIGHUP) {
      reload(m);
    } else if (sig == SIGUSR1) {
      dump(m);
    }
    if (watchdog) { /* a view takes the engine's lock: what cannot give one is stuck */
      struct cuzk_engine_view v;
      if (cuzk_engine_view(m->host.engine, &v) == CUZK_OK) cuzk_engine_view_clear(&v);
      cuzk_notify("WATCHDOG=1");
    }
    if (!asked) continue;
    if (cuzk_engine_wait_idle(m->host.engine, 0)) return;
    if (cuzk_clock_now(m->host.clock) < until) continue;
    if (asked < 2) cuzk_log(CUZK_LOG_WARN, "drain_timeout has passed: running jobs are stopped");
    cuzk_engine_stop_running(m->host.engine);
    if (m->host.real) cuzk_prover_real_interrupt(m->host.real);
    until = CUZK_NEVER;
  }
}

static void close_all(struct daemon *m) {
  if (m->preloading) {
    atomic_store(&m->stop_preload, true);
    (void)pthread_join(m->preloader, NULL);
  }
  if (m->server && m->host.engine) { /* answers of the drain still go out */
    struct cuzk_rpc_stats s;
    for (int i = 0; i < 100; i++) {
      cuzk_rpc_server_stats(m->server, &s);
      if (!s.streams) break;
      (void)usleep(10000);
    }
  }
  cuzk_rpc_server_destroy(&m->server);
  cuzk_service_destroy(&m->service);
  if (m->http) cuzk_http_stop(m->http);
  cuzk_host_close(&m->host);
  cuzk_http_destroy(&m->http);
  cuzk_fake_destroy(&m->fake);
  if (m->token) cuzk_secret_clear(m->token, strlen(m->token));
  cuzk_free(m->token);
  cuzk_config_clear(&m->config);
}

enum cuzk_status cuzk_daemon_run(const struct cuzk_daemon_options *o, struct cuzk_detail *d) {
  enum cuzk_status st;
  struct daemon m = {.o = o};
  sigset_t signals;
  (void)sigemptyset(&signals);
  (void)sigaddset(&signals, SIGTERM);
  (void)sigaddset(&signals, SIGINT);
  (void)sigaddset(&signals, SIGHUP);
  (void)sigaddset(&signals, SIGUSR1);
  (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* in all threads that follow */
  (void)signal(SIGPIPE, SIG_IGN);
  CUZK_TRY(load_config(&m.config, o, d));
  set_log(&m.config);
  CUZK_TRY(find_memory(&m, d));
  CUZK_TRY(read_token(&m, d));
  CUZK_TRY(open_host(&m, d));
  if (m.http) CUZK_TRY(cuzk_http_start(m.http, m.host.engine));
  CUZK_TRY(open_rpc(&m, d));
  cuzk_log(CUZK_LOG_INFO, "cuzk %s: gRPC on %s, HTTP on %s, %u device%s, %.1f GiB for proving, journal %s", CUZK_VERSION,
           cuzk_rpc_server_address(m.server, 0), m.http ? cuzk_http_address(m.http) : "(off)", m.host.prover.ops->n_devices(m.host.prover.self),
           m.host.prover.ops->n_devices(m.host.prover.self) == 1 ? "" : "s", (double)m.memory / (1 << 30), m.config.daemon_state_dir);
  for (unsigned i = 0; i < m.host.prover.ops->n_devices(m.host.prover.self); i++) {
    struct cuzk_device_info info;
    m.host.prover.ops->device_info(m.host.prover.self, i, &info);
    cuzk_log(CUZK_LOG_INFO, "device %u: %s %s %s", i, info.name, info.pci, info.uuid);
  }
  if (o->fake) cuzk_log(CUZK_LOG_WARN, "trial prover: what this daemon hands out are no proofs");
  if (m.config.srs_preload.n) m.preloading = !pthread_create(&m.preloader, NULL, preload, &m);
  cuzk_notify("READY=1");
  serve(&m, &signals);
  cuzk_log(CUZK_LOG_INFO, "stopped");
out:
  close_all(&m);
  return st;
}
