/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Server and client of this layer with each other: calls, limits, deadlines, cancellation, big messages. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "rpc/client.h"
#include "rpc/grpc.h"
#include "testing.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned ended, delivered;

static void on_end(void *user, bool was_delivered) {
  (void)user;
  (void)pthread_mutex_lock(&lock);
  ended++;
  delivered += was_delivered;
  (void)pthread_mutex_unlock(&lock);
}

static unsigned count(const unsigned *which) {
  (void)pthread_mutex_lock(&lock);
  const unsigned n = *which;
  (void)pthread_mutex_unlock(&lock);
  return n;
}

/* Answers with the message itself. */
static void echo(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  size_t n;
  const uint8_t *m = cuzk_rpc_call_message(c, &n);
  cuzk_rpc_call_on_end(c, on_end, NULL);
  struct cuzk_rpc_handle *h = cuzk_rpc_call_handle(c);
  cuzk_rpc_reply(h, CUZK_GRPC_OK, NULL, m, n, 0);
  cuzk_rpc_handle_release(&h);
}
static void refuse(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  struct cuzk_rpc_handle *h = cuzk_rpc_call_handle(c);
  cuzk_rpc_reply(h, CUZK_GRPC_NOT_FOUND, "no 'x' at 100 % \xc3\xa9\n", NULL, 0, 1500);
  cuzk_rpc_handle_release(&h);
}
/* Never answers. */
static void hang(void *user, struct cuzk_rpc_call *c) {
  (void)user;
  cuzk_rpc_call_on_end(c, on_end, NULL);
}

static const struct cuzk_rpc_method methods[] = {{"/t.T/Echo", echo, false}, {"/t.T/Fail", refuse, false}, {"/t.T/Hang", hang, false}};

struct fixture {
  struct cuzk_rpc_server *server;
  struct cuzk_rpc_client *client;
  char dir[64], address[128];
};

static void open_pair(struct fixture *f, const struct cuzk_rpc_options *extra, bool tcp) {
  struct cuzk_rpc_options o = extra ? *extra : (struct cuzk_rpc_options){0};
  struct cuzk_detail d = {{0}};
  o.methods = methods;
  o.n_methods = sizeof methods / sizeof methods[0];
  (void)snprintf(f->dir, sizeof f->dir, "/tmp/cuzk-rpc-XXXXXX");
  assert_non_null(mkdtemp(f->dir));
  assert_int_equal(cuzk_rpc_server_create(&f->server, &o, &d), CUZK_OK);
  char path[128];
  (void)snprintf(path, sizeof path, "unix://%s/a/b.sock", f->dir);
  const struct cuzk_rpc_listen l = {.address = tcp ? "127.0.0.1:0" : path, .need_token = o.token != NULL};
  assert_int_equal(cuzk_rpc_server_listen(f->server, &l, &d), CUZK_OK);
  (void)snprintf(f->address, sizeof f->address, "%s", cuzk_rpc_server_address(f->server, 0));
  assert_int_equal(cuzk_rpc_server_start(f->server, &d), CUZK_OK);
  const struct cuzk_rpc_client_options co = {.address = f->address, .token = o.token};
  assert_int_equal(cuzk_rpc_client_open(&f->client, &co, &d), CUZK_OK);
  (void)pthread_mutex_lock(&lock);
  ended = delivered = 0;
  (void)pthread_mutex_unlock(&lock);
}

static void close_pair(struct fixture *f) {
  char path[128];
  cuzk_rpc_client_close(&f->client);
  cuzk_rpc_server_destroy(&f->server);
  (void)snprintf(path, sizeof path, "%s/a/b.sock", f->dir);
  assert_int_not_equal(access(path, F_OK), 0);
  (void)snprintf(path, sizeof path, "%s/a", f->dir);
  (void)rmdir(path);
  assert_int_equal(rmdir(f->dir), 0);
}

static enum cuzk_grpc_code call(struct fixture *f, const char *path, const void *body, size_t n, uint64_t timeout_ms, struct cuzk_rpc_answer *a) {
  struct cuzk_detail d;
  assert_int_equal(cuzk_rpc_client_call(f->client, path, body, n, timeout_ms, NULL, a, &d), CUZK_OK);
  return a->code;
}

static void echoes(void **state) {
  (void)state;
  for (int tcp = 0; tcp < 2; tcp++) {
    struct fixture f;
    struct cuzk_rpc_answer a;
    open_pair(&f, NULL, tcp);
    for (size_t n = 0; n < 200000; n = n * 3 + 1) {
      uint8_t *m = malloc(n + 1);
      for (size_t i = 0; i < n; i++) m[i] = (uint8_t)(i * 7 + n);
      assert_int_equal(call(&f, "/t.T/Echo", m, n, 0, &a), CUZK_GRPC_OK);
      assert_int_equal(a.n, n);
      if (n) assert_memory_equal(a.body, m, n);
      cuzk_rpc_answer_clear(&a);
      free(m);
    }
    assert_int_equal(call(&f, "/t.T/Fail", "x", 1, 0, &a), CUZK_GRPC_NOT_FOUND);
    assert_string_equal(a.message, "no 'x' at 100 % \xc3\xa9\n");
    cuzk_rpc_answer_clear(&a);
    assert_int_equal(call(&f, "/t.T/Nothing", "x", 1, 0, &a), CUZK_GRPC_UNIMPLEMENTED);
    cuzk_rpc_answer_clear(&a);
    close_pair(&f);
    assert_int_equal(count(&ended), count(&delivered));
    assert_true(count(&ended) > 5);
  }
}

static void deadlines_and_cancellation(void **state) {
  (void)state;
  struct fixture f;
  struct cuzk_rpc_answer a;
  struct cuzk_detail d;
  open_pair(&f, NULL, false);
  const uint64_t t0 = cuzk_rpc_now_ms();
  assert_int_equal(call(&f, "/t.T/Hang", "x", 1, 150, &a), CUZK_GRPC_DEADLINE_EXCEEDED);
  assert_in_range(cuzk_rpc_now_ms() - t0, 100, 5000);
  cuzk_rpc_answer_clear(&a);
  atomic_bool cancel = true;
  assert_int_equal(cuzk_rpc_client_call(f.client, "/t.T/Hang", (const uint8_t *)"x", 1, 0, &cancel, &a, &d), CUZK_OK);
  assert_int_equal(a.code, CUZK_GRPC_CANCELLED);
  cuzk_rpc_answer_clear(&a);
  for (int i = 0; i < 500 && count(&ended) < 1; i++) (void)usleep(10000);
  close_pair(&f);
  assert_true(count(&ended) >= 1);
  assert_int_equal(count(&delivered), 0);
}

static void limits(void **state) {
  (void)state;
  struct fixture f;
  struct cuzk_rpc_answer a;
  const struct cuzk_rpc_options o = {.max_message_bytes = 100000};
  uint8_t *m = calloc(1, 300000);
  open_pair(&f, &o, false);
  assert_int_equal(call(&f, "/t.T/Echo", m, 100000, 0, &a), CUZK_GRPC_OK);
  cuzk_rpc_answer_clear(&a);
  assert_int_equal(call(&f, "/t.T/Echo", m, 100001, 0, &a), CUZK_GRPC_RESOURCE_EXHAUSTED);
  cuzk_rpc_answer_clear(&a);
  assert_int_equal(call(&f, "/t.T/Echo", m, 300000, 0, &a), CUZK_GRPC_RESOURCE_EXHAUSTED);
  cuzk_rpc_answer_clear(&a);
  assert_int_equal(call(&f, "/t.T/Echo", m, 10, 0, &a), CUZK_GRPC_OK); /* the connection lives on */
  cuzk_rpc_answer_clear(&a);
  close_pair(&f);
  free(m);
}

static void tokens(void **state) {
  (void)state;
  struct fixture f;
  struct cuzk_rpc_answer a;
  struct cuzk_detail d;
  const struct cuzk_rpc_options o = {.token = "secret"};
  open_pair(&f, &o, true);
  assert_int_equal(call(&f, "/t.T/Echo", "x", 1, 0, &a), CUZK_GRPC_OK);
  cuzk_rpc_answer_clear(&a);
  cuzk_rpc_client_close(&f.client);
  assert_int_equal(cuzk_rpc_client_open(&f.client, &(struct cuzk_rpc_client_options){.address = f.address, .token = "secreT"}, &d), CUZK_OK);
  assert_int_equal(call(&f, "/t.T/Echo", "x", 1, 0, &a), CUZK_GRPC_PERMISSION_DENIED);
  cuzk_rpc_answer_clear(&a);
  cuzk_rpc_client_close(&f.client);
  assert_int_equal(cuzk_rpc_client_open(&f.client, &(struct cuzk_rpc_client_options){.address = f.address}, &d), CUZK_OK);
  assert_int_equal(call(&f, "/t.T/Echo", "x", 1, 0, &a), CUZK_GRPC_UNAUTHENTICATED);
  cuzk_rpc_answer_clear(&a);
  close_pair(&f);
}

static void big_messages(void **state) {
  (void)state;
  struct fixture f;
  struct cuzk_rpc_answer a;
  const size_t n = (size_t)200 << 20;
  uint8_t *m = malloc(n);
  assert_non_null(m);
  for (size_t i = 0; i < n; i += 4096) memset(m + i, (int)(i >> 12), 4096);
  open_pair(&f, &(struct cuzk_rpc_options){.max_response_bytes = n}, false);
  const uint64_t t0 = cuzk_rpc_now_ms();
  assert_int_equal(call(&f, "/t.T/Echo", m, n, 0, &a), CUZK_GRPC_OK);
  print_message("200 MiB each way in %llu ms\n", (unsigned long long)(cuzk_rpc_now_ms() - t0));
  assert_int_equal(a.n, n);
  assert_memory_equal(a.body, m, n);
  cuzk_rpc_answer_clear(&a);
  close_pair(&f);
  free(m);
}

static void sockets_in_use(void **state) {
  (void)state;
  struct fixture f;
  struct cuzk_detail d = {{0}};
  struct cuzk_rpc_server *second;
  struct cuzk_rpc_answer a;
  open_pair(&f, NULL, false);
  assert_int_equal(cuzk_rpc_server_create(&second, &(struct cuzk_rpc_options){.methods = methods, .n_methods = 1}, &d), CUZK_OK);
  assert_int_equal(cuzk_rpc_server_listen(second, &(struct cuzk_rpc_listen){.address = f.address}, &d), CUZK_E_IO);
  assert_non_null(strstr(d.text, "in use"));
  cuzk_rpc_server_destroy(&second);
  assert_int_equal(call(&f, "/t.T/Echo", "x", 1, 0, &a), CUZK_GRPC_OK); /* the first one's socket is still there */
  cuzk_rpc_answer_clear(&a);
  close_pair(&f);
}

struct many {
  struct fixture *f;
  unsigned ok;
};
static void *many_calls(void *user) {
  struct many *m = user;
  for (unsigned i = 0; i < 200; i++) {
    struct cuzk_rpc_answer a;
    if (cuzk_rpc_client_call(m->f->client, "/t.T/Echo", (const uint8_t *)&i, sizeof i, 0, NULL, &a, NULL) != CUZK_OK) break;
    m->ok += a.code == CUZK_GRPC_OK && a.n == sizeof i && !memcmp(a.body, &i, sizeof i);
    cuzk_rpc_answer_clear(&a);
  }
  return NULL;
}
static void many_at_once(void **state) {
  (void)state;
  struct fixture f;
  pthread_t t[8];
  struct many m[8];
  open_pair(&f, NULL, false);
  for (int i = 0; i < 8; i++) {
    m[i] = (struct many){.f = &f};
    assert_int_equal(pthread_create(&t[i], NULL, many_calls, &m[i]), 0);
  }
  for (int i = 0; i < 8; i++) {
    (void)pthread_join(t[i], NULL);
    assert_int_equal(m[i].ok, 200);
  }
  close_pair(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(echoes),       cmocka_unit_test(deadlines_and_cancellation),
                                     cmocka_unit_test(limits),       cmocka_unit_test(tokens),
                                     cmocka_unit_test(big_messages), cmocka_unit_test(sockets_in_use),
                                     cmocka_unit_test(many_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
