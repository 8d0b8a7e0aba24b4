/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "daemon/config_internal.h"
#include "daemon/toml.h"

enum { MAX_FILE = 1 << 20, MAX_NAME = 64 };

const struct cuzk_key cuzk_keys[N_KEYS] = {
#define CUZK_X(section, key, kind, def, least, most, words, flags, doc) \
  {#section, #key, K_##kind, def, least, most, words, flags, doc, offsetof(struct cuzk_config, section##_##key)},
    CUZK_CONFIG_KEYS(CUZK_X)
#undef CUZK_X
};

/* Where a value comes from. */
struct origin {
  const char *name; /* of the file, variable or option; NULL: default */
  unsigned line;    /* of the file */
};
struct reader {
  struct cuzk_config *c;
  const struct cuzk_config_source *s;
  struct cuzk_detail *d;
  enum cuzk_status st, bad; /* bad: what a wrong value is */
  bool lenient;
  const char *name; /* being read */
  bool is_file;
  struct origin from[N_KEYS];
};

/* --- messages --- */

static void warn(const struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void warn(const struct reader *r, const char *fmt, ...) {
  if (!r->s->warn) return;
  char line[640];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  r->s->warn(r->s->user, line);
}

static const char *where(const struct reader *r, unsigned line, char out[256]) {
  if (r->is_file && line) {
    (void)snprintf(out, 256, "%.200s:%u", r->name, line);
  } else {
    (void)snprintf(out, 256, "%.200s", r->name);
  }
  return out;
}

static const char *where_from(const struct reader *r, int key, char out[256]) {
  const struct origin *o = &r->from[key];
  if (!o->name) return "default";
  if (!o->line) return o->name;
  (void)snprintf(out, 256, "%.200s:%u", o->name, o->line);
  return out;
}

/* Number of changes that make b of a. */
static unsigned distance(const char *a, const char *b) {
  unsigned row[MAX_NAME + 1];
  const size_t n = strlen(a), m = strlen(b);
  if (n > MAX_NAME || m > MAX_NAME) return UINT32_MAX;
  for (unsigned j = 0; j <= m; j++) row[j] = j;
  for (unsigned i = 1; i <= n; i++) {
    unsigned diagonal = row[0];
    row[0] = i;
    for (unsigned j = 1; j <= m; j++) {
      const unsigned above = row[j], change = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      unsigned best = above < row[j - 1] ? above : row[j - 1];
      best = best + 1 < change ? best + 1 : change;
      diagonal = above;
      row[j] = best;
    }
  }
  return row[m];
}

/* ", did you mean X?" or nothing. section NULL: name is a section or a key without one. */
static void suggest(char out[160], const char *section, const char *name) {
  unsigned best = UINT32_MAX;
  const struct cuzk_key *found = NULL;
  bool only_section = false;
  for (int i = 0; i < N_KEYS; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    if (k->flags & CUZK_KEY_DEAD) continue;
    /* a key in the wrong section counts as one change */
    const unsigned by_key = distance(name, k->key), by_section = section ? distance(section, k->section) : distance(name, k->section);
    const unsigned away = by_key > 4 ? UINT32_MAX : section && by_section == 0 ? by_key : by_key + 1;
    if (away < best) {
      best = away;
      found = k;
      only_section = false;
    }
    if (!section && by_section < best) {
      best = by_section;
      found = k;
      only_section = true;
    }
  }
  out[0] = 0;
  const unsigned limit = strlen(name) / 3 + 1;
  if (!found || best > limit) return;
  if (only_section) {
    (void)snprintf(out, 160, "; did you mean [%s]?", found->section);
  } else {
    (void)snprintf(out, 160, "; did you mean %s.%s?", found->section, found->key);
  }
}

static bool stop(struct reader *r, enum cuzk_status st) {
  r->st = st;
  return false;
}

/* --- values --- */

static bool bad_word(char why[256], const char *text, const char *expected) {
  (void)snprintf(why, 256, "\"%.60s\" is not %s", text, expected);
  return false;
}

static bool level_ok(const char *text) {
  static const char *const levels[] = {"trace", "debug", "info", "warn", "error", "off"};
  if (!*text) return false;
  for (const char *p = text;; p++) {
    const size_t n = strcspn(p, ",");
    const char *equals = memchr(p, '=', n);
    const char *level = equals ? equals + 1 : p;
    const size_t m = n - (size_t)(level - p);
    bool known = false;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) known = known || (strlen(levels[i]) == m && strncmp(levels[i], level, m) == 0);
    if (!known || equals == p) return false;
    p += n;
    if (!*p) return true;
  }
}

static bool circuit_ok(const struct reader *r, const char *id, char why[256]) {
  if (!*id || strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(id) || strlen(id) > 40) return bad_word(why, id, "the id of a circuit");
  if (r->s->known_circuit && !r->s->known_circuit(id)) return bad_word(why, id, "a known circuit; `cuzk circuit list` names them");
  return true;
}

/* False with why empty: no memory. */
static bool set_string(char **slot, const char *text) {
  char *copy = cuzk_strdup(text);
  if (!copy) return false;
  cuzk_free(*slot);
  *slot = copy;
  return true;
}

static bool set_uint(const struct cuzk_key *k, unsigned *slot, int64_t v, char why[256]) {
  if (v < 0 || (uint64_t)v < k->least || (uint64_t)v > k->most) {
    (void)snprintf(why, 256, "%" PRId64 " is out of range; allowed are %" PRIu64 " to %" PRIu64, v, k->least, k->most);
    return false;
  }
  *slot = (unsigned)v;
  return true;
}

/* A value written as text. */
static bool set_text(struct cuzk_config *c, const struct cuzk_key *k, const char *text, char why[256]) {
  void *slot = cuzk_key_at(c, k);
  char low[64], high[64];
  switch (k->kind) {
    case K_STRING:
      for (const char *p = text; *p; p++)
        if (iscntrl((unsigned char)*p)) return bad_word(why, "a control character", "allowed here");
      if (k == &cuzk_keys[KEY_logging_level] && !level_ok(text)) {
        return bad_word(why, text, "a level; write trace, debug, info, warn, error or off, or target=level separated by commas");
      }
      return set_string(slot, text);
    case K_BOOL:
      if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) return bad_word(why, text, "true or false");
      *(bool *)slot = text[0] == 't';
      return true;
    case K_UINT:
    case K_MODE: {
      char *end;
      errno = 0;
      const long long v = strtoll(text, &end, k->kind == K_MODE ? 8 : 10);
      if (!isdigit((unsigned char)text[0]) || *end || errno) {
        return bad_word(why, text, k->kind == K_MODE ? "a mode; write octal digits, as in \"0660\"" : "a whole number");
      }
      if (k->kind == K_MODE && (uint64_t)v > k->most) return bad_word(why, text, "a mode from 0000 to 0777");
      return set_uint(k, slot, v, why);
    }
    case K_SIZE: {
      struct cuzk_size s;
      if (!cuzk_size_parse(&s, text, k->flags)) {
        (void)snprintf(why, 256, "\"%.60s\" is not a size; write a number with K, M, G, T (or KiB ... TiB, KB ... TB)%s%s", text,
                       k->flags & CUZK_KEY_PERCENT ? ", a percentage" : "", k->flags & CUZK_KEY_AUTO ? ", or auto" : "");
        return false;
      }
      if (s.is == CUZK_SIZE_BYTES && (s.n < k->least || s.n > k->most)) {
        cuzk_size_print(low, sizeof low, (struct cuzk_size){CUZK_SIZE_BYTES, k->least});
        cuzk_size_print(high, sizeof high, (struct cuzk_size){CUZK_SIZE_BYTES, k->most});
        (void)snprintf(why, 256, "\"%.60s\" is out of range; allowed are %s to %s", text, low, high);
        return false;
      }
      *(struct cuzk_size *)slot = s;
      return true;
    }
    case K_DURATION: {
      uint64_t ns;
      if (!cuzk_duration_parse(&ns, text)) {
        return bad_word(why, text, "a duration; write numbers with d, h, m, s or ms, as in \"1h30m\", to the millisecond");
      }
      if (ns / 1000000 < k->least || ns / 1000000 > k->most) {
        cuzk_duration_print(low, sizeof low, k->least * 1000000);
        cuzk_duration_print(high, sizeof high, k->most * 1000000);
        (void)snprintf(why, 256, "\"%.60s\" is out of range; allowed are %s to %s", text, low, high);
        return false;
      }
      *(uint64_t *)slot = ns;
      return true;
    }
    case K_CHOICE: {
      unsigned i = 0;
      for (const char *p = k->words;; i++) {
        const size_t n = strcspn(p, "|");
        if (strlen(text) == n && strncmp(p, text, n) == 0) {
          *(unsigned *)slot = i;
          return true;
        }
        if (!p[n]) break;
        p += n + 1;
      }
      (void)snprintf(why, 256, "\"%.60s\" is not one of %s", text, k->words);
      return false;
    }
    default: return bad_word(why, text, "a list");
  }
}

static void clear_strings(struct cuzk_string_list *l) {
  for (size_t i = 0; i < l->n; i++) cuzk_free(l->v[i]);
  cuzk_free(l->v);
  *l = (struct cuzk_string_list){0};
}

static void clear_affinity(struct cuzk_affinity_list *l) {
  for (size_t i = 0; i < l->n; i++) cuzk_free(l->v[i].circuits);
  cuzk_free(l->v);
  *l = (struct cuzk_affinity_list){0};
}

static bool text_ok(const struct cuzk_toml_value *v, char why[256]) {
  return strlen(v->text) == v->n || bad_word(why, "a control character", "allowed here");
}

static bool set_uints(const struct cuzk_key *k, struct cuzk_uint_list *l, const struct cuzk_toml_value *v, char why[256]) {
  unsigned *p = cuzk_malloc_array(v->n, sizeof *p);
  if (!p) return false;
  for (size_t i = 0; i < v->n; i++) {
    bool ok = v->item[i].type == CUZK_TOML_INT;
    if (!ok) (void)snprintf(why, 256, "the list holds something that is not a whole number");
    ok = ok && set_uint(k, &p[i], v->item[i].integer, why);
    for (size_t j = 0; ok && j < i; j++) {
      ok = p[j] != p[i];
      if (!ok) (void)snprintf(why, 256, "%u is listed twice", p[i]);
    }
    if (!ok) {
      cuzk_free(p);
      return false;
    }
  }
  cuzk_free(l->v);
  l->v = p;
  l->n = v->n;
  return true;
}

static bool set_strings(struct reader *r, struct cuzk_string_list *l, const struct cuzk_toml_value *v, char why[256]) {
  struct cuzk_string_list fresh = {.v = cuzk_calloc(v->n, sizeof *fresh.v)};
  if (!fresh.v) return false;
  for (size_t i = 0; i < v->n; i++) {
    bool ok = v->item[i].type == CUZK_TOML_STRING;
    if (!ok) (void)snprintf(why, 256, "the list holds something that is not a string");
    ok = ok && text_ok(&v->item[i], why) && circuit_ok(r, v->item[i].text, why) && (fresh.v[i] = cuzk_strdup(v->item[i].text)) != NULL;
    if (!ok) {
      clear_strings(&fresh);
      return false;
    }
    fresh.n++;
  }
  clear_strings(l);
  *l = fresh;
  return true;
}

/* One row of gpus.affinity. */
static bool set_affinity(struct reader *r, const char *ordinal, const struct cuzk_toml_value *v, char why[256]) {
  const struct cuzk_key *k = &cuzk_keys[KEY_gpus_affinity];
  struct cuzk_affinity_list *l = &r->c->gpus_affinity;
  unsigned n;
  if (!*ordinal || strspn(ordinal, "0123456789") != strlen(ordinal) || strlen(ordinal) > 4) return bad_word(why, ordinal, "the ordinal of a device");
  if (!set_uint(k, &n, strtoll(ordinal, NULL, 10), why)) return false;
  size_t bytes = 4, at = 0;
  if (v->type == CUZK_TOML_STRING && strcmp(v->text, "any") != 0) return bad_word(why, v->text, "\"any\" or a list of circuits");
  if (v->type != CUZK_TOML_STRING && (v->type != CUZK_TOML_ARRAY || v->n == 0)) {
    (void)snprintf(why, 256, "write \"any\" or a list of circuits for device %u", n);
    return false;
  }
  for (size_t i = 0; v->type == CUZK_TOML_ARRAY && i < v->n; i++) {
    if (v->item[i].type != CUZK_TOML_STRING) {
      (void)snprintf(why, 256, "the list of device %u holds something that is not a string", n);
      return false;
    }
    if (!text_ok(&v->item[i], why) || !circuit_ok(r, v->item[i].text, why)) return false;
    bytes += v->item[i].n + 1;
  }
  for (size_t i = 0; i < l->n; i++) {
    if (l->v[i].ordinal != n) continue;
    (void)snprintf(why, 256, "device %u is listed twice", n);
    return false;
  }
  char *text = cuzk_malloc(bytes);
  void *rows = text ? cuzk_realloc_array(l->v, l->n + 1, sizeof *l->v) : NULL;
  if (!rows) {
    cuzk_free(text);
    return false;
  }
  l->v = rows;
  if (v->type == CUZK_TOML_STRING) memcpy(text, "any", 4);
  for (size_t i = 0; v->type == CUZK_TOML_ARRAY && i < v->n; i++) at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? " " : "", v->item[i].text);
  size_t to = l->n++;
  for (; to && l->v[to - 1].ordinal > n; to--) l->v[to] = l->v[to - 1];
  l->v[to].ordinal = n;
  l->v[to].circuits = text;
  return true;
}

static bool wrong_type(const struct cuzk_key *k, char why[256]) {
  static const char *const expected[] = {"a string", "true or false", "a whole number", "a size in quotes or a number of bytes",
                                         "a duration in quotes or a number of seconds", "a string", "a list of whole numbers",
                                         "a list of strings", "a table", "a mode in quotes"};
  (void)snprintf(why, 256, "expected %s", expected[k->kind]);
  return false;
}

/* A value of a TOML document. */
static bool set_value(struct reader *r, const struct cuzk_key *k, const struct cuzk_toml_value *v, char why[256]) {
  void *slot = cuzk_key_at(r->c, k);
  char text[32];
  if (k->kind == K_AFFINITY && v->type == CUZK_TOML_TABLE) {
    clear_affinity(slot);
    return true;
  }
  switch (v->type) {
    case CUZK_TOML_STRING:
      if (k->kind == K_BOOL || k->kind == K_UINT || k->kind >= K_UINTS) {
        if (k->kind != K_MODE) break;
      }
      return text_ok(v, why) && set_text(r->c, k, v->text, why);
    case CUZK_TOML_INT:
      if (k->kind == K_UINT) return set_uint(k, slot, v->integer, why);
      if (k->kind == K_SIZE || k->kind == K_DURATION) {
        (void)snprintf(text, sizeof text, "%" PRId64, v->integer);
        return set_text(r->c, k, text, why);
      }
      break;
    case CUZK_TOML_BOOL:
      if (k->kind != K_BOOL) break;
      *(bool *)slot = v->boolean;
      return true;
    case CUZK_TOML_ARRAY:
      if (k->kind == K_UINTS) return set_uints(k, slot, v, why);
      if (k->kind == K_STRINGS) return set_strings(r, slot, v, why);
      break;
    default: break;
  }
  return wrong_type(k, why);
}

static int find_key(const char *section, const char *key) {
  for (int i = 0; i < N_KEYS; i++)
    if (strcmp(cuzk_keys[i].section, section) == 0 && strcmp(cuzk_keys[i].key, key) == 0) return i;
  return -1;
}

static bool is_section(const char *name) {
  for (int i = 0; i < N_KEYS; i++)
    if (strcmp(cuzk_keys[i].section, name) == 0) return true;
  return false;
}

static bool wrong_value(struct reader *r, const char *at, const char *section, const char *key, const char *why) {
  if (!why[0]) return stop(r, cuzk_fail(r->d, CUZK_E_NOMEM, "%s: no memory for %s.%s", at, section, key));
  return stop(r, cuzk_fail(r->d, r->bad, "%s: %s.%s: %s", at, section, key, why));
}

static void note(struct reader *r, int key, unsigned line) { r->from[key] = (struct origin){r->name, r->is_file ? line : 0}; }

static void warn_dead(const struct reader *r, const char *at, const struct cuzk_key *k) {
  warn(r, "%s: %s.%s has no effect any more and is ignored: %s", at, k->section, k->key, k->doc);
}

static bool on_value(void *user, const char *const *path, size_t depth, const struct cuzk_toml_value *v) {
  struct reader *r = user;
  char at[256], hint[160], why[256] = "";
  (void)where(r, v->line, at);
  if (depth == 1) {
    const bool known = is_section(path[0]);
    if (known && v->type == CUZK_TOML_TABLE) return true;
    if (known) return stop(r, cuzk_fail(r->d, r->bad, "%s: %s is a section; write [%s] on a line of its own", at, path[0], path[0]));
    suggest(hint, NULL, path[0]);
    const char *what = v->type == CUZK_TOML_TABLE ? "section" : "key";
    if (r->lenient) {
      warn(r, "%s: there is no %s %.80s%s (ignored)", at, what, path[0], hint);
      return true;
    }
    return stop(r, cuzk_fail(r->d, r->bad, "%s: there is no %s %.80s%s", at, what, path[0], hint));
  }
  if (!is_section(path[0])) return true; /* warned of */
  const int i = find_key(path[0], path[1]);
  if (depth >= 3) {
    if (i < 0 || i != KEY_gpus_affinity) return true; /* warned of, or refused as no table */
    if (depth == 3 && v->type == CUZK_TOML_TABLE) (void)snprintf(why, sizeof why, "expected \"any\" or a list of circuits");
    if (depth == 3 && v->type != CUZK_TOML_TABLE && set_affinity(r, path[2], v, why)) return true;
    return wrong_value(r, at, path[0], path[1], why);
  }
  if (i < 0) {
    suggest(hint, path[0], path[1]);
    if (r->lenient) {
      warn(r, "%s: there is no key %s.%.80s%s (ignored)", at, path[0], path[1], hint);
      return true;
    }
    return stop(r, cuzk_fail(r->d, r->bad, "%s: there is no key %s.%.80s%s", at, path[0], path[1], hint));
  }
  const struct cuzk_key *k = &cuzk_keys[i];
  if (k->flags & CUZK_KEY_DEAD) {
    warn_dead(r, at, k);
    return true;
  }
  if (!set_value(r, k, v, why)) return wrong_value(r, at, k->section, k->key, why);
  note(r, i, v->line);
  return true;
}

static enum cuzk_status read_toml(struct reader *r, const char *text, size_t n) {
  unsigned line, column;
  char why[160];
  r->st = CUZK_OK;
  switch (cuzk_toml_walk(text, n, on_value, r, &line, &column, why)) {
    case CUZK_TOML_NOMEM: return cuzk_fail(r->d, CUZK_E_NOMEM, "%s: no memory to read it", r->name);
    case CUZK_TOML_SYNTAX:
      if (!r->is_file || !line) return cuzk_fail(r->d, r->bad, "%s: not TOML: %s", r->name, why);
      return cuzk_fail(r->d, r->bad, "%s:%u: column %u: not TOML: %s", r->name, line, column, why);
    default: return r->st;
  }
}

/* --- the sources --- */

static const char *plain_getenv(const char *name) { return getenv(name); }

static enum cuzk_status set_defaults(struct cuzk_config *c, const char *(*env)(const char *)) {
  *c = (struct cuzk_config){.split_prove = true};
  char why[256];
  enum cuzk_status st = CUZK_OK;
  for (int i = 0; i < N_KEYS && st == CUZK_OK; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    if (k->kind == K_UINTS || k->kind == K_STRINGS || k->kind == K_AFFINITY) continue; /* empty */
    if (!set_text(c, k, k->def, why)) st = CUZK_E_NOMEM;
  }
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  if (cpus > 0 && (unsigned long)cpus < c->gpus_gpu_threads) c->gpus_gpu_threads = (unsigned)cpus;
  if (st == CUZK_OK && geteuid() != 0) {
    const char *state = env("XDG_STATE_HOME"), *home = env("HOME");
    char path[4096] = "";
    if (state && state[0] == '/') {
      (void)snprintf(path, sizeof path, "%s/cuzk", state);
    } else if (home && home[0] == '/') {
      (void)snprintf(path, sizeof path, "%s/.local/state/cuzk", home);
    }
    if (path[0] && !set_string(&c->daemon_state_dir, path)) st = CUZK_E_NOMEM;
  }
  if (st != CUZK_OK) cuzk_config_clear(c);
  return st;
}

enum cuzk_status cuzk_config_defaults(struct cuzk_config *c) { return set_defaults(c, plain_getenv); }

void cuzk_config_clear(struct cuzk_config *c) {
  for (int i = 0; i < N_KEYS; i++) {
    void *slot = cuzk_key_at(c, &cuzk_keys[i]);
    switch (cuzk_keys[i].kind) {
      case K_STRING: cuzk_free(*(char **)slot); break;
      case K_UINTS: cuzk_free(((struct cuzk_uint_list *)slot)->v); break;
      case K_STRINGS: clear_strings(slot); break;
      case K_AFFINITY: clear_affinity(slot); break;
      default: break;
    }
  }
  *c = (struct cuzk_config){0};
}

/* Sets a key to a text of the environment or the command line. */
static enum cuzk_status set_from(struct reader *r, int i, const char *text) {
  char why[256] = "";
  if (set_text(r->c, &cuzk_keys[i], text, why)) {
    note(r, i, 0);
    return CUZK_OK;
  }
  (void)wrong_value(r, r->name, cuzk_keys[i].section, cuzk_keys[i].key, why);
  return r->st;
}

static enum cuzk_status read_environment(struct reader *r, const char *(*env)(const char *)) {
  static const struct {
    const char *name;
    int key;
  } keys[] = {{"RUST_LOG", KEY_logging_level}, {"CUZK_LOG", KEY_logging_level}, {"CUZK_GPU_THREADS", KEY_gpus_gpu_threads},
              {"FIL_PROOFS_PARAMETER_CACHE", KEY_srs_param_cache}};
  static const char *const flags[] = {"CUZK_DISABLE_PCE", "CUZK_DISABLE_SPLIT_PROVE", "CUZK_VALIDATE_PARTITIONS"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *v = env(keys[i].name);
    if (!v || !*v) continue;
    r->name = keys[i].name;
    const enum cuzk_status st = set_from(r, keys[i].key, v);
    if (st != CUZK_OK) return st;
  }
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    const char *v = env(flags[i]);
    if (!v || !*v || strcmp(v, "0") == 0) continue;
    if (strcmp(v, "1") != 0) return cuzk_fail(r->d, CUZK_E_FORMAT, "%s: \"%.60s\" is not 0 or 1", flags[i], v);
    r->name = flags[i];
    if (i == 0) {
      r->c->pipeline_pce = false;
      note(r, KEY_pipeline_pce, 0);
    } else if (i == 1) {
      r->c->split_prove = false;
    } else {
      r->c->validate_partitions = true;
    }
  }
  return CUZK_OK;
}

static enum cuzk_status read_set(struct reader *r, const char *set) {
  const char *equals = strchr(set, '='), *dot = strchr(set, '.');
  char section[MAX_NAME], key[MAX_NAME], hint[160];
  if (!equals || !dot || dot > equals || dot - set >= MAX_NAME || equals - dot > MAX_NAME) {
    return cuzk_fail(r->d, r->bad, "--set %.80s: expected section.key=value", set);
  }
  (void)snprintf(section, sizeof section, "%.*s", (int)(dot - set), set);
  (void)snprintf(key, sizeof key, "%.*s", (int)(equals - dot - 1), dot + 1);
  const int i = find_key(section, key);
  if (i < 0) {
    suggest(hint, section, key);
    return cuzk_fail(r->d, r->bad, "--set: there is no key %s.%s%s", section, key, hint);
  }
  const struct cuzk_key *k = &cuzk_keys[i];
  if (k->flags & CUZK_KEY_DEAD) {
    warn_dead(r, "--set", k);
    return CUZK_OK;
  }
  const char *value = equals + 1;
  const bool list = k->kind == K_UINTS || k->kind == K_STRINGS || k->kind == K_AFFINITY;
  if (!list && value[0] != '"' && value[0] != '\'') return set_from(r, i, value);
  if (strpbrk(value, "\r\n")) return cuzk_fail(r->d, r->bad, "--set %s.%s: more than one line", section, key);
  const size_t room = strlen(section) + strlen(set) + 16;
  char *text = cuzk_malloc(room);
  if (!text) return cuzk_fail(r->d, CUZK_E_NOMEM, "--set: no memory");
  const int n = snprintf(text, room, "[%s]\n%s = %s\n", section, key, value);
  const enum cuzk_status st = read_toml(r, text, (size_t)n);
  cuzk_free(text);
  return st;
}

/* --- what must fit together --- */

static enum cuzk_status impossible(struct reader *r, int key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static enum cuzk_status impossible(struct reader *r, int key, const char *fmt, ...) {
  char at[256], why[384];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(why, sizeof why, fmt, ap);
  va_end(ap);
  return cuzk_fail(r->d, CUZK_E_FORMAT, "%s: %s.%s: %s", where_from(r, key, at), cuzk_keys[key].section, cuzk_keys[key].key, why);
}

static enum cuzk_status cross_check(struct reader *r) {
  const struct cuzk_config *c = r->c;
  struct cuzk_address a, status;
  const bool tls = c->daemon_tls_cert[0], token = c->daemon_auth_token_file[0];
  if (!cuzk_address_parse(&a, c->daemon_listen)) {
    return impossible(r, KEY_daemon_listen, "\"%.80s\" is no address; write unix:///PATH or HOST:PORT", c->daemon_listen);
  }
  if (c->daemon_status_listen[0]) {
    if (!cuzk_address_parse(&status, c->daemon_status_listen)) {
      return impossible(r, KEY_daemon_status_listen, "\"%.80s\" is no address; write HOST:PORT", c->daemon_status_listen);
    }
    if (status.is_unix == a.is_unix && status.port == a.port && strcmp(status.host, a.host) == 0 && (a.is_unix || a.port)) {
      return impossible(r, KEY_daemon_status_listen, "is the address of daemon.listen; take another port");
    }
    if (!status.loopback && !c->daemon_allow_insecure_remote) {
      char at[256];
      warn(r, "%s: daemon.status_listen: %s can be read by everybody who reaches this machine", where_from(r, KEY_daemon_status_listen, at),
           c->daemon_status_listen);
    }
  }
  if (tls && !c->daemon_tls_key[0]) return impossible(r, KEY_daemon_tls_cert, "needs daemon.tls_key");
  if (!tls && c->daemon_tls_key[0]) return impossible(r, KEY_daemon_tls_key, "needs daemon.tls_cert");
  if (!tls && c->daemon_tls_client_ca[0]) return impossible(r, KEY_daemon_tls_client_ca, "needs daemon.tls_cert and daemon.tls_key");
  if (tls && a.is_unix) return impossible(r, KEY_daemon_tls_cert, "TLS is for TCP, but daemon.listen is a unix socket; remove one");
  if (token && a.is_unix) {
    return impossible(r, KEY_daemon_auth_token_file, "tokens are for TCP, but daemon.listen is a unix socket; use daemon.socket_mode and socket_group");
  }
  if (!a.loopback && !tls && !token && !c->daemon_allow_insecure_remote) {
    return impossible(r, KEY_daemon_listen,
                      "%.80s can be reached from other machines; set daemon.tls_cert and tls_key, or auth_token_file, or allow_insecure_remote = true",
                      c->daemon_listen);
  }
  if (strcmp(c->daemon_state_dir, "none") != 0 && c->daemon_state_dir[0] != '/') {
    return impossible(r, KEY_daemon_state_dir, "\"%.80s\" is no absolute path; write one, or none", c->daemon_state_dir);
  }
  if (!c->srs_param_cache[0]) return impossible(r, KEY_srs_param_cache, "is empty; name the folder of the parameter files");
  if (c->daemon_max_queued_bytes.is == CUZK_SIZE_BYTES && c->daemon_max_queued_bytes.n < c->daemon_grpc_max_recv_bytes.n) {
    return impossible(r, KEY_daemon_max_queued_bytes, "is less than daemon.grpc_max_recv_bytes: the largest requests would always be refused");
  }
  for (size_t i = 0; i < c->gpus_affinity.n && c->gpus_devices.n; i++) {
    bool listed = false;
    for (size_t k = 0; k < c->gpus_devices.n; k++) listed = listed || c->gpus_devices.v[k] == c->gpus_affinity.v[i].ordinal;
    if (!listed) return impossible(r, KEY_gpus_affinity, "device %u is not in gpus.devices", c->gpus_affinity.v[i].ordinal);
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_config_parse(struct cuzk_config *c, const char *text, size_t n, const char *name, const struct cuzk_config_source *s,
                                   struct cuzk_detail *d) {
  const char *(*env)(const char *) = s->env ? s->env : plain_getenv;
  struct reader r = {.c = c, .s = s, .d = d, .bad = CUZK_E_FORMAT, .lenient = s->lenient, .name = name, .is_file = true};
  enum cuzk_status st = set_defaults(c, env);
  if (st != CUZK_OK) return cuzk_fail(d, st, "%s: no memory for the configuration", name);
  st = read_toml(&r, text, n);
  r.is_file = false;
  r.lenient = false;
  if (st == CUZK_OK) st = read_environment(&r, env);
  r.bad = CUZK_E_USAGE;
  for (size_t i = 0; i < s->n_set && st == CUZK_OK; i++) {
    r.name = "--set";
    st = read_set(&r, s->set[i]);
  }
  if (st == CUZK_OK) st = cross_check(&r);
  if (st != CUZK_OK) cuzk_config_clear(c);
  return st;
}

enum cuzk_status cuzk_config_load(struct cuzk_config *c, const struct cuzk_config_source *s, struct cuzk_detail *d) {
  const char *path = s->path ? s->path : CUZK_CONFIG_PATH;
  *c = (struct cuzk_config){0};
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno != ENOENT || s->path) return cuzk_fail_errno(d, errno, "%s: the configuration cannot be read", path);
    const struct reader r = {.s = s};
    warn(&r, "%s: not there; defaults are used", path);
    return cuzk_config_parse(c, "", 0, path, s, d);
  }
  char *text = cuzk_malloc(MAX_FILE + 1);
  size_t n = 0;
  enum cuzk_status st = text ? CUZK_OK : cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory to read it", path);
  while (st == CUZK_OK && n <= MAX_FILE) {
    const ssize_t k = read(fd, text + n, MAX_FILE + 1 - n);
    if (k == 0) break;
    if (k > 0) {
      n += (size_t)k;
    } else if (errno != EINTR) {
      st = cuzk_fail_errno(d, errno, "%s: the configuration cannot be read", path);
    }
  }
  (void)close(fd);
  if (st == CUZK_OK && n > MAX_FILE) st = cuzk_fail(d, CUZK_E_FORMAT, "%s: larger than %d bytes, which no configuration is", path, MAX_FILE);
  if (st == CUZK_OK) st = cuzk_config_parse(c, text, n, path, s, d);
  cuzk_free(text);
  return st;
}
