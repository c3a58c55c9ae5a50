/* A worker: one loop with everything that its connections share: memory pools, timeouts, counters,
 * the current date, listeners.
 *
 * Invariants: used on the loop's thread only, except for the members following `padding`.
 * Connections of one worker never access another worker, and stay with theirs from accept
 * (accept.c) to close. */
#ifndef UVH_SERVER_WORKER_H
#define UVH_SERVER_WORKER_H

#include <uv.h>

#include <uvhttp/parser.h>
#include <uvhttp/server.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "conn/shared.h"
#include "net/inbox.h"
#include "net/timeouts.h"
#include "server/counters.h"
#include "server/exemplars.h"
#include "server/loop_stats.h"
#include "server/overload.h"
#include "server/response_cache.h"
#include "server/stuck.h"

struct uvh_route;
struct uvh_use;
struct uvhttp_router;
struct uvh_server;

/* The timeout class of an exchange; each is one list. docs/design/timeouts.md says what a new one
 * needs. */
enum uvh_exchange_timeout {
    UVH_EXCHANGE_TIMEOUT_BODY = 0,  /* its body is being read */
    UVH_EXCHANGE_TIMEOUT_HANDLER,   /* a handler has the request and has not responded */
    UVH_EXCHANGE_TIMEOUT_HEARTBEAT, /* event streams: a comment is due */
    /* its rate is limited: more may be sent at the next tick */
    UVH_EXCHANGE_TIMEOUT_PACE,
    /* HTTP/2: the client's flow control delays the response */
    UVH_EXCHANGE_TIMEOUT_WRITE,
    UVH_EXCHANGE_TIMEOUT_NONE
};

enum uvh_worker_life {
    UVH_WORKER_RUNNING = 0,
    UVH_WORKER_DRAINING, /* no new connections; open exchanges may finish */
    UVH_WORKER_CLOSING,  /* only handles are open; they are being closed */
};

/* The state that the server requests of a worker, in the order of a shutdown. */
enum uvh_worker_state {
    UVH_WORKER_SERVE = 0,
    UVH_WORKER_DRAIN,      /* accept no more; each connection closes after its next response */
    UVH_WORKER_CLOSE_IDLE, /* also close connections without a request */
    UVH_WORKER_END,        /* close all connections */
};

enum { UVH_CACHE_LINE = 64 };

enum {
    UVH_OK_LINE_SIZE = 17,   /* "HTTP/1.1 200 OK" + CR LF */
    UVH_DATE_LINE_SIZE = 37, /* "Date: " + 29 + CR LF */
    UVH_DATE_FIELD_MAX = 48, /* encoded for HTTP/2 */
};

/* Log lines about failed connections in the second that started at `begun` (loop time). */
struct uvh_handshake_log {
    uint64_t begun;
    unsigned lines; /* may exceed the number logged */
};

struct uvh_worker {
    struct uvh_server *server;
    uv_loop_t *loop;
    size_t index; /* 0: the one on the caller's thread */
    struct uvh_conn_shared conns;
    struct uvh_arena_pool arenas;
    struct uvh_timeout_list exchange_timeouts[UVH_EXCHANGE_TIMEOUT_NONE];
    struct uvh_timeout_lengths *exchange_lengths; /* timeouts set by routes; NULL: none */
    uv_timer_t tick;  /* checks the timeouts; active while there are any */
    uv_idle_t resume; /* active while work is pending for the next loop iteration */
    uvhttp_head_limits_t head_limits;
    uvhttp_head_limits_t trailer_limits;
    struct uvh_counters counters;
    struct uvh_loop_stats loop_stats;
    struct uvh_exemplars exemplars;
    struct uvh_overload *overload; /* the following, or NULL: not configured */
    struct uvh_overload overload_guard;
    struct uvh_use *use;     /* for exchanges that begin now */
    struct uvh_list retired; /* uses of replaced generations */
    struct uvh_response_cache response_cache;
    /* whose handler or middleware runs, for the watcher; NULL: unknown or none */
    const struct uvh_route *_Atomic running_route;
    atomic_uchar running_method; /* uvhttp_method_t of its request */
    struct uvh_stuck_loop stuck; /* the watcher's */
    struct uvh_list listeners;
    struct uvh_list event_streams; /* exchanges that the worker ends when it drains */
    struct uvh_list http2;         /* connections of HTTP/2 */
    bool blocking_full;  /* the queue for blocking handlers is full, and this was logged */
    bool blocking_late;  /* a request has waited in it for too long, and this was logged */
    size_t compared;     /* index of the worker it last compared its load with */
    bool accept_failing; /* set when logged */
    struct uvh_handshake_log handshake_log;
    size_t ended_streams;  /* by the drain */
    bool draining;         /* copy of `life`, for connections */
    bool closes_idle;      /* draining, and connections without a request are closed */
    bool reading;          /* messages are being read */
    bool messages_here;    /* messages queued on this thread, to be read in the next iteration */
    unsigned char life;    /* enum uvh_worker_life */
    uint64_t date_expires; /* loop time at which the date expires */
    char head_begin[UVH_OK_LINE_SIZE + UVH_DATE_LINE_SIZE];
    char date_field[UVH_DATE_FIELD_MAX]; /* Date for HTTP/2 */
    uint8_t date_field_size;

    /* padding against false sharing: other threads write to the following */
    char padding[UVH_CACHE_LINE];
    struct uvh_inbox inbox;
    atomic_size_t load;           /* connections open here or handed to this worker */
    atomic_uchar requested_state; /* enum uvh_worker_state */
    char padding_2[UVH_CACHE_LINE];
};

/* Returns 0 or libuv's code; then nothing is left open. `worker` is zeroed; the caller owns the
 * loop. */
int uvh_worker_init(struct uvh_worker *worker, struct uvh_server *server, size_t index,
                    uv_loop_t *loop);
/* Frees the pools; every connection and handle must be closed. */
void uvh_worker_release(struct uvh_worker *worker);
/* Starts closing the worker's handles; `closed` runs once for each of the UVH_WORKER_HANDLES. */
enum { UVH_WORKER_HANDLES = 3 + UVH_LOOP_STATS_HANDLES + UVH_POLLER_HANDLES };
void uvh_worker_close(struct uvh_worker *worker, uv_close_cb closed);

/* For the timeouts that routes set: the bytes of memory for the next function, 0: none is needed.
 */
size_t uvh_worker_lengths_size(const struct uvhttp_router *router);
/* Takes ownership of `memory`. */
void uvh_worker_add_lengths(struct uvh_worker *worker, const struct uvhttp_router *router,
                            void *memory);

/* Applies the requested state. Any thread may raise it before; uvh_inbox_wake triggers this
 * call. */
void uvh_worker_apply_state(struct uvh_worker *worker);

/* Logs why an accepted connection has failed before its first request. */
void uvh_worker_log_failure(struct uvh_conn *conn, const char *what, const char *reason);
/* The same, as a warning, if these first bytes are a header of the PROXY protocol. */
void uvh_worker_warn_of_proxy(struct uvh_conn *conn, const char *data, size_t size);

/* Called when something has ended: a draining worker with nothing else open reads its last messages
 * and closes its handles. */
void uvh_worker_settle(struct uvh_worker *worker);

/* For the next function: a new second has started. */
void uvh_worker_new_date(struct uvh_worker *worker, uint64_t now);

/* The start of most heads, "HTTP/1.1 200 OK\r\nDate: ...\r\n", formatted at most once a second;
 * both lines have the sizes above. */
static inline const char *uvh_worker_head_begin(struct uvh_worker *worker)
{
    uint64_t now = uv_now(worker->loop);
    if (UVH_UNLIKELY(now >= worker->date_expires))
        uvh_worker_new_date(worker, now);
    return worker->head_begin;
}

/* The same for HTTP/2: an encoded field. */
static inline uvhttp_slice_t uvh_worker_date_field(struct uvh_worker *worker)
{
    uvh_worker_head_begin(worker);
    return (uvhttp_slice_t){worker->date_field, worker->date_field_size};
}

/* Queues a message from any thread; a message from this worker to itself costs no system call.
 * False when the inbox is shut. */
bool uvh_worker_write(struct uvh_worker *worker, struct uvh_message *message);

/* Starts the tick, which stops by itself when there is neither a connection nor a paused
 * listener. */
void uvh_worker_stats_time(struct uvh_worker *worker);

#endif
