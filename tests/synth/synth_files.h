/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Collects what the generator of synthetic sectors writes, and opens it the way the program does. */
#ifndef CUZK_TESTS_SYNTH_FILES_H
#define CUZK_TESTS_SYNTH_FILES_H
#include "testing.h"

#include "inputs/kinds.h"
#include "inputs/statement.h"
#include "synth/synth.h"

static struct cuzk_detail d;

static void ok(enum cuzk_status st) {
  if (st != CUZK_OK) fail_msg("%s: %s", cuzk_status_name(st), d.text);
}

/* The files of one run: records in order, then the meta file. */
struct files {
  struct cuzk_blobs records;
  struct cuzk_statement meta;
  bool has_meta;
  char first[64], last[64]; /* names of the first and last record */
};

static enum cuzk_status collect(void *user, const char *name, const void *p, size_t n, struct cuzk_detail *detail) {
  struct files *f = user;
  if (f->has_meta) return CUZK_E_INTERNAL; /* nothing follows the meta file */
  if (strstr(name, ".meta.json")) {
    f->has_meta = true;
    return cuzk_statement_read(&f->meta, &f->records, p, n, name, detail);
  }
  (void)snprintf(f->records.n ? f->last : f->first, sizeof f->last, "%s", name);
  return cuzk_blobs_add(&f->records, p, n, name, detail);
}

static void files_clear(struct files *f) {
  cuzk_blobs_clear(&f->records);
  cuzk_statement_clear(&f->meta);
  memset(f, 0, sizeof *f);
}

static enum cuzk_status generate(enum cuzk_kind kind, const struct cuzk_synth *o, struct cuzk_pool *pool, struct files *f) {
  return kind == CUZK_KIND_UPDATE ? cuzk_synth_update(o, pool, collect, f, &d) : cuzk_synth_post(kind, o, pool, collect, f, &d);
}

static struct cuzk_inputs *open_files(enum cuzk_kind kind, const struct files *f) {
  const struct cuzk_input_source from = {.statement = &f->meta, .vanilla = &f->records};
  struct cuzk_inputs *in;
  assert_true(f->has_meta);
  ok(cuzk_inputs_open(&in, cuzk_proof_kind_of(kind), &from, &d));
  return in;
}

static struct cuzk_synth plain(uint64_t sector_bytes, uint64_t seed) {
  return (struct cuzk_synth){.sector_bytes = sector_bytes, .seed = seed, .miner = 1000, .sector_number = 1, .partition = -1};
}

static const uint64_t all_sizes[] = {UINT64_C(2) << 10, UINT64_C(4) << 10,   UINT64_C(16) << 10, UINT64_C(32) << 10,
                                     UINT64_C(8) << 20, UINT64_C(512) << 20, UINT64_C(32) << 30, UINT64_C(64) << 30};
#endif
