/* An exchange: one request and its response, whatever protocol carries them.
 *
 * Always true: its memory comes from its arena and goes when it is released; it is released when it
 * is finished (answered or aborted) and nobody holds it. It knows its protocol only through struct
 * uvh_protocol, so that other protocols can carry exchanges without a change here. */
#ifndef UVH_SERVER_EXCHANGE_H
#define UVH_SERVER_EXCHANGE_H

#include "base/arena.h"
#include "http/request.h"
#include "http/response.h"
#include "route/router.h"
#include "server/worker.h"
#include "server/write_budget.h"

struct uvh_connection_data;
struct uvh_exchange;
struct uvh_tls_info;

/* What a protocol does for its exchanges. */
struct uvh_protocol {
    /* Sends the response, which is complete as a value. 0, or UVHTTP_ENOMEM with nothing sent.
     * Calls uvh_exchange_finish now or later. A client that has gone is no error here. */
    int (*respond)(struct uvh_exchange *exchange);
    /* The head of a response whose body comes in pieces (response->body.size says how long it is).
     * 0, or UVHTTP_ENOMEM with nothing sent. */
    int (*begin)(struct uvh_exchange *exchange);
    /* A piece of that body, not empty (from a handler that blocks: if it is, a flush): sent, or
     * copied. 0; UVHTTP_EFULL, UVHTTP_ELENGTH and UVHTTP_ENOMEM with nothing taken;
     * UVHTTP_EGONE. */
    int (*write)(struct uvh_exchange *exchange, uvhttp_slice_t piece);
    /* True when write would not say UVHTTP_EFULL. */
    bool (*has_room)(const struct uvh_exchange *exchange);
    size_t (*pending)(const struct uvh_exchange *exchange);
    /* uvh_exchange_drained is to be called when there is room, in a later turn if there is some
     * now. */
    void (*await_room)(struct uvh_exchange *exchange);
    /* Behind the last piece: trailers and all. Calls uvh_exchange_finish. 0, or an error, and then
     * the stream was ended at once. */
    int (*end)(struct uvh_exchange *exchange);
    /* The head of a 101, then the connection is response->stream's. Calls uvh_exchange_finish.
     * 0, UVHTTP_EINVAL (the request is not complete), UVHTTP_ENOMEM or UVHTTP_EGONE with
     * nothing sent. */
    int (*upgrade)(struct uvh_exchange *exchange);
    /* An interim answer with the fields set so far. 0, UVHTTP_ENOMEM or UVHTTP_EGONE. */
    int (*interim)(struct uvh_exchange *exchange, int status);
    /* A middleware that took its time has let the request pass: now its body, then
     * uvh_exchange_run. */
    void (*admitted)(struct uvh_exchange *exchange);
    /* request->body_paused has changed: nothing is to be read for now, or a body that is collected
     * again. */
    void (*pause_body)(struct uvh_exchange *exchange);
    /* response->on_peer_end was set: uvh_exchange_peer_ended is to be called once the client has
     * ended its side. */
    void (*await_peer_end)(struct uvh_exchange *exchange);
    bool (*peer_ended)(const struct uvh_exchange *exchange);
    /* request->on_body was set, or the body is not paused any more: read on. */
    void (*read_body)(struct uvh_exchange *exchange);
    /* Not even an error could be answered: the stream is to be ended at once. Calls
     * uvh_exchange_finish. */
    void (*abandon)(struct uvh_exchange *exchange);
    /* Nobody uses the exchange any more: the protocol frees its arena and goes on with the next
     * one. */
    void (*released)(struct uvh_exchange *exchange);
    /* A timeout of the exchange has expired, and is not armed any more. */
    void (*timed_out)(struct uvh_exchange *exchange, enum uvh_exchange_timeout timeout);
    /* The address of the connection's other end as text, "" when unknown. */
    void (*peer)(struct uvh_exchange *exchange, char *text);
    /* Where the connection keeps the user's data. */
    struct uvh_connection_data **(*connection_data)(struct uvh_exchange *exchange);
};

struct uvh_exchange {
    struct uvh_arena arena;
    struct uvh_worker *worker;
    const struct uvh_protocol *protocol;
    struct uvhttp_request request;
    struct uvhttp_response response;
    /* Of a body in pieces, in this loop iteration. */
    struct uvh_write_budget written;
    char *peer_text;
    const struct uvh_client *client; /* what proxies say; NULL until asked for */
    struct uvh_tls_info *tls;        /* of its connection, with a reference; NULL: plain text */
    /* the turn in which the head was complete (uvh_watch); 0: there never was one */
    uint64_t began;
    uint64_t sent;        /* bytes of the response handed to the protocol's output */
    struct uvh_list link; /* in worker->event_streams, of a stream of events only */
    struct uvh_timeout timeout;
    unsigned char timeout_class; /* enum uvh_exchange_timeout */
    struct uvh_job *spare_jobs;  /* that have run: the next ones use their memory (jobs.c) */
    unsigned holders;            /* handlers and senders on the stack, jobs */
    uint32_t next_middleware;    /* index of the one whose turn is next */
    bool handled;                /* the middleware is through: it is the handler's */
    /* a middleware has returned without an answer: it may proceed later */
    bool deciding;
    bool is_listed;         /* `link` is used */
    bool early;             /* its head was complete before the handshake was (RFC 8470) */
    bool finished;          /* nothing more will be sent: goes with the last holder */
    unsigned char lanes;    /* bits of enum uvh_lane in which it has had a job */
    struct uvh_match match; /* last: it is large, and the router sets what counts */
};

/* Prepares an exchange whose memory is zeroed up to `match`. */
void uvh_exchange_init(struct uvh_exchange *exchange, struct uvh_worker *worker,
                       const struct uvh_protocol *protocol, struct uvh_arena arena);

/* Finds the route of the request. */
void uvh_exchange_route(struct uvh_exchange *exchange);

/* The most bytes this request's body may have. */
uint64_t uvh_exchange_body_limit(const struct uvh_exchange *exchange);

/* True when the route takes its bodies in pieces. */
bool uvh_exchange_streams_body(const struct uvh_exchange *exchange);

/* Runs the middleware. True when all of them let the request pass: the body's turn, then
 * uvh_exchange_run. Otherwise it was answered, or will be, or `admitted` is called later; the
 * exchange may be gone. */
bool uvh_exchange_admit(struct uvh_exchange *exchange);

/* Runs the handler; answers for it when it fails or there is no route. The exchange may be gone
 * afterwards. */
void uvh_exchange_run(struct uvh_exchange *exchange);

/* A handler or callback has returned `result`: makes sure that a failure is answered and logged. */
void uvh_exchange_conclude(struct uvh_exchange *exchange, int result);

/* Hands a piece of the body to who takes it (`size` 0: it is complete). The exchange may be gone
 * afterwards. */
void uvh_exchange_deliver(struct uvh_exchange *exchange, const char *data, size_t size);

/* There is room for pieces again, and somebody waits for it. The exchange may be gone
 * afterwards. */
void uvh_exchange_drained(struct uvh_exchange *exchange);

/* Answers with a status of the server's own and closes the connection after it. `detail` goes into
 * the body. */
void uvh_exchange_refuse(struct uvh_exchange *exchange, int status, const char *detail);

/* Whoever may outlive an exchange's end on the stack or as a job holds it meanwhile. After letting
 * go it may be gone. */
static inline void uvh_exchange_hold(struct uvh_exchange *exchange)
{
    exchange->holders++;
}
/* For the next function: the exchange is over, and nobody holds it. */
void uvh_exchange_unheld(struct uvh_exchange *exchange);
static inline void uvh_exchange_let_go(struct uvh_exchange *exchange)
{
    exchange->holders--;
    if (exchange->finished && exchange->holders == 0)
        uvh_exchange_unheld(exchange);
}

/* By the protocol at the end of an event: which timeout the exchange is under. `progress` starts
 * one of the same class anew. */
void uvh_exchange_set_timeout(struct uvh_exchange *exchange, enum uvh_exchange_timeout timeout,
                              bool progress);

/* By the protocol, for timeouts. No answer came in time: logs that, and gives the status of the
 * response. */
int uvh_exchange_late_status(struct uvh_exchange *exchange);
/* A stream of events has been silent. */
void uvh_exchange_send_heartbeat(struct uvh_exchange *exchange);

/* The head of a stream of events has been sent: the server ends it when it stops. */
void uvh_exchange_begin_events(struct uvh_exchange *exchange);
/* Somebody waits for the end of the client's side. */
static inline bool uvh_exchange_awaits_peer_end(const struct uvh_exchange *exchange)
{
    const struct uvhttp_response *response = &exchange->response;
    return response->on_peer_end != NULL &&
           (response->state == UVH_RESPONSE_OPEN || response->state == UVH_RESPONSE_BEGUN);
}

/* It has come. The exchange may be gone afterwards. */
void uvh_exchange_peer_ended(struct uvh_exchange *exchange);

/* The server stops. The exchange may be gone afterwards. */
void uvh_exchange_end_events(struct uvh_exchange *exchange);

/* Bytes of the body that may leave now: UINT64_MAX unless its rate is limited. */
uint64_t uvh_exchange_allowed(const struct uvh_exchange *exchange);

/* By the protocol: the response has been sent completely, or can never be (`aborted`). Releases the
 * exchange when nobody uses it. */
void uvh_exchange_finish(struct uvh_exchange *exchange, bool aborted);

static inline struct uvh_exchange *uvh_exchange_of_request(uvhttp_request_t *request)
{
    return UVH_CONTAINER_OF(request, struct uvh_exchange, request);
}

static inline struct uvh_exchange *uvh_exchange_of_response(uvhttp_response_t *response)
{
    return UVH_CONTAINER_OF(response, struct uvh_exchange, response);
}

#endif
