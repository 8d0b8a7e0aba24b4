/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Templates found from a synthesis. Rows pile up on stacks until their region ends; then the region is written in a form without
 * places ("form": variables relative, externals numbered by first use), looked up, and replaced by one use of its template. So
 * memory holds the open regions and one copy of each template. Forms keep the terms as the gadgets emit them, whose order does not
 * depend on variables' numbers; sorting and merging is done once a template, at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "r1cs/compact_format.h"

/* Regions of fewer rows stay part of the one around them, and so do those with more externals than rows: a use would cost as
 * much as their rows. */
#define MIN_ROWS 256u
#define FORM_HEAD 6u /* words before the items */

struct array {
  void *p;
  size_t n, cap; /* elements */
};

/* Room for more elements of a size behind a->n. */
static void *room(struct array *a, size_t more, size_t size) {
  if (!a->p || a->cap - a->n < more) {
    size_t cap = a->cap ? 2 * a->cap : 256;
    while (cap - a->n < more) cap *= 2;
    void *p = cuzk_realloc_array(a->p, cap, size);
    if (!p) return NULL;
    a->p = p;
    a->cap = cap;
  }
  return (char *)a->p + a->n * size;
}

/* One row (child CUZK_R1CS_OWN): numbers of terms of A, B, C, which lie next on the stack of terms. Or a use: first private variable
 * and public input, number of externals, which lie next on the stack of variables, and the name. */
struct entry {
  uint32_t child, a, b, c;
  uint32_t name, i, j;
};
struct frame {
  size_t entries, terms, vars, marks; /* heights of the stacks at its start */
  uint64_t row;
  uint32_t aux, input;
};
struct form {
  uint32_t *words;
  size_t n;
  uint64_t hash, n_rows;
  uint32_t n_aux, n_inputs, n_ext;
};
struct slot {
  cuzk_var var;
  uint32_t number, age;
};
#define N_NAMES 256u

struct builder {
  struct cuzk_cs *cs;
  const struct cuzk_progress *progress;
  uint64_t total, next;
  enum cuzk_status st; /* more precise than the sink's */
  struct frame frame[CUZK_CS_DEPTH + 1];
  unsigned depth; /* frames above the root's */
  struct array entries, terms, vars, marks; /* stacks */
  struct array strings;
  struct {
    const char *fmt;
    uint32_t at;
  } names[N_NAMES];
  /* of one region */
  struct array words, ext;
  struct slot *slots;
  uint32_t n_slots, age;
  struct array forms;
  uint32_t *table; /* number + 1 of forms by hash, open addressing */
  size_t n_table;
};

static void stop(struct builder *b, enum cuzk_status st) {
  if (b->st == CUZK_OK) b->st = st;
  cuzk_cs_fail(b->cs, st);
}

/* Where a format lies in the section of strings. */
static uint32_t name_of(struct builder *b, const char *fmt) {
  const uint32_t h = (uint32_t)(((uintptr_t)fmt * 0x9e3779b97f4a7c15u) >> 32) % N_NAMES;
  if (b->names[h].fmt == fmt) return b->names[h].at;
  size_t at = 0;
  const char *all = b->strings.p;
  while (at < b->strings.n && strcmp(all + at, fmt)) at += strlen(all + at) + 1;
  if (at == b->strings.n) {
    const size_t n = strlen(fmt) + 1;
    char *p = room(&b->strings, n, 1);
    if (!p) {
      stop(b, CUZK_E_NOMEM);
      return 0;
    }
    memcpy(p, fmt, n);
    b->strings.n += n;
  }
  b->names[h].fmt = fmt;
  b->names[h].at = (uint32_t)at;
  return (uint32_t)at;
}

/* ---- forms ---- */

static void widen(struct builder *b) {
  const uint32_t n = b->n_slots ? 2 * b->n_slots : 4096;
  struct slot *p = cuzk_calloc(n, sizeof *p);
  if (!p) {
    stop(b, CUZK_E_NOMEM);
    return;
  }
  cuzk_free(b->slots);
  b->slots = p;
  b->n_slots = n;
  b->age = 1;
  const cuzk_var *ext = b->ext.p;
  for (uint32_t k = 0; k < b->ext.n; k++) {
    uint32_t i = (uint32_t)((ext[k] * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (n - 1);
    while (p[i].age) i = (i + 1) & (n - 1);
    p[i] = (struct slot){ext[k], k, 1};
  }
}

/* Number of an external. */
static uint32_t number_of(struct builder *b, cuzk_var v) {
  if (2 * (b->ext.n + 1) > b->n_slots) widen(b);
  if (b->st != CUZK_OK) return 0;
  uint32_t i = (uint32_t)((v * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (b->n_slots - 1);
  for (; b->slots[i].age == b->age; i = (i + 1) & (b->n_slots - 1))
    if (b->slots[i].var == v) return b->slots[i].number;
  cuzk_var *p = room(&b->ext, 1, sizeof *p);
  if (!p || b->ext.n >= CUZK_R1CS_MAX_EXT) {
    stop(b, p ? CUZK_E_UNSUPPORTED : CUZK_E_NOMEM);
    return 0;
  }
  *p = v;
  b->slots[i] = (struct slot){v, (uint32_t)b->ext.n, b->age};
  return (uint32_t)b->ext.n++;
}

static inline cuzk_var relative(struct builder *b, const struct frame *f, cuzk_var v) {
  if (v & CUZK_VAR_AUX) {
    if (v - CUZK_VAR_AUX >= f->aux) return v - f->aux;
  } else {
    if (v == CUZK_VAR_ONE) return v;
    if (v >= f->input) return v - f->input + CUZK_R1CS_INPUT;
  }
  return 1 + number_of(b, v);
}

/* Short lists in the order of their relative variables: what gadgets sort by number comes out the same everywhere. */
static void sort_few(uint32_t *t, uint32_t n) {
  for (uint32_t i = 1; i < n; i++) {
    const uint32_t v = t[2 * i], c = t[2 * i + 1];
    uint32_t j = i;
    for (; j && t[2 * j - 2] > v; j--) {
      t[2 * j] = t[2 * j - 2];
      t[2 * j + 1] = t[2 * j - 1];
    }
    t[2 * j] = v;
    t[2 * j + 1] = c;
  }
}

/* Writes the form of the region into b->words and its externals into b->ext. */
static void write_form(struct builder *b, const struct frame *f) {
  const struct entry *e = (const struct entry *)b->entries.p + f->entries;
  const size_t n = b->entries.n - f->entries, n_marks = b->marks.n - f->marks;
  const size_t n_terms = b->terms.n - f->terms, n_vars = b->vars.n - f->vars;
  const struct cuzk_term *t = (const struct cuzk_term *)b->terms.p + f->terms;
  const cuzk_var *v = (const cuzk_var *)b->vars.p + f->vars;
  const struct cuzk_r1cs_mark *m = (const struct cuzk_r1cs_mark *)b->marks.p + f->marks;
  b->words.n = b->ext.n = 0;
  if (++b->age == 0) {
    memset(b->slots, 0, b->n_slots * sizeof *b->slots);
    b->age = 1;
  }
  uint32_t *const words = room(&b->words, FORM_HEAD + 7 * n + 2 * n_terms + n_vars + 6 * n_marks, sizeof *words);
  if (!words || n > UINT32_MAX || n_terms > UINT32_MAX || n_vars > UINT32_MAX || n_marks > UINT32_MAX) {
    stop(b, words ? CUZK_E_UNSUPPORTED : CUZK_E_NOMEM);
    return;
  }
  uint32_t *w = words;
  *w++ = b->cs->n_aux - f->aux;
  *w++ = b->cs->n_inputs - f->input;
  *w++ = (uint32_t)n;
  *w++ = (uint32_t)n_terms;
  *w++ = (uint32_t)n_vars;
  *w++ = (uint32_t)n_marks;
  for (size_t k = 0; k < n; k++, e++) {
    *w++ = e->child;
    if (e->child == CUZK_R1CS_OWN) {
      const uint32_t count[3] = {e->a, e->b, e->c};
      for (int q = 0; q < 3; q++) *w++ = count[q];
      for (int q = 0; q < 3; q++) {
        uint32_t *const first = w;
        for (uint32_t i = 0; i < count[q]; i++, t++, w += 2) {
          w[0] = relative(b, f, t->var);
          w[1] = t->coeff;
        }
        if (count[q] > 1 && count[q] <= 4) sort_few(first, count[q]);
      }
      continue;
    }
    *w++ = e->a - f->aux;
    *w++ = e->b - f->input;
    *w++ = e->c;
    *w++ = e->name;
    *w++ = e->i;
    *w++ = e->j;
    for (uint32_t i = 0; i < e->c; i++) *w++ = relative(b, f, *v++);
  }
  for (size_t k = 0; k < n_marks; k++, m++) {
    const uint64_t row = m->row - f->row;
    *w++ = (uint32_t)row;
    *w++ = (uint32_t)(row >> 32);
    *w++ = m->n_rows;
    *w++ = m->name;
    *w++ = m->i;
    *w++ = m->j;
  }
  b->words.n = (size_t)(w - words);
}

static uint64_t hash_words(const uint32_t *w, size_t n) {
  uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), g = ~h;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) { /* two chains, to have two products under way */
    h = (h ^ (w[i] | (uint64_t)w[i + 1] << 32)) * UINT64_C(0xd6e8feb86659fd93);
    g = (g ^ (w[i + 2] | (uint64_t)w[i + 3] << 32)) * UINT64_C(0xa0761d6478bd642f);
    h ^= h >> 32;
    g ^= g >> 29;
  }
  for (; i < n; i++) h = ((h ^ w[i]) * UINT64_C(0xd6e8feb86659fd93)) ^ (h >> 32);
  h ^= g * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 31);
}

static bool grow_table(struct builder *b) {
  const size_t n = b->n_table ? 2 * b->n_table : 256;
  uint32_t *p = cuzk_calloc(n, sizeof *p);
  if (!p) return false;
  const struct form *forms = b->forms.p;
  for (uint32_t k = 0; k < b->forms.n; k++) {
    size_t i = forms[k].hash & (n - 1);
    while (p[i]) i = (i + 1) & (n - 1);
    p[i] = k + 1;
  }
  cuzk_free(b->table);
  b->table = p;
  b->n_table = n;
  return true;
}

/* Number of the template whose form is in b->words. */
static uint32_t intern(struct builder *b, uint64_t n_rows) {
  const uint32_t *words = b->words.p;
  const uint64_t hash = hash_words(words, b->words.n);
  if (2 * (b->forms.n + 1) > b->n_table && !grow_table(b)) {
    stop(b, CUZK_E_NOMEM);
    return 0;
  }
  size_t i = hash & (b->n_table - 1);
  for (; b->table[i]; i = (i + 1) & (b->n_table - 1)) {
    const struct form *x = (const struct form *)b->forms.p + (b->table[i] - 1);
    if (x->hash == hash && x->n == b->words.n && !memcmp(x->words, words, x->n * sizeof *words)) return b->table[i] - 1;
  }
  struct form *x = room(&b->forms, 1, sizeof *x);
  uint32_t *kept = x ? cuzk_malloc_array(b->words.n, sizeof *kept) : NULL;
  if (!kept) {
    stop(b, CUZK_E_NOMEM);
    return 0;
  }
  memcpy(kept, words, b->words.n * sizeof *kept);
  *x = (struct form){kept, b->words.n, hash, n_rows, words[0], words[1], (uint32_t)b->ext.n};
  b->table[i] = (uint32_t)++b->forms.n;
  return (uint32_t)b->forms.n - 1;
}

/* ---- the sink's calls ---- */

static void sync_frames(struct builder *b, unsigned depth) {
  while (b->depth < depth) {
    const struct cuzk_region *r = &b->cs->stack[b->depth++];
    b->frame[b->depth] = (struct frame){b->entries.n, b->terms.n, b->vars.n, b->marks.n, r->row, r->aux, r->input};
  }
}

static enum cuzk_status put_row(void *user, uint64_t index, const struct cuzk_row *row, const struct cuzk_coeffs *coeffs) {
  struct builder *b = user;
  (void)index;
  (void)coeffs;
  const unsigned depth = b->cs->depth < CUZK_CS_DEPTH ? b->cs->depth : CUZK_CS_DEPTH;
  if (b->depth < depth) sync_frames(b, depth);
  struct entry *e = room(&b->entries, 1, sizeof *e);
  struct cuzk_term *t = room(&b->terms, (size_t)row->n[0] + row->n[1] + row->n[2], sizeof *t);
  if (!e || !t) {
    stop(b, CUZK_E_NOMEM);
    return CUZK_E_NOMEM;
  }
  *e = (struct entry){CUZK_R1CS_OWN, row->n[0], row->n[1], row->n[2], 0, 0, 0};
  b->entries.n++;
  for (int k = 0; k < 3; k++) {
    for (uint32_t i = 0; i < row->n[k]; i++) t[i] = row->t[k][i];
    t += row->n[k];
    b->terms.n += row->n[k];
  }
  return CUZK_OK;
}

static void add_mark(struct builder *b, const struct frame *f, const struct cuzk_region *r) {
  struct cuzk_r1cs_mark *m = room(&b->marks, 1, sizeof *m);
  if (!m) {
    stop(b, CUZK_E_NOMEM);
    return;
  }
  *m = (struct cuzk_r1cs_mark){f->row, (uint32_t)(b->cs->n_rows - f->row), name_of(b, r->fmt), r->i, r->j};
  b->marks.n++;
}

/* Replaces the rows of the region by one use of its template, if that is worth it. */
static void fold(struct builder *b, const struct frame *f, const struct cuzk_region *r) {
  write_form(b, f);
  if (b->st != CUZK_OK) return;
  if (b->ext.n > b->cs->n_rows - f->row) {
    add_mark(b, f, r);
    return;
  }
  const uint32_t child = intern(b, b->cs->n_rows - f->row), name = name_of(b, r->fmt);
  if (b->st != CUZK_OK) return;
  b->entries.n = f->entries;
  b->terms.n = f->terms;
  b->vars.n = f->vars;
  b->marks.n = f->marks;
  struct entry *e = room(&b->entries, 1, sizeof *e);
  cuzk_var *v = room(&b->vars, b->ext.n, sizeof *v);
  if (!e || !v) {
    stop(b, CUZK_E_NOMEM);
    return;
  }
  *e = (struct entry){child, f->aux, f->input, (uint32_t)b->ext.n, name, r->i, r->j};
  if (b->ext.n) memcpy(v, b->ext.p, b->ext.n * sizeof *v);
  b->entries.n++;
  b->vars.n += b->ext.n;
}

static void end_region(void *user, const struct cuzk_cs *cs, unsigned depth) {
  struct builder *b = user;
  if (cs->st != CUZK_OK || b->st != CUZK_OK) return;
  if (b->depth <= depth) return; /* it has no rows */
  const struct frame *f = &b->frame[depth + 1];
  b->depth = depth;
  if (cs->n_rows - f->row < MIN_ROWS)
    add_mark(b, f, &cs->stack[depth]);
  else
    fold(b, f, &cs->stack[depth]);
  if (cs->n_rows < b->next) return;
  b->next = cs->n_rows + b->total / 100;
  if (!cuzk_progress(b->progress, "compile", cs->n_rows < b->total ? cs->n_rows : b->total, b->total, "constraints"))
    stop(b, CUZK_E_CANCELLED);
}

/* ---- the image ---- */

struct writer {
  struct builder *b;
  struct array out[CUZK_R1CS_N_SECTIONS];
  struct array list; /* terms of one combination */
  struct {
    uint64_t dropped, nnz[3];
  } *count; /* terms of each template and those it uses */
};
static const size_t unit[CUZK_R1CS_N_SECTIONS] = {32, 1, 40, 40, 4, 8, 4, 24};

static void *append(struct writer *w, enum cuzk_r1cs_section s, size_t n) {
  void *p = room(&w->out[s], n, unit[s]);
  if (p)
    w->out[s].n += n;
  else
    stop(w->b, CUZK_E_NOMEM);
  return p;
}

static int by_var(const void *a, const void *b) {
  const struct cuzk_term *x = a, *y = b;
  return x->var < y->var ? -1 : x->var > y->var;
}

/* Canonical terms of one combination; words behind it. */
static const uint32_t *write_terms(struct writer *w, const uint32_t *p, uint32_t n, uint64_t *dropped) {
  struct cuzk_term *t = room(&w->list, n, sizeof *t);
  if (!t) {
    stop(w->b, CUZK_E_NOMEM);
    return p + 2 * (size_t)n;
  }
  for (uint32_t i = 0; i < n; i++, p += 2) t[i] = (struct cuzk_term){p[0], p[1]};
  qsort(t, n, sizeof *t, by_var);
  struct cuzk_term *to = append(w, CUZK_R1CS_TERMS, n);
  uint32_t kept = 0;
  if (!to) return p;
  for (uint32_t i = 0; i < n;) {
    struct cuzk_term x = t[i++];
    for (; i < n && t[i].var == x.var; i++) {
      const enum cuzk_status st = cuzk_coeffs_add(w->b->cs->coeffs, &x.coeff, x.coeff, t[i].coeff);
      if (st != CUZK_OK) {
        stop(w->b, st);
        return p;
      }
    }
    if (x.coeff == CUZK_COEFF_ZERO)
      ++*dropped;
    else
      to[kept++] = x;
  }
  w->out[CUZK_R1CS_TERMS].n -= n - kept;
  return p;
}

static void write_template(struct writer *w, uint32_t number) {
  const struct form *forms = w->b->forms.p, *f = &forms[number];
  const uint32_t *p = f->words + FORM_HEAD;
  struct cuzk_r1cs_template r = {.n_rows = f->n_rows, .n_aux = f->n_aux, .n_inputs = f->n_inputs, .n_ext = f->n_ext};
  const size_t first_term = w->out[CUZK_R1CS_TERMS].n;
  struct cuzk_r1cs_item own = {.child = CUZK_R1CS_OWN};
  uint64_t row = 0;
  r.n_binds = f->words[4];
  r.n_marks = f->words[5];
  for (uint32_t k = 0; k < f->words[2] && w->b->st == CUZK_OK; k++) {
    const uint32_t child = *p++;
    if (child == CUZK_R1CS_OWN) {
      uint32_t *ends = append(w, CUZK_R1CS_ENDS, 3);
      const uint32_t *count = p;
      p += 3;
      for (int q = 0; q < 3 && ends; q++) {
        p = write_terms(w, p, count[q], &w->count[number].dropped);
        ends[q] = (uint32_t)(w->out[CUZK_R1CS_TERMS].n - first_term);
      }
      if (!own.n) {
        own.row = row;
        own.first = r.own_rows;
      }
      own.n++;
      r.own_rows++;
      row++;
    }
    if (own.n && (child != CUZK_R1CS_OWN || k + 1 == f->words[2])) {
      struct cuzk_r1cs_item *x = append(w, CUZK_R1CS_ITEMS, 1);
      if (x) *x = own;
      own.n = 0;
      r.n_items++;
    }
    if (child != CUZK_R1CS_OWN) {
      struct cuzk_r1cs_item *x = append(w, CUZK_R1CS_ITEMS, 1);
      const uint32_t n = p[2];
      uint32_t *binds = append(w, CUZK_R1CS_BINDS, n);
      if (!x || !binds) return;
      *x = (struct cuzk_r1cs_item){row, child, 0, n, p[0], p[1], p[3], p[4], p[5]};
      p += 6;
      for (uint32_t i = 0; i < n; i++) binds[i] = *p++;
      row += forms[child].n_rows;
      w->count[number].dropped += w->count[child].dropped;
      r.n_items++;
    }
  }
  for (uint32_t k = 0; k < r.n_marks && w->b->st == CUZK_OK; k++, p += 6) {
    struct cuzk_r1cs_mark *m = append(w, CUZK_R1CS_MARKS, 1);
    if (m) *m = (struct cuzk_r1cs_mark){p[0] | (uint64_t)p[1] << 32, p[2], p[3], p[4], p[5]};
  }
  r.n_terms = (uint32_t)(w->out[CUZK_R1CS_TERMS].n - first_term);
  struct cuzk_r1cs_template *to = append(w, CUZK_R1CS_TEMPLATES, 1);
  if (to) *to = r;
}

/* Where a template's uses start in its bindings. */
static void number_binds(struct writer *w) {
  const struct cuzk_r1cs_template *r = w->out[CUZK_R1CS_TEMPLATES].p;
  struct cuzk_r1cs_item *x = w->out[CUZK_R1CS_ITEMS].p;
  for (size_t t = 0; t < w->out[CUZK_R1CS_TEMPLATES].n; t++, r++) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < r->n_items; i++, x++) {
      if (x->child == CUZK_R1CS_OWN) continue;
      x->first = at;
      at += x->n;
    }
  }
}

/* Coefficients that occur, numbered as they come up. */
static void number_coeffs(struct writer *w) {
  const struct cuzk_coeffs *all = w->b->cs->coeffs;
  struct cuzk_term *t = w->out[CUZK_R1CS_TERMS].p;
  uint32_t *number = cuzk_calloc(all->n, sizeof *number), n = CUZK_COEFF_FIXED;
  if (!number) {
    stop(w->b, CUZK_E_NOMEM);
    return;
  }
  for (size_t i = 0; i < w->out[CUZK_R1CS_TERMS].n && w->b->st == CUZK_OK; i++) {
    const uint32_t c = t[i].coeff;
    if (c < CUZK_COEFF_FIXED) continue;
    if (!number[c]) {
      uint8_t *le = append(w, CUZK_R1CS_COEFFS, 1);
      if (le) memcpy(le, all->le[c], 32);
      number[c] = n++;
    }
    t[i].coeff = number[c];
  }
  cuzk_free(number);
}

static uint8_t *lay_out(struct writer *w, const char *name, size_t *n_bytes) {
  const struct builder *b = w->b;
  struct cuzk_r1cs_header h = {.version = CUZK_R1CS_VERSION, .header_bytes = sizeof h, .block_rows = 65536};
  size_t at = sizeof h;
  memcpy(h.magic, CUZK_R1CS_MAGIC, 8);
  strncpy(h.name, name, sizeof h.name - 1);
  for (int s = 0; s < CUZK_R1CS_N_SECTIONS; s++) {
    at = (at + 7) & ~(size_t)7;
    h.section[s].offset = at;
    h.section[s].bytes = w->out[s].n * unit[s];
    at += h.section[s].bytes;
  }
  *n_bytes = ((at + 7) & ~(size_t)7) + CUZK_R1CS_CHECKSUM_BYTES;
  h.file_bytes = *n_bytes;
  h.n_inputs = b->cs->n_inputs;
  h.n_aux = b->cs->n_aux;
  h.n_rows = b->cs->n_rows;
  h.zero_terms_dropped = w->count[b->forms.n - 1].dropped;
  uint8_t *image = cuzk_calloc(1, *n_bytes);
  if (!image) return NULL;
  memcpy(image, &h, sizeof h);
  for (int s = 0; s < CUZK_R1CS_N_SECTIONS; s++)
    if (w->out[s].n) memcpy(image + h.section[s].offset, w->out[s].p, (size_t)h.section[s].bytes);
  return image;
}

/* Non-zero terms of the expansion: each template's rows times its uses. */
static void count_terms(const struct writer *w, uint8_t *image) {
  const struct builder *b = w->b;
  const struct cuzk_r1cs_template *r = w->out[CUZK_R1CS_TEMPLATES].p;
  const struct cuzk_r1cs_item *x = w->out[CUZK_R1CS_ITEMS].p;
  const uint32_t *ends = w->out[CUZK_R1CS_ENDS].p;
  for (size_t t = 0; t < b->forms.n; t++, r++) {
    uint32_t at = 0;
    for (uint64_t i = 0; i < 3 * (uint64_t)r->own_rows; i++, ends++) {
      w->count[t].nnz[i % 3] += *ends - at;
      at = *ends;
    }
    for (uint32_t i = 0; i < r->n_items; i++, x++)
      for (int k = 0; k < 3 && x->child != CUZK_R1CS_OWN; k++) w->count[t].nnz[k] += w->count[x->child].nnz[k];
  }
  memcpy(image + offsetof(struct cuzk_r1cs_header, nnz), w->count[b->forms.n - 1].nnz, sizeof w->count->nnz);
}

static enum cuzk_status write_image(struct builder *b, const char *name, uint8_t **image, size_t *n) {
  struct writer w = {.b = b};
  w.count = cuzk_calloc(b->forms.n, sizeof *w.count);
  if (!w.count) stop(b, CUZK_E_NOMEM);
  for (uint32_t i = 0; i < b->forms.n && b->st == CUZK_OK; i++) {
    write_template(&w, i);
    struct form *f = (struct form *)b->forms.p + i;
    cuzk_free(f->words);
    f->words = NULL;
  }
  char *strings = b->st == CUZK_OK ? append(&w, CUZK_R1CS_STRINGS, b->strings.n) : NULL;
  if (strings) {
    if (b->strings.n) memcpy(strings, b->strings.p, b->strings.n);
    number_binds(&w);
    number_coeffs(&w);
  }
  if (b->st == CUZK_OK) {
    *image = lay_out(&w, name, n);
    if (*image)
      count_terms(&w, *image);
    else
      stop(b, CUZK_E_NOMEM);
  }
  for (int s = 0; s < CUZK_R1CS_N_SECTIONS; s++) cuzk_free(w.out[s].p);
  cuzk_free(w.list.p);
  cuzk_free(w.count);
  return b->st;
}

static void builder_clear(struct builder *b) {
  struct array *const all[] = {&b->entries, &b->terms, &b->vars, &b->marks, &b->strings, &b->words, &b->ext};
  struct form *forms = b->forms.p;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) cuzk_free(all[i]->p);
  for (size_t i = 0; i < b->forms.n; i++) cuzk_free(forms[i].words);
  cuzk_free(forms);
  cuzk_free(b->slots);
  cuzk_free(b->table);
}

/* The densities go into the header, too. */
static enum cuzk_status note_shape(struct cuzk_compact *c, struct cuzk_detail *d) {
  struct cuzk_shape s;
  const enum cuzk_status st = cuzk_compact_shape(&s, c, d);
  if (st != CUZK_OK) return st;
  struct cuzk_r1cs_header *h = (struct cuzk_r1cs_header *)(void *)c->owned;
  h->n_a_aux = s.n_a_aux;
  h->n_b_input = s.n_b_input;
  h->n_b_aux = s.n_b_aux;
  cuzk_shape_clear(&s);
  cuzk_compact_checksum(c->owned, (size_t)h->file_bytes);
  return CUZK_OK;
}

enum cuzk_status cuzk_compact_build(struct cuzk_compact **out, const char *name, cuzk_synthesize_fn *fn, void *user, uint64_t n_rows,
                                    const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_cs cs;
  struct builder b = {.cs = &cs, .progress = progress, .total = n_rows};
  uint8_t *image = NULL;
  size_t n = 0;
  *out = NULL;
  enum cuzk_status st = cuzk_cs_init_rows(&cs, put_row, &b);
  if (st != CUZK_OK) return cuzk_fail(d, st, "compact form of %s", name);
  cs.raw = true;
  cs.region_fn = end_region;
  cs.region_user = &b;
  b.frame[0].input = cs.n_inputs;
  fn(user, &cs);
  if (cs.st != CUZK_OK) stop(&b, cs.st);
  if (b.st == CUZK_OK && (cs.n_aux > CUZK_VAR_AUX || cs.n_inputs >= CUZK_R1CS_INPUT)) stop(&b, CUZK_E_UNSUPPORTED);
  if (b.st == CUZK_OK) write_form(&b, &b.frame[0]);
  if (b.st == CUZK_OK) (void)intern(&b, cs.n_rows);
  if (b.st == CUZK_OK && b.ext.n) stop(&b, CUZK_E_INTERNAL);
  st = b.st;
  if (st == CUZK_OK) st = write_image(&b, name, &image, &n);
  builder_clear(&b);
  cuzk_cs_clear(&cs);
  if (st == CUZK_OK) st = cuzk_compact_adopt(out, image, n, d);
  if (st == CUZK_OK) st = note_shape(*out, d);
  if (st == CUZK_OK) return st;
  cuzk_compact_destroy(out);
  return cuzk_fail(d, st, "compact form of %s", name);
}
