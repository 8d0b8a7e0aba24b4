/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "hash/poseidon.h"
#include "inputs/c1.h"

#define SECTORS CUZK_TEST_DATA "/fixtures/sectors/"

static struct cuzk_detail d;
static struct cuzk_file base; /* s2k/porep-10.c1.json: what most tests change */

static void load_text(struct cuzk_file *f, const char *path) {
  if (cuzk_file_read(f, path, (size_t)1 << 30, &d) != CUZK_OK) fail_msg("%s", d.text);
}

static int setup(void **state) {
  (void)state;
  return cuzk_file_read(&base, SECTORS "s2k/porep-10.c1.json", (size_t)1 << 30, &d) == CUZK_OK ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  cuzk_file_clear(&base);
  cuzk_poseidon_release();
  return 0;
}

/* ---- fixtures ---- */

/* What a meta file says. */
struct meta {
  uint8_t comm_d[32], comm_r[32], porep_id[32], prover_id[32], seed[32], ticket[32];
  uint64_t miner, sector, sector_size, partitions;
  char type[64];
};

static void read_meta(struct meta *m, const char *path) {
  static const char *const names[] = {"comm_d", "comm_r",    "porep_id",      "prover_id",   "seed",            "ticket",
                                      "miner_id", "sector_number", "sector_size", "partitions", "registered_proof"};
  struct cuzk_file f;
  struct cuzk_json *j;
  load_text(&f, path);
  assert_int_equal(cuzk_json_open(&j, f.data, f.n, f.n, path, &d), CUZK_OK);
  uint8_t *const bytes[] = {m->comm_d, m->comm_r, m->porep_id, m->prover_id, m->seed, m->ticket};
  uint64_t *const numbers[] = {&m->miner, &m->sector, &m->sector_size, &m->partitions};
  assert_int_equal(cuzk_json_object(j, names, 11, 0x7ff), CUZK_OK);
  for (int k;;) {
    assert_int_equal(cuzk_json_member(j, &k), CUZK_OK);
    if (k < 0) break;
    enum cuzk_status st = k < 6    ? cuzk_json_hex(j, bytes[k], 32)
                          : k < 10 ? cuzk_json_u64(j, UINT64_MAX, numbers[k - 6])
                                   : cuzk_json_string(j, m->type, sizeof m->type);
    if (st != CUZK_OK) fail_msg("%s", d.text);
  }
  assert_int_equal(cuzk_json_end(j), CUZK_OK);
  cuzk_json_close(&j);
  cuzk_file_clear(&f);
}

/* Public inputs of a witness record; returns their number. */
static size_t read_public_inputs(cuzk_fr *out, size_t cap, const char *path) {
  static const char *const names[] = {"public_inputs_le"};
  struct cuzk_file f;
  struct cuzk_json *j;
  size_t n = 0;
  int k;
  load_text(&f, path);
  assert_int_equal(cuzk_json_open(&j, f.data, f.n, f.n, path, &d), CUZK_OK);
  assert_int_equal(cuzk_json_object(j, names, 1, 1), CUZK_OK);
  assert_int_equal(cuzk_json_member(j, &k), CUZK_OK);
  assert_int_equal(k, 0);
  assert_int_equal(cuzk_json_array(j), CUZK_OK);
  for (bool more;; n++) {
    uint8_t b[32];
    assert_int_equal(cuzk_json_element(j, &more), CUZK_OK);
    if (!more) break;
    assert_true(n < cap);
    assert_int_equal(cuzk_json_hex(j, b, 32), CUZK_OK);
    assert_true(cuzk_fr_from_le(&out[n], b));
  }
  cuzk_json_close(&j);
  cuzk_file_clear(&f);
  return n;
}

/* Every bundled sector: read, checked, and its public inputs as the records have them. */
static void bundled_sectors(void **state) {
  (void)state;
  static const struct { const char *name; unsigned records; } cases[] = {
      {"s2k/porep-10", 1}, {"s2k/porep-11", 1}, {"s2k/porep-12", 1}, {"s2k/porep-13", 2}, {"s16k/porep-10", 1},
      {"s16k/porep-11", 1}, {"s32k/porep-10", 1}, {"s32k/porep-11", 1}, {"x2k/porep-1048576", 1}};
  struct cuzk_pool *pool;
  assert_int_equal(cuzk_pool_create(&pool, 2), CUZK_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[512];
    struct cuzk_c1 *c;
    struct meta m;
    (void)snprintf(path, sizeof path, SECTORS "%s.meta.json", cases[i].name);
    read_meta(&m, path);
    (void)snprintf(path, sizeof path, SECTORS "%s.c1.json", cases[i].name);
    if (cuzk_c1_load(&c, path, &d) != CUZK_OK) fail_msg("%s", d.text);
    assert_string_equal(c->type.name, m.type);
    assert_int_equal(c->type.sector_bytes, m.sector_size);
    assert_int_equal(c->n_partitions, m.partitions);
    assert_memory_equal(c->comm_d, m.comm_d, 32);
    assert_memory_equal(c->comm_r, m.comm_r, 32);
    assert_memory_equal(c->porep_id, m.porep_id, 32);
    assert_memory_equal(c->seed, m.seed, 32);
    assert_memory_equal(c->ticket, m.ticket, 32);
    assert_false(c->wrapped);
    uint8_t prover[32], replica[32];
    cuzk_prover_id(prover, m.miner);
    assert_memory_equal(prover, m.prover_id, 32);
    cuzk_replica_id(replica, prover, m.sector, c->ticket, c->comm_d, c->porep_id);
    assert_memory_equal(replica, c->replica_id, 32);
    if (cuzk_c1_check(c, pool, &d) != CUZK_OK) fail_msg("%s: %s", cases[i].name, d.text);
    assert_int_equal(cuzk_c1_check(c, NULL, &d), CUZK_OK);
    assert_int_equal(cuzk_c1_check_identity(c, m.miner, m.sector, &d), CUZK_OK);
    assert_int_equal(cuzk_c1_check_identity(c, m.miner + 1, m.sector, &d), CUZK_E_MISMATCH);
    assert_int_equal(cuzk_c1_check_identity(c, m.miner, m.sector + 1, &d), CUZK_E_MISMATCH);
    for (unsigned k = 0; k < cases[i].records; k++) {
      cuzk_fr want[64], got[64];
      (void)snprintf(path, sizeof path, SECTORS "%s.p%u.witness.json", cases[i].name, k);
      assert_int_equal(read_public_inputs(want, 64, path), c->circuit->n_inputs - 1);
      assert_int_equal(cuzk_c1_public_inputs(got, c, k, &d), CUZK_OK);
      assert_memory_equal(got, want, (c->circuit->n_inputs - 1) * sizeof *got);
    }
    cuzk_fr unused[64];
    assert_int_equal(cuzk_c1_public_inputs(unused, c, c->n_partitions, &d), CUZK_E_ARG);
    cuzk_c1_free(&c);
    assert_null(c);
  }
  cuzk_pool_destroy(&pool);
}

/* ---- changing the document ---- */

/* The document with the nth (from 0) occurrence of a text replaced; owned by the caller. */
static char *replaced(const char *from, unsigned nth, const char *to, size_t *n_out) {
  const char *text = (const char *)base.data, *at = text - 1;
  for (unsigned i = 0; i <= nth; i++) {
    at = memmem(at + 1, base.n - (size_t)(at + 1 - text), from, strlen(from));
    if (!at) fail_msg("\"%s\" does not occur %u times", from, nth + 1);
  }
  const size_t before = (size_t)(at - text), n = base.n - strlen(from) + strlen(to);
  char *s = malloc(n + 1);
  assert_non_null(s);
  memcpy(s, text, before);
  memcpy(s + before, to, strlen(to));
  memcpy(s + before + strlen(to), at + strlen(from), base.n - before - strlen(from));
  s[n] = 0;
  *n_out = n;
  return s;
}

static enum cuzk_status read_text(struct cuzk_c1 **c, const char *s, size_t n) {
  memset(&d, 0, sizeof d);
  return cuzk_c1_read(c, (const uint8_t *)s, n, "c1.json", &d);
}

/* Reads s (freed), expects failure and a message that has all of what. */
static void refused_text(char *s, size_t n, enum cuzk_status expected, const char *what) {
  struct cuzk_c1 *c;
  enum cuzk_status st = read_text(&c, s, n);
  if (st != expected || !strstr(d.text, what)) {
    fail_msg("%s \"%s\", expected %s with \"%s\"", cuzk_status_name(st), d.text, cuzk_status_name(expected), what);
  }
  assert_null(c);
  free(s);
}

static void refused(const char *from, unsigned nth, const char *to, enum cuzk_status expected, const char *what) {
  size_t n;
  char *s = replaced(from, nth, to, &n);
  refused_text(s, n, expected, what);
}

/* The text of a 32-byte member or element that starts with prefix: prefix up to the closing bracket. */
static char *array_after(const char *prefix) {
  const char *at = memmem(base.data, base.n, prefix, strlen(prefix));
  assert_non_null(at);
  const char *end = strchr(at + strlen(prefix), ']');
  char *s = strndup(at, (size_t)(end + 1 - at));
  assert_non_null(s);
  return s;
}

static char *filled(const char *prefix, const char *value, unsigned n) {
  char *s = malloc(strlen(prefix) + 8 * n + 2), *p = s;
  assert_non_null(s);
  p += sprintf(p, "%s", prefix);
  for (unsigned i = 0; i < n; i++) p += sprintf(p, "%s%s", i ? "," : "", value);
  (void)sprintf(p, "]");
  return s;
}

static void byte_arrays_are_refused(void **state) {
  (void)state;
  static const char *const prefixes[] = {"\"comm_r\":[", "\"comm_d\":[", "\"replica_id\":[", "\"seed\":[", "\"ticket\":[", "\"root\":[", "\"leaf\":["};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    char *old = array_after(prefixes[i]);
    static const struct { const char *value; unsigned n; const char *what; } cases[] = {
        {"1", 31, "expected 32 bytes, found 31"}, {"1", 33, "expected 32 bytes, found more"}, {"256", 32, "expected an integer from 0 to 255, found 256"},
        {"-1", 32, "found -1"}, {"1.0", 32, "found 1.0"}, {"\"1\"", 32, "found a string"}, {"null", 32, "found null"}, {"1e0", 32, "found 1e0"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
      char *new = filled(prefixes[i], cases[k].value, cases[k].n);
      refused(old, 0, new, CUZK_E_FORMAT, cases[k].what);
      free(new);
    }
    /* The group order and above. */
    char *new = filled(prefixes[i], "255", 32);
    if (i == 3 || i == 4) {
      size_t n;
      char *s = replaced(old, 0, new, &n);
      struct cuzk_c1 *c;
      assert_int_equal(read_text(&c, s, n), CUZK_OK); /* seed and ticket are any bytes */
      cuzk_c1_free(&c);
      free(s);
    } else {
      refused(old, 0, new, CUZK_E_FORMAT, "not a canonical field element");
    }
    free(new);
    new = filled(prefixes[i], "0", 32);
    if (i == 0 || i == 1 || i == 3) refused(old, 0, new, CUZK_E_FORMAT, "all bytes are zero");
    free(new);
    free(old);
  }
  /* Exactly the order, and the order less one. */
  static const char order[] = "\"comm_d\":[1,0,0,0,255,255,255,255,254,91,254,255,2,164,189,83,5,216,161,9,8,216,57,51,72,125,157,41,83,167,237,115]";
  char *old = array_after("\"comm_d\":["), *less = strdup(order);
  refused(old, 0, order, CUZK_E_FORMAT, "comm_d (byte");
  less[strlen("\"comm_d\":[")] = '0';
  size_t n;
  char *s = replaced(old, 0, less, &n);
  struct cuzk_c1 *c;
  assert_int_equal(read_text(&c, s, n), CUZK_OK);
  assert_int_equal(cuzk_c1_check(c, NULL, &d), CUZK_E_MISMATCH);
  cuzk_c1_free(&c);
  free(s);
  free(less);
  free(old);
}

static void members_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {"registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket",
                                      "comm_d_proofs", "comm_r_last_proof", "replica_column_proofs", "labeling_proofs", "encoding_proof",
                                      "data", "root", "leaf", "path", "hashes", "index", "c_x", "drg_parents", "exp_parents",
                                      "column", "inclusion_proof", "rows", "parents", "layer_index", "node"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char from[64], to[80], what[96];
    /* Renamed: missing. Longer names that begin alike come later in the document or do not exist. */
    (void)snprintf(from, sizeof from, "\"%s\":", names[i]);
    (void)snprintf(to, sizeof to, "\"%sx\":", names[i]);
    (void)snprintf(what, sizeof what, "member \"%s\" is missing", names[i]);
    refused(from, 0, to, CUZK_E_FORMAT, what);
    /* Written twice: the second has a harmless value, so that the first is what is complained about. */
    (void)snprintf(what, sizeof what, "member \"%s\" occurs twice", names[i]);
    const char *text = (const char *)base.data, *at = memmem(text, base.n, from, strlen(from));
    assert_non_null(at);
    /* Find the end of its value by reading the rest as one. */
    struct cuzk_json *j;
    size_t lo = (size_t)(at - text) + strlen(from), hi = lo, depth = 0;
    bool in_string = false;
    for (;; hi++) {
      char ch = text[hi];
      if (ch == '"') in_string = !in_string;
      if (in_string) continue;
      if (!depth && (ch == ',' || ch == '}')) break;
      if (ch == '[' || ch == '{') depth++;
      if (ch == ']' || ch == '}') depth--;
    }
    assert_int_equal(cuzk_json_open(&j, base.data + lo, hi - lo, base.n, "value", &d), CUZK_OK);
    cuzk_json_close(&j);
    size_t value = hi - lo, n = base.n + strlen(from) + value + 1;
    char *s = malloc(n + 1), *p = s;
    memcpy(p, text, hi);
    p += hi;
    p += sprintf(p, ",%s", from);
    memcpy(p, text + lo, value);
    memcpy(p + value, text + hi, base.n - hi);
    refused_text(s, n, CUZK_E_FORMAT, what);
    /* Wrong type. */
    (void)snprintf(to, sizeof to, "\"%s\":true,\"x\":", names[i]);
    refused(from, 0, to, CUZK_E_FORMAT, "found true");
  }
  refused("\"_h\":null", 0, "\"_h\":0", CUZK_E_FORMAT, "expected null, found 0");
  refused("\"_h\":null", 0, "\"_h\":null,\"_h\":null", CUZK_E_FORMAT, "member \"_h\" occurs twice");
}

static void counts_are_refused(void **state) {
  (void)state;
  struct cuzk_c1 *c;
  size_t n;
  refused("StackedDrg2KiBV1\":[", 0, "StackedDrg2KiBV1\":[],\"z\":[", CUZK_E_FORMAT, "expected 1 partitions, found 0");
  refused("StackedDrg2KiBV1\":[", 0, "StackedDrg2KiBV1\":[[],", CUZK_E_FORMAT, "expected 2 challenges of a partition, found 0");
  refused("}]]},\"comm_r\"", 0, "}],[]]},\"comm_r\"", CUZK_E_FORMAT, "expected 1 partitions, found more");
  refused("}]]},\"comm_r\"", 0, "},{}]]},\"comm_r\"", CUZK_E_FORMAT, "expected 2 challenges of a partition, found more");
  refused("},{\"comm_d_proofs\"", 0, "}]],\"x\":[[{\"comm_d_proofs\"", CUZK_E_FORMAT, "expected 2 challenges of a partition, found 1");
  refused("StackedDrg2KiBV1\":[", 0, "StackedDrg2KiBV1\":{},\"z\":[", CUZK_E_FORMAT, "expected an array, found an object");
  refused("\"vanilla_proofs\":{", 0, "\"vanilla_proofs\":{},\"z\":{", CUZK_E_FORMAT, "expected the size's member StackedDrg2KiBV1, found none");
  refused("}]]},\"comm_r\"", 0, "}]],\"StackedDrg8MiBV1\":[]},\"comm_r\"", CUZK_E_FORMAT, "expected one size, found a second member");
  refused("StackedDrg2KiBV1\":[", 0, "StackedDrg8MiBV1\":[", CUZK_E_MISMATCH, "filed under another name than StackedDrg2KiBV1");
  refused("StackedDrg2KiBV1_1", 0, "StackedDrg8MiBV1_1", CUZK_E_MISMATCH, "filed under another name than StackedDrg8MiBV1");
  refused("StackedDrg2KiBV1_1", 0, "StackedDrg2KiBV1_2", CUZK_E_UNSUPPORTED, "no such seal proof: StackedDrg2KiBV1_2");
  refused("StackedDrg2KiBV1_1", 0, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", CUZK_E_FORMAT, "expected 13 partitions, found 1");
  /* Levels, siblings, indices of a tree D path and a tree R path. */
  refused("],\"index\":", 0, ",[0]],\"index\":", CUZK_E_FORMAT, "expected 1 siblings, found more");
  refused("\"hashes\":[", 0, "\"hashes\":[],\"z\":[", CUZK_E_FORMAT, "expected 1 siblings, found 0");
  refused("\"hashes\":[", 6, "\"hashes\":[],\"z\":[", CUZK_E_FORMAT, "expected 7 siblings, found 0");
  refused("\"path\":[", 0, "\"path\":[],\"z\":[", CUZK_E_FORMAT, "expected 6 path levels, found 0");
  refused("\"path\":[", 1, "\"path\":[],\"z\":[", CUZK_E_FORMAT, "expected 2 path levels, found 0");
  refused("\"index\":1}", 0, "\"index\":2}", CUZK_E_FORMAT, "expected an integer from 0 to 1, found 2");
  refused("\"index\":7}", 0, "\"index\":8}", CUZK_E_FORMAT, "expected an integer from 0 to 7, found 8");
  refused("\"Single\"", 0, "\"Sub\"", CUZK_E_FORMAT, "expected a Merkle proof of kind Single, found Sub");
  refused("\"Single\"", 0, "\"Top\"", CUZK_E_FORMAT, "expected a Merkle proof of kind Single, found Top");
  refused("\"Single\"", 0, "\"Other\"", CUZK_E_FORMAT, "member \"Single\" is missing");
  refused("\"drg_parents\":[", 0, "\"drg_parents\":[],\"z\":[", CUZK_E_FORMAT, "expected 6 DRG parents, found 0");
  refused("\"exp_parents\":[", 0, "\"exp_parents\":[],\"z\":[", CUZK_E_FORMAT, "expected 8 expander parents, found 0");
  refused("\"rows\":[", 0, "\"rows\":[],\"z\":[", CUZK_E_FORMAT, "expected 2 rows, found 0");
  refused("\"parents\":[", 0, "\"parents\":[],\"z\":[", CUZK_E_FORMAT, "expected 37 parents, found 0");
  refused("\"labeling_proofs\":[", 0, "\"labeling_proofs\":[],\"z\":[", CUZK_E_FORMAT, "expected 2 labelling proofs (one a layer), found 0");
  refused("\"layer_index\":1", 0, "\"layer_index\":2", CUZK_E_MISMATCH, "expected layer 1, found 2");
  refused("\"node\":", 0, "\"node\":64,\"z\":", CUZK_E_FORMAT, "expected an integer from 0 to 63, found 64");
  refused("\"node\":", 1, "\"node\":0,\"z\":", CUZK_E_MISMATCH, "the first layer's proof node");
  refused("\"node\":", 2, "\"node\":0,\"z\":", CUZK_E_MISMATCH, "encoding_proof is of node 0");
  /* Messages name the place. */
  refused("\"index\":7}", 0, "\"index\":8}", CUZK_E_FORMAT,
          "c1.json: vanilla_proofs.StackedDrg2KiBV1[0][0].comm_r_last_proof.data.Single.path.path[0].index (byte ");

  /* What has to be accepted: no _h, unknown members, white space, another order. */
  char *s = replaced("\"_h\":null", 0, "\"other\":{\"a\":[1,2,{}]}", &n);
  assert_int_equal(read_text(&c, s, n), CUZK_OK);
  assert_int_equal(cuzk_c1_check(c, NULL, &d), CUZK_OK);
  cuzk_c1_free(&c);
  free(s);
}

/* Go's order of members, and spread over lines: the same sector. */
static void order_and_spaces_do_not_matter(void **state) {
  (void)state;
  const char *text = (const char *)base.data;
  static const char proof[] = "\"registered_proof\":\"StackedDrg2KiBV1_1\",";
  const size_t n_proof = sizeof proof - 1;
  assert_memory_equal(text + 1, proof, n_proof);
  /* Moved from the front to the end. */
  char *moved = malloc(base.n + 16), *spaced = malloc(8 * base.n), *p = moved;
  *p++ = '{';
  memcpy(p, text + 1 + n_proof, base.n - n_proof - 2);
  p += base.n - n_proof - 2;
  p += sprintf(p, ",\"registered_proof\":\"StackedDrg2KiBV1_1\"}");
  size_t n_spaced = 0;
  bool in_string = false;
  for (const char *q = moved; q < p; q++) {
    if (*q == '"') in_string = !in_string;
    const bool mark = !in_string && strchr("[]{},:", *q);
    if (mark) spaced[n_spaced++] = "\n\t \r"[(q - moved) % 4];
    spaced[n_spaced++] = *q;
    if (mark) spaced[n_spaced++] = ' ';
  }
  struct cuzk_c1 *a, *b, *c;
  assert_int_equal(read_text(&a, text, base.n), CUZK_OK);
  if (read_text(&b, moved, (size_t)(p - moved)) != CUZK_OK) fail_msg("%s", d.text);
  if (read_text(&c, spaced, n_spaced) != CUZK_OK) fail_msg("%s", d.text);
  assert_int_equal(cuzk_c1_check(b, NULL, &d), CUZK_OK);
  assert_int_equal(cuzk_c1_check(c, NULL, &d), CUZK_OK);
  for (unsigned i = 0; i < 2; i++) {
    const struct cuzk_porep_challenge *x = &a->partitions[0].challenges[i], *y = &b->partitions[0].challenges[i];
    assert_int_equal(x->challenge, y->challenge);
    assert_memory_equal(x->exp_parents[7].path.index, y->exp_parents[7].path.index, 40);
    assert_memory_equal(x->exp_parents[7].path.siblings, y->exp_parents[7].path.siblings, 14 * 32);
  }
  cuzk_c1_free(&a);
  cuzk_c1_free(&b);
  cuzk_c1_free(&c);
  /* The proofs are validated even where the proof type never comes. */
  char *end = memmem(moved, (size_t)(p - moved), ",\"registered_proof\"", 19);
  assert_non_null(end);
  *end++ = '}';
  struct cuzk_c1 *none;
  assert_int_equal(read_text(&none, moved, (size_t)(end - moved)), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "member \"registered_proof\" is missing"));
  free(moved);
  free(spaced);
}

static void broken_text_is_refused(void **state) {
  (void)state;
  struct cuzk_c1 *c;
  char *s = malloc(base.n + 70000);
  /* Truncated: everywhere near both ends, sampled between. The buffer is exactly as long, so that a sanitizer sees any step beyond. */
  for (size_t n = 0; n < base.n; n += n < 1200 || n + 1200 > base.n ? 1 : 211) {
    uint8_t *cut = malloc(n ? n : 1);
    memcpy(cut, base.data, n);
    enum cuzk_status st = cuzk_c1_read(&c, cut, n, "c1.json", &d);
    assert_int_equal(st, CUZK_E_FORMAT);
    assert_null(c);
    free(cut);
  }
  /* Something after the end. */
  memcpy(s, base.data, base.n);
  memcpy(s + base.n, " {}", 3);
  assert_int_equal(read_text(&c, s, base.n + 3), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "nothing after the document"));
  /* Not UTF-8, in a member that nobody reads. */
  memcpy(s, "{\"x\":\"\xc3\x28\",", 10);
  memcpy(s + 10, base.data + 1, base.n - 1);
  assert_int_equal(read_text(&c, s, base.n + 9), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "byte 6 is not UTF-8"));
  /* Deep nesting, in a member that nobody reads, and instead of the document. */
  char *p = s + sprintf(s, "{\"x\":");
  memset(p, '[', 30000);
  memset(p + 30000, ']', 30000);
  p += 60000;
  *p++ = ',';
  memcpy(p, base.data + 1, 1000);
  assert_int_equal(read_text(&c, s, (size_t)(p + 1000 - s)), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "nested deeper than 64"));
  memset(s, '[', 60000);
  assert_int_equal(read_text(&c, s, 60000), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "expected an object, found an array"));
  free(s);
  static const char *const wrong[] = {"", " ", "{", "null", "[]", "\"\"", "{}", "<html></html>", "{\"registered_proof\":\"StackedDrg32GiBV1_1\"}"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_int_equal(read_text(&c, wrong[i], strlen(wrong[i])), CUZK_E_FORMAT);
  /* Larger than any C1: refused by its size alone, without being looked at. */
  assert_int_equal(cuzk_c1_read(&c, base.data, CUZK_C1_MAX_BYTES + 1, "c1.json", &d), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "at most"));
  assert_int_equal(cuzk_c1_load(&c, SECTORS "none.json", &d), CUZK_E_NOENT);
  assert_int_equal(cuzk_c1_load(&c, SECTORS, &d), CUZK_E_FORMAT);
}

/* ---- Curio's wrapper ---- */

static char *wrapped_text(const char *num, const char *size, bool escape_slashes, size_t *n_out) {
  char *b64 = malloc(cuzk_base64_encoded(base.n) + 1);
  cuzk_base64_encode(b64, base.data, base.n);
  const size_t n = strlen(b64);
  char *s = malloc(2 * n + 200), *p = s;
  p += sprintf(p, "{\"SectorNum\":%s,\"Phase1Out\":\"", num);
  for (size_t i = 0; i < n; i++) {
    if (escape_slashes && b64[i] == '/') *p++ = '\\';
    /* Make sure that there is something to unescape, whatever the payload is. */
    if (escape_slashes && i == 5) {
      p += sprintf(p, "\\u%04x", b64[i]);
    } else {
      *p++ = b64[i];
    }
  }
  p += sprintf(p, "\",\"SectorSize\":%s}", size);
  free(b64);
  *n_out = (size_t)(p - s);
  return s;
}

static void wrappers(void **state) {
  (void)state;
  struct cuzk_c1 *c;
  size_t n;
  if (cuzk_c1_load(&c, SECTORS "s2k/porep-10.curio.json", &d) != CUZK_OK) fail_msg("%s", d.text);
  assert_true(c->wrapped);
  assert_int_equal(c->sector_num, 10);
  assert_int_equal(c->sector_size, 2048);
  assert_int_equal(cuzk_c1_check(c, NULL, &d), CUZK_OK);
  assert_int_equal(cuzk_c1_check_identity(c, 1001, 10, &d), CUZK_OK);
  assert_int_equal(cuzk_c1_check_identity(c, 1001, 11, &d), CUZK_E_MISMATCH);
  assert_non_null(strstr(d.text, "SectorNum of the wrapper is 10"));
  cuzk_c1_free(&c);
  for (int escape = 0; escape < 2; escape++) {
    char *s = wrapped_text("0", "0", escape, &n);
    if (read_text(&c, s, n) != CUZK_OK) fail_msg("%s", d.text);
    assert_true(c->wrapped);
    assert_int_equal(c->sector_size, 0);
    assert_int_equal(cuzk_c1_check_identity(c, 1001, 10, &d), CUZK_OK);
    cuzk_c1_free(&c);
    free(s);
  }
  static const struct { const char *num, *size; enum cuzk_status st; const char *what; } cases[] = {
      {"10", "4096", CUZK_E_MISMATCH, "SectorSize is 4096 bytes, but Phase1Out is of StackedDrg2KiBV1_1"},
      {"-1", "2048", CUZK_E_FORMAT, "SectorNum (byte"},
      {"10", "-1", CUZK_E_FORMAT, "SectorSize (byte"},
      {"1.5", "2048", CUZK_E_FORMAT, "found 1.5"},
      {"\"10\"", "2048", CUZK_E_FORMAT, "found a string"},
      {"10,\"SectorNum\":10", "2048", CUZK_E_FORMAT, "member \"SectorNum\" occurs twice"},
      {"10,\"comm_r\":[]", "2048", CUZK_E_FORMAT, "expected 32 bytes"},
      {"10,\"registered_proof\":\"StackedDrg2KiBV1\"", "2048", CUZK_E_FORMAT, "beside those of its wrapper"},
      {"10", "null", CUZK_E_FORMAT, "found null"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *s = wrapped_text(cases[i].num, cases[i].size, false, &n);
    refused_text(s, n, cases[i].st, cases[i].what);
  }
  static const struct { const char *text, *what; } small[] = {
      {"{\"SectorNum\":1,\"SectorSize\":2048}", "member \"Phase1Out\" is missing"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"\"}", "member \"SectorSize\" is missing"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"\",\"SectorSize\":0}", "Phase1Out: expected a JSON document, found nothing"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"e30\",\"SectorSize\":0}", "Phase1Out: base64 text whose length is not a multiple of 4"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"e3-=\",\"SectorSize\":0}", "Phase1Out: a character outside the base64 alphabet at character 2"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"e30=e30=\",\"SectorSize\":0}", "Phase1Out: misplaced base64 padding at character 3"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"e31=\",\"SectorSize\":0}", "Phase1Out: base64 whose last character has unused bits set"},
      {"{\"SectorNum\":1,\"Phase1Out\":\"e30=\",\"SectorSize\":0}", "Phase1Out: document (byte 0): member \"registered_proof\" is missing"},
      {"{\"SectorNum\":1,\"Phase1Out\":{},\"SectorSize\":0}", "expected a string, found an object"},
      /* A wrapper in a wrapper is none. */
      {"{\"SectorNum\":1,\"Phase1Out\":\"eyJTZWN0b3JOdW0iOjEsIlBoYXNlMU91dCI6IiIsIlNlY3RvclNpemUiOjB9\",\"SectorSize\":0}",
       "member \"registered_proof\" is missing"}};
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) refused_text(strdup(small[i].text), strlen(small[i].text), CUZK_E_FORMAT, small[i].what);
}

/* ---- contradictions ---- */

/* Any digit of the document that is changed is noticed: there is no member that nobody compares with anything. */
static void any_changed_digit_is_noticed(void **state) {
  (void)state;
  uint8_t *s = malloc(base.n);
  unsigned read_ok = 0;
  for (int round = 0; round < 300; round++) {
    memcpy(s, base.data, base.n);
    size_t at;
    do at = test_rand() % base.n;
    while (s[at] < '0' || s[at] > '9');
    uint8_t old = s[at];
    do s[at] = (uint8_t)('0' + test_rand() % 10);
    while (s[at] == old);
    struct cuzk_c1 *c;
    enum cuzk_status st = cuzk_c1_read(&c, s, base.n, "c1.json", &d);
    if (st == CUZK_OK) {
      read_ok++;
      st = cuzk_c1_check(c, NULL, &d);
      if (st == CUZK_OK) st = cuzk_c1_check_identity(c, 1001, 10, &d);
      assert_int_equal(st, CUZK_E_MISMATCH);
      cuzk_c1_free(&c);
    }
    if (st == CUZK_OK) fail_msg("digit at byte %zu", at);
  }
  assert_true(read_ok > 100);
  free(s);
}

/* Each check has its own message: the decoded document is changed in one place. */
static void contradictions_are_named(void **state) {
  (void)state;
  enum { N = 19 };
  static const char *const what[N] = {
      "comm_r is not the hash of the roots comm_c and comm_r_last",
      "challenge 1: labeling_proofs is of node",
      "challenge 1: labeling_proofs is of node",
      "challenge 1: path of comm_d_proofs is of node",
      "challenge 1: path of comm_r_last_proof is of node",
      "challenge 1: path of c_x.inclusion_proof is of node",
      "challenge 1: path of drg_parents[3] is of node",
      "challenge 1: path of exp_parents[7] is of node",
      "challenge 1: path of comm_d_proofs does not lead to comm_d",
      "challenge 1: path of comm_d_proofs does not lead to comm_d",
      "challenge 1: path of comm_r_last_proof does not lead to comm_r_last",
      "challenge 1: path of c_x.inclusion_proof does not lead to comm_c",
      "challenge 1: path of drg_parents[0] does not lead to comm_c",
      "challenge 1: path of exp_parents[2] does not lead to comm_c",
      "challenge 1: leaf of drg_parents[5] is not the hash of its column",
      "challenge 1: leaf of exp_parents[0] is not the hash of its column",
      "drawn from replica id and seed",
      "drawn from replica id and seed",
      "challenge 0: root of comm_d_proofs is not comm_d",
  };
  for (int i = 0; i < N; i++) {
    struct cuzk_c1 *c;
    assert_int_equal(read_text(&c, (const char *)base.data, base.n), CUZK_OK);
    struct cuzk_porep_challenge *ch = (struct cuzk_porep_challenge *)(uintptr_t)&c->partitions[0].challenges[1];
#define BUMP(element) cuzk_fr_add((cuzk_fr *)(uintptr_t)(element), (element), &cuzk_fr_one)
    switch (i) {
      case 0: BUMP(&c->partitions[0].comm_c); break;
      case 1: ch->challenge ^= 1; break;
      case 2: ch->challenge = 0; break;
      case 3: ch->comm_d_path.index[2] ^= 1; break;
      case 4: ch->comm_r_last_path.index[0] ^= 3; break;
      case 5: ch->comm_c_path.index[1] ^= 4; break;
      case 6: ch->drg_parents[3].path.index[0] ^= 1; break;
      case 7: ch->exp_parents[7].path.index[1] ^= 2; break;
      case 8: BUMP(&ch->comm_d_path.siblings[5]); break;
      case 9: BUMP(&ch->data_leaf); break;
      case 10: BUMP(&ch->comm_r_last_path.siblings[13]); break;
      case 11: BUMP(&ch->comm_c_path.siblings[0]); break;
      case 12: BUMP(&ch->drg_parents[0].path.siblings[6]); break;
      case 13: BUMP(&ch->exp_parents[2].path.siblings[7]); break;
      case 14: BUMP(&ch->drg_parents[5].rows[1]); break;
      case 15: BUMP(&ch->exp_parents[0].rows[0]); break;
      case 16: c->seed[0] ^= 1; break;
      case 17: c->replica_id[0] ^= 1; break;
      default: c->comm_d[0] ^= 1; break;
    }
    memset(&d, 0, sizeof d);
    enum cuzk_status st = cuzk_c1_check(c, NULL, &d);
    if (st != CUZK_E_MISMATCH || !strstr(d.text, what[i])) fail_msg("case %d: %s \"%s\"", i, cuzk_status_name(st), d.text);
    cuzk_c1_free(&c);
  }
}

/* The first failure in document order is reported, however many threads look. */
static void first_failure_is_reported(void **state) {
  (void)state;
  struct cuzk_c1 *c;
  struct cuzk_pool *pool;
  assert_int_equal(cuzk_pool_create(&pool, 4), CUZK_OK);
  if (cuzk_c1_load(&c, SECTORS "s2k/porep-13.c1.json", &d) != CUZK_OK) fail_msg("%s", d.text);
  assert_int_equal(c->n_partitions, 13);
  for (unsigned p = 4; p < 13; p++) {
    struct cuzk_porep_challenge *ch = (struct cuzk_porep_challenge *)(uintptr_t)c->partitions[p].challenges;
    ch[1].challenge ^= 1;
  }
  for (int round = 0; round < 5; round++) {
    assert_int_equal(cuzk_c1_check(c, pool, &d), CUZK_E_MISMATCH);
    assert_non_null(strstr(d.text, "partition 4, challenge 1: labeling_proofs"));
    assert_non_null(strstr(d.text, "drawn from replica id and comm_r"));
  }
  cuzk_c1_free(&c);
  cuzk_pool_destroy(&pool);
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
  (void)state;
  size_t n_escaped;
  char *escaped = wrapped_text("10", "2048", true, &n_escaped);
  cuzk_poseidon_release();
  for (int form = 0; form < 4; form++) {
    uint64_t k = 1;
    for (;; k++) {
      const int64_t live = cuzk_alloc_live();
      struct cuzk_c1 *c = NULL;
      cuzk_alloc_fail_at(k);
      enum cuzk_status st;
      switch (form) {
        case 0: st = cuzk_c1_load(&c, SECTORS "s2k/porep-10.c1.json", &d); break;
        case 1: st = cuzk_c1_load(&c, SECTORS "s2k/porep-10.curio.json", &d); break;
        case 2: st = cuzk_c1_read(&c, (const uint8_t *)escaped, n_escaped, "escaped", &d); break;
        default:
          st = cuzk_c1_load(&c, SECTORS "s2k/porep-11.c1.json", &d);
          if (st == CUZK_OK) st = cuzk_c1_check(c, NULL, &d);
          break;
      }
      const bool reached = cuzk_alloc_count() >= k;
      cuzk_alloc_fail_at(0);
      assert_int_equal(st, reached ? CUZK_E_NOMEM : CUZK_OK);
      if (st == CUZK_OK || form == 3) {
        cuzk_c1_free(&c);
      } else {
        assert_null(c);
      }
      cuzk_poseidon_release();
      assert_int_equal(cuzk_alloc_live(), live);
      if (!reached) break;
    }
    assert_true(k > 5);
  }
  free(escaped);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bundled_sectors),
      cmocka_unit_test(byte_arrays_are_refused),
      cmocka_unit_test(members_are_refused),
      cmocka_unit_test(counts_are_refused),
      cmocka_unit_test(order_and_spaces_do_not_matter),
      cmocka_unit_test(broken_text_is_refused),
      cmocka_unit_test(wrappers),
      cmocka_unit_test(any_changed_digit_is_noticed),
      cmocka_unit_test(contradictions_are_named),
      cmocka_unit_test(first_failure_is_reported),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
