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
    if (c->opt[OPT_META] || c->n_list)
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
  if (vanilla.n && c->n_list) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "%s holds vanilla proofs, --vanilla names others", c->opt[OPT_META]);
    goto out;
  }
  if (witness && !vanilla.n && !c->n_list) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "--vanilla FILE... is needed: the vanilla proofs of %s", kind->title);
    goto out;
  }
  for (unsigned i = 0; i < c->n_list; i++) CUZK_TRY(cuzk_blobs_add_file(&vanilla, c->list[i], &c->detail));
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
  unsigned device;
  enum cuzk_status st;

  CUZK_TRY(cuzk_device_find(&job->ops, &device, c->opt[OPT_DEVICE] ? c->opt[OPT_DEVICE] : "auto", &c->detail));
  /* the parameters' lengths first: a wrong file is found before any work is done */
  uint64_t t = cli_now_ns();
  CUZK_TRY(open_params(job, c));
  job->params_s = cli_seconds_since(t);

  t = cli_now_ns();
  (void)cuzk_progress(&c->progress, "check inputs", 0, 1, "files");
  CUZK_TRY(cuzk_inputs_check(job->in, c->pool, &c->detail));
  job->check_s = cli_seconds_since(t);

  t = cli_now_ns();
  CUZK_TRY(cuzk_circuit_compile(&job->compact, circuit, c->pool, &c->progress, &c->detail));
  CUZK_TRY(cuzk_compact_shape(&job->shape, job->compact, &c->detail));
  CUZK_TRY(cuzk_params_match(job->params, &job->shape, &c->detail));
  job->shape_s = cli_seconds_since(t);

  t = cli_now_ns();
  CUZK_TRY(job->ops->open(&job->dev, device, c->pool, 0, &c->detail));
  CUZK_TRY(job->ops->key_create(&job->key, job->dev, job->params, job->compact, &job->shape, &c->progress, &c->detail));
  job->device_s = cli_seconds_since(t);
  cli_meter_end(c);
out:
  return st;
}

/* The witness, its public inputs compared with those that a verifier derives from the challenges: others would make a proof that nobody
 * accepts. */
static enum cuzk_status synthesise(struct job *job, struct cli *c, unsigned partition, struct cuzk_packed *z, cuzk_fr *u) {
  const struct cuzk_circuit *circuit = job->in->circuit;
  enum cuzk_status st;
  CUZK_TRY(cuzk_circuit_assign_packed(circuit, cuzk_inputs_witness(job->in, partition), z, c->pool, &c->progress, &c->detail));
  CUZK_TRY(cuzk_inputs_public(u, job->in, partition, &c->detail));
  for (size_t i = 0; i + 1 < circuit->n_inputs; i++) {
    if (cuzk_fr_eq(&u[i], &z->inputs[1 + i])) continue;
    st = cuzk_fail(&c->detail, CUZK_E_MISMATCH, "partition %u: public input %zu is not what the verifier derives", partition, i);
    break;
  }
out:
  return st;
}

static void take_times(struct job_times *times, const struct cuzk_work_times *t) {
  times->rows = 1e-3 * t->rows;
  times->prove = (struct cuzk_prove_times){.h_poly = 1e-3 * t->transforms,
                                           .msm_h = 1e-3 * t->h,
                                           .msm_l = 1e-3 * t->l,
                                           .msm_a = 1e-3 * t->a,
                                           .msm_b_g1 = 1e-3 * t->b_g1,
                                           .msm_b_g2 = 1e-3 * t->b_g2,
                                           .finish = 1e-3 * t->finish};
}

enum cuzk_status job_prove(struct job *job, struct cli *c, unsigned partition, const cuzk_fr *r, const cuzk_fr *s,
                                 struct cuzk_proof *proof, cuzk_fr *u, struct job_times *times) {
  struct cuzk_packed z = {0};
  struct cuzk_device_work *work = NULL;
  struct cuzk_work_times t = {0};
  enum cuzk_status st;

  const uint64_t start = cli_now_ns();
  const double cpu = cli_cpu_seconds();
  (void)cuzk_progress(&c->progress, "synthesis", 0, 1, "partitions");
  CUZK_TRY(synthesise(job, c, partition, &z, u));
  cli_meter_end(c);
  times->synthesis = cli_seconds_since(start);
  CUZK_TRY(job->ops->start(&work, job->key, &z, &c->detail));
  if (job->ops->watch) job->ops->watch(work, &c->progress);
  st = job->ops->kernels(work, cli_stop(), &c->detail);
  if (st == CUZK_E_UNSAT) {
    const struct cuzk_detail why = c->detail;
    (void)cuzk_fail(&c->detail, st, "partition %u: %s", partition, why.text);
  }
  if (st != CUZK_OK) goto out;
  CUZK_TRY(job->ops->finish(&work, r, s, proof, &t, &c->detail));
  take_times(times, &t);
  const uint64_t verify = cli_now_ns();
  CUZK_TRY(cuzk_groth16_check(&job->params->vk, proof, u, job->in->circuit->n_inputs - 1, &c->progress, &c->detail));
  times->prove.verify = cli_seconds_since(verify);
  cli_meter_end(c);
  times->wall = cli_seconds_since(start);
  times->cpu = cli_cpu_seconds() - cpu;
out:
  if (work) job->ops->abort(&work);
  cuzk_packed_clear(&z);
  return st;
}

void job_close(struct job *job) {
  if (job->key) job->ops->key_destroy(&job->key);
  if (job->dev) job->ops->close(&job->dev);
  cuzk_compact_destroy(&job->compact);
  cuzk_params_close(&job->params);
  cuzk_shape_clear(&job->shape);
  cuzk_inputs_close(&job->in);
  *job = (struct job){0};
}

json_t *job_times_json(unsigned partition, const struct job_times *t) {
  const struct cuzk_prove_times *p = &t->prove;
  return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "partition", (int)partition, "synthesis_s",
                   t->synthesis, "rows_s", t->rows, "h_poly_s", p->h_poly, "msm_h_s", p->msm_h, "msm_l_s", p->msm_l, "msm_a_s", p->msm_a,
                   "msm_b_g1_s", p->msm_b_g1, "msm_b_g2_s", p->msm_b_g2, "finish_s", p->finish, "verify_s", p->verify, "wall_s",
                   t->wall, "cpu_s", t->cpu);
}
