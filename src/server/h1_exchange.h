/* What HTTP/1.1 keeps for one exchange beyond the neutral part: the parsed head and how far the body has come.
 *
 * Always true: the head's bytes lie in a buffer that stays pinned (`pinned`) once the receive event that brought them is over. */
#ifndef UVH_SERVER_H1_EXCHANGE_H
#define UVH_SERVER_H1_EXCHANGE_H

#include "base/bytes.h"
#include "server/exchange.h"

struct uvh_conn;

/* How a response's body ends (RFC 9112 section 6.3). */
enum uvh_h1_sends {
    UVH_H1_SENDS_NOTHING = 0, /* no body follows the head: HEAD, 204, 304 */
    UVH_H1_SENDS_LENGTH,
    UVH_H1_SENDS_CHUNKS,
    UVH_H1_SENDS_TO_END, /* of the connection: unknown length for a client of HTTP/1.0 */
};

struct uvh_h1_exchange {
    struct uvh_conn *conn;
    struct uvh_buffer *pinned;
    struct uvh_bytes body;   /* a body that did not arrive in one piece with its head */
    uint64_t body_room;      /* bytes the body may still grow by */
    uint64_t body_remaining; /* bytes of a Content-Length body */
    uvhttp_chunked_t chunked;
    uvhttp_head_t *trailers; /* set when the last chunk was seen */
    bool request_complete;   /* body and all */
    bool head_timed;         /* the time for the head is running */
    bool continue_owed;      /* the client waits to be asked for the body */
    bool body_told;          /* who takes the body in pieces knows that it is complete */
    unsigned char sends;     /* enum uvh_h1_sends, of a response in pieces */
    struct uvh_exchange base;
    uvhttp_head_t head; /* behind the base's match: both are large and need no zeroing */
};

_Static_assert(sizeof(struct uvh_h1_exchange) <= UVH_ARENA_BLOCK_SIZE / 2,
               "an exchange fits into its arena's first block");

/* A new exchange of this connection, or NULL when memory ran out. */
struct uvh_h1_exchange *uvh_h1_exchange_new(struct uvh_conn *conn);

static inline struct uvh_h1_exchange *uvh_h1_exchange_of(struct uvh_exchange *exchange)
{
    return UVH_CONTAINER_OF(exchange, struct uvh_h1_exchange, base);
}

#endif
