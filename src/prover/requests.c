/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* From requests to decoded inputs: admission, which must be cheap, and opening, which checks everything. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fail.h"
#include "groth16/param_files.h"
#include "prover/internal.h"

/* Registered PoSt proofs come in groups of five, one a size; seal and update proofs, too (engine specification 2.4). */
static const uint64_t registered_bytes[5] = {UINT64_C(2) << 10, UINT64_C(8) << 20, UINT64_C(512) << 20, UINT64_C(32) << 30,
                                             UINT64_C(64) << 30};

/* The kind with this number of the protocol; *row is its place among the four. */
static const struct cuzk_proof_kind *kind_of(uint32_t number, unsigned *row) {
  const struct cuzk_proof_kind *k;
  for (*row = 0; (k = cuzk_proof_kind_at(*row)); ++*row) {
    if (k->rpc_number == number) return k;
  }
  return NULL;
}

static enum cuzk_status check_32(const struct cuzk_slice *s, const char *what, struct cuzk_detail *d) {
  cuzk_fr ignored;
  if (s->n != 32) return cuzk_fail(d, CUZK_E_ARG, "%s has %zu bytes, expected 32", what, s->n);
  if (!cuzk_fr_from_le(&ignored, s->data))
    return cuzk_fail(d, CUZK_E_FORMAT, "%s is not a canonical field element (not below the group order)", what);
  return CUZK_OK;
}

/* What is known of the circuit and the number of partitions. */
struct found {
  const struct cuzk_circuit *circuit;
  unsigned n_partitions;
};

/* ---- PoRep ---- */

static enum cuzk_status seal_type(const struct cuzk_request_fields *f, const struct cuzk_seal_type **type, struct cuzk_detail *d) {
  struct real_c1_head head;
  real_c1_look(&head, f->vanilla_proof.data, f->vanilla_proof.n);
  *type = head.type;
  if (!*type) { /* another form of the document, or none: only the reader can tell */
    struct cuzk_c1 *c1;
    const enum cuzk_status st = cuzk_c1_read(&c1, f->vanilla_proof.data, f->vanilla_proof.n, "vanilla_proof", d);
    if (st != CUZK_OK) return st;
    for (size_t i = 0; (*type = cuzk_seal_type_at(i)) && strcmp((*type)->name, c1->type.name) != 0; i++) {
    }
    cuzk_c1_free(&c1);
    if (!*type) return cuzk_fail(d, CUZK_E_UNSUPPORTED, "vanilla_proof: no such registered proof");
  }
  if (head.has_sector && head.sector != f->sector_number)
    return cuzk_fail(d, CUZK_E_MISMATCH, "sector_number is %llu, the payload's SectorNum %llu", (unsigned long long)f->sector_number,
                     (unsigned long long)head.sector);
  if (head.has_size && head.size && head.size != (*type)->sector_bytes)
    return cuzk_fail(d, CUZK_E_MISMATCH, "the payload's SectorSize is %llu bytes, its proof is %s", (unsigned long long)head.size,
                     (*type)->name);
  return CUZK_OK;
}

static enum cuzk_status porep_admit(const struct cuzk_request_fields *f, struct found *out, struct cuzk_detail *d) {
  const struct cuzk_seal_type *type;
  if (f->vanilla_proof.n == 0) return cuzk_fail(d, CUZK_E_ARG, "vanilla_proof is missing");
  if (f->vanilla_proof.n > CUZK_C1_MAX_BYTES)
    return cuzk_fail(d, CUZK_E_ARG, "vanilla_proof has %zu bytes, at most %zu are accepted", f->vanilla_proof.n, CUZK_C1_MAX_BYTES);
  if (f->n_vanilla_proofs) return cuzk_fail(d, CUZK_E_ARG, "vanilla_proofs are not for PoRep, which takes vanilla_proof");
  if (f->registered_proof > 19)
    return cuzk_fail(d, CUZK_E_ARG, "registered_proof is %llu, seal proofs are 0 to 19", (unsigned long long)f->registered_proof);
  const enum cuzk_status st = seal_type(f, &type, d);
  if (st != CUZK_OK) return st;
  /* 0 is what a client that does not say it sends, too */
  if (f->registered_proof && (type->number < 0 || (uint64_t)type->number != f->registered_proof))
    return cuzk_fail(d, CUZK_E_MISMATCH, "registered_proof is %llu, the payload is of %s (%d)", (unsigned long long)f->registered_proof,
                     type->name, type->number);
  if (f->sector_size && f->sector_size != type->sector_bytes)
    return cuzk_fail(d, CUZK_E_MISMATCH, "sector_size is %llu bytes, the payload is of %s", (unsigned long long)f->sector_size, type->name);
  out->circuit = cuzk_circuit_of(CUZK_KIND_POREP, type->sector_bytes);
  out->n_partitions = type->n_partitions;
  if (!out->circuit) return cuzk_fail(d, CUZK_E_UNSUPPORTED, "no circuit for %s", type->name);
  return CUZK_OK;
}

/* ---- the kinds with records ---- */

/* The size, of the registered proof, which is one of n from first on. */
static enum cuzk_status registered_size(const struct cuzk_request_fields *f, unsigned first, unsigned n, const char *title, uint64_t *bytes,
                                        struct cuzk_detail *d) {
  if (f->registered_proof < first || f->registered_proof >= first + n)
    return cuzk_fail(d, CUZK_E_ARG, "registered_proof is %llu, those of %s are %u to %u", (unsigned long long)f->registered_proof, title,
                     first, first + n - 1);
  *bytes = registered_bytes[(f->registered_proof - first) % 5];
  if (f->sector_size && f->sector_size != *bytes)
    return cuzk_fail(d, CUZK_E_MISMATCH, "sector_size is %llu bytes, registered_proof %llu is of sectors of %llu bytes",
                     (unsigned long long)f->sector_size, (unsigned long long)f->registered_proof, (unsigned long long)*bytes);
  return CUZK_OK;
}

static enum cuzk_status check_records(const struct cuzk_request_fields *f, size_t record_bytes, const char *title, struct cuzk_detail *d) {
  if (f->vanilla_proof.n) return cuzk_fail(d, CUZK_E_ARG, "vanilla_proof is not for %s, which takes vanilla_proofs", title);
  for (size_t i = 0; i < f->n_vanilla_proofs; i++) {
    if (f->vanilla_proofs[i].n != record_bytes)
      return cuzk_fail(d, CUZK_E_FORMAT, "vanilla_proofs[%zu] has %zu bytes, expected %zu", i, f->vanilla_proofs[i].n, record_bytes);
  }
  return CUZK_OK;
}

static enum cuzk_status post_admit(const struct cuzk_proof_kind *kind, const struct cuzk_request_fields *f, struct found *out,
                                   struct cuzk_detail *d) {
  const bool winning = kind->kind == CUZK_KIND_WINNING;
  uint64_t bytes = 0;
  enum cuzk_status st;
  CUZK_TRY(registered_size(f, winning ? 0 : 5, winning ? 5 : 10, kind->title, &bytes, d));
  out->circuit = cuzk_circuit_of(kind->kind, bytes);
  out->n_partitions = 1;
  if (!out->circuit) {
    st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "no circuit of %s for sectors of %llu bytes", kind->title, (unsigned long long)bytes);
    goto out;
  }
  const size_t most = winning ? 1 : out->circuit->sectors;
  if (f->n_vanilla_proofs == 0 || f->n_vanilla_proofs > most) {
    st = cuzk_fail(d, CUZK_E_ARG, "%zu vanilla_proofs, expected %s%zu, one a sector of one partition", f->n_vanilla_proofs,
                   most > 1 ? "1 to " : "", most);
    goto out;
  }
  if (winning && f->partition_index) {
    st = cuzk_fail(d, CUZK_E_ARG, "partition_index is %u, a winning proof has none", f->partition_index);
    goto out;
  }
  CUZK_TRY(check_32(&f->randomness, "randomness", d));
  CUZK_TRY(check_records(f, cuzk_post_vanilla_bytes(out->circuit), kind->title, d));
out:
  return st;
}

static enum cuzk_status update_admit(const struct cuzk_proof_kind *kind, const struct cuzk_request_fields *f, struct found *out,
                                     struct cuzk_detail *d) {
  uint64_t bytes = 0;
  enum cuzk_status st;
  CUZK_TRY(registered_size(f, 0, 5, kind->title, &bytes, d));
  out->circuit = cuzk_circuit_of(kind->kind, bytes);
  if (!out->circuit) {
    st = cuzk_fail(d, CUZK_E_UNSUPPORTED, "no circuit of %s for sectors of %llu bytes", kind->title, (unsigned long long)bytes);
    goto out;
  }
  out->n_partitions = out->circuit->partitions;
  if (f->n_vanilla_proofs != out->n_partitions) {
    st = cuzk_fail(d, CUZK_E_ARG, "%zu vanilla_proofs, an update of a sector of %llu bytes has %u, one a partition", f->n_vanilla_proofs,
                   (unsigned long long)bytes, out->n_partitions);
    goto out;
  }
  CUZK_TRY(check_32(&f->comm_r_old, "comm_r_old", d));
  CUZK_TRY(check_32(&f->comm_r_new, "comm_r_new", d));
  CUZK_TRY(check_32(&f->comm_d_new, "comm_d_new", d));
  CUZK_TRY(check_records(f, cuzk_update_vanilla_bytes(out->circuit), kind->title, d));
out:
  return st;
}

/* ---- memory ---- */

/* Payload and what is decoded from it. A wrapped phase-1 output takes, while it is read, three quarters of its text for the document within
 * and twice that for the index of its tokens. */
static uint64_t inputs_bytes(const struct cuzk_proof_kind *kind, const struct cuzk_request *rq) {
  return kind->takes_c1 ? 3 * (uint64_t)rq->n_bytes : 2 * (uint64_t)rq->n_bytes;
}

static void work_bytes(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, struct cuzk_plan *plan) {
  const struct cuzk_shape shape = {.n_inputs = row->n_inputs, .n_aux = row->n_aux, .n_rows = row->n_rows};
  for (unsigned i = 0; i < p->n_devices; i++) {
    uint64_t peak, after;
    p->device[i].ops->work_bytes(&shape, &peak, &after);
    if (after > plan->partition_bytes[CUZK_MEM_PROVER]) plan->partition_bytes[CUZK_MEM_PROVER] = after;
    if (peak - after > plan->partition_bytes[CUZK_MEM_ABC]) plan->partition_bytes[CUZK_MEM_ABC] = peak - after;
  }
  plan->partition_bytes[CUZK_MEM_AUX] = cuzk_prover_row_packed_bytes(row);
}

static enum cuzk_status params_bytes(const struct cuzk_prover_real *p, const struct cuzk_prover_row *row, uint64_t *bytes,
                                     struct cuzk_detail *d) {
  char *path;
  struct stat file;
  enum cuzk_status st = real_params_path(p, row, &path);
  if (st != CUZK_OK) return cuzk_fail(d, st, "no memory for a path");
  if (stat(path, &file) != 0)
    st = cuzk_fail(d, CUZK_E_NOENT, "the parameters of %s are not there: %s", row->id, path);
  else if (!S_ISREG(file.st_mode))
    st = cuzk_fail(d, CUZK_E_NOENT, "the parameters of %s are no file: %s", row->id, path);
  else
    *bytes = (uint64_t)file.st_size;
  cuzk_free(path);
  return st;
}

enum cuzk_status real_srs_size(void *self, const char *circuit_id, uint64_t *bytes, struct cuzk_detail *d) {
  const struct cuzk_prover_real *p = self;
  const struct cuzk_prover_row *row = cuzk_prover_row_find(circuit_id);
  uint64_t file_bytes = 0;
  if (!row) return cuzk_fail(d, CUZK_E_ARG, "no circuit \"%.40s\"", circuit_id);
  const enum cuzk_status st = params_bytes(p, row, &file_bytes, d);
  if (st == CUZK_OK) *bytes = real_resident_bytes(p, row, file_bytes);
  return st;
}

/* ---- ops ---- */

enum cuzk_status real_admit(void *self, const struct cuzk_request *rq, struct cuzk_plan *plan, struct cuzk_detail *d) {
  const struct cuzk_prover_real *p = self;
  struct found found = {0};
  unsigned number;
  memset(plan, 0, sizeof *plan);
  const struct cuzk_proof_kind *kind = kind_of(rq->f.kind, &number);
  if (!kind) return cuzk_fail(d, CUZK_E_ARG, "proof_kind is %u, expected 1 (PoRep), 2 (update), 3 (window) or 4 (winning)", rq->f.kind);
  enum cuzk_status st;
  if (kind->takes_c1)
    st = porep_admit(&rq->f, &found, d);
  else if (kind->kind == CUZK_KIND_UPDATE)
    st = update_admit(kind, &rq->f, &found, d);
  else
    st = post_admit(kind, &rq->f, &found, d);
  if (st != CUZK_OK) return st;
  const struct cuzk_prover_row *row = cuzk_prover_row_of(kind->kind, found.circuit->sector_bytes);
  if (!row) return cuzk_fail(d, CUZK_E_UNSUPPORTED, "circuit %s is not served", found.circuit->name);
  plan->kind = number;
  (void)snprintf(plan->circuit_id, sizeof plan->circuit_id, "%s", row->id);
  plan->n_partitions = found.n_partitions;
  plan->inputs_bytes = inputs_bytes(kind, rq);
  st = real_srs_size(self, row->id, &plan->srs_bytes, d);
  if (st != CUZK_OK) return st;
  work_bytes(p, row, plan);
  return CUZK_OK;
}

/* The statement and the list of records that a request stands for; *blobs borrows the request's bytes. */
static enum cuzk_status open_records(struct cuzk_inputs **in, const struct cuzk_proof_kind *kind, const struct cuzk_request_fields *f,
                                     struct cuzk_detail *d) {
  struct cuzk_statement s = {.sector_bytes = f->sector_size, .registered = (int)f->registered_proof};
  struct cuzk_blobs blobs = {.n = f->n_vanilla_proofs};
  (void)snprintf(s.name, sizeof s.name, "request");
  if (kind->kind == CUZK_KIND_UPDATE) {
    s.has_commitments = true;
    memcpy(s.commitments.comm_r_old, f->comm_r_old.data, 32);
    memcpy(s.commitments.comm_d_new, f->comm_d_new.data, 32);
    memcpy(s.commitments.comm_r_new, f->comm_r_new.data, 32);
  } else {
    s.has_randomness = true;
    memcpy(s.randomness, f->randomness.data, 32);
    s.partition_index = f->partition_index;
  }
  blobs.blob = cuzk_calloc(blobs.n, sizeof *blobs.blob);
  if (!blobs.blob) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for %zu vanilla proofs", blobs.n);
  for (size_t i = 0; i < blobs.n; i++) {
    blobs.blob[i].data = f->vanilla_proofs[i].data;
    blobs.blob[i].n = f->vanilla_proofs[i].n;
    (void)snprintf(blobs.blob[i].name, sizeof blobs.blob[i].name, "vanilla_proofs[%zu]", i);
  }
  const struct cuzk_input_source from = {.statement = &s, .vanilla = &blobs};
  const enum cuzk_status st = cuzk_inputs_open(in, kind, &from, d);
  cuzk_free(blobs.blob);
  return st;
}

static enum cuzk_status open_c1(struct cuzk_inputs **in, const struct cuzk_proof_kind *kind, const struct cuzk_request_fields *f,
                                struct cuzk_detail *d) {
  const struct cuzk_input_source from = {.c1 = f->vanilla_proof.data, .c1_bytes = f->vanilla_proof.n, .c1_name = "vanilla_proof"};
  const enum cuzk_status st = cuzk_inputs_open(in, kind, &from, d);
  return st == CUZK_OK ? cuzk_c1_check_identity((*in)->c1, f->miner_id, f->sector_number, d) : st;
}

static enum cuzk_status stopped(const atomic_bool *stop, struct cuzk_detail *d) {
  return stop && atomic_load(stop) ? cuzk_fail(d, CUZK_E_CANCELLED, "cancelled while the inputs were read") : CUZK_OK;
}

enum cuzk_status real_open(void *self, struct cuzk_request *rq, const struct cuzk_plan *plan, void **inputs, const atomic_bool *stop,
                           struct cuzk_detail *d) {
  const struct cuzk_prover_real *p = self;
  unsigned number;
  const struct cuzk_proof_kind *kind = kind_of(rq->f.kind, &number);
  enum cuzk_status st;
  *inputs = NULL;
  if (!kind) return cuzk_fail(d, CUZK_E_ARG, "proof_kind is %u", rq->f.kind);
  struct real_inputs *x = cuzk_calloc(1, sizeof *x);
  if (!x) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the inputs");
  x->row = cuzk_prover_row_find(plan->circuit_id);
  CUZK_TRY(stopped(stop, d));
  CUZK_TRY(kind->takes_c1 ? open_c1(&x->in, kind, &rq->f, d) : open_records(&x->in, kind, &rq->f, d));
  if (!x->row || strcmp(x->in->circuit->name, x->row->circuit) != 0 || x->in->n_partitions != plan->n_partitions) {
    st = cuzk_fail(d, CUZK_E_MISMATCH, "the payload is of circuit %s with %u partitions, it was admitted as %s with %u",
                   x->in->circuit->name, x->in->n_partitions, plan->circuit_id, plan->n_partitions);
    goto out;
  }
  CUZK_TRY(stopped(stop, d));
  CUZK_TRY(cuzk_inputs_check(x->in, p->pool, d));
  CUZK_TRY(stopped(stop, d));
  x->n_public = x->in->circuit->n_inputs - 1;
  x->u = cuzk_calloc((size_t)plan->n_partitions * x->n_public, sizeof *x->u);
  if (!x->u) {
    st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for the public inputs");
    goto out;
  }
  for (unsigned k = 0; k < plan->n_partitions; k++) CUZK_TRY(cuzk_inputs_public(x->u + k * x->n_public, x->in, k, d));
  *inputs = x;
  x = NULL;
out:
  if (x) real_close(self, x);
  return st;
}

void real_close(void *self, void *inputs) {
  struct real_inputs *x = inputs;
  (void)self;
  if (!x) return;
  cuzk_inputs_close(&x->in);
  cuzk_free(x->u);
  cuzk_free(x);
}
