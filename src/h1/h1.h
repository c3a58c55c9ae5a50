/* HTTP/1.1 on a connection: one exchange at a time.
 *
 * Invariants: the owner of an HTTP/1.1 connection is its exchange, from the first byte of a head
 * until it is released; the head's bytes are pinned (`pinned`) after the event that received
 * them. */
#ifndef UVH_H1_H1_H
#define UVH_H1_H1_H

#include "base/bytes.h"
#include "conn/conn.h"
#include "server/exchange.h"

enum uvh_h1_state {
    UVH_H1_HEAD = 0, /* between requests or within a head */
    UVH_H1_BODY,     /* a body is being read */
    UVH_H1_WAIT,     /* the request is with the exchange; further input stays in the socket */
};

struct uvh_h1 {
    struct uvh_conn conn;
    uint32_t requests;   /* on this connection so far */
    uint32_t skip;       /* bytes of the last request's body that are discarded when they arrive */
    unsigned char state; /* enum uvh_h1_state */
};

/* 10,000 idle connections must use at most 260 bytes each, including allocator overhead. */
_Static_assert(UVH_POLLER_EPOLL == 0 || sizeof(struct uvh_h1) <= 224,
               "an idle connection stays small");

/* bytes of a body that arrive after the response and are discarded, so that the connection stays
 * open */
enum { UVH_H1_SKIPPED_BODY = 65536 };

/* How a response's body ends (RFC 9112 section 6.3). */
enum uvh_h1_sends {
    UVH_H1_SENDS_NOTHING = 0, /* no body follows the head: HEAD, 204, 304 */
    UVH_H1_SENDS_LENGTH,
    UVH_H1_SENDS_CHUNKS,
    UVH_H1_SENDS_TO_END, /* until close: unknown length for an HTTP/1.0 client */
};

struct uvh_h1_exchange {
    struct uvh_h1 *h1;
    struct uvh_buffer *pinned;
    struct uvh_bytes body;   /* a body that did not arrive completely with its head */
    uint64_t body_space;     /* bytes by which the body may still grow */
    uint64_t body_remaining; /* bytes still to come of a Content-Length body */
    uvhttp_chunked_t chunked;
    uvhttp_head_t *trailers;       /* set after the last chunk */
    struct uvh_output_entry entry; /* of the response's body, unless it has several parts */
    bool request_complete;         /* including the body */
    bool head_timed;               /* the timeout for the head is running */
    bool continue_owed;            /* the client may be waiting for 100 Continue */
    bool end_delivered;            /* on_body was called for the end of the body */
    bool body_queued;              /* the response ends when the output queue is empty */
    unsigned char sends;           /* enum uvh_h1_sends, of a streamed response */
    struct uvh_exchange base;
    uvhttp_head_t head; /* after base.match: both are large and need no zeroing */
};

_Static_assert(sizeof(struct uvh_h1_exchange) <= UVH_ARENA_BLOCK_SIZE / 2,
               "an exchange fits into its arena's first block");

static inline struct uvh_h1 *uvh_h1_of(struct uvh_conn *conn)
{
    return UVH_CONTAINER_OF(conn, struct uvh_h1, conn);
}

static inline struct uvh_h1_exchange *uvh_h1_exchange(const struct uvh_h1 *h1)
{
    return h1->conn.owner;
}

static inline struct uvh_h1_exchange *uvh_h1_exchange_of(struct uvh_exchange *exchange)
{
    return UVH_CONTAINER_OF(exchange, struct uvh_h1_exchange, base);
}

static inline struct uvh_worker *uvh_h1_worker(const struct uvh_h1 *h1)
{
    return UVH_CONTAINER_OF(h1->conn.shared, struct uvh_worker, conns);
}

/* True when the rest of the request's body can be discarded: it is short, and the client will send
 * it. A client that waits for 100 Continue may omit it. */
static inline bool uvh_h1_skips_body(const struct uvh_h1_exchange *exchange)
{
    return exchange->base.request.framing.body == UVHTTP_BODY_LENGTH &&
           exchange->body_remaining <= UVH_H1_SKIPPED_BODY && !exchange->continue_owed;
}

/* protocol.c. The user of a connection that speaks HTTP/1.1. */
extern const struct uvh_conn_user uvh_h1_user;
/* The same until the protocol of the connection is chosen (server/protocols.h). */
extern const struct uvh_conn_user uvh_h1_first_user;
/* True between requests, with nothing received or pending. */
bool uvh_h1_is_idle(const struct uvh_conn *conn);
/* Creates an exchange on this connection; NULL when out of memory. */
struct uvh_h1_exchange *uvh_h1_exchange_new(struct uvh_h1 *h1);

/* receive.c, all within an event. */
size_t uvh_h1_receive(struct uvh_conn *conn, char *data, size_t size);
/* Responds to the current request with an error. The connection stays open if possible. */
void uvh_h1_refuse(struct uvh_h1 *h1, int status, const char *detail);
/* Rejects the current request, or a connection without one, and closes after the response. */
void uvh_h1_reject(struct uvh_h1 *h1, int status, const char *detail);
void uvh_h1_reject_reason(struct uvh_h1 *h1, uvhttp_reason_t reason);
void uvh_h1_out_of_memory(struct uvh_conn *conn);
/* Called after a parse error of a head or trailer section. True when it had too many fields for the
 * table, and the table now has the maximum size: parse again. False with `*out_of_memory` set when
 * out of memory. */
bool uvh_h1_larger_table(struct uvh_arena *arena, uvhttp_head_t *head,
                         const uvhttp_head_limits_t *limits, bool *out_of_memory);

/* body.c, within an event. The middleware has passed the request on. `length` bytes of its body are
 * in `data`. Both return how many of them are consumed. */
size_t uvh_h1_body_start(struct uvh_h1 *h1, char *data, size_t length);
size_t uvh_h1_body_take(struct uvh_h1 *h1, char *data, size_t length);
/* See struct uvh_protocol. */
void uvh_h1_body_admitted(struct uvh_exchange *base);
void uvh_h1_body_pause(struct uvh_exchange *base);
void uvh_h1_body_read(struct uvh_exchange *base);

/* head.c, within an event. */
/* Appends the head of the response and reserves space after it; decides whether the connection
 * stays open. Errors as uvh_output_reserve. */
int uvh_h1_head_put(struct uvh_h1 *h1, enum uvh_h1_sends sends, size_t space_after);
/* True when the connection stays open after the response, as far as is known now. */
bool uvh_h1_head_keeps_alive(const struct uvh_h1_exchange *exchange);
/* Appends an interim response with the fields set so far. */
int uvh_h1_head_interim(struct uvh_h1 *h1, int status);
/* True when no body may follow the head. */
bool uvh_h1_head_only(const struct uvh_h1_exchange *exchange);

/* respond.c */
/* See struct uvh_protocol. */
int uvh_h1_respond(struct uvh_exchange *base);
int uvh_h1_upgrade(struct uvh_exchange *base);
void uvh_h1_abandon(struct uvh_exchange *base);
/* Within an event: the response is complete and in the output. Finishes the exchange. */
void uvh_h1_complete(struct uvh_h1 *h1);
/* See struct uvh_conn_user. */
void uvh_h1_sent(struct uvh_conn *conn);
void uvh_h1_read_failed(struct uvh_conn *conn, int error);

/* chunks.c: streamed responses; see struct uvh_protocol. */
int uvh_h1_chunks_begin(struct uvh_exchange *base);
int uvh_h1_chunks_write(struct uvh_exchange *base, uvhttp_slice_t part);
bool uvh_h1_chunks_is_writable(const struct uvh_exchange *base);
size_t uvh_h1_chunks_pending(const struct uvh_exchange *base);
void uvh_h1_chunks_await_room(struct uvh_exchange *base);
int uvh_h1_chunks_end(struct uvh_exchange *base);
int uvh_h1_chunks_interim(struct uvh_exchange *base, int status);

#endif
