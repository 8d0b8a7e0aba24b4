/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk verify KIND */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/job.h"

/* A proof file's content: raw bytes, and the public inputs where the file states them. */
struct proof_file {
  uint8_t *bytes;
  size_t count;
  json_t *json; /* NULL for a raw file; else the array of objects */
};

static void proof_file_clear(struct proof_file *f) {
  cuzk_free(f->bytes);
  json_decref(f->json);
  *f = (struct proof_file){0};
}

static enum cuzk_status read_json_proofs(struct proof_file *f, const char *path, struct cuzk_detail *d) {
  json_t *v;
  enum cuzk_status st = cli_json_load(&v, path, d);
  if (st != CUZK_OK) return st;
  if (json_is_array(v)) {
    f->json = v;
  } else {
    f->json = json_array();
    if (json_array_append_new(f->json, v) != 0) return cuzk_fail(d, CUZK_E_NOMEM, "%s", path);
  }
  f->count = json_array_size(f->json);
  f->bytes = cuzk_calloc(f->count + 1, CUZK_PROOF_BYTES);
  if (!f->bytes) return cuzk_fail(d, CUZK_E_NOMEM, "%s: %zu proofs", path, f->count);
  for (size_t i = 0; i < f->count; i++) {
    const json_t *p = json_object_get(json_array_get(f->json, i), "proof");
    if (!json_is_string(p)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: proof %zu: member proof is missing or no string", path, i);
    if (!cuzk_hex_decode(f->bytes + i * CUZK_PROOF_BYTES, CUZK_PROOF_BYTES, json_string_value(p), json_string_length(p), NULL))
      return cuzk_fail(d, CUZK_E_FORMAT, "%s: proof %zu: %d hexadecimal digits expected", path, i, 2 * CUZK_PROOF_BYTES);
  }
  return CUZK_OK;
}

/* JSON is plain text that starts with a brace or bracket; 192 bytes of a proof, even a damaged one, never look like that. */
static bool looks_like_json(const uint8_t *p, size_t n) {
  size_t start = 0;
  for (size_t i = 0; i < n; i++) {
    const bool blank = p[i] == ' ' || (p[i] >= 9 && p[i] <= 13);
    if (!blank && (p[i] < 32 || p[i] > 126)) return false;
    if (blank && start == i) start++;
  }
  return start < n && (p[start] == '{' || p[start] == '[');
}

static enum cuzk_status read_proofs(struct proof_file *f, const char *path, struct cuzk_detail *d) {
  struct cuzk_file raw = {0};
  enum cuzk_status st = cuzk_file_read(&raw, path, UINT64_C(64) << 20, d);
  if (st != CUZK_OK) return st;
  if (looks_like_json(raw.data, raw.n)) {
    cuzk_file_clear(&raw);
    return read_json_proofs(f, path, d);
  }
  if (raw.n % CUZK_PROOF_BYTES != 0) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: %zu bytes; a multiple of %d expected", path, raw.n, CUZK_PROOF_BYTES);
  } else {
    f->count = raw.n / CUZK_PROOF_BYTES;
    f->bytes = cuzk_malloc(raw.n);
    if (f->bytes)
      memcpy(f->bytes, raw.data, raw.n);
    else
      st = cuzk_fail(d, CUZK_E_NOMEM, "%s", path);
  }
  cuzk_file_clear(&raw);
  return st;
}

/* Do the public inputs that the file states equal u[n]? Nothing stated is no contradiction. */
static enum cuzk_status same_inputs(bool *same, const json_t *entry, const cuzk_fr *u, size_t n, const char *path,
                                    struct cuzk_detail *d) {
  *same = true;
  const json_t *list = json_object_get(entry, "public_inputs_le");
  if (!list) return CUZK_OK;
  if (!json_is_array(list)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: public_inputs_le: a list expected", path);
  if (json_array_size(list) != n) *same = false;
  for (size_t i = 0; i < n && *same; i++) {
    uint8_t want[32], have[32];
    const json_t *s = json_array_get(list, i);
    if (!json_is_string(s) || !cuzk_hex_decode(have, 32, json_string_value(s), json_string_length(s), NULL))
      return cuzk_fail(d, CUZK_E_FORMAT, "%s: public_inputs_le[%zu]: 64 hexadecimal digits expected", path, i);
    cuzk_fr_to_le(want, &u[i]);
    *same = memcmp(want, have, 32) == 0;
  }
  return CUZK_OK;
}

static bool is_answer(enum cuzk_status st) {
  return st == CUZK_E_FORMAT || st == CUZK_E_NOT_CURVE || st == CUZK_E_NOT_GROUP || st == CUZK_E_INFINITY;
}

/* The answer: valid, or the first reason why not. */
static enum cuzk_status answer(struct cli *c, const struct job *job, bool ok, unsigned partition, const char *reason,
                               double seconds) {
  c->no = !ok;
  if (c->json) {
    json_t *o = json_pack("{s:s, s:b, s:i, s:i, s:f}", "circuit", job->in->circuit->name, "valid", ok, "first_partition",
                          (int)job->first, "partitions", (int)job->count, "verify_s", seconds);
    if (o && !ok) {
      (void)json_object_set_new(o, "invalid_partition", json_integer(partition));
      (void)json_object_set_new(o, "reason", json_string(reason));
    }
    return cli_print_json(c, o);
  }
  if (ok)
    printf("valid: %u proof%s of %s\n", job->count, job->count == 1 ? "" : "s", job->in->circuit->name);
  else
    printf("INVALID: partition %u: %s\n", partition, reason);
  cli_note(c, "verified in %s", cli_text_seconds(seconds));
  return CUZK_OK;
}

enum cuzk_status cli_verify(struct cli *c) {
  struct job job = {0};
  struct cuzk_vk vk = {0};
  struct cuzk_pvk *pvk = NULL;
  struct proof_file file = {0};
  struct cuzk_proof *proof = NULL;
  cuzk_fr *u = NULL;
  const char *path = c->opt[OPT_PROOF];
  enum cuzk_status st;

  CUZK_TRY(job_open(&job, c, cuzk_proof_kind_find(c->command->name), false));
  CUZK_TRY(cuzk_vk_load(&vk, c->opt[OPT_VK], &c->detail));
  CUZK_TRY(read_proofs(&file, path, &c->detail));
  const size_t n_public = job.in->circuit->n_inputs - 1;
  /* with --partition K either the proof of K alone or the file of all partitions will do */
  const bool whole = file.count == job.in->n_partitions && job.count != file.count;
  if (file.count != job.count && !whole) {
    st = cuzk_fail(&c->detail, CUZK_E_MISMATCH, "%s: %zu proofs, %u partition%s to verify%s", path, file.count, job.count,
                   job.count == 1 ? "" : "s", file.count == 1 ? " (--partition K picks one)" : "");
    goto out;
  }
  const size_t skip = whole ? job.first : 0;
  const uint64_t start = cli_now_ns();
  proof = cuzk_calloc(job.count, sizeof *proof);
  u = cuzk_calloc(job.count * n_public, sizeof *u);
  if (!proof || !u) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "%u proofs", job.count);
    goto out;
  }
  CUZK_TRY(cuzk_pvk_create(&pvk, &vk));
  for (unsigned i = 0; i < job.count; i++) {
    struct cuzk_detail why = {{0}};
    bool same = true;
    cuzk_fr *ui = u + i * n_public;
    CUZK_TRY(cuzk_inputs_public(ui, job.in, job.first + i, &c->detail));
    if (file.json) CUZK_TRY(same_inputs(&same, json_array_get(file.json, skip + i), ui, n_public, path, &c->detail));
    if (!same) {
      st = answer(c, &job, false, job.first + i, "the public inputs stated with the proof are not those that follow from the inputs",
                  cli_seconds_since(start));
      goto out;
    }
    st = cuzk_proof_read(&proof[i], file.bytes + (skip + i) * CUZK_PROOF_BYTES, &why);
    if (is_answer(st)) {
      char reason[sizeof why.text + 64];
      (void)snprintf(reason, sizeof reason, "%s (%s)", why.text[0] ? why.text : cuzk_status_text(st), cuzk_status_name(st));
      st = answer(c, &job, false, job.first + i, reason, cli_seconds_since(start));
      goto out;
    }
    if (st != CUZK_OK) {
      c->detail = why;
      goto out;
    }
  }
  bool ok = false;
  CUZK_TRY(cuzk_groth16_verify_batch(&ok, pvk, proof, job.count, u, n_public, c->pool, &c->detail));
  unsigned bad = 0;
  if (!ok && job.count > 1) {
    /* the batch does not say which */
    bool one = true;
    for (unsigned i = 0; i < job.count && one; i++) {
      CUZK_TRY(cuzk_groth16_verify(&one, pvk, &proof[i], u + i * n_public, n_public, &c->detail));
      bad = i;
    }
  }
  st = answer(c, &job, ok, job.first + bad, "the proof does not hold for the public inputs", cli_seconds_since(start));
out:
  cuzk_free(proof);
  cuzk_free(u);
  cuzk_pvk_destroy(&pvk);
  cuzk_vk_clear(&vk);
  proof_file_clear(&file);
  job_close(&job);
  return st;
}
