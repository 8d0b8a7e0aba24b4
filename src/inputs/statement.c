/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/statement.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/json.h"
#include "inputs/c1.h"

/* Room for one more element of a growing array. */
static bool grow(void **array, size_t n, size_t *capacity, size_t size) {
  if (n < *capacity) return true;
  const size_t more = *capacity ? 2 * *capacity : 8;
  void *p = cuzk_realloc_array(*array, more, size);
  if (!p) return false;
  *array = p;
  *capacity = more;
  return true;
}

/* ---- vanilla proofs as bytes ---- */

/* Takes data (from cuzk_malloc), also on failure. */
static enum cuzk_status add(struct cuzk_blobs *b, uint8_t *data, size_t n, const char *name, struct cuzk_detail *d) {
  void *array = b->blob;
  if (!data || !grow(&array, b->n, &b->capacity, sizeof *b->blob)) {
    cuzk_free(data);
    return cuzk_fail(d, CUZK_E_NOMEM, "%.120s: no memory for %zu bytes of a vanilla proof", name, n);
  }
  b->blob = array;
  struct cuzk_blob *e = &b->blob[b->n++];
  e->data = data;
  e->n = n;
  (void)snprintf(e->name, sizeof e->name, "%s", name);
  return CUZK_OK;
}

/* A base64 string at the cursor. */
static enum cuzk_status add_base64(struct cuzk_blobs *b, struct cuzk_json *j, const char *name, size_t i, struct cuzk_detail *d) {
  const uint8_t *text;
  char *copy = NULL, where[160];
  size_t n_text = 0, n = 0, bad = 0;
  enum cuzk_status st = cuzk_json_string_view(j, &text, &n_text);
  if (st == CUZK_OK && !text) {
    st = cuzk_json_string_dup(j, &copy, &n_text);
    text = (const uint8_t *)copy;
  }
  if (st != CUZK_OK) return st;
  uint8_t *data = cuzk_malloc(cuzk_base64_decoded_max(n_text) + 1);
  const enum cuzk_base64_error e = data ? cuzk_base64_decode(data, &n, text, n_text, &bad) : CUZK_BASE64_OK;
  if (e != CUZK_BASE64_OK) {
    cuzk_free(data);
    st = e == CUZK_BASE64_LENGTH
             ? cuzk_json_fail(j, CUZK_E_FORMAT, "base64: %s (%zu characters)", cuzk_base64_error_text(e), n_text)
             : cuzk_json_fail(j, CUZK_E_FORMAT, "base64: %s at character %zu", cuzk_base64_error_text(e), bad);
  } else {
    (void)snprintf(where, sizeof where, "%.110s: vanilla proof %zu", name, i);
    st = add(b, data, n, where, d);
  }
  cuzk_free(copy);
  return st;
}

/* A list of base64 strings at the cursor. */
static enum cuzk_status add_list(struct cuzk_blobs *b, struct cuzk_json *j, const char *name, struct cuzk_detail *d) {
  size_t n = 0;
  enum cuzk_status st = cuzk_json_array(j);
  for (; st == CUZK_OK; n++) {
    bool more;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    st = add_base64(b, j, name, n, d);
  }
  if (st == CUZK_OK && n == 0) st = cuzk_json_fail(j, CUZK_E_FORMAT, "an empty list of vanilla proofs");
  return st;
}

/* JSON begins as printable text; a record begins with small integers and hashes. */
static bool is_text(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n && i < 256; i++) {
    if ((p[i] < 32 && (p[i] < 9 || p[i] > 13)) || p[i] > 126) return false;
  }
  return n > 0;
}

enum cuzk_status cuzk_blobs_add(struct cuzk_blobs *b, const uint8_t *data, size_t n, const char *name, struct cuzk_detail *d) {
  if (!is_text(data, n)) {
    uint8_t *copy = cuzk_malloc(n + 1);
    if (copy && n) memcpy(copy, data, n);
    return add(b, copy, n, name, d);
  }
  struct cuzk_json *j = NULL;
  enum cuzk_status st = cuzk_json_open(&j, data, n, CUZK_BLOBS_MAX_BYTES, name, d);
  if (st == CUZK_OK) st = add_list(b, j, name, d);
  if (st == CUZK_OK) st = cuzk_json_end(j);
  cuzk_json_close(&j);
  return st;
}

enum cuzk_status cuzk_blobs_add_file(struct cuzk_blobs *b, const char *path, struct cuzk_detail *d) {
  struct cuzk_file f;
  enum cuzk_status st = cuzk_file_read(&f, path, CUZK_BLOBS_MAX_BYTES, d);
  if (st != CUZK_OK) return st;
  st = cuzk_blobs_add(b, f.data, f.n, path, d);
  cuzk_file_clear(&f);
  return st;
}

void cuzk_blobs_clear(struct cuzk_blobs *b) {
  for (size_t i = 0; i < b->n; i++) cuzk_free((void *)(uintptr_t)b->blob[i].data);
  cuzk_free(b->blob);
  *b = (struct cuzk_blobs){0};
}

/* ---- statements ---- */

/* 32 bytes, as hexadecimal digits or as a list of integers. */
static enum cuzk_status read_32(uint8_t out[32], struct cuzk_json *j) {
  return cuzk_json_peek(j) == CUZK_JSON_ARRAY ? cuzk_json_bytes(j, out, 32) : cuzk_json_hex(j, out, 32);
}

static enum cuzk_status read_api_version(struct cuzk_statement *s, struct cuzk_json *j) {
  static const struct {
    const char *dotted, *rust;
    unsigned value;
  } versions[] = {{"1.0.0", "V1_0_0", 0x0100}, {"1.1.0", "V1_1_0", 0x0101}, {"1.2.0", "V1_2_0", 0x0102}};
  char text[24];
  enum cuzk_status st = cuzk_json_string(j, text, sizeof text);
  if (st != CUZK_OK) return st;
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    if (!strcmp(text, versions[i].dotted) || !strcmp(text, versions[i].rust)) s->api_major_minor = versions[i].value;
  }
  if (!s->api_major_minor) return cuzk_json_fail(j, CUZK_E_UNSUPPORTED, "expected API version 1.0.0, 1.1.0 or 1.2.0, found %s", text);
  return CUZK_OK;
}

static enum cuzk_status read_sectors(struct cuzk_statement *s, struct cuzk_json *j) {
  static const char *const names[] = {"sector_number", "comm_r"};
  size_t capacity = 0;
  enum cuzk_status st = cuzk_json_array(j);
  while (st == CUZK_OK) {
    bool more;
    void *array = s->sectors;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    if (!grow(&array, s->n_sectors, &capacity, sizeof *s->sectors)) return cuzk_json_fail(j, CUZK_E_NOMEM, "no memory for the sectors");
    s->sectors = array;
    struct cuzk_statement_sector *e = &s->sectors[s->n_sectors];
    st = cuzk_json_object(j, names, 2, 3);
    while (st == CUZK_OK) {
      int m;
      st = cuzk_json_member(j, &m);
      if (st != CUZK_OK || m < 0) break;
      st = m == 0 ? cuzk_json_u64(j, INT64_MAX, &e->number) : read_32(e->comm_r, j);
    }
    s->n_sectors++;
  }
  if (st == CUZK_OK && s->n_sectors == 0) st = cuzk_json_fail(j, CUZK_E_FORMAT, "an empty list of sectors");
  return st;
}

static enum cuzk_status read_challenges(struct cuzk_statement *s, struct cuzk_json *j) {
  size_t capacity = 0;
  enum cuzk_status st = cuzk_json_array(j);
  while (st == CUZK_OK) {
    bool more;
    st = cuzk_json_element(j, &more);
    if (st != CUZK_OK || !more) break;
    st = cuzk_json_array(j);
    while (st == CUZK_OK) {
      void *array = s->challenges;
      st = cuzk_json_element(j, &more);
      if (st != CUZK_OK || !more) break;
      if (!grow(&array, s->n_challenges, &capacity, sizeof *s->challenges)) {
        return cuzk_json_fail(j, CUZK_E_NOMEM, "no memory for the challenges");
      }
      s->challenges = array;
      st = cuzk_json_u64(j, UINT64_MAX, &s->challenges[s->n_challenges]);
      if (st == CUZK_OK) s->n_challenges++;
    }
  }
  return st;
}

static enum cuzk_status read_registered(struct cuzk_statement *s, struct cuzk_json *j) {
  uint64_t v = 0;
  enum cuzk_status st = cuzk_json_u64(j, 14, &v);
  if (st == CUZK_OK) s->registered = (int)v;
  return st;
}

/* { "ProofType", "old_r", "new_r", "new_d", "Proofs" } */
static enum cuzk_status read_snap(struct cuzk_statement *s, struct cuzk_blobs *embedded, struct cuzk_json *j, const char *name,
                                  struct cuzk_detail *d) {
  static const char *const names[] = {"ProofType", "old_r", "new_r", "new_d", "Proofs"};
  enum cuzk_status st = cuzk_json_object(j, names, 5, 31);
  while (st == CUZK_OK) {
    int m;
    st = cuzk_json_member(j, &m);
    if (st != CUZK_OK || m < 0) break;
    switch (m) {
      case 0: st = read_registered(s, j); break;
      case 1: st = read_32(s->commitments.comm_r_old, j); break;
      case 2: st = read_32(s->commitments.comm_r_new, j); break;
      case 3: st = read_32(s->commitments.comm_d_new, j); break;
      default: st = add_list(embedded, j, name, d); break;
    }
  }
  s->has_commitments = st == CUZK_OK;
  return st;
}

enum {
  M_SECTOR_SIZE,
  M_REGISTERED_PROOF,
  M_API_VERSION,
  M_RANDOMNESS,
  M_SECTORS,
  M_PARTITIONS,
  M_PARTITION_INDEX,
  M_CHALLENGES_PER_SECTOR,
  M_SECTORS_PER_PARTITION,
  M_CHALLENGES,
  M_COMM_R_OLD,
  M_COMM_D_NEW,
  M_COMM_R_NEW,
  M_H,
  M_MINER_ID,
  M_PROVER_ID,
  M_POREP,
  M_SNAP,
  N_NAMES
};
static const char *const names[N_NAMES] = {
    "sector_size", "registered_proof", "api_version", "randomness",            "sectors",
    "partitions",  "partition_index",  "challenges_per_sector", "sectors_per_partition", "challenges",
    "comm_r_old",  "comm_d_new",       "comm_r_new",  "h",                     "miner_id",
    "prover_id",   "PoRep",            "Snap"};

struct ids {
  uint64_t miner;
  uint8_t prover[32];
};

static enum cuzk_status read_member(struct cuzk_statement *s, struct ids *ids, struct cuzk_blobs *embedded, int m, struct cuzk_json *j,
                                    struct cuzk_detail *d) {
  uint64_t v = 0;
  enum cuzk_status st;
  switch (m) {
    case M_SECTOR_SIZE: return cuzk_json_u64(j, INT64_MAX, &s->sector_bytes);
    case M_REGISTERED_PROOF: return read_registered(s, j);
    case M_API_VERSION: return read_api_version(s, j);
    case M_RANDOMNESS: return read_32(s->randomness, j);
    case M_SECTORS: return read_sectors(s, j);
    case M_PARTITIONS: return cuzk_json_u64(j, UINT32_MAX, &s->partitions);
    case M_PARTITION_INDEX:
      st = cuzk_json_u64(j, 1u << 20, &v);
      s->partition_index = (unsigned)v;
      return st;
    case M_CHALLENGES_PER_SECTOR: return cuzk_json_u64(j, UINT32_MAX, &s->challenges_per_sector);
    case M_SECTORS_PER_PARTITION: return cuzk_json_u64(j, UINT32_MAX, &s->sectors_per_partition);
    case M_CHALLENGES: return read_challenges(s, j);
    case M_COMM_R_OLD: return read_32(s->commitments.comm_r_old, j);
    case M_COMM_D_NEW: return read_32(s->commitments.comm_d_new, j);
    case M_COMM_R_NEW: return read_32(s->commitments.comm_r_new, j);
    case M_H: return cuzk_json_u64(j, 64, &s->h);
    case M_MINER_ID: return cuzk_json_u64(j, INT64_MAX, &ids->miner);
    case M_PROVER_ID: return read_32(ids->prover, j);
    case M_POREP: return cuzk_json_skip(j);
    default: return cuzk_json_peek(j) == CUZK_JSON_NULL ? cuzk_json_skip(j) : read_snap(s, embedded, j, s->name, d);
  }
}

enum cuzk_status cuzk_statement_read(struct cuzk_statement *s, struct cuzk_blobs *embedded, const uint8_t *data, size_t n, const char *name,
                                     struct cuzk_detail *d) {
  const uint64_t comms = (UINT64_C(1) << M_COMM_R_OLD) | (UINT64_C(1) << M_COMM_D_NEW) | (UINT64_C(1) << M_COMM_R_NEW);
  struct cuzk_json *j = NULL;
  struct ids ids = {0};
  uint64_t seen = 0;
  *s = (struct cuzk_statement){.registered = -1};
  (void)snprintf(s->name, sizeof s->name, "%s", name);
  enum cuzk_status st = cuzk_json_open(&j, data, n, CUZK_BLOBS_MAX_BYTES, name, d);
  if (st != CUZK_OK) return st;
  CUZK_TRY(cuzk_json_object(j, names, N_NAMES, 0));
  for (;;) {
    int m;
    CUZK_TRY(cuzk_json_member(j, &m));
    if (m < 0) break;
    seen = cuzk_json_seen(j);
    CUZK_TRY(read_member(s, &ids, embedded, m, j, d));
  }
  CUZK_TRY(cuzk_json_end(j));
  s->has_randomness = seen >> M_RANDOMNESS & 1;
  if ((seen & comms) && s->has_commitments) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: commitments beside those of member Snap", name);
  } else if ((seen & comms) && (seen & comms) != comms) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: comm_r_old, comm_d_new and comm_r_new go together, one is missing", name);
  } else if ((seen >> M_MINER_ID & 1) && (seen >> M_PROVER_ID & 1)) {
    uint8_t prover[32];
    cuzk_prover_id(prover, ids.miner);
    if (memcmp(prover, ids.prover, 32) != 0)
      st = cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: prover_id is not that of miner %llu", name, (unsigned long long)ids.miner);
  }
  if (seen & comms) s->has_commitments = true;
out:
  cuzk_json_close(&j);
  return st;
}

enum cuzk_status cuzk_statement_load(struct cuzk_statement *s, struct cuzk_blobs *embedded, const char *path, struct cuzk_detail *d) {
  struct cuzk_file f;
  *s = (struct cuzk_statement){.registered = -1};
  enum cuzk_status st = cuzk_file_read(&f, path, CUZK_BLOBS_MAX_BYTES, d);
  if (st != CUZK_OK) return st;
  st = cuzk_statement_read(s, embedded, f.data, f.n, path, d);
  cuzk_file_clear(&f);
  return st;
}

void cuzk_statement_clear(struct cuzk_statement *s) {
  cuzk_free(s->sectors);
  cuzk_free(s->challenges);
  *s = (struct cuzk_statement){.registered = -1};
}
