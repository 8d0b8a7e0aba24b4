/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Images of compact circuits: checks, walks, density maps. */
#include "r1cs/compact.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "hash/sha256.h"
#include "r1cs/compact_format.h"

#define MAX_FILE_BYTES (UINT64_C(1) << 32)
#define MAX_NNZ (UINT64_C(1) << 56)

static const char *const section_names[CUZK_R1CS_N_SECTIONS] = {"coefficients", "strings", "templates", "items",
                                                               "row ends",     "terms",   "bindings",  "marks"};
static const uint8_t section_unit[CUZK_R1CS_N_SECTIONS] = {32, 1, 40, 40, 4, 8, 4, 24};

/* ---- checks ---- */

struct checker {
  struct cuzk_compact *c;
  const char *what;
  struct cuzk_detail *d;
  const void *section[CUZK_R1CS_N_SECTIONS];
  uint64_t count[CUZK_R1CS_N_SECTIONS], used[CUZK_R1CS_N_SECTIONS];
};

static enum cuzk_status check_header(struct checker *k, size_t n) {
  const struct cuzk_r1cs_header *h = k->c->h;
  if (n < sizeof *h + CUZK_R1CS_CHECKSUM_BYTES)
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: %zu bytes, a .r1cs file has at least %zu", k->what, n,
                     sizeof *h + CUZK_R1CS_CHECKSUM_BYTES);
  if (memcmp(h->magic, CUZK_R1CS_MAGIC, 8)) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: no .r1cs file (offset 0)", k->what);
  if (h->version != CUZK_R1CS_VERSION || h->header_bytes != sizeof *h)
    return cuzk_fail(k->d, CUZK_E_UNSUPPORTED, "%s: version %u of the format, known is %u", k->what, h->version, CUZK_R1CS_VERSION);
  if (h->file_bytes != n)
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: %zu bytes, the header says %llu", k->what, n, (unsigned long long)h->file_bytes);
  uint64_t at = sizeof *h;
  for (int s = 0; s < CUZK_R1CS_N_SECTIONS; s++) {
    const uint64_t bytes = h->section[s].bytes;
    at = (at + 7) & ~UINT64_C(7);
    if (h->section[s].offset != at || bytes > n || at + bytes > n - CUZK_R1CS_CHECKSUM_BYTES || bytes % section_unit[s])
      return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: section of %s: offset %llu, %llu bytes; expected offset %llu", k->what,
                       section_names[s], (unsigned long long)h->section[s].offset, (unsigned long long)bytes, (unsigned long long)at);
    k->section[s] = k->c->image + at;
    k->count[s] = bytes / section_unit[s];
    at += bytes;
  }
  at = ((at + 7) & ~UINT64_C(7)) + CUZK_R1CS_CHECKSUM_BYTES;
  if (at != n) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: sections end at %llu of %zu bytes", k->what, (unsigned long long)at, n);
  if (!memchr(h->name, 0, sizeof h->name)) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: the circuit's name has no end", k->what);
  if (h->block_rows != 65536) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: digest over blocks of %u rows", k->what, h->block_rows);
  return CUZK_OK;
}

static enum cuzk_status check_sum(const struct checker *k, size_t n) {
  uint8_t sum[32];
  cuzk_sha256(sum, k->c->image, n - CUZK_R1CS_CHECKSUM_BYTES);
  if (!memcmp(sum, k->c->image + n - CUZK_R1CS_CHECKSUM_BYTES, 32)) return CUZK_OK;
  return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: the checksum does not match", k->what);
}

/* What an integer times a power of two costs least as. */
static void classify(struct cuzk_r1cs_class *o, const cuzk_fr *v) {
  uint64_t x[4];
  cuzk_fr minus;
  *o = (struct cuzk_r1cs_class){.kind = CUZK_R1CS_GENERAL, .shift = -1};
  for (int sign = 0; sign < 2; sign++) {
    cuzk_fr_neg(&minus, v);
    cuzk_fr_to_canon(x, sign ? &minus : v);
    unsigned low = 0, high = 0, i;
    for (i = 0; i < 256 && !((x[i / 64] >> (i % 64)) & 1); i++) {}
    low = i;
    for (i = 256; i-- > low && !((x[i / 64] >> (i % 64)) & 1);) {}
    high = i;
    if (low == 256) {
      o->kind = CUZK_R1CS_SMALL;
      return;
    }
    if (high < 40) {
      o->kind = CUZK_R1CS_SMALL;
      o->v = (int64_t)x[0];
    } else if (high - low < 15 && high < 255) {
      const unsigned lane = low / 32;
      const uint64_t m = (x[low / 64] >> (low % 64)) | (low % 64 && low / 64 < 3 ? x[low / 64 + 1] << (64 - low % 64) : 0);
      o->kind = CUZK_R1CS_LANE;
      o->lane = (uint8_t)lane;
      o->v = (int64_t)(m << (low % 32));
    }
    if (o->kind != CUZK_R1CS_GENERAL) {
      if (low == high && low <= 4) o->shift = (int8_t)low;
      o->negative = sign;
      if (sign) o->v = -o->v;
      return;
    }
  }
}

static enum cuzk_status load_coeffs(struct checker *k) {
  struct cuzk_compact *c = k->c;
  const uint8_t *le = k->section[CUZK_R1CS_COEFFS];
  if (k->count[CUZK_R1CS_COEFFS] > 1u << 24)
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: %llu coefficients", k->what, (unsigned long long)k->count[CUZK_R1CS_COEFFS]);
  enum cuzk_status st = cuzk_coeffs_create(&c->coeffs);
  for (uint32_t i = 0; i < k->count[CUZK_R1CS_COEFFS] && st == CUZK_OK; i++) {
    cuzk_fr v;
    cuzk_coeff number = 0;
    const bool good = cuzk_fr_from_le(&v, le + 32 * (size_t)i);
    if (good) st = cuzk_coeffs_intern(c->coeffs, &number, &v);
    if (st == CUZK_OK && (!good || number != CUZK_COEFF_FIXED + i))
      return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: coefficient %u is %s", k->what, i, good ? "there twice" : "not below the modulus");
  }
  if (st == CUZK_OK) {
    c->classes = cuzk_malloc_array(c->coeffs->n, sizeof *c->classes);
    if (!c->classes) st = CUZK_E_NOMEM;
  }
  if (st != CUZK_OK) return cuzk_fail(k->d, st, "%s: coefficients", k->what);
  for (uint32_t i = 0; i < c->coeffs->n; i++) classify(&c->classes[i], &c->coeffs->value[i]);
  c->coeffs->zero_terms_dropped = c->h->zero_terms_dropped;
  return CUZK_OK;
}

static bool good_string(const struct checker *k, uint32_t at) {
  const uint64_t n = k->count[CUZK_R1CS_STRINGS];
  return at < n && (at == 0 || !k->c->strings[at - 1]);
}

static bool good_var(const struct cuzk_r1cs_template *r, cuzk_var v) {
  if (v & CUZK_VAR_AUX) return v - CUZK_VAR_AUX < r->n_aux;
  if (v & CUZK_R1CS_INPUT) return v - CUZK_R1CS_INPUT < r->n_inputs;
  return v <= r->n_ext;
}

/* Rows [first, first + n) of t: terms and their ends. */
static bool good_rows(const struct checker *k, struct cuzk_r1cs_tmpl *t) {
  uint32_t at = 0;
  for (uint64_t i = 0; i < 3 * (uint64_t)t->r->own_rows; i++) {
    const uint32_t end = t->ends[i];
    if (end < at || end > t->r->n_terms) return false;
    t->nnz[i % 3] += end - at;
    for (uint32_t first = at; at < end; at++) {
      if (at > first && t->terms[at].var <= t->terms[at - 1].var) return false;
      if (!good_var(t->r, t->terms[at].var)) return false;
      if (t->terms[at].coeff == CUZK_COEFF_ZERO || t->terms[at].coeff >= k->c->coeffs->n) return false;
    }
  }
  return at == t->r->n_terms;
}

static enum cuzk_status check_items(struct checker *k, struct cuzk_r1cs_tmpl *t, uint32_t number) {
  const struct cuzk_r1cs_template *r = t->r;
  uint64_t row = 0;
  uint32_t own = 0, binds = 0;
  t->depth = 1;
  t->stack_ext = 0;
  for (uint32_t i = 0; i < r->n_items; i++) {
    const struct cuzk_r1cs_item *x = &t->items[i];
    bool good = x->row == row;
    if (x->child == CUZK_R1CS_OWN) {
      good = good && x->first == own && x->n && x->n <= r->own_rows - own;
      if (good) {
        own += x->n;
        row += x->n;
      }
    } else {
      good = good && x->child < number && x->first == binds && x->n <= r->n_binds - binds && good_string(k, x->name);
      const struct cuzk_r1cs_tmpl *u = good ? &k->c->t[x->child] : NULL;
      good = good && x->n == u->r->n_ext && u->r->n_rows && u->r->n_aux <= r->n_aux && x->aux <= r->n_aux - u->r->n_aux &&
             u->r->n_inputs <= r->n_inputs && x->input <= r->n_inputs - u->r->n_inputs && u->r->n_rows <= CUZK_R1CS_MAX_ROWS - row;
      if (good) {
        binds += x->n;
        row += u->r->n_rows;
        for (int m = 0; m < 3; m++) t->nnz[m] += u->nnz[m];
        if (u->depth >= t->depth) t->depth = u->depth + 1;
        if (u->stack_ext > t->stack_ext) t->stack_ext = u->stack_ext;
        good = t->depth <= CUZK_R1CS_MAX_DEPTH && t->nnz[0] < MAX_NNZ && t->nnz[1] < MAX_NNZ && t->nnz[2] < MAX_NNZ;
      }
    }
    if (!good) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u: item %u contradicts the template", k->what, number, i);
  }
  t->stack_ext += r->n_ext;
  if (row != r->n_rows || own != r->own_rows || binds != r->n_binds)
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u: its items have %llu rows, it says %llu", k->what, number,
                     (unsigned long long)row, (unsigned long long)r->n_rows);
  return CUZK_OK;
}

static bool take(struct checker *k, enum cuzk_r1cs_section s, uint64_t n, uint64_t *first) {
  if (n > k->count[s] - k->used[s]) return false;
  *first = k->used[s];
  k->used[s] += n;
  return true;
}

static enum cuzk_status check_template(struct checker *k, uint32_t number) {
  struct cuzk_r1cs_tmpl *t = &k->c->t[number];
  const struct cuzk_r1cs_template *r = t->r;
  uint64_t items, ends, terms, binds, marks;
  if (!take(k, CUZK_R1CS_ITEMS, r->n_items, &items) || !take(k, CUZK_R1CS_ENDS, 3 * (uint64_t)r->own_rows, &ends) ||
      !take(k, CUZK_R1CS_TERMS, r->n_terms, &terms) || !take(k, CUZK_R1CS_BINDS, r->n_binds, &binds) ||
      !take(k, CUZK_R1CS_MARKS, r->n_marks, &marks))
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u is longer than its sections", k->what, number);
  if (r->n_ext > CUZK_R1CS_MAX_EXT || r->n_inputs >= CUZK_R1CS_INPUT || r->n_aux > CUZK_VAR_AUX || r->n_rows > CUZK_R1CS_MAX_ROWS)
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u has a count out of range", k->what, number);
  t->items = (const struct cuzk_r1cs_item *)k->section[CUZK_R1CS_ITEMS] + items;
  t->ends = (const uint32_t *)k->section[CUZK_R1CS_ENDS] + ends;
  t->terms = (const struct cuzk_term *)k->section[CUZK_R1CS_TERMS] + terms;
  t->binds = (const uint32_t *)k->section[CUZK_R1CS_BINDS] + binds;
  t->marks = (const struct cuzk_r1cs_mark *)k->section[CUZK_R1CS_MARKS] + marks;
  if (!good_rows(k, t)) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u has a row that is not canonical", k->what, number);
  for (uint32_t i = 0; i < r->n_binds; i++)
    if (t->binds[i] == CUZK_VAR_ONE || !good_var(r, t->binds[i]))
      return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u: binding %u is out of range", k->what, number, i);
  for (uint32_t i = 0; i < r->n_marks; i++)
    if (!good_string(k, t->marks[i].name) || t->marks[i].row > r->n_rows || t->marks[i].n_rows > r->n_rows - t->marks[i].row)
      return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: template %u: mark %u is out of range", k->what, number, i);
  return check_items(k, t, number);
}

static enum cuzk_status check_templates(struct checker *k) {
  struct cuzk_compact *c = k->c;
  const struct cuzk_r1cs_header *h = c->h;
  const uint64_t n = k->count[CUZK_R1CS_TEMPLATES], n_strings = k->count[CUZK_R1CS_STRINGS];
  c->strings = k->section[CUZK_R1CS_STRINGS];
  if (n == 0 || n >= CUZK_R1CS_OWN)
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: %llu templates", k->what, (unsigned long long)n);
  if (n_strings && c->strings[n_strings - 1]) return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: the last string has no end", k->what);
  c->n = (uint32_t)n;
  c->t = cuzk_calloc(n, sizeof *c->t);
  if (!c->t) return cuzk_fail(k->d, CUZK_E_NOMEM, "%s: %u templates", k->what, c->n);
  for (uint32_t i = 0; i < c->n; i++) {
    c->t[i].r = (const struct cuzk_r1cs_template *)k->section[CUZK_R1CS_TEMPLATES] + i;
    const enum cuzk_status st = check_template(k, i);
    if (st != CUZK_OK) return st;
  }
  for (int s = CUZK_R1CS_ITEMS; s < CUZK_R1CS_N_SECTIONS; s++)
    if (k->used[s] != k->count[s])
      return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: the templates leave a rest of the section of %s", k->what, section_names[s]);
  const struct cuzk_r1cs_tmpl *root = &c->t[c->n - 1];
  if (root->r->n_ext || h->n_inputs != root->r->n_inputs + 1 || h->n_aux != root->r->n_aux || h->n_rows != root->r->n_rows ||
      memcmp(h->nnz, root->nnz, sizeof h->nnz))
    return cuzk_fail(k->d, CUZK_E_FORMAT, "%s: the header's counts are not those of the last template", k->what);
  return CUZK_OK;
}

static enum cuzk_status load(struct cuzk_compact *c, const void *bytes, size_t n, bool sum, const char *what, struct cuzk_detail *d) {
  struct checker k = {.c = c, .what = what, .d = d};
  c->image = bytes;
  c->h = bytes;
  if ((uintptr_t)bytes % 8) return cuzk_fail(d, CUZK_E_ARG, "%s: bytes at an odd address", what);
  enum cuzk_status st = check_header(&k, n);
  if (st == CUZK_OK && sum) st = check_sum(&k, n);
  if (st == CUZK_OK) st = load_coeffs(&k);
  if (st == CUZK_OK) st = check_templates(&k);
  return st;
}

/* ---- life ---- */

void cuzk_compact_destroy(struct cuzk_compact **c) {
  if (!c || !*c) return;
  cuzk_coeffs_destroy(&(*c)->coeffs);
  cuzk_free((*c)->classes);
  cuzk_free((*c)->t);
  cuzk_free((*c)->owned);
  cuzk_file_clear(&(*c)->file);
  cuzk_free(*c);
  *c = NULL;
}

enum cuzk_status cuzk_compact_open(struct cuzk_compact **out, const char *path, struct cuzk_detail *d) {
  struct cuzk_compact *c = cuzk_calloc(1, sizeof *c);
  *out = NULL;
  if (!c) return cuzk_fail(d, CUZK_E_NOMEM, "%s", path);
  enum cuzk_status st = cuzk_file_map(&c->file, path, MAX_FILE_BYTES, d);
  if (st == CUZK_OK) st = load(c, c->file.data, c->file.n, true, path, d);
  if (st != CUZK_OK) cuzk_compact_destroy(&c);
  *out = c;
  return st;
}

enum cuzk_status cuzk_compact_parse(struct cuzk_compact **out, const void *bytes, size_t n, const char *what, struct cuzk_detail *d) {
  struct cuzk_compact *c = cuzk_calloc(1, sizeof *c);
  *out = NULL;
  if (!c) return cuzk_fail(d, CUZK_E_NOMEM, "%s", what);
  const enum cuzk_status st = load(c, bytes, n, true, what, d);
  if (st != CUZK_OK) cuzk_compact_destroy(&c);
  *out = c;
  return st;
}

enum cuzk_status cuzk_compact_adopt(struct cuzk_compact **out, uint8_t *image, size_t n, struct cuzk_detail *d) {
  struct cuzk_compact *c = cuzk_calloc(1, sizeof *c);
  *out = NULL;
  if (!c) {
    cuzk_free(image);
    return cuzk_fail(d, CUZK_E_NOMEM, "compact circuit");
  }
  c->owned = image;
  const enum cuzk_status st = load(c, image, n, false, "compact circuit", d);
  if (st != CUZK_OK) cuzk_compact_destroy(&c);
  *out = c;
  return st;
}

void cuzk_compact_checksum(uint8_t *image, size_t n) {
  cuzk_sha256(image + n - CUZK_R1CS_CHECKSUM_BYTES, image, n - CUZK_R1CS_CHECKSUM_BYTES);
}

void cuzk_compact_seal(struct cuzk_compact *c, const uint8_t digest[32]) {
  if (!c->owned) return;
  memcpy(c->owned + offsetof(struct cuzk_r1cs_header, digest), digest, 32);
  cuzk_compact_checksum(c->owned, (size_t)c->h->file_bytes);
}

enum cuzk_status cuzk_compact_write(const struct cuzk_compact *c, const char *path, struct cuzk_detail *d) {
  return cuzk_file_write(path, c->image, (size_t)c->h->file_bytes, d);
}

/* ---- descriptions ---- */

void cuzk_compact_info(struct cuzk_compact_info *out, const struct cuzk_compact *c) {
  const struct cuzk_r1cs_header *h = c->h;
  *out = (struct cuzk_compact_info){.name = h->name,
                                    .n_inputs = h->n_inputs,
                                    .n_aux = h->n_aux,
                                    .n_rows = h->n_rows,
                                    .zero_terms_dropped = h->zero_terms_dropped,
                                    .n_a_aux = h->n_a_aux,
                                    .n_b_input = h->n_b_input,
                                    .n_b_aux = h->n_b_aux,
                                    .image_bytes = h->file_bytes,
                                    .n_templates = c->n,
                                    .depth = c->t[c->n - 1].depth};
  memcpy(out->nnz, h->nnz, sizeof out->nnz);
  memcpy(out->digest, h->digest, 32);
  for (uint32_t i = 0; i < c->n; i++) {
    out->stored_rows += c->t[i].r->own_rows;
    out->stored_terms += c->t[i].r->n_terms;
    for (uint32_t k = 0; k < c->t[i].r->n_items; k++) out->uses += c->t[i].items[k].child != CUZK_R1CS_OWN;
  }
}

uint32_t cuzk_r1cs_item_of(const struct cuzk_r1cs_tmpl *t, uint64_t row) {
  uint32_t lo = 0, hi = t->r->n_items;
  while (hi - lo > 1) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (t->items[mid].row <= row)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

static void put_char(char *out, size_t n, size_t *at, char c) {
  if (*at + 1 < n) out[(*at)++] = c;
}

static void put_name(char *out, size_t n, size_t *at, const char *fmt, unsigned i, unsigned j) {
  const unsigned arg[2] = {i, j};
  unsigned used = 0;
  if (*at) put_char(out, n, at, '/');
  for (const char *f = fmt; *f; f++) {
    if (f[0] == '%' && f[1] == 'u' && used < 2) {
      char text[12];
      const int len = snprintf(text, sizeof text, "%u", arg[used++]);
      for (int k = 0; k < len; k++) put_char(out, n, at, text[k]);
      f++;
    } else {
      put_char(out, n, at, *f);
    }
  }
}

/* The path down to a row, or to template number stop, whichever comes first. */
static void path_of(const struct cuzk_compact *c, uint64_t row, uint32_t stop, char *out, size_t n) {
  uint32_t number = c->n - 1;
  size_t at = 0;
  while (number != stop) {
    const struct cuzk_r1cs_tmpl *t = &c->t[number];
    const struct cuzk_r1cs_item *x = &t->items[cuzk_r1cs_item_of(t, row)];
    /* regions are noted as they end: the outermost last */
    for (uint32_t i = t->r->n_marks; i-- > 0;)
      if (row >= t->marks[i].row && row - t->marks[i].row < t->marks[i].n_rows)
        put_name(out, n, &at, c->strings + t->marks[i].name, t->marks[i].i, t->marks[i].j);
    if (x->child == CUZK_R1CS_OWN) break;
    put_name(out, n, &at, c->strings + x->name, x->i, x->j);
    row -= x->row;
    number = x->child;
  }
  out[at] = 0;
}

enum cuzk_status cuzk_compact_region(const struct cuzk_compact *c, uint64_t row, char *out, size_t out_bytes, struct cuzk_detail *d) {
  if (row >= c->h->n_rows || !out_bytes)
    return cuzk_fail(d, CUZK_E_ARG, "%s has no row %llu", c->h->name, (unsigned long long)row);
  path_of(c, row, CUZK_R1CS_OWN, out, out_bytes);
  return CUZK_OK;
}

enum cuzk_status cuzk_compact_template(struct cuzk_compact_template *out, const struct cuzk_compact *c, uint32_t i) {
  memset(out, 0, sizeof *out);
  if (i >= c->n) return CUZK_E_ARG;
  struct {
    uint64_t times, first;
  } *seen = cuzk_calloc(c->n, sizeof *seen);
  if (!seen) return CUZK_E_NOMEM;
  seen[c->n - 1].times = 1;
  for (uint32_t k = c->n; k-- > i + 1;) {
    const struct cuzk_r1cs_tmpl *t = &c->t[k];
    for (uint32_t m = 0; m < t->r->n_items && seen[k].times; m++) {
      const struct cuzk_r1cs_item *x = &t->items[m];
      if (x->child == CUZK_R1CS_OWN) continue;
      const uint64_t first = seen[k].first + x->row;
      if (!seen[x->child].times || first < seen[x->child].first) seen[x->child].first = first;
      seen[x->child].times += seen[k].times; /* at most as many as there are rows */
    }
  }
  const struct cuzk_r1cs_tmpl *t = &c->t[i];
  *out = (struct cuzk_compact_template){t->r->n_rows,   t->r->n_aux,   t->r->n_inputs, t->r->n_ext, t->r->own_rows,
                                        t->r->n_terms, 0, seen[i].times, ""};
  for (uint32_t m = 0; m < t->r->n_items; m++) out->n_uses += t->items[m].child != CUZK_R1CS_OWN;
  if (seen[i].times && c->h->n_rows) path_of(c, seen[i].first, i, out->region, sizeof out->region);
  cuzk_free(seen);
  return CUZK_OK;
}

/* ---- walk ---- */

struct walker {
  const struct cuzk_compact *c;
  cuzk_row_fn *fn;
  void *user;
  struct cuzk_term *row; /* of one row */
  uint64_t n_rows;
};

static void sort_terms(struct cuzk_term *t, uint32_t n) {
  if (n < 24) {
    for (uint32_t i = 1; i < n; i++) {
      const struct cuzk_term x = t[i];
      uint32_t j = i;
      for (; j && t[j - 1].var > x.var; j--) t[j] = t[j - 1];
      t[j] = x;
    }
    return;
  }
  /* heap sort: no memory, and no bad case for a hostile file */
  for (uint32_t size = n, start = n / 2; size > 1;) {
    if (start)
      start--;
    else {
      const struct cuzk_term x = t[--size];
      t[size] = t[0];
      t[0] = x;
    }
    for (uint32_t i = start;;) {
      uint32_t k = 2 * i + 1;
      if (k >= size) break;
      if (k + 1 < size && t[k + 1].var > t[k].var) k++;
      if (t[k].var <= t[i].var) break;
      const struct cuzk_term x = t[i];
      t[i] = t[k];
      t[k] = x;
      i = k;
    }
  }
}

static enum cuzk_status walk_rows(struct walker *w, const struct cuzk_r1cs_tmpl *t, const struct cuzk_r1cs_item *x, uint32_t aux,
                                  uint32_t input, const cuzk_var *ext) {
  for (uint32_t r = x->first; r < x->first + x->n; r++) {
    struct cuzk_row row;
    const uint32_t base = r ? t->ends[3 * (size_t)r - 1] : 0;
    uint32_t at = base;
    for (int k = 0; k < 3; k++) {
      const uint32_t first = at, end = t->ends[3 * (size_t)r + (size_t)k];
      struct cuzk_term *o = w->row + (first - base);
      bool ascending = true;
      for (uint32_t i = 0; at < end; at++, i++) {
        o[i] = (struct cuzk_term){cuzk_r1cs_resolve(t->terms[at].var, aux, input, ext), t->terms[at].coeff};
        ascending &= !i || o[i].var > o[i - 1].var;
      }
      row.t[k] = o;
      row.n[k] = end - first;
      if (ascending) continue;
      sort_terms(o, end - first);
      for (uint32_t i = 1; i < end - first; i++)
        if (o[i].var == o[i - 1].var) return CUZK_E_FORMAT;
    }
    const enum cuzk_status st = w->fn(w->user, w->n_rows++, &row, w->c->coeffs);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

/* free: room for the externals of what t uses */
static enum cuzk_status walk_template(struct walker *w, const struct cuzk_r1cs_tmpl *t, uint32_t aux, uint32_t input,
                                      const cuzk_var *ext, cuzk_var *free_ext) {
  for (uint32_t i = 0; i < t->r->n_items; i++) {
    const struct cuzk_r1cs_item *x = &t->items[i];
    enum cuzk_status st;
    if (x->child == CUZK_R1CS_OWN) {
      st = walk_rows(w, t, x, aux, input, ext);
    } else {
      for (uint32_t k = 0; k < x->n; k++) free_ext[k] = cuzk_r1cs_resolve(t->binds[x->first + k], aux, input, ext);
      st = walk_template(w, &w->c->t[x->child], aux + x->aux, input + x->input, free_ext, free_ext + x->n);
    }
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

static enum cuzk_status walk(const struct cuzk_system *s, cuzk_row_fn *fn, void *user, uint32_t *n_inputs, uint32_t *n_aux,
                             uint64_t *n_rows, struct cuzk_detail *d) {
  const struct cuzk_compact *c = s->impl;
  const struct cuzk_r1cs_tmpl *root = &c->t[c->n - 1];
  struct walker w = {.c = c, .fn = fn, .user = user};
  uint32_t longest = 0;
  for (uint32_t i = 0; i < c->n; i++)
    for (uint32_t r = 0, at = 0; r < c->t[i].r->own_rows; r++) {
      const uint32_t end = c->t[i].ends[3 * (size_t)r + 2];
      if (end - at > longest) longest = end - at;
      at = end;
    }
  enum cuzk_status st = CUZK_E_NOMEM;
  w.row = cuzk_malloc_array((size_t)longest + 1, sizeof *w.row);
  cuzk_var *ext = cuzk_malloc_array((size_t)root->stack_ext + 1, sizeof *ext);
  if (w.row && ext) st = walk_template(&w, root, 0, 1, ext, ext);
  cuzk_free(w.row);
  cuzk_free(ext);
  *n_inputs = c->h->n_inputs;
  *n_aux = c->h->n_aux;
  *n_rows = c->h->n_rows;
  if (st == CUZK_OK) return st;
  if (st == CUZK_E_FORMAT) return cuzk_fail(d, st, "%s: row %llu has a variable twice", s->name, (unsigned long long)w.n_rows);
  return cuzk_fail(d, st, "rows of %s", s->name);
}

struct cuzk_system cuzk_compact_system(const struct cuzk_compact *c) { return (struct cuzk_system){c->h->name, walk, c}; }

/* ---- density maps ---- */

/* Variables of a template in A (map 0) and B (map 1), each of its own rows and those below. */
struct density {
  uint64_t *aux[2];
  uint8_t *ext, *input; /* bit 0: A, bit 1: B */
};

static void or_shifted(uint64_t *to, const uint64_t *from, uint32_t n_bits, uint32_t shift) {
  const size_t words = ((size_t)n_bits + 63) / 64, at = shift / 64;
  const unsigned s = shift % 64;
  for (size_t i = 0; i < words; i++) {
    to[at + i] |= from[i] << s;
    if (s && from[i] >> (64 - s)) to[at + i + 1] |= from[i] >> (64 - s);
  }
}

static void set_density(struct density *x, cuzk_var v, unsigned which) {
  if (v & CUZK_VAR_AUX) {
    const uint32_t j = v - CUZK_VAR_AUX;
    for (int m = 0; m < 2; m++)
      if ((which >> m) & 1) x->aux[m][j / 64] |= UINT64_C(1) << (j % 64);
  } else if (v & CUZK_R1CS_INPUT) {
    x->input[v - CUZK_R1CS_INPUT] |= (uint8_t)which;
  } else {
    x->ext[v] |= (uint8_t)which; /* ONE is at 0 */
  }
}

static void density_clear(struct density *x) {
  cuzk_free(x->aux[0]);
  cuzk_free(x->aux[1]);
  cuzk_free(x->ext);
  cuzk_free(x->input);
  memset(x, 0, sizeof *x);
}

static enum cuzk_status density_of(struct density *all, const struct cuzk_compact *c, uint32_t number) {
  const struct cuzk_r1cs_tmpl *t = &c->t[number];
  struct density *x = &all[number];
  for (int m = 0; m < 2; m++) x->aux[m] = cuzk_calloc((size_t)t->r->n_aux / 64 + 2, sizeof(uint64_t));
  x->ext = cuzk_calloc((size_t)t->r->n_ext + 1, 1);
  x->input = cuzk_calloc((size_t)t->r->n_inputs + 1, 1);
  if (!x->aux[0] || !x->aux[1] || !x->ext || !x->input) return CUZK_E_NOMEM;
  for (uint32_t r = 0, at = 0; r < t->r->own_rows; r++) {
    for (unsigned k = 0; k < 2; k++)
      for (; at < t->ends[3 * (size_t)r + k]; at++) set_density(x, t->terms[at].var, 1u << k);
    at = t->ends[3 * (size_t)r + 2];
  }
  for (uint32_t i = 0; i < t->r->n_items; i++) {
    const struct cuzk_r1cs_item *y = &t->items[i];
    if (y->child == CUZK_R1CS_OWN) continue;
    const struct density *u = &all[y->child];
    const struct cuzk_r1cs_template *ur = c->t[y->child].r;
    for (int m = 0; m < 2; m++) or_shifted(x->aux[m], u->aux[m], ur->n_aux, y->aux);
    for (uint32_t k = 0; k < ur->n_inputs; k++) x->input[y->input + k] |= u->input[k];
    for (uint32_t k = 0; k < ur->n_ext; k++)
      if (u->ext[1 + k]) set_density(x, t->binds[y->first + k], u->ext[1 + k]);
    x->ext[0] |= u->ext[0];
  }
  return CUZK_OK;
}

static uint32_t count_bits(const uint64_t *w, size_t words) {
  uint32_t n = 0;
  for (size_t i = 0; i < words; i++) n += (uint32_t)__builtin_popcountll(w[i]);
  return n;
}

enum cuzk_status cuzk_compact_shape(struct cuzk_shape *out, const struct cuzk_compact *c, struct cuzk_detail *d) {
  const struct cuzk_r1cs_header *h = c->h;
  struct density *all = cuzk_calloc(c->n, sizeof *all);
  enum cuzk_status st = all ? CUZK_OK : CUZK_E_NOMEM;
  memset(out, 0, sizeof *out);
  for (uint32_t i = 0; i < c->n && st == CUZK_OK; i++) st = density_of(all, c, i);
  if (st == CUZK_OK) {
    struct density *root = &all[c->n - 1];
    const size_t words = ((size_t)h->n_aux + 63) / 64;
    out->b_input = cuzk_calloc(((size_t)h->n_inputs + 63) / 64, sizeof *out->b_input);
    st = out->b_input ? CUZK_OK : CUZK_E_NOMEM;
    for (uint32_t i = 0; i < h->n_inputs && st == CUZK_OK; i++)
      if ((i ? root->input[i - 1] : root->ext[0]) & 2) out->b_input[i / 64] |= UINT64_C(1) << (i % 64);
    out->a_aux = root->aux[0];
    out->b_aux = root->aux[1];
    root->aux[0] = root->aux[1] = NULL;
    out->n_inputs = h->n_inputs;
    out->n_aux = h->n_aux;
    out->n_rows = h->n_rows;
    memcpy(out->nnz, h->nnz, sizeof out->nnz);
    out->zero_terms_dropped = h->zero_terms_dropped;
    out->n_a_aux = count_bits(out->a_aux, words);
    out->n_b_aux = count_bits(out->b_aux, words);
    if (out->b_input) out->n_b_input = count_bits(out->b_input, ((size_t)h->n_inputs + 63) / 64);
  }
  for (uint32_t i = 0; i < c->n && all; i++) density_clear(&all[i]);
  cuzk_free(all);
  if (st == CUZK_OK) return st;
  cuzk_shape_clear(out);
  return cuzk_fail(d, st, "densities of %s", h->name);
}
