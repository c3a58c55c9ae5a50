/* The configuration of a server: a plain struct; docs/limits.md lists every number.
 *
 * Get the defaults with uvhttp_config_new, change fields, pass it to uvhttp_server_new_with, which
 * copies it, and free it. A value out of range is rejected when the server listens; the message
 * names field, value and range.
 *
 * Numbers can also be set by name from text, for configuration files, flags and the environment:
 *
 *     uvhttp_error_t error;
 *     if (uvhttp_config_set(config, "keep_alive_timeout", "2min", &error) != 0)
 *         fprintf(stderr, "%s\n", error.text); */
#ifndef UVHTTP_CONFIG_H
#define UVHTTP_CONFIG_H

#include <uvhttp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UVHTTP_WORKERS_MAX = 1024 }; /* maximum of config->workers */

/* All settings of a server. Ranges and defaults: docs/limits.md. */
typedef struct uvhttp_config {
    /* Threads that serve, including the one that runs the server. More than one only with the
     * server's own loop; handlers then run on several threads concurrently, see uvhttp/server.h.
     * uvhttp_core_count returns a good value. */
    size_t workers;

    /* Connections */
    size_t max_connections; /* open, over all workers; a further one gets 503 and is closed */
    /* connections the system queues before accept, per worker and address */
    size_t listen_backlog;

    /* Timeouts, in seconds */
    size_t keep_alive_timeout; /* idle, before or between requests: closed */
    size_t header_timeout;     /* from the first byte of a head to its end: 408 */
    size_t handshake_timeout;  /* from accept to the end of the TLS handshake: closed */
    size_t body_timeout;       /* without progress while a body is received: 408 */
    size_t write_timeout;      /* without progress while a response is sent: closed */
    /* From the complete request to the start of the response: 503 (or the route's
     * timeout_status), and a line in the log with method and route; 0 = no limit. For a route with
     * a streamed body: until it starts to read the body, and again from the end of the body. A job
     * of the heavy lane (uvhttp_response_defer_heavy, uploads) may take longer. */
    size_t handler_timeout;
    /* time for a client to read an error response before the connection is closed */
    size_t linger_timeout;
    /* For this long after uvhttp_server_stop, the server serves as before, but is not ready
     * (health.h), so that balancers send no more requests. drain_timeout and drain_grace begin
     * afterwards. */
    size_t drain_delay;
    size_t drain_timeout; /* for open exchanges, after drain_delay: closed */
    /* Idle keep-alive connections stay open this long after drain_delay, and close after the
     * response to their next request; at most drain_timeout */
    size_t drain_grace;
    size_t event_heartbeat; /* interval of comments on an event stream without events; 0: none */

    /* Limits of a request */
    size_t max_target_size;     /* bytes of the request target: 414 */
    size_t max_header_size;     /* bytes of the whole head: 431 */
    size_t max_header_count;    /* fields: 431 */
    size_t max_body_size;       /* bytes of a buffered body: 413 */
    size_t max_trailer_size;    /* bytes of the trailer section: 431 */
    size_t max_chunk_extension; /* bytes of extensions of one chunk: 400 */

    /* Requests per connection before it is closed; 0 = no limit */
    size_t max_requests_per_connection;
    /* Seconds after which a connection closes with its next response, up to a tenth earlier by
     * chance, so that clients spread over the machines behind a balancer; 0 = no limit */
    size_t max_connection_age;

    /* HTTP/2, see docs/http2.md */
    size_t http2;                   /* 1: offered; 0: HTTP/1.1 only */
    size_t http2_max_streams;       /* requests at a time on a connection: REFUSED_STREAM */
    size_t http2_stream_window;     /* bytes of a body that a client may send unread */
    size_t http2_connection_window; /* the same for all bodies of a connection */
    size_t http2_header_table;      /* bytes of the table for compressed fields of requests */
    /* Per second of one connection; one that exceeds them is ended with ENHANCE_YOUR_CALM */
    size_t http2_control_frames; /* frames that carry neither a request nor data */
    size_t http2_resets;         /* requests that end with RST_STREAM */
    /* The same over the life of the connection, which then ends after its responses; 0 = none */
    size_t http2_total_resets;
    /* Seconds. A client with open requests that has sent nothing for so long gets PING; after as
     * long without a reply its connection is closed; 0 = none */
    size_t http2_ping_interval;

    /* Blocking handlers (UVHTTP_ROUTE_BLOCKING) */
    size_t blocking_threads; /* running at once */
    size_t blocking_queue;   /* queued for a thread; further requests: 503 */
    /* Milliseconds. A request that has waited for longer when a thread is free gets 503 instead,
     * unless its route has UVHTTP_ROUTE_NEVER_SHED; 0: none */
    size_t blocking_wait_ms;

    /* Jobs of static files, of uvhttp_response_defer (quick) and uvhttp_response_defer_heavy.
     * The threads are created when the server listens, and shared by all workers. */
    size_t quick_threads; /* threads of the quick lane */
    size_t quick_queue;   /* jobs queued for them: 503 */
    size_t heavy_threads; /* threads of the heavy lane; 0: one per core, at most 4 */
    size_t heavy_queue;   /* jobs queued for them: 503 */

    /* TLS handshakes. One takes as long as several hundred requests, and delays them unless it has
     * threads of its own. */

    /* Threads created when the server listens, shared by all workers; 0: handshakes run on the
     * loops. */
    size_t handshake_threads;
    /* ClientHello messages (the expensive part of a handshake) that a worker processes per loop
     * iteration, or has on threads at a time. Further handshakes are queued in order of arrival,
     * unread and under handshake_timeout. Clients that have sent nothing, or are later in the
     * handshake, do not count and cannot block others. 0 = no limit */
    size_t max_handshakes;

    /* Memory */
    size_t write_backlog; /* bytes of a streamed body queued for sending: UVHTTP_EFULL */
    /* Bytes of the response cache of each worker, see uvhttp_prepared_set_body; 0 = none */
    size_t response_cache_memory;
    size_t buffer_size; /* bytes of a receive or transmit buffer, shared by connections */

    /* Overload, see docs/overload.md */

    /* 1: while a worker is overloaded, a part of the requests gets 503 with Retry-After at once, so
     * that the others do not wait; except those of routes with UVHTTP_ROUTE_NEVER_SHED; 0: none */
    size_t overload_guard;
    /* Milliseconds. A worker is overloaded when every request of an interval had to wait for longer
     * than the target. */
    size_t overload_target_ms;
    size_t overload_interval_ms;
    /* Milliseconds. When a worker's loop does not run for so long, because a handler blocks it, a
     * thread of the server logs that with the route, and when it runs again; 0: never. The log
     * callback is then also called on that thread. */
    size_t stuck_loop_ms;

    /* Statistics */

    /* Routes counted separately by uvhttp_server_each_route_stats and the metrics; the others count
     * as one; 0 = none */
    size_t route_stats;

    /* Other settings */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the server. */
    /* Default: warnings and errors to standard error. NULL: no log. uvhttp_log_to_stderr writes all
     * lines up to log_level. */
    uvhttp_log_cb log;
    void *log_arg;
    /* lines above this level are not formatted; default UVHTTP_LOG_INFO */
    uvhttp_log_level_t log_level;
    /* The calendar clock: milliseconds since 1970-01-01 00:00 UTC, for Date, the access log and
     * date comparisons; NULL: the system's. Called on each worker's thread and in blocking
     * handlers, at least once per response. Timeouts and durations use the loop's clock instead. */
    int64_t (*clock)(void *clock_arg);
    void *clock_arg;
} uvhttp_config_t;

/* Creates a configuration with all defaults; NULL when out of memory. Free it with
 * uvhttp_config_free (NULL does nothing). Any thread. */
UVHTTP_EXPORT uvhttp_config_t *uvhttp_config_new(void);
UVHTTP_EXPORT void uvhttp_config_free(uvhttp_config_t *config);

/* Checks a configuration. Any thread.
 * Returns 0, or
 *   UVHTTP_EINVAL   no config
 *   UVHTTP_ECONFIG  invalid; error.text names field, value and range
 *                   ("max_connections is 0; allowed are 1 to 10000000 connections") */
UVHTTP_EXPORT int uvhttp_config_check(const uvhttp_config_t *config, uvhttp_error_t *error);

/* ---- Access by name ---- */

/* A row of the limits table: one number of uvhttp_config_t. */
typedef struct uvhttp_limit {
    const char *name; /* of the field: "max_connections" */
    const char *unit; /* "seconds", "bytes", "connections", ... */
    const char *help; /* short description: "open connections; more get 503" */
    uint64_t preset;  /* the default */
    uint64_t min, max;
    /* status the client gets above the limit; 0: none, or closed without a response */
    int status;
} uvhttp_limit_t;

/* The row at `index` (0-based, in the order of the struct), NULL past the last. Static. Any
 * thread. */
UVHTTP_EXPORT const uvhttp_limit_t *uvhttp_config_limit(size_t index);

/* Gets the number called `name`. Any thread.
 * Returns 0, or
 *   UVHTTP_EINVAL  unknown name; `*value` is unchanged */
UVHTTP_EXPORT int uvhttp_config_get(const uvhttp_config_t *config, const char *name, size_t *value);

/* Sets the number called `name` from text, see uvhttp_config_parse. For workers "auto" and "0" mean
 * the number of cores (uvhttp_core_count); for heavy_threads "auto" is 0. Relations between numbers
 * are checked by uvhttp_config_check. Any thread, one at a time per config.
 * Returns 0, or with nothing changed
 *   UVHTTP_EINVAL   unknown name
 *   UVHTTP_ECONFIG  invalid or out of range ("max_connections: '10k' is not a number; allowed
 *                   are 1 to 10000000 connections"; "max_connections is 0; allowed are ...") */
UVHTTP_EXPORT int uvhttp_config_set(uvhttp_config_t *config, const char *name, const char *text,
                                    uvhttp_error_t *error);

/* Sets every number that has an environment variable: with the prefix "UVHTTP_", max_connections is
 * UVHTTP_MAX_CONNECTIONS. An empty variable counts as absent. No other thread may change the
 * environment during the call.
 * Returns 0, or
 *   UVHTTP_ECONFIG  the first invalid variable; those before it are set. error.text begins with
 *                   its name ("UVHTTP_BODY_TIMEOUT: ..."), error.field is that of the number
 *   UVHTTP_EINVAL   a prefix of more than 64 bytes */
UVHTTP_EXPORT int uvhttp_config_from_env(uvhttp_config_t *config, const char *prefix,
                                         uvhttp_error_t *error);

/* Parses a number of a given unit: decimal digits, followed by an optional suffix, directly or
 * after one space. A value too large for size_t becomes SIZE_MAX, which is out of every range. Any
 * thread.
 *   bytes          B, K or KiB (1,024), M or MiB, G or GiB; upper or lower case
 *   seconds        s, m or min, h, d
 *   milliseconds   ms, s, m or min, h, d
 *   boolean        no number, but one of the words true, yes, on and 1, or false, no, off and 0
 *   others         none
 * Returns 0, or
 *   UVHTTP_EINVAL  anything else; `*value` is unchanged */
UVHTTP_EXPORT int uvhttp_config_parse(const char *text, const char *unit, size_t *value);

#ifdef __cplusplus
}
#endif

#endif
