/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Circuits and parameters on a CUDA device: what stays in its memory, and how the rest gets there. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "device/cuda_internal.h"
#include "r1cs/compact_flat.h"

#define COPY_TASK_BYTES ((size_t)1 << 20)
#define FEW_BYTES ((uint64_t)256 << 20) /* small things, and what the driver rounds up */

/* --- copies --- */

struct copy {
  uint8_t *to;
  const uint8_t *from;
  size_t bytes;
};

static void copy_task(void *arg, size_t task, unsigned worker) {
  const struct copy *c = arg;
  const size_t at = task * COPY_TASK_BYTES, left = c->bytes - at;
  (void)worker;
  memcpy(c->to + at, c->from + at, left < COPY_TASK_BYTES ? left : COPY_TASK_BYTES);
}

/* The file's pages are met by many threads at a time: one alone would wait for the disk at each. */
static void copy(struct cuzk_device *dev, void *to, const void *from, size_t bytes) {
  struct copy c = {to, from, bytes};
  cuzk_pool_run(dev->pool, copy_task, &c, (bytes + COPY_TASK_BYTES - 1) / COPY_TASK_BYTES);
}

static enum cuzk_status open_staging(struct cuzk_device *dev, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  for (int i = 0; i < 2 && st == CUZK_OK; i++) {
    if (!dev->stage[i]) st = cuzk_cuda_host_alloc(dev->gpu, &dev->stage[i], CUDA_STAGE_BYTES, d);
    if (st == CUZK_OK && !dev->raw[i]) st = cuzk_cuda_alloc(dev->gpu, &dev->raw[i], CUDA_STAGE_BYTES, d);
  }
  return st;
}

enum cuzk_status cuda_load(struct cuzk_device_key *key, enum cuzk_section s, void *dst, size_t first, size_t n, bool reversed,
                           struct cuzk_detail *d) {
  struct cuzk_device *dev = key->dev;
  const struct cuda_section *x = &key->section[s];
  const uint8_t *file = key->params->map + key->params->section[s].offset + 4;
  const unsigned bits = reversed ? key->log2_n : 0;
  void *const bad = (uint32_t *)dev->bad + s;
  enum cuzk_status st;
  CUZK_TRY(open_staging(dev, d));
  const size_t chunk = CUDA_STAGE_BYTES / x->point_bytes;
  for (size_t at = 0, k = 0; at < n; at += chunk, k ^= 1) {
    const size_t m = n - at < chunk ? n - at : chunk, bytes = m * x->point_bytes;
    CUZK_TRY(cuzk_cuda_lane_wait(dev->lane[k], d));
    copy(dev, dev->stage[k], file + (first + at) * x->point_bytes, bytes);
    CUZK_TRY(cuzk_cuda_lane_after(dev->lane[k], dev->gpu, d));
    CUZK_TRY(cuzk_cuda_lane_upload(dev->lane[k], dev->raw[k], dev->stage[k], bytes, d));
    CUZK_TRY(cuzk_cuda_kernels_after(dev->gpu, dev->lane[k], d));
    /* Where points keep their order dst begins at the first of this call. */
    uint8_t *const to = reversed ? dst : (uint8_t *)dst - first * x->point_bytes;
    CUZK_TRY((x->g2 ? cuzk_cuda_decode_g2 : cuzk_cuda_decode_g1)(dev->gpu, to, dev->raw[k], m, first + at, bits, bad, d));
  }
out:
  return st;
}

enum cuzk_status cuda_fetch(struct cuzk_device_key *key, enum cuzk_section s, void *dst, size_t first, size_t n, struct cuzk_detail *d) {
  struct cuzk_cuda_lane *lane = key->dev->lane[0];
  const struct cuda_section *x = &key->section[s];
  const enum cuzk_status st = cuzk_cuda_lane_after(lane, key->dev->gpu, d); /* kernels may still read dst */
  if (st != CUZK_OK) return st;
  return cuzk_cuda_lane_upload(lane, dst, (const uint8_t *)x->pinned + first * x->point_bytes, n * x->point_bytes, d);
}

enum cuzk_status cuda_expect(struct cuzk_device *dev, enum cuzk_section s, struct cuzk_detail *d) {
  const uint32_t none = UINT32_MAX;
  return cuzk_cuda_upload(dev->gpu, (uint32_t *)dev->bad + s, &none, sizeof none, d);
}

enum cuzk_status cuda_met(struct cuzk_device_key *key, enum cuzk_section s, struct cuzk_detail *d) {
  uint32_t bad;
  cuzk_g1_affine g1;
  cuzk_g2_affine g2;
  enum cuzk_status st = cuzk_cuda_download(key->dev->gpu, &bad, (uint32_t *)key->dev->bad + s, sizeof bad, d);
  if (st != CUZK_OK || bad == UINT32_MAX) return st;
  /* The host says what is wrong with it. */
  st = s == CUZK_SECTION_B_G2 ? cuzk_params_fetch_g2(key->params, &g2, bad, 1, false, d) : cuzk_params_fetch_g1(key->params, s, &g1, bad, 1, false, d);
  if (st != CUZK_OK) return st;
  return cuzk_fail(d, CUZK_E_DEVICE, "CUDA device %u refuses %s[%u], which is a good point: faulty device", key->dev->index,
                   cuzk_section_names[s], bad);
}

/* Pages of the file that have been read leave the process, not the page cache. */
static void forget(const struct cuzk_device_key *key, enum cuzk_section s, size_t first, size_t n) {
  if (!key->params->path) return; /* memory of somebody's, not a mapped file */
  const uintptr_t page = 4096, from = (uintptr_t)(key->params->map + key->params->section[s].offset + 4 + first * key->section[s].point_bytes);
  const uintptr_t lo = (from + page - 1) & ~(page - 1), hi = (from + n * key->section[s].point_bytes) & ~(page - 1);
  if (hi > lo) (void)madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

/* --- memory --- */

void cuda_free_vectors(struct cuzk_device *dev) {
  for (int i = 0; i < 3; i++) cuzk_cuda_free(dev->gpu, &dev->vec.v[i]);
  dev->vec = (struct cuda_vectors){0};
}

bool cuda_evict(struct cuzk_device_key *key) {
  struct cuda_section *most = NULL;
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    struct cuda_section *x = &key->section[s];
    if (x->resident && (!most || x->count * x->point_bytes > most->count * most->point_bytes)) most = x;
  }
  if (!most) return false;
  key->own_bytes -= most->count * most->point_bytes;
  cuzk_cuda_free(key->dev->gpu, &most->resident);
  return true;
}

/* Device memory that a partition takes beside circuit and parameters. */
static uint64_t run_bytes(const struct cuzk_device_key *key, enum cuda_mode mode) {
  const struct cuzk_cuda *gpu = key->dev->gpu;
  const uint64_t vector = (uint64_t)sizeof(cuzk_fr) << key->log2_n;
  const size_t n = key->section[CUZK_SECTION_H].count, piece = mode == CUDA_WIDE ? n : mode == CUDA_LEAN ? n / 2 + 1 : n / 16 + 1;
  const uint64_t work_g1 = cuzk_cuda_msm_bytes(gpu, false, piece), work_g2 = cuzk_cuda_subset_bytes(gpu, true, key->section[CUZK_SECTION_B_G2].count / 4);
  uint64_t bytes = (mode == CUDA_NARROW ? 2 : 3) * vector + cuzk_cuda_h_table_bytes(key->log2_n, mode != CUDA_WIDE);
  bytes += work_g1 > work_g2 ? work_g1 : work_g2;
  return bytes + FEW_BYTES + 2 * CUDA_STAGE_BYTES;
}

static uint64_t section_bytes(const struct cuda_section *x) { return (uint64_t)x->count * x->point_bytes; }

/* Sections that fit, as bits; *bytes: of all of them. */
static unsigned fitting(const struct cuzk_device_key *key, uint64_t left, uint64_t *bytes) {
  static const enum cuzk_section order[CUZK_N_SECTIONS] = {CUZK_SECTION_B_G2, CUZK_SECTION_B_G1, CUZK_SECTION_H, CUZK_SECTION_A, CUZK_SECTION_L};
  unsigned chosen = 0;
  *bytes = 0;
  for (int i = 0; i < CUZK_N_SECTIONS; i++) {
    const uint64_t more = section_bytes(&key->section[order[i]]);
    if (more > left) continue;
    left -= more;
    *bytes += more;
    chosen |= 1u << order[i];
  }
  return chosen;
}

/* Sections that are to be resident, as bits, and the mode. */
static unsigned plan(struct cuzk_device_key *key, uint64_t available) {
  uint64_t all = 0, most = 0;
  /* Two witnesses; field elements are an eighth of the variables here. */
  const uint64_t witness = 2 * (uint64_t)key->shape->n_aux * 5;
  unsigned best = 0;
  bool found = false;
  for (int s = 0; s < CUZK_N_SECTIONS; s++) all += section_bytes(&key->section[s]);
  for (int m = 0; m < CUDA_MODES; m++) {
    key->mode = (enum cuda_mode)m;
    if (run_bytes(key, key->mode) + witness + all <= available) return (1u << CUZK_N_SECTIONS) - 1;
  }
  /* Not all of it: then as much as possible, since what is streamed costs more than a narrower mode does. Streaming takes two pieces of
   * points at a time. */
  for (int m = 0; m < CUDA_MODES; m++) {
    const uint64_t need = run_bytes(key, (enum cuda_mode)m) + witness + 4 * (uint64_t)96 * ((key->section[CUZK_SECTION_H].count >> 4) + 1);
    uint64_t bytes;
    if (need > available) continue;
    const unsigned chosen = fitting(key, available - need, &bytes);
    if (found && bytes <= most) continue;
    found = true;
    most = bytes;
    best = chosen;
    key->mode = (enum cuda_mode)m;
  }
  return best;
}

static uint64_t host_memory_free(void) {
  const long page = sysconf(_SC_PAGESIZE), free_pages = sysconf(_SC_AVPHYS_PAGES);
  return page > 0 && free_pages > 0 ? (uint64_t)page * (uint64_t)free_pages : 0;
}

/* --- keys --- */

struct loading {
  const struct cuzk_progress *progress;
  uint64_t done, total;
};

/* A section in steps, with reports between them. */
static enum cuzk_status load_section(struct cuzk_device_key *key, enum cuzk_section s, struct loading *l, struct cuzk_detail *d) {
  struct cuda_section *x = &key->section[s];
  const size_t step = (size_t)1 << 23;
  const bool reversed = s == CUZK_SECTION_H;
  enum cuzk_status st;
  CUZK_TRY(cuda_expect(key->dev, s, d));
  for (size_t at = 0; at < x->count; at += step) {
    const size_t n = x->count - at < step ? x->count - at : step;
    if (!cuzk_progress(l->progress, "load parameters", l->done, l->total, "points")) {
      st = cuzk_fail(d, CUZK_E_CANCELLED, "loading the parameters was cancelled");
      goto out;
    }
    CUZK_TRY(cuda_load(key, s, reversed ? x->resident : (uint8_t *)x->resident + at * x->point_bytes, at, n, reversed, d));
    forget(key, s, at, n);
    l->done += n;
  }
  CUZK_TRY(cuda_met(key, s, d));
out:
  return st;
}

/* The section in page-locked host memory, in the form that kernels read. */
static enum cuzk_status pin_section(struct cuzk_device_key *key, enum cuzk_section s, struct loading *l, struct cuzk_detail *d) {
  struct cuda_section *x = &key->section[s];
  struct cuzk_device *dev = key->dev;
  const size_t step = CUDA_STAGE_BYTES / x->point_bytes;
  void *host = NULL, *piece = NULL;
  enum cuzk_status st;
  CUZK_TRY(cuda_expect(dev, s, d));
  CUZK_TRY(cuzk_cuda_alloc(dev->gpu, &piece, step * x->point_bytes, d));
  CUZK_TRY(cuzk_cuda_host_alloc(dev->gpu, &host, x->count * x->point_bytes, d));
  for (size_t at = 0; at < x->count; at += step) {
    const size_t n = x->count - at < step ? x->count - at : step;
    if (!cuzk_progress(l->progress, "load parameters", l->done, l->total, "points")) {
      st = cuzk_fail(d, CUZK_E_CANCELLED, "loading the parameters was cancelled");
      goto out;
    }
    CUZK_TRY(cuda_load(key, s, piece, at, n, false, d));
    forget(key, s, at, n);
    CUZK_TRY(cuzk_cuda_download(dev->gpu, (uint8_t *)host + at * x->point_bytes, piece, n * x->point_bytes, d));
    l->done += n;
  }
  CUZK_TRY(cuda_met(key, s, d));
  x->pinned = host;
  host = NULL;
out:
  cuzk_cuda_free(dev->gpu, &piece);
  cuzk_cuda_host_free(dev->gpu, &host);
  return st;
}

static enum cuzk_status upload_circuit(struct cuzk_device_key *key, struct cuzk_detail *d) {
  struct cuzk_flat f;
  enum cuzk_status st = cuzk_compact_flatten(&f, key->circuit, d);
  if (st != CUZK_OK) return st;
  const struct cuzk_cuda_circuit k = {f.n_rows, f.n_inputs, f.n_aux, f.n_runs, f.n_uses, f.n_ext, f.n_own, f.n_terms, f.n_coeffs,
                                      f.runs,   f.uses,     f.ext,   f.bound,  f.terms,  f.coeffs};
  st = cuzk_cuda_rows_create(key->dev->gpu, &key->rows, &k, d);
  if (st == CUZK_OK) key->own_bytes += cuzk_cuda_rows_bytes(&k);
  cuzk_flat_clear(&f);
  return st;
}

/* Density maps, their ranks, and the list of the inputs in b. */
static enum cuzk_status upload_maps(struct cuzk_device_key *key, struct cuzk_detail *d) {
  const struct cuzk_shape *shape = key->shape;
  const size_t words = ((size_t)shape->n_aux + 63) / 64, map_bytes = (8 * words + 255) & ~(size_t)255,
               rank_bytes = (4 * words + 255) & ~(size_t)255, bytes = 2 * (map_bytes + rank_bytes) + 4 * (size_t)shape->n_b_input + 256;
  const uint64_t *maps[2] = {shape->a_aux, shape->b_aux};
  uint32_t *index = NULL, n = 0;
  enum cuzk_status st;
  CUZK_TRY(cuzk_cuda_alloc(key->dev->gpu, &key->maps, bytes, d));
  key->own_bytes += bytes;
  uint8_t *at = key->maps;
  for (int i = 0; i < 2; i++) {
    key->rank[i] = cuzk_malloc_array(words + 1, sizeof(uint32_t));
    if (!key->rank[i]) goto no_memory;
    uint32_t before = 0;
    for (size_t w = 0; w < words; w++) {
      key->rank[i][w] = before;
      before += (uint32_t)__builtin_popcountll(maps[i][w]);
    }
    key->rank[i][words] = before;
    if (words) CUZK_TRY(cuzk_cuda_upload(key->dev->gpu, at, maps[i], 8 * words, d));
    key->map[i] = at;
    at += map_bytes;
    if (words) CUZK_TRY(cuzk_cuda_upload(key->dev->gpu, at, key->rank[i], 4 * words, d));
    key->map_rank[i] = at;
    at += rank_bytes;
  }
  index = cuzk_malloc_array((size_t)shape->n_b_input + 1, sizeof *index);
  if (!index) goto no_memory;
  for (uint32_t i = 0; i < shape->n_inputs; i++)
    if ((shape->b_input[i / 64] >> (i % 64)) & 1) index[n++] = i;
  if (n) CUZK_TRY(cuzk_cuda_upload(key->dev->gpu, at, index, 4 * (size_t)n, d));
  key->b_index = at;
out:
  cuzk_free(index);
  return st;
no_memory:
  st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for the density maps of a circuit");
  goto out;
}

static enum cuzk_status upload_params(struct cuzk_device_key *key, const struct cuzk_progress *progress, struct cuzk_detail *d) {
  struct cuzk_cuda *gpu = key->dev->gpu;
  struct loading l = {progress, 0, 0};
  uint64_t available, streamed = 0;
  enum cuzk_status st;
  CUZK_TRY(open_staging(key->dev, d));
  CUZK_TRY(cuzk_cuda_available(gpu, &available, d));
  const unsigned chosen = plan(key, available);
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    l.total += key->section[s].count;
    if (!((chosen >> s) & 1)) streamed += section_bytes(&key->section[s]);
  }
  const bool pin = streamed && streamed < host_memory_free() / 2;
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    struct cuda_section *x = &key->section[s];
    if (x->count == 0) continue;
    if (x->n_inputs) {
      CUZK_TRY(cuzk_cuda_alloc(gpu, &x->inputs, x->n_inputs * x->point_bytes, d));
      key->own_bytes += x->n_inputs * x->point_bytes;
      CUZK_TRY(cuda_expect(key->dev, (enum cuzk_section)s, d));
      CUZK_TRY(cuda_load(key, (enum cuzk_section)s, x->inputs, 0, x->n_inputs, false, d));
      CUZK_TRY(cuda_met(key, (enum cuzk_section)s, d));
    }
    if ((chosen >> s) & 1) {
      st = cuzk_cuda_alloc(gpu, &x->resident, section_bytes(x), d);
      if (st == CUZK_OK) {
        key->own_bytes += section_bytes(x);
        CUZK_TRY(load_section(key, (enum cuzk_section)s, &l, d));
        continue;
      }
      if (st != CUZK_E_NOMEM) goto out;
    }
    if (!pin) continue;
    st = pin_section(key, (enum cuzk_section)s, &l, d);
    if (st != CUZK_OK && st != CUZK_E_NOMEM) goto out; /* without page-locked memory: from the file */
  }
  st = cuzk_progress(progress, "load parameters", l.total, l.total, "points") ? CUZK_OK
                                                                                : cuzk_fail(d, CUZK_E_CANCELLED, "loading the parameters was cancelled");
out:
  return st;
}

static enum cuzk_status check(const struct cuzk_params *params, const struct cuzk_compact *circuit, const struct cuzk_shape *shape,
                              struct cuzk_detail *d) {
  struct cuzk_compact_info info;
  const enum cuzk_status st = cuzk_params_match(params, shape, d);
  if (st != CUZK_OK) return st;
  cuzk_compact_info(&info, circuit);
  if (info.n_inputs != shape->n_inputs || info.n_aux != shape->n_aux || info.n_rows != shape->n_rows)
    return cuzk_fail(d, CUZK_E_MISMATCH, "%s: the compact circuit is of another shape", info.name);
  /* With delta the identity the proof would not depend on the witness' part at all. */
  if (cuzk_g1_affine_is_identity(&params->vk.delta_g1)) return cuzk_fail(d, CUZK_E_INFINITY, "the key's delta_g1 is the point at infinity");
  if (cuzk_g2_affine_is_identity(&params->vk.delta_g2)) return cuzk_fail(d, CUZK_E_INFINITY, "the key's delta_g2 is the point at infinity");
  if (cuzk_shape_log2_domain(shape) > 28)
    return cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: %llu rows; a CUDA device transforms up to 2^28", info.name, (unsigned long long)shape->n_rows);
  return CUZK_OK;
}

enum cuzk_status cuda_key_create(struct cuzk_device_key **out, struct cuzk_device *dev, const struct cuzk_params *params,
                                 const struct cuzk_compact *circuit, const struct cuzk_shape *shape, const struct cuzk_progress *progress,
                                 struct cuzk_detail *d) {
  *out = NULL;
  enum cuzk_status st = check(params, circuit, shape, d);
  if (st != CUZK_OK) return st;
  struct cuzk_device_key *key = cuzk_calloc(1, sizeof *key);
  if (!key || pthread_mutex_init(&key->lock, NULL) != 0) {
    cuzk_free(key);
    return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a key");
  }
  key->dev = dev;
  key->params = params;
  key->circuit = circuit;
  key->shape = shape;
  key->log2_n = cuzk_shape_log2_domain(shape);
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    struct cuda_section *x = &key->section[s];
    x->g2 = s == CUZK_SECTION_B_G2;
    x->count = params->section[s].count;
    x->point_bytes = x->g2 ? sizeof(cuzk_g2_affine) : sizeof(cuzk_g1_affine);
    if (s == CUZK_SECTION_A) x->n_inputs = shape->n_inputs;
    if (s == CUZK_SECTION_B_G1 || s == CUZK_SECTION_B_G2) x->n_inputs = shape->n_b_input;
  }
  (void)pthread_mutex_lock(&dev->lock);
  /* What partitions share is made again in the sizes that fit this key, too. */
  cuda_free_vectors(dev);
  st = cuzk_cuda_trim(dev->gpu, d);
  if (st == CUZK_OK) st = upload_circuit(key, d);
  if (st == CUZK_OK) st = upload_maps(key, d);
  if (st == CUZK_OK) st = upload_params(key, progress, d);
  (void)pthread_mutex_unlock(&dev->lock);
  if (st != CUZK_OK)
    cuda_key_destroy(&key);
  else
    *out = key;
  return st;
}

void cuda_slot_destroy(struct cuzk_device *dev, struct cuda_slot **slot) {
  struct cuda_slot *x = *slot;
  if (!x) return;
  cuzk_cuda_lane_destroy(&x->lane);
  cuzk_cuda_free(dev->gpu, &x->device);
  cuzk_cuda_host_free(dev->gpu, &x->host);
  cuzk_free(x);
  *slot = NULL;
}

void cuda_key_destroy(struct cuzk_device_key **pk) {
  struct cuzk_device_key *key = *pk;
  if (!key) return;
  struct cuzk_cuda *gpu = key->dev->gpu;
  (void)pthread_mutex_lock(&key->dev->lock);
  while (key->slots) {
    struct cuda_slot *x = key->slots;
    key->slots = x->next;
    cuda_slot_destroy(key->dev, &x);
  }
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    cuzk_cuda_free(gpu, &key->section[s].resident);
    cuzk_cuda_free(gpu, &key->section[s].inputs);
    cuzk_cuda_host_free(gpu, &key->section[s].pinned);
  }
  cuzk_cuda_rows_destroy(gpu, &key->rows);
  cuzk_cuda_free(gpu, &key->maps);
  (void)pthread_mutex_unlock(&key->dev->lock);
  cuzk_free(key->rank[0]);
  cuzk_free(key->rank[1]);
  (void)pthread_mutex_destroy(&key->lock);
  cuzk_free(key);
  *pk = NULL;
}
