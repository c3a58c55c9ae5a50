/* The configuration of a server: a plain struct, every number of it in the limits table of
 * docs/limits.md.
 *
 * Take the defaults with uvhttp_config_new, change what you need, hand it to uvhttp_server_new_with
 * (which copies it), and free it. A value out of range is refused when the server listens, with a
 * message that names field, value and range.
 *
 * Numbers can be set by their names from text as well, for configuration files, flags and the
 * environment:
 *
 *     char message[UVHTTP_CONFIG_MESSAGE_SIZE];
 *     if (uvhttp_config_set(config, "keep_alive_timeout", "2min", message, sizeof(message)) != 0)
 *         fprintf(stderr, "%s\n", message); */
#ifndef UVHTTP_CONFIG_H
#define UVHTTP_CONFIG_H

#include <uvhttp/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { UVHTTP_WORKERS_MAX = 1024 }; /* the most config->workers may be */

/* Everything that can be set about a server. Ranges and defaults: docs/limits.md. */
typedef struct uvhttp_config {
    /* Threads that serve, the one that runs the server among them. More than one only with a loop
     * of the server's own, and then handlers run on several threads at once: see uvhttp/server.h.
     * uvhttp_core_count is a good number. */
    size_t workers;

    /* Connections */
    size_t max_connections; /* open at once, over all workers; one more gets 503 and is closed */
    /* connections the system queues before accept, for each worker and address */
    size_t listen_backlog;

    /* Times, in seconds */
    size_t keep_alive_timeout; /* idle before or between requests: closed */
    size_t header_timeout;     /* from the first byte of a head to its end: 408 */
    size_t handshake_timeout;  /* from the connection to the end of its TLS handshake: closed */
    size_t body_timeout;       /* without progress while a body arrives: 408 */
    size_t write_timeout;      /* without progress while a response is sent: closed */
    /* From the whole request to the beginning of the response: 503; 0 = no limit. Of a route that
     * takes its body in pieces: until it begins to take it, and from its end. */
    size_t handler_timeout;
    size_t linger_timeout; /* for a client to notice a refusal before its connection is closed */
    size_t drain_timeout;  /* for open exchanges after uvhttp_server_stop: closed */
    /* After uvhttp_server_stop, kept connections stay open so long, and close after the response to
     * their next request; at most drain_timeout */
    size_t drain_grace;
    size_t event_heartbeat; /* a stream of events without an event: a comment is sent; 0: none */

    /* What a request may measure */
    size_t max_target_size;     /* bytes of the request target: 414 */
    size_t max_header_size;     /* bytes of the whole head: 431 */
    size_t max_header_count;    /* fields: 431 */
    size_t max_body_size;       /* bytes of a buffered body: 413 */
    size_t max_trailer_size;    /* bytes of the trailer section: 431 */
    size_t max_chunk_extension; /* bytes of extensions of one chunk: 400 */

    /* Requests per connection before it is closed; 0 = no limit */
    size_t max_requests_per_connection;

    /* Handlers that block (UVHTTP_ROUTE_BLOCKING) */
    size_t blocking_threads; /* run at once */
    size_t blocking_queue;   /* wait for a thread: 503 */

    /* Jobs, of static files and of uvhttp_response_defer (quick) and uvhttp_response_defer_heavy.
     * The threads are created when the server listens, and serve all workers. */
    size_t quick_threads; /* threads of the quick lane */
    size_t quick_queue;   /* jobs that wait for one of them: 503 */
    size_t heavy_threads; /* threads of the heavy lane; 0: one for each core, at most 4 */
    size_t heavy_queue;   /* jobs that wait for one of them: 503 */

    /* TLS handshakes. One takes as long as some hundred requests, which wait for it unless it has
     * threads of its own. */
    size_t
        /* created when the server listens, for all workers; 0: handshakes run on the loops */
        handshake_threads;
    /* Handshakes whose client's hello, which is their expensive part, a worker processes in one
     * iteration of its loop, or has on threads at a time. The others wait in order of arrival,
     * unread and under handshake_timeout. Clients that have sent nothing, or are waited for later
     * in the handshake, do not count, so none can keep others out. 0 = no limit */
    size_t max_handshakes;

    /* Memory */
    size_t write_backlog; /* bytes of a body in pieces that may wait to be sent: UVHTTP_EFULL */
    /* bytes of whole answers that each worker keeps for a second, see uvhttp_prepared_set_body; 0 =
     * none */
    size_t standing_memory;
    size_t buffer_size; /* bytes of a receive or transmit buffer, shared between connections */

    /* Not numbers */
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the server. */
    uvhttp_log_cb log;                   /* NULL: silent; uvhttp_log_to_stderr is one */
    void *log_arg;
    uvhttp_log_level_t log_level; /* lines above it are not even formatted; UVHTTP_LOG_INFO */
    /* The calendar clock: milliseconds since 1970-01-01 00:00 UTC, for Date, the access log and
     * whatever compares dates; NULL: the system's. Called on the thread of each loop (several
     * workers have several) and of a blocking handler that asks for it, at least once for each
     * response then. Timeouts and durations are the loop's own and not changed by it. */
    int64_t (*clock)(void *clock_arg);
    void *clock_arg;
} uvhttp_config_t;

/* A config with every default; NULL when memory ran out. Free it with uvhttp_config_free (NULL is
 * fine). Any thread. */
UVHTTP_EXPORT uvhttp_config_t *uvhttp_config_new(void);
UVHTTP_EXPORT void uvhttp_config_free(uvhttp_config_t *config);

/* 0, UVHTTP_EINVAL (no config), or UVHTTP_ECONFIG with a NUL-terminated message of at most `size`
 * bytes ("max_connections is 0; allowed are 1 to 10000000 connections"). Any thread. */
UVHTTP_EXPORT int uvhttp_config_check(const uvhttp_config_t *config, char *message, size_t size);

/* ---- By name ---- */

/* Bytes that hold every message of this header whose texts are of a usual length; a longer one is
 * cut. */
#define UVHTTP_CONFIG_MESSAGE_SIZE 256

/* A row of the limits table: a number of uvhttp_config_t, and what docs/limits.md says of it. */
typedef struct uvhttp_limit {
    const char *name; /* of the field: "max_connections" */
    const char *unit; /* "seconds", "bytes", "connections", ... */
    const char *help; /* a few words: "connections open at once; more get 503" */
    uint64_t preset;  /* the default */
    uint64_t min, max;
    int status; /* what a client gets beyond it; 0: none, or closed without an answer */
} uvhttp_limit_t;

/* The row at `index` (0-based, in the order of the struct), NULL past the last. Static. Any
 * thread. */
UVHTTP_EXPORT const uvhttp_limit_t *uvhttp_config_limit(size_t index);

/* The number called `name`. Errors: UVHTTP_EINVAL (none is called so; `*value` stays). Any
 * thread. */
UVHTTP_EXPORT int uvhttp_config_get(const uvhttp_config_t *config, const char *name, size_t *value);

/* Sets the number called `name` from text, see uvhttp_config_parse, when it is in range; "auto"
 * and "0" for workers mean as many as there are cores (uvhttp_core_count), and "auto" for
 * heavy_threads is 0. 0, or with a NUL-terminated message of at most `size` bytes and nothing
 * changed: UVHTTP_EINVAL (no number is called so), UVHTTP_ECONFIG ("max_connections: '10k' is
 * not a number; allowed are 1 to 10000000 connections"; "max_connections is 0; allowed are
 * ..."). What several numbers ask of each other is for uvhttp_config_check. Any thread, one at
 * a time for one config. */
UVHTTP_EXPORT int uvhttp_config_set(uvhttp_config_t *config, const char *name, const char *text,
                                    char *message, size_t size);

/* Sets every number for which the environment has a variable: with the prefix "UVHTTP_"
 * max_connections is UVHTTP_MAX_CONNECTIONS. An empty variable counts as absent. 0, or at the first
 * that is refused UVHTTP_ECONFIG with a message as above behind its name ("UVHTTP_BODY_TIMEOUT:
 * ..."); UVHTTP_EINVAL for a prefix of more than 64 bytes. While no other thread changes the
 * environment. */
UVHTTP_EXPORT int uvhttp_config_from_env(uvhttp_config_t *config, const char *prefix, char *message,
                                         size_t size);

/* Reads a number as it is written for a field of that unit: decimal digits, and directly behind
 * them, or behind one space,
 *     bytes          nothing or B, K or KiB (1,024), M or MiB, G or GiB; in capitals or small
 *                    letters
 *     seconds        nothing or s, m or min, h, d
 *     milliseconds   nothing or ms, s, m or min, h, d
 *     others         nothing
 * What is too large for size_t becomes SIZE_MAX, which no range allows. Errors: UVHTTP_EINVAL
 * (anything else; `*value` stays). Any thread. */
UVHTTP_EXPORT int uvhttp_config_parse(const char *text, const char *unit, size_t *value);

#ifdef __cplusplus
}
#endif

#endif
