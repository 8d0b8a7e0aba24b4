/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "fixture.h"

#include "base/alloc.h"
#include "circuits/synthesis.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

/* Formats specification, Appendix B. The variant of the update circuit that hashes with Poseidon alone has no circuit here; its
 * names hash the same string under another prefix. */
#define POSEIDON_UPDATE ((enum cuzk_kind)99)
static const struct {
  enum cuzk_kind kind;
  uint64_t sector_bytes;
  const char *id;
} published[] = {
    {CUZK_KIND_POREP, 2048ull,
     "stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"},
    {CUZK_KIND_POREP, 8388608ull,
     "stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb"},
    {CUZK_KIND_POREP, 536870912ull,
     "stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-6babf46ce344ae495d558e7770a585b2382d54f225af8ed0397b8be7c3fcd472"},
    {CUZK_KIND_POREP, 34359738368ull,
     "stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820"},
    {CUZK_KIND_POREP, 68719476736ull,
     "stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-2-sha256_hasher-96f1b4a04c5c51e4759bbf224bbc2ef5a42c7100f16ec0637123f16a845ddfb2"},
    {CUZK_KIND_WINNING, 2048ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-3ea05428c9d11689f23529cde32fd30aabd50f7d2c93657c1d3650bca3e8ea9e"},
    {CUZK_KIND_WINNING, 8388608ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-50c7368dea9593ed0989e70974d28024efa9d156d585b7eea1be22b2e753f331"},
    {CUZK_KIND_WINNING, 536870912ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-7d739b8cf60f1b0709eeebee7730e297683552e4b69cab6984ec0285663c5781"},
    {CUZK_KIND_WINNING, 34359738368ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-559e581f022bb4e4ec6e719e563bf0e026ad6de42e56c18714a2c692b1b88d7e"},
    {CUZK_KIND_WINNING, 68719476736ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-2-b62098629d07946e9028127e70295ed996fe3ed25b0f9f88eb610a0ab4385a3c"},
    {CUZK_KIND_WINDOW, 2048ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0"},
    {CUZK_KIND_WINDOW, 8388608ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-5294475db5237a2e83c3e52fd6c2b03859a1831d45ed08c4f35dbf9a803165a9"},
    {CUZK_KIND_WINDOW, 536870912ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-0cfb4f178bbb71cf2ecfcd42accce558b27199ab4fb59cb78f2483fe21ef36d9"},
    {CUZK_KIND_WINDOW, 34359738368ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-0377ded656c6f524f1618760bffe4e0a1c51d5a70c4509eedae8a27555733edc"},
    {CUZK_KIND_WINDOW, 68719476736ull,
     "proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-2-2627e4006b67f99cef990c0a47d5426cb7ab0a0ad58fc1061547bf2d28b09def"},
    {CUZK_KIND_UPDATE, 2048ull,
     "empty-sector-update-merkletree-poseidon_hasher-8-0-0-fb9e095bebdd77511c0269b967b4d87ba8b8a525edaa0e165de23ba454510194"},
    {CUZK_KIND_UPDATE, 8388608ull,
     "empty-sector-update-merkletree-poseidon_hasher-8-0-0-92180959e1918d26350b8e6cfe217bbdd0a2d8de51ebec269078b364b715ad63"},
    {CUZK_KIND_UPDATE, 536870912ull,
     "empty-sector-update-merkletree-poseidon_hasher-8-0-0-61fa69f38b9cc771ba27b670124714b4ea77fbeae05e377fb859c4a43b73a30c"},
    {CUZK_KIND_UPDATE, 34359738368ull,
     "empty-sector-update-merkletree-poseidon_hasher-8-8-0-3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18"},
    {CUZK_KIND_UPDATE, 68719476736ull,
     "empty-sector-update-merkletree-poseidon_hasher-8-8-2-102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7"},
    {POSEIDON_UPDATE, 34359738368ull,
     "empty-sector-update-poseidon-merkletree-poseidon_hasher-8-8-0-3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18"},
    {POSEIDON_UPDATE, 68719476736ull,
     "empty-sector-update-poseidon-merkletree-poseidon_hasher-8-8-2-102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7"},
};

static void parameter_ids_of_all_published_files(void **state) {
  (void)state;
  assert_int_equal(sizeof published / sizeof *published, 22);
  for (size_t i = 0; i < 22; i++) {
    const bool poseidon = published[i].kind == POSEIDON_UPDATE;
    const struct cuzk_circuit *c = cuzk_circuit_of(poseidon ? CUZK_KIND_UPDATE : published[i].kind, published[i].sector_bytes);
    char id[200], want[200];
    assert_non_null(c);
    assert_true(c->published);
    cuzk_circuit_parameter_id(id, c);
    snprintf(want, sizeof want, "%s", published[i].id);
    if (poseidon) {
      char *at = strstr(want, "poseidon-");
      memmove(at, at + 9, strlen(at + 9) + 1);
    }
    assert_string_equal(id, want);
  }
  char id[200] = "x";
  cuzk_circuit_parameter_id(id, cuzk_circuit_find("insert-8"));
  assert_string_equal(id, "");
}

static void the_table_is_complete_and_its_names_are_unique(void **state) {
  (void)state;
  const struct cuzk_circuit *c;
  size_t n = 0, n_published = 0;
  for (; (c = cuzk_circuit_at(n)); n++) {
    assert_ptr_equal(cuzk_circuit_find(c->name), c);
    n_published += c->published;
    if (c->kind == CUZK_KIND_GADGET) continue;
    assert_ptr_equal(cuzk_circuit_of(c->kind, c->sector_bytes), c);
    uint64_t leaves = 1;
    for (unsigned k = 0; k < c->base_steps; k++) leaves *= c->base_arity;
    if (c->sub_steps) leaves *= c->sub_arity;
    if (c->top_steps) leaves *= c->top_arity;
    assert_int_equal(leaves, c->nodes);
  }
  assert_int_equal(n, 32 + 26);
  assert_int_equal(n_published, 20);
  assert_null(cuzk_circuit_find("porep-1kib"));
  assert_null(cuzk_circuit_find(""));
  assert_null(cuzk_circuit_of(CUZK_KIND_POREP, 1024));
  assert_null(cuzk_circuit_of(CUZK_KIND_GADGET, 0));
}

static void counts_without_rows_equal_those_of_the_rows(void **state) {
  (void)state;
  static const char *const names[] = {"window-32kib", "sha256-55", "poseidon-md-8", "winning-4kib"};
  for (size_t i = 0; i < 4; i++) {
    const struct cuzk_circuit *c = cuzk_circuit_find(names[i]);
    const struct cuzk_system s = cuzk_circuit_system(c);
    struct cuzk_shape shape;
    uint32_t n_inputs, n_aux;
    uint64_t n_rows;
    assert_int_equal(cuzk_circuit_count(c, &n_inputs, &n_aux, &n_rows, NULL), CUZK_OK);
    assert_int_equal(cuzk_shape_of(&shape, &s, NULL), CUZK_OK);
    assert_int_equal(shape.n_inputs, n_inputs);
    assert_int_equal(shape.n_aux, n_aux);
    assert_int_equal(shape.n_rows, n_rows);
    assert_int_equal(c->n_inputs, n_inputs);
    cuzk_shape_clear(&shape);
  }
}

/* Lines of the records' regions and ours, sorted. */
struct lines {
  char **p;
  size_t n, cap;
};
static void add_line(struct lines *l, const char *text) {
  if (l->n == l->cap) l->p = realloc(l->p, (l->cap = 2 * l->cap + 1000) * sizeof *l->p);
  l->p[l->n++] = strdup(text);
}
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
static void collect_line(void *user, const struct cuzk_cs *cs, unsigned depth) {
  const struct cuzk_region *r = &cs->stack[depth];
  char path[512], text[700];
  cuzk_cs_region_path(cs, depth + 1, path, sizeof path);
  snprintf(text, sizeof text, "%llu %llu %u %u %u %u %s", (unsigned long long)r->row, (unsigned long long)(cs->n_rows - r->row),
           r->aux, cs->n_aux - r->aux, r->input, cs->n_inputs - r->input, path);
  add_line(user, text);
}

static void regions_equal_the_records(void **state) {
  (void)state;
  static const char *const names[] = {"porep-2kib", "window-32kib", "winning-16kib", "update-2kib"};
  for (size_t i = 0; i < 4; i++) {
    struct lines ours = {0};
    struct cuzk_cs cs;
    cuzk_cs_init_count(&cs);
    cs.region_fn = collect_line;
    cs.region_user = &ours;
    cuzk_synthesize(&cs, cuzk_circuit_find(names[i]), NULL);
    cuzk_cs_clear(&cs);
    qsort(ours.p, ours.n, sizeof *ours.p, by_text);
    char command[600], line[700], *key = line;
    snprintf(command, sizeof command, "gzip -dc '%s/fixtures/circuits/regions/%s.txt.gz'", CUZK_TEST_DATA, names[i]);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = 0;
    while (fgets(line, sizeof line, f)) {
      line[strcspn(line, "\n")] = 0;
      if (line[0] == '#') continue;
      n++;
      if (!bsearch(&key, ours.p, ours.n, sizeof *ours.p, by_text)) fail_msg("%s: no region %s", names[i], line);
    }
    assert_int_equal(pclose(f), 0);
    assert_true(n > 50);
    for (size_t k = 0; k < ours.n; k++) free(ours.p[k]);
    free(ours.p);
  }
}

static void places_are_named(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("porep-2kib");
  char where[600];
  assert_int_equal(cuzk_circuit_regions(c, false, 816000, 1, where, sizeof where, NULL), CUZK_OK);
  assert_string_equal(where, "challenge_0/labeling_2/drg_parent_0_bits");
  assert_int_equal(cuzk_circuit_regions(c, true, 815400, 1, where, sizeof where, NULL), CUZK_OK);
  assert_string_equal(where, "challenge_0/labeling_2/drg_parent_0_bits");
  assert_int_equal(cuzk_circuit_regions(c, false, 816000, 300, where, sizeof where, NULL), CUZK_OK);
  assert_string_equal(where, "challenge_0/labeling_2, challenge_0/labeling_2/drg_parent_0_bits, challenge_0/labeling_2/drg_parent_1_bits");
  assert_int_equal(cuzk_circuit_regions(c, false, 0, 1, where, sizeof where, NULL), CUZK_OK);
  assert_string_equal(where, "");
  assert_int_equal(cuzk_circuit_regions(c, false, 65536, 65536, where, 60, NULL), CUZK_OK);
  assert_int_equal(strlen(where) < 60, 1);
  assert_string_equal(where + strlen(where) - 3, "...");
  assert_int_equal(cuzk_circuit_regions(c, false, 0, 1, where, 0, NULL), CUZK_E_ARG);
}

struct watcher {
  uint64_t calls, last, stop_after;
};
static bool watch(void *user, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  struct watcher *w = user;
  (void)stage;
  (void)unit;
  if (done > total || done < w->last) w->last = UINT64_MAX;
  w->last = done;
  return ++w->calls < w->stop_after;
}

static void digests_do_not_depend_on_threads_and_can_be_cancelled(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("winning-16kib");
  struct cuzk_circuit_digest one, x;
  assert_int_equal(cuzk_circuit_digest(&one, c, NULL, NULL, NULL), CUZK_OK);
  for (unsigned workers = 1; workers <= 5; workers += 2) {
    struct cuzk_pool *pool = NULL;
    struct watcher w = {0, 0, UINT64_MAX};
    const struct cuzk_progress progress = {watch, &w};
    assert_int_equal(cuzk_pool_create(&pool, workers), CUZK_OK);
    assert_int_equal(cuzk_circuit_digest(&x, c, pool, &progress, NULL), CUZK_OK);
    assert_memory_equal(one.digest, x.digest, 32);
    assert_int_equal(one.n_blocks, x.n_blocks);
    assert_memory_equal(one.block_digests, x.block_digests, 32 * x.n_blocks);
    assert_true(w.calls >= 1 && w.last != UINT64_MAX);
    cuzk_circuit_digest_clear(&x);
    w = (struct watcher){0, 0, 1};
    assert_int_equal(cuzk_circuit_digest(&x, c, pool, &progress, NULL), CUZK_E_CANCELLED);
    cuzk_circuit_digest_clear(&x);
    cuzk_pool_destroy(&pool);
  }
  cuzk_circuit_digest_clear(&one);
  struct watcher w = {0, 0, 1};
  const struct cuzk_progress progress = {watch, &w};
  struct cuzk_assignment a;
  assert_int_equal(cuzk_circuit_assign(cuzk_circuit_find("sha256-64"), NULL, &a, NULL, false, NULL, NULL, &progress, NULL),
                   CUZK_E_CANCELLED);
}

/* What runs with the n-th allocation failing; the constants of Poseidon are derived anew each time. */
static enum cuzk_status run_digest(const struct cuzk_circuit *c) {
  struct cuzk_circuit_digest x;
  const enum cuzk_status st = cuzk_circuit_digest(&x, c, NULL, NULL, NULL);
  cuzk_circuit_digest_clear(&x);
  return st;
}
static enum cuzk_status run_assign(const struct cuzk_circuit *c) {
  struct cuzk_assignment a;
  uint64_t bad;
  const enum cuzk_status st = cuzk_circuit_assign(c, NULL, &a, NULL, true, &bad, NULL, NULL, NULL);
  if (st == CUZK_OK) assert_true(bad == UINT64_MAX);
  cuzk_assignment_clear(&a);
  return st;
}
static enum cuzk_status run_shape(const struct cuzk_circuit *c) {
  const struct cuzk_system s = cuzk_circuit_system(c);
  struct cuzk_shape x;
  const enum cuzk_status st = cuzk_shape_of(&x, &s, NULL);
  cuzk_shape_clear(&x);
  return st;
}
static enum cuzk_status run_regions(const struct cuzk_circuit *c) {
  char where[100];
  return cuzk_circuit_regions(c, false, 100, 5, where, sizeof where, NULL);
}

static void failed_allocations_leave_nothing(void **state) {
  (void)state;
  static const char *const names[] = {"boolean-ops", "num-to-bits", "pack-bits", "poseidon-md-2", "poseidon-hash2", "sha256-32",
                                      "insert-8",    "select-8",    "sha256-0"};
  enum cuzk_status (*const runs[])(const struct cuzk_circuit *) = {run_digest, run_assign, run_shape, run_regions};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t r = 0; r < 4; r++) {
      const struct cuzk_circuit *c = cuzk_circuit_find(names[i]);
      cuzk_poseidon_release();
      const int64_t live = cuzk_alloc_live();
      for (uint64_t n = 1;; n++) {
        cuzk_alloc_fail_at(n);
        const enum cuzk_status st = runs[r](c);
        const uint64_t tried = cuzk_alloc_count();
        cuzk_alloc_fail_at(0);
        assert_int_equal(st, tried < n ? CUZK_OK : CUZK_E_NOMEM);
        cuzk_poseidon_release();
        assert_int_equal(cuzk_alloc_live(), live);
        if (st == CUZK_OK) break;
      }
    }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameter_ids_of_all_published_files),
      cmocka_unit_test(the_table_is_complete_and_its_names_are_unique),
      cmocka_unit_test(counts_without_rows_equal_those_of_the_rows),
      cmocka_unit_test(regions_equal_the_records),
      cmocka_unit_test(places_are_named),
      cmocka_unit_test(digests_do_not_depend_on_threads_and_can_be_cancelled),
      cmocka_unit_test(failed_allocations_leave_nothing),
  };
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return rc;
}
