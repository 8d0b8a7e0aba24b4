/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The key and proofs of the formats specification, Appendix A.1, byte for byte. */
#include "base/pool.h"
#include "groth16/param_files.h"
#include "msm/msm.h"
#include "toy_key.h"

static struct toy_key key;
static struct cuzk_pool *pool;

static const char *const proof_with_r_s =
    "b252fa903b0b4467cc9264011cfa5b460a80ca7ced07f2ac8c4cb05afe2c36941e681b364bbbecf947ad0bc656610eae"
    "9292cffa1531ca8adb7a881b6af52c0a5fd4113e1883822280d60de49224088d223ffc8e12d1424587c757094525d679"
    "0682137915d53747fef82db3de3ad5bad3e0abb66ceaa801e8546b6fd8d0dd6f9516ffd92cebe9b1c844548207f99607"
    "b8c95eb1dc55da736fff8a6d53d24a9d88799f1c1f46b56277c982469bb545ed75f14b80474ea8b87b80be4460ac63c2";
static const char *const proof_without =
    "93189926997f06f3f4a1aa0654d0b64a5477a86e9cf612038d84524315a4b64014f6e3da737cb31db1b59142759fd91d"
    "8911c47d45bc1cbd662718050e7145083e18fa4fa608456b457ec93fc07a9268cfc38aa5e998a023de84a83d7a71679b"
    "08e78d3c3ad56458718dc2b78224f32e344d251f421be003e9cbd90b3da8e375940b435e78ba59d2b335e23cbe673b23"
    "98c08f298aa0d94c373dc616e5d5e21fd40af0cf9036d23d20bc57a65309359a619402a7a20e34f3048212935c9ba490";
static const char *const h_coefficients[TOY_M] = {
    "5e3117f391cff5caa99eff8687d37f84540a15426ffeaabf2fffffff2fffff4d",
    "62b05456808e3f8ceaf339a18af6ab3be042d71629ef3b08df6f2a6507155ac6",
    "00921358e69575f35f341b34f126634dafd5ee5191eb7bd111a7655f90eb47af",
    "2d829a83181d8a2c23245a99e6cf3af51b8f633e0fcfdc54709b124fb0fe7a57",
    "1ad89b1ae01c3064c16ac3c72648f9fb6c1fde303c7839d7121ef32673f48b04",
    "57bedb6872444cbc80cb585f87e921e90e9c77e9ce895d73e660890075478330",
    "5f4d1b9cc8f23300db4b793c95c093465581769847c642c3850d3553de26f59a",
    "0000000000000000000000000000000000000000000000000000000000000000"};

static void assert_fr(const cuzk_fr *v, const char *hex) {
  uint8_t le[32], be[32];
  cuzk_fr_to_le(le, v);
  for (int i = 0; i < 32; i++) be[i] = le[31 - i];
  assert_hex(be, 32, hex);
}

static void the_scalars_are_those_of_the_appendix(void **state) {
  (void)state;
  assert_fr(&key.toxic.alpha, "07ac4cd18c2df2598ee97cd1719304c3a2a5fc1d3db472c6a23abaa2abf0e923");
  assert_fr(&key.toxic.beta, "2b2f583c015b0637576e1e4a58194f0a51c43d097b2d78c52f086c1afa6c6980");
  assert_fr(&key.toxic.gamma, "2aa4d3efe61f34310a097304f055cb168ea005f29b486b2ea1504bd8ada95a64");
  assert_fr(&key.toxic.delta, "3ab3e2beabe513ed64aaa4decbab6db78a20aa59abce2eebdfa16ba564f2d2fb");
  assert_fr(&key.toxic.tau, "5fa7802ad69009004493be2c6b01eb2da012d1e50b267e0dab8921497728bcc6");
  assert_fr(&key.r, "27315d68c554fb2a1af37a5944de79193f54bd6256dc3a9b0729515e182e471a");
  assert_fr(&key.s, "109ca34576d6c7758b61c15c74ede92ba12e5a9381f39d987c63f44e02a1052d");
}

static void the_shape_has_the_densities_of_the_appendix(void **state) {
  (void)state;
  assert_int_equal(key.shape.a_aux[0], 0x0f);
  assert_int_equal(key.shape.b_input[0], 0x03);
  assert_int_equal(key.shape.b_aux[0], 0x03);
  assert_int_equal(cuzk_shape_log2_domain(&key.shape), 3);
}

static void the_parameter_file_is_the_appendix_one(void **state) {
  (void)state;
  uint8_t sha[32], again[32], bytes[TOY_PARAMS_BYTES + 1];
  char digest[CUZK_DIGEST_CHARS];
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_params_generate(key.params, &key.system, &key.toxic, sha, pool, NULL, &d), CUZK_OK);
  assert_hex(sha, 32, "1f336e7e569072b6551fef57a38f83448321d2c61599ec0e9ace48b90d427db3");
  assert_int_equal(read_all(key.params, bytes, sizeof bytes), TOY_PARAMS_BYTES);
  cuzk_sha256(again, bytes, TOY_PARAMS_BYTES);
  assert_memory_equal(sha, again, 32);
  assert_int_equal(cuzk_file_digest(digest, key.params, NULL, &d), CUZK_OK);
  assert_string_equal(digest, "65c2326dec233ab8204c39c509681e93");
  assert_int_equal(toy_dir_entries(&key), 1);

  /* Without a pool, without the hash: the same bytes. */
  uint8_t alone[TOY_PARAMS_BYTES + 1];
  assert_int_equal(cuzk_params_generate(key.vk, &key.system, &key.toxic, NULL, NULL, NULL, &d), CUZK_OK);
  assert_int_equal(read_all(key.vk, alone, sizeof alone), TOY_PARAMS_BYTES);
  assert_memory_equal(alone, bytes, TOY_PARAMS_BYTES);
}

static void the_verifying_key_is_the_appendix_one(void **state) {
  (void)state;
  struct cuzk_vk vk, again;
  uint8_t sha[32], bytes[TOY_VK_BYTES + 1];
  char digest[CUZK_DIGEST_CHARS];
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_vk_load(&vk, key.params, &d), CUZK_OK);
  assert_int_equal(vk.n_ic, 3);
  assert_int_equal(cuzk_vk_save(&vk, key.vk, &d), CUZK_OK);
  assert_int_equal(read_all(key.vk, bytes, sizeof bytes), TOY_VK_BYTES);
  cuzk_sha256(sha, bytes, TOY_VK_BYTES);
  assert_hex(sha, 32, "f54be64c93c8208049ff0768e3a64d15a149a50b86b72099ae297017669cfc7b");
  assert_int_equal(cuzk_file_digest(digest, key.vk, NULL, &d), CUZK_OK);
  assert_string_equal(digest, "849d0f0bb257005660bb858535724254");
  assert_int_equal(cuzk_vk_load(&again, key.vk, &d), CUZK_OK);
  assert_memory_equal(&again.alpha_g1, &vk.alpha_g1, sizeof vk.alpha_g1);
  assert_memory_equal(again.ic, vk.ic, 3 * sizeof *vk.ic);
  cuzk_vk_clear(&vk);
  cuzk_vk_clear(&again);
}

static struct cuzk_params *open_toy(void) {
  struct cuzk_params *p = NULL;
  struct cuzk_detail d = {{0}};
  assert_int_equal(cuzk_params_open(&p, key.params, &d), CUZK_OK);
  return p;
}

static void the_sections_have_the_appendix_counts(void **state) {
  (void)state;
  static const uint32_t want[CUZK_N_SECTIONS] = {7, 5, 7, 4, 4};
  struct cuzk_params *p = open_toy();
  for (int s = 0; s < CUZK_N_SECTIONS; s++) assert_int_equal(p->section[s].count, want[s]);
  assert_int_equal(p->section[0].offset, TOY_VK_BYTES);
  assert_int_equal(cuzk_params_match(p, &key.shape, NULL), CUZK_OK);
  assert_int_equal(cuzk_params_check(p, true, pool, NULL, NULL), CUZK_OK);
  assert_int_equal(cuzk_params_check(p, false, NULL, NULL, NULL), CUZK_OK);
  cuzk_params_close(&p);
  assert_null(p);
}

static void assert_g1(const cuzk_g1 *p, const char *hex) {
  cuzk_g1_affine a;
  uint8_t b[48];
  cuzk_g1_to_affine(&a, p);
  cuzk_g1_compress(b, &a);
  assert_hex(b, 48, hex);
}

static void the_five_sums_are_those_of_the_appendix(void **state) {
  (void)state;
  struct cuzk_params *p = open_toy();
  cuzk_g1_affine b1[7];
  cuzk_g2_affine b2[4], b2_sum;
  cuzk_g1 sum, part;
  cuzk_g2 sum2, part2;
  cuzk_fr h[TOY_M];
  uint8_t bytes[96];
  for (int i = 0; i < TOY_M; i++) {
    uint8_t le[32];
    for (int j = 0; j < 32; j++) {
      unsigned v;
      assert_int_equal(sscanf(h_coefficients[i] + 2 * j, "%2x", &v), 1);
      le[31 - j] = (uint8_t)v;
    }
    assert_true(cuzk_fr_from_le(&h[i], le));
  }
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_H, b1, 0, 7, true, NULL), CUZK_OK);
  assert_int_equal(cuzk_msm_g1(&sum, b1, h, 7, pool), CUZK_OK);
  assert_g1(&sum, "8bf789cba16094756bf21377ca251190f3c964b2e81cba9c1a0569f0585be081f98a8d41bf6e6b3407ace30e81955101");
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_L, b1, 0, 5, true, NULL), CUZK_OK);
  assert_int_equal(cuzk_msm_g1(&sum, b1, key.aux, 5, pool), CUZK_OK);
  assert_g1(&sum, "90bb1c3522d004fce3a0a5a0f535405d36ea088b772d721899cb39fec55723f5f1b074da42d64dc160ecdb622375ba2e");
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_A, b1, 0, 7, true, NULL), CUZK_OK);
  assert_int_equal(cuzk_msm_g1(&sum, b1, key.inputs, 3, pool), CUZK_OK);
  assert_int_equal(cuzk_msm_g1_dense(&part, b1 + 3, 4, key.aux, 5, key.shape.a_aux, pool), CUZK_OK);
  cuzk_g1_add(&sum, &sum, &part);
  assert_g1(&sum, "b19770f9e1f000a239c953ffb7a7baa2c76594036f1a51bacad1a6e7cc03fe1a95c7744c1b9e03831acba5caa795e0c8");
  assert_int_equal(cuzk_params_fetch_g1(p, CUZK_SECTION_B_G1, b1, 0, 4, true, NULL), CUZK_OK);
  assert_int_equal(cuzk_msm_g1_dense(&sum, b1, 2, key.inputs, 3, key.shape.b_input, pool), CUZK_OK);
  assert_int_equal(cuzk_msm_g1_dense(&part, b1 + 2, 2, key.aux, 5, key.shape.b_aux, pool), CUZK_OK);
  cuzk_g1_add(&sum, &sum, &part);
  assert_g1(&sum, "b215d467cc02985f305befd56b5bb39b957861f7a9aae79dea88136d19720176e0184abc97e249e5a64088936e1954a2");
  assert_int_equal(cuzk_params_fetch_g2(p, b2, 0, 4, true, NULL), CUZK_OK);
  assert_int_equal(cuzk_msm_g2_dense(&sum2, b2, 2, key.inputs, 3, key.shape.b_input, pool), CUZK_OK);
  assert_int_equal(cuzk_msm_g2_dense(&part2, b2 + 2, 2, key.aux, 5, key.shape.b_aux, pool), CUZK_OK);
  cuzk_g2_add(&sum2, &sum2, &part2);
  cuzk_g2_to_affine(&b2_sum, &sum2);
  cuzk_g2_compress(bytes, &b2_sum);
  assert_hex(bytes, 96,
             "94f7dbf2dac75fc685bdb73b71ac520f5dd0fd21b0e840d80088461aee60753df563c782295ccba9d62e0fe804fff6e4"
             "18b145d25c8327396f39270e0605b0d888a74a48426a32c66e84e354acb8c81889088c47401c86b28a0a7fbacd6cab28");
  cuzk_params_close(&p);
}

static void prove(struct cuzk_proof *proof, const struct cuzk_params *p, const cuzk_fr *r, const cuzk_fr *s,
                  struct cuzk_pool *with) {
  struct cuzk_prove_times times;
  struct cuzk_detail d = {{0}};
  toy_fill_rows(&key);
  const enum cuzk_status st = cuzk_groth16_prove(proof, p, &key.shape, &key.z, key.abc, r, s, with, NULL, &times, &d);
  if (st != CUZK_OK) print_error("%s\n", d.text);
  assert_int_equal(st, CUZK_OK);
  assert_true(times.h_poly > 0 && times.verify > 0);
}

static void the_proofs_are_those_of_the_appendix(void **state) {
  (void)state;
  struct cuzk_params *p = open_toy();
  struct cuzk_proof proof, again;
  uint8_t bytes[CUZK_PROOF_BYTES];
  prove(&proof, p, &key.r, &key.s, pool);
  for (int i = 0; i < TOY_M; i++) assert_fr(&key.abc[0][i], h_coefficients[i]);
  cuzk_proof_write(bytes, &proof);
  assert_hex(bytes, sizeof bytes, proof_with_r_s);
  assert_int_equal(cuzk_proof_read(&again, bytes, NULL), CUZK_OK);
  assert_memory_equal(&again, &proof, sizeof proof);
  prove(&proof, p, &cuzk_fr_zero, &cuzk_fr_zero, NULL);
  cuzk_proof_write(bytes, &proof);
  assert_hex(bytes, sizeof bytes, proof_without);
  cuzk_params_close(&p);
}

static void the_proofs_verify_for_7_and_832_only(void **state) {
  (void)state;
  struct cuzk_params *p = open_toy();
  struct cuzk_pvk *pvk;
  struct cuzk_proof proof[2];
  cuzk_fr u[2][2], wrong;
  struct cuzk_detail d = {{0}};
  bool ok = false;
  prove(&proof[0], p, &key.r, &key.s, pool);
  prove(&proof[1], p, &cuzk_fr_zero, &cuzk_fr_zero, pool);
  assert_int_equal(cuzk_pvk_create(&pvk, &p->vk), CUZK_OK);
  for (int j = 0; j < 2; j++) {
    u[j][0] = key.inputs[1];
    u[j][1] = key.inputs[2];
    assert_int_equal(cuzk_groth16_verify(&ok, pvk, &proof[j], u[j], 2, &d), CUZK_OK);
    assert_true(ok);
  }
  for (size_t k = 0; k <= 2; k++) {
    assert_int_equal(cuzk_groth16_verify_batch(&ok, pvk, proof, k, u[0], 2, pool, &d), CUZK_OK);
    assert_true(ok);
    assert_int_equal(cuzk_groth16_verify_batch(&ok, pvk, proof, k, u[0], 2, NULL, &d), CUZK_OK);
    assert_true(ok);
  }
  cuzk_fr_from_u64(&wrong, 833);
  u[1][1] = wrong;
  assert_int_equal(cuzk_groth16_verify(&ok, pvk, &proof[1], u[1], 2, &d), CUZK_OK);
  assert_false(ok);
  assert_int_equal(cuzk_groth16_verify_batch(&ok, pvk, proof, 2, u[0], 2, pool, &d), CUZK_OK);
  assert_false(ok);
  u[1][1] = key.inputs[2];
  /* A from one proof, B and C from the other. */
  struct cuzk_proof mixed[2] = {proof[0], {proof[0].a, proof[1].b, proof[1].c}};
  assert_int_equal(cuzk_groth16_verify_batch(&ok, pvk, mixed, 2, u[0], 2, pool, &d), CUZK_OK);
  assert_false(ok);
  assert_int_equal(cuzk_groth16_verify(&ok, pvk, proof, u[0], 1, &d), CUZK_E_MISMATCH);
  assert_non_null(strstr(d.text, "expects 2"));
  assert_int_equal(cuzk_groth16_verify_batch(&ok, pvk, proof, 2, u[0], 3, pool, &d), CUZK_E_MISMATCH);
  assert_false(ok);
  cuzk_pvk_destroy(&pvk);
  cuzk_params_close(&p);
}

static void random_blinding_gives_other_proofs_that_verify(void **state) {
  (void)state;
  struct cuzk_params *p = open_toy();
  struct cuzk_proof one, two;
  cuzk_fr r[2], s[2];
  for (int i = 0; i < 2; i++) {
    assert_int_equal(cuzk_fr_random(&r[i]), CUZK_OK);
    assert_int_equal(cuzk_fr_random(&s[i]), CUZK_OK);
  }
  prove(&one, p, &r[0], &s[0], pool); /* the prover verifies what it makes */
  prove(&two, p, &r[1], &s[1], pool);
  assert_memory_not_equal(&one.a, &two.a, sizeof one.a);
  assert_memory_not_equal(&one.b, &two.b, sizeof one.b);
  assert_memory_not_equal(&one.c, &two.c, sizeof one.c);
  cuzk_params_close(&p);
}

static void random_toxic_waste_gives_a_working_key(void **state) {
  (void)state;
  struct cuzk_toxic t;
  struct cuzk_params *p = NULL;
  struct cuzk_proof proof;
  assert_int_equal(cuzk_toxic_random(&t), CUZK_OK);
  assert_false(cuzk_fr_is_zero(&t.alpha) || cuzk_fr_eq(&t.alpha, &t.beta));
  assert_int_equal(cuzk_params_generate(key.vk, &key.system, &t, NULL, pool, NULL, NULL), CUZK_OK);
  assert_int_equal(cuzk_params_open(&p, key.vk, NULL), CUZK_OK);
  prove(&proof, p, &key.r, &key.s, pool);
  cuzk_params_close(&p);
}

static void a_witness_that_does_not_satisfy_gives_no_proof(void **state) {
  (void)state;
  struct cuzk_params *p = open_toy();
  struct cuzk_detail d = {{0}};
  struct cuzk_proof proof;
  for (int j = 0; j < 5; j++) {
    const cuzk_fr saved = key.aux[j];
    cuzk_fr_add(&key.aux[j], &key.aux[j], &cuzk_fr_one);
    toy_fill_rows(&key);
    assert_int_equal(cuzk_groth16_prove(&proof, p, &key.shape, &key.z, key.abc, &key.r, &key.s, pool, NULL, NULL, &d),
                     CUZK_E_UNSAT);
    assert_non_null(strstr(d.text, "A B = C"));
    key.aux[j] = saved;
  }
  /* Row values of another witness than the one given: the quotient exists, the proof is wrong. */
  toy_fill_rows(&key);
  cuzk_fr_add(&key.aux[2], &key.aux[2], &cuzk_fr_one);
  assert_int_equal(cuzk_groth16_prove(&proof, p, &key.shape, &key.z, key.abc, &key.r, &key.s, pool, NULL, NULL, &d),
                   CUZK_E_UNSAT);
  assert_non_null(strstr(d.text, "does not verify"));
  cuzk_fr_sub(&key.aux[2], &key.aux[2], &cuzk_fr_one);
  cuzk_params_close(&p);
}

/* Every allocation on the way from the circuit to a verified proof fails once. */
static void every_failed_allocation_is_survived(void **state) {
  (void)state;
  const int64_t live = cuzk_alloc_live();
  struct cuzk_detail d;
  uint64_t counted[4] = {0};
  for (int which = 0; which < 4; which++) {
    for (uint64_t n = 1;; n++) {
      struct cuzk_params *p = NULL;
      struct cuzk_pvk *pvk = NULL;
      struct cuzk_proof proof[2];
      enum cuzk_status st;
      bool ok = false;
      if (which == 2 || which == 3) p = open_toy();
      if (which == 3) prove(&proof[0], p, &key.r, &key.s, NULL), proof[1] = proof[0];
      const int64_t before = cuzk_alloc_live();
      toy_fill_rows(&key);
      cuzk_alloc_fail_at(n);
      switch (which) {
        case 0: st = cuzk_params_generate(key.vk, &key.system, &key.toxic, NULL, pool, NULL, &d); break;
        case 1: st = cuzk_params_open(&p, key.params, &d); break;
        case 2:
          st = cuzk_groth16_prove(&proof[0], p, &key.shape, &key.z, key.abc, &key.r, &key.s, pool, NULL, NULL, &d);
          break;
        default: {
          const cuzk_fr u[4] = {key.inputs[1], key.inputs[2], key.inputs[1], key.inputs[2]};
          st = cuzk_pvk_create(&pvk, &p->vk);
          if (st == CUZK_OK) st = cuzk_groth16_verify_batch(&ok, pvk, proof, 2, u, 2, pool, &d);
          cuzk_pvk_destroy(&pvk);
        }
      }
      counted[which] = cuzk_alloc_count();
      cuzk_alloc_fail_at(0);
      if (which != 1) assert_int_equal(cuzk_alloc_live(), before);
      if (st != CUZK_OK) {
        assert_int_equal(st, CUZK_E_NOMEM);
        assert_false(ok);
      }
      if (which == 1 && st != CUZK_OK) assert_null(p);
      cuzk_params_close(&p);
      assert_int_equal(cuzk_alloc_live(), live);
      if (which == 0) assert_int_equal(toy_dir_entries(&key), 2);
      if (st == CUZK_OK) {
        if (which == 3) assert_true(ok);
        assert_true(counted[which] < n);
        break;
      }
    }
    assert_true(counted[which] > 0);
  }
}

static int group_setup(void **state) {
  (void)state;
  toy_key_init(&key);
  return cuzk_pool_create(&pool, 2) == CUZK_OK ? 0 : 1;
}

static int group_teardown(void **state) {
  (void)state;
  cuzk_pool_destroy(&pool);
  toy_key_clear(&key);
  return 0;
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_scalars_are_those_of_the_appendix),
      cmocka_unit_test(the_shape_has_the_densities_of_the_appendix),
      cmocka_unit_test(the_parameter_file_is_the_appendix_one), /* the others use its file */
      cmocka_unit_test(the_verifying_key_is_the_appendix_one),
      cmocka_unit_test(the_sections_have_the_appendix_counts),
      cmocka_unit_test(the_five_sums_are_those_of_the_appendix),
      cmocka_unit_test(the_proofs_are_those_of_the_appendix),
      cmocka_unit_test(the_proofs_verify_for_7_and_832_only),
      cmocka_unit_test(random_blinding_gives_other_proofs_that_verify),
      cmocka_unit_test(random_toxic_waste_gives_a_working_key),
      cmocka_unit_test(a_witness_that_does_not_satisfy_gives_no_proof),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests_name("toy key", tests, group_setup, group_teardown);
}
