/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the two files of the CUDA device share; not for other layers. docs/backends/cuda.md. */
#ifndef CUZK_DEVICE_CUDA_INTERNAL_H
#define CUZK_DEVICE_CUDA_INTERNAL_H
#include <pthread.h>

#include "backend/cuda/partition.h"
#include "device/device.h"
#include "groth16/prove.h"

#define CUDA_STAGE_BYTES ((size_t)64 << 20)

/** Rows' values: three vectors, or two where memory is short. Shared by all keys of a device, one partition's at a time. */
struct cuda_vectors {
  void *v[3];
  unsigned n, log2_n;
};

struct cuzk_device {
  struct cuzk_cuda *gpu;
  struct cuzk_pool *pool;
  unsigned index;
  pthread_mutex_t lock;   /* guards the context's kernels and all below */
  struct cuda_vectors vec;
  struct cuzk_cuda_lane *lane[2]; /* parameters on their way, with a buffer of either side each */
  void *stage[2], *raw[2];
  void *bad;              /* device: u32 a section, then u64 for rows */
};

struct cuda_section {
  bool g2;
  size_t count, point_bytes;
  void *resident;     /* all points, h's in bit-reversed order; NULL: streamed */
  void *pinned;       /* host copy in device form; NULL: from the file */
  void *inputs;       /* points of the public inputs, which come first; for when the rest is streamed */
  size_t n_inputs;
};

/** A witness's place on the device and its page-locked twin, one after the other in the order bits, is_field, rank, inputs, fields. */
struct cuda_slot {
  struct cuda_slot *next;
  void *device, *host; /* host NULL: copied from pageable memory */
  size_t bytes;
  struct cuzk_cuda_lane *lane;
};

/** How tight memory is. */
enum cuda_mode {
  CUDA_WIDE,   /* three vectors, tables of the vector's size, whole sums */
  CUDA_LEAN,   /* three vectors, small tables */
  CUDA_NARROW, /* two vectors, small tables */
  CUDA_MODES
};

struct cuzk_device_key {
  struct cuzk_device *dev;
  const struct cuzk_params *params;
  const struct cuzk_compact *circuit;
  const struct cuzk_shape *shape;
  unsigned log2_n;
  enum cuda_mode mode;
  struct cuzk_cuda_rows *rows;
  void *maps;               /* device: a_aux, b_aux, their ranks, numbers of the inputs in b */
  const void *map[2], *map_rank[2], *b_index;
  uint32_t *rank[2];        /* host: set bits of a_aux and b_aux before each word, and of all */
  struct cuda_section section[CUZK_N_SECTIONS];
  uint64_t own_bytes;       /* of device memory */
  pthread_mutex_t lock;     /* guards slots */
  struct cuda_slot *slots;  /* free ones */
  unsigned n_slots;
};

/** Points first .. first + n - 1 of a section to device memory, h's to their reversed places if so. The device's lock is held. Refused
 *  points show in dev->bad. */
enum cuzk_status cuda_load(struct cuzk_device_key *key, enum cuzk_section s, void *dst, size_t first, size_t n, bool reversed,
                           struct cuzk_detail *d);
/** The same of a pinned section, without waiting: kernels that read dst must come after the device's first lane. */
enum cuzk_status cuda_fetch(struct cuzk_device_key *key, enum cuzk_section s, void *dst, size_t first, size_t n, struct cuzk_detail *d);
/** Marks no point as refused / the status of the first refused point of a section (waits for the kernels). */
enum cuzk_status cuda_expect(struct cuzk_device *dev, enum cuzk_section s, struct cuzk_detail *d);
enum cuzk_status cuda_met(struct cuzk_device_key *key, enum cuzk_section s, struct cuzk_detail *d);
/** Frees the device copy of the largest resident section, which is streamed from then on; false: there is none. */
bool cuda_evict(struct cuzk_device_key *key);
void cuda_free_vectors(struct cuzk_device *dev);

enum cuzk_status cuda_key_create(struct cuzk_device_key **out, struct cuzk_device *dev, const struct cuzk_params *params,
                                 const struct cuzk_compact *circuit, const struct cuzk_shape *shape, const struct cuzk_progress *progress,
                                 struct cuzk_detail *d);
void cuda_key_destroy(struct cuzk_device_key **key);
void cuda_slot_destroy(struct cuzk_device *dev, struct cuda_slot **slot);
#endif
