/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Talking to a daemon: connections as the options say, requests from files, answers as statuses. Shared by the client commands. */
#ifndef CUZK_CLI_REMOTE_H
#define CUZK_CLI_REMOTE_H
#include "cli/cli.h"
#include "inputs/kinds.h"
#include "rpc/client.h"

/** Options of every command that talks to a daemon. */
#define REMOTE_OPTIONS (CLI_BIT(ADDR) | CLI_BIT(TOKEN_FILE) | CLI_BIT(CA) | CLI_BIT(CERT) | CLI_BIT(KEY) | CLI_BIT(TIMEOUT))

/** Connects to --addr, or to the first default address that answers. Errors: of cuzk_rpc_client_open and of the token's file. */
enum cuzk_status remote_open(struct cuzk_rpc_client **out, struct cli *c);
/** --timeout in milliseconds; 0: none. Errors: E_USAGE. */
enum cuzk_status remote_timeout(struct cli *c, uint64_t *ms);
/** Calls a method of the service by its name. The body of an OK answer goes to a (to be cleared in any case). The answer's code becomes the
 *  status, its message the detail. */
enum cuzk_status remote_call(struct cuzk_rpc_client *client, struct cli *c, const char *method, const uint8_t *body, size_t n, uint64_t timeout_ms,
                             struct cuzk_rpc_answer *a);
enum cuzk_status remote_status(enum cuzk_grpc_code code);

/** A submission: fields of a SubmitProofRequest but request_id, encoded, without the prefix of a ProveRequest. */
struct remote_request {
  uint8_t *bytes; /* owned */
  size_t n;
  const struct cuzk_proof_kind *kind;
};
/** From --c1, --meta, --vanilla, --miner, --sector, --registered-proof, --priority, --partition. The files are read, not checked: that is the daemon's. */
enum cuzk_status remote_request_load(struct remote_request *r, struct cli *c, const struct cuzk_proof_kind *kind);
void remote_request_clear(struct remote_request *r);
/** A SubmitProofRequest, or with prove a ProveRequest around it; to be freed with cuzk_free. request_id may be NULL. Errors: E_NOMEM. */
enum cuzk_status remote_message(uint8_t **out, size_t *n, const struct remote_request *r, const char *request_id, bool prove);
/** A request id nobody else has (36 characters, a random UUID). Errors: E_IO. */
enum cuzk_status remote_uuid(char out[37], struct cuzk_detail *d);
/** Kind of a word: porep, winning-post, ... and the reference's other names (porep-c2, wpost, winning, snap-deals, ...); NULL: none. */
const struct cuzk_proof_kind *remote_kind(const char *word);
/** "COMPLETED" ... */
const char *remote_result_name(int status);
#endif
