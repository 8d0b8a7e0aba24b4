/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/file.h"
#include "groth16/page.h"
#include "groth16/params.h"
#include "groth16/params_internal.h"
#include "groth16/point_error.h"

void cuzk_vk_clear(struct cuzk_vk *vk) {
  cuzk_free(vk->ic);
  *vk = (struct cuzk_vk){0};
}

struct reader {
  const uint8_t *data;
  size_t n, pos;
  const char *name;
};

static enum cuzk_status need(const struct reader *r, size_t n, const char *what, struct cuzk_detail *d) {
  if (r->n - r->pos >= n) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_FORMAT, "%s: truncated: %s needs %zu bytes at offset %zu, %zu are left", r->name, what, n, r->pos,
                   r->n - r->pos);
}

static enum cuzk_status read_g1(struct reader *r, cuzk_g1_affine *p, const char *what, bool infinity_ok,
                                struct cuzk_detail *d) {
  enum cuzk_status st = need(r, 96, what, d);
  if (st != CUZK_OK) return st;
  st = cuzk_g1_decode(p, r->data + r->pos);
  if (st == CUZK_OK && cuzk_g1_affine_is_identity(p)) {
    if (!infinity_ok) st = CUZK_E_INFINITY;
  } else if (st == CUZK_OK && !cuzk_g1_affine_in_subgroup(p)) {
    st = CUZK_E_NOT_GROUP;
  }
  if (st != CUZK_OK) return cuzk_fail(d, st, "%s: %s at offset %zu: %s", r->name, what, r->pos, cuzk_point_error(st));
  r->pos += 96;
  return CUZK_OK;
}

static enum cuzk_status read_g2(struct reader *r, cuzk_g2_affine *p, const char *what, struct cuzk_detail *d) {
  enum cuzk_status st = need(r, 192, what, d);
  if (st != CUZK_OK) return st;
  st = cuzk_g2_decode(p, r->data + r->pos);
  if (st == CUZK_OK && !cuzk_g2_affine_is_identity(p) && !cuzk_g2_affine_in_subgroup(p)) st = CUZK_E_NOT_GROUP;
  if (st != CUZK_OK) return cuzk_fail(d, st, "%s: %s at offset %zu: %s", r->name, what, r->pos, cuzk_point_error(st));
  r->pos += 192;
  return CUZK_OK;
}

enum cuzk_status cuzk_vk_read(struct cuzk_vk *vk, const uint8_t *data, size_t n, size_t *used, const char *name,
                              struct cuzk_detail *d) {
  enum cuzk_status st;
  struct reader r = {data, n, 0, name};
  *vk = (struct cuzk_vk){0};
  *used = 0;
  if (n == 0) return cuzk_fail(d, CUZK_E_FORMAT, "%s: empty, where a verifying key was expected", name);
  if (cuzk_looks_like_page(data, n))
    return cuzk_fail(d, CUZK_E_FORMAT, "%s: an HTML or XML page, not points: a download went wrong", name);
  CUZK_TRY(read_g1(&r, &vk->alpha_g1, "alpha_g1", true, d));
  CUZK_TRY(read_g1(&r, &vk->beta_g1, "beta_g1", true, d));
  CUZK_TRY(read_g2(&r, &vk->beta_g2, "beta_g2", d));
  CUZK_TRY(read_g2(&r, &vk->gamma_g2, "gamma_g2", d));
  CUZK_TRY(read_g1(&r, &vk->delta_g1, "delta_g1", true, d));
  CUZK_TRY(read_g2(&r, &vk->delta_g2, "delta_g2", d));
  CUZK_TRY(need(&r, 4, "the count of ic", d));
  const uint32_t count = cuzk_load_be32(data + r.pos);
  if (count == 0) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: ic at offset %zu has no points; at least that of the constant is expected", name,
                   r.pos);
    goto out;
  }
  r.pos += 4;
  /* Against the file's size before memory is asked for: a count is only four bytes long and easily damaged. */
  if ((n - r.pos) / 96 < count) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: ic at offset %zu: %u points need %llu bytes, %zu are left (truncated, or a wrong count)",
                   name, r.pos - 4, count, 96ull * count, n - r.pos);
    goto out;
  }
  vk->ic = cuzk_malloc_array(count, sizeof *vk->ic);
  if (!vk->ic) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory for %u points of ic", name, count);
    goto out;
  }
  vk->n_ic = count;
  for (uint32_t i = 0; i < count; i++) {
    st = read_g1(&r, &vk->ic[i], "ic", false, d);
    if (st != CUZK_OK) {
      (void)cuzk_fail(d, st, "%s: ic[%u] at offset %zu: %s", name, i, r.pos, cuzk_point_error(st));
      goto out;
    }
  }
  *used = r.pos;
  return CUZK_OK;
out:
  cuzk_vk_clear(vk);
  return st;
}

enum cuzk_status cuzk_vk_load(struct cuzk_vk *vk, const char *path, struct cuzk_detail *d) {
  struct cuzk_file map;
  *vk = (struct cuzk_vk){0};
  enum cuzk_status st = cuzk_file_map(&map, path, UINT64_MAX, d);
  if (st != CUZK_OK) return st;
  size_t used;
  CUZK_TRY(cuzk_vk_read(vk, map.data, map.n, &used, path, d));
  if (used < map.n) {
    struct cuzk_params p = {.map = map.data, .n_bytes = map.n};
    if (cuzk_params_find_sections(&p, used, path, NULL) != CUZK_OK) {
      st = cuzk_fail(d, CUZK_E_FORMAT, "%s: %zu bytes follow the verifying key, which ends at offset %zu, and they are not the "
                     "sections of a parameter file", path, map.n - used, used);
      cuzk_vk_clear(vk);
    }
  }
out:
  cuzk_file_clear(&map);
  return st;
}

enum cuzk_status cuzk_vk_save(const struct cuzk_vk *vk, const char *path, struct cuzk_detail *d) {
  struct cuzk_outfile *w;
  uint8_t head[868], point[96];
  enum cuzk_status st = cuzk_outfile_open(&w, path, d);
  if (st != CUZK_OK) return st;
  cuzk_g1_encode(head, &vk->alpha_g1);
  cuzk_g1_encode(head + 96, &vk->beta_g1);
  cuzk_g2_encode(head + 192, &vk->beta_g2);
  cuzk_g2_encode(head + 384, &vk->gamma_g2);
  cuzk_g1_encode(head + 576, &vk->delta_g1);
  cuzk_g2_encode(head + 672, &vk->delta_g2);
  cuzk_store_be32(head + 864, vk->n_ic);
  CUZK_TRY(cuzk_outfile_write(w, head, sizeof head, d));
  for (uint32_t i = 0; i < vk->n_ic; i++) {
    cuzk_g1_encode(point, &vk->ic[i]);
    CUZK_TRY(cuzk_outfile_write(w, point, sizeof point, d));
  }
  return cuzk_outfile_commit(&w, d);
out:
  cuzk_outfile_abort(&w);
  return st;
}
