/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "device/cuda_setup.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/setup.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "r1cs/compact_flat.h"

#define G1_BYTES ((size_t)CUZK_G1_UNCOMPRESSED_BYTES)
#define G2_BYTES ((size_t)CUZK_G2_UNCOMPRESSED_BYTES)
/* Points of G1 made at a time, half as many of G2; at the least, and at the least so many variables. */
#ifndef CUZK_CUDA_SETUP_BLOCK
#define CUZK_CUDA_SETUP_BLOCK ((size_t)1 << 20)
#define CUZK_CUDA_SETUP_LEAST ((size_t)1 << 15)
#endif
#define PIECES 4u
/* A variable of a range: three columns and the limbs' sums. */
#define RANGE_BYTES (3 * sizeof(cuzk_fr) + 64)
/* What a G2 point counts for in the progress. */
#define G2_WEIGHT 3u

/* Pieces of the file on their way from the device to the sink, which a thread of its own feeds. */
struct queue {
  const struct cuzk_setup_sink *sink;
  pthread_mutex_t lock;
  pthread_cond_t change;
  pthread_t thread;
  bool started, end;
  uint8_t *piece[PIECES]; /* page-locked */
  size_t bytes[PIECES];
  uint64_t filled, taken;
  enum cuzk_status st;
  struct cuzk_detail d;
  double seconds;
};

enum column { A = 1, B = 2, COMBINED = 4 };

struct maker {
  const struct cuzk_cuda_setup *in;
  struct cuzk_detail *d;
  struct cuzk_cuda *gpu;
  struct cuzk_cuda_lane *lane;
  struct cuzk_cuda_rows *rows;
  struct cuzk_cuda_fixed *fixed[2]; /* G1, G2 */
  struct queue q;
  const char *name;
  uint32_t n_inputs, n_aux;
  uint64_t n_rows;
  size_t n_vars, m, block; /* block: points of G1; half as many of G2 */
  unsigned log2_m;
  void *lagrange, *scalars, *out[2];
  void *column[3], *scratch;
  size_t range; /* variables */
  size_t held;  /* first variable of the range in the columns */
  int have;     /* which of them: enum column */
  struct cuzk_cuda_weights w;
  uint64_t n_a, n_b, blocks, pending; /* pending: bytes of the block whose copy is on its way */
  uint64_t done, total;
  struct cuzk_cuda_setup_times t;
};

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- The queue ---- */

static void *queue_thread(void *arg) {
  struct queue *q = arg;
  (void)pthread_mutex_lock(&q->lock);
  for (;;) {
    while (q->taken == q->filled && !q->end) (void)pthread_cond_wait(&q->change, &q->lock);
    if (q->taken == q->filled) break;
    const unsigned i = q->taken % PIECES;
    const bool ok = q->st == CUZK_OK;
    (void)pthread_mutex_unlock(&q->lock);
    struct cuzk_detail d = {{0}};
    const double t = now();
    const enum cuzk_status st = ok ? q->sink->write(q->sink->user, q->piece[i], q->bytes[i], &d) : CUZK_OK;
    const double spent = now() - t;
    (void)pthread_mutex_lock(&q->lock);
    q->seconds += spent;
    if (st != CUZK_OK) {
      q->st = st;
      q->d = d;
    }
    q->taken++;
    (void)pthread_cond_broadcast(&q->change);
  }
  (void)pthread_mutex_unlock(&q->lock);
  return NULL;
}

/* Waits until `left` pieces or fewer are with the sink. */
static enum cuzk_status queue_wait(struct queue *q, uint64_t left, struct cuzk_detail *d) {
  (void)pthread_mutex_lock(&q->lock);
  while (q->filled - q->taken > left) (void)pthread_cond_wait(&q->change, &q->lock);
  const enum cuzk_status st = q->st;
  if (st != CUZK_OK && d) *d = q->d;
  (void)pthread_mutex_unlock(&q->lock);
  return st;
}

static void queue_publish(struct queue *q, size_t bytes) {
  (void)pthread_mutex_lock(&q->lock);
  q->bytes[q->filled % PIECES] = bytes;
  q->filled++;
  (void)pthread_cond_broadcast(&q->change);
  (void)pthread_mutex_unlock(&q->lock);
}

static void queue_end(struct queue *q) {
  if (!q->started) return;
  (void)pthread_mutex_lock(&q->lock);
  q->end = true;
  (void)pthread_cond_broadcast(&q->change);
  (void)pthread_mutex_unlock(&q->lock);
  (void)pthread_join(q->thread, NULL);
  (void)pthread_cond_destroy(&q->change);
  (void)pthread_mutex_destroy(&q->lock);
  q->started = false;
}

static enum cuzk_status queue_start(struct maker *k, const struct cuzk_setup_sink *sink) {
  struct queue *q = &k->q;
  enum cuzk_status st;
  for (unsigned i = 0; i < PIECES; i++) CUZK_TRY(cuzk_cuda_host_alloc(k->gpu, (void **)&q->piece[i], k->block * G1_BYTES, k->d));
  q->sink = sink;
  (void)pthread_mutex_init(&q->lock, NULL);
  (void)pthread_cond_init(&q->change, NULL);
  if (pthread_create(&q->thread, NULL, queue_thread, q) != 0) {
    (void)pthread_cond_destroy(&q->change);
    (void)pthread_mutex_destroy(&q->lock);
    return cuzk_fail(k->d, CUZK_E_NOMEM, "no thread to write the parameters");
  }
  q->started = true;
  st = CUZK_OK;
out:
  return st;
}

/* Hands the block whose copy is on its way to the sink. */
static enum cuzk_status flush(struct maker *k) {
  if (!k->pending) return CUZK_OK;
  const enum cuzk_status st = cuzk_cuda_lane_wait(k->lane, k->d);
  if (st == CUZK_OK) queue_publish(&k->q, k->pending);
  k->pending = 0;
  return st;
}

/* A few bytes made on the host. */
static enum cuzk_status emit(struct maker *k, const void *p, size_t n) {
  enum cuzk_status st = flush(k);
  if (st == CUZK_OK) st = queue_wait(&k->q, PIECES - 1, k->d);
  if (st != CUZK_OK) return st;
  memcpy(k->q.piece[k->q.filled % PIECES], p, n);
  queue_publish(&k->q, n);
  return CUZK_OK;
}

static enum cuzk_status emit_count(struct maker *k, uint64_t count) {
  uint8_t be[4];
  cuzk_store_be32(be, (uint32_t)count);
  return emit(k, be, sizeof be);
}

/* Multiplies n scalars, at most a block, and sends the points. The kernels of this block run beside the copy of the last one. */
static enum cuzk_status send_block(struct maker *k, const void *scalars, size_t n, int g2) {
  const size_t bytes = n * (g2 ? G2_BYTES : G1_BYTES);
  void *out = k->out[k->blocks++ % 2];
  enum cuzk_status st = cuzk_cuda_fixed_mul(k->gpu, k->fixed[g2], out, scalars, n, k->d);
  if (st == CUZK_OK) st = flush(k);
  if (st == CUZK_OK) st = queue_wait(&k->q, PIECES - 1, k->d);
  if (st == CUZK_OK) st = cuzk_cuda_lane_after(k->lane, k->gpu, k->d);
  if (st == CUZK_OK) st = cuzk_cuda_lane_download(k->lane, k->q.piece[k->q.filled % PIECES], out, bytes, k->d);
  if (st != CUZK_OK) return st;
  k->pending = bytes;
  k->done += g2 ? n * (uint64_t)G2_WEIGHT : n;
  if (!cuzk_progress(k->in->progress, "points", k->done, k->total, "points"))
    return cuzk_fail(k->d, CUZK_E_CANCELLED, "the setup was cancelled");
  return CUZK_OK;
}

static enum cuzk_status send_scalars(struct maker *k, const void *scalars, size_t n, int g2) {
  const size_t block = g2 ? k->block / 2 : k->block;
  enum cuzk_status st = CUZK_OK;
  for (size_t i = 0; i < n && st == CUZK_OK; i += block)
    st = send_block(k, (const cuzk_fr *)scalars + i, n - i < block ? n - i : block, g2);
  return st;
}

/* ---- Columns ---- */

/* Makes the range that starts at first hold the wanted columns. n: its length. */
static enum cuzk_status hold(struct maker *k, size_t first, int want, struct cuzk_cuda_combined *sums, size_t *n) {
  const double t = now();
  enum cuzk_status st;
  *n = k->n_vars - first < k->range ? k->n_vars - first : k->range;
  if (k->held != first) k->have = 0;
  k->held = first;
  if (want == COMBINED && !(k->have & COMBINED)) {
    for (int side = 0; side < 3; side++)
      CUZK_TRY(cuzk_cuda_columns(k->gpu, k->rows, k->column[side], k->scratch, k->lagrange, side, first, *n, k->d));
    CUZK_TRY(cuzk_cuda_combine(k->gpu, sums, k->column[0], k->column[1], k->column[2], first, *n, k->n_inputs, &k->w, k->d));
    k->have = A | B | COMBINED;
  } else if (!(k->have & want)) {
    const int side = want == A ? 0 : 1;
    CUZK_TRY(cuzk_cuda_columns(k->gpu, k->rows, k->column[side], k->scratch, k->lagrange, side, first, *n, k->d));
    CUZK_TRY(cuzk_cuda_sync(k->gpu, k->d));
    k->have |= want;
  }
  st = CUZK_OK;
out:
  k->t.columns += now() - t;
  return st;
}

/* Counts, and looks for variables that no row constrains. */
static enum cuzk_status count_columns(struct maker *k) {
  uint64_t bad = UINT64_MAX;
  enum cuzk_status st;
  for (size_t first = 0; first < k->n_vars; first += k->range) {
    struct cuzk_cuda_combined sums;
    size_t n;
    if (!cuzk_progress(k->in->progress, "columns", first, k->n_vars, "variables"))
      return cuzk_fail(k->d, CUZK_E_CANCELLED, "the setup was cancelled");
    if ((st = hold(k, first, COMBINED, &sums, &n)) != CUZK_OK) return st;
    k->n_a += sums.n_a;
    k->n_b += sums.n_b;
    if (bad == UINT64_MAX) bad = sums.first_zero;
  }
  if (bad == UINT64_MAX) return CUZK_OK;
  const bool aux = bad >= k->n_inputs;
  return cuzk_fail(k->d, CUZK_E_UNSAT, "%s: no row constrains %s variable %llu", k->name, aux ? "private" : "public",
                   (unsigned long long)(aux ? bad - k->n_inputs : bad));
}

/* Variables first to end of the combined columns. */
static enum cuzk_status send_combined(struct maker *k, size_t first, size_t end) {
  enum cuzk_status st = emit_count(k, end - first);
  for (size_t r = first / k->range * k->range; r < end && st == CUZK_OK; r += k->range) {
    struct cuzk_cuda_combined sums;
    size_t n;
    if ((st = hold(k, r, COMBINED, &sums, &n)) != CUZK_OK) break;
    const size_t from = r < first ? first - r : 0, to = end - r < n ? end - r : n;
    st = send_scalars(k, (const cuzk_fr *)k->column[2] + from, to - from, 0);
  }
  return st;
}

/* Column A or B without its zeros. */
static enum cuzk_status send_dense(struct maker *k, enum column column, uint64_t count, int g2) {
  enum cuzk_status st = emit_count(k, count);
  for (size_t r = 0; r < k->n_vars && st == CUZK_OK; r += k->range) {
    size_t n, kept;
    if ((st = hold(k, r, column, NULL, &n)) != CUZK_OK) break;
    if ((st = cuzk_cuda_drop_zeros(k->gpu, k->scratch, k->column[column == A ? 0 : 1], n, &kept, k->d)) != CUZK_OK) break;
    st = send_scalars(k, k->scratch, kept, g2);
  }
  return st;
}

/* ---- Sections ---- */

/* a^n */
static void power(cuzk_fr *r, const cuzk_fr *a, uint64_t n) { cuzk_fr_pow_var(r, a, &n, 1); }

/* h_i = tau^i (tau^m - 1) / delta. */
static enum cuzk_status send_h(struct maker *k) {
  const struct cuzk_toxic *t = k->in->toxic;
  const size_t n_h = k->m - 1;
  enum cuzk_status st = emit_count(k, n_h);
  cuzk_fr first, step;
  power(&first, &t->tau, k->m);
  cuzk_fr_sub(&first, &first, &cuzk_fr_one);
  cuzk_fr_mul(&first, &first, &k->w.inv_delta);
  power(&step, &t->tau, k->block);
  for (size_t i = 0; i < n_h && st == CUZK_OK; i += k->block) {
    const size_t n = n_h - i < k->block ? n_h - i : k->block;
    st = cuzk_cuda_powers(k->gpu, k->scalars, &first, &t->tau, n, k->d);
    if (st == CUZK_OK) st = send_block(k, k->scalars, n, 0);
    cuzk_fr_mul(&first, &first, &step);
  }
  cuzk_secret_clear(&first, sizeof first);
  cuzk_secret_clear(&step, sizeof step);
  return st;
}

static void head_g1(uint8_t **at, const cuzk_fr *k) {
  cuzk_g1 p;
  cuzk_g1_affine a;
  cuzk_g1_from_affine(&p, &cuzk_g1_generator);
  cuzk_g1_mul_ct(&p, &p, k);
  cuzk_g1_to_affine(&a, &p);
  cuzk_g1_encode(*at, &a);
  *at += G1_BYTES;
}
static void head_g2(uint8_t **at, const cuzk_fr *k) {
  cuzk_g2 p;
  cuzk_g2_affine a;
  cuzk_g2_from_affine(&p, &cuzk_g2_generator);
  cuzk_g2_mul_ct(&p, &p, k);
  cuzk_g2_to_affine(&a, &p);
  cuzk_g2_encode(*at, &a);
  *at += G2_BYTES;
}

static enum cuzk_status send_all(struct maker *k) {
  const struct cuzk_toxic *t = k->in->toxic;
  uint8_t head[3 * G1_BYTES + 3 * G2_BYTES], *at = head;
  enum cuzk_status st;
  k->total = k->n_vars + (k->m - 1) + k->n_a + k->n_b + G2_WEIGHT * k->n_b;
  head_g1(&at, &t->alpha);
  head_g1(&at, &t->beta);
  head_g2(&at, &t->beta);
  head_g2(&at, &t->gamma);
  head_g1(&at, &t->delta);
  head_g2(&at, &t->delta);
  CUZK_TRY(emit(k, head, sizeof head));
  CUZK_TRY(send_combined(k, 0, k->n_inputs));
  CUZK_TRY(send_h(k));
  CUZK_TRY(send_combined(k, k->n_inputs, k->n_vars));
  CUZK_TRY(send_dense(k, A, k->n_a, 0));
  CUZK_TRY(send_dense(k, B, k->n_b, 0));
  CUZK_TRY(send_dense(k, B, k->n_b, 1));
  CUZK_TRY(flush(k));
  st = queue_wait(&k->q, 0, k->d);
out:
  return st;
}

/* ---- Memory ---- */

/* The circuit's rows on the device; counts. */
static enum cuzk_status take_circuit(struct maker *k) {
  struct cuzk_flat f;
  enum cuzk_status st = cuzk_compact_flatten(&f, k->in->circuit, k->d);
  if (st != CUZK_OK) return st;
  const struct cuzk_cuda_circuit c = {f.n_rows, f.n_inputs, f.n_aux,  f.n_runs, f.n_uses, f.n_ext,   f.n_own,
                                      f.n_terms, f.n_coeffs, f.runs, f.uses,  f.ext,    f.bound, f.terms, f.coeffs};
  k->n_inputs = f.n_inputs;
  k->n_aux = f.n_aux;
  k->n_rows = f.n_rows;
  k->n_vars = (size_t)f.n_inputs + f.n_aux;
  const uint64_t n = k->n_rows + k->n_inputs;
  while (((uint64_t)1 << k->log2_m) < n) k->log2_m++;
  k->m = (size_t)1 << k->log2_m;
  if (k->n_inputs == 0)
    st = cuzk_fail(k->d, CUZK_E_ARG, "%s: a system has the constant as its input 0, this one has no input", k->name);
  else if (k->log2_m > 28)
    st = cuzk_fail(k->d, CUZK_E_UNSUPPORTED, "%s: %llu rows with those of the inputs; a device takes 2^28", k->name, (unsigned long long)n);
  else
    st = cuzk_cuda_rows_create(k->gpu, &k->rows, &c, k->d);
  cuzk_flat_clear(&f);
  return st;
}

/* Buffers of the points, the smaller the less memory there is, then as long a range of variables as fits. */
static enum cuzk_status take_memory(struct maker *k) {
  const size_t longest = k->m > k->n_vars ? k->m : k->n_vars;
  uint64_t free_bytes;
  enum cuzk_status st;
  k->block = CUZK_CUDA_SETUP_BLOCK;
  while (k->block / 2 >= longest && k->block > CUZK_CUDA_SETUP_LEAST) k->block /= 2;
  CUZK_TRY(cuzk_cuda_available(k->gpu, &free_bytes, k->d));
  uint64_t work;
  for (;; k->block /= 2) {
    const uint64_t w1 = cuzk_cuda_fixed_work_bytes(k->gpu, false, k->block), w2 = cuzk_cuda_fixed_work_bytes(k->gpu, true, k->block / 2);
    work = w1 > w2 ? w1 : w2;
    const uint64_t all = work + 2 * k->block * G1_BYTES + k->block * sizeof(cuzk_fr);
    if (4 * all <= free_bytes || k->block == CUZK_CUDA_SETUP_LEAST) break;
  }
  for (int i = 0; i < 2; i++) CUZK_TRY(cuzk_cuda_alloc(k->gpu, &k->out[i], k->block * G1_BYTES, k->d));
  CUZK_TRY(cuzk_cuda_alloc(k->gpu, &k->scalars, k->block * sizeof(cuzk_fr), k->d));
  CUZK_TRY(cuzk_cuda_available(k->gpu, &free_bytes, k->d));
  /* An eighth stays free for the device's own needs where memory is short. */
  const uint64_t want = (uint64_t)k->n_vars * RANGE_BYTES, spare = work + free_bytes / 8;
  k->range = k->n_vars;
  if (want + spare > free_bytes) k->range = free_bytes > spare ? (size_t)((free_bytes - spare) / RANGE_BYTES) : 0;
  for (;; k->range /= 2) {
    if (k->range < CUZK_CUDA_SETUP_LEAST && k->range < k->n_vars) k->range = k->n_vars < CUZK_CUDA_SETUP_LEAST ? k->n_vars : CUZK_CUDA_SETUP_LEAST;
    st = CUZK_OK;
    for (int side = 0; side < 3 && st == CUZK_OK; side++) st = cuzk_cuda_alloc(k->gpu, &k->column[side], k->range * sizeof(cuzk_fr), k->d);
    if (st == CUZK_OK) st = cuzk_cuda_alloc(k->gpu, &k->scratch, cuzk_cuda_columns_bytes(k->range), k->d);
    if (st != CUZK_E_NOMEM || k->range <= CUZK_CUDA_SETUP_LEAST) break;
    for (int side = 0; side < 3; side++) cuzk_cuda_free(k->gpu, &k->column[side]);
  }
  if (st != CUZK_OK) return st;
  k->t.ranges = (uint32_t)((k->n_vars + k->range - 1) / k->range);
  st = CUZK_OK;
out:
  return st;
}

static enum cuzk_status check_toxic(const struct cuzk_toxic *t, struct cuzk_detail *d) {
  const struct {
    const char *name;
    const cuzk_fr *v;
  } c[] = {{"alpha", &t->alpha}, {"beta", &t->beta}, {"gamma", &t->gamma}, {"delta", &t->delta}, {"tau", &t->tau}};
  for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
    if (cuzk_fr_is_zero(c[i].v)) return cuzk_fail(d, CUZK_E_ARG, "toxic waste: %s is zero", c[i].name);
  return CUZK_OK;
}

static void release(struct maker *k) {
  queue_end(&k->q);
  k->t.sink = k->q.seconds;
  if (!k->gpu) return;
  struct {
    void **p;
    size_t bytes;
  } secret[] = {{&k->lagrange, k->m * sizeof(cuzk_fr)},     {&k->scalars, k->block * sizeof(cuzk_fr)},
                {&k->column[0], k->range * sizeof(cuzk_fr)}, {&k->column[1], k->range * sizeof(cuzk_fr)},
                {&k->column[2], k->range * sizeof(cuzk_fr)}, {&k->scratch, cuzk_cuda_columns_bytes(k->range)}};
  for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++) {
    if (*secret[i].p) (void)cuzk_cuda_wipe(k->gpu, *secret[i].p, secret[i].bytes, NULL);
  }
  (void)cuzk_cuda_wipe(k->gpu, NULL, 0, NULL);
  (void)cuzk_cuda_sync(k->gpu, NULL);
  for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++) cuzk_cuda_free(k->gpu, secret[i].p);
  cuzk_cuda_lane_destroy(&k->lane);
  for (unsigned i = 0; i < PIECES; i++) cuzk_cuda_host_free(k->gpu, (void **)&k->q.piece[i]);
  for (int i = 0; i < 2; i++) {
    cuzk_cuda_free(k->gpu, &k->out[i]);
    cuzk_cuda_fixed_destroy(k->gpu, &k->fixed[i]);
  }
  cuzk_cuda_rows_destroy(k->gpu, &k->rows);
  cuzk_cuda_destroy(&k->gpu);
}

enum cuzk_status cuzk_cuda_setup_run(const struct cuzk_cuda_setup *s, const struct cuzk_setup_sink *sink, struct cuzk_cuda_setup_times *times,
                                     struct cuzk_detail *d) {
  struct cuzk_compact_info info;
  struct maker k = {.in = s, .d = d};
  enum cuzk_status st = check_toxic(s->toxic, d);
  if (st != CUZK_OK) return st;
  cuzk_compact_info(&info, s->circuit);
  k.name = info.name;
  k.w.alpha = s->toxic->alpha;
  k.w.beta = s->toxic->beta;
  cuzk_fr_inv_var(&k.w.inv_gamma, &s->toxic->gamma);
  cuzk_fr_inv_var(&k.w.inv_delta, &s->toxic->delta);
  double at = now();
  CUZK_TRY(cuzk_cuda_create(&k.gpu, (int)s->device, d));
  cuzk_cuda_set_limit(k.gpu, s->memory_limit);
  cuzk_cuda_set_lean(k.gpu, true); /* one transform is not worth tables as large as itself */
  CUZK_TRY(cuzk_cuda_lane_create(k.gpu, &k.lane, d));
  for (int i = 0; i < 2; i++) CUZK_TRY(cuzk_cuda_fixed_create(k.gpu, &k.fixed[i], i == 1, d));
  CUZK_TRY(take_circuit(&k));
  k.t.tables = now() - at;
  at = now();
  CUZK_TRY(cuzk_cuda_alloc(k.gpu, &k.lagrange, k.m * sizeof(cuzk_fr), d));
  CUZK_TRY(cuzk_cuda_lagrange(k.gpu, k.lagrange, &s->toxic->tau, k.log2_m, d));
  CUZK_TRY(cuzk_cuda_trim(k.gpu, d));
  k.t.lagrange = now() - at;
  CUZK_TRY(take_memory(&k));
  CUZK_TRY(queue_start(&k, sink));
  CUZK_TRY(count_columns(&k));
  at = now();
  const double columns = k.t.columns;
  st = send_all(&k);
  k.t.points = now() - at - (k.t.columns - columns);
out:
  release(&k);
  if (times) *times = k.t;
  cuzk_secret_clear(&k.w, sizeof k.w);
  return st;
}

enum cuzk_status cuzk_cuda_setup_make(void *user, const struct cuzk_setup_sink *sink, struct cuzk_detail *d) {
  return cuzk_cuda_setup_run(user, sink, NULL, d);
}
