/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Changed private values are found: every one in the gadgets, every kind of input in the circuits, with the region named. */
#include "witness_fixture.h"

#include "base/alloc.h"
#include "hash/poseidon.h"

/* Rows with the coefficients' values, to evaluate again and again. */
struct kept_term {
  cuzk_var var;
  cuzk_fr c;
};
struct kept {
  struct kept_term *t;
  size_t n, cap;
  size_t *end; /* 3 a row */
  size_t n_rows, cap_rows;
};

static enum cuzk_status keep_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  struct kept *k = user;
  (void)index;
  if (k->n_rows == k->cap_rows) k->end = realloc(k->end, 3 * (k->cap_rows = 2 * k->cap_rows + 64) * sizeof *k->end);
  for (int m = 0; m < 3; m++) {
    for (uint32_t i = 0; i < row->n[m]; i++) {
      if (k->n == k->cap) k->t = realloc(k->t, (k->cap = 2 * k->cap + 1024) * sizeof *k->t);
      k->t[k->n++] = (struct kept_term){row->t[m][i].var, *cuzk_coeff_value(coeffs, row->t[m][i].coeff)};
    }
    k->end[3 * k->n_rows + (size_t)m] = k->n;
  }
  k->n_rows++;
  return CUZK_OK;
}

static bool row_holds(const struct kept *k, size_t row, const struct cuzk_assignment *a) {
  cuzk_fr x[3], p;
  size_t i = row ? k->end[3 * row - 1] : 0;
  for (int m = 0; m < 3; m++) {
    x[m] = cuzk_fr_zero;
    for (; i < k->end[3 * row + (size_t)m]; i++) {
      const cuzk_var v = k->t[i].var;
      cuzk_fr_mul(&p, &k->t[i].c, v & CUZK_VAR_AUX ? &a->aux[v - CUZK_VAR_AUX] : &a->inputs[v]);
      cuzk_fr_add(&x[m], &x[m], &p);
    }
  }
  cuzk_fr_mul(&p, &x[0], &x[1]);
  return cuzk_fr_eq(&p, &x[2]);
}

/* Number of private variables that can take another value (2 more) without any row noticing. */
static unsigned count_free(const struct cuzk_circuit *c) {
  struct kept k = {0};
  struct cuzk_assignment a;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  unsigned n_free = 0;
  const struct cuzk_system s = cuzk_circuit_system(c);
  assert_int_equal(s.walk(&s, keep_row, &k, &n_inputs, &n_aux, &n_rows, NULL), CUZK_OK);
  assert_int_equal(cuzk_circuit_assign(c, NULL, &a, NULL, false, NULL, NULL, NULL, NULL), CUZK_OK);
  /* Rows of each variable, by counting. */
  size_t *start = calloc((size_t)n_aux + 2, sizeof *start), *rows = calloc(k.n + 1, sizeof *rows);
  for (size_t i = 0; i < k.n; i++)
    if (k.t[i].var & CUZK_VAR_AUX) start[k.t[i].var - CUZK_VAR_AUX + 2]++;
  for (uint32_t j = 0; j < n_aux; j++) start[j + 2] += start[j + 1];
  for (size_t row = 0, i = 0; row < k.n_rows; row++)
    for (; i < k.end[3 * row + 2]; i++)
      if (k.t[i].var & CUZK_VAR_AUX) rows[start[k.t[i].var - CUZK_VAR_AUX + 1]++] = row;
  cuzk_fr two;
  cuzk_fr_from_u64(&two, 2);
  for (uint32_t j = 0; j < n_aux; j++) {
    const cuzk_fr was = a.aux[j];
    bool holds = true;
    cuzk_fr_add(&a.aux[j], &a.aux[j], &two);
    for (size_t i = start[j]; i < start[j + 1] && holds; i++) holds = row_holds(&k, rows[i], &a);
    n_free += holds;
    a.aux[j] = was;
  }
  free(start);
  free(rows);
  free(k.t);
  free(k.end);
  cuzk_assignment_clear(&a);
  return n_free;
}

static void every_private_value_of_every_gadget_is_bound(void **state) {
  (void)state;
  const struct cuzk_circuit *c;
  for (size_t i = 0; (c = cuzk_circuit_at(i)); i++) {
    if (c->kind != CUZK_KIND_GADGET || !strcmp(c->name, "create-label")) continue;
    const unsigned n = count_free(c);
    /* The four numbers in the half that the top index bit rules out meet only a zero factor. */
    if (n != (strcmp(c->name, "select-8") ? 0 : 4)) fail_msg("%s: %u private values are not bound", c->name, n);
  }
}

static void expect_bad(const struct cuzk_circuit *c, const void *w, const char *kind, const char *region_wanted) {
  struct cuzk_assignment a;
  uint64_t bad;
  char region[512];
  assert_int_equal(cuzk_circuit_assign(c, w, &a, NULL, true, &bad, region, NULL, NULL), CUZK_OK);
  cuzk_assignment_clear(&a);
  if (bad == UINT64_MAX) fail_msg("%s: still satisfied", kind);
  if (strcmp(region, region_wanted)) fail_msg("%s: named %s instead of %s", kind, region, region_wanted);
}

static void bump(const cuzk_fr *x) {
  cuzk_fr *y = (cuzk_fr *)(uintptr_t)x;
  cuzk_fr_add(y, y, &cuzk_fr_one);
}
static void unbump(const cuzk_fr *x) {
  cuzk_fr *y = (cuzk_fr *)(uintptr_t)x;
  cuzk_fr_sub(y, y, &cuzk_fr_one);
}

static void every_kind_of_porep_input_is_bound(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("porep-2kib");
  struct cuzk_porep_partition *w = read_porep("sectors/s2k/porep-10.c1.json", 0);
  struct cuzk_porep_challenge *x = (struct cuzk_porep_challenge *)(uintptr_t)w->challenges;
  const struct {
    const cuzk_fr *at;
    const char *kind, *region;
  } values[] = {
      {&w->replica_id, "replica_id", "challenge_0/comm_r_last_data_inclusion"},
      {&w->comm_d, "comm_d", "challenge_0/comm_d_inclusion"},
      {&w->comm_r, "comm_r", "enforce comm_r = H(comm_c || comm_r_last)"},
      {&w->comm_r_last, "comm_r_last", "enforce comm_r = H(comm_c || comm_r_last)"},
      {&w->comm_c, "comm_c", "enforce comm_r = H(comm_c || comm_r_last)"},
      {&x[0].data_leaf, "data_leaf", "challenge_0/comm_d_inclusion"},
      {&x[1].comm_d_path.siblings[3], "comm_d sibling", "challenge_1/comm_d_inclusion"},
      {&x[0].drg_parents[2].rows[1], "DRG row", "challenge_0/drg_parent_2_inclusion"},
      {&x[0].drg_parents[5].path.siblings[9], "DRG sibling", "challenge_0/drg_parent_5_inclusion"},
      {&x[1].exp_parents[7].rows[0], "expander row", "challenge_1/exp_parent_7_inclusion"},
      {&x[1].exp_parents[0].path.siblings[0], "expander sibling", "challenge_1/exp_parent_0_inclusion"},
      {&x[1].comm_r_last_path.siblings[13], "R sibling", "challenge_1/comm_r_last_data_inclusion"},
      {&x[0].comm_c_path.siblings[0], "C sibling", "challenge_0/c_x_inclusion"},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    bump(values[i].at);
    expect_bad(c, w, values[i].kind, values[i].region);
    unbump(values[i].at);
  }
  struct {
    uint8_t *at;
    const char *kind, *region;
  } indices[] = {
      {&x[0].comm_d_path.index[5], "D index", "challenge_0/comm_d_inclusion"},
      {&x[1].drg_parents[0].path.index[0], "DRG index", "challenge_1/drg_parent_0_inclusion"},
      {&x[1].exp_parents[3].path.index[1], "expander index", "challenge_1/exp_parent_3_inclusion"},
      {&x[0].comm_r_last_path.index[1], "R index", "challenge_0/comm_r_last_data_inclusion"},
      {&x[1].comm_c_path.index[0], "C index", "challenge_1/c_x_inclusion"},
  };
  for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
    *indices[i].at ^= 1;
    expect_bad(c, w, indices[i].kind, indices[i].region);
    *indices[i].at ^= 1;
  }
  x[1].challenge ^= 1;
  expect_bad(c, w, "challenge", "challenge_1/comm_r_last_data_inclusion");
  arena_clear();
}

static void every_kind_of_window_input_is_bound(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("window-2kib");
  struct cuzk_post_sector s[2] = {read_post("s2k/window-10.vanilla.bin"), read_post("s2k/window-11.vanilla.bin")};
  const struct cuzk_post_partition p = {2, s};
  struct cuzk_post_challenge *x = (struct cuzk_post_challenge *)(uintptr_t)s[1].challenges;
  const char *const root = "outer namespace/sector_1/enforce_comm_c_comm_r_last_hash_comm_r";
  const struct {
    const cuzk_fr *at;
    const char *kind, *region;
  } values[] = {{&s[1].comm_r, "comm_r", root},
                {&s[1].comm_c, "comm_c", root},
                {&s[1].comm_r_last, "comm_r_last", root},
                {&x[4].leaf, "leaf", "outer namespace/sector_1/challenge_inclusion_4"},
                {&x[9].path.siblings[8], "sibling", "outer namespace/sector_1/challenge_inclusion_9"}};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    bump(values[i].at);
    expect_bad(c, &p, values[i].kind, values[i].region);
    unbump(values[i].at);
  }
  x[3].path.index[0] ^= 1;
  expect_bad(c, &p, "index", "outer namespace/sector_1/challenge_inclusion_3");
  arena_clear();
}

static void every_kind_of_update_input_is_bound(void **state) {
  (void)state;
  const struct cuzk_circuit *c = cuzk_circuit_find("update-2kib");
  json_t *r = fixture_load("sectors/s2k/update.p0.witness.json");
  struct cuzk_update_partition *u = read_update("s2k/update.p0.vanilla.bin", r);
  json_decref(r);
  const struct cuzk_update_challenge *x = u->challenges;
  const struct {
    const cuzk_fr *at;
    const char *kind, *region;
  } values[] = {
      {&u->comm_r_old, "comm_r_old", ""},
      {&u->comm_r_new, "comm_r_new", ""},
      {&u->comm_d_new, "comm_d_new", "apex_gadget/partition-tree por"},
      {&u->comm_c, "comm_c", ""},
      {&u->root_r_old, "root_r_old", ""},
      {&u->root_r_new, "root_r_new", ""},
      {&u->apex_leaves[3], "apex leaf", "apex_gadget/partition-tree por"},
      {&x[2].leaf_r_old, "old leaf", "por tree_r_old (c_index=2)"},
      {&x[5].leaf_d_new, "new data leaf", "por tree_r_new (c_index=5)"},
      {&x[1].path_r_old.siblings[0], "old R sibling", "por tree_r_old (c_index=1)"},
      {&x[8].path_r_new.siblings[13], "new R sibling", "por tree_r_new (c_index=8)"},
      {&x[9].path_d_new.siblings[0], "new D sibling", "por to_apex_leaf (c_index=9)"},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    bump(values[i].at);
    expect_bad(c, u, values[i].kind, values[i].region);
    unbump(values[i].at);
  }
  u->k_and_h_select = 0; /* no h chosen: the high bits count as nothing */
  expect_bad(c, u, "k_and_h_select", "por tree_r_new (c_index=0)");
  arena_clear();
}

static void witnesses_of_another_shape_are_refused(void **state) {
  (void)state;
  struct cuzk_porep_partition *w = read_porep("sectors/s2k/porep-10.c1.json", 0);
  struct cuzk_assignment a;
  struct cuzk_detail d;
  assert_int_equal(cuzk_circuit_assign(cuzk_circuit_find("porep-8mib"), w, &a, NULL, false, NULL, NULL, NULL, &d), CUZK_E_ARG);
  assert_non_null(strstr(d.text, "comm_d path"));
  assert_int_equal(cuzk_circuit_assign(cuzk_circuit_find("porep-2kib"), NULL, &a, NULL, false, NULL, NULL, NULL, &d), CUZK_E_ARG);
  w->n_challenges = 1;
  assert_int_equal(cuzk_circuit_assign(cuzk_circuit_find("porep-2kib"), w, &a, NULL, false, NULL, NULL, NULL, &d), CUZK_E_ARG);
  struct cuzk_post_sector s[2] = {read_post("s2k/window-10.vanilla.bin"), read_post("s2k/window-11.vanilla.bin")};
  struct cuzk_post_partition p = {1, s};
  assert_int_equal(cuzk_circuit_assign(cuzk_circuit_find("window-2kib"), &p, &a, NULL, false, NULL, NULL, NULL, &d), CUZK_E_ARG);
  p.n_sectors = 2;
  ((struct cuzk_post_challenge *)(uintptr_t)s[0].challenges)[0].path.index[1] = 8;
  assert_int_equal(cuzk_circuit_assign(cuzk_circuit_find("window-2kib"), &p, &a, NULL, false, NULL, NULL, NULL, &d), CUZK_E_ARG);
  arena_clear();
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_private_value_of_every_gadget_is_bound), cmocka_unit_test(every_kind_of_porep_input_is_bound),
      cmocka_unit_test(every_kind_of_window_input_is_bound),          cmocka_unit_test(every_kind_of_update_input_is_bound),
      cmocka_unit_test(witnesses_of_another_shape_are_refused),
  };
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return rc;
}
