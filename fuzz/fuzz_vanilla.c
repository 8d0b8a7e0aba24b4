/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bincode records of PoSt and sector updates. The first byte chooses the circuit; records have one length, so a shorter input is filled up
 * with zeros and a longer one is also tried as it is. */
#include <stdlib.h>
#include <string.h>

#include "inputs/vanilla.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void post(const struct cuzk_circuit *c, const uint8_t *p, size_t n) {
  static const uint8_t randomness[32] = {1};
  struct cuzk_detail d;
  struct cuzk_post_vanilla *v;
  struct cuzk_post_partition *part;
  if (cuzk_post_vanilla_read(&v, c, p, n, "fuzz", &d) != CUZK_OK) {
    if (v) abort();
    return;
  }
  enum cuzk_status st = cuzk_post_vanilla_check(v, randomness, 0x0102, 0, &d);
  if (st != CUZK_OK && st != CUZK_E_MISMATCH && st != CUZK_E_NOMEM) abort();
  if (cuzk_post_partition_create(&part, c, (const struct cuzk_post_vanilla *const *)&v, 1, &d) == CUZK_OK) {
    if (part->n_sectors != c->sectors) abort();
    cuzk_post_partition_destroy(&part);
  }
  cuzk_post_vanilla_free(&v);
}

static void update(const struct cuzk_circuit *c, const uint8_t *p, size_t n) {
  static const struct cuzk_update_commitments comm = {{1}, {0}, {2}};
  struct cuzk_detail d;
  struct cuzk_update_vanilla *v;
  if (cuzk_update_vanilla_read(&v, c, c->partitions - 1, &comm, p, n, "fuzz", &d) != CUZK_OK) {
    if (v) abort();
    return;
  }
  enum cuzk_status st = cuzk_update_vanilla_check(v, &d);
  if (st != CUZK_OK && st != CUZK_E_MISMATCH && st != CUZK_E_NOMEM) abort();
  cuzk_update_vanilla_free(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const names[] = {"window-2kib", "window-4kib", "window-32kib", "winning-16kib", "update-2kib", "update-32kib"};
  if (n < 1) return 0;
  const struct cuzk_circuit *c = cuzk_circuit_find(names[data[0] % 6]);
  const bool is_update = c->kind == CUZK_KIND_UPDATE;
  void (*const run)(const struct cuzk_circuit *, const uint8_t *, size_t) = is_update ? update : post;
  const size_t want = is_update ? cuzk_update_vanilla_bytes(c) : cuzk_post_vanilla_bytes(c);
  data++;
  n--;
  if (n >= want) {
    run(c, data, n);
    return 0;
  }
  uint8_t *p = calloc(1, want);
  if (!p) abort();
  if (n) memcpy(p, data, n);
  run(c, p, want);
  free(p);
  return 0;
}
