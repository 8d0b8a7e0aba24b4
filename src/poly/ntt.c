/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A transform is cut into passes of at most max_k stages, a pass into tiles that a kernel holds in the second-level cache while it
 * runs all stages of the pass on them. Pass p covers stages first[p] .. first[p] + k[p] - 1 of the usual in-place network (bit-reversed
 * order on the side of stage 0, natural order on the other). In pass 0 a tile is a run of 2^k neighbours, and one vector takes
 * one element from each of several runs ("rows"); in the others its elements lie 2^first apart, and one vector takes neighbouring
 * columns. The forward network (dit) goes from bit-reversed to natural order, the inverse one (dif) back. */
#include "poly/ntt.h"

#include "base/alloc.h"
#include "poly/ntt_kern.h"
#include "poly/ntt_plain.h"

/* Domains below this are left to the textbook code: too small for two passes of whole vectors. */
#define MIN_FAST_LOG2 8u
#define MAX_PASSES 8u

enum { FORWARD, INVERSE };
enum { PLAIN, COSET };

struct cuzk_domain {
  struct plain_domain p;
  const struct cuzk_ntt_kern *kern; /* NULL: textbook */
  size_t n;
  unsigned log2_n, n_passes;
  unsigned first[MAX_PASSES], k[MAX_PASSES], max_k;
  /* Twiddles of ntt_kern.h: entry 2^j + t is w^t for a primitive 2^(j+1)-th root w; in the COSET form times shift^(n/2^(j+1)), which
   * turns pass 0 into that of the transform over the coset. The inverse ones are their inverses. */
  void *table[2][2];
  /* w^i = lo[i mod 2^half] * hi[i / 2^half] for w = omega, 1/omega; hi carries the kernel's 2^twist. */
  unsigned half;
  cuzk_fr *lo[2], *hi[2];
  cuzk_fr coset_factor[2][MAX_PASSES]; /* shift^(n/2^(first + k)) and inverse, of passes 1 and up */
  void *constants;                     /* kernel constants, in this order: */
  void *scale_n, *h_product, *h_c;     /* 1/n; 2^twist n^-3/(7^n - 1); -1/(n (7^n - 1)) */
};

static void plain_init(struct plain_domain *p, unsigned log2_n) {
  p->log2_n = log2_n;
  p->one = cuzk_fr_one;
  p->shift = cuzk_fr_generator;
  cuzk_fr_inv_var(&p->i_shift, &p->shift);
  p->roots[31] = cuzk_fr_root_2_32;
  cuzk_fr_inv_var(&p->i_roots[31], &p->roots[31]);
  for (int s = 30; s >= 0; s--) {
    cuzk_fr_sqr(&p->roots[s], &p->roots[s + 1]);
    cuzk_fr_sqr(&p->i_roots[s], &p->i_roots[s + 1]);
  }
  cuzk_fr z = p->shift;
  for (unsigned s = 0; s < log2_n; s++) cuzk_fr_sqr(&z, &z);
  cuzk_fr_sub(&z, &z, &cuzk_fr_one);
  cuzk_fr_inv_var(&p->z_inv, &z);
  cuzk_fr_from_u64(&p->n_inv, (uint64_t)1 << log2_n);
  cuzk_fr_inv_var(&p->n_inv, &p->n_inv);
}

/* *r = shift^(n/2^s) or its inverse. */
static void coset_power(cuzk_fr *r, const struct cuzk_domain *d, int direction, unsigned s) {
  *r = direction == FORWARD ? d->p.shift : d->p.i_shift;
  for (unsigned i = s; i < d->log2_n; i++) cuzk_fr_sqr(r, r);
}

/* The fewest passes, as even as they can be, the longer ones first. */
static void choose_passes(struct cuzk_domain *d, unsigned max_k) {
  d->n_passes = (d->log2_n + max_k - 1) / max_k;
  if (d->n_passes < 2) d->n_passes = 2;
  unsigned done = 0;
  for (unsigned p = 0; p < d->n_passes; p++) {
    const unsigned left = d->n_passes - p;
    d->first[p] = done;
    d->k[p] = (d->log2_n - done + left - 1) / left;
    if (d->k[p] > d->max_k) d->max_k = d->k[p];
    done += d->k[p];
  }
}

static enum cuzk_status fast_init(struct cuzk_domain *d, unsigned max_k) {
  const struct cuzk_ntt_kern *kern = d->kern;
  choose_passes(d, max_k);
  cuzk_fr twist;
  cuzk_fr_from_u64(&twist, (uint64_t)1 << kern->twist);

  const size_t n_table = (size_t)1 << d->max_k;
  d->half = (d->log2_n + 1) / 2;
  const size_t n_lo = (size_t)1 << d->half, n_hi = (size_t)1 << (d->log2_n - d->half);
  cuzk_fr *w = cuzk_malloc_array(n_table, sizeof *w);
  if (!w) return CUZK_E_NOMEM;
  enum cuzk_status st = CUZK_E_NOMEM;
  for (int dir = FORWARD; dir <= INVERSE; dir++) {
    const cuzk_fr *roots = dir == FORWARD ? d->p.roots : d->p.i_roots;
    for (int coset = PLAIN; coset <= COSET; coset++) {
      w[0] = cuzk_fr_zero; /* not a twiddle */
      for (unsigned j = 0; j < d->max_k; j++) {
        cuzk_fr x = twist, c;
        if (coset == COSET) {
          coset_power(&c, d, dir, j + 1);
          cuzk_fr_mul(&x, &x, &c);
        }
        for (size_t t = 0; t < (size_t)1 << j; t++) {
          w[((size_t)1 << j) + t] = x;
          cuzk_fr_mul(&x, &x, &roots[j]);
        }
      }
      d->table[dir][coset] = cuzk_malloc_array(n_table, kern->const_bytes);
      if (!d->table[dir][coset]) goto out;
      kern->constants(d->table[dir][coset], w, n_table);
    }
    d->lo[dir] = cuzk_malloc_array(n_lo, sizeof *w);
    d->hi[dir] = cuzk_malloc_array(n_hi, sizeof *w);
    if (!d->lo[dir] || !d->hi[dir]) goto out;
    cuzk_fr x = cuzk_fr_one, step;
    for (size_t i = 0; i < n_lo; i++) {
      d->lo[dir][i] = x;
      cuzk_fr_mul(&x, &x, &roots[d->log2_n - 1]);
    }
    step = x;
    x = twist;
    for (size_t i = 0; i < n_hi; i++) {
      d->hi[dir][i] = x;
      cuzk_fr_mul(&x, &x, &step);
    }
    for (unsigned p = 1; p < d->n_passes; p++) coset_power(&d->coset_factor[dir][p], d, dir, d->first[p] + d->k[p]);
  }
  d->constants = cuzk_malloc_array(3, kern->const_bytes);
  if (!d->constants) goto out;
  cuzk_fr c[3];
  cuzk_fr_mul(&c[0], &d->p.n_inv, &twist);
  cuzk_fr_mul(&c[1], &c[0], &d->p.z_inv);
  cuzk_fr_neg(&c[2], &c[1]);
  cuzk_fr_mul(&c[1], &c[1], &d->p.n_inv);
  cuzk_fr_mul(&c[1], &c[1], &d->p.n_inv);
  cuzk_fr_mul(&c[1], &c[1], &twist);
  kern->constants(d->constants, c, 3);
  d->scale_n = d->constants;
  d->h_product = (char *)d->constants + kern->const_bytes;
  d->h_c = (char *)d->h_product + kern->const_bytes;
  st = CUZK_OK;
out:
  cuzk_free(w);
  return st;
}

enum cuzk_status cuzk_domain_create_with(struct cuzk_domain **out, unsigned log2_n, const struct cuzk_ntt_kern *kern,
                                         unsigned max_k) {
  *out = NULL;
  if (log2_n > 31 || max_k < 4 || max_k > CUZK_NTT_MAX_K) return CUZK_E_ARG;
  struct cuzk_domain *d = cuzk_calloc(1, sizeof *d);
  if (!d) return CUZK_E_NOMEM;
  plain_init(&d->p, log2_n);
  d->log2_n = log2_n;
  d->n = (size_t)1 << log2_n;
  if (kern && log2_n >= MIN_FAST_LOG2) {
    d->kern = kern;
    const enum cuzk_status st = fast_init(d, max_k);
    if (st != CUZK_OK) {
      cuzk_domain_destroy(&d);
      return st;
    }
  }
  *out = d;
  return CUZK_OK;
}

enum cuzk_status cuzk_domain_create(struct cuzk_domain **out, unsigned log2_n, struct cuzk_pool *pool) {
  (void)pool; /* the tables are too small to share out */
  return cuzk_domain_create_with(out, log2_n, cuzk_ntt_kern_best(), CUZK_NTT_DEFAULT_K);
}

void cuzk_domain_destroy(struct cuzk_domain **pd) {
  struct cuzk_domain *d = *pd;
  if (!d) return;
  for (int dir = FORWARD; dir <= INVERSE; dir++) {
    for (int coset = PLAIN; coset <= COSET; coset++) cuzk_free(d->table[dir][coset]);
    cuzk_free(d->lo[dir]);
    cuzk_free(d->hi[dir]);
  }
  cuzk_free(d->constants);
  cuzk_free(d);
  *pd = NULL;
}

unsigned cuzk_domain_log2(const struct cuzk_domain *d) { return d->p.log2_n; }

void cuzk_domain_omega(cuzk_fr *r, const struct cuzk_domain *d) {
  *r = d->p.log2_n ? d->p.roots[d->p.log2_n - 1] : cuzk_fr_one;
}

/* The i's lowest bits bits, reversed. */
static size_t reverse(size_t i, unsigned bits) {
  size_t r = 0;
  for (unsigned b = 0; b < bits; b++) r |= ((i >> b) & 1) << (bits - 1 - b);
  return r;
}

/* One parallel loop over the tiles of a pass. */
struct job {
  const struct cuzk_domain *d;
  const struct cuzk_ntt_kern *kern;
  cuzk_fr *v;           /* the vector, or the first of three */
  cuzk_fr *b, *c;       /* the h polynomial's others */
  unsigned pass;        /* of passes */
  int direction, coset; /* of single passes */
  bool scale;           /* by 1/n, and canonical: the last pass of an inverse transform */
  char *scratch;        /* scratch_bytes a worker: two tiles and the factors */
  size_t scratch_bytes, tile_bytes;
};

static char *tile_of(const struct job *j, unsigned worker, unsigned which) {
  return j->scratch + worker * j->scratch_bytes + which * j->tile_bytes;
}
static void *factors_of(const struct job *j, unsigned worker) { return tile_of(j, worker, 2); }

static bool job_open(struct job *j, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  *j = (struct job){.d = d, .kern = d->kern};
  j->tile_bytes = d->kern->vec_bytes << d->max_k;
  j->scratch_bytes = (2 * j->tile_bytes + d->kern->vec_bytes * d->max_k + 4095) & ~(size_t)4095;
  j->scratch = cuzk_big_alloc(j->scratch_bytes * cuzk_pool_workers(pool));
  return j->scratch != NULL;
}
static void job_close(struct job *j, struct cuzk_pool *pool) {
  cuzk_big_free(j->scratch, j->scratch_bytes * cuzk_pool_workers(pool));
}

static void run(struct job *j, cuzk_task_fn *fn, struct cuzk_pool *pool, unsigned pass) {
  j->pass = pass;
  cuzk_pool_run(pool, fn, j, j->d->n >> (j->d->k[pass] + j->kern->log2_lanes));
}

/* First element of tile task of a pass above 0; *column: its place within 2^first. */
static size_t tile_start(const struct job *j, size_t task, size_t *column) {
  const unsigned first = j->d->first[j->pass], k = j->d->k[j->pass];
  const size_t i = task << j->kern->log2_lanes;
  *column = i & (((size_t)1 << first) - 1);
  return (i >> first << (first + k)) + *column;
}

/* The twiddle factors g of columns column .. column + n_lanes - 1. */
static void column_factors(void *g, const struct job *j, size_t column, int direction, int coset) {
  const struct cuzk_domain *d = j->d;
  const unsigned k = d->k[j->pass], up = d->log2_n - d->first[j->pass] - k;
  cuzk_fr w[CUZK_NTT_MAX_LANES];
  for (unsigned l = 0; l < j->kern->n_lanes; l++) {
    const size_t e = (column + l) << up;
    cuzk_fr_mul(&w[l], &d->lo[direction][e & (((size_t)1 << d->half) - 1)], &d->hi[direction][e >> d->half]);
    if (coset == COSET) cuzk_fr_mul(&w[l], &w[l], &d->coset_factor[direction][j->pass]);
  }
  j->kern->factors(g, k, w);
}

static void column_pass(void *arg, size_t task, unsigned worker) {
  const struct job *j = arg;
  const struct cuzk_ntt_kern *kern = j->kern;
  const unsigned first = j->d->first[j->pass], k = j->d->k[j->pass];
  void *tile = tile_of(j, worker, 0), *g = factors_of(j, worker);
  size_t column;
  cuzk_fr *v = j->v + tile_start(j, task, &column);
  column_factors(g, j, column, j->direction, j->coset);
  kern->load_columns(tile, v, (size_t)1 << first, (size_t)1 << k);
  (j->direction == FORWARD ? kern->dit : kern->dif)(tile, k, j->d->table[j->direction][PLAIN], g, false);
  /* Forward, pass 0 comes first and the highest last. */
  const bool last = j->direction == FORWARD && j->pass + 1 == j->d->n_passes;
  kern->store_columns(v, (size_t)1 << first, tile, (size_t)1 << k, last);
}

static void rows_at(cuzk_fr *row[CUZK_NTT_MAX_LANES], const struct job *j, cuzk_fr *v, size_t task) {
  for (unsigned l = 0; l < j->kern->n_lanes; l++) row[l] = v + (((task << j->kern->log2_lanes) + l) << j->d->k[0]);
}

/* As rows_at, but rows whose numbers are neighbours when reversed. */
static void rows_at_reversed(cuzk_fr *row[CUZK_NTT_MAX_LANES], const struct job *j, cuzk_fr *v, size_t task) {
  for (unsigned l = 0; l < j->kern->n_lanes; l++)
    row[l] = v + (reverse((task << j->kern->log2_lanes) + l, j->d->log2_n - j->d->k[0]) << j->d->k[0]);
}

static void row_pass(void *arg, size_t task, unsigned worker) {
  const struct job *j = arg;
  const struct cuzk_ntt_kern *kern = j->kern;
  const unsigned k = j->d->k[0];
  void *tile = tile_of(j, worker, 0);
  cuzk_fr *row[CUZK_NTT_MAX_LANES];
  rows_at(row, j, j->v, task);
  kern->load_rows(tile, (const cuzk_fr *const *)row, (size_t)1 << k);
  (j->direction == FORWARD ? kern->dit : kern->dif)(tile, k, j->d->table[j->direction][j->coset], NULL, j->coset == PLAIN);
  if (j->scale) kern->scale(tile, j->d->scale_n, (size_t)1 << k);
  kern->store_rows(row, tile, (size_t)1 << k, j->scale);
}

/* The end of an inverse transform and the start of one over the coset, between which only bit-reversed order lies. */
static void turning_row_pass(void *arg, size_t task, unsigned worker) {
  const struct job *j = arg;
  const struct cuzk_ntt_kern *kern = j->kern;
  const unsigned k = j->d->k[0];
  void *tile = tile_of(j, worker, 0);
  cuzk_fr *row[CUZK_NTT_MAX_LANES];
  rows_at(row, j, j->v, task);
  kern->load_rows(tile, (const cuzk_fr *const *)row, (size_t)1 << k);
  kern->dif(tile, k, j->d->table[INVERSE][PLAIN], NULL, true);
  kern->reduce(tile, (size_t)1 << k);
  kern->dit(tile, k, j->d->table[FORWARD][COSET], NULL, false);
  kern->store_rows(row, tile, (size_t)1 << k, false);
}

/* The last pass of a's and b's coset transforms, their product, and the first pass back, into b. */
static void product_pass(void *arg, size_t task, unsigned worker) {
  const struct job *j = arg;
  const struct cuzk_ntt_kern *kern = j->kern;
  const unsigned first = j->d->first[j->pass], k = j->d->k[j->pass];
  const size_t stride = (size_t)1 << first, n = (size_t)1 << k;
  void *tile = tile_of(j, worker, 0), *other = tile_of(j, worker, 1), *g = factors_of(j, worker);
  size_t column;
  const size_t at = tile_start(j, task, &column);
  column_factors(g, j, column, FORWARD, COSET);
  kern->load_columns(tile, j->v + at, stride, n);
  kern->dit(tile, k, j->d->table[FORWARD][PLAIN], g, false);
  kern->load_columns(other, j->b + at, stride, n);
  kern->dit(other, k, j->d->table[FORWARD][PLAIN], g, false);
  kern->mul_tile(tile, other, n);
  column_factors(g, j, column, INVERSE, COSET);
  kern->dif(tile, k, j->d->table[INVERSE][PLAIN], g, false);
  kern->store_columns(j->b + at, stride, tile, n, false);
}

/* The last pass of the product's and c's inverse transforms; their difference, scaled, to natural order in a. */
static void difference_row_pass(void *arg, size_t task, unsigned worker) {
  const struct job *j = arg;
  const struct cuzk_ntt_kern *kern = j->kern;
  const unsigned k = j->d->k[0];
  const size_t n = (size_t)1 << k;
  void *tile = tile_of(j, worker, 0), *other = tile_of(j, worker, 1);
  cuzk_fr *row[CUZK_NTT_MAX_LANES];
  rows_at_reversed(row, j, j->b, task);
  kern->load_rows(tile, (const cuzk_fr *const *)row, n);
  kern->dif(tile, k, j->d->table[INVERSE][COSET], NULL, false);
  rows_at_reversed(row, j, j->c, task);
  kern->load_rows(other, (const cuzk_fr *const *)row, n);
  kern->dif(other, k, j->d->table[INVERSE][PLAIN], NULL, true);
  kern->combine(tile, j->d->h_product, other, j->d->h_c, n);
  kern->store_columns_reversed(j->v + (task << kern->log2_lanes), j->d->n >> k, tile, k);
}

/* Bit reversal in place, by squares of 8 x 8: index = (high 3 bits, middle, low 3 bits) goes to (low reversed, middle reversed, high
 * reversed), so that the squares of middle and reversed middle change places, in runs of 8 neighbours. */
#define SQUARE_LOG2 3u
#define SQUARE ((size_t)1 << SQUARE_LOG2)
#define SQUARES_A_TASK_LOG2 7u

struct reversal {
  cuzk_fr *v;
  unsigned log2_n;
};

static void reversal_task(void *arg, size_t task, unsigned worker) {
  static const unsigned char rev3[8] = {0, 4, 2, 6, 1, 5, 3, 7};
  const struct reversal *r = arg;
  const unsigned bits = r->log2_n - 2 * SQUARE_LOG2;
  const size_t n_middle = (size_t)1 << bits, stride = (size_t)1 << (r->log2_n - SQUARE_LOG2);
  const size_t from = task << SQUARES_A_TASK_LOG2, to = from + ((size_t)1 << SQUARES_A_TASK_LOG2);
  (void)worker;
  for (size_t m = from; m < to && m < n_middle; m++) {
    const size_t m2 = reverse(m, bits);
    if (m2 < m) continue;
    cuzk_fr s[8][8];
    cuzk_fr *x = r->v + (m << SQUARE_LOG2), *y = r->v + (m2 << SQUARE_LOG2);
    for (size_t h = 0; h < SQUARE; h++)
      for (size_t l = 0; l < SQUARE; l++) s[rev3[l]][rev3[h]] = x[h * stride + l];
    if (m != m2) {
      cuzk_fr t[8][8];
      for (size_t h = 0; h < SQUARE; h++)
        for (size_t l = 0; l < SQUARE; l++) t[rev3[l]][rev3[h]] = y[h * stride + l];
      for (size_t h = 0; h < SQUARE; h++)
        for (size_t l = 0; l < SQUARE; l++) x[h * stride + l] = t[h][l];
    }
    for (size_t h = 0; h < SQUARE; h++)
      for (size_t l = 0; l < SQUARE; l++) y[h * stride + l] = s[h][l];
  }
}

static void bit_reverse(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  struct reversal r = {v, d->log2_n};
  const size_t n_middle = d->n >> (2 * SQUARE_LOG2);
  cuzk_pool_run(pool, reversal_task, &r, (n_middle + ((size_t)1 << SQUARES_A_TASK_LOG2) - 1) >> SQUARES_A_TASK_LOG2);
}

static enum cuzk_status forward(cuzk_fr *v, const struct cuzk_domain *d, int coset, struct cuzk_pool *pool) {
  struct job j;
  if (!job_open(&j, d, pool)) return CUZK_E_NOMEM;
  bit_reverse(v, d, pool);
  j.v = v;
  j.direction = FORWARD;
  j.coset = coset;
  run(&j, row_pass, pool, 0);
  for (unsigned p = 1; p < d->n_passes; p++) run(&j, column_pass, pool, p);
  job_close(&j, pool);
  return CUZK_OK;
}

/* Column passes of an inverse transform, from pass high down. */
static void inverse_columns(struct job *j, cuzk_fr *v, int coset, unsigned high, struct cuzk_pool *pool) {
  j->v = v;
  j->direction = INVERSE;
  j->coset = coset;
  for (unsigned p = high; p > 0; p--) run(j, column_pass, pool, p);
}

static enum cuzk_status inverse(cuzk_fr *v, const struct cuzk_domain *d, int coset, struct cuzk_pool *pool) {
  struct job j;
  if (!job_open(&j, d, pool)) return CUZK_E_NOMEM;
  inverse_columns(&j, v, coset, d->n_passes - 1, pool);
  j.scale = true;
  run(&j, row_pass, pool, 0);
  bit_reverse(v, d, pool);
  job_close(&j, pool);
  return CUZK_OK;
}

enum cuzk_status cuzk_ntt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  if (d->kern) return forward(v, d, PLAIN, pool);
  plain_ntt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_intt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  if (d->kern) return inverse(v, d, PLAIN, pool);
  plain_intt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_coset_ntt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  if (d->kern) return forward(v, d, COSET, pool);
  plain_coset_ntt(v, &d->p);
  return CUZK_OK;
}

enum cuzk_status cuzk_coset_intt(cuzk_fr *v, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  if (d->kern) return inverse(v, d, COSET, pool);
  plain_coset_intt(v, &d->p);
  return CUZK_OK;
}

/* Six transforms and no pass of their own for products, scaling or order: inverse transforms of a, b, c; coset transforms of a and b;
 * the inverse coset transform of the product. See plain_h_poly for the algebra. */
static enum cuzk_status fast_h_poly(cuzk_fr *a, cuzk_fr *b, cuzk_fr *c, const struct cuzk_domain *d, struct cuzk_pool *pool) {
  struct job j;
  if (!job_open(&j, d, pool)) return CUZK_E_NOMEM;
  const unsigned top = d->n_passes - 1;
  for (int i = 0; i < 2; i++) {
    inverse_columns(&j, i ? b : a, PLAIN, top, pool);
    run(&j, turning_row_pass, pool, 0);
    j.direction = FORWARD;
    j.coset = COSET;
    for (unsigned p = 1; p < top; p++) run(&j, column_pass, pool, p);
  }
  j.v = a;
  j.b = b;
  run(&j, product_pass, pool, top);
  inverse_columns(&j, b, COSET, top - 1, pool);
  inverse_columns(&j, c, PLAIN, top, pool);
  j.v = a;
  j.c = c;
  run(&j, difference_row_pass, pool, 0);
  job_close(&j, pool);
  return CUZK_OK;
}

enum cuzk_status cuzk_h_poly(cuzk_fr *a, cuzk_fr *b, cuzk_fr *c, bool *top_is_zero, const struct cuzk_domain *d,
                             struct cuzk_pool *pool) {
  *top_is_zero = false;
  if (d->kern) {
    const enum cuzk_status st = fast_h_poly(a, b, c, d, pool);
    if (st != CUZK_OK) return st;
  } else {
    plain_h_poly(a, b, c, &d->p);
  }
  *top_is_zero = cuzk_fr_is_zero(&a[d->n - 1]);
  return CUZK_OK;
}
