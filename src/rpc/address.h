/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Where servers listen and clients connect. */
#ifndef CUZK_RPC_ADDRESS_H
#define CUZK_RPC_ADDRESS_H
#include <sys/socket.h>

#include "cuzk/status.h"
#include "rpc/server.h"

struct rpc_address {
  bool unix_path, tls; /* tls: "https://" was said */
  char path[108], host[256], port[8];
};
/** "unix:///path", "unix:path", "host:port", "[v6]:port", ":port" (loopback), "http://...", "https://...", "dns:///host:port".
 *  Errors: E_ARG. */
enum cuzk_status rpc_address_parse(struct rpc_address *out, const char *text, struct cuzk_detail *d);
/** A bound, listening, non-blocking socket. *lock_fd: of a unix socket's lock file, else -1. bound: the address as it is now.
 *  Errors: E_IO (in use, no permission), E_NOENT, E_ARG (host not known). */
enum cuzk_status rpc_address_listen(int *fd, int *lock_fd, char bound[300], const struct rpc_address *a, const struct cuzk_rpc_listen *l,
                                    struct cuzk_detail *d);
/** Removes what listen made in the file system. */
void rpc_address_unlisten(const struct rpc_address *a, int lock_fd);
/** A connected, non-blocking socket. Errors: E_IO (the detail says what was tried), E_ARG. */
enum cuzk_status rpc_address_connect(int *fd, const struct rpc_address *a, uint64_t timeout_ms, struct cuzk_detail *d);
/** "unix" or "addr:port". */
void rpc_address_name(char *out, size_t n, const struct sockaddr *sa, socklen_t len);
#endif
