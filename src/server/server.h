/* The server: what is configured and frozen, its listeners, and its life from new to freed.
 *
 * Always true: `view` is the first member, so that uvhttp_server_t * and struct uvh_server * are
 * the same address; config and router do not change once `life` is past UVH_SERVER_NEW. */
#ifndef UVH_SERVER_SERVER_H
#define UVH_SERVER_SERVER_H

#include <stdarg.h>
#include <stdatomic.h>

#include <uvhttp/server.h>

#include "net/listener.h"
#include "net/thread_pool.h"
#include "server/jobs.h"
#include "server/worker.h"

enum uvh_server_life {
    UVH_SERVER_NEW = 0,
    UVH_SERVER_RUNNING,
    UVH_SERVER_DRAINING, /* no new connections; open exchanges may finish */
    UVH_SERVER_CLOSING,  /* all connections are gone; handles are being closed */
    UVH_SERVER_STOPPED,
};

/* Something the server frees with itself. */
struct uvh_owned {
    struct uvh_owned *next;
    uvhttp_release_cb release;
    void *arg;
};

/* What a worker has that is not on the caller's thread. */
struct uvh_thread {
    uv_loop_t loop;
    uv_thread_t thread;
    bool running; /* started and not joined */
};

struct uvh_server {
    uvhttp_server_t view;
    uvhttp_config_t config;
    const uvhttp_allocator_t *allocator;
    struct uvhttp_router *router;
    struct uvh_owned *owned;
    uvhttp_finished_cb on_finished;
    void *finished_arg;
    struct uvh_worker *workers; /* from the first listening on; config.workers of them */
    struct uvh_thread *threads; /* as many; the first one is not used */
    size_t worker_count;
    struct uvh_thread_pool blocking_pool; /* for routes with UVHTTP_ROUTE_BLOCKING */
    bool has_pool;
    /* Of the listeners with TLS, one for each uvhttp_tls_t; any thread may read the list. */
    struct uvh_tls_contexts *_Atomic tls;
    /* of connections that name none; NULL: none was needed */
    struct uvhttp_tls_client *_Atomic tls_client;
    /* of unix sockets, to be removed when listening ends */
    struct uvh_listening_file *files;
    /* a descriptor of this number or above says that few are left */
    int scarce_from;
    atomic_bool descriptors_scarce; /* and it has been logged */
    int port;                       /* of the first listener that has one */
    bool listened;
    bool
        /* it was started for streams to others, and does not keep its loop running for more than
         * them */
        streams_only;
    uv_loop_t *loop;
    uv_loop_t own_loop; /* used when the caller gave none */
    bool owns_loop;
    bool threads_started;
    atomic_uchar life; /* enum uvh_server_life; other threads ask for it in uvhttp_server_stop */
    bool free_when_stopped;
    /* of the server and its first worker, to be closed before it has stopped */
    size_t open_handles;
    uv_timer_t drain_timer;
    uv_signal_t signals[2];
    size_t signal_count;
    uvhttp_stopping_cb on_stopping;
    void *stopping_arg;
    uvhttp_stopped_cb on_stopped;
    void *stopped_arg;
    void *data;                        /* the user's */
    const struct uvh_proxies *proxies; /* who is believed; NULL: nobody */
    _Atomic uint64_t connection_ids;   /* given so far */

    /* what changes with every connection is not to slow down what is above */
    char apart[UVH_CACHE_LINE];
    atomic_size_t open_connections;
    atomic_size_t threads_left; /* started and not at their end */
    atomic_uint stops_asked;    /* by uvhttp_server_stop, for the first worker to see */
    struct uvh_jobs jobs;       /* of all responses; from the first listening on */
    char apart_again[UVH_CACHE_LINE];
};

static inline struct uvh_server *uvh_server_of(uvhttp_server_t *server)
{
    return (struct uvh_server *)(void *)server;
}

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

/* True when somebody wants lines of that level; for lines whose values cost something. */
static inline bool uvh_server_logs(const struct uvh_server *server, uvhttp_log_level_t level)
{
    return level <= server->config.log_level && server->config.log != NULL;
}

/* Milliseconds since 1970 by the configured clock. */
int64_t uvh_server_unix_ms(const struct uvh_server *server);

/* Starts a server that is new: checks the configuration, freezes the router, prepares the workers
 * and creates the threads of jobs. 0 also when it runs already, with such threads;
 * UVHTTP_ESTOPPED when it does not any more. */
int uvh_server_start(struct uvh_server *server);

/* The same without the threads of jobs, for a stream to somebody else: unless connections are
 * taken as well, the loop does not run on for the server itself. */
int uvh_server_start_for_streams(struct uvh_server *server);

/* It takes connections from now on. */
void uvh_server_serves(struct uvh_server *server);

/* Stops, the second time at once. The first worker's thread, as all of the following. */
void uvh_server_stop(struct uvh_server *server);

/* By the first worker: somebody has woken it. */
void uvh_server_woken(struct uvh_server *server);

/* By the first worker: nothing is open any more but handles. They are closed, the worker's too. */
void uvh_server_close_handles(struct uvh_server *server);

/* One of `open_handles` is closed. */
void uvh_server_handle_closed(struct uvh_server *server);

/* Frees a server that has stopped or never began. */
void uvh_server_release(struct uvh_server *server);

#endif
