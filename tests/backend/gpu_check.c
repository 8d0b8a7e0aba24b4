/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Compares every operation of the CUDA backend with the CPU code, bit for bit, on random, boundary and adversarial inputs,
 * then times the kernels and prints their rates beside their floors as JSON. Needs a device; built by tools/cuda_build.sh.
 *
 *   gpu_check [check|quick] [rates] [once=LOG] [ntt=LOG] [msm=LOG] [msm2=LOG] [bits=LOG] [h=LOG] [json=FILE] [device=N]
 *
 * quick: small checks only, for compute-sanitizer. once: a single G1 sum, for profilers. ntt, msm, msm2 (G2), bits (subset sums):
 * times sizes up to 2^LOG; h: compares h polynomials of that size; msm also scalars that crowd into few buckets. Large sums are checked against known multiples: the
 * bases are an arithmetic progression u + i v times the generator. Exit code 1 if anything differs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/partition.h"
#include "base/alloc.h"
#include "base/pool.h"
#include "msm/msm.h"
#include "poly/ntt.h"

static struct cuzk_cuda *gpu;
static struct cuzk_pool *pool;
static struct cuzk_detail detail;
static FILE *json;
static int json_items, failures, checks;

static void die(const char *what) {
  fprintf(stderr, "gpu_check: %s: %s\n", what, detail.text);
  exit(1);
}
#define MUST(expr)                         \
  do {                                     \
    if ((expr) != CUZK_OK) die(#expr);     \
  } while (0)

static uint64_t rng = 0x63757a6bu;
static uint64_t rnd(void) {
  uint64_t z = (rng += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *mem(size_t bytes) {
  void *p = cuzk_malloc(bytes ? bytes : 1);
  if (!p) die("host memory");
  return p;
}

static void expect(bool ok, const char *what, size_t n, const char *how) {
  checks++;
  if (ok) return;
  failures++;
  if (failures <= 40) fprintf(stderr, "DIFFERS: %s, n = %zu, %s\n", what, n, how);
}

/* One JSON object of the result list. */
static void report(const char *op, unsigned log_n, double ms, double floor_ms, const char *more) {
  printf("%-22s 2^%-3u %10.3f ms", op, log_n, ms);
  if (floor_ms > 0) printf("   floor %9.3f ms   x%.2f  %s", floor_ms, ms / floor_ms, more);
  printf("\n");
  fflush(stdout);
  if (json)
    fprintf(json, "%s\n  {\"op\": \"%s\", \"log2_n\": %u, \"ms\": %.4f, \"floor_ms\": %.4f%s%s}", json_items++ ? "," : "", op, log_n,
            ms, floor_ms, *more ? ", " : "", more);
}

/* --- transforms ------------------------------------------------------------------------------------------------------- */

static void check_transforms(unsigned most) {
  static const unsigned sizes[] = {0, 1, 2, 3, 6, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes && sizes[k] <= most; k++) {
    const unsigned log_n = sizes[k];
    const size_t n = (size_t)1 << log_n, bytes = n * sizeof(cuzk_fr);
    struct cuzk_domain *dom;
    MUST(cuzk_domain_create(&dom, log_n, pool));
    cuzk_fr *want = mem(bytes), *got = mem(bytes), *in = mem(bytes);
    void *v;
    MUST(cuzk_cuda_alloc(gpu, &v, bytes, &detail));
    for (int pattern = 0; pattern < 3; pattern++) {
      for (size_t i = 0; i < n; i++) {
        if (pattern == 0) cuzk_cuda_random_fr(&in[i], rnd(), i);
        if (pattern == 1) cuzk_fr_neg(&in[i], &cuzk_fr_one); /* all r - 1 */
        if (pattern == 2) cuzk_fr_from_u64(&in[i], rnd() & 1);
      }
      for (int op = 0; op < 4; op++) {
        static const char *const names[] = {"ntt", "intt", "coset ntt", "coset intt"};
        memcpy(want, in, bytes);
        MUST(cuzk_cuda_upload(gpu, v, in, bytes, &detail));
        if (op == 0) {
          MUST(cuzk_ntt(want, dom, pool));
          MUST(cuzk_cuda_bit_reverse(gpu, v, log_n, &detail));
          MUST(cuzk_cuda_transform(gpu, v, log_n, CUZK_CUDA_NTT_RN, &detail));
        } else if (op == 1) {
          MUST(cuzk_intt(want, dom, pool));
          MUST(cuzk_cuda_transform(gpu, v, log_n, CUZK_CUDA_INTT_NR, &detail));
          MUST(cuzk_cuda_bit_reverse(gpu, v, log_n, &detail));
        } else if (op == 2) {
          MUST(cuzk_coset_ntt(want, dom, pool));
          MUST(cuzk_cuda_bit_reverse(gpu, v, log_n, &detail));
          MUST(cuzk_cuda_transform(gpu, v, log_n, CUZK_CUDA_COSET_NTT_RN, &detail));
        } else {
          MUST(cuzk_coset_intt(want, dom, pool));
          MUST(cuzk_cuda_transform(gpu, v, log_n, CUZK_CUDA_COSET_INTT_NR, &detail));
          MUST(cuzk_cuda_bit_reverse(gpu, v, log_n, &detail));
        }
        MUST(cuzk_cuda_download(gpu, got, v, bytes, &detail));
        expect(memcmp(want, got, bytes) == 0, names[op], n, pattern == 0 ? "random" : pattern == 1 ? "all r-1" : "bits");
      }
    }
    cuzk_cuda_free(gpu, &v);
    cuzk_free(want);
    cuzk_free(got);
    cuzk_free(in);
    cuzk_domain_destroy(&dom);
  }
}

struct h_values {
  cuzk_fr *v[3];
  size_t n;
  bool satisfied;
};
static void make_h_values(void *arg, size_t task, unsigned worker) {
  const struct h_values *h = arg;
  (void)worker;
  for (size_t i = task << 12; i < h->n && i < (task + 1) << 12; i++) {
    cuzk_cuda_random_fr(&h->v[0][i], 5, i);
    cuzk_cuda_random_fr(&h->v[1][i], 6, i);
    if (h->satisfied)
      cuzk_fr_mul(&h->v[2][i], &h->v[0][i], &h->v[1][i]);
    else
      cuzk_cuda_random_fr(&h->v[2][i], 7, i);
  }
}

/* step 1: rows that hold and others, in three vectors and in two with lean tables (from 2^21 on these differ); step 3: two of the four. */
static void check_h_of(unsigned log_n, int step) {
  for (int round = 0; round < 4; round += step) {
    const int satisfied = round & 1, narrow = round >> 1;
    const size_t n = (size_t)1 << log_n, bytes = n * sizeof(cuzk_fr);
    struct cuzk_domain *dom;
    MUST(cuzk_domain_create(&dom, log_n, pool));
    cuzk_fr *v[3], *got = mem(bytes);
    void *g[3];
    for (int j = 0; j < 3; j++) {
      v[j] = mem(bytes);
      MUST(cuzk_cuda_alloc(gpu, &g[j], bytes, &detail));
    }
    struct h_values values = {{v[0], v[1], v[2]}, n, satisfied};
    cuzk_pool_run(pool, make_h_values, &values, (n + 4095) >> 12);
    for (int j = 0; j < 3; j++) MUST(cuzk_cuda_upload(gpu, g[j], v[j], bytes, &detail));
    bool zero_cpu, zero_gpu;
    MUST(cuzk_h_poly(v[0], v[1], v[2], &zero_cpu, dom, pool));
    cuzk_cuda_set_lean(gpu, narrow);
    if (narrow) {
      MUST(cuzk_cuda_h_product(gpu, g[0], g[1], log_n, &detail));
      MUST(cuzk_cuda_h_minus(gpu, g[0], g[2], log_n, &zero_gpu, &detail));
    } else {
      MUST(cuzk_cuda_h_poly(gpu, g[0], g[1], g[2], log_n, &zero_gpu, &detail));
    }
    MUST(cuzk_cuda_bit_reverse(gpu, g[0], log_n, &detail));
    MUST(cuzk_cuda_download(gpu, got, g[0], bytes, &detail));
    expect(memcmp(got, v[0], bytes) == 0, "h polynomial", n, satisfied ? "satisfied" : "random");
    expect(zero_cpu == zero_gpu, "h polynomial, top coefficient", n, satisfied ? "satisfied" : "random");
    for (int j = 0; j < 3; j++) {
      cuzk_free(v[j]);
      cuzk_cuda_free(gpu, &g[j]);
    }
    cuzk_free(got);
    cuzk_domain_destroy(&dom);
  }
  cuzk_cuda_set_lean(gpu, false);
}
static void check_h(unsigned most) {
  static const unsigned sizes[] = {1, 4, 11, 12, 14, 16, 18, 21, 22};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes && sizes[k] <= most; k++) check_h_of(sizes[k], 1);
}

/* --- sums ------------------------------------------------------------------------------------------------------------- */

enum { SCALARS = 9, BASES = 5 };
static const char *const scalar_names[SCALARS] = {"random", "zero", "one", "r-1", "equal", "small", "bits", "mostly zero", "near r/2"};
static const char *const base_names[BASES] = {"distinct", "one point", "identities", "opposite", "small set"};

static void make_scalars(cuzk_fr *s, size_t n, int kind) {
  static const uint64_t half[4] = {0x7fffffff80000000u, 0xa9ded2017fff2dffu, 0x199cec0404d0ec02u, 0x39f6d3a994cebea4u};
  cuzk_fr x;
  cuzk_cuda_random_fr(&x, rnd(), 0);
  for (size_t i = 0; i < n; i++) {
    switch (kind) {
      case 0: cuzk_cuda_random_fr(&s[i], rng, i); break;
      case 1: s[i] = cuzk_fr_zero; break;
      case 2: s[i] = cuzk_fr_one; break;
      case 3: cuzk_fr_neg(&s[i], &cuzk_fr_one); break;
      case 4: s[i] = x; break;
      case 5: cuzk_fr_from_u64(&s[i], rnd() % 17); break;
      case 6: cuzk_fr_from_u64(&s[i], rnd() & 1); break;
      case 7:
        if (rnd() % 16 == 0)
          cuzk_cuda_random_fr(&s[i], rng, i);
        else
          s[i] = cuzk_fr_zero;
        break;
      default: {
        cuzk_fr t;
        if (!cuzk_fr_from_canon(&s[i], half)) die("constant");
        cuzk_fr_from_u64(&t, rnd() % 3);
        cuzk_fr_add(&s[i], &s[i], &t);
      }
    }
  }
}

#define MAKE_BASES(G)                                                                                        \
  static void make_bases_##G(cuzk_##G##_affine *p, size_t n, int kind) {                                     \
    cuzk_##G *t = mem((n + 1) * sizeof *t), q;                                                               \
    cuzk_fr k;                                                                                               \
    cuzk_cuda_random_fr(&k, rnd(), 1);                                                                       \
    cuzk_##G##_from_affine(&t[0], &cuzk_##G##_generator);                                                    \
    cuzk_##G##_mul_var(&t[0], &t[0], &k);                                                                    \
    cuzk_##G##_dbl(&q, &t[0]);                                                                               \
    cuzk_##G##_dbl(&q, &q);                                                                                  \
    for (size_t i = 1; i < n; i++) cuzk_##G##_add(&t[i], &t[i - 1], &q);                                     \
    if (n) MUST(cuzk_##G##_to_affine_batch(p, t, n));                                                        \
    for (size_t i = 0; i < n; i++) {                                                                         \
      if (kind == 1) p[i] = p[0];                                                                            \
      if (kind == 2 && rnd() % 3 == 0) memset(&p[i], 0, sizeof p[i]);                                        \
      if (kind == 3 && (i & 1)) cuzk_##G##_affine_neg(&p[i], &p[i - 1]);                                     \
      if (kind == 4) p[i] = p[rnd() % (n < 5 ? n : 5)];                                                      \
    }                                                                                                        \
    cuzk_free(t);                                                                                            \
  }                                                                                                          \
  static void check_msm_##G(const size_t *sizes, size_t n_sizes) {                                           \
    for (size_t z = 0; z < n_sizes; z++)                                                                     \
      for (int b = 0; b < BASES; b++) {                                                                      \
        const size_t n = sizes[z];                                                                           \
        cuzk_##G##_affine *p = mem(n * sizeof *p), want, got;                                                \
        cuzk_fr *s = mem(n * sizeof *s);                                                                     \
        void *gp, *gs, *gb;                                                                                  \
        MUST(cuzk_cuda_alloc(gpu, &gp, (n + 1) * sizeof *p, &detail));                                       \
        MUST(cuzk_cuda_alloc(gpu, &gs, (n + 1) * sizeof *s, &detail));                                       \
        MUST(cuzk_cuda_alloc(gpu, &gb, n / 8 + 16, &detail));                                                \
        make_bases_##G(p, n, b);                                                                             \
        if (n) MUST(cuzk_cuda_upload(gpu, gp, p, n * sizeof *p, &detail));                                   \
        for (int k = 0; k < SCALARS; k++) {                                                                  \
          char how[96];                                                                                      \
          cuzk_##G r;                                                                                        \
          make_scalars(s, n, k);                                                                             \
          if (n) MUST(cuzk_cuda_upload(gpu, gs, s, n * sizeof *s, &detail));                                 \
          MUST(cuzk_msm_##G(&r, p, s, n, pool));                                                             \
          cuzk_##G##_to_affine(&want, &r);                                                                   \
          const unsigned windows = k == 0 ? 0 : k == 4 ? 16 : 15 + (unsigned)(rnd() % 26);                   \
          MUST(cuzk_cuda_msm_##G(gpu, &got, gp, gs, n, windows, NULL, &detail));                             \
          snprintf(how, sizeof how, "%s bases, %s scalars, %u windows", base_names[b], scalar_names[k], windows); \
          expect(memcmp(&want, &got, sizeof want) == 0, "msm " #G, n, how);                                  \
        }                                                                                                    \
        for (int k = 0; k < 4; k++) { /* none, all, half, few */                                             \
          uint32_t *bits = mem((n / 32 + 1) * 4);                                                            \
          char how[96];                                                                                      \
          cuzk_##G r = cuzk_##G##_identity;                                                                  \
          memset(bits, 0, (n / 32 + 1) * 4);                                                                 \
          for (size_t i = 0; i < n; i++) {                                                                   \
            const bool set = k == 0 ? false : k == 1 ? true : k == 2 ? (rnd() & 1) : rnd() % 100 == 0;       \
            if (!set) continue;                                                                              \
            bits[i / 32] |= 1u << (i % 32);                                                                  \
            cuzk_##G##_add_affine(&r, &r, &p[i]);                                                            \
          }                                                                                                  \
          if (k == 1) memset(bits, 0xff, (n / 32 + 1) * 4); /* bits past the end must be ignored */          \
          MUST(cuzk_cuda_upload(gpu, gb, bits, (n / 32 + 1) * 4, &detail));                                  \
          MUST(cuzk_cuda_subset_sum_##G(gpu, &got, gp, gb, n, NULL, &detail));                               \
          cuzk_##G##_to_affine(&want, &r);                                                                   \
          snprintf(how, sizeof how, "%s bases, pattern %d", base_names[b], k);                               \
          expect(memcmp(&want, &got, sizeof want) == 0, "subset sum " #G, n, how);                           \
          cuzk_free(bits);                                                                                   \
        }                                                                                                    \
        cuzk_cuda_free(gpu, &gp);                                                                            \
        cuzk_cuda_free(gpu, &gs);                                                                            \
        cuzk_cuda_free(gpu, &gb);                                                                            \
        cuzk_free(p);                                                                                        \
        cuzk_free(s);                                                                                        \
      }                                                                                                      \
  }
MAKE_BASES(g1)
MAKE_BASES(g2)

/* --- known multiples -------------------------------------------------------------------------------------------------- */

enum { SPAN = 1 << 16 };
struct known {
  uint64_t seed;
  size_t n;
  const uint32_t *bits; /* NULL: random scalars */
  cuzk_fr *sum, *weighted; /* per span */
};

static void known_task(void *arg, size_t task, unsigned worker) {
  (void)worker;
  const struct known *k = arg;
  const size_t lo = task * SPAN, hi = lo + SPAN < k->n ? lo + SPAN : k->n;
  cuzk_fr s = cuzk_fr_zero, t = cuzk_fr_zero, x, f;
  /* s = sum, t = sum of (i - lo + 1) x_i by partial sums from the top */
  for (size_t i = hi; i-- > lo;) {
    if (k->bits) {
      if (k->bits[i / 32] >> (i % 32) & 1) cuzk_fr_add(&s, &s, &cuzk_fr_one);
    } else {
      cuzk_cuda_random_fr(&x, k->seed, i);
      cuzk_fr_add(&s, &s, &x);
    }
    cuzk_fr_add(&t, &t, &s);
  }
  /* sum of i x_i = t + (lo - 1) s */
  cuzk_fr_from_u64(&f, lo);
  cuzk_fr_sub(&f, &f, &cuzk_fr_one);
  cuzk_fr_mul(&f, &f, &s);
  cuzk_fr_add(&t, &t, &f);
  k->sum[task] = s;
  k->weighted[task] = t;
}

/* u sum x_i + v sum i x_i */
static void known_multiple(cuzk_fr *r, size_t n, uint64_t seed, const uint32_t *bits, const cuzk_fr *u, const cuzk_fr *v) {
  const size_t tasks = (n + SPAN - 1) / SPAN;
  struct known k = {seed, n, bits, mem(tasks * sizeof *k.sum), mem(tasks * sizeof *k.weighted)};
  cuzk_pool_run(pool, known_task, &k, tasks);
  cuzk_fr s = cuzk_fr_zero, t = cuzk_fr_zero;
  for (size_t i = 0; i < tasks; i++) {
    cuzk_fr_add(&s, &s, &k.sum[i]);
    cuzk_fr_add(&t, &t, &k.weighted[i]);
  }
  cuzk_fr_mul(&s, &s, u);
  cuzk_fr_mul(&t, &t, v);
  cuzk_fr_add(r, &s, &t);
  cuzk_free(k.sum);
  cuzk_free(k.weighted);
}

#define KNOWN(G)                                                                                             \
  static void *progression_##G(size_t n, cuzk_fr *u, cuzk_fr *v) {                                           \
    void *p;                                                                                                 \
    cuzk_##G t;                                                                                              \
    cuzk_##G##_affine first, powers[32];                                                                     \
    MUST(cuzk_cuda_alloc(gpu, &p, n * sizeof first, &detail));                                               \
    cuzk_cuda_random_fr(u, 11, 0);                                                                           \
    cuzk_cuda_random_fr(v, 12, 0);                                                                           \
    cuzk_##G##_from_affine(&t, &cuzk_##G##_generator);                                                       \
    cuzk_##G##_mul_var(&t, &t, u);                                                                           \
    cuzk_##G##_to_affine(&first, &t);                                                                        \
    cuzk_##G##_from_affine(&t, &cuzk_##G##_generator);                                                       \
    cuzk_##G##_mul_var(&t, &t, v);                                                                           \
    for (int i = 0; i < 32; i++) {                                                                           \
      cuzk_##G##_to_affine(&powers[i], &t);                                                                  \
      cuzk_##G##_dbl(&t, &t);                                                                                \
    }                                                                                                        \
    MUST(cuzk_cuda_upload(gpu, p, &first, sizeof first, &detail));                                           \
    MUST(cuzk_cuda_progression_##G(gpu, p, n, powers, &detail));                                             \
    return p;                                                                                                \
  }                                                                                                          \
  static void known_point_##G(cuzk_##G##_affine *r, const cuzk_fr *k) {                                      \
    cuzk_##G t;                                                                                              \
    cuzk_##G##_from_affine(&t, &cuzk_##G##_generator);                                                       \
    cuzk_##G##_mul_var(&t, &t, k);                                                                           \
    cuzk_##G##_to_affine(r, &t);                                                                             \
  }
KNOWN(g1)
KNOWN(g2)

static double rate[CUZK_CUDA_RATES];

/* 32-bit products of an affine addition by shared inversion (5 products and a squaring of the field). */
#define G1_ADD_PRODUCTS (5.0 * 288 + 222)
#define G2_ADD_PRODUCTS (5.0 * 864 + 576)

#define BENCH_MSM(G, PRODUCTS)                                                                               \
  static void bench_msm_##G(unsigned lo, unsigned hi) {                                                      \
    cuzk_fr u, v, k;                                                                                         \
    void *s, *p = progression_##G((size_t)1 << hi, &u, &v);                                                  \
    MUST(cuzk_cuda_alloc(gpu, &s, sizeof(cuzk_fr) << hi, &detail));                                          \
    for (unsigned log_n = lo; log_n <= hi; log_n += log_n + 2 > hi && log_n != hi ? 1 : 2) {                 \
      const size_t n = (size_t)1 << log_n;                                                                   \
      struct cuzk_cuda_msm_times best = {0};                                                              \
      cuzk_##G##_affine want, got;                                                                           \
      float ms, least = 1e30f;                                                                               \
      char more[256];                                                                                        \
      MUST(cuzk_cuda_fill_random_fr(gpu, s, n, log_n, &detail));                                             \
      MUST(cuzk_cuda_msm_##G(gpu, &got, p, s, n, 0, &best, &detail));                                        \
      known_multiple(&k, n, log_n, NULL, &u, &v);                                                            \
      known_point_##G(&want, &k);                                                                            \
      expect(memcmp(&want, &got, sizeof want) == 0, "large msm " #G, n, "known multiple");                   \
      for (int r = 0; r < 3; r++) {                                                                          \
        const double t0 = now();                                                                             \
        MUST(cuzk_cuda_msm_##G(gpu, &got, p, s, n, 0, NULL, &detail));                                       \
        ms = (float)((now() - t0) * 1e3);                                                                    \
        if (ms < least) least = ms;                                                                          \
        expect(memcmp(&want, &got, sizeof want) == 0, "large msm " #G, n, "repeated");                       \
      }                                                                                                      \
      snprintf(more, sizeof more,                                                                            \
               "\"windows\": %u, \"bits\": %u, \"additions\": %llu, \"digits_ms\": %.3f, \"sort_ms\": %.3f, "  \
               "\"add_ms\": %.3f, \"reduce_ms\": %.3f, \"adds_per_ns\": %.3f",                               \
               best.windows, best.bits, (unsigned long long)best.additions, best.digits, best.sort, best.add, \
               best.reduce, (double)best.additions / best.add * 1e-6);                                       \
      report("msm_" #G, log_n, least, (double)best.additions * (PRODUCTS) / rate[CUZK_CUDA_RATE_WIDE] * 1e3, more); \
    }                                                                                                        \
    cuzk_cuda_free(gpu, &s);                                                                                 \
    cuzk_cuda_free(gpu, &p);                                                                                 \
  }                                                                                                          \
  static void bench_bits_##G(unsigned log_n) {                                                               \
    const size_t n = (size_t)1 << log_n;                                                                     \
    cuzk_fr u, v, k;                                                                                         \
    uint32_t *bits = mem(n / 8);                                                                             \
    void *b, *p = progression_##G(n, &u, &v);                                                                \
    struct cuzk_cuda_msm_times t = {0};                                                                      \
    cuzk_##G##_affine want, got;                                                                             \
    char more[128];                                                                                          \
    for (size_t i = 0; i < n / 32; i++) bits[i] = (uint32_t)rnd();                                           \
    MUST(cuzk_cuda_alloc(gpu, &b, n / 8, &detail));                                                          \
    MUST(cuzk_cuda_upload(gpu, b, bits, n / 8, &detail));                                                    \
    known_multiple(&k, n, 0, bits, &u, &v);                                                                  \
    known_point_##G(&want, &k);                                                                              \
    double least = 1e30;                                                                                     \
    for (int r = 0; r < 4; r++) {                                                                            \
      const double t0 = now();                                                                               \
      MUST(cuzk_cuda_subset_sum_##G(gpu, &got, p, b, n, &t, &detail));                                       \
      const double ms = (now() - t0) * 1e3;                                                                  \
      if (r && ms < least) least = ms;                                                                       \
      expect(memcmp(&want, &got, sizeof want) == 0, "large subset sum " #G, n, "half the bits");             \
    }                                                                                                        \
    snprintf(more, sizeof more, "\"additions\": %llu, \"adds_per_ns\": %.3f", (unsigned long long)t.additions, \
             (double)t.additions / t.add * 1e-6);                                                            \
    report("subset_" #G, log_n, least, (double)t.additions * (PRODUCTS) / rate[CUZK_CUDA_RATE_WIDE] * 1e3, more); \
    cuzk_cuda_free(gpu, &b);                                                                                 \
    cuzk_cuda_free(gpu, &p);                                                                                 \
    cuzk_free(bits);                                                                                         \
  }
BENCH_MSM(g1, G1_ADD_PRODUCTS)
BENCH_MSM(g2, G2_ADD_PRODUCTS)

/* Scalars that crowd into few buckets must not take much longer than random ones. */
static void bench_skewed(unsigned log_n) {
  static const int kinds[] = {0, 3, 4, 5, 6};
  const size_t n = (size_t)1 << log_n;
  cuzk_fr u, v, *s = mem(n * sizeof *s);
  void *gs, *p = progression_g1(n, &u, &v);
  MUST(cuzk_cuda_alloc(gpu, &gs, n * sizeof *s, &detail));
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    cuzk_fr sum = cuzk_fr_zero, weighted = cuzk_fr_zero;
    cuzk_g1_affine want, got;
    char name[64];
    double least = 1e30;
    make_scalars(s, n, kinds[k]);
    for (size_t i = n; i-- > 0;) { /* weighted gets s[i] once for every j < i */
      cuzk_fr_add(&weighted, &weighted, &sum);
      cuzk_fr_add(&sum, &sum, &s[i]);
    }
    cuzk_fr_mul(&sum, &sum, &u);
    cuzk_fr_mul(&weighted, &weighted, &v);
    cuzk_fr_add(&sum, &sum, &weighted);
    known_point_g1(&want, &sum);
    MUST(cuzk_cuda_upload(gpu, gs, s, n * sizeof *s, &detail));
    for (int r = 0; r < 3; r++) {
      const double t0 = now();
      MUST(cuzk_cuda_msm_g1(gpu, &got, p, gs, n, 0, NULL, &detail));
      if ((now() - t0) * 1e3 < least) least = (now() - t0) * 1e3;
      expect(memcmp(&want, &got, sizeof want) == 0, "skewed msm g1", n, scalar_names[kinds[k]]);
    }
    snprintf(name, sizeof name, "msm_g1 %s", scalar_names[kinds[k]]);
    report(name, log_n, least, 0, "");
  }
  cuzk_cuda_free(gpu, &gs);
  cuzk_cuda_free(gpu, &p);
  cuzk_free(s);
}

static void bench_ntt(unsigned lo, unsigned hi) {
  static const struct {
    const char *name;
    enum cuzk_cuda_ntt_kind kind;
  } kinds[] = {{"intt_nr", CUZK_CUDA_INTT_NR}, {"ntt_rn", CUZK_CUDA_NTT_RN}};
  void *v[3];
  for (int j = 0; j < 3; j++) MUST(cuzk_cuda_alloc(gpu, &v[j], sizeof(cuzk_fr) << hi, &detail));
  for (unsigned log_n = lo; log_n <= hi; log_n += log_n + 2 > hi && log_n != hi ? 1 : 2) {
    const size_t n = (size_t)1 << log_n;
    /* 12.5 n products of 112 32-bit products each; three passes over the memory. */
    const double floor_ms = 12.5 / 27 * (double)log_n * (double)n * 112 / rate[CUZK_CUDA_RATE_WIDE] * 1e3;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      float ms, least = 1e30f;
      MUST(cuzk_cuda_fill_random_fr(gpu, v[0], n, 3, &detail));
      for (int r = 0; r < 5; r++) {
        MUST(cuzk_cuda_timer_start(gpu, &detail));
        MUST(cuzk_cuda_transform(gpu, v[0], log_n, kinds[k].kind, &detail));
        MUST(cuzk_cuda_timer_stop(gpu, &ms, &detail));
        if (r && ms < least) least = ms;
      }
      report(kinds[k].name, log_n, least, floor_ms, "");
    }
    float ms, least = 1e30f;
    bool zero;
    for (int r = 0; r < 3; r++) {
      for (int j = 0; j < 3; j++) MUST(cuzk_cuda_fill_random_fr(gpu, v[j], n, 3 + (uint64_t)j, &detail));
      MUST(cuzk_cuda_timer_start(gpu, &detail));
      MUST(cuzk_cuda_h_poly(gpu, v[0], v[1], v[2], log_n, &zero, &detail));
      MUST(cuzk_cuda_timer_stop(gpu, &ms, &detail));
      if (r && ms < least) least = ms;
    }
    report("h_poly", log_n, least, 6 * floor_ms, "");
  }
  for (int j = 0; j < 3; j++) cuzk_cuda_free(gpu, &v[j]);
  MUST(cuzk_cuda_trim(gpu, &detail));
}

/* Additions over streamed operands: what the pair kernel does where memory is no matter. */
static void bench_pairs(void) {
  const size_t n = (size_t)1 << 26;
  double least = 1e30;
  for (int r = 0; r < 3; r++) {
    cuzk_fr u, v;
    const double t0 = now();
    void *p = progression_g1(n, &u, &v);
    MUST(cuzk_cuda_sync(gpu, &detail));
    if ((now() - t0) * 1e3 < least) least = (now() - t0) * 1e3;
    cuzk_cuda_free(gpu, &p);
  }
  report("progression_g1", 26, least, (double)n * G1_ADD_PRODUCTS / rate[CUZK_CUDA_RATE_WIDE] * 1e3, "");
}

static void bench_rates(void) {
  static const char *const names[CUZK_CUDA_RATES] = {"fp_mul", "fp_sqr", "fr_mul", "fr_mul_plain", "fr_mul_shape1", "fp_add", "wide", "copy_bytes"};
  for (int i = 0; i < CUZK_CUDA_RATES; i++) {
    MUST(cuzk_cuda_measure(gpu, (enum cuzk_cuda_rate)i, &rate[i], &detail));
    printf("%-12s %10.2f G/s\n", names[i], rate[i] * 1e-9);
    if (json) fprintf(json, "%s\n  {\"rate\": \"%s\", \"per_second\": %.4g}", json_items++ ? "," : "", names[i], rate[i]);
  }
}

int main(int argc, char **argv) {
  int device = 0;
  bool check = false, quick = false;
  unsigned ntt = 0, msm = 0, msm2 = 0, bits = 0, once = 0, h = 0;
  bool rates = false;
  const char *path = NULL;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "check")) check = true;
    else if (!strcmp(argv[i], "quick")) check = quick = true;
    else if (!strncmp(argv[i], "once=", 5)) once = (unsigned)atoi(argv[i] + 5);
    else if (!strcmp(argv[i], "rates")) rates = true;
    else if (!strncmp(argv[i], "ntt=", 4)) ntt = (unsigned)atoi(argv[i] + 4);
    else if (!strncmp(argv[i], "msm=", 4)) msm = (unsigned)atoi(argv[i] + 4);
    else if (!strncmp(argv[i], "msm2=", 5)) msm2 = (unsigned)atoi(argv[i] + 5);
    else if (!strncmp(argv[i], "bits=", 5)) bits = (unsigned)atoi(argv[i] + 5);
    else if (!strncmp(argv[i], "h=", 2)) h = (unsigned)atoi(argv[i] + 2);
    else if (!strncmp(argv[i], "json=", 5)) path = argv[i] + 5;
    else if (!strncmp(argv[i], "device=", 7)) device = atoi(argv[i] + 7);
    else {
      fprintf(stderr, "usage: gpu_check [check|quick] [rates] [once=LOG] [ntt=LOG] [msm=LOG] [msm2=LOG] [bits=LOG] [json=FILE] [device=N]\n");
      return 64;
    }
  }
  struct cuzk_cuda_info info;
  MUST(cuzk_cuda_device_info(&info, device, &detail));
  printf("%s (%d.%d, %d multiprocessors, %.1f of %.1f GiB free), %s\n", info.name, info.major, info.minor, info.multiprocessors,
         (double)info.memory_free / (1 << 30), (double)info.memory_total / (1 << 30), info.pci);
  MUST(cuzk_cuda_create(&gpu, device, &detail));
  MUST(cuzk_pool_create(&pool, 0));
  if (path) {
    json = fopen(path, "w");
    if (!json) die(path);
    fprintf(json, "{\"device\": \"%s\", \"results\": [", info.name);
  }
  if (rates || ntt || msm || msm2 || bits) bench_rates();
  if (check) {
    static const size_t g1_sizes[] = {0, 1, 2, 3, 31, 257, 1000, 4099, 40000}, g2_sizes[] = {1, 2, 5, 300, 2050}, quick_sizes[] = {3, 300};
    double t0 = now();
    check_transforms(quick ? 13 : 20);
    printf("transforms: %d checks, %d differ, %.1f s\n", checks, failures, now() - t0);
    t0 = now();
    check_h(quick ? 12 : 22);
    printf("h polynomial: %d checks, %d differ, %.1f s\n", checks, failures, now() - t0);
    fflush(stdout);
    MUST(cuzk_cuda_trim(gpu, &detail));
    t0 = now();
    if (quick)
      check_msm_g1(quick_sizes, sizeof quick_sizes / sizeof *quick_sizes);
    else
      check_msm_g1(g1_sizes, sizeof g1_sizes / sizeof *g1_sizes);
    printf("g1: %d checks, %d differ, %.1f s\n", checks, failures, now() - t0);
    fflush(stdout);
    t0 = now();
    check_msm_g2(quick ? quick_sizes : g2_sizes, quick ? 1 : sizeof g2_sizes / sizeof *g2_sizes);
    printf("g2: %d checks, %d differ, %.1f s\n", checks, failures, now() - t0);
    fflush(stdout);
  }
  if (once) {
    cuzk_fr u, v, k;
    void *s, *p = progression_g1((size_t)1 << once, &u, &v);
    cuzk_g1_affine want, got;
    MUST(cuzk_cuda_alloc(gpu, &s, sizeof(cuzk_fr) << once, &detail));
    MUST(cuzk_cuda_fill_random_fr(gpu, s, (size_t)1 << once, 1, &detail));
    MUST(cuzk_cuda_msm_g1(gpu, &got, p, s, (size_t)1 << once, 0, NULL, &detail));
    known_multiple(&k, (size_t)1 << once, 1, NULL, &u, &v);
    known_point_g1(&want, &k);
    expect(memcmp(&want, &got, sizeof want) == 0, "msm g1", (size_t)1 << once, "known multiple");
    cuzk_cuda_free(gpu, &s);
    cuzk_cuda_free(gpu, &p);
  }
  if (h) {
    const double t0 = now();
    check_h_of(h, 3);
    printf("h polynomial of 2^%u: %d checks, %d differ, %.1f s\n", h, checks, failures, now() - t0);
    MUST(cuzk_cuda_trim(gpu, &detail));
  }
  if (ntt) bench_ntt(ntt < 20 ? ntt : 20, ntt);
  if (msm) bench_pairs();
  if (msm) bench_msm_g1(msm < 16 ? msm : 16, msm);
  if (msm) bench_skewed(msm < 24 ? msm : 24);
  if (msm2) bench_msm_g2(msm2 < 16 ? msm2 : 16, msm2);
  if (bits) {
    bench_bits_g1(bits);
    bench_bits_g2(bits > 24 ? 24 : bits);
  }
  if (json) {
    fprintf(json, "\n], \"checks\": %d, \"differ\": %d}\n", checks, failures);
    fclose(json);
  }
  cuzk_cuda_destroy(&gpu);
  cuzk_pool_destroy(&pool);
  printf("%d checks, %d differ\n", checks, failures);
  return failures ? 1 : 0;
}
