/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <inttypes.h>
#include <unistd.h>

#include "base/alloc.h"
#include "daemon/config.h"
#include "testing.h"

static char warnings[4096];
static unsigned n_warnings;

static void on_warning(void *user, const char *line) {
  (void)user;
  const size_t n = strlen(warnings);
  n_warnings++;
  (void)snprintf(warnings + n, sizeof warnings - n, "%s\n", line);
}

/* The environment of a test: NAME, value pairs. */
static const char *const *environment;
static const char *test_env(const char *name) {
  for (const char *const *e = environment; e && *e; e += 2)
    if (strcmp(e[0], name) == 0) return e[1];
  return NULL;
}
static bool test_circuit(const char *id) { return strcmp(id, "porep-32gib") == 0 || strcmp(id, "winning-post-32gib") == 0; }

static enum cuzk_status parse_with(struct cuzk_config *c, const char *text, struct cuzk_config_source s, struct cuzk_detail *d) {
  s.env = test_env;
  s.known_circuit = test_circuit;
  s.warn = on_warning;
  warnings[0] = 0;
  n_warnings = 0;
  *d = (struct cuzk_detail){{0}};
  return cuzk_config_parse(c, text, strlen(text), "f.toml", &s, d);
}

/* Accepted, without a warning. */
static struct cuzk_config good(const char *text) {
  struct cuzk_config c;
  struct cuzk_detail d;
  if (parse_with(&c, text, (struct cuzk_config_source){0}, &d) != CUZK_OK) fail_msg("%s\nrefused: %s", text, d.text);
  if (n_warnings) fail_msg("%s\nwarned: %s", text, warnings);
  return c;
}

/* Refused, saying all of what (separated by |). */
static void bad(const char *text, const char *what) {
  struct cuzk_config c;
  struct cuzk_detail d;
  const int64_t live = cuzk_alloc_live();
  if (parse_with(&c, text, (struct cuzk_config_source){0}, &d) != CUZK_E_FORMAT) fail_msg("%s\nnot refused: %s", text, d.text);
  char part[128];
  for (const char *p = what; *p;) {
    const size_t n = strcspn(p, "|");
    (void)snprintf(part, sizeof part, "%.*s", (int)n, p);
    if (!strstr(d.text, part)) fail_msg("%s\nsays: %s\nwithout: %s", text, d.text, part);
    p += n + (p[n] == '|');
  }
  assert_int_equal(cuzk_alloc_live(), live);
}

static void sizes_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t n;
  } ok[] = {{"0", 0}, {"1", 1}, {"17B", 17}, {"1K", 1024}, {"1KiB", 1024}, {"1KB", 1000}, {"3M", 3 << 20}, {"3MiB", 3 << 20}, {"3MB", 3000000},
            {"2G", UINT64_C(2) << 30}, {"50GiB", UINT64_C(50) << 30}, {"256G", UINT64_C(256) << 30}, {"50GB", UINT64_C(50000000000)},
            {"1T", UINT64_C(1) << 40}, {"1TiB", UINT64_C(1) << 40}, {"1TB", UINT64_C(1000000000000)}, {"1.5GiB", UINT64_C(3) << 29},
            {"0.5K", 512}, {"1.0001K", 1024}, {"0.1TB", UINT64_C(100000000000)}, {"00017", 17}, {"8388607T", UINT64_C(8388607) << 40}};
  static const char *const wrong[] = {"", " ", "1 G", " 1G", "1G ", "G", "-1", "+1", "1.", ".5G", "1.5.5G", "1e3", "0x10", "1g", "1Gib", "1gib",
                                      "1GIB", "1P", "1Ki", "1KiBB", "10%%", "auto ", "Auto", "8388608T", "9999999999999999999", "1,5G", "50 GiB"};
  for (size_t i = 0; i < sizeof ok / sizeof *ok; i++) {
    struct cuzk_size s;
    if (!cuzk_size_parse(&s, ok[i].text, 0)) fail_msg("%s refused", ok[i].text);
    assert_int_equal(s.is, CUZK_SIZE_BYTES);
    if (s.n != ok[i].n) fail_msg("%s is %" PRIu64, ok[i].text, s.n);
  }
  struct cuzk_size s;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (cuzk_size_parse(&s, wrong[i], CUZK_KEY_AUTO | CUZK_KEY_PERCENT)) fail_msg("'%s' accepted", wrong[i]);
  assert_true(cuzk_size_parse(&s, "auto", CUZK_KEY_AUTO) && s.is == CUZK_SIZE_AUTO);
  assert_int_equal(cuzk_size_bytes(s, 1000, 7), 7);
  assert_false(cuzk_size_parse(&s, "auto", CUZK_KEY_PERCENT));
  assert_true(cuzk_size_parse(&s, "90%", CUZK_KEY_PERCENT) && s.is == CUZK_SIZE_PERCENT);
  assert_int_equal(cuzk_size_bytes(s, 1099, 7), 989);
  assert_int_equal(cuzk_size_bytes(s, UINT64_MAX, 7), UINT64_MAX / 100 * 90 + UINT64_MAX % 100 * 90 / 100);
  assert_false(cuzk_size_parse(&s, "90%", CUZK_KEY_AUTO));
  assert_false(cuzk_size_parse(&s, "0%", CUZK_KEY_PERCENT));
  assert_false(cuzk_size_parse(&s, "101%", CUZK_KEY_PERCENT));
  assert_false(cuzk_size_parse(&s, "1.5%", CUZK_KEY_PERCENT));
}

static void durations_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t ms;
  } ok[] = {{"0", 0}, {"10", 10000}, {"10s", 10000}, {"250ms", 250}, {"5m", 300000}, {"1h", 3600000}, {"1h30m", 5400000}, {"2d", 172800000},
            {"1d2h3m4s5ms", 93784005}, {"2.5s", 2500}, {"0.5h", 1800000}, {"1m500ms", 60500}, {"30m1h", 5400000}, {"0ms", 0}};
  static const char *const wrong[] = {"", "s", "m5", "-1s", "1 h", "1h ", "1h30", "1.5", "1.0005s", "1x", "1hh", "1h1h", "1min", "1H", "10 s", "1h,30m",
                                      "0.0001ms", "999999999999999999d", "1..5s", "auto"};
  for (size_t i = 0; i < sizeof ok / sizeof *ok; i++) {
    uint64_t ns;
    if (!cuzk_duration_parse(&ns, ok[i].text)) fail_msg("%s refused", ok[i].text);
    if (ns != ok[i].ms * 1000000) fail_msg("%s is %" PRIu64, ok[i].text, ns);
  }
  uint64_t ns;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (cuzk_duration_parse(&ns, wrong[i])) fail_msg("'%s' accepted", wrong[i]);
}

static void addresses_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text, *host;
    unsigned port;
    bool is_unix, loopback;
  } ok[] = {{"unix:///run/x.sock", "/run/x.sock", 0, true, true}, {"127.0.0.1:9820", "127.0.0.1", 9820, false, true},
            {"127.9.0.1:0", "127.9.0.1", 0, false, true}, {"localhost:1", "localhost", 1, false, true}, {"[::1]:9820", "::1", 9820, false, true},
            {"0.0.0.0:9820", "0.0.0.0", 9820, false, false}, {"[::]:9820", "::", 9820, false, false}, {":9820", "", 9820, false, false},
            {"proofs.example:65535", "proofs.example", 65535, false, false}, {"127.example:5", "127.example", 5, false, false}};
  static const char *const wrong[] = {"", "x", "x:", ":", "x:65536", "x:-1", "x:1a", "unix://", "unix://relative", "http://x:1", "::1:9820x", "[]:1",
                                      "256.0.0.1:1", "a b:1", "[::1:1", "unix:///"};
  struct cuzk_address a;
  for (size_t i = 0; i < sizeof ok / sizeof *ok; i++) {
    if (!cuzk_address_parse(&a, ok[i].text)) fail_msg("%s refused", ok[i].text);
    assert_string_equal(a.host, ok[i].host);
    if (a.port != ok[i].port || a.is_unix != ok[i].is_unix || a.loopback != ok[i].loopback) fail_msg("%s misread", ok[i].text);
  }
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    if (cuzk_address_parse(&a, wrong[i])) fail_msg("'%s' accepted", wrong[i]);
}

static void defaults_are_the_specifications(void **state) {
  (void)state;
  static const char *const home[] = {"HOME", "/home/me", NULL};
  environment = home;
  struct cuzk_config c = good("");
  assert_string_equal(c.daemon_listen, "unix:///run/curio/cuzk.sock");
  assert_string_equal(c.daemon_status_listen, "");
  assert_int_equal(c.daemon_socket_mode, 0660);
  assert_string_equal(c.daemon_state_dir, geteuid() ? "/home/me/.local/state/cuzk" : "/var/lib/cuzk");
  assert_int_equal(c.daemon_grpc_max_recv_bytes.n, 256 << 20);
  assert_int_equal(c.daemon_max_queued_jobs, 256);
  assert_int_equal(c.daemon_max_queued_bytes.n, UINT64_C(8) << 30);
  assert_int_equal(c.daemon_result_ttl, UINT64_C(600000000000));
  assert_int_equal(c.daemon_orphan_policy, 1);
  assert_int_equal(c.daemon_orphan_grace, UINT64_C(60000000000));
  assert_int_equal(c.memory_total_budget.is, CUZK_SIZE_AUTO);
  assert_int_equal(c.memory_eviction_min_idle, UINT64_C(300000000000));
  assert_int_equal(c.gpus_gpu_workers_per_device, 2);
  assert_true(c.gpus_gpu_threads >= 1 && c.gpus_gpu_threads <= 32);
  assert_int_equal(c.gpus_devices.n, 0);
  assert_int_equal(c.pipeline_max_parallel_synthesis, 18);
  assert_int_equal(c.pipeline_self_check, 0);
  assert_true(c.pipeline_pce && c.pipeline_enabled && c.split_prove && !c.validate_partitions && c.timeline_enabled && c.memory_srs_warm);
  assert_string_equal(c.srs_param_cache, "/data/zk/params");
  assert_string_equal(c.logging_level, "info");
  cuzk_config_clear(&c);
  cuzk_config_clear(&c);
  environment = NULL;
}

static const char everything[] =
    "# all keys, none at its default\n"
    "[daemon]\nlisten = '0.0.0.0:9820'\nstatus_listen = \"127.0.0.1:9821\"\nsocket_mode = \"0600\"\nsocket_group = \"curio\"\n"
    "tls_cert = \"/c\\\"q\\\\.pem\"\ntls_key = \"/k.pem\"\ntls_client_ca = \"/ca.pem\"\nauth_token_file = \"/t\"\nallow_insecure_remote = true\n"
    "drain_timeout = \"1h30m\"\nstate_dir = \"none\"\ngrpc_max_recv_bytes = 2097153\nmax_queued_jobs = 7\nmax_queued_bytes = \"25%\"\n"
    "result_ttl = 90\nresult_max = 9\norphan_policy = \"drop\"\norphan_grace = \"250ms\"\nstatus_cors_origin = \"\"\n"
    "[memory]\ntotal_budget = \"1.5TiB\"\nsafety_margin = \"3GB\"\neviction_min_idle = \"1d1s\"\npinned_pool_max = \"10GiB\"\nsrs_warm = false\n"
    "[gpus]\ndevices = [3, 0]\ngpu_threads = 0\ngpu_workers_per_device = 1\nretry_on_error = 0\nquarantine_errors = 5\nquarantine_time = \"10s\"\n"
    "[gpus.affinity]\n3 = [\"porep-32gib\", \"winning-post-32gib\"]\n0 = \"any\"\n"
    "[scheduler]\nmax_batch_size = 4\nmax_batch_wait_ms = 0\nsort_by_type = false\n[synthesis]\nthreads = 12\n"
    "[pipeline]\nenabled = false\nsynthesis_concurrency = 2\nmax_parallel_synthesis = 0\nmax_gpu_queue_depth = 6\nself_check = \"off\"\npce = false\n"
    "finish_threads = 2\n[srs]\nparam_cache = \"/p\"\npreload = [\"porep-32gib\"]\n[timeline]\nenabled = false\nfile = \"/var/log/t\"\n"
    "[logging]\nlevel = \"warn,rpc=debug\"\nformat = \"json\"\n";

static unsigned n_diff, n_live;
static void count_diff(void *user, const char *key, const char *was, const char *is, bool live) {
  assert_true(strchr(key, '.') && strcmp(was, is) != 0);
  n_diff++;
  n_live += live;
  if (user && strcmp(user, key) == 0) *(char *)user = 0;
}

static void every_key_is_read_and_printed(void **state) {
  (void)state;
  struct cuzk_config d = good(""), c = good(everything);
  assert_string_equal(c.daemon_listen, "0.0.0.0:9820");
  assert_string_equal(c.daemon_tls_cert, "/c\"q\\.pem");
  assert_int_equal(c.daemon_drain_timeout, UINT64_C(5400000000000));
  assert_int_equal(c.daemon_grpc_max_recv_bytes.n, 2097153);
  assert_true(c.daemon_max_queued_bytes.is == CUZK_SIZE_PERCENT && c.daemon_max_queued_bytes.n == 25);
  assert_int_equal(c.daemon_result_ttl, UINT64_C(90000000000));
  assert_int_equal(c.daemon_orphan_policy, 2);
  assert_int_equal(c.memory_total_budget.n, UINT64_C(3) << 39);
  assert_true(c.gpus_devices.n == 2 && c.gpus_devices.v[0] == 3 && c.gpus_devices.v[1] == 0);
  assert_int_equal(c.gpus_affinity.n, 2);
  assert_int_equal(c.gpus_affinity.v[0].ordinal, 0);
  assert_string_equal(c.gpus_affinity.v[0].circuits, "any");
  assert_string_equal(c.gpus_affinity.v[1].circuits, "porep-32gib winning-post-32gib");
  assert_string_equal(c.srs_preload.v[0], "porep-32gib");
  /* no key was left out of the text above */
  unsigned live = 0, n_keys = 0;
#define CUZK_X(section, key, kind, def, least, most, words, flags, doc)  \
  if (!((flags) & CUZK_KEY_DEAD)) {                                      \
    char name[] = #section "." #key;                                     \
    assert_int_equal(cuzk_config_diff(&d, &c, count_diff, name), CUZK_OK); \
    if (name[0]) fail_msg("%s.%s does not differ", #section, #key);      \
    n_keys++;                                                            \
    live += ((flags) & CUZK_KEY_LIVE) != 0;                              \
  }
  CUZK_CONFIG_KEYS(CUZK_X)
#undef CUZK_X
  n_diff = n_live = 0;
  assert_int_equal(cuzk_config_diff(&d, &c, count_diff, NULL), CUZK_OK);
  assert_int_equal(n_diff, n_keys);
  assert_int_equal(n_live, live);
  assert_int_equal(live, 9);

  const struct cuzk_config *both[] = {&c, &d};
  for (int i = 0; i < 2; i++) {
    char *text, *again;
    assert_int_equal(cuzk_config_print(both[i], &text), CUZK_OK);
    struct cuzk_config back = good(text);
    n_diff = 0;
    assert_int_equal(cuzk_config_diff(both[i], &back, count_diff, NULL), CUZK_OK);
    assert_int_equal(n_diff, 0);
    assert_int_equal(cuzk_config_print(&back, &again), CUZK_OK);
    assert_string_equal(text, again);
    cuzk_free(text);
    cuzk_free(again);
    cuzk_config_clear(&back);
  }
  cuzk_config_clear(&c);
  cuzk_config_clear(&d);
}

static void wrong_values_are_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"[daemon]\nlisten = 5", "f.toml:2: daemon.listen: expected a string"},
      {"[daemon]\n\nlisen = 'x'", "f.toml:3: there is no key daemon.lisen|did you mean daemon.listen?"},
      {"[daemon]\nsafety_margin = '5GiB'", "no key daemon.safety_margin|did you mean memory.safety_margin?"},
      {"[demon]\nlisten = 'x'", "f.toml:1: there is no section demon|did you mean [daemon]?"},
      {"listen = 'x'", "there is no key listen|did you mean daemon.listen?"},
      {"[daemon]\nzzzzzzzzzzzzzzzz = 1", "there is no key daemon.zzzzzzzzzzzzzzzz"},
      {"daemon = 5", "daemon is a section|[daemon]"},
      {"[daemon]\nlisten = 'a", "f.toml:2|not TOML"},
      {"[::1]:9820", "f.toml|not TOML"},
      {"[daemon]\nresult_max = 5\nresult_max = 6", "f.toml:3|not TOML"},
      {"[daemon]\nlisten = 'nowhere'", "f.toml:2: daemon.listen: \"nowhere\" is no address|unix:///PATH or HOST:PORT"},
      {"[daemon]\nlisten = \"a\\nb\"", "control character"},
      {"[daemon]\nlisten = \"a\\u0000b\"", "control character"},
      {"[daemon]\nsocket_mode = '0999'", "daemon.socket_mode|octal"},
      {"[daemon]\nsocket_mode = '7777'", "daemon.socket_mode|0777"},
      {"[daemon]\nsocket_mode = 432", "a mode in quotes"},
      {"[daemon]\nallow_insecure_remote = 'yes'", "expected true or false"},
      {"[daemon]\ndrain_timeout = 'soon'", "\"soon\" is not a duration|1h30m"},
      {"[daemon]\ndrain_timeout = -5", "\"-5\" is not a duration"},
      {"[daemon]\ndrain_timeout = 1.5", "a duration in quotes"},
      {"[daemon]\ndrain_timeout = '1000d'", "out of range; allowed are 0s to 7d"},
      {"[daemon]\ngrpc_max_recv_bytes = '1K'", "out of range; allowed are 1MiB to 2147483647B"},
      {"[daemon]\ngrpc_max_recv_bytes = 'auto'", "is not a size"},
      {"[daemon]\nmax_queued_jobs = 0", "0 is out of range; allowed are 1 to 1000000"},
      {"[daemon]\nmax_queued_jobs = -1", "-1 is out of range"},
      {"[daemon]\nmax_queued_jobs = '5'", "expected a whole number"},
      {"[daemon]\nmax_queued_jobs = 5000000000", "out of range"},
      {"[daemon]\nmax_queued_jobs = []", "expected a whole number"},
      {"[daemon]\norphan_policy = 'maybe'", "\"maybe\" is not one of keep|drop_queued|drop"},
      {"[daemon]\nstate_dir = 'here'", "daemon.state_dir: \"here\" is no absolute path"},
      {"[daemon]\nstate_dir = ''", "no absolute path"},
      {"[daemon]\nmax_queued_bytes = '10MiB'", "daemon.max_queued_bytes|grpc_max_recv_bytes"},
      {"[memory]\ntotal_budget = '256GX'", "memory.total_budget: \"256GX\" is not a size|a percentage|auto"},
      {"[memory]\ntotal_budget = '1K'", "out of range; allowed are 1GiB to"},
      {"[memory]\ntotal_budget = { a = 1 }", "memory.total_budget: expected a size"},
      {"[gpus]\ndevices = 0", "expected a list of whole numbers"},
      {"[gpus]\ndevices = ['0']", "not a whole number"},
      {"[gpus]\ndevices = [0, 1, 0]", "0 is listed twice"},
      {"[gpus]\ndevices = [4000]", "out of range"},
      {"[gpus]\ngpu_workers_per_device = 0", "0 is out of range; allowed are 1 to 16"},
      {"[gpus]\naffinity = 5", "gpus.affinity: expected a table"},
      {"[gpus.affinity]\nx = 'any'", "gpus.affinity: \"x\" is not the ordinal"},
      {"[gpus.affinity]\n0 = 'porep-32gib'", "\"any\" or a list"},
      {"[gpus.affinity]\n0 = []", "f.toml:2: gpus.affinity: write \"any\" or a list of circuits for device 0"},
      {"[gpus.affinity]\n0 = [1]", "not a string"},
      {"[gpus.affinity]\n0 = ['nonsense']", "\"nonsense\" is not a known circuit|cuzk circuit list"},
      {"[gpus.affinity]\n0 = 'any'\n00 = 'any'", "device 0 is listed twice"},
      {"[gpus.affinity.0]\nx = 1", "\"any\" or a list"},
      {"[gpus]\ndevices = [0]\naffinity = { 1 = 'any' }", "f.toml:3: gpus.affinity: device 1 is not in gpus.devices"},
      {"[pipeline]\nself_check = true", "expected a string"},
      {"[srs]\nparam_cache = ''", "srs.param_cache: is empty"},
      {"[srs]\npreload = ['Nonsense!']", "the id of a circuit"},
      {"[srs]\npreload = [1]", "not a string"},
      {"[srs]\npreload = ['nope']", "known circuit"},
      {"[logging]\nlevel = 'loud'", "\"loud\" is not a level"},
      {"[logging]\nlevel = ''", "not a level"},
      {"[logging]\nlevel = 'info,'", "not a level"},
      {"[logging]\nlevel = '=info'", "not a level"},
      {"[logging]\nformat = 'xml'", "not one of text|json"},
      {"[daemon]\nlisten = '127.0.0.1:1'\ntls_cert = '/c'", "f.toml:3: daemon.tls_cert: needs daemon.tls_key"},
      {"[daemon]\nlisten = '127.0.0.1:1'\ntls_key = '/k'", "daemon.tls_key: needs daemon.tls_cert"},
      {"[daemon]\nlisten = '127.0.0.1:1'\ntls_client_ca = '/k'", "daemon.tls_client_ca: needs"},
      {"[daemon]\ntls_cert = '/c'\ntls_key = '/k'", "TLS is for TCP"},
      {"[daemon]\nauth_token_file = '/t'", "tokens are for TCP"},
      {"[daemon]\nlisten = '0.0.0.0:9820'", "f.toml:2: daemon.listen: 0.0.0.0:9820 can be reached from other machines|allow_insecure_remote"},
      {"[daemon]\nlisten = '[::]:9820'", "can be reached"},
      {"[daemon]\nlisten = '127.0.0.1:5'\nstatus_listen = '127.0.0.1:5'", "daemon.status_listen: is the address of daemon.listen"},
      {"[daemon]\nstatus_listen = 'x'", "daemon.status_listen: \"x\" is no address"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    /* a | that belongs to a vocabulary splits it, which asks for its words one by one */
    bad(cases[i][0], cases[i][1]);
  }
  static const char *const fine[] = {"[daemon]\nlisten = '0.0.0.0:1'\nallow_insecure_remote = true", "[daemon]\nlisten = '0.0.0.0:1'\nauth_token_file = '/t'",
                                     "[daemon]\nlisten = '0.0.0.0:1'\ntls_cert = '/c'\ntls_key = '/k'", "[gpus]\naffinity = { 1 = 'any' }",
                                     "daemon.listen = 'localhost:4'", "daemon = { result_max = 5 }"};
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    struct cuzk_config c = good(fine[i]);
    cuzk_config_clear(&c);
  }
}

static void old_and_unknown_keys_are_warned_of(void **state) {
  (void)state;
  struct cuzk_config c;
  struct cuzk_detail d;
  const char old[] = "[memory]\npinned_budget = '50GiB'\nworking_memory_budget = 7\n[synthesis]\npartition_workers = 20\n"
                     "[pipeline]\nsynthesis_lookahead = 2\nslot_size = 3\n";
  assert_int_equal(parse_with(&c, old, (struct cuzk_config_source){0}, &d), CUZK_OK);
  assert_int_equal(n_warnings, 5);
  assert_non_null(strstr(warnings, "f.toml:2: memory.pinned_budget has no effect"));
  cuzk_config_clear(&c);
  const char unknown[] = "[daemon]\nlisen = 'x'\nresult_max = 4\n[novel]\na = 1\n[novel.b]\nc = 1\n";
  assert_int_equal(parse_with(&c, unknown, (struct cuzk_config_source){.lenient = true}, &d), CUZK_OK);
  assert_int_equal(n_warnings, 2);
  assert_non_null(strstr(warnings, "f.toml:2: there is no key daemon.lisen; did you mean daemon.listen? (ignored)"));
  assert_int_equal(c.daemon_result_max, 4);
  cuzk_config_clear(&c);
  assert_int_equal(parse_with(&c, "[daemon]\nresult_max = 0", (struct cuzk_config_source){.lenient = true}, &d), CUZK_E_FORMAT);
  assert_int_equal(parse_with(&c, "[daemon]\nstatus_listen = '0.0.0.0:9821'", (struct cuzk_config_source){0}, &d), CUZK_OK);
  assert_int_equal(n_warnings, 1);
  cuzk_config_clear(&c);
}

static void sources_have_their_order(void **state) {
  (void)state;
  struct cuzk_config c;
  struct cuzk_detail d;
  static const char *const env[] = {"RUST_LOG", "debug", "CUZK_LOG", "warn", "CUZK_GPU_THREADS", "5", "FIL_PROOFS_PARAMETER_CACHE", "/env",
                                    "CUZK_DISABLE_PCE", "1", "CUZK_DISABLE_SPLIT_PROVE", "1", "CUZK_VALIDATE_PARTITIONS", "1", NULL};
  static const char *const set[] = {"srs.param_cache=/cli", "daemon.result_ttl=90", "daemon.result_ttl=2m", "gpus.devices=[1,2]",
                                    "gpus.affinity={1=\"any\"}", "daemon.socket_group=\"quoted\"", "memory.srs_warm=false", "daemon.socket_mode=0640",
                                    "memory.total_budget=90%", "pipeline.slot_size=3"};
  const char text[] = "[logging]\nlevel = 'error'\n[gpus]\ngpu_threads = 9\naffinity = { 0 = 'any' }\n[srs]\nparam_cache = '/file'\n[pipeline]\npce = true\n";
  environment = env;
  assert_int_equal(parse_with(&c, text, (struct cuzk_config_source){.set = set, .n_set = sizeof set / sizeof *set}, &d), CUZK_OK);
  environment = NULL;
  assert_string_equal(c.logging_level, "warn");
  assert_int_equal(c.gpus_gpu_threads, 5);
  assert_string_equal(c.srs_param_cache, "/cli");
  assert_int_equal(c.daemon_result_ttl, UINT64_C(120000000000));
  assert_true(c.gpus_devices.n == 2 && c.gpus_devices.v[1] == 2);
  assert_true(c.gpus_affinity.n == 1 && c.gpus_affinity.v[0].ordinal == 1);
  assert_string_equal(c.daemon_socket_group, "quoted");
  assert_int_equal(c.daemon_socket_mode, 0640);
  assert_true(!c.memory_srs_warm && !c.pipeline_pce && !c.split_prove && c.validate_partitions);
  assert_true(c.memory_total_budget.is == CUZK_SIZE_PERCENT);
  assert_int_equal(n_warnings, 1);
  cuzk_config_clear(&c);

  static const char *const wrong_env[][2] = {{"CUZK_GPU_THREADS", "many"}, {"CUZK_LOG", "loud"}, {"CUZK_DISABLE_PCE", "yes"}};
  for (size_t i = 0; i < 3; i++) {
    const char *const one[] = {wrong_env[i][0], wrong_env[i][1], NULL};
    environment = one;
    assert_int_equal(parse_with(&c, "", (struct cuzk_config_source){0}, &d), CUZK_E_FORMAT);
    assert_true(strncmp(d.text, wrong_env[i][0], strlen(wrong_env[i][0])) == 0);
    environment = NULL;
  }
  static const char *const wrong_set[] = {"nonsense", "a=b", "daemon.listen", ".=", "daemon.lisen=x", "daemon.result_max=no", "gpus.devices=[", "gpus.devices=[]\nx=1",
                                          "memory.total_budget=1X", "daemon.result_max="};
  for (size_t i = 0; i < sizeof wrong_set / sizeof *wrong_set; i++) {
    const enum cuzk_status st = parse_with(&c, "", (struct cuzk_config_source){.set = &wrong_set[i], .n_set = 1}, &d);
    if (st != CUZK_E_USAGE) fail_msg("--set %s: %d %s", wrong_set[i], (int)st, d.text);
    assert_non_null(strstr(d.text, "--set"));
  }
  static const char *const remote[] = {"daemon.listen=0.0.0.0:1"};
  assert_int_equal(parse_with(&c, "", (struct cuzk_config_source){.set = remote, .n_set = 1}, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "--set: daemon.listen"));
}

static void files_are_found_or_not(void **state) {
  (void)state;
  struct cuzk_config c;
  struct cuzk_detail d = {{0}};
  struct cuzk_config_source s = {.path = "config-absent.toml", .env = test_env, .warn = on_warning};
  assert_int_equal(cuzk_config_load(&c, &s, &d), CUZK_E_NOENT);
  assert_non_null(strstr(d.text, "config-absent.toml"));
  s.path = "/";
  assert_int_equal(cuzk_config_load(&c, &s, &d), CUZK_E_IO);
  if (access(CUZK_CONFIG_PATH, F_OK) != 0) {
    s.path = NULL;
    warnings[0] = 0;
    n_warnings = 0;
    assert_int_equal(cuzk_config_load(&c, &s, &d), CUZK_OK);
    assert_int_equal(n_warnings, 1);
    cuzk_config_clear(&c);
  }
  s.path = "/dev/null";
  assert_int_equal(cuzk_config_load(&c, &s, &d), CUZK_OK);
  cuzk_config_clear(&c);
  FILE *f = fopen("config-test.toml", "w");
  assert_non_null(f);
  (void)fputs("\xef\xbb\xbf[daemon]\r\nresult_max = 77\r\n", f);
  (void)fclose(f);
  s.path = "config-test.toml";
  assert_int_equal(cuzk_config_load(&c, &s, &d), CUZK_OK);
  assert_int_equal(c.daemon_result_max, 77);
  cuzk_config_clear(&c);
  f = fopen("config-test.toml", "w");
  for (int i = 0; i < 1 << 20; i++) (void)fputc('\n', f);
  (void)fputc('\n', f);
  (void)fclose(f);
  assert_int_equal(cuzk_config_load(&c, &s, &d), CUZK_E_FORMAT);
  (void)remove("config-test.toml");
}

static char *slurp(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  (void)fseek(f, 0, SEEK_END);
  const long n = ftell(f);
  (void)fseek(f, 0, SEEK_SET);
  char *text = malloc((size_t)n + 1);
  if (!text || fread(text, 1, (size_t)n, f) != (size_t)n) fail_msg("%s cannot be read", path);
  text[n] = 0;
  (void)fclose(f);
  return text;
}

/* The files in the repository are what the table of keys gives. CUZK_TEST_WRITE=1 writes them. */
static void documents_follow_the_table(void **state) {
  (void)state;
  static const struct {
    const char *path;
    enum cuzk_status (*make)(char **);
  } docs[] = {{CUZK_TEST_DATA "/../../cuzk.example.toml", cuzk_config_example}, {CUZK_TEST_DATA "/../../docs/config.md", cuzk_config_reference}};
  for (int i = 0; i < 2; i++) {
    char *text;
    assert_int_equal(docs[i].make(&text), CUZK_OK);
    if (getenv("CUZK_TEST_WRITE")) {
      FILE *f = fopen(docs[i].path, "wb");
      assert_non_null(f);
      (void)fputs(text, f);
      (void)fclose(f);
    }
    char *there = slurp(docs[i].path);
    if (!there || strcmp(there, text) != 0) fail_msg("%s is not what the keys give; run this test with CUZK_TEST_WRITE=1", docs[i].path);
    free(there);
    cuzk_free(text);
  }
}

static void the_example_is_the_defaults(void **state) {
  (void)state;
  char *text;
  assert_int_equal(cuzk_config_example(&text), CUZK_OK);
  struct cuzk_config plain = good(text), d = good("");
  n_diff = 0;
  assert_int_equal(cuzk_config_diff(&plain, &d, count_diff, NULL), CUZK_OK);
  assert_int_equal(n_diff, 0);
  cuzk_config_clear(&plain);
  /* the same with every key's line uncommented */
  char *w = text;
  for (char *p = text; *p;) {
    const size_t n = strcspn(p, "\n") + 1;
    char *equals = strstr(p, " = ");
    const bool key = strncmp(p, "# ", 2) == 0 && equals && equals < p + n && strspn(p + 2, "abcdefghijklmnopqrstuvwxyz_") == (size_t)(equals - p - 2);
    const size_t skip = key ? 2 : 0;
    memmove(w, p + skip, n - skip);
    w += n - skip;
    p += n;
  }
  *w = 0;
  plain = good(text);
  n_diff = 0;
  assert_int_equal(cuzk_config_diff(&plain, &d, count_diff, NULL), CUZK_OK);
  /* two defaults depend on the machine and the user */
  assert_true(n_diff <= (plain.gpus_gpu_threads != d.gpus_gpu_threads) + (unsigned)(strcmp(plain.daemon_state_dir, d.daemon_state_dir) != 0));
  cuzk_config_clear(&plain);
  cuzk_config_clear(&d);
  cuzk_free(text);
}

static void memory_runs_out(void **state) {
  (void)state;
  static const char *const set[] = {"gpus.devices=[3, 0]", "daemon.socket_group=x"};
  const struct cuzk_config_source s = {.set = set, .n_set = 2, .env = test_env};
  unsigned failed = 0;
  for (uint64_t n = 1;; n++) {
    const int64_t live = cuzk_alloc_live();
    struct cuzk_config c;
    struct cuzk_detail d;
    char *text = NULL;
    cuzk_alloc_fail_at(n);
    enum cuzk_status st = cuzk_config_parse(&c, everything, strlen(everything), "f", &s, &d);
    if (st == CUZK_OK) {
      st = cuzk_config_print(&c, &text);
      if (st == CUZK_OK) st = cuzk_config_diff(&c, &c, count_diff, NULL);
      cuzk_config_clear(&c);
      cuzk_free(text);
    }
    cuzk_alloc_fail_at(0);
    assert_int_equal(cuzk_alloc_live(), live);
    if (st == CUZK_OK) break;
    assert_int_equal(st, CUZK_E_NOMEM);
    failed++;
  }
  assert_true(failed > 50);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_read),
      cmocka_unit_test(durations_are_read),
      cmocka_unit_test(addresses_are_read),
      cmocka_unit_test(defaults_are_the_specifications),
      cmocka_unit_test(every_key_is_read_and_printed),
      cmocka_unit_test(wrong_values_are_refused),
      cmocka_unit_test(old_and_unknown_keys_are_warned_of),
      cmocka_unit_test(sources_have_their_order),
      cmocka_unit_test(files_are_found_or_not),
      cmocka_unit_test(documents_follow_the_table),
      cmocka_unit_test(the_example_is_the_defaults),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
