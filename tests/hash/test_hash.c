/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include "hash/blake2b.h"
#include "hash/chacha.h"
#include "hash/sha256.h"

static void hex(char *out, const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) snprintf(out + 2 * i, 3, "%02x", p[i]);
}
#define ASSERT_HEX(bytes, n, want)   \
  do {                               \
    char text[2 * (n) + 1];          \
    hex(text, bytes, n);             \
    assert_string_equal(text, want); \
  } while (0)

static void sha256_known_answers(void **state) {
  (void)state;
  uint8_t d[32];
  cuzk_sha256(d, "", 0);
  ASSERT_HEX(d, 32, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  cuzk_sha256(d, "abc", 3);
  ASSERT_HEX(d, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  cuzk_sha256(d, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
  ASSERT_HEX(d, 32, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  struct cuzk_sha256 s;
  cuzk_sha256_init(&s);
  char a[1000];
  memset(a, 'a', sizeof a);
  for (int i = 0; i < 1000; i++) cuzk_sha256_update(&s, a, sizeof a);
  cuzk_sha256_final(&s, d);
  ASSERT_HEX(d, 32, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void sha256_any_split_gives_the_same(void **state) {
  (void)state;
  uint8_t msg[300];
  for (size_t i = 0; i < sizeof msg; i++) msg[i] = (uint8_t)test_rand();
  for (size_t n = 0; n <= sizeof msg; n++) {
    uint8_t one[32], parts[32];
    cuzk_sha256(one, msg, n);
    struct cuzk_sha256 s;
    cuzk_sha256_init(&s);
    for (size_t at = 0; at < n;) {
      size_t k = test_rand() % 130;
      if (k > n - at) k = n - at;
      cuzk_sha256_update(&s, msg + at, k);
      at += k;
    }
    cuzk_sha256_final(&s, parts);
    assert_memory_equal(one, parts, 32);
  }
}

static void blake2b_known_answers(void **state) {
  (void)state;
  uint8_t d[64], key[64], msg[255];
  cuzk_blake2b(d, 64, NULL, 0, "abc", 3);
  ASSERT_HEX(d, 64,
             "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4"
             "009923");
  for (int i = 0; i < 64; i++) key[i] = (uint8_t)i;
  for (int i = 0; i < 255; i++) msg[i] = (uint8_t)i;
  cuzk_blake2b(d, 64, key, 64, msg, 0);
  ASSERT_HEX(d, 64,
             "10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13f"
             "c51568");
  cuzk_blake2b(d, 64, key, 64, msg, 255);
  ASSERT_HEX(d, 64,
             "142709d62e28fcccd0af97fad0f8465b971e82201dc51070faa0372aa43e92484be1c1e73ba10906d5d1853db6a4106e0a7bf9800d373d6dee2d46d62e"
             "f2a461");
  cuzk_blake2b(d, 32, NULL, 0, "", 0);
  ASSERT_HEX(d, 32, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
}

static void blake2b_any_split_gives_the_same(void **state) {
  (void)state;
  uint8_t msg[400], one[64], parts[64];
  for (size_t i = 0; i < sizeof msg; i++) msg[i] = (uint8_t)test_rand();
  for (size_t n = 0; n <= sizeof msg; n += 16) {
    cuzk_blake2b(one, 48, msg, 7, msg, n);
    struct cuzk_blake2b s;
    cuzk_blake2b_init(&s, 48, msg, 7);
    for (size_t at = 0; at < n;) {
      size_t k = 1 + test_rand() % 150;
      if (k > n - at) k = n - at;
      cuzk_blake2b_update(&s, msg + at, k);
      at += k;
    }
    cuzk_blake2b_final(&s, parts);
    assert_memory_equal(one, parts, 48);
  }
}

static void chacha_known_answers(void **state) {
  (void)state;
  uint8_t key[32], out[64];
  for (int i = 0; i < 32; i++) key[i] = (uint8_t)i;
  /* RFC 8439, 2.3.2: counter 1, nonce 000000090000004a00000000. */
  cuzk_chacha_block(out, key, (const uint32_t[4]){1, 0x09000000, 0x4a000000, 0}, 20);
  ASSERT_HEX(out, 64,
             "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4ed2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2"
             "503c4e");
  memset(key, 0, sizeof key);
  cuzk_chacha_block(out, key, (const uint32_t[4]){0}, 8);
  ASSERT_HEX(out, 64,
             "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e"
             "0cfe42");
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_known_answers),  cmocka_unit_test(sha256_any_split_gives_the_same),
      cmocka_unit_test(blake2b_known_answers), cmocka_unit_test(blake2b_any_split_gives_the_same),
      cmocka_unit_test(chacha_known_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
