/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** cuzk.v1.ProvingEngine over the engine, and beside it grpc.health.v1.Health and server reflection (engine specification 2).
 *
 *  Order of life: service, server with cuzk_service_methods and the service as user, cuzk_service_serve, start. Then the server is
 *  destroyed first, which ends all calls, then the service, then the engine.
 *
 *  Threads  methods run on the server's loop thread and only hand over: admission (which waits for the journal), control and
 *           preloading each have threads of their own, so that views are never kept by disks. All functions from any thread.
 *  Tests: daemon/test_service.c. */
#ifndef CUZK_DAEMON_SERVICE_H
#define CUZK_DAEMON_SERVICE_H
#include "engine/engine.h"
#include "rpc/server.h"

struct cuzk_service;
struct cuzk_service_options {
  struct cuzk_clock *clock; /* the engine's */
  struct cuzk_engine *engine;
  const struct cuzk_kind_names *kinds; /* 4 rows, of the prover */
  unsigned admit_threads, control_threads, preload_threads; /* 0: 2, 2, 4 */
  uint64_t max_pending_bytes; /* of requests that wait for admission or are being admitted; over that RESOURCE_EXHAUSTED; 0: 1 GiB */
  uint64_t retry_after_ms;                                  /* told when the queue is full; 0: 5 s */
};
/** Starts the service's threads. Errors: E_NOMEM. */
enum cuzk_status cuzk_service_create(struct cuzk_service **out, const struct cuzk_service_options *o);
/** The methods for cuzk_rpc_options, whose user must be the service. */
const struct cuzk_rpc_method *cuzk_service_methods(size_t *n);
/** Tells the service its server, before that starts: health changes are sent through it. */
void cuzk_service_serve(struct cuzk_service *s, struct cuzk_rpc_server *server);
/** From now on health says NOT_SERVING (the engine itself refuses new jobs). */
void cuzk_service_drain(struct cuzk_service *s);
/** All calls are over: the server is destroyed already, or was never started. *s becomes NULL; NULL is accepted. */
void cuzk_service_destroy(struct cuzk_service **s);
#endif
