/* TLS: HTTPS and WSS on a server, with OpenSSL 3. docs/https.md has a tour.
 *
 *     uvhttp_tls_t *tls;
 *     char message[256];
 *     uvhttp_tls_config_t config = {
 *         UVHTTP_TLS_CERTIFICATES({"site.pem", "site.key"}),
 *     };
 *     int err = uvhttp_tls_new(&tls, &config, message, sizeof(message));
 *     if (err == 0)
 *         err = uvhttp_server_listen_tls(server, "0.0.0.0", 443, tls);
 *
 * A uvhttp_tls_t holds certificates, keys and options, and serves any number of listeners, servers
 * and workers. What it holds can be replaced while they serve: new connections get the new set,
 * existing ones keep theirs.
 *
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446). No renegotiation, no compression; early data only where
 * `early_data` allows it. Sessions are resumed by tickets (RFC 5077), whose keys change every
 * `session_lifetime` seconds. A client that offers protocols (ALPN, RFC 7301) has to offer
 * http/1.1.
 *
 * In a build without OpenSSL (-DBUILD_WITH_HTTPS=OFF) uvhttp_tls_new returns UVHTTP_ENOTSUP. */
#ifndef UVHTTP_TLS_H
#define UVHTTP_TLS_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Certificates, keys and options, ready for use. */
typedef struct uvhttp_tls uvhttp_tls_t;

/* Versions, ciphers and curves after Mozilla's server side TLS guidelines, version 5.7. */
typedef enum uvhttp_tls_profile {
    UVHTTP_TLS_INTERMEDIATE = 0, /* TLS 1.2 and 1.3, for all clients since about 2014 */
    UVHTTP_TLS_MODERN,           /* TLS 1.3 only */
} uvhttp_tls_profile_t;

/* The least and the newest version that is spoken. */
typedef enum uvhttp_tls_version {
    UVHTTP_TLS_VERSION_DEFAULT = 0, /* that of the profile */
    UVHTTP_TLS_1_2,
    UVHTTP_TLS_1_3,
} uvhttp_tls_version_t;

/* Whether clients are asked for a certificate. One that is sent is always verified, and a
 * connection with one that is not valid ends in its handshake. */
typedef enum uvhttp_tls_client_auth {
    UVHTTP_TLS_CLIENT_AUTH_OFF = 0,
    UVHTTP_TLS_CLIENT_AUTH_OPTIONAL, /* asked for; a client without one is served, too */
    UVHTTP_TLS_CLIENT_AUTH_REQUIRED, /* a client without one is refused in the handshake */
} uvhttp_tls_client_auth_t;

/* Writes the pass phrase of a private key to `buffer` (`size` bytes). Returns its length, or a
 * negative number when there is none. Called while keys are loaded, on the thread that loads. */
typedef int (*uvhttp_tls_passphrase_cb)(char *buffer, size_t size, const char *key_file, void *arg);

/* A certificate with its key. It serves the names in its subjectAltName, those with a wildcard in
 * the leftmost label too. Several may serve one name, with keys of different types (ECDSA and RSA):
 * then the client's offer decides. */
typedef struct uvhttp_tls_certificate {
    const char *certificate_file;        /* PEM: the certificate, then its intermediates in order */
    const char *key_file;                /* PEM; NULL: `certificate_file` holds the key, too */
    const char *certificate;             /* the same as PEM text, instead of the files */
    const char *key;                     /* NULL: `certificate` holds the key, too */
    const char *passphrase_file;         /* of the key: the first line; NULL: none */
    uvhttp_tls_passphrase_cb passphrase; /* asked when there is no `passphrase_file`; NULL: none */
    void *passphrase_arg;
    const char *ocsp_file; /* an OCSP response (DER) that is sent to clients that ask; NULL: none */
    uvhttp_tls_client_auth_t client_auth; /* for its names, if it demands more than the config's */
} uvhttp_tls_certificate_t;

/* All but `certificates` may be zero. Everything is copied. */
typedef struct uvhttp_tls_config {
    /* The first certificate is the one for clients that name no server, or an unknown one. */
    const uvhttp_tls_certificate_t *certificates;
    size_t certificate_count; /* at least 1 */

    uvhttp_tls_profile_t profile;
    uvhttp_tls_version_t min_version;
    uvhttp_tls_version_t max_version;
    /* A name that OpenSSL does not know is refused, and so is a list for a version that is not
     * spoken. */
    const char *ciphers;       /* for TLS 1.2, as in ciphers(1); NULL: those of the profile */
    const char *cipher_suites; /* for TLS 1.3: "TLS_AES_128_GCM_SHA256:..."; NULL: OpenSSL's */
    /* of the key exchange, by preference; NULL: X25519:prime256v1:secp384r1 */
    const char *groups;

    bool no_tickets;         /* every handshake is a full one */
    size_t session_lifetime; /* seconds a session can be resumed, 1 to 604,800; 0: 7200 */
    /* A ticket of TLS 1.3 resumes a session once (RFC 8446 section 8.1); with each resumption the
     * client gets a new one. A ticket that comes again, and any ticket while `max_used_tickets`
     * used ones have not expired, gives a full handshake. All workers share what was used, and
     * loads do not change it; other processes and machines with the same `ticket_key_files` do not
     * know it, nor does this one after a restart: each accepts a ticket once. Tickets of TLS 1.2
     * can be used again until they expire: its clients do so. */
    bool one_time_tickets;
    size_t max_used_tickets; /* 1 to 16,777,216, at most 56 bytes each; 0: 131,072 */
    /* Bytes of early data (RFC 8446 section 2.3) that are accepted from a client that resumes a
     * session of TLS 1.3: it sends requests along with its first bytes, and has the response one
     * round trip earlier. 1 to 1,048,576; 0: none. Somebody who records these bytes can send them
     * again. So this implies `one_time_tickets`, and requests are served before the handshake is
     * over only when their method is safe (GET, HEAD, OPTIONS, TRACE), without body and upgrade:
     * others get 425 (RFC 8470), and the client sends them again on the same connection. See
     * uvhttp_request_is_early for handlers to which a GET is more. Where client certificates are
     * asked for, nothing is accepted early. With `ticket_key_files` nothing is for 20 seconds after
     * uvhttp_tls_new, since who had the keys before is not known; each machine that has them may
     * accept the same bytes once. */
    size_t early_data;
    /* Keys of tickets that several processes or machines share: files of 80 random bytes, as
     * nginx has them. The first one encrypts, all decrypt. NULL: random keys of our own. */
    const char *const *ticket_key_files;
    size_t ticket_key_file_count; /* at most 16 */

    /* Kernel TLS (Linux, module `tls`): after the handshake the kernel encrypts what is sent
     * with AES-GCM, and files go out by sendfile. Other connections, and all where the kernel
     * has no such module, are encrypted by OpenSSL. A client that asks for new keys (KeyUpdate)
     * is closed. */
    bool ktls;

    uvhttp_tls_client_auth_t client_auth;
    /* PEM: authorities of client certificates; required with client_auth */
    const char *client_ca_file;
    const char *client_crl_file; /* PEM: revocation lists, one for each of them; NULL: none */

    /* Secrets of all sessions are appended to this file, for debugging with Wireshark, which
     * undoes their protection. NULL: none; SSLKEYLOGFILE is not looked at. */
    const char *key_log_file;

    /* Files are looked at twice a second and loaded when one has changed. What cannot be loaded
     * changes nothing but the log, and is tried again within a minute. Starts a thread. */
    bool watch;
    /* Hears of loads, of failed ones, and once a day of certificates and revocation lists that
     * expire within 14 days.
     * Called on the watching thread, which is started for it, too, and within a load. NULL: no one
     * does. */
    uvhttp_log_cb log;
    void *log_arg;

    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must be thread-safe. */
} uvhttp_tls_config_t;

#ifndef __cplusplus
/* Sets `certificates` and `certificate_count` (C only). */
#define UVHTTP_TLS_CERTIFICATES(...) \
    UVHTTP_ARRAY_MEMBERS(certificates, certificate_count, uvhttp_tls_certificate_t, __VA_ARGS__)
#endif

/* Loads and checks everything that `config` names: each certificate parses, belongs to its key and
 * is strong enough to be used. Any thread; reads files, so not on the loop of a running server.
 * Returns 0 and the object in `*tls`, or with `*tls` NULL:
 *   UVHTTP_ECONFIG, with a NUL-terminated message of at most `size` bytes that names the field, the
 *   value and what is wrong (`message` may be NULL);
 *   UVHTTP_EINVAL: no config;
 *   UVHTTP_ENOTSUP: a build without OpenSSL;
 *   UVHTTP_ENOMEM;
 *   libuv's, of a thread that cannot be started for `watch` or `log`. */
UVHTTP_EXPORT int uvhttp_tls_new(uvhttp_tls_t **tls, const uvhttp_tls_config_t *config,
                                 char *message, size_t size);

/* Frees `tls` when the last server that listens with it is freed, or now. Any thread, but not in
 * `log`. NULL is fine. */
UVHTTP_EXPORT void uvhttp_tls_free(uvhttp_tls_t *tls);

/* Loads `config` as uvhttp_tls_new does, and serves by it from the next accepted
 * connection on. `watch`, `log`
 * and `allocator` stay as they were. Any thread,
 * but not in `log` or a pass phrase callback: loads wait for each other.
 * Returns 0, or with nothing changed:
 *   the errors of uvhttp_tls_new. */
UVHTTP_EXPORT int uvhttp_tls_replace(uvhttp_tls_t *tls, const uvhttp_tls_config_t *config,
                                     char *message, size_t size);

/* Loads all files again. Threads as uvhttp_tls_replace.
 * Returns 0, or with nothing changed:
 *   the errors of uvhttp_tls_new. */
UVHTTP_EXPORT int uvhttp_tls_reload(uvhttp_tls_t *tls, char *message, size_t size);

/* Seconds since 1970 at which the first of the certificates expires; 0 for NULL. Any thread. */
UVHTTP_EXPORT int64_t uvhttp_tls_expires(uvhttp_tls_t *tls);

/* Listens as uvhttp_server_listen does, and serves TLS there. The server keeps `tls` alive.
 * Returns 0, or:
 *   UVHTTP_EINVAL: `tls` is NULL;
 *   the errors of uvhttp_server_listen. */
UVHTTP_EXPORT int uvhttp_server_listen_tls(uvhttp_server_t *server, const char *address, int port,
                                           uvhttp_tls_t *tls);

/* The same for a socket that listens already, as uvhttp_server_listen_fd.
 * Returns 0, or:
 *   UVHTTP_EINVAL: `tls` is NULL;
 *   the errors of uvhttp_server_listen_fd. */
UVHTTP_EXPORT int uvhttp_server_listen_fd_tls(uvhttp_server_t *server, int fd, uvhttp_tls_t *tls);

/* What a handshake has agreed on. Strings are valid as long as the exchange. */
typedef struct uvhttp_tls_info {
    const char *version;     /* "TLSv1.3" */
    const char *cipher;      /* IANA's name: "TLS_AES_256_GCM_SHA384" */
    const char *server_name; /* that the client has named (SNI); "": none */
    const char *protocol;    /* of ALPN: "http/1.1"; "": none */
    bool resumed;
    /* Of the client's certificate, which was verified; "" and 0 when there is none. */
    const char *client_subject;     /* RFC 2253: "CN=ann,O=Example" */
    const char *client_issuer;      /* the same */
    const char *client_fingerprint; /* SHA-256 of the certificate, 64 digits */
    /* subjectAltName: "DNS:a.example, email:ann@a.example". A comma or a backslash in a name has a
     * backslash before it. */
    const char *client_names;
    int64_t client_expires; /* seconds since 1970 */
} uvhttp_tls_info_t;

/* The facts of the connection's handshake; NULL for a request that came in plain text. On the
 * loop's thread, or in a handler that blocks. */
UVHTTP_EXPORT const uvhttp_tls_info_t *uvhttp_request_tls(const uvhttp_request_t *request);

/* Whether the request is early (RFC 8470): some of it came as early data (`early_data`), and the
 * handshake was not over when its head was complete. Anybody who has seen such a request could have
 * sent it, once and to each machine that shares the keys of tickets. It does not change while the
 * request lasts. False for plain text. The field Early-Data of a proxy is not looked at: behind one
 * that sends it, a handler reads it as any other field. On the loop's thread, or in a handler that
 * blocks. */
UVHTTP_EXPORT bool uvhttp_request_is_early(const uvhttp_request_t *request);

/* A middleware: lets a request pass whose client has shown a certificate, and answers 403 to
 * others. For routes of a server with UVHTTP_TLS_CLIENT_AUTH_OPTIONAL. `arg` is not used. */
UVHTTP_EXPORT int uvhttp_require_client_certificate(uvhttp_request_t *request,
                                                    uvhttp_response_t *response, void *arg);

#ifdef __cplusplus
}
#endif

#endif
