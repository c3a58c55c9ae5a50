/* For programs that uvhttp is a part of: other ways to listen than address and port, proxies in
 * front, data of your own with servers and connections. docs/embedding.md shows each of them.
 *
 * Everything here runs on the thread of the server's loop, or on any one thread before that loop
 * runs. */
#ifndef UVHTTP_EMBEDDING_H
#define UVHTTP_EMBEDDING_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Listening ----
 *
 * As with uvhttp_server_listen: any number of times and mixed, routes are frozen even if it
 * fails, and UVHTTP_ECONFIG, UVHTTP_ESTOPPED, UVHTTP_ENOMEM and libuv's codes are errors of all
 * of them. */

/* Listens on a unix socket of this path, at most 107 bytes (Linux: one that begins with '@' is an
 * abstract name, without a file). `mode` are the permissions of the file, 0600 to 0777, which
 * decide who may connect; 0: what the umask leaves. A socket file nobody accepts on is taken for a
 * left-over and replaced. When listening ends the file is removed, unless another one has taken its
 * name; a relative path means the working directory of both moments. The client address of such
 * connections is "unix:". Errors, each with a line in the log: UV_ENAMETOOLONG, UV_EADDRINUSE
 * (somebody accepts there), UV_EEXIST (a file that is no socket; it stays), UVHTTP_EINVAL (empty
 * path, a mode above 0777), UV_EACCES, UV_ENOENT, ... */
UVHTTP_EXPORT int uvhttp_server_listen_unix(uvhttp_server_t *server, const char *path,
                                            unsigned mode);

/* Accepts on a stream socket (TCP or unix) that listens already. From then on it is the server's,
 * which closes it when it stops; a unix socket's file stays. On failure it stays yours. Either way
 * it has become non-blocking, for everybody who shares it, and is closed on exec. Errors:
 * UVHTTP_EINVAL (no listening stream socket), UV_EBADF, UV_ENOTSOCK, UV_EEXIST (the loop watches it
 * already). */
UVHTTP_EXPORT int uvhttp_server_listen_fd(uvhttp_server_t *server, int fd);

/* The same for all sockets the process was started with: those of systemd's socket activation
 * (LISTEN_PID and LISTEN_FDS, see sd_listen_fds(3)). Their number comes out in `*count`; 0 when
 * there are none or they are meant for another process. After an error the first `*count` are the
 * server's, the others yours. Once in a process; the environment is not changed. */
UVHTTP_EXPORT int uvhttp_server_listen_inherited(uvhttp_server_t *server, size_t *count);

/* Serves a connected stream socket (TCP, unix, one end of a socketpair) as if it had just been
 * accepted: max_connections holds, too. From then on it is the server's, which closes it; on
 * failure it stays yours. A server may live on such connections alone. Errors: UVHTTP_EINVAL (no
 * connected stream socket), UV_EBADF, UV_ENOTSOCK, UV_EEXIST (the loop watches it already, for
 * instance as one of its connections). */
UVHTTP_EXPORT int uvhttp_server_adopt(uvhttp_server_t *server, int fd);

/* ---- Behind proxies ---- */

/* Which fields of a request a proxy writes. One kind only: a proxy that writes one lets the other
 * pass as the client sent it. */
typedef enum uvhttp_forwarding {
    UVHTTP_FORWARDING_X = 0,   /* X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host */
    UVHTTP_FORWARDING_STANDARD /* Forwarded (RFC 7239) */
} uvhttp_forwarding_t;

/* Believes what these proxies say of their clients: "10.0.0.0/8", "2001:db8::1", or "unix" for
 * everybody who connects to a unix socket. Then uvhttp_request_client_address, _scheme and _host
 * tell of the client in front of them. Addresses are read from the end of the list, which is where
 * proxies append, as long as they are believed proxies' own; what is malformed or unknown ends that
 * at the last believed proxy. The proxies have to append to these fields or replace them: one that
 * passes on what it was sent lets clients say what they like. Copied; a second call replaces the
 * first, `count` 0 believes nobody. Before the server listens. Errors: UVHTTP_EINVAL (a malformed
 * prefix, with a line in the log), UVHTTP_EFROZEN, UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_server_trust_proxies(uvhttp_server_t *server, const char *const *prefixes,
                                              size_t count, uvhttp_forwarding_t fields);

/* The address of who is at the other end of the connection, as uvhttp_request_client_address is
 * without proxies. */
UVHTTP_EXPORT const char *uvhttp_request_peer_address(uvhttp_request_t *request);

/* "http", or "https" when a believed proxy says so: of X-Forwarded-Proto, what stands as far from
 * the end as the client does in X-Forwarded-For (or is first, in a shorter list). Static. */
UVHTTP_EXPORT const char *uvhttp_request_scheme(uvhttp_request_t *request);

/* "host[:port]" as the client has asked for it: what a believed proxy says, found as above,
 * otherwise the request's own (RFC 9110 section 7.2). NUL-terminated, well-formed (RFC 3986 section
 * 3.2) or "": what HTTP/1.0 clients may leave out, or memory ran out. Routing by host goes by the
 * request's own. */
UVHTTP_EXPORT const char *uvhttp_request_host(uvhttp_request_t *request);

/* ---- Data of your own ---- */

/* A pointer with the server, for handlers (which find it by uvhttp_request_server): NULL at first.
 * For what is to be freed with it: uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_server_set_data(uvhttp_server_t *server, void *data);
UVHTTP_EXPORT void *uvhttp_server_data(const uvhttp_server_t *server);

/* A pointer with the connection, for the requests that come on it later. `release` (may be NULL) is
 * called with it once: when the connection is gone and its last exchange has ended, or when it is
 * replaced. Errors: UVHTTP_ENOMEM, and UVHTTP_EINVAL from a handler that blocks, since the
 * connection is the loop's; then nothing has changed and the data is still yours. */
UVHTTP_EXPORT int uvhttp_request_set_connection_data(uvhttp_request_t *request, void *data,
                                                     void (*release)(void *data));
UVHTTP_EXPORT void *uvhttp_request_connection_data(uvhttp_request_t *request);

/* A number no other connection of this server has or had, given when it is first asked for, from 1;
 * 0 when memory ran out. */
UVHTTP_EXPORT uint64_t uvhttp_request_connection_id(uvhttp_request_t *request);

/* ---- Time and the log ---- */

/* Milliseconds since 1970-01-01 00:00 UTC by the server's clock (config->clock); 0 for NULL. Any
 * thread, if that clock allows it. */
UVHTTP_EXPORT int64_t uvhttp_server_unix_ms(const uvhttp_server_t *server);

/* Writes to the server's log (uvhttp_config_t.log), as uvhttp_response_log does where there is no
 * response. Any thread. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
UVHTTP_EXPORT void
uvhttp_server_log(uvhttp_server_t *server, uvhttp_log_level_t level, const char *format, ...);

/* A uvhttp_log_cb: "2026-01-31T12:00:00Z warning text" on standard error, one write a line. `arg`:
 * NULL, or a uvhttp_log_level_t of yours up to which lines are written and which you may change
 * while the server runs. Any thread. */
UVHTTP_EXPORT void uvhttp_log_to_stderr(uvhttp_log_level_t level, const char *message, void *arg);

#ifdef __cplusplus
}
#endif

#endif
