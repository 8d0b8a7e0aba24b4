/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk prove KIND */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/job.h"

/* Blinding values of one partition: from the list if it reaches that far, else fresh ones. */
static enum cuzk_status take_randomness(struct cli *c, const json_t *given, unsigned k, cuzk_fr rs[2]) {
  const json_t *entry = json_is_array(given) ? json_array_get(given, k) : k == 0 ? given : NULL;
  if (!entry) {
    enum cuzk_status st = cuzk_fr_random(&rs[0]);
    if (st == CUZK_OK) st = cuzk_fr_random(&rs[1]);
    return st == CUZK_OK ? st : cuzk_fail(&c->detail, st, "the operating system gives no randomness");
  }
  enum cuzk_status st = cli_fr_member(&rs[0], entry, "r_le", c->opt[OPT_RANDOMNESS], &c->detail);
  return st == CUZK_OK ? cli_fr_member(&rs[1], entry, "s_le", c->opt[OPT_RANDOMNESS], &c->detail) : st;
}

/* What a .proof.json holds. r and s stand in it only if they were given: whoever knows them can look behind the proof. */
static json_t *proof_json(const struct job *job, const uint8_t *bytes, const cuzk_fr *u, const cuzk_fr *known) {
  char vk[64];
  json_t *inputs = json_array();
  for (size_t i = 0; i + 1 < job->in->circuit->n_inputs; i++) (void)json_array_append_new(inputs, cli_fr_hex(&u[i]));
  (void)snprintf(vk, sizeof vk, "%s.vk", job->in->circuit->name);
  json_t *o = json_pack("{s:o, s:o, s:s}", "proof", cli_hex(bytes, CUZK_PROOF_BYTES), "public_inputs_le", inputs,
                        "verifying_key", vk);
  if (o && known) {
    (void)json_object_set_new(o, "r_le", cli_fr_hex(&known[0]));
    (void)json_object_set_new(o, "s_le", cli_fr_hex(&known[1]));
  }
  return o;
}

static enum cuzk_status write_proofs(struct cli *c, const uint8_t *bytes, unsigned count, json_t *proofs) {
  const char *path = c->opt[OPT_OUT];
  if (!c->json) return cuzk_file_write(path, bytes, (size_t)count * CUZK_PROOF_BYTES, &c->detail);
  char *text = json_dumps(count == 1 ? json_array_get(proofs, 0) : proofs, JSON_SORT_KEYS | JSON_COMPACT);
  enum cuzk_status st = text && !cli_json_starved() ? cuzk_file_write(path, text, strlen(text), &c->detail)
                                                    : cuzk_fail(&c->detail, CUZK_E_NOMEM, "%s: the proof's JSON", path);
  cuzk_free(text);
  return st;
}

static void print_partition(unsigned k, const struct job_times *t) {
  const struct cuzk_prove_times *p = &t->prove;
  const struct {
    const char *name;
    double s;
  } part[] = {{"synthesis", t->synthesis}, {"rows", t->rows}, {"h", p->h_poly}, {"sum h", p->msm_h},   {"sum l", p->msm_l}, {"sum a", p->msm_a},
              {"sum b_g1", p->msm_b_g1},   {"sum b_g2", p->msm_b_g2}, {"finish", p->finish}, {"check", p->verify}};
  fprintf(stderr, "partition %u: %s (%s of CPU):", k, cli_text_seconds(t->wall), cli_text_seconds(t->cpu));
  for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
    fprintf(stderr, "%s %s %s", i ? "," : "", part[i].name, cli_text_seconds(part[i].s));
  fprintf(stderr, "\n");
}

enum cuzk_status cli_prove(struct cli *c) {
  struct job job = {0};
  struct cuzk_pvk *pvk = NULL;
  json_t *given = NULL, *proofs = json_array(), *times_list = json_array();
  struct cuzk_proof *proof = NULL;
  uint8_t *bytes = NULL;
  cuzk_fr *u = NULL, rs[2];
  const uint64_t start = cli_now_ns();
  const double cpu = cli_cpu_seconds();
  const char *const inputs[] = {c->opt[OPT_C1], c->opt[OPT_META], c->opt[OPT_PARAMS], c->opt[OPT_RANDOMNESS]};
  enum cuzk_status st;

  CUZK_TRY(cli_check_out(c->opt[OPT_OUT], inputs, sizeof inputs / sizeof inputs[0], &c->detail));
  CUZK_TRY(cli_check_out(c->opt[OPT_OUT], c->list, c->n_list, &c->detail));
  if (c->opt[OPT_RANDOMNESS]) {
    CUZK_TRY(cli_json_load(&given, c->opt[OPT_RANDOMNESS], &c->detail));
    if (json_is_array(given) && json_array_size(given) == 0) {
      st = cuzk_fail(&c->detail, CUZK_E_FORMAT, "%s: an empty list", c->opt[OPT_RANDOMNESS]);
      goto out;
    }
    CUZK_TRY(take_randomness(c, given, 0, rs));
  }
  CUZK_TRY(job_open(&job, c, cuzk_proof_kind_find(c->command->name), true));
  if (json_is_array(given) && json_array_size(given) > job.count) {
    st = cuzk_fail(&c->detail, CUZK_E_MISMATCH, "%s: values for %zu partitions, %u are proved", c->opt[OPT_RANDOMNESS],
                   json_array_size(given), job.count);
    goto out;
  }
  CUZK_TRY(job_prepare(&job, c));
  const size_t n_public = job.in->circuit->n_inputs - 1;
  proof = cuzk_calloc(job.count, sizeof *proof);
  bytes = cuzk_calloc(job.count, CUZK_PROOF_BYTES);
  u = cuzk_calloc(job.count * n_public, sizeof *u);
  if (!proof || !bytes || !u || !proofs || !times_list) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "%u proofs", job.count);
    goto out;
  }
  for (unsigned i = 0; i < job.count; i++) {
    struct job_times t = {0};
    const bool known = given && (json_is_array(given) ? i < json_array_size(given) : i == 0);
    CUZK_TRY(take_randomness(c, given, i, rs));
    CUZK_TRY(job_prove(&job, c, job.first + i, &rs[0], &rs[1], &proof[i], u + i * n_public, &t));
    cuzk_proof_write(bytes + (size_t)i * CUZK_PROOF_BYTES, &proof[i]);
    if (!c->json && !c->quiet) print_partition(job.first + i, &t);
    (void)json_array_append_new(times_list, job_times_json(job.first + i, &t));
    (void)json_array_append_new(proofs, proof_json(&job, bytes + (size_t)i * CUZK_PROOF_BYTES, u + i * n_public,
                                                   known ? rs : NULL));
  }
  if (json_array_size(proofs) != job.count) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "%u proofs", job.count);
    goto out;
  }
  /* what is handed out is what was checked: the bytes, read back */
  const uint64_t t_verify = cli_now_ns();
  bool ok = false;
  for (unsigned i = 0; i < job.count; i++)
    CUZK_TRY(cuzk_proof_read(&proof[i], bytes + (size_t)i * CUZK_PROOF_BYTES, &c->detail));
  CUZK_TRY(cuzk_pvk_create(&pvk, &job.params->vk));
  CUZK_TRY(cuzk_groth16_verify_batch(&ok, pvk, proof, job.count, u, n_public, c->pool, &c->detail));
  if (!ok) {
    st = cuzk_fail(&c->detail, CUZK_E_INTERNAL, "the finished proofs do not verify: nothing is written");
    goto out;
  }
  const double verify_s = cli_seconds_since(t_verify);
  CUZK_TRY(write_proofs(c, bytes, job.count, proofs));
  const double wall = cli_seconds_since(start), spent = cli_cpu_seconds() - cpu;
  if (c->json) {
    st = cli_print_json(
        c, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "circuit",
                     job.in->circuit->name, "device", job.ops->name, "out", c->opt[OPT_OUT], "first_partition", (int)job.first, "partitions",
                     (int)job.count, "threads", (int)cuzk_pool_workers(c->pool), "times", json_incref(times_list), "proof",
                     cli_hex(bytes, (size_t)job.count * CUZK_PROOF_BYTES), "read_s", job.read_s, "check_s", job.check_s,
                     "shape_s", job.shape_s, "params_s", job.params_s, "device_s", job.device_s, "verify_s", verify_s, "wall_s", wall, "cpu_s", spent,
                     "peak_anon_bytes", (json_int_t)c->meter.peak_anon_bytes));
    goto out;
  }
  cli_note(c, "inputs %s read, %s checked; circuit compiled in %s; parameters opened in %s; proofs verified in %s",
           cli_text_seconds(job.read_s), cli_text_seconds(job.check_s), cli_text_seconds(job.shape_s),
           cli_text_seconds(job.params_s), cli_text_seconds(verify_s));
  cli_note(c, "total %s, %s of CPU on %u threads, at most %s of anonymous memory", cli_text_seconds(wall),
           cli_text_seconds(spent), cuzk_pool_workers(c->pool), cli_text_bytes(c->meter.peak_anon_bytes));
  printf("%u proof%s of %s written to %s\n", job.count, job.count == 1 ? "" : "s", job.in->circuit->name, c->opt[OPT_OUT]);
out:
  cuzk_secret_clear(rs, sizeof rs);
  json_decref(given);
  json_decref(proofs);
  json_decref(times_list);
  cuzk_pvk_destroy(&pvk);
  cuzk_free(proof);
  cuzk_free(bytes);
  cuzk_free(u);
  job_close(&job);
  return st;
}
