/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Packed values of a circuit against the plain ones, for tests. */
#ifndef CUZK_TESTS_CIRCUITS_PACKED_CHECK_H
#define CUZK_TESTS_CIRCUITS_PACKED_CHECK_H
#include "testing.h"

#include "base/alloc.h"
#include "circuits/synthesis.h"

/* is_field while the values of w are synthesised: of the witness, not of the blank circuit. */
static inline void packed_check_map(const struct cuzk_circuit *c, const void *w, const struct cuzk_packed *p, struct cuzk_assignment *room) {
  struct cuzk_cs cs;
  const size_t n_words = ((size_t)p->n_aux + 63) / 64;
  uint64_t *map = cuzk_calloc(n_words + 1, sizeof *map);
  struct cuzk_cs_mark *marks = cuzk_calloc(c->challenges + c->sectors + 2, sizeof *marks);
  assert_true(map && marks);
  cuzk_cs_init_values(&cs, room->inputs, room->n_inputs, room->aux, room->n_aux);
  cs.map = map;
  cs.marks = marks;
  cs.cap_marks = c->challenges + c->sectors + 2;
  cuzk_synthesize(&cs, c, w);
  assert_int_equal(cs.st, CUZK_OK);
  assert_int_equal(cs.n_fields, p->n_fields);
  if (n_words) assert_memory_equal(map, p->is_field, n_words * sizeof *map);
  cuzk_cs_clear(&cs);
  cuzk_free(map);
  cuzk_free(marks);
}

/** a: the values of all variables as assign found them; written over with the same. */
static inline void packed_check(const struct cuzk_circuit *c, const void *w, struct cuzk_assignment *a, struct cuzk_pool *pool) {
  struct cuzk_packed p;
  struct cuzk_detail d = {""};
  if (cuzk_circuit_assign_packed(c, w, &p, pool, NULL, &d) != CUZK_OK) fail_msg("%s: %s", c->name, d.text);
  assert_int_equal(p.n_inputs, a->n_inputs);
  assert_int_equal(p.n_aux, a->n_aux);
  assert_memory_equal(p.inputs, a->inputs, p.n_inputs * sizeof(cuzk_fr));
  cuzk_fr *all = cuzk_malloc_array((size_t)p.n_aux + 1, sizeof *all);
  assert_non_null(all);
  cuzk_packed_expand(all, &p, 0, p.n_aux);
  uint32_t n_fields = 0;
  for (uint32_t j = 0; j < p.n_aux; j++) {
    if (!cuzk_fr_eq(&all[j], &a->aux[j]) || !cuzk_fr_eq(cuzk_packed_value(&p, CUZK_VAR_AUX + j), &a->aux[j])) {
      char where[1000];
      assert_int_equal(cuzk_circuit_regions(c, true, j, 1, where, sizeof where, NULL), CUZK_OK);
      fail_msg("%s: packed value %u differs: %s", c->name, j, where);
    }
    if (j % 64 == 0) assert_int_equal(p.rank[j / 64], n_fields);
    if (cuzk_packed_is_field(&p, j)) {
      assert_int_equal(cuzk_packed_bit(&p, j), 0);
      n_fields++;
    }
  }
  assert_int_equal(n_fields, p.n_fields);
  for (unsigned k = 0; k < 50 && p.n_aux; k++) {
    const uint32_t first = (uint32_t)(test_rand() % p.n_aux), left = p.n_aux - first, n = (uint32_t)(test_rand() % (left < 200 ? left + 1 : 200));
    cuzk_packed_expand(all, &p, first, n);
    if (n) assert_memory_equal(all, a->aux + first, n * sizeof *all);
  }
  cuzk_free(all);
  packed_check_map(c, w, &p, a);
  cuzk_packed_clear(&p);
}
#endif
