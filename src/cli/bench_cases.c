/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk bench arith | ntt | msm | pairing | prove */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/bench.h"
#include "cli/job.h"
#include "ec/pairing.h"
#include "ff/fp.h"
#include "ff/fp2.h"
#include "msm/msm.h"
#include "poly/ntt.h"

/* Inputs only have to be different and unpredictable to the branch predictor: splitmix64, so that each run has the same. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void random_fr(cuzk_fr *r, uint64_t *state) {
  uint8_t b[64];
  for (int i = 0; i < 8; i++) {
    const uint64_t v = next_random(state);
    memcpy(b + 8 * i, &v, 8);
  }
  cuzk_fr_from_le64_reduce(r, b);
}

static enum cuzk_status bench_init(struct bench *b, struct cli *c, const char *title, unsigned log2, unsigned runs,
                                   unsigned threads) {
  uint64_t v;
  *b = (struct bench){.c = c, .title = title, .threads = threads, .note = ""};
  enum cuzk_status st = cli_number(c, OPT_RUNS, 1, BENCH_MAX_RUNS, runs, &v);
  if (st != CUZK_OK) return st;
  b->runs = (unsigned)v;
  st = cli_number(c, OPT_LOG2, 1, 28, log2, &v);
  b->log2 = (unsigned)v;
  return st;
}

static void add_case(struct bench *b, const char *name, enum cuzk_status (*run)(void *, double *, struct cuzk_detail *),
                     void *arg) {
  b->cases[b->n_cases++] = (struct bench_case){name, run, arg};
}

/* ---- arith: chains of dependent operations ---- */

static struct {
  cuzk_fp p[2];
  cuzk_fr r[2];
  cuzk_fp2 p2[2];
  cuzk_g1 g1;
  cuzk_g1_affine g1_affine;
  cuzk_g2 g2;
  cuzk_g2_affine g2_affine;
} chain;

/* The volatile read keeps the compiler from seeing through the loop. */
#define CHAIN(fn, count, step)                                                            \
  static enum cuzk_status fn(void *arg, double *seconds_per_op, struct cuzk_detail *d) {  \
    (void)arg;                                                                            \
    (void)d;                                                                              \
    const volatile size_t limit = (count);                                                \
    const uint64_t start = cli_now_ns();                                                  \
    for (size_t i = 0; i < limit; i++) step;                                              \
    *seconds_per_op = cli_seconds_since(start) / (double)limit;                           \
    return CUZK_OK;                                                                       \
  }
CHAIN(run_fp_mul, 2000000, cuzk_fp_mul(&chain.p[0], &chain.p[0], &chain.p[1]))
CHAIN(run_fp_sqr, 2000000, cuzk_fp_sqr(&chain.p[0], &chain.p[0]))
CHAIN(run_fp_add, 2000000, cuzk_fp_add(&chain.p[0], &chain.p[0], &chain.p[1]))
CHAIN(run_fp_inv, 5000, cuzk_fp_inv_var(&chain.p[0], &chain.p[0]))
CHAIN(run_fr_mul, 2000000, cuzk_fr_mul(&chain.r[0], &chain.r[0], &chain.r[1]))
CHAIN(run_fr_sqr, 2000000, cuzk_fr_sqr(&chain.r[0], &chain.r[0]))
CHAIN(run_fr_add, 2000000, cuzk_fr_add(&chain.r[0], &chain.r[0], &chain.r[1]))
CHAIN(run_fr_inv, 5000, cuzk_fr_inv_var(&chain.r[0], &chain.r[0]))
CHAIN(run_fp2_mul, 500000, cuzk_fp2_mul(&chain.p2[0], &chain.p2[0], &chain.p2[1]))
CHAIN(run_fp2_sqr, 500000, cuzk_fp2_sqr(&chain.p2[0], &chain.p2[0]))
CHAIN(run_g1_add_affine, 200000, cuzk_g1_add_affine(&chain.g1, &chain.g1, &chain.g1_affine))
CHAIN(run_g1_dbl, 200000, cuzk_g1_dbl(&chain.g1, &chain.g1))
CHAIN(run_g2_add_affine, 100000, cuzk_g2_add_affine(&chain.g2, &chain.g2, &chain.g2_affine))
CHAIN(run_g2_dbl, 100000, cuzk_g2_dbl(&chain.g2, &chain.g2))

enum cuzk_status cli_bench_arith(struct cli *c) {
  static struct bench b;
  uint64_t seed = 1;
  cuzk_fr k;
  enum cuzk_status st = bench_init(&b, c, "arith", 0, 5, 1);
  if (st != CUZK_OK) return st;
  b.peer_words[0] = "fp";
  b.peer_words[1] = "fr";
  b.peer_words[2] = "point";
  random_fr(&k, &seed);
  cuzk_g1_from_affine(&chain.g1, &cuzk_g1_generator);
  cuzk_g2_from_affine(&chain.g2, &cuzk_g2_generator);
  cuzk_g1_mul_var(&chain.g1, &chain.g1, &k);
  cuzk_g2_mul_var(&chain.g2, &chain.g2, &k);
  cuzk_g1_to_affine(&chain.g1_affine, &chain.g1);
  cuzk_g2_to_affine(&chain.g2_affine, &chain.g2);
  cuzk_g1_dbl(&chain.g1, &chain.g1);
  cuzk_g2_dbl(&chain.g2, &chain.g2);
  chain.p[0] = chain.g1_affine.x;
  chain.p[1] = chain.g1_affine.y;
  chain.p2[0] = chain.g2_affine.x;
  chain.p2[1] = chain.g2_affine.y;
  random_fr(&chain.r[0], &seed);
  random_fr(&chain.r[1], &seed);
  add_case(&b, "fp_mul", run_fp_mul, NULL);
  add_case(&b, "fp_sqr", run_fp_sqr, NULL);
  add_case(&b, "fp_add", run_fp_add, NULL);
  add_case(&b, "fp_inv", run_fp_inv, NULL);
  add_case(&b, "fr_mul", run_fr_mul, NULL);
  add_case(&b, "fr_sqr", run_fr_sqr, NULL);
  add_case(&b, "fr_add", run_fr_add, NULL);
  add_case(&b, "fr_inv", run_fr_inv, NULL);
  add_case(&b, "fp2_mul", run_fp2_mul, NULL);
  add_case(&b, "fp2_sqr", run_fp2_sqr, NULL);
  add_case(&b, "g1_add_affine", run_g1_add_affine, NULL);
  add_case(&b, "g1_dbl", run_g1_dbl, NULL);
  add_case(&b, "g2_add_affine", run_g2_add_affine, NULL);
  add_case(&b, "g2_dbl", run_g2_dbl, NULL);
  return bench_run(&b);
}

/* ---- pairing ---- */

CHAIN(run_pairing_loop, 50, {
  cuzk_gt e;
  cuzk_pairing_product(&e, &chain.g1_affine, &chain.g2_affine, 1);
})

enum cuzk_status cli_bench_pairing(struct cli *c) {
  static struct bench b;
  enum cuzk_status st = bench_init(&b, c, "pairing", 0, 5, 1);
  if (st != CUZK_OK) return st;
  b.peer_words[0] = "pairing";
  chain.g1_affine = cuzk_g1_generator;
  chain.g2_affine = cuzk_g2_generator;
  add_case(&b, "pairing", run_pairing_loop, NULL);
  return bench_run(&b);
}

/* ---- ntt ---- */

typedef enum cuzk_status transform_fn(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool);

struct transform {
  transform_fn *fn;
  cuzk_fr *v;
  struct cuzk_domain *domain;
  struct cuzk_pool *pool;
};

static enum cuzk_status run_transform(void *arg, double *seconds, struct cuzk_detail *d) {
  struct transform *t = arg;
  const uint64_t start = cli_now_ns();
  enum cuzk_status st = t->fn(t->v, t->domain, t->pool);
  *seconds = cli_seconds_since(start);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "transform");
}

enum cuzk_status cli_bench_ntt(struct cli *c) {
  static struct bench b;
  static struct transform t[4];
  static const char *const names[] = {"ntt", "intt", "coset_ntt", "coset_intt"};
  static transform_fn *const fns[] = {cuzk_ntt, cuzk_intt, cuzk_coset_ntt, cuzk_coset_intt};
  struct cuzk_domain *domain = NULL;
  uint64_t seed = 2;
  enum cuzk_status st = bench_init(&b, c, "ntt", 20, 5, cuzk_pool_workers(c->pool));
  if (st != CUZK_OK) return st;
  b.peer_words[0] = "ntt";
  const size_t n = (size_t)1 << b.log2;
  cuzk_fr *v = cuzk_big_alloc(n * sizeof *v);
  if (!v) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "2^%u elements", b.log2);
  CUZK_TRY(cuzk_domain_create(&domain, b.log2, c->pool));
  for (size_t i = 0; i < n; i++) random_fr(&v[i], &seed);
  for (int i = 0; i < 4; i++) {
    t[i] = (struct transform){fns[i], v, domain, c->pool};
    add_case(&b, names[i], run_transform, &t[i]);
  }
  st = bench_run(&b);
out:
  cuzk_domain_destroy(&domain);
  cuzk_big_free(v, n * sizeof *v);
  return st;
}

/* ---- msm ---- */

struct sum {
  bool g2;
  cuzk_g1_affine *p1;
  cuzk_g2_affine *p2;
  cuzk_fr *s;
  size_t n;
  struct cuzk_pool *pool;
};

static enum cuzk_status run_sum(void *arg, double *seconds, struct cuzk_detail *d) {
  struct sum *x = arg;
  cuzk_g1 r1;
  cuzk_g2 r2;
  const uint64_t start = cli_now_ns();
  enum cuzk_status st = x->g2 ? cuzk_msm_g2(&r2, x->p2, x->s, x->n, x->pool) : cuzk_msm_g1(&r1, x->p1, x->s, x->n, x->pool);
  *seconds = cli_seconds_since(start);
  return st == CUZK_OK ? st : cuzk_fail(d, st, "sum");
}

#define POINT_CHUNK ((size_t)1024)

struct points_job {
  struct sum *x;
  cuzk_fr k; /* the step is k times the generator */
  enum cuzk_status st[1024];
};

/* Multiples first+1 .. of the step, one addition each, normalised together. */
static void points_task(void *arg, size_t task, unsigned worker) {
  struct points_job *j = arg;
  struct sum *x = j->x;
  (void)worker;
  /* tasks are spread over the whole range in strides of at most 1024 chunks */
  for (size_t first = task * POINT_CHUNK; first < x->n && j->st[task] == CUZK_OK; first += 1024 * POINT_CHUNK) {
    const size_t count = x->n - first < POINT_CHUNK ? x->n - first : POINT_CHUNK;
    cuzk_fr e;
    cuzk_fr_from_u64(&e, first + 1);
    cuzk_fr_mul(&e, &e, &j->k);
    if (x->g2) {
      cuzk_g2 *run = cuzk_malloc_array(count, sizeof *run), step;
      if (!run) {
        j->st[task] = CUZK_E_NOMEM;
        return;
      }
      cuzk_g2_from_affine(&step, &cuzk_g2_generator);
      cuzk_g2_mul_var(&run[0], &step, &e);
      cuzk_g2_mul_var(&step, &step, &j->k);
      for (size_t i = 1; i < count; i++) cuzk_g2_add(&run[i], &run[i - 1], &step);
      j->st[task] = cuzk_g2_to_affine_batch(x->p2 + first, run, count);
      cuzk_free(run);
    } else {
      cuzk_g1 *run = cuzk_malloc_array(count, sizeof *run), step;
      if (!run) {
        j->st[task] = CUZK_E_NOMEM;
        return;
      }
      cuzk_g1_from_affine(&step, &cuzk_g1_generator);
      cuzk_g1_mul_var(&run[0], &step, &e);
      cuzk_g1_mul_var(&step, &step, &j->k);
      for (size_t i = 1; i < count; i++) cuzk_g1_add(&run[i], &run[i - 1], &step);
      j->st[task] = cuzk_g1_to_affine_batch(x->p1 + first, run, count);
      cuzk_free(run);
    }
  }
}

enum cuzk_status cli_bench_msm(struct cli *c) {
  static struct bench b;
  static struct points_job job;
  static const char *const groups[] = {"g1", "g2", NULL}, *const kinds[] = {"random", "bits", "ones", NULL};
  struct sum x = {0};
  uint64_t seed = 3;
  unsigned group, kind;
  size_t bytes = 0;
  void *points = NULL;
  enum cuzk_status st;
  CUZK_TRY(cli_choice(c, OPT_GROUP, groups, &group));
  CUZK_TRY(cli_choice(c, OPT_SCALARS, kinds, &kind));
  CUZK_TRY(bench_init(&b, c, "msm", group ? 16 : 20, 5, cuzk_pool_workers(c->pool)));
  b.note = kinds[kind];
  b.peer_words[0] = group ? "msm2" : "msm";
  x = (struct sum){.g2 = group == 1, .n = (size_t)1 << b.log2, .pool = c->pool};
  bytes = x.n * (x.g2 ? sizeof(cuzk_g2_affine) : sizeof(cuzk_g1_affine));
  points = cuzk_big_alloc(bytes);
  x.s = cuzk_big_alloc(x.n * sizeof *x.s);
  if (!points || !x.s) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "2^%u points and scalars", b.log2);
    goto out;
  }
  x.p1 = points;
  x.p2 = points;
  job = (struct points_job){.x = &x};
  random_fr(&job.k, &seed);
  cuzk_pool_run(c->pool, points_task, &job, 1024);
  for (int i = 0; i < 1024; i++)
    if (job.st[i] != CUZK_OK) {
      st = cuzk_fail(&c->detail, job.st[i], "making the points");
      goto out;
    }
  for (size_t i = 0; i < x.n; i++) {
    if (kind == 0)
      random_fr(&x.s[i], &seed);
    else
      x.s[i] = kind == 2 || (next_random(&seed) & 1) ? cuzk_fr_one : cuzk_fr_zero;
  }
  add_case(&b, group ? "msm_g2" : "msm_g1", run_sum, &x);
  st = bench_run(&b);
out:
  if (points) cuzk_big_free(points, bytes);
  if (x.s) cuzk_big_free(x.s, x.n * sizeof *x.s);
  return st;
}

/* ---- prove ---- */

struct prove_case {
  struct job job;
  struct cli *c;
  cuzk_fr *u;
  struct job_times last;
};

static enum cuzk_status run_prove(void *arg, double *seconds, struct cuzk_detail *d) {
  struct prove_case *p = arg;
  struct cuzk_proof proof;
  cuzk_fr r, s;
  (void)d;
  p->last = (struct job_times){0};
  enum cuzk_status st = cuzk_fr_random(&r);
  if (st == CUZK_OK) st = cuzk_fr_random(&s);
  if (st == CUZK_OK) st = job_prove(&p->job, p->c, p->job.first, &r, &s, &proof, p->u, &p->last);
  *seconds = p->last.wall;
  return st;
}

#define PART(fn, field)                                                               \
  static enum cuzk_status fn(void *arg, double *seconds, struct cuzk_detail *d) {     \
    const struct prove_case *p = arg;                                                 \
    (void)d;                                                                          \
    *seconds = p->last.field;                                                         \
    return CUZK_OK;                                                                   \
  }
PART(part_cpu, cpu)
PART(part_synthesis, synthesis)
PART(part_rows, rows)
PART(part_h_poly, prove.h_poly)
PART(part_msm_h, prove.msm_h)
PART(part_msm_l, prove.msm_l)
PART(part_msm_a, prove.msm_a)
PART(part_msm_b_g1, prove.msm_b_g1)
PART(part_msm_b_g2, prove.msm_b_g2)
PART(part_finish, prove.finish)
PART(part_verify, prove.verify)

enum cuzk_status cli_bench_prove(struct cli *c) {
  static struct bench b;
  static struct prove_case p;
  enum cuzk_status st;
  p = (struct prove_case){.c = c};
  const struct cuzk_proof_kind *kind = cuzk_proof_kind_find(c->n_args ? c->arg[0] : "porep");
  if (!kind) return cuzk_fail(&c->detail, CUZK_E_USAGE, "'%s' is no kind of proof: porep, winning-post, window-post or snap", c->arg[0]);
  CUZK_TRY(bench_init(&b, c, "prove", 0, 1, cuzk_pool_workers(c->pool)));
  CUZK_TRY(job_open(&p.job, c, kind, true));
  CUZK_TRY(job_prepare(&p.job, c));
  b.peer_words[0] = "prove";
  p.u = cuzk_calloc(p.job.in->circuit->n_inputs, sizeof *p.u);
  if (!p.u) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "public inputs");
    goto out;
  }
  /* the first case makes the proof, the others report its parts */
  add_case(&b, "prove", run_prove, &p);
  add_case(&b, "prove_cpu", part_cpu, &p);
  add_case(&b, "synthesis", part_synthesis, &p);
  add_case(&b, "rows", part_rows, &p);
  add_case(&b, "h_poly", part_h_poly, &p);
  add_case(&b, "sum_h", part_msm_h, &p);
  add_case(&b, "sum_l", part_msm_l, &p);
  add_case(&b, "sum_a", part_msm_a, &p);
  add_case(&b, "sum_b_g1", part_msm_b_g1, &p);
  add_case(&b, "sum_b_g2", part_msm_b_g2, &p);
  add_case(&b, "finish", part_finish, &p);
  add_case(&b, "check", part_verify, &p);
  st = bench_run(&b);
out:
  cuzk_free(p.u);
  job_close(&p.job);
  return st;
}
