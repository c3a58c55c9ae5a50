/* An exchange: one request and its response, whatever protocol carries them.
 *
 * Always true: its memory comes from its arena and goes when it is released; it is released when it is finished (answered or
 * aborted) and nobody holds it. It knows its protocol only through
 * struct uvh_protocol, so that other protocols can carry exchanges without a change here. */
#ifndef UVH_SERVER_EXCHANGE_H
#define UVH_SERVER_EXCHANGE_H

#include "base/arena.h"
#include "http/request.h"
#include "http/response.h"
#include "route/router.h"
#include "server/worker.h"

struct uvh_exchange;

/* What a protocol does for its exchanges. */
struct uvh_protocol {
    /* Sends the response, which is complete as a value. 0, or UVHTTP_ENOMEM with nothing sent. Calls uvh_exchange_finish now or
     * later. A client that has gone is no error here. */
    int (*respond)(struct uvh_exchange *exchange);
    /* Not even an error could be answered: the stream is to be ended at once. Calls uvh_exchange_finish. */
    void (*abandon)(struct uvh_exchange *exchange);
    /* Nobody uses the exchange any more: the protocol frees its arena and goes on with the next one. */
    void (*released)(struct uvh_exchange *exchange);
    /* The client's address as text, "" when unknown. */
    void (*peer)(struct uvh_exchange *exchange, char *text);
};

struct uvh_exchange {
    struct uvh_arena arena;
    struct uvh_worker *worker;
    const struct uvh_protocol *protocol;
    struct uvhttp_request request;
    struct uvhttp_response response;
    char *peer_text;
    unsigned holders;       /* handlers and senders on the stack, jobs on the thread pool */
    bool finished;          /* nothing more will be sent: goes with the last holder */
    struct uvh_match match; /* last: it is large, and the router sets what counts */
};

/* Prepares an exchange whose memory is zeroed up to `match`. */
void uvh_exchange_init(struct uvh_exchange *exchange, struct uvh_worker *worker,
                       const struct uvh_protocol *protocol, struct uvh_arena arena);

/* Finds the route of the request. */
void uvh_exchange_route(struct uvh_exchange *exchange);

/* The most bytes this request's body may have. */
size_t uvh_exchange_body_limit(const struct uvh_exchange *exchange);

/* Runs middleware and handler; answers for them when they fail or there is no route. The exchange may be gone afterwards. */
void uvh_exchange_run(struct uvh_exchange *exchange);

/* Answers with a status of the server's own and closes the connection after it. `detail` goes into the body. */
void uvh_exchange_refuse(struct uvh_exchange *exchange, int status, const char *detail);

/* Whoever may outlive an exchange's end on the stack or on the thread pool holds it meanwhile. After letting go it may be gone. */
void uvh_exchange_hold(struct uvh_exchange *exchange);
void uvh_exchange_let_go(struct uvh_exchange *exchange);

/* By the protocol: the response has been sent completely, or can never be (`aborted`). Releases the exchange when nobody uses it. */
void uvh_exchange_finish(struct uvh_exchange *exchange, bool aborted);

static inline struct uvh_exchange *uvh_exchange_of_response(uvhttp_response_t *response)
{
    return UVH_CONTAINER_OF(response, struct uvh_exchange, response);
}

#endif
