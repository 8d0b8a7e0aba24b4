/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "inputs/seal.h"

#include <string.h>

#include "base/bytes.h"

#define SIZE(size, bytes, number, porep_number, few, many)                                                                      \
  {"StackedDrg" size "V1", size, "StackedDrg" size "V1", bytes, 0x0100, CUZK_POREP_INTERACTIVE, number, porep_number, few},      \
      {"StackedDrg" size "V1_1", size, "StackedDrg" size "V1", bytes, 0x0101, CUZK_POREP_INTERACTIVE,                            \
       (number) < 0 ? -1 : (number) + 5, (porep_number) + 5, few},                                                               \
      {"StackedDrg" size "V1_1_Feat_SyntheticPoRep", size, "StackedDrg" size "V1", bytes, 0x0102, CUZK_POREP_SYNTHETIC,          \
       (number) < 0 ? -1 : (number) + 10, (porep_number) + 10, few},                                                             \
      {"StackedDrg" size "V1_2_Feat_NonInteractivePoRep", size, "StackedDrg" size "V1", bytes, 0x0102,                           \
       CUZK_POREP_NON_INTERACTIVE, (number) < 0 ? -1 : (number) + 15, (porep_number) + 15, many}

static const struct cuzk_seal_type types[] = {
    SIZE("2KiB", UINT64_C(2) << 10, 0, 0, 1, 13),
    SIZE("4KiB", UINT64_C(4) << 10, -1, 0, 1, 13),
    SIZE("16KiB", UINT64_C(16) << 10, -1, 0, 1, 13),
    SIZE("32KiB", UINT64_C(32) << 10, -1, 0, 1, 13),
    SIZE("8MiB", UINT64_C(8) << 20, 1, 1, 1, 13),
    SIZE("512MiB", UINT64_C(512) << 20, 2, 2, 1, 13),
    SIZE("32GiB", UINT64_C(32) << 30, 3, 3, 10, 126),
    SIZE("64GiB", UINT64_C(64) << 30, 4, 4, 10, 126),
};

const struct cuzk_seal_type *cuzk_seal_type_at(size_t i) { return i < sizeof types / sizeof *types ? &types[i] : NULL; }

const struct cuzk_seal_type *cuzk_seal_type_find(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].name, name) == 0) return &types[i];
  }
  return NULL;
}

void cuzk_porep_id(uint8_t out[32], const struct cuzk_seal_type *t) {
  memset(out, 0, 32);
  cuzk_store_le64(out, t->porep_number);
}
