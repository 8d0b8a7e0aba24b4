/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "synth/draw.h"

#include <string.h>

#include "base/bytes.h"
#include "hash/sha256.h"

void synth_draw_init(struct synth_draw *g, enum cuzk_kind kind, const struct cuzk_synth *o, uint64_t sector_number, unsigned api) {
  static const char tag[] = "cuzk synthetic sector 1";
  static const char letters[] = {[CUZK_KIND_POREP] = 'p', [CUZK_KIND_WINNING] = 'w', [CUZK_KIND_WINDOW] = 'n', [CUZK_KIND_UPDATE] = 'u'};
  const uint64_t words[] = {o->sector_bytes, o->seed, o->miner, sector_number, api};
  struct cuzk_sha256 s;
  uint8_t le[sizeof words];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) cuzk_store_le64(le + 8 * i, words[i]);
  cuzk_sha256_init(&s);
  cuzk_sha256_update(&s, tag, sizeof tag - 1);
  cuzk_sha256_update(&s, &letters[kind], 1);
  cuzk_sha256_update(&s, le, sizeof le);
  cuzk_sha256_final(&s, g->key);
}

void synth_draw_bytes(uint8_t out[32], const struct synth_draw *g, enum synth_what what, uint32_t a, uint64_t b) {
  uint8_t in[48];
  memcpy(in, g->key, 32);
  cuzk_store_le32(in + 32, (uint32_t)what);
  cuzk_store_le32(in + 36, a);
  cuzk_store_le64(in + 40, b);
  cuzk_sha256(out, in, sizeof in);
}

void synth_draw_element(cuzk_fr *r, const struct synth_draw *g, enum synth_what what, uint32_t a, uint64_t b) {
  uint8_t h[32];
  synth_draw_bytes(h, g, what, a, b);
  h[31] &= 0x3f;
  (void)cuzk_fr_from_le(r, h);
}
