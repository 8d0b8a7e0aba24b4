/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/file.h"
#include "engine/request.h"
#include "hash/sha256.h"
#include "testing.h"

static struct cuzk_slice slice(const char *s) { return (struct cuzk_slice){(const uint8_t *)s, strlen(s)}; }

static void assert_slice(struct cuzk_slice s, const char *text) {
  assert_int_equal(s.n, strlen(text));
  if (s.n) assert_memory_equal(s.data, text, s.n);
}

static struct cuzk_slice list[3];

static struct cuzk_request_fields sample(void) {
  list[0] = slice("one");
  list[1] = slice("");
  list[2] = slice("three");
  return (struct cuzk_request_fields){.kind = 3,
                                      .sector_size = UINT64_C(34359738368),
                                      .registered_proof = 13,
                                      .n_vanilla_proofs = 3,
                                      .vanilla_proofs = list,
                                      .miner_id = 1000,
                                      .randomness = slice("01234567890123456789012345678901"),
                                      .partition_index = 2};
}

static void assert_sample(const struct cuzk_request *r) {
  assert_int_equal(r->f.kind, 3);
  assert_int_equal(r->f.sector_size, UINT64_C(34359738368));
  assert_int_equal(r->f.registered_proof, 13);
  assert_int_equal(r->f.vanilla_proof.n, 0);
  assert_int_equal(r->f.n_vanilla_proofs, 3);
  assert_slice(r->f.vanilla_proofs[0], "one");
  assert_slice(r->f.vanilla_proofs[1], "");
  assert_slice(r->f.vanilla_proofs[2], "three");
  assert_int_equal(r->f.sector_number, 0);
  assert_int_equal(r->f.miner_id, 1000);
  assert_slice(r->f.randomness, "01234567890123456789012345678901");
  assert_int_equal(r->f.partition_index, 2);
  assert_int_equal(r->f.comm_r_old.n, 0);
}

/* A field of the canonical form, put together here without the code under test. */
static size_t put(uint8_t *out, uint32_t number, const void *p, size_t n) {
  cuzk_store_le32(out, number);
  cuzk_store_le64(out + 4, n);
  if (n) memcpy(out + 12, p, n);
  return 12 + n;
}
static size_t put_int(uint8_t *out, uint32_t number, uint64_t v) {
  uint8_t b[8];
  cuzk_store_le64(b, v);
  return put(out, number, b, 8);
}

static size_t canonical(uint8_t *out) {
  size_t n = put_int(out, 2, 3);
  n += put_int(out + n, 3, UINT64_C(34359738368));
  n += put_int(out + n, 4, 13);
  n += put(out + n, 11, "one", 3);
  n += put(out + n, 11, "", 0);
  n += put(out + n, 11, "three", 5);
  n += put_int(out + n, 21, 1000);
  n += put(out + n, 22, "01234567890123456789012345678901", 32);
  n += put_int(out + n, 23, 2);
  return n;
}

static void canonical_form_is_as_documented(void **state) {
  (void)state;
  uint8_t want[512], digest[32];
  size_t n = canonical(want);
  struct cuzk_request_fields f = sample();
  struct cuzk_request *r;
  assert_int_equal(cuzk_request_create(&r, &f), CUZK_OK);
  assert_int_equal(r->n_bytes, n);
  assert_memory_equal(r->bytes, want, n);
  cuzk_sha256(digest, want, n);
  assert_memory_equal(r->digest, digest, 32);
  assert_sample(r);
  /* What a request points to is its own. */
  for (size_t i = 0; i < 3; i++) assert_true(r->f.vanilla_proofs[i].data > r->bytes && r->f.vanilla_proofs[i].data <= r->bytes + n);
  struct cuzk_request *again;
  struct cuzk_detail d;
  assert_int_equal(cuzk_request_parse(&again, r->bytes, r->n_bytes, NULL, NULL, &d), CUZK_OK);
  assert_ptr_not_equal(again->bytes, r->bytes);
  assert_memory_equal(again->digest, digest, 32);
  cuzk_request_unref(&r);
  assert_null(r);
  assert_sample(again);
  r = cuzk_request_ref(again);
  cuzk_request_unref(&again);
  assert_sample(r);
  cuzk_request_unref(&r);
  cuzk_request_unref(&r);
}

static void every_field_tells(void **state) {
  (void)state;
  struct cuzk_request_fields f = {.kind = 1};
  struct cuzk_request *base, *r;
  assert_int_equal(cuzk_request_create(&base, &f), CUZK_OK);
  struct cuzk_request_fields v[] = {
      {.kind = 2},
      {.kind = 1, .sector_size = 1},
      {.kind = 1, .registered_proof = 1},
      {.kind = 1, .vanilla_proof = slice("x")},
      {.kind = 1, .n_vanilla_proofs = 1, .vanilla_proofs = (struct cuzk_slice[]){{(const uint8_t *)"x", 1}}},
      {.kind = 1, .n_vanilla_proofs = 1, .vanilla_proofs = (struct cuzk_slice[]){{NULL, 0}}},
      {.kind = 1, .sector_number = 1},
      {.kind = 1, .miner_id = 1},
      {.kind = 1, .randomness = slice("x")},
      {.kind = 1, .partition_index = 1},
      {.kind = 1, .comm_r_old = slice("x")},
      {.kind = 1, .comm_r_new = slice("x")},
      {.kind = 1, .comm_d_new = slice("x")},
  };
  enum { N = sizeof v / sizeof v[0] };
  uint8_t seen[N][32];
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(cuzk_request_create(&r, &v[i]), CUZK_OK);
    assert_memory_not_equal(r->digest, base->digest, 32);
    for (size_t k = 0; k < i; k++) assert_memory_not_equal(r->digest, seen[k], 32);
    memcpy(seen[i], r->digest, 32);
    struct cuzk_request *back;
    assert_int_equal(cuzk_request_parse(&back, r->bytes, r->n_bytes, NULL, NULL, NULL), CUZK_OK);
    assert_int_equal(back->f.n_vanilla_proofs, r->f.n_vanilla_proofs);
    assert_memory_equal(back->digest, r->digest, 32);
    cuzk_request_unref(&back);
    cuzk_request_unref(&r);
  }
  cuzk_request_unref(&base);
}

static unsigned freed;
static void count_free(void *user) {
  assert_ptr_equal(user, &freed);
  freed++;
}

static void refuse(const uint8_t *p, size_t n, const char *what) {
  struct cuzk_request *r;
  struct cuzk_detail d = {{0}};
  freed = 0;
  assert_int_equal(cuzk_request_parse(&r, p, n, count_free, &freed, &d), CUZK_E_FORMAT);
  assert_null(r);
  assert_int_equal(freed, 1);
  if (!strstr(d.text, what)) fail_msg("'%s' does not say '%s'", d.text, what);
}

static void malformed_forms_are_refused(void **state) {
  (void)state;
  uint8_t b[512];
  size_t n = canonical(b);
  /* Every cut that is not between two fields. */
  struct cuzk_request *r;
  unsigned whole = 0;
  for (size_t k = 0; k < n; k++) {
    enum cuzk_status st = cuzk_request_parse(&r, b, k, NULL, NULL, NULL);
    whole += st == CUZK_OK;
    assert_true(st == CUZK_OK || st == CUZK_E_FORMAT);
    cuzk_request_unref(&r);
  }
  assert_int_equal(whole, 9);
  refuse(b, put_int(b, 5, 1), "no field has the number 5");
  refuse(b, put_int(b, 1, 1), "no field has the number 1");
  refuse(b, put(b, 3, "1234567", 7), "sector_size has 7 bytes, expected 8");
  refuse(b, put_int(b, 3, 0), "sector_size is 0");
  refuse(b, put_int(b, 2, UINT64_C(1) << 32), "proof_kind is 4294967296");
  refuse(b, put(b, 22, "", 0), "randomness is empty");
  n = put_int(b, 4, 1);
  refuse(b, n + put_int(b + n, 3, 1), "ascending");
  n = put_int(b, 3, 1);
  refuse(b, n + put_int(b + n, 3, 1), "ascending");
  n = put(b, 10, "abc", 3);
  cuzk_store_le64(b + 4, UINT64_MAX);
  refuse(b, n, "are left");
}

static void bytes_can_be_taken(void **state) {
  (void)state;
  static uint8_t b[512];
  size_t n = canonical(b);
  struct cuzk_request *r;
  freed = 0;
  assert_int_equal(cuzk_request_parse(&r, b, n, count_free, &freed, NULL), CUZK_OK);
  assert_ptr_equal(r->bytes, b);
  struct cuzk_request *other = cuzk_request_ref(r);
  cuzk_request_unref(&r);
  assert_int_equal(freed, 0);
  cuzk_request_unref(&other);
  assert_int_equal(freed, 1);
}

static void files_are_checked(void **state) {
  (void)state;
  char path[] = "/tmp/cuzk-test-request-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  uint8_t b[512], digest[32];
  size_t n = canonical(b);
  assert_int_equal(write(fd, b, n), (ssize_t)n);
  cuzk_sha256(digest, b, n);
  struct cuzk_request *r;
  struct cuzk_detail d = {{0}};
  int64_t live = cuzk_alloc_live();
  assert_int_equal(cuzk_request_load(&r, path, digest, &d), CUZK_OK);
  assert_sample(r);
  cuzk_request_unref(&r);
  digest[5] ^= 1;
  assert_int_equal(cuzk_request_load(&r, path, digest, &d), CUZK_E_MISMATCH);
  assert_non_null(strstr(d.text, path));
  assert_int_equal(cuzk_request_load(&r, path, NULL, &d), CUZK_OK);
  cuzk_request_unref(&r);
  assert_int_equal(ftruncate(fd, (off_t)n - 1), 0);
  assert_int_equal(cuzk_request_load(&r, path, NULL, &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, path));
  (void)close(fd);
  (void)unlink(path);
  assert_int_equal(cuzk_request_load(&r, path, NULL, &d), CUZK_E_NOENT);
  assert_int_equal(cuzk_alloc_live(), live);
}

static void allocation_failures_leave_nothing(void **state) {
  (void)state;
  uint8_t b[512];
  size_t n = canonical(b);
  struct cuzk_request_fields f = sample();
  int64_t live = cuzk_alloc_live();
  for (unsigned what = 0; what < 2; what++) {
    for (unsigned k = 1;; k++) {
      struct cuzk_request *r;
      cuzk_alloc_fail_at(k);
      enum cuzk_status st = what ? cuzk_request_parse(&r, b, n, NULL, NULL, NULL) : cuzk_request_create(&r, &f);
      bool reached = cuzk_alloc_count() >= k;
      cuzk_alloc_fail_at(0);
      if (!reached) {
        assert_int_equal(st, CUZK_OK);
        assert_int_equal(k, 3);
        cuzk_request_unref(&r);
        break;
      }
      assert_int_equal(st, CUZK_E_NOMEM);
      assert_null(r);
      assert_int_equal(cuzk_alloc_live(), live);
    }
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(canonical_form_is_as_documented), cmocka_unit_test(every_field_tells),
      cmocka_unit_test(malformed_forms_are_refused),     cmocka_unit_test(bytes_can_be_taken),
      cmocka_unit_test(files_are_checked),               cmocka_unit_test(allocation_failures_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
