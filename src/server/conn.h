/* A connection: a socket, what has been received but not used, what is to be sent, and the exchange at work.
 *
 * Three small states that vary on their own; uvh_conn_check says which combinations are legal and runs after every event in debug
 * builds. What a connection watches and which timeout it is under follow from them (uvh_conn_settle). An idle keep-alive connection
 * is this struct and nothing else, so its size is asserted. */
#ifndef UVH_SERVER_CONN_H
#define UVH_SERVER_CONN_H

#include <stdint.h>

#include "net/socket_watch.h"
#include "platform/socket.h"
#include "server/exchange.h"
#include "server/h1_exchange.h"
#include "server/stream.h"

enum uvh_conn_life {
    UVH_CONN_OPEN = 0,
    UVH_CONN_CLOSED, /* the socket is closed, and the memory waits for libuv and for the exchange; or not open yet (stream_connect.c) */
};

enum uvh_conn_rx {
    UVH_RX_HEAD = 0, /* between requests or within a head */
    UVH_RX_BODY,
    UVH_RX_WAIT,    /* the exchange has its request; what comes now is kept for later */
    UVH_RX_STREAM,  /* no HTTP any more: what comes is the stream's */
    UVH_RX_STOPPED, /* nothing more will be understood; what comes is thrown away until the client notices */
};

enum uvh_conn_tx {
    UVH_TX_IDLE = 0, /* everything handed over was sent; `out` may hold answers of this event */
    UVH_TX_BODY,     /* the response's body follows what `out` holds */
    UVH_TX_FLUSH,    /* the socket is full, `out` has the rest */
};

/* Bytes received and not used yet, in a buffer that is pinned for them. */
struct uvh_conn_input {
    struct uvh_buffer *buffer; /* NULL when there are none */
    uint32_t offset;
    uint32_t length;
};

/* Bytes to be sent, [begin, end) of a buffer. */
struct uvh_conn_output {
    struct uvh_buffer *buffer; /* NULL when there are none */
    uint32_t begin;
    uint32_t end;
};

struct uvh_conn {
    struct uvh_socket_watch watch;
    struct uvh_timeout timeout;
    struct uvh_worker *worker;
    struct uvh_h1_exchange *exchange; /* NULL between requests; there from the first byte of a head on */
    struct uvhttp_stream *stream;     /* NULL while the connection speaks HTTP */
    struct uvh_conn_input in;
    struct uvh_conn_output out;
    struct uvh_connection_data *data; /* the user's; NULL until asked for */
    uint32_t requests;                /* on this connection so far */
    uint32_t
        write_timeout; /* seconds, of the route of the last head in `out`; 0: the server's. The exchange may be over before all is sent */
    unsigned char life;
    unsigned char rx;
    unsigned char tx;
    unsigned char timeout_class;
    bool corked : 1;      /* answers are being collected; whoever set it flushes */
    bool peer_ended : 1;  /* the client has ended its side */
    bool close_after : 1; /* no request is taken any more; close once everything is sent */
    bool unread : 1;      /* the client may still be sending, so closing must linger */
    bool handle_closed : 1;
    bool outgoing : 1; /* made by us, so not one of those that are counted and limited */
};

/* 10,000 idle connections are to cost at most 512 bytes each, allocator and libuv's table included. */
_Static_assert(sizeof(struct uvh_conn) <= 304, "an idle connection stays small");

/* Takes over an accepted socket: 0, or UVHTTP_ENOMEM or libuv's code and it stays the caller's. `reject`: answer 503 and close. */
int uvh_conn_accept(struct uvh_worker *worker, int socket, bool reject);

/* Closes at once; an exchange at work is aborted. Harmless when closed already. */
void uvh_conn_close(struct uvh_conn *conn);

/* The timeout `conn` is under has expired. */
void uvh_conn_timed_out(struct uvh_conn *conn);

/* Deals with what was left for the next loop turn (RESUME class): bytes that were kept, a handler that waits for room. */
void uvh_conn_resume(struct uvh_conn *conn);

/* The server drains: a connection without a request is closed, after one last look whether one has come. */
void uvh_conn_drain(struct uvh_conn *conn);

/* Brings interest and timeout in line with the states. Called at the end of every event; `progress` re-arms a timeout of the same class. */
void uvh_conn_settle(struct uvh_conn *conn, bool progress);

/* The exchange has been released: flushes, then goes on with the next request or closes. */
void uvh_conn_continue(struct uvh_conn *conn);

/* Closes (at once or lingering) when close_after is set and nothing is left to send. */
void uvh_conn_close_if_done(struct uvh_conn *conn);

/* True when bytes at hand would be taken as a head or a body. */
static inline bool uvh_conn_takes_bytes(const struct uvh_conn *conn)
{
    if (conn->life == UVH_CONN_CLOSED)
        return false;
    if (conn->rx == UVH_RX_STREAM)
        return !conn->stream->paused && !conn->close_after;
    if (conn->tx != UVH_TX_IDLE)
        return false;
    if (conn->rx == UVH_RX_HEAD)
        return !conn->close_after;
    return conn->rx == UVH_RX_BODY && !conn->exchange->base.request.body_paused;
}

/* Something was sent outside of reading: closes, or settles and sees to what has been received meanwhile. */
void uvh_conn_proceed(struct uvh_conn *conn);

/* Somebody takes bytes again: the same without the news that the client has taken some, so a write timeout goes on. */
void uvh_conn_read_on(struct uvh_conn *conn);

/* The callbacks of an event have returned: what they wrote is sent. False when the connection has ended. */
bool uvh_conn_uncork(struct uvh_conn *conn);

/* Tells who was refused a piece, when everything has left meanwhile. False when nobody waits for that. */
bool uvh_conn_tell_drained(struct uvh_conn *conn);

/* The peer's address as text for a log line, in a buffer that is used again. */
const char *uvh_conn_peer(const struct uvh_conn *conn, char text[UVH_SOCKET_ADDRESS_TEXT]);

/* Asserts that the states fit together. */
void uvh_conn_check(const struct uvh_conn *conn);

/* conn_rx.c: the socket is readable; bytes are at hand. */
void uvh_conn_rx_readable(struct uvh_conn *conn);
void uvh_conn_rx_kept(struct uvh_conn *conn);
/* Refuses the request at hand, or the one that has not even begun, and closes after the answer. */
void uvh_conn_rx_refuse(struct uvh_conn *conn, int status, const char *detail);

void uvh_conn_rx_refuse_reason(struct uvh_conn *conn, uvhttp_reason_t reason);
/* A head or a trailer section was found bad. True when that was for want of places for fields, of which there are now as many as are allowed: it is to be parsed again; false with
 * `*out_of_memory` set when there was no memory for them. The table that is there from the beginning holds what clients send. */
bool uvh_conn_rx_larger_table(struct uvh_arena *arena, uvhttp_head_t *head,
                              const uvhttp_head_limits_t *limits, bool *out_of_memory);

/* conn_body.c: the middleware has let the request pass; of its body `length` bytes are at hand. Both return how many of them are used. */
size_t uvh_conn_body_start(struct uvh_conn *conn, char *data, size_t length);
size_t uvh_conn_body_take(struct uvh_conn *conn, char *data, size_t length);
/* A middleware has let the request pass after a while. */
void uvh_conn_body_admitted(struct uvh_exchange *base);
/* Nobody takes the body for now. */
void uvh_conn_body_pause(struct uvh_exchange *base);
/* Somebody takes the body in pieces now, or again. */
void uvh_conn_body_read(struct uvh_exchange *base);

/* conn_pieces.c: responses in pieces, as struct uvh_protocol says. */
int uvh_conn_pieces_begin(struct uvh_exchange *base);
int uvh_conn_pieces_write(struct uvh_exchange *base, uvhttp_slice_t piece);
bool uvh_conn_pieces_has_room(const struct uvh_exchange *base);
size_t uvh_conn_pieces_pending(const struct uvh_exchange *base);
void uvh_conn_pieces_await_room(struct uvh_exchange *base);
int uvh_conn_pieces_end(struct uvh_exchange *base);
int uvh_conn_pieces_interim(struct uvh_exchange *base, int status);
/* True when everything was sent and somebody waits for that to send more. There is an exchange. */
bool uvh_conn_pieces_waits_for_room(const struct uvh_conn *conn);

/* stream.c: hands the connection over, as struct uvh_protocol says. */
int uvh_conn_upgrade(struct uvh_exchange *base);

/* conn_protocol.c */
extern const struct uvh_protocol uvh_conn_protocol;

/* conn_head.c */
/* Appends the head of the response and leaves room behind it; decides whether the connection goes on. Errors as uvh_conn_tx_reserve. */
int uvh_conn_head_put(struct uvh_conn *conn, enum uvh_h1_sends sends, size_t room_behind);
/* The connection goes on behind the response, as far as it can be known now. */
bool uvh_conn_head_keeps_alive(const struct uvh_h1_exchange *exchange);
/* Appends an interim response with the fields set so far. */
int uvh_conn_head_interim(struct uvh_conn *conn, int status);
/* True when no body may follow the head. */
bool uvh_conn_head_only(const struct uvh_h1_exchange *exchange);

/* conn_standing.c */
/* Counts the response if it is one that can stand whole, and gives its place in worker->standing; else NULL. `out` is empty then. */
struct uvh_standing_answer *uvh_conn_standing_ask(const struct uvh_h1_exchange *exchange);
/* Keeps it if it has become worth that: its head alone is in `out`, nothing of both has been sent from there. */
void uvh_conn_standing_keep(const struct uvh_h1_exchange *exchange, struct uvh_standing_answer *answer);

/* conn_tx.c */
/* As struct uvh_protocol says. */
int uvh_conn_tx_respond(struct uvh_exchange *base);
void uvh_conn_tx_writable(struct uvh_conn *conn);
/* Sends what is collected. 0 when all is gone or the socket is full; negative when the connection is broken (and closed). */
int uvh_conn_tx_flush(struct uvh_conn *conn);
/* Appends bytes that stand outside an exchange (100 Continue), or pieces of a body. 0, UVHTTP_ENOMEM or UVHTTP_EGONE. */
int uvh_conn_tx_append(struct uvh_conn *conn, const char *bytes, size_t length);
/* Makes room for `size` bytes behind `out`; UVHTTP_ENOMEM with nothing changed, UVHTTP_EGONE when the connection broke. */
int uvh_conn_tx_reserve(struct uvh_conn *conn, size_t size);
/* The socket is full: what waits goes to a buffer that fits if it is little, so that thousands of clients that take nothing do not hold a whole
 * buffer each. Without memory it stays where it is. */
void uvh_conn_tx_tighten(struct uvh_conn *conn);
/* The response is complete and lies in `out`: finishes the exchange, and sends unless the caller does so at the end of its event. */
void uvh_conn_tx_complete(struct uvh_conn *conn);
/* Closes at once, in the middle of a response; what was complete before it is sent. */
void uvh_conn_tx_abandon(struct uvh_conn *conn);
/* Bytes of the body that may leave now: UINT64_MAX unless its rate is limited. */
uint64_t uvh_conn_tx_allowed(const struct uvh_exchange *base);
/* More of the response may only leave when time has passed. */
bool uvh_conn_tx_paced(const struct uvh_conn *conn);
/* What waits to be sent. */
uvhttp_slice_t uvh_conn_tx_waiting(const struct uvh_conn *conn);
/* Counts sent bytes, those of `out` first; the number of the others. */
size_t uvh_conn_tx_sent(struct uvh_conn *conn, size_t count);

/* conn_parts.c: goes on with a body in several parts when the one before has been sent. Short ones in memory are copied to `out`, as far as
 * it has room; the first other one becomes the response's body. False when nothing was left. */
bool uvh_conn_parts_next(struct uvh_conn *conn);

/* conn_write.c */
/* Sends these areas, of `size` bytes together, behind what was collected: at once from where they lie, or at the end of the event; what the
 * socket does not take is copied. 0, UVHTTP_ENOMEM with nothing taken, or UVHTTP_EGONE. */
enum { UVH_CONN_WRITE_AREAS = UVH_SOCKET_MAX_AREAS - 1 };
int uvh_conn_write(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count, size_t size);
/* The first half of that: at once, whatever their size. 0 or UVHTTP_EGONE. */
int uvh_conn_write_now(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count);
/* Sends what is collected unless the caller does so at the end of its event, and settles. 0 or UVHTTP_EGONE. */
int uvh_conn_write_push(struct uvh_conn *conn);

#endif
