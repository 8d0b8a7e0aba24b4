/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/json_write.h"

static struct cuzk_detail d;

static enum cuzk_status open_text(struct cuzk_json **j, const char *s) {
  memset(&d, 0, sizeof d);
  return cuzk_json_open(j, (const uint8_t *)s, strlen(s), 1 << 20, "doc", &d);
}

/* Reads a whole document by skipping it. */
static enum cuzk_status check_n(const char *s, size_t n) {
  struct cuzk_json *j;
  memset(&d, 0, sizeof d);
  enum cuzk_status st = cuzk_json_open(&j, (const uint8_t *)s, n, 1 << 20, "doc", &d);
  if (st != CUZK_OK) return st;
  st = cuzk_json_skip(j);
  if (st == CUZK_OK) st = cuzk_json_end(j);
  cuzk_json_close(&j);
  return st;
}

static void grammar_accepts(void **state) {
  (void)state;
  static const char *const good[] = {
      "0", "-0", "1", "-1", "10", "1.5", "1e5", "1E+5", "1.25e-7", "true", "false", "null", "\"\"", "\"a\"", "[]", "{}", " [ ] ",
      "[1,2]", "[[],[]]", "{\"a\":1}", "{\"a\":{\"b\":[1,{\"c\":null}]}}", "\"\\u0041\\n\\\\\\/\\\"\"", "\"\\ud83d\\ude00\"",
      "\t{\r\n\"a\" : [ 1 , 2 ] }\n", "{\"a\":1,\"a\":2}", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\"\\\\\"", "[\"\\\\\",\"\\\"\"]"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    if (check_n(good[i], strlen(good[i])) != CUZK_OK) fail_msg("%s refused: %s", good[i], d.text);
  }
}

static void grammar_refuses(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "", " ", "01", "+1", "1.", ".5", "1e", "1e+", "-", "--1", "1 2", "tru", "truee", "True", "nul", "nulll", "NaN", "Infinity",
      "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1 2]", "[1,,2]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}",
      "{,}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1\"b\":2}", "{a:1}", "{1:2}", "{\"a\"::1}", "{\"a\",1}", "[1:2]", "[}", "{]",
      "[[]", "[]]", "[] []", "{}{}", "[]x", "[]\"", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"",
      "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "\"a\tb\"", "1\"a\"", "\"a\"1", "\"a\"\"b\"", "\"a\"b", "[1\"a\"]", "[\"a\"1]",
      "'a'", "/*c*/1", "[1]//x", "\xef\xbb\xbf{}", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"",
      "\"\x80\"", "[\"\xc3\"]", "0x10", "1_000", "[1;2]", "\x01", "[\x0b]", "[\xc2\xa0]"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    if (check_n(wrong[i], strlen(wrong[i])) != CUZK_E_FORMAT) fail_msg("%s accepted", wrong[i]);
    assert_true(strncmp(d.text, "doc: ", 5) == 0);
  }
  assert_int_equal(check_n("1\0", 2), CUZK_E_FORMAT);
  assert_int_equal(check_n("[1\0]", 4), CUZK_E_FORMAT);
  assert_int_equal(check_n("\0", 1), CUZK_E_FORMAT);
  assert_int_equal(check_n("{\0}", 3), CUZK_E_FORMAT);
}

static void depth_limit(void **state) {
  (void)state;
  char s[2 * 4096 + 1];
  for (size_t depth = 1; depth <= 4096; depth = depth < 70 ? depth + 1 : depth * 2) {
    memset(s, '[', depth);
    memset(s + depth, ']', depth);
    assert_int_equal(check_n(s, 2 * depth), depth <= CUZK_JSON_MAX_DEPTH ? CUZK_OK : CUZK_E_FORMAT);
    /* The same through nested calls instead of skipping. */
    struct cuzk_json *j;
    assert_int_equal(cuzk_json_open(&j, (const uint8_t *)s, 2 * depth, 1 << 20, "doc", &d), CUZK_OK);
    enum cuzk_status st = CUZK_OK;
    bool more = true;
    for (size_t i = 0; i < depth && st == CUZK_OK; i++) {
      st = cuzk_json_array(j);
      if (st == CUZK_OK && i + 1 < depth) st = cuzk_json_element(j, &more);
    }
    assert_int_equal(st, depth <= CUZK_JSON_MAX_DEPTH ? CUZK_OK : CUZK_E_FORMAT);
    if (st != CUZK_OK) assert_non_null(strstr(d.text, "deeper than 64"));
    cuzk_json_close(&j);
  }
  /* Mixed: entered levels count for skipped ones, too. */
  char *p = s;
  for (int i = 0; i < 33; i++) p += sprintf(p, "{\"a\":[");
  for (int i = 0; i < 33; i++) p += sprintf(p, "]}");
  assert_int_equal(check_n(s, (size_t)(p - s)), CUZK_E_FORMAT);
}

static void messages_name_the_place(void **state) {
  (void)state;
  static const char *const names[] = {"a", "list"};
  struct cuzk_json *j;
  int m;
  bool more;
  uint64_t v;
  assert_int_equal(open_text(&j, "{\"x\":[0],\"list\":[1,2,{\"a\":256}]}"), CUZK_OK);
  assert_int_equal(cuzk_json_object(j, names, 2, 2), CUZK_OK);
  assert_int_equal(cuzk_json_member(j, &m), CUZK_OK);
  assert_int_equal(m, 1);
  assert_int_equal(cuzk_json_array(j), CUZK_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(cuzk_json_element(j, &more), CUZK_OK);
    assert_true(more);
    assert_int_equal(cuzk_json_u64(j, 255, &v), CUZK_OK);
    assert_int_equal(v, i + 1);
  }
  assert_int_equal(cuzk_json_element(j, &more), CUZK_OK);
  assert_int_equal(cuzk_json_object(j, names, 1, 1), CUZK_OK);
  assert_int_equal(cuzk_json_member(j, &m), CUZK_OK);
  assert_int_equal(cuzk_json_u64(j, 255, &v), CUZK_E_FORMAT);
  assert_string_equal(d.text, "doc: list[2].a (byte 26): expected an integer from 0 to 255, found 256");
  cuzk_json_close(&j);
}

static enum cuzk_status read_two(const char *text, uint64_t required, uint64_t *a) {
  static const char *const names[] = {"alpha", "beta"};
  struct cuzk_json *j;
  enum cuzk_status st = open_text(&j, text);
  if (st != CUZK_OK) return st;
  st = cuzk_json_object(j, names, 2, required);
  int m = 0;
  while (st == CUZK_OK) {
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    st = m == 0 ? cuzk_json_u64(j, UINT64_MAX, a) : cuzk_json_skip(j);
  }
  if (st == CUZK_OK) st = cuzk_json_end(j);
  cuzk_json_close(&j);
  return st;
}

static void members(void **state) {
  (void)state;
  uint64_t a = 0;
  assert_int_equal(read_two("{\"alpha\":18446744073709551615}", 1, &a), CUZK_OK);
  assert_true(a == UINT64_MAX);
  assert_int_equal(read_two("{\"x\":{},\"\\u0061lpha\":5,\"y\":[1]}", 1, &a), CUZK_OK);
  assert_true(a == 5);
  assert_int_equal(read_two("{}", 0, &a), CUZK_OK);
  assert_int_equal(read_two("{\"x\":1,\"x\":2}", 0, &a), CUZK_OK);
  assert_int_equal(read_two("{\"beta\":1}", 1, &a), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "member \"alpha\" is missing"));
  assert_int_equal(read_two("{\"alpha\":1,\"beta\":2,\"al\\u0070ha\":1}", 1, &a), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "member \"alpha\" occurs twice"));
  static const char *const wrong[] = {"18446744073709551616", "-1", "1.0", "1e3", "\"1\"", "null", "[1]", "{}", "00", "99999999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char s[64];
    (void)snprintf(s, sizeof s, "{\"alpha\":%s}", wrong[i]);
    assert_int_equal(read_two(s, 1, &a), CUZK_E_FORMAT);
    assert_non_null(strstr(d.text, "expected an integer from 0"));
  }
  assert_int_equal(read_two("{\"alpha\":1,\"x\":[1,]}", 1, &a), CUZK_E_FORMAT);
  assert_int_equal(read_two("{\"alpha\":1} 2", 1, &a), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "nothing after the document"));
  assert_int_equal(read_two("[]", 1, &a), CUZK_E_FORMAT);
  assert_int_equal(read_two("{\"\\ud83d\":1,\"alpha\":1}", 1, &a), CUZK_E_FORMAT);
}

static enum cuzk_status read_bytes(const char *text, uint8_t out[32]) {
  struct cuzk_json *j;
  enum cuzk_status st = open_text(&j, text);
  if (st != CUZK_OK) return st;
  st = cuzk_json_bytes(j, out, 32);
  if (st == CUZK_OK) st = cuzk_json_end(j);
  cuzk_json_close(&j);
  return st;
}

static void byte_arrays(void **state) {
  (void)state;
  for (int round = 0; round < 2000; round++) {
    uint8_t in[34], out[32];
    char s[512], *p = s;
    const size_t n = round % 5 ? 32 : 31 + test_rand() % 3;
    const bool spaced = test_rand() % 2;
    int worst = -1; /* the element that is out of range */
    if (test_rand() % 4 == 0) worst = (int)(test_rand() % n);
    *p++ = '[';
    for (size_t i = 0; i < n; i++) {
      in[i] = (uint8_t)(test_rand() % 3 ? test_rand() : test_rand() % 11);
      unsigned v = in[i];
      if ((int)i == worst) v = 256 + (unsigned)(test_rand() % 5000);
      p += sprintf(p, "%s%u%s%s", spaced && test_rand() % 2 ? " " : "", v, spaced && test_rand() % 2 ? "\n" : "", i + 1 < n ? "," : "");
    }
    *p++ = ']';
    *p = 0;
    enum cuzk_status st = read_bytes(s, out);
    assert_int_equal(st, n == 32 && worst < 0 ? CUZK_OK : CUZK_E_FORMAT);
    if (st == CUZK_OK) assert_memory_equal(in, out, 32);
  }
  uint8_t out[32];
  char s[256];
  static const char *const tails[] = {"]", ",1,2]", ",1.0]", ",-1]", ",\"1\"]", ",01]", ",null]", ",1", ",1}", ",]", ",1 1]", ",[1]]", ",1,]"};
  for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
    char *p = s;
    *p++ = '[';
    for (int i = 0; i < 31; i++) p += sprintf(p, "%s%d", i ? "," : "", i);
    (void)sprintf(p, "%s", tails[t]);
    assert_int_equal(read_bytes(s, out), CUZK_E_FORMAT);
  }
  assert_int_equal(read_bytes("[]", out), CUZK_E_FORMAT);
  assert_non_null(strstr(d.text, "expected 32 bytes, found 0"));
  assert_int_equal(read_bytes("\"00\"", out), CUZK_E_FORMAT);
  assert_int_equal(read_bytes("[", out), CUZK_E_FORMAT);
}

static void strings(void **state) {
  (void)state;
  struct cuzk_json *j;
  char s[16];
  assert_int_equal(open_text(&j, "\"a\\u00e9\\ud83d\\ude00\\n\""), CUZK_OK);
  assert_int_equal(cuzk_json_peek(j), CUZK_JSON_STRING);
  const uint8_t *view;
  size_t n;
  assert_int_equal(cuzk_json_string_view(j, &view, &n), CUZK_OK);
  assert_null(view);
  assert_int_equal(cuzk_json_string(j, s, sizeof s), CUZK_OK);
  assert_string_equal(s, "a\xc3\xa9\xf0\x9f\x98\x80\n");
  cuzk_json_close(&j);
  assert_int_equal(open_text(&j, "\"abc\""), CUZK_OK);
  assert_int_equal(cuzk_json_string_view(j, &view, &n), CUZK_OK);
  assert_int_equal(n, 3);
  assert_memory_equal(view, "abc", 3);
  assert_int_equal(cuzk_json_end(j), CUZK_OK);
  cuzk_json_close(&j);
  assert_int_equal(open_text(&j, "\"abc\""), CUZK_OK);
  assert_int_equal(cuzk_json_string(j, s, 3), CUZK_E_FORMAT);
  assert_int_equal(cuzk_json_string(j, s, 4), CUZK_OK);
  cuzk_json_close(&j);
  assert_int_equal(open_text(&j, "\"a\\u0000\""), CUZK_OK);
  assert_int_equal(cuzk_json_string(j, s, sizeof s), CUZK_E_FORMAT);
  char *dup;
  assert_int_equal(cuzk_json_string_dup(j, &dup, &n), CUZK_OK);
  assert_int_equal(n, 2);
  cuzk_free(dup);
  cuzk_json_close(&j);
  uint8_t b[2];
  static const struct { const char *s; bool ok; } hex[] = {{"\"00fF\"", true}, {"\"00f\"", false}, {"\"00ffa\"", false}, {"\"00fg\"", false},
                                                          {"\"\"", false}, {"1", false}, {"\"\\u0030f\"", false}};
  for (size_t i = 0; i < sizeof hex / sizeof *hex; i++) {
    assert_int_equal(open_text(&j, hex[i].s), CUZK_OK);
    assert_int_equal(cuzk_json_hex(j, b, 2), hex[i].ok ? CUZK_OK : CUZK_E_FORMAT);
    cuzk_json_close(&j);
  }
}

static void opening_errors(void **state) {
  (void)state;
  struct cuzk_json *j;
  assert_int_equal(open_text(&j, "[\"\xc3\xa9\", \"\xff\"]"), CUZK_E_FORMAT);
  assert_string_equal(d.text, "doc: byte 8 is not UTF-8");
  assert_int_equal(open_text(&j, "[\"a\", \"b]"), CUZK_E_FORMAT);
  assert_string_equal(d.text, "doc: string that begins at byte 6 does not end");
  assert_int_equal(open_text(&j, "[\"a\", \"b\n\"]"), CUZK_E_FORMAT);
  assert_string_equal(d.text, "doc: control character inside a string at byte 8");
  assert_int_equal(cuzk_json_open(&j, (const uint8_t *)"[1]", 3, 2, "doc", &d), CUZK_E_FORMAT);
  assert_string_equal(d.text, "doc: 3 bytes, at most 2 expected");
  assert_null(j);
}

static void mark_and_seek(void **state) {
  (void)state;
  struct cuzk_json *j;
  int m;
  uint64_t v;
  assert_int_equal(open_text(&j, "{\"p\":7,\"q\":[8],\"r\":9}"), CUZK_OK);
  assert_int_equal(cuzk_json_object(j, NULL, 0, 0), CUZK_OK);
  assert_int_equal(cuzk_json_member(j, &m), CUZK_OK);
  const struct cuzk_json_mark at = cuzk_json_here(j);
  assert_int_equal(cuzk_json_skip(j), CUZK_OK);
  assert_int_equal(cuzk_json_member(j, &m), CUZK_OK);
  assert_int_equal(cuzk_json_skip(j), CUZK_OK);
  const struct cuzk_json_mark back = cuzk_json_here(j);
  cuzk_json_seek(j, at);
  char key[4];
  assert_int_equal(cuzk_json_key(j, key, sizeof key), CUZK_OK);
  assert_string_equal(key, "p");
  assert_int_equal(cuzk_json_u64(j, 9, &v), CUZK_OK);
  assert_int_equal(v, 7);
  cuzk_json_seek(j, back);
  assert_int_equal(cuzk_json_member(j, &m), CUZK_OK);
  assert_int_equal(m, 2);
  assert_int_equal(cuzk_json_u64(j, 9, &v), CUZK_OK);
  assert_int_equal(v, 9);
  assert_int_equal(cuzk_json_member(j, &m), CUZK_OK);
  assert_int_equal(m, -1);
  assert_int_equal(cuzk_json_end(j), CUZK_OK);
  cuzk_json_close(&j);
}

/* A random document, written by the writer; depth-first, so that reading by skip covers all paths. */
static void random_value(struct cuzk_json_out *o, unsigned depth) {
  switch (test_rand() % (depth > 6 ? 6 : 8)) {
    case 0: cuzk_json_out_u64(o, test_rand_limb()); break;
    case 1: cuzk_json_out_i64(o, (int64_t)test_rand_limb()); break;
    case 2: cuzk_json_out_double(o, (double)(int64_t)test_rand() / 1e9); break;
    case 3: cuzk_json_out_bool(o, test_rand() & 1); break;
    case 4: cuzk_json_out_null(o); break;
    case 5: {
      char s[24];
      size_t n = test_rand() % sizeof s;
      for (size_t i = 0; i < n; i++) s[i] = (char)test_rand();
      cuzk_json_out_string_n(o, s, n);
      break;
    }
    case 6:
      cuzk_json_out_array(o);
      for (unsigned i = (unsigned)(test_rand() % 5); i; i--) random_value(o, depth + 1);
      cuzk_json_out_array_end(o);
      break;
    default:
      cuzk_json_out_object(o);
      for (unsigned i = (unsigned)(test_rand() % 5); i; i--) {
        char key[3] = {(char)(1 + test_rand() % 255), (char)(1 + test_rand() % 255), 0};
        cuzk_json_out_key(o, key);
        random_value(o, depth + 1);
      }
      cuzk_json_out_object_end(o);
  }
}

static void written_documents_read_back(void **state) {
  (void)state;
  for (int round = 0; round < 3000; round++) {
    struct cuzk_json_out o;
    cuzk_json_out_init(&o, NULL);
    random_value(&o, 0);
    char *text;
    size_t n;
    assert_int_equal(cuzk_json_out_finish(&o, &text, &n, &d), CUZK_OK);
    if (check_n(text, n) != CUZK_OK) fail_msg("%s: %s", text, d.text);
    /* Any shorter text of a container is refused, and so is any text with a character more. */
    if (n > 1 && (text[0] == '{' || text[0] == '[')) assert_int_equal(check_n(text, test_rand() % (n - 1) + 1), CUZK_E_FORMAT);
    text[n] = ']';
    assert_int_equal(check_n(text, n + 1), CUZK_E_FORMAT);
    cuzk_free(text);
  }
}

static void writer_forms(void **state) {
  (void)state;
  struct cuzk_json_out o;
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_object(&o);
  cuzk_json_out_member_string(&o, "s", "a\"\\\n\xff\x7f");
  cuzk_json_out_member_u64(&o, "u", UINT64_MAX);
  cuzk_json_out_member_bool(&o, "b", true);
  cuzk_json_out_member_double(&o, "d", 1.5);
  cuzk_json_out_member_hex(&o, "h", "\x00\xff", 2);
  cuzk_json_out_key(&o, "a");
  cuzk_json_out_bytes(&o, (const uint8_t *)"\x01\xff", 2);
  cuzk_json_out_key(&o, "e");
  cuzk_json_out_array(&o);
  cuzk_json_out_array_end(&o);
  cuzk_json_out_key(&o, "i");
  cuzk_json_out_i64(&o, INT64_MIN);
  cuzk_json_out_object_end(&o);
  char *text;
  assert_int_equal(cuzk_json_out_finish(&o, &text, NULL, &d), CUZK_OK);
  assert_string_equal(text,
                      "{\"s\":\"a\\\"\\\\\\u000a\\ufffd\\u007f\",\"u\":18446744073709551615,\"b\":true,\"d\":1.5,\"h\":\"00ff\",\"a\":[1,255],"
                      "\"e\":[],\"i\":-9223372036854775808}");
  cuzk_free(text);

  /* Misuse is reported, not written. */
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_object(&o);
  cuzk_json_out_u64(&o, 1);
  cuzk_json_out_object_end(&o);
  assert_int_equal(cuzk_json_out_finish(&o, &text, NULL, &d), CUZK_E_ARG);
  assert_null(text);
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_array(&o);
  assert_int_equal(cuzk_json_out_finish(&o, &text, NULL, &d), CUZK_E_ARG);
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_u64(&o, 1);
  cuzk_json_out_u64(&o, 2);
  assert_int_equal(cuzk_json_out_finish(&o, &text, NULL, &d), CUZK_E_ARG);
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_array(&o);
  cuzk_json_out_object_end(&o);
  assert_int_equal(cuzk_json_out_finish(&o, &text, NULL, &d), CUZK_E_ARG);

  /* To a file that takes it, and to one that does not. */
  FILE *f = tmpfile();
  assert_non_null(f);
  cuzk_json_out_init(&o, f);
  cuzk_json_out_array(&o);
  for (int i = 0; i < 50000; i++) cuzk_json_out_u64(&o, 7);
  cuzk_json_out_array_end(&o);
  assert_int_equal(cuzk_json_out_finish(&o, NULL, NULL, &d), CUZK_OK);
  assert_int_equal(ftell(f), 2 * 50000 + 1 + 1);
  (void)fclose(f);
  f = fopen("/dev/full", "w");
  if (f) {
    cuzk_json_out_init(&o, f);
    cuzk_json_out_null(&o);
    assert_int_equal(cuzk_json_out_finish(&o, NULL, NULL, &d), CUZK_E_NOSPC);
    (void)fclose(f);
  }
}

/* What the libraries do once, at their first use, is only seen by a process of its own. */
static void first_use_survives_failed_allocations(void **state) {
  (void)state;
  bool reached = true;
  for (uint64_t k = 1; reached && k < 100; k++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      struct cuzk_json *j;
      cuzk_alloc_fail_at(k);
      const enum cuzk_status st = open_text(&j, "[1]");
      const bool asked = cuzk_alloc_count() >= k;
      if (st == CUZK_OK) cuzk_json_close(&j);
      _exit(st == CUZK_OK ? (asked ? 1 : 0) : st == CUZK_E_NOMEM && asked ? 1 : 2);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_in_range(WEXITSTATUS(how), 0, 1);
    reached = WEXITSTATUS(how) == 1;
  }
  assert_false(reached);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const int64_t live = cuzk_alloc_live();
  bool failed_once = false;
  for (uint64_t k = 1;; k++) {
    cuzk_alloc_fail_at(k);
    struct cuzk_json *j;
    enum cuzk_status st = open_text(&j, "\"a\\nb\"");
    if (st == CUZK_OK) {
      char *s;
      size_t n;
      st = cuzk_json_string_dup(j, &s, &n);
      if (st == CUZK_OK) cuzk_free(s);
      cuzk_json_close(&j);
    }
    const bool reached = cuzk_alloc_count() >= k;
    cuzk_alloc_fail_at(0);
    assert_int_equal(cuzk_alloc_live(), live);
    if (!reached) {
      assert_int_equal(st, CUZK_OK);
      break;
    }
    assert_int_equal(st, CUZK_E_NOMEM);
    failed_once = true;
  }
  assert_true(failed_once);
  for (uint64_t k = 1;; k++) {
    cuzk_alloc_fail_at(k);
    struct cuzk_json_out o;
    cuzk_json_out_init(&o, NULL);
    cuzk_json_out_array(&o);
    for (int i = 0; i < 500; i++) cuzk_json_out_u64(&o, 12345);
    cuzk_json_out_array_end(&o);
    char *text;
    enum cuzk_status st = cuzk_json_out_finish(&o, &text, NULL, &d);
    const bool reached = cuzk_alloc_count() >= k;
    cuzk_alloc_fail_at(0);
    cuzk_free(text);
    assert_int_equal(cuzk_alloc_live(), live);
    assert_int_equal(st, reached ? CUZK_E_NOMEM : CUZK_OK);
    if (!reached) break;
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_use_survives_failed_allocations), /* first: see there */
      cmocka_unit_test(grammar_accepts),
      cmocka_unit_test(grammar_refuses),
      cmocka_unit_test(depth_limit),
      cmocka_unit_test(messages_name_the_place),
      cmocka_unit_test(members),
      cmocka_unit_test(byte_arrays),
      cmocka_unit_test(strings),
      cmocka_unit_test(opening_errors),
      cmocka_unit_test(mark_and_seek),
      cmocka_unit_test(written_documents_read_back),
      cmocka_unit_test(writer_forms),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
