/* WebSocket (RFC 6455) with compression (RFC 7692), for servers and clients.
 *
 *     static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
 *                      size_t size, void *arg)
 *     {
 *         uvhttp_websocket_send(ws, kind, data, size);
 *     }
 *
 *     uvhttp_websocket_options_t options = {.events.message = echo};
 *     int err = uvhttp_websocket_route(server, "/echo", &options, &error);
 *
 * An endpoint is shared by many connections: callbacks, limits, compression and their memory limit.
 * It serves routes, connects to other servers, or both. Middleware also applies to handshakes.
 *
 * A connection and its callbacks stay on the thread of one worker; call all functions of a
 * connection there. `close` runs exactly once for each opened connection and is its last callback.
 * A protocol violation of the peer closes the connection with the code of RFC 6455 section 7.4.1. A
 * connection never holds more memory than its limits allow.
 *
 * The CMake option BUILD_WITH_WEBSOCKET=OFF removes all of these functions. Compression needs
 * zlib (BUILD_WITH_COMPRESSION); without it, it is not negotiated. See docs/websocket.md. */
#ifndef UVHTTP_WEBSOCKET_H
#define UVHTTP_WEBSOCKET_H

#include <uvhttp/error.h>
#include <uvhttp/router.h>
#include <uvhttp/server.h>
#include <uvhttp/tls_client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection; an endpoint; a message that is framed once and sent to many connections. */
typedef struct uvhttp_websocket uvhttp_websocket_t;
typedef struct uvhttp_websocket_endpoint uvhttp_websocket_endpoint_t;
typedef struct uvhttp_websocket_message uvhttp_websocket_message_t;

/* The type of a message: UTF-8, validated in both directions, or binary. */
typedef enum uvhttp_websocket_kind {
    UVHTTP_WEBSOCKET_TEXT = 1,
    UVHTTP_WEBSOCKET_BINARY = 2
} uvhttp_websocket_kind_t;

/* Close codes (RFC 6455 section 7.4.1, IANA registry); 3000 to 4999 are for applications.
 * NO_STATUS and ABNORMAL are reported to `close`, never sent. */
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

/* Callbacks of a connection. A callback may call any function on the connection, including
 * close. All may be NULL except `message` or `chunk`, of which exactly one is set. */
typedef struct uvhttp_websocket_events {
    /* The handshake is complete. */
    void (*open)(uvhttp_websocket_t *ws, void *arg);
    /* A complete message; the bytes are valid during the call only. A text is valid UTF-8 and
     * not NUL-terminated. */
    void (*message)(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                    size_t size, void *arg);
    /* Instead of `message`: a chunk of a message, of any size; `last` ends the message, possibly
     * with size 0. A text may be split within a character. Nothing is buffered; max_message_size
     * applies. */
    void (*chunk)(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                  size_t size, bool last, void *arg);
    /* The queue has fallen to low_watermark bytes after it exceeded high_watermark
     * (uvhttp_websocket_send returned UVHTTP_QUEUED or UVHTTP_EFULL). */
    void (*drain)(uvhttp_websocket_t *ws, void *arg);
    /* A ping was received and its pong sent; a pong was received. At most 125 bytes. */
    void (*ping)(uvhttp_websocket_t *ws, const char *data, size_t size, void *arg);
    void (*pong)(uvhttp_websocket_t *ws, const char *data, size_t size, void *arg);
    /* The connection has ended. `code` and `reason` (UTF-8, at most 123 bytes, NUL-terminated)
     * are those of the peer, or of our close frame if the peer sent none. ABNORMAL if the
     * connection broke, or ended before all queued data was sent. If a connection of
     * uvhttp_websocket_connect never opened, `reason` is the cause. `ws` is invalid after this
     * call. */
    void (*close)(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg);
} uvhttp_websocket_events_t;

/* Policy for a message that would make the queue of a slow peer exceed max_queue_size bytes.
 * Counted are the bytes as sent, compressed or not, plus 32 per message. If the queue is empty,
 * a message may have any size: the unsent part is queued, within `memory`. */
typedef enum uvhttp_websocket_slow {
    /* Close with TRY_AGAIN_LATER: `close` runs within the send call, which returns
     * UVHTTP_EDISCONNECTED. */
    UVHTTP_WEBSOCKET_SLOW_CLOSE = 0,
    UVHTTP_WEBSOCKET_SLOW_DROP_NEWEST, /* do not send it: UVHTTP_EFULL */
    /* Drop as many of the oldest queued messages as necessary. If that is not enough, do not
     * send it: UVHTTP_EFULL. */
    UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST
} uvhttp_websocket_slow_t;

/* permessage-deflate (RFC 7692). */
typedef enum uvhttp_websocket_compression {
    UVHTTP_WEBSOCKET_COMPRESS_NOT = 0, /* not negotiated */
    /* One compressor per worker for all connections: messages are independent, and an idle
     * connection holds no window. */
    UVHTTP_WEBSOCKET_COMPRESS_SHARED,
    /* A window per connection, so that messages refer to earlier ones: better compression.
     * Within memory_per_connection and `memory`: otherwise smaller windows, or as SHARED. */
    UVHTTP_WEBSOCKET_COMPRESS_DEDICATED
} uvhttp_websocket_compression_t;

/* Options of an endpoint. Zeros are the defaults. Lists and strings are copied. */
typedef struct uvhttp_websocket_options {
    uvhttp_websocket_events_t events;
    void *arg; /* passed to the callbacks */

    /* Handshake. */

    /* Subprotocols (RFC 6455 section 1.9) in order of preference, NULL-terminated; NULL: none.
     * The first one that the client offers is selected. */
    const char *const *protocols;
    /* A client that offers none of them gets 400; otherwise it is accepted without a
     * subprotocol. */
    bool protocol_required;
    /* Allowed origins ("https://example.org"), NULL-terminated: a browser of another origin gets
     * 403. Clients that send no Origin are accepted. No patterns. NULL: any; an empty list: no
     * browser. */
    const char *const *origins;
    /* Decides whether a client is accepted, and sets the connection's data
     * (uvhttp_websocket_data). Returns 0: accept; UVHTTP_DECLINED: 403; a negative code: 503 for
     * UVHTTP_ENOMEM and UVHTTP_ESTOPPED, otherwise 500. Or it sends another response with
     * uvhttp_request_response, for example 401, and returns 0 or UVHTTP_DECLINED. NULL: accept
     * all. */
    int (*admit)(uvhttp_request_t *request, void **data, void *arg);
    /* Frees the connection's data, once: after `close`, or when the handshake fails after admit.
     * NULL: nothing. */
    void (*release)(void *data);

    /* Limits for received data. Exceeding one closes with TOO_BIG, the rate with
     * POLICY_VIOLATION. */
    size_t max_message_size; /* bytes, uncompressed; 0: 1 MiB */
    size_t max_frame_size;   /* payload bytes of one frame, as sent; 0: max_message_size */
    /* Frames of one message; 0: 1,024, or one per KiB of max_message_size. */
    size_t max_fragments;
    /* Messages and control frames per second, with a burst of the same number; 0: no limit. */
    size_t max_message_rate;

    /* Send queue, for peers that do not read. */

    /* Queued bytes above which uvhttp_websocket_send returns UVHTTP_QUEUED, at most
     * max_queue_size; 0: 64 KiB, or max_queue_size if that is less. */
    size_t high_watermark;
    /* Queued bytes at which `drain` is called, at most high_watermark; 0: a quarter of
     * high_watermark. */
    size_t low_watermark;
    size_t max_queue_size; /* bytes queued before another message; 0: 1 MiB. See `slow` */
    uvhttp_websocket_slow_t slow;

    /* Timeouts in milliseconds, at most 86,400,000; each may be late by up to an eighth of its
     * value plus a quarter of a second. */

    /* Silence until a ping is sent; a peer that does not reply until the next one is
     * disconnected (ABNORMAL). 0: 30,000; UVHTTP_NEVER: never. */
    uint32_t ping_interval_ms;
    /* Time without message data in either direction until the connection is closed with NORMAL.
     * 0 or UVHTTP_NEVER: never. */
    uint32_t idle_timeout_ms;
    /* For the closing handshake, counted from when the peer has received all queued data; and
     * for a connection to open. 0: 10,000. */
    uint32_t close_timeout_ms;

    /* Compression. */
    uvhttp_websocket_compression_t compression;
    int compression_level;       /* 1 to 9; 0: 6 for messages to many connections, otherwise 1 */
    size_t compression_min_size; /* bytes; smaller messages are not compressed; 0: 64 */
    int window_bits;             /* 9 to 15: window size of at most 2 to this power; 0: 15 */
    /* Maximal expansion ratio of a received message above 1 MiB; 0: 200. */
    size_t max_ratio;

    /* Memory in bytes, for windows, partially received messages and queued messages. */

    /* For windows; 0: 64 KiB. With DEDICATED at least 18,016, the size of windows of 9 bits. */
    size_t memory_per_connection;
    /* Of all connections of this endpoint, on all workers, at least max_message_size; 0: 64 MiB.
     * Windows use at most three quarters of it. A connection that needs more when it is
     * exhausted is closed with TRY_AGAIN_LATER. */
    size_t memory;
    /* Uses the memory limit of another endpoint (then `memory` stays 0), so that several
     * endpoints of a server share one limit. NULL: its own. */
    uvhttp_websocket_endpoint_t *shares_memory_with;
    /* NULL: the built-in one. Must outlive the server, and messages that are kept longer. */
    const uvhttp_allocator_t *allocator;
} uvhttp_websocket_options_t;

/* ---- Endpoints ---- */

/* Checks options. Any thread.
 * Returns 0, or
 *   UVHTTP_ECONFIG  a value is invalid
 *   UVHTTP_EINVAL   no options, both or neither of `message` and `chunk`, or both memory and
 *                   shares_memory_with */
UVHTTP_EXPORT int uvhttp_websocket_check(const uvhttp_websocket_options_t *options,
                                         uvhttp_error_t *error);

/* Creates an endpoint, which the server owns. Before the server listens.
 * Returns 0, or with `*endpoint` NULL the errors of uvhttp_websocket_check, or
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_websocket_endpoint_new(uvhttp_websocket_endpoint_t **endpoint,
                                                uvhttp_server_t *server,
                                                const uvhttp_websocket_options_t *options,
                                                uvhttp_error_t *error);

/* Creates an endpoint and a route to it. The route handles every GET of its path. To serve a
 * page at the same path, use uvhttp_websocket_handle_request in a route whose `upgrade` is
 * "websocket". Errors of uvhttp_websocket_endpoint_new (logged, too) and uvhttp_router_add. */
UVHTTP_EXPORT int uvhttp_websocket_route(uvhttp_server_t *server, const char *pattern,
                                         const uvhttp_websocket_options_t *options,
                                         uvhttp_error_t *error);

/* A handler that performs the handshake, for a uvhttp_route_t with .method "GET"; `endpoint` is
 * the uvhttp_websocket_endpoint_t. A request without a handshake gets 426 with the required
 * fields, a malformed one 400. */
UVHTTP_EXPORT int uvhttp_websocket_handle_request(uvhttp_request_t *request,
                                                  uvhttp_response_t *response, void *endpoint);

/* Accepts a handshake from a handler of the application, immediately or later. admit is not called,
 * and `data` becomes the connection's. Fields set before are sent with the 101. `open` has run on
 * return. `ws` may be NULL.
 * Returns 0, the errors of uvhttp_response_upgrade, or with `*ws` NULL and `data` still the
 * caller's
 *   UVHTTP_EINVAL  no handshake of version 13, malformed key or fields
 *                  (uvhttp_websocket_handle_request would send the error response) */
UVHTTP_EXPORT int uvhttp_websocket_accept(uvhttp_websocket_endpoint_t *endpoint,
                                          uvhttp_response_t *response, void *data,
                                          uvhttp_websocket_t **ws);

/* Target of an outgoing connection. Zeros are the defaults. */
typedef struct uvhttp_websocket_target {
    const char *url;    /* "ws://host[:port]/path?query" or "wss://..." */
    const char *fields; /* additional request fields, each "Name: value\r\n"; NULL: none */
    /* For wss://: trusted authorities and TLS options. NULL: the system's authorities, as in
     * uvhttp_stream_connect_tls. The connection holds a reference. */
    uvhttp_tls_client_t *tls;
} uvhttp_websocket_target_t;

/* Connects to a server. `open` runs on success; otherwise `close` runs with ABNORMAL and the
 * reason, at the latest after twice close_timeout_ms. Offers the endpoint's protocols (one is
 * required if protocol_required) and its compression; `origins` and `admit` are not used. On the
 * thread of the server's first worker; the server need not listen (see uvhttp_stream_connect). `ws`
 * may be NULL. The connection keeps the set-up of its endpoint, which a reload replaces, until it
 * ends.
 * Returns 0, or without any callback and with `data` still the caller's
 *   UVHTTP_EINVAL    invalid url or fields (see `error`), or the thread of another worker:
 *                    use uvhttp_server_post
 *   UVHTTP_ENOTSUP   wss in a build without OpenSSL
 *   UVHTTP_ESTOPPED  the server has stopped
 *   UVHTTP_ENOMEM    out of memory
 *   libuv            errors of libuv */
UVHTTP_EXPORT int uvhttp_websocket_connect(uvhttp_websocket_endpoint_t *endpoint,
                                           const uvhttp_websocket_target_t *target, void *data,
                                           uvhttp_websocket_t **ws, uvhttp_error_t *error);

/* ---- Sending ---- */

/* Sends a message: copies, frames and, if worthwhile, compresses it.
 * Returns 0, UVHTTP_QUEUED (accepted, and more than high_watermark bytes are queued: pause until
 * `drain`), or with nothing accepted
 *   UVHTTP_EFULL          would exceed max_queue_size, and `slow` is DROP_NEWEST, or DROP_OLDEST
 *                         with too little to drop; `drain` will be called
 *   UVHTTP_EINVAL         a text that is not UTF-8; or within a streamed message
 *   UVHTTP_EDISCONNECTED  closing or closed
 *   UVHTTP_ENOMEM         out of memory, or options.memory is exhausted */
UVHTTP_EXPORT int uvhttp_websocket_send(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind,
                                        const void *data, size_t size);
UVHTTP_EXPORT int uvhttp_websocket_send_text(uvhttp_websocket_t *ws, const char *text);

/* Sends a streamed message of unknown length: each call sends one frame, uncompressed. All calls
 * have the kind of the first. Until the call with `last` no other message can be sent.
 * Returns 0, UVHTTP_QUEUED, or with nothing accepted
 *   UVHTTP_EFULL          as for uvhttp_websocket_send
 *   UVHTTP_ENOMEM         out of memory, or options.memory is exhausted
 *   UVHTTP_EINVAL         not the kind of the first call, or a text that is not UTF-8
 *   UVHTTP_EDISCONNECTED  closing or closed */
UVHTTP_EXPORT int uvhttp_websocket_send_fragment(uvhttp_websocket_t *ws,
                                                 uvhttp_websocket_kind_t kind, const void *data,
                                                 size_t size, bool last);

/* Creates a message for many connections, framed and compressed once; and takes or releases a
 * reference. The caller owns the first reference; the message may outlive the server. Its bytes
 * count in options.memory. Any thread. Returns NULL when out of memory, options.memory is
 * exhausted, a text is not UTF-8, or the kind is invalid. */
UVHTTP_EXPORT uvhttp_websocket_message_t *
uvhttp_websocket_message_new(uvhttp_websocket_endpoint_t *endpoint, uvhttp_websocket_kind_t kind,
                             const void *data, size_t size);
UVHTTP_EXPORT void uvhttp_websocket_message_ref(uvhttp_websocket_message_t *message);
UVHTTP_EXPORT void uvhttp_websocket_message_unref(uvhttp_websocket_message_t *message);

/* Sends a message, without a copy while the peer reads. Results as for uvhttp_websocket_send;
 * UVHTTP_EINVAL also for a client connection, whose frames are masked individually. */
UVHTTP_EXPORT int uvhttp_websocket_send_message(uvhttp_websocket_t *ws,
                                                uvhttp_websocket_message_t *message);

/* Sends a ping of at most 125 bytes.
 * Returns 0, or
 *   UVHTTP_EINVAL         longer
 *   UVHTTP_EDISCONNECTED  closing or closed
 *   UVHTTP_ENOMEM         out of memory */
UVHTTP_EXPORT int uvhttp_websocket_ping(uvhttp_websocket_t *ws, const void *data, size_t size);

/* Closes: sends queued data, then a close frame with the code (1000 to 1003, 1007 to 1014, 3000 to
 * 4999; 0: no code) and the reason (UTF-8, at most 123 bytes; NULL: none), and waits up to
 * close_timeout_ms for the peer's close frame. `close` may run before this returns.
 *
 * close_timeout_ms counts from when all data has left, and restarts whenever the peer reads; a
 * stopping server waits drain_timeout for all. Messages received meanwhile are still delivered. A
 * paused connection is resumed, because otherwise the peer's close frame could not be read. A close
 * frame of the peer is handled in the same way, after queued data.
 * Returns 0, or
 *   UVHTTP_EINVAL         invalid code or reason
 *   UVHTTP_EDISCONNECTED  closing already */
UVHTTP_EXPORT int uvhttp_websocket_close(uvhttp_websocket_t *ws, unsigned code, const char *reason);

/* Closes the connection immediately without a close frame; queued data is lost. `close` has run
 * on return. In `open` the handshake response may be lost too: to reject a client use
 * uvhttp_websocket_close, or preferably `admit`. */
UVHTTP_EXPORT void uvhttp_websocket_abort(uvhttp_websocket_t *ws);

/* Pauses and resumes reading; flow control stops the peer. While paused no message data is
 * delivered. Has no effect on a closing connection. */
UVHTTP_EXPORT void uvhttp_websocket_pause(uvhttp_websocket_t *ws);
UVHTTP_EXPORT void uvhttp_websocket_resume(uvhttp_websocket_t *ws);

/* ---- Properties of a connection ---- */

/* The connection's data: from admit, accept or connect, or set here. `release` is called with
 * its last value. */
UVHTTP_EXPORT void *uvhttp_websocket_data(const uvhttp_websocket_t *ws);
UVHTTP_EXPORT void uvhttp_websocket_set_data(uvhttp_websocket_t *ws, void *data);

/* Its endpoint, and the server of that. */
UVHTTP_EXPORT uvhttp_websocket_endpoint_t *
uvhttp_websocket_endpoint_of(const uvhttp_websocket_t *ws);
UVHTTP_EXPORT uvhttp_server_t *uvhttp_websocket_server(const uvhttp_websocket_t *ws);

/* The worker of the connection, for uvhttp_server_post. */
UVHTTP_EXPORT size_t uvhttp_websocket_worker(const uvhttp_websocket_t *ws);

/* The negotiated subprotocol, or "". Lives as long as the endpoint. */
UVHTTP_EXPORT const char *uvhttp_websocket_protocol(const uvhttp_websocket_t *ws);

/* True if permessage-deflate was negotiated. */
UVHTTP_EXPORT bool uvhttp_websocket_compressed(const uvhttp_websocket_t *ws);

/* Bytes queued for sending. */
UVHTTP_EXPORT size_t uvhttp_websocket_pending(const uvhttp_websocket_t *ws);

/* ---- Statistics ---- */

/* Statistics of an endpoint, over all workers. */
typedef struct uvhttp_websocket_stats {
    uint64_t connections;       /* open now */
    uint64_t total_connections; /* opened so far */
    uint64_t compressing;       /* of those open, with compression negotiated */
    uint64_t dedicated;         /* of these, with their own windows */
    uint64_t messages_received;
    uint64_t messages_sent;
    uint64_t dropped; /* messages not sent to slow peers */
    uint64_t memory;  /* bytes allocated of options.memory, by all endpoints that share it */
} uvhttp_websocket_stats_t;

/* Reads the statistics. Any thread; values of other threads may lag slightly. */
UVHTTP_EXPORT void uvhttp_websocket_read_stats(const uvhttp_websocket_endpoint_t *endpoint,
                                               uvhttp_websocket_stats_t *stats);

#ifdef __cplusplus
}
#endif

#endif
