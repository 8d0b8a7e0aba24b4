/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The dashboard's files in the endpoint. The page itself is tested in a browser (tests/web). */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/web.h"
#include "engine/engine_testing.h"

static void ask(char *out, size_t n, const char *address, const char *request) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(s >= 0);
  assert_int_equal(connect(s, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(send(s, request, strlen(request), MSG_NOSIGNAL), strlen(request));
  size_t got = 0;
  for (ssize_t k; got + 1 < n && (k = recv(s, out + got, n - 1 - got, 0)) > 0;) got += (size_t)k;
  out[got] = 0;
  (void)close(s);
}

static void files_are_served(void **state) {
  (void)state;
  struct bench b;
  bench_init(&b, true);
  struct cuzk_detail d = {{0}};
  struct cuzk_http *h;
  struct cuzk_http_options o = {.address = ":0", .version = "test", .clock = b.clock};
  assert_int_equal(cuzk_http_create(&h, &o, &d), CUZK_OK);
  assert_int_equal(cuzk_web_add(h), CUZK_OK);
  assert_int_equal(cuzk_web_add(h), CUZK_E_ARG);
  bench_start(&b);
  assert_int_equal(cuzk_http_start(h, b.e), CUZK_OK);
  static const char *const files[][3] = {{"/", "text/html; charset=utf-8", "<!DOCTYPE html>"}, {"/dashboard.css", "text/css; charset=utf-8", ":root"},
                                         {"/model.js", "text/javascript; charset=utf-8", "CuzkModel"},
                                         {"/dashboard.js", "text/javascript; charset=utf-8", "EventSource"}};
  char *text = malloc(1 << 20), etag[64] = "", request[256];
  assert_non_null(text);
  for (size_t i = 0; i < 4; i++) {
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n\r\n", files[i][0]);
    ask(text, 1 << 20, cuzk_http_address(h), request);
    assert_non_null(strstr(text, "HTTP/1.1 200 OK"));
    assert_non_null(strstr(text, files[i][1]));
    assert_non_null(strstr(text, files[i][2]));
    assert_non_null(strstr(text, "\r\nContent-Security-Policy: default-src 'none'; script-src 'self'"));
    /* nothing of another host, nothing inline */
    const char *body = strstr(text, "\r\n\r\n") + 4;
    assert_null(strstr(body, "://"));
    assert_null(strstr(body, "style=\""));
    assert_null(strstr(body, "innerHTML"));
    const char *e = strstr(text, "\r\nETag: ");
    assert_non_null(e);
    assert_memory_not_equal(e + 8, etag, 34); /* each its own */
    (void)snprintf(etag, sizeof etag, "%.34s", e + 8);
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nIf-None-Match: %s\r\n\r\n", files[i][0], etag);
    ask(text, 1 << 20, cuzk_http_address(h), request);
    assert_non_null(strstr(text, "HTTP/1.1 304 "));
  }
  free(text);
  cuzk_http_stop(h);
  bench_baseline(&b);
  cuzk_engine_destroy(&b.e);
  cuzk_http_destroy(&h);
  bench_end(&b);
}

static void memory_runs_out(void **state) {
  (void)state;
  const int64_t live = cuzk_alloc_live();
  struct cuzk_clock *clock;
  assert_int_equal(cuzk_clock_real(&clock), CUZK_OK);
  for (uint64_t n = 1;; n++) {
    struct cuzk_http *h;
    struct cuzk_detail d = {{0}};
    struct cuzk_http_options o = {.address = ":0", .clock = clock};
    assert_int_equal(cuzk_http_create(&h, &o, &d), CUZK_OK);
    cuzk_alloc_fail_at(n);
    const enum cuzk_status st = cuzk_web_add(h);
    cuzk_alloc_fail_at(0);
    cuzk_http_destroy(&h);
    if (st == CUZK_OK) {
      assert_true(n > 4 * 3);
      break;
    }
    assert_int_equal(st, CUZK_E_NOMEM);
  }
  cuzk_clock_destroy(&clock);
  assert_int_equal(cuzk_alloc_live(), live);
}

int main(void) {
  (void)signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {cmocka_unit_test(files_are_served), cmocka_unit_test(memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
