/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk params generate | inspect | check */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cmd_gpu.h"
#include "groth16/params.h"
#include "hash/blake2b.h"
#include "hash/sha256.h"

#define VK_POINTS_BYTES 864 /* three points of G1, three of G2: what stands before ic's count */

/* ---- generate ---- */

static enum cuzk_status read_toxic(struct cuzk_toxic *t, const char *path, const char *circuit, struct cuzk_detail *d) {
  json_t *file = NULL, *record;
  enum cuzk_status st;
  CUZK_TRY(cli_json_load(&file, path, d));
  CUZK_TRY(cli_record_pick(&record, file, circuit, path, d));
  const json_t *w = json_object_get(record, "toxic_waste_le");
  if (!json_is_object(w)) {
    st = cuzk_fail(d, CUZK_E_FORMAT, "%s: member toxic_waste_le is missing or no object", path);
    goto out;
  }
  const struct {
    const char *name;
    cuzk_fr *to;
  } part[] = {{"alpha", &t->alpha}, {"beta", &t->beta}, {"gamma", &t->gamma}, {"delta", &t->delta}, {"tau", &t->tau}};
  for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) CUZK_TRY(cli_fr_member(part[i].to, w, part[i].name, path, d));
out:
  json_decref(file);
  return st;
}

/* Offsets and counts, as a record of params/ has them. */
static json_t *sections_json(const struct cuzk_params *p) {
  json_t *o = json_pack("{s:{s:i, s:i}, s:{s:i, s:I}, s:I}", "vk_points", "offset", 0, "bytes", VK_POINTS_BYTES, "ic", "offset",
                        VK_POINTS_BYTES, "count", (json_int_t)p->vk.n_ic, "end", (json_int_t)p->n_bytes);
  for (int s = 0; o && s < CUZK_N_SECTIONS; s++)
    (void)json_object_set_new(o, cuzk_section_names[s],
                              json_pack("{s:I, s:I}", "offset", (json_int_t)p->section[s].offset, "count",
                                        (json_int_t)p->section[s].count));
  return o;
}

static void print_sections(const json_t *o) {
  static const char *const order[] = {"ic", "h", "l", "a", "b_g1", "b_g2"};
  printf("%-8s %14s %12s  %s\n", "section", "offset", "points", "SHA-256 of the points");
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    const json_t *s = json_object_get(o, order[i]);
    const char *sha = json_string_value(json_object_get(s, "sha256_points"));
    printf("%-8s %14lld %12lld  %s\n", order[i], (long long)json_integer_value(json_object_get(s, "offset")),
           (long long)json_integer_value(json_object_get(s, "count")), sha ? sha : "-");
  }
}

/* Prints an object of ours and compares it with --against, if given. Takes the reference. */
static enum cuzk_status print_record(struct cli *c, json_t *ours, const char *name) {
  json_t *file = NULL, *record;
  struct cli_diff diff = {0};
  const char *path = c->opt[OPT_AGAINST];
  enum cuzk_status st = CUZK_OK;
  if (path) {
    const char *circuit = name;
    CUZK_TRY(cli_json_load(&file, path, &c->detail));
    if (!circuit) circuit = json_string_value(json_object_get(file, "circuit"));
    CUZK_TRY(cli_record_pick(&record, file, circuit ? circuit : "", path, &c->detail));
    CUZK_TRY(cli_compare(&diff, ours, record, "", "params_bytes", path, &c->detail));
    c->no = json_array_size(diff.fields) > 0;
  }
  if (c->json) {
    if (path)
      (void)json_object_set_new(ours, "against",
                                json_pack("{s:s, s:b, s:O}", "record", path, "equal", !c->no, "differs", diff.fields));
    st = cli_print_json(c, json_incref(ours));
    goto out;
  }
  const char *const words[] = {"circuit", "parameter_id", "params_sha256", "params_digest"};
  for (size_t i = 0; i < 4; i++) {
    const char *v = json_string_value(json_object_get(ours, words[i]));
    if (v) printf("%-14s %s\n", words[i], v);
  }
  printf("%-14s %lld\n", "params_bytes", (long long)json_integer_value(json_object_get(ours, "params_bytes")));
  print_sections(json_object_get(ours, "sections"));
  if (path && !c->no) printf("equal to %s\n", path);
  size_t i;
  json_t *e;
  json_array_foreach(diff.fields, i, e) {
    const char *field = json_string_value(json_object_get(e, "field"));
    char *a = json_dumps(json_object_get(e, "ours"), JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *b = json_dumps(json_object_get(e, "record"), JSON_ENCODE_ANY | JSON_SORT_KEYS);
    printf("DIFFERS: %s is %s, the record has %s\n", field, a ? a : "?", b ? b : "?");
    cuzk_free(a);
    cuzk_free(b);
  }
out:
  json_decref(diff.fields);
  json_decref(file);
  json_decref(ours);
  return st;
}

enum cuzk_status cli_params_generate(struct cli *c) {
  const struct cuzk_circuit *k = cuzk_circuit_find(c->arg[0]);
  struct cuzk_toxic toxic;
  struct cuzk_params *p = NULL;
  uint8_t sha256[32];
  char id[200];
  const char *path = c->opt[OPT_OUT];
  const char *const inputs[] = {c->opt[OPT_TOXIC_WASTE], c->opt[OPT_AGAINST]};
  const uint64_t start = cli_now_ns();
  const double cpu = cli_cpu_seconds();
  enum cuzk_status st;
  if (!k) return cuzk_fail(&c->detail, CUZK_E_ARG, "no circuit '%s'; cuzk circuit list names them", c->arg[0]);
  CUZK_TRY(cli_check_out(path, inputs, 2, &c->detail));
  if (c->opt[OPT_VK]) {
    const char *const others[] = {c->opt[OPT_TOXIC_WASTE], c->opt[OPT_AGAINST]};
    CUZK_TRY(cli_check_out(c->opt[OPT_VK], others, 2, &c->detail));
    if (cli_same_place(c->opt[OPT_VK], path)) {
      st = cuzk_fail(&c->detail, CUZK_E_ARG, "--vk and --out name the same file");
      goto out;
    }
  }
  if (c->opt[OPT_TOXIC_WASTE]) {
    CUZK_TRY(read_toxic(&toxic, c->opt[OPT_TOXIC_WASTE], k->name, &c->detail));
  } else {
    st = cuzk_toxic_random(&toxic);
    if (st != CUZK_OK) {
      (void)cuzk_fail(&c->detail, st, "the operating system gives no randomness");
      goto out;
    }
  }
  CUZK_TRY(cli_params_make(c, k, path, &toxic, sha256));
  cli_meter_end(c);
  cuzk_secret_clear(&toxic, sizeof toxic);
  CUZK_TRY(cuzk_params_open(&p, path, &c->detail));
  if (c->opt[OPT_VK]) CUZK_TRY(cuzk_vk_save(&p->vk, c->opt[OPT_VK], &c->detail));
  cuzk_circuit_parameter_id(id, k);
  json_t *o = json_pack("{s:s, s:s, s:I, s:o, s:o, s:s, s:o, s:f, s:f, s:I}", "circuit", k->name, "parameter_id", id,
                        "params_bytes", (json_int_t)p->n_bytes, "params_sha256", cli_hex(sha256, 32), "sections",
                        sections_json(p), "out", path, "stages_s", cli_stage_times(c), "wall_s", cli_seconds_since(start),
                        "cpu_s", cli_cpu_seconds() - cpu, "peak_anon_bytes", (json_int_t)c->meter.peak_anon_bytes);
  if (!o) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "the record of %s", k->name);
    goto out;
  }
  for (unsigned i = 0; i < c->meter.n_done; i++)
    cli_note(c, "%-16s %s", c->meter.done[i].name, cli_text_seconds(c->meter.done[i].seconds));
  cli_note(c, "total %s, %s of CPU on %u threads, at most %s of anonymous memory", cli_text_seconds(cli_seconds_since(start)),
           cli_text_seconds(cli_cpu_seconds() - cpu), cuzk_pool_workers(c->pool), cli_text_bytes(c->meter.peak_anon_bytes));
  st = print_record(c, o, k->name);
  if (!c->opt[OPT_TOXIC_WASTE])
    cli_note(c, "These parameters are for tests: whoever makes parameters alone could keep the waste and forge proofs.");
out:
  cuzk_secret_clear(&toxic, sizeof toxic);
  cuzk_params_close(&p);
  return st;
}

/* ---- inspect ---- */

struct digests {
  const struct cuzk_params *p;
  uint8_t vk[32], ic[32], section[CUZK_N_SECTIONS][32];
  uint8_t sha256[32], blake2b[64];
};

/* Hashes one pass over the file each: the tasks read the same pages at about the same time, so the disk is read once. */
static void digest_file(void *arg, size_t task, unsigned worker) {
  struct digests *x = arg;
  const struct cuzk_params *p = x->p;
  (void)worker;
  if (task == 0) {
    cuzk_sha256(x->sha256, p->map, p->n_bytes);
  } else if (task == 1) {
    cuzk_blake2b(x->blake2b, 64, NULL, 0, p->map, p->n_bytes);
  } else {
    cuzk_sha256(x->vk, p->map, VK_POINTS_BYTES);
    cuzk_sha256(x->ic, p->map + VK_POINTS_BYTES + 4, 96 * (size_t)p->vk.n_ic);
    for (int s = 0; s < CUZK_N_SECTIONS; s++)
      cuzk_sha256(x->section[s], p->map + p->section[s].offset + 4,
                  (size_t)p->section[s].count * (s == CUZK_SECTION_B_G2 ? 192 : 96));
  }
}

enum cuzk_status cli_params_inspect(struct cli *c) {
  struct cuzk_params *p = NULL;
  enum cuzk_status st = cuzk_params_open(&p, c->arg[0], &c->detail);
  if (st != CUZK_OK) return st;
  json_t *sections = sections_json(p);
  json_t *o = json_pack("{s:I, s:O}", "params_bytes", (json_int_t)p->n_bytes, "sections", sections);
  if (o && !c->opt[OPT_NO_DIGESTS]) {
    struct digests x = {.p = p};
    (void)cuzk_progress(&c->progress, "digests", 0, 1, "files");
    cuzk_pool_run(c->pool, digest_file, &x, 3);
    cli_meter_end(c);
    (void)json_object_set_new(json_object_get(sections, "vk_points"), "sha256", cli_hex(x.vk, 32));
    (void)json_object_set_new(json_object_get(sections, "ic"), "sha256_points", cli_hex(x.ic, 32));
    for (int s = 0; s < CUZK_N_SECTIONS; s++)
      (void)json_object_set_new(json_object_get(sections, cuzk_section_names[s]), "sha256_points", cli_hex(x.section[s], 32));
    (void)json_object_set_new(o, "params_sha256", cli_hex(x.sha256, 32));
    (void)json_object_set_new(o, "params_digest", cli_hex(x.blake2b, 16));
  }
  json_decref(sections);
  cuzk_params_close(&p);
  if (!o) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "the record of %s", c->arg[0]);
  return print_record(c, o, NULL);
}

/* ---- check ---- */

enum cuzk_status cli_params_check(struct cli *c) {
  struct cuzk_params *p = NULL;
  struct cuzk_shape shape = {0};
  const char *name = c->opt[OPT_CIRCUIT];
  const bool full = c->opt[OPT_FULL] != NULL;
  const uint64_t start = cli_now_ns();
  enum cuzk_status st;
  const struct cuzk_circuit *k = name ? cuzk_circuit_find(name) : NULL;
  if (name && !k) return cuzk_fail(&c->detail, CUZK_E_ARG, "no circuit '%s'; cuzk circuit list names them", name);
  CUZK_TRY(cuzk_params_open(&p, c->arg[0], &c->detail));
  if (k) {
    const struct cuzk_system system = cuzk_circuit_system(k);
    CUZK_TRY(cuzk_shape_of(&shape, &system, &c->detail));
    CUZK_TRY(cuzk_params_match(p, &shape, &c->detail));
  }
  CUZK_TRY(cuzk_params_check(p, full, c->pool, &c->progress, &c->detail));
  cli_meter_end(c);
  if (c->json) {
    st = cli_print_json(c, json_pack("{s:s, s:b, s:b, s:I, s:o, s:f}", "file", c->arg[0], "ok", 1, "subgroup_checked", full,
                                     "params_bytes", (json_int_t)p->n_bytes, "circuit", k ? json_string(name) : json_null(),
                                     "wall_s", cli_seconds_since(start)));
  } else {
    printf("%s: %s%s%s, checked in %s\n", c->arg[0], full ? "all points on the curve and in the subgroup" :
           "all points on the curve", k ? ", lengths of " : "", k ? name : "", cli_text_seconds(cli_seconds_since(start)));
  }
out:
  cuzk_shape_clear(&shape);
  cuzk_params_close(&p);
  return st;
}
