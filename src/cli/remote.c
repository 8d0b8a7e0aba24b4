/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "cli/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "daemon/wire.h"

static const char *const default_addresses[] = {"unix:///run/curio/cuzk.sock", "127.0.0.1:9820"};

enum cuzk_status remote_timeout(struct cli *c, uint64_t *ms) {
  const enum cuzk_status st = cli_number(c, OPT_TIMEOUT, 1, 31536000, 0, ms);
  *ms *= 1000;
  return st;
}

enum cuzk_status remote_open(struct cuzk_rpc_client **out, struct cli *c) {
  struct cuzk_file token = {0};
  char text[4097] = "";
  enum cuzk_status st = CUZK_OK;
  *out = NULL;
  if (c->opt[OPT_TOKEN_FILE]) {
    CUZK_TRY(cuzk_file_read(&token, c->opt[OPT_TOKEN_FILE], 4096, &c->detail));
    size_t n = token.n;
    while (n && strchr("\r\n \t", token.data[n - 1])) n--;
    memcpy(text, token.data, n);
    text[n] = 0;
  }
  struct cuzk_rpc_client_options o = {.token = text[0] ? text : NULL, .ca = c->opt[OPT_CA], .cert = c->opt[OPT_CERT], .key = c->opt[OPT_KEY]};
  if (c->opt[OPT_ADDR]) {
    o.address = c->opt[OPT_ADDR];
    CUZK_TRY(cuzk_rpc_client_open(out, &o, &c->detail));
  } else {
    st = CUZK_E_IO;
    for (size_t i = 0; i < 2 && st != CUZK_OK; i++) {
      struct cuzk_detail d;
      o.address = default_addresses[i];
      if (!i && (o.ca || o.cert)) continue; /* TLS is for TCP */
      st = cuzk_rpc_client_open(out, &o, &d);
    }
    if (st != CUZK_OK) st = cuzk_fail(&c->detail, CUZK_E_IO, "no daemon answers at %s or %s; --addr says where it is", default_addresses[0], default_addresses[1]);
  }
out:
  cuzk_secret_clear(text, sizeof text);
  cuzk_file_clear(&token);
  return st;
}

enum cuzk_status remote_status(enum cuzk_grpc_code code) {
  switch (code) {
    case CUZK_GRPC_OK: return CUZK_OK;
    case CUZK_GRPC_CANCELLED:
    case CUZK_GRPC_DEADLINE_EXCEEDED: return CUZK_E_CANCELLED;
    case CUZK_GRPC_INVALID_ARGUMENT:
    case CUZK_GRPC_UNAUTHENTICATED:
    case CUZK_GRPC_PERMISSION_DENIED: return CUZK_E_ARG;
    case CUZK_GRPC_NOT_FOUND: return CUZK_E_NOENT;
    case CUZK_GRPC_RESOURCE_EXHAUSTED: return CUZK_E_NOMEM;
    case CUZK_GRPC_FAILED_PRECONDITION: return CUZK_E_MISMATCH;
    case CUZK_GRPC_UNIMPLEMENTED: return CUZK_E_UNSUPPORTED;
    case CUZK_GRPC_UNAVAILABLE: return CUZK_E_IO;
    default: return CUZK_E_INTERNAL;
  }
}

enum cuzk_status remote_call(struct cuzk_rpc_client *client, struct cli *c, const char *method, const uint8_t *body, size_t n, uint64_t timeout_ms,
                             struct cuzk_rpc_answer *a) {
  char path[128];
  (void)snprintf(path, sizeof path, "/cuzk.v1.ProvingEngine/%s", method);
  const enum cuzk_status st = cuzk_rpc_client_call(client, path, body, n, timeout_ms, cli_stop(), a, &c->detail);
  if (st != CUZK_OK) return st;
  if (a->code == CUZK_GRPC_OK) return CUZK_OK;
  return cuzk_fail(&c->detail, remote_status(a->code), "%s: %s: %s", method, cuzk_grpc_code_name(a->code), a->message ? a->message : "");
}

const struct cuzk_proof_kind *remote_kind(const char *word) {
  static const char *const other[][2] = {{"porep-c2", "porep"},       {"seal-commit", "porep"},          {"snap-deals", "snap"},
                                         {"update", "snap"},          {"wpost", "window-post"},          {"windowpost", "window-post"},
                                         {"winning", "winning-post"}, {"winningpost", "winning-post"}};
  char low[32];
  size_t n = 0;
  for (; word[n] && n + 1 < sizeof low; n++) low[n] = word[n] >= 'A' && word[n] <= 'Z' ? (char)(word[n] + 32) : word[n];
  low[n] = 0;
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
    if (!strcmp(low, other[i][0])) return cuzk_proof_kind_find(other[i][1]);
  return cuzk_proof_kind_find(low);
}

const char *remote_result_name(int status) {
  static const char *const names[] = {"UNKNOWN", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"};
  return status >= 0 && status < 5 ? names[status] : "UNKNOWN";
}

enum cuzk_status remote_uuid(char out[37], struct cuzk_detail *d) {
  uint8_t b[16];
  if (cuzk_random_bytes(b, sizeof b) != CUZK_OK) return cuzk_fail(d, CUZK_E_IO, "no randomness for a request id");
  b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
  b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
  size_t at = 0;
  for (size_t i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out[at++] = '-';
    at += (size_t)snprintf(out + at, 37 - at, "%02x", b[i]);
  }
  return CUZK_OK;
}

/* The registered proof's number: as said, else the newest of the sector's size. */
static enum cuzk_status registered(struct cli *c, const struct cuzk_proof_kind *kind, const struct cuzk_statement *s, uint64_t *out) {
  static const uint64_t sizes[5] = {2048, 8388608, 536870912, UINT64_C(34359738368), UINT64_C(68719476736)};
  const uint64_t said = s->registered >= 0 ? (uint64_t)s->registered : kind->kind == CUZK_KIND_WINDOW ? 13 : 3;
  enum cuzk_status st = cli_number(c, OPT_REGISTERED_PROOF, 0, 255, said, out);
  if (st != CUZK_OK || c->opt[OPT_REGISTERED_PROOF] || s->registered >= 0 || !s->sector_bytes) return st;
  for (uint64_t i = 0; i < 5; i++)
    if (sizes[i] == s->sector_bytes) *out = i + (kind->kind == CUZK_KIND_WINDOW ? 10 : 0);
  return CUZK_OK;
}

static enum cuzk_status put_porep(struct cuzk_wire_out *w, struct cli *c) {
  struct cuzk_file f = {0};
  uint64_t number = 0;
  enum cuzk_status st;
  if (!c->opt[OPT_C1]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "--c1 FILE is needed: the phase-1 output");
  CUZK_TRY(cli_number(c, OPT_REGISTERED_PROOF, 0, 255, 0, &number));
  CUZK_TRY(cuzk_file_map(&f, c->opt[OPT_C1], UINT64_C(1) << 30, &c->detail));
  if (c->opt[OPT_REGISTERED_PROOF]) cuzk_wire_put_varint(w, 4, number);
  cuzk_wire_put_bytes(w, 10, f.data, f.n);
out:
  cuzk_file_clear(&f);
  return st;
}

static enum cuzk_status put_statement(struct cuzk_wire_out *w, struct cli *c, const struct cuzk_proof_kind *kind) {
  struct cuzk_statement s = {.registered = -1};
  struct cuzk_blobs records = {0};
  uint64_t number = 0;
  enum cuzk_status st = CUZK_OK;
  if (!c->opt[OPT_META]) return cuzk_fail(&c->detail, CUZK_E_USAGE, "--meta META is needed: randomness, or the commitments of an update");
  CUZK_TRY(cuzk_statement_load(&s, &records, c->opt[OPT_META], &c->detail));
  for (unsigned i = 0; i < c->n_list; i++) CUZK_TRY(cuzk_blobs_add_file(&records, c->list[i], &c->detail));
  if (!records.n) {
    st = cuzk_fail(&c->detail, CUZK_E_USAGE, "--vanilla FILE... is needed: the vanilla proofs");
    goto out;
  }
  CUZK_TRY(registered(c, kind, &s, &number));
  cuzk_wire_put_varint(w, 3, s.sector_bytes);
  cuzk_wire_put_varint(w, 4, number);
  for (size_t i = 0; i < records.n; i++) cuzk_wire_put_bytes(w, 11, records.blob[i].data, records.blob[i].n);
  if (s.has_randomness) cuzk_wire_put_bytes(w, 22, s.randomness, 32);
  if (s.partition_index) cuzk_wire_put_varint(w, 23, s.partition_index);
  if (s.has_commitments) {
    cuzk_wire_put_bytes(w, 30, s.commitments.comm_r_old, 32);
    cuzk_wire_put_bytes(w, 31, s.commitments.comm_r_new, 32);
    cuzk_wire_put_bytes(w, 32, s.commitments.comm_d_new, 32);
  }
out:
  cuzk_statement_clear(&s);
  cuzk_blobs_clear(&records);
  return st;
}

enum cuzk_status remote_request_load(struct remote_request *r, struct cli *c, const struct cuzk_proof_kind *kind) {
  static const char *const priorities[] = {"default", "low", "normal", "high", "critical", NULL};
  struct cuzk_wire_out w = {0};
  uint64_t sector = 0, miner = 0, partition = 0;
  unsigned priority = 0;
  enum cuzk_status st;
  memset(r, 0, sizeof *r);
  CUZK_TRY(cli_choice(c, OPT_PRIORITY, priorities, &priority));
  CUZK_TRY(cli_number(c, OPT_SECTOR, 0, UINT64_MAX / 2, 1, &sector));
  CUZK_TRY(cli_number(c, OPT_MINER, 0, UINT64_MAX / 2, 1000, &miner));
  CUZK_TRY(cli_number(c, OPT_PARTITION, 0, UINT32_MAX, 0, &partition));
  cuzk_wire_put_varint(&w, 2, kind->rpc_number);
  if (priority) cuzk_wire_put_varint(&w, 5, priority);
  CUZK_TRY(kind->takes_c1 ? put_porep(&w, c) : put_statement(&w, c, kind));
  cuzk_wire_put_varint(&w, 20, sector);
  cuzk_wire_put_varint(&w, 21, miner);
  if (c->opt[OPT_PARTITION]) cuzk_wire_put_varint(&w, 23, partition);
  if (w.failed) st = cuzk_fail(&c->detail, CUZK_E_NOMEM, "no memory for the request");
out:
  if (st != CUZK_OK) {
    cuzk_wire_out_clear(&w);
    return st;
  }
  *r = (struct remote_request){.bytes = w.data, .n = w.n, .kind = kind};
  return CUZK_OK;
}

void remote_request_clear(struct remote_request *r) {
  cuzk_free(r->bytes);
  memset(r, 0, sizeof *r);
}

enum cuzk_status remote_message(uint8_t **out, size_t *n, const struct remote_request *r, const char *request_id, bool prove) {
  struct cuzk_wire_out inner = {0}, outer = {0};
  if (request_id) cuzk_wire_put_bytes(&inner, 1, request_id, strlen(request_id));
  uint8_t *p = cuzk_wire_reserve(&inner, r->n);
  if (p) {
    memcpy(p, r->bytes, r->n);
    inner.n += r->n;
    if (prove) cuzk_wire_put_bytes(&outer, 1, inner.data, inner.n);
  }
  struct cuzk_wire_out *w = prove ? &outer : &inner;
  const bool failed = !p || inner.failed || w->failed;
  *out = failed ? NULL : w->data;
  *n = failed ? 0 : w->n;
  if (failed || prove) cuzk_wire_out_clear(&inner);
  if (failed) cuzk_wire_out_clear(&outer);
  return failed ? CUZK_E_NOMEM : CUZK_OK;
}
