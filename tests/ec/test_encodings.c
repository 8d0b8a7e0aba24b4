/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Formats specification 2.2: what decodes, what is refused and with which status. */
#include "ec/g1.h"
#include "ec/g2.h"
#include "testing.h"

static void from_hex(uint8_t *out, const char *hex) {
  for (size_t i = 0; hex[2 * i]; i++) {
    unsigned v = 0;
    assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
    out[i] = (uint8_t)v;
  }
}

#define G1_X "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
#define G1_Y "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"
#define G2_X0 "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
#define G2_X1 "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"
#define G2_Y0 "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"
#define G2_Y1 "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be"

static void generators_have_the_published_bytes(void **state) {
  (void)state;
  uint8_t want[192], got[192];
  from_hex(want, G1_X G1_Y);
  cuzk_g1_encode(got, &cuzk_g1_generator);
  assert_memory_equal(got, want, 96);
  cuzk_g1_compress(got, &cuzk_g1_generator);
  want[0] |= 0x80;
  assert_memory_equal(got, want, 48);
  cuzk_g1_affine m;
  cuzk_g1_affine_neg(&m, &cuzk_g1_generator);
  cuzk_g1_compress(got, &m);
  assert_int_equal(got[0], 0xb7);
  from_hex(want, G2_X1 G2_X0 G2_Y1 G2_Y0);
  cuzk_g2_encode(got, &cuzk_g2_generator);
  assert_memory_equal(got, want, 192);
  cuzk_g2_compress(got, &cuzk_g2_generator);
  want[0] |= 0x80;
  assert_memory_equal(got, want, 96);
}

/* The n-th multiple of the generator, either sign. */
static void sample_g1(cuzk_g1_affine *p, uint64_t n) {
  cuzk_g1 j;
  cuzk_g1_from_affine(&j, &cuzk_g1_generator);
  cuzk_g1_mul_limbs_var(&j, &j, &n, 1);
  if (n % 2) cuzk_g1_neg(&j, &j);
  cuzk_g1_to_affine(p, &j);
}
static void sample_g2(cuzk_g2_affine *p, uint64_t n) {
  cuzk_g2 j;
  cuzk_g2_from_affine(&j, &cuzk_g2_generator);
  cuzk_g2_mul_limbs_var(&j, &j, &n, 1);
  if (n % 2) cuzk_g2_neg(&j, &j);
  cuzk_g2_to_affine(p, &j);
}

/* p, big-endian */
static const char modulus_hex[] =
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab";

#define ENCODING_TESTS(G, N)                                                                                               \
  static enum cuzk_status G##_try(const uint8_t *b, bool compressed) {                                                     \
    cuzk_##G##_affine p, untouched;                                                                                        \
    memset(&untouched, 0x5a, sizeof untouched);                                                                            \
    p = untouched;                                                                                                         \
    const enum cuzk_status st = compressed ? cuzk_##G##_decompress(&p, b) : cuzk_##G##_decode(&p, b);                      \
    if (st != CUZK_OK) assert_memory_equal(&p, &untouched, sizeof p);                                                      \
    else assert_true(cuzk_##G##_affine_on_curve(&p));                                                                      \
    return st;                                                                                                             \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_round_trips(void **state) {                                                                              \
    (void)state;                                                                                                           \
    for (uint64_t n = 0; n < 30; n++) {                                                                                    \
      cuzk_##G##_affine p, q;                                                                                              \
      uint8_t b[2 * N], c[N];                                                                                              \
      sample_##G(&p, n);                                                                                                   \
      cuzk_##G##_encode(b, &p);                                                                                            \
      assert_int_equal(b[0] & 0xe0, n == 0 ? 0x40 : 0);                                                                    \
      assert_int_equal(cuzk_##G##_decode(&q, b), CUZK_OK);                                                                 \
      assert_true(cuzk_##G##_affine_eq(&p, &q));                                                                           \
      cuzk_##G##_compress(c, &p);                                                                                          \
      memset(&q, 0, sizeof q);                                                                                             \
      assert_int_equal(cuzk_##G##_decompress(&q, c), CUZK_OK);                                                             \
      assert_true(cuzk_##G##_affine_eq(&p, &q));                                                                           \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_every_flag_combination_is_judged(void **state) {                                                         \
    (void)state;                                                                                                           \
    cuzk_##G##_affine p, q;                                                                                                \
    uint8_t b[2 * N], c[N], t[2 * N];                                                                                      \
    sample_##G(&p, 5);                                                                                                     \
    cuzk_##G##_encode(b, &p);                                                                                              \
    cuzk_##G##_compress(c, &p);                                                                                            \
    for (unsigned f = 0; f < 8; f++) {                                                                                     \
      memcpy(t, b, 2 * N);                                                                                                 \
      t[0] = (uint8_t)((t[0] & 0x1f) | (f << 5));                                                                          \
      assert_int_equal(G##_try(t, false), f == 0 ? CUZK_OK : CUZK_E_FORMAT);                                               \
      memcpy(t, c, N);                                                                                                     \
      t[0] = (uint8_t)((t[0] & 0x1f) | (f << 5));                                                                          \
      assert_int_equal(G##_try(t, true), f == 4 || f == 5 ? CUZK_OK : CUZK_E_FORMAT);                                      \
      memset(t, 0, sizeof t); /* all other bits zero */                                                                    \
      t[0] = (uint8_t)(f << 5);                                                                                            \
      /* flags 0: the coordinates (0, 0), which are not on the curve */                                                    \
      assert_int_equal(G##_try(t, false), f == 2 ? CUZK_OK : f == 0 ? CUZK_E_NOT_CURVE : CUZK_E_FORMAT);                   \
      if (f != 4 && f != 5) assert_int_equal(G##_try(t, true), f == 6 ? CUZK_OK : CUZK_E_FORMAT);                          \
    }                                                                                                                      \
    c[0] ^= 0x20; /* the other root is the opposite point */                                                               \
    assert_int_equal(cuzk_##G##_decompress(&q, c), CUZK_OK);                                                               \
    cuzk_##G##_affine_neg(&q, &q);                                                                                         \
    assert_true(cuzk_##G##_affine_eq(&p, &q));                                                                             \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_infinity_has_one_encoding(void **state) {                                                                \
    (void)state;                                                                                                           \
    uint8_t t[2 * N];                                                                                                      \
    for (size_t bit = 0; bit < 8 * 2 * N; bit++) {                                                                         \
      memset(t, 0, sizeof t);                                                                                              \
      t[0] = 0x40;                                                                                                         \
      assert_int_equal(G##_try(t, false), CUZK_OK);                                                                        \
      if (bit != 1) { /* bit 1 from the top is the infinity flag itself */                                                 \
        t[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));                                                                        \
        assert_int_equal(G##_try(t, false), CUZK_E_FORMAT);                                                                \
      }                                                                                                                    \
      if (bit >= 8 * N || bit <= 1) continue;                                                                              \
      memset(t, 0, sizeof t);                                                                                              \
      t[0] = 0xc0;                                                                                                         \
      assert_int_equal(G##_try(t, true), CUZK_OK);                                                                         \
      t[bit / 8] ^= (uint8_t)(0x80 >> (bit % 8));                                                                          \
      assert_int_equal(G##_try(t, true), CUZK_E_FORMAT);                                                                   \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_coordinates_are_below_the_modulus(void **state) {                                                        \
    (void)state;                                                                                                           \
    cuzk_##G##_affine p;                                                                                                   \
    uint8_t b[2 * N], c[N], t[2 * N], m[48];                                                                               \
    from_hex(m, modulus_hex);                                                                                              \
    sample_##G(&p, 6);                                                                                                     \
    cuzk_##G##_encode(b, &p);                                                                                              \
    cuzk_##G##_compress(c, &p);                                                                                            \
    for (size_t at = 0; at < 2 * N; at += 48) {                                                                            \
      memcpy(t, b, 2 * N);                                                                                                 \
      memcpy(t + at, m, 48); /* exactly p, then the largest number of 381 bits */                                          \
      assert_int_equal(G##_try(t, false), CUZK_E_FORMAT);                                                                  \
      t[at] = 0x1f;                                                                                                        \
      memset(t + at + 1, 0xff, 47);                                                                                        \
      assert_int_equal(G##_try(t, false), CUZK_E_FORMAT);                                                                  \
      if (at > 0) { /* flag bits in a later coordinate are part of the number */                                           \
        memcpy(t, b, 2 * N);                                                                                               \
        t[at] |= 0x80;                                                                                                     \
        assert_int_equal(G##_try(t, false), CUZK_E_FORMAT);                                                                \
      }                                                                                                                    \
      if (at >= N) continue;                                                                                               \
      memcpy(t, c, N);                                                                                                     \
      memcpy(t + at, m, 48);                                                                                               \
      if (at == 0) t[0] |= 0x80;                                                                                           \
      assert_int_equal(G##_try(t, true), CUZK_E_FORMAT);                                                                   \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_any_flipped_bit_leaves_the_curve(void **state) {                                                         \
    (void)state;                                                                                                           \
    cuzk_##G##_affine p;                                                                                                   \
    uint8_t b[2 * N];                                                                                                      \
    sample_##G(&p, 9);                                                                                                     \
    cuzk_##G##_encode(b, &p);                                                                                              \
    for (size_t bit = 0; bit < 8 * 2 * N; bit++) {                                                                         \
      b[bit / 8] ^= (uint8_t)(1u << (bit % 8));                                                                            \
      const enum cuzk_status st = G##_try(b, false);                                                                       \
      assert_true(st == CUZK_E_NOT_CURVE || st == CUZK_E_FORMAT);                                                          \
      b[bit / 8] ^= (uint8_t)(1u << (bit % 8));                                                                            \
    }                                                                                                                      \
    int off = 0; /* about half of all x have no y */                                                                       \
    for (unsigned i = 0; i < 60; i++) {                                                                                    \
      uint8_t c[N] = {0x80};                                                                                               \
      c[N - 1] = (uint8_t)(i + 1);                                                                                         \
      const enum cuzk_status st = G##_try(c, true);                                                                        \
      assert_true(st == CUZK_OK || st == CUZK_E_NOT_CURVE);                                                                \
      off += st == CUZK_E_NOT_CURVE;                                                                                       \
    }                                                                                                                      \
    assert_true(off > 10 && off < 50);                                                                                     \
  }                                                                                                                        \
                                                                                                                           \
  static void G##_batches_name_the_first_bad_point(void **state) {                                                         \
    (void)state;                                                                                                           \
    enum { COUNT = 20 };                                                                                                   \
    cuzk_##G##_affine p[COUNT], q[COUNT];                                                                                  \
    uint8_t b[COUNT * 2 * N];                                                                                              \
    size_t bad = 99;                                                                                                       \
    for (size_t i = 0; i < COUNT; i++) {                                                                                   \
      sample_##G(&p[i], i);                                                                                                \
      cuzk_##G##_encode(b + i * 2 * N, &p[i]);                                                                             \
    }                                                                                                                      \
    assert_int_equal(cuzk_##G##_decode_batch(q, b, COUNT, &bad), CUZK_OK);                                                 \
    assert_int_equal(bad, 99);                                                                                             \
    for (size_t i = 0; i < COUNT; i++) assert_true(cuzk_##G##_affine_eq(&p[i], &q[i]));                                    \
    assert_int_equal(cuzk_##G##_decode_batch(q, b, 0, &bad), CUZK_OK);                                                     \
    b[17 * 2 * N] |= 0x80;                                                                                                 \
    b[12 * 2 * N + 2 * N - 1] ^= 1;                                                                                        \
    memset(q, 0x5a, sizeof q);                                                                                             \
    assert_int_equal(cuzk_##G##_decode_batch(q, b, COUNT, &bad), CUZK_E_NOT_CURVE);                                        \
    assert_int_equal(bad, 12);                                                                                             \
    assert_true(cuzk_##G##_affine_eq(&p[11], &q[11]));                                                                     \
    assert_int_equal(q[12].x.SAMPLE_WORD_##G, 0x5a5a5a5a5a5a5a5a);                                                         \
    assert_int_equal(cuzk_##G##_decode_batch(q, b + 13 * 2 * N, COUNT - 13, &bad), CUZK_E_FORMAT);                         \
    assert_int_equal(bad, 4);                                                                                              \
  }

#define SAMPLE_WORD_g1 l[0]
#define SAMPLE_WORD_g2 c0.l[0]
ENCODING_TESTS(g1, 48)
ENCODING_TESTS(g2, 96)

static void g1_refuses_x_zero(void **state) {
  (void)state;
  uint8_t b[96] = {0}, c[48] = {0x80};
  b[95] = 2; /* (0, 2) is on the curve and has order 3 */
  assert_int_equal(g1_try(b, false), CUZK_E_NOT_GROUP);
  assert_int_equal(g1_try(c, true), CUZK_E_NOT_GROUP);
  c[0] = 0xa0;
  assert_int_equal(g1_try(c, true), CUZK_E_NOT_GROUP);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generators_have_the_published_bytes),
      cmocka_unit_test(g1_round_trips),
      cmocka_unit_test(g2_round_trips),
      cmocka_unit_test(g1_every_flag_combination_is_judged),
      cmocka_unit_test(g2_every_flag_combination_is_judged),
      cmocka_unit_test(g1_infinity_has_one_encoding),
      cmocka_unit_test(g2_infinity_has_one_encoding),
      cmocka_unit_test(g1_coordinates_are_below_the_modulus),
      cmocka_unit_test(g2_coordinates_are_below_the_modulus),
      cmocka_unit_test(g1_any_flipped_bit_leaves_the_curve),
      cmocka_unit_test(g2_any_flipped_bit_leaves_the_curve),
      cmocka_unit_test(g1_batches_name_the_first_bad_point),
      cmocka_unit_test(g2_batches_name_the_first_bad_point),
      cmocka_unit_test(g1_refuses_x_zero),
  };
  return cmocka_run_group_tests_name("encodings", tests, NULL, NULL);
}
