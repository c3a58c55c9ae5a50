/* The server: listens, accepts connections and runs handlers on libuv loops.
 *
 * Threads: with one worker (the default) everything runs on the thread that runs the loop. With
 * config->workers > 1, uvhttp_server_run starts the other workers as threads. Handlers, middleware
 * and callbacks then run on all of them concurrently. An exchange stays on one thread; the
 * application must protect data that several exchanges share.
 *
 * Any thread may call uvhttp_server_stop, uvhttp_server_post, uvhttp_server_ref,
 * uvhttp_server_unref, uvhttp_server_read_stats, uvhttp_server_worker_stats,
 * uvhttp_server_each_route_stats and uvhttp_server_worker_count, from uvhttp_server_listen until
 * uvhttp_server_free. All other functions belong to the thread that created the server. See
 * docs/workers.md. */
#ifndef UVHTTP_SERVER_H
#define UVHTTP_SERVER_H

#include <uvhttp/config.h>
#include <uvhttp/error.h>
#include <uvhttp/router.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uv_loop_s;

/* Distribution of a duration in microseconds since the server listens. Percentiles have an error
 * of at most 1.6 %. Percentiles and `below` cover up to 71 minutes; longer durations count as
 * `max_us`. */
enum { UVHTTP_LATENCY_BOUNDS = 22 };
typedef struct uvhttp_latency {
    uint64_t count;
    uint64_t sum_us;
    uint64_t max_us;
    uint64_t p50_us, p90_us, p99_us, p999_us; /* 50, 90, 99 and 99.9 % took at most this long */
    /* Exact number of durations below 64 << index microseconds: 64 us, 128 us, ... 134 s. */
    uint64_t below[UVHTTP_LATENCY_BOUNDS];
} uvhttp_latency_t;

/* Jobs of one lane, see uvhttp_response_defer. */
typedef struct uvhttp_job_stats {
    uint64_t pending; /* waiting for a thread now */
    uint64_t running; /* running on a thread now */
    /* rejected with UVHTTP_EFULL because the queue was full */
    uint64_t rejected;
} uvhttp_job_stats_t;

/* Counters since the server listens, and current values. Refreshed by uvhttp_server_stats. */
typedef struct uvhttp_stats {
    /* Of the whole server: when it began to listen, in milliseconds since 1970; 0 before, and in
     * uvhttp_server_worker_stats. */
    int64_t started_ms;
    size_t active_connections;      /* open now */
    size_t idle_connections;        /* of these, waiting for a request */
    size_t handshaking_connections; /* of these, in a TLS handshake */
    size_t reading_connections;     /* of these, with an incomplete request head */
    size_t writing_connections;     /* of these, with output that the client does not accept yet */
    size_t closing_connections; /* of these, closed by the server, waiting for the client's end */
    size_t active_http2;        /* of active_connections: over HTTP/2 */
    /* of active_connections: carry a stream of uvhttp_response_upgrade, such as a WebSocket */
    size_t active_upgraded;
    size_t active_websockets;      /* open now, including those within HTTP/2 connections */
    uint64_t total_connections;    /* accepted since start, including rejected ones */
    uint64_t rejected_connections; /* got 503 or were closed because of max_connections */
    uint64_t total_requests;       /* valid request heads received */
    uint64_t shed_requests; /* of these, got 503 because of overload_guard or blocking_wait_ms */
    uint64_t responses_1xx, responses_2xx, responses_3xx, responses_4xx, responses_5xx;
    uint64_t parse_errors; /* requests rejected because of malformed bytes */
    /* connections closed by a timeout, at once or after a 408, 503 or 504, but not by
     * linger_timeout */
    uint64_t timeouts;
    uint64_t aborted_exchanges; /* client disconnected before the response was complete */
    uint64_t bytes_received;
    uint64_t bytes_sent;
    uint64_t tls_handshakes;    /* completed */
    uint64_t tls_resumed;       /* of these, resumed sessions */
    uint64_t http2_connections; /* of total_connections: HTTP/2 was chosen */
    uint64_t http2_requests;    /* of total_requests: over HTTP/2 */
    uint64_t http2_refused;     /* requests that were not begun: REFUSED_STREAM */
    uint64_t http2_errors;      /* connections that ended with an error of HTTP/2 (GOAWAY) */
    /* of total_requests: heads received as early data (uvhttp_request_is_early) */
    uint64_t early_requests;
    uint64_t tls_offloaded; /* of tls_handshakes: connections encrypted by the kernel (`ktls`) */
    uint64_t tls_failures;  /* failed handshakes, including plain text on a TLS port */
    uint64_t tls_waited;    /* handshakes queued because of max_handshakes */
    /* Of the whole server: expiry of its first certificate to expire, in seconds since 1970. 0
     * without a certificate, and in uvhttp_server_worker_stats. */
    int64_t tls_expires;
    /* Lookups of static.h served from its cache, and those that needed the disk.
     * uvhttp_request_count_cache adds to both. */
    uint64_t cache_hits;
    uint64_t cache_misses;
    /* Bytes allocated now for connections, exchanges and buffers, including free ones kept for
     * reuse. Excludes bodies buffered whole, file caches and the router. */
    uint64_t memory;

    /* Of the whole server, because workers share these threads; 0 in uvhttp_server_worker_stats. */
    uvhttp_job_stats_t quick_jobs, heavy_jobs;
    uvhttp_job_stats_t blocking_handlers; /* of routes with UVHTTP_ROUTE_BLOCKING */

    /* Valid requests with a complete response. Measured from the start of the loop iteration in
     * which the head was complete to the end of the iteration in which the last byte was passed
     * to the system. Includes time queued within an iteration; needs no clock call per request. */
    uvhttp_latency_t latency;
    /* Loop iterations, from the first event to the next poll. This is the longest time an event
     * can wait in that iteration, so a handler that blocks the loop shows here. */
    uvhttp_latency_t loop_delay;
    /* Time spent in iterations, and total time. Utilization is the ratio of two differences. */
    uint64_t loop_busy_us;
    uint64_t loop_time_us;
    uint64_t stuck_loops; /* times that a loop did not run for stuck_loop_ms */
} uvhttp_stats_t;

/* Only `stats` is public; uvhttp_server_stats refreshes it. */
typedef struct uvhttp_server {
    uvhttp_stats_t stats;
} uvhttp_server_t;

/* Creates a server with the default configuration, or with a copy of `config` (NULL: the
 * default). With `loop` NULL the server owns a loop, which uvhttp_server_run runs. Otherwise the
 * caller runs the loop, which must outlive the server. Free it with uvhttp_server_free. Returns
 * NULL when out of memory. */
UVHTTP_EXPORT uvhttp_server_t *uvhttp_server_new(struct uv_loop_s *loop);
UVHTTP_EXPORT uvhttp_server_t *uvhttp_server_new_with(struct uv_loop_s *loop,
                                                      const uvhttp_config_t *config);

/* Closes all connections immediately and frees the server. NULL does nothing. Not from a handler or
 * another callback of an exchange.
 *
 * With its own loop, all memory is released on return. With a loop of the caller, memory is
 * released when the loop has run the last close callback, so the caller must keep running the loop.
 * Until then a second call does nothing; afterwards `server` is invalid.
 *
 * Cancels the callback of uvhttp_server_on_stopped, even if the server has stopped already: a
 * callback that frees the server frees it once. */
UVHTTP_EXPORT void uvhttp_server_free(uvhttp_server_t *server);

/* Describes the last set-up call on this server or one of its routers, for example
 * uvhttp_server_set, a route, uvhttp_NAME_use, uvhttp_static_mount, uvhttp_websocket_route, a
 * listener; or the error of uvhttp_server_run. Constructors (uvhttp_cors_new,
 * uvhttp_websocket_endpoint_new, uvhttp_topics_new) describe their error themselves. Code 0 if it
 * succeeded or there was none. Never NULL, also for a server that is NULL; valid as long as the
 * server, and overwritten by the next set-up call. On the thread that sets the server up. */
UVHTTP_EXPORT const uvhttp_error_t *uvhttp_server_error(const uvhttp_server_t *server);

/* The first error of all these calls, which uvhttp_server_main prints; code 0 if none has failed.
 * For a program that checks its set-up once, before uvhttp_server_run: listening succeeds after a
 * failed route. Otherwise as above. */
UVHTTP_EXPORT const uvhttp_error_t *uvhttp_server_first_error(const uvhttp_server_t *server);

/* The server's router, for uvhttp_router_add. Owned by the server. */
UVHTTP_EXPORT uvhttp_router_t *uvhttp_server_router(uvhttp_server_t *server);

/* Adds a route; `method` NULL means any. Before the server listens. Errors as in
 * uvhttp/router.h. */
UVHTTP_EXPORT int uvhttp_server_route(uvhttp_server_t *server, const char *method,
                                      const char *pattern, uvhttp_handler_cb handler, void *arg);

/* Adds a middleware for every valid request, including those that get 404 or 405; same as
 * uvhttp_router_use on the server's router. Before the server listens.
 *
 * Middleware runs after the head has arrived, before the body is read and before the route's
 * handler, in the order added. It returns UVHTTP_DECLINED to pass the request on. With any other
 * result the chain ends and no handler runs. If it returns 0 without a response, it decides later
 * with uvhttp_response_proceed.
 * Returns 0, or
 *   UVHTTP_EINVAL   no middleware
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_server_use(uvhttp_server_t *server, uvhttp_handler_cb middleware,
                                    void *arg);

/* Sets the callback that runs after every exchange, for access logs (uvhttp_access_log_finished)
 * and counters. Before the server listens, or in a reload: otherwise it has no effect, which is
 * logged. A second call replaces the first; NULL removes it. Costs one clock call per request. */
UVHTTP_EXPORT void uvhttp_server_on_finished(uvhttp_server_t *server, uvhttp_finished_cb finished,
                                             void *arg);

/* Sets the form of error responses: a callback that runs before a response with a status of 400 or
 * above is sent whose text is not of the application. These are the server's own: for malformed
 * requests and those that no route accepts, for limits, timeouts and failed handlers (400, 404,
 * 405, 408, 413, 414, 417, 421, 425, 426, 431, 500, 501, 503, 504, 505); those of middleware and
 * uploads (401, 403, 409, 412, 415, 416, 422, 429, 507); and those of uvhttp_response_send_status
 * and uvhttp_response_send_error. Not included are HTML pages of static files, and 503 above
 * max_connections, for which there is no request.
 *
 * The callback reads status and request, and may change fields and body as a uvhttp_send_cb, with
 * uvhttp_response_set_header and uvhttp_response_replace_body. `reason` is one line for the client,
 * in text that may quote its request: the reason phrase if there is none. For a malformed request
 * no middleware has run; of other requests, those send callbacks run after it. A result other than
 * 0 is logged, and the response is sent as it is then. On the thread of the worker, also for
 * blocking handlers.
 *
 *     uvhttp_server_on_error(server, uvhttp_error_as_json, NULL);
 *
 * Before the server listens, or in a reload: otherwise it has no effect, which is logged. A second
 * call replaces the first; NULL removes it. */
typedef int (*uvhttp_error_cb)(uvhttp_request_t *request, uvhttp_response_t *response,
                               const char *reason, void *arg);
UVHTTP_EXPORT void uvhttp_server_on_error(uvhttp_server_t *server, uvhttp_error_cb error,
                                          void *arg);

/* A uvhttp_error_cb, which another one may call for some requests: the body becomes the JSON object
 * {"error": reason}. `arg` is not used. In a uvhttp_error_cb only.
 * Returns 0, or the errors of uvhttp_response_replace_body. */
UVHTTP_EXPORT int uvhttp_error_as_json(uvhttp_request_t *request, uvhttp_response_t *response,
                                       const char *reason, void *arg);

/* Sets the callback that exempts requests from config->overload_guard, besides the routes with
 * UVHTTP_ROUTE_NEVER_SHED: requests of important clients, for example. It runs only while requests
 * are shed, on the thread of the worker, when the head has arrived and before middleware, and
 * returns true for a request that must not be shed. It may read the request, including its route,
 * and should take little time.
 *
 * Before the server listens, or in a reload: otherwise it has no effect, which is logged. A second
 * call replaces the first; NULL removes it. */
typedef bool (*uvhttp_never_shed_cb)(uvhttp_request_t *request, void *arg);
UVHTTP_EXPORT void uvhttp_server_never_shed(uvhttp_server_t *server,
                                            uvhttp_never_shed_cb never_shed, void *arg);

/* Registers `release(arg)` to run when the server is freed, or when a reload has replaced the
 * set-up and nothing uses it any more; for data of handlers and for objects of middleware:
 * uvhttp_server_own(server, uvhttp_cors_free, cors). The last registered is released first, except
 * the log_arg of the configuration, which is released after the last log line. On an error the
 * caller keeps `arg`. Returns 0, or UVHTTP_ENOMEM. */
UVHTTP_EXPORT int uvhttp_server_own(uvhttp_server_t *server, uvhttp_release_cb release, void *arg);

/* The same for objects that outlive a reload: those of timers, signals and checks of readiness, and
 * what the next set-up uses, too. Released after all objects of uvhttp_server_own. */
UVHTTP_EXPORT int uvhttp_server_keep(uvhttp_server_t *server, uvhttp_release_cb release, void *arg);

/* Listens on a numeric address ("127.0.0.1", "::1", "0.0.0.0", "::") and port. May be called for
 * several addresses. Port 0 selects a free port, see uvhttp_server_port. "::" is all IPv6 addresses
 * and no IPv4 address. "*" is all IPv4 and IPv6 addresses, on one socket; without IPv6 it is
 * "0.0.0.0". "localhost" is 127.0.0.1 and, where IPv6 exists, ::1 with the same port. Unix sockets
 * and descriptors: uvhttp/embedding.h.
 *
 * Freezes routes, even if it fails, unless the configuration is invalid. Creates the threads of
 * config->quick_threads and heavy_threads, so fork before this call. All workers listen on the same
 * port, except for an address added while several workers run: there the first worker accepts for
 * all.
 *
 * Sets SIGPIPE and SIGXFSZ to ignored if their action is the default. Otherwise a disconnect, or a
 * file above RLIMIT_FSIZE, would terminate the process.
 * Returns 0, or
 *   UVHTTP_ECONFIG   invalid configuration; the field is logged
 *   UVHTTP_EINVAL    invalid address or port
 *   UVHTTP_ESTOPPED  the server has stopped
 *   UVHTTP_ENOMEM    out of memory
 *   UV_EMFILE        not enough descriptors for all workers
 *   UV_EAGAIN        the system allows no more threads; logged
 *   libuv            other errors of libuv (UV_EADDRINUSE, UV_EACCES, ...) */
UVHTTP_EXPORT int uvhttp_server_listen(uvhttp_server_t *server, const char *address, int port);

/* The port of the first listener that has one; 0 without one. */
UVHTTP_EXPORT int uvhttp_server_port(const uvhttp_server_t *server);

/* The same of the last listener that has one. */
UVHTTP_EXPORT int uvhttp_server_last_port(const uvhttp_server_t *server);

/* Runs the loop and the other workers' threads until the server has stopped. Without a listener it
 * runs until the last outgoing stream (uvhttp_stream_connect) has ended. Only for a server with its
 * own loop; otherwise run the caller's loop.
 *
 * Handles of the application on this loop do not keep it running after the stop; close them before
 * uvhttp_server_free. An error is logged, and the server has then stopped.
 * Returns 0, or
 *   UVHTTP_EINVAL  neither a listener nor a stream, for example because listening failed
 *   UV_EAGAIN      the system allows no more threads
 *   libuv          other errors of libuv */
UVHTTP_EXPORT int uvhttp_server_run(uvhttp_server_t *server);

/* Sets a number of the configuration by its name, before the server listens: uvhttp_config_set for
 * a server that was created without one.
 *
 *     uvhttp_server_set(server, "handler_timeout", "10s");
 *
 * Returns 0, or
 *   UVHTTP_EINVAL   no such name
 *   UVHTTP_ECONFIG  an invalid value; uvhttp_server_error describes it
 *   UVHTTP_EFROZEN  the server listens, or has tried to
 *   UVHTTP_ENOMEM   `server` is NULL, because its creation failed */
UVHTTP_EXPORT int uvhttp_server_set(uvhttp_server_t *server, const char *name, const char *value);

/* The end of the main function of a program: listens, stops on SIGINT and SIGTERM, prints a line
 * for each listener to standard output ("listening on http://127.0.0.1:8080/", or "listening on
 * unix:/run/site.sock"; "localhost" for all addresses), runs the server until it has stopped, and
 * frees it. If an earlier set-up call has failed (uvhttp_server_first_error), it does not listen.
 * So set-up needs no checks: the first error, of any of these calls, is printed as one line to
 * standard error, also if the call has logged it.
 *
 *     static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
 *     {
 *         return uvhttp_response_send_text(res, 200, "hello\n");
 *     }
 *     int main(void)
 *     {
 *         uvhttp_server_t *server = uvhttp_server_new(NULL);
 *         uvhttp_server_route(server, "GET", "/", hello, NULL);
 *         return uvhttp_server_main(server, "127.0.0.1", 8080);
 *     }
 *
 * `address` and `port` as for uvhttp_server_listen; `address` NULL: the server listens already.
 * Objects that the server uses are freed after this call, or left to it (uvhttp_server_own). Only
 * for a server with its own loop, on the thread that created it.
 * Returns the exit status: 0 after a stop, 1 after an error; `server` is invalid. */
UVHTTP_EXPORT int uvhttp_server_main(uvhttp_server_t *server, const char *address, int port);

/* Number of workers of the server (config->workers); 0 for NULL. Any thread. */
UVHTTP_EXPORT size_t uvhttp_server_worker_count(const uvhttp_server_t *server);

/* Processor cores this process may use, 1 to UVHTTP_WORKERS_MAX; a good value for
 * config->workers. Any thread. */
UVHTTP_EXPORT size_t uvhttp_core_count(void);

/* Runs `run(server, worker, arg)` on the thread of a worker. Any thread. `worker` is 0 to
 * uvhttp_server_worker_count - 1. Worker 0 is the thread in uvhttp_server_run, and the only worker
 * on a loop of the caller.
 *
 * Posts to one worker run in the order of the calls. For calls on several threads there is an order
 * if a lock or the like defines it: a post under a lock runs before later ones under that lock.
 * After 0, `run` is called exactly once, even if the server is stopped or freed first; then
 * possibly within uvhttp_server_stop or uvhttp_server_free. A stopped worker accepts posts until
 * its last connection is closed. `run` must not free the server.
 *
 * To respond later from another thread: keep the response and the number of uvhttp_request_worker,
 * and post.
 * Returns 0, or
 *   UVHTTP_EINVAL    no function, no such worker, or the server does not listen yet
 *   UVHTTP_ENOMEM    out of memory
 *   UVHTTP_ESTOPPED  the worker has ended */
typedef void (*uvhttp_post_cb)(uvhttp_server_t *server, size_t worker, void *arg);
UVHTTP_EXPORT int uvhttp_server_post(uvhttp_server_t *server, size_t worker, uvhttp_post_cb run,
                                     void *arg);

/* Keeps the server from stopping, for threads of the application that post: until each reference is
 * released, all workers accept posts after uvhttp_server_stop, and neither uvhttp_server_run nor
 * uvhttp_server_free returns (with a loop of the caller, the server is not freed). Take a reference
 * in a handler or before the server stops, start the thread, and release it as the last access of
 * that thread to the server. Any thread. A thread without an end of its own ends on a sign of
 * uvhttp_server_on_stopping.
 *
 * If the server does not listen, for example after a failed set-up, uvhttp_server_free calls that
 * callback and blocks until the last reference is released, with any loop. */
UVHTTP_EXPORT void uvhttp_server_ref(uvhttp_server_t *server);
UVHTTP_EXPORT void uvhttp_server_unref(uvhttp_server_t *server);

/* ---- Timers and signals ----
 * They run on the first worker's loop and do not keep it running. The server ends them when its
 * last connection is closed. Call these functions on the thread that creates the server, before it
 * runs, or on the first worker's thread.
 *
 * uvhttp_server_error describes a failed call. Before the server runs it is an error of its set-up
 * (uvhttp_server_main), except UVHTTP_ESTOPPED. */

/* A timer of a server. */
typedef struct uvhttp_timer uvhttp_timer_t;

/* A timer has expired. */
typedef void (*uvhttp_timer_cb)(uvhttp_server_t *server, void *arg);

/* Calls `run` every `interval_ms` milliseconds (at least 1) or, with uvhttp_server_after, once
 * after `delay_ms`. `run` must not free the server. `*timer` (may be NULL) is valid until the timer
 * ends: after uvhttp_timer_stop, when that one call begins, or with the server.
 * Returns 0, or with `*timer` NULL
 *   UVHTTP_EINVAL    no function, or an interval of 0
 *   UVHTTP_ESTOPPED  the server has stopped
 *   UVHTTP_ENOMEM    out of memory */
UVHTTP_EXPORT int uvhttp_server_every(uvhttp_server_t *server, uint32_t interval_ms,
                                      uvhttp_timer_cb run, void *arg, uvhttp_timer_t **timer);
UVHTTP_EXPORT int uvhttp_server_after(uvhttp_server_t *server, uint32_t delay_ms,
                                      uvhttp_timer_cb run, void *arg, uvhttp_timer_t **timer);

/* Ends a timer; NULL does nothing. `run` may call it for its own timer of uvhttp_server_every. */
UVHTTP_EXPORT void uvhttp_timer_stop(uvhttp_timer_t *timer);

/* Calls `release(arg)` when the timer has ended and `run` has returned. */
UVHTTP_EXPORT void uvhttp_timer_own(uvhttp_timer_t *timer, uvhttp_release_cb release);

/* Calls `run` on each signal `number` (SIGHUP, SIGUSR1, ...). Several functions may have the same
 * signal, and uvhttp_server_stop_on_signals works besides. `run` must not free the server.
 * Returns 0, or
 *   UVHTTP_EINVAL    no function
 *   UVHTTP_ESTOPPED  the server has stopped
 *   UVHTTP_ENOMEM    out of memory
 *   UV_EINVAL        no such signal, or one that cannot be caught */
typedef void (*uvhttp_signal_cb)(uvhttp_server_t *server, int number, void *arg);
UVHTTP_EXPORT int uvhttp_server_on_signal(uvhttp_server_t *server, int number, uvhttp_signal_cb run,
                                          void *arg);

/* ---- Reload ----
 * Replaces what the set-up has made while the server runs: routes with their handlers, middleware
 * and hosts, uvhttp_server_on_finished, uvhttp_server_on_error, uvhttp_server_trust_proxies and
 * uvhttp_server_own. Connections stay open. A request gets the routes that were current when its
 * head arrived, and WebSockets and event streams keep theirs until they end; then what was owned by
 * the replaced set-up is released, on the first worker's thread. Listeners, certificates, limits
 * and checks of readiness do not change.
 *
 *     int err = uvhttp_server_begin_reload(server);
 *     if (err == 0) {
 *         uvhttp_server_route(server, "GET", "/", hello, NULL);
 *         err = uvhttp_server_apply_reload(server);
 *         if (err != 0)
 *             uvhttp_server_cancel_reload(server);
 *     }
 *
 * Call these functions on the first worker's thread, for example in a callback of
 * uvhttp_server_on_signal. */

/* From now on set-up calls add to the next set-up, which begins empty. Requests still get the
 * current one.
 * Returns 0, or
 *   UVHTTP_EINVAL    the server does not listen yet, or a reload has begun already
 *   UVHTTP_ESTOPPED  the server is stopping
 *   UVHTTP_ENOMEM    out of memory */
UVHTTP_EXPORT int uvhttp_server_begin_reload(uvhttp_server_t *server);

/* Requests get the next set-up from now on. After an error they still get the current one, and the
 * next must be cancelled: the first error of a set-up call stays, also after a call that would
 * correct it.
 * Returns 0, or
 *   UVHTTP_EINVAL    no reload has begun
 *   UVHTTP_ESTOPPED  the server is stopping
 *   UVHTTP_ENOMEM    out of memory
 *   other errors     the first one of a set-up call: uvhttp_server_first_error */
UVHTTP_EXPORT int uvhttp_server_apply_reload(uvhttp_server_t *server);

/* Releases the next set-up. Does nothing without one. */
UVHTTP_EXPORT void uvhttp_server_cancel_reload(uvhttp_server_t *server);

/* Stops the server gracefully. Any thread, until the server has stopped. Does nothing before the
 * server listens. A second call closes everything immediately.
 *
 * For drain_delay seconds the server serves as before, but is not ready (uvhttp/health.h). Then no
 * new connections are accepted. Event streams and WebSockets are ended. Open exchanges may
 * finish within drain_timeout. Keep-alive connections stay open for drain_grace seconds: the
 * next response on each carries "Connection: close" and closes it. After drain_grace, idle
 * connections are closed; at drain_timeout, all connections.
 *
 * The server's addresses are free when its last response is sent. Earlier, with a loop of the
 * caller: another server on the loop may listen on them immediately after this call. */
UVHTTP_EXPORT void uvhttp_server_stop(uvhttp_server_t *server);

/* Times of a stop, in seconds, instead of those of the configuration: drain_delay, drain_grace and
 * drain_timeout, with the same limits (docs/limits.md); `grace` is at most `timeout`. */
typedef struct uvhttp_drain {
    size_t delay;
    size_t grace;
    size_t timeout;
} uvhttp_drain_t;

/* Stops the server as uvhttp_server_stop does, with other times, which are copied. When the server
 * stops already, it closes everything immediately, as a second call of uvhttp_server_stop. Any
 * thread.
 * Returns 0, or
 *   UVHTTP_EINVAL    no times, a time above its limit, or the server does not listen yet
 *   UVHTTP_ENOMEM    `server` is NULL, because its creation failed
 *   UVHTTP_ESTOPPED  the server has stopped */
UVHTTP_EXPORT int uvhttp_server_drain(uvhttp_server_t *server, const uvhttp_drain_t *times);

/* What a stop has done since accepting ended. */
typedef struct uvhttp_drain_result {
    uint64_t duration_ms;   /* until the last connection was closed and all workers had ended */
    size_t connections;     /* open at the beginning, or accepted from the queues then */
    size_t cut_connections; /* of them, closed by drain_timeout or a second stop */
    uint64_t responses;     /* begun meanwhile */
    uint64_t aborted;       /* responses that were not completed, as in uvhttp_stats_t */
    size_t streams; /* of clients, told to end: WebSockets, other upgraded and event streams */
} uvhttp_drain_result_t;

/* In the callback of uvhttp_server_on_stopped, or after uvhttp_server_run.
 * Returns 0, or
 *   UVHTTP_EINVAL  no result, or the server has not stopped */
UVHTTP_EXPORT int uvhttp_server_drain_result(uvhttp_server_t *server,
                                             uvhttp_drain_result_t *result);

/* Calls uvhttp_server_stop on SIGINT and SIGTERM; a second signal stops immediately.
 * Returns 0, or
 *   UVHTTP_ENOMEM  out of memory
 *   libuv          errors of libuv */
UVHTTP_EXPORT int uvhttp_server_stop_on_signals(uvhttp_server_t *server);

/* The loop of the first worker, owned by the server or the caller, for timers and other libuv
 * handles. uvhttp_request_loop is the loop of a request. With a loop of the server, close such
 * handles before uvhttp_server_free; otherwise the server's memory is leaked and a line is
 * logged. */
UVHTTP_EXPORT struct uv_loop_s *uvhttp_server_loop(uvhttp_server_t *server);

/* Sets the callback that runs once when the server begins to stop, before streams are notified
 * and connections are closed. It runs on the first worker's thread and must not free the server.
 * Call this before the server runs, or on that thread. If the server never listened, it runs only
 * within uvhttp_server_free, and only if there is a reference (uvhttp_server_ref). */
typedef void (*uvhttp_stopping_cb)(uvhttp_server_t *server, void *arg);
UVHTTP_EXPORT void uvhttp_server_on_stopping(uvhttp_server_t *server, uvhttp_stopping_cb stopping,
                                             void *arg);

/* Sets the callback that runs once when the last connection of a stopped server is closed and
 * all workers have ended. It runs on the first worker's loop. uvhttp_server_free cancels it.
 * With a loop of the caller the callback may free the server; otherwise free the server after
 * uvhttp_server_run has returned. A second call replaces the first; NULL removes it. */
typedef void (*uvhttp_stopped_cb)(uvhttp_server_t *server, void *arg);
UVHTTP_EXPORT void uvhttp_server_on_stopped(uvhttp_server_t *server, uvhttp_stopped_cb stopped,
                                            void *arg);

/* Refreshes and returns server->stats, the sum over all workers. One thread at a time;
 * concurrent handlers use uvhttp_server_read_stats. */
UVHTTP_EXPORT const uvhttp_stats_t *uvhttp_server_stats(uvhttp_server_t *server);

/* Copies the statistics of all workers, or of one worker, to `stats`. Any thread. Values may lag
 * slightly and are not one atomic snapshot. Read from another thread, a connection whose response
 * is sent without waiting counts as idle.
 * Returns 0, or
 *   UVHTTP_EINVAL  no `stats`, or no such worker
 *   UVHTTP_ENOMEM  `server` is NULL */
UVHTTP_EXPORT int uvhttp_server_read_stats(uvhttp_server_t *server, uvhttp_stats_t *stats);
UVHTTP_EXPORT int uvhttp_server_worker_stats(uvhttp_server_t *server, size_t worker,
                                             uvhttp_stats_t *stats);

/* The histogram of uvhttp_stats_t.latency at one moment, 7 KB. The counters are those of ranges of
 * durations, whose limits are internal. */
enum { UVHTTP_LATENCY_RANGES = 897 };
typedef struct uvhttp_latency_counts {
    uint64_t sum_us;
    uint64_t max_us;
    uint64_t counts[UVHTTP_LATENCY_RANGES];
} uvhttp_latency_counts_t;

/* Copies the histogram, summed over all workers. Any thread.
 * Returns 0, or
 *   UVHTTP_EINVAL  no `counts`
 *   UVHTTP_ENOMEM  `server` is NULL */
UVHTTP_EXPORT int uvhttp_server_read_latency(uvhttp_server_t *server,
                                             uvhttp_latency_counts_t *counts);

/* Writes the distribution of the durations that were recorded after `before` (NULL: since the
 * start) and until `after` to `latency`, for the percentiles of the last seconds. `max_us` has the
 * error of percentiles, too, unless the interval has the longest duration of all. Any thread. */
UVHTTP_EXPORT void uvhttp_latency_between(const uvhttp_latency_counts_t *before,
                                          const uvhttp_latency_counts_t *after,
                                          uvhttp_latency_t *latency);

/* A finished request, for the range of the latency histogram that it is in. */
typedef struct uvhttp_exemplar {
    char trace_id[UVHTTP_EXEMPLAR_SIZE]; /* "": there is none */
    uint64_t duration_us;
    int64_t unix_ms; /* when it finished */
} uvhttp_exemplar_t;

/* Copies the last exemplar of each range: durations below 64 << index microseconds, and the longer
 * ones. There are none unless requests have sampled traces that are evaluated
 * (uvhttp_request_trace), by a handler or an access log. Any thread.
 * Returns 0, or
 *   UVHTTP_EINVAL  no `exemplars`
 *   UVHTTP_ENOMEM  `server` is NULL */
enum { UVHTTP_EXEMPLARS = UVHTTP_LATENCY_BOUNDS + 1 };
UVHTTP_EXPORT int uvhttp_server_read_exemplars(uvhttp_server_t *server,
                                               uvhttp_exemplar_t exemplars[UVHTTP_EXEMPLARS]);

/* Responses of one route to one method with one status class. */
typedef struct uvhttp_route_stats {
    /* The pattern ("/notes/:id"), "unmatched" for requests without a route, or "others" for routes
     * beyond config->route_stats. */
    const char *route;
    const char *host;     /* that the route was added to; NULL: the server itself */
    const char *method;   /* of the request ("GET"); "other" for an extension method */
    int status_class;     /* 2 for 2xx; 4 if the client disconnected before the response */
    uint64_t count;       /* finished exchanges */
    uint64_t duration_us; /* their sum */
} uvhttp_route_stats_t;

/* Calls `each` for each route, method and status class with at least one exchange, in the order in
 * which the routes were added. Strings are static or live as long as the server. Sums over all
 * workers; needs config->route_stats. Threads as for uvhttp_server_read_stats. If `each` returns
 * another value than 0, the iteration ends.
 * Returns 0, the value of `each`, or
 *   UVHTTP_EINVAL  no function
 *   UVHTTP_ENOMEM  `server` is NULL */
typedef int (*uvhttp_route_stats_cb)(const uvhttp_route_stats_t *stats, void *arg);
UVHTTP_EXPORT int uvhttp_server_each_route_stats(uvhttp_server_t *server,
                                                 uvhttp_route_stats_cb each, void *arg);

/* Counts a lookup in a cache of the application in cache_hits or cache_misses; static.h counts
 * its own. Loop thread only; does nothing in a blocking handler. */
UVHTTP_EXPORT void uvhttp_request_count_cache(uvhttp_request_t *request, bool hit);

/* The version ("0.1.0"), and the version with compiler, build type and allocator ("0.1.0 gcc
 * 12.2.0 Release mimalloc"). Static strings. Any thread. */
UVHTTP_EXPORT const char *uvhttp_version(void);
UVHTTP_EXPORT const char *uvhttp_build_info(void);

#ifdef __cplusplus
}
#endif

#endif
