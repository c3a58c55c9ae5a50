/* The message layer of WebSocket: a connection as its own files see it. endpoint.c makes endpoints,
 * accept.c and connect.c shake hands, websocket.c lives with the connection (its stream, closing,
 * silence), receive.c takes frames in, send.c sends, pending.c and queue.c keep what the peer does
 * not read yet, deflate.c compresses.
 *
 * It stands on uvhttp_stream_t alone, which names no socket, so that a stream of another protocol
 * version can carry it (RFC 8441).
 *
 * Always true: a connection that was told to be over (`told`) is not touched by its user any more;
 * its memory lives until the stream is closed and no function of ours is at work with it (`holds`).
 * Everything that a peer can make grow is taken from the endpoint's budget first. */
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

struct uvh_topic_member;
struct uvh_ws_greeter;

/* What the connections of an endpoint on one worker share. Written on the worker's thread; the
 * counters are read by others. */
struct uvh_ws_worker {
    struct uvhttp_websocket_endpoint *endpoint;
    size_t index;
    struct uvh_ws_deflate_worker deflate;
    struct uvh_bytes out; /* a message while it is being compressed */
    char *scratch;        /* UVH_WS_SCRATCH bytes for what is being expanded; NULL until needed */
    _Atomic uint64_t connections;
    _Atomic uint64_t total_connections;
    _Atomic uint64_t compressing;
    _Atomic uint64_t dedicated;
    _Atomic uint64_t messages_received;
    _Atomic uint64_t messages_sent;
    _Atomic uint64_t dropped;
    char apart[64]; /* what another worker writes is not to slow this one down */
};

enum { UVH_WS_SCRATCH = 65536 };

struct uvhttp_websocket_endpoint {
    struct uvh_owned *owned; /* its strings and lists */
    uvhttp_server_t *server;
    const uvhttp_allocator_t *allocator;
    uvhttp_websocket_options_t options; /* with the defaults put in, and lists of our own */
    struct uvh_ws_accept_rules accept;
    struct uvh_ws_deflate_settings deflate;
    struct uvh_ws_deflate_many many;
    struct uvh_ws_rules from_clients; /* for connections that were accepted */
    struct uvh_ws_rules from_servers; /* for those that were made */
    struct uvh_ws_memory *memory;
    size_t worker_count;
    struct uvh_ws_worker workers[];
};

/* A message that comes in several pieces. */
struct uvh_ws_assembly {
    char *data;
    size_t length;
    size_t capacity; /* taken from the budget */
};

struct uvhttp_websocket {
    uvhttp_stream_t *stream; /* NULL once it is closed */
    struct uvh_ws_worker *worker;
    void *data; /* the user's */
    const char *protocol;
    struct uvh_ws_deflate *deflate;   /* NULL: no compression was agreed on */
    struct uvh_ws_assembly *assembly; /* NULL between messages */
    struct uvh_ws_queue *queue;       /* NULL while nothing waits */
    struct uvh_ws_assembly
        *kept; /* bytes that came behind uvhttp_websocket_pause; NULL when there are none */
    struct uvh_ws_greeter *greeter;  /* of a client until the handshake is done (connect.c) */
    struct uvh_topic_member *member; /* its subscriptions (topics.c) */
    void (*member_gone)(struct uvh_topic_member *member);
    uint64_t message_size; /* of the message that is coming, expanded */
    int64_t
        /* max_message_rate: when all may be spent again, in milliseconds of the loop times the
         * rate */
        rate_full_at;
    size_t charged;           /* bytes of the budget for what the socket has not taken */
    const char *close_reason; /* static, or in a block of its own; see own_reason */
    struct uvh_ws_reader reader;
    struct uvh_utf8 utf8;      /* of the text that is coming */
    struct uvh_utf8 sent_utf8; /* of the text that is being sent in pieces */
    /* when the peer has shown that it is there, or got a ping; see uvh_websocket_now */
    uint32_t heard_at;
    uint32_t
        /* when bytes of messages have moved, either way; while closing: ours, or the beginning */
        moved_at;
    uint16_t close_code; /* of the peer's close frame, or of ours */
    uint16_t holds;
    bool client : 1; /* we are the client */
    bool opened : 1;
    bool unknown : 1;    /* `open` will not run any more, so `close` does not either */
    bool told : 1;       /* `close` has run */
    bool close_sent : 1; /* our close frame has been sent or waits */
    bool close_received : 1;
    bool failed : 1;        /* the peer has broken a rule: nothing it sends counts any more */
    bool end_when_sent : 1; /* the stream is ended once nothing waits */
    bool closing_timer : 1; /* the timer is that of the closing handshake */
    bool full : 1;          /* more than high_watermark waits, and `drain` is owed */
    bool paused : 1;
    bool sending_pieces : 1;
    bool sending_text : 1; /* and they are text */
    bool pong_waits : 1;   /* behind others, unless it has left meanwhile */
    bool pinged : 1;       /* silence was answered by a ping */
    bool text : 1;         /* the message that is coming is text */
    bool expanding : 1;    /* a piece of it has not been expanded to its end */
    bool expands_last : 1; /* and the message ends with that piece */
    bool own_reason : 1;
};

/* An idle connection is to cost at most 768 bytes, of which an HTTP connection and its stream are
 * more than half. */
_Static_assert(sizeof(struct uvhttp_websocket) <= 288, "an idle connection stays small");

/* ---- websocket.c ---- */

/* A connection that is not open yet: NULL when memory ran out. */
struct uvhttp_websocket *uvh_websocket_new(struct uvh_ws_worker *worker, void *data);
/* It never opened, and nobody knows of it: the memory is freed, the user's data stays the
 * caller's. */
void uvh_websocket_discard(struct uvhttp_websocket *ws);

/* Why a client's connection does not open: its own server stops. */
extern const char uvh_websocket_stopping[];

/* The callbacks of its stream, whose argument is the connection. */
extern const uvhttp_stream_events_t uvh_websocket_stream_events;

/* The handshake is done on `ws->stream`: `open` runs. The connection may be gone afterwards.
 * `deflate` may be NULL. */
void uvh_websocket_open(struct uvhttp_websocket *ws, const char *protocol,
                        struct uvh_ws_deflate *deflate);

/* The peer's close frame has come. */
void uvh_websocket_take_close(struct uvhttp_websocket *ws, const struct uvh_ws_event *event);

/* While something of ours is on the stack with it. */
static inline void uvh_websocket_hold(struct uvhttp_websocket *ws)
{
    ws->holds++;
}
void uvh_websocket_let_go(struct uvhttp_websocket *ws);

/* Ends it because of what the peer did or what memory there is: a close frame with this code, the
 * static text as its reason, and no more is read. */
void uvh_websocket_fail(struct uvhttp_websocket *ws, unsigned code, const char *reason);

/* Says why it ends, with a static text; `code` 0 leaves what is known. Nothing changes once its
 * user has been told. */
void uvh_websocket_set_reason(struct uvhttp_websocket *ws, unsigned code, const char *text);

/* Keeps a text for `close`. Without memory there is none. */
void uvh_websocket_keep_reason(struct uvhttp_websocket *ws, const char *text, size_t length);

/* Ends the stream if that waits for the last bytes, and they have left. */
void uvh_websocket_end_if_sent(struct uvhttp_websocket *ws);

/* Milliseconds of the loop's clock, as few as a connection keeps: differences are right for 49
 * days. Its stream is there. */
static inline uint32_t uvh_websocket_now(const struct uvhttp_websocket *ws)
{
    return (uint32_t)uvhttp_stream_now(ws->stream);
}

/* The peer is there. */
static inline void uvh_websocket_heard(struct uvhttp_websocket *ws)
{
    ws->heard_at = uvh_websocket_now(ws);
    ws->pinged = false;
}

/* Bytes of a message have moved. */
static inline void uvh_websocket_moved(struct uvhttp_websocket *ws)
{
    ws->moved_at = uvh_websocket_now(ws);
}

/* True when it takes messages to send. */
static inline bool uvh_websocket_is_open(const struct uvhttp_websocket *ws)
{
    return ws->stream != NULL && ws->opened && !ws->close_sent && !ws->told;
}

/* ---- receive.c ---- */

/* Bytes behind the handshake. The connection may be gone afterwards. */
void uvh_websocket_receive(struct uvhttp_websocket *ws, char *data, size_t size);

/* Gives back what was collected; NULL is fine. */
void uvh_websocket_assembly_free(struct uvhttp_websocket *ws, struct uvh_ws_assembly **place);

/* ---- connect.c ---- */

/* Bytes of the server's answer. The connection may be gone afterwards. */
void uvh_websocket_greet(struct uvhttp_websocket *ws, char *data, size_t size);

/* NULL is fine. */
void uvh_websocket_greeter_free(struct uvhttp_websocket *ws);

/* ---- send.c ---- */

/* A control frame; CLOSE frames go through uvh_websocket_send_close. Errors as
 * uvhttp_websocket_ping. */
int uvh_websocket_send_control(struct uvhttp_websocket *ws, enum uvh_ws_opcode opcode,
                               const void *data, size_t size);

/* Our close frame, in front of messages that wait and have not begun when `at_once`; those are
 * dropped. */
void uvh_websocket_send_close(struct uvhttp_websocket *ws, unsigned code, const char *reason,
                              size_t length, bool at_once);

/* Sends messages for many with one call of the system as far as it takes them. The connection may
 * be gone afterwards. */
void uvh_websocket_send_many(struct uvhttp_websocket *ws,
                             uvhttp_websocket_message_t *const *messages, size_t count);

/* ---- pending.c ---- */

/* The stream has room again. */
void uvh_websocket_drained(struct uvhttp_websocket *ws);

/* What the stream keeps is the endpoint's memory as well: behind each write. False when there is
 * none left for it; then the connection is gone. */
bool uvh_websocket_charge(struct uvhttp_websocket *ws);

/* Makes room for a frame of `size` bytes behind what waits, as the endpoint's policy for slow peers
 * has it. 0, UVHTTP_EFULL (it is not to be sent; a message is counted then), UVHTTP_EGONE. */
int uvh_websocket_make_room(struct uvhttp_websocket *ws, size_t size, bool is_message);

/* To the end of the queue. 0, UVHTTP_ENOMEM. */
int uvh_websocket_push(struct uvhttp_websocket *ws, struct uvhttp_websocket_message *message,
                       bool compressed);

/* Gives the stream what waits, as far as it takes it. The connection may be gone afterwards. */
void uvh_websocket_pump(struct uvhttp_websocket *ws);

/* What is said of a message that was taken: 0, or UVHTTP_EFULL when much waits. */
int uvh_websocket_taken(struct uvhttp_websocket *ws);

/* ---- for topics.c ---- */

static inline struct uvh_topic_member *uvh_websocket_member(const struct uvhttp_websocket *ws)
{
    return ws->member;
}
/* `gone` is called when the connection ends. */
static inline void uvh_websocket_set_member(struct uvhttp_websocket *ws,
                                            struct uvh_topic_member *member,
                                            void (*gone)(struct uvh_topic_member *member))
{
    ws->member = member;
    ws->member_gone = gone;
}

#endif
