/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The table of keys as data. Internal to the configuration. */
#ifndef CUZK_DAEMON_CONFIG_INTERNAL_H
#define CUZK_DAEMON_CONFIG_INTERNAL_H
#include "daemon/config.h"

enum cuzk_key_kind { K_STRING, K_BOOL, K_UINT, K_SIZE, K_DURATION, K_CHOICE, K_UINTS, K_STRINGS, K_AFFINITY, K_MODE };
enum {
#define CUZK_X(section, key, kind, def, least, most, words, flags, doc) KEY_##section##_##key,
  CUZK_CONFIG_KEYS(CUZK_X)
#undef CUZK_X
      N_KEYS
};
struct cuzk_key {
  const char *section, *key;
  enum cuzk_key_kind kind;
  const char *def;
  uint64_t least, most;
  const char *words;
  unsigned flags;
  const char *doc;
  size_t offset; /* in struct cuzk_config */
};
extern const struct cuzk_key cuzk_keys[N_KEYS];

static inline void *cuzk_key_at(const struct cuzk_config *c, const struct cuzk_key *k) { return (char *)(uintptr_t)c + k->offset; }

/** Writes a size or duration (ns) so that it reads back to the same; n >= 64. */
void cuzk_size_print(char *out, size_t n, struct cuzk_size s);
void cuzk_duration_print(char *out, size_t n, uint64_t ns);
#endif
