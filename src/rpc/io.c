/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/io.h"

#include <errno.h>
#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

uint64_t cuzk_io_now_ms(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void cuzk_io_block_sigpipe(void) {
  sigset_t set;
  (void)sigemptyset(&set);
  (void)sigaddset(&set, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static ssize_t tls_result(struct cuzk_io *io, int rc, bool *other, int other_error) {
  if (rc > 0) return rc;
  int e = SSL_get_error(io->ssl, rc);
  if (e == SSL_ERROR_ZERO_RETURN) return 0;
  if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
    if (e == other_error) *other = true;
    return CUZK_IO_AGAIN;
  }
  ERR_clear_error();
  return CUZK_IO_ERROR;
}

ssize_t cuzk_io_read(struct cuzk_io *io, uint8_t *p, size_t n) {
  if (io->ssl) {
    io->read_wants_write = false;
    ERR_clear_error();
    return tls_result(io, SSL_read(io->ssl, p, n > 1 << 30 ? 1 << 30 : (int)n), &io->read_wants_write, SSL_ERROR_WANT_WRITE);
  }
  for (;;) {
    ssize_t k = recv(io->fd, p, n, 0);
    if (k >= 0) return k;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? CUZK_IO_AGAIN : CUZK_IO_ERROR;
  }
}

ssize_t cuzk_io_write(struct cuzk_io *io, const uint8_t *p, size_t n) {
  if (io->ssl) {
    io->write_wants_read = false;
    ERR_clear_error();
    ssize_t k = tls_result(io, SSL_write(io->ssl, p, n > 1 << 30 ? 1 << 30 : (int)n), &io->write_wants_read, SSL_ERROR_WANT_READ);
    return k == 0 ? CUZK_IO_ERROR : k;
  }
  for (;;) {
    ssize_t k = send(io->fd, p, n, MSG_NOSIGNAL);
    if (k >= 0) return k;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? CUZK_IO_AGAIN : CUZK_IO_ERROR;
  }
}

int cuzk_io_handshake(struct cuzk_io *io) {
  if (!io->ssl) {
    io->handshaken = true;
    return 1;
  }
  io->read_wants_write = false;
  ERR_clear_error();
  int rc = SSL_do_handshake(io->ssl);
  if (rc == 1) {
    io->handshaken = true;
    return 1;
  }
  int e = SSL_get_error(io->ssl, rc);
  if (e == SSL_ERROR_WANT_READ) return CUZK_IO_AGAIN;
  if (e == SSL_ERROR_WANT_WRITE) {
    io->read_wants_write = true;
    return CUZK_IO_AGAIN;
  }
  return CUZK_IO_ERROR;
}

void cuzk_io_clear(struct cuzk_io *io) {
  if (io->ssl) {
    ERR_clear_error();
    if (io->handshaken) (void)SSL_shutdown(io->ssl);
    SSL_free(io->ssl);
    ERR_clear_error();
  }
  if (io->fd >= 0) (void)close(io->fd);
  io->ssl = NULL;
  io->fd = -1;
}
