/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cli/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "groth16/param_files.h"

/* Options that belong to the other sort of inputs are refused, those that are needed asked for. */
static enum cuzk_status check_options(struct cli *c, const struct cuzk_proof_kind *kind) {
  char at[64];
  (void)snprintf(at, sizeof at, "%s %s%s%s", c->command->group, c->command->name, c->n_args ? " " : "", c->n_args ? c->arg[0] : "");
  if (kind->takes_c1) {
    if (c->opt[OPT_META] || c->n_vanilla)
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "--meta and --vanilla are not for %s, which takes --c1 FILE", kind->title);
    if (!c->opt[OPT_C1]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "cuzk %s needs --c1 FILE", at);
    return CUZK_OK;
  }
  if (c->opt[OPT_C1]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "--c1 is not for %s, which takes --meta and --vanilla", kind->title);
  if (!c->opt[OPT_META]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "cuzk %s needs --meta META", at);
  return CUZK_OK;
}

static enum cuzk_status open_c1(struct job *job, struct cli *c, const struct cuzk_proof_kind *kind) {
  const struct cuzk_input_source from = {.c1_path = c->opt[OPT_C1]};
  uint64_t miner, sector;
  enum cuzk_status st;
  if (!c->opt[OPT_MINER] != !c->opt[OPT_SECTOR]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "--miner and --sector go together");
  CUZK_TRY(cli_number(c, OPT_MINER, 0, UINT64_MAX / 2, 0, &miner));
  CUZK_TRY(cli_number(c, OPT_SECTOR, 0, UINT64_MAX / 2, 0, &sector));
  CUZK_TRY(cuzk_inputs_open(&job->in, kind, &from, &c->detail));
  if (c->opt[OPT_MINER]) st = cuzk_c1_check_identity(job->in->c1, miner, sector, &c->detail);
out:
  return st;
}

static enum cuzk_status open_statement(struct job *job, struct cli *c, const struct cuzk_proof_kind *kind, bool witness) {
  struct cuzk_statement statement = {0};
  struct cuzk_blobs vanilla = {0};
  enum cuzk_status st;
  CUZK_TRY(cuzk_statement_load(&statement, &vanilla, c->opt[OPT_META], &c->detail));
  if (vanilla.n && c->n_vanilla) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "%s holds vanilla proofs, --vanilla names others", c->opt[OPT_META]);
    goto out;
  }
  if (witness && !vanilla.n && !c->n_vanilla) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "--vanilla FILE... is needed: the vanilla proofs of %s", kind->title);
    goto out;
  }
  for (unsigned i = 0; i < c->n_vanilla; i++) CUZK_TRY(cuzk_blobs_add_file(&vanilla, c->vanilla[i], &c->detail));
  const struct cuzk_input_source from = {.statement = &statement, .vanilla = &vanilla};
  CUZK_TRY(cuzk_inputs_open(&job->in, kind, &from, &c->detail));
out:
  cuzk_statement_clear(&statement);
  cuzk_blobs_clear(&vanilla);
  return st;
}

enum cuzk_status job_open(struct job *job, struct cli *c, const struct cuzk_proof_kind *kind, bool witness) {
  uint64_t k;
  const uint64_t t = cli_now_ns();
  enum cuzk_status st;
  CUZK_TRY(check_options(c, kind));
  CUZK_TRY(kind->takes_c1 ? open_c1(job, c, kind) : open_statement(job, c, kind, witness));
  job->read_s = cli_seconds_since(t);
  const unsigned n = job->in->n_partitions;
  CUZK_TRY(cli_number(c, OPT_PARTITION, 0, n - 1, 0, &k));
  job->first = (unsigned)k;
  job->count = c->opt[OPT_PARTITION] ? 1 : n;
out:
  return st;
}

enum cuzk_status job_rows(struct job *job, unsigned log2_n, struct cuzk_detail *d) {
  job->abc_bytes = sizeof(cuzk_fr) << log2_n;
  for (int i = 0; i < 3; i++) {
    job->abc[i] = cuzk_big_alloc(job->abc_bytes);
    if (!job->abc[i])
      return cuzk_fail(d, CUZK_E_NOMEM, "%s for the values of the constraints", cli_text_bytes(3 * (uint64_t)job->abc_bytes));
  }
  return CUZK_OK;
}

/* Opens --params, or the circuit's file in the parameter cache. */
static enum cuzk_status open_params(struct job *job, struct cli *c) {
  const struct cuzk_circuit *circuit = job->in->circuit;
  char id[200], *path;
  if (c->opt[OPT_PARAMS]) return cuzk_params_open(&job->params, c->opt[OPT_PARAMS], &c->detail);
  cuzk_proof_kind_of(circuit->kind)->parameter_id(id, circuit);
  enum cuzk_status st = cuzk_params_file_path(&path, NULL, id, "params");
  if (st != CUZK_OK) return st;
  st = cuzk_params_open(&job->params, path, &c->detail);
  cuzk_free(path);
  return st;
}

enum cuzk_status job_prepare(struct job *job, struct cli *c) {
  const struct cuzk_circuit *circuit = job->in->circuit;
  const struct cuzk_system system = cuzk_circuit_system(circuit);
  enum cuzk_status st;

  /* the parameters' lengths first: a wrong file is found before any work is done */
  uint64_t t = cli_now_ns();
  CUZK_TRY(open_params(job, c));
  job->params_s = cli_seconds_since(t);

  t = cli_now_ns();
  (void)cuzk_progress(&c->progress, "check inputs", 0, 1, "files");
  CUZK_TRY(cuzk_inputs_check(job->in, c->pool, &c->detail));
  job->check_s = cli_seconds_since(t);

  t = cli_now_ns();
  if (!cuzk_progress(&c->progress, "count circuit", 0, 1, "circuits")) return CUZK_E_CANCELLED;
  CUZK_TRY(cuzk_shape_of(&job->shape, &system, &c->detail));
  CUZK_TRY(cuzk_params_match(job->params, &job->shape, &c->detail));
  job->shape_s = cli_seconds_since(t);
  CUZK_TRY(job_rows(job, cuzk_shape_log2_domain(&job->shape), &c->detail));
  cli_meter_end(c);
out:
  return st;
}

enum cuzk_status job_prove(struct job *job, struct cli *c, unsigned partition, const cuzk_fr *r, const cuzk_fr *s,
                                 struct cuzk_proof *proof, cuzk_fr *u, struct job_times *times) {
  struct cuzk_assignment z = {0};
  const struct cuzk_circuit *circuit = job->in->circuit;
  const size_t n_rows = (size_t)job->shape.n_rows, n_public = circuit->n_inputs - 1;
  uint64_t bad_row;
  char region[512];
  enum cuzk_status st;

  const uint64_t start = cli_now_ns();
  const double cpu = cli_cpu_seconds();
  (void)cuzk_progress(&c->progress, "synthesis", 0, 1, "partitions");
  /* the last partition's transforms have left values behind the rows */
  for (int i = 0; i < 3; i++) memset(job->abc[i] + n_rows, 0, job->abc_bytes - n_rows * sizeof(cuzk_fr));
  CUZK_TRY(cuzk_circuit_assign(circuit, cuzk_inputs_witness(job->in, partition), &z, job->abc, true, &bad_row, region, &c->progress,
                               &c->detail));
  if (bad_row != UINT64_MAX) {
    st = cuzk_fail(&c->detail, CUZK_E_UNSAT, "partition %u: constraint %llu in %s does not hold", partition,
                   (unsigned long long)bad_row, region);
    goto out;
  }
  /* the verifier derives the public inputs from the challenges: another value would make a proof that nobody accepts */
  CUZK_TRY(cuzk_inputs_public(u, job->in, partition, &c->detail));
  for (size_t i = 0; i < n_public; i++) {
    if (cuzk_fr_eq(&u[i], &z.inputs[1 + i])) continue;
    st = cuzk_fail(&c->detail, CUZK_E_MISMATCH, "partition %u: public input %zu is not what the verifier derives", partition, i);
    goto out;
  }
  cli_meter_end(c);
  times->synthesis = cli_seconds_since(start);
  CUZK_TRY(cuzk_groth16_prove(proof, job->params, &job->shape, &z, job->abc, r, s, c->pool, &c->progress, &times->prove,
                              &c->detail));
  cli_meter_end(c);
  times->wall = cli_seconds_since(start);
  times->cpu = cli_cpu_seconds() - cpu;
out:
  cuzk_assignment_clear(&z);
  return st;
}

void job_close(struct job *job) {
  for (int i = 0; i < 3; i++)
    if (job->abc[i]) cuzk_big_free(job->abc[i], job->abc_bytes);
  cuzk_params_close(&job->params);
  cuzk_shape_clear(&job->shape);
  cuzk_inputs_close(&job->in);
  *job = (struct job){0};
}

json_t *job_times_json(unsigned partition, const struct job_times *t) {
  const struct cuzk_prove_times *p = &t->prove;
  return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "partition", (int)partition, "synthesis_s",
                   t->synthesis, "h_poly_s", p->h_poly, "msm_h_s", p->msm_h, "msm_l_s", p->msm_l, "msm_a_s", p->msm_a,
                   "msm_b_g1_s", p->msm_b_g1, "msm_b_g2_s", p->msm_b_g2, "finish_s", p->finish, "verify_s", p->verify, "wall_s",
                   t->wall, "cpu_s", t->cpu);
}
