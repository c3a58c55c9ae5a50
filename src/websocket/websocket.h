/* The internal interface of a WebSocket connection. endpoint.c creates endpoints, accept.c and
 * connect.c perform handshakes, websocket.c handles the connection (its stream, closing, timeouts),
 * receive.c reads frames, send.c sends, pending.c and queue.c hold what the peer has not read yet,
 * deflate.c compresses.
 *
 * It uses only uvhttp_stream_t, which exposes no socket, so that a stream of another protocol
 * version can carry it (RFC 8441).
 *
 * Invariants: the user no longer uses a connection after its `close` callback (`close_notified`).
 * Its memory lives until the stream is closed and no internal function uses it (`refs`). All memory
 * that a peer can make grow is charged to the endpoint's budget first. */
#ifndef UVH_WEBSOCKET_WEBSOCKET_H
#define UVH_WEBSOCKET_WEBSOCKET_H

#include <stdatomic.h>

#include <uvhttp/stream.h>
#include <uvhttp/websocket.h>

#include "base/budget.h"
#include "base/counter.h"
#include "codec/simd/utf8.h"
#include "codec/websocket/reader.h"
#include "websocket/accept.h"
#include "websocket/deflate.h"
#include "websocket/queue.h"

struct uvh_generation;
struct uvh_topic_member;
struct uvh_ws_opening;

/* State shared by the connections of an endpoint on one worker. Written on the worker's thread;
 * other threads read the counters. */
struct uvh_ws_worker {
    struct uvhttp_websocket_endpoint *endpoint;
    size_t index;
    struct uvh_ws_deflate_worker deflate;
    struct uvh_bytes out; /* a message being compressed */
    char *scratch;        /* UVH_WS_SCRATCH bytes; NULL until needed */
    _Atomic uint64_t connections;
    _Atomic uint64_t total_connections;
    _Atomic uint64_t compressing;
    _Atomic uint64_t dedicated;
    _Atomic uint64_t messages_received;
    _Atomic uint64_t messages_sent;
    _Atomic uint64_t dropped;
    char padding[64]; /* padding: avoids false sharing */
};

enum { UVH_WS_SCRATCH = 65536 };

struct uvhttp_websocket_endpoint {
    struct uvh_owned *owned; /* its strings and lists */
    uvhttp_server_t *server;
    struct uvh_generation *generation; /* that frees it; each client connection has a reference */
    const uvhttp_allocator_t *allocator;
    uvhttp_websocket_options_t options; /* with the defaults set, and copies of lists */
    struct uvh_ws_accept_rules accept;
    struct uvh_ws_deflate_settings deflate;
    struct uvh_ws_deflate_many many;
    struct uvh_ws_rules from_clients; /* for connections that were accepted */
    struct uvh_ws_rules from_servers; /* for client connections */
    struct uvh_ws_memory *memory;
    size_t worker_count;
    struct uvh_ws_worker workers[];
};

/* A fragmented message. */
struct uvh_ws_assembly {
    char *data;
    size_t length;
    size_t capacity; /* charged to the budget */
};

struct uvhttp_websocket {
    uvhttp_stream_t *stream; /* NULL once it is closed */
    struct uvh_ws_worker *worker;
    void *data; /* the user's */
    const char *protocol;
    struct uvh_ws_deflate *deflate;   /* NULL: no compression was negotiated */
    struct uvh_ws_assembly *assembly; /* NULL between messages */
    struct uvh_ws_queue *queue;       /* NULL while nothing is queued */
    /* bytes received after uvhttp_websocket_pause; NULL when there are none */
    struct uvh_ws_assembly *kept;
    struct uvh_ws_opening *opening;  /* of a client until the handshake is done (connect.c) */
    struct uvh_topic_member *member; /* its subscriptions (topics.c) */
    void (*member_removed)(struct uvh_topic_member *member);
    uint64_t message_size; /* expanded bytes of the current message */
    /* max_message_rate: when the bucket is full again, in milliseconds of the loop times the
     * rate. */
    int64_t rate_full_at;
    size_t charged;           /* bytes of the budget for unsent data in the stream */
    const char *close_reason; /* static, or allocated; see own_reason */
    struct uvh_ws_reader reader;
    struct uvh_utf8 utf8;      /* of the text being received */
    struct uvh_utf8 sent_utf8; /* of the text being sent in fragments */
    /* Last sign of life of the peer, or last ping; see uvh_websocket_now. */
    uint32_t heard_at;
    /* When message bytes were last sent or received; while closing: sent, or the start of
     * closing. */
    uint32_t moved_at;
    uint16_t close_code; /* of the peer's close frame, or of the own one */
    uint16_t refs;
    bool client : 1; /* this side is the client */
    bool opened : 1;
    bool unknown : 1;        /* `open` will not run any more, so `close` does not either */
    bool close_notified : 1; /* `close` has run */
    bool close_sent : 1;     /* the close frame is sent or queued */
    bool close_received : 1;
    bool failed : 1;        /* the peer violated the protocol: further data is ignored */
    bool end_when_sent : 1; /* end the stream once the queue is empty */
    bool closing_timer : 1; /* the timer is for the closing handshake */
    bool full : 1;          /* more than high_watermark is queued, and `drain` is due */
    bool paused : 1;
    bool sending_stream : 1;
    bool sending_text : 1; /* and it is text */
    bool pong_waits : 1;   /* queued, unless it was sent meanwhile */
    bool pinged : 1;       /* a ping was sent since the last sign of life */
    bool text : 1;         /* the message being received is text */
    bool expanding : 1;    /* a part of it is not fully expanded */
    bool expands_last : 1; /* and that part ends the message */
    bool own_reason : 1;
};

/* An idle connection must cost at most 768 bytes, of which an HTTP connection and its stream are
 * more than half. */
_Static_assert(sizeof(struct uvhttp_websocket) <= 288, "an idle connection stays small");

/* ---- websocket.c ---- */

/* Creates a connection that is not open yet: NULL when out of memory. */
struct uvhttp_websocket *uvh_websocket_new(struct uvh_ws_worker *worker, void *data);
/* Frees a connection that never opened; the user's data stays the caller's. */
void uvh_websocket_discard(struct uvhttp_websocket *ws);

/* The reason a client's connection does not open: its own server stops. */
extern const char uvh_websocket_stopping[];

/* The callbacks of its stream; their argument is the connection. */
extern const uvhttp_stream_events_t uvh_websocket_stream_events;

/* The handshake on `ws->stream` is done: calls `open`. The connection may be invalid afterwards.
 * `deflate` may be NULL. */
void uvh_websocket_open(struct uvhttp_websocket *ws, const char *protocol,
                        struct uvh_ws_deflate *deflate);

/* Handles the peer's close frame. */
void uvh_websocket_take_close(struct uvhttp_websocket *ws, const struct uvh_ws_event *event);

/* Keeps the connection allocated while an internal function uses it. */
static inline void uvh_websocket_ref(struct uvhttp_websocket *ws)
{
    ws->refs++;
}
void uvh_websocket_unref(struct uvhttp_websocket *ws);

/* Fails the connection because of the peer or a shortage of memory: sends a close frame with this
 * code and the static text as its reason, and reads no more. */
void uvh_websocket_fail(struct uvhttp_websocket *ws, unsigned code, const char *reason);

/* Sets the reason of the end to a static text; `code` 0 keeps the current code. Does nothing after
 * the user's `close` callback. */
void uvh_websocket_set_reason(struct uvhttp_websocket *ws, unsigned code, const char *text);

/* Stores a copy of a text for `close`; none when out of memory. */
void uvh_websocket_keep_reason(struct uvhttp_websocket *ws, const char *text, size_t length);

/* Ends the stream if that is due once all bytes are sent, and they are. */
void uvh_websocket_end_if_sent(struct uvhttp_websocket *ws);

/* Milliseconds of the loop's clock, truncated to 32 bits: differences are correct for 49 days.
 * Requires a stream. */
static inline uint32_t uvh_websocket_now(const struct uvhttp_websocket *ws)
{
    return (uint32_t)uvhttp_stream_now(ws->stream);
}

/* Notes a sign of life of the peer. */
static inline void uvh_websocket_heard(struct uvhttp_websocket *ws)
{
    ws->heard_at = uvh_websocket_now(ws);
    ws->pinged = false;
}

/* Notes that bytes of a message moved. */
static inline void uvh_websocket_moved(struct uvhttp_websocket *ws)
{
    ws->moved_at = uvh_websocket_now(ws);
}

/* True when messages can be sent. */
static inline bool uvh_websocket_is_open(const struct uvhttp_websocket *ws)
{
    return ws->stream != NULL && ws->opened && !ws->close_sent && !ws->close_notified;
}

/* ---- receive.c ---- */

/* Handles bytes after the handshake. The connection may be invalid afterwards. */
void uvh_websocket_receive(struct uvhttp_websocket *ws, char *data, size_t size);

/* Frees assembled bytes; NULL is allowed. */
void uvh_websocket_assembly_free(struct uvhttp_websocket *ws, struct uvh_ws_assembly **slot);

/* ---- connect.c ---- */

/* Handles bytes of the server's response. The connection may be invalid afterwards. */
void uvh_websocket_read_handshake(struct uvhttp_websocket *ws, char *data, size_t size);

/* NULL is allowed. */
void uvh_websocket_opening_free(struct uvhttp_websocket *ws);

/* ---- send.c ---- */

/* Sends a control frame; use uvh_websocket_send_close for CLOSE. Errors as for
 * uvhttp_websocket_ping. */
int uvh_websocket_send_control(struct uvhttp_websocket *ws, enum uvh_ws_opcode opcode,
                               const void *data, size_t size);

/* Sends the close frame. With `at_once` it overtakes queued messages that are not partly sent;
 * those are dropped. */
void uvh_websocket_send_close(struct uvhttp_websocket *ws, unsigned code, const char *reason,
                              size_t length, bool at_once);

/* Sends broadcast messages with one system call as far as the socket accepts them. The connection
 * may be invalid afterwards. */
void uvh_websocket_send_many(struct uvhttp_websocket *ws,
                             uvhttp_websocket_message_t *const *messages, size_t count);

/* ---- pending.c ---- */

/* The stream is writable again. */
void uvh_websocket_drained(struct uvhttp_websocket *ws);

/* Charges the bytes in the stream to the endpoint's budget; call after each write. False when it is
 * exceeded; then the connection is invalid. */
bool uvh_websocket_charge(struct uvhttp_websocket *ws);

/* Ensures that a frame of `size` bytes may be queued, by the endpoint's policy for slow peers.
 * Returns 0, UVHTTP_EFULL (do not send it; a message is counted then), UVHTTP_EDISCONNECTED. */
int uvh_websocket_reserve(struct uvhttp_websocket *ws, size_t size, bool is_message);

/* Appends to the queue. Returns 0 or UVHTTP_ENOMEM. */
int uvh_websocket_push(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message,
                       bool compressed);

/* Writes the queue to the stream, as far as it accepts it. The connection may be invalid
 * afterwards. */
void uvh_websocket_pump(struct uvhttp_websocket *ws);

/* The result for an accepted message: 0, UVHTTP_QUEUED above the high watermark, or
 * UVHTTP_EDISCONNECTED. */
int uvh_websocket_taken(struct uvhttp_websocket *ws);

/* ---- for topics.c ---- */

static inline struct uvh_topic_member *uvh_websocket_member(const struct uvhttp_websocket *ws)
{
    return ws->member;
}
/* Calls `removed` when the connection ends. */
static inline void uvh_websocket_set_member(struct uvhttp_websocket *ws,
                                            struct uvh_topic_member *member,
                                            void (*removed)(struct uvh_topic_member *member))
{
    ws->member = member;
    ws->member_removed = removed;
}

#endif
