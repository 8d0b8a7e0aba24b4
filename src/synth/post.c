/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Challenges of a proof of spacetime follow from the randomness and the sector's number: a sector is a sparse tree R over them. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "inputs/c1.h"
#include "inputs/vanilla.h"
#include "synth/draw.h"
#include "synth/tree.h"
#include "synth/write.h"

/* Sectors that are made at a time: enough for any pool, and few megabytes. */
enum { BATCH = 64 };

struct post {
  const struct cuzk_circuit *circuit;
  const struct cuzk_synth *options;
  unsigned api, n_challenges; /* challenges of a sector's record */
  size_t n_sectors, n_bytes;  /* bytes of a record */
  uint8_t randomness[32];
  const struct cuzk_poseidon *hash2;
  /* The batch being made. */
  size_t first;
  uint8_t *records; /* BATCH times n_bytes */
  struct cuzk_detail details[BATCH];
  enum cuzk_status status[BATCH];
  /* All sectors, for the meta file. */
  cuzk_fr *comm_r;
  uint64_t *leaves; /* n_sectors times n_challenges */
};

static void make_sector(void *arg, size_t task, unsigned worker) {
  struct post *p = arg;
  const size_t at = p->first + task;
  const uint64_t number = p->options->sector_number + at;
  uint64_t *leaves = p->leaves + at * p->n_challenges, index[CUZK_WINNING_CHALLENGES];
  cuzk_fr value[CUZK_WINNING_CHALLENGES], comm_c;
  struct synth_draw draw;
  struct synth_tree r = {0};
  (void)worker;
  synth_draw_init(&draw, p->circuit->kind, p->options, number, p->api);
  for (unsigned i = 0; i < p->n_challenges; i++) {
    index[i] = leaves[i] = cuzk_post_leaf(p->circuit->nodes, p->randomness, number,
                                          cuzk_post_challenge_index(p->api, at, p->n_challenges, i));
  }
  const size_t n = synth_sort_unique(index, p->n_challenges);
  for (size_t i = 0; i < n; i++) synth_draw_element(&value[i], &draw, SYNTH_REPLICA, 0, index[i]);
  p->status[task] = synth_tree_sparse(&r, p->circuit, &draw, SYNTH_TREE_R, index, value, n, NULL, &p->details[task]);
  if (p->status[task] != CUZK_OK) return;
  synth_draw_element(&comm_c, &draw, SYNTH_COMM_C, 0, 0);
  const cuzk_fr both[2] = {comm_c, *synth_tree_root(&r)};
  cuzk_poseidon_hash(&p->comm_r[at], p->hash2, both);

  struct synth_bytes b = {p->records + task * p->n_bytes, p->n_bytes, 0};
  synth_put_u64(&b, number);
  synth_put_element(&b, &p->comm_r[at]);
  synth_put_u64(&b, 1);
  synth_put_u64(&b, p->n_challenges);
  for (unsigned i = 0; i < p->n_challenges; i++) synth_put_proof(&b, &r, leaves[i]);
  synth_put_element(&b, &comm_c);
  synth_put_element(&b, synth_tree_root(&r));
  CUZK_VERIFY(b.at == b.n);
  synth_tree_clear(&r);
}

static enum cuzk_status write_meta(const struct post *p, const char *kind, cuzk_synth_file_fn *file, void *user, struct cuzk_detail *d) {
  const bool winning = p->circuit->kind == CUZK_KIND_WINNING;
  const unsigned per_partition = winning ? 1 : p->circuit->sectors;
  struct cuzk_json_out o;
  uint8_t b[32];
  char name[40], api[16], *text = NULL;
  size_t n;
  (void)snprintf(api, sizeof api, "%u.%u.0", p->api >> 8 & 0xff, p->api & 0xff);
  cuzk_json_out_init(&o, NULL);
  cuzk_json_out_object(&o);
  cuzk_json_out_member_string(&o, "api_version", api);
  cuzk_json_out_key(&o, "challenges");
  cuzk_json_out_array(&o);
  for (size_t s = 0; s < p->n_sectors; s++) {
    cuzk_json_out_array(&o);
    for (unsigned i = 0; i < p->n_challenges; i++) cuzk_json_out_u64(&o, p->leaves[s * p->n_challenges + i]);
    cuzk_json_out_array_end(&o);
  }
  cuzk_json_out_array_end(&o);
  cuzk_json_out_member_u64(&o, "challenges_per_sector", p->n_challenges);
  cuzk_json_out_member_u64(&o, "miner_id", p->options->miner);
  cuzk_json_out_member_u64(&o, "partitions", (p->n_sectors + per_partition - 1) / per_partition);
  cuzk_prover_id(b, p->options->miner);
  cuzk_json_out_member_hex(&o, "prover_id", b, 32);
  cuzk_json_out_member_hex(&o, "randomness", p->randomness, 32);
  cuzk_json_out_member_u64(&o, "sector_size", p->circuit->sector_bytes);
  cuzk_json_out_key(&o, "sectors");
  cuzk_json_out_array(&o);
  for (size_t s = 0; s < p->n_sectors; s++) {
    cuzk_json_out_object(&o);
    cuzk_fr_to_le(b, &p->comm_r[s]);
    cuzk_json_out_member_hex(&o, "comm_r", b, 32);
    cuzk_json_out_member_u64(&o, "sector_number", p->options->sector_number + s);
    cuzk_json_out_object_end(&o);
  }
  cuzk_json_out_array_end(&o);
  cuzk_json_out_member_u64(&o, "sectors_per_partition", per_partition);
  cuzk_json_out_object_end(&o);
  enum cuzk_status st = cuzk_json_out_finish(&o, &text, &n, d);
  if (st != CUZK_OK) return st;
  (void)snprintf(name, sizeof name, "%s.meta.json", kind);
  st = file(user, name, text, n, d);
  cuzk_free(text);
  return st;
}

/* Fills in what follows from kind and options. */
static enum cuzk_status set_up(struct post *p, enum cuzk_kind kind, const struct cuzk_synth *o, struct cuzk_detail *d) {
  const bool winning = kind == CUZK_KIND_WINNING;
  if (!winning && kind != CUZK_KIND_WINDOW) return cuzk_fail(d, CUZK_E_ARG, "not a kind of proofs of spacetime");
  p->options = o;
  p->circuit = cuzk_circuit_of(kind, o->sector_bytes);
  if (!p->circuit) {
    return cuzk_fail(d, CUZK_E_ARG, "no %s PoSt of sectors of %llu bytes", winning ? "winning" : "window", (unsigned long long)o->sector_bytes);
  }
  p->api = o->api_major_minor ? o->api_major_minor : winning ? 0x0100 : 0x0102;
  if (winning ? p->api != 0x0100 : p->api < 0x0100 || p->api > 0x0102) {
    return cuzk_fail(d, CUZK_E_ARG, "no %s PoSt of API %u.%u", winning ? "winning" : "window", p->api >> 8, p->api & 0xff);
  }
  p->n_sectors = winning ? 1 : o->n_sectors ? o->n_sectors : p->circuit->sectors;
  if (winning && o->n_sectors > 1) return cuzk_fail(d, CUZK_E_ARG, "a winning PoSt is of one sector, not of %u", o->n_sectors);
  if (o->sector_number > (uint64_t)INT64_MAX - (p->n_sectors - 1)) {
    return cuzk_fail(d, CUZK_E_ARG, "sector numbers %llu and up: the last is above 2^63 - 1", (unsigned long long)o->sector_number);
  }
  p->n_challenges = winning ? p->circuit->sectors : p->circuit->challenges;
  CUZK_VERIFY(p->n_challenges <= CUZK_WINNING_CHALLENGES);
  p->n_bytes = cuzk_post_vanilla_bytes(p->circuit);
  struct synth_draw draw;
  cuzk_fr randomness;
  synth_draw_init(&draw, kind, o, o->sector_number, p->api);
  synth_draw_element(&randomness, &draw, SYNTH_RANDOMNESS, 0, 0);
  cuzk_fr_to_le(p->randomness, &randomness);
  enum cuzk_status st = cuzk_poseidon_get(&p->hash2, 2, CUZK_POSEIDON_MERKLE);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "Poseidon constants: %s", cuzk_status_text(st));
}

enum cuzk_status cuzk_synth_post(enum cuzk_kind kind, const struct cuzk_synth *o, struct cuzk_pool *pool, cuzk_synth_file_fn *file,
                                 void *user, struct cuzk_detail *d) {
  const char *prefix = kind == CUZK_KIND_WINNING ? "winning" : "window";
  struct post *p = cuzk_calloc(1, sizeof *p);
  enum cuzk_status st;
  if (!p) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %s PoSt", prefix);
  CUZK_TRY(set_up(p, kind, o, d));
  p->records = cuzk_malloc_array(BATCH, p->n_bytes);
  p->comm_r = cuzk_malloc_array(p->n_sectors, sizeof *p->comm_r);
  p->leaves = cuzk_malloc_array(p->n_sectors, p->n_challenges * sizeof *p->leaves);
  if (!p->records || !p->comm_r || !p->leaves) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu sectors", p->n_sectors);
    goto out;
  }
  for (p->first = 0; p->first < p->n_sectors; p->first += BATCH) {
    const size_t n = p->n_sectors - p->first < BATCH ? p->n_sectors - p->first : BATCH;
    cuzk_pool_run(pool, make_sector, p, n);
    for (size_t i = 0; i < n; i++) {
      char name[48];
      if (p->status[i] != CUZK_OK) {
        st = cuzk_fail(d, p->status[i], "%s", p->details[i].text);
        goto out;
      }
      (void)snprintf(name, sizeof name, "%s-%llu.vanilla.bin", prefix, (unsigned long long)(o->sector_number + p->first + i));
      CUZK_TRY(file(user, name, p->records + i * p->n_bytes, p->n_bytes, d));
    }
  }
  st = write_meta(p, prefix, file, user, d);
out:
  cuzk_free(p->records);
  cuzk_free(p->comm_r);
  cuzk_free(p->leaves);
  cuzk_free(p);
  return st;
}
