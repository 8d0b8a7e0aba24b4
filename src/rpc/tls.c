/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/tls.h"

#include <openssl/err.h>
#include <string.h>

#include "base/fail.h"

static const unsigned char h2[] = {2, 'h', '2'};

static enum cuzk_status tls_fail(struct cuzk_detail *d, const char *file, const char *what) {
  char text[160];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return cuzk_fail(d, CUZK_E_FORMAT, "%s: %s: %s", file, what, text);
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *n_out, const unsigned char *in, unsigned n_in, void *arg) {
  (void)ssl;
  (void)arg;
  unsigned char *chosen = NULL;
  if (SSL_select_next_proto(&chosen, n_out, h2, sizeof h2, in, n_in) != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

static enum cuzk_status own_identity(SSL_CTX *ctx, const char *cert, const char *key, struct cuzk_detail *d) {
  if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) return tls_fail(d, cert, "expected a certificate chain in PEM");
  if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) return tls_fail(d, key, "expected a private key in PEM");
  if (SSL_CTX_check_private_key(ctx) != 1) return tls_fail(d, key, "expected the key of the certificate");
  return CUZK_OK;
}

enum cuzk_status rpc_tls_server(SSL_CTX **out, const char *cert, const char *key, const char *client_ca, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
  *out = NULL;
  if (!ctx) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for TLS");
  (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_alpn_select_cb(ctx, choose_h2, NULL);
  CUZK_TRY(own_identity(ctx, cert, key, d));
  if (client_ca && client_ca[0]) {
    if (SSL_CTX_load_verify_locations(ctx, client_ca, NULL) != 1) {
      st = tls_fail(d, client_ca, "expected certificates of client authorities in PEM");
      goto out;
    }
    SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(client_ca));
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    (void)SSL_CTX_set_session_id_context(ctx, h2 + 1, 2); /* without one, sessions with certificates cannot be resumed */
  }
  *out = ctx;
  return CUZK_OK;
out:
  SSL_CTX_free(ctx);
  return st;
}

enum cuzk_status rpc_tls_client(SSL_CTX **out, const char *ca, const char *cert, const char *key, struct cuzk_detail *d) {
  enum cuzk_status st = CUZK_OK;
  SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
  *out = NULL;
  if (!ctx) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for TLS");
  (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  (void)SSL_CTX_set_alpn_protos(ctx, h2, sizeof h2);
  if (ca && ca[0]) {
    if (SSL_CTX_load_verify_locations(ctx, ca, NULL) != 1) {
      st = tls_fail(d, ca, "expected certificates of authorities in PEM");
      goto out;
    }
  } else if (SSL_CTX_set_default_verify_paths(ctx) != 1) {
    st = tls_fail(d, "system certificates", "cannot be read");
    goto out;
  }
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
  if (cert && cert[0]) CUZK_TRY(own_identity(ctx, cert, key && key[0] ? key : cert, d));
  *out = ctx;
  return CUZK_OK;
out:
  SSL_CTX_free(ctx);
  return st;
}

bool rpc_tls_is_h2(const SSL *ssl) {
  const unsigned char *p = NULL;
  unsigned n = 0;
  SSL_get0_alpn_selected(ssl, &p, &n);
  return n == 2 && !memcmp(p, "h2", 2);
}
