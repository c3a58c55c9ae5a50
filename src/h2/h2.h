/* HTTP/2 on a connection (RFC 9113): many exchanges at a time, each on a stream.
 *
 * Invariants: the owner of an HTTP/2 connection is its struct uvh_h2, which also lives as long as
 * any of its exchanges. A stream begins with its complete head, so a stream is an exchange; one
 * that is refused or malformed leaves nothing behind. `table` has the streams on which frames may
 * still be sent or received, `streams` also those that were reset and whose handler still runs. */
#ifndef UVH_H2_H2_H
#define UVH_H2_H2_H

#include "base/queue.h"
#include "codec/http2/frame.h"
#include "codec/http2/hpack.h"
#include "codec/http2/priority.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "server/exchange.h"
#include "server/server.h"

enum {
    UVH_H2_BUCKETS = 32, /* of the table of streams; a power of two */
    UVH_H2_UPDATES = 8,  /* priorities of streams that are not open yet */
    UVH_H2_BACKLOGS = 4, /* times write_backlog: what all streams queue, besides a chunk of each */
    /* streams whose late frames are ignored: as many as may be open, up to this number */
    UVH_H2_MOST_RECENT = 256,
    UVH_H2_MAX_DISCARDED = 4, /* fields up to so many times the limit are decoded and rejected */
    /* bytes of a body that are discarded after its response, before the stream is reset */
    UVH_H2_DISCARDED_BODY = 65536,
    /* bytes of a DATA frame; with its header four frames fill a transmit buffer, and one fills a
     * TLS record */
    UVH_H2_DATA_SIZE = UVH_H2_FRAME_SIZE - UVH_H2_HEAD_SIZE,
};

/* A stream that the server has ended while its client may still be sending. */
struct uvh_h2_recent {
    uint32_t id;
    uint32_t left; /* bytes of its body that are still discarded; 0: the stream was reset */
};

/* A priority that was received before its request. */
struct uvh_h2_update {
    uint32_t id;
    struct uvh_h2_priority priority;
};

/* The frame of a body that is being received. */
struct uvh_h2_incoming {
    uint32_t stream;  /* 0: none */
    uint32_t data;    /* bytes to come */
    uint32_t padding; /* bytes to come after them */
    bool ends;        /* the stream */
};

/* Events that a client causes at no cost for itself, in the second that began at `begun`. */
struct uvh_h2_rates {
    uint64_t begun; /* loop time */
    uint32_t control;
    uint32_t resets;
};

struct uvh_h2 {
    struct uvh_conn *conn;
    struct uvh_list link;    /* in worker->http2 */
    struct uvh_list streams; /* every exchange, oldest first */
    struct uvh_h2_stream *table[UVH_H2_BUCKETS];
    struct uvh_list ready[UVH_H2_URGENCIES]; /* streams with output, by urgency */
    struct uvh_list waiting;                 /* for space (wants_drain), or to deliver a body */
    struct uvh_hpack_decoder hpack;
    struct uvh_bytes block; /* a field block in several frames */
    struct uvh_h2_settings peer;
    struct uvh_h2_incoming incoming;
    struct uvh_h2_rates rates;
    struct uvh_h2_update updates[UVH_H2_UPDATES];
    uint64_t total_resets;
    uint64_t used_ids;        /* bit n: the stream 2 * n before last_stream was opened */
    uint64_t replies_allowed; /* frames without content that responses cause a client to send */
    uint32_t refs;            /* the connection, exchanges, and functions on the stack */
    uint32_t exchanges;       /* in `streams` */
    uint32_t active;          /* of these, not finished */
    uint32_t requests;        /* so far */
    uint32_t late_requests;   /* since `draining` */
    uint32_t last_stream;     /* highest id received */
    uint32_t last_served;     /* the same of requests before the final GOAWAY */
    uint32_t next_recent;     /* of the `recent_count` entries of `recent` */
    uint32_t recent_count;
    uint32_t block_stream; /* its field block is incomplete; 0: none */
    int32_t send_window;
    int32_t receive_window;
    uint32_t consumed;         /* bytes that are to be returned to the client's window */
    size_t queued;             /* bytes of streamed responses and tunnels, of all streams */
    unsigned char block_flags; /* of the HEADERS frame */
    unsigned char ready_mask;  /* bits of `ready` that are not empty */
    unsigned char next_update;
    bool idle;      /* its timeout is that of an idle connection */
    bool served;    /* a request began in this event */
    bool data_sent; /* ... DATA was sent */
    bool preface_received;
    bool settings_received;
    bool depends_on_itself; /* the HEADERS frame gives its stream such a priority */
    bool head_timed;        /* the timeout for an incomplete frame is running */
    bool draining;          /* GOAWAY was sent that still permits requests */
    bool refusing;          /* GOAWAY was sent: further requests are ignored */
    bool failed;            /* a connection error: nothing else is sent or received */
    bool table_update_due;  /* the next field block begins with a table size update */
    bool table_empty;       /* ... and one was sent */
    bool pinging;           /* keep-alive PING without a reply */
    struct uvh_h2_recent recent[];
};

enum uvh_h2_body {
    UVH_H2_BODY_KEEP = 0, /* undecided: bytes are kept */
    UVH_H2_BODY_COLLECT,  /* for the handler, as a whole */
    UVH_H2_BODY_STREAM,   /* to on_body */
};

/* A stream that carries an upgraded stream. */
struct uvh_h2_tunnel {
    struct uvh_tunnel base;
    struct uvh_h2_stream *carrier;
};

struct uvh_h2_stream {
    struct uvh_h2 *h2;
    struct uvh_h2_stream *next; /* in its bucket of `table` */
    struct uvh_list link;       /* in h2->streams */
    struct uvh_list ready;      /* in a list of h2->ready */
    struct uvh_list waiting;    /* in h2->waiting */
    uint32_t id;
    int32_t send_window;
    int32_t receive_window;
    uint32_t consumed; /* as of the connection */
    uint32_t held;     /* bytes of DATA that are not consumed yet */
    struct uvh_h2_priority priority;
    unsigned char body_state; /* enum uvh_h2_body */
    bool ended : 1;           /* the client has ended its side */
    bool closed : 1;          /* not in the table: no frame may be sent */
    bool counted : 1;         /* in h2->active */
    bool body_complete : 1;   /* the end of the body was processed */
    bool continue_owed : 1;   /* the client may be waiting for 100 Continue */
    bool end_delivered : 1;   /* on_body was called for the end of the body */
    bool head_only : 1;       /* the response has no body */
    bool began : 1;           /* a part of the response's body was sent */
    bool ending : 1;          /* the stream ends after the queued output */
    bool stalled : 1;         /* the client's window delays the output */
    struct uvh_buffer *pinned;
    struct uvh_queue body;  /* of the request: collected, or kept until on_body gets it */
    uint64_t body_space;    /* bytes by which the body may still grow */
    uint64_t body_received; /* bytes so far */
    /* of the response: entries, or for a streamed body a queue, else NULL */
    struct uvh_output_entry *entries;
    struct uvh_output_entry entry;
    struct uvh_queue *queue;
    struct uvh_h2_tunnel *tunnel; /* NULL unless it was upgraded; the exchange is finished then */
    struct uvh_exchange base;
    uvhttp_head_t head; /* after base.match: both are large and need no zeroing */
};

_Static_assert(sizeof(struct uvh_h2_stream) <= UVH_ARENA_BLOCK_SIZE / 2,
               "a stream fits into its arena's first block");

static inline struct uvh_h2_stream *uvh_h2_stream_of(const struct uvh_exchange *base)
{
    return UVH_CONTAINER_OF((struct uvh_exchange *)(uintptr_t)base, struct uvh_h2_stream, base);
}

static inline struct uvh_worker *uvh_h2_worker(const struct uvh_h2 *h2)
{
    return UVH_CONTAINER_OF(h2->conn->shared, struct uvh_worker, conns);
}

static inline const uvhttp_config_t *uvh_h2_config(const struct uvh_h2 *h2)
{
    return &uvh_h2_worker(h2)->server->config;
}

/* ---- for protocols/ ---- */

/* Within an event of a new connection: it speaks HTTP/2 from now on. False: out of memory, and it
 * is closed. */
bool uvh_h2_begin(struct uvh_conn *conn);
/* NULL: another protocol. */
struct uvh_h2 *uvh_h2_of(const struct uvh_conn *conn);
bool uvh_h2_is_idle(const struct uvh_h2 *h2);
/* Within an event: closes an idle connection after GOAWAY. */
void uvh_h2_end_idle(struct uvh_h2 *h2);
/* Sends GOAWAY on every connection. */
void uvh_h2_drain_all(struct uvh_worker *worker);

/* ---- connection.c ---- */

static inline void uvh_h2_ref(struct uvh_h2 *h2)
{
    h2->refs++;
}
void uvh_h2_unref(struct uvh_h2 *h2);
/* The peer has ended its side: aborts what cannot be completed. */
void uvh_h2_abort_hopeless(struct uvh_h2 *h2);

/* ---- control.c: frames of stream 0, limits, and the end of a connection; within an event ---- */

/* A connection error: GOAWAY, and the end of all streams. */
void uvh_h2_fail(struct uvh_h2 *h2, enum uvh_h2_error error, const char *reason);
/* Permits no further requests after those that are on their way. */
void uvh_h2_shut_down(struct uvh_h2 *h2);
/* Permits no further requests; closes after the last response. */
void uvh_h2_refuse_more(struct uvh_h2 *h2);
void uvh_h2_send_settings(struct uvh_h2 *h2);
void uvh_h2_send_ping(struct uvh_h2 *h2);
void uvh_h2_send_reset(struct uvh_h2 *h2, uint32_t id, enum uvh_h2_error error);
void uvh_h2_send_window_update(struct uvh_h2 *h2, uint32_t id, uint32_t increment);
/* Counts frames without content. False: there were too many, and the connection has failed. */
bool uvh_h2_count_control(struct uvh_h2 *h2, uint32_t frames);
/* The same, of a kind that clients send because of responses: those allowed are not counted. */
bool uvh_h2_count_reply(struct uvh_h2 *h2);
void uvh_h2_count_reset(struct uvh_h2 *h2);
void uvh_h2_take_settings(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload);
void uvh_h2_take_ping(struct uvh_h2 *h2, const struct uvh_h2_frame *frame, const char *payload);

/* ---- receive.c ---- */

size_t uvh_h2_receive(struct uvh_conn *conn, char *data, size_t size);

/* ---- streams.c ---- */

/* The stream with that id in the table, or NULL. */
struct uvh_h2_stream *uvh_h2_find(const struct uvh_h2 *h2, uint32_t id);
/* Creates a stream, not yet in the table. NULL: out of memory. */
struct uvh_h2_stream *uvh_h2_stream_new(struct uvh_h2 *h2, uint32_t id);
void uvh_h2_stream_open(struct uvh_h2_stream *stream);
/* No frame may be sent any more. */
void uvh_h2_stream_close(struct uvh_h2_stream *stream);
/* The response was sent completely: finishes the exchange. */
void uvh_h2_complete(struct uvh_h2_stream *stream);
/* The exchange ends incomplete. */
void uvh_h2_abort(struct uvh_h2_stream *stream);
void uvh_h2_abort_all(struct uvh_h2 *h2);
/* A stream error: RST_STREAM, and the end of the exchange. */
void uvh_h2_reset(struct uvh_h2_stream *stream, enum uvh_h2_error error);
/* The same for a stream that does not exist any more, or never did. */
void uvh_h2_reset_id(struct uvh_h2 *h2, uint32_t id, enum uvh_h2_error error);
/* A request after the final GOAWAY: its frames are ignored (RFC 9113 section 6.8). */
static inline bool uvh_h2_is_ignored(const struct uvh_h2 *h2, uint32_t id)
{
    return h2->refusing && id > h2->last_served;
}
/* The entry of a stream whose late frames are ignored, or NULL. */
struct uvh_h2_recent *uvh_h2_recent(struct uvh_h2 *h2, uint32_t id);
/* Sets the timeout that applies now. `progress` restarts one of the same class. */
void uvh_h2_set_timeout(struct uvh_h2_stream *stream, bool progress);
/* The exchange is finished by the caller next. */
void uvh_h2_stream_discount(struct uvh_h2_stream *stream);

/* ---- head.c ---- */

/* A complete field block. */
void uvh_h2_take_block(struct uvh_h2 *h2, uint32_t id, bool ends, const char *block,
                       const char *end);
/* Responds with an error of the server. The stream may be invalid after this call. */
void uvh_h2_reject(struct uvh_h2_stream *stream, int status, const char *detail);

/* ---- body.c ---- */

/* A part of the body has arrived, in the receive buffer. `whole`: it is the last one, and whole.
 * The stream may be invalid after these calls. */
void uvh_h2_body_take(struct uvh_h2_stream *stream, char *data, size_t size, bool whole);
void uvh_h2_body_end(struct uvh_h2_stream *stream);
/* The middleware has passed the request on. */
void uvh_h2_body_start(struct uvh_h2_stream *stream);
/* Delivers what was kept. */
void uvh_h2_body_deliver(struct uvh_h2_stream *stream);
bool uvh_h2_body_is_due(const struct uvh_h2_stream *stream);
/* Bytes of DATA that were held need no space any more: returned to both windows. */
void uvh_h2_consume(struct uvh_h2_stream *stream, size_t size);
void uvh_h2_give_stream_window(struct uvh_h2_stream *stream, uint32_t size);
/* Sends what h2->consumed returns to the window of the connection, if it is much. */
void uvh_h2_give_window(struct uvh_h2 *h2);
/* See struct uvh_protocol. */
void uvh_h2_body_admitted(struct uvh_exchange *base);
void uvh_h2_body_pause(struct uvh_exchange *base);
void uvh_h2_body_read(struct uvh_exchange *base);

/* ---- fields.c: field blocks of responses; within an event, errors as uvh_output_reserve ---- */

/* Appends HEADERS of the final response, and reserves space after it. */
int uvh_h2_fields_put(struct uvh_h2_stream *stream, bool ends, size_t space_after);
int uvh_h2_fields_put_interim(struct uvh_h2_stream *stream, int status, bool with_fields);
/* Appends the trailers, which end the stream. */
int uvh_h2_fields_put_trailers(struct uvh_h2_stream *stream);

/* ---- send.c: the order of output ---- */

bool uvh_h2_has_output(const struct uvh_h2_stream *stream);
static inline size_t uvh_h2_queued(const struct uvh_h2_stream *stream)
{
    return stream->queue == NULL ? 0 : uvh_queue_size(stream->queue);
}
/* The stream has output: it is sent at the end of the event as far as possible. */
void uvh_h2_ready(struct uvh_h2_stream *stream);
void uvh_h2_unready(struct uvh_h2_stream *stream);
/* Bytes of a DATA frame that may be sent at once, before the output of other streams. */
size_t uvh_h2_allowed(const struct uvh_h2_stream *stream);
/* True when output is due, and the socket accepts some. */
bool uvh_h2_can_fill(const struct uvh_h2 *h2);
void uvh_h2_fill(struct uvh_conn *conn);
/* Writes a DATA frame's header, and counts its bytes against the windows. */
char *uvh_h2_put_data_head(struct uvh_h2_stream *stream, char *out, size_t size, bool ends);
void uvh_h2_set_priority(struct uvh_h2_stream *stream, struct uvh_h2_priority priority);

/* ---- respond.c; see struct uvh_protocol ---- */

int uvh_h2_respond(struct uvh_exchange *base);
int uvh_h2_stream_begin(struct uvh_exchange *base);
int uvh_h2_stream_write(struct uvh_exchange *base, uvhttp_slice_t chunk);
bool uvh_h2_stream_is_writable(const struct uvh_exchange *base);
size_t uvh_h2_stream_pending(const struct uvh_exchange *base);
void uvh_h2_stream_await_writable(struct uvh_exchange *base);
int uvh_h2_stream_end(struct uvh_exchange *base);
int uvh_h2_interim(struct uvh_exchange *base, int status);
void uvh_h2_abandon(struct uvh_exchange *base);
/* Within an event: ends the stream once everything is sent. Returns 0, or an error after which the
 * stream was reset. */
int uvh_h2_end_stream(struct uvh_h2_stream *stream);
/* NULL when out of memory. */
struct uvh_queue *uvh_h2_queue_new(struct uvh_h2_stream *stream);

/* ---- tunnel.c, within an event; the stream may be closed after these calls ---- */

int uvh_h2_upgrade(struct uvh_exchange *base);
void uvh_h2_tunnel_receive(struct uvh_h2_stream *stream, char *data, size_t size);
void uvh_h2_tunnel_peer_ended(struct uvh_h2_stream *stream);
bool uvh_h2_tunnel_is_due(const struct uvh_h2_stream *stream);
void uvh_h2_tunnel_continue(struct uvh_h2_stream *stream);
/* The stream is closed: notifies the user. */
void uvh_h2_tunnel_closed(struct uvh_h2_stream *stream);

/* ---- respond.c ---- */

/* The stream continues in a later loop iteration, when it can. */
static inline void uvh_h2_wait(struct uvh_h2_stream *stream)
{
    if (!stream->closed && uvh_list_empty(&stream->waiting))
        uvh_list_append(&stream->h2->waiting, &stream->waiting);
}
/* A stream of h2->waiting can continue. */
bool uvh_h2_is_drainable(const struct uvh_h2_stream *stream);
void uvh_h2_drain_stream(struct uvh_h2_stream *stream);

#endif
