/* The server: listens, accepts, and runs handlers on libuv loops.
 *
 * Threads: with one worker (the default) everything runs on the thread that runs the loop. With
 * config->workers > 1, uvhttp_server_run starts the others as threads, and handlers, middleware and
 * callbacks run on all of them at once: an exchange stays on one thread from its beginning to its
 * end, and what several of them share is yours to protect. From other threads you may call
 * uvhttp_server_stop, uvhttp_server_post, uvhttp_server_read_stats, uvhttp_server_worker_stats and
 * uvhttp_server_worker_count, from when the server listens until it is freed; everything else on
 * the thread that made the server. docs/workers.md tells more. */
#ifndef UVHTTP_SERVER_H
#define UVHTTP_SERVER_H

#include <uvhttp/config.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s;

/* How long something took, in microseconds, counted since the server listens. Percentiles are known
 * to within 1.6 %, and all but `sum_us` and `max_us` up to 71 minutes; what took longer counts as
 * `max_us`. */
enum { UVHTTP_LATENCY_BOUNDS = 22 };
typedef struct uvhttp_latency {
    uint64_t count;
    uint64_t sum_us;
    uint64_t max_us;
    uint64_t p50_us, p90_us, p99_us, p999_us; /* 50, 90, 99 and 99.9 % took at most that long */
    /* How many took less than 64 << index microseconds, exactly: 64 us, 128 us, ... 134 s. */
    uint64_t below[UVHTTP_LATENCY_BOUNDS];
} uvhttp_latency_t;

/* The jobs of one lane, see uvhttp_response_defer. */
typedef struct uvhttp_job_stats {
    uint64_t pending; /* wait for a thread now */
    uint64_t running; /* have one now */
    /* refused with UVHTTP_EFULL since the server listens, because the queue was full */
    uint64_t rejected;
} uvhttp_job_stats_t;

/* What a server has done since it listens, and does now. Refreshed by uvhttp_server_stats. */
typedef struct uvhttp_stats {
    size_t active_connections;     /* open now */
    size_t idle_connections;       /* of these, waiting for a request */
    uint64_t total_connections;    /* accepted since start, rejected ones included */
    uint64_t rejected_connections; /* answered 503, or just closed, because of max_connections */
    uint64_t total_requests;       /* heads received and understood */
    uint64_t responses_1xx, responses_2xx, responses_3xx, responses_4xx, responses_5xx;
    uint64_t parse_errors;      /* requests refused because of their bytes */
    uint64_t timeouts;          /* connections ended by one of the timeouts */
    uint64_t aborted_exchanges; /* client gone before its response was complete */
    uint64_t bytes_received;
    uint64_t bytes_sent;
    uint64_t tls_handshakes; /* completed */
    uint64_t tls_resumed;    /* of these, those that have resumed a session */
    /* of total_requests: heads that came as early data (uvhttp_request_is_early) */
    uint64_t early_requests;
    uint64_t tls_offloaded; /* of these, those that the kernel encrypts (`ktls`) */
    uint64_t tls_failures;  /* handshakes that have failed, plain text on a TLS port among them */
    uint64_t tls_waited;    /* handshakes that were queued because of max_handshakes */
    /* Of the whole server: seconds since 1970 at which its first certificate expires; 0: it has
     * none, and in uvhttp_server_worker_stats. */
    int64_t tls_expires;
    uint64_t
        /* answers of static.h that were at hand, and those for which the disk was asked; and
         * what */
        cache_hits;
    uint64_t cache_misses; /* uvhttp_request_count_cache adds */
    uint64_t
        /* bytes held now for connections, exchanges and buffers, free ones for the next included;
         * bodies that are collected whole, file caches and the router are not in it */
        memory;

    /* Of the whole server, whose workers share the threads; 0 in uvhttp_server_worker_stats. */
    uvhttp_job_stats_t quick_jobs, heavy_jobs;
    uvhttp_job_stats_t blocking_handlers; /* of routes with UVHTTP_ROUTE_BLOCKING */

    /* Requests that were understood and answered completely: from the beginning of the loop turn in
     * which the head was complete to the end of the one in which the last byte was handed to the
     * system. What waits in one turn waits for that turn, so this is what a client has to wait for
     * this process, and costs no clock call per request. */
    uvhttp_latency_t latency;
    /* Loop turns: from the first event to the next wait for events. As long as that an event had to
     * wait at most before anybody looked at it, so a handler that blocks the loop shows here. */
    uvhttp_latency_t loop_delay;
    uint64_t
        /* time in such turns, and time altogether: utilisation is the quotient of two
         * differences */
        loop_busy_us;
    uint64_t loop_time_us;
} uvhttp_stats_t;

/* Only `stats` is public; it is refreshed by uvhttp_server_stats. */
typedef struct uvhttp_server {
    uvhttp_stats_t stats;
} uvhttp_server_t;

/* A server with default configuration, or with a copy of `config` (NULL: the default). `loop` NULL:
 * the server owns a loop, which uvhttp_server_run drives; otherwise the caller runs the loop, which
 * must outlive the server. NULL when memory ran out. */
UVHTTP_EXPORT uvhttp_server_t *uvhttp_server_new(struct uv_loop_s *loop);
UVHTTP_EXPORT uvhttp_server_t *uvhttp_server_new_with(struct uv_loop_s *loop,
                                                      const uvhttp_config_t *config);

/* Stops at once what still runs, and frees the server. With a loop of its own everything is gone on
 * return; with the caller's loop the memory goes when the loop has run the last close callback, so
 * go on running it. Cancels the callback of uvhttp_server_on_stopped: it does not run after this
 * call, also when the server was stopped before, so a callback that frees the server frees it once.
 * A further call before the loop has run that last close callback does nothing; after it `server`
 * is invalid. NULL is fine. Not from inside a handler or another callback of an exchange. */
UVHTTP_EXPORT void uvhttp_server_free(uvhttp_server_t *server);

/* The server's router, for uvhttp_router_add. Borrowed. */
UVHTTP_EXPORT uvhttp_router_t *uvhttp_server_router(uvhttp_server_t *server);

/* Adds a route; `method` NULL means any. Errors as in uvhttp/router.h. */
UVHTTP_EXPORT int uvhttp_server_route(uvhttp_server_t *server, const char *method,
                                      const char *pattern, uvhttp_handler_cb handler, void *arg);

/* Adds a middleware: runs when the head has arrived, before the body is asked for and before the
 * route's handler, in the order of adding, for every request that was understood, those without a
 * route too (they would get 404 or 405). It returns UVHTTP_DECLINED to let the request pass;
 * otherwise the chain ends there: no handler runs behind a refusal. 0 without an answer: it decides
 * later (uvhttp_response_proceed). The same as uvhttp_router_use for the server's router. Errors:
 * UVHTTP_EINVAL, UVHTTP_EFROZEN, UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_server_use(uvhttp_server_t *server, uvhttp_handler_cb middleware,
                                    void *arg);

/* Has `finished` called for every exchange when it is over, for access logs
 * (uvhttp_access_log_finished fits) and counters of your own. At most one; a second call replaces
 * the first, NULL takes it away. Costs a clock call for each request. Before the server listens. */
UVHTTP_EXPORT void uvhttp_server_on_finished(uvhttp_server_t *server, uvhttp_finished_cb finished,
                                             void *arg);

/* Has `release(arg)` called when the server is freed: for what belongs to handlers. Errors:
 * UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_server_own(uvhttp_server_t *server, uvhttp_release_cb release, void *arg);

/* Listens on a numeric address ("127.0.0.1", "::1", "0.0.0.0", "::") and port; port 0 takes a free
 * one, see uvhttp_server_port. "::" is every IPv6 address and no IPv4 one; "localhost" is 127.0.0.1
 * and, where there is IPv6, ::1 with the same port. Unix sockets and descriptors:
 * uvhttp/embedding.h. May be called for several addresses. Freezes routes, even if the address is
 * then refused. Errors: UVHTTP_ECONFIG (logged with the field), UVHTTP_EINVAL (address or port),
 * UVHTTP_ESTOPPED, UVHTTP_ENOMEM, libuv's (UV_EADDRINUSE, UV_EACCES, ...; UV_EMFILE: there are not
 * enough descriptors for all workers; UV_EAGAIN, logged: the system allows no further thread: those
 * of config->quick_threads and heavy_threads are created here, so fork before). Every worker
 * listens on the same port, but for an address that is added while several run: the first one
 * accepts for all there. Also has SIGPIPE and SIGXFSZ ignored if their action is the default one: a
 * client that disconnects, or a file above the process's limit of file sizes (RLIMIT_FSIZE), would
 * end the process otherwise. */
UVHTTP_EXPORT int uvhttp_server_listen(uvhttp_server_t *server, const char *address, int port);

/* The port of the first listener that has one, 0 before. */
UVHTTP_EXPORT int uvhttp_server_port(const uvhttp_server_t *server);

/* Runs the loop until the server has stopped, and the threads of further workers; when it listens
 * nowhere, until the last stream to somebody else (uvhttp_stream_connect) is over. Handles of yours
 * on that loop do not keep it running when the server has stopped; close them before
 * uvhttp_server_free. Errors: UVHTTP_EINVAL (there is nothing to run for: it has not listened,
 * perhaps because that failed), libuv's (UV_EAGAIN: the system allows no further thread); then,
 * with a line in the log, everything is ended and the server has stopped. With a caller's loop run
 * that instead. */
UVHTTP_EXPORT int uvhttp_server_run(uvhttp_server_t *server);

/* How many workers the server has or will have (config->workers). Any thread. 0 for NULL. */
UVHTTP_EXPORT size_t uvhttp_server_worker_count(const uvhttp_server_t *server);

/* The processor cores this process may use, from 1 to UVHTTP_WORKERS_MAX: what config->workers is
 * good to be. Any thread. */
UVHTTP_EXPORT size_t uvhttp_core_count(void);

/* Has `run(server, worker, arg)` called on the thread of a worker (0 to uvhttp_server_worker_count
 * - 1; the first one is the thread in uvhttp_server_run, and the only one there is on a loop of
 * yours). Any thread. What one thread posts to one worker runs in that order. If this returns 0,
 * `run` is called exactly once, whatever happens: also when the server is stopped or freed without
 * having run, and then possibly within uvhttp_server_stop's or uvhttp_server_free's work. A worker
 * takes posts until it has nothing open any more after a stop, so exchanges that wait for one get
 * it. The way to answer later from a thread of yours: keep the response and uvhttp_request_worker's
 * number, and post. Do not free the server in it. Errors: UVHTTP_EINVAL (no function, no such
 * worker, or the server does not listen yet), UVHTTP_ENOMEM, UVHTTP_ESTOPPED. */
typedef void (*uvhttp_post_cb)(uvhttp_server_t *server, size_t worker, void *arg);
UVHTTP_EXPORT int uvhttp_server_post(uvhttp_server_t *server, size_t worker, uvhttp_post_cb run,
                                     void *arg);

/* Stops: no more connections are accepted, open exchanges may finish within drain_timeout, and
 * streams of events and WebSockets are ended. Kept connections stay open for drain_grace seconds:
 * the next response on each says "Connection: close" and ends it; then those without a request are
 * closed. At drain_timeout the rest is closed. A second call ends all at once. Does nothing before
 * the server listens. Any thread, until the server has stopped. */
UVHTTP_EXPORT void uvhttp_server_stop(uvhttp_server_t *server);

/* SIGINT and SIGTERM call uvhttp_server_stop, a second one of them stops at once. Errors: libuv's,
 * UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_server_stop_on_signals(uvhttp_server_t *server);

/* The loop of the first worker, the server's own or the caller's (uvhttp_request_loop is that of a
 * request): for timers and other libuv handles beside it. Close those before the server is freed
 * when the loop is its own: with one that is open then, a line in the log says that the server's
 * memory stays. */
UVHTTP_EXPORT struct uv_loop_s *uvhttp_server_loop(uvhttp_server_t *server);

/* Has `stopping` called once, on the first worker's thread, when the server begins to stop: before
 * streams are told and connections are closed. To be set before the server runs, or on that thread.
 * Do not free the server in it. */
typedef void (*uvhttp_stopping_cb)(uvhttp_server_t *server, void *arg);
UVHTTP_EXPORT void uvhttp_server_on_stopping(uvhttp_server_t *server, uvhttp_stopping_cb stopping,
                                             void *arg);

/* Called once, on the first worker's loop, when the last connection of a stopped server is
 * closed and all workers have ended. Not called when uvhttp_server_free is called before: that
 * cancels it. With a caller's loop the server may be freed in it; with a loop of its own free
 * the server after uvhttp_server_run has returned. At most one; a second call replaces the
 * first, NULL removes it. */
typedef void (*uvhttp_stopped_cb)(uvhttp_server_t *server, void *arg);
UVHTTP_EXPORT void uvhttp_server_on_stopped(uvhttp_server_t *server, uvhttp_stopped_cb stopped,
                                            void *arg);

/* Refreshes and returns server->stats, added up over all workers. One thread at a time: handlers
 * that may run at once call the next one. */
UVHTTP_EXPORT const uvhttp_stats_t *uvhttp_server_stats(uvhttp_server_t *server);

/* The same to memory of yours: of all workers, or of one. Any thread. A number is at most a moment
 * old, and not all are of the same moment; read from a thread that is not the worker's own, a
 * connection in the middle of an answer that comes at once is idle. Errors: UVHTTP_EINVAL (no
 * `stats`, no such worker), UVHTTP_ENOMEM (`server` is NULL). */
UVHTTP_EXPORT int uvhttp_server_read_stats(uvhttp_server_t *server, uvhttp_stats_t *stats);
UVHTTP_EXPORT int uvhttp_server_worker_stats(uvhttp_server_t *server, size_t worker,
                                             uvhttp_stats_t *stats);

/* Counts a look into a cache of your own in cache_hits or cache_misses; static.h does so by itself.
 * The loop's thread; does nothing in a handler that blocks. */
UVHTTP_EXPORT void uvhttp_request_count_cache(uvhttp_request_t *request, bool hit);

/* The version, "0.1.0", and what was built in ("0.1.0 gcc 12.2.0 Release mimalloc"). Static. Any
 * thread. */
UVHTTP_EXPORT const char *uvhttp_version(void);
UVHTTP_EXPORT const char *uvhttp_build_info(void);

#ifdef __cplusplus
}
#endif

#endif
