/* WebSocket (RFC 6455) with compression (RFC 7692), for servers and clients.
 *
 *     static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
 *     size_t size, void *arg)
 *     {
 *         uvhttp_websocket_send(ws, kind, data, size);
 *     }
 *
 *     uvhttp_websocket_options_t options = {.events.message = echo};
 *     int err = uvhttp_websocket_route(server, "/echo", &options);
 *
 * An endpoint is what many connections have in common: callbacks, limits, compression and the
 * memory that these may take. It serves routes, connects to other servers, or both. What middleware
 * has to say about a request holds for handshakes, too.
 *
 * Always true: a connection and its callbacks stay on the thread of one worker, and all functions
 * that take one are called there. `close` runs exactly once for each connection that has been
 * opened, and is the last callback with it. What a peer may not send ends the connection with the
 * code of RFC 6455 section 7.4.1 that says why. Nothing a peer does makes a connection hold more
 * than its limits allow.
 *
 * Left out by the CMake option BUILD_WITH_WEBSOCKET=OFF: then none of these functions is there.
 * Compression needs zlib (BUILD_WITH_COMPRESSION); without, it is not negotiated. docs/websocket.md
 * tells more. */
#ifndef UVHTTP_WEBSOCKET_H
#define UVHTTP_WEBSOCKET_H

#include <uvhttp/router.h>
#include <uvhttp/server.h>
#include <uvhttp/tls_client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection; what connections have in common; a message that is framed once and sent to many. */
typedef struct uvhttp_websocket uvhttp_websocket_t;
typedef struct uvhttp_websocket_endpoint uvhttp_websocket_endpoint_t;
typedef struct uvhttp_websocket_message uvhttp_websocket_message_t;

/* What a message is: UTF-8, which is checked both ways, or any bytes. */
typedef enum uvhttp_websocket_kind {
    UVHTTP_WEBSOCKET_TEXT = 1,
    UVHTTP_WEBSOCKET_BINARY = 2
} uvhttp_websocket_kind_t;

/* Why a connection was closed (RFC 6455 section 7.4.1, IANA's registry); 3000 to 4999 are for
 * applications. NO_STATUS and ABNORMAL are only told, never sent. */
enum {
    UVHTTP_WEBSOCKET_NORMAL = 1000,
    UVHTTP_WEBSOCKET_GOING_AWAY = 1001,
    UVHTTP_WEBSOCKET_PROTOCOL_ERROR = 1002,
    UVHTTP_WEBSOCKET_UNSUPPORTED_DATA = 1003,
    UVHTTP_WEBSOCKET_NO_STATUS = 1005, /* a close frame without a code */
    UVHTTP_WEBSOCKET_ABNORMAL = 1006,  /* the connection ended without a close frame */
    UVHTTP_WEBSOCKET_INVALID_DATA = 1007,
    UVHTTP_WEBSOCKET_POLICY_VIOLATION = 1008,
    UVHTTP_WEBSOCKET_TOO_BIG = 1009,
    UVHTTP_WEBSOCKET_INTERNAL_ERROR = 1011,
    UVHTTP_WEBSOCKET_TRY_AGAIN_LATER = 1013
};

/* What happens to a connection. A callback may do anything to it, close it too. All may be NULL but
 * `message` or `piece`, of which exactly one is set. */
typedef struct uvhttp_websocket_events {
    /* The handshake is done. */
    void (*open)(uvhttp_websocket_t *ws, void *arg);
    /* A message has come, whole; the bytes lie there during the call only. A text is valid UTF-8,
     * and not NUL-terminated. */
    void (*message)(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                    size_t size, void *arg);
    /* Instead: a piece of a message has come, of any size; `last` ends the message, possibly with a
     * piece of size 0. A text may be split within a character. Nothing is collected, and
     * max_message_size still holds. */
    void (*piece)(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                  size_t size, bool last, void *arg);
    /* No more than low_watermark bytes wait to be sent, after there were more than high_watermark
     * (uvhttp_websocket_send says UVHTTP_EFULL then). */
    void (*drain)(uvhttp_websocket_t *ws, void *arg);
    /* A ping has come, and was answered; a pong has come. At most 125 bytes. */
    void (*ping)(uvhttp_websocket_t *ws, const char *data, size_t size, void *arg);
    void (*pong)(uvhttp_websocket_t *ws, const char *data, size_t size, void *arg);
    /* It is over. `code` and `reason` (UTF-8, at most 123 bytes, NUL-terminated) are what the peer
     * has sent, or what we closed it with if the peer sent nothing; ABNORMAL when the connection
     * just broke, or ended before all that waited was sent. Of a connection of
     * uvhttp_websocket_connect that never opened, `reason` says why. Behind it `ws` is gone. */
    void (*close)(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg);
} uvhttp_websocket_events_t;

/* What to do with a message for a connection whose peer reads too slowly: one for which more than
 * max_queue_size bytes would wait, counted as they are sent, compressed or not, and 32 for each
 * message. One for which nothing else has to wait may be of any size: what the socket does not take
 * of it waits, as far as `memory` allows. */
typedef enum uvhttp_websocket_slow {
    UVHTTP_WEBSOCKET_SLOW_CLOSE =
        /* close with TRY_AGAIN_LATER: `close` runs within the call that sends, which says
         * UVHTTP_EGONE */
    0,
    UVHTTP_WEBSOCKET_SLOW_DROP_NEWEST, /* it is not sent: UVHTTP_EFULL */
    /* those that have waited longest are not sent, as many as it takes; if all would not be enough
     * it is not sent itself: UVHTTP_EFULL */
    UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST
} uvhttp_websocket_slow_t;

/* permessage-deflate (RFC 7692). */
typedef enum uvhttp_websocket_compression {
    UVHTTP_WEBSOCKET_COMPRESS_NOT = 0, /* not negotiated */
    /* a compressor per worker for all connections: each message stands alone, and an idle
     * connection holds no window */
    UVHTTP_WEBSOCKET_COMPRESS_SHARED,
    /* windows of its own for a connection, so that messages refer to those before: smaller on the
     * wire. As far as memory_per_connection and `memory` allow: otherwise smaller windows, or as
     * SHARED */
    UVHTTP_WEBSOCKET_COMPRESS_DEDICATED
} uvhttp_websocket_compression_t;

/* Zeros are the defaults. Lists and strings are copied. */
typedef struct uvhttp_websocket_options {
    uvhttp_websocket_events_t events;
    void *arg; /* of the callbacks */

    /* The handshake. */
    const char *const *
        /* subprotocols (RFC 6455 section 1.9), the best first, NULL behind the last; NULL: none is
         * spoken. A client gets the first of these that it offers */
        protocols;
    bool
        /* a client that offers none of them gets 400; otherwise the connection has none */
        protocol_required;
    const char *const *
        /* "https://example.org", NULL behind the last: a browser of another origin gets 403;
         * clients that are no browsers send none and pass. Each stands for itself, there are no
         * patterns. NULL: any; an empty list: no browser */
        origins;
    /* Says whether a client may come in, and gives the connection its data (uvhttp_websocket_data).
     * 0: it may, UVHTTP_DECLINED: it gets 403, negative codes: 503 for UVHTTP_ENOMEM and
     * UVHTTP_ESTOPPED, otherwise 500. Or it answers with uvhttp_request_response itself, 401 for
     * example, and returns 0 or UVHTTP_DECLINED. NULL: all may. */
    int (*admit)(uvhttp_request_t *request, void **data, void *arg);
    /* Frees the connection's data: once, behind `close`, or when the handshake fails in spite of
     * admit. NULL: nothing. */
    void (*release)(void *data);

    /* Limits, of what a peer may send. What is above them closes with TOO_BIG or, the rate,
     * POLICY_VIOLATION. */
    size_t max_message_size; /* bytes, expanded; 0: 1 MiB */
    size_t max_frame_size;   /* bytes of one frame's payload, as it was sent; 0: max_message_size */
    /* frames of one message; 0: 1,024, or one for each KiB of max_message_size */
    size_t max_fragments;
    /* messages and control frames per second, as many again in a burst; 0: any */
    size_t max_message_rate;

    /* Sending: what waits because the peer does not read. */
    size_t
        /* bytes from which uvhttp_websocket_send says UVHTTP_EFULL, at most max_queue_size; 0: 64
         * KiB, or max_queue_size if that is less */
        high_watermark;
    size_t
        /* bytes at which `drain` tells, at most high_watermark; 0: a quarter of high_watermark */
        low_watermark;
    size_t max_queue_size; /* bytes that may wait before another message; 0: 1 MiB. See `slow` */
    uvhttp_websocket_slow_t slow;

    /* Whether the peer is still there, seconds; each is up to an eighth and a quarter of a second
     * late. */
    /* of silence until a ping; who does not answer until the next one is gone (ABNORMAL). 0: 30,
     * -1: never */
    int ping_interval;
    /* without a byte of a message either way until it is closed with NORMAL. 0 or -1: never */
    int idle_timeout;
    /* for the closing handshake, counted from when the peer has taken the last of what waits; for a
     * connection to open. 0: 10 */
    int close_timeout;

    /* Compression. */
    uvhttp_websocket_compression_t compression;
    int compression_level;       /* 1 to 9; 0: 6 for messages to many, otherwise 1 */
    size_t compression_min_size; /* bytes of a message below which it is sent as it is; 0: 64 */
    int window_bits;             /* 9 to 15: windows are at most 2 to this; 0: 15 */
    size_t
        /* bytes a message may be expanded to for each of its own, once it has more than 1 MiB; 0:
         * 200 */
        max_ratio;

    /* Memory, bytes: for windows, messages that have come in part, and messages that wait. */
    size_t
        /* for windows; 0: 64 KiB. With DEDICATED at least what those of 9 bits take, 18,016 */
        memory_per_connection;
    size_t
        /* of all connections of this endpoint together, on all workers, at least max_message_size;
         * 0: 64 MiB. Windows get at most three quarters of it. Who needs more when it is used up is
         * closed with TRY_AGAIN_LATER */
        memory;
    uvhttp_websocket_endpoint_t *
        /* has no memory of its own but that of another endpoint (then `memory` stays 0), so that
         * several or all endpoints of a server have one limit. NULL: none */
        shares_memory_with;
    const uvhttp_allocator_t *allocator; /* NULL: the system's. Must outlive the server, and
                                            messages that are kept for longer */
} uvhttp_websocket_options_t;

/* ---- Endpoints ---- */

/* Looks at options: 0, or with a NUL-terminated message of at most `size` bytes that names option,
 * value and what is allowed (`message` may be NULL) UVHTTP_ECONFIG, or UVHTTP_EINVAL (no options,
 * both or neither of message and piece, both memory and shares_memory_with). Any thread. */
UVHTTP_EXPORT int uvhttp_websocket_check(const uvhttp_websocket_options_t *options, char *message,
                                         size_t size);

/* An endpoint, which goes with the server. Before the server listens. 0, or with `*endpoint` NULL:
 * those of uvhttp_websocket_check, with its message, UVHTTP_EFROZEN, UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_websocket_endpoint_new(uvhttp_websocket_endpoint_t **endpoint,
                                                uvhttp_server_t *server,
                                                const uvhttp_websocket_options_t *options,
                                                char *message, size_t size);

/* An endpoint and a route that leads to it. Errors: those of uvhttp_websocket_endpoint_new, whose
 * message goes to the log (uvhttp_websocket_check tells it to you), and of uvhttp_router_add. It
 * answers every GET to its path; for a page at the same path give uvhttp_websocket_handle_request,
 * with an endpoint, a route whose `upgrade` is "websocket". */
UVHTTP_EXPORT int uvhttp_websocket_route(uvhttp_server_t *server, const char *pattern,
                                         const uvhttp_websocket_options_t *options);

/* A handler (of a uvhttp_route_t with .method "GET"): does the handshake. A request that is none
 * gets 426 with what would be one, a malformed one 400. `endpoint` is the endpoint. */
UVHTTP_EXPORT int uvhttp_websocket_handle_request(uvhttp_request_t *request,
                                                  uvhttp_response_t *response, void *endpoint);

/* The same for a handler of yours that has made up its mind, now or later: admit is not asked, and
 * `data` becomes the connection's. Fields set before go out with the 101. `open` has run when this
 * returns. Errors, with `*ws` NULL and `data` still yours: UVHTTP_EINVAL (no handshake of version
 * 13, malformed key or fields: uvhttp_websocket_handle_request answers those itself), those of
 * uvhttp_response_upgrade. `ws` may be NULL. */
UVHTTP_EXPORT int uvhttp_websocket_accept(uvhttp_websocket_endpoint_t *endpoint,
                                          uvhttp_response_t *response, void *data,
                                          uvhttp_websocket_t **ws);

/* What connects somewhere needs beside the endpoint. Zeros are the defaults. */
typedef struct uvhttp_websocket_target {
    const char *url;    /* "ws://host[:port]/path?query" or "wss://..." */
    const char *fields; /* further request fields, each "Name: value\r\n"; NULL: none */
    char *
        /* gets what the log says when url or fields are refused at once, otherwise ""; may be
         * NULL */
        message;
    size_t message_size; /* bytes there; 256 are enough */
    /* With wss://: who is trusted, and further options. NULL: the system's authorities, as
     * uvhttp_stream_connect_tls has them. The connection keeps it alive. */
    uvhttp_tls_client_t *tls;
} uvhttp_websocket_target_t;

/* Connects to a server: `open` tells of success, otherwise `close` is called, with ABNORMAL and the
 * reason, at the latest behind twice close_timeout. The endpoint's protocols are offered (and one
 * is demanded if protocol_required), and its compression; `origins` and `admit` do not matter. On
 * the thread of the server's first worker; the server need not listen (uvhttp_stream_connect says
 * when it runs). Errors, then no callback runs and `data` is still yours: UVHTTP_EINVAL (url,
 * fields; target->message says what is wrong; the thread of another worker: uvhttp_server_post
 * leads to the first), UVHTTP_ENOTSUP (wss in a build without OpenSSL), UVHTTP_ESTOPPED,
 * UVHTTP_ENOMEM, libuv's. `ws` may be NULL. */
UVHTTP_EXPORT int uvhttp_websocket_connect(uvhttp_websocket_endpoint_t *endpoint,
                                           const uvhttp_websocket_target_t *target, void *data,
                                           uvhttp_websocket_t **ws);

/* ---- Sending ---- */

/* Sends a message: it is copied, framed and, if that pays, compressed. Errors: UVHTTP_EFULL (more
 * than high_watermark bytes wait now; this one was taken unless there was no room in max_queue_size
 * and `slow` is DROP_NEWEST, or DROP_OLDEST with too little to drop. Go on at `drain`),
 * UVHTTP_EINVAL (a text that is no UTF-8; within a streamed message), UVHTTP_EGONE (closing or
 * closed), UVHTTP_ENOMEM (or options.memory is used up; it was not taken). */
UVHTTP_EXPORT int uvhttp_websocket_send(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind,
                                        const void *data, size_t size);
UVHTTP_EXPORT int uvhttp_websocket_send_text(uvhttp_websocket_t *ws, const char *text);

/* A message in pieces, for which nobody knows the length: each is a frame, sent as it is. The first
 * says the kind, which is that of the others too, and until the one with `last` no other message
 * can be sent. Errors: UVHTTP_EFULL (it was taken, and more than high_watermark bytes wait now),
 * UVHTTP_ENOMEM (it was not taken: memory, or max_queue_size and `slow` is not CLOSE),
 * UVHTTP_EINVAL (another kind than the first; a text that is no UTF-8), UVHTTP_EGONE. */
UVHTTP_EXPORT int uvhttp_websocket_send_piece(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind,
                                              const void *data, size_t size, bool last);

/* A message for many, framed once and compressed once. It has one reference, the caller's, and may
 * be kept for longer than there is a server. Its bytes are in options.memory. Any thread. NULL:
 * memory ran out or options.memory is used up, a text is no UTF-8, or the kind is neither text nor
 * binary. */
UVHTTP_EXPORT uvhttp_websocket_message_t *
uvhttp_websocket_message_new(uvhttp_websocket_endpoint_t *endpoint, uvhttp_websocket_kind_t kind,
                             const void *data, size_t size);
UVHTTP_EXPORT void uvhttp_websocket_message_ref(uvhttp_websocket_message_t *message);
UVHTTP_EXPORT void uvhttp_websocket_message_unref(uvhttp_websocket_message_t *message);

/* Sends it, without a copy as long as the peer reads. Errors as for uvhttp_websocket_send;
 * UVHTTP_EINVAL: `ws` is a client's, whose frames are masked one by one. */
UVHTTP_EXPORT int uvhttp_websocket_send_message(uvhttp_websocket_t *ws,
                                                uvhttp_websocket_message_t *message);

/* Sends a ping of at most 125 bytes. Errors: UVHTTP_EINVAL (longer), UVHTTP_EGONE,
 * UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_websocket_ping(uvhttp_websocket_t *ws, const void *data, size_t size);

/* Closes: sends what waits, then a close frame with the code (1000 to 1003, 1007 to 1014, 3000 to
 * 4999; 0: without a code) and the reason (UTF-8, at most 123 bytes; NULL: none), and waits for the
 * peer's at most close_timeout. That counts from when the last of it has left; until then it begins
 * again whenever the peer has taken something, and a server that stops waits drain_timeout for all.
 * Messages that still come are told, also when it was paused: it is read again, or the peer's
 * answer would not be seen. A peer that closes is answered in the same way, behind what waits.
 * Errors: UVHTTP_EINVAL, UVHTTP_EGONE (it is closing). `close` may run before this returns. */
UVHTTP_EXPORT int uvhttp_websocket_close(uvhttp_websocket_t *ws, unsigned code, const char *reason);

/* Ends it at once: what waits is lost, the peer sees the connection break. `close` has run when
 * this returns. In `open` the answer to the handshake may be lost as well: to say no to somebody,
 * close, or better do so in `admit`. */
UVHTTP_EXPORT void uvhttp_websocket_abort(uvhttp_websocket_t *ws);

/* Stops reading, so that the peer's sending comes to a halt, and goes on. In between nothing of a
 * message is told. A pause has no effect on a connection that closes. */
UVHTTP_EXPORT void uvhttp_websocket_pause(uvhttp_websocket_t *ws);
UVHTTP_EXPORT void uvhttp_websocket_resume(uvhttp_websocket_t *ws);

/* ---- What a connection is ---- */

/* The connection's data: of admit, accept or connect, or set here. `release` is called with what it
 * is at the end. */
UVHTTP_EXPORT void *uvhttp_websocket_data(const uvhttp_websocket_t *ws);
UVHTTP_EXPORT void uvhttp_websocket_set_data(uvhttp_websocket_t *ws, void *data);

/* Its endpoint, and that one's server. */
UVHTTP_EXPORT uvhttp_websocket_endpoint_t *
uvhttp_websocket_endpoint_of(const uvhttp_websocket_t *ws);
UVHTTP_EXPORT uvhttp_server_t *uvhttp_websocket_server(const uvhttp_websocket_t *ws);

/* The worker it belongs to: for uvhttp_server_post. */
UVHTTP_EXPORT size_t uvhttp_websocket_worker(const uvhttp_websocket_t *ws);

/* The subprotocol that was agreed on, or "". Lives as long as the endpoint. */
UVHTTP_EXPORT const char *uvhttp_websocket_protocol(const uvhttp_websocket_t *ws);

/* True when messages may be compressed: permessage-deflate was agreed on. */
UVHTTP_EXPORT bool uvhttp_websocket_compressed(const uvhttp_websocket_t *ws);

/* Bytes that wait to be sent. */
UVHTTP_EXPORT size_t uvhttp_websocket_pending(const uvhttp_websocket_t *ws);

/* ---- Numbers ---- */

/* What an endpoint has done and holds, on all workers. */
typedef struct uvhttp_websocket_stats {
    uint64_t connections;       /* open now */
    uint64_t total_connections; /* opened so far */
    uint64_t compressing;       /* of those open, with compression agreed on */
    uint64_t dedicated;         /* of these, with windows of their own */
    uint64_t messages_received;
    uint64_t messages_sent;
    uint64_t dropped; /* messages that slow peers did not get */
    uint64_t memory;  /* bytes held of options.memory, by all endpoints that share it */
} uvhttp_websocket_stats_t;

/* Any thread; numbers of other threads are at most a moment old. */
UVHTTP_EXPORT void uvhttp_websocket_read_stats(const uvhttp_websocket_endpoint_t *endpoint,
                                               uvhttp_websocket_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
