/* Streams: a connection after an upgrade from HTTP (RFC 9110 section 7.8, 101 Switching Protocols),
 * and outgoing connections.
 *
 * The handler of a route with an upgrade protocol (uvhttp_route_t.upgrade) runs only for clients
 * that offer it. It calls uvhttp_response_upgrade and then exchanges bytes in both directions,
 * beginning with those received together with the request. Middleware (authorization, limits, logs)
 * applies as to all requests.
 *
 * A stream is read and written on the thread of its loop. `closed` runs exactly once, also when
 * the server is stopped. Until the callback in which it ran returns to the loop, the stream's
 * functions may still be called, and report UVHTTP_EDISCONNECTED or do nothing; then the stream is
 * freed. Only writing has a timeout: a client that reads nothing for write_timeout is disconnected.
 * To detect a silent dead client, use pings of the protocol and uvhttp_stream_set_timer. */
#ifndef UVHTTP_STREAM_H
#define UVHTTP_STREAM_H

#include <uvhttp/response.h>
#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection after an upgrade; from uvhttp_response_upgrade or uvhttp_stream_connect. */
typedef struct uvhttp_stream uvhttp_stream_t;

/* Callbacks of a stream. A callback may call any function on its stream, including close. */
typedef struct uvhttp_stream_events {
    /* Received bytes, valid during the call only; they may be overwritten. `size` 0: the peer
     * has shut down its sending side, and nothing follows. Required. */
    void (*data)(uvhttp_stream_t *stream, char *data, size_t size, void *arg);
    /* All queued data was sent, after uvhttp_stream_write returned UVHTTP_EFULL. May be NULL. */
    void (*drain)(uvhttp_stream_t *stream, void *arg);
    /* The server stops: send a closing message and end the stream within drain_timeout. NULL:
     * the server ends it. */
    void (*stopping)(uvhttp_stream_t *stream, void *arg);
    /* The timer of uvhttp_stream_set_timer has expired. NULL if no timer is set. */
    void (*timer)(uvhttp_stream_t *stream, void *arg);
    /* The stream is closed, by either side; the last callback. `stream` is invalid when the
     * current callback has returned to the loop. Required. */
    void (*closed)(uvhttp_stream_t *stream, void *arg);
} uvhttp_stream_events_t;

/* True if the client offers an upgrade to this protocol ("websocket") with HTTP/1.1, Connection
 * and Upgrade. The comparison ignores case; a version after '/' is part of the name. */
UVHTTP_EXPORT bool uvhttp_request_offers_upgrade(const uvhttp_request_t *request,
                                                 const char *protocol);

/* Sends 101 with Upgrade, Connection and the fields set so far, and turns the connection into a
 * stream. HTTP/2 has no upgrades. `*events` is copied. The exchange ends (uvhttp_server_on_finished
 * is called). Data callbacks begin in the next loop iteration, or when the handler has returned;
 * writing is possible immediately.
 * Returns 0, the errors of send, or with `*stream` NULL and without any callback
 *   UVHTTP_EINVAL    the client does not offer the protocol, a callback is missing, or the
 *                    request's body has not been read
 *   UVHTTP_ESTOPPED  the server is stopping (503 when a handler returns it) */
UVHTTP_EXPORT int uvhttp_response_upgrade(uvhttp_response_t *response, const char *protocol,
                                          const uvhttp_stream_events_t *events, void *arg,
                                          uvhttp_stream_t **stream);

/* Sends bytes; data the socket does not accept is copied and queued. `write` takes one area,
 * `write_areas` up to UVHTTP_STREAM_MAX_AREAS, sent as one.
 * Returns 0, or
 *   UVHTTP_EFULL          the queue has reached the limit of set_backlog; nothing was accepted,
 *                         `drain` will be called
 *   UVHTTP_EDISCONNECTED  closed or ended; if the connection breaks in this call, `closed` runs
 *                         before it returns
 *   UVHTTP_ENOMEM         out of memory; nothing was accepted
 *   UVHTTP_EINVAL         too many areas, or more than 1 GiB */
enum { UVHTTP_STREAM_MAX_AREAS = 16 };
UVHTTP_EXPORT int uvhttp_stream_write(uvhttp_stream_t *stream, const void *data, size_t size);
UVHTTP_EXPORT int uvhttp_stream_write_areas(uvhttp_stream_t *stream, const uvhttp_slice_t *areas,
                                            size_t count);

/* Bytes queued and not yet passed to the system. */
UVHTTP_EXPORT size_t uvhttp_stream_pending(const uvhttp_stream_t *stream);

/* Bytes queued because the system did not accept them; 0 while the socket is writable. */
UVHTTP_EXPORT size_t uvhttp_stream_blocked(const uvhttp_stream_t *stream);

/* Requests a `drain` call when all queued data is sent, as after UVHTTP_EFULL. */
UVHTTP_EXPORT void uvhttp_stream_await_drain(uvhttp_stream_t *stream);

/* Sets the queue limit in bytes above which write fails, at most 1 GiB. Default: write_backlog. */
UVHTTP_EXPORT void uvhttp_stream_set_backlog(uvhttp_stream_t *stream, size_t bytes);

/* Starts a one-shot timer, which replaces an earlier one; 0 stops it, and so does
 * uvhttp_stream_end. `timer` runs after `timeout_ms`, or later by up to an eighth of that plus a
 * quarter of a second. It may be set again in `timer`. Timers are cheap, so every stream may have
 * one.
 * Returns 0, or with the timer unchanged
 *   UVHTTP_EDISCONNECTED  closed or ended
 *   UVHTTP_EINVAL         no `timer`, or more than 2^31
 *   UVHTTP_ENOMEM         out of memory */
UVHTTP_EXPORT int uvhttp_stream_set_timer(uvhttp_stream_t *stream, uint32_t timeout_ms);

/* The loop time in milliseconds: monotonic, no system call, constant during one loop iteration. */
UVHTTP_EXPORT uint64_t uvhttp_stream_now(const uvhttp_stream_t *stream);

/* Pauses and resumes reading; flow control stops the peer. Repeated calls are allowed. While
 * paused, only a reset reveals a disconnected peer. */
UVHTTP_EXPORT void uvhttp_stream_pause(uvhttp_stream_t *stream);
UVHTTP_EXPORT void uvhttp_stream_resume(uvhttp_stream_t *stream);

/* Sends queued data, then shuts down the sending side. The connection is closed when the peer
 * has done the same, or after linger_timeout. Data received meanwhile is discarded. */
UVHTTP_EXPORT void uvhttp_stream_end(uvhttp_stream_t *stream);

/* Closes immediately: queued data is lost. `closed` runs before this returns. */
UVHTTP_EXPORT void uvhttp_stream_close(uvhttp_stream_t *stream);

/* Opens a stream to another server, for clients of other protocols that share the server's loop and
 * memory. `host` is a name or a numeric address. Names are resolved on a thread (at most four at
 * once per process). Addresses are tried in order, each for a share of the remaining time, in total
 * `timeout_ms` (0: the system's timeouts; at most 2^31, with the precision of
 * uvhttp_stream_set_timer).
 *
 * `connected` runs once, after this call has returned: with 0, with an error of libuv
 * (UV_ECONNREFUSED of the last address, UV_EAI_NONAME, UV_ETIMEDOUT, UV_EMFILE, ...), or with
 * UVHTTP_ESTOPPED if the server stops first. After an error `closed` follows. If the stream is
 * ended or closed before, only `closed` runs. Until `connected`, writing and setting a timer return
 * UVHTTP_EDISCONNECTED. Afterwards it is a normal stream.
 *
 * On a worker's thread the stream belongs to that worker; on any other thread, to the first one.
 * The server need not listen: the first call performs the setup of uvhttp_server_listen and freezes
 * routes. Without a listener uvhttp_server_run returns when the last of these streams has ended,
 * and may be called again; a caller's loop then has no active handles. These streams do not count
 * in max_connections, nor in the statistics, except bytes and timeouts.
 * Returns 0, or with `*stream` NULL and without any callback
 *   UVHTTP_EINVAL    no host, no such port, timeout too large, or a callback is missing
 *   UVHTTP_ECONFIG   invalid configuration
 *   UVHTTP_ESTOPPED  the server has stopped
 *   UVHTTP_ENOMEM    out of memory
 *   libuv            errors of libuv */
typedef void (*uvhttp_stream_connected_cb)(uvhttp_stream_t *stream, int status, void *arg);
UVHTTP_EXPORT int uvhttp_stream_connect(uvhttp_server_t *server, const char *host, int port,
                                        uint32_t timeout_ms, uvhttp_stream_connected_cb connected,
                                        const uvhttp_stream_events_t *events, void *arg,
                                        uvhttp_stream_t **stream);

#ifdef __cplusplus
}
#endif

#endif
