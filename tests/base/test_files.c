/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "testing.h"

#include <dirent.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/file.h"
#include "base/hex.h"

static char folder[64];
static struct cuzk_detail d;

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/cuzk-files-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static size_t files_in_folder(void) {
  size_t n = 0;
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) n += e->d_name[0] != '.';
  (void)closedir(dir);
  return n;
}

static const char *path_of(const char *name) {
  static char path[2][128];
  static int turn;
  turn ^= 1;
  (void)snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
  return path[turn];
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const names[] = {"a", "b", "link", "fifo", "empty"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) (void)unlink(path_of(names[i]));
  return rmdir(folder);
}

static void hex_text(void **state) {
  (void)state;
  char s[65];
  uint8_t in[32], out[32];
  for (int round = 0; round < 200; round++) {
    size_t n = test_rand() % 33, bad;
    for (size_t i = 0; i < n; i++) in[i] = (uint8_t)test_rand();
    cuzk_hex_encode(s, in, n);
    assert_int_equal(strlen(s), 2 * n);
    assert_true(cuzk_hex_decode(out, n, s, 2 * n, NULL));
    assert_memory_equal(in, out, n);
    if (!n) continue;
    assert_false(cuzk_hex_decode(out, n, s, 2 * n - 1, &bad));
    assert_int_equal(bad, 2 * n - 1);
    assert_false(cuzk_hex_decode(out, n - 1, s, 2 * n, &bad));
    assert_int_equal(bad, 2 * n - 2);
    size_t at = test_rand() % (2 * n);
    s[at] = "gG/:@`\x80 "[test_rand() % 8];
    assert_false(cuzk_hex_decode(out, n, s, 2 * n, &bad));
    assert_int_equal(bad, at);
  }
  assert_true(cuzk_hex_decode(out, 3, "aBcDeF", 6, NULL));
  assert_memory_equal(out, "\xab\xcd\xef", 3);
}

static enum cuzk_base64_error decode(const char *s, size_t *n, size_t *bad) {
  uint8_t out[64];
  *bad = SIZE_MAX;
  return cuzk_base64_decode(out, n, (const uint8_t *)s, strlen(s), bad);
}

static void base64_text(void **state) {
  (void)state;
  static const struct { const char *plain, *text; } rfc[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
                                                            {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
  char s[300];
  uint8_t in[200], out[300];
  size_t n, bad;
  for (size_t i = 0; i < sizeof rfc / sizeof *rfc; i++) {
    cuzk_base64_encode(s, rfc[i].plain, strlen(rfc[i].plain));
    assert_string_equal(s, rfc[i].text);
    assert_int_equal(cuzk_base64_decode(out, &n, (const uint8_t *)s, strlen(s), NULL), CUZK_BASE64_OK);
    assert_int_equal(n, strlen(rfc[i].plain));
    assert_memory_equal(out, rfc[i].plain, n);
  }
  for (int round = 0; round < 500; round++) {
    size_t n_in = test_rand() % sizeof in;
    for (size_t i = 0; i < n_in; i++) in[i] = (uint8_t)test_rand();
    cuzk_base64_encode(s, in, n_in);
    assert_int_equal(strlen(s), cuzk_base64_encoded(n_in));
    memcpy(out, s, strlen(s));
    /* In place. */
    assert_int_equal(cuzk_base64_decode(out, &n, out, strlen(s), &bad), CUZK_BASE64_OK);
    assert_int_equal(n, n_in);
    assert_memory_equal(in, out, n);
  }
  assert_int_equal(decode("Zm9vY", &n, &bad), CUZK_BASE64_LENGTH);
  assert_int_equal(decode("Zm9vYg=", &n, &bad), CUZK_BASE64_LENGTH);
  assert_int_equal(decode("Zm9v\nYg=", &n, &bad), CUZK_BASE64_ALPHABET);
  assert_int_equal(bad, 4);
  assert_int_equal(decode("Zm-_", &n, &bad), CUZK_BASE64_ALPHABET);
  assert_int_equal(bad, 2);
  assert_int_equal(decode("Zg==Zm9v", &n, &bad), CUZK_BASE64_PADDING);
  assert_int_equal(bad, 2);
  assert_int_equal(decode("Z===", &n, &bad), CUZK_BASE64_PADDING);
  assert_int_equal(bad, 1);
  assert_int_equal(decode("====", &n, &bad), CUZK_BASE64_PADDING);
  assert_int_equal(decode("Zg=a", &n, &bad), CUZK_BASE64_PADDING);
  assert_int_equal(decode("Zh==", &n, &bad), CUZK_BASE64_BITS);
  assert_int_equal(bad, 1);
  assert_int_equal(decode("Zm9=", &n, &bad), CUZK_BASE64_BITS);
  assert_int_equal(bad, 2);
}

static void base64_alphabet_is_exact(void **state) {
  (void)state;
  for (int pos = 0; pos < 8; pos++) {
    for (int c = 1; c < 256; c++) {
      char s[9] = "AAAAAAAA";
      size_t n, bad;
      s[pos] = (char)c;
      bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
      if (c == '=' && pos == 7) letter = true; /* AAAAAAA= decodes to five bytes */
      assert_int_equal(decode(s, &n, &bad) == CUZK_BASE64_OK, letter);
    }
  }
}

static void reading(void **state) {
  (void)state;
  struct cuzk_file f;
  enum cuzk_status (*const how[2])(struct cuzk_file *, const char *, uint64_t, struct cuzk_detail *) = {cuzk_file_read, cuzk_file_map};
  assert_int_equal(cuzk_file_write(path_of("a"), "hello", 5, &d), CUZK_OK);
  FILE *e = fopen(path_of("empty"), "w");
  assert_non_null(e);
  (void)fclose(e);
  assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(how[i](&f, path_of("a"), 5, &d), CUZK_OK);
    assert_int_equal(f.n, 5);
    assert_memory_equal(f.data, "hello", 5);
    cuzk_file_clear(&f);
    assert_null(f.data);
    cuzk_file_clear(&f);
    assert_int_equal(how[i](&f, path_of("a"), 4, &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "at most 4 expected"));
    assert_int_equal(how[i](&f, path_of("none"), 4, &d), CUZK_E_NOENT);
    assert_non_null(strstr(d.text, "none"));
    assert_int_equal(how[i](&f, folder, 1 << 20, &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "is a folder"));
    assert_int_equal(how[i](&f, path_of("empty"), 4, &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "file is empty"));
    assert_int_equal(how[i](&f, path_of("fifo"), 4, &d), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "not a regular file"));
    assert_null(f.data);
  }
  cuzk_alloc_fail_at(1);
  assert_int_equal(cuzk_file_read(&f, path_of("a"), 5, &d), CUZK_E_NOMEM);
  cuzk_alloc_fail_at(0);
}

static void writing(void **state) {
  (void)state;
  struct cuzk_outfile *f;
  struct cuzk_file back;
  const size_t before = files_in_folder();
  assert_int_equal(cuzk_file_write(path_of("b"), "old", 3, &d), CUZK_OK);

  /* Aborted: the old content stays and nothing else does. */
  assert_int_equal(cuzk_outfile_open(&f, path_of("b"), &d), CUZK_OK);
  assert_int_equal(files_in_folder(), before + 2);
  assert_int_equal(cuzk_outfile_write(f, "new", 3, &d), CUZK_OK);
  cuzk_outfile_abort(&f);
  assert_null(f);
  cuzk_outfile_abort(&f);
  assert_int_equal(files_in_folder(), before + 1);

  /* A large one, in uneven pieces, patched. */
  static uint8_t data[3 << 20];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)test_rand();
  assert_int_equal(cuzk_outfile_open(&f, path_of("b"), &d), CUZK_OK);
  for (size_t at = 0; at < sizeof data;) {
    size_t n = test_rand() % 8 ? test_rand() % 5000 : test_rand() % (2 << 20);
    if (n > sizeof data - at) n = sizeof data - at;
    assert_int_equal(cuzk_outfile_write(f, data + at, n, &d), CUZK_OK);
    at += n;
  }
  assert_int_equal(cuzk_outfile_size(f), sizeof data);
  assert_int_equal(cuzk_outfile_patch(f, 5, "patch", 5, &d), CUZK_OK);
  memcpy(data + 5, "patch", 5);
  assert_int_equal(cuzk_outfile_patch(f, sizeof data - 2, "abc", 3, &d), CUZK_E_ARG);
  assert_int_equal(cuzk_outfile_write(f, "end", 3, &d), CUZK_OK);
  assert_int_equal(cuzk_outfile_commit(&f, &d), CUZK_OK);
  assert_null(f);
  assert_int_equal(files_in_folder(), before + 1);
  assert_int_equal(cuzk_file_read(&back, path_of("b"), 1 << 30, &d), CUZK_OK);
  assert_int_equal(back.n, sizeof data + 3);
  assert_memory_equal(back.data, data, sizeof data);
  assert_memory_equal(back.data + sizeof data, "end", 3);
  cuzk_file_clear(&back);

  /* Through a symbolic link: the link stays one. */
  assert_int_equal(symlink(path_of("b"), path_of("link")), 0);
  assert_int_equal(cuzk_file_write(path_of("link"), "x", 1, &d), CUZK_OK);
  struct stat s;
  assert_int_equal(lstat(path_of("link"), &s), 0);
  assert_true(S_ISLNK(s.st_mode));
  assert_int_equal(stat(path_of("b"), &s), 0);
  assert_int_equal(s.st_size, 1);

  assert_int_equal(cuzk_outfile_open(&f, folder, &d), CUZK_E_FORMAT);
  assert_int_equal(cuzk_outfile_open(&f, path_of("none/x"), &d), CUZK_E_NOENT);
  for (uint64_t k = 1; k <= 4; k++) {
    cuzk_alloc_fail_at(k);
    assert_int_equal(cuzk_outfile_open(&f, path_of("b"), &d), CUZK_E_NOMEM);
    cuzk_alloc_fail_at(0);
    assert_null(f);
  }
  assert_int_equal(files_in_folder(), before + 2);
}

static void no_space(void **state) {
  (void)state;
  struct stat s;
  if (stat("/dev/full", &s) == 0 && S_ISCHR(s.st_mode)) {
    assert_int_equal(cuzk_file_write("/dev/full", "x", 1, &d), CUZK_E_NOSPC);
    assert_non_null(strstr(d.text, "/dev/full"));
    assert_int_equal(stat("/dev/full", &s), 0);
    assert_true(S_ISCHR(s.st_mode));
  }
  /* A file that may not grow any further: the write fails, and the temporary file goes. */
  struct rlimit old, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = (struct rlimit){4096, old.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  const size_t before = files_in_folder();
  static uint8_t data[10000];
  enum cuzk_status st = cuzk_file_write(path_of("a"), data, sizeof data, &d);
  (void)setrlimit(RLIMIT_FSIZE, &old);
  (void)signal(SIGXFSZ, handler);
  assert_int_equal(st, CUZK_E_IO);
  assert_int_equal(files_in_folder(), before);
  struct cuzk_file f;
  assert_int_equal(cuzk_file_read(&f, path_of("a"), 100, &d), CUZK_OK);
  assert_memory_equal(f.data, "hello", 5);
  cuzk_file_clear(&f);
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hex_text),
      cmocka_unit_test(base64_text),
      cmocka_unit_test(base64_alphabet_is_exact),
      cmocka_unit_test(reading),
      cmocka_unit_test(writing),
      cmocka_unit_test(no_space),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
