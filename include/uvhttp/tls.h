/* TLS: HTTPS and WSS on a server, with OpenSSL 3. See docs/https.md.
 *
 *     uvhttp_tls_t *tls;
 *     uvhttp_error_t error;
 *     uvhttp_tls_options_t options = {
 *         UVHTTP_TLS_CERTIFICATES({.certificate_file = "site.pem", .key_file = "site.key"}),
 *     };
 *     int err = uvhttp_tls_new(&tls, &options, &error);
 *     if (err == 0)
 *         err = uvhttp_server_listen_tls(server, "0.0.0.0", 443, tls);
 *
 * A uvhttp_tls_t holds certificates, keys and options for any number of listeners, servers and
 * workers. Its contents can be replaced while the server runs: new connections use the new ones,
 * existing connections are unchanged.
 *
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446). No renegotiation, no compression; early data only with
 * `early_data`. Sessions are resumed by tickets (RFC 5077), whose keys change every
 * `session_lifetime_ms`. A client that offers ALPN protocols (RFC 7301) must offer http/1.1 or,
 * unless config->http2 is 0, h2.
 *
 * In a build without OpenSSL (-DBUILD_WITH_HTTPS=OFF) uvhttp_tls_new returns UVHTTP_ENOTSUP. */
#ifndef UVHTTP_TLS_H
#define UVHTTP_TLS_H

#include <uvhttp/error.h>
#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loaded certificates, keys and options. */
typedef struct uvhttp_tls uvhttp_tls_t;

/* Versions, ciphers and curves of Mozilla's server side TLS guidelines, version 5.7. */
typedef enum uvhttp_tls_profile {
    UVHTTP_TLS_INTERMEDIATE = 0, /* TLS 1.2 and 1.3, for all clients since about 2014 */
    UVHTTP_TLS_MODERN,           /* TLS 1.3 only */
} uvhttp_tls_profile_t;

/* Minimum and maximum protocol version. */
typedef enum uvhttp_tls_version {
    UVHTTP_TLS_VERSION_DEFAULT = 0, /* that of the profile */
    UVHTTP_TLS_1_2,
    UVHTTP_TLS_1_3,
} uvhttp_tls_version_t;

/* Request of client certificates. A certificate that is sent is always verified; an invalid one
 * fails the handshake. */
typedef enum uvhttp_tls_client_auth {
    UVHTTP_TLS_CLIENT_AUTH_OFF = 0,
    UVHTTP_TLS_CLIENT_AUTH_OPTIONAL, /* requested; clients without one are accepted */
    UVHTTP_TLS_CLIENT_AUTH_REQUIRED, /* a client without one fails the handshake */
} uvhttp_tls_client_auth_t;

/* Writes the pass phrase of a private key to `buffer` (`size` bytes). Returns its length, or a
 * negative number if there is none. Called while keys are loaded, on the loading thread. */
typedef int (*uvhttp_tls_passphrase_cb)(char *buffer, size_t size, const char *key_file, void *arg);

/* A certificate with its key, used for the names in its subjectAltName, including wildcards in
 * the leftmost label. Several may have the same name with keys of different types (ECDSA and
 * RSA): the client's offer then decides. */
typedef struct uvhttp_tls_certificate {
    const char *certificate_file;        /* PEM: the certificate, then its intermediates in order */
    const char *key_file;                /* PEM; NULL: `certificate_file` contains the key */
    const char *certificate;             /* the same as PEM text, instead of the files */
    const char *key;                     /* NULL: `certificate` contains the key */
    const char *passphrase_file;         /* of the key: the first line; NULL: none */
    uvhttp_tls_passphrase_cb passphrase; /* called without `passphrase_file`; NULL: none */
    void *passphrase_arg;
    const char *ocsp_file; /* OCSP response (DER) for clients that request it; NULL: none */
    uvhttp_tls_client_auth_t client_auth; /* for its names, if stricter than those of the options */
} uvhttp_tls_certificate_t;

/* All fields except `certificates` may be zero. Everything is copied. */
typedef struct uvhttp_tls_options {
    /* The first certificate is the default for clients that send no server name or an unknown
     * one. */
    const uvhttp_tls_certificate_t *certificates;
    size_t certificate_count; /* at least 1 */

    uvhttp_tls_profile_t profile;
    uvhttp_tls_version_t min_version;
    uvhttp_tls_version_t max_version;
    /* A name unknown to OpenSSL is rejected, and so is a list for a version that is not enabled. */
    const char *ciphers;       /* for TLS 1.2, as in ciphers(1); NULL: those of the profile */
    const char *cipher_suites; /* for TLS 1.3: "TLS_AES_128_GCM_SHA256:..."; NULL: OpenSSL's */
    /* Key exchange groups in order of preference; NULL: X25519:prime256v1:secp384r1. */
    const char *groups;

    bool no_tickets; /* no resumption: every handshake is a full one */
    /* Milliseconds for which a session can be resumed, 1,000 to 604,800,000, rounded up to seconds;
     * 0: 7,200,000. */
    uint32_t session_lifetime_ms;
    /* A TLS 1.3 ticket resumes a session once (RFC 8446 section 8.1); each resumption issues a
     * new ticket. A reused ticket, and any ticket while `max_used_tickets` used ones have not
     * expired, results in a full handshake. All workers share the list of used tickets, and
     * reloads keep it. Other processes and machines with the same `ticket_key_files`, or this
     * one after a restart, do not know it: each accepts a ticket once. TLS 1.2 tickets can be
     * reused until they expire, because clients do so. */
    bool one_time_tickets;
    size_t max_used_tickets; /* 1 to 16,777,216, at most 56 bytes each; 0: 131,072 */
    /* Bytes of early data (RFC 8446 section 2.3) accepted from a client that resumes a TLS 1.3
     * session: it sends requests with its first bytes and gets the response one round trip earlier.
     * 1 to 1,048,576; 0: none.
     *
     * An attacker who records these bytes can replay them. So this implies `one_time_tickets`.
     * Before the handshake is complete only requests with a safe method (GET, HEAD, OPTIONS,
     * TRACE), without body and upgrade, are handled. Others get 425 (RFC 8470), and the client
     * repeats them on the same connection. See uvhttp_request_is_early for handlers where GET is
     * not safe.
     *
     * No early data is accepted where client certificates are requested; nor, with
     * `ticket_key_files`, for 20 seconds after uvhttp_tls_new, because tickets used before are
     * unknown. Each machine with these keys may accept the same bytes once. */
    size_t early_data;
    /* Ticket keys shared by several processes or machines: files of 80 random bytes, as in
     * nginx. The first one encrypts, all decrypt. NULL: random keys of this process. */
    const char *const *ticket_key_files;
    size_t ticket_key_file_count; /* at most 16 */

    /* Kernel TLS (Linux, module `tls`): after the handshake the kernel encrypts sent data with
     * AES-GCM, and files are sent with sendfile. OpenSSL encrypts other connections, and all of
     * them on kernels without it. A connection whose client requests new keys (KeyUpdate) is
     * closed. */
    bool ktls;

    uvhttp_tls_client_auth_t client_auth;
    /* PEM: authorities of client certificates; required with client_auth */
    const char *client_ca_file;
    const char *client_crl_file; /* PEM: revocation lists, one per authority; NULL: none */

    /* Secrets of all sessions are appended to this file, to debug with Wireshark; anyone who has
     * it can decrypt the traffic. NULL: none; SSLKEYLOGFILE is ignored. */
    const char *key_log_file;

    /* Checks the files twice per second and loads changed ones. A failed load is logged, changes
     * nothing and is retried within a minute. Starts a thread. */
    bool watch;
    /* Log callback for what the watcher loads or cannot load, and once a day certificates and
     * revocation lists that expire within 14 days; a load by call reports by its result. Called on
     * the watcher thread, which is also started for it; on the loading thread for an OCSP response
     * that does not match its certificate. NULL: none. */
    uvhttp_log_cb log;
    void *log_arg;

    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must be thread-safe. */
} uvhttp_tls_options_t;

#ifndef __cplusplus
/* Sets `certificates` and `certificate_count` (C only). */
#define UVHTTP_TLS_CERTIFICATES(...) \
    UVHTTP_ARRAY_MEMBERS(certificates, certificate_count, uvhttp_tls_certificate_t, __VA_ARGS__)
#endif

/* Loads and checks everything in `options`: each certificate must parse, match its key and be
 * strong enough. Any thread; reads files, so not on the loop of a running server. Free it with
 * uvhttp_tls_free.
 * Returns 0 with the object in `*tls`, or with `*tls` NULL
 *   UVHTTP_ECONFIG  invalid; see `error`
 *   UVHTTP_EINVAL   no options
 *   UVHTTP_ENOTSUP  a build without OpenSSL
 *   UVHTTP_ENOMEM   out of memory
 *   libuv           the thread for `watch` or `log` cannot be started */
UVHTTP_EXPORT int uvhttp_tls_new(uvhttp_tls_t **tls, const uvhttp_tls_options_t *options,
                                 uvhttp_error_t *error);

/* Creates a self-signed certificate and its key for development, as one PEM text for
 * uvhttp_tls_certificate_t.certificate: for localhost, 127.0.0.1, ::1 and `names`, host names
 * ("*.dev.test" is one) and IP addresses up to a NULL; NULL: no others. The key is an ECDSA key on
 * P-256; the certificate is valid for 397 days. Clients warn unless they are told to trust it, so
 * keep it for the next start:
 *
 *     char *pem;
 *     int err = uvhttp_file_load("dev.pem", &pem, NULL);
 *     if (err == UV_ENOENT && (err = uvhttp_tls_make_self_signed(&pem, NULL, NULL)) == 0)
 *         err = uvhttp_file_save("dev.pem", pem, strlen(pem), 0600);
 *
 * Any thread. Returns 0 with the text in `*pem`, to be freed by uvhttp_file_release, or with `*pem`
 * NULL
 *   UVHTTP_ECONFIG  an invalid name; see `error`
 *   UVHTTP_EINVAL   `pem` is NULL
 *   UVHTTP_ENOTSUP  a build without OpenSSL
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_tls_make_self_signed(char **pem, const char *const *names,
                                              uvhttp_error_t *error);

/* Frees `tls` when the last server that listens with it is freed, or now. Any thread, but not in
 * `log`. NULL does nothing. */
UVHTTP_EXPORT void uvhttp_tls_free(uvhttp_tls_t *tls);

/* Loads `options` as uvhttp_tls_new does, and uses it from the next accepted connection on.
 * `watch`, `log` and `allocator` are unchanged. Any thread, but not in `log` or a pass phrase
 * callback, because loads are serialized. It reads files: call it from a blocking handler or a
 * thread of your own, not on the loop of a running server. Returns 0, or with nothing changed the
 * errors of uvhttp_tls_new. */
UVHTTP_EXPORT int uvhttp_tls_replace(uvhttp_tls_t *tls, const uvhttp_tls_options_t *options,
                                     uvhttp_error_t *error);

/* Reloads all files. Threads as for uvhttp_tls_replace. Returns 0, or with nothing changed the
 * errors of uvhttp_tls_new. */
UVHTTP_EXPORT int uvhttp_tls_reload(uvhttp_tls_t *tls, uvhttp_error_t *error);

/* The random keys of session tickets as bytes, and back: for a process that replaces this one, so
 * that its clients resume their sessions. They are secret. Keys of ticket_key_files are not
 * included. Any thread.
 * Returns 0, or
 *   UVHTTP_EINVAL   NULL, or no such bytes
 *   UVHTTP_ENOTSUP  the library was built without TLS */
enum { UVHTTP_TLS_TICKET_STATE_SIZE = 184 };
UVHTTP_EXPORT int uvhttp_tls_save_tickets(uvhttp_tls_t *tls,
                                          unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE]);
UVHTTP_EXPORT int
uvhttp_tls_restore_tickets(uvhttp_tls_t *tls,
                           const unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE]);

/* Expiry of the first certificate to expire, in seconds since 1970; 0 for NULL. Any thread. */
UVHTTP_EXPORT int64_t uvhttp_tls_expires(uvhttp_tls_t *tls);

/* Listens as uvhttp_server_listen does, with TLS. The server holds a reference to `tls`.
 * Returns 0, the errors of uvhttp_server_listen, or
 *   UVHTTP_EINVAL  `tls` is NULL */
UVHTTP_EXPORT int uvhttp_server_listen_tls(uvhttp_server_t *server, const char *address, int port,
                                           uvhttp_tls_t *tls);

/* The same for a listening socket, as uvhttp_server_listen_fd.
 * Returns 0, the errors of uvhttp_server_listen_fd, or
 *   UVHTTP_EINVAL  `tls` is NULL */
UVHTTP_EXPORT int uvhttp_server_listen_fd_tls(uvhttp_server_t *server, int fd, uvhttp_tls_t *tls);

/* Result of a handshake. Strings are valid as long as the exchange. */
typedef struct uvhttp_tls_info {
    const char *version;     /* "TLSv1.3" */
    const char *cipher;      /* IANA name: "TLS_AES_256_GCM_SHA384" */
    const char *server_name; /* sent by the client (SNI); "": none */
    const char *protocol;    /* of ALPN: "h2", "http/1.1"; "": none */
    bool resumed;
    /* Of the verified client certificate; "" and 0 without one. */
    const char *client_subject;     /* RFC 2253: "CN=ann,O=Example" */
    const char *client_issuer;      /* the same */
    const char *client_fingerprint; /* SHA-256 of the certificate, 64 hexadecimal digits */
    /* subjectAltName: "DNS:a.example, email:ann@a.example". A comma or backslash in a name is
     * escaped with a backslash. */
    const char *client_names;
    int64_t client_expires; /* seconds since 1970 */
} uvhttp_tls_info_t;

/* The handshake result of the connection; NULL for plain text. Loop thread, or a blocking
 * handler. */
UVHTTP_EXPORT const uvhttp_tls_info_t *uvhttp_request_tls(const uvhttp_request_t *request);

/* True if the request is early (RFC 8470): a part of it was received as early data
 * (`early_data`), and the handshake was not complete when its head was. An attacker may have
 * replayed such a request, once to each machine that shares the ticket keys. Constant during the
 * request. False for plain text. The field Early-Data of a proxy is ignored; a handler after
 * such a proxy reads it as any other field. Loop thread, or a blocking handler. */
UVHTTP_EXPORT bool uvhttp_request_is_early(const uvhttp_request_t *request);

/* A middleware that rejects requests without a client certificate with 403. For routes of a
 * server with UVHTTP_TLS_CLIENT_AUTH_OPTIONAL; requests in plain text are rejected as well. `arg`
 * is not used. */
UVHTTP_EXPORT int uvhttp_require_client_certificate(uvhttp_request_t *request,
                                                    uvhttp_response_t *response, void *arg);

#ifdef __cplusplus
}
#endif

#endif
