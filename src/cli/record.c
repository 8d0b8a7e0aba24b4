/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* JSON files that are small enough to hold as a tree: records, toxic waste, randomness, proofs. */
#include <setjmp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/cli.h"

static bool starved;
static jmp_buf *parsing; /* where a parse is given up, while one runs */

void *cli_json_alloc(size_t bytes) {
  void *p = cuzk_malloc(bytes);
  if (p) return p;
  starved = true;
  if (parsing) longjmp(*parsing, 1);
  return NULL;
}

bool cli_json_starved(void) { return starved; }

/* NULL: no JSON, or no memory. jansson's parser does not survive each failed allocation (2.14 writes through a null buffer after
 * some), so it never sees one: the parse is left, with what it held, to the end of the process, which is near. */
static json_t *parse(const struct cuzk_file *f, json_error_t *e) {
  jmp_buf back;
  json_t *volatile v = NULL;
  if (setjmp(back) == 0) {
    parsing = &back;
    v = json_loadb((const char *)f->data, f->n, JSON_REJECT_DUPLICATES, e);
  }
  parsing = NULL;
  return v;
}

enum cuzk_status cli_json_load(json_t **out, const char *path, struct cuzk_detail *d) {
  struct cuzk_file f = {0};
  *out = NULL;
  enum cuzk_status st = cuzk_file_read(&f, path, UINT64_C(64) << 20, d);
  if (st != CUZK_OK) return st;
  json_error_t e;
  *out = parse(&f, &e);
  cuzk_file_clear(&f);
  if (*out) return CUZK_OK;
  if (starved) return cuzk_fail(d, CUZK_E_NOMEM, "%s: does not fit the memory", path);
  return cuzk_fail(d, CUZK_E_FORMAT, "%s: not JSON: %s at byte %d", path, e.text, e.position);
}

enum cuzk_status cli_check_out(const char *path, const char *const *inputs, size_t n, struct cuzk_detail *d) {
  struct stat to, from;
  struct cuzk_outfile *probe;
  const bool there = stat(path, &to) == 0;
  /* the work takes minutes: a place where its result cannot go is found before. Opening a pipe would wait for its reader. */
  if (!there || S_ISREG(to.st_mode) || S_ISDIR(to.st_mode)) {
    enum cuzk_status st = cuzk_outfile_open(&probe, path, d);
    if (st != CUZK_OK) return st;
    cuzk_outfile_abort(&probe);
  }
  if (!there) return CUZK_OK;
  for (size_t i = 0; i < n; i++)
    if (inputs[i] && stat(inputs[i], &from) == 0 && to.st_dev == from.st_dev && to.st_ino == from.st_ino)
      return cuzk_fail(d, CUZK_E_ARG, "%s is an input: it would be overwritten", path);
  return CUZK_OK;
}

/* Where a file that is written under this name ends up: links followed, the folder's name made absolute. */
static bool end_of_path(char out[PATH_MAX], const char *path) {
  if (realpath(path, out)) return true;
  char folder[PATH_MAX], whole[PATH_MAX];
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const int n = slash ? (int)(slash - path) : 0;
  if (snprintf(folder, sizeof folder, "%.*s", n ? n : 1, n ? path : slash ? "/" : ".") >= (int)sizeof folder) return false;
  if (!realpath(folder, whole)) return false;
  return snprintf(out, PATH_MAX, "%s/%s", whole, name) < PATH_MAX;
}

bool cli_same_place(const char *a, const char *b) {
  char x[PATH_MAX], y[PATH_MAX];
  return !strcmp(a, b) || (end_of_path(x, a) && end_of_path(y, b) && !strcmp(x, y));
}

json_t *cli_hex(const uint8_t *p, size_t n) {
  char *text = cli_json_alloc(2 * n + 1);
  if (!text) return NULL;
  cuzk_hex_encode(text, p, n);
  json_t *s = json_stringn(text, 2 * n);
  cuzk_free(text);
  return s;
}

json_t *cli_digests(const uint8_t *p, size_t n) {
  json_t *a = json_array();
  for (size_t i = 0; i < n; i++) (void)json_array_append_new(a, cli_hex(p + 32 * i, 32));
  return a;
}

json_t *cli_fr_hex(const cuzk_fr *a) {
  uint8_t le[32];
  cuzk_fr_to_le(le, a);
  return cli_hex(le, sizeof le);
}

enum cuzk_status cli_fr_member(cuzk_fr *out, const json_t *object, const char *key, const char *where, struct cuzk_detail *d) {
  const json_t *v = json_object_get(object, key);
  if (!v) return cuzk_fail(d, CUZK_E_FORMAT, "%s: member %s is missing", where, key);
  uint8_t le[32];
  if (!json_is_string(v) || !cuzk_hex_decode(le, 32, json_string_value(v), json_string_length(v), NULL))
    return cuzk_fail(d, CUZK_E_FORMAT, "%s: %s: 64 hexadecimal digits expected", where, key);
  if (!cuzk_fr_from_le(out, le)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: %s: not below the group order", where, key);
  return CUZK_OK;
}

/* One difference; the references of a and b are taken. */
static enum cuzk_status add_difference(struct cli_diff *out, const char *field, json_t *a, json_t *b) {
  json_t *entry = json_pack("{s:s, s:o, s:o}", "field", field, "ours", a, "record", b);
  if (!entry || json_array_append_new(out->fields, entry) != 0) return CUZK_E_NOMEM;
  return CUZK_OK;
}

static enum cuzk_status compare_array(struct cli_diff *out, const char *key, const json_t *a, const json_t *b, bool blocks) {
  const size_t na = json_array_size(a), nb = json_array_size(b);
  char field[192];
  for (size_t i = 0; i < na && i < nb; i++) {
    json_t *x = json_array_get(a, i), *y = json_array_get(b, i);
    if (json_equal(x, y)) continue;
    if (blocks && !out->block_found) {
      out->block_found = true;
      out->block = i;
    }
    (void)snprintf(field, sizeof field, "%.128s[%zu]", key, i);
    return add_difference(out, field, json_incref(x), json_incref(y));
  }
  if (na == nb) return CUZK_OK;
  if (blocks && !out->block_found) {
    out->block_found = true;
    out->block = na < nb ? na : nb;
  }
  (void)snprintf(field, sizeof field, "length of %.128s", key);
  return add_difference(out, field, json_integer((json_int_t)na), json_integer((json_int_t)nb));
}

static enum cuzk_status compare_objects(struct cli_diff *out, const char *prefix, const json_t *ours, const json_t *record,
                                        const char *block_list) {
  const char *key;
  json_t *a;
  json_object_foreach((json_t *)ours, key, a) {
    json_t *b = json_object_get(record, key);
    char field[128];
    enum cuzk_status st;
    if (!b || json_equal(a, b)) continue;
    (void)snprintf(field, sizeof field, "%.63s%s%.63s", prefix, prefix[0] ? "." : "", key);
    if (json_is_array(a) && json_is_array(b))
      st = compare_array(out, field, a, b, !strcmp(field, block_list));
    else if (json_is_object(a) && json_is_object(b))
      st = compare_objects(out, field, a, b, block_list);
    else
      st = add_difference(out, field, json_incref(a), json_incref(b));
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

enum cuzk_status cli_compare(struct cli_diff *out, const json_t *ours, const json_t *record, const char *block_list,
                             const char *must, const char *where, struct cuzk_detail *d) {
  *out = (struct cli_diff){.fields = json_array()};
  if (!out->fields) return CUZK_E_NOMEM;
  if (!json_is_object(record)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: an object expected", where);
  if (!json_object_get(record, must)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: member %s is missing", where, must);
  return compare_objects(out, "", ours, record, block_list);
}

enum cuzk_status cli_record_pick(json_t **out, json_t *file, const char *name, const char *where, struct cuzk_detail *d) {
  *out = file;
  if (json_is_array(file)) {
    size_t i;
    json_t *entry;
    *out = NULL;
    json_array_foreach(file, i, entry) {
      const char *s = json_string_value(json_object_get(entry, "circuit"));
      if (s && !strcmp(s, name)) *out = entry;
    }
    if (!*out) return cuzk_fail(d, CUZK_E_MISMATCH, "%s: no record of circuit %s in the list", where, name);
  }
  if (!json_is_object(*out)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: an object expected", where);
  const json_t *of = json_object_get(*out, "circuit");
  if (of && (!json_is_string(of) || strcmp(json_string_value(of), name)))
    return cuzk_fail(d, CUZK_E_MISMATCH, "%s: a record of circuit %s, not of %s", where,
                     json_is_string(of) ? json_string_value(of) : "?", name);
  return CUZK_OK;
}
