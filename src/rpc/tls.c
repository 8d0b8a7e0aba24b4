/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <openssl/err.h>
#include <string.h>

#include "base/fail.h"
#include "rpc/io.h"

static const unsigned char alpn_h2[] = {2, 'h', '2'};

void cuzk_tls_error(char *out, size_t n) {
  unsigned long e = ERR_get_error();
  if (e) ERR_error_string_n(e, out, n);
  else if (n) out[0] = 0;
  ERR_clear_error();
}

static enum cuzk_status fail(struct cuzk_detail *d, const char *what, const char *path) {
  char text[256];
  cuzk_tls_error(text, sizeof text);
  return cuzk_fail(d, CUZK_E_FORMAT, "%s %s: %s", what, path, text[0] ? text : "refused by OpenSSL");
}

static int select_h2(SSL *ssl, const unsigned char **out, unsigned char *n_out, const unsigned char *in, unsigned n_in, void *arg) {
  (void)ssl;
  (void)arg;
  unsigned char *chosen;
  if (SSL_select_next_proto(&chosen, n_out, alpn_h2, sizeof alpn_h2, in, n_in) != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

/* A key with a pass phrase must not make OpenSSL ask on the terminal. */
static int no_pass_phrase(char *buf, int size, int rwflag, void *user) {
  (void)buf;
  (void)size;
  (void)rwflag;
  (void)user;
  return -1;
}

static enum cuzk_status load_pair(SSL_CTX *c, const char *cert, const char *key, struct cuzk_detail *d) {
  SSL_CTX_set_default_passwd_cb(c, no_pass_phrase);
  if (SSL_CTX_use_certificate_chain_file(c, cert) != 1) return fail(d, "certificate", cert);
  if (SSL_CTX_use_PrivateKey_file(c, key, SSL_FILETYPE_PEM) != 1) return fail(d, "private key", key);
  if (SSL_CTX_check_private_key(c) != 1) return fail(d, "private key does not fit its certificate:", key);
  return CUZK_OK;
}

static enum cuzk_status make(SSL_CTX **out, const SSL_METHOD *method, struct cuzk_detail *d) {
  ERR_clear_error();
  *out = SSL_CTX_new(method);
  if (!*out) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for TLS");
  if (SSL_CTX_set_min_proto_version(*out, TLS1_2_VERSION) != 1) return fail(d, "TLS", "1.2");
  (void)SSL_CTX_set_options(*out, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  (void)SSL_CTX_set_mode(*out, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  /* RFC 9113 9.2.2 wants ephemeral keys and authenticated encryption; TLS 1.3 has nothing else */
  if (SSL_CTX_set_cipher_list(*out, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) return fail(d, "TLS", "ciphers");
  return CUZK_OK;
}

enum cuzk_status cuzk_tls_server(SSL_CTX **out, const char *cert, const char *key, const char *client_ca, struct cuzk_detail *d) {
  enum cuzk_status st;
  CUZK_TRY(make(out, TLS_server_method(), d));
  CUZK_TRY(load_pair(*out, cert, key, d));
  SSL_CTX_set_alpn_select_cb(*out, select_h2, NULL);
  if (client_ca) {
    if (SSL_CTX_load_verify_locations(*out, client_ca, NULL) != 1) {
      st = fail(d, "certificates of clients", client_ca);
      goto out;
    }
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(client_ca);
    if (!names) {
      st = fail(d, "certificates of clients", client_ca);
      goto out;
    }
    SSL_CTX_set_client_CA_list(*out, names);
    SSL_CTX_set_verify(*out, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    static const unsigned char context[] = "cuzk";
    (void)SSL_CTX_set_session_id_context(*out, context, sizeof context - 1);
  }
out:
  if (st != CUZK_OK) {
    SSL_CTX_free(*out);
    *out = NULL;
  }
  return st;
}

enum cuzk_status cuzk_tls_client(SSL_CTX **out, const char *ca, const char *cert, const char *key, struct cuzk_detail *d) {
  enum cuzk_status st;
  CUZK_TRY(make(out, TLS_client_method(), d));
  if (ca ? SSL_CTX_load_verify_locations(*out, ca, NULL) != 1 : SSL_CTX_set_default_verify_paths(*out) != 1) {
    st = fail(d, "certificates of authorities", ca ? ca : "of the system");
    goto out;
  }
  SSL_CTX_set_verify(*out, SSL_VERIFY_PEER, NULL);
  if (cert) CUZK_TRY(load_pair(*out, cert, key, d));
  if (SSL_CTX_set_alpn_protos(*out, alpn_h2, sizeof alpn_h2) != 0) st = cuzk_fail(d, CUZK_E_NOMEM, "no memory for TLS");
out:
  if (st != CUZK_OK) {
    SSL_CTX_free(*out);
    *out = NULL;
  }
  return st;
}

bool cuzk_tls_is_h2(const SSL *ssl) {
  const unsigned char *p;
  unsigned n;
  SSL_get0_alpn_selected(ssl, &p, &n);
  return n == 2 && memcmp(p, "h2", 2) == 0;
}
