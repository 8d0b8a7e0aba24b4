/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "daemon/config_internal.h"

/* Text that grows. */
struct text {
  char *p;
  size_t n, room;
  bool failed;
};

static void put(struct text *t, const char *s, size_t n) {
  if (t->failed) return;
  if (t->room - t->n <= n) {
    const size_t room = 2 * t->room + n + 256;
    char *p = cuzk_realloc_array(t->p, room, 1);
    if (!p) {
      t->failed = true;
      return;
    }
    t->p = p;
    t->room = room;
  }
  memcpy(t->p + t->n, s, n);
  t->n += n;
  t->p[t->n] = 0;
}

static void add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *fmt, ...) {
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  const int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  put(t, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

static enum cuzk_status done(struct text *t, char **out) {
  *out = t->p;
  if (!t->failed && t->p) return CUZK_OK;
  cuzk_free(t->p);
  *out = NULL;
  return CUZK_E_NOMEM;
}

/* Values hold no control characters. */
static void add_string(struct text *t, const char *s) {
  put(t, "\"", 1);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') put(t, "\\", 1);
    put(t, s, 1);
  }
  put(t, "\"", 1);
}

static void add_value(struct text *t, const struct cuzk_config *c, const struct cuzk_key *k) {
  const void *slot = cuzk_key_at(c, k);
  char s[160];
  switch (k->kind) {
    case K_STRING: add_string(t, *(char *const *)slot); return;
    case K_BOOL: add(t, "%s", *(const bool *)slot ? "true" : "false"); return;
    case K_UINT: add(t, "%u", *(const unsigned *)slot); return;
    case K_MODE: add(t, "\"%04o\"", *(const unsigned *)slot); return;
    case K_SIZE:
      cuzk_size_print(s, sizeof s, *(const struct cuzk_size *)slot);
      add(t, "\"%s\"", s);
      return;
    case K_DURATION:
      cuzk_duration_print(s, sizeof s, *(const uint64_t *)slot);
      add(t, "\"%s\"", s);
      return;
    case K_CHOICE: {
      const char *p = k->words;
      for (unsigned i = *(const unsigned *)slot; i; i--) p = strchr(p, '|') + 1;
      add(t, "\"%.*s\"", (int)strcspn(p, "|"), p);
      return;
    }
    case K_UINTS: {
      const struct cuzk_uint_list *l = slot;
      put(t, "[", 1);
      for (size_t i = 0; i < l->n; i++) add(t, "%s%u", i ? ", " : "", l->v[i]);
      put(t, "]", 1);
      return;
    }
    case K_STRINGS: {
      const struct cuzk_string_list *l = slot;
      put(t, "[", 1);
      for (size_t i = 0; i < l->n; i++) {
        if (i) put(t, ", ", 2);
        add_string(t, l->v[i]);
      }
      put(t, "]", 1);
      return;
    }
    case K_AFFINITY: {
      const struct cuzk_affinity_list *l = slot;
      put(t, "{", 1);
      for (size_t i = 0; i < l->n; i++) {
        add(t, "%s%u = ", i ? ", " : " ", l->v[i].ordinal);
        if (strcmp(l->v[i].circuits, "any") == 0) {
          add_string(t, "any");
          continue;
        }
        put(t, "[\"", 2);
        for (const char *p = l->v[i].circuits; *p; p++) {
          if (*p == ' ') {
            put(t, "\", \"", 4);
          } else {
            put(t, p, 1);
          }
        }
        put(t, "\"]", 2);
      }
      put(t, l->n ? " }" : "}", l->n ? 2 : 1);
      return;
    }
  }
}

/* The default as TOML. */
static void add_default(struct text *t, const struct cuzk_key *k) {
  const bool bare = k->kind == K_BOOL || k->kind == K_UINT || k->kind == K_UINTS || k->kind == K_STRINGS || k->kind == K_AFFINITY;
  if (bare) {
    add(t, "%s", k->def);
  } else {
    add_string(t, k->def);
  }
}

static void add_section(struct text *t, const char **section, const struct cuzk_key *k) {
  if (*section && strcmp(*section, k->section) == 0) return;
  add(t, "%s[%s]\n", *section ? "\n" : "", k->section);
  *section = k->section;
}

enum cuzk_status cuzk_config_print(const struct cuzk_config *c, char **out) {
  struct text t = {0};
  const char *section = NULL;
  for (int i = 0; i < N_KEYS; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    if (k->flags & CUZK_KEY_DEAD) continue;
    add_section(&t, &section, k);
    add(&t, "%s = ", k->key);
    add_value(&t, c, k);
    put(&t, "\n", 1);
  }
  return done(&t, out);
}

enum cuzk_status cuzk_config_example(char **out) {
  struct text t = {0};
  const char *section = NULL;
  add(&t, "# SPDX-License-Identifier: MIT OR Apache-2.0\n"
          "# Configuration of the cuzk daemon. Every key is here with its default, commented out; docs/config.md says more.\n"
          "# Sizes: \"256MiB\", \"1.5G\", a number of bytes. Durations: \"1h30m\", \"250ms\", a number of seconds.\n\n");
  for (int i = 0; i < N_KEYS; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    if (k->flags & CUZK_KEY_DEAD) continue;
    add_section(&t, &section, k);
    add(&t, "# %s", k->doc);
    if (k->flags & CUZK_KEY_LIVE) add(&t, " SIGHUP applies a change.");
    add(&t, "\n# %s = ", k->key);
    add_default(&t, k);
    put(&t, "\n", 1);
  }
  return done(&t, out);
}

static void add_kind(struct text *t, const struct cuzk_key *k) {
  char low[64], high[64];
  switch (k->kind) {
    case K_STRING: add(t, "string"); return;
    case K_BOOL: add(t, "true or false"); return;
    case K_UINT: add(t, "%" PRIu64 " to %" PRIu64, k->least, k->most); return;
    case K_MODE: add(t, "octal string"); return;
    case K_SIZE:
      cuzk_size_print(low, sizeof low, (struct cuzk_size){CUZK_SIZE_BYTES, k->least});
      cuzk_size_print(high, sizeof high, (struct cuzk_size){CUZK_SIZE_BYTES, k->most});
      add(t, "size, %s to %s%s%s", low, high, k->flags & CUZK_KEY_PERCENT ? ", percentage" : "", k->flags & CUZK_KEY_AUTO ? ", auto" : "");
      return;
    case K_DURATION:
      cuzk_duration_print(low, sizeof low, k->least * 1000000);
      cuzk_duration_print(high, sizeof high, k->most * 1000000);
      add(t, "duration, %s to %s", low, high);
      return;
    case K_CHOICE:
      for (const char *p = k->words; *p; p++) add(t, "%s%c", *p == '|' ? "," : "", *p == '|' ? ' ' : *p);
      return;
    case K_UINTS: add(t, "list of numbers"); return;
    case K_STRINGS: add(t, "list of strings"); return;
    case K_AFFINITY: add(t, "table"); return;
  }
}

enum cuzk_status cuzk_config_reference(char **out) {
  struct text t = {0};
  const char *section = NULL;
  add(&t, "# Configuration of the daemon\n\n"
          "A TOML file, `%s` unless `--config` names another. A value comes from the command line (`--set section.key=value`, or a\n"
          "flag), else from the environment, else from the file, else it is the default below. A file named by `--config` must be there.\n"
          "Unknown keys and impossible values are errors that name file, line and key; `--lenient` makes warnings of unknown keys.\n"
          "The tables are made from `src/daemon/config_keys.h`, and a test compares them.\n\n",
      CUZK_CONFIG_PATH);
  add(&t, "Sizes are numbers, also with a decimal point, followed by nothing or `B` (bytes), `K`, `M`, `G`, `T`, `KiB` to `TiB` (powers of\n"
          "1024), `KB` to `TB` (powers of 1000). Durations are numbers followed by `d`, `h`, `m`, `s`, `ms`, one after the other\n"
          "(`1h30m`); a bare whole number is seconds. Both are written in quotes, or as bare whole numbers.\n\n"
          "SIGHUP reads everything again. What is marked *live* is applied; other changes are reported as needing a restart.\n");
  for (int i = 0; i < N_KEYS; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    if (k->flags & CUZK_KEY_DEAD) continue;
    if (!section || strcmp(section, k->section) != 0) {
      section = k->section;
      add(&t, "\n## [%s]\n\n| key | value | default | |\n| --- | --- | --- | --- |\n", section);
    }
    add(&t, "| `%s` | ", k->key);
    add_kind(&t, k);
    add(&t, " | `");
    add_default(&t, k);
    add(&t, "` | %s%s |\n", k->doc, k->flags & CUZK_KEY_LIVE ? " *Live.*" : "");
  }
  add(&t, "\n## Without effect\n\nAccepted with one warning each.\n\n| key | |\n| --- | --- |\n");
  for (int i = 0; i < N_KEYS; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    if (k->flags & CUZK_KEY_DEAD) add(&t, "| `%s.%s` | %s |\n", k->section, k->key, k->doc);
  }
  add(&t, "\n## Environment\n\n| variable | stands for |\n| --- | --- |\n"
          "| `CUZK_LOG`, or else `RUST_LOG` | `logging.level` |\n"
          "| `CUZK_GPU_THREADS` | `gpus.gpu_threads` |\n"
          "| `FIL_PROOFS_PARAMETER_CACHE` | `srs.param_cache` |\n"
          "| `CUZK_DISABLE_PCE=1` | `pipeline.pce = false` |\n"
          "| `CUZK_DISABLE_SPLIT_PROVE=1` | start and finish of a partition run as one call |\n"
          "| `CUZK_VALIDATE_PARTITIONS=1` | each partition is verified, too, after a proof that passed |\n");
  add(&t, "\n## What must fit together\n\n"
          "- `daemon.tls_cert` and `tls_key` come together; `tls_client_ca` needs them. They and `auth_token_file` are for TCP, not for a unix socket.\n"
          "- `daemon.listen` beyond this machine needs TLS, or a token, or `allow_insecure_remote = true`.\n"
          "- `daemon.status_listen` is another address than `daemon.listen`.\n"
          "- `daemon.max_queued_bytes` is at least `grpc_max_recv_bytes`.\n"
          "- Devices in `gpus.affinity` are in `gpus.devices`, unless that is empty.\n");
  return done(&t, out);
}

enum cuzk_status cuzk_config_diff(const struct cuzk_config *from, const struct cuzk_config *to,
                                  void (*fn)(void *user, const char *key, const char *was, const char *is, bool live), void *user) {
  for (int i = 0; i < N_KEYS; i++) {
    const struct cuzk_key *k = &cuzk_keys[i];
    struct text a = {0}, b = {0};
    char name[128];
    add_value(&a, from, k);
    add_value(&b, to, k);
    const bool failed = a.failed || b.failed || !a.p || !b.p;
    if (!failed && strcmp(a.p, b.p) != 0) {
      (void)snprintf(name, sizeof name, "%s.%s", k->section, k->key);
      fn(user, name, a.p, b.p, k->flags & CUZK_KEY_LIVE);
    }
    cuzk_free(a.p);
    cuzk_free(b.p);
    if (failed) return CUZK_E_NOMEM;
  }
  return CUZK_OK;
}
