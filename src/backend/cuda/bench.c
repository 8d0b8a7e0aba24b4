/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "backend/cuda/bench.h"

#include <string.h>
#include <time.h>

#include "backend/cuda/finish.h"
#include "backend/cuda/setup.h"
#include "base/fail.h"

/* 32x32-bit products: of a product and a square in Fp (144 each for product and reduction, 78 for a square), in Fr with the shape of r, of an
 * addition by shared inversion (five products and a square of the field), and of a point's way out of a parameter file. */
#define FP_MUL 288.0
#define FP_SQR 222.0
#define FR_MUL 112.0
#define G1_ADD (5 * FP_MUL + FP_SQR)
#define G2_ADD (5 * 3 * FP_MUL + 2 * FP_MUL)
#define G1_DECODE (3 * FP_MUL + 2 * FP_SQR)
#define G2_DECODE (4 * FP_MUL + 3 * FP_MUL + 4 * FP_MUL)
/* Products of a transform, for each element and index bit. */
#define NTT_PRODUCTS (12.5 / 27)
#define FIXED_ADDITIONS 15
#define HOST_BYTES ((size_t)256 << 20)

struct bench {
  const struct cuzk_cuda_bench *in;
  struct cuzk_cuda *gpu;
  struct cuzk_detail *d;
  double rate[CUZK_CUDA_RATES];
};

static double now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void put(struct bench *b, const char *name, unsigned log2_n, double ms, double floor_ms, double operations, const char *unit) {
  const struct cuzk_cuda_bench_row r = {name,  log2_n, ms, floor_ms, ms > 0 ? operations / ms * 1e3 : 0, floor_ms > 0 ? operations / floor_ms * 1e3 : 0,
                                        unit};
  b->in->row(b->in->user, &r);
}

/* ms that so many 32-bit products take at the least, and so many bytes. */
static double products_ms(const struct bench *b, double products) { return products / b->rate[CUZK_CUDA_RATE_WIDE] * 1e3; }
static double larger_ms(const struct bench *b, double products, double bytes) {
  const double p = products_ms(b, products), m = bytes / b->rate[CUZK_CUDA_RATE_COPY] * 1e3;
  return p > m ? p : m;
}

/* No memory for one size: the others go on. */
static enum cuzk_status or_leave_out(struct bench *b, enum cuzk_status st, const char *name, unsigned log2_n) {
  if (st != CUZK_E_NOMEM) return st;
  if (b->in->left_out) b->in->left_out(b->in->user, name, log2_n);
  return cuzk_cuda_trim(b->gpu, b->d);
}

/* ---- Rates ---- */

static enum cuzk_status rates(struct bench *b) {
  static const struct {
    enum cuzk_cuda_rate what;
    const char *name, *unit;
    double products;
  } r[] = {{CUZK_CUDA_RATE_WIDE, "multiply-add 32x32+64", "products", 1}, {CUZK_CUDA_RATE_COPY, "copy on the device, read and written", "bytes", 0},
           {CUZK_CUDA_RATE_FP_MUL, "Fp product", "products", FP_MUL},       {CUZK_CUDA_RATE_FP_SQR, "Fp square", "products", FP_SQR},
           {CUZK_CUDA_RATE_FR_MUL, "Fr product", "products", FR_MUL},       {CUZK_CUDA_RATE_FP_ADD, "Fp addition", "additions", 0}};
  for (size_t i = 0; i < sizeof r / sizeof r[0]; i++) {
    const enum cuzk_status st = cuzk_cuda_measure(b->gpu, r[i].what, &b->rate[r[i].what], b->d);
    if (st != CUZK_OK) return st;
    const struct cuzk_cuda_bench_row row = {
        r[i].name, 0, 0, 0, b->rate[r[i].what], r[i].products > 0 ? b->rate[CUZK_CUDA_RATE_WIDE] / r[i].products : 0, r[i].unit};
    b->in->row(b->in->user, &row);
  }
  return CUZK_OK;
}

static enum cuzk_status copies(struct bench *b) {
  void *host = NULL, *device = NULL;
  struct cuzk_cuda_lane *lane = NULL;
  enum cuzk_status st;
  CUZK_TRY(cuzk_cuda_host_alloc(b->gpu, &host, HOST_BYTES, b->d));
  CUZK_TRY(cuzk_cuda_alloc(b->gpu, &device, HOST_BYTES, b->d));
  CUZK_TRY(cuzk_cuda_lane_create(b->gpu, &lane, b->d));
  memset(host, 1, HOST_BYTES);
  for (int down = 0; down < 2; down++) {
    double best = 1e300;
    for (int r = 0; r < 4; r++) {
      const double t = now();
      CUZK_TRY(down ? cuzk_cuda_lane_download(lane, host, device, HOST_BYTES, b->d) : cuzk_cuda_lane_upload(lane, device, host, HOST_BYTES, b->d));
      CUZK_TRY(cuzk_cuda_lane_wait(lane, b->d));
      const double ms = (now() - t) * 1e3;
      if (ms < best) best = ms;
    }
    put(b, down ? "copy to page-locked memory" : "copy from page-locked memory", 28, best, 0, (double)HOST_BYTES, "bytes");
  }
out:
  cuzk_cuda_lane_destroy(&lane);
  cuzk_cuda_free(b->gpu, &device);
  cuzk_cuda_host_free(b->gpu, &host);
  return st;
}

/* ---- Transforms ---- */

static enum cuzk_status transforms(struct bench *b, unsigned log2_n) {
  static const struct {
    const char *name;
    enum cuzk_cuda_ntt_kind kind;
  } kinds[] = {{"inverse transform, to reversed order", CUZK_CUDA_INTT_NR}, {"transform, from reversed order", CUZK_CUDA_NTT_RN}};
  const size_t n = (size_t)1 << log2_n, bytes = n * sizeof(cuzk_fr);
  const double floor = products_ms(b, NTT_PRODUCTS * log2_n * (double)n * FR_MUL);
  void *v[3] = {NULL, NULL, NULL};
  float ms;
  double best;
  enum cuzk_status st;
  for (int j = 0; j < 3; j++) {
    CUZK_TRY(cuzk_cuda_alloc(b->gpu, &v[j], bytes, b->d));
    CUZK_TRY(cuzk_cuda_fill_random_fr(b->gpu, v[j], n, 3 + (uint64_t)j, b->d));
  }
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    best = 1e300;
    for (int r = 0; r < 5; r++) { /* the first builds tables */
      CUZK_TRY(cuzk_cuda_timer_start(b->gpu, b->d));
      CUZK_TRY(cuzk_cuda_transform(b->gpu, v[0], log2_n, kinds[k].kind, b->d));
      CUZK_TRY(cuzk_cuda_timer_stop(b->gpu, &ms, b->d));
      if (r && ms < best) best = ms;
    }
    put(b, kinds[k].name, log2_n, best, floor, (double)n, "elements");
  }
  best = 1e300;
  for (int r = 0; r < 3; r++) {
    bool zero;
    for (int j = 0; j < 3; j++) CUZK_TRY(cuzk_cuda_fill_random_fr(b->gpu, v[j], n, 3 + (uint64_t)j, b->d));
    CUZK_TRY(cuzk_cuda_timer_start(b->gpu, b->d));
    CUZK_TRY(cuzk_cuda_h_poly(b->gpu, v[0], v[1], v[2], log2_n, &zero, b->d));
    CUZK_TRY(cuzk_cuda_timer_stop(b->gpu, &ms, b->d));
    if (r && ms < best) best = ms;
  }
  put(b, "h polynomial, six transforms", log2_n, best, 6 * floor, (double)n, "elements");
  best = 1e300;
  for (int r = 0; r < 3; r++) {
    cuzk_fr tau;
    cuzk_cuda_random_fr(&tau, 9, (uint64_t)r);
    CUZK_TRY(cuzk_cuda_timer_start(b->gpu, b->d));
    CUZK_TRY(cuzk_cuda_lagrange(b->gpu, v[0], &tau, log2_n, b->d));
    CUZK_TRY(cuzk_cuda_timer_stop(b->gpu, &ms, b->d));
    if (ms < best) best = ms;
  }
  put(b, "Lagrange coefficients", log2_n, best, floor + larger_ms(b, (double)n * FR_MUL, (double)bytes), (double)n, "elements");
out:
  for (int j = 0; j < 3; j++) cuzk_cuda_free(b->gpu, &v[j]);
  if (st == CUZK_OK || st == CUZK_E_NOMEM) {
    const enum cuzk_status after = cuzk_cuda_trim(b->gpu, b->d);
    if (after != CUZK_OK) st = after;
  }
  return st;
}

/* ---- Sums ---- */

/* n distinct points. */
static enum cuzk_status points(struct bench *b, void **p, size_t n, bool g2) {
  union {
    cuzk_g1_affine g1[40];
    cuzk_g2_affine g2[40];
  } powers;
  enum cuzk_status st = cuzk_cuda_alloc(b->gpu, p, n * (g2 ? sizeof(cuzk_g2_affine) : sizeof(cuzk_g1_affine)), b->d);
  if (st != CUZK_OK) return st;
  if (g2) {
    cuzk_cuda_generator_powers_g2(powers.g2, 40);
    st = cuzk_cuda_upload(b->gpu, *p, &powers.g2[39], sizeof powers.g2[0], b->d);
    return st == CUZK_OK ? cuzk_cuda_progression_g2(b->gpu, *p, n, powers.g2, b->d) : st;
  }
  cuzk_cuda_generator_powers_g1(powers.g1, 40);
  st = cuzk_cuda_upload(b->gpu, *p, &powers.g1[39], sizeof powers.g1[0], b->d);
  return st == CUZK_OK ? cuzk_cuda_progression_g1(b->gpu, *p, n, powers.g1, b->d) : st;
}

static enum cuzk_status sums(struct bench *b, unsigned log2_n, bool g2) {
  const size_t n = (size_t)1 << log2_n;
  struct cuzk_cuda_msm_times t;
  cuzk_g1_affine r1;
  cuzk_g2_affine r2;
  void *p = NULL, *s = NULL;
  double best = 1e300;
  enum cuzk_status st;
  CUZK_TRY(points(b, &p, n, g2));
  CUZK_TRY(cuzk_cuda_alloc(b->gpu, &s, n * sizeof(cuzk_fr), b->d));
  CUZK_TRY(cuzk_cuda_fill_random_fr(b->gpu, s, n, log2_n, b->d));
  for (int r = 0; r < 4; r++) {
    const double start = now();
    CUZK_TRY(g2 ? cuzk_cuda_msm_g2(b->gpu, &r2, p, s, n, 0, r ? NULL : &t, b->d) : cuzk_cuda_msm_g1(b->gpu, &r1, p, s, n, 0, r ? NULL : &t, b->d));
    const double ms = (now() - start) * 1e3;
    if (r && ms < best) best = ms;
  }
  put(b, g2 ? "G2 sum" : "G1 sum", log2_n, best, products_ms(b, (double)t.additions * (g2 ? G2_ADD : G1_ADD)), (double)t.additions, "additions");
  /* The same random words as bits. */
  best = 1e300;
  for (int r = 0; r < 4; r++) {
    const double start = now();
    CUZK_TRY(g2 ? cuzk_cuda_subset_sum_g2(b->gpu, &r2, p, s, n, &t, b->d) : cuzk_cuda_subset_sum_g1(b->gpu, &r1, p, s, n, &t, b->d));
    const double ms = (now() - start) * 1e3;
    if (r && ms < best) best = ms;
  }
  put(b, g2 ? "G2 subset sum, about half of the bits set" : "G1 subset sum, about half of the bits set", log2_n, best,
      products_ms(b, (double)t.additions * (g2 ? G2_ADD : G1_ADD)), (double)t.additions, "additions");
out:
  cuzk_cuda_free(b->gpu, &p);
  cuzk_cuda_free(b->gpu, &s);
  return st;
}

/* ---- Key generation, and parameters on their way in ---- */

static enum cuzk_status files(struct bench *b, unsigned log2_n, bool g2) {
  const size_t n = (size_t)1 << log2_n, bytes = n * (g2 ? sizeof(cuzk_g2_affine) : sizeof(cuzk_g1_affine));
  struct cuzk_cuda_fixed *f = NULL;
  void *raw = NULL, *p = NULL, *s = NULL, *bad = NULL;
  float ms;
  double best = 1e300;
  enum cuzk_status st;
  CUZK_TRY(cuzk_cuda_fixed_create(b->gpu, &f, g2, b->d));
  CUZK_TRY(cuzk_cuda_alloc(b->gpu, &raw, bytes, b->d));
  CUZK_TRY(cuzk_cuda_alloc(b->gpu, &p, bytes, b->d));
  CUZK_TRY(cuzk_cuda_alloc(b->gpu, &s, n * sizeof(cuzk_fr), b->d));
  CUZK_TRY(cuzk_cuda_alloc(b->gpu, &bad, sizeof(uint32_t), b->d));
  CUZK_TRY(cuzk_cuda_fill_random_fr(b->gpu, s, n, 17, b->d));
  for (int r = 0; r < 4; r++) {
    CUZK_TRY(cuzk_cuda_timer_start(b->gpu, b->d));
    CUZK_TRY(cuzk_cuda_fixed_mul(b->gpu, f, raw, s, n, b->d));
    CUZK_TRY(cuzk_cuda_timer_stop(b->gpu, &ms, b->d));
    if (r && ms < best) best = ms;
  }
  put(b, g2 ? "multiples of the G2 generator, encoded" : "multiples of the G1 generator, encoded", log2_n, best,
      products_ms(b, (double)n * FIXED_ADDITIONS * (g2 ? G2_ADD : G1_ADD)), (double)n, "points");
  best = 1e300;
  for (int r = 0; r < 4; r++) {
    CUZK_TRY(cuzk_cuda_timer_start(b->gpu, b->d));
    CUZK_TRY(g2 ? cuzk_cuda_decode_g2(b->gpu, p, raw, n, 0, 0, bad, b->d) : cuzk_cuda_decode_g1(b->gpu, p, raw, n, 0, 0, bad, b->d));
    CUZK_TRY(cuzk_cuda_timer_stop(b->gpu, &ms, b->d));
    if (r && ms < best) best = ms;
  }
  put(b, g2 ? "G2 points decoded and checked" : "G1 points decoded and checked", log2_n, best,
      larger_ms(b, (double)n * (g2 ? G2_DECODE : G1_DECODE), 2 * (double)bytes), (double)n, "points");
out:
  cuzk_cuda_fixed_destroy(b->gpu, &f);
  cuzk_cuda_free(b->gpu, &raw);
  cuzk_cuda_free(b->gpu, &p);
  cuzk_cuda_free(b->gpu, &s);
  cuzk_cuda_free(b->gpu, &bad);
  return st;
}

/* Sizes two apart, the largest always. */
static unsigned next_size(unsigned k, unsigned most) { return k + 2 > most && k != most ? most : k + 2; }

enum cuzk_status cuzk_cuda_bench_run(const struct cuzk_cuda_bench *in, struct cuzk_detail *d) {
  struct bench b = {.in = in, .d = d};
  const unsigned g2_most = in->most < 24 ? in->most : 24, file_log2 = in->most < 20 ? in->most : 20;
  enum cuzk_status st;
  if (in->most < 16 || in->most > 27) return cuzk_fail(d, CUZK_E_ARG, "sizes up to 2^%u: 16 to 27", in->most);
  CUZK_TRY(cuzk_cuda_create(&b.gpu, in->device, d));
  CUZK_TRY(rates(&b));
  CUZK_TRY(copies(&b));
  for (unsigned k = 16; k <= in->most; k = next_size(k, in->most)) CUZK_TRY(or_leave_out(&b, transforms(&b, k), "transforms", k));
  for (unsigned k = 16; k <= in->most; k = next_size(k, in->most)) CUZK_TRY(or_leave_out(&b, sums(&b, k, false), "G1 sums", k));
  for (unsigned k = 16; k <= g2_most; k = next_size(k, g2_most)) CUZK_TRY(or_leave_out(&b, sums(&b, k, true), "G2 sums", k));
  CUZK_TRY(cuzk_cuda_trim(b.gpu, d));
  CUZK_TRY(or_leave_out(&b, files(&b, file_log2, false), "G1 points of files", file_log2));
  CUZK_TRY(or_leave_out(&b, files(&b, file_log2 - 1, true), "G2 points of files", file_log2 - 1));
out:
  cuzk_cuda_destroy(&b.gpu);
  return st;
}
