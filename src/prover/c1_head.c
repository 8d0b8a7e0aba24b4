/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "base/base64.h"
#include "prover/internal.h"

#define HEAD_CHARS 1024u /* base64 characters of the wrapped document that are decoded; a multiple of four */

struct text {
  const uint8_t *p, *end;
};

static void skip_blanks(struct text *t) {
  while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r')) t->p++;
}

static bool take(struct text *t, char c) {
  skip_blanks(t);
  if (t->p == t->end || *t->p != (uint8_t)c) return false;
  t->p++;
  return true;
}

/* A string without escapes. If the text ends within it, *n is what there is and t is at the end. */
static bool take_string(struct text *t, const uint8_t **s, size_t *n) {
  if (!take(t, '"')) return false;
  const uint8_t *quote = memchr(t->p, '"', (size_t)(t->end - t->p));
  *s = t->p;
  *n = (size_t)((quote ? quote : t->end) - t->p);
  t->p = quote ? quote + 1 : t->end;
  return *n == 0 || (*s)[*n - 1] != '\\';
}

static bool take_u64(struct text *t, uint64_t *v) {
  skip_blanks(t);
  const uint8_t *start = t->p;
  for (*v = 0; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
    if (*v > (UINT64_MAX - 9) / 10) return false;
    *v = 10 * *v + (uint64_t)(*t->p - '0');
  }
  return t->p != start;
}

static bool is(const uint8_t *s, size_t n, const char *name) { return n == strlen(name) && !memcmp(s, name, n); }

static void look(struct real_c1_head *out, struct text t, bool wrapped) {
  if (!take(&t, '{')) return;
  do {
    const uint8_t *key, *s;
    size_t n_key, n;
    if (!take_string(&t, &key, &n_key) || !take(&t, ':')) return;
    skip_blanks(&t);
    if (t.p == t.end) return;
    if (*t.p == '"') {
      if (!take_string(&t, &s, &n)) return;
      if (is(key, n_key, "registered_proof")) {
        char name[64];
        if (n >= sizeof name) return;
        memcpy(name, s, n);
        name[n] = 0;
        out->type = cuzk_seal_type_find(name);
        return;
      }
      if (!wrapped && is(key, n_key, "Phase1Out")) {
        uint8_t head[HEAD_CHARS / 4 * 3];
        size_t n_head, bad;
        n = n > HEAD_CHARS ? HEAD_CHARS : n & ~(size_t)3;
        if (cuzk_base64_decode(head, &n_head, s, n, &bad) == CUZK_BASE64_OK) look(out, (struct text){head, head + n_head}, true);
      }
    } else if (!wrapped && is(key, n_key, "SectorNum")) {
      if (!take_u64(&t, &out->sector)) return;
      out->has_sector = true;
    } else if (!wrapped && is(key, n_key, "SectorSize")) {
      if (!take_u64(&t, &out->size)) return;
      out->has_size = true;
    } else {
      return;
    }
  } while (take(&t, ','));
}

void real_c1_look(struct real_c1_head *out, const uint8_t *p, size_t n) {
  memset(out, 0, sizeof *out);
  look(out, (struct text){p, p + n}, false);
}
