/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The daemon's configuration: a TOML file, the environment, the command line (engine specification 4).
 *
 *  A value comes from the command line, else the environment, else the file, else the default. Unknown keys and values that cannot be
 *  are errors that name file, line, key and remedy. Keys: config_keys.h; docs/config.md and cuzk.example.toml are made from it.
 *  Tests: daemon/test_config.c, fuzz/fuzz_toml.c. */
#ifndef CUZK_DAEMON_CONFIG_H
#define CUZK_DAEMON_CONFIG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuzk/status.h"
#include "daemon/config_keys.h"

enum { CUZK_KEY_LIVE = 1, CUZK_KEY_AUTO = 2, CUZK_KEY_PERCENT = 4, CUZK_KEY_DEAD = 8 };
#define CUZK_CONFIG_PATH "/data/zk/cuzk.toml" /* where the reference looks */

struct cuzk_size {
  enum { CUZK_SIZE_BYTES, CUZK_SIZE_AUTO, CUZK_SIZE_PERCENT } is;
  uint64_t n; /* bytes, or 1 .. 100 */
};
struct cuzk_uint_list {
  size_t n;
  unsigned *v;
};
struct cuzk_string_list {
  size_t n;
  char **v;
};
struct cuzk_affinity_list {
  size_t n;
  struct {
    unsigned ordinal;
    char *circuits; /* separated by blanks, or "any" */
  } *v;             /* ascending */
};

#define CUZK_T_STRING char *
#define CUZK_T_BOOL bool
#define CUZK_T_UINT unsigned
#define CUZK_T_SIZE struct cuzk_size
#define CUZK_T_DURATION uint64_t
#define CUZK_T_CHOICE unsigned
#define CUZK_T_UINTS struct cuzk_uint_list
#define CUZK_T_STRINGS struct cuzk_string_list
#define CUZK_T_AFFINITY struct cuzk_affinity_list
#define CUZK_T_MODE unsigned

/* The order of CHOICEs is that of enum cuzk_orphan_policy and enum cuzk_self_check (engine/engine.h). */
struct cuzk_config {
#define CUZK_X(section, key, kind, def, least, most, words, flags, doc) CUZK_T_##kind section##_##key;
  CUZK_CONFIG_KEYS(CUZK_X)
#undef CUZK_X
  bool split_prove;         /* false: CUZK_DISABLE_SPLIT_PROVE=1 */
  bool validate_partitions; /* CUZK_VALIDATE_PARTITIONS=1 */
};

struct cuzk_config_source {
  const char *path;                     /* NULL: CUZK_CONFIG_PATH, which may be absent (one warning) */
  const char *const *set;               /* "section.key=value", later ones win; the flags of the command line become these, too */
  size_t n_set;
  bool lenient;                         /* unknown keys of the file are warnings */
  const char *(*env)(const char *name); /* NULL: getenv. Only called in cuzk_config_load */
  bool (*known_circuit)(const char *id); /* for preload and affinity; NULL: every name will do */
  void (*warn)(void *user, const char *line); /* may be NULL */
  void *user;
};

/** Defaults of this machine and user. Errors: E_NOMEM; *c is empty then. */
enum cuzk_status cuzk_config_defaults(struct cuzk_config *c);
/** Reads everything. Errors: E_NOENT, E_IO (the file); E_FORMAT (syntax, unknown key, impossible value or combination); E_USAGE (set); E_NOMEM.
 *  *c is empty then. */
enum cuzk_status cuzk_config_load(struct cuzk_config *c, const struct cuzk_config_source *s, struct cuzk_detail *d);
/** As cuzk_config_load with the file's text given; name is used in messages. */
enum cuzk_status cuzk_config_parse(struct cuzk_config *c, const char *text, size_t n, const char *name, const struct cuzk_config_source *s,
                                   struct cuzk_detail *d);
/** Empties; an empty ({0}) one is accepted. */
void cuzk_config_clear(struct cuzk_config *c);

/** The whole configuration as TOML that reads back to the same. To be freed with cuzk_free. Errors: E_NOMEM. */
enum cuzk_status cuzk_config_print(const struct cuzk_config *c, char **out);
/** cuzk.example.toml: every key with its documentation, all commented out. */
enum cuzk_status cuzk_config_example(char **out);
/** docs/config.md. */
enum cuzk_status cuzk_config_reference(char **out);
/** Calls fn for each key that differs; live: SIGHUP may apply it. Errors: E_NOMEM. */
enum cuzk_status cuzk_config_diff(const struct cuzk_config *from, const struct cuzk_config *to,
                                  void (*fn)(void *user, const char *key, const char *was, const char *is, bool live), void *user);

/** "1.5GiB", "256M", "10", and "auto" and "90%" where flags (CUZK_KEY_AUTO, CUZK_KEY_PERCENT) allow: engine specification 4.1. */
bool cuzk_size_parse(struct cuzk_size *out, const char *text, unsigned flags);
/** "1h30m", "250ms", "2.5s"; a bare integer is seconds. In ns. */
bool cuzk_duration_parse(uint64_t *out, const char *text);
/** The bytes a size stands for on a machine with total bytes of memory; if_auto for auto. */
uint64_t cuzk_size_bytes(struct cuzk_size s, uint64_t total, uint64_t if_auto);

/** An address to listen on. */
struct cuzk_address {
  bool is_unix, loopback;
  char host[256]; /* or the socket's path */
  unsigned port;
};
/** unix:///PATH, HOST:PORT, [IPv6]:PORT, :PORT (all interfaces). False: it is none. */
bool cuzk_address_parse(struct cuzk_address *out, const char *text);
#endif
