/* The server: its frozen configuration, its listeners, and its life cycle from new to freed.
 *
 * Invariants: `view` is the first member, so that uvhttp_server_t * and struct uvh_server * have
 * the same address; config and router do not change once `life` is past UVH_SERVER_NEW. */
#ifndef UVH_SERVER_SERVER_H
#define UVH_SERVER_SERVER_H

#include <stdarg.h>
#include <stdatomic.h>

#include <uvhttp/server.h>

#include "net/listener.h"
#include "net/thread_pool.h"
#include "platform/lock.h"
#include "server/application.h"
#include "server/drain.h"
#include "server/generation.h"
#include "server/jobs.h"
#include "server/stuck.h"
#include "server/worker.h"

enum uvh_server_life {
    UVH_SERVER_NEW = 0,
    UVH_SERVER_RUNNING,
    UVH_SERVER_DRAINING, /* no new connections; open exchanges may finish */
    UVH_SERVER_CLOSING,  /* all connections are closed; handles are being closed */
    UVH_SERVER_STOPPED,
};

/* The parts of a worker that is not on the caller's thread. */
struct uvh_thread {
    uv_loop_t loop;
    uv_thread_t thread;
    bool running; /* started and not joined */
};

struct uvh_server {
    uvhttp_server_t view;
    uvhttp_config_t config;
    const uvhttp_allocator_t *allocator;
    struct uvh_generation *setup;   /* that set-up calls change: the current one, or the next */
    struct uvh_generation *current; /* of new exchanges; under the lock for other threads */
    struct uvh_lock current_lock;   /* and of drain.times */
    struct uvh_list generations;    /* all of them */
    struct uvh_owned *kept;         /* released after them */
    /* allocated by the first listen; config.workers of them. Other threads read it by
     * uvh_server_workers. */
    struct uvh_worker *workers;
    struct uvh_thread *threads; /* as many; the first one is not used */
    size_t worker_count;
    struct uvh_thread_pool blocking_pool; /* for routes with UVHTTP_ROUTE_BLOCKING */
    bool has_pool;
    struct uvh_stuck_watcher stuck;
    /* One for each uvhttp_tls_t of the TLS listeners; any thread may read the list. */
    struct uvh_tls_contexts *_Atomic tls;
    /* for connections without one of their own; NULL: not needed so far */
    struct uvhttp_tls_client *_Atomic tls_client;
    struct uvh_listening *listening; /* where it listens */
    unsigned listening_ids;          /* assigned so far */
    /* a descriptor of this number or above means that few are left */
    int scarce_from;
    atomic_bool descriptors_scarce; /* set when logged */
    int port;                       /* of the first listener with a port */
    int last_port;
    bool listened;
    int64_t started_ms; /* when the workers were created; since 1970-01-01 00:00 UTC */
    /* started for outgoing streams only, which alone keep its loop running */
    bool streams_only;
    uv_loop_t *loop;
    uv_loop_t own_loop; /* used when the caller passes none */
    bool owns_loop;
    bool threads_started;
    atomic_uchar life; /* enum uvh_server_life; any thread may read it */
    bool free_when_stopped;
    atomic_bool stop_requested; /* `drain_delay` may still be running */
    /* of the server and its first worker; all must be closed before it has stopped */
    size_t open_handles;
    struct uvh_list running; /* of requested_stops.c */
    uv_timer_t drain_timer;
    struct uvh_drain drain;
    uv_signal_t signals[2];
    size_t signal_count;
    struct uvh_application application;
    uvhttp_stopping_cb on_stopping;
    void *stopping_arg;
    uvhttp_stopped_cb on_stopped;
    void *stopped_arg;
    void *data;                      /* the application's */
    struct uvh_check *checks;        /* of ready.c */
    _Atomic uint64_t connection_ids; /* number of ids assigned so far */

    /* padding against false sharing: the following changes with every connection */
    char padding[UVH_CACHE_LINE];
    atomic_size_t open_connections;
    atomic_size_t threads_left;  /* started and not yet ending */
    atomic_uint stops_requested; /* set by uvhttp_server_stop, read by the first worker */
    struct uvh_jobs jobs;        /* of all responses; created by the first listen */
    char padding_2[UVH_CACHE_LINE];
};

static inline struct uvh_server *uvh_server_of(uvhttp_server_t *server)
{
    return (struct uvh_server *)(void *)server;
}

/* Counts over all workers. */
static inline size_t uvh_server_open_connections(struct uvh_server *server)
{
    return atomic_load_explicit(&server->open_connections, memory_order_relaxed);
}

/* NULL before the server listens. Any thread: `life` is atomic, and set after the workers. */
static inline struct uvh_worker *uvh_server_workers(struct uvh_server *server)
{
    return server->life == UVH_SERVER_NEW ? NULL : server->workers;
}

/* The error object of set-up calls: uvhttp_server_error. */
uvhttp_error_t *uvh_server_error(struct uvh_server *server);

/* False, with a line in the log, for a set-up call without a result after the server listens and
 * outside of a reload: workers read what it would change. */
bool uvh_server_takes(struct uvh_server *server, const char *call);

/* Writes a line to the configured log; control characters are escaped, long lines cut. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void uvh_server_log(struct uvh_server *server, uvhttp_log_level_t level, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 0)))
#endif
void uvh_server_log_list(struct uvh_server *server, uvhttp_log_level_t level, const char *format,
                         va_list arguments);

/* The default log: warnings and errors to standard error. */
void uvh_log_problems(uvhttp_log_level_t level, const char *message, void *arg);

/* True when that level is logged; for lines whose values are costly to compute. */
static inline bool uvh_server_logs(const struct uvh_server *server, uvhttp_log_level_t level)
{
    return level <= server->config.log_level && server->config.log != NULL;
}

/* Milliseconds since 1970 by the configured clock. */
int64_t uvh_server_unix_ms(const struct uvh_server *server);

/* Starts a new server: checks the configuration, freezes the router, creates the workers and the
 * job threads. A running server only gets missing job threads. Returns 0; UVHTTP_ESTOPPED when it
 * is stopping or stopped. */
int uvh_server_start(struct uvh_server *server);

/* As uvh_server_start without the job threads, for outgoing streams: unless it also accepts
 * connections, the server does not keep its loop running. */
int uvh_server_start_for_streams(struct uvh_server *server);

/* The server accepts connections from now on. */
void uvh_server_serves(struct uvh_server *server);

/* Stops gracefully; the second call stops at once. On the first worker's thread, as all of the
 * following. */
void uvh_server_stop(struct uvh_server *server);

/* True from the call of uvhttp_server_stop, also during drain_delay. Any thread. */
bool uvh_server_is_stopping(struct uvh_server *server);

/* Called by the first worker after it was woken by another thread. */
void uvh_server_woken(struct uvh_server *server);

/* Called by the first worker when only handles are open: closes them, including the worker's. */
void uvh_server_close_handles(struct uvh_server *server);

/* One of `open_handles` is closed. */
void uvh_server_handle_closed(struct uvh_server *server);

/* Data of a connection, followed by `extra` bytes. NULL when out of memory. */
struct uvh_connection_data *uvh_connection_data_new(struct uvh_server *server, size_t extra);

/* Frees a server that has stopped or was never started. */
void uvh_server_release(struct uvh_server *server);

#endif
