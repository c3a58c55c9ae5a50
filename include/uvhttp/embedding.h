/* For applications that embed uvhttp: Unix sockets and descriptors, proxies, application data of
 * servers and connections. See docs/embedding.md.
 *
 * All functions: on the loop thread, or on one thread before that loop runs. */
#ifndef UVHTTP_EMBEDDING_H
#define UVHTTP_EMBEDDING_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Listening ----
 * As for uvhttp_server_listen: may be called repeatedly and mixed, freezes routes even on
 * failure, and all may return UVHTTP_ECONFIG, UVHTTP_ESTOPPED, UVHTTP_ENOMEM and errors of
 * libuv. */

/* Listens on a Unix socket, whose path has at most 107 bytes (Linux: a leading '@' means an
 * abstract name, without a file). `mode` is the permissions of the file, 0600 to 0777, which
 * control who may connect; 0: by the umask. A stale socket file, on which no process accepts, is
 * replaced. The file is removed when listening ends, unless its name refers to another file or the
 * process may not write to the directory any more; a relative path is resolved against the working
 * directory at both times. The client address of such connections is "unix:".
 *
 * The permissions apply from the first moment: no process can connect before they are set. All
 * workers serve the connections of the one socket. The directory must not be writable for users who
 * must not replace the socket.
 * Returns 0, or, with a line in the log
 *   UVHTTP_EINVAL    empty path, or a mode above 0777
 *   UV_ENAMETOOLONG  path too long
 *   UV_EADDRINUSE    another process accepts there
 *   UV_EEXIST        a file that is not a socket; it is kept
 *   libuv            UV_EACCES, UV_ENOENT, ... */
UVHTTP_EXPORT int uvhttp_server_listen_unix(uvhttp_server_t *server, const char *path,
                                            unsigned mode);

/* The same with an owner and a group of the file, numbers as for chown(2); -1: those of the
 * process. They are set before any process can connect, and have no effect on an abstract name.
 * Only root may set another owner; others may set a group that they belong to. Returns as above, or
 *   UVHTTP_EINVAL  an owner or a group above 4294967294
 *   UV_EPERM       no permission to set the owner or group */
UVHTTP_EXPORT int uvhttp_server_listen_unix_owned(uvhttp_server_t *server, const char *path,
                                                  unsigned mode, int64_t owner, int64_t group);

/* Accepts on a listening stream socket (TCP or Unix). On success the server owns it and closes it
 * when it stops; the file of a Unix socket is kept. On failure the caller keeps it. It becomes
 * non-blocking, for all processes that share it, and close-on-exec. After an error it may have
 * become so, but not after UVHTTP_EINVAL, UV_EBADF and UV_ENOTSOCK.
 * Returns 0, or
 *   UVHTTP_EINVAL  not a listening stream socket
 *   UV_EBADF       not open
 *   UV_ENOTSOCK    not a socket
 *   UV_EEXIST      the loop polls it already */
UVHTTP_EXPORT int uvhttp_server_listen_fd(uvhttp_server_t *server, int fd);

/* The same for all sockets of systemd socket activation (LISTEN_PID and LISTEN_FDS, see
 * sd_listen_fds(3)). `*count` is their number, 0 if there are none or they are for another
 * process. After an error the server owns the first `*count`, the caller the rest. Once per
 * process; the environment is not changed. */
UVHTTP_EXPORT int uvhttp_server_listen_inherited(uvhttp_server_t *server, size_t *count);

/* Ends listening where uvhttp_server_listen or uvhttp_server_listen_tls listens with that address
 * ("localhost": both), and on this port. Connections stay open, and those in the system's queue are
 * served. Other workers end it in an iteration of their loops: until then the port is in use. On
 * the first worker's thread of a running server.
 * Returns 0, or
 *   UVHTTP_EINVAL   it does not listen there
 *   UVHTTP_ESTOPPED the server is stopping
 *   UVHTTP_ENOMEM   out of memory; it may still listen there, with some of its workers */
UVHTTP_EXPORT int uvhttp_server_unlisten(uvhttp_server_t *server, const char *address, int port);

/* The same for a Unix socket, whose file is removed. */
UVHTTP_EXPORT int uvhttp_server_unlisten_unix(uvhttp_server_t *server, const char *path);

/* The same for a socket of uvhttp_server_listen_fd, which is closed. */
UVHTTP_EXPORT int uvhttp_server_unlisten_fd(uvhttp_server_t *server, int fd);

/* A listening socket of a server. `name`: the address or path that it was opened with, "" for a
 * descriptor. `port` 0: it has none. */
typedef struct uvhttp_listening {
    const char *name;
    int port;
    int fd; /* of the server; a copy of it (dup, another process) accepts connections, too */
} uvhttp_listening_t;

/* Calls `each` for every listening socket: several for an address that several workers share. To
 * pass them to a process that replaces this one. On the first worker's thread. Returns 0, or
 *   UVHTTP_EINVAL  no function */
typedef void (*uvhttp_listening_cb)(const uvhttp_listening_t *listening, void *arg);
UVHTTP_EXPORT int uvhttp_server_each_listening(const uvhttp_server_t *server,
                                               uvhttp_listening_cb each, void *arg);

/* The files of Unix sockets that the server listens on stay when it stops: another process accepts
 * on them. On the first worker's thread. */
UVHTTP_EXPORT void uvhttp_server_keep_socket_files(uvhttp_server_t *server);

/* Serves a connected stream socket (TCP, Unix, one end of a socketpair) like an accepted one;
 * max_connections applies. On success the server owns and closes it; on failure the caller keeps
 * it. A server may use such connections only.
 * Returns 0, or
 *   UVHTTP_EINVAL  not a connected stream socket
 *   UV_EBADF       not open
 *   UV_ENOTSOCK    not a socket
 *   UV_EEXIST      the loop polls it already, for example as one of its connections */
UVHTTP_EXPORT int uvhttp_server_adopt(uvhttp_server_t *server, int fd);

/* ---- Reverse proxies ---- */

/* Request fields that a proxy sets. One kind only: a proxy that sets one kind passes the other
 * on as the client sent it. */
typedef enum uvhttp_forwarding {
    UVHTTP_FORWARDING_X = 0,   /* X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host */
    UVHTTP_FORWARDING_STANDARD /* Forwarded (RFC 7239) */
} uvhttp_forwarding_t;

/* Sets the trusted proxies: "10.0.0.0/8", "2001:db8::1", or "unix" for all clients of Unix sockets.
 * uvhttp_request_client_address, _scheme and _host then describe the client before them. Addresses
 * are read from the end of the list, where proxies append, while they are trusted proxies
 * themselves; a malformed or unknown one ends the search at the last trusted proxy. Proxies must
 * append to these fields or replace them: otherwise clients can forge them. Copied; a second call
 * replaces the first, `count` 0 trusts none. Before the server listens.
 * Returns 0, or
 *   UVHTTP_EINVAL   a malformed prefix, with a line in the log
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_server_trust_proxies(uvhttp_server_t *server, const char *const *prefixes,
                                              size_t count, uvhttp_forwarding_t fields);

/* What happens to connections that are not from a source of the PROXY protocol. */
typedef enum uvhttp_proxy_others {
    UVHTTP_PROXY_OTHERS_DIRECT = 0, /* clients of their own: a header gets 400 */
    UVHTTP_PROXY_OTHERS_IGNORE,     /* the same, but a header is skipped, and not believed */
    UVHTTP_PROXY_OTHERS_REFUSE      /* they are closed */
} uvhttp_proxy_others_t;

/* Sets the sources of the PROXY protocol, versions 1 and 2: connections of these proxies begin with
 * a header that names the client, before a TLS handshake, if any. It replaces the peer's address,
 * also for trusted proxies, logs and rules. Without a valid header within header_timeout they are
 * closed, with a line in the log. A header for a connection of the proxy itself (LOCAL, a health
 * check) and one with unknown addresses leave the address as it is. Sources are written as for
 * uvhttp_server_trust_proxies. Copied; a second call replaces the first, `count` 0: no source. It
 * is for all listeners. Before the server listens, or in a reload, for new connections.
 * Source: https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt
 * Returns 0, or
 *   UVHTTP_EINVAL   a malformed source, with a line in the log, or no such value of `others`
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_server_accept_proxy_protocol(uvhttp_server_t *server,
                                                      const char *const *sources, size_t count,
                                                      uvhttp_proxy_others_t others);

/* A value (TLV) of the header of the connection's proxy, version 2, by its type: 1 for ALPN, 2 for
 * the host of the client's TLS connection, 5 for an id, 0x20 for its TLS as a list of its own, ...
 * False when there is none. `*value` lives as long as the connection; NULL: it is not needed. */
UVHTTP_EXPORT bool uvhttp_request_proxy_value(uvhttp_request_t *request, unsigned type,
                                              uvhttp_slice_t *value);

/* The address of the connection's peer: uvhttp_request_client_address without proxies, but with a
 * header of the PROXY protocol. */
UVHTTP_EXPORT const char *uvhttp_request_peer_address(uvhttp_request_t *request);

/* "http", or "https" if the connection has TLS or a trusted proxy says so: the element of
 * X-Forwarded-Proto at the same position from the end as the client's in X-Forwarded-For (or the
 * first, in a shorter list). Static. */
UVHTTP_EXPORT const char *uvhttp_request_scheme(uvhttp_request_t *request);

/* "host[:port]" as the client requested it: from a trusted proxy, found as above, otherwise the
 * request's own (RFC 9110 section 7.2). NUL-terminated and well-formed (RFC 3986 section 3.2),
 * or "": absent in HTTP/1.0, or out of memory. Routing by host uses the request's own. */
UVHTTP_EXPORT const char *uvhttp_request_host(uvhttp_request_t *request);

/* ---- Application data ---- */

/* A pointer stored with the server, for handlers (see uvhttp_request_server); initially NULL. To
 * free it with the server: uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_server_set_data(uvhttp_server_t *server, void *data);
UVHTTP_EXPORT void *uvhttp_server_data(const uvhttp_server_t *server);

/* A pointer stored with the connection, for its later requests. `release` (may be NULL) is called
 * with it once: when the connection and its last exchange have ended, or when it is replaced.
 * Returns 0, or with nothing changed and `data` still the caller's
 *   UVHTTP_ENOMEM  out of memory
 *   UVHTTP_EINVAL  in a blocking handler, because the connection belongs to the loop */
UVHTTP_EXPORT int uvhttp_request_set_connection_data(uvhttp_request_t *request, void *data,
                                                     void (*release)(void *data));
UVHTTP_EXPORT void *uvhttp_request_connection_data(uvhttp_request_t *request);

/* A number unique among all connections of this server, from 1, assigned at the first call; 0
 * when out of memory. */
UVHTTP_EXPORT uint64_t uvhttp_request_connection_id(uvhttp_request_t *request);

/* The allocator of the server (config->allocator), or the built-in one; also for NULL. Any
 * thread. */
UVHTTP_EXPORT const uvhttp_allocator_t *uvhttp_server_allocator(const uvhttp_server_t *server);

/* ---- Time and log ---- */

/* Milliseconds since 1970-01-01 00:00 UTC by the server's clock (config->clock); 0 for NULL. Any
 * thread, if that clock is thread-safe. */
UVHTTP_EXPORT int64_t uvhttp_server_unix_ms(const uvhttp_server_t *server);

/* Writes to the server's log (uvhttp_config_t.log), like uvhttp_response_log without a response.
 * Any thread. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
UVHTTP_EXPORT void
uvhttp_server_log(uvhttp_server_t *server, uvhttp_log_level_t level, const char *format, ...);

/* A uvhttp_log_cb that writes "2026-01-31T12:00:00Z warning text" to standard error, one write
 * per line. `arg`: NULL, or a uvhttp_log_level_t with the maximal level, which may change while
 * the server runs. Any thread. */
UVHTTP_EXPORT void uvhttp_log_to_stderr(uvhttp_log_level_t level, const char *message, void *arg);

#ifdef __cplusplus
}
#endif

#endif
