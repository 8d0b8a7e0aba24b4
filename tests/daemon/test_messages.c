/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests against recorded bytes and against protobuf-c; reflection answers. */
#include "base/alloc.h"
#include "cuzk/v1/proving.pb-c.h"
#include "daemon/messages.h"
#include "daemon/reflection.h"
#include "daemon/wire.h"
#include "testing.h"

/* SubmitProofRequest of a WindowPoSt, as `protoc --encode` writes it. */
static const uint8_t recorded[] = {
    0x0a, 0x21, 'w', 'd', 'p', 'o', 's', 't', '-', '1', '0', '0', '0', '-', '0', '-', '[', '1', ' ', '2', ' ', '3', ' ', '4', ' ', '5', ' ', '6',
    ' ', '7', ' ', '8', ']', ' ', '~',                        /* request_id */
    0x10, 0x03,                                                /* proof_kind WINDOW_POST_PARTITION */
    0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01,                  /* sector_size 32 GiB */
    0x20, 0x0d,                                                /* registered_proof 13 */
    0x28, 0x03,                                                /* priority HIGH */
    0x5a, 0x03, 0x01, 0x02, 0x03, 0x5a, 0x00, 0x5a, 0x01, 0xff, /* vanilla_proofs */
    0xa8, 0x01, 0xe8, 0x07,                                    /* miner_id 1000 */
    0xb2, 0x01, 0x20, 0,    1,    2,    3,    4,    5,    6,    7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
    29,   30,   31,                                            /* randomness */
    0xb8, 0x01, 0x02,                                          /* partition_index */
};

static void assert_recorded(const struct cuzk_submit_message *m) {
  assert_int_equal(m->request_id.n, 33);
  assert_memory_equal(m->request_id.data, "wdpost-1000-0-[1 2 3 4 5 6 7 8] ~", 33);
  assert_int_equal(m->priority, 3);
  assert_int_equal(m->fields.kind, 3);
  assert_int_equal(m->fields.sector_size, UINT64_C(34359738368));
  assert_int_equal(m->fields.registered_proof, 13);
  assert_int_equal(m->fields.vanilla_proof.n, 0);
  assert_int_equal(m->fields.n_vanilla_proofs, 3);
  assert_int_equal(m->fields.vanilla_proofs[0].n, 3);
  assert_memory_equal(m->fields.vanilla_proofs[0].data, "\1\2\3", 3);
  assert_int_equal(m->fields.vanilla_proofs[1].n, 0);
  assert_int_equal(m->fields.vanilla_proofs[2].n, 1);
  assert_int_equal(m->fields.miner_id, 1000);
  assert_int_equal(m->fields.randomness.n, 32);
  assert_int_equal(m->fields.partition_index, 2);
}

static void recorded_request_is_read(void **state) {
  (void)state;
  struct cuzk_submit_message m;
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_submit_decode(&m, recorded, sizeof recorded, &d), CUZK_OK);
  assert_recorded(&m);
  /* Bytes stay where they are. */
  assert_true(m.fields.randomness.data > recorded && m.fields.randomness.data < recorded + sizeof recorded);
  cuzk_submit_message_clear(&m);
  uint8_t prove[sizeof recorded + 3] = {0x0a, 0x80 | (sizeof recorded & 0x7f), sizeof recorded >> 7};
  size_t head = sizeof recorded < 128 ? 2 : 3;
  if (head == 2) prove[1] = sizeof recorded;
  memcpy(prove + head, recorded, sizeof recorded);
  bool present;
  assert_int_equal(cuzk_prove_decode(&m, &present, prove, head + sizeof recorded, &d), CUZK_OK);
  assert_true(present);
  assert_recorded(&m);
  cuzk_submit_message_clear(&m);
  assert_int_equal(cuzk_prove_decode(&m, &present, prove, 0, &d), CUZK_OK);
  assert_false(present);
  cuzk_submit_message_clear(&m);
}

/* The other implementation packs, ours reads. */
static void what_protobuf_c_writes_is_read(void **state) {
  (void)state;
  for (unsigned round = 0; round < 200; round++) {
    uint8_t a[300], b[3][200];
    for (size_t i = 0; i < sizeof a; i++) a[i] = (uint8_t)test_rand();
    for (size_t i = 0; i < sizeof b; i++) b[i / 200][i % 200] = (uint8_t)test_rand();
    ProtobufCBinaryData list[3] = {{test_rand() % 200, b[0]}, {test_rand() % 200, b[1]}, {test_rand() % 200, b[2]}};
    Cuzk__V1__SubmitProofRequest q = CUZK__V1__SUBMIT_PROOF_REQUEST__INIT;
    char id[] = "porep-1000-\xc3\xa4,\n";
    q.request_id = id;
    q.proof_kind = (Cuzk__V1__ProofKind)(test_rand() % 5);
    q.sector_size = test_rand_limb();
    q.registered_proof = test_rand_limb();
    q.priority = (Cuzk__V1__Priority)(test_rand() % 5);
    q.vanilla_proof = (ProtobufCBinaryData){test_rand() % 300, a};
    q.n_vanilla_proofs = test_rand() % 4;
    q.vanilla_proofs = list;
    q.sector_number = test_rand_limb();
    q.miner_id = test_rand_limb();
    q.randomness = (ProtobufCBinaryData){test_rand() % 64, a};
    q.partition_index = (uint32_t)test_rand_limb();
    q.comm_r_old = (ProtobufCBinaryData){32, a};
    q.comm_r_new = (ProtobufCBinaryData){32, a + 32};
    q.comm_d_new = (ProtobufCBinaryData){32, a + 64};
    Cuzk__V1__ProveRequest p = CUZK__V1__PROVE_REQUEST__INIT;
    p.submit = &q;
    uint8_t buf[2048];
    size_t n = cuzk__v1__prove_request__pack(&p, buf);
    struct cuzk_submit_message m;
    bool present;
    struct cuzk_detail d = {{0}};
    assert_int_equal(cuzk_prove_decode(&m, &present, buf, n, &d), CUZK_OK);
    assert_int_equal(m.request_id.n, strlen(id));
    assert_memory_equal(m.request_id.data, id, m.request_id.n);
    assert_int_equal(m.fields.kind, q.proof_kind);
    assert_int_equal(m.priority, q.priority);
    assert_true(m.fields.sector_size == q.sector_size && m.fields.registered_proof == q.registered_proof);
    assert_true(m.fields.sector_number == q.sector_number && m.fields.miner_id == q.miner_id);
    assert_int_equal(m.fields.partition_index, q.partition_index);
    assert_int_equal(m.fields.vanilla_proof.n, q.vanilla_proof.len);
    if (q.vanilla_proof.len) assert_memory_equal(m.fields.vanilla_proof.data, a, q.vanilla_proof.len);
    assert_int_equal(m.fields.n_vanilla_proofs, q.n_vanilla_proofs);
    for (size_t i = 0; i < q.n_vanilla_proofs; i++) {
      assert_int_equal(m.fields.vanilla_proofs[i].n, list[i].len);
      if (list[i].len) assert_memory_equal(m.fields.vanilla_proofs[i].data, list[i].data, list[i].len);
    }
    assert_int_equal(m.fields.comm_d_new.n, 32);
    assert_memory_equal(m.fields.comm_r_new.data, a + 32, 32);
    /* Cut anywhere, it is malformed: the outer length no longer fits. */
    struct cuzk_submit_message cut;
    size_t k = 1 + test_rand() % (n - 1);
    assert_int_equal(cuzk_prove_decode(&cut, &present, buf, k, &d), CUZK_E_FORMAT);
    cuzk_submit_message_clear(&m);
  }
}

static enum cuzk_status submit(struct cuzk_submit_message *m, const char *bytes, size_t n) {
  return cuzk_submit_decode(m, (const uint8_t *)bytes, n, NULL);
}
#define SUBMIT(m, text) submit(m, text, sizeof text - 1)

static void rules_of_proto3(void **state) {
  (void)state;
  struct cuzk_submit_message m;
  /* The last value wins. */
  assert_int_equal(SUBMIT(&m, "\x10\x01\x10\x04\x52\x01x\x52\x02yz"), CUZK_OK);
  assert_int_equal(m.fields.kind, 4);
  assert_int_equal(m.fields.vanilla_proof.n, 2);
  cuzk_submit_message_clear(&m);
  /* Unknown fields of every wire type, and known numbers of another type, are skipped. */
  assert_int_equal(SUBMIT(&m, "\xc0\x06\x01"                          /* 104: varint */
                              "\xc9\x06" "12345678"                   /* 105: fixed64 */
                              "\xd2\x06\x03" "abc"                    /* 106: bytes */
                              "\xdd\x06" "1234"                       /* 107: fixed32 */
                              "\xe3\x06\x08\x01\x0b\x0c\xe4\x06"      /* 108: group with a field and a group */
                              "\x12\x01x"                             /* proof_kind as bytes */
                              "\x0d" "1234"                           /* request_id as fixed32 */
                              "\x20\x05"),
                   CUZK_OK);
  assert_int_equal(m.fields.registered_proof, 5);
  assert_int_equal(m.fields.kind, 0);
  assert_int_equal(m.request_id.n, 0);
  cuzk_submit_message_clear(&m);
  /* Open enums: negative ones arrive as they are. */
  assert_int_equal(SUBMIT(&m, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), CUZK_OK);
  assert_int_equal(m.fields.kind, UINT32_MAX);
  cuzk_submit_message_clear(&m);
  /* submit twice in a ProveRequest: merged. */
  bool present;
  static const uint8_t twice[] = {0x0a, 5, 0x10, 1, 0x5a, 1, 'a', 0x0a, 5, 0x20, 7, 0x5a, 1, 'b'};
  assert_int_equal(cuzk_prove_decode(&m, &present, twice, sizeof twice, NULL), CUZK_OK);
  assert_int_equal(m.fields.kind, 1);
  assert_int_equal(m.fields.registered_proof, 7);
  assert_int_equal(m.fields.n_vanilla_proofs, 2);
  assert_int_equal(m.fields.vanilla_proofs[1].data[0], 'b');
  cuzk_submit_message_clear(&m);

  static const struct {
    const char *bytes;
    size_t n;
  } bad[] = {
#define BAD(s) {s, sizeof s - 1}
      BAD("\x10"), BAD("\x10\x80"), BAD("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), BAD("\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
      BAD("\x52\x05" "abc"), BAD("\x52\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BAD("\x02\x01"), BAD("\x07"), BAD("\x0e"), BAD("\x0c"),
      BAD("\x0b"), BAD("\x0b\x14"), BAD("\x09" "1234"), BAD("\x0d" "12"), BAD("\x0a\x02\xc3\x28"), BAD("\x0a\x01\xff"), BAD("\x0a\x03\xed\xa0\x80"),
      BAD("\x80\x80\x80\x80\x10\x01"),
#undef BAD
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct cuzk_detail d = {{0}};
    assert_int_equal(cuzk_submit_decode(&m, (const uint8_t *)bad[i].bytes, bad[i].n, &d), CUZK_E_FORMAT);
    assert_true(d.text[0] != 0);
    assert_null(m.list);
  }
  /* Groups nested without end. */
  uint8_t deep[4096];
  memset(deep, 0x0b, sizeof deep);
  assert_int_equal(cuzk_submit_decode(&m, deep, sizeof deep, NULL), CUZK_E_FORMAT);
}

static void lists_are_bounded_before_memory_is_taken(void **state) {
  (void)state;
  size_t n = 2 * ((size_t)CUZK_MAX_VANILLA_PROOFS + 1);
  uint8_t *p = malloc(n);
  assert_non_null(p);
  for (size_t i = 0; i < n; i += 2) {
    p[i] = 0x5a;
    p[i + 1] = 0;
  }
  struct cuzk_submit_message m;
  cuzk_alloc_fail_at(0);
  assert_int_equal(cuzk_submit_decode(&m, p, n, NULL), CUZK_E_FORMAT);
  assert_int_equal(cuzk_alloc_count(), 0);
  assert_int_equal(cuzk_submit_decode(&m, p, n - 2, NULL), CUZK_OK);
  assert_int_equal(m.fields.n_vanilla_proofs, CUZK_MAX_VANILLA_PROOFS);
  cuzk_submit_message_clear(&m);
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_submit_decode(&m, p, n - 2, NULL), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(0);
  assert_null(m.list);
  free(p);
}

static void small_requests(void **state) {
  (void)state;
  struct cuzk_slice s;
  uint64_t v;
  static const uint8_t q[] = {0x0a, 2, 'a', 'b', 0x10, 0xac, 0x02};
  assert_int_equal(cuzk_small_decode(&s, &v, q, sizeof q, NULL), CUZK_OK);
  assert_int_equal(s.n, 2);
  assert_int_equal(v, 300);
  assert_int_equal(cuzk_small_decode(&s, NULL, q, 0, NULL), CUZK_OK);
  assert_int_equal(s.n, 0);
  static const uint8_t bad[] = {0x0a, 1, 0xc0};
  assert_int_equal(cuzk_small_decode(&s, &v, bad, sizeof bad, NULL), CUZK_E_FORMAT);
  assert_int_equal(cuzk_small_decode(&s, &v, bad, 1, NULL), CUZK_E_FORMAT);
}

/* ---- reflection ---- */

static struct cuzk_slice field(const uint8_t *p, size_t n, uint32_t number, unsigned k) {
  struct cuzk_wire w = cuzk_wire_of(p, n);
  struct cuzk_wire_field f;
  while (cuzk_wire_next(&w, &f))
    if (f.number == number && f.type == CUZK_WIRE_BYTES && k-- == 0) return f.bytes;
  return (struct cuzk_slice){0};
}

static struct cuzk_wire_out ask(uint32_t number, const char *what) {
  struct cuzk_wire_out q = {0}, a;
  cuzk_wire_put_bytes(&q, number, what, strlen(what));
  assert_int_equal(cuzk_reflection_answer(&a, q.data, q.n), CUZK_OK);
  struct cuzk_slice original = field(a.data, a.n, 2, 0);
  assert_int_equal(original.n, q.n);
  assert_memory_equal(original.data, q.data, q.n);
  cuzk_wire_out_clear(&q);
  return a;
}

static void assert_file(uint32_t number, const char *what, const char *name) {
  struct cuzk_wire_out a = ask(number, what);
  struct cuzk_slice files = field(a.data, a.n, 4, 0);
  if (!name) {
    assert_int_equal(files.n, 0);
    struct cuzk_slice e = field(a.data, a.n, 7, 0);
    assert_true(e.n > 2);
    assert_memory_equal(e.data, "\x08\x05", 2);
  } else {
    struct cuzk_slice file = field(files.data, files.n, 1, 0), got = field(file.data, file.n, 1, 0);
    assert_int_equal(got.n, strlen(name));
    assert_memory_equal(got.data, name, got.n);
  }
  cuzk_wire_out_clear(&a);
}

static void reflection_describes_what_is_served(void **state) {
  (void)state;
  struct cuzk_wire_out a = ask(7, "");
  struct cuzk_slice list = field(a.data, a.n, 6, 0);
  static const char *const names[] = {"cuzk.v1.ProvingEngine", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                      "grpc.reflection.v1alpha.ServerReflection"};
  for (unsigned i = 0; i < 4; i++) {
    struct cuzk_slice one = field(list.data, list.n, 1, i), name = field(one.data, one.n, 1, 0);
    assert_int_equal(name.n, strlen(names[i]));
    assert_memory_equal(name.data, names[i], name.n);
  }
  cuzk_wire_out_clear(&a);
  static const char proving[] = "cuzk/v1/proving.proto", health[] = "grpc/health/v1/health.proto";
  assert_file(3, proving, proving);
  assert_file(3, health, health);
  assert_file(3, "nothing.proto", NULL);
  assert_file(4, "cuzk.v1.ProvingEngine", proving);
  assert_file(4, "cuzk.v1.ProvingEngine.PreloadSRS", proving);
  assert_file(4, "cuzk.v1.SubmitProofRequest", proving);
  assert_file(4, "cuzk.v1.SubmitProofRequest.vanilla_proofs", proving);
  assert_file(4, "cuzk.v1.AwaitProofResponse.Status", proving);
  assert_file(4, "cuzk.v1.Priority", proving);
  assert_file(4, "grpc.health.v1.Health", health);
  assert_file(4, "grpc.reflection.v1.ServerReflection", "grpc/reflection/v1/reflection.proto");
  assert_file(4, "grpc.reflection.v1alpha.ServerReflection", "grpc/reflection/v1alpha/reflection.proto");
  assert_file(4, "cuzk.v1", NULL);
  assert_file(4, "cuzk.v1.", NULL);
  assert_file(4, "cuzk.v1.Nothing", NULL);
  assert_file(4, "cuzk.v1.ProvingEngine.Nothing", NULL);
  assert_file(4, "other.ProvingEngine", NULL);
  assert_file(4, "", NULL);
  assert_file(6, "cuzk.v1.SubmitProofRequest", NULL);
  struct cuzk_wire_out out;
  assert_int_equal(cuzk_reflection_answer(&out, (const uint8_t *)"\x1a\x05", 2), CUZK_E_FORMAT);
  assert_null(out.data);
}

static void reflection_without_memory(void **state) {
  (void)state;
  int64_t live = cuzk_alloc_live();
  for (unsigned k = 1;; k++) {
    struct cuzk_wire_out out;
    cuzk_alloc_fail_at(k);
    enum cuzk_status st = cuzk_reflection_answer(&out, (const uint8_t *)"\x3a", 1);
    (void)st;
    st = cuzk_reflection_answer(&out, (const uint8_t *)"\x3a\x00", 2);
    bool reached = cuzk_alloc_count() >= k;
    cuzk_alloc_fail_at(0);
    assert_int_equal(st, reached ? CUZK_E_NOMEM : CUZK_OK);
    cuzk_wire_out_clear(&out);
    assert_int_equal(cuzk_alloc_live(), live);
    if (!reached) break;
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_request_is_read), cmocka_unit_test(what_protobuf_c_writes_is_read),
      cmocka_unit_test(rules_of_proto3),          cmocka_unit_test(lists_are_bounded_before_memory_is_taken),
      cmocka_unit_test(small_requests),           cmocka_unit_test(reflection_describes_what_is_served),
      cmocka_unit_test(reflection_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
