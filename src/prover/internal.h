/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the files of this layer share; not for other layers. */
#ifndef CUZK_PROVER_INTERNAL_H
#define CUZK_PROVER_INTERNAL_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/file.h"
#include "base/progress.h"
#include "device/device.h"
#include "groth16/prove.h"
#include "inputs/kinds.h"
#include "prover/real.h"
#include "prover/rows.h"

struct real_device {
  const struct cuzk_device_ops *ops;
  unsigned index;
  struct cuzk_device *dev; /* NULL after a reset that failed */
  struct cuzk_pool *pool;
  struct cuzk_device_desc desc; /* of when it was opened */
  atomic_bool lost;
  _Atomic uint64_t key_bytes;
  _Atomic unsigned pending; /* works between start and finish or abort */
};

/** A circuit's compact form, made or read once and kept. */
struct real_compact {
  pthread_mutex_t lock; /* held while it is made: one at a time, others wait */
  struct cuzk_compact *compact;
  struct cuzk_file file; /* whose bytes compact borrows, if it was read */
};

struct real_srs;

struct cuzk_prover_real {
  char *param_dir, *circuit_dir; /* circuit_dir NULL: none */
  bool eager_keys;
  uint64_t device_memory_limit;
  struct cuzk_pool *pool; /* checks, synthesis, circuits */
  unsigned n_devices;
  struct real_device *device;
  struct real_compact compact[CUZK_PROVER_ROWS];
  pthread_mutex_t lock;   /* the list of loaded parameters */
  struct real_srs *first;
  atomic_bool interrupted;
};

/** Parameters of a circuit, ready to prove with. */
struct real_srs {
  struct cuzk_prover_real *p;
  struct real_srs *next, *prev;
  const struct cuzk_prover_row *row;
  struct cuzk_params *params;
  int guard;
  struct cuzk_pvk *pvk;
  const struct cuzk_compact *compact;
  struct cuzk_shape shape;
  pthread_mutex_t lock; /* keys */
  struct cuzk_device_key *key[]; /* n_devices; NULL until the first partition comes */
};

/** Decoded inputs of a request. */
struct real_inputs {
  const struct cuzk_prover_row *row;
  struct cuzk_inputs *in;
  size_t n_public; /* of a partition */
  cuzk_fr *u;      /* n_partitions rows of n_public: what a verifier derives */
};

/** *out = the parameter file of a circuit, cuzk_free. Errors: E_NOMEM. */
enum cuzk_status real_params_path(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, char **out);
/** The ops of the same names. */
enum cuzk_status real_admit(void *self, const struct cuzk_request *rq, struct cuzk_plan *plan, struct cuzk_detail *d);
enum cuzk_status real_open(void *self, struct cuzk_request *rq, const struct cuzk_plan *plan, void **inputs, const atomic_bool *stop,
                           struct cuzk_detail *d);
void real_close(void *self, void *inputs);
enum cuzk_status real_srs_size(void *self, const char *circuit_id, uint64_t *bytes, struct cuzk_detail *d);
enum cuzk_status real_srs_load(void *self, const char *circuit_id, void **srs, const atomic_bool *stop, struct cuzk_detail *d);
void real_srs_unload(void *self, void *srs);
/** The key of a device, made if need be. Errors: those of key_create. */
enum cuzk_status real_srs_key(struct real_srs *s, unsigned device, struct cuzk_device_key **key, const struct cuzk_progress *progress,
                              struct cuzk_detail *d);
/** st, or E_IO if the parameter file lost bytes under the mapping: then what it read there was none of the file's. */
enum cuzk_status real_torn(const struct real_srs *s, enum cuzk_status st, struct cuzk_detail *d);
/** Drops the keys of a device in all loaded parameters. */
void real_drop_keys(struct cuzk_prover_real *p, unsigned device);
/** Bytes of host memory that the circuit of a row takes when its parameters are resident. */
uint64_t real_resident_bytes(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, uint64_t file_bytes);

/** A progress that asks to stop when *stop is set; *out is filled and returned, NULL for stop NULL. */
const struct cuzk_progress *real_progress(struct cuzk_progress *out, const atomic_bool *stop);

/** What can be seen of a phase-1 output without decoding it. */
struct real_c1_head {
  const struct cuzk_seal_type *type; /* NULL: not seen */
  bool has_sector, has_size;
  uint64_t sector, size; /* of Curio's wrapper */
};
/** Looks at the members of a JSON document up to the first one that is a list or an object, and into the first bytes of a wrapped one.
 *  What is not as expected ends the look; the reader will say what is wrong with it. */
void real_c1_look(struct real_c1_head *out, const uint8_t *p, size_t n);
#endif
