/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include "gadgets/merkle.h"
#include "gadgets/poseidon.h"
#include "gadgets/select.h"
#include "gadgets/sha256.h"
#include "gadgets/word32.h"
#include "hash/sha256.h"

#define MAX_AUX 200000
static cuzk_fr inputs[64], aux[MAX_AUX];
static char region[512];

static void open_sink(struct cuzk_cs *cs) {
  assert_int_equal(cuzk_cs_init_eval(cs, inputs, 64, aux, MAX_AUX, NULL, UINT64_MAX, true, region), CUZK_OK);
}
static void close_satisfied(struct cuzk_cs *cs) {
  assert_int_equal(cs->st, CUZK_OK);
  assert_true(cs->bad_row == UINT64_MAX);
  assert_int_equal(cs->depth, 0);
  cuzk_cs_clear(cs);
}

/* One of six booleans: two constants, and a bit of each value seen as it is and negated. */
static struct cuzk_bool any_bool(struct cuzk_cs *cs, int k) {
  if (k < 2) return cuzk_bool_const(k);
  const struct cuzk_bool b = cuzk_bit_alloc(cs, k & 1);
  return k < 4 ? b : cuzk_bool_not(b);
}

static bool value_of(const struct cuzk_cs *cs, struct cuzk_bool b) {
  if (b.kind == CUZK_BOOL_CONST) return b.value;
  const bool v = cuzk_fr_is_one(cuzk_cs_value(cs, b.var));
  return b.kind == CUZK_BOOL_IS ? v : !v;
}

static void boolean_operations_for_every_kind_of_operand(void **state) {
  (void)state;
  struct cuzk_cs cs;
  open_sink(&cs);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      const struct cuzk_bool a = any_bool(&cs, i), b = any_bool(&cs, j);
      struct cuzk_bool r = cuzk_bool_xor(&cs, a, b);
      assert_int_equal(r.value, a.value != b.value);
      assert_int_equal(r.value, value_of(&cs, r));
      r = cuzk_bool_and(&cs, a, b);
      assert_int_equal(r.value, a.value && b.value);
      assert_int_equal(r.value, value_of(&cs, r));
      for (int k = 0; k < 6; k++) {
        const struct cuzk_bool c = any_bool(&cs, k);
        r = cuzk_bool_ch(&cs, a, b, c);
        assert_int_equal(r.value, a.value ? b.value : c.value);
        assert_int_equal(r.value, value_of(&cs, r));
        r = cuzk_bool_maj(&cs, a, b, c);
        assert_int_equal(r.value, a.value + b.value + c.value >= 2);
        assert_int_equal(r.value, value_of(&cs, r));
      }
    }
  cuzk_bool_enforce_equal(&cs, any_bool(&cs, 3), any_bool(&cs, 4));
  close_satisfied(&cs);
  open_sink(&cs);
  cuzk_bool_enforce_equal(&cs, any_bool(&cs, 3), any_bool(&cs, 5));
  assert_int_equal(cs.bad_row, 2);
  cuzk_cs_clear(&cs);
}

static void random_fr(cuzk_fr *x) {
  uint8_t wide[64];
  for (int i = 0; i < 64; i += 8) {
    const uint64_t v = test_rand_limb();
    memcpy(wide + i, &v, 8);
  }
  cuzk_fr_from_le64_reduce(x, wide);
}

static void numbers_to_bits_and_back(void **state) {
  (void)state;
  for (int n = 0; n < 20; n++) {
    struct cuzk_cs cs;
    struct cuzk_bool bits[256], strict[255];
    cuzk_fr v;
    uint64_t canon[4];
    open_sink(&cs);
    random_fr(&v);
    if (n < 2) cuzk_fr_from_u64(&v, (uint64_t)n);
    if (n == 2) cuzk_fr_neg(&v, &cuzk_fr_one);
    cuzk_fr_to_canon(canon, &v);
    const cuzk_var x = cuzk_num_alloc(&cs, &v);
    cuzk_num_to_bits(&cs, bits, x);
    cuzk_num_to_bits_strict(&cs, strict, x);
    for (int i = 0; i < 255; i++) {
      assert_int_equal(bits[i].value, (canon[i / 64] >> (i % 64)) & 1);
      assert_int_equal(bits[i].value, strict[i].value);
    }
    cuzk_num_to_sha_bits(&cs, bits, x);
    assert_int_equal(bits[248].kind, CUZK_BOOL_CONST);
    canon[3] &= 0x3fffffffffffffff;
    cuzk_fr want;
    assert_true(cuzk_fr_from_canon(&want, canon));
    assert_true(cuzk_fr_eq(cuzk_cs_value(&cs, cuzk_num_from_sha_bits(&cs, bits)), &want));
    const cuzk_var i = cuzk_num_inputize(&cs, x);
    assert_true(cuzk_fr_eq(cuzk_cs_value(&cs, i), &v));
    close_satisfied(&cs);
  }
}

static void sums_of_words(void **state) {
  (void)state;
  struct cuzk_cs cs;
  open_sink(&cs);
  struct cuzk_multieq me;
  cuzk_multieq_open(&me, &cs);
  for (int n = 0; n < 60; n++) {
    struct cuzk_word w[10];
    const struct cuzk_word *ops[10];
    const unsigned k = 2 + (unsigned)(test_rand() % 9);
    uint32_t want = 0;
    for (unsigned i = 0; i < k; i++) {
      const uint32_t v = n % 4 ? (uint32_t)test_rand() : UINT32_MAX;
      want += v;
      w[i] = test_rand() % 3 ? cuzk_word_alloc(&cs, v) : cuzk_word_const(v);
      if (test_rand() % 4 == 0)
        for (int b = 0; b < 32; b++) {
          w[i].b[b] = cuzk_bool_not(w[i].b[b]);
          want -= (uint32_t)!w[i].b[b].value << b;
          want += (uint32_t)w[i].b[b].value << b;
        }
      ops[i] = &w[i];
    }
    const struct cuzk_word r = cuzk_word_addmany(&me, ops, k);
    for (int b = 0; b < 32; b++) {
      assert_int_equal(r.b[b].value, (want >> b) & 1);
      assert_int_equal(r.b[b].value, value_of(&cs, r.b[b]));
    }
  }
  cuzk_multieq_close(&me);
  close_satisfied(&cs);
}

static void sha256_equals_the_plain_hash(void **state) {
  (void)state;
  static const unsigned lengths[] = {0, 1, 55, 56, 63, 64, 65, 119, 120, 128};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    uint8_t msg[128], want[32];
    struct cuzk_bool bits[1024], digest[256];
    struct cuzk_cs cs;
    open_sink(&cs);
    for (unsigned i = 0; i < lengths[k]; i++) {
      msg[i] = (uint8_t)test_rand();
      for (int b = 0; b < 8; b++) {
        const bool v = (msg[i] >> (7 - b)) & 1;
        bits[8 * i + b] = i % 5 == 4 ? cuzk_bool_const(v) : cuzk_bit_alloc(&cs, v);
      }
    }
    cuzk_sha256_gadget(&cs, digest, bits, 8 * lengths[k]);
    cuzk_sha256(want, msg, lengths[k]);
    for (int i = 0; i < 256; i++) assert_int_equal(digest[i].value, (want[i / 8] >> (7 - i % 8)) & 1);
    close_satisfied(&cs);
  }
}

static void poseidon_equals_the_plain_hash(void **state) {
  (void)state;
  static const unsigned arities[] = {2, 4, 8, 11, 16, 24, 36}, rows[] = {311, 377, 505, 598, 761, 1009, 1385};
  for (size_t k = 0; k < 8; k++) {
    const enum cuzk_poseidon_use use = k < 7 ? CUZK_POSEIDON_MERKLE : CUZK_POSEIDON_GEN_RAND;
    const unsigned arity = k < 7 ? arities[k] : 2;
    const struct cuzk_poseidon *p;
    struct cuzk_cs cs;
    cuzk_var x[36];
    cuzk_fr v[36], want;
    open_sink(&cs);
    for (unsigned i = 0; i < arity; i++) {
      random_fr(&v[i]);
      x[i] = cuzk_num_alloc(&cs, &v[i]);
    }
    const cuzk_var h = cuzk_poseidon_gadget(&cs, x, arity, use);
    assert_int_equal(cuzk_poseidon_get(&p, arity, use), CUZK_OK);
    cuzk_poseidon_hash(&want, p, v);
    assert_true(cuzk_fr_eq(cuzk_cs_value(&cs, h), &want));
    assert_int_equal(cs.n_rows, k < 7 ? rows[k] : 311);
    close_satisfied(&cs);
  }
  struct cuzk_cs cs;
  open_sink(&cs);
  const cuzk_var x[3] = {0, 0, 0};
  (void)cuzk_poseidon_gadget(&cs, x, 3, CUZK_POSEIDON_MERKLE);
  assert_int_equal(cs.st, CUZK_E_ARG);
  cuzk_cs_clear(&cs);
}

static void insert_and_select_at_every_index(void **state) {
  (void)state;
  for (unsigned n = 2; n <= 8; n *= 2)
    for (unsigned at = 0; at < n; at++) {
      struct cuzk_cs cs;
      cuzk_var e[7], out[8];
      struct cuzk_bool bits[3];
      cuzk_fr v;
      open_sink(&cs);
      for (unsigned i = 0; i + 1 < n; i++) {
        cuzk_fr_from_u64(&v, 100 + i);
        e[i] = cuzk_num_alloc(&cs, &v);
      }
      cuzk_fr_from_u64(&v, 7);
      const cuzk_var x = cuzk_num_alloc(&cs, &v);
      unsigned m = 0;
      for (; 1u << m < n; m++) bits[m] = cuzk_bit_alloc(&cs, (at >> m) & 1);
      cuzk_insert(&cs, out, e, x, bits, n);
      for (unsigned i = 0; i < n; i++) {
        cuzk_fr_from_u64(&v, i == at ? 7 : 100 + i - (i > at));
        assert_true(cuzk_fr_eq(cuzk_cs_value(&cs, out[i]), &v));
      }
      cuzk_fr_from_u64(&v, 7);
      assert_true(cuzk_fr_eq(cuzk_cs_value(&cs, cuzk_select(&cs, out, bits, m)), &v));
      close_satisfied(&cs);
    }
}

/* A path that ends at a root computed here; true if the circuit is satisfied with index and sibling number i changed as asked. */
static bool try_path(const struct cuzk_tree_shape *t, bool no_input, unsigned bad_index, unsigned bad_sibling) {
  struct cuzk_cs cs;
  uint8_t index[8];
  cuzk_fr sib[64], cur, leaf_value;
  unsigned n = 0, index_value = 0, at_bit = 0;
  random_fr(&leaf_value);
  cur = leaf_value;
  for (unsigned k = 0; k < cuzk_tree_steps(t); k++) {
    const unsigned arity = cuzk_tree_arity(t, k);
    const struct cuzk_poseidon *p;
    cuzk_fr x[8];
    index[k] = (uint8_t)(test_rand() % arity);
    index_value |= (unsigned)index[k] << at_bit;
    at_bit += arity == 8 ? 3 : arity == 4 ? 2 : 1;
    for (unsigned i = 0; i < arity; i++) {
      if (i == index[k]) {
        x[i] = cur;
      } else {
        random_fr(&sib[n]);
        x[i] = sib[n++];
      }
    }
    if (t->hash == CUZK_TREE_POSEIDON) {
      assert_int_equal(cuzk_poseidon_get(&p, arity, CUZK_POSEIDON_MERKLE), CUZK_OK);
      cuzk_poseidon_hash(&cur, p, x);
    } else {
      uint8_t le[64], d[32];
      cuzk_fr_to_le(le, &x[0]);
      cuzk_fr_to_le(le + 32, &x[1]);
      cuzk_sha256(d, le, 64);
      d[31] &= 0x3f;
      assert_true(cuzk_fr_from_le(&cur, d));
    }
  }
  if (bad_index < cuzk_tree_steps(t)) index[bad_index] ^= 1;
  if (bad_sibling < n) cuzk_fr_add(&sib[bad_sibling], &sib[bad_sibling], &cuzk_fr_one);
  open_sink(&cs);
  const cuzk_var root = cuzk_num_alloc(&cs, &cur), leaf = cuzk_num_alloc(&cs, &leaf_value);
  if (no_input) {
    struct cuzk_bool bits[24];
    cuzk_var vars[64];
    unsigned b = 0;
    for (unsigned k = 0; k < cuzk_tree_steps(t); k++)
      for (unsigned i = 0; 1u << i < cuzk_tree_arity(t, k); i++) bits[b++] = cuzk_bit_alloc(&cs, (index[k] >> i) & 1);
    for (unsigned i = 0; i < n; i++) vars[i] = cuzk_num_alloc(&cs, &sib[i]);
    cuzk_por_no_input(&cs, t, leaf, bits, vars, root);
    assert_int_equal(cs.n_inputs, 1);
  } else {
    cuzk_por(&cs, t, leaf, index, sib, root);
    assert_int_equal(cs.n_inputs, 2);
    cuzk_fr want;
    cuzk_fr_from_u64(&want, index_value);
    if (bad_index >= cuzk_tree_steps(t)) assert_true(cuzk_fr_eq(&inputs[1], &want));
  }
  assert_int_equal(cs.st, CUZK_OK);
  assert_int_equal(cs.depth, 0);
  const bool ok = cs.bad_row == UINT64_MAX;
  cuzk_cs_clear(&cs);
  return ok;
}

static void inclusion_holds_for_the_right_path_only(void **state) {
  (void)state;
  static const struct cuzk_tree_shape shapes[] = {
      {CUZK_TREE_POSEIDON, 8, 0, 0, 2, 0, 0}, {CUZK_TREE_POSEIDON, 8, 2, 0, 2, 1, 0}, {CUZK_TREE_POSEIDON, 8, 4, 0, 1, 1, 0},
      {CUZK_TREE_POSEIDON, 8, 8, 2, 1, 1, 1}, {CUZK_TREE_SHA256, 2, 0, 0, 2, 0, 0}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int no_input = 0; no_input < 2; no_input++) {
      assert_true(try_path(&shapes[s], no_input, UINT32_MAX, UINT32_MAX));
      for (unsigned k = 0; k < cuzk_tree_steps(&shapes[s]); k++) assert_false(try_path(&shapes[s], no_input, k, UINT32_MAX));
      for (unsigned k = 0; k < cuzk_tree_siblings(&shapes[s]); k++) assert_false(try_path(&shapes[s], no_input, UINT32_MAX, k));
    }
}

/* Of 32 booleans: bits, some negated, and constants in a random pattern, at its end, or everywhere. Only values and kinds matter. */
static struct cuzk_word any_word(void) {
  struct cuzk_word w;
  const uint32_t v = (uint32_t)test_rand(), neg = test_rand() & 1 ? (uint32_t)test_rand() : 0;
  const uint32_t patterns[4] = {0, UINT32_MAX, (uint32_t)test_rand(), ~(UINT32_MAX >> (test_rand() % 32))};
  const uint32_t konst = patterns[test_rand() % 4];
  for (unsigned i = 0; i < 32; i++) {
    const bool k = (konst >> i) & 1;
    w.b[i] = (struct cuzk_bool){CUZK_VAR_ONE, k ? CUZK_BOOL_CONST : (neg >> i) & 1 ? CUZK_BOOL_NOT : CUZK_BOOL_IS, (v >> i) & 1};
  }
  return w;
}

static void check_same_word(const struct cuzk_word *x, const struct cuzk_word32 *y) {
  for (unsigned i = 0; i < 32; i++) {
    assert_int_equal((y->value >> i) & 1, x->b[i].value);
    assert_int_equal((y->konst >> i) & 1, x->b[i].kind == CUZK_BOOL_CONST);
    assert_int_equal((y->neg >> i) & 1, x->b[i].kind == CUZK_BOOL_NOT);
  }
}

static void words_allocate_what_booleans_do(void **state) {
  (void)state;
  static cuzk_fr packed_aux[512];
  for (unsigned k = 0; k < 20000; k++) {
    struct cuzk_cs cs, pcs;
    struct cuzk_multieq me, pme;
    struct cuzk_word w[7], r;
    struct cuzk_word32 p[7], q;
    const struct cuzk_word *ops[7];
    const struct cuzk_word32 *pops[7];
    cuzk_cs_init_values(&cs, inputs, 64, aux, 512);
    cuzk_cs_init_values(&pcs, inputs, 64, packed_aux, 512);
    for (int i = 0; i < 7; i++) {
      w[i] = any_word();
      p[i] = cuzk_word32_of(&w[i]);
      check_same_word(&w[i], &p[i]);
      ops[i] = &w[i];
      pops[i] = &p[i];
    }
    const unsigned n = (unsigned)(test_rand() % 31) + 1;
    struct cuzk_bool be[32];
    switch (k % 7) {
      case 0: r = cuzk_word_xor(&cs, &w[0], &w[1]), q = cuzk_word32_xor(&pcs, &p[0], &p[1]); break;
      case 1: r = cuzk_word_ch(&cs, &w[0], &w[1], &w[2]), q = cuzk_word32_ch(&pcs, &p[0], &p[1], &p[2]); break;
      case 2: r = cuzk_word_maj(&cs, &w[0], &w[1], &w[2]), q = cuzk_word32_maj(&pcs, &p[0], &p[1], &p[2]); break;
      case 3: r = cuzk_word_rotr(&w[0], n), q = cuzk_word32_rotr(&p[0], n); break;
      case 4: r = cuzk_word_shr(&w[0], n), q = cuzk_word32_shr(&p[0], n); break;
      case 5:
        cuzk_word_to_be(be, &w[0]);
        r = cuzk_word_from_be(be), q = cuzk_word32_from_be(be);
        break;
      default:
        cuzk_multieq_open(&me, &cs);
        cuzk_multieq_open(&pme, &pcs);
        me.used = pme.used = (unsigned)(test_rand() % 254);
        r = cuzk_word_addmany(&me, ops, 2 + n % 6), q = cuzk_word32_addmany(&pme, pops, 2 + n % 6);
        assert_int_equal(me.used, pme.used);
        if (r.b[0].kind != CUZK_BOOL_CONST) {
          const struct cuzk_word b = cuzk_word32_booleans(&q);
          for (int i = 0; i < 32; i++) assert_int_equal(b.b[i].var, r.b[i].var);
        }
        break;
    }
    check_same_word(&r, &q);
    assert_int_equal(cs.st, CUZK_OK);
    assert_int_equal(pcs.st, CUZK_OK);
    assert_int_equal(cs.n_rows, pcs.n_rows);
    assert_int_equal(cs.n_aux, pcs.n_aux);
    if (cs.n_aux) assert_memory_equal(aux, packed_aux, cs.n_aux * sizeof *aux);
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boolean_operations_for_every_kind_of_operand),
      cmocka_unit_test(numbers_to_bits_and_back),
      cmocka_unit_test(sums_of_words),
      cmocka_unit_test(sha256_equals_the_plain_hash),
      cmocka_unit_test(poseidon_equals_the_plain_hash),
      cmocka_unit_test(insert_and_select_at_every_index),
      cmocka_unit_test(inclusion_holds_for_the_right_path_only),
      cmocka_unit_test(words_allocate_what_booleans_do),
  };
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return rc;
}
