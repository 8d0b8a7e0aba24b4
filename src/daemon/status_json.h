/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The documents of the HTTP endpoint: /status (engine specification 3.2, members and types fixed there; docs/formats/status.md) and the
 *  events of /events. Tests: daemon/test_status_json.c. */
#ifndef CUZK_DAEMON_STATUS_JSON_H
#define CUZK_DAEMON_STATUS_JSON_H
#include <stddef.h>

#include "engine/engine.h"

/** /status from a view. kinds: 4 rows, of the prover; now_ns: of the engine's clock. *text (n bytes and a zero) is to be freed with
 *  cuzk_free. Errors: E_NOMEM. */
enum cuzk_status cuzk_status_json(char **text, size_t *n, const struct cuzk_engine_view *v, const struct cuzk_kind_names *kinds,
                                  const char *version, uint64_t now_ns);
/** One event: {"seq", "t_us", "event", "job", "partition", "worker", "gpu", "details"}; job is decoded, absent numbers are null. Errors: E_NOMEM. */
enum cuzk_status cuzk_event_json(char **text, size_t *n, const struct cuzk_event_record *r);
#endif
