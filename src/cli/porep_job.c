/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cli/porep_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum cuzk_status porep_job_open(struct porep_job *job, struct cli *c) {
  uint64_t k;
  const uint64_t t = cli_now_ns();
  enum cuzk_status st = cuzk_c1_load(&job->c1, c->opt[OPT_C1], &c->detail);
  if (st != CUZK_OK) return st;
  job->read_s = cli_seconds_since(t);
  if (c->opt[OPT_MINER] || c->opt[OPT_SECTOR]) {
    uint64_t miner, sector;
    if (!c->opt[OPT_MINER] || !c->opt[OPT_SECTOR])
      return cuzk_fail(&c->detail, CUZK_E_USAGE, "--miner and --sector go together");
    st = cli_number(c, OPT_MINER, 0, UINT64_MAX / 2, 0, &miner);
    if (st == CUZK_OK) st = cli_number(c, OPT_SECTOR, 0, UINT64_MAX / 2, 0, &sector);
    if (st == CUZK_OK) st = cuzk_c1_check_identity(job->c1, miner, sector, &c->detail);
    if (st != CUZK_OK) return st;
  }
  const unsigned n = job->c1->n_partitions;
  st = cli_number(c, OPT_PARTITION, 0, n - 1, 0, &k);
  if (st != CUZK_OK) return st;
  job->first = (unsigned)k;
  job->count = c->opt[OPT_PARTITION] ? 1 : n;
  return CUZK_OK;
}

enum cuzk_status porep_cache_path(char *out, size_t n, const struct cuzk_circuit *circuit, struct cuzk_detail *d) {
  char id[200];
  const char *folder = getenv("FIL_PROOFS_PARAMETER_CACHE");
  cuzk_circuit_parameter_id(id, circuit);
  if (!folder || !folder[0]) folder = "/var/tmp/filecoin-proof-parameters";
  if ((size_t)snprintf(out, n, "%s/v28-%s.params", folder, id) >= n)
    return cuzk_fail(d, CUZK_E_ARG, "the parameter cache's path is too long");
  return CUZK_OK;
}

enum cuzk_status porep_job_rows(struct porep_job *job, unsigned log2_n, struct cuzk_detail *d) {
  job->abc_bytes = sizeof(cuzk_fr) << log2_n;
  for (int i = 0; i < 3; i++) {
    job->abc[i] = cuzk_big_alloc(job->abc_bytes);
    if (!job->abc[i])
      return cuzk_fail(d, CUZK_E_NOMEM, "%s for the values of the constraints", cli_text_bytes(3 * (uint64_t)job->abc_bytes));
  }
  return CUZK_OK;
}

enum cuzk_status porep_job_prepare(struct porep_job *job, struct cli *c) {
  char path[4096];
  const struct cuzk_circuit *circuit = job->c1->circuit;
  const struct cuzk_system system = cuzk_circuit_system(circuit);
  enum cuzk_status st;

  /* the parameters' lengths first: a wrong file is found before any work is done */
  uint64_t t = cli_now_ns();
  const char *file = c->opt[OPT_PARAMS];
  if (!file) {
    CUZK_TRY(porep_cache_path(path, sizeof path, circuit, &c->detail));
    file = path;
  }
  CUZK_TRY(cuzk_params_open(&job->params, file, &c->detail));
  job->params_s = cli_seconds_since(t);

  t = cli_now_ns();
  (void)cuzk_progress(&c->progress, "check inputs", 0, 1, "files");
  CUZK_TRY(cuzk_c1_check(job->c1, c->pool, &c->detail));
  job->check_s = cli_seconds_since(t);

  t = cli_now_ns();
  if (!cuzk_progress(&c->progress, "count circuit", 0, 1, "circuits")) return CUZK_E_CANCELLED;
  CUZK_TRY(cuzk_shape_of(&job->shape, &system, &c->detail));
  CUZK_TRY(cuzk_params_match(job->params, &job->shape, &c->detail));
  job->shape_s = cli_seconds_since(t);
  CUZK_TRY(porep_job_rows(job, cuzk_shape_log2_domain(&job->shape), &c->detail));
  cli_meter_end(c);
out:
  return st;
}

enum cuzk_status porep_job_prove(struct porep_job *job, struct cli *c, unsigned partition, const cuzk_fr *r, const cuzk_fr *s,
                                 struct cuzk_proof *proof, cuzk_fr *u, struct porep_times *times) {
  struct cuzk_assignment z = {0};
  const struct cuzk_circuit *circuit = job->c1->circuit;
  const size_t n_rows = (size_t)job->shape.n_rows, n_public = circuit->n_inputs - 1;
  uint64_t bad_row;
  char region[512];
  enum cuzk_status st;

  const uint64_t start = cli_now_ns();
  const double cpu = cli_cpu_seconds();
  (void)cuzk_progress(&c->progress, "synthesis", 0, 1, "partitions");
  /* the last partition's transforms have left values behind the rows */
  for (int i = 0; i < 3; i++) memset(job->abc[i] + n_rows, 0, job->abc_bytes - n_rows * sizeof(cuzk_fr));
  CUZK_TRY(cuzk_circuit_assign(circuit, &job->c1->partitions[partition], &z, job->abc, true, &bad_row, region, &c->progress,
                               &c->detail));
  if (bad_row != UINT64_MAX) {
    st = cuzk_fail(&c->detail, CUZK_E_UNSAT, "partition %u: constraint %llu in %s does not hold", partition,
                   (unsigned long long)bad_row, region);
    goto out;
  }
  /* the verifier derives the public inputs from the challenges: another value would make a proof that nobody accepts */
  CUZK_TRY(cuzk_c1_public_inputs(u, job->c1, partition, &c->detail));
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

void porep_job_close(struct porep_job *job) {
  for (int i = 0; i < 3; i++)
    if (job->abc[i]) cuzk_big_free(job->abc[i], job->abc_bytes);
  cuzk_params_close(&job->params);
  cuzk_shape_clear(&job->shape);
  cuzk_c1_free(&job->c1);
  *job = (struct porep_job){0};
}

json_t *porep_times_json(unsigned partition, const struct porep_times *t) {
  const struct cuzk_prove_times *p = &t->prove;
  return json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "partition", (int)partition, "synthesis_s",
                   t->synthesis, "h_poly_s", p->h_poly, "msm_h_s", p->msm_h, "msm_l_s", p->msm_l, "msm_a_s", p->msm_a,
                   "msm_b_g1_s", p->msm_b_g1, "msm_b_g2_s", p->msm_b_g2, "finish_s", p->finish, "verify_s", p->verify, "wall_s",
                   t->wall, "cpu_s", t->cpu);
}
