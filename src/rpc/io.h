/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** A connected non-blocking socket, plain or TLS. */
#ifndef CUZK_RPC_IO_H
#define CUZK_RPC_IO_H
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cuzk/status.h"

/** TLS 1.2 or later, ALPN h2 only. client_ca: peers must show a certificate of it. Errors: E_FORMAT, E_NOENT, E_NOMEM. */
enum cuzk_status cuzk_tls_server(SSL_CTX **out, const char *cert, const char *key, const char *client_ca, struct cuzk_detail *d);
/** ca NULL: the system's. cert and key: both or none. */
enum cuzk_status cuzk_tls_client(SSL_CTX **out, const char *ca, const char *cert, const char *key, struct cuzk_detail *d);
/** True when h2 was agreed on. */
bool cuzk_tls_is_h2(const SSL *ssl);
/** Text of the oldest error in OpenSSL's queue of this thread, which is emptied. */
void cuzk_tls_error(char *out, size_t n);

struct cuzk_io {
  int fd;
  SSL *ssl; /* NULL: plain */
  bool handshaken;
  bool read_wants_write, write_wants_read; /* TLS: what the last call waits for */
};
#define CUZK_IO_AGAIN (-1)
#define CUZK_IO_ERROR (-2)
/** > 0 bytes; 0 end; CUZK_IO_AGAIN; CUZK_IO_ERROR. The thread must have SIGPIPE blocked. */
ssize_t cuzk_io_read(struct cuzk_io *io, uint8_t *p, size_t n);
ssize_t cuzk_io_write(struct cuzk_io *io, const uint8_t *p, size_t n);
/** 1 done, CUZK_IO_AGAIN, CUZK_IO_ERROR. */
int cuzk_io_handshake(struct cuzk_io *io);
/** Closes; close-notify is sent if it can be at once. */
void cuzk_io_clear(struct cuzk_io *io);
/** Milliseconds of CLOCK_MONOTONIC. */
uint64_t cuzk_io_now_ms(void);
/** Blocks SIGPIPE in the calling thread. */
void cuzk_io_block_sigpipe(void);
#endif
