/* TLS as a client: streams to other servers (stream.h), and WebSocket connections to wss://.
 *
 *     uvhttp_tls_client_t *client;
 *     char message[256];
 *     uvhttp_tls_client_config_t config = {.ca_file = "ca.pem"};
 *     int err = uvhttp_tls_client_new(&client, &config, message, sizeof(message));
 *     if (err == 0) err = uvhttp_stream_connect_tls(server, client, "db.example", 5433, 5000,
 *         on_connected, &events, NULL, &stream);
 *
 * A uvhttp_tls_client_t holds the authorities that are trusted, a certificate and options. It
 * serves any number of connections, servers and threads, and is never changed.
 *
 * The server's certificate is always verified: chain, dates, purpose, and that it is for the host
 * that was asked for (RFC 9525: only subjectAltName counts; a name is compared with DNS names, an
 * address with addresses). Revocation is not checked. TLS 1.2 and 1.3; sessions are not resumed.
 *
 * In a build without OpenSSL (-DBUILD_WITH_HTTPS=OFF) these functions return UVHTTP_ENOTSUP. */
#ifndef UVHTTP_TLS_CLIENT_H
#define UVHTTP_TLS_CLIENT_H

#include <uvhttp/stream.h>
#include <uvhttp/tls.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Authorities, a certificate and options of a client, ready for use. */
typedef struct uvhttp_tls_client uvhttp_tls_client_t;

/* All of it may be zero. Nothing is kept of it. */
typedef struct uvhttp_tls_client_config {
    /* PEM: the certificates that are trusted, and no others: authorities, intermediates, or the
     * server's own. NULL: the system's authorities, or those of the environment variables
     * SSL_CERT_FILE and SSL_CERT_DIR. */
    const char *ca_file;

    /* PEM, for servers that demand one, with intermediates; NULL: none */
    const char *certificate_file;
    const char *key_file;        /* PEM; NULL: `certificate_file` holds the key, too */
    const char *passphrase_file; /* of the key: the first line; NULL: none */

    /* Instead of the host that is connected to: the name that is sent (SNI), and that the
     * certificate has to be for. For a server that is reached by another name or an address. NULL:
     * the host. */
    const char *server_name;
    const char *alpn; /* a protocol that is offered (RFC 7301), 1 to 255 bytes; NULL: none */

    uvhttp_tls_version_t min_version; /* UVHTTP_TLS_VERSION_DEFAULT: TLS 1.2 */
    uvhttp_tls_version_t max_version; /* UVHTTP_TLS_VERSION_DEFAULT: TLS 1.3 */
    const char *ciphers;              /* for TLS 1.2, as in uvhttp_tls_config_t; NULL: the same */
    const char *cipher_suites;        /* for TLS 1.3 */
    const char *groups;               /* of the key exchange */

    /* For tests only: no certificate is verified, so that anybody can be the server. */
    bool insecure;

    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must be thread-safe. */
} uvhttp_tls_client_config_t;

/* Loads and checks everything that `config` names. Any thread; reads files, so not on the loop of a
 * running server.
 * Returns 0 and the object in `*client`, or with `*client` NULL:
 *   UVHTTP_ECONFIG, with a NUL-terminated message of at most `size` bytes that names the field, the
 *   value and what is wrong (`message` may be NULL);
 *   UVHTTP_EINVAL: no config;
 *   UVHTTP_ENOTSUP: a build without OpenSSL;
 *   UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_tls_client_new(uvhttp_tls_client_t **client,
                                        const uvhttp_tls_client_config_t *config, char *message,
                                        size_t size);

/* Frees `client` when the last connection with it has ended, or now. Any thread. NULL is fine. */
UVHTTP_EXPORT void uvhttp_tls_client_free(uvhttp_tls_client_t *client);

/* Connects as uvhttp_stream_connect does, and `connected` runs after a TLS handshake: `timeout_ms`
 * is for both, and with 0 the server's handshake_timeout limits each handshake. `client` NULL: one
 * with the system's authorities, which the server makes when it is first needed; that may take some
 * milliseconds of the loop where they are in one file. The stream keeps `client` alive.
 *
 * When the handshake fails, or the certificate is not valid, the next address is tried. If that was
 * the last one, `connected` runs with UVHTTP_ETLS, uvhttp_stream_tls_error says why, and so does
 * the log.
 *
 * The end of the server's side counts only with close_notify (RFC 8446 section 6.1): then `data`
 * runs with size 0. A connection that ends without it has failed: `closed` runs, and `data` does
 * not.
 *
 * With TLS 1.3 a server verifies the client's certificate after the client's handshake is over, so
 * one that is refused ends the stream after `connected` (uvhttp_stream_tls_error tells).
 * Returns 0, or with `*stream` NULL and no callback:
 *   UVHTTP_EINVAL: `host` is empty;
 *   UVHTTP_ENOTSUP: a build without OpenSSL;
 *   the errors of uvhttp_stream_connect. */
UVHTTP_EXPORT int uvhttp_stream_connect_tls(uvhttp_server_t *server, uvhttp_tls_client_t *client,
                                            const char *host, int port, uint32_t timeout_ms,
                                            uvhttp_stream_connected_cb connected,
                                            const uvhttp_stream_events_t *events, void *arg,
                                            uvhttp_stream_t **stream);

/* Why TLS has failed, in words ("the peer's certificate has expired"): in `connected` with
 * UVHTTP_ETLS, and in `closed`. On the stream's thread. Returns a static text, or NULL: it has
 * not. */
UVHTTP_EXPORT const char *uvhttp_stream_tls_error(const uvhttp_stream_t *stream);

#ifdef __cplusplus
}
#endif

#endif
