/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "engine/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Upper bounds in seconds, from a millisecond to an hour; what is slower is only in +Inf. */
static const double bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,  1,    2.5,
                                5,     10,     20,    30,   60,    120,  300, 600,  1200, 1800, 3600};
#define N_BOUNDS (sizeof bounds / sizeof bounds[0])

/* Families and their series are linked in order of creation and never removed before the end, so that readers need no lock. */
struct cuzk_series {
  struct cuzk_series *_Atomic next;
  bool histogram;
  char *labels;
  _Atomic uint64_t value; /* bits of a double; histogram: the sum */
  _Atomic uint64_t *bucket; /* histogram: N_BOUNDS + 1, not cumulative */
};
struct family {
  struct family *_Atomic next;
  char *name, *help;
  enum cuzk_metric_type type;
  struct cuzk_series *_Atomic first;
};
struct cuzk_metrics {
  pthread_mutex_t lock; /* held to append */
  struct family *_Atomic first;
};

enum cuzk_status cuzk_metrics_create(struct cuzk_metrics **out) {
  *out = cuzk_calloc(1, sizeof **out);
  if (!*out) return CUZK_E_NOMEM;
  if (pthread_mutex_init(&(*out)->lock, NULL) != 0) {
    cuzk_free(*out);
    *out = NULL;
    return CUZK_E_NOMEM;
  }
  return CUZK_OK;
}

static void series_free(struct cuzk_series *s) {
  if (!s) return;
  cuzk_free(s->labels);
  cuzk_free((void *)s->bucket);
  cuzk_free(s);
}

static void family_free(struct family *f) {
  if (!f) return;
  for (struct cuzk_series *s = atomic_load(&f->first), *next; s; s = next) {
    next = atomic_load(&s->next);
    series_free(s);
  }
  cuzk_free(f->name);
  cuzk_free(f->help);
  cuzk_free(f);
}

void cuzk_metrics_destroy(struct cuzk_metrics **m) {
  if (!*m) return;
  for (struct family *f = atomic_load(&(*m)->first), *next; f; f = next) {
    next = atomic_load(&f->next);
    family_free(f);
  }
  (void)pthread_mutex_destroy(&(*m)->lock);
  cuzk_free(*m);
  *m = NULL;
}

/* ---- names ---- */

static bool name_char(char c, bool first, bool colon) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':') || (!first && c >= '0' && c <= '9');
}

static bool good_name(const char *p) {
  if (!*p) return false;
  for (const char *q = p; *q; q++) {
    if (!name_char(*q, q == p, true)) return false;
  }
  return true;
}

/* name="value",name="value" with values escaped; le belongs to histograms. */
static bool good_labels(const char *p) {
  if (!*p) return true;
  for (;;) {
    const char *name = p;
    while (name_char(*p, p == name, false)) p++;
    if (p == name || (p - name == 2 && memcmp(name, "le", 2) == 0)) return false;
    if (*p++ != '=' || *p++ != '"') return false;
    for (; *p != '"'; p++) {
      if (*p == 0 || *p == '\n') return false;
      if (*p == '\\' && *++p != '\\' && *p != '"' && *p != 'n') return false;
    }
    if (*++p == 0) return true;
    if (*p++ != ',') return false;
  }
}

/* Length of the UTF-8 character at p, 0 if there is none (RFC 3629). */
static size_t utf8_length(const unsigned char *p) {
  if (p[0] < 0x80) return 1;
  size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
  for (size_t i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
    return 0;
  return n;
}

const char *cuzk_metrics_escape(char *out, size_t n, const char *value) {
  if (n == 0) return out;
  size_t at = 0;
  for (const unsigned char *p = (const unsigned char *)value; *p;) {
    char piece[4];
    size_t used = utf8_length(p), len = used;
    if (used == 0) {
      used = len = 1;
      piece[0] = '?';
    } else if (*p == '\\' || *p == '"' || *p == '\n') {
      piece[0] = '\\';
      piece[1] = *p == '\n' ? 'n' : (char)*p;
      len = 2;
    } else {
      memcpy(piece, p, used);
    }
    if (n - 1 - at < len) break;
    memcpy(out + at, piece, len);
    at += len;
    p += used;
  }
  out[at] = 0;
  return out;
}

/* ---- making ---- */

static struct family *find_family(struct cuzk_metrics *m, const char *name, struct family **last) {
  struct family *f = atomic_load_explicit(&m->first, memory_order_acquire);
  for (*last = NULL; f; f = atomic_load_explicit(&f->next, memory_order_acquire)) {
    if (strcmp(f->name, name) == 0) return f;
    *last = f;
  }
  return NULL;
}

static struct cuzk_series *find_series(struct family *f, const char *labels, struct cuzk_series **last) {
  struct cuzk_series *s = atomic_load_explicit(&f->first, memory_order_acquire);
  for (*last = NULL; s; s = atomic_load_explicit(&s->next, memory_order_acquire)) {
    if (strcmp(s->labels, labels) == 0) return s;
    *last = s;
  }
  return NULL;
}

static struct cuzk_series *series_create(const char *labels, bool histogram) {
  struct cuzk_series *s = cuzk_calloc(1, sizeof *s);
  if (!s) return NULL;
  s->histogram = histogram;
  s->labels = cuzk_strdup(labels);
  if (histogram) s->bucket = cuzk_calloc(N_BOUNDS + 1, sizeof s->bucket[0]);
  if (s->labels && (!histogram || s->bucket)) return s;
  series_free(s);
  return NULL;
}

static struct family *family_create(const char *name, enum cuzk_metric_type type, const char *help) {
  struct family *f = cuzk_calloc(1, sizeof *f);
  if (!f) return NULL;
  f->type = type;
  f->name = cuzk_strdup(name);
  f->help = cuzk_strdup(help ? help : "");
  if (f->name && f->help) return f;
  family_free(f);
  return NULL;
}

/* The lock is held. */
static struct cuzk_series *add_series(struct cuzk_metrics *m, const char *family, enum cuzk_metric_type type, const char *help,
                                      const char *labels) {
  struct family *last_family, *f = find_family(m, family, &last_family), *made = NULL;
  struct cuzk_series *last = NULL;
  if (f) {
    struct cuzk_series *s = find_series(f, labels, &last);
    if (s) return s; /* somebody was faster */
  } else {
    f = made = family_create(family, type, help);
    if (!f) return NULL;
  }
  struct cuzk_series *s = series_create(labels, f->type == CUZK_HISTOGRAM);
  if (!s) {
    family_free(made);
    return NULL;
  }
  /* A new family is seen together with its first series. */
  atomic_store_explicit(last ? &last->next : &f->first, s, memory_order_release);
  if (made) atomic_store_explicit(last_family ? &last_family->next : &m->first, made, memory_order_release);
  return s;
}

struct cuzk_series *cuzk_metrics_series(struct cuzk_metrics *m, const char *family, enum cuzk_metric_type type, const char *help,
                                        const char *labels) {
  if (!m) return NULL;
  if (!labels) labels = "";
  struct family *last_family, *f = find_family(m, family, &last_family);
  if (f) {
    struct cuzk_series *last, *s = find_series(f, labels, &last);
    if (s) return s;
  }
  if (!good_name(family) || !good_labels(labels)) return NULL;
  (void)pthread_mutex_lock(&m->lock);
  struct cuzk_series *s = add_series(m, family, type, help, labels);
  (void)pthread_mutex_unlock(&m->lock);
  return s;
}

/* ---- values ---- */

static double to_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t to_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

void cuzk_series_add(struct cuzk_series *s, double x) {
  if (!s) return;
  uint64_t old = atomic_load_explicit(&s->value, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&s->value, &old, to_bits(to_double(old) + x), memory_order_relaxed, memory_order_relaxed)) {
  }
}

void cuzk_series_set(struct cuzk_series *s, double x) {
  if (s) atomic_store_explicit(&s->value, to_bits(x), memory_order_relaxed);
}

void cuzk_series_observe(struct cuzk_series *s, double seconds) {
  if (!s || !s->histogram || isnan(seconds)) return;
  size_t i = 0;
  while (i < N_BOUNDS && seconds > bounds[i]) i++;
  (void)atomic_fetch_add_explicit(&s->bucket[i], 1, memory_order_relaxed);
  cuzk_series_add(s, seconds);
}

double cuzk_series_value(const struct cuzk_series *s) {
  return s ? to_double(atomic_load_explicit(&((struct cuzk_series *)(uintptr_t)s)->value, memory_order_relaxed)) : 0;
}

uint64_t cuzk_series_count(const struct cuzk_series *s) {
  uint64_t n = 0;
  if (s && s->histogram) {
    for (size_t i = 0; i <= N_BOUNDS; i++) n += atomic_load_explicit(&s->bucket[i], memory_order_relaxed);
  }
  return n;
}

/* ---- text ---- */

struct text {
  char *p;
  size_t n, cap;
  bool failed;
};

static void put(struct text *t, const char *s, size_t n) {
  if (t->failed) return;
  if (t->cap - t->n < n + 1) {
    size_t cap = 2 * t->cap + n + 4096;
    char *p = cuzk_realloc_array(t->p, cap, 1);
    if (!p) {
      t->failed = true;
      return;
    }
    t->p = p;
    t->cap = cap;
  }
  memcpy(t->p + t->n, s, n);
  t->n += n;
  t->p[t->n] = 0;
}

static void put_string(struct text *t, const char *s) { put(t, s, strlen(s)); }

/* The fewest digits of 15 or 17 that read back as x. */
static void put_double(struct text *t, double x) {
  char s[40];
  if (isnan(x)) {
    put_string(t, "NaN");
  } else if (isinf(x)) {
    put_string(t, x > 0 ? "+Inf" : "-Inf");
  } else {
    (void)snprintf(s, sizeof s, "%.15g", x);
    double back = 0;
    if (sscanf(s, "%lf", &back) != 1 || back != x) (void)snprintf(s, sizeof s, "%.17g", x);
    /* The program around may have chosen a locale with another decimal point. */
    for (char *c = s; *c; c++) {
      if (!strchr("0123456789+-e", *c)) *c = '.';
    }
    put_string(t, s);
  }
}

static void put_u64(struct text *t, uint64_t x) {
  char s[24];
  (void)snprintf(s, sizeof s, "%" PRIu64, x);
  put_string(t, s);
}

/* "name_suffix{labels,le="..."} " */
static void put_sample(struct text *t, const struct family *f, const char *suffix, const char *labels, const double *le) {
  put_string(t, f->name);
  put_string(t, suffix);
  if (*labels || le) {
    put(t, "{", 1);
    put_string(t, labels);
    if (le) {
      put_string(t, *labels ? ",le=\"" : "le=\"");
      put_double(t, *le);
      put(t, "\"", 1);
    }
    put(t, "}", 1);
  }
  put(t, " ", 1);
}

static void put_histogram(struct text *t, const struct family *f, const struct cuzk_series *s) {
  uint64_t n = 0;
  for (size_t i = 0; i <= N_BOUNDS; i++) {
    double le = i < N_BOUNDS ? bounds[i] : (double)INFINITY;
    n += atomic_load_explicit(&s->bucket[i], memory_order_relaxed);
    put_sample(t, f, "_bucket", s->labels, &le);
    put_u64(t, n);
    put(t, "\n", 1);
  }
  put_sample(t, f, "_sum", s->labels, NULL);
  put_double(t, cuzk_series_value(s));
  put(t, "\n", 1);
  /* The count is that of the buckets just written, whatever was observed meanwhile. */
  put_sample(t, f, "_count", s->labels, NULL);
  put_u64(t, n);
  put(t, "\n", 1);
}

static void put_family(struct text *t, struct family *f) {
  static const char *const types[] = {[CUZK_COUNTER] = "counter", [CUZK_GAUGE] = "gauge", [CUZK_HISTOGRAM] = "histogram"};
  put_string(t, "# HELP ");
  put_string(t, f->name);
  put(t, " ", 1);
  for (const char *p = f->help; *p; p++) {
    if (*p == '\\') put(t, "\\\\", 2);
    else if (*p == '\n') put(t, "\\n", 2);
    else put(t, p, 1);
  }
  put_string(t, "\n# TYPE ");
  put_string(t, f->name);
  put(t, " ", 1);
  put_string(t, types[f->type]);
  put(t, "\n", 1);
  for (struct cuzk_series *s = atomic_load_explicit(&f->first, memory_order_acquire); s;
       s = atomic_load_explicit(&s->next, memory_order_acquire)) {
    if (f->type == CUZK_HISTOGRAM) {
      put_histogram(t, f, s);
      continue;
    }
    put_sample(t, f, "", s->labels, NULL);
    put_double(t, cuzk_series_value(s));
    put(t, "\n", 1);
  }
}

enum cuzk_status cuzk_metrics_text(char **out, struct cuzk_metrics *m) {
  struct text t = {0};
  put(&t, "", 0);
  for (struct family *f = atomic_load_explicit(&m->first, memory_order_acquire); f;
       f = atomic_load_explicit(&f->next, memory_order_acquire))
    put_family(&t, f);
  if (t.failed) {
    cuzk_free(t.p);
    *out = NULL;
    return CUZK_E_NOMEM;
  }
  *out = t.p;
  return CUZK_OK;
}
