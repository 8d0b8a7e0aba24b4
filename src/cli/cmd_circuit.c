/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk circuit list | digest | count | check | witness; compact forms: cmd_compact.c */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/cmd_circuit.h"
#include "cli/job.h"

enum cuzk_status cli_find_circuit(const struct cuzk_circuit **out, struct cli *c, const char *name) {
  *out = cuzk_circuit_find(name);
  if (*out) return CUZK_OK;
  return cuzk_fail(&c->detail, CUZK_E_ARG, "no circuit '%s'; cuzk circuit list names them", name);
}

static const char *kind_name(enum cuzk_kind k) {
  const struct cuzk_proof_kind *kind = cuzk_proof_kind_of(k);
  return kind ? kind->circuit_prefix : "gadget";
}

enum cuzk_status cli_circuit_list(struct cli *c) {
  json_t *list = json_array();
  for (size_t i = 0; cuzk_circuit_at(i); i++) {
    const struct cuzk_circuit *k = cuzk_circuit_at(i);
    char id[200];
    cuzk_circuit_parameter_id(id, k);
    (void)json_array_append_new(
        list, json_pack("{s:s, s:s, s:I, s:i, s:i, s:b, s:s}", "circuit", k->name, "kind", kind_name(k->kind), "sector_bytes",
                        (json_int_t)k->sector_bytes, "num_inputs", (int)k->n_inputs, "partitions", (int)k->partitions,
                        "published", (int)k->published, "parameter_id", id));
  }
  if (c->json) return cli_print_json(c, list);
  printf("%-26s %-8s %12s %7s %11s  %s\n", "circuit", "kind", "sector bytes", "inputs", "partitions", "parameters");
  size_t i;
  json_t *e;
  json_array_foreach(list, i, e) {
    const json_int_t bytes = json_integer_value(json_object_get(e, "sector_bytes"));
    char size[24] = "-";
    if (bytes) (void)snprintf(size, sizeof size, "%lld", (long long)bytes);
    printf("%-26s %-8s %12s %7lld %11lld  %s\n", json_string_value(json_object_get(e, "circuit")),
           json_string_value(json_object_get(e, "kind")), size, (long long)json_integer_value(json_object_get(e, "num_inputs")),
           (long long)json_integer_value(json_object_get(e, "partitions")),
           json_is_true(json_object_get(e, "published")) ? "published" : "-");
  }
  json_decref(list);
  return CUZK_OK;
}

/* Members that every record of a shape has. */
static json_t *shape_json(const struct cuzk_circuit *k, const struct cuzk_shape *s) {
  char id[200];
  json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "circuit", k->name, "num_inputs",
                        (json_int_t)s->n_inputs, "num_aux", (json_int_t)s->n_aux, "num_constraints", (json_int_t)s->n_rows,
                        "nnz_a", (json_int_t)s->nnz[0], "nnz_b", (json_int_t)s->nnz[1], "nnz_c", (json_int_t)s->nnz[2],
                        "a_aux_density", (json_int_t)s->n_a_aux, "b_aux_density", (json_int_t)s->n_b_aux, "b_input_density",
                        (json_int_t)s->n_b_input, "zero_terms_dropped", (json_int_t)s->zero_terms_dropped);
  cuzk_circuit_parameter_id(id, k);
  if (o && id[0]) (void)json_object_set_new(o, "parameter_id", json_string(id));
  return o;
}

void cli_print_members(const json_t *o) {
  const char *key;
  json_t *v;
  json_object_foreach((json_t *)o, key, v) {
    if (json_is_string(v)) printf("%-20s %s\n", key, json_string_value(v));
    if (json_is_integer(v)) printf("%-20s %lld\n", key, (long long)json_integer_value(v));
  }
}

/* A value of a record in a message: long ones are cut. */
static void print_value(const json_t *v) {
  char *t = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
  printf("%.80s", t ? t : "?");
  cuzk_free(t);
}

/* Prints ours; with --against, compares and names the place. by_aux: blocks of private values rather than constraints. */
enum cuzk_status cli_print_against(struct cli *c, const struct cuzk_circuit *k, json_t *ours, const char *block_list,
                                          const char *must, bool by_aux, uint64_t n_total) {
  const char *path = c->opt[OPT_AGAINST];
  json_t *file = NULL, *record;
  struct cli_diff diff = {0};
  char regions[2048] = "";
  uint64_t first = 0, count = 0;
  enum cuzk_status st = CUZK_OK;
  if (!path) {
    if (c->json) return cli_print_json(c, ours);
    cli_print_members(ours);
    json_decref(ours);
    return CUZK_OK;
  }
  CUZK_TRY(cli_json_load(&file, path, &c->detail));
  CUZK_TRY(cli_record_pick(&record, file, k->name, path, &c->detail));
  CUZK_TRY(cli_compare(&diff, ours, record, block_list, must, path, &c->detail));
  c->no = json_array_size(diff.fields) > 0;
  if (diff.block_found) {
    first = (uint64_t)diff.block * CUZK_DIGEST_BLOCK_ROWS;
    count = first >= n_total ? 0 : n_total - first < CUZK_DIGEST_BLOCK_ROWS ? n_total - first : CUZK_DIGEST_BLOCK_ROWS;
    if (count) CUZK_TRY(cuzk_circuit_regions(k, by_aux, first, count, regions, sizeof regions, &c->detail));
  }
  if (c->json) {
    json_t *a = json_pack("{s:s, s:b, s:O}", "record", path, "equal", !c->no, "differs", diff.fields);
    if (a && diff.block_found) {
      (void)json_object_set_new(a, "first_block", json_integer((json_int_t)diff.block));
      (void)json_object_set_new(a, by_aux ? "first_aux" : "first_constraint", json_integer((json_int_t)first));
      (void)json_object_set_new(a, by_aux ? "aux" : "constraints", json_integer((json_int_t)count));
      (void)json_object_set_new(a, "regions", json_string(regions));
    }
    (void)json_object_set_new(ours, "against", a);
    st = cli_print_json(c, json_incref(ours));
    goto out;
  }
  cli_print_members(ours);
  if (!c->no) printf("equal to %s\n", path);
  size_t i;
  json_t *e;
  json_array_foreach(diff.fields, i, e) {
    printf("DIFFERS: %s is ", json_string_value(json_object_get(e, "field")));
    print_value(json_object_get(e, "ours"));
    printf(", the record has ");
    print_value(json_object_get(e, "record"));
    printf("\n");
  }
  if (diff.block_found)
    printf("first block that differs: %zu (%s %llu to %llu)\nregions: %s\n", diff.block,
           by_aux ? "private values" : "constraints", (unsigned long long)first,
           (unsigned long long)(count ? first + count - 1 : first), regions[0] ? regions : "beyond the circuit's end");
out:
  json_decref(diff.fields);
  json_decref(file);
  json_decref(ours);
  return st;
}

enum cuzk_status cli_circuit_count(struct cli *c) {
  const struct cuzk_circuit *k;
  struct cuzk_shape s = {0};
  enum cuzk_status st = cli_find_circuit(&k, c, c->arg[0]);
  if (st != CUZK_OK) return st;
  const struct cuzk_system system = cuzk_circuit_system(k);
  st = cuzk_shape_of(&s, &system, &c->detail);
  if (st != CUZK_OK) return st;
  json_t *o = shape_json(k, &s);
  if (o) (void)json_object_set_new(o, "log2_domain", json_integer(cuzk_shape_log2_domain(&s)));
  cuzk_shape_clear(&s);
  if (c->json || !o) return cli_print_json(c, o);
  cli_print_members(o);
  json_decref(o);
  return CUZK_OK;
}

/* ---- digests of values ---- */

/* Assigns the circuit's values, packed, and digests them. */
static enum cuzk_status value_digests(struct cuzk_value_digests *v, struct cuzk_packed *z, struct cli *c, const struct cuzk_circuit *k,
                                      const void *witness) {
  const enum cuzk_status st = cuzk_circuit_assign_packed(k, witness, z, c->pool, &c->progress, &c->detail);
  return st == CUZK_OK ? cuzk_circuit_value_digests(v, k, z, c->pool, &c->progress, &c->detail) : st;
}

enum cuzk_status cli_circuit_digest(struct cli *c) {
  const struct cuzk_circuit *k;
  struct cuzk_circuit_digest x = {0};
  struct cuzk_value_digests v = {0};
  struct cuzk_packed z = {0};
  json_t *o = NULL;
  enum cuzk_status st;
  CUZK_TRY(cli_find_circuit(&k, c, c->arg[0]));
  CUZK_TRY(cuzk_circuit_digest(&x, k, c->pool, &c->progress, &c->detail));
  cli_meter_end(c);
  o = shape_json(k, &x.shape);
  if (!o) {
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "the record of %s", k->name);
    goto out;
  }
  (void)json_object_set_new(o, "digest", cli_hex(x.digest, 32));
  (void)json_object_set_new(o, "block_constraints", json_integer(CUZK_DIGEST_BLOCK_ROWS));
  (void)json_object_set_new(o, "block_digests", cli_digests(x.block_digests, x.n_blocks));
  if (k->kind == CUZK_KIND_GADGET) {
    CUZK_TRY(value_digests(&v, &z, c, k, NULL));
    (void)json_object_set_new(o, "aux_sha256", cli_hex(v.aux_sha256, 32));
    (void)json_object_set_new(o, "abc_eval_sha256", cli_hex(v.abc_sha256, 32));
  }
  json_t *taken = o;
  o = NULL;
  st = cli_print_against(c, k, taken, "block_digests", "digest", false, x.shape.n_rows);
out:
  json_decref(o);
  cuzk_circuit_value_digests_clear(&v);
  cuzk_packed_clear(&z);
  cuzk_circuit_digest_clear(&x);
  return st;
}

/* ---- witnesses ---- */

/* A kind of proof takes its circuit and witness from the inputs, a gadget has its own values. */
static enum cuzk_status open_witness(const struct cuzk_circuit **k, struct job *job, struct cli *c) {
  const struct cuzk_proof_kind *kind = cuzk_proof_kind_find(c->arg[0]);
  if (kind) {
    enum cuzk_status st = job_open(job, c, kind, true);
    if (st == CUZK_OK) *k = job->in->circuit;
    return st;
  }
  *k = cuzk_circuit_find(c->arg[0]);
  if (!*k || (*k)->kind != CUZK_KIND_GADGET)
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "'%s' is neither a kind of proof (porep, winning-post, window-post, snap) nor a gadget's name",
                     c->arg[0]);
  if (c->opt[OPT_C1] || c->opt[OPT_META] || c->n_list || c->opt[OPT_PARTITION])
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "a gadget has its own values: --c1, --meta, --vanilla and --partition do not apply");
  job->count = 1;
  return CUZK_OK;
}

static const void *witness_of(const struct job *job, unsigned partition) {
  return job->in ? cuzk_inputs_witness(job->in, partition) : NULL;
}

/* The inputs' main file. */
static const char *inputs_path(const struct cli *c) { return c->opt[OPT_C1] ? c->opt[OPT_C1] : c->opt[OPT_META]; }

/* "porep-10.p0" for porep-10.c1.json, "window.p0" for window.meta.json */
static void record_name(char *out, size_t n, const char *path, unsigned partition) {
  const char *base = strrchr(path, '/');
  base = base ? base + 1 : path;
  size_t len = strlen(base);
  static const char *const ends[] = {".c1.json", ".meta.json", ".json"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    const size_t e = strlen(ends[i]);
    if (len > e && !strcmp(base + len - e, ends[i])) {
      len -= e;
      break;
    }
  }
  (void)snprintf(out, n, "%.*s.p%u", (int)(len < 200 ? len : 200), base, partition);
}

enum cuzk_status cli_circuit_witness(struct cli *c) {
  const struct cuzk_circuit *k = NULL;
  struct job job = {0};
  struct cuzk_circuit_digest x = {0};
  struct cuzk_value_digests v = {0};
  struct cuzk_packed z = {0};
  json_t *o = NULL;
  char record[256];
  enum cuzk_status st;
  CUZK_TRY(open_witness(&k, &job, c));
  if (job.count != 1) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "%s has %u partitions: --partition K is needed", inputs_path(c), job.count);
    goto out;
  }
  CUZK_TRY(cuzk_circuit_digest(&x, k, c->pool, &c->progress, &c->detail));
  CUZK_TRY(value_digests(&v, &z, c, k, witness_of(&job, job.first)));
  cli_meter_end(c);
  o = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:i, s:o, s:o, s:I, s:I}", "circuit", k->name, "num_inputs",
                (json_int_t)z.n_inputs, "num_aux", (json_int_t)z.n_aux, "num_constraints", (json_int_t)x.shape.n_rows,
                "r1cs_digest", cli_hex(x.digest, 32), "aux_sha256", cli_hex(v.aux_sha256, 32), "aux_block",
                (int)CUZK_DIGEST_BLOCK_ROWS, "aux_block_sha256", cli_digests(v.blocks, v.n_blocks), "abc_eval_sha256",
                cli_hex(v.abc_sha256, 32), "aux_zeros", (json_int_t)v.zeros, "aux_ones", (json_int_t)v.ones);
  json_t *inputs = json_array();
  for (uint32_t i = 1; i < z.n_inputs; i++) (void)json_array_append_new(inputs, cli_fr_hex(&z.inputs[i]));
  if (!o || !inputs) {
    json_decref(inputs);
    st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "the record of %s", k->name);
    goto out;
  }
  (void)json_object_set_new(o, "public_inputs_le", inputs);
  if (job.in) {
    /* the name of a record says where it came from: it is printed, not compared */
    record_name(record, sizeof record, inputs_path(c), job.first);
    if (!c->opt[OPT_AGAINST]) (void)json_object_set_new(o, "record", json_string(record));
  }
  json_t *taken = o;
  o = NULL;
  st = cli_print_against(c, k, taken, "aux_block_sha256", "aux_sha256", true, z.n_aux);
out:
  json_decref(o);
  cuzk_circuit_value_digests_clear(&v);
  cuzk_packed_clear(&z);
  cuzk_circuit_digest_clear(&x);
  job_close(&job);
  return st;
}

enum cuzk_status cli_circuit_check(struct cli *c) {
  const struct cuzk_circuit *k = NULL;
  struct job job = {0};
  struct cuzk_compact *compact = NULL;
  json_t *list = json_array();
  enum cuzk_status st;
  if (cli_is_compact(c->arg[0])) {
    json_decref(list);
    return cli_compact_check(c);
  }
  if (c->opt[OPT_AGAINST]) {
    json_decref(list);
    return cuzk_fail(&c->detail, CUZK_E_USAGE, "--against belongs to a check of a .r1cs file");
  }
  CUZK_TRY(open_witness(&k, &job, c));
  if (c->opt[OPT_COMPACT]) CUZK_TRY(cli_compact_open(&compact, c, k));
  for (unsigned i = 0; i < job.count; i++) {
    struct cuzk_packed z = {0};
    uint64_t bad_row = UINT64_MAX;
    char region[512] = "";
    const unsigned partition = job.first + i;
    st = cuzk_circuit_assign_packed(k, witness_of(&job, partition), &z, c->pool, &c->progress, &c->detail);
    if (st == CUZK_OK && compact) {
      struct cuzk_compact_eval e = {.p = &z, .check = true};
      st = cuzk_compact_evaluate(compact, &e, c->pool, &c->progress, &c->detail);
      bad_row = e.bad_row;
      memcpy(region, e.region, sizeof region);
    } else if (st == CUZK_OK) {
      st = cuzk_circuit_eval(k, &z, NULL, NULL, &bad_row, region, &c->progress, &c->detail);
    }
    cuzk_packed_clear(&z);
    if (st != CUZK_OK) goto out;
    cli_meter_end(c);
    const bool ok = bad_row == UINT64_MAX;
    c->no |= !ok;
    json_t *e = json_pack("{s:i, s:b}", "partition", (int)partition, "satisfied", ok);
    if (e && !ok) {
      (void)json_object_set_new(e, "constraint", json_integer((json_int_t)bad_row));
      (void)json_object_set_new(e, "region", json_string(region));
    }
    (void)json_array_append_new(list, e);
    if (c->json) continue;
    if (ok)
      printf("%s partition %u: every constraint holds\n", k->name, partition);
    else
      printf("%s partition %u: constraint %llu does NOT hold, in %s\n", k->name, partition, (unsigned long long)bad_row, region);
  }
  if (c->json)
    st = cli_print_json(c, json_pack("{s:s, s:b, s:O}", "circuit", k->name, "satisfied", !c->no, "partitions", list));
out:
  json_decref(list);
  cuzk_compact_destroy(&compact);
  job_close(&job);
  return st;
}
