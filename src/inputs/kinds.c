/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/kinds.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"

/* ---- what the kinds with statements share ---- */

/* Registered sizes, in the order of the registered numbers (formats specification 5.8). */
static const uint64_t registered_bytes[] = {UINT64_C(2) << 10, UINT64_C(8) << 20, UINT64_C(512) << 20, UINT64_C(32) << 30,
                                            UINT64_C(64) << 30};
#define N_REGISTERED (sizeof registered_bytes / sizeof *registered_bytes)

/* The circuit whose records have n bytes; lengths differ from size to size. */
static const struct cuzk_circuit *circuit_of_length(enum cuzk_kind kind, size_t n) {
  const struct cuzk_circuit *c;
  for (size_t i = 0; (c = cuzk_circuit_at(i)); i++) {
    if (c->kind != kind) continue;
    if ((kind == CUZK_KIND_UPDATE ? cuzk_update_vanilla_bytes(c) : cuzk_post_vanilla_bytes(c)) == n) return c;
  }
  return NULL;
}

/* The circuit, from what is said of the size, else from the first record's length. first_number, n_numbers: the registered proofs of
 * this kind. */
static enum cuzk_status find_circuit(struct cuzk_inputs *in, const struct cuzk_input_source *from, int first_number, int n_numbers,
                                     struct cuzk_detail *d) {
  const struct cuzk_statement *s = from->statement;
  uint64_t bytes = s->sector_bytes;
  if (s->registered >= 0) {
    if (s->registered < first_number || s->registered >= first_number + n_numbers) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: registered proof %d is not one of %s (%d to %d)", s->name, s->registered,
                       in->kind->title, first_number, first_number + n_numbers - 1);
    }
    const uint64_t said = registered_bytes[(size_t)(s->registered - first_number) % N_REGISTERED];
    if (bytes && bytes != said) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: sector_size is %llu, registered proof %d is of sectors of %llu bytes", s->name,
                       (unsigned long long)bytes, s->registered, (unsigned long long)said);
    }
    bytes = said;
  }
  if (bytes) {
    in->circuit = cuzk_circuit_of(in->kind->kind, bytes);
    if (in->circuit) return CUZK_OK;
    return cuzk_fail(d, CUZK_E_UNSUPPORTED, "%.120s: no circuit of %s for sectors of %llu bytes", s->name, in->kind->title,
                     (unsigned long long)bytes);
  }
  if (!from->vanilla || from->vanilla->n == 0) {
    return cuzk_fail(d, CUZK_E_FORMAT, "%.120s: sector_size is missing, and no vanilla proof tells it", s->name);
  }
  const struct cuzk_blob *b = &from->vanilla->blob[0];
  in->circuit = circuit_of_length(in->kind->kind, b->n);
  if (in->circuit) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_FORMAT, "%.120s: no vanilla proof of %s has %zu bytes", b->name, in->kind->title, b->n);
}

/* A number that the statement may leave out. */
static enum cuzk_status agree(const struct cuzk_statement *s, const char *what, uint64_t said, uint64_t is, struct cuzk_detail *d) {
  if (said == 0 || said == is) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: %s is %llu, expected %llu", s->name, what, (unsigned long long)said,
                   (unsigned long long)is);
}

/* Checks on the pool, the first failure in order reported. */
struct checks {
  const struct cuzk_inputs *in;
  enum cuzk_status (*one)(const struct cuzk_inputs *in, size_t i, struct cuzk_detail *d);
  _Atomic size_t first_bad;
};

static void check_task(void *arg, size_t task, unsigned worker) {
  struct checks *k = arg;
  (void)worker;
  size_t first = atomic_load_explicit(&k->first_bad, memory_order_relaxed);
  if (task > first || k->one(k->in, task, NULL) == CUZK_OK) return;
  while (task < first && !atomic_compare_exchange_weak(&k->first_bad, &first, task)) {
  }
}

static enum cuzk_status check_all(const struct cuzk_inputs *in, size_t n, struct cuzk_pool *pool,
                                  enum cuzk_status (*one)(const struct cuzk_inputs *, size_t, struct cuzk_detail *),
                                  struct cuzk_detail *d) {
  struct checks k = {.in = in, .one = one, .first_bad = SIZE_MAX};
  cuzk_pool_run(pool, check_task, &k, n);
  const size_t bad = atomic_load(&k.first_bad);
  if (bad == SIZE_MAX) return CUZK_OK;
  enum cuzk_status st = one(in, bad, d);
  /* only a lack of memory can have gone away meanwhile; what comes after it may not have been looked at */
  return st == CUZK_OK ? cuzk_fail(d, CUZK_E_NOMEM, "no memory for checking vanilla proof %zu", bad) : st;
}

/* ---- PoRep ---- */

static enum cuzk_status porep_open(struct cuzk_inputs *in, const struct cuzk_input_source *from, struct cuzk_detail *d) {
  if (!from->c1_path && !from->c1) return cuzk_fail(d, CUZK_E_ARG, "no phase-1 output");
  enum cuzk_status st = from->c1_path ? cuzk_c1_load(&in->c1, from->c1_path, d)
                                      : cuzk_c1_read(&in->c1, from->c1, from->c1_bytes, from->c1_name, d);
  if (st != CUZK_OK) return st;
  in->circuit = in->c1->circuit;
  in->n_partitions = in->c1->n_partitions;
  return CUZK_OK;
}

static enum cuzk_status porep_check(const struct cuzk_inputs *in, struct cuzk_pool *pool, struct cuzk_detail *d) {
  return cuzk_c1_check(in->c1, pool, d);
}

static const void *porep_witness(const struct cuzk_inputs *in, unsigned partition) { return &in->c1->partitions[partition]; }

static enum cuzk_status porep_public(cuzk_fr *out, const struct cuzk_inputs *in, unsigned partition, struct cuzk_detail *d) {
  return cuzk_c1_public_inputs(out, in->c1, partition, d);
}

static void porep_close(struct cuzk_inputs *in) { cuzk_c1_free(&in->c1); }

/* ---- proofs of spacetime ---- */

struct post {
  uint8_t randomness[32];
  unsigned api;
  size_t n_sectors, first_position; /* of the first sector among all that the randomness is for */
  uint64_t *ids;
  cuzk_fr *comm_r;
  struct cuzk_post_vanilla **records;     /* n_sectors, NULL without records */
  struct cuzk_post_partition **partitions; /* n_partitions, with records */
};

/* Real sectors of a partition: all but the last are full. */
static size_t partition_sectors(const struct cuzk_inputs *in, unsigned k, size_t *first) {
  const struct post *p = in->own;
  const size_t most = in->kind->kind == CUZK_KIND_WINNING ? 1 : in->circuit->sectors;
  *first = k * most;
  return p->n_sectors - *first < most ? p->n_sectors - *first : most;
}

static void post_close(struct cuzk_inputs *in) {
  struct post *p = in->own;
  if (!p) return;
  for (size_t i = 0; p->records && i < p->n_sectors; i++) cuzk_post_vanilla_free(&p->records[i]);
  for (unsigned k = 0; p->partitions && k < in->n_partitions; k++) cuzk_post_partition_destroy(&p->partitions[k]);
  cuzk_free(p->ids);
  cuzk_free(p->comm_r);
  cuzk_free(p->records);
  cuzk_free(p->partitions);
  cuzk_free(p);
  in->own = NULL;
}

/* Sector i from the statement, or from its record; both if both are there. */
static enum cuzk_status take_sector(struct post *p, const struct cuzk_statement *s, size_t i, struct cuzk_detail *d) {
  const struct cuzk_post_vanilla *v = p->records ? p->records[i] : NULL;
  if (s->n_sectors) {
    p->ids[i] = s->sectors[i].number;
    if (!cuzk_fr_from_le(&p->comm_r[i], s->sectors[i].comm_r)) {
      return cuzk_fail(d, CUZK_E_FORMAT, "%.120s: comm_r of sector %llu is not a canonical field element (not below the group order)",
                       s->name, (unsigned long long)p->ids[i]);
    }
    if (v && v->sector_id != p->ids[i]) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "vanilla proof %zu is of sector %llu, %.120s has sector %llu in this place", i,
                       (unsigned long long)v->sector_id, s->name, (unsigned long long)p->ids[i]);
    }
    if (v && !cuzk_fr_eq(&v->comm_r, &p->comm_r[i])) {
      return cuzk_fail(d, CUZK_E_MISMATCH, "sector %llu: comm_r of the vanilla proof is not that of %.120s", (unsigned long long)p->ids[i],
                       s->name);
    }
  } else {
    p->ids[i] = v->sector_id;
    p->comm_r[i] = v->comm_r;
  }
  return CUZK_OK;
}

/* The challenges that a statement may list, against those that its randomness asks for. */
static enum cuzk_status compare_challenges(const struct cuzk_inputs *in, const struct cuzk_statement *s, unsigned per_sector,
                                           struct cuzk_detail *d) {
  const struct post *p = in->own;
  if (!s->n_challenges) return CUZK_OK;
  if (s->n_challenges != p->n_sectors * per_sector) {
    return cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: %zu challenges, expected %zu", s->name, s->n_challenges, p->n_sectors * per_sector);
  }
  for (size_t i = 0; i < p->n_sectors; i++) {
    for (unsigned q = 0; q < per_sector; q++) {
      const uint64_t index = cuzk_post_challenge_index(p->api, p->first_position + i, per_sector, q);
      const uint64_t leaf = cuzk_post_leaf(in->circuit->nodes, p->randomness, p->ids[i], index);
      if (s->challenges[i * per_sector + q] == leaf) continue;
      return cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: challenges[%zu][%u] is %llu, the randomness asks for %llu", s->name, i, q,
                       (unsigned long long)s->challenges[i * per_sector + q], (unsigned long long)leaf);
    }
  }
  return CUZK_OK;
}

static enum cuzk_status read_records(struct cuzk_inputs *in, const struct cuzk_input_source *from, struct cuzk_detail *d) {
  struct post *p = in->own;
  if (!from->vanilla || !from->vanilla->n) return CUZK_OK;
  p->records = cuzk_calloc(p->n_sectors, sizeof *p->records);
  if (!p->records) return cuzk_fail(d, CUZK_E_NOMEM, "%zu vanilla proofs", p->n_sectors);
  for (size_t i = 0; i < p->n_sectors; i++) {
    const struct cuzk_blob *b = &from->vanilla->blob[i];
    enum cuzk_status st = cuzk_post_vanilla_read(&p->records[i], in->circuit, b->data, b->n, b->name, d);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

static enum cuzk_status make_partitions(struct cuzk_inputs *in, struct cuzk_detail *d) {
  struct post *p = in->own;
  if (!p->records) return CUZK_OK;
  p->partitions = cuzk_calloc(in->n_partitions, sizeof *p->partitions);
  if (!p->partitions) return cuzk_fail(d, CUZK_E_NOMEM, "%u partitions", in->n_partitions);
  for (unsigned k = 0; k < in->n_partitions; k++) {
    size_t first;
    const size_t n = partition_sectors(in, k, &first);
    const struct cuzk_post_vanilla *const *sectors = (const struct cuzk_post_vanilla *const *)(p->records + first);
    enum cuzk_status st = cuzk_post_partition_create(&p->partitions[k], in->circuit, sectors, n, d);
    if (st != CUZK_OK) return st;
  }
  return CUZK_OK;
}

static enum cuzk_status post_open(struct cuzk_inputs *in, const struct cuzk_input_source *from, struct cuzk_detail *d) {
  const struct cuzk_statement *s = from->statement;
  const bool winning = in->kind->kind == CUZK_KIND_WINNING;
  const size_t n_records = from->vanilla ? from->vanilla->n : 0;
  enum cuzk_status st;
  if (!s) return cuzk_fail(d, CUZK_E_ARG, "no statement");
  CUZK_TRY(find_circuit(in, from, winning ? 0 : 5, winning ? 5 : 10, d));
  if (!s->has_randomness) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: member randomness is missing", s->name);
    goto out;
  }
  cuzk_fr ignored;
  if (!cuzk_fr_from_le(&ignored, s->randomness)) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: randomness is not a canonical field element (not below the group order)", s->name);
    goto out;
  }
  const size_t n = s->n_sectors ? s->n_sectors : n_records;
  if (n == 0) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: no sectors, neither in a list nor as vanilla proofs", s->name);
    goto out;
  }
  if (n_records && n_records != n) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "%zu vanilla proof%s, %.120s has %zu sector%s", n_records, n_records == 1 ? "" : "s", s->name, n,
                   n == 1 ? "" : "s");
    goto out;
  }
  const size_t most = winning ? 1 : in->circuit->sectors;
  if (winning && n != 1) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "%zu sectors, a winning proof is of one", n);
    goto out;
  }
  if (s->partition_index && n > most) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: partition_index is %u, but the %zu sectors fill more than one partition of %zu", s->name,
                   s->partition_index, n, most);
    goto out;
  }
  struct post *p = in->own = cuzk_calloc(1, sizeof *p);
  if (!p || !(p->ids = cuzk_calloc(n, sizeof *p->ids)) || !(p->comm_r = cuzk_calloc(n, sizeof *p->comm_r))) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "%zu sectors", n);
    goto out;
  }
  p->n_sectors = n;
  p->first_position = (size_t)s->partition_index * most;
  memcpy(p->randomness, s->randomness, 32);
  in->n_partitions = (unsigned)((n + most - 1) / most);
  /* registered window proofs 5 to 9 are of API 1.0, 10 to 14 of 1.2: what is proved today */
  const unsigned of_type = winning ? 0x0100 : s->registered >= 0 && s->registered < 10 ? 0x0100 : 0x0102;
  p->api = s->api_major_minor ? s->api_major_minor : of_type;
  /* 1.0 and 1.1 draw the same challenges */
  if (!winning && s->registered >= 0 && s->api_major_minor && (p->api < 0x0102) != (of_type < 0x0102)) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "%.120s: registered proof %d is not of API version 1.%u", s->name, s->registered, p->api & 0xff);
    goto out;
  }
  const unsigned per_sector = winning ? CUZK_WINNING_CHALLENGES : in->circuit->challenges;
  CUZK_TRY(agree(s, "challenges_per_sector", s->challenges_per_sector, per_sector, d));
  CUZK_TRY(agree(s, "sectors_per_partition", s->sectors_per_partition, most, d));
  CUZK_TRY(agree(s, "partitions", s->partitions, in->n_partitions, d));
  CUZK_TRY(read_records(in, from, d));
  for (size_t i = 0; i < n; i++) CUZK_TRY(take_sector(p, s, i, d));
  CUZK_TRY(compare_challenges(in, s, per_sector, d));
  CUZK_TRY(make_partitions(in, d));
out:
  return st;
}

static enum cuzk_status post_check_one(const struct cuzk_inputs *in, size_t i, struct cuzk_detail *d) {
  const struct post *p = in->own;
  return cuzk_post_vanilla_check(p->records[i], p->randomness, p->api, p->first_position + i, d);
}

static enum cuzk_status post_check(const struct cuzk_inputs *in, struct cuzk_pool *pool, struct cuzk_detail *d) {
  const struct post *p = in->own;
  if (!p->records) return cuzk_fail(d, CUZK_E_ARG, "no vanilla proofs");
  return check_all(in, p->n_sectors, pool, post_check_one, d);
}

static const void *post_witness(const struct cuzk_inputs *in, unsigned partition) {
  const struct post *p = in->own;
  return p->partitions ? p->partitions[partition] : NULL;
}

static enum cuzk_status post_public(cuzk_fr *out, const struct cuzk_inputs *in, unsigned partition, struct cuzk_detail *d) {
  const struct post *p = in->own;
  size_t first;
  const size_t n = partition_sectors(in, partition, &first);
  return cuzk_post_public_inputs(out, in->circuit, p->comm_r + first, p->ids + first, n, p->randomness, p->api, p->first_position + first,
                                 d);
}

/* ---- sector updates ---- */

struct update {
  struct cuzk_update_commitments commitments;
  bool has_records;
  struct cuzk_update_vanilla *records[]; /* n_partitions */
};

static void update_close(struct cuzk_inputs *in) {
  struct update *u = in->own;
  for (unsigned k = 0; u && k < in->n_partitions; k++) cuzk_update_vanilla_free(&u->records[k]);
  cuzk_free(u);
  in->own = NULL;
}

static enum cuzk_status update_open(struct cuzk_inputs *in, const struct cuzk_input_source *from, struct cuzk_detail *d) {
  const struct cuzk_statement *s = from->statement;
  const size_t n_records = from->vanilla ? from->vanilla->n : 0;
  enum cuzk_status st;
  if (!s) return cuzk_fail(d, CUZK_E_ARG, "no statement");
  CUZK_TRY(find_circuit(in, from, 0, 5, d));
  const unsigned n = in->circuit->partitions;
  if (!s->has_commitments) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%.120s: members comm_r_old, comm_d_new and comm_r_new are missing", s->name);
    goto out;
  }
  CUZK_TRY(agree(s, "partitions", s->partitions, n, d));
  if (s->h && s->h != cuzk_update_h(in->circuit)) {
    st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "%.120s: h is %llu, updates of sectors of %llu bytes are proved with %u", s->name,
                   (unsigned long long)s->h, (unsigned long long)in->circuit->sector_bytes, cuzk_update_h(in->circuit));
    goto out;
  }
  if (n_records && n_records != n) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "%zu vanilla proof%s, an update of a sector of %llu bytes has %u partition%s", n_records,
                   n_records == 1 ? "" : "s", (unsigned long long)in->circuit->sector_bytes, n, n == 1 ? "" : "s");
    goto out;
  }
  struct update *u = in->own = cuzk_calloc(1, sizeof *u + n * sizeof *u->records);
  if (!u) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "%u partitions", n);
    goto out;
  }
  in->n_partitions = n;
  u->commitments = s->commitments;
  for (unsigned k = 0; n_records && k < n; k++) {
    const struct cuzk_blob *b = &from->vanilla->blob[k];
    CUZK_TRY(cuzk_update_vanilla_read(&u->records[k], in->circuit, k, &u->commitments, b->data, b->n, b->name, d));
  }
  u->has_records = n_records != 0;
out:
  return st;
}

static enum cuzk_status update_check_one(const struct cuzk_inputs *in, size_t k, struct cuzk_detail *d) {
  return cuzk_update_vanilla_check(((const struct update *)in->own)->records[k], d);
}

static enum cuzk_status update_check(const struct cuzk_inputs *in, struct cuzk_pool *pool, struct cuzk_detail *d) {
  if (!((const struct update *)in->own)->has_records) return cuzk_fail(d, CUZK_E_ARG, "no vanilla proofs");
  return check_all(in, in->n_partitions, pool, update_check_one, d);
}

static const void *update_witness(const struct cuzk_inputs *in, unsigned partition) {
  const struct update *u = in->own;
  return u->has_records ? &u->records[partition]->partition : NULL;
}

static enum cuzk_status update_public(cuzk_fr *out, const struct cuzk_inputs *in, unsigned partition, struct cuzk_detail *d) {
  return cuzk_update_public_inputs(out, in->circuit, partition, &((const struct update *)in->own)->commitments, d);
}

/* ---- the table ---- */

#define FUNCTIONS(f) \
  .parameter_id = cuzk_circuit_parameter_id, .open = f##_open, .check = f##_check, .witness = f##_witness, .public_inputs = f##_public, \
  .close = f##_close

static const struct cuzk_proof_kind kinds[] = {
    {CUZK_KIND_POREP, "porep", "porep", "porep-c2", "porep_c2", "porep", 1, "PoRep", true, FUNCTIONS(porep)},
    {CUZK_KIND_UPDATE, "update", "snap", "snap-update", "snap_update", "snap", 2, "sector updates", false, FUNCTIONS(update)},
    {CUZK_KIND_WINDOW, "window", "window-post", "window-post", "window_post", "wpost", 3, "WindowPoSt", false, FUNCTIONS(post)},
    {CUZK_KIND_WINNING, "winning", "winning-post", "winning-post", "winning_post", "winning", 4, "WinningPoSt", false, FUNCTIONS(post)},
};
#define N_KINDS (sizeof kinds / sizeof *kinds)

const struct cuzk_proof_kind *cuzk_proof_kind_at(size_t i) { return i < N_KINDS ? &kinds[i] : NULL; }

const struct cuzk_proof_kind *cuzk_proof_kind_of(enum cuzk_kind kind) {
  for (size_t i = 0; i < N_KINDS; i++) {
    if (kinds[i].kind == kind) return &kinds[i];
  }
  return NULL;
}

const struct cuzk_proof_kind *cuzk_proof_kind_find(const char *command) {
  for (size_t i = 0; i < N_KINDS; i++) {
    if (!strcmp(kinds[i].command, command)) return &kinds[i];
  }
  return NULL;
}

enum cuzk_status cuzk_inputs_open(struct cuzk_inputs **out, const struct cuzk_proof_kind *kind, const struct cuzk_input_source *from,
                                  struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_inputs *in = cuzk_calloc(1, sizeof *in);
  if (!in) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the inputs");
  in->kind = kind;
  enum cuzk_status st = kind->open(in, from, d);
  if (st == CUZK_OK)
    *out = in;
  else
    cuzk_inputs_close(&in);
  return st;
}

void cuzk_inputs_close(struct cuzk_inputs **in) {
  if (!*in) return;
  (*in)->kind->close(*in);
  cuzk_free(*in);
  *in = NULL;
}

enum cuzk_status cuzk_inputs_check(const struct cuzk_inputs *in, struct cuzk_pool *pool, struct cuzk_detail *d) {
  return in->kind->check(in, pool, d);
}

const void *cuzk_inputs_witness(const struct cuzk_inputs *in, unsigned partition) {
  return partition < in->n_partitions ? in->kind->witness(in, partition) : NULL;
}

enum cuzk_status cuzk_inputs_public(cuzk_fr *out, const struct cuzk_inputs *in, unsigned partition, struct cuzk_detail *d) {
  if (partition >= in->n_partitions) {
    return cuzk_fail(d, CUZK_E_ARG, "partition %u of %u (counted from 0)", partition, in->n_partitions);
  }
  return in->kind->public_inputs(out, in, partition, d);
}
