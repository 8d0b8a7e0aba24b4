/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/messages.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "daemon/wire.h"

static enum cuzk_status malformed(const struct cuzk_wire *w, const char *what, struct cuzk_detail *d) {
  return cuzk_fail(d, CUZK_E_FORMAT, "%s: not a protobuf message (byte %zu of %zu)", what, w->at, w->n);
}

static enum cuzk_status text_field(struct cuzk_slice *out, const struct cuzk_wire_field *f, const char *name, struct cuzk_detail *d) {
  if (f->type != CUZK_WIRE_BYTES) return CUZK_OK; /* another type is an unknown field */
  if (!cuzk_utf8_valid(f->bytes.data, f->bytes.n)) return cuzk_fail(d, CUZK_E_FORMAT, "%s: not UTF-8", name);
  *out = f->bytes;
  return CUZK_OK;
}

/* One field of a SubmitProofRequest. list NULL: elements of vanilla_proofs are counted only. */
static enum cuzk_status submit_field(struct cuzk_submit_message *m, struct cuzk_slice *list, const struct cuzk_wire_field *f,
                                     struct cuzk_detail *d) {
  struct cuzk_request_fields *q = &m->fields;
  if (f->type == CUZK_WIRE_VARINT) {
    switch (f->number) {
      case 2: q->kind = (uint32_t)f->value; break;
      case 3: q->sector_size = f->value; break;
      case 4: q->registered_proof = f->value; break;
      case 5: m->priority = (uint32_t)f->value; break;
      case 20: q->sector_number = f->value; break;
      case 21: q->miner_id = f->value; break;
      case 23: q->partition_index = (uint32_t)f->value; break;
      default: break;
    }
  } else if (f->type == CUZK_WIRE_BYTES) {
    switch (f->number) {
      case 1: return text_field(&m->request_id, f, "request_id", d);
      case 10: q->vanilla_proof = f->bytes; break;
      case 11:
        if (list) list[q->n_vanilla_proofs] = f->bytes;
        q->n_vanilla_proofs++;
        break;
      case 22: q->randomness = f->bytes; break;
      case 30: q->comm_r_old = f->bytes; break;
      case 31: q->comm_r_new = f->bytes; break;
      case 32: q->comm_d_new = f->bytes; break;
      default: break;
    }
  }
  return CUZK_OK;
}

static enum cuzk_status submit_walk(struct cuzk_submit_message *m, struct cuzk_slice *list, struct cuzk_wire w, struct cuzk_detail *d) {
  struct cuzk_wire_field f;
  while (cuzk_wire_next(&w, &f)) {
    enum cuzk_status st = submit_field(m, list, &f, d);
    if (st != CUZK_OK) return st;
  }
  return w.bad ? malformed(&w, "SubmitProofRequest", d) : CUZK_OK;
}

/* As submit_walk, over all occurrences of submit in a ProveRequest, which make one message together. */
static enum cuzk_status prove_walk(struct cuzk_submit_message *m, struct cuzk_slice *list, bool *present, struct cuzk_wire w,
                                   struct cuzk_detail *d) {
  struct cuzk_wire_field f;
  *present = false;
  while (cuzk_wire_next(&w, &f)) {
    if (f.number != 1 || f.type != CUZK_WIRE_BYTES) continue;
    *present = true;
    enum cuzk_status st = submit_walk(m, list, cuzk_wire_of(f.bytes.data, f.bytes.n), d);
    if (st != CUZK_OK) return st;
  }
  return w.bad ? malformed(&w, "ProveRequest", d) : CUZK_OK;
}

/* Twice over the message: the first time counts, so that the list is made at its size. */
static enum cuzk_status decode(struct cuzk_submit_message *out, bool *present, const uint8_t *data, size_t n, struct cuzk_detail *d) {
  struct cuzk_submit_message m = {.priority = 0};
  struct cuzk_wire w = cuzk_wire_of(data, n);
  enum cuzk_status st = present ? prove_walk(&m, NULL, present, w, d) : submit_walk(&m, NULL, w, d);
  if (st == CUZK_OK && m.fields.n_vanilla_proofs > CUZK_MAX_VANILLA_PROOFS)
    st = cuzk_fail(d, CUZK_E_FORMAT, "vanilla_proofs: %zu elements, at most %u are accepted", m.fields.n_vanilla_proofs,
                   CUZK_MAX_VANILLA_PROOFS);
  if (st == CUZK_OK && m.fields.n_vanilla_proofs > 0) {
    struct cuzk_slice *list = cuzk_malloc_array(m.fields.n_vanilla_proofs, sizeof *list);
    if (!list) {
      st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for a request's fields");
    } else {
      m = (struct cuzk_submit_message){.list = list};
      st = present ? prove_walk(&m, list, present, w, d) : submit_walk(&m, list, w, d);
      m.fields.vanilla_proofs = list;
    }
  }
  *out = st == CUZK_OK ? m : (struct cuzk_submit_message){.priority = 0};
  if (st != CUZK_OK) cuzk_free(m.list);
  return st;
}

enum cuzk_status cuzk_submit_decode(struct cuzk_submit_message *out, const uint8_t *data, size_t n, struct cuzk_detail *d) {
  return decode(out, NULL, data, n, d);
}

enum cuzk_status cuzk_prove_decode(struct cuzk_submit_message *out, bool *present, const uint8_t *data, size_t n, struct cuzk_detail *d) {
  return decode(out, present, data, n, d);
}

void cuzk_submit_message_clear(struct cuzk_submit_message *m) {
  cuzk_free(m->list);
  *m = (struct cuzk_submit_message){.priority = 0};
}

enum cuzk_status cuzk_small_decode(struct cuzk_slice *text, uint64_t *number, const uint8_t *data, size_t n, struct cuzk_detail *d) {
  struct cuzk_wire w = cuzk_wire_of(data, n);
  struct cuzk_wire_field f;
  *text = (struct cuzk_slice){(const uint8_t *)"", 0};
  if (number) *number = 0;
  while (cuzk_wire_next(&w, &f)) {
    if (f.number == 1) {
      enum cuzk_status st = text_field(text, &f, "field 1", d);
      if (st != CUZK_OK) return st;
    } else if (f.number == 2 && f.type == CUZK_WIRE_VARINT && number) {
      *number = f.value;
    }
  }
  return w.bad ? malformed(&w, "request", d) : CUZK_OK;
}
