/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** TLS contexts: TLS 1.2 or later, ALPN "h2". */
#ifndef CUZK_RPC_TLS_H
#define CUZK_RPC_TLS_H
#include <openssl/ssl.h>
#include <stdbool.h>

#include "cuzk/status.h"

/** For a listener; client_ca asks for client certificates signed by it. Errors: E_FORMAT naming the file, E_NOMEM. */
enum cuzk_status rpc_tls_server(SSL_CTX **out, const char *cert, const char *key, const char *client_ca, struct cuzk_detail *d);
/** For a client; ca NULL: the system's. cert and key may be NULL. */
enum cuzk_status rpc_tls_client(SSL_CTX **out, const char *ca, const char *cert, const char *key, struct cuzk_detail *d);
/** Has the handshake agreed on h2? */
bool rpc_tls_is_h2(const SSL *ssl);
#endif
