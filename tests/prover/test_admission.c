/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Admission (engine specification 2.4, 2.6): what is taken, as which circuit; what is refused, with which status and words. */
#include "fixture.h"
#include "prover/internal.h"

static struct cuzk_prover_real *real;
static struct cuzk_prover prover;

/* An empty file in the place of each circuit's parameters but those of 64 GiB PoRep: admission looks no further. */
static int setup(void **state) {
  struct cuzk_detail d = {{0}};
  (void)state;
  for (size_t i = 0; i < CUZK_PROVER_ROWS; i++) {
    char id[200], *path;
    if (!strcmp(cuzk_prover_rows[i].id, "porep-64g")) continue;
    cuzk_circuit_parameter_id(id, cuzk_circuit_find(cuzk_prover_rows[i].circuit));
    assert_int_equal(cuzk_params_file_path(&path, fixture_folder(), id, "params"), CUZK_OK);
    assert_int_equal(cuzk_file_write(path, "x", 1, NULL), CUZK_OK);
    cuzk_free(path);
  }
  const char *const devices[] = {"cpu"};
  const struct cuzk_prover_real_options o = {
      .param_dir = fixture_folder(), .circuit_dir = "", .devices = devices, .n_devices = 1, .synth_threads = 1, .device_threads = 1};
  assert_int_equal(cuzk_prover_real_create(&real, &o, &d), CUZK_OK);
  prover = cuzk_prover_real_ops(real);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  cuzk_prover_real_destroy(&real);
  assert_null(real);
  return 0;
}

static enum cuzk_status admit(const struct fixture_request *r, struct cuzk_plan *plan, struct cuzk_detail *d) {
  memset(d, 0, sizeof *d);
  return prover.ops->admit(prover.self, &r->rq, plan, d);
}

static void is_refused(const struct fixture_request *r, enum cuzk_status want, const char *words) {
  struct cuzk_plan plan;
  struct cuzk_detail d;
  const enum cuzk_status st = admit(r, &plan, &d);
  if (st != want || !strstr(d.text, words)) fail_msg("%s: \"%s\", expected %s with \"%s\"", cuzk_status_name(st), d.text, cuzk_status_name(want), words);
}

static void is_taken(const struct fixture_request *r, const char *id, unsigned n) {
  struct cuzk_plan plan;
  struct cuzk_detail d;
  if (admit(r, &plan, &d) != CUZK_OK) fail_msg("%s: %s", id, d.text);
  assert_string_equal(plan.circuit_id, id);
  assert_int_equal(plan.n_partitions, n);
  assert_int_equal(prover.ops->kinds[plan.kind].rpc_number, r->rq.f.kind);
  assert_false(plan.deferred);
  const struct cuzk_prover_row *row = cuzk_prover_row_find(id);
  assert_true(plan.srs_bytes > 0);
  assert_true(plan.inputs_bytes >= r->rq.n_bytes);
  assert_int_equal(plan.partition_bytes[CUZK_MEM_AUX], cuzk_prover_row_packed_bytes(row));
  assert_true(plan.partition_bytes[CUZK_MEM_ABC] > 96 * row->n_rows);
}

/* ---- PoRep ---- */

static void set_payload(struct fixture_request *r, const char *text) {
  cuzk_file_clear(&r->payload[0]);
  r->rq.f.vanilla_proof = (struct cuzk_slice){(const uint8_t *)text, strlen(text)};
  r->rq.n_bytes = strlen(text);
}

static void porep(void **state) {
  struct fixture_request r;
  (void)state;
  fixture_porep(&r, "s2k/porep-10.curio.json", 1001, 10);
  is_taken(&r, "porep-2k", 1);
  r.rq.f.sector_size = 2048;
  r.rq.f.registered_proof = 5;
  is_taken(&r, "porep-2k", 1);
  r.rq.f.registered_proof = 8;
  is_refused(&r, CUZK_E_MISMATCH, "registered_proof is 8, the payload is of StackedDrg2KiBV1_1 (5)");
  r.rq.f.registered_proof = 20;
  is_refused(&r, CUZK_E_ARG, "0 to 19");
  r.rq.f.registered_proof = 0;
  r.rq.f.sector_size = UINT64_C(32) << 30;
  is_refused(&r, CUZK_E_MISMATCH, "sector_size is 34359738368 bytes, the payload is of StackedDrg2KiBV1_1");
  r.rq.f.sector_size = 0;
  r.rq.f.sector_number = 11;
  is_refused(&r, CUZK_E_MISMATCH, "sector_number is 11, the payload's SectorNum 10");
  r.rq.f.sector_number = 10;
  r.rq.f.n_vanilla_proofs = 1;
  is_refused(&r, CUZK_E_ARG, "vanilla_proofs are not for PoRep");
  r.rq.f.n_vanilla_proofs = 0;
  r.rq.f.vanilla_proof.n = 0;
  is_refused(&r, CUZK_E_ARG, "vanilla_proof is missing");
  fixture_clear(&r);
  fixture_porep(&r, "s2k/porep-13.c1.json", 1001, 13);
  is_taken(&r, "porep-2k", 13); /* not interactive */
  fixture_clear(&r);
  fixture_porep(&r, "s16k/porep-10.c1.json", 1001, 10);
  is_refused(&r, CUZK_E_UNSUPPORTED, "porep-16kib is not served");
  fixture_clear(&r);
}

/* Documents of which only the head is looked at. */
static void porep_heads(void **state) {
  static const struct {
    const char *text, *id;
    unsigned n;
  } good[] = {
      {"{\"registered_proof\":\"StackedDrg32GiBV1_1\",\"vanilla_proofs\":{", "porep-32g", 10},
      {" {\n \"registered_proof\" :\t\"StackedDrg8MiBV1\", ", "porep-8m", 1},
      {"{\"SectorNum\":7,\"Phase1Out\":\"eyJyZWdpc3RlcmVkX3Byb29mIjoiU3RhY2tlZERyZzMyR2lCVjFfMSIsInZhbmlsbGFfcHJvb2ZzIjp7\",\"SectorSize\":34359738368}",
       "porep-32g", 10},
      {"{\"SectorSize\":34359738368,\"Phase1Out\":\"eyJyZWdpc3RlcmVkX3Byb29mIjoiU3RhY2tlZERyZzMyR2lCVjFfMSIsInZhbmlsbGFfcHJvb2ZzIjp7",
       "porep-32g", 10},
  };
  static const struct {
    const char *text;
    enum cuzk_status st;
    const char *words;
  } bad[] = {
      {"{\"registered_proof\":\"StackedDrg64GiBV1_1\",", CUZK_E_NOENT, "the parameters of porep-64g are not there: "},
      {"{\"SectorNum\":8,\"Phase1Out\":\"eyJyZWdpc3RlcmVkX3Byb29mIjoiU3RhY2tlZERyZzMyR2lCVjFfMSIsInZhbmlsbGFfcHJvb2ZzIjp7\"}", CUZK_E_MISMATCH,
       "SectorNum 8"},
      {"{\"SectorSize\":2048,\"Phase1Out\":\"eyJyZWdpc3RlcmVkX3Byb29mIjoiU3RhY2tlZERyZzMyR2lCVjFfMSIsInZhbmlsbGFfcHJvb2ZzIjp7\"}", CUZK_E_MISMATCH,
       "SectorSize is 2048 bytes, its proof is StackedDrg32GiBV1_1"},
      {"{\"registered_proof\":\"StackedDrg1TiBV1\"}", CUZK_E_UNSUPPORTED, "StackedDrg1TiBV1"},
      {"{\"SectorNum\":99999999999999999999}", CUZK_E_FORMAT, "vanilla_proof"},
      {"{\"Phase1Out\":\"!!!!\"}", CUZK_E_FORMAT, "vanilla_proof"},
      {"{}", CUZK_E_FORMAT, "vanilla_proof"},
      {"{\"", CUZK_E_FORMAT, "vanilla_proof"},
      {"{\"a\\\"", CUZK_E_FORMAT, "vanilla_proof"},
      {"[]", CUZK_E_FORMAT, "vanilla_proof"},
      {"nonsense", CUZK_E_FORMAT, "vanilla_proof"},
  };
  struct fixture_request r = {.rq.f = {.kind = 1, .sector_number = 7}};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    set_payload(&r, good[i].text);
    is_taken(&r, good[i].id, good[i].n);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    set_payload(&r, bad[i].text);
    is_refused(&r, bad[i].st, bad[i].words);
  }
  /* cut anywhere, the look stays within the text */
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    const size_t n = strlen(good[i].text);
    for (size_t k = 0; k <= n; k++) {
      struct real_c1_head head;
      uint8_t *copy = malloc(k + 1);
      assert_non_null(copy);
      memcpy(copy, good[i].text, k);
      real_c1_look(&head, copy, k);
      free(copy);
    }
  }
}

/* ---- the kinds with records ---- */

static void window(void **state) {
  struct fixture_request r;
  uint8_t big[32];
  (void)state;
  fixture_window(&r);
  is_taken(&r, "wpost-2k", 1);
  r.rq.f.registered_proof = 5;
  r.rq.f.partition_index = 3;
  is_taken(&r, "wpost-2k", 1);
  r.rq.f.sector_size = 2048;
  is_taken(&r, "wpost-2k", 1);
  r.rq.f.registered_proof = 13;
  is_refused(&r, CUZK_E_MISMATCH, "sector_size is 2048 bytes, registered_proof 13 is of sectors of 34359738368 bytes");
  r.rq.f.sector_size = 0;
  is_refused(&r, CUZK_E_FORMAT, "vanilla_proofs[0] has ");
  r.rq.f.registered_proof = 15;
  is_refused(&r, CUZK_E_ARG, "those of WindowPoSt are 5 to 14");
  r.rq.f.registered_proof = 4;
  is_refused(&r, CUZK_E_ARG, "those of WindowPoSt are 5 to 14");
  r.rq.f.registered_proof = UINT64_C(1) << 40;
  is_refused(&r, CUZK_E_ARG, "those of WindowPoSt are 5 to 14");
  r.rq.f.registered_proof = 10;
  r.rq.f.randomness.n = 31;
  is_refused(&r, CUZK_E_ARG, "randomness has 31 bytes, expected 32");
  memset(big, 0xff, sizeof big);
  r.rq.f.randomness = (struct cuzk_slice){big, 32};
  is_refused(&r, CUZK_E_FORMAT, "randomness is not a canonical field element");
  r.rq.f.randomness.data = r.randomness;
  r.rq.f.n_vanilla_proofs = 0;
  is_refused(&r, CUZK_E_ARG, "0 vanilla_proofs, expected 1 to 2");
  r.list[2] = r.list[0];
  r.rq.f.n_vanilla_proofs = 3;
  is_refused(&r, CUZK_E_ARG, "3 vanilla_proofs, expected 1 to 2");
  r.rq.f.n_vanilla_proofs = 2;
  r.list[1].n--;
  is_refused(&r, CUZK_E_FORMAT, "vanilla_proofs[1] has ");
  r.list[1].n++;
  r.rq.f.vanilla_proof = r.list[0];
  is_refused(&r, CUZK_E_ARG, "vanilla_proof is not for WindowPoSt");
  fixture_clear(&r);
}

static void winning(void **state) {
  struct fixture_request r;
  (void)state;
  fixture_winning(&r);
  is_taken(&r, "winning-2k", 1);
  r.rq.f.partition_index = 1;
  is_refused(&r, CUZK_E_ARG, "partition_index is 1");
  r.rq.f.partition_index = 0;
  r.rq.f.registered_proof = 5;
  is_refused(&r, CUZK_E_ARG, "those of WinningPoSt are 0 to 4");
  r.rq.f.registered_proof = 0;
  r.list[1] = r.list[0];
  r.rq.f.n_vanilla_proofs = 2;
  is_refused(&r, CUZK_E_ARG, "2 vanilla_proofs, expected 1,");
  fixture_clear(&r);
}

static void update(void **state) {
  struct fixture_request r;
  (void)state;
  fixture_update(&r);
  is_taken(&r, "snap-2k", 1);
  r.rq.f.comm_d_new.n = 0;
  is_refused(&r, CUZK_E_ARG, "comm_d_new has 0 bytes");
  r.rq.f.comm_d_new.n = 32;
  memset(r.comm_r_old, 0xff, 32);
  is_refused(&r, CUZK_E_FORMAT, "comm_r_old is not a canonical");
  r.rq.f.registered_proof = 3;
  is_refused(&r, CUZK_E_ARG, "1 vanilla_proofs, an update of a sector of 34359738368 bytes has 16");
  r.rq.f.registered_proof = 5;
  is_refused(&r, CUZK_E_ARG, "those of sector updates are 0 to 4");
  fixture_clear(&r);
}

static void kinds(void **state) {
  struct fixture_request r = {0};
  (void)state;
  is_refused(&r, CUZK_E_ARG, "proof_kind is 0");
  r.rq.f.kind = 5;
  is_refused(&r, CUZK_E_ARG, "proof_kind is 5");
  for (unsigned i = 0; i < 4; i++) {
    const struct cuzk_proof_kind *k = cuzk_proof_kind_at(i);
    assert_string_equal(prover.ops->kinds[i].rpc_name, k->rpc_name);
    assert_string_equal(prover.ops->kinds[i].metric_label, k->metric_label);
    assert_int_equal(prover.ops->kinds[i].rpc_number, k->rpc_number);
    assert_int_equal(k->rpc_number, i + 1);
  }
}

static void sizes(void **state) {
  uint64_t bytes;
  struct cuzk_detail d = {{0}};
  (void)state;
  assert_int_equal(prover.ops->srs_size(prover.self, "porep-32g", &bytes, &d), CUZK_OK);
  assert_int_equal(prover.ops->srs_size(prover.self, "porep-64g", &bytes, &d), CUZK_E_NOENT);
  assert_int_equal(prover.ops->srs_size(prover.self, "porep-1g", &bytes, &d), CUZK_E_ARG);
  void *srs;
  assert_int_equal(prover.ops->srs_load(prover.self, "porep-1g", &srs, NULL, &d), CUZK_E_ARG);
  assert_int_equal(prover.ops->srs_load(prover.self, "porep-64g", &srs, NULL, &d), CUZK_E_NOENT);
  assert_int_equal(prover.ops->srs_load(prover.self, "wpost-2k", &srs, NULL, &d), CUZK_E_FORMAT); /* a file of one byte */
  assert_null(srs);
}

/* The table against the records of the reference; and the numbers of field elements of small circuits against a witness' own. */
static void rows(void **state) {
  (void)state;
  for (size_t i = 0; i < CUZK_PROVER_ROWS; i++) {
    const struct cuzk_prover_row *row = &cuzk_prover_rows[i];
    char name[60];
    assert_string_equal(prover.ops->circuit_at(prover.self, i), row->id);
    (void)snprintf(name, sizeof name, "circuits/%s", row->circuit);
    json_t *j = fixture_json(name);
    assert_int_equal(json_integer_value(json_object_get(j, "num_inputs")), row->n_inputs);
    assert_int_equal(json_integer_value(json_object_get(j, "num_aux")), row->n_aux);
    assert_int_equal(json_integer_value(json_object_get(j, "num_constraints")), row->n_rows);
    assert_string_equal(json_string_value(json_object_get(j, "digest")), row->digest);
    json_decref(j);
    const struct cuzk_circuit *c = cuzk_circuit_find(row->circuit);
    assert_non_null(c);
    assert_ptr_equal(cuzk_prover_row_of(c->kind, c->sector_bytes), row);
    assert_ptr_equal(cuzk_prover_row_find(row->id), row);
    const struct cuzk_proof_kind *k = cuzk_proof_kind_of(c->kind);
    assert_memory_equal(row->id, k->id_prefix, strlen(k->id_prefix));
  }
  assert_null(prover.ops->circuit_at(prover.self, CUZK_PROVER_ROWS));
  assert_null(cuzk_prover_row_of(CUZK_KIND_POREP, 4096));
}

static void devices(void **state) {
  static const char *const twice[] = {"cpu", "cpu:0"}, *const none[] = {"cuda:77"};
  struct cuzk_prover_real *p;
  struct cuzk_detail d = {{0}};
  struct cuzk_device_info info;
  (void)state;
  assert_int_equal(prover.ops->n_devices(prover.self), 1);
  prover.ops->device_info(prover.self, 0, &info);
  assert_true(info.name[0] && !info.lost && info.memory_total > 0);
  assert_int_equal(prover.ops->device_reset(prover.self, 0, &d), CUZK_OK);
  struct cuzk_prover_real_options o = {.devices = twice, .n_devices = 2, .synth_threads = 1, .device_threads = 1};
  assert_int_equal(cuzk_prover_real_create(&p, &o, &d), CUZK_E_ARG);
  assert_non_null(strstr(d.text, "listed twice"));
  o.devices = none;
  o.n_devices = 1;
  assert_int_equal(cuzk_prover_real_create(&p, &o, &d), CUZK_E_ARG);
  assert_null(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds), cmocka_unit_test(porep), cmocka_unit_test(porep_heads), cmocka_unit_test(window), cmocka_unit_test(winning),
      cmocka_unit_test(update), cmocka_unit_test(sizes), cmocka_unit_test(rows), cmocka_unit_test(devices),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
