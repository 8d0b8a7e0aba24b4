/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gRPC's formats from memory: messages cut at every place, limits decided from the prefix, timeouts, escapes. */
#include "rpc/wire.h"

#include "base/alloc.h"
#include "rpc/server.h"
#include "testing.h"

static void messages_survive_every_cut(void **state) {
  (void)state;
  uint8_t bytes[64], text[20];
  for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)test_rand();
  cuzk_grpc_prefix_write(bytes, sizeof text);
  memcpy(bytes + 5, text, sizeof text);
  cuzk_grpc_prefix_write(bytes + 25, 0);
  for (size_t cut = 0; cut <= 30; cut++) {
    struct cuzk_rpc_budget budget = {.limit = 1000};
    struct cuzk_rpc_inbox in = {.budget = &budget, .max = 100};
    size_t end[2] = {cut, 30}, at = 0, n_messages = 0;
    for (int part = 0; part < 2; part++) {
      while (at < end[part]) {
        size_t used, n;
        enum cuzk_rpc_feed e = cuzk_rpc_inbox_feed(&in, bytes + at, end[part] - at, &used);
        at += used;
        if (e == CUZK_FEED_MORE) continue;
        assert_int_equal(e, CUZK_FEED_MESSAGE);
        uint8_t *p = cuzk_rpc_inbox_take(&in, &n);
        assert_non_null(p);
        assert_int_equal(n, n_messages == 0 ? sizeof text : 0);
        if (n) assert_memory_equal(p, text, n);
        cuzk_free(p);
        n_messages++;
      }
      assert_int_equal(at, end[part]);
    }
    assert_int_equal(n_messages, 2);
    assert_true(cuzk_rpc_inbox_empty(&in));
    assert_int_equal(budget.used, 0);
    cuzk_rpc_inbox_clear(&in);
  }
  assert_int_equal(cuzk_alloc_live(), 0);
}

static void limits_come_from_the_prefix(void **state) {
  (void)state;
  static const struct { uint8_t prefix[5]; enum cuzk_rpc_feed want; } cases[] = {
      {{0, 0, 0, 0, 101}, CUZK_FEED_TOO_BIG}, {{0, 255, 255, 255, 255}, CUZK_FEED_TOO_BIG}, {{1, 0, 0, 0, 1}, CUZK_FEED_COMPRESSED},
      {{2, 0, 0, 0, 1}, CUZK_FEED_FLAG},      {{0, 0, 0, 0, 100}, CUZK_FEED_MORE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct cuzk_rpc_inbox in = {.max = 100};
    size_t used;
    cuzk_alloc_fail_at(0);
    assert_int_equal(cuzk_rpc_inbox_feed(&in, cases[i].prefix, 5, &used), cases[i].want);
    assert_int_equal(cuzk_alloc_count(), 0);
    cuzk_rpc_inbox_clear(&in);
  }
}

static void memory_follows_the_data(void **state) {
  (void)state;
  struct cuzk_rpc_budget budget = {.limit = 300000};
  struct cuzk_rpc_inbox in = {.budget = &budget, .max = 1 << 28};
  uint8_t prefix[5], block[1000] = {0};
  size_t used, sent = 0;
  cuzk_grpc_prefix_write(prefix, 1 << 28);
  assert_int_equal(cuzk_rpc_inbox_feed(&in, prefix, 5, &used), CUZK_FEED_MORE);
  assert_int_equal(budget.used, 0);
  enum cuzk_rpc_feed e;
  while ((e = cuzk_rpc_inbox_feed(&in, block, sizeof block, &used)) == CUZK_FEED_MORE) {
    sent += sizeof block;
    assert_true(budget.used <= (sent < 65536 ? 65536 : 2 * sent));
  }
  assert_int_equal(e, CUZK_FEED_BUDGET);
  cuzk_rpc_inbox_clear(&in);
  assert_int_equal(budget.used, 0);
  cuzk_alloc_fail_at(1);
  cuzk_grpc_prefix_write(prefix, 10);
  assert_int_equal(cuzk_rpc_inbox_feed(&in, prefix, 5, &used), CUZK_FEED_MORE);
  assert_int_equal(cuzk_rpc_inbox_feed(&in, block, 10, &used), CUZK_FEED_NOMEM);
  cuzk_alloc_fail_at(0);
  cuzk_rpc_inbox_clear(&in);
  assert_int_equal(budget.used, 0);
  assert_int_equal(cuzk_alloc_live(), 0);
}

static void timeouts(void **state) {
  (void)state;
  static const struct { const char *text; bool ok; uint64_t ms; } cases[] = {
      {"1H", true, 3600000}, {"2M", true, 120000}, {"3S", true, 3000}, {"4m", true, 4}, {"5u", true, 1}, {"1000001n", true, 2}, {"0m", true, 0},
      {"99999999H", true, UINT64_C(359999996400000)}, {"100000000m", false, 0}, {"m", false, 0}, {"", false, 0}, {"5", false, 0}, {"-1m", false, 0}, {"1x", false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint64_t ms = 0;
    assert_int_equal(cuzk_grpc_timeout_parse(&ms, cases[i].text, strlen(cases[i].text)), cases[i].ok);
    if (cases[i].ok) assert_int_equal(ms, cases[i].ms);
  }
  for (int i = 0; i < 1000; i++) {
    char text[16];
    uint64_t ms = test_rand() >> (20 + test_rand() % 44), back = 0;
    cuzk_grpc_timeout_write(text, ms);
    assert_true(cuzk_grpc_timeout_parse(&back, text, strlen(text)));
    assert_true(back >= ms || ms > UINT64_C(359999996400000));
  }
}

static void escapes(void **state) {
  (void)state;
  char out[64], back[64];
  size_t n = cuzk_grpc_percent_encode(out, " 50% \n\xc3\xa9 ", 9);
  assert_string_equal(out, "%2050%25 %0A%C3%A9%20");
  assert_int_equal(cuzk_grpc_percent_decode(back, out, n), 9);
  assert_memory_equal(back, " 50% \n\xc3\xa9 ", 9);
  n = cuzk_grpc_percent_decode(back, "%4%zz%", 6);
  assert_int_equal(n, 6);
  assert_string_equal(back, "%4%zz%");
}

static void names(void **state) {
  (void)state;
  static const struct { const char *text; bool ok; } types[] = {{"application/grpc", true}, {"application/grpc+proto", true}, {"application/grpc;x=y", true},
                                                                {"application/grpc+json", false}, {"application/json", false}, {"application/grpcx", false}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) assert_int_equal(cuzk_grpc_content_type(types[i].text, strlen(types[i].text)), types[i].ok);
  assert_string_equal(cuzk_grpc_code_name(5), "NOT_FOUND");
  assert_string_equal(cuzk_grpc_code_name(-1), "UNKNOWN");
  assert_string_equal(cuzk_grpc_code_name(17), "UNKNOWN");
  assert_int_equal(cuzk_grpc_code_of(CUZK_E_NOMEM), CUZK_GRPC_RESOURCE_EXHAUSTED);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_survive_every_cut), cmocka_unit_test(limits_come_from_the_prefix), cmocka_unit_test(memory_follows_the_data),
      cmocka_unit_test(timeouts), cmocka_unit_test(escapes), cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
