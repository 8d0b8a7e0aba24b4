/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Vectors and constant digests: circuits specification 8.1. */
#include "testing.h"

#include "base/alloc.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

static void assert_be_hex(const cuzk_fr *x, const char *want) {
  uint8_t le[32];
  char text[65];
  cuzk_fr_to_le(le, x);
  for (int i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", le[31 - i]);
  assert_string_equal(text, want);
}

static void assert_digest(const cuzk_fr *x, size_t n, const char *want) {
  struct cuzk_sha256 s;
  uint8_t d[32];
  char text[65];
  cuzk_sha256_init(&s);
  for (size_t i = 0; i < n; i++) {
    cuzk_fr_to_le(d, &x[i]);
    cuzk_sha256_update(&s, d, 32);
  }
  cuzk_sha256_final(&s, d);
  for (int i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", d[i]);
  assert_string_equal(text, want);
}

static const struct {
  unsigned arity;
  const char *digest;
} vectors[] = {{2, "396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff"},
               {4, "58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075d"},
               {8, "2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6"},
               {11, "0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163"},
               {16, "2d3ae2663381ae8ac1c2fb5a6f871e635b8dbc6d30680a6f1291c74060266d37"},
               {24, "63beb8831f11ae15066f39bf783f3d9fc3e779f6468815b1d7ef3569f585b321"},
               {36, "699303082a6e5d5f540a30e03c10bbaa75cd368df8a8ac3c4473606dfa4e8140"}};
static const struct {
  unsigned arity;
  const char *first, *keys, *crc, *mds, *pre_sparse, *sparse;
} constants[] = {
    {2, "669f064bfa3ae17a23bd51861dbb4a24501eac92a2758b36a7320a009d6ed3d8",
     "cf4dfb7448132022e22b32e3dce6b125cb06329448f9e8d8fe53a71c73cbe6d4",
     "b768b730ce5198394d948d76421ab53b08cc16ec1ac082cf503f370192253e16",
     "b55e71db69c416c830c28ca9871f933b6c27220eae309801c981ee3b0885ee51",
     "13d6e8e5ba45b0d2096617d055499f36adad1aab6853de143ed42b14eea9a0f6",
     "a2fe507a83bddb8d57e5a00e7e58e79800c272b0db7dd4141943f6e567e99138"},
    {4, "45c919736a0e5f2ef32c4c7d0a338eb1fed3d9e317b7580921072285c7e215ca",
     "91e463d6553415b3901b9f26b2ad53e6298ac3e5ab0ef260d397bafe8bdde98e",
     "3e4ec19ded2c86a89f3d6bddc13d9571a0cc5473e7207cfbaf6a8169a69f5709",
     "42a9ccbf22e42dc598fbe106f6b5019b46d545a725eb7538ba6bcf3765b350ab",
     "aee67dfb1ae8c43eca89f5742a745c6309f2d302ab741b75d2641b7025d87413",
     "f1c3c3a9fe9ea4a3c38c91971e5f379da38123fe1dcf960b461d84c5ba759f2b"},
    {8, "6ce90d12c4045fe08c3caddb776dd84ac52b4ae7e48cd49443984154f2f4c2f9",
     "9a4a743575f0eaf285c93d73f8adaf4e7ef4042c2445b42bddaf1a64e5face72",
     "f5a94aea73a583d080abdf7d71259fab9107f5523a4a1eddc41468f94564dd16",
     "82d366586a4b49ae74f4c5bbc94bbed0a0eb064584097367d926ae1f11e30894",
     "dcfbdaea3eb7e347664c8f881c5443b1895f10c85cab0878022eb287defa8587",
     "3f823785875d8cc161c963d2a62d103a3fefab30eb4244cef877d8e624fb79f4"},
    {11, "1f6c9576e648b5047399bfc5f38902e0d506f18e0f3ab77de6de096bd089bce4",
     "479dc0d71d694cd50d853dec0c94aeb37df2a69929eaa23b545a52b1226aec06",
     "2d7c0e4e9b98eda82102b69f1a964ae59ccf98b0008b6d3d632d86f4fea79d1d",
     "7ef350e5db367cae7828071ca354fefd25c59fe77e31261d27fb2ce8f14ff956",
     "f2a7353f0ce5ad724a7a58bf2db0e37f7c5662f064a6c97466021af83279a96e",
     "810a4d7f126f6e5fb3eb1980b57c70f90bb835219373d955726e30b3ca931556"}};

static void digests_of_counting_preimages(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    const struct cuzk_poseidon *p;
    cuzk_fr x[36], d;
    for (unsigned i = 0; i < 36; i++) cuzk_fr_from_u64(&x[i], i);
    assert_int_equal(cuzk_poseidon_get(&p, vectors[k].arity, CUZK_POSEIDON_MERKLE), CUZK_OK);
    cuzk_poseidon_hash(&d, p, x);
    assert_be_hex(&d, vectors[k].digest);
  }
  const struct cuzk_poseidon *p;
  cuzk_fr x[2] = {cuzk_fr_zero, cuzk_fr_one}, d;
  assert_int_equal(cuzk_poseidon_get(&p, 2, CUZK_POSEIDON_GEN_RAND), CUZK_OK);
  cuzk_poseidon_hash(&d, p, x);
  assert_be_hex(&d, "314a35c4e7f0924ead1fc58134a0fe25e3580bea397367c7e5a74ec4bc077758");
}

static void derived_constants(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof constants / sizeof *constants; k++) {
    const struct cuzk_poseidon *p;
    assert_int_equal(cuzk_poseidon_get(&p, constants[k].arity, CUZK_POSEIDON_MERKLE), CUZK_OK);
    assert_be_hex(&p->round_keys[0], constants[k].first);
    assert_digest(p->round_keys, (size_t)(p->n_full + p->n_partial) * p->t, constants[k].keys);
    assert_digest(p->crc, (size_t)p->n_full * p->t + p->n_partial, constants[k].crc);
    assert_digest(p->mds, (size_t)p->t * p->t, constants[k].mds);
    assert_digest(p->pre_sparse, (size_t)p->t * p->t, constants[k].pre_sparse);
    assert_digest(p->sparse, (size_t)p->n_partial * (p->t + p->arity), constants[k].sparse);
  }
}

/* The plain definition, with uncompressed keys and the dense matrix. */
static void plain_hash(cuzk_fr *r, const struct cuzk_poseidon *p, const cuzk_fr *x) {
  cuzk_fr s[37], u[37], m;
  s[0] = p->tag;
  for (unsigned i = 1; i < p->t; i++) s[i] = x[i - 1];
  for (unsigned k = 0; k < p->n_full + p->n_partial; k++) {
    for (unsigned i = 0; i < p->t; i++) {
      cuzk_fr_add(&s[i], &s[i], &p->round_keys[k * p->t + i]);
      if (i && k >= 4 && k < 4 + p->n_partial) continue;
      cuzk_fr_sqr(&m, &s[i]);
      cuzk_fr_sqr(&m, &m);
      cuzk_fr_mul(&s[i], &s[i], &m);
    }
    for (unsigned i = 0; i < p->t; i++) {
      u[i] = cuzk_fr_zero;
      for (unsigned j = 0; j < p->t; j++) {
        cuzk_fr_mul(&m, &p->mds[i * p->t + j], &s[j]);
        cuzk_fr_add(&u[i], &u[i], &m);
      }
    }
    memcpy(s, u, sizeof s);
  }
  *r = s[1];
}

static void fast_form_equals_plain_definition(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++) {
    const struct cuzk_poseidon *p;
    assert_int_equal(cuzk_poseidon_get(&p, vectors[k].arity, CUZK_POSEIDON_MERKLE), CUZK_OK);
    for (int n = 0; n < 10; n++) {
      cuzk_fr x[36], a, b;
      for (unsigned i = 0; i < p->arity; i++) {
        uint8_t wide[64];
        for (int j = 0; j < 64; j += 8) {
          const uint64_t v = test_rand_limb();
          memcpy(wide + j, &v, 8);
        }
        cuzk_fr_from_le64_reduce(&x[i], wide);
      }
      cuzk_poseidon_hash(&a, p, x);
      plain_hash(&b, p, x);
      assert_true(cuzk_fr_eq(&a, &b));
    }
  }
}

static void other_arities_are_refused(void **state) {
  (void)state;
  const struct cuzk_poseidon *p;
  assert_int_equal(cuzk_poseidon_get(&p, 3, CUZK_POSEIDON_MERKLE), CUZK_E_ARG);
  assert_int_equal(cuzk_poseidon_get(&p, 0, CUZK_POSEIDON_MERKLE), CUZK_E_ARG);
  assert_int_equal(cuzk_poseidon_get(&p, 4, CUZK_POSEIDON_GEN_RAND), CUZK_E_ARG);
}

static void failed_allocations_leave_nothing(void **state) {
  (void)state;
  cuzk_poseidon_release();
  const int64_t live = cuzk_alloc_live();
  for (uint64_t n = 1;; n++) {
    const struct cuzk_poseidon *p;
    cuzk_alloc_fail_at(n);
    const enum cuzk_status st = cuzk_poseidon_get(&p, 2, CUZK_POSEIDON_MERKLE);
    const uint64_t tried = cuzk_alloc_count();
    cuzk_alloc_fail_at(0);
    if (tried < n) {
      assert_int_equal(st, CUZK_OK);
      break;
    }
    assert_int_equal(st, CUZK_E_NOMEM);
    assert_int_equal(cuzk_alloc_live(), live);
  }
  cuzk_poseidon_release();
  assert_int_equal(cuzk_alloc_live(), live);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(digests_of_counting_preimages),     cmocka_unit_test(derived_constants),
      cmocka_unit_test(fast_form_equals_plain_definition), cmocka_unit_test(other_arities_are_refused),
      cmocka_unit_test(failed_allocations_leave_nothing),
  };
  const int rc = cmocka_run_group_tests(tests, NULL, NULL);
  cuzk_poseidon_release();
  return rc;
}
