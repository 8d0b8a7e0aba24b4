/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "engine/metrics.h"
#include "testing.h"

static struct cuzk_metrics *fresh(void) {
  struct cuzk_metrics *m;
  assert_int_equal(cuzk_metrics_create(&m), CUZK_OK);
  return m;
}

static char *text_of(struct cuzk_metrics *m) {
  char *t;
  assert_int_equal(cuzk_metrics_text(&t, m), CUZK_OK);
  return t;
}

static unsigned count(const char *text, const char *what) {
  unsigned n = 0;
  for (const char *p = text; (p = strstr(p, what)); p += strlen(what)) n++;
  return n;
}

static void assert_has(const char *text, const char *line) {
  size_t n = strlen(line);
  for (const char *p = text; (p = strstr(p, line)); p++)
    if ((p == text || p[-1] == '\n') && p[n] == '\n') return;
  fail_msg("no line '%s' in:\n%s", line, text);
}

static void text_is_as_the_format_says(void **state) {
  (void)state;
  int64_t live = cuzk_alloc_live();
  struct cuzk_metrics *m = fresh();
  char *t = text_of(m);
  assert_string_equal(t, "");
  cuzk_free(t);
  struct cuzk_series *a = cuzk_metrics_series(m, "a_total", CUZK_COUNTER, "Help \\ with\nlines.", "");
  struct cuzk_series *g = cuzk_metrics_series(m, "g", CUZK_GAUGE, "Gauge.", "gpu=\"0\",code=\"a\\\"b\"");
  assert_ptr_equal(cuzk_metrics_series(m, "a_total", CUZK_GAUGE, "other", NULL), a);
  (void)cuzk_metrics_series(m, "a_total", CUZK_COUNTER, "other", "x=\"1\"");
  cuzk_series_add(a, 0.1);
  cuzk_series_add(a, 0.2);
  cuzk_series_set(g, 1e18);
  t = text_of(m);
  assert_string_equal(t,
                      "# HELP a_total Help \\\\ with\\nlines.\n# TYPE a_total counter\na_total 0.30000000000000004\na_total{x=\"1\"} 0\n"
                      "# HELP g Gauge.\n# TYPE g gauge\ng{gpu=\"0\",code=\"a\\\"b\"} 1e+18\n");
  cuzk_free(t);
  static const struct {
    double x;
    const char *text;
  } values[] = {{0, "g{gpu=\"0\",code=\"a\\\"b\"} 0"}, {-2.5, "g{gpu=\"0\",code=\"a\\\"b\"} -2.5"}, {(double)INFINITY, "g{gpu=\"0\",code=\"a\\\"b\"} +Inf"},
                {-(double)INFINITY, "g{gpu=\"0\",code=\"a\\\"b\"} -Inf"}, {(double)NAN, "g{gpu=\"0\",code=\"a\\\"b\"} NaN"},
                {0.1, "g{gpu=\"0\",code=\"a\\\"b\"} 0.1"}};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    cuzk_series_set(g, values[i].x);
    t = text_of(m);
    assert_has(t, values[i].text);
    cuzk_free(t);
  }
  cuzk_metrics_destroy(&m);
  assert_null(m);
  cuzk_metrics_destroy(&m);
  assert_int_equal(cuzk_alloc_live(), live);
}

static void histograms_are_cumulative(void **state) {
  (void)state;
  struct cuzk_metrics *m = fresh();
  struct cuzk_series *h = cuzk_metrics_series(m, "h_seconds", CUZK_HISTOGRAM, "H.", "kind=\"x\"");
  static const double values[] = {0, 0.001, 0.0011, 1, 3600, 3601, 7200};
  double sum = 0;
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    cuzk_series_observe(h, values[i]);
    sum += values[i];
  }
  cuzk_series_observe(h, (double)NAN); /* not an observation */
  assert_int_equal(cuzk_series_count(h), 7);
  assert_true(cuzk_series_value(h) == sum);
  char *t = text_of(m);
  assert_has(t, "h_seconds_bucket{kind=\"x\",le=\"0.001\"} 2");
  assert_has(t, "h_seconds_bucket{kind=\"x\",le=\"0.0025\"} 3");
  assert_has(t, "h_seconds_bucket{kind=\"x\",le=\"0.5\"} 3");
  assert_has(t, "h_seconds_bucket{kind=\"x\",le=\"1\"} 4");
  assert_has(t, "h_seconds_bucket{kind=\"x\",le=\"3600\"} 5");
  assert_has(t, "h_seconds_bucket{kind=\"x\",le=\"+Inf\"} 7");
  assert_has(t, "h_seconds_count{kind=\"x\"} 7");
  assert_has(t, "h_seconds_sum{kind=\"x\"} 14402.0021");
  assert_int_equal(count(t, "# TYPE h_seconds histogram\n"), 1);
  unsigned long long last = 0, n = 0;
  for (char *p = t; (p = strstr(p, "_bucket{")); p++) {
    char *v = strstr(p, "} ");
    assert_non_null(v);
    unsigned long long x = strtoull(v + 2, NULL, 10);
    assert_true(x >= last);
    last = x;
    n++;
  }
  assert_true(n > 10);
  cuzk_free(t);
  struct cuzk_series *plain = cuzk_metrics_series(m, "p_seconds", CUZK_HISTOGRAM, "P.", "");
  cuzk_series_observe(plain, 2);
  t = text_of(m);
  assert_has(t, "p_seconds_bucket{le=\"+Inf\"} 1");
  assert_has(t, "p_seconds_sum 2");
  assert_has(t, "p_seconds_count 1");
  cuzk_free(t);
  cuzk_metrics_destroy(&m);
}

static void what_would_break_the_text_is_refused(void **state) {
  (void)state;
  struct cuzk_metrics *m = fresh();
  static const char *const names[] = {"", "1a", "a-b", "a b", "a\n"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_null(cuzk_metrics_series(m, names[i], CUZK_GAUGE, "", ""));
  static const char *const labels[] = {"a", "a=1", "a=\"1", "a=\"1\",", "a=\"\n\"", "a=\"\\x\"", "le=\"1\"", "1=\"a\"", "a=\"1\"b=\"2\"", "a=\"\\"};
  for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) assert_null(cuzk_metrics_series(m, "ok", CUZK_GAUGE, "", labels[i]));
  assert_null(cuzk_metrics_series(NULL, "ok", CUZK_GAUGE, "", ""));
  char *t = text_of(m);
  assert_string_equal(t, "");
  cuzk_free(t);
  cuzk_series_add(NULL, 1);
  cuzk_series_set(NULL, 1);
  cuzk_series_observe(NULL, 1);
  assert_true(cuzk_series_value(NULL) == 0 && cuzk_series_count(NULL) == 0);
  cuzk_metrics_destroy(&m);
}

static void label_values_are_escaped(void **state) {
  (void)state;
  char out[64];
  assert_string_equal(cuzk_metrics_escape(out, sizeof out, "a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  assert_string_equal(cuzk_metrics_escape(out, sizeof out, "\xc3\xa4\xff!"), "\xc3\xa4?!");
  assert_string_equal(cuzk_metrics_escape(out, 4, "ab\xc3\xa4"), "ab");
  assert_string_equal(cuzk_metrics_escape(out, 3, "a\n"), "a");
  assert_string_equal(cuzk_metrics_escape(out, 1, "a"), "");
}

enum { THREADS = 4, ROUNDS = 20000 };
static atomic_bool stop;

static void *update(void *arg) {
  struct cuzk_metrics *m = arg;
  for (unsigned i = 0; i < ROUNDS; i++) {
    char label[32];
    (void)snprintf(label, sizeof label, "n=\"%u\"", i % 50);
    cuzk_series_add(cuzk_metrics_series(m, "c_total", CUZK_COUNTER, "", label), 1);
    cuzk_series_observe(cuzk_metrics_series(m, "h_seconds", CUZK_HISTOGRAM, "", ""), 0.5);
  }
  return NULL;
}

/* In every text the buckets' sum and count agree. */
static void *read_text(void *arg) {
  uintptr_t bad = 0;
  while (!atomic_load(&stop)) {
    char *t;
    if (cuzk_metrics_text(&t, arg) != CUZK_OK) return (void *)1;
    char *inf = strstr(t, "le=\"+Inf\"} "), *n = strstr(t, "h_seconds_count ");
    if (inf && n) bad += strtoull(inf + 11, NULL, 10) != strtoull(n + 16, NULL, 10);
    cuzk_free(t);
  }
  return (void *)bad;
}

static void updates_from_many_threads_all_count(void **state) {
  (void)state;
  struct cuzk_metrics *m = fresh();
  pthread_t t[THREADS], reader;
  assert_int_equal(pthread_create(&reader, NULL, read_text, m), 0);
  for (unsigned i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&t[i], NULL, update, m), 0);
  for (unsigned i = 0; i < THREADS; i++) assert_int_equal(pthread_join(t[i], NULL), 0);
  atomic_store(&stop, true);
  void *bad;
  assert_int_equal(pthread_join(reader, &bad), 0);
  assert_null(bad);
  double sum = 0;
  for (unsigned k = 0; k < 50; k++) {
    char label[32];
    (void)snprintf(label, sizeof label, "n=\"%u\"", k);
    sum += cuzk_series_value(cuzk_metrics_series(m, "c_total", CUZK_COUNTER, "", label));
  }
  assert_true(sum == THREADS * ROUNDS);
  assert_int_equal(cuzk_series_count(cuzk_metrics_series(m, "h_seconds", CUZK_HISTOGRAM, "", "")), THREADS * ROUNDS);
  cuzk_metrics_destroy(&m);
}

static void allocation_failures_leave_nothing(void **state) {
  (void)state;
  int64_t live = cuzk_alloc_live();
  for (unsigned k = 1;; k++) {
    struct cuzk_metrics *m = fresh();
    char *t = NULL;
    cuzk_alloc_fail_at(k);
    struct cuzk_series *s = cuzk_metrics_series(m, "h_seconds", CUZK_HISTOGRAM, "help", "a=\"b\"");
    enum cuzk_status st = cuzk_metrics_text(&t, m);
    bool reached = cuzk_alloc_count() >= k;
    cuzk_alloc_fail_at(0);
    if (!reached) assert_true(s && st == CUZK_OK);
    else assert_true(!s || st == CUZK_E_NOMEM);
    if (st == CUZK_OK && !s) assert_string_equal(t, ""); /* no family without series */
    cuzk_free(t);
    cuzk_metrics_destroy(&m);
    assert_int_equal(cuzk_alloc_live(), live);
    if (!reached) break;
  }
}

int main(void) {
  test_seed();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_as_the_format_says),          cmocka_unit_test(histograms_are_cumulative),
      cmocka_unit_test(what_would_break_the_text_is_refused), cmocka_unit_test(label_values_are_escaped),
      cmocka_unit_test(updates_from_many_threads_all_count), cmocka_unit_test(allocation_failures_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
