/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "groth16/params.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/fail.h"
#include "base/file.h"
#include "groth16/params_internal.h"
#include "groth16/point_error.h"

const char *const cuzk_section_names[CUZK_N_SECTIONS] = {"h", "l", "a", "b_g1", "b_g2"};
static const unsigned point_bytes[CUZK_N_SECTIONS] = {96, 96, 96, 96, 192};

enum cuzk_status cuzk_params_find_sections(struct cuzk_params *p, size_t pos, const char *name, struct cuzk_detail *d) {
  for (int s = 0; s < CUZK_N_SECTIONS; s++) {
    const char *what = cuzk_section_names[s];
    if (p->n_bytes - pos < 4)
      return cuzk_fail(d, CUZK_E_FORMAT, "%s: truncated: the count of %s needs 4 bytes at offset %zu, %zu are left", name, what,
                       pos, p->n_bytes - pos);
    const uint32_t count = cuzk_load_be32(p->map + pos);
    const size_t left = p->n_bytes - pos - 4;
    if (left / point_bytes[s] < count)
      return cuzk_fail(d, CUZK_E_FORMAT,
                       "%s: %s at offset %zu: %u points need %llu bytes, %zu are left (truncated, or a wrong count)", name, what,
                       pos, count, (unsigned long long)count * point_bytes[s], left);
    p->section[s].offset = pos;
    p->section[s].count = count;
    pos += 4 + (size_t)count * point_bytes[s];
    /* Counts that cannot belong together are told here, where their offset is known. */
    if (s == CUZK_SECTION_H && (((uint64_t)count + 1) & count) != 0)
      return cuzk_fail(d, CUZK_E_FORMAT, "%s: h at offset %llu has %u points; one less than a power of two was expected", name,
                       (unsigned long long)p->section[s].offset, count);
    if (s == CUZK_SECTION_B_G2 && count != p->section[CUZK_SECTION_B_G1].count)
      return cuzk_fail(d, CUZK_E_FORMAT, "%s: b_g2 at offset %llu has %u points; %u were expected, as many as b_g1 has", name,
                       (unsigned long long)p->section[s].offset, count, p->section[CUZK_SECTION_B_G1].count);
  }
  if (pos != p->n_bytes)
    return cuzk_fail(d, CUZK_E_FORMAT, "%s: %zu bytes follow b_g2, which ends at offset %zu; the end of the file was expected",
                     name, p->n_bytes - pos, pos);
  return CUZK_OK;
}

enum cuzk_status cuzk_params_parse(struct cuzk_params *p, const uint8_t *data, size_t n, const char *name,
                                   struct cuzk_detail *d) {
  size_t used;
  *p = (struct cuzk_params){.map = data, .n_bytes = n};
  enum cuzk_status st = cuzk_vk_read(&p->vk, data, n, &used, name, d);
  if (st == CUZK_OK) st = cuzk_params_find_sections(p, used, name, d);
  if (st != CUZK_OK) {
    cuzk_vk_clear(&p->vk);
    return st;
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_params_open(struct cuzk_params **out, const char *path, struct cuzk_detail *d) {
  enum cuzk_status st;
  struct cuzk_file map = {0};
  char *name = NULL;
  *out = NULL;
  struct cuzk_params *p = cuzk_calloc(1, sizeof *p);
  if (!p || !(name = cuzk_strdup(path))) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "%s: no memory to open it", path);
    goto out;
  }
  CUZK_TRY(cuzk_file_map(&map, path, UINT64_MAX, d));
  CUZK_TRY(cuzk_params_parse(p, map.data, map.n, path, d));
  p->path = name;
  p->file = map;
  *out = p;
  return CUZK_OK;
out:
  cuzk_file_clear(&map);
  cuzk_free(name);
  cuzk_free(p);
  return st;
}

void cuzk_params_close(struct cuzk_params **out) {
  struct cuzk_params *p = *out;
  if (!p) return;
  cuzk_file_clear(&p->file);
  cuzk_vk_clear(&p->vk);
  cuzk_free(p->path);
  cuzk_free(p);
  *out = NULL;
}

static const char *name_of(const struct cuzk_params *p) { return p->path ? p->path : "parameters"; }

enum cuzk_status cuzk_section_counts_match(const uint32_t count[CUZK_N_SECTIONS], uint32_t n_ic,
                                           const struct cuzk_shape *shape, const char *name, struct cuzk_detail *d) {
  const unsigned log2_m = cuzk_shape_log2_domain(shape);
  if (log2_m > CUZK_MAX_LOG2_DOMAIN)
    return cuzk_fail(d, CUZK_E_UNSUPPORTED, "a circuit of %llu rows; 2^31 with the inputs' rows is the limit",
                     (unsigned long long)shape->n_rows);
  const uint64_t n_b = (uint64_t)shape->n_b_input + shape->n_b_aux;
  const struct {
    const char *what;
    uint64_t have, want;
  } c[] = {
      {"ic", n_ic, shape->n_inputs},
      {"h", count[CUZK_SECTION_H], (UINT64_C(1) << log2_m) - 1},
      {"l", count[CUZK_SECTION_L], shape->n_aux},
      {"a", count[CUZK_SECTION_A], (uint64_t)shape->n_inputs + shape->n_a_aux},
      {"b_g1", count[CUZK_SECTION_B_G1], n_b},
      {"b_g2", count[CUZK_SECTION_B_G2], n_b},
  };
  for (size_t i = 0; i < sizeof c / sizeof c[0]; i++)
    if (c[i].have != c[i].want)
      return cuzk_fail(d, CUZK_E_MISMATCH, "%s: parameters of another circuit: %s has %llu points, this circuit needs %llu", name,
                       c[i].what, (unsigned long long)c[i].have, (unsigned long long)c[i].want);
  return CUZK_OK;
}

enum cuzk_status cuzk_params_match(const struct cuzk_params *p, const struct cuzk_shape *shape, struct cuzk_detail *d) {
  uint32_t count[CUZK_N_SECTIONS];
  for (int s = 0; s < CUZK_N_SECTIONS; s++) count[s] = p->section[s].count;
  return cuzk_section_counts_match(count, p->vk.n_ic, shape, name_of(p), d);
}

static enum cuzk_status point_failed(const struct cuzk_params *p, enum cuzk_section s, size_t index, enum cuzk_status st,
                                     struct cuzk_detail *d) {
  return cuzk_fail(d, st, "%s: %s[%zu] at offset %llu: %s", name_of(p), cuzk_section_names[s], index,
                   (unsigned long long)(p->section[s].offset + 4 + index * point_bytes[s]), cuzk_point_error(st));
}

static enum cuzk_status range_ok(const struct cuzk_params *p, enum cuzk_section s, size_t first, size_t count,
                                 struct cuzk_detail *d) {
  if (first <= p->section[s].count && count <= p->section[s].count - first) return CUZK_OK;
  return cuzk_fail(d, CUZK_E_ARG, "%s: points %zu to %zu asked for of %s, which has %u", name_of(p), first, first + count,
                   cuzk_section_names[s], p->section[s].count);
}

enum cuzk_status cuzk_params_fetch_g1(const struct cuzk_params *p, enum cuzk_section s, cuzk_g1_affine *dst, size_t first,
                                      size_t count, bool subgroup, struct cuzk_detail *d) {
  if (s >= CUZK_SECTION_B_G2) return cuzk_fail(d, CUZK_E_ARG, "no section of G1 points has number %d", (int)s);
  enum cuzk_status st = range_ok(p, s, first, count, d);
  if (st != CUZK_OK) return st;
  const uint8_t *src = p->map + p->section[s].offset + 4 + first * 96;
  for (size_t i = 0; i < count; i++, src += 96) {
    st = cuzk_g1_decode(&dst[i], src);
    if (st == CUZK_OK && cuzk_g1_affine_is_identity(&dst[i])) st = CUZK_E_INFINITY;
    if (st == CUZK_OK && subgroup && !cuzk_g1_affine_in_subgroup(&dst[i])) st = CUZK_E_NOT_GROUP;
    if (st != CUZK_OK) return point_failed(p, s, first + i, st, d);
  }
  return CUZK_OK;
}

enum cuzk_status cuzk_params_fetch_g2(const struct cuzk_params *p, cuzk_g2_affine *dst, size_t first, size_t count,
                                      bool subgroup, struct cuzk_detail *d) {
  const enum cuzk_section s = CUZK_SECTION_B_G2;
  enum cuzk_status st = range_ok(p, s, first, count, d);
  if (st != CUZK_OK) return st;
  const uint8_t *src = p->map + p->section[s].offset + 4 + first * 192;
  for (size_t i = 0; i < count; i++, src += 192) {
    st = cuzk_g2_decode(&dst[i], src);
    if (st == CUZK_OK && cuzk_g2_affine_is_identity(&dst[i])) st = CUZK_E_INFINITY;
    if (st == CUZK_OK && subgroup && !cuzk_g2_affine_in_subgroup(&dst[i])) st = CUZK_E_NOT_GROUP;
    if (st != CUZK_OK) return point_failed(p, s, first + i, st, d);
  }
  return CUZK_OK;
}

/* Points of one task of a check, and tasks between two reports. */
#define CHECK_POINTS 256u
#define CHECK_TASKS 256u

struct check {
  const struct cuzk_params *p;
  enum cuzk_section s;
  bool subgroup;
  size_t base;
  pthread_mutex_t lock; /* guards the three below; held with nothing */
  size_t bad_task;      /* lowest task that failed, SIZE_MAX: none */
  enum cuzk_status st;
  struct cuzk_detail detail;
};

static void check_task(void *arg, size_t task, unsigned worker) {
  struct check *c = arg;
  (void)worker;
  struct cuzk_detail detail = {{0}};
  const size_t first = c->base + task * CHECK_POINTS, left = c->p->section[c->s].count - first;
  const size_t count = left < CHECK_POINTS ? left : CHECK_POINTS;
  enum cuzk_status st = CUZK_OK;
  for (size_t i = 0; i < count && st == CUZK_OK; i++) {
    cuzk_g1_affine g1;
    cuzk_g2_affine g2;
    st = c->s == CUZK_SECTION_B_G2 ? cuzk_params_fetch_g2(c->p, &g2, first + i, 1, c->subgroup, &detail)
                                   : cuzk_params_fetch_g1(c->p, c->s, &g1, first + i, 1, c->subgroup, &detail);
  }
  if (st == CUZK_OK) return;
  (void)pthread_mutex_lock(&c->lock);
  if (task < c->bad_task) {
    c->bad_task = task;
    c->st = st;
    c->detail = detail;
  }
  (void)pthread_mutex_unlock(&c->lock);
}

enum cuzk_status cuzk_params_check(const struct cuzk_params *p, bool subgroup, struct cuzk_pool *pool,
                                   const struct cuzk_progress *progress, struct cuzk_detail *d) {
  uint64_t total = 0, done = 0;
  for (int s = 0; s < CUZK_N_SECTIONS; s++) total += p->section[s].count;
  struct check c = {.p = p, .subgroup = subgroup, .bad_task = SIZE_MAX, .st = CUZK_OK};
  if (pthread_mutex_init(&c.lock, NULL) != 0) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for a lock");
  enum cuzk_status st = CUZK_OK;
  for (int s = 0; s < CUZK_N_SECTIONS && st == CUZK_OK; s++) {
    const size_t count = p->section[s].count;
    c.s = (enum cuzk_section)s;
    for (c.base = 0; c.base < count && st == CUZK_OK; c.base += (size_t)CHECK_TASKS * CHECK_POINTS) {
      if (!cuzk_progress(progress, "checking points", done + c.base, total, "points")) {
        st = cuzk_fail(d, CUZK_E_CANCELLED, "%s: the check was cancelled", name_of(p));
        break;
      }
      const size_t tasks = (count - c.base + CHECK_POINTS - 1) / CHECK_POINTS;
      cuzk_pool_run(pool, check_task, &c, tasks < CHECK_TASKS ? tasks : CHECK_TASKS);
      st = c.st;
    }
    done += count;
  }
  (void)pthread_mutex_destroy(&c.lock);
  if (c.st != CUZK_OK && d) *d = c.detail;
  if (st == CUZK_OK && !cuzk_progress(progress, "checking points", total, total, "points"))
    st = cuzk_fail(d, CUZK_E_CANCELLED, "%s: the check was cancelled", name_of(p));
  return st;
}
