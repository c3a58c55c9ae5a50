/* Streams: what a connection becomes when both sides leave HTTP (RFC 9110 section 7.8, 101
 * Switching Protocols).
 *
 * A route that says which protocol it upgrades to (uvhttp_route_t.upgrade) is asked only by clients
 * that offer it; its handler calls uvhttp_response_upgrade and gets the bytes both ways from then
 * on, those that came together with the request first. What middleware has to say about a request
 * (who is allowed to, limits, logs) holds for these as for all others.
 *
 * Always true: a stream is read and written on the thread of its loop. It lives until its `closed`
 * callback has returned, which runs exactly once, also when the server is stopped. Nothing is timed
 * by itself but writing: a client that takes nothing for write_timeout is cut off. Whoever wants to
 * know whether a silent client is still there has to ask it, by the means of the protocol;
 * uvhttp_stream_set_timer says when. */
#ifndef UVHTTP_STREAM_H
#define UVHTTP_STREAM_H

#include <uvhttp/response.h>
#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection that has left HTTP; from uvhttp_response_upgrade. */
typedef struct uvhttp_stream uvhttp_stream_t;

/* What happens to a stream. A callback may do anything to its stream, close it too. */
typedef struct uvhttp_stream_events {
    /* Bytes have come; they lie there during the call only, and may be overwritten. `size` 0: the
     * client has ended its side, and nothing more comes. Must be set. */
    void (*data)(uvhttp_stream_t *stream, char *data, size_t size, void *arg);
    /* Everything that was taken has left, after uvhttp_stream_write has said UVHTTP_EFULL. NULL if
     * that does not matter. */
    void (*drain)(uvhttp_stream_t *stream, void *arg);
    /* The server stops: say goodbye, and end the stream within drain_timeout. NULL: it is ended by
     * the server. */
    void (*stopping)(uvhttp_stream_t *stream, void *arg);
    /* The time of uvhttp_stream_set_timer has passed. NULL if no timer is set. */
    void (*timer)(uvhttp_stream_t *stream, void *arg);
    /* It is over, whoever has ended it; the last call, behind which `stream` is gone. Must be
     * set. */
    void (*closed)(uvhttp_stream_t *stream, void *arg);
} uvhttp_stream_events_t;

/* True when the client offers to go over to this protocol ("websocket"): by HTTP/1.1, with
 * Connection and Upgrade. The name is compared without case; what stands behind a '/' is part of
 * it. */
UVHTTP_EXPORT bool uvhttp_request_offers_upgrade(const uvhttp_request_t *request,
                                                 const char *protocol);

/* Sends 101 with Upgrade, Connection and the fields set so far, and hands over the connection.
 * `*events` is copied. The exchange is over then (uvhttp_server_on_finished is told); from the next
 * turn on, or when the handler has returned, bytes are delivered. Writing is possible at once.
 * Errors: those of sending; UVHTTP_EINVAL (the client does not offer the protocol, a callback is
 * missing, or the request's body has not been read), UVHTTP_ESTOPPED (the server stops: 503 is the
 * answer to give, and what a handler that returns this gives). Then `*stream` is NULL, and no
 * callback runs. */
UVHTTP_EXPORT int uvhttp_response_upgrade(uvhttp_response_t *response, const char *protocol,
                                          const uvhttp_stream_events_t *events, void *arg,
                                          uvhttp_stream_t **stream);

/* Sends bytes, all of them; what the socket does not take now is copied and sent later. `write`
 * takes one area, `write_areas` up to UVHTTP_STREAM_MAX_AREAS as if they were one. Errors:
 * UVHTTP_EFULL (as much as set_backlog says waits: nothing was taken, `drain` tells), UVHTTP_EGONE
 * (closed or ended; when the connection breaks in the call, `closed` runs before it returns),
 * UVHTTP_ENOMEM (nothing was taken), UVHTTP_EINVAL (too many areas, or more than 1 GiB). */
enum { UVHTTP_STREAM_MAX_AREAS = 16 };
UVHTTP_EXPORT int uvhttp_stream_write(uvhttp_stream_t *stream, const void *data, size_t size);
UVHTTP_EXPORT int uvhttp_stream_write_areas(uvhttp_stream_t *stream, const uvhttp_slice_t *areas,
                                            size_t count);

/* Bytes taken and not given to the system yet. */
UVHTTP_EXPORT size_t uvhttp_stream_pending(const uvhttp_stream_t *stream);

/* Bytes that wait because the system has refused them: 0 while it takes what is written. */
UVHTTP_EXPORT size_t uvhttp_stream_blocked(const uvhttp_stream_t *stream);

/* Has `drain` called when everything has left, as after UVHTTP_EFULL. */
UVHTTP_EXPORT void uvhttp_stream_await_drain(uvhttp_stream_t *stream);

/* How many bytes may wait before write refuses more: the limit write_backlog unless set here, and
 * at most 1 GiB. */
UVHTTP_EXPORT void uvhttp_stream_set_backlog(uvhttp_stream_t *stream, size_t bytes);

/* Has `timer` called once, so many milliseconds from now or later by up to an eighth and a quarter
 * of a second, instead of what was set before; 0 takes it back, and so does uvhttp_stream_end. It
 * may be set again in `timer`. Costs next to nothing, so every stream may have one.
 * Errors: UVHTTP_EGONE (closed or ended), UVHTTP_EINVAL (no `timer`, or more than 2^31),
 * UVHTTP_ENOMEM; none changes what was set. */
UVHTTP_EXPORT int uvhttp_stream_set_timer(uvhttp_stream_t *stream, uint32_t milliseconds);

/* Milliseconds of the loop's coarse clock: monotonic, no system call, the same value during one
 * loop turn. */
UVHTTP_EXPORT uint64_t uvhttp_stream_now(const uvhttp_stream_t *stream);

/* Stops reading, so that the client's sending comes to a halt, and goes on. Both may be called
 * twice. A client that vanishes meanwhile is noticed by a reset only. */
UVHTTP_EXPORT void uvhttp_stream_pause(uvhttp_stream_t *stream);
UVHTTP_EXPORT void uvhttp_stream_resume(uvhttp_stream_t *stream);

/* Sends what waits, then ends this side; the connection is closed when the client has ended its
 * own, or after linger_timeout. What still comes is thrown away. */
UVHTTP_EXPORT void uvhttp_stream_end(uvhttp_stream_t *stream);

/* Closes at once: what waits is lost. `closed` runs before this returns. */
UVHTTP_EXPORT void uvhttp_stream_close(uvhttp_stream_t *stream);

/* A stream that is a connection to somebody else: clients of other protocols share the server's
 * loop, its memory and its end. `host` is a name or a numeric address; a name is looked up on a
 * thread (four names at once in a process), and its addresses are tried one after the other, each
 * for its share of what is left of the time, all of it within `timeout_ms` (0: as long as the
 * system tries; otherwise at most 2^31, and as exact as uvhttp_stream_set_timer). `connected` runs
 * once, behind this call: with 0, or with libuv's code (UV_ECONNREFUSED of the last address,
 * UV_EAI_NONAME, UV_ETIMEDOUT, UV_EMFILE, ...) or UVHTTP_ESTOPPED when the server stops before, and
 * then `closed` follows. Whoever ends or closes the stream before is told `closed` only. Until then
 * a stream is like one that is closed: writing and setting a timer give UVHTTP_EGONE. Afterwards it
 * is like any other, "the client" being the other side.
 *
 * On the thread of a worker, which the stream stays with; any other thread is the first worker's.
 * The server need not listen: the first call does what uvhttp_server_listen does besides, and
 * routes are frozen. Without anything that listens uvhttp_server_run returns when the last of these
 * streams is over, and may be called again; a caller's loop likewise has nothing to run for. They
 * do not count as connections, neither for the statistics, but for their bytes and timeouts, nor
 * for max_connections.
 *
 * Errors, with `*stream` NULL and no callback: UVHTTP_EINVAL (no host, no such port, too long a
 * time, a callback is missing), UVHTTP_ECONFIG, UVHTTP_ESTOPPED, UVHTTP_ENOMEM, libuv's. */
typedef void (*uvhttp_stream_connected_cb)(uvhttp_stream_t *stream, int status, void *arg);
UVHTTP_EXPORT int uvhttp_stream_connect(uvhttp_server_t *server, const char *host, int port,
                                        uint32_t timeout_ms, uvhttp_stream_connected_cb connected,
                                        const uvhttp_stream_events_t *events, void *arg,
                                        uvhttp_stream_t **stream);

#ifdef __cplusplus
}
#endif

#endif
