/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "engine/request.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/file.h"
#include "hash/sha256.h"

#define HEAD 12 /* number and length of a field */

/* A request with what it owns. The slices of field 11 follow it in the same block. */
struct owned {
  struct cuzk_request r; /* first: a request's address is that of its owner */
  atomic_uint refs;
  void (*free_fn)(void *user); /* gives bytes back; NULL: they are in cuzk_malloc's memory */
  void *user;
  struct cuzk_slice list[];
};

enum form { INT32, INT64, BYTES, LIST };
struct field {
  uint32_t number;
  enum form form;
  size_t offset; /* in struct cuzk_request_fields */
  const char *name;
};
/* Ascending: the order of the canonical form. */
static const struct field fields[] = {
    {2, INT32, offsetof(struct cuzk_request_fields, kind), "proof_kind"},
    {3, INT64, offsetof(struct cuzk_request_fields, sector_size), "sector_size"},
    {4, INT64, offsetof(struct cuzk_request_fields, registered_proof), "registered_proof"},
    {10, BYTES, offsetof(struct cuzk_request_fields, vanilla_proof), "vanilla_proof"},
    {11, LIST, offsetof(struct cuzk_request_fields, vanilla_proofs), "vanilla_proofs"},
    {20, INT64, offsetof(struct cuzk_request_fields, sector_number), "sector_number"},
    {21, INT64, offsetof(struct cuzk_request_fields, miner_id), "miner_id"},
    {22, BYTES, offsetof(struct cuzk_request_fields, randomness), "randomness"},
    {23, INT32, offsetof(struct cuzk_request_fields, partition_index), "partition_index"},
    {30, BYTES, offsetof(struct cuzk_request_fields, comm_r_old), "comm_r_old"},
    {31, BYTES, offsetof(struct cuzk_request_fields, comm_r_new), "comm_r_new"},
    {32, BYTES, offsetof(struct cuzk_request_fields, comm_d_new), "comm_d_new"},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

static uint64_t int_of(const struct cuzk_request_fields *f, const struct field *w) {
  const char *p = (const char *)f + w->offset;
  if (w->form == INT32) return *(const uint32_t *)(const void *)p;
  return *(const uint64_t *)(const void *)p;
}

static const struct cuzk_slice *slice_of(const struct cuzk_request_fields *f, const struct field *w) {
  return (const struct cuzk_slice *)(const void *)((const char *)f + w->offset);
}

/* ---- making ---- */

static struct owned *owned_create(size_t n_list) {
  size_t bytes;
  if (__builtin_mul_overflow(n_list, sizeof(struct cuzk_slice), &bytes) || __builtin_add_overflow(bytes, sizeof(struct owned), &bytes))
    return NULL;
  struct owned *o = cuzk_malloc(bytes);
  if (!o) return NULL;
  memset(o, 0, sizeof *o);
  atomic_init(&o->refs, 1);
  return o;
}

static void put_head(uint8_t **at, uint32_t number, size_t n) {
  cuzk_store_le32(*at, number);
  cuzk_store_le64(*at + 4, n);
  *at += HEAD;
}

/* Where the bytes were copied to. */
static struct cuzk_slice put_bytes(uint8_t **at, uint32_t number, struct cuzk_slice s) {
  put_head(at, number, s.n);
  if (s.n) memcpy(*at, s.data, s.n);
  struct cuzk_slice out = {*at, s.n};
  *at += s.n;
  return out;
}

static bool form_size(const struct cuzk_request_fields *f, size_t *out) {
  size_t n = 0;
  bool over = false;
  for (size_t i = 0; i < N_FIELDS; i++) {
    const struct field *w = &fields[i];
    switch (w->form) {
      case INT32:
      case INT64:
        if (int_of(f, w)) over |= __builtin_add_overflow(n, (size_t)HEAD + 8, &n);
        break;
      case BYTES:
        if (slice_of(f, w)->n) over |= __builtin_add_overflow(n, slice_of(f, w)->n, &n) || __builtin_add_overflow(n, (size_t)HEAD, &n);
        break;
      case LIST:
        for (size_t k = 0; k < f->n_vanilla_proofs; k++)
          over |= __builtin_add_overflow(n, f->vanilla_proofs[k].n, &n) || __builtin_add_overflow(n, (size_t)HEAD, &n);
        break;
    }
  }
  *out = n;
  return !over;
}

enum cuzk_status cuzk_request_create(struct cuzk_request **out, const struct cuzk_request_fields *f) {
  *out = NULL;
  size_t n;
  if (!form_size(f, &n)) return CUZK_E_NOMEM;
  struct owned *o = owned_create(f->n_vanilla_proofs);
  uint8_t *bytes = o ? cuzk_malloc(n) : NULL;
  if (!bytes) {
    cuzk_free(o);
    return CUZK_E_NOMEM;
  }
  o->r.f = *f;
  uint8_t *at = bytes;
  for (size_t i = 0; i < N_FIELDS; i++) {
    const struct field *w = &fields[i];
    struct cuzk_slice *s = (struct cuzk_slice *)(void *)((char *)&o->r.f + w->offset);
    switch (w->form) {
      case INT32:
      case INT64:
        if (!int_of(f, w)) break;
        put_head(&at, w->number, 8);
        cuzk_store_le64(at, int_of(f, w));
        at += 8;
        break;
      case BYTES:
        *s = (struct cuzk_slice){0};
        if (slice_of(f, w)->n) *s = put_bytes(&at, w->number, *slice_of(f, w));
        break;
      case LIST:
        for (size_t k = 0; k < f->n_vanilla_proofs; k++) o->list[k] = put_bytes(&at, w->number, f->vanilla_proofs[k]);
        break;
    }
  }
  o->r.f.vanilla_proofs = f->n_vanilla_proofs ? o->list : NULL;
  o->r.bytes = bytes;
  o->r.n_bytes = n;
  cuzk_sha256(o->r.digest, bytes, n);
  *out = &o->r;
  return CUZK_OK;
}

/* ---- reading ---- */

struct entry {
  const struct field *what;
  struct cuzk_slice value;
};

/* The field at *at, which is moved behind it; last: the one before, NULL at the beginning. */
static enum cuzk_status next_entry(struct entry *e, const uint8_t *bytes, size_t n, size_t *at, const struct field *last,
                                   struct cuzk_detail *d) {
  size_t here = *at;
  if (n - here < HEAD)
    return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: expected number and length of a field (%d bytes), found %zu bytes", here, HEAD,
                     n - here);
  uint32_t number = cuzk_load_le32(bytes + here);
  uint64_t length = cuzk_load_le64(bytes + here + 4);
  e->what = NULL;
  for (size_t i = 0; i < N_FIELDS; i++) {
    if (fields[i].number == number) e->what = &fields[i];
  }
  if (!e->what) return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: no field has the number %" PRIu32, here, number);
  if (last && (e->what < last || (e->what == last && e->what->form != LIST)))
    return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: field %" PRIu32 " after field %" PRIu32 ", expected ascending numbers", here,
                     number, last->number);
  if (length > n - here - HEAD)
    return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: %s has %" PRIu64 " bytes, %zu are left", here, e->what->name, length,
                     n - here - HEAD);
  e->value = (struct cuzk_slice){bytes + here + HEAD, (size_t)length};
  *at = here + HEAD + (size_t)length;
  if (e->what->form == LIST) return CUZK_OK;
  if (length == 0) return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: %s is empty, expected to be absent then", here, e->what->name);
  if (e->what->form == BYTES) return CUZK_OK;
  if (length != 8)
    return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: %s has %" PRIu64 " bytes, expected 8", here, e->what->name, length);
  uint64_t v = cuzk_load_le64(e->value.data);
  if (v == 0) return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: %s is 0, expected to be absent then", here, e->what->name);
  if (e->what->form == INT32 && v > UINT32_MAX)
    return cuzk_fail(d, CUZK_E_FORMAT, "request: byte %zu: %s is %" PRIu64 ", expected at most %" PRIu32, here, e->what->name, v, UINT32_MAX);
  return CUZK_OK;
}

static enum cuzk_status read_fields(struct owned *o, const uint8_t *bytes, size_t n, struct cuzk_detail *d) {
  size_t n_list = 0;
  struct entry e = {0};
  for (size_t at = 0; at < n;) {
    enum cuzk_status st = next_entry(&e, bytes, n, &at, e.what, d);
    if (st != CUZK_OK) return st;
    char *place = (char *)&o->r.f + e.what->offset;
    switch (e.what->form) {
      case INT32: *(uint32_t *)(void *)place = (uint32_t)cuzk_load_le64(e.value.data); break;
      case INT64: *(uint64_t *)(void *)place = cuzk_load_le64(e.value.data); break;
      case BYTES: *(struct cuzk_slice *)(void *)place = e.value; break;
      case LIST: o->list[n_list++] = e.value; break;
    }
  }
  o->r.f.n_vanilla_proofs = n_list;
  o->r.f.vanilla_proofs = n_list ? o->list : NULL;
  return CUZK_OK;
}

/* Fields of the number of the list; a walk that cannot go on ends the count, read_fields then tells why. */
static size_t count_list(const uint8_t *bytes, size_t n) {
  size_t count = 0;
  struct entry e = {0};
  for (size_t at = 0; at < n && next_entry(&e, bytes, n, &at, e.what, NULL) == CUZK_OK;) count += e.what->form == LIST;
  return count;
}

enum cuzk_status cuzk_request_parse(struct cuzk_request **out, const uint8_t *bytes, size_t n, void (*free_fn)(void *user), void *user,
                                    struct cuzk_detail *d) {
  *out = NULL;
  enum cuzk_status st;
  const uint8_t *kept = bytes;
  uint8_t *copy = NULL;
  struct owned *o = owned_create(count_list(bytes, n));
  if (!o) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "request: no memory for its fields");
    goto out;
  }
  if (!free_fn) {
    copy = cuzk_malloc(n);
    if (!copy) {
      st = cuzk_fail(d, CUZK_E_NOMEM, "request: no memory for %zu bytes", n);
      goto out;
    }
    if (n) memcpy(copy, bytes, n);
    kept = copy;
  }
  CUZK_TRY(read_fields(o, kept, n, d));
  o->r.bytes = kept;
  o->r.n_bytes = n;
  o->free_fn = free_fn;
  o->user = user;
  cuzk_sha256(o->r.digest, kept, n);
  *out = &o->r;
  return CUZK_OK;
out:
  cuzk_free(copy);
  cuzk_free(o);
  if (free_fn) free_fn(user);
  return st;
}

static void unmap(void *user) {
  struct cuzk_file *f = user;
  cuzk_file_clear(f);
  cuzk_free(f);
}

enum cuzk_status cuzk_request_load(struct cuzk_request **out, const char *path, const uint8_t digest[32], struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_file *f = cuzk_calloc(1, sizeof *f);
  if (!f) return cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory to read it", path);
  enum cuzk_status st = cuzk_file_map(f, path, UINT64_MAX, d);
  if (st != CUZK_OK) {
    cuzk_free(f);
    return st;
  }
  struct cuzk_detail inner = {{0}};
  struct cuzk_request *r;
  st = cuzk_request_parse(&r, f->data, f->n, unmap, f, &inner);
  /* A blob that was damaged is called so whether or not its fields can still be told apart. */
  if (st != CUZK_OK) return cuzk_fail(d, st, "%.200s: %.280s", path, inner.text);
  if (digest && memcmp(digest, r->digest, 32) != 0) {
    cuzk_request_unref(&r);
    return cuzk_fail(d, CUZK_E_MISMATCH, "%s: its SHA-256 is not the one recorded: the file was changed or damaged", path);
  }
  *out = r;
  return CUZK_OK;
}

/* ---- owners ---- */

struct cuzk_request *cuzk_request_ref(struct cuzk_request *r) {
  struct owned *o = (struct owned *)(void *)r;
  (void)atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
  return r;
}

void cuzk_request_unref(struct cuzk_request **r) {
  if (!*r) return;
  struct owned *o = (struct owned *)(void *)*r;
  *r = NULL;
  if (atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return;
  if (o->free_fn) {
    o->free_fn(o->user);
  } else {
    /* Made by this file: it is heap memory, constant only for users. */
    cuzk_free((void *)(uintptr_t)o->r.bytes);
  }
  cuzk_free(o);
}
