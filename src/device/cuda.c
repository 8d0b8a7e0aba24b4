/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CUDA cards as devices. A partition's witness goes up beside the kernels of the one before; rows, transforms and sums run on the card;
 * the host adds up what pieces of sums leave and assembles the proof. docs/backends/cuda.md. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "device/cuda_internal.h"

#define TRIES 6u /* of a partition that finds too little memory, each with less */

struct cuzk_device_work {
  struct cuzk_device_key *key;
  struct cuzk_packed z; /* empty once it is on the device */
  struct cuda_slot *slot;
  bool summed;
  struct cuzk_proof_sums sums;
  struct cuzk_work_times times;
  double start_ms; /* host time of start */
  const struct cuzk_progress *watched; /* or NULL */
};

static double now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* --- devices --- */

static unsigned cuda_count(void) {
  const int n = cuzk_cuda_device_count();
  return n > 0 ? (unsigned)n : 0;
}

static enum cuzk_status cuda_describe(unsigned index, struct cuzk_device_desc *out, struct cuzk_detail *d) {
  struct cuzk_cuda_info info;
  memset(out, 0, sizeof *out);
  const enum cuzk_status st = cuzk_cuda_device_info(&info, (int)index, d);
  if (st != CUZK_OK) return st;
  out->backend = cuzk_device_cuda.name;
  (void)snprintf(out->name, sizeof out->name, "%s", info.name);
  (void)snprintf(out->uuid, sizeof out->uuid, "%s", info.uuid);
  (void)snprintf(out->pci, sizeof out->pci, "%s", info.pci);
  out->memory_total = info.memory_total;
  out->memory_free = info.memory_free;
  out->major = (unsigned)info.major;
  out->minor = (unsigned)info.minor;
  return CUZK_OK;
}

static void cuda_close(struct cuzk_device **pd) {
  struct cuzk_device *dev = *pd;
  if (!dev) return;
  for (int i = 0; i < 2; i++) {
    cuzk_cuda_lane_destroy(&dev->lane[i]);
    cuzk_cuda_host_free(dev->gpu, &dev->stage[i]);
    cuzk_cuda_free(dev->gpu, &dev->raw[i]);
  }
  cuda_free_vectors(dev);
  cuzk_cuda_free(dev->gpu, &dev->bad);
  cuzk_cuda_destroy(&dev->gpu);
  (void)pthread_mutex_destroy(&dev->lock);
  cuzk_free(dev);
  *pd = NULL;
}

static enum cuzk_status cuda_open(struct cuzk_device **out, unsigned index, struct cuzk_pool *pool, uint64_t memory_limit,
                                  struct cuzk_detail *d) {
  *out = NULL;
  struct cuzk_device *dev = cuzk_calloc(1, sizeof *dev);
  if (!dev || pthread_mutex_init(&dev->lock, NULL) != 0) {
    cuzk_free(dev);
    return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a device");
  }
  dev->pool = pool;
  dev->index = index;
  enum cuzk_status st = cuzk_cuda_create(&dev->gpu, (int)index, d);
  if (st != CUZK_OK) {
    (void)pthread_mutex_destroy(&dev->lock);
    cuzk_free(dev);
    return st;
  }
  cuzk_cuda_set_limit(dev->gpu, memory_limit);
  st = cuzk_cuda_alloc(dev->gpu, &dev->bad, 256, d);
  for (int i = 0; i < 2 && st == CUZK_OK; i++) st = cuzk_cuda_lane_create(dev->gpu, &dev->lane[i], d);
  if (st != CUZK_OK)
    cuda_close(&dev);
  else
    *out = dev;
  return st;
}

static enum cuzk_key_tier cuda_key_tier(const struct cuzk_device_key *key) {
  enum cuzk_key_tier tier = CUZK_KEY_RESIDENT;
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    const struct cuda_section *x = &key->section[s];
    if (x->count == 0 || x->resident) continue;
    if (!x->pinned) return CUZK_KEY_MAPPED;
    tier = CUZK_KEY_PINNED;
  }
  return tier;
}

static uint64_t cuda_key_bytes(const struct cuzk_device_key *key) { return key->own_bytes; }

/* The witness's page-locked twin; what is left afterwards is the sums. Field elements are an eighth of the variables here. */
static void cuda_work_bytes(const struct cuzk_shape *shape, uint64_t *peak, uint64_t *after) {
  *after = sizeof(struct cuzk_device_work);
  *peak = *after + (uint64_t)shape->n_aux * 5;
}

/* --- the witness's way to the device --- */

/* Where the parts of a witness stand in a slot. */
struct slot_layout {
  size_t bits, is_field, rank, inputs, fields, bytes;
};

static struct slot_layout lay_out(uint32_t n_inputs, uint32_t n_aux, uint32_t n_fields) {
  const size_t words = ((size_t)n_aux + 63) / 64;
  struct slot_layout l = {0};
  l.is_field = (8 * words + 255) & ~(size_t)255;
  l.rank = 2 * l.is_field;
  l.inputs = l.rank + ((4 * words + 255) & ~(size_t)255);
  l.fields = l.inputs + ((sizeof(cuzk_fr) * n_inputs + 255) & ~(size_t)255);
  l.bytes = l.fields + sizeof(cuzk_fr) * (size_t)n_fields + 256;
  return l;
}

/* A free slot, or a new one. Errors: E_NOMEM, E_DEVICE. */
static enum cuzk_status take_slot(struct cuzk_device_key *key, size_t bytes, struct cuda_slot **out, struct cuzk_detail *d) {
  struct cuzk_cuda *gpu = key->dev->gpu;
  (void)pthread_mutex_lock(&key->lock);
  struct cuda_slot *x = key->slots;
  if (x) key->slots = x->next;
  (void)pthread_mutex_unlock(&key->lock);
  if (x && x->bytes < bytes) cuda_slot_destroy(key->dev, &x); /* a circuit always has as many field elements */
  enum cuzk_status st = CUZK_OK;
  if (!x) {
    x = cuzk_calloc(1, sizeof *x);
    if (!x) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a witness's way to the device");
    x->bytes = bytes;
    st = cuzk_cuda_lane_create(gpu, &x->lane, d);
    if (st == CUZK_OK) st = cuzk_cuda_alloc(gpu, &x->device, bytes, d);
    if (st == CUZK_OK && cuzk_cuda_host_alloc(gpu, &x->host, bytes, d) == CUZK_E_DEVICE) st = CUZK_E_DEVICE;
  }
  if (st != CUZK_OK) cuda_slot_destroy(key->dev, &x);
  *out = x;
  return st;
}

static void give_slot(struct cuzk_device_key *key, struct cuda_slot **slot) {
  struct cuda_slot *x = *slot;
  if (!x) return;
  (void)pthread_mutex_lock(&key->lock);
  x->next = key->slots;
  key->slots = x;
  (void)pthread_mutex_unlock(&key->lock);
  *slot = NULL;
}

struct part {
  size_t at, bytes;
  const void *from;
};

static void copy_part(void *arg, size_t task, unsigned worker) {
  const struct part *p = arg;
  uint8_t *const host = (uint8_t *)(uintptr_t)p[5].from;
  (void)worker;
  for (int k = 0; k < 5; k++) { /* each task an eighth of each part */
    const size_t lo = p[k].bytes / 8 * task, hi = task == 7 ? p[k].bytes : p[k].bytes / 8 * (task + 1);
    if (hi > lo) memcpy(host + p[k].at + lo, (const uint8_t *)p[k].from + lo, hi - lo);
  }
}

/* Starts the copies. Page-locked, they run on beside everything; else they are over when this returns. */
static enum cuzk_status upload(struct cuzk_device_work *w, struct cuzk_detail *d) {
  const struct cuzk_packed *z = &w->z;
  struct cuda_slot *x = w->slot;
  const struct slot_layout l = lay_out(z->n_inputs, z->n_aux, z->n_fields);
  const size_t words = ((size_t)z->n_aux + 63) / 64;
  const struct part part[6] = {{0, 8 * words, z->bits},
                               {l.is_field, 8 * words, z->is_field},
                               {l.rank, 4 * words, z->rank},
                               {l.inputs, sizeof(cuzk_fr) * z->n_inputs, z->inputs},
                               {l.fields, sizeof(cuzk_fr) * (size_t)z->n_fields, z->fields},
                               {0, 0, x->host}};
  enum cuzk_status st = CUZK_OK;
  if (x->host) {
    cuzk_pool_run(w->key->dev->pool, copy_part, (void *)(uintptr_t)part, 8);
    return cuzk_cuda_lane_upload(x->lane, x->device, x->host, l.bytes, d);
  }
  for (int k = 0; k < 5 && st == CUZK_OK; k++)
    st = cuzk_cuda_lane_upload(x->lane, (uint8_t *)x->device + part[k].at, part[k].from, part[k].bytes, d);
  return st == CUZK_OK ? cuzk_cuda_lane_wait(x->lane, d) : st;
}

static enum cuzk_status send(struct cuzk_device_work *w, struct cuzk_detail *d) {
  enum cuzk_status st;
  CUZK_TRY(take_slot(w->key, lay_out(w->z.n_inputs, w->z.n_aux, w->z.n_fields).bytes, &w->slot, d));
  CUZK_TRY(upload(w, d));
out:
  return st;
}

static void cuda_abort(struct cuzk_device_work **pw) {
  struct cuzk_device_work *w = *pw;
  if (!w) return;
  if (w->slot) {
    (void)cuzk_cuda_lane_wait(w->slot->lane, NULL);
    give_slot(w->key, &w->slot);
  }
  cuzk_packed_clear(&w->z);
  cuzk_secret_clear(&w->sums, sizeof w->sums);
  cuzk_free(w);
  *pw = NULL;
}

static enum cuzk_status cuda_start(struct cuzk_device_work **out, struct cuzk_device_key *key, struct cuzk_packed *z, struct cuzk_detail *d) {
  const double t0 = now_ms();
  enum cuzk_status st = CUZK_OK;
  struct cuzk_device_work *w = NULL;
  *out = NULL;
  if (z->n_inputs != key->shape->n_inputs || z->n_aux != key->shape->n_aux)
    st = cuzk_fail(d, CUZK_E_MISMATCH, "the witness has %u public and %u private values, the circuit %u and %u", z->n_inputs, z->n_aux,
                   key->shape->n_inputs, key->shape->n_aux);
  else if (!(w = cuzk_calloc(1, sizeof *w)))
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a partition's work");
  if (st != CUZK_OK) {
    cuzk_packed_clear(z);
    return st;
  }
  w->key = key;
  w->z = *z;
  memset(z, 0, sizeof *z);
  st = send(w, d);
  if (st == CUZK_E_NOMEM) st = CUZK_OK; /* kernels find room when the partition before is done */
  w->start_ms = now_ms() - t0;
  if (st != CUZK_OK)
    cuda_abort(&w);
  else
    *out = w;
  return st;
}

/* --- sums --- */

struct run {
  struct cuzk_device_work *w;
  struct cuzk_device_key *key;
  struct cuzk_cuda *gpu;
  struct cuzk_cuda_witness z;
  const atomic_bool *stop;
  unsigned shift;    /* pieces are smaller by this power of two */
  bool dense;        /* most variables are field elements */
  void *buffer[2];   /* streamed points */
  size_t buffer_points;
  struct cuzk_detail *d;
};

/* Reports, and asks whether to go on. */
static enum cuzk_status report(const struct run *r, const char *stage, uint64_t done, uint64_t total, const char *unit) {
  const bool stop = r->stop && atomic_load_explicit(r->stop, memory_order_relaxed);
  if (!stop && cuzk_progress(r->w->watched, stage, done, total, unit)) return CUZK_OK;
  return cuzk_fail(r->d, CUZK_E_CANCELLED, "the proof was cancelled");
}

/* Points of a section that are summed at a time: the most whose work fits, and the bound on the work area that goes with it. */
static enum cuzk_status piece_points(struct run *r, enum cuzk_section s, size_t *points) {
  const struct cuda_section *x = &r->key->section[s];
  const size_t n_fields = r->z.n_fields, vector = (size_t)1 << r->key->log2_n;
  uint64_t available;
  size_t n = x->count;
  const enum cuzk_status st = cuzk_cuda_available(r->gpu, &available, r->d);
  if (st != CUZK_OK) return st;
  const uint64_t unused = available;
  const uint64_t have = 2 * (uint64_t)r->buffer_points * sizeof(cuzk_g1_affine);
  available += cuzk_cuda_work_bytes(r->gpu) + have;
  available -= available / 64; /* the driver's share of what is free */
  if (!x->resident && n > (size_t)1 << 24) n = (size_t)1 << 24;
  if (r->dense && n > vector) n = vector;
  n = (n >> r->shift) + 1;
  for (;; n = n / 2 + 1) {
    const size_t fields = s == CUZK_SECTION_H || r->dense ? n : (n < n_fields ? n : n_fields) + x->n_inputs;
    uint64_t work = cuzk_cuda_msm_bytes(r->gpu, x->g2, fields), side = 0;
    if (s != CUZK_SECTION_H && !r->dense) {
      const uint64_t bits = cuzk_cuda_subset_bytes(r->gpu, x->g2, n);
      if (bits > work) work = bits;
      side = fields * (x->point_bytes + sizeof(cuzk_fr));
    }
    /* Buffers that are there are kept if they are large enough. */
    const uint64_t buffers = x->resident ? 0 : 2 * n * x->point_bytes;
    side += buffers > have ? buffers : have;
    if (work + side > available && n > 4096) continue;
    cuzk_cuda_bound_work(r->gpu, available > side ? available - side : 1);
    *points = n;
    /* What sums worked in so far may be in the way of the points of this one. */
    return side > unused + have ? cuzk_cuda_release_work(r->gpu, r->d) : CUZK_OK;
  }
}

/* Room for two pieces of streamed points. */
static enum cuzk_status open_buffers(struct run *r, const struct cuda_section *x, size_t points) {
  enum cuzk_status st = CUZK_OK;
  const size_t units = x->g2 ? 2 * points : points;
  if (r->buffer_points >= units) return st;
  for (int i = 0; i < 2; i++) cuzk_cuda_free(r->gpu, &r->buffer[i]);
  r->buffer_points = 0;
  for (int i = 0; i < 2 && st == CUZK_OK; i++) st = cuzk_cuda_alloc(r->gpu, &r->buffer[i], units * sizeof(cuzk_g1_affine), r->d);
  if (st == CUZK_OK) r->buffer_points = units;
  return st;
}

/* A piece of a section: bases first .. first + n - 1, of variables of n_words words for all sections but h. */
struct piece {
  size_t first, n, word, n_words;
};

/* The next piece of at most `most` points after p; false: there is none. rank: NULL where every variable has a point. */
static bool next_piece(const struct run *r, enum cuzk_section s, size_t most, struct piece *p) {
  const struct cuda_section *x = &r->key->section[s];
  p->first += p->n;
  p->word += p->n_words;
  if (s == CUZK_SECTION_H) {
    p->n = x->count - p->first < most ? x->count - p->first : most;
    return p->n != 0;
  }
  const size_t words = ((size_t)r->key->shape->n_aux + 63) / 64, n_aux = r->key->shape->n_aux;
  const uint32_t *rank = s == CUZK_SECTION_L ? NULL : r->key->rank[s == CUZK_SECTION_A ? 0 : 1];
  if (p->word >= words) return false;
  if (most < 64) most = 64;
  size_t lo = p->word + 1, hi = words; /* largest end whose points fit */
  const size_t before = rank ? rank[p->word] : 64 * p->word;
  while (lo < hi) {
    const size_t mid = lo + (hi - lo + 1) / 2, upto = rank ? rank[mid] : (64 * mid < n_aux ? 64 * mid : n_aux);
    if (upto - before <= most)
      lo = mid;
    else
      hi = mid - 1;
  }
  p->n_words = lo - p->word;
  p->n = (rank ? rank[lo] : (64 * lo < n_aux ? 64 * lo : n_aux)) - before;
  return true;
}

/* The points of a piece, on the device; those of the public inputs come before the variables' in the file. */
static enum cuzk_status piece_bases(struct run *r, enum cuzk_section s, const struct piece *p, unsigned turn, const void **out) {
  const struct cuda_section *x = &r->key->section[s];
  const size_t at = x->n_inputs + p->first;
  if (x->resident) {
    *out = (const uint8_t *)x->resident + at * x->point_bytes;
    return CUZK_OK;
  }
  *out = r->buffer[turn];
  if (x->pinned) return cuda_fetch(r->key, s, r->buffer[turn], at, p->n, r->d);
  return cuda_load(r->key, s, r->buffer[turn], at, p->n, false, r->d);
}

struct sum {
  cuzk_g1 g1;
  cuzk_g2 g2;
};

static void sum_add(struct sum *to, bool g2, const cuzk_g1_affine *p1, const cuzk_g2_affine *p2) {
  if (g2)
    cuzk_g2_add_affine(&to->g2, &to->g2, p2);
  else
    cuzk_g1_add_affine(&to->g1, &to->g1, p1);
}

static enum cuzk_status sum_scalars(struct run *r, struct sum *to, bool g2, const void *bases, const void *scalars, size_t n) {
  cuzk_g1_affine p1;
  cuzk_g2_affine p2;
  const enum cuzk_status st = g2 ? cuzk_cuda_msm_g2(r->gpu, &p2, bases, scalars, n, 0, NULL, r->d)
                                 : cuzk_cuda_msm_g1(r->gpu, &p1, bases, scalars, n, 0, NULL, r->d);
  if (st == CUZK_OK) sum_add(to, g2, &p1, &p2);
  return st;
}

static enum cuzk_status sum_variables(struct run *r, struct sum *to, enum cuzk_section s, const struct piece *p, const void *bases,
                                      const struct cuzk_cuda_inputs *in) {
  const struct cuda_section *x = &r->key->section[s];
  const int map = s == CUZK_SECTION_A ? 0 : 1;
  struct cuzk_cuda_selection sel = {NULL, NULL, p->word, p->n_words, p->first};
  cuzk_g1_affine p1;
  cuzk_g2_affine p2;
  enum cuzk_status st;
  if (s != CUZK_SECTION_L) {
    sel.density = r->key->map[map];
    sel.rank = r->key->map_rank[map];
  }
  if (r->dense) {
    /* The second vector is free since the polynomial is there. */
    void *const scalars = r->key->dev->vec.v[1];
    const struct cuzk_cuda_selection none = {0};
    CUZK_TRY(cuzk_cuda_expand(r->gpu, scalars, p->n, &r->z, &sel, r->d));
    CUZK_TRY(sum_scalars(r, to, x->g2, bases, scalars, p->n));
    if (!in->n) return st;
    CUZK_TRY(x->g2 ? cuzk_cuda_sum_fields_g2(r->gpu, &p2, NULL, 0, &r->z, &none, in, r->d)
                   : cuzk_cuda_sum_fields_g1(r->gpu, &p1, NULL, 0, &r->z, &none, in, r->d));
    sum_add(to, x->g2, &p1, &p2);
    return st;
  }
  CUZK_TRY(x->g2 ? cuzk_cuda_sum_bits_g2(r->gpu, &p2, bases, p->n, &r->z, &sel, r->d)
                 : cuzk_cuda_sum_bits_g1(r->gpu, &p1, bases, p->n, &r->z, &sel, r->d));
  sum_add(to, x->g2, &p1, &p2);
  CUZK_TRY(x->g2 ? cuzk_cuda_sum_fields_g2(r->gpu, &p2, bases, p->n, &r->z, &sel, in, r->d)
                 : cuzk_cuda_sum_fields_g1(r->gpu, &p1, bases, p->n, &r->z, &sel, in, r->d));
  sum_add(to, x->g2, &p1, &p2);
out:
  return st;
}

static enum cuzk_status sum_section(struct run *r, struct sum *to, enum cuzk_section s) {
  static const char *const stages[CUZK_N_SECTIONS] = {"sum h", "sum l", "sum a", "sum b_g1", "sum b_g2"};
  struct cuda_section *x = &r->key->section[s];
  struct piece p = {0}, next;
  size_t most;
  enum cuzk_status st;
  to->g1 = cuzk_g1_identity;
  to->g2 = cuzk_g2_identity;
  CUZK_TRY(piece_points(r, s, &most));
  if (!x->resident) {
    CUZK_TRY(open_buffers(r, x, most < 64 ? 64 : most));
    CUZK_TRY(cuda_expect(r->key->dev, s, r->d));
  }
  struct cuzk_cuda_inputs in = {x->inputs,
                                s == CUZK_SECTION_A || s == CUZK_SECTION_L ? NULL : r->key->b_index, x->n_inputs};
  unsigned turn = 0;
  const void *bases = NULL, *bases_next = NULL;
  bool more = next_piece(r, s, most, &p);
  if (more) CUZK_TRY(piece_bases(r, s, &p, turn, &bases));
  while (more) {
    CUZK_TRY(report(r, stages[s], p.first, x->count - x->n_inputs, "points"));
    if (!x->resident) CUZK_TRY(cuzk_cuda_kernels_after(r->gpu, r->key->dev->lane[0], r->d));
    next = p;
    more = next_piece(r, s, most, &next);
    /* Points of the next piece are on their way while this one is summed, as far as copies are asynchronous. */
    if (more && x->pinned && !x->resident) CUZK_TRY(piece_bases(r, s, &next, turn ^ 1, &bases_next));
    if (s == CUZK_SECTION_H)
      CUZK_TRY(sum_scalars(r, to, false, bases, (const cuzk_fr *)r->key->dev->vec.v[0] + p.first, p.n));
    else
      CUZK_TRY(sum_variables(r, to, s, &p, bases, &in));
    in.n = 0;
    if (more && (!x->pinned || x->resident)) CUZK_TRY(piece_bases(r, s, &next, turn ^ 1, &bases_next));
    turn ^= 1;
    p = next;
    bases = bases_next;
  }
  if (!x->resident && !x->pinned) CUZK_TRY(cuda_met(r->key, s, r->d));
  CUZK_TRY(report(r, stages[s], x->count - x->n_inputs, x->count - x->n_inputs, "points"));
out:
  return st;
}

/* --- a partition --- */

static enum cuzk_status open_vectors(struct cuzk_device_key *key, unsigned n, struct cuzk_detail *d) {
  struct cuda_vectors *v = &key->dev->vec;
  if (v->n && (v->log2_n < key->log2_n || v->n < n)) cuda_free_vectors(key->dev);
  if (v->n) return CUZK_OK;
  for (unsigned i = 0; i < n; i++) {
    const enum cuzk_status st = cuzk_cuda_alloc(key->dev->gpu, &v->v[i], sizeof(cuzk_fr) << key->log2_n, d);
    if (st == CUZK_OK) continue;
    cuda_free_vectors(key->dev);
    return st;
  }
  v->n = n;
  v->log2_n = key->log2_n;
  return CUZK_OK;
}

/* Rows and polynomial: h into the first vector, in bit-reversed order. */
static enum cuzk_status run_polynomial(struct run *r) {
  struct cuzk_device_key *key = r->key;
  const bool narrow = key->mode == CUDA_NARROW;
  void *const row_bad = (uint8_t *)key->dev->bad + 128;
  uint64_t bad;
  bool top_is_zero = false;
  enum cuzk_status st;
  const uint64_t rows = key->shape->n_rows;
  CUZK_TRY(report(r, "evaluate", 0, rows, "constraints"));
  CUZK_TRY(open_vectors(key, narrow ? 2 : 3, r->d));
  void *const *v = key->dev->vec.v;
  void *const all[3] = {v[0], v[1], narrow ? NULL : v[2]}, *const c_only[3] = {NULL, NULL, v[1]};
  cuzk_cuda_set_lean(r->gpu, key->mode != CUDA_WIDE);
  CUZK_TRY(cuzk_cuda_rows_evaluate(r->gpu, key->rows, &r->z, all, key->log2_n, row_bad, r->d));
  CUZK_TRY(cuzk_cuda_mark(r->gpu, 1, r->d));
  CUZK_TRY(cuzk_cuda_download(r->gpu, &bad, row_bad, sizeof bad, r->d));
  if (bad != UINT64_MAX) {
    char region[512];
    if (cuzk_compact_region(key->circuit, bad, region, sizeof region, NULL) != CUZK_OK) region[0] = 0;
    return cuzk_fail(r->d, CUZK_E_UNSAT, "constraint %llu in %s does not hold", (unsigned long long)bad, region);
  }
  CUZK_TRY(report(r, "evaluate", rows, rows, "constraints"));
  CUZK_TRY(report(r, "h polynomial", 0, rows, "rows"));
  if (narrow) {
    CUZK_TRY(cuzk_cuda_h_product(r->gpu, v[0], v[1], key->log2_n, r->d));
    CUZK_TRY(cuzk_cuda_rows_evaluate(r->gpu, key->rows, &r->z, c_only, key->log2_n, row_bad, r->d));
    CUZK_TRY(cuzk_cuda_h_minus(r->gpu, v[0], v[1], key->log2_n, &top_is_zero, r->d));
  } else {
    CUZK_TRY(cuzk_cuda_h_poly(r->gpu, v[0], v[1], v[2], key->log2_n, &top_is_zero, r->d));
  }
  if (!top_is_zero)
    return cuzk_fail(r->d, CUZK_E_UNSAT, "the rows' values do not satisfy A B = C: the quotient has a remainder");
  CUZK_TRY(report(r, "h polynomial", rows, rows, "rows"));
  /* Streamed points come in the file's order. */
  if (!key->section[CUZK_SECTION_H].resident) CUZK_TRY(cuzk_cuda_bit_reverse(r->gpu, v[0], key->log2_n, r->d));
out:
  return st;
}

static enum cuzk_status run_all(struct run *r) {
  static const enum cuzk_section order[CUZK_N_SECTIONS] = {CUZK_SECTION_H, CUZK_SECTION_L, CUZK_SECTION_A, CUZK_SECTION_B_G1,
                                                           CUZK_SECTION_B_G2};
  struct cuzk_device_work *w = r->w;
  struct sum sum[CUZK_N_SECTIONS];
  float ms[7] = {0};
  enum cuzk_status st;
  CUZK_TRY(cuzk_cuda_mark(r->gpu, 0, r->d));
  CUZK_TRY(run_polynomial(r));
  CUZK_TRY(cuzk_cuda_mark(r->gpu, 2, r->d));
  for (unsigned i = 0; i < CUZK_N_SECTIONS; i++) {
    CUZK_TRY(sum_section(r, &sum[order[i]], order[i]));
    CUZK_TRY(cuzk_cuda_mark(r->gpu, 3 + i, r->d));
  }
  for (unsigned i = 0; i < 7; i++) CUZK_TRY(cuzk_cuda_between(r->gpu, i, i + 1, &ms[i], r->d));
  w->times = (struct cuzk_work_times){.upload = w->start_ms, .rows = ms[0], .transforms = ms[1], .h = ms[2], .l = ms[3], .a = ms[4], .b_g1 = ms[5],
                                      .b_g2 = ms[6]};
  cuzk_g1_add(&w->sums.h_l, &sum[CUZK_SECTION_H].g1, &sum[CUZK_SECTION_L].g1);
  w->sums.a = sum[CUZK_SECTION_A].g1;
  w->sums.b_g1 = sum[CUZK_SECTION_B_G1].g1;
  w->sums.b_g2 = sum[CUZK_SECTION_B_G2].g2;
  w->summed = true;
out:
  for (int i = 0; i < 2; i++) cuzk_cuda_free(r->gpu, &r->buffer[i]);
  r->buffer_points = 0;
  cuzk_secret_clear(sum, sizeof sum);
  return st;
}

/* Gives up what makes partitions fast: first what is kept between them, then wide tables, then the third vector, then parameters. */
static enum cuzk_status make_room(struct cuzk_device_key *key, unsigned attempt, struct cuzk_detail *d) {
  cuda_free_vectors(key->dev);
  const enum cuzk_status st = cuzk_cuda_trim(key->dev->gpu, d);
  if (attempt > 0 && key->mode + 1 < CUDA_MODES)
    key->mode++;
  else if (attempt > 0)
    (void)cuda_evict(key);
  return st;
}

static enum cuzk_status cuda_kernels(struct cuzk_device_work *w, const atomic_bool *stop, struct cuzk_detail *d) {
  struct cuzk_device_key *key = w->key;
  struct cuzk_device *dev = key->dev;
  enum cuzk_status st = CUZK_E_NOMEM;
  (void)pthread_mutex_lock(&dev->lock);
  for (unsigned attempt = 0; attempt < TRIES && st == CUZK_E_NOMEM; attempt++) {
    struct run r = {.w = w, .key = key, .gpu = dev->gpu, .stop = stop, .shift = attempt > 2 ? attempt - 2 : 0, .d = d};
    if (attempt > 0) {
      st = make_room(key, attempt - 1, d);
      if (st != CUZK_OK) break;
    }
    st = w->slot ? CUZK_OK : send(w, d);
    if (st != CUZK_OK) continue;
    const struct slot_layout l = lay_out(w->z.n_inputs, w->z.n_aux, w->z.n_fields);
    const uint8_t *at = w->slot->device;
    r.z = (struct cuzk_cuda_witness){w->z.n_inputs, w->z.n_aux,   w->z.n_fields,  at + l.inputs,
                                     at,            at + l.is_field, at + l.rank, at + l.fields};
    r.dense = (uint64_t)w->z.n_fields * 4 > w->z.n_aux;
    st = cuzk_cuda_kernels_after(dev->gpu, w->slot->lane, d);
    if (st == CUZK_OK) st = run_all(&r);
  }
  (void)pthread_mutex_unlock(&dev->lock);
  if (st != CUZK_OK) return st;
  give_slot(key, &w->slot);
  cuzk_packed_clear(&w->z);
  return st;
}

static void cuda_watch(struct cuzk_device_work *w, const struct cuzk_progress *progress) { w->watched = progress; }

static void cuda_times(const struct cuzk_device_work *w, struct cuzk_work_times *out) { *out = w->times; }

static enum cuzk_status cuda_finish(struct cuzk_device_work **work, const cuzk_fr *r, const cuzk_fr *s, struct cuzk_proof *out,
                                    struct cuzk_work_times *times, struct cuzk_detail *d) {
  struct cuzk_device_work *w = *work;
  enum cuzk_status st = CUZK_OK;
  const double start = now_ms();
  if (w->summed)
    cuzk_groth16_assemble(out, &w->key->params->vk, &w->sums, r, s);
  else
    st = cuzk_fail(d, CUZK_E_INTERNAL, "a partition was finished before its sums");
  if (times) {
    *times = w->times;
    times->finish = now_ms() - start;
  }
  cuda_abort(work);
  return st;
}

const struct cuzk_device_ops cuzk_device_cuda = {
    .name = "cuda",
    .count = cuda_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .key_create = cuda_key_create,
    .key_destroy = cuda_key_destroy,
    .key_tier = cuda_key_tier,
    .key_bytes = cuda_key_bytes,
    .work_bytes = cuda_work_bytes,
    .start = cuda_start,
    .kernels = cuda_kernels,
    .finish = cuda_finish,
    .abort = cuda_abort,
    .watch = cuda_watch,
    .times = cuda_times,
};
