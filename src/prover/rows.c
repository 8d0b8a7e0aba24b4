/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Counts and digests: circuits specification 10; those of a circuit's record in the fixtures. The field elements among the private values are
 * counted by bench_packed. tests/prover compares. */
#include "prover/rows.h"

#include <string.h>

const struct cuzk_prover_row cuzk_prover_rows[CUZK_PROVER_ROWS] = {
    {"porep-2k", "porep-2kib", 40, 2685673, 43806, 2687921,
     "c6053b36adec528bf27b44449a8e8c3ec5444df0be691ba1235e88091b0590fb"},
    {"porep-8m", "porep-8mib", 40, 3842449, 111998, 3844929,
     "4087aa5735cafe1fddfd9327ba005ee8f1114542c425cbd5f9fb7fab3e6ec3cd"},
    {"porep-512m", "porep-512mib", 40, 4420837, 146094, 4423433,
     "0895c02049d74e100f995a4046884f2f9ad2daaa26b6593b19401a81626c086a"},
    {"porep-32g", "porep-32gib", 328, 130169893, 1699102, 130278541,
     "cb5f0f2f4b7d8ef93ab81088db2b3d9a52fa4b27be072e7655712e6953a8ae9b"},
    {"porep-64g", "porep-64gib", 328, 131076643, 1789606, 131185849,
     "9d6c3856ca7b0fec53149e4b1a3fc8b36ffc52b7920ea2f04d301d1a9bf498d0"},
    {"snap-2k", "update-2kib", 5, 1703569, 26018, 1705039,
     "b9a5fdc4d53c1d73701c785d48cd09bc8e2de64d448ca204bdd6578f098de14c"},
    {"snap-8m", "update-8mib", 5, 9998039, 70266, 10007503,
     "6ea5607902e3fd6f76017092eafcbf41bf5c0fd64a1adec1867e13932b13b22f"},
    {"snap-512m", "update-512mib", 5, 57401314, 779342, 57450479,
     "ca16ad4b3c7b4a0b7b3e0a3fe1166ff408da0739a66e6306aa46d72e4b8b489a"},
    {"snap-32g", "update-32gib", 5, 80978488, 965038, 81049499,
     "9937b4517a1630ea72b47b112386cd82cedc3abf48c6c661c95dd415daa24844"},
    {"snap-64g", "update-64gib", 5, 84931220, 1019390, 85006101,
     "a89209b041c11680d593368f442302b28e2964f4eddd2de5d2588e891cad7289"},
    {"wpost-2k", "window-2kib", 23, 22128, 21928, 21866,
     "56e9adf73cd9591bf09b7af0ba4b8982729ad866d76eb371c46687b438d7e5e4"},
    {"wpost-8m", "window-8mib", 23, 65088, 64488, 64266,
     "c120c2922a53315ab7ec473b0dedfe63a711ad53b5649b7e511a6b597c42c4ff"},
    {"wpost-512m", "window-512mib", 23, 86568, 85768, 85466,
     "8bad0431cf2fa48c3dd6b2c1a180904d3ab0d6f0e91cc1974409abc4d495b724"},
    {"wpost-32g", "window-32gib", 25840, 126902376, 125727876, 125279217,
     "4a13b3424c83290f3e6d8b7413537b96f97d7be616f585461f0d624df3067477"},
    {"wpost-64g", "window-64gib", 25301, 131500200, 130327200, 129887900,
     "fad7572d672d409d97b214dcc2d877549d0c01415ffd7ef27c2825c86ba1a0ea"},
    {"winning-2k", "winning-2kib", 133, 91674, 91014, 90750,
     "ac02fdb899699489ad1eb66506cdd482d0ba8eb07bb6cec1694125193de2cab1"},
    {"winning-8m", "winning-8mib", 133, 233442, 231462, 230670,
     "fe90f5c334b489812d0f91fb99b70c4a79e3d111f78fdab551be2286ee73bd60"},
    {"winning-512m", "winning-512mib", 133, 304326, 301686, 300630,
     "1bee99b7c1645605bc3942e55ce157407922aadcba80d1e232bdf57fd5090fab"},
    {"winning-32g", "winning-32gib", 133, 375210, 371910, 370590,
     "b563029c99546988f004222e16e310cf888f6fb974ad4f5921dd1b37b0d78c00"},
    {"winning-64g", "winning-64gib", 133, 396000, 392634, 391314,
     "b785f670ce18a1470e9c094d2e4dab7720a58f0145d44f9645f26f8938155a2e"},
};

const struct cuzk_prover_row *cuzk_prover_row_of(enum cuzk_kind kind, uint64_t sector_bytes) {
  const struct cuzk_circuit *c = cuzk_circuit_of(kind, sector_bytes);
  for (size_t i = 0; c && i < CUZK_PROVER_ROWS; i++) {
    if (!strcmp(cuzk_prover_rows[i].circuit, c->name)) return &cuzk_prover_rows[i];
  }
  return NULL;
}

const struct cuzk_prover_row *cuzk_prover_row_find(const char *id) {
  for (size_t i = 0; i < CUZK_PROVER_ROWS; i++) {
    if (!strcmp(cuzk_prover_rows[i].id, id)) return &cuzk_prover_rows[i];
  }
  return NULL;
}

uint64_t cuzk_prover_row_packed_bytes(const struct cuzk_prover_row *r) {
  const uint64_t words = ((uint64_t)r->n_aux + 63) / 64;
  return words * (2 * sizeof(uint64_t) + sizeof(uint32_t)) + ((uint64_t)r->n_fields + r->n_inputs) * sizeof(cuzk_fr);
}
