/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests of the proving service and of reflection. What is read lies within the message, and becomes a request that reads back as itself. */
#include <stdlib.h>
#include <string.h>

#include "daemon/messages.h"
#include "daemon/reflection.h"
#include "daemon/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void within(struct cuzk_slice s, const uint8_t *data, size_t n) {
  if (s.n && (s.data < data || s.n > n || s.data > data + (n - s.n))) abort();
}

static void check(struct cuzk_submit_message *m, const uint8_t *data, size_t n) {
  within(m->request_id, data, n);
  within(m->fields.vanilla_proof, data, n);
  within(m->fields.randomness, data, n);
  for (size_t i = 0; i < m->fields.n_vanilla_proofs; i++) within(m->fields.vanilla_proofs[i], data, n);
  if (!cuzk_utf8_valid(m->request_id.data, m->request_id.n)) abort();
  struct cuzk_request *a, *b;
  struct cuzk_detail d = {{0}};
  if (cuzk_request_create(&a, &m->fields) != CUZK_OK) return;
  if (cuzk_request_parse(&b, a->bytes, a->n_bytes, NULL, NULL, &d) != CUZK_OK) abort();
  if (memcmp(a->digest, b->digest, 32) != 0 || a->f.n_vanilla_proofs != b->f.n_vanilla_proofs || a->f.kind != b->f.kind) abort();
  cuzk_request_unref(&a);
  cuzk_request_unref(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  struct cuzk_detail d = {{0}};
  struct cuzk_submit_message m;
  enum cuzk_status st = cuzk_submit_decode(&m, data, n, &d);
  if (st == CUZK_OK) check(&m, data, n);
  else if (!d.text[0] || m.list) abort(); /* a refusal has a reason and leaves nothing behind */
  cuzk_submit_message_clear(&m);
  bool present;
  if (cuzk_prove_decode(&m, &present, data, n, &d) == CUZK_OK) {
    if (present) check(&m, data, n);
    cuzk_submit_message_clear(&m);
  }
  struct cuzk_slice text;
  uint64_t number;
  if (cuzk_small_decode(&text, &number, data, n, &d) == CUZK_OK) within(text, data, n);
  struct cuzk_wire_out out;
  if (cuzk_reflection_answer(&out, data, n) == CUZK_OK) {
    struct cuzk_wire w = cuzk_wire_of(out.data, out.n);
    struct cuzk_wire_field f;
    while (cuzk_wire_next(&w, &f)) {
    }
    if (w.bad) abort();
  }
  cuzk_wire_out_clear(&out);
  struct cuzk_request *r;
  if (cuzk_request_parse(&r, data, n, NULL, NULL, &d) == CUZK_OK) {
    struct cuzk_request *again;
    if (cuzk_request_create(&again, &r->f) == CUZK_OK) {
      /* There is one form of a request. */
      if (again->n_bytes != n || (n && memcmp(again->bytes, data, n) != 0)) abort();
      cuzk_request_unref(&again);
    }
    cuzk_request_unref(&r);
  }
  return 0;
}
