/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The server on real sockets: TLS with and without client certificates, peers that dawdle, connections and descriptors that run out, stopping. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/client.h"
#include "rpc/grpc.h"
#include "testing.h"

#define ECHO "/t.T/Echo"
static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0"; /* with the NUL: the preface and SETTINGS */

static atomic_uint started, ended, delivered;
static struct cuzk_rpc_handle *_Atomic held;

static void on_end(void *user, bool was_delivered) {
  (void)user;
  atomic_fetch_add(&delivered, was_delivered);
  atomic_fetch_add(&ended, 1);
}
static void echo(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  size_t n;
  const uint8_t *m = cuzk_rpc_call_message(c, &n);
  cuzk_rpc_call_on_end(c, on_end, NULL);
  struct cuzk_rpc_handle *h = cuzk_rpc_call_handle(c);
  cuzk_rpc_reply(h, CUZK_GRPC_OK, NULL, m, n, 0);
  cuzk_rpc_handle_release(&h);
}
static void hold(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  cuzk_rpc_call_on_end(c, on_end, NULL);
  struct cuzk_rpc_handle *was = atomic_exchange(&held, cuzk_rpc_call_handle(c));
  cuzk_rpc_handle_release(&was);
  atomic_fetch_add(&started, 1);
}
static const struct cuzk_rpc_method methods[] = {{ECHO, echo, false}, {"/t.T/Hold", hold, false}};

struct fixture {
  struct cuzk_rpc_server *server;
  char address[64];
  struct sockaddr_in sa;
};

static void serve(struct fixture *f, struct cuzk_rpc_options o, struct cuzk_rpc_listen l) {
  struct cuzk_detail d = {{0}};
  o.methods = methods;
  o.n_methods = 2;
  l.address = "127.0.0.1:0";
  if (cuzk_rpc_server_create(&f->server, &o, &d) != CUZK_OK || cuzk_rpc_server_listen(f->server, &l, &d) != CUZK_OK) fail_msg("%s", d.text);
  (void)snprintf(f->address, sizeof f->address, "%s", cuzk_rpc_server_address(f->server, 0));
  f->sa = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strchr(f->address, ':') + 1)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(cuzk_rpc_server_start(f->server, &d), CUZK_OK);
  atomic_store(&started, 0);
  atomic_store(&ended, 0);
  atomic_store(&delivered, 0);
}

/* The code of an echo, or -1 with the reason that there is no connection. */
static int echoed(const struct cuzk_rpc_client_options *o, char why[200]) {
  struct cuzk_rpc_client *c;
  struct cuzk_rpc_answer a;
  struct cuzk_detail d = {{0}};
  if (cuzk_rpc_client_open(&c, o, &d) != CUZK_OK) {
    if (why) (void)snprintf(why, 200, "%.199s", d.text);
    return -1;
  }
  assert_int_equal(cuzk_rpc_client_call(c, ECHO, (const uint8_t *)"x", 1, 5000, NULL, &a, &d), CUZK_OK);
  const int code = (int)a.code;
  if (!code) assert_int_equal(a.n, 1);
  cuzk_rpc_answer_clear(&a);
  cuzk_rpc_client_close(&c);
  return code;
}

static int dial(const struct fixture *f) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&f->sa, sizeof f->sa), 0);
  return fd;
}
/* Reads until the server closes. False: it has not within ms. */
static bool closes(int fd, int ms) {
  char buf[4096];
  const uint64_t until = cuzk_rpc_now_ms() + (uint64_t)ms;
  for (;;) {
    const uint64_t now = cuzk_rpc_now_ms();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (now >= until || poll(&p, 1, (int)(until - now)) <= 0) return false;
    if (read(fd, buf, sizeof buf) <= 0) return true;
  }
}
static bool reaches(atomic_uint *which, unsigned n) {
  for (int i = 0; i < 1000 && atomic_load(which) < n; i++) (void)usleep(5000);
  return atomic_load(which) >= n;
}

/* ---- TLS ---- */

static char dir[64];

static const char *in_dir(char out[128], const char *name) {
  (void)snprintf(out, 128, "%s/%s", dir, name);
  return out;
}

/* A key and its certificate, signed by an authority (ca NULL: by itself). */
static void certify(const char *name, EVP_PKEY **key, X509 **cert, EVP_PKEY *ca_key, X509 *ca, const char *address) {
  char path[128], file[32];
  *key = EVP_EC_gen("P-256");
  *cert = X509_new();
  assert_true(*key && *cert);
  X509_set_version(*cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(*cert), (long)(test_rand() >> 40));
  X509_gmtime_adj(X509_getm_notBefore(*cert), -60);
  X509_gmtime_adj(X509_getm_notAfter(*cert), 3600);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(*cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
  X509_set_issuer_name(*cert, X509_get_subject_name(ca ? ca : *cert));
  X509_set_pubkey(*cert, *key);
  X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, ca ? NID_subject_alt_name : NID_basic_constraints, ca ? address : "critical,CA:TRUE");
  assert_non_null(e);
  X509_add_ext(*cert, e, -1);
  X509_EXTENSION_free(e);
  assert_true(X509_sign(*cert, ca ? ca_key : *key, EVP_sha256()) > 0);
  for (int i = 0; i < 2; i++) {
    (void)snprintf(file, sizeof file, "%s.%s", name, i ? "key" : "pem");
    FILE *f = fopen(in_dir(path, file), "w");
    assert_non_null(f);
    assert_int_equal(i ? PEM_write_PrivateKey(f, *key, NULL, NULL, 0, NULL, NULL) : PEM_write_X509(f, *cert), 1);
    assert_int_equal(fclose(f), 0);
  }
}

static void make_certificates(void) {
  EVP_PKEY *ca_key, *key;
  X509 *ca, *cert;
  (void)snprintf(dir, sizeof dir, "/tmp/cuzk-tls-XXXXXX");
  assert_non_null(mkdtemp(dir));
  certify("other", &ca_key, &ca, NULL, NULL, NULL);
  EVP_PKEY_free(ca_key);
  X509_free(ca);
  certify("ca", &ca_key, &ca, NULL, NULL, NULL);
  const char *const leaf[] = {"server", "client", "elsewhere"};
  for (int i = 0; i < 3; i++) {
    certify(leaf[i], &key, &cert, ca_key, ca, i == 2 ? "DNS:elsewhere.example" : "IP:127.0.0.1");
    EVP_PKEY_free(key);
    X509_free(cert);
  }
  EVP_PKEY_free(ca_key);
  X509_free(ca);
}
static void remove_certificates(void) {
  static const char *const files[] = {"other.pem", "other.key", "ca.pem", "ca.key", "server.pem", "server.key", "client.pem", "client.key",
                                      "elsewhere.pem", "elsewhere.key"};
  char path[128];
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) assert_int_equal(unlink(in_dir(path, files[i])), 0);
  assert_int_equal(rmdir(dir), 0);
}

static void tls(void **state) {
  (void)state;
  char ca[128], other[128], cert[128], key[128], mine[128], my_key[128], why[200];
  struct fixture f;
  make_certificates();
  (void)in_dir(ca, "ca.pem");
  (void)in_dir(other, "other.pem");
  (void)in_dir(mine, "client.pem");
  (void)in_dir(my_key, "client.key");
  for (int mutual = 0; mutual < 2; mutual++) {
    serve(&f, (struct cuzk_rpc_options){0},
          (struct cuzk_rpc_listen){.tls_cert = in_dir(cert, "server.pem"), .tls_key = in_dir(key, "server.key"), .tls_client_ca = mutual ? ca : NULL});
    struct cuzk_rpc_client_options o = {.address = f.address, .ca = ca, .cert = mine, .key = my_key};
    for (int i = 0; i < 3; i++) assert_int_equal(echoed(&o, why), CUZK_GRPC_OK);
    o.cert = o.key = NULL;
    if (mutual) assert_true(echoed(&o, why) != CUZK_GRPC_OK);
    else assert_int_equal(echoed(&o, why), CUZK_GRPC_OK);
    o.cert = other; /* of nobody the server knows */
    char other_key[128];
    o.key = in_dir(other_key, "other.key");
    if (mutual) assert_true(echoed(&o, why) != CUZK_GRPC_OK);
    o = (struct cuzk_rpc_client_options){.address = f.address, .ca = other, .cert = mine, .key = my_key};
    assert_int_equal(echoed(&o, why), -1); /* the client does not know the server */
    o = (struct cuzk_rpc_client_options){.address = f.address, .connect_timeout_ms = 2000};
    assert_true(echoed(&o, why) != CUZK_GRPC_OK); /* plain HTTP/2 into TLS */
    cuzk_rpc_server_destroy(&f.server);
  }
  serve(&f, (struct cuzk_rpc_options){0}, (struct cuzk_rpc_listen){.tls_cert = in_dir(cert, "elsewhere.pem"), .tls_key = in_dir(key, "elsewhere.key")});
  assert_int_equal(echoed(&(struct cuzk_rpc_client_options){.address = f.address, .ca = ca}, why), -1); /* another host's certificate */
  cuzk_rpc_server_destroy(&f.server);

  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_rpc_server_create(&f.server, &(struct cuzk_rpc_options){.methods = methods, .n_methods = 2}, &d), CUZK_OK);
  struct cuzk_rpc_listen l = {.address = "127.0.0.1:0", .tls_cert = in_dir(cert, "server.pem"), .tls_key = in_dir(key, "client.key")};
  assert_int_equal(cuzk_rpc_server_listen(f.server, &l, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "client.key"));
  l.tls_cert = in_dir(cert, "nothing.pem");
  assert_int_equal(cuzk_rpc_server_listen(f.server, &l, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "nothing.pem"));
  l.tls_cert = in_dir(cert, "server.pem");
  l.tls_key = in_dir(key, "server.key");
  l.address = "unix:///tmp/cuzk-never.sock";
  assert_int_equal(cuzk_rpc_server_listen(f.server, &l, &d), CUZK_E_UNSUPPORTED);
  cuzk_rpc_server_destroy(&f.server);
  remove_certificates();
}

/* ---- peers that dawdle ---- */

static void dawdlers(void **state) {
  (void)state;
  struct fixture f;
  serve(&f, (struct cuzk_rpc_options){.header_timeout_ms = 300, .idle_timeout_ms = 2500}, (struct cuzk_rpc_listen){0});
  const int silent = dial(&f), half = dial(&f), in_headers = dial(&f), idle = dial(&f);
  assert_int_equal(write(half, hello, 10), 10);
  assert_int_equal(write(idle, hello, sizeof hello), sizeof hello);
  assert_int_equal(write(in_headers, hello, sizeof hello), sizeof hello);
  for (int i = 0; i < 4; i++) { /* a header block that goes on a byte at a time */
    (void)usleep(50000);
    assert_int_equal(write(in_headers, &"\0\0\xff\1\0\0\0\0\1"[i], 1), 1);
  }
  const uint64_t t0 = cuzk_rpc_now_ms();
  assert_true(closes(silent, 3000));
  assert_true(closes(half, 3000));
  assert_true(closes(in_headers, 3000));
  assert_true(cuzk_rpc_now_ms() - t0 < 2400);
  assert_true(closes(idle, 6000));
  assert_true(cuzk_rpc_now_ms() - t0 > 1000);
  (void)close(silent);
  (void)close(half);
  (void)close(in_headers);
  (void)close(idle);
  assert_int_equal(echoed(&(struct cuzk_rpc_client_options){.address = f.address}, NULL), CUZK_GRPC_OK);
  cuzk_rpc_server_destroy(&f.server);
}

/* One who asks for much and reads nothing: the server keeps no more than its socket's buffers and one answer, and lets it go in the end. */
static void slow_reader(void **state) {
  (void)state;
  struct fixture f;
  struct cuzk_rpc_stats s;
  serve(&f, (struct cuzk_rpc_options){.stall_timeout_ms = 500}, (struct cuzk_rpc_listen){0});
  const int fd = dial(&f);
  assert_int_equal(write(fd, hello, sizeof hello), sizeof hello);
  assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
  static const uint8_t ping[17] = {0, 0, 8, 6};
  uint64_t sent = 0;
  for (int quiet = 0; quiet < 20 && sent < 64 << 20;) { /* each is to be answered */
    const ssize_t n = send(fd, ping, sizeof ping, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) break;
    if (n < 0) (void)usleep(10000);
    quiet = n < 0 ? quiet + 1 : 0;
    if (n > 0) sent += (uint64_t)n;
  }
  for (int i = 0; i < 1000; i++) {
    cuzk_rpc_server_stats(f.server, &s);
    if (!s.connections) break;
    (void)usleep(5000);
  }
  assert_int_equal(s.connections, 0);
  (void)close(fd);
  assert_int_equal(echoed(&(struct cuzk_rpc_client_options){.address = f.address}, NULL), CUZK_GRPC_OK);
  cuzk_rpc_server_destroy(&f.server);
}

/* ---- what runs out ---- */

static void connections_run_out(void **state) {
  (void)state;
  struct fixture f;
  serve(&f, (struct cuzk_rpc_options){.max_connections = 2}, (struct cuzk_rpc_listen){0});
  const int a = dial(&f), b = dial(&f);
  assert_int_equal(write(a, hello, sizeof hello), sizeof hello);
  assert_int_equal(write(b, hello, sizeof hello), sizeof hello);
  assert_false(closes(a, 100));
  const int c = dial(&f);
  assert_true(closes(c, 2000));
  (void)close(a);
  (void)close(c);
  int code = -1;
  for (int i = 0; i < 100 && code != CUZK_GRPC_OK; i++) {
    code = echoed(&(struct cuzk_rpc_client_options){.address = f.address}, NULL);
    (void)usleep(5000);
  }
  assert_int_equal(code, CUZK_GRPC_OK);
  (void)close(b);
  cuzk_rpc_server_destroy(&f.server);
}

static unsigned descriptors(void) {
  unsigned n = 0;
  DIR *p = opendir("/proc/self/fd");
  assert_non_null(p);
  while (readdir(p)) n++;
  (void)closedir(p);
  return n;
}

static void descriptors_run_out(void **state) {
  (void)state;
  struct fixture f;
  struct rlimit was, now;
  serve(&f, (struct cuzk_rpc_options){0}, (struct cuzk_rpc_listen){0});
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int next = dup(fd); /* the number that the server's next descriptor would have */
  assert_true(fd >= 0 && next > fd);
  (void)close(next);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
  now = was;
  now.rlim_cur = (rlim_t)next;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
  const int connected = connect(fd, (const struct sockaddr *)&f.sa, sizeof f.sa);
  (void)usleep(300000);
  struct cuzk_rpc_stats s;
  cuzk_rpc_server_stats(f.server, &s);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
  assert_int_equal(connected, 0);
  assert_int_equal(s.connections_total, 0); /* it could not be accepted */
  assert_int_equal(echoed(&(struct cuzk_rpc_client_options){.address = f.address}, NULL), CUZK_GRPC_OK);
  (void)close(fd);
  cuzk_rpc_server_destroy(&f.server);
}

/* ---- stopping ---- */

struct asking {
  struct fixture *f;
  pthread_t thread;
  int code;
};
static void *ask(void *user) {
  struct asking *q = user;
  struct cuzk_rpc_client *c;
  struct cuzk_rpc_answer a;
  q->code = -1;
  if (cuzk_rpc_client_open(&c, &(struct cuzk_rpc_client_options){.address = q->f->address}, NULL) != CUZK_OK) return NULL;
  if (cuzk_rpc_client_call(c, "/t.T/Hold", (const uint8_t *)"x", 1, 20000, NULL, &a, NULL) == CUZK_OK) {
    q->code = (int)a.code;
    cuzk_rpc_answer_clear(&a);
  }
  cuzk_rpc_client_close(&c);
  return NULL;
}

static void stopping(void **state) {
  (void)state;
  static uint8_t body[1 << 20];
  struct fixture f;
  struct asking q = {.f = &f};
  /* A call is open while the server drains; its answer, given just before the end, still arrives, all of it. */
  serve(&f, (struct cuzk_rpc_options){0}, (struct cuzk_rpc_listen){0});
  assert_int_equal(pthread_create(&q.thread, NULL, ask, &q), 0);
  assert_true(reaches(&started, 1));
  const int idle = dial(&f);
  assert_int_equal(write(idle, hello, sizeof hello), sizeof hello);
  assert_false(closes(idle, 100));
  cuzk_rpc_server_drain(f.server);
  assert_true(closes(idle, 500)); /* at once, as it has no calls */
  (void)close(idle);
  assert_int_equal(echoed(&(struct cuzk_rpc_client_options){.address = f.address}, NULL), CUZK_GRPC_OK); /* who comes now is served */
  const int late = dial(&f);
  assert_int_equal(write(late, hello, sizeof hello), sizeof hello);
  assert_true(closes(late, 5000));
  (void)close(late);
  assert_int_equal(atomic_load(&ended), 1);
  struct cuzk_rpc_handle *h = atomic_exchange(&held, NULL);
  cuzk_rpc_reply(h, CUZK_GRPC_OK, NULL, body, sizeof body, 0);
  cuzk_rpc_server_destroy(&f.server);
  (void)pthread_join(q.thread, NULL);
  assert_int_equal(q.code, CUZK_GRPC_OK);
  cuzk_rpc_handle_release(&h);
  /* A call is open when the server goes: it ends undelivered, and an answer after that reaches nobody. */
  serve(&f, (struct cuzk_rpc_options){0}, (struct cuzk_rpc_listen){0});
  assert_int_equal(pthread_create(&q.thread, NULL, ask, &q), 0);
  assert_true(reaches(&started, 1));
  cuzk_rpc_server_destroy(&f.server);
  assert_int_equal(atomic_load(&ended), 1);
  assert_int_equal(atomic_load(&delivered), 0);
  (void)pthread_join(q.thread, NULL);
  assert_int_equal(q.code, CUZK_GRPC_UNAVAILABLE);
  h = atomic_exchange(&held, NULL);
  cuzk_rpc_reply(h, CUZK_GRPC_OK, NULL, (const uint8_t *)"late", 4, 0);
  cuzk_rpc_handle_release(&h);
}

static unsigned descriptors_before;

static int note_descriptors(void **state) {
  (void)state;
  descriptors_before = descriptors();
  return 0;
}
static int same_descriptors(void **state) {
  (void)state;
  return descriptors() == descriptors_before ? 0 : -1;
}
#define CHECKED(fn) cmocka_unit_test_setup_teardown(fn, note_descriptors, same_descriptors)

int main(void) {
  test_seed();
  (void)signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {CHECKED(tls),        CHECKED(dawdlers), CHECKED(slow_reader), CHECKED(connections_run_out), CHECKED(descriptors_run_out),
                                     CHECKED(stopping)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
