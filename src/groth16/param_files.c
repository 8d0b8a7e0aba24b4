/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "groth16/param_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/hex.h"
#include "hash/blake2b.h"

/* The manifest of version 28 (rust-fil-proofs, parameters.json): parameter id, digest of .params, digest of .vk. */
static const struct {
  const char *id, *params, *vk;
} published[] = {
    {"stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f",
     "434fb1338ecfaf0f59256f30dde4968f", "dc1ade9929ade1708238f155343044ac"},
    {"stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb",
     "09e612e4eeb7a0eb95679a88404f960c", "b687beb9adbd9dabe265a7e3620813e4"},
    {"stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-6babf46ce344ae495d558e7770a585b2382d54f225af8ed0397b8be7c3fcd472",
     "6c77597eb91ab936c1cef4cf19eba1b3", "065179da19fbe515507267677f02823e"},
    {"stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820",
     "6a388072a518cf46ebd661f5cc46900a", "0c7b4aac1c40fdb7eb82bc355b41addf"},
    {"stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-2-sha256_hasher-96f1b4a04c5c51e4759bbf224bbc2ef5a42c7100f16ec0637123f16a845ddfb2",
     "1801f8a6e1b00bceb00cc27314bb5ce3", "a89884252c04c298d0b3c81bfd884164"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-3ea05428c9d11689f23529cde32fd30aabd50f7d2c93657c1d3650bca3e8ea9e",
     "82c88066be968bb550a05e30ff6c2413", "ffd79788d614d27919ae5bd2d94eacb6"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-50c7368dea9593ed0989e70974d28024efa9d156d585b7eea1be22b2e753f331",
     "700171ecf7334e3199437c930676af82", "79ebb55f56fda427743e35053edad8fc"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-7d739b8cf60f1b0709eeebee7730e297683552e4b69cab6984ec0285663c5781",
     "827359440349fe8f5a016e7598993b79", "bd2cd62f65c1ab84f19ca27e97b7c731"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-559e581f022bb4e4ec6e719e563bf0e026ad6de42e56c18714a2c692b1b88d7e",
     "d84f79a16fe40e9e25a36e2107bb1ba0", "fc02943678dd119e69e7fab8420e8819"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-2-b62098629d07946e9028127e70295ed996fe3ed25b0f9f88eb610a0ab4385a3c",
     "2170a91ad5bae22ea61f2ea766630322", "6d3789148fb6466d07ee1e24d6292fd6"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0",
     "7610b9f82bfc88405b7a832b651ce2f6", "0e0958009936b9d5e515ec97b8cb792d"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-5294475db5237a2e83c3e52fd6c2b03859a1831d45ed08c4f35dbf9a803165a9",
     "c49499bb76a0762884896f9683403f55", "34d4feeacd9abf788d69ef1bb4d8fd00"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-0cfb4f178bbb71cf2ecfcd42accce558b27199ab4fb59cb78f2483fe21ef36d9",
     "1a7d4a9c8a502a497ed92a54366af33f", "4dae975de4f011f101f5a2f86d1daaba"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-0377ded656c6f524f1618760bffe4e0a1c51d5a70c4509eedae8a27555733edc",
     "2cf49eb26f1fee94c85781a390ddb4c8", "0f8ec542485568fa3468c066e9fed82b"},
    {"proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-2-2627e4006b67f99cef990c0a47d5426cb7ab0a0ad58fc1061547bf2d28b09def",
     "3810b7780ac0e299b22ae70f1f94c9bc", "59d2bf1857adc59a4f08fcf2afaa916b"},
    {"empty-sector-update-merkletree-poseidon_hasher-8-0-0-fb9e095bebdd77511c0269b967b4d87ba8b8a525edaa0e165de23ba454510194",
     "311f92a3e75036ced01b1c0025f1fa0c", "eadad9784969890d30f2749708c79771"},
    {"empty-sector-update-merkletree-poseidon_hasher-8-0-0-92180959e1918d26350b8e6cfe217bbdd0a2d8de51ebec269078b364b715ad63",
     "5aedd2cf3e5c0a15623d56a1b43110ad", "abd80269054d391a734febdac0d2e687"},
    {"empty-sector-update-merkletree-poseidon_hasher-8-0-0-61fa69f38b9cc771ba27b670124714b4ea77fbeae05e377fb859c4a43b73a30c",
     "c3ad7bb549470b82ad52ed070aebb4f4", "994c5b7d450ca9da348c910689f2dc7f"},
    {"empty-sector-update-merkletree-poseidon_hasher-8-8-0-3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18",
     "1b3cfd761a961543f9eb273e435a06a2", "3a6941983754737fde880d29c7094905"},
    {"empty-sector-update-merkletree-poseidon_hasher-8-8-2-102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7",
     "1a392e7b759fb18e036c7559b5ece816", "80e366df2f1011953c2d01c7b7c9ee8e"},
    {"empty-sector-update-poseidon-merkletree-poseidon_hasher-8-8-0-3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18",
     "b69983b5d7a97a20f43b3d5ff2a4ed04", "1ac05784f304129f74c5184190c1ec78"},
    {"empty-sector-update-poseidon-merkletree-poseidon_hasher-8-8-2-102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7",
     "a6d4f96e2b641a6d7a1a8e6dc1155c8a", "8e8fb9e2c56eb5d740d0de135305a7b8"},
};

const char *cuzk_params_cache_dir(void) {
  const char *dir = getenv("FIL_PROOFS_PARAMETER_CACHE");
  return dir && *dir ? dir : "/var/tmp/filecoin-proof-parameters/";
}

enum cuzk_status cuzk_params_file_path(char **out, const char *dir, const char *parameter_id, const char *ext) {
  if (!dir) dir = cuzk_params_cache_dir();
  const size_t n = strlen(dir), size = n + strlen(parameter_id) + strlen(ext) + 16;
  const char *slash = n && dir[n - 1] == '/' ? "" : "/";
  *out = cuzk_malloc(size);
  if (!*out) return CUZK_E_NOMEM;
  (void)snprintf(*out, size, "%s%sv%d-%s.%s", dir, slash, CUZK_PARAMS_VERSION, parameter_id, ext);
  return CUZK_OK;
}

#define DIGEST_CHUNK ((size_t)8 << 20)

enum cuzk_status cuzk_file_digest(char out[CUZK_DIGEST_CHARS], const char *path, const struct cuzk_progress *progress,
                                  struct cuzk_detail *d) {
  struct cuzk_file map;
  struct cuzk_blake2b s;
  uint8_t full[64];
  out[0] = 0;
  enum cuzk_status st = cuzk_file_map(&map, path, UINT64_MAX, d);
  if (st != CUZK_OK) return st;
  (void)madvise(map.data, map.n, MADV_SEQUENTIAL);
  cuzk_blake2b_init(&s, sizeof full, NULL, 0);
  for (size_t pos = 0; pos < map.n; pos += DIGEST_CHUNK) {
    const size_t left = map.n - pos;
    cuzk_blake2b_update(&s, map.data + pos, left < DIGEST_CHUNK ? left : DIGEST_CHUNK);
    if (!cuzk_progress(progress, "digest", left < DIGEST_CHUNK ? map.n : pos + DIGEST_CHUNK, map.n, "bytes")) {
      st = cuzk_fail(d, CUZK_E_CANCELLED, "%s: the digest was cancelled", path);
      goto out;
    }
  }
  cuzk_blake2b_final(&s, full);
  cuzk_hex_encode(out, full, 16);
out:
  cuzk_file_clear(&map);
  return st;
}

static const char *last_component(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char *cuzk_published_digest(const char *name) {
  char prefix[8];
  name = last_component(name);
  const int n_prefix = snprintf(prefix, sizeof prefix, "v%d-", CUZK_PARAMS_VERSION);
  if (strncmp(name, prefix, (size_t)n_prefix) != 0) return NULL;
  name += n_prefix;
  for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
    const size_t n = strlen(published[i].id);
    if (strncmp(name, published[i].id, n) != 0) continue;
    if (strcmp(name + n, ".params") == 0) return published[i].params;
    if (strcmp(name + n, ".vk") == 0) return published[i].vk;
  }
  return NULL;
}

enum cuzk_status cuzk_file_check_published(const char *path, const struct cuzk_progress *progress, struct cuzk_detail *d) {
  char have[CUZK_DIGEST_CHARS];
  const char *want = cuzk_published_digest(path);
  if (!want) return cuzk_fail(d, CUZK_E_UNSUPPORTED, "%s: no digest is published for this name", path);
  const enum cuzk_status st = cuzk_file_digest(have, path, progress, d);
  if (st != CUZK_OK) return st;
  if (strcmp(have, want) != 0)
    return cuzk_fail(d, CUZK_E_MISMATCH, "%s: its digest is %s, the published one is %s", path, have, want);
  return CUZK_OK;
}

enum cuzk_status cuzk_meta_save(const char *path, uint64_t sector_bytes, struct cuzk_detail *d) {
  char text[48];
  const int n = snprintf(text, sizeof text, "{\"sector_size\":%llu}", (unsigned long long)sector_bytes);
  return cuzk_file_write(path, text, (size_t)n, d);
}
