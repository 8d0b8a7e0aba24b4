/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The bundled 2 KiB sectors: parameters made from the reference's toxic waste in a folder of their own, requests, and the
 *  reference's proofs. */
#ifndef CUZK_TESTS_PROVER_FIXTURE_H
#define CUZK_TESTS_PROVER_FIXTURE_H
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hex.h"
#include "circuits/circuit.h"
#include "engine/request.h"
#include "groth16/param_files.h"
#include "groth16/params.h"
#include "testing.h"

#define FIXTURES CUZK_TEST_DATA "/fixtures/"

static inline json_t *fixture_json(const char *name) {
  char path[400];
  (void)snprintf(path, sizeof path, FIXTURES "%s.json", name);
  json_t *j = json_load_file(path, 0, NULL);
  assert_non_null(j);
  return j;
}

static inline void fixture_unhex(void *out, size_t n, const json_t *object, const char *member) {
  const char *hex = json_string_value(json_object_get(object, member));
  assert_non_null(hex);
  assert_true(cuzk_hex_decode(out, n, hex, strlen(hex), NULL));
}

static inline void fixture_fr(cuzk_fr *out, const json_t *object, const char *member) {
  uint8_t le[32];
  fixture_unhex(le, 32, object, member);
  assert_true(cuzk_fr_from_le(out, le));
}

/* A folder that goes with the program. */
static char fixture_dir[64];
static inline void fixture_clean(void) {
  char command[100];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", fixture_dir);
  if (fixture_dir[0] && system(command) != 0) print_error("%s\n", command);
}
static inline const char *fixture_folder(void) {
  if (fixture_dir[0]) return fixture_dir;
  (void)snprintf(fixture_dir, sizeof fixture_dir, "/tmp/cuzk-test-XXXXXX");
  assert_non_null(mkdtemp(fixture_dir));
  assert_int_equal(atexit(fixture_clean), 0);
  return fixture_dir;
}

/* *path (cuzk_free): the parameters of a circuit ("window-2kib"), under the name that the cache has for them; made on first use. */
static inline char *fixture_params(const char *circuit, struct cuzk_pool *pool) {
  char name[64], id[200], *path;
  struct cuzk_detail d = {{0}};
  struct cuzk_toxic t;
  const struct cuzk_circuit *c = cuzk_circuit_find(circuit);
  assert_non_null(c);
  cuzk_circuit_parameter_id(id, c);
  assert_int_equal(cuzk_params_file_path(&path, fixture_folder(), id, "params"), CUZK_OK);
  if (access(path, R_OK) == 0) return path;
  (void)snprintf(name, sizeof name, "params/%s", circuit);
  json_t *j = fixture_json(name);
  const json_t *w = json_object_get(j, "toxic_waste_le");
  fixture_fr(&t.alpha, w, "alpha");
  fixture_fr(&t.beta, w, "beta");
  fixture_fr(&t.gamma, w, "gamma");
  fixture_fr(&t.delta, w, "delta");
  fixture_fr(&t.tau, w, "tau");
  json_decref(j);
  const struct cuzk_system s = cuzk_circuit_system(c);
  const enum cuzk_status st = cuzk_params_generate(path, &s, &t, NULL, pool, NULL, &d);
  if (st != CUZK_OK) fail_msg("%s", d.text);
  return path;
}

/* A request with its buffers; slices point into them. */
struct fixture_request {
  struct cuzk_request rq;
  struct cuzk_file payload[8];
  struct cuzk_slice list[8];
  uint8_t randomness[32], comm_r_old[32], comm_r_new[32], comm_d_new[32];
};

static inline void fixture_file(struct fixture_request *r, size_t i, const char *name) {
  char path[400];
  (void)snprintf(path, sizeof path, FIXTURES "sectors/%s", name);
  assert_int_equal(cuzk_file_read(&r->payload[i], path, UINT64_C(1) << 30, NULL), CUZK_OK);
  r->list[i] = (struct cuzk_slice){r->payload[i].data, r->payload[i].n};
  r->rq.n_bytes += r->payload[i].n;
}

static inline void fixture_clear(struct fixture_request *r) {
  for (size_t i = 0; i < 8; i++) cuzk_file_clear(&r->payload[i]);
  memset(r, 0, sizeof *r);
}

static inline void fixture_porep(struct fixture_request *r, const char *payload, uint64_t miner, uint64_t sector) {
  memset(r, 0, sizeof *r);
  fixture_file(r, 0, payload);
  r->rq.f = (struct cuzk_request_fields){.kind = 1, .vanilla_proof = r->list[0], .sector_number = sector, .miner_id = miner};
}

/* meta: "s2k/window"; n records named in vanilla. */
static inline void fixture_post(struct fixture_request *r, unsigned kind, unsigned registered, const char *meta, const char *const *vanilla,
                                size_t n) {
  char name[100];
  memset(r, 0, sizeof *r);
  (void)snprintf(name, sizeof name, "sectors/%s.meta", meta);
  json_t *j = fixture_json(name);
  fixture_unhex(r->randomness, 32, j, "randomness");
  json_decref(j);
  for (size_t i = 0; i < n; i++) fixture_file(r, i, vanilla[i]);
  r->rq.f = (struct cuzk_request_fields){.kind = kind,
                                         .registered_proof = registered,
                                         .n_vanilla_proofs = n,
                                         .vanilla_proofs = r->list,
                                         .miner_id = 1001,
                                         .randomness = {r->randomness, 32}};
}

static inline void fixture_window(struct fixture_request *r) {
  static const char *const records[] = {"s2k/window-10.vanilla.bin", "s2k/window-11.vanilla.bin"};
  fixture_post(r, 3, 10, "s2k/window", records, 2);
}

static inline void fixture_winning(struct fixture_request *r) {
  static const char *const records[] = {"s2k/winning-10.vanilla.bin"};
  fixture_post(r, 4, 0, "s2k/winning", records, 1);
}

static inline void fixture_update(struct fixture_request *r) {
  memset(r, 0, sizeof *r);
  json_t *j = fixture_json("sectors/s2k/update.meta");
  fixture_unhex(r->comm_r_old, 32, j, "comm_r_old");
  fixture_unhex(r->comm_r_new, 32, j, "comm_r_new");
  fixture_unhex(r->comm_d_new, 32, j, "comm_d_new");
  json_decref(j);
  fixture_file(r, 0, "s2k/update.p0.vanilla.bin");
  r->rq.f = (struct cuzk_request_fields){.kind = 2,
                                         .n_vanilla_proofs = 1,
                                         .vanilla_proofs = r->list,
                                         .sector_number = 10,
                                         .miner_id = 1001,
                                         .comm_r_old = {r->comm_r_old, 32},
                                         .comm_r_new = {r->comm_r_new, 32},
                                         .comm_d_new = {r->comm_d_new, 32}};
}
#endif
