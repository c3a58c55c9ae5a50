/* A worker: one loop with everything its connections share: memory pools, timeouts, counters, the
 * current date, listeners.
 *
 * Always true: used on the loop's thread only, but for what stands behind `apart`. Connections of
 * one worker never touch another worker, and stay with theirs from when they are taken (accept.c)
 * to their end. */
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
#include "server/response_cache.h"
#include "server/watch.h"

struct uvh_server;

/* Which timeout an exchange is under; each is one list. */
enum uvh_exchange_timeout {
    UVH_EXCHANGE_TIMEOUT_BODY = 0,  /* its body is being read */
    UVH_EXCHANGE_TIMEOUT_HANDLER,   /* a handler has the request and has not responded */
    UVH_EXCHANGE_TIMEOUT_HEARTBEAT, /* of a stream of events: a comment is due */
    /* the rate of its response is limited: more may leave at the next tick */
    UVH_EXCHANGE_TIMEOUT_PACE,
    UVH_EXCHANGE_TIMEOUT_NONE
};

enum uvh_worker_life {
    UVH_WORKER_RUNNING = 0,
    UVH_WORKER_DRAINING, /* no new connections; open exchanges may finish */
    UVH_WORKER_CLOSING,  /* nothing is open any more; handles are being closed */
};

/* What the server wants of a worker, in the order in which it may go on. */
enum uvh_worker_order {
    UVH_WORKER_SERVE = 0,
    UVH_WORKER_DRAIN,      /* accept nothing more; each connection closes after its next response */
    UVH_WORKER_CLOSE_IDLE, /* and those without a request close now */
    UVH_WORKER_END,        /* all close now */
};

enum { UVH_CACHE_LINE = 64 };

enum {
    UVH_OK_LINE_SIZE = 17,   /* "HTTP/1.1 200 OK" + CR LF */
    UVH_DATE_LINE_SIZE = 37, /* "Date: " + 29 + CR LF */
};

/* Lines about failed handshakes in the second that began at `begun` (loop time). */
struct uvh_handshake_log {
    uint64_t begun;
    unsigned lines; /* more of them may have been left out */
};

struct uvh_worker {
    struct uvh_server *server;
    uv_loop_t *loop;
    size_t index; /* 0: the one on the caller's thread */
    struct uvh_conn_shared conns;
    struct uvh_arena_pool arenas;
    struct uvh_timeout_list exchange_timeouts[UVH_EXCHANGE_TIMEOUT_NONE];
    struct uvh_timeout_lengths exchange_lengths; /* that routes have of their own */
    uv_timer_t tick;  /* checks the timeouts; active while there is anything to time */
    uv_idle_t resume; /* active while something is left for the next loop iteration */
    uvhttp_head_limits_t head_limits;
    uvhttp_head_limits_t trailer_limits;
    struct uvh_counters counters;
    struct uvh_watch watch;
    struct uvh_response_cache response_cache;
    struct uvh_list listeners;
    struct uvh_list event_streams; /* exchanges: the worker ends them when it drains */
    bool blocking_full;            /* no more handlers that block fit, and it has been logged */
    size_t compared;               /* the worker it last compared its load with */
    bool accept_failing;           /* and it has been logged */
    struct uvh_handshake_log handshake_log;
    bool draining;         /* as `life` says; connections ask for it */
    bool closes_idle;      /* draining, and connections without a request are closed */
    bool reading;          /* letters are being read */
    bool letters_here;     /* some were put in on this thread, and are read in the next turn */
    unsigned char life;    /* enum uvh_worker_life */
    uint64_t date_expires; /* loop time from which the date is old */
    char head_begin[UVH_OK_LINE_SIZE + UVH_DATE_LINE_SIZE];

    char apart[UVH_CACHE_LINE]; /* what others write to is not to slow down what is above */
    struct uvh_inbox inbox;
    atomic_size_t load;   /* connections open here or on their way here */
    atomic_uchar ordered; /* enum uvh_worker_order */
    char apart_again[UVH_CACHE_LINE];
};

/* 0 or libuv's code, and then nothing is left open. `worker` is zeroed, the loop is the
 * caller's. */
int uvh_worker_init(struct uvh_worker *worker, struct uvh_server *server, size_t index,
                    uv_loop_t *loop);
/* Gives the pools back; every connection and handle is closed before. */
void uvh_worker_release(struct uvh_worker *worker);
/* Starts closing the worker's handles; `closed` runs once for each of the UVH_WORKER_HANDLES. */
enum { UVH_WORKER_HANDLES = 3 + UVH_WATCH_HANDLES + UVH_POLLER_HANDLES };
void uvh_worker_close(struct uvh_worker *worker, uv_close_cb closed);

/* Does what was ordered. The order may be raised by any thread before; uvh_inbox_wake has it looked
 * at. */
void uvh_worker_obey(struct uvh_worker *worker);

/* Something has ended: a worker that drains and has nothing open any more reads its last letters
 * and closes its handles. */
void uvh_worker_settle(struct uvh_worker *worker);

/* For the next function: a second has begun. */
void uvh_worker_new_date(struct uvh_worker *worker, uint64_t now);

/* How most heads begin, "HTTP/1.1 200 OK\r\nDate: ...\r\n", formatted at most once a second; both
 * lines have the sizes above. */
static inline const char *uvh_worker_head_begin(struct uvh_worker *worker)
{
    uint64_t now = uv_now(worker->loop);
    if (UVH_UNLIKELY(now >= worker->date_expires))
        uvh_worker_new_date(worker, now);
    return worker->head_begin;
}

/* Puts a letter in from any thread: what this worker writes to itself in a turn costs no call of
 * the system. False when the inbox is shut. */
bool uvh_worker_write(struct uvh_worker *worker, struct uvh_letter *letter);

/* Starts the tick, which stops by itself when there is neither a connection nor a paused listener
 * left. */
void uvh_worker_watch_time(struct uvh_worker *worker);

#endif
