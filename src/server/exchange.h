/* An exchange: one request and its response, independent of the protocol.
 *
 * Invariants: its memory comes from its arena and is freed on release; it is released when it is
 * finished (responded or aborted) and has no references. It accesses its protocol only through
 * struct uvh_protocol; only upgrades ask for the version (`is_http2`). */
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

/* The operations of a protocol for its exchanges. */
struct uvh_protocol {
    /* Sends a response that is complete as a value. Returns 0, or UVHTTP_ENOMEM with nothing sent.
     * Calls uvh_exchange_finish now or later. A disconnected client is no error here. */
    int (*respond)(struct uvh_exchange *exchange);
    /* Sends the head of a streamed response (response->body.size is its length). Returns 0, or
     * UVHTTP_ENOMEM with nothing sent. */
    int (*begin)(struct uvh_exchange *exchange);
    /* Sends or copies a chunk of that body, not empty (from a blocking handler an empty one is a
     * flush). Returns 0; UVHTTP_EFULL, UVHTTP_ELENGTH and UVHTTP_ENOMEM with nothing taken;
     * UVHTTP_EDISCONNECTED. */
    int (*write)(struct uvh_exchange *exchange, uvhttp_slice_t chunk);
    /* True when write would not return UVHTTP_EFULL. */
    bool (*is_writable)(const struct uvh_exchange *exchange);
    size_t (*pending)(const struct uvh_exchange *exchange);
    /* Requests a call of uvh_exchange_drained when a write would succeed, in a later loop iteration
     * if it would now. */
    void (*await_writable)(struct uvh_exchange *exchange);
    /* Ends a streamed response, after the last chunk, with its trailers. Calls uvh_exchange_finish.
     * Returns 0, or an error; then the stream was ended at once. */
    int (*end)(struct uvh_exchange *exchange);
    /* Sends the head of a 101; then response->stream owns the connection. Calls
     * uvh_exchange_finish. Returns 0, UVHTTP_EINVAL (the request is not complete), UVHTTP_ENOMEM or
     * UVHTTP_EDISCONNECTED with nothing sent. */
    int (*upgrade)(struct uvh_exchange *exchange);
    /* Sends an interim response with the fields set so far. Returns 0, UVHTTP_ENOMEM or
     * UVHTTP_EDISCONNECTED. */
    int (*interim)(struct uvh_exchange *exchange, int status);
    /* An asynchronous middleware has passed the request on: reads the body, then calls
     * uvh_exchange_run. */
    void (*admitted)(struct uvh_exchange *exchange);
    /* request->body_paused has changed: stops reading, or resumes reading a body that is
     * collected. */
    void (*pause_body)(struct uvh_exchange *exchange);
    /* response->on_peer_end was set: the protocol calls uvh_exchange_peer_ended once the client has
     * ended its side. */
    void (*await_peer_end)(struct uvh_exchange *exchange);
    bool (*peer_ended)(const struct uvh_exchange *exchange);
    /* request->on_body was set, or the body is no longer paused: continues reading. */
    void (*read_body)(struct uvh_exchange *exchange);
    /* Not even an error response can be sent: ends the stream at once. Calls
     * uvh_exchange_finish. */
    void (*abandon)(struct uvh_exchange *exchange);
    /* The exchange has no references: frees its arena and continues with the next one. */
    void (*released)(struct uvh_exchange *exchange);
    /* A timeout of the exchange has expired; it is no longer armed. */
    void (*timed_out)(struct uvh_exchange *exchange, enum uvh_exchange_timeout timeout);
    /* The address of the connection's peer as text, "" when unknown. */
    void (*peer)(struct uvh_exchange *exchange, char *text);
    /* The member of the connection that holds the application's data. */
    struct uvh_connection_data **(*connection_data)(struct uvh_exchange *exchange);
};

struct uvh_exchange {
    struct uvh_arena arena;
    struct uvh_worker *worker;
    struct uvh_use *use; /* of its routes */
    const struct uvh_protocol *protocol;
    struct uvhttp_request request;
    struct uvhttp_response response;
    /* For a streamed body, in this loop iteration. */
    struct uvh_write_budget written;
    const struct uvh_route *announced; /* by a preflight without a route of its own; or NULL */
    char *peer_text;
    const struct uvh_client *client; /* reported by proxies; NULL until evaluated */
    struct uvh_tls_info *tls;        /* of its connection, referenced; NULL: plain text */
    /* start of the loop iteration in which the head was complete (uvh_loop_stats); 0: no head */
    uint64_t began;
    uint64_t sent;        /* bytes of the response passed to the protocol's output */
    struct uvh_list link; /* in worker->event_streams; event streams only */
    struct uvh_timeout timeout;
    unsigned char timeout_class;     /* enum uvh_exchange_timeout */
    struct uvh_deferred *spare_jobs; /* completed jobs, whose memory is reused (jobs.c) */
    unsigned heavy_jobs;             /* queued or running, without cleanups */
    unsigned holders;                /* references: handlers and senders on the stack, jobs */
    uint32_t next_middleware;        /* index of the next one to run */
    bool routed;                     /* `match` is set */
    bool handled;                    /* all middleware has run: the request is with the handler */
    /* a middleware has returned without a response: it may proceed later */
    bool deciding;
    bool is_listed;         /* `link` is used */
    bool early;             /* its head was complete before the handshake (RFC 8470) */
    bool finished;          /* nothing more will be sent: released with the last reference */
    unsigned char lanes;    /* bits of enum uvh_lane in which it has had a job */
    struct uvh_match match; /* last: it is large, and the router initializes it */
};

/* Initializes an exchange whose memory is zeroed up to `match`. */
void uvh_exchange_init(struct uvh_exchange *exchange, struct uvh_worker *worker,
                       const struct uvh_protocol *protocol, struct uvh_arena arena);

/* The protocol calls it once, for an exchange that will be destroyed by uvh_exchange_unref. */
void uvh_exchange_begin_use(struct uvh_exchange *exchange);

/* Rewrites the path of the request, and finds its route. Returns 0, UVHTTP_EINVAL (the rewritten
 * path is invalid) or UVHTTP_ENOMEM. */
int uvh_exchange_route(struct uvh_exchange *exchange);

/* The maximum size of this request's body in bytes. */
uint64_t uvh_exchange_body_limit(const struct uvh_exchange *exchange);

/* True when the route streams request bodies. */
bool uvh_exchange_streams_body(const struct uvh_exchange *exchange);

/* Runs the middleware. True when all of it has passed the request on: read the body, then call
 * uvh_exchange_run. Otherwise a response was sent, or will be, or `admitted` is called later; the
 * exchange may be invalid after this call. */
bool uvh_exchange_admit(struct uvh_exchange *exchange);

/* Runs the handler; sends an error response when it fails or there is no route. The exchange may be
 * invalid after this call. */
void uvh_exchange_run(struct uvh_exchange *exchange);

/* A handler or callback has returned `result`: responds to and logs a failure. */
void uvh_exchange_conclude(struct uvh_exchange *exchange, int result);

/* Passes a chunk of the body to on_body (`size` 0: the body is complete). The exchange may be
 * invalid after this call. */
void uvh_exchange_deliver(struct uvh_exchange *exchange, const char *data, size_t size);

/* The output is writable again, and the response waits for it. The exchange may be invalid after
 * this call. */
void uvh_exchange_drained(struct uvh_exchange *exchange);

/* Sends an error response of the server. `detail` is added to the body. No effect after a
 * response. */
void uvh_exchange_refuse(struct uvh_exchange *exchange, int status, const char *detail);

/* References the exchange for code on the stack or a job that may outlive its end. It may be
 * invalid after uvh_exchange_unref. */
static inline void uvh_exchange_ref(struct uvh_exchange *exchange)
{
    exchange->holders++;
}
/* For the next function: the exchange is finished and has no references. */
void uvh_exchange_destroy(struct uvh_exchange *exchange);
static inline void uvh_exchange_unref(struct uvh_exchange *exchange)
{
    exchange->holders--;
    if (exchange->finished && exchange->holders == 0)
        uvh_exchange_destroy(exchange);
}

/* Called by the protocol at the end of an event: sets the timeout class. `progress` restarts a
 * timeout of the same class. */
void uvh_exchange_set_timeout(struct uvh_exchange *exchange, enum uvh_exchange_timeout timeout,
                              bool progress);

/* True for a response to HEAD, and for a status without a body: chunks are discarded. */
static inline bool uvh_exchange_discards_body(const struct uvh_exchange *exchange)
{
    int status = exchange->response.status;
    return exchange->request.head->method == UVHTTP_METHOD_HEAD || status == 205 ||
           uvh_response_is_bodiless(status);
}

/* Called by the protocol when the handler has not responded in time: logs that, and returns the
 * status of the response. */
int uvh_exchange_late_status(struct uvh_exchange *exchange);
/* Sends a comment on an idle event stream. */
void uvh_exchange_send_heartbeat(struct uvh_exchange *exchange);

/* The head of an event stream was sent: registers it, so that the server ends it when it stops. */
void uvh_exchange_begin_events(struct uvh_exchange *exchange);
/* True when the response waits for the end of the client's side. */
static inline bool uvh_exchange_awaits_peer_end(const struct uvh_exchange *exchange)
{
    const struct uvhttp_response *response = &exchange->response;
    return response->on_peer_end != NULL &&
           (response->state == UVH_RESPONSE_OPEN || response->state == UVH_RESPONSE_BEGUN);
}

/* The client has ended its side. The exchange may be invalid after this call. */
void uvh_exchange_peer_ended(struct uvh_exchange *exchange);

/* Ends an event stream when the server stops. The exchange may be invalid after this call. */
void uvh_exchange_end_events(struct uvh_exchange *exchange);

/* Bytes of the body that may be sent now: UINT64_MAX unless its rate is limited. */
uint64_t uvh_exchange_allowed(const struct uvh_exchange *exchange);

/* Called by the protocol: the response was sent completely, or never can be (`aborted`). Releases
 * the exchange when it has no references. */
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
