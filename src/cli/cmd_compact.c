/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk circuit compile | inspect, and circuit check of a .r1cs file */
#include <stdio.h>
#include <string.h>

#include "cli/cmd_circuit.h"
#include "r1cs/compact.h"

bool cli_is_compact(const char *word) {
  const size_t n = strlen(word);
  return strchr(word, '/') || (n > 5 && !strcmp(word + n - 5, ".r1cs"));
}

enum cuzk_status cli_compact_open(struct cuzk_compact **out, struct cli *c, const struct cuzk_circuit *k) {
  const char *path = c->opt[OPT_COMPACT];
  struct cuzk_compact_info info;
  enum cuzk_status st = cuzk_compact_open(out, path, &c->detail);
  if (st != CUZK_OK) return st;
  cuzk_compact_info(&info, *out);
  if (!strcmp(info.name, k->name)) return CUZK_OK;
  st = cuzk_fail(&c->detail, CUZK_E_MISMATCH, "%s: circuit %s, the witness is for %s", path, info.name, k->name);
  cuzk_compact_destroy(out);
  return st;
}

/* Members that records of circuits have, and those of the compact form. */
static json_t *info_json(const struct cuzk_compact_info *x) {
  json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "circuit", x->name, "num_inputs",
                        (json_int_t)x->n_inputs, "num_aux", (json_int_t)x->n_aux, "num_constraints", (json_int_t)x->n_rows, "nnz_a",
                        (json_int_t)x->nnz[0], "nnz_b", (json_int_t)x->nnz[1], "nnz_c", (json_int_t)x->nnz[2], "a_aux_density",
                        (json_int_t)x->n_a_aux, "b_aux_density", (json_int_t)x->n_b_aux, "b_input_density", (json_int_t)x->n_b_input,
                        "zero_terms_dropped", (json_int_t)x->zero_terms_dropped, "digest", cli_hex(x->digest, 32));
  json_t *form = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "file_bytes", (json_int_t)x->image_bytes, "templates",
                           (json_int_t)x->n_templates, "depth", (json_int_t)x->depth, "stored_constraints", (json_int_t)x->stored_rows,
                           "stored_terms", (json_int_t)x->stored_terms, "uses", (json_int_t)x->uses);
  if (o && form && !json_object_update(o, form)) {
    json_decref(form);
    return o;
  }
  json_decref(form);
  json_decref(o);
  return NULL;
}

enum cuzk_status cli_circuit_compile(struct cli *c) {
  const struct cuzk_circuit *k;
  struct cuzk_compact *compact = NULL;
  struct cuzk_compact_info info;
  json_t *o;
  enum cuzk_status st;
  CUZK_TRY(cli_find_circuit(&k, c, c->arg[0]));
  CUZK_TRY(cli_check_out(c->opt[OPT_OUT], NULL, 0, &c->detail));
  CUZK_TRY(cuzk_circuit_compile(&compact, k, c->pool, &c->progress, &c->detail));
  cli_meter_end(c);
  CUZK_TRY(cuzk_compact_write(compact, c->opt[OPT_OUT], &c->detail));
  cuzk_compact_info(&info, compact);
  o = info_json(&info);
  if (c->json || !o) {
    st = cli_print_json(c, o);
    goto out;
  }
  cli_print_members(o);
  json_decref(o);
out:
  cuzk_compact_destroy(&compact);
  return st;
}

static json_t *template_json(const struct cuzk_compact_template *t, uint32_t number) {
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "template", (json_int_t)number, "constraints",
                   (json_int_t)t->n_rows, "aux", (json_int_t)t->n_aux, "inputs", (json_int_t)t->n_inputs, "externals",
                   (json_int_t)t->n_ext, "own_constraints", (json_int_t)t->own_rows, "own_terms", (json_int_t)t->own_terms, "uses",
                   (json_int_t)t->n_uses, "times", (json_int_t)t->times, "region", t->region);
}

enum cuzk_status cli_circuit_inspect(struct cli *c) {
  struct cuzk_compact *compact = NULL;
  struct cuzk_compact_info info;
  json_t *o = NULL, *list = json_array();
  enum cuzk_status st;
  CUZK_TRY(cuzk_compact_open(&compact, c->arg[0], &c->detail));
  cuzk_compact_info(&info, compact);
  o = info_json(&info);
  if (!c->json && o) {
    cli_print_members(o);
    printf("\n%8s %12s %10s %9s %6s %10s  %s\n", "template", "constraints", "own", "externals", "uses", "times", "first region");
  }
  for (uint32_t i = 0; i < info.n_templates; i++) {
    struct cuzk_compact_template t;
    CUZK_TRY(cuzk_compact_template(&t, compact, i));
    if (c->json)
      (void)json_array_append_new(list, template_json(&t, i));
    else
      printf("%8u %12llu %10u %9u %6u %10llu  %s\n", i, (unsigned long long)t.n_rows, t.own_rows, t.n_ext, t.n_uses,
             (unsigned long long)t.times, t.region);
  }
  if (c->json || !o) {
    if (o) (void)json_object_set(o, "list", list);
    st = cli_print_json(c, o);
    o = NULL;
  }
out:
  json_decref(o);
  json_decref(list);
  cuzk_compact_destroy(&compact);
  return st;
}

static bool same_shape(const struct cuzk_compact_info *x, const struct cuzk_shape *s) {
  return x->n_a_aux == s->n_a_aux && x->n_b_aux == s->n_b_aux && x->n_b_input == s->n_b_input;
}

enum cuzk_status cli_compact_check(struct cli *c) {
  const struct cuzk_circuit *k = NULL;
  struct cuzk_compact *compact = NULL;
  struct cuzk_circuit_digest x = {0};
  struct cuzk_compact_info info;
  json_t *o = NULL;
  enum cuzk_status st;
  if (c->opt[OPT_C1] || c->opt[OPT_META] || c->n_list || c->opt[OPT_PARTITION] || c->opt[OPT_COMPACT])
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "the check of a .r1cs file takes no witness");
  CUZK_TRY(cuzk_compact_open(&compact, c->arg[0], &c->detail));
  cuzk_compact_info(&info, compact);
  if (c->opt[OPT_AGAINST]) CUZK_TRY(cli_find_circuit(&k, c, info.name));
  const struct cuzk_system s = cuzk_compact_system(compact);
  CUZK_TRY(cuzk_system_digest(&x, &s, info.n_rows, c->pool, &c->progress, &c->detail));
  cli_meter_end(c);
  const bool digest = !memcmp(x.digest, info.digest, 32), shape = same_shape(&info, &x.shape);
  /* what the expansion is, rather than what the file says */
  memcpy(info.digest, x.digest, 32);
  info.n_a_aux = x.shape.n_a_aux;
  info.n_b_aux = x.shape.n_b_aux;
  info.n_b_input = x.shape.n_b_input;
  o = info_json(&info);
  if (o) (void)json_object_set_new(o, "block_digests", cli_digests(x.block_digests, x.n_blocks));
  if (o) (void)json_object_set_new(o, "stored_digest_equal", json_boolean(digest));
  if (o) (void)json_object_set_new(o, "stored_densities_equal", json_boolean(shape));
  st = cli_print_against(c, k, o, "block_digests", "digest", false, info.n_rows);
  if (st == CUZK_OK && !c->json) {
    if (digest && shape) printf("%s: checksum and structure are sound, the expansion has the digest and densities stored\n", c->arg[0]);
    if (!digest) printf("%s: the expansion does NOT have the digest stored\n", c->arg[0]);
    if (!shape) printf("%s: the expansion does NOT have the densities stored\n", c->arg[0]);
  }
  c->no |= !digest || !shape;
out:
  cuzk_circuit_digest_clear(&x);
  cuzk_compact_destroy(&compact);
  return st;
}
