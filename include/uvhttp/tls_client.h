/* TLS client: streams to other servers (stream.h), and WebSocket connections to wss://.
 *
 *     uvhttp_tls_client_t *client;
 *     uvhttp_error_t error;
 *     uvhttp_tls_client_options_t options = {.ca_file = "ca.pem"};
 *     int err = uvhttp_tls_client_new(&client, &options, &error);
 *     if (err == 0)
 *         err = uvhttp_stream_connect_tls(server, client, "db.example", 5433, 5000,
 *                                         on_connected, &events, NULL, &stream);
 *
 * A uvhttp_tls_client_t holds the trusted authorities, a certificate and options. It is immutable
 * and can be shared by any number of connections, servers and threads.
 *
 * The server's certificate is always verified: chain, dates, purpose, and the requested host (RFC
 * 9525: only subjectAltName; a name is compared with DNS names, an address with addresses).
 * Revocation is not checked. TLS 1.2 and 1.3; sessions are not resumed.
 *
 * In a build without OpenSSL (-DBUILD_WITH_HTTPS=OFF) these functions return UVHTTP_ENOTSUP. */
#ifndef UVHTTP_TLS_CLIENT_H
#define UVHTTP_TLS_CLIENT_H

#include <uvhttp/error.h>
#include <uvhttp/stream.h>
#include <uvhttp/tls.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loaded authorities, certificate and options of a client. */
typedef struct uvhttp_tls_client uvhttp_tls_client_t;

/* All fields may be zero. Everything is copied. */
typedef struct uvhttp_tls_client_options {
    /* PEM: the only trusted certificates: authorities, intermediates, or the server's own. NULL:
     * the system's authorities, or those of the environment variables SSL_CERT_FILE and
     * SSL_CERT_DIR. */
    const char *ca_file;

    /* PEM, with intermediates, for servers that require a client certificate; NULL: none */
    const char *certificate_file;
    const char *key_file;        /* PEM; NULL: `certificate_file` contains the key */
    const char *passphrase_file; /* of the key: the first line; NULL: none */

    /* Server name to send (SNI) and to verify, instead of the host, for a server that is reached
     * by another name or an address. NULL: the host. */
    const char *server_name;
    const char *alpn; /* protocol to offer (RFC 7301), 1 to 255 bytes; NULL: none */

    uvhttp_tls_version_t min_version; /* UVHTTP_TLS_VERSION_DEFAULT: TLS 1.2 */
    uvhttp_tls_version_t max_version; /* UVHTTP_TLS_VERSION_DEFAULT: TLS 1.3 */
    const char *ciphers;              /* for TLS 1.2, as in uvhttp_tls_options_t; NULL: the same */
    const char *cipher_suites;        /* for TLS 1.3 */
    const char *groups;               /* key exchange groups */

    /* For tests only: no certificate verification, so that any peer can impersonate the server. */
    bool insecure;

    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must be thread-safe. */
} uvhttp_tls_client_options_t;

/* Loads and checks everything in `options`. Any thread; reads files, so not on the loop of a
 * running server.
 * Returns 0 with the object in `*client`, or with `*client` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options
 *   UVHTTP_ENOTSUP  a build without OpenSSL
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_tls_client_new(uvhttp_tls_client_t **client,
                                        const uvhttp_tls_client_options_t *options,
                                        uvhttp_error_t *error);

/* Frees `client` when its last connection has ended, or now. Any thread. NULL does nothing. */
UVHTTP_EXPORT void uvhttp_tls_client_free(uvhttp_tls_client_t *client);

/* Connects like uvhttp_stream_connect, and runs `connected` after the TLS handshake. `timeout_ms`
 * covers both; with 0 the server's handshake_timeout limits each handshake. `client` NULL uses the
 * system's authorities, which the server loads at the first use; that may block the loop for some
 * milliseconds if they are in one file. The stream holds a reference to `client`.
 *
 * If the handshake fails or the certificate is invalid, the next address is tried. After the last
 * one `connected` runs with UVHTTP_ETLS; uvhttp_stream_tls_error and the log have the reason.
 *
 * The peer's end of data needs close_notify (RFC 8446 section 6.1): then `data` runs with size 0.
 * Without it the connection has failed: `closed` runs without `data`.
 *
 * With TLS 1.3 a server verifies the client's certificate after the client's handshake, so a
 * rejected one ends the stream after `connected` (see uvhttp_stream_tls_error).
 * Returns 0, the errors of uvhttp_stream_connect, or with `*stream` NULL and without any callback
 *   UVHTTP_EINVAL   `host` is empty
 *   UVHTTP_ENOTSUP  a build without OpenSSL */
UVHTTP_EXPORT int uvhttp_stream_connect_tls(uvhttp_server_t *server, uvhttp_tls_client_t *client,
                                            const char *host, int port, uint32_t timeout_ms,
                                            uvhttp_stream_connected_cb connected,
                                            const uvhttp_stream_events_t *events, void *arg,
                                            uvhttp_stream_t **stream);

/* The reason of a TLS failure ("the peer's certificate has expired"), in `connected` with
 * UVHTTP_ETLS, and in `closed`. On the stream's thread. Returns a static string, or NULL without
 * a failure. */
UVHTTP_EXPORT const char *uvhttp_stream_tls_error(const uvhttp_stream_t *stream);

#ifdef __cplusplus
}
#endif

#endif
